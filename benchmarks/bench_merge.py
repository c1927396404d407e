"""Models of three sites with different shares of the classes merged, and models updated, against fits of all rows."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import polars as pl

import bayesieve
from bayesieve import SelectiveNB
from benchmarks.common.measuring import Report, catalogue, markdown_table, options_with_data

TABLES = (
    *("german_credit", "pima_diabetes", "hypothyroid_uci", "ada", "sick", "spambase", "page_blocks", "waveform40"),
    *("thyroid_ann", "mushroom_8124", "adult", "sylva", "satimage", "splice", "kr_vs_kp"),
)
SITES, SEEDS, MOST_ROWS, MOST, MONTHS = 3, (0, 1), 20_000, 0.003, 4
_SPREAD = 0.7  # of the log odds of a class to be at a site


def main() -> None:
    arguments = options_with_data(__doc__).parse_args()
    warnings.simplefilter("ignore")
    known = catalogue(arguments.data)
    report = Report("merge", "Merged and updated models", arguments)
    report.add(
        f"Log loss in nats of held-out rows (a third), mean of {len(SEEDS)} splits. Rows go to {SITES} sites at random "
        "with odds that differ by class. The first site finds the levels, the others keep them. `all rows`: one fit of "
        "all training rows with these levels, and with levels learnt from all rows; `merged` and `site` (mean of the "
        f"sites) are differences to the first of them. Then the rows come in {MONTHS} months, at random: a model of "
        "the first, "
        "updated with the others, against a fit of all rows with its levels. Seconds: of a fit of the rows of the last "
        "month, and of an update with them.\n"
    )
    lines = []
    for name in TABLES[:2] if arguments.quick else TABLES:
        frame = pl.read_parquet(arguments.data / f"{name}.parquet")
        frame = frame.sample(MOST_ROWS, seed=0) if frame.height > MOST_ROWS else frame
        X, y = frame.drop(known[name]["target"]), frame[known[name]["target"]].cast(pl.String).to_numpy()
        found = np.mean([measured(X, y, seed) for seed in SEEDS], axis=0).tolist()
        lines.append([name, f"{frame.height:,}", *(f"{own:.4f}" for own in found[:2])])
        lines[-1] += [*(f"{own:+.4f}" for own in found[2:6]), *(f"{own:.2f}" for own in found[6:])]
        print(lines[-1], flush=True)
    titles = [
        "table",
        "rows",
        "all rows",
        "own levels",
        "merged",
        "site",
        "updated",
        "first month",
        "fit s",
        "update s",
    ]
    report.add(markdown_table(titles, lines))
    near = sum(float(line[4]) <= MOST for line in lines)
    report.add(f"\nMerged: at most {MOST} nats above one fit of all rows on {near} of {len(lines)} tables.")
    report.close(["polars"])


def measured(X: pl.DataFrame, y: np.ndarray, seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    order = rng.permutation(y.size)
    test, train = order[: y.size // 3], order[y.size // 3 :]

    def fit(rows: np.ndarray, like: Any = None) -> SelectiveNB:
        return SelectiveNB(levels=None if like is None else like.scorecard_).fit(X[rows], y[rows])

    def loss(model: SelectiveNB) -> float:
        position = {label: j for j, label in enumerate(model.classes_.tolist())}
        known = np.array([position[label] for label in y[test]])
        return float(-np.log(model.predict_proba(X[test])[np.arange(test.size), known].clip(1e-15)).mean())

    _, classes = np.unique(y, return_inverse=True)
    odds = np.exp(rng.normal(0.0, _SPREAD, (classes.max() + 1, SITES)))[classes[train]]
    drawn = rng.random((train.size, 1)) > np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    rows = [train[drawn.sum(axis=1) == site] for site in range(SITES)]
    first = fit(rows[0])
    models = [first, *(fit(own, first) for own in rows[1:])]
    whole = loss(fit(train, first))
    sites = [whole, loss(fit(train)), loss(bayesieve.merge(models)) - whole, np.mean([*map(loss, models)]) - whole]
    months = np.array_split(train, MONTHS)
    model = old = fit(months[0])
    for month in months[1:]:
        start = time.perf_counter()
        model = model.update(X[month], y[month])
        seconds = time.perf_counter() - start
    whole, start = loss(fit(train, old)), time.perf_counter()
    fit(months[-1])
    return [*sites, loss(model) - whole, loss(old) - whole, time.perf_counter() - start, seconds]


if __name__ == "__main__":
    main()
