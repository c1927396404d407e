"""Contributions of monotone columns never move against their sign, also after an early end."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

from bayesieve import IndicatorEncoder, SelectiveNB, TableEncoder, load
from bayesieve.evidence import calibration, solver
from bayesieve.evidence.monotone import monotone, pool_violators, rising_cells
from bayesieve.evidence.shapes import Shape
from bayesieve.table import FeatureLevels
from tests.cases import mostly_slow
from tests.evidence.test_solver import CURVE, designs, known, log_joint, mode, penalised, precisions, problem
from tests.limits import interrupted
from tests.reference.evidence import optimum


def frame(seed: int, n_rows: int) -> tuple[pl.DataFrame, np.ndarray]:
    """Numbers whose evidence rises, turns, and waves; one near the first; words."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 3))
    word = rng.choice(list("abc"), n_rows)
    score = x[:, 0] + 0.8 * (x[:, 1] ** 2 - 1) + 0.5 * np.sin(3 * x[:, 2]) + (word == "a") * x[:, 0]
    columns = {
        "up": np.where(rng.random(n_rows) < 0.1, np.nan, x[:, 0]),
        "turns": x[:, 1],
        "waves": x[:, 2],
        "near": x[:, 0] + rng.normal(size=n_rows),
        "word": word,
    }
    return pl.DataFrame(columns), np.where(score + rng.logistic(size=n_rows) > 0, "yes", "no")


def contrast(model: SelectiveNB, name: str) -> np.ndarray:
    """Evidence of the second class against the first, over ascending numbers."""
    k = model.feature_names_in_.tolist().index(name)
    feature = model.scorecard_.features[k]
    evidence = feature.contributions[rising_cells(feature.cells, 1)]
    difference: np.ndarray = evidence[:, 1] - evidence[:, 0]
    return difference


def joint_contrasts(model: SelectiveNB, X: pl.DataFrame, name: str, numbers: np.ndarray) -> np.ndarray:
    """(n_rows, n_logits) log odds of the rows with each of these numbers in place of their own."""
    each = [model.scorecard_.joint(X.with_columns(pl.lit(float(n)).alias(name))) for n in numbers]
    return np.stack([joint[:, 1] - joint[:, 0] for joint in each], axis=1)


@pytest.mark.parametrize(
    ("calibrate", "seed"), mostly_slow(product(["levels", "cells", "auto"], range(2)), [("levels", 0), ("cells", 1)])
)
def test_evidence_never_falls_or_never_rises(calibrate: Any, seed: int) -> None:
    X, y = frame(seed, 700)
    signs = {"up": 1, "turns": -1 if seed % 2 else 1, "waves": 1, "near": -1}
    model = SelectiveNB(calibrate=calibrate, pairs=0, monotone=signs).fit(X, y)
    used = 0
    for name, sign in signs.items():
        rises = np.diff(contrast(model, name)) * sign
        used += int(rises.any())
        assert (rises >= 0).all()
        assert (np.diff(joint_contrasts(model, X[:20], name, np.linspace(-4, 4, 50))) * sign >= 0).all()
    assert used >= 2
    free = SelectiveNB(calibrate=calibrate, pairs=0).fit(X, y)
    assert (np.diff(contrast(free, "turns")) < 0).any()
    assert (np.diff(contrast(free, "turns")) > 0).any()
    np.testing.assert_array_equal(model.scorecard_.explain(X).joint_log_proba(), model.scorecard_.joint(X))


def test_a_sign_against_the_rows_leaves_no_evidence_except_of_missing_values() -> None:
    X, y = frame(0, 3000)
    X = X.with_columns(up=pl.when(pl.Series(y == "yes") & (pl.int_range(3000) % 3 > 0)).then(None).otherwise("up"))
    model = SelectiveNB(calibrate="cells", monotone={"up": -1}).fit(X, y)
    assert np.ptp(contrast(model, "up")) < 1e-12
    evidence = model.scorecard_.features[0].contributions
    assert model.encoder_.levels_[0].missing_code == 0
    assert evidence[0, 1] - evidence[0, 0] > contrast(model, "up").max() + 1.0


@pytest.mark.slow
def test_a_sign_that_the_rows_agree_with_costs_nothing() -> None:
    (X, y), (new, truth) = frame(1, 4000), frame(2, 4000)
    at = np.arange(4000), (truth == "yes").astype(int)
    free = SelectiveNB(calibrate="cells").fit(X, y).predict_log_proba(new)[at].mean()
    held = SelectiveNB(calibrate="cells", pairs=0, monotone={"up": 1}).fit(X, y).predict_log_proba(new)[at].mean()
    assert held == pytest.approx(free, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1, -1])
def test_the_optimum_is_that_of_a_slow_constrained_fit(sign: int) -> None:
    rng = np.random.default_rng(0)
    shapes = [Shape.free(4), CURVE, Shape.free(3)]
    for k, cells in ((0, np.arange(1, 4)[::sign]), (1, np.arange(6)[::sign])):
        counted = monotone(rng.normal(size=(shapes[k].n_cells, 2)), cells, rng.random(shapes[k].n_cells))
        shapes[k] = replace(shapes[k], rising=cells, counted=counted)
    of = problem(12, 2, n_rows=60, shapes=shapes)
    variances = np.array([0.3, 0.5, 1.0, 0.2])
    point = np.zeros((of.design.n_parameters, 1))
    for _ in range(5):
        point = mode(of, point, variances, 50)
    rising = [
        (k, s.basis()[s.rising], np.diff(s.counted[s.rising])[:, 0]) for k, s in enumerate(shapes) if s.rising.size
    ]
    fit = (designs(of), precisions(of, variances), *known(of))
    wanted, joint = optimum(*fit, rising=rising)
    loss = penalised(of, point, variances)
    assert wanted - 0.05 < loss <= wanted + 1e-6
    np.testing.assert_allclose(log_joint(of, point), joint, atol=0.03)
    assert wanted > optimum(*fit)[0] + 0.3  # so that the order makes a difference


def test_the_gradient_with_an_order_is_that_of_differences() -> None:
    rng = np.random.default_rng(2)
    shapes = [replace(Shape.free(4), rising=np.array([3, 1, 2]), counted=np.zeros((4, 2))), Shape(5, single_cells=True)]
    shapes[1] = replace(shapes[1], rising=np.arange(5), counted=rng.normal(size=(5, 2)))
    of = problem(2, 2, shapes=shapes)
    point = rng.normal(scale=0.3, size=(of.design.n_parameters, 1))
    gradient = of.evaluate(point).gradient
    for i, j in np.ndindex(point.shape):
        up, down = point.copy(), point.copy()
        up[i, j] += 1e-6
        down[i, j] -= 1e-6
        assert (of.evaluate(up).loss - of.evaluate(down).loss) / 2e-6 == pytest.approx(
            gradient[i, j], abs=1e-5, rel=1e-5
        )


def test_the_nearest_monotone_evidence() -> None:
    rng = np.random.default_rng(4)
    evidence, rows = rng.normal(size=(6, 2)), rng.integers(1, 30, 6).astype(float)
    cells = np.array([4, 1, 2, 5])
    fitted = monotone(evidence, cells, rows)
    before, after = evidence[:, 1] - evidence[:, 0], fitted[:, 1] - fitted[:, 0]
    np.testing.assert_allclose(after[[0, 3]], before[[0, 3]])
    best = minimize(
        lambda z: float(rows[cells] @ (z - before[cells]) ** 2),
        np.zeros(4),
        method="SLSQP",
        constraints={"type": "ineq", "fun": np.diff},
        options={"ftol": 1e-12},
    )
    np.testing.assert_allclose(after[cells], best.x, atol=1e-4)


def test_cells_without_rows_are_ordered_and_change_no_others() -> None:
    contrast, rows = np.array([0.0, 2.0, -1.0, 1.0, 5.0, 4.0, 9.0]), np.array([3.0, 0.0, 0.0, 2.0, 0.0, 1.0, 0.0])
    fitted = monotone(contrast[:, None] * [-0.5, 0.5], np.arange(7), rows)
    # Of cells without rows, the second and third have the mean 0.5 of both, and the fifth ends at its upper neighbour.
    np.testing.assert_allclose(np.diff(fitted)[:, 0], [0.0, 0.5, 0.5, 1.0, 4.0, 4.0, 9.0])


def test_levels_in_the_wrong_order_are_merged() -> None:
    probabilities = np.array([[0.1, 0.3], [0.3, 0.1], [0.2, 0.3], [0.1, 0.0999], [0.3, 0.2001]])
    levels = np.array([1, 2, 3, 4])
    merged = pool_violators(np.log(probabilities), levels)
    contrast = merged[:, 1] - merged[:, 0]
    together = np.log(0.6 / 0.6)
    np.testing.assert_allclose(contrast, [np.log(3), -np.log(3), together, together, together], atol=1e-12)
    rising = np.log(probabilities[[1, 4, 2]])
    as_counted = pool_violators(rising, np.arange(3))
    np.testing.assert_allclose(as_counted[:, 1] - as_counted[:, 0], rising[:, 1] - rising[:, 0])
    as_one = pool_violators(rising, np.arange(3)[::-1])
    np.testing.assert_allclose(as_one[:, 1] - as_one[:, 0], np.log(0.6001 / 0.8))


def test_the_order_of_cells() -> None:
    cuts = {"name": "x", "kind": "numeric", "type": "number"}
    missing_apart = FeatureLevels(**cuts, cut_points=np.array([-np.inf, 1.0, 2.0]), missing_code=0)
    assert rising_cells(missing_apart, 1).tolist() == [1, 2, 3]
    assert rising_cells(missing_apart, -1).tolist() == [3, 2, 1]
    shared = FeatureLevels(**cuts, cut_points=np.array([1.0]), missing_code=1)
    assert rising_cells(shared, 1).tolist() == [0, 1]


def test_an_early_end_is_monotone() -> None:
    X, y = frame(6, 600)
    whole = SelectiveNB(calibrate="cells", pairs=0).fit(X, y)
    assert (np.diff(contrast(whole, "turns")) < 0).any()
    with interrupted(solver, "find_mode"), pytest.warns(UserWarning, match="fit of the contributions was interrupted"):
        model = SelectiveNB(calibrate="cells", pairs=0, monotone={"turns": 1}).fit(X, y)
    assert (np.diff(contrast(model, "turns")) >= 0).all()
    with interrupted(calibration, "fit_weights"), pytest.warns(UserWarning, match="Calibration was interrupted"):
        model = SelectiveNB(calibrate="cells", pairs=0, monotone={"turns": 1}).fit(X, y)
    with interrupted(calibration, "fit_weights"), pytest.warns(UserWarning, match="Calibration was interrupted"):
        free = SelectiveNB(calibrate="cells", pairs=0).fit(X, y)
    assert (np.diff(contrast(free, "turns")) < 0).any()
    assert np.ptp(contrast(model, "turns")) > 0.1
    assert (np.diff(contrast(model, "turns")) >= 0).all()


@pytest.mark.slow
def test_no_pair_contains_a_monotone_column() -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(1500, 4))
    X = pl.DataFrame({name: x[:, i] for i, name in enumerate("abcd")})
    y = (x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3] + x[:, 0] + 0.3 * rng.logistic(size=1500) > 0).astype(int)
    free = SelectiveNB(calibrate="cells", pairs="auto").fit(X, y)
    assert {part.name for pair in free.encoder_.levels_.pairs for part in pair.parts} == set("abcd")
    model = SelectiveNB(calibrate="cells", pairs="auto", monotone={"a": 1}).fit(X, y)
    assert {part.name for pair in model.encoder_.levels_.pairs for part in pair.parts} == set("bcd") - {"b"}
    assert (np.diff(joint_contrasts(model, X[:50], "a", np.linspace(-3, 3, 30))) >= 0).all()
    encoder = TableEncoder(pairs="auto")
    coded, refitter = encoder.fit_with_refitter(X, y)
    shared = SelectiveNB(calibrate="cells", monotone={"a": 1}).fit_coded(coded, encoder, refitter)
    assert len(encoder.levels_.pairs) == len(TableEncoder(pairs="auto").fit(X, y).levels_.pairs)
    assert (np.diff(joint_contrasts(shared, X[:50], "a", np.linspace(-3, 3, 30))) >= 0).all()
    named = SelectiveNB(calibrate="cells", pairs=[["a", "b"], ["c", "d"]], monotone={"a": 1}).fit(X, y)
    assert (np.diff(joint_contrasts(named, X[:50], "a", np.linspace(-3, 3, 30))) >= 0).all()
    assert named.feature_weights_[4] == 0 < named.feature_weights_[5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"monotone": ["up"]}, "monotone must be None or a dict from names of columns to"),
        ({"monotone": {"up": 2}}, "monotone must be .1 or -1 for the column 'up', got 2"),
        ({"monotone": {"up": True}}, "monotone must be .1 or -1 for the column 'up', got True"),
        ({"monotone": {"up": "+1"}}, "monotone must be .1 or -1 for the column 'up'"),
        ({"monotone": {"left": 1}}, "monotone names the column 'left', which is not in the table"),
        ({"monotone": {"word": 1}}, "monotone names the column 'word', whose categories have no order"),
        ({"monotone": {"up": 1}, "calibrate": "weights"}, "monotone needs fitted contributions.*calibrate='weights'"),
        ({"monotone": {"up": 1}, "calibrate": False}, "monotone needs fitted contributions"),
        ({"monotone": {"up": 1}, "calibrate": "auto", "selector": "map"}, "monotone needs fitted contributions"),
        ({"monotone": {"up": 1}, "n_classes": 3}, "monotone needs two classes, but the target has 3"),
    ],
)
def test_what_cannot_be_monotone_is_refused_in_one_sentence(options: dict[str, Any], message: str) -> None:
    X, y = frame(9, 100)
    options = dict(options)
    y = np.arange(100) % 3 if options.pop("n_classes", 2) == 3 else y
    with pytest.raises(ValueError, match=message):
        SelectiveNB(**{"calibrate": "cells"} | options).fit(X, y)


def test_indicators_are_ordered_too() -> None:
    rng = np.random.default_rng(0)
    X = pl.DataFrame({"score": rng.random(500)})
    y = rng.random(500) < X["score"].to_numpy()
    encoder = IndicatorEncoder(thresholds=[0.3, 0.5, 0.7])
    name = encoder.fit(X, y).levels_[1].name
    model = SelectiveNB(encoder=encoder, calibrate="levels", monotone={name: -1}).fit(X, y)
    evidence = model.scorecard_.features[1].contributions
    assert evidence[0, 1] - evidence[0, 0] >= evidence[1, 1] - evidence[1, 0]


def test_monotone_columns_are_marked_in_summary_and_report(tmp_path: Any) -> None:
    X, y = frame(0, 700)
    model = SelectiveNB(pairs=0, monotone={"up": 1, "near": -1}).fit(X, y)
    marks = model.summary()
    assert dict(zip(marks["feature"], marks["monotone"], strict=True)) == {
        name: {"up": 1, "near": -1}.get(name, 0) for name in X.columns
    }
    assert dict(zip(marks["feature"], marks["monotone_class"], strict=True)) == {
        name: "yes" if name in ("up", "near") else None for name in X.columns
    }
    assert "monotone" not in SelectiveNB(pairs=0).fit(X, y).summary().columns
    model.report(tmp_path / "report.html", X, y, cv=0)
    text = (tmp_path / "report.html").read_text("utf-8")
    assert text.count("numeric, never falls") >= 1
    assert ("near" in model.selected_features_) == ("numeric, never rises for yes</span>" in text)


CONTRADICTED = list(product([(0, 1), (False, True), ("bad", "good")], ["levels", "cells"]))


@pytest.mark.parametrize(("labels", "calibrate"), mostly_slow(CONTRADICTED, [CONTRADICTED[2], CONTRADICTED[5]]))
def test_a_sign_that_the_rows_contradict_gets_a_caution(labels: Any, calibrate: Any, tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    rising, turning, noise = rng.normal(size=(3, 600))
    y = np.array(labels)[(rising + turning**2 - 1 + rng.logistic(size=600) > 0).astype(int)]
    X = pl.DataFrame({"duration": rising, "turning": turning, "noise": noise})
    wrong = SelectiveNB(calibrate=calibrate, monotone={"duration": -1, "turning": 1, "noise": 1})
    with pytest.warns(UserWarning, match=f"The rows contradict monotone.*'duration': -1.*to class {labels[1]!s}"):
        wrong.fit(X, y)
    assert [caution.columns for caution in wrong.cautions_ if caution.kind == "monotone"] == [("duration",)]
    assert np.ptp(contrast(wrong, "duration")) < 0.2
    wrong.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").cautions_ == wrong.cautions_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        right = SelectiveNB(calibrate=calibrate, monotone={"duration": 1, "turning": -1, "noise": -1}).fit(X, y)
    assert not right.cautions_
