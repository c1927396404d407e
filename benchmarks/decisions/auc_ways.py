"""What each way of counting ordered pairs brings to a search by exact AUC."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np

from bayesieve import CodedTable, WrapperSelector
from bayesieve.criteria import _auc_kernels, auc
from bayesieve.criteria.auc import RowScores
from benchmarks.common.measuring import Report, markdown_table, options
from benchmarks.common.wrapper_tables import categories

_PAIR_SUMS = _auc_kernels.pair_sums


def main() -> None:
    """Search with all ways, and without each of them, in turns."""
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, help="rows (default 20,000; 1,000 with --quick)")
    arguments = parser.parse_args()
    n_rows = arguments.rows or (1_000 if arguments.quick else 20_000)
    n_features, rounds = (12, 1) if arguments.quick else (40, 5)
    report = Report("auc_ways", "What each way of counting pairs brings to a search by AUC", arguments)
    report.add(
        f"{n_features} features, {n_rows:,} rows, forward on the training rows up to all but four features, one core; "
        f"processor time of the whole search, medians of {rounds} in turns. Cells count equal rows together while they "
        "are many; the ladder looks up rows among the sorted others, for features of two levels; slots are a bit map "
        "in place of an order. What is left is sorted, as weighted rows are.\n"
    )
    rows = []
    for n_levels, n_classes, weighted in ((2, 2, False), (5, 2, False), (5, 4, False), (2, 2, True)):
        coded = categories(n_rows, n_features, n_levels, n_classes)
        if weighted:
            coded = coded.with_rows(weights=np.random.default_rng(0).integers(1, 4, n_rows).astype(float))
        rows.append([n_levels, n_classes, "yes" if weighted else "no", *compare(coded, rounds)])
    header = ["levels", "classes", "weights", "all ways, s", *(f"without {name}" for name in WITHOUT)]
    report.add(markdown_table(header, rows))
    report.close()


def compare(coded: CodedTable, rounds: int) -> list[str]:
    """Seconds with all ways, and what a search takes more without each."""
    tasks: dict[str, Callable[[], Any]] = {"all": nullcontext, **WITHOUT}
    paths, seconds = {}, {name: list[float]() for name in tasks}
    for number in range(rounds + 1):  # the first round compiles
        for name, without in tasks.items():
            with without():
                began = time.process_time()
                paths[name] = walk(coded).trace_.to_frame()["criterion"].to_list()
                seconds[name] += [time.process_time() - began] * (number > 0)
    for path in paths.values():
        np.testing.assert_array_equal(path, paths["all"])
    cost = {name: median(runs) for name, runs in seconds.items()}
    return [f"{cost['all']:.2f}", *(f"{cost[name] / cost['all'] - 1.0:+.0%}" for name in WITHOUT)]


def walk(coded: CodedTable) -> WrapperSelector:
    """The path to all but four features."""
    return WrapperSelector(
        "auc", direction="forward", evaluation="train", n_features_to_select=coded.n_features - 4, encoder=None,
        smoothing=1.0, n_jobs=1,
    ).fit_coded(coded)  # fmt: skip


@contextmanager
def _without_slots() -> Iterator[None]:
    def sorted_only(*arguments: Any) -> None:
        if arguments[5] is not None:  # weights of the rows
            _PAIR_SUMS(*arguments)

    with patch.object(_auc_kernels, "pair_sums", sorted_only):
        yield


WITHOUT: dict[str, Callable[[], Any]] = {
    "cells": lambda: patch.object(auc, "_MOST_CELLS", -1.0),
    "ladder": lambda: patch.object(RowScores, "ladder", lambda *_: None),
    "slots": _without_slots,
}


if __name__ == "__main__":
    main()
