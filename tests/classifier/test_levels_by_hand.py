"""Levels by hand in a model: all values of a level are scored alike, whatever is fitted, and cautions say what a rule
asks in vain.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import bayesieve
from bayesieve import SelectiveNB, TableEncoder, scan
from tests.cases import mostly_slow

N = 1200
RULES: dict[str, dict[str, Any]] = {
    "age": {"cuts": [30, 50], "missing": "apart"},
    "job": {"groups": [["a", "b"], ["c"]]},
    "income": {"special": {"refused": [-999, -998]}, "cuts": [1000, 3000]},
}


def loans(seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    """Numbers and categories that say more within levels by hand, and together, than these levels tell."""
    rng = np.random.default_rng(seed)
    age, job = rng.uniform(18, 80, N).round(1), rng.choice(["a", "b", "c", "d"], N)
    income, debt = np.exp(rng.normal(7.5, 0.7, N)).round(), rng.normal(size=N)
    refused = rng.random(N) < 0.1
    logits = (age - 45) / 8 * np.where(debt > 0, 1.0, 0.2) + 2.0 * (job == "b") - 1.5 * (job == "c") + 0.7 * debt
    logits += 0.8 * (np.log(income) - 7.5) + refused
    y = (rng.random(N) < 1 / (1 + np.exp(-logits))).astype(int)
    income[refused] = rng.choice([-999, -998], refused.sum())
    return pl.DataFrame({"age": age, "job": job, "income": income, "debt": debt, "noise": rng.normal(size=N)}), y


def alike(model: SelectiveNB, frame: pl.DataFrame) -> list[np.ndarray]:
    """Probabilities of rows that differ within levels by hand only."""
    row = frame[:1]
    values: dict[str, list[Any]] = {
        "age": [30.1, 41.0, 49.9],
        "job": ["a", "b", "a"],
        "income": [1001.0, 2000.0, 2999.0],
    }
    return [
        model.predict_proba(pl.concat([row.with_columns(pl.lit(v).alias(name)) for v in own]))[:, 1]
        for name, own in values.items()
    ]


@pytest.fixture(scope="module")
def model() -> SelectiveNB:
    return SelectiveNB(levels=RULES, n_jobs=1).fit(*loans())


@pytest.mark.parametrize(
    "calibrate", mostly_slow(["auto", "cells", "levels", "weights", True, False], ["auto", "levels", False])
)
def test_values_of_a_level_by_hand_are_scored_alike_whatever_is_fitted(calibrate: Any) -> None:
    frame, y = loans()
    fitted = SelectiveNB(levels=RULES, calibrate=calibrate, n_jobs=1).fit(frame, y)
    for probability in alike(fitted, frame):
        assert_array_equal(probability, probability[0])
    for feature in fitted.scorecard_.features:
        assert len(feature.columns) == 1 or not set(feature.columns) & RULES.keys()
    free = SelectiveNB(calibrate=calibrate, n_jobs=1).fit(frame, y)
    assert any(np.ptp(probability) > 0.05 for probability in alike(free, frame))


def test_a_card_has_a_line_for_each_level_by_hand(model: SelectiveNB) -> None:
    frame, y = loans()
    table = SelectiveNB("all", levels=RULES, n_jobs=1).fit(frame, y).points(max_points=3).to_frame()
    lines = {name: table.filter(pl.col("feature") == name, ~pl.col("is_unseen"))["cell"].to_list() for name in RULES}
    assert lines["age"] == ["missing", "<= 30", "30 < .. <= 50", "> 50"]
    assert lines["job"] == ["{a, b}", "c", "d"]
    assert lines["income"] == ["refused", "<= 1000", "1000 < .. <= 3000", "> 3000"]


def test_levels_by_hand_stay_so_in_files_and_scorecards(model: SelectiveNB, tmp_path: Path) -> None:
    frame, y = loans()
    expected = model.predict_proba(frame)
    text = model.levels_to_yaml(tmp_path / "levels.yaml")
    assert "learnt" not in text.split("debt:")[0]
    again = SelectiveNB(levels=tmp_path / "levels.yaml", n_jobs=1).fit(frame, y)
    assert_array_equal(again.predict_proba(frame), expected)
    model.save(tmp_path / "model.json")
    loaded = bayesieve.load(tmp_path / "model.json")
    for card in (model.scorecard_, loaded.scorecard_):
        kept = SelectiveNB(levels=card, n_jobs=1).fit(frame, y)
        for probability in alike(kept, frame):
            assert_array_equal(probability, probability[0])
        debt = kept.scorecard_["debt"]
        assert debt.cells.n_levels > debt.levels.n_levels  # it was learnt, and has a curve
        kept.levels_to_yaml(tmp_path / "kept.yaml")
        same = SelectiveNB(levels=tmp_path / "kept.yaml", n_jobs=1).fit(frame, y)
        assert_array_equal(same.predict_proba(frame), kept.predict_proba(frame))


def test_levels_that_happen_to_be_learnt_are_by_hand_all_the_same(tmp_path: Path) -> None:
    frame, y = loans()
    free = SelectiveNB(n_jobs=1).fit(frame, y)
    cuts = free.encoder_.levels_[0].number_cuts.tolist()
    fitted = SelectiveNB(levels={"age": {"cuts": cuts}}, n_jobs=1).fit(frame, y)
    assert fitted.scorecard_["age"].cells is fitted.scorecard_["age"].levels
    # A file that was written and edited holds levels by hand, too.
    edited = free.levels_to_yaml().replace("age:\n  cuts: [", f"age:\n  cuts: [{cuts[0] - 5}, ")
    (tmp_path / "levels.yaml").write_text(edited, encoding="utf-8")
    fitted = SelectiveNB(levels=tmp_path / "levels.yaml", n_jobs=1).fit(frame, y)
    assert fitted.scorecard_["age"].cells is fitted.scorecard_["age"].levels
    assert fitted.scorecard_["debt"].cells.n_levels == free.scorecard_["debt"].cells.n_levels


def test_cells_and_pairs_of_levels_by_hand_are_there_if_asked_for() -> None:
    frame, y = loans()
    fitted = SelectiveNB(levels=RULES | {"age": {"cuts": [30, 50], "cells": True}}, n_jobs=1).fit(frame, y)
    assert fitted.scorecard_["age"].cells.n_levels > 10
    fitted = SelectiveNB(levels=RULES, pairs=[("age", "debt")], n_jobs=1).fit(frame, y)
    pair = fitted.encoder_.levels_[-1]
    assert pair.kind == "pair"
    assert pair.parts[0].labels == fitted.encoder_.levels_[0].labels


@pytest.mark.parametrize("most", mostly_slow([2, 4, 9, 1000], [2, 1000]))
def test_most_levels_cap_cells_and_force_nothing(most: int) -> None:
    frame, y = loans()
    rng = np.random.default_rng(1)
    some = frame.with_columns(
        noise=pl.when(pl.Series(rng.random(N) < 0.2)).then(None).otherwise("noise"),
        job=pl.Series(rng.choice([*"efghijklmn"], N)) + pl.Series(y).cast(pl.String),
    )
    rules = {name: {"max_levels": most} for name in some.columns}
    fitted, free = (SelectiveNB(levels=own, pairs=0, n_jobs=1).fit(some, y) for own in (rules, None))
    cells = {f.name: f.cells.n_levels - f.cells.n_special_levels for f in fitted.scorecard_.features}
    assert max(cells.values()) <= most
    assert max(cells.values()) > min(most, 4) - 1
    assert fitted.encoder_.levels_[4].n_levels == free.encoder_.levels_[4].n_levels == 1
    if most == 1000:
        assert_array_equal(fitted.predict_proba(some), free.predict_proba(some))


@pytest.mark.parametrize("source", ["memory", "scan"])
def test_cautions_say_what_rules_ask_in_vain(source: str, tmp_path: Path) -> None:
    frame, y = loans()
    rules = RULES | {
        "job": {"groups": [["a", "B"], ["zz"]]},
        "income": {"special": {"refused": [-999, -998], "typing error": -9998}, "cuts": [1000]},
        "noise": {"cuts": [0]},
    }
    rows: tuple[Any, Any] = (frame, y)
    if source == "scan":
        frame.with_columns(y=pl.Series(y)).write_parquet(tmp_path / "loans.parquet")
        rows = scan(tmp_path / "loans.parquet"), "y"
    with pytest.warns(UserWarning, match="No row has"):
        fitted = SelectiveNB(levels=rules, n_jobs=1).fit(*rows)
    said = {(caution.kind, caution.columns): caution.sentence for caution in fitted.cautions_}
    sentence = "No row has the values 'B' and 'zz' that are in groups of column 'job'; did you mean 'b'?"
    assert said["no such value", ("job",)] == sentence
    income = said["no such value", ("income",)]
    name = "-9998" if source == "memory" else "typing error"
    assert income.startswith(f"No row has the value {name!r} that is special in column 'income'")
    assert "include: true" in said["dropped", ("job", "noise")]
    rules = {"noise": {"cuts": [0], "include": True}, "income": {"special": [-9999]}}
    kept = SelectiveNB(levels=rules, n_jobs=1).fit(frame, y)
    assert "dropped" not in {caution.kind for caution in kept.cautions_}
    assert "noise" in kept.selected_features_
    assert "special in column 'income'; did you mean '-999'?" in " ".join(c.sentence for c in kept.cautions_)


def test_names_that_are_nearly_right_get_a_hint(model: SelectiveNB) -> None:
    frame, y = loans()
    with pytest.raises(ValueError, match=r"levels names the column 'aeg', .*did you mean 'age'\?"):
        SelectiveNB(levels={"aeg": {"cuts": [3]}}).fit(frame, y)
    with pytest.raises(ValueError, match=r"it has no option 'cut'; did you mean 'cuts'\?$"):
        TableEncoder(levels={"age": {"cut": [3]}}).fit(frame, y)
    with pytest.raises(ValueError, match=r"monotone names the column 'incme', .*did you mean 'income'\?"):
        SelectiveNB(monotone={"incme": 1}).fit(frame, y)
    with pytest.raises(ValueError, match=r"pairs names the column 'jobb', .*did you mean 'job'\?"):
        SelectiveNB(pairs=[("jobb", "age")]).fit(frame, y)
    with pytest.raises(ValueError, match=r"selector must be one of .*; did you mean 'compression'\?"):
        SelectiveNB(selector="compresion").fit(frame, y)
    with pytest.raises(ValueError, match=r"There is no feature 'Age' in the model; did you mean 'age'\?"):
        model.scorecard_.plot("Age")
    with pytest.raises(ValueError, match=r"X has no column 'jobs' \(by\); did you mean 'job'\?"):
        bayesieve.drift(model, frame, y, by="jobs")
    with pytest.raises(ValueError, match=r"There is no column 'pade'; did you mean 'paid'\?"):
        SelectiveNB().fit(frame.with_columns(paid=pl.Series(y)), "pade")


def test_each_of_several_values_that_no_row_has_gets_its_hint() -> None:
    frame, y = loans()
    with pytest.warns(UserWarning, match=r"values 'A' and 'B' that are in groups of .*; did you mean 'a' and 'b'\?"):
        SelectiveNB(levels={"job": {"groups": [["A"], ["B"]]}}).fit(frame, y)


def test_a_list_of_all_codes_is_no_identifier_and_need_not_pay_for_its_length() -> None:
    rng = np.random.default_rng(0)
    codes = [f"z{k:04d}" for k in range(5000)]
    at, is_risky = rng.permutation(5000)[:N], rng.random(5000) < 0.5
    y = (rng.random(N) < np.where(is_risky[at], 0.7, 0.3)).astype(int)
    frame = pl.DataFrame({"zip": [codes[k] for k in at], "number": rng.normal(size=N) + y})
    groups = [[codes[k] for k in np.flatnonzero(is_risky == kind)] for kind in (True, False)]
    fitted = SelectiveNB(levels={"zip": {"groups": groups}}, n_jobs=1).fit(frame, y)
    assert not {"identifier", "dropped"} & {caution.kind for caution in fitted.cautions_}
    assert "zip" in fitted.selected_features_
    free = SelectiveNB(n_jobs=1).fit(frame, y)
    assert {"identifier"} <= {caution.kind for caution in free.cautions_}
