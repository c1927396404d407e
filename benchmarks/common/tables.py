"""Generated tables, the same for the same seed: a mixed one for training, and numeric columns of distinct values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

if TYPE_CHECKING:
    import polars as pl

N_NUMERIC = 15
N_CATEGORICAL = 15
DISTINCT = 30_000
_NUMERIC_STRENGTH = (1.1, 0.8, 0.6, 0.4, 0.25, 0.12)
_CATEGORICAL_STRENGTH = (0.9, 0.6, 0.4, 0.25, 0.1)
_CATEGORICAL_VALUES = (3, 5, 8, 12, 40, 3, 6, 16, 25, 4, 7, 10, 20, 30, 40)
_MISSING = 0.03


def mixed_table(n_rows: int, rows_seed: int = 1) -> tuple[pl.DataFrame, np.ndarray, dict[str, str]]:
    """15 numeric columns with up to 30,000 distinct values each, 15 categorical ones with 3 to 40 strings, two classes.

    Of each kind some are informative with falling strength, some repeat an informative one with noise, some are noise,
    and two have missing values. Tables that differ in ``rows_seed`` hold other rows of the same distribution. Returns
    the table, the labels and the kind of each column.
    """
    import polars as pl

    rng = np.random.default_rng(rows_seed)
    target = rng.random(n_rows) < 0.3
    columns: dict[str, Any] = {}
    hidden = [_hidden_number(rng, target, j, []) for j in range(len(_NUMERIC_STRENGTH) + 1)]
    hidden += [_hidden_number(rng, target, j, hidden) for j in range(len(hidden), N_NUMERIC)]
    for j, z in enumerate(hidden):
        columns[f"number_{j:02d}"] = _as_number(rng, z, j)
    codes: list[np.ndarray] = []
    for j in range(N_CATEGORICAL):
        codes.append(_hidden_codes(rng, target, j, codes))
        names = np.array([f"c{j:02d}-{v:02d}" for v in range(_CATEGORICAL_VALUES[j])])
        values = pl.Series(names).gather(codes[-1])
        if j in (2, 9):
            values = pl.select(pl.when(pl.Series(rng.random(n_rows) >= _MISSING)).then(values)).to_series()
        columns[f"category_{j:02d}"] = values
    kinds = {name: "numeric" if name.startswith("number") else "categorical" for name in columns}
    return pl.DataFrame(columns), np.where(target, "yes", "no"), kinds


def large_piece(n_rows: int, number: int) -> pl.DataFrame:
    """Rows of a piece of a large mixed table with its target: columns of `mixed_table`, but for numbers that are all
    distinct (two of them), a million (one) or very few, and categories of 2, 3,000 and 30,000 values.
    """
    import polars as pl

    frame, labels, _ = mixed_table(n_rows, rows_seed=1000 + number)
    rng = np.random.default_rng([7, number])
    yes = labels == "yes"
    many = _skewed(rng, yes, 30_000, 0.3)
    columns = {
        "number_02": rng.standard_normal(n_rows) + 0.7 * yes,
        "number_05": np.floor(np.exp(rng.standard_normal(n_rows) * 0.9 + 0.2 * yes) * 1e5),
        "number_08": rng.poisson(1.5 + yes).astype(np.int64),
        "number_11": pl.Series(rng.lognormal(10.0, 1.0, n_rows).astype(np.float32)),
        "category_10": pl.Series(np.array([f"agent-{v:04d}" for v in range(3000)])).gather(
            _skewed(rng, yes, 3000, 0.5)
        ),
        "category_11": pl.Series(np.array(["no", "yes"])).gather((rng.random(n_rows) < 0.3 + 0.2 * yes).astype(int)),
        "category_14": pl.Series(np.array([f"street {v:05d}" for v in range(30_000)])).gather(many),
    }
    series = [pl.Series(name, values) for name, values in columns.items()]
    return frame.with_columns(series).with_columns(pl.Series("target", labels))


def half_categories(n_rows: int, n_columns: int = 30) -> tuple[pl.DataFrame, np.ndarray]:
    """Numbers of four decimals and as many categories of 3 to 39 values, all a little informative, and two classes."""
    import polars as pl

    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    half = n_columns // 2
    columns: dict[str, Any] = {
        f"number_{k}": np.round(rng.normal(size=n_rows) + y * rng.random() * 0.4, 4) for k in range(half)
    }
    for k in range(half):
        n_values = int(rng.integers(3, 40))
        codes = rng.integers(0, n_values, n_rows)
        moved = (rng.random(n_rows) < 0.15) & (y == 1)
        codes[moved] //= 2
        columns[f"category_{k}"] = pl.Series([f"v{v}" for v in range(n_values)]).gather(codes)
    return pl.DataFrame(columns), np.where(y, "yes", "no")


def _skewed(rng: np.random.Generator, yes: np.ndarray, n: int, strength: float) -> np.ndarray:
    base = 1.0 / (1.0 + np.arange(n)) ** 0.7
    tilt = np.exp(strength * np.random.default_rng(n).standard_normal(n))
    return np.where(yes, _draw(rng, base * tilt, yes.size), _draw(rng, base, yes.size))


def _hidden_number(rng: np.random.Generator, target: np.ndarray, j: int, earlier: list[np.ndarray]) -> np.ndarray:
    """A standard normal variable that is informative about the target, repeats an earlier one, or is noise."""
    noise = rng.standard_normal(target.size)
    if j < len(_NUMERIC_STRENGTH):
        return noise + _NUMERIC_STRENGTH[j] * (target - 0.3)
    if j == len(_NUMERIC_STRENGTH):
        return noise * np.where(target, 1.25, 1.0)  # no shift: both tails speak for the class
    if j < 11:
        return 0.9 * earlier[j - 7] + 0.45 * noise
    return noise


def _as_number(rng: np.random.Generator, z: np.ndarray, j: int) -> np.ndarray:
    """About 30,000 distinct values of various shapes: even, skewed, whole or with decimals."""
    grid = np.floor(ndtr(z) * DISTINCT)
    if j % 3 == 0:
        values = grid
    elif j % 3 == 1:
        values = np.round(grid * 0.01 - 150.0, 2)
    else:
        values = np.round((grid / DISTINCT) ** 3 * 5e6) + grid
    if j in (3, 12):
        values = np.where(rng.random(z.size) < _MISSING, np.nan, values)
    return values


def _hidden_codes(rng: np.random.Generator, target: np.ndarray, j: int, earlier: list[np.ndarray]) -> np.ndarray:
    """Skewed categories that are informative about the target, repeat an earlier column, or are noise."""
    n = _CATEGORICAL_VALUES[j]
    base = 1.0 / (1.0 + np.arange(n)) ** 0.8
    if 5 <= j < 9:
        repeated = (earlier[j - 5] * 7 + 3) % n
        return np.where(rng.random(target.size) < 0.8, repeated, _draw(rng, base, target.size))
    strength = _CATEGORICAL_STRENGTH[j] if j < len(_CATEGORICAL_STRENGTH) else 0.0
    tilt = np.exp(strength * np.random.default_rng(j).standard_normal(n))
    return np.where(target, _draw(rng, base * tilt, target.size), _draw(rng, base, target.size))


def _draw(rng: np.random.Generator, weights: np.ndarray, size: int) -> np.ndarray:
    cumulative = np.cumsum(weights / weights.sum())
    return np.minimum(np.searchsorted(cumulative, rng.random(size)), weights.size - 1)


def distinct_column(n_rows: int, dependence: str, n_classes: int, seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """A numeric column of ``n_rows`` distinct values in random order, and class codes.

    ``dependence`` is "noise" (none), "steps" (the class shares jump at 20 places) or "smooth" (they turn slowly).
    """
    rng = np.random.default_rng(seed)
    place = rng.permutation(n_rows)
    position = (place + 0.5) / n_rows
    values = np.exp(3.0 * position) + place * 1e-9  # skewed, and distinct
    if dependence == "noise":
        shares = np.full((n_classes, 1), 1.0 / n_classes)
        row_share = np.zeros(n_rows, dtype=np.int64)
    elif dependence == "steps":
        shares = rng.dirichlet(np.ones(n_classes), size=20).T
        row_share = np.floor(position * 20).astype(np.int64)
    elif dependence == "smooth":
        grid = np.linspace(0.0, 1.0, 1000)
        turns = [grid * (1 + c) + c / n_classes for c in range(n_classes)]
        shares = np.exp(1.5 * np.sin(2 * np.pi * np.stack(turns)))
        shares /= shares.sum(axis=0)
        row_share = np.minimum((position * 1000).astype(np.int64), 999)
    else:
        raise ValueError(f"dependence must be 'noise', 'steps' or 'smooth', got {dependence!r}.")
    above = np.cumsum(shares, axis=0)[:, row_share]
    return values, np.minimum((rng.random(n_rows) > above).sum(axis=0), n_classes - 1)
