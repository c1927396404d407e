"""Figures of searches: their data are the steps, means and folds, and their captions say so."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bayesieve.report import path_figure
from bayesieve.report.charts import good_end, thinned
from bayesieve.report.search import alternates, by_size, needs_logarithm, value_at
from tests.report.paths import floating_trace, forward_trace, steps, wrapper_trace


def test_a_forward_search_stands_over_its_sizes() -> None:
    figure = path_figure(forward_trace())
    data = figure.data
    assert data["features"].to_list() == [0, 1, 2, 3, 4]
    assert data["feature"].to_list() == [None, "a", "b", "c", "d"]
    assert data["criterion"].to_list() == [0.5, 0.3, 0.2, 0.18, 0.17]
    assert data["chosen"].to_list() == [False, False, True, False, False]
    errors = [math.sqrt(v * (1 - v) / 400) for v in data["validation"]]
    np.testing.assert_allclose(data["high"] - data["validation"], errors)
    np.testing.assert_allclose(data["validation"] - data["low"], errors)
    guide, held_out = figure.chart["vconcat"]
    assert [part["mark"]["type"] for part in held_out["layer"]].count("area") == 1
    assert not any(part["mark"]["type"] == "area" for part in guide["layer"])
    assert held_out["layer"][-1]["encoding"]["text"] == {"value": "2 features, 0.2000"}
    assert "The chosen subset has 2 features: error rate 0.2000 ± 0.0200 on the validation rows." in figure.caption
    assert figure.table().heads[-1] == "chosen"


def test_phases_have_names_and_starts_lie_over_one_another() -> None:
    phases = path_figure(floating_trace()).data
    assert phases["walk"].unique(maintain_order=True).to_list() == ["1 dropping", "2 adding"]
    assert phases["main"].all()
    walks = [
        [(0, True, 90.0, math.nan), (1, True, 80.0, math.nan)],
        [(1, True, 85.0, math.nan), (0, True, 70.0, math.nan)],
    ]
    trace = wrapper_trace(walks, starts=[([], 100.0, math.nan)] * 2, criterion="map", validation_total=None)
    starts = path_figure(trace).data
    assert starts.filter(starts["main"])["walk"].unique().to_list() == ["2"]  # the best, drawn last
    assert "validation" not in starts.columns


def test_thousands_of_steps_are_thinned_but_the_chosen_one_stays() -> None:
    n = 1500
    values = [0.6 - 0.00009 * i if i < 1321 else 0.49 + 0.00001 * i for i in range(n)]
    trace = wrapper_trace(
        [[(i, True, v, v + 0.01) for i, v in enumerate(values)]], names=tuple(f"f{i}" for i in range(n))
    )
    figure = path_figure(trace)
    assert figure.data.height <= 302
    assert figure.data.filter(figure.data["chosen"])["features"].to_list() == [1321]
    assert len(figure.table().rows) == 200


def test_nothing_to_draw() -> None:
    figure = path_figure(wrapper_trace([[]], starts=[([], math.nan, math.nan)]))
    assert figure.chart == {}
    assert "There is nothing to draw." in figure.to_html()


def test_means_over_searches_by_hand() -> None:
    first = [(0, 0.5, 0.5), (1, 0.3, 0.4), (2, 0.2, 0.2)]
    second = [(0, 0.5, 0.6), (2, 0.4, 0.4), (3, 0.1, 0.1)]
    paths = [by_size(steps(path)) for path in (first, second)]
    assert [value_at(paths[1], size, on_validation=False) for size in (0, 1, 2, 3)] == [0.5, 0.5, 0.4, 0.1]
    assert value_at(paths[0], 3, on_validation=False) is None
    figure = path_figure([forward_trace(), forward_trace(0.1)])
    np.testing.assert_allclose(figure.data["criterion"], [0.5, 0.35, 0.25, 0.23, 0.22])
    np.testing.assert_allclose(figure.data["criterion_sd"], [0.0] + [0.1 / math.sqrt(2)] * 4)
    assert figure.caption == (
        "2 searches: mean, and ± one standard deviation. Dots are the subsets chosen: 2 features."
    )
    apart = path_figure([forward_trace(), floating_trace(), wrapper_trace([[(0, True, 0.3, 0.36)]])])
    assert "Dots are the subsets chosen: 1 to 2 features, 1.7 on average." in apart.caption
    traces = [replace(forward_trace(), evaluation=evaluation) for evaluation in ("loo", "loo", "train")]
    assert traces[0].measured is not None
    assert path_figure(traces[:2]).caption.endswith(f" Measured {traces[0].measured}.")
    assert "Measured" not in path_figure(traces).caption
    with pytest.raises(ValueError, match="Searches by different criteria"):
        path_figure([forward_trace(), forward_trace(criterion="log_loss")])
    with pytest.raises(ValueError, match="path_figure needs"):
        path_figure([3])


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.booleans())
def test_the_axis_holds_the_good_end(values: list[float], lower: bool) -> None:
    domain = good_end(values, [], lower_is_better=lower)
    assert domain is not None
    low, high = domain
    best = min(values) if lower else max(values)
    assert low < high
    assert low <= best <= high
    kept = sum(low <= v <= high for v in values)
    assert kept >= 0.7 * len(values)


@pytest.mark.parametrize(
    ("values", "on_axis", "lower", "ends"),
    [
        ([1.0, 2.0, 3.0], [], True, [0.84, 3.16]),
        ([1.0, 2.0, 3.0], [0.0, math.nan], True, [-0.24, 3.24]),
        ([1.0, 1.1, 1.2, 1.3, 9.0], [], True, [0.904, 2.296]),
        ([-1.0, -1.1, -1.2, -1.3, -9.0], [], False, [-2.296, -0.904]),
        ([1.0, 1.1, 1.2, 1.3, 2.9], [], True, [0.904, 2.296]),
        ([1.0, 1.1, 1.2, 1.3, 2.7], [], True, [0.864, 2.836]),  # the cut would hide less than a third
        ([*range(7), 100], [], True, [-1.92, 25.92]),
        ([*range(0, -7, -1), -100], [], False, [-21.6, 1.6]),
        ([2.0], [], True, [1.998, 2.002]),
        ([0.0], [], True, [-0.5, 0.5]),
    ],
)
def test_ends_of_axes_by_hand(values: list[float], on_axis: list[float], lower: bool, ends: list[float]) -> None:
    assert good_end(values, on_axis, lower_is_better=lower) == pytest.approx(ends, abs=1e-9)


def test_good_ends_thinning_and_logarithms() -> None:
    assert good_end([math.nan, math.inf], [], lower_is_better=True) is None
    assert thinned(3, 10) == [0, 1, 2]
    assert thinned(1000, 3) == [0, 500, 999]
    assert needs_logarithm([500], [20])
    assert not needs_logarithm([500], [400])


def test_sizes_are_whole_on_the_axis() -> None:
    for figure in (path_figure(forward_trace()), path_figure([forward_trace(), forward_trace(0.05)])):
        svg = figure.to_svg()
        assert ">2</text>" in svg
        assert not re.search(r">\d+\.5</text>", svg.partition("number of features")[0])


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        ([["add"], ["drop", "drop"], ["add"]], True),
        ([["add"], [], ["drop"]], True),
        ([["add"], ["add"]], False),
        ([["add", "drop"]], False),
    ],
)
def test_walks_that_alternate_add_or_drop_each(moves: list[list[str]], expected: bool) -> None:
    walks = [[{"move": "start"}, *({"move": move} for move in walk)] for walk in moves]
    assert alternates(walks) == expected


@pytest.mark.parametrize("lower_is_better", [True, False])
def test_the_label_of_the_chosen_subset_lies_on_the_good_side_of_the_line(lower_is_better: bool) -> None:
    figure = path_figure(forward_trace(lower_is_better=lower_is_better, validation_total=None))
    label = figure.chart["layer"][-1]["mark"]
    assert label["type"] == "text"
    assert (label["dy"] > 0) == lower_is_better  # downwards
