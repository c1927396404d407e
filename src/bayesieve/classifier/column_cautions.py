"""Cautions about the raw columns of a fit: copies, numbers written as text, identifiers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from bayesieve.classifier.special_codes import StandingOut, standing_out
from bayesieve.counts import CodedTable
from bayesieve.discretize import TableEncoder
from bayesieve.table import Table
from bayesieve.table.cautions import Caution, about_columns
from bayesieve.table.levels import TableLevels
from bayesieve.table.text_forms import TextForm, form_of
from bayesieve.table.values import canonical_text
from bayesieve.words import listed, named, quoted_text

_NEARLY_ALL = 0.9  # of the rows have a unique value in a column that looks like an identifier
_MAX_OTHERS = 5  # values that a caution names
_LONGEST_LIST = 400  # characters
_SAMPLES = (1000, 5000)  # rows in which columns are compared, value by value, as long as they look alike
_OFTEN = 20  # rows a value, from which the rows that share a value show a copy: repeated rows share all values
_MAX_GROUPS = 3
_CELLS_AT_ONCE = 1 << 22  # searched for codes


def column_cautions(coded: CodedTable, encoder: TableEncoder) -> list[Caution]:
    """Return cautions about the raw columns that ``encoder`` has coded."""
    assert coded.recoder is not None
    table: Table = coded.recoder.table
    kinds = encoder.kinds if encoder.rules_ is None else encoder.rules_.kinds(encoder.kinds)
    every = np.arange(coded.n_rows, dtype=np.min_scalar_type(coded.n_rows))
    rows = every if coded.weights is None else np.flatnonzero(coded.weights > 0)
    columns = _Columns(table, rows, coded, TableLevels.of(encoder.levels_).replaced(pairs=()))
    target = _copies_of_target(columns)
    as_categories = {name for name, kind in (kinds or {}).items() if kind == "categorical"}
    texts = _numbers_as_text(columns.levels, as_categories)
    return [
        *target,
        *texts,
        *_identifiers(columns, encoder.marks_, {c.columns[0] for c in texts}),
        *_copies(columns, {name for caution in target for name in caution.columns}),
        *_codes(columns, encoder),
    ]


class _Columns:
    """Raw columns of the rows that count, with their codes."""

    def __init__(self, table: Table, rows: np.ndarray, coded: CodedTable, levels: TableLevels) -> None:
        self.rows, self.coded, self.levels = rows, coded, levels
        self.table = table
        self.small_sample, self.large_sample = map(coded.drawn, _SAMPLES)

    def partition(self, k: int, rows: np.ndarray) -> bytes:
        """Return bytes that identify which rows share a level."""
        codes = self.codes(k, rows)
        return (codes != codes[0]).tobytes() if self.levels.n_levels[k] == 2 else pattern(codes)

    def known(self, k: int, rows: np.ndarray) -> np.ndarray:
        """Return whether a column is not missing, as far as its levels show, (rows.size,) bool."""
        codes, missing = self.codes(k, rows), self.levels[k].missing_code
        has_value = codes < self.levels.n_levels[k]
        return has_value if missing is None else has_value & (codes != missing)

    def codes(self, k: int, rows: np.ndarray) -> np.ndarray:
        """Return codes of the levels, shape (rows.size,)."""
        return np.asarray(self.coded.codes_at([k], slice(None) if rows.size == self.coded.n_rows else rows)[0])

    @property
    def rows_at_hand(self) -> np.ndarray:
        """The rows that count, of a table in files the larger sample of them."""
        return self.large_sample if self.table.reads_rows else self.rows

    def values(self, k: int, rows: np.ndarray) -> np.ndarray:
        """Return numbers, NaN = missing, or codes of categories, -1 = missing, shape (rows.size,)."""
        table = self.table.select([k])
        column = (table.take(rows) if rows.size < table.n_rows else table).column(0)
        return column.numbers() if column.kind == "numeric" else column.categories().codes


def _copies_of_target(columns: _Columns) -> list[Caution]:
    """Return columns that are known in most rows and have one value for each class."""
    coded, levels = columns.coded, columns.levels
    assert coded.class_codes is not None
    names = []
    for k in np.flatnonzero((levels.n_levels - 1 <= coded.n_classes) & (levels.n_levels >= coded.n_classes)).tolist():
        counts = np.asarray(levels.class_counts(k))
        if np.count_nonzero(np.count_nonzero(counts > 0, axis=1) > 1) > 1:
            continue  # more levels of several classes than that of missing values
        has_level = columns.known(k, columns.large_sample)
        rows = columns.large_sample[has_level]
        if 2 * rows.size < columns.large_sample.size:
            continue
        classes = pattern(coded.class_codes[rows])
        if pattern(columns.codes(k, columns.large_sample)[has_level]) == classes == pattern(columns.values(k, rows)):
            names.append(coded.names[k])
    return about_columns(
        "target",
        names,
        "[Column|Columns] {} [has|have] one value for each class of the target, as a copy of it has: leave [it|them] "
        "out unless [it is|they are] known before the target is.",
    )


def _numbers_as_text(levels: TableLevels, as_categories: Collection[str]) -> list[Caution]:
    """Return columns that are read as text, although nearly all of their values are numbers or dates.

    Parameters
    ----------
    as_categories : names of columns that the user asks to read as categories.
    """
    cautions = []
    for level in levels.created:
        if level.groups is None or level.type not in ("text", "mixed") or level.name in as_categories:
            continue
        form = form_of([canonical_text(value) for group in level.groups for value in group if value is not None])
        if form is not None:
            cautions.append(Caution("numbers as text", (level.name,), _form_sentence(level.name, form)))
    return cautions


def _form_sentence(name: str, form: TextForm) -> str:
    others, numeric = (
        listed([*map(quoted_text, form.others)], _MAX_OTHERS),
        f"TableEncoder(kinds={{{name!r}: 'numeric'}})",
    )
    if form.kind == "number" and not form.others:
        return (
            f"Column {name!r} is read as text, but its values are numbers, except marks of missing ones. Read it as "
            f"numbers: --numeric {name} ({numeric})."
        )
    if form.kind == "number":
        none = "is no number" if len(form.others) == 1 else "are no numbers"
        them = "it" if len(form.others) == 1 else "them"
        listing = f"{form.others}"  # of all of them, as the rest must be numbers
        if len(listing) > _LONGEST_LIST:
            listing = f"a list of all {len(form.others):,}"
        return (
            f"Column {name!r} is read as text: {len(form.others):,} of its {form.n_texts:,} different values {none}, "
            f"{others}. Give {them} a level, special: {listing} in levels= or --levels, which reads the rest as "
            f"numbers; or correct {them}: --numeric {name} ({numeric}) names the line of what is left."
        )
    reasons = [f"{others} {'is' if len(form.others) == 1 else 'are'} no {form.kind.split()[-1]}"] if form.others else []
    if form.kind == "formatted number":
        return (
            f"Column {name!r} is read as text: its numbers have thousands separators, decimal commas, or signs of "
            f"percent or currency, such as {form.example!r}{', and ' + reasons[0] if reasons else ''}. Write them as "
            "1234.5, or read the column as categorical."
        )
    if form.kind == "date" and form.is_ordered and not reasons:
        return (
            f"Column {name!r} is read as text, but it holds dates such as {form.example!r}. Convert it to dates before "
            "the fit, or fit the file, where dates of this form are recognised."
        )
    if form.kind == "short date":
        reasons.insert(0, "their years have two digits")
    if not form.is_ordered:
        reasons.insert(0, "the values do not prove one order of day and month")
    return (
        f"Column {name!r} is read as text: it holds dates such as {form.example!r}, but {' and '.join(reasons)}. Write "
        "dates as 2024-12-31."
    )


def _identifiers(columns: _Columns, marks: Mapping[str, str], others: Collection[str]) -> list[Caution]:
    """Return columns that name rows: nearly every row has a unique value. Uninformative numbers are harmless and are
    skipped.
    """
    names = [
        name
        for k, name in enumerate(columns.coded.names[: len(columns.levels)])
        if marks.get(name) in ("counter", "identifier") and name not in others and _are_different(columns, k)
    ]
    return about_columns(
        "identifier",
        names,
        "[Column|Columns] {} [looks like an identifier|look like identifiers]: nearly every row has a value of its "
        "own, and new rows will have others. Leave [it|them] out.",
    )


def _are_different(columns: _Columns, k: int) -> bool:
    """Return whether nearly all categories of a column are different, or informative numbers."""
    level = columns.levels[k]
    if level.groups is None:
        values = columns.values(k, columns.large_sample) if level.n_levels > 1 else np.zeros(0)
        return bool(np.unique(values).size > _NEARLY_ALL * np.count_nonzero(~np.isnan(values)))
    n_values = sum(map(len, level.groups)) - (level.missing_code is not None)
    n_known = columns.rows.size if len(level.groups) == 1 else np.count_nonzero(columns.known(k, columns.rows))
    return bool(n_values >= _NEARLY_ALL * n_known)


def _copies(columns: _Columns, apart: set[str]) -> list[Caution]:
    """Return cautions about columns that are copies of each other, also in other units or words; skip ``apart``."""
    names = columns.coded.names
    groups = [[k for k in np.flatnonzero(columns.levels.n_levels > 1).tolist() if names[k] not in apart]]
    if columns.coded.weights is None:  # sums of weights may differ in the last digit
        groups = _split(groups, lambda k: repr(sorted(np.asarray(columns.levels.class_counts(k)).tolist())).encode())
    for rows in (columns.small_sample, columns.large_sample):
        groups = _split(groups, lambda k, rows=rows: columns.partition(k, rows))  # type: ignore[misc]
        groups = _split(groups, lambda k, rows=rows: pattern(columns.values(k, rows)))  # type: ignore[misc]
    if columns.large_sample.size < columns.rows.size:
        groups = _split(groups, lambda k: columns.partition(k, columns.rows))
    if not groups:
        return []
    copies = [tuple(names[k] for k in group) for group in groups]
    examples = "; ".join(named(group) for group in copies[:_MAX_GROUPS])
    more = f"; and {len(copies) - _MAX_GROUPS:,} more groups of columns" if len(copies) > _MAX_GROUPS else ""
    sentence = (
        f"Columns say the same in every row: {examples}{more}. Leave out all but one, or they share their weight."
    )
    return [Caution("copies", tuple(name for group in copies for name in group), sentence)]


def _codes(columns: _Columns, encoder: TableEncoder) -> list[Caution]:
    """Return numbers that look like codes. Marked and excluded columns, and columns with special values or cuts by
    hand, are skipped.
    """
    rules, names = {} if encoder.rules_ is None else encoder.rules_.rules, columns.coded.names
    settled = {name for name, rule in rules.items() if rule.exclude or rule.special or rule.cuts is not None}
    settled |= set(encoder.marks_)
    numeric = [k for k in np.flatnonzero(columns.levels.is_numeric).tolist() if names[k] not in settled]
    at_once, codes_by_column = max(1, _CELLS_AT_ONCE // max(1, columns.large_sample.size)), dict[int, StandingOut]()
    for first in range(0, len(numeric), at_once):
        some = np.array(numeric[first : first + at_once])
        sample = columns.table.select(some.tolist()).take(columns.large_sample)
        numbers = np.asarray(sample.numbers(np.arange(some.size)))
        codes_by_column |= {int(some[i]): out for i, out in standing_out(numbers).items()}
    return [_code_caution(columns, k, out, encoder.positive) for k, out in codes_by_column.items()]


def _code_caution(columns: _Columns, k: int, out: StandingOut, positive: Any) -> Caution:
    rows, coded = columns.rows_at_hand, columns.coded
    inside = np.isin(columns.values(k, rows), out.codes)
    weights = np.ones(rows.size) if coded.weights is None else np.asarray(coded.weights)[rows]
    classes, labels = np.asarray(coded.class_codes)[rows], np.asarray(coded.classes).tolist()
    shares = [
        np.bincount(classes[chosen], weights[chosen], len(labels)) / max(weights[chosen].sum(), np.finfo(float).tiny)
        for chosen in (inside, ~inside)
    ]
    j = int(np.abs(shares[0] - shares[1]).argmax()) if positive not in labels else labels.index(positive)
    j = 1 if len(labels) == 2 and positive not in labels else j
    name, codes = coded.names[k], [*map(canonical_text, out.codes)]
    share, here, there = (100 * part for part in (weights[inside].sum() / weights.sum(), shares[0][j], shares[1][j]))
    return Caution(
        "special code",
        (name,),
        f"Column {name!r} is {listed(codes, _MAX_OTHERS)} in {share:.1f} % of the rows, far from its other values "
        f"({out.low:.6g} to {out.high:.6g}); class {canonical_text(labels[j])} has {here:.1f} % of these rows and "
        f"{there:.1f} % of the others. If that is a code, give it a level: special: [{', '.join(codes)}] in levels= or "
        "--levels.",
    )


def _split(groups: list[list[int]], key: Callable[[int], bytes]) -> list[list[int]]:
    """Return the groups split by a key, without groups of one."""
    parts = []
    for group in groups:
        of_key: dict[bytes, list[int]] = {}
        for k in group:
            of_key.setdefault(key(k), []).append(k)
        parts += [part for part in of_key.values() if len(part) > 1]
    return parts


def pattern(values: np.ndarray) -> bytes:
    """Return bytes that are equal for columns that are copies of each other, also in another unit or under other names.
    They describe which rows share a value, or, for numbers without frequent values, the order of the rows.
    """
    distinct, first, codes = np.unique(values, return_index=True, return_inverse=True)
    codes = codes.astype(np.int32)
    if _OFTEN * first.size <= values.size and np.all(distinct == np.floor(distinct)):
        rank = np.empty(first.size, dtype=np.int32)
        rank[np.argsort(first)] = np.arange(first.size, dtype=np.int32)
        return rank[codes].tobytes()
    return min(codes.tobytes(), (first.size - 1 - codes).astype(np.int32).tobytes())
