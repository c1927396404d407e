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
]
