"""The default against its parts: additive tables, interactions, classes that are hard to predict, and real donors."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from bayesieve import SelectiveNB
from benchmarks.common.measuring import Report, markdown_table, options_with_data

TABLES = {50: 10, 100: 10, 300: 10, 1000: 10, 3000: 10, 10_000: 10, 50_000: 3, 200_000: 1}
"""How many of each number of rows."""
N_TEST, SHARES = 30_000, "class shares"
MODELS: dict[str, dict[str, Any]] = {"default": {}, "pairs=0": {"pairs": 0}, "calibrate=False": {"calibrate": False}}
MOST_AUC, MOST_LOSS = 0.001, 0.002
KINDS = ("Additive", "With three products of numbers", "Hardly predictable")
_WAYS = (lambda x: x, np.tanh, lambda x: np.abs(x) - 0.8, lambda x: 1.0 * (x > 0.5), lambda x: np.sin(2 * x))


@dataclass(frozen=True)
class Generator:
    """Tables of 4 to 13 numbers, correlated in half of the tables and some with few distinct values or one, and up to
    4 columns of 2 to 1,000 values. The log odds are a sum over the columns and, with interactions, three products of
    numbers; of tables that are hardly predictable they have a standard deviation of .1 to .3. Classes have shares of
    .1 to 50 %, or to 5 % of these.
    """

    seed: int
    kind: str

    def tables(self, n_rows: int) -> tuple[Any, ...]:
        """A table and its classes, and test rows and their probabilities."""
        fixed = np.random.default_rng(self.seed)
        is_hard, n_numbers = self.kind == KINDS[2], int(fixed.integers(4, 14))
        share = float(fixed.choice([0.05, 0.02, 0.005, 0.001] if is_hard else [0.5, 0.3, 0.1, 0.02, 0.005, 0.001]))
        slope = fixed.choice([0.1, 0.2, 0.3]) if is_hard else 1.5 / fixed.choice([0.5, 1.0, 2.0])
        sizes = fixed.choice([2, 5, 20, 200, 1000], int(fixed.integers(0, 5)))
        steps = fixed.choice([0, 0, 1, 10, 100, 1000], n_numbers)
        numbers = fixed.normal(size=n_numbers) * (fixed.random(n_numbers) < 0.6)
        ways = fixed.integers(0, len(_WAYS), n_numbers)
        effects = [fixed.normal(size=size) * fixed.choice([0.0, 0.3, 0.8]) for size in sizes]
        shared = fixed.normal(size=(n_numbers, 2)) * (fixed.random() < 0.5)
        products = [(*fixed.choice(n_numbers, 2, replace=False), fixed.normal()) for _ in range(3)]

        def drawn(n: int, part: int) -> tuple[pl.DataFrame, np.ndarray]:
            rng = np.random.default_rng((self.seed, part))
            x = rng.normal(size=(n, n_numbers)) + rng.normal(size=(n, 2)) @ shared.T
            for j in np.flatnonzero(steps):
                x[:, j] = np.round(x[:, j] / 6 * steps[j]) * 6 / steps[j]
            odds = sum((numbers[j] * _WAYS[ways[j]](x[:, j]) for j in range(n_numbers)), np.zeros(n))
            if self.kind == KINDS[1]:
                odds += sum(weight * x[:, a] * x[:, b] for a, b, weight in products)
            codes = [np.minimum((rng.random(n) ** 2 * size).astype(int), size - 1) for size in sizes]
            odds += sum((effect[code] for effect, code in zip(effects, codes, strict=True)), np.zeros(n))
            columns = {f"number_{j}": x[:, j] for j in range(n_numbers)}
            words = {f"word_{j}": np.array([f"v{c}" for c in range(sizes[j])])[code] for j, code in enumerate(codes)}
            return pl.DataFrame(columns | words), odds

        _, odds = drawn(60_000, 0)
        slope /= max(float(odds.std()), 1e-9) if is_hard else 1.0
        grid = np.linspace(-30, 30, 2001)
        offset = grid[np.searchsorted([float(expit(slope * odds + one).mean()) for one in grid], share)]
        (X, own), (new, others) = drawn(n_rows, 1), drawn(N_TEST, 2)
        y = np.random.default_rng((self.seed, 3)).random(n_rows) < expit(slope * own + offset)
        return X, y, new, expit(slope * others + offset)


def main() -> None:
    arguments = options_with_data(__doc__).parse_args()
    warnings.simplefilter("ignore")
    tables = {50: 2, 100: 2, 300: 2} if arguments.quick else TABLES
    report = Report("additive", "Additive tables", arguments)
    report.add(
        "Generated tables of two classes: log loss beyond that of the truth, mean over the tables with each number of "
        f"rows, in nats for 1,000 of {N_TEST:,} new rows. Tables with fewer than two rows of a class are left out.\n"
    )
    sizes = [n for n, number in tables.items() for _ in range(number)]
    for kind in KINDS:
        measured = [(n, scores(Generator(seed, kind), n)) for seed, n in enumerate(sizes)]
        lines = []
        for n in tables:
            losses = [[loss for _, loss in found.values()] for own, found in measured if own == n and found]
            if losses:
                means = np.mean(losses, axis=0)
                lines.append([f"{n:,}", len(losses), *(f"{1000 * (mean - means[-1]):.3f}" for mean in means[:-1])])
        report.add(f"## {kind}\n")
        report.add(markdown_table(["rows", "tables", *MODELS, SHARES], lines))
        report.add("\n" + " ".join(verdicts([found for _, found in measured if found])) + "\n")
    if (arguments.data / "pva97nk.parquet").exists():
        report.add("## Donors\n")
        report.add(
            "pva97nk: five stratified folds of all rows, and of four samples in which 5 % are donors; means over the "
            "folds.\n"
        )
        report.add(markdown_table(["", "donors", "AUC", "log loss"], donors(arguments.data, arguments.quick)))
    report.close(["polars"])


def scores(generator: Generator, n_rows: int) -> dict[str, tuple[float, float]]:
    """Expected AUC and log loss of each model, the class shares and the truth; empty without rows of both classes."""
    X, y, new, truth = generator.tables(n_rows)
    if min(y.sum(), n_rows - y.sum()) < 2:
        return {}
    predicted = {name: SelectiveNB(**own).fit(X, y).predict_proba(new)[:, 1] for name, own in MODELS.items()}
    predicted |= {SHARES: np.full(N_TEST, y.mean()), "truth": truth}
    classes, weights = np.repeat([1, 0], N_TEST), np.concatenate([truth, 1.0 - truth])
    return {
        name: (float(roc_auc_score(classes, np.tile(own, 2), sample_weight=weights)), log_loss(own, truth))
        for name, own in predicted.items()
    }


def verdicts(found: Sequence[dict[str, tuple[float, float]]]) -> Iterator[str]:
    """How often, and by how much at most, the default loses to each other model."""
    for name in (*MODELS, SHARES)[1:]:
        auc = [one[name][0] - one["default"][0] for one in found]
        loss = [one["default"][1] / one[name][1] - 1.0 for one in found]
        n_lost = sum(a > MOST_AUC or b > MOST_LOSS for a, b in zip(auc, loss, strict=True))
        yield (
            f"To `{name}`, the default loses more than {MOST_AUC} AUC or {MOST_LOSS:.1%} of log loss on {n_lost} of "
            f"{len(found)} tables: at most {max(auc):.4f} and {max(loss):.2%}."
        )


def donors(folder: Path, quick: bool) -> Iterator[list[str]]:
    """Lines of a table of models, for all donors and with the 5 % of them that a campaign brings."""
    table = pl.read_parquet(folder / "pva97nk.parquet")
    gives = table["TargetB"].cast(pl.String).to_numpy() == "1"
    samples, rng = [np.arange(gives.size)], np.random.default_rng(0)
    for _ in range(0 if quick else 4):
        few = rng.choice(np.flatnonzero(gives), (~gives).sum() // 19, replace=False)
        samples.append(np.sort(np.append(np.flatnonzero(~gives), few)))
    models = {**MODELS, "calibrate='weights'": {"calibrate": "weights"}}
    found: dict[tuple[bool, str], list[tuple[float, float]]] = {}
    for number, rows in enumerate(samples):
        X, y = table.drop("TargetB", "TargetD")[rows], gives[rows]
        for fit, test in StratifiedKFold(5, shuffle=True, random_state=0).split(rows, y):
            predicted = {
                k: SelectiveNB(**own).fit(X[fit], y[fit]).predict_proba(X[test])[:, 1] for k, own in models.items()
            }
            for name, own in (predicted | {SHARES: np.full(test.size, y[fit].mean())}).items():
                one = float(roc_auc_score(y[test], own)), log_loss(own, y[test])
                found.setdefault((number > 0, name), []).append(one)
    for (is_rare, name), of_folds in found.items():
        auc, loss = np.mean(of_folds, axis=0)
        yield [name, "5 %" if is_rare else "50 %", f"{auc:.4f}", f"{loss:.4f}"]


def log_loss(predicted: np.ndarray, truth: np.ndarray) -> float:
    """Expected log loss in nats of probabilities of the second class, where the true ones are known."""
    predicted = predicted.clip(1e-9, 1 - 1e-9)
    return float(-(truth * np.log(predicted) + (1 - truth) * np.log1p(-predicted)).mean())


if __name__ == "__main__":
    main()
