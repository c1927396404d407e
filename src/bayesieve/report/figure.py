"""Single figures: a page, an SVG, or output in a notebook; of paths, stability, profit, gains and reliability."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesieve.decision import Calibration, GainsCurve, ProfitCurve
from bayesieve.report import drawing as draw
from bayesieve.report.data import SearchSummary
from bayesieve.report.render import fill
from bayesieve.report.search import (
    chosen_step,
    chosen_subset,
    moves_table,
    path_sentence,
    phase_drawing,
    sizes_table,
    spread_drawing,
    summarise_trace,
)
from bayesieve.report.sections import SHARES, UNIT, profit_panel, roomy_scale
from bayesieve.table.reading import checked_path
from bayesieve.table.writing import HTML, write_atomically
from bayesieve.words import format_count, format_money, format_number, format_percent, plural

WIDTH = 960
_LEFT, _RIGHT = 78, 28
_PANEL, _PANEL_HEAD = 200, 46
MAX_ROWS = 60
MAX_FOLDS = 100
_ROW_HEIGHT = 22  # pixels
_MOST_POINTS, _MOST_ROWS = 400, 21
_UP = draw.Scale(0.0, 1.0, 100.0, 0.0)  # of shares
_QUARTERS = tuple(draw.Tick(_UP(share), f"{share:.0%}") for share in (0.0, 0.25, 0.5, 0.75, 1.0))


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
    table: draw.TextTable | None = None
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
        frames = _frames(self.drawing, top) if isinstance(self.drawing, draw.PathDrawing) else []
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

    def place(self, points: Sequence[draw.Point]) -> list[draw.Point]:
        return [draw.Point(self.x(p.x), self.y(p.y)) for p in points]


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
    return plural(high, "feature") if low == high else f"{low:,} to {high:,} features, {mean:.1f} on average"


def _spread_caption(searches: Sequence[SearchSummary]) -> str:
    sizes = [step.n_features for search in searches if (step := chosen_step(search)) is not None]
    stopped = sum(not search.complete for search in searches)
    sentences = [f"{plural(len(searches), 'search', 'searches')}."]
    if sizes:
        sentences.append(f"Dots are the subsets chosen: {_sizes_in_words(sizes)}.")
    measured = {search.measured for search in searches}
    if len(measured) == 1 and None not in measured:
        sentences.append(f"Measured {searches[0].measured}.")
    if stopped:
        sentences.append(f"{plural(stopped, 'search was', 'searches were')} interrupted.")
    return " ".join(sentences)


def _stability_caption(stability: Any) -> str:
    sentences = [f"{plural(stability.n_folds, 'fold')} of {plural(len(stability.names), 'feature')}."]
    sizes = stability.n_selected.tolist()
    every = " in every fold" if min(sizes) == max(sizes) else ""
    sentences.append(f"Selected: {_sizes_in_words(sizes)}{every}.")
    value = stability.stability
    if value == value:
        low_end, high_end = stability.stability_interval()
        sentences.append(
            f"Stability {format_number(value, 2)}, 95% interval {format_number(low_end, 2)} to "
            f"{format_number(min(high_end, 1.0), 2)} (Nogueira et al. 2018): 1 is the same features in every "
            "fold, 0 is the value expected by chance."
        )
    if not stability.complete:
        sentences.append("The run was interrupted; only finished folds are shown.")
    return " ".join(sentences)


def _frames(drawing: draw.PathDrawing, top: float) -> list[Frame]:
    first = top + (26 if drawing.stretches else 0) + _PANEL_HEAD
    tops = [first + i * (_PANEL_HEAD + _PANEL) for i in range(len(drawing.panels))]
    return [Frame(_LEFT, at, WIDTH - _LEFT - _RIGHT, _PANEL) for at in tops]


@dataclass(frozen=True)
class FoldRow:
    """One feature: its weights in the folds shown, how many of all folds select it, and its mean weight."""

    name: str
    weights: tuple[float, ...]
    n_selected: int
    mean_weight: float


@dataclass(frozen=True)
class FoldDrawing:
    """Features, the most often selected first; `n_never` were in no fold, `n_hidden` are not shown for lack of room."""

    rows: tuple[FoldRow, ...]
    n_folds: int
    n_folds_shown: int
    n_never: int
    n_hidden: int
    weighted: bool
    row_height: int = _ROW_HEIGHT

    @property
    def height(self) -> int:
        return 70 + self.row_height * len(self.rows)


def fold_drawing(names: Sequence[str], weights: Sequence[Sequence[float]]) -> FoldDrawing:
    """Rows of cells from one list of weights per fold."""
    n_folds, shown = len(weights), min(len(weights), MAX_FOLDS)
    rows = []
    for k, name in enumerate(names):
        own = tuple(float(fold[k]) for fold in weights)
        rows.append(FoldRow(name, own[:shown], sum(w > 0 for w in own), sum(own) / max(1, n_folds)))
    met = sorted((row for row in rows if row.n_selected), key=lambda row: (-row.n_selected, -row.mean_weight))
    weighted = any(0 < w < 1 for fold in weights for w in fold)
    return FoldDrawing(
        tuple(met[:MAX_ROWS]), n_folds, shown, len(names) - len(met), max(0, len(met) - MAX_ROWS), weighted
    )


def profit_figure(curve: ProfitCurve, *, title: str | None = None, unit: str = "") -> Figure:
    """Draw the profit against the share of rows contacted, with its bootstrap band; the largest profit is marked.

    Parameters
    ----------
    curve : ProfitCurve
    title : str, optional
    unit : str, default=""
        Of the benefits, such as "$".

    Returns
    -------
    Figure
        With ``to_html()``, ``to_svg()`` and ``save(path)``; notebooks show it.

    Examples
    --------
    >>> from bayesieve import profit_curve, profit_figure
    >>> curve = profit_curve([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.5], benefit=[[0, 0], [-1, 3]])
    >>> profit_figure(curve).caption
    'The largest profit, 5.00, comes from contacting 75.0% of the rows.'
    """
    shown = draw.thinned(curve.share.size, _MOST_POINTS)
    shown = sorted({*shown, curve.best})
    share, profit, low, high = (part[shown].tolist() for part in (curve.share, curve.profit, curve.low, curve.high))
    best_share, best = float(curve.share[curve.best]), float(curve.profit[curve.best])
    texts = [format_money(value, unit) for value in profit]
    label = format_money(best, unit)
    scale = roomy_scale(np.array([*profit, *low, *high]))
    heading = f"Profit, {unit}" if unit else "Profit"
    panel = profit_panel(share, profit, low, high, scale, (best_share, best), label, heading)
    rows = tuple(
        (
            format_percent(float(curve.share[i])),
            format_number(float(curve.threshold[i])),
            *(format_money(float(part[i]), unit) for part in (curve.profit, curve.low, curve.high)),
        )
        for i in _at_shares(curve.share)
    )
    heads = ("Contacted", "Score at least", "Profit", "Low", "High")
    return Figure(
        title or "Profit of contacting the best rows",
        f"The largest profit, {label}, comes from contacting {format_percent(best_share)} of the rows.",
        _drawing([panel], "share of rows contacted", share, texts, best_share),
        draw.TextTable("Profit by share contacted", tuple(draw.Head(head, True) for head in heads), rows),
    )


def gains_figure(curve: GainsCurve, *, title: str | None = None) -> Figure:
    """Draw cumulative gains and lift against the share of rows contacted.

    Parameters
    ----------
    curve : GainsCurve
    title : str, optional

    Returns
    -------
    Figure
        With ``to_html()``, ``to_svg()`` and ``save(path)``; notebooks show it.

    Examples
    --------
    >>> from bayesieve import gains_curve, gains_figure
    >>> gains_figure(gains_curve([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.5])).drawing.panels[1].heading
    'Lift'
    """
    shown = draw.thinned(curve.share.size, _MOST_POINTS)
    share, gain, lift = curve.share[shown].tolist(), curve.gain[shown].tolist(), curve.lift[shown].tolist()
    lifts = roomy_scale(np.r_[0.0, curve.lift[1:]])
    panels = [
        _panel(
            "Cumulative gains",
            "share of the positive rows among those contacted; faint: at random",
            ((0.0, 0.0), (1.0, 1.0)),
            list(zip(share, gain, strict=True)),
            _UP,
        ),
        _panel(
            "Lift",
            "gains over the share contacted; faint: at random",
            ((0.0, 1.0), (1.0, 1.0)),
            list(zip(share[1:], lift[1:], strict=True)),
            lifts,
        ),
    ]
    rows = tuple(
        (format_percent(curve.share[i]), format_percent(curve.gain[i]), format_number(curve.lift[i], 2))
        for i in _at_shares(curve.share)[1:]
    )
    texts = [
        f"{format_percent(gained)} of the positive rows, lift {format_number(times, 2)}"
        for gained, times in zip(gain, lift, strict=True)
    ]
    best_tenth = float(np.interp(0.1, curve.share, curve.gain))
    return Figure(
        title or "Cumulative gains and lift",
        f"{format_percent(best_tenth)} of the positive rows are among the best 10% of the rows.",
        _drawing(panels, "share of rows contacted", share, texts, None),
        draw.TextTable(
            "Gains by share contacted", tuple(draw.Head(head, True) for head in ("Contacted", "Gains", "Lift")), rows
        ),
    )


def reliability_figure(calibrations: Calibration | Mapping[str, Calibration], *, title: str | None = None) -> Figure:
    """Draw reliability diagrams, one below the other, such as before and after selection.

    Parameters
    ----------
    calibrations : Calibration, or mapping from names to several
        From `calibration_summary`.
    title : str, optional

    Returns
    -------
    Figure
        With ``to_html()``, ``to_svg()`` and ``save(path)``; notebooks show it.

    Examples
    --------
    >>> from bayesieve import calibration_summary, reliability_figure
    >>> summary = calibration_summary([0, 1, 1, 1], [0.2, 0.2, 0.8, 0.8])
    >>> reliability_figure({"before": summary, "after": summary}).table.rows[0]
    ('before', '20.0%', '50.0%', '9.5% to 90.5%', '2')
    """
    several = {"Observed share": calibrations} if isinstance(calibrations, Calibration) else dict(calibrations)
    if not several:
        raise ValueError("reliability_figure needs at least one calibration.")
    panels, rows = [], []
    for name, one in several.items():
        intervals = list(zip((100 * one.predicted).tolist(), one.low.tolist(), one.high.tolist(), strict=True))
        points = list(zip(one.predicted.tolist(), one.observed.tolist(), strict=True))
        note = (
            f"Brier score {one.brier:.4f}: calibration {one.calibration:.4f}, refinement {one.refinement:.4f}; "
            f"expected calibration error {one.expected_calibration_error:.4f}"
        )
        panel = _panel(name, note, ((0.0, 0.0), (1.0, 1.0)), points, _UP)
        marks = tuple(draw.Mark(draw.Point(100 * x, _UP(y))) for x, y in points)
        panels.append(replace(panel, bands=draw.band(intervals, _UP), marks=marks))
        rows += [
            (
                name,
                format_percent(one.predicted[i]),
                format_percent(one.observed[i]),
                f"{format_percent(one.low[i])} to {format_percent(one.high[i])}",
                format_count(one.count[i]),
            )
            for i in range(one.count.size)
        ]
    heads = ("Model", "Predicted", "Observed", "95% interval", "Rows")
    return Figure(
        title or "Reliability",
        "Share of rows that turned out to be of the class, against its predicted probability; on the faint line, "
        "probabilities can be taken at their word. Bands: confidence intervals.",
        draw.PathDrawing(tuple(panels), SHARES, "predicted probability"),
        draw.TextTable("Bins", tuple(draw.Head(head, head != "Model") for head in heads), tuple(rows)),
    )


def _panel(
    heading: str,
    note: str,
    faint: Sequence[tuple[float, float]],
    line: Sequence[tuple[float, float]],
    scale: draw.Scale,
) -> draw.Panel:
    """A line over shares of the rows, and a faint one to compare with."""
    lines = [
        drawn
        for kind, pairs in (("start", faint), ("best", line))
        for drawn in draw.drawn_lines(kind, [(100 * x, y) for x, y in pairs], scale)
    ]
    return draw.Panel(heading, note, (), tuple(lines), (), _QUARTERS if scale is _UP else draw.value_ticks(scale))


def _drawing(
    panels: Sequence[draw.Panel], label: str, share: Sequence[float], texts: Sequence[str], chosen: float | None
) -> draw.PathDrawing:
    hover = [f"{format_percent(x)} contacted: {text}" for x, text in zip(share, texts, strict=True)]
    strips = tuple(draw.strips_between([UNIT(x) for x in share], hover))
    return draw.PathDrawing(
        tuple(panels), SHARES, label, strips=strips, chosen_x=None if chosen is None else UNIT(chosen)
    )


def _at_shares(share: np.ndarray) -> list[int]:
    """Points closest to every twentieth of the rows."""
    return sorted({int(np.abs(share - wanted).argmin()) for wanted in np.linspace(0, 1, _MOST_ROWS)})
