"""Errors of wrong tables and targets name the class that was called, and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import (
    BenefitClassifier,
    DiscreteNB,
    IndicatorEncoder,
    InformationGainSelector,
    MODLDiscretizer,
    MRMRSelector,
    SelectiveNB,
    TableEncoder,
    ThresholdTuner,
    WrapperSelector,
)

N = 40
X = pl.DataFrame({"a": np.random.default_rng(0).integers(0, 9, N), "b": np.arange(N) % 3})
Y = np.arange(N) % 2
CALLED: dict[str, Callable[[], Any]] = {
    "SelectiveNB": SelectiveNB,
    "WrapperSelector": WrapperSelector,
    "InformationGainSelector": InformationGainSelector,
    "TableEncoder": TableEncoder,
    "MODLDiscretizer": MODLDiscretizer,
    "DiscreteNB": DiscreteNB,
    "ThresholdTuner": lambda: ThresholdTuner(SelectiveNB()),
    "BenefitClassifier": lambda: BenefitClassifier(SelectiveNB(), benefit=[[1, 0], [0, 1]]),
}
COLUMNS = {"a": X["a"].to_list(), "b": X["b"].to_list()}


@pytest.mark.parametrize("name", CALLED)
def test_tables_and_targets_that_cannot_be_used(name: str) -> None:
    made = CALLED[name]()
    for arguments in ((X,), (X, None)):
        with pytest.raises(ValueError, match=rf"^{name} requires y to be passed.* Pass the class of every row"):
            made.fit(*arguments)
    with pytest.raises(TypeError, match=rf"^{name} expects .*, got a dict; .* polars\.DataFrame"):
        made.fit(COLUMNS, Y)
    with pytest.raises(TypeError, match=rf"^{name} expects .*, got a list of dicts; .* polars\.DataFrame"):
        made.fit(X.to_dicts(), Y)


@pytest.mark.parametrize("name", ["SelectiveNB", "WrapperSelector", "InformationGainSelector", "ThresholdTuner"])
def test_a_single_class_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} needs at least 2 classes .* Check that y is the right column"):
        CALLED[name]().fit(X, np.zeros(N, dtype=int))


@pytest.mark.parametrize("name", ["SelectiveNB", "InformationGainSelector", "TableEncoder", "MODLDiscretizer"])
def test_further_columns_are_refused(name: str) -> None:
    fitted = CALLED[name]().fit(X, Y)
    use = fitted.predict if hasattr(fitted, "predict") else fitted.transform
    with pytest.raises(
        ValueError, match=rf"unseen at fit time:\n- more\n{name} takes the columns of the training rows"
    ):
        use(X.with_columns(more=1.0))
    with (
        pytest.warns(UserWarning, match="valid feature names"),
        pytest.raises(ValueError, match=f"but {name} is expec"),
    ):
        use(np.zeros((2, 3)))


def test_a_dict_is_one_row() -> None:
    model = SelectiveNB().fit(X, Y)
    assert model.predict({"a": 1.0, "b": 2}).shape == (1,)
    with pytest.raises(TypeError, match=r"^SelectiveNB takes a dict for one row, but 'a' holds list"):
        model.predict(COLUMNS)
    with pytest.raises(TypeError, match=r"^Scorecard takes a dict for one row"):
        model.scorecard_.explain(COLUMNS)


def test_indicators_need_no_target() -> None:
    assert IndicatorEncoder().fit(X).transform(X).shape[0] == N


def test_fewer_features_than_asked_for_are_said() -> None:
    one = np.column_stack([Y + np.random.default_rng(1).normal(size=N), np.zeros((N, 2))])
    with pytest.warns(UserWarning, match="MRMRSelector selects 1 of n_features_to_select=3 features: the "):
        assert MRMRSelector(n_features_to_select=3).fit(one, Y).n_features_selected_ == 1
