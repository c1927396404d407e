"""Numbers that stand out as codes get a caution; long tails, counts and ages do not."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import CautionWarning, SelectiveNB
from bayesieve.classifier.cautions import standing_out

N = 2000
RNG = np.random.default_rng(1)
SHARE = RNG.random(N)
USUAL: dict[str, np.ndarray] = {
    "normal": RNG.normal(50, 10, N).clip(0),
    "percent": RNG.random(N),
    "age": RNG.integers(18, 75, N).astype(float),
    "year": RNG.integers(1950, 2020, N).astype(float),
    "count": RNG.poisson(3, N).astype(float),
}


@pytest.mark.parametrize(
    ("column", "share", "codes"),
    [
        ("normal", 0.08, [-999]),
        ("normal", 0.01, [9999]),
        ("percent", 0.03, [-9, 99]),
        ("percent", 0.05, [-1000]),
        ("age", 0.02, [99]),
        ("age", 0.06, [97, 98, 99]),
        ("year", 0.02, [9999]),
        ("count", 0.01, [99]),
        ("count", 0.02, [-9]),
        ("count", 0.03, [40]),
    ],
)
def test_codes_stand_out(column: str, share: float, codes: list[float]) -> None:
    values = USUAL[column].copy()
    for k, code in enumerate(codes):
        part = share / len(codes)
        values[(k * part <= SHARE) & ((k + 1) * part > SHARE)] = code
    found = standing_out(np.array([USUAL[column], values]))
    assert {k: list(out.codes) for k, out in found.items()} == {1: codes}
    assert found[1].low >= 0 or column == "normal"
    assert found[1].high < 2020


@pytest.mark.parametrize(
    "values",
    [
        *USUAL.values(),
        np.exp(RNG.normal(0, 3, N)),
        RNG.pareto(0.8, N),
        np.where(SHARE < 0.6, 0, np.exp(RNG.normal(3, 2, N)).round()),
        RNG.integers(0, 100, N),  # 99 is one of them
        np.where(SHARE < 0.5, 0, 1),
        np.where(SHARE < 0.1, 99, np.where(SHARE < 0.5, 0, 1)),  # too few others to be far from
        np.where(SHARE < 0.7, 999, RNG.random(N)),  # most rows
        np.where(SHARE < 0.001, 999, RNG.random(N)),  # two rows
        np.where(SHARE < 0.1, 99, RNG.integers(18, 98, N)),
        np.full(N, np.nan),
        np.zeros(N),
    ],
)
def test_ordinary_columns_have_none(values: np.ndarray) -> None:
    assert standing_out(values.astype(float)[None]) == {}


def test_the_caution_names_share_risk_and_remedy() -> None:
    y = np.where(RNG.random(N) < np.where(SHARE < 0.08, 0.6, 0.2), "bad", "good")
    X = pl.DataFrame({"income": np.where(SHARE < 0.08, -999.0, USUAL["normal"]), "age": USUAL["age"]})
    bad = y == "bad"
    here, there = (100 * bad[own].mean() for own in (SHARE < 0.08, SHARE >= 0.08))
    with pytest.warns(CautionWarning, match="Column 'income' is -999 in"):
        model = SelectiveNB(positive="bad").fit(X, y)
    (caution,) = (one for one in model.cautions_ if one.kind == "special code")
    assert caution.columns == ("income",)
    expected = f"class bad has {here:.1f} % of these rows and {there:.1f} % of the others."
    assert expected in caution.sentence
    assert (
        f"is -999 in {100 * (SHARE < 0.08).mean():.1f} % of the rows, far from its other values (" in caution.sentence
    )
    assert caution.sentence.endswith("declare it: special: [-999] in levels= or --levels.")
    with pytest.warns(CautionWarning, match="class good has"):
        SelectiveNB(positive="majority").fit(X, y)
    settled: list[dict[str, Any]] = [{"special": [-999]}, {"cuts": [0.0, 50.0]}, {"exclude": True}]
    for rule in settled:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CautionWarning)
            model = SelectiveNB(levels={"income": rule}).fit(X, y)
        assert "special code" not in {caution.kind for caution in model.cautions_}
