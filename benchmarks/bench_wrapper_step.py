"""A forward step over hundreds of binary indicators, and the whole path, against greedy steps in NumPy."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from bayesieve import CodedTable, WrapperSelector
from bayesieve.criteria import ErrorProbability
from bayesieve.search import SearchState, SubsetProblem
from benchmarks.common.measuring import Report, alternate, markdown_table, options, spread, verdict
from benchmarks.common.numpy_greedy import NumpyGreedy
from benchmarks.common.wrapper_tables import engine_indicators, redundant_indicators, step_seconds

TIMES_FASTER = 250.0
PATH_SECONDS = 0.7
_IN_A_ROW = 10


def main() -> None:
    """Time one step on both sides in turns, then the whole path."""
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, help="rows (default 3,000; 600 with --quick)")
    arguments = parser.parse_args()
    n_rows = arguments.rows or (600 if arguments.quick else 3_000)
    report = Report("wrapper_step", "A forward step by error probability", arguments)
    report.add(
        "A step finds the error probability on the training rows of every subset with one feature more than the "
        "current one; four classes, probabilities with Laplace's alpha = 1, one core, double precision throughout."
    )
    tables = {"Random scores": redundant_indicators(n_rows, 66 if arguments.quick else 814)}
    if not arguments.quick:
        tables = {"Engine series": engine_indicators(n_rows), **tables}
    for name, coded in tables.items():
        report.add(f"\n## {name}: {coded.n_features} redundant binary indicators x {coded.n_rows:,} rows\n")
        compare_steps(report, coded, 3 if arguments.quick else 9)
        whole_path(report, coded, arguments)
    report.close()


def compare_steps(report: Report, coded: CodedTable, rounds: int) -> None:
    """Seconds of one step on both sides, after one feature was added so that rows differ."""
    problem = SubsetProblem.of(coded, 1.0, criterion=ErrorProbability())
    state, peer = SearchState(problem), NumpyGreedy(coded)
    first = int(np.argmin(state.candidates(np.arange(coded.n_features))))
    state.flip(first)
    peer.add(first)
    features = np.delete(np.arange(coded.n_features), first)
    found: dict[str, np.ndarray] = {}
    tasks: dict[str, Callable[[], Any]] = {
        "bayesieve": lambda: found.update(bayesieve=_repeated(lambda: state.candidates(features), _IN_A_ROW)),
        "NumPy, whole arrays of log joints": lambda: found.update(whole=peer.whole_arrays(features)),
        "NumPy, candidates in buffers": lambda: found.update(buffers=peer.in_buffers(features)),
        "NumPy, ratios by matrix products": lambda: found.update(
            products=_repeated(lambda: peer.by_products(features), _IN_A_ROW)
        ),
    }
    steps = {name: _IN_A_ROW if name in ("bayesieve", "NumPy, ratios by matrix products") else 1 for name in tasks}
    alternate(tasks, 1)
    for values in found.values():
        np.testing.assert_allclose(values, found["bayesieve"], rtol=0, atol=1e-12)
    runs = {name: [t / steps[name] for t in times] for name, times in alternate(tasks, rounds).items()}
    ours = median(runs["bayesieve"])
    cells = features.size * coded.n_rows
    rows = [
        [name, spread(times), f"{median(times) / cells * 1e9:.2f}", f"{median(times) / ours:.1f}"]
        for name, times in runs.items()
    ]
    report.add(markdown_table(["one step", "median (range)", "ns per row and candidate", "times ours"], rows))
    ratio = median(runs["NumPy, whole arrays of log joints"]) / ours
    report.add(f"\nTimes faster than a vectorised greedy step: {verdict(ratio, TIMES_FASTER, at_least=True)}.")
    report.add(
        "\nThe first NumPy step is the formula over (candidates, rows, classes) on an incremental log joint. The "
        "second takes candidates one by one through arrays that fit the cache. The third does what bayesieve does, "
        "ratios to the true class without exponentials, and holds for indicators only: their factors are two matrix "
        "products. All sides agree to 1e-12. The two quick ones take ten steps in a row, as in a search: a "
        "single step would mostly measure how it finds the cache after the other sides' large arrays."
    )


def whole_path(report: Report, coded: CodedTable, arguments: argparse.Namespace) -> None:
    """Seconds of the path to the last feature, with and without the rows that moves can no longer change."""
    n_steps = coded.n_features
    orders: dict[str, list[int]] = {}
    fitted: dict[str, WrapperSelector] = {}
    tasks: dict[str, Callable[[], Any]] = {
        "bayesieve": lambda: fitted.update(usual=search(coded, ErrorProbability())),
        "bayesieve, all rows scanned": lambda: fitted.update(all=search(coded, _AllRows())),
        "NumPy, ratios by matrix products": lambda: orders.update(numpy=NumpyGreedy(coded).path(n_steps)),
    }
    alternate({name: tasks[name] for name in list(tasks)[:2]}, 1)
    runs = alternate(tasks, 1 if arguments.quick else 5)
    for name, selector in fitted.items():
        names = selector.trace_.to_frame()["feature"].to_list()[1:]
        orders[name] = [coded.names.index(feature) for feature in names]
    ours = median(runs["bayesieve"])
    rows = [[name, spread(times), f"{median(times) / ours:.1f}"] for name, times in runs.items()]
    report.add("\n" + markdown_table([f"path of {n_steps} steps", "median (range)", "times ours"], rows))
    report.add(f"\nThe whole path: {verdict(ours, PATH_SECONDS, unit=' s')}.")
    values = [selector.trace_.to_frame()["criterion"].to_numpy() for selector in fitted.values()]
    steps = {name: step_seconds(selector) * 1e3 for name, selector in fitted.items()}
    same = orders["usual"] == orders["all"] == orders["numpy"]
    report.add(
        f"\nOrders are {'the same' if same else 'NOT the same'}; leaving rows out of the scan changes the criterion by "
        f"{np.abs(values[0] - values[1]).max():.1e} at most. Milliseconds of single steps:\n"
    )
    at = np.unique(np.linspace(0, n_steps - 2, 6).astype(int))
    names = {"usual": "saturated rows left out", "all": "all rows scanned"}
    rows = [[names[name], *(f"{median(ms[max(0, k - 2) : k + 3]):.2f}" for k in at)] for name, ms in steps.items()]
    report.add(markdown_table(["features selected", *map(str, at)], rows))


def _repeated(step: Callable[[], np.ndarray], times: int) -> np.ndarray:
    """The result of the last of several steps."""
    for _ in range(times - 1):
        step()
    return step()


class _AllRows(ErrorProbability):
    """The same criterion with all rows in every scan."""

    def saturation(self, n_classes: int) -> None:
        return None


def search(coded: CodedTable, criterion: ErrorProbability) -> WrapperSelector:
    """The forward path to its end."""
    selector = WrapperSelector(
        criterion=criterion, direction="forward", evaluation="train", smoothing=1.0, encoder=None, n_jobs=1
    )
    return selector.fit_coded(coded)


if __name__ == "__main__":
    main()
