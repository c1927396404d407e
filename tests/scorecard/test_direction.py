"""Reasons and points say which class they are about, and warn if that is the rarer one and nobody chose it."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB, load
from bayesieve.scorecard.direction import directions
from tests.scorecard.exported import case

RNG = np.random.default_rng(0)
BAD = (RNG.random(500) < 0.25).astype(int)
X = pl.DataFrame({"debt": RNG.normal(1.5 * BAD), "age": RNG.normal(-BAD)})


@pytest.fixture(scope="module", params=[None, 0, 1])
def model(request: pytest.FixtureRequest) -> SelectiveNB:
    """Loans of which a quarter is bad; 1 means bad."""
    return SelectiveNB(positive=request.param).fit(X.with_columns(bad=pl.Series(BAD)), "bad")


def cautions(request: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        request()
    return [str(one.message) for one in caught]


REQUESTS: dict[str, Callable[[SelectiveNB], Any]] = {
    "reasons": lambda model: model.reasons(X[:3]),
    "points": lambda model: model.points(),
    "python": lambda model: model.export(to="python"),
    "javascript": lambda model: model.export(to="javascript"),
    "sql": lambda model: model.export(to="sql", reasons=2),
    "pmml": lambda model: model.export(to="pmml", reasons=2),
    "card": lambda model: model.export(to="points", format="html"),
    "excel": lambda model: model.export(to="excel", rows=1),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_caution_if_the_rarer_class_is_positive_by_default(model: SelectiveNB, name: str) -> None:
    found = cautions(lambda: REQUESTS[name](model))
    assert len(found) == (model.positive is None)
    for text in found:
        assert ("easons speak against 1" in text) == (name not in ("points", "card"))
        assert ("ore points make 1 more likely" in text) == (name in ("points", "card", "excel"))
        assert "fit with positive=0 (--positive on the command line); otherwise confirm it with positive=1." in text


def test_no_caution_without_reasons_or_with_a_chosen_or_the_more_frequent_class(model: SelectiveNB) -> None:
    for request in (
        lambda: model.reasons(X[:3], target_class=0),
        lambda: model.export(to="python", target_class=1),
        lambda: model.export(to="sql"),
        lambda: model.export(to="onnx"),
        lambda: model.explain(X[:3]),
        lambda: case("all kinds, three classes")[0].export(to="python"),
        lambda: SelectiveNB().fit(X, 1 - BAD).reasons(X[:3]),
    ):
        assert not cautions(request)


@pytest.mark.parametrize("name", [name for name in REQUESTS if name not in ("reasons", "points")])
def test_exports_state_the_direction(model: SelectiveNB, name: str) -> None:
    positive = 1 if model.positive is None else model.positive
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        content = REQUESTS[name](model)
    if isinstance(content, bytes):
        with zipfile.ZipFile(io.BytesIO(content)) as book:
            content = book.read("xl/sharedStrings.xml").decode()
        assert f"Reasons against {positive} of target 'bad'" in content
        assert f"Points for {positive} of target 'bad'" in content
    text = content.replace("&#39;", "'").replace("&apos;", "'")
    assert f"{positive} of target 'bad'" in text
    if name != "card":
        assert f"against {positive} of target 'bad'" in text
    if name in ("card", "excel"):
        assert f"more points make {positive} of target 'bad' more likely" in text


def test_the_direction_follows_the_target_class_and_survives_a_file(model: SelectiveNB, tmp_path: Any) -> None:
    model.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert cautions(lambda: loaded.reasons(X[:3])) == cautions(lambda: model.reasons(X[:3]))
    text = loaded.export(to="sql", reasons=1, target_class=0)
    assert "-- reasons: against 0 of target 'bad'" in text
    several, _ = case("all kinds, three classes")
    assert directions(several.scorecard_, ["reasons"]) == {"reasons": "for the predicted class"}
    assert directions(several.scorecard_, ["reasons"], "low") == {"reasons": "against low"}
    positive = 1 if model.positive is None else model.positive
    assert repr(model.points(max_points=5)).startswith(f"Points(positive={positive},")
    program: dict[str, Any] = {"__name__": "scoring"}
    exec(loaded.export(to="python", target_class=0), program)
    assert program["MODEL"]["head"]["reasons"] == "against 0 of target 'bad'"
