"""Criteria of decisions: error rates, recall and precision of one class, expected cost, and benefit."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.criteria.base import Criterion, RatioMoves, RowRatios, Saturation
from bayesieve.criteria.scored_rows import ClassBlock, RatioTables
from bayesieve.words import listed

_SURE = 1e-9  # nats: more than the tolerance of ties


class Error(Criterion):
    """Error rate: share of rows whose most probable class is not the true one. Of ties (within 1e-12), the lowest class
    is predicted.
    """

    name = "error"
    title = "error rate"
    best = 0.0

    def saturation(self, n_classes: int) -> Saturation:
        """Return the condition under which a row is certainly right, or certainly wrong, after any single added or
        dropped feature.
        """
        return Saturation(right=_SURE, wrong=_SURE)

    def sums(self, rows: RowRatios, moves: RatioMoves) -> np.ndarray:
        """Return the number (or weight) of misclassified rows of each class for each candidate subset of features,
        (n_candidates, n_classes).

        ``rows`` holds the rows with their probabilities under the current subset, ``moves`` the candidate subsets, from
        ``rows.moves()``.
        """
        from bayesieve.criteria._decision_kernels import wrong_sums

        scan, sums = rows.scan(), np.zeros((moves.columns.size, rows.n_others + 1))
        return scan.add(wrong_sums, moves, sums, scan.block.classes, scan.block.weights) + scan.wrong_by_class()

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        """Return the error rate of each candidate subset of features, (n_candidates,).

        ``sums`` (n_candidates, n_classes) are the misclassified rows (or weight) by class, ``class_totals``
        (n_classes,) all rows (or weight) by class; ``n_selected`` is not used.
        """
        return sums.sum(axis=1) / class_totals.sum()


class _Complement(Criterion):
    """Mixin for a criterion that equals 1 minus the criterion given by its other base class."""

    lower_is_better = False
    best = 1.0

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        """Return 1 minus the criterion of each candidate subset of features, (n_candidates,).

        ``sums`` are the results of the method `sums`, ``n_selected`` (n_candidates,) the numbers of selected features,
        and ``class_totals`` (n_classes,) the rows (or weight) by class.
        """
        return 1.0 - super().values(sums, n_selected, class_totals)


class Accuracy(_Complement, Error):
    """Share of rows whose most probable class is the true one; higher is better. 1 - `Error`."""

    name = "accuracy"
    title = "accuracy"


class BalancedError(Error):
    """Balanced error: mean over the classes of the share of misclassified rows of the class, that is, 1 minus the mean
    recall.
    """

    name = "balanced_error"
    title = "balanced error rate"

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        """Return the mean over the classes of their error rates, for each candidate subset of features,
        (n_candidates,).

        ``sums`` (n_candidates, n_classes) are the misclassified rows (or weight) by class, ``class_totals``
        (n_classes,) all rows (or weight) by class; ``n_selected`` is not used.
        """
        present = class_totals > 0
        return (sums[:, present] / class_totals[present]).mean(axis=1)


class BalancedAccuracy(_Complement, BalancedError):
    """Mean recall of the classes; higher is better. 1 - `BalancedError`."""

    name = "balanced_accuracy"
    title = "balanced accuracy"


class _OneClass(Error):
    """Base class of criteria of one class; ``label`` is its label in the target."""

    lower_is_better = False
    needs_options = True

    def __init__(self, label: Any) -> None:
        self.label = label
        self._code = -1

    def check(self, classes: Any) -> None:
        """Store the position of the class among ``classes``, the labels in sorted order; raise ValueError if it is
        missing.
        """
        codes = np.flatnonzero(np.asarray(classes) == self.label)
        if codes.size != 1:
            raise ValueError(
                f"{type(self).__name__} is about the class {self.label!r}, but the target has the classes "
                f"{listed([repr(label) for label in np.asarray(classes).tolist()])}; pass one of these."
            )
        self._code = int(codes[0])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label!r})"


class Recall(_OneClass):
    """Share of the rows of one class that are predicted as that class; higher is better.

    Parameters
    ----------
    label : label of the class in the target.
    """

    name = "recall"

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        """Return the recall of the class for each candidate subset of features, (n_candidates,); NaN if the class has
        no rows.

        ``sums`` (n_candidates, n_classes) are the misclassified rows (or weight) by class, ``class_totals``
        (n_classes,) all rows (or weight) by class; ``n_selected`` is not used.
        """
        if class_totals[self._code] == 0.0:  # the rows lack the class
            return np.full(len(sums), np.nan)
        return 1.0 - sums[:, self._code] / class_totals[self._code]


class Precision(_OneClass):
    """Share of rows of one class among those predicted as it; higher is better, 0 if no row is predicted as it.

    Parameters
    ----------
    label : label of the class in the target.
    """

    name = "precision"

    def saturation(self, n_classes: int) -> Saturation:
        """Return the condition under which a row is certainly right after any single added or dropped feature or, for
        two classes only, certainly wrong.
        """
        # With more than two classes, a move may change one wrong decision into another one.
        return Saturation(right=_SURE, wrong=_SURE if n_classes == 2 else np.inf)

    def sums(self, rows: RowRatios, moves: RatioMoves) -> np.ndarray:
        """Return counts (or weights) of rows for each candidate subset of features, (n_candidates, n_classes).

        For every other class, they are the rows predicted as the class of the criterion; for that class itself, its
        misclassified rows. ``rows`` holds the rows with their probabilities under the current subset, ``moves`` the
        candidate subsets, from ``rows.moves()``.
        """
        from bayesieve.criteria._decision_kernels import chosen_sums

        sums, scan = super().sums(rows, moves), rows.scan()
        classes, weights = scan.block.classes, scan.block.weights
        chosen = scan.add(chosen_sums, moves, np.zeros_like(sums), classes, weights, self._code)
        if scan.ratios.shape[0] == 1:  # skipped rows that are certainly wrong are predicted as the only other class
            chosen += scan.wrong_by_class()
        chosen[:, self._code] = sums[:, self._code]
        return chosen

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        """Return the precision for the class of each candidate subset of features, (n_candidates,); 0 if no row is
        predicted as it.

        ``sums`` (n_candidates, n_classes) are the results of the method `sums`, ``class_totals`` (n_classes,) the rows
        (or weight) by class; ``n_selected`` is not used.
        """
        total = class_totals[self._code]
        right = total - sums[:, self._code]
        right[right < 1e-12 * total] = 0.0  # the difference of equal sums of weights
        given = right + sums.sum(axis=1) - sums[:, self._code]
        return np.divide(right, given, out=np.zeros_like(right), where=given > 0)


class ExpectedCost(Criterion):
    """Mean cost per row if every row is given the label with the lowest expected cost; of ties, the lowest label.

    Parameters
    ----------
    costs : array-like, shape (n_classes, n_classes)
        ``costs[j, d]``: cost of predicting class d for a row of class j; classes in sorted order. Benefits are negative
        costs.
    """

    name = "expected_cost"
    needs_options = True

    def __init__(self, costs: Any) -> None:
        self.costs = costs

    def check(self, classes: Any) -> None:
        """Raise ValueError unless ``costs`` is a finite matrix with one row and one column for each of the
        ``classes``.
        """
        costs = np.asarray(self.costs, dtype=float)
        n_classes = len(classes)
        finite = bool(np.all(np.isfinite(costs)))
        if costs.shape != (n_classes, n_classes) or not finite:
            raise ValueError(
                f"costs must be a matrix of {n_classes} x {n_classes} finite numbers, one row per true class and one "
                f"column per predicted class, got shape {costs.shape}{'' if finite else ' with NaN or infinity'}."
            )
        self._costs = np.ascontiguousarray(costs)

    def saturation(self, n_classes: int) -> Saturation | None:
        """Return None: no rows are skipped, because decisions depend on the costs."""
        return None  # no rows are skipped, because decisions depend on the costs

    def sums(self, rows: RowRatios, moves: RatioMoves) -> np.ndarray:
        """Return the total cost of the decisions of each candidate subset of features, (n_candidates, 1).

        ``rows`` holds the rows with their probabilities under the current subset, ``moves`` the candidate subsets, from
        ``rows.moves()``.
        """
        from bayesieve.criteria._decision_kernels import cost_sums

        scan, sums = rows.scan(), np.zeros(moves.columns.size)
        return scan.add(cost_sums, moves, sums, scan.block.classes, scan.block.weights, self._costs)[:, None]

    def __repr__(self) -> str:
        return f"ExpectedCost({np.asarray(self.costs).tolist()})"


class Benefit(Criterion):
    """Total benefit if for every row the decision with the largest expected benefit is taken; of ties, the first
    decision.

    It is the sum over rows of B(d, true class), where d = argmax_i sum_j P(j | x) B(i, j, x). If benefits differ
    between rows, pass them as ``benefit=`` to ``fit`` of `WrapperSelector` or `SelectiveNB`. One number per row is an
    amount; ``amount_benefit`` is the benefit per unit of it. Two numbers per row, shape (n_rows, 2), are the expected
    amount, on which decisions are based, and the true amount, such as a gift predicted by a regression and the actual
    gift. If no matrix is given here, ``benefit=`` must hold whole matrices, shape (n_rows, n_decisions, n_classes).

    Parameters
    ----------
    benefit : array-like, shape (n_decisions, n_classes), or None, default=None
        B(i, j): benefit of decision i for a row of class j, with classes in sorted order; see `BenefitClassifier`.
        None: only ``amount_benefit`` is used.
    amount_benefit : array-like, shape (n_decisions, n_classes), or None, default=None
        Benefit per unit of the row's amount, added to ``benefit``.

    References
    ----------
    Gidofalvi & Zadrozny, Feature selection for class probability estimation, equations 1 and 2; Zadrozny & Elkan
    (2001), Learning and making decisions when costs and probabilities are both unknown, KDD.

    Examples
    --------
    A letter costs 0.68, and brings the gift of those who respond:

    >>> import numpy as np
    >>> from bayesieve import WrapperSelector
    >>> from bayesieve.criteria import Benefit
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.05
    >>> X = np.column_stack([y + rng.normal(size=y.size), rng.normal(size=y.size)])
    >>> gifts = np.full(y.size, 12.0)
    >>> mailing = Benefit([[0, 0], [-0.68, -0.68]], amount_benefit=[[0, 0], [0, 1]])
    >>> selector = WrapperSelector(mailing, direction="forward", evaluation="train").fit(X, y, benefit=gifts)
    >>> selector.support_.tolist(), selector.trace_.best_criterion > selector.trace_.null_criterion
    ([True, False], True)
    """

    name = "benefit"
    title = "total benefit"
    lower_is_better = False
    needs_options = True
    row_columns = ("benefit",)

    def __init__(self, benefit: Any = None, *, amount_benefit: Any = None) -> None:
        self.benefit = benefit
        self.amount_benefit = amount_benefit

    def check(self, classes: Any) -> None:
        """Convert both benefit options to matrices (n_decisions, n_classes); raise ValueError if they do not fit the
        ``classes``.
        """
        self._matrix = self._slope = None
        if self.benefit is not None:
            self._matrix = as_benefits(self.benefit, "benefit", len(classes))
        if self.amount_benefit is not None:
            n_decisions = None if self._matrix is None else len(self._matrix)
            self._slope = as_benefits(self.amount_benefit, "amount_benefit", len(classes), n_decisions)
            self._matrix = np.zeros_like(self._slope) if self._matrix is None else self._matrix

    def start(
        self, block: ClassBlock, tables: RatioTables, prior_ratios: np.ndarray, *, leave_out: bool = False
    ) -> BenefitRows:
        """Return the rows with their class probabilities under the empty subset of features, and their benefits.

        ``block`` holds the rows, ``tables`` the factors of the levels, and ``prior_ratios`` the ratios P(other class) /
        P(true class) without features. No rows are skipped, whatever ``leave_out``.
        """
        expected, true = self._of_rows(block.row_columns.get("benefit"), tables.n_classes)
        # No rows are skipped, because decisions depend on the benefits.
        return BenefitRows(block, tables, prior_ratios, expected, true)

    def sums(self, rows: BenefitRows, moves: RatioMoves) -> np.ndarray:
        """Return the total benefit of the decisions of each candidate subset of features, (n_candidates, 1).

        ``rows`` holds the rows with their probabilities under the current subset, ``moves`` the candidate subsets, from
        ``rows.moves()``.
        """
        from bayesieve.criteria._decision_kernels import benefit_sums

        sums = np.full(moves.columns.size, rows.of_first)
        return rows.scan().add(benefit_sums, moves, sums, rows.gains, rows.gained)[:, None]

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        """Return the total benefit of each candidate subset of features, (n_candidates,), which is the only column of
        ``sums``; the other arguments are not used.
        """
        return sums[:, 0]

    def _of_rows(self, given: np.ndarray | None, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the benefits on which decisions are based, and the true benefits, each (n_rows or 1, n_decisions,
        n_classes).

        ``given`` holds the benefits or amounts of the rows, as passed by the user, or None.
        """
        matrix, slope = self._matrix, self._slope
        if matrix is None:
            if given is None or given.ndim < 3:
                raise ValueError(
                    "Benefit() has no matrix; give it one, or pass a matrix for each row as benefit= to fit."
                )
            if given.shape[2] != n_classes or not given.shape[1]:
                raise ValueError(
                    f"benefit= holds matrices of shape {given.shape[1:]}; give one row per decision and one column for "
                    f"each of the {n_classes} classes."
                )
            return given, given
        if slope is None and given is None:
            return matrix[None], matrix[None]
        if slope is None:
            raise ValueError(f"{self!r} does not use benefit= of the rows; add amount_benefit, or omit the matrix.")
        if given is None or given.ndim == 3:
            raise ValueError(
                "amount_benefit needs the amounts of the rows: pass them as benefit= to fit, of shape (n_rows,), or "
                "(n_rows, 2) for the expected and the true amount."
            )
        amounts = given.reshape(len(given), -1)
        return with_amounts(matrix, amounts[:, 0], slope), with_amounts(matrix, amounts[:, -1], slope)

    def __repr__(self) -> str:
        more = "" if self.amount_benefit is None else f", amount_benefit={np.asarray(self.amount_benefit).tolist()}"
        return f"Benefit({None if self.benefit is None else np.asarray(self.benefit).tolist()}{more})"


class BenefitRows(RowRatios):
    """State of the rows under the current subset with their benefits, arranged for the kernel.

    Parameters
    ----------
    block : coded rows, sorted by class.
    tables : log factors by which the levels of features change the ratios P(other class) / P(true class).
    prior_ratios : (n_segments, n_classes - 1) these ratios under the empty subset.
    expected : (n_rows or 1, n_decisions, n_classes) benefits on which decisions are based.
    true : (n_rows or 1, n_decisions, n_classes) actual benefits of the decisions.
    """

    def __init__(
        self, block: ClassBlock, tables: RatioTables, prior_ratios: np.ndarray, expected: np.ndarray, true: np.ndarray
    ) -> None:
        from bayesieve.criteria._decision_kernels import TIE

        super().__init__(block, tables, prior_ratios)
        n_rows, (n_decisions, n_classes) = block.n_rows, expected.shape[1:]
        self.gains = block.engine.array((n_decisions, n_classes, n_rows), np.float64)
        self.gained = block.engine.array((n_decisions - 1, n_rows), np.float64)
        self.of_first = 0.0
        for segment, true_class in enumerate(block.classes.tolist()):
            rows = slice(block.offsets[segment], block.offsets[segment + 1])
            counts = block.weights[rows, None] if block.weights.size else np.ones((rows.stop - rows.start, 1))
            of_rows, brings = (every[rows] if len(every) == n_rows else every for every in (expected, true))
            there = counts[:, 0] > 0
            brings = np.broadcast_to(brings[:, :, true_class], (there.size, n_decisions))
            if not (np.isfinite(of_rows).all() and np.isfinite(brings[there]).all()):
                raise ValueError(
                    "Some benefits are missing or infinite in rows whose decisions depend on them; give finite "
                    "numbers as benefit= to fit."
                )
            order = [true_class, *(j for j in range(n_classes) if j != true_class)]
            gains = (of_rows[:, 1:] - of_rows[:, :1])[:, :, order]
            self.gains[:-1, :, rows] = gains.transpose(1, 2, 0)
            self.gains[-1, :, rows] = TIE * np.abs(gains).max(axis=(1, 2), initial=0.0)
            brings = np.where(there[:, None], brings * counts, 0.0)
            self.gained[:, rows] = (brings[:, 1:] - brings[:, :1]).T
            self.of_first += float(brings[:, 0].sum())


def as_benefits(value: Any, name: str, n_classes: int, n_decisions: int | None = None) -> np.ndarray:
    """Convert ``value`` to a matrix of finite numbers, (n_decisions, n_classes).

    ``n_decisions`` is the required number of decisions; None accepts any. Raise ValueError for other values; the
    message names the option ``name``.
    """
    try:
        matrix = np.ascontiguousarray(value, dtype=float)
    except (TypeError, ValueError):
        matrix = np.zeros(0)
    if matrix.shape != (n_decisions or len(matrix), n_classes) or len(matrix) == 0 or not np.all(np.isfinite(matrix)):
        rows = "one row per decision" if n_decisions is None else f"{n_decisions} rows, one per decision,"
        raise ValueError(
            f"{name} must be a matrix of finite numbers, {rows} and one column for each of the {n_classes} classes, "
            f"got {' '.join(repr(value).split())[:80]}."
        )
    return matrix


def with_amounts(benefits: np.ndarray, amounts: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return benefits that depend on the amount of each row, shape (n_rows, n_decisions, n_classes): ``benefits`` plus
    ``slope`` times ``amounts``.

    ``benefits`` and ``slope`` are matrices (n_decisions, n_classes): fixed benefits, and benefits per unit of the
    amount; ``amounts`` has shape (n_rows,).
    """
    with np.errstate(invalid="ignore"):  # an unknown amount does not matter if its slope is 0
        return benefits + np.where(slope != 0, amounts[:, None, None] * slope, 0.0)
