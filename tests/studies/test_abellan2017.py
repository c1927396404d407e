"""The study of Abellan & Castellano (2017): its methods, its coding, its document."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.naive_bayes import CategoricalNB

from bayesieve import MDLPDiscretizer
from bayesieve.evaluation.comparison import compare_many
from bayesieve.studies import Options
from bayesieve.studies.abellan2017.study import ALPHAS, IMPRECISE, METHODS, PLAIN, PRECISE, Abellan2017, Results
from tests.reference import imprecise, information

N_NOISE = 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Iris and wine with columns of noise, as a folder of data sets."""
    rng = np.random.default_rng(0)
    lines = ["name,file,rows,n_numeric,n_categorical,n_classes,majority_share,target,in_abellan,note"]
    for name, loader in (("iris", load_iris), ("wine", load_wine)):
        X, y = loader(return_X_y=True)
        columns = {f"x{k}": X[:, k] for k in range(X.shape[1])}
        noise = {f"noise{k}": [f"n{v}" for v in rng.integers(0, 12, y.size)] for k in range(N_NOISE)}
        labels = np.array(["b", "c", "a"])[y]
        pl.DataFrame({**columns, **noise, "kind": labels}).write_parquet(tmp_path / f"{name}.parquet")
        share = np.bincount(y).max() / y.size
        lines.append(f"{name},{name}.parquet,{y.size},{X.shape[1]},{N_NOISE},3,{share:.5f},kind,1,")
    (tmp_path / "catalogue.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def study(folder: Path, **options: object) -> Abellan2017:
    return Abellan2017(Options(data=folder, repetitions=1, n_jobs=1, **options))  # type: ignore[arg-type]


def test_methods_select_by_their_definitions(folder: Path) -> None:
    load = study(folder).data()["iris"]
    X, y = load()
    codes = np.column_stack(
        [MDLPDiscretizer().fit_transform(X.select(pl.selectors.float()), y), X.select(pl.selectors.string())]
    )
    columns = [codes[:, k].tolist() for k in range(codes.shape[1])]
    gains = np.array([information.mutual_information(column, y.tolist()) for column in columns])
    tables = [
        [[sum(v == x and c == label for v, c in zip(column, y, strict=True)) for label in "abc"] for x in set(column)]
        for column in columns
    ]
    imprecise_gains = np.array([imprecise.information_gain(table, 1.0) for table in tables])
    expected = {PLAIN: np.ones(gains.size, dtype=bool), IMPRECISE: imprecise_gains > 1e-9}
    expected |= {name: gains > alpha * np.log(3) for name, alpha in zip(PRECISE, ALPHAS, strict=True)}
    models = study(folder).methods()
    assert list(models) == list(METHODS)
    for name, model in models.items():
        support = clone(model).fit(X, y).selector_.support_
        np.testing.assert_array_equal(support, expected[name])
    assert not expected[PRECISE[-1]].all()


def test_plain_naive_bayes_is_that_of_scikit_learn(folder: Path) -> None:
    X, y = study(folder).data()["wine"]()
    model = study(folder).methods()[PLAIN].fit(X, y)
    codes = model.encoder_.transform(X)
    peer = CategoricalNB(alpha=1.0).fit(codes, y)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(codes), rtol=0, atol=1e-12)


def test_the_document_has_every_table_and_claim(folder: Path, tmp_path: Path) -> None:
    one = study(folder)
    report = one.run(tmp_path / "found.jsonl")
    assert [title for title, _ in report.tables] == ["2 data sets", "Wilcoxon signed-rank tests"]
    main, tests = (table for _, table in report.tables)
    assert [row[0] for row in main.rows] == list(METHODS)
    assert len(tests.rows) == 15
    assert len(report.findings) == 4
    for table in (main, tests):
        assert table.to_markdown() in report.markdown
    assert all(sentence in report.markdown for sentence in report.findings)
    found = compare_many(one.methods(), one.data(), one.protocol, results=tmp_path / "found.jsonl")
    results = Results.of(found)
    assert main.rows[1][1] == f"{100 * results.accuracy[:, 1].mean():.2f}"
    assert float(main.rows[0][4]) == pytest.approx((4 + 13) / 2 + N_NOISE)
    assert float(main.rows[-1][4]) < float(main.rows[0][4])
    lines = list(csv.DictReader(io.StringIO(report.files["abellan2017-means.csv"])))
    assert [(line["data"], line["method"]) for line in lines] == [(d, m) for d in ("iris", "wine") for m in METHODS]
    for line in lines:
        values = found.folds("accuracy", line["data"])[:, METHODS.index(line["method"])]
        assert float(line["accuracy"]) == pytest.approx(values.mean(), abs=1e-6)


def test_results_are_taken_up_again(folder: Path, tmp_path: Path) -> None:
    first = study(folder, only=("iris",)).run(tmp_path / "found.jsonl")
    size = (tmp_path / "found.jsonl").stat().st_size
    again = study(folder, only=("iris",)).run(tmp_path / "found.jsonl")
    assert (tmp_path / "found.jsonl").stat().st_size == size
    assert again.markdown == first.markdown
    assert first.findings == ("One data set is too few to test methods on.",)


def test_options_without_meaning(folder: Path) -> None:
    with pytest.raises(ValueError, match="abellan2017 has no grid of thresholds"):
        study(folder, grid="fine")
    with pytest.raises(ValueError, match="abellan2017 has no data set 'irises'"):
        study(folder, only=("irises",))
    assert Abellan2017(Options(data=folder)).settings == {
        "paper": "abellan2017", "seed": 0, "smoothing": 1.0, "folds": 10, "repeats": 10, "only": (),
    }  # fmt: skip
