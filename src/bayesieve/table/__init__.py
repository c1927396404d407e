"""Tables of any dataframe library as typed columns, levels of features, rows, and files.

A *level* is an interval of the numbers of a column, or a group of its categories; a *code* is the number of a level,
from 0. A *scan* is a table that is read from files or a database block by block instead of being held in memory. The
*canonical text* of a value is the text by which values of all libraries are compared.
"""

from __future__ import annotations

from bayesieve.table.columns import Categories, Column, Table
from bayesieve.table.frames import as_table
from bayesieve.table.levels import FeatureLevels
from bayesieve.table.reading import read_table
from bayesieve.table.target import Rows, Target, as_sample_weight, as_target, normalized_weights
from bayesieve.table.writing import write_atomically

__all__ = [
    "Categories",
    "Column",
    "FeatureLevels",
    "Rows",
    "Table",
    "Target",
    "as_sample_weight",
    "as_table",
    "as_target",
    "normalized_weights",
    "read_table",
    "write_atomically",
]
