"""Parquet files in pieces hold the rows of the whole table."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from polars.testing import assert_frame_equal

import bayesieve
from bayesieve.table.sources import base, column_files
from bayesieve.table.sources.column_files import row_groups


def table(n_rows: int, seed: int = 0) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "x": random.normal(size=n_rows),
            "^n$": random.integers(0, 5, n_rows),
            "*": random.choice(["a", "b", None], n_rows).tolist(),
            "class": random.choice(["no", "yes"], n_rows).tolist(),
            "w": random.uniform(size=n_rows),
        }
    )


@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(0, 300), max_size=5), group=st.integers(1, 120), block=st.integers(1, 400))
def test_rows_do_not_depend_on_cuts(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], group: int, block: int
) -> None:
    folder = tmp_path_factory.mktemp("cuts")
    whole = table(300)
    bounds = [0, *sorted(cuts), 300]
    for i, (first, stop) in enumerate(itertools.pairwise(bounds)):
        whole[first:stop].write_parquet(folder / f"{i}.parquet", row_group_size=group)
    source = pickle.loads(pickle.dumps(bayesieve.scan(folder)))
    assert (source.n_rows, source.names) == (300, tuple(whole.columns))
    blocks = list(source.blocks(["*", "^n$"], block))
    assert [part.height for part in blocks[:-1]] == [block] * (len(blocks) - 1)
    assert_frame_equal(pl.concat(blocks), whole[["*", "^n$"]])
    assert_frame_equal(pl.concat(piece.read() for piece in source.pieces), whole)
    for name in ("*", "^n$"):
        assert_frame_equal(pl.concat(source.select([name]).blocks()), whole[[name]])
    first = block * (1 + len(blocks) // 2)
    assert_frame_equal(pl.concat([whole[:0], *source.blocks(first_row=first)]), whole[first:])


def test_rows_left_out_may_be_whole_parts_of_a_piece(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(base, "_FEWEST_ROWS", 10)
    whole = table(300)
    whole.write_parquet(tmp_path / "rows.parquet")
    source = bayesieve.scan(tmp_path)
    for first in (0, 9, 10, 35, 299, 300):
        found = pl.concat([whole[:0], *source.blocks(block_rows=40, first_row=first, cells_ahead=1)])
        assert_frame_equal(found, whole[first:])


def test_folders_make_columns(tmp_path: Path) -> None:
    for year in (2024, 2025):
        (tmp_path / f"year={year}" / "kind=a%2Fb").mkdir(parents=True)
        table(10, year).write_parquet(tmp_path / f"year={year}" / "kind=a%2Fb" / "part.parquet")
    source = bayesieve.scan(tmp_path)
    rows = pl.concat(source.blocks(["year", "kind", "x"]))
    assert rows["year"].to_list() == [2024] * 10 + [2025] * 10
    assert set(rows["kind"]) == {"a/b"}
    assert_frame_equal(pl.concat(source.select(["year"]).blocks()), rows[["year"]])


@pytest.mark.parametrize("options", [{}, {"compression": "none", "version": "1.0"}, {"write_page_index": True}])
def test_footers_of_other_writers(tmp_path: Path, options: dict[str, Any]) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = arrow.table({"a": range(1000), "b": [[1, 2]] * 1000, "c": [{"x": None, "y": "é"}] * 1000})
    rows = rows.replace_schema_metadata({"note": "n" * 300})
    parquet.write_table(rows, tmp_path / "rows.parquet", row_group_size=64, **options)
    expected = parquet.read_metadata(tmp_path / "rows.parquet")
    groups = row_groups(tmp_path / "rows.parquet")
    assert len(groups) == expected.num_row_groups == 16
    for i, group in enumerate(groups):
        known = expected.row_group(i)
        assert (group.n_rows, group.n_unpacked) == (known.num_rows, known.total_byte_size)
        assert group.n_bytes == sum(known.column(j).total_compressed_size for j in range(known.num_columns))
    assert_frame_equal(pl.concat(bayesieve.scan(tmp_path).blocks()), pl.DataFrame(rows))


def test_large_row_groups_are_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_files, "BLOCK_ROWS", 50)
    whole = table(1000)
    whole.write_parquet(tmp_path / "rows.parquet", row_group_size=400)
    assert [piece.n_rows for piece in bayesieve.scan(tmp_path).pieces] == [400, 400, 200]
    monkeypatch.setattr(column_files, "_LARGEST", 2000)
    source = bayesieve.scan(tmp_path)
    assert max(piece.n_rows for piece in source.pieces) < 200
    assert source.n_bytes == sum(g.n_bytes for g in row_groups(tmp_path / "rows.parquet"))
    assert_frame_equal(pl.concat(source.blocks(block_rows=77)), whole)
