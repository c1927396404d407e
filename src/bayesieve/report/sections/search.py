"""The path of the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.data import PathStep, SearchSummary
from bayesieve.report.figures.panels import PathDrawing
from bayesieve.report.figures.path import alternates, best_start, path_chart, phase_drawing, steps_by_start
from bayesieve.report.figures.spread import chosen_step
from bayesieve.report.measures import Measure, measures_of
from bayesieve.report.sections.tables import MAX_MOVES, Table, moves_table
from bayesieve.words import format_seconds, plural


@dataclass(frozen=True)
class SearchSection:
    """The search in words, as a chart, and its moves.

    A search that chose one subset of its path has a `drawing` and a `table`; one whose weights come from many starts
    together has a `chart` and the `moves` of its best start.
    """

    search: SearchSummary
    sentence: str
    chart: PathDrawing | None = None
    chart_cap: str | None = None
    moves: tuple[PathStep, ...] = ()
    moves_cap: str | None = None
    drawing: PathDrawing | None = None
    table: Table | None = None


def search_section(search: SearchSummary | None) -> SearchSection | None:
    """None without a search."""
    if search is None:
        return None
    if search.clusters is not None or (search.n_starts == len(search.path) > 1 and search.criterion_name != "map"):
        return SearchSection(search, path_sentence(search))  # candidates, without a path from one to the other
    if search.chosen is not None or search.criterion_name != "map":
        return SearchSection(search, path_sentence(search), drawing=phase_drawing(search), table=moves_table(search))
    chart, start = path_chart(search), best_start(search)
    moves = steps_by_start(search.path)[start] if start is not None else []
    chart_cap = (
        f"{plural(chart.n_hidden, 'further start')} not drawn." if chart is not None and chart.n_hidden else None
    )
    moves_cap = f"The first {MAX_MOVES} of {len(moves):,} moves." if len(moves) > MAX_MOVES else None
    return SearchSection(search, _sentence(search), chart, chart_cap, tuple(moves[:MAX_MOVES]), moves_cap)


def path_sentence(search: SearchSummary) -> str:
    """A search along one path, and its chosen subset."""
    measures = measures_of(search)
    guide = measures[0]
    if guide.evaluated == "round":
        return _boosted_sentence(search, guide)
    if guide.is_of_features:
        return _ranking_sentence(search, measures)
    walks = steps_by_start(search.path)
    parts = plural(len(walks), "phase" if alternates(search) else "start")
    text = [
        f"{plural(search.n_models, guide.evaluated)} evaluated in {format_seconds(search.seconds)}"
        f"{f', in {parts}' if 1 < len(walks) < len(search.path) else ''}. {_end(search)}",
        f"On the rows that guide the search, the {guide.title} is {guide.text(search.null_criterion)} without features "
        f"and {guide.text(search.best_criterion)} at best.",
    ]
    if search.measured is not None:
        text.append(f"Measured {search.measured}.")
    step = chosen_step(search)
    if step is not None:
        value = _validated(search, step, measures) or f"{guide.title} {guide.text(step.criterion)}"
        text.append(f"The chosen subset has {plural(step.n_features, 'feature')}: {value}.")
    return " ".join(text)


def _validated(search: SearchSummary, step: PathStep, measures: Sequence[Measure]) -> str:
    """The measure on the validation rows, empty without such rows."""
    if len(measures) < 2 or step.validation is None:
        return ""
    return f"{measures[1].in_words(step.validation, search)} on the validation rows"


def _ranking_sentence(search: SearchSummary, measures: Sequence[Measure]) -> str:
    guide = measures[0]
    scores = [step.criterion for step in search.path if step.feature is not None]
    text = f"{plural(len(scores), 'feature')} ranked by {guide.title} in {format_seconds(search.seconds)}"
    if scores:
        text += f", from {guide.text(scores[0])} down to {guide.text(scores[-1])}"
    step = chosen_step(search)
    if step is not None:
        if not step.n_features:
            text += ". None was chosen"
        elif step.n_features == 1:
            text += ". The first was chosen"
        else:
            text += f". The first {step.n_features} were chosen, the last of them with {guide.text(step.criterion)}"
        validated = _validated(search, step, measures)
        text += f"; {validated}" if validated else ""
    return f"{text}." + (f" Measured {search.measured}." if search.measured is not None else "")


def _sentence(search: SearchSummary) -> str:
    models, starts = plural(search.n_models, "distinct model"), plural(search.n_starts, "start")
    return f"{models} evaluated from {starts} in {format_seconds(search.seconds)}. {_end(search)}"


def _boosted_sentence(search: SearchSummary, guide: Measure) -> str:
    """The rounds of boosting, and how they ended."""
    edges = [step.criterion for step in search.path if step.feature is not None]
    features = {step.feature for step in search.path} - {None}
    rounds = f"{plural(len(edges), 'round')} and {format_seconds(search.seconds)}"
    text = f"{plural(len(features), 'feature')} chosen in {rounds}"
    if edges:
        text += f", by {guide.title} from {guide.text(max(edges))} down to {guide.text(min(edges))}"
    return f"{text}. {_end(search)}"


def _end(search: SearchSummary) -> str:
    if search.ended is not None:
        return f"The search ended {search.ended}."
    if search.complete:
        return "The search ran to its end."
    return "The search was interrupted; it returned the best subset so far."
