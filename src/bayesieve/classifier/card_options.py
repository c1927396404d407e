"""Defaults of `SelectiveNB.scorecard`: point scorecards with few lines that keep the levels set by hand."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

from bayesieve.discretize import TableEncoder
from bayesieve.discretize.rules import OTHERS, TableRules
from bayesieve.table.target import MAJORITY

# Fit a few cells per column, smoothed by curves, as the lines of the card. The log loss is 1 % higher than with an
# unlimited number of cells, but lower than with separate bins (benchmarks/decisions/scorecard.md).
_OPTIONS: Mapping[str, Any] = {"selector": "all", "pairs": 0, "calibrate": "cells", "positive": MAJORITY}


def card_options(levels: Any, max_levels: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constructor options that `SelectiveNB.scorecard` sets.

    Raise ValueError if ``max_levels`` is not a whole number above 1.
    """
    if not isinstance(max_levels, Integral) or isinstance(max_levels, bool) or max_levels < 2:
        raise ValueError(f"max_levels must be a whole number of 2 or more, got {max_levels!r:.80}.")
    given = {} if levels is None else TableRules.of(levels).given
    rules = {name: _card_rule(rule, int(max_levels)) for name, rule in given.items()}
    rules[OTHERS] = {"max_levels": int(max_levels), **given.get(OTHERS, {})}
    return {"encoder": TableEncoder(categorical="values"), **_OPTIONS, "levels": rules, **options}


def _card_rule(rule: Mapping[str, Any], max_levels: int) -> dict[str, Any]:
    """Return the rule for a column on the card, given the user's rule. The column is included unless the rule excludes
    it, and has at most ``max_levels`` levels unless the rule sets levels by hand.
    """
    if rule.get("exclude"):
        return dict(rule)
    limit = {} if {"cuts", "groups"}.intersection(rule) else {"max_levels": max_levels}
    return {"include": True, **limit, **rule}
