"""Entropy splits (MDLP) against sorting the column and against NumPy; information gains against scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from benchmarks.common.measuring import Report, alternate, markdown_table, options, spread, verdict
from benchmarks.common.tables import distinct_column

TIMES_ARGSORT = 4.0
DEPENDENCES = ("noise", "steps", "smooth")
LEVELS = (2, 4, 10, 50)


def main() -> None:
    """MDLP on every kind of column, then the information gains of coded tables."""
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, help="rows of all tables (default 1,000,000; 20,000 with --quick)")
    arguments = parser.parse_args()
    n_rows = arguments.rows or (20_000 if arguments.quick else 1_000_000)
    rounds = 2 if arguments.quick else 5
    report = Report("filters", "Filters: entropy splits and information gains", arguments)
    report.add(
        f"## MDLP\n\n`MDLPDiscretizer().fit` of one float column of {n_rows:,} distinct values in random order, "
        "against `numpy.argsort` of it and against the same splits in NumPy (cumulated class counts, entropies of all "
        f"bounds of a part at once), {rounds} rounds in turns. The classes depend on the values not at all, in 20 "
        "steps, or smoothly."
    )
    rows, worst = [], 0.0
    for dependence in DEPENDENCES:
        for n_classes in (2, 5):
            row, ratio = splits(n_rows, dependence, n_classes, rounds)
            rows.append(row)
            worst = max(worst, ratio)
    header = ["dependence", "classes", "intervals", "MDLP", "argsort", "NumPy", "MDLP / argsort", "NumPy / MDLP"]
    report.add("\n" + markdown_table(header, rows))
    report.add(f"\nLargest ratio to argsort: {verdict(worst, TIMES_ARGSORT, unit=' x')}.")
    n_features = 10 if arguments.quick else 50
    report.add(
        f"\n## Information gain\n\nAll gains of a coded table of {n_rows:,} rows x {n_features} features of one byte, "
        "rows listed class after class (as fits hold them), counting included. GB/s are bytes of codes a second, on "
        "one core, with NumPy's `max` of the same codes, which only reads them, for comparison. "
        "`mutual_info_classif(discrete_features=True)` of scikit-learn takes the same codes, as many features as it "
        "does in a second or so; its time is scaled to all."
    )
    header = ["levels", "classes", "IG", "GB/s", "IIG", "GB/s", "max, GB/s", "scikit-learn", "scikit-learn / IG"]
    report.add(
        "\n" + markdown_table(header, [gains(n_rows, n_features, n, k, rounds) for n in LEVELS for k in (2, 10)])
    )
    report.close()


def splits(n_rows: int, dependence: str, n_classes: int, rounds: int) -> tuple[list[Any], float]:
    """One row of the table of MDLP, and the ratio to argsort."""
    from bayesieve import MDLPDiscretizer

    values, codes = distinct_column(n_rows, dependence, n_classes)
    X = values[:, None]
    fitted = MDLPDiscretizer().fit(X, codes)
    if not np.array_equal(fitted.cut_points_[0], numpy_cuts(values, codes, n_classes)):
        raise RuntimeError(f"The cuts differ from those of NumPy ({dependence}, {n_classes} classes).")
    tasks: dict[str, Callable[[], Any]] = {
        "mdlp": lambda: MDLPDiscretizer().fit(X, codes),
        "argsort": lambda: np.argsort(values),
        "numpy": lambda: numpy_cuts(values, codes, n_classes),
    }
    runs = alternate(tasks, rounds)
    own, sort, peer = (median(runs[name]) for name in ("mdlp", "argsort", "numpy"))
    times = [spread(runs["mdlp"]), f"{sort:.3g} s", f"{peer:.3g} s"]
    cells = [dependence, n_classes, fitted.cut_points_[0].size + 1, *times, f"{own / sort:.2f}", f"{peer / own:.1f}"]
    return cells, own / sort


def numpy_cuts(values: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """The cut points by plain NumPy: sort, cumulate the classes, take the best bound of a part, go on with both."""
    order = np.argsort(values)
    ascending = values[order]
    cumulated = np.zeros((values.size + 1, n_classes))
    np.cumsum(codes[order][:, None] == np.arange(n_classes), axis=0, out=cumulated[1:])
    found: list[float] = []
    waiting = [(0, values.size)]
    while waiting:
        start, stop = waiting.pop()
        bounds = start + 1 + np.flatnonzero(ascending[start + 1 : stop] > ascending[start : stop - 1])
        if bounds.size == 0:
            continue
        below, above = cumulated[bounds] - cumulated[start], cumulated[stop] - cumulated[bounds]
        left = _bits(below) + _bits(above)  # N times the entropy that a split leaves
        best = int(np.argmin(left))
        whole = cumulated[stop] - cumulated[start]
        n, k, before = stop - start, np.count_nonzero(whole), float(_bits(whole))
        parts = [(np.count_nonzero(part[best]), float(_bits(part[best])) / part[best].sum()) for part in (below, above)]
        spread_of = k * before / n - sum(classes * entropy for classes, entropy in parts)
        if before - left[best] > np.log2(n - 1) + np.log2(3.0**k - 2) - spread_of:
            found.append((ascending[bounds[best] - 1] + ascending[bounds[best]]) / 2)
            waiting += [(start, int(bounds[best])), (int(bounds[best]), stop)]
    return np.sort(found)


def _bits(counts: np.ndarray) -> np.ndarray:
    """N times the entropy of class counts, in bits."""
    total = counts.sum(axis=-1)
    terms = (counts * np.log2(np.maximum(counts, 1.0))).sum(axis=-1)
    return total * np.log2(np.maximum(total, 1.0)) - terms


def gains(n_rows: int, n_features: int, n_levels: int, n_classes: int, rounds: int) -> list[Any]:
    """One row of the table of information gains."""
    from sklearn.feature_selection import mutual_info_classif

    from bayesieve import CodedTable
    from bayesieve.counts import ContingencyCounts
    from bayesieve.counts.information import class_imprecise_information, class_information

    rng = np.random.default_rng(4)
    classes = np.sort(rng.integers(0, n_classes, n_rows)).astype(np.uint8)
    codes = rng.integers(0, n_levels, (n_features, n_rows), dtype=np.uint8)
    codes[rng.random(codes.shape) < 0.1] = 0
    names = tuple(f"x{k}" for k in range(n_features))

    def counts() -> ContingencyCounts:
        # A new table each time, because a table caches its counts.
        levels = np.full(n_features, n_levels)
        return CodedTable(codes, levels, names, classes, np.arange(n_classes)).counts

    taken = min(n_features, max(1, int(8e6 / n_rows)))
    few = np.ascontiguousarray(codes[:taken].T)
    tasks: dict[str, Callable[[], Any]] = {
        "IG": lambda: class_information(counts()),
        "IIG": lambda: class_imprecise_information(counts()),
        "max": codes.max,
        "sklearn": lambda: mutual_info_classif(few, classes, discrete_features=True),
    }
    if not np.allclose(tasks["IG"]()[:taken], tasks["sklearn"](), rtol=0, atol=1e-12):
        raise RuntimeError(f"The gains differ from those of scikit-learn ({n_levels} levels, {n_classes} classes).")
    runs = alternate(tasks, rounds)
    own, imprecise, reading = (median(runs[name]) for name in ("IG", "IIG", "max"))
    peer = median(runs["sklearn"]) * n_features / taken
    speeds = [f"{codes.size / seconds / 1e9:.1f}" for seconds in (own, imprecise, reading)]
    times = [f"{own:.3g} s", speeds[0], f"{imprecise:.3g} s", speeds[1], speeds[2], f"{peer:.3g} s"]
    return [n_levels, n_classes, *times, f"{peer / own:.0f}"]


if __name__ == "__main__":
    main()
