"""Plain data in, one self-contained HTML file out."""

from __future__ import annotations

from bayesieve.report.data import ReportData
from bayesieve.report.figure import (
    Figure,
    gains_figure,
    path_figure,
    profit_figure,
    reliability_figure,
    stability_figure,
)
from bayesieve.report.render import render_card, render_report

__all__ = [
    "Figure",
    "ReportData",
    "gains_figure",
    "path_figure",
    "profit_figure",
    "reliability_figure",
    "render_card",
    "render_report",
    "stability_figure",
]
