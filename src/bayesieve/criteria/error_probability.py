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
        columns, lows, highs, kinds, starts, n_codes, table = moves
        right = np.zeros(columns.size)
        fused = kinds == TWO_WAY
        # The fused loops fill up a class with rows around it, so that its rows are a multiple of FEWEST.
        filled_up = min(BLOCK, -(-int(np.diff(block.offsets).max()) // FEWEST) * FEWEST)
        if block.weights.size or scan.ratios.shape[0] not in (1, 2, 3) or block.n_rows < filled_up:
            fused[:] = False
        for part, is_fused in ((np.flatnonzero(fused), True), (np.flatnonzero(~fused), False)):
            sums = np.zeros(part.size)
            if is_fused and part.size:
                few = (columns[part], lows[part], starts[part], n_codes[part])
                for bounds in scan.blocks(moves):
                    two_way_sums(scan.ratios, block.codes, bounds, *few, table, sums)
                sums -= padding(block.offsets)
            elif part.size:
                several = (columns[part], lows[part], highs[part], kinds[part], starts[part], n_codes[part])
                for bounds in scan.blocks(moves):
                    probability_sums(scan.ratios, block.codes, bounds, block.weights, *several, table, sums)
            right[part] = sums
        first, end = block.offsets[0], block.offsets[-1]
        scanned = block.weights[first:end].sum() if block.weights.size else end - first
        return (scanned - right + scan.wrong.sum())[:, None]
