"""The page of a comparison of methods: means, tests, ranks and folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesieve.report.comparison_data import MEASURES, ComparisonData, FoldResult, Folds, fold_results
from bayesieve.report.critical_difference import comparison_style
from bayesieve.report.formats import format_number, format_percent, plural, shorten, visible
from bayesieve.report.render import fill
from bayesieve.report.sections.comparison import (
    MAX_STRIP_DATA,
    FoldPanel,
    FoldTests,
    best_method,
    data_tables,
    difference_table,
    fold_panels,
    means_table,
)
from bayesieve.report.sections.comparison_ranks import FIRST_MEASURES, rank_parts, why_no_ranks
from bayesieve.statistics import average_ranks, critical_difference

__all__ = ["ComparisonData", "FoldResult", "fold_results", "render_comparison"]


@dataclass(frozen=True)
class Failure:
    """An error, and the number of folds that it affects."""

    data: str
    method: str
    n_folds: int
    error: str


def render_comparison(data: ComparisonData) -> str:
    """Draw a comparison of methods as one HTML document that is self-contained.

    Per method and data set: mean and standard deviation of every measure over the folds, with the best marked and
    significant differences from one method (corrected resampled t-test); average ranks and tests of all pairs, of one
    data set over its folds; over several data sets means, wins and losses, and critical-difference diagrams; folds as
    strips.

    Parameters
    ----------
    data : ComparisonData
        Its folds come from ``fold_results(comparison.frame.to_dicts())``.

    Returns
    -------
    str
        The document, to be written as UTF-8.

    Raises
    ------
    ValueError
        If there are no methods or data sets, a fold names another one, or there is no method `reference` or measure
        `measure`.

    Examples
    --------
    >>> from bayesieve.report.comparison import ComparisonData, fold_results, render_comparison
    >>> rows = [{"data": "iris", "method": m, "repeat": 0, "fold": f, "accuracy": 0.9 + f / 100}
    ...         for m in ("NB", "MAP") for f in range(3)]
    >>> page = ComparisonData("Iris", ("iris",), ("NB", "MAP"), fold_results(rows), n_folds=3)
    >>> render_comparison(page).startswith("<!doctype html>")
    True
    """
    _check(data)
    folds = Folds(data)
    measures = folds.measures()
    best = best_method(folds, measures)
    reference = best if data.reference is None else data.methods.index(data.reference)
    tests = FoldTests(data, folds, reference)
    order = _order(folds)
    several = len(data.data) > 1
    strips: list[tuple[str, list[FoldPanel]]] = [
        (name, panels)
        for i, name in enumerate(data.data[:MAX_STRIP_DATA])
        if (panels := fold_panels(data, folds, i, order))
    ]
    return fill(
        "comparison.html",
        data=data,
        style=comparison_style(),
        headline=headline(data, folds, tests, best) if measures else "No method has a value on any fold.",
        means=means_table(data, folds, tests, order, reference) if measures else None,
        tests=difference_table(data, folds, tests, order, reference) if measures and len(data.methods) > 1 else None,
        reference=data.methods[reference],
        is_best=reference == best and len(measures) > 0,
        first=measures[0].in_words if measures else "",
        no_ranks=why_no_ranks(data, folds),
        ranks=rank_parts(data, folds),
        n_open=FIRST_MEASURES,
        tables=data_tables(data, folds, tests, order) if several else [],
        strips=strips,
        strip_names=[data.methods[j] for j in order],
        n_strips_hidden=max(0, len(data.data) - MAX_STRIP_DATA),
        several=several,
        failures=failures(data.folds),
        protocol=protocol_sentence(data),
        level=format_percent(data.alpha, 0 if round(100 * data.alpha, 6).is_integer() else 1),
    )


def headline(data: ComparisonData, folds: Folds, tests: FoldTests, best: int) -> str:
    """The headline finding, by the first measure."""
    measure = folds.measures()[0]
    matrix = folds.matrix(measure.name)
    if len(data.methods) == 1:
        means = folds.means(measure.name)
        mean = format_number(float(means[~np.isnan(means)].mean()), measure.digits)
        return f"{shorten(visible(data.methods[0]), 60)}: mean {measure.in_words} {mean}."
    if np.isnan(matrix).all():
        return "No method finished the folds that others did, so that none can be called best."
    ranks = average_ranks(matrix, measure.higher_is_better)
    tied = [j for j in range(len(ranks)) if ranks[j] <= ranks.min() + 1e-9]
    if len(tied) > 3:
        subject = f"{len(tied)} of {plural(len(ranks), 'method')} have"
    else:
        subject = " and ".join(shorten(visible(data.methods[j]), 60) for j in tied)
        subject += " has" if len(tied) == 1 else " have"
    n_sets = int((~np.isnan(matrix).all(axis=1)).sum())
    if len(data.data) > 1:
        sentence = f"{subject} the best average rank by {measure.in_words} over {plural(n_sets, 'data set')}."
        return sentence + (_critical_finding(ranks, n_sets, data.alpha) if len(tied) == 1 and n_sets > 1 else "")
    mean = format_number(float(matrix[0, best]), measure.digits)
    sentence = f"{subject} the {'highest' if measure.higher_is_better else 'lowest'} mean {measure.in_words}, {mean}."
    if len(tied) > 1 or len(folds.splits) < 2 or tests.reference != best:
        return sentence
    n_worse = sum(tests.mark(measure, 0, j) == "worse" for j in range(len(ranks)))
    return sentence + f" It is significantly better than {_some_of(n_worse, len(ranks) - 1)}."


def _critical_finding(ranks: np.ndarray, n_data: int, alpha: float) -> str:
    difference = critical_difference(len(ranks), n_data, alpha)
    n_worse = int((ranks - ranks.min() >= difference - 1e-9).sum())
    return f" By the critical difference it is significantly better than {_some_of(n_worse, len(ranks) - 1)}."


def _some_of(number: int, n_others: int) -> str:
    if number == 0:
        return "no other method"
    return f"{'all' if number == n_others > 1 else number} of {plural(n_others, 'other method')}"


def protocol_sentence(data: ComparisonData) -> str:
    """The protocol of the comparison."""
    compared = f"{plural(len(data.methods), 'method')} on {plural(len(data.data), 'data set')}"
    repeats = f", repeated {data.n_repeats} times" if data.n_repeats > 1 else ""
    if data.n_folds < 2:
        return f"{compared}; trained on the first rows, tested on the others."
    seed = "" if data.seed is None else f", seed {data.seed}"
    return (
        f"{compared}, stratified {data.n_folds}-fold cross-validation{repeats}{seed}; every method on the same folds."
    )


def failures(folds: Sequence[FoldResult]) -> list[Failure]:
    """Errors in the order of their first fold."""
    counts: dict[tuple[str, str, str], int] = {}
    for f in folds:
        if f.error is not None:
            key = (f.data, f.method, f.error)
            counts[key] = counts.get(key, 0) + 1
    return [Failure(*key[:2], number, key[2]) for key, number in counts.items()]


def _order(folds: Folds) -> list[int]:
    """Best first by the first measure; equal methods keep their order."""
    n_methods = folds.shape[1]
    for measure in folds.measures():
        matrix = folds.matrix(measure.name)
        if not np.isnan(matrix).all():
            ranks = average_ranks(matrix, measure.higher_is_better)
            return sorted(range(n_methods), key=lambda j: (ranks[j], j))
    return list(range(n_methods))


def _check(data: ComparisonData) -> None:
    if not data.methods or not data.data:
        raise ValueError("A comparison needs at least one method and one data set to be drawn.")
    for names, what in ((data.methods, "method"), (data.data, "data set")):
        if len(set(names)) < len(names):
            raise ValueError(f"Each {what} needs a name of its own, got {', '.join(names)}.")
    known = [measure.name for measure in MEASURES]
    if data.measure is not None and data.measure not in known:
        raise ValueError(f"There is no measure {data.measure!r}; choose one of {', '.join(known)}.")
    strange = next((f for f in data.folds if f.data not in data.data or f.method not in data.methods), None)
    if strange is not None:
        raise ValueError(
            f"A fold belongs to method {strange.method!r} on {strange.data!r}, which is not in the comparison."
        )
    if data.reference is not None and data.reference not in data.methods:
        raise ValueError(f"There is no method {data.reference!r} to compare with; there are {', '.join(data.methods)}.")
