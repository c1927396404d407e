"""Ranks of methods over data sets, or over the folds of one, with the tests of all of them and of all pairs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesieve.report.critical_difference import critical_difference_figure, fold_rank_figure
from bayesieve.report.figure import Figure
from bayesieve.report.measures import Measure
from bayesieve.report.sections.comparison import ALPHA, Folds
from bayesieve.report.sections.tables import Column, Table
from bayesieve.statistics import (
    average_ranks,
    corrected_resampled_t,
    critical_difference,
    friedman,
    wilcoxon_holm,
)
from bayesieve.words import format_number, format_signed, not_blank, p_text, plural, shorten

MAX_PAIRS = 60
FIRST_MEASURES = 3


@dataclass(frozen=True)
class RankPart:
    title: str
    figure: Figure
    friedman: str
    pairs: Table
    note: str


def why_no_ranks(folds: Folds) -> str | None:
    if len(folds.methods) < 2:
        return "There is only one method, so there is nothing to rank."
    if not folds.measures:
        return "No method has a value, so there is nothing to rank."
    return None


def rank_parts(folds: Folds) -> list[RankPart]:
    """One part for every measure: over the folds of a single data set, or over those of several that have values of it
    where these are two or more.
    """
    if why_no_ranks(folds) is not None:
        return []
    if len(folds.data) == 1:
        return [_fold_part(measure, folds) for measure in folds.measures]
    matrices = [(measure, folds.matrix(measure.name)) for measure in folds.measures]
    known = [(measure, matrix[~np.isnan(matrix).all(axis=1)]) for measure, matrix in matrices]
    return [_part(measure, matrix, folds.methods) for measure, matrix in known if len(matrix) > 1]


def fewest_data_sets(n_methods: int, alpha: float) -> int:
    """Data sets from which on a signed-rank test can find any pair: 2 / 2^n must be below alpha over their number.

    Examples
    --------
    >>> fewest_data_sets(2, 0.05), fewest_data_sets(7, 0.05)
    (6, 10)
    """
    n_pairs = n_methods * (n_methods - 1) // 2
    n = 1
    while n_pairs * 2.0 ** (1 - n) > alpha:
        n += 1
    return n


def _part(measure: Measure, matrix: np.ndarray, methods: Sequence[str]) -> RankPart:
    n, k = matrix.shape
    figure = critical_difference_figure(
        methods,
        average_ranks(matrix, measure.higher_is_better).tolist(),
        critical_difference(k, n, ALPHA),
        n_data=n,
        alpha=ALPHA,
        title=measure.capitalised,
    )
    test = friedman(matrix, measure.higher_is_better)
    differ = test.f_p_value <= ALPHA
    f_value = format_number(test.f, 2) if math.isfinite(test.f) else "infinite, as all data sets agree"
    friedman_text = (
        f"Friedman: chi-square {format_number(test.chi2, 2)}, {p_text(test.p_value)}; Iman and Davenport: F "
        f"{f_value}, {p_text(test.f_p_value)}. "
        + ("Average ranks differ significantly." if differ else "Average ranks do not differ significantly.")
    )
    fewest = fewest_data_sets(k, ALPHA)
    note = ""
    if n < fewest:
        note = (
            f"With {plural(n, 'data set')} signed ranks cannot show any pair of {plural(k, 'method')} to differ; "
            f"this takes {fewest}."
        )
    pairs = wilcoxon_holm(matrix, methods, measure.higher_is_better)
    rows = [
        (p.first, p.second, f"{p.wins}/{p.ties}/{p.losses}", p_text(p.p_value), p_text(p.adjusted))
        for p in sorted(pairs, key=lambda pair: pair.p_value)[:MAX_PAIRS]
    ]
    table = _pairs_table(measure, ("Better/equal/worse", "p", "p after Holm"), rows, len(pairs))
    return RankPart(measure.capitalised, figure, friedman_text, table, note)


def _fold_part(measure: Measure, folds: Folds) -> RankPart:
    """Ranks over the folds of the only data set, and the tests of all pairs by them."""
    values, methods = folds.values(measure.name)[0].T, folds.methods
    values = values[~np.isnan(values).all(axis=1)]
    pairs = list(itertools.combinations(range(len(methods)), 2))
    tests = {(i, j): corrected_resampled_t(values[:, i], values[:, j], folds.test_share) for i, j in pairs}
    figure = fold_rank_figure(
        methods,
        average_ranks(values, measure.higher_is_better).tolist(),
        [pair for pair, test in tests.items() if test.sign(ALPHA)],
        n_folds=len(values),
        alpha=ALPHA,
        title=measure.capitalised,
    )
    shown = sorted(pairs, key=lambda pair: (math.isnan(tests[pair].p_value), tests[pair].p_value))[:MAX_PAIRS]
    rows = [
        (methods[i], methods[j], format_signed(test.difference, measure.digits), p_text(test.p_value))
        for i, j in shown
        for test in (tests[i, j],)
    ]
    table = _pairs_table(measure, ("Difference of means", "p"), rows, len(pairs))
    return RankPart(measure.capitalised, figure, "", table, "")


def _pairs_table(measure: Measure, titles: Sequence[str], rows: Sequence[tuple[str, ...]], n_pairs: int) -> Table:
    """Pairs of methods with the lowest p-values; of each their names, then what ``titles`` say."""
    columns = (Column("Method", False), Column("against", False), *(Column(title, True) for title in titles))
    cells = tuple(
        (*(shorten(not_blank(name), 60) for name in row[:2]), row[2], *(text.removeprefix("p ") for text in row[3:]))
        for row in rows
    )
    cap = f"The {len(rows)} lowest p-values of {plural(n_pairs, 'pair')}." if len(rows) < n_pairs else None
    return Table(f"Pairs of methods by {measure.title}", columns, cells, cap=cap)
