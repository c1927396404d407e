"""Rabenoro, Lacaille, Cottrell & Rossi (2015): search strategies for binary features, on simulated engine series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator

from bayesieve import CodedTable, IndicatorEncoder, as_published
from bayesieve.counts import Smoothing, check_smoothing
from bayesieve_lab.claims import Closeness, Judged
from bayesieve_lab.comparison.folds import FixedSplit
from bayesieve_lab.comparison.results import Comparison, read_results
from bayesieve_lab.rabenoro2015.subset_choice import FILTERS, Method, SubsetChoice
from bayesieve_lab.simulate import engine_scores, engine_series, engine_thresholds, score_columns
from bayesieve_lab.study import Options, Report, Study

GRIDS = ("levels", "quantiles", "coarse")
LAPLACE: Smoothing = as_published("forward").smoothing
LIKELIHOOD = "log likelihood"
N_SERIES, N_SERIES_QUICK = 6000, 1200
REPETITIONS, REPETITIONS_QUICK = 10, 3
REPETITIONS_KEPT = 30
"""Number of repetitions of each grid in the published results."""

WRAPPERS = (
    Method("Forward search", "error", 136, 0.1237, "forward"),
    Method("Forward search", "probability", 207, 0.1225, "forward", "error_probability"),
    Method("Backward search", "error", 27, 0.1308, "backward"),
    Method("Backward search", "probability", 86, 0.1283, "backward", "error_probability"),
    Method("Forward-backward", "error", 92, 0.1238, "forward-backward"),
    Method("Forward-backward", "probability", 123, 0.1237, "forward-backward", "error_probability"),
    Method("Backward-forward", "error", 112, 0.1267, "backward-forward"),
    Method("Backward-forward", "probability", 122, 0.1168, "backward-forward", "error_probability"),
)
METHODS = (
    Method("MI filter", "error", 422, 0.1387),
    Method("mRMR filter", "error", 19, 0.1435),
    *WRAPPERS,
    Method("All indicators", ""),
)
"""Methods in the order of the rows of table 1, then the model without selection."""
BY_LIKELIHOOD = tuple(
    Method(name, LIKELIHOOD, direction=direction, criterion="log_loss")
    for name, direction in (("Forward search", "forward"), ("Backward search", "backward"))
)
"""Searches whose results the paper calls "very poor" and does not report."""
FIRST_50 = Method("mRMR filter", "error, of its first 50", 19, 0.1435, leading=50)
ON_SECOND_HALF = tuple(replace(wrapper, second_half=True) for wrapper in WRAPPERS)
VARIANTS = (*BY_LIKELIHOOD, FIRST_50, *ON_SECOND_HALF)
"""Variants that the paper mentions without numbers, and those for other readings of its sections 5.2 and 5.3."""


class EngineIndicators(BaseEstimator):
    """Encoder of engine scores as indicators, with the thresholds of a grid, which are set on training rows.

    Parameters
    ----------
    grid : "levels", "quantiles" or "coarse", see `bayesieve_lab.simulate.engine_thresholds`.
    """

    def __init__(self, grid: Any = GRIDS[0]) -> None:
        self.grid = grid

    def fit_transform_coded(self, X: Any, y: Any, sample_weight: Any = None) -> CodedTable:
        """Set the thresholds of the grid, and return the rows of scores ``X`` (a polars frame) coded by them.

        ``y`` (n_rows,) are class labels, and ``sample_weight`` (n_rows,) row weights, or None.
        """
        thresholds = engine_thresholds(self.grid, X.to_numpy() if self.grid == "quantiles" else None)
        self.indicators_ = IndicatorEncoder({name: thresholds[name] for name in X.columns}, n_jobs=1)
        return self.indicators_.fit_transform_coded(X, y, sample_weight)

    def transform_coded(self, X: Any) -> CodedTable:
        """Return other rows of scores (a polars frame), coded by the thresholds."""
        return self.indicators_.transform_coded(X)


class Rabenoro2015(Study):
    """Reproduction of section 5 of the paper, by its protocol, with new training and test series in every repetition.

    Parameters
    ----------
    options : ``grid`` is "levels" (default), "quantiles" or "coarse", see `bayesieve_lab.simulate.engine_grid`;
        ``smoothing`` is Laplace's with alpha = 1 by default; ``quick`` uses 1200 series instead of 6000.
    n_series : number of series in the training set, and in the test set; None is the paper's number.

    Raises
    ------
    ValueError
        If an option is invalid.
    """

    grids: ClassVar[Sequence[str]] = GRIDS
    paper: ClassVar[str] = "rabenoro2015"
    citation: ClassVar[str] = (
        "T. Rabenoro, J. Lacaille, M. Cottrell and F. Rossi (2015), Search strategies for binary feature selection for "
        "a naive Bayes classifier, ESANN"
    )

    def __init__(self, options: Options, n_series: int | None = None) -> None:
        super().__init__(options)
        self.smoothing: Smoothing = LAPLACE if options.smoothing is None else options.smoothing
        check_smoothing(self.smoothing)
        self.n_series = n_series or (N_SERIES_QUICK if options.quick else N_SERIES)
        self.repetitions = options.repetitions or (REPETITIONS_QUICK if options.quick else REPETITIONS)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that results depend on, by name."""
        return {
            "paper": self.paper,
            "seed": self.options.seed,
            "grid": self.grid,
            "smoothing": self.smoothing,
            "n_series": self.n_series,
        }

    @property
    def protocol(self) -> FixedSplit:
        """Protocol: training series first, then test series."""
        return FixedSplit(self.n_series, self.options.seed)

    def methods(self) -> dict[str, SubsetChoice]:
        """Return the classifiers by name: the rows of table 1, and variants."""
        return {
            method.key: SubsetChoice(
                EngineIndicators(self.grid),
                direction=method.direction,
                criterion=method.criterion,
                ranking=method.name if method.name in FILTERS else None,
                smoothing=self.smoothing,
                second_half=method.second_half,
                leading=method.leading,
            )
            for method in (*METHODS, *VARIANTS)
        }

    def data(self) -> dict[str, Any]:
        """Return functions that simulate the scores and labels of a repetition, by its name in the results."""
        return {f"draw {number + 1}": partial(self.draw, number) for number in range(self.repetitions)}

    def draw(self, number: int) -> tuple[Any, np.ndarray]:
        """Simulate and score the series of a repetition: the training series, then the test series.

        A random half of the training series of every class comes first: `SubsetChoice` learns from these. ``number``
        counts the repetitions and seeds the simulation.

        Returns
        -------
        scores : polars dataframe, shape (2 * n_series, n_scores)
        labels : array, shape (2 * n_series,)
        """
        draws = np.random.SeedSequence(self.options.seed, spawn_key=(number,)).spawn(3)
        train, test = (engine_series(self.n_series, random_state=np.random.default_rng(draw)) for draw in draws[:2])
        order = _halves_in_turn(train.labels, np.random.default_rng(draws[2]))
        scores, names = engine_scores(train, grid=self.grid)
        scores = np.concatenate([scores[order], engine_scores(test, grid=self.grid)[0]])
        return pl.DataFrame(score_columns(scores, names)), np.concatenate([train.labels[order], test.labels])

    def saved(self, results: Path) -> Comparison:
        """Return the results in a file, which may lack some variants."""
        rows = read_results(results)
        measured = {method for _, method, *_ in rows}
        return Comparison.of(self.data(), (name for name in self.methods() if name in measured), self.protocol, rows)

    def report(self, comparison: Comparison) -> Report:
        """Return the report of a comparison's results: tables beside those of the paper, and verdicts on its claims."""
        from bayesieve_lab.rabenoro2015.report import report

        return report(self, comparison)

    def judged(self, comparison: Comparison) -> tuple[Judged | Closeness, ...]:
        """Return the paper's claims with our verdicts."""
        from bayesieve_lab.rabenoro2015.report import judge

        return judge(comparison)


def _halves_in_turn(labels: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return an order of the rows, (n_rows,) positions: first a random half of every class, then all others.

    Within both parts, positions are ascending. ``labels`` (n_rows,) are the classes.
    """
    first = np.zeros(labels.size, dtype=bool)
    for label in np.unique(labels):
        rows = random.permutation(np.flatnonzero(labels == label))
        first[rows[: (rows.size + 1) // 2]] = True
    return np.argsort(~first, kind="stable")
