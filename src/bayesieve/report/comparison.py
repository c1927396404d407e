"""The page of a comparison of methods: means, tests, ranks and folds."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

import numpy as np

from bayesieve.report.render import fill
from bayesieve.report.sections.comparison import (
    ALPHA,
    MAX_STRIP_DATA,
    Folds,
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


def render_comparison(
    comparison: Any, *, title: str = "Comparison of methods", measure: str = "accuracy", reference: str | None = None
) -> str:
    """Draw a comparison of methods as one HTML document that is self-contained.

    Per method and data set: mean and standard deviation of every measure over the folds, with the best marked and
    significant differences from one method (corrected resampled t-test); average ranks and tests of all pairs, of one
    data set over its folds; over several data sets means, wins and losses, and critical-difference diagrams; folds as
    strips.

    Parameters
    ----------
    comparison : Comparison
    title : str
    measure : performance measure that orders methods and is in the headline.
    reference : method that tests compare with; None for the best by `measure`.

    Returns
    -------
    str
        The document, to be written as UTF-8.

    Raises
    ------
    ValueError
        If there is no method `reference` or measure `measure`.
    """
    from bayesieve import __version__

    if measure not in MEASURES:
        raise ValueError(f"There is no measure {measure!r}; choose one of {', '.join(MEASURES)}.")
    names = comparison.methods
    if reference is not None and reference not in names:
        raise ValueError(f"There is no method {reference!r} to compare with; there are {', '.join(names)}.")
    folds = Folds(comparison, measure)
    measures = folds.measures
    order = _order(folds)
    chosen = order[0] if reference is None else names.index(reference)
    tests = FoldTests(folds, chosen)
    several = len(folds.data) > 1
    strips = [
        (name, panels) for i, name in enumerate(folds.data[:MAX_STRIP_DATA]) if (panels := fold_panels(folds, i, order))
    ]
    failures = Counter(
        (row["data"], row["method"], row["error"]) for row in comparison.rows if row.get("error") is not None
    )
    return fill(
        "comparison.html",
        title=title,
        comparison=comparison,
        split=comparison.protocol,
        headline=headline(tests, order[0]) if measures else "No method has a value on any fold.",
        means=means_table(tests, order) if measures else None,
        tests=difference_table(tests, order) if measures and len(names) > 1 else None,
        reference=names[chosen],
        is_best=chosen == order[0] and len(measures) > 0,
        first=measures[0].title if measures else "",
        no_ranks=why_no_ranks(folds),
        ranks=rank_parts(folds),
        n_open=FIRST_MEASURES,
        tables=data_tables(tests, order) if several else [],
        strips=strips,
        strip_names=[names[j] for j in order],
        n_strips_hidden=max(0, len(folds.data) - MAX_STRIP_DATA),
        several=several,
        failures=failures.items(),
        level=format_percent(ALPHA, 0),
        version=__version__,
        created=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
    )


def headline(tests: FoldTests, best: int) -> str:
    folds = tests.folds
    measure = folds.measures[0]
    matrix = folds.matrix(measure.name)
    if len(folds.methods) == 1:
        means = folds.means(measure.name)
        mean = measure.text(float(means[~np.isnan(means)].mean()))
        return f"{_shown(folds.methods[0])}: mean {measure.title} {mean}."
    if np.isnan(matrix).all():
        return "No method finished the folds that others did, so none can be called best."
    ranks = average_ranks(matrix, measure.higher_is_better)
    tied = [j for j in range(len(ranks)) if ranks[j] <= ranks.min() + 1e-9]
    if len(tied) > 3:
        subject = f"{len(tied)} of {plural(len(ranks), 'method')} have"
    else:
        subject = " and ".join(_shown(folds.methods[j]) for j in tied) + (" has" if len(tied) == 1 else " have")
    n_sets = int((~np.isnan(matrix).all(axis=1)).sum())
    if len(folds.data) > 1:
        sentence = f"{subject} the best average rank by {measure.title} over {plural(n_sets, 'data set')}."
        return sentence + (_critical_finding(ranks, n_sets) if len(tied) == 1 and n_sets > 1 else "")
    extreme = "highest" if measure.higher_is_better else "lowest"
    sentence = f"{subject} the {extreme} mean {measure.title}, {measure.text(float(matrix[0, best]))}."
    if len(tied) > 1 or folds.n_splits < 2 or tests.reference != best:
        return sentence
    n_worse = sum(tests.mark(measure, 0, j) == "worse" for j in range(len(ranks)))
    return sentence + f" It is significantly better than {_some_of(n_worse, len(ranks) - 1)}."


def _shown(method: str) -> str:
    return shorten(not_blank(method), 60)


def _critical_finding(ranks: np.ndarray, n_data: int) -> str:
    difference = critical_difference(len(ranks), n_data, ALPHA)
    n_worse = int((ranks - ranks.min() >= difference - 1e-9).sum())
    return f" By the critical difference it is significantly better than {_some_of(n_worse, len(ranks) - 1)}."


def _some_of(number: int, n_others: int) -> str:
    if number == 0:
        return "no other method"
    return f"{'all' if number == n_others > 1 else number} of {plural(n_others, 'other method')}"


def _order(folds: Folds) -> list[int]:
    """Best first by the first measure; equal methods keep their order."""
    n_methods = len(folds.methods)
    for measure in folds.measures:
        matrix = folds.matrix(measure.name)
        if not np.isnan(matrix).all():
            ranks = average_ranks(matrix, measure.higher_is_better)
            return sorted(range(n_methods), key=lambda j: (ranks[j], j))
    return list(range(n_methods))
