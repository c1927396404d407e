"""Claims about the examples, the Australian data and the simulated features of Blanquero et al. (2021)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from bayesieve_lab.blanquero2021.data import (
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
from bayesieve_lab.blanquero2021.examples import HEIGHT, Examples
from bayesieve_lab.blanquero2021.results import Results
from bayesieve_lab.claims import Check, Closeness, Differences, Judged, alike, closeness, differ, fact, near, often

_WEAK = CORRELATIONS[0]
_SLIGHT = 0.02
_AROUND = 0.1
"""Margin of the share of removed features."""
POINTS = "+.2pt"


def of_table_1(examples: Examples) -> list[Judged | Closeness]:
    """Judge the claims about four normal features (table 1), and compute how close our accuracies are."""
    draws = {subset: np.array(of_draw) / 100 for subset, of_draw in examples.accuracies.items()}
    paper = {subset: accuracy / 100 for subset, accuracy in TABLE_1.items()}
    over = f"{draws['1'].size} draws"
    pair = {"X1, X2 less the better one": Differences(draws["12"] - np.maximum(draws["1"], draws["2"]), "draws")}
    three = {"X1, X3, X4 less all": Differences(draws["134"] - draws["1234"], "draws")}
    theirs = dict(zip((*pair, *three), (paper["12"] - paper["2"], paper["134"] - paper["1234"]), strict=True))
    predicted = [
        near(f"X{', X'.join(subset)}", paper[subset], float(draws[subset].mean()), 0.01, over, ".2%")
        for subset in paper
        if len(subset) > 1
    ]
    claims: dict[str, Iterable[Check]] = {
        "The two correlated features together are no better than one of them": alike(
            pair, sides=(1,), paper=theirs, form=POINTS
        ),
        "Without one of them, accuracy is higher than with all features": differ(three, 1, theirs, POINTS),
        "The 11 accuracies of several features (those of single features are inputs here)": predicted,
    }
    numbers = [(check.what, float(check.paper), float(check.ours)) for check in predicted]
    close = closeness("Table 1", numbers, form=".2pt", unit="11 of 15 accuracies, the other four being inputs")
    return [*(Judged("Table 1", sentence, tuple(checks)) for sentence, checks in claims.items()), close]


def of_tree(examples: Examples) -> list[Judged]:
    """Judge the claims about the tree of the features of the Australian data (figure 2); none without these data."""
    if examples.whole_tree is None:
        return []
    whole, n = examples.whole_tree, len(examples.trees)
    same = [tree.merges_as_in_the_paper for tree in examples.trees]
    cut = sum((tree.n_clusters, tree.n_combinations) == (12, 4) for tree in examples.trees)
    merges = zip(whole.merges, whole.heights, strict=True)
    text = " and ".join(f"{{{', '.join(f'V{k}' for k in merge)}}} at {height:.3f}" for merge, height in merges)
    ours = f"{text}, the next at {whole.next_height:.3f}"
    first = fact(
        "all rows", whole.merges_as_in_the_paper and whole.next_height > 0.9, ours, "at or below 0.74, others above 0.9"
    )
    pair = (whole.n_clusters, whole.n_combinations)
    sets = f"all rows (the same in {cut} of {n} training sets)"
    return [
        Judged(
            "Figure 2",
            "{V5, V6} and {V9, V10} are the first merges",
            (first, often("training sets", same, over="training sets")),
        ),
        Judged(
            "Figure 2",
            f"A cut at {HEIGHT} leaves twelve clusters with four combinations",
            (fact(sets, pair == (12, 4), f"{pair[0]} and {pair[1]}", "12 and 4"),),
        ),
    ]


def of_australian(results: Results) -> list[Judged | Closeness]:
    """Judge the claims about the Australian data with constraints (section 3.1, table 4), and compute closeness."""
    name, q = AUSTRALIAN.ours, AUSTRALIAN.q
    free, safe, guided, strict = (sparse_name(guide, q, bounds) for guide, bounds in CONSTRAINED)
    sizes = {method: results.mean(name, method, "n_features") for method in (CLASSIC, free, safe, guided, strict)}
    pair = np.all([results.values(name, strict, f"V{k}") for k in (2, 8)], axis=0).tolist()
    recall, folds = "recall of the second class", f"{len(pair)} folds"
    level = {"accuracy": results.differences(name, free, CLASSIC, "accuracy")}
    safety = results.above(name, safe, recall, 0.85)
    others = {"classic NB": CLASSIC, "guided by accuracy": free, "with Recall+ > 85": safe}
    more, fewer = (
        {f"{measure}, {other}": results.differences(name, guided, method, of) for other, method in others.items()}
        for measure, of in (("Recall+", recall), ("features", "n_features"))
    )
    recalls = [line[2] / 100 for line in TABLE_4]
    highest = {f"Recall+, {other}": recalls[3] - recalls[k] for k, other in enumerate(others)}
    fewest = {f"features, {other}": TABLE_4[3][4] - TABLE_4[k][4] for k, other in enumerate(others)}
    claims: list[tuple[str, str, tuple[Check, ...], str]] = [
        (
            "Section 3.1",
            "The features chosen by accuracy do not lower the accuracy on Australian",
            alike(level, sides=(-1,), paper={"accuracy": (CHOSEN_ACCURACY - ALL_ACCURACY) / 100}, form=POINTS),
            "The paper shows one fold, in which a row of 68 makes the difference.",
        ),
        (
            "Section 3.1",
            "They are half of the features of Australian",
            (fact("features", sizes[free] <= 7, sizes[free], 7.0, "at most 7 of 14", folds, ".1f", printed=True),),
            "",
        ),
        (
            "Section 3.1",
            "With Recall+ > 92 the pair (V2, V8) is chosen",
            (often("folds with both", pair, "one fold", "folds"),),
            f"{sizes[strict]:.1f} features are chosen on average, V8 in {results.mean(name, strict, 'V8'):.0%} of the "
            "folds. The paper shows one fold, whose rows it does not name.",
        ),
        (
            "Table 4",
            "With Recall+ > 85 in validation, the mean Recall+ of the test rows is above 85",
            differ({"Recall+ less 85": safety}, 1, {"Recall+ less 85": recalls[2] - 0.85}, POINTS),
            "",
        ),
        (
            "Table 4",
            "Guided by Recall+ with Recall- > 60, Recall+ is highest",
            differ(more, 1, highest, POINTS),
            "",
        ),
        (
            "Table 4",
            "Guided by Recall+ with Recall- > 60, features are fewest",
            differ(fewer, -1, fewest, "+.1f", 1.0),
            "",
        ),
    ]
    numbers = [
        (f"{measure}, {line[0]}", float(line[k]) / 100, results.mean(name, method, of))
        for line, method in zip(TABLE_4, (CLASSIC, free, safe, guided), strict=True)
        for k, (measure, of) in enumerate(
            (("Recall-", "recall of the first class"), ("Recall+", recall), ("accuracy", "accuracy")), start=1
        )
    ]
    judged = [Judged(where, sentence, checks, why) for where, sentence, checks, why in claims]
    return [*judged, closeness("Table 4", numbers, form=".2pt", unit="rates")]


def of_simulated(results: Results) -> list[Judged | Closeness]:
    """Judge the claims about simulated features (table 2, figure 3), and compute closeness; none without results."""
    sets = {(one.n_features, one.correlation): one for one in results.of("simulated")}
    if not sets:
        return []
    sparse = sparse_name("accuracy", "auto")
    gains = {key: results.differences(one.ours, sparse, CLASSIC, "accuracy") for key, one in sets.items()}
    sizes = {key: results.mean(one.ours, sparse, "n_features") for key, one in sets.items()}
    names = {key: f"p = {key[0]}, rho = {key[1]:g}" for key in sets}
    paper = {names[key]: (TABLE_2[key][0] - TABLE_2[key][2]) / 100 for key in sets}
    strong, weak = ({names[key]: gains[key] for key in sets if (key[1] > _WEAK) == high} for high in (True, False))
    removed = [
        near(f"removed, p = {p}", 1 - TABLE_2[p, rho][1] / p, 1 - sizes[p, rho] / p, _AROUND, form=".0%")
        for p, rho in sets
        if rho == _WEAK
    ]
    claims: list[tuple[str, tuple[Check, ...], str]] = []
    if strong:
        sentence = "From a correlation of 0.5 on, sparse NB is more accurate than classic NB"
        claims.append((sentence, differ(strong, 1, paper, POINTS), ""))
    if weak:
        is_alike = alike(weak, _SLIGHT, (-1,), paper=paper, form=POINTS)
        claims.append(("At a correlation of 0.1 around a third of the features goes", tuple(removed), ""))
        claims.append(("At a correlation of 0.1 the accuracy is slightly reduced at most", is_alike, ""))
    whole = [p for p in SIZES if all((p, rho) in sets for rho in CORRELATIONS)]
    if whole:
        fewer = []
        for p in whole:
            of_p, theirs = [sizes[p, rho] for rho in CORRELATIONS], [TABLE_2[p, rho][1] for rho in CORRELATIONS]
            texts = [" > ".join(f"{size:g}" for size in numbers) for numbers in (np.round(of_p, 1), theirs)]
            ours = texts[0].replace(" >", ",")
            falls = [bool(np.all(np.diff(numbers) < 0)) for numbers in (of_p, theirs)]
            fewer.append(fact(f"p = {p}", falls[0], ours, texts[1], "", "10 folds", printed=falls[1]))
        claims.append(
            ("The stronger the correlation, the fewer features", tuple(fewer), _why_not_fewer(results, whole))
        )
    judged: list[Judged | Closeness] = [Judged("Table 2", sentence, checks, why) for sentence, checks, why in claims]
    if len(whole) == len(SIZES):
        rising = [rho for rho in CORRELATIONS if _rises(results, sets, rho)]
        ours = f"grows with every step of p at rho = {', '.join(f'{rho:g}' for rho in rising) or 'none'}"
        holds = _WEAK in rising and CORRELATIONS[-1] not in rising
        why = (
            "Here M and one pass over the held-out rows serve all draws, of which there are as many at every "
            "correlation. In R a naive Bayes is learnt for each draw, from far fewer features where correlation is "
            "strong."
        )
        check = fact("seconds", holds, ours, "the curves cross", "", "10 folds each")
        sentence = "Time grows with p where correlation is weak, but not where it is strong"
        judged.append(
            Judged("Figure 3", sentence, (check,), why, "Times of another implementation, of R in the paper.")
        )
    for k, method, title in ((2, CLASSIC, "classic NB"), (0, sparse, "sparse NB")):
        numbers = [
            (names[key], TABLE_2[key][k] / 100, results.mean(one.ours, method, "accuracy")) for key, one in sets.items()
        ]
        judged.append(closeness("Table 2", numbers, form=".2pt", unit=f"accuracy of {title}"))
    return judged


def _why_not_fewer(results: Results, sizes: list[int]) -> str:
    """Return a sentence that lists where the number of selected features does not fall as the correlation rises.

    It adds the standard deviations over the folds. ``sizes`` are the numbers of simulated features to examine.
    """
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
    """Return whether, at correlation ``rho``, the seconds grow with every increase of the number of features.

    Keys of ``sets`` are (number of features, correlation) of the data sets that have results.
    """
    sparse = sparse_name("accuracy", "auto")
    times = [results.seconds(simulated_name(p, rho), sparse) for p in SIZES if (p, rho) in sets]
    return len(times) > 1 and bool(np.all(np.diff(times) > 0))
