"""Filters: rank features by a score from counts, of each feature alone or given those ranked before, and keep the
leading ones.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, Literal

import numpy as np

from bayesieve.counts import CodedTable, ContingencyCounts, Dependence, Smoothing
from bayesieve.counts.dependence import MutualInformation, make_dependence, raw_numbers
from bayesieve.counts.information import (
    LEVEL_PROBABILITIES,
    LevelProbabilities,
    class_imprecise_information,
    class_information,
)
from bayesieve.counts.pairs import PairInformation
from bayesieve.criteria import Criterion
from bayesieve.discretize.refitting import LevelRefitter
from bayesieve.engine.progress import search_progress
from bayesieve.parts import Allowed, Score
from bayesieve.search import (
    Clock,
    Objective,
    ScoredRows,
    SearchState,
    SearchTrace,
    SubsetProblem,
    TraceRecorder,
    WalkStart,
)
from bayesieve.selection.base import SHARED_OPTIONS, CodedSelector, seed_of
from bayesieve.selection.row_splits import hold_out, used_refitter, validation_criterion

_DIGITS = 12  # decimals of compared scores: rounding errors must not break ties, nor make a score of 0 positive
Form = Literal["difference", "quotient"]
FORMS = ("difference", "quotient")
_TIE = 1e-12  # nats
_WHOLE_MATRIX = 2048  # largest number of features for which the matrix of all pairs is computed at once (32 MB)


class RankedSelector(CodedSelector):
    """Base class of selectors that rank all features and keep the leading ones.

    Subclasses keep a fixed number of features, those whose score passes a threshold, or the number that predicts
    held-out rows best.

    Attributes
    ----------
    ranking_ : int array, shape (n_features,)
        Positions of the features, the best first.
    scores_ : float array, shape (n_features,)
        Score of each feature at the time it was ranked, in the order of the columns.
    """

    @abstractmethod
    def _rank(
        self, fit: CodedTable, coded: CodedTable, refitter: LevelRefitter | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rank all features on the rows of ``fit``: those of ``coded``, or those of them that are not held out.

        Return the positions of the features, the best first, and their scores in this order, both (n_features,).
        ``refitter`` gives the raw values of the columns; it is None if there are none.
        """

    @abstractmethod
    def _keep(self, coded: CodedTable) -> np.ndarray:
        """Return the weights of the features of the fitted table ``coded``, shape (n_features,), from ``ranking_`` and
        ``scores_``. Not called if held-out rows determine the number of features.
        """

    @property
    def _score(self) -> Score:
        """Description of the score that ranks the features."""
        return self.scores[0]

    def _worthwhile(self, coded: CodedTable) -> np.ndarray:
        """Return a mask of the features that may be selected, shape (n_features,): by default all features of
        ``coded``.
        """
        return np.ones(coded.n_features, dtype=bool)

    def _search(self, coded: CodedTable, *, refitter: LevelRefitter | None = None) -> np.ndarray:
        """Rank the features, set ``trace_``, and return the weights of the features, shape (n_features,).

        ``refitter`` refits levels without held-out rows, and gives raw values; None if the table is coded already.
        """
        clock, options = Clock(None), self.get_params(deep=False)
        fit, held_out, facts = coded, None, dict[str, Any]()
        if isinstance(options.get("n_features_to_select"), str):
            level_refitter, recoded = used_refitter(coded, refitter, options["recode"], 1)
            seed, share = seed_of(options["random_state"]), float(options["validation_size"])
            fit, held_out = hold_out(coded, share, seed, self._remedy, level_refitter)
        ranking, scores = self._rank(fit, coded, refitter)
        score, values = self._score, np.full(ranking.size + 1, np.nan)
        if held_out is not None:
            criterion = validation_criterion(options["validation"], coded)
            rows = ScoredRows.training(held_out, fit.counts, self.smoothing)
            objective = Objective(criterion, rows)
            values = nested_values(objective, ranking, options.get("n_jobs"))
            facts = {**objective.facts, "evaluation": "holdout", "recoded": recoded}
        recorder, every = TraceRecorder(WalkStart.empty(0.0, float(values[0]))), np.ones(ranking.size, dtype=bool)
        keys = np.arange(1, ranking.size + 1, dtype=np.uint64)
        recorder.record(ranking, every, scores, every, keys, clock.seconds, values[1:])
        facts |= {"criterion_name": score.name, "lower_is_better": score.lower_is_better}
        self.trace_ = SearchTrace.of(coded.names, [recorder], complete=True, seconds=clock.seconds, **facts)
        if held_out is not None:
            return self.trace_.best_on_path(int(self._worthwhile(coded).sum())).astype(float)
        return self._keep(coded)

    _remedy = "pass n_features_to_select as a number"

    # Fitted attributes are read from the trace, because a model loaded from a file has no other record.
    @property
    def ranking_(self) -> np.ndarray:
        """Positions of the features, the best first, shape (n_features,)."""
        return self.trace_.walk_moves(0).feature

    @property
    def scores_(self) -> np.ndarray:
        """Score of each feature at the time it was ranked, in the order of the columns, shape (n_features,)."""
        added = self.trace_.walk_moves(0)
        scores = np.empty(added.cost.size)
        scores[added.feature] = added.cost
        return scores


class FilterSelector(RankedSelector):
    """Base class of selectors that score every feature by itself.

    Attributes
    ----------
    scores_ : float array, shape (n_features,)
        Score of each feature, in nats; higher is better.
    ranking_ : int array, shape (n_features,)
        Positions of the features, the highest score first; the lower column on ties.
    weights_, support_, trace_
        As for every selector; the trace adds all features in the order of the ranking, with their scores as the
        criterion.

    Notes
    -----
    A subclass implements `score_features` and, unless it selects the features of positive score, `weigh`.
    """

    scores = (Score("score", of="feature"),)

    def score_features(self, coded: CodedTable) -> np.ndarray:
        """Return the scores of the features of a coded table with classes, shape (n_features,); higher is better."""
        raise NotImplementedError(f"{type(self).__name__} must define score_features().")

    def weigh(self, scores: np.ndarray, ranking: np.ndarray) -> np.ndarray:
        """Return the weights of the features, shape (n_features,), from their scores (n_features,) and their ranking.

        ``ranking`` holds the positions of the features, the best first. By default, positive scores get weight 1,
        others 0.
        """
        return above(scores, 0.0)

    def _rank(
        self, fit: CodedTable, coded: CodedTable, refitter: LevelRefitter | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rank the features by `score_features` on the rows of ``fit``, and return their positions, the best first, and
        their scores in this order, both (n_features,). ``coded`` and ``refitter`` are not used.
        """
        scores = self.score_features(fit)
        ranking = rank(scores)
        return ranking, scores[ranking]

    def _keep(self, coded: CodedTable) -> np.ndarray:
        """Return the weights of the features, shape (n_features,), that `weigh` computes from the scores."""
        return self.weigh(self.scores_, self.ranking_)


class InformationGainSelector(FilterSelector):
    """Select the features that are most informative about the class by themselves.

    The information gain IG(C, X) = H(C) - H(C | X) is the mutual information of the levels of a feature and the
    classes, from relative frequencies. It is never negative, so that chance alone makes it positive: choose a threshold
    or a number of features. Selected features get weight 1, others 0.

    Parameters
    ----------
    threshold : float, default=0.0
        Features with a gain above this many nats are selected.
    alpha : float or None, default=None
        Alternative to ``threshold``: features with a gain of at least alpha * ln(number of classes) nats are selected.
        ln(number of classes) is the largest possible gain.
    n_features_to_select : int, "auto" or None, default=None
        Alternative to a threshold: this many features of largest gain are selected, the lower column on ties. "auto":
        the number that does best on held-out rows, the smallest on ties; gains are then computed from the other rows.

    Attributes
    ----------
    scores_ : float array, shape (n_features,)
        Information gain in nats; 0 <= IG <= min(H(X), H(C)). Rows without a level of the feature are ignored.
    ranking_ : int array, shape (n_features,)
        Positions of the features, the largest gain first.
    weights_, support_, trace_
        As for every selector; the trace adds all features in the order of the ranking.

    References
    ----------
    Quinlan (1986), Induction of decision trees, Machine Learning 1; Abellan & Castellano (2017), Entropy 19 (6) 247,
    section 4.1, for alpha.

    Examples
    --------
    >>> from bayesieve import InformationGainSelector
    >>> from sklearn.datasets import load_iris
    >>> selector = InformationGainSelector(alpha=0.5).fit(*load_iris(return_X_y=True))
    >>> selector.scores_.round(2).tolist(), selector.support_.tolist()
    ([0.47, 0.27, 0.94, 0.96], [False, False, True, True])
    """

    name = "information-gain"
    title = "filter by information gain"
    sentence = "Features were selected by their information gain, each on its own (Quinlan 1986)."
    scores = (Score("information_gain", unit="nats", of="feature"),)

    _allowed = SHARED_OPTIONS | {
        "threshold": Allowed("be a number of nats", (), Real),
        "alpha": Allowed("be None or a share from 0 to 1", (None,), Real, 0, 1),
        "n_features_to_select": Allowed.count("auto", None),
    }
    _remedy = "pass n_features_to_select as a number, or a threshold"

    _: KW_ONLY
    threshold: float = 0.0
    alpha: float | None = None
    n_features_to_select: Literal["auto"] | int | None = None
    validation: str | Criterion = "auto"
    validation_size: float = 0.5
    recode: bool | Literal["auto"] = "auto"
    smoothing: Smoothing = "m-estimate"
    encoder: Any = "modl"
    random_state: Any = None

    def score_features(self, coded: CodedTable) -> np.ndarray:
        """Return the information gain of each feature in nats, shape (n_features,)."""
        return class_information(coded.counts)

    def _keep(self, coded: CodedTable) -> np.ndarray:
        """Return weight 1 for features above the threshold, or for the leading ones, and 0 for others, shape
        (n_features,).
        """
        if self.n_features_to_select is not None:
            return leading(self.ranking_, int(self.n_features_to_select))
        if self.alpha is not None:
            share = self.alpha * float(np.log(coded.n_classes))
            return (np.round(self.scores_ - share, _DIGITS) >= 0).astype(float)
        return above(self.scores_, self.threshold)

    def check_options(self) -> None:
        """Raise ValueError if an option has an invalid value, or more than one sets the number of features."""
        super().check_options()
        given = [self.threshold != 0.0, self.alpha is not None, self.n_features_to_select is not None]
        if sum(given) > 1:
            raise ValueError("threshold, alpha and n_features_to_select exclude each other; set at most one of them.")


class ImpreciseInformationGainSelector(FilterSelector):
    """Select the features of positive imprecise information gain: no threshold has to be chosen.

    IIG(C, X) = S*(K(C)) - sum_x p(x) S*(K(C | X = x)), where S* is the largest entropy among the class distributions
    that the imprecise Dirichlet model allows (see `maximum_entropy`). The fewer rows a level has, the more
    distributions are allowed, so that rare levels lose part of the information that they gain by chance (all of it for
    levels of one row, with two classes). The gain is negative if the levels do not differ. Selected features get weight
    1, others 0.

    Parameters
    ----------
    s : float, default=1.0
        Parameter s of the imprecise Dirichlet model, in rows not yet observed. Larger values select fewer features,
        with few exceptions; Walley advises 1 or 2.
    threshold : float, default=0.0
        Features with a gain above this many nats are selected; gains are rounded to twelve decimals.
    level_probabilities : {"frequency", "maximum-entropy"}, default="frequency"
        p(x): relative frequencies of the levels, or their distribution of maximum entropy.

    Attributes
    ----------
    scores_ : float array, shape (n_features,)
        Imprecise information gain in nats. Rows without a level of the feature, and classes without rows, are ignored.
    ranking_ : int array, shape (n_features,)
        Positions of the features, the largest gain first.
    weights_, support_, trace_
        As for every selector; the trace adds all features in the order of the ranking.

    References
    ----------
    Abellan & Castellano (2017), Entropy 19 (6) 247; Walley (1996), Inferences from multinomial data, JRSS B 58.

    Examples
    --------
    >>> from bayesieve import ImpreciseInformationGainSelector
    >>> codes = [[0, 0], [0, 1], [0, 2], [1, 3], [1, 4], [1, 5]]
    >>> selector = ImpreciseInformationGainSelector(encoder=None).fit(codes, ["no", "no", "no", "yes", "yes", "yes"])
    >>> selector.scores_.round(3).tolist(), selector.support_.tolist()
    ([0.131, 0.0], [True, False])
    """

    name = "imprecise-information-gain"
    title = "filter by imprecise information gain"
    sentence = (
        "Features of positive imprecise information gain were selected, each on its own (Abellán & Castellano 2017)."
    )
    scores = (Score("imprecise_information_gain", unit="nats", of="feature"),)

    _allowed = SHARED_OPTIONS | {
        "s": Allowed("be a number above 0", (), Real, np.nextafter(0.0, 1.0)),
        "threshold": Allowed("be a number of nats", (), Real),
        "level_probabilities": Allowed.choice(*LEVEL_PROBABILITIES),
    }

    _: KW_ONLY
    s: float = 1.0
    threshold: float = 0.0
    level_probabilities: LevelProbabilities = "frequency"
    smoothing: Smoothing = "m-estimate"
    encoder: Any = "modl"

    def score_features(self, coded: CodedTable) -> np.ndarray:
        """Return the imprecise information gain of each feature in nats, shape (n_features,)."""
        counts = coded.counts
        has_rows = counts.class_counts > 0.0
        occurring = ContingencyCounts(counts.counts[:, has_rows], counts.offsets, counts.class_counts[has_rows])
        return class_imprecise_information(occurring, self.s, self.level_probabilities)

    def weigh(self, scores: np.ndarray, ranking: np.ndarray) -> np.ndarray:
        """Return weight 1 for features with a gain above the threshold and 0 for others, shape (n_features,).

        ``scores`` (n_features,) are the gains, in the order of the columns; ``ranking`` is not used.
        """
        return above(scores, self.threshold)


class MRMRSelector(RankedSelector):
    """Rank features by "minimal redundancy, maximal relevance", and keep the leading ones.

    The first feature is the one of largest mutual information with the class, I(x; y). Each further one has the largest
    I(x; y) - mean of I(x; s) over the features s ranked before it (MID), or the largest quotient of both (MIQ).

    Parameters
    ----------
    n_features_to_select : "auto" or int, default="auto"
        ``"auto"``: features are ranked, and the probabilities of naive Bayes counted, on one half of the rows
        (stratified by class). The number of leading features that predicts the other half best is kept, the smallest on
        ties, as in Rabenoro et al. (2015). A number: features are ranked on all rows, and that many are kept.
    form : "difference" or "quotient", default="difference"
        How relevance and redundancy are combined: their difference (MID) or quotient (MIQ).
    dependence : str or Dependence, default="mutual_information"
        Measure used as I: ``"mutual_information"``, ``"symmetrical_uncertainty"`` or any other of `pair_statistics`
        that grows with the dependence. A measure of raw values, such as ``"spearman"``, uses the positions of levels
        and classes to compare a feature with the class.
    smoothing : "m-estimate" or float, default="m-estimate"
        Smoothing of the counted probabilities, as for `DiscreteNB`; only used with "auto".

    Attributes
    ----------
    ranking_ : int array, shape (n_features,)
        Positions of all features, the best first.
    scores_ : float array, shape (n_features,)
        Score of each feature when it was ranked: I(x; y) in nats for the first feature, then the difference in nats, or
        the quotient.
    weights_, support_ : arrays, shape (n_features,)
        1 and True for the features selected.
    n_features_selected_ : int
    trace_ : SearchTrace
        Additions in the order of the ranking, with the scores and, with "auto", the criterion on the held-out rows.

    Notes
    -----
    Ties (within 1e-12) go to the lowest column. The quotient is 0 if the mean redundancy is at most 1e-12 nats.
    Features with a single level after encoding are ranked last, and not selected. Each step needs only the dependence
    of one feature on all others. Up to 2,048 features, the whole matrix is computed at once; beyond, one row per step,
    and the matrix is never stored.

    References
    ----------
    Peng, Long & Ding (2005), Feature selection based on mutual information: criteria of max-dependency, max-relevance,
    and min-redundancy, IEEE TPAMI 27 (8), equations 6 to 8; Ding & Peng (2005), Minimum redundancy feature selection
    from microarray gene expression data, J. Bioinform. Comput. Biol. 3 (2), table 1 (the quotient); Rabenoro, Lacaille,
    Cottrell & Rossi (2015), Search strategies for binary feature selection for a naive Bayes classifier, ESANN (the
    size).

    Examples
    --------
    >>> from bayesieve import MRMRSelector
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> selector = MRMRSelector(n_features_to_select=2).fit(X, y)
    >>> selector.ranking_.tolist(), selector.get_feature_names_out().tolist()
    ([3, 2, 1, 0], ['petal length (cm)', 'petal width (cm)'])
    """

    name = "mrmr"
    title = "filter by minimal redundancy, maximal relevance"
    sentence = (
        "Features were ranked by what they say about the target and not about each other (mRMR; Peng, Long & Ding "
        "2005)."
    )
    scores = (
        Score("mrmr_difference", "mRMR score", "nats", of="feature"),
        Score("mrmr_quotient", "mRMR score", of="feature"),
        Score("mrmr_score", "mRMR score", of="feature"),  # difference, if the dependence is not in nats
    )
    kernel_families = ("pairs",)

    _allowed = SHARED_OPTIONS | {"n_features_to_select": Allowed.count("auto"), "form": Allowed.choice(*FORMS)}

    n_features_to_select: Literal["auto"] | int = "auto"
    _: KW_ONLY
    form: Form = "difference"
    dependence: str | Dependence = "mutual_information"
    validation: str | Criterion = "auto"
    validation_size: float = 0.5
    recode: bool | Literal["auto"] = "auto"
    smoothing: Smoothing = "m-estimate"
    encoder: Any = "modl"
    random_state: Any = None
    n_jobs: int | None = -1
    verbose: int = 0

    def _rank(
        self, fit: CodedTable, coded: CodedTable, refitter: LevelRefitter | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rank the features by mRMR on the rows of ``fit``, those that may be selected before all others.

        Return their positions, the best first, and their scores in this order, both (n_features,). ``coded`` is the
        table of all training rows, and ``refitter`` gives raw values to measures of dependence that compare them.
        """
        dependence = make_dependence(self.dependence, grows=True)
        with search_progress(f"{type(self).__name__}: ranking", self.verbose, "score") as progress:
            return rank_by_mrmr(
                fit,
                self.form,
                first=self._worthwhile(coded),
                n_jobs=self.n_jobs,
                progress=progress,
                dependence=dependence,
                numbers=raw_numbers(dependence, fit, refitter),
            )

    def _worthwhile(self, coded: CodedTable) -> np.ndarray:
        """Return a mask of the features with at least two levels, shape (n_features,). If the input was a table of
        codes, all features are in the mask.
        """
        return super()._worthwhile(coded) if coded.levels is None else coded.n_levels > 1

    @property
    def _score(self) -> Score:
        """Description of the score, whose unit depends on ``form`` and ``dependence``."""
        score = self.scores[FORMS.index(self.form)]
        unit = make_dependence(self.dependence, grows=True).unit
        return self.scores[-1] if score.unit != unit and self.form == "difference" else score

    def _keep(self, coded: CodedTable) -> np.ndarray:
        """Return weight 1 for the leading features of the ranking and 0 for others, shape (n_features,)."""
        return leading(self.ranking_, int(self.n_features_to_select), int(self._worthwhile(coded).sum()))

    def check_options(self) -> None:
        """Raise ValueError if an option has an invalid value."""
        super().check_options()
        make_dependence(self.dependence, grows=True)


def rank_by_mrmr(
    coded: CodedTable,
    form: Form = "difference",
    first: np.ndarray | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int, float], Any] | None = None,
    dependence: Dependence | None = None,
    numbers: Sequence[np.ndarray | None] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Rank the features of a coded table with classes by minimal redundancy and maximal relevance.

    Parameters
    ----------
    coded : CodedTable
    form : "difference" (MID) or "quotient" (MIQ)
    first : mask of the features to rank before all others, shape (n_features,); None ranks all features together
    n_jobs : number of threads; None means one
    progress : function called after every step with the number of the step, the number of steps and the score
    dependence : measure of relevance and redundancy; None for mutual information
    numbers : raw numbers (n_rows,) of each feature, None for features that are not numeric; None instead of a list
        unless ``dependence`` compares raw values

    Returns
    -------
    ranking, scores : arrays of shape (n_features,)
        Positions of the features, the best first, and their scores in the same order.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve.selection.filters import rank_by_mrmr
    >>> from bayesieve.counts import CodedTable
    >>> codes = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 0]], dtype=np.uint8)
    >>> target = {"class_codes": np.array([0, 0, 1, 1], dtype=np.uint8), "classes": np.array(["no", "yes"])}
    >>> rank_by_mrmr(CodedTable(codes, np.array([2, 2, 2]), ("a", "copy", "c"), **target))[0].tolist()
    [0, 1, 2]
    """
    measure = MutualInformation() if dependence is None else dependence
    relevance = measure.with_class(coded.counts)
    pairs = PairInformation(coded, n_jobs=n_jobs, numbers=numbers)
    matrix = pairs.of(measure) if coded.n_features <= _WHOLE_MATRIX else None
    n = relevance.size
    ranking, scores = np.empty(n, dtype=np.int64), np.empty(n)
    waiting = np.ones(n, dtype=bool) if first is None else first.copy()
    later = ~waiting
    summed = np.zeros(n)
    for step in range(n):
        if not waiting.any():
            waiting = later
        merit = relevance if not step else _merit(relevance, summed / step, form)
        merit = np.where(waiting, merit, -np.inf)
        best = int(np.argmax(merit >= merit.max() - _TIE))
        ranking[step], scores[step] = best, merit[best]
        waiting[best] = False
        summed += pairs.of(measure, [best])[0] if matrix is None else matrix[best]
        if progress is not None:
            progress(step + 1, n, float(merit[best]))
    return ranking, scores


def _merit(relevance: np.ndarray, redundancy: np.ndarray, form: Form) -> np.ndarray:
    """Return the mRMR score of each feature, (n_features,): relevance minus redundancy, or their quotient.

    ``relevance`` (n_features,) is the dependence of each feature on the class, ``redundancy`` (n_features,) its mean
    dependence on the features ranked before, and ``form`` "difference" or "quotient".
    """
    if form == "difference":
        return relevance - redundancy
    real = redundancy > _TIE
    return np.where(real, relevance / np.where(real, redundancy, 1.0), 0.0)


def nested_values(objective: Objective, ranking: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """Return the criterion of ``objective`` for the first 0, 1, ... n features of a ranking, shape (n_features + 1,).

    ``ranking`` (n_features,) holds the positions of all features, the best first. Each feature takes one pass over the
    rows of the objective.
    """
    state = SearchState(SubsetProblem.bare(objective), n_jobs=n_jobs)
    costs = [state.cost]
    for feature in ranking.tolist():
        state.flip(feature)
        costs.append(state.cost)
    return objective.sign * np.array(costs)


def leading(ranking: np.ndarray, size: int, candidates: int | None = None) -> np.ndarray:
    """Return weight 1 for the first ``size`` features of a ranking and 0 for all others, shape (n_features,).

    ``ranking`` (n_features,) holds positions of features, the best first. At most the first ``candidates`` features get
    weight 1; None means no such limit. Raise ValueError if ``size`` exceeds the number of features.
    """
    if size > ranking.size:
        raise ValueError(
            f"n_features_to_select={size} is more than the {ranking.size} features of the table; use at most that "
            "many, or 'auto'."
        )
    weights = np.zeros(ranking.size)
    weights[ranking[: size if candidates is None else min(size, candidates)]] = 1.0
    return weights


def rank(scores: np.ndarray) -> np.ndarray:
    """Return the positions of the features by descending score, shape (n_features,); scores that are equal within
    rounding go to the lower column. ``scores`` has shape (n_features,).
    """
    return np.argsort(-np.round(scores, _DIGITS), kind="stable")


def above(scores: np.ndarray, threshold: float) -> np.ndarray:
    """Return weight 1 for scores above ``threshold``, after rounding to 12 decimals, and 0 for others, shape
    (n_features,). ``scores`` has shape (n_features,).
    """
    return (np.round(scores, _DIGITS) > threshold).astype(float)
