"""The wrapper oracle against hand-made values and the golden paths."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests import golden
from tests.reference import wrapper

# With Laplace's alpha = 1: P(0 | class 0) = 3/4, P(0 | class 1) = 1/2; both classes have prior 1/2.
CODES = np.array([[0], [0], [0], [1]])
LABELS = np.array([0, 0, 1, 1])


def scored(smoothing: float | str = 1.0, weights: np.ndarray | None = None) -> wrapper.Scored:
    return wrapper.refit(CODES, LABELS, wrapper.training_rows(4), smoothing=smoothing, weights=weights)


def posteriors(of: wrapper.Scored) -> list[float]:
    """P(true class) of every row, with the feature."""
    return np.exp(of.log_posterior((0,)))[np.arange(len(of.y)), of.y].tolist()


def test_posteriors_by_hand() -> None:
    assert posteriors(scored()) == pytest.approx([3 / 5, 3 / 5, 2 / 5, 2 / 3], rel=1e-14)
    # (2 + 1/4) / (2 + 2/4) = 9/10, (1 + 1/4) / (2 + 2/4) = 1/2.
    assert posteriors(scored("m-estimate")) == pytest.approx([9 / 14, 9 / 14, 5 / 14, 5 / 6], rel=1e-14)


def test_leave_one_out_by_hand() -> None:
    # Without row 0: priors 1/3 and 2/3, P(0 | 0) = 2/3, P(0 | 1) = 1/2; and so on.
    of = wrapper.refit(CODES, LABELS, wrapper.leave_one_out(4))
    assert posteriors(of) == pytest.approx([2 / 5, 2 / 5, 2 / 11, 2 / 5], rel=1e-14)
    # Two folds pool the same posteriors as their rows: each is scored by the tables of the others.
    halves = wrapper.refit(CODES, LABELS, [([1, 3], [0, 2]), ([0, 2], [1, 3])])
    assert posteriors(halves) == pytest.approx([2 / 3, 1 / 3, 1 / 2, 1 / 2], rel=1e-14)
    assert halves.y.tolist() == [0, 1, 0, 1]


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
        ("brier", 1 / 2, 2 * (4 / 25 + 4 / 25 + 9 / 25 + 1 / 9) / 4),
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


@pytest.mark.parametrize("name", [*wrapper.CRITERIA, "recall", "precision", "cost"])
@pytest.mark.parametrize("folds", ["train", "halves"])
def test_a_weight_of_two_is_the_row_twice(name: str, folds: str) -> None:
    more = {
        "recall": wrapper.recall(1),
        "precision": wrapper.precision(1),
        "cost": wrapper.expected_cost([[0, 1], [2, 0]]),
    }
    criterion = {**wrapper.CRITERIA, **more}[name]
    rng = np.random.default_rng(5)
    codes, y = rng.integers(0, 3, (20, 3)), np.arange(20) % 2
    weights = rng.integers(0, 3, 20)
    weights[:4] = 1
    rows = np.repeat(np.arange(20), weights)
    where = [np.flatnonzero(np.arange(20) < 10), np.flatnonzero(np.arange(20) >= 10)]
    twice = [np.flatnonzero(np.isin(rows, part)) for part in where]
    everything = [(range(20), range(20))], [(range(rows.size), range(rows.size))]
    halves = [(where[0], where[1]), (where[1], where[0])], [(twice[0], twice[1]), (twice[1], twice[0])]
    weighted, repeated = everything if folds == "train" else halves
    for smoothing in (1.0, "m-estimate"):
        left = wrapper.refit(codes, y, weighted, smoothing=smoothing, weights=weights)
        right = wrapper.refit(codes[rows], y[rows], repeated, smoothing=smoothing)
        assert criterion(left, (0, 2)) == pytest.approx(criterion(right, (0, 2)), rel=1e-12)


def path(steps: list[wrapper.Step]) -> list[tuple[int, str, int | None]]:
    return [(step.phase, step.move, step.feature) for step in steps]


def test_ties_go_to_the_lowest_column() -> None:
    steps = wrapper.search(lambda subset: 1.0, 3, "forward")
    assert path(steps) == [(0, "start", None), (0, "add", 0), (0, "add", 1), (0, "add", 2)]
    steps = wrapper.search(lambda subset: 1.0 + 1e-13 * sum(subset), 3, "backward")
    assert path(steps) == [(0, "start", None), (0, "drop", 0), (0, "drop", 1), (0, "drop", 2)]
    assert wrapper.best_step(steps).subset == ()


def test_floating_search_by_hand() -> None:
    # Forward meets {0, 1, 2}; dropping 0 is better still; adding 3 then brings the best subset of all.
    costs = {(): 9, (0,): 5, (0, 1): 4, (0, 1, 2): 3, (1, 2): 2, (1, 2, 3): 1, (2, 3): 1.5, (1, 3): 1.5}

    def cost(subset: wrapper.Subset) -> float:
        return costs.get(subset, 7)

    steps = wrapper.search(cost, 4, "forward-backward")
    begun = [step.subset for step in steps if step.move == "start"]
    # The last phase, backward from {1, 2, 3}, brings nothing.
    assert begun == [(), (0, 1, 2), (1, 2), (1, 2, 3)]
    assert wrapper.best_step(steps).subset == (1, 2, 3)
    assert [step.phase for step in steps if step.move == "start"] == [0, 1, 2, 3]


def test_equal_cost_with_fewer_features_is_an_improvement() -> None:
    steps = wrapper.search(lambda subset: 0.0 if 1 in subset else 1.0, 3, "forward-backward")
    assert [step.subset for step in steps if step.move == "start"] == [(), (1,)]
    steps = wrapper.search(lambda subset: 0.0 if 1 in subset else 1.0, 3, "backward-forward")
    assert [step.subset for step in steps if step.move == "start"] == [(0, 1, 2), (1,)]


def test_tolerance_ends_a_phase() -> None:
    costs = [4.0, 3.0, 2.9, 1.0]  # by number of features
    steps = wrapper.search(lambda subset: costs[len(subset)], 3, "forward", tol=0.5)
    assert [step.cost for step in steps] == [4.0, 3.0]
    costs = [3.0, 1.4, 1.0, 2.0]
    steps = wrapper.search(lambda subset: costs[len(subset)], 3, "backward", tol=0.5)
    assert [step.cost for step in steps] == [2.0, 1.0, 1.4]


@pytest.mark.parametrize("name", golden.WRAPPER_TABLES)
@pytest.mark.parametrize("prior", golden.WRAPPER_PRIORS)
@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("criterion", golden.WRAPPER_CRITERIA.values())
def test_golden_paths(name: str, prior: str, direction: str, criterion: str) -> None:
    columns, codes, y = golden.coded_table(name)
    entry = golden.wrapper_path(name, prior, criterion, direction)
    of = wrapper.refit(
        codes, y, wrapper.training_rows(len(y)), class_smoothing=1.0 if prior == "laplace_prior" else 0.0
    )
    steps = wrapper.search(wrapper.as_cost(criterion, of), len(columns), direction)
    assert [step.feature for step in steps[1:]] == entry["order"]
    np.testing.assert_allclose(
        [wrapper.value_of(criterion, step.cost) for step in steps], entry["values"], rtol=0, atol=1e-12
    )
