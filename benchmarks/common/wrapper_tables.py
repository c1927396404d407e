"""Coded tables for the benchmarks of wrapper searches, and the seconds of each step of a search."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve import CodedTable, WrapperSelector


def coded_table(codes: np.ndarray, labels: np.ndarray, n_levels: Any) -> CodedTable:
    """Codes of shape (n_features, n_rows), listed class after class."""
    order = np.argsort(labels, kind="stable")
    return CodedTable(
        codes=np.ascontiguousarray(codes[:, order], dtype=np.uint8),
        n_levels=np.broadcast_to(n_levels, codes.shape[:1]).astype(np.int64),
        names=tuple(f"x{k}" for k in range(len(codes))),
        class_codes=labels[order].astype(np.uint8),
        classes=np.unique(labels),
    )


def redundant_indicators(n_rows: int, n_indicators: int, seed: int = 0) -> CodedTable:
    """Indicators "score above a threshold", 22 thresholds a score, four classes of which one holds half of the rows.

    Each score is a normal variable that two of the classes shift; neighbouring thresholds say nearly the same.
    """
    rng = np.random.default_rng(seed)
    labels = rng.choice(4, n_rows, p=[1 / 2, 1 / 6, 1 / 6, 1 / 6])
    codes = np.empty((n_indicators, n_rows), dtype=np.uint8)
    for first in range(0, n_indicators, 22):
        shift = np.where(rng.random(4) < 0.5, rng.uniform(0.2, 1.5, 4), 0.0)
        score = rng.standard_normal(n_rows) + shift[labels]
        thresholds = np.quantile(score, np.linspace(0.03, 0.97, 22))[: n_indicators - first]
        codes[first : first + 22] = score > thresholds[:, None]
    return coded_table(codes, labels, 2)


def engine_indicators(n_series: int) -> CodedTable:
    """The 814 indicators of scores of simulated engine series, as plain codes."""
    from bayesieve_lab.simulate import engine_scores, engine_series, engine_thresholds

    series = engine_series(n_series)
    scores, names = engine_scores(series)
    thresholds = engine_thresholds(scores=scores)
    codes = [scores[:, k] > threshold for k, name in enumerate(names) for threshold in thresholds[name]]
    return coded_table(np.array(codes), np.unique(series.labels, return_inverse=True)[1], 2)


def categories(n_rows: int, n_features: int, n_levels: int, n_classes: int = 2, seed: int = 0) -> CodedTable:
    """Independent categorical features; every third depends on the class, each a little less than the one before."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n_rows)
    codes = rng.integers(0, n_levels, (n_features, n_rows), dtype=np.uint8)
    for k in range(0, n_features, 3):
        follows = rng.random(n_rows) < 0.30 * 0.95 ** (k // 3)
        codes[k, follows] = (labels[follows] + k) % n_levels
    return coded_table(codes, labels, n_levels)


def step_seconds(selector: WrapperSelector) -> np.ndarray:
    """Seconds of every step of the path of a fitted selector, from its trace."""
    return np.diff(selector.trace_.to_frame()["seconds"].to_numpy())
