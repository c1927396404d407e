"""Cells whose large contributions rest on few rows, in the scorecard and on the page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB
from bayesieve.classifier.report_data import of_features, report_data
from bayesieve.report import render_report
from bayesieve.scorecard import Feature
from bayesieve.scorecard.support import weakly_supported
from bayesieve.table.pair_levels import PairLevels

ROWS = {"a": 100, "b": 90, "rare": 6, "scarce": 6}


@pytest.fixture(scope="module")
def model() -> SelectiveNB:
    """A model of a word whose rare values are of one class each."""
    words = [word for word, n in ROWS.items() for _ in range(n)]
    y = np.where(np.array(words) == "rare", 1, np.arange(len(words)) % 2) * (np.array(words) != "scarce")
    rules = {"word": {"groups": [[word] for word in ROWS]}, "number": {"cuts": [0.2, 0.4, 0.6, 0.8]}}
    number = np.linspace(0.0, 1.0, len(words))
    X = pl.DataFrame({"word": words, "number": number})
    return SelectiveNB(selector="all", calibrate=False, pairs=0, levels=rules).fit(X, y)


def with_contributions(feature: Feature, log_odds: list[float], rows: list[float]) -> Feature:
    halves, counts = np.array(log_odds) / 2.0, np.array(rows) / 2.0
    return replace(
        feature, contributions=np.stack([-halves, halves], axis=1), counts=np.stack([counts, counts], axis=1)
    )


def test_each_category_stands_alone(model: SelectiveNB) -> None:
    word = model.scorecard_["word"]
    cells = [word.labels[first] for first, last in weakly_supported(word) if first == last]
    assert sorted(cells) == ["rare", "scarce"]
    assert weakly_supported(with_contributions(word, [1.01, 0.99, -2.0, -2.0], [9, 9, 9, 10])) == [(0, 0), (2, 2)]


@pytest.mark.parametrize(
    ("last", "weak"), [([1.5, 1.5], []), ([0.5, 1.5], [(-1, -1)]), ([-1.5, 1.5], [(-2, -2), (-1, -1)])]
)
def test_neighbours_of_one_sign_on_a_curve_share_their_rows(
    model: SelectiveNB, last: list[float], weak: list[tuple[int, int]]
) -> None:
    number = model.scorecard_["number"]
    n = number.cells.n_levels
    curve = with_contributions(number, [*[0.0] * (n - 2), *last], [6.0] * n)
    assert weakly_supported(curve) == [(n + first, n + end) for first, end in weak]


def test_cells_of_a_surface_share_their_rows_with_those_of_the_same_sign(model: SelectiveNB) -> None:
    parts = [replace(model.scorecard_["word"].levels, name=name, column=name) for name in ("u", "v")]
    grid = np.arange(16).reshape(4, 4)
    levels = PairLevels.of(parts, grid, np.ones((4, 4, 2)), 0.0)
    surface = replace(model.scorecard_["word"], levels=levels, cells=levels)
    odds = [1.5, 0.0, -1.5, 1.5, *[0.0] * 12]
    for rows, weak in ((4.0, [(0, 0), (3, 3), (2, 2)]), (6.0, [(2, 2)]), (11.0, [])):
        found = weakly_supported(with_contributions(surface, odds, [rows] * 16))
        assert sorted(found) == sorted(weak)


def test_the_page_names_them_unless_small_cells_are_joined(model: SelectiveNB) -> None:
    caution = "Contributions above 1 rest on fewer than 10 training rows: "
    (word,) = [feature for feature in of_features(model).features if feature["name"] == "word"]
    assert word["caution"] == caution + "'rare' and 'scarce'. Check them against what you know."
    assert word["caution"].replace("'", "&#39;") in render_report(report_data(model, min_count=1))
    (word,) = [feature for feature in of_features(model, min_count=20).features if feature["name"] == "word"]
    assert word["caution"] == caution + "2 cells. Check them against what you know."
