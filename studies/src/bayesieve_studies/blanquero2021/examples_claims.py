"""Claims about the examples, the Australian data and the simulated features of Blanquero et al. (2021)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from bayesieve.statistics import signed_rank_test
from bayesieve_studies.blanquero2021.data import (
    ALL_ACCURACY,
    AUSTRALIAN,
    CHOSEN_ACCURACY,
    CLASSIC,
    CONSTRAINED,
    CORRELATIONS,
    SIZES,
    TABLE_1,
    TABLE_2,
    TABLE_4,
    PaperSet,
    simulated_name,
    sparse_name,
)
from bayesieve_studies.blanquero2021.examples import HEIGHT, Examples
from bayesieve_studies.blanquero2021.finding import Finding, in_words, points, value_range
from bayesieve_studies.blanquero2021.results import Results
from bayesieve_studies.claims import LEVEL
from bayesieve_studies.tables import signed

_WEAK = CORRELATIONS[0]


def of_table_1(examples: Examples) -> list[Finding]:
    values = {subset: np.array(draws) for subset, draws in examples.accuracies.items()}
    pair = values["12"] - np.maximum(values["1"], values["2"])
    three = values["134"] - values["1234"]
    p_value = signed_rank_test(three)
    far = max(abs(float(values[subset].mean()) - accuracy) for subset, accuracy in TABLE_1.items())
    return [
        Finding(
            "Table 1",
            "The two correlated features together are no better than one of them, within a point",
            signed(TABLE_1["12"] - max(TABLE_1["1"], TABLE_1["2"]), 2),
            f"{signed(float(pair.mean()), 2)} points",
            abs(float(pair.mean())) < 1.0,
        ),
        Finding(
            "Table 1",
            "Without one of them, accuracy is higher than with all features",
            signed(TABLE_1["134"] - TABLE_1["1234"], 2),
            f"{signed(float(three.mean()), 2)} points, p {in_words(p_value)} in {three.size} draws",
            float(three.mean()) > 0 and p_value < LEVEL,
        ),
        Finding(
            "Table 1",
            "All 15 accuracies, within a point",
            "68.08 to 79.94",
            f"means of the draws at most {far:.2f} points off",
            far < 1.0,
        ),
    ]


def of_tree(examples: Examples) -> list[Finding]:
    if examples.whole_tree is None:
        return []
    whole = examples.whole_tree
    same = sum(tree.merges_as_in_the_paper for tree in examples.trees)
    cut = sum((tree.n_clusters, tree.n_combinations) == (12, 4) for tree in examples.trees)
    merges = " and ".join(
        f"{{{', '.join(f'V{k}' for k in merge)}}} at {height:.3f}" for merge, height in _first(examples)
    )
    return [
        Finding(
            "Figure 2",
            "{V5, V6} and {V9, V10} are the first merges",
            "at or below 0.74, all others above 0.9",
            f"all rows: {merges}, the next at {whole.next_height:.3f}; the same two in {same} of "
            f"{len(examples.trees)} training sets",
            whole.merges_as_in_the_paper and whole.next_height > 0.9,
        ),
        Finding(
            "Figure 2",
            f"A cut at {HEIGHT} leaves twelve clusters with four combinations",
            "12 and 4",
            f"all rows: {whole.n_clusters} and {whole.n_combinations}; 12 and 4 in {cut} of {len(examples.trees)} "
            "training sets",
            (whole.n_clusters, whole.n_combinations) == (12, 4),
        ),
    ]


def _first(examples: Examples) -> Iterable[tuple[tuple[int, ...], float]]:
    assert examples.whole_tree is not None
    return zip(examples.whole_tree.merges, examples.whole_tree.heights, strict=True)


def of_australian(results: Results) -> list[Finding]:
    name, q = AUSTRALIAN.ours, AUSTRALIAN.q
    free, safe, guided, strict = (sparse_name(guide, q, bounds) for guide, bounds in CONSTRAINED)
    test = results.test(name, free, CLASSIC, "accuracy")
    sizes = {method: results.mean(name, method, "n_features") for method in (CLASSIC, free, safe, guided, strict)}
    pair = np.all([results.values(name, strict, f"V{k}") for k in (2, 8)], axis=0)
    eight = results.mean(name, strict, "V8")
    recalls = {method: 100 * results.mean(name, method, "recall of the second class") for method in sizes}
    return [
        Finding(
            "Section 3.1",
            "Half of the features of Australian do not lower the accuracy",
            f"{CHOSEN_ACCURACY} with 7 features, {ALL_ACCURACY} with 14, of 68 rows",
            f"{sizes[free]:.1f} features, {points(test)}",
            sizes[free] <= 7 and test.sign() >= 0,
            "The number of features varies from fold to fold around half of all, and its mean may be above; the paper "
            "shows one fold.",
        ),
        Finding(
            "Section 3.1",
            "With Recall+ > 92 two or three features are chosen, V8 among them",
            "V2 and V8",
            f"{sizes[strict]:.1f} features, V8 in {eight:.0%} of the folds, V2 and V8 in {pair.mean():.0%}",
            sizes[strict] < 3.5 and eight > 0.5,
        ),
        Finding(
            "Table 4",
            "With Recall+ > 85 in validation, the mean Recall+ of the test rows is above 85",
            f"{TABLE_4[2][2]:.2f}",
            f"{recalls[safe]:.2f}",
            recalls[safe] > 85,
        ),
        Finding(
            "Table 4",
            "Guided by Recall+ with Recall- > 60, Recall+ is highest, with fewest features",
            f"{TABLE_4[3][2]:.2f}, {TABLE_4[3][4]:g} features",
            f"{recalls[guided]:.2f}, {sizes[guided]:.1f} features",
            guided == max((CLASSIC, free, safe, guided), key=lambda method: recalls[method])
            and guided == min((CLASSIC, free, safe, guided), key=lambda method: sizes[method]),
        ),
    ]


def of_simulated(results: Results) -> list[Finding]:
    sets = {(one.n_features, one.correlation): one for one in results.of("simulated")}
    if not sets:
        return []
    sparse = sparse_name("accuracy", "auto")
    gains = {key: results.test(one.ours, sparse, CLASSIC, "accuracy") for key, one in sets.items()}
    shares = {key: results.mean(one.ours, sparse, "n_features") / one.n_features for key, one in sets.items()}
    strong = [gains[key] for key in sets if key[1] > _WEAK]
    ahead, points_ahead = sum(test.sign() > 0 for test in strong), [100 * test.difference for test in strong]
    checked = [
        Finding(
            "Table 2",
            "From a correlation of 0.5 on, sparse NB is more accurate than classic NB",
            "in 15 of 15 settings",
            f"significantly in {ahead} of {len(strong)}, by {value_range(points_ahead)} points",
            ahead == len(strong) > 0,
        )
    ]
    weak = [key for key in sets if key[1] == _WEAK]
    if weak:
        paper = [TABLE_2[key] for key in weak]
        theirs = [100 - 100 * features / key[0] for key, (_, features, _) in zip(weak, paper, strict=True)]
        gained = value_range([accuracy - classic for accuracy, _, classic in paper], plus=True)
        removed = [100 - 100 * shares[key] for key in weak]
        gained_here = [100 * gains[key].difference for key in weak]
        checked.append(
            Finding(
                "Table 2",
                "At a correlation of 0.1 about a third of the features or more goes, without a significant loss",
                f"{value_range(theirs)} % removed, {gained} points",
                f"{value_range(removed)} % removed, {value_range(gained_here, plus=True)} points, significantly lower "
                f"in {sum(gains[key].sign() < 0 for key in weak)} of {len(weak)}",
                all(gains[key].sign() >= 0 for key in weak) and min(removed) >= 30,
            )
        )
    whole = [p for p in SIZES if all((p, rho) in sets for rho in CORRELATIONS)]
    falling = [p for p in whole if all(np.diff([shares[p, rho] for rho in CORRELATIONS]) < 0)]
    if whole:
        checked.append(
            Finding(
                "Table 2",
                "The stronger the correlation, the fewer features",
                "for every p",
                f"for {len(falling)} of {len(whole)}: p = {', '.join(map(str, falling)) or 'none'}",
                len(falling) == len(whole),
                _why_not_fewer(results, whole),
            )
        )
    rising = [rho for rho in CORRELATIONS if _rises(results, sets, rho)]
    if all((p, rho) in sets for p in SIZES for rho in CORRELATIONS):
        checked.append(
            Finding(
                "Figure 3",
                "Time grows with p where correlation is weak, but not where it is strong",
                "the curves cross",
                f"grows with every step of p at rho = {', '.join(f'{rho:g}' for rho in rising) or 'none'}",
                _WEAK in rising and CORRELATIONS[-1] not in rising,
                "Here M and one pass over the held-out rows serve all draws, of which there are as many at every "
                "correlation. In R a naive Bayes is learnt for each draw, from far fewer features where correlation is "
                "strong.",
            )
        )
    return checked


def _why_not_fewer(results: Results, sizes: list[int]) -> str:
    """The steps up, next to the spread of the folds."""
    sparse, steps = sparse_name("accuracy", "auto"), []
    for p in sizes:
        values = [results.values(simulated_name(p, rho), sparse, "n_features") for rho in CORRELATIONS]
        for (low, one), (high, other) in pairwise(zip(CORRELATIONS, values, strict=True)):
            if other.mean() >= one.mean():
                spread = f"standard deviations of the folds {one.std(ddof=1):.1f} and {other.std(ddof=1):.1f}"
                steps.append(
                    f"from {one.mean():.1f} to {other.mean():.1f} at p = {p}, rho = {low:g} to {high:g} ({spread})"
                )
    return f"The number rises {'; '.join(steps)}. Draws are random, and it varies from fold to fold."


def _rises(results: Results, sets: dict[tuple[int, float], PaperSet], rho: float) -> bool:
    sparse = sparse_name("accuracy", "auto")
    times = [results.seconds(simulated_name(p, rho), sparse) for p in SIZES if (p, rho) in sets]
    return len(times) > 1 and bool(np.all(np.diff(times) > 0))
