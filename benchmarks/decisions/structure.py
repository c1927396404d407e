"""Where boosted trees beat the default: trees of one, two and three columns, and the default with made columns."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import StandardScaler

from bayesieve import SelectiveNB, TableEncoder
from benchmarks.common.measuring import RESULTS, Report, catalogue, markdown_table, options_with_data
from benchmarks.common.scores import scores

TABLES = ["car", "glass", "kr_vs_kp", "satimage", "segment", "sick", "sonar", "spambase", "tic_tac_toe", "vowel"]
N_COLUMNS = N_COMPONENTS = 10
STORED = RESULTS / "missing_structure.jsonl"


def boosted(X: pl.DataFrame, y: np.ndarray, new: pl.DataFrame, **own: Any) -> np.ndarray:
    """Probabilities by boosted trees, with one temperature that inner folds choose."""
    texts = [name for name, kind in X.schema.items() if not kind.is_numeric()]
    both = pl.concat([X, new]).with_columns(pl.col(texts).cast(pl.String).rank("dense"))
    values, is_text = both.cast(pl.Float64).to_numpy(), [name in texts for name in X.columns]
    large = y.size * len(np.unique(y)) > 5000
    own = {"learning_rate": 0.1 if large else 0.05, "max_iter": 100 if large else 200} | own
    own |= {"min_samples_leaf": 20 if y.size > 2000 else 5, "early_stopping": False, "random_state": 0}
    trees = HistGradientBoostingClassifier(categorical_features=is_text, **own)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    model = CalibratedClassifierCV(trees, method="temperature", cv=folds, ensemble=False)
    proba: np.ndarray = model.fit(values[: y.size], y).predict_proba(values[y.size :])
    return proba


def by_bayesieve(X: pl.DataFrame, y: np.ndarray, new: pl.DataFrame, add: Any = None, **own: Any) -> np.ndarray:
    """Probabilities by `SelectiveNB`, with the columns that ``add`` makes of numbers."""
    names = [name for name, kind in X.schema.items() if kind.is_numeric() and X[name].n_unique() > 4]
    if add is not None and len(names) > 1:
        raw = tuple(table[names].to_numpy().astype(float) for table in (X, new))
        scaler = StandardScaler().fit(raw[0])
        made = add(raw, [np.nan_to_num(scaler.transform(values)) for values in raw], y)
        schema = [f"made {i}" for i in range(made[0].shape[1])]
        X, new = (t.hstack(pl.DataFrame(m, schema, nan_to_null=True)) for t, m in zip((X, new), made, strict=True))
    proba: np.ndarray = SelectiveNB(n_jobs=1, **own).fit(X, y).predict_proba(new)
    return proba


def of_two(raw: Any, scaled: Any, y: np.ndarray, make: Callable[..., Any], scale: bool) -> Any:
    """``make`` of all pairs of the columns whose levels save most."""
    best = np.argsort(-TableEncoder().fit(raw[0], y).level_scores_, kind="stable")[:N_COLUMNS]
    with np.errstate(all="ignore"):
        made = [[make(v[:, i], v[:, j]) for i, j in combinations(best, 2)] for v in (scaled if scale else raw)]
    return [np.where(np.isfinite(values), values, np.nan).T for values in map(np.array, made)]


def of_rows(raw: Any, scaled: Any, y: np.ndarray) -> Any:
    """Mean, deviation, least and largest of all numbers, as they are and standardised."""
    kinds = (np.nanmean, np.nanstd, np.nanmin, np.nanmax)
    return [np.stack([kind(v, axis=1) for v in both for kind in kinds], 1) for both in zip(scaled, raw, strict=True)]


def components(raw: Any, scaled: Any, y: np.ndarray) -> Any:
    """The first principal components."""
    model = PCA(min(N_COMPONENTS, *scaled[0].shape), random_state=0).fit(scaled[0])
    return [model.transform(v) for v in scaled]


def of_classes(raw: Any, scaled: Any, y: np.ndarray, model: Any) -> Any:
    """Scores of a model for each class, of training rows by folds."""
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    own = cross_val_predict(model, scaled[0], y, cv=folds, method="decision_function")
    other = model.fit(scaled[0], y).decision_function(scaled[1])
    return own.reshape(y.size, -1), other.reshape(len(scaled[1]), -1)


VARIANTS: dict[str, Callable[..., np.ndarray]] = {
    "default": by_bayesieve,
    "trees": boosted,
    "of one column": partial(boosted, interaction_cst="no_interactions"),
    "of two": partial(boosted, max_depth=2, max_iter=400, learning_rate=0.1),
    "of three": partial(boosted, max_depth=3, max_iter=300, learning_rate=0.1),
    "`pairs=0`": partial(by_bayesieve, pairs=0),
    "a - b": partial(by_bayesieve, add=partial(of_two, make=np.subtract, scale=False)),
    "a / b": partial(by_bayesieve, add=partial(of_two, make=np.divide, scale=False)),
    "scaled a - b": partial(by_bayesieve, add=partial(of_two, make=np.subtract, scale=True)),
    "scaled a + b": partial(by_bayesieve, add=partial(of_two, make=np.add, scale=True)),
    "of rows": partial(by_bayesieve, add=of_rows),
    "components": partial(by_bayesieve, add=components),
    "discriminants": partial(
        by_bayesieve, add=partial(of_classes, model=LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"))
    ),
    "centres": partial(by_bayesieve, add=partial(of_classes, model=NearestCentroid())),
}
EXPLAINED = f"""Means over held-out rows of up to five folds: AUC (one class against the rest, weighted by class share)
and log loss of `SelectiveNB()`, and what others have more of them.

* trees: histogram gradient boosting, with a temperature by inner folds; of one column: no interactions; of two and
  three: trees of depth 2 and 3, so that each tree is a sum of functions of at most as many columns.
* a - b, a / b, scaled a - b, scaled a + b: `SelectiveNB()` with these of all pairs of the {N_COLUMNS} columns
  of numbers that tell most. Of rows: mean, deviation, least and largest of all numbers. Components: the first
  {N_COMPONENTS} principal ones.
* discriminants: linear ones, with shrinkage; centres: log odds by the nearest centre of a class; both by folds.
"""


def measured(data: Path, row: dict[str, str], variant: str, quick: bool) -> list[float]:
    """AUC and log loss of one variant on one table, means over its folds."""
    whole, size = pl.read_parquet(data / row["file"]), int(row["rows"]) * int(row["n_classes"])
    X, y = whole.drop(row["target"]), whole[row["target"]].cast(pl.String).to_numpy()
    X, found = X.select([name for name in X.columns if X[name].n_unique() > 1]), []
    n_folds = 1 if quick or size > 16_000 else 3 if size > 5000 else 5
    for own, new in list(StratifiedKFold(5, shuffle=True, random_state=0).split(y, y))[:n_folds]:
        of_fold = scores(VARIANTS[variant](X[own], y[own], X[new]), np.unique(y[own]), y[new])
        found.append([of_fold["auc"], of_fold["log loss"]])
    mean: list[float] = np.mean(found, axis=0).tolist()
    return mean


def main() -> None:
    """Figures that the stored results have are not measured again."""
    arguments, found = options_with_data(__doc__).parse_args(), dict[tuple[str, str], list[float]]()
    warnings.simplefilter("ignore")
    known = catalogue(arguments.data)
    if STORED.exists() and not arguments.quick:
        found = {(d, v): figures for d, v, figures in map(json.loads, STORED.read_text().splitlines())}
    tables = ["sonar"] if arguments.quick else TABLES
    for name, variant in product(tables, VARIANTS):
        if (name, variant) not in found:
            found[name, variant] = measured(arguments.data, known[name], variant, arguments.quick)
            if arguments.write:
                with STORED.open("a") as file:
                    file.write(json.dumps([name, variant, found[name, variant]]) + "\n")
    report = Report("missing_structure", "Structure that the default misses", arguments)
    report.add(EXPLAINED)
    for at, measure in enumerate(("AUC", "Log loss")):
        rows = []
        for name in tables:
            first, *rest = (found[name, variant][at] for variant in VARIANTS)
            others = [f"{v - first:+.4f}" if at == 0 else f"{100 * (v / first - 1):+.0f} %" for v in rest]
            rows.append([name, f"{first:.4f}", *others])
        report.add(f"## {measure}\n\n{markdown_table(['table', *VARIANTS], rows)}\n")
    report.close(["polars"])


if __name__ == "__main__":
    main()
