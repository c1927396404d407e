"""Boosted feature selection, row by row: Gidofalvi & Zadrozny, Feature selection for class probability estimation,
table 2, with y in {-1, +1} and h = 2 s - 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.reference import naive_bayes

TIE = 1e-12


@dataclass
class Boosted:
    """The rounds of one class against the rest: winners, their r and alpha, and the weights after each round."""

    winners: list[int] = field(default_factory=list)
    edges: list[float] = field(default_factory=list)
    alphas: list[float] = field(default_factory=list)
    weights: list[list[float]] = field(default_factory=list)
    end: str = "rounds"


def boost(
    columns: Sequence[Sequence[int]],
    y: Sequence[int],
    n_levels: Sequence[int],
    n_rounds: int,
    smoothing: float | str = "m-estimate",
    sample_weight: Sequence[float] | None = None,
    n_features: int | None = None,
) -> Boosted:
    """``columns`` of codes; ``y`` is -1 or +1. Weights are a distribution; counts are weights times the rows."""
    given = [1.0] * len(y) if sample_weight is None else list(sample_weight)
    n = sum(given)
    w = [weight / n for weight in given]
    done = Boosted()
    for _ in range(n_rounds):
        hypotheses = [
            hypothesis(column, y, levels, w, n, smoothing) for column, levels in zip(columns, n_levels, strict=True)
        ]
        r = [sum(w[i] * y[i] * h[i] for i in range(len(y))) for h in hypotheses]
        k = next(j for j in range(len(r)) if r[j] >= max(r) - TIE)
        if r[k] <= TIE:
            done.end = "chance"
            return done
        done.winners.append(k)
        done.edges.append(r[k])
        if r[k] >= 1 - TIE:
            done.alphas.append(math.inf)
            done.end = "separated"
            return done
        alpha = 0.5 * math.log((1 + r[k]) / (1 - r[k]))
        done.alphas.append(alpha)
        w = [w[i] * math.exp(-alpha * y[i] * hypotheses[k][i]) for i in range(len(y))]
        total = sum(w)
        w = [weight / total for weight in w]
        done.weights.append(w)
        # A row of weight 2 is two rows, each with half of its weight.
        effective = 1 / sum(weight**2 / own for weight, own in zip(w, given, strict=True) if own > 0)
        if effective < min(10, n / 10):
            done.end = "concentrated"
            return done
        if n_features is not None and len(set(done.winners)) == n_features:
            done.end = "features"
            return done
    return done


def hypothesis(
    column: Sequence[int], y: Sequence[int], n_levels: int, w: Sequence[float], n: float, smoothing: float | str
) -> list[float]:
    """h(x_i) = 2 s(x_i) - 1 of a naive Bayes of one column, learnt under the distribution w."""
    own = [1 if label > 0 else 0 for label in y]
    rows = [weight * n for weight in w]
    counts = naive_bayes.level_counts(column, own, n_levels, 2, rows)
    classes = naive_bayes.class_counts(own, 2, rows)
    known = [sum(level[j] for level in counts) for j in range(2)]
    confidence = []
    for code in column:
        joint = [math.log(classes[j] / n) for j in range(2)]
        if code < n_levels:
            for j in range(2):
                if smoothing == "m-estimate":
                    joint[j] += math.log((counts[code][j] + 1 / n) / (known[j] + 2 / n))
                else:
                    joint[j] += math.log(
                        (counts[code][j] + float(smoothing)) / (known[j] + float(smoothing) * n_levels)
                    )
        most = max(joint)
        shares = [math.exp(value - most) for value in joint]
        confidence.append(2 * shares[1] / sum(shares) - 1)
    return confidence
