"""Filters not in table 1 of Rabenoro et al. (2015): mRMR as a quotient, and the redundancy of selected indicators.

    python -m bayesieve_lab.rabenoro2015.filters lab/reproduction/rabenoro2015-filters.jsonl 30

On the draws of ``bayesieve reproduce rabenoro2015``; measurements in the file are not repeated.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bayesieve import CodedTable
from bayesieve.counts.pairs import PairInformation
from bayesieve.selection.filters import rank_by_mrmr
from bayesieve_lab.claims import Check, Differences, Judged, differ
from bayesieve_lab.comparison.results import Key
from bayesieve_lab.growth import add_missing
from bayesieve_lab.made import record
from bayesieve_lab.rabenoro2015.study import GRIDS, WRAPPERS, EngineIndicators, Rabenoro2015
from bayesieve_lab.rabenoro2015.subset_choice import FILTERS, Halves, best_of_path, halve
from bayesieve_lab.study import Options

QUOTIENT = "mRMR filter, quotient"
_LEADING = 19
"""Number of indicators whose redundancy is compared: that selected by mRMR in the paper."""
RANKINGS: dict[str, Callable[[CodedTable], np.ndarray]] = {
    **FILTERS,
    QUOTIENT: lambda fit: rank_by_mrmr(fit, "quotient")[0],
}


def coded(study: Rabenoro2015, number: int) -> tuple[CodedTable, CodedTable]:
    """Return the coded training and test series of draw ``number`` of a study, with their classes."""
    scores, labels = study.draw(number)
    encoder, n = EngineIndicators(study.grid), study.n_series
    train, test = encoder.fit_transform_coded(scores[:n], labels[:n]), encoder.transform_coded(scores[n:])
    codes = np.searchsorted(np.asarray(train.classes), labels[n:]).astype(np.uint8)
    return train, test.with_rows(class_codes=codes, classes=train.classes)


def redundancy(fit: CodedTable, features: np.ndarray) -> float:
    """Return the mean mutual information of two different features of a subset, in nats.

    ``fit`` are the coded rows, ``features`` the positions of the subset's features.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve.counts import CodedTable
    >>> from bayesieve_lab.rabenoro2015.filters import redundancy
    >>> codes = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1]], dtype=np.uint8)
    >>> table = CodedTable(codes, np.array([2, 2, 2]), ("a", "b", "c"))
    >>> round(redundancy(table, np.array([0, 1])), 3), round(redundancy(table, np.array([0, 2])), 3)
    (0.693, 0.0)
    """
    pairs = PairInformation(fit.select(features)).mutual_information(range(features.size))
    return float(pairs[np.triu_indices(features.size, 1)].mean())


def measured(study: Rabenoro2015, number: int) -> dict[str, dict[str, float]]:
    """Return results of each filter on draw ``number``: "features", "error" and "leading", by name of the filter.

    They are the size and test error of the selected subset, and the redundancy of the first 19 indicators, in nats.
    """
    train, test = coded(study, number)
    halves: Halves = halve(train, study.smoothing)
    measures = {}
    for name, ranking in RANKINGS.items():
        order = ranking(halves.fit)
        selected = best_of_path(halves, order)
        measures[name] = {
            "features": int(selected.sum()),
            "error": round(halves.error(selected, halves.scored(test)), 10),
            "leading": round(redundancy(halves.fit, order[:_LEADING]), 6),
        }
    return measures


def wanted(repetitions: int) -> Iterator[tuple[dict[str, Any], Callable[[], dict[str, Any]]]]:
    """Yield the measurements to make, on ``repetitions`` draws of every grid.

    Each is a pair of the fields that identify it, and a function that returns its results.
    """
    for grid in GRIDS:
        study = Rabenoro2015(Options(grid=grid))
        for number in range(repetitions):
            yield {"grid": grid, "draw": number + 1}, partial(measured, study, number)


def judge_filters(
    lines: Sequence[dict[str, Any]], rows: Mapping[Key, Mapping[str, Any]], grid: str
) -> tuple[Judged, ...]:
    """Judge the claims about filters for a grid.

    ``lines`` are the measurements of filters; ``rows`` are results of the wrappers on the same draws.
    """
    mine = {line["draw"]: line for line in lines if line["grid"] == grid}

    def of(name: str, what: str) -> list[float]:
        """Return the results ``what`` ("features", "error" or "leading") of the filter ``name``, one for each draw."""
        return [line[name][what] for line in mine.values()]

    def by_search(key: str) -> list[float]:
        """Return the test errors of the wrapper with the name ``key`` in the results, one for each draw."""
        return [1.0 - rows[f"draw {draw}", key, 0, 0]["accuracy"] for draw in mine]

    quotient = of(QUOTIENT, "error")
    wrappers = {f"{one.key} - quotient": Differences.of(by_search(one.key), quotient) for one in WRAPPERS}
    ranking, mrmr = FILTERS
    redundant = {
        f"{ranking} - {other}": Differences.of(of(ranking, "leading"), of(other, "leading"))
        for other in (mrmr, QUOTIENT)
    }
    claims: dict[str, tuple[Check, ...]] = {
        "Wrappers err less than mRMR in its quotient form": differ(wrappers, form="+.4f"),
        "Ranking by mutual information selects very redundant indicators, mRMR avoids them (mean information of two "
        f"of the first {_LEADING})": differ(redundant, 1, "more", margin=None),
    }
    return tuple(Judged("Section 6", sentence, checks) for sentence, checks in claims.items())


def main(path: str, repetitions: str = "30") -> None:
    """Run the missing measurements on ``repetitions`` draws of every grid, and save them in the file ``path``."""
    add_missing(Path(path), wanted(int(repetitions)))
    record(Path(path), Rabenoro2015(Options()).settings | {"grid": GRIDS})


if __name__ == "__main__":
    main(*sys.argv[1:])
