"""The footer of a Parquet file: how its rows are cut into row groups, without reading them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MAGIC = b"PAR1"
_FALSE, _TRUE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 2, 1, 3, 7, 8, 9, 10, 12
_ROW_GROUPS, _COMPRESSED_SIZE, _UNPACKED_SIZE, _N_ROWS = 4, 6, 2, 3  # fields of FileMetaData and RowGroup


@dataclass(frozen=True)
class RowGroup:
    """A run of rows of a Parquet file that is compressed on its own."""

    n_rows: int
    n_bytes: int
    n_unpacked: int


def row_groups(path: Path) -> list[RowGroup]:
    """The row groups of a Parquet file.

    Raises
    ------
    OSError
        If the file cannot be opened.
    EOFError
        If it does not end as a Parquet file does, or its footer is damaged.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        if len(end) < 8 or end[4:] != _MAGIC or length + 8 > size:
            raise EOFError("no footer")
        file.seek(size - 8 - length)
        footer = file.read(length)
    try:
        groups = _Thrift(footer).struct().get(_ROW_GROUPS, [])
        return [
            RowGroup(group[_N_ROWS], group.get(_COMPRESSED_SIZE) or group[_UNPACKED_SIZE], group[_UNPACKED_SIZE])
            for group in groups
        ]
    except (IndexError, KeyError, TypeError, RecursionError) as error:
        raise EOFError("damaged footer") from error


class _Thrift:
    """Reads Thrift's compact protocol, in which Parquet writes its footer."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def struct(self) -> dict[int, Any]:
        """The values of a struct by the numbers of their fields."""
        fields: dict[int, Any] = {}
        number = 0
        while header := self._byte():
            step, kind = header >> 4, header & 15
            number = number + step if step else self._signed()
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        if kind < _DOUBLE:
            return self._signed()
        if kind == _STRUCT:
            return self.struct()
        if kind in (_LIST, _SET):
            header = self._byte()
            length = header >> 4 if header >> 4 < 15 else self._unsigned()
            return [self._value(header & 15) for _ in range(length)]
        if kind not in (_BINARY, _DOUBLE):
            raise TypeError(kind)
        length = 8 if kind == _DOUBLE else self._unsigned()
        self._at += length
        return None  # texts and floats are not needed

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._content[self._at]
            self._at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
