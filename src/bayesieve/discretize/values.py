"""Categories as they are: one level per value."""

from __future__ import annotations

import numpy as np

from bayesieve.discretize.class_order import ClassOrder
from bayesieve.discretize.coded_block import CodedColumn
from bayesieve.discretize.column_coder import ColumnCoder
from bayesieve.discretize.criterion import log_partitions
from bayesieve.discretize.grouping import read_values
from bayesieve.discretize.partition import level_score, total_cost
from bayesieve.table import Column, FeatureLevels


class ValueCoder(ColumnCoder):
    """One level per distinct value, missing values included; every column is taken as categorical where none is."""

    kind = "categorical"
    supervised = False

    def fit_column(self, column: Column, order: ClassOrder, *, missing_apart: bool = False) -> CodedColumn:
        categories, values, counts = read_values(column, order)
        seen = counts.sum(axis=1) > 0  # not in rows of weight 0 only
        if not seen.all():
            values, counts = [value for value, is_seen in zip(values, seen, strict=True) if is_seen], counts[seen]
        counts = counts.astype(float)
        # The criterion for groups, with every value in a group of its own.
        n_values = len(values)
        prior = np.log(n_values) + log_partitions(n_values, min(n_values, _MOST_COUNTED))[-1]
        cost, null_cost = total_cost(counts, prior), total_cost(counts.sum(axis=0)[None, :], np.log(n_values))
        levels = FeatureLevels(
            name=column.name,
            kind="categorical",
            type=column.type,
            groups=tuple((value,) for value in values),
            missing_code=len(values) - 1 if values[-1] is None else None,
            counts=counts,
            level_score=level_score(cost, null_cost),
        )
        return CodedColumn(levels, levels.code_categories(categories), cost, null_cost)


_MOST_COUNTED = 500  # groups up to which partitions are counted; more cost more than any feature could repay
