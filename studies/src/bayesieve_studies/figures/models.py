"""The posterior distribution of subsets of features: the most probable ones, and the distribution of all."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bayesieve import words as formats
from bayesieve.report.critical_difference import WIDTH
from bayesieve.report.drawing import (
    Box,
    Head,
    Line,
    Mark,
    Panel,
    PathDrawing,
    Point,
    Scale,
    Strip,
    TextTable,
    Tick,
    thinned,
    tick_step,
    value_ticks,
)
from bayesieve.report.figure import Figure

HEIGHT = 520  # of all models together
_LEFT, _RIGHT, _TOP = 76, 112, 28


@dataclass(frozen=True)
class FeatureHead:
    """Name of a feature, over its column; `marked` if the best model contains it."""

    x: float
    label: str
    marked: bool
    text: str


@dataclass(frozen=True)
class RankTick:
    """A model by its rank, and the power of ten of its probability relative to the best; empty if it is 1."""

    y: float
    rank: int
    exponent: str


@dataclass(frozen=True)
class ModelDrawing:
    """Features of the models: a matrix in black and white, whose boxes are runs of models that contain a feature."""

    runs: tuple[Box, ...]
    heads: tuple[FeatureHead, ...]
    ticks: tuple[RankTick, ...]
    bottom: float = _TOP + float(HEIGHT)
    height: float = _TOP + float(HEIGHT) + 20
    left: float = _LEFT
    right: float = WIDTH - _RIGHT
    top: float = _TOP


def models_figure(
    names: Sequence[str],
    models: Sequence[Collection[int]],
    below_best: Sequence[float],
    *,
    title: str | None = None,
    caption: str = "",
) -> Figure:
    """Draw the features of the most probable subsets, as in figure 5 of Boulle (2007): a line per model.

    Parameters
    ----------
    names : (n_features,)
    models : (n_models,) positions of the features of each, the most probable model first.
    below_best : (n_models,) powers of ten by which the best model is more probable.
    title, caption : str, optional

    Returns
    -------
    Figure

    Raises
    ------
    ValueError
        If there are no models or features, or models and powers of ten differ in number.

    Examples
    --------
    >>> from bayesieve_studies.figures.models import models_figure
    >>> figure = models_figure(["a", "b"], [{0}, {0, 1}, {1}], [0.0, 1.5, 3.0])
    >>> len(figure.drawing.runs)
    2
    """
    if not names or not models:
        raise ValueError("A figure needs at least one model and one feature.")
    if len(models) != len(below_best):
        raise ValueError(f"{len(models)} models need as many powers of ten, got {len(below_best)}.")
    return Figure(
        title=title or f"The {len(models)} most probable subsets",
        caption=caption,
        table=_shares(names, models),
        drawing=_drawing(names, models, below_best),
        template="picture",
        parts="bayesieve_studies:_models.svg",
    )


def posterior_figure(quantiles: Sequence[float], *, title: str | None = None, caption: str = "") -> Figure:
    """Draw the distribution function of the posterior probabilities of subsets, as in figure 6 of Boulle (2007).

    Parameters
    ----------
    quantiles : powers of ten by which the best subset is more probable, at evenly spread shares of the subsets from 0
        to 1, the least probable subset first.
    title, caption : str, optional

    Returns
    -------
    Figure

    Raises
    ------
    ValueError
        With fewer than two quantiles, or quantiles that do not fall.

    Examples
    --------
    >>> from bayesieve_studies.figures.models import posterior_figure
    >>> len(posterior_figure([30.0, 12.0, 5.0, 0.0]).table.rows)
    4
    """
    if len(quantiles) < 2 or any(b > a for a, b in itertools.pairwise(quantiles)):
        raise ValueError("Quantiles must be at least two falling numbers, from the least probable subset to the best.")
    last = len(quantiles) - 1
    scale = Scale(-1.04 * max(quantiles[0], 1e-9), 0.04 * max(quantiles[0], 1e-9), 100, 0)
    shares = [100 * at / last for at in range(last + 1)]
    points = tuple(Point(round(x, 3), scale(-q)) for x, q in zip(shares, quantiles, strict=True))
    shown = thinned(last + 1, 11)
    drawing = PathDrawing(
        panels=(
            Panel(
                heading="Power of ten of the posterior probability",
                note="relative to the most probable subset",
                bands=(),
                lines=(Line("best", points),),
                marks=(Mark(points[-1]), Mark(points[0])),
                y_ticks=value_ticks(scale),
            ),
        ),
        x_ticks=tuple(Tick(x, f"{x} %") for x in range(0, 101, 10)),
        x_label="share of the subsets, by increasing probability",
        stretches=(),
        names=(),
        strips=tuple(
            Strip(
                round(max(0.0, shares[at] - 5), 3),
                10.0 if 0 < at < last else 5.0,
                f"{shares[at]:.0f} % of the subsets are 10^{quantiles[at]:.1f} times less probable than the best one, "
                "or more",
            )
            for at in shown
        ),
        chosen_x=None,
    )
    table = TextTable(
        title="Distribution",
        columns=(Head("Share of the subsets", True), Head("Power of ten below the best", True)),
        rows=tuple((f"{shares[at]:.0f} %", formats.format_number(quantiles[at], 1)) for at in shown),
    )
    return Figure(title or "Posterior probability of all subsets", caption, drawing, table)


def _drawing(names: Sequence[str], models: Sequence[Collection[int]], below_best: Sequence[float]) -> ModelDrawing:
    step, line = (WIDTH - _LEFT - _RIGHT) / len(names), HEIGHT / len(models)
    runs, heads = [], []
    for k, name in enumerate(names):
        held = [k in model for model in models]
        x, width = round(_LEFT + step * (k + 0.04), 2), round(0.92 * step, 2)
        first = 0
        for is_held, group in itertools.groupby(held):
            end = first + len(list(group))
            if is_held:
                runs.append(Box(x, round(_TOP + line * first, 2), width, round(line * (end - first), 2)))
            first = end
        text = f"{name}: in {sum(held)} of {formats.plural(len(models), 'model')}"
        heads.append(FeatureHead(round(_LEFT + step * (k + 0.5), 2), name, held[0], text))
    ranks = range(round_step := max(1, round(tick_step(0, len(models), 10))), len(models) + 1, round_step)
    ticks = [
        RankTick(round(_TOP + line * (rank - 0.5), 2), rank, _exponent(below_best[rank - 1]))
        for rank in sorted({1, *ranks})
    ]
    return ModelDrawing(tuple(runs), tuple(heads), tuple(ticks))


def _exponent(below_best: float) -> str:
    text = formats.format_number(-below_best, 1)
    return "" if text == "0.0" else text


def _shares(names: Sequence[str], models: Sequence[Collection[int]]) -> TextTable:
    counts = [sum(k in model for model in models) for k in range(len(names))]
    return TextTable(
        title="How many of these subsets hold each feature",
        columns=(Head("Feature", False), Head("Subsets", True), Head("Best subset", False)),
        rows=tuple((name, str(counts[k]), "yes" if k in models[0] else "") for k, name in enumerate(names)),
    )
