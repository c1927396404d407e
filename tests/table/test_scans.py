"""The rows of every source are those of the table in memory, however they are cut."""

from __future__ import annotations

import datetime as dt
import gzip
import itertools
import pickle
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from polars.testing import assert_frame_equal

import bayesieve
from bayesieve.table import as_table, read_table
from bayesieve.table.parquet_files import common_type
from bayesieve.table.reading import read_header
from bayesieve.table.scans import Scan, read_rows
from bayesieve.table.values import canonical_text
from tests.limits import absent

DAY = dt.datetime(2024, 2, 29, 13, 5, 6, 789_000)
VALUES: dict[str, tuple[Any, list[Any]]] = {
    "small": (pl.Int8, [-128, 0, 127, None]),
    "whole": (pl.Int64, [2**62, -(2**53) - 1, 2**53 + 1, 0, None]),
    "unsigned": (pl.UInt64, [2**64 - 1, 0, 5]),
    "huge": (pl.Int128, [2**100, -(2**100), 3, None]),
    "^float$": (pl.Float64, [0.1, -0.0, 0.0, float("nan"), 1e300, None]),
    "single": (pl.Float32, [0.1, 3.5, float("nan"), None]),
    "decimal": (pl.Decimal(12, 3), [Decimal("1.125"), Decimal("-7.001"), None]),
    "true": (pl.Boolean, [True, False, None]),
    "*": (pl.String, ["a", "", " b ", "ß", "1", None]),
    "category": (pl.Categorical, ["x", "y", "z", None]),
    "enum": (pl.Enum(["low", "mid", "high"]), ["low", "high", None]),
    "date": (pl.Date, [DAY.date(), dt.date(1900, 1, 1), None]),
    "milli": (pl.Datetime("ms"), [DAY, None]),
    "nano": (pl.Datetime("ns"), [DAY, None]),
    "zone": (pl.Datetime("us", "Europe/Paris"), [DAY.replace(tzinfo=dt.UTC), None]),
    "duration": (pl.Duration("us"), [dt.timedelta(days=3, microseconds=1), dt.timedelta(-1), None]),
    "time": (pl.Time, [dt.time(1, 2, 3, 4), dt.time(23, 59), None]),
    "null": (pl.Null, [None]),
    "list": (pl.List(pl.Int64), [[1, 2], [3]]),
    "struct": (pl.Struct({"a": pl.Int64}), [{"a": 1}, {"a": 2}]),
    "bytes": (pl.Binary, [b"a", b"b"]),
}


def frames(max_rows: int = 40) -> st.SearchStrategy[pl.DataFrame]:
    schema = {name: dtype for name, (dtype, _) in VALUES.items()}
    row = st.fixed_dictionaries({name: st.sampled_from(values) for name, (_, values) in VALUES.items()})
    return st.lists(row, min_size=1, max_size=max_rows).map(lambda rows: pl.DataFrame(rows, schema=schema))


def assert_read_alike(source: Scan, whole: pl.DataFrame) -> None:
    """Kinds, types and values of every column in every block."""
    expected = as_table(whole)
    assert (source.names, source.n_rows) == (expected.names, whole.height)
    first = 0
    for block in source.blocks(block_rows=7):
        table, part = as_table(block), expected.take(slice(first, first + block.height))
        first += block.height
        assert (table.kinds(), table.types()) == (part.kinds(), part.types())
        for i in range(table.n_columns):
            if table.column(i).kind == "numeric":
                np.testing.assert_array_equal(table.column(i).numbers(), part.column(i).numbers())
            else:
                one, other = table.column(i).categories(), part.column(i).categories()
                assert one.values == other.values
                np.testing.assert_array_equal(one.codes, other.codes)
    assert first == whole.height


@pytest.mark.filterwarnings("ignore:Column .* is read as numbers")
@settings(max_examples=20, deadline=None)
@given(
    frame=frames(),
    cuts=st.lists(st.integers(0, 40), max_size=3),
    kind=st.sampled_from(["parquet", "arrow", "copy"]),
    group=st.integers(1, 30),
    block=st.integers(1, 50),
)
def test_types_and_cuts_make_no_difference(
    tmp_path_factory: pytest.TempPathFactory, frame: pl.DataFrame, cuts: list[int], kind: str, group: int, block: int
) -> None:
    folder = tmp_path_factory.mktemp("types")
    bounds = sorted({0, frame.height, *(min(cut, frame.height) for cut in cuts)})
    for i, (first, stop) in enumerate(itertools.pairwise(bounds)):
        # Every file has its own dictionary of categories.
        part = frame[first:stop].with_columns(pl.col("category").cast(pl.String).cast(pl.Categorical))
        if kind == "arrow":
            part.write_ipc(folder / f"{i}.arrow", record_batch_size=group)
        elif kind == "parquet":
            part.write_parquet(folder / f"{i}.parquet", row_group_size=group)
    scanned = bayesieve.scan(frame.lazy() if kind == "copy" else folder)
    source = pickle.loads(pickle.dumps(scanned))
    assert_read_alike(source, frame)
    blocks = list(source.blocks(["*", "^float$"], block))
    assert [part.height for part in blocks[:-1]] == [block] * (len(blocks) - 1)
    first = frame.height // 3
    rows = read_rows(source.slices(first, block), source.schema_of(["enum", "category"]))
    assert_frame_equal(rows, frame[first : first + block, ["enum", "category"]])


def table(n_rows: int = 1000) -> pl.DataFrame:
    random = np.random.default_rng(4)
    number = random.integers(0, 7, n_rows)
    return pl.DataFrame(
        {
            "^x.*$": pl.Series(number * 0.5).set(pl.Series(number == 2), float("nan")),
            "*": pl.Series(["a", "b'", None, "ü"])[(number % 4).tolist()],
            "zero": np.where(number % 2, 0.0, -0.0),
            "n": pl.Series(number).set(pl.Series(number == 1), None),
            "day": pl.Series(number.astype("datetime64[D]")),
            "moment": pl.Series(number.astype("datetime64[us]")),
            "right": number > 3,
            "class": random.choice(["no", "yes"], n_rows).tolist(),
        }
    )


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Without names that polars takes for patterns, and without NaN: pandas has no other missing number."""
    columns = [column.alias(f"c{i}") for i, column in enumerate(frame.get_columns())]
    return pl.DataFrame(columns).with_columns(pl.selectors.float().fill_nan(None))


def given_as(make: Callable[[pl.DataFrame, str], Any]) -> Callable[..., Scan]:
    return lambda frame, path, **options: bayesieve.scan(make(frame, path), **options)


ENGINES = {
    "polars": given_as(lambda frame, _: frame.lazy()),
    "DuckDB": given_as(lambda _, path: pytest.importorskip("duckdb").connect().read_parquet(path)),
    "file": given_as(lambda _, path: path),
    "memory": given_as(lambda frame, _: frame),
    "pandas": given_as(lambda frame, _: frame.to_pandas()),
}


@pytest.mark.parametrize("engine", ENGINES.values(), ids=[*ENGINES])
def test_every_engine_reads_alike(engine: Callable[..., Scan], tmp_path: Path) -> None:
    frame, path, copies = table(), str(tmp_path / "rows.parquet"), tmp_path / "copies"
    frame.write_parquet(path)
    seen: list[tuple[int, int]] = []
    source = engine(frame, path, folder=copies, progress=lambda *done: seen.append(done))
    assert (source.names, source.n_rows) == (tuple(frame.columns), 1000)
    assert source.is_copy == bool(seen) == copies.is_dir()
    assert seen[-1:] in ([], [(1000, source.n_bytes)])
    rows = pl.concat(source.blocks(block_rows=300))
    assert_frame_equal(plain(rows), plain(frame).cast(dict(plain(rows).schema)))
    assert rows.schema == source.schema
    for fewer in (source.select(["class", "*"]), engine(frame, path, columns=["class", "*"])):
        assert_frame_equal(pl.concat(fewer.blocks()), rows[["class", "*"]])
    sent = pickle.loads(pickle.dumps(source))
    assert_frame_equal(pl.concat(sent.blocks(["^x.*$"])), rows[["^x.*$"]])
    source.check_unchanged()
    del source
    assert not copies.is_dir() or not list(copies.iterdir())


def test_types_of_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    query = """
        SELECT i % 3 AS k, (i % 3)::HUGEINT AS h, (i % 3)::DECIMAL(9, 2) AS d, ('a' || i % 2)::ENUM('a0', 'a1') AS e,
            TIMESTAMPTZ '2024-01-01' + INTERVAL (i % 2) DAY AS z, TIME '12:00' AS t, NULL AS nothing,
            '101'::BIT AS bits, ('0000000' || i % 2 || '-0000-0000-0000-000000000000')::UUID AS u FROM range(100) r(i)
    """
    connection = duckdb.connect()
    source = bayesieve.scan(connection.sql(query))
    rows = pl.concat(source.blocks())
    assert rows.schema == source.schema
    assert rows["u"][1] == "00000001-0000-0000-0000-000000000000"
    with absent("pyarrow"):
        again = bayesieve.scan(connection.sql(query))
        assert_frame_equal(pl.concat(again.select(["e", "d"]).blocks()), rows[["e", "d"]])


def test_frames_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": pandas.Categorical([1.0, 2.5, 1.0]), 3: pandas.array([1, None, 2], dtype="Int64")})
    table = as_table(pl.concat(bayesieve.scan(frame).blocks(block_rows=2)))
    expected = as_table(frame.rename(columns=str))
    assert (table.names, table.kinds(), table.types()) == (expected.names, expected.kinds(), expected.types())
    texts = [list(map(canonical_text, known.column(0).categories().values)) for known in (table, expected)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pl.Series([1, 2]), pl.Series([0.5])),
        (pl.Series([None, None]), pl.Series(["a"])),
        (pl.Series([1], dtype=pl.Int8), pl.Series([2**40])),
        (pl.Series([-1], dtype=pl.Int8), pl.Series([2**64 - 1], dtype=pl.UInt64)),
        (pl.Series([3], dtype=pl.UInt8), pl.Series([-3], dtype=pl.Int8)),
        (pl.Series(["a"], dtype=pl.Categorical), pl.Series(["b"])),
        (pl.Series(["a"], dtype=pl.Enum(["a", "b"])), pl.Series(["c"], dtype=pl.Enum(["c"]))),
        (pl.Series([DAY.date()]), pl.Series([DAY])),
        (pl.Series([DAY], dtype=pl.Datetime("ms")), pl.Series([DAY], dtype=pl.Datetime("ns"))),
        (pl.Series([Decimal("1.5")]), pl.Series([2])),
        (pl.Series([Decimal("1.5")]), pl.Series([Decimal("1.55")])),
    ],
)
def test_types_of_files_that_go_together(tmp_path: Path, one: pl.Series, other: pl.Series) -> None:
    for columns in ((one, other), (other, one)):
        for i, column in enumerate(columns):
            pl.DataFrame({"x": column}).write_parquet(tmp_path / f"{i}.parquet")
        source = bayesieve.scan(tmp_path)
        rows = pl.concat(source.blocks())["x"]
        assert rows.dtype == source.schema["x"] == common_type(one.dtype, other.dtype)
        texts = [str(value) for column in columns for value in column.to_list()]
        if rows.dtype.is_float():
            assert rows.to_list() == [float(text) for text in texts]
        elif rows.dtype.is_integer() or rows.dtype == pl.String or isinstance(rows.dtype, pl.Categorical):
            assert rows.cast(pl.String).fill_null("None").to_list() == texts
        else:
            assert rows.null_count() == 0
            assert rows.dt.date().unique().to_list() == [DAY.date()]


def test_folders_make_columns(tmp_path: Path) -> None:
    for year in (2024, 2025):
        (tmp_path / f"year={year}" / "kind=a%2Fb").mkdir(parents=True)
        table(10).write_parquet(tmp_path / f"year={year}" / "kind=a%2Fb" / "part.parquet")
    rows = pl.concat(bayesieve.scan(tmp_path).blocks(["year", "kind", "n"]))
    assert rows.rows() == [(year, "a/b", n) for year in (2024, 2025) for n in table(10)["n"]]
    assert_frame_equal(pl.concat(bayesieve.scan(tmp_path).select(["year"]).blocks()), rows[["year"]])


@pytest.mark.parametrize("options", [{}, {"compression": "none", "version": "1.0"}, {"write_page_index": True}])
def test_footers_of_other_writers(tmp_path: Path, options: dict[str, Any]) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = arrow.table({"a": range(1000), "b": [[1, 2]] * 1000, "c": [{"x": None, "y": "é"}] * 1000})
    rows = rows.replace_schema_metadata({"note": "n" * 300})
    parquet.write_table(rows, tmp_path / "rows.parquet", row_group_size=64, **options)
    assert_frame_equal(pl.concat(bayesieve.scan(tmp_path).blocks()), pl.DataFrame(rows))


def test_slices_are_rows_of_files(tmp_path: Path) -> None:
    whole = table(1000)
    for i, (first, n_rows) in enumerate([(0, 400), (400, 0), (400, 1), (401, 599)]):
        whole[first : first + n_rows].write_parquet(tmp_path / f"{i}.parquet", row_group_size=150)
    source = bayesieve.scan(tmp_path)
    assert [(rows.file.path.stem, rows.first, rows.n_rows) for rows in source.slices(300, 150)] == [
        ("0", 300, 100), ("2", 0, 1), ("3", 0, 49)
    ]  # fmt: skip
    assert source.slices(1000, 5) == []
    for first, n_rows in [(0, 1000), (399, 3), (990, 100), (17, 0), (401, 1)]:
        assert_frame_equal(read_rows(source.slices(first, n_rows), source.schema), whole[first : first + n_rows])


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (
            lambda frame: pytest.importorskip("dask.dataframe").from_pandas(frame.to_pandas()),
            "A Dask .*frame.to_parquet",
        ),
        (lambda frame: pytest.importorskip("pyarrow.dataset").dataset(frame.to_arrow()), "A dataset .*write_dataset"),
    ],
)
def test_frames_of_other_engines_are_refused_with_the_line_that_writes_them(make: Any, line: str) -> None:
    with pytest.raises(TypeError, match=line):
        bayesieve.scan(make(table(10)))
    with pytest.raises(TypeError, match=line):
        bayesieve.SelectiveNB().fit(make(table(10)), "class")


WRITERS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "parquet": pl.DataFrame.write_parquet,
    "arrow": pl.DataFrame.write_ipc,
    "feather": pl.DataFrame.write_ipc_stream,  # read at once only
    "csv": pl.DataFrame.write_csv,
    "csv.gz": lambda frame, path: path.write_bytes(gzip.compress(frame.write_csv().encode())),
}


# polars cannot name files outside UTF-8: it reads them from an open file, which is closed with the query.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", ["t[1]*?", "t{,r}", "~", "s3:x", "a%20b", "x=1", "é\n", "'\"", "t\udcff"])
@pytest.mark.parametrize("ending", WRITERS)
def test_names_of_files_are_taken_literally(
    tmp_path: Path, name: str, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame, write = table()[["class", "n"]], WRITERS[ending]
    for plain in ("t", "t1*?", "tr", "mine"):
        write(frame if plain == "mine" else frame[:1], tmp_path / f"{plain}.{ending}")
    path = Path(f"mine.{ending}").rename(f"{name}.{ending}")
    assert read_table(path).equals(frame)
    assert read_header(path) == frame.columns
    if ending != "feather":
        source = bayesieve.scan(str(path))
        assert_frame_equal(pl.concat(source.blocks()), frame)


def test_the_texts_of_a_column_whose_name_is_a_pattern_have_a_length() -> None:
    names = ["^x.*$", "*", "plain"]
    source = bayesieve.scan(pl.DataFrame({name: ["ab", "abcd"] for name in names}))
    assert source.text_bytes == dict.fromkeys(names, 3.0)
