"""Cautions about a fitted model and its training table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesieve.counts import CodedTable
from bayesieve.discretize import TableEncoder
from bayesieve.naive_bayes.monotone import monotone_gain
from bayesieve.table import FeatureLevels, Table, as_table
from bayesieve.table.cautions import Caution
from bayesieve.table.pair_levels import columns_behind
from bayesieve.table.scanned import ScannedTable
from bayesieve.table.table_levels import TableLevels
from bayesieve.words import named

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB

_SUSPICIOUS_SCORE = 0.95
_FEWEST_ROWS_PER_CLASS = 10
_SMALL_SHARE = 0.01
_NEARLY_ALL = 0.9  # of the rows have a value of their own in a column that looks like an identifier
_SAMPLES = (1000, 5000)  # rows in which columns are compared, value by value, as long as they look alike
_OFTEN = 20  # rows a value, from which the rows that share a value show a copy: repeated rows share all values
_MOST_GROUPS = 3
_FEWEST_NATS = 3.0  # by which rows say more with the opposite sign: odds of 20 to 1


def model_cautions(model: SelectiveNB, seen: Sequence[Caution] = ()) -> tuple[Caution, ...]:
    """The cautions ``seen`` in the training table, and those that follow from a fitted or loaded model alone."""
    targets = {name for caution in seen if caution.kind == "target" for name in caution.columns}
    named = {name for caution in seen if caution.kind in ("target", "identifier") for name in caution.columns}
    separating = [caution for caution in _separating(model) if targets.isdisjoint(caution.columns)]
    own = [*_nothing_kept(model), *_contradicted_signs(model), *_numbered(model, named), *_dates(model), *separating]
    return (*seen, *own, *_search(model), *_classes(model))


def _nothing_kept(model: SelectiveNB) -> list[Caution]:
    if model.n_features_selected_:
        return []
    remedy = (
        "Check that the rows of the target are those of the columns, or add rows."
        if model.trace_.complete
        else "The search was stopped early; give it more time."
    )
    sentence = f"No feature is kept: every row is predicted by the shares of the classes. {remedy}"
    return [Caution("nothing kept", (), sentence)]


def _contradicted_signs(model: SelectiveNB) -> list[Caution]:
    """Columns of ``monotone`` whose rows say much more with the opposite sign: their evidence becomes flat."""
    signs, cautions = model.monotone or {}, []
    for level in model.encoder_.levels_:
        sign = signs.get(level.name, 0) if level.kind == "numeric" else 0
        if not sign or level.n_levels == 1:
            continue
        own, opposite = (monotone_gain(level.counts, level, s) for s in (sign, -sign))
        if opposite > own + _FEWEST_NATS and opposite > 2 * own:
            wanted, found = ("fall", "falls") if sign > 0 else ("rise", "rises")
            sentence = (
                f"The rows contradict monotone={{{level.name!r}: {sign:+d}}}: evidence for class "
                f"{model.classes_[1]!s}, the second of classes_, must not {wanted} with {level.name!r}, but the share "
                f"of this class {found} with it, so that the column says little or nothing. Turn the sign round if "
                f"class {model.classes_[0]!s} was meant; otherwise leave it out."
            )
            cautions.append(Caution("monotone", (level.name,), sentence))
    return cautions


def _used(model: SelectiveNB) -> Iterator[tuple[FeatureLevels, str | None]]:
    """The columns that features of the model are made of, each with what it marks."""
    levels, marks = model.encoder_.levels_, getattr(model.encoder_, "marks_", {})
    used = np.zeros(len(levels), dtype=bool)
    used[model.scorecard_.used] = True
    for k in np.flatnonzero(columns_behind(levels, used)).tolist():
        yield levels[k], marks.get(levels[k].name)


def _numbered(model: SelectiveNB, apart: set[str]) -> list[Caution]:
    """Counters and identifiers that are used, by themselves or in pairs, except those set ``apart``."""
    used = [level.name for level, mark in _used(model) if mark in ("counter", "identifier")]
    columns = [name for name in used if name not in apart]
    return about_columns(
        "identifier",
        columns,
        "[Column|Columns] {} [looks like an identifier|look like identifiers] that the model uses: new rows will have "
        "other values. Leave [it|them] out.",
    )


def _dates(model: SelectiveNB) -> list[Caution]:
    """Columns of dates, which are cut into intervals: new rows are later than all training rows."""
    columns = [
        level.name
        for level, mark in _used(model)
        if mark == "date" or (level.kind == "numeric" and level.type in ("date", "datetime"))
    ]
    return about_columns(
        "dates",
        columns,
        "[Column|Columns] {} [holds|hold] dates, whose last interval stands for all of the future: every later row is "
        "taken for one of the last training rows. Use the time since some event instead, or leave dates out.",
    )


def _separating(model: SelectiveNB) -> list[Caution]:
    """Columns that separate the classes; without an exception, they are hardly known before the target."""
    cautions, scores = [], model.encoder_.level_scores_
    for k in np.flatnonzero(scores > _SUSPICIOUS_SCORE).tolist():
        name = model.encoder_.levels_[k].name
        sentence = (
            f"Feature {name} tells the classes apart almost alone (level score {scores[k]:.3f}): make sure that it is "
            "known before the target is."
        )
        pure = bool(np.all(np.count_nonzero(model.encoder_.levels_[k].counts, axis=1) <= 1))
        cautions.append(Caution("separates the classes", (name,), sentence, warns=pure))
    return cautions


def _search(model: SelectiveNB) -> list[Caution]:
    if model.trace_.complete:
        return []
    sentence = (
        f"The search was stopped early, after {model.trace_.n_models:,} models; a longer one may find better weights."
    )
    return [Caution("search", (), sentence, warns=False)]


def _classes(model: SelectiveNB) -> list[Caution]:
    counts = model.scorecard_.class_counts
    shares = counts / counts.sum()
    rare = [str(label) for label, n in zip(model.classes_, counts, strict=True) if n < _FEWEST_ROWS_PER_CLASS]
    if rare:
        some = ", ".join(rare[:5]) + (" and others" if len(rare) > 5 else "")
        sentence = (
            f"Fewer than {_FEWEST_ROWS_PER_CLASS} training rows of class {some}: its probabilities are uncertain."
        )
    elif shares.min() < _SMALL_SHARE:
        sentence = (
            f"Class {model.classes_[int(shares.argmin())]} has {100 * shares.min():.2f} % of the rows only: "
            "judge the model by AUC rather than accuracy."
        )
    else:
        return []
    return [Caution("classes", (), sentence, warns=False)]


def table_cautions(table: Table, coded: CodedTable, encoder: TableEncoder) -> list[Caution]:
    """Cautions about the raw columns; ``coded`` holds the same rows, in the same order or as its ``rows.runs`` say."""
    table = as_table(table, kinds=encoder.kinds)
    every = np.arange(coded.n_rows, dtype=np.min_scalar_type(coded.n_rows))
    rows = every if coded.weights is None else np.flatnonzero(coded.weights > 0)
    if coded.rows.runs is not None and isinstance(table, ScannedTable):
        table = table.by_class(coded.rows.runs)
    columns = _Columns(table, rows, coded, TableLevels.of(encoder.levels_).of_columns)
    target = _copies_of_target(columns)
    return [
        *getattr(encoder, "scan_cautions_", ()),
        *target,
        *_identifiers(columns, getattr(encoder, "marks_", {})),
        *_copies(columns, {name for caution in target for name in caution.columns}),
    ]


class _Columns:
    """Raw columns of the rows that count, with their codes."""

    def __init__(self, table: Table, rows: np.ndarray, coded: CodedTable, levels: TableLevels) -> None:
        self.rows, self.coded, self.levels = rows, coded, levels
        self._table = table
        self.sample, self.most = map(coded.drawn, _SAMPLES)

    def counts(self, k: int) -> list[list[float]]:
        """Rows (or weight) by level and class."""
        return np.asarray(self.levels.class_counts(k)).tolist()

    def partition(self, k: int, rows: np.ndarray) -> bytes:
        """Which of the rows share a level."""
        codes = self.codes(k, rows)
        return (codes != codes[0]).tobytes() if self.levels.n_levels[k] == 2 else pattern(codes)

    def known(self, k: int, rows: np.ndarray) -> np.ndarray:
        """Where a column is not missing, as far as its levels show, (rows.size,) bool."""
        codes, missing = self.codes(k, rows), self.levels[k].missing_code
        known = codes < self.levels.n_levels[k]
        return known if missing is None else known & (codes != missing)

    def codes(self, k: int, rows: np.ndarray) -> np.ndarray:
        """Codes of the levels, shape (rows.size,)."""
        codes: np.ndarray = self.coded.codes_at([k], slice(None) if rows.size == self.coded.n_rows else rows)[0]
        return codes

    def values(self, k: int, rows: np.ndarray) -> np.ndarray:
        """Numbers, NaN = missing, or codes of categories, -1 = missing, shape (rows.size,)."""
        table = self._table.select([k])
        column = (table.take(rows) if rows.size < table.n_rows else table).column(0)
        return column.numbers() if column.kind == "numeric" else column.categories().codes


def _copies_of_target(columns: _Columns) -> list[Caution]:
    """Columns with one value for each class where they are known, which is in most rows."""
    coded, levels = columns.coded, columns.levels
    assert coded.class_codes is not None
    names = []
    for k in np.flatnonzero((levels.n_levels - 1 <= coded.n_classes) & (levels.n_levels >= coded.n_classes)).tolist():
        if sum(sum(n > 0 for n in level) > 1 for level in columns.counts(k)) > 1:
            continue  # more levels of several classes than that of missing values
        has_level = columns.known(k, columns.most)
        known = columns.most[has_level]
        if 2 * known.size < columns.most.size:
            continue
        classes = pattern(coded.class_codes[known])
        if pattern(columns.codes(k, columns.most)[has_level]) == classes == pattern(columns.values(k, known)):
            names.append(coded.names[k])
    return about_columns(
        "target",
        names,
        "[Column|Columns] {} [has|have] one value for each class of the target, as a copy of it has: leave [it|them] "
        "out unless [it is|they are] known before the target is.",
    )


def _identifiers(columns: _Columns, marks: Mapping[str, str]) -> list[Caution]:
    """Columns that name rows, nearly every one of which has a value of its own. Numbers that say nothing of the classes
    do no harm and are not looked at.
    """
    names = [
        name
        for k, name in enumerate(columns.coded.names[: len(columns.levels)])
        if marks.get(name) in ("counter", "identifier") and _are_different(columns, k)
    ]
    return about_columns(
        "identifier",
        names,
        "[Column|Columns] {} [looks like an identifier|look like identifiers]: nearly every row has a value of its "
        "own, and new rows will have others. Leave [it|them] out.",
    )


def _are_different(columns: _Columns, k: int) -> bool:
    """Whether nearly all categories of a column are different, or informative numbers."""
    level = columns.levels[k]
    if level.groups is None:
        values = columns.values(k, columns.most) if level.n_levels > 1 else np.zeros(0)
        return bool(np.unique(values).size > _NEARLY_ALL * np.count_nonzero(~np.isnan(values)))
    n_values = sum(map(len, level.groups)) - (level.missing_code is not None)
    n_known = columns.rows.size if len(level.groups) == 1 else np.count_nonzero(columns.known(k, columns.rows))
    return bool(n_values >= _NEARLY_ALL * n_known)


def _copies(columns: _Columns, apart: set[str]) -> list[Caution]:
    """Columns that are copies of each other, also in other units or words, except those set ``apart``."""
    names = columns.coded.names
    groups = [[k for k in np.flatnonzero(columns.levels.n_levels > 1).tolist() if names[k] not in apart]]
    if columns.coded.weights is None:  # sums of weights may differ in the last digit
        groups = _split(groups, lambda k: repr(sorted(columns.counts(k))).encode())
    for rows in (columns.sample, columns.most):
        groups = _split(groups, lambda k, rows=rows: columns.partition(k, rows))  # type: ignore[misc]
        groups = _split(groups, lambda k, rows=rows: pattern(columns.values(k, rows)))  # type: ignore[misc]
    if columns.most.size < columns.rows.size:
        groups = _split(groups, lambda k: columns.partition(k, columns.rows))
    if not groups:
        return []
    copies = [tuple(names[k] for k in group) for group in groups]
    examples = "; ".join(named(group) for group in copies[:_MOST_GROUPS])
    more = f"; and {len(copies) - _MOST_GROUPS:,} more groups of columns" if len(copies) > _MOST_GROUPS else ""
    sentence = (
        f"Columns say the same in every row: {examples}{more}. Leave out all but one, or they share their weight."
    )
    return [Caution("copies", tuple(name for group in copies for name in group), sentence)]


def _split(groups: list[list[int]], key: Callable[[int], bytes]) -> list[list[int]]:
    """The groups split by a key, without groups of one."""
    parts = []
    for group in groups:
        of_key: dict[bytes, list[int]] = {}
        for k in group:
            of_key.setdefault(key(k), []).append(k)
        parts += [part for part in of_key.values() if len(part) > 1]
    return parts


def pattern(values: np.ndarray) -> bytes:
    """Bytes that are the same for columns that are copies of each other, also in another unit or under other names:
    which rows have the same value, where these are whole numbers that come often, else their order, up or down.
    """
    distinct, first, codes = np.unique(values, return_index=True, return_inverse=True)
    codes = codes.astype(np.int32)
    if _OFTEN * first.size <= values.size and np.all(distinct == np.floor(distinct)):
        rank = np.empty(first.size, dtype=np.int32)
        rank[np.argsort(first)] = np.arange(first.size, dtype=np.int32)
        return rank[codes].tobytes()
    return min(codes.tobytes(), (first.size - 1 - codes).astype(np.int32).tobytes())


def about_columns(kind: str, columns: Sequence[str], sentence: str) -> list[Caution]:
    """A caution about columns, if there are any; the sentence as `agreeing` takes it."""
    return [Caution(kind, tuple(columns), agreeing(columns, sentence))] if columns else []


def agreeing(columns: Sequence[str], sentence: str, most: int = 5) -> str:
    """A sentence about one column or several: each ``[one|several]`` says it of as many, and their names replace
    ``{}``.
    """
    words = re.sub(r"\[(.*?)\|(.*?)\]", r"\1" if len(columns) == 1 else r"\2", sentence)
    return words.replace("{}", named(columns, most))
