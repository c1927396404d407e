"""Levels as JSON: exact both ways, and nothing malformed accepted."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bayesieve.table import FeatureLevels
from bayesieve.table.values import canonical_text

finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.text(max_size=5) | st.integers() | finite | st.booleans()


@st.composite
def levels(draw: st.DrawFn) -> FeatureLevels:
    if draw(st.booleans()):
        cuts = sorted(draw(st.lists(finite, max_size=6, unique=True)))
        if draw(st.booleans()):
            cuts = [-np.inf, *cuts]
        n_levels = len(cuts) + 1
        missing = draw(st.none() | st.integers(0, n_levels - 1))
        parts: dict[str, Any] = {"kind": "numeric", "cut_points": np.array(cuts), "missing_code": missing}
    else:
        groups = draw(
            st.lists(st.lists(values, min_size=1, max_size=3), min_size=1, max_size=4).filter(
                lambda groups: len({canonical_text(v) for g in groups for v in g}) == sum(map(len, groups))
            )
        )
        n_levels = len(groups)
        missing = draw(st.none() | st.integers(0, n_levels - 1))
        if missing is not None:
            groups[missing].append(None)  # type: ignore[arg-type]
        parts = {"kind": "categorical", "groups": tuple(map(tuple, groups)), "missing_code": missing}
    counts = draw(
        st.none() | st.lists(st.integers(0, 2**60) | st.floats(0, 1e300), min_size=n_levels, max_size=n_levels)
    )
    return FeatureLevels(
        name=draw(st.text()),
        type=draw(st.sampled_from(["number", "date", "text", "mixed"])),
        counts=None if counts is None else np.array([[c, 1] for c in counts]),
        level_score=draw(st.floats(0, 1, exclude_max=True)),
        **parts,
    )


@given(levels())
def test_round_trip_is_exact(original: FeatureLevels) -> None:
    text = json.dumps(original.to_json(), allow_nan=False)
    again = FeatureLevels.from_json(json.loads(text))
    assert json.dumps(again.to_json(), allow_nan=False) == text
    assert (again.name, again.kind, again.type, again.missing_code) == (
        original.name, original.kind, original.type, original.missing_code)  # fmt: skip
    assert again.level_score == original.level_score
    assert again.labels == original.labels
    if original.cut_points is not None:
        assert again.cut_points is not None
        assert original.cut_points.tobytes() == again.cut_points.tobytes()
    else:
        assert [[None if v is None else canonical_text(v) for v in g] for g in again.groups or ()] == [
            [None if v is None else canonical_text(v) for v in g] for g in original.groups or ()
        ]
    if original.counts is not None:
        assert again.counts is not None
        np.testing.assert_array_equal(again.counts, original.counts)


def _numeric(**parts: Any) -> dict[str, Any]:
    good = FeatureLevels(
        "a", "numeric", "number", cut_points=np.array([-np.inf, 1.5]), missing_code=0, counts=np.ones((3, 2))
    )
    return {**good.to_json(), **parts}


def _categorical(**parts: Any) -> dict[str, Any]:
    good = FeatureLevels("a", "categorical", "text", groups=(("x", 3, None), (True,)), missing_code=0)
    return {**good.to_json(), **parts}


def test_minus_infinity_is_text() -> None:
    assert _numeric()["cut_points"] == ["-inf", 1.5]
    FeatureLevels.from_json(_numeric())
    FeatureLevels.from_json(_categorical())


def _nested(depth: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(depth):
        nested = [nested]
    return nested


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "levels",
        {},
        {**_numeric(), "extra": 1},
        {key: value for key, value in _numeric().items() if key != "counts"},
        _numeric(name=3),
        _numeric(name=None),
        _numeric(kind=3),
        _numeric(kind="ordinal"),
        _numeric(kind="categorical"),
        _numeric(type=["number"]),
        _numeric(type="colour"),
        _numeric(cut_points="-inf"),
        _numeric(cut_points=[float("nan")]),
        _numeric(cut_points=[float("inf")]),
        _numeric(cut_points=["inf"]),
        _numeric(cut_points=["1.5"]),
        _numeric(cut_points=[None]),
        _numeric(cut_points=[True, 2]),
        _numeric(cut_points=[10**400]),
        _numeric(cut_points=[2.0, 1.0]),
        _numeric(cut_points=[1.0, 1.0]),
        _numeric(cut_points=[1.0, "-inf"]),
        _numeric(cut_points=_nested(5000)),
        _numeric(cut_points={"0": 1.0}),
        _numeric(missing_code=-1),
        _numeric(missing_code=3),
        _numeric(missing_code=0.0),
        _numeric(missing_code="0"),
        _numeric(missing_code=True),
        _numeric(counts=[[1, 2], [3], [4, 5]]),
        _numeric(counts=[[1, 2]]),
        _numeric(counts=[[], [], []]),
        _numeric(counts=[["1"], [2], [3]]),
        _numeric(counts=[[-1], [2], [3]]),
        _numeric(counts=[[float("nan")], [2], [3]]),
        _numeric(counts=3),
        _numeric(counts=_nested(5000)),
        _numeric(level_score="0"),
        _numeric(level_score=None),
        _numeric(level_score=1),
        _numeric(level_score=float("nan")),
        _categorical(groups=None),
        _categorical(groups={"x": 0}),
        _categorical(groups=["x"]),
        _categorical(groups=[["x", None], []]),
        _categorical(groups=[["x", None], ["x"]]),
        _categorical(groups=[["3", None], [3.0]]),
        _categorical(groups=[["x", None], [["y"]]]),
        _categorical(groups=[["x", None], [{"y": 1}]]),
        _categorical(groups=[["x", None], [float("nan")]]),
        _categorical(groups=[["x", None], [float("inf")]]),
        _categorical(groups=[["x"], ["y"]]),
        _categorical(missing_code=None),
        _categorical(missing_code=1),
        _categorical(groups=[["x", None, None]]),
        _categorical(groups=_nested(5000)),
    ],
    ids=lambda data: str(data)[:40] if not isinstance(data, dict) else None,
)
def test_hostile_input_is_one_sentence(data: Any) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]+\.$") as error:
        FeatureLevels.from_json(data)
    assert type(error.value) is ValueError
    assert len(str(error.value)) < 250


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.just("-inf"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=8,
)


@given(data=st.data())
def test_random_damage_never_escapes_as_another_error(data: st.DataObject) -> None:
    damaged = dict(data.draw(st.sampled_from([_numeric(), _categorical()])))
    for key in data.draw(st.lists(st.sampled_from(sorted(damaged)), min_size=1, max_size=3)):
        damaged[key] = data.draw(json_values)
    refusal = ""
    try:
        FeatureLevels.from_json(damaged)
    except ValueError as error:
        refusal = str(error)
    assert "\n" not in refusal
