"""Ranks of methods over data sets, or over the folds of one, with the tests of all of them and of all pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesieve.report.comparison_data import ComparedMeasure, ComparisonData, Folds
from bayesieve.report.critical_difference import RankFigure, critical_difference_figure, fold_rank_figure
from bayesieve.report.formats import format_number, format_signed, plural, shorten, visible
from bayesieve.report.sections.comparison import p_text
from bayesieve.report.sections.tables import Column, Table
from bayesieve.statistics import (
    SignedRanks,
    average_ranks,
    corrected_resampled_t,
    critical_difference,
    friedman,
    wilcoxon_holm,
)

MAX_PAIRS = 60
FIRST_MEASURES = 3


@dataclass(frozen=True)
class RankPart:
    """Ranks by one measure."""

    title: str
    figure: RankFigure
    friedman: str
    pairs: Table
    note: str


def why_no_ranks(data: ComparisonData, folds: Folds) -> str | None:
    """Why there are no ranks, or None if there are."""
    if len(data.methods) < 2:
        return "There is a single method, so that there is nothing to rank."
    if not folds.measures():
        return "No method has a value, so that there is nothing to rank."
    return None


def rank_parts(data: ComparisonData, folds: Folds) -> list[RankPart]:
    """One part for every measure: over the folds of a single data set, or over those of several that have values of it
    where these are two or more.
    """
    if why_no_ranks(data, folds) is not None:
        return []
    if len(data.data) == 1:
        return [_fold_part(measure, folds.values(measure.name)[0].T, data) for measure in folds.measures()]
    parts = []
    for measure in folds.measures():
        matrix = folds.matrix(measure.name)
        matrix = matrix[~np.isnan(matrix).all(axis=1)]
        if len(matrix) > 1:
            parts.append(_part(measure, matrix, data))
    return parts


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


def _part(measure: ComparedMeasure, matrix: np.ndarray, data: ComparisonData) -> RankPart:
    n, k = matrix.shape
    figure = critical_difference_figure(
        data.methods,
        average_ranks(matrix, measure.higher_is_better).tolist(),
        critical_difference(k, n, data.alpha),
        n_data=n,
        alpha=data.alpha,
        title=measure.title,
    )
    test = friedman(matrix, measure.higher_is_better)
    differ = test.f_p_value <= data.alpha
    f_value = format_number(test.f, 2) if math.isfinite(test.f) else "infinite, as all data sets agree"
    friedman_text = (
        f"Friedman: chi-square {format_number(test.chi2, 2)}, {p_text(test.p_value)}; Iman and Davenport: F "
        f"{f_value}, {p_text(test.f_p_value)}. "
        + ("The methods do not all rank alike." if differ else "That all methods rank alike cannot be ruled out.")
    )
    fewest = fewest_data_sets(k, data.alpha)
    note = ""
    if n < fewest:
        note = (
            f"With {plural(n, 'data set')} signed ranks cannot show any pair of {plural(k, 'method')} to differ; "
            f"this takes {fewest}."
        )
    pairs = wilcoxon_holm(matrix, data.methods, measure.higher_is_better)
    return RankPart(measure.title, figure, friedman_text, _pairs_table(measure.in_words, pairs), note)


def _fold_part(measure: ComparedMeasure, values: np.ndarray, data: ComparisonData) -> RankPart:
    """Ranks over the folds (n_splits, n_methods) of the only data set, and the tests of all pairs by them."""
    values = values[~np.isnan(values).all(axis=1)]
    pairs = [(i, j) for i in range(len(data.methods)) for j in range(i + 1, len(data.methods))]
    share = 1 / max(data.n_folds - 1, 1)
    tests = {(i, j): corrected_resampled_t(values[:, i], values[:, j], share) for i, j in pairs}
    figure = fold_rank_figure(
        data.methods,
        average_ranks(values, measure.higher_is_better).tolist(),
        [pair for pair, test in tests.items() if test.sign(data.alpha)],
        n_folds=len(values),
        alpha=data.alpha,
        title=measure.title,
    )
    shown = sorted(pairs, key=lambda pair: (math.isnan(tests[pair].p_value), tests[pair].p_value))[:MAX_PAIRS]
    columns = (
        Column("Method", False), Column("against", False), Column("Difference of means", True), Column("p", True),
    )  # fmt: skip
    rows = tuple(
        (
            shorten(visible(data.methods[i]), 60),
            shorten(visible(data.methods[j]), 60),
            format_signed(tests[i, j].difference, measure.digits),
            p_text(tests[i, j].p_value).removeprefix("p "),
        )
        for i, j in shown
    )
    table = Table(f"Pairs of methods by {measure.in_words}", columns, rows, cap=_cap(len(shown), len(pairs)))
    return RankPart(measure.title, figure, "", table, "")


def _cap(n_shown: int, n_pairs: int) -> str | None:
    return f"The {n_shown} lowest p-values of {plural(n_pairs, 'pair')}." if n_shown < n_pairs else None


def _pairs_table(title: str, pairs: Sequence[SignedRanks]) -> Table:
    shown = sorted(pairs, key=lambda pair: pair.p_value)[:MAX_PAIRS]
    columns = (
        Column("Method", False),
        Column("against", False),
        Column("Better/equal/worse", True),
        Column("p", True),
        Column("p after Holm", True),
    )
    rows = tuple(
        (
            shorten(visible(pair.first), 60),
            shorten(visible(pair.second), 60),
            f"{pair.wins}/{pair.ties}/{pair.losses}",
            p_text(pair.p_value).removeprefix("p "),
            p_text(pair.adjusted).removeprefix("p "),
        )
        for pair in shown
    )
    return Table(f"Pairs of methods by {title}", columns, rows, cap=_cap(len(shown), len(pairs)))
