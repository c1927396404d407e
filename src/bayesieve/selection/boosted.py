"""Boosted selection: AdaBoost over the naive Bayes classifiers of single features selects the features that win a
round.

Each class is boosted against all others (*one against the rest*); its rounds form one walk of the trace. The
*confidence* of a classifier is 2 P(class) - 1, and its *edge* the weighted mean of confidence times ±1 for the true
class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.counts.contingency import ContingencyCounts, JointCodes, left_over, log_probabilities_of_all
from bayesieve.engine.callbacks import FitTask
from bayesieve.engine.progress import Clock, Progress, search_progress
from bayesieve.parts import Allowed, Score
from bayesieve.search import SearchTrace, TraceRecorder, WalkStart
from bayesieve.selection.base import SHARED_OPTIONS, CodedSelector

EDGE = "edge"
_TIE = 1e-12
_MAX_IDLE = 100  # rounds in a row without a new feature, if rounds are not limited
_FEWEST_ROWS = 10.0  # boosting ends if the effective number of rows falls below this ...
_LEAST_SHARE = 0.1  # ... or below this share of the rows, if that is less


class BoostedSelector(CodedSelector):
    """Select the features that win the rounds of a boosted search.

    Each round fits one naive Bayes classifier per feature to weighted rows: class shares and levels are counted with
    the row weights w, which sum to 1. The confidence of a classifier is h = 2 s - 1, where s is its probability of the
    class. With y = +1 for rows of the class and -1 for others, the feature with the largest edge r = sum w y h wins the
    round. Row weights are then multiplied by exp(-alpha y h), alpha = 0.5 ln((1 + r) / (1 - r)), so that the next round
    concentrates on rows that the winner predicts badly. Features that won a round get weight 1, others 0. The final
    model is a naive Bayes of all winners, fitted without the boosting weights.

    Parameters
    ----------
    n_rounds : int or None, default=20
        Number of rounds. A feature may win several rounds, so fewer features may be selected. None: rounds continue
        until ``n_features_to_select`` features have won, or 100 rounds in a row have selected no new feature.
    n_features_to_select : int or None, default=None
        Boosting ends as soon as this many features are selected. None: only the rounds are limited.
    replacement : bool, default=True
        Whether a feature may win several rounds. If False, every round selects a new feature.
    smoothing : "m-estimate" or float, default="m-estimate"
        Smoothing of the counted probabilities, as for `DiscreteNB`. For the counts, row weights are scaled to sum to
        the number of rows.

    Attributes
    ----------
    alphas_ : float array, shape (n_rounds,)
        Weight alpha of each round in the boosted classifier, in the order of ``trace_``.
    scores_ : float array, shape (n_features,)
        Sum of the alphas of the rounds that each feature won.
    n_features_selected_ : int
    weights_, support_ : arrays, shape (n_features,)
        1 and True for the features selected.
    trace_ : SearchTrace
        The winner of each round, with its edge as the criterion. The criterion of the empty subset is the edge of the
        class shares alone. The move is "again" if the winner was selected before. ``trace_.ended`` gives the reason to
        stop.

    Notes
    -----
    With more than two classes, each class is boosted against all others, one round per class in turn. A feature is
    selected if it wins a round of any class; the trace has one start per class. Of equal edges (within 1e-12), the
    lowest column wins. Boosting also ends if the largest edge is at most 0 or at least 1 (within 1e-12), or if the
    effective number of rows, (sum w)^2 / sum w^2, falls below ten (in tables of fewer than 100 rows, below a tenth of
    them).

    If one class is rare, the first rounds mainly balance the classes, because every classifier that mostly predicts the
    frequent class has a large edge. Edges also ignore calibration; `WrapperSelector` with ``criterion="brier"`` and
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
    replacement: bool = True
    max_seconds: float | None = None
    smoothing: Smoothing = "m-estimate"
    encoder: Any = "modl"
    verbose: int = 0

    def _search(self, coded: CodedTable, *, task: FitTask | None = None) -> np.ndarray:
        """Boost, set ``trace_``, and return weight 1 for the features that won a round and 0 for others, shape
        (n_features,).

        ``task`` reports the rounds to scikit-learn's callbacks.
        """
        if self.n_features_to_select is not None and self.n_features_to_select > coded.n_features:
            raise ValueError(
                f"n_features_to_select={self.n_features_to_select} is more than the {coded.n_features} features of the "
                "table; use at most that many, or None."
            )
        candidates = np.flatnonzero(coded.n_levels > (0 if coded.levels is None else 1))
        with search_progress("BoostedSelector: boosting", self.verbose, EDGE) as shown:
            progress = shown if task is None else task.with_moves(shown)
            self.trace_ = self.boost(coded, candidates, progress)
        if not self.trace_.complete:
            self._warn_if_interrupted(self.trace_, self.max_seconds)
        return np.asarray(self.trace_.chosen).astype(float)

    def boost(self, coded: CodedTable, candidates: np.ndarray, progress: Progress | None = None) -> SearchTrace:
        """Boost each class against all others and return the trace; two classes are boosted once. Ctrl-C keeps the
        rounds so far.

        Parameters
        ----------
        coded : coded table with classes
        candidates : positions of the features that may win a round, shape (n_candidates,)
        progress : function called after every round, or None
        """
        clock, coded = Clock(self.max_seconds, progress), coded.by_class
        targets = _targets(coded)
        walks = []
        if targets:
            weights = _Weights(coded, targets)
            walks = [_AgainstRest(coded, weights, i, target, self.smoothing) for i, target in enumerate(targets)]
        with clock:
            self._boost(walks, candidates, clock)
        chosen = np.zeros(coded.n_features, dtype=bool)
        chosen[list(_winners(walks))] = True
        return SearchTrace.of(
            coded.names,
            [walk.recorder for walk in walks] or [TraceRecorder(WalkStart.empty(1.0))],
            complete=clock.complete,
            seconds=clock.seconds,
            n_models=1 + sum(walk.n_rounds for walk in walks) * candidates.size,
            criterion_name=EDGE,
            lower_is_better=False,
            chosen=chosen,
            ended=_reasons(walks, coded) if clock.complete else None,
        )

    def _boost(self, walks: list[_AgainstRest], candidates: np.ndarray, clock: Clock) -> None:
        """Run one round per class in turn until boosting has ended for every class.

        ``walks`` holds the state of each boosted class, ``candidates`` the positions of the features that may win a
        round, and ``clock`` measures time, reports progress, and ends boosting at the time limit or after Ctrl-C.
        """
        running, rounds = walks, 0
        while running := [walk for walk in running if walk.ended is None]:
            for walk in running:
                if clock.stops():
                    return
                if walk.ended is not None:  # another class of this round selected the last feature
                    continue
                if not self.replacement:
                    candidates = np.setdiff1d(candidates, list(_winners(walks)))
                    if not candidates.size and _winners(walks):
                        walk.end("when every feature was selected")
                        continue
                walk.end(walk.round(candidates, clock))
                if self.n_features_to_select is not None and len(_winners(walks)) == self.n_features_to_select:
                    for every in walks:
                        every.end(f"with {_counted(self.n_features_to_select, 'feature')}")
                # Check the limit last: if the last round selects the last feature, this is the reason to report.
                walk.end(self._limit(walk))
            rounds += 1
            features = len(_winners(walks)), self.n_features_to_select
            done, total = features if self.n_rounds is None else (rounds, self.n_rounds)
            clock.show(done, total or 0, max(walk.edge for walk in running))
            if clock.interrupted:
                return

    def _limit(self, walk: _AgainstRest) -> str | None:
        """Return the limit at which the boosting of one class ends, such as "after 20 rounds"; None if it has reached
        none.

        ``walk`` is the state of boosting this class. The limits are the number of rounds, and rounds without a new
        feature.
        """
        if walk.n_rounds == self.n_rounds:
            return f"after {_counted(walk.n_rounds, 'round')}"
        if self.n_rounds is None and walk.idle_rounds == _MAX_IDLE:
            return f"after {_MAX_IDLE} rounds without a new feature"
        return None

    # Fitted attributes are computed from the trace, because a model loaded from a file has no other record.
    @property
    def alphas_(self) -> np.ndarray:
        """Weight of each round in the boosted classifier, shape (n_rounds,)."""
        with np.errstate(divide="ignore"):  # an edge of 1 has an infinite alpha
            return np.arctanh(np.minimum(self.trace_.moves.cost, 1.0))

    @property
    def scores_(self) -> np.ndarray:
        """Sum of the alphas of the rounds that each feature won, shape (n_features,)."""
        return np.bincount(self.trace_.moves.feature, self.alphas_, self.trace_.n_features)

    def check_options(self) -> None:
        """Raise ValueError if an option has an invalid value, or nothing limits the rounds."""
        super().check_options()
        if self.n_rounds is None and self.n_features_to_select is None:
            raise ValueError("n_rounds and n_features_to_select cannot both be None; give one of them.")


class _Weights:
    """Boosting weights of the rows, one array (n_rows,) for each class that is boosted against all others.

    ``targets`` are the codes of the boosted classes. The argument ``number`` of the methods is the position of a class
    in ``targets``.
    """

    def __init__(self, coded: CodedTable, targets: Sequence[int]) -> None:
        self._coded, n_rows = coded, coded.n_rows
        row_weights = np.ones(n_rows) if coded.weights is None else coded.weights
        self._inverse = np.divide(1.0, row_weights, out=np.zeros(n_rows), where=row_weights > 0)
        # Start from the sample weights, so that smoothing in the first round equals that of `DiscreteNB`.
        self._weights = [row_weights.astype(float) for _ in targets]
        self._is_target = [(np.asarray(coded.class_codes) == target).astype(np.uint8) for target in targets]
        self._classes = [(np.arange(coded.n_classes) == target).astype(np.int64) for target in targets]
        self._joint = JointCodes.of(coded)

    def total(self, number: int) -> float:
        """Return the total boosting weight of all rows.

        ``number`` is the position of the boosted class among the boosted classes.
        """
        return float(self._weights[number].sum())

    def of_class(self, number: int) -> float:
        """Return the total boosting weight of the rows of the boosted class.

        ``number`` is its position among the boosted classes.
        """
        return float(self._weights[number][self._is_target[number] > 0].sum())

    def counts(self, number: int) -> ContingencyCounts:
        """Return the counts of rows by level and class, with rows weighted by their boosting weights.

        There are two classes: first the union of all other classes, then the boosted class. ``number`` is the position
        of the boosted class among the boosted classes.
        """
        return self._joint.weigh(self._weights[number], self._classes[number])

    def multiply(self, number: int, winner: int, factors: np.ndarray) -> None:
        """Multiply the boosting weight of each row by the factor for its class and its level of one feature.

        ``winner`` is the position of the feature. ``factors`` has shape (2, n_levels + 1): first all other classes,
        then the boosted one; the last column is for rows without a level. ``number`` is the position of the boosted
        class.
        """
        codes = np.minimum(self._coded.codes[winner], factors.shape[1] - 1)
        self._weights[number] *= factors[self._is_target[number], codes]

    def scale(self, number: int, factor: float) -> None:
        """Multiply all boosting weights by ``factor``.

        ``number`` is the position of the boosted class among the boosted classes.
        """
        self._weights[number] *= factor

    def squares(self, number: int) -> float:
        """Return the sum of squared boosting weights.

        A row of sample weight 2 counts as two rows with half of its boosting weight each. ``number`` is the position of
        the boosted class.
        """
        return float(np.sum(self._weights[number] ** 2 * self._inverse))


class _AgainstRest:
    """State of boosting one class (y = +1) against all others (y = -1).

    ``weights`` holds the boosting weights of all boosted classes, ``target`` is the code of the class, and ``number``
    its position among the boosted classes.
    """

    def __init__(self, coded: CodedTable, weights: _Weights, number: int, target: int, smoothing: Smoothing) -> None:
        self.target, self._number = target, number
        self.ended: str | None = None
        self.edge = 0.0
        self.idle_rounds = 0
        self._smoothing, self._names, self._weights = smoothing, coded.names, weights
        self._total = weights.total(number)
        share = weights.of_class(number) / self._total
        self.recorder = TraceRecorder(WalkStart.empty((2.0 * share - 1.0) ** 2))

    @property
    def n_rounds(self) -> int:
        """Number of rounds that were completed."""
        return len(self.recorder.steps)

    def end(self, reason: str | None) -> None:
        """Record why boosting ended. Do nothing if ``reason`` is None or a reason is recorded already."""
        self.ended = self.ended or reason

    def round(self, candidates: np.ndarray, clock: Clock) -> str | None:
        """Select the feature with the largest edge and reweight the rows.

        ``candidates`` are the positions of the features that may win, and ``clock`` gives the time for the record.
        Return the reason to end the boosting of this class, in words, or None if it may continue.
        """
        if not candidates.size:
            return "at once, for no feature has several levels"
        levels, confidence, edges = self._learn()
        candidate_edges = edges[candidates]
        best = int(np.argmax(candidate_edges >= candidate_edges.max() - _TIE))
        winner, self.edge = int(candidates[best]), float(candidate_edges[best])
        edge = self.edge
        if edge <= _TIE:
            return "when no feature was better than chance on the weighted rows"
        again = winner in _winners([self])
        self.idle_rounds = self.idle_rounds + 1 if again else 0
        self.recorder.record_one(winner, True, edge, clock.seconds, again=again)
        if edge >= 1.0 - _TIE:
            return f"when {self._names[winner]} separated the classes without error"
        self._reweigh(winner, np.append(confidence[levels[winner] : levels[winner + 1]], confidence[-1]), edge)
        rows = self._total**2 / self._weights.squares(self._number)  # (sum w)^2 / sum w^2 (Kish)
        if rows < min(_FEWEST_ROWS, _LEAST_SHARE * self._total):
            return f"when the weight was concentrated on {_counted(int(rows), 'row')}"
        return None

    def _learn(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Fit one naive Bayes classifier per feature to the weighted rows.

        Returns
        -------
        offsets : (n_features + 1,) position of each feature's first level in ``confidence``; the last
            entry is their number.
        confidence : (n_levels + 1,) 2 P(class | level) - 1 of every level, feature after feature; the last entry is for
            rows without a level.
        edges : (n_features,) edge of each classifier.
        """
        counts = self._weights.counts(self._number)
        offsets, (rest, of_class) = counts.offsets, counts.class_counts
        logs = log_probabilities_of_all(counts.counts, offsets, self._total, self._smoothing)
        prior = np.log(of_class) - np.log(rest)
        confidence = np.tanh(0.5 * np.append(prior + logs[:, 1] - logs[:, 0], prior))  # h = 2 s - 1
        of_level = np.repeat(np.arange(counts.n_features), np.diff(offsets))
        gains = confidence[:-1] * (counts.counts[:, 1] - counts.counts[:, 0])
        with_level = np.array([np.bincount(of_level, column, counts.n_features) for column in counts.counts.T])
        unseen = left_over(np.repeat(counts.class_counts[:, None], counts.n_features, axis=1), with_level)
        edges = np.bincount(of_level, gains, counts.n_features) + confidence[-1] * (unseen[1] - unseen[0])
        return offsets, confidence, edges / self._total

    def _reweigh(self, winner: int, confidence: np.ndarray, edge: float) -> None:
        """Multiply the boosting weight of each row by exp(-alpha y h), and rescale all weights to the same sum.

        ``winner`` is the position of the feature that won the round, ``confidence`` (n_levels + 1,) is h of each of its
        levels, with unseen values last, and ``edge`` its edge r, from which alpha = 0.5 ln((1 + r) / (1 - r)).
        """
        alpha = np.arctanh(edge)  # 0.5 ln((1 + r) / (1 - r))
        factors = np.exp(alpha * np.outer([1.0, -1.0], confidence))
        self._weights.multiply(self._number, winner, factors)
        self._weights.scale(self._number, self._total / self._weights.total(self._number))


def _targets(coded: CodedTable) -> list[int]:
    """Return the codes of the classes to boost: of two classes only the second, otherwise all.

    Classes without rows are skipped; the result is empty if all rows have one class.
    """
    weights = np.bincount(np.asarray(coded.class_codes), coded.weights, coded.n_classes)
    present = np.flatnonzero(weights > 0)
    return present[1:].tolist() if present.size <= 2 else present.tolist()


def _winners(walks: list[_AgainstRest]) -> set[int]:
    """Return the positions of the features that won a round of any of the boosted classes.

    ``walks`` holds the state of each boosted class. The winners are read from the recorded rounds, which stay
    consistent after an interrupt.
    """
    return {int(step.feature[0]) for walk in walks for step in walk.recorder.steps}


def _reasons(walks: list[_AgainstRest], coded: CodedTable) -> str:
    """Return why boosting ended, in words for the report; one reason per class if they differ.

    ``walks`` holds the state of each boosted class; ``coded`` gives the class labels.
    """
    reasons = [str(walk.ended) for walk in walks]
    if not reasons:
        return "at once, for the rows have one class"
    if len(set(reasons)) == 1:
        return reasons[0]
    labels = np.asarray(coded.classes).tolist()
    return "; ".join(f"class {labels[walk.target]!r} {reason}" for walk, reason in zip(walks, reasons, strict=True))


def _counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
