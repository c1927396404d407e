"""Reading of tables and models for commands, and writing of result files, which appear only once they are complete.

A source (`Scan`) is a table in files whose rows are read block by block. Progress and warnings go to the ``screen``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bayesieve.cli.commands import CommandError, Screen
from bayesieve.words import did_you_mean, format_count, named, quoted

if TYPE_CHECKING:
    import polars as pl

    from bayesieve.decision import BenefitRule
    from bayesieve.table.columns import ValueInRow
    from bayesieve.table.scans import Scan

_BYTES_OF_VALUE = 16  # bytes of memory per value, including derived arrays


def read_table(path: Path, screen: Screen, *models: Any, date_orders: dict[str, bool] | None = None) -> pl.DataFrame:
    """Read the table in a file, or in the files of a folder or pattern, into memory.

    Columns that a model uses are read with the types of its training table; if several models have a column, the first
    decides. ``date_orders`` is filled, for columns of dates whose values prove the order, with whether the day comes
    first. Raise CommandError if the files do not fit in memory.
    """
    from bayesieve.classifier.scoring import levels_of_columns
    from bayesieve.table import reading

    source = open_source(path, screen, *models) if is_several(path) else None
    if source is not None and source.n_rows * len(source.names) * _BYTES_OF_VALUE > _memory():
        size = f"{format_count(source.n_rows)} rows of {format_count(len(source.names))} columns"
        raise CommandError(f"{shown(path)} contains {size}, which do not fit in memory; pass fewer files")
    with screen.working(f"Reading {shown(path)} ..."):
        if source is None:
            return reading.read_table(path, levels_of_columns(*models) if models else None, date_orders)
        import polars as pl

        return pl.concat(list(source.blocks()))


@contextmanager
def locating(path: Path, target: str | None = None, rows: Sequence[int] | None = None) -> Iterator[None]:
    """Add the line or row number in the file to errors about an invalid value that are raised in the block of this
    context.

    Parameters
    ----------
    path : file, folder or pattern of the table.
    target : column whose missing values made rows be skipped when reading; None if all rows were read.
    rows : numbers of the rows that were read; None for all.
    """
    from bayesieve.table.columns import ValueInRow

    try:
        yield
    except ValueInRow as error:
        place = _place_of(error if rows is None else error.in_row(rows[error.row]), path, target)
        raise CommandError(error.at(place)) from error


def _place_of(error: ValueInRow, path: Path, target: str | None) -> str:
    """Return the place of an invalid value in the file as text, such as "line 12"; the parameters are those of
    `locating`.
    """
    from bayesieve.table.parquet_files import files_of
    from bayesieve.table.paths import format_of, is_stream
    from bayesieve.table.text_files import line_of

    files = [] if is_stream(path) else [Path(file) for file in files_of([path])] if is_several(path) else [path]
    for file in files:
        if format_of(file) != "text":
            break
        line = line_of(file, error.column, partial(_is_the_value, error.value), target)
        if line is not None:
            return f"line {line}" + (f" of {file}" if len(files) > 1 else "")
    return f"row {error.row + 1} (counting from 1)"


def _is_the_value(value: object, text: str) -> bool:
    """Return whether ``value`` may have been read from ``text``, the content of a field in a file.

    ``value`` is a text, an infinite number, or None for a field that is not a number. It serves to find the line of an
    invalid value.
    """
    if isinstance(value, str):
        return text == value.strip()
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return value is None
    return number == value or (value is None and number != number)


def is_several(path: Path) -> bool:
    """Return whether a path is a folder or a pattern rather than one file."""
    from bayesieve.table.paths import database_in

    is_pattern = any(mark in str(path) for mark in "*?[")
    return not database_in(path) and (path.is_dir() or (is_pattern and not path.exists()))


def header_of(path: Path) -> list[str]:
    """Return the column names of a file, or of the files of a folder or pattern."""
    from bayesieve.table.reading import read_header
    from bayesieve.table.scanning import scan

    return list(scan(path).names) if is_several(path) else read_header(path)


def open_source(path: Path, screen: Screen, *models: Any) -> Scan:
    """Open the rows of a file, folder or pattern, to be read block by block.

    Columns that a model uses are read with the types of its training table; if several models have a column, the first
    decides.
    """
    from bayesieve.classifier.scoring import levels_of_columns
    from bayesieve.table.scanning import scan, scan_to_score

    with screen.working(f"Looking at {shown(path)} ...") as rename:

        def show(n_rows: int, n_bytes: int) -> None:
            rename(f"Copying {shown(path)} to Parquet: {format_count(n_rows)} rows, {n_bytes / 1e6:,.0f} MB ...")

        return scan_to_score(path, levels_of_columns(*models), show) if models else scan(path, progress=show)


def source_to_score(model: Any, path: Path, output: Path | None, screen: Screen) -> Scan:
    """Open the rows that a model is to predict: in memory if they are in a single text file, otherwise block by block.

    Raise CommandError if a column of the model is missing, or the ``output`` would overwrite the rows.
    """
    from bayesieve.classifier.scored_files import refuse_own_file
    from bayesieve.table.paths import ARROW, PARQUET, database_in, is_stream
    from bayesieve.table.scanning import scan

    in_blocks = is_several(path) or database_in(path) or path.suffix.lower() in (*PARQUET, *ARROW)
    source = open_source(path, screen, model) if in_blocks else scan(read_table(path, screen, model))
    if output is not None and not to_stdout(output) and not is_stream(path):
        refuse_own_file(output, path, source)
    require_needed(path, source.names, model)
    return source


def require_needed(path: Path, names: Sequence[str], model: Any) -> None:
    """Raise CommandError if a table lacks columns of a model, and suggest columns with similar names. ``names`` are the
    columns of the table.
    """
    lacking = [name for name in model.scorecard_.reader.needed if name not in names]
    if lacking:
        column = "a column" if len(lacking) == 1 else "columns"
        hint = did_you_mean(lacking, [name for name in names if name not in model.scorecard_.columns])
        raise CommandError(f"{shown(path)} lacks {column} that the model needs: {named(lacking)}{hint and '; ' + hint}")


def _memory() -> int:
    """Return the memory of the machine in bytes; infinity if it is unknown."""
    if not hasattr(os, "sysconf"):
        return sys.maxsize
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def read_model(path: Path, screen: Screen) -> Any:
    """Return the model in a file."""
    from bayesieve.classifier import load

    with screen.working(f"Reading {path} ..."):
        return load(path)


def written_by(path: Path) -> str | None:
    """Return the version of bayesieve that wrote a model file; None if the file does not state it. Loaded models do not
    keep the version, so that it is read from the file.
    """
    version = json.loads(path.read_bytes()).get("written_by")
    return version if isinstance(version, str) else None


def check_folder(path: Path) -> None:
    """Raise CommandError if an output folder cannot be created. It is called early, and creates nothing."""
    if path.exists() and not path.is_dir():
        raise CommandError(f"{path} is a file, not a folder; choose another --output")
    there = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    if not there.is_dir():
        raise CommandError(f"{path} cannot be created, because part of it is a file; choose another --output")
    if not os.access(there, os.W_OK | os.X_OK):
        raise CommandError(f"{path} cannot be written (Permission denied); choose another --output")


@contextmanager
def opened_folder(path: Path) -> Iterator[None]:
    """Create a folder for the output of the block of this context, and delete it if it stays empty."""
    new = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CommandError(f"{path} cannot be created ({error.strerror}); choose another --output") from error
        yield
    finally:
        with contextlib.suppress(OSError):  # stop at the first folder that is not empty
            for folder in new:
                folder.rmdir()


def finished_in(results: Path | None) -> str:
    """Return the end of the message of an interrupted comparison, which states where finished folds are stored.

    ``results`` is the file of finished folds, which may not exist yet; None if folds are not stored.
    """
    if results is not None and results.exists():
        return f"finished folds are in {results}; run the same command to continue from there"
    return "no fold was finished" if results is not None else "nothing was saved"


def to_stdout(path: Path | None) -> bool:
    """Return whether a path stands for standard output: None or ``-``."""
    return path is None or str(path) == "-"


def check_output(path: Path | None) -> None:
    """Raise an error if an output file has an unknown format or cannot be written. It is called early, before any work
    is done.
    """
    from bayesieve.table.writing import FrameFile

    if path is not None and not to_stdout(path):
        FrameFile(path)


@contextmanager
def written(path: Path | None) -> Iterator[Callable[[pl.DataFrame], None]]:
    """Yield a function that writes dataframes one after another to a file or, if ``path`` is None, as CSV to standard
    output.

    The file appears only once it is complete.
    """
    from bayesieve.table.writing import FrameFile, csv_text

    if path is not None and not to_stdout(path):
        with FrameFile(path) as file:
            yield file.write
        return
    is_first = [True]

    def write(frame: pl.DataFrame) -> None:
        """Write a dataframe as CSV to standard output; the first one with a header."""
        # Write bytes, so that redirected output is UTF-8 with plain line ends on every system.
        typer.echo(csv_text(frame, include_header=is_first.pop() if is_first else False).encode(), nl=False)

    yield write


def write_frame(frame: pl.DataFrame, path: Path | None) -> None:
    """Write a frame in the format of its file name; None and ``-`` stand for CSV on standard output."""
    with written(path) as write:
        write(frame)


def target_of(model: Any, name: str | None) -> str:
    """Return the name of the target column: the option ``name`` if given, otherwise the name stored in the model. Raise
    CommandError if there is neither.
    """
    target: str | None = name or model.target_name_
    if target is None:
        raise CommandError("The model file does not contain the name of the target column; set --target")
    return target


def require_columns(path: Path, frame: pl.DataFrame, **columns: str | None) -> None:
    """Raise CommandError if a table lacks a column that an option names. Keywords are the options, values the columns
    or None.
    """
    for option, name in columns.items():
        if name is not None and name not in frame.columns:
            hint = did_you_mean(name, frame.columns) or f"it has {named(frame.columns)}"
            raise CommandError(f"{shown(path)} has no column {quoted(name)} (--{option}); {hint}")


def shown(path: Path) -> str:
    """Return the name of a file as it appears in messages."""
    return "standard input" if str(path) == "-" else str(path)


def with_hash(path: Path) -> str:
    """Return the name of a table and, if it is a single file, its SHA-256, to print in a report."""
    from bayesieve.table.paths import database_in

    file_path, inside = database_in(path) or (path, "")
    name = f"{file_path.name}::{inside}" if inside else file_path.name
    if is_several(path) or not file_path.is_file():
        return name
    with file_path.open("rb") as file:
        return f"{name}, SHA-256 {hashlib.file_digest(file, 'sha256').hexdigest()}"


def amounts_of(rule: BenefitRule, frame: pl.DataFrame, path: Path, first: int = 0) -> Any:
    """Return the amounts that a benefit rule needs for the rows of ``frame``, shape (n_rows,); None if it needs none.

    ``first`` is the number of the first row of ``frame`` in the table ``path``. Raise CommandError if the column is
    missing or not numeric, and ValueInRow for a row without an amount.
    """
    if rule.amount is None:
        return None
    name = f"{quoted(rule.amount)}, the amount of the benefits"
    if rule.amount not in frame.columns:
        hint = did_you_mean(rule.amount, frame.columns) or f"it has {named(frame.columns)}"
        raise CommandError(f"{shown(path)} has no column {name}; {hint}")
    import polars as pl

    column = frame[rule.amount].alias("")
    if not column.dtype.is_numeric():
        raise CommandError(f"The column {name}, does not contain numbers; convert it, or name another amount")
    values = column.cast(pl.Float64)
    unknown = ~values.is_finite().fill_null(False)
    if unknown.any():
        from bayesieve.table.columns import ValueInRow

        row = int(unknown.arg_true()[0])
        value = values[row] if values[row] is not None and abs(values[row]) == float("inf") else None
        before, after = f"The column {name}, has no number in ", "; enter one, or remove the row"
        raise ValueInRow(before, after, rule.amount, first + row, value)
    return values.to_numpy()
