"""Figures of studies: methods by two criteria, weights as bars, and the most probable subsets as a matrix."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest

from bayesieve_lab.figures.models import models_figure, posterior_figure
from bayesieve_lab.figures.tradeoff import beaten, tradeoff_figure
from bayesieve_lab.figures.weights import weights_figure
from tests.report.markup import read, texts

VALUES = {
    "NB": {"ACC": 0.81, "AUC": 0.96, "CR": 0.3},
    "MAP": {"ACC": 0.80, "AUC": 0.94, "CR": 0.5},
    "CMA": {"ACC": 0.82, "AUC": 0.96, "CR": 0.6},
    "<new>": {"ACC": 0.90, "AUC": 0.99, "CR": 0.9},
}
FIGURES = {
    "tradeoff": (tradeoff_figure(VALUES, [("ACC", "CR")]), {"<new>", "0.8200", "CMA"}),
    "weights": (weights_figure(["<V1>", "V2"], {"A & B": [0.3, 1.0]}), {"0.3000", "1.0000", "<V1>"}),
    "models": (models_figure(["<a>", "b"], [[0], [0, 1], [1]], [0, 1, 2]), {"<a>", "2", "yes", "b"}),
    "posterior": (posterior_figure([1000.0, 400.0, 200.0, 100.0, 0.0], title="<All>"), {"0.2500", "−400"}),
}


@pytest.mark.parametrize("name", FIGURES)
def test_drawing_and_page_tell_the_numbers(name: str) -> None:
    figure, cells = FIGURES[name]
    assert ElementTree.fromstring(figure.to_svg()).get("role") == "graphics-document" or "<svg" in figure.to_svg()
    assert cells <= set(texts(read(figure.to_html()), "td"))


def test_methods_by_two_criteria() -> None:
    assert beaten(VALUES) == {"NB": "CMA", "MAP": "CMA", "CMA": "<new>", "<new>": None}
    equal = {"a": {"ACC": 0.5, "CR": 0.5}, "b": {"ACC": 0.5, "CR": 0.5}}
    assert beaten(equal) == {"a": None, "b": None}  # nobody is better by anything
    assert beaten(equal | {"c": {"ACC": 0.5, "CR": 0.6}}) == {"a": "c", "b": "c", "c": None}
    figure = tradeoff_figure(VALUES, [("ACC", "AUC"), ("ACC", "CR")], apart=["<new>"])
    assert figure.data["kind"].to_list() == ["hollow", "hollow", "dot", "apart"]
    assert len(figure.chart["hconcat"]) == 2


def test_a_line_joins_the_settings_of_a_method() -> None:
    figure = tradeoff_figure(VALUES, [("ACC", "CR")], apart=["<new>"], joined=["MAP", "NB", "CMA"])
    joined = figure.data.sort("place")["method"].to_list()
    assert joined[1:] == ["MAP", "NB", "CMA"]  # the one without a place comes first
    assert figure.data["kind"].to_list() == ["dot", "dot", "dot", "apart"]  # settings do not beat each other


def test_runs_are_the_matrix_of_models() -> None:
    rng = np.random.default_rng(0)
    held = rng.random((57, 6)) < 0.6
    held[:, 4], held[:, 5] = True, False
    models = [np.flatnonzero(row).tolist() for row in held]
    figure = models_figure([f"x{k}" for k in range(6)], models, np.arange(57.0).tolist())
    found = np.zeros((57, 6), dtype=bool)
    for run in figure.datasets()["runs"]:
        k = int(run["feature"][1:])
        found[round(run["first"] - 0.5) : round(run["last"] - 0.5), k] = True
        assert run["best"] == held[0, k]
    assert np.array_equal(found, held)
    assert figure.data["models"].to_list() == held.sum(axis=0).tolist()


def test_distribution_of_probabilities() -> None:
    data = FIGURES["posterior"][0].data
    assert data["share"].to_list() == [0, 0.25, 0.5, 0.75, 1]
    assert data["power"].to_list() == [-1000, -400, -200, -100, 0]


@pytest.mark.parametrize(
    ("draw", "arguments", "message"),
    [
        (tradeoff_figure, ({}, [("x", "y")]), "at least one method"),
        (tradeoff_figure, ({"NB": {"x": 1.0}}, [("x", "y")]), "'NB' has no value of 'y'"),
        (weights_figure, (["a", "b"], {"m": [1]}), "'m' has 1 weights for 2 features"),
        (weights_figure, (["a", "b"], {"m": [1, 1.5]}), r"'m' gives 'b' the weight 1.5, which is not in \[0, 1\]"),
        (weights_figure, (["a"], {"m": [float("nan")]}), "gives 'a' the weight nan"),
        (weights_figure, ([], {"m": []}), "no features"),
        (models_figure, ([], [[0]], [0.0]), "at least one model and one feature"),
        (models_figure, (["a"], [], []), "at least one model and one feature"),
        (models_figure, (["a"], [[0], []], [0.0]), "2 models need as many powers of ten, got 1"),
        (posterior_figure, ([1.0],), "two or more descending"),
        (posterior_figure, ([1.0, 2.0],), "two or more descending"),
    ],
)
def test_what_cannot_be_drawn(draw: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw(*arguments)
