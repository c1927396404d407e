"""The same rows in every kind of source, and in other types that hold the same values, get the same probabilities."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import bayesieve
from bayesieve import SelectiveNB, TableEncoder, scan
from bayesieve.classifier.scoring import levels_of_columns
from bayesieve.table.reading import read_table
from tests.fuzz.case import Case, operation

Values = list[Any]
Rows = dict[str, Values]
_DAY, _MOMENT = dt.date(2023, 1, 1), dt.datetime(2023, 1, 1)
_TEXTS = ("a b", "é", "01", "2.0", "10%", "x,y", 'q"', "none of it")


def _words(yes: Any, no: Any) -> Callable[[Values], Values]:
    words = {True: yes, "yes": yes, False: no, "no": no}
    return lambda values: [None if value is None else words[value] for value in values]


def _each(form: Callable[[Any], Any]) -> Callable[[Values], Values]:
    return lambda values: [None if value is None else form(value) for value in values]


_TRUTH = [
    _words(True, False),
    _words(1, 0),
    _words("true", "false"),
    _words("YES", "NO"),
    _words("T", "F"),
    _words("1", "0"),
]
_DATES = ["%Y-%m-%d", "%Y-%m-%dT00:00:00", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y 00:00"]
_ORDERED = 2  # of these show the order of day and month without other rows
_FORMS: dict[str, list[Callable[[Values], Values]]] = {
    "number": [list, _each(repr), _each(lambda value: f" {value:.6e} ")],
    "whole": [list, _each(float), _each(str), _each(lambda value: f"{value}.0")],
    "flag": _TRUTH,
    "answer": [list, *_TRUTH],
    "text": [list],
    "day": [
        list,
        _each(lambda value: dt.datetime.combine(value, dt.time())),
        *(_each(lambda value, form=form: value.strftime(form)) for form in _DATES),
    ],
    "moment": [list, _each(str), _each(dt.datetime.isoformat), _each(lambda value: f"{value.isoformat(' ')}Z")],
}
"""How a column of each kind may be held, with the same values as in training, which are the first form."""


def _column(case: Case, kind: str, codes: np.ndarray, most_missing: float = 0.1) -> Values:
    """Values that tell something about the codes of the classes, some of them missing."""
    rng, n = case.rng, codes.size
    level = codes + rng.integers(0, 3, n)
    values: Any = {
        "number": lambda: (level + rng.normal(size=n)).round(3).tolist(),
        "whole": lambda: level.tolist(),
        "flag": lambda: (level > 1).tolist(),
        "answer": lambda: np.where(level > 1, "yes", "no").tolist(),
        "text": lambda: [_TEXTS[at] for at in level + rng.integers(0, 5, n)],
        "day": lambda: [_DAY + dt.timedelta(int(at)) for at in 120 * level + rng.integers(0, 120, n)],
        "moment": lambda: [_MOMENT + dt.timedelta(microseconds=int(at)) for at in (level + rng.random(n)) * 9e12],
    }[kind]()
    share = case.pick((0.0, most_missing))
    return [None if gone else value for gone, value in zip(rng.random(n) < share, values, strict=True)]


def _written_csv(rows: pl.DataFrame, path: Path) -> Path:
    separator = "\t" if path.suffix == ".tsv" else ","
    rows.write_csv(path, separator=separator, datetime_format="%Y-%m-%d %H:%M:%S%.f")
    return path


def _workbook(rows: pl.DataFrame, path: Path) -> Path:
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        sheet, day = book.add_worksheet(), book.add_format({"num_format": "yyyy-mm-dd"})
        sheet.write_row(0, 0, rows.columns)
        for number, row in enumerate(rows.rows(), 1):
            for column, value in enumerate(row):
                if isinstance(value, dt.datetime):  # Excel has milliseconds
                    value = value.isoformat()
                write = sheet.write_string if isinstance(value, str) else sheet.write
                if value is not None:
                    write(number, column, value, *([day] if isinstance(value, dt.date) else []))
    return path


def _sqlite(rows: pl.DataFrame, path: Path) -> Path:
    def held(value: Any) -> Any:
        return str(value) if isinstance(value, (dt.date, dt.datetime)) else value

    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE t ({', '.join(rows.columns)})")
        marks = ", ".join("?" * rows.width)
        connection.executemany(f"INSERT INTO t VALUES ({marks})", [tuple(map(held, row)) for row in rows.rows()])
    return path


def _duckdb(rows: pl.DataFrame, path: Path) -> Path:
    import duckdb

    rows.write_parquet(path.with_suffix(".parquet"))
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT * FROM '{path.with_suffix('.parquet')}'")
    return path


def _in_file(write: Callable[[pl.DataFrame, Path], Any], ending: str, rows: pl.DataFrame, folder: Path) -> Path:
    path = folder / f"{len(list(folder.iterdir()))}{ending}"
    write(rows, path)
    return path


_IN_MEMORY: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda rows: rows,
    "lazy polars": lambda rows: bayesieve.scan(rows.lazy()),
    "categorical polars": lambda rows: rows.with_columns(pl.col(pl.String).cast(pl.Categorical)),
    "pandas": lambda rows: rows.to_pandas(),
    "pandas objects": lambda rows: pd.DataFrame(rows.to_dict(as_series=False), dtype=object),
    "nullable pandas": lambda rows: rows.to_pandas().convert_dtypes(),
    "pandas of Arrow": lambda rows: rows.to_pandas(use_pyarrow_extension_array=True),
    "pyarrow": lambda rows: rows.to_arrow(),
    "objects": lambda rows: np.array(rows.rows(), dtype=object).reshape(rows.shape),
}
_IN_FILES: dict[str, Callable[[pl.DataFrame, Path], Path]] = {
    "CSV": partial(_in_file, _written_csv, ".csv"),
    "TSV": partial(_in_file, _written_csv, ".tsv"),
    "Excel": partial(_in_file, _workbook, ".xlsx"),
    "SQLite": partial(_in_file, _sqlite, ".db"),
    "DuckDB": partial(_in_file, _duckdb, ".duckdb"),
    "Parquet": partial(_in_file, pl.DataFrame.write_parquet, ".parquet"),
    "Arrow": partial(_in_file, pl.DataFrame.write_ipc, ".arrow"),
}


def _are_close(found: np.ndarray, expected: np.ndarray) -> bool:
    return found.shape == expected.shape and np.allclose(found, expected, rtol=0, atol=1e-9)


@operation(1.5)
def sources(case: Case) -> None:
    """Rows in every kind of source, in any type that holds their values, alone and together, are predicted alike."""
    n = case.integer(60, 300)
    codes = case.rng.integers(0, 2, n)
    # The first column is never missing: a row without any value is no row of a workbook.
    kinds = ["number", *(case.pick(sorted(_FORMS)) for _ in range(case.integer(1, 5)))]
    training: Rows = {f"c{i}_{kind}": _column(case, kind, codes, 0.1 * (i > 0)) for i, kind in enumerate(kinds)}
    frame = pl.DataFrame(training)
    as_categories = [name for name in training if name.endswith(("whole", "day")) and case.chance(0.2)]
    model = SelectiveNB("all", encoder=TableEncoder(kinds=dict.fromkeys(as_categories, "categorical")))
    with case.step("fit"):
        model.fit(frame, codes)
    expected = model.predict_proba(frame)
    for _ in range(4):
        forms = {name: case.integer(0, len(_FORMS[kind]) - 1) for name, kind in zip(training, kinds, strict=True)}
        held = {name: _FORMS[kind][forms[name]](training[name]) for name, kind in zip(training, kinds, strict=True)}
        rows = pl.DataFrame({name: pl.Series(values, strict=False) for name, values in held.items()})
        at = case.integer(0, n - 1)
        is_ordered = not any(name.endswith("day") and form >= 2 + _ORDERED for name, form in forms.items())
        for part, wanted in ((rows, expected), (rows[at : at + 1], expected[at : at + 1])):
            if part.height == 1 and not is_ordered:
                continue  # 3/4/2024 alone is not clear
            name = case.pick([*_IN_MEMORY, *_IN_FILES])
            case.note(f"{name}: {part.head(1).rows(named=True)} {part.schema} as categories {as_categories}")
            with case.step(f"predict {name}", must=True):
                if name in _IN_MEMORY:
                    found = model.predict_proba(_IN_MEMORY[name](part))
                else:
                    path = _IN_FILES[name](part, case.folder)
                    found = model.predict_proba(str(path))
                    again = model.predict_proba(read_table(path, levels_of_columns(model))[:, list(training)])
                    case.check(np.array_equal(found, again), f"read and scanned {name}", (found, again))
                    again = model.predict_proba(scan(str(path)))
                    case.check(
                        np.array_equal(found, again), f"scanned before the model is known, {name}", (found, again)
                    )
                case.check(_are_close(found, wanted), f"the same rows in {name}", (found, wanted))
        with case.step("predict a row", must=True):
            if is_ordered:
                row = model.predict_proba({name: values[at] for name, values in held.items()})
                case.check(_are_close(row[0], expected[at]), "one row by name", (row, expected[at]))


@operation(0.5)
def dates_in_order(case: Case) -> None:
    """One date of two readings is read in the order of day and month that the training table proves, in any source."""
    n = case.integer(60, 200)
    codes = case.rng.integers(0, 2, n)
    form = case.pick(("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d/%m/%Y 00:00"))
    days = _column(case, "day", codes)
    if not any(day is not None and day.day > 12 for day in days):
        return
    held = [None if day is None else day.strftime(form) for day in days]
    numbers = _column(case, "number", codes, 0.0)
    labels = [("no", "yes")[code] for code in codes]
    name = case.pick(("CSV", "TSV", "Excel", "SQLite"))
    case.note(f"trained on {name}: {form}")
    with case.step("fit", must=True):
        table = _IN_FILES[name](pl.DataFrame({"day": held, "number": numbers, "label": labels}), case.folder)
        model = SelectiveNB("all").fit(scan(str(table)), "label")
    for at in case.rng.integers(0, n, 4).tolist():
        row = pl.DataFrame({"day": pl.Series([held[at]], dtype=pl.String), "number": [numbers[at]]})
        name = case.pick([*_IN_MEMORY, *_IN_FILES])
        case.note(f"{name}: {row.rows()}")
        with case.step(f"predict {name}", must=True):
            source = _IN_MEMORY[name](row) if name in _IN_MEMORY else str(_IN_FILES[name](row, case.folder))
            typed = pl.DataFrame({"day": pl.Series([days[at]], dtype=pl.Date), "number": [numbers[at]]})
            found, wanted = model.predict_proba(source), model.predict_proba(typed)
            case.check(_are_close(found, wanted), f"one date in {name}", (found, wanted))
