"""Criteria measured with levels that the rows scored had no say in, against encoders and models fitted again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

import bayesieve
from bayesieve import (
    AccuracySelector,
    AUCSelector,
    DiscreteNB,
    IndicatorEncoder,
    InformationGainSelector,
    MRMRSelector,
    SelectiveNB,
    TableEncoder,
    WrapperSelector,
    path_figure,
)
from bayesieve.counts import CodedTable
from bayesieve.criteria.scored_rows import folds_by_class
from bayesieve.discretize.coding_options import CodingOptions
from bayesieve.search import SearchTrace
from bayesieve.selection import row_splits
from tests.cases import mostly_slow
from tests.limits import Limits
from tests.selection.moves import moves


def mixed_table(n_rows: int = 150, n_classes: int = 2, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, many categories and missing values; every column follows the class a little."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    cities = np.where(rng.random(n_rows) < 0.8, rng.integers(0, 30, n_rows) // n_classes * n_classes + y, 99)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows) + y,
            "city": [f"city {c}" for c in cities],
            "income": np.where(rng.random(n_rows) < 0.2, np.nan, rng.normal(size=n_rows) - y),
            "colour": np.where(rng.random(n_rows) < 0.5, np.array(["red", "blue", "grey"])[y % 3], None),
        }
    )
    return frame, y


PUBLISHED = TableEncoder(prior="published")  # its groups of rare values fit the rows that made them


def many_values(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """540 rows, columns of 300 to 400 categories: a value has one or two rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 540)
    columns = {}
    for k in range(3):
        n_values = int(rng.integers(300, 401))
        values = rng.integers(0, n_values, y.size)
        columns[f"c{k}"] = np.where(rng.random(y.size) < 0.75, values // 2 * 2 + y, values).astype(str)
    return pd.DataFrame(columns), y


def refitted(
    X: pd.DataFrame,
    y: np.ndarray,
    fit: np.ndarray,
    rows: np.ndarray,
    subset: list[str],
    weights: Any = None,
    **encoder: Any,
) -> np.ndarray:
    """Log probabilities of ``rows`` by an encoder and a naive Bayes that know the rows ``fit`` only."""
    own = None if weights is None else weights[fit]
    model = TableEncoder(**encoder)
    coded = model.fit_transform_coded(X.iloc[fit], y[fit], own)
    used = np.isin(X.columns, subset).astype(float)
    bayes = DiscreteNB(feature_weights=used, smoothing=1.0).fit(coded)
    return bayes.predict_log_proba(model.transform_coded(X.iloc[rows]))


def subsets_of(trace: SearchTrace) -> list[tuple[list[str], float, float]]:
    """Subset, criterion and validation of every step of a forward search."""
    names: list[str] = []
    steps = []
    for row in moves(trace).iter_rows(named=True):
        names = names if row["feature"] is None else [*names, row["feature"]]
        steps.append((names, row["criterion"], row["validation"]))
    return steps


ENCODERS: list[dict[str, Any]] = [
    {},
    {"categorical": "values", "numeric": "mdlp"},
    {"numeric": "equal-frequency", "missing": "ignore"},
]


@pytest.mark.parametrize(
    ("n_classes", "weighted", "encoder"),
    mostly_slow(
        [(*rows, encoder) for rows in [(2, True), (3, False)] for encoder in ENCODERS],
        [(2, True, ENCODERS[0]), (3, False, ENCODERS[1]), (2, True, ENCODERS[2])],
    ),
)
def test_folds_equal_encoders_fitted_again(n_classes: int, weighted: bool, encoder: dict[str, Any]) -> None:
    X, y = mixed_table(120, n_classes)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, y.size) if weighted else None
    selector = WrapperSelector(
        "log_loss", direction="forward", evaluation=5, smoothing=1.0, recode=True, encoder=TableEncoder(**encoder)
    ).fit(X, y, sample_weight=weights)
    steps = subsets_of(selector.trace_)
    assert len(steps) >= 3
    for subset, criterion, _ in steps:
        log_proba = np.zeros((y.size, n_classes))
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            log_proba[test] = refitted(X, y, train, test, subset, weights, **encoder)
        own = -log_proba[np.arange(y.size), y]
        assert criterion == pytest.approx(np.average(own, weights=weights), rel=0, abs=1e-10)


def test_overlapping_and_repeated_training_rows() -> None:
    X, y = mixed_table()
    rng = np.random.default_rng(0)
    splits = [(rng.integers(0, 150, 120), rng.choice(150, 40, replace=False)) for _ in range(3)]
    selector = WrapperSelector("log_loss", direction="forward", evaluation=splits, smoothing=1.0, recode=True).fit(X, y)
    for subset, criterion, _ in subsets_of(selector.trace_):
        own = [-refitted(X, y, fit, rows, subset)[np.arange(rows.size), y[rows]] for fit, rows in splits]
        assert criterion == pytest.approx(np.concatenate(own).mean(), rel=0, abs=1e-10)


def test_held_out_rows_have_no_say_in_the_levels() -> None:
    X, y = mixed_table(200)
    selector = WrapperSelector("log_loss", direction="forward", validation="brier", smoothing=1.0).fit(X, y)
    assert selector.trace_.recoded
    coded = CodedTable(
        np.arange(200, dtype=np.uint8)[None], np.array([200]), ("row",), y.astype(np.uint8), np.unique(y)
    )
    fit, held_out = (half.codes[0].astype(int) for half in row_splits.hold_out(coded, 0.5, 0))
    for subset, criterion, validation in subsets_of(selector.trace_):
        guide = refitted(X, y, fit, fit, subset)
        assert criterion == pytest.approx(log_loss(y[fit], np.exp(guide)), rel=0, abs=1e-10)
        judge = np.exp(refitted(X, y, fit, held_out, subset))
        brier = ((judge[:, 1] - y[held_out]) ** 2).mean()
        assert validation == pytest.approx(brier, rel=0, abs=1e-10)


@pytest.mark.parametrize("make", [MRMRSelector, lambda **o: InformationGainSelector(n_features_to_select="auto", **o)])
def test_rankings_are_measured_on_rows_that_the_levels_do_not_know(make: Any) -> None:
    X, y = many_values()
    optimistic = make(validation="log_loss", recode=False, encoder=PUBLISHED).fit(X, y)
    honest = make(validation="log_loss", encoder=PUBLISHED).fit(X, y)
    assert optimistic.trace_.recoded is False
    assert honest.trace_.recoded is True
    wrong, right = (moves(s.trace_)["validation"].to_list()[-1] for s in (optimistic, honest))
    rows = np.random.default_rng(0).permutation(y.size)
    levels = refitted(X, y, rows[:270], rows[270:], list(X.columns), prior="published")
    true = log_loss(y[rows[270:]], np.exp(levels))
    assert wrong < 0.2
    assert abs(right - true) < 0.3
    again = make(validation="log_loss", recode=True, encoder=PUBLISHED).fit(X, y)
    assert again.support_.tolist() == honest.support_.tolist()


def test_leave_one_out_takes_levels_of_the_other_folds_and_counts_of_the_other_rows() -> None:
    X, y = mixed_table(60)
    selector = WrapperSelector("log_loss", direction="forward", evaluation="loo", smoothing=1.0).fit(X, y)
    coded = TableEncoder().fit_transform_coded(X, y)
    fold = folds_by_class(coded, 10)
    assert np.bincount(fold).tolist() == [6] * 10
    for subset, criterion, _ in subsets_of(selector.trace_):
        used = np.isin(X.columns, subset).astype(float)
        losses = []
        for number in range(10):
            encoder = TableEncoder().fit(X[fold != number], y[fold != number])
            every = encoder.transform_coded(X).with_rows(class_codes=y.astype(np.uint8), classes=np.array([0, 1]))
            for row in np.flatnonzero(fold == number):
                bayes = DiscreteNB(feature_weights=used, smoothing=1.0).fit(every.take(np.arange(60) != row))
                losses.append(-bayes.predict_log_proba(every.take([row]))[0, y[row]])
        assert criterion == pytest.approx(np.mean(losses), rel=0, abs=1e-10)


@pytest.mark.parametrize("evaluation", ["loo", "holdout", 5])
def test_levels_that_do_not_depend_on_classes_stay(evaluation: Any) -> None:
    X, y = mixed_table()
    options: dict[str, Any] = {"evaluation": evaluation, "direction": "forward"}
    encoder = TableEncoder(numeric="equal-frequency", categorical="values")
    plain = WrapperSelector(encoder=encoder, recode=False, **options).fit(X, y)
    auto = WrapperSelector(encoder=encoder, **options).fit(X, y)
    assert moves(auto.trace_).equals(moves(plain.trace_))
    assert auto.trace_.recoded is None
    scores = X[["size", "income"]]
    indicators = [
        WrapperSelector(encoder=IndicatorEncoder(thresholds=[-1.0, 0.0, 1.0]), recode=recode, **options).fit(scores, y)
        for recode in (True, False, "auto")
    ]
    first, *others = [moves(selector.trace_) for selector in indicators]
    assert all(first.equals(other) for other in others)
    assert all(selector.trace_.recoded is None for selector in indicators)


def test_rows_in_another_order_and_some_rows_only_keep_their_raw_values() -> None:
    X, y = mixed_table()
    coded, refitter = TableEncoder().fit_with_refitter(X, y)
    rows = np.random.default_rng(0).permutation(150)[:100]
    part = coded.take(rows).by_class
    order = rows[np.argsort(y[rows], kind="stable")]
    fit, rest = refitter.refit(part.rows, np.arange(0, 100, 2), np.arange(1, 100, 2))
    alone = TableEncoder()
    np.testing.assert_array_equal(fit.codes, alone.fit_transform_coded(X.iloc[order[::2]], y[order[::2]]).codes)
    np.testing.assert_array_equal(rest.codes, alone.transform(X.iloc[order[1::2]]).T)
    np.testing.assert_array_equal(rest.class_codes, y[order[1::2]])


def test_a_refitter_of_other_features_or_rows_is_refused() -> None:
    X, y = mixed_table()
    encoder = TableEncoder()
    coded, refitter = encoder.fit_with_refitter(X, y)
    some = np.array([0, 2])
    with pytest.raises(ValueError, match="refitter and coded table have different features"):
        WrapperSelector().fit_coded(coded.select(some), refitter)
    with pytest.raises(ValueError, match="refitter and coded table have different features"):
        SelectiveNB().fit_coded(coded.select(some), encoder, refitter)
    _, of_others = TableEncoder().fit_with_refitter(X[::-1], y[::-1])
    with pytest.raises(ValueError, match="refitter and coded table have different rows"):
        SelectiveNB().fit_coded(coded, encoder, of_others)
    part = WrapperSelector().fit_coded(coded.select(some), refitter.select(some))
    assert part.trace_.recoded
    assert part.n_features_in_ == 2


def test_large_tables_and_codes_say_where_their_levels_come_from(limits: Limits) -> None:
    X, y = mixed_table()
    coded = TableEncoder().fit_transform_coded(X, y)
    with pytest.raises(ValueError, match=r"recode=True refits the levels .* pass refitter= to fit_coded"):
        WrapperSelector(encoder=None, recode=True).fit(coded.codes.T, y)
    assert WrapperSelector(encoder=None).fit(coded.codes.T, y).trace_.recoded is None
    assert WrapperSelector(recode=np.True_, evaluation=3).fit(X, y).trace_.recoded
    limits(recoded_cells=3 * 4 * 150)
    assert WrapperSelector(evaluation=3).fit(X, y).trace_.recoded is True
    large = WrapperSelector(evaluation=4).fit(X, y)
    assert large.trace_.recoded is False
    assert large.trace_.measured == "on 4 folds, levels learnt from these rows"


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        (WrapperSelector(evaluation=4), "on 4 folds, levels learnt from the rows of the other folds"),
        (WrapperSelector(evaluation="loo", recode=False), "by leave-one-out, levels learnt from these rows"),
        (WrapperSelector(), "on fitted and held-out rows, levels learnt from the fitted rows only"),
        (MRMRSelector(recode=False), "on fitted and held-out rows, levels learnt from these rows"),
        (AccuracySelector(), "on training rows"),
        (AUCSelector(), "on training rows"),
    ],
)
def test_pictures_say_where_a_criterion_was_measured(selector: Any, words: str) -> None:
    trace = selector.fit(*mixed_table()).trace_
    assert trace.measured == words
    assert f"Measured {words}." in path_figure(trace).caption


@pytest.mark.parametrize("evaluation", ["train", "loo", "holdout", 5])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_area_under_the_curve_is_one_half_without_features(evaluation: Any, n_classes: int) -> None:
    X, y = mixed_table(151, n_classes)
    selector = WrapperSelector("auc", direction="forward", evaluation=evaluation, validation="auc").fit(X, y)
    first = moves(selector.trace_).row(0, named=True)
    assert first["criterion"] == selector.trace_.null_criterion == 0.5
    assert first["validation"] == (0.5 if evaluation == "holdout" else None)
    assert "0.5" in path_figure(selector).caption


@pytest.mark.parametrize("name", ["wrapper", "mrmr"])
def test_the_log_loss_chooses_where_a_class_has_nearly_all_rows(name: str) -> None:
    X, y = mixed_table(400)
    rare = np.flatnonzero(y == 1)
    rows = np.sort(np.concatenate([np.flatnonzero(y == 0), rare[:20]]))
    some, labels = X.iloc[rows].reset_index(drop=True), y[rows]
    blind = SelectiveNB(name).fit(some, labels)
    assert blind.trace_.validation_name == "log_loss"
    assert SelectiveNB(name).fit(X, y).trace_.validation_name == "error"
    weights = np.where(y == 0, 9.0, 1.0)
    assert SelectiveNB(name).fit(X, y, sample_weight=weights).trace_.validation_name == "log_loss"
    own = {"wrapper": WrapperSelector, "mrmr": MRMRSelector}[name](validation="error")
    assert SelectiveNB(own).fit(some, labels).trace_.validation_name == "error"
    assert blind.n_features_selected_ > 0


@pytest.mark.parametrize("weighted", [False, True])
def test_passes_over_a_scan_refit_levels_as_in_memory(tmp_path: Path, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    n = 30_000  # more rows than the sample that stays in memory
    y = rng.choice(["a", "b", "c"], n, p=[0.5, 0.4, 0.1])
    x, z = rng.normal(size=n), rng.normal(size=n)
    frame = pl.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.1, np.nan, x + (y == "a")),
            "sign": np.where(y == "b", np.abs(z) * np.sign(x), z),  # says something together with `side` only
            "side": np.where(rng.random(n) < 0.5, x, -x),
            "word": rng.choice(list("uvw"), n),
            "weight": rng.integers(0, 3, n).astype(float),
            "y": pl.Series(np.where(rng.random(n) < 0.05, None, y), dtype=pl.String),
        }
    )
    frame.write_parquet(tmp_path / "rows.parquet", row_group_size=7000)
    known = frame.drop_nulls("y")
    names = ["x", "sign", "side", "word"]
    weights = known["weight"].to_numpy() if weighted else None
    encoder = TableEncoder(pairs=[("sign", "side"), ("x", "word")])
    coded, refitter = encoder.fit_with_refitter(known.select(names), known["y"], weights)
    classes = np.asarray(coded.class_codes)
    train = np.flatnonzero((np.arange(coded.n_rows) % 3 > 0) & (classes != 2))  # a class is missing there
    test = np.flatnonzero(np.arange(coded.n_rows) % 3 == 0)
    expected = refitter.refit(coded.rows, train, test)
    source = bayesieve.scan(tmp_path / "rows.parquet", columns=[*names, "y", *(["weight"] if weighted else [])])
    with ThreadPoolExecutor(1) as executor:
        for reader in (None, executor):
            coding = CodingOptions(executor=reader)
            scanned, again = encoder.fit_with_refitter(source, "y", "weight" if weighted else None, coding)
            for own, other in zip(again.refit(scanned.rows, train, test), expected, strict=True):
                np.testing.assert_array_equal(own.codes, other.codes)
                np.testing.assert_array_equal(own.class_codes, other.class_codes)
                assert [level.labels for level in own.levels] == [level.labels for level in other.levels]


def test_a_search_refits_the_levels_of_a_scan_as_in_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 30_000)  # more rows than the sample that stays in memory
    columns = {"x": rng.normal(size=y.size) + y, "text": [f"{i % 7}" for i in range(y.size)], "z": y ^ (y > 2)}
    frame = pl.DataFrame(columns | {"y": y}).with_columns(z=pl.col("z").shuffle(1))
    frame.write_parquet(tmp_path / "rows.parquet")
    selector = WrapperSelector("log_loss", recode=True)
    model = SelectiveNB(selector).fit(bayesieve.scan(tmp_path / "rows.parquet"), "y")
    expected = SelectiveNB(selector).fit(frame.drop("y"), frame["y"])
    assert model.trace_.to_frame().drop("seconds").equals(expected.trace_.to_frame().drop("seconds"))
