"""Tables 1 to 4 of Boulle (2007), and our versions of its data sets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from bayesieve_lab.data_sets import DataFacts

MEASURES = ("accuracy", "auc", "compression_rate")
"""The criteria of section 5.2; `SHORT` has the paper's names."""
SHORT = {"accuracy": "ACC", "auc": "AUC", "compression_rate": "CR"}

METHODS = ("SNB(CMA)", "SNB(BMA)", "SNB(MAP)", "SNB(AUC)", "SNB(ACC)", "NB", "NB(EF)")
"""Methods in the order of the rows of tables 3 and 4."""
REFERENCE = "SNB(CMA)"
OURS = "bayesieve"
"""Name of the default classifier of this package, which is not in the paper."""


@dataclass(frozen=True)
class Cell:
    """Numbers of one method and one criterion in a table of the paper.

    Attributes
    ----------
    mean, rank : mean over the data sets, and average rank of the method.
    wins, losses : data sets on which SNB(CMA) is significantly better and worse than the method, or None.
    """

    mean: float
    rank: float
    wins: int | None = None
    losses: int | None = None


@dataclass(frozen=True, kw_only=True)
class PaperSet(DataFacts):
    """Data set of table 1 or 2: the facts that the paper states, and a note if our version differs.

    Attributes
    ----------
    name : name in the paper.
    ours : name of our version in the catalogue; None if there is none.
    first_rows : number of leading rows of our version that belong to the paper's set; None for all.
    """

    name: str
    ours: str | None
    first_rows: int | None


def _lines(file: str, table: str) -> list[dict[str, Any]]:
    """Return the rows of one of the paper's tables as dictionaries by column.

    ``file`` is the name of a CSV file in this folder, ``table`` the number of the table, such as "3".
    """
    frame = pl.read_csv(Path(__file__).with_name(file), schema_overrides={"table": pl.String})
    return frame.filter(pl.col("table") == table).drop("table").to_dicts()


def _results(table: str) -> dict[str, dict[str, Cell]]:
    """Return the numbers of table "3" or "4" of the paper, by criterion and method."""
    cells: dict[str, dict[str, Cell]] = {}
    for line in _lines("results.csv", table):
        of_criterion, method = cells.setdefault(line.pop("criterion"), {}), line.pop("method")
        of_criterion[method] = Cell(**line)
    return cells


UCI, CHALLENGE = (
    tuple(PaperSet(**line | {"note": line["note"] or ""}) for line in _lines("data_sets.csv", table)) for table in "12"
)
"""Data sets of table 1 and of table 2."""
TABLE_3, TABLE_4 = _results("3"), _results("4")
"""Results by criterion and method: table 3 on the 30 data sets of table 1, table 4 on the 10 of table 2."""

ONCE = ("SNB(CMA), once", "SNB(BMA), once")
UNTIL_DECAY, WHILE_RISING = "SNB(ACC), until decay", "SNB(ACC), while rising"
VARIANTS = (*ONCE, UNTIL_DECAY, WHILE_RISING)
"""Variants for other readings of the paper: each model counts once in an average, however often it is evaluated;
SNB(ACC) ends when the training accuracy falls, with all features up to there, or when it does not rise (section 3.5).
"""

BY_OURS = {one.ours: one for one in (*UCI, *CHALLENGE) if one.ours is not None}
"""Data sets of the paper by our names."""
