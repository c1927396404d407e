"""The default on generated additive tables against the default without pairs, and on tables with interactions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from measuring import Report, markdown_table, options
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from bayesieve import SelectiveNB

SIZES = (50, 100, 300, 1000, 3000, 10_000, 50_000)
N_TABLES, N_TEST = 42, 30_000
MODELS: dict[str, dict[str, Any]] = {"default": {}, "pairs=0": {"pairs": 0}, "calibrate=False": {"calibrate": False}}
MOST_AUC, MOST_LOSS = 0.001, 1.002
_WAYS = (lambda x: x, np.tanh, lambda x: np.abs(x) - 0.8, lambda x: 1.0 * (x > 0.5), lambda x: np.sin(2 * x))


@dataclass(frozen=True)
class Generator:
    """Tables of 4 to 13 numbers, correlated in half of the tables, and up to 4 columns of 2 to 1,000 values; the log
    odds are a sum over the columns and, if asked for, three products of numbers. Classes have shares of .1 to 50 %.
    """

    seed: int
    interactions: bool

    def tables(self, n_rows: int) -> tuple[Any, ...]:
        """A table and its classes, and test rows and their probabilities."""
        fixed = np.random.default_rng(self.seed)
        n_numbers, share = int(fixed.integers(4, 14)), float(fixed.choice([0.5, 0.3, 0.1, 0.02, 0.005, 0.001]))
        slope = 1.5 / fixed.choice([0.5, 1.0, 2.0])
        sizes = fixed.choice([2, 5, 20, 200, 1000], int(fixed.integers(0, 5)))
        numbers = fixed.normal(size=n_numbers) * (fixed.random(n_numbers) < 0.6)
        ways = fixed.integers(0, len(_WAYS), n_numbers)
        effects = [fixed.normal(size=size) * fixed.choice([0.0, 0.3, 0.8]) for size in sizes]
        shared = fixed.normal(size=(n_numbers, 2)) * (fixed.random() < 0.5)
        products = [(*fixed.choice(n_numbers, 2, replace=False), fixed.normal()) for _ in range(3 * self.interactions)]

        def drawn(n: int, part: int) -> tuple[pl.DataFrame, np.ndarray]:
            rng = np.random.default_rng((self.seed, part))
            x = rng.normal(size=(n, n_numbers)) + rng.normal(size=(n, 2)) @ shared.T
            odds = sum((numbers[j] * _WAYS[ways[j]](x[:, j]) for j in range(n_numbers)), np.zeros(n))
            odds += sum((weight * x[:, a] * x[:, b] for a, b, weight in products), np.zeros(n))
            codes = [np.minimum((rng.random(n) ** 2 * size).astype(int), size - 1) for size in sizes]
            odds += sum((effect[code] for effect, code in zip(effects, codes, strict=True)), np.zeros(n))
            columns = {f"number_{j}": x[:, j] for j in range(n_numbers)}
            columns |= {f"word_{j}": np.array([f"v{c}" for c in code]) for j, code in enumerate(codes)}
            return pl.DataFrame(columns), slope * odds

        _, odds = drawn(60_000, 0)
        grid = np.linspace(-30, 30, 2001)
        offset = grid[np.searchsorted([float(expit(odds + one).mean()) for one in grid], share)]
        (X, own), (new, others) = drawn(n_rows, 1), drawn(N_TEST, 2)
        y = np.random.default_rng((self.seed, 3)).random(n_rows) < expit(own + offset)
        return X, y, new, expit(others + offset)


def main() -> None:
    arguments = options(__doc__).parse_args()
    warnings.simplefilter("ignore")
    n_tables, sizes = (6, SIZES[:3]) if arguments.quick else (N_TABLES, SIZES)
    report = Report("additive", "Additive tables", arguments)
    report.add(
        "Generated tables of two classes: log loss beyond that of the truth in nats, mean over "
        f"{n_tables // len(sizes)} tables for each number of rows, on {N_TEST:,} new rows. Tables with fewer than two "
        "rows of a class are left out.\n"
    )
    for interactions in (False, True):
        beyond: dict[int, list[list[float]]] = {n: [] for n in sizes}
        n_lost = 0
        for seed in range(n_tables):
            n_rows = sizes[seed % len(sizes)]
            X, y, new, truth = Generator(seed, interactions).tables(n_rows)
            if min(y.sum(), n_rows - y.sum()) < 2:
                continue
            found = [measured(SelectiveNB(**own).fit(X, y), new, truth, seed) for own in MODELS.values()]
            (auc, loss), (without, loss_without) = found[:2]
            n_lost += without - auc > MOST_AUC or loss > MOST_LOSS * loss_without
            least = log_loss(truth, truth)
            null = log_loss(np.full(N_TEST, y.mean()), truth)
            beyond[n_rows].append([*(one - least for _, one in found), null - least])
        every = sum(map(len, beyond.values()))
        report.add(f"## {'With three products of numbers' if interactions else 'Additive'}\n")
        lines = [[f"{n:,}", *(f"{v:.4f}" for v in np.mean(own, axis=0))] for n, own in beyond.items() if own]
        report.add(markdown_table(["rows", *MODELS, "class shares"], lines))
        report.add(
            f"\nThe default loses more than {MOST_AUC} AUC or {100 * (MOST_LOSS - 1):.1f} % of log loss to `pairs=0` "
            f"on {n_lost} of {every} tables.\n"
        )
    report.close(["numpy", "polars"])


def measured(model: SelectiveNB, new: pl.DataFrame, truth: np.ndarray, seed: int) -> tuple[float, float]:
    """AUC of drawn classes, and the expected log loss."""
    predicted = model.predict_proba(new)[:, 1]
    classes = np.random.default_rng((seed, 4)).random(truth.size) < truth
    auc = roc_auc_score(classes, predicted) if 0 < classes.sum() < classes.size else 0.5
    return float(auc), log_loss(predicted, truth)


def log_loss(predicted: np.ndarray, truth: np.ndarray) -> float:
    """Expected log loss in nats of probabilities of the second class, where the true ones are known."""
    predicted = predicted.clip(1e-9, 1 - 1e-9)
    return float(-(truth * np.log(predicted) + (1 - truth) * np.log1p(-predicted)).mean())


if __name__ == "__main__":
    main()
