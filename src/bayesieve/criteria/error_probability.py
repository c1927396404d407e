"""Error probability: how likely the model itself holds the rows' classes to be wrong (Rabenoro 2015)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.criteria.base import ScanCriterion
from bayesieve.criteria.class_block import TWO_WAY
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

    def of_scan(self, scan: Scan, moves: tuple[Any, ...], tables: RatioTables) -> np.ndarray:
        from bayesieve.criteria._kernels import BLOCK
        from bayesieve.criteria._probability_kernels import FEWEST, padding, probability_sums, two_way_sums

        block = scan.block
        columns, lows, _, kinds, starts, n_codes, table = moves
        right = np.zeros(columns.size)
        fused = kinds == TWO_WAY
        if fused.any():
            # The fused loops fill up a class with rows around it, so that its rows are a multiple of FEWEST.
            filled_up = min(BLOCK, -(-int(np.diff(block.offsets).max()) // FEWEST) * FEWEST)
            if block.weights.size or scan.ratios.shape[0] not in (1, 2, 3) or block.n_rows < filled_up:
                fused[:] = False
        if fused.any():
            sums, near = np.zeros(fused.sum()), np.empty((len(scan.ratios), BLOCK))
            few = columns[fused], lows[fused], starts[fused], n_codes[fused]
            for bounds in scan.blocks(moves):
                two_way_sums(tuple(scan.ratios), tuple(near), block.codes, bounds, *few, table, sums)
            right[fused] = sums - padding(block.offsets)
        if not fused.all():
            sums = np.zeros(np.sum(~fused))
            several = [values[~fused] for values in moves[:-1]] if fused.any() else moves[:-1]
            for bounds in scan.blocks(moves):
                probability_sums(scan.ratios, block.codes, bounds, block.weights, *several, table, sums)
            right[~fused] = sums
        first, end = block.offsets[0], block.offsets[-1]
        scanned = block.weights[first:end].sum() if block.weights.size else end - first
        return (scanned - right + scan.wrong.sum())[:, None]
