"""Single figures: a page, an SVG, or output in a notebook."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bayesieve import words as formats
from bayesieve.report.data import SearchSummary
from bayesieve.report.figures.folds import fold_drawing
from bayesieve.report.figures.panels import PathDrawing
from bayesieve.report.figures.path import phase_drawing
from bayesieve.report.figures.scale import Point
from bayesieve.report.figures.spread import chosen_step, spread_drawing
from bayesieve.report.render import fill
from bayesieve.report.sections.search import path_sentence
from bayesieve.report.sections.tables import Table, moves_table, sizes_table
from bayesieve.report.traces import chosen_subset, summarise_trace
from bayesieve.table.reading import checked_path
from bayesieve.table.writing import HTML, write_atomically

WIDTH = 960
_LEFT, _RIGHT = 78, 28
_PANEL, _PANEL_HEAD = 200, 46


@dataclass(frozen=True)
class Figure:
    """A drawing with its title, caption and the numbers behind it.

    Attributes
    ----------
    title, caption : str
    drawing : positions of everything; None if there is nothing to draw
    table : Table or None
        The numbers, for those who cannot or would rather not look.
    template : name of the templates that draw it, ``.html`` and ``.svg``
    parts : the template of a picture, whose macro ``draw(drawing)`` draws it
    """

    title: str
    caption: str
    drawing: Any
    table: Table | None = None
    template: str = "path"
    parts: str = ""

    def to_html(self) -> str:
        """One HTML document that is self-contained, in light and dark, with the numbers as a table."""
        return fill(f"{self.template}.html", figure=self, width=WIDTH)

    def to_svg(self) -> str:
        """A standalone SVG, in light and dark."""
        return self._svg(standalone=True)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure atomically; ``.html``, ``.htm`` or ``.svg`` by the end of the name.

        Raises
        ------
        ValueError
            If the name ends otherwise, or the file cannot be written.
        FileNotFoundError
            If the folder does not exist.
        """
        suffix = checked_path(path).suffix.lower()
        if suffix not in (*HTML, ".svg"):
            raise ValueError(f"A figure is saved as .html or .svg, got {os.fspath(path)!r}; change the extension.")
        write_atomically(path, self.to_svg() if suffix == ".svg" else self.to_html())

    def _repr_html_(self) -> str:
        # In a page, the drawing uses the colours of the page.
        return self._svg(standalone=False)

    def __repr__(self) -> str:
        return f"<Figure: {self.title}. {self.caption}>"

    def _svg(self, *, standalone: bool) -> str:
        caption = textwrap.wrap(self.caption, 140)
        top = 58 + 17 * len(caption)
        frames = _frames(self.drawing, top) if isinstance(self.drawing, PathDrawing) else []
        if frames:
            height = frames[-1].top + _PANEL + (190 if self.drawing.names else 60)
        else:
            height = top + (self.drawing.height if self.drawing else 40)
        context = {"figure": self, "standalone": standalone, "caption": caption, "top": top, "frames": frames}
        return fill(f"{self.template}.svg", **context, width=WIDTH, height=height)


@dataclass(frozen=True)
class Frame:
    """The plot area of a panel in an SVG: percent in, pixels out."""

    left: float
    top: float
    width: float
    height: float

    def x(self, percent: float) -> float:
        return round(self.left + self.span(percent), 2)

    def y(self, percent: float) -> float:
        return round(self.top + percent * self.height / 100, 2)

    def span(self, percent: float) -> float:
        return round(percent * self.width / 100, 2)

    def place(self, points: Sequence[Point]) -> list[Point]:
        return [Point(self.x(p.x), self.y(p.y)) for p in points]


def path_figure(trace_or_traces: Any, *, title: str | None = None) -> Figure:
    """Draw the path of a search: criterion and validation over the number of features, phase by phase.

    One search: the band around an error rate on validation rows is plus and minus one standard error,
    sqrt(e (1 - e) / n). Several searches (repetitions, folds): lines are means at equal numbers of features, of each
    search and size the subset that its own criterion prefers, and the band is plus and minus one standard deviation
    over the searches; a size that a search passed over takes its value at the next smaller one.

    Parameters
    ----------
    trace_or_traces : SearchTrace, fitted selector, or a sequence of either
        ``trace_`` of a fitted selector, or the selector itself, whose ``support_`` is then the subset marked; of a bare
        trace the best subset of the path is marked. What `selection_stability` returns is taken as the searches of its
        folds.
    title : str, optional

    Returns
    -------
    Figure
        With ``to_html()``, ``to_svg()`` and ``save(path)``; notebooks show it.

    Raises
    ------
    ValueError
        If there is no trace, or searches by different criteria are to be drawn together.

    Examples
    --------
    >>> from bayesieve import WrapperSelector, path_figure
    >>> from sklearn.datasets import load_iris
    >>> selector = WrapperSelector(direction="forward").fit(*load_iris(return_X_y=True))
    >>> path_figure(selector, title="Iris").to_svg()[:4]
    '<svg'
    """
    searches = [_summary(source) for source in _sources(trace_or_traces)]
    if len(searches) == 1:
        search = searches[0]
        shown = title or "Path of the search"
        return Figure(shown, path_sentence(search), phase_drawing(search), moves_table(search))
    kinds = {(s.criterion_name, s.lower_is_better, s.validation_name) for s in searches}
    if len(kinds) > 1:
        names = ", ".join(sorted({f"{s.criterion_name} ({s.validation_name or 'no validation'})" for s in searches}))
        raise ValueError(f"Searches by different criteria cannot be drawn together: {names}; draw one figure for each.")
    shown = title or f"Paths of {len(searches)} searches"
    return Figure(shown, _spread_caption(searches), spread_drawing(searches), sizes_table(searches))


def stability_figure(stability: Any, *, title: str | None = None) -> Figure:
    """Draw which features were selected in which fold.

    Parameters
    ----------
    stability : SelectionStability
        From `selection_stability`.
    title : str, optional

    Returns
    -------
    Figure
        With ``to_html()``, ``to_svg()`` and ``save(path)``; notebooks show it.

    Examples
    --------
    >>> from bayesieve import selection_stability, stability_figure
    >>> from sklearn.datasets import load_iris
    >>> stability = selection_stability("map", *load_iris(return_X_y=True), cv=5)
    >>> "Stability 0.60" in stability_figure(stability).caption
    True
    """
    return Figure(
        title or f"Features selected by {stability.selector}",
        _stability_caption(stability),
        fold_drawing(stability.names, stability.weights.tolist()),
        template="stability",
    )


def _sources(source: Any) -> list[Any]:
    if hasattr(source, "traces"):
        source = [trace for trace in source.traces if trace is not None]
    several = isinstance(source, Iterable) and not hasattr(source, "path") and not hasattr(source, "trace_")
    sources = list(source) if several else [source]
    wrong = [type(one).__name__ for one in sources if not hasattr(getattr(one, "trace_", one), "walk_moves")]
    if not sources or wrong:
        raise ValueError(
            "path_figure needs the trace_ of a fitted selector, the selector, or a sequence of them, got "
            f"{wrong[0] if wrong else 'nothing'}."
        )
    return sources


def _summary(source: Any) -> SearchSummary:
    if hasattr(source, "trace_"):
        return summarise_trace(source.trace_, chosen_subset(source.trace_, source))
    return summarise_trace(source, chosen_subset(source))


def _sizes_in_words(sizes: Sequence[int]) -> str:
    low, high, mean = min(sizes), max(sizes), sum(sizes) / len(sizes)
    return formats.plural(high, "feature") if low == high else f"{low:,} to {high:,} features, {mean:.1f} on average"


def _spread_caption(searches: Sequence[SearchSummary]) -> str:
    sizes = [step.n_features for search in searches if (step := chosen_step(search)) is not None]
    stopped = sum(not search.complete for search in searches)
    sentences = [f"{formats.plural(len(searches), 'search', 'searches')}."]
    if sizes:
        sentences.append(f"Dots are the subsets chosen: {_sizes_in_words(sizes)}.")
    measured = {search.measured for search in searches}
    if len(measured) == 1 and None not in measured:
        sentences.append(f"Measured {searches[0].measured}.")
    if stopped:
        sentences.append(f"{formats.plural(stopped, 'search was', 'searches were')} interrupted.")
    return " ".join(sentences)


def _stability_caption(stability: Any) -> str:
    sentences = [f"{formats.plural(stability.n_folds, 'fold')} of {formats.plural(len(stability.names), 'feature')}."]
    sizes = stability.n_selected.tolist()
    every = " in every fold" if min(sizes) == max(sizes) else ""
    sentences.append(f"Selected: {_sizes_in_words(sizes)}{every}.")
    value = stability.stability
    if value == value:
        low_end, high_end = stability.stability_interval()
        sentences.append(
            f"Stability {formats.format_number(value, 2)}, 95% interval {formats.format_number(low_end, 2)} to "
            f"{formats.format_number(min(high_end, 1.0), 2)} (Nogueira et al. 2018): 1 is the same features in every "
            "fold, 0 is the value expected by chance."
        )
    if not stability.complete:
        sentences.append("The run was interrupted; only finished folds are shown.")
    return " ".join(sentences)


def _frames(drawing: PathDrawing, top: float) -> list[Frame]:
    first = top + (26 if drawing.stretches else 0) + _PANEL_HEAD
    tops = [first + i * (_PANEL_HEAD + _PANEL) for i in range(len(drawing.panels))]
    return [Frame(_LEFT, at, WIDTH - _LEFT - _RIGHT, _PANEL) for at in tops]
