"""Squared error of the class probabilities (Gidofalvi & Zadrozny)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.criteria.base import ScanCriterion
from bayesieve.criteria.ratio_tables import RatioTables
from bayesieve.criteria.row_ratios import SURE, Saturation, Scan


class Brier(ScanCriterion):
    """(1/N) sum_i sum_c (T_ic - P_S(c | x_i))^2, T_ic = 1 for the class of row i, else 0; between 0 and 2.

    It sums over all classes, as the paper does: for two classes it is twice the Brier score of scikit-learn, and of
    reports and comparisons.

    References
    ----------
    Gidofalvi & Zadrozny, Feature selection for class probability estimation, section 3.1; Brier (1950).
    """

    name = "brier"
    title = "squared error"

    def saturation(self, n_classes: int) -> Saturation:
        # With several other classes it matters among which of them a wrong row is undecided.
        return Saturation(right=SURE, wrong=SURE if n_classes == 2 else np.inf)

    def of_scan(self, scan: Scan, moves: tuple[Any, ...], tables: RatioTables) -> np.ndarray:
        from bayesieve.criteria._probability_kernels import squared_error_sums

        block = scan.block
        squares = np.zeros(moves[0].size)
        for bounds in scan.blocks(moves):
            squared_error_sums(scan.ratios, block.codes, bounds, block.weights, *moves, squares)
        return (squares + 2.0 * scan.wrong.sum())[:, None]
