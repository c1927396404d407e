"""Benefits B(i, j, x) of decision i in a row x whose true class is j, and the total benefit of decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayesieve.criteria.decisions import as_benefits, with_amounts
from bayesieve.table import as_sample_weight, as_target
from bayesieve.table.columns import column_of

_SHAPES = (
    "a matrix (n_decisions, n_classes), matrices (n_rows, n_decisions, n_classes), or a list of rows whose cells are "
    "numbers or columns of n_rows numbers"
)


@dataclass(frozen=True)
class Benefits:
    """Benefits of decisions, all in one unit, such as money.

    Attributes
    ----------
    values : float array, shape (n_decisions, n_classes) or (n_rows, n_decisions, n_classes)
        Benefit of each decision for each true class; NaN where unknown.
    """

    values: np.ndarray

    @property
    def n_decisions(self) -> int:
        """Number of decisions."""
        return int(self.values.shape[-2])

    @cached_property
    def by_row(self) -> bool:
        """Whether benefits differ between rows."""
        return self.values.ndim == 3

    def expected(self, probability: np.ndarray) -> np.ndarray:
        """Return the expected benefits sum_j P(j | x) B(i, j, x), shape (n_rows, n_decisions).

        ``probability`` (n_rows, n_classes) are class probabilities. Raise ValueError if a benefit is missing or
        infinite.
        """
        if not np.isfinite(self.values).all():
            row = f" (first in row {int(np.argwhere(~np.isfinite(self.values))[0][0])})" if self.by_row else ""
            raise ValueError(
                f"Benefits are missing or infinite{row}; give finite numbers, or an amount_estimator for unknown "
                "amounts."
            )
        if self.by_row:
            return np.einsum("nj,nij->ni", probability, self.values)
        return probability @ self.values.T

    def realised(self, decided: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the benefit B(decision, true class, x) of the decision taken in each row, shape (n_rows,).

        ``decided`` and ``codes`` (n_rows,) are the positions of each row's decision and true class. Raise ValueError if
        a benefit is missing.
        """
        gained = self.values[np.arange(codes.size), decided, codes] if self.by_row else self.values[decided, codes]
        if not np.isfinite(gained).all():
            row = int(np.argmin(np.isfinite(gained)))
            raise ValueError(f"The benefit of the decision in row {row} is missing or infinite; give a finite number.")
        return gained


def read_benefits(
    benefit: Any, n_classes: int, n_rows: int, *, X: Any = None, amount: Any = None, amount_benefit: Any = None
) -> Benefits:
    """Return the checked benefits of all decisions, for a table of ``n_rows`` rows.

    ``benefit`` is a matrix (n_decisions, n_classes) or (n_rows, n_decisions, n_classes), nested lists of numbers and
    columns, a function of the rows ``X`` that returns one of these, or None for 1 if the decision names the true class
    and 0 otherwise. If ``amount`` (n_rows,) is given, the amount of each row times ``amount_benefit`` is added; see
    `amount_slope`. Raise ValueError, listing the supported shapes, for any other shape.
    """
    if callable(benefit):
        if X is None:
            raise ValueError(
                "benefit is a function of X, but there is no X here; pass the values of the function instead."
            )
        benefit = benefit(X)
    values = np.eye(n_classes) if benefit is None else _values(benefit, n_rows)
    if values.shape[-1] != n_classes:
        raise ValueError(
            f"benefit has {values.shape[-1]} columns, but there are {n_classes} classes; give one for each class."
        )
    if amount is None and amount_benefit is None:
        return Benefits(values)
    if amount is None:
        raise ValueError(
            "amount_benefit needs the amounts of the rows; pass them, name their column, or give an amount_estimator."
        )
    slope = amount_slope(amount_benefit, values.shape[-2:])
    return Benefits(with_amounts(values, column_of_numbers(amount, "amount", n_rows), slope))


def amount_slope(amount_benefit: Any, shape: Sequence[int]) -> np.ndarray:
    """Return the checked benefit per unit of the amount, shape (n_decisions, n_classes).

    ``shape`` is the shape of the benefit matrix to which it is added. If ``amount_benefit`` is None, only the second
    decision gains the amount, in rows of the second class. Raise ValueError then unless there are two decisions and two
    classes.
    """
    if amount_benefit is None:
        if tuple(shape) != (2, 2):
            raise ValueError(
                f"With {shape[0]} decisions and {shape[1]} classes, amounts need amount_benefit: a matrix of that "
                "shape with the benefit per unit of the amount."
            )
        return np.array([[0.0, 0.0], [0.0, 1.0]])
    return as_benefits(amount_benefit, "amount_benefit", shape[1], shape[0])


def is_column(values: Any) -> bool:
    """Return whether ``values``, passed as ``benefit``, hold one number per row (an amount), rather than a benefit
    matrix, rows of cells or a function.
    """
    if isinstance(values, (list, tuple)):
        return len(values) == 0 or not isinstance(values[0], (Sequence, np.ndarray))
    return not callable(values) and np.ndim(values) == 1


def column_of_numbers(values: Any, name: str, n_rows: int) -> np.ndarray:
    """Return ``values``, one number per row, as a float64 array, (n_rows,), NaN if missing.

    Raise ValueError, which calls the column ``name``, if they are not ``n_rows`` numbers.
    """
    return column_of(values, name, n_rows).numbers()


def _values(benefit: Any, n_rows: int) -> np.ndarray:
    """Convert ``benefit`` to a float array, (n_decisions, n_classes) or (n_rows, n_decisions, n_classes).

    ``n_rows`` is the number of rows of the table. Raise ValueError if the array has another shape.
    """
    if isinstance(benefit, Sequence) and not isinstance(benefit, str):
        return _of_cells(benefit, n_rows)
    try:
        values = np.asarray(benefit, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.ndim not in (2, 3) or (values.ndim == 3 and len(values) != n_rows) or not values.size:
        got = f"an array of shape {values.shape} for {n_rows:,} rows" if values.size else f"{benefit!r:.80}"
        raise ValueError(f"benefit must be {_SHAPES}; got {got}.")
    return values


def _of_cells(benefit: Sequence[Any], n_rows: int) -> np.ndarray:
    """Convert a benefit matrix given as nested lists, one list for each decision and one cell for each class.

    Return shape (n_decisions, n_classes) if all cells are numbers, or (n_rows, n_decisions, n_classes) if some cells
    are columns with a number for each row of the table. Raise ValueError if the lists differ in length.
    """
    rows = [list(row) for row in benefit if isinstance(row, (list, tuple, np.ndarray)) and len(row) > 0]
    if not rows or len(rows) < len(benefit) or {len(row) for row in rows} != {len(rows[0])}:
        raise ValueError(f"benefit must be {_SHAPES}, with as many cells in every row; got {benefit!r:.80}.")
    if not any(isinstance(cell, str) for row in rows for cell in row):
        try:
            values = np.array(rows, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.zeros(0)  # not a matrix: some cells are columns
        if values.ndim == 2:
            return values
    values = np.empty((n_rows, len(rows), len(rows[0])))
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            values[:, i, j] = column_of_numbers(cell, f"benefit[{i}][{j}]", n_rows)
    return values


def positions_in(labels: Any, classes: np.ndarray, name: str) -> np.ndarray:
    """Return the position of each of ``labels`` (n_rows,) in ``classes``, shape (n_rows,).

    Raise ValueError for a label that is not in ``classes``; ``name`` is the argument that the message names.
    """
    target = as_target(labels)
    positions = {label: i for i, label in enumerate(np.asarray(classes).tolist())}
    unknown = [label for label in target.classes.tolist() if label not in positions]
    if unknown:
        raise ValueError(
            f"{name} holds {unknown[0]!r}, which is not one of {list(positions)!r:.80}; correct this value."
        )
    return np.array([positions[label] for label in target.classes.tolist()], dtype=np.int64)[target.codes]


def total_benefit(
    y: Any,
    decided: Any,
    *,
    benefit: Any = None,
    amount: Any = None,
    amount_benefit: Any = None,
    classes: Any = None,
    decisions: Any = None,
    sample_weight: Any = None,
) -> float:
    """Return the benefit of decisions already taken, summed over rows: sum_n w_n B(decided_n, y_n, x_n).

    Parameters
    ----------
    y : array-like, shape (n_rows,)
        True classes.
    decided : array-like, shape (n_rows,)
        Decision taken in each row.
    benefit : matrix, cells or None, default=None
        Benefits with a row for each decision and a column for each true class: an array of shape (n_decisions,
        n_classes) or (n_rows, n_decisions, n_classes), or a list of rows whose cells are numbers or columns of n_rows
        numbers. None: 1 for the decision that names the true class, otherwise 0.
    amount : array-like, shape (n_rows,), optional
        Amount at stake in each row; may be missing in rows whose benefit does not depend on it.
    amount_benefit : matrix, shape (n_decisions, n_classes), optional
        Benefit per unit of the amount; multiplied by the amount of the row and added to ``benefit``. By default 1 for
        the second decision in rows of the second class, otherwise 0 (two decisions and two classes only).
    classes : array-like, optional
        Classes in the order of the columns of ``benefit``; by default the sorted labels of ``y``.
    decisions : array-like, optional
        Decisions in the order of the rows of ``benefit``; by default the classes.
    sample_weight : array-like, shape (n_rows,), optional
        Weight w_n of each row: a weight of 2 equals the row repeated.

    Returns
    -------
    float
        Total benefit, in the unit of ``benefit``.

    Raises
    ------
    ValueError
        If shapes do not match, labels are unknown, or the benefit of a decision taken is missing.

    Examples
    --------
    Letters at 0.68 bring what donors give:

    >>> from bayesieve import total_benefit
    >>> letters = [[0, 0], [-0.68, -0.68]]
    >>> total_benefit([0, 1, 1, 0], [1, 1, 0, 0], benefit=letters, amount=[None, 10.0, 5.0, None])
    8.64
    """
    classes_of_benefits = as_target(y).classes if classes is None else np.asarray(classes)
    codes = positions_in(y, classes_of_benefits, "y")
    benefits = read_benefits(
        benefit, len(classes_of_benefits), codes.size, amount=amount, amount_benefit=amount_benefit
    )
    names = decision_names(decisions, classes_of_benefits, benefits.n_decisions)
    decision_codes = positions_in(decided, names, "decided")
    if decision_codes.size != codes.size:
        raise ValueError(
            f"y has {codes.size:,} rows but there are {decision_codes.size:,} decisions; pass one decision for each "
            "row."
        )
    gained = benefits.realised(decision_codes, codes)
    weights = as_sample_weight(sample_weight, codes.size)
    return float(gained.sum() if weights is None else gained @ weights)


def decision_names(decisions: Any, classes: np.ndarray, n_decisions: int) -> np.ndarray:
    """Return the checked names of the decisions, shape (n_decisions,); by default the classes.

    Raise ValueError if their number is not ``n_decisions`` or a name occurs twice.
    """
    names = np.asarray(classes if decisions is None else decisions)
    if names.ndim != 1 or len(names) != n_decisions or len(set(names.tolist())) != n_decisions:
        other = f"there are {len(names)} classes" if decisions is None else f"decisions is {decisions!r:.80}"
        raise ValueError(f"benefit has {n_decisions} rows, but {other}; name a decision for each row in decisions=.")
    return names
