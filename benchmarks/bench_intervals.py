"""How often 90 % intervals hold the true probability of a class, on generated tables whose probabilities are known."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import polars as pl
from scipy.special import softmax

from bayesieve import SelectiveNB
from benchmarks.common.measuring import Report, markdown_table, options

Made = tuple[dict[str, np.ndarray], np.ndarray]
"""Columns, and the log odds (n_rows,) of the second class, or log joint probabilities (n_rows, n_classes)."""
N_TEST, N_TABLES = 2000, 5
SIZES = (1000, 5000, 20_000)


def columns_of(numbers: np.ndarray) -> dict[str, np.ndarray]:
    return {f"number_{j}": column for j, column in enumerate(numbers.T)}


def categories(random: np.random.Generator, n_rows: int, sizes: tuple[int, ...], spread: float) -> Made:
    """Categorical columns of some sizes, whose values differ by normal log odds."""
    fixed, columns, odds = np.random.default_rng(1), {}, np.zeros(n_rows)
    for j, size in enumerate(sizes):
        codes = random.integers(0, size, n_rows)
        odds += fixed.normal(scale=spread, size=size)[codes]
        columns[f"category_{j}"] = np.array([f"v{v}" for v in range(size)])[codes]
    return columns, odds


def smooth(random: np.random.Generator, n_rows: int) -> Made:
    z = random.normal(size=(n_rows, 6))
    return columns_of(z), z[:, 0] - 0.7 * z[:, 1] + 0.5 * np.sin(2 * z[:, 2]) - 0.5


def steps(random: np.random.Generator, n_rows: int) -> Made:
    z = random.normal(size=(n_rows, 6))
    return columns_of(z), (z[:, 0] > 0) + 0.8 * (z[:, 1] > 0.5) - 0.7 * (np.abs(z[:, 2]) < 0.6)


def correlated(random: np.random.Generator, n_rows: int) -> Made:
    """Two groups of four columns, which share half of their variance."""
    z = 0.7 * random.normal(size=(n_rows, 2)).repeat(4, axis=1) + 0.714 * random.normal(size=(n_rows, 8))
    return columns_of(z), z @ np.array([0.8, 0.5, 0, 0, -0.7, 0.4, 0, 0]) - 0.2


def copies(random: np.random.Generator, n_rows: int) -> Made:
    """Two columns that matter, and twelve noisy copies of each."""
    z = random.normal(size=(n_rows, 3))
    noisy = [0.8 * z[:, [j]] + 0.6 * random.normal(size=(n_rows, 12)) for j in (0, 1)]
    return columns_of(np.concatenate([z, *noisy], axis=1)), 1.5 * z[:, 0] + 1.2 * z[:, 1] + (z[:, 2] > 0)


def only_categories(random: np.random.Generator, n_rows: int) -> Made:
    return categories(random, n_rows, (3, 5, 8, 15, 30), 0.6)


def mixed(random: np.random.Generator, n_rows: int) -> Made:
    columns, odds = categories(random, n_rows, (4, 10, 25), 0.5)
    z = random.normal(size=(n_rows, 5))
    with_missing = z.copy()
    with_missing[random.random(n_rows) < 0.1, 3] = np.nan
    odds += 0.8 * z[:, 0] + 0.6 * np.abs(z[:, 1]) - 0.5 * (z[:, 2] > 0.3) - 1
    return columns | columns_of(with_missing), odds


def surface(random: np.random.Generator, n_rows: int) -> Made:
    """A product of two columns."""
    z = random.normal(size=(n_rows, 5))
    return columns_of(z), 0.6 * z[:, 0] * z[:, 1] + 0.5 * z[:, 2] - 0.5


def rare(random: np.random.Generator, n_rows: int) -> Made:
    """A class of some 3 % of the rows."""
    z = random.normal(size=(n_rows, 6))
    return columns_of(z), 1.2 * z[:, 0] + 0.8 * z[:, 1] - 0.6 * z[:, 2] - 4.2


def three_classes(random: np.random.Generator, n_rows: int) -> Made:
    z = random.normal(size=(n_rows, 6))
    second, third = z[:, 0] - 0.7 * z[:, 1], 0.8 * z[:, 1] + 0.5 * np.sin(2 * z[:, 2])
    return columns_of(z), np.stack([np.zeros(n_rows), second, third], axis=1)


GENERATORS: tuple[Callable[[np.random.Generator, int], Made], ...] = (
    smooth,
    steps,
    correlated,
    copies,
    only_categories,
    mixed,
    surface,
    rare,
    three_classes,
)


def table_of(generator: Callable[..., Made], n_rows: int, seed: int) -> tuple[pl.DataFrame, np.ndarray, np.ndarray]:
    """A table, its classes, and their probabilities (n_rows, n_classes)."""
    random = np.random.default_rng(seed)
    columns, joint = generator(random, n_rows)
    joint = joint if joint.ndim == 2 else np.stack([np.zeros(n_rows), joint], axis=1)
    truth = softmax(joint, axis=1)
    return pl.DataFrame(columns), (truth.cumsum(axis=1)[:, :-1] < random.random((n_rows, 1))).sum(axis=1), truth


def held(generator: Callable[..., Made], n_rows: int, seed: int) -> tuple[float, float]:
    """Share of the intervals of new rows that hold the truth, and their mean width."""
    X, y, _ = table_of(generator, n_rows, 2 * seed)
    model = SelectiveNB().fit(X, y)
    X, _, truth = table_of(generator, N_TEST, 2 * seed + 1)
    low, high = np.moveaxis(model.predict_interval(X), 2, 0)
    return float(((low <= truth) & (truth <= high)).mean()), float((high - low).mean())


def main() -> None:
    arguments = options(__doc__).parse_args()
    warnings.simplefilter("ignore")
    sizes, n_tables = (SIZES[:1], 1) if arguments.quick else (SIZES, N_TABLES)
    report = Report("intervals", "Intervals of predicted probabilities", arguments)
    report.add(
        f"Share of 90 % intervals (`predict_interval`) of {N_TEST:,} new rows that hold the true probability, mean of "
        f"{n_tables} tables, and their mean width. The factors on the variances were chosen on other tables of some of "
        "these kinds."
    )
    lines, every = [], []
    for generator in GENERATORS:
        line = [generator.__name__.replace("_", " ")]
        for n_rows in sizes:
            shares, widths = np.transpose([held(generator, n_rows, seed) for seed in range(n_tables)])
            every.append(shares.mean())
            line.append(f"{shares.mean():.2f} ({widths.mean():.3f})")
        lines.append(line)
        print(" | ".join(line), flush=True)
    report.add()
    report.add(markdown_table(("table", *(f"{n_rows:,} rows" for n_rows in sizes)), lines))
    report.add()
    report.add(f"Mean {np.mean(every):.3f}, median {np.median(every):.3f}.")
    report.close()


if __name__ == "__main__":
    main()
