"""Other people's classifiers on raw tables."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder

from bayesieve_lab import RepeatedFolds, compare
from bayesieve_lab.peers import PEERS, BoostedTrees, L1Logistic, OneHotGaussianNB, QuantileNB
from bayesieve_lab.peers.installed import quiet

GERMAN = Path(__file__).parents[2] / "examples" / "data" / "german_credit.csv"
PLAIN = ["hist-gradient-boosting", "categorical-nb", "gaussian-nb", "l1-logistic"]
plain = pytest.mark.parametrize("name", PLAIN)


def mixed(n: int = 240) -> tuple[pl.DataFrame, np.ndarray]:
    """Numbers, words and truth values, some missing, which tell three classes."""
    generator = np.random.default_rng(1)
    y = generator.integers(0, 3, n)
    number = y + generator.normal(scale=0.5, size=n)
    words = np.array(["red", "green", "blue"])[np.where(generator.random(n) < 0.8, y, 0)]
    some = generator.random(n) < 0.1
    frame = pl.DataFrame(
        {
            "number": np.where(some, np.nan, number),
            "word": [None if gone else str(word) for gone, word in zip(some, words, strict=True)],
            "flag": generator.random(n) < 0.5,
            "whole": generator.integers(0, 4, n),
            "nothing": pl.Series([None] * n, dtype=pl.Float64),
            "constant": ["same"] * n,
        }
    )
    return frame, np.array(["a", "b", "c"])[y]


def german() -> tuple[pl.DataFrame, pl.Series]:
    frame = pl.read_csv(GERMAN).head(500)
    return frame.drop("class"), frame["class"]


@plain
def test_probabilities_of_mixed_rows_never_seen(name: str) -> None:
    X, y = mixed()
    model = PEERS[name](kinds={"whole": "categorical"}, random_state=0).fit(X[:200], y[:200])
    new = X[200:].with_columns(
        word=pl.Series(["never seen", None, *X["word"][202:]]),
        whole=pl.Series([77, None, *X["whole"][202:]]),
        nothing=pl.lit(3.5),
        constant=pl.lit("other"),
    )
    proba = model.predict_proba(new)
    assert proba.shape == (40, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(new)), proba, rtol=1e-9, atol=1e-300)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert (model.predict(X[200:]) == y[200:]).mean() > 0.7
    np.testing.assert_array_equal(model.predict_proba(new.to_pandas()), proba)
    np.testing.assert_array_equal(model.predict_proba(new[:5]), proba[:5])


@plain
def test_clones_labels_and_columns(name: str) -> None:
    X, y = mixed(120)
    model = PEERS[name](kinds={"flag": "numeric"}, random_state=3)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert (copy.get_params()["kinds"], copy.get_params()["random_state"]) == ({"flag": "numeric"}, 3)
    assert model.fit(X, (y == "a").astype(bool)).predict(X).dtype == bool
    assert set(model.fit(X, np.where(y == "a", 10, 2)).predict(X).tolist()) == {2, 10}
    with pytest.raises(ValueError, match="feature"):
        model.predict_proba(X.select("number", "word"))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:-1])


@plain
def test_weights_count_rows_and_rows_of_weight_zero_are_not_there(name: str) -> None:
    X, y = mixed(200)
    weights = np.tile([0.0, 1.0, 1.0, 1.0], 50)
    model = PEERS[name]().fit(X, y, weights)
    kept = np.flatnonzero(weights)
    np.testing.assert_allclose(model.predict_proba(X), PEERS[name]().fit(X[kept], y[kept]).predict_proba(X), rtol=1e-9)
    noise = X.select("whole")
    assert PEERS[name]().fit(noise, y).predict_proba(noise)[:, 0].mean() < 0.5
    assert PEERS[name]().fit(noise, y, np.where(y == "a", 50.0, 1.0)).predict_proba(noise)[:, 0].min() > 0.9
    fewer = PEERS[name]().fit(X, y, (y != "b").astype(float))
    assert fewer.classes_.tolist() == ["a", "c"]
    assert fewer.predict_proba(X).shape == (200, 2)


@plain
def test_a_single_class_is_certain(name: str) -> None:
    X, _ = mixed(60)
    model = PEERS[name]().fit(X, ["only"] * 60)
    assert model.predict_proba(X[:3]).tolist() == [[1.0]] * 3
    assert model.predict_log_proba(X[:3]).tolist() == [[0.0]] * 3
    assert model.predict(X[:2]).tolist() == ["only", "only"]
    X, y = mixed(60)
    assert model.fit(X, y).predict_proba(X).shape == (60, 3)


@plain
def test_a_table_that_tells_nothing_gives_the_shares(name: str) -> None:
    X = pl.DataFrame({"same": [7.0] * 40, "gone": pl.Series([None] * 40, dtype=pl.Float64)})
    proba = PEERS[name]().fit(X, ["no"] * 30 + ["yes"] * 10).predict_proba(X)
    np.testing.assert_allclose(proba, np.tile([0.75, 0.25], (40, 1)), atol=0.03)  # smoothing
    assert np.ptp(proba, axis=0).max() == 0


def test_all_stand_in_a_comparison() -> None:
    X, y = mixed(90)
    y[:2] = "rare"  # in one fold or the other it is missing from training
    methods = {name: PEERS[name](kinds={"whole": "categorical"}, random_state=0) for name in PLAIN}
    found = compare(methods, X, y, RepeatedFolds(n_folds=3), n_jobs=2)
    assert found.errors() == []
    assert (found.matrix("accuracy") > 0.7).all()
    alone = compare(methods, X, y, RepeatedFolds(n_folds=3))
    np.testing.assert_array_equal(found.matrix("log_loss"), alone.matrix("log_loss"))


@plain
def test_sparse_rows_are_the_dense_ones(name: str) -> None:
    generator = np.random.default_rng(5)
    X = generator.poisson(0.4, (120, 6)).astype(float)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    found = PEERS[name]().fit(csr_array(X[:80]), y[:80]).predict_proba(csr_array(X[80:]))
    np.testing.assert_allclose(found, PEERS[name]().fit(X[:80], y[:80]).predict_proba(X[80:]), rtol=1e-9)


def test_trees_are_those_of_scikit_learn() -> None:
    X, y = german()
    model = BoostedTrees().fit(X[:400], y[:400])
    pandas = X.to_pandas()
    texts = [name for name in X.columns if X[name].dtype == pl.String]
    for name in texts:
        pandas[name] = pandas[name].astype("category")
    expected = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    expected.fit(pandas[:400], y[:400].to_numpy())
    np.testing.assert_allclose(model.predict_proba(X[400:]), expected.predict_proba(pandas[400:]), rtol=1e-9)
    assert model.predict(X[400:]).tolist() == expected.predict(pandas[400:]).tolist()


def test_rare_unseen_and_missing_values_are_missing_to_trees() -> None:
    n = 1200
    names = [f"common{i % 3}" if i % 2 else f"rare{i}" for i in range(n)]
    y = [i % 3 == 0 if i % 2 else i % 4 == 0 for i in range(n)]
    model = BoostedTrees().fit(pl.DataFrame({"name": names}), y)
    assert len(model.columns_[0]) == 254
    assert {"common0", "common1", "common2"} <= set(model.columns_[0])
    kept = next(name for name in names if name.startswith("rare") and name not in model.columns_[0])
    proba = model.predict_proba(pl.DataFrame({"name": [None, "never seen", kept, "common0"]}))
    assert proba[0].tolist() == proba[1].tolist() == proba[2].tolist() != proba[3].tolist()
    assert proba[3, 1] > 0.9


def test_trees_know_the_kinds() -> None:
    X = pl.DataFrame({"a": np.arange(300) % 5, "b": np.random.default_rng(0).normal(size=300)})
    model = BoostedTrees(kinds={"a": "categorical"}).fit(X, X["a"].to_numpy() % 2)
    assert model.model_.is_categorical_.tolist() == [True, False]


def test_categorical_levels_are_those_of_scikit_learn() -> None:
    X, y = german()
    numbers = [name for name in X.columns if X[name].dtype.is_numeric() and X[name].n_unique() > 50]
    assert len(numbers) == 2
    texts = [name for name in X.columns if X[name].dtype == pl.String]
    train, test = X[:400].to_pandas(), X[400:].to_pandas()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bins that are too narrow, and of a default that changes
        bins = KBinsDiscretizer(10, encode="ordinal", strategy="quantile", quantile_method="linear").fit(train[numbers])
    values = OrdinalEncoder().fit(train[texts])

    def levels(frame: Any) -> np.ndarray:
        return np.hstack([bins.transform(frame[numbers]), values.transform(frame[texts])]).astype(int)

    found = QuantileNB().fit(X[:400].select(numbers + texts), y[:400])
    own = CategoricalNB(min_categories=found.n_levels_).fit(levels(train), y[:400].to_numpy())
    np.testing.assert_allclose(
        found.predict_proba(X[400:].select(numbers + texts)), own.predict_proba(levels(test)), rtol=1e-9
    )


def test_numbers_of_few_values_keep_them_apart() -> None:
    X = pl.DataFrame({"flag": [0, 1] * 20, "mostly": [0] * 38 + [1, 2]})
    model = QuantileNB().fit(X, [0, 1] * 20)
    assert [bounds.tolist() for bounds in model.columns_] == [[1.0], []]
    assert model.predict(X).tolist() == [0, 1] * 20


def test_categorical_levels_of_what_is_missing_and_alpha() -> None:
    X = pl.DataFrame({"word": ["a"] * 6 + ["b"] * 6 + [None] * 4})
    y = ["no"] * 6 + ["yes"] * 10
    model = QuantileNB(alpha=0.5).fit(X, y)
    # (4 + 0.5) / (10 + 1.5) of "yes" against 0.5 / (6 + 1.5) of "no", by hand
    yes, no = 10 / 16 * 4.5 / 11.5, 6 / 16 * 0.5 / 7.5
    proba = model.predict_proba(pl.DataFrame({"word": [None, "never seen"]}))
    np.testing.assert_allclose(proba[:, 1], yes / (yes + no), rtol=1e-12)


def test_gaussian_columns_are_means_and_shares() -> None:
    X, y = mixed(200)
    X = X.with_columns(word=pl.Series(["rare", *X["word"][1:]]))  # 0.5 % of the rows: no column
    found = OneHotGaussianNB().fit(X.select("number", "word"), y)
    number = X["number"].to_numpy()
    known = np.where(np.isnan(number), np.nanmean(number), number)
    columns = [known, *((X["word"] == word).fill_null(False).to_numpy() for word in ("blue", "green", "red"))]
    matrix = np.column_stack([*columns, X["word"].is_null().to_numpy()]).astype(float)
    own = GaussianNB().fit(matrix, y)
    np.testing.assert_allclose(found.predict_proba(X.select("number", "word")), own.predict_proba(matrix), rtol=1e-9)
    unseen = found.predict_proba(pl.DataFrame({"number": [0.2], "word": ["new"]}))
    np.testing.assert_allclose(unseen, own.predict_proba([[0.2, 0, 0, 0, 0]]), rtol=1e-9)


def test_logistic_rows_are_scaled_numbers_and_levels() -> None:
    """The chosen penalty has the least loss, and its coefficients are those of scikit-learn on dense columns."""
    X, y = german()
    number = X.columns[1]
    assert X[number].dtype.is_numeric()
    texts = [name for name in X.columns if X[name].dtype == pl.String]
    train, test = X[:400].to_pandas(), X[400:].to_pandas()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bins = KBinsDiscretizer(10, encode="onehot-dense", strategy="quantile", quantile_method="linear")
        bins.fit(train[[number]])
    values = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(train[texts])
    mean, deviation = train[number].mean(), train[number].std(ddof=0)

    def columns(frame: Any) -> np.ndarray:
        scaled = (frame[[number]].to_numpy() - mean) / deviation
        return np.hstack([bins.transform(frame[[number]]), values.transform(frame[texts]), scaled])

    found = L1Logistic().fit(X[:400].select(number, *texts), y[:400])
    strengths = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
    losses = []
    own = LogisticRegression(solver="liblinear", intercept_scaling=10, tol=1e-3, random_state=0, **penalty())
    labels = y[:400].to_numpy()
    for strength in strengths:
        folds = StratifiedKFold(3, shuffle=True, random_state=0)
        held_out = cross_val_predict(
            own.set_params(C=strength), columns(train), labels, cv=folds, method="predict_proba"
        )
        losses.append(log_loss(labels, held_out))
    assert strengths[int(np.argmin(losses))] == found.model_.C
    own.set_params(C=found.model_.C).fit(columns(train), labels)
    expected = own.predict_proba(columns(test))
    np.testing.assert_allclose(found.predict_proba(X[400:].select(number, *texts)), expected, atol=0.01)
    assert 1 <= found.n_features_selected_ <= len(texts) + 1


def penalty() -> dict[str, Any]:
    return {"penalty": "l1"} if LogisticRegression().get_params().get("penalty") == "l2" else {"l1_ratio": 1.0}


def test_logistic_drops_noise() -> None:
    generator = np.random.default_rng(4)
    X = generator.normal(size=(400, 12))
    y = generator.random(400) < 1 / (1 + np.exp(-3 * X[:, 0]))
    model = L1Logistic().fit(X, y)
    assert model.n_features_selected_ < 12
    assert np.abs(model.model_.coef_).argmax() >= len(model.model_.coef_[0]) - 12  # the first number, not its tenths


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("khiops", "khiops"),
        ("khiops-trees-pairs", "khiops"),
        ("ebm", "interpret"),
        ("catboost", "catboost"),
        ("scorecard", "optbinning"),
        ("figs", "imodels"),
        ("fasterrisk", "fasterrisk"),
    ],
)
def test_a_missing_package_is_a_sentence(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayesieve_lab.peers.installed.find_spec", lambda asked: None if asked == package else 1)
    with pytest.raises(ValueError, match=r"is not installed; run pip install './lab\[peers\]' in the repository.*\.$"):
        PEERS[name](kinds=None, random_state=0)


def test_quiet_of_several_threads_leaves_the_filters_as_they_were() -> None:
    first, second = threading.Event(), threading.Event()

    def one() -> None:
        with quiet():
            first.set()
            second.wait(5)

    def other() -> None:
        first.wait(5)
        with quiet():
            second.set()
            thread.join(5)
            warnings.warn("There are no informative variables. And so on.", UserWarning, stacklevel=2)

    thread = threading.Thread(target=one)
    with warnings.catch_warnings(record=True) as heard:
        inside = list(warnings.filters)
        thread.start()
        other()
        assert list(warnings.filters) == inside
    assert heard == []
