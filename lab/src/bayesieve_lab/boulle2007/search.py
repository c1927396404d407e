"""Measurements of the search in section 3.5 of Boulle (2007): rounds and costs on the UCI sets, and time by table size.

They include the accuracy of the Bayes optimal classifier on waveform (section 5.1).

    python -m bayesieve_lab.boulle2007.search DIR lab/reproduction/boulle2007-search.jsonl 1e7

DIR is the folder of the data sets; the last word is the largest number of cells. Measurements in the file are not
repeated.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp

from bayesieve import CodedTable, TableEncoder
from bayesieve.criteria import AUC, MAPCost
from bayesieve.search import GreedySearch, MultiStart, SearchTrace, SubsetProblem
from bayesieve_lab.boulle2007.data import UCI
from bayesieve_lab.boulle2007.study import Boulle2007
from bayesieve_lab.claims import Differences, Judged, differ, fact, near
from bayesieve_lab.figures.scatter import Panel, Point, Series, scatter
from bayesieve_lab.growth import add_missing, grows, power, read_lines
from bayesieve_lab.made import record
from bayesieve_lab.simulate.breiman import PAIRS, base_waves, waveform
from bayesieve_lab.study import Options

FEATURES = (10, 100, 1000)
CELLS = (1e5, 3e5, 1e6, 3e6, 1e7, 3e7, 1e8)
FORWARD = ((4000, 20), (4000, 40), (4000, 80), (4000, 160), (16000, 40), (64000, 40), (256000, 40))
"""Numbers of rows and features of forward selections by AUC."""
MAX_ITER, ENOUGH = 5, 100
"""Largest number of rounds: that of the paper, and one that no search reaches."""
_COLOURS = ("#1f6f8b", "#c8553d", "#4c9a52")
_CLOSE = 1e-6
_TWICE = 1e7
_WAVEFORMS, _GRID, _OPTIMAL = 100_000, 200, 0.868
_LARGE = 1e6
"""Number of cells from which on fixed costs matter little."""


def rounds(trace: SearchTrace) -> list[int]:
    """Return, for each start of a search, the number of rounds that changed the subset.

    A round is a pass of additions followed by one of removals; an addition after a removal begins a new round.
    """
    counts = []
    for start in range(trace.n_starts):
        adding = trace.walk_moves(start).adding
        counts.append(int(adding.size > 0) + int(np.count_nonzero(adding[1:] & ~adding[:-1])))
    return counts


def final_costs(trace: SearchTrace) -> tuple[list[float], list[float]]:
    """Return two lists with one cost per start of a search: after its first pass of additions, and at its end."""
    first, last = [], []
    for start in range(trace.n_starts):
        moves = trace.walk_moves(start)
        added = int(np.argmin(moves.adding)) if not moves.adding.all() else moves.adding.size
        costs = [trace.starts[start].criterion, *moves.cost.tolist()]
        first.append(costs[added])
        last.append(costs[-1])
    return first, last


def of_set(study: Boulle2007, name: str) -> dict[str, Any]:
    """Measure the search on a data set, and return numbers by name.

    "rounds" has the number of starts with 0, 1, 2, ... rounds. "bounded" and "free" are the best costs with and without
    the paper's limit on rounds; "forward" and "whole" are standard deviations of the cost over the starts, after the
    first additions and at the end.
    """
    X, y = study.load(name)
    coded = TableEncoder(prior="published", n_jobs=1).fit_transform_coded(X, y)
    problem = SubsetProblem.of(coded, "m-estimate")
    bounded, free = (MultiStart(max_iter=most, n_jobs=1).run(problem) for most in (MAX_ITER, ENOUGH))
    forward, whole = map(np.std, final_costs(free))
    return {
        "rounds": np.bincount(rounds(free)).tolist(),
        "forward": float(forward),
        "whole": float(whole),
        "bounded": float(bounded.moves.cost.min(initial=bounded.null_criterion)),
        "free": float(free.moves.cost.min(initial=free.null_criterion)),
    }


def simulated(n_rows: int, n_features: int, seed: int = 0) -> CodedTable:
    """Return coded rows of two classes with features of four levels.

    Each feature is slightly informative about the class, later ones less.
    """
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 2, n_rows).astype(np.uint8)
    codes = np.empty((n_features, n_rows), dtype=np.uint8)
    for k in range(n_features):
        is_shifted = rng.random(n_rows) < 0.3 / np.sqrt(k + 1)
        codes[k] = np.where(is_shifted, 2 * classes, 0) + rng.integers(0, 2, n_rows)
    names = tuple(f"x{k}" for k in range(n_features))
    return CodedTable(codes, np.full(n_features, 4), names, class_codes=classes, classes=np.arange(2))


def of_cells(n_rows: int, n_features: int) -> dict[str, Any]:
    """Run one search on simulated rows; return its CPU seconds ("seconds") and numbers of starts and evaluations
    ("moves").
    """
    problem = SubsetProblem.of(simulated(n_rows, n_features), "m-estimate")
    seconds = []
    for _ in range(2 if n_rows * n_features <= _TWICE else 1):  # the first one may compile
        began = time.process_time()
        trace = MultiStart(n_jobs=1).run(problem)
        seconds.append(time.process_time() - began)
    return {"seconds": min(seconds), "starts": trace.n_starts, "moves": int(trace.moves.cost.size)}


def by_area(n_rows: int, n_features: int) -> dict[str, Any]:
    """Return, under "area seconds", the CPU seconds of a complete forward selection by AUC on simulated rows."""
    problem = SubsetProblem.of(simulated(n_rows, n_features), "m-estimate", AUC())
    seconds = []
    for _ in range(2):  # the first one may compile
        began = time.process_time()
        GreedySearch("forward", tol=-np.inf, n_jobs=1).run(problem)
        seconds.append(time.process_time() - began)
    return {"area seconds": min(seconds)}


def optimal(n_rows: int, seed: int = 0) -> dict[str, Any]:
    """Return the accuracy of the Bayes optimal classifier on ``n_rows`` rows of waveform, under the key "optimal".

    The mixing weight of the waves is integrated out on a grid.
    """
    X, y = waveform(n_rows, random_state=seed)
    u = (np.arange(_GRID) + 0.5)[:, None] / _GRID
    log_densities = []
    for one, other in PAIRS:
        means = u * base_waves()[one] + (1 - u) * base_waves()[other]
        log_densities.append(logsumexp(X @ means.T - 0.5 * (means**2).sum(axis=1), axis=1))
    return {"optimal": float(np.mean(np.argmax(log_densities, axis=0) == y))}


def wanted(study: Boulle2007, most_cells: float) -> Iterator[tuple[dict[str, Any], Callable[[], dict[str, Any]]]]:
    """Yield the measurements to make: for each, the fields that identify it, and a function that returns its results.

    Tables with more than ``most_cells`` cells (rows times features) are omitted.
    """
    yield {"waveforms": _WAVEFORMS}, partial(optimal, _WAVEFORMS)
    for n_rows, n_features in FORWARD:
        yield {"forward rows": n_rows, "forward features": n_features}, partial(by_area, n_rows, n_features)
    for one in UCI:
        if one.ours in study.names:
            yield {"data": one.ours}, partial(of_set, study, one.ours)
    for cells in CELLS:
        for n_features in FEATURES:
            n_rows = round(cells / n_features)
            if cells <= most_cells:
                yield {"rows": n_rows, "features": n_features}, partial(of_cells, n_rows, n_features)


def judge_search(measurements: Sequence[dict[str, Any]]) -> tuple[Judged, ...]:
    """Judge the claims of section 3.5, and the optimal accuracy in section 5.1.

    ``measurements`` are the lines of the file of measurements.
    """
    sets = [line for line in measurements if "data" in line]
    timed = [line for line in measurements if "seconds" in line]
    claims = [
        _of_prior(),
        *(_of_waveforms(line["optimal"], line["waveforms"]) for line in measurements if "waveforms" in line),
    ]
    if sets:
        shares = np.array([sum(line["rounds"][:3]) / sum(line["rounds"]) for line in sets])
        over = f"{len(sets)} data sets"
        costs = Differences(np.array([line["forward"] - line["whole"] for line in sets]), "data sets")
        more = [line["bounded"] / line["free"] - 1 for line in sets]
        worst = max(range(len(sets)), key=lambda k: more[k])
        checks_of = {
            "The search converges in one or two rounds in most cases": differ(
                {"share of the starts less a half": Differences(shares - 0.5, "data sets")}, 1, form="+.0%"
            ),
            f"At most {MAX_ITER} rounds do not lower the quality of the search": [
                fact(
                    f"higher cost ({sets[worst]['data']} at most)",
                    max(more) <= _CLOSE,
                    max(more),
                    0.0,
                    f"{_CLOSE:g}",
                    over,
                    ".1g",
                )
            ],
            "Fast forward selection alone varies more with the order of the features than the whole search": differ(
                {"standard deviation of the costs": costs}, 1, form="+.3g", margin=None
            ),
        }
        claims += [Judged("Section 3.5", sentence, tuple(checks)) for sentence, checks in checks_of.items()]
    forward = {
        (line["forward rows"], line["forward features"]): line for line in measurements if "forward rows" in line
    }
    if set(forward) >= {*FORWARD}:
        claims.append(_of_areas({shape: line["area seconds"] for shape, line in forward.items()}))
    timed = [line for line in timed if line["rows"] * line["features"] >= _LARGE]
    powers = {k: power(*sizes_of(timed, k)) for k in FEATURES if len(sizes_of(timed, k)[0]) > 2}
    if powers:
        checks = tuple(grows(f"{k} features", value, 1, "tables") for k, value in powers.items())
        claims.append(Judged("Section 3.5", "The search takes O(K N log(K N))", checks))
    return tuple(claims)


def _of_prior(n_features: int = 19) -> Judged:
    """Judge whether the first and the last feature cost about log K and log 2 in the prior of section 3.3.

    K is ``n_features``, by default the number of features of waveform.
    """
    prior = np.asarray(MAPCost(n_features).prior(np.arange(n_features + 1)))
    costs = {
        "first feature": (prior[1] - prior[0], np.log(n_features)),
        "last feature": (np.diff(prior)[-1], np.log(2)),
    }
    checks = tuple(near(what, float(paper), float(ours), 0.05, form=".3f") for what, (ours, paper) in costs.items())
    return Judged("Section 3.3", "The first feature costs about log K, the last about log 2 (K = 19)", checks)


def _of_waveforms(accuracy: float, n_rows: int) -> Judged:
    """Judge the paper's accuracy of the Bayes optimal classifier by the one measured on ``n_rows`` rows."""
    error = float(np.sqrt(accuracy * (1 - accuracy) / n_rows))
    sentence = f"The Bayes optimal classifier has an accuracy of {_OPTIMAL:.1%} on waveform"
    margin = 2 * error + 0.0005  # three digits are given
    check = near("accuracy", _OPTIMAL, accuracy, margin, f"{n_rows:,} simulated rows", ".2%")
    return Judged("Section 5.1", sentence, (check,))


def _of_areas(seconds: Mapping[tuple[int, int], float]) -> Judged:
    """Judge whether the time of forward selection by AUC grows with K^2 and N log N, for K features and N rows.

    ``seconds`` are CPU seconds by (rows, features).
    """
    (n_rows, _), (_, n_features) = FORWARD[0], FORWARD[-1]
    by_features = {k: value for (n, k), value in seconds.items() if n == n_rows}
    by_rows = {n * float(np.log2(n)): value for (n, k), value in seconds.items() if k == n_features}
    checks = (
        grows("K", power(list(by_features), list(by_features.values())), 2, "tables"),
        grows("N log N", power(list(by_rows), list(by_rows.values())), 1, "tables"),
    )
    return Judged("Section 2.3", "SNB(AUC) by forward selection takes O(K^2 N log N)", checks)


def sizes_of(timed: Sequence[dict[str, Any]], n_features: int) -> tuple[list[float], list[float]]:
    """Return two lists over the measurements with ``n_features`` features: K N log2(K N) for K features and N rows, and
    seconds.

    ``timed`` are measurements of the search on simulated rows, see `of_cells`.
    """
    lines = [line for line in timed if line["features"] == n_features]
    cells = [line["rows"] * line["features"] for line in lines]
    return [n * float(np.log2(n)) for n in cells], [line["seconds"] for line in lines]


def time_figure(measurements: Sequence[dict[str, Any]]) -> str:
    """Return an SVG of the CPU seconds of the search by K N log2(K N), for K features and N rows, both in log10.

    ``measurements`` are the lines of the file of measurements.
    """
    timed, series = [line for line in measurements if "seconds" in line], []
    for n_features, colour in zip(FEATURES, _COLOURS, strict=True):
        at = tuple(Point(x, y) for x, y in np.log10(sizes_of(timed, n_features)).T.tolist())
        if at:
            series.append(Series(f"{n_features} features", colour, at, joined=True))
    every = [point for one in series for point in one.points]
    low, high = (f(point.x for point in every) for f in (min, max))
    middle = float(np.mean([point.y - point.x for point in every]))
    line = (Point(low, low + middle), Point(high, high + middle))
    series.append(Series("proportional", "#999999", line, joined=True, radius=0))
    title = "Time of MS(FFWBW)"
    return scatter(title, [Panel(title, "log10 of K N log2(K N)", "log10 of CPU seconds", series)])


def search_path(results: Path) -> Path:
    """Return the path of the file with these measurements, next to the file of results ``results``."""
    return results.with_name(f"{results.stem}-search.jsonl")


def read_search(results: Path) -> list[dict[str, Any]]:
    """Return the measurements in the file next to the file of results ``results``; empty if there is none."""
    return read_lines(search_path(results))


def main(folder: str, path: str, most_cells: str = "1e7") -> None:
    """Run the missing measurements, save them in the file ``path``, and draw the figure next to it.

    ``folder`` has the data sets; ``most_cells`` is the largest number of rows times features.
    """
    study, file = Boulle2007(Options(data=Path(folder), n_jobs=1)), Path(path)
    lines = add_missing(file, wanted(study, float(most_cells)))
    record(file, study.settings)
    file.with_suffix(".svg").write_text(time_figure(lines), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
