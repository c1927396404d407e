"""The base of measures of how much two columns say about each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from bayesieve.counts.contingency import ContingencyCounts


class Dependence(ABC):
    """A symmetrical measure of the dependence of two columns.

    Give it a ``name`` and the method ``of_tables``. Everything else follows: blocks of pairs, dependence within
    classes, row weights, the dependence of every feature and the class.

    Attributes
    ----------
    name : str
        In options of selectors and in saved models.
    title, unit : str
        The measure in words, for the middle of a sentence, and its unit, "" for none.
    lower_is_better : bool
        True: smaller values mean more dependence, as of distances and p-values. mRMR and CFS refuse such a measure.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve import pair_statistics
    >>> from bayesieve.counts import Dependence
    >>> class MeanSquareContingency(Dependence):
    ...     name = "phi_squared"
    ...
    ...     def of_tables(self, tables):
    ...         rows, columns = tables.sum(axis=2, keepdims=True), tables.sum(axis=1, keepdims=True)
    ...         independent = np.maximum(rows * columns, 1)
    ...         return (tables**2 / independent).sum(axis=(1, 2)) - tables.any(axis=(1, 2))
    >>> codes = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    >>> pair_statistics(codes, encoder=None, statistic=MeanSquareContingency()).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    name: str = ""
    title: ClassVar[str] = ""
    unit: ClassVar[str] = ""
    lower_is_better: ClassVar[bool] = False

    @abstractmethod
    def of_tables(self, tables: np.ndarray) -> np.ndarray:
        """(n_pairs,) dependence of pairs of columns from their (n_pairs, n_levels, n_other_levels) counts.

        Counts are numbers of rows or sums of weights. Levels without rows occur, and tables without any row.
        """

    def with_class(self, counts: ContingencyCounts) -> np.ndarray:
        """(n_features,) dependence of every feature and the class."""
        values = np.zeros(counts.n_features)
        n_levels = np.diff(counts.offsets)
        for size in np.unique(n_levels):
            features = np.flatnonzero(n_levels == size)
            lines = counts.offsets[features][:, None] + np.arange(size)
            values[features] = self.checked(counts.counts[lines])
        return values

    def checked(self, tables: np.ndarray) -> np.ndarray:
        """``of_tables``, refused unless it is one finite number for each table."""
        values = np.asarray(self.of_tables(tables), dtype=float)
        if values.shape != tables.shape[:1] or not np.isfinite(values).all():
            raise ValueError(
                f"The dependence measure {self.name!r} must return one finite number for each of {len(tables)} tables, "
                f"got shape {values.shape}{'' if np.isfinite(values).all() else ' with NaN or infinity'}."
            )
        return values

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
