"""The path of the search."""

from __future__ import annotations

from dataclasses import dataclass

from bayesieve.report.data import PathStep, SearchSummary
from bayesieve.report.figures.path import PathChart, best_start, path_chart, steps_by_start
from bayesieve.report.formats import format_seconds, plural

MAX_MOVES = 200


@dataclass(frozen=True)
class SearchSection:
    """The search in words, as a chart, and the moves of its best start."""

    search: SearchSummary
    sentence: str
    chart: PathChart | None
    chart_cap: str | None
    moves: tuple[PathStep, ...]
    moves_cap: str | None


def search_section(search: SearchSummary | None) -> SearchSection | None:
    """None when nothing was searched."""
    if search is None:
        return None
    chart, start = path_chart(search), best_start(search)
    moves = steps_by_start(search.path)[start] if start is not None else []
    chart_cap = (
        f"{plural(chart.n_hidden, 'further start')} not drawn." if chart is not None and chart.n_hidden else None
    )
    moves_cap = f"The first {MAX_MOVES} of {len(moves):,} moves." if len(moves) > MAX_MOVES else None
    return SearchSection(search, _sentence(search), chart, chart_cap, tuple(moves[:MAX_MOVES]), moves_cap)


def _sentence(search: SearchSummary) -> str:
    models, starts = plural(search.n_models, "distinct model"), plural(search.n_starts, "start")
    end = (
        "The search ran to its end."
        if search.complete
        else "The search was interrupted; what it had found by then is kept."
    )
    return f"{models} evaluated from {starts} in {format_seconds(search.seconds)}. {end}"
