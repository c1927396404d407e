"""Methods over several data sets: ranks, the tests of all of them and of all pairs, and when neither has a meaning."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesieve.evaluation.statistics import (
    SignedRanks,
    average_ranks,
    critical_difference,
    friedman,
    wilcoxon_holm,
)
from bayesieve.report.comparison_data import ComparedMeasure, ComparisonData, Folds
from bayesieve.report.critical_difference import RankFigure, critical_difference_figure
from bayesieve.report.formats import format_number, plural, shorten, visible
from bayesieve.report.sections.comparison import p_text
from bayesieve.report.sections.tables import Column, Table

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


def why_no_ranks(data: ComparisonData) -> str | None:
    """A sentence where ranks over data sets have no meaning, None where they have."""
    if len(data.methods) < 2:
        return "There is a single method, so that there is nothing to rank."
    if len(data.data) < 2:
        return (
            "Average ranks and a critical-difference diagram compare methods over data sets, and have no meaning for "
            "a single one: its folds share their rows, and are no independent trials. Read the tests of its folds "
            "instead."
        )
    return None


def rank_parts(data: ComparisonData, folds: Folds) -> list[RankPart]:
    """One part for every measure that two data sets or more have values of."""
    if why_no_ranks(data) is not None:
        return []
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
    told = (
        f"Friedman: chi-square {format_number(test.chi2, 2)}, {p_text(test.p_value)}; Iman and Davenport: F "
        f"{f_value}, {p_text(test.f_p_value)}. "
        + ("The methods do not all rank alike." if differ else "That all methods rank alike cannot be ruled out.")
    )
    fewest = fewest_data_sets(k, data.alpha)
    note = ""
    if n < fewest:
        note = (
            f"With {plural(n, 'data set')} no pair of {plural(k, 'method')} can be found to differ by signed ranks; "
            f"it takes {fewest}."
        )
    pairs = wilcoxon_holm(matrix, data.methods, measure.higher_is_better)
    return RankPart(measure.title, figure, told, _pairs_table(measure.in_words, pairs), note)


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
    cap = f"The {len(shown)} lowest p-values of {plural(len(pairs), 'pair')}." if len(shown) < len(pairs) else None
    return Table(f"Pairs of methods by {title}", columns, rows, cap=cap)
