"""Comparisons and stability beside other features: row weights, scans, libraries of frames, databases and streams."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bayesieve
from bayesieve import MAPSelector, SelectiveNB
from bayesieve_lab import RepeatedFolds, compare, selection_stability
from tests.classifier.test_caller_library import LIBRARIES, table as mixed_table
from tests.classifier.test_cautions import JOB, NOISE, N, Y, table
from tests.cli.conftest import GERMAN, Run, plain_surroundings  # noqa: F401
from tests.cli.test_streams import piped
from tests.table.test_databases import WRITE
from tests.test_short_repr import HOSTILE


def test_weights_are_warned_of_once() -> None:
    X, weights = table(name=[f"row {i}" for i in range(N)]), np.full(N, 50.0)
    methods = {"map": SelectiveNB("map"), "scaled": SelectiveNB("map", normalize=True)}
    for function in (
        lambda: compare(methods, X, Y, RepeatedFolds(2), sample_weight=weights),
        lambda: selection_stability(MAPSelector(), X, Y, sample_weight=weights, cv=2),
    ):
        with pytest.warns(UserWarning, match=r"^The row weights have a mean of ") as warned:
            function()
        assert len(warned) == 1


def test_compared_models_scale_their_own_weights() -> None:
    weights = np.abs(NOISE[:, 0]) / N
    for normalize, n_features in ((True, [2, 2]), (False, [0, 0])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = {"one": SelectiveNB("map", normalize=normalize)}
            rows = compare(model, table(job=JOB.astype(str)), Y, RepeatedFolds(2), sample_weight=weights).rows
        assert [row["n_features"] for row in rows] == n_features


@pytest.mark.parametrize("library", LIBRARIES)
def test_results_are_frames_of_the_library_of_the_rows(library: str, tmp_path: Path) -> None:
    frame, y = mixed_table()
    kind, convert = LIBRARIES[library][:2]
    X, methods = convert(frame), {"map": SelectiveNB("map"), "all": SelectiveNB("all")}
    comparison, stability = compare(methods, X, y, RepeatedFolds(n_folds=2)), selection_stability("map", X, y, cv=3)
    for result in (stability.to_frame(), comparison.summary(), comparison.frame):
        assert type(result) is kind
    comparison.write_csv(tmp_path / "folds.csv")
    assert pl.read_csv(tmp_path / "folds.csv").height == 4
    stability.figure(tmp_path / "stability.html")
    comparison.report(tmp_path / "compared.html")


def test_scans_are_taken_where_frames_are(tmp_path: Path) -> None:
    X = pl.read_csv(GERMAN)
    y = X.drop_in_place("class")
    X.with_columns(kind=y).write_parquet(tmp_path / "a.parquet")
    methods, folds = {"map": SelectiveNB("map")}, RepeatedFolds(2)
    expected = compare(methods, X, y, folds).frame
    for source in (tmp_path, bayesieve.scan(tmp_path), pl.scan_parquet(tmp_path / "a.parquet")):
        found = compare(methods, source, "kind", folds).frame
        assert found.drop("fit_seconds", "predict_seconds").equals(expected.drop("fit_seconds", "predict_seconds"))


def test_representations_are_short_and_escaped() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 90)
    X = pl.DataFrame({f"{HOSTILE} {i}": y * (i % 3) + rng.normal(size=90) for i in range(20)})
    methods = {"map": SelectiveNB("map"), "all": SelectiveNB("all")}
    comparison, stability = compare(methods, X, y, RepeatedFolds(3)), selection_stability("map", X, y, cv=3)
    wanted: list[tuple[Any, str, str]] = [
        (comparison, f"accuracy=[{comparison.matrix('accuracy')[0, 0]:.6g}", "<td>all</td>"),
        (comparison.protocol, "n_folds=3", "<"),
        (stability, f"stability={stability.stability:.6g}", "<td>"),
        (stability.plot(), "<Figure: ", "<"),
    ]
    for value, text, html in wanted:
        assert text in repr(value)
        assert len(repr(value)) < 500
        assert html in value._repr_html_()
        assert HOSTILE not in value._repr_html_()


def test_tables_of_a_database_are_compared(succeeds: Run) -> None:
    frame = pl.read_csv(GERMAN)
    WRITE["sqlite"]("credit.db", customers=frame[:600], late=frame[600:])
    options = ("-t", "class", "--selectors", "all", "--folds", 2, "-o", "c")
    assert "credit.db::late" in succeeds("compare", "credit.db::customers", "credit.db::late", *options).stdout


def test_standard_input_is_compared() -> None:
    result = piped(GERMAN.read_bytes(), "compare", "-", "-t", "class", "-s", "all", "--folds", 2, "-q")
    assert result.exit_code == 0, result.stderr
    assert "standard input" in Path("bayesieve-comparison/comparison.html").read_text("utf-8")
    result = piped(b"a,b\n1,2\n", "compare", "-", "-s", "all", "-t", "class")
    assert result.exit_code == 2
    assert "standard input has no column 'class' (--target)" in result.stderr


def test_odd_names_and_values_that_are_no_numbers(succeeds: Run, fails: Any) -> None:
    rows = [(i % 3, "uvwx"[i % 4], "no" if i % 3 else "yes") for i in range(60)]
    Path("=x.csv").write_text("\n".join(",".join(map(str, row)) for row in (("^a$", "^.*$", "*"), *rows)))
    succeeds("compare", "=x.csv", "-t", "*", "-s", "map", "--folds", 2)
    folds = pl.read_csv("bayesieve-comparison/folds.csv", infer_schema=False)
    assert "'=x" in folds.rows()[0]  # no formula of a spreadsheet
    assert "but line 2 holds 'u'" in fails("compare", "=x.csv", "-t", "*", "--numeric", "^.*$")
