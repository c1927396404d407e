"""Files that are whole or not there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from bayesieve.table import write_atomically


def test_text_and_bytes(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a.txt", "größe\r\n")
    assert (tmp_path / "a.txt").read_bytes() == "größe\r\n".encode()
    write_atomically(str(tmp_path / "a.txt"), b"\x00\x01")
    assert (tmp_path / "a.txt").read_bytes() == b"\x00\x01"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_access_rights(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    umask = os.umask(0o022)
    try:
        write_atomically(path, "x")
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
        path.chmod(0o600)
        write_atomically(path, "y")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(umask)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("x")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    write_atomically(tmp_path / "link.txt", "y")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "y"


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["full", "interrupt"]
)
def test_a_failure_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(os, step, fail)
    expected = ValueError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_refused_places(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is a folder; give the name of a file"):
        write_atomically(tmp_path, "x")
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*nowhere"):
        write_atomically(tmp_path / "nowhere" / "a.txt", "x")
    with pytest.raises(ValueError, match=r"cannot be opened .File name too long.; give another path"):
        write_atomically(tmp_path / ("x" * 300), "x")
    for name in ("", "\0", "\ud800"):
        with pytest.raises(ValueError, match=r"A file cannot have the name .*; give another path"):
            write_atomically(name, "x")
    for odd in (5, None, b"name"):
        with pytest.raises(TypeError, match=rf"A path must be text or a pathlib\.Path, got {odd!r}"):
            write_atomically(odd, "x")  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_device_is_written_into_and_never_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(pipe, "new")
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="this system has no full device")
def test_a_full_device_is_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"^/dev/full cannot be written \(.*\); give another path\.$"):
        write_atomically("/dev/full", "x")
    assert Path("/dev/full").is_char_device()
