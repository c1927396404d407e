"""The study of Abellan & Castellano (2017): its methods, its coding, its document."""

from __future__ import annotations

import csv
import io
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import entropy
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.naive_bayes import CategoricalNB

from bayesieve import MDLPDiscretizer
from bayesieve_lab import Options
from bayesieve_lab.abellan2017.study import (
    ALPHAS,
    EXAMPLE_2,
    IMPRECISE,
    METHODS,
    OUTER,
    PLAIN,
    PRECISE,
    TABLE_1,
    TOO_HIGH,
    TOO_LOW,
    Abellan2017,
    Results,
    imputed,
)
from bayesieve_lab.abellan2017.weka_nb import WekaNB, declare
from bayesieve_lab.comparison.comparing import compare_many
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
    of_observed = study(folder, grid="observed")
    X, y = of_observed.data()["iris"]()
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
    in_bits = gains / np.log(2)
    expected |= {
        name: in_bits > alpha * np.log(3)
        for name, alpha in zip((*PRECISE, TOO_LOW, TOO_HIGH), (*ALPHAS, *OUTER), strict=True)
    }
    models = of_observed.methods()
    assert list(models) == [*METHODS, TOO_LOW, TOO_HIGH]
    for name, model in models.items():
        support = clone(model).fit(X, y).selector_.support_
        np.testing.assert_array_equal(support, expected[name])
    assert not expected[PRECISE[-1]].all()
    X, y = study(folder).data()["iris"]()  # every state occurs, and no value is missing
    for name, weka in study(folder).methods().items():
        np.testing.assert_array_equal(clone(weka).fit(X, y).support_, expected[name])


def test_the_smallest_threshold_agrees_with_example_2() -> None:
    """Anneal has six classes; the paper's smallest threshold keeps `lustre` and drops `exptl`, whose gains we know."""
    lustre, exptl = map(float, EXAMPLE_2)
    assert exptl / np.log(2) < ALPHAS[0] * np.log(6) <= lustre / np.log(2)


def test_gains_are_those_that_the_filters_compare(folder: Path) -> None:
    X, y = study(folder).data()["iris"]()
    gains = WekaNB().gains(X, y)
    in_bits = np.array([gain / np.log(2) for gain, _ in gains.values()])
    assert (np.diff(in_bits) <= 0).all()
    for select, kept in (
        ("imprecise", sum(other > 1e-9 for _, other in gains.values())),
        (0.1, int(np.sum(in_bits >= 0.1 * np.log(3)))),
    ):
        assert WekaNB(select).fit(X, y).n_features_selected_ == kept  # type: ignore[arg-type]
    assert TABLE_1["gain"].is_sorted(descending=True)


def test_weka_counts_declared_states() -> None:
    X = pl.DataFrame(
        {"a": ["u", "u", "v", None, "v", "u"], "b": [None, "p", "q", "q", "p", "q"], "n": [1.0, 2, 3, 4, 5, 6]}
    )
    y = np.array(["no", "yes", "no", "yes", "yes", "no"])
    table = declare(X, y, {"a": ["u", "v", "w"], "t": ["yes", "no", "maybe"]}, "t")
    model = WekaNB().fit(table, y)
    new = declare(pl.DataFrame({"a": ["w", "u"], "b": ["q", None], "n": [1.0, 9.0]}), y, {"a": ["u", "v", "w"]}, "t")
    # Three of each class; a: no u 2 of 3, yes u 1 of 2; b: no q 2 of 2, yes q 1 and p 2; n is in one interval.
    priors = [(3 + 1) / (6 + 3)] * 2
    w = [(0 + 1) / (3 + 3), (0 + 1) / (2 + 3)]
    u = [(2 + 1) / (3 + 3), (1 + 1) / (2 + 3)]
    q = [(2 + 1) / (2 + 2), (1 + 1) / (3 + 2)]
    n = [(3 + 1) / (3 + 1)] * 2
    joint = np.array([np.prod([priors, w, q, n], axis=0), np.prod([priors, u, n], axis=0)])
    np.testing.assert_allclose(model.predict_proba(new), joint / joint.sum(axis=1, keepdims=True), rtol=1e-12)
    assert model.classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("spread", [True, False])
def test_wekas_filters(spread: bool) -> None:
    rng = np.random.default_rng(0)
    y, columns = rng.integers(0, 2, 60), {}
    for k in range(8):  # from noise to copies of the class, a fifth of the values missing
        states = np.where(rng.random(60) < 0.1 * k, y, rng.integers(0, 3 + k, 60))
        columns[f"x{k}"] = [None if rng.random() < 0.2 else f"v{state}" for state in states.tolist()]
    table = declare(pl.DataFrame(columns), y, {"t": ["0", "1", "2", "3"]}, "t")
    gains, imprecise_gains = [], []
    for column in columns.values():
        cells = Counter(zip(column, y.tolist(), strict=True))
        counts = np.array([[cells[state, j] for j in range(2)] for state in sorted({*column} - {None})], dtype=float)
        missing = np.array([cells[None, j] for j in range(2)]) if spread else np.zeros(2)
        counts += np.outer(counts.sum(axis=1) / counts.sum(), missing)
        imprecise_gains.append(imprecise.information_gain([[*line, 0, 0] for line in counts.tolist()], 1.0))
        of_states = counts.sum(axis=1) / counts.sum() @ [entropy(line) for line in counts]
        gains.append(entropy(counts.sum(axis=0)) - of_states)
    selected = WekaNB("imprecise", spread=spread).fit(table, y).support_
    assert selected.tolist() == [gain > 0 for gain in imprecise_gains]
    assert 0 < selected.sum() < 8
    middle = float(np.median(gains))
    selected = WekaNB(middle / np.log(2) / np.log(4), spread=spread).fit(table, y).support_
    assert selected.tolist() == [gain > middle for gain in gains]


def test_a_column_of_missing_values_adds_nothing() -> None:
    X = pl.DataFrame(
        {"a": ["u", "v"] * 10, "b": [None] * 20, "n": [None] * 20}, schema_overrides={"b": pl.String, "n": pl.Float64}
    )
    y = np.array(["no", "yes"] * 10)
    whole, part = declare(X, y, {}, "t"), declare(X.select("a"), y, {}, "t")
    expected = WekaNB().fit(part, y).predict_proba(part)
    np.testing.assert_allclose(WekaNB().fit(whole, y).predict_proba(whole), expected)
    assert WekaNB("imprecise").fit(whole, y).support_.tolist() == [True, False, False]


def test_missing_values_are_replaced_by_means_and_modes() -> None:
    X = imputed(pl.DataFrame({"n": [1.0, None, 3.0], "c": ["b", "a", None], "none": [None] * 3}))
    assert X.to_dict(as_series=False) == {"n": [1.0, 2.0, 3.0], "c": ["b", "a", "a"], "none": [None] * 3}


def test_plain_naive_bayes_is_that_of_scikit_learn(folder: Path) -> None:
    X, y = study(folder, grid="observed").data()["wine"]()
    model = study(folder, grid="observed").methods()[PLAIN].fit(X, y)
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
    assert len(report.findings) == 7
    for table in (main, tests):
        assert table.to_markdown() in report.markdown
    assert all(sentence.rpartition(":")[0] in report.markdown for sentence in report.findings)
    found = compare_many(one.methods(), one.data(), one.protocol, results=tmp_path / "found.jsonl")
    results = Results.of(found)
    assert main.rows[1][1] == f"{100 * results.accuracy[:, 1].mean():.2f}"
    assert float(main.rows[0][4]) == pytest.approx((4 + 13) / 2 + N_NOISE)
    assert float(main.rows[-1][4]) < float(main.rows[0][4])
    lines = list(csv.DictReader(io.StringIO(report.files["abellan2017-means.csv"])))
    assert [(line["data"], line["method"]) for line in lines] == list(product(("iris", "wine"), one.methods()))
    for line in lines:
        values = found.folds("accuracy", line["data"])[:, found.methods.index(line["method"])]
        assert float(line["accuracy"]) == pytest.approx(values.mean(), abs=1e-6)
    low, high = (found.methods.index(name) for name in (TOO_LOW, TOO_HIGH))
    wide = [found.folds("n_features", name) for name in ("iris", "wine")]
    whole = sum(bool((n[:, low] == n[:, 0]).all()) for n in wide)
    assert one.judged(found)[5].checks[0].ours == f"all features on {whole}"
    assert all((n[:, high] <= n[:, low]).all() for n in wide)


def test_results_are_taken_up_again(folder: Path, tmp_path: Path) -> None:
    first = study(folder, only=("iris",)).run(tmp_path / "found.jsonl")
    size = (tmp_path / "found.jsonl").stat().st_size
    again = study(folder, only=("iris",)).run(tmp_path / "found.jsonl")
    assert (tmp_path / "found.jsonl").stat().st_size == size
    assert again.markdown == first.markdown
    assert first.findings == ("One data set is too few to test methods on.",)
