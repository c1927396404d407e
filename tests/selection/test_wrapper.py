"""`WrapperSelector` as users meet it: options, tables, messages, and its place in `SelectiveNB`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import GroupKFold, StratifiedKFold

from bayesieve import (
    AccuracySelector,
    AUCSelector,
    DiscreteNB,
    IndicatorEncoder,
    InformationGainSelector,
    MAPSelector,
    SelectiveNB,
    TableEncoder,
    WrapperSelector,
)
from bayesieve.criteria import AUC, Criterion, ExpectedCost, Precision, Recall, RowLoss, Scorer
from bayesieve.report.search import Measure
from bayesieve.search import MultiStart, RankedPath, SubsetProblem
from tests.selection.moves import moves


def mixed_frame(n_rows: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.array(["no", "yes", "later"])[rng.integers(0, 3, n_rows)]
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n_rows) + 12 * (y == "yes"),
            "job": np.where(rng.random(n_rows) < 0.6, y, "none"),
            "noise": rng.normal(size=n_rows),
            "income": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows) + (y == "later")),
            "same": 1,
        }
    )
    return frame, y


def test_constant_columns_are_candidates_among_codes_only() -> None:
    codes = np.column_stack([np.zeros(40, int), np.arange(40) % 2, np.arange(40) // 20])
    selector = WrapperSelector("error", direction="forward", evaluation="train", encoder=None).fit(codes, codes[:, 1])
    assert selector.support_.tolist() == [False, True, False]
    assert moves(selector.trace_).height == 4
    frame, y = mixed_frame()
    selector = WrapperSelector("log_loss", evaluation="loo").fit(frame, y)
    assert set(moves(selector.trace_)["feature"].drop_nulls()) == {"age", "job", "income"}


def test_held_out_half_keeps_the_shares_of_the_classes() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2, 3], [101, 40, 3, 1])
    X = np.column_stack([y // 2 + rng.integers(0, 2, y.size), rng.integers(0, 3, y.size)])
    selector = WrapperSelector(encoder=None, validation_size=0.25, smoothing=1.0).fit(X, y)
    assert selector.trace_.validation_total == 25 + 10 + 1  # of 3 rows one is held out, of one none
    assert selector.trace_.validation_name == "error"
    brier = WrapperSelector(encoder=None, validation="brier").fit(X, y)
    assert brier.trace_.validation_name == "brier"
    auc = WrapperSelector("auc", encoder=None, validation="auc", direction="forward").fit(X, y)
    values = moves(auc.trace_)["validation"].to_numpy()
    assert auc.n_features_selected_ == int(np.argmax(values >= values.max() - 1e-12))  # higher is better


def test_groups_stay_together() -> None:
    rng = np.random.default_rng(0)
    groups = np.arange(120) // 6
    y = (groups % 2).astype(int)
    y[rng.random(120) < 0.2] ^= 1
    X = np.column_stack([groups, np.where(rng.random(120) < 0.7, y, 1 - y)])  # the first column is the group itself
    options: dict[str, Any] = {"encoder": None, "smoothing": 1.0, "criterion": "log_loss", "direction": "forward"}
    apart = WrapperSelector(evaluation=GroupKFold(5), **options).fit(X, y, groups=groups)
    mixed = WrapperSelector(evaluation=StratifiedKFold(5, shuffle=True, random_state=0), **options).fit(X, y)
    assert moves(apart.trace_)["feature"].to_list() == [None, "x1", "x0"]
    assert moves(mixed.trace_)["feature"].to_list() == [None, "x0", "x1"]
    selector = WrapperSelector(evaluation=GroupKFold(5), **options).set_params(encoder="modl")
    frame = pd.DataFrame(X.astype(str), columns=["group", "hint"])
    inside = SelectiveNB(selector).fit(frame, y, groups=groups)
    alone = clone(selector).fit(frame, y, groups=groups)
    assert moves(inside.trace_).equals(moves(alone.trace_))
    coded = TableEncoder().fit_transform_coded(frame, y)
    with pytest.raises(ValueError, match="MAPSelector does not use groups; omit it"):
        MAPSelector().fit_coded(coded, groups=groups)
    with pytest.warns(UserWarning, match="groups are ignored, because MAPSelector does not split rows"):
        SelectiveNB("map").fit(frame, y, groups=groups)
    with pytest.warns(UserWarning, match="groups are ignored with evaluation='holdout'"):
        WrapperSelector().fit(frame, y, groups=groups)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        WrapperSelector(evaluation=GroupKFold(5), **options).fit(X, y, groups=groups[:-1])


class SquaredError(RowLoss):
    name = "squared"

    def losses(self, probability: np.ndarray, true_class: int) -> np.ndarray:
        hit = np.zeros(probability.shape[0])
        hit[true_class] = 1.0
        return ((probability - hit[:, None]) ** 2).sum(axis=0)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_brier_is_that_of_scikit_learn(n_classes: int, weighted: bool) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 3, (200, 4)), rng.integers(0, n_classes, 200)
    X[:, 0] = np.where(rng.random(200) < 0.95, y, X[:, 0])  # some rows are sure
    weights = rng.integers(1, 4, 200) / 2 if weighted else None
    options = {"direction": "forward", "evaluation": "train", "encoder": None, "smoothing": 1.0}
    trace = WrapperSelector("brier", **options).fit(X, y, sample_weight=weights).trace_
    model = DiscreteNB(smoothing=1.0).fit(X, y, sample_weight=weights)
    chances = model.predict_proba(X)
    expected = brier_score_loss(y, chances[:, 1] if n_classes == 2 else chances, sample_weight=weights)
    assert moves(trace)["criterion"].to_list()[-1] == pytest.approx(expected, abs=1e-12)
    assert "Brier score" in Measure(trace.criterion_name).capitalised


@pytest.mark.parametrize("evaluation", ["train", "holdout", "loo", 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_criterion_of_ones_own(evaluation: Any, weighted: bool) -> None:
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 3, (150, 5)), rng.integers(0, 3, 150)
    weights = rng.integers(1, 4, 150) / 2 if weighted else None
    paths = [
        WrapperSelector(criterion, evaluation=evaluation, encoder=None, smoothing=1.0)
        .fit(X, y, sample_weight=weights)
        .trace_.to_frame()
        for criterion in (SquaredError(), "brier")
    ]
    assert paths[0]["feature"].to_list() == paths[1]["feature"].to_list()
    np.testing.assert_allclose(paths[0]["criterion"], paths[1]["criterion"], rtol=0, atol=1e-13)


@pytest.mark.parametrize(("value", "told"), [(1.0, r"got shape \(\)"), (np.full(10, np.nan), "with NaN")])
def test_a_criterion_of_ones_own_that_returns_nonsense(value: Any, told: str) -> None:
    class Nonsense(RowLoss):
        name = "nonsense"

        def losses(self, probability: np.ndarray, true_class: int) -> np.ndarray:
            return np.asarray(value)

    X, y = np.arange(40).reshape(20, 2) % 3, np.arange(20) % 2
    with pytest.raises(ValueError, match=rf"criterion 'nonsense' must return one number .* {told}"):
        WrapperSelector(Nonsense(), evaluation="train", encoder=None).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "gini"}, "criterion: 'gini' must be one of 'error', "),
        ({"criterion": 3}, "criterion: 3 must be one of"),
        ({"criterion": Recall("maybe")}, r"Recall is about the class 'maybe', but the target has the classes"),
        ({"criterion": Precision(7)}, "Precision is about the class 7"),
        ({"criterion": ExpectedCost([[0, 1], [1, 0]])}, "costs must be a matrix of 3 x 3 finite numbers"),
        ({"criterion": ExpectedCost([[0, 1, np.nan]] * 3)}, "costs must be a matrix of 3 x 3 .* with NaN or infinity"),
        ({"evaluation": "test"}, "evaluation must be 'train', 'holdout', 'loo', a number of folds"),
        ({"evaluation": 1}, "evaluation must be .* got 1"),
        ({"evaluation": True}, "evaluation must be .* got True"),
        ({"evaluation": 2.5}, "evaluation must be .* got 2.5"),
        ({"evaluation": 10_000}, "evaluation must be between 2 and .*, the number of rows of the most frequent class"),
        ({"evaluation": []}, "evaluation must give at least one pair"),
        ({"evaluation": (1, 2)}, "evaluation must give at least one pair"),
        (
            {"evaluation": [(np.arange(5), np.array([400]))]},
            "The test rows of evaluation must be positions from 0 to",
        ),
        ({"evaluation": [(np.arange(5), np.array([], int))]}, "at least one in every fold"),
        ({"n_features_to_select": 9}, "n_features_to_select=9 is more than the 5 features"),
        ({"validation": "loss"}, "validation: 'loss' must be one of"),
    ],
)
def test_bad_options_say_what_to_do(options: dict[str, Any], message: str) -> None:
    frame, y = mixed_frame()
    with pytest.raises(ValueError, match=message):
        WrapperSelector(**options).fit(frame, y)


def test_an_array_is_no_criterion() -> None:
    frame, y = mixed_frame()
    for model in (selector := WrapperSelector(criterion=np.array([1, 2])), SelectiveNB(selector)):
        with pytest.raises(ValueError, match=r"criterion: array\(\[1, 2\]\) must be one of"):
            model.fit(frame, y)


def test_too_few_rows_to_hold_out_or_leave_out() -> None:
    with pytest.raises(
        ValueError, match=r"too few rows \(2\) to hold out a share of 0.5 of each class; use evaluation='loo'"
    ):
        WrapperSelector(encoder=None).fit([[0], [1]], [0, 1])
    X, y = np.arange(12).reshape(12, 1) % 2, np.array([0] * 6 + [1] * 5 + [2])
    with pytest.raises(ValueError, match="Rows of class 2 would be scored without any training row of that class"):
        WrapperSelector("log_loss", evaluation="loo", encoder=None).fit(X, y)
    assert WrapperSelector("error", evaluation="loo", encoder=None).fit(X, y).trace_.complete
    weights = np.linspace(1, 2, 3000)
    X, y = np.arange(3000).reshape(3000, 1) % 2, np.arange(3000) % 2
    with pytest.raises(ValueError, match="Leave-one-out needs tables for every distinct row weight"):
        WrapperSelector(evaluation="loo", encoder=None).fit(X, y, sample_weight=weights)


def test_extreme_smoothing_is_refused_or_exact() -> None:
    X = np.arange(40).reshape(40, 1) % 2
    y = X[:, 0]
    with pytest.raises(ValueError, match="smoothing is so small that probabilities become too extreme"):
        WrapperSelector("error", evaluation="train", encoder=None, smoothing=1e-200).fit(X, y)
    exact = WrapperSelector("log_loss", evaluation="train", encoder=None, smoothing=1e-200).fit(X, y)
    assert exact.support_.tolist() == [True]


def test_a_stopped_search_goes_on() -> None:
    frame, y = mixed_frame()
    stopped, whole = WrapperSelector(max_seconds=0).fit(frame, y), WrapperSelector().fit(frame, y)
    again = WrapperSelector(resume=stopped.trace_).fit(frame, y)
    assert moves(again.trace_).equals(moves(whole.trace_))


class TaskLog:
    """A callback that lists the tasks that ended, and asks for the end after a number of moves."""

    def __init__(self, max_moves: int) -> None:
        self.max_moves, self.ended, self.torn_down = max_moves, [], False

    def setup(self, estimator: Any, context: Any) -> None:
        self.ended = []

    def teardown(self, estimator: Any, context: Any) -> None:
        self.torn_down = True

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        self.ended.append(context.task_name)
        return self.ended.count("move") == self.max_moves


STAGES = ["code columns", "search", "fit evidence", "fit"]


@pytest.mark.parametrize(("make", "stages"), [(lambda s: s, ["fit"]), (SelectiveNB, STAGES)], ids=["selector", "model"])
def test_callbacks_hear_of_every_task_and_move_and_may_end_the_search(make: Any, stages: list[str]) -> None:
    pytest.importorskip("sklearn.callback")
    frame, y = mixed_frame()
    log = TaskLog(max_moves=10**6)
    fitted = make(WrapperSelector(direction="forward")).set_callbacks(log).fit(frame, y)
    assert log.ended.count("move") == moves(fitted.trace_).height - 1  # its first line is the empty subset
    assert [task for task in log.ended if task != "move"] == stages
    assert log.torn_down
    with pytest.warns(UserWarning, match="interrupted"):
        short = make(WrapperSelector(direction="forward")).set_callbacks(TaskLog(max_moves=2)).fit(frame, y)
    assert moves(short.trace_).height == 3


def test_callbacks_leave_the_model_as_it_is() -> None:
    pytest.importorskip("sklearn.callback")
    frame, y = mixed_frame()
    log = TaskLog(max_moves=10**6)
    heard = SelectiveNB().set_callbacks(log).fit(frame, y)
    assert log.ended.count("move") > 0
    np.testing.assert_array_equal(heard.predict_proba(frame), SelectiveNB().fit(frame, y).predict_proba(frame))


def test_the_classifier_searches_on_the_rows_in_their_order() -> None:
    frame, y = mixed_frame()
    splits = [(np.arange(0, 200), np.arange(200, 300))]
    alone = WrapperSelector("log_loss", evaluation=splits).fit(frame, y)
    inside = SelectiveNB(WrapperSelector("log_loss", evaluation=splits)).fit(frame, y)
    assert moves(inside.trace_).equals(moves(alone.trace_))


def test_accuracy_and_auc_are_forward_wrappers_on_training_rows() -> None:
    frame, y = mixed_frame()
    for kind, criterion in ((AccuracySelector, "error"), (AUCSelector, "auc")):
        wrapper = WrapperSelector(criterion, direction="forward", evaluation="train").fit(frame, y)
        selector = kind().fit(frame, y)
        np.testing.assert_array_equal(selector.weights_, wrapper.weights_)
        assert moves(selector.trace_).equals(moves(wrapper.trace_))


def test_accuracy_stops_once_it_does_not_rise() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    wrapper = WrapperSelector("error", direction="forward", evaluation="train", tol=0.0).fit(X, y)
    selector = AccuracySelector(tol=0.0).fit(X, y)
    np.testing.assert_array_equal(selector.weights_, wrapper.weights_)
    errors = moves(selector.trace_)["criterion"].to_numpy()
    assert 1 < errors.size < moves(AccuracySelector().fit(X, y).trace_).height
    assert (np.diff(errors) < 0).all()


def test_a_ranked_path_is_the_leave_one_out_of_nested_subsets() -> None:
    X, y = load_iris(return_X_y=True)
    options = {"search": RankedPath(), "evaluation": "loo", "recode": False}
    selector = WrapperSelector("log_loss", **options).fit(X, y)
    ranking = InformationGainSelector().fit(X, y).ranking_
    assert selector.trace_.walk_moves(0).feature.tolist() == ranking.tolist()
    codes = selector.encoder_.fit_transform_coded(X, y).codes[:4].T
    losses = []
    for size in range(1, 5):
        proba = [
            DiscreteNB()
            .fit(np.delete(codes, row, 0)[:, ranking[:size]], np.delete(y, row))
            .predict_proba(codes[[row]][:, ranking[:size]])[0, y[row]]
            for row in range(y.size)
        ]
        losses.append(-np.log(proba).mean())
    np.testing.assert_allclose(selector.trace_.walk_moves(0).cost, losses, rtol=0.03)
    assert selector.n_features_selected_ == int(np.argmin(losses)) + 1


@pytest.mark.parametrize(
    ("name", "criterion"),
    [("recall:yes", Recall("yes")), ("precision:no", Precision("no")), ("f1_macro", Scorer("f1_macro"))],
)
def test_criteria_of_a_class_and_scorers_by_name(name: str, criterion: Criterion) -> None:
    frame, y = mixed_frame()
    options = {"direction": "forward", "evaluation": 3}
    by_name, given = (WrapperSelector(one, **options).fit(frame, y) for one in (name, criterion))
    assert moves(by_name.trace_).equals(moves(given.trace_))
    assert WrapperSelector(validation=name).fit(frame, y).trace_.validation_name == criterion.name


@pytest.mark.parametrize("n_classes", [2, 3])
def test_multi_start_auc_is_that_of_the_search(n_classes: int) -> None:
    X, y = load_iris(return_X_y=True)
    y = np.minimum(y, n_classes - 1)
    selector = AUCSelector(search="multi-start", random_state=3).fit(X, y)
    problem = SubsetProblem.of(selector.encoder_.fit_transform_coded(X, y), "m-estimate", AUC())
    trace = MultiStart(seed=3).run(problem)
    np.testing.assert_array_equal(selector.support_, trace.best_on_path())
    assert moves(selector.trace_).equals(moves(trace))


def test_indicators_are_selected_by_name_and_kept_compact() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = pd.DataFrame({"u": rng.normal(size=400) + 2 * y, "f": rng.normal(size=400) - y, "z": rng.normal(size=400)})
    X.loc[rng.random(400) < 0.05, "f"] = np.nan
    encoder = IndicatorEncoder(thresholds=6)
    selector = WrapperSelector(direction="forward", encoder=encoder).fit(X, y)
    names = selector.get_feature_names_out()
    assert all("<=" in name for name in names)
    assert selector.support_.shape == (18,)
    kept = np.asarray(selector.transform(X))
    fitted = clone(encoder).fit(X, y)
    np.testing.assert_array_equal(kept, np.asarray(fitted.transform(X))[:, selector.support_])
    coded = fitted.fit_transform_coded(X, y)
    plain = WrapperSelector(direction="forward", encoder=None).fit(np.asarray(coded.codes.T), y)
    found = moves(selector.trace_)["criterion"].to_numpy()
    np.testing.assert_allclose(moves(plain.trace_)["criterion"].to_numpy(), found, rtol=0, atol=1e-13)
    assert selector.n_features_in_ == 3


@pytest.mark.parametrize("evaluation", ["loo", 3])
@pytest.mark.parametrize("recode", [True, False])
def test_rows_without_weight_fill_no_fold(evaluation: Any, recode: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = X[:, 0] + rng.normal(size=90) > 0
    weights = (np.arange(90) % 7 != 2).astype(float)
    rows = weights > 0
    selector = WrapperSelector(evaluation=evaluation, recode=recode)
    weighted = selector.fit(X, y, sample_weight=weights).trace_.to_frame()
    removed = selector.fit(X[rows], y[rows]).trace_.to_frame()
    assert weighted["move"].to_list() == removed["move"].to_list()
    np.testing.assert_allclose(weighted["criterion"], removed["criterion"], rtol=1e-12)
