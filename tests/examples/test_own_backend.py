"""The page on table backends of one's own: its code runs as printed, once its package is installed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris

from bayesieve import IndicatorEncoder, MODLDiscretizer, SelectiveNB, TableEncoder, compare
from bayesieve.table import Backend, as_table
from bayesieve.table.backends import BACKENDS, backend
from tests.examples.pages import blocks, install

FILE, USE = blocks("own-backend.md")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of the page, registered by an installed package."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.delitem(vars(BACKENDS), "_installed", raising=False)
    install(tmp_path / "site", {"other_store": FILE}, "[bayesieve.backends]\nstore = other_store:StoreBackend\n")
    import other_store  # type: ignore[import-not-found]

    yield other_store
    vars(BACKENDS).pop("_installed", None)
    backend.cache_clear()
    del sys.modules["other_store"]


def frames(store: Any) -> tuple[Any, pl.DataFrame, np.ndarray]:
    X, y = load_iris(return_X_y=True, as_frame=True)
    frame = pl.DataFrame(X).with_columns(
        size=pl.when(pl.col("petal width (cm)") > 1.5).then(pl.lit("wide")).when(pl.col("sepal width (cm)") > 3)
        .then(pl.lit("007")),
        gap=pl.when(pl.int_range(pl.len()) % 7 > 0).then(pl.col("sepal length (cm)")),
    )  # fmt: skip
    types = {name: "text" if dtype == pl.String else "number" for name, dtype in frame.schema.items()}
    return store.Store({name: store.Field(types[name], frame[name].to_list()) for name in frame.columns}), frame, y


def test_the_page_runs(store: Any, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(USE, "own-backend.md", "exec"), {"Store": store.Store, "Field": store.Field})
    assert capsys.readouterr().out.splitlines() == re.findall(r"#> (.*)", USE)
    assert len(FILE.split("class StoreBackend")[1].splitlines()) <= 40
    assert BACKENDS["store"] is store.StoreBackend
    assert issubclass(store.StoreBackend, Backend)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_its_frames_give_the_same_models_as_polars(store: Any, tmp_path: Path) -> None:
    own, frame, y = frames(store)
    assert as_table(own).types() == as_table(frame).types()
    for selector in ("compression", "wrapper", "cfs"):
        one, other = (SelectiveNB(selector).fit(X, y) for X in (own, frame))
        np.testing.assert_array_equal(one.predict_proba(own), other.predict_proba(frame))
        assert one.explain(own).equals(other.explain(frame))
        assert one.report(tmp_path / "a.html", own, y) == other.report(tmp_path / "b.html", frame, y)
    part = np.array([3, 100, 77])
    np.testing.assert_array_equal(
        one.predict_proba(backend("store").take_rows(own, part)), one.predict_proba(own)[part]
    )
    losses = [[row["log_loss"] for row in compare({"map": SelectiveNB("map")}, X, y).rows] for X in (own, frame)]
    assert losses[0] == losses[1]
    assert TableEncoder().fit(own, y).to_frame().equals(TableEncoder().fit(frame, y).to_frame())
    numbers = backend("store").select(own, np.array([0, 5]))
    np.testing.assert_array_equal(
        MODLDiscretizer().fit(numbers, y).cut_points_[1], MODLDiscretizer().fit(frame[:, [0, 5]], y).cut_points_[1]
    )
    np.testing.assert_array_equal(
        IndicatorEncoder(3).fit_transform(numbers, y), IndicatorEncoder(3).fit_transform(frame[:, [0, 5]], y)
    )


def test_a_backend_without_a_method_says_which() -> None:
    class Half(Backend):
        name = "half"

    with pytest.raises(TypeError, match="take_rows"):
        Half()  # type: ignore[abstract]
