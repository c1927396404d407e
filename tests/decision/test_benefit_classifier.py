"""Decisions of largest expected benefit, against loops over rows and decisions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayesieve import BenefitClassifier, SelectiveNB, profit_curve, total_benefit
from tests.decision.campaign import LETTER, LETTERS, campaign

RNG = np.random.default_rng(1)
X3 = RNG.normal(size=(90, 3))
Y3 = np.array(["a", "b", "c"])[(X3[:, :2] + 0.5 * RNG.normal(size=(90, 2)) > 0).sum(axis=1)]


def by_hand(probability: np.ndarray, benefits: Any) -> np.ndarray:
    """The decision of each row, by loops over decisions and classes."""
    decisions = []
    for n, shares in enumerate(probability):
        matrix = benefits[n] if np.ndim(benefits) == 3 else benefits
        sums = [sum(share * cell for share, cell in zip(shares, row, strict=True)) for row in matrix]
        decisions.append(int(np.argmax(sums)))
    return np.array(decisions)


@pytest.mark.parametrize("estimator", [SelectiveNB(), LogisticRegression(), KNeighborsClassifier()])
@pytest.mark.parametrize("by_row", [False, True])
def test_decisions_are_those_of_brute_force(estimator: Any, by_row: bool) -> None:
    benefit = RNG.normal(size=(90, 3, 3) if by_row else (3, 3))
    fitted = clone(estimator).fit(X3, Y3)
    model = BenefitClassifier(estimator, benefit=benefit).fit(X3, Y3)
    decided = by_hand(fitted.predict_proba(X3), benefit)
    assert model.predict(X3).tolist() == fitted.classes_[decided].tolist()
    codes = np.searchsorted(fitted.classes_, Y3)
    total = sum((benefit[n] if by_row else benefit)[decided[n], codes[n]] for n in range(90))
    assert model.total_benefit(X3, Y3) == pytest.approx(total)
    assert model.score(X3, Y3) == pytest.approx(total / 90)
    assert total_benefit(Y3, model.predict(X3), benefit=benefit) == pytest.approx(total)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_functions_of_the_rows_may_name_columns(library: Any) -> None:
    frame = library({"u": X3[:, 0], "v": X3[:, 1], "w": X3[:, 2]})
    model = BenefitClassifier(
        SelectiveNB(), benefit=lambda rows: [[0, 0, rows["w"]], [rows["u"], 1, -1]], decisions=["no", "go"]
    )
    model.fit(frame, Y3)
    values = np.zeros((90, 2, 3))
    values[:, 0, 2], values[:, 1, 0], values[:, 1, 1], values[:, 1, 2] = X3[:, 2], X3[:, 0], 1, -1
    probability = model.predict_proba(frame)
    assert model.predict(frame).tolist() == np.array(["no", "go"])[by_hand(probability, values)].tolist()
    assert model.decisions_.tolist() == ["no", "go"]
    np.testing.assert_allclose(model.expected_benefit(frame), np.einsum("nj,nij->ni", probability, values))


def test_a_fitted_classifier_decides_at_once() -> None:
    fitted = SelectiveNB().fit(X3, Y3)
    benefit = RNG.normal(size=(3, 3))
    model = BenefitClassifier(fitted, benefit=benefit)
    assert (model.predict(X3) == BenefitClassifier(SelectiveNB(), benefit=benefit).fit(X3, Y3).predict(X3)).all()
    assert BenefitClassifier(FrozenEstimator(fitted)).fit(X3[:9], Y3[:9]).estimator_.n_rows_ == 90
    with pytest.raises(NotFittedError):
        BenefitClassifier(SelectiveNB()).predict(X3)


def test_letters_go_to_donors_worth_them() -> None:
    train, test = campaign(8000), campaign(8000, seed=1)
    classifier = make_pipeline(StandardScaler(), LogisticRegression())
    model = BenefitClassifier(classifier, benefit=LETTERS, amount_estimator=LinearRegression())
    model.fit(train.X, train.y, benefit=train.gifts)
    donors = train.y == 1
    gifts = LinearRegression().fit(train.X[donors], train.gifts[donors]).predict(test.X)
    worthwhile = model.predict_proba(test.X)[:, 1] * gifts > LETTER
    assert model.predict(test.X).tolist() == worthwhile.astype(int).tolist()
    profit = float(np.nansum(test.gifts[worthwhile]) - LETTER * worthwhile.sum())
    assert model.total_benefit(test.X, test.y, benefit=test.gifts) == pytest.approx(profit)
    assert profit > 1.1 * test.mail_all
    curve = model.profit_curve(test.X, test.y, benefit=test.gifts, n_bootstrap=0)
    assert curve.profit[0] == 0
    assert curve.profit[-1] == pytest.approx(test.mail_all)
    assert curve.profit[np.flatnonzero(curve.threshold > 0)[-1]] == pytest.approx(profit)


def test_known_amounts_are_not_estimated() -> None:
    data = campaign(500, share=0.5)
    amounts = np.where(np.arange(500) % 2, 3.0, np.nan)
    model = BenefitClassifier(LogisticRegression(), benefit=LETTERS, amount_estimator=LinearRegression())
    model.fit(data.X, data.y, benefit=data.gifts)
    gain = np.diff(model.expected_benefit(data.X, amounts), axis=1).ravel()
    amounts[::2] = model.amount_estimator_.predict(data.X[::2])
    np.testing.assert_allclose(gain, model.predict_proba(data.X)[:, 1] * amounts - LETTER)
    whole = [[0, 0], [-1, 2 * amounts]]
    expected = BenefitClassifier(model.estimator_, benefit=whole).predict(data.X)
    assert model.predict(data.X, benefit=whole).tolist() == expected.tolist()


def test_amounts_may_be_a_column_of_the_rows() -> None:
    data = campaign(500, share=0.5)
    frame = pl.DataFrame(data.X, schema=["a", "b", "c", "d"]).with_columns(paid=pl.Series(np.exp(data.X[:, 1])))
    fraud = BenefitClassifier(
        SelectiveNB(), benefit=[[0, 0], [-1, -1]], amount="paid", amount_benefit=[[0, -1], [0, 0]]
    )
    fraud.fit(frame, data.y)
    paid = np.exp(data.X[:, 1])
    stop = fraud.predict_proba(frame)[:, 1] * paid > 1
    assert fraud.predict(frame).tolist() == stop.astype(int).tolist()
    assert fraud.score(frame, data.y) == pytest.approx(-np.where(stop, 1, data.y * paid).mean())


def test_shares_of_the_population_replace_those_of_training() -> None:
    data = campaign(4000)
    donors, others = np.flatnonzero(data.y == 1), np.flatnonzero(data.y == 0)
    rows = np.r_[donors, others[: donors.size]]
    share = donors.size / data.y.size
    model = BenefitClassifier(LogisticRegression(), class_prior={0: 1 - share, 1: share}).fit(
        data.X[rows], data.y[rows]
    )
    raw = model.estimator_.predict_proba(data.X)
    odds = raw[:, 1] / raw[:, 0] * share / (1 - share)
    np.testing.assert_allclose(model.predict_proba(data.X)[:, 1], odds / (1 + odds))
    assert model.training_prior_.tolist() == [0.5, 0.5]
    assert model.predict_proba(data.X)[:, 1].mean() == pytest.approx(share, rel=0.15)
    weights = np.where(data.y == 1, (1 - share) / share, 1.0)
    weighted = BenefitClassifier(LogisticRegression(), class_prior=[1 - share, share])
    weighted.fit(data.X, data.y, sample_weight=weights)
    np.testing.assert_allclose(weighted.training_prior_, [0.5, 0.5])
    assert weighted.predict_proba(data.X)[:, 1].mean() == pytest.approx(share, rel=0.05)


def test_metadata_are_routed() -> None:
    data = campaign(600, share=0.5)
    weights = RNG.integers(1, 4, 600).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        model = (
            BenefitClassifier(
                LogisticRegression().set_fit_request(sample_weight=True),
                benefit=LETTERS,
                amount_estimator=LinearRegression(),
            )
            .set_fit_request(benefit=True, sample_weight=True)
            .set_score_request(benefit=True, sample_weight=True)
        )
        params = {"benefit": data.gifts, "sample_weight": weights}
        scores = cross_validate(model, data.X, data.y, cv=3, params=params, return_estimator=True, return_indices=True)
    for score, fitted, test in zip(scores["test_score"], scores["estimator"], scores["indices"]["test"], strict=True):
        own = fitted.score(data.X[test], data.y[test], weights[test], data.gifts[test])
        assert score == own
    train = scores["indices"]["train"][0]
    direct = LogisticRegression().fit(data.X[train], data.y[train], sample_weight=weights[train])
    np.testing.assert_array_equal(direct.coef_, scores["estimator"][0].estimator_.coef_)
    donors = train[data.y[train] == 1]
    gifts = LinearRegression().fit(data.X[donors], data.gifts[donors], sample_weight=weights[donors])
    np.testing.assert_allclose(gifts.coef_, scores["estimator"][0].amount_estimator_.coef_)


def test_scanned_rows_are_decided_as_in_memory() -> None:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"x": rng.normal(size=400), "sum": rng.gamma(2.0, size=400).round(3)})
    paid = (frame["x"] + 0.5 * rng.normal(size=400) > 0).cast(pl.Int8)
    lazy = frame.with_columns(paid=paid, times=pl.lit(2.0)).lazy()
    options: dict[str, Any] = {"benefit": [[0, 0], [-1, 0.5]], "amount": "sum"}
    one = BenefitClassifier(SelectiveNB("map"), **options).fit(frame, paid, np.full(400, 2.0))
    two = BenefitClassifier(SelectiveNB("map"), **options).fit(lazy, "paid", "times")
    np.testing.assert_array_equal(two.expected_benefit(lazy), one.expected_benefit(frame))
    assert two.total_benefit(lazy, "paid", sample_weight="times") == one.total_benefit(
        frame, paid, sample_weight=[2] * 400
    )
    np.testing.assert_array_equal(two.profit_curve(lazy, "paid").profit, one.profit_curve(frame, paid).profit)
    hidden = lazy.with_columns(pl.when(pl.int_range(pl.len()) % 4 > 0).then("paid").alias("paid"))
    labelled = (np.arange(400) % 4 > 0).nonzero()[0]
    with pytest.warns(UserWarning, match="missing in 100 rows of 400"):
        score = two.score(hidden, "paid")
    assert score == pytest.approx(one.score(frame[labelled], paid[labelled]), rel=1e-12)
    with pytest.raises(ValueError, match="amount_estimator needs the rows in memory, not a scanned table"):
        BenefitClassifier(SelectiveNB(), amount_estimator=LinearRegression()).fit(lazy, "paid")
    with pytest.raises(ValueError, match="A function of the rows as benefit needs the rows in memory"):
        BenefitClassifier(SelectiveNB(), benefit=lambda rows: [[0, 1], [1, 0]]).fit(lazy, "paid")


def test_plain_decisions_ties_and_the_curve() -> None:
    model = BenefitClassifier(SelectiveNB()).fit(X3, Y3)  # without benefits the most probable class
    assert (model.predict(X3) == model.estimator_.predict(X3)).all()
    assert model.score(X3, Y3) == model.estimator_.score(X3, Y3)
    model = BenefitClassifier(DummyClassifier(strategy="prior"), benefit=[[1, 0], [0, 1]])
    assert model.fit(np.zeros((4, 1)), [0, 1, 0, 1]).predict(np.zeros((2, 1))).tolist() == [0, 0]
    data, benefit = campaign(300, share=0.5), [[0, 0], [-1, 3]]
    model = BenefitClassifier(LogisticRegression(), benefit=benefit).fit(data.X, data.y)
    ours = model.profit_curve(data.X, data.y, n_bootstrap=20)
    gain = np.diff(model.expected_benefit(data.X), axis=1).ravel()
    direct = profit_curve(data.y, gain, benefit=benefit, n_bootstrap=20)
    for name in ("share", "threshold", "profit", "low", "high"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(direct, name))


def tried(options: Any = (), *, fit: Any = (), use: Any = None, estimator: Any = None) -> None:
    """Fit and use a classifier with these options."""
    data = campaign(200, share=0.5)
    model = BenefitClassifier(estimator or LogisticRegression(), **dict(options))
    model.fit(data.X, data.y, **dict(fit))
    (use or BenefitClassifier.predict)(model, data.X)


ESTIMATED = {"benefit": LETTERS, "amount_estimator": LinearRegression()}


@pytest.mark.parametrize(
    ("message", "case"),
    [
        ("benefit has 3 columns, but there are 2 classes", {"options": {"benefit": np.eye(3)}}),
        ("name a decision for each row in decisions=", {"options": {"benefit": np.ones((3, 2))}}),
        (
            "class_prior must hold a positive share for each of the classes [0, 1]",
            {"options": {"class_prior": [0.5, 0.4]}},
        ),
        ("class_prior must hold a positive share", {"options": {"class_prior": {0: 1.0}}}),
        ("amount_estimator needs amounts to train on", {"options": {"amount_estimator": LinearRegression()}}),
        ("X has no column 'gift'; check the name given as amount=", {"options": {"amount": "gift"}}),
        ("amount_benefit must be a matrix of finite numbers, 2 rows", {"options": {"amount_benefit": [[1]]}}),
        ("amount_benefit needs the amounts of the rows", {"options": {"amount_benefit": np.eye(2)}}),
        (
            "no amount is known in rows whose benefit depends on it",
            {"options": ESTIMATED, "fit": {"benefit": np.where(campaign(200, share=0.5).y == 1, np.nan, 1.0)}},
        ),
        ("benefit has 3 values, but there are 200 rows", {"options": ESTIMATED, "fit": {"benefit": [1.0, 2.0, 3.0]}}),
        (
            "KNeighborsClassifier does not accept sample_weight",
            {"fit": {"sample_weight": np.ones(200)}, "estimator": KNeighborsClassifier()},
        ),
        ("X has 200 rows but y has 100 labels", {"use": lambda model, X: model.score(X, np.arange(100) % 2)}),
        (
            "Benefits are missing",
            {"options": {"benefit": LETTERS}, "use": lambda model, X: model.predict(X, np.full(200, np.nan))},
        ),
        (
            "needs two decisions, but benefit has 3 rows",
            {
                "options": {"benefit": np.ones((3, 2)), "decisions": [0, 1, 2]},
                "use": lambda model, X: model.profit_curve(X, np.arange(200) % 2),
            },
        ),
    ],
)
def test_one_clear_sentence(message: str, case: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        tried(**case)


def test_shares_of_training_are_needed_for_a_class_prior() -> None:
    fitted = LogisticRegression().fit(X3, Y3)
    with pytest.raises(NotFittedError, match="class_prior needs the class shares of the training rows"):
        BenefitClassifier(fitted, class_prior=[0.5, 0.4, 0.1]).predict(X3)
