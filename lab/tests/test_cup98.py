"""The files of the KDD Cup 1998: small ones of the same form are joined, cleaned and typed, damaged ones refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bayesieve_lab.data_sets.cup98 import ANSWERS, LEARNING, VALIDATION, Facts, has_cup98, read_cup98

FACTS = Facts(4, 3, 23)  # 25 dollars of one donor, three letters


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of the form of the cup's: fields padded with blanks, periods, other orders of rows and columns."""
    (tmp_path / LEARNING).write_text(
        "ODATEDW,ZIP,TCODE,AGE,AVGGIFT,GENDER,MAILCODE,TARGET_B,TARGET_D,CONTROLN,RFA_2F\n"
        "8901,61081,0, ,7.74,F,    ,0,0,95515,4\n"
        "9401,91326-,1,46,15.66,M,B,1,4.5,148535,2\n"
        "9001,27017-,1,.,7.48, ,    ,0,0,15078,4\n"
        "8701,95953,028,70,6.81,F,    ,1,200,172556,4\n"
    )
    (tmp_path / VALIDATION).write_text(
        "ODATEDW,ZIP,TCODE,AGE,AVGGIFT,MAILCODE,GENDER,CONTROLN,RFA_2F\n"
        "9701,60090,1,62,5,    ,M,7,1\n"
        "9601,60091, ,.,6.5,    ,F,12,3\n"
        "9501,,1,33,7,    ,,9,2\n"
    )
    (tmp_path / ANSWERS).write_text("CONTROLN,TARGET_B,TARGET_D\n9,0,0\n7,0,0\n12,1,25\n")
    return tmp_path


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def refusal(folder: Path, error: type[Exception] = ValueError) -> str:
    with pytest.raises(error) as caught:
        read_cup98(folder, FACTS)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


def test_rows_are_joined_cleaned_and_typed(folder: Path) -> None:
    table, amounts = read_cup98(folder, FACTS)
    assert amounts.tolist() == [0, 4.5, 0, 200, 0, 25, 0]
    assert table.columns == ["ODATEDW", "ZIP", "TCODE", "AGE", "AVGGIFT", "GENDER", "MAILCODE", "RFA_2F"]
    assert table["ODATEDW"].to_list() == [8901, 9401, 9001, 8701, 9701, 9601, 9501]
    assert table["ZIP"].to_list() == ["61081", "91326", "27017", "95953", "60090", "60091", None]
    assert table["TCODE"].to_list() == ["0", "1", "1", "028", "1", None, "1"]
    assert table["AGE"].to_list() == [None, 46, None, 70, 62, None, 33]
    assert table["GENDER"].to_list() == ["F", "M", None, "F", "M", "F", None]
    assert table["MAILCODE"].to_list() == [None, "B", None, None, None, None, None]
    kinds = [column.dtype for column in table]
    assert kinds == [pl.Int32, pl.String, pl.String, pl.Int32, pl.Float64, pl.String, pl.String, pl.Int32]
    assert amounts.dtype == np.float64


@pytest.mark.parametrize("name", [LEARNING, VALIDATION, ANSWERS])
def test_missing_files_and_columns_are_named(folder: Path, name: str) -> None:
    assert has_cup98(folder)
    change(folder / name, "CONTROLN", "CONTROL")
    assert f"{folder / name} has no column 'CONTROLN'" in refusal(folder)
    (folder / name).unlink()
    message = refusal(folder, FileNotFoundError)
    assert message.startswith(f"There is no file {folder / name}; ")
    assert "UCI" in message
    assert has_cup98(folder)  # the others are there
    assert not has_cup98(None)
    assert not has_cup98(folder / "no folder")


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (ANSWERS, "12,1,25", "12,1,26", "a letter to all of the latter makes $24, instead of 4, 3 and $23"),
        (ANSWERS, "12,1,25", "12,0,25", "TARGET_D must be positive where TARGET_B is 1"),
        (ANSWERS, "12,1,25", "13,1,25", "lacks numbers in TARGET_B or TARGET_D of some rows"),
        (ANSWERS, "12,1,25", "9,1,25", "CONTROLN is missing or not unique"),
        (LEARNING, "1,4.5", "1,x", "lacks numbers in TARGET_B or TARGET_D"),
        (LEARNING, "172556", "95515", "CONTROLN is missing or not unique"),
        (VALIDATION, "AVGGIFT", "AVG", "has no column 'AVGGIFT'"),
        (VALIDATION, "9701,60090,1,62,5,    ,M,7,1\n", "", "4 training and 2 test rows"),
        (VALIDATION, "7,1\n", "7,1,1,1,1\n", "cannot be read as comma-separated values"),
    ],
)
def test_other_files_are_refused(folder: Path, name: str, old: str, new: str, message: str) -> None:
    change(folder / name, old, new)
    assert message in refusal(folder)
