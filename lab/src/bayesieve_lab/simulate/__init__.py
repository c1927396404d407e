"""Simulated data with a known truth, and the scores that experts would compute from them."""

from __future__ import annotations

from bayesieve_lab.simulate.breiman import led_display, waveform
from bayesieve_lab.simulate.correlated import correlated_blocks
from bayesieve_lab.simulate.donations import donations
from bayesieve_lab.simulate.engine_indicators import (
    engine_grid,
    engine_scores,
    engine_thresholds,
    quantile_thresholds,
    score_columns,
)
from bayesieve_lab.simulate.engine_series import EngineSeries, engine_series
from bayesieve_lab.simulate.window_scores import WindowScore, window_p_values, window_scores

__all__ = [
    "EngineSeries",
    "WindowScore",
    "correlated_blocks",
    "donations",
    "engine_grid",
    "engine_scores",
    "engine_series",
    "engine_thresholds",
    "led_display",
    "quantile_thresholds",
    "score_columns",
    "waveform",
    "window_p_values",
    "window_scores",
]
