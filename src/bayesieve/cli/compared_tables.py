"""The tables that `compare` is given: what they are called, and their options checked before any is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bayesieve.cli import files
from bayesieve.cli.errors import CommandError
from bayesieve.cli.screen import Screen
from bayesieve.cli.text import counted, listed, quoted, shown
from bayesieve.cli.training import Columns, TrainingTable, columns_of, require_columns, training_table


@dataclass(frozen=True)
class ComparedTable:
    """A table to compare on, not read yet; `name` is what results call it."""

    name: str
    path: Path
    columns: Columns
    frame: Any = None  # of a stream, which cannot be read again

    def read(self, folds: int, screen: Screen) -> tuple[Any, Any, Any]:
        """Features, labels and row weights, or a CommandError where they cannot be cut into so many folds."""
        frame = files.read_table(self.path, screen) if self.frame is None else self.frame
        data = training_table(frame, self.columns, self.path, screen)
        _check_classes(data, folds)
        return data.X, data.y, data.weights


class LateTable:
    """A table that is read when it is called, while others may be under way: what is said of it names its file."""

    def __init__(self, table: ComparedTable, folds: int) -> None:
        self.was_read = False
        self._table, self._folds = table, folds

    def __call__(self) -> tuple[Any, Any, Any]:
        self.was_read = True
        path = shown(self._table.path)
        try:
            return self._table.read(self._folds, _Naming(quiet=True, name=path))
        except CommandError as error:
            text = str(error)
            raise ValueError(text if text.startswith(path) else f"{path}: {text}") from error


@dataclass(frozen=True)
class _Naming(Screen):
    """Warnings with the file that they are about."""

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
    normalize: bool = False,
) -> list[ComparedTable]:
    """The tables with their options, checked against the headers of all files.

    A column to leave out need not be in every table; row weights, and columns whose kind is given, must be.
    """
    from bayesieve.table.reading import is_stream, read_header, read_table

    if len(targets) not in (1, len(paths)):
        raise CommandError(
            f"--target is given {counted(len(targets), 'time')} for {counted(len(paths), 'table')}; give it once for "
            "all tables, or once for each of them in their order"
        )
    own_targets = list(targets) * len(paths) if len(targets) == 1 else list(targets)
    columns = [columns_of(target, weight, ignored, numeric, categorical, normalize) for target in own_targets]
    frames = {path: read_table(path) for path in paths if is_stream(path)}
    headers = [frames[path].columns if path in frames else read_header(path) for path in paths]
    for path, header, own in zip(paths, headers, columns, strict=True):
        require_columns(path, header, own, everywhere=len(paths) == 1)
    for name in ignored:
        if not any(name in header for header in headers):
            raise CommandError(f"None of the {len(paths)} tables has a column {quoted(name)} (--ignore)")
    found = zip(table_names(paths, own_targets), paths, headers, columns, strict=True)
    return [ComparedTable(name, path, _of_header(own, header), frames.get(path)) for name, path, header, own in found]


def table_names(paths: Sequence[Path], targets: Sequence[str]) -> list[str]:
    """What the tables are called: the name of the file without its ending, with as much before and after it as tells
    it from the others.

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
    """Ever longer names of a file; the last is its whole path."""
    short = Path(file.stem).stem if file.suffix.lower() == ".gz" else file.stem
    return [short, *("/".join(file.parts[-n:]) for n in range(1, len(file.parts))), str(file)]


def _of_header(columns: Columns, header: Sequence[str]) -> Columns:
    """Without the columns to leave out that a table does not have."""
    return replace(columns, ignored=tuple(name for name in columns.ignored if name in header))


def _check_classes(data: TrainingTable, folds: int) -> None:
    lone = data.classes_too_rare_to_measure()
    if lone:
        have = "has" if len(lone) == 1 else "have"
        raise CommandError(f"Cross-validation needs two classes of two rows, and {listed(lone)} {have} one only")
    largest = int(data.y.value_counts()["count"].max())  # type: ignore[arg-type]
    if folds > largest:
        raise CommandError(f"--folds {folds} is more than the most frequent class has rows; use at most {largest}")
