"""What the coding finds in each column: intervals of numbers, groups of categories, and columns left in one level.

Run from anywhere: python examples/levels.py.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from bayesieve import TableEncoder

DATA = Path(__file__).parent / "data" / "german_credit.csv"


def main() -> None:
    table = pl.read_csv(DATA)
    encoder = TableEncoder().fit(table.drop("class"), table["class"])

    by_score = sorted(encoder.levels_, key=lambda levels: levels.level_score, reverse=True)
    for levels in by_score:
        if levels.n_levels == 1:
            print(f"{levels.name}: no cut point or grouping pays for itself")
            continue
        print(f"{levels.name} (level score {levels.level_score:.4f})")
        for label, counts in zip(levels.labels, levels.counts, strict=True):
            print(f"    {label:50} {'  '.join(f'{count:4.0f}' for count in counts)}")


if __name__ == "__main__":
    main()
