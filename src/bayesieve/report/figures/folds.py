"""Which features were selected in which fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MAX_ROWS = 60
MAX_FOLDS = 100
_ROW_HEIGHT = 22  # pixels


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


def strength(weight: float) -> float:
    """How strongly a fold is drawn, from 0 (not selected) to 100 (weight 1)."""
    # A small weight is still a selection: it must not fade into the paper.
    return round(25 + 75 * min(weight, 1.0), 1) if weight > 0 else 0.0
