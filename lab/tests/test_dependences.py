"""The measures of one supplement, against their definitions and other packages, and as the library's own are tested."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from bayesieve import MRMRSelector, SelectiveNB, load
from bayesieve.counts.dependence import DEPENDENCES
from bayesieve_lab.dependences import DistanceCorrelation, HoeffdingD, MaximalInformation
from lab.tests import dependence_oracles as reference
from tests.counts import test_value_dependence as shared
from tests.counts.test_value_dependence import columns, measure_of

MEASURES = {measure.name: measure for measure in (HoeffdingD, DistanceCorrelation, MaximalInformation)}
ORACLES = {
    "hoeffding": lambda x, y: max(reference.hoeffding(x, y), 0.0),
    "distance_correlation": reference.distance_correlation,
    "maximal_information": reference.maximal_information,
}


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_of_the_definition(name: str, seed: int) -> None:
    x = columns(seed, 40 if name == "maximal_information" else 70)
    expected = [[ORACLES[name](a, b) for b in x] for a in x]
    np.testing.assert_allclose(measure_of(name).of_columns(x, x, None), expected, rtol=1e-9, atol=1e-9)


def test_they_are_known_by_name() -> None:
    assert {name: DEPENDENCES[name] for name in MEASURES} == MEASURES


@pytest.mark.parametrize("measure", ["hoeffding", HoeffdingD(), MaximalInformation(0.4, clumps=5)])
def test_models_with_them_are_saved(measure: Any, tmp_path: Path) -> None:
    model = SelectiveNB(MRMRSelector(2, dependence=measure)).fit(*load_iris(return_X_y=True))
    model.save(tmp_path / "model.json")
    assert str(load(tmp_path / "model.json").selector).split() == str(model.selector).split()


@pytest.mark.parametrize("name", MEASURES)
def test_they_are_measures_as_the_others_are(name: str) -> None:
    if MEASURES[name].weighs_rows:
        shared.test_a_weight_of_two_is_the_row_repeated(name)
    shared.test_constants_few_rows_and_large_numbers(name)
    for weighted in {False, MEASURES[name].weighs_rows}:
        shared.test_the_strongest_within_classes(name, weighted)
    assert MRMRSelector(2, dependence=name).fit(*load_iris(return_X_y=True)).support_.sum() == 2


def test_distance_correlation_is_that_of_dcor() -> None:
    dcor = pytest.importorskip("dcor")
    x = columns(4)[:5]  # it loses digits where numbers are far from 0
    expected = [[dcor.distance_correlation(a, b) for b in x] for a in x]
    np.testing.assert_allclose(measure_of("distance_correlation").of_columns(x, x, None), expected, atol=1e-9)


def test_maximal_information_is_that_of_mine() -> None:
    """Of the package minepy 1.2.6."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    others = [rng.normal(size=400), x + rng.normal(size=400), x**2 + 0.5 * rng.normal(size=400)]
    y = np.stack([*others, np.round(np.sin(3 * x) + 0.2 * rng.normal(size=400), 1)])
    mine = [0.160559276647, 0.481681788065, 0.591053369519, 0.916785254124]
    np.testing.assert_allclose(MaximalInformation().of_columns(x[None], y, None)[0], mine, atol=1e-11)
    np.testing.assert_allclose(MaximalInformation().of_columns(y, x[None], None)[:, 0], mine, atol=1e-11)
    coarse = [0.064128471416, 0.398842661516, 0.542684002401, 0.712653037915]
    values = MaximalInformation(0.5, clumps=4.0).of_columns(np.round(3 * x)[None], y, None)[0]
    np.testing.assert_allclose(values, coarse, atol=1e-11)


@pytest.mark.parametrize("clumps", [15.0, 2.0, 0.1])
@pytest.mark.parametrize("n_rows", [1, 2, 5, 12, 33])
def test_maximal_information_with_few_clumps_and_rows(clumps: float, n_rows: int) -> None:
    x = columns(7, n_rows)
    expected = [[reference.maximal_information(a, b, 0.7, clumps) for b in x] for a in x]
    np.testing.assert_allclose(MaximalInformation(0.7, clumps).of_columns(x, x, None), expected, atol=1e-12)


def test_maximal_information_refuses_what_it_cannot_use() -> None:
    for options, message in (
        ({"alpha": 0}, "alpha must be a number above 0 and up to 1, got 0"),
        ({"alpha": 1.1}, "alpha must be a number above 0 and up to 1"),
        ({"alpha": True}, "alpha must be a number above 0 and up to 1, got True"),
        ({"clumps": math.inf}, "clumps must be a number above 0, got inf"),
        ({"clumps": "many"}, "clumps must be a number above 0, got 'many'"),
    ):
        with pytest.raises(ValueError, match=message):
            MaximalInformation(**options)  # type: ignore[arg-type]
    many = np.zeros((1, 300_000))
    with pytest.raises(ValueError, match=r"of 300,000 rows takes 1\.6 GiB for each thread; choose another"):
        MaximalInformation().of_columns(many, many, None)
    assert repr(MaximalInformation(0.5)) == "MaximalInformation(alpha=0.5, clumps=15.0)"
