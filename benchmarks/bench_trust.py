"""Trust in the default model: noise that it keeps, cliffs, interactions, calibration, intervals and errors."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import logit
from sklearn.metrics import log_loss

from bayesieve import SelectiveNB
from bayesieve.datasets import load_german_credit
from benchmarks.bench_order import changes
from benchmarks.common import trust_tables as tables
from benchmarks.common.measuring import Report, catalogue, markdown_table, options_with_data

N_NEW = 20_000  # new rows of a generated table
ORDER_TABLES = (
    *("german_credit", "pima_diabetes", "heart_cleveland", "vehicle", "segment"),
    *("waveform40", "sick", "ada", "kr_vs_kp", "spambase"),
)


class Line(NamedTuple):
    """A line of the page: the case, the measured values, the wanted bounds, and whether they are met."""

    case: str
    measured: str
    wanted: str
    is_met: bool

    @property
    def cells(self) -> tuple[str, str, str, str]:
        return self.case, self.measured, self.wanted, "yes" if self.is_met else "**no**"


def fit(X: pl.DataFrame, y: np.ndarray, **parameters: Any) -> SelectiveNB:
    return SelectiveNB(random_state=0, **parameters).fit(X, y)


def noise(quick: bool) -> Iterator[Line]:
    """Two true columns and fifteen of noise."""
    wanted = {300: (0.12, 0.01), 1000: (0.05, 0.004), 5000: (0.03, 0.0015), 20_000: (0.01, 0.0005)}
    for n_rows, (most_share, most_excess) in list(wanted.items())[: 1 if quick else None]:
        figures = []
        for seed in range(1 if quick else 5):
            train, new = tables.samples(tables.two_true_columns, n_rows, N_NEW, seed)
            model, of_true = fit(train.X, train.y), fit(train.X.select(tables.TRUE_COLUMNS), train.y)
            share = tables.noise_share(model.scorecard_, new.X, tables.TRUE_COLUMNS)
            best = tables.loss(of_true, new.X.select(tables.TRUE_COLUMNS), new.y)
            figures.append((share, tables.loss(model, new.X, new.y) - best))
        share, excess = np.mean(figures, axis=0)
        yield Line(
            f"2 true and 15 noise columns, {n_rows:,} rows: share of noise, excess log loss",
            f"{share:.1%}, {excess:.4f}",
            f"at most {most_share:.0%}, {most_excess}",
            share <= most_share and excess <= most_excess,
        )


def chance(quick: bool) -> Iterator[Line]:
    """Bayes factors of columns without effect, which reports show as how often chance does as well."""
    n_tables, logs = 2 if quick else 60, []
    for seed in range(1000, 1000 + n_tables):
        train, _ = tables.samples(tables.two_true_columns, 300, 0, seed)
        features = fit(train.X, train.y).scorecard_.used_features
        logs += [f.log_bayes for f in features if len(f.columns) == 1 and f.name not in tables.TRUE_COLUMNS]
    n_noise = n_tables * (len(train.X.columns) - len(tables.TRUE_COLUMNS))
    for factor in (5, 20):
        share = float(np.sum(np.array(logs) >= np.log(factor)) / n_noise)
        yield Line(
            f"The same tables of 300 rows: noise columns with a Bayes factor of {factor} or more",
            f"{share:.1%}",
            f"at most {1 / factor:.0%}",
            share <= 1 / factor,
        )


def weak(quick: bool) -> Iterator[Line]:
    """Many weak effects, which must survive."""
    losses = []
    for seed in range(100, 101 if quick else 104):
        train, new = tables.samples(tables.weak_effects, 2000, N_NEW, seed)
        losses.append(tables.loss(fit(train.X, train.y), new.X, new.y))
    mean = float(np.mean(losses))
    yield Line("20 weak true columns, 2,000 rows: log loss", f"{mean:.4f}", "at most .6439", mean <= 0.6439)


def shuffled(quick: bool) -> Iterator[Line]:
    """Shuffled copies of real columns."""
    X, y = load_german_credit(return_X_y=True)
    figures = []
    for seed in range(1 if quick else 5):
        features = fit(tables.with_shuffled_copies(X, seed), y).scorecard_.used_features
        shares = [f.importance for f in features if any(name.startswith("shuffled_") for name in f.columns)]
        figures.append((len(shares), sum(shares)))
    n, share = np.mean(figures, axis=0)
    yield Line(
        "German credit with a shuffled copy of each column: copies in the model, share of importance",
        f"{n:.1f}, {share:.1%}",
        "at most 1, 2%",
        n <= 1 and share <= 0.02,
    )


def wide_noise(quick: bool) -> Iterator[Line]:
    """Noise with more columns than rows."""
    sizes = ((200, 2000),) if quick else ((200, 2000), (300, 3000), (300, 4000), (500, 3000))
    excesses = []
    for n_rows, n_columns in sizes:
        for seed in range(1 if quick else 3):
            train, new = tables.samples(tables.wide_noise(n_columns), n_rows, 2000, seed)
            share = np.full(new.y.size, train.y.mean())
            excesses.append(tables.loss(fit(train.X, train.y), new.X, new.y) - log_loss(new.y, share))
    n_good = int(np.sum(np.array(excesses) <= 0.03))
    yield Line(
        f"Noise only, 200 to 500 rows x 2,000 to 4,000 columns: tables of {len(excesses)} that lose at most .03 nats "
        "against the class shares",
        f"{n_good} (worst {max(excesses):+.3f})",
        f"at least {len(excesses) - 1}",
        n_good >= len(excesses) - 1,
    )


def wide_binary(quick: bool) -> Iterator[Line]:
    """Many weak indicators of few causes."""
    slopes, excesses = [], []
    for seed in range(1 if quick else 3):
        train, new = tables.samples(tables.wide_binary, 2000, 10_000, seed)
        model = fit(train.X, train.y)
        slopes.append(tables.slope(model, new))
        of_levels = tables.loss(fit(train.X, train.y, calibrate="levels"), new.X, new.y)
        excesses.append(tables.loss(model, new.X, new.y) - of_levels)
    slope, excess = float(np.mean(slopes)), float(np.mean(excesses))
    yield Line(
        '800 indicators, 2,000 rows: slope on new rows; log loss beyond that of calibrate="levels"',
        f"{slope:.2f} ({min(slopes):.2f} to {max(slopes):.2f}); {excess:+.4f}",
        ".85 to 1.15; at most .002",
        0.85 <= slope <= 1.15 and excess <= 0.002,
    )


def cliffs(quick: bool) -> Iterator[Line]:
    """Straight effects, the curves of which should have no jumps."""
    cases: tuple[tuple[tables.Generator, int, str], ...] = (
        (tables.straight_effect, 1000, "x0"),
        (tables.two_true_columns, 1000, "x"),
        (tables.straight_effect, 25_000, "x0"),
    )
    grid = f"largest change between neighbours of {tables.GRID} points"
    for generator, n_rows, column in cases[: 1 if quick else None]:
        trains = [tables.samples(generator, n_rows, 0, seed)[0] for seed in range(1 if quick else 6)]
        change = float(np.mean([tables.largest_change(fit(X, y), X, column) for X, y, _ in trains]))
        name = "straight effect" if generator is tables.straight_effect else "straight effect among noise"
        yield Line(
            f"A {name}, {n_rows:,} rows: {grid}",
            f"{change:.2f}",
            "at most .3",
            change <= 0.3,
        )
    X, y = load_german_credit(return_X_y=True)
    numbers = X.with_columns(pl.col("credit_amount").cast(pl.Float64))
    change = tables.largest_change(fit(X, y), numbers, "credit_amount")
    yield Line(f"German credit's amount: {grid}", f"{change:.2f}", "at most .3", change <= 0.3)


def jumps(quick: bool) -> Iterator[Line]:
    """A true jump, which should stay."""
    rises = []
    for seed in range(1 if quick else 6):
        train, _ = tables.samples(tables.jump, 1200, 0, seed)
        ends = pl.DataFrame({"x0": [0.1, 0.5], "x1": [0.0, 0.0]})
        rises.append(float(np.diff(tables.log_odds(fit(train.X, train.y), ends))[0]))
    mean = float(np.mean(rises))
    yield Line(
        "A true jump of 2, 1,200 rows: change between points .2 either side",
        f"{mean:.2f} ({min(rises):.2f} to {max(rises):.2f})",
        "at least 1.5",
        mean >= 1.5,
    )


def pure(quick: bool) -> Iterator[Line]:
    """Levels that look pure in a sample, although one row in 150 belongs to the other class."""
    for n_rows, most in ((5000, 0.01), (50_000, 0.0015))[: 1 if quick else None]:
        figures = []
        for seed in range(1 if quick else 3):
            train, new = tables.samples(tables.nearly_pure_levels, n_rows, N_NEW, seed)
            model = fit(train.X, train.y)
            excess = tables.loss(model, new.X, new.y) - log_loss(new.y, new.probabilities)
            true = np.abs(logit(new.probabilities)).max()
            figures.append((np.abs(tables.log_odds(model, new.X)).max(), excess, true))
        largest, excess, true = np.max(figures, axis=0)
        yield Line(
            f"Levels with one row in 150 of the other class, {n_rows:,} rows: largest log odds of new rows (the truth "
            f"has {true:.1f}), and excess over the log loss of the truth",
            f"{largest:.1f}, {excess:.4f}",
            f"at most 10, {most}",
            largest <= 10.0 and excess <= most,
        )


def interactions(quick: bool) -> Iterator[Line]:
    """Pairs of numeric columns that are informative only together."""
    cases: tuple[tuple[tables.Generator, int, float, str], ...] = (
        (tables.product_of_signs, 500, 0.36, "sign(a b)"),
        (tables.product_of_signs, 2000, 0.36, "sign(a b)"),
        (tables.product, 2000, 0.56, "2 a b"),
    )
    for generator, n_rows, most, name in cases[: 1 if quick else None]:
        losses, best = [], []
        for seed in range(1 if quick else 3):
            train, new = tables.samples(generator, n_rows, N_NEW, seed)
            losses.append(tables.loss(fit(train.X, train.y), new.X, new.y))
            best.append(log_loss(new.y, new.probabilities))
        yield Line(
            f"Only {name} matters, {n_rows:,} rows: largest log loss of {len(losses)} tables",
            f"{max(losses):.3f} (the truth has {np.mean(best):.3f})",
            f"at most {most:.2f}",
            max(losses) <= most,
        )


def coverage(generator: tables.Generator, n_rows: int, seed: int) -> float:
    """Return the coverage of new rows of a generated table."""
    train, new = tables.samples(generator, n_rows, 4000, seed)
    return tables.coverage(fit(train.X, train.y), new)


def intervals(quick: bool) -> Iterator[Line]:
    """Intervals of probabilities."""
    sizes = (200,) if quick else (200, 1000, 5000, 20_000)
    additive = (
        *(tables.steps, tables.smooth, tables.forty_categories, tables.noisy_copies, tables.rare_class),
        *(tables.mixed_types, tables.rare_levels, tables.correlated_curves),
    )
    for generator in (*additive, tables.product_and_line):
        wanted = sizes if generator in additive else sizes[1:]
        shares = [np.mean([coverage(generator, n, seed) for seed in range(1 if quick else 5)]) for n in wanted]
        if shares:
            yield Line(
                f"90 % intervals, {generator.__name__.replace('_', ' ')}; {', '.join(f'{n:,}' for n in wanted)} rows: "
                "share that holds the true probability",
                ", ".join(f"{share:.2f}" for share in shares),
                ".83 to .97",
                all(0.825 <= share < 0.975 for share in shares),
            )
    n_seeds = 2 if quick else 10
    n_good = [sum(coverage(tables.no_effect, n, seed) >= 0.5 for seed in range(n_seeds)) for n in sizes]
    yield Line(
        f"90 % intervals, noise only; {', '.join(f'{n:,}' for n in sizes)} rows: tables of {n_seeds} that hold the "
        "true probability in most rows",
        ", ".join(map(str, n_good)),
        f"at least {0.8 * n_seeds:.0f}",
        min(n_good) >= 0.8 * n_seeds,
    )


def errors(quick: bool) -> Iterator[Line]:
    """Standard errors of contributions."""
    rules = {name: {"groups": [[f"{name}{k}"] for k in range(n)]} for name, n in (("a", 4), ("c", 3))}
    for calibrate in ("auto", "levels", False):
        ratios = []
        for n_rows in (500,) if quick else (500, 3000):
            contributions, standard_errors = [], []
            for seed in range(10 if quick else 200):
                train, _ = tables.samples(tables.two_categorical_columns, n_rows, 0, seed)
                card = fit(train.X, train.y, levels=rules, calibrate=calibrate, pairs=0).scorecard_
                contributions.append(np.concatenate([card[name].contributions[:, 1] for name in "ac"]))
                standard_errors.append(np.concatenate([card[name].standard_errors[:, 1] for name in "ac"]))
            ratios += [*(np.sqrt(np.mean(np.square(standard_errors), axis=0)) / np.std(contributions, axis=0))]
        yield Line(
            f"Standard errors of seven cells, calibrate={calibrate!r}, 500 and 3,000 rows: over the spread of models "
            "of fresh samples",
            f"{min(ratios):.2f} to {max(ratios):.2f}",
            ".9 to 1.15",
            min(ratios) >= 0.9 and max(ratios) <= 1.15,
        )


def order(arguments: Any) -> Iterator[Line]:
    """Order of rows and seeds, on real tables."""
    if not (arguments.data / "catalogue.csv").exists():
        print("The real tables are not there: pass --data DIR, a folder with catalogue.csv and the files it names.")
        return
    known, moves = catalogue(arguments.data), []
    for name in ORDER_TABLES[: 1 if arguments.quick else None]:
        frame, target = pl.read_parquet(arguments.data / f"{name}.parquet"), known[name]["target"]
        moves.append(changes(frame.drop(target), frame[target].cast(pl.String).to_numpy()))
    by_order, by_seed = np.max(moves, axis=0)
    what = f"{len(moves)} real tables: largest root mean square change of log odds of held-out rows by the"
    yield Line(f"{what} order of rows", f"{by_order:.1e}", "at most 2e-06", by_order <= 2e-6)
    worst = ORDER_TABLES[int(np.argmax([move[1] for move in moves]))]
    yield Line(f"{what} seed", f"{by_seed:.3f} ({worst})", "at most .02", by_seed <= 0.02)


CASES: dict[str, Callable[[bool], Iterator[Line]]] = {
    case.__name__: case
    for case in (
        noise,
        chance,
        weak,
        shuffled,
        wide_noise,
        wide_binary,
        cliffs,
        jumps,
        pure,
        interactions,
        intervals,
        errors,
    )
}


def main() -> None:
    parser = options_with_data(__doc__)
    names = [*CASES, "order"]
    parser.add_argument("--only", help=f"of {', '.join(names)}; separated by commas; not written")
    arguments = parser.parse_args()
    chosen = names if arguments.only is None else arguments.only.split(",")
    if unknown := set(chosen) - set(names):
        parser.error(f"--only has unknown names: {', '.join(sorted(unknown))}; choose from {', '.join(names)}.")
    if arguments.only is not None and arguments.write:
        parser.error("--write writes the whole page; leave out --only.")
    warnings.simplefilter("ignore")
    report = Report("trust", "Trust in the default model", arguments)
    lines: list[Line] = []
    for name in chosen:
        began = time.perf_counter()
        for line in order(arguments) if name == "order" else CASES[name](arguments.quick):
            print(" | ".join(line.cells), flush=True)
            lines.append(line)
        print(f"  {name}: {time.perf_counter() - began:.0f} s", flush=True)
    report.add(
        "The default, `SelectiveNB()`, on generated tables (`trust_tables.py`) whose probabilities are known, and on "
        "real ones. Unless a line says otherwise, values are means over three to six tables, measured on new rows. The "
        "share of noise is that of features with a column of noise, in the mean absolute contributions.\n"
    )
    report.add(markdown_table(("case", "measured", "wanted", "met"), [line.cells for line in lines]))
    report.add(f"\n{sum(line.is_met for line in lines)} of {len(lines)} met.")
    report.close(["polars"])


if __name__ == "__main__":
    main()
