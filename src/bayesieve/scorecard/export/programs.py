"""Exports to programs: one file of plain Python, JavaScript or R, with the model as readable literals."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib import resources
from textwrap import TextWrapper
from typing import Any, ClassVar

from bayesieve.scorecard.direction import REASONS
from bayesieve.scorecard.explanation import UNSEEN
from bayesieve.scorecard.export.plan import Against, ExportedTerm, Plan, Reader
from bayesieve.scorecard.export.target import Export
from bayesieve.scorecard.reasons import reference_scores
from bayesieve.scorecard.record import Scorecard

_WIDTH = 118
_LARGEST = 2**53 - 1  # largest whole number that JavaScript represents exactly
_R_ESCAPES = {'"': '\\"', "\\": "\\\\", "\x00": "\\ufffd"}  # texts in R cannot contain a null character


def _in_javascript(value: Any) -> str:
    """Return a plain value as a JavaScript literal."""
    if isinstance(value, int) and abs(value) > _LARGEST:
        return f"{value}n"
    if isinstance(value, (int, float)):
        return json.dumps(value)
    text = json.dumps(value, ensure_ascii=not str(value).isprintable())
    return re.sub("<(?=[!/sS])", r"\\u003c", text)  # no text can end the script tag around the file


def _in_r(value: Any) -> str:
    """Return a plain value as an R literal in ASCII."""
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    if isinstance(value, (int, float)):
        return str(value) if abs(value) < math.inf else "Inf" if value > 0 else "-Inf"
    return '"' + "".join(_R_ESCAPES.get(c) or (c if " " <= c <= "~" else f"\\U{ord(c):08x}") for c in value) + '"'


@dataclass(frozen=True)
class _Syntax:
    """Literals of a programming language.

    Attributes
    ----------
    scalar : function that returns a single value as a literal
    named, listed, numbers : opening and closing brackets of dicts, of lists, and of numeric vectors
    between : separator between a name and its value
    last : separator after the last entry of a literal over several lines
    """

    scalar: Callable[[Any], str]
    named: tuple[str, str] = ("{", "}")
    listed: tuple[str, str] = ("[", "]")
    numbers: tuple[str, str] = ("[", "]")
    between: str = ": "
    last: str = ","  # separator after the last entry of a literal over several lines


@dataclass(kw_only=True, eq=False, repr=False)
class _Program(Export):
    """Base of exports to programming languages: a template of code in which the model is inserted as literals."""

    template: ClassVar[str] = ""
    syntax: ClassVar[_Syntax]

    against: Against = "mean"
    target_class: Any = None
    texts: bool = True

    def results(self, card: Scorecard) -> Collection[str]:
        """Return which of ``"points"`` and ``"reasons"`` the file contains."""
        return [REASONS]

    def write(self, plan: Plan) -> str:
        """Return the code of the program: its template with the model inserted as literals."""
        card, at = plan.card, plan.card.position(self.target_class)
        references = reference_scores(card, self.against, 1.0 if at is not None else -1.0).tolist()
        readers = [_reader(reader) for reader in plan.readers]
        columns = []
        for name, (reader, texts) in plan.reason_texts().items():
            literal = _reader(reader)
            if self.texts and literal not in readers:
                readers.append(literal | {"finite": False})  # infinite numbers already fail in the readers of features
                literal = readers[-1]
            words = (
                {"reader": readers.index(literal), "texts": texts} if self.texts else {"reader": None, "texts": None}
            )
            title, type_ = plan.words.name(name), plan.columns[name]
            columns.append({"name": name, "title": title, "type": type_, **words})
        model = {
            "head": dict(plan.head),
            "classes": plan.classes,
            "positive": card.positive,
            "reasons_against": at,
            "intercept": (card.intercept[1:] - card.intercept[0]).tolist(),
            "columns": columns,
            "readers": readers,
            "terms": [_term(plan, term, row) for term, row in zip(plan.terms, references, strict=True)],
        }
        folder = resources.files("bayesieve.scorecard.export").joinpath("templates")
        before, after = folder.joinpath(self.template).read_text(encoding="utf-8").split("__MODEL__")
        return before + _written(model, self.syntax) + after


class Python(_Program):
    """Single file of Python code, 3.8 or later, without dependencies: call ``score(row)`` or run ``python scoring.py
    rows.csv``.

    The result of ``score(row, reasons=4)`` is a dictionary: ``probabilities`` by label, the ``predicted`` label, for
    two classes the ``score``, which is the log odds of the positive class in nats, and ``reasons``, each with
    ``column``, ``text`` and ``contribution`` as in `SelectiveNB.reasons`. A row is a mapping from column names to
    numbers, booleans, texts, dates, times and durations; None and NaN are missing values. Texts are converted to the
    type of the column, dates and times in ISO 8601; a text that cannot be converted counts as unseen. An infinite
    number, or a missing column, raises a ValueError.

    Parameters
    ----------
    against : {"mean", "best"}, default="mean"
        Reference row of the reasons, as in `SelectiveNB.reasons`.
    target_class : label, default=None
        Class that reasons speak against. None: the positive class of the model; if there is none, reasons speak for the
        predicted class.
    texts : bool, default=True
        Whether reasons have texts; without them, the file is smaller.

    Examples
    --------
    >>> import polars as pl
    >>> from bayesieve import SelectiveNB
    >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10})
    >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 10)
    >>> program = {}
    >>> exec(model.export(to="python"), program)
    >>> program["score"]({"age": 30})["predicted"]
    'no'
    """

    name = "python"
    suffixes: ClassVar[Mapping[str, Any]] = {".py": {}}
    title = "plain Python, without any package"
    template = "score.py.txt"
    syntax = _Syntax(repr)


@dataclass(kw_only=True, eq=False, repr=False)
class JavaScript(_Program):
    """Single file of JavaScript without dependencies, for browsers and Node, with a function ``score(row)`` and the
    ``model`` as data.

    A script assigns both to ``globalThis.scoring``; ``require`` and ``import`` of Node return them. The result of
    ``score(row, {reasons: 4})`` has ``probabilities`` in the order of ``model.classes``, and ``predicted``, ``score``
    and ``reasons`` as in the export to Python. Its ``contributions``, in nats, refer to the score of one class: the
    ``target_class``, otherwise the positive class, otherwise the predicted one. The ``intercept`` and the contributions
    of all ``features`` add up to ``total``; contributions of ``columns`` are differences from the reference row of the
    reasons. Forms can be generated from ``model.columns`` and ``model.readers``, which hold types, values, cut points
    and texts.

    Values of rows are JSON values, BigInt or Date. Whole numbers beyond 2**53 are BigInt or texts. Dates, datetimes and
    times are texts in ISO 8601, exact to the microsecond, or milliseconds since 1970 or midnight; dates and datetimes
    may also be Date objects. Durations are milliseconds, or texts such as "-2d 12:00:00.5". Invalid values are treated
    as in the export to Python. The file can be pasted between script tags, and runs in pages that forbid eval.

    Parameters
    ----------
    against, target_class, texts
        Options described at `Python`.
    module : bool, default=False
        Whether the file ends with an export of ``score`` and ``model``, so that it can only be used as a module. The
        suffix ``.mjs`` sets this option.

    Examples
    --------
    >>> import polars as pl
    >>> from bayesieve import SelectiveNB
    >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10})
    >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 10)
    >>> "function score(row" in model.export(to="javascript")
    True
    """

    name = "javascript"
    suffixes: ClassVar[Mapping[str, Any]] = {".js": {}, ".mjs": {"module": True}}
    title = "plain JavaScript, for browsers and Node"
    template = "score.js"
    syntax = _Syntax(_in_javascript)

    module: bool = False

    def write(self, plan: Plan) -> str:
        """Return the code of the program."""
        return super().write(plan) + "export const { score, model } = globalThis.scoring;\n" * self.module


class R(_Program):
    """Single file of base R code, 4.0 or later, without packages, with functions ``score(rows)`` and ``reasons(rows,
    n)`` of a data frame.

    ``score`` returns a data frame with ``prediction``, ``P(class)`` for each class and, for two classes, ``score``, the
    log odds of the positive class in nats. ``reasons`` returns a line for each reason, with ``row``, ``rank``,
    ``column``, ``text`` and ``contribution``. Columns are numbers, logicals, texts, factors, Date, POSIXct or difftime;
    NA is a missing value. Invalid values are treated as in the export to Python.

    Parameters
    ----------
    against, target_class, texts
        Options described at `Python`.

    Examples
    --------
    >>> import polars as pl
    >>> from bayesieve import SelectiveNB
    >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10})
    >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 10)
    >>> "score <<- function(rows)" in model.export(to="r")
    True
    """

    name = "r"
    suffixes: ClassVar[Mapping[str, Any]] = {".R": {}, ".r": {}}
    title = "plain R, without any package"
    template = "score.R"
    syntax = _Syntax(_in_r, ("list(", ")"), ("list(", ")"), ("c(", ")"), " = ", "")

    def write(self, plan: Plan) -> str:
        """Return the code of the program. Raise ValueError if R cannot represent the categories of a column."""
        for reader in plan.readers:
            if any(isinstance(key, int) and abs(key) > _LARGEST for key in reader.keys):
                raise ValueError(
                    f"R does not distinguish the whole numbers beyond 2**53 of column {reader.column!r}; train on them "
                    "as text, or export to Python or SQL."
                )
        return super().write(plan)


def _reader(reader: Reader) -> dict[str, Any]:
    """Return the rule from values of a column to codes (numbers of levels) as plain values: the arguments of ``reader``
    in the templates.
    """
    kind = reader.type if reader.is_moment else "number"
    values: list[list[Any]] = [[] for _ in range(1 + max(reader.keys.values(), default=-1))]
    for value, code in reader.keys.items():
        values[code].append(value)
    if reader.cuts is None and any(isinstance(value, str) for value in reader.keys):
        kind = "text" if reader.is_text else "mixed"
    return {
        "column": reader.column,
        "kind": kind,
        "cuts": None if reader.cuts is None else list(reader.cuts),
        "values": values,
        "first": reader.first,
        "missing": reader.missing,
        "unseen": reader.unseen,
        "finite": reader.refuses_infinite,
    }


def _term(plan: Plan, term: ExportedTerm, reference: list[float]) -> dict[str, Any]:
    """Return the contributions of ``term`` as plain values: for each cell its label, the log odds of each other class
    against the first in nats and, if requested, the number of training rows.

    ``reference`` holds the scores (n_classes) of the feature in the reference row of reasons.
    """
    feature = term.feature
    parts = [[*plan.words.levels(feature.cells), UNSEEN], (term.table[:, 1:] - term.table[:, :1]).tolist()]
    if plan.with_counts:
        parts.append([*feature.counts.tolist(), [0] * len(plan.classes)])
    return {
        "feature": feature.name,
        "columns": list(feature.columns),
        "readers": list(term.readers),
        "grid": None if term.cell is None else term.cell.tolist(),
        "reference": reference,
        "cells": [list(cell) for cell in zip(*parts, strict=True)],
    }


def _written(value: Any, syntax: _Syntax, indent: str = "") -> str:
    """Return a value as a literal of the language with this ``syntax``, on one line if it is short.

    ``indent`` precedes each further line. Longer vectors of numbers are wrapped into lines; all other entries get a
    line each.
    """
    if not isinstance(value, (dict, list)):
        return syntax.scalar(value)
    entries = list(value.values()) if isinstance(value, dict) else value
    are_numbers = bool(entries) and all(isinstance(one, (int, float)) for one in entries)
    opening, closing = syntax.named if isinstance(value, dict) else syntax.numbers if are_numbers else syntax.listed
    names = [syntax.scalar(name) + syntax.between for name in value] if isinstance(value, dict) else [""] * len(value)
    inner = indent + "    "
    parts = [name + _written(one, syntax, inner) for name, one in zip(names, entries, strict=True)]
    line = f"{opening}{', '.join(parts)}{closing}"
    if "\n" not in line and len(indent) + len(line) <= _WIDTH:
        return line
    if are_numbers:
        lines = TextWrapper(_WIDTH, inner, inner, break_long_words=False, break_on_hyphens=False)
        body = lines.fill(", ".join(parts))
    else:
        body = ",\n".join(inner + part for part in parts)
    return f"{opening}\n{body}{syntax.last}\n{indent}{closing}"
