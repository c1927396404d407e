"""Scores on sliding windows: each window as scipy.stats, each score as its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from bayesieve_studies.simulate import WindowScore, engine_series, window_p_values, window_scores
from bayesieve_studies.simulate.window_scores import critical_statistic, p_values as from_statistics, smallest_p_value
from studies.tests import direct

TESTS = ("U", "KS", "F")


def series(kind: str, size: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = random.standard_normal(size)
    values[size // 2 :] = 2.0 + 3.0 * values[size // 2 :]
    if kind == "rounded":
        return np.round(values)
    if kind == "far from zero":
        return 1e6 + values
    if kind == "three values":
        return random.choice([0.1, 0.2, 0.7], size)
    return values


@pytest.mark.parametrize("kind", ["continuous", "rounded", "far from zero", "three values"])
@pytest.mark.parametrize("width", [4, 6, 20, 34])
@pytest.mark.parametrize("test", TESTS)
def test_every_window_as_scipy(test: str, width: int, kind: str) -> None:
    values = series(kind, 45, width)
    # Far from zero the values themselves are rounded: NumPy's variance differs by as much.
    tolerance = 1e-7 if kind == "far from zero" else 1e-11
    found = window_p_values(values, test, width)
    assert found.shape == (46 - width,)
    np.testing.assert_allclose(found, direct.p_values(values, test, width), rtol=tolerance, atol=1e-300)


@pytest.mark.parametrize("kind", ["continuous", "rounded"])
@pytest.mark.parametrize("test", TESTS)
def test_long_series_window_by_window(test: str, kind: str) -> None:
    """The Kolmogorov-Smirnov scan works in pieces there: their seams must not show."""
    values = series(kind, 1500, 7)
    found = window_p_values(values, test, 30)
    assert found.size == 1471
    seams = [0, 1, 2, *range(254, 259), *range(510, 515), *range(766, 771), *range(1020, 1028), 1469, 1470]
    for b in {*seams, *range(0, 1471, 97)}:
        expected = direct.p_value(test, values[b : b + 15], values[b + 15 : b + 30])
        assert found[b] == pytest.approx(expected, rel=1e-11, abs=1e-300)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("fill", [0.0, 0.1, -1e5])
def test_equal_values_show_no_difference(test: str, fill: float) -> None:
    assert window_p_values(np.full(30, fill), test, 10).tolist() == [1.0] * 21


def test_a_constant_half_beside_noise_has_another_variance() -> None:
    values = np.r_[np.full(10, 0.3), np.random.default_rng(0).standard_normal(10)]
    assert window_p_values(values, "F", 20).tolist() == [0.0]


@given(st.lists(st.integers(-3, 3), min_size=4, max_size=40), st.sampled_from(TESTS), st.sampled_from([4, 6, 10]))
def test_any_series_of_few_values(values: list[int], test: str, width: int) -> None:
    array = np.array(values, dtype=float)
    expected = direct.p_values(array, test, width)
    np.testing.assert_allclose(window_p_values(array, test, width), expected, rtol=1e-10, atol=1e-300)


@given(st.lists(st.floats(-100, 100, width=16), min_size=12, max_size=30), st.sampled_from(["U", "KS"]))
def test_ranks_are_all_that_counts_for_two_of_the_tests(values: list[float], test: str) -> None:
    array = np.array(values)
    ranks = stats.rankdata(array)
    assert np.array_equal(window_p_values(array, test, 8), window_p_values(ranks, test, 8))


@pytest.mark.parametrize("test", TESTS)
def test_reversed_series_have_the_same_windows(test: str) -> None:
    values = series("rounded", 80, 3)
    forwards, backwards = window_p_values(values, test, 20), window_p_values(values[::-1], test, 20)
    np.testing.assert_allclose(forwards, backwards[::-1], rtol=1e-12)


@pytest.mark.parametrize("half", [2, 3, 10, 30, 120])
def test_kolmogorov_smirnov_p_values_of_all_statistics(half: int) -> None:
    found = from_statistics("KS", half, np.arange(half + 1.0))
    before = np.arange(float(half))
    for k in range(half + 1):
        after = before + k - 0.5  # k points of the first sample are below all of the second
        assert stats.ks_2samp(before, after, method="asymp").statistic * half == pytest.approx(k if k else 1)
        if k:
            assert found[k] == pytest.approx(direct.p_value("KS", before, after), rel=1e-9)
    assert found[0] == 1.0
    assert smallest_p_value("KS", half) == found[half]


@pytest.mark.parametrize("half", [2, 10, 15, 25])
def test_smallest_p_values_are_those_of_separate_samples(half: int) -> None:
    apart = np.arange(2.0 * half)
    for test in ("U", "KS"):
        assert smallest_p_value(test, half) == pytest.approx(window_p_values(apart, test, 2 * half)[0], rel=1e-12)
    assert smallest_p_value("F", half) == 0.0


@pytest.mark.parametrize("level", [1e-8, 0.001, 0.05, 0.3])
@pytest.mark.parametrize("half", [2, 10, 30])
@pytest.mark.parametrize("test", TESTS)
def test_a_level_and_its_critical_statistic(test: str, half: int, level: float) -> None:
    critical = critical_statistic(test, half, level)
    if test == "KS":
        found = from_statistics(test, half, np.arange(half + 1.0))
        assert critical == np.sum(found > level)
    else:
        assert from_statistics(test, half, np.array([critical]))[0] == pytest.approx(level, rel=1e-9)


@pytest.mark.parametrize("kind", ["continuous", "rounded"])
@pytest.mark.parametrize("width", [6, 20])
@pytest.mark.parametrize("test", TESTS)
def test_confirmatory_scores_as_defined(test: str, width: int, kind: str) -> None:
    # Levels that no p-value of few rounded points equals: whether equal ones count would hang on the last digit.
    runs, levels, spans = (1, 2, 3, 5, 8, 20, 33), (0.31, 0.11, 0.013), (1, 4, 33)
    wanted = [
        *(WindowScore(test, width, run) for run in runs),
        *(WindowScore(test, width, kept=kept, level=level) for level in levels for kept in ("longest", "share")),
        *(WindowScore(test, width, span, "most", level) for level in levels for span in spans),
    ]
    samples = [series(kind, size, size) for size in (70, 43, 25, 20, 6, 5, 0)]
    scores = window_scores(samples, wanted)
    assert scores.shape == (7, 22)
    for values, row in zip(samples, scores, strict=True):
        found = direct.p_values(values, test, width)
        expected = [direct.smallest_confirmed(found, run) for run in runs]
        for level in levels:
            expected += [direct.longest(found, level), direct.share(found, level)]
        expected += [direct.most(found, level, span) for level in levels for span in spans]
        np.testing.assert_allclose(row, expected, rtol=1e-11)


def test_scores_come_in_the_order_asked_for_whatever_it_is() -> None:
    data = engine_series(20)
    wanted = [
        WindowScore("F", 30, kept="share", level=0.1),
        WindowScore("U", 20, run=5),
        WindowScore("F", 30),
        WindowScore("U", 20),
        WindowScore("U", 20, run=5),
    ]
    together = window_scores(data, wanted)
    for k, score in enumerate(wanted):
        assert np.array_equal(together[:, [k]], window_scores(list(data), [score]))
    assert np.all(together[:, 1] >= together[:, 3])


def test_series_do_not_touch_each_other() -> None:
    data = list(engine_series(30))
    wanted = [WindowScore(test, 30, run=3) for test in TESTS]
    together = window_scores(data, wanted)
    assert np.array_equal(together, np.vstack([window_scores([values], wanted) for values in data]))


def test_anomalies_are_found_by_the_test_made_for_them() -> None:
    data = engine_series(600, random_state=3)
    scores = window_scores(data, [WindowScore("U", 40), WindowScore("F", 40)])
    medians = {label: np.median(scores[data.labels == label], axis=0) for label in ("normal", "mean", "variance")}
    assert medians["mean"][0] < 1e-4 < medians["normal"][0]
    assert medians["variance"][1] < 1e-5 < medians["normal"][1]
    assert medians["variance"][0] > 1e-3


def test_numpy_numbers_are_numbers() -> None:
    data = engine_series(5)
    wanted = [WindowScore(test, np.int32(80), np.int64(2)) for test in TESTS]
    assert [score.name for score in wanted] == [f"{test}(w=80, 2 in a row)" for test in TESTS]
    assert np.array_equal(window_scores(data, wanted), window_scores(data, [WindowScore(t, 80, 2) for t in TESTS]))


def test_nothing_to_score() -> None:
    assert window_scores([], [WindowScore("U", 20)]).shape == (0, 1)
    assert window_scores(engine_series(3), []).shape == (3, 0)
    assert window_p_values([1.0, 2.0], "KS", 4).shape == (0,)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, np.nan, 2.0], "Series 1 has missing, infinite or huge values"),
        ([1.0, np.inf], "Series 1 has missing, infinite or huge values"),
        ([1e160, 1.0], "Series 1 has missing, infinite or huge values"),
        ([[1.0], [2.0]], "Series 1 has 2 dimensions"),
        (["a", "b"], "Series 1 holds values that are not numbers"),
        (3.0, "Series 1 has 0 dimensions"),
    ],
)
def test_series_that_are_none(values: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        window_scores([[1.0, 2.0, 3.0, 4.0], values], [WindowScore("U", 4)])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"test": "T"}, "test must be one of U, KS, F, got 'T'"),
        ({"width": 21}, "width must be an even number"),
        ({"width": 2}, "width must be a whole number of at least 4, got 2"),
        ({"width": 20.0}, "width must be a whole number"),
        ({"run": 0}, "run must be a whole number"),
        ({"run": True}, "run must be a whole number"),
        ({"kept": "count"}, 'kept must be "p-value", "share", "longest" or "most"'),
        ({"level": 0.05}, 'level belongs to kept="share"'),
        ({"kept": "share"}, "level must be a p-value between 0 and 1, got None"),
        ({"kept": "longest", "level": 1.0}, "level must be a p-value between 0 and 1"),
        ({"kept": "share", "level": 0.1, "run": 2}, 'run belongs to kept="p-value"'),
    ],
)
def test_scores_that_are_none(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WindowScore(**{"test": "U", "width": 20} | arguments)
