"""Predictions of sources, block by block, are those of the rows in memory, bit for bit."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

import bayesieve
from bayesieve import SelectiveNB
from bayesieve.classifier import scored_files, scoring as module
from bayesieve.table.reading import read_table
from tests.cases import mostly_slow
from tests.classifier.mixed_data import fitted, frame, labels
from tests.classifier.processes import dies_at, exit_code
from tests.classifier.scoring import predict_to
from tests.limits import Limits, Watch, interrupted

pytestmark = pytest.mark.filterwarnings("ignore:Column")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The rows in three files, the second in several row groups, with a column that the model does not know."""
    rows = frame().with_columns(pl.int_range(pl.len()).alias("row"))
    for i, (first, stop) in enumerate([(0, 1), (1, 150), (150, rows.height)]):
        rows[first:stop].write_parquet(tmp_path / f"part{i}.parquet", row_group_size=40)
    return tmp_path


def test_sources_are_predicted_as_rows_in_memory(folder: Path) -> None:
    model, rows = fitted(), frame()
    for source in (str(folder / "*.parquet"), folder, bayesieve.scan(folder), rows.lazy(), bayesieve.scan(rows)):
        np.testing.assert_array_equal(model.predict_proba(source), model.predict_proba(rows))
        np.testing.assert_array_equal(model.predict(source), model.predict(rows))
    np.testing.assert_array_equal(model.predict_log_proba(rows.lazy()), model.predict_log_proba(rows))


def test_one_row_with_a_date_that_python_cannot_hold_is_predicted_as_among_others() -> None:
    rng = np.random.default_rng(0)
    days = rng.integers(18_000, 19_000, 300)
    rows = pl.DataFrame({"day": pl.Series(days).cast(pl.Int32).cast(pl.Date)})
    model = SelectiveNB().fit(rows, days > 18_500)
    far = pl.DataFrame({"day": pl.Series([2**31 - 5, 18_100]).cast(pl.Int32).cast(pl.Date)})
    np.testing.assert_array_equal(model.predict_proba(far[:1])[0], model.predict_proba(far)[0])


@pytest.mark.parametrize("name", ["out.parquet", "out.arrow", "out.csv"])
def test_files_become_a_file(folder: Path, name: str) -> None:
    model, rows = fitted(), frame()
    assert predict_to(model, folder / name, str(folder / "part*.parquet"), keep=["row"]) == rows.height
    read = {"out.parquet": pl.read_parquet, "out.arrow": pl.read_ipc, "out.csv": pl.read_csv}[name](folder / name)
    labels = model.classes_.tolist()
    assert read.columns == ["row", "prediction", *(f"P({label})" for label in labels)]
    assert read["row"].to_list() == list(range(rows.height))
    np.testing.assert_array_equal(read[:, 2:].to_numpy(), model.predict_proba(rows))
    assert read["prediction"].to_list() == model.predict(rows).tolist()
    predict_to(model, folder / "all.parquet", folder / "part0.parquet", keep="all")
    assert pl.read_parquet(folder / "all.parquet").columns[: rows.width + 1] == [*rows.columns, "row"]


def test_an_input_is_never_replaced_and_an_interrupt_leaves_nothing(folder: Path) -> None:
    before = sorted(os.listdir(folder))
    for source in (folder, str(folder / "*.parquet"), [folder / "part0.parquet", folder / "part1.parquet"]):
        with pytest.raises(ValueError, match=r"part1\.parquet is one of the files that are read"):
            predict_to(fitted(), folder / "part1.parquet", source)
    with pytest.raises(ValueError, match="There is no column 'colour'"):
        predict_to(fitted(), folder / "out.parquet", folder, keep=["colour"])
    with interrupted(scored_files.RowProgress, "__call__"), pytest.raises(KeyboardInterrupt):
        predict_to(fitted(), folder / "out.parquet", folder)
    assert sorted(os.listdir(folder)) == before


def test_values_never_seen_are_said_once(folder: Path) -> None:
    model, rows = fitted(), frame()
    text = next(name for name in model.selected_features_ if rows.schema[name] == pl.String)
    new = pl.concat([rows.with_columns(pl.lit("new").alias(text))] * 3)
    for source in (new.lazy(), new):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model.predict_proba(source)
        assert len([warning for warning in said if "600 rows" in str(warning.message)]) == 1, source


@pytest.mark.slow
def test_scans_are_taken_where_frames_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, y, model = frame(), labels(), fitted()
    table = rows.with_columns(kind=pl.Series(y))
    files = [tmp_path / f"{i}.parquet" for i in range(2)]
    for file, part in zip(files, (table[:90], table[90:]), strict=True):
        part.write_parquet(file)
    for source in (str(tmp_path / "*.parquet"), tmp_path, files, bayesieve.scan(tmp_path), table.lazy()):
        assert model.score(source, "kind") == pytest.approx(model.score(rows, y), rel=1e-12)
        assert model.explain(source).equals(model.explain(rows))
    reports = [
        model.report(tmp_path / "one.html", rows, y, cv=2),
        model.report(tmp_path / "two.html", files, "kind", cv=2),
    ]
    assert repr(reports[0]) == repr(reports[1]) != "None"
    drawn = module.draw_from_scan
    monkeypatch.setattr(module, "draw_from_scan", lambda *rows: drawn(*rows[:-1], 150))
    model.report(tmp_path / "two.html", files, "kind")
    page = (tmp_path / "two.html").read_text(encoding="utf-8")
    assert "150 rows drawn at random from 200" in page
    assert "5-fold" in page
    for source in (tmp_path, files, bayesieve.scan(tmp_path)):
        with pytest.raises(TypeError, match="with_predictions takes a dataframe or a query, got "):
            model.with_predictions(str(source) if source is tmp_path else source)


def test_names_that_are_patterns_to_polars_are_names(tmp_path: Path) -> None:
    names = {"visites": "*", "membre": "^v.*$", "bruit": "visites", "depuis": "^d$"}
    rows = frame()[[*names]].rename(names)
    model = SelectiveNB().fit(rows, labels())
    expected = model.predict_proba(rows)
    rows.write_parquet(tmp_path / "rows.parquet")
    np.testing.assert_array_equal(model.predict_proba(tmp_path / "rows.parquet"), expected)
    predict_to(model, tmp_path / "out.parquet", tmp_path / "rows.parquet", keep="all")
    whole, query = model.with_predictions(rows), model.with_predictions(rows.lazy()).collect()
    relation = model.with_predictions(pytest.importorskip("duckdb").from_arrow(rows.to_arrow()))
    for scored in (pl.read_parquet(tmp_path / "out.parquet"), whole, query, relation.pl()):
        np.testing.assert_allclose(scored[:, -3:].to_numpy(), expected, rtol=1e-12)
        assert scored.columns[:4] == rows.columns


@pytest.fixture
def by_year(tmp_path: Path) -> Path:
    """The same rows in files of two years, the first one without a compressed row group that fits the rest."""
    rows = frame().with_columns(pl.int_range(pl.len()).alias("row"))
    for year, (first, stop) in {"2024": (0, 120), "2025": (120, rows.height)}.items():
        (tmp_path / "claims" / f"year={year}").mkdir(parents=True)
        rows[first:stop].write_parquet(tmp_path / f"claims/year={year}/a.parquet", row_group_size=40)
    return tmp_path / "claims"


def test_folders_become_a_folder(by_year: Path, tmp_path: Path) -> None:
    model, scored = fitted(), tmp_path / "scored"
    assert predict_to(model, scored, by_year, keep=["row"]) == frame().height
    paths = [scored / f"year={year}" / "a.parquet" for year in (2024, 2025)]
    assert sorted(path for path in scored.rglob("*") if path.is_file()) == paths
    read = pl.concat([pl.read_parquet(path, hive_partitioning=False) for path in paths])
    np.testing.assert_array_equal(read[:, 2:].to_numpy(), model.predict_proba(frame()))
    assert read["row"].to_list() == list(range(frame().height))
    assert set(pl.concat(bayesieve.scan(scored).blocks(["year"]))["year"]) == {2024, 2025}
    rows = pl.read_parquet(by_year / "year=2025" / "a.parquet", hive_partitioning=False)
    infinite = pl.when(pl.col("row") == 130).then(float("inf")).otherwise("âge (années)").alias("âge (années)")
    rows.with_columns(infinite).write_parquet(by_year / "year=2025" / "a.parquet")
    with pytest.raises(ValueError, match=r"contains infinity \(first in row 130\)"):
        predict_to(model, scored, by_year)


def test_only_what_changed_is_predicted_again(by_year: Path, tmp_path: Path) -> None:
    model, scored = fitted(), tmp_path / "scored"
    first, second = (scored / f"year={year}" / "a.parquet" for year in (2024, 2025))

    def times() -> tuple[int, int]:
        predict_to(model, scored, by_year, keep=["row"])
        return first.stat().st_ino, second.stat().st_ino

    before = times()
    assert times() == before
    source = by_year / "year=2025" / "a.parquet"
    os.utime(source, ns=(0, source.stat().st_mtime_ns + 1))
    after = times()
    assert [new == old for new, old in zip(after, before, strict=True)] == [True, False]
    predict_to(model, scored, by_year)  # other columns
    assert pl.read_parquet(first).columns[0] == "prediction"
    other = clone(model).fit(frame(), labels(), 1 + np.arange(frame().height) / 1e4)  # of the same options and columns
    predict_to(other, scored, by_year)
    np.testing.assert_array_equal(pl.read_parquet(second)[:, 1:].to_numpy(), other.predict_proba(frame()[120:]))


@pytest.mark.parametrize("kind", ["text", "query", "frame", "groups"])
def test_folders_of_any_source(kind: str, by_year: Path, tmp_path: Path, limits: Limits) -> None:
    rows, model, scored = frame(), fitted(), tmp_path / "scored"
    names = ["part-00000.parquet"]
    source: object = rows if kind == "frame" else rows.lazy()
    if kind == "text":
        rows.write_csv(tmp_path / "rows.csv.gz", compression="gzip")
        source, names = str(tmp_path / "*.csv.gz"), ["rows.parquet"]
    if kind == "groups":  # a large file in parts
        limits(output_rows=80)
        rows.write_parquet(tmp_path / "rows.parquet", row_group_size=80)
        source, names = tmp_path / "rows.parquet", [f"rows-{i:05}.parquet" for i in range(3)]
    for _ in range(2):
        predict_to(model, scored, source)
        assert sorted(path.name for path in scored.iterdir()) == names
        read = pl.concat([pl.read_parquet(scored / name) for name in names])
        np.testing.assert_array_equal(read[:, 1:].to_numpy(), model.predict_proba(rows))


def test_tables_of_others_are_never_replaced(by_year: Path, tmp_path: Path) -> None:
    for folder in (by_year, tmp_path, by_year / "year=2024" / "scored"):
        with pytest.raises(ValueError, match="overlaps with the folder that is read"):
            predict_to(fitted(), folder, by_year)
    other = tmp_path / "scored" / "year=2024"
    other.mkdir(parents=True)
    for name in ("a.parquet", "b.parquet", "notes.txt"):
        frame().write_parquet(other / name)
        with pytest.raises(ValueError, match=rf"{name} is in the output folder.* pass an empty folder"):
            predict_to(fitted(), tmp_path / "scored", by_year)
        (other / name).unlink()
    with pytest.raises(ValueError, match="cannot be created"):
        predict_to(fitted(), by_year / "year=2024" / "a.parquet" / "scored", frame())
    with pytest.raises(ValueError, match="Column 'prediction' of the table has the name of a column of predictions"):
        predict_to(fitted(), tmp_path / "scored", frame().with_columns(prediction=1), keep="all")


def dies_while_scoring(model: Path, source: Path, target: Path) -> None:
    """Predictions that are killed after the fourth block of 50 rows."""
    blocks, dying = scored_files.PredictedRows.blocks, dies_at(4, lambda: None)

    def killed(*arguments: Any) -> Iterator[Any]:
        for block in blocks(*arguments):
            yield block
            dying()

    scored_files.PredictedRows.blocks, scored_files._BLOCK_ROWS = killed, 50  # type: ignore[method-assign]
    predict_to(bayesieve.load(model), target, source)


@pytest.mark.parametrize("name", mostly_slow(["scored", "scored.parquet"], ["scored"]))
def test_a_kill_leaves_whole_files_only(name: str, by_year: Path, tmp_path: Path) -> None:
    model, target = fitted(), tmp_path / "new" / name
    target.parent.mkdir()
    model.save(tmp_path / "model.json")
    assert exit_code(dies_while_scoring, tmp_path / "model.json", by_year, target) == -9
    left = [path for path in target.parent.rglob("*") if path.is_file() and not path.name.endswith(".tmp")]
    assert left == ([target / "year=2024" / "a.parquet"] if name == "scored" else [])
    finished = [path.stat().st_ino for path in left]
    predict_to(model, target, by_year)
    assert [path.stat().st_ino for path in left] == finished
    assert not list(target.parent.rglob("*.tmp"))
    read = pl.read_parquet(target, hive_partitioning=False)
    np.testing.assert_array_equal(read[:, 1:].to_numpy(), model.predict_proba(frame()))


def test_damage_and_change_leave_whole_files_only(
    by_year: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, source = tmp_path / "scored", by_year / "year=2025" / "a.parquet"
    content = source.read_bytes()
    source.write_bytes(content[:100] + b"x" * 2000 + content[2100:])
    with pytest.raises(ValueError, match=r"a\.parquet (is damaged|cannot be read)"):
        predict_to(fitted(), target, by_year)
    whole = [target / "year=2024" / "a.parquet"]
    assert [path for path in target.rglob("*") if path.is_file()] == whole
    source.write_bytes(content)
    scanned = bayesieve.scan(by_year)
    os.utime(source, ns=(0, 0))
    with pytest.raises(ValueError, match="has changed since it was scanned"):
        predict_to(fitted(), target, scanned)
    assert [path for path in target.rglob("*") if path.is_file()] == whole
    predict_to(fitted(), target, by_year)
    assert pl.read_parquet(target).height == frame().height


def scores_on_a_full_disk(folder: Path, source: Path) -> None:
    import resource

    model = bayesieve.load(folder / "model.json")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
    for name in ("scored/year=2024/a.parquet", "scored.parquet", "scored.csv", "scored.arrow"):
        target = folder / name.partition("/")[0]
        with pytest.raises(
            ValueError, match=r"cannot be written .*check the folder's permissions and free space"
        ) as error:
            predict_to(model, target, source)
        assert str(error.value).startswith(f"{folder / name} ")


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files")
def test_a_full_disk_leaves_nothing_half_written(by_year: Path, tmp_path: Path) -> None:
    fitted().save(tmp_path / "model.json")
    assert exit_code(scores_on_a_full_disk, tmp_path, by_year) == 0
    files = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {"claims", "model.json"}


def test_memory_limit_bounds_the_rows_at_a_time(folder: Path, watch: Watch, limits: Limits) -> None:
    model, rows, heights = fitted(), frame(), []
    watch(scored_files, "of_rows", lambda model, block: heights.append(block.height))
    limits(least_rows=7)
    predict_to(model, folder / "out.arrow", str(folder / "*.parquet"), memory_limit="512MiB")
    assert max(heights) == 7
    np.testing.assert_array_equal(pl.read_ipc(folder / "out.arrow")[:, 1:].to_numpy(), model.predict_proba(rows))
    with pytest.raises(ValueError, match="memory_limit must be"):
        predict_to(model, folder / "out.csv", folder / "part0.parquet", memory_limit="1MB")


@pytest.mark.parametrize("separator", [",", ";"])
def test_text_is_read_by_the_levels_of_the_model(separator: str, tmp_path: Path) -> None:
    codes = ["007", "7", "x", ""]
    rng = np.random.default_rng(0)
    which = rng.integers(0, 4, 400)
    rows = pl.DataFrame({"code": [codes[i] for i in which], "number": which + 0.5 * (rng.random(400) < 0.3)})
    model = SelectiveNB("all", calibrate=False).fit(rows, np.where(which % 3 == 0, "a", "b"))
    scored = pl.DataFrame({"code": ["007", "7", "007", "7"], "number": ["1.5", "2", "", "3"]})  # numbers all, here
    for i in range(2):
        text = scored[2 * i : 2 * i + 2].with_columns(
            pl.col("number").str.replace(r"\.", "," if separator == ";" else ".")
        )
        text.write_csv(tmp_path / f"{i}.csv", separator=separator)
    (tmp_path / "1.csv").write_text((tmp_path / "1.csv").read_text() + f"\n{separator}\n")
    levels = module.levels_of_columns(model)
    whole = pl.concat([read_table(tmp_path / f"{i}.csv", levels).cast(pl.String) for i in range(2)])
    assert whole.height == 5  # that of a separator is a row, the blank line is none
    expected = model.predict_proba(whole)
    np.testing.assert_array_equal(model.predict_proba(tmp_path), expected)
    assert predict_to(model, tmp_path / "out.parquet", tmp_path / "?.csv") == 5
    np.testing.assert_array_equal(pl.read_parquet(tmp_path / "out.parquet")[:, 1:].to_numpy(), expected)
