"""What more rows bring to fitted evidence: log loss by the rows of the last fit, and how right probabilities are."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from bayesieve import SelectiveNB
from bayesieve.evidence import calibration
from benchmarks.common.measuring import Report, markdown_table, options

KINDS = ("additive", "pairs", "smooth", "values", "rare class", "noise", "three classes")
ROWS_USED = (50_000, 200_000, 1_000_000, 2_000_000)
ROWS, NEW_ROWS = 2_000_000, 200_000
SLOPE_ROWS, SLOPE_SEEDS = (5_000, 50_000, 200_000), 20
_EVERY_TERM = 1 << 40


def table(kind: str, n_rows: int, seed: int) -> tuple[pl.DataFrame, np.ndarray, np.ndarray]:
    """Columns, classes and true log probabilities."""
    rng, effects = np.random.default_rng([seed, KINDS.index(kind)]), np.random.default_rng(seed + 77)
    x, c = rng.normal(size=(n_rows, 6)), rng.integers(0, 8, n_rows)
    x[:, 1] = 0.6 * x[:, 0] + 0.8 * x[:, 1]
    columns = {f"x{j}": x[:, j] for j in range(6)} | {"c": _texts(c)}
    odds = -0.3 + 0.7 * x[:, 0] - 0.5 * x[:, 1] + 0.4 * np.tanh(2 * x[:, 2]) + 0.3 * effects.normal(size=8)[c]
    if kind == "pairs":
        odds += 0.6 * np.sign(x[:, 3]) * np.sign(x[:, 4] + 0.3) + 0.4 * effects.normal(size=8)[c] * np.sign(x[:, 5])
    elif kind == "smooth":
        odds += np.sin(2 * x[:, 3]) + 0.4 * x[:, 4] * x[:, 5]
    elif kind in ("values", "rare class"):
        n_values = 400 if kind == "values" else 60
        region = (n_values * rng.random(n_rows) ** 1.5).astype(int)
        columns["region"] = _texts(region)
        odds += effects.normal(0.0, 0.5, n_values)[region] - 3.5 * (kind == "rare class")
    elif kind == "noise":
        columns |= {f"z{j}": rng.normal(size=n_rows) for j in range(25)}
        columns["zc"] = _texts(rng.integers(0, 300, n_rows))
    joint = [np.zeros(n_rows), odds]
    if kind == "three classes":
        joint.append(0.8 * x[:, 3] - 0.5 * x[:, 1])
    logs = log_softmax(np.stack(joint, axis=1), axis=1)
    return pl.DataFrame(columns), (logs + rng.gumbel(size=logs.shape)).argmax(axis=1), logs


def _texts(codes: np.ndarray) -> pl.Series:
    return pl.Series([f"v{i}" for i in range(int(codes.max()) + 1)]).gather(codes.astype(np.uint32))


def log_loss(logs: np.ndarray, classes: np.ndarray) -> float:
    return -float(logs[np.arange(classes.size), classes].mean())


def slope_of(logs: np.ndarray, classes: np.ndarray) -> float:
    """The factor on log probabilities that predicts best."""
    return float(minimize_scalar(lambda s: log_loss(log_softmax(s * logs, axis=1), classes), (0.9, 1.1)).x)


def by_rows_used(kind: str, n_rows: int, used: Sequence[int]) -> list[str]:
    """Log loss beyond the truth in millinats, and processor seconds, by the rows of the last fit."""
    X, y, truth = table(kind, n_rows + NEW_ROWS, 0)
    least, line = log_loss(truth[n_rows:], y[n_rows:]), [kind]
    before = calibration._MOST_LAST_ROWS, calibration._MOST_TERMS
    for most in used:
        calibration._MOST_LAST_ROWS = most
        calibration._MOST_TERMS = _EVERY_TERM
        began = time.process_time()
        model = SelectiveNB().fit(X[:n_rows], y[:n_rows])
        seconds = time.process_time() - began
        excess = log_loss(model.predict_log_proba(X[n_rows:]), y[n_rows:]) - least
        line.append(f"{1000 * excess:.2f} ({seconds:.1f} s)")
        calibration._MOST_LAST_ROWS, calibration._MOST_TERMS = before
    return line


def slopes(kind: str, n_rows: int, n_seeds: int) -> str:
    """Mean slope on new rows over seeds, and its standard error."""
    found = []
    for seed in range(n_seeds):
        X, y, _ = table(kind, n_rows + NEW_ROWS, seed)
        model = SelectiveNB().fit(X[:n_rows], y[:n_rows])
        found.append(slope_of(model.predict_log_proba(X[n_rows:]), y[n_rows:]))
    return f"{np.mean(found):.3f} ± {np.std(found) / np.sqrt(max(1, n_seeds - 1)):.3f}"


def main() -> None:
    """Measure both and write the tables."""
    parser = options(__doc__)
    parser.add_argument("--seeds", type=int, default=SLOPE_SEEDS, help="of each slope")
    parser.add_argument("--rows", type=int, default=ROWS, help="of the tables of which evidence uses some")
    arguments = parser.parse_args()
    n_rows, seeds, sizes = arguments.rows, arguments.seeds, SLOPE_ROWS
    if arguments.quick:
        n_rows, seeds, sizes = 100_000, 2, (2_000,)
    SelectiveNB().fit(*table(KINDS[0], 5_000, 99)[:2])  # compiled
    used = [most for most in ROWS_USED if most < n_rows] + [n_rows]
    report = Report("evidence_rows", "Evidence by rows", arguments)
    report.add(
        f"Log loss beyond that of the truth in thousandths of a nat, and processor seconds, of fits of {n_rows:,} "
        "rows, by the rows of the last fit of the evidence.\n"
    )
    header = ["table", *(f"{most:,}" for most in used)]
    report.add(markdown_table(header, [by_rows_used(kind, n_rows, used) for kind in KINDS]))
    report.add(f"\nSlope of a new fit to the log probabilities of new rows by rows fitted, mean of {seeds} seeds.\n")
    lines = [[kind, *(slopes(kind, size, seeds) for size in sizes)] for kind in KINDS]
    report.add(markdown_table(["table", *(f"{size:,}" for size in sizes)], lines))
    report.close()


if __name__ == "__main__":
    main()
