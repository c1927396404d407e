"""The report on the repetitions of Rabenoro et al. (2015): table 1 with ours, and tests of its claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from bayesieve_lab.claims import (
    MARGIN,
    NEGLIGIBLE,
    ONE_RUN,
    Claim,
    Closeness,
    Judged,
    claims_table,
    closeness,
    compare,
    in_words,
)
from bayesieve_lab.comparison.results import Comparison
from bayesieve_lab.rabenoro2015.study import (
    BY_LIKELIHOOD,
    FIRST_50,
    LAPLACE,
    METHODS,
    N_SERIES,
    VARIANTS,
    WRAPPERS,
    Rabenoro2015,
)
from bayesieve_lab.rabenoro2015.subset_choice import FILTERS, SECOND_HALF, Method
from bayesieve_lab.study import Report, command_line
from bayesieve_lab.tables import TextTable, document, mean_and_spread, smoothing_text

TITLE = "Table 1 of the paper, and ours"
_FORMS = {"test": "+.4f", "features": "+.1f", "tied_steps": "+.2f"}
_NEGLIGIBLE = {"test": NEGLIGIBLE, "features": 1.0, "tied_steps": NEGLIGIBLE}
_BY_KEY = {method.key: method for method in (*METHODS, *VARIANTS)}
_FILTERS = tuple(method.key for method in METHODS if method.name in FILTERS)
_GUIDES = ("error", "probability")
_BEST = "Backward-forward, probability"

_TABLE = "Section 6, table 1"


def _pairs(first: str, second: str) -> tuple[tuple[str, str], ...]:
    """Return the pair of the searches ``first`` and ``second``, once guided by the error and once by the error
    probability.
    """
    return tuple((f"{first}, {guide}", f"{second}, {guide}") for guide in _GUIDES)


def _on_second_half(claim: Claim) -> Claim:
    """Return the claim for those variants of its searches that are guided by the second half of the rows."""
    searches = {wrapper.key for wrapper in WRAPPERS}
    pairs = (tuple(f"{key}{SECOND_HALF}" if key in searches else key for key in pair) for pair in claim.pairs)
    return replace(claim, sentence=f"{claim.sentence} (guided by the second half)", pairs=tuple(pairs))  # type: ignore[arg-type]


_SEARCHES = (
    Claim(
        "Wrappers err less than the filters",
        tuple((wrapper.key, other) for wrapper in WRAPPERS for other in _FILTERS),
    ),
    Claim(
        "The error probability is a better guide than the error",
        tuple((f"{name}, probability", f"{name}, error") for name in {wrapper.name: None for wrapper in WRAPPERS}),
    ),
    Claim(
        "Backward-forward by probability errs least of all searches",
        tuple((_BEST, wrapper.key) for wrapper in WRAPPERS if wrapper.key != _BEST),
    ),
    Claim("Backward-forward errs less than backward search", _pairs("Backward-forward", "Backward search")),
    Claim(
        "Forward-backward selects fewer indicators than forward search",
        _pairs("Forward-backward", "Forward search"),
        what="features",
    ),
    Claim("Forward-backward errs slightly more than forward search", _pairs("Forward search", "Forward-backward")),
)
CLAIMS = tuple(
    replace(claim, where=claim.where or _TABLE)
    for claim in (
        *_SEARCHES,
        Claim(
            "Backward search selects fewer indicators than forward search",
            _pairs("Backward search", "Forward search"),
            what="features",
        ),
        Claim("The MI filter errs less than the mRMR filter", ((_FILTERS[0], _FILTERS[1]),)),
        Claim("The MI filter errs less than the mRMR filter of its first 50", ((_FILTERS[0], FIRST_50.key),)),
        Claim("The mRMR filter selects fewer indicators than the MI filter", ((_FILTERS[1], _FILTERS[0]),), "features"),
        Claim(
            "Guided by the log likelihood, searches err more than by the error",
            tuple((f"{method.name}, error", method.key) for method in BY_LIKELIHOOD),
            where="Section 4.2",
        ),
        Claim(
            "Guided by the log likelihood, results are very poor: searches err more than even the filters",
            tuple((key, method.key) for method in BY_LIKELIHOOD for key in _FILTERS),
            where="Section 4.2",
        ),
        Claim(
            "Naive Bayes is not monotonic: all indicators err more than those that a search selects",
            tuple((wrapper.key, METHODS[-1].key) for wrapper in WRAPPERS),
            where="Section 4.2",
        ),
        Claim(
            "Guided by the error, more steps are tied than by the probability",
            tuple((f"{name}, probability", f"{name}, error") for name in ("Forward search", "Backward search")),
            "tied_steps",
            "Section 4.2",
        ),
        *map(_on_second_half, _SEARCHES),
    )
)
"""Claims about table 1, or shown by it, and claims of section 4.2."""


def report(study: Rabenoro2015, comparison: Comparison) -> Report:
    """Return the report on the repetitions.

    Raises
    ------
    ValueError
        If a method failed.
    """
    for data, method, _, error in comparison.errors():
        raise ValueError(
            f"{method} failed on {data} ({error}); the table needs all methods. Correct the cause, and run it again."
        )
    claims = compared(comparison)
    findings, table = tuple(map(in_words, claims)), main_table(comparison, METHODS)
    variants = [method for method in VARIANTS if method.key in comparison.methods]
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
        variants=main_table(comparison, variants) if variants else None,
        findings=findings,
        comparisons=claims_table(claims),
        paths=path_table(comparison),
        n_published=len(published),
        tau=kendalltau([method.paper_error for method in published], ours).statistic,
    )
    return Report(((TITLE, table),), findings, text)


def compared(comparison: Comparison) -> list[Judged]:
    """Judge those claims whose methods all have results."""
    methods = {*comparison.methods}
    claims = [claim for claim in CLAIMS if {key for pair in claim.pairs for key in pair} <= methods]
    # The empty subset has no steps: its share of tied steps is 0 instead of NaN.
    values = {
        what: {key: np.nan_to_num(of) for key, of in values_of(comparison, what).items()}
        for what in {claim.what for claim in claims}
    }
    return [
        compare(
            replace(claim, negligible=_NEGLIGIBLE[claim.what]),
            values[claim.what],
            _published(claim.what),
            _FORMS[claim.what],
            printed=ONE_RUN,
        )
        for claim in claims
    ]


def judge(comparison: Comparison) -> tuple[Judged | Closeness, ...]:
    """Judge every claim, and compute how close our table 1 is."""
    errors, features = values_of(comparison, "test"), values_of(comparison, "features")
    theirs = {method.key: method for method in METHODS if method.paper_error is not None}
    numbers = [(key, float(method.paper_error or 0), float(errors[key].mean())) for key, method in theirs.items()]
    sizes = [(method.paper_features or 0, float(features[key].mean())) for key, method in theirs.items()]
    tau = kendalltau(*zip(*(number[1:] for number in numbers), strict=True)).statistic
    of_sizes = kendalltau(*zip(*sizes, strict=True)).statistic
    close = closeness("Table 1", numbers, MARGIN, ".4f", "errors")
    text = f"{close.text}; Kendall's correlation of errors {tau:.2f}, of numbers of indicators {of_sizes:.2f}"
    return (*compared(comparison), Closeness(close.where, text))


def _published(what: str) -> dict[str, float]:
    """Return the paper's numbers by method: test errors if ``what`` is "test", numbers of indicators if it is
    "features".

    For other names it is empty.
    """
    name = {"test": "paper_error", "features": "paper_features"}.get(what, "")
    return {key: value for key, method in _BY_KEY.items() if (value := getattr(method, name, None)) is not None}


def values_of(comparison: Comparison, what: str) -> dict[str, np.ndarray]:
    """Return the values of a measure in every repetition, (n_repetitions,), by method.

    ``what`` is "features" (their number), "test" (error), or a measure that `SubsetChoice` reports, such as
    "tied_steps".
    """

    def of_draw(data: str) -> np.ndarray:
        """Return the value of each method on the repetition whose name is ``data``, (n_methods,)."""
        if what == "test":
            return np.round(1.0 - comparison.folds("accuracy", data)[0], 10)
        return (comparison.folds("n_features", data) if what == "features" else comparison.figure(what, data))[0]

    values = np.array([of_draw(data) for data in comparison.data])
    return dict(zip(comparison.methods, values.T, strict=True))


def main_table(comparison: Comparison, methods: Sequence[Method]) -> TextTable:
    """Return table 1 of the paper beside ours: number of indicators and test error, with one row for each of
    ``methods``.
    """
    features, errors = values_of(comparison, "features"), values_of(comparison, "test")
    rows = [
        (
            method.name,
            f"{method.guide}{SECOND_HALF}" if method.second_half else method.guide,
            "" if method.paper_features is None else str(method.paper_features),
            "" if method.paper_error is None else f"{method.paper_error:.4f}",
            mean_and_spread(features[method.key], 0),
            mean_and_spread(errors[method.key], 4),
        )
        for method in methods
    ]
    columns = ("Method", "Guided by", ">Features, paper", ">Test error, paper", ">Features", ">Test error")
    return TextTable.of(columns, rows)


def path_table(comparison: Comparison) -> TextTable:
    """Return a table with one row per method: validation and test error, and numbers on the path of its search.

    The latter are the lowest test error on the path, the number of repetitions in which the method had the lowest test
    error of all, the share of tied steps, and the median seconds.
    """
    test, validation = values_of(comparison, "test"), values_of(comparison, "validation_error")
    lowest_test, seconds = values_of(comparison, "lowest_test_error"), values_of(comparison, "choice_seconds")
    ties = values_of(comparison, "tied_steps")
    lowest = np.min([test[method.key] for method in METHODS], axis=0)
    rows = [
        (
            method.name,
            method.guide,
            f"{validation[method.key].mean():.4f}",
            f"{test[method.key].mean():.4f}",
            f"{lowest_test[method.key].mean():.4f}",
            str(int((test[method.key] <= lowest + 1e-12).sum())),
            share_of_ties(ties[method.key]),
            f"{np.median(seconds[method.key]):.1f}",
        )
        for method in METHODS
    ]
    columns = ("Method", "Guided by", ">Validation error", ">Test error", ">Best of path", ">Lowest in", ">Tied steps")
    return TextTable.of((*columns, ">Seconds"), rows)


def share_of_ties(ties: np.ndarray) -> str:
    """Return the mean of shares of tied steps, ``ties`` (n_repetitions,), in percent as text; empty if all are NaN."""
    shares = ties[~np.isnan(ties)]
    return f"{100 * shares.mean():.0f} %" if shares.size else ""
