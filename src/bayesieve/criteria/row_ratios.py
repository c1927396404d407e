"""What rows look like to a criterion: per row, the ratio of every other class to the true one under the current
subset.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesieve.criteria.class_block import ClassBlock
from bayesieve.criteria.ratio_tables import RatioTables

_NEVER = 2**61  # logarithm, in steps, of a ratio that no move makes finite (or positive): a class without rows
_HIGHEST_EXACT = 82.0  # nats: eight factors of this size still multiply safely
_HIGHEST = 165.0  # nats: the reciprocals of four such factors still add up safely
_CERTAIN = 40.0  # nats: what a true class that far behind is worth is lost in rounding
_LOWEST = 60.0  # nats below what a move can make up for: smaller ratios are 0 and do not become denormal numbers
_KEPT_SHARE = 0.75  # rows are gathered anew when fewer than this share of those scanned matter
_SCANNED_CODES = 1 << 18  # codes below which leaving rows out costs more than it saves


@dataclass(frozen=True)
class Saturation:
    """When a row contributes the same, to within 1e-16, whatever single move is made.

    right : nats by which the true class must stay ahead; the row then contributes as if it were certain.
    wrong : nats by which it must stay behind; infinite where a wrong row always matters.
    """

    right: float
    wrong: float = np.inf


@dataclass(frozen=True)
class Scan:
    """The rows that a move may change, ready for the kernels.

    block : those rows; ratios : (n_classes - 1, n_rows) P(other) / P(true) divided by the row's scale; base :
    (n_rows,) 1 divided by the row's scale, which is 1 but for rows with ratios too large to multiply; log_scale : sum
    over rows of the logarithm of the scale (times the weight); wrong : (n_segments,) rows (or weight) left out for
    being wrong for sure.

    Only sums of log losses need the scale. For the rest too large ratios are lowered until they are safe to multiply
    and the base stays 1: the true class has no probability to speak of either way.
    """

    block: ClassBlock
    ratios: np.ndarray
    base: np.ndarray
    log_scale: float
    wrong: np.ndarray

    def candidates(self, tables: RatioTables, features: np.ndarray, adding: np.ndarray) -> tuple[Any, ...]:
        """What the kernels need to know of each move, in the order of their arguments."""
        table, starts = tables.gather(features, adding)
        block = self.block
        return (
            block.columns[features],
            block.lows[features],
            block.highs[features],
            block.kinds[features],
            starts,
            block.n_codes[features],
            table,
        )

    def no_move(self) -> tuple[Any, ...]:
        """As ``candidates``, of the one move that changes nothing."""
        n_pairs = self.block.n_segments * self.ratios.shape[0]
        first = np.zeros(1, dtype=np.int64)
        code = np.full(1, np.iinfo(self.block.codes.dtype).max, dtype=self.block.codes.dtype)
        return first, code, code, np.zeros(1, dtype=np.uint8), first, np.full(1, 3), np.ones(3 * n_pairs)


class RowRatios:
    """State of one block of rows under the current subset of features.

    The logarithm of every ratio is a sum of whole steps of ``tables.log_unit``, so that moves are exact and undo each
    other, whatever the number of features. Their exponentials are taken once per move.

    Rows that no move can change (``saturation``) leave the scan until a move could bring them back.
    """

    def __init__(
        self,
        block: ClassBlock,
        tables: RatioTables,
        priors: np.ndarray,
        *,
        exact: bool = False,
        saturation: Saturation | None = None,
    ) -> None:
        self.block = block
        self.unit = tables.log_unit
        self._n_others = tables.n_classes - 1
        self._bounds = tables.bounds
        self._exact = exact
        self._highest = (_HIGHEST_EXACT if exact else _HIGHEST) - np.log(tables.n_classes) - tables.largest_log_factor
        self._lowest = -min(700.0, _LOWEST + 2.0 * tables.largest_log_factor)
        if not exact and self._highest < _CERTAIN:
            raise ValueError(
                "The smoothing makes probabilities too extreme to compare; use a larger number, such as 1e-9, or "
                "'m-estimate'."
            )
        self._steps = np.empty((self._n_others, block.n_rows), dtype=np.int64)
        self._saturation = saturation if block.codes.size >= _SCANNED_CODES else None
        self._kept = np.ones(block.n_rows, dtype=bool)
        self._kept_rows: np.ndarray | None = None
        self._kept_block = block
        self._scan: Scan | None = None
        self.reset(priors)

    def reset(self, priors: np.ndarray) -> None:
        """Back to the empty subset, where ``priors`` (n_segments, n_classes - 1) are the ratios."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(priors) / self.unit
        start = np.where(np.isfinite(logs), np.rint(np.nan_to_num(logs)), np.where(priors > 0.0, _NEVER, -_NEVER))
        for segment in range(self.block.n_segments):
            rows = slice(self.block.offsets[segment], self.block.offsets[segment + 1])
            self._steps[:, rows] = start[segment].astype(np.int64)[:, None]
        self._scan = None

    def multiply(self, tables: RatioTables, feature: int, adding: bool) -> None:
        """Add ``feature`` to the subset, or drop it."""
        from bayesieve.criteria._kernels import add_steps

        steps = tables.log_steps(feature)
        codes = np.ascontiguousarray(self.block.level_codes(feature))
        add_steps(self._steps, codes, self.block.offsets, steps if adding else -steps)
        self._scan = None

    def log_ratios(self, rows: Any = slice(None)) -> np.ndarray:
        """(n_classes - 1, n_rows) logarithms of the ratios, in nats."""
        return self._steps[:, rows] * self.unit

    def scan(self) -> Scan:
        """The rows that matter to a move, with their ratios."""
        if self._scan is None:
            wrong = self._leave_out()
            self._scan = self._scale(wrong)
        return self._scan

    def _scale(self, wrong: np.ndarray) -> Scan:
        block = self._kept_block
        logs = self.log_ratios(slice(None) if self._kept_rows is None else self._kept_rows)
        base = np.ones(block.n_rows)
        log_scale = 0.0
        if logs.max(initial=-np.inf) > self._highest:
            top = logs.max(axis=0)
            over = np.flatnonzero(top > self._highest)
            if self._exact:
                logs[:, over] -= top[over]
                base[over] = np.exp(-top[over])
                log_scale = float((top[over] * (block.weights[over] if block.weights.size else 1.0)).sum())
            else:
                logs[:, over] -= top[over] - self._highest
        low = logs < self._lowest if logs.min(initial=np.inf) < self._lowest else None
        np.exp(logs, out=logs)
        if low is not None:
            logs[low] = 0.0
        return Scan(block, logs, base, log_scale, wrong)

    def _leave_out(self) -> np.ndarray:
        """Choose the rows to scan; (n_segments,) rows (or weight) left out that are wrong for sure."""
        block = self.block
        if self._saturation is None:
            return np.zeros(block.n_segments)
        from bayesieve.criteria._kernels import classify, near_rows

        # No class may stay further than the bounds say, wherever one move takes it.
        right = (-self._saturation.right - np.log(self._n_others) - self._bounds) / self.unit
        wrong = (self._saturation.wrong + self._bounds) / self.unit
        limits = [np.clip(limit, -float(_NEVER), float(_NEVER)).astype(np.int64) for limit in (right, wrong)]
        margin = int(2.0 * self._bounds.max(initial=0.0) / self.unit)
        states = np.empty(block.n_rows, dtype=np.uint8)
        near, lost = classify(self._steps, block.offsets, *limits, margin, self._kept, states)
        n_kept = self._kept_block.n_rows
        if lost or near < _KEPT_SHARE * n_kept:
            if near < _KEPT_SHARE * block.n_rows:
                near_rows(self._steps, block.offsets, *limits, margin, self._kept)
                self._kept_rows = np.flatnonzero(self._kept)
                self._kept_block = block.take(self._kept_rows)
            elif self._kept_rows is not None:
                self._kept[:] = True
                self._kept_rows, self._kept_block = None, block
        if self._kept_rows is None:
            return np.zeros(block.n_segments)
        left = np.flatnonzero((states == 2) & ~self._kept)
        weights = block.weights[left] if block.weights.size else None
        return np.bincount(block.segments(left), weights=weights, minlength=block.n_segments).astype(float)
