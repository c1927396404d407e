"""Selection from clusters of dependent features, under constraints on any class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from bayesieve.counts import CodedTable, Dependence, Smoothing
from bayesieve.counts.dependence import make_dependence
from bayesieve.criteria import Criterion
from bayesieve.search import ClusterCandidates, ClusterSearch, Objective, SearchTrace, SubsetProblem
from bayesieve.search.clusters import LINKAGES
from bayesieve.search.objective import check_constraints, check_measure, make_constraints, make_measure
from bayesieve.selection.base import CodedSelector, seed_of
from bayesieve.selection.evaluation_rows import (
    check_evaluation,
    check_held_out,
    evaluation_rows,
    n_held_out,
)
from bayesieve.selection.row_splits import takes_groups
from bayesieve.selection.wrapper import run_search, with_learnt_classes
from bayesieve.table.choices import is_choice
from bayesieve.table.frames import polars_frame


class DependenceClusterSelector(CodedSelector):
    """Select features that depend little on each other, by the measure that matters and under constraints.

    Features are clustered by their dependence within the classes. At each cut through the tree of clusters,
    combinations are drawn that take at most one feature of every cluster. The one with which naive Bayes does best on
    held-out rows is selected, if it beats all features together, and among those that keep the constraints.

    Parameters
    ----------
    dependence : str, Dependence or function, default="mutual_information"
        Measure of two features within a class: ``"mutual_information"`` or ``"symmetrical_uncertainty"`` of their
        levels; ``"pearson"`` or ``"spearman"`` of their values; or as `pair_statistics` takes it. The
        strongest of all classes counts.
    n_cuts : int or None, default=None
        Cuts through the tree, at merges spread evenly over the list of merges; None: at every merge, at most 100.
    n_combinations : int, default=25
        Combinations at each cut; where there are no more of them, all.
    q : float or "auto", default="auto"
        Probability that a cluster gives a feature; smaller values select fewer features. "auto": 0.4 where at least
        20 % of the entries of the matrix of dependences exceed 0.1, else 0.6.
    linkage : "complete", "average", "single" or "weighted", default="complete"
        Dissimilarity of two clusters.
    diagonal : bool, default=True
        Whether the dependence of a feature and itself counts for the largest dependence, which scales dissimilarities.
    scoring : str, Criterion or scorer, default="accuracy"
        What is best: the name of a criterion (`WrapperSelector`), ``"balanced_accuracy"``, ``"auc"``,
        ``"recall:CLASS"``, ``"precision:CLASS"``, an object such as `ExpectedCost`, or a scorer of scikit-learn.
    constraints : mapping or None, default=None
        Bounds that other measures of the same rows must beat, such as ``{"recall:bad": 0.85}``: above the bound, or
        below it where lower is better. Where no candidate beats them, the nearest one is selected, with a warning.
    evaluation : str, int, splitter or pairs of row positions, default="holdout"
        ``"holdout"``: probabilities are learnt from two thirds of the rows, candidates are measured on the others.
        ``"train"``, ``"loo"``, folds and splitters as for `WrapperSelector`.
    recode : bool or "auto", default="auto"
        Whether the levels are learnt again without the rows that are scored, as for `WrapperSelector`.
    refit : bool, default=False
        What a `SelectiveNB` learns its levels and probabilities from after ``evaluation="holdout"``. False: the rows
        that the candidates learnt from, as in the paper; True: all rows. After any other evaluation: all rows.

    Attributes
    ----------
    weights_, support_ : arrays, shape (n_features,)
        1 and True for the features selected.
    feasible_ : bool
        Whether the features selected keep the constraints.
    candidates_ : polars.DataFrame
        One row per candidate: ``cut`` (height in the tree; null for all features), ``features``, ``n_features``, the
        measures, ``violation`` (how far it is from the constraints) and ``feasible``.
    dependence_ : float array, shape (n_features, n_features)
        Strongest dependence of two features within a class.
    linkage_ : float array, shape (n - 1, 4)
        The tree as SciPy has it, over the features of at least two levels, ``clustered_``.
    clustered_ : int array, shape (n,)
    q_ : float
    trace_ : SearchTrace
        A start for every candidate.
    n_features_selected_ : int

    Notes
    -----
    Equal candidates (within 1e-12) are won by the one of fewer features. Memory is that of the matrix and of the codes.

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

    def __init__(
        self,
        dependence: str | Dependence | Callable[[np.ndarray, np.ndarray], float] = "mutual_information",
        *,
        n_cuts: int | None = None,
        n_combinations: int = 25,
        q: float | Literal["auto"] = "auto",
        linkage: str = "complete",
        diagonal: bool = True,
        scoring: Any = "accuracy",
        constraints: Mapping[str | Criterion, float] | None = None,
        evaluation: Any = "holdout",
        validation_size: float = 1 / 3,
        recode: bool | Literal["auto"] = "auto",
        refit: bool = False,
        max_seconds: float | None = None,
        smoothing: Smoothing = "m-estimate",
        encoder: Any = "modl",
        random_state: Any = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> None:
        super().__init__(smoothing=smoothing, encoder=encoder)
        self.dependence = dependence
        self.n_cuts = n_cuts
        self.n_combinations = n_combinations
        self.q = q
        self.linkage = linkage
        self.diagonal = diagonal
        self.scoring = scoring
        self.constraints = constraints
        self.evaluation = evaluation
        self.validation_size = validation_size
        self.recode = recode
        self.refit = refit
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def kernel_families(self) -> Sequence[str]:
        """By measure: AUC has kernels of its own."""
        return ("clusters", "search", "auc", "auc-levels") if self.scoring == "auc" else ("clusters", "search")

    @property
    def takes_groups(self) -> bool:
        """Whether ``groups`` make a difference to the search: folds may keep them together."""
        return takes_groups(self.evaluation)

    @property
    def _rows_in_order(self) -> bool:
        return not (isinstance(self.evaluation, str) and self.evaluation in ("train", "loo"))

    def _search(self, coded: CodedTable, *, groups: Any = None) -> np.ndarray:
        seed = seed_of(self.random_state)
        rows = evaluation_rows(
            coded,
            "validation" if isinstance(self.evaluation, str) and self.evaluation == "holdout" else self.evaluation,
            self.smoothing,
            seed=seed,
            validation_size=self.validation_size,
            groups=groups,
            recode=self.recode,
        )
        self._learnt = rows.learnt if self.learns_from_part else None
        criterion = make_measure(self.scoring, coded, "scoring")
        scored = with_learnt_classes(rows.guide, coded, criterion)
        problem = SubsetProblem.on(
            Objective(criterion, scored, make_constraints(self.constraints, coded)),
            coded,
            every_feature=coded.levels is None,
            evaluation=rows.evaluation,
            recoded=rows.recoded,
            learnt=rows.learnt,
        )
        if rows.learnt is not None and coded.levels is not None:  # features of one level there add nothing
            varied = (rows.learnt.n_levels > 1) & (coded.n_levels > (1 if self.refit else 0))
            problem = replace(problem, candidates=np.flatnonzero(varied))
        search = ClusterSearch(
            *(self.dependence, self.linkage, self.n_cuts, self.n_combinations, self.q, self.diagonal, seed),
            *(self.max_seconds, self.n_jobs),
        )

        def run(progress: Any) -> SearchTrace:
            self._candidates = search.explore(problem, progress)
            return self._candidates.trace

        self._names = problem.names
        self.trace_, self.feasible_ = run_search(self, run, problem, self.max_seconds)
        clusters = self._candidates.clusters
        self.dependence_, self.linkage_, self.clustered_ = clusters.dependence, clusters.linkage, clusters.features
        self.q_ = self._candidates.q
        return np.asarray(self.trace_.chosen).astype(float)

    _candidates: ClusterCandidates
    _learnt: CodedTable | None = None

    def _fit(self, coded: CodedTable, **options: Any) -> CodedSelector:
        super()._fit(coded, **options)
        self._learnt = None  # of use to a model only
        return self

    @property
    def learns_from_part(self) -> bool:
        return not self.refit and isinstance(self.evaluation, str) and self.evaluation == "holdout"

    def n_to_learn(self, n_rows: int) -> int:
        return n_rows - n_held_out(n_rows, self.validation_size) if self.learns_from_part else n_rows

    def rows_to_learn(self, coded: CodedTable) -> CodedTable:
        learnt, self._learnt = self._learnt, None
        return coded if learnt is None else learnt

    @property
    def candidates_(self) -> Any:
        candidates, names = self._candidates, np.array(self._names, dtype=object)
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
        return polars_frame(columns)

    @property
    def n_features_selected_(self) -> int:
        return int(np.count_nonzero(self.support_))

    def _check_options(self) -> None:
        make_dependence(self.dependence, grows=True)
        check_evaluation(self.evaluation)
        check_held_out(self)
        check_measure(self.scoring, "scoring")
        check_constraints(self.constraints)
        for name, value in (("n_cuts", self.n_cuts), ("n_combinations", self.n_combinations)):
            whole = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1
            if not whole and not (name == "n_cuts" and value is None):
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
        share = isinstance(self.q, Real) and not isinstance(self.q, bool) and 0 < float(self.q) <= 1
        if not share and not is_choice(self.q, ("auto",)):
            raise ValueError(f"q must be 'auto' or a number above 0 and up to 1, got {self.q!r}.")
        if not is_choice(self.linkage, LINKAGES):
            raise ValueError(f"linkage must be one of {', '.join(map(repr, LINKAGES))}, got {self.linkage!r}.")
        for name in ("diagonal", "refit"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r:.80}.")
