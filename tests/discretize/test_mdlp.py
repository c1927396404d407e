"""Cuts of Fayyad & Irani: against Weka's, and against the definition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from bayesieve import MDLPDiscretizer, SelectiveNB, TableEncoder, load
from tests import golden
from tests.reference import mdlp


def column(values: object) -> np.ndarray:
    return np.asarray(values, dtype=float)[:, None]


@pytest.mark.parametrize("name", golden.WEKA_DISCRETIZED)
def test_cuts_are_those_of_weka(name: str) -> None:
    expected = golden.values("weka", f"discretize_{name}")["cut_points"]["default_fayyad_irani"]
    header, rows = golden.raw_table(name)
    X = np.array([row[: len(expected)] for row in rows], dtype=float)
    assert len(header) == len(expected) + 1
    found = MDLPDiscretizer().fit(X, golden.target(name)).cut_points_
    assert [cuts.tolist() for cuts in found] == list(expected.values())


@given(st.data(), st.integers(1, 4), st.integers(1, 4), st.integers(1, 120))
def test_cuts_are_those_of_the_definition(data: st.DataObject, n_classes: int, noise: int, n_rows: int) -> None:
    # Classes that follow the value, more or less, so that there is something to cut.
    values = data.draw(st.lists(st.integers(0, 30), min_size=n_rows, max_size=n_rows))
    classes = [(v // 8 + data.draw(st.integers(0, noise)) // noise) % n_classes for v in values]
    found = MDLPDiscretizer().fit(column(values), classes).cut_points_[0].tolist()
    assert found == mdlp.cut_points(values, classes)


def test_the_lowest_of_equal_cuts_is_taken() -> None:
    # 20 | 24 | 20: both outer bounds are equally good and only one cut is worth its length.
    classes = np.concatenate([np.tile([0, 0, 0, 0, 1], 8), np.tile([0, 1], 20), np.tile([0, 1, 1, 1, 1], 8)])
    values = np.repeat([0.0, 1.0, 2.0], 40)
    assert MDLPDiscretizer().fit(column(values), classes).cut_points_[0].tolist() == [0.5]
    assert mdlp.cut_points(values, classes) == [0.5]


@pytest.mark.parametrize(
    ("n_rows", "n_distinct", "n_classes"),
    [(3000, 10**9, 2), (3000, 10**9, 300), (20_000, 30, 3)],  # rows of few values are counted before they are sorted
)
def test_many_rows(n_rows: int, n_distinct: int, n_classes: int) -> None:
    rng = np.random.default_rng(5)
    values = rng.integers(0, n_distinct, n_rows)
    classes = ((values / n_distinct + rng.uniform(0, 0.2, n_rows)) / 1.2 * n_classes).astype(int)
    found = MDLPDiscretizer().fit(column(values), classes).cut_points_[0]
    np.testing.assert_array_equal(found, mdlp.cut_points(values, classes))
    assert found.size >= 1


def test_fractional_weights_move_the_cut() -> None:
    values, classes = np.repeat([0.0, 1.0, 2.0], 20), np.repeat([0, 1, 1], 20)
    classes[[25, 35]] = 0
    X, weights = column(values), np.ones(60)
    assert MDLPDiscretizer().fit(X, classes, weights * 1.5).cut_points_[0].tolist() == [0.5]
    weights[20:40] = np.where(classes[20:40] == 0, 30.5, 0.25)
    assert MDLPDiscretizer().fit(X, classes, weights).cut_points_[0].tolist() == [1.5]


def test_a_saved_classifier_codes_with_the_same_cuts(tmp_path: object) -> None:
    X, y = column(np.arange(60.0)), np.repeat([0, 1, 0], 20)
    frame = pd.DataFrame({"size": X[:, 0], "job": np.where(y == 1, "a", "b")})
    model = SelectiveNB("all", encoder=TableEncoder(numeric="mdlp", categorical="values")).fit(frame, y)
    model.save(f"{tmp_path}/model.json")
    again = load(f"{tmp_path}/model.json")
    assert "numeric='mdlp'" in str(again.encoder)
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
