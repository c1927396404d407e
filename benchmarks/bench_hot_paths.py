"""Ratios of the hot paths to plain loops, beside those stored for `tests/performance`.

`--store` lowers stored ratios to those measured: they differ by a factor of two between processors and between
processes, and a regression test needs the least of them. Delete the file first to begin anew after a path got faster.
"""

from __future__ import annotations

import json

from benchmarks.common.measuring import Report, markdown_table, options, verdict
from benchmarks.hot_paths import HOT_PATHS, STORED, measured, stored_ratios


def main() -> None:
    """Measure all of them."""
    parser = options(__doc__)
    parser.add_argument(
        "--store", action="store_true", help="lower the ratios in benchmarks/results/hot_paths.json to these"
    )
    arguments = parser.parse_args()
    report = Report("hot_paths", "Hot paths", arguments)
    report.add("How many times faster than the plain loop, by processor time; more than half of the stored ratio.\n")
    ratios = measured()
    stored = stored_ratios() if STORED.exists() else ratios
    if arguments.store:
        stored = {name: float(f"{min(r, stored.get(name, r)):.3g}") for name, r in ratios.items()}
        STORED.write_text(json.dumps(stored, indent=1) + "\n")
    what = {path.__name__: (path.__doc__ or "").rstrip(".") for path in HOT_PATHS}
    rows = [[what[name], verdict(r, stored[name] / 2, at_least=True)] for name, r in ratios.items()]
    report.add(markdown_table(["path, and what it is compared with", "times faster"], rows))
    report.close(["polars"])


if __name__ == "__main__":
    main()
