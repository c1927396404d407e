"""Plain data in, one self-contained HTML file out."""

from __future__ import annotations

from bayesieve.report.data import (
    Contribution,
    ExplainedRow,
    FeatureSummary,
    LevelRow,
    PathStep,
    Performance,
    ReliabilityBin,
    ReportData,
    SearchSummary,
)
from bayesieve.report.decision_figures import gains_figure, profit_figure, reliability_figure
from bayesieve.report.figure import Figure, path_figure, stability_figure
from bayesieve.report.render import render_card, render_report
from bayesieve.report.traces import summarise_trace

__all__ = [
    "Contribution",
    "ExplainedRow",
    "FeatureSummary",
    "Figure",
    "LevelRow",
    "PathStep",
    "Performance",
    "ReliabilityBin",
    "ReportData",
    "SearchSummary",
    "gains_figure",
    "path_figure",
    "profit_figure",
    "reliability_figure",
    "render_card",
    "render_report",
    "stability_figure",
    "summarise_trace",
]
