"""Data sets without a folder: downloaded through scikit-learn (which a fake stands in for here), or generated."""

from __future__ import annotations

import hashlib
import io
import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn import datasets
from sklearn.datasets import load_iris
from sklearn.utils import Bunch

from bayesieve_lab.data_sets import DataSets
from bayesieve_lab.data_sets.catalogue import PAPERS, read_catalogue


def bunch(columns: dict[str, Any], target: Any) -> Bunch:
    """What fetch_openml gives of numbers (arrays) and categories (lists of text, None where missing)."""
    categories = {
        name: sorted({value for value in cells if value is not None})
        for name, cells in columns.items()
        if isinstance(cells, list)
    }
    coded = [
        [np.nan if value is None else categories[name].index(value) for value in cells] if name in categories else cells
        for name, cells in columns.items()
    ]
    data = np.array(coded, dtype=float).T
    return Bunch(data=data, target=np.asarray(target), feature_names=list(columns), categories=categories)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[int, Any]], None]:
    """Let fetch_openml give these, by OpenML id; an exception is raised."""

    def answer(known: dict[int, Any]) -> None:
        def fetch(*, data_id: int, as_frame: bool, parser: str) -> Any:
            assert (as_frame, parser) == (False, "liac-arff")
            if isinstance(known[data_id], Exception):
                raise known[data_id]
            return known[data_id]

        monkeypatch.setattr(datasets, "fetch_openml", fetch)

    return answer


def iris(rows: int = 150) -> Bunch:
    values, codes = load_iris(return_X_y=True)
    names = np.array(["Iris-setosa", "Iris-versicolor", "Iris-virginica"], dtype=object)
    columns = {f"a{k}": values[:rows, k] for k in range(4)}
    return bunch(columns, names[codes[:rows]])


def refusal(name: str, error: type[Exception] = ValueError) -> str:
    with pytest.raises(error) as caught:
        DataSets().load(name)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(("lab/data-sets.md.", "lab/data-sets.md says.", "?"))
    return message


def test_the_table_of_the_papers_is_sound() -> None:
    papers = read_catalogue(PAPERS)
    assert papers.marks == ("in_boulle", "in_blanquero", "in_abellan")
    assert [len(papers.marked(mark)) for mark in papers.marks] == [38, 10, 52]
    numbers = []
    for entry in papers.entries.values():
        source = entry.cells["source"]
        assert source in ("", "generated") or source.startswith("openml:")
        assert entry.marks
        assert entry.facts.note or source  # where it cannot be had, the note says why
        numbers += source.removeprefix("openml:").split() if source.startswith("openml:") else []
    assert all(number.isdigit() for number in numbers)
    repeated = {number for number in numbers if numbers.count(number) > 1}
    assert repeated == {"20"}  # the pixels, once as numbers among the six views


def test_numbers_categories_and_labels_come_as_declared(serve: Callable) -> None:
    """lymphography has 15 categories and 3 numbers; 81 of its 148 rows are of the largest class."""
    labels = ["metastases"] * 81 + ["malign_lymph"] * 61 + ["fibrosis"] * 4 + ["normal"] * 2
    columns = {f"c{k}": ["no", "yes"] * 74 for k in range(15)} | {f"n{k}": np.arange(148.0) for k in range(3)}
    serve({10: bunch(columns, np.array(labels, dtype=object))})
    features, found = DataSets().load("lymphography")
    assert features.columns == list(columns)
    assert features["c0"].to_list() == ["no", "yes"] * 74
    assert features["n0"].to_list() == list(range(148))
    assert found.tolist() == labels
    again, others = DataSets().load("lymphography")
    assert features.equals(again)
    assert np.array_equal(found, others)


def test_missing_cells_become_nulls_and_are_counted(serve: Callable) -> None:
    """vote has 16 categories, 392 missing cells among 435 x 16, and 267 democrats."""
    labels = np.array(["democrat"] * 267 + ["republican"] * 168, dtype=object)
    columns: dict[str, Any] = {f"v{k}": ["n", "y", "y"] * 145 for k in range(16)}
    columns["v3"] = [None] * 392 + ["n", "y"] * 21 + ["y"]
    serve({56: bunch(columns, labels)})
    features, _ = DataSets().load("vote")
    assert features["v3"].null_count() == 392
    assert features["v3"].to_list()[-3:] == ["n", "y", "y"]
    columns["v3"] = ["n", "y", "y"] * 145
    serve({56: bunch(columns, labels)})
    assert "it has 0.00 % of the cells missing instead of 5.63 %" in refusal("vote")


def test_columns_are_dropped_and_kinds_set_as_the_table_says(serve: Callable) -> None:
    labels = np.array(["absent"] * 150 + ["present"] * 120, dtype=object)
    names = ["chest", "resting_electrocardiographic_results", "thal", *(f"n{k}" for k in range(10))]
    columns: dict[str, Any] = {name: np.arange(270) % 3 + 1.0 for name in names}
    serve({53: bunch(columns, labels)})
    features, _ = DataSets().load("heart_statlog")
    assert features["thal"].dtype == pl.String
    assert features["thal"].to_list()[:3] == ["1", "2", "3"]
    assert features["n0"].dtype == pl.Float64
    renamed = {name.replace("thal", "thallium"): cells for name, cells in columns.items()}
    serve({53: bunch(renamed, labels)})
    assert "has no column 'thal'" in refusal("heart_statlog")

    columns = {"Instance_name": [f"r{k}" for k in range(3190)]} | {f"b{k}": ["A", "C"] * 1595 for k in range(60)}
    serve({46: bunch(columns, np.array(["N"] * 1655 + ["EI"] * 767 + ["IE"] * 768, dtype=object))})
    features, _ = DataSets().load("splice")
    assert features.columns == [f"b{k}" for k in range(60)]


def views(labels: np.ndarray) -> dict[int, Bunch]:
    """The six views of the handwritten digits, each column with its own name but for att1 and so on."""
    found = {}
    for number, width in {12: 216, 14: 76, 16: 64, 18: 6, 20: 240, 22: 47}.items():
        cells: Any = [str(k % 7) for k in range(2000)] if number == 20 else np.arange(2000.0) + number
        found[number] = bunch({f"att{k}": cells for k in range(width)}, labels)
    return found


def test_views_stand_side_by_side(serve: Callable) -> None:
    labels = np.repeat(np.arange(1, 11).astype(str).astype(object), 200)
    parts = views(labels)
    serve(parts)
    features, found = DataSets().load("mfeat")
    assert features.shape == (2000, 649)
    assert features["att0_1"][5] == 17
    assert features["att0_5"][5] == 5  # a pixel, a category on OpenML
    assert features["att200_1"][5] == 17
    assert np.array_equal(found, labels)
    parts[22].target = labels[::-1]
    assert "different labels" in refusal("mfeat")


def test_sparse_sets_stay_sparse(serve: Callable) -> None:
    labels = np.array([-1.0] * 1038 + [1.0] * 112)
    matrix = sparse.coo_array((np.ones(3), ([0, 5, 9], [3, 99_999, 4])), shape=(1150, 100_000))
    serve({4137: Bunch(data=matrix, target=labels, feature_names=[], categories=None)})
    features, found = DataSets().load("dorothea")
    assert features.format == "csr"
    assert features.nnz == 3
    assert found.dtype == np.int64
    assert set(found.tolist()) == {-1, 1}


def test_another_version_is_refused(serve: Callable) -> None:
    serve({61: iris()})
    assert DataSets().load("iris")[0].shape == (150, 4)
    serve({61: iris(149)})
    message = refusal("iris")
    assert "'iris' on OpenML, number 61, is not the one described: it has 149 rows instead of 150" in message
    assert "give the folder of a copy as --data DIR" in message
    wider = iris()
    wider.data = np.hstack([wider.data, wider.data[:, :1]])
    wider.feature_names.append("again")
    serve({61: wider})
    assert "5 features instead of 4, 5 numeric features instead of 4" in refusal("iris")
    merged = iris()
    merged.target = np.where(merged.target == "Iris-setosa", "a", "b").astype(object)
    serve({61: merged})
    assert "2 classes instead of 3, 66.67 % of the rows in the largest class instead of 33.33 %" in refusal("iris")


def test_the_real_fetch_gives_what_is_expected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """scikit-learn's own reader on a small ARFF file, its network replaced: tae has 3 numbers and 2 categories."""
    service = pytest.importorskip("sklearn.datasets._openml")
    if not hasattr(service, "_open_openml_url"):
        pytest.skip("this scikit-learn asks the network by another name")
    kinds = {"native": "{1,2}", "course": "NUMERIC", "instructor": "NUMERIC", "size": "NUMERIC", "season": "{1,2}"}
    header = [f"@ATTRIBUTE {name} {kind}" for name, kind in (kinds | {"class": "{1,2,3}"}).items()]
    labels = ["1"] * 49 + ["2"] * 50 + ["3"] * 52
    rows = [f"{1 + k % 2},{k},2,3.5,{1 + k % 2},{label}" for k, label in enumerate(labels)]
    arff = "\n".join(["@RELATION tae", *header, "@DATA", *rows]) + "\n"
    described = [
        {
            "index": str(k),
            "name": name,
            "data_type": "nominal" if kind.startswith("{") else "numeric",
            "number_of_missing_values": "0",
            "is_target": str(name == "class").lower(),
            "is_ignore": "false",
            "is_row_identifier": "false",
        }
        for k, (name, kind) in enumerate((kinds | {"class": "{1,2,3}"}).items())
    ]
    description = {
        "id": "48",
        "name": "tae",
        "version": "1",
        "format": "ARFF",
        "file_id": "48",
        "status": "deactivated",
    }
    description |= {
        "url": "https://www.openml.org/data/v1/download/48/tae.arff",
        "default_target_attribute": "class",
        "description": "",
    }

    def answer(url: str, *_: Any, **__: Any) -> io.BytesIO:
        if "features" in url:
            return io.BytesIO(json.dumps({"data_features": {"feature": described}}).encode())
        if "qualities" in url:
            return io.BytesIO(json.dumps({"data_qualities": {"quality": []}}).encode())
        if "download" in url:
            return io.BytesIO(arff.encode())
        checksum = hashlib.md5(arff.encode(), usedforsecurity=False).hexdigest()
        return io.BytesIO(json.dumps({"data_set_description": description | {"md5_checksum": checksum}}).encode())

    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    monkeypatch.setattr(service, "_open_openml_url", answer)
    features, found = DataSets().load("tae")
    assert features.schema == {
        "native": pl.String,
        "course": pl.Float64,
        "instructor": pl.Float64,
        "size": pl.Float64,
        "season": pl.String,
    }
    assert features.row(3) == ("2", 3.0, 2.0, 3.5, "2")
    assert found.tolist() == labels


def test_sets_that_cannot_be_downloaded_say_why() -> None:
    data_sets = DataSets()
    assert "spectf" not in data_sets.names("in_blanquero")
    assert data_sets.missing("in_blanquero") == ("spectf",)
    assert data_sets.facts("spectf").rows == 267
    assert "'spectf' cannot be downloaded (the 267 rows; OpenML's SPECTF (337) has the 349 rows" in refusal("spectf")
    with pytest.raises(ValueError, match=r"There is no data set 'waveform'.*did you mean 'waveform40'"):
        data_sets.load("waveform")


@pytest.mark.parametrize(("name", "first"), [("led", "5056236529"), ("led17", "4962534512"), ("waveform21", None)])
def test_generated_sets_are_as_described_and_the_same_every_time(name: str, first: str | None) -> None:
    data_sets = DataSets()
    features, labels = data_sets.load(name)
    facts = data_sets.facts(name)
    assert features.shape == (facts.rows, facts.n_features)
    assert sum(dtype.is_numeric() for dtype in features.dtypes) == facts.n_numeric
    assert all(isinstance(label, str) for label in labels[:5])
    values, counts = np.unique(labels, return_counts=True)
    assert values.size == facts.n_classes
    assert counts.max() / labels.size == pytest.approx(facts.majority_share, abs=1e-5)
    if first is not None:
        assert "".join(labels[:10]) == first
    again, others = DataSets().load(name)
    assert features.equals(again)
    assert np.array_equal(labels, others)


class ArffError(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (URLError("no route to host"), ConnectionError, "'iris' cannot be downloaded from OpenML (61: "),
        (TimeoutError("timed out"), ConnectionError, "check the network or give the folder of a copy as --data DIR"),
        (ConnectionResetError(), ConnectionError, "'iris' cannot be downloaded from OpenML (61: "),
        (ArffError("Bad format\nin line 3"), ValueError, "cannot be read from OpenML (61: Bad format in line 3)"),
    ],
)
def test_failures_are_one_sentence(serve: Callable, error: Exception, kind: type[Exception], message: str) -> None:
    serve({61: error})
    assert message in refusal("iris", kind)
    for holed, hole in ((np.arange(150.0), np.nan), (iris().target, None)):
        holed[7] = hole
        serve({61: Bunch(**iris() | {"target": holed})})
        assert "61 of OpenML has no label in some rows" in refusal("iris")


def test_the_real_fetch_without_a_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, recwarn: Any) -> None:
    def nowhere(*_: Any, **__: Any) -> None:
        raise socket.gaierror("Name or service not known")

    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    for variable in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.delenv(variable.upper(), raising=False)
    assert "Name or service not known" in refusal("iris", ConnectionError)
    assert not [warning for warning in recwarn if issubclass(warning.category, UserWarning)]
