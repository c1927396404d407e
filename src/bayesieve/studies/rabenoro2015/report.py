"""The report on the repetitions of Rabenoro et al. (2015): table 1 with ours, and tests of its claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from bayesieve.evaluation.comparison_result import Comparison
from bayesieve.studies.claims import Claim, ClaimedPair, compare, in_words
from bayesieve.studies.rabenoro2015.study import LAPLACE, METHODS, N_SERIES, WRAPPERS, Rabenoro2015
from bayesieve.studies.rabenoro2015.subset_choice import FILTERS
from bayesieve.studies.study import Report, command_line
from bayesieve.studies.tables import TextTable, document, mean_and_spread, p_text, signed, smoothing_text

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


def report(study: Rabenoro2015, comparison: Comparison) -> Report:
    """Report on repetitions.

    Raises
    ------
    ValueError
        If a method failed.
    """
    for data, method, _, error in comparison.errors():
        raise ValueError(f"{method} failed on {data} ({error}); the table needs all methods.")
    comparisons = [compare(claim, values_of(comparison, claim.what)) for claim in CLAIMS]
    findings, table = tuple(map(in_words, comparisons)), main_table(comparison)
    published = [method for method in METHODS if method.paper_error is not None]
    ours = [values_of(comparison, "test")[method.key].mean() for method in published]
    text = document(
        Path(__file__).with_name("report.md"),
        citation=study.citation,
        settings=study.settings,
        whole=N_SERIES,
        n=len(comparison.data),
        n_indicators=int(values_of(comparison, "features")[METHODS[-1].key][0]),  # all of them
        smoothing=smoothing_text(study.smoothing, "the m-estimate of Boulle (2007)"),
        command=command_line(
            study.paper,
            grid=study.grid,
            repetitions=len(comparison.data),
            seed=study.options.seed,
            smoothing=None if study.smoothing == LAPLACE else study.smoothing,
            quick=study.n_series != N_SERIES,
        ),
        title=TITLE,
        main=table,
        findings=findings,
        comparisons=comparison_table([pair for pairs in comparisons for pair in pairs]),
        paths=path_table(comparison),
        n_published=len(published),
        tau=kendalltau([method.paper_error for method in published], ours).statistic,
    )
    return Report(((TITLE, table),), findings, text)


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
