"""Critical-difference diagrams (Demsar 2006, figure 1).

They show average ranks of methods on an axis, with bars that join methods that do not differ significantly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from bayesieve import words
from bayesieve.report.charts import columns, template
from bayesieve.report.page import Figure
from bayesieve_lab.comparison.differences import cliques, groups_not_apart

_MOST_PAIRS = 6  # pairs that a caption names
_AXIS = "average rank, 1 is best"


def critical_difference_figure(
    names: Sequence[str],
    ranks: Sequence[float],
    difference: float | None,
    *,
    n_data: int | None = None,
    alpha: float = 0.05,
    title: str | None = None,
) -> Figure:
    """Draw a critical-difference diagram (Demsar 2006, figure 1): the best rank on the left, and a bar over methods
    that are not significantly different.

    Parameters
    ----------
    names : (n_methods,)
    ranks : (n_methods,) average ranks over data sets, 1 is best, from `average_ranks`.
    difference : float or None
        Result of `critical_difference`; None if no test is possible, and then there are no bars.
    n_data : number of data sets, for the caption.
    alpha : significance level of `difference`, for the caption.
    title : str, optional

    Returns
    -------
    Figure

    Raises
    ------
    ValueError
        If names and ranks differ in number, or a rank is not between 1 and their number.

    Examples
    --------
    >>> from bayesieve_lab.comparison.differences import critical_difference
    >>> from bayesieve_lab.comparison.critical_difference import critical_difference_figure
    >>> names, ranks = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"], [3.143, 2.000, 2.893, 1.964]
    >>> critical_difference_figure(names, ranks, critical_difference(4, 14), n_data=14).caption
    'Average ranks of 4 methods over 14 data sets, 1 is best. No two methods differ significantly (Nemenyi, 5%).'
    """
    values = [float(rank) for rank in ranks]
    if len(names) != len(values):
        raise ValueError(
            f"{len(values)} ranks cannot be drawn for {len(names)} names; give one average rank for each method."
        )
    wrong = next((i for i, v in enumerate(values) if not 1 - 1e-9 <= v <= len(values) + 1e-9), None)
    if wrong is not None:
        raise ValueError(f"The average rank of {names[wrong]!r} must be from 1 to {len(values)}, got {values[wrong]}.")
    if difference is not None and not (math.isfinite(difference) and difference > 0):
        raise ValueError(f"The critical difference is a positive number of ranks or None, got {difference}.")
    groups = None if difference is None else cliques(values, difference)
    test = f"Nemenyi, {words.format_percent(alpha, 0 if math.isclose(100 * alpha, round(100 * alpha)) else 1)}"
    if len(values) < 2:
        finding = ""
    elif difference is None:
        finding = "No test is possible, so no methods are joined."
    elif difference > len(values) - 1:
        finding = (
            f"The critical difference, {words.format_number(difference, 2)}, is more than ranks can differ: with so "
            f"few data sets the test ({test}) can show nothing."
        )
    else:
        finding = _bars_in_words(len(values), groups or (), test)
    over = "" if n_data is None else f" over {words.plural(n_data, 'data set')}"
    caption = f"Average ranks of {words.plural(len(values), 'method')}{over}, 1 is best. {finding}".strip()
    axis = _AXIS if difference is None else f"{_AXIS}; critical difference {difference:.2f}"
    return _figure(names, values, groups, title or "Average ranks", caption, axis)


def fold_rank_figure(
    names: Sequence[str],
    ranks: Sequence[float],
    apart: Sequence[tuple[int, int]],
    *,
    n_folds: int,
    alpha: float = 0.05,
    title: str,
) -> Figure:
    """Draw average ranks over the folds of one data set, like `critical_difference_figure` over data sets.

    Tests of ranks do not apply, because folds share rows. Bars join neighbours by rank of which no pair is in
    ``apart``.

    Parameters
    ----------
    names : (n_methods,)
    ranks : (n_methods,) average ranks over folds, 1 is best.
    apart : pairs of positions in ``names`` of methods that differ significantly by a test over the folds.
    n_folds, alpha : for the caption.
    title : str

    Returns
    -------
    Figure

    Examples
    --------
    >>> from bayesieve_lab.comparison.critical_difference import fold_rank_figure
    >>> fold_rank_figure(["A", "B", "C"], [1.2, 2.1, 2.7], [(0, 2)], n_folds=10, title="AUC").data["alike"].to_list()
    ['B', 'A, C', 'B']
    """
    test = f"corrected resampled t-test of the folds, {words.format_percent(alpha, 0)} each"
    caption = f"Average ranks of {words.plural(len(ranks), 'method')} over {words.plural(n_folds, 'fold')}, 1 is best."
    if n_folds < 2:
        caption += " A single fold cannot be tested, so no methods are joined."
        return _figure(names, ranks, None, title, caption)
    groups, distinct = groups_not_apart(ranks, apart), {frozenset(pair) for pair in apart}
    # List pairs that do not differ significantly but that no line joins, because a method ranked between them differs
    # from one of them.
    unjoined = [
        f"{names[i]} and {names[j]}"
        for i, j in itertools.combinations(range(len(names)), 2)
        if {i, j} not in distinct and not any({i, j} <= set(group) for group in groups)
    ]
    finding = _bars_in_words(len(ranks), groups, test)
    if unjoined:
        finding = finding if groups else f"No neighbours by rank are joined by a bar ({test})."
        more = f"; and {len(unjoined) - _MOST_PAIRS} more pairs" if len(unjoined) > _MOST_PAIRS else ""
        pairs = "; ".join(unjoined[:_MOST_PAIRS])
        finding += f" Without a bar, but not significantly different either: {pairs}{more}."
    return _figure(names, ranks, groups, title, f"{caption} {finding}")


def _figure(
    names: Sequence[str],
    ranks: Sequence[float],
    groups: Sequence[Sequence[int]] | None,
    title: str,
    caption: str,
    axis: str = _AXIS,
) -> Figure:
    """Return a figure of average ranks with one line per method, the best first; bars join methods that do not differ.

    Parameters
    ----------
    names : (n_methods,)
    ranks : (n_methods,) average ranks.
    groups : positions of the methods that each bar joins, the best of each group first; None without a test.
    title, caption : texts of the figure.
    axis : title of the axis.
    """
    if not ranks:
        return Figure(title, caption, {})
    order = sorted(range(len(names)), key=lambda i: ranks[i])
    texts = [words.shorten(words.not_blank(name), 80) for name in names]
    lines = [(texts[i], float(ranks[i]), _alike(i, order, texts, groups or ())) for i in order]
    heads = {"method": "Method", "rank": "Average rank", "alike": "Not significantly different from"}
    heads = heads if groups is not None else {name: heads[name] for name in ("method", "rank")}
    bars = [
        (
            texts[group[0]],
            ranks[group[0]],
            ranks[group[-1]],
            f"{len(group)} methods that are not significantly different",
        )
        for group in groups or ()
    ]
    frames = {"methods": columns(tuple(heads), lines), "bars": columns(("method", "rank", "last", "joins"), bars)}
    drawing = template(f"{__package__}:ranks", title=axis, domain=[0.9, max(len(names), 2) + 0.1])
    return Figure(title, caption, drawing, frames, heads)


def _alike(i: int, order: Sequence[int], texts: Sequence[str], groups: Sequence[Sequence[int]]) -> str:
    """Return the names of the methods that do not differ significantly from the method at position ``i``, as text.

    ``order`` are positions of all methods, the best first, and ``texts`` their names; ``groups`` are positions of the
    methods that each bar joins.
    """
    alike = [j for j in order if j != i and any(i in group and j in group for group in groups)]
    all_others = len(alike) == len(texts) - 1 and len(alike) > 2
    return "every other method" if all_others else ", ".join(texts[j] for j in alike) or "none"


def _bars_in_words(n_methods: int, groups: Sequence[Sequence[int]], test: str) -> str:
    """Return a sentence on which of ``n_methods`` methods differ significantly.

    ``groups`` are positions of the methods that each bar joins; ``test`` names the test.
    """
    if any(len(group) == n_methods for group in groups):
        return f"No two methods differ significantly ({test})."
    if not groups:
        return f"All methods differ significantly ({test})."
    return f"Bars join methods that do not differ significantly ({test})."
