"""The wrapper oracle against values computed by hand; test_golden.py has the golden paths."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.reference import wrapper

# With Laplace's alpha = 1: P(0 | class 0) = 3/4, P(0 | class 1) = 1/2; both classes have prior 1/2.
CODES = np.array([[0], [0], [0], [1]])
LABELS = np.array([0, 0, 1, 1])


def scored() -> wrapper.Scored:
    return wrapper.refit(CODES, LABELS, wrapper.training_rows(4))


@pytest.mark.parametrize(
    ("smoothing", "folds", "expected"),
    [
        (1.0, wrapper.training_rows(4), [3 / 5, 3 / 5, 2 / 5, 2 / 3]),
        # (2 + 1/4) / (2 + 2/4) = 9/10, (1 + 1/4) / (2 + 2/4) = 1/2.
        ("m-estimate", wrapper.training_rows(4), [9 / 14, 9 / 14, 5 / 14, 5 / 6]),
        # Without row 0: priors 1/3 and 2/3, P(0 | 0) = 2/3, P(0 | 1) = 1/2; and so on.
        (1.0, wrapper.leave_one_out(4), [2 / 5, 2 / 5, 2 / 11, 2 / 5]),
        # Each fold is scored by the tables of the other; its rows 0, 2 come first.
        (1.0, [([1, 3], [0, 2]), ([0, 2], [1, 3])], [2 / 3, 1 / 3, 1 / 2, 1 / 2]),
    ],
)
def test_posteriors_by_hand(smoothing: float | str, folds: list[wrapper.Fold], expected: list[float]) -> None:
    of = wrapper.refit(CODES, LABELS, folds, smoothing=smoothing)
    assert np.exp(of.log_posterior((0,)))[np.arange(4), of.y] == pytest.approx(expected, rel=1e-14)


def test_priors_by_hand() -> None:
    of = wrapper.refit(CODES[:3], LABELS[:3], wrapper.training_rows(3), class_smoothing=1.0)
    assert np.exp(of.log_prior[0]).tolist() == pytest.approx([3 / 5, 2 / 5], rel=1e-14)
    without = wrapper.refit(CODES, LABELS, [([0, 1], [2])])
    assert without.log_prior[0].tolist() == [0.0, -math.inf]


@pytest.mark.parametrize(
    ("criterion", "empty", "with_feature"),
    [
        ("error", 1 / 2, 1 / 4),  # the lowest class wins a tie
        ("error_probability", 1 / 2, (2 / 5 + 2 / 5 + 3 / 5 + 1 / 3) / 4),
        ("brier", 1 / 4, (4 / 25 + 4 / 25 + 9 / 25 + 1 / 9) / 4),
        ("log_loss", math.log(2), -math.log(3 / 5 * 3 / 5 * 2 / 5 * 2 / 3) / 4),
        ("auc", 1 / 2, 3 / 4),  # of four pairs two are tied
        ("balanced_error", 1 / 2, 1 / 4),
        ("map", 4 * math.log(2) + math.log(2), math.log(2) - math.log(3 / 5 * 3 / 5 * 2 / 5 * 2 / 3)),
    ],
)
def test_criteria_by_hand(criterion: str, empty: float, with_feature: float) -> None:
    function = wrapper.CRITERIA[criterion]
    assert function(scored(), ()) == pytest.approx(empty, rel=1e-14)
    assert function(scored(), (0,)) == pytest.approx(with_feature, rel=1e-14)


def test_criteria_of_one_class_and_of_costs_by_hand() -> None:
    of = scored()
    assert [wrapper.recall(j)(of, (0,)) for j in (0, 1)] == [1.0, 0.5]
    assert [wrapper.precision(j)(of, (0,)) for j in (0, 1)] == [pytest.approx(2 / 3), 1.0]
    assert wrapper.precision(1)(of, ()) == 0.0  # nothing is predicted to be of class 1
    # Missing class 1 costs 5: rows of code 0 are decided 1 (3/5 < 5 * 2/5), so both rows of class 0 cost 1.
    assert wrapper.expected_cost([[0, 1], [5, 0]])(of, (0,)) == 0.5
    # Labels of equal expected cost: the lowest is decided, and the two rows of class 1 cost 1.
    assert wrapper.expected_cost([[0, 1], [1, 0]])(of, ()) == 0.5
    # A third decision, "do not say", is cheaper than either where the posterior is at most 2/3 (the tie goes to 1).
    assert wrapper.expected_cost([[0, 3, 1], [3, 0, 1]])(of, (0,)) == pytest.approx(3 / 4)


def test_several_classes_by_hand() -> None:
    # Uniform posteriors, one row per class: the criterion of every one-against-rest ranking is that of a tie.
    of = wrapper.refit(np.zeros((3, 1), dtype=int), np.arange(3), wrapper.training_rows(3))
    assert wrapper.auc(of, ()) == 0.5
    assert wrapper.brier(of, ()) == pytest.approx(2 / 3, rel=1e-14)
    assert wrapper.error_probability(of, (0,)) == pytest.approx(2 / 3, rel=1e-14)
    assert wrapper.error(of, ()) == pytest.approx(2 / 3, rel=1e-14)


@pytest.mark.parametrize("folds", ["train", "halves"])
def test_a_weight_of_two_is_the_row_twice(folds: str) -> None:
    more = [wrapper.recall(1), wrapper.precision(1), wrapper.expected_cost([[0, 1], [2, 0]])]
    rng = np.random.default_rng(5)
    codes, y = rng.integers(0, 3, (20, 3)), np.arange(20) % 2
    weights = np.append([1, 1, 1, 1], rng.integers(0, 3, 16))
    rows = np.repeat(np.arange(20), weights)
    parts = [np.arange(20)] * 2 if folds == "train" else [np.arange(10), np.arange(10, 20)]
    twice = [np.flatnonzero(np.isin(rows, part)) for part in parts]
    for smoothing in (1.0, "m-estimate"):
        left = wrapper.refit(codes, y, [parts, parts[::-1]], smoothing=smoothing, weights=weights)
        right = wrapper.refit(codes[rows], y[rows], [twice, twice[::-1]], smoothing=smoothing)
        for criterion in (*wrapper.CRITERIA.values(), *more):
            assert criterion(left, (0, 2)) == pytest.approx(criterion(right, (0, 2)), rel=1e-12), criterion


def path(steps: list[wrapper.Step]) -> list[tuple[int, str, int | None]]:
    return [(step.phase, step.move, step.feature) for step in steps]


def test_ties_go_to_the_lowest_column() -> None:
    steps = wrapper.search(lambda subset: 1.0, 3, "forward")
    assert path(steps) == [(0, "start", None), (0, "add", 0), (0, "add", 1), (0, "add", 2)]
    steps = wrapper.search(lambda subset: 1.0 + 1e-13 * sum(subset), 3, "backward")
    assert path(steps) == [(0, "start", None), (0, "drop", 0), (0, "drop", 1), (0, "drop", 2)]
    assert wrapper.best_step(steps).subset == ()


@pytest.mark.parametrize(
    ("costs", "other", "n_features", "direction", "begun"),
    [
        # Forward meets {0, 1, 2}; dropping 0 is better still; adding 3 then brings the best subset of all, and the last
        # phase, backward from {1, 2, 3}, brings nothing.
        (
            {(): 9, (0,): 5, (0, 1): 4, (0, 1, 2): 3, (1, 2): 2, (1, 2, 3): 1, (2, 3): 1.5, (1, 3): 1.5},
            *(7, 4, "forward-backward", [(), (0, 1, 2), (1, 2), (1, 2, 3)]),
        ),
        # An equal cost with fewer features is an improvement.
        ({(): 1, (0,): 1, (2,): 1, (0, 2): 1}, 0, 3, "forward-backward", [(), (1,)]),
        ({(): 1, (0,): 1, (2,): 1, (0, 2): 1}, 0, 3, "backward-forward", [(0, 1, 2), (1,)]),
    ],
)
def test_floating_search_by_hand(
    costs: dict[wrapper.Subset, float], other: float, n_features: int, direction: str, begun: list[wrapper.Subset]
) -> None:
    steps = wrapper.search(lambda subset: costs.get(subset, other), n_features, direction)
    assert [step.subset for step in steps if step.move == "start"] == begun
    assert [step.phase for step in steps if step.move == "start"] == list(range(len(begun)))
    assert wrapper.best_step(steps).subset == begun[-1]


def test_tolerance_ends_a_phase() -> None:
    costs = [4.0, 3.0, 2.9, 1.0]  # by number of features
    steps = wrapper.search(lambda subset: costs[len(subset)], 3, "forward", tol=0.5)
    assert [step.cost for step in steps] == [4.0, 3.0]
    costs = [3.0, 1.4, 1.0, 2.0]
    steps = wrapper.search(lambda subset: costs[len(subset)], 3, "backward", tol=0.5)
    assert [step.cost for step in steps] == [2.0, 1.0, 1.4]
