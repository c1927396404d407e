"""Rabenoro, Lacaille, Cottrell & Rossi (2015): search strategies for binary features, on simulated engine series."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from bayesieve.counts import Smoothing, check_smoothing
from bayesieve.discretize import IndicatorEncoder
from bayesieve.engine import map_in_threads
from bayesieve.evaluation.reproduce.study import Options, Report, Study, Tell
from bayesieve.evaluation.reproduce.subset_choice import Halves, Method, halve, measure

GRIDS = ("levels", "quantiles")
LAPLACE = 1.0
N_SERIES, N_SERIES_QUICK = 6000, 1200
REPETITIONS, REPETITIONS_QUICK = 10, 3


def _wrappers(name: str, direction: str, *published: tuple[str, str, int, float]) -> tuple[Method, ...]:
    return tuple(
        Method(name, guide, features, error, direction, criterion) for guide, criterion, features, error in published
    )


METHODS = (
    Method("MI filter", "error", 422, 0.1387),
    Method("mRMR filter", "error", 19, 0.1435),
    *_wrappers(
        "Forward search",
        "forward",
        ("error", "error", 136, 0.1237),
        ("probability", "error_probability", 207, 0.1225),
    ),
    *_wrappers(
        "Backward search",
        "backward",
        ("error", "error", 27, 0.1308),
        ("probability", "error_probability", 86, 0.1283),
    ),
    *_wrappers(
        "Forward-backward",
        "forward-backward",
        ("error", "error", 92, 0.1238),
        ("probability", "error_probability", 123, 0.1237),
    ),
    *_wrappers(
        "Backward-forward",
        "backward-forward",
        ("error", "error", 112, 0.1267),
        ("probability", "error_probability", 122, 0.1168),
    ),
    Method("All indicators", ""),
)
"""The rows of table 1 in its order, and the model without any selection."""

WRAPPERS = tuple(method for method in METHODS if method.direction)


class Rabenoro2015(Study):
    """Section 5 of the paper, with its protocol, on training and test series drawn anew in every repetition.

    Parameters
    ----------
    options : ``grid`` is "levels" (default) or "quantiles", see `bayesieve.simulate.engine_grid`; ``smoothing`` is
        Laplace's with alpha = 1 unless given; ``quick`` takes 1200 series in place of 6000.
    n_series : series in the training set, and in the test set; None is the paper's number.

    Raises
    ------
    ValueError
        If an option has no meaning.
    """

    parts = tuple(method.key for method in METHODS)

    def __init__(self, options: Options, n_series: int | None = None) -> None:
        self.grid = options.grid or GRIDS[0]
        if self.grid not in GRIDS:
            raise ValueError(f"grid must be one of {', '.join(map(repr, GRIDS))}, got {options.grid!r}.")
        self.smoothing: Smoothing = LAPLACE if options.smoothing is None else options.smoothing
        check_smoothing(self.smoothing)
        self.seed = options.seed
        self.n_series = n_series or (N_SERIES_QUICK if options.quick else N_SERIES)
        self.repetitions = options.repetitions or (REPETITIONS_QUICK if options.quick else REPETITIONS)
        self._n_jobs = options.n_jobs

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "paper": "rabenoro2015",
            "seed": self.seed,
            "grid": self.grid,
            "smoothing": self.smoothing,
            "n_series": self.n_series,
        }

    def repetition(self, number: int, tell: Tell) -> dict[str, Any]:
        begin = time.perf_counter()
        halves = self.halves(number)
        prepared = time.perf_counter() - begin

        def measured(method: Method) -> dict[str, Any]:
            found = measure(method, halves)
            tell(number, method.key)
            return found

        # The longest first, so that no thread is left with one of them in the end.
        order = sorted(METHODS, key=lambda method: -len(method.direction or ""))
        found = dict(zip(order, map_in_threads(measured, order, self._n_jobs), strict=True))
        return {
            "repetition": number,
            "n_indicators": halves.fit.n_features,
            "preparation_seconds": round(prepared, 3),
            "seconds": round(time.perf_counter() - begin, 3),
            "methods": {method.key: found[method] for method in METHODS},
        }

    def halves(self, number: int, columns: np.ndarray | None = None) -> Halves:
        """Simulate, score and code the series of a repetition; only training series decide on thresholds.

        ``columns`` puts the indicators into another order.
        """
        import polars as pl

        from bayesieve.simulate import engine_scores, engine_series, engine_thresholds, score_columns

        draws = np.random.SeedSequence(self.seed, spawn_key=(number,)).spawn(3)
        train, test = (engine_series(self.n_series, random_state=np.random.default_rng(draw)) for draw in draws[:2])
        scores, names = engine_scores(train, grid=self.grid)  # type: ignore[arg-type]
        thresholds = engine_thresholds(self.grid, scores if self.grid == "quantiles" else None)  # type: ignore[arg-type]
        encoder = IndicatorEncoder(thresholds, n_jobs=self._n_jobs)
        coded = encoder.fit_coded(pl.DataFrame(score_columns(scores, names)), train.labels)
        scores, _ = engine_scores(test, grid=self.grid)  # type: ignore[arg-type]
        coded_test = encoder.transform_coded(pl.DataFrame(score_columns(scores, names)))
        coded_test.classes = coded.classes
        codes = np.searchsorted(np.asarray(coded.classes), test.labels)
        coded_test.class_codes = codes.astype(np.asarray(coded.class_codes).dtype)
        if columns is not None:
            coded, coded_test = coded.select(columns), coded_test.select(columns)
        return halve(coded, coded_test, self.smoothing, np.random.default_rng(draws[2]))

    def report(self, records: list[dict[str, Any]]) -> Report:
        from bayesieve.evaluation.reproduce.rabenoro2015_report import report

        return report(self.settings, records)


STUDY = Rabenoro2015
