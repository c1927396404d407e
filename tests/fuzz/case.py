"""One case: a random source, steps that are judged, and what was found."""

from __future__ import annotations

import contextlib
import re
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz import outcome


@dataclass(frozen=True)
class Finding:
    """Something that must not happen: what class of fault it is, in which step, and all there is to see of it."""

    key: str
    step: str
    detail: str


class Ended(BaseException):
    """The case cannot go on; not an `Exception`, so that nothing tested catches it."""


@dataclass
class Case:
    """The same ``(seed, number)`` gives the same case, whatever ran before it."""

    seed: int
    number: int
    rng: np.random.Generator = field(init=False)
    operation: str = ""
    findings: list[Finding] = field(default_factory=list)
    steps: int = 0
    refusals: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    at: Callable[[str], None] = lambda step: None

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.seed, self.number])
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    # Drawing

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def pick(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def integer(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return int(self.rng.integers(low, high + 1))

    @property
    def folder(self) -> Path:
        """An empty folder of this case's own."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="bayesieve-fuzz-")
        return Path(self._folder.name)

    def close(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def note(self, fact: str) -> None:
        """Something to show when the case is replayed."""
        self.facts.append(fact)

    # Judging

    @contextlib.contextmanager
    def step(self, name: str, *, must: bool = False) -> Iterator[None]:
        """Run the block under the rule. A refusal ends the case; where the step ``must`` work, it is a finding."""
        self.steps += 1
        self.at(f"{self.operation}/{name}")
        output = outcome.Output()
        raised: BaseException | None = None
        with output.captured(), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                yield
            except (Ended, KeyboardInterrupt, GeneratorExit):
                raise
            except BaseException as error:  # a panic of polars is no Exception
                raised = error
        if output.text.strip():
            self.found(f"output: {without_details(output.text)}", name, output.text[:4000])
        for warning in warned:
            if outcome.foreign_warning(warning):
                where = "/".join(Path(warning.filename).parts[-2:])
                text = f"{warning.category.__name__}: {without_details(str(warning.message))} ({where})"
                self.found(text, name, f"{warning.filename}:{warning.lineno}: {warning.message}")
        if raised is None:
            return
        wrong = outcome.complaint(raised)
        if wrong is not None:
            key = f"{type(raised).__name__}: {outcome.place(raised)}"
            self.found(key if wrong == "exception" else f"{wrong}: {key}", name, outcome.text_of(raised))
        elif must:
            key = f"refused: {name} ({without_details(str(raised))})"
            self.found(key, name, outcome.text_of(raised))
        else:
            self.refusals.append(f"{name}: {raised}")
        raise Ended

    @contextlib.contextmanager
    def attempt(self, name: str) -> Iterator[None]:
        """As `step`, but the case goes on after a refusal."""
        with contextlib.suppress(Ended), self.step(name):
            yield

    def check(self, holds: Any, what: str, detail: object = "") -> None:
        """A finding when something that must hold does not."""
        if not bool(holds):
            self.found(f"wrong: {what} ({self.operation})", "check", str(detail)[:4000])

    def found(self, key: str, step: str, detail: str) -> None:
        self.findings.append(Finding(key, f"{self.operation}/{step}", detail))

    def same(self, one: Any, two: Any, what: str) -> None:
        """Bit for bit the same arrays."""
        one, two = np.asarray(one), np.asarray(two)
        if one.shape != two.shape:
            self.check(False, what, f"shapes {one.shape} and {two.shape}")
            return
        equal = one == two
        if one.dtype.kind == "f" and two.dtype.kind == "f":
            equal |= np.isnan(one) & np.isnan(two)
        self.check(np.all(equal), what, f"{one!r}\n{two!r}")


def without_details(text: str) -> str:
    """The beginning of a text, the same for all cases that differ in figures and quoted names."""
    line = re.sub(r"/tmp/\S*", "FILE", " ".join(text.split()))
    line = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "'...'", line)
    return re.sub(r"\d[\d.]*", "#", line)[:70]


Operation = Callable[[Case], None]
OPERATIONS: dict[str, tuple[Operation, float]] = {}
"""Operations by name, with how often they are drawn."""


def operation(share: float) -> Callable[[Operation], Operation]:
    """Register a function as an operation."""

    def register(function: Operation) -> Operation:
        OPERATIONS[function.__name__] = (function, share)
        return function

    return register


def run_case(
    seed: int, number: int, *, only: Sequence[str] = (), at: Callable[[str], None] = lambda step: None
) -> tuple[Case, float]:
    """Draw an operation and run it; faults of the fuzzer itself are findings, too."""
    import tests.fuzz.operations  # noqa: F401  (registers them)

    case = Case(seed, number, at=at)
    names = sorted(only or OPERATIONS)
    shares = np.array([1.0 if only else OPERATIONS[name][1] for name in names])
    case.operation = names[int(case.rng.choice(len(names), p=shares / shares.sum()))]
    at(case.operation)
    began = time.perf_counter()
    try:
        with outcome.Output().captured(), warnings.catch_warnings():  # noise of drawing is nobody's fault
            warnings.simplefilter("ignore")
            OPERATIONS[case.operation][0](case)
    except Ended:
        pass
    except Exception as error:
        case.found(f"fuzzer: {type(error).__name__}: {error}"[:100], "drawing", outcome.text_of(error))
    finally:
        case.close()
    return case, time.perf_counter() - began
