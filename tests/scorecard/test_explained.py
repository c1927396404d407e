"""Explanations: by column, against a class, with the cells that contributions are those of, in the caller's library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bayesieve import SelectiveNB
from tests.scorecard.exported import case

NAMES = ["all kinds", "all kinds, three classes", "surfaces", "special values", "indicators", "labelled"]


def joint(explained: pl.DataFrame) -> np.ndarray:
    """(n_rows, n_classes) prior plus contributions."""
    sums = explained.group_by("row", "class", maintain_order=True).agg(
        pl.col("contribution").sum() + pl.col("prior").first()
    )
    return sums["contribution"].to_numpy().reshape(sums["row"].n_unique(), -1)


@pytest.mark.parametrize("by", ["feature", "column"])
@pytest.mark.parametrize("name", NAMES)
def test_contributions_add_up(name: str, by: Any) -> None:
    model, frame = case(name)
    rows = frame[:30]
    expected = model.scorecard_.joint(rows)
    np.testing.assert_allclose(joint(model.explain(rows, by=by)), expected, atol=1e-9)
    label = model.classes_.tolist()[0]
    against = model.explain(rows, by=by, against=label)
    np.testing.assert_allclose(joint(against), expected[:, 1:] - expected[:, :1], atol=1e-9)
    assert label not in against["class"].to_list()
    np.testing.assert_allclose(
        against["probability"].to_numpy().reshape(30, -1, against["class"].n_unique()).max(axis=(1, 2)),
        model.predict_proba(rows)[:, 1:].max(axis=1),
    )


@pytest.mark.parametrize("name", NAMES)
def test_columns_have_one_line_each(name: str) -> None:
    model, frame = case(name)
    explained = model.explain(frame[:5], by="column")
    n_classes = len(model.classes_)
    columns = {column for feature in model.scorecard_.features if feature.is_used for column in feature.columns}
    assert set(explained["feature"]) == columns
    assert explained.height == 5 * n_classes * len(columns)
    texts = {  # the same texts as in reasons
        (row, column): text.split(": ", 1)[1]
        for row, column, text in model.reasons(frame[:5], n=None, target_class=model.classes_.tolist()[0])
        .select("row", "column", "text")
        .rows()
    }
    found = {(row["row"], row["feature"]): row["level"] for row in explained.iter_rows(named=True)}
    assert texts.items() <= found.items()


def test_cells_are_those_of_contributions() -> None:
    model, frame = case("surfaces")
    for line in model.explain(frame[:20]).iter_rows(named=True):
        feature = model.scorecard_[line["feature"]]
        j = model.classes_.tolist().index(line["class"])
        at = np.flatnonzero(np.array(feature.labels) == line["cell"])
        unseen = line["cell"] == "(not seen in training)"
        assert line["contribution"] in (feature.unseen[[j]] if unseen else feature.contributions[at, j])


def test_standard_errors_of_two_classes_against_one_double() -> None:
    model, frame = case("surfaces")
    whole = model.explain(frame[:3]).filter(pl.col("class") == "yes")
    against = model.explain(frame[:3], against="no")
    np.testing.assert_allclose(against["standard_error"], 2 * whole["standard_error"])
    np.testing.assert_allclose(against["contribution"], 2 * whole["contribution"], atol=1e-12)


def test_results_are_frames_of_the_caller() -> None:
    model, frame = case("special values")
    head = frame[:3].to_pandas().set_axis(["x", "y", "z"])
    whole = model.explain(frame[:3])
    for_pandas = model.explain(head)
    assert isinstance(for_pandas, pd.DataFrame)
    assert for_pandas.index.unique().tolist() == ["x", "y", "z"]
    assert for_pandas["contribution"].tolist() == whole["contribution"].to_list()
    assert model.reasons(head).loc[["x"], "row"].eq(0).all()
    assert isinstance(model.counterfactuals(head), pd.DataFrame)
    assert model.explain(frame[:3].to_arrow()).column_names == whole.columns
    assert isinstance(model.explain(frame.row(0, named=True)), pl.DataFrame)


def test_unknown_classes_and_ways_are_refused() -> None:
    model, frame = case("special values")
    with pytest.raises(ValueError, match="against must be a class, one of 0, 1, got 'no'"):
        model.explain(frame[:1], against="no")
    with pytest.raises(ValueError, match="by must be 'feature', 'score' or 'column'"):
        model.explain(frame[:1], by="row")  # type: ignore[arg-type]


def test_a_model_without_features_has_no_lines() -> None:
    model, frame = case("nothing")
    assert isinstance(model, SelectiveNB)
    assert model.explain(frame[:4], by="column").height == 0


def test_rows_without_reasons_keep_the_types_of_columns() -> None:
    frame = pl.DataFrame({"a": [1.0, 2.0] * 30})
    model = SelectiveNB().fit(frame, ["no", "yes"] * 30)
    best = model.reasons(frame[1:2].to_pandas())
    assert len(best) == 0
    assert best["row"].dtype.kind in "iu"
    assert best["contribution"].dtype == float
