"""Model files that an earlier commit wrote: they load, predict the same bits, and are written again as they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bayesieve

FOLDER = Path(__file__).parent / "models_2"
ROWS = json.loads((FOLDER / "rows.json").read_text("utf-8"))
MODELS = sorted(ROWS["log_joint"])


def rows(model: bayesieve.SelectiveNB) -> Any:
    table = pl.DataFrame(ROWS["columns"], strict=False).with_columns(pl.col("depuis").str.to_date())
    if hasattr(model, "feature_names_in_"):
        return table.select(model.feature_names_in_.tolist())
    return table.select("âge", "visites", "bruit").fill_null(0).to_numpy()


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_predicts_the_same_bits(name: str, tmp_path: Path) -> None:
    model = bayesieve.load(FOLDER / f"{name}.json")
    np.testing.assert_array_equal(model.predict_joint_log_proba(rows(model)), np.array(ROWS["log_joint"][name]))
    model.save(tmp_path / "model.json")
    written = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    again = json.loads((tmp_path / "model.json").read_text("utf-8"))
    for key in set(written) - {"written_by", "sha256"}:
        assert again[key] == written[key], key


def test_every_saved_model_is_tested() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == sorted([*MODELS, "rows"])
