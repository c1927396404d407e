"""Standard errors of contributions against the spread of models of resampled rows, whose levels stay as they are."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl

from bayesieve import SelectiveNB
from bayesieve.classifier.plan import FitPlan
from benchmarks.common.measuring import Report, catalogue, markdown_table, options_with_data

TABLES = ("german_credit", "vehicle", "abalone", "heart_statlog", "credit_approval_crx")
N_SAMPLES, QUICK_SAMPLES = 50, 3
OFTEN = 0.8  # of the models of samples that a feature must be in, so that its spread is one


def ratios(X: pl.DataFrame, y: pl.Series, calibrate: str, n_samples: int) -> list[float]:
    """Of each feature, its root mean squared standard error over the rows and classes, over that of its deviations."""
    model = SelectiveNB(pairs=0, calibrate=calibrate)
    encoder = FitPlan.of(model).encoder
    coded, refitter = encoder.fit_with_refitter(X, y)
    card, random = model.fit_coded(coded, encoder, refitter).scorecard_, np.random.default_rng(0)
    seen: dict[str, list[np.ndarray]] = {}
    for _ in range(n_samples):
        rows = np.sort(random.integers(0, X.height, X.height))
        explained = model.fit_coded(coded.take(rows), encoder, refitter).scorecard_.explain(X)
        for k, name in enumerate(explained.features):
            seen.setdefault(name, []).append(explained.contributions[:, k])
    found = []
    for k, codes in zip(card.used.tolist(), card.cells(X), strict=True):
        feature = card.features[k]
        own = seen.get(feature.name, [])
        if len(own) >= OFTEN * n_samples:
            known = codes < len(feature.standard_errors)
            errors = feature.standard_errors[codes[known]]
            found.append(float(np.sqrt((errors**2).mean() / np.var(own, axis=0)[known].mean())))
    return found


def main() -> None:
    arguments = options_with_data(__doc__).parse_args()
    if not (arguments.data / "catalogue.csv").exists():
        print("The tables are not there: pass --data DIR, a folder with catalogue.csv and the files it names.")
        return
    warnings.simplefilter("ignore")
    n_samples = QUICK_SAMPLES if arguments.quick else N_SAMPLES
    report = Report("errors", "Standard errors of contributions", arguments)
    report.add(
        f"Each feature's root mean squared standard error over rows and classes, over that of its spread in "
        f"{n_samples} models of rows drawn with replacement. Levels stay as they are; the search, cells and evidence "
        "are fitted again. The median over the features, and their range. 1 is right; below 1, errors leave out how "
        "weights and features depend on the rows."
    )
    known, lines = catalogue(arguments.data), []
    for name in TABLES[:1] if arguments.quick else TABLES:
        frame = pl.read_parquet(arguments.data / f"{name}.parquet")
        target = known[name]["target"]
        X, y = frame.drop(target), frame[target]
        cells = []
        for calibrate in ("auto", "weights"):
            of_features = ratios(X, y, calibrate, n_samples)
            middle, low, high = np.median(of_features), min(of_features), max(of_features)
            cells.append(f"{middle:.2f} ({low:.2f} to {high:.2f}, {len(of_features)} features)")
        lines.append([name, f"{X.height:,}", *cells])
    report.add()
    report.add(markdown_table(("table", "rows", "default", 'calibrate="weights"'), lines))
    report.close()


if __name__ == "__main__":
    main()
