"""Raw tables as pandas columns of floats and text, for packages that need them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesieve.studies.peers.values import value_codes
from bayesieve.table import Table

_UNKNOWN = "unknown"  # known values are digits


def value_frame(
    table: Table, types: Sequence[str | None], known: Sequence[Mapping[Any, int] | None], *, missing: str | None
) -> Any:
    """Numbers as floats, NaN = missing; categories as text, their codes in digits.

    The original text holds no information for these packages, and codes need no escapes in files. Columns are named by
    position for the same reason.

    Parameters
    ----------
    table : Table
    types : types of numeric columns as in training, None for categorical ones.
    known : `known_values` of categorical columns, None for numeric ones.
    missing : the text of a missing category.
    """
    import pandas as pd

    columns: dict[str, np.ndarray] = {}
    for position, (type_, codes) in enumerate(zip(types, known, strict=True)):
        column = table.column(position)
        if type_ is not None:
            columns[f"x{position}"] = column.numbers_as(type_)
        else:
            assert codes is not None
            texts = np.array([*map(str, range(len(codes))), _UNKNOWN, missing], dtype=object)
            columns[f"x{position}"] = texts[value_codes(column, codes, unknown=-2, missing=-1)]
    return pd.DataFrame(columns)
