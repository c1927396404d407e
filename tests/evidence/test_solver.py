"""The joint fit of contributions: its optimum, gradients and errors, early ends, blocks and threads."""

from __future__ import annotations

import tracemalloc
import warnings
from dataclasses import replace
from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import log_softmax

from bayesieve import MODLGrouper, SelectiveNB, TableEncoder, load
from bayesieve.engine.progress import Clock
from bayesieve.evidence import solver, terms
from bayesieve.evidence.calibration import CalibrationRows, calibrate
from bayesieve.evidence.inclusion import log_bayes_factors
from bayesieve.evidence.problem import Curvature, EvidenceProblem, Stop, find_mode, laplace_covariance_root, logit_scale
from bayesieve.evidence.shapes import Shape
from bayesieve.evidence.solver import VarianceSearch, choose_expected_variance, solve, start_with_fewer
from bayesieve.table import FeatureLevels, as_table
from tests.cases import mostly_slow
from tests.limits import Limits, Watch, interrupted
from tests.reference.evidence import optimum, penalised_loss
from tests.report.markup import payload

APART = Shape(5, single_cells=True)
CURVE = Shape.of(np.random.default_rng(3).normal(size=(6, 5)), np.array([0, 0, 1, 1, 1]))


def problem(seed: int, n_classes: int, *, n_rows: int = 40, shapes: Any = None, weights: Any = None) -> EvidenceProblem:
    rng = np.random.default_rng(seed)
    shapes = [Shape.free(3), APART, CURVE, Shape(4)] if shapes is None else shapes
    codes = np.stack([rng.integers(0, shape.n_cells + 1, n_rows) for shape in shapes]).astype(np.uint8)
    classes = (codes[0] + rng.integers(0, 2, n_rows)) % n_classes
    offset = rng.normal(size=(n_rows, n_classes))
    return EvidenceProblem.of_rows(codes, shapes, offset, classes, np.ones(n_rows) if weights is None else weights)


def rows_of(of: EvidenceProblem) -> Any:
    """The rows of a problem of one block."""
    (rows,) = of.chunks
    return rows


def of_classes(logits: np.ndarray) -> np.ndarray:
    """Return the contributions to all classes that logits, (..., n_logits), stand for."""
    return logits * [-0.5, 0.5] if logits.shape[-1] == 1 else logits


def curvature(of: EvidenceProblem, point: np.ndarray) -> Curvature:
    return of.curvature(point, of.draw_sample())


def prior_variances(of: EvidenceProblem, variances: np.ndarray) -> np.ndarray:
    """Return the variances of the priors of all parameters, from those of deviations of classes."""
    return np.append(variances, 1.0)[of.design.group] / logit_scale(of.design.n_logits).square


def mode(of: EvidenceProblem, point: np.ndarray, variances: np.ndarray, steps: int) -> np.ndarray:
    """Return the point after some steps from another towards the optimum for these variances."""
    root = laplace_covariance_root(of.design, curvature(of, point), variances)
    return find_mode(of, of.evaluate(point), root, Stop(steps, 1e-4, settle=True)).point


def penalised(of: EvidenceProblem, point: np.ndarray, variances: np.ndarray) -> float:
    """Return the log loss plus the penalties."""
    penalty = 0.5 * float((point**2 / prior_variances(of, variances)[:, None]).sum())
    return of.evaluate(point).loss + penalty


def known(of: EvidenceProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The log joint that deviations are added to, classes and weights of the rows."""
    rows = rows_of(of)
    return of_classes(rows.offset), rows.classes, rows.weights


def designs(of: EvidenceProblem) -> list[np.ndarray]:
    """(n_rows, n_directions) of each feature; cells that deviate on their own are directions."""
    matrices = []
    for codes, shape in zip(rows_of(of).codes, of.shapes, strict=True):
        lines = np.concatenate([shape.basis(), np.eye(shape.n_cells)], axis=1) if shape.single_cells else shape.basis()
        matrices.append(np.concatenate([lines, np.zeros((1, lines.shape[1]))])[codes])
    return matrices


def precisions(of: EvidenceProblem, variances: np.ndarray) -> list[np.ndarray]:
    """Of the deviation of each class."""
    square = logit_scale(of.design.n_logits).square
    each, apart, result = 1.0 / (prior_variances(of, variances) * square), of.design.intercept + 1, []
    for (first, stop), shape in zip(pairwise(of.design.first_function), of.shapes, strict=True):
        own = each[apart : apart + shape.n_cells] if shape.single_cells else np.zeros(0)
        apart += own.size
        result.append(np.concatenate([each[first:stop], own]))
    return result


def log_joint(of: EvidenceProblem, point: np.ndarray) -> np.ndarray:
    """(n_rows, n_classes) at these parameters."""
    rows = rows_of(of)
    joint = of_classes(rows.offset + point[of.design.intercept])
    for codes, table in zip(rows.codes, of.deviations(point)[0], strict=True):
        joint = joint + np.append(table, np.zeros((1, of.n_classes)), axis=0)[codes]
    return joint


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_gradient_is_that_of_differences(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    of = problem(n_classes, n_classes, weights=rng.random(40) + 0.5)
    point = rng.normal(scale=0.3, size=(of.design.n_parameters, of.design.n_logits))
    gradient = of.evaluate(point).gradient
    step = 1e-6
    for i, j in np.ndindex(point.shape):
        up, down = point.copy(), point.copy()
        up[i, j] += step
        down[i, j] -= step
        assert (of.evaluate(up).loss - of.evaluate(down).loss) / (2 * step) == pytest.approx(gradient[i, j], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_optimum_is_that_of_a_slow_fit(n_classes: int) -> None:
    of = problem(10 + n_classes, n_classes)
    variances = np.array([0.3, 0.05, 1.0, 0.2])[: of.design.n_groups]
    point = np.zeros((of.design.n_parameters, of.design.n_logits))
    point = mode(of, point, variances, 200)
    wanted, joint = optimum(designs(of), precisions(of, variances), *known(of))
    assert penalised(of, point, variances) == pytest.approx(wanted, abs=1e-5)
    np.testing.assert_allclose(log_joint(of, point), joint, atol=2e-3)


def test_weaker_effects_are_expected_of_a_rarer_class() -> None:
    even, several = problem(0, 2), problem(0, 3)
    rare = problem(0, 2, weights=np.where(rows_of(even).classes == 1, 1.0, 4.0))  # 20 rows of each class
    assert even.expected_variance == pytest.approx(several.expected_variance)
    assert rare.expected_variance == pytest.approx(4 * 0.2 * 0.8 * even.expected_variance)


def test_many_features_share_the_expected_variance_of_sixteen() -> None:
    sizes = []
    for n in (5, 16, 64):
        of = problem(0, 2, shapes=[Shape.free(3)] * n)
        share = rows_of(of).classes.mean()
        sizes.append(of.expected_variance / (share * (1 - share)))
    assert sizes == pytest.approx([sizes[0], sizes[0], sizes[0] / 4])
    assert problem(0, 3, shapes=[Shape.free(3)] * 64).expected_variance == problem(0, 3).expected_variance


def test_curvatures_of_two_classes_are_exact() -> None:
    of = problem(5, 2, shapes=[Shape.free(3), Shape.free(2)])
    variances = np.array([0.5, 0.1])
    point = np.random.default_rng(0).normal(scale=0.3, size=(of.design.n_parameters, 1))
    steps = laplace_covariance_root(of.design, curvature(of, point), variances).dense[0]

    def loss(numbers: np.ndarray) -> float:
        deviations = np.split(numbers[:, None] * [[-0.5, 0.5]], [3, 5])
        each = [np.ones(3) / variances[0], np.ones(2) / variances[1]]
        parts = (designs(of), deviations[:2], deviations[2][0], each, *known(of))
        return penalised_loss(*parts)

    at, step, n = point[:, 0], 1e-4, of.design.n_parameters
    matrix = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            a, b = step * np.eye(n)[i], step * np.eye(n)[j]
            matrix[i, j] = (loss(at + a + b) - loss(at + a - b) - loss(at - a + b) + loss(at - a - b)) / 4 / step**2
    np.testing.assert_allclose(np.linalg.inv(steps.astype(float) @ steps.T), matrix, atol=2e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_curvatures_of_rows_have_the_trace_of_second_derivatives(n_classes: int) -> None:
    """Logits of several classes add up to zero, so that all but one of their derivatives count."""
    weights = np.random.default_rng(0).random(40) + 0.5
    of = problem(6, n_classes, weights=weights)
    point = np.random.default_rng(1).normal(scale=0.3, size=(of.design.n_parameters, of.design.n_logits))
    logits, of_rows = of.logits_and_curvature(of.design.basis @ point, point[of.design.intercept], rows_of(of))
    chances = np.exp(log_softmax(of_classes(logits), axis=1))
    traces = weights * (1.0 - (chances**2).sum(axis=1))  # of diag(p) - p p'
    share = logit_scale(of.design.n_logits).share
    np.testing.assert_allclose(of_rows.sum(axis=1) * share, traces / (2.0 if n_classes == 2 else 1.0), rtol=1e-12)


def test_the_curvature_of_all_rows_is_that_of_their_cells() -> None:
    weights = np.random.default_rng(0).random(40) + 0.5
    of = problem(7, 2, shapes=[CURVE, Shape.free(3), replace(CURVE, single_cells=True), APART], weights=weights)
    rows = rows_of(of)
    shapes = [shape.of_rows(codes, weights) for shape, codes in zip(of.shapes, rows.codes, strict=True)]
    assert all(shape.shares.size for shape in shapes)  # some rows have no cell
    of = EvidenceProblem.of_rows(rows.codes, shapes, *known(of))
    point = np.random.default_rng(1).normal(scale=0.3, size=(of.design.n_parameters, 1))
    cells = rows.codes + of.design.first_cell[:-1, None]
    matrix = of.design.basis.toarray()[cells].sum(axis=0)
    matrix[:, of.design.intercept] = 1.0
    _, of_rows = of.logits_and_curvature(of.design.basis @ point, point[of.design.intercept], rows)
    whole = of.whole_curvature(point)
    assert whole is not None
    np.testing.assert_allclose(whole.dense[0], matrix.T @ (of_rows * matrix), atol=1e-12)
    assert problem(7, 3).whole_curvature(np.zeros((1, 3))) is None


def test_a_fit_of_redundant_features_ends_at_the_optimum() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 40, (4, 6000))
    codes[1:3] = np.where(rng.random((2, 6000)) < 0.9, codes[0], codes[1:3])
    classes = (rng.random(6000) < 1 / (1 + np.exp(-np.sin(codes[0] / 3)))).astype(np.int64)
    shapes = [Shape.of_values(np.arange(40) // 8, with_groups=True)] * 4
    of = EvidenceProblem.of_rows(codes.astype(np.uint8), shapes, np.zeros((6000, 2)), classes, np.ones(6000))
    fitted = solve(of)
    deviates = np.append(fitted.deviations > 0, True)[of.design.group]
    priors = prior_variances(of, np.maximum(fitted.deviations, 1e-6) ** 2)[:, None]
    slopes = of.evaluate(fitted.point).gradient + fitted.point / priors
    assert np.abs(slopes[deviates]).max() < 1e-7


def test_a_fit_of_several_classes_ends_at_the_optimum() -> None:
    of, random = problem(4, 5, n_rows=600, shapes=[Shape.free(8)] * 12), np.random.default_rng(5)
    rows = rows_of(of)
    codes = np.where(random.random(rows.codes.shape) < 0.9, rows.codes[0], rows.codes).astype(np.uint8)
    of = EvidenceProblem.of_rows(codes, of.shapes, rows.offset, rows.classes, rows.weights)
    fitted = solve(of)
    deviates = np.append(fitted.deviations > 0, True)[of.design.group]
    priors = prior_variances(of, np.maximum(fitted.deviations, 1e-6) ** 2)[:, None]
    slopes = of.evaluate(fitted.point).gradient + fitted.point / priors
    assert np.abs(slopes[deviates]).max() < 1e-4


def test_a_narrowed_problem_has_the_loss_of_deviations_of_nought() -> None:
    of = problem(6, 3, shapes=[CURVE, Shape.free(3), replace(CURVE, single_cells=True), APART])
    worth = np.array([False, True, False, True, False, True, True])
    rest, sample, kept = of.narrowed(worth, of.draw_sample())
    assert len(rest.shapes) == 3
    assert rest.design.n_groups == 4
    point = np.random.default_rng(0).normal(size=(of.design.n_parameters, 3)) * kept[:, None]
    (_, loss, gradient), (_, wanted, whole) = rest.evaluate(point[kept]), of.evaluate(point)
    assert loss == pytest.approx(wanted, abs=1e-10)
    np.testing.assert_allclose(gradient, whole[kept], atol=1e-10)
    for table, k in zip(rest.deviations(point[kept])[0], (0, 2, 3), strict=True):
        np.testing.assert_allclose(table, of.deviations(point)[0][k], atol=1e-12)
    nothing, _, kept = rest.narrowed(np.zeros(4, dtype=bool), sample)
    assert nothing.deviations(np.zeros((1, 3)))[0] == []
    alone = np.zeros_like(point)
    at = of.design.intercept
    alone[at] = point[at]
    assert nothing.evaluate(point[[at]]).loss == pytest.approx(of.evaluate(alone).loss, abs=1e-10)


def test_variances_tell_features_that_are_worth_it_from_others() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (2, 3000)).astype(np.uint8)
    odds = np.array([-1.0, 1.0, -1.0, 1.0])[codes[0]]
    classes = (rng.random(3000) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    shapes = [Shape.free(4), Shape.free(4)]
    noisy = EvidenceProblem.of_rows(codes, shapes, np.zeros((3000, 2)), classes, np.ones(3000))
    assert solve(noisy, roughly=True).deviations[1] < 0.05
    fitted = solve(noisy)
    assert fitted.complete
    assert fitted.deviations[0] > 0.3
    assert fitted.deviations[1] < 0.2
    contrast = fitted.tables[0][:, 1] - fitted.tables[0][:, 0]
    np.testing.assert_allclose(contrast - contrast.mean(), [-1, 1, -1, 1], atol=0.25)
    apart = EvidenceProblem.of_rows(
        codes, [Shape(4, single_cells=True)] * 2, np.zeros((3000, 2)), classes, np.ones(3000)
    )
    others = solve(apart)
    np.testing.assert_allclose(others.tables[0][:, 1] - others.tables[0][:, 0], contrast, atol=0.1)


def test_variances_without_an_expected_one_are_squares_per_effective_coefficient() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, (2, 2000)).astype(np.uint8)
    odds = (np.array([-1.0, 1.0, 0.5, -0.5, 0.0])[codes] * [[0.6], [0.4]]).sum(axis=0)
    classes = (rng.random(2000) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    of = EvidenceProblem.of_rows(codes, [Shape.free(5), APART], np.zeros((2000, 2)), classes, np.ones(2000))
    search = VarianceSearch(of, np.zeros((of.design.n_parameters, 1)), np.full(2, 0.04), nearby=False)
    search.improve(40, 0.0, Clock(None))
    assert search.groups.tolist() == [0, 1]
    search.curvature = None  # that of the last round is from before its last step
    group = search.problem.design.group
    squares = np.bincount(group, search.mode.point[:, 0] ** 2)[:2] / 2.0
    effective = np.bincount(group, search.covariance_root().effective)[:2]
    np.testing.assert_allclose(search.variances, squares / effective, rtol=0.1)


def test_no_expected_variance_is_tried_when_the_time_is_up(watch: Watch) -> None:
    of = problem(4, 2, n_rows=200)
    search = VarianceSearch(of, np.zeros((of.design.n_parameters, 1)), np.full(of.design.n_groups, 0.04), nearby=False)
    search.improve(3, of.expected_variance, Clock(None))
    tried = list[float]()
    watch(VarianceSearch, "improve", lambda search, rounds, expected, *_: tried.append(expected))
    assert choose_expected_variance(search, Clock(0.0)) is search
    assert not tried
    choose_expected_variance(search, Clock(None))
    assert tried[0] == 4.0 * of.expected_variance


def jumping(log_odds: Any) -> EvidenceProblem:
    """Return the problem of 3,000 rows in 40 cells of a curve, which may jump before cells 10, 20 and 30."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 40, (1, 3000)).astype(np.uint8)
    classes = (rng.random(3000) < 1 / (1 + np.exp(-log_odds(codes[0])))).astype(np.int64)
    shape = Shape.of_curve(np.bincount(codes[0], minlength=40).astype(float), 0, np.array([10, 20, 30]))
    return EvidenceProblem.of_rows(codes, [shape], np.zeros((3000, 2)), classes, np.ones(3000))


@pytest.mark.parametrize(
    ("log_odds", "jumps"),
    [
        (lambda cell: np.where(cell < 20, -0.35, 0.35), [20]),
        (lambda cell: np.where(cell < 20, -2.0, 2.0), [20]),
        (lambda cell: np.where((cell < 10) | (cell >= 30), -1.0, 1.0), [10, 30]),
        (lambda cell: np.sin(cell / 8.0), []),
    ],
    ids=["small", "large", "two", "none"],
)
def test_jumps_are_those_that_no_curve_imitates(log_odds: Any, jumps: list[int]) -> None:
    of = jumping(log_odds)
    rough = solve(of, roughly=True)
    fitted = solve(of, start=(rough.point, rough.deviations))
    found = fitted.deviations[of.design.is_jump] > 0
    assert np.array([10, 20, 30])[found].tolist() == jumps


def test_jumps_are_tested_given_the_curve(watch: Watch) -> None:
    of = jumping(lambda cell: np.where(cell < 20, -0.3, 0.3))
    first = np.where(of.design.is_jump, 0.0, 0.04)
    search = VarianceSearch(of, np.zeros((of.design.n_parameters, 1)), first, nearby=False)
    search.improve(4, 0.0, Clock(None))
    search.curvature = None  # that of the last round is from before its last step
    root, logs = search.covariance_root(), list[np.ndarray]()
    watch(solver, "averaged_log_bayes", logs.append)
    search.jumps_that_pay(root)
    point = np.zeros((of.design.n_parameters, 1))
    point[search.parameters] = search.mode.point
    whole, n = of.whole_curvature(point), root.dense.shape[1]
    assert whole is not None
    matrix, others = whole.dense[0], search.parameters[:n]
    jumps = np.flatnonzero(of.design.is_jump[of.design.group[: of.design.intercept]])
    by_others = np.linalg.solve(
        matrix[np.ix_(others, others)] + np.diag(1.0 / root.priors[:n]), matrix[others][:, jumps]
    )
    left = np.diag(matrix[np.ix_(jumps, jumps)] - matrix[jumps][:, others] @ by_others)
    gradients = of.evaluate(point).gradient[jumps]
    expected = log_bayes_factors(gradients, left[:, None], solver._JUMP_VARIANCES / 0.5)  # deviations of two classes
    np.testing.assert_allclose(logs[0], expected, rtol=1e-4)


def test_the_loss_of_a_solution_is_that_of_its_rows() -> None:
    of = problem(3, 2, n_rows=300)
    fitted = solve(of)
    own = log_softmax(log_joint(of, fitted.point), axis=1)[np.arange(300), rows_of(of).classes]
    assert fitted.loss == pytest.approx(-own.sum(), rel=1e-6)


def test_levels_learnt_for_each_fold_are_trusted_and_cuts_of_many_values_least() -> None:
    rng = np.random.default_rng(6)
    x, few, many = rng.normal(size=2000), rng.integers(0, 3, 2000), rng.integers(0, 110, 2000)
    legs = rng.integers(0, 6, 2000)
    odds = x + np.array([-1.0, 0.0, 1.0])[few] + np.where(many % 2, 1.5, -1.5) + (legs > 2)
    y = rng.random(2000) < 1 / (1 + np.exp(-odds))
    X = pl.DataFrame({"cuts": x, "values": few.astype(str), "rare": many.astype(str), "few cuts": legs})
    trusted, refitted = (SelectiveNB(pairs=0, calibrate=fit).fit(X, y).feature_weights_ for fit in ("cells", "weights"))
    np.testing.assert_allclose(trusted, refitted * [0.4, 0.9, 1.0, 0.9], rtol=0.01)


def test_values_of_many_rows_start_from_nothing_and_those_of_few_rows_from_their_groups() -> None:
    rng = np.random.default_rng(0)
    often, rare, effects = rng.integers(0, 20, 2000), rng.integers(0, 120, 2000), 0.7 * rng.normal(size=20)
    y = rng.random(2000) < 1 / (1 + np.exp(-effects[often] - np.where(rare % 2, 1.0, -1.0)))
    X = pl.DataFrame({"often": often.astype(str), "rare": rare.astype(str)})
    card = SelectiveNB(pairs=0).fit(X, y).scorecard_
    assert card["often"].weight == 0.0
    assert card["rare"].weight > 0.0
    # Standard errors are those of single values, not those of groups of many rows.
    values = [group[0] for group in card["often"].cells.groups]
    known = [values.index(str(value)) for value in range(20)]
    away = card["often"].table[known] @ [-1.0, 1.0] - effects
    errors = 2.0 * card["often"].total_errors[known, 1]
    assert 0.7 < np.std(away) / np.sqrt(np.mean(errors**2)) < 1.3
    # Codes without raw values do not tell values apart.
    encoder = TableEncoder()
    of_codes = SelectiveNB(pairs=0).fit_coded(encoder.fit_transform_coded(X, y), encoder)
    assert of_codes.scorecard_["often"].weight > 0.0


def test_as_many_directions_as_can_be_fitted_together(limits: Limits) -> None:
    limits(most_curvatures=49)
    features = [term(n, weight) for n, weight in ((4, 0.2), (4, 0.9), (3, 0.5), (2, 0.1))]
    assert [shape.groups.size for shape in terms.choose_shapes(features, 2)] == [0, 4, 3, 0]


def test_curves_may_jump_where_a_level_begins() -> None:
    curve = term(7, 1.0, SimpleNamespace(kind="numeric", n_special_levels=1), np.array([0, 1, 1, 1, 2, 3, 3]))
    (shape,) = terms.choose_shapes([curve], 2)
    steps = shape.basis()[1:, -shape.n_jumps :]
    assert [np.flatnonzero(np.diff(step)).tolist() for step in steps.T] == [[2], [3]]


def test_only_curves_are_straight_between_levels() -> None:
    rng = np.random.default_rng(0)
    x, value = rng.normal(size=1000), rng.integers(0, 12, 1000)
    y = rng.random(1000) < 1 / (1 + np.exp(-x - (value > 5)))
    coded, refitter = TableEncoder(pairs=0).fit_with_refitter(pl.DataFrame({"x": x, "value": value.astype(str)}), y)
    calibration = calibrate(coded, np.full(2, 0.5), 1.0, refitter)
    logs = [np.log(coded.counts.feature(k) + 1.0) for k in range(2)]
    options = terms.FitOptions("cells", {}, 1.0, True, 0, (), 1)
    curve, values = terms.collect_terms(coded, coded.levels, logs, {}, calibration, options)
    assert values.of_level.size == 12
    np.testing.assert_array_equal(values.counted, logs[1][values.of_level])
    assert values.correction is None
    steps = logs[0][curve.of_level]
    assert np.unique(steps, axis=0).shape[0] < np.unique(curve.counted, axis=0).shape[0]
    np.testing.assert_array_equal(curve.correction, curve.counted - steps)


def test_the_heaviest_features_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "most_functions", lambda n_classes: 0)
    rng = np.random.default_rng(0)
    coded, refitter = TableEncoder().fit_with_refitter(rng.normal(size=(100, 4)), rng.integers(0, 2, 100))
    rows = CalibrationRows.of(coded, np.arange(4), refitter)
    options = terms.FitOptions("cells", {}, "m-estimate", True, 0, (), 1)
    features, cells, codes = terms.split_levels(coded, coded.levels, np.array([0.0, 0.9, 0.0, 0.2]), rows, options)
    assert features.tolist() == list(cells) == [1, 3]
    assert codes.shape == (2, 100)


def test_cells_divide_the_rows_in_halves() -> None:
    level, ones = FeatureLevels("x", "numeric", "number", np.zeros(0)), np.ones(4)
    column = as_table(pl.DataFrame({"x": [3.0, 1.0, 4.0, 2.0]})).column(0)
    assert terms.cells_of(level, column, ones, 2).cut_points.tolist() == [2.5]
    assert terms.cells_of(level, column, ones, 1) is level  # no more cells than levels
    constant = as_table(pl.DataFrame({"x": [3.0, 3.0, 3.0, None]})).column(0)
    assert terms.cells_of(level, constant, ones) is level


def test_a_limit_of_cells_counts_values_that_share_a_group() -> None:
    values = ["often"] * 50 + ["b"] * 30 + ["c"] * 20
    column = as_table(pl.DataFrame({"x": values})).column(0)
    level = FeatureLevels("x", "categorical", "text", groups=(("often",), ("b", "c")))
    cells = terms.cells_of(level, column, np.ones(100), 3)
    assert [set(group) for group in cells.groups] == [{"often"}, {"b"}, {"c"}]


def term(n_cells: int, weight: float, cells: Any = None, of_level: Any = None) -> Any:
    """Return a feature of some cells, levels by default."""
    of_level, rows = np.arange(n_cells) if of_level is None else of_level, np.ones(n_cells)
    return terms.Term(0, weight, cells, of_level, of_level, rows, rows, False, Shape(n_cells))


def frame(seed: int, n_rows: int) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 3))
    word = rng.choice(list("abcd"), n_rows)
    score = x[:, 0] + 0.7 * x[:, 1] + 0.5 * x[:, 0] * (word == "a") + rng.normal(scale=0.7, size=n_rows)
    y = np.where(score > 0.4, "yes", np.where(score < -1.2, "no", "perhaps"))
    near = x[:, 0] + rng.normal(scale=0.3, size=n_rows)
    return pl.DataFrame({"x0": x[:, 0], "x1": x[:, 1], "x2": x[:, 2], "near": near, "word": word}), y


def test_contributions_add_up_and_evidence_is_that_of_the_levels(tmp_path: Any) -> None:
    X, y = frame(5, 2400)
    model = SelectiveNB(calibrate="levels").fit(X, y)
    assert model.scorecard_.used.tolist() == np.flatnonzero(model.feature_weights_).tolist()
    np.testing.assert_array_equal(model.scorecard_.explain(X).joint_log_proba(), model.scorecard_.joint(X))
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    counted = SelectiveNB(calibrate="weights").fit(X, y)
    kept = model.feature_weights_ > 0
    assert kept.sum() > 2
    assert (counted.feature_weights_[kept] > 0).all()
    at = np.arange(2400), np.searchsorted(model.classes_, y)
    assert model.predict_log_proba(X)[at].mean() > counted.predict_log_proba(X)[at].mean()
    model.report(tmp_path / "report.html", X, y, cv=0)
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "Weight of evidence" in text
    assert "fitted to the rows, all features jointly" in text


WITH_TOLERANCE: list[tuple[dict[str, Any], float]] = [
    ({"calibrate": "levels"}, 5e-3),
    ({"calibrate": "cells", "pairs": 0}, 2e-2),
    ({}, 2e-2),
    *(({"calibrate": c, "pairs": 0, "monotone": {"number": 1, "ends": 1}}, 2e-2) for c in ("levels", "cells")),
]


@pytest.mark.parametrize(
    ("options", "atol"),
    mostly_slow(WITH_TOLERANCE, [WITH_TOLERANCE[0], WITH_TOLERANCE[2], WITH_TOLERANCE[4]]),
    ids=str,
)
def test_a_weight_of_two_equals_the_row_repeated_and_order_makes_no_difference(
    options: dict[str, Any], atol: float
) -> None:
    X, y = smooth(5, 400)
    weights = np.where(np.arange(400) % 4 == 0, 2.0, 1.0)
    rows = np.repeat(np.arange(400), weights.astype(int))
    weighted = SelectiveNB(**options).fit(X, y, sample_weight=weights)
    repeated = SelectiveNB(**options).fit(X[rows], y[rows])
    assert weighted.scorecard_.provenance["evidence"] == options.get("calibrate", "cells")
    labels = [[feature.labels for feature in model.scorecard_.features] for model in (weighted, repeated)]
    assert labels[0] == labels[1]
    for one, other in zip(
        [feature.counts for feature in weighted.scorecard_.features],
        [feature.counts for feature in repeated.scorecard_.features],
        strict=True,
    ):
        np.testing.assert_allclose(one, other)
    new, _ = smooth(6, 100)
    expected = repeated.predict_log_proba(new)
    np.testing.assert_allclose(weighted.predict_log_proba(new), expected, atol=atol)
    turned = np.random.default_rng(0).permutation(rows)
    again = SelectiveNB(n_jobs=1, **options).fit(X[turned], y[turned])
    np.testing.assert_allclose(again.predict_log_proba(new), expected, atol=1e-3)


def smooth(seed: int, n_rows: int) -> tuple[pl.DataFrame, np.ndarray]:
    """A number that matters smoothly, one that matters at both ends only, values within groups, and noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 3))
    of_value = np.random.default_rng(7).normal(size=40)
    value = rng.integers(0, 40, n_rows)
    score = 1.2 * x[:, 0] + 0.8 * (x[:, 1] ** 2 - 1) + of_value[value] + rng.logistic(size=n_rows)
    number = np.where(rng.random(n_rows) < 0.05, np.nan, x[:, 0])
    columns = {"number": number, "ends": x[:, 1], "noise": x[:, 2], "id": np.char.add("v", value.astype(str))}
    return pl.DataFrame(columns), np.where(score > 0, "yes", "no")


def losses(calibrate: str, X: pl.DataFrame, y: np.ndarray, new: pl.DataFrame, truth: np.ndarray) -> float:
    model = SelectiveNB(calibrate=calibrate).fit(X, y)  # type: ignore[arg-type]
    proba = model.predict_proba(new)
    return float(-np.log(proba[np.arange(len(truth)), np.searchsorted(model.classes_, truth)]).mean())


def test_cells_predict_better_than_levels_where_evidence_is_smooth() -> None:
    (X, y), (new, truth) = smooth(0, 2000), smooth(1, 4000)
    assert losses("cells", X, y, new, truth) < losses("levels", X, y, new, truth) - 0.01


def test_cells_are_nested_in_levels_and_contributions_add_up(tmp_path: Any) -> None:
    X, y = smooth(2, 800)
    model = SelectiveNB(calibrate="cells").fit(X, y)
    by_level, by_cell = model.encoder_.transform(X), model.scorecard_.cells(X)
    for k, codes in zip(model.scorecard_.used.tolist(), by_cell, strict=True):
        np.testing.assert_array_equal(model.scorecard_.features[k].level_of_cell[codes], by_level[:, k])
    joint = model.scorecard_.joint(X)
    np.testing.assert_array_equal(model.scorecard_.explain(X).joint_log_proba(), joint)
    with pytest.raises(ValueError, match="differ within levels"):
        model.predict(model.encoder_.transform_coded(X))
    model.report(tmp_path / "report.html", X, y, cv=0)
    shown = payload((tmp_path / "report.html").read_text("utf-8"))["more"]["features"]
    assert any("level" in one["cells"] for one in shown)  # which is told where cells are not the levels


def test_a_feature_without_weight_comes_back_through_its_cells() -> None:
    X, y = smooth(4, 3000)
    rare = X.select("noise", "id").with_columns(wave=pl.Series(np.sin(np.linspace(0, 300, 3000))))
    model = SelectiveNB(calibrate="cells").fit(rare, y)
    weightless = [k for k in model.scorecard_.used.tolist() if model.feature_weights_[k] == 0]
    used = {rare.columns[k] for k in model.scorecard_.used.tolist()}
    assert set(model.selected_features_) == used
    assert "noise" not in used
    for k in weightless:
        assert model.feature_importances_[k] > 0


@pytest.mark.parametrize("calibrate", mostly_slow(["weights", "levels", "cells"], ["levels"]))
def test_a_sample_is_believed_as_far_as_its_rows_go(limits: Limits, calibrate: Any) -> None:
    limits(rows_of_evidence=600)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 10))
    y = (rng.random(12_000) < 1 / (1 + np.exp(2 - 0.15 * X.sum(axis=1)))).astype(int)
    n = 6000

    def log_loss(model: SelectiveNB) -> float:
        return -float(model.predict_log_proba(X[n:])[np.arange(n), y[n:]].mean())

    counted = log_loss(SelectiveNB(calibrate=False).fit(X[:n], y[:n]))
    assert log_loss(SelectiveNB(calibrate=calibrate).fit(X[:n], y[:n])) < counted + 0.003


def test_a_class_of_one_row_is_in_the_sample_that_contributions_are_fitted_to(limits: Limits, tmp_path: Any) -> None:
    limits(rows_of_evidence=100)
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    y = (x + rng.normal(size=500) > 0).astype(int)
    y[0] = 2
    X = pl.DataFrame({"x": x})
    coded, refitter = TableEncoder().fit_with_refitter(X, y)
    few = CalibrationRows.of(coded, np.array([0]), refitter).small_sample()
    assert few.n_of_classes.tolist() == [49, 49, 1]
    np.testing.assert_allclose(few.count_classes(coded.codes[0, few.positions], 99).sum(axis=0), np.bincount(y))
    model = SelectiveNB().fit(X, y)
    assert [feature.counts.shape[1] for feature in model.scorecard_.features] == [3]
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(load(tmp_path / "model.json").predict_proba(X), model.predict_proba(X))


def test_a_balanced_sample_leads_to_probabilities_of_the_table(limits: Limits) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40_000, 3))
    probability = 1 / (1 + np.exp(4.5 - X[:, 0] - 0.5 * X[:, 1]))
    y = (rng.random(40_000) < probability).astype(int)
    limits(rows_of_evidence=2000, last_rows_of_evidence=2000)
    model = SelectiveNB().fit(X[:30_000], y[:30_000])
    predicted = model.predict_proba(X[30_000:])[:, 1]
    assert predicted.mean() == pytest.approx(probability[30_000:].mean(), rel=0.1)
    assert np.abs(predicted - probability[30_000:]).mean() < 0.006


def test_the_problem_without_some_features_is_that_of_the_others() -> None:
    every = problem(4, 3)
    kept = np.array([True, False, True, True])
    offset = np.random.default_rng(5).normal(size=(40, 3))
    fitted = solve(every, roughly=True)
    point, deviations = start_with_fewer(fitted, every.design, kept)
    shapes = [shape for shape, stays in zip(every.shapes, kept, strict=True) if stays]
    fewer = EvidenceProblem.of_rows(rows_of(every).codes[kept], shapes, offset, *known(every)[1:])
    assert point.shape == (fewer.design.n_parameters, 3)
    assert deviations.size == fewer.design.n_groups
    tables = [table for table, stays in zip(fitted.tables, kept, strict=True) if stays]
    for ours, theirs in zip(fewer.deviations(point)[0], tables, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert fitted.effective.size == 4
    assert (fitted.effective >= 0).all()
    assert fitted.effective[3] == 0  # a fixed feature


def test_copies_and_noise_drop_out_of_the_default_and_all_features_stay_elsewhere() -> None:
    rng = np.random.default_rng(6)
    signals = rng.normal(size=(3, 1500))
    y = (signals.sum(axis=0) + rng.logistic(size=1500) > 0).astype(int)
    table = {f"signal{k}": signal for k, signal in enumerate(signals)} | {f"copy{k}": signals[0] for k in range(6)}
    X = pl.DataFrame(table | {f"noise{k}": rng.normal(size=1500) for k in range(4)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about copies
        model = SelectiveNB(pairs=0).fit(X, y)
        every = SelectiveNB("all", pairs=0, calibrate="levels").fit(X, y)
    assert {"signal1", "signal2"} <= set(model.selected_features_)
    assert model.n_features_selected_ == 3
    assert np.count_nonzero(model.selector_.weights_) > 3
    weights = dict(zip(X.columns, model.feature_weights_, strict=True))
    assert all(weights[name] == 0 for name in set(X.columns) - set(model.selected_features_))
    informative = {name for name, n in zip(X.columns, every.encoder_.levels_.n_levels, strict=True) if n > 1}
    assert set(every.selected_features_) == informative
    proba = [one.predict_log_proba(X)[np.arange(1500), y].mean() for one in (model, every)]
    assert proba[0] > proba[1] - 0.01


def test_a_fit_that_ends_before_features_are_dropped_keeps_them() -> None:
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, 400)
    X = pl.DataFrame({f"x{k}": y + rng.normal(size=400) for k in range(6)})
    model = SelectiveNB(pairs=0)
    message = "The fit of the contributions was interrupted: the model keeps the best"
    with interrupted(solver, "find_mode"), pytest.warns(UserWarning, match=message):
        model.fit(X, y)
    searched = np.flatnonzero(model.selector_.weights_)
    assert set(searched) <= set(model.scorecard_.used)
    assert all((feature.standard_errors > 0).all() for feature in model.scorecard_.used_features)


def test_the_report_shows_every_cell_of_a_group() -> None:
    from bayesieve.classifier.report_data import report_data

    X, y = smooth(9, 6000)
    model = SelectiveNB(encoder=TableEncoder(categorical=MODLGrouper())).fit(X, y)
    shown = next(f for f in report_data(model).features if f["name"] == "id")["cells"]
    feature = model.scorecard_["id"]
    assert feature.cells is not feature.levels
    assert shown["label"] == list(feature.cells.all_labels)
    for label, level, rows in zip(shown["label"], shown["level"], shown["rows"], strict=True):
        assert rows == (X["id"] == label).sum()
        assert label in feature.levels.groups[feature.levels.all_labels.index(level)]  # type: ignore[index]
    np.testing.assert_array_equal(shown["contributions"], feature.contributions)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sums_over_blocks_are_those_over_all_rows_whatever_the_threads(limits: Limits, n_classes: int) -> None:
    shapes = [Shape.free(3), APART, CURVE]
    whole = problem(8, n_classes, n_rows=500, shapes=shapes)
    rows, point = (
        rows_of(whole),
        np.random.default_rng(9).normal(size=(whole.design.n_parameters, whole.design.n_logits)),
    )
    kept, (offset, classes, weights) = np.array([True, False, True]), known(whole)
    wanted, steepness, rough = whole.evaluate(point), curvature(whole, point), solve(whole, roughly=True)
    start, _ = start_with_fewer(rough, whole.design, kept)
    smaller = (rows.codes[kept], [shapes[0], shapes[2]], offset, classes, weights)
    loss = EvidenceProblem.of_rows(*smaller).evaluate(start).loss
    limits(rows_at_once=64)
    one, two = (EvidenceProblem.of_rows(rows.codes, shapes, offset, classes, weights, n_jobs) for n_jobs in (1, 2))
    assert len(one.chunks) == 8
    for ours, theirs in ((one.evaluate(point), two.evaluate(point)), (one.slopes(point), two.slopes(point))):
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(mine, other)
    assert one.evaluate(point).loss == pytest.approx(wanted.loss, rel=1e-12)
    np.testing.assert_allclose(one.evaluate(point).gradient, wanted.gradient, atol=1e-9)
    np.testing.assert_allclose(curvature(one, point).single, steepness.single, rtol=1e-9)
    np.testing.assert_allclose(curvature(one, point).dense, steepness.dense, rtol=1e-4, atol=1e-4)
    fewer = EvidenceProblem.of_rows(*smaller)
    assert len(fewer.chunks) == 8
    assert fewer.evaluate(start).loss == pytest.approx(loss, rel=1e-12)


def test_the_rows_of_the_curvature_do_not_depend_on_the_order_of_the_rows(limits: Limits) -> None:
    limits(curvature_rows=50)
    rng = np.random.default_rng(0)
    codes, classes = rng.integers(0, 3, (2, 400)).astype(np.uint8), rng.integers(0, 2, 400)
    order = rng.permutation(400)
    shapes, zeros, ones = [Shape.free(3)] * 2, np.zeros((400, 2)), np.ones(400)
    one = EvidenceProblem.of_rows(codes, shapes, zeros, classes, ones)
    other = EvidenceProblem.of_rows(codes[:, order], shapes, zeros, classes[order], ones)
    point = rng.normal(size=(one.design.n_parameters, 1))
    np.testing.assert_allclose(curvature(one, point).dense, curvature(other, point).dense, rtol=1e-5)


def test_what_does_not_deviate_among_all_features_may_do_so_among_those_that_stay() -> None:
    """The second of two copies has nothing to add, until the first is left out."""
    rng = np.random.default_rng(1)
    one = rng.integers(0, 4, 4000).astype(np.uint8)
    odds = np.array([-1.0, 1.0, -1.0, 1.0])[one]
    classes = (rng.random(4000) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    rows = np.zeros((4000, 2)), classes, np.ones(4000)
    both = EvidenceProblem.of_rows(np.stack([one, one]), [Shape.free(4)] * 2, *rows)
    rough = solve(both, roughly=True)
    flat = replace(rough, deviations=np.array([rough.deviations[0], 0.0]), point=rough.point * 0.0)
    alone = EvidenceProblem.of_rows(one[None], [Shape.free(4)], *rows)
    start = start_with_fewer(flat, both.design, np.array([False, True]))
    contrast = np.diff(solve(alone, start=start).tables[0], axis=1)[:, 0]
    np.testing.assert_allclose(contrast - contrast.mean(), [-1, 1, -1, 1], atol=0.25)


def wavy(seed: int, n_rows: int) -> tuple[pl.DataFrame, np.ndarray]:
    """Curves, values and a column of noise."""
    rng = np.random.default_rng(seed)
    a, b, k = rng.normal(size=n_rows), rng.exponential(size=n_rows), rng.integers(0, 60, n_rows)
    odds = np.sin(2 * a) + np.log1p(b) + 0.7 * np.random.default_rng(99).normal(size=60)[k] - 0.7
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-odds))).astype(int)
    return pl.DataFrame({"a": a, "b": b, "k": [f"k{i}" for i in k], "noise": rng.normal(size=n_rows)}), y


@pytest.mark.slow
def test_evidence_is_fitted_to_all_rows_in_the_end(limits: Limits) -> None:
    X, y = wavy(0, 20_000)
    new, truth = wavy(1, 20_000)

    def log_loss(model: SelectiveNB) -> float:
        return -float(model.predict_log_proba(new)[np.arange(truth.size), truth].mean())

    whole = SelectiveNB().fit(X, y)
    limits(rows_of_evidence=1500)
    every = SelectiveNB().fit(X, y)
    assert all(counts.sum() == y.size for counts in [feature.counts for feature in every.scorecard_.features])
    limits(last_rows_of_evidence=1500)
    few = SelectiveNB().fit(X, y)
    assert log_loss(every) < log_loss(few) - 0.002
    assert log_loss(every) < log_loss(whole) + 0.001


def test_a_fit_to_all_rows_that_ends_early_has_the_errors_of_all_rows(
    monkeypatch: pytest.MonkeyPatch, limits: Limits
) -> None:
    X, y = wavy(0, 6000)
    limits(rows_of_evidence=1500)
    whole, find = SelectiveNB().fit(X, y).scorecard_, solver.find_mode

    def early_end(problem: EvidenceProblem, *arguments: Any, **options: Any) -> Any:
        if problem.n_rows > 1500:
            raise KeyboardInterrupt
        return find(problem, *arguments, **options)

    monkeypatch.setattr(solver, "find_mode", early_end)
    with pytest.warns(UserWarning, match="The fit of the contributions was interrupted: the model keeps the best"):
        early = SelectiveNB().fit(X, y).scorecard_
    for name in ("a", "b", "k"):
        assert 0.7 < np.median(early[name].standard_errors / whole[name].standard_errors) < 1.4
        assert early[name].factors.any()


@pytest.mark.slow
def test_more_rows_predict_no_worse(limits: Limits) -> None:
    limits(rows_of_evidence=2000)  # so that the larger tables are sampled
    X, y = wavy(10, 16_000)
    new, truth = wavy(20, 20_000)
    losses = []
    for n_rows in (1000, 2000, 4000, 16_000):
        own = -SelectiveNB().fit(X[:n_rows], y[:n_rows]).predict_log_proba(new)[np.arange(truth.size), truth]
        losses.append(own)
    for fewer, more in pairwise(losses):
        noise = float((more - fewer).std() / np.sqrt(truth.size))
        assert more.mean() < fewer.mean() + 3 * noise


def test_what_is_dropped_gives_its_weight_back(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 6, (2, 4000))
    y = (rng.random(4000) < 1 / (1 + np.exp(-0.6 * (a - 2.5) - 0.5 * (b - 2.5)))).astype(int)
    X = pl.DataFrame({"a": [f"a{i}" for i in a], "b": [f"b{i}" for i in b]})
    shared = SelectiveNB(pairs=[("a", "b")], calibrate="weights").fit(X, y)
    alone = SelectiveNB(pairs=0, calibrate="weights").fit(X, y)
    assert shared.feature_weights_[2] > 0.1  # the pair takes the weight of its columns

    def without_the_pair(contributions: np.ndarray, *_: Any) -> np.ndarray:
        return np.arange(len(contributions)) < 2

    monkeypatch.setattr("bayesieve.evidence.joint_fit.worth_keeping", without_the_pair)
    model = SelectiveNB(pairs=[("a", "b")]).fit(X, y)
    assert model.feature_weights_[2] == 0
    assert (model.feature_weights_[:2] > shared.feature_weights_[:2] + 0.05).all()
    np.testing.assert_allclose(model.feature_weights_[:2], alone.feature_weights_[:2], atol=0.15)


def test_shapes_of_very_many_cells_take_memory_for_their_entries_only() -> None:
    n = 1_000_000  # bases written out would take terabytes
    values = term(n, 0.7, SimpleNamespace(kind="categorical"), np.arange(n) // 2)
    within = terms.choose_shapes([term(n, 0.1), values, term(n, 0.9), term(3, 0.5)], 2)
    assert [shape.groups.size for shape in within] == [0, 0, 0, 3]
    assert [shape.single_cells for shape in within] == [False, False, True, False]


@pytest.mark.slow
def test_many_categories_take_memory_in_proportion() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40_000)
    customer = (rng.integers(0, 5000, 40_000) * 2 + y * (rng.random(40_000) < 0.3)) % 10_000
    X = pl.DataFrame({"customer": [f"c{c}" for c in customer], "x": rng.normal(size=40_000) + y})
    tracemalloc.start()
    try:
        model = SelectiveNB().fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "customer" in model.selected_features_
    assert peak < 200e6  # the square of the categories would take 800 MB


@pytest.mark.parametrize(
    ("n_rows", "noise"), mostly_slow(product([150, 300, 900], [0.0, 0.1]), [(150, 0.1), (300, 0.0)])
)
def test_a_pair_of_few_categories_is_found_in_a_table_of_nothing_else(n_rows: int, noise: float) -> None:
    """Few distinct rows: folds of distinct rows would hold all rows of a cell."""
    rng = np.random.default_rng(n_rows)
    X = pl.DataFrame({name: rng.choice(["a", "b", "c"], n_rows) for name in ("first", "second")})
    y = (X["first"] == X["second"]).to_numpy() ^ (rng.random(n_rows) < noise)
    model = SelectiveNB(random_state=0).fit(X, y)
    assert any("×" in name for name in model.selected_features_)
    assert model.score(X, y) >= ((X["first"] == X["second"]).to_numpy() == y).mean() - 1e-9
    repeated = X.with_columns(y=pl.Series(y)).group_by("first", "second", "y").len()
    weighted = SelectiveNB(random_state=0).fit(repeated["first", "second"], repeated["y"], repeated["len"])
    np.testing.assert_allclose(weighted.predict_proba(X), model.predict_proba(X), atol=1e-6)


def test_rows_that_are_certain_of_a_class_show_no_effect_on_it() -> None:
    rng = np.random.default_rng(0)
    classes, codes = rng.integers(0, 3, 600), rng.integers(0, 3, (1, 600)).astype(np.uint8)
    offset = np.zeros((600, 3))
    offset[:, 2] = np.where(classes == 2, 20.0, -20.0)
    certain = EvidenceProblem.of_rows(codes, [Shape.free(3)], offset, classes, np.ones(600))
    effects = solve(certain, roughly=True).effects
    assert effects is not None
    assert 0.0 < effects.squares[0, 0].max() < 0.1
    assert effects.squares[0, 2].max() < 1e-4
