"""Predictions of a fitted model as expressions of polars or narwhals, so that no Python touches the rows."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from functools import reduce
from operator import add, and_, or_
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from bayesieve.classifier.predicting import look_at_first_rows, prediction_names
from bayesieve.parts import is_choice
from bayesieve.table import FeatureLevels
from bayesieve.table.backends import type_of_dtype
from bayesieve.table.columns import ALL_WHOLE, Categories
from bayesieve.table.derived_levels import IndicatorLevels, PairLevels
from bayesieve.table.text_types import number_of
from bayesieve.table.values import BLANKS, MICROSECONDS_PER_DAY, TEMPORAL, canonical_text, canonical_value, parse_number
from bayesieve.words import listed

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB

OUTPUTS = ("all", "prediction", "probabilities")
_OWN = "__bayesieve_"  # begins the names of columns that come and go
_MOST_NODES = 5_000  # levels in expressions of narwhals that cannot share what they have in common
_LEAF_VALUES = 128  # of a group, compared one after another at the end of a search by halves
_MOST_VALUES = 1000  # of a group in engines where each costs a pass over the rows
_HASHED = ("polars", "pandas", "modin", "cudf", "pyarrow")  # engines that look values up
_EACH_A_PASS = ("dask", "pyspark", "pyspark_connect", "sqlframe")
_READABLE: dict[str, tuple[str, ...]] = {
    "number": ("number", "boolean"),
    "text": ("text", "category"),
    "category": ("text", "category"),
    "date": ("date", "datetime"),
    "datetime": ("date", "datetime"),
}
_PLAIN = {
    "number": "Float64",
    "boolean": "Boolean",
    "text": "String",
    "category": "String",
    "date": "Date",
    "datetime": "Datetime",
    "duration": "Duration",
    "time": "Time",
}  # of a column without type, as one without values is
_EPOCH = dt.datetime(1970, 1, 1)

Named = Mapping[str, Any]
Reference = Callable[[str], Any]


def expressions_of(model: SelectiveNB, frame: Any, outputs: str) -> list[Any]:
    """Expressions of the predictions; see `SelectiveNB.expressions`."""
    if not is_choice(outputs, OUTPUTS):
        raise ValueError(f"outputs must be one of {', '.join(map(repr, OUTPUTS))}, got {outputs!r}.")
    stages = Stages.of(model, frame)
    names = prediction_names(model, outputs)
    if stages.engine == "polars":
        import polars as pl

        whole = pl.struct(**stages.codes)
        for stage in stages.following:
            whole = whole.struct.with_fields(**stage(pl.field))
        return [whole.struct.field(name) for name in names]
    stages.refuse_if_large()
    known = {**stages.codes, **stages.joints(stages.codes.__getitem__)}
    known |= stages.compared(known.__getitem__)
    return [known[name].alias(name) for name in names]


def query_with_predictions(model: SelectiveNB, frame: Any) -> Any:
    """What `SelectiveNB.with_predictions` gives for a frame that is not in memory, as the same kind of frame."""
    of_frame = nw.from_native(frame)
    stages = Stages.of(model, frame)
    names = prediction_names(model)
    if stages.engine == "polars":
        import polars as pl

        whole, made = of_frame.to_native().with_columns(**stages.codes), [*stages.codes]
        ref: Any = pl.col
    else:
        whole, ref, made = of_frame.with_columns(**stages.codes), nw.col, [*stages.codes]
    for stage in stages.following:
        named = stage(ref)
        made += [name for name in named if name not in names]
        whole = whole.with_columns(**named)
    whole = whole.drop(made)
    return whole if frame is of_frame or stages.engine == "polars" else whole.to_native()


class Stages:
    """Columns that predictions are made of: the codes of the levels, and what follows from columns before.

    Attributes
    ----------
    engine : "polars", or what narwhals calls the engine.
    codes : expressions of raw columns by name.
    following : functions that take what gives a column of an earlier stage by its name, and return expressions by name.
    """

    def __init__(self, model: SelectiveNB, columns: ColumnExpressions, engine: str) -> None:
        self.engine, self._columns, self._ns = engine, columns, columns.ns
        self._labels, self._intercept = model.classes_.tolist(), model.scorecard_.intercept
        self.codes: dict[str, Any] = {}
        self._evidence: dict[str, np.ndarray] = {}
        infinite = np.full((1, len(self._labels)), np.nan)
        for k in model.scorecard_.used.tolist():
            feature = model.scorecard_.features[k]
            code, cell_of = columns.code(feature.cells)
            self.codes[f"{_OWN}code_{k}"] = code
            self._evidence[f"{_OWN}code_{k}"] = np.concatenate([feature.table, infinite])[cell_of]
        if not self.codes:  # a column all the same, so that there are as many predictions as rows
            self.codes[f"{_OWN}code"] = columns.ns.nth(0).is_null().cast(columns.ns.Int32)
            self._evidence[f"{_OWN}code"] = np.zeros((3, len(self._labels)))
        self.following = (self.joints, self._top, self._shares, self._total, self._predictions)

    def refuse_if_large(self) -> None:
        """ValueError if expressions that share nothing would take minutes to build."""
        joints = len(self._labels) * (2 * len(self._labels) + 1)
        size = joints * sum(len(table) for table in self._evidence.values())
        if size > _MOST_NODES:
            raise ValueError(
                f"Expressions of {self.engine} that stand alone would repeat {size:,} values of the model; use "
                "with_predictions, which shares what they have in common."
            )

    @classmethod
    def of(cls, model: SelectiveNB, frame: Any) -> Stages:
        """Of a model for the engine and the columns of a frame; None stands for polars and the training columns."""
        if model.encoder_.calls_functions:
            raise ValueError("The model computes scores by Python functions, which no expression calls.")
        if frame is None:
            return cls(model, ColumnExpressions(), "polars")
        of_frame = nw.from_native(frame)
        engine = of_frame.implementation.name.lower()
        schema = of_frame.collect_schema()
        model.scorecard_.reader.check(schema.names())
        stages = cls(model, ColumnExpressions(schema, engine), engine)
        look_at_first_rows(model, of_frame)
        return stages

    def joints(self, of: Reference) -> Named:
        """The log joint of each class, summed in the order of `DiscreteNB`."""
        return {
            f"{_OWN}joint_{j}": reduce(
                add,
                (self._columns.look_up(of(name), table[:, j].copy()) for name, table in self._evidence.items()),
                self._ns.lit(float(self._intercept[j])),
            )
            for j in range(len(self._labels))
        }

    def _each(self, of: Reference, name: str) -> list[Any]:
        """The columns of this name, one for each class."""
        return [of(f"{_OWN}{name}_{j}") for j in range(len(self._labels))]

    def _top(self, of: Reference) -> Named:
        return {f"{_OWN}top": self._ns.max_horizontal(*self._each(of, "joint"))}

    def _shares(self, of: Reference) -> Named:
        top = of(f"{_OWN}top")
        return {f"{_OWN}share_{j}": (joint - top).exp() for j, joint in enumerate(self._each(of, "joint"))}

    def _total(self, of: Reference) -> Named:
        return {f"{_OWN}total": reduce(add, self._each(of, "share"))}

    def _predictions(self, of: Reference) -> Named:
        top, total, joints = of(f"{_OWN}top"), of(f"{_OWN}total"), self._each(of, "joint")
        shares = [share / total for share in self._each(of, "share")]
        return self._named(joints, lambda j: joints[j] >= top, shares)

    def compared(self, of: Reference) -> Named:
        """Predictions if nothing can be shared: classes compared with each other."""
        joints = self._each(of, "joint")
        possible = np.flatnonzero(self._intercept > -np.inf).tolist()  # the others have log joints of -inf

        def is_best(j: int) -> Any:
            return reduce(and_, (joints[j] >= joints[i] for i in possible if i != j))

        def probability(j: int) -> Any:
            if j not in possible:
                return joints[0] * 0.0
            odds = [(joints[i] - joints[j]).exp() for i in possible if i != j]
            return 1.0 / reduce(add, odds, self._ns.lit(1.0))

        return self._named(joints, is_best, [probability(j) for j in range(len(joints))])

    def _named(self, joints: list[Any], is_best: Callable[[int], Any], probabilities: list[Any]) -> Named:
        """The first class that is best, null if numbers are refused, and the probabilities."""
        ns, prediction = self._ns, self._ns.lit(self._labels[-1])
        for j in reversed(range(len(joints) - 1)):
            prediction = ns.when(is_best(j)).then(ns.lit(self._labels[j])).otherwise(prediction)
        names = [f"P({label})" for label in self._labels]
        first = ns.when(~joints[0].is_nan()).then(prediction)
        return {"prediction": first, **dict(zip(names, probabilities, strict=True))}


class ColumnExpressions:
    """The columns of a frame as expressions.

    Parameters
    ----------
    schema : data types of narwhals by name of the column; None: the types of the training table.
    engine : "polars" for expressions of polars, otherwise what narwhals calls the engine of its expressions.
    """

    def __init__(self, schema: Mapping[str, Any] | None = None, engine: str = "polars") -> None:
        import polars as pl

        self.ns: Any = pl if engine == "polars" else nw
        self._schema, self._engine = schema, engine

    def code(self, level: FeatureLevels) -> tuple[Any, np.ndarray]:
        """An expression, and the level that each of its values 0, 1, ... stands for: `unseen_code`, and one more if
        a number is infinite, which levels refuse.

        ValueError, naming the column, if no expression does what the levels do.
        """
        refused = level.unseen_code + 1
        if not isinstance(level, PairLevels):
            of_numbers = self._of_moment if level.type in TEMPORAL else self._of_number
            code = self._of_value(level) if level.kind == "categorical" else of_numbers(level)
            return code, np.arange(refused + 1)
        (first, _), (second, columns) = map(self.code, level.parts)
        cell = first.cast(self.ns.Int32) * columns.size + second.cast(self.ns.Int32)
        of_cell = np.pad(level._level_of_codes.astype(np.int64), ((0, 1), (0, 1)), constant_values=refused)
        return cell, of_cell.ravel()

    def look_up(self, code: Any, values: np.ndarray) -> Any:
        """The number at each position, the last of which is NaN."""
        if self._engine == "polars":
            return self.ns.lit(self.ns.Series(values)).gather(code)
        positions = list(range(values.size - 1))
        return code.replace_strict(positions, values[:-1].tolist(), default=math.nan, return_dtype=nw.Float64)

    def _of_number(self, level: FeatureLevels) -> Any:
        names = level.sum_of or (level.score if isinstance(level, IndicatorLevels) else level.name,)
        terms = [self._column(name, "number").cast(self.ns.Float64) for name in names]
        number = reduce(add, terms)
        code = self._interval(level, lambda cut: number <= cut, lambda value: number == value)
        missing = number.is_null() | number.is_nan()
        code = self.ns.when(missing).then(self._lit(level._code_of_missing)).otherwise(code)
        if isinstance(level, IndicatorLevels):  # which compares infinite scores like any other
            return code
        infinite = [each.abs() == math.inf for each in (*terms, *([number] if len(terms) > 1 else []))]
        infinite = [condition.fill_null(False) for condition in infinite]  # null or true is unknown in SQL
        return self.ns.when(reduce(or_, infinite)).then(self._lit(level.unseen_code + 1)).otherwise(code)

    def _of_moment(self, level: FeatureLevels) -> Any:
        moment, literal = self._moment(level)
        code = self._interval(level, lambda cut: moment <= literal(cut), lambda value: moment == literal(value))
        return self.ns.when(moment.is_null()).then(self._lit(level._code_of_missing)).otherwise(code)

    def _interval(
        self, level: FeatureLevels, is_at_most: Callable[[float], Any], is_value: Callable[[float], Any]
    ) -> Any:
        """The interval of a value that is there, by halves, or the level of a special value."""
        cuts, skipped = level.own_cuts.tolist(), level.n_apart

        def between(first: int, last: int) -> Any:
            if first == last:
                return self._lit(first + skipped)
            middle = (first + last) // 2
            left, right = between(first, middle), between(middle + 1, last)
            return self.ns.when(is_at_most(cuts[middle])).then(left).otherwise(right)

        code = between(0, len(cuts))
        for k, (_, values) in enumerate(level.special, level.n_apart - len(level.special)):
            for value in values:
                code = self.ns.when(is_value(_special_number(level, value))).then(self._lit(k)).otherwise(code)
        return code

    def _of_value(self, level: FeatureLevels) -> Any:
        own = self._type_of(level.name)
        if own in ("boolean", "number") and own not in _READABLE.get(level.type, (level.type,)):
            return self._of_other_type(level, own)
        if level.type == "boolean":
            codes = {value: level._code_of_text.get(str(value), level.unseen_code) for value in (True, False)}
            return self._of_boolean(self._column(level.name, "boolean", level), codes, level)
        if level.type in ("text", "category"):
            return self._of_text(level)
        if level.type == "mixed":
            raise ValueError(
                f"Column {level.name!r} holds values of several types, which no expression compares; turn it into text "
                "before the fit, or predict with predict_proba."
            )
        if level.type == "number":
            return self._of_keys(*self._number_key(level), level, may_be_nan=True)
        return self._of_keys(*self._moment_key(level), level, may_be_nan=False)

    def _of_other_type(self, level: FeatureLevels, own: str) -> Any:
        """Booleans and numbers where other values are expected: those that stand for a value of a level."""
        candidates: list[Any] = [False, True]
        if own == "number":
            candidates = list({number for text in level._code_of_text for number in _numbers_like(text)})
        found = level.code_categories(Categories(np.arange(len(candidates)), candidates)).tolist()
        codes = dict(zip(candidates, found, strict=True))
        if own == "boolean":
            return self._of_boolean(self._named(level.name), codes, level)
        known = {value: code for value, code in codes.items() if code != level.unseen_code}
        return self._of_keys(*self._number_key(level, known), level, may_be_nan=True)

    def _of_boolean(self, value: Any, codes: Mapping[bool, int], level: FeatureLevels) -> Any:
        yes, no, missing = (self._lit(code) for code in (codes[True], codes[False], level._code_of_missing))
        return self.ns.when(value.is_null()).then(missing).when(value.fill_null(False)).then(yes).otherwise(no)

    def _of_keys(self, value: Any, keys: Mapping[Any, int], level: FeatureLevels, *, may_be_nan: bool) -> Any:
        is_missing = value.is_null()
        if may_be_nan:
            is_missing = is_missing | value.cast(self.ns.Float64).is_nan()
        missing = self._lit(level._code_of_missing)
        return self.ns.when(is_missing).then(missing).otherwise(self._replaced(value, keys, level))

    def _of_text(self, level: FeatureLevels) -> Any:
        value, keys = self._column(level.name, level.type, level), level._code_of_text
        if level.type == "category" or self._type_of(level.name) == "category":
            value = value.cast(self.ns.String)
        bare = value.str.strip_chars(BLANKS)
        code = self._replaced(bare, keys, level)
        if "" not in keys:
            code = self.ns.when(bare == "").then(self._lit(level._code_of_missing)).otherwise(code)
        blank = {text: own for text, own in keys.items() if text != text.strip()}
        if blank:  # comes before the same text without blanks
            own = self._replaced(value, blank, level)
            code = self.ns.when(own == self._lit(level.unseen_code)).then(code).otherwise(own)
        return self.ns.when(value.is_null()).then(self._lit(level._code_of_missing)).otherwise(code)

    def _number_key(self, level: FeatureLevels, numbers: dict[Any, int] | None = None) -> tuple[Any, dict[Any, int]]:
        """A categorical column of numbers, and the codes of the numbers: those of the levels by default."""
        column, dtype = self._column(level.name, "number", level), self._dtype(level.name)
        if numbers is None:
            values: list[Any] = [value for group in level.groups or () for value in group if value is not None]
            numbers = {value: level._code_of_text[canonical_text(value)] for value in values}
        whole = {value: code for value, code in numbers.items() if isinstance(value, int)}
        if any(abs(value) >= ALL_WHOLE for value in whole) and not (dtype is not None and dtype.is_float()):
            return column.cast(self.ns.Int64), {v: code for v, code in whole.items() if -(2**63) <= v < 2**63}
        if dtype is None and len(whole) < len(numbers):  # the texts of numbers of 32 bits are shorter
            column = column.cast(self.ns.String)
        elif dtype == nw.Float32:
            numbers = {float(np.float32(v)): code for v, code in numbers.items() if float(str(np.float32(v))) == v}
        return column.cast(self.ns.Float64), {float(value): code for value, code in numbers.items()}

    def _moment_key(self, level: FeatureLevels) -> tuple[Any, dict[Any, int]]:
        """A categorical column of moments, and the codes of the moments."""
        moment, literal = self._moment(level)
        keys = {literal(parse_number(text, level.type)): code for text, code in level._code_of_text.items()}
        return moment, keys

    def _moment(self, level: FeatureLevels) -> tuple[Any, Callable[[float], Any]]:
        """A column of moments, and what the number of a moment of the level's type compares with, rounded down."""
        column, dtype = self._column(level.name, level.type, level), self._dtype(level.name)
        type_ = self._type_of(level.name) or level.type
        if self._engine == "polars":
            if type_ == "duration":
                column = column.dt.total_microseconds()
            elif type_ == "time":
                column = column.cast(self.ns.Int64) // 1000
            else:
                column = column.dt.timestamp("us")
            return column, lambda number: _microseconds(number, level.type)
        if type_ == "time":
            column = column.cast(nw.Time())  # from one of nanoseconds, which DuckDB compares with no other
        zone = dt.UTC if getattr(dtype, "time_zone", None) else None
        return column, lambda number: _moment_of(_microseconds(number, level.type), type_, zone)

    def _replaced(self, value: Any, keys: Mapping[Any, int], level: FeatureLevels) -> Any:
        """The code of each value among these keys."""
        if self._engine == "polars" or self._engine in _HASHED or len(keys) <= _LEAF_VALUES:
            dtype = self.ns.UInt32 if self._engine == "polars" else self.ns.Int64
            unseen = self._lit(level.unseen_code)
            return value.replace_strict(list(keys), list(keys.values()), default=unseen, return_dtype=dtype)
        if self._engine in _EACH_A_PASS and len(keys) > _MOST_VALUES:
            raise ValueError(
                f"Column {level.name!r} has {len(keys)} values in groups, too many for {self._engine}; "
                "predict with with_predictions."
            )
        ordered = sorted(keys)
        lower, upper = ordered[: len(ordered) // 2], ordered[len(ordered) // 2 :]
        halves = [self._replaced(value, {key: keys[key] for key in half}, level) for half in (lower, upper)]
        return self.ns.when(value < upper[0]).then(halves[0]).otherwise(halves[1])

    def _lit(self, code: int) -> Any:
        if self._engine != "polars":
            return self.ns.lit(code)
        return self.ns.lit(code, dtype=self.ns.UInt16 if code < 1 << 16 else self.ns.UInt32)

    def _dtype(self, name: str) -> Any:
        return None if self._schema is None else self._schema.get(name)

    def _type_of(self, name: str) -> str | None:
        dtype = self._dtype(name)
        return None if dtype is None or dtype == nw.Unknown else type_of_dtype(dtype)

    def _column(self, name: str, type_: str, level: FeatureLevels | None = None) -> Any:
        """A column of the frame, which must be readable as this type; ``level`` has the values expected."""
        own = self._type_of(name)
        if own is not None and own not in _READABLE.get(type_, (type_,)):
            values = [value for group in (level and level.groups) or () for value in group if value is not None]
            such_as = f", such as {listed([repr(canonical_text(value)) for value in values], 3)}" if values else ""
            raise ValueError(
                f"Column {name!r} holds values of type {own} where values of type {type_} are expected{such_as}; "
                f"convert the column to {type_}{' with these values' if such_as else ''} first."
            )
        column = self._named(name)
        if self._dtype(name) == nw.Unknown and type_ in _PLAIN:
            return column.cast(getattr(self.ns, _PLAIN[type_])())
        return column

    def _named(self, name: str) -> Any:
        if self._engine == "polars" and self._dtype(name) == nw.Object:
            raise ValueError(
                f"Column {name!r} holds Python objects, which no expression reads; convert it to one type first, or "
                "predict with predict_proba."
            )
        if name != "*" and not (name.startswith("^") and name.endswith("$")):
            return self.ns.col(name)
        if self._engine == "polars":  # for which these are patterns
            from polars import selectors

            return selectors.by_name(name).as_expr()
        if name == "*":
            raise ValueError(f"The column {name!r} means all columns to {self._engine}; rename it before the fit.")
        return self.ns.col(name)


def _numbers_like(text: str) -> list[Any]:
    """Numbers that may stand for the value of this text."""
    if text in ("True", "False"):
        return [int(text == "True")]
    try:
        number = parse_number(text, "number")
    except ValueError:
        return []
    return [canonical_value(number)] if math.isfinite(number) else []


def _microseconds(number: float, type_: str) -> int:
    """The number of a moment as whole microseconds, rounded down."""
    if type_ != "date":
        return math.floor(number)
    days = math.floor(number)
    return days * MICROSECONDS_PER_DAY + math.floor((number - days) * MICROSECONDS_PER_DAY)


def _moment_of(microseconds: int, type_: str, zone: dt.tzinfo | None) -> Any:
    """The moment, rounded down to days for dates, and to the limits of Python's types."""
    if type_ == "duration":
        return dt.timedelta(microseconds=microseconds)
    try:
        moment = _EPOCH + dt.timedelta(microseconds=microseconds)
    except OverflowError:
        moment = dt.datetime.max if microseconds > 0 else dt.datetime.min
    if type_ == "date":
        return moment.date()
    return moment.time() if type_ == "time" else moment.replace(tzinfo=zone)


def _special_number(level: FeatureLevels, value: Any) -> float:
    """A special value of a column of numbers, dates or times; ValueError for a text that is none."""
    number = number_of(value, level.type)
    if math.isnan(number):
        raise ValueError(
            f"Column {level.name!r} has the special value {value!r}, which no expression compares with numbers; "
            "predict with predict_proba."
        )
    return number
