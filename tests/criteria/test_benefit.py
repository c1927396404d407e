"""Total benefit of decisions as a criterion: brute force over refitted models, on all rows that may guide a search."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import bayesieve
from bayesieve import DiscreteNB, SelectiveNB, TableEncoder, WrapperSelector
from bayesieve.counts import CodedTable
from bayesieve.criteria import Benefit
from bayesieve.search import BestFirst, ExhaustiveSearch, GreedySearch, MultiStart, Objective, evaluate_subsets
from tests.cases import mostly_slow
from tests.reference import wrapper

MAILING = Benefit([[0, 0], [-1.0, -1.0]], amount_benefit=[[0, 0], [0, 1]])


def draw(seed: int, n_classes: int, n_rows: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    rng.shuffle(y)
    follows = rng.random((n_rows, 5)) < 0.4
    codes = np.where(follows, y[:, None], rng.integers(0, 4, (n_rows, 5)))
    codes[:, -1] = codes[:, 1]
    return codes, y


def total(scored: wrapper.Scored, subset: tuple[int, ...], expected: np.ndarray, true: np.ndarray) -> float:
    """Row by row: the decision of largest expected benefit, the first within rounding, and what it brings."""
    result = 0.0
    for row, log_posterior in enumerate(scored.log_posterior(subset)):
        hopes = [
            sum(np.exp(p) * b for p, b in zip(log_posterior, of_decision, strict=True)) for of_decision in expected[row]
        ]
        best = next(d for d, hope in enumerate(hopes) if hope >= max(hopes) - 1e-11 * np.abs(expected[row]).max())
        if scored.weights[row]:
            result += scored.weights[row] * true[row][best][scored.y[row]]
    return float(result)


FOLDS = {"train": wrapper.training_rows, "loo": wrapper.leave_one_out}


EVERY = list(product([2, 3], [1, 2, 3], ["train", "loo", "folds"], [False, True]))


@pytest.mark.parametrize(("n_classes", "n_decisions", "evaluation", "weighted"), mostly_slow(EVERY, EVERY[::5]))
def test_whole_matrices_of_rows(n_classes: int, n_decisions: int, evaluation: str, weighted: bool) -> None:
    codes, y = draw(n_classes + 10 * n_decisions, n_classes)
    rng = np.random.default_rng(n_decisions)
    benefit = rng.normal(size=(y.size, n_decisions, n_classes))
    benefit[::7] = benefit[::7, :1]  # all decisions alike
    weights = rng.choice([0.0, 1.0, 2.5], y.size) if weighted else None
    if evaluation == "folds":
        folds: Any = list(StratifiedKFold(3, shuffle=True, random_state=1).split(codes, y))
        given: Any = folds
    else:
        folds, given = list(FOLDS[evaluation](y.size)), evaluation
    scored = wrapper.refit(codes, y, folds, smoothing="m-estimate", weights=weights)
    order = np.concatenate([test for _, test in folds])
    selector = WrapperSelector(Benefit(), direction="forward", evaluation=given, encoder=None)
    selector.fit(codes, y, sample_weight=weights, benefit=benefit)
    moves = selector.trace_.walk_moves(0)
    assert selector.trace_.null_criterion == pytest.approx(total(scored, (), benefit[order], benefit[order]), abs=1e-9)
    subset: tuple[int, ...] = ()
    for feature, value in zip(moves.feature.tolist(), moves.cost.tolist(), strict=True):
        others = [k for k in range(5) if k not in subset]
        values = [total(scored, (*subset, k), benefit[order], benefit[order]) for k in others]
        assert value == pytest.approx(max(values), abs=1e-9)
        assert feature == others[next(i for i, v in enumerate(values) if v >= max(values) - 1e-9)]
        subset = (*subset, feature)


@pytest.mark.parametrize("smoothing", ["m-estimate", 1.0])
def test_amounts_expected_and_true(smoothing: Any) -> None:
    codes, y = draw(3, 2, 200)
    rng = np.random.default_rng(3)
    expected, gifts = rng.gamma(2.0, 1.5, y.size), np.where(y == 1, rng.gamma(2.0, 1.5, y.size), np.nan)
    coded = CodedTable(codes.T.astype(np.uint8), codes.max(axis=0) + 1, list("abcde"), y.astype(np.uint8), np.arange(2))
    objective = Objective.of(coded.with_columns(benefit=np.column_stack([expected, gifts])), MAILING, smoothing)
    subsets = [[], [0], [1, 2], [0, 1, 2, 3]]
    values = evaluate_subsets(objective, subsets).values
    for subset, value in zip(subsets, values, strict=True):
        p = y.mean() * np.ones(y.size)
        if subset:
            p = DiscreteNB(smoothing=smoothing).fit(codes[:, subset], y).predict_proba(codes[:, subset])[:, 1]
        profit = np.where(p * expected > 1.0, np.where(y == 1, gifts, 0.0) - 1.0, 0.0).sum()
        assert value == pytest.approx(profit, abs=1e-9)


@pytest.mark.parametrize("evaluation", ["train", "holdout", "loo", 3])
def test_rows_keep_their_benefits_whatever_their_order(evaluation: Any) -> None:
    """Raw tables, whose levels are learnt again, and rows that are listed class after class."""
    rng = np.random.default_rng(11)
    y = rng.random(400) < 0.3
    X = np.column_stack([y + rng.normal(size=400), rng.normal(size=400), y + rng.normal(size=400)])
    # Only the rows of large x1 are worth anything, which a mix-up of the rows would lose.
    amounts = np.where(X[:, 1] > 0, 10.0, 0.01)
    selector = WrapperSelector(MAILING, evaluation=evaluation, direction="forward", validation=MAILING)
    selector.fit(X, y, benefit=amounts)
    order = rng.permutation(400)
    if evaluation == "train":
        again = WrapperSelector(MAILING, evaluation=evaluation, direction="forward").fit(
            X[order], y[order], benefit=amounts[order]
        )
        np.testing.assert_allclose(again.trace_.moves.cost, selector.trace_.moves.cost, atol=1e-9)
    everything = float(np.where(y, amounts, 0.0).sum())
    assert 0 < selector.trace_.best_criterion <= everything
    model = SelectiveNB(WrapperSelector(MAILING, evaluation=evaluation, direction="forward", validation=MAILING))
    model.fit(X, y, benefit=amounts)
    assert model.trace_.to_frame().drop("seconds").equals(selector.trace_.to_frame().drop("seconds"))


def test_as_a_constraint_and_in_other_searches() -> None:
    codes, y = draw(17, 2, 200)
    amounts = np.random.default_rng(17).gamma(2.0, 1.5, y.size)
    best = WrapperSelector(MAILING, search=ExhaustiveSearch(), evaluation="train", encoder=None).fit(
        codes, y, benefit=amounts
    )
    most = best.trace_.best_criterion
    for search in (BestFirst(), MultiStart(3), GreedySearch("forward-backward")):
        other = WrapperSelector(MAILING, search=search, evaluation="train", encoder=None).fit(codes, y, benefit=amounts)
        assert other.trace_.best_criterion <= most + 1e-9
    bounded = WrapperSelector("brier", constraints={MAILING: 0.9 * most}, evaluation="train", encoder=None)
    bounded.fit(codes, y, benefit=amounts)
    objective = Objective.of(
        CodedTable(
            codes.T.astype(np.uint8), codes.max(axis=0) + 1, list("abcde"), y.astype(np.uint8), np.arange(2)
        ).with_columns(benefit=amounts),
        MAILING,
    )
    assert evaluate_subsets(objective, bounded.support_[None]).values[0] > 0.9 * most or not bounded.feasible_


@pytest.mark.parametrize(
    ("criterion", "benefit", "message"),
    [
        (Benefit([[0, 1, 2]]), None, "benefit must be a matrix of finite numbers, .* each of the 2 classes"),
        (Benefit([[0, np.nan]]), None, "benefit must be a matrix of finite numbers"),
        (Benefit("much"), None, "benefit must be a matrix"),
        (Benefit([[0, 1]], amount_benefit=[[0, 1], [1, 0]]), None, "amount_benefit must be a matrix .* 1 rows"),
        (Benefit(), None, "has no matrix"),
        (Benefit(), np.ones(20), "has no matrix"),
        (Benefit(), np.ones((20, 2, 3)), "give one row per decision and one column for each of the 2 classes"),
        (MAILING, None, "amount_benefit needs the amounts of the rows"),
        (MAILING, np.ones((20, 2, 2)), "amount_benefit needs the amounts of the rows"),
        (Benefit([[0, 0], [-1, 1]]), np.ones(20), "does not use benefit= of the rows"),
        (MAILING, np.ones(19), "benefit must hold an amount, .* each of 20 rows, got an array of shape"),
        (MAILING, ["a"] * 20, "benefit must hold an amount, .* got list"),
        (MAILING, np.r_[np.nan, np.ones(19)], "missing or infinite in rows whose decisions depend on them"),
        (MAILING, np.r_[np.inf, np.ones(19)], "missing or infinite in rows whose decisions depend on them"),
    ],
)
def test_bad_benefits(criterion: Benefit, benefit: Any, message: str) -> None:
    codes, y = draw(19, 2, 20)
    with pytest.raises(ValueError, match=message):
        WrapperSelector(criterion, evaluation="train", encoder=None).fit(codes, y, benefit=benefit)


def test_benefits_that_nothing_reads_are_mentioned() -> None:
    codes, y = draw(23, 2)
    with pytest.warns(UserWarning, match=r"benefit is ignored: no criterion of WrapperSelector reads it"):
        WrapperSelector("brier", encoder=None).fit(codes, y, benefit=np.ones(y.size))
    with pytest.warns(UserWarning, match=r"benefit is ignored: no criterion of CompressionAveraging reads it"):
        SelectiveNB().fit(codes.astype(float), y, benefit=np.ones(y.size))


def test_models_are_saved_with_the_criterion(tmp_path: Any) -> None:
    codes, y = draw(29, 2, 200)
    X, amounts = codes + np.random.default_rng(0).random(codes.shape), np.full(y.size, 3.0)
    model = SelectiveNB(WrapperSelector(MAILING, direction="forward")).fit(X, y, benefit=amounts)
    model.save(tmp_path / "model.json")
    again = bayesieve.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert repr(MAILING)[:20] in str(again.selector)
    assert again.trace_.criterion_name == "benefit"
    with pytest.raises(ValueError, match=r"set_params\(selector="):
        again.fit(X, y, benefit=amounts)
    refitted = again.set_params(selector=model.selector).fit(X, y, benefit=amounts)
    np.testing.assert_array_equal(refitted.predict_proba(X), model.predict_proba(X))


def test_matrices_alone_work_in_cross_validation() -> None:
    codes, y = draw(31, 2, 120)
    selector = WrapperSelector(Benefit([[0, 0], [-1, 3]]), direction="forward")
    assert cross_val_predict(SelectiveNB(selector), codes.astype(float), y, cv=3).shape == (120,)


def test_recoded_rows_keep_their_columns() -> None:
    rng = np.random.default_rng(37)
    y, x = rng.integers(0, 2, 50), rng.normal(size=50)
    coded, refitter = TableEncoder().fit_with_refitter(x[:, None], y)
    order = rng.permutation(50)
    mixed = coded.take(order).with_columns(x=x[order])
    fit, rest = refitter.refit(mixed.rows, np.arange(25), np.arange(25, 50))
    np.testing.assert_array_equal(fit.rows.columns["x"], x[order][:25])
    np.testing.assert_array_equal(rest.rows.columns["x"], x[order][25:])
    np.testing.assert_array_equal(rest.by_class.rows.columns["x"], x[order][25:][rest.rows.class_order()])
