"""Criteria of class probabilities: squared errors, user-defined losses, and the scorers of scikit-learn."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from bayesieve.criteria.base import SURE, Criterion, RatioMoves, RatioScan, RowRatios, Saturation
from bayesieve.criteria.scored_rows import TWO_WAY, ClassBlock, RatioTables

_ROWS_AT_ONCE = 1 << 13  # rows whose probabilities stay in the cache


class Brier(Criterion):
    """Brier score: mean over rows of sum_c (T_ic - P_S(c | x_i))^2, halved for two classes; lower is better.

    T_ic is 1 for the class of row i, otherwise 0. The score equals `sklearn.metrics.brier_score_loss`. It is at most 1
    for two classes, and at most 2 for more. Gidofalvi & Zadrozny do not halve it for two classes.

    References
    ----------
    Gidofalvi & Zadrozny, Feature selection for class probability estimation, section 3.1; Brier (1950).
    """

    name = "brier"
    title = "Brier score"

    def saturation(self, n_classes: int) -> Saturation:
        """Return the condition under which no single added or dropped feature can change a row's squared errors."""
        # With more than two classes, the squared error of a wrong row depends on how the probability is divided among
        # the others.
        return Saturation(right=SURE, wrong=SURE if n_classes == 2 else np.inf)

    def sums(self, rows: RowRatios, moves: RatioMoves) -> np.ndarray:
        """Return the sum of squared errors over the rows for each candidate subset of features, (n_candidates, 1),
        halved for two classes.

        ``rows`` holds the rows with their probabilities under the current subset, ``moves`` the candidate subsets, from
        ``rows.moves()``.
        """
        from bayesieve.criteria._kernels import squared_error_sums

        scan = rows.scan()
        squares = scan.add(squared_error_sums, moves, np.zeros(moves.columns.size), scan.block.weights)
        n_wrong = 2.0 * scan.wrong.sum()
        return (0.5 if len(scan.ratios) == 1 else 1.0) * (squares + n_wrong)[:, None]


class ErrorProbability(Criterion):
    """Mean probability of the wrong classes, (1/N) sum_i [1 - P_S(y_i | x_i)]; lower is better.

    It is smoother than the error rate, which is equal for many features, because each of them changes few predictions.

    References
    ----------
    Rabenoro, Lacaille, Cottrell & Rossi (2015), Search strategies for binary feature selection for a naive Bayes
    classifier, section 4.2.
    """

    name = "error_probability"

    def saturation(self, n_classes: int) -> Saturation:
        """Return the condition under which no single added or dropped feature can change P(true class) of a row."""
        return Saturation(right=SURE, wrong=SURE)

    def sums(self, rows: RowRatios, moves: RatioMoves) -> np.ndarray:
        """Return the sum over rows of 1 - P(true class) for each candidate subset of features, (n_candidates, 1).

        ``rows`` holds the rows with their probabilities under the current subset, ``moves`` the candidate subsets, from
        ``rows.moves()``.
        """
        from bayesieve.criteria._kernels import probability_sums

        scan, kinds = rows.scan(), moves.kinds
        block = scan.block
        right = np.zeros(kinds.size)
        fused = (kinds == TWO_WAY) & _supports_two_way(scan)
        if fused.any():
            right[fused] = _two_way_right(scan, _selected_moves(moves, fused))
        if not fused.all():
            several = _selected_moves(moves, ~fused) if fused.any() else moves
            right[~fused] = scan.add(probability_sums, several, np.zeros(several.columns.size), block.weights)
        first, end = block.offsets[[0, -1]]
        scanned = block.weights[first:end].sum() if block.weights.size else end - first
        return (scanned - right + scan.wrong.sum())[:, None]


def _selected_moves(moves: RatioMoves, chosen: np.ndarray) -> RatioMoves:
    """Return the candidates marked in the mask ``chosen`` (n_candidates,)."""
    return moves._replace(**{name: getattr(moves, name)[chosen] for name in moves._fields if name != "table"})


def _supports_two_way(scan: RatioScan) -> bool:
    """Return whether the fast kernel for features of two levels supports the rows of ``scan``: enough rows, without
    weights, and at most three other classes.
    """
    from bayesieve.criteria._kernels import BLOCK, FEWEST

    filled_up = min(BLOCK, -(-int(np.diff(scan.block.offsets).max()) // FEWEST) * FEWEST)
    return not scan.block.weights.size and len(scan.ratios) in (1, 2, 3) and scan.block.n_rows >= filled_up


def _two_way_right(scan: RatioScan, moves: RatioMoves) -> np.ndarray:
    """Return the sums of P(true class) over the rows, shape (n_candidates,), for candidates that add or drop a feature
    of two levels.

    ``scan`` holds the rows, ``moves`` the candidates.
    """
    from bayesieve.criteria._kernels import BLOCK, FEWEST, two_way_sums

    sums, near = np.zeros(moves.columns.size), np.empty((len(scan.ratios), BLOCK))
    for bounds in scan.blocks(moves):
        two_way_sums(
            tuple(scan.ratios),
            tuple(near),
            scan.block.codes,
            bounds,
            moves.columns,
            moves.lows,
            moves.starts,
            moves.n_codes,
            moves.table,
            sums,
        )
    padding = (-np.diff(scan.block.offsets) % FEWEST).sum()
    return sums - padding


class SubsetCriterion(Criterion):
    """Base class of criteria that are computed by NumPy from class probabilities, one subset after the other."""

    def start(
        self, block: ClassBlock, tables: RatioTables, prior_ratios: np.ndarray, *, leave_out: bool = False
    ) -> SubsetRows:
        """Return the rows with their class probabilities under the empty subset of features.

        ``block`` holds the rows, ``tables`` the factors of the levels, and ``prior_ratios`` the ratios P(other class) /
        P(true class) without features; with ``leave_out``, passes skip rows that no single added or dropped feature can
        change.
        """
        saturation = self.saturation(tables.n_classes) if leave_out else None
        return SubsetRows(block, tables, prior_ratios, exact=self.exact, saturation=saturation)

    def sums(self, rows: SubsetRows, moves: list[tuple[int, bool]]) -> np.ndarray:
        """Return the sum of the criterion over the rows for each candidate subset of features, (n_candidates, 1).

        ``rows`` holds the rows with their probabilities under the current subset. ``moves`` has a pair for each
        candidate: the position of a feature (-1 for none), and whether it is added, not dropped.
        """
        sums = np.zeros((len(moves), 1))
        for number, (feature, add) in enumerate(moves):
            logs = None if feature < 0 else rows.tables.log_factors(feature)
            factors = None if logs is None else np.exp(logs if add else -logs)
            sums[number] = self.of_subset(rows, feature, factors)
        return sums

    @abstractmethod
    def of_subset(self, rows: RowRatios, feature: int, factors: np.ndarray | None) -> float:
        """Return the sum of the criterion over the rows, for the current subset of features or for a candidate (the
        current subset with one feature added or dropped).

        Parameters
        ----------
        rows : state of the rows under the current subset.
        feature : position of the feature that the candidate adds or drops; -1 for the current subset.
        factors : (n_segments, n_classes - 1, n_codes) factors by which its levels multiply the ratios P(other class) /
            P(true class); None for the current subset.
        """


class SubsetRows(RowRatios):
    """State of a block of rows for criteria computed by NumPy.

    A candidate is a pair: the position of a feature, and whether it is added, not dropped.
    """

    def moves(self, features: np.ndarray, adding: np.ndarray) -> list[tuple[int, bool]]:  # type: ignore[override]
        """Return candidates, the current subset with one feature added or dropped, as pairs of a feature and whether it
        is added.

        ``features`` (n_candidates,) are positions of features; ``adding`` (n_candidates,) is a mask of those that are
        added.
        """
        return list(zip(features.tolist(), adding.tolist(), strict=True))

    def no_move(self) -> list[tuple[int, bool]]:  # type: ignore[override]
        """Return the current subset as the only candidate: no feature (-1) is added."""
        return [(-1, True)]


def probabilities(rows: RowRatios, feature: int, factors: np.ndarray | None) -> Iterator[tuple[slice, int, np.ndarray]]:
    """Yield a slice of rows of one class, the position of the class, and the rows' class probabilities (n_classes,
    n_rows of the slice), until all rows are covered.

    Parameters
    ----------
    rows : state of the rows under the current subset.
    feature : position of the feature that a candidate adds or drops; -1 for the current subset.
    factors : (n_segments, n_classes - 1, n_codes) factors by which its levels multiply the ratios P(other class) /
        P(true class); None for the current subset.
    """
    scan = rows.scan()
    block = scan.block
    for segment, true_class in enumerate(block.classes.tolist()):
        for begin in range(block.offsets[segment], block.offsets[segment + 1], _ROWS_AT_ONCE):
            piece = slice(begin, min(begin + _ROWS_AT_ONCE, block.offsets[segment + 1]))
            others = scan.ratios[:, piece]
            if factors is not None:
                others = others * factors[segment][:, block.level_codes(feature, piece)]
            joint = np.insert(others, true_class, 1.0, axis=0)
            yield piece, true_class, joint / joint.sum(axis=0)


class RowLoss(SubsetCriterion):
    """Base class of user-defined criteria: the mean over rows of a loss.

    A subclass sets ``name`` and implements ``losses``; it sets ``lower_is_better = False`` if ``losses`` returns gains.
    It runs in NumPy, about ten times slower than built-in criteria, and supports the same options: all directions, all
    kinds of evaluation, and row weights.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve.criteria import RowLoss
    >>> class Spherical(RowLoss):
    ...     name = "spherical"
    ...     lower_is_better = False
    ...
    ...     def losses(self, probability, true_class):
    ...         return probability[true_class] / np.sqrt((probability**2).sum(axis=0))
    """

    name = "row_loss"

    @abstractmethod
    def losses(self, probability: np.ndarray, true_class: int) -> np.ndarray:
        """Return the loss of each row, shape (n_rows,), for rows of the class at position ``true_class``.

        ``probability`` (n_classes, n_rows) are the predicted class probabilities.
        """

    def of_subset(self, rows: RowRatios, feature: int, factors: np.ndarray | None) -> float:
        """Return the sum of the losses of all rows, for the current subset of features or for a candidate.

        A candidate adds or drops the feature at the position ``feature``, whose levels multiply the ratios P(other
        class) / P(true class) by ``factors`` (n_segments, n_classes - 1, n_codes); None for the current subset.
        """
        block, total = rows.scan().block, 0.0
        for piece, true_class, probability in probabilities(rows, feature, factors):
            loss = self._checked(probability, true_class)
            total += float((loss * block.weights[piece] if block.weights.size else loss).sum())
            block.engine.release(loss.size * (8 * (len(probability) - 1) + block.codes.itemsize))
        return total

    def _checked(self, probability: np.ndarray, true_class: int) -> np.ndarray:
        """Return the losses of rows of the class at position ``true_class``, (n_rows,), as computed by `losses`.

        ``probability`` (n_classes, n_rows) are class probabilities. Raise ValueError if losses hold NaN or have another
        shape.
        """
        loss = np.asarray(self.losses(probability, true_class), dtype=float)
        if loss.shape != probability.shape[1:] or np.isnan(loss).any():
            raise ValueError(
                f"The criterion {self.name!r} must return one number (not NaN) for each of the {probability.shape[1]} "
                f"rows it is given, got shape {loss.shape}{' with NaN' if np.isnan(loss).any() else ''}."
            )
        return loss


class Scorer(SubsetCriterion):
    """Criterion that applies a scorer of scikit-learn to the class probabilities of all rows; higher is better.

    The scorer is called once per subset, which is much slower than other criteria.

    Parameters
    ----------
    scoring : str or callable
        A name of `sklearn.metrics.get_scorer_names`, such as ``"f1_macro"``, or a function of ``(estimator, X, y)``,
        such as the result of `sklearn.metrics.make_scorer`; it also receives ``sample_weight`` if rows have weights.
    """

    name = "scorer"
    lower_is_better = False
    additive = False
    needs_options = True

    def __init__(self, scoring: str | Callable[..., float]) -> None:
        self.scoring = scoring
        self.name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", type(scoring).__name__)

    def check(self, classes: Any) -> None:
        """Store the class labels, (n_classes,) in sorted order, and look up the scorer; raise ValueError for an unknown
        name.
        """
        from sklearn.metrics import get_scorer

        self._classes = np.asarray(classes)
        self._scorer = get_scorer(self.scoring)

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        """Return the score of each candidate subset of features, (n_candidates,), which is the only column of ``sums``;
        the other arguments are not used.
        """
        return sums[:, 0]

    def of_subset(self, rows: RowRatios, feature: int, factors: np.ndarray | None) -> float:
        """Return the score of all rows, for the current subset of features or for a candidate.

        A candidate adds or drops the feature at the position ``feature``, whose levels multiply the ratios P(other
        class) / P(true class) by ``factors`` (n_segments, n_classes - 1, n_codes); None for the current subset.
        """
        block = rows.scan().block
        probability = np.empty((block.n_rows, rows.tables.n_classes))
        for piece, _, of_piece in probabilities(rows, feature, factors):
            probability[piece] = of_piece.T
        labels = self._classes[np.repeat(block.classes, np.diff(block.offsets))]
        weights = {"sample_weight": block.weights} if block.weights.size else {}
        fitted, rows_ = _GivenProbabilities(self._classes, probability), np.arange(block.n_rows)[:, None]
        return float(self._scorer(fitted, rows_, labels, **weights))

    def __repr__(self) -> str:
        return f"Scorer({self.scoring!r})"


class _GivenProbabilities(ClassifierMixin, BaseEstimator):
    """Classifier that returns given probabilities, for scorers of scikit-learn, which must pass all rows in order.

    Parameters
    ----------
    classes : (n_classes,) labels.
    probability : (n_rows, n_classes) class probabilities.
    """

    def __init__(self, classes: np.ndarray, probability: np.ndarray) -> None:
        self.classes = self.classes_ = classes
        self.probability = probability

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the given class probabilities of all rows, (n_rows, n_classes); ``X`` is not used."""
        return self.probability

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the most probable label of each row, (n_rows,); ``X`` is not used."""
        return np.asarray(self.classes_[self.probability.argmax(axis=1)])
