"""The base of all criteria, and those of the class probabilities: their logarithms, squares and errors, losses of
your own, and the scorers of scikit-learn.

A criterion is a figure of a subset of features, computed for all candidate moves in one pass over the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln
from sklearn.base import BaseEstimator, ClassifierMixin

from bayesieve.criteria.row_ratios import (
    IMPOSSIBLE,
    MANY_MOVES,
    SURE,
    TWO_WAY,
    ClassBlock,
    RatioScan,
    RatioTables,
    RowRatios,
    Saturation,
)

_MAX_MULTIPLIED = 80.0  # nats: larger factors do not multiply safely
_ROWS_AT_ONCE = 1 << 13  # the probabilities of a piece of rows stay in the cache


class Criterion(ABC):
    """Measure of a subset of features on some rows.

    A criterion is evaluated for many candidates at once: each candidate is the current subset with one feature added or
    dropped. ``start`` makes the state of the rows, whose ``moves(features, adding)`` describe candidates and whose
    ``no_move()`` is the current subset. ``sums`` passes once over the rows, and ``values`` turns sums into the figures.
    Write a `RowLoss` instead if plain NumPy over the class probabilities is fast enough.

    Attributes
    ----------
    name : str
        In traces, saved models and options of selectors.
    title, unit : str
        The criterion in words, for the middle of a sentence, and what it is measured in, for reports; a criterion that
        has its own name and no title is called by its name.
    lower_is_better : bool
    best : float or None
        The value that no subset exceeds, if there is one.
    additive : bool
        Whether sums of several blocks of rows may be added; False: the criterion needs all rows at once.
    exact : bool
        Whether a row that is wrong beyond 1e-17 still has to say how wrong it is, as the log loss asks.
    needs_options : bool
        Whether a selector cannot take it by its name.
    row_columns : tuple of str
        Further columns of `Rows` that it reads, such as ``"benefit"``.
    """

    name: str = ""
    title: ClassVar[str] = ""
    unit: ClassVar[str] = ""
    lower_is_better: bool = True
    best: ClassVar[float | None] = None
    additive: ClassVar[bool] = True
    exact: ClassVar[bool] = False
    needs_options: ClassVar[bool] = False
    row_columns: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def by_default(cls, n_features: int) -> Criterion:
        """Return the criterion that a name stands for, on a table with this many features."""
        return cls()

    def saturation(self, n_classes: int) -> Saturation | None:
        """Return when a row may leave the scan because no single move can change its contribution; None for never."""
        return None

    def check(self, classes: Any) -> None:  # noqa: B027  # most criteria take any classes
        """Raise ValueError if the criterion cannot be taken for these class labels."""

    def start(self, block: ClassBlock, tables: RatioTables, priors: np.ndarray, *, leave_out: bool = False) -> Any:
        """Return the state of a block of rows under the empty subset; ``leave_out``: rows may leave the scan."""
        saturation = self.saturation(tables.n_classes) if leave_out else None
        return RowRatios(block, tables, priors, exact=self.exact, saturation=saturation)

    @abstractmethod
    def sums(self, rows: Any, moves: Any) -> np.ndarray:
        """Return the sums of the rows by move, (n_moves, n_sums); ``moves`` are those of the state of the rows."""

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        """Return the criterion of each candidate, (n_candidates,), from the sums over all rows, the sizes of the
        subsets, and the rows (or weight) of each class. By default it is the mean over rows of the only sum.
        """
        return sums[:, 0] / class_totals.sum()


class LogLoss(Criterion):
    """(1/N) sum_i -log P_S(y_i | x_i), in nats per row."""

    name = "log_loss"
    unit = "nats per row"
    exact = True

    def saturation(self, n_classes: int) -> Saturation:
        return Saturation(right=SURE)

    def start(self, block: ClassBlock, tables: RatioTables, priors: np.ndarray, *, leave_out: bool = False) -> Any:
        # Many classes are scored faster by one table per class, which is exact unless a class is next to impossible.
        is_safe = tables.largest_log_factor <= _MAX_MULTIPLIED and not np.any(priors > IMPOSSIBLE * 1e-20)
        if not leave_out and tables.by_class is not None and is_safe:
            return RowJoints(block, tables, priors)
        return super().start(block, tables, priors, leave_out=leave_out)

    def path_sums(self, rows: RowRatios | RowJoints, features: np.ndarray) -> np.ndarray:
        """Return (n_features, 1) sums of the subsets that grow by one feature after another; the rows follow."""
        if isinstance(rows, RowRatios) and rows.block.is_whole:
            return rows.path(features, rows.tables.largest_log_factor > _MAX_MULTIPLIED)
        sums = np.zeros((features.size, 1))
        for at, feature in enumerate(features.tolist()):
            sums[at] = self.sums(rows, rows.moves(features[at : at + 1], np.array([True])))
            rows.multiply([feature], [True])
        rows.forget()  # as after a path
        return sums

    def sums(self, rows: RowRatios | RowJoints, moves: tuple[Any, ...]) -> np.ndarray:
        from bayesieve.criteria._kernels import LANES, log_loss_sums

        if isinstance(rows, RowJoints):
            return rows.sums(moves)
        scan = rows.scan()
        block, losses = scan.block, np.zeros(moves[0].size)
        by_row = rows.tables.largest_log_factor > _MAX_MULTIPLIED
        products = np.empty((losses.size, 2, LANES))
        for number, bounds in enumerate(scan.blocks(moves)):
            is_last = bool(bounds[-1] == block.offsets[-1])
            of_rows = scan.ratios, scan.base, block.codes, bounds, block.weights
            log_loss_sums(*of_rows, *moves, by_row, products, number == 0, is_last, losses)
        return (losses + scan.log_scale)[:, None]


class MAPCost(LogLoss):
    """cost(M) = log(K + 1) + log C(K + K_m - 1, K_m) - sum_n log P_M(y_n | x_n), in nats; lower is better.

    K is the number of features of the table, informative or not; K_m the number selected. Selectors leave constant
    columns out of K unless ``constant_columns=True``.
    Additive over rows but for the prior.

    References
    ----------
    Boulle (2007), Compression-based averaging of selective naive Bayes classifiers, JMLR 8, equation 4.
    """

    name = "map"
    title = "MAP cost"
    unit = "nats"

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        selected = np.arange(1, n_features + 1)
        self._prior = np.full(n_features + 1, np.log(n_features + 1))
        # log C(K + m - 1, m); an empty subset leaves nothing to choose.
        self._prior[1:] += gammaln(n_features + selected) - gammaln(selected + 1.0) - gammaln(max(n_features, 1))

    @classmethod
    def by_default(cls, n_features: int) -> MAPCost:
        return cls(n_features)

    def prior(self, n_selected: np.ndarray | int) -> np.ndarray | float:
        """Return the cost in nats of announcing a subset of this size."""
        return self._prior[n_selected]

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        return sums[:, 0] + self._prior[n_selected]


class RowJoints:
    """State of one block of rows under the current subset of features, as `RowRatios`, for log losses of many classes.

    A row takes as many operations as there are classes, all next to each other, and the tables of a feature one number
    for each level and class; those of `RowRatios` have one for each two classes.
    """

    def __init__(self, block: ClassBlock, tables: RatioTables, priors: np.ndarray) -> None:
        assert tables.by_class is not None
        self.block, self.tables, self._logs = block, tables, tables.by_class
        n_classes = self._logs.shape[1]
        self._starts = np.concatenate([[0], np.cumsum(block.n_codes)]).astype(np.int64)
        factors = np.exp(self._logs)
        # Factors of features added, of features dropped, and of no move.
        self._factors = np.concatenate([factors, 1.0 / factors, np.ones((2, n_classes))])
        self._max_moves = tables.max_moves
        self._joint = block.engine.array((block.n_rows, n_classes), np.float64)
        self._own = np.zeros(block.n_features)
        self._sum_own()
        self.reset(priors)

    def reset(self, priors: np.ndarray) -> None:
        """Return to the empty subset, where ``priors`` (n_segments, n_classes - 1) are the ratios to the true class."""
        with np.errstate(divide="ignore"):
            logs = np.log(priors)
        true_classes = self.block.classes
        self._priors = np.zeros((true_classes.size, priors.shape[1] + 1))
        others = np.arange(priors.shape[1]) + (np.arange(priors.shape[1]) >= true_classes[:, None])
        np.put_along_axis(self._priors, others, logs, axis=1)
        self._selected = np.zeros(self.block.n_features, dtype=bool)
        self.forget()

    def forget(self) -> None:
        """Discard the probabilities; they are computed from the logarithms when needed."""
        self._left = 0

    def multiply(self, features: Sequence[int], adding: Sequence[bool]) -> None:
        """Add features to the subset, or drop them."""
        from bayesieve.criteria._kernels import multiply_joint

        self._selected[list(features)] = adding
        if len(features) >= MANY_MOVES:
            self.forget()
        for feature, add in zip(features, adding, strict=True):
            if self._left == 0:
                return
            self._left -= 1
            *move, true_sums = self.moves(np.array([feature]), np.array([add]))
            place = [values[0] for values in move]
            rows = self._joint, self.block.codes
            for bounds in self._blocks(1):
                multiply_joint(*rows, bounds, self.block.weights, *place, self._factors, self._lead)
            self._lead[0] -= true_sums[0]

    def walk(self, subsets: np.ndarray) -> Iterator[None]:
        """Go to each of some subsets (n_subsets, n_features) in turn."""
        for self._selected in subsets.astype(bool):
            self.forget()
            yield

    def scan(self) -> RowJoints:
        """Scan the moves with probabilities of the current subset."""
        if self._left == 0:
            self._start()
        return self

    def sums(self, moves: tuple[np.ndarray, ...]) -> np.ndarray:
        """Return (n_moves, 1) sums of log losses."""
        from bayesieve.criteria._kernels import joint_sums

        self.scan()
        *places, true_sums = moves
        sums = np.zeros(true_sums.size)
        for bounds in self._blocks(sums.size):
            joint_sums(self._joint, self.block.codes, bounds, self.block.weights, *places, self._factors, sums)
        return (sums + self._lead - true_sums)[:, None]

    def moves(self, features: np.ndarray, adding: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the kernel arguments of each move, and its sum over the true classes of all rows."""
        *places, starts = self._added(features)
        true_sums = np.where(adding, 1.0, -1.0) * self._own[features]
        return *places, starts + np.where(adding, 0, self._starts[-1]), true_sums

    def no_move(self) -> tuple[np.ndarray, ...]:
        """Return the kernel arguments of the move that changes nothing."""
        highest = np.iinfo(self.block.codes.dtype).max
        nothing = np.full(1, highest, dtype=self.block.codes.dtype)
        last = np.array([len(self._factors) - 2])  # for level 0, and 1 of the highest code
        return np.zeros(1, dtype=np.int64), nothing, nothing, np.zeros(1, dtype=np.uint8), last, np.zeros(1)

    def _start(self) -> None:
        """Compute the probabilities from the logarithms."""
        from bayesieve.criteria._kernels import start_joint

        block, features = self.block, np.flatnonzero(self._selected)
        places = self._added(features)
        self._lead, self._left = np.zeros(1), self._max_moves
        for bounds in self._blocks(features.size):
            start_joint(
                *(self._joint, block.codes, bounds, block.weights, block.classes),
                *(*places, self._priors, self._logs, self._lead),
            )

    def _sum_own(self) -> None:
        from bayesieve.criteria._kernels import sum_own

        block, every = self.block, np.arange(self.block.n_features)
        for bounds in block.blocks(block.codes.itemsize * every.size):
            sum_own(block.codes, bounds, block.weights, block.classes, *self._added(every), self._logs, self._own)

    def _added(self, features: np.ndarray) -> tuple[np.ndarray, ...]:
        block = self.block
        places = block.columns[features], block.lows[features], block.highs[features], block.kinds[features]
        return *places, self._starts[features]

    def _blocks(self, n_features: int) -> Iterable[np.ndarray]:
        return self.block.blocks(8 * self._joint.shape[1] + n_features * self.block.codes.itemsize)


class Brier(Criterion):
    """(1/N) sum_i sum_c (T_ic - P_S(c | x_i))^2, T_ic = 1 for the class of row i, else 0; half of it for two classes.

    So it is `sklearn.metrics.brier_score_loss`, and lies between 0 and 1, or 2 for more than two classes. The paper
    sums over both of two classes.

    References
    ----------
    Gidofalvi & Zadrozny, Feature selection for class probability estimation, section 3.1; Brier (1950).
    """

    name = "brier"
    title = "Brier score"

    def saturation(self, n_classes: int) -> Saturation:
        # With several other classes, the error of a wrong row depends on how probability is spread over them.
        return Saturation(right=SURE, wrong=SURE if n_classes == 2 else np.inf)

    def sums(self, rows: RowRatios, moves: tuple[Any, ...]) -> np.ndarray:
        from bayesieve.criteria._kernels import squared_error_sums

        scan = rows.scan()
        squares = scan.add(squared_error_sums, moves, np.zeros(moves[0].size), scan.block.weights)
        n_wrong = 2.0 * scan.wrong.sum()
        return (0.5 if len(scan.ratios) == 1 else 1.0) * (squares + n_wrong)[:, None]


class ErrorProbability(Criterion):
    """(1/N) sum_i [1 - P_S(y_i | x_i)]: smoother than the error, which many features change by the same few rows.

    References
    ----------
    Rabenoro, Lacaille, Cottrell & Rossi (2015), Search strategies for binary feature selection for a naive Bayes
    classifier, section 4.2.
    """

    name = "error_probability"

    def saturation(self, n_classes: int) -> Saturation:
        return Saturation(right=SURE, wrong=SURE)

    def sums(self, rows: RowRatios, moves: tuple[Any, ...]) -> np.ndarray:
        from bayesieve.criteria._kernels import probability_sums

        scan, kinds = rows.scan(), moves[3]
        block = scan.block
        right = np.zeros(kinds.size)
        fused = (kinds == TWO_WAY) & _takes_two_way(scan)
        if fused.any():
            right[fused] = _two_way_right(scan, _of(moves, fused))
        if not fused.all():
            several = _of(moves, ~fused) if fused.any() else moves
            right[~fused] = scan.add(probability_sums, several, np.zeros(several[0].size), block.weights)
        first, end = block.offsets[[0, -1]]
        scanned = block.weights[first:end].sum() if block.weights.size else end - first
        return (scanned - right + scan.wrong.sum())[:, None]


def _of(moves: tuple[Any, ...], chosen: np.ndarray) -> tuple[Any, ...]:
    return *(values[chosen] for values in moves[:-1]), moves[-1]


def _takes_two_way(scan: RatioScan) -> bool:
    """Return whether the kernel for features of two levels can process these rows, which must fill a group of rows."""
    from bayesieve.criteria._kernels import BLOCK, FEWEST

    filled_up = min(BLOCK, -(-int(np.diff(scan.block.offsets).max()) // FEWEST) * FEWEST)
    return not scan.block.weights.size and len(scan.ratios) in (1, 2, 3) and scan.block.n_rows >= filled_up


def _two_way_right(scan: RatioScan, moves: tuple[Any, ...]) -> np.ndarray:
    """Return (n_moves,) sums of P(true class) of the rows of a scan, by moves of features of two levels."""
    from bayesieve.criteria._kernels import BLOCK, FEWEST, two_way_sums

    columns, lows, _, _, starts, n_codes, table = moves
    sums, near = np.zeros(columns.size), np.empty((len(scan.ratios), BLOCK))
    for bounds in scan.blocks(moves):
        rows = tuple(scan.ratios), tuple(near), scan.block.codes, bounds
        two_way_sums(*rows, columns, lows, starts, n_codes, table, sums)
    padding = (-np.diff(scan.block.offsets) % FEWEST).sum()
    return sums - padding


class SubsetCriterion(Criterion):
    """A criterion computed for one subset after another, from the class probabilities of rows, in NumPy."""

    def start(self, block: ClassBlock, tables: RatioTables, priors: np.ndarray, *, leave_out: bool = False) -> Any:
        saturation = self.saturation(tables.n_classes) if leave_out else None
        return SubsetRows(block, tables, priors, exact=self.exact, saturation=saturation)

    def sums(self, rows: SubsetRows, moves: list[tuple[int, bool]]) -> np.ndarray:
        sums = np.zeros((len(moves), 1))
        for number, (feature, add) in enumerate(moves):
            logs = None if feature < 0 else rows.tables.log_factors(feature)
            factors = None if logs is None else np.exp(logs if add else -logs)
            sums[number] = self.of_subset(rows, feature, factors)
        return sums

    @abstractmethod
    def of_subset(self, rows: RowRatios, feature: int, factors: np.ndarray | None) -> float:
        """Return the sum over rows for the current subset or, with ``factors`` of the levels of a feature, for the
        subset changed by it.
        """


class SubsetRows(RowRatios):
    """State of one block of rows for criteria in NumPy; a move is a feature and whether it is added."""

    def moves(self, features: np.ndarray, adding: np.ndarray) -> list[tuple[int, bool]]:  # type: ignore[override]
        return list(zip(features.tolist(), adding.tolist(), strict=True))

    def no_move(self) -> list[tuple[int, bool]]:  # type: ignore[override]
        return [(-1, True)]


def probabilities(rows: RowRatios, feature: int, factors: np.ndarray | None) -> Iterator[tuple[slice, int, np.ndarray]]:
    """Yield slices of rows of one class, the class, and their class probabilities (n_classes, n_rows); ``factors`` as
    in `SubsetCriterion.of_subset`.
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
    """The mean over rows of a loss that you define.

    Give it a ``name`` and the method ``losses``; set ``lower_is_better = False`` for a gain. It runs in NumPy, some ten
    times slower than the criteria that come with the package, and otherwise does all they do: every direction, every
    way of evaluation, row weights.

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
        """Return (n_rows,) losses of rows that all have the class code ``true_class``, from their class probabilities
        (n_classes, n_rows).
        """

    def of_subset(self, rows: RowRatios, feature: int, factors: np.ndarray | None) -> float:
        block, total = rows.scan().block, 0.0
        for piece, true_class, probability in probabilities(rows, feature, factors):
            loss = self._checked(probability, true_class)
            total += float((loss * block.weights[piece] if block.weights.size else loss).sum())
            block.engine.release(loss.size * (8 * (len(probability) - 1) + block.codes.itemsize))
        return total

    def _checked(self, probability: np.ndarray, true_class: int) -> np.ndarray:
        loss = np.asarray(self.losses(probability, true_class), dtype=float)
        if loss.shape != probability.shape[1:] or np.isnan(loss).any():
            raise ValueError(
                f"The criterion {self.name!r} must return one number (not NaN) for each of the {probability.shape[1]} "
                f"rows it is given, got shape {loss.shape}{' with NaN' if np.isnan(loss).any() else ''}."
            )
        return loss


class Scorer(SubsetCriterion):
    """Criterion that applies a scorer of scikit-learn to the class probabilities of all rows; higher is better.

    It computes the score of every subset by itself, from the outside, and is much slower than the other criteria.

    Parameters
    ----------
    scoring : str or callable
        A name of `sklearn.metrics.get_scorer_names`, such as ``"f1_macro"``, or a function ``(estimator, X, y)`` as
        `sklearn.metrics.make_scorer` returns it; it also receives ``sample_weight`` if rows have weights.
    """

    name = "scorer"
    lower_is_better = False
    additive = False
    needs_options = True

    def __init__(self, scoring: str | Callable[..., float]) -> None:
        self.scoring = scoring
        self.name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", type(scoring).__name__)

    def check(self, classes: Any) -> None:
        from sklearn.metrics import get_scorer

        self._classes = np.asarray(classes)
        self._scorer = get_scorer(self.scoring)

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        return sums[:, 0]

    def of_subset(self, rows: RowRatios, feature: int, factors: np.ndarray | None) -> float:
        block = rows.scan().block
        probability = np.empty((block.n_rows, rows.tables.n_classes))
        for piece, _, of_piece in probabilities(rows, feature, factors):
            probability[piece] = of_piece.T
        labels = self._classes[np.repeat(block.classes, np.diff(block.offsets))]
        weights = {"sample_weight": block.weights} if block.weights.size else {}
        fitted, rows_ = _Fitted(self._classes, probability), np.arange(block.n_rows)[:, None]
        return float(self._scorer(fitted, rows_, labels, **weights))

    def __repr__(self) -> str:
        return f"Scorer({self.scoring!r})"


class _Fitted(ClassifierMixin, BaseEstimator):
    """A classifier whose predictions are known; X are the positions of the rows."""

    def __init__(self, classes: np.ndarray, probability: np.ndarray) -> None:
        self.classes = self.classes_ = classes
        self.probability = probability

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self.probability

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.classes_[self.probability.argmax(axis=1)])
