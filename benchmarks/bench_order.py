"""How far predictions move with the order of the rows and with the seed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl

from bayesieve import SelectiveNB
from benchmarks.common.measuring import Report, catalogue, markdown_table, options_with_data, verdict

TABLES = (
    *("german_credit", "pima_diabetes", "waveform40", "heart_cleveland", "australian", "cmc", "segment", "vehicle"),
    *("abalone", "credit_approval_crx", "yeast", "pendigits", "sick", "ada", "spambase", "satimage", "kr_vs_kp"),
)
SEEDS, MOST = (1, 2, 3), 0.02


def main() -> None:
    arguments = options_with_data(__doc__).parse_args()
    warnings.simplefilter("ignore")
    known = catalogue(arguments.data)
    report = Report("order", "Order of rows and seeds", arguments)
    report.add(
        "Root mean square of the change in the log odds of held-out rows (a fifth) when training rows are permuted and "
        f"when `random_state` changes: the largest of {len(SEEDS)} changes.\n"
    )
    lines = []
    for name in TABLES[:2] if arguments.quick else TABLES:
        frame = pl.read_parquet(arguments.data / f"{name}.parquet")
        target = known[name]["target"]
        order, seed = changes(frame.drop(target), frame[target].cast(pl.String).to_numpy())
        lines.append([name, f"{order:.1e}", f"{seed:.4f}"])
    report.add(markdown_table(["table", "order", "seed"], lines))
    orders, seeds = (np.array([float(line[k]) for line in lines]) for k in (1, 2))
    report.add(
        f"\nOrder: {verdict(orders.max(), MOST)}. Seeds: at most {MOST} on {(seeds <= MOST).sum()} of {len(seeds)} "
        "tables."
    )
    report.close(["polars"])


def changes(X: pl.DataFrame, y: np.ndarray) -> tuple[float, float]:
    """The largest change by the order of the rows, and by the seed."""
    rng = np.random.default_rng(0)
    rows = rng.permutation(y.size)
    train, test = rows[: 4 * y.size // 5], X[rows[4 * y.size // 5 :]]

    def centred(rows: np.ndarray, **own: Any) -> np.ndarray:
        logs = np.log(SelectiveNB(**own).fit(X[rows], y[rows]).predict_proba(test).clip(1e-12))
        return logs - logs.mean(axis=1, keepdims=True)

    first = centred(train)
    moved = [(centred(rng.permutation(train)) - first, centred(train, random_state=seed) - first) for seed in SEEDS]
    by_order, by_seed = np.sqrt(np.square(moved).mean(axis=(2, 3))).max(axis=0)
    return float(by_order), float(by_seed)


if __name__ == "__main__":
    main()
