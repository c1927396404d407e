"""Feature selection for class probabilities: boosting, squared error and profit on a donation campaign."""

from __future__ import annotations

import argparse
import time
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from bayesieve import BoostedSelector, CodedTable, TableEncoder, WrapperSelector
from bayesieve.criteria import Benefit, Brier
from bayesieve.search import Objective, SearchState, SubsetProblem
from bayesieve_lab.simulate import donations
from benchmarks.common.measuring import Report, markdown_table, options, verdict

ROWS = 95_412
FEATURES = 20
MAILING = Benefit([[0.0, 0.0], [-0.68, -0.68]], amount_benefit=[[0.0, 0.0], [0.0, 1.0]])
TARGETS = {"squared error": 4.0, "boosting": 3.0}


def main() -> None:
    """Searches on coded rows, steps in turns, growth against rows."""
    arguments = options(__doc__).parse_args()
    n_rows, n_features = (3_000, 60) if arguments.quick else (ROWS, 480)
    report = Report("boosted", "Features for class probabilities", arguments)
    report.add(
        "Seconds are CPU seconds of one process, so that other work on the machine does not count; coding is excluded."
    )
    X, gifts = donations(n_rows, n_features, random_state=0)
    begin = time.process_time()
    coded = TableEncoder(n_jobs=1).fit_transform_coded(X, gifts > 0).by_class
    report.add(
        f"\nSimulated donations: {n_rows:,} rows x {n_features} columns, {int((coded.n_levels > 1).sum())} of several "
        f"levels, coded in {time.process_time() - begin:.1f} s.\n"
    )
    whole = CodedTable(coded.codes, np.maximum(coded.n_levels, 2), coded.names, rows=coded.rows)  # none is left out
    whole = whole.with_columns(benefit=gifts_by_class(gifts))
    searches(report, whole, arguments)
    steps(report, whole, arguments)
    growth(report, whole)
    report.close()


def gifts_by_class(gifts: np.ndarray) -> np.ndarray:
    """Gifts, of donors and others the mean gift, in the order of rows listed by class."""
    donors = gifts > 0
    amounts: np.ndarray = np.where(donors, gifts, gifts[donors].mean())[np.argsort(donors, kind="stable")]
    return amounts


def searches(report: Report, coded: CodedTable, arguments: argparse.Namespace) -> None:
    """20 features of all by each way."""
    size = 5 if arguments.quick else FEATURES
    rows, seconds_of = [], {}
    for name, selector in {
        "squared error": WrapperSelector(
            "brier", direction="forward", evaluation="train", n_features_to_select=size, encoder=None, n_jobs=1
        ),
        "boosting": BoostedSelector(None, size, encoder=None),
        "boosting, 20 rounds": BoostedSelector(encoder=None),
        "profit": WrapperSelector(
            MAILING, direction="forward", evaluation="train", n_features_to_select=size, encoder=None, n_jobs=1
        ),
    }.items():
        seconds = min(cpu_seconds(lambda one=selector: one.fit_coded(coded)) for _ in range(2))  # the first compiles
        trace, seconds_of[name] = selector.trace_, seconds
        target = verdict(seconds, TARGETS[name], unit=" s") if name in TARGETS else f"{seconds:.3g} s"
        rows.append([name, target, trace.moves.cost.size, int(selector.support_.sum())])
    report.add(f"## {size} features of {coded.n_features}, {coded.n_rows:,} rows\n")
    report.add(markdown_table(["search", "CPU seconds", "steps or rounds", "features"], rows))
    rounds, taken = rows[1][2], seconds_of["boosting"]
    report.add(
        f"\nFeatures win again and again: {size} different ones take {rounds} rounds of {1e3 * taken / rounds:.3g} ms."
    )


def steps(report: Report, coded: CodedTable, arguments: argparse.Namespace) -> None:
    """One forward step of profit and of squared error, in turns."""
    states = {name: state_of(coded, criterion) for name, criterion in (("profit", MAILING), ("squared error", Brier()))}
    seconds: dict[str, list[float]] = {name: [] for name in states}
    for turn in range(3 if arguments.quick else 7):
        for name, state in states.items():
            features = np.flatnonzero(~state.selected)
            seconds[name].append(cpu_seconds(lambda state=state, features=features: state.candidates(features)))
            state.flip(turn)
    taken = {name: median(times[1:]) for name, times in seconds.items()}
    per_row = {name: 1e9 * value / coded.n_rows / coded.n_features for name, value in taken.items()}
    report.add("\n## One step\n")
    rows = [[name, f"{taken[name]:.3g} s", f"{per_row[name]:.2f} ns"] for name in taken]
    report.add(markdown_table(["criterion", "CPU seconds of a step", "a row and candidate"], rows))
    report.add(f"\nProfit over squared error: {verdict(taken['profit'] / taken['squared error'], 3.0)}.")


def growth(report: Report, coded: CodedTable) -> None:
    """The same steps and rounds on parts of the rows."""
    rows = []
    for share in (8, 4, 2, 1):
        part = coded.take(slice(None, None, share))
        tasks: dict[str, Any] = {
            name: partial(state_of(part, criterion).candidates, np.arange(part.n_features))
            for name, criterion in (("profit", MAILING), ("squared error", Brier()))
        }
        tasks["5 rounds"] = partial(BoostedSelector(5, encoder=None).fit_coded, part)
        taken = [min(cpu_seconds(task) for _ in range(3)) for task in tasks.values()]
        rows.append([f"{part.n_rows:,}", *(f"{1e3 * value:.3g} ms" for value in taken)])
    report.add("\n## Growth with the rows\n")
    report.add(markdown_table(["rows", "step by profit", "step by squared error", "5 rounds of boosting"], rows))


def state_of(coded: CodedTable, criterion: Any) -> SearchState:
    return SubsetProblem.on(Objective.of(coded, criterion), coded).state(n_jobs=1)


def cpu_seconds(task: Any) -> float:
    """CPU seconds of one call."""
    begin = time.process_time()
    task()
    return time.process_time() - begin


if __name__ == "__main__":
    main()
