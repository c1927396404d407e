"""Search over clusters of dependent features: candidate subsets take at most one feature of each cluster."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bayesieve.counts import CodedTable, Dependence
from bayesieve.counts.dependence import make_dependence
from bayesieve.counts.pairs import strongest_within_classes
from bayesieve.engine.progress import Clock, Progress
from bayesieve.search.problem import Search, SubsetProblem, no_naive_bayes
from bayesieve.search.subset_values import SubsetValues, walk_subsets
from bayesieve.search.trace import SearchTrace, TraceRecorder, WalkStart

LINKAGES = ("complete", "average", "single", "weighted")
_MAX_CUTS = 100
_STRONG, _STRONG_SHARE = 0.1, 0.2  # q is small if this share of the entries of M exceeds 0.1
_Q_OF_MANY, _Q_OF_FEW = 0.4, 0.6


@dataclass(frozen=True)
class FeatureClusters:
    """Hierarchical clustering of features; the most dependent features are merged first.

    Attributes
    ----------
    dependence : (n_features, n_features) matrix M of the strongest dependence of two features within any class.
    features : (n,) positions of the features in the tree, from which a search may choose.
    linkage : (n - 1, 4) merges in SciPy's format; heights are dissimilarities from 0 to 1.
    """

    dependence: np.ndarray
    features: np.ndarray
    linkage: np.ndarray

    @classmethod
    def of(
        cls, dependence: np.ndarray, features: np.ndarray, method: str = "complete", *, diagonal: bool = True
    ) -> FeatureClusters:
        """Cluster features by the dissimilarities H = (M* - M) / M*, where M is the matrix and M* its largest entry.

        Parameters
        ----------
        dependence : array, shape (n_features, n_features)
            Matrix M: strongest dependence of two features within any class.
        features : array, shape (n,)
            Positions of the features to cluster.
        method : str
            Linkage; see `ClusterSearch`.
        diagonal : bool
            Whether M* may be an entry on the diagonal, the dependence of a feature on itself.
        """
        from scipy.cluster.hierarchy import linkage
        from scipy.spatial.distance import squareform

        pairs = dependence[np.ix_(features, features)]
        distances = squareform(pairs, checks=False)
        largest = max(pairs.max(initial=0.0) if diagonal else distances.max(initial=0.0), 0.0)
        heights = (largest - distances) / largest if largest > 0 else np.ones_like(distances)
        tree = linkage(heights, method) if heights.size else np.zeros((0, 4))
        return cls(dependence, features, tree)

    @property
    def q(self) -> float:
        """Probability with which a candidate subset takes a feature from a cluster.

        It is 0.4 if at least 20 % of the entries of the dependence matrix exceed 0.1, otherwise 0.6.
        """
        entries = self.dependence  # also of features with a single level
        return _Q_OF_MANY if entries.size and np.mean(entries > _STRONG) >= _STRONG_SHARE else _Q_OF_FEW

    @property
    def order(self) -> np.ndarray:
        """Positions of the features in the order of the leaves of the tree, from left to right, shape (n,)."""
        from scipy.cluster.hierarchy import leaves_list

        return self.features[leaves_list(self.linkage)] if len(self.linkage) else self.features

    def cuts(self, n_cuts: int | None = None) -> list[tuple[float, list[np.ndarray]]]:
        """Return cuts through the tree, each a pair: the height of a merge, and the clusters after it as arrays of
        feature positions.

        ``n_cuts`` merges are chosen, evenly spread from the first to the last; None for all merges, but at most 100.
        """
        n_merges = len(self.linkage)
        n_chosen = min(n_merges, _MAX_CUTS if n_cuts is None else n_cuts)
        chosen = set(np.rint(np.linspace(1, n_merges, n_chosen)).astype(int).tolist()) if n_chosen else set()
        clusters = {leaf: self.features[[leaf]] for leaf in range(self.features.size)}
        cuts = []
        for merge, (left, right, height, _) in enumerate(self.linkage.tolist(), start=1):
            joined = np.concatenate([clusters.pop(int(left)), clusters.pop(int(right))])
            clusters[self.features.size + merge - 1] = np.sort(joined)
            if merge in chosen:
                cuts.append((height, sorted(clusters.values(), key=lambda cluster: int(cluster[0]))))
        return cuts

    def draw(
        self, n_cuts: int | None, n_combinations: int, q: float, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw the candidate subsets of algorithm 1 of Blanquero et al. (2021).

        Parameters
        ----------
        n_cuts : number of cuts through the tree; None for every merge, but at most 100.
        n_combinations : number of subsets drawn at each cut.
        q : probability that a subset takes a feature from a cluster.
        rng : random generator by which subsets are drawn.

        Returns
        -------
        subsets : bool array, shape (n_subsets, n_features)
            The full set first, then the non-empty subsets of each cut.
        cut : float array, shape (n_subsets,)
            Height of the cut that gave each subset; NaN for the full set.
        """
        full = np.zeros((1, len(self.dependence)), dtype=bool)
        full[0, self.features] = True
        parts, cut_of = [full], [np.array([np.nan])]
        for height, clusters in self.cuts(n_cuts):
            subsets = _combinations(clusters, n_combinations, q, rng, full.shape[1])
            parts.append(subsets[subsets.any(axis=1)])
            cut_of.append(np.full(len(parts[-1]), height))
        return np.concatenate(parts), np.concatenate(cut_of)


def _combinations(
    clusters: list[np.ndarray], max_combinations: int, q: float, rng: np.random.Generator, n_features: int
) -> np.ndarray:
    """Return random subsets that take at most one feature of each cluster, as a mask of shape (n, n_features).

    ``clusters`` are arrays of feature positions. A subset takes a random feature of a cluster with probability ``q``,
    and otherwise none. If at most ``max_combinations`` choices of one feature per cluster exist, each is used once;
    otherwise this number of random choices.
    """
    sizes = np.array([cluster.size for cluster in clusters])
    if math.prod(sizes.tolist()) <= max_combinations:
        picked = np.array(list(itertools.product(*clusters)))
    else:
        places = (rng.random((max_combinations, sizes.size)) * sizes).astype(np.int64)
        picked = np.concatenate(clusters)[np.cumsum(sizes) - sizes + places]
    gives = rng.random(picked.shape) < q
    subsets = np.zeros((len(picked), n_features), dtype=bool)
    rows = np.broadcast_to(np.arange(len(picked))[:, None], picked.shape)
    subsets[rows[gives], picked[gives]] = True
    return subsets


@dataclass(frozen=True)
class ClusterCandidates:
    """Clusters and candidate subsets of a search.

    Attributes
    ----------
    clusters : tree of the features
    subsets : (n, n_features) bool, distinct candidate subsets
    cut : (n,) height of the cut that first gave each candidate; NaN for the full set
    q : probability with which a candidate took a feature from a cluster
    values : criterion and constrained measures of the candidates
    trace : record of the search
    """

    clusters: FeatureClusters
    subsets: np.ndarray
    cut: np.ndarray
    q: float
    values: SubsetValues
    trace: SearchTrace


@dataclass(frozen=True)
class ClusterSearch(Search):
    """Search among subsets of features that depend little on each other (Blanquero et al. 2021, algorithm 1).

    Features are clustered by their dependence within the classes. At each cut through the tree, candidate subsets are
    drawn: with probability ``q``, a candidate takes a random feature of a cluster, and otherwise none. The best
    candidate that satisfies the constraints is chosen, the smallest one on ties; the full set is a candidate, too.

    Parameters
    ----------
    dependence : str, Dependence or function
        Measure of the dependence of two features; see `pair_statistics`. Of its values within each class, the largest
        is used.
    linkage : "complete", "average", "single" or "weighted"
        Definition of the dissimilarity of two clusters; see `scipy.cluster.hierarchy.linkage`.
    n_cuts : int or None
        Number of cuts through the tree, each at a merge; None for every merge, but at most 100.
    n_combinations : int
        Number of candidates drawn at each cut; all combinations if there are fewer.
    q : float or "auto"
        Probability that a candidate takes a feature from a cluster. "auto": 0.4 if at least 20 % of the entries of the
        matrix of dependences exceed 0.1, otherwise 0.6.
    diagonal : bool
        Whether the largest entry of the matrix, by which dissimilarities are scaled, may be on its diagonal.
    seed : int
        Seed of the random draws.
    max_seconds : float or None
        Time limit; after it, or after Ctrl-C, the best candidate so far is chosen.
    n_jobs : int or None
        Threads; the results do not depend on it.
    matrix : array-like, shape (n_features, n_features), or None
        Dependences of all pairs of features, to use instead of computed ones.

    References
    ----------
    Blanquero, Carrizosa, Ramirez-Cobo & Sillero-Denamiel (2021), Variable selection for naive Bayes classification,
    Computers & Operations Research 135.

    Examples
    --------
    >>> from bayesieve import TableEncoder
    >>> from bayesieve.search import ClusterSearch, Objective, SubsetProblem
    >>> from sklearn.datasets import load_iris
    >>> coded = TableEncoder().fit_transform_coded(*load_iris(return_X_y=True, as_frame=True))
    >>> trace = ClusterSearch().run(SubsetProblem.on(Objective.of(coded, "accuracy"), coded))
    >>> trace.chosen.tolist(), trace.n_models
    ([False, False, False, True], 5)
    """

    dependence: str | Dependence | Callable[[np.ndarray, np.ndarray], float] = "mutual_information"
    linkage: str = "complete"
    n_cuts: int | None = None
    n_combinations: int = 25
    q: float | Literal["auto"] = "auto"
    diagonal: bool = True
    seed: int = 0
    max_seconds: float | None = None
    n_jobs: int | None = -1
    matrix: Any = None

    def run(self, problem: SubsetProblem, progress: Progress | None = None) -> SearchTrace:
        """Run the search and return its trace. After Ctrl-C or ``max_seconds``, the best subset so far is chosen."""
        return self.explore(problem, progress).trace

    def explore(self, problem: SubsetProblem, progress: Progress | None = None) -> ClusterCandidates:
        """Run the search and return clusters, candidate subsets with their values, and the trace."""
        if problem.objective.rows is None:
            raise no_naive_bayes(self)
        clock = Clock(self.max_seconds, progress)
        matrix = self._matrix(problem)
        clusters = FeatureClusters.of(matrix, problem.candidates, self.linkage, diagonal=bool(self.diagonal))
        q = clusters.q if isinstance(self.q, str) else float(self.q)
        drawn, cut = clusters.draw(self.n_cuts, int(self.n_combinations), q, np.random.default_rng(self.seed))
        first = np.sort(np.unique(np.packbits(drawn, axis=1), axis=0, return_index=True)[1])
        subsets, cut = drawn[first], cut[first]
        values = walk_subsets(problem, subsets, n_jobs=self.n_jobs, clock=clock)
        evaluated = np.flatnonzero(values.evaluated)
        columns = (values.values, values.validations, values.violations)
        numbers = (column[evaluated].tolist() for column in columns)
        walks = [
            TraceRecorder(WalkStart(np.flatnonzero(subset), value, validation, violation))
            for subset, value, validation, violation in zip(subsets[evaluated], *numbers, strict=True)
        ]
        ended = {"complete": evaluated.size == len(subsets), "seconds": clock.seconds, "n_models": int(evaluated.size)}
        null = problem.objective.sign * problem.state().cost
        trace = problem.trace(walks, subsets[values.best], null_criterion=null, **ended)
        return ClusterCandidates(clusters, subsets, cut, q, values, trace)

    def _matrix(self, problem: SubsetProblem) -> np.ndarray:
        """Return the dependences of all pairs of features, (n_features, n_features): the option ``matrix``, or a matrix
        computed from the rows of the problem.
        """
        n = len(problem.names)
        if self.matrix is not None:
            matrix = np.asarray(self.matrix, dtype=float)
            if matrix.shape != (n, n) or not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T):
                raise ValueError(f"matrix must be a symmetric array of {n} x {n} finite numbers, got {matrix.shape}.")
            return matrix
        learnt: CodedTable | None = problem.learnt
        if learnt is None:
            raise ValueError(
                "The problem has no coded rows to measure dependence on; pass coded rows as learnt= of the problem, "
                "or dependences as matrix= of the search."
            )
        return strongest_within_classes(learnt, make_dependence(self.dependence, grows=True), self.n_jobs)
