"""Encoders by which methods code rows, so that several methods can share one coding."""

from __future__ import annotations

from typing import Any

from bayesieve.classifier.plan import FitPlan


def encoder_of(model: Any) -> Any:
    """Return the unfitted encoder with which the ``fit`` of an unfitted classifier would code rows."""
    return model.new_encoder() if hasattr(model, "new_encoder") else FitPlan.of(model).encoder
