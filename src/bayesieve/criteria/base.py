"""The base of all criteria: a figure of a subset of features, computed for all candidate moves in one pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from bayesieve.criteria.class_block import ClassBlock
from bayesieve.criteria.ratio_tables import RatioTables
from bayesieve.criteria.row_ratios import RowRatios, Saturation, Scan


class Criterion(ABC):
    """What a subset of features is worth on some rows.

    A criterion is evaluated for many candidates at once: each candidate is the current subset with one feature added or
    dropped. ``sums`` passes once over a block of rows; sums of several blocks are added, and ``values`` turns them into
    the figures. Write a `RowLoss` instead where plain NumPy over the class probabilities is fast enough.

    Attributes
    ----------
    name : str
        In traces, saved models and options of selectors.
    title, unit : str
        The criterion in words, for the middle of a sentence, and what it is measured in, for reports; a criterion that
        has a name of its own and no title is called by its name.
    lower_is_better : bool
    best : float or None
        The value that no subset exceeds, where there is one.
    of_empty : float or None
        The value of the empty subset, where that does not depend on the rows.
    additive : bool
        Whether sums of several blocks of rows may be added; False: the criterion needs all rows at once.
    exact : bool
        Whether a row that is wrong beyond 1e-17 still has to say how wrong it is, as the log loss asks.
    needs_options : bool
        Whether a selector cannot take it by its name.
    row_columns : tuple of str
        Further columns of `Rows` that it reads, such as ``"benefit"``.
    """

    name: str = ""
    title: ClassVar[str] = ""
    unit: ClassVar[str] = ""
    lower_is_better: bool = True
    best: ClassVar[float | None] = None
    of_empty: ClassVar[float | None] = None
    additive: ClassVar[bool] = True
    exact: ClassVar[bool] = False
    needs_options: ClassVar[bool] = False
    row_columns: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def by_default(cls, n_features: int) -> Criterion:
        """The criterion that its name stands for, on a table with this many features."""
        return cls()

    def saturation(self, n_classes: int) -> Saturation | None:
        """When a row may leave the scan because no single move can change what it contributes; None: never."""
        return None

    def check(self, classes: Any) -> None:  # noqa: B027  # most criteria take any classes
        """Raise ValueError where the criterion cannot be taken for these class labels."""

    def start(self, block: ClassBlock, tables: RatioTables, priors: np.ndarray, *, leave_out: bool = False) -> Any:
        """The state of a block of rows under the empty subset; ``leave_out``: rows may leave the scan."""
        saturation = self.saturation(tables.n_classes) if leave_out else None
        return RowRatios(block, tables, priors, exact=self.exact, saturation=saturation)

    @abstractmethod
    def sums(self, rows: Any, tables: RatioTables, features: np.ndarray, adding: np.ndarray) -> np.ndarray:
        """(n_candidates, n_sums) from one block of rows, one line per feature added, or else dropped."""

    @abstractmethod
    def own_sums(self, rows: Any, tables: RatioTables) -> np.ndarray:
        """(n_sums,) of the current subset."""

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        """(n_candidates,) figures from the sums over all rows, the sizes of the subsets and the rows (or weight) of
        each class; unless overridden the mean over rows of the only sum.
        """
        return sums[:, 0] / class_totals.sum()


class ScanCriterion(Criterion):
    """A criterion that kernels sum over the rows that a move may change."""

    def sums(self, rows: RowRatios, tables: RatioTables, features: np.ndarray, adding: np.ndarray) -> np.ndarray:
        scan = rows.scan()
        return self.of_scan(rows, scan, scan.moves(tables, features, adding))

    def own_sums(self, rows: RowRatios, tables: RatioTables) -> np.ndarray:
        scan = rows.scan()
        return self.of_scan(rows, scan, scan.no_move())[0]

    @abstractmethod
    def of_scan(self, rows: Any, scan: Scan, moves: tuple[Any, ...]) -> np.ndarray:
        """(n_moves, n_sums) from the rows of the scan and those left out of it; ``moves`` as `Scan.moves`."""
