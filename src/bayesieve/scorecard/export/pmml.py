"""Export to PMML 4.4: a Scorecard with reason codes for two classes, a RegressionModel for more."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayesieve.scorecard.direction import REASONS
from bayesieve.scorecard.export.plan import Against, ExportedTerm, Plan, Reader
from bayesieve.scorecard.export.target import Export
from bayesieve.scorecard.reasons import DECIMALS, columns_in_use, reference_scores
from bayesieve.scorecard.record import Scorecard

_UNITS = {
    "date": "days since 1970-01-01",
    "datetime": "microseconds since 1970-01-01T00:00 UTC",
    "time": "microseconds since midnight",
    "duration": "microseconds",
}
# The blanks that str.strip() removes, as plain characters: PMML4S drops the text of a constant up to its last XML
# entity.
_BLANKS = r"(?:\s|\p{Z}|\x0b|\x0c|\x1c|\x1d|\x1e|\x1f|\x85)*"
_TRIMMED = rf"(?s)^{_BLANKS}(.*?){_BLANKS}$"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LARGEST = repr(float(np.finfo(float).max))
_UNKNOWN = -1
_KINDS = {int: "integer", float: "double", str: "string"}


@dataclass(kw_only=True, eq=False, repr=False)
class Pmml(Export):
    """PMML 4.4: a Scorecard with reason codes for two classes, a RegressionModel with softmax for more.

    Evaluators return ``log odds`` (of the positive class, in nats; two classes only), ``probability(label)`` of each
    class, ``predicted class`` (its label as text) and ``reason 1``, ``reason 2`` ... If a column has one of these
    names, ``_`` is appended. Each column is a Characteristic; a pair of columns adds half of its contribution to each
    of them, as in `SelectiveNB.reasons`.

    Inputs are named after the columns. Texts and booleans are passed as they are, numbers as doubles. Dates and times
    are passed as numbers, because evaluators do not support microseconds and count days differently: dates as days
    since 1970-01-01, datetimes as microseconds since 1970-01-01 UTC, times as microseconds since midnight, durations as
    microseconds. The DataField's ``displayName`` states the unit. A missing value is null or NaN. Infinite numbers for
    which `predict_proba` raises an error are invalid: JPMML raises an error, PMML4S returns NaN. A text in place of a
    number is an error in JPMML and a missing value in PMML4S. Facts about the model, and counts of rows, are Extensions
    of the Header.

    Parameters
    ----------
    reasons : int, default=0
        Number of reasons to return, as names of columns; two classes only. If a row has fewer, JPMML leaves the rest
        empty and PMML4S repeats the last one.
    against : {"mean", "best"}, default="mean"
        Reference row of the reasons, as in `SelectiveNB.reasons`.

    Raises
    ------
    ValueError
        If an option is invalid, or PMML cannot represent part of the model: reasons of more than two classes, columns
        of mixed types, numbers beyond 2^53 as categories, and characters that XML does not allow.

    Examples
    --------
    >>> import polars as pl
    >>> from bayesieve import SelectiveNB
    >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10})
    >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 10)
    >>> "<Scorecard" in model.export(to="pmml", reasons=2)
    True
    """

    name = "pmml"
    suffixes: ClassVar[Mapping[str, Any]] = {".pmml": {}}
    title = "PMML 4.4, for scoring engines of banks and insurers"

    reasons: int = 0
    against: Against = "mean"

    def results(self, card: Scorecard) -> Collection[str]:
        """Return which of ``"points"`` and ``"reasons"`` the file contains."""
        return [REASONS] * (self.reasons > 0)

    def write(self, plan: Plan) -> str:
        """Return the PMML document as text."""
        if self.reasons and len(plan.classes) > 2:
            raise plan.refuse("PMML", "reasons of more than two classes", "omit reasons=")
        document = _Document(plan)
        root = document.scorecard(self.reasons, self.against) if len(plan.classes) == 2 else document.regression()
        ET.indent(root)
        text = ET.tostring(root, "unicode").replace("\r", "&#13;")
        if match := _NOT_XML.search(text):
            raise plan.refuse(
                "PMML", f"the character {match[0]!r}", "rename the column, category or class that contains it"
            )
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _element(tag: str, *children: ET.Element, text: Any = None, **attributes: Any) -> ET.Element:
    """Return an XML element with attributes (None is skipped), children and text."""
    element = ET.Element(tag, {name: str(value) for name, value in attributes.items() if value is not None})
    element.text = None if text is None else str(text)
    element.extend(children)
    return element


def _constant(value: float | str) -> ET.Element:
    """Return a Constant element of the type of the value."""
    return _element("Constant", text=value, dataType=_KINDS[type(value)])


def _apply(function: str, *arguments: ET.Element | str) -> ET.Element:
    """Return an Apply element: a function with expressions or names of fields as arguments."""
    nodes = (_element("FieldRef", field=node) if isinstance(node, str) else node for node in arguments)
    return _element("Apply", *nodes, function=function)


def _map(fields: Sequence[str], rows: Iterable[Sequence[Any]], default: Any, missing: Any) -> ET.Element:
    """Return a MapValues element, which looks up the values of fields in a table.

    Each row of the table has one key per field, then the result. ``default`` is the result for other keys, ``missing``
    for missing values.
    """
    names = [*(f"input{k}" for k in range(len(fields))), "output"]
    pairs = [_element("FieldColumnPair", field=field, column=name) for field, name in zip(fields, names, strict=False)]
    cells = ((_element(name, text=item) for name, item in zip(names, row, strict=True)) for row in rows)
    table = [_element("row", *elements) for elements in cells]
    options = {"dataType": _KINDS[type(default)], "defaultValue": default, "mapMissingTo": missing}
    return _element("MapValues", *pairs, _element("InlineTable", *table), outputColumn="output", **options)


def _discretize(field: str, bins: Iterable[tuple[Any, str, Any, Any]], kind: str, missing: Any = None) -> ET.Element:
    """Return a Discretize element, which turns the number in ``field`` into the result of the bin that contains it.

    Each of ``bins`` is a tuple of its result, the kind of closure, and its left and right ends (None if open). ``kind``
    is the data type of results, and ``missing`` the result for missing values.
    """
    elements = []
    for to, closure, left, right in bins:
        interval = _element("Interval", closure=closure, leftMargin=left, rightMargin=right)
        elements.append(_element("DiscretizeBin", interval, binValue=to))
    return _element("Discretize", *elements, field=field, dataType=kind, mapMissingTo=missing)


def _bins(reader: Reader) -> Iterator[tuple[int, str, Any, Any]]:
    """Yield the bins of a numeric column for `_discretize`: code of the level, closure, and ends. They cover all
    numbers, because evaluators treat gaps differently.
    """
    cuts, left = reader.cuts, None
    for end in [*sorted({*(cuts or ()), *reader.keys}), None]:
        between = reader.unseen
        if cuts is not None:
            between = reader.first + (len(cuts) if end is None else bisect_left(cuts, end))
        yield between, "openOpen" if end is None or end in reader.keys else "openClosed", left, end
        if end in reader.keys:
            yield reader.keys[end], "closedClosed", end, end
        left = end


def _output(name: str, feature: str, kind: str, *expression: ET.Element, **attributes: Any) -> ET.Element:
    """Return an OutputField element. ``kind`` is its data type, ``feature`` the kind of result that it holds."""
    optype = "continuous" if kind == "double" else "categorical"
    return _element("OutputField", *expression, name=name, optype=optype, dataType=kind, feature=feature, **attributes)


def _data_field(name: str, type_: str, finite: bool) -> ET.Element:
    """Return the DataField element of a column of type ``type_``; if ``finite``, infinite numbers are invalid."""
    if type_ in ("text", "category", "boolean"):
        kind = "boolean" if type_ == "boolean" else "string"
        return _element("DataField", name=name, optype="categorical", dataType=kind)
    bounds = [_element("Interval", closure="closedClosed", leftMargin=f"-{_LARGEST}", rightMargin=_LARGEST)] * finite
    unit = _UNITS.get(type_)
    return _element("DataField", *bounds, name=name, displayName=unit, optype="continuous", dataType="double")


class _Document:
    """Builder of a PMML document. It gives new fields names that no column has.

    A code is the number of a value's level (interval or group of values); a term is a feature in the model.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.names = plan, set(plan.columns)
        self.labels = [str(label) for label in plan.classes]
        self.derived: list[ET.Element] = []
        codes = [self.code(reader) for reader in plan.readers]
        self.lines = [self.line(term, [codes[k] for k in term.readers]) for term in plan.terms]

    def name(self, wanted: str) -> str:
        """Return the wanted name of a field, with ``_`` appended until it is unused."""
        while wanted in self.names:
            wanted += "_"
        self.names.add(wanted)
        return wanted

    def derive(self, wanted: str, kind: str, expression: ET.Element) -> str:
        """Add a derived field with an expression of the data type ``kind``, and return its name: ``wanted``, with ``_``
        appended until it is unused.
        """
        name, optype = self.name(wanted), "categorical" if kind == "string" else "continuous"
        self.derived.append(_element("DerivedField", expression, name=name, optype=optype, dataType=kind))
        return name

    def code(self, reader: Reader) -> str:
        """Add the field that computes a reader's code from its column, and return its name."""
        column = reader.column
        if reader.is_text:
            expression = self.code_of_text(column, reader)
        elif reader.type == "boolean":
            rows = [(str(value).lower(), code) for value, code in reader.keys.items()]
            expression = _map([column], rows, reader.unseen, reader.missing)
        else:
            lost = [key for key in reader.keys if isinstance(key, str) or abs(key) >= 2**53]
            if lost or reader.type == "mixed":
                kind = f"values such as {lost[0]!r} of the" if lost else "the mixed"
                raise self.plan.refuse("PMML", f"{kind} column {column!r}", "fit the model to the column as text")
            expression = _discretize(column, _bins(reader), "integer", reader.missing)
        return self.derive(f"code of {column}", "integer", expression)

    def code_of_text(self, column: str, reader: Reader) -> ET.Element:
        """Return an expression for the code of a text: the code of the exact text or, if it is unknown, of the text
        without surrounding blanks.
        """
        rows = list({"": reader.missing, **reader.keys}.items())
        exact = self.derive(f"exact {column}", "integer", _map([column], rows, _UNKNOWN, reader.missing))
        bare = _apply("replace", column, _constant(_TRIMMED), _constant("$1"))
        trimmed = self.derive(f"trimmed {column}", "string", bare)
        second = _map([trimmed], rows, reader.unseen, reader.missing)
        return _apply("if", _apply("equal", exact, _constant(_UNKNOWN)), second, exact)

    def line(self, term: ExportedTerm, codes: list[str]) -> str:
        """Return the name of the field that selects the row of a term's table of contributions. ``codes`` are the
        fields with the codes of its columns.

        For one column, it is the field with the code of its value; for a pair, a new field that combines the codes of
        both columns.
        """
        if term.cell is None:
            return codes[0]
        unseen = len(term.table) - 1
        rows = [(*at, line) for at, line in np.ndenumerate(term.cell) if line != unseen]
        return self.derive(f"cell of {term.feature.name}", "integer", _map(codes, rows, unseen, unseen))

    def added(self, k: int, label: str, nats: np.ndarray) -> str:
        """Add the field that looks up the contribution of term ``k`` in ``nats`` (n_lines,), and return its name.
        ``label`` is the class in that name.
        """
        values = nats.tolist()
        table = _map([self.lines[k]], enumerate(values), values[-1], values[-1])
        return self.derive(f"{self.plan.terms[k].feature.name} for {label}", "double", table)

    def scorecard(self, reasons: int, against: Against) -> ET.Element:
        """Return the Scorecard element for two classes: the log odds as a sum of one Characteristic per column.
        ``reasons`` is the number of reasons, and ``against`` their reference row.

        A pair of columns adds half of its contribution to each of them.
        """
        card, positive = self.plan.card, self.plan.card.positive or 0
        references = reference_scores(card, against)
        shares: dict[str, list[str]] = {name: [] for name in columns_in_use(card) or [""]}
        # Reasons are compared to DECIMALS digits. Smaller baselines break ties in the order of the columns.
        baselines = {name: -(0.5 + 0.001 * i) * 10.0**-DECIMALS for i, name in enumerate(shares)}
        for k, term in enumerate(self.plan.terms):
            columns = term.feature.columns
            share = self.added(k, self.labels[positive], card.log_odds(term.table) / len(columns))
            for name in columns:
                shares[name].append(share)
                baselines[name] += references[k, positive] / len(columns)
        parts = []
        for name, fields in shares.items():
            score = _element("ComplexPartialScore", _apply("sum", _constant(0.0), *fields))
            always = _element("Attribute", _element("True"), score)
            parts.append(_element("Characteristic", always, name=name, reasonCode=name, baselineScore=baselines[name]))
        options = {
            "initialScore": self.plan.log_odds[0],
            "useReasonCodes": str(reasons > 0).lower(),
            "reasonCodeAlgorithm": "pointsBelow",
            "baselineMethod": "mean" if against == "mean" else "max",
        }
        outputs = self.outputs_of_odds(reasons)
        return self.root("Scorecard", "regression", outputs, [_element("Characteristics", *parts)], options)

    def outputs_of_odds(self, reasons: int) -> list[ET.Element]:
        """Return the output elements for two classes: log odds, probabilities, predicted class and reasons."""
        odds, one, side = self.name("log odds"), _constant(1.0), self.plan.card.side
        outputs = [_output(odds, "predictedValue", "double")]
        for label, sign in zip(self.labels, (1.0 * side, -1.0 * side), strict=True):
            chance = _apply("/", one, _apply("+", one, _apply("exp", _apply("*", _constant(sign), odds))))
            outputs.append(_output(self.name(f"probability({label})"), "transformedValue", "double", chance))
        ends = [(None, 0.0), (0.0, None)][::side]
        closures = "openClosed" if side > 0 else "closedOpen", "openOpen"  # log odds of 0 predict the first class
        bins = [(label, closed, *end) for label, closed, end in zip(self.labels, closures, ends, strict=True)][::side]
        chosen = _discretize(odds, bins, "string")
        outputs.append(_output(self.name("predicted class"), "transformedValue", "string", chosen))
        for rank in range(1, reasons + 1):
            outputs.append(_output(self.name(f"reason {rank}"), "reasonCode", "string", rank=rank))
        return outputs

    def regression(self) -> ET.Element:
        """Return the RegressionModel element for more than two classes: a softmax over the sums of contributions."""
        tables, outputs = [], []
        for j, label in enumerate(self.labels):
            fields = [self.added(k, label, term.table[:, j]) for k, term in enumerate(self.plan.terms)]
            predictors = [_element("NumericPredictor", name=name, coefficient=1) for name in fields]
            intercept = self.plan.card.intercept[j].item()
            tables.append(_element("RegressionTable", *predictors, intercept=intercept, targetCategory=label))
            outputs.append(_output(self.name(f"probability({label})"), "probability", "double", value=label))
        outputs.append(_output(self.name("predicted class"), "predictedValue", "string"))
        return self.root("RegressionModel", "classification", outputs, tables, {"normalizationMethod": "softmax"})

    def root(
        self, tag: str, function: str, outputs: list[ET.Element], parts: list[ET.Element], options: dict[str, Any]
    ) -> ET.Element:
        """Return the root element of the document, with header, data dictionary and the model.

        ``tag`` and ``function`` name the kind of model; ``outputs``, ``parts`` and ``options`` are its output fields,
        content and attributes.
        """
        plan, target = self.plan, self.name("class")
        facts = list(plan.head.items())
        for feature, label, counts in plan.counts_by_cell():
            facts.append((f"rows: {feature}: {label}", " ".join(f"{count:.15g}" for count in counts)))
        extensions = [_element("Extension", extender="bayesieve", name=name, value=text) for name, text in facts]
        finite = {reader.column for reader in plan.readers if reader.refuses_infinite}
        fields = [_data_field(name, kind, name in finite) for name, kind in plan.columns.items()]
        values = [_element("Value", value=label) for label in self.labels] * (function == "classification")
        kinds = ("categorical", "string") if values else ("continuous", "double")
        fields.append(_element("DataField", *values, name=target, optype=kinds[0], dataType=kinds[1]))
        used = [_element("MiningField", name=name) for name in plan.columns]
        used.append(_element("MiningField", name=target, usageType="target"))
        derived = _element("LocalTransformations", *self.derived)
        contents = _element("MiningSchema", *used), _element("Output", *outputs), derived, *parts
        model = _element(tag, *contents, functionName=function, modelName=plan.head.get("model"), **options)
        application = _element("Application", name="bayesieve", version=plan.head.get("bayesieve"))
        header, dictionary = _element("Header", *extensions, application), _element("DataDictionary", *fields)
        return _element("PMML", header, dictionary, model, xmlns="http://www.dmg.org/PMML-4_4", version="4.4")
