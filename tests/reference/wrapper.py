"""Wrapper selection by refitting one naive Bayes per set of rows, and criteria from their definitions.

Sources: Rabenoro et al. (2015) for the error probability and the floating search, Gidofalvi & Zadrozny for the squared
error, Boullé (2007) for the AUC of several classes (Provost & Domingos) and for eq. 4.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax
from sklearn.metrics import roc_auc_score

from tests.reference import naive_bayes, selective

TIE = 1e-12
"""Posteriors, expected costs and criteria this close are equal; the lowest class, label or column wins."""

Subset = tuple[int, ...]
Fold = tuple[Sequence[int], Sequence[int]]


@dataclass(frozen=True)
class Scored:
    """The rows a criterion is measured on, each with the logarithms that the refit meant for it gave."""

    log_prior: np.ndarray  # (n_scored, n_classes)
    log_conditional: np.ndarray  # (n_features, n_scored, n_classes) log P(level of the row | class)
    y: np.ndarray
    weights: np.ndarray

    @property
    def n_features(self) -> int:
        return len(self.log_conditional)

    @property
    def n_classes(self) -> int:
        return self.log_prior.shape[1]

    def log_joint(self, subset: Subset) -> np.ndarray:
        return self.log_prior + sum((self.log_conditional[k] for k in subset), np.zeros(self.log_prior.shape))

    def log_posterior(self, subset: Subset) -> np.ndarray:
        return log_softmax(self.log_joint(subset), axis=1)

    def mean(self, losses: np.ndarray, rows: np.ndarray | None = None) -> float:
        """Mean over some rows, or all of them, each as often as its weight tells; a row of weight zero is not there."""
        there = self.weights > 0 if rows is None else rows & (self.weights > 0)
        return float(np.average(losses[there], weights=self.weights[there]))


def refit(
    codes: np.ndarray,
    y: np.ndarray,
    folds: Iterable[Fold],
    *,
    smoothing: float | str = 1.0,
    weights: np.ndarray | None = None,
    class_smoothing: float = 0.0,
) -> Scored:
    """Estimate once per fold, from its training rows, and collect what that says about its test rows.

    codes : (n_rows, n_features); the levels and the classes are those of the whole table, whatever a fold holds.
    """
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    n_levels, n_classes = codes.max(axis=0) + 1, int(y.max()) + 1
    parts = []
    for train, test in (map(np.asarray, fold) for fold in folds):
        label, weight = y[train].tolist(), weights[train].tolist()
        classes = naive_bayes.class_counts(label, n_classes, weight)
        smooth = np.array(classes) + class_smoothing
        with np.errstate(divide="ignore"):
            prior = np.log(smooth / smooth.sum())
        conditional = []
        for k, levels in enumerate(n_levels):
            counts = naive_bayes.level_counts(codes[train, k].tolist(), label, int(levels), n_classes, weight)
            conditional.append(np.array(naive_bayes.log_conditionals(counts, smoothing, classes))[codes[test, k]])
        parts.append((np.tile(prior, (len(test), 1)), np.array(conditional), y[test], weights[test]))
    priors, conditionals, *known = zip(*parts, strict=True)
    return Scored(np.concatenate(priors), np.concatenate(conditionals, axis=1), *map(np.concatenate, known))


def training_rows(n_rows: int) -> list[Fold]:
    """Measured on the rows that the parameters come from."""
    return [(range(n_rows), range(n_rows))]


def leave_one_out(n_rows: int) -> list[Fold]:
    """As many refits as rows."""
    return [([i for i in range(n_rows) if i != out], [out]) for out in range(n_rows)]


# Criteria: functions of the scored rows and a subset

Criterion = Callable[[Scored, Subset], float]


def decisions(scored: Scored, subset: Subset) -> np.ndarray:
    """The lowest class among those whose posterior is the largest, up to the tie tolerance."""
    posterior = np.exp(scored.log_posterior(subset))
    return np.argmax(posterior >= posterior.max(axis=1, keepdims=True) - TIE, axis=1)


def error(scored: Scored, subset: Subset) -> float:
    """Share of the rows whose predicted class is wrong."""
    return scored.mean(decisions(scored, subset) != scored.y)


def error_probability(scored: Scored, subset: Subset) -> float:
    """(1/N) sum_i P(Y != y_i | x_i), Rabenoro et al. (2015), section 4.2."""
    posterior = np.exp(scored.log_posterior(subset))
    posterior[np.arange(len(scored.y)), scored.y] = 0.0
    return scored.mean(posterior.sum(axis=1))


def brier(scored: Scored, subset: Subset) -> float:
    """Mean over the rows of sum_c (T(c|x) - P(c|x))^2, Gidofalvi & Zadrozny, section 3; half of it for two classes."""
    truth = np.eye(scored.n_classes)[scored.y]
    scale = 0.5 if scored.n_classes == 2 else 1.0
    return scale * scored.mean(((truth - np.exp(scored.log_posterior(subset))) ** 2).sum(axis=1))


def log_loss(scored: Scored, subset: Subset) -> float:
    """Mean of -log P(y_i | x_i), in nats."""
    return scored.mean(-scored.log_posterior(subset)[np.arange(len(scored.y)), scored.y])


def map_cost(scored: Scored, subset: Subset) -> float:
    """Eq. 4 of Boullé (2007), in nats."""
    labels_cost = log_loss(scored, subset) * float(scored.weights.sum())
    return selective.prior_cost(scored.n_features, len(subset)) + labels_cost


def auc(scored: Scored, subset: Subset) -> float:
    """Area under the ROC curve; of several classes, each against the others, weighted by its share of the rows.

    Rows are ranked by the log odds of the class, rounded so that equal rows stay equal. Without features no row is
    ranked before another, whatever class shares the folds have.
    """
    if not subset:
        return 0.5
    joint = scored.log_joint(subset)
    there = scored.weights > 0
    areas, shares = [], []
    for j in [1] if scored.n_classes == 2 else range(scored.n_classes):
        positive = scored.y == j
        if not scored.weights[positive].sum():
            continue  # a class that no row scored has
        others = np.logaddexp.reduce(np.delete(joint, j, axis=1), axis=1)
        with np.errstate(invalid="ignore"):
            odds = np.nan_to_num(np.round(joint[:, j] - others, 9), posinf=1e300, neginf=-1e300)
        areas.append(roc_auc_score(positive[there], odds[there], sample_weight=scored.weights[there]))
        shares.append(scored.weights[positive].sum())
    return float(np.average(areas, weights=shares))


def balanced_error(scored: Scored, subset: Subset) -> float:
    """Mean over the classes of the share of their rows that are predicted wrongly."""
    wrong = decisions(scored, subset) != scored.y
    present = np.unique(scored.y[scored.weights > 0])
    return float(np.mean([scored.mean(wrong, scored.y == j) for j in present]))


def recall(j: int) -> Criterion:
    """Share of the rows of class ``j`` that are predicted to be of it."""
    return lambda scored, subset: scored.mean(decisions(scored, subset) == j, scored.y == j)


def precision(j: int) -> Criterion:
    """Share of class ``j`` among the rows predicted to be of it; 0 when there are none."""

    def of(scored: Scored, subset: Subset) -> float:
        chosen = decisions(scored, subset) == j
        return scored.mean(scored.y == j, chosen) if scored.weights[chosen].any() else 0.0

    return of


def expected_cost(cost: Sequence[Sequence[float]]) -> Criterion:
    """Mean cost of the decisions of lowest expected cost; ``cost[i][j]`` is that of deciding j where i is true."""
    matrix = np.array(cost, dtype=float)

    def of(scored: Scored, subset: Subset) -> float:
        expected = np.exp(scored.log_posterior(subset)) @ matrix
        chosen = np.argmax(expected <= expected.min(axis=1, keepdims=True) + TIE, axis=1)
        return scored.mean(matrix[scored.y, chosen])

    return of


CRITERIA: dict[str, Criterion] = {
    "error": error,
    "error_probability": error_probability,
    "brier": brier,
    "log_loss": log_loss,
    "auc": auc,
    "balanced_error": balanced_error,
    "map": map_cost,
}
_HIGHER_IS_BETTER = ("auc", "recall", "precision")


# Searches

Cost = Callable[[Subset], float]
"""What a search lowers, a function of the subset."""


def as_cost(criterion: str, scored: Scored, function: Criterion | None = None) -> Cost:
    """The criterion of that name on these rows, its sign turned where higher is better."""
    function = CRITERIA[criterion] if function is None else function
    return functools.cache(lambda subset: value_of(criterion, function(scored, subset)))


def value_of(criterion: str, cost: float) -> float:
    """The criterion behind a cost, and the reverse."""
    return -cost if criterion in _HIGHER_IS_BETTER else cost


def tie(cost: float) -> float:
    """How far from this cost others are the same; above 1 (nats of a whole table) it is a share of the cost."""
    return TIE * max(1.0, abs(cost))


@dataclass(frozen=True)
class Step:
    """One line of a path: the phase, the feature that was added or dropped (None at the start), where that led."""

    phase: int
    move: str
    feature: int | None
    subset: Subset
    cost: float


def greedy_phase(
    cost: Cost, n_features: int, start: Subset, *, adding: bool, phase: int = 0, tol: float | None = None
) -> list[Step]:
    """Make the best move until no feature is left to move, or until it changes the cost by more than ``tol`` allows."""
    steps = [Step(phase, "start", None, start, cost(start))]
    while True:
        subset = steps[-1].subset
        features = [k for k in range(n_features) if (k in subset) != adding]
        if not features:
            return steps
        costs = {k: cost(tuple(sorted(set(subset) ^ {k}))) for k in features}
        lowest = min(costs.values())
        best = min(k for k in features if costs[k] <= lowest + tie(lowest))
        if tol is not None:
            change, close = costs[best] - steps[-1].cost, tie(steps[-1].cost)
            if (change >= -max(tol, close)) if adding else (change > tol + close):
                return steps
        moved = tuple(sorted(set(subset) ^ {best}))
        steps.append(Step(phase, "add" if adding else "drop", best, moved, costs[best]))


def best_step(steps: Sequence[Step], judge: Cost | None = None) -> Step:
    """The smallest subset among those of lowest cost; ``judge`` measures it elsewhere than the search did."""
    costs = [step.cost if judge is None else judge(step.subset) for step in steps]
    ties = [i for i, value in enumerate(costs) if value <= min(costs) + tie(min(costs))]
    return steps[min(ties, key=lambda i: len(steps[i].subset))]


def floating_search(
    cost: Cost, n_features: int, *, forward_first: bool, judge: Cost | None = None, tol: float | None = None
) -> list[Step]:
    """Forward and backward phases in turns, each from the best subset of the one before, while that brings something.

    Rabenoro et al. (2015), section 5.3. A phase brings something when its best subset costs less than the one it began
    with, or the same with fewer features.
    """
    adding = forward_first
    subset = () if forward_first else tuple(range(n_features))
    steps: list[Step] = []
    phase = 0
    while True:
        walked = greedy_phase(cost, n_features, subset, adding=adding, phase=phase, tol=tol)
        steps += walked
        best = best_step(walked, judge)
        if phase > 0 and best.subset == subset:
            return steps
        subset, adding, phase = best.subset, not adding, phase + 1


def search(
    cost: Cost, n_features: int, direction: str, *, judge: Cost | None = None, tol: float | None = None
) -> list[Step]:
    """The whole path of one of the four deterministic directions."""
    if direction in ("forward", "backward"):
        adding = direction == "forward"
        start = () if adding else tuple(range(n_features))
        return greedy_phase(cost, n_features, start, adding=adding, tol=tol)
    return floating_search(cost, n_features, forward_first=direction == "forward-backward", judge=judge, tol=tol)
