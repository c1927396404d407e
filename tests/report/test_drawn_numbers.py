"""Numbers that pages and figures show are those of a plain computation, also at the ends of their range."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB, gains_curve, gains_figure
from bayesieve.report import charts
from bayesieve.report.changes import _value_in
from bayesieve.report.curves import _MOST_PARTS
from bayesieve.report.drift import _stability
from bayesieve.report.feature_data import information_value
from bayesieve.report.features import density_frame
from bayesieve.report.search import needs_logarithm
from bayesieve.report.tables import cell_text, time_of
from bayesieve.scorecard import Explanation
from bayesieve.table import FeatureLevels


@pytest.mark.parametrize(
    ("type_", "cuts", "texts"),
    [
        ("number", [-50.0, 40.0], ["-60", "-5", "44"]),
        ("number", [0.0], ["-1", "1"]),
        ("number", [2.0, 2.5], ["2", "2.2", "3"]),
        ("number", [0.07], ["0.06", "0.08"]),
        ("number", [], ["0"]),
        ("date", [10.0, 20.0], ["1970-01-10", "1970-01-16", "1970-01-23"]),
        ("datetime", [5e6, 9e6], ["1970-01-01T00:00:04", "1970-01-01T00:00:07", "1970-01-01T00:00:09.9"]),
    ],
)
def test_a_value_stands_for_its_interval(type_: str, cuts: list[float], texts: list[str]) -> None:
    levels = FeatureLevels("x", "numeric", type_, np.array([-np.inf, *cuts]), missing_code=0)
    assert [_value_in(levels, code) for code in range(1, levels.n_levels)] == texts


def test_the_first_value_stands_for_its_group() -> None:
    levels = FeatureLevels("x", "categorical", "text", groups=(("u", "v"), ("w",)))
    assert [_value_in(levels, code) for code in range(2)] == ["u", "w"]


@pytest.mark.parametrize(
    ("values", "lower_is_better", "expected"),
    [
        ([8.7, 8.8, 8.9, 9.0, 1.0], False, [7.704, 9.096]),  # from the highest on, down to four times the quarter below
        ([1.0, 1.1, 1.2, 1.3, 9.0], True, [0.904, 2.296]),
        ([1.0, 2.0, 3.0, 7.0], True, [0.52, 7.48]),  # few values far off are in sight
        ([1.0, 2.0, 3.0], True, [0.84, 3.16]),
        ([2.0], True, [1.998, 2.002]),
        ([0.0, 0.0], False, [-0.5, 0.5]),
        ([None, float("nan")], True, None),
    ],
)
def test_the_axis_shows_the_good_end(values: list[Any], lower_is_better: bool, expected: list[float] | None) -> None:
    assert charts.good_end(values, [], lower_is_better=lower_is_better) == (expected and pytest.approx(expected))


def test_a_chosen_point_is_on_the_axis() -> None:
    assert charts.good_end([1.0, 2.0], [5.0], lower_is_better=True) == pytest.approx([0.68, 5.32])


def test_an_axis_has_room_and_a_domain_only_if_given() -> None:
    assert charts.number("a", "A")["scale"] == {"zero": False}
    assert charts.number("a", "A", zero=True, padding=3)["scale"] == {"zero": True, "padding": 3}
    assert charts.number("a", "A", domain=(0, 1))["scale"] == {"zero": False, "domain": [0, 1], "nice": False}
    assert "axis" not in charts.number("a", "A")
    marks = ("area", "line", "point", "bar", "text")
    assert [charts.layer(mark)["mark"]["clip"] for mark in marks] == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("sizes", "chosen", "expected"),
    [([100], [24], True), ([100], [25], False), ([100], [], False), ([60], [1], False), ([100], [2, 30], False)],
)
def test_few_features_among_many_need_a_logarithm(sizes: list[int], chosen: list[int], expected: bool) -> None:
    assert needs_logarithm(sizes, chosen) is expected


def test_rows_of_an_interval_are_spread_evenly() -> None:
    frame = density_frame([(None, 0.0, 10.0), (0.0, None, 30.0), (None, None, 99.0)], -2.0, 6.0)
    assert (frame["from"][0], frame["to"][-1]) == (-2.0, 6.0)
    assert frame["from"][1:] == frame["to"][:-1]
    middle = np.mean([frame["from"], frame["to"]], axis=0)
    expected = np.where(middle < 0, 10.0 / 15, 30.0 / 45)  # 15 and 45 of the 60 bins
    np.testing.assert_allclose(frame["rows"], expected, rtol=1e-4)
    np.testing.assert_allclose(frame["height"], 1.0, rtol=1e-4)
    widest = density_frame([(None, 0.0, 10.0), (0.0, None, 30.0)], -1.7e308, 1.7e308)
    assert np.isfinite(widest["from"] + widest["to"]).all()


def test_the_information_value_is_that_of_two_classes_and_several_levels() -> None:
    y = np.arange(3000) % 3
    X = pl.DataFrame({"word": np.where((np.arange(3000) * 7 % 10 < 3 + 2 * y), "u", "v"), "same": ["s"] * 3000})
    options: dict[str, Any] = {"selector": "all", "calibrate": False, "pairs": 0}
    card = SelectiveNB(**options).fit(X, np.minimum(y, 1)).scorecard_
    shares = card["word"].counts / card["word"].counts.sum(axis=0)
    differences, ratios = shares[:, 1] - shares[:, 0], np.log(shares[:, 1] / shares[:, 0])
    assert information_value(card, card["word"]) == pytest.approx(differences @ ratios, rel=0.02)
    assert information_value(card, card["same"]) is None
    card = SelectiveNB(**options).fit(X, y).scorecard_
    assert information_value(card, card["word"]) is None


def test_samples_are_out_of_time_if_all_their_rows_are_later() -> None:
    def sample(moments: Any, *, is_training: bool = False, later: Any = None) -> Any:
        moments = None if moments is None else np.array(moments)
        return SimpleNamespace(rows=SimpleNamespace(moments=moments), is_training=is_training, later=later)

    part = sample([1])
    training = sample([1, 5], is_training=True)
    samples = [training, sample([6, 7]), sample([5, 9]), sample(None), part, sample([2], later=part)]
    words = ["in time", "out of time", "in time", "unknown", "out of time", "in time"]
    assert [time_of(one, samples) for one in samples] == words
    assert time_of(samples[1], samples[1:]) == "unknown"


def test_shifts_that_chance_explains_are_pale() -> None:
    names = ("by", "feature", "psi", "psi_low", "psi_high", "psi_chance", "unseen", "missing")
    rows: dict[str, list[Any]] = {name: [None] * 5 for name in names}
    rows |= {"by": list("abcde"), "psi": [0.3, 0.1, None, 0.2, 0.2], "psi_chance": [0.1, 0.2, 0.1, None, 0.2]}
    assert _stability(rows).data["beyond"].to_list() == [0.3, 0.0, 0.0, 0.2, 0.0]


@pytest.mark.parametrize(("n_periods", "is_drawn"), [(60, True), (61, False)])
def test_the_drift_of_sixty_periods_is_drawn(n_periods: int, is_drawn: bool) -> None:
    names = ("feature", "psi", "psi_low", "psi_high", "psi_chance", "unseen", "missing")
    rows: dict[str, list[Any]] = {name: [0.1] * n_periods for name in names}
    assert bool(_stability({"by": [f"{k}" for k in range(n_periods)], **rows}).chart) == is_drawn


def test_the_caption_of_gains_is_about_the_best_tenth() -> None:
    y = np.repeat([1, 0, 1, 0], [20, 80, 30, 870])  # 20 positive rows among the best 100
    caption = gains_figure(gains_curve(y, -np.arange(1000.0))).caption
    assert "40.0% of the positive rows are among the best 10% of the rows" in caption


def test_a_row_is_explained_by_its_largest_parts_and_the_sum_of_the_others() -> None:
    n = _MOST_PARTS + 3
    nats = np.linspace(0.1, 1.0, n) * np.where(np.arange(n) % 2, -1, 1)
    explanation = Explanation(
        rows=np.arange(2),
        features=[f"x{k}" for k in range(n)],
        classes=np.array(["no", "yes"], dtype=object),
        prior=np.array([-0.3, 0.3]),
        contributions=np.tile(np.stack([-nats, nats], axis=1) / 2, (2, 1, 1)),
        values=np.full((2, n), "v", dtype=object),
        levels=np.full((2, n), "l", dtype=object),
        weights=np.ones(n),
    )
    frame = explanation.plot(row=1).data.to_dict(as_series=False)
    amounts = np.sort(np.abs(nats))[::-1]
    assert len(frame["amount"]) == _MOST_PARTS + 1
    assert frame["feature"][_MOST_PARTS - 1 :] == [f"{n + 1 - (_MOST_PARTS - 1)} other features", "Total"]
    assert frame["amount"][0] == pytest.approx(0.6)
    np.testing.assert_allclose(np.abs(frame["amount"][1 : _MOST_PARTS - 1]), amounts[: _MOST_PARTS - 2])
    np.testing.assert_allclose(frame["to"][:-1], np.cumsum(frame["amount"][:-1]))
    assert frame["to"][-1] == pytest.approx(0.6 + nats.sum())
    for row in (2, -1):
        with pytest.raises(ValueError, match="a position among the 2 explained rows"):
            explanation.plot(row=row)


@pytest.mark.parametrize(
    ("value", "column", "text"),
    [
        (0.0312, "p_value", "0.031"),
        (1e-5, "p_adjusted", "< 0.001"),
        (float("nan"), "p_value", "no test"),
        (0.0312, "psi", "0.0312"),
        (9.87654, "", "9.8765"),
        (12.0, "", "12"),
        (12.345, "", "12.3"),
        (12345, "", "12,345"),
        (True, "", "yes"),
        (False, "", ""),
        (None, "", "–"),
        ("x" * 80, "", "x" * 80),
        ("x" * 81, "", "x" * 79 + "…"),
    ],
)
def test_cells_of_tables_as_texts(value: Any, column: str, text: str) -> None:
    assert cell_text(value, column) == text


def test_a_scale_has_a_neutral_colour_only_between_two_ends() -> None:
    assert charts.colour("a", "A", (0, 1))["scale"]["range"] == "heatmap"
    assert charts.colour("a", "A", (-1, 0, 1))["scale"]["range"] == "diverging"
