"""Figures, HTML reports and validation documents of fitted models.

Inputs are plain data (`ReportData`); outputs are Vega-Lite specifications and self-contained HTML pages.
"""

from __future__ import annotations

from bayesieve.report.curves import explanation_figure, gains_figure, profit_figure, reliability_figure
from bayesieve.report.features import feature_figure, importance_figure
from bayesieve.report.page import Figure, Report
from bayesieve.report.paths import clusters_figure, path_figure
from bayesieve.report.report import ReportData, render_card, render_report

__all__ = [
    "Figure",
    "Report",
    "ReportData",
    "clusters_figure",
    "explanation_figure",
    "feature_figure",
    "gains_figure",
    "importance_figure",
    "path_figure",
    "profit_figure",
    "reliability_figure",
    "render_card",
    "render_report",
]
