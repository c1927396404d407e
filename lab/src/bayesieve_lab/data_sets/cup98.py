"""Reader of the donors of the KDD Cup 1998, from the files of the UCI archive."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

LEARNING, VALIDATION, ANSWERS = "cup98LRN.txt", "cup98VAL.txt", "valtargt.txt"
KEY, RESPONSE, AMOUNT = "CONTROLN", "TARGET_B", "TARGET_D"
LETTER = 0.68
"""Cost of a letter in dollars."""
CODES = ("TCODE", "CLUSTER", "CLUSTER2", "MSA", "ADI", "DMA", "LIFESRC")
"""Columns whose numbers are codes of groups, according to the data dictionary."""


@dataclass(frozen=True)
class Facts:
    """Facts by which the files of the cup are recognized.

    Attributes
    ----------
    n_train, n_test : number of training and test rows.
    profit : profit in whole dollars if every donor of the test set gets a letter.
    """

    n_train: int
    n_test: int
    profit: int


PUBLISHED = Facts(95_412, 96_367, 10_560)


def has_cup98(folder: Path | None) -> bool:
    """Return whether a folder has one of the files of the cup; it should then have all of them."""
    return folder is not None and any((folder / name).is_file() for name in (LEARNING, VALIDATION, ANSWERS))


def read_cup98(folder: str | Path, facts: Facts = PUBLISHED) -> tuple[Any, np.ndarray]:
    """Read cup98LRN.txt, cup98VAL.txt and valtargt.txt, and join them by CONTROLN.

    Spaces around values are removed; blanks, and periods in columns of numbers, are missing values. A column is numeric
    if all of its values are numbers, except columns of codes (`CODES`).

    Parameters
    ----------
    folder : the folder of the three files.
    facts : expected numbers of rows and profit.

    Returns
    -------
    table : polars.DataFrame, shape (n_train + n_test, 478)
        The training rows, then the test rows, without CONTROLN, TARGET_B and TARGET_D.
    amounts : float64 array, shape (n_train + n_test,)
        Dollars given; 0 for persons who did not give.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a file cannot be read, or the files differ from those of the cup in the number of rows, or in the profit if
        all get a letter.

    References
    ----------
    Bay (2000), UCI KDD archive, kddcup98.
    """
    folder = Path(folder)
    learning, validation, answers = (_read(folder / name) for name in (LEARNING, VALIDATION, ANSWERS))
    for name, frame, needed in (
        (LEARNING, learning, (KEY, RESPONSE, AMOUNT)),
        (VALIDATION, validation, (KEY,)),
        (ANSWERS, answers, (KEY, RESPONSE, AMOUNT)),
    ):
        _check_columns(folder / name, frame, needed)
        if frame[KEY].null_count() or frame[KEY].is_duplicated().any():
            raise ValueError(f"{folder / name}: {KEY} is missing or not unique in some rows; get the file again.")
    names = [name for name in learning.columns if name not in (KEY, RESPONSE, AMOUNT)]
    _check_columns(folder / VALIDATION, validation, names)
    joined = validation.select(KEY, *names).join(
        answers.select(KEY, RESPONSE, AMOUNT), on=KEY, how="left", maintain_order="left"
    )
    amounts = np.concatenate([_amounts(learning, folder / LEARNING), _amounts(joined, folder / ANSWERS)])
    n_train = learning.height
    profit = float((amounts[n_train:] - LETTER).sum())
    actual = Facts(n_train, validation.height, round(profit))
    if actual != facts:
        raise ValueError(
            f"The files in {folder} are not those of the KDD Cup 1998: they have {actual.n_train} training and "
            f"{actual.n_test} test rows, and a letter to all of the latter makes ${actual.profit}, instead of "
            f"{facts.n_train}, {facts.n_test} and ${facts.profit}; get them again from the UCI KDD archive."
        )
    both = pl.concat([learning.select(names), joined.select(names)])
    return both.select(_typed(column) for column in both), amounts


def _read(path: Path) -> pl.DataFrame:
    """Return a file as a dataframe of texts without surrounding spaces; blank values are null."""
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no file {path}; the KDD Cup 1998 data are {LEARNING}, {VALIDATION} and {ANSWERS}, unpacked from "
            "the UCI KDD archive (kddcup98)."
        )
    try:
        frame = pl.read_csv(path, infer_schema=False, encoding="utf8-lossy")
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{path} cannot be read as comma-separated values ({reason}); get the file again.") from error
    text = pl.all().str.strip_chars()
    return frame.select(pl.when(text != "").then(text).name.keep())


def _check_columns(path: Path, frame: pl.DataFrame, needed: Any) -> None:
    """Raise ValueError, which names the file, if a frame lacks one of the columns ``needed``."""
    absent = [name for name in needed if name not in frame.columns]
    if absent:
        raise ValueError(f"{path} has no column {absent[0]!r}; its first line must hold the names of the cup's fields.")


def _amounts(frame: pl.DataFrame, path: Path) -> np.ndarray:
    """Return the dollars given by each person in a file, (n_rows,).

    ``frame`` is the content of the file ``path``. A ValueError is raised unless amounts are positive for those who
    gave, and 0 for the others.
    """
    gave, amount = (frame[name].cast(pl.Float64, strict=False) for name in (RESPONSE, AMOUNT))
    if gave.null_count() or amount.null_count():
        raise ValueError(f"{path} lacks numbers in {RESPONSE} or {AMOUNT} of some rows; get the file again.")
    if ((gave != 0) != (amount > 0)).any() or (amount < 0).any():
        raise ValueError(f"{path}: {AMOUNT} must be positive where {RESPONSE} is 1, and 0 elsewhere; get it again.")
    return amount.to_numpy().copy()


def _typed(column: pl.Series) -> pl.Series:
    """Return a column as numbers if all of its values are numbers, otherwise as text."""
    if column.name == "ZIP":
        return column.str.strip_chars_end("-")
    if column.name in CODES:
        return column
    values = column.set(column == ".", None)
    numbers = values.cast(pl.Float64, strict=False)
    if numbers.null_count() > values.null_count() or numbers.null_count() == column.len():
        return column
    whole = bool((numbers.drop_nulls() == numbers.drop_nulls().cast(pl.Int32, strict=False)).all())
    return numbers.cast(pl.Int32 if whole else pl.Float64, strict=False)
