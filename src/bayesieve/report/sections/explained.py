"""Explanations of single decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.data import Contribution, ExplainedRow, ReportData
from bayesieve.report.figures.bars import Bar, Waterfall, waterfall
from bayesieve.words import plural

MAX_CONTRIBUTIONS = 12


@dataclass(frozen=True)
class ExplainedSection:
    """One row: the favoured class, the class it is compared with, and the sum from prior to posterior: of each feature
    its name, its part (None for features summed up in one line) and its bar.
    """

    row: ExplainedRow
    favoured: int
    against: int
    lines: tuple[tuple[str, Contribution | None, Bar], ...]
    chart: Waterfall


def explained_sections(data: ReportData) -> tuple[ExplainedSection, ...]:
    """One entry an explained row; none when there are fewer than two classes to weigh against each other."""
    if len(data.classes) < 2:
        return ()
    return tuple(_explained(row, data.classes) for row in data.explained)


def compared_classes(row: ExplainedRow, classes: Sequence[str]) -> tuple[int, int]:
    """(favoured, against): the second class against the first of two, else the predicted one against the runner-up."""
    if len(classes) == 2:
        return 1, 0
    ranked = sorted(range(len(classes)), key=lambda j: (-row.probabilities[j], j))
    predicted = classes.index(row.predicted) if row.predicted in classes else ranked[0]
    return predicted, next(j for j in ranked if j != predicted)


def _explained(row: ExplainedRow, classes: Sequence[str]) -> ExplainedSection:
    favoured, against = compared_classes(row, classes)
    amounts = [(c.contributions[favoured] - c.contributions[against], c) for c in row.contributions]
    amounts = sorted((a for a in amounts if a[0] != 0), key=lambda a: -abs(a[0]))
    named, rest = amounts[:MAX_CONTRIBUTIONS], amounts[MAX_CONTRIBUTIONS:]
    steps = [amount for amount, _ in named] + ([sum(amount for amount, _ in rest)] if rest else [])
    chart = waterfall(row.prior[favoured] - row.prior[against], steps)
    sources: list[tuple[str, Contribution | None]] = [(c.feature, c) for _, c in named]
    sources += [(plural(len(rest), "other feature"), None)] if rest else []
    lines = tuple((name, source, bar) for (name, source), bar in zip(sources, chart.bars[1:-1], strict=True))
    return ExplainedSection(row, favoured, against, lines, chart)
