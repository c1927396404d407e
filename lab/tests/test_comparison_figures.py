"""Pages and figures of comparisons and of the stability of selections: text stays text, and nothing is fetched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from bayesieve import WrapperSelector, path_figure
from bayesieve.report import Figure
from bayesieve_lab import (
    Comparison,
    SelectionStability,
    critical_difference_figure,
    selection_stability,
    stability_figure,
)
from bayesieve_lab.comparison.critical_difference import fold_rank_figure
from bayesieve_lab.comparison.page import render_comparison
from bayesieve_lab.comparison.stability_figure import MAX_FOLDS, MAX_ROWS
from lab.tests.compared import compared, rows_of
from lab.tests.test_comparison_page import SCORES, several
from tests.report.test_pages import HOSTILE, check_picture, check_text, check_whole


def comparison_of(text: str, *data: str) -> Comparison:
    rows = [row for name in data for row in rows_of({text: [0.5, 0.6, 0.7], text + "'": [None, 0.7, 0.7]}, name)]
    rows[3]["error"] = text
    return compared(rows)


def stability_of(text: str, weights: Any = ((1, 0.5), (1, 0))) -> SelectionStability:
    values = np.asarray(weights, dtype=float)
    names = tuple(text + "'" * k for k in range(values.shape[1]))
    ones = np.ones(len(values))
    return SelectionStability(names, values, (), ones, ones, text)


PAGES: dict[str, Callable[[str], str]] = {
    "comparison on one": lambda text: render_comparison(comparison_of(text, text), title=text),
    "comparison on two": lambda text: render_comparison(comparison_of(text, text, "b"), title=text),
}
FIGURES: dict[str, Callable[[str], Figure]] = {
    "stability": lambda text: stability_figure(stability_of(text), title=text),
    "many folds": lambda text: stability_figure(stability_of(text, np.eye(40)[:, :4])),
    "ranks": lambda text: critical_difference_figure([text, text + "'", "c" * 300], [1.0, 2.0, 3.0], 1.5, title=text),
    "ranks over folds": lambda text: fold_rank_figure([text, "b"], [1.0, 2.0], [], n_folds=3, title=text),
}


@cache
def page(name: str, text: str) -> str:
    return PAGES[name](text) if name in PAGES else FIGURES[name](text).to_html()


@pytest.mark.parametrize("name", [*PAGES, *FIGURES])
@pytest.mark.parametrize("text", HOSTILE)
def test_text_from_data_stays_text(name: str, text: str) -> None:
    check_text(name, text, lambda text: page(name, text))


@pytest.mark.parametrize("name", [*PAGES, *FIGURES])
def test_pages_are_whole_and_ask_nothing_of_the_network(name: str) -> None:
    check_whole(name, page(name, "harmless"))


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_pictures_whatever_the_text(name: str) -> None:
    check_picture(FIGURES[name]("<script>alert(1)</script>"))


def test_features_and_folds() -> None:
    figure = stability_figure(stability_of("f", [[1, 1, 0], [1, 0, 0]]), title="Which stay")
    assert figure.caption == (
        "2 folds of 3 features. Selected: 1 to 2 features, 1.5 on average. Stability 0.33, 95% interval 0.33 to 0.33 "
        "(Nogueira et al. 2018): 1 is the same features in every fold, 0 is the value expected by chance. 1 feature "
        "was selected in no fold."
    )
    assert figure.data["feature"].to_list() == ["f", "f'"]
    assert figure.data["frequency"].to_list() == [1.0, 0.5]
    cells = figure.frames["folds"]
    assert list(zip(cells["feature"], cells["fold"], cells["weight"], strict=True)) == [
        ("f", 1, 1.0), ("f", 2, 1.0), ("f'", 1, 1.0), ("f'", 2, 0.0),
    ]  # fmt: skip
    wide = stability_figure(stability_of("f", np.ones((300, 900))))
    assert len(wide.frames["folds"]["fold"]) == MAX_ROWS * MAX_FOLDS
    assert "840 further features not drawn." in wide.caption
    nothing = stability_figure(replace(stability_of("f", np.zeros((3, 2))), complete=False))
    assert nothing.chart == {}
    assert "only finished folds are shown" in nothing.caption


def test_stability_draws_itself() -> None:
    stability = stability_of("f")
    assert stability.plot(title="Mine").title == "Mine"
    assert stability.plot().spec == stability.figure().spec


def test_folds_of_a_stability_study_are_drawn_together() -> None:
    stability = selection_stability(WrapperSelector(direction="forward"), *load_iris(return_X_y=True), cv=4)
    figure = path_figure(stability, title="Folds")
    assert figure.caption.startswith("4 searches: mean")
    assert len(figure.chart["vconcat"]) == 2
    assert max(figure.frames["own"]["search"]) == 4
    sizes = stability.n_selected
    assert f"{sizes.min()}" in figure.caption
    assert f"{sizes.max()}" in figure.caption


def test_comparisons_draw_methods() -> None:
    rows = rows_of(SCORES)
    for row in rows:
        row |= {"n_features": 7, "fit_seconds": 0.5, "log_loss": 1 - row["accuracy"]}
    one = compared(rows)
    assert one.plot().data.columns[:2] == ["method", "quality"]
    assert one.plot(measure="log_loss").heads["quality"] == "Log loss"
    assert one.plot("ranks").title == "Accuracy"
    assert "over 4 folds" in one.plot("ranks").caption
    assert "over 5 data sets" in compared(several(5, ["A", "B"])).plot("ranks").caption
    with pytest.raises(ValueError, match="kind must be one of 'tradeoff', 'ranks'"):
        one.plot("bars")
    with pytest.raises(ValueError, match="has a value of 'auc'"):
        one.plot(measure="auc")
    with pytest.raises(ValueError, match="No fold has a time"):
        compared(rows_of(SCORES)).plot()
    with pytest.raises(ValueError, match="There is only one method"):
        compared(rows_of({"A": [0.5, 0.6]})).plot("ranks")
    with pytest.raises(ValueError, match="Fewer than two data sets"):
        compared(rows_of({"A": [0.5], "B": [0.5]}) + rows_of({"A": [None], "B": [None]}, "other")).plot("ranks")
