"""Estimators with drawn options, some of them out of any sense."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold

import bayesieve as bs
from bayesieve import criteria
from bayesieve.criteria import Benefit, ExpectedCost, Precision, Recall
from tests.fuzz.case import Case

SELECTORS = (
    *("all", "map", "bayesian", "compression", "wrapper", "accuracy", "auc", "information-gain"),
    *("imprecise-information-gain", "mrmr", "cfs", "clusters", "boosted"),
)
MEASURES = ("mutual_information", "symmetrical_uncertainty", "pearson", "spearman")
CRITERIA = tuple(name for name, part in criteria.CRITERIA.items() if not part.needs_options)


def odd_values() -> tuple[Any, ...]:
    """Values that few options take; no two cases share one that can change."""
    return (
        *(-1, 0, 1, 1.5, float("nan"), float("inf"), "a", None, [], {}, True, np.True_, np.int64(3), np.float32(0.5)),
        *(10**30, b"x", object(), np.array([1, 2]), (1, 2), -1e300, 1e-320, 2**32, "", dict, 5),
        *(np.random.RandomState(1), np.random.default_rng(1)),
    )


_OBJECTS = (Recall(1), Precision(1), ExpectedCost([[0, 1], [5, 0]]), Benefit([[0, 0], [-1, 9]]))


def smoothing(case: Case) -> Any:
    return "m-estimate" if case.chance(0.7) else case.pick((1.0, 0.5, 1e-3, 1e-10, 0, 0.0, 1e10, 3, np.float64(1)))


def random_state(case: Case) -> Any:
    states = (0, 1, 2**31, 2**32 - 1, 2**32, -1, np.int64(5), np.random.RandomState(3))
    return None if case.chance(0.6) else case.pick(states)


def prior(case: Case) -> Any:
    return case.pick(("sizes", "published"))


def discretizer(case: Case) -> Any:
    return case.pick(
        (
            lambda: bs.MODLDiscretizer(method=case.pick(("greedy", "optimal")), prior=prior(case)),
            *(lambda: bs.MODLDiscretizer(prior=prior(case)), bs.MDLPDiscretizer),
            lambda: bs.EqualFrequencyDiscretizer(case.pick((1, 2, 5, 10, 1000))),
            lambda: bs.EqualWidthDiscretizer(case.pick((1, 2, 5, 10, 1000))),
        )
    )()


def grouper(case: Case) -> Any:
    return bs.MODLGrouper(method=case.pick(("greedy", "greedy", "optimal")), prior=prior(case))


def table_encoder(case: Case, names: list[Any]) -> Any:
    numeric = case.pick(("modl", "modl", "mdlp", "equal-frequency", "equal-width"))
    kinds = None
    if names and case.chance(0.15):
        kinds = {case.pick(names): case.pick(("numeric", "categorical")) for _ in range(2)}
    return bs.TableEncoder(
        numeric=discretizer(case) if case.chance(0.2) else numeric,
        categorical=grouper(case) if case.chance(0.2) else case.pick(("modl", "auto", "values")),
        prior=prior(case),
        missing=case.pick(("level", "level", "ignore")),
        kinds=kinds,
        pairs=pairs(case, names),
        n_quantiles=case.pick((65_535, 65_535, 2, 100)),
    )


def pairs(case: Case, names: list[Any]) -> Any:
    if len(names) > 1 and case.chance(0.1):
        return [(case.pick(names), case.pick(names))]
    return case.pick((0, 0, 0, "auto", 2))


def indicator_encoder(case: Case) -> Any:
    thresholds = case.pick((10, 2, 1, [0.0], [-0.5, 0.5], [1, 1, 0], np.array([0.5]), 1000, [float("inf")], []))
    return bs.IndicatorEncoder(thresholds, missing=case.pick(("level", "ignore")))


def encoder(case: Case, names: list[Any]) -> Any:
    how = case.rng.random()
    if how < 0.5:
        return "modl"
    return table_encoder(case, names) if how < 0.9 else indicator_encoder(case)


def _wrapper(case: Case) -> Any:
    evaluation = case.pick(
        ("holdout", "holdout", "train", "loo", 2, 3, 5, KFold(2), StratifiedKFold(2), ShuffleSplit(2))
    )
    return bs.WrapperSelector(
        case.pick(CRITERIA) if case.chance(0.85) else case.pick(_OBJECTS),
        direction=case.pick(("forward", "backward", "forward-backward", "backward-forward", "fast")),
        evaluation=GroupKFold(2) if case.chance(0.03) else evaluation,
        n_features_to_select="best" if case.chance(0.7) else case.integer(1, 4),
        tol=case.pick((None, None, 0.0, 0.01)),
        max_seconds=case.pick((None, None, None, 0.0, 0.05)),
        validation=case.pick(CRITERIA),
        validation_size=case.pick((0.5, 0.5, 0.3, 0.9, 0.01)),
        smoothing=smoothing(case),
        random_state=random_state(case),
    )


def _averaged(kind: Any) -> Callable[[Case], Any]:
    return lambda case: kind(
        n_starts=case.pick((None, None, 1, 5)),
        max_iter=case.pick((5, 1, 2)),
        exhaustive=case.pick((True, False, "auto")) if case.chance(0.2) else "auto",
        max_seconds=case.pick((None, None, 0.0, 0.05)),
        smoothing=smoothing(case),
        random_state=random_state(case),
        **({} if kind is bs.MAPSelector else {"count": case.pick(("distinct", "evaluations"))}),
    )


def _clusters(case: Case) -> Any:
    return bs.DependenceClusterSelector(
        case.pick(MEASURES),
        n_cuts=case.pick((None, None, 1, 3, 1000)),
        n_combinations=case.pick((25, 25, 1, 3)),
        q=case.pick(("auto", "auto", 0.5, 1, 1e-3)),
        linkage=case.pick(("complete", "complete", "average", "single", "weighted")),
        diagonal=case.chance(0.7),
        refit=case.chance(0.5),
        scoring=case.pick((*CRITERIA, "f1_macro", "recall:1", "precision:x"))
        if case.chance(0.85)
        else case.pick(_OBJECTS),
        constraints=case.pick((None, None, {"recall:1": 0.5}, {"accuracy": 0.9}, {"log_loss": 0.5, "auc": 0.5})),
        evaluation=case.pick(("holdout", "holdout", "train", "loo", 2, KFold(2), ShuffleSplit(2))),
        validation_size=case.pick((1 / 3, 1 / 3, 0.3, 0.9, 0.01)),
        max_seconds=case.pick((None, None, None, 0.0, 0.05)),
        smoothing=smoothing(case),
        random_state=random_state(case),
    )


_MAKERS: tuple[Callable[[Case], Any], ...] = (
    *(_wrapper, _wrapper, _clusters),
    *(_averaged(kind) for kind in (bs.MAPSelector, bs.BayesianAveraging, bs.CompressionAveraging)),
    lambda case: bs.AllFeatures(smoothing=smoothing(case)),
    lambda case: bs.AccuracySelector(smoothing=smoothing(case), max_seconds=case.pick((None, 0.0))),
    lambda case: bs.AUCSelector(
        search=case.pick(("forward", "multi-start")), smoothing=smoothing(case), max_seconds=case.pick((None, 0.0))
    ),
    lambda case: bs.InformationGainSelector(
        threshold=case.pick((0.0, 0.01, 0.5)),
        alpha=case.pick((None, 0.05, 0.5)) if case.chance(0.3) else None,
        n_features_to_select=case.pick((None, None, "auto", 1, 2, 5)),
        validation=case.pick(CRITERIA),
        random_state=random_state(case),
    ),
    lambda case: bs.ImpreciseInformationGainSelector(
        s=case.pick((1.0, 0.0, 0.5, 2.0, 1e6)),
        threshold=case.pick((0.0, 0.01)),
        level_probabilities=case.pick(("frequency", "maximum-entropy")),
    ),
    lambda case: bs.MRMRSelector(
        case.pick(("auto", "auto", 1, 2, 5)),
        form=case.pick(("difference", "quotient")),
        dependence=case.pick(MEASURES),
        validation=case.pick(CRITERIA),
        random_state=random_state(case),
    ),
    lambda case: bs.BoostedSelector(
        case.pick((20, 1, 5, None)),
        case.pick((None, 1, 2)),
        max_seconds=case.pick((None, None, 0.0)),
        smoothing=smoothing(case),
    ),
    lambda case: bs.CFSSelector(
        case.pick(("best-first", "forward", "backward")),
        dependence=case.pick(MEASURES),
        locally_predictive=case.chance(0.3),
        independent_as_redundant=case.chance(0.3),
    ),
)


def selector(case: Case) -> Any:
    """A selector object."""
    return case.pick(_MAKERS)(case)


def model(case: Case, names: list[Any]) -> Any:
    """A classifier; ``names`` are those of the columns that it will be given."""
    return bs.SelectiveNB(
        case.pick(SELECTORS) if case.chance(0.5) else selector(case),
        encoder=encoder(case, names),
        pairs=pairs(case, names),
        prior=prior(case),
        smoothing=smoothing(case),
        calibrate=case.pick(("auto", "auto", "weights", "levels", "cells", "cells", True, False)),
        monotone=None if case.chance(0.9) else {name: case.pick((1, -1)) for name in names if case.chance(0.3)},
        max_seconds=None if case.chance(0.85) else case.pick((0.0, 0.05, float("inf"))),
        random_state=random_state(case),
        n_jobs=case.pick((-1, -1, 1, 2, None)),
    )


ENDLESS = ("n_starts", "max_iter", "verbose", "resume")
"""Options that may ask for any amount of work, or of output."""


def spoil(case: Case, estimator: Any) -> Any:
    """Set one option, perhaps of a part, to something odd."""
    names = sorted(n for n in estimator.get_params(deep=True) if n.rpartition("__")[2] not in ENDLESS)
    name, value = case.pick(names), case.pick(odd_values())
    case.note(f"{name}={value!r}")
    return estimator.set_params(**{name: value})
