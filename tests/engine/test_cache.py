"""`Cache`: files and manifests that were edited, and two fits at once with one folder."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import warnings
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bayesieve
from bayesieve import CompressionAveraging, SelectiveNB, TableEncoder
from bayesieve.discretize import row_blocks, value_sums
from bayesieve.engine import Cache, files
from tests.classifier.test_scanned import claims, read_in_small_blocks, written
from tests.processes import CONTEXT

MANIFEST = "bayesieve-cache.json"


def table(seed: int = 0, n: int = 400) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n).round(2)
    frame = pl.DataFrame({"x": x, "z": rng.integers(0, 9, n), "town": rng.choice(list("abcdef"), n)})
    return frame, (x + rng.normal(size=n) > 0).astype(int)


class Counts(Cache):
    """How often codes are made."""

    n_made = 0

    def remembered(self, facts: Any, make: Any) -> Any:
        def counted() -> Any:
            self.n_made += 1
            return make()

        return super().remembered(facts, counted)


def numbers_in(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all numbers, texts and empty values of a JSON document."""
    if isinstance(part, (dict, list)):
        for key, value in part.items() if isinstance(part, dict) else enumerate(part):
            yield from numbers_in(value, (*path, key))
    else:
        yield path


def edited(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return not value
    return value + 1 if isinstance(value, (int, float)) else f"{value}x"


def test_no_edited_entry_of_a_manifest_is_believed(tmp_path: Path) -> None:
    X, y = table()
    expected = SelectiveNB(cache=tmp_path).fit(X, y).predict_proba(X)
    content = (tmp_path / MANIFEST).read_text()
    paths = list(numbers_in(json.loads(content)))
    assert len(paths) > 40
    for path in paths[:: max(1, len(paths) // 30)]:
        changed = json.loads(content)
        part = changed
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = edited(part[path[-1]])
        (tmp_path / MANIFEST).write_text(json.dumps(changed))
        engine = Counts(tmp_path)
        found = SelectiveNB(cache=engine).fit(X, y).predict_proba(X)
        assert engine.n_made == 1, path
        np.testing.assert_array_equal(found, expected)
        content = (tmp_path / MANIFEST).read_text()  # names other codes now


@pytest.mark.parametrize("which", ["manifest", "codes", "note"])
def test_no_damaged_byte_changes_a_model(which: str, tmp_path: Path) -> None:
    X, y = table(1)

    def fit() -> np.ndarray:
        return SelectiveNB(CompressionAveraging(exhaustive=False), cache=tmp_path).fit(X, y).predict_proba(X)

    expected = fit()
    rng = np.random.default_rng(0)
    for case in range(12):
        file = next(tmp_path.glob({"manifest": MANIFEST, "codes": "codes-*.bin", "note": "search-*.bin"}[which]))
        content = bytearray(file.read_bytes())
        at = int(rng.integers(len(content)))
        if case % 3 == 0:
            content[at] ^= 1 << int(rng.integers(8))
        elif case % 3 == 1:
            del content[at : at + int(rng.integers(1, 50))]
        else:
            content[at:at] = bytes(rng.integers(0, 256, 7).tolist())
        file.write_bytes(content)
        np.testing.assert_array_equal(fit(), expected, err_msg=f"{case}")


def test_a_note_under_another_name_is_not_used(tmp_path: Path) -> None:
    engine = Cache(tmp_path)
    TableEncoder().fit_transform_coded(*table(), engine=engine)
    engine.note("one", b"state")
    engine.note("other", b"more")
    one, other = engine._note_of("one"), engine._note_of("other")
    one.write_bytes(other.read_bytes())
    assert engine.noted("one") is None
    assert engine.noted("other") == b"more"


def test_files_changed_to_the_same_size_and_time_are_coded_again(tmp_path: Path) -> None:
    folder, path = tmp_path / "cache", tmp_path / "rows.csv"
    X, y = table(2)
    X.with_columns(y=y).write_csv(path)
    before = path.stat()
    SelectiveNB(cache=folder).fit(bayesieve.scan(path), "y")
    text = path.read_text().splitlines()
    path.write_text("\n".join([text[0], *reversed([line[:-1] + str(1 - int(line[-1])) for line in text[1:]])]) + "\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    found = SelectiveNB(cache=folder).fit(bayesieve.scan(path), "y").predict_proba(X)
    np.testing.assert_array_equal(found, SelectiveNB().fit(bayesieve.scan(path), "y").predict_proba(X))


@pytest.mark.parametrize(
    "options",
    [
        {"prior": "published"},
        {"pairs": 2},
        {"pairs": [("x", "z")]},
        {"numeric": "mdlp"},
        {"categorical": "values"},
        {"missing": "ignore"},
        {"kinds": {"z": "categorical"}},
    ],
)
def test_an_option_that_alters_levels_is_not_served_by_other_codes(options: dict[str, Any], tmp_path: Path) -> None:
    X, y = table(3)
    for changed in ({}, options, {}):
        engine = Counts(tmp_path)
        kept = TableEncoder(**changed).fit_transform_coded(X, y, engine=engine)
        plain = TableEncoder(**changed).fit_transform_coded(X, y)
        assert engine.n_made == 1
        np.testing.assert_array_equal(kept.codes, plain.codes)
        assert [level.to_json() for level in kept.levels or ()] == [level.to_json() for level in plain.levels or ()]


@pytest.mark.skipif(not hasattr(os, "symlink") or os.name != "posix", reason="no symbolic links")
def test_symbolic_links(tmp_path: Path) -> None:
    X, y = table()
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    SelectiveNB(cache=tmp_path / "link").fit(X, y)
    assert (tmp_path / "real" / MANIFEST).is_file()
    mine = tmp_path / "mine.txt"
    mine.write_text("precious")
    (tmp_path / "other").mkdir()
    for name in (MANIFEST, "rows-0123456789abcdef-0123456789abcdef.bin"):
        link = tmp_path / "other" / name
        link.symlink_to(mine)
        with pytest.raises(ValueError, match="holds other files than a cache of bayesieve"):
            SelectiveNB(cache=tmp_path / "other").fit(X, y)
        link.unlink()
    assert mine.read_text() == "precious"


def fit_and_wait(connection: Connection, place: str, number: int, source: str, folder: Path) -> None:
    """In a process: wait at a place until a word comes, then fit and send a digest of the model."""
    warnings.simplefilter("ignore")
    read_in_small_blocks(setattr)

    def wait() -> None:
        connection.send("now")
        connection.recv()

    def wait_at(owner: Any, name: str) -> None:
        calls, function = itertools.count(1), getattr(owner, name)

        def called(*arguments: Any, **options: Any) -> Any:
            if next(calls) == number:
                wait()
            return function(*arguments, **options)

        setattr(owner, name, called)

    if place in ("rows", "cells"):
        row_blocks._SECONDS_BETWEEN_NOTES = 10.0  # as in a real fit: none here
    if place == "start":
        wait()
    else:
        wait_at(*PLACES[place])
    connection.send(digest_of(fitted(source, str(folder))))


PLACES: dict[str, tuple[Any, str]] = {
    "rows": (value_sums, "count_values"),
    "cells": (value_sums, "count_cells"),
    "codes": (Cache, "_checksums"),
    "manifest": (files, "write_atomically"),
}


def fitted(source: str, folder: str | None) -> SelectiveNB:
    options: dict[str, Any] = {"encoder": TableEncoder(n_quantiles=100), "pairs": 0, "calibrate": False, "n_jobs": 1}
    model = SelectiveNB(CompressionAveraging(exhaustive=False), cache=folder, **options)
    return model.fit(bayesieve.scan(source), "paid").set_params(cache=None)


def digest_of(model: SelectiveNB) -> str:
    text = json.dumps([level.to_json() for level in model.encoder_.levels_])
    counts = b"".join(
        np.ascontiguousarray(count).tobytes() for count in [level.counts for level in model.encoder_.levels_]
    )
    return hashlib.sha256(text.encode() + counts + model.feature_weights_.tobytes()).hexdigest()


def process(place: str, number: int, source: str, folder: Path) -> tuple[Any, Connection]:
    """A process that waits at a place, and the connection to it."""
    ours, theirs = CONTEXT.Pipe()
    started = CONTEXT.Process(target=fit_and_wait, args=(theirs, place, number, source, folder), daemon=True)
    started.start()
    theirs.close()
    assert ours.recv() == "now"
    return started, ours


def answer(connection: Connection) -> str:
    assert connection.poll(300)
    digest: str = connection.recv()
    return digest


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    read_in_small_blocks(monkeypatch.setattr)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """Two tables in files, and the digests of their models."""
    frame, found = claims(1700).drop("weight", "agent"), []
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read_in_small_blocks(patch.setattr)
        for rows in (frame, frame.with_columns(age=pl.col("age").reverse())):
            source = written(rows, tmp_path_factory.mktemp("table"), 7)
            found.append((source, digest_of(fitted(source, None))))
    return found


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("places", "same"),
    [
        ((("start", 0), ("start", 0)), True),  # side by side
        ((("start", 0), ("start", 0)), False),
        ((("codes", 1), ("start", 0)), True),  # the second one runs while the first one stands
        ((("cells", 3), ("rows", 9)), True),  # the first one goes on while the second one stands
    ],
)
def test_two_fits_at_once_with_one_folder(
    places: Any, same: bool, sources: list[tuple[str, str]], tmp_path: Path
) -> None:
    folder = tmp_path / "cache"
    (first, one_model), (second, other_model) = sources[0], sources[0 if same else 1]
    (_, one), (_, other) = process(*places[0], first, folder), process(*places[1], second, folder)
    if places[0][0] == "start":
        for connection in (one, other):
            connection.send("go on")
        assert (answer(one), answer(other)) == (one_model, other_model)
    else:
        for connection, model in ((one, one_model), (other, other_model))[:: 1 if places[0][0] == "cells" else -1]:
            connection.send("go on")
            assert answer(connection) == model
    left = sorted(file.name[:6] for file in folder.iterdir())
    assert left.count("codes-") == left.count("bayesi") == 1
    assert "rows-" not in {name[:5] for name in left}
    for source, model in {first: one_model, second: other_model}.items():
        assert digest_of(fitted(source, str(folder))) == model  # whatever the folder holds now


@pytest.mark.skipif(os.name != "posix", reason="no SIGKILL")
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("place", "number"), [("cells", 3), ("manifest", 1)])
def test_a_killed_fit_frees_the_folder(place: str, number: int, sources: list[tuple[str, str]], tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    started, _ = process(place, number, sources[0][0], folder)
    assert digest_of(fitted(sources[1][0], str(folder))) == sources[1][1]  # the folder is in use
    started.kill()
    started.join()
    for source, model in sources:
        assert digest_of(fitted(source, str(folder))) == model
        left = sorted(file.name[:6] for file in folder.iterdir() if not file.name.startswith("."))
        assert left.count("codes-") == left.count("bayesi") == 1


def test_the_codes_of_a_fit_are_kept_while_others_begin(tmp_path: Path) -> None:
    """A fit that finds the folder in use makes its codes for itself; the next one of the first table finds them."""
    mine, others = table(4), table(5)

    class Between(Cache):
        def _keep(self, *arguments: Any) -> None:
            TableEncoder().fit_transform_coded(*others, engine=Cache(tmp_path))
            super()._keep(*arguments)

    kept = TableEncoder().fit_transform_coded(*mine, engine=Between(tmp_path))
    engine = Counts(tmp_path)
    again = TableEncoder().fit_transform_coded(*mine, engine=engine)
    assert engine.n_made == (0 if os.name == "posix" else 1)
    np.testing.assert_array_equal(kept.codes, again.codes)
    assert len(list(tmp_path.iterdir())) == 2
