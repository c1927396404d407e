"""Kernels compiled for any processor, or any with vectors of 256 bits, as wheels bring them, against this one's."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.common.measuring import (
    Report,
    in_fresh_process,
    markdown_table,
    options_with_data,
    seconds_of,
    spread,
    verdict,
)

MOST = 1.1
_TIMES = 2

SHIPPED = {"x86-64-v3": "any with vectors of 256 bits", "generic": "any processor"}
"""What wheels are built for; the first is taken where it runs."""


@cache
def _indicators(n_rows: int) -> Any:
    from benchmarks.common.wrapper_tables import redundant_indicators

    return redundant_indicators(n_rows, 814)


def _by_error(data: Path, n_rows: int) -> None:
    from bayesieve.criteria.losses import ErrorProbability
    from benchmarks.bench_wrapper_step import search

    search(_indicators(n_rows), ErrorProbability())


def _by_auc(data: Path, n_rows: int) -> None:
    from bayesieve import WrapperSelector

    WrapperSelector(
        criterion="auc", direction="forward", evaluation="holdout", smoothing=1.0, encoder=None, n_jobs=1
    ).fit_coded(_indicators(n_rows // 6))


@cache
def _real(data: Path, name: str) -> Any:
    from benchmarks import bench_wide

    return bench_wide.load(data, name)


def _fit(data: Path, n_rows: int, name: str, selector: str) -> None:
    from bayesieve import SelectiveNB

    X, y = _real(data, name)
    SelectiveNB(selector, n_jobs=1).fit(X[: n_rows * 10], y[: n_rows * 10])


@cache
def _mixed(n_rows: int) -> Any:
    from benchmarks.common.tables import mixed_table

    X, y, *_ = mixed_table(n_rows)
    return X, y


def _long(data: Path, n_rows: int) -> None:
    from bayesieve import SelectiveNB

    X, y = _mixed(n_rows * 30)
    SelectiveNB(n_jobs=1).fit(X, y)


TASKS: Mapping[str, Callable[..., None]] = {
    "forward by error probability, 814 indicators": _by_error,
    "forward by AUC of held-out rows, 814 indicators": _by_auc,
    "default fit, madelon (500 numbers)": lambda *at: _fit(*at, "madelon", "compression"),
    "by AUC, madelon": lambda *at: _fit(*at, "madelon", "auc"),
    "by accuracy, ada (48 columns)": lambda *at: _fit(*at, "ada", "accuracy"),
    "default fit, 30 mixed columns": _long,
}


def main() -> None:
    """Seconds of every task with every kind of code, by processes in turns."""
    parser = options_with_data(__doc__)
    arguments = parser.parse_args()
    n_rows = 300 if arguments.quick else 3_000
    report = Report("processors", "Machine code for any processor", arguments)
    rounds = 1 if arguments.quick else 3
    rows, ratios = [], dict.fromkeys(SHIPPED, 0.0)
    with tempfile.TemporaryDirectory() as folder:
        kinds = {"this": {"NUMBA_CACHE_DIR": f"{folder}/this"}}
        for name in SHIPPED:
            named = {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": ""}
            kinds[name] = {**named, "NUMBA_CACHE_DIR": f"{folder}/{name}"}
        for task in TASKS:
            call = f"{task!r}, own.Path({str(arguments.data)!r}), {n_rows}"
            command = f"from benchmarks.decisions import processors; processors.measure({call})"
            for kind in kinds.values():
                in_fresh_process(command, environment=kind)  # compiles
            seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
            for _ in range(rounds):
                for kind, environment in kinds.items():
                    seconds[kind].append(float(in_fresh_process(command, environment=environment)))
            own = {name: median(a / b for a, b in zip(seconds[name], seconds["this"], strict=True)) for name in SHIPPED}
            ratios = {name: max(ratio, own[name]) for name, ratio in ratios.items()}
            rows.append([task, *map(spread, seconds.values()), *(f"{ratio:.2f}" for ratio in own.values())])
    report.add(
        f"Least of {_TIMES} runs after one that loads the code, in {rounds} processes of each kind in turns, on one "
        f"thread; ratios to this processor's are medians of those of neighbouring processes. {n_rows:,} rows of "
        f"indicators (a sixth by AUC), {30 * n_rows:,} of mixed columns.\n"
    )
    header = ["task", "this processor", *SHIPPED.values(), *(f"ratio of {name}" for name in SHIPPED)]
    report.add(markdown_table(header, rows))
    for name, ratio in ratios.items():
        report.add(f"\nThe largest ratio of {name}: {verdict(ratio, MOST)}.")
    report.close()


def measure(task: str, data: Path, n_rows: int) -> None:
    """Print the least seconds of a task in this process."""
    run = TASKS[task]
    run(data, n_rows)
    print(min(seconds_of(lambda: run(data, n_rows)) for _ in range(_TIMES)))


if __name__ == "__main__":
    main()
