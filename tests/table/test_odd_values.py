"""Values and types that few tables have: none is lost, merged or left to another library's error."""

from __future__ import annotations

import datetime as dt
import fractions
import warnings
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from bayesieve import MAPSelector, SelectiveNB, TableEncoder
from bayesieve.table import as_table
from bayesieve.table.frames import take_rows
from bayesieve.table.values import canonical_text, count_moments, text_of_bytes
from tests.cases import mostly_slow

N = 40
Y = np.tile([0, 1], N // 2)
CYCLE = np.arange(N) % 4
LONG = [10**19 * 3 + int(i) for i in CYCLE]  # account numbers of 20 digits; all are one 64-bit float
EMPTY_AT = [None if i % 5 == 0 else "ab"[i % 2] for i in range(N)]


def _runs(values: list[Any]) -> pa.Array:
    ends = pa.array(np.linspace(0, N, len(values) + 1).astype(np.int32)[1:], pa.int32())
    return pa.RunEndEncodedArray.from_arrays(ends, pa.array(values))


def _far(unit: str, factor: int = 1) -> np.ndarray:
    return (np.int64(2**60) // factor + CYCLE).astype(f"datetime64[{unit}]")


LONG_NUMBERS: dict[str, Any] = {
    "polars Int128": pl.DataFrame({"a": pl.Series(LONG, dtype=pl.Int128)}),
    "polars Decimal": pl.DataFrame({"a": pl.Series([Decimal(i) for i in LONG], dtype=pl.Decimal(38, 0))}),
    "polars Object": pl.DataFrame({"a": pl.Series(LONG, dtype=pl.Object)}),
    "pandas objects": pd.DataFrame({"a": pd.Series(LONG, dtype=object)}),
    "pandas Decimals": pd.DataFrame({"a": [Decimal(i) for i in LONG]}),
    "pandas Arrow": pd.DataFrame({"a": pd.Series(map(Decimal, LONG), dtype=pd.ArrowDtype(pa.decimal128(38, 0)))}),
    "pyarrow Decimal": pa.table({"a": pa.array([Decimal(i) for i in LONG], pa.decimal256(60, 0))}),
    "rows": [[i, 1.5] for i in LONG],
}


@pytest.mark.parametrize("name", LONG_NUMBERS)
def test_whole_numbers_beyond_64_bits_stay_apart(name: str) -> None:
    table = as_table(LONG_NUMBERS[name])
    encoder = TableEncoder(kinds={table.names[0]: "categorical"}, categorical="values")
    codes = encoder.fit_transform(LONG_NUMBERS[name], Y)[:, 0]
    assert [group for (group,) in encoder.levels_[0].groups] == sorted(set(LONG))
    assert codes.tolist() == CYCLE.tolist()
    with pytest.warns(UserWarning, match=r"values are equal as 64-bit floats; .* kinds=\{'.*': 'categorical'\}"):
        table.column(0).numbers()


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
@pytest.mark.parametrize("n_columns", [1, 300])  # one series, or a matrix
def test_whole_numbers_that_share_a_float_are_not_silent(dtype: type, n_columns: int) -> None:
    X = np.repeat((2**62 + CYCLE).astype(dtype)[:, None], n_columns, axis=1)
    for table in (as_table(X), as_table(pd.DataFrame(X))):
        with pytest.warns(UserWarning, match="equal as 64-bit floats"):
            table.numbers(np.arange(n_columns))
        assert len(table.column(0).categories().values) == 4


def test_identifiers_of_equal_floats_are_not_warned_of_if_they_are_categories() -> None:
    X = pl.DataFrame({"a": 2**62 + CYCLE, "b": np.arange(N) % 7})
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        SelectiveNB(encoder=TableEncoder(kinds={"a": "categorical"})).fit(X, Y)
    assert not [str(warning.message) for warning in issued if "64-bit floats" in str(warning.message)]


@given(
    st.lists(st.decimals(allow_nan=False) | st.fractions() | st.integers() | st.floats(allow_nan=False), max_size=30)
)
def test_different_numbers_have_different_texts(numbers: list[Any]) -> None:
    texts: dict[str, Any] = {}
    for number in numbers:
        known = texts.setdefault(canonical_text(number), number)
        try:
            assert known == number
        except TypeError:  # a Decimal and a Fraction cannot be compared
            assert fractions.Fraction(known) == fractions.Fraction(number)


@given(st.floats(-(2.0**53), 2.0**53))
def test_a_decimal_is_the_float_that_it_was_written_as(number: float) -> None:
    assert canonical_text(Decimal(repr(number))) == canonical_text(number)


@given(
    st.sets(st.binary(max_size=6) | st.sampled_from([b"\\xff", b"\xff", b"\\\xff", b"\\\\xff", "é".encode(), b"\xe9"]))
)
def test_different_bytes_have_different_texts(values: set[bytes]) -> None:
    assert len({text_of_bytes(value) for value in values}) == len(values)


@given(st.text(max_size=9).filter(lambda text: "\\x" not in text))
def test_text_as_bytes_is_that_text(text: str) -> None:
    assert text_of_bytes(text.encode()) == text


@pytest.mark.parametrize("convert", [np.array, pl.DataFrame, pa.table], ids=["NumPy", "polars", "pyarrow"])
def test_bytes_that_are_not_utf8_stay_apart(convert: Any) -> None:
    texts = [bytes([200 + i]) for i in CYCLE]
    X = convert([[t] for t in texts]) if convert is np.array else convert({"a": pa.array(texts, pa.binary_view())})
    encoder = TableEncoder(categorical="values").fit(X, Y)
    assert encoder.levels_[0].groups == (("\\xc8",), ("\\xc9",), ("\\xca",), ("\\xcb",))
    assert encoder.transform(X)[:, 0].tolist() == CYCLE.tolist()


def test_rows_are_one_matrix_unless_booleans_stand_among_numbers() -> None:
    table = as_table([[True, 1.5], [False, 2.0], [True, 0.0]])
    assert table.types() == ["boolean", "number"]
    assert table.column(0).categories().values == [False, True]
    assert as_table([[True, 1], [1, 2]]).column(0).categories().values == [1, True]
    for rows in ([[1, 2.5], [3, 4]], [[np.float32(1), 2]], [[1e300, 2.0]], [[1, 2], [3, 4]]):
        assert type(as_table(rows)).__name__ == "MatrixTable"


@pytest.mark.parametrize("dtype", [float, np.float32, int, "U3", bool, "datetime64[D]", "timedelta64[s]", "S2"])
def test_a_mask_means_missing(dtype: Any) -> None:
    values = np.arange(2 * N).reshape(N, 2).astype(int).astype(dtype)
    mask = np.arange(2 * N).reshape(N, 2) % 3 == 0
    table, plain = as_table(np.ma.array(values, mask=mask)), as_table(values)
    assert table.types() == as_table(np.ma.array(values)).types() == plain.types()
    for i in range(2):
        np.testing.assert_array_equal(table.column(i).categories().codes < 0, mask[:, i])
        assert [table.column(i).value(row) is None for row in range(N)] == mask[:, i].tolist()


def test_a_mask_in_rows_and_weights() -> None:
    masked = np.ma.array([0.0, 1.0], mask=[True, False])
    assert np.isnan(as_table([masked, masked]).column(0).numbers()).all()
    with pytest.raises(ValueError, match="sample_weight contains NaN"):
        SelectiveNB().fit([[1.0], [2.0]], [0, 1], sample_weight=masked)


FAR_DATES = pa.array((5_000_000 + CYCLE).astype(np.int32)).cast(pa.date32())
RARE_TYPES: dict[str, Any] = {
    "string_view": pa.table({"a": pa.array(EMPTY_AT, pa.string_view())}),
    "runs of text": pa.table({"a": _runs(["a", None, "b"])}),
    "runs of numbers": pa.table({"a": _runs([1.5, None, 2.5, 3.5])}),
    "runs of dictionaries": pa.table(
        {"a": pa.RunEndEncodedArray.from_arrays(pa.array([N], pa.int32()), pa.array(["x"]).dictionary_encode())}
    ),
    "runs of far dates": pa.table(
        {"a": pa.RunEndEncodedArray.from_arrays(pa.array([N // 2, N], pa.int32()), FAR_DATES[:2])}
    ),
    "lists of views": pa.table({"a": pa.array([[text] for text in EMPTY_AT], pa.list_(pa.string_view()))}),
    "dictionary": pa.table({"a": pa.array(EMPTY_AT).dictionary_encode()}),
    "dictionary of dates": pa.table({"a": pa.array([dt.date(2020, 1, 1)] * N).dictionary_encode()}),
    "large": pa.table({"a": pa.array(EMPTY_AT, pa.large_string())}),
    "decimal": pa.table({"a": pa.array([Decimal(int(i)) for i in CYCLE], pa.decimal32(5, 0))}),
    "month_day_nano": pa.table({"a": pa.array([(1, int(i), 0) for i in CYCLE], pa.month_day_nano_interval())}),
    "pandas string_view": pd.DataFrame({"a": pd.Series(EMPTY_AT, dtype=pd.ArrowDtype(pa.string_view())), "b": CYCLE}),
    "pandas runs": pd.DataFrame(
        {"a": pd.Series(_runs(["x", "y"]), dtype=pd.ArrowDtype(pa.run_end_encoded(pa.int32(), pa.string())))}
    ),
    "polars Object": pl.DataFrame({"a": pl.Series([(int(i),) for i in CYCLE], dtype=pl.Object)}),
    "polars far dates": pl.DataFrame({"a": pl.Series(5_000_000 + CYCLE).cast(pl.Int32).cast(pl.Date)}),
    "polars early dates": pl.DataFrame({"a": pl.Series(-5_000_000 + CYCLE).cast(pl.Int32).cast(pl.Date)}),
    "polars far moments": pl.DataFrame(
        {"a": pl.Series(_far("us").astype(int)).cast(pl.Datetime("us", "Europe/Paris"))}
    ),
    "polars long durations": pl.DataFrame({"a": pl.Series(_far("us").astype(int)).cast(pl.Duration("us"))}),
    "pyarrow far dates": pa.table({"a": FAR_DATES}),
    "pyarrow far date64": pa.table({"a": pa.array(86_400_000 * (5_000_000 + CYCLE)).cast(pa.date64())}),
    "pyarrow far moments": pa.table({"a": pa.array(_far("us").astype(int)).cast(pa.timestamp("us"))}),
    "pyarrow long durations": pa.table({"a": pa.array(_far("us").astype(int)).cast(pa.duration("us"))}),
    "pandas far dates": pd.DataFrame({"a": pd.Series(FAR_DATES, dtype=pd.ArrowDtype(pa.date32()))}),
    "NumPy far moments": _far("us")[:, None],
    "last hour of 9999": np.array([[dt.datetime(9999, 12, 31, 23, tzinfo=dt.timezone(dt.timedelta(hours=-5)))]] * N),
    "NaN as Decimals": pd.DataFrame({"a": [*map(Decimal, ("NaN", "sNaN", "1", "2"))] * (N // 4)}),
    "fractions": np.array([[fractions.Fraction(int(i), 3)] for i in CYCLE], dtype=object),
    "long doubles": (1 + CYCLE * np.longdouble(2) ** -60)[:, None],
}


@pytest.mark.parametrize("name", RARE_TYPES)
@pytest.mark.parametrize("kind", [None, "categorical"])
def test_rare_types_are_fitted_taken_and_explained(name: str, kind: Any, capfd: pytest.CaptureFixture[str]) -> None:
    X, some = RARE_TYPES[name], np.array([3, 0, 7])
    table = as_table(X)
    kinds = {table.names[0]: kind} if kind else None
    model = SelectiveNB("map", encoder=TableEncoder(kinds=kinds, n_jobs=1), n_jobs=1).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(take_rows(X, some)), model.predict_proba(X)[some])
    assert as_table(take_rows(X, some)).types() == table.types()
    assert len(model.explain(take_rows(X, some))) >= 0
    every_value = TableEncoder(kinds=kinds, categorical="values", n_jobs=1).fit(X, Y).levels_[0]
    if kind == "categorical":
        known = [table.column(0).value(row) for row in range(N)]
        assert every_value.n_levels == len({None if value is None else str(value) for value in known})
    assert capfd.readouterr().err == ""


TOO_LARGE: dict[str, Any] = {
    "int": pd.DataFrame({"a": pd.Series([10**400 + int(i) for i in CYCLE], dtype=object)}),
    "timedelta": np.array([[dt.timedelta.max]] * N, dtype=object),
    "NumPy moments": _far("s")[:, None],
    "NumPy durations": _far("s")[:, None].astype(int).astype("timedelta64[s]"),
    "NumPy scalars": np.array([[moment] for moment in _far("s")], dtype=object),
    "years": np.full((N, 1), np.datetime64(2**60, "Y")),
    "pandas moments": pd.DataFrame({"a": _far("s", 2**16)}),
    "polars moments": pl.DataFrame({"a": pl.Series([None, *_far("ms").astype(int)[1:]]).cast(pl.Datetime("ms"))}),
    "polars durations": pl.DataFrame({"a": pl.Series(_far("ms").astype(int)).cast(pl.Duration("ms"))}),
    "pyarrow moments": pa.table({"a": pa.array(_far("s").astype(int)).cast(pa.timestamp("s"))}),
    "pyarrow durations": pa.table({"a": pa.array(_far("s").astype(int)).cast(pa.duration("s"))}),
    "polars lists": pl.DataFrame({"a": pl.Series([[10**7 + i] for i in CYCLE.tolist()]).cast(pl.List(pl.Date))}),
}


@pytest.mark.parametrize("name", TOO_LARGE)
@pytest.mark.parametrize("kind", [None, "categorical"])
def test_what_64_bits_cannot_count_is_refused(name: str, kind: str | None, capfd: pytest.CaptureFixture[str]) -> None:
    X = TOO_LARGE[name]
    encoder = TableEncoder(kinds={as_table(X).names[0]: kind} if kind else None, categorical="values")
    if kind == "categorical" and name in ("int", "timedelta", "NumPy scalars"):  # objects are their texts
        n_values = len({str(value) for value in np.asarray(X).ravel() if value == value})
        assert encoder.fit(X, Y).levels_[0].n_levels >= n_values
    else:
        with pytest.raises(
            ValueError, match=r"Column '\w+' holds values of type \w+ that are too large to read; replace"
        ):
            encoder.fit(X, Y)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("n_rows", [1, 2])
def test_durations_beyond_those_of_python_are_refused_in_any_number_of_rows(n_rows: int) -> None:
    X = pl.DataFrame({"a": pl.Series(np.arange(100) + 100 * (np.arange(100) % 2)).cast(pl.Duration("ms"))})
    model = SelectiveNB().fit(X, np.arange(100) % 2)
    rows = pl.DataFrame({"a": pl.Series([-(1 << 57)] * n_rows).cast(pl.Duration("ms"))})
    with pytest.raises(ValueError, match="Column 'a' holds values of type duration that are too large to read"):
        model.predict_proba(rows)


def test_values_that_cannot_be_read_are_one_sentence() -> None:
    class Rude:
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("no")

        def __str__(self) -> str:
            raise RuntimeError("no")

    X = np.array([[Rude()] for _ in range(N)], dtype=object)
    with pytest.raises(ValueError, match=r"Column '\w+' cannot be read \(.*\); convert it to numbers, dates or text"):
        TableEncoder().fit(X, Y)


@given(
    st.lists(st.integers(-(2**63) + 1, 2**63 - 1), min_size=1, max_size=5),
    st.sampled_from(["Y", "M", "W", "D", "h", "m", "s", "ms", "us"]),
)
def test_moments_are_counted_or_refused(counts: list[int], unit: str) -> None:
    moments = np.array(counts).astype(f"timedelta64[{unit}]")
    microseconds = int(np.timedelta64(1, unit).astype("timedelta64[us]").astype(int))  # type: ignore[arg-type]
    exact = [count * microseconds for count in counts]
    if max(map(abs, exact)) < 2**63:
        assert count_moments(moments, "us").tolist() == exact
    elif max(map(abs, exact)) > 2**64:
        with pytest.raises(OverflowError):
            count_moments(moments, "us")


@pytest.mark.parametrize("convert", [lambda f: f, lambda f: f.to_pandas(), lambda f: f.to_arrow()])
def test_names_that_are_patterns_elsewhere(convert: Any) -> None:
    """Polars and narwhals take the names * and ^...$ of columns for patterns."""
    last = pl.Series(EMPTY_AT, dtype=pl.Categorical)
    frame = pl.DataFrame({"*": CYCLE, "^a$": [str(i) for i in CYCLE], "a": Y, "^.*$": last})
    X, plain = convert(frame), convert(frame.rename(dict(zip(frame.columns, "pqrs", strict=True))))
    y = pl.Series("^y$", Y)
    np.testing.assert_array_equal(TableEncoder().fit(X, y).transform(X), TableEncoder().fit(plain, Y).transform(plain))
    selector = MAPSelector().fit(X, y)
    found, expected = (MAPSelector().fit(table, y).transform(table) for table in (X, plain))
    assert found.shape == expected.shape == (N, selector.support_.sum())
    SelectiveNB("map").fit(X, y).explain(X)


MIXED_OBJECTS: list[Any] = [
    np.datetime64("2020"), np.datetime64("2020-01-01T07", "h"), dt.datetime(2020, 1, 1, 7),
    dt.datetime(2020, 1, 1, 7, tzinfo=dt.timezone(dt.timedelta(hours=2))), pd.Timestamp("2020-05-01", tz="UTC"),
    dt.date(2020, 1, 1), dt.timedelta(days=1), np.timedelta64(1, "D"), np.timedelta64("NaT"), pd.Timedelta("36h"),
    pd.Timestamp(np.datetime64("-295547-01-01", "s")), pd.Timedelta(np.timedelta64(2**60, "ms")),
    dt.time(1), np.float16(0.1), np.float32(0.1), 0.1, Decimal("0.1"), fractions.Fraction(1, 3), 2, "2", 2.0, "2.0",
    Decimal(2), True, "True", 10**20, str(10**20), b"x", (1, 2), None, "2020-01-01", "1 day, 0:00:00", np.int8(3),
]  # fmt: skip


@pytest.mark.parametrize(
    ("library", "kind"),
    mostly_slow(
        product(["numpy", "pandas", "polars"], [None, "numeric", "categorical"]),
        [("numpy", None), ("pandas", None), ("polars", None), ("pandas", "numeric"), ("numpy", "categorical")],
    ),
)
def test_an_object_is_read_the_same_alone_and_among_others(library: str, kind: str | None) -> None:
    def table(values: list[Any]) -> Any:
        cells = np.empty((len(values), 1), dtype=object)
        cells[:, 0] = values
        if library == "polars":
            return pl.DataFrame({"x0": pl.Series(values, dtype=pl.Object)})
        return pd.DataFrame({"x0": cells[:, 0]}, dtype=object) if library == "pandas" else cells

    rng = np.random.default_rng(0)
    for _ in range(3):
        some = [MIXED_OBJECTS[i] for i in rng.integers(0, len(MIXED_OBJECTS), int(rng.integers(1, 4)))]
        encoder = TableEncoder(categorical="values", kinds={"x0": kind} if kind else None, n_jobs=1)
        try:
            encoder.fit(table(some * 20), [str(i % len(some)) + str(i // 20) for i in range(20 * len(some))])
        except ValueError:
            continue  # objects that are no numbers
        codes = np.asarray(encoder.transform(table(MIXED_OBJECTS)))
        alone = [np.asarray(encoder.transform(table([value])))[0].tolist() for value in MIXED_OBJECTS]
        assert codes.tolist() == alone, some


def test_tuples_in_lists_of_rows_are_values_whatever_their_lengths() -> None:
    values = [(), (1, 2), ("a",), (1, 2), ("a",), ()] * 10
    y = [len(value) > 1 for value in values]
    model = SelectiveNB().fit([[value] for value in values], y)
    whole = model.predict_proba([[value] for value in values])
    for value, expected in zip(values[:6], whole, strict=False):
        np.testing.assert_array_equal(model.predict_proba([[value]])[0], expected)
    assert np.all((whole[:, 1] > 0.5) == y)


def test_missing_values_among_many_lists_are_missing() -> None:
    """The same few objects in many rows are told apart by their addresses."""
    values = [[0], [], [1, 2], None, float("nan")]
    rng = np.random.default_rng(0)
    X = np.empty((20_001, 1), dtype=object)
    X[:, 0] = [values[i] for i in rng.integers(0, 5, len(X))]
    y = np.array([value is None or value != value for value in X[:, 0]])
    encoder = TableEncoder().fit(X, y)
    codes = encoder.transform_coded(X).codes[0]
    alone = [encoder.transform_coded(X[i : i + 1]).codes[0, 0] for i in range(30)]
    assert codes[:30].tolist() == alone
    assert encoder.levels_[0].missing_code is not None
