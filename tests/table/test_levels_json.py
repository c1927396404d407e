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
    assert again.labels == original.labels
    if original.cut_points is not None:
        assert again.cut_points is not None
        assert original.cut_points.tobytes() == again.cut_points.tobytes()


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


NAN, INFINITY = float("nan"), float("inf")
DAMAGE: dict[str, list[Any]] = {
    "name": [3, None],
    "kind": [3, "ordinal", "categorical"],
    "type": [["number"], "colour"],
    "cut_points": [
        *("-inf", [NAN], [INFINITY], ["inf"], ["1.5"], [None], [True, 2], [10**400], [2.0, 1.0], [1.0, 1.0]),
        *([1.0, "-inf"], _nested(5000), {"0": 1.0}),
    ],
    "missing_code": [-1, 3, 0.0, "0", True],
    "counts": [
        *([[1, 2], [3], [4, 5]], [[1, 2]], [[], [], []], [["1"], [2], [3]], [[-1], [2], [3]], [[NAN], [2], [3]]),
        *(3, _nested(5000), [[10**400], [2], [3]]),
    ],
    "level_score": ["0", None, 1, NAN],
}
DAMAGED_GROUPS: list[Any] = [
    *(None, {"x": 0}, ["x"], [["x", None], []], [["x", None], ["x"]], [["3", None], [3.0]], [["x", None], [["y"]]]),
    *([["x", None], [{"y": 1}]], [["x", None], [NAN]], [["x", None], [INFINITY]], [["x"], ["y"]], [["x", None, None]]),
    _nested(5000),
]


def test_hostile_input_is_one_sentence() -> None:
    hostile: list[Any] = [None, [], "levels", {}, {**_numeric(), "extra": 1}]
    hostile += [{key: value for key, value in _numeric().items() if key != "counts"}]
    hostile += [_numeric(**{field: value}) for field, values in DAMAGE.items() for value in values]
    hostile += [_categorical(groups=groups) for groups in DAMAGED_GROUPS]
    hostile += [_categorical(missing_code=code) for code in (None, 1)]
    for data in hostile:
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
