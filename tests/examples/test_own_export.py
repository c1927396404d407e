"""The page on exports of one's own: its code compiles, and gives the probabilities of the model."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_breast_cancer

from bayesieve import SelectiveNB
from bayesieve.scorecard.export import targets
from tests.examples.pages import blocks, install
from tests.scorecard.exported import case

ENTRY_POINT = "[bayesieve.exports]\nc = my_export:CFunction\n"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    install(tmp_path, {"my_export": blocks("own-export.md")[0]}, ENTRY_POINT)
    monkeypatch.syspath_prepend(tmp_path)
    targets.cache_clear()
    yield tmp_path
    targets.cache_clear()
    sys.modules.pop("my_export", None)


def test_the_function_gives_the_probabilities(installed: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no compiler of C")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :8].mask(np.random.default_rng(0).random((len(X), 8)) < 0.05)
    model = SelectiveNB().fit(X, y)
    model.export(installed / "score.c", function="credit_score")
    library = installed / "score.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, installed / "score.c"], check=True)
    score = ctypes.CDLL(str(library)).credit_score
    score.restype = ctypes.c_double
    used = X[[*model.scorecard_.reader.needed]].to_numpy(dtype=float)
    odds = [score(*map(ctypes.c_double, row)) for row in used.tolist()]
    np.testing.assert_allclose(expit(odds), model.predict_proba(X)[:, 1], atol=1e-12)


def test_what_it_cannot_hold_is_refused(installed: Path) -> None:
    with pytest.raises(ValueError, match="columns that are no numbers; use another target"):
        case("all kinds")[0].export(to="c")
    assert "c" in targets()
