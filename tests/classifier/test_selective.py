"""`SelectiveNB` from fit to prediction: options, weights, early ends and Ctrl-C give a usable model or an error."""

from __future__ import annotations

import pkgutil
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from bayesieve import (
    CompressionAveraging,
    DiscreteNB,
    IndicatorEncoder,
    MAPSelector,
    MODLDiscretizer,
    MRMRSelector,
    SelectiveNB,
    TableEncoder,
    WrapperSelector,
    load,
)
from bayesieve.classifier import selective
from bayesieve.classifier.plan import FitPlan
from bayesieve.engine.progress import Clock
from bayesieve.evidence import calibration
from bayesieve.search import SearchState
from bayesieve.table.cautions import silenced
from tests.classifier.mixed_data import N, data, fitted, frame, labels
from tests.limits import Watch, interrupted

SELECTORS = ("all", "map", "bayesian", "compression")


@pytest.mark.parametrize("selector", SELECTORS)
def test_what_a_fit_sets(selector: str) -> None:
    model = fitted(selector)
    assert model.classes_.tolist() == sorted(set(labels()))
    assert model.feature_weights_.shape == (8,)
    assert np.all((model.feature_weights_ >= 0) & (model.feature_weights_ <= 1))
    assert model.feature_names_in_.tolist() == frame().columns
    assert model.n_features_in_ == 8
    assert model.n_rows_ == N
    by_name = dict(zip(frame().columns, model.feature_weights_, strict=True))
    kept = model.selected_features_
    assert {name for name, weight in by_name.items() if weight > 0} <= set(kept)  # others matter by their curves
    importance = dict(zip(frame().columns, model.feature_importances_, strict=True))
    assert [importance[name] for name in kept] == sorted(importance.values(), reverse=True)[: len(kept)]
    assert model.n_features_selected_ == len(kept) > 0
    assert "vide" not in kept
    np.testing.assert_allclose(model.feature_importances_.sum(), 1.0)
    assert np.all((model.feature_importances_ > 0) == [name in kept for name in frame().columns])
    if selector == "compression":  # its weights are fitted once more
        assert np.all((model.selector_.weights_ > 0) | (model.feature_weights_ == 0))
    else:
        np.testing.assert_array_equal(model.feature_weights_, model.selector_.weights_)
    assert model.trace_ is model.selector_.trace_
    assert model.score(frame(), labels()) > 0.7


def test_only_averaging_by_compression_is_calibrated_unless_told() -> None:
    assert fitted("map").weight_factor_ == 1.0
    assert fitted("compression").weight_factor_ <= 1.0
    assert SelectiveNB("all", calibrate=True).fit(frame(), labels()).weight_factor_ < 1.0
    off = SelectiveNB("compression", calibrate=False).fit(frame(), labels())
    assert off.weight_factor_ == 1.0
    np.testing.assert_array_equal(off.feature_weights_, off.selector_.weights_)


@pytest.mark.parametrize("selector", SELECTORS)
def test_predictions_are_those_of_naive_bayes_on_the_codes(selector: str) -> None:
    model = SelectiveNB(selector, pairs=0, calibrate="weights", smoothing=0.5).fit(frame(), labels())
    codes = TableEncoder().fit_transform(frame(), labels())
    levels = [level.n_levels for level in model.encoder_.levels_]
    options = {"smoothing": model.smoothing_, "feature_weights": model.feature_weights_}
    plain = DiscreteNB(min_categories=levels, **options).fit(codes, labels())
    np.testing.assert_allclose(model.predict_proba(frame()), plain.predict_proba(codes), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(frame()), plain.predict(codes))
    probabilities = model.predict_proba(frame())
    np.testing.assert_allclose(np.exp(model.predict_log_proba(frame())), probabilities, rtol=1e-12)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-14)
    best = model.decision_function(frame()).argmax(axis=1)
    np.testing.assert_array_equal(model.classes_[best], model.predict(frame()))
    two = SelectiveNB(selector, calibrate=False, pairs=0).fit(frame(), labels() == labels()[0])
    proba = two.predict_proba(frame())
    np.testing.assert_allclose(two.decision_function(frame()), np.log(proba[:, 1] / proba[:, 0]), atol=1e-9)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("selector", ["map", "compression"])
def test_a_class_without_weight_is_as_if_its_rows_were_not_there(selector: str) -> None:
    kept = np.array(data()["class"]) != 1
    with silenced():  # there are dates in the table
        weighted = SelectiveNB(selector, calibrate=True).fit(frame(), labels(), sample_weight=kept.astype(float))
        without = SelectiveNB(selector, calibrate=True).fit(frame().filter(kept), labels()[kept])
    assert weighted.classes_.tolist() == without.classes_.tolist()
    assert [level.labels for level in weighted.encoder_.levels_] == [level.labels for level in without.encoder_.levels_]
    np.testing.assert_allclose(weighted.predict_proba(frame()), without.predict_proba(frame()), atol=1e-5)
    with pytest.raises(ValueError, match="needs at least 2 classes"):
        SelectiveNB(selector).fit(frame(), labels(), sample_weight=(np.array(data()["class"]) == 0).astype(float))


def test_unseen_categories_and_missing_values_add_nothing() -> None:
    model = fitted("all")
    new = pl.DataFrame({name: [None, None] for name in frame().columns}).with_columns(
        pl.Series("<script>alert(1)</script>", ["atlantis", None]), pl.Series("membre", [None, None])
    )
    contributions = model.scorecard_.explain(new)
    at = contributions.features.index("<script>alert(1)</script>")
    feature = model.scorecard_["<script>alert(1)</script>"]
    np.testing.assert_array_equal(contributions.contributions[0, at], feature.unseen)
    assert contributions.levels[:, at].tolist() == ["(not seen in training)", "missing"]
    never_missing = contributions.features.index("à")
    np.testing.assert_array_equal(contributions.contributions[1, never_missing], model.scorecard_["à"].unseen)
    of_one = SelectiveNB("all").fit(pd.DataFrame({"a": ["x", "y"] * 50}), np.arange(100) % 2)
    np.testing.assert_allclose(of_one.predict_proba(pd.DataFrame({"a": ["z", None]})), 0.5, rtol=1e-14)


def test_explanations_show_raw_values_and_which_are_missing() -> None:
    explanation = fitted("map").explain(frame()[:20])
    for name in {"membre", "visites", "depuis"} & {*explanation["feature"]}:
        part = explanation.filter((pl.col("feature") == name) & (pl.col("class") == labels()[0]))
        assert part["value"].to_list() == [None if value is None else str(value) for value in data()[name][:20]]
        assert [level == "missing" for level in part["level"]] == [value is None for value in data()[name][:20]]


def test_summary_and_description() -> None:
    model = fitted()
    summary = model.summary()
    assert summary.columns == ["feature", "kind", "weight", "level_score", "importance", "n_levels"]
    assert summary["importance"].is_sorted(descending=True)
    assert summary["feature"].to_list()[: model.n_features_selected_] == model.selected_features_
    text = model.scorecard_.describe()
    assert text.startswith("Trained on 200 rows with 8 features and 3 classes (")
    assert (
        f"the most important are {', '.join(model.selected_features_[:2])} and {model.selected_features_[2]}." in text
    )
    assert "1 other feature has a single level: no cut point or grouping pays for itself." in text
    html = model._repr_html_()
    assert "&lt;script&gt;alert(1)" in html
    assert "<script>alert(1)" not in html
    noise = frame().select("bruit")
    model = SelectiveNB().fit(noise, labels())
    assert "No feature says anything reliable about the target" in model.scorecard_.describe()
    assert "1 feature has a single level: no cut point or grouping pays for itself." in model.scorecard_.describe()
    shares = model.scorecard_.class_counts / N
    np.testing.assert_allclose(model.predict_proba(noise), np.tile(shares, (N, 1)), rtol=1e-12)
    assert model.selected_features_ == []
    assert model.explain(noise).height == 0


def test_columns_must_be_those_of_the_fit() -> None:
    model = fitted()
    with pytest.raises(ValueError, match=r"feature names should match .*\n.*now missing:\n- bruit"):
        model.predict(frame().drop("bruit"))
    with pytest.raises(ValueError, match="unseen at fit time:\n- extra"):
        model.predict_proba(frame().with_columns(pl.lit(1).alias("extra")))
    with pytest.raises(ValueError, match="same order"):
        model.explain(frame().select(reversed(frame().columns)))
    with pytest.warns(UserWarning, match="SelectiveNB was fitted with feature names"):
        model.predict(np.array(frame().rows(), dtype=object))
    with pytest.raises(ValueError, match="SelectiveNB is expecting 2 features"):
        SelectiveNB().fit(np.random.default_rng(0).normal(size=(9, 2)), [0, 1, 0] * 3).predict([[1.0]])


@pytest.mark.parametrize("method", ["predict", "predict_proba", "explain", "summary", "save", "report"])
def test_not_fitted(method: str) -> None:
    arguments = [] if method == "summary" else ["x"]
    with pytest.raises(NotFittedError):
        getattr(SelectiveNB(), method)(*arguments)
    assert "SelectiveNB" in SelectiveNB()._repr_html_()


def test_joblib_maps_models_and_options_of_parts_are_named(tmp_path: Any) -> None:
    joblib.dump(fitted(), tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    np.testing.assert_array_equal(mapped.predict_proba(frame()), fitted().predict_proba(frame()))
    deep = clone(SelectiveNB(CompressionAveraging(n_starts=2), encoder=TableEncoder(missing="ignore")))
    assert (deep.get_params()["selector__n_starts"], deep.get_params()["encoder__missing"]) == (2, "ignore")


def test_refitting_forgets_the_first_table() -> None:
    model = SelectiveNB("all").fit(frame(), labels())
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    model.fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), SelectiveNB("all").fit(X, y).predict_proba(X))
    assert not hasattr(model, "feature_names_in_")


def test_cross_validation_grid_search_and_pipelines() -> None:
    pandas = frame().to_pandas()
    assert cross_val_score(SelectiveNB("map"), pandas, labels(), cv=3).mean() > 0.65
    pipeline = make_pipeline(FunctionTransformer(), SelectiveNB(calibrate=False))
    grid = GridSearchCV(pipeline, {"selectivenb__selector": list(SELECTORS)}, cv=2, scoring="neg_log_loss")
    grid.fit(pandas, labels())
    assert np.all(np.isfinite(grid.cv_results_["mean_test_score"]))
    assert grid.predict(pandas).shape == (N,)
    pipeline = make_pipeline(MAPSelector(), SelectiveNB("all")).fit(frame(), labels())
    kept = [name for name, on in zip(frame().columns, pipeline[0].support_, strict=True) if on]
    assert pipeline[1].feature_names_in_.tolist() == kept
    np.testing.assert_allclose(pipeline.predict_proba(frame()), fitted("map").predict_proba(frame()), rtol=1e-12)


@pytest.fixture
def metadata_routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("metadata_routing")
def test_sample_weights_are_routed() -> None:
    weights = np.random.default_rng(3).integers(0, 3, N).astype(float)
    model = SelectiveNB("all").set_fit_request(sample_weight=True)
    pipeline = make_pipeline(FunctionTransformer(), model).fit(frame(), labels(), sample_weight=weights)
    direct = SelectiveNB("all").fit(frame(), labels(), sample_weight=weights)
    np.testing.assert_array_equal(pipeline.predict_proba(frame()), direct.predict_proba(frame()))
    assert not np.array_equal(pipeline.predict_proba(frame()), fitted("all").predict_proba(frame()))
    scored = model.set_score_request(sample_weight=True)
    found = cross_validate(scored, frame().to_pandas(), labels(), cv=3, params={"sample_weight": weights})
    assert np.all(np.isfinite(found["test_score"]))
    selector = MAPSelector().set_fit_request(sample_weight=True)
    both = make_pipeline(selector, model).fit(frame(), labels(), sample_weight=weights)
    assert both.predict(frame()).shape == (N,)
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
        make_pipeline(FunctionTransformer(), SelectiveNB()).fit(frame(), labels(), sample_weight=weights)


def test_an_interrupted_search_still_gives_a_model() -> None:
    models = [SelectiveNB("compression", max_seconds=0).fit(frame(), labels())]
    message = "CompressionAveraging keeps the best so far"
    with interrupted(SearchState, "candidates", 3), pytest.warns(UserWarning, match=message):
        models.append(SelectiveNB().fit(frame(), labels()))
    with interrupted(MODLDiscretizer, "fit_blocks"), pytest.raises(KeyboardInterrupt):  # while there is no model yet
        SelectiveNB().fit(frame(), labels())
    for model in models:
        assert np.all(np.isfinite(model.predict_proba(frame())))
        assert not model.trace_.complete


@pytest.mark.parametrize(
    "during",
    [
        "bayesieve.search.trace.SearchTrace.of",
        "bayesieve.evidence.terms.split_levels",
        "bayesieve.evidence.terms.coarser_codes",
        "bayesieve.evidence.joint_fit.find_surfaces",
        "bayesieve.evidence.joint_fit.worth_keeping",
        "bayesieve.evidence.problem.EvidenceProblem.narrowed",
        "bayesieve.evidence.fitting._fitted_contributions",
    ],
)
def test_ctrl_c_at_any_moment_after_the_search_keeps_a_model(during: str, watch: Watch) -> None:
    rng = np.random.default_rng(3)
    X = pl.DataFrame({"a": rng.normal(size=600), "b": rng.normal(size=600), "c": rng.choice(list("xyz"), 600)})
    y = X["a"] * X["b"] + X["a"] + X["c"].eq("x") + rng.normal(size=600) > 0
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # other tests may have left another one
    owner, _, name = during.rpartition(".")
    met: list[int] = []

    def once(*_: Any) -> None:
        met.append(1)
        if len(met) == 1:
            signal.raise_signal(signal.SIGINT)

    watch(pkgutil.resolve_name(owner), name, once)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = SelectiveNB(n_jobs=1).fit(X, y)
    assert met
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler
    assert "a" in model.selected_features_
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_an_interrupted_calibration_keeps_the_search() -> None:
    message = r"^Calibration was interrupted: the model keeps .* search, and"
    with interrupted(calibration.CalibrationRows, "of"), pytest.warns(UserWarning, match=message) as caught:
        model = SelectiveNB(smoothing=0.001).fit(frame(), labels())
    assert caught[0].filename == __file__
    assert model.trace_.complete
    search = CompressionAveraging(n_starts=model.trace_.n_starts, smoothing=0.001)
    expected = SelectiveNB(search, smoothing=0.001, calibrate=False).fit(frame(), labels())
    np.testing.assert_array_equal(model.feature_weights_, np.round(expected.feature_weights_, 9))
    np.testing.assert_allclose(model.predict_proba(frame()), expected.predict_proba(frame()), rtol=0, atol=1e-8)
    message = r"search times 0\.\d+, and may be overconfident"
    with interrupted(calibration, "fit_weights"), pytest.warns(UserWarning, match=message):
        model = SelectiveNB(smoothing=0.001).fit(frame(), labels())
    assert 0 < model.weight_factor_ < 1
    np.testing.assert_array_equal(model.feature_weights_, model.weight_factor_ * np.round(expected.feature_weights_, 9))


def test_calibration_has_no_more_time_than_the_search_left_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Late(Clock):
        def __init__(self, max_seconds: float | None) -> None:
            super().__init__(None if max_seconds is None else 0.0)

    monkeypatch.setattr(selective, "Clock", Late)
    unlimited = SelectiveNB("all", calibrate="cells", max_seconds=1e6)  # a selector without a limit of its own
    for model in (SelectiveNB(max_seconds=1e6), SelectiveNB(CompressionAveraging(max_seconds=1e6)), unlimited):
        with pytest.warns(UserWarning, match=r"^Calibration ran out of time \(max_seconds\)"):
            model.fit(frame(), labels())
        np.testing.assert_array_equal(model.feature_weights_, np.round(model.selector_.weights_, 9))


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("max_seconds", [float("nan"), -1, "a", True]),
        ("random_state", [-1, 2**32, "dice", 1.5]),
        ("verbose", ["a", -1]),
        ("smoothing", [-1, float("inf")]),
        ("calibrate", ["no", 0, 1, None]),
        ("engine", [dict, np.array([1, 2]), "disks", 3]),
        ("memory_limit", ["4 lions", "", "100MB", 10, 4.5, True, "-4GiB"]),
        ("selector", ["best"]),
        ("pairs", ["some", -1]),
        ("prior", ["mine"]),
        ("normalize", ["yes"]),
    ],
)
def test_options_are_checked_whatever_the_selector(option: str, values: list[Any]) -> None:
    encoder = TableEncoder()
    coded = encoder.fit_transform_coded(frame(), labels())
    for value in values:
        for selector in ("compression", MRMRSelector(2)):
            model = SelectiveNB(selector).set_params(**{option: value})
            with pytest.raises(ValueError, match=f"^{option} must be"):
                model.fit("no table", labels())  # before anything is read
        with pytest.raises(ValueError, match=f"^{option} must be"):
            model.fit_coded(coded, encoder)


def test_the_encoder_of_the_selector_is_used() -> None:
    encoder = TableEncoder(numeric="equal-width", missing="ignore")
    model = SelectiveNB(MAPSelector(encoder=encoder)).fit(frame(), labels())
    expected = SelectiveNB("map", encoder=encoder).fit(frame(), labels())
    np.testing.assert_array_equal(model.predict_proba(frame()), expected.predict_proba(frame()))
    SelectiveNB(MAPSelector(encoder=encoder), encoder=clone(encoder)).fit(frame(), labels())
    for selector, own, message in (
        (
            MAPSelector(encoder=encoder),
            TableEncoder(),
            "has encoder=Table.*, but its selector MAPSelector has encoder=Ta",
        ),
        (MAPSelector(encoder=None), "modl", "selector MAPSelector of SelectiveNB has encoder=None"),
        ("map", "onehot", "encoder must be 'modl', a TableEncoder, an IndicatorEncoder, or None"),
        ("map", None, "encoder of SelectiveNB must be 'modl', a TableEncoder or an IndicatorEncoder, got None"),
    ):
        with pytest.raises(ValueError, match=message):
            SelectiveNB(selector, encoder=own).fit(frame(), labels())


def test_options_of_the_model_reach_parts_that_leave_them_at_their_defaults() -> None:
    own = {"smoothing": 0.5, "random_state": 3, "n_jobs": 1, "max_seconds": 100.0}
    model = SelectiveNB("map", **own).fit(frame(), labels())
    assert own.items() <= model.selector_.get_params().items()
    assert (model.encoder_.n_jobs, model.smoothing_) == (1, 0.5)
    given, encoder = MAPSelector(n_starts=2, random_state=1), TableEncoder(kinds={"visites": "categorical"})
    model = SelectiveNB(given, encoder=encoder, **own).fit(frame(), labels())
    # The smoothing of a selector object is that of its search, the model's of its probabilities.
    expected = given.get_params() | {"max_seconds": 100.0, "n_jobs": 1}
    assert model.selector_.get_params() == expected
    assert (model.encoder_.n_jobs, model.encoder_.levels_[5].kind) == (1, "categorical")
    assert not hasattr(given, "weights_")
    assert not hasattr(encoder, "levels_")
    found = FitPlan.of(SelectiveNB(encoder=TableEncoder(numeric="equal-width", n_jobs=2), n_jobs=3)).encoder
    assert (found.numeric, found.n_jobs) == ("equal-width", 2)


def test_a_random_generator_gives_a_seed_that_is_kept() -> None:
    for state in (np.random.RandomState(0), np.random.default_rng(0)):
        model = SelectiveNB("map", random_state=state).fit(frame(), labels())
        assert isinstance(model.selector_.random_state, int)
        again = SelectiveNB("map", random_state=model.selector_.random_state).fit(frame(), labels())
        assert again.trace_.to_frame().drop("seconds").equals(model.trace_.to_frame().drop("seconds"))


GERMAN = Path(__file__).parents[2] / "examples" / "data" / "german_credit.csv"


@pytest.fixture(scope="module")
def german() -> tuple[pl.DataFrame, pl.Series]:
    frame = pl.read_csv(GERMAN).head(300)
    return frame.drop("class"), frame["class"]


def test_the_default_model_does_not_depend_on_the_seed(german: tuple[pl.DataFrame, pl.Series]) -> None:
    models = [SelectiveNB(pairs=0, random_state=seed).fit(*german) for seed in (0, 1)]
    np.testing.assert_array_equal(*(model.predict_proba(german[0]) for model in models))
    assert not np.array_equal(*(CompressionAveraging(random_state=seed).fit(*german).weights_ for seed in (0, 1)))


WRAPPER = WrapperSelector(direction="forward", evaluation="holdout")
CASES = [("all", False), ("map", True), ("compression", True), ("auc", False)]


@pytest.mark.slow
@pytest.mark.parametrize(("selector", "weighted"), [*CASES, (WRAPPER, False), ("indicators", False)], ids=str)
def test_one_coding_for_all_is_as_good_as_one_for_each(
    german: tuple[pl.DataFrame, pl.Series], selector: Any, weighted: bool
) -> None:
    X, y = german
    weights = np.arange(300) % 3 + 1.0 if weighted else None
    model = SelectiveNB(selector)
    if selector == "indicators":
        X, model = X.select("age", "credit_amount"), SelectiveNB("map", encoder=IndicatorEncoder(3))
    alone = clone(model).fit(X, y, weights)
    encoder = FitPlan.of(model).encoder
    coded, refitter = encoder.fit_with_refitter(X, y, weights)
    codes, classes, n_features = coded.codes.copy(), np.array(coded.class_codes), len(encoder.levels_)
    model.fit_coded(coded, encoder, refitter)
    np.testing.assert_array_equal(coded.codes, codes)  # the next model wants the rows and levels as they were
    np.testing.assert_array_equal(coded.class_codes, classes)
    assert len(encoder.levels_) == n_features
    np.testing.assert_array_equal(model.feature_weights_, alone.feature_weights_)
    expected = alone.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    if all(feature.cells is feature.levels for feature in model.scorecard_.features):
        np.testing.assert_array_equal(model.predict_proba(encoder.transform_coded(X)), expected)
        np.testing.assert_array_equal(model.predict(encoder.transform_coded(X)), alone.predict(X))
    assert model.feature_names_in_.tolist() == X.columns


def test_a_model_of_part_of_the_rows_codes_rows_by_its_own_levels() -> None:
    rng = np.random.default_rng(0)
    X = pl.DataFrame(rng.normal(size=(300, 4)), schema=list("abcd"))
    y = X["a"].to_numpy() + X["b"].to_numpy() + rng.normal(size=300) > 0
    encoder = TableEncoder()
    coded, refitter = encoder.fit_with_refitter(X, y)
    model = SelectiveNB("clusters").fit_coded(coded, encoder, refitter)
    np.testing.assert_array_equal(model.predict_proba(model.encoder_.transform_coded(X)), model.predict_proba(X))
    with pytest.raises(ValueError, match="belong to other levels than those of the model"):
        model.predict_proba(encoder.transform_coded(X))
    assert [level.labels for level in model.encoder_.levels_] != [level.labels for level in encoder.levels_]


def test_a_loaded_model_accepts_codes_by_levels_equal_to_its_own(tmp_path: Path) -> None:
    X, y = pd.DataFrame({"a": np.arange(40.0), "b": ["u", "v", "w", "u"] * 10}), np.arange(40) >= 20
    model = SelectiveNB("all").fit(X, y)
    model.save(tmp_path / "model.json")
    codes = model.encoder_.transform_coded(X)
    np.testing.assert_array_equal(load(tmp_path / "model.json").predict_proba(codes), model.predict_proba(X))


def test_codes_of_other_columns_are_refused() -> None:
    rng = np.random.default_rng(0)
    X = pl.DataFrame({"a": rng.integers(0, 2, 300), "b": rng.integers(0, 2, 300)})
    y = rng.random(300) < 0.2 + 0.5 * X["a"].to_numpy() + 0.2 * X["b"].to_numpy()
    model = SelectiveNB(calibrate="levels").fit(X, y)
    for other in (X.select("b", "a"), X.rename({"a": "u", "b": "v"})):
        codes = TableEncoder().fit(other, y).transform_coded(other)
        with pytest.raises(ValueError, match="belong to other levels than those of the model"):
            model.predict_proba(codes)


def test_odd_options_of_an_encoder_are_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match="prior must be"):
        SelectiveNB(encoder=TableEncoder(prior=np.array([1, 2]))).fit(np.eye(4), [0, 1, 0, 1])
