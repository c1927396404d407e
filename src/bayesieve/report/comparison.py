"""The page of a comparison of methods: means, tests, ranks and folds."""

from __future__ import annotations

from collections import Counter

import numpy as np

from bayesieve.report.comparison_data import ComparisonData, Folds
from bayesieve.report.render import fill
from bayesieve.report.sections.comparison import (
    MAX_STRIP_DATA,
    FoldPanel,
    FoldTests,
    data_tables,
    difference_table,
    fold_panels,
    means_table,
)
from bayesieve.report.sections.comparison_ranks import FIRST_MEASURES, rank_parts, why_no_ranks
from bayesieve.statistics import average_ranks, critical_difference
from bayesieve.statistics.metrics import MEASURES
from bayesieve.words import format_percent, not_blank, plural, shorten

__all__ = ["ComparisonData", "render_comparison"]


def render_comparison(data: ComparisonData) -> str:
    """Draw a comparison of methods as one HTML document that is self-contained.

    Per method and data set: mean and standard deviation of every measure over the folds, with the best marked and
    significant differences from one method (corrected resampled t-test); average ranks and tests of all pairs, of one
    data set over its folds; over several data sets means, wins and losses, and critical-difference diagrams; folds as
    strips.

    Parameters
    ----------
    data : ComparisonData
        Its folds are lines of a comparison, such as ``comparison.frame.to_dicts()``.

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
    >>> from bayesieve.report.comparison import ComparisonData, render_comparison
    >>> rows = [{"data": "iris", "method": m, "repeat": 0, "fold": f, "accuracy": 0.9 + f / 100}
    ...         for m in ("NB", "MAP") for f in range(3)]
    >>> page = ComparisonData("Iris", ("iris",), ("NB", "MAP"), rows, n_folds=3)
    >>> render_comparison(page).startswith("<!doctype html>")
    True
    """
    _check(data)
    folds = Folds(data)
    measures = folds.measures()
    order = _order(folds)
    best = order[0]
    reference = best if data.reference is None else data.methods.index(data.reference)
    tests = FoldTests(folds, reference)
    several = len(data.data) > 1
    strips: list[tuple[str, list[FoldPanel]]] = [
        (name, panels) for i, name in enumerate(data.data[:MAX_STRIP_DATA]) if (panels := fold_panels(folds, i, order))
    ]
    failures = Counter((row["data"], row["method"], row["error"]) for row in data.folds if row.get("error") is not None)
    return fill(
        "comparison.html",
        data=data,
        headline=headline(tests, best) if measures else "No method has a value on any fold.",
        means=means_table(tests, order) if measures else None,
        tests=difference_table(tests, order) if measures and len(data.methods) > 1 else None,
        reference=data.methods[reference],
        is_best=reference == best and len(measures) > 0,
        first=measures[0].title if measures else "",
        no_ranks=why_no_ranks(folds),
        ranks=rank_parts(folds),
        n_open=FIRST_MEASURES,
        tables=data_tables(tests, order) if several else [],
        strips=strips,
        strip_names=[data.methods[j] for j in order],
        n_strips_hidden=max(0, len(data.data) - MAX_STRIP_DATA),
        several=several,
        failures=failures.items(),
        level=format_percent(data.alpha, 0 if round(100 * data.alpha, 6).is_integer() else 1),
    )


def headline(tests: FoldTests, best: int) -> str:
    folds, data = tests.folds, tests.folds.data
    measure = folds.measures()[0]
    matrix = folds.matrix(measure.name)
    if len(data.methods) == 1:
        means = folds.means(measure.name)
        mean = measure.text(float(means[~np.isnan(means)].mean()))
        return f"{_shown(data.methods[0])}: mean {measure.title} {mean}."
    if np.isnan(matrix).all():
        return "No method finished the folds that others did, so none can be called best."
    ranks = average_ranks(matrix, measure.higher_is_better)
    tied = [j for j in range(len(ranks)) if ranks[j] <= ranks.min() + 1e-9]
    if len(tied) > 3:
        subject = f"{len(tied)} of {plural(len(ranks), 'method')} have"
    else:
        subject = " and ".join(_shown(data.methods[j]) for j in tied) + (" has" if len(tied) == 1 else " have")
    n_sets = int((~np.isnan(matrix).all(axis=1)).sum())
    if len(data.data) > 1:
        sentence = f"{subject} the best average rank by {measure.title} over {plural(n_sets, 'data set')}."
        return sentence + (_critical_finding(ranks, n_sets, data.alpha) if len(tied) == 1 and n_sets > 1 else "")
    extreme = "highest" if measure.higher_is_better else "lowest"
    sentence = f"{subject} the {extreme} mean {measure.title}, {measure.text(float(matrix[0, best]))}."
    if len(tied) > 1 or len(folds.splits) < 2 or tests.reference != best:
        return sentence
    n_worse = sum(tests.mark(measure, 0, j) == "worse" for j in range(len(ranks)))
    return sentence + f" It is significantly better than {_some_of(n_worse, len(ranks) - 1)}."


def _shown(method: str) -> str:
    return shorten(not_blank(method), 60)


def _critical_finding(ranks: np.ndarray, n_data: int, alpha: float) -> str:
    difference = critical_difference(len(ranks), n_data, alpha)
    n_worse = int((ranks - ranks.min() >= difference - 1e-9).sum())
    return f" By the critical difference it is significantly better than {_some_of(n_worse, len(ranks) - 1)}."


def _some_of(number: int, n_others: int) -> str:
    if number == 0:
        return "no other method"
    return f"{'all' if number == n_others > 1 else number} of {plural(n_others, 'other method')}"


def _order(folds: Folds) -> list[int]:
    """Best first by the first measure; equal methods keep their order."""
    n_methods = len(folds.data.methods)
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
    if data.measure is not None and data.measure not in MEASURES:
        raise ValueError(f"There is no measure {data.measure!r}; choose one of {', '.join(MEASURES)}.")
    for row in data.folds:
        if row["data"] not in data.data or row["method"] not in data.methods:
            raise ValueError(
                f"A fold belongs to method {row['method']!r} on {row['data']!r}, which is not in the comparison."
            )
    if data.reference is not None and data.reference not in data.methods:
        raise ValueError(f"There is no method {data.reference!r} to compare with; there are {', '.join(data.methods)}.")
