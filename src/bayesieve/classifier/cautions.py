"""Cautions of a fit: suspicious properties of the training rows, of columns, and of the model."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from bayesieve.classifier.fit_steps import TrainingRows
from bayesieve.classifier.plan import FitPlan
from bayesieve.counts import CodedTable
from bayesieve.counts.contingency import Shrinkage
from bayesieve.discretize import TableEncoder
from bayesieve.discretize.refitting import LevelRefitter
from bayesieve.evidence.monotone import rising_cells
from bayesieve.scorecard import Scorecard
from bayesieve.search import SearchTrace
from bayesieve.table import FeatureLevels, Table
from bayesieve.table.cautions import Caution, weights_caution
from bayesieve.table.levels import TableLevels
from bayesieve.table.pair_levels import PairLevels
from bayesieve.table.scanned import ScannedTable
from bayesieve.table.target import as_sample_weight
from bayesieve.table.text_forms import TextForm, form_of
from bayesieve.table.values import HIGHEST_SPECIAL, canonical_text
from bayesieve.words import agreeing, listed, named, quoted_text

# Limits for cautions about the model and the order of the rows.
_SUSPICIOUS_SCORE = 0.95
_FEWEST_ROWS_PER_CLASS = 10
_FEWEST_ROWS_OF_LEVEL = 10
_SMALL_SHARE = 0.01
_SLIGHT, _LARGE = (
    0.1,
    0.2,
)  # association of classes and row order (Cramér's V) that is reported, and that raises a warning
_MUCH_ALIKE = 0.3  # kappa of the classes of consecutive rows that raises a warning
_RUNS_PER_CLASS = 10  # largest number of runs per class in a table that counts as sorted by class
_NEIGHBOURS_ALIKE = 0.8  # smallest kappa of consecutive rows in such a table
_MAX_DRIFTING = 10  # columns that are tested for drift, the most important ones
_ORDERED_ROWS = 20_000  # rows of the sample for this test
_FEWEST_NATS = 3.0  # nats that the opposite sign must save for a caution: odds of 20 to 1
_BLOCKS = 20  # blocks of consecutive rows whose shares are compared
_FEWEST_IN_BLOCK = 25
_SURELY, _DEVIATIONS = 1e-5, 5.0  # p-value, and standard deviations of shuffled rows; no false alarm in 1,000 tables
_FEWEST_EXPECTED = 5  # expected rows in each block, required by the chi-squared approximation
_FEWEST_OTHERS = 50  # rows outside the most frequent class, required to compare consecutive rows

# Limits for cautions about raw columns.
_NEARLY_ALL = 0.9  # share of rows with a unique value from which a column looks like an identifier
_MAX_OTHERS = 5  # values that a caution names
_LONGEST_LIST = 400  # characters of a list in a caution
_SAMPLES = (1000, 5000)  # rows of the samples on which columns are compared before all rows are
_OFTEN = 20  # rows per value from which equal patterns show a copy; below, repeated rows may cause them
_MAX_GROUPS = 3
_CELLS_AT_ONCE = 1 << 22  # rows x columns that are searched for codes at once

# Limits for numbers that look like codes of missing or special values.
_FEWEST_ROWS_OF_CODE = 10  # smallest number of rows with a code in the sample
_LEAST_SHARE, _LEAST_SHARE_OF_ANY = 0.002, 0.01  # smallest share of rows: numbers such as 999, and any other number
_MAX_SHARE = 0.5
_FEWEST_VALUES, _FEWEST_VALUES_OF_ANY = 3, 10  # smallest number of distinct other values
_GAP, _GAP_OF_ANY = 0.25, 1.0  # smallest gap to the other values, as a multiple of their range
_MAX_CODES = 4  # largest number of codes at one end of a column
_CODE_TEXT = re.compile(r"-[789]|-?(9{2,}|8{2,}|7{2,}|9+[5678])")


def fit_cautions(
    rows: TrainingRows,
    coded: CodedTable,
    refitter: LevelRefitter | None,
    plan: FitPlan,
    encoder: Any,
    card: Scorecard,
    trace: SearchTrace,
) -> tuple[Caution, ...]:
    """Return the cautions of a fit: about rows and columns, about the model, and about the order of the rows.

    Parameters
    ----------
    rows, coded : training rows as they were read, and as codes, in the same order or grouped by class as
        ``coded.rows.runs`` describes.
    refitter : refitter of the levels, which holds the raw values; None for indicators.
    plan, encoder : options of the fit, and the fitted encoder.
    card, trace : the fitted model, and the trace of its search.
    """
    weights = as_sample_weight(rows.weights, coded.n_rows)
    cautions = [] if weights is None else [weights_caution(weights)]
    if plan.executor is not None and not (isinstance(rows.table, ScannedTable) and isinstance(encoder, TableEncoder)):
        sentence = (
            "The executor passed as engine is not used: it only reads files, with a TableEncoder as encoder. Pass "
            "bayesieve.scan(files) instead of a table in memory, or omit engine."
        )
        cautions.append(Caution("engine", (), sentence))
    if refitter is not None:
        cautions += [*encoder.cautions_, *column_cautions(coded, refitter.table, encoder, card.positive)]
    of_model = model_cautions(card, trace, encoder.marks_, cautions)
    return (*of_model, *order_cautions(coded, card, encoder.marks_))


def column_cautions(coded: CodedTable, table: Table, encoder: TableEncoder, positive: int | None) -> list[Caution]:
    """Return cautions about the raw columns of coded rows, such as copies of the target, identifiers and special codes.

    Parameters
    ----------
    coded : codes of the rows, with classes and weights.
    table : raw values of the same rows.
    encoder : the fitted encoder.
    positive : position of the class whose shares the texts state; None for the class whose shares differ most.
    """
    kinds = encoder.kinds if encoder.rules_ is None else encoder.rules_.kinds(encoder.kinds)
    every = np.arange(coded.n_rows, dtype=np.min_scalar_type(coded.n_rows))
    positions = every if coded.weights is None else np.flatnonzero(coded.weights > 0)
    levels = encoder.levels_.replaced(pairs=())
    small_sample, large_sample = map(coded.sampler.draw, _SAMPLES)
    columns = _Columns(table, positions, coded, levels, small_sample, large_sample)
    target = _copies_of_target(columns)
    as_categories = {name for name, kind in (kinds or {}).items() if kind == "categorical"}
    texts = _numbers_as_text(columns.levels, as_categories)
    return [
        *target,
        *texts,
        *_identifiers(columns, encoder.marks_, {c.columns[0] for c in texts}),
        *_copies(columns, {name for caution in target for name in caution.columns}),
        *_code_cautions(columns, encoder, positive),
    ]


@dataclass(frozen=True, eq=False)
class _Columns:
    """Raw columns of the training rows with positive weight, together with their codes.

    Parameters
    ----------
    table, positions : raw columns, and positions of the rows with positive weight.
    coded, levels : codes of all rows, and the levels to which codes refer.
    small_sample, large_sample : positions of rows in two random samples.
    """

    table: Table
    positions: np.ndarray
    coded: CodedTable
    levels: TableLevels
    small_sample: np.ndarray
    large_sample: np.ndarray

    def partition(self, k: int, positions: np.ndarray) -> bytes:
        """Return bytes that are equal for two columns if their levels divide the rows at ``positions`` in the same way.
        ``k`` is the position of the column.
        """
        codes = self.codes(k, positions)
        return (codes != codes[0]).tobytes() if self.levels.n_levels[k] == 2 else pattern(codes)

    def known(self, k: int, positions: np.ndarray) -> np.ndarray:
        """Return a mask, shape (len(positions),), of the rows at ``positions`` whose value in column k is neither
        missing nor unseen.
        """
        codes, missing = self.codes(k, positions), self.levels[k].missing_code
        has_value = codes < self.levels.n_levels[k]
        return has_value if missing is None else has_value & (codes != missing)

    def codes(self, k: int, positions: np.ndarray) -> np.ndarray:
        """Return the codes of column k in the rows at ``positions``, shape (len(positions),)."""
        is_whole = positions.size == self.coded.n_rows
        return np.asarray(self.coded.codes_at([k], slice(None) if is_whole else positions)[0])

    @property
    def positions_at_hand(self) -> np.ndarray:
        """Positions of the rows with positive weight that are in memory, shape (n,); for a table in files, those of the
        larger sample.
        """
        return self.large_sample if self.table.reads_rows else self.positions

    def values(self, k: int, positions: np.ndarray) -> np.ndarray:
        """Return the values of column k in the rows at ``positions``, shape (len(positions),): numbers (NaN if
        missing), or codes of categories (-1 if missing).
        """
        table = self.table.select([k])
        column = (table.take(positions) if positions.size < table.n_rows else table).column(0)
        return column.numbers() if column.kind == "numeric" else column.categories().codes


def _copies_of_target(columns: _Columns) -> list[Caution]:
    """Return cautions about columns that are copies of the target: two rows with a known value have equal values if and
    only if they have equal classes.
    """
    coded, levels = columns.coded, columns.levels
    assert coded.class_codes is not None
    names = []
    for k in np.flatnonzero((levels.n_levels - 1 <= coded.n_classes) & (levels.n_levels >= coded.n_classes)).tolist():
        counts = np.asarray(levels.class_counts(k))
        if np.count_nonzero(np.count_nonzero(counts > 0, axis=1) > 1) > 1:
            continue  # not a copy: several levels besides that of missing values contain more than one class
        has_level = columns.known(k, columns.large_sample)
        positions = columns.large_sample[has_level]
        if 2 * positions.size < columns.large_sample.size:
            continue
        classes = pattern(coded.class_codes[positions])
        of_levels = pattern(columns.codes(k, columns.large_sample)[has_level])
        if of_levels == classes and pattern(columns.values(k, positions)) == classes:
            names.append(coded.names[k])
    return _caution_of(
        "target",
        names,
        "[Column|Columns] {} [has|have] one value for each class, like a copy of the target. Exclude [it|them] from "
        "the fit, unless [it is|they are] known before the class is.",
    )


def _caution_of(kind: str, columns: Sequence[str], sentence: str) -> list[Caution]:
    """Return a list of one caution of the kind ``kind`` about columns, or an empty list if there are no columns.

    ``sentence`` is a template; `agreeing` fills in the column names and chooses singular or plural.
    """
    return [Caution(kind, tuple(columns), agreeing(columns, sentence))] if columns else []


def _numbers_as_text(levels: TableLevels, as_categories: Collection[str]) -> list[Caution]:
    """Return cautions about text columns in which nearly all values are numbers or dates.

    Parameters
    ----------
    levels : levels of the columns.
    as_categories : names of the columns that the user declared categorical, which are skipped.
    """
    cautions = []
    for level in levels.created.values():
        if level.groups is None or level.type not in ("text", "mixed") or level.name in as_categories:
            continue
        form = form_of([canonical_text(value) for group in level.groups for value in group if value is not None])
        if form is not None:
            cautions.append(Caution("numbers as text", (level.name,), _form_sentence(level.name, form)))
    return cautions


def _form_sentence(name: str, form: TextForm) -> str:
    """Return the text of a caution about the text column ``name``, whose values, described by ``form``, are numbers or
    dates.
    """
    others, numeric = (
        listed([*map(quoted_text, form.others)], _MAX_OTHERS),
        f"TableEncoder(kinds={{{name!r}: 'numeric'}})",
    )
    if form.kind == "number" and not form.others:
        return (
            f"Column {name!r} is read as text, but its values are numbers, except those that mark missing values. Read "
            f"it as numbers: --numeric {name} ({numeric})."
        )
    if form.kind == "number":
        none = "is no number" if len(form.others) == 1 else "are no numbers"
        them = "it" if len(form.others) == 1 else "them"
        listing = f"{form.others}"  # lists all other values, because the remaining ones are numbers
        if len(listing) > _LONGEST_LIST:
            listing = f"a list of all {len(form.others):,}"
        return (
            f"Column {name!r} is read as text: {len(form.others):,} of its {form.n_texts:,} different values {none}, "
            f"{others}. To read the other values as numbers, declare {them} as special values: special: {listing} in "
            f"levels= or --levels. Otherwise correct {them}; --numeric {name} ({numeric}) then reports the line of any "
            "value that is not a number."
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
            f"Column {name!r} is read as text, but it contains dates such as {form.example!r}. Convert it to dates "
            "before the fit, or fit the file itself, because dates of this form are recognised in files."
        )
    if form.kind == "short date":
        reasons.insert(0, "their years have two digits")
    if not form.is_ordered:
        reasons.insert(0, "the values do not prove one order of day and month")
    return (
        f"Column {name!r} is read as text: it contains dates such as {form.example!r}, but {' and '.join(reasons)}. "
        "Write dates as 2024-12-31."
    )


def _identifiers(columns: _Columns, marks: Mapping[str, str], others: Collection[str]) -> list[Caution]:
    """Return cautions about columns that identify rows: nearly every row has a different value.

    ``marks`` maps names of columns to "identifier", "counter" or "date". Columns of numbers without information on the
    classes are harmless and skipped, as are the columns named in ``others``.
    """
    names = [
        name
        for k, name in enumerate(columns.coded.names[: len(columns.levels)])
        if marks.get(name) in ("counter", "identifier") and name not in others and _are_different(columns, k)
    ]
    return _caution_of(
        "identifier",
        names,
        "[Column|Columns] {} [looks like an identifier|look like identifiers]: nearly every row has a different value, "
        "and new rows will have others. Exclude [it|them] from the fit.",
    )


def _are_different(columns: _Columns, k: int) -> bool:
    """Return whether nearly all categories of column k, or nearly all numbers of it if it is informative, occur only
    once.
    """
    level = columns.levels[k]
    if level.groups is None:
        values = columns.values(k, columns.large_sample) if level.n_levels > 1 else np.zeros(0)
        return bool(np.unique(values).size > _NEARLY_ALL * np.count_nonzero(~np.isnan(values)))
    n_values = sum(map(len, level.groups)) - (level.missing_code is not None)
    positions = columns.positions
    n_known = positions.size if len(level.groups) == 1 else np.count_nonzero(columns.known(k, positions))
    return bool(n_values >= _NEARLY_ALL * n_known)


def _copies(columns: _Columns, skipped: set[str]) -> list[Caution]:
    """Return cautions about columns that are copies of each other, even in other units or with other category names.
    Columns in ``skipped`` are ignored.
    """
    names = columns.coded.names
    groups = [[k for k in np.flatnonzero(columns.levels.n_levels > 1).tolist() if names[k] not in skipped]]
    if columns.coded.weights is None:  # with weights, rounding errors of sums hide equal counts
        groups = _split_groups(
            groups, lambda k: repr(sorted(np.asarray(columns.levels.class_counts(k)).tolist())).encode()
        )
    for sample in (columns.small_sample, columns.large_sample):
        groups = _split_groups(groups, lambda k, sample=sample: columns.partition(k, sample))  # type: ignore[misc]
        groups = _split_groups(groups, lambda k, sample=sample: pattern(columns.values(k, sample)))  # type: ignore[misc]
    if columns.large_sample.size < columns.positions.size:
        groups = _split_groups(groups, lambda k: columns.partition(k, columns.positions))
    if not groups:
        return []
    copies = [tuple(names[k] for k in group) for group in groups]
    examples = "; ".join(named(group) for group in copies[:_MAX_GROUPS])
    more = f"; and {len(copies) - _MAX_GROUPS:,} more groups of columns" if len(copies) > _MAX_GROUPS else ""
    sentence = (
        f"Columns contain the same information in every row: {examples}{more}. Keep one column of each group, because "
        "otherwise their weight is divided among them."
    )
    return [Caution("copies", tuple(name for group in copies for name in group), sentence)]


def _code_cautions(columns: _Columns, encoder: TableEncoder, positive: int | None) -> list[Caution]:
    """Return cautions about numbers that look like special codes, such as 999 for unknown. ``positive`` is documented
    in `column_cautions`.

    Columns that are marked or excluded, or have special values or cuts by hand, are skipped.
    """
    rules, names = {} if encoder.rules_ is None else encoder.rules_.rules, columns.coded.names
    settled = {name for name, rule in rules.items() if rule.exclude or rule.special or rule.cuts is not None}
    settled |= set(encoder.marks_)
    numeric = [k for k in np.flatnonzero(columns.levels.is_numeric).tolist() if names[k] not in settled]
    at_once, codes_by_column = max(1, _CELLS_AT_ONCE // max(1, columns.large_sample.size)), dict[int, StandingOut]()
    for first in range(0, len(numeric), at_once):
        batch = np.array(numeric[first : first + at_once])
        sample = columns.table.select(batch.tolist()).take(columns.large_sample)
        numbers = np.asarray(sample.numbers(np.arange(batch.size)))
        codes_by_column |= {int(batch[i]): out for i, out in standing_out(numbers).items()}
    return [_code_caution(columns, k, out, positive) for k, out in codes_by_column.items()]


def _code_caution(columns: _Columns, k: int, out: StandingOut, positive: int | None) -> Caution:
    """Return the caution about numbers of column k that look like codes of missing or special values.

    ``out`` holds these numbers and the range of the others. The text compares shares of the class at position
    ``positive``; None chooses the class whose shares differ most.
    """
    positions, coded = columns.positions_at_hand, columns.coded
    inside = np.isin(columns.values(k, positions), out.codes)
    weights = np.ones(positions.size) if coded.weights is None else np.asarray(coded.weights)[positions]
    classes, labels = np.asarray(coded.class_codes)[positions], np.asarray(coded.classes).tolist()
    shares = [
        np.bincount(classes[chosen], weights[chosen], len(labels)) / max(weights[chosen].sum(), np.finfo(float).tiny)
        for chosen in (inside, ~inside)
    ]
    j = int(np.abs(shares[0] - shares[1]).argmax()) if positive is None else positive
    name, codes = coded.names[k], [*map(canonical_text, out.codes)]
    share, here, there = (100 * part for part in (weights[inside].sum() / weights.sum(), shares[0][j], shares[1][j]))
    return Caution(
        "special code",
        (name,),
        f"Column {name!r} is {listed(codes, _MAX_OTHERS)} in {share:.1f} % of the rows, far from its other values "
        f"({out.low:.6g} to {out.high:.6g}); class {canonical_text(labels[j])} has {here:.1f} % of these rows and "
        f"{there:.1f} % of the others. If it is a code, declare it: special: [{', '.join(codes)}] in levels= or "
        "--levels.",
    )


def _split_groups(groups: list[list[int]], key: Callable[[int], bytes]) -> list[list[int]]:
    """Split each group of columns (positions) into columns with equal ``key``, a function of the position. Groups with
    one member are dropped.
    """
    parts = []
    for group in groups:
        of_key: dict[bytes, list[int]] = {}
        for k in group:
            of_key.setdefault(key(k), []).append(k)
        parts += [part for part in of_key.values() if len(part) > 1]
    return parts


def pattern(values: np.ndarray) -> bytes:
    """Return bytes that are equal for columns that are copies of each other, even in other units or with other category
    names.

    ``values`` (n_rows,) are the numbers or category codes of a column. The bytes describe which rows share a value or,
    for numbers that rarely repeat, the order of the rows by the column.
    """
    distinct, first, codes = np.unique(values, return_index=True, return_inverse=True)
    codes = codes.astype(np.int32)
    if _OFTEN * first.size <= values.size and np.all(distinct == np.floor(distinct)):
        rank = np.empty(first.size, dtype=np.int32)
        rank[np.argsort(first)] = np.arange(first.size, dtype=np.int32)
        return rank[codes].tobytes()
    return min(codes.tobytes(), (first.size - 1 - codes).astype(np.int32).tobytes())


class StandingOut(NamedTuple):
    """Numbers of a column that look like special codes, and the range (low, high) of its other numbers."""

    codes: tuple[float, ...]
    low: float
    high: float


def standing_out(values: np.ndarray) -> dict[int, StandingOut]:
    """Find the numbers at either end of each column that look like special codes.

    A code is frequent and far from all other numbers. For numbers of only nines, eights or sevens (or such as 97 and
    998), it is enough if the gap is a quarter of the range of the other numbers, or if the number is the only negative
    one. Other numbers need a gap as wide as that range. Long tails have gaps as well, but no number is frequent there.

    Parameters
    ----------
    values : (n_columns, n_rows) numbers; NaN is missing, and special values are read as numbers below all others.

    Returns
    -------
    dict
        `StandingOut` of each column with such numbers, by position of the column.
    """
    is_number = values > HIGHEST_SPECIAL
    n_numbers = is_number.sum(axis=1)
    low = np.where(is_number, values, np.inf).min(axis=1, initial=np.inf)
    high = np.where(is_number, values, -np.inf).max(axis=1, initial=-np.inf)
    often = np.maximum(_FEWEST_ROWS_OF_CODE, _LEAST_SHARE * n_numbers)
    ends = [(values == end[:, None]).sum(axis=1) >= often for end in (low, high)]
    codes_by_column = {}
    for k in np.flatnonzero((ends[0] | ends[1]) & (low < high)).tolist():
        numbers, counts = np.unique(values[k, is_number[k]], return_counts=True)
        codes = [*_codes_at_end(numbers, counts, 1), *_codes_at_end(numbers, counts, -1)]
        others = numbers[~np.isin(numbers, codes)]
        if codes and others.size:
            codes_by_column[k] = StandingOut(tuple(sorted(map(float, codes))), float(others[0]), float(others[-1]))
    return codes_by_column


def _codes_at_end(numbers: np.ndarray, counts: np.ndarray, end: int) -> list[float]:
    """Return the numbers that look like special codes at one end of a column: the upper one if ``end`` is 1, the lower
    one if it is -1.

    ``numbers`` (n_values,) are the ascending distinct numbers of the column, and ``counts`` (n_values,) their rows.
    """
    if end < 0:
        numbers, counts = numbers[::-1], counts[::-1]
    n_rows = counts.sum()
    for n in range(1, min(_MAX_CODES, numbers.size - 2) + 1):
        codes, others, row_counts = numbers[-n:], numbers[:-n], counts[-n:]
        if row_counts.min() < _FEWEST_ROWS_OF_CODE or row_counts.sum() > _MAX_SHARE * n_rows:
            return []
        gap, width = abs(codes[0] - others[-1]), abs(others[-1] - others[0])
        is_negative = end < 0 and codes[0] < 0 <= others[-1]
        is_far = gap >= _GAP * width or is_negative
        is_often = others.size >= _FEWEST_VALUES and row_counts.sum() >= _LEAST_SHARE * n_rows
        if is_far and is_often and all(map(_looks_like_code, codes.tolist())):
            return [*map(float, codes)]
        is_alone = n == 1 and gap >= _GAP_OF_ANY * width and others.size >= _FEWEST_VALUES_OF_ANY
        if is_alone and row_counts.sum() >= _LEAST_SHARE_OF_ANY * n_rows:
            return [float(codes[0])]
    return []


def _looks_like_code(number: float) -> bool:
    """Return whether a number is a usual code of missing values, such as 999 or -9."""
    return float(number).is_integer() and _CODE_TEXT.fullmatch(str(int(number))) is not None


def model_cautions(
    card: Scorecard, trace: SearchTrace, marks: Mapping[str, str], table_cautions: Sequence[Caution | None] = ()
) -> tuple[Caution, ...]:
    """Return the cautions that follow from a model alone, together with ``table_cautions``, those about its training
    table.

    ``marks`` maps names of columns to their marks ("identifier", "counter" or "date"), as in `TableEncoder.marks_`.
    """
    about_table = [caution for caution in table_cautions if caution is not None]
    cautions = [*about_table, *_about_features(card, trace), *_about_columns(card, marks, about_table)]
    cautions += _about_levels(card)

    if not trace.complete:
        sentence = (
            f"The search was stopped early, after {trace.n_models:,} models; with more time (max_seconds) it may find "
            "better weights."
        )
        cautions.append(Caution("search", (), sentence, warns=False))

    counts = card.class_counts
    shares = counts / counts.sum()
    rare = [str(label) for label, n in zip(card.classes, counts, strict=True) if n < _FEWEST_ROWS_PER_CLASS]
    if rare:
        classes = f"class {', '.join(rare[:5])}" + (" and others" if len(rare) > 5 else "")
        sentence = (
            f"There are fewer than {_FEWEST_ROWS_PER_CLASS} training rows of {classes}, so that its probabilities are "
            "uncertain; add rows of it."
        )
        cautions.append(Caution("classes", (), sentence, warns=False))
    elif shares.min() < _SMALL_SHARE:
        sentence = (
            f"Class {card.classes[int(shares.argmin())]} has only {100 * shares.min():.2f} % of the rows: "
            "judge the model by AUC rather than by accuracy."
        )
        cautions.append(Caution("classes", (), sentence, warns=False))
    return tuple(cautions)


def _about_features(card: Scorecard, trace: SearchTrace) -> list[Caution]:
    """Return cautions about features that are not in the model, and about signs that the rows contradict."""
    cautions = []
    if not card.used.size:
        remedy = "Check that target and columns belong to the same rows, or add rows."
        if not trace.complete:
            remedy = "The search was stopped early; give it more time."
        sentence = f"No feature is in the model: it predicts the class shares for every row. {remedy}"
        cautions.append(Caution("nothing kept", (), sentence))

    # The user has described these columns and may expect them in the model. Those with a single level cannot be in it.
    by_hand = card.provenance.get("by_hand", ())
    used = {name for k in card.used.tolist() for name in card.features[k].columns} if by_hand else set()
    cautions += _caution_of(
        "dropped",
        [name for name in by_hand if name not in used and card[name].levels.n_levels > 1],
        "[Column|Columns] {}, whose levels you set, [is|are] not in the model, because the search dropped [it|them]. "
        "To keep [it|them], add include: true to [its entry|their entries] in levels.",
    )

    # Columns for which the rows support the opposite sign: with the given sign, their contributions become constant.
    for level, sign in ((feature.levels, feature.sign) for feature in card.features if feature.sign):
        if level.n_levels == 1:
            continue
        with_sign, opposite = (monotone_gain(np.asarray(level.counts), level, one) for one in (sign, -sign))
        if opposite <= with_sign + _FEWEST_NATS or opposite <= 2 * with_sign:
            continue
        required, (other, positive) = card.side * sign, card.classes.tolist()[:: card.side]
        forbidden, observed = ("fall", "falls") if required > 0 else ("rise", "rises")
        sentence = (
            f"The rows contradict monotone={{{level.name!r}: {required:+d}}}: contributions to class {positive!s}, the "
            f"positive one, must not {forbidden} with {level.name!r}, but the share of this class {observed} with it. "
            f"The column therefore contributes little or nothing. Reverse the sign if you meant class {other!s}; "
            "otherwise omit the sign."
        )
        cautions.append(Caution("monotone", (level.name,), sentence))
    return cautions


def _about_columns(card: Scorecard, marks: Mapping[str, str], about_table: Sequence[Caution]) -> list[Caution]:
    """Return cautions about columns of the model that will differ in new rows, such as identifiers, counters and dates.

    ``marks`` maps names of columns to these kinds. Columns for which there already is a caution in ``about_table`` are
    skipped.
    """
    explained = ("target", "identifier", "numbers as text")
    named = {name for caution in about_table if caution.kind in explained for name in caution.columns}
    used = _used_columns(card)
    cautions = _caution_of(
        "identifier",
        [one.name for one in used if marks.get(one.name) in ("counter", "identifier") and one.name not in named],
        "[Column|Columns] {} [looks like an identifier|look like identifiers] that the model uses: new rows will have "
        "other values. Exclude [it|them] from the fit.",
    )

    # Dates: new rows are later than all training rows, and fall into the last interval.
    types = ("date", "datetime")
    cautions += _caution_of(
        "dates",
        [one.name for one in used if marks.get(one.name) == "date" or (one.kind == "numeric" and one.type in types)],
        "[Column|Columns] {} [contains|contain] dates. Their last interval includes the future, so that later rows are "
        "predicted like the last training rows. Use the time since an event instead, or exclude dates.",
    )

    # Columns that separate the classes perfectly: they are rarely known before the target is.
    targets = {name for caution in about_table if caution.kind == "target" for name in caution.columns}
    for level in (feature.levels for feature in card.features if feature.levels.level_score > _SUSPICIOUS_SCORE):
        if level.name in targets:
            continue
        sentence = (
            f"Feature {level.name} almost separates the classes by itself (level score {level.level_score:.3f} of 1). "
            "Make sure that its values are known before the class is."
        )
        pure = bool(np.all(np.count_nonzero(np.asarray(level.counts), axis=1) <= 1))
        cautions.append(Caution("separates the classes", (level.name,), sentence, warns=pure))
    return cautions


def _about_levels(card: Scorecard) -> list[Caution]:
    """Return cautions about levels without training rows, or with few rows of a single class."""
    levels, cautions = [card.features[k].levels for k in card.used.tolist()], []
    smoothing = card.provenance["smoothing"]
    if not isinstance(smoothing, Shrinkage):  # with shrinkage, levels without rows contribute 0
        empty = [(one, k) for one in levels for k in np.flatnonzero(np.asarray(one.counts).sum(axis=1) == 0).tolist()]
        if empty:
            sentence = (
                f"{_level_texts(empty)} no training rows. With smoothing={smoothing!r}, such levels favour the rare "
                "classes. Merge them with other levels, or fit with calibrate='auto' and smoothing='m-estimate', "
                "so that they contribute nothing."
            )
            cautions.append(
                Caution("levels without rows", tuple(dict.fromkeys(one.name for one, _ in empty)), sentence)
            )

    rare = []
    for level in levels:
        if isinstance(level, PairLevels) and level.level_score == 0:  # surfaces have cells but no levels
            continue
        counts = np.asarray(level.counts)
        row_counts, pure = counts.sum(axis=1), np.count_nonzero(counts, axis=1) == 1
        rare += [(level, k) for k in np.flatnonzero(pure & (row_counts < _FEWEST_ROWS_OF_LEVEL)).tolist()]
    if rare:
        sentence = (
            f"{_level_texts(rare)} fewer than {_FEWEST_ROWS_OF_LEVEL} training rows, all of a single class, so that "
            "their contributions are uncertain. Merge them with others (levels=, or edit().merge), unless you have a "
            "reason to keep them."
        )
        cautions.append(
            Caution("rare levels", tuple(dict.fromkeys(one.name for one, _ in rare)), sentence, warns=False)
        )
    return cautions


def _level_texts(levels: Sequence[tuple[FeatureLevels, int]]) -> str:
    """Return the start of a sentence that names levels, given as pairs of a column's levels and a code."""
    names = [f"{level.labels[k]!r} of {level.name!r}" for level, k in levels]
    return f"Level {names[0]} has" if len(names) == 1 else f"Levels {listed(names)} have"


def monotone_gain(counts: np.ndarray, levels: FeatureLevels, sign: int) -> float:
    """Return the nats that monotone class shares over the intervals of a column save, compared with equal shares in all
    rows.

    The share of the second class must not fall (``sign`` 1) or not rise (-1) with increasing values; ``counts`` has
    shape (n_levels, 2).
    """
    from sklearn.isotonic import isotonic_regression

    row_counts = np.asarray(counts, dtype=np.float64)[rising_cells(levels, sign)]
    total, second = row_counts.sum(axis=1), row_counts[:, 1]
    if not 0 < second.sum() < total.sum():
        return 0.0
    there = total > 0
    shares = isotonic_regression(second[there] / total[there], sample_weight=total[there])
    saved = xlogy(second[there], shares) + xlogy(row_counts[there, 0], 1.0 - shares)
    share = second.sum() / total.sum()
    return float(saved.sum() - xlogy(second.sum(), share) - xlogy(row_counts[:, 0].sum(), 1.0 - share))


def _used_columns(card: Scorecard) -> list[FeatureLevels]:
    """Return the levels of the columns that the model uses, alone or in pairs."""
    names = {column.name for k in card.used.tolist() for column in card.features[k].levels.by_column}
    return [feature.levels for feature in card.features if feature.levels.name in names]


def order_cautions(coded: CodedTable, card: Scorecard, marks: Mapping[str, str]) -> list[Caution]:
    """Return a list with at most one caution about the order of the rows.

    Its kind is "class order" if rows are sorted by class. It is "order" if the order or a column of dates is
    informative about the classes, or if level shares of important features drift along the rows.

    Parameters
    ----------
    coded : training rows in their original order, or grouped by class as ``rows.runs`` describes.
    card : the fitted model.
    marks : marks of columns by name, as in `TableEncoder.marks_`.
    """
    dated = [feature.levels for feature in card.features if marks.get(feature.levels.name) == "date"]
    drift, name = max(((association(np.asarray(level.counts)), level.name) for level in dated), default=(0.0, ""))
    if drift >= _SLIGHT:
        sentence = f"The shares of the classes change with the dates of column {name!r} (Cramér's V {drift:.2f}). "
        sentence += _LATER + _REMEDY.format(f", time={name!r}", f" {name}")
        return [Caution("order", (name,), sentence, drift >= _LARGE)]

    # Restore the original order of the rows with positive weight.
    classes, runs, weights = coded.class_codes, coded.rows.runs, coded.weights
    codes = np.asarray(classes if runs is None else runs.codes)
    if weights is not None and not np.all(weights):
        codes = codes[np.sort(coded.rows.in_source(np.flatnonzero(weights)))]
    alike, blocks = likeness_of_neighbours(codes), in_blocks(codes)
    if alike >= _NEIGHBOURS_ALIKE and n_runs(codes) <= _RUNS_PER_CLASS * card.classes.size:
        return [Caution("class order", (), _BY_CLASS, warns=False)]

    drift, (drifting, sorted_by) = association(blocks), _drifting(coded, card, marks)
    signs = []
    if drift >= _SLIGHT:
        shares = blocks / blocks.sum(axis=1, keepdims=True)
        low, high = shares.min(axis=0), shares.max(axis=0)
        j = int((high - low).argmax()) if card.positive is None else card.positive
        signs.append(
            f"the share of class {card.classes[j]!s} is between {100 * low[j]:.0f} and {100 * high[j]:.0f} % in "
            f"{len(blocks)} stretches of the rows (Cramér's V {drift:.2f})"
        )
    if alike >= _SLIGHT:
        of_same = 100 * float(np.mean(codes[1:] == codes[:-1]))
        signs.append(f"{of_same:.0f} % of the rows are of the class of the row before (kappa {alike:.2f})")
    if drifting and (signs or not sorted_by):
        signs.append(agreeing(drifting, "values of [column|columns] {} drift along them"))
    if not signs:
        return []
    first = agreeing(sorted_by, "The rows are sorted by [column|columns] {}: ") if sorted_by else _INFORMATIVE
    then = "If this is the order of time, " if sorted_by else _LATER
    sentence = f"{first}{'; '.join(signs)}. {then}{_REMEDY.format('', ' COLUMN')}"
    return [Caution("order", tuple(sorted_by or drifting), sentence, drift >= _LARGE or alike >= _MUCH_ALIKE)]


_BY_CLASS = "The rows are sorted by class, not by time. Measure the model on folds of shuffled rows."
_INFORMATIVE, _LATER = "The order of the rows is informative: ", "If the model is to predict later rows, "
_REMEDY = 'shuffled folds measure it too favourably: use cv="time"{0}, or --time{1} on the command line.'


def _drifting(coded: CodedTable, card: Scorecard, marks: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the names of important columns whose level shares drift along the rows, and of the columns by which rows
    are sorted. Columns that are dates by ``marks`` are skipped.
    """
    columns = {level.name for level in _used_columns(card)}
    first = [(-feature.importance, k) for k, feature in enumerate(card.features) if feature.levels.name in columns]
    sample, drifting, sorted_by = coded.sampler.draw(_ORDERED_ROWS), list[str](), list[str]()
    order = np.argsort(coded.rows.in_source(sample))
    for _, k in sorted(first)[:_MAX_DRIFTING]:
        name, codes = card.features[k].levels.name, coded.codes_at([k], sample)[0][order].astype(np.int64)
        if association(in_blocks(codes)) >= _LARGE and marks.get(name) != "date":
            (sorted_by if n_runs(codes) == np.unique(codes).size else drifting).append(name)
    return drifting, sorted_by


def in_blocks(codes: np.ndarray) -> np.ndarray:
    """Return the number of rows by code in up to 20 blocks of consecutive rows, shape (n_blocks, n_codes). ``codes``
    (n_rows,) are integers from 0.
    """
    n_blocks = max(1, min(_BLOCKS, codes.size // _FEWEST_IN_BLOCK))
    ends = np.arange(n_blocks + 1) * codes.size // n_blocks
    n_codes = int(codes.max(initial=0)) + 1
    return np.array([np.bincount(codes[i:j], minlength=n_codes) for i, j in pairwise(ends)])


def association(counts: np.ndarray) -> float:
    """Return how much the column shares differ between the rows of a contingency table, as Cramér's V from 0 to 1.

    ``counts`` is the table, shape (n_blocks, n_codes). The result is the largest V of one column against all others,
    minus the amount expected by chance, and 0 if chance may explain it. Columns with small counts are skipped.
    """
    from scipy.special import chdtrc

    counts = counts[:, counts.sum(axis=0) >= _FEWEST_EXPECTED * len(counts)]
    counts = counts[counts.sum(axis=1) > 0].astype(np.float64)
    n_lines, n_columns = counts.shape
    if min(n_lines, n_columns) < 2:
        return 0.0
    n_rows, total = counts.sum(), counts.sum(axis=0)
    expected = np.outer(counts.sum(axis=1), total) / n_rows
    chi = ((counts - expected) ** 2 / expected).sum(axis=0)
    strength = (chi / (1 - total / n_rows)).max() - (n_lines - 1)
    is_sure = chdtrc((n_lines - 1) * (n_columns - 1), chi.sum()) < _SURELY
    return float(np.sqrt(max(0.0, strength) / n_rows)) if is_sure else 0.0


def likeness_of_neighbours(codes: np.ndarray) -> float:
    """Return Cohen's kappa of the classes of consecutive rows: how much more often they agree than in shuffled rows. It
    is 0 if chance may explain the agreement.

    ``codes`` (n_rows,) are the class codes.
    """
    counts, n_rows = np.bincount(codes).astype(np.float64), codes.size
    if n_rows - counts.max() < _FEWEST_OTHERS:
        return 0.0
    by_chance = float(counts @ (counts - 1)) / (n_rows * (n_rows - 1))
    excess = float(np.mean(codes[1:] == codes[:-1])) - by_chance
    is_sure = excess > _DEVIATIONS * np.sqrt(by_chance * (1 - by_chance) / (n_rows - 1))
    return excess / (1 - by_chance) if is_sure else 0.0


def n_runs(codes: np.ndarray) -> int:
    """Return the number of runs of equal consecutive entries in ``codes`` (n_rows,)."""
    return 1 + int(np.count_nonzero(codes[1:] != codes[:-1]))
