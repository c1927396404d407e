"""Results are dataframes of the caller's library, and transformers give what `set_output` asks for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import polars.selectors as cs
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

import bayesieve
from bayesieve import DependenceClusterSelector, MAPSelector, SelectiveNB, TableEncoder, drift, evaluate

LIBRARIES: dict[str, tuple[type, Callable[[pl.DataFrame], Any]]] = {
    "pandas": (pd.DataFrame, lambda frame: frame.to_pandas().set_axis([f"row {i}" for i in range(len(frame))])),
    "polars": (pl.DataFrame, lambda frame: frame),
    "pyarrow": (pa.Table, pl.DataFrame.to_arrow),
}
RESULTS: dict[str, Callable[[SelectiveNB, Any, Any], Any]] = {
    "explain": lambda model, X, y: model.explain(X),
    "reasons": lambda model, X, y: model.reasons(X),
    "counterfactuals": lambda model, X, y: model.counterfactuals(X),
    "evaluate": lambda model, X, y: evaluate(model, X, y, by="word").to_frame(),
    "drift": lambda model, X, y: drift(model, X, y, by="word").to_frame(),
    "summary": lambda model, X, y: fitted(model, X, y).summary(),
    "scorecard": lambda model, X, y: fitted(model, X, y).scorecard_.to_frame(),
    "edited scorecard": lambda model, X, y: fitted(model, X, y).edit().drop("one").done().scorecard_.to_frame(),
    "trace": lambda model, X, y: fitted(model, X, y).trace_.to_frame(),
    "trace of a selector": lambda model, X, y: MAPSelector(random_state=0).fit(X, y).trace_.to_frame(evaluated=True),
    "levels": lambda model, X, y: fitted(model, X, y).encoder_.to_frame(),
    "levels of an encoder": lambda model, X, y: TableEncoder().fit(X, y).to_frame(),
    "levels by hand": lambda model, X, y: TableEncoder(levels={"one": {"cuts": [0.0]}}).fit(X, y).to_frame(),
    "points": lambda model, X, y: fitted(model, X, y).points().to_frame(),
    "clusters": lambda model, X, y: DependenceClusterSelector(random_state=0).fit(X, y).candidates_,
}
NUMBERS = ("MODLDiscretizer", "MDLPDiscretizer", "EqualFrequencyDiscretizer", "EqualWidthDiscretizer")
OTHERS = (
    "TableEncoder", "AllFeatures", "InformationGainSelector", "ImpreciseInformationGainSelector", "MRMRSelector",
    "CFSSelector", "WrapperSelector", "BoostedSelector", "DependenceClusterSelector", "AccuracySelector", "AUCSelector",
    "MAPSelector", "BayesianAveraging", "CompressionAveraging",
)  # fmt: skip


@cache
def table() -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"one": rng.normal(size=200), "two": rng.normal(size=200), "word": rng.choice(["a", "b"], 200)}
    )
    return frame, np.where(frame["one"] + rng.normal(size=200) > 0, "yes", "no")


@cache
def model() -> SelectiveNB:
    return SelectiveNB("map", random_state=0).fit(*table())


def fitted(model: SelectiveNB, X: Any, y: Any) -> SelectiveNB:
    """Another model of the same options."""
    return clone(model).fit(X, y)


@cache
def of_polars(result: str) -> pl.DataFrame:
    frame, y = table()
    return plain(RESULTS[result](model(), frame, y))


def plain(frame: Any) -> pl.DataFrame:
    """As polars without times, numbers as floats: pandas has no other missing numbers."""
    frame = pl.from_pandas(frame) if isinstance(frame, pd.DataFrame) else pl.DataFrame(frame)
    return (
        frame.select(cs.exclude(cs.contains("seconds")))
        .with_columns(pl.col(pl.Int64, pl.UInt32).cast(pl.Float64))
        .with_columns(pl.col(pl.Float64).fill_nan(None))
    )


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_results_are_of_the_library_of_the_rows(library: str, result: str) -> None:
    frame, y = table()
    kind, made_of = LIBRARIES[library]
    own = RESULTS[result](model(), made_of(frame), y)
    assert type(own) is kind
    assert plain(own).equals(of_polars(result))
    if library == "pandas" and result in ("explain", "reasons", "counterfactuals"):
        assert own.index.to_list() == [f"row {i}" for i in own["row"]]


@pytest.mark.parametrize("name", [*NUMBERS, "IndicatorEncoder", *OTHERS])
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_is_respected(library: str, name: str) -> None:
    frame, y = table()
    X = LIBRARIES["pandas"][1](frame if name in OTHERS else frame[["one", "two"]])
    options = {"IndicatorEncoder": {"thresholds": [-1.0, 0.0, 1.0]}}.get(name, {})
    transformer = getattr(bayesieve, name)(**options)
    ways = (
        clone(transformer),
        make_pipeline(clone(transformer)),
        ColumnTransformer([("own", clone(transformer), list(X.columns))]),
    )
    for way in ways:
        way.set_output(transform=library)
        for out in (way.fit_transform(X, y), way.transform(X)):
            assert type(out) is LIBRARIES[library][0]
            assert library == "polars" or out.index.equals(X.index)


@pytest.mark.parametrize("library", LIBRARIES)
def test_files_do_not_depend_on_the_library(library: str, tmp_path: Path) -> None:
    frame, y = table()
    X = LIBRARIES[library][1](frame)
    own = fitted(model(), X, y)
    own.save(tmp_path / "model.json")
    assert type(bayesieve.load(tmp_path / "model.json").summary()) is pl.DataFrame
    for by, one in {"own": own, "expected": model()}.items():
        one.export(tmp_path / f"{by}.csv", to="points")
    points, expected = (pl.read_csv(tmp_path / f"{by}.csv", comment_prefix="#") for by in ("own", "expected"))
    assert points.equals(expected)
