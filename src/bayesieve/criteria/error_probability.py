"""Error probability: how likely the model itself holds the rows' classes to be wrong (Rabenoro 2015)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.criteria.base import ScanCriterion
from bayesieve.criteria.ratio_tables import RatioTables
from bayesieve.criteria.row_ratios import SURE, Saturation, Scan


class ErrorProbability(ScanCriterion):
    """(1/N) sum_i [1 - P_S(y_i | x_i)]: smoother than the error, which many features change by the same few rows.

    References
    ----------
    Rabenoro, Lacaille, Cottrell & Rossi (2015), Search strategies for binary feature selection for a naive Bayes
    classifier, section 4.2.
    """

    name = "error_probability"

    def saturation(self, n_classes: int) -> Saturation:
        return Saturation(right=SURE, wrong=SURE)

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        return sums[:, 0] / class_totals.sum()

    def of_scan(self, scan: Scan, moves: tuple[Any, ...], tables: RatioTables) -> np.ndarray:
        from bayesieve.criteria._probability_kernels import probability_sums

        block = scan.block
        right = np.zeros(moves[0].size)
        probability_sums(scan.ratios, block.codes, block.offsets, block.weights, *moves, right)
        scanned = block.weights.sum() if block.weights.size else block.n_rows
        return (scanned - right + scan.wrong.sum())[:, None]
