"""Selection of features by rankings and searches on one half of the training rows, and of their number on the other
half.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from bayesieve import CodedTable, DiscreteNB
from bayesieve.counts import ContingencyCounts, Smoothing
from bayesieve.counts.information import class_information
from bayesieve.criteria import make_criterion
from bayesieve.search import GreedySearch, Objective, ScoredRows, SearchState, SearchTrace, SubsetProblem
from bayesieve.search.trace import Point
from bayesieve.selection.filters import nested_values, rank, rank_by_mrmr

_TIE = 1e-12


def by_information(fit: CodedTable) -> np.ndarray:
    """Return the positions of the features, (n_features,), by their mutual information with the class, largest first.

    ``fit`` are the coded rows to measure it on.
    """
    return rank(class_information(fit.counts))


def by_mrmr(fit: CodedTable) -> np.ndarray:
    """Return the positions of the features, (n_features,), in the order of mRMR (minimal redundancy, maximal
    relevance).

    ``fit`` are the coded rows to measure these on.
    """
    return rank_by_mrmr(fit)[0]


FILTERS = {"MI filter": by_information, "mRMR filter": by_mrmr}


SECOND_HALF = ", second half"


@dataclass(frozen=True)
class Method:
    """Method of selecting indicators, and its row in table 1 of the paper.

    Attributes
    ----------
    name, guide : name of the method, and the error that guides it, in words.
    paper_features, paper_error : the paper's number of indicators, and test error; None if there are none.
    direction, criterion : direction and criterion of a search; see `SubsetChoice`.
    second_half : whether the search is guided by the rows that also determine the size.
    leading : largest number of features of a ranking.
    """

    name: str
    guide: str
    paper_features: int | None = None
    paper_error: float | None = None
    direction: str | None = None
    criterion: str = "error"
    second_half: bool = False
    leading: int | None = None

    @property
    def key(self) -> str:
        """Name of the method in the results."""
        name = f"{self.name}, {self.guide}" if self.guide else self.name
        return f"{name}{SECOND_HALF}" if self.second_half else name


@dataclass(frozen=True)
class Halves:
    """The training rows in two halves.

    Attributes
    ----------
    fit : coded rows of the first half.
    counts : counts of levels by class in these rows, from which probabilities are computed.
    smoothing : smoothing of the probabilities.
    guide : rows of the first half, scored by these probabilities, which guide rankings and searches.
    validation : scored rows of the other half.
    """

    fit: CodedTable
    counts: ContingencyCounts
    smoothing: Smoothing
    guide: ScoredRows
    validation: ScoredRows

    def scored(self, rows: CodedTable) -> ScoredRows:
        """Return other coded rows, with their classes, scored by the probabilities of the first half."""
        return ScoredRows.training(rows, self.counts, self.smoothing)

    def problem(self, rows: ScoredRows | None, criterion: str = "error", *, second_half: bool = False) -> SubsetProblem:
        """Return the problem of searching a subset of low ``criterion`` on the first half; on the second if
        ``second_half``.

        The error is also measured on ``rows``, unless they are None.
        """

        def new_criterion(name: str) -> Any:
            """Return the criterion of this name."""
            return make_criterion(name, self.fit.n_features, self.fit.classes)

        validation = None if rows is None else Objective(new_criterion("error"), rows)
        guide = self.validation if second_half else self.guide
        return SubsetProblem.on(Objective(new_criterion(criterion), guide), self.fit, validation=validation)

    def error(self, selected: np.ndarray, rows: ScoredRows) -> float:
        """Return the share of ``rows`` that naive Bayes on the indicators in the mask ``selected``, (n_features,),
        misclassifies.
        """
        state = SearchState(self.problem(rows))
        state.reset(selected)
        return state.validate()[0]


def halve(train: CodedTable, smoothing: Smoothing) -> Halves:
    """Divide coded rows into halves, the first and the second half of every class, and count levels in the first.

    The rows ``train`` should be in random order; ``smoothing`` is that of the probabilities.
    """
    classes = np.asarray(train.class_codes)
    first = np.zeros(train.n_rows, dtype=bool)
    for code in range(train.n_classes):
        rows = np.flatnonzero(classes == code)
        first[rows[: (rows.size + 1) // 2]] = True
    fit = train.take(first)
    counts = fit.counts
    guide, validation = (ScoredRows.training(part, counts, smoothing) for part in (fit, train.take(~first)))
    return Halves(fit, counts, smoothing, guide, validation)


class SubsetChoice(ClassifierMixin, BaseEstimator):
    """Naive Bayes on coded features that are selected by means of two halves of the training rows.

    Probabilities are fitted to the first half of the rows of every class; the search is guided by this half, too. The
    subset of lowest error on the other half is selected, the smallest of equal ones. Rows should be in random order.

    Parameters
    ----------
    encoder : encoder with ``fit_transform_coded`` and ``transform_coded``
    direction : direction of a `GreedySearch`; None for no search.
    criterion : criterion of the search.
    ranking : "MI filter" or "mRMR filter", to select its leading features; None for a search, or for all features.
    smoothing : smoothing of the probabilities.
    second_half : whether the second half guides the search, too.
    leading : largest number of leading features of the ranking that may be selected; None for all.

    Attributes
    ----------
    n_features_selected_ : number of selected features.
    trace_ : trace of the search, unless ``direction`` is None.
    choice_seconds_ : seconds of the selection alone.
    """

    def __init__(
        self,
        encoder: Any,
        *,
        direction: str | None = None,
        criterion: str = "error",
        ranking: str | None = None,
        smoothing: Smoothing = 1.0,
        second_half: bool = False,
        leading: int | None = None,
    ) -> None:
        self.encoder = encoder
        self.direction = direction
        self.criterion = criterion
        self.ranking = ranking
        self.smoothing = smoothing
        self.second_half = second_half
        self.leading = leading

    def new_encoder(self) -> Any:
        """Return an unfitted clone of the encoder."""
        return clone(self.encoder)

    def fit(self, X: Any, y: Any) -> SubsetChoice:
        """Code the rows of a raw table with class labels ``y`` (n_rows,), select features, and fit naive Bayes."""
        encoder = self.new_encoder()
        return self.fit_coded(encoder.fit_transform_coded(X, y), encoder)

    def fit_coded(self, coded: CodedTable, encoder: Any) -> SubsetChoice:
        """Select features of the rows ``coded`` by the fitted ``encoder``, and fit naive Bayes to them."""
        self.encoder_ = encoder
        self._halves = halve(coded, self.smoothing)
        began = time.perf_counter()
        selected = self._choose(self._halves)
        self.choice_seconds_ = round(time.perf_counter() - began, 3)
        self.n_features_selected_ = int(selected.sum())
        self._selected = selected
        self._model = DiscreteNB(smoothing=self.smoothing, feature_weights=selected.astype(float))
        with warnings.catch_warnings():  # a half of few rows lacks levels, and the formula is the paper's
            warnings.filterwarnings("ignore", message="Codes? .* no training rows")
            self._model.fit(self._halves.fit)
        self.classes_ = self._model.classes_
        return self

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return log probabilities (n_rows, n_classes) of the classes, for raw or coded rows."""
        return self._model.predict_log_proba(X if isinstance(X, CodedTable) else self.encoder_.transform_coded(X))

    def fold_figures(self, rows: CodedTable, codes: np.ndarray) -> dict[str, float | None]:
        """Return measures of the selection; ``rows`` are coded test rows, ``codes`` (n_rows,) their classes.

        Returns
        -------
        dict of ``validation_error`` of the chosen subset, ``lowest_test_error`` of all subsets on the path,
        ``tied_steps``, the share of the steps of forward or backward search, up to the chosen subset, at which
        several features were equally good and the column order decided (else None), and ``choice_seconds``.
        """
        halves = self._halves
        dtype = np.uint8 if len(self.classes_) <= 256 else np.uint32
        test = halves.scored(rows.with_rows(class_codes=codes.astype(dtype), classes=self.classes_))
        ties = None
        if self.direction:
            lowest = _lowest_on_walks(self.trace_, halves, test)
            if self.direction in ("forward", "backward"):
                problem = self._problem(halves)
                ties = _tied_steps(self.trace_, problem, self.n_features_selected_)
        elif self.ranking:
            lowest = min(_path(halves, test, self._order(halves)))
        else:
            lowest = halves.error(self._selected, test)
        return {
            "validation_error": round(halves.error(self._selected, halves.validation), 10),
            "lowest_test_error": round(lowest, 10),
            "tied_steps": ties,
            "choice_seconds": self.choice_seconds_,
        }

    def _choose(self, halves: Halves) -> np.ndarray:
        """Return a mask (n_features,) of the selected features.

        ``halves`` are the training rows, one half to learn from and one to validate.
        """
        if self.direction:
            problem = self._problem(halves)
            search = GreedySearch(direction=self.direction, n_jobs=1)
            self.trace_ = search.run(problem)
            return np.asarray(self.trace_.chosen)
        if self.ranking:
            return best_of_path(halves, self._order(halves))
        return np.ones(halves.fit.n_features, dtype=bool)

    def _problem(self, halves: Halves) -> SubsetProblem:
        """Return the search problem on the halves of the training rows.

        It is guided by the criterion on the first half, or on the second if ``second_half`` was set; the size of the
        subset is determined by the error on the second half.
        """
        return halves.problem(halves.validation, self.criterion, second_half=self.second_half)

    def _order(self, halves: Halves) -> np.ndarray:
        """Return the positions of the ranked features that may be selected, the best first.

        ``halves`` are the training rows, one half to learn from and one to validate.
        """
        return FILTERS[str(self.ranking)](halves.fit)[: self.leading]


def best_of_path(halves: Halves, order: np.ndarray) -> np.ndarray:
    """Return a mask (n_features,) of the set of leading features with the lowest error on the second half of the rows.

    Of equally good sets, it is the smallest. ``order`` are positions of features, the best first.
    """
    errors = _path(halves, halves.validation, order)
    best = Point(errors[0], 0)
    for size, error in enumerate(errors):
        point = Point(error, size)
        best = point if point.beats(best) else best
    selected = np.zeros(halves.fit.n_features, dtype=bool)
    selected[order[: best.size]] = True
    return selected


def best_on_walks(trace: SearchTrace, halves: Halves) -> np.ndarray:
    """Return a mask (n_features,) of the subset on the path of a search with the lowest error on the second half of the
    rows.

    Of equally good subsets, it is the smallest. ``trace`` is the record of the search.
    """
    state = SearchState(halves.problem(halves.validation))
    best: Point | None = None
    selected = state.selected.copy()
    for at in _replayed(trace, state):
        point = Point(at.validate()[0], at.n_selected)
        if best is None or point.beats(best):
            best, selected = point, at.selected.copy()
    return selected


def _path(halves: Halves, rows: ScoredRows, order: np.ndarray) -> list[float]:
    """Return the errors on ``rows`` of naive Bayes with the first 0, 1, 2, ... of the features at positions ``order``.

    ``halves`` are the training rows, by which the rows were scored.
    """
    criterion = make_criterion("error", halves.fit.n_features, halves.fit.classes)
    errors: list[float] = nested_values(Objective(criterion, rows), order).tolist()
    return errors


def _lowest_on_walks(trace: SearchTrace, halves: Halves, test: ScoredRows) -> float:
    """Return the lowest error on the scored rows ``test`` of all subsets on the path of a search.

    ``trace`` is the record of the search, ``halves`` are the training rows.
    """
    state = SearchState(halves.problem(test))
    return min(at.validate()[0] for at in _replayed(trace, state))


def _tied_steps(trace: SearchTrace, problem: SubsetProblem, size: int) -> float | None:
    """Return the share of steps of a search in which several moves were equally good; None without steps.

    ``trace`` is the record of a search of ``problem``. The steps are those of its first walk, up to a subset of
    ``size`` features.
    """
    tied: list[bool] = []
    adding = bool(trace.walk_moves(0).adding[0])
    steps = abs(size - trace.starts[0].features.size)
    for state in _replayed(trace, SearchState(problem, leave_out=True), steps):
        if len(tied) < steps:
            features = problem.candidates[state.selected[problem.candidates] != adding]
            costs = state.candidates(features)
            tied.append(int(np.count_nonzero(costs <= costs.min() + _TIE)) > 1)
    return round(float(np.mean(tied)), 6) if tied else None


def _replayed(trace: SearchTrace, state: SearchState, steps: int | None = None) -> Iterator[SearchState]:
    """Replay the search that ``trace`` records on ``state``, and yield the state at each subset on the path.

    With ``steps``, only this number of steps of the first walk are replayed.
    """
    for walk in range(trace.n_starts if steps is None else 1):
        start = np.zeros(state.selected.size, dtype=bool)
        start[trace.starts[walk].features] = True
        state.reset(start)
        yield state
        moves = trace.walk_moves(walk)
        for feature, cost in list(zip(moves.feature.tolist(), moves.cost.tolist(), strict=True))[:steps]:
            state.flip(feature, cost)
            yield state
