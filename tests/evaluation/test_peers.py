"""Other people's classifiers on raw tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier

from bayesieve.evaluation.peers import BoostedTrees

GERMAN = Path(__file__).parents[2] / "examples" / "data" / "german_credit.csv"


def test_mixed_tables_are_those_of_scikit_learn() -> None:
    frame = pl.read_csv(GERMAN).head(500)
    X, y = frame.drop("class"), frame["class"]
    model = BoostedTrees().fit(X[:400], y[:400])
    pandas = X.to_pandas()
    texts = [name for name in X.columns if X[name].dtype == pl.String]
    for name in texts:
        pandas[name] = pandas[name].astype("category")
    expected = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    expected.fit(pandas[:400], y[:400].to_numpy())
    np.testing.assert_allclose(model.predict_proba(X[400:]), expected.predict_proba(pandas[400:]), rtol=1e-9)
    assert model.predict(X[400:]).tolist() == expected.predict(pandas[400:]).tolist()
    np.testing.assert_array_equal(model.predict_proba(X[400:].to_pandas()), model.predict_proba(X[400:]))


def test_rare_unseen_and_missing_values_are_missing() -> None:
    n = 1200
    names = [f"common{i % 3}" if i % 2 else f"rare{i}" for i in range(n)]
    y = [i % 3 == 0 if i % 2 else i % 4 == 0 for i in range(n)]
    model = BoostedTrees().fit(pl.DataFrame({"name": names}), y)
    assert len(model.categories_[0]) == 254
    assert {"common0", "common1", "common2"} <= set(model.categories_[0])
    kept = next(name for name in names if name.startswith("rare") and name not in model.categories_[0])
    proba = model.predict_proba(pl.DataFrame({"name": [None, "never seen", kept, "common0"]}))
    assert proba[0].tolist() == proba[1].tolist() == proba[2].tolist() != proba[3].tolist()
    assert proba[3, 1] > 0.9


def test_kinds_weights_and_clones() -> None:
    generator = np.random.default_rng(0)
    X = pl.DataFrame({"a": generator.integers(0, 5, 300), "b": generator.normal(size=300)})
    y = (X["a"].to_numpy() % 2 == 0).astype(int)
    model = BoostedTrees(kinds={"a": "categorical"}, random_state=3)
    assert clone(model).get_params() == {"kinds": {"a": "categorical"}, "random_state": 3}
    assert model.fit(X, y).model_.is_categorical_.tolist() == [True, False]
    weights = np.where(y == 1, 0.0, 1.0)
    weights[0] = 1e-6 if y[0] else 1.0
    weights[int(np.argmax(y == 1))] = 1e-6
    assert model.fit(X, y, weights).predict_proba(X)[:, 0].mean() > 0.99
    with pytest.raises(ValueError, match="feature"):
        model.predict_proba(X.select("a"))
