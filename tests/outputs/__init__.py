"""Stored outputs of every method of the papers on small tables; README.md says how to compare and renew them."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bayesieve import (
    AccuracySelector,
    AUCSelector,
    BayesianAveraging,
    BoostedSelector,
    CompressionAveraging,
    DependenceClusterSelector,
    ImpreciseInformationGainSelector,
    InformationGainSelector,
    MAPSelector,
    MRMRSelector,
    SelectiveNB,
    TableEncoder,
    WrapperSelector,
)
from tests import golden

FOLDER = Path(__file__).parent
TABLES = ("iris", "glass", "german", "hepatitis", "tic_tac_toe")
"""Names of the tables of `tests.golden`: several classes, many classes, mixed columns, missing values, categories."""
_ROWS_STORED = 25
"""Rows of a table whose probabilities are stored as numbers; those of all rows are stored as a digest."""


def _boulle(selector: Any, **options: Any) -> SelectiveNB:
    return SelectiveNB(selector, prior="published", pairs=0, calibrate=False, **options)


def _mdlp(selector: Any, smoothing: float) -> SelectiveNB:
    encoder = TableEncoder(numeric="mdlp", categorical="values", missing="ignore")
    return SelectiveNB(selector, encoder=encoder, smoothing=smoothing, calibrate=False)


def _wrapper(direction: str) -> SelectiveNB:
    return _boulle(WrapperSelector(direction=direction), smoothing=1.0)


METHODS: dict[str, Callable[[], SelectiveNB]] = {
    # Boulle (2007)
    "SNB(CMA)": lambda: _boulle(CompressionAveraging(count="evaluations", exhaustive=False)),
    "SNB(BMA)": lambda: _boulle(BayesianAveraging(count="evaluations", exhaustive=False)),
    "SNB(MAP)": lambda: _boulle(MAPSelector(exhaustive=False)),
    "SNB(AUC)": lambda: _boulle(AUCSelector(search="multi-start")),
    "SNB(ACC)": lambda: _boulle("accuracy"),
    "SNB(ACC) while rising": lambda: _boulle(AccuracySelector(tol=0.0)),
    "NB": lambda: _boulle("all"),
    "NB(EF)": lambda: _boulle("all", encoder=TableEncoder(numeric="equal-frequency", categorical="values")),
    # Abellan and Castellano (2017)
    "IIG-NB": lambda: _mdlp(ImpreciseInformationGainSelector(s=1.0), smoothing=1.0),
    "IG-NB": lambda: _mdlp(InformationGainSelector(alpha=0.1), smoothing=1.0),
    # Rabenoro et al. (2015)
    "forward": lambda: _wrapper("forward"),
    "backward": lambda: _wrapper("backward"),
    "forward-backward": lambda: _wrapper("forward-backward"),
    "backward-forward": lambda: _wrapper("backward-forward"),
    "mRMR": lambda: _boulle(MRMRSelector(n_features_to_select=3), smoothing=1.0),
    # Blanquero et al. (2021)
    "sparse-NB": lambda: _mdlp(DependenceClusterSelector(), smoothing=1e-6),
    # Gidofalvi and Zadrozny
    "forward-MSE": lambda: _boulle(
        WrapperSelector("brier", direction="forward", evaluation="train", n_features_to_select=3)
    ),
    "boosted": lambda: _boulle(BoostedSelector(None, n_features_to_select=3)),
}


@functools.cache
def table(name: str) -> tuple[pl.DataFrame, np.ndarray]:
    """Return the columns and the class labels of a golden table, with numbers where all texts are numbers."""
    header, rows = golden.raw_table(name)
    columns = {}
    for column, texts in zip(header, zip(*rows, strict=True), strict=True):
        if column != golden.TARGET:
            series = pl.Series(column, [text or None for text in texts])
            numbers = series.cast(pl.Float64, strict=False)
            columns[column] = numbers if numbers.null_count() == series.null_count() else series
    return pl.DataFrame(columns), golden.target(name)


def output(method: str, name: str) -> dict[str, Any]:
    """Fit a method to a table and return its levels, weights and probabilities as plain values.

    ``digest`` covers the levels, weights and log probabilities of all rows to the last bit.
    """
    X, y = table(name)
    model = METHODS[method]().fit(X, y)
    log_proba = np.ascontiguousarray(model.predict_log_proba(X), dtype=np.float64)
    levels = {feature.name: list(feature.labels) for feature in model.encoder_.levels_}
    weights = dict(zip(levels, map(float, model.feature_weights_), strict=True))
    described = json.dumps([levels, {key: value.hex() for key, value in weights.items()}]).encode()
    rows = np.linspace(0, len(y) - 1, _ROWS_STORED).astype(int)
    return {
        "n_levels": {key: len(labels) for key, labels in levels.items()},
        "weights": {key: value for key, value in weights.items() if value},
        "log_proba": log_proba[rows].tolist(),
        "digest": hashlib.sha256(described + log_proba.tobytes()).hexdigest(),
    }


def stored(name: str) -> dict[str, dict[str, Any]]:
    """Return the stored outputs of all methods on a table."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
