"""Page on Rabenoro et al. (2015), with a column for each grid of thresholds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from bayesieve_lab.comparison.results import Comparison
from bayesieve_lab.rabenoro2015.figure import grids_figure
from bayesieve_lab.rabenoro2015.report import share_of_ties, values_of
from bayesieve_lab.rabenoro2015.study import GRIDS, METHODS, N_SERIES, REPETITIONS_KEPT, VARIANTS, Rabenoro2015
from bayesieve_lab.rabenoro2015.subset_choice import SECOND_HALF, Method
from bayesieve_lab.study import Options
from bayesieve_lab.tables import TextTable, document, mean_and_spread

Values = Mapping[str, Mapping[str, np.ndarray]]
"""Values of a measure in every repetition, by grid and method."""


def grids_page(folder: Path) -> dict[str, str]:
    """Return the Markdown page and its figure (SVG), by file name, from the results of all grids in a folder."""
    comparisons = saved_grids(folder)
    errors, features = (values_by_grid(comparisons, what) for what in ("test", "features"))
    text = document(
        Path(__file__).with_name("page.md"),
        citation=Rabenoro2015.citation,
        n=REPETITIONS_KEPT,
        n_series=N_SERIES,
        grids=GRIDS,
        main=errors_table(METHODS, errors, features),
        variants=errors_table(VARIANTS, errors, features),
        paths=_paths(comparisons, errors),
        tau=", ".join(f"{_tau(errors[grid]):.2f} ({grid})" for grid in GRIDS),
    )
    return {"rabenoro2015.md": text, "rabenoro2015.svg": grids_figure(errors).to_svg()}


def values_by_grid(comparisons: Mapping[str, Comparison], what: str) -> Values:
    """Return the values of the measure ``what`` in every repetition, (n_repetitions,), by grid and method.

    ``comparisons`` are the results by grid; for the names of measures, see `values_of`.
    """
    return {grid: values_of(comparison, what) for grid, comparison in comparisons.items()}


def saved_grids(folder: Path) -> dict[str, Comparison]:
    """Return the results that are saved in a folder, by grid."""
    studies = {grid: Rabenoro2015(Options(grid=grid, repetitions=REPETITIONS_KEPT)) for grid in GRIDS}
    return {grid: study.saved(folder / f"rabenoro2015-{grid}.jsonl") for grid, study in studies.items()}


def errors_table(methods: Sequence[Method], errors: Values, features: Values) -> TextTable:
    """Return a table with one row per method: the paper's test error and number of indicators, and ours with each grid.

    ``errors`` and ``features`` are our values in every repetition.
    """

    def cell(grid: str, key: str) -> str:
        """Return mean test error and number of indicators, with a grid, of the method whose name in the results is
        ``key``.
        """
        return f"{mean_and_spread(errors[grid][key], 4)} ({features[grid][key].mean():.0f})"

    rows = [(*_names(one), _published(one), *(cell(grid, one.key) for grid in GRIDS)) for one in methods]
    return TextTable.of(("Method", "Guided by", ">Paper", *(f">{grid}" for grid in GRIDS)), rows)


def _names(method: Method) -> tuple[str, str]:
    """Return the name of a method, and the error that guides it, in words."""
    return method.name, f"{method.guide}{SECOND_HALF}" if method.second_half else method.guide


def _published(method: Method) -> str:
    """Return the paper's error and number of indicators of a method as text; empty if there are none."""
    return "" if method.paper_error is None else f"{method.paper_error:.4f} ({method.paper_features})"


def _tau(errors: Mapping[str, np.ndarray]) -> float:
    """Return Kendall's correlation, over the methods, of the paper's test errors with the means of ours.

    ``errors`` are our test errors in every repetition, by method.
    """
    pairs = [(one.paper_error, errors[one.key].mean()) for one in METHODS if one.paper_error is not None]
    return float(kendalltau(*zip(*pairs, strict=True)).statistic)


def _paths(comparisons: Mapping[str, Comparison], errors: Values) -> TextTable:
    """Return a table with one row per method, and three columns per grid.

    These are the mean lowest test error on the path of the method, the number of repetitions in which it had the lowest
    test error of all methods, and the share of tied steps. ``errors`` are test errors in every repetition.
    """
    best, ties = (values_by_grid(comparisons, what) for what in ("lowest_test_error", "tied_steps"))
    lowest = {grid: np.min([errors[grid][one.key] for one in METHODS], axis=0) for grid in GRIDS}
    cells: dict[str, Callable[[str, str], str]] = {
        "best": lambda grid, key: f"{best[grid][key].mean():.4f}",
        "first in": lambda grid, key: str(int((errors[grid][key] <= lowest[grid] + 1e-12).sum())),
        "tied": lambda grid, key: share_of_ties(ties[grid][key]),
    }
    columns = ("Method", "Guided by", *(f">{grid}, {name}" for name in cells for grid in GRIDS))
    rows = [(*_names(one), *(cell(grid, one.key) for cell in cells.values() for grid in GRIDS)) for one in METHODS]
    return TextTable.of(columns, rows)
