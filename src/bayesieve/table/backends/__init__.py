"""How each dataframe library gives up one column: one module a library, all with the same functions.

Every module offers, for one native column:

- ``column_type(column)``: the `Column.type`, or None when only the values can tell (an object column);
- ``plain(column, type_)``: (values, missing mask or None) of a number, boolean or temporal column as a NumPy array;
- ``rounds(column)``: whether ``plain`` may give two different numbers as one (Decimals, whole numbers beyond 64 bits);
- ``encoded(column)``: (codes, distinct raw values) of any column but a plain one, -1 = missing;
- ``take(column, rows)`` and ``value(column, row)``.

The conversions run in the library's own compiled code, which releases the GIL wherever no Python objects are involved.
"""

from __future__ import annotations

import importlib
from types import ModuleType

BACKENDS = ("polars", "pandas", "pyarrow", "arrays", "sparse")


def backend(name: str) -> ModuleType:
    """The module of one backend, imported only now so that no dataframe library is loaded before it is needed."""
    return importlib.import_module(f"bayesieve.table.backends.{name}")
