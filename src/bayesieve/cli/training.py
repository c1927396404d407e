"""Training rows of a command, in memory or in files, and the roles of their columns.

A scan is a table in files that is read block by block. A row without a value in the target column is skipped with a
warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bayesieve.classifier.scoring import with_card
from bayesieve.cli.commands import CommandError, OptionValues, Screen
from bayesieve.cli.files import amounts_of, shown
from bayesieve.decision import BenefitRule
from bayesieve.discretize.table_coding import draw_from_scan
from bayesieve.evaluation.splits import read_moments
from bayesieve.scorecard.date_orders import in_date_orders
from bayesieve.table import as_table, as_target
from bayesieve.table.cautions import Caution, silenced
from bayesieve.table.columns import ValueInRow
from bayesieve.table.scanned import ScannedTable, scanned_rows
from bayesieve.table.scans import Scan
from bayesieve.table.target import Target
from bayesieve.words import did_you_mean, format_count, named, plural, quoted

_MOST_NUMERIC_CLASSES = 100
_FEWEST_ROWS_PER_CLASS = 2  # average number of rows per class below which the target counts as an identifier
_SMALL = 20  # number of classes up to which any number of rows is accepted
_MEASURED_ROWS = 50_000


@dataclass(frozen=True)
class Columns:
    """Roles of the columns of a table, set by options.

    Attributes
    ----------
    target, weight, time : names of the columns with classes, row weights and times; None if there is no such column.
    ignored : columns that are not used.
    ids : columns that identify rows in results.
    kinds : explicit kinds of columns by name, such as "numeric".
    normalize : whether weights are scaled to a mean of 1.
    """

    target: str
    weight: str | None
    ignored: tuple[str, ...]
    kinds: dict[str, str]
    normalize: bool
    time: str | None = None
    ids: tuple[str, ...] = ()

    @classmethod
    def of_options(cls, args: OptionValues, target: str) -> Columns:
        """Return the roles that the options of a command set. Raise CommandError if they contradict each other."""
        kinds = {"--numeric": args.numeric, "--categorical": args.categorical}
        roles = {"--target": [target], "--weight": [args.weight], "--time": [args.time]} | kinds
        roles |= {"--id": (ids := list(dict.fromkeys(getattr(args, "id", [])))), "--ignore": args.ignore}
        for (option, names), (other, others) in combinations(roles.items(), 2):
            both = [name for name in names if name is not None and name in others]
            if both and not (other == "--ignore" and option in (*kinds, "--time", "--id")):
                raise CommandError(f"Column {quoted(both[0])} cannot be both {option} and {other}; choose one")
        if args.normalize and args.weight is None:
            raise CommandError("--normalize scales row weights; name their column with --weight")
        of_kind = {name: option[2:] for option, names in kinds.items() for name in names if name not in args.ignore}
        return cls(target, args.weight, tuple(args.ignore), of_kind, args.normalize, args.time, tuple(ids))

    def within(self, names: Sequence[str]) -> Columns:
        """Return a copy whose ignored and identifier columns are restricted to ``names``."""
        ignored, ids = (tuple(name for name in role if name in names) for role in (self.ignored, self.ids))
        return replace(self, ignored=ignored, ids=ids)

    def require_in(self, path: Path, names: Sequence[str], everywhere: bool = True) -> None:
        """Raise CommandError if a table lacks a column with a role; the message suggests similar names.

        ``names`` are the columns of the table in ``path``. Ignored columns are required only if ``everywhere`` is True.
        """
        roles = [(self.target, "target"), (self.weight, "weight"), (self.time, "time"), *self.kinds.items()]
        roles += [(name, "ignore") for name in self.ignored if everywhere]
        roles += [(name, "id") for name in self.ids]
        for name, option in roles:
            if name is not None and name not in names:
                hint = did_you_mean(name, names) or f"it has {named(names)}"
                raise CommandError(f"{shown(path)} has no column {quoted(name)} (--{option}); {hint}")

    def features(self, path: Path, names: Sequence[str]) -> list[str]:
        """Return the columns without another role, which are the features. Raise CommandError if there are none.

        ``names`` are the columns of the table in ``path``.
        """
        self.require_in(path, names)
        others = {self.target, self.weight, self.time, *self.ids, *self.ignored}
        features = [name for name in names if name not in others]
        if not features:
            besides = named(sorted(filter(None, others)))
            raise CommandError(f"{shown(path)} has no columns besides {besides}; at least one feature is needed")
        return features


@dataclass(frozen=True)
class CommandRows:
    """Training rows with a known target, in memory or in files.

    Attributes
    ----------
    path : file or folder of the table.
    columns : roles of its columns.
    names : names of the features.
    rows : a dataframe with the rows whose target is known, or a scan of all rows.
    target : classes of the rows whose target is known.
    has_target : (n,) mask of the rows of the table with a known target; None if all are known.
    date_orders : for columns of dates whose texts prove the order, whether the day comes before the month.
    """

    path: Path
    columns: Columns
    names: list[str]
    rows: pl.DataFrame | Scan
    target: Target
    has_target: np.ndarray | None = None
    date_orders: Mapping[str, bool] = field(default_factory=dict)

    @classmethod
    def of(
        cls, rows: pl.DataFrame | Scan, columns: Columns, path: Path, screen: Screen, new: bool = False
    ) -> CommandRows:
        """Return the training rows of a table, after checking that the target column holds classes.

        ``rows`` are the rows of the file ``path``, in memory or as a scan. If ``new`` is True, the rows were not used
        for training and may have a single class.

        Raises
        ------
        CommandError
            If the target is a number or an identifier, or has a single class.
        """
        names, target = columns.features(path, rows.names if isinstance(rows, Scan) else rows.columns), columns.target
        dtype = rows.schema[target]
        if dtype.is_nested():
            kind = "structs" if dtype == pl.Struct else "lists"
            raise CommandError(
                f"The target {quoted(target)} contains {kind}; classes must be texts, booleans or whole numbers"
            )
        if isinstance(rows, Scan):
            with screen.working(f"Reading {quoted(target)} ..."), silenced():
                labels = scanned_rows(rows.select([target]), target)
            table = cls(path, columns, names, rows, labels.target, labels.table.row_mask)
        else:
            has_target = _has_target(rows[target].alias(""), quoted(target), screen)
            rows = rows if has_target is None else rows.filter(pl.Series(has_target))
            table = cls(path, columns, names, rows, _classes(rows[target].alias(""), quoted(target)), has_target)
            _ = table.moments  # raises an error for invalid times before the fit
        if not new:
            refuse_other_than_classes(table.target, quoted(target))
        return table

    @property
    def in_memory(self) -> bool:
        """Whether the rows are in memory."""
        return isinstance(self.rows, pl.DataFrame)

    @property
    def n_rows(self) -> int:
        """Number of rows with a known target."""
        return self.target.codes.size

    @property
    def frame(self) -> pl.DataFrame:
        """All columns of rows in memory."""
        assert isinstance(self.rows, pl.DataFrame)
        return self.rows

    @property
    def X(self) -> pl.DataFrame:
        """Feature columns of rows in memory."""
        return self.frame[self.names]

    @property
    def y(self) -> pl.Series:
        """Labels of rows in memory."""
        return self.frame[self.columns.target].alias("")

    @property
    def weights(self) -> pl.Series | None:
        """Row weights of rows in memory before scaling, or None."""
        return None if self.columns.weight is None else self.frame[self.columns.weight].alias("")

    @property
    def moments(self) -> Any:
        """Times of the rows in memory as numbers, or None. Raise ValueError, naming the column, for invalid times."""
        time = self.columns.time
        return None if time is None else read_moments(as_table(self.frame[[time]]).column(0))[0]

    @property
    def to_learn(self) -> pl.DataFrame | Scan:
        """Features, target and weights as a dataframe or a scan, to pass to ``fit``."""
        names = list(dict.fromkeys(filter(None, [*self.names, self.columns.target, self.columns.weight])))
        return self.rows.select(names) if isinstance(self.rows, Scan) else self.rows[names]

    def blocks(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield dataframes of the named columns, block by block, for the rows with a known target."""
        if isinstance(self.rows, Scan):
            yield from self._scanned(names).frames()
        else:
            yield self.rows[list(names)]

    def _scanned(self, names: Sequence[str]) -> ScannedTable:
        """Return the named columns of rows in files, restricted to rows with a known target."""
        assert isinstance(self.rows, Scan)
        return ScannedTable(self.rows.select(names), self.has_target)

    def fit(self, model: Any) -> Any:
        """Fit the model to all rows, and return it."""
        model.set_params(normalize=self.columns.normalize)
        with _numbered(self.has_target if self.in_memory else None):  # errors of scans already count all rows
            model.fit(self.to_learn, self.columns.target, self.columns.weight)
        if not self.date_orders:
            return model
        return with_card(model, in_date_orders(model.scorecard_, self.date_orders))

    def parted(self, start: str) -> tuple[CommandRows, CommandRows]:
        """Split the rows in memory by time. Return those before ``start``, a date or number as text, and those from it
        on. Raise CommandError if either part is empty.
        """
        name = str(self.columns.time)
        column, bound = (as_table(table).column(0) for table in (self.frame[[name]], pl.DataFrame({name: [start]})))
        moments, type_ = read_moments(column)
        try:
            later = np.asarray(moments >= (float(start) if type_ == "number" else bound.numbers(type_)[0]))
        except ValueError as error:
            kind = "a number" if type_ == "number" else f"a {type_} such as 2024-01-31"
            raise CommandError(f"--test-from must be {kind}, as {quoted(name)} holds, got {quoted(start)}") from error
        if not later.any() or later.all():
            which = "All" if later.any() else "No"
            raise CommandError(f"{which} rows have {quoted(name)} of at least {start}; choose another --test-from")
        before, after = self._where(~later), self._where(later)
        refuse_other_than_classes(before.target, f"{quoted(self.columns.target)} before {start}")
        return before, after

    def _where(self, mask: np.ndarray) -> CommandRows:
        """Return the rows in memory for which the mask (n_rows,) is True."""
        selected = np.ones(self.n_rows, dtype=bool) if self.has_target is None else self.has_target.copy()
        selected[selected] = mask
        rows = self.frame.filter(pl.Series(mask))
        return replace(self, rows=rows, target=as_target(rows[self.columns.target].alias("")), has_target=selected)

    def check_kinds(self) -> None:
        """Raise ValueInRow if a column in memory that is declared numeric contains a value that is not a number."""
        with _numbered(self.has_target):
            for name in [name for name, kind in self.columns.kinds.items() if kind == "numeric"]:
                as_table(self.frame[[name]], kinds={name: "numeric"}).column(0).numbers()

    def measured(self, model: Any) -> tuple[CommandRows, Any]:
        """Return the rows on which a report measures the model, and the model: all rows in memory, or a sample of
        up to `_MEASURED_ROWS` rows of files.

        If the sample does not contain all rows of the files, the model is returned as a copy with a caution about the
        sample; otherwise it is returned as it is.
        """
        if not isinstance(self.rows, Scan):
            return self, model
        columns = self.columns
        amount = getattr(model.benefit_rule_, "amount", None)
        names = list(dict.fromkeys(filter(None, [*self.names, amount, columns.weight, columns.time, columns.target])))
        weights = None
        if columns.weight is not None:
            weights = pl.concat(list(self.blocks([columns.weight]))).to_series().to_numpy()
        drawn = draw_from_scan(self._scanned(self.names), self.target, weights, _MEASURED_ROWS)
        if drawn.size < self.n_rows:
            sentence = (
                f"Performance was measured on models fitted to {format_count(drawn.size)} rows drawn at random from "
                f"{format_count(self.n_rows)}; the model itself is fitted to all of them."
            )
            model = with_card(model, model.scorecard_, [Caution("sample", (), sentence, warns=False)])
        frame = self._scanned(names).frame(drawn)
        target = replace(self.target, codes=self.target.codes[drawn])
        return CommandRows(self.path, columns, self.names, frame, target), model

    def rule_in(self, file: Path | None) -> BenefitRule | None:
        """Return the benefit rule in a file; None if ``file`` is None.

        Raise CommandError if the column of amounts that the rule needs is missing or not numeric, and ValueInRow for a
        row without an amount.
        """
        rule = None if file is None else BenefitRule.read(file, self.target.classes)
        if rule is None or rule.amount is None:
            return rule
        amounts_of(rule, pl.DataFrame(schema=self.rows.schema), self.path)
        first = 0
        with _numbered(self.has_target):
            for frame in self.blocks([rule.amount]):
                amounts_of(rule, frame, self.path, first)
                first += frame.height
        return rule

    def too_few_classes(self) -> str:
        """Return in words what the rows in memory lack for cross-validation, if a fold would have only one class;
        otherwise an empty text.
        """
        rows = self.y.value_counts(sort=True)
        lone = rows.filter(rows["count"] == 1).to_series(0).to_list()
        if not lone or rows.height - len(lone) >= 2:
            return ""
        have = "has" if len(lone) == 1 else "have"
        return f"at least two classes with two rows each; {named(lone)} {have} only one"


@contextmanager
def _numbered(has_target: np.ndarray | None) -> Iterator[None]:
    """Convert the row numbers in errors of the block of this context, which count only rows with a target, to those of
    the whole table.

    ``has_target`` (n_rows,) is a mask of the rows with a target, or None.
    """
    try:
        yield
    except ValueInRow as error:
        if has_target is None:
            raise
        raise error.in_row(int(np.flatnonzero(has_target)[error.row])) from error


def _has_target(labels: pl.Series, name: str, screen: Screen) -> np.ndarray | None:
    """Return a mask (n_rows,) of the rows with a known label in ``labels``; None if all are known. Warn if some are
    unknown, and raise CommandError if all are.

    ``name`` is the target column in quotes.
    """
    has_target = (labels.fill_nan(None) if labels.dtype.is_float() else labels).is_not_null()
    if not has_target.any():
        raise CommandError(f"The target {name} is missing in all rows; check its name")
    if has_target.all():
        return None
    rows = f"{plural(has_target.len() - int(has_target.sum()), 'row')} of {format_count(has_target.len())}"
    screen.warn(f"The target {name} is missing in {rows}, which were skipped")
    return has_target.to_numpy()


def _classes(labels: pl.Series, name: str) -> Target:
    """Return the labels as a `Target`. Raise CommandError if they are not classes."""
    try:
        return as_target(labels)
    except ValueError as error:
        raise CommandError(f"The target {name} does not contain classes: {error}") from error


def refuse_other_than_classes(target: Target, name: str) -> None:
    """Raise CommandError if the target has only one class, or if its labels look like numbers or identifiers."""
    classes, n_classes, n_rows = target.classes, target.n_classes, target.codes.size
    wrong = ""
    if n_classes == 1:
        wrong = f"has only one class ({quoted(classes[0])}); at least two are needed"
    elif classes.dtype.kind in "iuf" and n_classes > _MOST_NUMERIC_CLASSES:
        wrong = (
            f"contains {format_count(n_classes)} different numbers, more than the {_MOST_NUMERIC_CLASSES} that are "
            "accepted as classes; group them into classes first, or choose another column"
        )
    elif n_classes > _SMALL and n_classes * _FEWEST_ROWS_PER_CLASS > n_rows:
        wrong = (
            f"has {format_count(n_classes)} different values in {plural(n_rows, 'row')}, so it looks like an "
            "identifier, not like classes; choose another column"
        )
    if wrong:
        raise CommandError(f"The target {name} {wrong}")
