"""On which tables the order of the rows is informative, and how shuffled folds and the last rows differ there."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bayesieve import SelectiveNB
from bayesieve.classifier.cautions import order_cautions
from bayesieve.classifier.report_data import report_data
from benchmarks.common.measuring import Report, catalogue, markdown_table, options_with_data, verdict

MOST_ROWS, WIDE = 20_000, 60
JUDGED = {
    "abalone": "shells of one sample lie together; slight",
    "audiology": "similar cases lie together; slight",
    "autos": "sorted by make: other makes are harder, time plays no part",
    "balance_scale": "all weights listed in order: a habit",
    "breast_wisconsin_diagnostic": "order of collection: fewer malignant cases later",
    "breast_wisconsin_original": "groups of cases by date, 1989 to 1991: time",
    "bridges1": "in the order in which they were built: time",
    "bridges2": "in the order in which they were built: time",
    "car": "all combinations listed in order: a habit",
    "dermatology": "similar cases lie together",
    "haberman": "sorted by age and year, survivors together: a habit, told as time",
    "hepatitis": "patients without histology first: a habit",
    "ionosphere": "classes take turns in the first 250 rows: a habit, told as time",
    "isolet": "speaker after speaker: new speakers are harder",
    "kdd99_10pct_plus_test": "attacks in stretches, new kinds in the test part: time",
    "mushroom_8124": "species after species",
    "nursery": "all combinations listed in order: a habit",
    "page_blocks": "document after document: new documents are harder",
    "pg17_coverage_500k": "columns drift, coverage does not",
    "satimage": "neighbouring pixels",
    "solar_flare1": "regions in the order of days: time",
    "solar_flare2": "regions in the order of days: time",
    "thyroid_ann": "T3 drifts, the classes do not",
    "vowel": "speaker after speaker: new speakers are harder",
    "yeast": "related proteins lie together",
    "yeast_names": "related proteins lie together",
}


def main() -> None:
    arguments = options_with_data(__doc__).parse_args()
    warnings.simplefilter("ignore")
    report = Report("order_of_rows", "The order of the rows", arguments)
    rows = [row for row in catalogue(arguments.data).values() if row["file"].endswith(".parquet")]
    rows = rows[:6] if arguments.quick else rows
    lines = [(name, *figures(X, y), "made to drift") for name, X, y in (campaign(), prices())]
    by_class, silent = [], []
    for row in rows:
        frame = pl.read_parquet(arguments.data / row["file"])
        frame = frame[:: max(1, -(-frame.height // MOST_ROWS))]
        found = figures(frame.drop(row["target"]), frame[row["target"]].cast(pl.String).fill_null("?").to_numpy())
        if not found:
            silent.append(row["name"])
        elif found[0] == "class order":
            by_class.append(row["name"])
        else:
            lines.append((row["name"], *found, JUDGED.get(row["name"], "")))
        print(row["name"], *found[:1], flush=True)
    report.add(
        "AUC / log loss by five shuffled folds, and of a model of the first 80 % of the rows on the last 20 %, where a "
        "fit gives a caution of kind `order`. Strength: Cramér's V of the shares of classes in 20 stretches of rows "
        f"and kappa of neighbouring rows, if any. Tables of over {MOST_ROWS:,} rows are thinned evenly; those of "
        f'{WIDE} columns and more are fitted with `SelectiveNB("map", calibrate=False)`.\n'
    )
    head = ["table", "warned", "strength", "shuffled", "last 20 %", "class shares alone", "what the order is"]
    report.add(markdown_table(head, [(line[0], *line[2:]) for line in lines]))
    report.add(f"\nListed class after class, a hint of another kind ({len(by_class)}): {', '.join(by_class)}.")
    report.add(f"\nNo caution ({len(silent)}): {', '.join(silent)}.")
    fired, n_shuffled = shuffled(arguments.data, silent[:5] or ["iris"], 20 if arguments.quick else 200)
    report.add(f"\nCautions in {n_shuffled:,} shuffled tables: {verdict(fired, n_shuffled / 1000)}.")
    report.close(["polars"])


def figures(X: pl.DataFrame, y: np.ndarray) -> tuple[Any, ...]:
    """Kind, whether it warns, strength, and figures of shuffled folds and of the last rows; empty without caution."""
    model = (SelectiveNB() if X.width < WIDE else SelectiveNB("map", calibrate=False)).fit(X, y)
    found = [caution for caution in model.cautions_ if "order" in caution.kind]
    if not found:
        return ()
    (caution,) = found
    if caution.kind != "order":
        return (caution.kind,)
    strength = [part.partition(")")[0] for part in caution.sentence.split("(") if part.startswith(("Cramér", "kappa"))]
    strength = [part.replace("Cramér's ", "") for part in strength]
    measured = report_data(model, X, y).performance
    later = measured.later
    both = [f"{one.auc:.3f} / {one.log_loss:.3f}" for one in (measured, later)] if later else ["", ""]
    shares = f"{later.class_entropy:.3f}" if later else ""
    return caution.kind, "yes" if caution.warns else "no", ", ".join(strength) or "columns only", *both, shares


def campaign(n_rows: int = 40_000) -> tuple[str, pl.DataFrame, np.ndarray]:
    """Calls over thirty months; the share of buyers rises from 3 to 47 %, in jumps from day to day."""
    rng = np.random.default_rng(0)
    day = np.arange(n_rows) * 900 // n_rows
    odds = np.linspace(np.log(0.03 / 0.97), np.log(0.47 / 0.53), n_rows) + rng.normal(0, 0.7, 900)[day]
    age, seconds = rng.normal(40, 10, n_rows), rng.gamma(2, 120, n_rows)
    y = rng.random(n_rows) < 1 / (1 + np.exp(-(odds + (seconds - 240) / 120)))
    columns = {"day": day % 30, "month": day // 30 % 12, "age": age.round(), "seconds": seconds.round()}
    return "campaign (generated)", pl.DataFrame(columns), y.astype(int)


def prices(n_rows: int = 40_000) -> tuple[str, pl.DataFrame, np.ndarray]:
    """Half-hours; the price rises or falls for hours, and what it depends on wanders."""
    rng = np.random.default_rng(1)
    level = np.cumsum(rng.normal(0, 0.02, n_rows))
    demand = np.sin(np.arange(n_rows) * 2 * np.pi / 48) + rng.normal(0, 0.3, n_rows)
    y = demand + level > np.convolve(level, np.ones(336) / 336, "same")
    columns = {"period": np.arange(n_rows) % 48, "weekday": np.arange(n_rows) // 48 % 7, "price": level + demand}
    return "prices (generated)", pl.DataFrame(columns), y.astype(int)


def shuffled(data: Path, names: list[str], n_times: int) -> tuple[int, int]:
    """Cautions in shuffled rows of these tables, and shuffled tables."""
    rng, fired = np.random.default_rng(2), 0
    known = catalogue(data)
    for name in names:
        target = known[name]["target"]
        frame = pl.read_parquet(data / f"{name}.parquet").head(5000)
        model = SelectiveNB("map", calibrate=False)
        X, y = frame.drop(target), frame[target].cast(pl.String).to_numpy()
        card = model.fit(X, y).scorecard_
        for _ in range(n_times):
            rows = rng.permutation(y.size)
            encoder = model.encoder_
            coded = encoder.transform_coded(X[rows])
            codes = np.searchsorted(card.classes, y[rows]).astype(np.uint8)
            coded = coded.with_rows(class_codes=codes, classes=card.classes)
            fired += any(caution.kind == "order" for caution in order_cautions(coded, card, {}))
    return fired, n_times * len(names)


if __name__ == "__main__":
    began = time.perf_counter()
    main()
    print(f"{time.perf_counter() - began:.0f} s")
