"""Minimal redundancy, maximal relevance: a ranking that leaves copies of what was ranked already to the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from bayesieve.counts import CodedTable, Dependence, Smoothing
from bayesieve.counts.dependence import MutualInformation, make_dependence
from bayesieve.counts.pairs import PairInformation
from bayesieve.criteria import Criterion
from bayesieve.engine.progress import SearchProgress
from bayesieve.parts import Allowed, Score
from bayesieve.selection.base import SHARED_OPTIONS
from bayesieve.selection.filters import RankedSelector, leading

Form = Literal["difference", "quotient"]
FORMS = ("difference", "quotient")
_TIE = 1e-12  # nats
_WHOLE_MATRIX = 2048  # features up to which all pairs are counted at once, 32 MB of them


class MRMRSelector(RankedSelector):
    """Rank features by "minimal redundancy, maximal relevance", and keep the leading ones.

    The first feature is the one of largest mutual information with the class, I(x; y). Each further one has the largest
    I(x; y) - mean of I(x; s) over the features s ranked before it (MID), or the largest quotient of both (MIQ).

    Parameters
    ----------
    n_features_to_select : "auto" or int, default="auto"
        ``"auto"``: the ranking and the probabilities of naive Bayes are learnt from one half of the rows (with the
        shares of the classes); the smallest of the leading subsets that are best on the other half is kept, as Rabenoro
        et al. (2015) do. A number: all rows are ranked, and that many features are kept.
    form : "difference" or "quotient", default="difference"
        MID or MIQ.
    dependence : str or Dependence, default="mutual_information"
        What takes the place of I: ``"symmetrical_uncertainty"``, or any other measure that grows with the dependence,
        as `pair_statistics` takes it; one of values, such as ``"spearman"``, is measured between a feature and the
        class on the positions of levels and classes.
    smoothing : "m-estimate" or float, default="m-estimate"
        As `DiscreteNB` takes it; only used with "auto".

    Attributes
    ----------
    ranking_ : int array, shape (n_features,)
        Positions of all features, the best first.
    scores_ : float array, shape (n_features,)
        Score of each feature when it was ranked: I(x; y) in nats of the first one, then the difference in nats, or the
        quotient.
    weights_, support_ : arrays, shape (n_features,)
        1 and True for the features selected.
    n_features_selected_ : int
    trace_ : SearchTrace
        The additions in the order of the ranking, with the scores, and the error on the held-out rows.

    Notes
    -----
    Ties (within 1e-12) go to the lowest column. A mean redundancy of at most 1e-12 nats makes the quotient 0. Features
    that an encoder left with one level are ranked last, and not selected. Each step needs the information of one
    feature with all others only: pairs are counted row by row of their matrix, and the matrix is never kept beyond
    2,048 features.

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
        Score("mrmr_score", "mRMR score", of="feature"),  # differences of a dependence that is not in nats
    )
    kernel_families = ("pairs",)

    _allowed = SHARED_OPTIONS | {
        "n_features_to_select": Allowed.count("auto"),
        "form": Allowed.choice(*FORMS),
    }

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

    def _rank(self, fit: CodedTable, coded: CodedTable) -> tuple[np.ndarray, np.ndarray]:
        dependence = make_dependence(self.dependence, grows=True)
        with SearchProgress(f"{type(self).__name__}: ranking", self.verbose, "score") as progress:
            return rank_by_mrmr(fit, self.form, self._worthwhile(coded), self.n_jobs, progress, dependence)

    def _worthwhile(self, coded: CodedTable) -> np.ndarray:
        return super()._worthwhile(coded) if coded.levels is None else coded.n_levels > 1

    @property
    def _score(self) -> Score:
        score = self.scores[FORMS.index(self.form)]
        unit = make_dependence(self.dependence, grows=True).unit
        return self.scores[-1] if score.unit != unit and self.form == "difference" else score

    def _keep(self, coded: CodedTable) -> np.ndarray:
        return leading(self.ranking_, int(self.n_features_to_select), int(self._worthwhile(coded).sum()))

    def _check_options(self) -> None:
        make_dependence(self.dependence, grows=True)


def rank_by_mrmr(
    coded: CodedTable,
    form: Form = "difference",
    first: np.ndarray | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int, float], Any] | None = None,
    dependence: Dependence | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """All features of a coded table with classes by minimal redundancy and maximal relevance.

    Parameters
    ----------
    coded : CodedTable
    form : "difference" (MID) or "quotient" (MIQ)
    first : (n_features,) bool, features to rank before all others; None for all
    n_jobs : threads
    progress : called after every step with its number, their number and the score
    dependence : measure of relevance and redundancy; None for mutual information

    Returns
    -------
    ranking, scores : (n_features,) positions of the features, the best first, and the score of each of those.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve.selection.mrmr import rank_by_mrmr
    >>> from bayesieve.counts import CodedTable
    >>> codes = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 0]], dtype=np.uint8)
    >>> target = {"class_codes": np.array([0, 0, 1, 1], dtype=np.uint8), "classes": np.array(["no", "yes"])}
    >>> rank_by_mrmr(CodedTable(codes, np.array([2, 2, 2]), ("a", "copy", "c"), **target))[0].tolist()
    [0, 1, 2]
    """
    measure = MutualInformation() if dependence is None else dependence
    relevance = measure.with_class(coded.counts)
    pairs = PairInformation(coded, n_jobs=n_jobs)
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
    if form == "difference":
        return relevance - redundancy
    real = redundancy > _TIE
    return np.where(real, relevance / np.where(real, redundancy, 1.0), 0.0)
