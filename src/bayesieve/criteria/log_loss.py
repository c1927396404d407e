"""Log loss: minus the log probability of the rows' classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.criteria.base import ScanCriterion
from bayesieve.criteria.class_block import ClassBlock
from bayesieve.criteria.ratio_tables import RatioTables
from bayesieve.criteria.row_joints import RowJoints
from bayesieve.criteria.row_ratios import SURE, RowRatios, Saturation, Scan

_MOST_MULTIPLIED = 80.0  # nats: eight factors larger than that do not multiply safely


class LogLoss(ScanCriterion):
    """(1/N) sum_i -log P_S(y_i | x_i), in nats per row."""

    name = "log_loss"
    unit = "nats per row"
    exact = True

    def saturation(self, n_classes: int) -> Saturation:
        return Saturation(right=SURE)

    def start(self, block: ClassBlock, tables: RatioTables, priors: np.ndarray, *, leave_out: bool = False) -> Any:
        if not leave_out and RowJoints.can_hold(tables, priors):
            return RowJoints(block, tables, priors)
        return super().start(block, tables, priors, leave_out=leave_out)

    def sums(self, rows: Any, tables: RatioTables, features: np.ndarray, adding: np.ndarray) -> np.ndarray:
        if isinstance(rows, RowJoints):
            return rows.sums(features, adding)
        return super().sums(rows, tables, features, adding)

    def own_sums(self, rows: Any, tables: RatioTables) -> np.ndarray:
        return rows.own_sums() if isinstance(rows, RowJoints) else super().own_sums(rows, tables)

    def path_sums(self, rows: RowRatios | RowJoints, tables: RatioTables, features: np.ndarray) -> np.ndarray:
        """(n_features, 1) sums of the subsets that grow by one feature after another; the rows follow."""
        if isinstance(rows, RowRatios) and rows.block.is_whole:
            return rows.path(tables, features, tables.largest_log_factor > _MOST_MULTIPLIED)
        sums = np.zeros((features.size, 1))
        for at, feature in enumerate(features.tolist()):
            sums[at] = self.sums(rows, tables, features[at : at + 1], np.array([True]))
            rows.multiply(tables, feature, True)
        rows.expect_moves()  # as after a path
        return sums

    def of_scan(self, scan: Scan, moves: tuple[Any, ...], tables: RatioTables) -> np.ndarray:
        from bayesieve.criteria._kernels import NO_PRODUCTS, log_loss_sums, new_products

        block = scan.block
        losses = np.zeros(moves[0].size)
        by_row = tables.largest_log_factor > _MOST_MULTIPLIED
        products = NO_PRODUCTS if block.is_whole else new_products(losses.size)
        for bounds in scan.blocks(moves):
            is_last = bool(bounds[-1] == block.offsets[-1])
            rows = (scan.ratios, scan.base, block.codes, bounds, block.weights)
            log_loss_sums(*rows, *moves, by_row, products, is_last, losses)
        return (losses + scan.log_scale)[:, None]
