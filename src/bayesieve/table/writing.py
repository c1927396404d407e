"""Atomic writing of files."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import IO


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
    target = Path(os.path.realpath(checked_path(path)))
    if target.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file to write.")
    data = content.encode() if isinstance(content, str) else content
    if os.path.exists(path) and not os.path.isfile(path):
        try:
            Path(path).write_bytes(data)
        except OSError as error:
            raise ValueError(f"{path} cannot be written ({error.strerror}); give another path.") from error
        return
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write {target.name} in; create it first.")
    temporary = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.tmp")
    try:
        _write_through(temporary, data, mode_of(target))
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise ValueError(
                f"{path} cannot be written ({error.strerror}); check the folder's rights and space."
            ) from error
        raise
    sync_folder(target.parent)


def checked_path(path: object) -> Path:
    """A valid path; TypeError or ValueError otherwise."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"A path must be text or a pathlib.Path, got {path!r}.")
    text = os.fspath(path)
    if not isinstance(text, str) or not text or "\0" in text:
        raise ValueError(f"A file cannot have the name {text!r}; give another path.")
    try:
        os.stat(text)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except UnicodeEncodeError:
        raise ValueError(f"A file cannot have the name {text!r}; give another path.") from None
    except OSError as error:
        raise ValueError(f"{text[:100]} cannot be opened ({error.strerror}); give another path.") from None
    return Path(text)


HTML = (".html", ".htm")
_OTHERS = (  # formats that neither a model nor a table of text is
    *(*HTML, ".svg", ".pdf", ".png", ".jpg", ".jpeg", ".doc", ".docx", ".xls", ".xlsx", ".ods", ".zip", ".gz"),
    *(".parquet", ".pq", ".arrow", ".feather", ".ipc", ".pkl", ".pickle", ".joblib", ".onnx", ".pmml", ".sql", ".py"),
)


def check_html(path: object) -> None:
    """ValueError, before any work is done, if a page would get the name of another kind of file."""
    suffix = checked_path(path).suffix
    if suffix[1:2].isalpha() and suffix.lower() not in HTML:  # `report-1.2` has no ending
        raise ValueError(f"A report is an HTML page, {path} ends in {suffix}; end the name in .html.")


def refuse_other_format(path: object, format: str, ending: str) -> None:
    """ValueError if a file of this format would get the name of another format; unknown endings are allowed."""
    suffix = checked_path(path).suffix
    if suffix.lower() in {*_OTHERS, ".json", ".csv", ".tsv"} - {ending}:
        raise ValueError(f"{path} ends in {suffix}, but would hold {format}; end the name in {ending}.")


def mode_of(target: Path) -> int:
    """The access rights of the file to be replaced, or those of a new file (which the process's umask then cuts)."""
    try:
        return target.stat().st_mode & 0o777
    except OSError:
        return 0o666


def lock(file: IO[bytes] | int) -> bool:
    """Lock an open file or folder until it is closed or the process ends; False on systems that cannot.

    OSError if another process has locked it, or the file system cannot.
    """
    try:
        import fcntl
    except ImportError:  # Windows, where an open file cannot be deleted
        return False
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return True


def _write_through(path: Path, data: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the new name itself survive a power cut, if the system can."""
    with contextlib.suppress(OSError, AttributeError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
