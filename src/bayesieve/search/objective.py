"""What a search is after: a criterion, the rows it is measured on, and bounds that other measures must beat."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.criteria import CRITERIA, Criterion, Precision, RatioTables, Recall, Scorer, make_criterion
from bayesieve.criteria.class_block import MANY_CLASSES
from bayesieve.engine import IN_MEMORY, Parts, effective_jobs, map_in_threads
from bayesieve.search.scored_rows import ScoredRows

_TIE = 1e-12  # that rounding may add to a measure, and the distance of one on its bound
_PARALLEL_WORK = 20_000_000  # rows x candidates x other classes below which threads cost more than they bring
_CANDIDATES_AT_ONCE = 1024  # the kernels keep a few cache lines for each
_OF_CLASS = {"recall": Recall, "precision": Precision}


@dataclass(frozen=True)
class Constraint:
    """A bound that a measure must beat: more than ``bound``, or less where lower is better."""

    name: str
    measure: Criterion
    bound: float

    def violation(self, values: np.ndarray) -> np.ndarray:
        """(n,) how far values are from beating the bound: 0 if they do, infinity for NaN, 1e-12 for values on the
        bound, to within rounding.
        """
        short = values - self.bound if self.measure.lower_is_better else self.bound - values
        return np.where(np.isnan(short), np.inf, np.where(short >= -_TIE, np.maximum(short, _TIE), 0.0))

    def __str__(self) -> str:
        return f"{self.name} {'<' if self.measure.lower_is_better else '>'} {self.bound:g}"


@dataclass(frozen=True)
class Objective:
    """A criterion, the rows it is measured on, and constraints on other measures of the same rows.

    Attributes
    ----------
    criterion : Criterion
    rows : ScoredRows
    constraints : tuple of Constraint
        A subset that keeps them all beats one that does not; of two that do not, the one that is less far from them
        (the sum over the constraints) is better.

    Examples
    --------
    >>> from bayesieve import TableEncoder
    >>> from bayesieve.search import Objective, evaluate_subsets
    >>> from sklearn.datasets import load_iris
    >>> coded = TableEncoder().fit_transform_coded(*load_iris(return_X_y=True, as_frame=True))
    >>> objective = Objective.of(coded, "log_loss", constraints={"recall:2": 0.95})
    >>> evaluated = evaluate_subsets(objective, [[0], [2], [2, 3], [0, 1, 2, 3]])
    >>> evaluated.values.round(3).tolist(), evaluated.feasible.tolist(), evaluated.best
    ([0.626, 0.159, 0.122, 0.154], [False, True, False, False], 1)
    """

    criterion: Criterion
    rows: ScoredRows
    constraints: tuple[Constraint, ...] = ()

    @classmethod
    def of(
        cls,
        coded: CodedTable,
        criterion: str | Criterion = "map",
        smoothing: Smoothing = "m-estimate",
        constraints: Mapping[str | Criterion, float] | None = None,
    ) -> Objective:
        """The criterion on the rows that the probabilities are learnt from.

        Parameters
        ----------
        coded : CodedTable with classes
        criterion : name or Criterion, as `WrapperSelector` takes it
        smoothing : of the probabilities
        constraints : bounds by measures, as `WrapperSelector` takes them
        """
        made = make_criterion(criterion, coded.n_features, coded.classes)
        return cls(made, ScoredRows.training(coded, coded.counts, smoothing), make_constraints(constraints, coded))

    @property
    def sign(self) -> float:
        """What turns costs into values of the criterion."""
        return 1.0 if self.criterion.lower_is_better else -1.0

    @property
    def total(self) -> float:
        """Rows measured, or the sum of their weights."""
        return float(self.rows.class_totals.sum())

    def measured(self, *, leave_out: bool = False, n_jobs: int | None = None) -> Measured:
        """The criterion for the current subset of a search, the empty one; ``leave_out``: rows that no move can change
        may leave the scan.
        """
        return Measured(self.rows, self.criterion, leave_out, n_jobs)

    def by(self, criterion: Criterion) -> Objective:
        """Another criterion on the same rows."""
        return replace(self, criterion=criterion)


class Measured:
    """A criterion on some rows, for the current subset: it is told the moves, and asked for costs."""

    def __init__(self, rows: ScoredRows, criterion: Criterion, leave_out: bool, n_jobs: int | None) -> None:
        effective_jobs(n_jobs)  # refuses other values before anything runs
        self._rows, self._criterion, self._n_jobs = rows, criterion, n_jobs
        self.sign = 1.0 if criterion.lower_is_better else -1.0
        self._move_work = rows.n_rows * (rows.tables.n_classes - 1)
        can_leave = leave_out and criterion.saturation(rows.tables.n_classes) is not None
        start = partial(criterion.start, leave_out=True) if can_leave else criterion.start
        engine, block = (rows.engine, rows.block) if criterion.additive else (IN_MEMORY, rows.block.here)
        self._is_remote = engine.is_remote
        self._sums = np.zeros((0, 0))  # of subsets that a cluster was asked about together
        self._taken: int | None = None
        self._state: Parts[Any] = engine.parts(start, [block], rows.tables, rows.priors)

    def reset(self) -> None:
        self._taken = None
        self._state.update(_ask, "reset", self._rows.priors)

    def move(self, features: Sequence[int], adding: Sequence[bool]) -> None:
        assert self._taken is None  # workers are at the empty subset
        self._state.update(_multiply, self._rows.tables, features, adding)

    def expect_moves(self) -> None:
        self._state.update(_ask, "expect_moves")

    def sum_subsets(self, subsets: np.ndarray) -> bool:
        """Prepare `take_subset` for these subsets (n_subsets, n_features); False if that is not possible."""
        if self._is_remote:  # one question for all, whatever they keep of the rows
            rows = self._rows
            self._sums = self._state.reduce(_own_sums_of, self._criterion, rows.tables, rows.priors, subsets)
            return True
        return int(self._state.reduce(_fail_to_sum, self._rows.tables, subsets)) == 0

    def take_subset(self, number: int) -> None:
        if self._is_remote:
            self._taken = number
        else:
            self._state.update(_ask, "take_subset", number)

    def candidates(self, features: np.ndarray, adding: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        def part(chosen: slice) -> np.ndarray:
            return self._state.reduce(self._criterion.sums, self._rows.tables, features[chosen], adding[chosen])

        pieces = self._pieces(features.size)
        if self._is_remote:
            moves = (self._rows.tables, features, adding, pieces)
            sums = self._state.reduce(_sums_of_pieces, self._criterion, *moves)
        elif len(pieces) == 1:
            sums = part(pieces[0])
        else:
            self._state.update(_ask, "scan")  # what threads share
            # Threads would not end at Ctrl-C before their piece is done.
            n_jobs = 1 if self._rows.tables.n_classes > MANY_CLASSES else self._n_jobs
            sums = np.concatenate(map_in_threads(part, pieces, n_jobs))
        return self._costs(sums, sizes)

    def path(self, features: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Add features one after another; the costs of the subsets on the way."""
        sums = self._state.reduce(self._criterion.path_sums, self._rows.tables, features)  # type: ignore[attr-defined]
        return self._costs(sums, sizes)

    def own(self, size: int) -> float:
        if self._taken is not None:
            sums = self._sums[self._taken]
        else:
            sums = self._state.reduce(self._criterion.own_sums, self._rows.tables)
        return float(self._costs(sums[None, :], np.array([size]))[0])

    def _costs(self, sums: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        values = self._criterion.values(sums, sizes, self._rows.class_totals)
        if self._criterion.of_empty is not None:
            values = np.where((sizes == 0) & ~np.isnan(values), self._criterion.of_empty, values)
        return self.sign * values

    def _pieces(self, n: int) -> list[slice]:
        """Candidates evaluated together: how they are cut decides who computes them, never what comes out."""
        if self._rows.tables.n_classes > MANY_CLASSES:
            return [slice(a, a + 1) for a in range(max(1, n))]
        work = self._move_work * n
        if n <= _CANDIDATES_AT_ONCE and work < _PARALLEL_WORK:
            return [slice(0, n)]
        n_pieces = -(-n // _CANDIDATES_AT_ONCE)
        if work >= _PARALLEL_WORK and not self._is_remote:
            workers = effective_jobs(self._n_jobs)
            n_pieces = min(n, max(workers, -(-n_pieces // workers) * workers))
        ends = np.linspace(0, n, max(1, n_pieces) + 1).astype(int)
        return [slice(a, b) for a, b in pairwise(ends.tolist())]


def _sums_of_pieces(
    block: Any, criterion: Criterion, tables: RatioTables, features: np.ndarray, adding: np.ndarray, pieces: list[slice]
) -> np.ndarray:
    return np.concatenate([criterion.sums(block, tables, features[piece], adding[piece]) for piece in pieces])


def _own_sums_of(
    block: Any, criterion: Criterion, tables: RatioTables, priors: np.ndarray, subsets: np.ndarray
) -> np.ndarray:
    """(n_subsets, n_sums), each subset from the one before; the empty one is where the state comes from and goes to."""
    sums, current = [], np.zeros(subsets.shape[1], dtype=bool)
    for subset in subsets:
        changed = np.flatnonzero(subset != current)
        _ask(block, "expect_moves")
        _multiply(block, tables, changed.tolist(), subset[changed].tolist())
        sums.append(criterion.own_sums(block, tables))
        current = subset
    block.reset(priors)
    return np.array(sums)


def _multiply(block: Any, tables: RatioTables, features: Sequence[int], adding: Sequence[bool]) -> None:
    for feature, add in zip(features, adding, strict=True):
        block.multiply(tables, feature, add)


def _fail_to_sum(block: Any, tables: RatioTables, subsets: np.ndarray) -> int:
    return int(not hasattr(block, "sum_subsets") or not block.sum_subsets(tables, subsets))


def _ask(block: Any, method: str, *arguments: Any) -> None:
    """Call a method of a block, if it has such a one."""
    if hasattr(block, method):
        getattr(block, method)(*arguments)


def make_constraints(constraints: Mapping[str | Criterion, float] | None, coded: CodedTable) -> tuple[Constraint, ...]:
    """Constraints from bounds by measures, as `make_measure` takes them.

    Raises
    ------
    ValueError
        For an unknown measure or class.
    """
    return tuple(
        Constraint(
            measure if isinstance(measure, str) else repr(measure),
            make_measure(measure, coded, "constraints"),
            float(bound),
        )
        for measure, bound in (constraints or {}).items()
    )


def make_measure(measure: str | Criterion | Callable[..., float], coded: CodedTable, option: str) -> Criterion:
    """A criterion by its name, ``"recall:LABEL"``, ``"precision:LABEL"``, the name of a scorer of scikit-learn, or the
    one given.

    Raises
    ------
    ValueError
        For an unknown measure or class; the sentence names the option.
    """
    if isinstance(measure, str) and ":" in measure:
        kind, label = measure.split(":", 1)
        labels = [] if coded.classes is None else np.asarray(coded.classes).tolist()
        same = [known for known in labels if str(known) == label]
        if kind not in _OF_CLASS or not same:
            raise ValueError(
                f"{option}: {measure!r} must be 'recall:' or 'precision:' and one of the classes "
                f"{', '.join(map(repr, labels))}."
            )
        measure = _OF_CLASS[kind](same[0])
    elif callable(measure) or (isinstance(measure, str) and measure not in CRITERIA):
        measure = Scorer(measure)
    return make_criterion(measure, coded.n_features, coded.classes)


def check_measure(measure: object, option: str) -> None:
    """Raise ValueError unless `make_measure` may take it."""
    by_name = [name for name, part in CRITERIA.items() if not part.needs_options]
    if isinstance(measure, Criterion) or (callable(measure) and not isinstance(measure, type)):
        return
    if isinstance(measure, str):
        if measure in by_name or (":" in measure and measure.split(":")[0] in _OF_CLASS):
            return
        from sklearn.metrics import get_scorer_names

        if measure in get_scorer_names() and measure not in CRITERIA:
            return
    raise ValueError(
        f"{option}: {measure!r} must be one of {', '.join(map(repr, by_name))}, 'recall:CLASS', 'precision:CLASS', a "
        "Criterion or a scorer of scikit-learn."
    )


def check_constraints(constraints: object) -> None:
    """Raise ValueError unless ``constraints`` maps measures to numbers."""
    if constraints is None:
        return
    if not isinstance(constraints, Mapping):
        raise ValueError(
            f"constraints must map measures to bounds, such as {{'recall:yes': 0.9}}, got {constraints!r}."
        )
    for measure, bound in constraints.items():
        check_measure(measure, "constraints")
        if isinstance(bound, bool) or not isinstance(bound, Real) or not np.isfinite(float(bound)):
            raise ValueError(f"constraints: the bound of {measure!r} must be a finite number, got {bound!r}.")
