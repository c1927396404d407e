"""The golden values and the rows behind them; README.md says where they come from and what they mean."""

from __future__ import annotations

import csv
import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

FOLDER = Path(__file__).parent
MODL_TABLES = ("breast_cancer", "german", "glass", "hepatitis", "iris", "splice", "tic_tac_toe", "wine")
SNB_TABLES = ("glass", "heart_statlog", "iris", "tic_tac_toe")
SKLEARN_TABLES = ("breast-cancer", "vote")
WEKA_DISCRETIZED = ("diabetes", "glass", "iris")
WEKA_INFORMATION = ("breast-cancer", "vote", "weather")
IIG_TABLES = ("breast-cancer", "contact-lenses", "vote", "weather")
CFS_TABLES = ("breast-cancer", "vote", "weather")
MRMR_TABLES = ("breast-cancer", "vote")
WRAPPER_TABLES = ("breast-cancer", "vote", "weather")
WRAPPER_PRIORS = ("frequency_prior", "laplace_prior")
WRAPPER_CRITERIA = {
    "error01": "error",
    "error_probability": "error_probability",
    "brier": "brier",
    "nll": "log_loss",
    "auc_loss": "auc",
}
"""Criteria of the golden wrapper paths, and what bayesieve calls them."""
TARGET = "__class__"


@functools.cache
def values(folder: str, name: str) -> dict[str, Any]:
    """The golden values of one table: ``values("modl_exact", "iris")``."""
    return json.loads((FOLDER / folder / f"{name}.json").read_text(encoding="utf-8"))


@functools.cache
def raw_table(name: str) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Header and rows of csv/NAME.csv, as text."""
    with open(FOLDER / "csv" / f"{name}.csv", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return tuple(header), tuple(map(tuple, rows))


def raw_column(name: str, column: str) -> list[str]:
    """One column of csv/NAME.csv as text; the empty string is a missing value."""
    header, rows = raw_table(name)
    position = header.index(column)
    return [row[position] for row in rows]


def target(name: str) -> np.ndarray:
    """The class labels of a table, as text."""
    return np.array(raw_column(name, TARGET))


def class_codes(name: str) -> np.ndarray:
    """The class labels as ranks among the labels sorted as text, which is the order of the golden tables."""
    return np.unique(target(name), return_inverse=True)[1]


def numeric_column(name: str, column: str) -> np.ndarray:
    """A numeric column, NaN where missing."""
    return np.array([float(text) if text else np.nan for text in raw_column(name, column)])


def frame(name: str, kind: str) -> pd.DataFrame:
    """The columns that the golden values treat as "numeric" or as "categorical", missing values included."""
    columns = [column for column, golden in values("modl_exact", name)["variables"].items() if golden["kind"] == kind]
    if kind == "numeric":
        return pd.DataFrame({column: numeric_column(name, column) for column in columns})
    return pd.DataFrame(
        {column: pd.Series([text or None for text in raw_column(name, column)], dtype=object) for column in columns}
    )


@functools.cache
def coded_table(name: str) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Feature names, integer codes and class codes of codes/NAME.csv."""
    with open(FOLDER / "codes" / f"{name}.csv", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    table = np.array(rows, dtype=np.int64)
    return tuple(header[:-1]), table[:, :-1], table[:, -1]


@functools.cache
def snb_codes(name: str) -> np.ndarray:
    """Every column of a table coded by the golden discretization; a column without one has a single level, 0."""
    golden = values("snb_exact", name)
    codes = np.zeros((golden["N"], len(golden["variables"])), dtype=np.int64)
    for k, column in enumerate(golden["variables"]):
        levels = golden["discretization"].get(column)
        if levels is None:
            continue
        if levels["kind"] == "numeric":
            numbers = np.nan_to_num(numeric_column(name, column), nan=-np.inf)
            codes[:, k] = np.searchsorted(levels["cut_points"], numbers, side="left")
        else:
            group_of = {value: g for g, group in enumerate(levels["groups"]) for value in group}
            codes[:, k] = [group_of[text] for text in raw_column(name, column)]
    return codes


@functools.cache
def level_names(name: str) -> dict[str, list[str]]:
    """The names of the levels of each column of codes/NAME.csv, in the order of the codes."""
    return json.loads((FOLDER / "codes" / f"{name}.levels.json").read_text(encoding="utf-8"))


def wrapper_path(name: str, prior: str, criterion: str, direction: str) -> dict[str, Any]:
    """A golden greedy path: ``order``, the ``values`` of the criterion (one more), where a search may stop.

    The criterion has bayesieve's name, direction and scale: "auc" is the area itself, where the file has 1 - area, and
    "brier" half of the sum over both classes, which the file has.
    """
    key = next(theirs for theirs, ours in WRAPPER_CRITERIA.items() if ours == criterion)
    entry = values("wrapper", name)["results"][f"{prior}|{key}|{direction}"]
    scaled = {"auc": lambda value: 1.0 - value, "brier": lambda value: value / 2}.get(criterion, float)
    return {**entry, "values": [scaled(value) for value in entry["criterion"]]}
