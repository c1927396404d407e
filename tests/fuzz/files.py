"""Files: CSV as people write it, and damage to any file."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from tests.fuzz.case import Case
from tests.fuzz.tables import Column


def text_of(column: Column) -> list[str]:
    """Fields of a column, as most programs write them."""
    return ["" if v is None else str(v).lower() if isinstance(v, bool) else str(v) for v in column.values]


def csv_text(case: Case, columns: list[Column], separator: str = ",") -> str:
    """A table as CSV, quoted in some way."""
    out = io.StringIO()
    quoting = case.pick((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC))
    writer = csv.writer(out, delimiter=separator, quoting=quoting, lineterminator=case.pick(("\n", "\n", "\r\n")))
    writer.writerow([str(column.name) for column in columns])
    writer.writerows(zip(*map(text_of, columns), strict=True))
    return out.getvalue()


def spoilt_text(case: Case, text: str) -> bytes:
    """A CSV file with something of what CSV files have."""
    lines = text.split("\n")
    at = case.integer(0, max(len(lines) - 1, 0))
    line, first = lines[at], lines[0]
    more = case.pick(("# comment", ",,,,", "   ", '"', "a" * 5000))
    changed: list[list[str]] = [
        [line + ",extra"],
        [line.rpartition(",")[0]],
        ["", line],
        [more, line],
        ['"' + line],
        [line.replace(",", ";")],
        [line.replace(",", ',"a""b",', 1)],
        [line + "\x00"],
        [line],
    ]
    how = case.integer(0, 15)
    if how < len(changed):
        lines[at : at + 1] = changed[how]
    elif how == 9:
        lines = lines[:1]
    elif how == 10:
        lines[0] = first.replace(first.split(",")[0], first.split(",")[-1])
    elif how == 11:
        lines[0] = "x" * 1_000_000 if case.chance(0.2) else ""
    joined = "\n".join(lines)
    if how == 12:
        return b"\xef\xbb\xbf" + joined.encode("utf-8", "surrogatepass")
    if how == 13:
        return joined.encode(case.pick(("utf-16", "utf-32", "latin-1", "cp1252")), "replace")
    if how == 14:
        return spoilt_bytes(case, joined.encode("utf-8", "surrogatepass"))
    return b"" if how == 15 else joined.encode("utf-8", "surrogatepass")


def spoilt_bytes(case: Case, content: bytes) -> bytes:
    """A bit flipped, a byte replaced, a piece lost, repeated or put in."""
    if not content:
        return b"\x00"
    data = bytearray(content)
    at = case.integer(0, len(data) - 1)
    how = case.pick(("bit", "bit", "bit", "byte", "cut", "lost", "twice", "put in"))
    if how == "bit":
        data[at] ^= 1 << case.integer(0, 7)
    elif how == "byte":
        data[at] = case.integer(0, 255)
    elif how == "cut":
        del data[at:]
    elif how == "lost":
        del data[at : at + case.integer(1, 50)]
    elif how == "twice":
        data[at:at] = data[at : at + case.integer(1, 50)]
    else:
        data[at:at] = case.pick((b"\x00", b"\xff", b"[" * 100_000, b"}", b'"', b"NaN", b"\\ud800", b"1e999"))
    return bytes(data)


_OTHERS: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 10**30, 1e308, "", "a", [], {}, [1], [[1]], {"a": 1}, "\ud800", "-inf", [None], 2**63),
)


def spoilt_json(case: Case, data: Any) -> Any:
    """The same JSON with one place changed, removed or added."""
    data = json.loads(json.dumps(data))
    parent, key = data, None
    for _ in range(case.integer(1, 7)):
        here = parent if key is None else parent[key]
        keys: list[Any] = (
            list(here) if isinstance(here, dict) else list(range(len(here))) if isinstance(here, list) else []
        )
        if not keys:
            break
        parent, key = here, case.pick(keys)
    if key is None:
        return case.pick(_OTHERS)
    how = case.pick(("other", "other", "remove", "add", "number"))
    if how == "remove":
        del parent[key]
    elif how == "add" and isinstance(parent, list):
        parent.insert(key, case.pick(_OTHERS))
    elif how == "add":
        parent["unknown"] = case.pick(_OTHERS)
    elif how == "number" and isinstance(parent[key], (int, float)):
        parent[key] += case.pick((1, -1, 0.5, 1e-9))
    else:
        parent[key] = case.pick(_OTHERS)
    return data
