# ruff: noqa: T201
"""Tests of possible reasons for the differences between our table 1 and that of Rabenoro et al. (2015).

    python -m bayesieve_lab.rabenoro2015.why levels 10
    python -m bayesieve_lab.rabenoro2015.why levels 30 "error, columns shuffled"

The optional last word selects variants whose names contain it. Per repetition, on the halves and test series of
``bayesieve reproduce rabenoro2015``: mRMR in its other form and at the paper's size, the searches with shuffled columns
(which breaks ties at random), and floating searches whose phases are judged by the criterion that guides them rather
than by the validation rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal

import numpy as np

from bayesieve import CodedTable
from bayesieve.search import GreedySearch
from bayesieve.selection.filters import rank_by_mrmr
from bayesieve_lab import Options, make_study
from bayesieve_lab.rabenoro2015.filters import coded
from bayesieve_lab.rabenoro2015.study import WRAPPERS
from bayesieve_lab.rabenoro2015.subset_choice import Halves, best_of_path, best_on_walks, by_information, halve


def main(grid: str, repetitions: int, wanted: str = "") -> None:
    """Print mean size and test error of every variant with a grid, and the standard deviation and list of its errors.

    ``repetitions`` is the number of draws; only variants whose names contain ``wanted`` are run.
    """
    study: Any = make_study("rabenoro2015", Options(grid=grid))
    errors: dict[str, list[tuple[int, float]]] = {}
    for number in range(repetitions):
        for name, choose, halves, test in variants(study, number):
            if wanted in name:
                selected = choose()
                errors.setdefault(name, []).append((int(selected.sum()), halves.error(selected, halves.scored(test))))
        print(f"repetition {number + 1} of {repetitions}", file=sys.stderr, flush=True)
    for name, results in errors.items():
        sizes, of_variant = np.array(results).T
        spread = of_variant.std(ddof=1) if of_variant.size > 1 else 0.0
        print(f"{name:60s} {sizes.mean():4.0f} indicators, test error {of_variant.mean():.4f} ± {spread:.4f}")
        print(" " * 60, " ".join(f"{error:.4f}" for error in of_variant))


def variants(study: Any, number: int) -> Iterator[tuple[str, Callable[[], np.ndarray], Halves, CodedTable]]:
    """Yield every variant on repetition ``number`` of a study, as a tuple of four.

    It has the name, a function that returns a mask (n_features,) of the selected subset, the halves of the training
    rows, and the coded test rows.
    """
    train, test = coded(study, number)
    order = np.random.default_rng(number).permutation(train.n_features)
    plain, shuffled = (
        (halve(rows, study.smoothing), tested)
        for rows, tested in ((train, test), (train.select(order), test.select(order)))
    )
    halves = plain[0]
    yield "MI filter", lambda: best_of_path(halves, by_information(halves.fit)), *plain
    for form in ("difference", "quotient"):
        yield f"mRMR filter, {form}", partial(ranked, halves, form), *plain
        yield f"mRMR filter, {form}, the first 19", partial(ranked, halves, form, 19), *plain
    for wrapper in WRAPPERS:
        yield wrapper.key, partial(search, halves, wrapper), *plain
        yield f"{wrapper.key}, columns shuffled", partial(search, shuffled[0], wrapper), *shuffled
        if "-" in str(wrapper.direction):
            yield f"{wrapper.key}, phases by their criterion", partial(search, halves, wrapper, blind=True), *plain


def ranked(halves: Halves, form: Literal["difference", "quotient"], size: int | None = None) -> np.ndarray:
    """Return a mask (n_features,) of the subset that mRMR selects, in the form "difference" or "quotient".

    It has the first ``size`` features or, if that is None, the leading features with the lowest error on the second
    half of the rows.
    """
    order, _ = rank_by_mrmr(halves.fit, form)
    if size is None:
        return best_of_path(halves, order)
    mask = np.zeros(order.size, dtype=bool)
    mask[order[:size]] = True
    return mask


def search(halves: Halves, wrapper: Any, *, blind: bool = False) -> np.ndarray:
    """Return a mask (n_features,) of the subset on the path of a search with the lowest error on the second half of the
    rows.

    ``wrapper`` is the `Method` that specifies the search. With ``blind``, its phases are judged by the criterion that
    guides them rather than by the second half.
    """
    problem = halves.problem(None if blind else halves.validation, wrapper.criterion)
    trace = GreedySearch(direction=wrapper.direction, n_jobs=1).run(problem)
    return best_on_walks(trace, halves) if blind else np.asarray(trace.chosen)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
