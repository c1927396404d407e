"""The score of a row depends on the row and the model only, never on the rows it is scored with."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bayesieve import load
from bayesieve.table import read_table
from tests.cli.conftest import Run, invoke

N = 240
KINDS = {
    "whole": lambda i: str(20 + i * 37 % 50 + 30 * (i % 2)),
    "number": lambda i: ("NA", "", "?")[i % 3] if i % 11 == 0 else f"{(i * 17 % 40) / 8 + i % 2}",
    "large": lambda i: f"1e{i % 2 * 3 + i % 4}",
    "zip": lambda i: ("007", "012", "0123", "A1")[i % 4],
    "code": lambda i: ("007", "012", "1", "2.0")[(i + (i % 9 == 0)) % 4],
    "flag": lambda i: ("true", "false")[(i + (i % 7 == 0)) % 2],
    "maybe": lambda i: "NA" if i % 13 == 0 else ("TRUE", "FALSE")[(i + (i % 5 == 0)) % 2],
    "word": lambda i: ("none", "NA", "1e3", "true", "3", "x y", "2020-01-01", "é")[(i + (i % 10 == 0)) % 8],
    "day": lambda i: f"20{10 + i % 2 * 4 + i % 5:02d}-0{1 + i % 9}-1{i % 10}",
    "moment": lambda i: f"2020-0{1 + i % 2 * 4 + i % 3}-01 0{i % 10}:00:00",
    "clock": lambda i: f"{8 + i % 2 * 4 + i % 3:02d}:1{i % 6}:00",
    "constant": lambda i: "5",
    "nothing": lambda i: "",
}
ODD = {
    "whole": ["007", "1e1", "+45", " 70 ", "abc", "NA", "", "true", "61.5"],
    "number": ["none", "2", "1.5", ".", "-", "null", "nan", "x", "1.0e0"],
    "large": ["1000", "1", "10000.0", "", "NA"],
    "zip": ["007", "7", "12", "A1", "none", ""],
    "code": ["7", "7.0", "007", "+12", "1e0", "true", "x", ""],
    "flag": ["unknown", "1", "0", "True", "FALSE", "", "NA", "1.0"],
    "maybe": ["", "none", "true", "1", "x"],
    "word": ["none", "NA", "1e3", "1000", "true", "True", "3", "3.0", " 3", "é", "2020-01-01", "", "null"],
    "day": ["2014-03-03", "2014-03-03 12:00:00", "NA", "soon", "", "20140303", "2014-3-3"],
    "moment": ["2020-05-01", "2020-05-01T03:00:00Z", "NA", "soon", "2020-05-01 03:00"],
    "clock": ["12:10:00.5", "noon", "NA", "12:10"],
    "constant": ["x", "NA", "", "7"],
    "nothing": ["x", "1", "NA", ""],
}


def _training() -> list[dict[str, str]]:
    return [{"y": ("no", "yes")[i % 2], **{name: make(i) for name, make in KINDS.items()}} for i in range(N)]


def _rows_to_score() -> list[dict[str, str]]:
    """Every odd value once among ordinary ones, rows of odd values only, and one without any value."""
    rows = []
    for name, values in ODD.items():
        for at, value in enumerate(values):
            rows.append({other: make(at * 5 + len(name)) for other, make in KINDS.items()} | {name: value})
    rows += [{name: values[at % len(values)] for name, values in ODD.items()} for at in range(13)]
    return [*rows, dict.fromkeys(KINDS, "")]


def _write(path: Path, rows: list[dict[str, str]], separator: str = ",") -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)
    return path


def _batches(n: int) -> list[list[int]]:
    """Rows alone, of them those that hold every odd value of a column, random batches, and all, shuffled or not."""
    shuffled = random.Random(1).sample(range(n), n)
    cuts = sorted(random.Random(2).sample(range(1, n), 6))
    parts = [shuffled[low:high] for low, high in zip([0, *cuts], [*cuts, n], strict=True)]
    return [*([i] for i in range(n) if i % 9 == 0 or i >= n - 14), *parts, shuffled, list(range(n))]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a table with every kind of column."""
    folder = tmp_path_factory.mktemp("mixed")
    _write(folder / "train.csv", _training())
    out = folder / "bayesieve-output"
    options = ("-t", "y", "--categorical", "code", "--no-report", "-s", "all", "-q")
    result = invoke("fit", folder / "train.csv", "-o", out, *options)
    assert result.exit_code == 0, result.stderr
    fitted = load(out / "model.json")
    types = {level.column: (level.kind, level.type) for level in (one.levels for one in fitted.scorecard_.features)}
    assert types == {
        **dict.fromkeys(("whole", "number", "large", "constant"), ("numeric", "number")),
        **dict.fromkeys(("zip", "word", "nothing"), ("categorical", "text")),
        **dict.fromkeys(("flag", "maybe"), ("categorical", "boolean")),
        "code": ("categorical", "number"),
        "day": ("numeric", "date"),
        "moment": ("numeric", "datetime"),
        "clock": ("numeric", "time"),
    }
    return out / "model.json"


def _lines(text: str) -> list[str]:
    return text.splitlines()[1:]


@pytest.mark.slow
def test_command_line(succeeds: Run, mixed: Path, tmp_path: Path) -> None:
    rows = _rows_to_score()
    whole = _lines(succeeds("predict", mixed, _write(tmp_path / "all.csv", rows)).stdout)
    explained = _explained(succeeds, mixed, tmp_path / "all.csv")
    assert len(whole) == len(rows)
    assert len(set(whole)) > 40
    for batch in _batches(len(rows)):
        path = _write(tmp_path / "batch.csv", [rows[i] for i in batch])
        assert _lines(succeeds("predict", mixed, path).stdout) == [whole[i] for i in batch], batch
        assert _explained(succeeds, mixed, path) == [explained[i] for i in batch], batch


def _explained(succeeds: Run, model: Path, path: Path) -> list[list[str]]:
    """The explanation of every row, without row numbers."""
    rows: dict[str, list[str]] = {}
    for line in _lines(succeeds("explain", model, path, "-o", "-").stdout):
        number, _, rest = line.partition(",")
        rows.setdefault(number, []).append(rest)
    return list(rows.values())


def test_one_unreadable_value_leaves_the_other_rows_alone(succeeds: Run, mixed: Path, tmp_path: Path) -> None:
    rows = _training()[:20]
    clean = succeeds("predict", mixed, _write(tmp_path / "t.csv", rows))
    assert clean.stderr == ""
    rows[3] |= {"whole": "abc", "flag": "unknown"}
    odd = succeeds("predict", mixed, _write(tmp_path / "t.csv", rows))
    assert [a == b for a, b in zip(_lines(clean.stdout), _lines(odd.stdout), strict=True)] == [
        i != 3 for i in range(20)
    ]
    assert odd.stderr == (
        "warning: Column 'whole' is read as a number but holds 'abc': 1 of 20 values cannot be read and count as never "
        "seen in training.\n"
    )


def test_blank_lines_and_rows_without_values(succeeds: Run, mixed: Path, tmp_path: Path) -> None:
    rows = [dict.fromkeys(KINDS, ""), *_rows_to_score()[:2], dict.fromkeys(KINDS, "")]
    path = _write(tmp_path / "t.csv", rows)
    whole = _lines(succeeds("predict", mixed, path).stdout)
    assert len(whole) == 4
    assert whole[0] == whole[3]
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([lines[0], "", lines[1], "", *lines[2:], "", ""]) + "\n", encoding="utf-8")
    assert _lines(succeeds("predict", mixed, path).stdout) == whole
    path.write_text("\n".join([*lines[:4], "", lines[4].replace(",", ',""', 1)]) + "\n", encoding="utf-8")
    assert _lines(succeeds("predict", mixed, path).stdout) == whole
    path.write_text("\n".join([*lines[:4], "", ""]) + "\n", encoding="utf-8")
    assert _lines(succeeds("predict", mixed, path).stdout) == whole[:3]


def test_a_line_in_another_encoding_changes_no_other(succeeds: Run, tmp_path: Path) -> None:
    rows = [{"word": ("é", "ö", "ü")[i % 3], "n": str(i % 5), "y": ("u", "v", "v")[i % 3]} for i in range(90)]
    _write(tmp_path / "train.csv", rows)
    succeeds("fit", "train.csv", "-t", "y", "--no-report", "-s", "all", "-q")
    for row in rows:
        del row["y"]
    path = _write(tmp_path / "t.csv", rows)
    whole = _lines(succeeds("predict", "bayesieve-output/model.json", path).stdout)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[5] = lines[5].decode().encode("cp1252")
    path.write_bytes(b"".join(lines))
    assert _lines(succeeds("predict", "bayesieve-output/model.json", path).stdout) == whole
    assert read_table(path)["word"].to_list() == [row["word"] for row in rows]


def test_separators_decimal_commas_and_names_of_columns(succeeds: Run, tmp_path: Path) -> None:
    """An index column without a name is numbered, also where new rows have no values in it."""
    rows = [
        {"": "" if i % 9 == 0 else str(i % 2), "b,c": f"x{i % 2},{i % 3}", "y": ("u", "v")[i % 2]} for i in range(80)
    ]
    rows = [row | {"a": f"{(i % 2) + i % 5 / 8}".replace(".", ",")} for i, row in enumerate(rows)]
    _write(tmp_path / "train.csv", rows, ";")
    succeeds("fit", "train.csv", "-t", "y", "--no-report", "-s", "all", "-q")
    for row in rows:
        del row["y"]
    whole = _lines(succeeds("predict", "bayesieve-output/model.json", _write(tmp_path / "t.csv", rows, ";")).stdout)
    for i in range(10):
        for row, separator in ((rows[i], ";"), (rows[i] | {"a": rows[i]["a"].replace(",", ".")}, ",")):
            path = _write(tmp_path / "one.csv", [row], separator)
            assert _lines(succeeds("predict", "bayesieve-output/model.json", path).stdout) == [whole[i]]


def test_a_model_of_one_column_scores_every_line(succeeds: Run, tmp_path: Path) -> None:
    rows = [{"a": "" if i % 5 == 0 else ("p", "q")[i % 2], "y": ("u", "v")[i % 2]} for i in range(80)]
    _write(tmp_path / "train.csv", rows)
    succeeds("fit", "train.csv", "-t", "y", "--no-report", "-s", "all", "-q")
    (tmp_path / "t.csv").write_text('a\np\n\nq\n""\n\n', encoding="utf-8")
    p, missing, q, *others = _lines(succeeds("predict", "bayesieve-output/model.json", "t.csv").stdout)
    assert others == [missing, missing]
    assert len({p, q, missing}) == 3


@pytest.mark.filterwarnings("ignore:Column", "ignore:Some values were never seen")
def test_frames_of_any_type_score_as_the_command_line(succeeds: Run, mixed: Path, tmp_path: Path) -> None:
    rows = _rows_to_score()
    printed = pl.read_csv(io.StringIO(succeeds("predict", mixed, _write(tmp_path / "all.csv", rows)).stdout))
    fitted = load(mixed)
    names = fitted.feature_names_in_.tolist()
    texts = pl.DataFrame([{name: row[name] for name in names} for row in rows], schema=dict.fromkeys(names, pl.String))
    pandas = texts.to_pandas()
    frames: list[Any] = [texts, pandas, pandas.astype("category"), texts.cast(pl.Categorical), texts.to_arrow()]
    for frame in frames:
        assert np.array_equal(fitted.predict_proba(frame), printed.select("P(no)", "P(yes)").to_numpy())


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        ("whole", "45", [45, 45.0, np.float32(45), np.int8(45)]),
        ("flag", "true", [True, 1, 1.0, "True", "1"]),
        ("flag", "false", [False, 0, 0.0, "FALSE"]),
        ("code", "007", [7, 7.0, "7"]),
        ("word", "true", [True]),
        ("word", "3", [3, 3.0]),
        ("day", "2014-03-03", [pd.Timestamp("2014-03-03"), pd.Timestamp("2014-03-03").date(), "20140303"]),
        ("moment", "2020-05-01", [pd.Timestamp("2020-05-01").date(), pd.Timestamp("2020-05-01")]),
        ("word", "never seen", [10**400]),
    ],
)
def test_types_of_new_rows_do_not_matter(mixed: Path, name: str, text: str, values: list[Any]) -> None:
    """What a value is counts, not the type that a library gave its column."""
    fitted = load(mixed)
    ordinary = {other: make(8) for other, make in KINDS.items()} | {"nothing": None}

    def scored(series: Any) -> np.ndarray:
        frame = pd.DataFrame({other: [value] * len(series) for other, value in ordinary.items()}, dtype=object)
        frame[name] = series
        return fitted.scorecard_.joint(frame[fitted.feature_names_in_])

    expected = scored(pd.Series([text]))
    for value in values:
        for dtype in (None, object, "category"):
            assert np.array_equal(scored(pd.Series([value], dtype=dtype)), expected), (value, dtype)
