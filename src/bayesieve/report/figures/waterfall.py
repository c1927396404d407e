"""How a decision adds up: floating bars from the prior to the posterior log-odds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.figures.bars import Bar
from bayesieve.report.figures.scale import Scale, drawable


@dataclass(frozen=True)
class Waterfall:
    """Bars for the prior, each amount and the total; `zero` is where the log-odds are even."""

    bars: tuple[Bar, ...]
    zero: float
    total: float


def waterfall(prior: float, amounts: Sequence[float]) -> Waterfall:
    """Lay out prior, amounts and their sum on one axis.

    Infinite or missing amounts are drawn as nothing, so that one impossible class does not hide the other bars.
    """
    prior, amounts = _drawable(prior), [_drawable(a) for a in amounts]
    totals = [prior]
    for amount in amounts:
        totals.append(totals[-1] + amount)
    low, high = min(0.0, *totals), max(0.0, *totals)
    x = Scale(low, high, 2, 98) if high > low else Scale(-1.0, 1.0, 2, 98)
    spans = [(0.0, prior), *itertools.pairwise(totals), (0.0, totals[-1])]
    bars = tuple(Bar(min(x(a), x(b)), round(abs(x(b) - x(a)), 3), b - a) for a, b in spans)
    return Waterfall(bars, x(0.0), totals[-1])


def _drawable(amount: float) -> float:
    return amount if drawable(amount) else 0.0
