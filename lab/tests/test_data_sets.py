"""Data sets from a folder: what is loaded, and what is refused in one sentence."""

from __future__ import annotations

import os
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from bayesieve_lab.data_sets import DataFacts, DataSets

HEADER = (
    "name,file,rows,n_numeric,n_categorical,n_classes,majority_share,missing_share,target,in_boulle,in_abellan,note"
)
FRUIT = pl.DataFrame(
    {
        "weight": [120.0, 80.0, None, 150.0],
        "seeds": [5, 1, 4, 6],
        "colour": ["red", None, "green", "red"],
        "fruit": ["apple", "plum", "apple", "apple"],
    }
)
FRUIT_LINE = "fruit,fruit.parquet,4,2,1,2,0.75,0.166667,fruit,1,0,ripe ones only"
WORDS = np.array([[0, 2, 0], [1, 0, 0], [0, 0, 3], [0, 0, 0]])
WORDS_LINE = "words,words.npz,4,3,0,2,0.5,0,class,1,1,"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    FRUIT.write_parquet(tmp_path / "fruit.parquet")
    sparse.save_npz(tmp_path / "words.npz", sparse.csr_matrix(WORDS))
    (tmp_path / "words_labels.csv").write_text("class\n1\n-1\n1\n-1\n")
    catalogue(tmp_path, FRUIT_LINE, WORDS_LINE)
    return tmp_path


def catalogue(folder: Path, *lines: str, header: str = HEADER) -> None:
    (folder / "catalogue.csv").write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")


def refusal(folder: Path, name: str, error: type[Exception] = ValueError) -> str:
    with pytest.raises(error) as caught:
        DataSets(folder).load(name)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith((".", "?"))
    return message


def test_names_follow_the_marks_and_facts_the_line(folder: Path) -> None:
    data_sets = DataSets(str(folder))
    assert data_sets.names("in_boulle") == ("fruit", "words")
    assert data_sets.names("in_abellan") == ("words",)
    assert data_sets.facts("fruit") == DataFacts(4, 2, 1, 2, 0.75, 0.166667, "ripe ones only")
    assert data_sets.facts("fruit").n_features == 3
    with pytest.raises(
        ValueError, match=r"no column 'in_gidofalvi' that marks data sets; it has in_boulle, in_abellan"
    ):
        data_sets.names("in_gidofalvi")


def test_sets_of_a_paper_that_are_not_there_are_known(folder: Path) -> None:
    catalogue(folder, FRUIT_LINE.replace("fruit,", "iris,", 1))
    absent = DataSets(folder).missing("in_boulle")
    assert "iris" not in absent
    assert {"adult", "ada", "dorothea"} <= set(absent)


def test_marks_note_and_missing_share_may_be_left_out(folder: Path) -> None:
    catalogue(
        folder,
        "fruit,fruit.parquet,4,2,1,2,0.75,fruit",
        header="name,file,rows,n_numeric,n_categorical,n_classes,majority_share,target",
    )
    data_sets = DataSets(folder)
    assert data_sets.facts("fruit").missing_share is None
    assert data_sets.load("fruit")[1].size == 4
    with pytest.raises(ValueError, match='columns of marks have names such as "in_boulle"'):
        data_sets.names("in_boulle")


class Trap:
    """Leaves a file behind where it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return (open, (self.path, "w"))


def test_pickles_in_matrices_are_never_run(folder: Path, tmp_path: Path) -> None:
    sprung = tmp_path / "sprung"
    trap = np.empty(1, dtype=object)
    trap[0] = Trap(str(sprung))
    parts = {"format": b"csr", "shape": (4, 3), "indices": [0], "indptr": [0, 1, 1, 1, 1]}
    np.savez(folder / "words.npz", data=trap, **parts)
    assert "cannot be read as a sparse matrix by rows" in refusal(folder, "words")
    (folder / "words.npz").write_bytes(pickle.dumps(Trap(str(sprung))))
    assert "cannot be read as a sparse matrix by rows" in refusal(folder, "words")
    assert not sprung.exists()


@pytest.mark.skipif("BAYESIEVE_DATA" not in os.environ, reason="BAYESIEVE_DATA names no folder of data sets")
def test_every_set_of_a_real_folder_is_as_described() -> None:
    folder = Path(os.environ["BAYESIEVE_DATA"])
    data_sets = DataSets(folder)
    names = pl.read_csv(folder / "catalogue.csv", infer_schema=False)["name"]
    for name in names:
        features, labels = data_sets.load(name)
        assert features.shape[0] == labels.size == data_sets.facts(name).rows
        assert features.shape[1] >= data_sets.facts(name).n_features


def test_tables_and_matrices_are_loaded_without_their_target(folder: Path) -> None:
    features, labels = DataSets(folder).load("fruit")
    assert features.equals(FRUIT.drop("fruit"))
    assert (labels.dtype, labels.tolist()) == (object, ["apple", "plum", "apple", "apple"])
    matrix, numbers = DataSets(folder).load("words")
    assert (matrix.format, numbers.dtype.kind, numbers.tolist()) == ("csr", "i", [1, -1, 1, -1])
    assert np.array_equal(matrix.toarray(), WORDS)
    # A byte order mark, columns in another order, whole numbers as labels, categories, a share to a thousandth.
    line = "fruit,fruit.parquet,4,2,1,4,0.251,,seeds,1,0,"
    text = ",".join(reversed(HEADER.split(","))) + "\n" + ",".join(reversed(line.split(","))) + "\n"
    (folder / "catalogue.csv").write_text(text, encoding="utf-8-sig")
    assert DataSets(folder).load("fruit")[1].dtype == np.int64
    FRUIT.with_columns(pl.col("fruit").cast(pl.Categorical)).write_parquet(folder / "fruit.parquet")
    catalogue(folder, FRUIT_LINE)
    assert DataSets(folder).load("fruit")[1].tolist() == FRUIT["fruit"].to_list()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name,file,rows", "name,file,n", "lacks the column rows; add it"),
        (",file,", ",path,", "lacks the column file; add it"),
        (FRUIT_LINE, "", "lists no data sets"),
        (FRUIT_LINE, f"{FRUIT_LINE}\n{FRUIT_LINE}", "two lines for the data set 'fruit'"),
        (",4,", ",four,", "rows of data set 'fruit' must be a whole number from 0 up, not 'f"),
        ("0.75", "75", "majority_share of data set 'fruit' must be a number from 0 to 1"),
        ("0.75", "nan", "majority_share of data set 'fruit' must be a number from 0 to 1"),
        (",1,0,", ",maybe,0,", "in_boulle of data set 'fruit' must be 0 or 1, not 'maybe'"),
        ("fruit.parquet", "", "the line of data set 'fruit' has no file"),
        (FRUIT_LINE, "fruit", "the line of data set 'fruit' has no file"),
        ("n", "\udcff", "cannot be read as a CSV file in UTF-8"),
        (None, None, "There is no catalogue.csv in "),
    ],
)
def test_catalogues_that_are_wrong_are_refused(folder: Path, old: str | None, new: str, message: str) -> None:
    path = folder / "catalogue.csv"
    if old is None:
        path.unlink()
    else:
        text = f"{HEADER}\n{FRUIT_LINE}\n"
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8", errors="surrogateescape")
    with pytest.raises((ValueError, FileNotFoundError), match=re.escape(message)):
        DataSets(folder)


def test_names_that_are_not_there(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"The folder of data sets .*nowhere is not there; give a folder"):
        DataSets(folder / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"is a file, not a folder"):
        DataSets(folder / "fruit.parquet")
    assert refusal(folder, "Friut").endswith("did you mean 'fruit'?")
    assert refusal(folder, "zebra").endswith("it has fruit, words.")
    for name, file in (("fruit", "fruit.parquet"), ("words", "words_labels.csv")):
        (folder / file).unlink()
        assert file in refusal(folder, name, FileNotFoundError)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (None, "fruit.parquet cannot be read"),
        (FRUIT.drop("fruit"), "has no column 'fruit', which catalogue.csv names as the target"),
        (FRUIT.select("fruit"), "only the target column"),
        (FRUIT.with_columns(fruit=pl.Series(["apple", None, "apple", None])), "has no label in 2 rows of the target"),
        (FRUIT.with_columns(fruit=pl.Series([1.0, float("nan"), 1.0, None])), "has no label in 2 rows of the target"),
        (FRUIT.head(3), "has 3 rows instead of 4, 66.67 % of the rows in the largest class instead of 75.00 %"),
        (FRUIT.with_columns(fruit=pl.Series(["a", "b", "a", "c"])), "has 3 classes instead of 2, 50.00 % of the rows"),
    ],
)
def test_tables_other_than_described_are_refused(folder: Path, table: pl.DataFrame | None, message: str) -> None:
    if table is None:
        (folder / "fruit.parquet").write_bytes(b"PAR1 and then nothing")
    else:
        table.write_parquet(folder / "fruit.parquet")
    assert message in refusal(folder, "fruit")
    catalogue(folder, FRUIT_LINE.replace("0.75", "0.7511"))
    FRUIT.write_parquet(folder / "fruit.parquet")
    assert "75.00 % of the rows in the largest class instead of 75.11 %" in refusal(folder, "fruit")


PARTS = {"format": b"csr", "shape": (4, 3), "data": [1.0], "indices": [0], "indptr": [0, 1, 1, 1, 1]}


@pytest.mark.parametrize(
    "change",
    [
        {"format": b"coo"},
        {"indices": [7]},
        {"indices": [-1]},
        {"indptr": [0, 9, 9, 9, 9]},
        {"indptr": [0, 1]},
        {"shape": (4,)},
        {"data": ["text"]},
        b"",
        b"PK\x03\x04 and then nothing",
        b"anything",
    ],
)
def test_matrices_that_do_not_hold_together_are_refused(folder: Path, change: Any) -> None:
    np.savez(folder / "words.npz", **PARTS)
    assert DataSets(folder).load("words")[0].nnz == 1
    if isinstance(change, bytes):
        (folder / "words.npz").write_bytes(change)
    else:
        np.savez(folder / "words.npz", **PARTS | change)
    assert "cannot be read as a sparse matrix by rows" in refusal(folder, "words")
    np.savez(folder / "words.npz", **PARTS)
    (folder / "words_labels.csv").write_text("class\n1\n-1\n1\n")
    assert "has 3 labels, but words.npz has 4 rows" in refusal(folder, "words")
    (folder / "words_labels.csv").write_text("klass\n1\n-1\n1\n1\n")
    assert "words_labels.csv has no column 'class'" in refusal(folder, "words")
