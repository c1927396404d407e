"""Measurements of the complexities in section 4.1 of Rabenoro et al. (2015): time by number of indicators.

    python -m bayesieve_lab.rabenoro2015.complexity lab/reproduction/rabenoro2015-complexity.jsonl

Measurements in the file are not repeated.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.naive_bayes import BernoulliNB

from bayesieve.search import GreedySearch
from bayesieve_lab.claims import Judged, fact
from bayesieve_lab.figures.scatter import Panel, Point, Series, scatter
from bayesieve_lab.growth import add_missing, grows, power
from bayesieve_lab.made import record
from bayesieve_lab.rabenoro2015.study import EngineIndicators, Rabenoro2015
from bayesieve_lab.rabenoro2015.subset_choice import FILTERS, Halves, halve
from bayesieve_lab.study import Options

SIZES = (50, 100, 200, 400, 814)
SEARCHES = ("forward", "backward", "forward-backward", "backward-forward")
GUIDE = "error_probability"
REFITTED, FEW = "refitted", (25, 50, 100, 200)
"""Forward search that fits scikit-learn's naive Bayes again for every candidate, and the numbers of indicators for it.
"""
_COLOURS = ("#777777", "#8a5fb0", "#c8553d", "#d9a521", "#2f6db5", "#4c9a52")
_ROUNDS = 3


def tasks(halves: Halves) -> dict[str, Callable[[], Any]]:
    """Return functions without arguments to be timed, by name: filters and searches.

    A filter counts and ranks all indicators; a search is run on the first half of the training rows ``halves``.
    """
    problem = halves.problem(halves.validation, GUIDE)
    every_row = np.ones(halves.fit.n_rows, dtype=bool)
    rankings = {name: lambda rank=rank: rank(halves.fit.take(every_row)) for name, rank in FILTERS.items()}
    searches = {name: partial(GreedySearch(direction=name, n_jobs=1).run, problem) for name in SEARCHES}
    return {**rankings, **searches}


def refit(halves: Halves) -> list[int]:
    """Run a forward selection by training accuracy that fits every candidate model from scratch with scikit-learn.

    Returns the positions of all indicators in the order of their addition. ``halves`` are the training rows; only the
    first half is used.
    """
    fit = halves.fit
    codes, classes = np.array(fit.codes).T, np.asarray(fit.class_codes)
    chosen: list[int] = []
    while left := sorted({*range(fit.n_features)} - {*chosen}):
        tried = [codes[:, [*chosen, feature]] for feature in left]
        scores = [BernoulliNB().fit(rows, classes).score(rows, classes) for rows in tried]
        chosen.append(left[int(np.argmax(scores))])
    return chosen


def seconds_of(task: Callable[[], Any]) -> dict[str, float]:
    """Return the least CPU seconds of several runs of a task, under the key "seconds"."""
    seconds = []
    for _ in range(_ROUNDS):
        began = time.process_time()
        task()
        seconds.append(time.process_time() - began)
    return {"seconds": min(seconds)}


def wanted() -> Iterator[tuple[dict[str, Any], Callable[[], dict[str, float]]]]:
    """Yield the measurements to make, on random indicators of the first draw.

    Each is a pair of the fields that identify it, and a function that returns its results.
    """
    study = Rabenoro2015(Options())
    scores, labels = study.draw(0)
    rows = slice(study.n_series)
    coded = EngineIndicators(study.grid).fit_transform_coded(scores[rows], labels[rows])
    order = np.random.default_rng(0).permutation(coded.n_features)
    for size in SIZES:
        halves = halve(coded.select(order[:size]), study.smoothing)
        for name, task in tasks(halves).items():
            yield {"method": name, "indicators": size}, partial(seconds_of, task)
    for size in FEW:
        halves = halve(coded.select(order[:size]), study.smoothing)
        yield {"method": REFITTED, "indicators": size}, partial(seconds_of, partial(refit, halves))


def times(measurements: Sequence[dict[str, Any]]) -> dict[str, dict[int, float]]:
    """Return the CPU seconds by method and number of indicators; ``measurements`` are the lines of the file."""
    seconds: dict[str, dict[int, float]] = {}
    for line in measurements:
        seconds.setdefault(line["method"], {})[line["indicators"]] = line["seconds"]
    return seconds


def judge_complexity(measurements: Sequence[dict[str, Any]]) -> tuple[Judged, ...]:
    """Judge the claims of section 4.1 and of the abstract about running times.

    ``measurements`` are the lines of the file.
    """
    seconds = times(measurements)
    powers = {name: power(list(of), list(of.values())) for name, of in seconds.items()}
    largest = {name: of[max(of)] for name, of in seconds.items()}
    (ranking, mrmr), simple = FILTERS, SEARCHES[:2]
    overhead = "At these sizes the time that does not depend on the number of indicators decides."
    bounds: dict[str, tuple[Sequence[str], float, str]] = {
        "Forward and backward searches take O(N P^2)": (simple, 2, ""),
        "mRMR is comparable: ranking all indicators takes O(N P^2)": ((mrmr,), 2, ""),
        "Ranking by mutual information takes O(N P)": ((ranking,), 1, overhead),
        "Floating searches grow as P^2, too": (SEARCHES[2:], 2, ""),
        "Without incremental evaluation, a forward search takes O(N P^3) (scikit-learn's BernoulliNB)": (
            (REFITTED,) if REFITTED in seconds else (),
            3,
            f"{overhead} The power is nearer to 2.",
        ),
    }
    verdicts = [
        Judged("Section 4.1", sentence, checks, unlike=unlike)
        for sentence, (names, most, unlike) in bounds.items()
        if (checks := tuple(grows(name, powers[name], most, f"{len(seconds[name])} sizes") for name in names))
    ]
    longer = "Forward and backward searches take at least ten times as long as ranking by mutual information"
    ratios = {name: largest[name] / largest[ranking] for name in simple}
    checks = tuple(
        fact(name, ratio >= 10, ratio, "at least 10", "", "814 indicators", ".0f") for name, ratio in ratios.items()
    )
    return (*verdicts, Judged("Section 4.1", longer, checks, unlike="Times of another implementation."))


def _of_searches(measurements: Sequence[dict[str, Any]]) -> dict[str, dict[int, float]]:
    """Return the CPU seconds by method and number of indicators, without the search that refits every model.

    ``measurements`` are the lines of the file.
    """
    return {name: of for name, of in times(measurements).items() if name != REFITTED}


def complexity_figure(measurements: Sequence[dict[str, Any]]) -> str:
    """Return an SVG of the CPU seconds of filters and searches by number of indicators, both in log10.

    ``measurements`` are the lines of the file.
    """
    series = [
        Series(
            name,
            colour,
            tuple(Point(size, seconds) for size, seconds in np.log10(list(of.items())).tolist()),
            joined=True,
        )
        for (name, of), colour in zip(_of_searches(measurements).items(), _COLOURS, strict=True)
    ]
    low, high = (float(np.log10(f(SIZES))) for f in (min, max))
    top = series[2].points[-1].y
    series.append(Series("P^2", "#bbbbbb", (Point(low, top - 2 * (high - low)), Point(high, top)), True, 0))
    title = "Time by number of indicators"
    return scatter(title, [Panel(title, "log10 of indicators P", "log10 of CPU seconds", series)])


def main(path: str) -> None:
    """Run the missing measurements, save them in the file ``path``, and draw the figure next to it."""
    lines = add_missing(Path(path), wanted())
    record(Path(path), Rabenoro2015(Options()).settings)
    Path(path).with_suffix(".svg").write_text(complexity_figure(lines), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
