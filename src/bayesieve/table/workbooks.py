"""Reading of the first sheet of Excel and LibreOffice workbooks as text.

Sheets that are too large for memory are refused before they are read.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from xml.parsers import expat

from bayesieve.words import quoted

if TYPE_CHECKING:
    import polars as pl

_CHUNK = 1 << 20
# Limits of the rectangle around all cells with values: the reader holds it in memory, with 32 bytes per cell.
_MOST_CELLS = 10_000_000  # allowed for any sheet
_MOST_PER_CELL = 100  # cells allowed per cell with a value, if that is more
_MOST_BYTES = 1 << 28  # largest sheet read as a whole; unpacked size allowed for any workbook
_MOST_RATIO = 200  # unpacked bytes allowed per byte of the file, if that is more; usual sheets need less than 50
_DEFLATE_RATIO = 1032  # highest compression ratio of a zip archive
_PLACE = re.compile(r"([A-Z]{1,3})(\d{1,7})")
# Excel stores times of day as moments of day 0, and dates as midnights.
_TIME = r"^1899-12-3[01] (\d\d:\d\d:\d\d(?:\.\d+)?)$"
_DATE = r"^(\d{4}-\d\d-\d\d) 00:00:00$"
_MAX_ROW, _MAX_COLUMN = 1 << 20, 1 << 14
_UNNAMED = "__UNNAMED__"  # begins the names that the reader gives to columns without one
# XML of a formula without the value that a spreadsheet program stores beside it; a stored empty text has type "str".
_FORMULA = re.compile(
    rb'<c r="([A-Z]{1,3})\d+"(?![^>]* t="str")[^>]*>\s*<f\b(?:[^>]*/>|[^>]*>[^<]*</f>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>'
)
_VALUED = re.compile(rb'<c r="([A-Z]{1,3})\d+"[^>]*(?<!/)>')  # a cell that is not only formatted
# Types of records of binary workbooks: rows, cells with a value, and the sheets of a book (MS-XLSB, section 2.3).
_ROW, _VALUES, _BUNDLED_SHEET = 0, (*range(2, 12), 62), 156


def first_sheet(path: Path) -> pl.DataFrame:
    """Return the first sheet of a workbook, with the values of its cells as text.

    Raises
    ------
    ValueError
        If the workbook cannot be read, a cell is so far from the others that the sheet does not fit into memory, there
        is a title above the column names, or formulas have no stored values.
    """
    import polars as pl

    try:
        content = path.read_bytes()
        sheet = refuse_far_cells(path, content)
        # Cells are read as text, so that their meaning does not depend on other cells of the column.
        frame = pl.read_excel(content, read_options={"dtypes": "string"}, raise_if_empty=False)
    except ModuleNotFoundError:
        raise ValueError(
            f"{path} is a workbook, which needs fastexcel; run pip install 'bayesieve[excel]', or save it as CSV."
        ) from None
    except (OSError, HugeWorkbook):
        raise
    except Exception as error:  # of fastexcel, whose errors have a base class of their own
        raise ValueError(
            f"{path} cannot be read as a workbook; it is damaged or has a wrong file extension. Write it again, or "
            "rename it."
        ) from error
    named = [name for name in frame.columns if not name.startswith(_UNNAMED)]
    if len(named) == 1 and (frame.width > 2 or named == frame.columns[:1] != frame.columns):
        raise ValueError(
            f"{path} has the title {quoted(named[0])} above the names of its columns. Delete the rows above the names "
            "in a spreadsheet program, or save the table as CSV without them."
        )
    _refuse_formulas(path, sheet, frame.columns)
    texts = (column.cast(pl.String) for column in frame.get_columns())
    return pl.DataFrame([text.str.replace(_TIME, "$1").str.replace(_DATE, "$1") for text in texts])


class HugeWorkbook(ValueError):
    """Error for a workbook that would take far more memory than its values need."""


def refuse_far_cells(path: Path, content: bytes) -> bytes:
    """Raise `HugeWorkbook` if the first sheet of a workbook does not fit into memory; return its XML.

    ``content`` holds the bytes of the workbook ``path``. A sheet is refused if a few values are spread over a very
    large rectangle of cells, or if the file unpacks to far more bytes than a table of its size would. The XML is
    returned if the sheet is of Excel and smaller than 256 MiB, otherwise b"".
    """
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return b""  # .xls, with 16 million cells at most
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        _refuse_bomb(path, archive, len(content))
        name = _first_sheet_name(archive)
        if name is None:
            return b""
        is_excel = name.endswith(".xml") and name != "content.xml"
        sheet = archive.read(name) if is_excel and archive.getinfo(name).file_size < _MOST_BYTES else b""
        if sheet and _is_dense(sheet):
            return sheet
        counter = _XlsxCells() if is_excel else _OdsCells() if name == "content.xml" else _XlsbCells()
        with archive.open(name) as file:
            counter.read(file)
    if counter.n_rows * counter.n_columns > _most_cells(counter.n_values):
        raise HugeWorkbook(
            f"{path} holds {counter.n_values:,} values in {counter.n_rows:,} rows and {counter.n_columns:,} columns: a "
            "cell is far from the others. Delete it (Ctrl+End goes to the last row and column), or save the table as "
            "CSV."
        )
    return sheet


def _refuse_formulas(path: Path, sheet: bytes, names: list[str]) -> None:
    """Raise ValueError if formulas of a sheet have no stored values, as in files that no spreadsheet program saved.

    ``sheet`` is the XML of the sheet of the workbook ``path``, ``names`` are its column names.
    """
    if b"<f" not in sheet or (formula := _FORMULA.search(sheet)) is None:
        return
    first = min(map(_column_number, {letters.decode() for letters in _VALUED.findall(sheet)}))
    at = _column_number(formula[1].decode()) - first
    name = quoted(names[at]) if at < len(names) else formula[1].decode()
    raise ValueError(
        f"Column {name} of {path} has formulas without stored values. Open the workbook in a spreadsheet program, save "
        "it, and read it again."
    )


def _refuse_bomb(path: Path, archive: zipfile.ZipFile, size: int) -> None:
    """Raise HugeWorkbook for an archive that unpacks to far more bytes than a table of its size would.

    ``size`` is the number of bytes of the file ``path``.
    """
    parts = archive.infolist()
    n_bytes = sum(part.file_size for part in parts)
    if n_bytes > max(_MOST_BYTES, _MOST_RATIO * size):
        raise HugeWorkbook(
            f"{path} unpacks to {n_bytes / 2**30:,.1f} GiB, far more than a table of its size; save the table as CSV."
        )
    # Stated sizes may be false: reading a part to its end raises an error if it is longer.
    for part in parts if _DEFLATE_RATIO * size > _MOST_BYTES else ():
        with archive.open(part) as file:
            for _ in _chunks(file):
                pass


def _most_cells(n_values: int) -> int:
    """Return how many cells the rectangle around ``n_values`` values may have; larger ones would take too much
    memory.
    """
    return max(_MOST_CELLS, _MOST_PER_CELL * n_values)


def _is_dense(sheet: bytes) -> bool:
    """Return whether the XML of an Excel sheet certainly has no cells far from the others; False if it has an unusual
    form.

    The number of rows and the lengths of column names decide, which takes a tenth of the time of parsing the XML.
    """
    n_named = sheet.count(b'<c r="')
    if sheet.count(b"<c ") + sheet.count(b"<c>") != n_named or sheet.count(b":c ") or sheet.count(b":c>"):
        return False
    rows = re.findall(rb'<row r="(\d+)"', sheet)
    if len(rows) != len(re.findall(rb"<row\b", sheet)):
        return False
    n_rows = max(map(int, rows), default=0)
    last = re.search(rb'<c r="[A-Z]{3}', sheet), re.search(rb'<c r="[A-Z]{2}', sheet)
    n_columns = _MAX_COLUMN if last[0] else 26 * 27 if last[1] else 26
    return n_rows * n_columns <= _most_cells(sheet.count(b"<v>") + sheet.count(b"<is>"))


def _first_sheet_name(archive: zipfile.ZipFile) -> str | None:
    """Return the name of the file in the archive that holds the first sheet; None if there is none."""
    names = archive.namelist()
    if "content.xml" in names:
        return "content.xml"
    ending = "bin" if "xl/workbook.bin" in names else "xml"
    try:
        book = archive.read(f"xl/workbook.{ending}")
        relations = archive.read(f"xl/_rels/workbook.{ending}.rels").decode("utf-8", "replace")
    except KeyError:
        return None
    sheet = _sheet_of_records(book) if ending == "bin" else _sheet_of_xml(book.decode("utf-8", "replace"))
    for relation in re.findall(r"<Relationship\b[^>]*>", relations) if sheet else ():
        fields = dict(re.findall(r'(\w+)="([^"]*)"', relation))
        if fields.get("Id") == sheet:
            target = fields.get("Target", "")
            full = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
            return full if full in names else None
    return None


def _sheet_of_xml(book: str) -> str | None:
    """Return the relation id of the first sheet from ``book``, the content of workbook.xml; None if there is none."""
    sheet = re.search(r'<(?:\w+:)?sheet\b[^>]*?\s\w+:id="([^"]*)"', book)
    return None if sheet is None else sheet[1]


def _sheet_of_records(book: bytes) -> str | None:
    """Return the relation id of the first sheet from ``book``, the content of workbook.bin; None if there is none."""
    for kind, content in _records(io.BytesIO(book)):
        if kind == _BUNDLED_SHEET:
            length = int.from_bytes(content[8:12], "little")
            return content[12 : 12 + 2 * length].decode("utf-16-le", "replace")
    return None


def _records(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the type and content of each record in a file of a binary workbook (MS-XLSB, section 2.1.4)."""

    def number(most_bytes: int) -> int:
        """Read an integer of up to ``most_bytes`` bytes, stored as seven bits per byte; the high bit is set in all
        bytes but the last.
        """
        value = 0
        for k in range(most_bytes):
            byte = file.read(1)
            value |= (byte[0] & 0x7F) << 7 * k if byte else 0
            if not byte or byte[0] < 0x80:
                break
        return value

    file = io.BufferedReader(file, _CHUNK)  # type: ignore[type-var]
    while file.peek(1):
        kind = number(2)
        yield kind, file.read(number(4))


class _Cells:
    """Parser that counts the cells of a sheet with values, and finds the rectangle around them.

    Attributes
    ----------
    n_values : number of cells with a value, repeated ones counted once.
    n_rows, n_columns : size of the rectangle around them.
    """

    def __init__(self) -> None:
        self.n_values = 0
        self._first_row, self._last_row, self._first_column, self._last_column = _MAX_ROW, -1, _MAX_COLUMN, -1
        self._is_done = False

    @property
    def n_rows(self) -> int:
        """Number of rows of the rectangle around the values."""
        return max(0, self._last_row - self._first_row + 1)

    @property
    def n_columns(self) -> int:
        """Number of columns of the rectangle around the values."""
        return max(0, self._last_column - self._first_column + 1)

    def read(self, file: IO[bytes]) -> None:
        """Parse the XML of a sheet from an open file, and count its cells."""
        parser = expat.ParserCreate()
        parser.StartElementHandler, parser.EndElementHandler = self.start, self.end
        parser.EntityDeclHandler = _refuse_entities
        for chunk in _chunks(file):
            parser.Parse(chunk, False)
            if self._is_done:
                return
        parser.Parse(b"", True)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Process the start of an XML element; called by the parser with the name of the element and its attributes."""

    def end(self, name: str) -> None:
        """Process the end of an XML element; called by the parser with the name of the element."""

    def _add(self, row: int, column: int, n_rows: int = 1, n_columns: int = 1) -> None:
        """Count a cell with a value at a row and column (from 0). If the cell is repeated, it stands for a rectangle of
        ``n_rows`` x ``n_columns`` cells.
        """
        self.n_values += 1
        self._first_row, self._last_row = min(self._first_row, row), max(self._last_row, row + n_rows - 1)
        self._first_column = min(self._first_column, column)
        self._last_column = max(self._last_column, column + n_columns - 1)


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the bytes of an open file in chunks of 1 MiB."""
    while chunk := file.read(_CHUNK):
        yield chunk


def _refuse_entities(*_: Any) -> None:
    """Raise ValueError: entities, which could expand to very long texts, are not allowed."""
    raise ValueError("a workbook declares no entities")


class _XlsbCells(_Cells):
    """Parser of a binary Excel sheet, which has a record for each row, followed by records of its cells."""

    def read(self, file: IO[bytes]) -> None:
        """Read the records of a sheet and count its cells."""
        row = 0
        for kind, content in _records(file):
            at = int.from_bytes(content[:4], "little")
            if kind == _ROW:
                row = at
            elif kind in _VALUES:
                self._add(row, at)


class _XlsxCells(_Cells):
    """Parser of an Excel sheet in XML, whose rows and cells may state their addresses, or follow one another
    without.
    """

    def __init__(self) -> None:
        super().__init__()
        self._row = self._column = -1

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Process the start of a row, a cell or a value; called by the parser with the name of the element and its
        attributes.
        """
        name = name.rpartition(":")[2]
        if name == "row":
            number = attributes.get("r", "")
            self._row = int(number) - 1 if number.isdecimal() else self._row + 1
            self._column = -1
        elif name == "c":
            place = _PLACE.fullmatch(attributes.get("r", ""))
            self._column += 1
            if place is not None:
                self._row, self._column = int(place[2]) - 1, _column_number(place[1])
        elif name in ("v", "is"):
            self._add(self._row, self._column)


def _column_number(letters: str) -> int:
    """Return the position, from 0, of a column named by letters, such as 27 for "AB"."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1


class _OdsCells(_Cells):
    """Parser of the first table of a LibreOffice document, in which an element may stand for several equal rows or
    cells.
    """

    def __init__(self) -> None:
        super().__init__()
        self._row = self._column = 0
        self._n_rows = 1

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Process the start of a row or a cell; called by the parser with the name of the element and its
        attributes.
        """
        if name == "table:table-row":
            self._n_rows, self._column = int(attributes.get("table:number-rows-repeated", 1)), 0
        elif name in ("table:table-cell", "table:covered-table-cell"):
            n_columns = int(attributes.get("table:number-columns-repeated", 1))
            if any(name.startswith("office:") and "value" in name for name in attributes):
                self._add(self._row, self._column, self._n_rows, n_columns)
            self._column += n_columns

    def end(self, name: str) -> None:
        """Process the end of a row or of the table; called by the parser with the name of the element."""
        if name == "table:table-row":
            self._row += self._n_rows
        elif name == "table:table":
            self._is_done = True
