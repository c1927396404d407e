"""Classifiers of Weka; skipped without Java and a weka.jar."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from bayesieve_lab import RepeatedFolds, compare
from bayesieve_lab.peers import PEERS
from bayesieve_lab.peers.weka import weka_command

LEARNERS = {"weka-aode": "AODE", "weka-waode": "WAODE", "weka-hnb": "HNB"}
names = pytest.mark.parametrize("name", list(LEARNERS))


@pytest.fixture
def weka() -> list[str]:
    try:
        return weka_command()
    except ValueError as error:
        pytest.skip(str(error))


def awkward(n: int = 120) -> tuple[pl.DataFrame, np.ndarray]:
    """Names and values that a file has to escape, and cells that are missing; two classes."""
    generator = np.random.default_rng(2)
    y = generator.integers(0, 2, n)
    some = generator.random(n) < 0.1
    texts = np.array(["a,'b\"", "c}\nd%", "?", "é"])[np.where(generator.random(n) < 0.8, 2 * y, 3)]
    frame = pl.DataFrame(
        {
            "tab\t{here}": np.where(some, np.nan, y + generator.normal(scale=0.8, size=n)),
            "it's": [None if gone else str(text) for gone, text in zip(some, texts, strict=True)],
            "vast": np.where(y == 1, 1e-300, generator.normal(size=n) * 1e300),
            "nothing": pl.Series([None] * n, dtype=pl.Float64),
        }
    )
    return frame, y


@names
@pytest.mark.parametrize("missing", [False, True])
def test_probabilities_are_those_of_weka(name: str, missing: bool, weka: list[str], tmp_path: Path) -> None:
    """Iris, against Weka's own predictions, which have three decimals."""
    X, y = load_iris(return_X_y=True)
    if missing:
        X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    train, test = tmp_path / "train.arff", tmp_path / "test.arff"
    header = "@relation iris\n" + "".join(f"@attribute 'petal {j}' numeric\n" for j in range(4))
    header += "@attribute kind {setosa,versicolor,virginica}\n@data\n"
    lines = [",".join(["?" if np.isnan(cell) else repr(float(cell)) for cell in row]) for row in X]
    kinds = np.array(["setosa", "versicolor", "virginica"])[y]
    for path, rows in ((train, slice(None, None, 2)), (test, slice(1, None, 2))):
        path.write_text(
            header + "\n".join(f"{line},{kind}" for line, kind in zip(lines[rows], kinds[rows], strict=True))
        )
    filters = ["weka.filters.supervised.attribute.Discretize"]
    if name != "weka-aode":
        filters.insert(0, "weka.filters.unsupervised.attribute.ReplaceMissingValues")
    chain = "weka.filters.MultiFilter " + " ".join(f"-F {one}" for one in filters)
    options = ["-t", train, "-T", test, "-p", "0", "-distribution", "-F", chain]
    learner = ["-W", f"weka.classifiers.bayes.{LEARNERS[name]}"]
    printed = subprocess.run(
        [*weka, "weka.classifiers.meta.FilteredClassifier", *options, *learner],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    shares = [line.split()[-1].replace("*", "").split(",") for line in printed.splitlines() if "*" in line]
    expected = np.array(shares, dtype=float)
    assert expected.shape == (75, 3)
    proba = PEERS[name]().fit(X[::2], kinds[::2]).predict_proba(X[1::2])
    np.testing.assert_allclose(proba, expected, atol=5.1e-4)
    assert (proba.argmax(axis=1) == y[1::2]).mean() > 0.8


@names
@pytest.mark.usefixtures("weka")
def test_awkward_tables_and_rows_never_seen(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / 'a "b" c'
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    X, y = awkward()
    model = PEERS[name](kinds={"it's": "categorical"}, random_state=0)
    assert clone(model).get_params() == model.get_params()
    model.fit(X[:90], y[:90] == 1)
    new = X[90:].with_columns(pl.Series("it's", ["never seen", None, *X["it's"][92:]]), nothing=pl.lit(3.5))
    proba = model.predict_proba(new)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert model.classes_.tolist() == [False, True]
    assert model.n_features_selected_ == 3
    assert (model.predict(X[90:]) == (y[90:] == 1)).mean() > 0.7
    alike = new[:2].with_columns(pl.Series("it's", [None, "unknown"], dtype=pl.String))
    np.testing.assert_array_equal(model.predict_proba(alike), proba[:2])
    assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("weka")
def test_small_probabilities_are_not_rounded_away() -> None:
    n = 4000
    X = pl.DataFrame({f"x{j}": np.repeat(["a", "b"], n) for j in range(16)})
    log_proba = PEERS["weka-aode"]().fit(X, np.repeat([0, 1], n)).predict_log_proba(X)
    assert -60 < log_proba[0, 1] < np.log(1e-7)
    assert np.isfinite(log_proba).all()


@pytest.mark.usefixtures("weka")
def test_one_class_nothing_known_and_weights() -> None:
    X, y = awkward(40)
    model = PEERS["weka-hnb"]()
    assert model.fit(X, ["only"] * 40).predict_proba(X[:2]).tolist() == [[1.0], [1.0]]
    known = model.fit(X.select("nothing"), np.repeat([0, 1], [30, 10]))
    np.testing.assert_allclose(known.predict_proba(X.select("nothing")), np.tile([0.75, 0.25], (40, 1)))
    assert known.n_features_selected_ == 0
    with pytest.raises(ValueError, match="WekaBayes does not support row weights"):
        model.fit(X, y, np.arange(40.0))


@pytest.mark.usefixtures("weka")
def test_in_a_comparison_whose_folds_lack_a_class() -> None:
    X, y = awkward(60)
    labels = np.array(["a", "b"], dtype=object)[y]
    labels[0] = "rare"
    found = compare({name: PEERS[name]() for name in LEARNERS}, X, labels, RepeatedFolds(n_folds=2), n_jobs=2)
    assert found.errors() == []
    assert (found.matrix("accuracy") > 0.7).all()


@names
def test_what_is_missing_is_a_sentence(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jar = tmp_path / "weka.jar"
    monkeypatch.setenv("WEKA_JAR", str(jar))
    monkeypatch.setattr("bayesieve_lab.peers.weka.shutil.which", lambda program: "java")
    with pytest.raises(ValueError, match=r"^Weka is not installed: there is no .*; set WEKA_JAR to the path"):
        PEERS[name]()
    with ZipFile(jar, "w") as classes:
        classes.writestr("weka/classifiers/bayes/AODE.class", b"")
    with pytest.raises(ValueError, match=r"weka\.jar lacks HNB, which Weka has in version 3\.6; set WEKA_JAR"):
        PEERS[name]()
    monkeypatch.setattr("bayesieve_lab.peers.weka.shutil.which", lambda program: None)
    with pytest.raises(ValueError, match=r"^Weka needs Java, which is not on PATH; run "):
        PEERS[name]()


@pytest.mark.usefixtures("weka")
def test_a_failure_of_weka_is_its_message() -> None:
    X, y = awkward(20)
    model: Any = PEERS["weka-aode"]().set_params(learner="Nonsense")
    with pytest.raises(ValueError, match=r"^Weka failed \(.*Nonsense"):
        model.fit(X, y)
