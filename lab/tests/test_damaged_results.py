"""Damaged results files: refused in one sentence, or continued to the same figures."""

from __future__ import annotations

import json
import re
import zlib
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from sklearn.datasets import load_iris, load_wine
from sklearn.naive_bayes import GaussianNB

from bayesieve import SelectiveNB
from bayesieve_lab import Comparison, RepeatedFolds, compare_many

METHODS = {"gauss": GaussianNB(), "all": SelectiveNB("all")}
PROTOCOL = RepeatedFolds(n_folds=2)
WRONG_TYPES: tuple[Any, ...] = (
    *("", "x", "\ud800", [], [1], {"a": [1]}, True, float("nan"), float("inf"), 10**400, [[[[1]]]]),
    {"result": {"result": {}}},
)


class Counted(SelectiveNB):
    """A classifier with a measure of its own."""

    def fold_figures(self, rows: Any, codes: Any) -> dict[str, float | None]:
        return {"n": float(len(codes)), "none": None}


def run(path: Path) -> Comparison:
    data = {
        "iris": tuple(part[::3] for part in load_iris(return_X_y=True)),
        "wine": lambda: tuple(part[::3] for part in load_wine(return_X_y=True)),
    }
    return compare_many({**METHODS, "own": Counted("all")}, data, PROTOCOL, results=path)


def figures(comparison: Comparison) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if "seconds" not in name} for row in comparison.rows]


@cache
def undamaged() -> tuple[list[bytes], list[dict[str, Any]]]:
    """The lines of a whole file, and its figures."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "results.jsonl"
        comparison = run(path)
        return path.read_bytes().splitlines(keepends=True), figures(comparison)


@st.composite
def damaged_files(draw: st.DrawFn) -> bytes:
    """A file with one or two kinds of damage."""
    lines = list(undamaged()[0])
    for _ in range(draw(st.integers(1, 2))):
        places = st.integers(0, len(lines) - 1)
        place = draw(places)
        match draw(st.sampled_from(("drop", "cut", "double", "move", "swap", "garble", "field", "nest"))):
            case "drop":
                del lines[place]
            case "cut":
                lines[place] = lines[place][: draw(st.integers(0, len(lines[place])))]
            case "double":
                lines.insert(draw(places), lines[place])
            case "move":
                lines.insert(draw(places), lines.pop(place))
            case "swap":
                other = draw(places)
                lines[place], lines[other] = lines[other], lines[place]
            case "garble":
                content = bytearray(lines[place] or b"?")
                for _ in range(draw(st.integers(1, 3))):
                    content[draw(st.integers(0, len(content) - 1))] = draw(
                        st.one_of(st.sampled_from(b'0123456789".,{}[] \n'), st.integers(0, 255))
                    )
                lines[place] = bytes(content)
            case "field":
                lines[place] = wrong_field(draw, lines[place])
            case "nest":
                depth = draw(st.sampled_from((1, 3, 2000, 100_000)))
                lines[place] = b'{"result": ' * depth + lines[place].rstrip() + b"}" * depth + b"\n"
        if not lines:
            break
    return b"".join(lines)


def wrong_field(draw: st.DrawFn, text: bytes) -> bytes:
    """A line with a value of another type, or without a field, and a checksum that fits."""
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):  # damaged already
        line = None
    record = line
    if isinstance(line, dict):
        record = line.get("result") if draw(st.integers(0, 9)) else line
    if not isinstance(record, dict) or not record:
        return text
    name = draw(st.sampled_from(sorted(record)))
    if name == "figures" or draw(st.booleans()):
        record[name] = draw(st.sampled_from(WRONG_TYPES))
    else:
        del record[name]
    if "result" in line and "crc32" in line:
        line["crc32"] = zlib.crc32(json.dumps(line["result"]).encode())
    return json.dumps(line).encode() + b"\n"


# A digit of the version may change to that of another version, which continues with a warning.
@pytest.mark.filterwarnings(r"ignore:.* was begun with bayesieve \d+\.\d+:UserWarning")
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=damaged_files())
def test_damage_is_refused_in_a_sentence_or_does_no_harm(content: bytes, tmp_path: Path) -> None:
    expected = undamaged()[1]
    path = tmp_path / "results.jsonl"
    path.write_bytes(content)
    try:
        comparison = run(path)
    except ValueError as error:
        message = str(error)
        assert message.removeprefix("Data set 'wine': ").startswith(f"{path} "), message
        assert message.endswith((" the file.", "choose another file.")), message
        assert "\n" not in message
        assert path.read_bytes() == content or path.read_bytes().startswith(content[: content.rfind(b"\n") + 1])
    else:
        assert figures(comparison) == expected
        assert comparison.frame.height == len(expected)
        assert comparison.summary().height == 6


def test_a_changed_digit_is_noticed(tmp_path: Path) -> None:
    lines = undamaged()[0]
    path = tmp_path / "results.jsonl"
    place = next(k for k, line in enumerate(lines) if b'"result"' in line)
    at = lines[place].index(b'"accuracy":') + len(b'"accuracy":0.')
    changed = bytes(
        [*lines[place][:at], ord("1") if lines[place][at] != ord("1") else ord("2"), *lines[place][at + 1 :]]
    )
    path.write_bytes(b"".join([*lines[:place], changed, *lines[place + 1 :]]))
    with pytest.raises(ValueError, match=rf"is damaged in line {place + 1} "):
        run(path)


def begun_with(version: Any, folder: Path) -> Path:
    """The whole file with another version in its settings."""
    settings, *lines = undamaged()[0]
    changed = json.loads(settings)
    changed["comparison"]["bayesieve"] = version
    path = folder / "results.jsonl"
    path.write_bytes(b"".join([json.dumps(changed, separators=(",", ":")).encode() + b"\n", *lines]))
    return path


@pytest.mark.parametrize("version", ["002.0", "0.2,0", "0.2.0 ", "", "0.", "x", 2])
def test_a_damaged_version_is_refused(version: Any, tmp_path: Path) -> None:
    path = begun_with(version, tmp_path)
    with pytest.raises(ValueError, match="is damaged in line 1 "):
        run(path)


@pytest.mark.parametrize("version", ["0.1.9", "1.0rc1", "0.3.0.dev2+local.1"])
def test_results_of_another_version_are_continued_with_a_warning(version: str, tmp_path: Path) -> None:
    path = begun_with(version, tmp_path)
    with pytest.warns(UserWarning, match=f"was begun with bayesieve {re.escape(version)}; "):
        assert figures(run(path)) == undamaged()[1]


@pytest.mark.parametrize("kind", ["data", "method"])
def test_results_without_their_description_are_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(b"".join(line for line in undamaged()[0] if not line.startswith(f'{{"{kind}":'.encode())))
    with pytest.raises(ValueError, match=f"has results of {kind} '.*' but no line that describes it"):
        run(path)
