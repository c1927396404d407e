"""ONNX graphs, run by onnxruntime, give what the model gives."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import onnxruntime
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayesieve import SelectiveNB, TableEncoder
from bayesieve.scorecard.export.onnx_graph import register_converter
from tests.scorecard.exported import CASES, case, check, hostile, probabilities

EXPORTED = [name for name in CASES if name != "nothing"]


def inputs(content: bytes, frame: pl.DataFrame) -> dict[str, np.ndarray]:
    """Rows as the docstrings of inputs have them."""
    values = {}
    for own in onnx.load_from_string(content).graph.input:
        missing = json.loads(own.doc_string.partition("; ")[2].removesuffix(" if missing"))
        column = frame[own.name]
        if own.type.tensor_type.elem_type == onnx.TensorProto.STRING:
            texts = [missing if value is None else str(value) for value in column.to_list()]
            values[own.name] = np.array(texts, dtype=object)[:, None]
        else:
            if column.dtype.is_temporal():
                column = column.to_physical() // (1000 if column.dtype == pl.Time else 1)
            values[own.name] = column.cast(pl.Float64).fill_null(missing).to_numpy()[:, None]
    return values


def run(model: SelectiveNB, frame: pl.DataFrame, **options: Any) -> list[np.ndarray]:
    content = model.export(to="onnx", **options)
    session = onnxruntime.InferenceSession(content)
    return list(session.run(["label", "probabilities", "contributions"], inputs(content, frame)))


@pytest.mark.parametrize("name", EXPORTED)
def test_probabilities(name: str) -> None:
    check(name, lambda model, frame: run(model, frame)[1])


@pytest.mark.parametrize("name", EXPORTED)
def test_labels_and_contributions(name: str) -> None:
    model, frame = case(name)
    rows = pl.concat([frame[:50], hostile(model, frame)])
    label, _, contributions = run(model, rows)
    assert label.tolist() == model.classes_[probabilities(model, rows).argmax(axis=1)].tolist()
    joint = model.scorecard_.intercept + contributions.sum(axis=1)
    shares = np.exp(joint - joint.max(axis=1, keepdims=True))
    np.testing.assert_allclose(shares / shares.sum(axis=1, keepdims=True), probabilities(model, rows), atol=1e-12)


def test_no_rows() -> None:
    model, frame = case("all kinds")
    assert [own.shape for own in run(model, frame[:0])] == [(0,), (0, 2), (0, 7, 2)]


@pytest.mark.parametrize("name", ["all kinds", "numbers"])
def test_infinite_numbers_have_no_probability(name: str) -> None:
    model, frame = case(name)
    column = next(own for own in frame.columns if frame[own].dtype == pl.Float64)
    for value in (np.inf, -np.inf):
        rows = pl.concat([frame[:1], frame[:1].with_columns(pl.lit(value).alias(column))])
        assert np.isnan(run(model, rows)[1]).all(axis=1).tolist() == [False, True]


def test_head_and_counts() -> None:
    model, _ = case("all kinds")
    for counts in (False, True):
        content = onnx.load_from_string(model.export(to="onnx", name='a --> "b"\n*/', counts=counts))
        facts = {own.key: own.value for own in content.metadata_props}
        assert facts["model"] == 'a --> "b"\n*/'
        assert {"exported", "bayesieve", "rows", "checksum"} <= set(facts)
        assert json.loads(facts["classes"]) == model.classes_.tolist()
        assert ("counts" in facts) == counts
    told = json.loads(facts["counts"])
    assert sum(sum(rows) for feature, _, rows in told if feature == "number") == pytest.approx(400)


def many_texts() -> tuple[SelectiveNB, pl.DataFrame]:
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 3000, 9000)
    texts = [f"no. {k} (of (many" for k in kinds.tolist()]
    frame = pl.DataFrame({"text": texts, "number": rng.normal(size=9000) + kinds % 2})
    return SelectiveNB(pairs=0).fit(frame, kinds % 2), frame


def test_many_texts_with_blanks_around() -> None:
    model, frame = many_texts()
    rows = frame[:300].with_columns(text="\u2003" + pl.col("text") + "\n")
    np.testing.assert_allclose(run(model, rows)[1], probabilities(model, rows), atol=1e-12)
    assert model.scorecard_["text"].is_used
    assert len(onnx.load_from_string(model.export(to="onnx")).graph.node) < 250


def test_refusals() -> None:
    y = np.arange(400) % 2
    numbers = pl.Series(np.random.default_rng(0).normal(y))
    with pytest.raises(ValueError, match="uses no columns"):
        case("nothing")[0].export(to="onnx")
    with pytest.raises(ValueError, match="column named 'label'; rename it"):
        SelectiveNB().fit(pl.DataFrame({"label": numbers}), y).export(to="onnx")
    mixed = pl.DataFrame({"a": ["refused" if k % 5 < y[k] else str(v) for k, v in enumerate(numbers.to_list())]})
    model = SelectiveNB(levels={"a": {"special": {"refused": "refused"}}}, encoder=TableEncoder(kinds={"a": "numeric"}))
    with pytest.raises(ValueError, match="texts among the numbers of column 'a'; replace them"):
        model.fit(mixed, y).export(to="onnx")
    with pytest.raises(ValueError, match="no option 'opset'"):
        case("numbers")[0].export(to="onnx", opset=1)


class TestConverter:
    @pytest.fixture(autouse=True)
    def registered(self) -> Any:
        self.skl2onnx = pytest.importorskip("skl2onnx")
        self.types = self.skl2onnx.common.data_types
        register_converter(SelectiveNB)

    def test_pipeline_of_a_matrix(self) -> None:
        rng = np.random.default_rng(0)
        y = rng.integers(0, 3, 300)
        X = rng.normal(size=(300, 4)) + y[:, None] * [1, 0, 0, 2]
        pipeline = make_pipeline(StandardScaler(), SelectiveNB()).fit(X, y)
        session = onnxruntime.InferenceSession(self.skl2onnx.to_onnx(pipeline, X[:1]).SerializeToString())
        label, shares = session.run(None, {"X": X})
        assert label.tolist() == pipeline.predict(X).tolist()
        np.testing.assert_allclose(shares, pipeline.predict_proba(X), atol=1e-12)

    @pytest.mark.parametrize("backwards", [False, True])
    def test_columns_by_name(self, backwards: bool) -> None:
        model, frame = case("surfaces")
        kinds = [
            (name, (self.types.StringTensorType if name == "word" else self.types.DoubleTensorType)([None, 1]))
            for name in frame.columns
        ]
        converted = self.skl2onnx.convert_sklearn(model, initial_types=kinds[::-1] if backwards else kinds)
        session = onnxruntime.InferenceSession(converted.SerializeToString())
        label, shares = session.run(None, inputs(model.export(to="onnx"), frame))
        assert label.tolist() == model.predict(frame).tolist()
        np.testing.assert_allclose(shares, probabilities(model, frame), atol=1e-12)

    def test_refusals(self) -> None:
        model, _ = case("numbers")
        for kind, width, message in [
            (self.types.FloatTensorType, 3, "'a' must be a DoubleTensorType, got FloatTensorType"),
            (self.types.DoubleTensorType, 2, "needs its 3 columns as inputs, got 2"),
        ]:
            with pytest.raises(ValueError, match=message):
                self.skl2onnx.convert_sklearn(model, initial_types=[("X", kind([None, width]))])
