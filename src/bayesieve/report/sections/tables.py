"""Tables of the moves of a search, ready to print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.data import PathStep, SearchSummary
from bayesieve.report.figures.path import alternates, steps_by_start
from bayesieve.report.figures.scale import thinned
from bayesieve.report.figures.spread import by_size, sizes_of, spread
from bayesieve.report.measures import Measure, measures_of
from bayesieve.words import format_count, not_blank, plural, shorten

MAX_MOVES = 200
MAX_SIZES = 100


@dataclass(frozen=True)
class Column:
    """Head of a column; numbers stand to the right."""

    title: str
    is_number: bool


@dataclass(frozen=True)
class Table:
    """Cells as texts; `marked` is the row that stands out, `cap` mentions lines left out."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: int | None = None
    cap: str | None = None


def moves_table(search: SearchSummary) -> Table:
    """The moves in order; of more than `MAX_MOVES` those around the chosen subset."""
    measures = measures_of(search)
    steps = [step for walk in steps_by_start(search.path).values() for step in walk]
    several = len({step.start for step in steps}) > 1
    chosen = next((i for i, step in enumerate(steps) if (step.start, step.step) == search.chosen), None)
    first = 0
    if len(steps) > MAX_MOVES:
        first = min(max(0, (chosen or 0) - MAX_MOVES // 2), len(steps) - MAX_MOVES)
    shown = steps[first : first + MAX_MOVES]
    columns = [Column("Step", True), Column("Move", False), Column("Feature", False), Column("Features", True)]
    columns += [Column(measure.heading, True) for measure in measures]
    rows = [_move_row(step, measures) for step in shown]
    if several:
        columns.insert(0, Column("Phase" if alternates(search) else "Start", True))
        rows = [(format_count(step.start + 1), *row) for step, row in zip(shown, rows, strict=True)]
    cap = None
    if len(shown) < len(steps):
        cap = f"{len(shown)} of {len(steps):,} lines" + (", those around the chosen subset." if chosen else ".")
    marked = None if chosen is None else chosen - first
    return Table("Moves of the search", tuple(columns), tuple(rows), marked, cap)


def sizes_table(summaries: Sequence[SearchSummary]) -> Table:
    """Mean and standard deviation at every size."""
    searches = [by_size(summary) for summary in summaries]
    met = sizes_of(searches)
    sizes = [met[i] for i in thinned(len(met), MAX_SIZES)]
    measures = measures_of(*summaries)
    spreads = [spread(searches, sizes, on_validation=measure.on_validation) for measure in measures]
    columns = [Column(title, True) for title in ("Features", "Searches", *(measure.heading for measure in measures))]
    rows = []
    for i, size in enumerate(sizes):
        cells = [own[i].text(measure) for measure, own in zip(measures, spreads, strict=True)]
        rows.append((format_count(size), format_count(spreads[0][i].n_searches), *cells))
    cap = f"{len(sizes)} of {plural(len(met), 'size')}." if len(sizes) < len(met) else None
    return Table("Means by number of features", tuple(columns), tuple(rows), cap=cap)


def _move_row(step: PathStep, measures: Sequence[Measure]) -> tuple[str, ...]:
    feature = "–" if step.feature is None else shorten(not_blank(step.feature), 60)
    values = [measure.text(measure.of(step)) for measure in measures]
    return (format_count(step.step), step.move, feature, format_count(step.n_features), *values)
