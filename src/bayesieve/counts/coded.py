"""`CodedTable`: the table every count and every search reads, one contiguous run of codes per feature."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayesieve.counts.contingency import ContingencyCounts, count_features
from bayesieve.counts.row_content import RowSamples, keys_of
from bayesieve.engine import IN_MEMORY, Engine
from bayesieve.table.levels import FeatureLevels
from bayesieve.table.target import Rows
from bayesieve.words import ShortRepr


@dataclass(frozen=True, eq=False, init=False, repr=False)
class CodedTable(ShortRepr):
    """Codes of all features over some rows. Nothing is changed in place.

    Parameters
    ----------
    codes : unsigned array, shape (n_features, n_rows)
        uint8, or uint16/uint32 when a feature has over 255/65535 levels. A code of ``n_levels[k]`` or larger is
        "unseen": it contributes nothing. With ``families``, shape (n_families, n_rows): the ordered codes that the
        features compare with their thresholds.
    n_levels : array of int, shape (n_features,)
    names : sequence of str
    class_codes, classes, weights : as `Rows` has them; ``rows`` in their place gives all that is known of the rows.
    levels : sequence of FeatureLevels or None
        The levels behind the codes, if they came from raw values.
    families : Families or None
        How features are stored as thresholds on ordered codes; None: each feature has its codes.
    unseen : int array, shape (n_features,), or None
        Rows without a level, of each feature, if an encoder counted them.
    recoder : bayesieve.discretize.refitting.LevelRefitter or None
        Learns the levels again from some of the rows, if the raw values are at hand.
    engine : Engine
        Where the rows live, in memory unless given, and in which blocks they are read.

    Attributes
    ----------
    stored : unsigned array, shape (n_features or n_families, n_rows), C-contiguous
        The codes that are kept in memory.

    Raises
    ------
    ValueError
        If the parts contradict each other.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve import CodedTable
    >>> codes, classes = np.array([[0, 1, 1]], dtype=np.uint8), np.array(["no", "yes"])
    >>> table = CodedTable(codes, n_levels=[2], names=["sex"], class_codes=np.array([1, 0, 0]), classes=classes)
    >>> table.counts.feature(0).tolist()
    [[0.0, 1.0], [2.0, 0.0]]
    """

    stored: np.ndarray
    n_levels: np.ndarray
    names: tuple[str, ...]
    rows: Rows
    levels: Sequence[FeatureLevels] | None
    families: Families | None
    unseen: np.ndarray | None
    recoder: Any
    engine: Engine

    def __init__(
        self,
        codes: np.ndarray,
        n_levels: Any,
        names: Sequence[str],
        class_codes: np.ndarray | None = None,
        classes: np.ndarray | None = None,
        weights: np.ndarray | None = None,
        levels: Sequence[FeatureLevels] | None = None,
        *,
        rows: Rows | None = None,
        families: Families | None = None,
        unseen: np.ndarray | None = None,
        recoder: Any = None,
        engine: Engine = IN_MEMORY,
    ) -> None:
        if codes.ndim != 2 or codes.dtype.kind != "u":
            raise ValueError("codes must be a 2-D array of unsigned integers, one row per feature.")
        vars(self).update(
            stored=np.ascontiguousarray(codes),
            n_levels=np.asarray(n_levels, dtype=np.int64),
            names=tuple(names),
            rows=Rows(class_codes, classes, weights) if rows is None else rows,
            levels=levels,
            families=families,
            unseen=unseen,
            recoder=recoder,
            engine=engine,
        )
        for what, length in (("n_levels", len(self.n_levels)), ("names", len(self.names))):
            if length != self.n_features:
                raise ValueError(f"codes has {self.n_features} features but {what} has {length} entries.")
        for what, length in self.rows.lengths().items():
            if length != self.n_rows:
                raise ValueError(f"codes has {self.n_rows} rows but {what} has {length}.")

    def _facts(self) -> dict[str, Any]:
        facts = {"n_rows": self.n_rows, "n_features": self.n_features, "n_classes": self.n_classes}
        return facts | {"weighted": self.weights is not None, "names": self.names}

    def __repr__(self) -> str:
        scores = "" if self.families is None else f" of {self.families.n_families} scores"
        return f"CodedTable({self.n_rows} rows, {self.n_features} features{scores}, {self.n_classes} classes)"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.stored.shape[1])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.stored) if self.families is None else len(self.families.family_of)

    @property
    def class_codes(self) -> np.ndarray | None:
        """Class of every row, shape (n_rows,)."""
        return self.rows.class_codes

    @property
    def classes(self) -> np.ndarray | None:
        """Class labels, shape (n_classes,)."""
        return self.rows.classes

    @property
    def weights(self) -> np.ndarray | None:
        """Row weights, shape (n_rows,); None: every row counts once."""
        return self.rows.weights

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 when there is no target."""
        return self.rows.n_classes

    @property
    def is_sorted_by_class(self) -> bool:
        """Whether the rows are listed class after class."""
        return self.rows.is_sorted_by_class

    @cached_property
    def codes(self) -> np.ndarray:
        """The codes of all features, shape (n_features, n_rows); those of families are written out once."""
        return self.stored if self.families is None else self.families.codes_of(self.stored, slice(None))

    @cached_property
    def counts(self) -> ContingencyCounts:
        """Rows (or weight) of every level of every feature by class, counted once; it must not be changed."""
        return count_features(self)

    @cached_property
    def by_class(self) -> CodedTable:
        """Return a copy with rows grouped by class, the order that counts and searches read fastest."""
        if self.class_codes is None or self.is_sorted_by_class:
            return self
        return self.take(self.rows.class_order())

    @property
    def blocks(self) -> Iterator[CodedTable]:
        """The rows of each block of the engine in turn; the table itself if there is one block."""
        whole = np.array([0, self.n_rows])
        for begin, end in self.engine.blocks(whole, len(self.stored) * self.stored.dtype.itemsize):
            block = slice(begin, end)
            is_whole = end - begin == self.n_rows
            yield self if is_whole else self._with(self.stored[:, block], self.rows.take(block))

    def codes_of(self, features: Any) -> np.ndarray:
        """The codes of these features only (positions, a slice or a boolean mask), shape (n, n_rows)."""
        return self.stored[features] if self.families is None else self.families.codes_of(self.stored, features)

    def codes_at(self, features: Any, rows: Any) -> np.ndarray:
        """The codes of these features (positions) in some rows (ascending positions, or a slice), (n, n_rows)."""
        if self.families is None:
            return np.array([self.stored[k][rows] for k in features])
        return np.array([self.codes_of([k])[0][rows] for k in features])

    def drawn(self, most: int) -> np.ndarray:
        """Positions, ascending, of up to ``most`` rows of positive weight, drawn by what rows contain,
        never by where they are; a smaller sample is part of a larger one.
        """
        return self._samples_of_rows.drawn(most)

    @cached_property
    def _samples_of_rows(self) -> RowSamples:
        known = None if self.recoder is None else self.recoder.samples
        return RowSamples(self.fingerprints, self.rows) if known is None else known

    def fingerprints(self) -> np.ndarray:
        """(n_rows,) numbers that tell rows apart by their raw values or, without these, by their codes."""
        return self._code_prints() if self.recoder is None else self.recoder.fingerprints()

    def _code_prints(self) -> np.ndarray:
        """(n_rows,) numbers that tell rows apart by their codes."""
        return keys_of(self.stored, np.zeros(self.n_rows, np.uint8))

    def select(self, features: Any) -> CodedTable:
        """Return a copy with these features only (positions, a slice or a boolean mask)."""
        picked = np.arange(self.n_features)[features if isinstance(features, slice) else np.asarray(features)]
        columns, families = (picked, None) if self.families is None else self.families.select(picked)
        names, levels = [self.names[k] for k in picked], self.levels
        levels = None if levels is None else tuple(levels[k] for k in picked)
        same: dict[str, Any] = {"rows": self.rows, "families": families, "engine": self.engine}
        return CodedTable(self.stored[columns], self.n_levels[picked], names, levels=levels, **same)

    def take(self, positions: Any) -> CodedTable:
        """Return a copy with these rows only (positions, a slice or a boolean mask)."""
        if not isinstance(positions, slice):
            positions = np.asarray(positions)
            if positions.dtype == bool:
                positions = np.flatnonzero(positions)
            stored = self.engine.take(self.stored, positions)
        else:
            stored = self.stored[:, positions]
        recoder = self.recoder
        if recoder is not None:
            recoder = recoder.take(np.arange(self.n_rows, dtype=np.min_scalar_type(self.n_rows))[positions])
        return self._with(stored, self.rows.take(positions), recoder)

    def with_rows(self, **parts: Any) -> CodedTable:
        """Return a copy with other attributes of `Rows`: ``with_rows(class_codes=..., classes=...)``."""
        recoder = self.recoder if parts.keys() <= {"columns"} else None  # levels do not depend on further columns
        return self._with(self.stored, replace(self.rows, **parts), recoder)

    def on(self, engine: Engine) -> CodedTable:
        """Return a copy whose arrays another engine stores."""
        if engine is self.engine:
            return self
        stored = engine.array(self.stored.shape, self.stored.dtype)
        for from_, to in zip(self.stored, stored, strict=True):
            to[:] = from_
            engine.visited(to.nbytes)
        return self._changed(("by_class", "codes"), stored=stored, engine=engine)

    def with_columns(self, **columns: np.ndarray) -> CodedTable:
        """Return a copy with further columns of `Rows`, which refitted codes keep, too."""
        recoder = None if self.recoder is None else self.recoder.with_columns(columns)
        rows = replace(self.rows, columns={**self.rows.columns, **columns})
        return self._changed(("by_class",), rows=rows, recoder=recoder)

    def with_levels(self, levels: Sequence[FeatureLevels], unseen: np.ndarray | None = None) -> CodedTable:
        """Return a copy with the levels behind the codes; counts are not repeated."""
        return self._changed(("by_class",), levels=levels, unseen=unseen)

    def _changed(self, derived: Sequence[str], **parts: Any) -> CodedTable:
        """A copy with other parts, without what was derived from them."""
        table = copy(self)
        vars(table).update(parts)
        for name in derived:
            vars(table).pop(name, None)
        return table

    def _with(self, stored: np.ndarray, rows: Rows, recoder: Any = None) -> CodedTable:
        same: dict[str, Any] = {"levels": self.levels, "families": self.families, "engine": self.engine}
        return CodedTable(stored, self.n_levels, self.names, rows=rows, recoder=recoder, **same)


@dataclass(frozen=True, eq=False)
class Families:
    """How indicators "score <= threshold" are read from the ordered codes of their scores.

    All indicators of one score are a *family*. A row has one number for the whole family, how many of its thresholds
    are below the score (``n_thresholds + 1`` if the score is missing), and only that is stored: 74 scores with 11
    thresholds each take 74 codes a row, not 814.

    Parameters
    ----------
    n_thresholds : int64 array, shape (n_families,)
        Thresholds that the codes of each family count, also those of no feature of the table.
    family_of : int64 array, shape (n_features,)
        The family of each indicator.
    threshold_of : int64 array, shape (n_features,)
        Which of its family's thresholds, in ascending order from 0, each indicator compares with.
    """

    n_thresholds: np.ndarray
    family_of: np.ndarray
    threshold_of: np.ndarray

    def __post_init__(self) -> None:
        for part in fields(self):
            object.__setattr__(self, part.name, np.asarray(getattr(self, part.name), dtype=np.int64))

    @property
    def n_families(self) -> int:
        """Number of scores."""
        return len(self.n_thresholds)

    def codes_of(self, stored: np.ndarray, features: Any) -> np.ndarray:
        """Codes of indicators, shape (n, n_rows): 0 if the score is at most the threshold, 1 above, 2 missing."""
        picked = np.arange(len(self.family_of))[features]
        codes = np.empty((picked.size, stored.shape[1]), dtype=np.uint8)
        missing: dict[int, np.ndarray | None] = {}
        for at, k in enumerate(picked.tolist()):
            family = int(self.family_of[k])
            ordered = stored[family]
            if family not in missing:
                mask = ordered > self.n_thresholds[family]
                missing[family] = mask if mask.any() else None
            np.greater(ordered, self.threshold_of[k], out=codes[at].view(bool))
            above = missing[family]
            if above is not None:
                codes[at] += above  # a missing score is above every threshold already: 1 + 1
        return codes

    def select(self, features: np.ndarray) -> tuple[np.ndarray, Families]:
        """The families that these indicators are of (positions), and how the indicators are read from them."""
        families, family_of = np.unique(self.family_of[features], return_inverse=True)
        return families, Families(self.n_thresholds[families], family_of, self.threshold_of[features])
