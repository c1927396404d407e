"""`Sql`: export to one query, or a view, in any dialect of sqlglot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from bayesieve.scorecard.direction import POINTS, REASONS
from bayesieve.scorecard.export.plan import Against, Plan
from bayesieve.scorecard.export.target import Export
from bayesieve.scorecard.record import Scorecard

TESTED = "bigquery, clickhouse, databricks, duckdb, mysql, oracle, postgres, redshift, snowflake, spark, sqlite, tsql"
_ALSO = {"mariadb": "mysql", "postgresql": "postgres", "sqlserver": "tsql"}


@dataclass(eq=False, repr=False)
class Sql(Export):
    """SQL query that scores the rows of a table.

    The result has the columns in ``keep``; ``p_<class>``, the probability of each class; ``predicted``, the most
    probable class, as a number or a text; for two classes ``score``, the log odds of the positive class in nats;
    ``points``, if requested; and ``reason_1`` to ``reason_<reasons>``, names of columns. If a name is taken, in upper
    or lower case, a number is appended: ``score_2``, or ``p_a_2`` after ``p_A``.

    Parameters
    ----------
    dialect : str, default="duckdb"
        Any dialect of sqlglot. Queries for DuckDB, SQLite, PostgreSQL and MariaDB (``"mariadb"`` or ``"mysql"``) are
        tested against ``predict_proba`` in these engines; those for BigQuery, ClickHouse, Databricks, Oracle, Redshift,
        Snowflake, Spark and SQL Server (``"tsql"``) are only parsed. SQLite must be version 3.35 or later with
        mathematical functions, SQL Server version 2022 or later.
    table : str, default="data"
        Name of the table, preceded by its schema and a dot if it has one. Names of tables and columns are quoted
        exactly as given: in Oracle and Snowflake, a table that was created as ``data`` is ``"DATA"``.
    view : str or None, default=None
        Name of a view to create; None for a query.
    reasons : int, default=0
        Number of reasons for a low score, the strongest first, as in `SelectiveNB.reasons`; NULL if a row has fewer.
    against : {"mean", "best"}, default="mean"
        Reference row of the reasons: the average training row, or the best value of each column.
    target_class : label or None, default=None
        Class that reasons speak against; None for the positive class of the model, which exists if there are two
        classes.
    keep : str, sequence of str or None, default=None
        Columns of the table to keep in the result, such as a key for joins. None: all columns that the model reads.
    points : bool, default=False
        Whether to add the column ``points``, whole points as in `SelectiveNB.points`, for models of two classes.
    pdo, base_score, base_odds : float, default=20, 600 and 30
        Scale of the points, see `SelectiveNB.points`.

    Raises
    ------
    ValueError
        If an option is invalid, or the dialect cannot express part of the model: columns with values of several types,
        durations except in DuckDB and PostgreSQL, times of day in dialects without such a type, names that differ only
        in case.

    Notes
    -----
    NULL and NaN are missing values. If a row contains an infinite number, all its new columns are NULL. Texts are
    compared exactly, except for surrounding blanks, whatever the collation of the column. A boolean may also be 0 or 1
    and, in DuckDB, MySQL, PostgreSQL and SQLite, a word such as true, yes or no. Dates and timestamps have no time zone
    and are in UTC. SQLite has no such types: it reads texts ``2021-03-01``, ``2021-03-01 12:00:00`` or
    ``2021-03-01T12:00:00``, and ``12:00:00``, all with up to six decimals of seconds. Categories that are whole numbers
    beyond 2**53 need an integer column.

    PostgreSQL, SQLite, MySQL and MariaDB score the whole table even if a query on the view selects one row, because
    they would otherwise recompute sums for each use. To score only a few rows, create a view of these rows and pass its
    name as ``table``.

    Examples
    --------
    >>> import polars as pl
    >>> from bayesieve import SelectiveNB
    >>> frame = pl.DataFrame({"id": range(40), "age": [20, 25, 40, 60] * 10})
    >>> model = SelectiveNB().fit(frame.drop("id"), ["no", "no", "yes", "yes"] * 10)
    >>> query = model.export(to="sql", dialect="postgres", table="shop.customers", view="scored", keep="id")
    >>> 'CREATE VIEW "scored"' in query
    True
    """

    name = "sql"
    suffixes: ClassVar[Mapping[str, Any]] = {".sql": {}}
    title = "a query or a view, in many dialects"

    dialect: str = "duckdb"
    table: str = "data"
    view: str | None = None
    reasons: int = 0
    against: Against = "mean"
    target_class: Any = None
    keep: str | Sequence[str] | None = None
    points: bool = False
    pdo: float = 20
    base_score: float = 600
    base_odds: float = 30

    def __post_init__(self) -> None:
        """Check the options. Raise ValueError if one is invalid."""
        from sqlglot import Dialects

        super().__post_init__()
        table, view, dialect = self.table, self.view, _ALSO.get(self.dialect, self.dialect)
        if dialect not in {one.value for one in Dialects}:
            raise ValueError(f"dialect must be a dialect of sqlglot, such as {TESTED}; got {dialect!r}.")
        if not all(isinstance(name, str) and all(name.split(".")) for name in (table, view or table)):
            raise ValueError(f"table and view must be names, or names with dots between them, got {table!r}, {view!r}.")
        self.dialect, self.keep = dialect, [self.keep] if isinstance(self.keep, str) else self.keep

    def results(self, card: Scorecard) -> Collection[str]:
        """Return which of ``"points"`` and ``"reasons"`` the query computes."""
        return [*[POINTS] * self.points, *[REASONS] * (self.reasons > 0)]

    def write(self, plan: Plan) -> str:
        """Return the query as text, preceded by facts about the model as comments."""
        from bayesieve.scorecard.export.sql_query import Query, filled

        sql = Query(plan, self).whole()
        facts, n = plan.facts(), len(plan.head)
        return "".join(f"-- {line}\n" for line in [*filled(facts[:n], "; "), *facts[n:]]) + sql + ";\n"
