"""``python -m tests.fuzz --seed 1 --tables 10000 --resume found.jsonl`` and ``python -m tests.fuzz --case 1:42``."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.fuzz.case import run_case
from tests.fuzz.runner import LIMIT, Results, run


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tables", type=int, default=1000, help="cases to run, numbered from --first")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--resume", type=Path, help="JSON-lines file of results, which a later run goes on with")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time after which no case is begun")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds after which a case hangs")
    parser.add_argument("--only", default="", help="operations, separated by commas")
    parser.add_argument("--case", help="SEED:NUMBER to replay in this process")
    return parser.parse_args()


def main() -> int:
    """Run cases and print the classes of findings; 1 if there are any."""
    given = _arguments()
    only = tuple(name for name in given.only.split(",") if name)
    if given.case:
        seed, _, number = given.case.partition(":")
        return _replay(int(seed), int(number), only)
    began = time.monotonic()
    results = Results(given.resume)
    numbers = range(given.first, given.first + given.tables)

    def tell(so_far: Results) -> None:
        if len(so_far.done) % 500 == 0:
            seconds = time.monotonic() - began
            sys.stderr.write(f"{len(so_far.done)} cases, {len(so_far.findings)} findings, {seconds:.0f} s\n")

    run(given.seed, numbers, results, jobs=given.jobs, limit=given.limit, seconds=given.seconds, only=only, tell=tell)
    for key, count, cases in results.groups():
        _say(f"{count:5d}  {key}\n         {' '.join(cases)}")
    operations = ", ".join(f"{name} {count}" for name, count in results.operations().most_common())
    steps = sum(facts.get("steps", 0) for facts in results.done.values())
    refused = sum(facts.get("refused", 0) for facts in results.done.values())
    seconds = time.monotonic() - began
    _say(f"{len(results.done)} tables, {steps} steps, {refused} refused, {seconds:.0f} s ({operations})")
    _say(f"{len(results.findings)} findings in {len(results.groups())} classes")
    return 1 if results.findings else 0


def _replay(seed: int, number: int, only: tuple[str, ...]) -> int:
    case, seconds = run_case(seed, number, only=only)
    _say(f"{case.operation}: {case.steps} steps, {seconds:.2f} s")
    for fact in case.facts:
        _say(fact)
    for refusal in case.refusals:
        _say(f"refused: {refusal}")
    for finding in case.findings:
        _say(f"\nFINDING in {finding.step}: {finding.key}\n{finding.detail}")
    return 1 if case.findings else 0


def _say(text: str) -> None:
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode() + "\n")


if __name__ == "__main__":
    sys.exit(main())
