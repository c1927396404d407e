"""Generated tables of two classes whose probabilities are known, and what shows whether a model can be trusted.

There are tables of noise, weak effects, straight lines, jumps and interactions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from bayesieve import SelectiveNB
from bayesieve.scorecard import Scorecard

Columns = dict[str, np.ndarray]
Generator = Callable[[np.random.Generator, int], tuple[Columns, np.ndarray]]
"""Generator of columns and log odds of the second class, (n_rows,), from a random generator and a number of rows."""

GRID = 400
"""Points of a column, over the central 95 % of its values, between which changes are looked for."""
TRUE_COLUMNS = ("x", "w")
"""Columns of `two_true_columns` that matter."""


class Sample(NamedTuple):
    """Rows of a generated table: features, classes 0 and 1, and probabilities of class 1."""

    X: pl.DataFrame
    y: np.ndarray
    probabilities: np.ndarray


def samples(generator: Generator, n_rows: int, n_new: int, seed: int) -> tuple[Sample, Sample]:
    """Return training rows and new rows of one generated table."""
    random = np.random.default_rng(seed)
    columns, log_odds = generator(random, n_rows + n_new)
    X, probabilities = pl.DataFrame(columns), expit(log_odds)
    y = (random.random(n_rows + n_new) < probabilities).astype(int)
    return (
        Sample(X[:n_rows], y[:n_rows], probabilities[:n_rows]),
        Sample(X[n_rows:], y[n_rows:], probabilities[n_rows:]),
    )


def normal_columns(random: np.random.Generator, n_rows: int, n_columns: int) -> tuple[Columns, np.ndarray]:
    """Draw independent standard normal columns, as columns by name and as one array (n_rows, n_columns)."""
    x = random.normal(size=(n_rows, n_columns))
    return {f"x{k}": column for k, column in enumerate(x.T)}, x


def two_true_columns(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
    """Two numeric columns with straight effects, and ten numeric and five categorical columns of noise."""
    columns = {name: random.normal(size=n_rows) for name in TRUE_COLUMNS}
    columns |= {f"number_{k}": random.normal(size=n_rows) for k in range(10)}
    columns |= {f"word_{k}": random.choice(["a", "b", "c", "d"], n_rows) for k in range(5)}
    return columns, 1.2 * columns["x"] + 0.6 * columns["w"]


def weak_effects(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
    """Twenty columns, each with a straight effect of .2."""
    columns, x = normal_columns(random, n_rows, 20)
    return columns, 0.2 * x.sum(axis=1)


def wide_noise(n_columns: int) -> Generator:
    """Return a generator of numeric columns that are independent of the classes."""

    def generator(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
        return normal_columns(random, n_rows, n_columns)[0], np.zeros(n_rows)

    return generator


def wide_binary(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
    """Eight hundred indicators: half are weak signs of twenty hidden causes, of which four matter; half are noise."""
    causes = random.normal(size=(n_rows, 20))
    cuts = random.uniform(-1.0, 1.0, 800)
    strengths = np.where(np.arange(800) < 400, 0.4, 0.0)
    columns = {
        f"i{k}": strength * causes[:, k % 20] + random.normal(size=n_rows) > cut
        for k, (strength, cut) in enumerate(zip(strengths, cuts, strict=True))
    }
    return columns, 0.9 * causes[:, :4].sum(axis=1) - 1.0


def straight_effect(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
    """A numeric column whose effect is a straight line, and four others."""
    columns, x = normal_columns(random, n_rows, 5)
    return columns, 1.0 - 0.7 * x[:, 0] + 0.25 * x[:, 1:].sum(axis=1)


def jump(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
    """A numeric column whose effect jumps by 2 at .3, and one with a straight effect."""
    columns, x = normal_columns(random, n_rows, 2)
    return columns, 2.0 * (x[:, 0] > 0.3) - 1.0 + 0.5 * x[:, 1]


def product_of_signs(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
    """Class 1 in nine of ten rows if the signs of two columns differ, otherwise in one of ten; two columns of noise."""
    columns, x = normal_columns(random, n_rows, 4)
    return columns, -np.log(9.0) * np.sign(x[:, 0] * x[:, 1])


def product(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
    """Twice the product of two columns; two columns of noise."""
    columns, x = normal_columns(random, n_rows, 4)
    return columns, 2.0 * x[:, 0] * x[:, 1]


def steps(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
    """Three columns with a step each, and two of noise."""
    columns, x = normal_columns(random, n_rows, 5)
    return columns, 1.2 * (x[:, 0] > 0.3) - 1.0 * (x[:, 1] < -0.5) + 0.7 * (x[:, 2] > 1.0)


def smooth(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
    """A straight line, a wave, and three columns of noise."""
    columns, x = normal_columns(random, n_rows, 5)
    return columns, x[:, 0] + 0.7 * np.sin(2.0 * x[:, 1])


def forty_categories(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
    """Three columns of forty categories, two of which have normal effects."""
    codes = random.integers(0, 40, (n_rows, 3))
    effects = np.random.default_rng(99).normal(size=(2, 40)) * [[1.0], [0.5]]
    names = np.array([f"v{v}" for v in range(40)])
    columns = {f"c{k}": names[column] for k, column in enumerate(codes.T)}
    return columns, effects[0, codes[:, 0]] + effects[1, codes[:, 1]]


def noisy_copies(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
    """Five noisy copies of the hidden number that matters; probabilities are those given the copies."""
    hidden = random.normal(size=n_rows)
    x = hidden[:, None] + 0.5 * random.normal(size=(n_rows, 5))
    # Given the copies the hidden number is normal: five of precision 4, and its own distribution of precision 1.
    points, weights = hermegauss(20)
    log_odds = 1.5 * (4.0 * x.sum(axis=1, keepdims=True) / 21.0 + points / np.sqrt(21.0))
    return {f"x{k}": column for k, column in enumerate(x.T)}, logit(expit(log_odds) @ weights / weights.sum())


def mixed_types(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
    """A skewed amount, a count with a step, a boolean and a category that matter, and three columns of noise."""
    amount, count, flag = random.lognormal(size=n_rows), random.poisson(2.0, n_rows), random.random(n_rows) < 0.3
    region, effects = random.integers(0, 6, n_rows), np.array([-0.9, -0.4, 0.0, 0.2, 0.5, 0.8])
    columns = {"amount": amount, "count": count, "flag": flag, "region": np.array(list("abcdef"))[region]}
    columns |= {"age": random.integers(18, 80, n_rows), "ratio": random.random(n_rows)}
    columns["word"] = random.choice(["u", "v", "w"], n_rows)
    return columns, 0.8 * np.log(amount) - 0.9 * (count > 2) + 0.7 * flag + effects[region] - 0.5


def rare_levels(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
    """Two categorical columns, most values of which are rare, and a numeric column with a straight effect."""
    effects = np.random.default_rng(7).normal(size=(2, 60))
    shares = 1.0 / np.arange(1, 61)
    codes = random.choice(60, (2, n_rows), p=shares / shares.sum())
    names, x = np.array([f"v{v}" for v in range(60)]), random.normal(size=n_rows)
    columns = {"first": names[codes[0]], "second": names[codes[1]], "x": x}
    return columns, 0.8 * effects[0, codes[0]] + 0.5 * effects[1, codes[1]] + 0.6 * x


def nearly_pure_levels(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
    """An amount that is 0 in nine of ten rows, otherwise one of forty sums of unequal frequency; each sum has about one
    row in 150 of its rarer class, in an order without meaning. Two columns have straight effects.
    """
    sums, signs = 1000.0 + 250.0 * np.arange(40), np.random.default_rng(5).choice([-1.0, 1.0], 40)
    shares = np.random.default_rng(6).permutation(1.0 / np.arange(1, 41))
    at, x = random.choice(40, n_rows, p=shares / shares.sum()), random.normal(size=(n_rows, 2))
    is_sum = random.random(n_rows) < 0.1
    columns = {"amount": np.where(is_sum, sums[at], 0.0), "x": x[:, 0], "w": x[:, 1]}
    return columns, np.where(is_sum, 5.0 * signs[at], -1.0) + 0.8 * x[:, 0] - 0.4 * x[:, 1]


def correlated_curves(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
    """Six columns with correlations of .6, of which a line, a bend, and a curve matter."""
    x = np.sqrt(0.6) * random.normal(size=(n_rows, 1)) + np.sqrt(0.4) * random.normal(size=(n_rows, 6))
    log_odds = 0.8 * x[:, 0] - 0.9 * np.abs(x[:, 1]) + 1.2 * np.tanh(1.5 * x[:, 2])
    return {f"x{k}": column for k, column in enumerate(x.T)}, log_odds


def rare_class(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
    """A class of about 4 % of the rows, and one straight effect among five columns."""
    columns, x = normal_columns(random, n_rows, 5)
    return columns, x[:, 0] - 3.5


def product_and_line(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
    """The product of two columns, a straight line, and two columns of noise."""
    columns, x = normal_columns(random, n_rows, 5)
    return columns, x[:, 0] * x[:, 1] + 0.5 * x[:, 2]


def no_effect(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
    """Five columns of noise and classes of equal probability."""
    return normal_columns(random, n_rows, 5)[0], np.zeros(n_rows)


def two_categorical_columns(random: np.random.Generator, n_rows: int) -> tuple[Columns, np.ndarray]:
    """Categorical columns of four and three values, the effects of which are additive."""
    a, c = random.integers(0, 4, n_rows), random.integers(0, 3, n_rows)
    log_odds = np.array([-1.0, -0.3, 0.3, 1.0])[a] + np.array([-0.8, 0.0, 0.8])[c]
    return {"a": np.array(["a0", "a1", "a2", "a3"])[a], "c": np.array(["c0", "c1", "c2"])[c]}, log_odds


def with_shuffled_copies(X: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Add a shuffled copy of each column, which has the same values and no relation to any other column."""
    random = np.random.default_rng(seed)
    copies = [X[name].gather(random.permutation(X.height)).alias(f"shuffled_{name}") for name in X.columns]
    return X.with_columns(copies)


def loss(model: SelectiveNB, X: pl.DataFrame, y: np.ndarray) -> float:
    """Return the log loss of rows, in nats."""
    return float(log_loss(y, model.predict_proba(X), labels=[0, 1]))


def log_odds(model: SelectiveNB, X: pl.DataFrame) -> np.ndarray:
    """Return the log odds of the second class, (n_rows,)."""
    return np.diff(model.scorecard_.joint(X), axis=1)[:, 0]


def slope(model: SelectiveNB, new: Sample) -> float:
    """Return the slope of the class by the log odds of new rows; below 1 if the model is overconfident."""
    regression = LogisticRegression(C=1e9).fit(log_odds(model, new.X)[:, None], new.y)
    return float(regression.coef_[0, 0])


def noise_share(card: Scorecard, X: pl.DataFrame, true_columns: tuple[str, ...]) -> float:
    """Return the share of features with a column of noise in the mean absolute contributions to rows."""
    contributions = np.diff(card.tables.contributions(card.cells(X)), axis=2)[..., 0]
    sizes = np.abs(contributions).mean(axis=0)
    is_noise = [not set(feature.columns) <= set(true_columns) for feature in card.used_features]
    return float(sizes[is_noise].sum() / max(sizes.sum(), np.finfo(float).tiny))


def largest_change(model: SelectiveNB, X: pl.DataFrame, column: str) -> float:
    """Return the largest change of log odds between neighbouring points of a column, other columns unchanged."""
    points = np.linspace(X[column].quantile(0.025), X[column].quantile(0.975), GRID)
    grid = X[:1].select(pl.all().repeat_by(GRID).explode()).with_columns(pl.Series(column, points))
    return float(np.abs(np.diff(log_odds(model, grid))).max())


def coverage(model: SelectiveNB, new: Sample) -> float:
    """Return the share of 90 % intervals of new rows that hold the true probability."""
    low, high = model.predict_interval(new.X)[:, 1].T
    return float(((low <= new.probabilities) & (new.probabilities <= high)).mean())
