"""Dependence between features: statistics of feature pairs, and selection from clusters of dependent features."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator

from bayesieve.counts import CodedTable, Dependence, Smoothing
from bayesieve.counts.dependence import make_dependence, raw_numbers
from bayesieve.counts.pairs import PairInformation, strongest_within_classes
from bayesieve.criteria import Criterion, check_criterion, make_criterion
from bayesieve.discretize.codes import read_codes
from bayesieve.discretize.refitting import LevelRefitter
from bayesieve.engine.callbacks import FitTask
from bayesieve.engine.progress import Progress
from bayesieve.parts import Allowed
from bayesieve.search import ClusterSearch, SearchTrace, SubsetProblem
from bayesieve.search.clusters import LINKAGES
from bayesieve.selection.base import SHARED_OPTIONS, SearchedRows, make_encoder, seed_of, with_classes
from bayesieve.selection.wrapper import SubsetSelector
from bayesieve.table.frames import results_frame


def pair_statistics(
    X: Any,
    y: Any = None,
    *,
    statistic: str | Dependence | Callable[[np.ndarray, np.ndarray], float] = "mutual_information",
    given_class: bool = False,
    features: Any = None,
    others: Any = None,
    encoder: Any = "modl",
    sample_weight: Any = None,
    n_jobs: int | None = -1,
) -> np.ndarray:
    """Return the dependence (such as mutual information) of pairs of features, optionally given the class.

    Parameters
    ----------
    X : CodedTable, dataframe, 2-D array or sparse matrix, shape (n_rows, n_features)
        Raw table; with ``encoder=None``, a table of codes (integers from 0). A coded table is used as it is, with its
        classes and row weights.
    y : array-like, shape (n_rows,), optional
        Class labels, required by the encoder and by ``given_class``; not allowed for a coded table, which has its own.
    statistic : str, Dependence or function, default="mutual_information"
        ``"mutual_information"`` in nats; ``"symmetrical_uncertainty"``, 2 I(X; Y) / (H(X) + H(Y)), from 0 to 1;
        absolute ``"pearson"`` or ``"spearman"`` correlation of the raw values, from 0 to 1; a `Dependence` or the name
        of a registered one; or a function of two arrays of numbers. `ValueDependence` describes how categories become
        numbers.
    given_class : bool, default=False
        Whether all informations and entropies are conditional on the class: I(X; Y | C) = sum P(c) I(X; Y | c).
    features, others : positions of features (list, array, slice or mask), or None for all
        Features of the rows and of the columns of the result. Only this block is held in memory, so a matrix of 20,000
        features can be computed 500 rows at a time.
    encoder : "modl", TableEncoder, IndicatorEncoder or None, default="modl"
        Encoder of the table; None if it is coded already.
    sample_weight : array-like, shape (n_rows,), optional
        Weights multiply counts; not allowed for a coded table, which has its own.
    n_jobs : int or None, default=-1
        Number of threads; -1 means all cores. Results do not depend on it.

    Returns
    -------
    float array, shape (n_features, n_others)
        Mutual information is between 0 and the smaller entropy, and exactly 0 for independent counts. For a feature and
        itself it is the entropy; the symmetrical uncertainty is 1, or 0 for a constant.

    Raises
    ------
    ValueError
        If the statistic is unknown, ``given_class`` is set without classes, or ``y`` or ``sample_weight`` are passed
        with a coded table.

    References
    ----------
    Cover & Thomas (2006), Elements of information theory, 2nd edition, sections 2.3 and 2.5; Hall (1999),
    Correlation-based feature selection for machine learning, section 4.2.1 (symmetrical uncertainty).

    Examples
    --------
    >>> from bayesieve import pair_statistics
    >>> codes = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]]
    >>> pair_statistics(codes, encoder=None).round(4).tolist()
    [[0.6931, 0.6931, 0.0], [0.6931, 0.6931, 0.0], [0.0, 0.0, 0.6931]]
    >>> pair_statistics(codes, encoder=None, statistic="symmetrical_uncertainty", features=[0], others=[1, 2]).tolist()
    [[1.0, 0.0]]
    """
    dependence = make_dependence(statistic, "statistic")
    coded, refitter = _coded(X, y, encoder, sample_weight)
    if given_class and coded.class_codes is None:
        raise ValueError("given_class=True needs the class of every row, but y is missing; pass the classes as y.")
    numbers = raw_numbers(dependence, coded, refitter)
    pairs = PairInformation(coded, given_class=given_class, n_jobs=n_jobs, numbers=numbers)
    return pairs.of(dependence, features, others)


def _coded(X: Any, y: Any, encoder: Any, sample_weight: Any) -> tuple[CodedTable, LevelRefitter | None]:
    """Return the table ``X`` as a coded table, and the refitter of its levels (None if there are no raw values to
    refit).

    ``X``, ``y``, ``encoder`` and ``sample_weight`` are those of `pair_statistics`.
    """
    if isinstance(X, CodedTable):
        if y is not None or sample_weight is not None:
            raise ValueError("A coded table has its own classes and row weights; omit y and sample_weight.")
        return X, None
    if encoder is not None:
        if y is None:
            raise ValueError(
                "y is missing, but the encoder needs the class of every row. Pass the classes as y, or pass coded "
                "rows as X with encoder=None."
            )
        return make_encoder(encoder).fit_with_refitter(X, y, sample_weight)
    codes = read_codes(PairStatistics(), X, reset=True)
    if y is None and sample_weight is None:
        return codes, None
    return with_classes(codes, np.zeros(codes.n_rows, dtype=int) if y is None else y, sample_weight), None


class PairStatistics(BaseEstimator):
    """Estimator without parameters; `read_codes` names its class in error messages."""


class DependenceClusterSelector(SubsetSelector):
    """Select features that depend little on each other, by any performance measure and under constraints.

    Features are clustered by their dependence within the classes. At each cut through the tree of clusters, random
    combinations are drawn that take at most one feature of each cluster. The combinations and the set of all features
    are the candidates. Of the candidates that satisfy the constraints, the one with the best performance on held-out
    rows is selected.

    Parameters
    ----------
    dependence : str, Dependence or function, default="mutual_information"
        Dependence of two features within a class: ``"mutual_information"`` or ``"symmetrical_uncertainty"`` of their
        levels; ``"pearson"`` or ``"spearman"`` of their values; or any other that `pair_statistics` accepts. The
        largest value over the classes is used.
    n_cuts : int or None, default=None
        Number of cuts through the tree, spread evenly over the list of merges. None: one cut per merge, at most 100.
    n_combinations : int, default=25
        Number of combinations drawn at each cut; if fewer exist, all of them.
    q : float or "auto", default="auto"
        Probability that a combination takes a feature from a cluster; smaller values select fewer features. "auto": 0.4
        if at least 20 % of the entries of the dependence matrix exceed 0.1, otherwise 0.6.
    linkage : "complete", "average", "single" or "weighted", default="complete"
        Definition of the dissimilarity of two clusters, as in `scipy.cluster.hierarchy.linkage`.
    diagonal : bool, default=True
        Whether the dependence of a feature on itself may be the largest dependence, by which dissimilarities are
        scaled.
    scoring : str, Criterion or scorer, default="accuracy"
        Performance measure: the name of a criterion of `WrapperSelector`, ``"balanced_accuracy"``, ``"auc"``,
        ``"recall:CLASS"``, ``"precision:CLASS"``, an object such as `ExpectedCost`, or a scorer of scikit-learn.
    constraints : mapping or None, default=None
        Bounds for other measures on the same rows, such as ``{"recall:bad": 0.85}``: the measure must be above the
        bound, or below it if lower is better. If no candidate satisfies all bounds, the nearest one is selected, with a
        warning.
    evaluation : str, int, splitter or pairs of row positions, default="holdout"
        ``"holdout"``: probabilities are counted on two thirds of the rows, and candidates are scored on the others.
        ``"train"``, ``"loo"``, folds and splitters as for `WrapperSelector`.
    recode : bool or "auto", default="auto"
        Whether levels are refitted without the rows that are scored, as for `WrapperSelector`.
    refit : bool, default=False
        Whether a `SelectiveNB` fits its final levels and probabilities to all rows after ``evaluation="holdout"``. If
        False, it uses only the rows that were not held out, as in the paper. After any other evaluation, it uses all
        rows.

    Attributes
    ----------
    weights_, support_ : arrays, shape (n_features,)
        1 and True for the features selected.
    feasible_ : bool
        Whether the selected features satisfy the constraints.
    candidates_ : polars.DataFrame
        One row per candidate: ``cut`` (height in the tree; null for all features), ``features``, ``n_features``, the
        measures, ``violation`` (how far it is from the constraints) and ``feasible``.
    dependence_ : float array, shape (n_features, n_features)
        Strongest dependence of two features within a class.
    linkage_ : float array, shape (n - 1, 4)
        Tree of merges in the format of `scipy.cluster.hierarchy.linkage`, over the n features in ``clustered_``.
    clustered_ : int array, shape (n,)
        Positions of the clustered features, which are those of at least two levels.
    q_ : float
        Value of ``q`` that was used.
    cluster_candidates_ : ClusterCandidates
        Tree and all candidates of the search.
    trace_ : SearchTrace
        All evaluated subsets; each candidate is a start of its own.
    n_features_selected_ : int

    Notes
    -----
    Of equally good candidates (within 1e-12), the one with the fewest features is selected. The dependence matrix takes
    8 bytes per pair of features, in addition to the codes.

    References
    ----------
    Blanquero, Carrizosa, Ramirez-Cobo & Sillero-Denamiel (2021), Variable selection for naive Bayes classification,
    Computers & Operations Research 135.

    Examples
    --------
    >>> from bayesieve import DependenceClusterSelector
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> selector = DependenceClusterSelector(constraints={"recall:1": 0.9}).fit(X, y)
    >>> selector.get_feature_names_out().tolist(), selector.feasible_
    (['petal width (cm)'], True)
    """

    name = "clusters"
    title = "search in clusters of dependent features"
    sentence = (
        "Features were clustered by their dependence within the classes; of combinations with at most one feature of "
        "each cluster, and of all features, the best on held-out rows was chosen (Blanquero et al. 2021)."
    )

    _allowed = SHARED_OPTIONS | {
        "n_cuts": Allowed.count(None),
        "n_combinations": Allowed.count(),
        "q": Allowed("be 'auto' or a number above 0 and up to 1", ("auto",), Real, np.nextafter(0.0, 1.0), 1),
        "linkage": Allowed.choice(*LINKAGES),
    }

    dependence: str | Dependence | Callable[[np.ndarray, np.ndarray], float] = "mutual_information"
    _: KW_ONLY
    n_cuts: int | None = None
    n_combinations: int = 25
    q: float | Literal["auto"] = "auto"
    linkage: str = "complete"
    diagonal: bool = True
    scoring: Any = "accuracy"
    constraints: Mapping[str | Criterion, float] | None = None
    evaluation: Any = "holdout"
    validation_size: float = 1 / 3
    recode: bool | Literal["auto"] = "auto"
    refit: bool = False
    max_seconds: float | None = None
    smoothing: Smoothing = "m-estimate"
    encoder: Any = "modl"
    random_state: Any = None
    n_jobs: int | None = -1
    verbose: int = 0

    @property
    def kernel_families(self) -> Sequence[str]:
        """Names of the groups of compiled functions that the search runs, as in ``bayesieve compile``; the criterion
        AUC has groups of its own.
        """
        return ("clusters", "search", "auc", "auc-levels") if self.scoring == "auc" else ("clusters", "search")

    def _search(
        self,
        coded: CodedTable,
        *,
        refitter: LevelRefitter | None = None,
        groups: Any = None,
        task: FitTask | None = None,
    ) -> np.ndarray:
        """Search, set ``trace_`` and the other attributes, and return the weights of the features, shape (n_features,).

        ``refitter`` refits levels without the scored rows or gives raw values, ``groups`` (n_rows,) are kept together
        in folds, and ``task`` reports the moves to scikit-learn's callbacks; each may be None.
        """
        return self._weights_and_rows(coded, refitter=refitter, groups=groups, task=task)[0]

    def _weights_and_rows(  # type: ignore[override]
        self,
        coded: CodedTable,
        *,
        refitter: LevelRefitter | None = None,
        groups: Any = None,
        task: FitTask | None = None,
    ) -> tuple[np.ndarray, SearchedRows]:
        """Search, and return the weights of the features, (n_features,), and the rows to which a model should be
        fitted.

        ``refitter`` refits levels without the scored rows or gives raw values, ``groups`` (n_rows,) are kept together
        in folds, and ``task`` reports the moves to scikit-learn's callbacks; each may be None.
        """
        seed = seed_of(self.random_state)
        rows = self._rows(coded, refitter, seed, groups, "validation" if self._holds_out else self.evaluation)
        problem = self._problem(coded, rows, make_criterion(self.scoring, coded.n_features, coded.classes, "scoring"))
        if rows.learnt is not None and coded.levels is not None:  # a feature with one level adds nothing
            varied = (rows.learnt.n_levels > 1) & (coded.n_levels > (1 if self.refit else 0))
            problem = replace(problem, candidates=np.flatnonzero(varied))
        # Measures such as Spearman's compare raw numbers. The search problem holds codes only, so compute them here.
        learnt, measure = coded if rows.learnt is None else rows.learnt, make_dependence(self.dependence, grows=True)
        numbers = raw_numbers(measure, learnt, refitter)
        matrix = None if numbers is None else strongest_within_classes(learnt, measure, self.n_jobs, numbers)
        search = ClusterSearch(
            dependence=self.dependence,
            linkage=self.linkage,
            n_cuts=self.n_cuts,
            n_combinations=self.n_combinations,
            q=self.q,
            diagonal=self.diagonal,
            seed=seed,
            max_seconds=self.max_seconds,
            n_jobs=self.n_jobs,
            matrix=matrix,
        )

        def explore(problem: SubsetProblem, progress: Progress | None) -> SearchTrace:
            """Run the search on ``problem``, store its clusters and candidates, and return its trace."""
            self.cluster_candidates_ = search.explore(problem, progress)
            return self.cluster_candidates_.trace

        weights = self._run(explore, problem, self.max_seconds, task)
        clusters, self.q_ = self.cluster_candidates_.clusters, self.cluster_candidates_.q
        self.dependence_, self.linkage_, self.clustered_ = clusters.dependence, clusters.linkage, clusters.features
        if self.refit or not self._holds_out or rows.learnt is None:
            return weights, SearchedRows(coded)
        return weights, SearchedRows(rows.learnt, True, rows.learnt.levels if rows.recoded else None)

    @property
    def _holds_out(self) -> bool:
        """Whether candidates are scored on held-out rows."""
        return isinstance(self.evaluation, str) and self.evaluation == "holdout"

    @property
    def candidates_(self) -> Any:
        """Dataframe with one row per evaluated candidate: its features, measures and violation of constraints."""
        candidates, names = self.cluster_candidates_, np.array(self.cluster_candidates_.trace.names, dtype=object)
        values, evaluated = candidates.values, candidates.values.evaluated
        columns: dict[str, Any] = {
            "cut": [None if np.isnan(height) else height for height in candidates.cut[evaluated].tolist()],
            "features": [names[subset].tolist() for subset in candidates.subsets[evaluated]],
            "n_features": values.sizes[evaluated],
            self.trace_.criterion_name: values.values[evaluated],
            **{name: measured[evaluated] for name, measured in values.measures.items()},
            "violation": values.violations[evaluated],
            "feasible": values.feasible[evaluated],
        }
        return results_frame(columns, self.trace_.library)

    def check_options(self) -> None:
        """Raise ValueError if an option has an invalid value."""
        super().check_options()
        make_dependence(self.dependence, grows=True)
        check_criterion(self.scoring, "scoring")
