"""What the data is: any dataframe in, typed columns, the levels of a feature, the coded table, files in and out."""

from __future__ import annotations

from bayesieve.table.coded import CodedTable
from bayesieve.table.columns import Categories, Column
from bayesieve.table.frames import as_table
from bayesieve.table.levels import FeatureLevels
from bayesieve.table.raw_table import Table
from bayesieve.table.reading import read_table
from bayesieve.table.target import Target, as_sample_weight, as_target
from bayesieve.table.writing import write_atomically

__all__ = [
    "Categories",
    "CodedTable",
    "Column",
    "FeatureLevels",
    "Table",
    "Target",
    "as_sample_weight",
    "as_table",
    "as_target",
    "read_table",
    "write_atomically",
]
