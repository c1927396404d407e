"""Builder of the SQL query that scores rows, in nested sub-selects: values, codes, sums and results.

A reader is the rule from a column's values to codes, the numbers of their levels; a term is a feature in the model,
whose contributions are looked up by code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sqlglot import exp

from bayesieve.scorecard.export.plan import Key, Plan, Reader
from bayesieve.scorecard.export.point_card import Points
from bayesieve.scorecard.reasons import DECIMALS
from bayesieve.table.values import BLANKS, MICROSECONDS_PER_DAY
from bayesieve.words import named, quoted

_TYPES: dict[str, dict[str, str]] = {
    "clickhouse": {"timestamp": "Nullable(DateTime64(6))", "time": ""},
    "mysql": {"timestamp": "DATETIME(6)", "time": "TIME(6)"},
    "oracle": {"double": "BINARY_DOUBLE", "time": ""},
    **{name: {"time": ""} for name in ("databricks", "hive", "spark")},
    **{name: {"duration": "INTERVAL"} for name in ("duckdb", "postgres")},
}
"""Types whose name in a dialect differs from sqlglot's translation; "" if the dialect has no such type."""
_TEXTS = {"mysql": "char", "duckdb": "varchar", "postgres": "varchar"}
_UNTYPED_TRUTH = {*_TEXTS, "sqlite"}  # dialects in which booleans can be read as texts such as true or yes
_REGEXP_REPLACE = {"clickhouse": "replaceRegexpAll", "mysql": "REGEXP_REPLACE", "oracle": "REGEXP_REPLACE"}
_ESCAPED = {"duckdb", "postgres"}  # dialects with literals that escape control characters
_WIDTH = 120  # characters of a line with several columns, levels or facts
_EXPONENT_MAKES_DOUBLE = {
    "bigquery",
    "clickhouse",
    "duckdb",
    "mysql",
    "sqlite",
    "tsql",
}  # dialects that read 0.5e0 as a double
_table: Any = exp.table_  # typed as Any, because its signature does not accept names of unknown length


class Query:
    """SQL query that scores a table, built in stages; each stage is a sub-select over the previous stage.

    ``plan`` is the scorecard to export, and ``options`` the `Sql` export with its options. Scores are log P(class) -
    log P(first class), in nats; for two classes they are the log odds of the positive class. Expressions are trees of
    sqlglot, which writes them in the dialect. Line breaks are set here, because sqlglot puts every level of nesting on
    a separate line.
    """

    def __init__(self, plan: Plan, options: Any) -> None:
        self.plan, self.options, self.dialect = plan, options, options.dialect
        self.table_columns = list(plan.columns) if options.keep is None else [*options.keep]
        self.taken = {name.casefold() for name in self.table_columns}
        self.selects: list[str] = []
        self._check()

    def _check(self) -> None:
        """Raise ValueError if the dialect cannot express part of the model."""
        names = {*self.plan.columns, *self.table_columns}
        tells_case_apart = self.dialect in ("clickhouse", "oracle", "postgres", "snowflake")
        if not tells_case_apart and len({name.casefold() for name in names}) < len(names):
            counts = Counter(name.casefold() for name in names)
            alike = sorted(name for name in names if counts[name.casefold()] > 1)
            what = f"column names that differ only in case ({named(alike)})"
            raise self.plan.refuse(self.dialect, what, "rename columns before the fit")
        if self.dialect == "sqlite" and len(self.plan.columns) > 2000:
            raise self.plan.refuse("sqlite", "more than 2,000 columns in a table", "fit the model with fewer features")
        for reader in self.plan.readers:
            texts = [key for key in reader.keys if isinstance(key, str)]
            large = reader.is_large and any(type(key) is not int for key in reader.keys)
            faults = {
                "values of several types": reader.type == "mixed" or (texts and not reader.is_text) or large,
                "empty texts": self.dialect == "oracle" and reader.keys.get("", reader.missing) != reader.missing,
                "blanks at the end of texts": self.dialect == "tsql" and any(key != key.rstrip() for key in texts),
                f"the type {reader.type}": reader.is_moment and not self.type_of(reader.type),
            }
            for what in (f"{fault} in column {quoted(reader.column)}" for fault in faults if faults[fault]):
                raise self.plan.refuse(self.dialect, what, "convert them to other texts or numbers before the fit")

    def column(self, name: str) -> Any:
        """Return a column of the only table of a SELECT, qualified by its alias, because SQLite may read a bare quoted
        name as a text.
        """
        return exp.column(exp.to_identifier(name, quoted=True), table="t")

    def number(self, value: float | int) -> Any:
        """Return a numeric literal. Floats are written with an exponent, because engines read other literals as
        decimals of fixed precision.
        """
        if (
            self.dialect == "oracle" and value and not 1e-129 < abs(value) < 1e125
        ):  # outside the range of Oracle's NUMBER
            return self.cast(self.text(repr(float(value))), "double")
        text = repr(abs(value)).removesuffix(".0").replace("e+", "e")
        literal = exp.Literal.number(text if isinstance(value, int) or "e" in text else f"{text}e0")
        return exp.Neg(this=literal) if value < 0 else literal

    def text(self, value: str) -> Any:
        """Return a text literal; in SQL Server it has a Unicode type."""
        return exp.National(this=value) if self.dialect == "tsql" else exp.Literal.string(value)

    def call(self, function: str, *values: Any) -> Any:
        """Return a function call that sqlglot writes without translation."""
        return exp.Anonymous(this=function, expressions=list(values))

    def type_of(self, name: str) -> str:
        """Return the dialect's name of a type such as "timestamp" or "double"; an empty string if the dialect has
        none.
        """
        return {"duration": "", **_TYPES.get(self.dialect, {})}.get(name, name)

    def cast(self, value: Any, name: str) -> Any:
        """Return a value cast to a type by its name, see `type_of`."""
        name = "timestamp" if name in ("date", "datetime") else name  # a column may have either type
        value = exp.var(self.written(value)) if isinstance(value, exp.Case) else value
        is_own = name in _TYPES.get(self.dialect, {})
        return exp.Cast(this=value, to=exp.DataType.build(self.type_of(name), udt=is_own))

    def double(self, value: Any) -> Any:
        """Return a value cast to double, with NaN replaced by NULL."""
        value, nan = self.cast(value, "double"), self.cast(self.text("NaN"), "double")
        if self.dialect in ("bigquery", "clickhouse"):  # in these dialects NaN is not equal to itself
            return self.case([(value.eq(value), value)])
        return value if self.dialect in ("mysql", "sqlite", "tsql") else exp.Nullif(this=value, expression=nan)

    def exact(self, value: Any) -> Any:
        """Return a text expression that compares exactly, including case, accents and blanks, whatever the
        collation.
        """
        if self.dialect == "tsql":
            return exp.Collate(this=value, expression=exp.var("Latin1_General_100_BIN2"))
        return exp.cast(value, "binary") if self.dialect == "mysql" else value

    def bare(self, value: Any) -> Any:
        """Return a text expression without surrounding blanks."""
        if self.dialect not in _REGEXP_REPLACE:
            blanks: Any = self.text(BLANKS)
            if self.dialect in _ESCAPED:
                escaped = "".join(c if ord(c) >= 32 else f"\\x{ord(c):02x}" for c in BLANKS)
                blanks = exp.var(f"E'{escaped}'")
            return exp.Trim(this=value, expression=blanks)
        pattern = self.text(f"^[{BLANKS}]+|[{BLANKS}]+$")
        return self.call(_REGEXP_REPLACE[self.dialect], value, pattern, self.text(""))

    def moment(self, value: Any, type_: str) -> Any:
        """Return a date, time or duration that can be compared. SQLite stores them as texts, so missing digits are
        filled in.
        """
        if self.dialect != "sqlite":
            return self.cast(value, type_)
        zeros = self.text("00:00:00.000000" if type_ == "time" else "0000-00-00 00:00:00.000000")
        rest = self.call("SUBSTR", zeros, self.call("LENGTH", value) + self.number(1))
        return exp.DPipe(this=self.call("REPLACE", value, self.text("T"), self.text(" ")), expression=rest)

    def key(self, value: Key, reader: Reader) -> Any:
        """Return the literal of a reader's key or cut. Dates and times are rounded down to microseconds."""
        if isinstance(value, str):
            return self.text(value)
        if not reader.is_moment:
            return self.number(value if reader.is_large else float(value))
        microseconds = int(value * (MICROSECONDS_PER_DAY if reader.type == "date" else 1) // 1)
        text = str(np.datetime64(microseconds, "us")).replace("T", " ")
        text = f"{microseconds} microseconds" if reader.type == "duration" else text
        literal = self.text(text[-15:] if reader.type == "time" else text)
        if self.dialect == "oracle":  # would convert texts by the settings of the session
            return self.call("TO_TIMESTAMP", literal, self.text("YYYY-MM-DD HH24:MI:SS.FF6"))
        return literal if self.dialect == "sqlite" else self.cast(literal, reader.type)

    def case(self, pairs: Iterable[tuple[Any, Any]], default: Any = None, of: Any = None) -> Any:
        """Return a CASE expression from pairs (condition, value) or, if ``of`` is given, from pairs (value of ``of``,
        result). ``default`` is the value in all other cases; None stands for NULL.
        """
        whens = [exp.If(this=when, true=then) for when, then in pairs]
        return exp.Case(this=of, ifs=whens, default=default) if whens else exp.null()

    def look_up(self, code: Any, table: np.ndarray) -> Any:
        """Return an expression for the number in ``table``, an array over codes, at the position ``code``; NULL if the
        code is NULL.
        """
        return self.case(((self.number(k), self.number(x)) for k, x in enumerate(table.ravel().tolist())), of=code)

    def total(self, terms: Sequence[Any]) -> Any:
        """Return the sum of expressions in brackets. It has the type of the first one."""

        def add(group: Sequence[str]) -> str:
            """Join texts by plus signs in brackets, with line breaks if they are long."""
            between = " + " if sum(map(len, group)) < _WIDTH else "\n    + "
            return f"({between.join(group)})"

        return exp.var(_in_groups([*map(self.written, terms)], add))

    def extreme(self, function: str, numbers: Sequence[Any], required: Any) -> Any:
        """Return LEAST or GREATEST (``function``) of numbers. The result is NULL if ``required`` is NULL, because
        engines treat NULL arguments differently.
        """
        name = {"LEAST": "MIN", "GREATEST": "MAX"}[function] if self.dialect == "sqlite" else function
        texts = [*map(self.written, numbers)]
        result = _in_groups(texts, lambda group: name + "(" + ",\n    ".join(filled(group, ", ")) + ")")
        return self.case([(required.is_(exp.null()), exp.null())], exp.var(result))

    def values(self, reader: Reader) -> list[Any]:
        """Return the expressions from which a reader's code is computed: the value and, if a category begins or ends
        with blanks, also the text with its blanks.
        """
        column = self.column(reader.column)
        if self.reads_texts(reader):
            type_ = _TEXTS.get(self.dialect)  # type in which booleans and numbers are compared as texts
            text = column if type_ is None else self.cast(column, type_)
            has_blanks = any(isinstance(key, str) and key != key.strip() for key in reader.keys)
            return [self.exact(self.bare(text)), *[self.exact(text)] * has_blanks]
        if reader.is_moment:
            return [self.moment(column, reader.type)]
        if reader.type == "boolean" or reader.is_large:
            return [self.cast(column, "int" if reader.type == "boolean" else "bigint")]
        return [self.double(column)]

    def reads_texts(self, reader: Reader) -> bool:
        """Return whether this dialect compares the values of a column, read by the rule ``reader``, as texts."""
        return reader.is_text or (reader.type == "boolean" and self.dialect in _UNTYPED_TRUTH)

    def code(self, reader: Reader, value: Any, *others: Any, table: Sequence[float] | None = None) -> Any:
        """Return an expression for the code of a reader; NULL for an infinite number. ``value`` and ``others`` are the
        columns that hold the expressions of `values`.

        If ``table`` (n_codes,) is given, the expression returns its numbers in place of the codes, and allows infinite
        numbers.
        """
        results = range(reader.n_codes) if table is None else table
        pairs: list[tuple[Any, float | None]] = [(value.is_(exp.null()), results[reader.missing])]
        groups: dict[tuple[bool, int], list[Any]] = {}
        is_text = self.reads_texts(reader)
        for key, code in (reader.level.code_of_word if is_text else reader.keys).items():
            is_bare = not isinstance(key, str) or key == key.strip()
            groups.setdefault((is_bare, code), []).append(self.key(key, reader))
        for (is_bare, code), keys in sorted(groups.items()):
            compared = value if is_bare else others[0]
            is_key = compared.eq(keys[0]) if len(keys) == 1 else exp.In(this=compared, expressions=keys)
            pairs.append((is_key, results[code]))
        if is_text and "" not in reader.keys:
            pairs.append((value.eq(self.text("")), results[reader.missing]))
        cuts = [self.key(cut, reader) for cut in reader.cuts or ()]
        at_most = (exp.LTE(this=value, expression=cut) for cut in cuts)  # a generator, because operators copy the tree
        pairs += [(within, results[k]) for k, within in enumerate(at_most, reader.first)]
        if cuts:  # only NULL fails all of these tests
            pairs.append((exp.GT(this=value, expression=cuts[-1]), results[reader.first + len(cuts)]))
        of_rest = reader.missing if cuts else reader.unseen if reader.cuts is None else reader.first
        while len(pairs) > 1 and pairs[-1][1] == results[of_rest]:  # the same result as ELSE
            del pairs[-1]
        if len(pairs) > 1 and pairs[0][1] == results[of_rest]:  # NULL fails all other tests, too
            del pairs[0]
        if table is None and reader.refuses_infinite and not reader.is_moment:
            pairs.insert(0, (self.is_infinite(value), None))
        rest = results[of_rest]
        cases = [(when, exp.null() if number is None else self.number(number)) for when, number in pairs]
        if all(isinstance(when, (exp.EQ, exp.In)) and when.this == value for when, _ in cases):
            by_key = [(key, number) for when, number in cases for key in when.expressions or [when.expression]]
            if len(by_key) <= 2 * len(cases):  # the shorter text
                return self.case(by_key, self.number(rest), of=value)
        return self.case(cases, self.number(rest))

    def is_infinite(self, value: Any) -> Any:
        """Return a condition that is true if a number is infinite."""
        greatest = self.number(np.finfo(float).max.item())
        if self.dialect not in _EXPONENT_MAKES_DOUBLE:
            greatest = self.cast(self.text("1.7976931348623157e308"), "double")
        return exp.Abs(this=value) > greatest

    def written(self, tree: Any) -> str:
        """Return an expression of sqlglot as SQL text, with CASE expressions on as few lines as possible."""
        if not isinstance(tree, exp.Case):
            return str(tree.sql(self.dialect))
        words = ["CASE" if tree.this is None else f"CASE {self.written(tree.this)}"]
        words += [f"WHEN {self.written(when.this)} THEN {self.written(when.args['true'])}" for when in tree.args["ifs"]]
        words += [f"ELSE {self.written(default)}"] if (default := tree.args.get("default")) else []
        return "\n    ".join(filled([*words, "END"], " "))

    def named(self, name: str) -> str:
        """Return a name in the quotation marks of the dialect."""
        return self.written(exp.to_identifier(name, quoted=True))

    def new(self, name: str) -> str:
        """Return an unused column name: ``name``, with a number appended if it is taken."""
        every = [name, *(f"{name}_{k}" for k in range(2, len(self.taken) + 3))]
        unused = next(candidate for candidate in every if candidate.casefold() not in self.taken)
        self.taken.add(unused.casefold())
        return unused

    def stage(self, new: Mapping[str, Any], carried: Iterable[str] | None = ()) -> list[Any]:
        """Add a sub-select that computes ``new`` columns from the previous stage, and return these columns.

        ``carried`` names the columns of the previous stage to keep; None keeps all.
        """
        texts = [f"{self.written(tree)} AS {self.named(name)}" for name, tree in new.items()]
        old = [] if carried is None else dict.fromkeys([*self.table_columns, *carried])
        texts = [*texts, "t.*"] if carried is None else [*map(self.written, map(self.column, old)), *texts]
        source = [f"bayesieve_{len(self.selects)}"] if self.selects else self.options.table.split(".")[::-1]
        select = ",\n  ".join(filled(texts, ", "))
        select = f"SELECT {select}\nFROM {self.written(_table(*source, quoted=True, alias='t'))}"
        # Without a LIMIT, MySQL and MariaDB compute a sub-select again for every use of its columns.
        self.selects.append(select + f" LIMIT {2**64 - 1}" * (self.dialect == "mysql"))
        return [self.column(name) for name in new]

    def whole(self) -> str:
        """Return the complete query."""
        labels, is_binary = self.plan.classes, len(self.plan.classes) == 2
        # Reserve the names of results first, so that helper columns with equal names get the appended numbers.
        chances, predicted = [self.new(f"p_{label}") for label in labels], self.new("predicted")
        scores = [self.new("score" if is_binary else "joint") for _ in labels[1:]]  # the reference class has score 0
        reasons = [self.new(f"reason_{k + 1}") for k in range(self.options.reasons)]
        points = [self.new("points")] if self.options.points else []
        results = self._flat_sums(scores[0], points) if self._is_flat else self._sums(scores, points, reasons)
        results = {**{name: self.column(name) for name in points}, **results}
        texts = [self.number(label) if type(label) in (int, float) else self.text(str(label)) for label in labels]
        if is_binary:
            self._two_classes(self.column(scores[0]), chances, predicted, texts, results)
        else:
            self._several_classes(scores, chances, predicted, texts, results)
        *before, query = self.selects
        once = "MATERIALIZED " * (self.dialect in ("postgres", "sqlite"))
        parts = [f"{self.named(f'bayesieve_{k}')} AS {once}(\n{select})" for k, select in enumerate(before, 1)]
        query = f"WITH {', '.join(parts)}\n{query}" if parts else query
        if self.options.view is None:
            return query
        return f"CREATE VIEW {self.written(_table(*self.options.view.split('.')[::-1], quoted=True))} AS\n{query}"

    def _two_classes(
        self, score: Any, chances: Sequence[str], predicted: str, texts: Sequence[Any], reasons: Mapping[str, Any]
    ) -> None:
        """Add the stage that computes probabilities, the predicted class and reasons from the log odds of the positive
        class.

        ``score`` is the column of the log odds; ``chances`` and ``predicted`` are the names of new columns; ``texts``
        are the class labels as literals, and ``reasons`` the expressions of further columns by name.
        """
        first, zero = self._reference, self.number(0.0)
        one, most, least = self.number(1.0), self.number(700.0), self.number(-700.0)
        # Clip the argument: in some engines EXP raises an error on overflow.
        odds = self.case([(score > most, most), (score < least, least)], score)
        inverse = self.case([(score > most, least), (score < least, most)], exp.Neg(this=score))
        shares = [one / exp.paren(one + exp.Exp(this=power)) for power in (odds, inverse)]
        ahead = (score >= zero, score < zero) if first else (score > zero, score <= zero)  # on ties, the first class
        chosen = self.case(zip(ahead, (texts[1 - first], texts[first]), strict=True))
        new = dict(zip((chances[first], chances[1 - first]), shares, strict=True))
        self.stage({**{name: new[name] for name in chances}, predicted: chosen, score.name: score, **reasons})

    def _several_classes(
        self,
        scores: Sequence[str],
        chances: Sequence[str],
        predicted: str,
        texts: Sequence[Any],
        reasons: Mapping[str, Any],
    ) -> None:
        """Add the stages that compute probabilities, the predicted class and reasons from the scores against the first
        class.

        ``scores`` are the names of the columns of scores; all other parameters are those of `_two_classes`.
        """
        columns, low = [self.number(0.0), *map(self.column, scores)], self.number(-700.0)
        greatest = self.extreme("GREATEST", columns, self.column(scores[-1]))
        top, *_ = self.stage({self.new("top"): greatest, **reasons}, scores)
        # Clip the argument: in some engines EXP raises an error on underflow.
        weights = {
            self.new("weight"): exp.Exp(this=self.case([(score - top < low, low)], score - top)) for score in columns
        }
        *columns_of_weights, _ = self.stage(
            {**weights, predicted: self.case(zip(columns, texts, strict=True), of=top)}, reasons
        )
        shares = {
            name: weight / self.total(columns_of_weights)
            for name, weight in zip(chances, columns_of_weights, strict=True)
        }
        self.stage({**shares, **{name: self.column(name) for name in (predicted, *reasons)}})

    @property
    def _is_flat(self) -> bool:
        """Whether the score is a sum of one contribution per column, without reasons, so that a shorter query is
        possible.
        """
        plan = self.plan
        single = all(term.readers == (k,) for k, term in enumerate(plan.terms)) and len(plan.readers) == len(plan.terms)
        return len(plan.classes) == 2 and single and not self.options.reasons

    def _flat_sums(self, score: str, points: Sequence[str]) -> dict[str, Any]:
        """Add the stages of a short query: values, then sums of one CASE per column. Return an empty dict, because
        results need no further expressions.

        ``score`` and ``points`` name the columns of the sums.
        """
        names, columns = dict[Any, str](), []
        for reader in self.plan.readers:
            values = self.values(reader)
            names |= {value: self.new(f"x{len(names) + 1}") for value in values if value not in names}
            columns.append([self.column(names[value]) for value in values])
        if names:
            self.stage({name: value for value, name in names.items()})
        infinite = [
            (self.is_infinite(values[0]), exp.null())
            for reader, values in zip(self.plan.readers, columns, strict=True)
            if reader.refuses_infinite and not reader.is_moment
        ]

        def flat_sum(start: float, tables: Sequence[np.ndarray], type_: str) -> Any:
            """Return the sum of ``start`` and one CASE per column, as an expression. ``tables`` holds the contributions
            of each column by code, shape (n_codes,), and ``type_`` is the type of the sum.
            """
            first = self.case(infinite, self.number(start)) if infinite else self.number(start)
            rows = zip(self.plan.readers, columns, tables, strict=True)
            terms = [self.code(reader, *values, table=table.tolist()) for reader, values, table in rows]
            return self.total([self.cast(first, type_), *terms])

        intercept, log_odds = self.plan.log_odds
        sums = {score: flat_sum(intercept, log_odds, "double")}
        if points:
            base_points, tables = self._points()
            sums |= {name: flat_sum(base_points, tables, "bigint") for name in points}
        self.stage(sums, carried=None if names else ())
        return {}

    def _points(self) -> tuple[int, list[np.ndarray]]:
        """Return the base of the points and, for each term, its whole points by code, shape (n_codes,) or (n_codes,
        n_codes).
        """
        scale = {name: getattr(self.options, name) for name in ("pdo", "base_score", "base_odds")}
        card = Points(self.plan.card, **scale)
        tables = [(card.points[term.feature.name], term.cell) for term in self.plan.terms]
        return card.base, [points if cell is None else points[cell] for points, cell in tables]

    @property
    def _reference(self) -> int:
        """Position of the class that scores are compared with: the negative one of two classes, otherwise the first."""
        return int(self.plan.card.side < 0)

    def _codes(self) -> list[Any]:
        """Add the stages of values and codes. Return, for each term, the column by which its table is looked up."""
        names, codes = dict[Any, str](), dict[str, Any]()
        for reader in self.plan.readers:
            values = self.values(reader)
            names |= {value: self.new(f"x{len(names) + 1}") for value in values if value not in names}
            codes[self.new("code")] = self.code(reader, *(self.column(names[value]) for value in values))
        self.stage({name: value for value, name in names.items()})
        columns, lines = self.stage(codes), []
        for term in self.plan.terms:
            first, *second = (columns[k] for k in term.readers)
            lines.append(first if term.cell is None else first * self.number(term.cell.shape[1]) + second[0])
        return lines

    def _sums(self, scores: Sequence[str], points: Sequence[str], reasons: Sequence[str]) -> dict[str, Any]:
        """Add the stages that compute scores, points and the ranks of reasons. Return the expressions of the texts of
        reasons by the name of their column.

        ``scores``, ``points`` and ``reasons`` are the names of the columns.
        """
        plan, codes, sums, first = self.plan, self._codes() if self.plan.terms else [], {}, self._reference
        others = [k for k in range(len(plan.classes)) if k != first]
        for k, name in zip(others, scores, strict=True):
            intercept = self.number(float(plan.card.intercept[k] - plan.card.intercept[first]))
            tables = [term.by_code[..., k] - term.by_code[..., first] for term in plan.terms]
            sums[name] = self.total([self.cast(intercept, "double"), *map(self.look_up, codes, tables)])
        if points:
            base, tables = self._points()
            shown = map(self.look_up, codes, tables)
            sums[points[0]] = self.total([self.cast(self.number(base), "bigint"), *shown])
        parts = plan.reason_parts(self.options.target_class, self.options.against) if reasons else {}
        by_term = {k: table for terms in parts.values() for k, table in terms}
        names = {k: self.new("part") for k in by_term}
        numbers = {names[k]: self.cast(self.look_up(codes[k], table), "double") for k, table in by_term.items()}
        self.stage({**sums, **numbers})
        keys = {}
        # Rank reasons by integers: contributions in units of the last decimal, combined with the position of the column
        # to break ties.
        for i, terms in enumerate(parts.values(), 1):
            units = self.total([self.column(names[k]) for k, _ in terms]) * self.number(10.0**DECIMALS) + self.number(
                0.5
            )
            keys[self.new("key")] = exp.Floor(this=units) * self.number(len(parts) + 1) + self.number(i)
        zero, columns = self.number(0.0), self.stage(keys, [*scores, *points]) if reasons else []
        left = columns
        for k, reason in enumerate(reasons):
            lowest = self.extreme("LEAST", [zero, *left], required=self.column(scores[0]))
            last, *_ = self.stage({reason: lowest}, [*scores, *points, *reasons[:k], *keys])
            left = [self.case([(column > last, column)], zero) for column in columns]
        texts = [self.text(plan.words.name(name)) for name in parts]
        return {name: self.case(zip(columns, texts, strict=True), of=self.column(name)) for name in reasons}


def filled(texts: Sequence[str], between: str) -> list[str]:
    """Join texts into lines of limited width, separated by ``between``."""
    lines: list[str] = []
    for text in texts:
        if lines and len(lines[-1].rpartition("\n")[2]) + len(between) + len(text) < _WIDTH:
            lines[-1] += between + text
        else:
            lines.append(text)
    return lines


def _in_groups(terms: Sequence[Any], join: Callable[[Sequence[Any]], Any]) -> Any:
    """Join terms in nested groups of 30 by the function ``join``, because SQL parsers recurse once for each term of a
    flat sum.
    """
    if len(terms) == 1:
        return terms[0]
    groups = [terms[first : first + 30] for first in range(0, len(terms), 30)]
    return _in_groups([join(group) if len(group) > 1 else group[0] for group in groups], join)
