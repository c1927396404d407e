"""Which features were selected in which fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.figures.bars import bar_width

MAX_ROWS = 60
MAX_FOLDS = 100


@dataclass(frozen=True)
class FoldCell:
    """One fold of one feature; `strength` from 0 (not selected) to 100 (weight 1)."""

    start: float
    width: float
    strength: float
    weight: float


@dataclass(frozen=True)
class FoldRow:
    """One feature: its folds, how often it was selected, and its mean weight."""

    name: str
    cells: tuple[FoldCell, ...]
    n_selected: int
    frequency: float
    bar: float
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
    row_height: int = 22  # pixels

    @property
    def height(self) -> int:
        return 70 + self.row_height * len(self.rows)


def fold_drawing(names: Sequence[str], weights: Sequence[Sequence[float]]) -> FoldDrawing:
    """Rows of cells from one list of weights per fold."""
    n_folds = len(weights)
    shown = min(n_folds, MAX_FOLDS)
    by_feature = [[float(fold[k]) for fold in weights] for k in range(len(names))]
    counts = [sum(w > 0 for w in own) for own in by_feature]
    means = [sum(own) / max(1, n_folds) for own in by_feature]
    order = sorted((k for k in range(len(names)) if counts[k]), key=lambda k: (-counts[k], -means[k], k))
    rows = tuple(
        FoldRow(
            name=names[k],
            cells=tuple(_cell(i, weight, shown) for i, weight in enumerate(by_feature[k][:shown])),
            n_selected=counts[k],
            frequency=counts[k] / n_folds,
            bar=bar_width(counts[k], n_folds),
            mean_weight=means[k],
        )
        for k in order[:MAX_ROWS]
    )
    weighted = any(0 < w < 1 for own in by_feature for w in own)
    return FoldDrawing(rows, n_folds, shown, len(names) - len(order), len(order) - len(rows), weighted)


def _cell(position: int, weight: float, n_folds: int) -> FoldCell:
    pitch = 100 / n_folds
    # A small weight is still a selection: it must not fade into the paper.
    strength = round(25 + 75 * min(weight, 1.0), 1) if weight > 0 else 0.0
    return FoldCell(round(position * pitch, 3), round(0.82 * pitch, 3), strength, weight)
