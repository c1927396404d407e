"""Sections of a report: caps, orders, and sums."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from bayesieve.report import sections
from bayesieve.report.data import CellGrid, LevelRow
from bayesieve.report.sections import (
    MAX_CONTRIBUTIONS,
    MAX_GRID_LEVELS,
    cell_map,
    evidence_amounts,
    explained_sections,
    feature_section,
    key_figures,
    kind_label,
    performance_section,
    shortened_label,
)
from tests.report.sample import synthetic


def test_table_and_details_are_capped_with_a_sentence():
    section = feature_section(synthetic(n_classes=2, n_features=1500, n_levels=2))
    assert len(section.shown) == sections.MAX_TABLE_ROWS
    assert "1,000 most important of 1,500 features" in section.table_cap
    assert len(section.details) == sections.MAX_DETAILS
    assert "100 most important of" in section.details_cap
    data = synthetic(n_classes=2, n_features=20)  # details only of features that are kept
    section = feature_section(data)
    assert [d.feature for d in section.details] == [f for f in data.features if f.weight > 0]
    assert section.table_cap is section.details_cap is None
    assert [rank in section.ranks_detailed for rank in range(1, 21)] == [f.weight > 0 for f in data.features]


def test_many_levels_keep_the_most_frequent_and_the_missing_one_in_order():
    levels = tuple(
        LevelRow(
            "missing" if i == 0 else f"v{i}", i == 0, float(i), i / 19900, (float(i), 0.0), (0.9, 0.1), (0.1, -0.1)
        )
        for i in range(200)
    )
    data = synthetic(n_classes=2, n_features=1)
    data = replace(data, features=(replace(data.features[0], weight=1.0, levels=levels, n_levels=200),))
    detail = feature_section(data).details[0]
    assert [level.label for _, level in detail.levels] == ["missing", *(f"v{i}" for i in range(151, 200))]
    assert "50 levels with most rows, of 200" in (detail.hidden or "")


def test_long_labels_are_shortened_and_kept_whole_up_to_a_limit():
    assert shortened_label("short") == ("short", None)
    short, full = shortened_label("{" + ", ".join(f"value {i}" for i in range(40)) + "}")
    assert len(short) <= sections.MAX_LABEL
    assert short.endswith("…")
    assert full is not None
    assert full.endswith("value 39}")
    short, full = shortened_label("x" * 100_000)
    assert full is not None
    assert len(full) < 1100
    assert "99,000 more characters" in full


def test_evidence_of_two_classes_is_the_log_odds_of_the_second():
    assert evidence_amounts((-0.3, 0.3)) == [(1, pytest.approx(0.6))]
    assert evidence_amounts((0.5, -1.0, 0.5)) == [(1, -1.0), (0, 0.5)]
    assert evidence_amounts((0.0,)) == []


def test_kind_names_the_type_where_it_adds_something():
    feature = synthetic().features[0]
    kinds = {("numeric", "number"): "numeric", ("numeric", "date"): "numeric, date"}
    kinds |= {("categorical", "boolean"): "categorical, boolean"}
    for (kind, type_), shown in kinds.items():
        assert kind_label(replace(feature, kind=kind, type=type_)) == shown


def test_key_figures_without_performance():
    data = synthetic()
    tiles = {tile.name: tile.value for tile in key_figures(data)}
    measured = {"AUC": "0.870", "Accuracy": "71.0%", "Log loss": "0.900", "Compression rate": "31.0%"}
    assert tiles == {"Features selected": "5", **measured}
    names = [tile.name for tile in key_figures(replace(data, performance=None))]
    assert names == ["Features selected", "Rows", "Classes", "Models evaluated"]
    assert [t.name for t in key_figures(replace(data, performance=None, search=None))] == names[:-1]


def test_charts_of_two_classes_and_of_many():
    assert [c.label for c in performance_section(synthetic(n_classes=2)).charts] == ["B"]  # those of the second only
    section = performance_section(synthetic(n_classes=40))
    assert len(section.charts) == 30
    assert "30 most frequent of 40" in section.charts_cap
    assert section.confusion == ()
    counts = [n for _, _, n, _ in section.confusions]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize(("n_classes", "n_features"), [(2, 60), (3, 6), (5, 60)])
def test_explained_rows_add_up_to_the_posterior_log_odds(n_classes, n_features):
    (section,) = explained_sections(synthetic(n_classes=n_classes, n_features=n_features))
    p = section.row.probabilities
    if n_classes > 2:  # the prediction and the runner-up
        assert sorted(p)[-2:] == [p[section.against], p[section.favoured]]
    prior, *amounts, posterior = (bar.value for bar in section.chart.bars)
    assert posterior == pytest.approx(math.log(p[section.favoured] / p[section.against]), abs=1e-9)
    assert prior + sum(amounts) == pytest.approx(posterior)
    assert amounts == [bar.value for _, _, bar in section.lines]
    sizes = [abs(bar.value) for _, source, bar in section.lines if source is not None]
    assert sizes == sorted(sizes, reverse=True)
    assert len(section.lines) <= MAX_CONTRIBUTIONS + 1
    if n_features == 60:  # the others are summed up
        name, source, _ = section.lines[-1]
        assert source is None
        assert name.endswith("other features")


def test_a_map_of_cells_has_groups_rows_and_favoured_classes() -> None:
    grid = CellGrid(
        ("age", "job"), (("<= 30", "> 30"), ("a", "b", "c")), ((0, 1, None), (1, 1, 0)), ((5, 2, 0), (1, 4, 3))
    )
    drawn = cell_map(grid, [[(1, 2.0)], [(1, -1.0)]], 4.0)
    assert drawn.names == ("age", "job")
    assert drawn.across == ("a", "b", "c")
    assert not drawn.is_cut
    assert [label for label, _ in drawn.lines] == ["<= 30", "> 30"]
    (first, second, empty), last = (cells for _, cells in drawn.lines)
    assert (first.group, first.rows, first.favoured, first.strength) == (1, 5, 1, 50.0)
    assert (second.group, second.rows, second.favoured, second.strength) == (2, 2, 0, 25.0)
    assert (empty.group, empty.rows) == (None, 0)
    assert [cell.group for cell in last] == [2, 2, 1]


def test_a_map_of_cells_of_several_classes_and_many_levels() -> None:
    n = MAX_GRID_LEVELS + 6
    labels = tuple(f"v{k}" for k in range(n))
    grid = CellGrid(("x", "y"), (labels, ("u", "v")), ((0, 0),) * n, tuple((float(k), 1.0) for k in range(n)))
    drawn = cell_map(grid, [[(2, -3.0), (0, 1.0)]], 2.0)
    assert drawn.is_cut
    assert [label for label, _ in drawn.lines] == list(labels[6:])
    assert drawn.lines[0][1][0].favoured == 0
    assert drawn.lines[0][1][0].strength == 50.0
