"""Scores that are computed from the data: functions over a grid of their parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from bayesieve.table import Column, Table
from bayesieve.table.derived_levels import number_text


class ParametricScore:
    """A function of the data and of some parameters, to be computed for every combination of the parameters.

    Parameters
    ----------
    function : callable
        ``function(X, **parameters)`` gives one number per row, shape (n_rows,); NaN where there is none. ``X`` is
        the input of the encoder: a table, an array, a list of time series.
    name : str or None, default=None
        Name of the scores; None takes the name of the function.
    **grid : sequences
        Values of each parameter; a single number, text, boolean or None is a parameter that does not vary.

    Attributes
    ----------
    points : tuple of dict
        The combinations, the last parameter varying fastest.
    names : tuple of str
        The name of the score at each of them, such as ``"u_test(w=30)"``.

    Raises
    ------
    TypeError
        If the function cannot be called.
    ValueError
        If a parameter has no value.

    References
    ----------
    Rabenoro et al. (2015), section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve import ParametricScore
    >>> def spread(series, *, w):
    ...     return np.array([np.ptp(values[-w:]) for values in series])
    >>> ParametricScore(spread, "spread", w=[2, 3]).names
    ('spread(w=2)', 'spread(w=3)')
    """

    def __init__(self, function: Callable[..., Any], name: str | None = None, **grid: Any) -> None:
        if not callable(function):
            raise TypeError(f"A score must be a function of X and its parameters, got {function!r}.")
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__) if name is None else str(name)
        self.grid = {parameter: _values(values) for parameter, values in grid.items()}
        empty = [parameter for parameter, values in self.grid.items() if not values]
        if empty:
            raise ValueError(f"Score {self.name!r}: the parameter {empty[0]!r} has no value in its grid.")
        self.points = tuple(dict(zip(self.grid, point, strict=True)) for point in product(*self.grid.values()))
        self.names = tuple(self._name_at(point) for point in self.points)

    def __repr__(self) -> str:
        return f"ParametricScore({self.name!r}, {len(self.points)} combinations of {', '.join(self.grid) or 'nothing'})"

    def renamed(self, name: str) -> ParametricScore:
        """The same scores under another name."""
        return ParametricScore(self.function, name, **self.grid)

    def compute(self, X: Any, point: int) -> np.ndarray:
        """The score of every row at one combination of the parameters, shape (n_rows,), float64.

        Raises
        ------
        ValueError
            If the function gives anything but one number per row.
        """
        name, values = self.names[point], np.asarray(self.function(X, **self.points[point]))
        if values.ndim != 1:
            raise ValueError(
                f"Score {name!r} must give one number per row, shape (n_rows,), but gave shape {values.shape}."
            )
        try:
            if values.dtype.kind not in "biufO":
                raise TypeError
            return values.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"Score {name!r} must give numbers, but gave values of type {values.dtype}.") from None

    def _name_at(self, point: Mapping[str, Any]) -> str:
        if not point:
            return self.name
        return f"{self.name}({', '.join(f'{parameter}={_text(value)}' for parameter, value in point.items())})"


def as_parametric_scores(scores: Any) -> tuple[ParametricScore, ...]:
    """The ``scores`` parameter of the encoder as parametric scores with names of their own.

    Raises
    ------
    TypeError, ValueError
        If there are no scores, two scores of the same name, or anything but functions and `ParametricScore`.
    """
    if isinstance(scores, Mapping):
        parametric = [_as_score(score).renamed(str(name)) for name, score in scores.items()]
    elif isinstance(scores, ParametricScore) or (callable(scores) and not isinstance(scores, type)):
        parametric = [_as_score(scores)]
    elif isinstance(scores, Iterable) and not isinstance(scores, (str, type)):
        parametric = [_as_score(score) for score in scores]
    else:
        raise TypeError(f"scores must be a list or a dict of ParametricScore, or None for the columns, got {scores!r}.")
    if not parametric:
        raise ValueError("scores is empty; give at least one score, or None to take the columns of X.")
    names = [name for score in parametric for name in score.names]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"Two scores are called {name!r}; give every score its own name.")
    return tuple(parametric)


def compute_table(scores: Sequence[ParametricScore], X: Any) -> Table:
    """A table with one column per score and combination of its parameters.

    Raises
    ------
    ValueError
        If the scores differ in length, or there are no rows.
    """
    columns: list[Column] = []
    for score in scores:
        for point, name in enumerate(score.names):
            values = score.compute(X, point)
            if columns and len(columns[0]) != len(values):
                raise ValueError(
                    f"Score {name!r} gave {len(values)} values but {columns[0].name!r} gave {len(columns[0])}; "
                    "every score needs one value per row."
                )
            columns.append(Column(name, values, "arrays"))
    if not len(columns[0]):
        raise ValueError("Found 0 sample(s): the scores gave no values, while a minimum of 1 row is required.")
    return Table(columns, len(columns[0]), named=False)


def _as_score(score: Any) -> ParametricScore:
    if isinstance(score, ParametricScore):
        return score
    if callable(score):
        return ParametricScore(score)
    raise TypeError(f"A score must be a ParametricScore or a function of X, got {score!r}.")


def _values(values: Any) -> tuple[Any, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        values = (values,)
    return tuple(value.item() if isinstance(value, np.generic) else value for value in values)


def _text(value: Any) -> str:
    return number_text(value) if isinstance(value, float) else str(value)
