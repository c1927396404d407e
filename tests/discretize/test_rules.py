"""Levels by hand: what `levels=` asks of single columns, and what becomes of it."""

from __future__ import annotations

import copy
import datetime as dt
import pickle
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import bayesieve
from bayesieve import SelectiveNB, TableEncoder, scan
from bayesieve.discretize.ruled_coders import _joined_levels
from bayesieve.discretize.rules import LevelRule, TableRules
from bayesieve.evidence import fitting
from bayesieve.evidence.joint_fit import JointFit, fit_jointly
from bayesieve.table.columns import SpecialValues
from bayesieve.table.yaml_files import read_yaml
from tests.cases import mostly_slow

N = 900


def claims(seed: int = 0, n: int = N) -> tuple[pl.DataFrame, np.ndarray]:
    """Numbers, numbers with special texts and values, dates with one that stands for never, and categories."""
    rng = np.random.default_rng(seed)
    age, income = rng.normal(40, 12, n).round(1), np.exp(rng.normal(8, 1, n)).round()
    group, last = rng.choice(list("abcdefg"), n), rng.integers(0, 900, n)
    is_none, is_refused, is_never = (rng.random((3, n)) < 0.12).tolist()
    logits = 0.07 * (age - 40) + 0.9 * (np.log(income) - 8) + 1.5 * (group == "a") + 2.0 * np.array(is_refused)
    y = (rng.random(n) < 1 / (1 + np.exp(-logits))).astype(int)
    texts = [
        "refused" if refused else "-999" if none else str(int(own))
        for refused, none, own in zip(is_refused, is_none, income, strict=True)
    ]
    days = [
        dt.date(9999, 12, 31) if never else dt.date(2020, 1, 1) + dt.timedelta(days=int(day))
        for never, day in zip(is_never, last, strict=True)
    ]
    ages = [None if own > 62 else own for own in age.tolist()]
    return pl.DataFrame(
        {"age": ages, "income": texts, "group": group.tolist(), "last": days, "noise": rng.normal(size=n)}
    ), y


RULES: dict[str, dict[str, Any]] = {
    "age": {"cuts": [25, 35, 45, 55], "missing": 30},
    "income": {"special": {"refused": "refused", "none": [-999]}, "monotone": "auto"},
    "group": {"groups": [["a"], ["b", "x", "c"]]},
    "last": {"special": ["9999-12-31"], "cuts": ["2020-06-30", "2021-06-30"]},
    "noise": {"include": True},
}


@pytest.fixture(scope="module")
def model() -> SelectiveNB:
    return SelectiveNB(levels=RULES).fit(*claims())


def labels(fitted: Any, name: str) -> tuple[str, ...]:
    levels = {level.name: level for level in getattr(fitted, "encoder_", fitted).levels_}
    return levels[name].labels


def rows(fitted: Any, name: str) -> np.ndarray:
    levels = {level.name: level for level in getattr(fitted, "encoder_", fitted).levels_}
    return np.asarray(levels[name].counts).sum(axis=1)


def test_levels_are_those_asked_for(model: SelectiveNB) -> None:
    frame, _ = claims()
    assert labels(model, "age") == ("<= 25", "25 < .. <= 35 or missing", "35 < .. <= 45", "45 < .. <= 55", "> 55")
    assert labels(model, "income")[:2] == ("refused", "none")
    assert labels(model, "group") == ("a", "{b, c, x}", "{d, e, f, g}") or labels(model, "group")[0] == "a"
    assert labels(model, "last") == ("9999-12-31", "<= 2020-06-30", "2020-06-30 < .. <= 2021-06-30", "> 2021-06-30")
    assert len(labels(model, "noise")) > 1
    ages = frame["age"].to_numpy()
    expected = np.bincount(np.where(np.isnan(ages), 1, np.searchsorted([25, 35, 45, 55], ages)), minlength=5)
    assert_array_equal(rows(model, "age"), expected)
    assert rows(model, "income")[0] == (frame["income"] == "refused").sum()
    assert rows(model, "income")[1] == (frame["income"] == "-999").sum()
    assert rows(model, "last")[0] == (frame["last"] == dt.date(9999, 12, 31)).sum()


def test_what_must_be_in_the_model_is(model: SelectiveNB) -> None:
    assert "noise" in model.selected_features_


def test_evidence_follows_the_sign_over_numbers_only(model: SelectiveNB) -> None:
    feature = model.scorecard_["income"]
    assert feature.sign == 1
    contrast = np.diff(feature.contributions, axis=1)[feature.cells.n_special_levels :, 0]
    assert (np.diff(contrast) >= -1e-9).all()
    assert not any("income" in pair.columns for pair in model.scorecard_.features if pair.kind == "pair")


def test_every_way_to_predict_agrees(model: SelectiveNB, tmp_path: Path) -> None:
    frame, y = claims()
    probability = model.predict_proba(frame)
    model.save(tmp_path / "model.json")
    loaded = bayesieve.load(tmp_path / "model.json")
    assert_array_equal(loaded.predict_proba(frame), probability)
    assert loaded.levels_to_yaml() == model.levels_to_yaml()
    assert_array_equal(loaded.fit(frame, y).predict_proba(frame), probability)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(frame), probability)
    for i in range(25):
        assert_allclose(model.predict_proba(frame.row(i, named=True)), probability[i : i + 1], atol=1e-15)
    frame.with_columns(pl.Series("y", y)).write_csv(tmp_path / "claims.csv")
    read = SelectiveNB(levels=RULES).fit(scan(tmp_path / "claims.csv"), "y")
    assert_array_equal(read.predict_proba(frame), probability)
    on_disk = SelectiveNB(levels=RULES, engine="disk").fit(frame, y)
    assert_array_equal(on_disk.predict_proba(frame), probability)


@pytest.mark.parametrize("rule", [None, {"min_rows": 5}, {"special": [7]}, {"special": [-1.7e308]}])
def test_lowest_numbers_of_all_are_numbers_unless_they_are_special(rule: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=900), rng.integers(0, 2, 900)
    x[:300], y[:300] = -1.7e308, 1
    x[300:600], y[300:600] = -1.2e308, 0
    frame = pl.DataFrame({"x": x})
    model = SelectiveNB(levels=None if rule is None else {"x": rule}).fit(frame, y)
    assert rows(model, "x").sum() == 900
    probability = model.predict_proba(frame)
    if rule != {"special": [7]}:  # below all special values, others are one number
        assert probability[0, 1] > 0.9 > 0.1 > probability[300, 1]
    model.save(tmp_path / "model.json")
    assert_array_equal(bayesieve.load(tmp_path / "model.json").predict_proba(frame), probability)
    found = model.with_predictions(frame.lazy()).select(pl.col("^P.*$")).collect()
    assert_allclose(found.to_numpy(), probability, atol=1e-12)


@pytest.mark.parametrize("special", [{"refused": -1, "none": [-999]}, RULES["income"]["special"]])
def test_special_values_in_queries(special: Any) -> None:
    frame, y = claims()
    if "refused" in special:
        frame = frame.with_columns(pl.col("income").replace("refused", "-1").cast(pl.Float64))
    model = SelectiveNB(levels=RULES | {"income": {"special": special}}).fit(frame, y)
    found = model.with_predictions(frame.lazy()).select(pl.col("^P\\(.*$")).collect()
    assert_allclose(found.to_numpy(), model.predict_proba(frame), atol=1e-12)


def test_what_was_not_edited_gives_the_same_model(tmp_path: Path) -> None:
    y = claims()[1]
    counted: dict[str, Any] = {"calibrate": False}
    for options in ({}, {"levels": RULES}, counted | {"pairs": 3}, counted | {"prior": "published"}):
        frame = claims()[0] if "levels" in options else claims()[0].drop("income")
        kept = {name: own for name, own in RULES.items() if name in frame.columns}
        options = options | ({"levels": kept} if "levels" in options else {})
        first = SelectiveNB(**options).fit(frame, y)
        first.levels_to_yaml(tmp_path / "levels.yaml")
        again = SelectiveNB(**(options | {"levels": tmp_path / "levels.yaml"})).fit(frame, y)
        assert again.levels_to_yaml() == first.levels_to_yaml()
        if "levels" not in options:
            assert_array_equal(again.predict_proba(frame), first.predict_proba(frame))
            again.save(tmp_path / "model.json")
            (tmp_path / "levels.yaml").unlink()
            loaded = bayesieve.load(tmp_path / "model.json")  # knows the rules, whatever became of the file
            assert_array_equal(loaded.fit(frame, y).predict_proba(frame), first.predict_proba(frame))


@pytest.mark.parametrize("pairs", [0, 3])
def test_what_rules_ask_beyond_levels_survives_the_file(pairs: int, tmp_path: Path) -> None:
    frame, y = claims()
    rules: dict[str, Any] = {
        "age": {"exclude": True},
        "income": {"special": {"refused": "refused", "none": [-999]}, "missing": "apart", "min_rows": np.float64(0.2)},
        "group": {"groups": [["a"], ["b", "c"]], "unseen": True},
        "last": {"max_levels": np.int64(1)},
        "noise": {"include": True},
    }
    calibrate = "auto" if pairs else False
    model = SelectiveNB(levels=rules, calibrate=calibrate, pairs=pairs).fit(frame, y)
    assert labels(model, "income")[0] == "missing"
    text = model.levels_to_yaml(tmp_path / "levels.yaml")
    again = SelectiveNB(levels=tmp_path / "levels.yaml", calibrate=calibrate, pairs=pairs).fit(frame, y)
    assert again.levels_to_yaml() == text
    assert [level.labels for level in again.encoder_.levels_] == [level.labels for level in model.encoder_.levels_]
    assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    again.save(tmp_path / "model.json")
    assert bayesieve.load(tmp_path / "model.json").levels_to_yaml() == text


def test_missing_dates_join_the_level_of_a_date() -> None:
    frame, y = claims()
    frame = frame.with_columns(last=pl.when(pl.int_range(len(frame)) % 9 == 0).then(None).otherwise("last"))
    for date in ("2020-05-05", dt.date(2020, 5, 5)):
        rules = {"last": {"cuts": ["2020-06-30", "2021-06-30"], "missing": date}}
        encoder = TableEncoder(levels=rules).fit(frame, y)
        assert labels(encoder, "last")[0] == "<= 2020-06-30 or missing"


def test_levels_of_edited_columns_are_read_back_whatever_their_size(tmp_path: Path) -> None:
    frame, y = claims()
    rules = {"age": {"min_rows": 0.1, "max_levels": 2, "include": True}}
    model = SelectiveNB(levels=rules, calibrate="levels", pairs=0).fit(frame, y)
    edited = model.edit().cut("age", None, 1).cut("age", None, 99).done()
    edited.levels_to_yaml(tmp_path / "levels.yaml")
    again = SelectiveNB(levels=tmp_path / "levels.yaml", calibrate=False, pairs=0).fit(frame, y)
    assert labels(again, "age") == edited.scorecard_["age"].levels.labels


@pytest.mark.parametrize("calibrate", mostly_slow(["levels", "cells"], ["cells"]))
def test_cuts_beyond_all_rows_leave_a_curve(calibrate: str) -> None:
    frame, y = claims()
    rules = {"age": {"cuts": [30, 50, 100, 200, 300], "monotone": "auto"}, "noise": {"cuts": [*range(50, 60)]}}
    model = SelectiveNB(levels=rules, calibrate=calibrate).fit(frame, y)
    probability = model.predict_proba(frame.with_columns(age=pl.int_range(0, len(frame)).cast(pl.Float64)))
    assert np.isfinite(probability).all()
    assert (rows(model, "age")[-3:] == 0).all()


def test_dates_and_odd_names_survive_the_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    n = 400
    when = pl.Series(rng.integers(0, 10**6, n) * 86_400_000_000 // 7).cast(pl.Datetime("us"))
    odd = pl.Series(rng.choice(["yes", "no", "1", "null", "~", "a: b", "- c", "#d", "é\n"], n))
    y = ((when.dt.epoch("us").to_numpy() > 6e16) ^ (odd == "yes").to_numpy() ^ (rng.random(n) < 0.1)).astype(int)
    frame = pl.DataFrame({"when: #": when, "odd\nname": odd, "flag": rng.random(n) < 0.5})
    model = SelectiveNB().fit(frame, y)
    model.levels_to_yaml(tmp_path / "levels.yaml")
    again = SelectiveNB(levels=tmp_path / "levels.yaml").fit(frame, y)
    assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_the_criterion_may_join_levels_by_hand() -> None:
    frame, y = claims()
    cuts = np.arange(10, 80, 2.5).tolist()
    encoder = TableEncoder(levels={"age": {"cuts": cuts, "coarsen": True}}).fit(frame, y)
    found = encoder.levels_[0].number_cuts
    assert 0 < len(found) < len(cuts) - 3
    assert set(found) <= set(cuts)
    groups = [["a"], ["b", "c"], ["d"], ["e", "f"], ["g"]]
    encoder = TableEncoder(levels={"group": {"groups": groups, "coarsen": True}}).fit(frame, y)
    names = [set(group) for group in encoder.levels_[2].groups]
    assert 1 <= len(names) < 5
    assert all(any(set(group) <= own for own in names) for group in groups)


@pytest.mark.parametrize("least", [0.1, 100])
def test_least_and_most_rows_and_levels(least: float) -> None:
    frame, y = claims(n=3000)
    rules = {"age": {"min_rows": least}, "group": {"min_rows": least, "max_levels": 3}, "noise": {"max_rows": 0.2}}
    encoder = TableEncoder(levels=rules).fit(frame, y)
    fewest = least if least > 1 else least * 3000
    assert rows(encoder, "age")[1:].min() >= fewest  # missing values have as many as they have
    assert rows(encoder, "group").min() >= fewest
    assert len(rows(encoder, "group")) <= 3
    assert rows(encoder, "noise").max() <= 0.2 * 3000 + 1
    assert len(rows(TableEncoder(levels={"age": {"max_levels": 2}}).fit(frame, y), "age")) <= 3


def test_monotone_levels_are_joined_and_auto_takes_the_sign_that_fits() -> None:
    rng = np.random.default_rng(5)
    x = rng.uniform(0, 10, 4000)
    wave = 1 / (1 + np.exp(-(1.2 * np.sin(x) - 0.4 * x + 1)))
    y = (rng.random(4000) < wave).astype(int)
    free = TableEncoder().fit(x[:, None], y).levels_[0]
    shares = np.asarray(free.counts)[:, 1] / np.asarray(free.counts).sum(axis=1)
    assert not (np.diff(shares) <= 0).all()
    for asked in (-1, "auto"):
        counts = np.asarray(TableEncoder(levels={"x0": {"monotone": asked}}).fit(x[:, None], y).levels_[0].counts)
        assert (np.diff(counts[:, 1] / counts.sum(axis=1)) <= 0).all()
    model = SelectiveNB(levels={"x0": {"monotone": "auto"}}).fit(x[:, None], y)
    probability = model.predict_proba(np.linspace(0, 10, 200)[:, None])[:, 1]
    assert (np.diff(probability) <= 1e-12).all()


def test_excluded_columns_do_not_matter() -> None:
    frame, y = claims()
    rules = {"income": {"exclude": True}, "group": {"exclude": True}}
    model = SelectiveNB(levels=rules).fit(frame, y)
    assert not {"income", "group"} & {name for f in model.scorecard_.features if f.is_used for name in f.columns}
    other = SelectiveNB().fit(frame.drop("income", "group"), y)
    assert_allclose(model.predict_proba(frame), other.predict_proba(frame.drop("income", "group")), atol=0.02)


def test_a_constant_column_that_is_excluded_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, n_candidates = np.random.default_rng(0), list[int]()
    x = rng.normal(size=(300, 8))
    frame = pl.DataFrame(x, [f"x{k}" for k in range(8)]).with_columns(one=pl.lit(1.0), word=pl.lit("a"))

    def recorded(fit: JointFit, *args: Any) -> Any:
        n_candidates.append(fit.n_candidates)
        return fit_jointly(fit, *args)

    monkeypatch.setattr(fitting, "fit_jointly", recorded)
    for rules in (None, {"one": {"exclude": True}, "word": {"exclude": True}}, {"x7": {"exclude": True}}):
        SelectiveNB(pairs=0, calibrate="levels", levels=rules).fit(frame, x[:, 0] > 0)
    assert n_candidates == [8, 8, 7]


def test_the_report_tells_what_was_asked(model: SelectiveNB, tmp_path: Path) -> None:
    model.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Set by hand: special and monotone." in text
    frame, y = claims()
    SelectiveNB(levels={"age": {"exclude": True}}).fit(frame.drop("income"), y).report(tmp_path / "report.html")
    assert "Excluded by hand." in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_weights_and_more_classes() -> None:
    frame, y = claims()
    weights = np.random.default_rng(1).integers(0, 3, len(y))
    model = SelectiveNB(levels=RULES).fit(frame, y, sample_weight=weights)
    known = frame["age"].is_not_null().to_numpy()
    first = (frame["age"].fill_null(99).to_numpy() <= 25) & known
    assert rows(model, "age")[0] == weights[first].sum()
    three = {name: own for name, own in RULES.items() if name != "income"}
    model = SelectiveNB(levels=three).fit(frame.drop("income"), y + (frame["age"].fill_null(0).to_numpy() > 45))
    assert labels(model, "age")[0] == "<= 25"
    with pytest.raises(ValueError, match=r"monotone needs two classes, but the target has 3"):
        SelectiveNB(levels=RULES).fit(frame, np.arange(len(y)) % 3)


def test_levels_without_rows_are_kept() -> None:
    frame, y = claims()
    rules = {"age": {"cuts": [-50, 30, 500]}, "group": {"groups": [["z"], ["a"]]}, "noise": {"special": [-999]}}
    model = SelectiveNB(levels=rules).fit(frame, y)
    assert rows(model, "age")[[1, -1]].tolist() == [0, 0]  # after missing values
    assert rows(model, "group")[0] == 0
    assert labels(model, "noise")[0] == "-999"
    assert np.isfinite(model.predict_proba(frame.with_columns(age=pl.lit(1000.0), group=pl.lit("z")))).all()


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ({"nope": {"cuts": [1]}}, r"levels names the column 'nope', which is not a feature column; remove it"),
        ({"age": 3}, r"the column 'age': it takes a dict of cuts, groups"),
        ({"age": {"cots": [1]}}, r"'age': it has no option 'cots'"),
        ({"age": {"cuts": [3, 2]}}, r"'age': it needs cuts in ascending order, each once"),
        ({"age": {"cuts": [1, float("nan")]}}, r"'age': it has the cut nan, which is no number"),
        ({"last": {"cuts": ["soon"]}}, r"'last': it has the cut 'soon', which is no date"),
        ({"age": {"cuts": 5}}, r"'age': it needs a list as 'cuts'"),
        ({"age": {"cuts": [1], "groups": [["a"]]}}, r"'age': it has both groups of categories and 'cuts' of numbers"),
        ({"group": {"groups": [["a"], ["a"]]}}, r"'group': it has the value 'a' in two groups"),
        ({"group": {"groups": [["a"], []]}}, r"'group': it has an empty group"),
        ({"group": {"groups": []}}, r"'group': it has no groups; omit 'groups'"),
        ({"group": {"groups": [[["a"]]]}}, r"'group': it needs lists of values as 'groups', null for missing ones"),
        ({"age": {"special": [None]}}, r"'age': it needs numbers or texts as 'special', got None"),
        ({"age": {"special": {"a": {"b": 1}}}}, r"'age': it needs numbers or texts as 'special', got {'b': 1}"),
        ({"age": {"special": "\ud800"}}, r"'age': it needs numbers or texts as 'special'"),
        ({"age": {"cuts": [10**400]}}, r"'age': it has the cut 1000*, which is no number"),
        ({"age": {"min_rows": 10**400}}, r"'age': it needs a number of rows, or a share below 1, as 'min_rows'"),
        ({"age": {"cuts": [1], "missing": 10**400}}, r"'age': it needs 'apart', 'unseen' or a value as 'missing'"),
        ({"age": {"cuts": [1], "missing": float("nan")}}, r"'age': it needs 'apart', 'unseen' or a value as 'missing'"),
        ({"age": {"special": [-1, -1]}}, r"'age': it has the special value '-1' twice"),
        ({"age": {"monotone": 2}}, r"'age': it needs 1, -1 or 'auto' as 'monotone', got 2"),
        ({"age": {"min_rows": -1}}, r"'age': it needs a number of rows, or a share below 1, as 'min_rows'"),
        ({"age": {"max_levels": 0}}, r"'age': it needs a whole number above 0 as 'max_levels'"),
        ({"age": {"exclude": True, "cuts": [3]}}, r"'age': it is excluded; omit its other options"),
        ({"age": {"exclude": 1}}, r"'age': it needs true or false as 'exclude'"),
        ({"age": {"coarsen": True}}, r"'age': it has no cuts or groups to coarsen"),
        ({"age": {"cuts": [20, 30], "max_levels": 2}}, r"'age': it has 3 levels by hand but max_levels=2"),
        ({"age": {"cuts": [20], "max_rows": 9}}, r"'age': it has levels by hand, which max_rows would split"),
        ({"age": {"cuts": [1], "min_rows": 50}}, r"'age': it has .* of fewer than 50 rows"),
        ({"group": {"groups": [["q"]], "min_rows": 5}}, r"'group': it has .* of fewer than 5 rows"),
        ({"age": {"missing": "foo"}}, r"'age': .*'foo'"),
        ({"group": {"missing": "foo"}, "age": {}}, None),
        ({"group": {"cuts": [1]}}, r"Column 'group' is read as a number but row 0"),
        (
            {"group": {"max_rows": 0.6}},
            r"but row 0 holds '\w+'; correct the value, or leave out 'max_rows', which requires",
        ),
        ({"last": {"groups": [["2020-01-01"]]}}, None),
        ([1], r"levels must map names of columns to dicts"),
    ],
)
def test_contradictions_are_refused_in_a_sentence(rules: Any, sentence: str | None) -> None:
    frame, y = claims()
    if sentence is None:
        TableEncoder(levels=rules).fit(frame, y)
        return
    with pytest.raises(ValueError, match=sentence) as caught:
        TableEncoder(levels=rules).fit(frame, y)
    assert "\n" not in str(caught.value)


def test_options_that_contradict_rules() -> None:
    frame, y = claims()
    with pytest.raises(ValueError, match=r"'age': it is excluded or monotone, so that no pair can contain it"):
        SelectiveNB(levels={"age": {"monotone": 1}}, pairs=[("age", "noise")]).fit(frame, y)
    with pytest.raises(ValueError, match=r"monotone is -1 for 'age', but levels= gives it the opposite sign"):
        SelectiveNB(levels={"age": {"monotone": 1}}, monotone={"age": -1}).fit(frame, y)
    with pytest.raises(ValueError, match=r"needs monotone contributions of the column 'age', but with calibrate=False"):
        SelectiveNB(levels={"age": {"monotone": 1}}, calibrate=False).fit(frame, y)
    with pytest.raises(ValueError, match=r"'age': it has options for a numeric column, but kinds makes it categorical"):
        TableEncoder(levels={"age": {"cuts": [1]}}, kinds={"age": "categorical"}).fit(frame, y)
    with pytest.raises(ValueError, match=r"levels=.* cannot be combined with the encoder TableEncoder"):
        SelectiveNB(levels={"age": {}}, encoder=TableEncoder(levels={"age": {"min_rows": 9}})).fit(frame, y)


def test_equal_levels_may_be_given_twice() -> None:
    frame, y = claims()
    card = SelectiveNB("all", pairs=0).fit(frame, y).scorecard_
    for levels in ({"age": {"cuts": np.array([30.0, 50.0])}}, card):
        model = clone(SelectiveNB("all", levels=levels, encoder=TableEncoder(levels=copy.deepcopy(levels))))
        assert model.fit(frame, y).scorecard_["age"].levels.cut_points is not None
    other = TableEncoder(levels={"age": {"cuts": np.array([30.0, 51.0])}})
    with pytest.raises(ValueError, match="cannot be combined"):
        SelectiveNB(levels={"age": {"cuts": np.array([30.0, 50.0])}}, encoder=other).fit(frame, y)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("- a", r"must map names of columns to their options"),
        ("age: [1", r", line 1 is not valid YAML of columns"),
        ("age: {cuts: [1]}\nage: {cuts: [2]}", r"the name 'age' occurs twice"),
        ("age: {cuts: [1], cuts: [2]}", r"the name 'cuts' occurs twice"),
        ("? [a]\n: 1", r"is not valid YAML of columns"),
        ("a: !!python/object/apply:os.system ['true']", r"is not valid YAML of columns"),
        ("\0", r"is not valid YAML of columns"),
        ("a: !!set {b, c}", r"line 1 is not valid YAML of columns .* is not supported"),
        ("a: " + "[" * 2500 + "]" * 2500, r"is nested too deeply"),
        ("a: &a [*a]", r"line 1 is not valid YAML of columns"),
        (
            "b: &b0 [1]\n" + "".join(f"c{i}: &b{i} [{', '.join([f'*b{i - 1}'] * 9)}]\n" for i in range(1, 30)),
            r"aliases",
        ),
    ],
)
def test_files_that_are_no_levels(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "levels.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=sentence) as caught:
        read_yaml(tmp_path / "levels.yaml")
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=r"nowhere.yaml cannot be read"):
        TableRules.of("nowhere.yaml")
    (tmp_path / "empty.yaml").write_text("# nothing\n", encoding="utf-8")
    assert TableRules.of(tmp_path / "empty.yaml").rules == {}


def test_files_that_are_not_in_utf_8_are_refused(tmp_path: Path) -> None:
    (tmp_path / "levels.yaml").write_bytes("âge: {cuts: [1]}".encode("latin-1"))
    with pytest.raises(ValueError, match=r"levels.yaml .*is not in UTF-8; save it as UTF-8"):
        read_yaml(tmp_path / "levels.yaml")
    (tmp_path / "levels.yaml").write_bytes("âge: &one {cuts: [1]}\nb: *one".encode("utf-8-sig"))
    assert read_yaml(tmp_path / "levels.yaml") == {"âge": {"cuts": ["1"]}, "b": {"cuts": ["1"]}}


def test_groups_of_many_values_and_rules_of_many_columns_are_read_in_no_time() -> None:
    texts = [str(i) for i in range(100_000)]  # a comparison of all pairs takes minutes
    assert len(LevelRule.of("id", {"groups": [texts]}).groups[0]) == 100_000
    assert len(LevelRule.of("id", {"special": texts}).special) == 100_000


def test_rules_that_a_model_file_holds_are_checked(model: SelectiveNB, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    model.save(path)
    text = path.read_text(encoding="utf-8")
    assert '"rules":{"age"' in text.replace(" ", "")
    path.write_text(text.replace('"min_rows"', '"min_rws"').replace('"monotone"', '"monoton"'), encoding="utf-8")
    with pytest.raises(ValueError, match=r"model.json"):
        bayesieve.load(path)


def test_kinds_with_special_values_travel() -> None:
    kind = SpecialValues((("none", (-1, "x")),))
    assert pickle.loads(pickle.dumps(kind)) == kind


@given(
    counts=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=9),
    least=st.integers(0, 20),
    most=st.none() | st.integers(1, 5),
    sign=st.sampled_from([None, 1, -1, "auto"]),
)
def test_joined_levels_keep_what_is_asked(
    counts: list[tuple[int, int]], least: int, most: int | None, sign: Any
) -> None:
    table = np.array(counts, dtype=float)
    firsts = _joined_levels(table, least, most, sign)
    sums = np.add.reduceat(table, firsts, axis=0)
    assert firsts[0] == 0
    assert len(sums) == 1 or sums.sum(axis=1).min() >= least
    assert most is None or len(sums) <= most
    if sign is not None:
        known = sums[sums.any(axis=1)]
        rising = np.diff(known[:, 1] / known.sum(axis=1))
        signs = (1, -1) if sign == "auto" else (sign,)
        # Empty levels between others say nothing, so that only neighbours with rows are compared.
        assert len(known) < len(sums) or any((own * rising >= -1e-12).all() for own in signs)


def test_thousands_of_levels_are_joined_in_less_than_a_second() -> None:
    counts = np.random.default_rng(0).integers(0, 9, (2000, 50))
    began = time.process_time()
    firsts = _joined_levels(counts, 20, 7, None)
    assert firsts.size == 7
    assert time.process_time() - began < 1  # 0.1 s; 3.3 s if each join charges all pairs


def test_a_rule_is_read_from_plain_values() -> None:
    rule = LevelRule.of("a", {"cuts": np.array([1.0, 2.0]), "special": -9, "missing": None})
    assert rule.cuts == (1.0, 2.0)
    assert rule.special == (("-9", (-9,)),)
    assert rule.missing is None


def test_the_levels_of_a_scorecard_are_kept_for_other_rows(model: SelectiveNB, tmp_path: Path) -> None:
    frame, y = claims(seed=7, n=400)
    frame = frame.with_columns(pl.when(pl.col("group") == "a").then(pl.lit("new")).otherwise("group").alias("group"))
    frame = frame.with_columns(pl.when(pl.col("noise") > 1).then(None).otherwise("noise").alias("noise"))
    kept = clone(SelectiveNB(levels=model.scorecard_)).fit(frame, y)
    for one, other in zip(model.encoder_.levels_, kept.encoder_.levels_, strict=False):
        if one.kind == "pair":
            break
        assert (one.name, one.labels, one.missing_code) == (other.name, other.labels, other.missing_code)
    assert rows(kept, "group")[0] == 0  # no "a", and "new" is in no level
    assert rows(kept, "noise").sum() == frame["noise"].is_not_null().sum()
    kept.save(tmp_path / "kept.json")
    loaded = bayesieve.load(tmp_path / "kept.json")
    assert "group" not in kept.selected_features_  # so that its values are not in the file
    assert loaded.levels["group"] == {"exclude": True}
    others = [name for name in frame.columns if name != "group"]
    assert [labels(loaded.fit(frame, y), name) for name in others] == [labels(kept, name) for name in others]
    with pytest.raises(ValueError, match=r"levels names the column 'age', which is not a feature column"):
        SelectiveNB(levels=model.scorecard_).fit(frame.drop("age"), y)


def test_special_values_are_known_to_all_that_follows_the_fit(model: SelectiveNB) -> None:
    frame, _ = claims()
    told = model.reasons(frame[:50])
    assert told.height > 0
    assert any("refused" in text or "none" in text for text in model.reasons(frame, 5)["text"].to_list())
    changes = model.counterfactuals(frame[:60])
    to = changes.filter(pl.col("column") == "income")["to"].to_list()
    assert not {"refused", "none"} & set(to)  # an answer cannot be taken back
    drifted = bayesieve.drift(model, frame.with_columns(income=pl.lit("refused"))).to_frame()
    psi = dict(zip(drifted["feature"], drifted["psi"], strict=True))
    assert psi["income"] > 1 > psi["age"]
    edited = model.edit().set("income", {"refused": 2.0}).cut("income", None, 9000).done(note="a test")
    assert edited.scorecard_["income"].labels[:2] == ("refused", "none")
    assert_allclose(edited.predict_proba(frame).sum(axis=1), 1.0)
    with pytest.raises(ValueError, match=r"Special values of 'income' cannot be merged"):
        model.edit().merge("income", ["refused", "none"])
    assert "refused" in model.scorecard_.to_frame().filter(pl.col("feature") == "income")["cell"].to_list()
    named = model.with_labels({"income": {"name": "Income", "levels": {"none": "would not say"}}})
    assert any("would not say" in text for text in named.reasons(frame, 5)["text"].to_list())


@pytest.mark.parametrize(
    ("column", "missing", "sentence"),
    [
        (
            [1.5, None, 3.0],
            "aprat",
            "'unseen', a number or a special name as 'missing', got 'aprat'; did you mean 'apart'?",
        ),
        (["red", None, "blue"], "bleu", "has no value 'bleu' that missing values could join; did you mean 'blue'?"),
        (["red", None, "blue"], "unseeen", "'unseeen' that missing values could join; did you mean 'unseen'?"),
    ],
)
def test_typing_errors_in_missing_are_refused_with_a_suggestion(column: Any, missing: str, sentence: str) -> None:
    frame = pl.DataFrame({"a": column * 20})
    with pytest.raises(ValueError, match=re.escape(sentence) + "$"):
        SelectiveNB(levels={"a": {"missing": missing}}).fit(frame, [0, 1, 1] * 20)


def test_typing_errors_in_missing_get_a_caution_if_no_value_is_missing() -> None:
    frame = pl.DataFrame({"a": ["red", "green", "blue"] * 20})
    for missing, end in (("bleu", "did you mean 'blue'?"), ("xyz", "give one of its values, 'apart' or 'unseen'.")):
        with pytest.warns(
            UserWarning, match=f"has the value '{missing}' whose level missing values should join; {re.escape(end)}"
        ):
            SelectiveNB(levels={"a": {"missing": missing}}).fit(frame, [0, 1, 1] * 20)
    fitted = SelectiveNB(levels={"a": {"missing": "red"}}).fit(frame, [0, 1, 1] * 20)
    assert not [caution for caution in fitted.cautions_ if caution.kind == "no such value"]


@pytest.mark.parametrize("dtype", [pl.String, pl.Float64])
def test_unseen_missing_values_are_the_one_level_of_a_column_without_others(dtype: Any) -> None:
    frame = pl.DataFrame({"a": pl.Series([None] * 60, dtype=dtype), "b": np.arange(60) % 7})
    model = SelectiveNB(levels={"a": {"missing": "unseen"}}).fit(frame, [0, 1, 1] * 20)
    assert model.scorecard_["a"].levels.n_levels == 1
    assert np.isfinite(model.predict_proba(frame)).all()
