"""`categorical="auto"`: one level per value where this saves more nats of the labels than groups do."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from scipy.special import expit, gammaln
from scipy.stats import dirichlet_multinomial
from sklearn.metrics import log_loss, roc_auc_score

from bayesieve import MODLGrouper, SelectiveNB, TableEncoder


def saved_by_values(counts: np.ndarray) -> float:
    """The most that a Dirichlet distribution around the shares of the column saves, by trying strengths."""
    of_class, rows = counts.sum(axis=0), counts.sum(axis=1)
    shares = of_class / of_class.sum()
    orders = gammaln(rows + 1.0) - gammaln(counts + 1.0).sum(axis=1)
    logs = [
        (dirichlet_multinomial.logpmf(counts, strength * shares, rows) - orders).sum()
        for strength in np.geomspace(1e-3, 1e6, 400)
    ]
    return float(max(logs) - (of_class * np.log(shares)).sum())


@pytest.mark.slow
@given(
    st.integers(0, 2**32 - 1), st.sampled_from([20, 29, 30, 60]), st.integers(2, 4), st.sampled_from([0.0, 0.5, 2.0])
)
def test_the_cheaper_of_groups_and_values(seed: int, n_values: int, n_classes: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(n_classes, 5.0)) * np.exp(spread * rng.normal(size=(n_values, n_classes)))
    shares /= shares.sum(axis=1, keepdims=True)
    counts = np.array([rng.multinomial(rng.integers(1, 30), share) for share in shares])
    counts = counts[:, counts.any(axis=0)]
    value, label = (np.repeat(at.ravel(), counts.ravel()) for at in np.indices(counts.shape))
    X = pl.DataFrame({"id": [f"v{v}" for v in value]})
    groups = MODLGrouper().fit(X, label)
    level = TableEncoder(categorical="auto").fit(X, label).levels_[0]
    null = groups.null_costs_[0]
    cost = null + np.log(n_values) - saved_by_values(counts)
    assert level.level_score >= groups.level_scores_[0]
    least = groups.costs_[0] - 0.01 * (null - groups.costs_[0])
    if n_values < 30 or cost > least + 1e-2:  # strengths are tried in steps
        assert level.groups == tuple(groups.groups_[0])
    elif cost < least:
        assert level.n_levels == n_values
        if n_values > len(groups.groups_[0]):
            assert level.level_score == pytest.approx(1.0 - cost / null, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "n_rows", "n_values"),
    [
        *((kind, 6000, 300) for kind in ("degrees", "strong", "two kinds", "a few", "rare class")),
        ("degrees", 8000, 2000),
    ],
)
def test_models_are_never_clearly_worse_than_with_groups_or_values(kind: str, n_rows: int, n_values: int) -> None:
    rng = np.random.default_rng(n_values)
    score = rng.normal(size=n_values)
    of_value = {
        "degrees": score,
        "strong": 4 * score,
        "two kinds": np.where(score > 0, 1.5, -1.5),
        "a few": np.where(np.arange(n_values) < 20, 3 * np.sign(score), 0.0),
        "rare class": 1.5 * score - 3,
    }[kind]
    value, x = rng.integers(0, n_values, 3 * n_rows), rng.normal(size=3 * n_rows)
    y = rng.random(3 * n_rows) < expit(of_value[value] + 0.7 * x)
    X = pl.DataFrame({"id": [f"v{v}" for v in value], "x": x})
    auc, loss = {}, {}
    for categorical in ("auto", MODLGrouper(), "values"):
        model = SelectiveNB(encoder=TableEncoder(categorical=categorical)).fit(X[:n_rows], y[:n_rows])
        predicted = model.predict_proba(X[n_rows:])
        auc[str(categorical)] = roc_auc_score(y[n_rows:], predicted[:, 1])
        loss[str(categorical)] = log_loss(y[n_rows:], predicted)
    assert auc["auto"] > max(auc.values()) - 0.005
    assert loss["auto"] < min(loss.values()) + 0.004


def test_the_default_of_models_whose_weights_are_fitted() -> None:
    X, y = pl.DataFrame({"id": list("abcd") * 9, "x": range(36)}), [0, 1, 0, 1] * 9
    for options, expected in [
        ({}, "auto"),
        ({"calibrate": False}, "modl"),
        ({"selector": "map"}, "modl"),
        ({"selector": "map", "calibrate": "weights"}, "auto"),
        ({"prior": "published"}, "modl"),
        ({"encoder": TableEncoder(kinds={"x": "categorical"})}, "auto"),
        ({"encoder": TableEncoder(categorical="values")}, "values"),
    ]:
        assert SelectiveNB(**options).fit(X, y).encoder_.categorical == expected


def test_a_class_without_weight_does_not_count() -> None:
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 60, 3000)
    y = np.where(rng.random(60)[ids] > rng.random(3000), "no", "yes").astype(object)
    X, weights = pl.DataFrame({"id": [f"i{i}" for i in ids]}), np.ones(3200)
    encoder = TableEncoder(categorical="auto").fit(X, y)
    weights[3000:] = 0.0
    more = pl.concat([X, X[:200]])
    again = TableEncoder(categorical="auto").fit(more, [*y, *["never"] * 200], sample_weight=weights)
    assert len(again.levels_[0].groups or ()) == len(encoder.levels_[0].groups or ()) > 30
