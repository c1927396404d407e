"""A fit from files that is killed goes on where it was, and ends with the same model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bayesieve
from bayesieve import CompressionAveraging, SelectiveNB
from bayesieve.engine import Cache
from tests.classifier.test_scanned import claims, written

# Ends like a process that was killed: nothing is cleaned up.
_KILLED = """
import os, sys
import bayesieve
from bayesieve import CompressionAveraging, SelectiveNB
from bayesieve.discretize import scanned_columns
from bayesieve.engine import Cache
from bayesieve.search import multi_start

phase, source, folder = sys.argv[1:]
n_calls = 0

def kill_at(number, function):
    def called(*arguments, **options):
        global n_calls
        n_calls += 1
        if n_calls == number:
            os.kill(os.getpid(), 9)
        return function(*arguments, **options)
    return called

if phase == "counting":
    scanned_columns._Numbers.add = kill_at(2, scanned_columns._Numbers.add)
if phase == "coding":
    Cache._checksums = kill_at(1, Cache._checksums)
if phase == "searching":
    multi_start._run_wave = kill_at(3, multi_start._run_wave)
selector = CompressionAveraging(exhaustive=False)
SelectiveNB(selector, pairs=0, calibrate=False, cache=folder, n_jobs=1).fit(bayesieve.scan(source), "paid")
"""


@pytest.mark.parametrize("phase", ["counting", "coding", "searching"])
def test_a_fit_goes_on_after_it_was_killed(phase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, folder = tmp_path / "table", tmp_path / "codes"
    table.mkdir()
    source = written(claims(1200).drop("weight", "agent"), table, 7)
    ended = subprocess.run([sys.executable, "-c", _KILLED, phase, source, str(folder)], check=False)
    assert ended.returncode == -9
    n_waves, n_read = [], []
    from bayesieve.discretize.scanned_columns import ScannedColumns
    from bayesieve.search import multi_start

    run_wave, read = multi_start._run_wave, ScannedColumns._read
    monkeypatch.setattr(multi_start, "_run_wave", lambda *a: n_waves.append(1) or run_wave(*a))
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
