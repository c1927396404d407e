"""A fit from files that is killed goes on where it was, and ends with the same model."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bayesieve
from bayesieve import CompressionAveraging, SelectiveNB, TableEncoder
from bayesieve.discretize.scanned_columns import ScannedColumns
from bayesieve.engine import Cache
from bayesieve.table.scanned import ScannedTable
from tests.classifier.test_scanned import claims, written

# Ends like a process that was killed: nothing is cleaned up.
_KILLED = """
import itertools, os, sys
import bayesieve
from bayesieve import CompressionAveraging, SelectiveNB, TableEncoder
from bayesieve.discretize import numbered_values
from bayesieve.engine import Cache
from bayesieve.search import multi_start

phase, source, folder = sys.argv[1:4]

def kill_at(number, function):
    calls = itertools.count(1)
    def called(*arguments, **options):
        if next(calls) == number:
            os.kill(os.getpid(), 9)
        return function(*arguments, **options)
    return called

if phase == "counting":
    numbered_values.NumberedNumbers.add = kill_at(2, numbered_values.NumberedNumbers.add)
if phase == "reading":
    from tests.classifier.test_scanned_killed import read_in_small_blocks
    read_in_small_blocks(setattr)
    numbered_values.NumberedTexts.add = kill_at(int(sys.argv[4]), numbered_values.NumberedTexts.add)
    numbered_values.Grid.add = kill_at(int(sys.argv[5]), numbered_values.Grid.add)
if phase == "coding":
    Cache._checksums = kill_at(1, Cache._checksums)
if phase == "searching":
    multi_start._Waves.run = kill_at(3, multi_start._Waves.run)
selector = CompressionAveraging(exhaustive=False)
encoder = TableEncoder(n_quantiles=100) if phase == "reading" else "modl"
model = SelectiveNB(selector, encoder=encoder, pairs=0, calibrate=False, cache=folder, n_jobs=1)
model.fit(bayesieve.scan(source), "paid")
"""


@pytest.mark.parametrize("phase", ["counting", "coding", "searching"])
def test_a_fit_goes_on_after_it_was_killed(phase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, folder = tmp_path / "table", tmp_path / "codes"
    table.mkdir()
    source = written(claims(1200).drop("weight", "agent"), table, 7)
    ended = subprocess.run([sys.executable, "-c", _KILLED, phase, source, str(folder)], check=False)
    assert ended.returncode == -9
    n_waves, n_read = [], []
    from bayesieve.search import multi_start

    run_wave, read = multi_start._Waves.run, ScannedColumns._read
    monkeypatch.setattr(multi_start._Waves, "run", lambda *a: n_waves.append(1) or run_wave(*a))
    monkeypatch.setattr(ScannedColumns, "_read", lambda *a: n_read.append(1) or read(*a))
    options = {"pairs": 0, "calibrate": False}
    selector = CompressionAveraging(exhaustive=False)
    model = SelectiveNB(selector, cache=folder, **options).fit(bayesieve.scan(source), "paid")  # type: ignore[arg-type]
    waves_left, passes = len(n_waves), len(n_read)
    expected = SelectiveNB(selector, **options).fit(bayesieve.scan(source), "paid")  # type: ignore[arg-type]
    np.testing.assert_array_equal(model.feature_weights_, expected.feature_weights_)
    assert model.trace_.n_models == expected.trace_.n_models
    n_all = len(n_waves) - waves_left
    assert (passes, waves_left) == ((0, n_all - 2) if phase == "searching" else (1, n_all))
    assert len(list(folder.iterdir())) == 3


def test_damaged_notes_are_not_used(tmp_path: Path) -> None:
    source = written(claims(500).select("age", "town", "paid"), tmp_path, 8)
    folder = tmp_path / "codes"
    selector = CompressionAveraging(exhaustive=False)
    model = SelectiveNB(selector, cache=folder).fit(source, "paid")
    note = next(folder.glob("search-*.bin"))
    note.write_bytes(note.read_bytes()[:-7])
    again = SelectiveNB(selector, cache=Cache(folder)).fit(source, "paid")
    np.testing.assert_array_equal(model.feature_weights_, again.feature_weights_)


def read_in_small_blocks(setattr: Callable[..., None]) -> None:
    """Notes after each block of 300 rows, few values that are counted one by one, and all arrays in files."""
    from bayesieve.discretize import scanned_columns as columns
    from bayesieve.engine import mapped

    setattr(ScannedTable, "block_rows", 300)
    setattr(mapped, "_IN_MEMORY_BYTES", 0)
    limits = {"EXACT_ROWS": 100, "MOST_NUMBERS": 400, "MOST_CATEGORIES": 20}
    for name, value in {**limits, "_SECONDS_BETWEEN_NOTES": 0.0, "_PAUSE": 0.0}.items():
        setattr(columns, name, value)


@pytest.mark.parametrize(("texts", "cells"), [(11, 999), (999, 3)])
def test_reading_goes_on_where_it_was_killed(
    texts: int, cells: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, folder = tmp_path / "table", tmp_path / "codes"
    table.mkdir()
    frame = claims(1700).drop("weight", "agent").with_columns(paid=pl.when(pl.arange(1700) % 97 > 0).then("paid"))
    source = written(frame, table, 7)
    killed = [sys.executable, "-c", _KILLED, "reading", source, str(folder), str(texts), str(cells)]
    assert subprocess.run(killed, check=False).returncode == -9
    read_in_small_blocks(monkeypatch.setattr)
    n_blocks: list[int] = []
    note = ScannedColumns._note
    monkeypatch.setattr(ScannedColumns, "_note", lambda *a: n_blocks.append(1) or note(*a))

    def fit(cache: Path) -> str:
        selector = CompressionAveraging(exhaustive=False)
        options = {"encoder": TableEncoder(n_quantiles=100), "pairs": 0, "calibrate": False}
        model = SelectiveNB(selector, cache=cache, **options).fit(bayesieve.scan(source), "paid")
        model.set_params(cache=None).save(tmp_path / "model.json")
        times = r'seconds": (\[[^]]*\]|[^,]*)|"sha256": "\w+"'
        return re.sub(times, "", (tmp_path / "model.json").read_text())

    model, n_left = fit(folder), len(n_blocks)
    n_blocks.clear()
    assert model == fit(tmp_path / "others")
    assert len(n_blocks) - n_left == {11: 3, 999: 7}[texts]
    assert not list(folder.glob("rows-*"))
