"""Surfaces: evidence of two columns together, fitted where that of single columns leaves something to say."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import expit
from sklearn.base import clone

from bayesieve import SelectiveNB
from bayesieve.classifier.plan import FitPlan
from bayesieve.classifier.report_data import report_data
from bayesieve.engine.progress import Clock
from bayesieve.evidence import joint_fit, surfaces as module
from bayesieve.evidence.calibration import CalibrationRows
from bayesieve.evidence.inclusion import TRIED_VARIANCES, averaged_log_bayes
from bayesieve.evidence.surfaces import Surface, SurfaceAxis, pair_gains
from bayesieve.table import FeatureLevels
from bayesieve.table.pair_levels import PairLevels
from tests.cases import mostly_slow
from tests.limits import Limits, Watch


def frame(seed: int, n_rows: int, *, noise: float = 1.0) -> tuple[pl.DataFrame, np.ndarray]:
    """Numbers whose sum matters in waves, which no grid of levels shows; and a category that turns a slope around."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 4))
    kind = rng.integers(0, 3, n_rows)
    score = 3 * np.sin(2 * (x[:, 0] + x[:, 1])) + x[:, 2] + (kind - 1) * x[:, 3]
    columns = {name: x[:, k] for k, name in enumerate("abcd")} | {"kind": np.array(["u", "v", "w"])[kind]}
    return pl.DataFrame(columns), (score + noise * rng.logistic(size=n_rows) > 0).astype(int)


@pytest.fixture(scope="module")
def fitted() -> tuple[SelectiveNB, pl.DataFrame, np.ndarray]:
    X, y = frame(0, 3000)
    return SelectiveNB().fit(X, y), X, y


def surfaces(model: SelectiveNB) -> list[Any]:
    return [level for level in model.encoder_.levels_ if isinstance(level, PairLevels) and level.level_score == 0]


def loss(model: SelectiveNB, X: pl.DataFrame, y: np.ndarray) -> float:
    return float(-model.predict_log_proba(X)[np.arange(y.size), y].mean())


def test_gains_are_those_of_the_rows() -> None:
    rng = np.random.default_rng(1)
    lines = [rng.normal(size=(4, 2)), rng.normal(size=(3, 3)), np.eye(2)]
    bins = np.stack([rng.integers(0, len(line) + 1, 50) for line in lines])
    bins[2] = np.where(rng.random(50) < 0.7, 0, bins[2])  # most rows are in one bin
    residuals, curvature = rng.normal(size=(50, 3)), rng.random((50, 3))
    pairs = [(0, 1), (1, 2), (0, 2)]
    gains = pair_gains(pairs, bins, lines, (residuals, curvature), 1)
    for (i, j), gain in zip(pairs, gains, strict=True):
        logs = []
        for bases in (lines, [np.eye(len(line)) for line in lines]):  # a smooth surface, and a grid
            rows = [np.append(b, np.zeros((1, b.shape[1])), axis=0)[own] for b, own in zip(bases, bins, strict=True)]
            design = np.einsum("np,nq->npq", rows[i], rows[j]).reshape(50, -1)
            slope, steep = design.T @ residuals, (design * design).T @ curvature
            of_variances = [0.5 * (v * slope**2 / (1 + v * steep) - np.log1p(v * steep)).sum() for v in TRIED_VARIANCES]
            logs.append(averaged_log_bayes(2 / 3 * np.array(of_variances)))  # logits of three classes add up to nothing
        assert gain == pytest.approx(float(np.logaddexp(*logs) - np.log(2)))


def test_surfaces_say_what_no_grid_of_levels_shows(fitted: tuple[SelectiveNB, pl.DataFrame, np.ndarray]) -> None:
    model, X, y = fitted
    assert {frozenset(part.name for part in level.parts) for level in surfaces(model)} >= {frozenset("ab")}
    new = frame(1, 3000)
    without = SelectiveNB(pairs=0).fit(X, y)
    assert loss(model, *new) < loss(without, *new) - 0.1
    assert loss(model, *new) < 0.9 * loss(SelectiveNB(calibrate="levels").fit(X, y), *new)


@pytest.mark.parametrize(
    ("log_odds", "n_rows", "excess"),
    [
        (lambda a, b: 2.2 * np.sign(a * b), 500, 0.05),
        (lambda a, b: 2.2 * np.sign((np.exp(a) - 1.5) * (b - 0.4)), 500, 0.06),
        (lambda a, b: 2.2 * np.sign(np.sin(3 * a) * np.sin(2 * b)), 2000, 0.09),
        (lambda a, b: 2 * a * b, 500, 0.03),
        (lambda a, b: a * b, 2000, 0.02),
    ],
    ids=["signs", "skewed", "checkerboard", "product", "weak product"],
)
def test_numbers_that_matter_only_together_are_found(log_odds: Any, n_rows: int, excess: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_rows + 5000, 6))
    probability = expit(log_odds(x[:, 0], x[:, 1]))
    y = (rng.random(probability.size) < probability).astype(int)
    X = pl.DataFrame({name: x[:, k] for k, name in enumerate("abcdef")}).with_columns(a=pl.col("a").exp() * 1000)
    model = SelectiveNB().fit(X[:n_rows], y[:n_rows])
    assert [level.name for level in surfaces(model)] == ["a × b"]
    best = -np.log(np.where(y, probability, 1 - probability))[n_rows:].mean()
    assert loss(model, X[n_rows:], y[n_rows:]) < best + excess


def test_a_category_has_a_curve_for_each_group() -> None:
    rng = np.random.default_rng(3)
    x, kind = rng.normal(size=(2500, 2)), rng.integers(0, 4, 2500)
    y = (rng.random(2500) < expit(1.5 * np.sin(2 * x[:, 0] + kind) + (kind > 1))).astype(int)
    X = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "kind": np.array(list("uvwx"))[kind]})
    model = SelectiveNB().fit(X, y)
    assert [level.name for level in surfaces(model)] == ["a × kind (surface)"]  # finer than the pair of that name
    assert {"a × kind", "a × kind (surface)"} <= set(model.selected_features_)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No feature is in the model")
def test_noise_gets_none_and_sums_hardly_any() -> None:
    by_chance = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(1500, 12))
        X = pl.DataFrame({f"c{k}": x[:, k] for k in range(12)})
        assert not surfaces(SelectiveNB().fit(X, rng.integers(0, 2, 1500)))
        additive = np.sin(2 * x[:, 0]) + x[:, 1] + rng.logistic(size=1500) > 0
        by_chance += len(surfaces(SelectiveNB().fit(X, additive)))
    assert by_chance <= 2


@pytest.mark.filterwarnings("ignore:Some values were never seen")
def test_contributions_add_up_and_queries_predict_the_same(
    fitted: tuple[SelectiveNB, pl.DataFrame, np.ndarray],
) -> None:
    model, X, _ = fitted
    X = X.with_columns(a=pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise(pl.col("a")))
    explanation = model.scorecard_.explain(X[:200])
    assert any(level.name in explanation.features for level in surfaces(model))
    total = explanation.contributions.sum(axis=1) + explanation.prior
    np.testing.assert_allclose(total, model.scorecard_.joint(X[:200]), rtol=0, atol=1e-12)
    probabilities = model.with_predictions(X.lazy()).collect()[:, -2:].to_numpy()
    np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=0, atol=1e-12)


def test_the_report_shows_a_heat_map(fitted: tuple[SelectiveNB, pl.DataFrame, np.ndarray]) -> None:
    shown = {feature["name"]: feature for feature in report_data(fitted[0]).features}
    for level in surfaces(fitted[0]):
        feature = shown[level.name]
        assert np.array_equal(np.array(feature["grid"]["levels"]), level.grid)
        assert feature["note"].startswith("A surface")


def test_pairs_of_numbers_are_left_to_surfaces_where_there_is_room(limits: Limits) -> None:
    rng = np.random.default_rng(5)
    X = pl.DataFrame({name: rng.normal(size=2000) for name in "abcd"} | {"kind": rng.choice(["u", "v"], 2000)})
    sign = np.where(X["kind"] == "u", 1, -1)
    y = np.where(rng.random(2000) < 0.5, X["a"] * X["b"] > 0, X["c"] * sign > 0).astype(int)

    def coarse(**options: Any) -> list[set[str]]:
        plan = FitPlan.of(SelectiveNB(**options))
        levels = plan.encoder.fit_transform_coded(X, y, None, plan.coding_options()).levels
        return [{part.name for part in level.parts} for level in levels if isinstance(level, PairLevels)]

    assert {"c", "kind"} in coarse()
    assert {"a", "b"} in coarse(calibrate="levels")
    assert {"a", "b"} not in coarse()
    assert {"a", "b"} in coarse(pairs=[("a", "b")])
    assert {"a", "b"} in [{part.name for part in level.parts} for level in surfaces(SelectiveNB().fit(X, y))]
    limits(most_in_columns=0.0)
    assert {"a", "b"} in coarse()


def test_monotone_columns_are_on_no_surface() -> None:
    X, y = frame(5, 2500)
    model = SelectiveNB(monotone={"a": 1, "c": 1}).fit(X, y)
    names = {part.name for level in surfaces(model) for part in level.parts}
    assert not names & {"a", "c"}
    line = X[:50].with_columns(pl.lit(0.0).alias("c"))
    steps = [model.predict_proba(line.with_columns(pl.lit(at).alias("c")))[:, 1] for at in np.linspace(-3, 3, 20)]
    assert (np.diff(steps, axis=0) >= -1e-12).all()


def test_an_early_end_keeps_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = frame(6, 1500)
    fits, solve = [], joint_fit.solve

    def ended(problem: Any, clock: Any, *args: Any, **options: Any) -> Any:
        fits.append(solve(problem, Clock(0.0) if fits else clock, *args, **options))
        return fits[-1]

    monkeypatch.setattr(joint_fit, "solve", ended)
    with pytest.warns(UserWarning, match="model keeps the best so far"):
        model = SelectiveNB().fit(X, y)
    assert surfaces(model)
    assert len(fits) == 2
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_a_surface_may_be_all_that_is_worth_keeping(monkeypatch: pytest.MonkeyPatch, limits: Limits) -> None:
    X, y = frame(8, 3000)
    limits(rows_of_evidence=1500)  # all rows follow
    monkeypatch.setattr(joint_fit, "worth_keeping", lambda nats, *_: np.arange(len(nats)) == len(nats) - 1)
    model = SelectiveNB().fit(X, y)
    (surface,) = surfaces(model)
    assert model.selected_features_ == [surface.name]
    assert not model.feature_weights_.any()
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_a_number_of_pairs_limits_surfaces() -> None:
    X, y = frame(7, 1500)
    for most in (0, 1, 2):
        model = SelectiveNB(pairs=most).fit(X, y)
        assert sum(isinstance(level, PairLevels) for level in model.encoder_.levels_) == most
    named = SelectiveNB(pairs=[("c", "d")]).fit(X, y)
    assert [level.name for level in named.encoder_.levels_ if isinstance(level, PairLevels)] == ["c × d"]


def test_grids_of_many_cells_are_left_out_and_take_no_gigabytes(
    fitted: tuple[SelectiveNB, pl.DataFrame, np.ndarray], limits: Limits
) -> None:
    model, X, y = fitted
    sizes = [level.parts[0].n_levels * level.parts[1].n_levels for level in surfaces(model)]
    limits(cells_of_a_surface=max(sizes) - 1)
    fewer = [level.parts[0].n_levels * level.parts[1].n_levels for level in surfaces(clone(model).fit(X, y))]
    assert max(fewer, default=0) < max(sizes)
    rng = np.random.default_rng(0)
    basis, with_rows = rng.normal(size=(4096, 9)), rng.random(4096) < 0.7
    tracemalloc.start()
    nearest = module._nearest(with_rows, basis)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 24
    assert with_rows[nearest].all()
    np.testing.assert_array_equal(nearest[with_rows], np.flatnonzero(with_rows))


def numbered(n: int = 2000) -> tuple[pl.DataFrame, np.ndarray]:
    """Rows whose lateness says the contrary in the second half of the table, as no column says alone."""
    rng = np.random.default_rng(3)
    late, at, score = rng.integers(0, 9, n), np.arange(n), rng.normal(size=n)
    y = np.sign(at - n / 2) * (late - 4) + score + rng.normal(size=n) > 0
    return pl.DataFrame({"customer_id": at + 1000, "late": late, "score": score}), y.astype(int)


FROM_IDS: dict[str, Callable[[np.ndarray], Any]] = {
    "counters": lambda ids: ids,
    "tens": lambda ids: ids * 10.0,
    "seconds": lambda ids: 1_600_000_000 + ids * 3600,
    "dates": lambda ids: pl.Series(ids).cast(pl.Date),
    "dates as numbers": lambda ids: pl.Series(ids + 20_000).cast(pl.Date).dt.strftime("%Y%m%d").cast(pl.Int64),
}


@pytest.mark.parametrize(
    ("pairs", "what"),
    mostly_slow(product(["auto", 5], FROM_IDS), [("auto", "counters"), (5, "dates"), ("auto", "dates as numbers")]),
)
def test_counters_and_dates_are_on_no_surface_unless_named(pairs: Any, what: str) -> None:
    X, y = numbered()
    X = X.with_columns(customer_id=FROM_IDS[what](X["customer_id"].to_numpy()))
    model = SelectiveNB(pairs=pairs).fit(X, y)
    assert not any("customer_id" in level.name for level in model.encoder_.levels_[3:])
    with pytest.warns(UserWarning, match="customer_id"):
        named = SelectiveNB(pairs=[("customer_id", "late")]).fit(X, y)
    assert named.scorecard_.used.tolist()[-1] == 3
    (caution,) = [caution for caution in named.cautions_ if caution.kind in ("identifier", "dates")]
    assert caution.columns == ("customer_id",)


def test_amounts_that_are_all_different_are_on_surfaces() -> None:
    X, y = numbered()
    rng = np.random.default_rng(5)
    income = np.sort(np.round(np.exp(rng.normal(10.5, 0.5, X.height)))) + 0.25 * (np.arange(X.height) % 4)
    for amount in (income, np.sort(rng.integers(20_000, 90_000, X.height))):
        model = SelectiveNB().fit(X.with_columns(customer_id=pl.Series(amount)), y)
        assert "customer_id × late" in [level.name for level in surfaces(model)]
        assert not [caution for caution in model.cautions_ if caution.kind in ("identifier", "dates")]


def test_moved_steps_keep_to_the_limit_of_levels() -> None:
    rng = np.random.default_rng(0)
    X = pl.DataFrame({name: rng.normal(size=800) for name in "ab"})
    y = (rng.random(800) < 0.1) != (X["a"].to_numpy() * X["b"].to_numpy() > 0)
    model = SelectiveNB(levels={"a": {"max_levels": 4}}).fit(X, y)
    assert any(feature.kind == "pair" for feature in model.scorecard_.used_features)
    grid = pl.DataFrame({"a": np.repeat(np.linspace(-4, 4, 2001), 2), "b": np.tile([-1.0, 1.0], 2001)})
    by_a = np.diff(model.scorecard_.joint(grid), axis=1).reshape(2001, 2)
    assert 2 <= 1 + np.count_nonzero((np.diff(by_a, axis=0) != 0).any(axis=1)) <= 4


@pytest.mark.parametrize(
    "log_odds", [lambda a, b: 3 * np.sin(2 * a) * b, lambda a, b: 3 * np.sign(a * b)], ids=["smooth", "steps"]
)
def test_rows_without_a_level_in_one_column_are_in_no_cell_of_a_surface(log_odds: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 1500))
    y = rng.random(1500) < expit(log_odds(a, b))
    is_missing = rng.random(1500) < 0.1
    X = pl.DataFrame({"a": pl.Series(a).set(pl.Series(is_missing), None), "b": b})
    model = SelectiveNB(levels={"a": {"missing": "unseen"}}).fit(X, y)
    (surface,) = (feature for feature in model.scorecard_.used_features if feature.kind == "pair")
    counts = [int(np.sum(y[~is_missing] == label)) for label in (False, True)]
    assert surface.counts.sum(axis=0).tolist() == counts


def axis(level: FeatureLevels, *, is_limited: bool = False) -> SurfaceAxis:
    """Return the axis of a feature whose bins are its cells."""
    every = np.arange(level.n_levels)
    return SurfaceAxis(0, level, level, every, np.eye(level.n_levels), every + 1.0, is_limited)


def test_only_steps_of_numbers_without_a_limit_of_levels_move() -> None:
    numbers = FeatureLevels("x", "numeric", "number", np.array([0.0, 1.0]))
    groups = FeatureLevels("g", "categorical", "text", groups=(("a",), ("b", "c")))
    assert axis(numbers).may_move
    assert not axis(numbers, is_limited=True).may_move
    assert not axis(groups).may_move


def test_values_fall_into_bins_with_rows_and_into_all_intervals() -> None:
    rows = np.array([0.0, 5.0, 0.0])
    numbers = FeatureLevels("x", "numeric", "number", np.array([-np.inf, 1.0]), missing_code=0)
    groups = FeatureLevels("g", "categorical", "text", groups=(("a",), ("b",), ("c",)))
    assert numbers.n_special_levels == 1
    assert axis(numbers).is_reached(rows).tolist() == [False, True, True]
    assert axis(groups).is_reached(rows).tolist() == [False, True, False]


def test_steps_keep_missing_values_apart_beside_groups_without_cells() -> None:
    numbers = FeatureLevels("x", "numeric", "number", np.array([-np.inf, *range(9)]), missing_code=0)
    groups = FeatureLevels("g", "categorical", "text", groups=(("a",), ("b",)))
    smooth = Surface(axis(numbers), replace(axis(groups), cells=None))
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, 11, 2000), rng.integers(0, 2, 2000)])
    y = rng.random(2000) < expit(np.where((codes[0] > 4) == (codes[1] == 0), 1.5, -1.5))
    slopes = (0.5 - y)[:, None], np.full((2000, 1), 0.25)
    assert smooth.with_steps_if_better(np.inf, codes, *slopes) is smooth
    stepped = smooth.with_steps_if_better(100.0, codes, *slopes)
    assert stepped.size == (3, 2)
    assert stepped.first.bins.cut_points.tolist() == [-np.inf, 3.0]
    assert stepped.second is smooth.second


def test_surfaces_share_the_functions_that_are_left_and_the_time(monkeypatch: pytest.MonkeyPatch, watch: Watch) -> None:
    find, draws, sizes = module.find_surfaces, list[int](), list[list[int]]()
    watch(CalibrationRows, "draw", lambda rows, most: draws.append(most))

    def found(axes: Any, most: int, problem: Any, *others: Any) -> Any:
        surfaces = find(axes, most, problem, *others)
        sizes.append([surface.n_functions for surface in surfaces])
        n_bins = sum(len(axis.basis) for axis in axes.values())
        monkeypatch.setattr(module, "_MOST_PRODUCTS", 5000.0 * n_bins**2)
        monkeypatch.setattr(module, "most_functions", lambda _: problem.design.intercept + sum(sizes[0]) - 1)
        draws.clear()
        sizes.append([surface.n_functions for surface in find(axes, most, problem, *others)])
        assert draws == [5000]
        return surfaces

    monkeypatch.setattr(joint_fit, "find_surfaces", found)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 4))
    y = rng.random(1500) < expit(2 * x[:, 0] * x[:, 1] + 2 * x[:, 2] * x[:, 3])
    SelectiveNB().fit(x, y)
    whole, fewer = sizes
    assert len(whole) > 1
    assert 0 < sum(fewer) < sum(whole)
