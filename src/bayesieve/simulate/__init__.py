"""Simulated data whose truth is known, and the scores that experts would compute from it."""

from __future__ import annotations

from bayesieve.simulate.engine_series import EngineSeries, engine_series

__all__ = ["EngineSeries", "engine_series"]
