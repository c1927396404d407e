"""Scores on sliding windows: each window as scipy.stats, each score as its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from scipy import stats

from bayesieve_lab.simulate import WindowScore, engine_series, window_p_values, window_scores
from bayesieve_lab.simulate.window_scores import critical_statistic, p_values as from_statistics, smallest_p_value
from lab.tests import direct

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
    one_by_one = [window_scores([values], wanted) for values in data]
    assert np.array_equal(together, np.vstack(one_by_one))  # series do not touch each other
    assert window_scores([], wanted).shape == (0, 5)
    assert window_scores(data, []).shape == (20, 0)
    assert WindowScore("F", np.int32(80), np.int64(2)).name == "F(w=80, 2 in a row)"
    assert np.all(together[:, 1] >= together[:, 3])


def test_anomalies_are_found_by_the_test_made_for_them() -> None:
    data = engine_series(600, random_state=3)
    scores = window_scores(data, [WindowScore("U", 40), WindowScore("F", 40)])
    medians = {label: np.median(scores[data.labels == label], axis=0) for label in ("normal", "mean", "variance")}
    assert medians["mean"][0] < 1e-4 < medians["normal"][0]
    assert medians["variance"][1] < 1e-5 < medians["normal"][1]
    assert medians["variance"][0] > 1e-3


@pytest.mark.parametrize("test", TESTS)
def test_seams_of_long_series(test: str) -> None:
    """The Kolmogorov-Smirnov scan works in pieces there."""
    values = series("rounded", 1500, 7)
    found = window_p_values(values, test, 30)
    assert found.size == 1471
    for b in {*range(254, 259), *range(510, 515), *range(1020, 1028), *range(0, 1471, 97), 1470}:
        expected = direct.p_value(test, values[b : b + 15], values[b + 15 : b + 30])
        assert found[b] == pytest.approx(expected, rel=1e-11, abs=1e-300)


@given(st.lists(st.integers(-3, 3), min_size=4, max_size=40), st.sampled_from(TESTS), st.sampled_from([4, 6, 10]))
@example([0] * 30, "F", 10)
@example([0] * 5 + [1, 3, -2, 0, 2], "F", 10)
def test_any_series_of_few_values(values: list[int], test: str, width: int) -> None:
    array = np.array(values, dtype=float)
    expected = direct.p_values(array, test, width)
    np.testing.assert_allclose(window_p_values(array, test, width), expected, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize(
    ("series", "score", "message"),
    [
        ([1.0, np.nan, 2.0], {}, "Series 1 has missing, infinite or huge values"),
        ([1e160, 1.0], {}, "Series 1 has missing, infinite or huge values"),
        ([[1.0], [2.0]], {}, "Series 1 has 2 dimensions"),
        (["a", "b"], {}, "Series 1 holds values that are not numbers"),
        (3.0, {}, "Series 1 has 0 dimensions"),
        ([], {"test": "T"}, "test must be one of U, KS, F, got 'T'"),
        ([], {"width": 21}, "width must be an even number"),
        ([], {"width": 2}, "width must be a whole number of at least 4, got 2"),
        ([], {"width": 20.0}, "width must be a whole number"),
        ([], {"run": 0}, "run must be a whole number"),
        ([], {"run": True}, "run must be a whole number"),
        ([], {"kept": "count"}, 'kept must be "p-value", "share", "longest" or "most"'),
        ([], {"level": 0.05}, 'level belongs to kept="share"'),
        ([], {"kept": "share"}, "level must be a p-value between 0 and 1, got None"),
        ([], {"kept": "longest", "level": 1.0}, "level must be a p-value between 0 and 1"),
        ([], {"kept": "share", "level": 0.1, "run": 2}, 'run belongs to kept="p-value"'),
    ],
)
def test_what_cannot_be_scored(series: Any, score: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        window_scores([[1.0, 2.0, 3.0, 4.0], series], [WindowScore(**{"test": "U", "width": 4} | score)])
