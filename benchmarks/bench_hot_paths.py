"""Ratios of the hot paths to plain loops, beside those stored; `--store` keeps them for `tests/performance`."""

from __future__ import annotations

import json

from benchmarks.common.measuring import Report, markdown_table, options, verdict
from benchmarks.hot_paths import HOT_PATHS, STORED, measured, stored_ratios


def main() -> None:
    """Measure all of them."""
    parser = options(__doc__)
    parser.add_argument("--store", action="store_true", help="replace benchmarks/results/hot_paths.json")
    arguments = parser.parse_args()
    report = Report("hot_paths", "Hot paths", arguments)
    report.add("How many times faster than the plain loop, by processor time; more than half of the stored ratio.\n")
    ratios = measured()
    if arguments.store:
        STORED.write_text(json.dumps({name: float(f"{r:.3g}") for name, r in ratios.items()}, indent=1) + "\n")
    stored = stored_ratios()
    what = {path.__name__: (path.__doc__ or "").rstrip(".") for path in HOT_PATHS}
    rows = [[what[name], verdict(r, stored[name] / 2, at_least=True)] for name, r in ratios.items()]
    report.add(markdown_table(["path, and what it is compared with", "times faster"], rows))
    report.close(["polars"])


if __name__ == "__main__":
    main()
