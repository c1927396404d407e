"""Information of all pairs of features, and the mRMR ranking based on it, against scikit-learn and NumPy."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl
from sklearn.metrics import mutual_info_score

from bayesieve import CFSSelector, CodedTable, MRMRSelector, TableEncoder
from bayesieve.counts.pairs import PairInformation
from bayesieve.selection.filters import rank_by_mrmr
from benchmarks.common.measuring import (
    Report,
    alternate,
    in_fresh_process,
    markdown_table,
    options,
    seconds_of,
    spread,
    verdict,
    version,
)
from benchmarks.common.tables import mixed_table
from benchmarks.common.wrapper_tables import categories, engine_indicators, redundant_indicators

TIMES_FASTER = 5_000.0
RANKING_SECONDS = 0.1
_SAMPLE = 300  # pairs that scikit-learn counts
_FIRST = 20  # features that mrmr-selection ranks
_OTHERS = (("levels", 3), ("levels", 5), ("levels", 10), ("levels", 20), ("levels", 50))

# A process of its own with an empty cache: code that was read from the cache has no assembly to show.
_ASSEMBLY = """
import numpy as np
from bayesieve.counts.pairs import PairInformation
from bayesieve import CodedTable
PairInformation(CodedTable(np.eye(9, dtype=np.uint8), np.full(9, 2), tuple("abcdefghi"))).mutual_information()
from bayesieve.counts._kernels import count_common
print(next(iter(count_common.inspect_asm().values())))
"""


def main() -> None:
    """All pairs of binary indicators, of features of more levels, and the rankings."""
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, help="rows (default 3,000; 600 with --quick)")
    arguments = parser.parse_args()
    n_rows = arguments.rows or (600 if arguments.quick else 3_000)
    rounds = 3 if arguments.quick else 9
    report = Report("pairs", "Information of pairs of features", arguments)
    coded = redundant_indicators(n_rows, 66) if arguments.quick else engine_indicators(n_rows)
    report.add(f"## All pairs of {coded.n_features} binary indicators x {coded.n_rows:,} rows\n")
    all_pairs(report, coded, rounds)
    report.add("\n## Other tables\n")
    other_tables(report, n_rows, 30 if arguments.quick else 200, rounds)
    report.add("\n## Pairs of columns as features\n")
    chosen_pairs(report, n_rows, 100 if arguments.quick else 1_000)
    report.add(f"\n## Rankings of the {coded.n_features} indicators\n")
    rankings(report, coded, rounds)
    instructions(report)
    report.close(["mrmr-selection"])


def all_pairs(report: Report, coded: CodedTable, rounds: int) -> None:
    """Mutual information of all pairs; scikit-learn's is measured on some of them."""
    n = coded.n_features
    n_pairs = n * (n - 1) // 2
    sample = np.random.default_rng(0).integers(0, n, (_SAMPLE, 2)).tolist()
    found: dict[str, Any] = {}
    tasks: dict[str, Callable[[], Any]] = {
        "bayesieve": lambda: found.update(ours=PairInformation(coded, n_jobs=1).mutual_information()),
        "the same within four classes": lambda: PairInformation(coded, given_class=True, n_jobs=1).mutual_information(),
        "NumPy, one product of indicator matrices": lambda: found.update(numpy=by_products(coded)),
        f"scikit-learn, {_SAMPLE} pairs": lambda: found.update(
            sample=[mutual_info_score(coded.codes[i], coded.codes[j]) for i, j in sample]
        ),
    }
    alternate(tasks, 1)
    runs = alternate(tasks, rounds)
    differences = [abs(found["ours"][i, j] - value) for (i, j), value in zip(sample, found["sample"], strict=True)]
    ours, theirs = median(runs["bayesieve"]), median(runs[f"scikit-learn, {_SAMPLE} pairs"]) / _SAMPLE * n_pairs
    rows = [[name, spread(times), f"{median(times) / ours:.1f}"] for name, times in runs.items()]
    report.add(markdown_table(["task", "median (range)", "times ours"], rows))
    report.add(
        f"\nscikit-learn is timed on {_SAMPLE} pairs drawn at random; a loop over all {n_pairs:,} would take "
        f"{theirs:.0f} s, by extrapolation. bayesieve starts from the coded table, bit planes are made within the "
        f"clock, one core. Largest difference from scikit-learn: {max(differences):.1g} nats, from NumPy: "
        f"{np.abs(found['ours'] - found['numpy']).max():.1g}."
    )
    report.add(f"\nTimes faster than looping scikit-learn: {verdict(theirs / ours, TIMES_FASTER, at_least=True)}.")


def by_products(coded: CodedTable) -> np.ndarray:
    """The same matrix in NumPy: counts from one product, a logarithm for each of them."""
    n_levels = coded.n_levels
    starts = np.cumsum(n_levels) - n_levels
    levels = np.zeros((int(n_levels.sum()), coded.n_rows), dtype=np.float32)  # whole numbers up to 2^24 are exact
    levels[coded.codes + starts[:, None], np.arange(coded.n_rows)] = 1.0
    joint = (levels @ levels.T).astype(float)
    terms = joint * np.log(np.where(joint > 0, joint, 1.0))
    sums = np.add.reduceat(np.add.reduceat(terms, starts, axis=0), starts, axis=1)
    own = np.add.reduceat(np.diag(terms), starts)
    return np.maximum((sums - own[:, None] - own[None, :] + coded.n_rows * np.log(coded.n_rows)) / coded.n_rows, 0.0)


def chosen_pairs(report: Report, n_rows: int, n_features: int) -> None:
    """Seconds to code tables with and without pairs chosen from all pairs of columns."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(n_rows, n_features))
    y = ((numbers[:, 0] * numbers[:, 1] > 0) ^ (numbers[:, 2] > 0.5)).astype(int)
    numbers[:, 3 : n_features // 5] += 0.3 * y[:, None]
    german = pl.read_csv(Path(__file__).parents[1] / "examples/data/german_credit.csv")
    mixed, classes, _ = mixed_table(20 * n_rows)
    tables: dict[str, tuple[Any, Any]] = {
        "german_credit": (german.drop("class"), german["class"]),
        "numbers": (numbers, y),
        "mixed": (mixed, classes),
    }
    rows = []
    for name, (X, labels) in tables.items():
        tasks: dict[Any, Callable[[], Any]] = {
            pairs: lambda X=X, labels=labels, pairs=pairs: TableEncoder(pairs=pairs).fit(X, labels)
            for pairs in (0, "auto")
        }
        n_pairs = len(tasks["auto"]().levels_) - X.shape[1]
        runs = alternate(tasks, 3)
        rows.append([f"{name}, {X.shape[0]:,} x {X.shape[1]:,}", n_pairs, spread(runs[0]), spread(runs["auto"])])
    report.add(markdown_table(["table", "pairs chosen", "without pairs", 'pairs="auto"'], rows))


def other_tables(report: Report, n_rows: int, n_features: int, rounds: int) -> None:
    """Microseconds a pair for more levels, and for weighted rows."""
    rows = []
    for what, n_levels in (*_OTHERS, ("levels, weighted rows", 2), ("levels, weighted rows", 10)):
        coded = categories(n_rows, n_features, n_levels)
        if "weighted" in what:
            coded = coded.with_rows(weights=np.random.default_rng(0).random(n_rows))
        pairs = np.random.default_rng(1).integers(0, n_features, (_SAMPLE // 3, 2)).tolist()

        def ours(coded: CodedTable = coded) -> Any:
            return PairInformation(coded, n_jobs=1).mutual_information()

        def theirs(coded: CodedTable = coded, pairs: list[list[int]] = pairs) -> Any:
            return [mutual_info_score(coded.codes[i], coded.codes[j]) for i, j in pairs]

        ours()  # compiled, once in a lifetime
        runs = alternate({"ours": ours, "theirs": theirs}, 1 + rounds // 3)
        own = median(runs["ours"]) / (n_features * (n_features + 1) / 2) * 1e6
        peer = median(runs["theirs"]) / len(pairs) * 1e6
        ratio = "" if "weighted" in what else f"{peer / own:.0f}"
        rows.append([f"{n_levels} {what}", f"{own:.3g}", f"{peer:.0f}", ratio])
    report.add(f"{n_features} features x {n_rows:,} rows; microseconds a pair, one core, bit planes included.\n")
    report.add(markdown_table(["features of", "bayesieve", "scikit-learn, no weights", "times faster"], rows))


def rankings(report: Report, coded: CodedTable, rounds: int) -> None:
    """Full rankings and subsets, and the first features of mrmr-selection."""
    tasks: dict[str, Callable[[], Any]] = {
        "mRMR, difference (MID), all ranked": lambda: rank_by_mrmr(coded, n_jobs=1),
        "mRMR, quotient (MIQ), all ranked": lambda: rank_by_mrmr(coded, "quotient", n_jobs=1),
        'MRMRSelector(), size chosen on held-out rows ("auto")': lambda: MRMRSelector(encoder=None, n_jobs=1).fit_coded(
            coded
        ),
        'CFSSelector("best-first")': lambda: CFSSelector(encoder=None, n_jobs=1).fit_coded(coded),
        'CFSSelector("backward")': lambda: CFSSelector("backward", encoder=None, n_jobs=1).fit_coded(coded),
    }
    alternate(tasks, 1)
    runs = alternate(tasks, rounds)
    rows = [[name, spread(times)] for name, times in runs.items()]
    peer = mrmr_selection(coded)
    if peer is not None:
        rows.append([f"mrmr-selection, the first {_FIRST} (F test, Pearson correlation)", f"{peer:.3g} s (1 run)"])
    report.add(markdown_table(["task", "median (range)"], rows))
    if peer is None:
        report.add("\nmrmr-selection is not installed, and left out.")
    name = "mRMR, difference (MID), all ranked"
    report.add(f"\nThe full ranking: {verdict(median(runs[name]), RANKING_SECONDS, unit=' s')}.")


def mrmr_selection(coded: CodedTable) -> float | None:
    """Seconds of the package for its first features; it has no mutual information for either part."""
    if version("mrmr-selection") == "not installed":
        return None
    import pandas as pd
    from mrmr import mrmr_classif

    frame = pd.DataFrame(coded.codes.T.astype(float), columns=list(coded.names))
    labels = pd.Series(coded.class_codes)
    first = min(_FIRST, coded.n_features)
    return seconds_of(lambda: mrmr_classif(frame, labels, K=first, show_progress=False, n_jobs=1))


def instructions(report: Report) -> None:
    """Instructions that count common bits on this processor."""
    with tempfile.TemporaryDirectory() as cache:
        assembly = in_fresh_process(_ASSEMBLY, environment={"NUMBA_CACHE_DIR": cache})
    found = Counter(re.findall(r"^\s+(v?popcnt\w+)\s.*?%([xyz]mm|r)", assembly, re.MULTILINE))
    words = ", ".join(f"{n} {name} on {register}" for (name, register), n in sorted(found.items())) or "none"
    report.add(f"\nPopulation counts in the machine code of `count_common` on this processor: {words}.")


if __name__ == "__main__":
    main()
