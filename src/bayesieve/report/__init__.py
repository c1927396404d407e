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
from bayesieve.report.render import render_card, render_report

__all__ = [
    "Contribution",
    "ExplainedRow",
    "FeatureSummary",
    "LevelRow",
    "PathStep",
    "Performance",
    "ReliabilityBin",
    "ReportData",
    "SearchSummary",
    "render_card",
    "render_report",
]
