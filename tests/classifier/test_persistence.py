"""Models as files: exact to the last bit, and nothing damaged or hostile gets in."""

from __future__ import annotations

import copy
import json
import math
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import bayesieve
from bayesieve import (
    SelectiveNB,
    TableEncoder,
)
from bayesieve.selection import CodedSelector
from tests.classifier.mixed_data import data, fitted, frame, labels
from tests.classifier.model_files import signed
from tests.fuzz.outcome import unclear

SELECTORS = ("all", "map", "bayesian", "compression")


def reload(model: SelectiveNB, folder: Path) -> SelectiveNB:
    model.save(folder / "model.json")
    return bayesieve.load(folder / "model.json")


def check_same(again: SelectiveNB, model: SelectiveNB, table: Any) -> None:
    np.testing.assert_array_equal(again.predict_joint_log_proba(table), model.predict_joint_log_proba(table))
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    predicted = again.predict(table)
    assert predicted.dtype == model.predict(table).dtype
    np.testing.assert_array_equal(predicted, model.predict(table))


@pytest.mark.parametrize("selector", SELECTORS)
@pytest.mark.parametrize("kind", ["str", "object", "int", "bool"])
def test_predictions_are_identical_to_the_last_bit(tmp_path: Path, selector: str, kind: str) -> None:
    model = fitted(selector, kind)
    again = reload(model, tmp_path)
    check_same(again, model, frame())
    unknown = frame().with_columns(pl.lit("jamais vu").alias("<script>alert(1)</script>"), pl.lit(None).alias("à"))
    check_same(again, model, unknown)
    assert any(-np.inf in level.cut_points for level in again.encoder_.levels_ if level.kind == "numeric")


def test_everything_told_about_a_model_survives(tmp_path: Path) -> None:
    model = fitted()
    again = reload(model, tmp_path)
    assert again.explain(frame()[:9]).equals(model.explain(frame()[:9]))
    assert again.summary().equals(model.summary())
    assert again.describe() == model.describe()
    assert again.selected_features_ == model.selected_features_
    assert again.trace_.to_frame().equals(model.trace_.to_frame())
    assert again._repr_html_().split("created")[0][:200] == model._repr_html_().split("created")[0][:200]
    assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    assert again.encoder_.to_frame().equals(model.encoder_.to_frame())
    for name in ("weight_factor_", "n_rows_", "n_features_in_", "target_name_", "n_features_selected_"):
        assert getattr(again, name) == getattr(model, name)
    for name in ("feature_weights_", "feature_importances_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(frame().drop("bruit"))


def test_a_loaded_model_reports_and_measures(tmp_path: Path) -> None:
    again = reload(fitted("map"), tmp_path)
    performance = again.report(tmp_path / "report.html", frame(), labels(), held_out=True)
    assert performance.accuracy == pytest.approx(fitted("map").score(frame(), labels()))


@pytest.mark.parametrize("options", [{"missing": "ignore"}, {"kinds": {"visites": "categorical"}}])
def test_the_way_columns_are_read_survives(tmp_path: Path, options: dict[str, Any]) -> None:
    model = SelectiveNB("all", encoder=TableEncoder(**options)).fit(frame(), labels())
    again = reload(model, tmp_path)
    check_same(again, model, frame())
    assert again.encoder_.missing == model.encoder_.missing
    assert again.encoder_.kinds == model.encoder_.kinds


def test_a_table_without_names(tmp_path: Path) -> None:
    array = np.array(frame().rows(), dtype=object)
    model = SelectiveNB("map").fit(array, labels())
    again = reload(model, tmp_path)
    check_same(again, model, array)
    assert not hasattr(again, "feature_names_in_")


def test_a_class_without_weight(tmp_path: Path) -> None:
    rare = np.array(data()["class"]) == 1
    encoder = TableEncoder()
    coded = encoder.fit_transform_coded(frame(), labels())
    coded = coded.with_rows(class_codes=coded.class_codes, classes=coded.classes, weights=1.0 - rare)
    model = SelectiveNB("map").fit_coded(coded, encoder)
    assert -np.inf in model.naive_bayes_.class_log_prior_
    check_same(reload(model, tmp_path), model, frame())


def test_numbers_that_decimal_texts_could_spoil(tmp_path: Path) -> None:
    values = np.array([5e-324, 1e-308, 0.1, 0.1 + 2**-54, 1 / 3, 1e308, 1.7976931348623157e308])
    X = np.repeat(values, 30)[:, None]
    y = np.repeat(np.arange(7) % 2, 30)
    model = SelectiveNB("all").fit(X, y, sample_weight=np.random.default_rng(0).exponential(size=210))
    again = reload(model, tmp_path)
    np.testing.assert_array_equal(again.encoder_.levels_[0].cut_points, model.encoder_.levels_[0].cut_points)
    check_same(again, model, X)


def test_a_model_that_found_nothing(tmp_path: Path) -> None:
    model = SelectiveNB().fit(frame().select("bruit"), labels())
    check_same(reload(model, tmp_path), model, frame().select("bruit"))


class Mine(CodedSelector):
    """A selector from outside of the package."""

    def _search(self, coded: Any) -> np.ndarray:
        from bayesieve.search import SearchTrace, TraceRecorder

        self.trace_ = SearchTrace.of(coded.names, [TraceRecorder(1.0)], complete=True, seconds=0.0)
        return np.ones(coded.n_features)


def test_what_cannot_be_saved_says_so_in_one_sentence(tmp_path: Path) -> None:
    model = SelectiveNB(Mine()).fit(frame(), labels())
    with pytest.raises(ValueError, match=r"^Selector Mine is not part of bayesieve.*\.$"):
        model.save(tmp_path / "model.json")
    assert os.listdir(tmp_path) == []


# ------------------------------------------------------------------------------------------------------ damaged files


@cache
def text_of_a_model() -> str:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        fitted("map").save(Path(folder) / "model.json")
        return (Path(folder) / "model.json").read_text(encoding="utf-8")


def refused(path: Path, content: str | bytes, match: str = ".") -> str:
    path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    with pytest.raises(ValueError, match=match) as error:
        bayesieve.load(path)
    message = str(error.value)
    check_message(message, path)
    return message


def check_message(message: str, path: Path) -> None:
    assert message.startswith(str(path))
    assert "\n" not in message
    assert message.endswith(".")
    assert len(message) < 600 + len(str(path))
    assert unclear(message.replace(str(path), "FILE")) is None


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("", "does not hold valid JSON"),
        ("{", "does not hold valid JSON"),
        ("model", "does not hold valid JSON"),
        (b"\xff\xfe\x00", "does not hold valid JSON"),
        (b"\x80\x04\x95pickle", "does not hold valid JSON"),
        ("[" * 200_000, "does not hold valid JSON"),
        ('{"a":' * 200_000, "does not hold valid JSON"),
        ("null", "not a bayesieve model"),
        ("[]", "not a bayesieve model"),
        ("{}", "not a bayesieve model"),
        ('{"format": "bayesieve.DiscreteNB", "version": 1}', "not a bayesieve model"),
        ('{"format": ["bayesieve.SelectiveNB"]}', "not a bayesieve model"),
        ('{"format": "bayesieve.SelectiveNB"}', "has model version unknown"),
        (
            '{"format": "bayesieve.SelectiveNB", "version": 3}',
            "has model version 3, this bayesieve reads version 2; update bayesieve or fit again",
        ),
        ('{"format": "bayesieve.SelectiveNB", "version": true}', "has model version true"),
        ('{"format": "bayesieve.SelectiveNB", "version": "1"}', "has model version 1, this"),
        ('{"format": "bayesieve.SelectiveNB", "version": 1}', "has model version 1, this"),
        ('{"format": "bayesieve.SelectiveNB", "version": NaN}', "holds NaN"),
        ('{"format": "bayesieve.SelectiveNB", "version": 1, "x": -Infinity}', "holds -Infinity"),
        ('{"format": "bayesieve.SelectiveNB", "version": 2}', "checksum does not fit"),
        ('{"format": "bayesieve.SelectiveNB"', "is damaged: it does not hold valid JSON .line 1, column"),
        ('{"version": 1' + "0" * 5000 + "}", "damaged"),
    ],
    ids=range(22),
)
def test_what_is_no_model(tmp_path: Path, content: str | bytes, match: str) -> None:
    refused(tmp_path / "model.json", content, match)


def test_no_such_file_and_folders(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"There is no model file .*none\.json"):
        bayesieve.load(tmp_path / "none.json")
    with pytest.raises(ValueError, match="is a folder"):
        bayesieve.load(tmp_path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_a_device_that_never_ends() -> None:
    with pytest.raises(ValueError, match="/dev/zero is a device; give a model file"):
        bayesieve.load("/dev/zero")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text("{}")
    path.chmod(0)
    with pytest.raises(ValueError, match="cannot be read"):
        bayesieve.load(path)


def test_truncated_anywhere(tmp_path: Path) -> None:
    content = text_of_a_model().rstrip().encode()
    for end in np.linspace(0, len(content) - 1, 60).astype(int).tolist():
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
        assert "feature" in str(error) or "column" in str(error).lower() or "Column" in str(error)  # noqa: PT017
        return
    assert np.all(np.isfinite(probabilities))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-9)
    model.explain(table)
    model.summary()
    model.describe()
    model.trace_.to_frame()
    model._repr_html_()
    model.get_params()
    model.__class__(**model.get_params(deep=False))


def test_no_flipped_bit_changes_a_model(tmp_path: Path) -> None:
    content = text_of_a_model().encode()
    expected = fitted("map").predict_joint_log_proba(frame()[:20])
    loaded = 0
    for at in range(0, len(content), 7):
        flipped = bytearray(content)
        flipped[at] ^= 1 << (at // 7 % 8)
        model = load_or_refuse(tmp_path / "model.json", bytes(flipped), works=False)
        if model is not None:  # a space, or a digit beyond the last one that counts
            np.testing.assert_array_equal(model.predict_joint_log_proba(frame()[:20]), expected)
            loaded += 1
    assert loaded < len(content) / 7 / 10


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_flipped_bytes(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(text_of_a_model().encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    load_or_refuse(tmp_path / "model.json", bytes(content))


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


@cache
def all_places() -> list[Path_]:
    return places(json.loads(text_of_a_model()))


def changed(path: Path_, value: Any, delete: bool = False) -> str:
    content = json.loads(text_of_a_model())
    parent = content
    for key in path[:-1]:
        parent = parent[key]
    if delete:
        del parent[path[-1]]
    else:
        parent[path[-1]] = copy.deepcopy(value)
    return signed(content)


ODD = [
    *(None, True, [], {}, "", "-inf", "x", -1, 0, 3, 0.5, 1e308, 2**70, 10**400, [[]], [1, "a"], {"a": 1}, "\ud800"),
    *([None], [[[[[[]]]]]], {"": {"": [{}]}}, "y" * 10_000, [0] * 1000, {"number": "inf"}, {"number": "nan"}),
    *({"criterion": "Recall", "options": {}}, {"splitter": "KFold", "options": {"n_splits": -1}}),
    *({"splitter": "KFold", "options": 1}, {"criterion": "os.system", "options": {"command": "x"}}, {"coder": []}),
]


def test_calibrated_smoothing_comes_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (40, 4)).astype(str)
    model = SelectiveNB(calibrate=True).fit(X, np.where(rng.random(40) < 0.8, X[:, 0] == "0", X[:, 1] == "1"))
    assert model.smoothing_ != "m-estimate" == model.smoothing
    model.save(tmp_path / "model.json")
    assert bayesieve.load(tmp_path / "model.json").smoothing_ == model.smoothing_


@settings(max_examples=250, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_value_in_any_place(tmp_path: Path, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(all_places()))
    content = changed(path, data.draw(st.sampled_from(ODD)), delete=data.draw(st.integers(0, 9)) == 0)
    load_or_refuse(tmp_path / "model.json", content.encode())


def test_cautions_are_checked(tmp_path: Path) -> None:
    path, known = tmp_path / "model.json", {"kind": "a", "columns": ["b"], "sentence": "c", "warns": True}
    path.write_text(changed(("cautions",), [known]), "utf-8")
    assert [caution.sentence for caution in bayesieve.load(path).cautions_] == ["c"]
    for wrong in (
        *({}, "x", None, [1], [{}]),
        *([known | part] for part in ({"columns": "b"}, {"kind": 1}, {"warns": 1})),
    ):
        refused(path, changed(("cautions",), wrong))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_several_hostile_changes(tmp_path: Path, data: st.DataObject) -> None:
    content = json.loads(text_of_a_model())
    for _ in range(data.draw(st.integers(2, 6))):
        *path, last = data.draw(st.sampled_from(places(content)))
        parent = content
        for key in path:
            parent = parent[key]
        what = data.draw(st.sampled_from(["replace", "drop", "move", "wrap", "again"]))
        if what == "replace":
            parent[last] = copy.deepcopy(data.draw(st.sampled_from(ODD)))
        elif what == "drop":
            del parent[last]
        elif what == "move":
            parent[last] = copy.deepcopy(content[data.draw(st.sampled_from(sorted(content)))])
        elif what == "wrap":
            for _ in range(data.draw(st.sampled_from([1, 40, 300]))):
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
    text = text_of_a_model()
    load_or_refuse(tmp_path / "model.json", text.replace('"n_rows": 200', '"n_rows": 7, "n_rows": 200').encode())
    refused(tmp_path / "model.json", text.replace('"n_rows": 200', '"n_rows": 200, "n_rows": 7'), "checksum")


@pytest.mark.parametrize("path", ["", "\0", 5, None, b"model.json", "x" * 300])
def test_paths_that_are_none(path: Any) -> None:
    for use in (bayesieve.load, fitted("map").save):
        with pytest.raises((TypeError, ValueError)) as error:
            use(path)
        assert unclear(str(error.value)) is None


TOP = sorted(json.loads(text_of_a_model()))


@pytest.mark.parametrize("key", [key for key in TOP if key not in ("written_by", "sha256")])
def test_no_part_may_be_missing_or_of_another_type(tmp_path: Path, key: str) -> None:
    path = tmp_path / "model.json"
    refused(path, changed((key,), None, delete=True))
    old = json.loads(text_of_a_model())[key]
    for value in ([], {}, "x", 1.5):
        if (key, value) in (("target", "x"), ("calibrated_smoothing", 1.5)):  # valid
            continue
        if type(value) is not type(old) or key in ("search", "parameters", "encoder", "features"):
            refused(path, changed((key,), value))


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        (("parameters", "selector"), "genetic", "names the unknown selector 'genetic'"),
        (("parameters", "selector"), "x" * 5000, "names the unknown selector '" + "x" * 40 + "', or"),
        (("parameters", "selector"), ["map"], "."),
        (("parameters", "smoothing"), "laplace", "smoothing must be"),
        (("parameters", "smoothing"), -1, "smoothing must be"),
        (("calibrated_smoothing",), [], "smoothing must be"),
        (("parameters", "calibrate"), "maybe", "calibrate"),
        (("parameters", "monotone"), {"mapping": [["x0", 2]]}, "monotone must be"),
        (("parameters", "random_state"), "dice", "random_state"),
        (("encoder", "missing"), "drop", "missing"),
        (("encoder", "kinds"), {"visites": "ordinal"}, "kinds of its columns must be"),
        (("encoder", "kinds"), {"visits": "numeric"}, "kinds"),
        (("encoder", "kinds"), [1], "kinds"),
        (("classes", "values"), ["b", "a", "c"], "not in order"),
        (("classes", "values"), ["a", "a", "b"], "not in order"),
        (("classes", "values"), ["a"], "at least two labels of one kind"),
        (("classes", "values"), ["a", 1, "b"], "at least two labels of one kind"),
        (("classes", "values"), ["a", "b"], "class counts"),
        (("classes", "kind"), "bytes", "labels of one kind"),
        (("class_count", 0), -1.0, "class counts are out of range"),
        (("class_count",), [1.0, 2.0], "class counts are not 3 number"),
        (("class_log_prior", 0), 0.5, "class priors are out of range"),
        (("class_log_prior",), ["-inf"] * 3, "class prior"),
        (("weight_factor",), -0.5, "weight factor"),
        (("weight_factor",), [1.0], "weight factor"),
        (("n_rows",), 0, "n_rows is not a positive whole number"),
        (("n_rows",), 2.5, "n_rows is not a positive whole number"),
        (("n_rows",), True, "n_rows is not a positive whole number"),
        (("named",), "yes", "named"),
        (("features",), [], "."),
        (("features", 0, "weight"), -0.1, "weights are out of range"),
        (("features", 0, "weight"), "heavy", "weights"),
        (("features", 0, "selector_weight"), None, "weights"),
        (("features", 0, "log_prob"), [[0.0]], "log probabilities of 'âge"),
        (("features", 0, "log_prob", 0, 0), 1e999, "."),
        (("features", 0, "log_prob", 0, 0), 0.7, "log probabilities"),
        (("features", 1, "levels", "name"), "âge (années)", "names must be present and differ"),
        (("features", 0, "levels", "counts"), None, "counts"),
        (("features", 0, "levels", "counts", 0), [1.0], "counts"),
        (("search", "feature"), [99], "search"),
        (("classes", "values", 0), "\ud800", "half a character"),
        (("search", "cost"), ["x"], "search"),
    ],
)
def test_what_contradicts_itself_is_refused(tmp_path: Path, path: Path_, value: Any, match: str) -> None:
    content = changed(path, value).replace("Infinity", "1e999")
    message = refused(tmp_path / "model.json", content, match)
    assert "is damaged" in message


def test_a_number_too_large_for_a_float(tmp_path: Path) -> None:
    content = text_of_a_model().replace('"weight_factor": 1.0', '"weight_factor": 1e999')
    assert content != text_of_a_model()
    refused(tmp_path / "model.json", content, "weight factor are out of range|is damaged")


# ----------------------------------------------------------------------------------------------------- failing writes


def test_a_failing_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.json"
    fitted("map").save(path)
    before = path.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ValueError, match="No space left on device"):
        fitted("all").save(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.json"]


def test_a_write_killed_half_way_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.json"
    fitted("map").save(path)
    before = path.read_bytes()

    def killed(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        fitted("all").save(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.json"]


@pytest.mark.parametrize("name", ["model.pkl", "model.html", "model.csv", "model.json.gz", "model.Parquet"])
def test_a_model_takes_no_name_of_another_format(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"a model as JSON; end the name in \.json"):
        fitted().save(tmp_path / name)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("name", ["model", "model.bayesieve", "model-1.2", "model.txt"])
def test_other_names_of_a_model(tmp_path: Path, name: str) -> None:
    fitted().save(tmp_path / name)
    assert bayesieve.load(tmp_path / name).selected_features_ == fitted().selected_features_


def test_no_folder_to_write_in(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        fitted().save(tmp_path / "none" / "model.json")
    with pytest.raises(ValueError, match="is a folder"):
        fitted().save(tmp_path)


def test_the_file_is_plain_json_without_nan(tmp_path: Path) -> None:
    content = json.loads(text_of_a_model(), parse_constant=lambda text: pytest.fail(text))
    assert content["format"] == "bayesieve.SelectiveNB"
    assert content["version"] == 2
    assert content["written_by"] == bayesieve.__version__
    assert all(math.isfinite(value) for value in content["class_count"])
    assert "âge (années)" in text_of_a_model()  # readable, not \u00e2


@pytest.mark.parametrize("selector", ["information-gain", "imprecise-information-gain", "mrmr", "cfs"])
def test_what_a_filter_found_survives(tmp_path: Path, selector: str) -> None:
    model = SelectiveNB(selector).fit(frame(), labels())
    again, found = reload(model, tmp_path).selector_, model.selector_
    assert again.n_features_selected_ == found.n_features_selected_ == found.support_.sum()
    for name in ("scores_", "ranking_"):
        if hasattr(found, name):
            np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
