"""Operations: importing this package registers all of them."""

from tests.fuzz.operations import (
    broken,
    codes,
    columns,
    command_line,
    comparing,
    damage,
    models,
    relations,
    reports,
    scans,
    selecting,
)

__all__ = [
    "broken",
    "codes",
    "columns",
    "command_line",
    "comparing",
    "damage",
    "models",
    "relations",
    "reports",
    "scans",
    "selecting",
]
