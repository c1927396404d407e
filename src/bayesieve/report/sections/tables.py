"""Tables of the moves of a search, ready to print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.data import PathStep, SearchSummary
from bayesieve.report.figures.path import steps_by_start
from bayesieve.report.figures.phases import alternates, measures_of
from bayesieve.report.figures.scale import drawable, thinned
from bayesieve.report.figures.spread import by_size, spread
from bayesieve.report.formats import format_count, plural, shorten, visible
from bayesieve.report.measures import Measure, measure

MAX_MOVES = 200
MAX_SIZES = 100


@dataclass(frozen=True)
class Column:
    """Head of a column; numbers stand to the right."""

    title: str
    is_number: bool


@dataclass(frozen=True)
class Table:
    """Cells as texts; `marked` is the row that stands out, `cap` says what was left out."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: int | None = None
    cap: str | None = None


def moves_table(search: SearchSummary) -> Table:
    """The moves in order; of more than `MAX_MOVES` those around the chosen subset."""
    guide, held_out = measures_of(search)
    steps = [step for walk in steps_by_start(search.path).values() for step in walk]
    several = len({step.start for step in steps}) > 1
    chosen = next((i for i, step in enumerate(steps) if (step.start, step.step) == search.chosen), None)
    first = 0
    if len(steps) > MAX_MOVES:
        first = min(max(0, (chosen or 0) - MAX_MOVES // 2), len(steps) - MAX_MOVES)
    shown = steps[first : first + MAX_MOVES]
    columns = [Column("Step", True), Column("Move", False), Column("Feature", False), Column("Features", True)]
    columns += [Column(guide.heading, True)] + ([Column(f"Validation: {held_out.title}", True)] if held_out else [])
    if several:
        columns.insert(0, Column("Phase" if alternates(search) else "Start", True))
    cap = None
    if len(shown) < len(steps):
        cap = f"{len(shown)} of {len(steps):,} lines" + (", those around the chosen subset." if chosen else ".")
    return Table(
        title="Moves of the search",
        columns=tuple(columns),
        rows=tuple(_move_row(step, guide, held_out, several=several) for step in shown),
        marked=None if chosen is None else chosen - first,
        cap=cap,
    )


def sizes_table(searches: Sequence[SearchSummary]) -> Table:
    """Mean and standard deviation at every size."""
    known = [by_size(search) for search in searches]
    met = sorted({size for one in known for size in one.sizes})
    sizes = [met[i] for i in thinned(len(met), MAX_SIZES)] if met else []
    first = searches[0]
    steps = [step for search in searches for step in search.path]
    guide = measure(first.criterion_name, [s.criterion for s in steps], first.lower_is_better)
    columns = [Column("Features", True), Column("Searches", True), Column(guide.heading, True)]
    blocks = [(guide, spread(known, sizes, on_validation=False))]
    if first.validation_name is not None:
        held_out = measure(first.validation_name, [s.validation for s in steps], first.validation_lower_is_better)
        columns.append(Column(f"Validation: {held_out.title}", True))
        blocks.append((held_out, spread(known, sizes, on_validation=True)))
    rows = []
    for i, size in enumerate(sizes):
        cells = [format_count(size), format_count(blocks[0][1][i].n_searches)]
        for shown, spreads in blocks:
            here = spreads[i]
            about = f" ± {shown.text(here.deviation)}" if drawable(here.deviation) else ""
            cells.append(shown.text(here.mean) + about)
        rows.append(tuple(cells))
    cap = f"{len(sizes)} of {plural(len(met), 'size')}." if len(sizes) < len(met) else None
    return Table("Means by number of features", tuple(columns), tuple(rows), cap=cap)


def _move_row(step: PathStep, guide: Measure, held_out: Measure | None, *, several: bool) -> tuple[str, ...]:
    feature = "–" if step.feature is None else shorten(visible(step.feature), 60)
    cells = [format_count(step.step), step.move, feature, format_count(step.n_features), guide.text(guide.of(step))]
    if held_out is not None:
        cells.append(held_out.text(step.validation))
    return (format_count(step.start + 1), *cells) if several else tuple(cells)
