"""The effect of a move on the rows: factors by which the level of a feature multiplies the ratio of a class to the true
one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_PRECOMPUTED_BYTES = 64 << 20  # tables of all features are stored up to this size, larger ones built when needed
_MOST_LOG_FACTOR = 700.0  # whose exponential is a double still
_PIECE = 1 << 21  # entries of a table worked on at once: Python hears signals in between


def keeps(n_codes: np.ndarray, n_segments: int, n_classes: int) -> bool:
    """Whether tables of this size are stored for all features at once."""
    return 16 * int(np.sum(n_codes)) * n_segments * (n_classes - 1) <= _PRECOMPUTED_BYTES


class RatioTables:
    """Per feature, segment and other class: log of P(level | other class) / P(level | class of the segment).

    Parameters
    ----------
    log_factors : function of a feature, array (n_segments, n_classes - 1, n_codes); or those of all features, flat
        What adding the feature adds to the logarithms of the ratios; the last code stands for unseen values (0).
    n_codes : int array, shape (n_features,)
    n_segments, n_classes : int
    by_class : float array, shape (sum of n_codes, n_classes), optional
        log P(level | class) of all features, where all segments have the same; 0 for unseen values.
    classes : int array, shape (n_segments,), optional
        The class of each segment, with ``by_class``: the tables are then made when they are first needed.

    Attributes
    ----------
    bounds : float array, shape (n_segments,)
        Largest absolute value of any log factor of the segment's rows, in nats.
    starts : int array, shape (n_features + 1,)
        Where each feature starts in flat tables.
    log_unit : float
        The step, in nats, in which sums of log factors are counted: a power of two so small that rounding does not
        matter, and so large that the sum over all features fits a 64-bit integer.
    log_reach : float
        What no sum of log factors exceeds, in nats.
    """

    def __init__(
        self,
        log_factors: Callable[[int], np.ndarray] | np.ndarray,
        n_codes: np.ndarray,
        n_segments: int,
        n_classes: int,
        by_class: np.ndarray | None = None,
        classes: np.ndarray | None = None,
    ) -> None:
        self.n_codes = np.asarray(n_codes, dtype=np.int64)
        self.n_segments = n_segments
        self.n_classes = n_classes
        sizes = self.n_codes * n_segments * (n_classes - 1)
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._flat: np.ndarray | None = None
        self.bounds = np.zeros(n_segments)
        self._logs: np.ndarray | None = None
        self._log_steps: np.ndarray | None = None
        self._call: Callable[[int], np.ndarray] | None
        self.by_class = by_class
        self._to_store = by_class is not None and keeps(self.n_codes, n_segments, n_classes)
        if isinstance(log_factors, np.ndarray):
            self._call, self._logs = None, log_factors
        else:
            self._call = log_factors
        if by_class is not None:
            assert classes is not None
            total = self._look_over_classes(by_class, classes)
        elif self._logs is None and not keeps(self.n_codes, n_segments, n_classes):
            total = self._look_over_one_by_one()
        else:
            if self._logs is None:
                self._logs = self._all()
            total = self._look_over(self._logs)
            self._exponentiate()
        self.log_reach = total + 1000.0
        self.log_unit = 2.0 ** -min(52, 59 - int(np.ceil(np.log2(self.log_reach))))

    def _all(self) -> np.ndarray:
        """The tables of all features, one after another."""
        return np.concatenate([np.zeros(0), *(self.log_factors(k).ravel() for k in range(self.n_codes.size))])

    def _exponentiate(self) -> None:
        assert self._logs is not None
        factors = np.exp(np.clip(self._logs, -_MOST_LOG_FACTOR, _MOST_LOG_FACTOR))
        self._flat = np.concatenate([factors, 1.0 / factors])

    def _store(self) -> None:
        """Make the tables of all features, if they are to be stored and were not needed before."""
        if self._to_store:
            self._logs = self._all()
            self._exponentiate()
            self._to_store = False

    def log_factors(self, feature: int) -> np.ndarray:
        """(n_segments, n_classes - 1, n_codes) of one feature."""
        if self._logs is None:
            assert self._call is not None
            return self._call(feature)
        part = self._logs[self.starts[feature] : self.starts[feature + 1]]
        return part.reshape(self.n_segments, self.n_classes - 1, -1)

    def _look_over(self, logs: np.ndarray) -> float:
        """Set ``bounds``; the sum of every feature's largest log factor."""
        if not logs.size:
            return 0.0
        sizes = np.repeat(self.n_codes * (self.n_classes - 1), self.n_segments)
        largest = np.maximum.reduceat(np.abs(logs), np.cumsum(sizes) - sizes).reshape(-1, self.n_segments)
        self.bounds = largest.max(axis=0)
        return float(np.cumsum(largest.max(axis=1))[-1])

    def _look_over_classes(self, by_class: np.ndarray, classes: np.ndarray) -> float:
        """As `_look_over`: the true class of a segment is as far from others as from the first and the last."""
        if not by_class.size:
            return 0.0
        high, low = by_class.max(axis=1), by_class.min(axis=1)
        away = np.maximum(high[:, None] - by_class, by_class - low[:, None]).max(axis=0)
        self.bounds = away[classes]
        met = np.unique(classes)
        own = by_class[:, met]
        of_codes = np.maximum(high - own.min(axis=1, initial=np.inf), own.max(axis=1, initial=-np.inf) - low)
        return float(np.maximum.reduceat(of_codes, np.cumsum(self.n_codes) - self.n_codes).sum())

    def _look_over_one_by_one(self) -> float:
        """As `_look_over`, of tables that are too large to be stored."""
        total = 0.0
        for k in range(self.n_codes.size):
            factors = self.log_factors(k)
            step = max(1, _PIECE // max(1, factors[0].size))
            pieces = [factors[at : at + step] for at in range(0, self.n_segments, step)]
            largest = np.concatenate([np.abs(piece).max(axis=(1, 2), initial=0.0) for piece in pieces])
            np.maximum(self.bounds, largest, out=self.bounds)
            total += float(largest.max(initial=0.0))
        return total

    @property
    def largest_log_factor(self) -> float:
        return float(self.bounds.max(initial=0.0))

    def log_steps(self, feature: int) -> np.ndarray:
        """``log_factors`` in whole ``log_unit``s: what sums of moves are made of, so that they never drift."""
        factors = self.log_factors(feature)
        steps = np.empty(factors.shape, dtype=np.int64)
        for values, whole in zip(_pieces(factors), _pieces(steps), strict=True):
            whole[:] = np.rint(values / self.log_unit)
        return steps

    @property
    def has_all_log_steps(self) -> bool:
        """Whether ``all_log_steps`` are at hand."""
        self._store()
        return self._logs is not None

    def all_log_steps(self) -> np.ndarray:
        """``log_steps`` of all features, one after another, shape (sum of their sizes,)."""
        self._store()
        if self._log_steps is None and self._logs is not None:
            self._log_steps = np.rint(self._logs / self.log_unit).astype(np.int64)
        elif self._log_steps is None:
            self._log_steps = _joined([self.log_steps(k).ravel() for k in range(self.n_codes.size)])[0]
        return self._log_steps

    def gather_steps(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `gather`, ``log_steps`` of features added."""
        if self.has_all_log_steps or 8 * int(self.starts[-1]) <= _PRECOMPUTED_BYTES:
            return self.all_log_steps(), self.starts[features]
        return _joined([self.log_steps(int(f)).ravel() for f in features])

    def gather(self, features: np.ndarray, adding: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Flat table of factors, and where each candidate (a feature, added or dropped) starts in it: entry
        ``start + (segment * n_others + other) * n_codes + code``.
        """
        self._store()
        if self._flat is not None:
            return self._flat, self.starts[features] + ~adding * self.starts[-1]
        tables = []
        for f, add in zip(features, adding, strict=True):
            logs = self.log_factors(f)
            table = np.empty(logs.size)
            for piece, factors in zip(_pieces(logs), _pieces(table), strict=True):
                np.clip(piece * (1.0 if add else -1.0), -_MOST_LOG_FACTOR, _MOST_LOG_FACTOR, out=factors)
                np.exp(factors, out=factors)
            tables.append(table)
        return _joined(tables)


def _joined(tables: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """One table after another, and where each starts."""
    starts = np.concatenate([[0], np.cumsum([table.size for table in tables])]).astype(np.int64)
    return tables[0] if len(tables) == 1 else np.concatenate(tables), starts[:-1]


def _pieces(table: np.ndarray) -> list[np.ndarray]:
    flat = table.reshape(-1)
    return [flat[at : at + _PIECE] for at in range(0, flat.size, _PIECE)]
