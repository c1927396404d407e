"""With hidden counts, no model file, report or export reveals a count of few rows."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bayesieve
from bayesieve import IndicatorEncoder, SelectiveNB
from bayesieve.classifier.report_data import report_data
from bayesieve.classifier.scoring import with_card
from bayesieve.scorecard.hidden_counts import with_hidden_counts
from tests.cases import mostly_slow
from tests.scorecard.test_counterfactuals import rows

SEVERAL: list[dict[str, Any]] = [{"pairs": [["a", "b"], ["c", "d"]]}, {"calibrate": "levels"}, {"indicators": 9}]


def fitted(indicators: int = 0, **options: Any) -> tuple[SelectiveNB, pl.DataFrame, np.ndarray]:
    X, y = rows(2)
    X = X.select("a", "b") if indicators else X.drop("e")
    if indicators:
        options["encoder"] = IndicatorEncoder(indicators)
    return SelectiveNB(random_state=0, n_jobs=1, **options).fit(X, y), X, y


def counts_in(part: Any, within: bool = False) -> list[float]:
    """All numbers of rows by cell in a model file."""
    if isinstance(part, dict):
        return [n for key, own in part.items() for n in counts_in(own, within or key in ("counts", "cells"))]
    if isinstance(part, list):
        return [n for own in part for n in counts_in(own, within)]
    return [part] if within and isinstance(part, (int, float)) and not isinstance(part, bool) else []


@pytest.mark.parametrize(
    ("options", "n_fewest"),
    mostly_slow(product(SEVERAL, [5, 12]), [(SEVERAL[0], 5), (SEVERAL[1], 12), (SEVERAL[2], 5)]),
)
def test_a_file_tells_no_small_count_and_predicts_the_same(options: Any, n_fewest: int, tmp_path: Path) -> None:
    model, X, _ = fitted(**options)
    path = tmp_path / "model.json"
    model.save(path, min_count=n_fewest)
    loaded = bayesieve.load(path)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert model.scorecard_.features[0].counts.min() >= 0  # the model itself is as it was
    features = json.loads(path.read_text())["features"]
    counts = [n for feature in features for key in ("counts",) for n in counts_in({key: feature.get(key)})]
    for feature in features:
        counts += counts_in({key: feature[key] for key in ("levels", "pair", "indicator") if key in feature})
        counts += counts_in({"counts": (feature.get("cells") or {}).get("counts", [])})
    assert any(n > 0 for n in counts)
    assert all(n % n_fewest == 0 for n in counts)
    low, high = (loaded.predict_interval(X) - model.predict_interval(X)).T
    assert np.all(low <= 0.1)  # wider rather than narrower: rare cells are told from those without rows no more
    assert np.all(high >= -0.1)


def test_reports_and_frames_join_cells_of_few_rows() -> None:
    model, _, _ = fitted(calibrate="levels")
    hidden = report_data(with_card(model, with_hidden_counts(model.scorecard_, 40)), min_count=40)
    for feature in hidden.features:
        cells = feature.get("cells", {"rows": [], "counts": []})
        assert feature["grid"] is not None or all(n >= 40 for n in cells["rows"][:-1])
        assert all(n % 40 == 0 for counts in cells["counts"] for n in counts)
    wide, _, _ = fitted()
    frame, joined = wide.scorecard_.to_frame(), wide.scorecard_.to_frame(min_count=40)
    few = frame.filter(~pl.col("is_unseen") & (pl.col("rows") < 40))
    assert few.height > 0
    line = joined.filter(pl.col("rows").is_null())
    assert line.height == few["feature"].n_unique()
    assert line["low"].is_null().all()
    assert line["values"].is_null().all()
    assert (joined.filter(pl.col("feature").is_not_null())["rows"].drop_nulls() % 40 == 0).all()


def test_counts_that_contributions_give_away_cannot_be_hidden(tmp_path: Path) -> None:
    model, _, _ = fitted(calibrate=False)
    with pytest.raises(ValueError, match="calibrate="):
        model.save(tmp_path / "model.json", min_count=5)
    assert not (tmp_path / "model.json").exists()
    with pytest.raises(ValueError, match="min_count"):
        model.save(tmp_path / "model.json", min_count=0)
