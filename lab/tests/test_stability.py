"""Which features a selector keeps from fold to fold, and how stable that is."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GroupKFold, StratifiedKFold

from bayesieve import IndicatorEncoder, MAPSelector, SelectiveNB, WrapperSelector
from bayesieve.search import SearchTrace
from bayesieve_lab import selection_stability
from bayesieve_lab.comparison.stability import stability_estimate
from tests.limits import Limits

X, Y = load_iris(return_X_y=True, as_frame=True)
FAST = {"direction": "forward", "evaluation": "train"}


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
    found = selection_stability(selector, X, Y, cv=4, random_state=7)
    for fold, (train, _) in enumerate(StratifiedKFold(4, shuffle=True, random_state=7).split(X, Y)):
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


def test_running_out_of_time_is_no_interrupt() -> None:
    found = selection_stability(WrapperSelector(max_seconds=0, **FAST), X, Y, cv=3)
    assert found.n_folds == 3
    assert found.complete
    assert found.n_selected.tolist() == [0, 0, 0]


def test_progress_over_folds(capfd: pytest.CaptureFixture[str], limits: Limits) -> None:
    limits(seconds_between_lines=0.0)
    selection_stability(WrapperSelector(verbose=1, **FAST), X, Y, cv=3)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[-1].startswith("WrapperSelector: folds: 3 of 3, features selected")
    selection_stability(WrapperSelector(**FAST), X, Y, cv=3)
    assert capfd.readouterr().err == ""


def test_the_estimate_is_that_of_the_definition() -> None:
    """Phi-hat as one minus the ratio of observed to expected variance, sum by sum."""
    sets = (np.random.default_rng(0).random((12, 9)) < np.linspace(0.1, 0.9, 9)).astype(float)
    variances = [12 / 11 * p * (1 - p) for p in (column.mean() for column in sets.T)]
    share = np.mean([row.sum() for row in sets]) / 9
    naive = 1 - (sum(variances) / 9) / (share * (1 - share))
    assert stability_estimate(sets)[0] == pytest.approx(naive, abs=1e-14)
    assert stability_estimate(np.tile([1, 0, 1], (5, 1))) == (1.0, 0.0)
    assert abs(stability_estimate(np.random.default_rng(2).random((400, 50)) < 0.3)[0]) < 0.01
    for undefined in (np.ones((4, 3)), np.zeros((4, 3)), np.array([[1, 0]]), np.zeros((3, 0))):
        assert np.isnan(stability_estimate(undefined)).all()


@pytest.mark.parametrize("selector", ["map", "compression", MAPSelector(), SelectiveNB(), SelectKBest(k=2)])
def test_any_selector_and_table_and_any_threads(selector: Any, tmp_path: Any) -> None:
    found = selection_stability(selector, X, Y, cv=3)
    assert found.weights.shape == (3, 4)
    assert found.names == tuple(X.columns)
    assert all(trace is None or isinstance(trace, SearchTrace) for trace in found.traces)
    if isinstance(selector, SelectKBest):
        assert found.traces == (None, None, None)
        assert found.n_selected.tolist() == [2, 2, 2]
    for table, n_jobs in ((np.asarray, 2), (pl.DataFrame, -1)):
        again = selection_stability(selector, table(X.to_numpy()), Y.to_numpy(), cv=3, n_jobs=n_jobs)
        np.testing.assert_array_equal(again.weights, found.weights)
    frame = pl.from_pandas(found.to_frame())
    assert frame.columns == ["feature", "frequency", "mean_weight", "weights"]
    assert frame["frequency"].to_list() == sorted(found.frequency.tolist(), reverse=True)
    first = frame.row(0, named=True)
    own = found.weights[:, found.names.index(first["feature"])]
    assert (first["weights"], first["mean_weight"]) == (own.tolist(), pytest.approx(own.mean()))
    assert frame.schema["weights"] == pl.List(pl.Float64)
    figure = found.figure(tmp_path / "stability.svg")
    assert (tmp_path / "stability.svg").read_text(encoding="utf-8") == figure.to_svg()
    assert "3 folds of 4 features" in figure.caption


@pytest.mark.parametrize(
    ("sentence", "options"),
    [
        (r"cv must be between 2 and 50, the number of rows of the most frequent class, got 1", {"cv": 1}),
        ("Fold 1 of 1: .*at least 2 classes", {"cv": [(np.arange(40), np.arange(40, 150))]}),
        ("at least one in every fold", {"cv": [([], [1])]}),
        ("1", {"sample_weight": [1.0]}),
        ("n_jobs must be a positive number of threads", {"n_jobs": 0}),
        ("selector must be one of 'all'", {"selector": "best"}),
        ("an estimator with fit, got 3", {"selector": 3}),
    ],
)
def test_bad_input_is_one_sentence(sentence: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=sentence):
        selection_stability(**{"selector": MAPSelector(), "X": X, "y": Y} | options)


class Interrupting(WrapperSelector):
    """Ctrl-C arrives in the search of a fold; if it is ``heard``, the search keeps its best so far, and warns."""

    fits, last, heard = 0, 3, False

    def _search(self, coded: Any, **options: Any) -> np.ndarray:
        type(self).fits += 1
        if type(self).fits < type(self).last:
            return super()._search(coded, **options)
        if not type(self).heard:
            raise KeyboardInterrupt
        weights = super()._search(coded, **options)
        self.trace_.complete = False
        warnings.warn("The search was interrupted after 3 models", UserWarning, stacklevel=2)
        return weights


@pytest.mark.parametrize("heard", [False, True])
def test_an_interrupt_keeps_the_folds_that_are_done(heard: bool) -> None:
    Interrupting.fits, Interrupting.last, Interrupting.heard = 0, 3, heard
    with pytest.warns(UserWarning, match="nterrupted") as told:
        found = selection_stability(Interrupting(**FAST), X, Y, cv=5)
    assert [str(w.message) for w in told] == ["Interrupted: 2 of 5 folds were finished and are kept."]
    assert (found.n_folds, found.complete) == (2, False)
    whole = selection_stability(WrapperSelector(**FAST), X, Y, cv=5)
    np.testing.assert_array_equal(found.weights, whole.weights[:2])
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        found.stability_interval(95)
    Interrupting.fits, Interrupting.last = 0, 1
    with pytest.raises(KeyboardInterrupt):
        selection_stability(Interrupting(**FAST), X, Y, cv=5)


def test_rows_without_weight_fill_no_fold() -> None:
    weights = (np.arange(150) % 7 != 2).astype(float)
    rows = weights > 0
    weighted = selection_stability(MAPSelector(), X, Y, cv=4, sample_weight=weights)
    removed = selection_stability(MAPSelector(), X[rows], Y[rows], cv=4)
    assert weighted.n_rows.tolist() == removed.n_rows.tolist()
    np.testing.assert_array_equal(weighted.weights, removed.weights)
