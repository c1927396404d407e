"""Models as files: one contract for every kind of model, and nothing damaged or hostile gets in."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import os
import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import bayesieve
from bayesieve import IndicatorEncoder, MODLGrouper, SelectiveNB, TableEncoder
from bayesieve.evaluation.splits import fingerprint
from bayesieve.scorecard.model_file import json_schema
from bayesieve.selection import CodedSelector
from bayesieve.table import as_target
from bayesieve.table.pair_levels import PairLevels
from tests.cases import mostly_slow
from tests.classifier.mixed_data import data, fitted, frame, labels
from tests.classifier.model_files import signed
from tests.fuzz.outcome import unclear

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SCHEMA = Path(__file__).parents[2] / "docs" / "model.schema.json"
Case = tuple[SelectiveNB, Any, Any]

# ------------------------------------------------------------------------------------------------------- whole files


@cache
def curves() -> tuple[pl.DataFrame, np.ndarray]:
    """Two numbers that say more together, one with holes, values within groups, and noise."""
    rng = np.random.default_rng(2)
    x, value = rng.normal(size=(900, 4)), rng.integers(0, 40, 900)
    score = 1.2 * x[:, 0] + 0.8 * (x[:, 1] ** 2 - 1) + 1.5 * x[:, 2] * x[:, 3] + rng.normal(size=40)[value]
    columns = {"number": np.where(rng.random(900) < 0.05, np.nan, x[:, 0]), "ends": x[:, 1], "a": x[:, 2], "b": x[:, 3]}
    X = pl.DataFrame(columns | {"id": np.char.add("v", value.astype(str))})
    return X, np.where(score + rng.logistic(size=900) > 0, "yes", "no")


def on_curves(**options: Any) -> Callable[[], Case]:
    return lambda: (SelectiveNB(**options).fit(*curves()), *curves())


def on_mixed(**options: Any) -> Callable[[], Case]:
    return lambda: (SelectiveNB(**options).fit(frame(), labels()), frame(), labels())


def on_scores(thresholds: Any, missing: Any = "level") -> Callable[[], Case]:
    """Indicators of numbers, one of them with missing values."""
    X = frame().select("âge (années)", "visites", "bruit")
    encoder = IndicatorEncoder(thresholds, missing=missing)
    return lambda: (SelectiveNB(encoder=encoder).fit(X, labels()), X, labels())


def unnamed() -> Case:
    X = np.array(frame().rows(), dtype=object)
    return SelectiveNB("map").fit(X, labels()), X, labels()


def unnamed_scores() -> Case:
    X = np.random.default_rng(0).normal(np.array(data()["class"])[:, None], size=(200, 3))
    return SelectiveNB("map", encoder=IndicatorEncoder(3)).fit(X, labels()), X, labels()


def without_a_class() -> Case:
    encoder = TableEncoder()
    coded = encoder.fit_transform_coded(frame(), labels())
    rare = np.array(data()["class"]) == 1
    coded = coded.with_rows(class_codes=coded.class_codes, classes=coded.classes, weights=1.0 - rare)
    model = SelectiveNB("map").fit_coded(coded, encoder)
    assert -np.inf in model.scorecard_.intercept
    return model, frame(), None


def extreme() -> Case:
    """Numbers that decimal texts could spoil."""
    values = np.array([5e-324, 1e-308, 0.1, 0.1 + 2**-54, 1 / 3, 1e308, 1.7976931348623157e308])
    X, y = np.repeat(values, 30)[:, None], np.repeat(np.arange(7) % 2, 30)
    return SelectiveNB("all").fit(X, y, sample_weight=np.random.default_rng(0).exponential(size=210)), X, None


def nothing_found() -> Case:
    X = frame().select("bruit")
    return SelectiveNB().fit(X, labels()), X, labels()


def sparse_levels() -> Case:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (40, 4)).astype(str)
    y = np.where(rng.random(40) < 0.8, X[:, 0] == "0", X[:, 1] == "1")
    model = SelectiveNB(calibrate=True).fit(X, y)
    assert model.smoothing_ != "m-estimate" == model.smoothing
    return model, X, y


SELECTORS = ("bayesian", "information-gain", "imprecise-information-gain", "mrmr", "cfs")
"""Selectors whose files the contract of selectors also reads back."""

MODELS: dict[str, Callable[[], Case]] = {
    **{
        f"{selector}-{kind}": lambda selector=selector, kind=kind: (fitted(selector, kind), frame(), labels(kind))
        for selector, kind in (("all", "str"), ("all", "int"), ("map", "str"), ("compression", "str"))
    },
    **{name: on_mixed(selector=name) for name in (*SELECTORS, "boosted", "clusters")},
    "missing ignored": on_mixed(selector="all", encoder=TableEncoder(missing="ignore")),
    "kinds": on_mixed(selector="all", encoder=TableEncoder(kinds={"visites": "categorical"})),
    "levels": on_curves(calibrate="levels", pairs=0),
    "cells": on_curves(pairs=0),
    "groups": on_curves(pairs=0, encoder=TableEncoder(categorical=MODLGrouper())),
    "surfaces": on_curves(),
    "pairs": on_curves(pairs=[("a", "b"), ("id", "number")]),
    "monotone": on_curves(monotone={"number": 1, "ends": np.int64(1)}),
    "monotone levels": on_curves(calibrate="levels", monotone={"number": 1}),
    "indicators": on_scores(4),
    "indicators ignore": on_scores([30.0, 1.0 / 3.0, 1e-7], "ignore"),
    "indicators by name": on_scores({"âge (années)": [33.5, 1e-7], "visites": 2, "bruit": [1 / 3]}),
    "array": unnamed,
    "array of scores": unnamed_scores,
    "class without weight": without_a_class,
    "extreme numbers": extreme,
    "nothing found": nothing_found,
    "smoothing chosen": sparse_levels,
}


REFITTED = ("compression-str", "clusters", "boosted", "surfaces", "monotone levels")


@cache
def case(name: str) -> Case:
    return MODELS[name]()


@pytest.mark.parametrize("name", mostly_slow(MODELS, sorted({*MODELS} - {*SELECTORS, "indicators", "monotone levels"})))
def test_a_model_comes_back_from_its_file(name: str, tmp_path: Path) -> None:
    model, X, y = case(name)
    model.save(tmp_path / "model.json")
    again = bayesieve.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.scorecard_.joint(X), model.scorecard_.joint(X))
    assert again.predict(X).dtype == model.predict(X).dtype
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    for by in ("feature", "score"):
        assert again.explain(X[:9], by=by).equals(model.explain(X[:9], by=by))  # type: ignore[arg-type]
    assert again.scorecard_.describe() == model.scorecard_.describe()
    assert again.trace_.to_frame().equals(model.trace_.to_frame())
    assert again.summary().equals(model.summary())
    for attribute in ("weight_factor_", "smoothing_", "n_rows_", "n_features_in_", "target_name_", "cautions_"):
        assert getattr(again, attribute) == getattr(model, attribute)
    for attribute in ("feature_weights_", "feature_importances_", "selected_features_", "feature_names_in_"):
        assert hasattr(again, attribute) == hasattr(model, attribute)
        np.testing.assert_array_equal(getattr(again, attribute, ()), getattr(model, attribute, ()))
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()
    if hasattr(model, "feature_names_in_"):
        with pytest.raises(ValueError, match="feature names should match"):
            again.predict(X.with_columns(more=1))
    if y is not None and isinstance(model.encoder, str) and name in REFITTED:
        np.testing.assert_array_equal(again.fit(X, y).scorecard_.joint(X), model.scorecard_.joint(X))
    elif y is not None and not isinstance(model.encoder, str):
        for call in (again.fit, lambda X, y: again.report(X=X, y=y, cv=2)):
            with pytest.raises(ValueError, match=r"keeps its encoder as text: .* set_params\(encoder=\w+Encoder\("):
                call(X, y)
        again.set_params(encoder=model.encoder).fit(X, y)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


SHAPES = ("map-str", "all-int", "groups", "surfaces", "monotone", "indicators ignore", "array", "class without weight")
"""Models whose files hold every member of the format between them."""


@pytest.mark.parametrize("name", mostly_slow(MODELS, SHAPES))
def test_files_follow_the_published_schema(name: str) -> None:
    content = json.loads(text_of(name))
    published().validate(content)
    del content["provenance"]["n_rows"]
    assert not published().is_valid(content)


@cache
def published() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text("utf-8")))


def test_the_published_schema_is_that_of_the_package() -> None:
    assert published().schema == json.loads(json.dumps(json_schema()))
    published().check_schema(published().schema)


def test_a_loaded_model_does_all_that_reads_the_record(tmp_path: Path) -> None:
    model, X, y = case("surfaces")
    loaded = bayesieve.load(saved("surfaces", tmp_path))
    for name, call in {
        "reasons": lambda own: own.reasons(X[:20]),
        "counterfactuals": lambda own: own.counterfactuals(X[:5]),
        "intervals": lambda own: own.predict_interval(X[:20]),
        "code": lambda own: re.sub(r"'exported': [^\n]*", "", own.export(to="python")),
        "points": lambda own: own.points().to_frame(),
        "levels": lambda own: own.levels_to_yaml(),
        "edited": lambda own: own.edit().flatten("number").done().predict_proba(X),
        "updated": lambda own: own.update(X[:100], y[:100]).predict_proba(X),
        "merged": lambda own: bayesieve.merge([own, own]).predict_proba(X),
        "drift": lambda own: bayesieve.drift(own, X, y).to_frame(),
        "evaluated": lambda own: bayesieve.evaluate(own, X, y).to_frame(),
        "measured": lambda own: own.report(X=X[:99], y=y[:99], held_out=True).performance.log_loss,
    }.items():
        ours, theirs = call(model), call(loaded)
        assert ours.equals(theirs) if isinstance(ours, pl.DataFrame) else np.array_equal(ours, theirs), name


def test_what_the_models_of_the_contract_have() -> None:
    levels = {name: case(name)[0].encoder_.levels_ for name in ("all-str", "surfaces", "pairs")}
    assert any(-np.inf in level.cut_points for level in levels["all-str"] if level.kind == "numeric")
    assert any(isinstance(level, PairLevels) and level.level_score == 0 for level in levels["surfaces"])
    parts = [part for level in levels["surfaces"] if isinstance(level, PairLevels) for part in level.parts]
    assert {id(part) for part in parts if part.kind == "numeric"} == {
        id(part) for part in {part.name: part for part in parts if part.kind == "numeric"}.values()
    }  # coded once
    assert sum(isinstance(level, PairLevels) for level in levels["pairs"]) == 2
    for name in ("cells", "monotone", "surfaces"):
        assert any(feature.cells is not feature.levels for feature in case(name)[0].scorecard_.features)


class Mine(CodedSelector):
    """A selector from outside of the package."""

    def _search(self, coded: Any) -> np.ndarray:
        from bayesieve.search import SearchTrace, TraceRecorder, WalkStart

        self.trace_ = SearchTrace.of(coded.names, [TraceRecorder(WalkStart.empty(1.0))], complete=True, seconds=0.0)
        return np.ones(coded.n_features)


def test_objects_of_any_class_are_kept_as_text(tmp_path: Path) -> None:
    model = SelectiveNB(Mine()).fit(frame(), labels())
    model.save(tmp_path / "model.json")
    again = bayesieve.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(frame()), model.predict_proba(frame()))
    assert (again.selector, repr(again)) == ("Mine()", "SelectiveNB(selector=Mine())")
    assert again.scorecard_.provenance["selector"]["name"] == "Mine"
    with pytest.raises(ValueError, match=r"keeps its selector as text: .* set_params\(selector=Mine\(\)\), before"):
        again.fit(frame(), labels())
    with pytest.raises(ValueError, match="keeps its selector as text"):
        again.report(X=frame(), y=labels(), cv=3)
    np.testing.assert_array_equal(
        again.set_params(selector=Mine()).fit(frame(), labels()).predict_proba(frame()), model.predict_proba(frame())
    )


def test_values_of_columns_that_are_not_in_the_model_stay_out_of_its_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    names = [f"client {k}" for k in range(2000)]
    X = pl.DataFrame({"x": rng.normal(size=2000), "client": names, "town": rng.choice(["Jena", "Ulm"], 2000)})
    y = rng.random(2000) < 1 / (1 + np.exp(-2 * X["x"].to_numpy()))
    model = SelectiveNB(levels={"town": {"groups": [["Jena"], ["Ulm"]]}}).fit(X, y)
    assert model.selected_features_ == ["x"]
    model.save(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text("utf-8")
    assert "client 7" not in text
    assert "Jena" not in text
    assert len(text) < 40_000
    loaded = bayesieve.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.summary().equals(model.summary())
    assert loaded.levels_to_yaml().splitlines()[0].endswith("whose file does not hold their values: client")
    report = loaded.report(X=X, y=y, held_out=True)
    assert report.performance.is_training
    assert "Jena" not in report.html
    with pytest.raises(
        ValueError, match="Feature 'client' is not in the model, and the file does not contain its categories"
    ):
        loaded.edit().merge("client", [0])
    merged = bayesieve.merge([loaded, model])
    np.testing.assert_allclose(merged.scorecard_["town"].counts, 2 * model.scorecard_["town"].counts)
    there = SelectiveNB(levels=loaded.scorecard_).fit(X[::-1], y[::-1])
    assert bayesieve.merge([loaded, there]).selected_features_ == ["x"]
    updated = loaded.update(X, y)
    assert updated.n_rows_ == 4000
    updated.save(tmp_path / "updated.json")


def test_models_whose_files_withhold_what_others_need_are_not_merged(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    X = pl.DataFrame({"x": rng.normal(size=1000), "town": rng.choice(["Jena", "Ulm"], 1000)})
    y = rng.random(1000) < 1 / (1 + np.exp(-2 * X["x"].to_numpy()))
    SelectiveNB().fit(X, y).save(tmp_path / "model.json")
    by_town = SelectiveNB().fit(X, X["town"] == "Ulm")
    with pytest.raises(ValueError, match="Column 'town' is used by one of the models, but the file of another"):
        bayesieve.merge([bayesieve.load(tmp_path / "model.json"), by_town])


def test_provenance_tells_how_a_model_came_about(tmp_path: Path) -> None:
    rules = tmp_path / "levels.yaml"
    rules.write_text("visites:\n  max_levels: 2\n")
    model = SelectiveNB("map", levels=rules, random_state=np.random.default_rng(5)).fit(frame(), labels())
    model.save(tmp_path / "model.json")
    found = bayesieve.load(tmp_path / "model.json").scorecard_.provenance
    assert found == model.scorecard_.provenance
    assert found["rules_file"]["name"] == "levels.yaml"
    assert found["rules_file"]["sha256"] == hashlib.sha256(rules.read_bytes()).hexdigest()
    assert found["rules"] == {"visites": {"max_levels": 2}}
    assert found["versions"]["bayesieve"] == bayesieve.__version__
    assert found["options"]["random_state"] == model.selector_.random_state
    target = as_target(labels())
    sha256 = fingerprint(frame(), target.codes, target.classes, None)
    assert found["table"] == {"rows": 200, "columns": frame().width, "sha256": sha256}
    again = bayesieve.load(tmp_path / "model.json").fit(frame(), labels())
    np.testing.assert_array_equal(again.predict_proba(frame()), model.predict_proba(frame()))


# ----------------------------------------------------------------------------------------------------- damaged files


def saved(name: str, folder: Path) -> Path:
    case(name)[0].save(folder / "model.json")
    return folder / "model.json"


@cache
def text_of(name: str = "map-str") -> str:
    with tempfile.TemporaryDirectory() as folder:
        return saved(name, Path(folder)).read_text(encoding="utf-8")


def refused(path: Path, content: str | bytes, match: str = ".") -> str:
    path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    with pytest.raises(ValueError, match=match) as error:
        bayesieve.load(path)
    check_message(str(error.value), path)
    return str(error.value)


def check_message(message: str, path: Path) -> None:
    assert message.startswith(str(path))
    assert "\n" not in message
    assert message.endswith(".")
    assert len(message) < 600 + len(str(path))
    assert unclear(message.replace(str(path), "FILE")) is None


FORMAT = '{"format": "bayesieve.SelectiveNB"'


@pytest.mark.parametrize(
    ("content", "match"),
    [
        *((text, "does not hold valid JSON") for text in ("", "{", "model", b"\xff\xfe\x00", b"\x80\x04\x95pickle")),
        *((text * 200_000, "does not hold valid JSON") for text in ("[", '{"a":')),
        *((text, "not a bayesieve model") for text in ("null", "[]", "{}")),
        ('{"format": "bayesieve.DiscreteNB", "version": 1}', "not a bayesieve model"),
        ('{"format": ["bayesieve.SelectiveNB"]}', "not a bayesieve model"),
        (FORMAT + "}", "has model version unknown"),
        (
            FORMAT + ', "version": 4}',
            "has model version 4, .* reads version 5. Update bayesieve, or fit the model again",
        ),
        (FORMAT + ', "version": true}', "has model version true"),
        *((FORMAT + f', "version": {one}}}', "has model version 1, but this") for one in ("1", '"1"')),
        (FORMAT + ', "version": NaN}', "holds NaN"),
        (FORMAT + ', "version": 1, "x": -Infinity}', "holds -Infinity"),
        (FORMAT + ', "version": 5}', "checksum does not match"),
        (FORMAT, "is damaged: it does not hold valid JSON .line 1, column"),
        ('{"version": 1' + "0" * 5000 + "}", "damaged"),
    ],
    ids=str,
)
def test_what_is_no_model(tmp_path: Path, content: str | bytes, match: str) -> None:
    refused(tmp_path / "model.json", content, match)


def test_no_such_file_folders_and_devices(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"There is no model file .*none\.json"):
        bayesieve.load(tmp_path / "none.json")
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        fitted().save(tmp_path / "none" / "model.json")
    for use in (bayesieve.load, fitted("map").save):
        with pytest.raises(ValueError, match="is a folder"):
            use(tmp_path)
        for path in ("", "\0", 5, None, b"model.json", "x" * 300):
            with pytest.raises((TypeError, ValueError)) as error:
                use(path)  # type: ignore[arg-type]
            assert unclear(str(error.value)) is None
    if Path("/dev/zero").exists():  # which never ends
        with pytest.raises(ValueError, match="/dev/zero is a device, not a model file"):
            bayesieve.load("/dev/zero")
    (tmp_path / "model.json").write_text("{}")
    (tmp_path / "model.json").chmod(0)
    with pytest.raises(ValueError, match="not a bayesieve model" if os.geteuid() == 0 else "cannot be read"):
        bayesieve.load(tmp_path / "model.json")


def test_truncated_anywhere(tmp_path: Path) -> None:
    content = text_of().rstrip().encode()
    for end in np.linspace(0, len(content) - 1, 30).astype(int).tolist():
        refused(tmp_path / "model.json", content[:end])


def load_or_refuse(path: Path, content: bytes, works: bool = True) -> SelectiveNB | None:
    """Whatever the bytes: a model that works, or one sentence."""
    path.write_bytes(content)
    try:
        model = bayesieve.load(path)
    except ValueError as error:
        check_message(str(error), path)
        return None
    if works:
        check_works(model)
    return model


def check_works(model: SelectiveNB) -> None:
    """A model that was let in predicts, explains and describes without an error, except about other columns."""
    table = frame()[:5]
    try:
        probabilities = model.predict_proba(table)
    except ValueError as error:
        assert "feature" in str(error) or "column" in str(error).lower()  # noqa: PT017
        return
    assert np.all(np.isfinite(probabilities))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-9)
    model.explain(table)
    for method in (model.summary, model.scorecard_.describe, model.trace_.to_frame, model._repr_html_):
        method()
    model.__class__(**model.get_params(deep=False))


def test_no_flipped_bit_changes_a_model(tmp_path: Path) -> None:
    content = text_of().encode()
    expected = fitted("map").scorecard_.joint(frame()[:20])
    loaded = 0
    for at in range(0, len(content), 29):
        flipped = bytearray(content)
        flipped[at] ^= 1 << (at // 29 % 8)
        model = load_or_refuse(tmp_path / "model.json", bytes(flipped), works=False)
        if model is not None:  # a space, or a digit beyond the last one that counts
            np.testing.assert_array_equal(model.scorecard_.joint(frame()[:20]), expected)
            loaded += 1
    assert loaded < len(content) / 290


Path_ = tuple[str | int, ...]


def places(value: Any, path: Path_ = ()) -> list[Path_]:
    """Every place in a JSON value: a few entries of long lists."""
    found = [path] if path else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += places(item, (*path, key))
    elif isinstance(value, list):
        for i in sorted({0, len(value) // 2, len(value) - 1} & set(range(len(value)))):
            found += places(value[i], (*path, i))
    return found


ODD = [
    *(None, True, [], {}, "", "-inf", "x", -1, 0, 3, 0.5, 1e308, 2**70, 10**400, [[]], [1, "a"], {"a": 1}, "\ud800"),
    *([None], [[[[[[]]]]]], {"": {"": [{}]}}, "y" * 10_000, [0] * 1000, {"number": "inf"}, {"number": "nan"}),
    *({"criterion": "Recall", "options": {}}, {"splitter": "KFold", "options": {"n_splits": -1}}),
    *({"splitter": "KFold", "options": 1}, {"criterion": "os.system", "options": {"command": "x"}}, {"coder": []}),
]
ONE, HOSTILE, BYTES = "one value in any place", "several hostile changes", "flipped bytes"


@pytest.mark.parametrize(
    ("how", "name"), [(ONE, "map-str"), (ONE, "surfaces"), (HOSTILE, "map-str"), (BYTES, "map-str")]
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(draw=st.data())
def test_whatever_is_in_a_file(how: str, name: str, tmp_path: Path, draw: st.DataObject) -> None:
    if how == BYTES:
        damaged = bytearray(text_of(name).encode())
        for _ in range(draw.draw(st.integers(1, 3))):
            damaged[draw.draw(st.integers(0, len(damaged) - 1))] = draw.draw(st.integers(0, 255))
        load_or_refuse(tmp_path / "model.json", bytes(damaged))
        return
    content = json.loads(text_of(name))
    changes = ["replace"] * 9 + ["drop"] if how == ONE else ["replace", "drop", "move", "wrap", "again"]
    for _ in range(1 if how == ONE else draw.draw(st.integers(2, 6))):
        *path, last = draw.draw(st.sampled_from(places(content)))
        parent, what = content, draw.draw(st.sampled_from(changes))
        for key in path:
            parent = parent[key]
        if what == "replace":
            parent[last] = copy.deepcopy(draw.draw(st.sampled_from(ODD)))
        elif what == "drop":
            del parent[last]
        elif what == "move":
            parent[last] = copy.deepcopy(content[draw.draw(st.sampled_from(sorted(content)))])
        elif what == "wrap":
            for _ in range(draw.draw(st.sampled_from([1, 40, 300]))):
                parent[last] = [parent[last]]
        elif isinstance(parent, list):
            parent.insert(int(last), parent[last])
        content = content if content else {"format": "bayesieve.SelectiveNB"}
    try:
        text = signed(content)
    except RecursionError:
        return
    load_or_refuse(tmp_path / "model.json", text.encode())


def test_a_key_given_twice_is_the_model_or_nothing(tmp_path: Path) -> None:
    text, named = text_of(), '"named": true'
    load_or_refuse(tmp_path / "model.json", text.replace(named, f'"named": false, {named}').encode())
    refused(tmp_path / "model.json", text.replace(named, f'{named}, "named": false'), "checksum")


GONE = "<gone>"
ANY = "."
AGE, CELLS, GRID, HOW = "features.0", "features.0.cells", "features.5.pair", "provenance"
DAMAGES: list[tuple[str, str, list[Any], str]] = [
    ("map-str", "target", [GONE, 1, []], "target"),
    ("map-str", "columns", [[], ["x"], GONE, 3], "columns"),
    ("map-str", HOW, [GONE, 1, [], {}], "provenance|n_rows"),
    ("map-str", f"{HOW}.options", [1, [], "x"], "options"),
    ("map-str", f"{HOW}.options.foreign", [1], "an option 'foreign' that this bayesieve does not know"),
    ("map-str", f"{HOW}.options.smoothing", ["laplace", -1], "smoothing must be"),
    ("map-str", f"{HOW}.options.calibrate", ["maybe"], "calibrate"),
    ("map-str", f"{HOW}.options.monotone", [{"x0": 2}, [1]], "monotone"),
    ("map-str", f"{HOW}.options.n_jobs", ["a", 0], "n_jobs"),
    ("map-str", f"{HOW}.options.random_state", ["dice"], "random_state"),
    ("map-str", f"{HOW}.smoothing", [[], GONE, "x", -1.0, {"rows": -1.0, "fades": True}], "smoothing"),
    ("map-str", f"{HOW}.selector", [GONE, {}, 3], "selector|name"),
    ("map-str", f"{HOW}.evidence", ["guessed", None, GONE], "evidence"),
    ("map-str", f"{HOW}.weight_factor", [-0.5, [1.0], 1.5, GONE], "weight_factor"),
    ("map-str", f"{HOW}.n_rows", [0, 2.5, True, GONE], "n_rows"),
    ("map-str", f"{HOW}.prior", [[1.0], [1.0, 0.0, 0.0], ["x"]], "prior|shares of the classes"),
    ("map-str", f"{HOW}.positive", [3, -1, "x"], "positive"),
    ("map-str", f"{HOW}.rules", [{"x": 1}, [1], {"x": {"cuts": "y"}}], "rules|levels"),
    ("map-str", f"{HOW}.labels", [{"nowhere": {"name": "x"}}, {"x": 3}], "labels|describe"),
    ("map-str", f"{HOW}.edits", [[{"what": 5}], 3], "edits"),
    ("map-str", f"{HOW}.min_count", [1, "x"], "min_count"),
    ("compression-str", "intercept_factors", [[], [[1.0]], GONE, "x"], "factors"),
    ("compression-str", "omitted_variances", [[], [-1.0], [0.0, 0.0], "x"], "variances"),
    ("compression-str", "features.0.factors", [[], [[[1.0]]], "x"], "factors"),
    ("class without weight", "features.0.counts", [[[1.0]], "x"], "counts"),
    ("map-str", "classes.values", [["b", "a", "c"], ["a", "a", "b"]], "not in ascending order"),
    ("map-str", "classes.values", [["a"], ["a", 1, "b"], 3], "labels of one type|classes.values|length"),
    ("map-str", "classes.values", [["a", "b"]], "class counts"),
    ("map-str", "classes.values.0", ["\ud800"], "lone surrogate"),
    ("map-str", "classes.kind", ["bytes", 1], "kind"),
    ("all-int", "classes.type", ["int1", "float64", 3], "unknown type|classes.type"),
    ("all-int", "classes.type", ["uint8"], "do not match their type"),
    ("map-str", "class_counts", [GONE, [1.0, 2.0], "x"], "class.counts"),
    ("map-str", "class_counts.0", [-1.0, 1e300, None, True], "class.counts"),
    ("map-str", "intercept", [["-inf"] * 3, [0.0]], "intercept"),
    ("map-str", "intercept.0", ["x", None, "inf"], "intercept"),
    ("map-str", "named", ["yes", 1, GONE], "named"),
    ("map-str", "features", [[], {}, GONE, [1]], "features"),
    ("map-str", f"{AGE}.levels", [GONE, None, 3], "levels"),
    ("map-str", f"{AGE}.weight", [-0.1, "heavy", 1.5, GONE], "weight"),
    ("map-str", f"{AGE}.search_weight", [None, 2.0], "search_weight"),
    ("map-str", f"{AGE}.sign", [1, 3], "sign"),
    ("map-str", f"{AGE}.contributions", [[[0.0]], "x", [[0.0, 0.0], [1.0]]], "contributions"),
    ("map-str", f"{AGE}.contributions.0.0", [1e999, -1e9, True, "x"], "contributions|finite|Infinity"),
    ("map-str", f"{AGE}.unseen", [[0.0], "x", [1e9] * 3, GONE], "unseen"),
    ("map-str", f"{AGE}.standard_errors", [[[0.0]], "x", GONE], "standard.errors"),
    ("map-str", f"{AGE}.standard_errors.0.0", [-1.0, 1e9], "standard errors of 'âge"),
    ("map-str", "features.1.levels.name", ["âge (années)", "other"], "names|columns"),
    ("map-str", f"{AGE}.levels.counts", [None, [[1.0]], [[-1.0] * 3] * 9], "counts"),
    ("map-str", f"{AGE}.levels.counts.0", [[1.0], [-1.0] * 3, [1e200] * 3], "counts"),
    ("map-str", f"{AGE}.levels.sizes", [[1], []], ANY),
    ("map-str", "search", [GONE, 1], "search"),
    ("map-str", "search.feature", [[99]], "search"),
    ("map-str", "search.cost", [["x"]], "search"),
    ("map-str", "cautions", [GONE, {}, "x", None, [1], [{}]], "cautions"),
    *(
        ("map-str", "cautions", [[{"kind": "a", "columns": ["b"], "sentence": "c", "warns": True} | part]], "cautions")
        for part in ({"columns": "b"}, {"columns": [1]}, {"kind": 1}, {"warns": 1}, {"sentence": None})
    ),
    ("map-str", "benefit_rule", [{"benefit": [[1.0]]}, 3], "benefit"),
    ("map-str", "id_columns", [3, [1]], "id_columns"),
    ("cells", "intercept", [[1.0], ["-inf", 0.0], ["x", 0.0]], "intercepts?"),
    ("cells", f"{AGE}.contributions", [[[0.0, 1.0]], "x"], "contributions"),
    ("cells", f"{CELLS}.name", ["other"], "contradict each other"),
    ("cells", f"{CELLS}.cut_points", [[-9.0]], ANY),
    ("cells", f"{CELLS}.counts.0", [[1.0]], "counts"),
    ("groups", "features.4.cells.groups.0", [["v1", "v2"], ["other"]], ANY),
    ("pairs", f"{GRID}.parts", [["a"], ["nowhere", "b"]], "pair|feature|Pair|Feature"),
    ("pairs", f"{GRID}.grid", [GONE, [[0]]], "pair|feature|Pair|Feature"),
    ("pairs", f"{GRID}.grid.0.0", [99], "pair|feature|Pair|Feature"),
    ("pairs", f"{GRID}.cells.0.0", [[1.0], [-1.0, 1.0]], "pair|feature|Pair|Feature"),
    ("pairs", f"{GRID}.level_score", [2], "pair|feature|Pair|Feature"),
    ("indicators", f"{AGE}.levels", [GONE, {}], "either levels or a pair|missing"),
    ("indicators", "features.1.levels.type", ["date"], "features of the column 'âge.* contradict each other"),
    ("indicators", "features.1.levels.missing_code", [None, 1], "features of the column 'âge.* contradict each other"),
    ("indicators", "features.1.levels.column", ["other"], "refer to other columns"),
    ("indicators", "features.1.levels.counts", [[[1, 2, 3]]], "counts must have one row per level"),
    ("indicators", "features.1.levels.extra", [1], "unknown field extra"),
]


@pytest.mark.parametrize(("name", "path", "values", "match"), DAMAGES, ids=lambda value: str(value)[:40])
def test_damaged_parts_are_refused(name: str, path: str, values: list[Any], match: str, tmp_path: Path) -> None:
    *keys, last = (int(key) if key.isdigit() else key for key in path.split("."))
    for value in values:
        content = json.loads(text_of(name))
        parent = content
        for key in keys:
            parent = parent[key]
        if value is GONE:
            del parent[last]
        else:
            parent[last] = copy.deepcopy(value)
        text = signed(content).replace("Infinity", "1e999")
        assert "is damaged" in refused(tmp_path / "model.json", text, match)


def test_every_part_is_damaged() -> None:
    own = {key for key in json.loads(text_of()) if key not in ("format", "version", "written_by", "sha256")}
    assert own <= {path.split(".")[0] for _, path, _, _ in DAMAGES}


# ------------------------------------------------------------------------------------------------------------ writing


@pytest.mark.parametrize(
    ("function", "error", "kind", "match"),
    [
        ("replace", OSError(28, "No space left on device"), ValueError, "No space"),
        ("fsync", KeyboardInterrupt(), KeyboardInterrupt, ""),
    ],
)
def test_a_failing_write_leaves_the_old_file(
    function: str, error: BaseException, kind: Any, match: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.json"
    fitted("map").save(path)
    before = path.read_bytes()

    def failing(*_: Any) -> None:
        raise error

    monkeypatch.setattr(os, function, failing)
    with pytest.raises(kind, match=match):
        fitted("all").save(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.json"]


def test_subsets_that_were_enumerated_stay_out_of_the_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (60, 17)).astype(str), rng.integers(0, 2, 60)
    X = np.where(rng.random((60, 17)) < 0.6, y[:, None], X).astype(str)
    selector, encoder = bayesieve.MAPSelector(exhaustive=True), bayesieve.TableEncoder(categorical="values")
    model = SelectiveNB(selector, encoder=encoder, pairs=0).fit(X, y)
    assert model.trace_.to_frame().height == 2**17
    model.save(tmp_path / "model.json")
    assert (tmp_path / "model.json").stat().st_size < 100_000
    again = bayesieve.load(tmp_path / "model.json")
    assert again.trace_.n_models == 2**17
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    with pytest.warns(UserWarning, match="without figures of performance: This model comes from a file, which keeps"):
        again.report(tmp_path / "report.html", X, y)


def test_names_of_files(tmp_path: Path) -> None:
    for name in ("model.pkl", "model.html", "model.csv", "model.json.gz", "model.Parquet"):
        with pytest.raises(ValueError, match=r"a model as JSON; end the name in \.json"):
            fitted().save(tmp_path / name)
    assert not os.listdir(tmp_path)
    for name in ("model", "model.bayesieve", "model-1.2", "model.txt"):
        fitted().save(tmp_path / name)
        assert bayesieve.load(tmp_path / name).selected_features_ == fitted().selected_features_


def test_the_file_is_plain_json_without_nan() -> None:
    content = json.loads(text_of(), parse_constant=lambda text: pytest.fail(text))
    assert (content["format"], content["version"]) == ("bayesieve.SelectiveNB", 5)
    assert content["written_by"] == bayesieve.__version__
    assert all(math.isfinite(value) for value in content["class_counts"])
    assert "âge (années)" in text_of()  # readable, not \u00e2


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (lambda model: model.scorecard_.class_counts.fill(-1.0), "its class counts are out of range"),
        (lambda model: model.scorecard_.features[0].contributions.fill(np.nan), "holds a number that is not finite"),
        (lambda model: model.scorecard_.features[0].standard_errors.fill(-1.0), "standard errors"),
        (lambda model: model.scorecard_.provenance.update(n_rows=0), "n_rows"),
    ],
)
def test_a_model_that_contradicts_itself_is_not_saved(spoil: Any, match: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text("an older file")
    model = SelectiveNB("all").fit(frame(), labels())
    spoil(model)
    with pytest.raises(ValueError, match=f"^This model cannot be saved as JSON: .*{match}.*; pickle it.$"):
        model.save(path)
    assert path.read_text() == "an older file"
