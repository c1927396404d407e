"""Models that version 0.1 wrote: they load, and predict what they predicted then, to the last bit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bayesieve

FOLDER = Path(__file__).parent / "models_0_1"
ROWS = json.loads((FOLDER / "rows.json").read_text("utf-8"))
MODELS = sorted(ROWS["log_joint"])


def rows(model: bayesieve.SelectiveNB) -> pl.DataFrame:
    table = pl.DataFrame(ROWS["columns"], strict=False).with_columns(pl.col("depuis").str.to_date())
    return table.select(model.feature_names_in_.tolist())


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_version_0_1_predicts_the_same_bits(name: str, tmp_path: Path) -> None:
    model = bayesieve.load(FOLDER / f"{name}.json")
    expected = np.array(ROWS["log_joint"][name])
    np.testing.assert_array_equal(model.predict_joint_log_proba(rows(model)), expected)
    model.save(tmp_path / "model.json")
    again = bayesieve.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_joint_log_proba(rows(model)), expected)


def test_every_saved_model_is_tested() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == sorted([*MODELS, "rows"])
