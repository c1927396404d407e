"""Dates in text columns, in training and in rows to be scored."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB, scan
from bayesieve.classifier.predicting import levels_of_columns
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
        for rows in (
            texts,
            texts.to_pandas(),
            texts.to_arrow(),
            read_table(path, levels_of_columns(model)),
            scan(path),
            str(path),
        ):
            assert np.array_equal(model.predict_proba(rows), expected)
    with pytest.warns(UserWarning, match="'d' is read as a date but holds '03/04/2024'"):
        model.predict_proba(pl.DataFrame({"d": ["03/04/2024", "04/05/2024"]}))
