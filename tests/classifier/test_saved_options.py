"""Every public option of a model and of its parts comes back from a file: what is loaded is what was saved."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from sklearn import model_selection
from sklearn.base import BaseEstimator

import bayesieve
from bayesieve import (
    AUCSelector,
    CFSSelector,
    EqualFrequencyDiscretizer,
    EqualWidthDiscretizer,
    IndicatorEncoder,
    MDLPDiscretizer,
    MODLDiscretizer,
    MODLGrouper,
    SelectiveNB,
    TableEncoder,
    WrapperSelector,
    criteria as c,
    search as s,
)
from bayesieve.classifier.plan import FitPlan
from bayesieve.counts import SpearmanCorrelation
from bayesieve.counts.dependence import Dependence, SymmetricalUncertainty
from bayesieve.discretize.column_coder import ColumnCoder
from bayesieve.selection import SELECTORS

N = 60


@cache
def table() -> pl.DataFrame:
    rng = np.random.default_rng(4)
    y = codes()
    moved = np.where(rng.random(N) < 0.3, rng.integers(0, 2, N), y)
    return pl.DataFrame(
        {
            "size": rng.normal(2.0 * y, 1.5),
            "visits": rng.poisson(1 + y).astype(float),
            "town": [None if rng.random() < 0.1 else ["Köln", "Jena", "Ulm"][m + rng.integers(2)] for m in moved],
            "noise": rng.random(N),
        }
    )


@cache
def codes() -> np.ndarray:
    return np.random.default_rng(3).permutation(np.arange(N) % 2)


LABELS: dict[str, Any] = {
    "str": lambda y: np.array(["no", "yés"])[y],
    "object": lambda y: np.array(["no", "yés"], dtype=object)[y],
    "list": lambda y: ["b" if one else "a" for one in y],
    "bool": lambda y: y == 1,
    "object-bool": lambda y: (y == 1).astype(object),
    "object-int": lambda y: (y - 1).astype(object),
    **{
        kind: lambda y, kind=kind: y.astype(kind)
        for kind in ("int8", "uint8", "int16", "uint32", "int64", "uint64", "float16", "float32", "float64")
    },
    "large": lambda y: y.astype(np.uint64) + np.uint64(2**63),
    "polars": lambda y: pl.Series("target", ["a", "b"])[y],
    "pandas": lambda y: pl.Series("target", ["a", "b"])[y].to_pandas(),
    "categorical": lambda y: pl.Series("target", ["a", "b"])[y].cast(pl.Categorical).to_pandas(),
}


def check_same(again: SelectiveNB, model: SelectiveNB, X: Any) -> None:
    np.testing.assert_array_equal(again.scorecard_.joint(X), model.scorecard_.joint(X))
    predicted, expected = again.predict(X), model.predict(X)
    assert predicted.dtype == expected.dtype
    np.testing.assert_array_equal(predicted, expected)


def plain(value: Any) -> Any:
    """An option in a form that can be compared: of parts their types and options."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return [[plain(item) for item in pair] for pair in value.items()]
    if isinstance(value, BaseEstimator):
        return type(value), {name: plain(item) for name, item in value.get_params(deep=False).items()}
    parts = c.Criterion, Dependence, s.ClusterSearch
    if isinstance(value, (*parts, model_selection.BaseCrossValidator, model_selection.BaseShuffleSplit)):
        options = {name: plain(item) for name, item in vars(value).items() if not name.startswith("_")}
        return type(value), options
    return value


def check_round_trip(model: SelectiveNB, folder: Path, X: Any, y: Any) -> SelectiveNB:
    path = folder / "model.json"
    model.save(path)
    again = bayesieve.load(path)
    check_same(again, model, X)
    again.save(folder / "again.json")
    assert (folder / "again.json").read_bytes() == path.read_bytes()
    check_same(again.fit(X, y), model, X)
    return bayesieve.load(path)


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_every_type(tmp_path: Path, kind: str) -> None:
    y = LABELS[kind](codes())
    model = SelectiveNB("map").fit(table(), y)
    again = check_round_trip(model, tmp_path, table(), y)
    assert again.target_name_ == model.target_name_ == getattr(y, "name", None)
    assert [type(label) for label in again.classes_.tolist()] == [type(label) for label in model.classes_.tolist()]


def criterion_objects(labels: Any) -> list[Callable[[], Any]]:
    last = np.unique(np.asarray(labels))[-1]
    plain = (c.Accuracy, c.BalancedAccuracy, c.AUC, c.BalancedError, c.Brier, c.Error, c.ErrorProbability, c.LogLoss)
    return [
        *plain,
        lambda: c.MAPCost(4),
        *(lambda: c.Recall(last), lambda: c.Precision(last), lambda: c.Precision(last.item())),
        *(lambda: c.ExpectedCost([[0, 1], [5, 0]]), lambda: c.ExpectedCost(np.array([[0.0, 1.5], [3.0, -0.1]]))),
        *(lambda: c.Benefit([[0, 0], [-0.5, 9]]), lambda: c.Benefit(np.array([[0.0, 1.5], [3.0, -0.1], [1, 1]]))),
    ]


def splitters() -> list[Any]:
    rows, m = np.arange(N), model_selection
    return [
        m.KFold(3, shuffle=True, random_state=np.int64(1)),
        m.StratifiedKFold(np.int64(2)),
        m.RepeatedKFold(n_splits=2, n_repeats=2, random_state=0),
        m.RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
        m.ShuffleSplit(2, test_size=0.4, random_state=1),
        m.StratifiedShuffleSplit(2, train_size=30, random_state=1),
        *(m.LeavePOut(1), m.LeaveOneOut(), m.TimeSeriesSplit(2, gap=1), m.PredefinedSplit(rows % 3)),
        [(rows[: N // 2], rows[N // 2 :]), (list(range(20, N)), tuple(range(20)))],
    ]


FLAGS = [True, False, np.True_]
MEASURES = ["mutual_information", "symmetrical_uncertainty", SymmetricalUncertainty(), "pearson", SpearmanCorrelation()]
CRITERIA = ["error", "error_probability", "brier", "log_loss", "auc", "balanced_error", "map"]
PAIRS = [0, "auto", 1, np.int64(2), [], [["visits", "size"]], (("town", "noise"), ("noise", "size"))]
EVALUATIONS = ["train", "holdout", "loo", 2, np.int64(3)]
VALUES: dict[str, list[Any]] = {
    "alpha": [None, 0, 0.25],
    "calibrate": [True, False, "auto", "weights", "levels", "cells", np.str_("cells"), np.True_, np.False_],
    "constant_columns": FLAGS,
    "count": ["distinct", "evaluations", np.str_("evaluations")],
    "dependence": MEASURES,
    "diagonal": FLAGS,
    "direction": ["forward", "backward", "forward-backward", "backward-forward", "fast"],
    "every_move": FLAGS[:2],
    "exhaustive": [*FLAGS, "auto"],
    "form": ["difference", "quotient"],
    "independent_as_redundant": FLAGS[:2],
    "kinds": [None, {}, {"visits": "categorical"}, {"noise": np.str_("numeric"), "size": "categorical"}],
    "last_of_ties": FLAGS[:2],
    "leave_out": FLAGS[:2],
    "level_probabilities": ["frequency", "maximum-entropy"],
    "linkage": ["complete", "average", "single", "weighted"],
    "locally_predictive": FLAGS,
    "matrix": [None, np.eye(4), [[1.0, 0.5, 0, 0], [0.5, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]],
    "max_iter": [1, 2, 4],
    "max_seconds": [None, math.inf, 1000, np.float64(1e6)],
    "method": ["greedy", "optimal"],
    "missing": ["level", "ignore"],
    "levels": [None, None, {}, {"noise": {"max_levels": 3, "min_rows": 0.1}, "size": {"cuts": [1.5], "coarsen": True}}],
    "monotone": [None, None, {}, {"size": 1}, {"visits": np.int64(-1), "noise": 1}],
    "n_bins": [2, 5, np.int64(3)],
    "n_combinations": [1, 30],
    "n_cuts": [None, 1, np.int64(2)],
    "n_features": [None, 1, np.int64(2)],
    "n_features_to_select": [1, np.int64(2)],
    "n_jobs": [None, -1, 1, 2, np.int64(1)],
    "n_quantiles": [65_535, 2, np.int64(500)],
    "n_rounds": [20, 1, np.int64(3)],
    "n_stale": [1, 5],
    "n_starts": [None, 1, np.int64(3)],
    "n_waiting": [1, 5],
    "normalize": FLAGS,
    "pairs": PAIRS,
    "prior": ["sizes", "published"],
    "q": ["auto", 0.5, 1, np.float64(0.3)],
    "random_state": [None, 0, 2**32 - 1, np.int64(3), np.uint8(7)],
    "recode": [*FLAGS, "auto"],
    "refit": FLAGS,
    "replacement": FLAGS[:2],
    "s": [1.0, 0.5, np.float64(2.0)],
    "seed": [0, 5],
    "smoothing": ["m-estimate", 0.5, 1, np.float32(0.25), np.float64(2.0), np.str_("m-estimate")],
    "thresholds": [
        3,
        np.int64(2),
        [0.5, 1],
        (0.0, 2.5),
        np.array([1.5]),
        {"size": [0, 2], "visits": 4, "noise": (0.5,)},
    ],
    "threshold": [0.0, 0.01, np.float32(0.5), -math.inf],
    "thorough": [False, True],
    "tol": [0.0, 1e-3, np.float64(1e-5), math.inf],
    "unseen": ["ignore"],
    "until_best": FLAGS,
    "until_decay": FLAGS,
    "validation_size": [0.3, 0.55],
    "verbose": [0, False, np.int64(0)],
}
"""What options of these names take, in whatever part."""
NOT_SAVED = {"scores", "encoder", "selector", "engine", "memory_limit", "resume"}  # or given below


def built(kind: Any, labels: Any, most: int = 5) -> st.SearchStrategy[Any]:
    """A part with up to five of its options set."""
    names = sorted(set(inspect.signature(kind).parameters) - NOT_SAVED - set(getattr(kind, "unsaved_options", ())))
    some = st.sets(st.sampled_from(names), max_size=most)
    return some.flatmap(lambda chosen: st.builds(kind, **{name: values(kind, name, labels) for name in sorted(chosen)}))


def values(kind: Any, name: str, labels: Any) -> st.SearchStrategy[Any]:
    """What is drawn for an option of a part."""
    last = np.unique(np.asarray(labels))[-1]
    objects = st.sampled_from(criterion_objects(labels)).map(lambda make: make())
    searches = st.one_of(*(built(search, labels) for search in SEARCHES))
    constraints = ["auc", "log_loss", f"recall:{last}", f"precision:{last}", c.Recall(last), c.Brier()]
    bounds = st.dictionaries(
        st.sampled_from(constraints), st.sampled_from([0, 0.6, np.float64(0.4), np.float32(0.25)]), max_size=2
    )
    own: dict[Any, st.SearchStrategy[Any]] = {
        "criterion": st.sampled_from(CRITERIA) | objects,
        "validation": st.sampled_from(CRITERIA) | objects,
        "scoring": st.sampled_from([*CRITERIA, "balanced_accuracy", "f1_macro", c.Scorer("f1_macro")]) | objects,
        "constraints": st.none() | bounds,
        "evaluation": st.sampled_from([*EVALUATIONS, *splitters()]),
        (WrapperSelector, "search"): st.none() | searches,
        (AUCSelector, "search"): st.sampled_from(["forward", "multi-start"]),
        (CFSSelector, "search"): st.sampled_from(["best-first", "forward", "backward"])
        | searches.filter(lambda search: not isinstance(search, of_models)),
        "numeric": st.sampled_from(["modl", "mdlp", "equal-frequency", "equal-width"])
        | st.one_of(*(built(coder, labels) for coder in CODERS - {MODLGrouper})),
        "categorical": st.sampled_from(["modl", "values", "auto"]) | built(MODLGrouper, labels),
        "positive": st.none() | st.sampled_from(np.unique(np.asarray(labels)).tolist()),
        (SelectiveNB, "random_state"): st.sampled_from(VALUES["random_state"])
        | st.just(5).map(np.random.RandomState)
        | st.just(5).map(np.random.default_rng),
        (s.GreedySearch, "direction"): st.sampled_from(s.DIRECTIONS),
    }
    found = own.get((kind, name), own.get(name))
    return st.sampled_from(VALUES[name]) if found is None else found


of_models = (s.MultiStart, s.RankedPath, s.ClusterSearch)
SEARCHES = (s.GreedySearch, s.BestFirst, s.MultiStart, s.RankedPath, s.ExhaustiveSearch, s.ClusterSearch)
CODERS = {MODLDiscretizer, MDLPDiscretizer, EqualFrequencyDiscretizer, EqualWidthDiscretizer, MODLGrouper}
MODEL = set(inspect.signature(SelectiveNB).parameters) - NOT_SAVED


def test_every_public_part_and_option_is_drawn() -> None:
    parts = [getattr(bayesieve, name) for name in bayesieve.__all__]
    assert {part for part in parts if isinstance(part, type) and issubclass(part, ColumnCoder)} == CODERS
    kinds = [getattr(s, name) for name in s.__all__]
    assert {k for k in kinds if isinstance(k, type) and issubclass(k, s.Search)} - {s.Search} == set(SEARCHES)
    for kind in (*SELECTORS.own.values(), *SEARCHES, *CODERS, TableEncoder, IndicatorEncoder, SelectiveNB):
        for name in set(inspect.signature(kind).parameters) - NOT_SAVED - set(getattr(kind, "unsaved_options", ())):
            values(kind, name, codes())


@st.composite
def models(draw: st.DrawFn, labels: Any) -> SelectiveNB:
    name = draw(st.sampled_from(sorted(SELECTORS)))
    selector: Any = name
    indicators = built(IndicatorEncoder, labels).filter(lambda encoder: encoder.thresholds != 10)  # 2^24 subsets
    encoder = draw(st.just("modl") | built(TableEncoder, labels, 10) | indicators)
    if draw(st.integers(0, 3)):
        selector = draw(built(SELECTORS[name], labels))
        if draw(st.integers(0, 4)) == 0:
            selector.set_params(encoder=encoder)
            encoder = "modl"
    options = {option: draw(values(SelectiveNB, option, labels)) for option in sorted(MODEL)}
    return SelectiveNB(selector, encoder=encoder, **options)


@pytest.mark.slow
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_option_comes_back(tmp_path: Path, data: st.DataObject) -> None:
    y = LABELS[data.draw(st.sampled_from(["str", "int8", "bool", "float32"]))](codes())
    model = data.draw(models(y))
    try:
        encoder = FitPlan.of(model).encoder
        X = table().drop("town") if isinstance(encoder, IndicatorEncoder) else table()
        model.fit(X, y)
    except ValueError:  # options that exclude each other, or a criterion that has no value here
        return
    again = check_round_trip(model, tmp_path, X, y)
    given, read = plain(model)[1], plain(again)[1]
    if not isinstance(model.random_state, (np.random.RandomState, np.random.Generator)):
        assert read["random_state"] == given["random_state"]
    for name in MODEL - {"random_state"}:
        assert read[name] == given[name], name
    if isinstance(model.selector, str):
        assert again.selector == model.selector
    else:
        del given["selector"][1]["encoder"], read["selector"][1]["encoder"]  # the model's stands for it
        assert read["selector"] == given["selector"]
    if isinstance(encoder, TableEncoder):
        assert plain(FitPlan.of(again).encoder) == plain(encoder)


@pytest.mark.filterwarnings("ignore:No subset that the search met:UserWarning")
@pytest.mark.parametrize("kind", SEARCHES)
def test_searches_and_constraints_come_back(tmp_path: Path, kind: type[s.Search]) -> None:
    y = LABELS["str"](codes())
    bounds = {"recall:yés": 0.6, c.Precision("no"): np.float32(0.5), "auc": 1}
    selector = WrapperSelector("log_loss", search=kind(max_seconds=1e6), constraints=bounds, evaluation="train")
    model = SelectiveNB(selector).fit(table(), y)
    again = check_round_trip(model, tmp_path, table(), y)
    assert again.selector.search == selector.search
    assert plain(again.selector.constraints) == plain(bounds)
    np.testing.assert_array_equal(again.trace_.chosen, model.trace_.chosen)
    by_merit = SelectiveNB("cfs") if kind in of_models else SelectiveNB(CFSSelector(search=kind()))
    check_round_trip(by_merit.fit(table(), y), tmp_path, table(), y)


class Mine(c.RowLoss):
    name = "mine"

    def losses(self, probability: np.ndarray, true_class: int) -> np.ndarray:
        return 1.0 - probability[true_class]


class MyFolds(model_selection.KFold):
    pass


class MyCoder(MODLDiscretizer):
    pass


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            SelectiveNB(WrapperSelector(Mine())),
            "criterion=<.*Mine object.*> cannot be saved as JSON, .*; pickle the model",
        ),
        (SelectiveNB(WrapperSelector(validation=Mine())), "validation=<"),
        (SelectiveNB(WrapperSelector(evaluation=MyFolds(2))), r"evaluation=MyFolds\(.*\) cannot be saved as JSON"),
        (
            SelectiveNB(
                WrapperSelector(
                    evaluation=model_selection.KFold(2, shuffle=True, random_state=np.random.RandomState(0))
                )
            ),
            r"evaluation's random_state=RandomState.* cannot be saved",
        ),
        (SelectiveNB("all", encoder=TableEncoder(numeric=MyCoder())), r"numeric=MyCoder\(\) cannot be saved"),
    ],
)
def test_what_no_file_can_hold_is_one_sentence(tmp_path: Path, model: SelectiveNB, message: str) -> None:
    path = tmp_path / "model.json"
    path.write_text("an older file")
    with pytest.raises(ValueError, match=f"^{message}") as error:
        model.fit(table(), LABELS["str"](codes())).save(path)
    assert "\n" not in str(error.value)
    assert path.read_text() == "an older file"


@pytest.mark.parametrize("in_search", [False, True])
def test_a_trace_to_go_on_with_is_no_option_of_the_file(in_search: bool, tmp_path: Path) -> None:
    y = LABELS["str"](codes())
    options = {"search": s.GreedySearch(max_seconds=0.0)} if in_search else {"direction": "forward"}
    trace = WrapperSelector(evaluation="train", **options).fit(table(), y).trace_
    options |= {"search": s.GreedySearch(resume=trace, tol=1e-4)} if in_search else {"resume": trace}
    model = SelectiveNB(WrapperSelector(evaluation="train", **options)).fit(table(), y)
    again = check_round_trip(model, tmp_path, table(), y)
    assert again.selector.resume is None
    assert again.selector.search == (s.GreedySearch(tol=1e-4) if in_search else None)


def test_categories_that_are_infinite(tmp_path: Path) -> None:
    X = pl.DataFrame({"x": [math.inf if one else -1.5 for one in codes()]})
    y = LABELS["str"](codes())
    model = SelectiveNB("all", encoder=TableEncoder(kinds={"x": "categorical"})).fit(X, y)
    check_round_trip(model, tmp_path, X, y)
    texts = np.where(codes() == 1, "inf", "nan").astype(object)[:, None]
    model = SelectiveNB("all").fit(texts, y)
    check_round_trip(model, tmp_path, texts, y)


@pytest.mark.parametrize("where", ["Column 'x0'", "The target"])
def test_half_a_character_is_refused_before_anything_is_searched(where: str) -> None:
    texts = np.array(["caf\ud800" if one else "a" for one in codes()], dtype=object)
    X, y = (codes()[:, None], texts) if where == "The target" else (texts[:, None], codes())
    with pytest.raises(ValueError, match=rf"^{where} holds 'caf\\ud800', which is not valid Unicode; decode it again"):
        SelectiveNB("all").fit(X, y)
