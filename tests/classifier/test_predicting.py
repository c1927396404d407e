"""Predictions of sources, block by block, are those of the rows in memory, bit for bit."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bayesieve
from bayesieve import SelectiveNB
from bayesieve.classifier import scored_frames
from tests.classifier.mixed_data import fitted, frame, labels

pytestmark = pytest.mark.filterwarnings("ignore:Column")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The rows in three files, the second in several row groups, with a column that the model does not know."""
    rows = frame().with_columns(pl.int_range(pl.len()).alias("row"))
    for i, (first, stop) in enumerate([(0, 1), (1, 150), (150, rows.height)]):
        rows[first:stop].write_parquet(tmp_path / f"part{i}.parquet", row_group_size=40)
    return tmp_path


def test_sources_are_predicted_as_rows_in_memory(folder: Path) -> None:
    model, rows = fitted(), frame()
    for source in (str(folder / "*.parquet"), folder, bayesieve.scan(folder), rows.lazy(), bayesieve.scan(rows)):
        np.testing.assert_array_equal(model.predict_proba(source), model.predict_proba(rows))
        np.testing.assert_array_equal(model.predict(source), model.predict(rows))
    np.testing.assert_array_equal(model.predict_log_proba(rows.lazy()), model.predict_log_proba(rows))
    lazy = rows.lazy()
    np.testing.assert_array_equal(model.predict_joint_log_proba(lazy), model.predict_joint_log_proba(rows))


@pytest.mark.parametrize("name", ["out.parquet", "out.arrow", "out.csv"])
def test_files_become_a_file(folder: Path, name: str) -> None:
    model, rows = fitted(), frame()
    assert model.predict_to(folder / name, str(folder / "part*.parquet"), keep=["row"]) == rows.height
    read = {"out.parquet": pl.read_parquet, "out.arrow": pl.read_ipc, "out.csv": pl.read_csv}[name](folder / name)
    labels = model.classes_.tolist()
    assert read.columns == ["row", "prediction", *(f"P({label})" for label in labels)]
    assert read["row"].to_list() == list(range(rows.height))
    np.testing.assert_array_equal(read[:, 2:].to_numpy(), model.predict_proba(rows))
    assert read["prediction"].to_list() == model.predict(rows).tolist()


def test_all_columns_may_be_kept(folder: Path) -> None:
    fitted().predict_to(folder / "out.parquet", folder, keep="all")
    assert pl.read_parquet(folder / "out.parquet").columns[: frame().width + 1] == [*frame().columns, "row"]


def test_an_input_is_never_replaced(folder: Path) -> None:
    before = sorted(os.listdir(folder))
    for source in (folder, str(folder / "*.parquet"), [folder / "part0.parquet", folder / "part1.parquet"]):
        with pytest.raises(ValueError, match=r"part1\.parquet is one of the files that are read"):
            fitted().predict_to(folder / "part1.parquet", source)
    with pytest.raises(ValueError, match="There is no column 'colour'"):
        fitted().predict_to(folder / "out.parquet", folder, keep=["colour"])
    assert sorted(os.listdir(folder)) == before


def test_an_interrupt_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(scored_frames.RowProgress, "__call__", interrupt)
    before = sorted(os.listdir(folder))
    with pytest.raises(KeyboardInterrupt):
        fitted().predict_to(folder / "out.parquet", folder)
    assert sorted(os.listdir(folder)) == before


def test_values_never_seen_are_said_once(folder: Path) -> None:
    model, rows = fitted(), frame()
    text = next(name for name in model.selected_features_ if rows.schema[name] == pl.String)
    new = pl.concat([rows.with_columns(pl.lit("new").alias(text))] * 3)
    for source in (new.lazy(), new):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model.predict_proba(source)
        assert len([warning for warning in said if "600 rows" in str(warning.message)]) == 1, source


def test_progress_names_rows_and_bytes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bayesieve.engine.progress import RowProgress

    with RowProgress("Predicting", 400, 8_000_000, 1) as progress:
        progress._written -= 10
        progress(100)
    assert capsys.readouterr().err.startswith("Predicting: 100 of 400 rows, 2 of 8 MB, ")


def test_names_that_are_patterns_to_polars_are_names(tmp_path: Path) -> None:
    names = {"visites": "*", "membre": "^v.*$", "bruit": "visites", "depuis": "^d$"}
    rows = frame()[[*names]].rename(names)
    model = SelectiveNB().fit(rows, labels())
    expected = model.predict_proba(rows)
    rows.write_parquet(tmp_path / "rows.parquet")
    np.testing.assert_array_equal(model.predict_proba(tmp_path / "rows.parquet"), expected)
    model.predict_to(tmp_path / "out.parquet", tmp_path / "rows.parquet", keep="all")
    whole, query = model.with_predictions(rows), model.with_predictions(rows.lazy()).collect()
    for scored in (pl.read_parquet(tmp_path / "out.parquet"), whole, query, rows.with_columns(*model.expressions())):
        np.testing.assert_allclose(scored[:, -3:].to_numpy(), expected, rtol=1e-12)
        assert scored.columns[:4] == rows.columns
    duckdb = pytest.importorskip("duckdb")
    with pytest.raises(ValueError, match=r"The column '\*' means all columns to duckdb; rename it before the fit\."):
        model.with_predictions(duckdb.from_arrow(rows.to_arrow()))
