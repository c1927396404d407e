"""Class labels as codes, row weights, and `Rows`, which holds all arrays with one entry per row."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Number
from typing import Any

import narwhals as nw
import numpy as np

from bayesieve.table.arrays import holds_exactly
from bayesieve.table.cautions import warn_caller
from bayesieve.table.column_values import NumberValues, encode_plain
from bayesieve.table.columns import Column, column_of_series
from bayesieve.table.values import unmasked
from bayesieve.words import ShortRepr

MAJORITY = "majority"
"""Option value for which the positive class is the more frequent one of two classes."""
_CONTINUOUS = (
    "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects discrete classes on a "
    "regression target with continuous values. Convert y to classes: whole numbers, booleans or text."
)
_LEAST_WEIGHT, _MOST_WEIGHT = 1e-100, 1e18  # limits of the sum: products must not underflow, and it must fit in 64 bits
# Limits beyond which the target is taken for an identifier and refused.
_IDENTIFIERS, _LEAST_ROWS = 200, 2
_MANY_CLASSES, _FEW_ROWS, _MOST_GIBIBYTES = 1000, 5, 4
_MOST_CHARACTERS = 1 << 24  # of all labels as NumPy text, 4 bytes each
_TOO_LARGE = "The labels in y are whole numbers beyond 64 bits; convert them to text, for example with y.astype(str)."
_MIXED = "The labels in y mix text with other types; convert them all to text, for example with y.astype(str)."


@dataclass(frozen=True, repr=False)
class Target(ShortRepr):
    """Class labels as codes.

    Attributes
    ----------
    codes : uint8, uint16 or int32 array, shape (n_rows,)
        Index into `classes`.
    classes : array, shape (n_classes,)
        Distinct labels, sorted as `numpy.unique` does.
    """

    codes: np.ndarray
    classes: np.ndarray

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def counted(self, weights: np.ndarray | None) -> Target:
        """Return the target without classes whose rows all have weight 0; such rows get the code of the first class.

        Parameters
        ----------
        weights : float array, shape (n_rows,), or None
        """
        if weights is None or weights.all():
            return self
        present = np.bincount(self.codes[weights > 0], minlength=self.n_classes) > 0
        position = np.where(present, np.cumsum(present) - 1, 0)
        if present.all():
            return self
        dtype = np.min_scalar_type(int(present.sum()) - 1)
        codes = position[self.codes].astype(dtype if dtype.itemsize <= 2 else np.int32)
        return Target(codes, self.classes[present])


def as_target(y: Any) -> Target:
    """Read class labels.

    Parameters
    ----------
    y : array-like, shape (n_rows,)
        A pandas, polars or pyarrow series, a NumPy array or a list, of text, booleans or whole numbers. A column
        vector, shape (n_rows, 1), is accepted with scikit-learn's warning. A `Target` is returned as it is.

    Returns
    -------
    Target

    Raises
    ------
    ValueError
        If `y` is None, empty, not one-dimensional, has missing labels, or holds continuous values.

    Examples
    --------
    >>> target = as_target(["no", "yes", "no"])
    >>> target.codes, target.classes
    (array([0, 1, 0], dtype=uint8), array(['no', 'yes'], dtype='<U3'))
    """
    if isinstance(y, Target):
        return y
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None. Pass the class of every row as y."
        )

    # One column: labels that come as a list, or as an array of NumPy texts, become a NumPy text array.
    if nw.dependencies.is_into_dataframe(y):
        frame = nw.from_native(y, eager_only=True)
        if frame.shape[1] != 1:
            raise ValueError(
                f"y should be a 1d array, got an array of shape {frame.shape} instead; pass the one column that holds "
                "the labels."
            )
        _warn_column_vector(stacklevel=3)
        y = frame.get_column(frame.columns[0]).to_native()
    if nw.dependencies.is_into_series(y):
        column, n_rows, as_unicode = column_of_series("y", y), len(y), False
    else:
        array = _label_array(y)
        as_unicode = array.dtype.kind in "UT" or isinstance(y, (list, tuple))
        column, n_rows = Column("y", array), array.size
    if n_rows == 0:
        raise ValueError(
            "Found array with 0 sample(s) (shape=(0,)) while a minimum of 1 is required. Pass one label per row of "
            "X as y."
        )

    # Numbers get codes in ascending order, other labels those of their categories.
    read = column.values
    if read.type == "number":
        numbers = [] if isinstance(read, NumberValues) and read.exact is None else column.categories().values
        is_large = any(abs(value) >= 2**53 for value in numbers if not isinstance(value, str))  # beyond floats
        if isinstance(read, NumberValues) and not is_large:
            labels, codes = _numeric_labels(read)
        else:
            labels, codes = _category_labels(column, as_unicode)
    elif read.type in ("text", "category", "mixed", "boolean"):
        if read.type in ("category", "mixed"):
            _refuse_other_labels(column)
        labels, codes = _category_labels(column, as_unicode)
    else:
        raise ValueError(
            f"Unknown label type: {read.type}. Classes must be text, booleans or whole numbers; convert y to text."
        )
    dtype = np.min_scalar_type(len(labels) - 1)
    return Target(codes.astype(dtype if dtype.itemsize <= 2 else np.int32), labels)


def class_position(classes: Any, label: Any, option: str) -> int:
    """Return the position of ``label`` in ``classes``.

    Raise ValueError, which names ``option``, the option that holds the label, and lists the classes, if there is none.
    """
    labels = np.asarray(classes).tolist()
    try:
        return int(labels.index(label))
    except ValueError:  # also of an array, which is compared element by element
        listing = ", ".join(map(repr, labels[:20]))
        raise ValueError(f"{option} must be a class, one of {listing}, got {label!r:.80}.") from None


def positive_position(classes: Any, row_counts: np.ndarray, positive: Any) -> int:
    """Return the position of the positive class.

    Parameters
    ----------
    classes : array of shape (n_classes,): labels.
    row_counts : array of shape (n_classes,): number of rows (or weight) of each class.
    positive : label of the positive class. "majority" stands for the one of two classes with more rows, unless it is a
        label.

    Raises
    ------
    ValueError
        If there is no such class, or there are more than two for "majority".
    """
    labels = np.asarray(classes).tolist()
    if not isinstance(positive, str) or positive != MAJORITY or MAJORITY in labels:
        return class_position(classes, positive, "positive")
    if len(labels) != 2:
        raise ValueError(
            f"positive='majority', as in a scorecard, needs two classes, but the target has {len(labels)}; fit one "
            "model for each class."
        )
    return int(row_counts[1] >= row_counts[0])


def require_target(owner: Any, y: Any) -> None:
    """Raise ValueError, which names the estimator class of ``owner``, if ``y`` is None."""
    if y is None:
        raise ValueError(
            f"{type(owner).__name__} requires y to be passed, but the target y is None. Pass the class of every row, "
            "or the name of the column that holds it."
        )


def require_classes(owner: Any, classes: np.ndarray | None) -> None:
    """Raise ValueError, which names the estimator class of ``owner``, if there are fewer than two classes."""
    if classes is None or len(classes) == 0:
        raise ValueError(
            f"{type(owner).__name__} needs a target with classes; pass labels of at least two classes as y."
        )
    if len(classes) == 1:
        raise ValueError(
            f"{type(owner).__name__} needs at least 2 classes in the target, got 1 class only "
            f"({classes.tolist()[0]!r}). Check that y is the right column, and that rows of other classes were not "
            "removed."
        )


def sign_of_positive(classes: Any, positive: int | None) -> int:
    """Return -1 if the positive class is the first of two, otherwise 1; ``positive`` is its position, or None.

    Users give signs (of monotone effects) for the positive class, while contributions have the sign of the second
    class.
    """
    return -1 if len(classes) == 2 and positive == 0 else 1


def refuse_identifiers(target: Target) -> None:
    """Raise ValueError for a target with very many classes, which may be an identifier.

    Otherwise the fit would run out of memory, because it needs one number per row and class.
    """
    n_rows, n_classes = len(target.codes), len(target.classes)
    gibibytes = n_rows * n_classes * 8 / 2**30
    if n_classes > _IDENTIFIERS and n_rows < _LEAST_ROWS * n_classes:
        raise ValueError(
            f"The target has {n_classes:,} classes in {n_rows:,} rows, fewer than {_LEAST_ROWS} rows each on average; "
            "is it an identifier? Choose another target, or join rare classes."
        )
    if n_classes > _MANY_CLASSES and gibibytes > _MOST_GIBIBYTES:
        raise ValueError(
            f"The target has {n_classes:,} classes in {n_rows:,} rows, which takes at least {gibibytes:,.0f} GiB of "
            "memory; is it an identifier? Choose another target, or join rare classes."
        )
    if n_classes > _MANY_CLASSES and n_rows < _FEW_ROWS * n_classes:
        warn_caller(
            f"The target has {n_classes:,} classes in {n_rows:,} rows; is it an identifier? So few rows hardly "
            "suffice to learn a class, and the fit may take long."
        )


def _label_array(y: Any) -> np.ndarray:
    """Return labels ``y``, in any form but a series, as a 1-D array; raise ValueError or TypeError if they cannot be
    labels.
    """
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(y):
        raise TypeError("Sparse data was passed for y, but dense data is required; pass y.toarray().ravel() instead.")
    is_list = isinstance(y, (list, tuple))
    if hasattr(y, "to_numpy") and not hasattr(y, "__array__"):
        y = y.to_numpy(zero_copy_only=False)  # pyarrow.Array
    # Keep lists of text as Python objects: NumPy's fixed-width text takes twice as long to create and encode.
    of_text = is_list and len(y) > 0 and isinstance(y[0], str)
    try:
        array = np.array(y, dtype=object) if of_text else unmasked(y)
    except ValueError:
        raise ValueError("y should be a 1d array, got rows that differ in length; give one label per row.") from None
    if isinstance(y, (str, bytes, dict)) or array.ndim == 0:
        raise ValueError(
            f"Expected array-like (array or non-string sequence), got {repr(y)[:80]}; pass y as an array "
            "or list of labels."
        )
    if is_list and array.ndim == 1:
        changed = array.dtype.kind in "US" or (array.dtype.kind in "iuf" and not holds_exactly(array, y))
        array = np.array(y, dtype=object) if changed else array  # NumPy makes text of numbers, numbers of booleans
    if array.dtype.kind == "c":
        raise ValueError(
            "Complex data not supported as labels in y; convert them to text, for example with [str(label) for label "
            "in y]."
        )
    if array.ndim == 2 and array.shape[1] == 1:
        _warn_column_vector(stacklevel=4)
        array = array.ravel()
    if array.ndim != 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {array.shape} instead; pass one label per row of X."
        )
    return array


def _warn_column_vector(stacklevel: int) -> None:
    """Issue scikit-learn's warning that labels are a column vector; ``stacklevel`` is that of `warnings.warn`."""
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ), for "
        "example using ravel().",
        DataConversionWarning,
        stacklevel=stacklevel,
    )


def _numeric_labels(column: NumberValues) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct labels, (n_classes,), of a column of numbers, and the code of each row, (n_rows,).

    Raise ValueError for missing, infinite and fractional numbers.
    """
    values = column.numbers
    dtype = values.dtype
    missing = np.isnan(values) if column.missing is None and dtype.kind == "f" else column.missing
    if missing is not None and missing.any():
        raise _missing_error(missing)
    if dtype.kind == "f":
        if np.isinf(values).any():
            raise ValueError(
                "Input y contains infinity or a value too large for dtype('float64') (first in row "
                f"{int(np.argmax(np.isinf(values)))}); replace it by a label, or remove the row."
            )
        if (values != np.trunc(values)).any():
            raise ValueError(_CONTINUOUS)
        if float(np.abs(values).max()) < 2**53:
            values = values.astype(np.int64)
    codes, labels = encode_plain(values, None)
    return np.array(labels, dtype=dtype), codes


def _category_labels(column: Column, as_unicode: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct labels, (n_classes,), of a column of categories, and the code of each row, (n_rows,).

    With ``as_unicode``, labels of text are an array of NumPy text unless that takes more than `_MOST_CHARACTERS`,
    otherwise of objects. Raise ValueError for missing labels and for labels of several types.
    """
    categories = column.categories()
    if (categories.codes < 0).any():
        raise _missing_error(categories.codes < 0)
    values = categories.values
    types = {type(value) for value in values}
    if str in types and len(types) > 1 and column.values.type != "number":
        raise ValueError(_MIXED)
    if float in types or (column.values.type == "number" and str in types):
        raise ValueError(_CONTINUOUS)
    whole = [value for value in values if isinstance(value, int)]
    if types == {int} and not (min(whole) >= -(2**63) and max(whole) < (2**63 if min(whole) < 0 else 2**64)):
        raise ValueError(_TOO_LARGE)
    if len(types) > 1:
        raise ValueError(
            "The labels in y mix booleans and numbers; convert them all to text, for example with [str(label) for "
            "label in y]."
        )
    order = sorted(range(len(values)), key=lambda i: values[i])  # numbers by size, not by their text
    position = np.empty(len(values), dtype=np.int32)
    position[order] = np.arange(len(values))
    # Each NumPy text is as wide as the longest one, so that one long label among many may take gibibytes.
    fits = as_unicode and str in types and len(values) * max(len(str(value)) for value in values) <= _MOST_CHARACTERS
    dtype = {str: None if fits else object, bool: bool, int: None}[types.pop()]
    return np.array([values[i] for i in order], dtype=dtype), position[categories.codes]


def _refuse_other_labels(column: Column) -> None:
    """Raise ValueError for labels of different types with equal texts: 1 and "1" must not become one class."""
    kinds = set(map(type, column.values.encoded[1]))
    for kind in sorted(kinds - {str, bytes}, key=str):
        if not issubclass(kind, (str, Number, np.number, np.bool_)):
            raise ValueError(
                f"Unknown label type: {kind.__name__}. Classes must be text, booleans or whole numbers; convert y to "
                "text, for example with [str(label) for label in y]."
            )
    if len({issubclass(kind, (str, bytes)) for kind in kinds}) > 1:
        raise ValueError(_MIXED)


def _missing_error(missing: np.ndarray) -> ValueError:
    """Return the error about missing labels; ``missing`` is their mask, (n_rows,)."""
    return ValueError(
        f"Input y contains NaN or missing labels (first in row {int(np.argmax(missing))}); "
        f"remove these rows or give them a label."
    )


def as_sample_weight(sample_weight: Any, n_rows: int) -> np.ndarray | None:
    """Read row weights.

    Parameters
    ----------
    sample_weight : array-like, shape (n_rows,), a number, or None
    n_rows : int

    Returns
    -------
    float64 array, shape (n_rows,), or None
        None if all weights are 1.

    Raises
    ------
    ValueError
        If a weight is negative, missing or infinite, if all are zero, if their sum is extremely small or large, or if
        their number is not `n_rows`.
    """
    if sample_weight is None:
        return None
    try:
        array = unmasked(sample_weight)
        if array.dtype.kind in "cmM":  # complex numbers, durations and dates
            raise TypeError
        weights = array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("sample_weight must contain one number for each row; convert its values to numbers.") from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar, got an array of shape {weights.shape}; pass one weight for "
            "each row."
        )
    if len(weights) != n_rows:
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}! Pass one weight for each row of X."
        )
    if not np.isfinite(weights).all():
        row = int(np.argmin(np.isfinite(weights)))
        raise ValueError(
            f"Input sample_weight contains NaN or infinity (first in row {row}); replace such weights by finite "
            "numbers."
        )
    if (weights < 0).any():
        raise ValueError(
            f"Negative values in sample_weight (first in row {int(np.argmax(weights < 0))}); use weight 0 to ignore a "
            "row."
        )
    if not weights.any():
        raise ValueError(
            "Sample weights must contain at least one non-zero number; all weights are zero. Check that the right "
            "column is passed."
        )
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not _LEAST_WEIGHT <= total <= _MOST_WEIGHT:
        raise ValueError(
            f"The sample weights add up to {total:.3g}; scale them so that their sum is between {_LEAST_WEIGHT:g} and "
            f"{_MOST_WEIGHT:g}."
        )
    return None if (weights == 1).all() else np.ascontiguousarray(weights)


def normalized_weights(sample_weight: Any) -> np.ndarray | None:
    """Return row weights divided by their mean over the rows of positive weight; None if all rows have the same
    weight.
    """
    weights = as_sample_weight(sample_weight, np.size(sample_weight))
    if weights is None or np.ndim(sample_weight) == 0:
        return None
    return weights * (np.count_nonzero(weights) / weights.sum())


@dataclass(frozen=True, eq=False)
class Rows:
    """Classes, weights and further columns of rows; immutable.

    Parameters
    ----------
    class_codes : unsigned array, shape (n_rows,), or None
    classes : array, shape (n_classes,), or None
    weights : float64 array, shape (n_rows,), or None
        None if all rows have weight 1.
    groups : array, shape (n_rows,), or None
        Rows of a group stay together when rows are split.
    columns : mapping of str to array, each of shape (n_rows, ...)
        Further arrays with an entry per row, such as benefits of decisions or fold numbers.
    runs : ClassRuns or None
        Map to the row order of the source, if the rows were sorted by class while they were read; otherwise None.
    positions : int array, shape (n_rows,), or None
        Positions of the rows in the coded training table; None for all of its rows, in order.

    Examples
    --------
    >>> rows = Rows(np.array([1, 0, 1], dtype=np.uint8), np.array(["no", "yes"]), columns={"gain": np.array([5, 0, 2])})
    >>> by_class = rows.take(rows.class_order())
    >>> by_class.class_codes.tolist(), by_class.columns["gain"].tolist()
    ([0, 1, 1], [0, 5, 2])
    """

    class_codes: np.ndarray | None = None
    classes: np.ndarray | None = None
    weights: np.ndarray | None = None
    groups: np.ndarray | None = None
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    runs: ClassRuns | None = None
    positions: np.ndarray | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 if there is no target."""
        return 0 if self.classes is None else len(self.classes)

    @cached_property
    def is_sorted_by_class(self) -> bool:
        """Whether the rows are sorted by class."""
        return self.class_codes is not None and bool(np.all(self.class_codes[:-1] <= self.class_codes[1:]))

    def class_order(self) -> np.ndarray:
        """Return the positions of the rows sorted by class, (n_rows,); rows of a class keep their order.

        Raise ValueError without classes.
        """
        if self.class_codes is None:
            raise ValueError(
                "The class of every row is needed, but the table was coded without y; code it again with y."
            )
        order = np.argsort(self.class_codes, kind="stable")  # a radix sort for small codes
        return order.astype(np.int32) if order.size < 2**31 else order

    def positions_by_class(self) -> list[np.ndarray]:
        """Return an array for each class, with the positions of its rows, except rows of weight 0."""
        codes = np.zeros(0) if self.class_codes is None else self.class_codes
        counted = np.ones(codes.shape, dtype=bool) if self.weights is None else self.weights > 0
        return [np.flatnonzero((codes == code) & counted) for code in range(self.n_classes)]

    def in_table(self, positions: np.ndarray) -> np.ndarray:
        """Convert positions among these rows to positions in the coded training table."""
        return positions if self.positions is None else self.positions[positions]

    def in_source(self, positions: np.ndarray) -> np.ndarray:
        """Convert positions among these rows to positions in the row order of the source."""
        return positions if self.runs is None else self.runs.in_source(positions)

    def take(self, positions: Any) -> Rows:
        """Return the rows at ``positions`` (positions, a slice or a boolean mask) as new `Rows`."""
        arrays = (self.class_codes, self.weights, self.groups)
        codes, weights, groups = (None if array is None else array[positions] for array in arrays)
        columns = {name: column[positions] for name, column in self.columns.items()}
        chosen = None
        if self.class_codes is not None:
            if isinstance(positions, slice):
                positions = np.arange(*positions.indices(self.class_codes.size))
            positions = np.asarray(positions)
            chosen = self.in_table(np.flatnonzero(positions) if positions.dtype == bool else positions)
        return Rows(codes, self.classes, weights, groups, columns, positions=chosen)


_RUN = 1 << 16  # rows in a run; counts by class are stored for each run


def count_classes(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the number of rows of each class, (n_classes,), from class codes (n_rows,).

    Unlike `numpy.bincount`, this does not copy all codes as 64-bit numbers.
    """
    counts = np.zeros(n_classes, dtype=np.int64)
    for at in range(0, codes.size, _RUN):
        counts += np.bincount(codes[at : at + _RUN], minlength=n_classes)
    return counts


class ClassRuns:
    """Map between the row order of a source and the order by class, without an array of positions of all rows.

    Rows of a class keep the order of the source. The map holds counts by class for runs of `_RUN` consecutive rows.

    Parameters
    ----------
    codes : unsigned array, shape (n_rows,)
        The class of each row of the source.
    n_classes : int
    """

    def __init__(self, codes: np.ndarray, n_classes: int) -> None:
        self.codes = codes
        counts = [np.bincount(codes[at : at + _RUN], minlength=n_classes) for at in range(0, codes.size, _RUN)]
        # For each run, the number of rows of each class that come before it.
        self._above = np.vstack([np.zeros((1, n_classes), dtype=np.int64), np.cumsum(counts, axis=0)])
        self.offsets = np.concatenate([[0], np.cumsum(self._above[-1])])

    @property
    def sorted_codes(self) -> np.ndarray:
        """Class codes of the rows in the order by class, shape (n_rows,)."""
        return np.repeat(np.arange(self.offsets.size - 1).astype(self.codes.dtype), np.diff(self.offsets))

    def sort(self, values: np.ndarray) -> np.ndarray:
        """Return ``values``, an array (n_rows, ...) in the order of the source, in the order by class."""
        return values[np.argsort(self.codes, kind="stable")]

    def starts(self, row: int) -> np.ndarray:
        """Return, for each class, how far the order by class has got at row ``row`` of the source, shape (n_classes,).

        That is the position in the order by class of the first row of the class at or after ``row`` in the source.
        """
        run = row // _RUN
        in_run = np.bincount(self.codes[run * _RUN : row], minlength=self.offsets.size - 1)
        starts: np.ndarray = self.offsets[:-1] + self._above[run] + in_run
        return starts

    def in_source(self, positions: np.ndarray) -> np.ndarray:
        """Convert ``positions`` (n,) in the order by class to positions in the order of the source, (n,)."""
        source_positions = np.empty(len(positions), dtype=np.int64)
        of_class = np.searchsorted(self.offsets, positions, side="right") - 1
        for code in np.unique(of_class).tolist():
            here = np.flatnonzero(of_class == code)
            rank = np.asarray(positions)[here] - self.offsets[code]
            runs = np.searchsorted(self._above[:, code], rank, side="right") - 1
            for run in np.unique(runs).tolist():
                in_run = np.flatnonzero(self.codes[run * _RUN : (run + 1) * _RUN] == code)
                there = runs == run
                source_positions[here[there]] = run * _RUN + in_run[rank[there] - self._above[run, code]]
        return source_positions
