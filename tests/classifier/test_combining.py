"""Merged and updated models: counts add up, and the model equals that of all rows together."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bayesieve
from bayesieve import IndicatorEncoder, SelectiveNB
from tests.cases import mostly_slow

N = 1500
CALIBRATIONS = ("auto", "levels", "weights", False)


@cache
def rows(n_classes: int = 2, n_rows: int = N, seed: int = 0, *, drift: bool = False) -> tuple[pl.DataFrame, np.ndarray]:
    """A mixed table with missing values and a pair that tells more than its columns."""
    rng = np.random.default_rng(seed)
    shares = np.linspace(1, 3 if drift else 1, n_classes)
    y = rng.choice(n_classes, n_rows, p=shares / shares.sum())
    side = rng.integers(0, 2, n_rows)
    frame = {
        "number": rng.normal(size=n_rows) + y,
        "curve": rng.normal(size=n_rows) * (1 + y),
        "holes": np.where(rng.random(n_rows) < 0.2, np.nan, rng.normal(size=n_rows) + 0.5 * y),
        "word": np.array(list("abcdefgh"))[(rng.integers(0, 6, n_rows) + y) % 8],
        "left": side,
        "right": np.where(rng.random(n_rows) < 0.9, side ^ (y % 2), side),
        "noise": rng.normal(size=n_rows),
    }
    words = pl.Series("word", frame["word"]).set(pl.Series(rng.random(n_rows) < 0.1), None)
    table = pl.DataFrame(frame).with_columns(word=words, left=pl.col("left").cast(str), right=pl.col("right").cast(str))
    return table.with_columns(pl.col("holes").fill_nan(None)), y


@cache
def sites(calibrate: Any = "auto", n_classes: int = 2) -> tuple[SelectiveNB, ...]:
    """Models of three sites, with the levels of the first."""
    (X, y), models = rows(n_classes), list[SelectiveNB]()
    for k in range(3):
        levels = models[0].scorecard_ if models else None
        models.append(SelectiveNB(calibrate=calibrate, levels=levels).fit(X[k::3], y[k::3]))
    return tuple(models)


each_kind = pytest.mark.parametrize(
    ("calibrate", "n_classes"),
    mostly_slow(product(CALIBRATIONS, [2, 3]), [("auto", 2), ("auto", 3), ("levels", 2), (False, 2)]),
)


def log_loss(model: SelectiveNB, X: pl.DataFrame, y: np.ndarray) -> float:
    return float(-np.log(model.predict_proba(X)[np.arange(y.size), y]).mean())


def counted(model: SelectiveNB, X: pl.DataFrame, y: np.ndarray, weights: Any = None) -> list[np.ndarray]:
    """Rows (or weight) by level and class, by brute force."""
    tables, own = [], np.ones(y.size) if weights is None else weights
    for feature, codes in zip(model.scorecard_.features, model.encoder_.transform_coded(X).codes, strict=True):
        table = np.zeros((feature.levels.n_levels + 1, model.classes_.size))
        np.add.at(table, (codes.astype(int), y), own)
        tables.append(table[:-1])
    return tables


@each_kind
def test_merged_counts_are_exact(calibrate: Any, n_classes: int) -> None:
    X, y = rows(n_classes)
    merged = bayesieve.merge(sites(calibrate, n_classes))
    assert merged.n_rows_ == N
    np.testing.assert_array_equal(merged.scorecard_.class_counts, np.bincount(y))
    for feature, table in zip(merged.scorecard_.features, counted(merged, X, y), strict=True):
        if feature.kind != "pair":
            np.testing.assert_array_equal(feature.levels.counts, table)
            sums = np.zeros_like(table)
            np.add.at(sums, feature.level_of_cell, feature.counts)
            np.testing.assert_allclose(sums, table, atol=1e-9)


@each_kind
def test_the_order_of_models_makes_no_difference_and_one_model_stays(calibrate: Any, n_classes: int) -> None:
    X, _ = rows(n_classes)
    models = sites(calibrate, n_classes)
    both = [bayesieve.merge(some) for some in (models, models[::-1])]
    np.testing.assert_allclose(*(model.predict_proba(X) for model in both), atol=1e-9)
    np.testing.assert_allclose(*(model.predict_interval(X) for model in both), atol=1e-9)
    alone = bayesieve.merge(models[:1])
    np.testing.assert_allclose(alone.predict_proba(X), models[0].predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(alone.predict_interval(X), models[0].predict_interval(X), atol=1e-12)


@pytest.mark.parametrize("calibrate", mostly_slow(CALIBRATIONS, ["auto", "levels"]))
def test_merged_evidence_is_near_that_of_all_rows(calibrate: Any) -> None:
    (X, y), new = rows(), rows(seed=1)
    models = sites(calibrate)
    whole = SelectiveNB(calibrate=calibrate, levels=models[0].scorecard_).fit(X, y)
    merged = log_loss(bayesieve.merge(models), *new)
    assert merged < log_loss(whole, *new) + 0.02
    assert merged < max(log_loss(model, *new) for model in models)


def test_merged_sites_of_different_class_shares_have_the_share_of_all_rows() -> None:
    X, y = rows()
    rng = np.random.default_rng(0)
    first = rng.random(N) < np.where(y == 1, 0.8, 0.2)
    here = SelectiveNB(pairs=0).fit(X.filter(first), y[first])
    there = SelectiveNB(pairs=0, levels=here.scorecard_).fit(X.filter(~first), y[~first])
    merged = bayesieve.merge([here, there])
    assert abs(merged.predict_proba(X)[:, 1].mean() - y.mean()) < 0.02
    np.testing.assert_allclose(merged.scorecard_.class_shares, np.bincount(y) / N)
    prior = bayesieve.merge([model.with_prior({1: 0.1}) for model in (here, there)])
    odds = np.diff(prior.scorecard_.joint(X) - merged.scorecard_.joint(X), axis=1)
    np.testing.assert_allclose(odds, np.log(1 / 9) - np.log(y.mean() / (1 - y.mean())))


def test_counted_evidence_of_merged_models_is_that_of_all_rows() -> None:
    X, y = rows()
    models = [SelectiveNB("all", calibrate=False, pairs=0).fit(X[::2], y[::2])]
    options = {"calibrate": False, "pairs": 0, "levels": models[0].scorecard_}
    models.append(SelectiveNB("all", **options).fit(X[1::2], y[1::2]))
    whole = SelectiveNB("all", **options).fit(X, y)
    np.testing.assert_allclose(bayesieve.merge(models).predict_proba(X), whole.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(
    ("calibrate", "how"),
    mostly_slow(
        product(CALIBRATIONS, ["merge", "update"]), [("auto", "merge"), ("levels", "update"), (False, "merge")]
    ),
)
def test_files_reports_and_explanations(calibrate: Any, how: str, tmp_path: Path) -> None:
    X, y = rows()
    models = sites(calibrate)
    made = bayesieve.merge(models) if how == "merge" else models[0].update(X[1::3], y[1::3])
    made.save(tmp_path / "model.json")
    loaded = bayesieve.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict_proba(X), made.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict_interval(X), made.predict_interval(X))
    notes = made.scorecard_.provenance["merged" if how == "merge" else "updated"]
    assert [note.rows for note in notes] == [N // 3] * (3 if how == "merge" else 1)
    assert loaded.scorecard_.provenance == made.scorecard_.provenance
    explained = made.scorecard_.explain(X[:20])
    np.testing.assert_allclose(explained.joint_log_proba(), made.scorecard_.joint(X[:20]))
    queried = made.with_predictions(X.lazy()).select(pl.col("^P\\(.*$")).collect()
    np.testing.assert_allclose(queried.to_numpy(), made.predict_proba(X), atol=1e-12)
    made.report(tmp_path / "report.html", X, y, held_out=True)
    again = loaded.update(X, y).scorecard_
    assert again.class_counts.sum() == made.n_rows_ + N
    assert bayesieve.merge([loaded, loaded]).n_rows_ == 2 * made.n_rows_


@each_kind
def test_updated_counts_are_exact(calibrate: Any, n_classes: int) -> None:
    X, y = rows(n_classes)
    old, weights = sites(calibrate, n_classes)[0], np.random.default_rng(0).uniform(0, 3, N)
    new = old.update(X, y, weights)
    np.testing.assert_allclose(new.scorecard_.class_counts, old.scorecard_.class_counts + np.bincount(y, weights))
    tables = counted(old, X, y, weights)
    for before, after, table in zip(old.scorecard_.features, new.scorecard_.features, tables, strict=True):
        np.testing.assert_allclose(after.levels.counts, before.levels.counts + table)
        cells, codes = np.zeros(after.counts.shape), after.level_of_cell
        np.add.at(cells, codes, after.counts)
        np.testing.assert_allclose(cells[: after.levels.n_levels], after.levels.counts)
        assert after.levels is not before.levels
    assert old.n_rows_ == N // 3
    assert new.n_rows_ == N // 3 + N


@pytest.mark.parametrize("calibrate", ["weights", False])
def test_counted_evidence_is_updated_as_if_all_rows_were_counted_together(calibrate: Any) -> None:
    X, y = rows()
    half = N // 2
    whole = SelectiveNB(calibrate=calibrate).fit(X, y)
    once = SelectiveNB(calibrate=calibrate).fit(X[:half], y[:half])
    by_hand = once.scorecard_
    updated = once.update(X[half:], y[half:])
    joint = np.log(np.bincount(y) / N) + np.zeros((N, 2))
    coded = updated.encoder_.transform_coded(X)
    total = float(N)
    from bayesieve.counts.contingency import log_probabilities_of_tables

    for k, feature in enumerate(by_hand.features):
        table = updated.scorecard_.features[k].levels.counts
        logs = log_probabilities_of_tables([np.asarray(table)], float(np.asarray(table).sum()), updated.smoothing_)[0]
        lines = np.concatenate([logs, np.zeros((1, 2))])
        known = coded.codes[k] < len(logs)
        joint += feature.weight * lines[np.minimum(coded.codes[k], len(logs))] * known[:, None]
    expected = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(updated.predict_proba(X), expected, atol=1e-9)
    assert total == updated.n_rows_ == whole.n_rows_


@pytest.mark.parametrize(("n_classes", "drift"), mostly_slow(product([2, 3], [False, True]), [(2, True)]))
def test_updates_month_by_month_come_close_to_a_fit_of_all_rows(n_classes: int, drift: bool) -> None:
    months = [rows(n_classes, 400, seed, drift=drift and seed > 2) for seed in range(6)]
    new = rows(n_classes, 4000, 99, drift=drift)
    model = old = SelectiveNB().fit(*months[0])
    for X, y in months[1:]:
        model = model.update(X, y)
    X, y = pl.concat([X for X, _ in months]), np.concatenate([y for _, y in months])
    whole = SelectiveNB(levels=old.scorecard_).fit(X, y)
    before, after, best = (log_loss(one, *new) for one in (old, model, whole))
    assert after < before
    assert after - best < max(0.65 * (before - best), 0.01)
    errors = [one.scorecard_["number"].standard_errors.mean() for one in (old, model)]
    assert errors[1] < errors[0]


@pytest.mark.parametrize(("drift", "most"), [(False, 0.005), (True, 0.015)])
def test_an_update_with_many_rows_predicts_their_class_shares(drift: bool, most: float) -> None:
    X, y = rows(2, 3000, 6, drift=drift)
    old = SelectiveNB(pairs=0).fit(*rows(2, 200, 5))
    new = old.update(X, y)
    whole = SelectiveNB(pairs=0, levels=old.scorecard_).fit(X, y)
    assert abs(new.predict_proba(X)[:, 1].mean() - y.mean()) < most
    assert log_loss(new, X, y) < log_loss(whole, X, y) + 0.002 < log_loss(old, X, y)


def test_rows_of_next_to_no_weight_leave_a_model_as_it_is() -> None:
    X, y = rows()
    old = sites()[0]
    np.testing.assert_allclose(
        old.update(X[:5], y[:5], np.full(5, 1e-9)).predict_proba(X), old.predict_proba(X), atol=1e-6
    )


def test_monotone_evidence_stays_monotone() -> None:
    X, y = rows()
    models = [SelectiveNB(monotone={"number": 1}).fit(X[::2], y[::2])]
    models.append(SelectiveNB(monotone={"number": 1}, levels=models[0].scorecard_).fit(X[1::2], y[1::2]))
    for made in (bayesieve.merge(models), models[0].update(X[1::2], y[1::2])):
        feature = made.scorecard_["number"]
        assert feature.sign == 1
        assert (np.diff(feature.contributions[feature.cells.n_special_levels :, 1]) >= -1e-12).all()


def test_indicators(tmp_path: Path) -> None:
    X, y = rows()
    X = X.select("number", "holes")
    model = SelectiveNB(encoder=IndicatorEncoder({"number": [0.0, 0.5, 1.0], "holes": 3})).fit(X[::2], y[::2])
    new = model.update(X[1::2], y[1::2])
    for feature, table in zip(new.scorecard_.features, counted(new, X, y), strict=True):
        if feature.kind != "pair":
            np.testing.assert_array_equal(feature.levels.counts, table)
    merged = bayesieve.merge([model, new])
    for made in (new, merged):
        made.save(tmp_path / "model.json")
        np.testing.assert_array_equal(bayesieve.load(tmp_path / "model.json").predict_proba(X), made.predict_proba(X))


def test_unseen_values_stay_unseen_and_pairs_count_the_cells_that_they_know() -> None:
    X, y = rows()
    old = sites()[0]
    other = X.with_columns(word=pl.lit("new"), right=pl.lit("never"))
    new = old.update(other, y)
    for before, after in zip(old.scorecard_.features, new.scorecard_.features, strict=True):
        if {"word", "right"} & set(before.columns):
            np.testing.assert_array_equal(after.counts, before.counts)


def test_rows_of_other_kinds_of_tables() -> None:
    X, y = rows()
    old = sites()[0]
    expected = old.update(X, y).predict_proba(X)
    np.testing.assert_array_equal(old.update(X.to_pandas(), y).predict_proba(X), expected)
    np.testing.assert_array_equal(old.update(X.with_columns(y=y), "y").predict_proba(X), expected)


def test_errors() -> None:
    X, y = rows()
    first = sites()[0]
    with pytest.raises(ValueError, match=r"'number' into other levels .* SelectiveNB\(levels=first.scorecard_\)"):
        bayesieve.merge([first, SelectiveNB(calibrate=False).fit(X[1::3], y[1::3])])
    with pytest.raises(ValueError, match="Model 2 has the classes"):
        bayesieve.merge([first, SelectiveNB(calibrate=False).fit(X, np.where(y == 1, "yes", "no"))])
    with pytest.raises(ValueError, match="differ in the columns 'noise'"):
        bayesieve.merge([first, SelectiveNB(calibrate=False).fit(X.drop("noise"), y)])
    for models in ([], [first, "model"]):
        with pytest.raises(ValueError, match="merge needs a list of fitted SelectiveNB models"):
            bayesieve.merge(models)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="y contains the label 7, which is not a class of the model"):
        first.update(X, y + 7 * (y == 1) - (y == 1))
    with pytest.raises(ValueError, match="rows but y has"):
        first.update(X, y[1:])


def test_files_merge_as_the_models_in_memory(tmp_path: Path) -> None:
    """Each site uses another column, whose values the file of the other withholds."""
    rng = np.random.default_rng(8)
    n, town, job = 1600, rng.choice(list("abcdef"), 1600), rng.choice(list("uvwx"), 1600)
    first = np.arange(n) < n // 2
    z = 1.5 * np.where(first, np.isin(town, ["a", "b", "c"]), np.isin(job, ["u", "v"])) - 0.7 + rng.logistic(size=n)
    X, y = pl.DataFrame({"town": town, "job": job, "other": rng.choice(list("gh"), n)}), (z > 0).astype(int)
    here = SelectiveNB(pairs=0).fit(X.filter(first), y[first])
    there = SelectiveNB(pairs=0, levels=here.scorecard_).fit(X.filter(~first), y[~first])
    assert (here.selected_features_, there.selected_features_) == (["town"], ["job"])
    loaded = []
    for k, model in enumerate((here, there)):
        model.save(tmp_path / f"{k}.json")
        loaded.append(bayesieve.load(tmp_path / f"{k}.json"))
    expected, merged = bayesieve.merge([here, there]), bayesieve.merge(loaded)
    np.testing.assert_array_equal(merged.predict_proba(X), expected.predict_proba(X))
    for name in ("town", "job"):
        np.testing.assert_array_equal(merged.scorecard_[name].counts, expected.scorecard_[name].counts)
    merged.save(tmp_path / "both.json")
    np.testing.assert_array_equal(bayesieve.load(tmp_path / "both.json").predict_proba(X), expected.predict_proba(X))


def test_withheld_categories_that_differ_are_refused_only_if_used(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    number, word = rng.normal(size=800), rng.choice(list("abc"), 800)
    y = (number + rng.logistic(size=800) > 0).astype(int)

    def of_file(words: Any, classes: np.ndarray, uses_word: bool) -> SelectiveNB:
        model = SelectiveNB(pairs=0, levels={"number": {"cuts": [0.0], "include": True}})
        model.fit(pl.DataFrame({"number": number, "word": words}), classes).save(tmp_path / "model.json")
        assert ("word" in model.selected_features_) == uses_word
        return bayesieve.load(tmp_path / "model.json")

    first, other = of_file(word, y, False), of_file(np.char.add(word, "x"), y, False)
    whole = bayesieve.merge([first, other]).scorecard_["word"]
    assert whole.counts.tolist() == [(2.0 * np.bincount(y)).tolist()]  # a single level
    depends = ((word == "a") + 0.2 * rng.logistic(size=800) > 0.5).astype(int)
    for words, classes in ((word, depends), (np.where(depends, 5, rng.integers(0, 9, 800)), depends)):
        used = of_file(words, classes, True)
        for models in ([first, used], [used, first]):
            with pytest.raises(
                ValueError, match="'word' is used by one of the models, but the file of another does not"
            ):
                bayesieve.merge(models)


def test_files_withhold_the_categories_of_unused_pairs_and_merge_without_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pl.DataFrame({"number": rng.normal(size=800)} | {name: rng.choice(["secret", "dark"], 800) for name in "uv"})
    y = (X["number"] + rng.logistic(size=800) > 0).cast(int)
    model = SelectiveNB(pairs=[["u", "v"]]).fit(X, y)
    assert model.selected_features_ == ["number"]
    assert [feature.kind for feature in model.scorecard_.features][-1] == "pair"
    model.save(tmp_path / "model.json")
    assert not any(text in (tmp_path / "model.json").read_text() for text in ("secret", "dark"))
    loaded = bayesieve.load(tmp_path / "model.json")
    merged = bayesieve.merge([loaded, loaded])
    assert [feature.name for feature in merged.scorecard_.features] == ["number", "u", "v"]
    np.testing.assert_allclose(merged.predict_proba(X), bayesieve.merge([model, model]).predict_proba(X), atol=1e-12)
