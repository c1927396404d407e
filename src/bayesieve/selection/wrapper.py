"""Wrapper selection: choose features by the performance of naive Bayes itself, by any criterion on any rows.

Each step of the search takes one pass over the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_consistent_length

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.criteria import Criterion, make_criterion
from bayesieve.discretize.refitting import LevelRefitter
from bayesieve.engine.callbacks import CallbackSupportMixin, FitTask, fit_task, with_callbacks
from bayesieve.engine.progress import Progress, search_progress
from bayesieve.parts import Allowed, is_choice, with_shared_docs
from bayesieve.search import (
    DIRECTIONS,
    GreedySearch,
    MultiStart,
    Objective,
    ScoredRows,
    Search,
    SearchTrace,
    SubsetProblem,
    evaluate_subsets,
)
from bayesieve.search.problem import check_constraints, make_constraints
from bayesieve.selection.base import SHARED_OPTIONS, CodedSelector, seed_of
from bayesieve.selection.row_splits import (
    EvaluationRows,
    check_evaluation,
    evaluation_rows,
    takes_groups,
    validation_criterion,
)
from bayesieve.table.cautions import warn_caller

Direction = Literal["forward", "backward", "forward-backward", "backward-forward", "fast"]
_ROUNDING = -1e-9  # value of tol at which equal accuracies do not end the search
_OF_DIRECTIONS = ("direction", "n_features_to_select", "tol", "max_seconds", "resume")
"""Options of `WrapperSelector` that have no effect with a search object, which has its own options."""


class SubsetSelector(CodedSelector):
    """Base class of selectors that search for the feature subset with which naive Bayes performs best.

    It implements the options for evaluation rows, constraints and refitted levels, which are described at
    `WrapperSelector`.
    """

    evaluation: Any
    validation_size: float
    recode: bool | Literal["auto"]
    constraints: Mapping[str | Criterion, float] | None
    verbose: int

    @property
    def takes_groups(self) -> bool:
        """Whether the argument ``groups`` of `fit` affects the search, because the search uses folds, which keep groups
        together.
        """
        return takes_groups(self.evaluation)

    @property
    def needs_row_order(self) -> bool:  # type: ignore[override]
        """Whether the search needs the rows in the order of the training table, because ``evaluation`` splits them by
        position.
        """
        return not (isinstance(self.evaluation, str) and self.evaluation in ("train", "loo"))

    def check_options(self) -> None:
        """Raise ValueError if an option has an invalid value."""
        super().check_options()
        check_evaluation(self.evaluation)
        check_constraints(self.constraints)

    def _rows(
        self, coded: CodedTable, refitter: LevelRefitter | None, seed: int, groups: Any, evaluation: Any
    ) -> EvaluationRows:
        """Return the rows on which subsets are evaluated; warn if ``groups`` have no effect.

        ``evaluation`` selects the rows, as for `WrapperSelector`; ``refitter`` refits levels without the scored rows or
        is None, ``seed`` is that of random splits, and ``groups`` (n_rows,) are kept together in folds, or None.
        """
        if groups is not None:
            check_consistent_length(np.empty(coded.n_rows), groups)
            if not self.takes_groups:
                warn_caller(
                    f"groups are ignored with evaluation={self.evaluation!r}; pass a number of folds, or a splitter "
                    "that keeps groups together, such as GroupKFold()."
                )
        options: dict[str, Any] = {"validation_size": self.validation_size, "recode": self.recode, "refitter": refitter}
        return evaluation_rows(coded, evaluation, self.smoothing, seed=seed, groups=groups, **options)

    def _problem(
        self, coded: CodedTable, rows: EvaluationRows, criterion: Criterion, validation: Criterion | None = None
    ) -> SubsetProblem:
        """Return the search problem: candidate features, criteria and constraints.

        ``criterion`` is measured on the rows of ``rows`` that guide the search, and ``validation`` on the rows that
        choose the number of features, if there are such rows.
        """
        constraints = make_constraints(self.constraints, coded)
        validation_objective = None
        if rows.validation is not None and validation is not None:
            validation_objective = Objective(validation, rows.validation, constraints)
        guide = Objective(criterion, with_learnt_classes(rows.guide, coded, criterion), constraints)
        facts = {name: getattr(rows, name) for name in ("evaluation", "recoded", "learnt")}
        every_feature = coded.levels is None
        return SubsetProblem.on(guide, coded, every_feature=every_feature, validation=validation_objective, **facts)

    def _run(
        self,
        run: Callable[[SubsetProblem, Progress | None], SearchTrace],
        problem: SubsetProblem,
        max_seconds: float | None,
        task: FitTask | None = None,
    ) -> np.ndarray:
        """Run a search, set ``trace_`` and ``feasible_``, and return weight 1 for the selected features and 0 for
        others, shape (n_features,).

        ``run`` is the function that searches ``problem``, and ``max_seconds`` its time limit or None; a search that was
        interrupted before the limit causes a warning. ``task`` reports the moves to scikit-learn's callbacks, if it is
        given.
        """
        name = type(self).__name__
        with search_progress(f"{name}: searching", self.verbose, problem.objective.criterion.name) as progress:
            trace = run(problem, progress if task is None else task.with_moves(progress))
        advice = "; pass its trace_ as resume= to go on" if hasattr(self, "resume") else ""
        if not trace.complete:
            self._warn_if_interrupted(trace, max_seconds, advice)
        if trace.chosen is None:
            raise ValueError(
                f"The trace that the search of {name} returns must contain the chosen subset; create it by "
                "problem.trace()."
            )
        self.trace_, self.feasible_ = trace, _keeps_constraints(problem.validation or problem.objective, trace.chosen)
        return np.asarray(trace.chosen).astype(float)


class WrapperSelector(CallbackSupportMixin, SubsetSelector):
    """Select the features with which naive Bayes itself does best, by greedy search.

    Every step scores the addition (or removal) of every feature in one pass over the rows. No model is refitted, not
    even for leave-one-out and cross-validation, which are exact.

    Parameters
    ----------
    criterion : str or Criterion, default="error_probability"
        Criterion that guides the search: ``"error"``, ``"error_probability"`` ((1/N) sum of 1 - P(true class)),
        ``"brier"`` (squared error, scikit-learn's), ``"log_loss"`` (nats per row), ``"auc"`` (several classes: one
        against the rest, weighted by class share), ``"balanced_error"``, ``"map"`` (cost (4) of Boulle 2007, nats),
        ``"recall:CLASS"``, ``"precision:CLASS"``, a scorer of scikit-learn, or an object: `ExpectedCost`, `Benefit`, or
        a criterion of your own (`RowLoss`).
    direction : str, default="backward-forward"
        ``"forward"`` adds features, ``"backward"`` drops them. ``"forward-backward"`` and ``"backward-forward"``
        alternate both: a phase runs to its end, the opposite phase starts from the best subset evaluated so far, until
        a phase finds no better one. ``"fast"`` tries features in random order, and adds or drops each one that improves
        the criterion.
    evaluation : str, int, splitter or pairs of row positions, default="holdout"
        Rows on which the criterion is computed. ``"train"``: the rows on which the probabilities are counted.
        ``"holdout"``: probabilities are counted and the criterion is computed on one half of the rows (stratified by
        class); the criterion ``validation`` on the other half chooses the subset. ``"loo"``: every row is scored with
        probabilities counted on all others. A number of folds (stratified and, unlike scikit-learn's, shuffled by
        ``random_state``) or a scikit-learn splitter: test rows are scored with probabilities counted on the training
        rows, and the criterion is computed over the test rows of all folds together.
    n_features_to_select : "best" or int, default="best"
        "best": the best subset on the path, the smallest on ties. A number: forward and backward search stop at that
        many features; the other directions select the best subset of at most that many.
    tol : float or None, default=None
        A forward phase stops when the best addition improves the criterion by no more than ``tol``, a backward phase
        when the best removal worsens it by more. None: the path is followed to its end.
    recode : bool or "auto", default="auto"
        Whether the criterion uses levels that are refitted without the rows that are scored: on the fitted half, or on
        the training rows of every fold; for ``"loo"``, on nine of ten folds, without the fold of the scored row.
        Otherwise the levels depend on the classes of the scored rows, which makes the criterion too optimistic, in
        particular if values have few rows. "auto": refit if the raw table is available, levels depend on the classes,
        and rows x columns x folds are at most 10 million. The selected features keep the levels of all rows;
        ``trace_.recoded`` reports whether levels were refitted.
    resume : SearchTrace or None, default=None
        ``trace_`` of an interrupted search: its moves are repeated without scoring, and the search continues from
        there. None: a new search.
    search : Search or None, default=None
        Search that replaces the one named by ``direction``: an object of `bayesieve.search`, such as `BestFirst` or
        `MultiStart`, or of a class of your own. Options such as ``tol`` and ``max_seconds`` are then set on this
        object. None: the search named by ``direction``.
    constraints : mapping or None, default=None
        Bounds for other measures on the same rows, such as ``{"recall:bad": 0.85}``: the measure must be above the
        bound, or below it if lower is better. Keys are names of criteria, ``"recall:CLASS"``, ``"precision:CLASS"`` or
        criterion objects. If no evaluated subset satisfies all bounds, the nearest one is selected, with a warning.
    encoder : "modl", TableEncoder, IndicatorEncoder or None, default="modl"
        Encoder of the table. None: the table is coded already (integers from 0); then every column is a candidate, even
        a constant one.
    verbose : int, default=0
        1 shows progress on the error stream. scikit-learn's callbacks (``set_callbacks``, from version 1.9 on) receive
        every move, and may end the search.

    Attributes
    ----------
    weights_, support_ : arrays, shape (n_features,)
        1 and True for the features selected.
    trace_ : SearchTrace
        Every move of the search with the criterion, the validation criterion on the held-out half and the time, in
        seconds; ``trace_.to_frame()`` returns them as a table.
    n_features_selected_ : int
    feasible_ : bool
        Whether the selected features satisfy the constraints.

    Notes
    -----
    Ties (within 1e-12) go to the lowest column, whether features are added or dropped. A level without training rows in
    a fold is smoothed like any count of zero. A row whose class has no training rows in its fold counts as an error;
    the AUC ignores the row, and ``"log_loss"`` and ``"map"`` raise an error.

    References
    ----------
    Langley & Sage (1994), Induction of selective Bayesian classifiers, UAI. Rabenoro, Lacaille, Cottrell & Rossi
    (2015), Search strategies for binary feature selection for a naive Bayes classifier. Gidofalvi & Zadrozny, Feature
    selection for class probability estimation (``criterion="brier"``, ``direction="forward"``).

    Examples
    --------
    >>> from bayesieve import WrapperSelector
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> selector = WrapperSelector(criterion="error_probability", direction="forward", evaluation="loo").fit(X, y)
    >>> selector.get_feature_names_out().tolist()
    ['petal length (cm)', 'petal width (cm)']
    >>> selector.trace_.to_frame()["criterion"].round(3).to_list()
    [0.671, 0.081, 0.058, 0.062, 0.067]
    >>> selector.trace_.measured
    'by leave-one-out, levels learnt from the rows of the other folds'
    """

    name = "wrapper"
    title = "search by the classifier's own performance"
    sentence = "The features with which naive Bayes itself does best were searched step by step."
    _allowed = SHARED_OPTIONS | {
        "direction": Allowed.choice(*DIRECTIONS),
        "n_features_to_select": Allowed.count("best"),
        "tol": Allowed("be None or a number that is not negative", (None,), Real, 0, np.inf),
        "resume": Allowed("be the trace_ of a search or None", (None,), types=(SearchTrace,)),
    }

    criterion: str | Criterion = "error_probability"
    _: KW_ONLY
    direction: Direction = "backward-forward"
    evaluation: Any = "holdout"
    n_features_to_select: Literal["best"] | int = "best"
    tol: float | None = None
    max_seconds: float | None = None
    validation: str | Criterion = "auto"
    validation_size: float = 0.5
    recode: bool | Literal["auto"] = "auto"
    resume: SearchTrace | None = None
    search: Search | None = None
    constraints: Mapping[str | Criterion, float] | None = None
    smoothing: Smoothing = "m-estimate"
    encoder: Any = "modl"
    random_state: Any = None
    n_jobs: int | None = -1
    verbose: int = 0

    @with_callbacks
    @with_shared_docs
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None, benefit: Any = None
    ) -> WrapperSelector:
        """Search for the best subset of the columns.

        Parameters
        ----------
        X : dataframe, 2-D array or sparse matrix, shape (n_rows, n_features)
            Raw table; with ``encoder=None``, a table of codes (integers from 0).
        y : array-like, shape (n_rows,)
            Class labels.
        sample_weight : array-like, shape (n_rows,), optional
            Weights multiply counts and losses: a weight of 2 equals the row repeated. Leave-one-out removes a row with
            its whole weight.
        groups : array-like, shape (n_rows,), optional
            Group of each row. If ``evaluation`` is a number of folds or a splitter such as
            `sklearn.model_selection.GroupKFold`, all rows of a group are in one fold.
        benefit : array-like, shape (n_rows, ...), optional
            Benefit of each row, used by the criterion `bayesieve.criteria.Benefit`, which describes its shape.

        Returns
        -------
        self
        """
        with fit_task(self) as task:
            coded, refitter = self._code(X, y, sample_weight, benefit)
            self._fit(coded, refitter, groups=groups, task=task)
        return self

    @property
    def kernel_families(self) -> Sequence[str]:
        """Names of the groups of compiled functions that the search runs, as in ``bayesieve compile``; the criterion
        AUC has groups of its own.
        """
        name = getattr(self.criterion, "name", self.criterion)
        return ("search", "auc", "auc-levels") if is_choice(name, ("auc",)) else ("search", "wrapper")

    def _search(
        self,
        coded: CodedTable,
        *,
        refitter: LevelRefitter | None = None,
        groups: Any = None,
        task: FitTask | None = None,
    ) -> np.ndarray:
        """Search, set ``trace_``, and return weight 1 for the selected features and 0 for others, shape (n_features,).

        ``refitter`` refits levels without the scored rows, ``groups`` (n_rows,) are kept together in folds, and
        ``task`` reports the moves to scikit-learn's callbacks; each may be None.
        """
        seed = seed_of(self.random_state)
        criterion = make_criterion(self.criterion, coded.n_features, coded.classes)
        rows = self._rows(coded, refitter, seed, groups, self.evaluation)
        validation = None if rows.validation is None else validation_criterion(self.validation, coded)
        problem = self._problem(coded, rows, criterion, validation)
        search = self._greedy(problem, seed) if self.search is None else self.search
        return self._run(search.run, problem, getattr(search, "max_seconds", None), task)

    def _greedy(self, problem: SubsetProblem, seed: int) -> GreedySearch:
        """Return the greedy search in the ``direction`` of the selector, with its other options; ``seed`` is that of
        the random order of "fast".
        """
        options = {name: getattr(self, name) for name in ("direction", "tol", "max_seconds", "n_jobs", "resume")}
        return GreedySearch(n_features=self._n_features(problem), seed=seed, **options)

    def _n_features(self, problem: SubsetProblem) -> int | None:
        """Return ``n_features_to_select``, or the number of candidates of ``problem`` if that is smaller; None for
        "best".

        Raise ValueError if the table has fewer features.
        """
        size = self.n_features_to_select
        if isinstance(size, str):
            return None
        n_features = len(problem.names)
        if size > n_features:
            raise ValueError(
                f"n_features_to_select={size} is more than the {n_features} features of the table; use at "
                "most that many, or 'best'."
            )
        return min(int(size), problem.candidates.size)

    def check_options(self) -> None:
        """Raise ValueError if an option has an invalid value, or has no effect together with others."""
        super().check_options()
        if self.resume is not None and self.direction == "fast":
            raise ValueError("direction='fast' cannot resume, because the order of its moves is random; omit resume.")
        if self.search is None:
            return
        if not callable(getattr(self.search, "run", None)):
            raise ValueError(f"search must be a search object such as BestFirst(), or None, got {self.search!r}.")
        for name in _OF_DIRECTIONS:
            if getattr(self, name) != getattr(WrapperSelector, name):
                raise ValueError(f"{name} has no effect if search is given; set it on the search object instead.")


class TrainingSelector(CodedSelector):
    """Base class of selectors that run a `WrapperSelector` with a criterion on the training rows, by
    default forward.
    """

    criterion: ClassVar[str]
    _allowed = SHARED_OPTIONS | {"tol": WrapperSelector._allowed["tol"]}

    _: KW_ONLY
    tol: float | None = None
    max_seconds: float | None = None
    smoothing: Smoothing = "m-estimate"
    encoder: Any = "modl"
    n_jobs: int | None = -1
    verbose: int = 0

    def _search(self, coded: CodedTable) -> np.ndarray:
        """Run the wrapper, set ``trace_``, and return weight 1 for the features of the best subset on its path and 0
        for others, shape (n_features,).
        """
        trace = self._wrapper().fit_coded(coded).trace_
        chosen = trace.best_on_path()
        self.trace_ = replace(trace, chosen=chosen)
        return chosen.astype(float)

    def _wrapper(self) -> WrapperSelector:
        """Return the `WrapperSelector` that does the search, with the options of this selector."""
        options = self.get_params(deep=False)
        limits = {"max_seconds": options["max_seconds"], "n_jobs": options["n_jobs"]}
        search: Search = GreedySearch("forward", tol=options["tol"], until_best=True, **limits)
        if options.get("search") == "multi-start":
            search = MultiStart(seed=seed_of(options["random_state"]), **limits)
        same = {name: options[name] for name in ("smoothing", "encoder", "verbose")}
        return WrapperSelector(self.criterion, search=search, evaluation="train", **same)

    @property
    def kernel_families(self) -> Sequence[str]:
        """Names of the groups of compiled functions that the search runs: those of a `WrapperSelector` with this
        criterion.
        """
        return WrapperSelector(self.criterion).kernel_families


class AccuracySelector(TrainingSelector):
    """Select the smallest subset of highest training accuracy on the path of a forward search; SNB(ACC) of Boulle
    (2007).

    Equal to ``WrapperSelector("error", direction="forward", evaluation="train")``, except that the path ends as soon as
    all training rows are classified correctly.

    Parameters
    ----------
    tol : float or None, default=None
        The search stops when the best addition improves the criterion by no more than this: 0 is the rule of Boulle
        (2007), section 3.5. None: the path is followed to its end.
    until_decay : bool, default=False
        Whether to add features as long as the training accuracy does not fall, and to select all of them, even those
        that do not change it. This is the rule of Langley & Sage (1994) as described by Boulle (2007), section 2.3.
        ``tol`` has no effect then.

    References
    ----------
    Langley & Sage (1994), Induction of selective Bayesian classifiers; SNB(ACC) of Boulle (2007), sections 2.3 and 7.1.

    Examples
    --------
    >>> from bayesieve import AccuracySelector
    >>> from sklearn.datasets import load_iris
    >>> AccuracySelector().fit(*load_iris(return_X_y=True)).support_.tolist()
    [False, False, False, True]
    """

    name = "accuracy"
    title = "forward search by training accuracy"
    sentence = "A forward search selected the features of highest training accuracy (SNB(ACC) of Boullé 2007)."
    criterion = "error"
    _allowed = TrainingSelector._allowed | {"until_decay": Allowed.choice(True, False)}

    _: KW_ONLY
    until_decay: bool = False

    def _search(self, coded: CodedTable) -> np.ndarray:
        """Search, set ``trace_``, and return weight 1 for the selected features and 0 for others, shape (n_features,).
        With ``until_decay``, all features that the search added are selected.
        """
        weights = super()._search(coded)
        if self.until_decay:
            weights = np.zeros_like(weights)
            weights[self.trace_.walk_moves(0).feature] = 1.0
            self.trace_ = replace(self.trace_, chosen=weights > 0)
        return weights

    def _wrapper(self) -> WrapperSelector:
        """Return the `WrapperSelector` that does the search; with ``until_decay``, it adds features as long as the
        accuracy does not fall.
        """
        if not self.until_decay:
            return super()._wrapper()
        # A slightly negative tolerance, so that rounding errors do not count as a loss of accuracy. A plain greedy
        # search replaces the default one, which would end at a subset without errors.
        search = GreedySearch("forward", tol=_ROUNDING, max_seconds=self.max_seconds, n_jobs=self.n_jobs)
        return super()._wrapper().set_params(search=search)


class AUCSelector(TrainingSelector):
    """Select the smallest subset of largest training AUC on the path of a search; SNB(AUC) of Boulle (2007).

    Equal to ``WrapperSelector("auc", direction="forward", evaluation="train")``, except that the path ends as soon as
    the training AUC is 1.

    Parameters
    ----------
    search : {"forward", "multi-start"}, default="forward"
        "multi-start" searches like `MAPSelector`, as the paper does.
    tol : float or None, default=None
        Tolerance of the forward search, as in `AccuracySelector`.

    References
    ----------
    SNB(AUC) of Boulle (2007), section 7.1; Provost & Domingos (2001) for several classes.

    Examples
    --------
    >>> from bayesieve import AUCSelector
    >>> from sklearn.datasets import load_iris
    >>> AUCSelector().fit(*load_iris(return_X_y=True)).support_.tolist()
    [False, False, True, True]
    """

    name = "auc"
    title = "forward search by training AUC"
    sentence = "A forward search selected the features of largest training AUC (SNB(AUC) of Boullé 2007)."
    criterion = "auc"
    _allowed = TrainingSelector._allowed | {"search": Allowed.choice("forward", "multi-start")}

    _: KW_ONLY
    search: Literal["forward", "multi-start"] = "forward"
    random_state: Any = None


def _keeps_constraints(objective: Objective, chosen: np.ndarray) -> bool:
    """Return whether the subset ``chosen``, a mask (n_features,), satisfies all constraints of ``objective``; warn if
    it does not.
    """
    if not objective.constraints:
        return True
    evaluated = evaluate_subsets(objective, chosen[None])
    missed = [
        f"{constraint} (got {evaluated.measures[constraint.name][0]:.4g})"
        for constraint in objective.constraints
        if constraint.violation(evaluated.measures[constraint.name])[0] > 0
    ]
    if missed:
        warn_caller(
            f"No evaluated subset satisfies the constraints; the nearest one violates {', '.join(missed)}. "
            "Relax these bounds, or allow a longer search."
        )
    return not missed


def with_learnt_classes(rows: ScoredRows, coded: CodedTable, criterion: Criterion) -> ScoredRows:
    """Return ``rows``, with weight 0 for rows that ``criterion`` cannot score because their class has no training rows.

    Only criteria that are not sums over rows, such as the AUC, cannot score them. Raise ValueError if such rows would
    make the criterion infinite; ``coded`` gives the class labels for the message.
    """
    absent = rows.impossible()
    if absent is None:
        return rows
    if not criterion.additive:
        return rows.without_impossible()  # a ranking criterion such as the AUC cannot place them
    if criterion.exact:
        label = absent if coded.classes is None else np.asarray(coded.classes).tolist()[absent]
        raise ValueError(
            f"Rows of class {label!r} would be scored without any training row of that class, which makes their "
            f"{criterion.name} infinite; use fewer folds, evaluation='train', another criterion, or drop the class."
        )
    return rows
