"""Boosted selection: the features whose own naive Bayes win the rounds of a confidence-rated AdaBoost."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.engine.progress import SearchProgress
from bayesieve.parts import Score
from bayesieve.search.boosting import EDGE, Boosting
from bayesieve.selection.base import SHARED_OPTIONS, CodedSelector
from bayesieve.table.choices import Allowed


class BoostedSelector(CodedSelector):
    """Select the features that win the rounds of a boosted search.

    Each round learns the naive Bayes of every feature alone, from weighted rows: class shares and levels are counted
    under the weights w. Its confidence is h = 2 s - 1, with s the probability of the class, and the feature of largest
    edge r = sum w y h wins, y being +1 for rows of the class and -1 for others. Rows are then weighted by
    exp(-alpha y h), alpha = 0.5 ln((1 + r) / (1 - r)), so that the next round looks at those that the winner got wrong.
    The features that won get weight 1, others 0: naive Bayes is learnt from them together and without these weights.

    Parameters
    ----------
    n_rounds : int or None, default=20
        Rounds of boosting. A feature may win several: the features selected may be fewer. None: as many rounds as
        ``n_features_to_select`` needs, up to 100 in a row without a new feature.
    n_features_to_select : int or None, default=None
        Boosting ends as soon as this many features are selected.
    smoothing : "m-estimate" or float, default="m-estimate"
        As `DiscreteNB` takes it; weights sum to the number of rows.

    Attributes
    ----------
    alphas_ : float array, shape (n_rounds,)
        Of every round, in the order of ``trace_``.
    scores_ : float array, shape (n_features,)
        Sum of the alphas of the rounds that each feature won.
    n_features_selected_ : int
    weights_, support_ : arrays, shape (n_features,)
        1 and True for the features selected.
    trace_ : SearchTrace
        The winners with their edges, of which the criterion of the empty subset is that of the class shares alone; a
        winner that is selected already is the move "again". ``trace_.ended`` gives the reason to stop.

    Notes
    -----
    With more than two classes, each is boosted against all others, one round each in turn, and a feature is selected
    that wins a round of any class; the trace has a start for every class. Equal edges (within 1e-12) go to the lowest
    column. Boosting also ends when the largest edge is at most 0 or at least 1 (within 1e-12), or the weight lies on
    fewer than ten rows, (sum w)^2 / sum w^2, in tables of less than 100 rows on fewer than a tenth of them.

    Where one class is rare, the first rounds do little but balance the classes: every classifier that mostly says no
    has a large edge. Edges also take no account of calibration; `WrapperSelector` with ``criterion="brier"`` and
    ``direction="forward"`` is the alternative of the same paper.

    References
    ----------
    Gidofalvi & Zadrozny, Feature selection for class probability estimation, table 2; Schapire & Singer (1999),
    Improved boosting algorithms using confidence-rated predictions, Machine Learning 37 (alpha from r).

    Examples
    --------
    >>> from bayesieve import BoostedSelector
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = BoostedSelector(n_rounds=4).fit(X, y)
    >>> selector.get_feature_names_out().tolist()
    ['mean concave points', 'worst texture', 'worst perimeter', 'worst concave points']
    >>> selector.trace_.to_frame()["criterion"].round(2).to_list(), selector.trace_.ended
    ([0.06, 0.78, 0.6, 0.4, 0.34], 'after 4 rounds')
    """

    name = "boosted"
    title = "boosted search by confident features"
    sentence = "Features won rounds of boosting, each by naive Bayes on reweighted rows (Gidofalvi & Zadrozny)."
    scores = (Score(EDGE, of="round"),)
    chooses_on_path = False

    _allowed = SHARED_OPTIONS | {"n_rounds": Allowed.count(None), "n_features_to_select": Allowed.count(None)}

    n_rounds: int | None = 20
    n_features_to_select: int | None = None
    _: KW_ONLY
    max_seconds: float | None = None
    smoothing: Smoothing = "m-estimate"
    encoder: Any = "modl"
    verbose: int = 0

    def _search(self, coded: CodedTable) -> np.ndarray:
        if self.n_features_to_select is not None and self.n_features_to_select > coded.n_features:
            raise ValueError(
                f"n_features_to_select={self.n_features_to_select} is more than the {coded.n_features} features of the "
                "table; use at most that many, or None."
            )
        candidates = np.flatnonzero(coded.n_levels > (0 if coded.levels is None else 1))
        search = Boosting(self.n_rounds, self.n_features_to_select, self.smoothing, self.max_seconds)
        with SearchProgress("BoostedSelector: boosting", self.verbose, EDGE) as progress:
            self.trace_ = search.run(coded, candidates, progress)
        self._warn_if_interrupted(self.trace_, self.max_seconds)
        return np.asarray(self.trace_.chosen).astype(float)

    # Read from the trace, which models that were saved and loaded have too.
    @property
    def alphas_(self) -> np.ndarray:
        with np.errstate(divide="ignore"):  # an edge of 1 has an infinite alpha
            return np.arctanh(np.minimum(self.trace_.moves.cost, 1.0))

    @property
    def scores_(self) -> np.ndarray:
        return np.bincount(self.trace_.moves.feature, self.alphas_, self.trace_.n_features)

    def _check_options(self) -> None:
        if self.n_rounds is None and self.n_features_to_select is None:
            raise ValueError("n_rounds and n_features_to_select cannot both be None; give one of them.")
