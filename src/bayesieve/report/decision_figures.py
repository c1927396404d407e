"""Figures of decisions: profit, gains and lift by the share contacted, reliability, and the section of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bayesieve.decision import Calibration, GainsCurve, ProfitCurve
from bayesieve.report.drawing import (
    Column,
    Mark,
    Panel,
    PathDrawing,
    Point,
    Scale,
    Table,
    Tick,
    band,
    drawn_lines,
    strips_between,
    thinned,
    value_ticks,
)
from bayesieve.report.figure import Figure
from bayesieve.report.sections import SHARES, UNIT, profit_panel, roomy_scale
from bayesieve.words import format_count, format_money, format_number, format_percent

_MOST_POINTS, _MOST_ROWS = 400, 21
_UP = Scale(0.0, 1.0, 100.0, 0.0)  # of shares
_QUARTERS = tuple(Tick(_UP(share), f"{share:.0%}") for share in (0.0, 0.25, 0.5, 0.75, 1.0))


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
    shown = thinned(curve.share.size, _MOST_POINTS)
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
        Table("Profit by share contacted", tuple(Column(head, True) for head in heads), rows),
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
    shown = thinned(curve.share.size, _MOST_POINTS)
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
        Table("Gains by share contacted", tuple(Column(head, True) for head in ("Contacted", "Gains", "Lift")), rows),
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
        marks = tuple(Mark(Point(100 * x, _UP(y))) for x, y in points)
        panels.append(replace(panel, bands=band(intervals, _UP), marks=marks))
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
        PathDrawing(tuple(panels), SHARES, "predicted probability"),
        Table("Bins", tuple(Column(head, head != "Model") for head in heads), tuple(rows)),
    )


def _panel(
    heading: str, note: str, faint: Sequence[tuple[float, float]], line: Sequence[tuple[float, float]], scale: Scale
) -> Panel:
    """A line over shares of the rows, and a faint one to compare with."""
    lines = [
        drawn
        for kind, pairs in (("start", faint), ("best", line))
        for drawn in drawn_lines(kind, [(100 * x, y) for x, y in pairs], scale)
    ]
    return Panel(heading, note, (), tuple(lines), (), _QUARTERS if scale is _UP else value_ticks(scale))


def _drawing(
    panels: Sequence[Panel], label: str, share: Sequence[float], texts: Sequence[str], chosen: float | None
) -> PathDrawing:
    hover = [f"{format_percent(x)} contacted: {text}" for x, text in zip(share, texts, strict=True)]
    strips = tuple(strips_between([UNIT(x) for x in share], hover))
    return PathDrawing(tuple(panels), SHARES, label, strips=strips, chosen_x=None if chosen is None else UNIT(chosen))


def _at_shares(share: np.ndarray) -> list[int]:
    """Points closest to every twentieth of the rows."""
    return sorted({int(np.abs(share - wanted).argmin()) for wanted in np.linspace(0, 1, _MOST_ROWS)})
