"""Growth of measured times with the size of the task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bayesieve_lab.claims import Check, fact

MARGIN = 0.1
"""Powers that differ by less than this count as equal, because sizes span few powers of ten and caches are small."""


def power(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the exponent b of seconds ~ sizes^b, by least squares on logarithms.

    Examples
    --------
    >>> from bayesieve_lab.growth import power
    >>> round(power([10, 100, 1000], [0.3, 30, 3000]), 6)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def grows(what: str, measured: float, most: float, over: str) -> Check:
    """Return the check that times grow no faster than the power ``most`` of ``what``, except for a margin.

    ``measured`` is the exponent of growth that `power` returned; ``over`` says what was varied, such as "5 sizes".
    """
    return fact(what, measured <= most + MARGIN, measured, f"at most {most:g}", f"power, margin {MARGIN}", over, ".2f")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a JSON-lines file of measurements as dictionaries; empty if there is no file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def add_missing(path: Path, wanted: Iterable[tuple[dict[str, Any], Any]]) -> list[dict[str, Any]]:
    """Append the measurements that a JSON-lines file lacks, and return all measurements in it as dictionaries.

    ``wanted`` yields, for each measurement, the fields that identify it, and a function that returns the other fields.
    """
    lines = read_lines(path)
    for name, measure in wanted:
        if not any(name.items() <= line.items() for line in lines):
            lines.append({**name, **measure()})
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(lines[-1]) + "\n")
    return lines
