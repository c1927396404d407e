"""Selective naive Bayes by enumeration of all subsets: Boullé (2007), JMLR 8, eq. 4 and sections 4 to 6."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.reference import naive_bayes

Subset = tuple[int, ...]


def prior_cost(n_features: int, n_selected: int) -> float:
    """log(K + 1) + log C(K + K_m - 1, K_m); nothing to choose, hence no second term, when nothing is selected."""
    return math.log(n_features + 1) + (
        math.log(math.comb(n_features + n_selected - 1, n_selected)) if n_selected else 0.0
    )


@dataclass(frozen=True)
class Data:
    """Rows of integer codes with their labels, and the naive Bayes estimated from them."""

    rows: Sequence[Sequence[int]]
    y: Sequence[int]
    priors: Sequence[float]
    conditionals: Sequence[Sequence[Sequence[float]]]

    @classmethod
    def estimate(cls, rows: Sequence[Sequence[int]], y: Sequence[int], smoothing: float | str = "m-estimate") -> Data:
        classes = naive_bayes.class_counts(y, max(y) + 1)
        conditionals = []
        for codes in zip(*rows, strict=True):
            counts = naive_bayes.level_counts(codes, y, max(codes) + 1, len(classes))
            conditionals.append(naive_bayes.log_conditionals(counts, smoothing, classes))
        return cls(rows, y, naive_bayes.log_priors(classes), conditionals)

    @property
    def n_features(self) -> int:
        return len(self.conditionals)

    def informative(self) -> Subset:
        """The features with at least two levels, the only ones a subset may hold."""
        return tuple(k for k, levels in enumerate(self.conditionals) if len(levels) > 1)


def cost(data: Data, subset: Subset) -> float:
    """Eq. 4: the prior cost of the subset minus the sum of log P_M(y_n | x_n) over the rows."""
    weights = [1.0 if k in subset else 0.0 for k in range(data.n_features)]
    labels_cost = 0.0
    for row, label in zip(data.rows, data.y, strict=True):
        joint = naive_bayes.log_joint(row, data.priors, data.conditionals, weights)
        labels_cost -= naive_bayes.log_posterior(joint)[label]
    return prior_cost(data.n_features, len(subset)) + labels_cost


def all_costs(data: Data) -> dict[Subset, float]:
    """The cost of every subset of the informative features."""
    features = data.informative()
    subsets = itertools.chain.from_iterable(itertools.combinations(features, size) for size in range(len(features) + 1))
    return {subset: cost(data, subset) for subset in subsets}


def best_subset(costs: Mapping[Subset, float]) -> Subset:
    """SNB(MAP): the subset of lowest cost."""
    return min(costs, key=lambda subset: costs[subset])


def averaged_weights(model_weights: Mapping[Subset, float], n_features: int) -> list[float]:
    """The share of the models' weight that goes to models which hold the feature."""
    total = math.fsum(model_weights.values())
    return [
        math.fsum(weight for subset, weight in model_weights.items() if k in subset) / total for k in range(n_features)
    ]


def bayesian_weights(costs: Mapping[Subset, float], n_features: int) -> list[float]:
    """SNB(BMA): models weigh exp(-cost)."""
    lowest = min(costs.values())
    return averaged_weights({subset: math.exp(lowest - value) for subset, value in costs.items()}, n_features)


def compression_weights(costs: Mapping[Subset, float], n_features: int) -> list[float]:
    """SNB(CMA): models weigh 1 - cost / cost of the empty subset, and only those that compress count.

    When no model compresses there is nothing to average and every weight is 0.
    """
    compressions = {subset: 1 - value / costs[()] for subset, value in costs.items()}
    positive = {subset: value for subset, value in compressions.items() if value > 0}
    return averaged_weights(positive, n_features) if positive else [0.0] * n_features
