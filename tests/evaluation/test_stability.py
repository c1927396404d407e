"""Which features a selector keeps from fold to fold, and how stable that is."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GroupKFold, ShuffleSplit, StratifiedKFold

from bayesieve import IndicatorEncoder, MAPSelector, SelectiveNB, WrapperSelector
from bayesieve.evaluation import selection_stability
from bayesieve.evaluation.stability import stability_estimate
from bayesieve.search import SearchTrace

X, Y = load_iris(return_X_y=True, as_frame=True)
FAST = {"direction": "forward", "evaluation": "train"}


def naive_estimate(sets: np.ndarray) -> float:
    """Phi-hat as one minus the ratio of observed to expected variance, sum by sum."""
    n_sets, d = sets.shape
    variances = [n_sets / (n_sets - 1) * p * (1 - p) for p in (column.mean() for column in sets.T)]
    k = np.mean([row.sum() for row in sets])
    return 1 - (sum(variances) / d) / ((k / d) * (1 - k / d))


def pairwise_estimate(sets: np.ndarray) -> float:
    """The same as the mean overlap of pairs, corrected for chance: Kuncheva's index, where all sets have one size."""
    n_sets, d = sets.shape
    k = int(sets[0].sum())
    overlaps = [sets[i] @ sets[j] for i in range(n_sets) for j in range(i)]
    return float(np.mean([(r - k * k / d) / (k - k * k / d) for r in overlaps]))


def test_the_estimate_is_that_of_the_definition() -> None:
    sets = (np.random.default_rng(0).random((12, 9)) < np.linspace(0.1, 0.9, 9)).astype(float)
    assert stability_estimate(sets)[0] == pytest.approx(naive_estimate(sets), abs=1e-14)


def test_sets_of_one_size_give_kunchevas_index() -> None:
    rng = np.random.default_rng(1)
    sets = np.array([np.isin(np.arange(10), rng.choice(10, 4, replace=False)) for _ in range(7)]).astype(float)
    assert stability_estimate(sets)[0] == pytest.approx(pairwise_estimate(sets), abs=1e-14)


def test_limits_of_the_estimate() -> None:
    assert stability_estimate(np.tile([1, 0, 1], (5, 1))) == (1.0, 0.0)
    rng = np.random.default_rng(2)
    assert abs(stability_estimate(rng.random((400, 50)) < 0.3)[0]) < 0.01
    for undefined in (np.ones((4, 3)), np.zeros((4, 3)), np.array([[1, 0]]), np.zeros((3, 0))):
        assert np.isnan(stability_estimate(undefined)).all()


def test_the_variance_is_that_of_the_delta_method() -> None:
    """Each set's weight is changed a little: the derivatives give the variance (infinitesimal jackknife)."""
    sets = (np.random.default_rng(3).random((15, 8)) < np.linspace(0.05, 0.9, 8)).astype(float)
    n = len(sets)

    def weighted(weights: np.ndarray) -> float:
        p = weights @ sets / weights.sum()
        q = p.mean()
        return float(1 - (p * (1 - p)).mean() / (q * (1 - q)))

    step, slopes = 1e-5, []
    for i in range(n):
        up, down = np.ones(n), np.ones(n)
        up[i], down[i] = 1 + step, 1 - step
        slopes.append((weighted(up) - weighted(down)) / (2 * step))
    # The factor M / (M - 1) of the unbiased variances is all that the derivatives leave out.
    assert stability_estimate(sets)[1] == pytest.approx(np.sum(np.square(slopes)), rel=0.2)


def test_the_interval_covers() -> None:
    rng = np.random.default_rng(4)
    p = np.linspace(0.02, 0.95, 25)
    truth = 1 - (p * (1 - p)).mean() / (p.mean() * (1 - p.mean()))
    covered = 0
    for _ in range(300):
        estimate, variance = stability_estimate(rng.random((60, p.size)) < p)
        covered += abs(estimate - truth) <= 1.96 * variance**0.5
    assert covered > 270


def test_every_fold_is_the_selector_on_its_training_rows() -> None:
    selector = WrapperSelector(**FAST)
    found = selection_stability(selector, X, Y, cv=StratifiedKFold(4))
    for fold, (train, _) in enumerate(StratifiedKFold(4).split(X, Y)):
        alone = WrapperSelector(**FAST).fit(X.iloc[train], Y.iloc[train])
        np.testing.assert_array_equal(found.weights[fold], alone.weights_)
        assert found.traces[fold].path()["criterion"] == alone.trace_.path()["criterion"]
        assert found.n_rows[fold] == train.size
    assert not hasattr(selector, "weights_")
    np.testing.assert_allclose(found.frequency, found.support.mean(axis=0))
    np.testing.assert_array_equal(found.n_selected, found.support.sum(axis=1))
    assert found.names == tuple(X.columns)
    assert found.selector == "WrapperSelector"
    assert found.complete
    assert np.all(found.seconds > 0)


def test_the_frame_lists_the_most_often_selected_first() -> None:
    found = selection_stability("compression", X, Y, cv=3)
    frame = found.to_frame()
    assert frame.columns == ["feature", "frequency", "mean_weight", "weights"]
    assert frame["frequency"].to_list() == sorted(found.frequency.tolist(), reverse=True)
    first = frame.row(0, named=True)
    k = found.names.index(first["feature"])
    assert first["weights"] == found.weights[:, k].tolist()
    assert first["mean_weight"] == pytest.approx(np.mean(found.weights[:, k]))
    assert frame.schema["weights"] == pl.List(pl.Float64)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_change_nothing(n_jobs: int) -> None:
    one = selection_stability(MAPSelector(), X, Y, cv=5)
    several = selection_stability(MAPSelector(), X, Y, cv=5, n_jobs=n_jobs)
    np.testing.assert_array_equal(one.weights, several.weights)


def test_folds_are_seeded() -> None:
    def rows(seed: Any) -> list[int]:
        return selection_stability("all", X, Y, cv=ShuffleSplit(3, random_state=seed)).n_rows.tolist()

    assert rows(0) == rows(0)
    same = [selection_stability(WrapperSelector(**FAST), X, Y, cv=4, random_state=7).weights for _ in range(2)]
    np.testing.assert_array_equal(same[0], same[1])


@pytest.mark.parametrize("selector", ["map", "all", "auc", MAPSelector(), SelectiveNB(), SelectKBest(k=2)])
def test_any_selector(selector: Any) -> None:
    found = selection_stability(selector, X, Y, cv=3)
    assert found.weights.shape == (3, 4)
    assert found.names == tuple(X.columns)
    assert all(trace is None or isinstance(trace, SearchTrace) for trace in found.traces)
    if isinstance(selector, SelectKBest):
        assert found.traces == (None, None, None)
        assert found.n_selected.tolist() == [2, 2, 2]


@pytest.mark.parametrize("table", [np.asarray, pl.DataFrame, pd.DataFrame])
def test_any_table(table: Any) -> None:
    found = selection_stability(WrapperSelector(**FAST), table(X.to_numpy()), Y.to_numpy(), cv=3)
    assert found.weights.shape == (3, 4)
    np.testing.assert_array_equal(found.weights, selection_stability(WrapperSelector(**FAST), X, Y, cv=3).weights)


def test_weights_and_groups_go_along() -> None:
    rng = np.random.default_rng(5)
    weights, groups = rng.integers(0, 4, Y.size).astype(float), np.arange(Y.size) % 10
    found = selection_stability(
        WrapperSelector(direction="forward", evaluation=GroupKFold(3)), X, Y,
        cv=GroupKFold(5), sample_weight=weights, groups=groups,
    )  # fmt: skip
    train = next(GroupKFold(5).split(X, Y, groups))[0]
    alone = WrapperSelector(direction="forward", evaluation=GroupKFold(3)).fit(
        X.iloc[train], Y.iloc[train], sample_weight=weights[train], groups=groups[train]
    )
    np.testing.assert_array_equal(found.weights[0], alone.weights_)
    assert found.traces[0].path()["criterion"] == alone.trace_.path()["criterion"]


def test_indicators_need_thresholds_that_stay() -> None:
    with pytest.raises(ValueError, match="give the encoder fixed thresholds"):
        selection_stability(WrapperSelector(encoder=IndicatorEncoder(thresholds=5), **FAST), X, Y, cv=4)
    encoder = IndicatorEncoder(thresholds={name: [1.0, 3.0, 5.0] for name in X.columns})
    found = selection_stability(WrapperSelector(encoder=encoder, **FAST), X, Y, cv=4)
    assert found.weights.shape == (4, 12)
    assert found.names[0].startswith("sepal length")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"cv": 1}, r"cv must be between 2 folds and the rows of the most frequent class \(50\), got 1"),
        ({"cv": 51}, "got 51"),
        ({"cv": "five"}, "cv must be a number of folds, a scikit-learn splitter or pairs"),
        ({"cv": True}, "cv must be a number of folds"),
        ({"cv": b"five"}, "cv must be a number of folds"),
        ({"cv": StratifiedKFold}, "cv must be a number of folds"),  # a class in place of an object
        ({"cv": []}, "at least one pair"),
        ({"cv": [1, 2]}, "at least one pair"),
        ({"cv": [([0, 999], [1])]}, "positions from 0 to 149"),
        ({"cv": [([], [1])]}, "some in every fold"),
        ({"cv": [(np.arange(40), np.arange(40, 150))]}, "Fold 1 of 1: .*at least 2 classes"),
        ({"sample_weight": [1.0]}, "1"),
        ({"n_jobs": 0}, "n_jobs must be a positive number of threads"),
    ],
)
def test_bad_input_is_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        selection_stability(MAPSelector(), X, Y, **options)


def test_what_selects_nothing() -> None:
    with pytest.raises(ValueError, match="selector must be one of 'all'"):
        selection_stability("best", X, Y)
    with pytest.raises(ValueError, match="an estimator with fit, got 3"):
        selection_stability(3, X, Y)
    found = selection_stability("all", X, Y, cv=3)
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        found.stability_interval(95)


class Interrupting(WrapperSelector):
    """Ctrl-C arrives in the search of the third fold."""

    fits = 0
    last = 3

    def _search(self, coded: Any, **options: Any) -> np.ndarray:
        type(self).fits += 1
        if type(self).fits == type(self).last:
            raise KeyboardInterrupt
        return super()._search(coded, **options)


def test_an_interrupt_keeps_the_folds_that_are_done() -> None:
    Interrupting.fits, Interrupting.last = 0, 3
    with pytest.warns(UserWarning, match="Interrupted: 2 of 5 folds were finished"):
        found = selection_stability(Interrupting(**FAST), X, Y, cv=5)
    assert found.n_folds == 2
    assert not found.complete
    whole = selection_stability(WrapperSelector(**FAST), X, Y, cv=5)
    np.testing.assert_array_equal(found.weights, whole.weights[:2])


def test_an_interrupt_before_the_first_fold_is_an_interrupt() -> None:
    Interrupting.fits, Interrupting.last = 0, 1
    with pytest.raises(KeyboardInterrupt):
        selection_stability(Interrupting(**FAST), X, Y, cv=5)


class Stopped(WrapperSelector):
    """The search itself keeps its best so far when Ctrl-C arrives, and warns."""

    def _search(self, coded: Any, **options: Any) -> np.ndarray:
        weights = super()._search(coded, **options)
        if self.trace_.path()["n_features"][0] == 0 and type(self).stops:
            self.trace_.complete = False
            warnings.warn("The search was interrupted after 3 models", UserWarning, stacklevel=2)
        type(self).stops = True
        return weights

    stops = False


def test_a_search_that_swallowed_the_interrupt_ends_the_folds_too() -> None:
    Stopped.stops = False
    with pytest.warns(UserWarning, match="nterrupted") as told:
        found = selection_stability(Stopped(**FAST), X, Y, cv=5)
    assert [str(w.message) for w in told] == ["Interrupted: 1 of 5 folds were finished and are kept."]
    assert found.n_folds == 1
    assert np.isnan(found.stability)


def test_running_out_of_time_is_no_interrupt() -> None:
    found = selection_stability(WrapperSelector(max_seconds=0, **FAST), X, Y, cv=3)
    assert found.n_folds == 3
    assert found.complete
    assert found.n_selected.tolist() == [0, 0, 0]


def test_progress_over_folds(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayesieve.engine.progress._SECONDS_BETWEEN_LINES", 0.0)
    selection_stability(WrapperSelector(verbose=1, **FAST), X, Y, cv=3)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[-1].startswith("WrapperSelector: folds: 3 of 3, features selected")
    selection_stability(WrapperSelector(**FAST), X, Y, cv=3)
    assert capfd.readouterr().err == ""


def test_figure(tmp_path: Any) -> None:
    found = selection_stability(WrapperSelector(**FAST), X, Y, cv=4)
    path = tmp_path / "stability.svg"
    figure = found.figure(path)
    assert path.read_text(encoding="utf-8") == figure.to_svg()
    assert "4 folds of 4 features" in figure.caption


def test_rows_without_weight_fill_no_fold() -> None:
    X, y = load_iris(return_X_y=True)
    weights = (np.arange(150) % 7 != 2).astype(float)
    rows = weights > 0
    weighted = selection_stability(MAPSelector(), X, y, cv=4, sample_weight=weights)
    removed = selection_stability(MAPSelector(), X[rows], y[rows], cv=4)
    assert weighted.n_rows.tolist() == removed.n_rows.tolist()
    np.testing.assert_array_equal(weighted.weights, removed.weights)
