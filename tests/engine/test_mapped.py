"""Rows in files: the same bits as in memory, files that vanish, one sentence where they cannot be written."""

from __future__ import annotations

import errno
import gc
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from bayesieve import TableEncoder
from bayesieve.discretize.coding_options import CodingOptions
from bayesieve.engine import Engine, Mapped
from tests.limits import Limits


@pytest.fixture
def engine(tmp_path: Path, limits: Limits) -> Mapped:
    """Every array in a file, however small, in small blocks."""
    limits(bytes_in_memory=0)
    return Mapped(tmp_path, block_rows=1000, resident_bytes=1 << 14)


def is_mapped(array: np.ndarray) -> bool:
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base  # type: ignore[assignment]
    return not isinstance(array, np.ndarray)


def test_arrays_are_files_that_vanish(engine: Mapped, tmp_path: Path) -> None:
    array = engine.array((3, 500), np.float64)
    array[:] = np.arange(500)
    engine.release(1 << 20)  # its pages leave the memory of the process, not the file
    assert is_mapped(array)
    assert array.flags.c_contiguous
    assert array.flags.writeable
    np.testing.assert_array_equal(array[2], np.arange(500))
    assert list(tmp_path.iterdir()) == []
    descriptors = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    for _ in range(50):
        engine.array((1000,), np.uint8)
    gc.collect()
    if descriptors:
        assert len(os.listdir("/proc/self/fd")) <= descriptors + 1


def test_small_arrays_stay_in_memory(tmp_path: Path) -> None:
    assert not is_mapped(Mapped(tmp_path).array((10, 10), np.int64))
    assert is_mapped(Mapped(tmp_path).array((2, 1 << 20), np.uint8))


def test_columns_are_coded_into_files(engine: Mapped) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=7000), rng.integers(0, 600, 7000)]).astype(object)
    X[:, 1] = [f"v{value}" for value in X[:, 1]]
    y = (rng.random(7000) < 1 / (1 + np.exp(-X[:, 0].astype(float)))).astype(int)
    for encoder in (TableEncoder(), TableEncoder(categorical="values")):
        plain = encoder.fit_transform_coded(X, y)
        coded = encoder.fit_transform_coded(X, y, coding=CodingOptions(engine))
        assert is_mapped(coded.codes)
        assert coded.codes.dtype == plain.codes.dtype
        np.testing.assert_array_equal(coded.codes, plain.codes)
        np.testing.assert_array_equal(coded.by_class.codes, plain.by_class.codes)
        assert is_mapped(coded.by_class.codes)
        assert coded.by_class.engine is engine
        loaded = pickle.loads(pickle.dumps(coded))
        assert type(loaded.engine) is Engine
        np.testing.assert_array_equal(loaded.codes, coded.codes)


def test_a_full_disk_is_one_sentence(engine: Mapped, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("bayesieve.engine.files._allocate", full)
    with pytest.raises(
        OSError, match=r"cannot be written \(No space left on device\); check its permissions and free space\.$"
    ):
        engine.array((1000,), np.uint8)
    with pytest.raises(OSError, match="nowhere cannot be written"):
        Mapped(engine.folder / "nowhere").array((1 << 21,), np.uint8)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
def test_resident_pages_do_not_pile_up(tmp_path: Path) -> None:
    def resident() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith(("RssFile", "RssShmem"))) << 10

    engine = Mapped(tmp_path, resident_bytes=4 << 20)
    before = resident()
    array = engine.array((200, 1 << 19), np.uint8)  # 100 MiB
    for row in array:
        row[:] = 7
        engine.release(row.nbytes)
    assert resident() - before < 16 << 20
    assert all(int(row[-1]) == 7 for row in array[::20])
