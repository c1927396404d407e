"""Ranking of methods on one data set, with tests over their folds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesieve.evaluation.comparison_result import Comparison
from bayesieve.statistics import PairedTest, average_ranks, corrected_resampled_t

LEVEL = 0.05


@dataclass(frozen=True)
class Standing:
    """A method among the others.

    Attributes
    ----------
    method : its name.
    rank : mean rank over folds, 1 is best; it ranks last on folds on which it failed.
    beats, loses_to : number of methods that are significantly worse, better, by the corrected resampled t-test at 5 %
        (Nadeau & Bengio 2003), not adjusted for multiple tests.
    against_best : test of this method minus the best one; None for the best itself.
    """

    method: str
    rank: float
    beats: int
    loses_to: int
    against_best: PairedTest | None


def standings(comparison: Comparison, measure: str, data: str | None = None) -> list[Standing]:
    """All methods with results on a data set, the best mean first; those that failed on some folds come last.

    Parameters
    ----------
    comparison : result of `compare`.
    measure : a performance measure, such as ``"auc"``.
    data : name of the data set; optional if there is only one.

    Raises
    ------
    ValueError
        If there is no such measure or data set.

    Examples
    --------
    >>> from bayesieve import RepeatedFolds, SelectiveNB, compare
    >>> from bayesieve.evaluation.standings import standings
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> methods = {"shares": DummyClassifier(), "map": SelectiveNB("map")}
    >>> comparison = compare(methods, X, y, RepeatedFolds(n_folds=5))
    >>> [(s.method, s.rank, s.beats, s.loses_to) for s in standings(comparison, "accuracy")]
    [('map', 1.0, 1, 0), ('shares', 2.0, 0, 1)]
    """
    values = comparison.folds(measure, data)
    values = values[~np.isnan(values).all(axis=1)]
    known = [place for place in range(len(comparison.methods)) if not np.isnan(values[:, place]).all()]
    if not known:
        return []
    better = comparison.higher_is_better(measure)
    sign = 1 if better else -1
    ranks = average_ranks(values, better)

    def test(one: int, other: int) -> PairedTest:
        return corrected_resampled_t(values[:, one], values[:, other], comparison.test_share)

    def place_of(place: int) -> tuple[bool, float, int]:
        column = values[:, place]
        return bool(np.isnan(column).any()), -sign * float(np.round(np.nanmean(column), 12)), place

    order = sorted(known, key=place_of)
    outcomes = {one: [sign * test(one, other).sign(LEVEL) for other in known if other != one] for one in known}
    return [
        Standing(
            method=comparison.methods[one],
            rank=float(ranks[one]),
            beats=outcomes[one].count(1),
            loses_to=outcomes[one].count(-1),
            against_best=None if one == order[0] else test(one, order[0]),
        )
        for one in order
    ]
