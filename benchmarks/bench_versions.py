"""One version of the package against another: the same tasks in turns, each version in a separate process.

``bench_versions.py OLD [NEW]``: folders with the package in them, such as ``src`` of a second checkout; NEW is this
checkout unless given. The tasks use public names that both versions have.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median, quantiles
from typing import Any

from measuring import ROOT, Report, markdown_table, options

SLOWER = 1.05
_SECONDS_A_TURN = 0.05  # short tasks are repeated up to this
Task = Callable[[], Any]


def main() -> None:
    """Ratios of the seconds of every task, new by old."""
    parser = options(__doc__.splitlines()[0])
    parser.add_argument("old", type=Path, nargs="?", help="folder with the package of the old version")
    parser.add_argument("new", type=Path, nargs="?", default=ROOT / "src", help="the same of the new version")
    parser.add_argument("--rounds", type=int, help="turns of each version (default 15; 3 with --quick)")
    parser.add_argument("--only", nargs="+", help="tasks whose names contain one of these words")
    parser.add_argument("--tables", nargs="+", default=[], help="also fits of these tables of the catalogue")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder with catalogue.csv")
    parser.add_argument("--processor", action="store_true", help="seconds of the processor: for a busy machine")
    arguments = parser.parse_args()
    if arguments.old is None:
        print("There is no earlier version to compare with: pass the folder of its package, such as OLD/src.")
        return
    rounds = arguments.rounds or (3 if arguments.quick else 15)
    report = Report("versions", "This version against an earlier one", arguments)
    report.add(
        f"Each version runs in a process of its own; they take turns, {rounds} rounds after a first one that is not "
        "counted. The ratio is that of the seconds of one round, new by old; below 1 the new version is faster.\n"
    )
    flags = [*(["--quick"] if arguments.quick else []), *(["--processor"] if arguments.processor else [])]
    if arguments.processor:
        report.add("Seconds are those of the processor, as the machine was busy.\n")
    given = [*flags, str(arguments.data), *arguments.tables]
    workers = [_Worker(folder, given) for folder in (arguments.old, arguments.new)]
    shared = [name for name in workers[0].names if name in workers[1].names]
    rows, medians = [], []
    for name in shared:
        if arguments.only and not any(word in name for word in arguments.only):
            continue
        for worker in workers:
            worker.seconds(name)
        old, new = zip(*(_turn(workers, name, turn) for turn in range(rounds)), strict=True)
        ratios = [b / a for a, b in zip(old, new, strict=True)]
        low, middle, high = quantiles(ratios, n=4)
        medians.append(middle)
        note = "SLOWER" if low > 1.0 and middle > SLOWER else ""
        rows.append([name, f"{median(old) * 1e3:.3g}", f"{median(new) * 1e3:.3g}", f"{middle:.3f}"])
        rows[-1] += [f"{low:.3f} to {high:.3f}", note]
        print(*rows[-1], file=sys.stderr, flush=True)
    report.add(markdown_table(["task", "old, ms", "new, ms", "ratio", "half of the ratios", ""], rows))
    report.add(f"\nGeometric mean of the ratios: {geometric_mean(medians):.3f} over {len(medians)} tasks.")
    report.close()


def _turn(workers: Sequence[_Worker], name: str, turn: int) -> tuple[float, float]:
    """Seconds of both versions, which take turns to begin."""
    order = workers if turn % 2 == 0 else workers[::-1]
    seconds = {id(worker): worker.seconds(name) for worker in order}
    return seconds[id(workers[0])], seconds[id(workers[1])]


class _Worker:
    """A process that runs tasks of one version by name."""

    def __init__(self, folder: Path, given: Sequence[str]) -> None:
        if not (folder / "bayesieve" / "__init__.py").is_file():
            raise SystemExit(f"{folder} holds no package bayesieve; pass the folder that it is in, such as src.")
        own = folder.resolve().parent / "benchmarks"  # the tables that a version generates itself suit it
        path = os.pathsep.join(map(str, [folder.resolve(), own, ROOT / "benchmarks"]))
        env = dict(os.environ, PYTHONPATH=path, BAYESIEVE_COMPILE_ALONE="1")
        code = f"import runpy; runpy.run_path({str(Path(__file__).resolve())!r})['work']()"
        command = [sys.executable, "-c", code, *given]
        self._process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.names = self._read().split("\t")

    def seconds(self, name: str) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(name + "\n")
        self._process.stdin.flush()
        return float(self._read())

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("A version ended; its message is above.")
        return line.rstrip("\n")


def work() -> None:
    """Read names of tasks from standard input, and print the seconds of each."""
    import warnings

    warnings.simplefilter("ignore")
    clock = time.process_time if "--processor" in sys.argv else time.perf_counter
    folder, *names = [word for word in sys.argv[1:] if not word.startswith("--")]
    tasks = _fits(Path(folder), names) | _tasks(0.1 if "--quick" in sys.argv else 1.0)
    repeats: dict[str, int] = {}
    print(*tasks, sep="\t", flush=True)
    for line in sys.stdin:
        name = line.rstrip("\n")
        task = tasks[name]
        if name not in repeats:
            task()
            begin = clock()
            task()
            repeats[name] = max(1, int(_SECONDS_A_TURN / (clock() - begin)))
        begin = clock()
        for _ in range(repeats[name]):
            task()
        print((clock() - begin) / repeats[name], flush=True)


def _fits(folder: Path, names: Sequence[str]) -> dict[str, Task]:
    import polars as pl

    from bayesieve import SelectiveNB

    catalogue = {row["name"]: row for row in pl.read_csv(folder / "catalogue.csv").to_dicts()} if names else {}
    tasks: dict[str, Task] = {}
    for name in names:
        table = pl.read_parquet(folder / catalogue[name]["file"]).drop_nulls(catalogue[name]["target"])
        y = table[catalogue[name]["target"]].cast(pl.String).to_numpy()
        tasks[f"fit, {name}"] = partial(SelectiveNB(n_jobs=1).fit, table.drop(catalogue[name]["target"]), y)
    return tasks


def _tasks(scale: float) -> dict[str, Task]:
    import numpy as np
    import polars as pl
    from tables import mixed_table
    from wrapper_tables import categories, redundant_indicators

    import bayesieve
    from bayesieve import (
        CFSSelector,
        MDLPDiscretizer,
        MODLDiscretizer,
        MODLGrouper,
        MRMRSelector,
        SelectiveNB,
        TableEncoder,
        WrapperSelector,
    )

    def rows(n: int) -> int:
        return max(300, int(n * scale))

    german = pl.read_csv(ROOT / "examples" / "data" / "german_credit.csv")
    credit, risk = german.drop(german.columns[-1]), german[german.columns[-1]].to_numpy()
    X, y, _ = mixed_table(rows(300_000))
    numbers, words = X[:, :15], X[:, 15:]
    model = SelectiveNB(n_jobs=2).fit(X, y)
    small = SelectiveNB().fit(credit, risk)
    five = np.arange(len(y)) % 5
    ids = pl.DataFrame({"id": np.char.add("v", np.random.default_rng(0).integers(0, 7_500, rows(30_000)).astype(str))})
    indicators = redundant_indicators(rows(3_000), 814 if scale == 1.0 else 66)
    levels = categories(rows(50_000), 60, 8)
    many = categories(rows(20_000), 30, 12, n_classes=6)
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "model.json")
    small.save(path)

    def wrapper(criterion: str, evaluation: Any, n: int, direction: str = "forward") -> WrapperSelector:
        return WrapperSelector(
            criterion=criterion, direction=direction, evaluation=evaluation, n_features_to_select=n, encoder=None
        )

    return {
        "fit, German credit": lambda: SelectiveNB().fit(credit, risk),
        "fit, 300,000 x 30 mixed": lambda: SelectiveNB(n_jobs=2).fit(X, y),
        "fit, German credit, wrapper": lambda: SelectiveNB(WrapperSelector(evaluation=5, n_features_to_select=5)).fit(
            credit, risk
        ),
        "fit, German credit, mrmr": lambda: SelectiveNB("mrmr").fit(credit, risk),
        "predict, 300,000 x 30 mixed": lambda: model.predict_proba(X),
        "predict, one row": lambda: small.predict_proba(credit[:1]),
        "explain, 1,000 rows": lambda: small.explain(credit),
        "save and load": lambda: bayesieve.load(path).save(path),
        "report, German credit": lambda: small.report(os.path.join(folder, "report.html"), credit, risk),
        "levels of 15 columns of numbers": lambda: MODLDiscretizer(n_jobs=1).fit(numbers, y),
        "levels of numbers, 5 classes": lambda: MODLDiscretizer(n_jobs=1).fit(numbers[:, :4], five),
        "levels of numbers, MDLP": lambda: MDLPDiscretizer().fit(numbers[:, :6], y),
        "groups of 15 columns": lambda: MODLGrouper(n_jobs=1).fit(words, y),
        "groups of 7,500 values": lambda: MODLGrouper(n_jobs=1).fit(ids, y[: len(ids)]),
        "levels of 814 indicators": lambda: TableEncoder(n_jobs=1).fit(
            indicators.codes.T.astype(float), indicators.class_codes
        ),
        "weights by compression, 814 indicators": lambda: bayesieve.CompressionAveraging(encoder=None).fit_coded(
            indicators
        ),
        "20 of 814 indicators, error probability": lambda: wrapper("error_probability", "train", 20).fit_coded(
            indicators
        ),
        "10 of 60 features, log loss, 5 folds": lambda: wrapper("log_loss", 5, 10).fit_coded(levels),
        "10 of 60 features, error": lambda: wrapper("error", "train", 10).fit_coded(levels),
        "5 of 60 features, AUC": lambda: wrapper("auc", "train", 5).fit_coded(levels),
        "5 of 60 features, AUC, 5 folds": lambda: wrapper("auc", 5, 5).fit_coded(levels),
        "5 of 30 features, AUC, 6 classes": lambda: wrapper("auc", "train", 5).fit_coded(many),
        "backward, log loss, 6 classes": lambda: wrapper("log_loss", "loo", 20, "backward").fit_coded(many),
        "mRMR of 814 indicators": lambda: MRMRSelector(encoder=None, n_features_to_select=50).fit_coded(indicators),
        "CFS of 814 indicators": lambda: CFSSelector(encoder=None).fit_coded(indicators),
    }


if __name__ == "__main__":
    main()
