"""Correlation-based feature selection (CFS): features that correlate with the class, and little with each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np

from bayesieve.counts import CodedTable, Dependence, Smoothing
from bayesieve.counts.dependence import make_dependence, raw_numbers
from bayesieve.counts.pairs import PairInformation
from bayesieve.discretize.refitting import LevelRefitter
from bayesieve.parts import Allowed, Score
from bayesieve.search import (
    BestFirst,
    Clock,
    GreedySearch,
    Objective,
    Search,
    SearchTrace,
    StepRecorder,
    SubsetProblem,
    TraceRecorder,
    first_record,
)
from bayesieve.selection.base import SHARED_OPTIONS, CodedSelector

SEARCHES: dict[str, Search] = {
    "best-first": BestFirst(),
    "forward": GreedySearch("forward", tol=0.0, every_move=True),
    "backward": GreedySearch("backward", tol=0.0, every_move=True, last_of_ties=True),
}
_WEKA_ZERO = 1e-6


class CFSSelector(CodedSelector):
    """Select the subset of largest merit: features correlated with the class, and not with each other.

    The merit of k features is k r_cf / sqrt(k + k (k - 1) r_ff), with r_cf the mean correlation of a feature with the
    class, r_ff that of two features. Correlation is the symmetrical uncertainty, 2 I(X; Y) / (H(X) + H(Y)).

    Parameters
    ----------
    search : "best-first", "forward", "backward" or a search of `bayesieve.search`, default="best-first"
        ``"best-first"``: the best subset in the queue is extended by each other feature; the queue holds the five best
        subsets not yet extended. The search ends when five extensions in a row have not improved the merit by more than
        1e-5. ``"forward"`` adds the best feature as long as the merit rises, ``"backward"`` drops the worst one as long
        as the merit does not fall.
    dependence : str or Dependence, default="symmetrical_uncertainty"
        Measure of correlation: any measure from 0 to 1 that grows with the dependence, or ``"mutual_information"`` in
        nats; the names are those of `MRMRSelector`.
    locally_predictive : bool, default=False
        Whether to add features after the search, in the order of their correlation with the class. A feature is added
        if it is at least as correlated with the class as with each selected feature. The merit may fall.
    independent_as_redundant : bool, default=False
        Whether two features with a symmetrical uncertainty below 1e-6 count as fully correlated (1). Weka does that;
        use it to reproduce Weka's results if features are independent or constant.
    smoothing : "m-estimate" or float, default="m-estimate"
        Ignored, because the merit needs no probabilities.

    Attributes
    ----------
    merit_ : float
        Merit of the selected subset.
    class_correlations_ : float array, shape (n_features,)
        Correlation of each feature with the class, by the measure ``dependence``.
    weights_, support_ : arrays, shape (n_features,)
        1 and True for the features selected.
    n_features_selected_ : int
    trace_ : SearchTrace
        Every evaluated subset with its merit; best-first search records one start for each extended subset.

    Notes
    -----
    Merits are rounded to twelve decimals before they are compared. Of equal moves, forward search makes the first in
    the order of the columns and backward search the last, as Weka does. The correlations of a feature with all others
    are computed when it first enters a subset; backward search needs all of them, 8 bytes per pair. Missing values form
    a level of their own, as with Weka's option -M.

    References
    ----------
    Hall (1999), Correlation-based feature selection for machine learning, PhD thesis, University of Waikato, chapter 4;
    Hall (2000), Correlation-based feature selection for discrete and numeric class machine learning, ICML; the searches
    are those of Hall et al. (2009), The WEKA data mining software: an update, SIGKDD Explorations 11 (1).

    Examples
    --------
    >>> from bayesieve import CFSSelector
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> selector = CFSSelector().fit(X, y)
    >>> selector.get_feature_names_out().tolist(), round(selector.merit_, 3)
    (['petal length (cm)', 'petal width (cm)'], 0.898)
    """

    name = "cfs"
    title = "filter by correlations"
    sentence = "Features correlated with the target and not with each other were selected together (CFS; Hall 1999)."
    scores = (Score("cfs_merit", "CFS merit", of="subset"),)
    kernel_families = ("pairs",)

    _allowed = SHARED_OPTIONS | {"search": replace(Allowed.choice(*SEARCHES), types=(Search,))}

    search: Literal["best-first", "forward", "backward"] | Search = "best-first"
    _: KW_ONLY
    dependence: str | Dependence = "symmetrical_uncertainty"
    locally_predictive: bool = False
    independent_as_redundant: bool = False
    smoothing: Smoothing = "m-estimate"
    encoder: Any = "modl"
    n_jobs: int | None = -1

    def _search(self, coded: CodedTable, *, refitter: LevelRefitter | None = None) -> np.ndarray:
        """Search for the subset of largest merit, set ``trace_`` and ``merit_``, and return weight 1 for its features
        and 0 for others, shape (n_features,).

        ``refitter`` gives the raw values to measures of dependence that compare them; it may be None for other
        measures.
        """
        clock = Clock(None)
        dependence = make_dependence(self.dependence, grows=True)
        self.class_correlations_ = dependence.with_class(coded.counts)
        pairs = PairInformation(coded, n_jobs=self.n_jobs, numbers=raw_numbers(dependence, coded, refitter))
        merits = SubsetMerits(pairs, dependence, self.class_correlations_, self.independent_as_redundant)
        search = SEARCHES[self.search] if isinstance(self.search, str) else self.search
        objective = MeritObjective(Merit(), None, merits=merits)  # type: ignore[arg-type]
        every, locally = np.arange(coded.n_features), self.locally_predictive
        trace = search.run(MeritProblem(objective, coded.names, every, locally_predictive=locally))
        self.trace_ = replace(trace, seconds=clock.seconds)
        selected = np.asarray(self.trace_.chosen)
        self.merit_ = merits.of(selected)
        return selected.astype(float)

    def check_options(self) -> None:
        """Raise ValueError if an option has an invalid value."""
        super().check_options()
        make_dependence(self.dependence, grows=True)


class Merit:
    """Name, unit and direction of the CFS merit, with the attributes that a search reads from its criterion."""

    name, lower_is_better, best = "cfs_merit", False, None


@dataclass(frozen=True)
class MeritObjective(Objective):
    """Search objective that evaluates subsets by their CFS merit, which needs the correlations ``merits``
    but no rows.
    """

    merits: Any = None

    def follow(self, leave_out: bool, n_jobs: int | None) -> SubsetMerits:  # type: ignore[override]
        """Return the merits of subsets, with the empty subset as the current one. ``leave_out`` and ``n_jobs``,
        arguments of the base method, are ignored.
        """
        self.merits.reset()
        return self.merits


@dataclass(frozen=True)
class MeritProblem(SubsetProblem):
    """Search problem that maximises the CFS merit.

    With ``locally_predictive``, features are added after the search if they correlate at least as much with the class
    as with each selected feature.
    """

    locally_predictive: bool = False

    def trace(self, walks: list[TraceRecorder], chosen: np.ndarray | None = None, **facts: Any) -> SearchTrace:
        """Add locally predictive features if ``locally_predictive`` is set, and return the trace of the search.

        ``walks`` are the recorded moves from each start of the search, ``chosen`` is a mask (n_features,) of the chosen
        subset (None: the best subset in the trace), and ``facts`` are further fields of `SearchTrace`, such as
        ``seconds``.
        """
        if self.locally_predictive:
            chosen = np.asarray(super().trace(walks, chosen, **facts).chosen)
            walk, chosen = self._add_locally_predictive(chosen, facts["seconds"])
            walks = [*walks, walk]
        return super().trace(walks, chosen, **facts)

    def _add_locally_predictive(self, chosen: np.ndarray, seconds: float) -> tuple[TraceRecorder, np.ndarray]:
        """Add locally predictive features to a subset, in descending order of their correlation with the class.

        ``chosen`` is the mask (n_features,) of the subset, ``seconds`` the time since the search began. Return the
        record of the additions, and the mask of the new subset.
        """
        merits: SubsetMerits = self.objective.merits  # type: ignore[attr-defined]
        state, steps = self.state(), StepRecorder(self)
        state.reset(chosen)
        walk = first_record(state)
        with_class = merits.class_correlations
        strongest = merits.correlations(np.flatnonzero(chosen)).max(axis=0, initial=0.0)
        for feature in np.argsort(-np.round(with_class, 12), kind="stable").tolist():
            if not state.selected[feature] and with_class[feature] > 0 and strongest[feature] <= with_class[feature]:
                move = np.array([feature])
                costs = state.candidates(move)
                steps.record(walk, state.selected, move, costs, 0, seconds)
                state.flip(feature, float(costs[0]))
                strongest = np.maximum(strongest, merits.correlations(move)[0])
        return walk, state.selected


class SubsetMerits:
    """Merits of feature subsets (Hall 1999, equation 4.4), from correlations that are computed when first needed.

    An object has a current subset, whose sums of correlations are updated with each move, and the methods of
    `RunningCriterion`, so that searches can use it. Costs are minus merits, because searches minimise.
    ``class_correlations`` (n_features,) are the correlations of the features with the class.
    """

    sign = -1.0

    def __init__(
        self,
        pairs: PairInformation,
        dependence: Dependence,
        class_correlations: np.ndarray,
        independent_as_redundant: bool = False,
    ) -> None:
        self._pairs, self._dependence = pairs, dependence
        self.class_correlations = class_correlations
        self._independent_as_redundant = independent_as_redundant
        self._rows: dict[int, np.ndarray] = {}
        self._self_correlations = np.zeros(class_correlations.size)  # of a feature with itself: 1, or 0 if constant
        self._clear()
        self.reset()

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.class_correlations.size)

    def reset(self) -> None:
        """Make the empty subset the current one."""
        self._selected = np.zeros(self.n_features, dtype=bool)

    def move(self, features: Sequence[int], adding: Sequence[bool]) -> None:
        """Add each of ``features`` (positions) to the current subset if its entry of ``adding`` is true, otherwise drop
        it.
        """
        self._selected[list(features)] = adding

    def current(self, size: int) -> float:
        """Return the cost of the current subset, which is minus its merit. The argument ``size``, the size of the
        subset, is ignored.
        """
        return -self.of(self._selected)

    def correlations(self, features: np.ndarray) -> np.ndarray:
        """Return the correlations of the given features (positions) with all features, shape (features.size,
        n_features).
        """
        self._count(features)
        return np.array([self._rows[k] for k in features.tolist()]).reshape(features.size, self.n_features)

    def of(self, selected: np.ndarray) -> float:
        """Return the merit of the subset given as a mask of shape (n_features,); 0 for the empty subset."""
        self._go_to(selected)
        return float(_merit(self._with_class, np.count_nonzero(selected), self._within))

    def candidates(self, features: np.ndarray, adding: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return the cost (minus merit) of the subset after each of several alternative moves, shape (n_moves,).

        Move i adds ``features[i]`` if ``adding[i]``, otherwise drops it; ``sizes[i]`` is the size of the resulting
        subset. All arrays have shape (n_moves,).
        """
        self._go_to(self._selected)
        sign = np.where(adding, 1, -1)
        to_itself = np.where(adding, 0.0, self._self_correlations[features])
        with_class = self._with_class + sign * self.class_correlations[features]
        within = self._within + sign * (self._with_subset[features] - to_itself)
        return -np.asarray(_merit(with_class, sizes, within))

    def _count(self, features: np.ndarray) -> None:
        """Compute the correlations of ``features`` (positions) with all features, and store those that are not stored
        yet.
        """
        new = np.array([k for k in features.tolist() if k not in self._rows], dtype=np.int64)
        if new.size:
            rows = self._pairs.of(self._dependence, new)
            if self._independent_as_redundant:
                rows[rows < _WEKA_ZERO] = 1.0
            self._self_correlations[new] = rows[np.arange(new.size), new]
            self._rows.update(zip(new.tolist(), rows, strict=True))

    def _clear(self) -> None:
        """Reset the sums of correlations to 0, those of the empty subset."""
        self._subset = np.zeros(self.n_features, dtype=bool)
        self._with_class, self._within = 0.0, 0.0  # sums over the subset: with the class, and over its pairs
        self._with_subset = np.zeros(self.n_features)  # for each feature, the sum over the features of the subset

    def _go_to(self, selected: np.ndarray) -> None:
        """Update the sums of correlations so that they belong to the subset ``selected``, a mask (n_features,).

        The update starts from the subset of the present sums if few features changed, otherwise from the empty one.
        """
        changed = np.flatnonzero(selected != self._subset)
        if changed.size >= np.count_nonzero(selected):
            self._clear()
            changed = np.flatnonzero(selected)
        self._count(changed)
        for k in changed.tolist():
            if selected[k]:
                self._within += self._with_subset[k]
                self._with_subset += self._rows[k]
                self._with_class += self.class_correlations[k]
            else:
                self._with_subset -= self._rows[k]
                self._within -= self._with_subset[k]
                self._with_class -= self.class_correlations[k]
        self._subset = selected.copy()


def _merit(with_class: Any, size: Any, within: Any) -> Any:
    """Return the CFS merit, with_class / sqrt(size + 2 within), rounded to 12 decimals; 0 for the empty subset.

    ``with_class`` is the sum of the correlations of the features with the class, ``size`` the number of features, and
    ``within`` the sum of the correlations over all pairs of features; each is a number or an array (n_subsets,).
    """
    spread = np.asarray(size + 2.0 * within)
    real = np.asarray(size) > 0
    return np.round(np.where(real, with_class / np.sqrt(np.where(real, spread, 1.0)), 0.0), 12)
