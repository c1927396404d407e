"""Figures of decisions: every number of the drawing comes from the curve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayesieve import (
    calibration_summary,
    gains_curve,
    gains_figure,
    profit_curve,
    profit_figure,
    reliability_figure,
)

RNG = np.random.default_rng(5)
SCORE = RNG.random(2000)
Y = (RNG.random(2000) < SCORE**2).astype(int)
PROFIT = profit_curve(Y, SCORE, benefit=[[0, 0], [-1, 1]], n_bootstrap=30)
SUMMARY = calibration_summary(Y, SCORE)
FIGURES = {
    "profit": profit_figure(PROFIT, unit="$"),
    "gains": gains_figure(gains_curve(Y, SCORE)),
    "reliability": reliability_figure({"all features": SUMMARY, "selected": calibration_summary(Y, SCORE**2)}),
}


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("suffix", [".svg", ".html"])
def test_figures_are_written(name: str, suffix: str, tmp_path: Path) -> None:
    FIGURES[name].save(tmp_path / f"figure{suffix}")
    text = (tmp_path / f"figure{suffix}").read_text(encoding="utf-8")
    assert FIGURES[name].title in text
    assert "nan" not in text.replace("financ", "")


def test_the_largest_profit_is_marked_and_the_band_is_drawn() -> None:
    drawing: Any = FIGURES["profit"].drawing
    panel = drawing.panels[0]
    assert drawing.chosen_x == pytest.approx(100 * PROFIT.share[PROFIT.best], abs=0.01)
    assert panel.marks[0].label == f"${PROFIT.profit.max():.2f}"
    assert len(panel.bands) == 1
    best = [line for line in panel.lines if line.kind == "best"]
    assert min(point.y for line in best for point in line.points) == panel.marks[0].point.y
    bare = profit_figure(profit_curve(Y, SCORE, benefit=[[0, 0], [-1, 1]], n_bootstrap=0)).drawing
    assert bare.panels[0].bands == ()


def test_gains_run_from_nobody_to_everybody() -> None:
    gains = next(line for line in FIGURES["gains"].drawing.panels[0].lines if line.kind == "best")
    assert (gains.points[0].x, gains.points[0].y) == (0, 100)
    assert (gains.points[-1].x, gains.points[-1].y) == (100, 0)
    table: Any = FIGURES["gains"].table
    assert table.rows[-1] == ("100.0%", "100.0%", "1.00")


def test_bins_are_drawn_where_they_are() -> None:
    panels = FIGURES["reliability"].drawing.panels
    assert [panel.heading for panel in panels] == ["all features", "selected"]
    marks = [(mark.point.x, mark.point.y) for mark in panels[0].marks]
    expected = np.stack([100 * SUMMARY.predicted, 100 - 100 * SUMMARY.observed], axis=1)
    np.testing.assert_allclose(marks, expected, atol=0.01)
    assert f"{SUMMARY.expected_calibration_error:.4f}" in panels[0].note
    with pytest.raises(ValueError, match="needs at least one calibration"):
        reliability_figure({})
