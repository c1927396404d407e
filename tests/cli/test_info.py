"""`bayesieve info` describes a model file; misspelt commands and options get one clear line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import bayesieve
from tests.cli.conftest import Run
from tests.limits import absent


def test_info(succeeds: Run, model: Path) -> None:
    lines = succeeds("info", model).stdout.splitlines()
    facts = {line[:13].strip(): line[13:] for line in lines[:7]}
    assert facts["model"] == str(model)
    assert facts["written by"] == f"bayesieve {bayesieve.__version__}"
    assert facts["target"] == "'class', 2 classes: good 70.0 %, bad 30.0 %"
    assert facts["trained on"] == "1,000 rows, 20 features"
    assert facts["smoothing"].startswith("observed and expected rows of each level with ")
    assert facts["calibration"].startswith("contributions of levels and of cells within them, fitted to the rows")
    assert lines[8].split(maxsplit=4) == ["feature", "kind", "levels", "importance", "by chance, 1 in"]
    fitted = bayesieve.load(model)
    assert [line.split()[0] for line in lines[9:]] == fitted.selected_features_
    assert len(succeeds("info", model, "--all").stdout.splitlines()[9:]) == 20


def test_features_that_were_not_tested_show_their_weights(succeeds: Run) -> None:
    X = pl.DataFrame({"a": [1.0, 2.0] * 30})
    bayesieve.SelectiveNB(calibrate=False).fit(X, [0, 1] * 30).save("published.json")
    lines = succeeds("info", "published.json").stdout.splitlines()
    assert lines[8].split() == ["feature", "kind", "levels", "importance", "level", "score", "weight"]
    assert lines[9].split()[:4] == ["a", "numeric", "2", "100.0"]


def test_a_merged_model_shows_importances_without_weights(succeeds: Run) -> None:
    random = np.random.default_rng(0)
    X = pl.DataFrame({"x": random.normal(size=600)})
    y = (random.random(600) < 1 / (1 + np.exp(-2 * X["x"].to_numpy()))).astype(int)
    first = bayesieve.SelectiveNB().fit(X[:300], y[:300])
    first.save("first.json")
    first.levels_to_yaml("levels.yaml")
    bayesieve.SelectiveNB(levels="levels.yaml").fit(X[300:], y[300:]).save("second.json")
    succeeds("merge", "first.json", "second.json", "-o", "merged.json")
    lines = succeeds("info", "merged.json").stdout.splitlines()
    assert lines[-2].split() == ["feature", "kind", "levels", "importance"]
    assert lines[-1].split()[:2] == ["x", "numeric"]
    assert lines[-1].split()[3] == "100.0"


def test_a_model_trained_on_an_array(succeeds: Run, fails: Run) -> None:
    X = np.array([[1.0, 5.0], [2.0, 5.0]] * 30)
    bayesieve.SelectiveNB().fit(X, [0, 1] * 30).save("array.json")
    assert "without a name" in succeeds("info", "array.json").stdout
    pl.DataFrame({"x0": [1.0, 2.0], "x1": [5.0, 5.0]}).write_csv("x.csv")
    assert succeeds("predict", "array.json", "x.csv").stdout.splitlines()[1].startswith("0,")
    pl.DataFrame({"a": [1.0, 2.0]}).write_csv("a.csv")
    assert "needs: 'x0'" in fails("predict", "array.json", "a.csv")


def test_version_and_help(succeeds: Run) -> None:
    assert succeeds("--version").stdout.startswith(f"bayesieve {bayesieve.__version__}\n")
    for arguments in ([], ["--help"], ["-h"]):
        text = succeeds(*arguments).stdout
        assert all(command in text for command in ("fit", "predict", "explain", "info"))


def test_usage_errors_are_one_line(fails: Run) -> None:
    assert "Did you mean 'fit'?" in fails("fti")
    assert fails("fit") == "error: Missing argument 'TABLE' (see bayesieve fit --help)"
    assert "--nothing" in fails("info", "--nothing", "x")
    assert "--nothing" in fails("--nothing")
    assert "unexpected" in fails("info", "a", "b")


def test_what_an_export_needs_is_said(fails: Run, model: Path) -> None:
    with absent("sqlglot"):
        line = fails("export", model, "-o", "scoring.sql")
    assert "error: The export to sql needs sqlglot; install the extra: pip install 'bayesieve[export]'." in line


def test_info_lists_cautions_that_are_no_warnings(succeeds: Run) -> None:
    groups = np.array(["rare"] * 5 + ["a", "b"] * 100)
    y = np.append(np.ones(5, dtype=int), np.random.default_rng(0).random(200) < np.tile([0.1, 0.4], 100)).astype(int)
    rules = {"group": {"groups": [["rare"], ["a"], ["b"]], "include": True}}
    bayesieve.SelectiveNB(levels=rules).fit(pl.DataFrame({"group": groups}), y).save("rare.json")
    lines = [line for line in succeeds("info", "rare.json").stdout.splitlines() if line.startswith("caution: ")]
    assert any(
        "Level 'rare' of 'group' has fewer than 10 training rows, all of a single class" in line for line in lines
    )
