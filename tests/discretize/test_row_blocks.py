"""Counting by one rule on all engines: the same rows give the same levels and codes, in any order, blocks or files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bayesieve
from bayesieve import TableEncoder
from bayesieve.discretize import value_sums
from bayesieve.discretize.coding_options import CodingOptions
from bayesieve.discretize.value_counts import ClassOrder, ValueCounts
from bayesieve.discretize.value_sums import (
    BlockRows,
    CellCounts,
    Grid,
    NumberSketch,
    Room,
    RunningSum,
    TextSketch,
    add_values,
    count_values,
    most_frequent,
)
from bayesieve.engine import IN_MEMORY, Engine, Mapped
from bayesieve.evidence.terms import cells_of
from bayesieve.table import FeatureLevels, columns
from bayesieve.table.columns import column_of_series
from tests.limits import Limits, interrupted

LIMITS = {"exact_rows": 300, "most_numbers": 150, "most_categories": 40, "most_texts": 60}


def table(n_rows: int, seed: int) -> pl.DataFrame:
    """Numbers and texts of few and of very many values, spikes, gaps, and weights of whole numbers."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2 + seed % 2, n_rows)
    spike = np.where(rng.random(n_rows) < 0.2 + 0.1 * y, 1.5, rng.lognormal(0, 2, n_rows))
    return pl.DataFrame(
        {
            "normal": rng.normal(size=n_rows) + y,
            "spike": spike * rng.choice([-1.0, 1.0], n_rows),
            "far": 1e9 + np.exp(rng.normal(size=n_rows) * 4 + y),
            "zeros": rng.choice([0.0, -0.0, np.nan, 1e-300, 5e300, -7.0], n_rows),
            "few": rng.integers(0, 9, n_rows) + y,
            "short": pl.Series([f"t{i}" for i in rng.geometric(0.1, n_rows) + y]),
            "long": pl.Series([None if i % 9 == 1 else f"t{i}" for i in rng.zipf(1.3, n_rows) % 5000 + y]),
            "codes": rng.integers(0, 200, n_rows),
            "paid": y,
            "weight": rng.integers(0, 3, n_rows).astype(float),
        }
    )


def encoded(frame: pl.DataFrame, *known: Any, engine: Any = IN_MEMORY) -> tuple[list[str], np.ndarray, list[Any]]:
    encoder = TableEncoder(kinds={"codes": "categorical"}, n_quantiles=60)
    coded = encoder.fit_transform_coded(frame, *known, coding=CodingOptions(engine))
    levels = [repr(level.to_json()) for level in encoder.levels_]
    return levels, np.array(coded.codes), encoder.cautions_


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "weighted"), [(0, True), (1, False), (2, True)])
@pytest.mark.filterwarnings("ignore")
def test_engines_blocks_files_and_orders_give_the_same_levels(
    seed: int, weighted: bool, tmp_path: Path, limits: Limits
) -> None:
    limits(**LIMITS)
    frame = table(2000, seed)
    frame = frame if weighted else frame.drop("weight")

    def in_memory(frame: pl.DataFrame, engine: Any) -> Any:
        X = frame.drop("paid", "weight", strict=False)
        weights = frame["weight"].to_numpy() if weighted else None
        return encoded(X, frame["paid"], weights, engine=engine)

    levels, codes, cautions = in_memory(frame, IN_MEMORY)
    assert {caution.kind for caution in cautions} == {"many values", "quantiles"}
    engines = [Engine(700), Engine(512), Mapped(tmp_path, block_rows=600)]
    others = [in_memory(frame, engine) for engine in engines]
    for block_rows, group in ((90, 333), (777, 100)):
        limits(block_rows=block_rows)
        path = tmp_path / f"{group}.parquet"
        frame.write_parquet(path, row_group_size=group)
        others.append(encoded(bayesieve.scan(path), "paid", *(["weight"] if weighted else [])))
    for own_levels, own_codes, own_cautions in others:
        assert own_levels == levels
        np.testing.assert_array_equal(own_codes, codes)
        assert own_cautions == cautions
    order = np.random.default_rng(seed).permutation(frame.height)
    shuffled = in_memory(frame[order], Engine(300))
    assert shuffled[0] == levels
    np.testing.assert_array_equal(shuffled[1], codes[:, order])


@pytest.mark.parametrize("block_rows", [1000, 90])
def test_levels_refitted_on_all_rows_are_those_of_the_fit(block_rows: int, limits: Limits) -> None:
    limits(block_rows=block_rows)
    frame, weights = table(400, 0), np.random.default_rng(0).random(400)
    encoder = TableEncoder(pairs=[("normal", "short")])
    coded, refitter = encoder.fit_with_refitter(frame.drop("paid", "weight"), frame["paid"], weights)
    refitted, _ = refitter.refit(coded.rows, np.arange(400))
    np.testing.assert_array_equal(refitted.codes, coded.codes)
    for level, again in zip(coded.levels, refitted.levels, strict=True):
        assert repr(again.to_json()) == repr(level.to_json())  # sums of fractions, too, to the last bit


def test_an_interruption_says_what_was_interrupted(tmp_path: Path) -> None:
    table(200, 0).write_parquet(tmp_path / "rows.parquet")
    with interrupted(value_sums, "count_values"), pytest.raises(KeyboardInterrupt, match="still reading the rows"):
        TableEncoder(n_jobs=1).fit(bayesieve.scan(tmp_path / "rows.parquet"), "paid")


def counted(values: np.ndarray | list[Any], cuts: list[int], most: int) -> Any:
    """What the counts of blocks of a column come to."""
    room = Room(most, 1 << 40)
    running = RunningSum(add_values, room)
    series = pl.Series("x", values)
    for begin, end in zip([0, *cuts], [*cuts, len(values)], strict=True):
        rows = BlockRows(np.zeros(end - begin, np.uint8), 2, None)
        running.push(count_values(column_of_series("x", series[begin:end]), rows, room))
    total = running.total()
    return total.listed if isinstance(total, ValueCounts) else total


def arrays_of(total: Any) -> list[Any]:
    """Everything in counts or in a sketch."""
    if isinstance(total, ValueCounts):
        return [total.values, total.counts, total.missing]
    if isinstance(total, TextSketch):
        return [total.rows, total.distinct.smallest]
    return [total.cells.counts, total.cells.ends, total.distinct.smallest]


@pytest.mark.parametrize("most", [10, 5000])
def test_sums_over_blocks_are_those_of_all_rows(most: int) -> None:
    rng = np.random.default_rng(0)
    numbers, texts = np.round(rng.normal(size=4000), 2), [f"v{i}" for i in rng.zipf(1.4, 4000)]
    for values in (numbers, texts):
        whole = counted(values, [], most)
        for cuts in ([1, 2, 3], [1000, 1000, 2500], np.sort(rng.integers(0, 4000, 30)).tolist()):
            parts = counted(values, cuts, most)
            assert type(parts) is type(whole)
            for one, other in zip(arrays_of(parts), arrays_of(whole), strict=True):
                np.testing.assert_array_equal(one, other)
    assert isinstance(counted(numbers, [], most), NumberSketch if most == 10 else ValueCounts)
    assert isinstance(counted(texts, [], most), TextSketch if most == 10 else ValueCounts)


def test_distinct_values_are_estimated() -> None:
    rng = np.random.default_rng(1)
    for n in (50, 3000, 300_000):
        values = np.repeat(rng.normal(size=n), 2)
        assert abs(int(counted(values, [n // 3], 10).distinct) / n - 1) < (0.06 if n > 4096 else 1e-9)


def grid_of(values: np.ndarray, n_cells: int) -> tuple[Grid, np.ndarray]:
    """Cells of about as many rows, and how many distinct values each has."""
    grid = NumberSketch.of(values, np.zeros(0)).grid
    for _ in range(3):
        cuts = grid.quantiles(n_cells)
        grid = Grid(cuts, CellCounts.of(cuts, values, np.zeros(values.size, np.uint8), 1, np.zeros(0)))
        if not grid.is_too_full(n_cells):
            break
    assert grid.cuts.size < n_cells
    return grid, np.diff(np.searchsorted(np.unique(values), [-np.inf, *grid.cuts, np.inf]))


@pytest.mark.parametrize("n_cells", [2, 3, 100, 2000])
def test_cells_are_quantiles_whatever_the_distribution(n_cells: int) -> None:
    rng = np.random.default_rng(2)
    n = 50_000
    lognormal, far = rng.lognormal(0, 3, n), 1.7e15 + np.round(rng.random(n) * 1e9)
    for values in (rng.normal(size=n), -lognormal, far, np.append(lognormal, [1e308, -1e308])):
        grid, _ = grid_of(values, n_cells)
        assert grid.cells.counts[1:].sum() == values.size
        assert grid.cells.counts[1:].max() <= 16 * values.size / n_cells
    spiked = np.where(rng.random(n) < 0.3, 0.0, lognormal - 1.0)
    spiked[: n // 10] = 1.2345
    grid, n_values = grid_of(spiked, n_cells)
    if n_cells >= 2000:  # a frequent value among others gets a cell with hardly any others
        assert n_values[np.argsort(grid.cells.counts[1:, 0])[-2:]].max() <= 3


def test_the_fullest_buckets_hold_the_most_frequent_of_very_many_texts() -> None:
    rng = np.random.default_rng(3)
    texts = [*(f"often {i}" for i in rng.integers(0, 50, 20_000)), *(f"once {i}" for i in range(30_000))]
    sketch = counted(texts, [7000, 31_000], 1000)
    marks = sketch.fullest(100, Room(1000, 1 << 40))
    assert marks.sum() <= 100
    counts = ValueCounts.of_categories(
        column_of_series("x", pl.Series(texts)).categories(), ClassOrder.of(np.zeros(len(texts), np.uint8), 1, None)
    )
    assert set(most_frequent(counts, 50).values) == {f"often {i}" for i in range(50)}
    assert not np.setdiff1d(np.flatnonzero(TextSketch.of(most_frequent(counts, 50)).rows), np.flatnonzero(marks)).size


def test_of_as_many_rows_the_first_by_text_count() -> None:
    counts = ValueCounts(["a", "b", "c", "d"], np.array([[2, 0], [1, 2], [0, 2], [1, 1]]), np.zeros(2, int))
    assert most_frequent(counts, 2).values == ["a", "b"]
    assert most_frequent(counts, 4) is counts


def test_long_texts_are_counted_in_parts_and_have_room_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    texts = pl.Series("x", [None if i == 0 else f"{i:0300}" for i in rng.integers(0, 700, 3000)])
    classes, weights = rng.integers(0, 2, 3000).astype(np.uint8), rng.random(3000)
    column = column_of_series("x", texts)
    for known in (None, weights):
        rows = BlockRows(classes, 2, known)
        whole = count_values(column, rows, Room(1000, 300 * 700)).listed
        with monkeypatch.context() as patch:
            patch.setattr(columns, "_CHUNK_BYTES", 300 * 100)
            parts = count_values(column, rows, Room(1000, 300 * 700)).listed
            sketch = count_values(column, rows, Room(1000, 300 * 500))
            marks = sketch.fullest(1000, Room(1000, 300 * 500))
            marked = value_sums.count_marked(column, rows, marks).listed
        assert parts.values == whole.values
        np.testing.assert_allclose(parts.counts, whole.counts, rtol=1e-12)
        np.testing.assert_allclose(parts.missing, whole.missing, rtol=1e-12)
        assert isinstance(sketch, TextSketch)
        assert 450 <= len(marked.values) <= 550  # as many as there is room for
        frequent = dict(zip(whole.values, whole.counts, strict=True))
        for value, count in zip(marked.values, marked.counts, strict=True):
            np.testing.assert_allclose(count, frequent[value], rtol=1e-12)


def test_codes_and_cells_of_long_texts_are_the_same_in_parts(limits: Limits) -> None:
    rng = np.random.default_rng(5)
    texts = [None if i == 0 else f"{i % 20:0300}" for i in rng.integers(0, 700, 3000)]
    column, weights = column_of_series("x", pl.Series("x", texts)), rng.random(3000)
    level = FeatureLevels("x", "categorical", "text", None, (tuple(f"{i:0300}" for i in range(12)), (None, "other")), 1)
    codes, whole = level.code(column), [cells_of(level, column, weights, most) for most in (None, 6)]
    limits(chunk_bytes=300 * 100)
    assert len(column.in_chunks()) == 30
    np.testing.assert_array_equal(level.code(column), codes)
    for cells, most in zip(whole, (None, 6), strict=True):
        assert cells_of(level, column, weights, most).to_json() == cells.to_json()
    assert [cells.n_levels for cells in whole] == [14, 7]  # 6, and that of missing values


def test_hashes_of_texts_are_the_same_in_parts(limits: Limits) -> None:
    from bayesieve.counts import row_hashes

    texts = pl.Series(["", "a", None, "é" * 50, "", "b" * 200, "c", None])
    whole = row_hashes.text_hashes(texts)
    for n_bytes in (1, 60, 150):
        limits(joined_bytes=n_bytes)
        np.testing.assert_array_equal(row_hashes.text_hashes(texts), whole)
