"""Simulated data whose truth is known, and the scores that experts would compute from it."""

from __future__ import annotations

from bayesieve.simulate.engine_series import EngineSeries, engine_series
from bayesieve.simulate.window_scores import WindowScore, window_p_values, window_scores

__all__ = ["EngineSeries", "WindowScore", "engine_series", "window_p_values", "window_scores"]
