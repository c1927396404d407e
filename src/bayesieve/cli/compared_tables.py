"""Tables for `compare`: their names, and checks of their options before any is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bayesieve.cli import files
from bayesieve.cli.errors import CommandError
from bayesieve.cli.screen import Screen
from bayesieve.cli.text import counted, quoted, shown
from bayesieve.cli.training import Columns, TrainingTable, columns_of, require_columns, training_table


@dataclass
class ComparedTable:
    """A table to compare on with a number of folds, read when called for; `name` identifies it in results."""

    name: str
    path: Path
    columns: Columns
    folds: int
    frame: Any = None  # content of a stream, which cannot be read again
    was_read: bool = False

    def read(self, screen: Screen) -> tuple[Any, Any, Any]:
        """Features, labels and row weights; CommandError if they cannot be split into that many folds."""
        self.was_read = True
        frame = files.read_table(self.path, screen) if self.frame is None else self.frame
        data = training_table(frame, self.columns, self.path, screen)
        with files.locating(self.path, self.columns.target):
            data.check_kinds(self.columns.kinds)
        _check_classes(data, self.folds)
        return data.X, data.y, data.weights

    def __call__(self) -> tuple[Any, Any, Any]:
        """As `read`, perhaps while other tables are processed: messages name the file."""
        path = shown(self.path)
        try:
            return self.read(_Naming(quiet=True, name=path))
        except CommandError as error:
            text = str(error)
            raise ValueError(text if text.startswith(path) else f"{path}: {text}") from error


@dataclass(frozen=True)
class _Naming(Screen):
    """A screen whose warnings name the file."""

    name: str = ""

    def warn(self, text: str) -> None:
        super().warn(f"{self.name}: {text}")


def compared_tables(
    paths: Sequence[Path],
    targets: Sequence[str],
    weight: str | None,
    ignored: list[str],
    numeric: list[str],
    categorical: list[str],
    normalize: bool,
    folds: int,
) -> list[ComparedTable]:
    """The tables with their options, checked against the headers of all files.

    Ignored columns may be absent from some tables; the weight column and columns with a given kind must be in all.
    """
    from bayesieve.table.reading import is_stream, read_table

    if len(targets) not in (1, len(paths)):
        raise CommandError(
            f"--target is given {counted(len(targets), 'time')} for {counted(len(paths), 'table')}; give it once for "
            "all tables, or once per table, in the same order"
        )
    own_targets = list(targets) * len(paths) if len(targets) == 1 else list(targets)
    columns = [columns_of(target, weight, ignored, numeric, categorical, normalize) for target in own_targets]
    frames = {path: read_table(path) for path in paths if is_stream(path)}
    headers = [frames[path].columns if path in frames else files.header_of(path) for path in paths]
    for path, header, own in zip(paths, headers, columns, strict=True):
        require_columns(path, header, own, everywhere=len(paths) == 1)
    for name in ignored:
        if not any(name in header for header in headers):
            raise CommandError(f"None of the {len(paths)} tables has a column {quoted(name)} (--ignore)")
    return [
        ComparedTable(name, path, _of_header(own, header), folds, frames.get(path))
        for name, path, header, own in zip(table_names(paths, own_targets), paths, headers, columns, strict=True)
    ]


def table_names(paths: Sequence[Path], targets: Sequence[str]) -> list[str]:
    """Names of the tables: the file name without its extension, extended until it is unique.

    Examples
    --------
    >>> table_names([Path("old/heart.csv"), Path("new/heart.csv"), Path("iris.csv.gz")], ["y"] * 3)
    ['old/heart.csv', 'new/heart.csv', 'iris']
    """
    files = [Path(shown(path)).resolve() for path in paths]
    for place, path in enumerate(paths):
        if (files[place], targets[place]) in zip(files[:place], targets[:place], strict=True):
            raise CommandError(f"{shown(path)} is given twice with the target {quoted(targets[place])}; give it once")
    names = []
    for file, target in zip(files, targets, strict=True):
        others = {form for other in files if other != file for form in _forms(other)}
        name = next(form for form in _forms(file) if form not in others)
        names.append(name if files.count(file) == 1 else f"{name}, target {target}")
    return names


def _forms(file: Path) -> list[str]:
    """Names of a file, from the shortest to its whole path."""
    short = Path(file.stem).stem if file.suffix.lower() == ".gz" else file.stem
    return [short, *("/".join(file.parts[-n:]) for n in range(1, len(file.parts))), str(file)]


def _of_header(columns: Columns, header: Sequence[str]) -> Columns:
    """The options without ignored columns that the table lacks."""
    return replace(columns, ignored=tuple(name for name in columns.ignored if name in header))


def _check_classes(data: TrainingTable, folds: int) -> None:
    if lacking := data.too_few_classes():
        raise CommandError(f"Cross-validation needs {lacking}")
    largest = int(data.y.value_counts()["count"].max())  # type: ignore[arg-type]
    if folds > largest:
        raise CommandError(f"--folds must be at most the rows of the most frequent class ({largest}), got {folds}")
