"""`SelectiveNB(cache=FOLDER)`: the same model as in memory, codes used again, and folders that are not whole."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

import bayesieve
from bayesieve import (
    CFSSelector,
    CompressionAveraging,
    IndicatorEncoder,
    InformationGainSelector,
    MRMRSelector,
    SelectiveNB,
    TableEncoder,
    WrapperSelector,
)
from bayesieve.engine import Cache, InMemory, Mapped, files
from tests.classifier.processes import dies_at, exit_code

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = "bayesieve-cache.json"


@pytest.fixture(scope="module")
def german() -> tuple[pl.DataFrame, pl.Series]:
    table = pl.read_csv(ROOT / "examples/data/german_credit.csv")
    return table.drop("class"), table["class"]


@pytest.fixture(autouse=True)
def in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables, too, in files and in several blocks."""
    monkeypatch.setattr("bayesieve.engine.files._IN_MEMORY_BYTES", 0)


def saved(model: SelectiveNB, folder: Path) -> str:
    """The saved model without the seconds that its search took."""
    model.save(folder / "model.json")
    data = json.loads((folder / "model.json").read_text())
    del data["sha256"], data["search"]["seconds"], data["search"]["move_seconds"]
    return json.dumps(data, sort_keys=True)


SELECTORS: dict[str, Any] = {
    "compression": "compression",
    "map": "map",
    "all": "all",
    "exhaustive": CompressionAveraging(exhaustive=False, n_starts=3),
    "holdout": WrapperSelector("error_probability", direction="forward"),
    "loo": WrapperSelector("log_loss", direction="forward", evaluation="loo"),
    "folds": WrapperSelector("brier", direction="forward", evaluation=StratifiedKFold(4, shuffle=True, random_state=0)),
    "balanced": WrapperSelector("balanced_error", direction="fast", evaluation=3, recode=False),
    "information gain": InformationGainSelector(n_features_to_select="auto"),
    "mrmr": MRMRSelector(),
    "cfs": CFSSelector(),
    "indicators": "map",
}


@pytest.mark.parametrize("name", SELECTORS)
def test_the_same_saved_model(name: str, german: tuple[pl.DataFrame, pl.Series], tmp_path: Path) -> None:
    X, y = german
    weights = np.random.default_rng(0).integers(1, 4, y.len()) if name == "map" else None
    pairs: Any = "auto" if name == "all" else [("housing", "age"), ("purpose", "credit_amount")] if name == "map" else 0
    model = SelectiveNB(SELECTORS[name], pairs=pairs)
    if name == "indicators":
        X, model = X.select("age", "credit_amount"), SelectiveNB("map", encoder=IndicatorEncoder(4))
    expected = saved(clone(model).fit(X, y, weights), tmp_path)
    folder = tmp_path / "cache"
    for engine in (folder, folder, InMemory(512), Mapped(tmp_path, block_rows=512, resident_bytes=1)):
        fitted = clone(model).set_params(cache=engine).fit(X, y, weights)
        assert saved(fitted, tmp_path) == expected
        assert bayesieve.load(tmp_path / "model.json").cache is None
    notes = ["search"] if name in ("compression", "map", "exhaustive") else []  # of the search from several starts
    kept = ["bayesi", "codes-", *notes] if name != "indicators" else []
    assert [file.name[:6] for file in sorted(folder.iterdir())][: len(kept)] == kept


class CountsFits(Cache):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.n_coded = 0

    def remembered(self, facts: Any, make: Any) -> Any:
        def counted() -> Any:
            self.n_coded += 1
            return make()

        return super().remembered(facts, counted)


def test_codes_are_used_again_for_the_same_data_and_options_only(
    german: tuple[pl.DataFrame, pl.Series], tmp_path: Path
) -> None:
    X, y = german
    amount, weights = "credit_amount", np.ones(y.len())

    def n_coded(X: Any, y: Any, weights: Any = None, **options: Any) -> int:
        engine = CountsFits(tmp_path / "cache")
        coded = TableEncoder(**options).fit_transform_coded(X, y, weights, engine=engine)
        plain = TableEncoder(**options).fit_transform_coded(X, y, weights)
        np.testing.assert_array_equal(coded.codes, plain.codes)
        assert [level.to_json() for level in coded.levels or ()] == [level.to_json() for level in plain.levels or ()]
        return engine.n_coded

    assert n_coded(X, y) == 1
    assert n_coded(X, y) == 0
    assert n_coded(X, y, n_jobs=1) == 0
    assert n_coded(X.to_pandas(), y.to_pandas()) == 0
    changed = X.with_columns(pl.when(pl.int_range(pl.len()) == 7).then(9).otherwise(pl.col(amount)).alias(amount))
    for number, case in enumerate(
        [(changed, y), (X, y.reverse()), (X, y, weights), (X, y, weights * 2), (X.rename({amount: "sum"}), y)]
    ):
        assert n_coded(*case) == 1, number
        assert n_coded(*case) == 0, number
    assert n_coded(X, y, missing="ignore") == 1
    assert n_coded(X, y, categorical="values") == 1
    assert n_coded(X, y, kinds={amount: "categorical"}) == 1
    assert len(list((tmp_path / "cache").iterdir())) == 2  # earlier codes go


def cut(manifest: Path, codes: Path) -> None:
    codes.write_bytes(codes.read_bytes()[:-1])


def flip(manifest: Path, codes: Path) -> None:
    content = bytearray(codes.read_bytes())
    content[len(content) // 2] ^= 1
    codes.write_bytes(content)


def halve(manifest: Path, codes: Path) -> None:
    manifest.write_bytes(manifest.read_bytes()[:500])
    manifest.with_name(f".{MANIFEST}.0123abcdef45.tmp").write_text("{")  # of a fit killed while it wrote the manifest


def swap(manifest: Path, codes: Path) -> None:
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"levels": [1, 2]}))


def test_codes_used_again_know_which_columns_are_noise(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = pl.DataFrame({"constant": np.zeros(60), **{f"noise {k}": rng.integers(0, 2, 60) + 0.0 for k in range(200)}})
    fitted = [SelectiveNB(cache=tmp_path / "cache").fit(X, y) for _ in range(2)]
    levels = fitted[0].encoder_.levels_
    assert levels.doubtful.size > 0 < levels.n_constant
    assert saved(fitted[0], tmp_path) == saved(fitted[1], tmp_path)


DAMAGES = (cut, flip, halve, swap, lambda manifest, codes: codes.unlink(), lambda manifest, codes: manifest.unlink())


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_folder_that_is_not_whole_is_coded_again(
    damage: Any, german: tuple[pl.DataFrame, pl.Series], tmp_path: Path
) -> None:
    X, y = german
    expected = TableEncoder().fit_transform_coded(X, y, engine=Cache(tmp_path)).codes.copy()
    damage(tmp_path / MANIFEST, next(tmp_path.glob("codes-*.bin")))
    for n_coded in (1, 0):
        engine = CountsFits(tmp_path)
        np.testing.assert_array_equal(TableEncoder().fit_transform_coded(X, y, engine=engine).codes, expected)
        assert engine.n_coded == n_coded
    assert len([file for file in tmp_path.iterdir() if not file.name.startswith(".")]) == 2


def test_folders_that_are_refused(german: tuple[pl.DataFrame, pl.Series], tmp_path: Path) -> None:
    X, y = german
    (tmp_path / "mine.csv").write_text("a,b\n")
    with pytest.raises(ValueError, match=r"holds other files than a cache of bayesieve \(mine.csv\); give a new or an"):
        SelectiveNB(cache=tmp_path).fit(X, y)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.csv"]
    for path in (tmp_path / "mine.csv", tmp_path / "mine.csv" / "deeper"):
        with pytest.raises(ValueError, match="is not a folder; give a new or an empty folder as the cache"):
            SelectiveNB(cache=path).fit(X, y)
    with pytest.raises(TypeError, match="A path must be text"):
        SelectiveNB(cache=3).fit(X, y)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_rights(german: tuple[pl.DataFrame, pl.Series], tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ValueError, match="cannot be used as a cache \\(Permission denied\\)"):
        SelectiveNB(cache=tmp_path / "cache").fit(*german)


def test_a_full_disk_leaves_no_half_cache(
    german: tuple[pl.DataFrame, pl.Series], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bayesieve.engine.files.os.fsync", full)
    with pytest.raises(OSError, match="cannot be written \\(No space left on device\\); check its rights and space"):
        SelectiveNB(cache=tmp_path / "cache").fit(*german)
    assert list((tmp_path / "cache").iterdir()) == []


def noise() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    return X, X[:, 0] + rng.normal(size=3000) > 0


def dies_before(phase: str, folder: Path) -> None:
    """A fit that is killed before it writes the codes or the manifest, or searches."""
    files._IN_MEMORY_BYTES = 0
    owner, name = {"codes": (os, "fsync"), "manifest": (files, "write_atomically")}.get(phase, (SelectiveNB, "_learn"))
    setattr(owner, name, dies_at(1, getattr(owner, name)))
    SelectiveNB(cache=folder).fit(*noise())


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")
@pytest.mark.parametrize("phase", ["codes", "manifest", "search"])
def test_a_killed_fit_leaves_nothing_that_passes_for_whole(phase: str, tmp_path: Path) -> None:
    assert exit_code(dies_before, phase, tmp_path) == -9
    left = sorted({file.name[:6] for file in tmp_path.iterdir()} - {"search"})
    assert left == (["bayesi", "codes-"] if phase == "search" else ["codes-"])  # scratch files vanish
    (X, y), engine = noise(), CountsFits(tmp_path)
    model = SelectiveNB(cache=engine).fit(X, y)
    assert engine.n_coded == (0 if phase == "search" else 1)
    np.testing.assert_array_equal(model.predict_proba(X), SelectiveNB().fit(X, y).predict_proba(X))
    assert len([file for file in tmp_path.iterdir() if file.name[:6] != "search"]) == 2


def test_the_engine_on_disk_gives_the_model_in_memory(
    german: tuple[pl.DataFrame, pl.Series], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = german
    folders, make = set(), Mapped.map

    def noted(engine: Mapped, *arguments: Any, **options: Any) -> np.ndarray:
        folders.add(engine.folder)
        return make(engine, *arguments, **options)

    alone = SelectiveNB().fit(X, y)
    monkeypatch.setattr(Mapped, "map", noted)
    for cache in (None, tmp_path / "codes"):
        model = SelectiveNB(engine="disk", cache=cache).fit(X, y)
        assert saved(model, tmp_path) == saved(alone, tmp_path)
        assert folders == {cache or Path(tempfile.gettempdir())}
        assert bayesieve.load(tmp_path / "model.json").engine == "memory"  # where rows live is no part of a model
        folders.clear()
