"""Rows named on the command line: `0,5,10-12`."""

from __future__ import annotations

import re

from bayesieve.cli.errors import CommandError
from bayesieve.cli.text import counted, quoted, thousands

_PART = re.compile(r"\s*([0-9]{1,18})\s*(?:-\s*([0-9]{1,18})\s*)?")


def chosen_rows(text: str, n_rows: int) -> list[int]:
    """Row numbers in the order given, each once, counted from 0."""
    rows: list[int] = []
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise CommandError(f"--rows cannot be read at {quoted(part)}; write row numbers such as 0,5,10-12")
        first = int(match[1])
        last = first if match[2] is None else int(match[2])
        if last < first:
            raise CommandError(f"--rows counts backwards at {quoted(part)}; write the smaller number first")
        if last >= n_rows:
            size = f"{counted(n_rows, 'row')}, counted from 0"
            raise CommandError(f"--rows contains row {thousands(last)}, but the table has {size}")
        rows.extend(range(first, last + 1))
    return list(dict.fromkeys(rows))
