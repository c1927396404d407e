"""Random sums of columns as features: 10,000 and 100,000 of them on SYLVA."""

from __future__ import annotations

import json
import sys
from typing import Any

from benchmarks.common.measuring import Report, in_fresh_process, markdown_table, options_with_data

SUMS = """
import json, math, resource, sys, time
import polars as pl
from bayesieve import SelectiveNB
from bayesieve_lab.random_sums import RandomSums, SumsNB

path, n_sums, order, n_rows = sys.argv[1], *map(int, sys.argv[2:])
table = pl.read_parquet(path).sample(fraction=1.0, shuffle=True, seed=0).head(n_rows)
X, y = table.drop("class"), table["class"]
plain = SelectiveNB(pairs=0)
SumsNB(plain, RandomSums(20, useful=True)).fit(X.head(1500), y.head(1500))  # compiles
wall, cpu = time.perf_counter(), time.process_time()
model = SumsNB(plain, RandomSums(n_sums, order=order, useful=True)).fit(X, y).estimator_ if n_sums else plain.fit(X, y)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
tried = min(n_sums, math.comb(X.width, order)) if n_sums else 0
gibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps([wall, cpu, gibibytes, tried, len(model.encoder_.levels_), model.n_features_selected_]))
"""


def main() -> None:
    """`SelectiveNB` on SYLVA and random sums of its columns, from the raw table, each in a process of its own."""
    arguments = options_with_data(__doc__).parse_args()
    report = Report("random_sums", "Random sums of columns", arguments)
    path = str(arguments.data / "sylva.parquet")
    tried = [(200, 2, 2_000)] if arguments.quick else [(0, 2, 13_086), (10_000, 2, 13_086), (10_000, 3, 13_086)]
    tried += [] if arguments.quick else [(100_000, 2, 3_271), (100_000, 2, 6_543), (100_000, 2, 13_086)]
    rows: list[list[Any]] = []
    for n_sums, order, n_rows in tried:
        wall, cpu, gibibytes, distinct, n_features, kept = json.loads(
            in_fresh_process(SUMS, path, str(n_sums), str(order), str(n_rows))
        )
        name = f"{n_sums:,} F({order}D)" if n_sums else "columns only"
        row = [name, f"{n_rows:,}", f"{distinct:,}", f"{n_features:,}", f"{kept:,}"]
        rows.append([*row, f"{cpu:.0f} s", f"{wall:.0f} s", f"{gibibytes:.2f} GiB"])
        print(rows[-1], file=sys.stderr)
    report.add("SYLVA, 216 columns, with random sums: coding, search and calibration by `SelectiveNB(pairs=0)`.\n")
    header = ["sums asked for", "rows", "different ones", "features with several levels or columns", "of weight"]
    report.add(markdown_table([*header, "CPU", "wall", "peak memory"], rows))
    report.add("\nTargets for 100,000 F(2D) on all rows: under 180 s and 4 GiB. 216 columns have 23,220 sums of two.")
    report.close()


if __name__ == "__main__":
    main()
