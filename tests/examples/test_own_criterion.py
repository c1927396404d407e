"""The page on criteria of one's own: its code runs as printed, and its criteria are what it says they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from bayesieve import WrapperSelector
from tests.examples.pages import names_of
from tests.reference import wrapper


@pytest.fixture(scope="module")
def printed() -> dict[str, Any]:
    """What is defined once all code of the page has run."""
    return names_of("own-criterion.md")


def ranked_probability(scored: wrapper.Scored, subset: wrapper.Subset) -> float:
    """Epstein (1969), from the definition."""
    cumulated = np.exp(scored.log_posterior(subset)).cumsum(axis=1)
    truth = np.eye(scored.n_classes)[scored.y].cumsum(axis=1)
    return scored.mean(((cumulated - truth) ** 2).sum(axis=1))


def geometric_mean(scored: wrapper.Scored, subset: wrapper.Subset) -> float:
    """The root of the product of the recalls."""
    recalls = [wrapper.recall(j)(scored, subset) for j in range(scored.n_classes)]
    return float(np.prod(recalls)) ** (1 / len(recalls))


@pytest.mark.parametrize("evaluation", ["train", "loo", StratifiedKFold(3)], ids=["train", "loo", "folds"])
@pytest.mark.parametrize("name", ["RankedProbability", "GeometricMean"])
@pytest.mark.parametrize("weighted", [False, True])
def test_criteria_of_the_page(printed: dict[str, Any], name: str, evaluation: Any, weighted: bool) -> None:
    rng = np.random.default_rng(1)
    y = np.arange(45) % 3
    codes = np.where(rng.random((4, 45)) < 0.4, y, rng.integers(0, 3, (4, 45))).T
    weights = rng.uniform(0.5, 2.0, 45) if weighted else None
    folds = {"train": wrapper.training_rows(45), "loo": wrapper.leave_one_out(45)}
    splits = folds[evaluation] if isinstance(evaluation, str) else list(evaluation.split(codes, y))
    rows = wrapper.refit(codes, y, splits, weights=weights)
    function, sign = (ranked_probability, 1) if name == "RankedProbability" else (geometric_mean, -1)
    for direction in ("forward", "backward"):
        selector = WrapperSelector(
            criterion=printed[name](), direction=direction, evaluation=evaluation, smoothing=1.0, encoder=None
        ).fit(codes, y, sample_weight=weights)
        steps = wrapper.search(lambda subset: sign * function(rows, subset), 4, direction)
        frame = selector.trace_.to_frame()
        assert frame["feature"].to_list() == [None, *(f"x{step.feature}" for step in steps[1:])]
        np.testing.assert_allclose(frame["criterion"], [sign * step.cost for step in steps], rtol=0, atol=1e-10)


def test_losses_that_are_not_one_number_per_row_are_refused(printed: dict[str, Any]) -> None:
    class Total(printed["RankedProbability"]):  # type: ignore[misc]
        def losses(self, probability: np.ndarray, true_class: int) -> np.ndarray:
            return super().losses(probability, true_class).sum()

    with pytest.raises(ValueError, match="one number"):
        WrapperSelector(criterion=Total(), evaluation="train", encoder=None).fit([[0], [1], [1]], [0, 1, 1])
