"""Data sets from a folder: what is loaded, and what is refused in one sentence."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from bayesieve_studies.data_sets import DataFacts, DataSets

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


def test_tables_are_loaded_without_their_target(folder: Path) -> None:
    features, labels = DataSets(folder).load("fruit")
    assert features.equals(FRUIT.drop("fruit"))
    assert labels.dtype == object
    assert labels.tolist() == ["apple", "plum", "apple", "apple"]


def test_sparse_sets_are_loaded_as_rows_of_a_matrix(folder: Path) -> None:
    features, labels = DataSets(folder).load("words")
    assert features.format == "csr"
    assert np.array_equal(features.toarray(), WORDS)
    assert labels.dtype.kind == "i"
    assert labels.tolist() == [1, -1, 1, -1]


def test_whole_numbers_stay_labels_of_whole_numbers_and_categories_become_text(folder: Path) -> None:
    catalogue(folder, "fruit,fruit.parquet,4,2,1,4,0.25,,seeds,1,0,")
    assert DataSets(folder).load("fruit")[1].dtype == np.int64
    FRUIT.with_columns(pl.col("fruit").cast(pl.Categorical)).write_parquet(folder / "fruit.parquet")
    catalogue(folder, FRUIT_LINE)
    assert DataSets(folder).load("fruit")[1].tolist() == FRUIT["fruit"].to_list()


def test_loading_twice_gives_the_same(folder: Path) -> None:
    (one, labels), (other, others) = DataSets(folder).load("fruit"), DataSets(folder).load("fruit")
    assert one.equals(other)
    assert np.array_equal(labels, others)


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


def test_a_byte_order_mark_and_columns_in_another_order_are_no_matter(folder: Path) -> None:
    columns, cells = HEADER.split(","), FRUIT_LINE.split(",")
    text = ",".join(reversed(columns)) + "\n" + ",".join(reversed(cells)) + "\n"
    (folder / "catalogue.csv").write_text(text, encoding="utf-8-sig")
    assert DataSets(folder).load("fruit")[0].shape == (4, 3)


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


def test_a_folder_or_catalogue_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"The folder of data sets .*nowhere is not there; give a folder"):
        DataSets(folder / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"is a file, not a folder"):
        DataSets(folder / "fruit.parquet")
    (folder / "catalogue.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"There is no catalogue.csv in .*; it lists the data sets there"):
        DataSets(folder)


@pytest.mark.parametrize(
    ("header", "lines", "message"),
    [
        (HEADER.replace("target", "goal").replace("rows", "n"), [FRUIT_LINE], r"lacks the columns target, rows\.$"),
        (HEADER.replace("file", "path"), [FRUIT_LINE], r"lacks the column file\.$"),
        (HEADER, [], r"lists no data sets"),
        (HEADER, [FRUIT_LINE, FRUIT_LINE], r"two lines for the data set 'fruit'"),
        (
            HEADER,
            [FRUIT_LINE.replace(",4,", ",four,")],
            r"rows of data set 'fruit' must be a whole number from 0 up, not 'f",
        ),
        (
            HEADER,
            [FRUIT_LINE.replace("0.75", "75")],
            r"majority_share of data set 'fruit' must be a number from 0 to 1",
        ),
        (
            HEADER,
            [FRUIT_LINE.replace("0.75", "nan")],
            r"majority_share of data set 'fruit' must be a number from 0 to 1",
        ),
        (
            HEADER,
            [FRUIT_LINE.replace(",1,0,", ",maybe,0,")],
            r"in_boulle of data set 'fruit' must be 0 or 1, not 'maybe'",
        ),
        (HEADER, [FRUIT_LINE.replace("fruit.parquet", "")], r"the line of data set 'fruit' has no file"),
        (HEADER, ["fruit"], r"the line of data set 'fruit' has no file"),
    ],
)
def test_a_catalogue_that_is_wrong_is_refused(folder: Path, header: str, lines: list[str], message: str) -> None:
    catalogue(folder, *lines, header=header)
    with pytest.raises(ValueError, match=message):
        DataSets(folder)


def test_a_catalogue_that_is_not_text_is_refused(folder: Path) -> None:
    (folder / "catalogue.csv").write_bytes(b"\xff\xfe\x00name")
    with pytest.raises(ValueError, match="cannot be read as a CSV file in UTF-8"):
        DataSets(folder)


def test_an_unknown_name_gets_the_names_close_to_it(folder: Path) -> None:
    assert "There is no data set 'Friut'" in refusal(folder, "Friut")
    assert refusal(folder, "Friut").endswith("did you mean 'fruit'?")
    assert refusal(folder, "zebra").endswith("it has fruit, words.")


def test_files_that_are_missing_or_damaged_are_named(folder: Path) -> None:
    (folder / "fruit.parquet").write_bytes(b"PAR1 and then nothing")
    assert "fruit.parquet cannot be read" in refusal(folder, "fruit")
    (folder / "fruit.parquet").unlink()
    assert "There is no file" in refusal(folder, "fruit", FileNotFoundError)
    (folder / "words_labels.csv").unlink()
    assert "words_labels.csv" in refusal(folder, "words", FileNotFoundError)


def test_a_target_that_is_missing_is_named(folder: Path) -> None:
    FRUIT.drop("fruit").write_parquet(folder / "fruit.parquet")
    assert "has no column 'fruit', which catalogue.csv names as the target" in refusal(folder, "fruit")
    FRUIT.select("fruit").write_parquet(folder / "fruit.parquet")
    assert "only the target column" in refusal(folder, "fruit")


@pytest.mark.parametrize("labels", [["apple", None, "apple", None], [1.0, float("nan"), 1.0, None]])
def test_missing_labels_are_an_error(folder: Path, labels: list) -> None:
    FRUIT.with_columns(fruit=pl.Series(labels, strict=False)).write_parquet(folder / "fruit.parquet")
    assert "has no label in 2 rows of the target 'fruit'" in refusal(folder, "fruit")


def test_a_table_other_than_described_is_refused(folder: Path) -> None:
    FRUIT.head(3).write_parquet(folder / "fruit.parquet")
    message = refusal(folder, "fruit")
    assert "has 3 rows instead of 4, 66.67 % of the rows in the largest class instead of 75.00 %" in message
    assert message.endswith("correct catalogue.csv or the file.")
    FRUIT.with_columns(fruit=pl.Series(["apple", "plum", "apple", "fig"])).write_parquet(folder / "fruit.parquet")
    assert "has 3 classes instead of 2, 50.00 % of the rows" in refusal(folder, "fruit")


def test_shares_agree_to_a_thousandth(folder: Path) -> None:
    catalogue(folder, FRUIT_LINE.replace("0.75", "0.751"))
    assert DataSets(folder).load("fruit")[1].size == 4
    catalogue(folder, FRUIT_LINE.replace("0.75", "0.7511"))
    assert "75.00 % of the rows in the largest class instead of 75.11 %" in refusal(folder, "fruit")


def test_sparse_labels_of_another_length_are_refused(folder: Path) -> None:
    (folder / "words_labels.csv").write_text("class\n1\n-1\n1\n")
    assert "has 3 labels, but words.npz has 4 rows" in refusal(folder, "words")
    (folder / "words_labels.csv").write_text("klass\n1\n-1\n1\n1\n")
    assert "words_labels.csv has no column 'class'" in refusal(folder, "words")


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
    ],
)
def test_matrices_that_do_not_hold_together_are_refused(folder: Path, change: dict) -> None:
    parts = {"format": b"csr", "shape": (4, 3), "data": [1.0], "indices": [0], "indptr": [0, 1, 1, 1, 1]}
    np.savez(folder / "words.npz", **parts)
    assert DataSets(folder).load("words")[0].nnz == 1
    np.savez(folder / "words.npz", **parts | change)
    assert "cannot be read as a sparse matrix by rows" in refusal(folder, "words")


def test_matrices_that_are_no_archive_are_refused(folder: Path) -> None:
    for content in (b"", b"PK\x03\x04 and then nothing", b"anything"):
        (folder / "words.npz").write_bytes(content)
        assert "cannot be read as a sparse matrix by rows" in refusal(folder, "words")
    np.save(folder / "words.npy", np.zeros(3))
    (folder / "words.npy").rename(folder / "words.npz")
    assert "cannot be read as a sparse matrix by rows" in refusal(folder, "words")


@pytest.mark.skipif("BAYESIEVE_DATA" not in os.environ, reason="BAYESIEVE_DATA names no folder of data sets")
def test_every_set_of_a_real_folder_is_as_described() -> None:
    folder = Path(os.environ["BAYESIEVE_DATA"])
    data_sets = DataSets(folder)
    names = pl.read_csv(folder / "catalogue.csv", infer_schema=False)["name"]
    for name in names:
        features, labels = data_sets.load(name)
        assert features.shape[0] == labels.size == data_sets.facts(name).rows
        assert features.shape[1] >= data_sets.facts(name).n_features
