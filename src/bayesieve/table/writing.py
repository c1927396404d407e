"""Atomic writing of files (complete or not at all), in one call or frame by frame."""

from __future__ import annotations

import contextlib
import glob
import gzip
import os
import queue
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Literal

from bayesieve.table.paths import ARROW, PARQUET, checked_path, ending_of, is_zipped

if TYPE_CHECKING:
    import polars as pl


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a whole file or nothing: to a temporary file in the same folder, flushed to disk, then put in place.

    Parameters
    ----------
    path : str or path
        An existing file is replaced, keeping its access rights; a symbolic link stays one. Devices and pipes are
        written into: they would be lost if they were replaced.
    content : str or bytes
        Text is written as UTF-8, line ends as they are.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    ValueError
        If `path` is a folder, or cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    if checked_path(path).exists() and not os.path.isfile(path) and not os.path.isdir(path):
        try:
            Path(path).write_bytes(data)
        except OSError as error:
            raise ValueError(f"{path} cannot be written ({error.strerror}); give another path.") from error
        return
    new = _NewFile(path)
    with new.explained():
        file = new.open()
        try:
            file.write(data)
            new.put(file)
        finally:
            new.discard(file)


HTML = (".html", ".htm")
_OTHERS = (  # formats other than those of models and text tables
    *(*HTML, ".svg", ".pdf", ".png", ".jpg", ".jpeg", ".doc", ".docx", ".xls", ".xlsx", ".ods", ".zip", ".gz"),
    *(".parquet", ".pq", ".arrow", ".feather", ".ipc", ".pkl", ".pickle", ".joblib", ".onnx", ".pmml", ".sql", ".py"),
)


def check_html(path: object) -> None:
    """Raise ValueError if the name of an HTML page has the extension of another kind of file.

    Callers check it before any work is done.
    """
    suffix = checked_path(path).suffix
    if suffix[1:2].isalpha() and suffix.lower() not in HTML:  # `report-1.2` has no ending
        raise ValueError(f"A report is an HTML page, {path} ends in {suffix}; end the name in .html.")


def refuse_other_format(path: object, format: str, ending: str) -> None:
    """Raise ValueError if a file for ``format`` has the extension of another format; unknown extensions are allowed.

    The message recommends the extension ``ending``.
    """
    suffix = checked_path(path).suffix
    if suffix.lower() in {*_OTHERS, ".json", ".csv", ".tsv"} - {ending}:
        raise ValueError(f"{path} ends in {suffix}, but would hold {format}; end the name in {ending}.")


def _lock(file: IO[bytes]) -> None:
    """Lock an open file until it is closed or the process ends, on systems that can.

    Raises OSError if another process has locked it, or the file system has no locks.
    """
    try:
        import fcntl
    except ImportError:  # Windows, where an open file cannot be deleted
        return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class _NewFile:
    """File ``path`` that is written under a temporary name in its folder, and renamed when it is complete. Raise an
    error if the folder does not exist, or ``path`` is a folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = checked_path(path)
        self._target = Path(os.path.realpath(path))
        if self._target.is_dir():
            raise ValueError(f"{path} is a folder; give the name of a file to write.")
        if not self._target.parent.is_dir():
            raise FileNotFoundError(
                f"There is no folder {self._target.parent} to write {self.path.name} in; create it first."
            )
        self._prefix = f".{self._target.name[:200]}."
        self._temporary = self._target.with_name(f"{self._prefix}{secrets.token_hex(6)}.tmp")

    def open(self) -> IO[bytes]:
        """Open the file under its temporary name, with the access rights of the file that it will replace."""
        mode = 0o666  # reduced by the umask of the process
        with contextlib.suppress(OSError):
            mode = self._target.stat().st_mode & 0o777
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        file = os.fdopen(os.open(self._temporary, flags, mode), "wb")
        with contextlib.suppress(OSError):
            _lock(file)
        return file

    def put(self, file: IO[bytes]) -> None:
        """Flush ``file``, opened by `open`, to disk and move it to its final name, so that it survives a
        power failure.
        """
        with file:
            file.flush()
            os.fsync(file.fileno())
        os.replace(self._temporary, self._target)
        with contextlib.suppress(OSError, AttributeError):
            folder = os.open(self._target.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def discard(self, file: IO[bytes]) -> None:
        """Close ``file``, opened by `open`, and delete it unless it has its final name."""
        with contextlib.suppress(OSError):
            file.close()
        with contextlib.suppress(OSError):
            self._temporary.unlink()

    def delete_abandoned(self) -> None:
        """Delete the temporary files of processes that were killed; files of running processes are locked and stay."""
        for path in self._target.parent.glob(f"{glob.escape(self._prefix)}{'?' * 12}.tmp"):
            with contextlib.suppress(OSError), path.open("r+b") as file:
                _lock(file)
                path.unlink()

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Convert errors of the operating system and of polars into a ValueError with one clear message."""
        try:
            yield
        except Exception as error:
            if not isinstance(error, OSError) and type(error).__module__ != "polars.exceptions":
                raise
            reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
            raise ValueError(
                f"{self.path} cannot be written ({reason}); check the folder's permissions and free space."
            ) from error


# Texts that spreadsheets read as formulas, including full-width signs; a sign alone is not a formula.
_FORMULA = r"^(?s)[=+\-@\t\r\n＝＋－＠]."
SEPARATORS = {".csv": ",", ".txt": "\t", ".tsv": "\t", ".tab": "\t"}
_ENDINGS = ".csv, .tsv, .parquet or .arrow"
_MARK = "bayesieve"  # key of the metadata of a Parquet file


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a path for output is meant as a folder.

    It is one if it has no extension, or is an existing folder whose name does not end like that of a table.
    """
    kind = ending_of(Path(path))
    return not kind or (os.path.isdir(path) and kind not in (*SEPARATORS, *PARQUET, *ARROW))


def mark_of(path: Path) -> str | None:
    """Return the text that `FrameFile` stored as ``mark`` in the metadata of a Parquet file; None if there is none."""
    import polars as pl

    try:
        return pl.read_parquet_metadata(path).get(_MARK)
    except (OSError, pl.exceptions.PolarsError):
        return None


def csv_text(frame: pl.DataFrame, *, include_header: bool = True, **options: Any) -> str:
    """Return rows as CSV, with an apostrophe before each text that a spreadsheet would take for a formula.

    Parameters
    ----------
    frame : polars.DataFrame
        Names of columns and the values of text, Categorical and Enum columns are guarded; texts of numbers, such as
        "-5", stay unchanged.
    include_header : bool, default=True
    **options
        Options of polars' `write_csv`.
    """
    import polars as pl

    texts = pl.DataFrame([_guarded(column) for column in frame.get_columns()])
    if not include_header:
        return texts.write_csv(include_header=False, **options)
    # Write the header as a row: two guarded column names may be equal, which a frame does not allow.
    names = _guarded(pl.Series(frame.columns, dtype=pl.String)).to_list()
    header = pl.DataFrame([[name] for name in names], schema=[str(i) for i in range(len(names))])
    return header.write_csv(include_header=False, **options) + texts.write_csv(include_header=False, **options)


def _guarded(column: pl.Series) -> pl.Series:
    """Return a column of texts in which an apostrophe precedes texts that spreadsheets would read as formulas; texts of
    numbers and other columns stay unchanged.
    """
    import polars as pl

    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return column
    texts = column.cast(pl.String)
    is_formula = texts.str.contains(_FORMULA)
    if not is_formula.any():
        return texts
    is_formula &= texts.str.strip_chars().cast(pl.Float64, strict=False).is_null()
    return ("'" + texts).zip_with(is_formula.fill_null(False), texts).alias(column.name)


class FrameFile:
    """CSV, TSV, Parquet or Arrow file that is written frame by frame; use as a context manager.

    Rows go to a temporary file in the same folder, which replaces ``path`` when the block ends without an error; after
    an error, and after Ctrl-C, no file is left. Temporary files of killed processes are deleted when the file is next
    written. At most one frame waits to be written.

    Parameters
    ----------
    path : str or path
        The extension determines the format; CSV and TSV may be compressed, with .gz at the end.
    mark : str or None, default=None
        A text stored in the metadata of a Parquet file, which `mark_of` reads.

    Raises
    ------
    ValueError
        If the extension is unknown, ``path`` is a folder, or it cannot be written.
    FileNotFoundError
        If the folder does not exist.
    """

    def __init__(self, path: str | os.PathLike[str], *, mark: str | None = None) -> None:
        self._mark, self._kind = mark, ending_of(checked_path(path))
        self._zipped = is_zipped(Path(path))
        if self._kind not in SEPARATORS and (self._kind not in (*PARQUET, *ARROW) or self._zipped):
            raise ValueError(f"{path} has no known file extension; end the name in {_ENDINGS}.")
        self._new = _NewFile(path)
        self.path = self._new.path
        self._file: IO[bytes] | None = None
        self._schema: pl.Schema | None = None

    def write(self, frame: pl.DataFrame) -> None:
        """Append rows; the first frame determines the columns and their types."""
        if self._file is not None and frame.schema != self._schema:
            raise ValueError(
                f"A frame for {self.path} has other columns than the first one, or of other types; "
                "write frames with the same columns."
            )
        self._schema = frame.schema
        with self._new.explained():
            if self._file is None:
                self._new.delete_abandoned()
                self._file = self._new.open()
                self._writer: _Text | ColumnWriter
                if self._kind in SEPARATORS:
                    self._writer = _Text(self._file, SEPARATORS[self._kind], self._zipped)
                else:
                    self._writer = ColumnWriter(
                        self._file, frame.schema, parquet=self._kind in PARQUET, mark=self._mark
                    )
            self._writer.write(frame)

    def __enter__(self) -> FrameFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is None:
            return
        try:
            with self._new.explained() if error is None else contextlib.suppress(Exception):
                self._writer.close(whole=error is None)
                if error is None:
                    self._new.put(self._file)
        finally:
            self._new.discard(self._file)


class _Text:
    """Text table that is written frame by frame to an open file, in which spreadsheet programs read no text as a
    formula.

    ``separator`` is the character between fields; ``zipped`` compresses the text with gzip.
    """

    def __init__(self, file: IO[bytes], separator: str, zipped: bool) -> None:
        self._file, self._separator, self._has_header = file, separator, False
        self._to: Any = gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) if zipped else file

    def write(self, frame: pl.DataFrame) -> None:
        """Append rows; the first ones are preceded by the header."""
        self._to.write(csv_text(frame, separator=self._separator, include_header=not self._has_header).encode())
        self._has_header = True

    def close(self, *, whole: bool) -> None:
        """End the compressed stream, if any; ``whole`` is False after an error."""
        if whole and self._to is not self._file:
            self._to.close()


class ColumnWriter:
    """Parquet or Arrow file that polars writes in a thread as frames arrive.

    Parameters
    ----------
    file : open file
    schema : names and types of the columns of all frames
    parquet : whether the format is Parquet; otherwise Arrow
    mark : text stored in the metadata of a Parquet file, which `mark_of` reads
    compression : compression of Parquet files
    """

    def __init__(
        self,
        file: IO[bytes],
        schema: pl.Schema,
        *,
        parquet: bool = True,
        mark: str | None = None,
        compression: Literal["zstd", "lz4"] = "zstd",
    ) -> None:
        self._file, self._parquet, self._compression = file, parquet, compression
        self._metadata = None if mark is None else {_MARK: mark}
        self._frames: queue.Queue[pl.DataFrame | None] = queue.Queue(maxsize=1)
        self._abandoned = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._sink, args=(schema,), name="bayesieve-writer", daemon=True)
        self._thread.start()

    def write(self, frame: pl.DataFrame) -> None:
        """Append rows; wait while the thread has not taken the previous ones. Raise the error of the thread, if any."""
        while self._thread.is_alive():
            with contextlib.suppress(queue.Full):
                self._frames.put(frame, timeout=0.2)
                return
        self._raise()

    def close(self, *, whole: bool) -> None:
        """End the file and wait for the thread; ``whole`` is False if the file is to be abandoned after an error."""
        self._abandoned = not whole
        while self._thread.is_alive():
            with contextlib.suppress(queue.Full):
                self._frames.put(None, timeout=0.2)
                break
        self._thread.join()
        if whole:
            self._raise()

    def _raise(self) -> None:
        """Raise the error with which the thread ended, if any."""
        if self._error is not None:
            raise self._error

    def _given(self, *_: Any) -> Iterator[pl.DataFrame]:
        """Yield the frames as they arrive, to polars in the thread."""
        while (frame := self._frames.get()) is not None:
            yield frame
        if self._abandoned:
            raise InterruptedError("the file was abandoned")

    def _sink(self, schema: pl.Schema) -> None:
        """Write the frames that arrive; this is the function of the thread."""
        from polars.io.plugins import register_io_source

        lazy = register_io_source(self._given, schema=schema)
        try:
            if self._parquet:
                lazy.sink_parquet(
                    self._file, engine="streaming", metadata=self._metadata, compression=self._compression
                )
            else:
                lazy.sink_ipc(self._file, engine="streaming")
        except BaseException as error:
            self._error = error
