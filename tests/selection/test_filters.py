"""Filters that score features one by one: golden values, rules of selection, and the way through the classifier."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bayesieve import (
    DiscreteNB,
    ImpreciseInformationGainSelector,
    IndicatorEncoder,
    InformationGainSelector,
    SelectiveNB,
    TableEncoder,
)
from bayesieve.selection.filters import FilterSelector
from bayesieve.selection.row_splits import hold_out
from tests.reference import information

KINDS = (InformationGainSelector, ImpreciseInformationGainSelector)
RNG = np.random.default_rng(7)
N = 200
Y = RNG.integers(0, 2, N)
FRAME = pl.DataFrame(
    {
        "number": Y + RNG.normal(scale=0.3, size=N),
        "noise": RNG.normal(size=N),
        "text": [None if RNG.random() < 0.1 else f"t{(c + (RNG.random() < 0.25)) % 3}" for c in Y],
        "same": ["constant"] * N,
        "twin": Y + RNG.normal(scale=0.3, size=N),
    }
).with_columns(twin=pl.col("number"))


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_fit_sets(kind: type[FilterSelector]) -> None:
    selector = kind().fit(FRAME, Y)
    assert selector.weights_.tolist() == [1.0, 0.0, 1.0, 0.0, 1.0]
    assert selector.scores_.shape == (5,)
    assert selector.scores_[[1, 3]].tolist() == [0.0, 0.0]  # one level each
    assert selector.scores_[0] == selector.scores_[4] > selector.scores_[2] > 0
    assert selector.ranking_.tolist() == [0, 4, 2, 1, 3]  # copies in the order of the columns
    trace = selector.trace_.to_frame()
    assert trace["feature"].to_list() == [None, "number", "twin", "text", "noise", "same"]
    assert trace["criterion"].to_list() == [0.0, *selector.scores_[selector.ranking_]]
    assert trace["n_features"].to_list() == [0, 1, 2, 3, 4, 5]
    assert selector.transform(FRAME).columns == ["number", "text", "twin"]


def test_thresholds_and_numbers_of_features() -> None:
    gains = InformationGainSelector().fit(FRAME, Y).scores_
    between = (gains[0] + gains[2]) / 2
    for options in ({"threshold": between}, {"alpha": between / np.log(2)}, {"n_features_to_select": 2}):
        selector = InformationGainSelector(**options).fit(FRAME, Y)
        assert selector.support_.tolist() == [True, False, False, False, True]
    assert InformationGainSelector(n_features_to_select=1).fit(FRAME, Y).support_.tolist() == [True] + [False] * 4
    assert not InformationGainSelector(alpha=1.0).fit(FRAME, Y).support_.any()
    at_the_gain = gains[2] / np.log(2)
    assert InformationGainSelector(alpha=at_the_gain).fit(FRAME, Y).support_.tolist() == [
        True,
        False,
        True,
        False,
        True,
    ]
    assert InformationGainSelector(threshold=gains[2]).fit(FRAME, Y).support_.tolist() == [True, *[False] * 3, True]
    assert ImpreciseInformationGainSelector(threshold=-1.0).fit(FRAME, Y).support_.all()


def test_the_number_of_features_is_chosen_on_held_out_rows() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 400)
    good = (y[:, None] + (rng.random((400, 3)) < 0.2)) % 2
    codes = np.hstack([rng.integers(0, 30, (400, 12)), good])  # much chance, little to tell
    selector = InformationGainSelector(n_features_to_select="auto", smoothing=1.0, encoder=None).fit(codes, y)
    path = selector.trace_.to_frame()
    assert path["validation"].null_count() == 0
    size = int(path["validation"].arg_min())  # the first of equals
    np.testing.assert_array_equal(np.flatnonzero(selector.support_), np.sort(selector.ranking_[:size]))
    assert 0 < size < 15
    assert selector.support_[12:].all()
    coded, _ = selector._code(codes, y, None)
    fit, held_out = hold_out(coded, 0.5, 0, "")
    expected = [information.mutual_information(column.tolist(), fit.class_codes.tolist()) for column in fit.codes]
    np.testing.assert_allclose(selector.scores_, expected, rtol=0, atol=1e-12)
    model = DiscreteNB(smoothing=1.0).fit(fit.select(selector.support_))
    error = np.mean(model.predict(held_out.select(selector.support_)) != held_out.class_codes)
    assert path["validation"][size] == pytest.approx(error, abs=1e-12)


def test_a_class_of_weight_zero_is_none() -> None:
    codes, y = np.array([[0], [0], [1], [1], [0]]), np.array([0, 0, 1, 1, 2])
    weighted = ImpreciseInformationGainSelector(encoder=None).fit(codes, y, sample_weight=[1, 1, 1, 1, 0])
    without = ImpreciseInformationGainSelector(encoder=None).fit(codes[:4], y[:4])
    assert weighted.scores_.tolist() == without.scores_.tolist()
    coded = without._code(codes[:4], y[:4], None)[0].with_rows(classes=np.arange(3))
    assert ImpreciseInformationGainSelector().fit_coded(coded).scores_.tolist() == without.scores_.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_indicators_of_scores(kind: type[FilterSelector]) -> None:
    scores = FRAME.select("number", "noise")
    selector = kind(encoder=IndicatorEncoder([0.0, 0.5, 1.0])).fit(scores, Y)
    coded = TableEncoder(categorical="values", kinds=dict.fromkeys("abcdef", "categorical")).fit_transform_coded(
        pl.DataFrame({name: selector.encoder_.transform(scores)[:, k] for k, name in enumerate("abcdef")}), Y
    )
    np.testing.assert_allclose(selector.scores_, kind().fit_coded(coded).scores_, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("selector", "told"),
    [
        (InformationGainSelector(n_features_to_select=6), "n_features_to_select=6 is more than the 5 features"),
        (InformationGainSelector(alpha=0.1, n_features_to_select=2), "exclude each other"),
    ],
)
def test_options_without_meaning(selector: FilterSelector, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        selector.fit(FRAME, Y)


def test_the_report_tells_of_the_ranking(tmp_path: Path) -> None:
    SelectiveNB(InformationGainSelector(alpha=0.1)).fit(FRAME, Y).report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert re.search(r"5 features ranked by information gain in .* The first 3 were chosen", page)
