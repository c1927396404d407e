"""Classifiers of packages that the extra `peers` of the lab brings; skipped where these are not installed."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from bayesieve import SelectiveNB
from bayesieve_lab import RepeatedFolds, compare
from bayesieve_lab.peers import PEERS
from bayesieve_lab.peers.installed import quiet
from bayesieve_lab.peers.khiops_nb import khiops_classifier, start_khiops

GERMAN = Path(__file__).parents[2] / "examples" / "data" / "german_credit.csv"
PACKAGES = {"khiops": "khiops", "khiops-trees-pairs": "khiops", "ebm": "interpret", "scorecard": "optbinning"}
PACKAGES |= {"figs": "imodels", "fasterrisk": "fasterrisk", "catboost": "catboost"}
peers = pytest.mark.parametrize("name", list(PACKAGES))
any_classes = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name == "catboost" else ())  # a thousand trees for each class
        for name in PACKAGES
        if name not in ("scorecard", "fasterrisk")
    ],
)


def peer(name: str, **options: Any) -> Any:
    """A peer on one core that must not warn of anything."""
    with quiet():
        pytest.importorskip(PACKAGES[name])
    model = PEERS[name](**options)
    return model.set_params(n_jobs=1) if "n_jobs" in model.get_params() else model


def awkward(n: int = 150) -> tuple[pl.DataFrame, np.ndarray]:
    """Names and values that a file has to escape, and cells that are missing; two classes."""
    generator = np.random.default_rng(2)
    y = generator.integers(0, 2, n)
    some = generator.random(n) < 0.1
    texts = np.array(['a\t"b"', "c\nd", "", "é `*`"])[np.where(generator.random(n) < 0.8, 2 * y, 3)]
    frame = pl.DataFrame(
        {
            "tab\there": np.where(some, np.nan, y + generator.normal(scale=0.8, size=n)),
            'tick` quote"': [None if gone else str(text) for gone, text in zip(some, texts, strict=True)],
            "whole": generator.integers(0, 3, n),
            "nothing": pl.Series([None] * n, dtype=pl.Float64),
        }
    )
    return frame, y


@pytest.fixture(autouse=True)
def _silent(capfd: pytest.CaptureFixture[str]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    assert capfd.readouterr() == ("", "")


@peers
def test_awkward_tables_and_rows_never_seen(name: str) -> None:
    X, y = awkward()
    model = peer(name, kinds={"whole": "categorical"}, random_state=0)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    model.fit(X[:120], y[:120] == 1)
    new = X[120:].with_columns(
        pl.Series('tick` quote"', ["never seen", None, *X['tick` quote"'][122:]]),
        nothing=pl.lit(3.5),
        whole=pl.Series([77, None, *X["whole"][122:]]),
    )
    proba = model.predict_proba(new)
    assert proba.shape == (30, 2)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert model.classes_.tolist() == [False, True]
    assert (model.predict(X[120:]) == (y[120:] == 1)).mean() > 0.7
    np.testing.assert_array_equal(clone(model).fit(X[:120].to_pandas(), y[:120] == 1).predict_proba(new), proba)


@any_classes
def test_many_classes_and_one(name: str) -> None:
    X, _ = awkward()
    y = np.repeat(np.arange(100, 112), 13)[: len(X)]
    X = X.with_columns(code=pl.Series((y - 100) * 10.0))
    model = peer(name).fit(X, y)
    assert model.classes_.tolist() == list(range(100, 112))
    assert (model.predict(X) == y).mean() > 0.9
    only = model.fit(X, ["only"] * len(X))
    assert only.predict_proba(X[:2]).tolist() == [[1.0], [1.0]]
    assert getattr(only, "n_features_selected_", 0) == 0


@any_classes
def test_in_a_comparison_whose_folds_lack_a_class(name: str) -> None:
    X, _ = awkward(90)
    y = np.where(X["whole"].to_numpy() == 1, "b", "a").astype(object)
    y[:1] = "rare"
    methods = {"ours": SelectiveNB("map"), name: peer(name, random_state=1)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ours may warn; theirs are looked at elsewhere
        found = compare(methods, X, y, RepeatedFolds(n_folds=2), n_jobs=2)
    assert found.errors() == []
    assert (found.matrix("accuracy") > 0.8).all()


def test_khiops_has_no_weights_and_says_what_it_keeps() -> None:
    frame = pl.read_csv(GERMAN)
    X, y = frame.drop("class"), frame["class"]
    model = peer("khiops").fit(X[:700], y[:700])
    assert 1 <= model.n_features_selected_ <= 10
    assert model.n_features_selected_ == len(
        model.model_.model_report_.modeling_report.get_snb_predictor().selected_variables
    )
    with pytest.raises(ValueError, match="KhiopsNB does not support row weights; omit weights"):
        model.fit(X, y, np.arange(1000.0))
    np.testing.assert_array_equal(
        model.predict_proba(X[700:]), peer("khiops").fit(X[:700], y[:700], np.ones(700)).predict_proba(X[700:])
    )


def test_khiops_gets_what_its_own_frames_say() -> None:
    """Values handed over as digits are worth what the texts themselves are."""
    frame = pl.read_csv(GERMAN)
    X, y = frame.drop("class"), frame["class"]
    model = peer("khiops").fit(X[:700], y[:700])
    with quiet():
        pandas = X.with_columns(pl.selectors.numeric().cast(float)).to_pandas()
        own = khiops_classifier(1).fit(pandas[:700], y[:700].to_numpy().astype(object))
        expected = own.predict_proba(pandas[700:])
    np.testing.assert_allclose(model.predict_proba(X[700:]), expected, atol=1e-9)


def test_khiops_of_a_table_that_tells_nothing() -> None:
    X = pl.DataFrame({"noise": np.random.default_rng(0).normal(size=60)})
    model = peer("khiops").fit(X, np.tile(["no", "no", "yes"], 20))
    assert model.n_features_selected_ == 0
    np.testing.assert_allclose(model.predict_proba(X), np.tile([2 / 3, 1 / 3], (60, 1)), atol=0.02)


def test_khiops_leaves_no_files(tmp_path: Path) -> None:
    X, y = awkward()
    model = peer("khiops")
    runner = start_khiops().get_runner()
    usual, runner.root_temp_dir = runner.root_temp_dir, str(tmp_path)
    try:
        model.fit(X, y).predict_proba(X)
    finally:
        runner.root_temp_dir = usual
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["ebm", "scorecard", "figs", "catboost"])
def test_those_that_take_weights(name: str) -> None:
    X, y = awkward()
    noise = X.select("whole")
    heavy = peer(name, random_state=0).fit(noise, y, np.where(y == 1, 50.0, 1.0)).predict_proba(noise)
    assert heavy[:, 1].min() > 0.7  # the most that FIGS gives is 0.73


def test_khiops_adds_trees_and_pairs() -> None:
    """Two noisy halves of an exclusive or: worthless alone, certain together."""
    generator = np.random.default_rng(3)
    halves = generator.integers(0, 2, (600, 2))
    X = pl.DataFrame({"a": halves[:, 0].astype(str), "b": halves[:, 1].astype(str)})
    y = halves[:, 0] ^ halves[:, 1]
    assert (peer("khiops").fit(X, y).predict(X) == y).mean() < 0.6
    model = peer("khiops-trees-pairs").fit(X, y)
    assert (model.predict(X) == y).mean() > 0.99
    assert model.n_features_selected_ >= 1


def test_ebm_counts_columns_and_pairs() -> None:
    generator = np.random.default_rng(3)
    X = generator.integers(0, 2, (300, 2)).astype(float)
    model = peer("ebm", random_state=0).fit(X, (X[:, 0] != X[:, 1]).astype(int))
    assert model.n_features_selected_ == 3
    assert len(model.model_.term_features_[-1]) == 2


def test_a_scorecard_is_bins_and_their_evidence() -> None:
    """The weights of evidence of two values, by hand, and the logistic regression on them."""
    word = np.array(["a"] * 60 + ["b"] * 40)
    y = np.array(["no"] * 45 + ["yes"] * 15 + ["no"] * 10 + ["yes"] * 30)
    model = peer("scorecard").fit(pl.DataFrame({"word": word}), y)
    evidence = np.where(word == "a", np.log((45 / 55) / (15 / 45)), np.log((10 / 55) / (30 / 45)))
    own = LogisticRegression(max_iter=1000).fit(evidence[:, None], y)
    np.testing.assert_allclose(
        model.predict_proba(pl.DataFrame({"word": word})), own.predict_proba(evidence[:, None]), atol=1e-4
    )
    assert model.n_features_selected_ == 1


@pytest.mark.parametrize(("name", "title"), [("scorecard", "Scorecards"), ("fasterrisk", "Risk scores")])
def test_three_classes_are_refused_in_a_sentence(name: str, title: str) -> None:
    X, y = awkward(60)
    three = np.where(X["whole"].to_numpy() == 1, 2, y)
    with pytest.raises(ValueError, match=f"{title} need two classes, got 3; omit this classifier"):
        peer(name).fit(X, three)


def test_a_scorecard_in_a_comparison() -> None:
    X, y = awkward()
    found = compare({"scorecard": peer("scorecard")}, X, y, RepeatedFolds(n_folds=3), n_jobs=2)
    assert found.errors() == []
    assert (found.matrix("auc") > 0.7).all()
    alone = compare({"scorecard": peer("scorecard")}, X, y, RepeatedFolds(n_folds=3))
    np.testing.assert_array_equal(found.folds("log_loss"), alone.folds("log_loss"))


def test_a_scorecard_of_a_table_without_information_gives_the_shares() -> None:
    X = pl.DataFrame({"same": [7.0] * 40, "gone": pl.Series([None] * 40, dtype=pl.Float64)})
    proba = peer("scorecard").fit(X, ["no"] * 30 + ["yes"] * 10).predict_proba(X)
    np.testing.assert_allclose(proba, np.tile([0.75, 0.25], (40, 1)), atol=0.01)


def test_figs_does_not_depend_on_draws_of_others() -> None:
    """Two equal columns tie; NumPy's global generator would choose, and is left as it was."""
    same = np.random.default_rng(5).normal(size=100)
    X, y = np.column_stack([same] * 8), same > 0
    model = peer("figs", random_state=0)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first = model.fit(X, y).model_.trees_[0].feature
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    np.random.random(7)  # noqa: NPY002
    assert clone(model).fit(X, y).model_.trees_[0].feature == first
    assert model.n_features_selected_ == 1


@pytest.mark.parametrize("name", ["figs", "fasterrisk"])
def test_a_table_without_information_gives_the_shares(name: str) -> None:
    X = pl.DataFrame({"same": [7.0] * 40, "gone": pl.Series([None] * 40, dtype=pl.Float64)})
    model = peer(name).fit(X, ["no"] * 30 + ["yes"] * 10)
    np.testing.assert_allclose(model.predict_proba(X), np.tile([0.75, 0.25], (40, 1)))
    assert model.n_features_selected_ == 0


def test_a_risk_score_is_a_sum_of_few_whole_points() -> None:
    frame = pl.read_csv(GERMAN)
    X, y = frame.drop("class"), frame["class"]
    model = peer("fasterrisk", n_terms=5).fit(X[:700], y[:700])
    points = model.model_.coefficients
    assert 1 <= np.count_nonzero(points) <= 5
    np.testing.assert_array_equal(points, np.clip(np.round(points), -5, 5))
    log_proba = model.predict_log_proba(X[700:])
    own = (y[700:].to_numpy()[:, None] == model.classes_).astype(float)
    shares = own.mean(axis=0)
    assert -(own * log_proba).sum() / 300 < -(shares * np.log(shares)).sum() - 0.03


def test_a_risk_score_reaches_what_thresholds_and_values_tell() -> None:
    """Noise, a threshold of a number, and a missing cell: each is a column of the score."""
    generator = np.random.default_rng(6)
    number = generator.normal(size=500)
    word = [None if one else "known" for one in generator.random(500) < 0.4]
    gone = np.array([one is None for one in word])
    y = np.where(generator.random(500) < 0.05, 1, 0) ^ ((number > 0) | gone)
    model = peer("fasterrisk").fit(pl.DataFrame({"number": number, "word": word}), y)
    new = pl.DataFrame({"number": [-1.0, 1.0, -1.0, None], "word": ["known", "known", None, "new"]})
    assert model.predict(new)[:3].tolist() == [0, 1, 1]
    assert model.n_features_selected_ == 2
