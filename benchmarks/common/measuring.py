"""Parts shared by all benchmarks: options, timing in turns, a description of the machine, the results file."""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"


def options(description: str | None) -> argparse.ArgumentParser:
    """The options of every benchmark; scripts add their own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it works, measures nothing")
    parser.add_argument("--write", action="store_true", help="also write benchmarks/results/NAME.md")
    return parser


def options_with_data(description: str | None) -> argparse.ArgumentParser:
    """The same, and the folder of the real tables."""
    parser = options(description)
    parser.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder with catalogue.csv and its files"
    )
    return parser


def catalogue(folder: Path) -> dict[str, dict[str, str]]:
    """Lines of the catalogue of the real tables, by name."""
    with open(folder / "catalogue.csv", encoding="utf-8", newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def seconds_of(task: Callable[[], Any]) -> float:
    """Wall-clock seconds of one call."""
    begin = time.perf_counter()
    task()
    return time.perf_counter() - begin


def alternate(tasks: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Seconds of every task, each run once per round, so that other work on the machine affects all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            seconds[name].append(seconds_of(task))
    return seconds


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_model() -> str:
    """The processor in words."""
    try:
        with open("/proc/cpuinfo") as lines:
            facts = dict(line.split(":", 1) for line in lines if ":" in line)
    except OSError:
        return platform.processor() or platform.machine()
    cleaned = {key.strip(): value.strip() for key, value in facts.items()}
    flags = cleaned.get("flags", "").split()
    vectors = [name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("avx", "AVX")) if flag in flags]
    return ", ".join([cleaned.get("model name", platform.machine()), *vectors[:1]])


def version(package: str) -> str:
    """Installed version of a distribution, or "not installed"."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def machine(packages: Iterable[str] = ()) -> str:
    """Cores, processor, system and versions, without the name of the machine."""
    import bayesieve

    names = ("numpy", "numba", "scikit-learn", *packages)
    found = ", ".join(f"{name} {version(name)}" for name in names)
    return (
        f"{cores()} cores of {cpu_model()}; {platform.system()}, Python {platform.python_version()}, "
        f"bayesieve {bayesieve.__version__}, {found}; load {load()}"
    )


def load() -> str:
    """Load of the machine, which limits the precision of the results."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def in_fresh_process(code: str, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
    """Output of ``code`` in a new interpreter that finds the modules of benchmarks."""
    env = dict(os.environ, **(environment or {}))
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), env.get("PYTHONPATH")]))
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table; numbers are written as given by ``str``."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def verdict(value: float, target: float, *, at_least: bool = False, unit: str = "") -> str:
    """A number, its target, and whether it is reached."""
    reached = value >= target if at_least else value <= target
    bound = "at least" if at_least else "at most"
    return f"{value:.3g}{unit} (target: {bound} {target:g}{unit}, {'reached' if reached else 'MISSED'})"


def against_fastest(runs: Mapping[str, Sequence[float]], peer: str) -> str:
    """A table of seconds, and the speed of each task relative to the fastest one whose name starts with ``peer``."""
    fastest = fastest_of(runs, peer)
    rows = [[name, spread(times), f"{fastest / median(times):.1f}" if fastest else ""] for name, times in runs.items()]
    return markdown_table(["task", "median (range)", f"times faster than the faster {peer}"], rows)


def fastest_of(runs: Mapping[str, Sequence[float]], peer: str) -> float | None:
    """Smallest median of the tasks whose names start with ``peer``; None if there are none."""
    return min((median(times) for name, times in runs.items() if name.startswith(peer)), default=None)


def spread(seconds: Sequence[float]) -> str:
    """Median with the range."""
    return f"{median(seconds):.3g} s ({min(seconds):.3g} to {max(seconds):.3g}, {len(seconds)} runs)"


class Report:
    """Lines that are printed at once and, with ``--write``, saved in benchmarks/results."""

    def __init__(self, name: str, title: str, arguments: argparse.Namespace) -> None:
        self._name = name
        self.writes = arguments.write
        self._lines: list[str] = []
        self.add(f"# {title}\n")
        if arguments.quick:
            self.add("Run with --quick: small sizes that show that everything works. These figures measure nothing.\n")

    def add(self, text: str = "") -> None:
        """One paragraph, table or line."""
        print(text, flush=True)
        self._lines.append(text)

    def close(self, packages: Iterable[str] = ()) -> None:
        """Add the machine and versions, and write the file with ``--write``."""
        self.add(f"\nMeasured on {date.today().isoformat()}: {machine(packages)}.")
        if self.writes:
            RESULTS.mkdir(exist_ok=True)
            (RESULTS / f"{self._name}.md").write_text("\n".join(self._lines) + "\n", encoding="utf-8")
            print(f"Written: benchmarks/results/{self._name}.md", file=sys.stderr)
