"""Figures of decisions and probabilities: profit, gains, reliability, and the contributions to one prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesieve.decision import Calibration, GainsCurve, ProfitCurve
from bayesieve.report.charts import Spec, columns, template, thinned
from bayesieve.report.page import Figure
from bayesieve.scorecard.explanation import Explanation
from bayesieve.words import format_money, format_percent, shorten

_MOST_POINTS, _MOST_PARTS = 400, 14


def profit_figure(curve: ProfitCurve, *, title: str | None = None, unit: str = "") -> Figure:
    """Draw the profit against the share of rows contacted, with its bootstrap interval; the largest profit is marked.

    Parameters
    ----------
    curve : ProfitCurve
        Result of `profit_curve`.
    title : str, optional
        Title of the figure.
    unit : str, default=""
        Unit of the benefits, such as "$".

    Returns
    -------
    Figure
        Figure shown by notebooks; its ``save(path)`` writes a page, a picture or the specification.

    Examples
    --------
    >>> from bayesieve import profit_curve, profit_figure
    >>> curve = profit_curve([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.5], benefit=[[0, 0], [-1, 3]])
    >>> profit_figure(curve).caption[:67]
    'The largest profit, 5.00, comes from contacting 75.0% of the rows. '
    """
    frame = _points(curve, ("share", "threshold", "profit", "low", "high"), also=curve.best)
    share, best = float(curve.share[curve.best]), float(curve.profit[curve.best])
    label = format_money(best, unit)
    caption = f"The largest profit, {label}, comes from contacting {format_percent(share)} of the rows. Dashed: rows "
    caption += "at random." if np.isnan(curve.low).all() else "at random; band: bootstrap of the rows."
    drawing = profit_chart(f"profit, {unit}" if unit else "profit", (frame["profit"][0], frame["profit"][-1]), label)
    marked = {"share": [share], "profit": [best]}
    heads = {"share": "share contacted", "threshold": "score at least"} | {
        name: name for name in ("profit", "low", "high")
    }
    title = title or "Profit of contacting the best rows"
    return Figure(title, caption, drawing, {"curve": frame, "best": marked}, heads)


def profit_chart(title: str, ends: tuple[float, float], label: str, across: str = "share of rows contacted") -> Spec:
    """Return the Vega-Lite specification of a profit curve with its interval and its largest profit, marked by
    ``label``.

    A straight line between ``ends``, the profits of contacting nobody and everybody, shows contacting rows at random.
    ``across`` is the title of the horizontal axis.
    """
    diagonal = [{"from": share, "to": profit} for share, profit in enumerate(ends)]
    chart: Spec = template("profit", title=title, ends=diagonal, label=label, across=across)
    return chart


def gains_figure(curves: GainsCurve | Mapping[str, GainsCurve], *, title: str | None = None) -> Figure:
    """Draw cumulative gains and lift against the share of rows contacted, for one or several models.

    Parameters
    ----------
    curves : GainsCurve, or mapping from names of models to their curves
    title : str, optional
        Title of the figure.

    Returns
    -------
    Figure
        Figure shown by notebooks; its ``save(path)`` writes a page, a picture or the specification.

    Raises
    ------
    ValueError
        If there is no curve.

    Examples
    --------
    >>> from bayesieve import gains_curve, gains_figure
    >>> curve = gains_curve([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.5])
    >>> gains_figure(curve).data["lift"].to_list()[1]
    2.0
    >>> gains_figure({"old": curve, "new": curve}).data["model"].unique(maintain_order=True).to_list()
    ['old', 'new']
    """
    several = not isinstance(curves, GainsCurve)
    by_model = {"": curves} if isinstance(curves, GainsCurve) else dict(curves)
    if not by_model:
        raise ValueError("gains_figure needs at least one curve; pass the result of gains_curve.")
    lines: dict[str, list[Any]] = {name: [] for name in (*["model"] * several, "share", "gain", "lift")}
    notes = []
    for name, curve in by_model.items():
        points = _points(curve, ("share", "gain", "lift"))
        points["lift"][0] = None  # the lift of no rows is undefined
        for column, values in lines.items():
            values += points.get(column, [name] * len(points["share"]))
        share = format_percent(float(np.interp(0.1, curve.share, curve.gain)))
        notes.append(f"{f'{name}: ' if name else ''}{share} of the positive rows are among the best 10% of the rows.")
    heads = {"model": "model", "share": "share contacted", "gain": "gains", "lift": "lift"}
    drawing = template("gains", several=several)
    caption = f"{' '.join(notes)} Dashed: rows at random."
    heads = {name: heads[name] for name in lines}
    return Figure(title or "Cumulative gains and lift", caption, drawing, {"curve": lines}, heads)


def _points(curve: Any, names: tuple[str, ...], also: int = 0) -> dict[str, list[Any]]:
    """Return at most `_MOST_POINTS` points of a curve, and that at position ``also``, as lists by name. ``names`` are
    attributes of the curve, arrays of shape (n_points,); infinite values become NaN.
    """
    positions = sorted({*thinned(curve.share.size, _MOST_POINTS), also})
    columns = {name: getattr(curve, name)[positions] for name in names}
    return {name: np.where(np.isfinite(values), values, np.nan).tolist() for name, values in columns.items()}


def explanation_figure(
    explanation: Explanation, row: int = 0, target_class: Any = None, *, title: str | None = None
) -> Figure:
    """Draw the contributions of the features to the log odds of a class in one row, as documented in
    `Explanation.plot`.
    """
    classes, n_rows = explanation.classes.tolist(), len(explanation.rows)
    if not 0 <= row < n_rows:
        raise ValueError(f"row must be a position among the {n_rows:,} explained rows, from 0, got {row!r:.80}.")
    if target_class not in (None, *classes):
        raise ValueError(f"target_class must be one of {', '.join(map(str, classes[:20]))}, got {target_class!r:.80}.")
    chances = explanation.all_probabilities()[row]
    two = len(classes) == 2 and explanation.probabilities is None
    j = classes.index(target_class) if target_class is not None else 1 if two else int(chances.argmax())
    added = np.vstack([explanation.prior, explanation.contributions[row]])
    amounts = (added[:, j] - added[:, 1 - j] if two else added[:, j]).tolist()
    texts = ["missing" if value is None else str(value) for value in explanation.values[row]]
    features = zip(explanation.names or explanation.features, texts, explanation.levels[row], amounts[1:], strict=True)
    bars = [("Every row", "", "", amounts[0]), *sorted(features, key=lambda bar: -abs(bar[-1]))]
    if len(bars) > _MOST_PARTS:
        rest = sum(bar[-1] for bar in bars[_MOST_PARTS - 1 :])
        bars[_MOST_PARTS - 1 :] = [(f"{len(bars) - _MOST_PARTS + 1} other features", "", "", rest)]
    ends = np.cumsum([0.0, *(bar[-1] for bar in bars)]).tolist()
    lines = [
        (f"{name}: {shorten(value, 30)}" if value else name, name, value, level, amount, *ends[k : k + 2])
        for k, (name, value, level, amount) in enumerate(bars)
    ]
    lines.append(("Total", "Total", "", "", ends[-1], 0.0, ends[-1]))
    frame = columns(("label", "feature", "value", "level", "amount", "from", "to"), lines)
    heads = {"feature": "Feature", "value": "Value", "level": "Level", "amount": "Nats"}
    caption = f"P({classes[j]}) is {format_percent(chances[j])}"
    if explanation.intervals is not None:
        low, high = map(format_percent, explanation.intervals[row, j])
        caption += f" (90% interval given the columns kept: {low} to {high})"
    title = title or f"Row {explanation.rows[row]}: what speaks for {classes[j]}"
    of_odds = two or explanation.probabilities is not None  # contributions to log odds, not to a log joint
    drawing = template("fall", amounts="log-odds, nats" if of_odds else "score, nats")
    return Figure(title, f"{caption}.", drawing, {"parts": frame}, heads)


def reliability_figure(calibrations: Calibration | Mapping[str, Calibration], *, title: str | None = None) -> Figure:
    """Draw one or several reliability diagrams, one below the other, such as before and after calibration.

    Parameters
    ----------
    calibrations : Calibration, or mapping from names to Calibration
        Results of `calibration_summary`.
    title : str, optional
        Title of the figure.

    Returns
    -------
    Figure
        Figure shown by notebooks; its ``save(path)`` writes a page, a picture or the specification.

    Examples
    --------
    >>> from bayesieve import calibration_summary, reliability_figure
    >>> summary = calibration_summary([0, 1, 1, 1], [0.2, 0.2, 0.8, 0.8])
    >>> reliability_figure({"before": summary, "after": summary}).data["observed"].to_list()
    [0.5, 1.0, 0.5, 1.0]
    """
    several = {"Observed share": calibrations} if isinstance(calibrations, Calibration) else dict(calibrations)
    if not several:
        raise ValueError("reliability_figure needs at least one calibration; pass the result of calibration_summary.")
    of_bins = ("predicted", "observed", "low", "high", "count")
    bins = [
        (name, *line)
        for name, one in several.items()
        for line in zip(*(getattr(one, column).tolist() for column in of_bins), strict=True)
    ]
    notes = [
        f"{name}: Brier score {one.brier:.4f} (calibration {one.calibration:.4f}, refinement "
        f"{one.refinement:.4f}), expected calibration error {one.expected_calibration_error:.4f}."
        for name, one in several.items()
    ]
    caption = (
        "Share of rows that turned out to be of the class, against its predicted probability; on the dashed line, "
        f"probabilities can be taken at their word. Upright lines: 95% confidence. {' '.join(notes)}"
    )
    frames, heads = {"bins": columns(("model", *of_bins), bins)}, {name: name for name in ("model", *of_bins)}
    drawing = template("reliability", several=True, style="plain")
    return Figure(title or "Reliability", caption, drawing, frames, heads | {"count": "rows"})
