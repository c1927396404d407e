"""What a search is after: a criterion, the rows it is measured on, and bounds that other measures must beat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.criteria import Criterion, Precision, Recall, Scorer
from bayesieve.criteria.registry import CRITERIA, make_criterion
from bayesieve.search.scored_rows import ScoredRows

_TIE = 1e-12  # that rounding may add to a measure, and the distance of one on its bound
_OF_CLASS = {"recall": Recall, "precision": Precision}


@dataclass(frozen=True)
class Constraint:
    """A bound that a measure must beat: more than ``bound``, or less where lower is better."""

    name: str
    measure: Criterion
    bound: float

    def violation(self, values: np.ndarray) -> np.ndarray:
        """(n,) how far values are from beating the bound: 0 where they do, infinity for NaN, 1e-12 for values on the
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

    def by(self, criterion: Criterion) -> Objective:
        """Another criterion on the same rows."""
        return replace(self, criterion=criterion)


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
