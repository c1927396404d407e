"""What rows look like to a criterion: per row, the ratio of every other class to the true one under the current
subset.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayesieve.table import CodedTable

_PRECOMPUTED_BYTES = 64 << 20  # tables of all features are kept up to this size, beyond they are built when asked for
_ROWS_AT_ONCE = 1 << 16  # temporary arrays stay in the cache
_PRODUCT_LIMIT = 1e36  # eight factors of this size, and a power of the number of classes, fit a double


@dataclass(frozen=True)
class ClassBlock:
    """Coded rows listed class after class: codes (n_features, n_rows), offsets (n_classes + 1,), weights (n_rows,) or
    empty.
    """

    codes: np.ndarray
    offsets: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, coded: CodedTable) -> ClassBlock:
        if coded.class_codes is None:
            raise ValueError("A search needs the classes of the rows; code the table together with its target.")
        if not coded.is_sorted_by_class:
            coded = replace(coded, codes=coded.codes.copy())
            coded.sort_by_class()
        codes = coded.codes
        highest = codes.max(axis=1, initial=0)
        if np.any(highest > coded.n_levels):
            # Every level not seen in training shares one code, which changes no ratio.
            codes = np.minimum(codes, coded.n_levels[:, None]).astype(codes.dtype)
        offsets = np.concatenate(
            [[0], np.cumsum(np.bincount(np.asarray(coded.class_codes), minlength=coded.n_classes))]
        )
        weights = np.zeros(0) if coded.weights is None else coded.weights
        return cls(codes, offsets, weights)

    def true_classes(self, rows: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.offsets, rows, side="right") - 1


class RatioTables:
    """Per feature, true class and other class: the factor P(level | other) / P(level | true) of each level, and its
    inverse.

    Flat, ``feature -> (true class, other class, code)``; the code after the last level stands for unseen values (factor
    1).
    """

    def __init__(self, feature_log_prob: list[np.ndarray]) -> None:
        self._log_prob = feature_log_prob
        self.n_classes = feature_log_prob[0].shape[1] if feature_log_prob else 1
        self.n_codes = np.array([table.shape[0] + 1 for table in feature_log_prob], dtype=np.int64)
        pairs = self.n_classes * (self.n_classes - 1)
        self._starts = np.concatenate([[0], np.cumsum(self.n_codes * pairs)]).astype(np.int64)
        largest = 0.0
        for table in feature_log_prob:
            largest = max(largest, float((table.max(axis=1) - table.min(axis=1)).max(initial=0.0)))
        self.largest_log_factor = largest
        self._flat: np.ndarray | None = None
        if 16 * self._starts[-1] <= _PRECOMPUTED_BYTES:
            tables = [np.exp(self.log_factors(k)).ravel() for k in range(len(feature_log_prob))]
            flat = np.concatenate(tables) if tables else np.zeros(0)
            self._flat = np.concatenate([flat, 1.0 / flat])

    @property
    def high(self) -> float:
        """Largest ratio kept as a plain number; times any factor and summed over classes, eight of them still
        multiply safely.
        """
        return _PRODUCT_LIMIT / self.n_classes / np.exp(min(self.largest_log_factor, 60.0))

    @property
    def low(self) -> float:
        """Smallest ratio kept as a plain number: times any factor it is not denormal yet."""
        return 1e-290 * np.exp(min(self.largest_log_factor, 600.0))

    def log_factors(self, feature: int) -> np.ndarray:
        """(n_classes true, n_classes - 1 others, n_codes) logarithms of the factors of adding ``feature``."""
        log_prob = self._log_prob[feature]
        n_levels, n_classes = log_prob.shape
        factors = np.zeros((n_classes, n_classes - 1, n_levels + 1))
        for true_class in range(n_classes):
            others = np.delete(np.arange(n_classes), true_class)
            factors[true_class, :, :n_levels] = (log_prob[:, others] - log_prob[:, [true_class]]).T
        return factors

    def gather(self, features: np.ndarray, adding: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Flat table, and where each candidate (a feature, added or dropped) starts in it."""
        if self._flat is not None:
            return self._flat, self._starts[features] + np.where(adding, 0, self._starts[-1])
        tables = [
            np.exp(self.log_factors(f) * (1.0 if add else -1.0)).ravel()
            for f, add in zip(features, adding, strict=True)
        ]
        starts = np.concatenate([[0], np.cumsum([table.size for table in tables])[:-1]]).astype(np.int64)
        return np.concatenate(tables), starts


class RowRatios:
    """State of one block of rows under the current subset of features.

    ``ratios[o, i]`` = P(other class o | x_i) / P(true class | x_i). A row with a ratio too large or too small for the
    running products of the kernels leaves them (its ratios are set to 0, which adds log 1) and is kept in logarithms in
    ``side_*`` until a move brings it back: nothing is lost, whatever the number of features.
    """

    def __init__(self, block: ClassBlock, class_prior: np.ndarray) -> None:
        self.block = block
        n_classes = block.offsets.size - 1
        self.ratios = np.empty((n_classes - 1, block.codes.shape[1]))
        self.reset(class_prior)

    def reset(self, class_prior: np.ndarray) -> None:
        """Back to the empty subset, where every row has the ratios of the class shares."""
        for true_class in range(class_prior.size):
            rows = slice(self.block.offsets[true_class], self.block.offsets[true_class + 1])
            if class_prior[true_class] > 0.0:
                self.ratios[:, rows] = (np.delete(class_prior, true_class) / class_prior[true_class])[:, None]
            else:
                self.ratios[:, rows] = 0.0  # rows of weight zero
        self.side_rows = np.zeros(0, dtype=np.int64)
        self.side_logs = np.zeros((self.ratios.shape[0], 0))

    def multiply(self, tables: RatioTables, feature: int, adding: bool) -> None:
        """Add ``feature`` to the subset, or drop it."""
        from bayesieve.criteria._kernels import multiply_ratios

        if self.ratios.shape[0] == 0:
            return
        table, starts = tables.gather(np.array([feature]), np.array([adding]))
        outside = np.empty(self.ratios.shape[1], dtype=np.int64)
        low, high = tables.low, tables.high
        n_outside = multiply_ratios(
            self.ratios,
            self.block.codes,
            self.block.offsets,
            feature,
            starts[0],
            tables.n_codes[feature],
            table,
            low,
            high,
            outside,
        )
        if self.side_rows.size:
            self.side_logs = self.side_logs + self._side_factors(tables, feature, adding)
            inside = (self.side_logs <= np.log(high)) & (self.side_logs >= np.log(low))
            back = np.all(inside | np.isneginf(self.side_logs), axis=0)
            self.ratios[:, self.side_rows[back]] = np.exp(self.side_logs[:, back])
            self.side_rows, self.side_logs = self.side_rows[~back], self.side_logs[:, ~back]
        if n_outside:
            rows = outside[:n_outside]
            self.side_rows = np.concatenate([self.side_rows, rows])
            with np.errstate(divide="ignore"):  # the ratio of a class without weight is 0 in every subset
                logs = np.log(self.ratios[:, rows])
            self.side_logs = np.concatenate([self.side_logs, logs], axis=1)
            self.ratios[:, rows] = 0.0

    def log_loss_sums(self, tables: RatioTables, features: np.ndarray, adding: np.ndarray) -> np.ndarray:
        """(n_candidates,) sums over rows of -log P(true class) once each feature alone is added to, or dropped from,
        the subset.
        """
        from bayesieve.criteria._kernels import log_loss_sums

        sums = np.zeros(features.size)
        if self.ratios.shape[0] == 0:
            return sums
        table, starts = tables.gather(features, adding)
        block = self.block
        log_loss_sums(
            self.ratios,
            block.codes,
            block.offsets,
            block.weights,
            features,
            starts,
            tables.n_codes[features],
            table,
            sums,
        )
        if self.side_rows.size:
            for c, feature in enumerate(features):
                sums[c] += self._side_loss(self.side_logs + self._side_factors(tables, feature, adding[c]))
        return sums

    def log_loss(self) -> float:
        """Sum over rows of -log P(true class) under the current subset."""
        total = self._side_loss(self.side_logs)
        for begin in range(0, self.ratios.shape[1], _ROWS_AT_ONCE):
            rows = slice(begin, begin + _ROWS_AT_ONCE)
            losses = np.log1p(self.ratios[:, rows].sum(axis=0))
            if self.block.weights.size:
                losses *= self.block.weights[rows]
            total += float(losses.sum())
        return total

    def _side_factors(self, tables: RatioTables, feature: int, adding: bool) -> np.ndarray:
        codes = self.block.codes[feature, self.side_rows]
        factors = tables.log_factors(feature)[self.block.true_classes(self.side_rows), :, codes].T
        return factors if adding else -factors

    def _side_loss(self, logs: np.ndarray) -> float:
        if logs.shape[1] == 0:
            return 0.0
        largest = np.maximum(logs.max(axis=0), 0.0)
        losses = largest + np.log(np.exp(-largest) + np.exp(logs - largest).sum(axis=0))
        if self.block.weights.size:
            losses = losses * self.block.weights[self.side_rows]
        return float(losses.sum())
