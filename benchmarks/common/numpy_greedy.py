"""A forward search by error probability in NumPy, as fast as possible, for comparison with the compiled one."""

from __future__ import annotations

import numpy as np

from bayesieve import CodedTable

_FEW = 64  # candidates at once: their arrays stay in the cache
_LARGEST_LOG = 600.0  # of a ratio; its exponential, times any factor, is a double


class NumpyGreedy:
    """Rows under the current subset: the log joint is updated when a feature is added, without refitting.

    Three ways to score all candidates, of equal results. ``whole_arrays`` is the formula over (candidates, rows,
    classes). ``in_buffers`` takes the candidates one by one through arrays that fit the cache and needs no exponential
    for the true class. ``by_products`` is for indicators only and needs no exponentials at all: ratios to the true
    class times the factors of both levels are two matrix products.
    """

    def __init__(self, coded: CodedTable, alpha: float = 1.0) -> None:
        labels, n_classes = np.asarray(coded.class_codes), coded.n_classes
        one_hot = np.eye(n_classes)[labels]
        per_class = one_hot.sum(axis=0)
        ones = coded.codes @ one_hot
        counts = np.stack([per_class - ones, ones], axis=1) + alpha
        self.log_prob = np.log(counts / (per_class + 2 * alpha))  # (candidates, 2 levels, classes)
        self.codes, self.labels = coded.codes, labels
        self._as_floats = coded.codes.astype(float)
        self._as_indices = coded.codes.astype(np.intp)[:, :, None]
        self._rows = np.arange(labels.size)
        self._offsets = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=n_classes))])
        self._others = np.array([np.delete(np.arange(n_classes), j) for j in range(n_classes)])
        self.joint = np.tile(np.log(per_class / labels.size), (labels.size, 1))
        self._update()

    def add(self, feature: int) -> None:
        """Add a feature to the subset."""
        self.joint += self.log_prob[feature, self.codes[feature]]
        self._update()

    def _update(self) -> None:
        others = np.take_along_axis(self.joint, self._others[self.labels], axis=1)
        self._log_ratios = np.ascontiguousarray((others - self.joint[self._rows, self.labels][:, None]).T)
        self._ratios = np.exp(np.clip(self._log_ratios, -_LARGEST_LOG, _LARGEST_LOG))

    def whole_arrays(self, features: np.ndarray) -> np.ndarray:
        """Error probability of the subset with each of ``features`` added."""
        joint = self.joint + np.take_along_axis(self.log_prob[features], self._as_indices[features], axis=1)
        joint -= joint.max(axis=2, keepdims=True)
        np.exp(joint, out=joint)
        return 1.0 - (joint[:, self._rows, self.labels] / joint.sum(axis=2)).mean(axis=1)

    def in_buffers(self, features: np.ndarray) -> np.ndarray:
        """The same, candidate by candidate."""
        found = np.empty(features.size)
        odds, total = np.empty_like(self._log_ratios), np.empty(self.labels.size)
        for c, k in enumerate(features):
            table = self.log_prob[k]
            low = (table[0, self._others] - table[0][:, None]).T
            step = (table[1, self._others] - table[1][:, None]).T - low
            for j, rows in self._classes():
                np.multiply(self._as_floats[k, rows], step[:, j : j + 1], out=odds[:, rows])
                odds[:, rows] += low[:, j : j + 1]
            odds += self._log_ratios
            np.exp(odds, out=odds)
            np.sum(odds, axis=0, out=total)
            total += 1.0
            np.reciprocal(total, out=total)
            found[c] = total.sum()
        return 1.0 - found / self.labels.size

    def by_products(self, features: np.ndarray) -> np.ndarray:
        """The same, for indicators."""
        found = np.zeros(features.size)
        everything = features.size == len(self.codes)
        for j, rows in self._classes():
            relative = np.exp(self.log_prob[features][:, :, self._others[j]] - self.log_prob[features][:, :, [j]])
            low, step, ratios = relative[:, 0], relative[:, 1] - relative[:, 0], self._ratios[:, rows]
            for first in range(0, features.size, _FEW):
                few = slice(first, first + _FEW)
                codes = self._as_floats[few if everything else features[few], rows]
                total = step[few] @ ratios
                total *= codes
                total += low[few] @ ratios
                total += 1.0
                np.reciprocal(total, out=total)
                found[few] += total.sum(axis=1)
        return 1.0 - found / self.labels.size

    def path(self, n_steps: int) -> list[int]:
        """The features in the order of a forward search, the lowest column on ties."""
        order: list[int] = []
        left = np.arange(len(self.codes))
        for _ in range(n_steps):
            found = self.by_products(left)
            best = int(np.argmax(found <= found.min() + 1e-12))
            order.append(int(left[best]))
            self.add(order[-1])
            left = np.delete(left, best)
        return order

    def _classes(self) -> list[tuple[int, slice]]:
        return [(j, slice(*self._offsets[j : j + 2])) for j in range(self._offsets.size - 1)]
