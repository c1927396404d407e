"""A short run over everything public, and proof that the fuzzer sees what it is there to see."""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tests.fuzz.operations  # noqa: F401  (registers them)
from bayesieve.table import as_sample_weight, as_target
from tests.cases import mostly_slow
from tests.fuzz import runner
from tests.fuzz.__main__ import main
from tests.fuzz.case import OPERATIONS, Case, Ended, run_case
from tests.fuzz.runner import Results, run

KNOWN: set[tuple[str, int]] = set()
"""Cases of the short run that are known to fail."""


@pytest.mark.parametrize("name", sorted(name for name, (_, share) in OPERATIONS.items() if share))
@pytest.mark.parametrize("number", mostly_slow(range(4), [0]))
def test_short_run(name: str, number: int) -> None:
    case, _ = run_case(1, number, only=(name,))
    if case.findings and (name, number) not in KNOWN:
        first = case.findings[0]
        pytest.fail(f"python -m tests.fuzz --case 1:{number} --only {name}: {first.key}\n{first.detail}", pytrace=False)


def found_by(act: object, *, must: bool = False) -> list[str]:
    case = Case(0, 0)
    try:
        with case.step("act", must=must):
            act()
    except Ended:
        pass
    return [finding.key for finding in case.findings]


def foreign_words() -> None:
    try:
        _ = [][0]
    except IndexError as error:
        raise ValueError(f"The table is damaged: {error}.") from None


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: as_target(None), None),
        (lambda: as_sample_weight([-1.0], 1), None),
        (lambda: warnings.warn("No feature says anything.", UserWarning, stacklevel=1), None),
        (lambda: [][0], "IndexError"),
        (lambda: np.zeros(2) + np.zeros(3), "ValueError"),
        (lambda: len(5), "TypeError"),
        (foreign_words, "ValueError"),
        (lambda: pl.Series([1]).cast(pl.Utf8).str.to_date("%Y"), "InvalidOperationError"),
        (lambda: np.divide([1.0], [0.0]), "RuntimeWarning: divide by zero"),
        (lambda: os.write(2, b"thread panicked"), "output: thread panicked"),
        (lambda: print("told"), "output: told"),  # noqa: T201
    ],
)
def test_steps_are_judged(act: object, words: str | None) -> None:
    keys = found_by(act)
    assert bool(keys) is (words is not None)
    assert words is None or words in keys[0]


def test_a_refusal_is_a_finding_where_the_step_must_work() -> None:
    assert found_by(lambda: as_target(None), must=True)[0].startswith("refused: act")


def test_the_same_case_is_the_same_again() -> None:
    one, two = (run_case(3, 5)[0] for _ in range(2))
    assert (one.operation, one.steps, one.facts) == (two.operation, two.steps, two.facts)
    assert len({run_case(3, number)[0].operation for number in range(4)}) > 1


@pytest.mark.slow
def test_hangs_and_crashes_are_findings_and_not_the_end() -> None:
    results = run(0, (1, 2), Results(), jobs=2, limit=1.0, patience=1.0, only=("dies", "hangs"))
    keys = {key for key, *_ in results.groups()}
    assert keys == {"crash 7: dies/exit outside bayesieve", "hang: hangs/sleep outside bayesieve"}
    assert len(results.done) == 2


def dies_before_its_first_case(*_: object) -> None:
    os._exit(3)


@pytest.mark.slow
def test_workers_that_never_start_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_work", dies_before_its_first_case)
    results = run(0, (1, 2, 3), Results(), jobs=2, limit=1.0, patience=1.0)
    assert results.groups()[0][:2] == ("crash 3: start outside bayesieve", 3)


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    rows = [{"seed": 0, "case": i, "operation": "select"} for i in range(3)]
    rows.append({"seed": 0, "case": 2, "key": "IndexError", "step": "fit", "detail": ""})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"seed": 0, "ca', encoding="utf-8")
    results = run(0, range(3), Results(path), jobs=1)
    assert [(key, count) for key, count, _ in results.groups()] == [("IndexError", 1)]
    assert len(results.done) == 3


def test_the_command_replays_a_case(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["fuzz", "--case", "1:3", "--only", "damaged_model"])
    main()
    assert capsys.readouterr().out.startswith("damaged_model: ")


def test_every_operation_says_what_it_does() -> None:
    assert len(OPERATIONS) > 10
    assert all(function.__doc__ for function, _ in OPERATIONS.values())
