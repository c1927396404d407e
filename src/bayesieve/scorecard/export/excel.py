"""Excel workbooks that score typed or pasted values by formulas.

Each row of values is scored on one line of the hidden sheet "Work": codes of the values (the numbers of their levels,
from 1), contributions and sums. Formulas use only functions that behave alike in all spreadsheet programs. Texts are
compared one by one with EXACT, because look-ups in lists ignore case.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context
from typing import Any, ClassVar

from bayesieve.scorecard.direction import POINTS, REASONS, class_in_words
from bayesieve.scorecard.explanation import UNSEEN
from bayesieve.scorecard.export.plan import Plan, Reader
from bayesieve.scorecard.export.point_card import Points
from bayesieve.scorecard.export.target import Export
from bayesieve.scorecard.reasons import DECIMALS
from bayesieve.scorecard.record import Scorecard
from bayesieve.table.values import BLANKS
from bayesieve.words import cut, quoted, visible

_HELD = [
    blank for blank in BLANKS if blank in "\t\n\r" or blank.isprintable() or ord(blank) > 0x7F
]  # blanks that a cell can hold
_EPOCH = 25569  # serial number of 1970-01-01
_FIRST_DAY = 61  # 1900-03-01; earlier serial numbers are off by one, because Excel has a 29th of February 1900
_FORMATS = {
    "date": "yyyy-mm-dd",
    "datetime": "yyyy-mm-dd hh:mm:ss.000",
    "time": "hh:mm:ss.000",
    "duration": "[h]:mm:ss.000",
    **dict.fromkeys(("text", "category"), "@"),
}
_MOST_KEYS, _MOST_COLUMNS, _LONGEST, _EXACT = 2_000, 16_384, 255, 10**15
_TOGETHER = 40  # keys in one formula, whose length is limited to 8,192 characters


@dataclass(kw_only=True, eq=False, repr=False)
class Excel(Export):
    """Workbook that scores an applicant, or pasted rows, by formulas, in Excel 2010 or later and LibreOffice.

    The sheet "Score" has fields for the values of one applicant (lists for categories), and shows the probability of
    each class and, for two classes, points and reasons. The sheet "Scorecard" lists the contribution of each cell of a
    feature. Rows can be pasted into the sheet "Rows". Probabilities equal those of ``predict_proba``; they are not
    derived from the points.

    An empty spreadsheet cell is a missing value. Numbers are compared to 15 digits and times to the millisecond,
    because spreadsheets store no more. Days before 1900-03-01, and texts in columns of numbers or times, give #N/A or
    #VALUE!.

    Parameters
    ----------
    rows : int, default=200
        Number of prepared lines in the sheet "Rows".
    reasons : int, default=4
        Number of reasons for the applicant, ranked as in `SelectiveNB.reasons`. With more than two classes, they need
        ``target_class``.
    target_class : label, default=None
        Class that reasons speak against; None for the positive class of the model.
    pdo, base_score, base_odds : float
        Scale of the points, see `SelectiveNB.points`.

    Raises
    ------
    ValueError
        If an option is invalid, or a workbook cannot represent the model: columns with values of several types,
        categories that are numbers of more than 15 digits or texts of more than 255 characters, more than 2,000
        categories in a column, or more features than a sheet has columns.

    Examples
    --------
    >>> import polars as pl
    >>> from bayesieve import SelectiveNB
    >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10})
    >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 10)
    >>> model.export(to="excel", rows=10)[:2]
    b'PK'
    """

    name = "excel"
    suffixes: ClassVar[Mapping[str, Mapping[str, Any]]] = {".xlsx": {}}
    title = "a workbook that scores typed or pasted values"

    rows: int = 200
    reasons: int = 4
    target_class: Any = None
    pdo: float = 20
    base_score: float = 600
    base_odds: float = 30

    def results(self, card: Scorecard) -> Collection[str]:
        """Return which of ``"points"`` and ``"reasons"`` the workbook contains."""
        has_reasons = self.reasons > 0 and card.position(self.target_class) is not None
        return [POINTS] * (card.classes.size == 2) + [REASONS] * has_reasons

    def write(self, plan: Plan) -> bytes:
        """Return the workbook as bytes."""
        import xlsxwriter

        for reader in plan.readers:
            _check(plan, reader)
        content = io.BytesIO()
        options = dict.fromkeys(("strings_to_formulas", "strings_to_urls", "strings_to_numbers"), False)
        with xlsxwriter.Workbook(content, {**options, "in_memory": True}) as book:
            _Sheets(book, plan, self).write()
        return content.getvalue()


class _Line:
    """One line of the sheet "Work".

    Each formula is written together with its result for an empty applicant, so that the file shows values when opened.
    ``at`` is the number of the line, from 0. The dict `results` holds the results by address.
    """

    def __init__(self, sheet: Any, at: int) -> None:
        self._sheet, self._at, self._width = sheet, at, 0
        self.results: dict[str, Any] = {}

    def put(self, formula: str, result: Any) -> str:
        """Write a formula, and its ``result`` for an empty applicant, into the next cell of the line. Return the
        address of the cell.
        """
        self._sheet.write_formula(self._at, self._width, f"={formula}", None, result)
        address = f"Work!${_letters(self._width)}${self._at + 1}"
        self._width, self.results[address] = self._width + 1, result
        return address


class _Sheets:
    """Builder of the sheets of the XlsxWriter workbook ``book``, from a `Plan` and the options of an `Excel` export."""

    def __init__(self, book: Any, plan: Plan, export: Excel) -> None:
        self.plan, self.export, self.is_binary = plan, export, len(plan.classes) == 2
        self.target = plan.head.get("target")
        names = ("Score", "Scorecard", "Rows", "Work", "Tables")
        self.score, self.card, self.rows, self.work, self.tables = map(book.add_worksheet, names)
        for sheet in (self.work, self.tables):
            sheet.hide()
        self.n_tables = 0
        scale = {name: getattr(export, name) for name in ("pdo", "base_score", "base_odds")}
        self.points = Points(plan.card, **scale) if self.is_binary else None
        self.bold = book.add_format({"bold": True, "text_wrap": True, "valign": "top"})
        self.title, self.wrapped = map(book.add_format, ({"bold": True, "font_size": 16}, {"text_wrap": True}))
        self.percent, self.nats = (book.add_format({"num_format": pattern}) for pattern in ("0.0%", "0.000"))
        look = {"border": 1, "border_color": "#9AA5B1", "bg_color": "#FFF8DC", "align": "left"}
        kinds = {kind: _FORMATS.get(kind, "General") for kind in plan.columns.values()}
        self.inputs = {kind: book.add_format({**look, "num_format": pattern}) for kind, pattern in kinds.items()}
        self.keys = [self._keys(reader) for reader in plan.readers]
        self.lines = [self._lines(k) for k in range(len(plan.terms))]
        self.results = [f"Probability of {label}" for label in plan.classes]
        if self.is_binary:
            self.results.append(f"Points for {class_in_words(plan.classes[plan.card.positive or 0], self.target)}")

    def column(self, values: Sequence[Any]) -> str:
        """Write values into the next column of the sheet "Tables", and return the address of their range."""
        letters = _letters(self.n_tables)
        for line, value in enumerate(values):
            write = self.tables.write_string if isinstance(value, str) else self.tables.write
            write(line, self.n_tables, value)
        self.n_tables += 1
        return f"Tables!${letters}$1:${letters}${max(1, len(values))}"

    def _keys(self, reader: Reader) -> tuple[str, str, str]:
        """Write the keys and codes of a reader to the sheet "Tables".

        Return the addresses of three ranges: the texts (for numbers, the cut points), the texts as shortened by TRIM
        (for numbers, the numeric keys), and the codes + 1 of the keys.
        """
        codes = self.column([code + 1 for code in reader.keys.values()])
        if reader.is_text:
            return self.column([*reader.keys]), self.column([_squeezed(str(key)) for key in reader.keys]), codes
        return self.column([*map(_held, reader.cuts or ())]), self.column([*reader.keys]), codes

    def _lines(self, k: int) -> list[str]:
        """Write the contributions of term ``k`` (a feature in the model) by code, and return the addresses of their
        ranges.

        With points, these are the ranges of log odds and of points; otherwise there is one range for each class.
        """
        term = self.plan.terms[k]
        if self.points is None:
            return [self.column(term.by_code[..., j].ravel().tolist()) for j in range(len(self.plan.classes))]
        points = self.points.points[term.feature.name]
        by_code = points if term.cell is None else points[term.cell]
        return [self.column(table.ravel().tolist()) for table in (self.plan.log_odds[1][k], by_code)]

    def code(self, line: _Line, at: int, cells: Mapping[str, str]) -> str:
        """Write the formula that computes the code + 1 of a value into ``line``, and return its address.

        ``at`` is the position of the reader in the plan; ``cells`` gives the address of the value of each column.
        """
        reader, (first, keys, codes) = self.plan.readers[at], self.keys[at]
        x, missing, unseen = cells[reader.column], reader.missing + 1, str(reader.unseen + 1)
        if reader.type == "boolean":
            true, false = (reader.keys.get(value, reader.unseen) + 1 for value in (True, False))
            formula = f"IF(ISBLANK({x}),{missing},IF(ISLOGICAL({x}),IF({x},{true},{false}),{unseen}))"
        elif reader.is_text:
            formula = f"IF(ISBLANK({x}),{missing},{self._text(line, reader, x, first, keys)})"
        else:
            number = f"({x}-{_EPOCH})" if reader.type in ("date", "datetime") else x
            if reader.is_moment and reader.type != "date":
                number = f"(ROUND({number}*86400000,0)*1000)"
            formula = unseen if reader.cuts is None else _interval(reader, number, first)
            if reader.keys:
                key = f"SUMPRODUCT(({keys}={number})*{codes})"
                formula = f"IF({key}>0,{key},{formula})"
            if reader.type in ("date", "datetime"):
                formula = f"IF({x}<{_FIRST_DAY},NA(),{formula})"
            formula = f"IF(ISBLANK({x}),{missing},IF(ISNUMBER({x}),{formula},NA()))"
        return line.put(formula, missing)

    def _text(self, line: _Line, reader: Reader, x: str, keys: str, squeezed: str) -> str:
        """Return the formula that computes the code + 1 of a text: the code of the equal category or, if there is none,
        of the category that is equal except for surrounding blanks.

        ``line`` is the line of the sheet "Work" for intermediate results, and ``x`` the address of the text; ``keys``
        and ``squeezed`` are the ranges of the categories, as they are and as TRIM returns them. TRIM also shortens
        blanks within a text. A text that contains a category, and equals it once both are trimmed, is that category
        with surrounding blanks.
        """
        text = f'{x}&""'
        for blank in _HELD:
            character = f"CHAR({ord(blank)})" if blank in "\t\n\r" else f'"{blank}"'
            text = f'SUBSTITUTE({text},{character}," ")' if blank != " " else text
        clean = line.put(f"TRIM({text})", "")
        empty = reader.keys.get("", reader.missing) + 1
        exact: list[str] = []
        bare = [f'({clean}="")*{empty}']
        for k, (key, code) in enumerate(zip(map(str, reader.keys), reader.keys.values(), strict=True), 1):
            of_key, of_bare = (_cell(column, k) for column in (keys, squeezed))
            if key != key.strip():
                exact.append(f"EXACT({x},{of_key})*{code + 1}")
            elif key:
                bare.append(f"EXACT({clean},{of_bare})*ISNUMBER(FIND({of_key},{x}))*{code + 1}")
        formula = str(reader.unseen + 1)
        groups = [[tests[k : k + _TOGETHER] for k in range(0, len(tests), _TOGETHER)] for tests in (exact, bare)]
        sums = [",".join(line.put("+".join(some), 0) for some in chunks) for chunks in groups]
        for addresses in reversed([*filter(None, sums)]):
            formula = f"IF(SUM({addresses})>0,SUM({addresses}),{formula})"
        return formula

    def scored(self, at: int, cells: Mapping[str, str]) -> tuple[_Line, list[str], list[str]]:
        """Write the line of the sheet "Work" at the position ``at``, which scores the row whose values are in ``cells``
        (addresses by column).

        Return the line, the addresses of its results, and the addresses of the codes + 1 of the features.
        """
        line, plan = _Line(self.work, at), self.plan
        codes, of_terms, missing = [self.code(line, k, cells) for k in range(len(plan.readers))], [], []
        for term in plan.terms:
            sizes = [plan.readers[k].n_codes for k in term.readers]
            one, *other = (codes[k] for k in term.readers)
            first = plan.readers[term.readers[0]].missing
            missing.append(first if not other else first * sizes[1] + plan.readers[term.readers[1]].missing)
            of_terms.append(line.put(f"({one}-1)*{sizes[1]}+{other[0]}", missing[-1] + 1) if other else one)
        starts = [plan.log_odds[0], self.points.base] if self.points else plan.card.intercept.tolist()
        sums = []
        for j, start in enumerate(starts):
            values = [float(start)] + [self._value(k, j, code) for k, code in enumerate(missing)]
            parts = [
                line.put(f"INDEX({columns[j]},{code})", value)
                for columns, code, value in zip(self.lines, of_terms, values[1:], strict=True)
            ]
            total = f"+SUM({parts[0]}:{parts[-1].split('!')[1]})" if parts else ""
            sums.append(line.put(f"{float(start)!r}{total}", sum(values)))
        if self.points:
            odds = line.results[sums[0]]
            of_positive = line.put(f"1/(1+EXP(-MAX(-700,MIN(700,{sums[0]}))))", 1 / (1 + math.exp(-odds)))
            of_other = line.put(f"1/(1+EXP(MAX(-700,MIN(700,{sums[0]}))))", 1 / (1 + math.exp(odds)))
            return line, [*(of_other, of_positive)[:: plan.card.side], sums[1]], of_terms
        top = max(line.results[address] for address in sums)
        highest = line.put(f"MAX({','.join(sums)})", top)
        shares = [line.put(f"EXP({total}-{highest})", math.exp(line.results[total] - top)) for total in sums]
        whole = line.put(f"SUM({','.join(shares)})", sum(line.results[share] for share in shares))
        results = [line.put(f"{share}/{whole}", line.results[share] / line.results[whole]) for share in shares]
        return line, results, of_terms

    def _value(self, k: int, j: int, code: int) -> float:
        """Return the contribution of term k for a code: to class j in nats or, with points, to the log odds (j = 0) or
        the points (j = 1).
        """
        term = self.plan.terms[k]
        at = code if term.cell is None else int(term.cell.ravel()[code])
        if self.points is None:
            return float(term.table[at, j])
        return float(self.points.points[term.feature.name][at] if j else self.plan.card.log_odds(term.table[at]))

    def reasons(self, line: _Line, codes: Sequence[str]) -> list[tuple[str, str]]:
        """Return the formulas of the reasons for a row, as pairs of a formula and its result for an empty row.

        ``line`` is the line of the sheet "Work" that scores the row; ``codes`` are the addresses of the codes + 1 of
        the features.
        """
        parts = self.plan.reason_parts(self.export.target_class)
        n, keys = len(parts) + 1, []
        # Rank reasons by integers: contributions in units of the last decimal, combined with the position of the column
        # to break ties.
        for i, terms in enumerate(parts.values(), 1):
            added = [f"INDEX({self.column(table.ravel().tolist())},{codes[k]})" for k, table in terms]
            value = sum(table.ravel()[line.results[codes[k]] - 1] for k, table in terms)
            units = f"ROUND(({'+'.join(added)})*1E{DECIMALS},0)"
            keys.append(line.put(f"{units}*{n}+{i}", round(value * 10**DECIMALS) * n + i))
        if not keys:
            return []
        every, texts = f"{keys[0]}:{keys[-1].split('!')[1]}", [self.plan.words.name(name) for name in parts]
        names, formulas = self.column(texts), []
        for rank, key in enumerate(sorted(line.results[address] for address in keys)[: self.export.reasons], 1):
            lowest = line.put(f"SMALL({every},{rank})", key)
            formula = f'IF({lowest}<0,INDEX({names},{lowest}-INT({lowest}/{n})*{n}),"")'
            formulas.append((formula, texts[key % n - 1] if key < 0 else ""))
        return formulas

    def write(self) -> None:
        """Write all sheets of the workbook."""
        plan, sheet, cells = self.plan, self.score, {}
        for column, width in enumerate((34, 24, 3, 34, 16)):
            sheet.set_column(column, column, width)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)
        sheet.write_string(0, 0, cut(visible(plan.head.get("model", "")), 200), self.title)
        for column, text in ((0, "Column"), (1, "Value (empty: missing)"), (3, "Result")):
            sheet.write_string(2, column, text, self.bold)
        for at, (name, kind) in enumerate(plan.columns.items(), 3):
            sheet.write_string(at, 0, cut(visible(plan.words.name(name)), 1000), self.wrapped)
            sheet.write_blank(at, 1, None, self.inputs[kind])
            cells[name] = f"Score!$B${at + 1}"
            readers = [reader for reader in plan.readers if reader.column == name and reader.cuts is None]
            choices = [key for reader in readers for key in reader.keys]
            if choices and kind not in ("date", "datetime", "time", "duration"):
                listed = self.column([*dict.fromkeys(choices)])
                sheet.data_validation(at, 1, at, 1, {"validate": "list", "source": f"={listed}", "show_error": False})
        line, addresses, codes = self.scored(0, cells)
        for at, (name, address) in enumerate(zip(self.results, addresses, strict=True), 3):
            sheet.write_string(at, 3, visible(name), self.wrapped)
            sheet.write_formula(at, 4, f"={address}", self.look_of(name), line.results[address])
        target = plan.card.position(self.export.target_class)
        if self.export.reasons and target is not None:
            start = 4 + len(addresses)
            heading = f"Reasons against {class_in_words(plan.classes[target], self.target)}"
            sheet.write_string(start, 3, heading, self.bold)
            for at, (formula, text) in enumerate(self.reasons(line, codes), start + 1):
                sheet.write_formula(at, 3, f"={formula}", self.wrapped, text)
        self._write_rows()
        self._write_card()

    def _write_rows(self) -> None:
        """Write the sheet "Rows", in which each prepared line scores pasted values."""
        columns, sheet = self.plan.columns, self.rows
        for column, name in enumerate([*columns, *self.results]):
            kind = [*columns.values()][column] if column < len(columns) else None
            sheet.set_column(column, column, 14, self.inputs.get(kind) if kind else None)
            sheet.write_string(0, column, cut(visible(name), 1000), self.bold)
        sheet.freeze_panes(1, 0)
        for at in range(1, self.export.rows + 1):
            line, addresses, _ = self.scored(
                at, {name: f"Rows!${_letters(k)}${at + 1}" for k, name in enumerate(columns)}
            )
            last = f"$A{at + 1}:${_letters(max(0, len(columns) - 1))}{at + 1}"
            for column, (name, address) in enumerate(zip(self.results, addresses, strict=True), len(columns)):
                formula, result = (
                    (f'IF(COUNTA({last})=0,"",{address})', "") if columns else (address, line.results[address])
                )
                sheet.write_formula(at, column, f"={formula}", self.look_of(name), result)

    def look_of(self, result: str) -> Any:
        """Return the Excel format of a result by its name: percent, or None for points."""
        return None if result.startswith("Points") else self.percent

    def _write_card(self) -> None:
        """Write the sheet "Scorecard": facts about the model, and the contributions of each cell."""
        plan, points = self.plan, self.points
        rows = [f"Rows of {label}" for label in plan.classes] if plan.with_counts else []
        head = [
            "Feature",
            "Cell",
            *(f"Adds to {label}" for label in plan.classes),
            *self.results[len(plan.classes) :],
            *rows,
        ]
        lines: list[list[Any]] = [[name, text] for name, text in plan.head.items()]
        lines += [[], head, ["", "start", *plan.card.intercept.tolist(), *([points.base] if points else [])]]
        for term in plan.terms:
            feature = term.feature
            for k, label in enumerate([*plan.words.levels(feature.cells, full=True), UNSEEN]):
                whole = [int(points.points[feature.name][k])] if points else []
                counts = feature.counts[k].tolist() if rows and k < len(feature.counts) else []
                lines.append([plan.words.named(feature.levels), label, *term.table[k].tolist(), *whole, *counts])
        for at, line in enumerate(lines):
            for column, value in enumerate(line):
                if isinstance(value, str):
                    style = self.bold if line is head else self.wrapped
                    self.card.write_string(at, column, cut(visible(value), 32_000), style)
                else:
                    are_nats = isinstance(value, float) and column < 2 + len(plan.classes)
                    self.card.write_number(at, column, value, self.nats if are_nats else None)
        self.card.set_column(0, 0, 26)
        self.card.set_column(1, 1, 60)
        self.card.set_column(2, len(head), 14)
        self.card.freeze_panes(len(plan.head) + 2, 0)


def _check(plan: Plan, reader: Reader) -> None:
    """Raise ValueError if a workbook cannot represent the values of a column."""
    column = f"of column {quoted(reader.column)}"
    texts = [key for key in reader.keys if isinstance(key, str)]
    if reader.type == "mixed" or (texts and not reader.is_text):
        raise plan.refuse("Excel", f"values of several types {column}", "turn them into texts, and fit the model again")
    if len(texts) > _MOST_KEYS:
        raise plan.refuse("Excel", f"{len(texts):,} texts {column} (at most {_MOST_KEYS:,})", "choose another export")
    for key in texts:
        if len(key) > _LONGEST or not all(character.isprintable() or character in _HELD for character in key):
            what = f"the text {visible(cut(key, 40))!r} {column}"
            raise plan.refuse("Excel", what, "shorten it, and fit the model again")
    if any(not isinstance(key, str) and not isinstance(key, bool) and abs(key) >= _EXACT for key in reader.keys):
        raise plan.refuse("Excel", f"numbers of more than 15 digits {column}", "turn them into texts, and fit again")


def _held(cut_point: float) -> float:
    """Return the largest number of 15 significant digits that is at most a cut point.

    Spreadsheet cells hold 15 digits, and this number divides their values exactly as the cut point does.
    """
    near = float(f"{cut_point:.15g}")
    return near if near <= cut_point else float(Context(prec=15, rounding=ROUND_FLOOR).create_decimal(cut_point))


def _interval(reader: Reader, number: str, cuts: str) -> str:
    """Return the formula that computes the code + 1 of a number. ``number`` is its address and ``cuts`` the range of
    the cut points. A number equal to a cut point belongs to the interval on its left.
    """
    return f"({reader.first + 1}+SUMPRODUCT(({cuts}<{number})*1))" if reader.cuts else str(reader.first + 1)


def _squeezed(text: str) -> str:
    """Return the text as Excel's TRIM returns it, after replacing every kind of blank with a space."""
    return re.sub(" +", " ", re.sub(f"[{re.escape(BLANKS)}]", " ", text)).strip(" ")


def _cell(column: str, line: int) -> str:
    """Return the address of the cell on a line (from 1) of a column; ``column`` is the address of a range in it."""
    return f"{column.split(':')[0].rsplit('$', 1)[0]}${line}"


def _letters(column: int) -> str:
    """Return the letters of a spreadsheet column from its number, from 0. Raise ValueError if there is no such
    column.
    """
    if column >= _MOST_COLUMNS:
        raise ValueError("A workbook has too few columns for this model; fit fewer features, or choose another export.")
    return (_letters(column // 26 - 1) if column >= 26 else "") + chr(65 + column % 26)
