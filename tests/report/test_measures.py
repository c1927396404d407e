"""Measures are written in plain words, with as many decimals as they need."""

from __future__ import annotations

import math

import pytest

from bayesieve.report.search import Measure, measure


@pytest.mark.parametrize(
    ("name", "values", "text"),
    [
        ("error", [0.1063], "0.1063"),
        ("auc", [0.79261], "0.7926"),
        ("log_loss", [0.61084], "0.6108"),
        ("expected_cost", [12.3456], "12.346"),
        ("expected_cost", [12345.678], "12,345.7"),
        ("map", [557.25], "557.2"),
        ("expected_cost", [9.99996], "10.0000"),
        ("expected_cost", [10.0], "10.000"),
        ("expected_cost", [100.0, -20.0], "100.00"),
        ("expected_cost", [1000.0], "1,000.0"),
        ("expected_cost", [0.5, None, math.inf, 42.0], "0.500"),  # as many decimals as the others
        ("expected_cost", [None, 0.5], "–"),
    ],
)
def test_values_show_as_many_decimals_as_they_need(name, values, text):
    assert measure(name, values).text(values[0]) == text


def test_measures_in_words_and_their_standard_error():
    assert Measure("log_loss").heading == "Log loss, nats per row"
    assert Measure("map").heading == "MAP cost, nats"
    assert Measure("error", on_validation=True).heading == "Validation: error rate"
    assert Measure("auc").title == "AUC"
    assert Measure("my_own_loss").heading == "My own loss"
    assert Measure("").title == "criterion"
    assert Measure("error").standard_error(0.2, 400) == pytest.approx(0.02)
    assert Measure("error").standard_error(1.0, 400) == 0.0
    assert math.isnan(Measure("error").standard_error(math.nan, 400))
