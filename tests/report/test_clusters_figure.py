"""The picture of clusters and candidates: everything drawn is where the numbers say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

import bayesieve
from bayesieve import DependenceClusterSelector, SelectiveNB
from bayesieve.report.clusters_figure import cluster_drawing, clusters_figure


def test_marks_and_candidates_are_those_of_the_search() -> None:
    X, y = load_wine(return_X_y=True, as_frame=True)
    selector = DependenceClusterSelector(constraints={"recall:1": 0.97}).fit(X, y)
    drawing = cluster_drawing(selector)
    assert sorted(leaf.label for leaf in drawing.leaves if leaf.chosen) == sorted(selector.get_feature_names_out())
    assert len(drawing.branches) == len(selector.linkage_) == selector.clustered_.size - 1
    frame = selector.candidates_
    kinds = [kind for _, kind, _ in drawing.candidates]
    assert len(kinds) == frame.height
    assert kinds.count("chosen") == 1
    assert kinds[-1] == "chosen"  # on top
    assert kinds.count("hollow") == frame.height - frame["feasible"].sum() - (not selector.feasible_)
    by_size = sorted((place.x, text) for place, _, text in drawing.candidates)
    assert [int(text.split()[0]) for _, text in by_size] == sorted(frame["n_features"].to_list())
    figure = clusters_figure(selector)
    assert f"chosen from {frame.height} candidates; {frame['feasible'].sum()} of them satisfy" in figure.caption
    assert figure.to_svg().startswith("<svg")
    assert "<table" in figure.to_html()


def test_many_features_share_cells_and_names_are_left_out() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = rng.normal(size=(300, 1)) + 0.5 * y[:, None] + rng.normal(size=(300, 100))
    selector = DependenceClusterSelector(n_cuts=5).fit(X, y)
    drawing = cluster_drawing(selector)
    assert sum(leaf.named for leaf in drawing.leaves) == min(30, selector.clustered_.size)
    assert len(drawing.cells) <= 72 * 72
    assert all(1 <= shade <= 5 for shade, _ in drawing.cells)
    assert sum(box.width * box.height for _, box in drawing.cells) <= 430.0**2 + 1e-6


def test_features_without_dependence_and_a_single_one() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    for X in (rng.normal(size=(60, 1)) + 3 * y[:, None], rng.random((60, 3))):
        assert clusters_figure(DependenceClusterSelector().fit(X, y)).to_svg()


def test_reports_show_it_until_the_model_was_loaded(tmp_path: Path) -> None:
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = SelectiveNB("clusters").fit(X, y)
    model.report(tmp_path / "fitted.html")
    assert "Clusters and candidates" in (tmp_path / "fitted.html").read_text(encoding="utf-8")
    model.save(tmp_path / "model.json")
    again = bayesieve.load(tmp_path / "model.json")
    again.report(tmp_path / "loaded.html")
    page = (tmp_path / "loaded.html").read_text(encoding="utf-8")
    assert "Clusters and candidates" not in page
    assert f"{model.trace_.n_models} models evaluated" in page
    with pytest.raises(ValueError, match="that was fitted, not loaded from a file"):
        clusters_figure(again.selector_)
