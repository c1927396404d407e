"""The report on the repetitions of Rabenoro et al. (2015): table 1 with ours, and tests of its claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesieve.evaluation.comparison_result import Comparison
from bayesieve.studies.claims import Claim, ClaimedPair, compare, in_words
from bayesieve.studies.rabenoro2015.study import LAPLACE, METHODS, N_SERIES, WRAPPERS, Rabenoro2015
from bayesieve.studies.rabenoro2015.subset_choice import FILTERS
from bayesieve.studies.study import Report, command_line
from bayesieve.studies.tables import Part, TextTable, document, mean_and_spread, p_text, signed, smoothing_text

TITLE = "Table 1 of the paper, and ours"
_DIGITS = {"test": 4, "features": 1}
_BY_KEY = {method.key: method for method in METHODS}
_FILTERS = tuple(method.key for method in METHODS if method.name in FILTERS)
_GUIDES = ("error", "probability")
_BEST = "Backward-forward, probability"

CLAIMS = (
    Claim(
        "Wrappers err less than the filters", tuple((wrapper.key, other) for wrapper in WRAPPERS for other in _FILTERS)
    ),
    Claim(
        "The error probability is a better guide than the error",
        tuple((f"{name}, probability", f"{name}, error") for name in {wrapper.name: None for wrapper in WRAPPERS}),
    ),
    Claim(
        "Backward-forward by probability errs least of all searches",
        tuple((_BEST, wrapper.key) for wrapper in WRAPPERS if wrapper.key != _BEST),
    ),
    Claim(
        "Backward-forward errs less than backward search",
        tuple((f"Backward-forward, {guide}", f"Backward search, {guide}") for guide in _GUIDES),
    ),
    Claim(
        "Forward-backward selects fewer indicators than forward search",
        tuple((f"Forward-backward, {guide}", f"Forward search, {guide}") for guide in _GUIDES),
        what="features",
    ),
    Claim("The MI filter errs less than the mRMR filter", ((_FILTERS[0], _FILTERS[1]),)),
)
"""Claims of the paper about table 1, or shown by the table."""


def report(settings: Mapping[str, Any], comparison: Comparison) -> Report:
    """Report on repetitions.

    Raises
    ------
    ValueError
        If a method failed.
    """
    for data, method, _, error in comparison.errors():
        raise ValueError(f"{method} failed on {data} ({error}); the table needs all methods.")
    comparisons = [compare(claim, values_of(comparison, claim.what)) for claim in CLAIMS]
    findings = tuple(in_words(pairs) for pairs in comparisons)
    table = main_table(comparison)
    parts: list[Part] = [
        "# Search strategies for binary feature selection: table 1 reproduced",
        f"{Rabenoro2015.citation}.",
        _conditions(settings, comparison),
        f"```\n{command(settings, len(comparison.data))}\n```",
        f"## {TITLE}",
        table,
        "± is the standard deviation over the repetitions; the paper gives a single run."
        if len(comparison.data) > 1
        else "This is a single run, as in the paper.",
        "## The paper's claims",
        findings,
        "A comparison holds or is reversed if an exact two-sided Wilcoxon signed-rank test over the repetitions gives "
        "p < 0.05, after Holm's adjustment for the comparisons of one claim; otherwise it is open. Differences "
        "are the first method minus the second, with their standard error; the last columns count the repetitions.",
        comparison_table([pair for pairs in comparisons for pair in pairs]),
        "## How the subsets were chosen",
        path_table(comparison),
        "*Best of path* is the lowest test error of all subsets on the path of the method: the error of a perfect "
        "choice of the size. *Lowest in* counts the repetitions in which no method had a lower test error. *Tied "
        "steps* are the steps up to the chosen subset at which several indicators were equally good and the order of "
        "the columns decided. Seconds are for the choice alone, on one thread.",
        _order(comparison),
    ]
    return Report(((TITLE, table),), findings, document(parts))


def values_of(comparison: Comparison, what: str) -> dict[str, np.ndarray]:
    """Values by method and repetition: "features", "test" (error), or a figure of `SubsetChoice`."""

    def of_draw(data: str) -> np.ndarray:
        if what == "test":
            return np.round(1.0 - comparison.folds("accuracy", data)[0], 10)
        return (comparison.folds("n_features", data) if what == "features" else comparison.figure(what, data))[0]

    values = np.array([of_draw(data) for data in comparison.data])
    return dict(zip(comparison.methods, values.T, strict=True))


def main_table(comparison: Comparison) -> TextTable:
    """Table 1 of the paper, with ours."""
    features, errors = values_of(comparison, "features"), values_of(comparison, "test")
    rows = [
        (
            method.name,
            method.guide,
            "" if method.paper_features is None else str(method.paper_features),
            "" if method.paper_error is None else f"{method.paper_error:.4f}",
            mean_and_spread(features[method.key], 0),
            mean_and_spread(errors[method.key], 4),
        )
        for method in METHODS
    ]
    columns = ("Method", "Guided by", ">Features, paper", ">Test error, paper", ">Features", ">Test error")
    return TextTable.of(columns, rows)


def comparison_table(comparisons: Sequence[ClaimedPair]) -> TextTable:
    """Every comparison of every claim."""
    rows = []
    claim = None
    for pair in comparisons:
        digits = _DIGITS[pair.claim.what]
        rows.append(
            (
                pair.claim.sentence if pair.claim is not claim else "",
                f"{_short(pair.first)} - {_short(pair.second)}",
                _paper_difference(pair, digits),
                _with_error(pair, digits),
                p_text(pair.p_value),
                "**reversed**" if pair.verdict == "reversed" else pair.verdict,
                f"{pair.lower} / {pair.equal} / {pair.higher}",
            )
        )
        claim = pair.claim
    columns = ("Claim", "Methods", ">Paper", ">Ours", ">p (Holm)", "Verdict", ">lower / equal / higher")
    return TextTable.of(columns, rows)


def path_table(comparison: Comparison) -> TextTable:
    """The paths of the methods, and how often each method was best."""
    test, validation = values_of(comparison, "test"), values_of(comparison, "validation_error")
    lowest_test, seconds = values_of(comparison, "lowest_test_error"), values_of(comparison, "choice_seconds")
    ties = values_of(comparison, "tied_steps")
    lowest = np.min(list(test.values()), axis=0)
    rows = [
        (
            method.name,
            method.guide,
            f"{validation[method.key].mean():.4f}",
            f"{test[method.key].mean():.4f}",
            f"{lowest_test[method.key].mean():.4f}",
            str(int((test[method.key] <= lowest + 1e-12).sum())),
            _share(ties[method.key]),
            f"{np.median(seconds[method.key]):.1f}",
        )
        for method in METHODS
    ]
    columns = ("Method", "Guided by", ">Validation error", ">Test error", ">Best of path", ">Lowest in", ">Tied steps")
    return TextTable.of((*columns, ">Seconds"), rows)


def command(settings: Mapping[str, Any], repetitions: int) -> str:
    """The command that gives these results."""
    return command_line(
        "rabenoro2015",
        grid=settings["grid"],
        repetitions=repetitions,
        seed=settings["seed"],
        smoothing=None if settings["smoothing"] == LAPLACE else settings["smoothing"],
        quick=settings["n_series"] != N_SERIES,
    )


def _conditions(settings: Mapping[str, Any], comparison: Comparison) -> str:
    n_series, half = settings["n_series"], settings["n_series"] // 2
    trial = "" if n_series == N_SERIES else f" This is a quick trial: the paper has {N_SERIES} series in each set."
    repetitions = f"{len(comparison.data)} repetitions, each" if len(comparison.data) > 1 else "One repetition,"
    n_indicators = int(values_of(comparison, "features")[METHODS[-1].key][0])  # all of them
    return (
        f"{repetitions} with {n_series} training series and {n_series} test series drawn at random, and "
        f'{n_indicators} indicators of the grid "{settings["grid"]}". Naive Bayes learns from {half} training series '
        f"(probabilities by {smoothing_text(settings['smoothing'], 'the m-estimate of Boulle (2007)')}), which also "
        "guide rankings and searches. The smallest subset with the lowest error on the other half is chosen, and its "
        f"error on the test series is reported, with the probabilities of the first half.{trial}"
    )


def _order(comparison: Comparison) -> str:
    from scipy.stats import kendalltau

    published = [method for method in METHODS if method.paper_error is not None]
    ours = values_of(comparison, "test")
    tau = kendalltau([m.paper_error for m in published], [ours[m.key].mean() for m in published]).statistic
    return (
        f"Kendall's correlation between the paper's test errors and our means, over the {len(published)} methods of "
        f"the table: {tau:.2f}."
    )


def _with_error(pair: ClaimedPair, digits: int) -> str:
    mean, error = signed(pair.mean, digits), pair.standard_error
    return mean if np.isnan(error) else f"{mean} ± {error:.{digits}f}"


def _share(ties: np.ndarray) -> str:
    known = ties[~np.isnan(ties)]
    return f"{100 * known.mean():.0f} %" if known.size else ""


def _short(key: str) -> str:
    return key.removesuffix(", error") if key in _FILTERS else key.replace(" search", "").replace(",", " by")


def _paper_difference(pair: ClaimedPair, digits: int) -> str:
    published = "paper_error" if pair.claim.what == "test" else "paper_features"
    first, second = (getattr(_BY_KEY[key], published) for key in (pair.first, pair.second))
    return signed(first - second, digits if digits > 1 else 0)
