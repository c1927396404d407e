"""Cases in worker processes, so that a crash or a hang is a finding, too, and not the end."""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import re
import resource
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.case import run_case
from tests.processes import CONTEXT

LIMIT = 20.0
"""Seconds after which a case hangs."""
MOST_MEMORY = 3 << 30
"""Bytes beyond which a case takes too much memory."""
PATIENCE = 180.0
"""Seconds for the first attempt at a case, which may have to compile kernels."""
_CASES_OF_A_WORKER = 1000  # leaks of other libraries are not our concern
_IMPORTING = 120.0  # seconds for a worker to import everything
_GRACE = 10.0  # seconds for a process to end


def _work(connection: Any, limit: float, only: tuple[str, ...], place: str) -> None:
    """The life of a worker: a case at a time; where a hung case was, stands in the file ``place``."""
    importlib.import_module("tests.fuzz.operations")
    connection.send(("ready",))
    with open(place, "w") as file:
        while True:
            seed, number = connection.recv()
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            faulthandler.dump_traceback_later(0.8 * limit, file=file)
            case, seconds = run_case(seed, number, only=only, at=lambda step: connection.send(("at", step)))
            faulthandler.cancel_dump_traceback_later()
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            if after * 1024 > MOST_MEMORY and after > before:
                case.found(f"memory: {case.operation}", case.operation, f"{after / 2**20:.1f} GiB")
            lines = [{"seed": seed, "case": number, **asdict(finding)} for finding in case.findings]
            facts = {"steps": case.steps, "refused": len(case.refusals), "seconds": round(seconds, 3)}
            connection.send(("done", lines, {"seed": seed, "case": number, "operation": case.operation, **facts}))


class _Worker:
    """A process that is started again whenever it was lost."""

    def __init__(self, limit: float, patience: float, only: tuple[str, ...]) -> None:
        self._limit, self._patience, self._only = limit, max(patience, limit), only
        self._process: Any = None
        self._connection: Any = None
        self._done = 0
        handle, name = tempfile.mkstemp(prefix="bayesieve-fuzz-hang-")
        os.close(handle)
        self._place = Path(name)

    def run(self, seed: int, number: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Findings and facts of a case. What was slow once may have compiled; what is slow twice hangs."""
        for limit in sorted({self._patience, self._limit}, reverse=True):
            lines, facts, lost = self._once(seed, number, limit * _busy())
            if lost is None and facts["seconds"] <= self._limit * _busy():
                return lines, facts
        trace = self._place.read_text(errors="replace")[-6000:]
        places = re.findall(r'/bayesieve/([^"]+)", line \d+ in (\w+)', trace.rpartition("most recent call first")[2])
        where = ":".join(places[0]) if places else "outside bayesieve"
        key = f"{lost or 'slow'}: {facts['operation']} {where}"
        line = {"seed": seed, "case": number, "key": key, "step": facts["operation"], "detail": trace}
        return [*lines, line], facts

    def _once(self, seed: int, number: int, limit: float) -> tuple[list[dict[str, Any]], dict[str, Any], str | None]:
        at, began = "start", time.monotonic()
        lost = "hang"
        try:
            if self._process is None or self._done >= _CASES_OF_A_WORKER:
                self._start()
            self._done += 1
            began = time.monotonic()
            self._connection.send((seed, number))
            while self._connection.poll(max(0.0, limit - (time.monotonic() - began))):
                what, *rest = self._connection.recv()
                if what == "done":
                    return rest[0], rest[1], None
                at = rest[0]
        except (EOFError, OSError):  # the process is gone, or about to be
            self._process.join(_GRACE)
            lost = f"crash {self._process.exitcode}"
        self.stop()
        return [], {"seed": seed, "case": number, "operation": at, "seconds": round(time.monotonic() - began, 3)}, lost

    def _start(self) -> None:
        self.stop()
        self._connection, theirs = CONTEXT.Pipe()
        arguments = (theirs, self._limit, self._only, str(self._place))
        self._process = CONTEXT.Process(target=_work, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        self._done = 0
        if not self._connection.poll(_IMPORTING * _busy()):
            raise TimeoutError("A worker does not start.")
        self._connection.recv()  # it has imported everything

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join(_GRACE)
            self._connection.close()
        self._process = None

    def close(self) -> None:
        self.stop()
        self._place.unlink(missing_ok=True)


def _busy() -> float:
    """How much longer everything takes, because others use the processors, too."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)) if hasattr(os, "getloadavg") else 1.0


@dataclass
class Results:
    """What was found so far; with a path every case is a line at once, and a run goes on where it stopped."""

    path: Path | None = None
    findings: list[dict[str, Any]] = field(default_factory=list)
    done: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        if self.path is None or not self.path.exists():
            return
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                continue  # the line that an interruption cut
            if "key" in row:
                self.findings.append(row)
            else:
                self.done[row["seed"], row["case"]] = row

    def add(self, lines: list[dict[str, Any]], facts: dict[str, Any]) -> None:
        with self._lock:
            self.findings += lines
            self.done[facts["seed"], facts["case"]] = facts
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(row) + "\n" for row in (*lines, facts))

    def groups(self) -> list[tuple[str, int, list[str]]]:
        """Classes of findings, with the number of cases and the first of them."""
        cases: dict[str, list[str]] = {}
        for row in sorted(self.findings, key=lambda row: (row["seed"], row["case"])):
            name = f"{row['seed']}:{row['case']}"
            if name not in cases.setdefault(row["key"], []):
                cases[row["key"]].append(name)
        return sorted(((key, len(names), names[:4]) for key, names in cases.items()), key=lambda group: -group[1])

    def operations(self) -> Counter[str]:
        return Counter(facts["operation"].partition("/")[0] for facts in self.done.values())


def run(
    seed: int,
    numbers: Iterable[int],
    results: Results,
    *,
    jobs: int = 2,
    limit: float = LIMIT,
    patience: float = PATIENCE,
    seconds: float = float("inf"),
    only: tuple[str, ...] = (),
    tell: Any = None,
) -> Results:
    """Run the cases that are not among the results yet, in ``jobs`` processes, for at most ``seconds``."""
    waiting: Iterator[int] = iter([number for number in numbers if (seed, number) not in results.done])
    lock, end = threading.Lock(), time.monotonic() + seconds

    def work() -> None:
        worker = _Worker(limit, patience, only)
        try:
            while time.monotonic() < end:
                with lock:
                    number = next(waiting, None)
                if number is None:
                    return
                results.add(*worker.run(seed, number))
                if tell is not None:
                    tell(results)
        finally:
            worker.close()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
