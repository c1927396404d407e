"""Dates in text columns are read in one order of day and month, the same in training and scoring."""

from __future__ import annotations

import datetime as dt
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB, load, merge, scan
from bayesieve.classifier.scoring import levels_of_columns, scan_for
from bayesieve.table.reading import read_table
from bayesieve.table.text_types import TextType

DAY = dt.date(2024, 3, 14)
MOMENT = dt.datetime(2024, 3, 14, 15, 9, 26, 535_897)


@pytest.mark.parametrize(
    ("texts", "value"),
    [
        (["2024-03-14", "2024-01-02"], DAY),
        (["2024/3/14", "2024/01/02"], DAY),
        (["2024-3-14", "2024-01-02"], DAY),
        (["14.03.2024", "2.1.2024", "01.02.2024"], DAY),
        (["14/03/2024", "01/02/2024", "2024-01-02"], DAY),
        (["14-3-2024", None, "01-02-2024"], DAY),
        (["3/14/2024", "01/02/2024", ""], DAY),
        (["14 Mar 2024", "1 May 2024", "2-Sep-2024", "14. march 2024"], DAY),
        (["March 14, 2024", "Sept. 2 2024", "may 1, 2024", "1/31/2024"], DAY),
        (["14-MAR-2024 15:09:26.535897", "1 Jan 2024"], MOMENT),
        (["2024-03-14T15:09:26.535897", "2024-01-02"], MOMENT),
        (["2024-03-14T17:09:26.535897+02:00", "2024-01-02 10:00:00Z"], MOMENT),
        (["14.03.2024 15:09:26.535897", "01.02.2024"], MOMENT),
        (["3/14/2024, 3:09:26.535897 pm", "1/2/2024 12:00 AM"], MOMENT),
        (["2024/03/14 15:09:26.535897", "2024/03/14"], MOMENT),
    ],
)
def test_common_forms_are_dates(texts: list[str | None], value: dt.date) -> None:
    assert TextType().add(pl.Series(texts))[0] == value
    parts = TextType()
    for text in reversed(texts):  # the proof comes last
        parts.add(pl.Series([text], dtype=pl.String))
    assert parts.read(pl.Series(texts))[0] == value


@pytest.mark.parametrize(
    "texts",
    [
        ["03/04/2024", "01/12/2024"],  # no value proves the order
        ["03.04.2024"],
        ["14/03/2024", "03/14/2024"],  # values prove both
        ["03.14.2024", "01.02.2024"],  # no form in use
        ["14/03/2024", "30/02/2024"],
        ["14/03.2024", "14/03.2024"],
        ["14/03/24", "31/12/23"],
        ["14/03/2024 25:00"],
        ["14/03/2024", "soon"],
        ["14 Mar 2024", "14 Mai 2024"],
        ["14 Marc 2024"],
        ["30 Feb 2024"],
        ["May 2024"],
    ],
)
def test_other_texts_stay_texts(texts: list[str]) -> None:
    inferred = TextType()
    assert inferred.add(pl.Series(texts)).to_list() == texts
    assert inferred.dtype == pl.String


def test_order_of_day_and_month_is_that_of_the_file(tmp_path: Path) -> None:
    days = pl.date_range(dt.date(2024, 1, 1), dt.date(2024, 12, 30), eager=True)
    y = np.where((days.dt.month() > 6).to_numpy(), "late", "early")
    model = SelectiveNB(pairs=0).fit(pl.DataFrame({"d": days}), y)
    expected = model.predict_proba(pl.DataFrame({"d": days}))
    for form in ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%Y-%m-%dT00:00:00"):
        texts = pl.DataFrame({"d": days.dt.strftime(form)})
        texts.write_csv(path := tmp_path / "rows.csv")
        if form != "%Y-%m-%dT00:00:00":
            assert read_table(path)["d"].equals(days)
        sources = [
            texts,
            read_table(path, levels_of_columns(model)),
            scan(path),
            texts.to_pandas(),
            texts.to_arrow(),
            str(path),
        ]
        for rows in sources if form == "%d.%m.%Y" else sources[:3]:
            assert np.array_equal(model.predict_proba(rows), expected)
    with pytest.warns(UserWarning, match="'d' is read as a date but holds '03/04/2024'"):
        model.predict_proba(pl.DataFrame({"d": ["03/04/2024", "04/05/2024"]}))


def _dated_rows(form: str) -> pl.DataFrame:
    """Rows whose class follows from the half of the year."""
    rng = np.random.default_rng(0)
    days = [dt.date(2024, 1, 1) + dt.timedelta(int(day)) for day in rng.integers(0, 366, 400)]
    labels = np.where(rng.random(400) < np.where([day.month > 6 for day in days], 0.9, 0.1), "yes", "no")
    return pl.DataFrame({"sold": [day.strftime(form) for day in days], "y": labels})


def _into_sqlite(rows: pl.DataFrame, path: Path) -> str:
    columns = ", ".join(f"{name} text" for name in rows.columns)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"create table rows ({columns})")
        connection.executemany(f"insert into rows values ({', '.join('?' * rows.width)})", rows.rows())
    return f"{path}::rows"


@pytest.fixture(scope="module", params=["%m/%d/%Y", "%d/%m/%Y"])
def ordered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[SelectiveNB, dt.date]:
    """A model of dates in one order of day and month, and the day that 11/02/2024 is."""
    folder = tmp_path_factory.mktemp("dates")
    _dated_rows(request.param).write_csv(folder / "sales.csv")
    model = SelectiveNB().fit(scan(folder / "sales.csv"), "y")
    return model, dt.datetime.strptime("11/02/2024", request.param).date()


def test_one_date_of_two_readings_is_read_in_the_order_of_training(
    ordered: tuple[SelectiveNB, dt.date], tmp_path: Path
) -> None:
    model, day = ordered
    row, typed = pl.DataFrame({"sold": ["11/02/2024"]}), pl.DataFrame({"sold": [day]})
    row.write_csv(tmp_path / "row.csv")
    table = _into_sqlite(row, tmp_path / "row.db")
    model.save(tmp_path / "model.json")
    new = _dated_rows("%Y-%m-%d").with_columns(pl.col("sold").str.to_date())
    updated = model.update(new[["sold"]], new["y"])
    for made in (model, load(tmp_path / "model.json"), merge([model, model]), model.edit().done(), updated):
        sources = [row, row.to_pandas(), {"sold": "11/02/2024"}, scan_for(made, table)]
        sources += [read_table(tmp_path / "row.csv", levels_of_columns(made)), scan_for(made, tmp_path / "row.csv")]
        for source in sources:
            np.testing.assert_array_equal(made.predict_proba(source), made.predict_proba(typed))
        assert made.explain(row)["value"][0] == f"{day}"


def test_a_date_that_contradicts_the_order_of_training_gets_one_sentence(ordered: tuple[SelectiveNB, dt.date]) -> None:
    model, day = ordered
    other, order = ("25/12/2024", "month before the day") if day.month == 11 else ("12/25/2024", "day before the month")
    with pytest.warns(UserWarning, match=f"'sold' holds '{other}', but dates of the training table have the {order}"):
        both = model.predict_proba(pl.DataFrame({"sold": [other, "11/02/2024"]}))
    days = pl.DataFrame({"sold": [dt.date(2024, 12, 25), day]})
    np.testing.assert_array_equal(both, model.predict_proba(days))


def test_every_source_of_training_proves_the_order(tmp_path: Path) -> None:
    rows = _dated_rows("%m/%d/%Y")
    rows.write_csv(tmp_path / "one.csv")
    rows.write_csv(tmp_path / "two.csv")
    table = _into_sqlite(rows, tmp_path / "rows.db")
    orders: dict[str, bool] = {}
    read_table(table, date_orders=orders)
    assert orders == scan(tmp_path / "*.csv").date_orders == scan(table).date_orders == {"sold": False}
    _dated_rows("%d/%m/%Y").write_csv(tmp_path / "two.csv")
    assert scan(tmp_path / "*.csv").date_orders == {}
