"""Training data for the classifier from a table and the options of `fit`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesieve.cli.benefit import amounts_of, benefit_rule
from bayesieve.cli.errors import CommandError
from bayesieve.cli.screen import Screen
from bayesieve.cli.text import counted, listed, quoted, shown, similar, thousands

if TYPE_CHECKING:
    import polars as pl

    from bayesieve.decision.benefit_rule import BenefitRule

_MOST_NUMERIC_CLASSES = 100
_FEWEST_ROWS_PER_CLASS = 2  # on average; a text column with fewer is an identifier
_SMALL = 20  # classes up to which any number of rows is accepted


@dataclass(frozen=True)
class Columns:
    """Roles of the columns: target, row weights, ignored columns, and explicit kinds."""

    target: str
    weight: str | None
    ignored: tuple[str, ...]
    kinds: dict[str, str]
    normalize: bool = False


@dataclass(frozen=True)
class TrainingTable:
    """Features, labels (a series without a name) and row weights of the rows whose target is known."""

    X: pl.DataFrame
    y: pl.Series
    weights: Any
    frame: pl.DataFrame  # the same rows with all columns
    positions: pl.Series | None = None  # of these rows in the table

    @property
    def names(self) -> list[str]:
        """The features."""
        return self.X.columns

    @property
    def n_rows(self) -> int:
        return self.X.height

    def fit(self, model: Any) -> None:
        """Fit the model to all rows."""
        with self._numbered():
            model.fit(self.X, self.y, self.weights)

    def check_kinds(self, kinds: Mapping[str, str]) -> None:
        """ValueInRow if a column that is to be read as numbers holds something else."""
        from bayesieve.table import as_table

        numeric = [name for name, kind in kinds.items() if kind == "numeric" and name in self.names]
        with self._numbered():
            for name in numeric:
                as_table(self.X[[name]], kinds={name: "numeric"}).column(0).numbers()

    @contextmanager
    def _numbered(self) -> Iterator[None]:
        """Rows in errors are those of the table."""
        from bayesieve.table.columns import ValueInRow

        try:
            yield
        except ValueInRow as error:
            if self.positions is None:
                raise
            raise error.in_row(int(self.positions[error.row])) from error

    def measured(self, model: Any) -> TrainingTable:
        """The rows that a report measures."""
        return self

    def rule_in(self, path: Path | None, table: Path) -> BenefitRule | None:
        """The benefits in a file; CommandError unless every row has an amount."""
        from bayesieve.table import as_target

        rule = benefit_rule(path, as_target(self.y).classes)
        if rule is not None:
            with self._numbered():
                amounts_of(rule, self.frame, table)
        return rule

    def too_few_classes(self) -> str:
        """Why a fold may have only one class, empty if two classes have several rows."""
        rows = self.y.value_counts(sort=True)
        lone = rows.filter(rows["count"] == 1).to_series(0).to_list()
        if not lone or rows.height - len(lone) >= 2:
            return ""
        have = "has" if len(lone) == 1 else "have"
        return f"at least two classes with two rows each; {listed(lone)} {have} only one"


def columns_of(
    target: str,
    weight: str | None,
    ignored: list[str],
    numeric: list[str],
    categorical: list[str],
    normalize: bool = False,
) -> Columns:
    """The options that name columns, checked against each other."""
    both = [name for name in numeric if name in categorical]
    if both:
        raise CommandError(f"Column {quoted(both[0])} is given as --numeric and as --categorical; choose one")
    if weight == target:
        raise CommandError(f"Column {quoted(target)} cannot be both --target and --weight")
    for name, option in ((target, "--target"), (weight, "--weight")):
        for others, other in ((ignored, "--ignore"), (numeric, "--numeric"), (categorical, "--categorical")):
            if name in others:
                raise CommandError(f"Column {quoted(name)} cannot be both {option} and {other}")
    if normalize and weight is None:
        raise CommandError("--normalize scales row weights; name their column by --weight")
    kinds = dict.fromkeys(numeric, "numeric") | dict.fromkeys(categorical, "categorical")
    return Columns(
        target, weight, tuple(ignored), {name: kind for name, kind in kinds.items() if name not in ignored}, normalize
    )


def require_columns(path: Path, names: Sequence[str], columns: Columns, everywhere: bool = True) -> None:
    """Raise CommandError if a table lacks a column, and suggest columns with similar names.

    Ignored columns are required only if ``everywhere``.
    """
    for name, option in (
        (columns.target, "--target"),
        *(((columns.weight, "--weight"),) if columns.weight is not None else ()),
        *((name, "--ignore") for name in columns.ignored if everywhere),
        *((name, f"--{kind}") for name, kind in columns.kinds.items()),
    ):
        if name not in names:
            meant = similar(name, names)
            close = f"did you mean {' or '.join(map(quoted, meant))}?"
            hint = close if meant else f"it has {listed(names)}"
            raise CommandError(f"{shown(path)} has no column {quoted(name)} ({option}); {hint}")


def training_table(frame: pl.DataFrame, columns: Columns, path: Path, screen: Screen) -> TrainingTable:
    """Split a table into features, target and weights; CommandError if the target does not hold classes."""
    require_columns(path, frame.columns, columns)
    known = _known_labels(frame, columns.target, screen)
    frame, positions = frame.filter(known), known.arg_true()
    y = frame[columns.target].alias("")  # polars takes the names * and ^...$ for patterns
    refuse_other_than_classes(y, quoted(columns.target), len(y))
    left_out = {columns.target, columns.weight, *columns.ignored}
    names = [name for name in frame.columns if name not in left_out]
    if not names:
        others = listed(sorted(filter(None, left_out)))
        raise CommandError(f"{shown(path)} has no column left to learn from besides {others}")
    X = frame[names]
    if columns.weight is None:
        return TrainingTable(X, y, None, frame, positions)
    from bayesieve.table.target import normalized_weights

    weights = _weights(frame[columns.weight].alias(""), quoted(columns.weight))
    return TrainingTable(X, y, normalized_weights(weights) if columns.normalize else weights, frame, positions)


def _known_labels(frame: pl.DataFrame, target: str, screen: Screen) -> pl.Series:
    """Which rows have a target, (n_rows,) bool."""
    labels = frame[target].alias("")
    known = labels.is_not_null()
    if labels.dtype.is_float():
        known &= labels.is_not_nan().fill_null(False)
    dropped = frame.height - int(known.sum())
    if dropped == frame.height:
        raise CommandError(f"The target {quoted(target)} is missing in all rows")
    if dropped:
        rows = f"{counted(dropped, 'row')} of {thousands(frame.height)}"
        screen.warn(f"The target {quoted(target)} is missing in {rows}, which are left out")
    return known


def refuse_other_than_classes(y: pl.Series, name: str, n_rows: int) -> None:
    """CommandError unless the labels, or the distinct ones of so many rows, are classes."""
    import polars as pl

    kind, n_classes = y.dtype, y.n_unique()
    if n_classes == 1:
        raise CommandError(f"The target {name} has only one class ({quoted(y[0])}); at least two are needed")
    if kind.is_float() and not (y.is_finite().all() and (y == y.round()).all()):
        raise CommandError(f"The target {name} holds continuous numbers, not classes; cut it into classes first")
    if kind.is_numeric() and n_classes > _MOST_NUMERIC_CLASSES:
        raise CommandError(
            f"The target {name} holds {thousands(n_classes)} different numbers, more than the {_MOST_NUMERIC_CLASSES} "
            "that may be classes; cut it into classes first"
        )
    if kind.is_temporal() or kind.is_nested() or kind == pl.Object:
        raise CommandError(f"The target {name} holds {_called(kind)}, not classes; choose another column")
    if n_classes > _SMALL and n_classes * _FEWEST_ROWS_PER_CLASS > n_rows:
        raise CommandError(
            f"The target {name} has {thousands(n_classes)} different values in {counted(n_rows, 'row')}: it is an "
            "identifier, not a class; choose another column"
        )


def _called(kind: pl.DataType) -> str:
    if not kind.is_temporal():
        return "lists or structures"
    return {"Date": "dates", "Datetime": "dates", "Duration": "durations"}.get(type(kind).__name__, "times")


def _weights(column: pl.Series, name: str) -> Any:
    if not column.dtype.is_numeric():
        raise CommandError(f"The --weight column {name} does not hold numbers")
    values = column.cast(float)
    bad = ~(values.is_finite() & (values >= 0)).fill_null(False)
    if bad.any():
        first = values[int(bad.arg_true()[0])]
        what = "a missing value" if first is None else f"the value {first:g}"
        raise CommandError(f"The --weight column {name} holds {what}; weights must be numbers of at least 0")
    if not values.sum() > 0:
        raise CommandError(f"The --weight column {name} holds only zeros")
    return values.to_numpy()
