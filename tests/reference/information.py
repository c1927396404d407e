"""Entropies and informations of integer codes from their definitions, row by row: Shannon (1948); the symmetrical
uncertainty of Hall (1999); rankings by minimal redundancy and maximal relevance of Peng, Long & Ding (2005).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence

Codes = Sequence[Hashable]


def shares(*columns: Codes, sample_weight: Sequence[float] | None = None) -> dict[tuple[Hashable, ...], float]:
    """The share of the rows (or of their weight) of every combination of values that occurs."""
    rows = list(zip(*columns, strict=True))
    weights = [1.0] * len(rows) if sample_weight is None else list(sample_weight)
    sums: dict[tuple[Hashable, ...], list[float]] = defaultdict(list)
    for row, weight in zip(rows, weights, strict=True):
        if weight > 0:
            sums[row].append(weight)
    total = math.fsum(weights)
    return {row: math.fsum(parts) / total for row, parts in sums.items()}


def entropy(*columns: Codes, sample_weight: Sequence[float] | None = None) -> float:
    """H of the combinations of the columns, in nats."""
    return -math.fsum(p * math.log(p) for p in shares(*columns, sample_weight=sample_weight).values())


def mutual_information(x: Codes, y: Codes, sample_weight: Sequence[float] | None = None) -> float:
    """I(X; Y) = sum p(x, y) log(p(x, y) / (p(x) p(y)))."""
    of_x, of_y = shares(x, sample_weight=sample_weight), shares(y, sample_weight=sample_weight)
    joint = shares(x, y, sample_weight=sample_weight)
    return math.fsum(p * math.log(p / (of_x[a,] * of_y[b,])) for (a, b), p in joint.items())


def conditional_information(x: Codes, y: Codes, given: Codes, sample_weight: Sequence[float] | None = None) -> float:
    """I(X; Y | C) = sum over classes of P(c) I(X; Y) among the rows of the class."""
    return math.fsum(
        share
        * mutual_information(*_rows_of(label, given, x, y), sample_weight=_weights_of(label, given, sample_weight))
        for (label,), share in shares(given, sample_weight=sample_weight).items()
    )


def conditional_entropy(x: Codes, given: Codes, sample_weight: Sequence[float] | None = None) -> float:
    """H(X | C) = sum over classes of P(c) H(X) among the rows of the class."""
    return math.fsum(
        share * entropy(*_rows_of(label, given, x), sample_weight=_weights_of(label, given, sample_weight))
        for (label,), share in shares(given, sample_weight=sample_weight).items()
    )


def symmetrical_uncertainty(x: Codes, y: Codes, sample_weight: Sequence[float] | None = None) -> float:
    """2 I(X; Y) / (H(X) + H(Y)); 0 for two constants."""
    entropies = entropy(x, sample_weight=sample_weight) + entropy(y, sample_weight=sample_weight)
    return 2 * mutual_information(x, y, sample_weight) / entropies if entropies > 0 else 0.0


def _rows_of(label: Hashable, given: Codes, *columns: Codes) -> list[list[Hashable]]:
    return [[value for value, other in zip(column, given, strict=True) if other == label] for column in columns]


def _weights_of(label: Hashable, given: Codes, sample_weight: Sequence[float] | None) -> list[float] | None:
    if sample_weight is None:
        return None
    return [weight for weight, other in zip(sample_weight, given, strict=True) if other == label]


def mrmr_ranking(columns: Sequence[Codes], y: Codes, form: str) -> tuple[list[int], list[float]]:
    """Positions by minimal redundancy and maximal relevance, and their scores; ties (1e-12) to the lowest position.

    Peng, Long & Ding (2005), equation 8 ("difference"), and Ding & Peng (2005), table 1 ("quotient").
    """
    relevance = [mutual_information(x, y) for x in columns]
    ranking: list[int] = []
    scores: list[float] = []
    while len(ranking) < len(columns):
        merits: dict[int, float] = {}
        for k in set(range(len(columns))) - set(ranking):
            merits[k] = relevance[k]
            if ranking:
                mean = math.fsum(mutual_information(columns[k], columns[s]) for s in ranking) / len(ranking)
                if form == "difference":
                    merits[k] = relevance[k] - mean
                else:
                    merits[k] = relevance[k] / mean if mean > 1e-12 else 0.0
        best = max(merits.values())
        ranking.append(min(k for k, merit in merits.items() if merit >= best - 1e-12))
        scores.append(merits[ranking[-1]])
    return ranking, scores


def cfs_merit(subset: Sequence[int], columns: Sequence[Codes], y: Codes, *, independent_as_redundant: bool) -> float:
    """k r_cf / sqrt(k + k (k - 1) r_ff) of Hall (1999), equation 4.4, with the means of symmetrical uncertainties."""
    k = len(subset)
    if k == 0:
        return 0.0
    of_class = math.fsum(symmetrical_uncertainty(columns[i], y) for i in subset) / k
    between = [symmetrical_uncertainty(columns[i], columns[j]) for i in subset for j in subset if i < j]
    if independent_as_redundant:
        between = [1.0 if value < 1e-6 else value for value in between]
    mean = math.fsum(between) / len(between) if between else 0.0
    return k * of_class / math.sqrt(k + k * (k - 1) * mean)
