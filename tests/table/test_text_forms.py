"""Columns of numbers and dates that are read as text are named, with the values that are to blame."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB, TableEncoder
from bayesieve.table.text_forms import form_of
from tests.cases import mostly_slow

AMOUNTS = [f"{i + 0.25:.2f}" for i in range(200)]


@pytest.mark.parametrize(
    ("texts", "kind", "others"),
    [
        ([*AMOUNTS, "12O.5"], "number", ["12O.5"]),
        ([*AMOUNTS, "unknown", " n.a. ", "NA", ""], "number", ["unknown", "n.a."]),
        ([*map(str, range(18, 90)), "#VALUE!"], "number", ["#VALUE!"]),
        ([f"{1000 * i:,}.50" for i in range(1, 30)], "formatted number", []),
        ([f"{1000 * i:,}".replace(",", ".") + ",5" for i in range(1, 30)], "formatted number", []),
        ([f"{i} %" for i in range(100)], "formatted number", []),
        ([f"-€{i}" for i in range(100)], None, []),
        ([*(f"{i}.5%" for i in range(100)), "none of them"], "formatted number", ["none of them"]),
        (["03/04/2024", "04/05/2024", "05/06/2024"], "date", []),
        (["13/04/2024", "04/13/2024", "05/06/2024"], "date", []),
        ([*(f"{i:02}.11.2024 10:00" for i in range(1, 29)), "soon"], "date", ["soon"]),
        ([f"{i:02}.11.2024" for i in range(1, 29)], "date", []),
        ([f"2024-11-{i:02}" for i in range(1, 29)], "date", []),
        ([f"{i:02}.11.24" for i in range(1, 29)], "short date", []),
        ([f"{i % 12 + 1}/{i}/24" for i in range(1, 29)], "short date", []),
        ([f"{i}.{i}.24" for i in range(29)], None, []),
        (AMOUNTS, None, []),
        ([*AMOUNTS, "n/a", ""], "number", []),
        ([*AMOUNTS, " "], None, []),
        ([*AMOUNTS[:8], "x"], None, []),
        ([*AMOUNTS, *(f"A{i}" for i in range(30))], None, []),
        (["a", "b", "2024-01-01"], None, []),
        ([], None, []),
    ],
)
def test_form_of_texts(texts: list[str], kind: str | None, others: list[str]) -> None:
    form = form_of(texts)
    assert (None if form is None else form.kind) == kind
    assert (form.others if form else []) == others


def test_remedies_of_numbers_read_as_text(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    amounts = rng.normal(100, 30, 1500).round(2)
    y = (amounts + rng.normal(0, 20, 1500) > 100).astype(int)
    texts = np.where(rng.random(1500) < 0.05, "unknown", amounts.astype(str))
    frame = pl.DataFrame({"amount": texts, "y": y})
    X = frame.select("amount")
    (caution,) = (one for one in SelectiveNB().fit(X, y).cautions_ if "amount" in one.columns)
    assert caution.sentence.startswith("Column 'amount' is read as text: 1 of its")
    for remedy in (
        "'unknown'",
        "special: ['unknown']",
        "--numeric amount",
        "TableEncoder(kinds={'amount': 'numeric'})",
    ):
        assert remedy in caution.sentence
    by_levels = SelectiveNB(levels={"amount": {"special": ["unknown"]}}).fit(X, y)
    expected = by_levels.predict_proba(X)
    frame.write_csv(path := tmp_path / "rows.csv")
    row = int(np.flatnonzero(texts == "unknown")[0])
    for rows in (X, X.to_pandas(), str(path)):
        assert np.allclose(by_levels.predict_proba(rows), expected)
    assert np.allclose(by_levels.predict_proba({"amount": "unknown"}), expected[row])
    by_kind = SelectiveNB(encoder=TableEncoder(kinds={"amount": "numeric"}))
    with pytest.raises(ValueError, match=f"'amount' is read as a number but row {row} holds 'unknown'"):
        by_kind.fit(X, y)
    corrected = X.with_columns(pl.col("amount").replace("unknown", "NA"))
    assert by_kind.fit(corrected, y).encoder_.levels_[0].kind == "numeric"


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ([f"{1 + i % 28}.{1 + i % 12}.24" for i in range(201)], "such as '1.1.24', but their years have two digits"),
        ([*AMOUNTS, "n/a"], "is read as text, but its values are numbers, except those that mark missing values"),
        (
            [f"{1 + i % 12}/{1 + i % 28}/2024" for i in range(201)],
            "is read as text, but it contains dates such as '1/1/2024'",
        ),
    ],
)
def test_text_in_frames_that_a_file_would_give_as_numbers_or_dates(texts: list[str], sentence: str) -> None:
    with pytest.warns(UserWarning, match=sentence):
        model = SelectiveNB().fit(pl.DataFrame({"x": texts}), np.arange(len(texts)) % 2)
    assert not any("Exclude it" in caution.sentence for caution in model.cautions_)


@pytest.mark.parametrize("n_others", mostly_slow([1, 3, 30, 90], [1, 90]))
def test_the_special_values_that_a_caution_prints_are_all_that_a_fit_needs(n_others: int) -> None:
    y = np.arange(1200) % 2
    texts = [f"{value:.4f}" for value in np.random.default_rng(0).normal(size=1200) + 2 * y]
    texts[:n_others] = [f"odd {number}" for number in range(n_others)]
    fitted = SelectiveNB().fit(pl.DataFrame({"size": texts}), y)
    (caution,) = (caution for caution in fitted.cautions_ if caution.kind == "numbers as text")
    printed = re.search(r"special: (\[.*?\]) in levels=", caution.sentence)
    assert (printed is None) == (n_others == 90)
    if printed is None:
        assert "special: a list of all 90 in levels=" in caution.sentence
        return
    rules = {"size": {"special": ast.literal_eval(printed[1])}}
    fitted = SelectiveNB(levels=rules).fit(pl.DataFrame({"size": texts}), y)
    assert fitted.scorecard_["size"].kind == "numeric"
