"""Data of the campaigns: random halves of donors, or the rows of the KDD Cup 1998, and the paper's numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bayesieve.table.frames import take_rows
from bayesieve_lab.data_sets import DataSets
from bayesieve_lab.data_sets.cup98 import AMOUNT, PUBLISHED, has_cup98, read_cup98
from bayesieve_lab.simulate import donations
from bayesieve_lab.simulate.donations import N_FEATURES, N_ROWS

QUICK = (15_000, 100)
"""Numbers of training rows and features of simulated donors in a quick trial."""
RESPONSE = 0.05
"""Share of the letters that were answered."""
N_PVA = 9686
SIMULATED, BALANCED, CUP = "donations", "pva97nk", "cup98"

Rows = tuple[pl.DataFrame, np.ndarray]
"""Table with the dollars given in the column `AMOUNT`, and who gave (0 or 1), (n_rows,)."""


@dataclass(frozen=True)
class Campaign:
    """Donors, divided into training and test rows.

    Attributes
    ----------
    name, title : name in results, and title in the report.
    n_train : number of training rows, which come first.
    draw : function from the number of a repetition to its rows, the training rows first.
    gifts : columns from which the amount of a gift is estimated.
    chosen : seven columns selected by hand.
    response : share of the population that gives, or None if the rows are a random sample.
    repeats : whether repetitions have different rows.
    """

    name: str
    title: str
    n_train: int
    draw: Callable[[int], Rows]
    gifts: tuple[str, ...]
    chosen: tuple[str, ...]
    response: float | None = None
    repeats: bool = True

    def names(self, repetitions: int) -> tuple[str, ...]:
        """Return the names of the repetitions in the results, such as "donations, draw 1"."""
        return tuple(f"{self.name}, draw {k + 1}" for k in range(repetitions if self.repeats else 1))


def campaigns(folder: Path | None, seed: int, *, quick: bool = False) -> dict[str, Campaign]:
    """Return the campaigns by name: of simulated donors, and of those whose files are in the folder.

    ``seed`` is that of the simulation and of random halves; ``quick`` simulates few donors.
    """
    n_rows, n_features = QUICK if quick else (N_ROWS, N_FEATURES)
    campaign = Campaign(
        SIMULATED,
        f"Simulated donors ({n_rows:,} for training, as many for the test, {n_features} features)",
        n_rows,
        partial(_simulated, seed, n_rows, n_features),
        gifts=("last_gift", "average_gift"),
        chosen=(
            *("income", "months_since_first", "months_since_last", "gifts_a_year"),
            *("frequency", "amount_class", "star"),
        ),
    )
    by_name = {campaign.name: campaign}
    if folder is not None and (folder / "catalogue.csv").is_file() and (folder / f"{BALANCED}.parquet").is_file():
        by_name[BALANCED] = balanced(folder, seed)
    if has_cup98(folder):
        by_name[CUP] = Campaign(
            CUP,
            f"KDD Cup 1998 ({PUBLISHED.n_train:,} donors for training, {PUBLISHED.n_test:,} for the test)",
            PUBLISHED.n_train,
            lambda _: _with_amounts(*read_cup98(folder)),  # type: ignore[arg-type]
            gifts=("LASTGIFT", "AVGGIFT"),
            chosen=("INCOME", "FISTDATE", "LASTDATE", "NGIFTALL", "RFA_2F", "RFA_2A", "PEPSTRFL"),
            repeats=False,
        )
    return by_name


def balanced(folder: Path | None, seed: int) -> Campaign:
    """Return the campaign with random halves of pva97nk; its rows cannot be drawn without a folder."""
    return Campaign(
        BALANCED,
        f"pva97nk (half of {N_PVA:,} donors for training, half for the test, 25 features)",
        N_PVA // 2,
        partial(_halves, folder, seed),
        gifts=("GiftAvgLast", "GiftAvgAll"),
        chosen=(
            *("GiftTimeFirst", "GiftTimeLast", "GiftCntAll", "GiftCnt36", "GiftAvg36"),
            *("StatusCatStarAll", "DemMedIncome"),
        ),
        response=RESPONSE,
    )


def _simulated(seed: int, n_rows: int, n_features: int, number: int) -> Rows:
    """Return the simulated donors of repetition ``number``: ``n_rows`` training rows, then as many test rows.

    They have ``n_features`` columns, the dollars given, and who gave; ``seed`` is that of all repetitions.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
    return _with_amounts(*donations(2 * n_rows, n_features, response=RESPONSE, random_state=rng))


def _halves(folder: Path | None, seed: int, number: int) -> Rows:
    """Return the donors of pva97nk in repetition ``number``: a random half as training rows, then the other half.

    Both have the same number of donors who gave. ``folder`` is that of the data sets, ``seed`` that of all repetitions.
    """
    table, _ = DataSets(folder).load(BALANCED)
    amounts = table["TargetD"].fill_null(0.0).to_numpy()
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
    halves: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for gave in (False, True):
        rows = rng.permutation(np.flatnonzero((amounts > 0) == gave))
        for half, part in zip(halves, (rows[: rows.size // 2], rows[rows.size // 2 :]), strict=True):
            half.append(part)
    order = np.concatenate([rng.permutation(np.concatenate(half)) for half in halves])
    return _with_amounts(take_rows(table.drop("TargetD"), order), amounts[order])


def _with_amounts(table: Any, amounts: np.ndarray) -> Rows:
    """Return the table with a further column of the dollars given, and an array (n_rows,) that is 1 for donors who
    gave.

    ``amounts`` (n_rows,) are the dollars given; the array is 0 for other donors.
    """
    return table.with_columns(pl.Series(AMOUNT, amounts)), (amounts > 0).astype(np.int64)
