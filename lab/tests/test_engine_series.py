"""The engine series are those of Rabenoro et al. (2015), section 5.1."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bayesieve_lab.simulate import EngineSeries, engine_series


@pytest.fixture(scope="module")
def data() -> EngineSeries:
    return engine_series(6000, random_state=5)


def of_class(data: EngineSeries, label: str) -> list[int]:
    return np.flatnonzero(data.labels == label).tolist()


def test_half_is_normal_and_the_anomalies_are_in_equal_parts(data: EngineSeries) -> None:
    labels, counts = np.unique(data.labels, return_counts=True)
    assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == {
        "normal": 3000,
        "mean": 1000,
        "variance": 1000,
        "trend": 1000,
    }
    # In random order: the first thousand series hold all classes, each in about its share.
    first = np.array([(data.labels[:1000] == label).sum() for label in ("normal", "mean", "variance", "trend")])
    assert stats.chisquare(first, [500, 500 / 3, 500 / 3, 500 / 3]).pvalue > 1e-4


def test_lengths_are_uniform_between_100_and_200(data: EngineSeries) -> None:
    counts = np.bincount(data.lengths, minlength=201)
    assert counts[:100].sum() == 0
    assert counts.size == 201
    assert stats.chisquare(counts[100:]).pvalue > 1e-4
    assert data.values.size == data.offsets[-1] == data.lengths.sum()


def test_changes_are_in_the_central_part(data: EngineSeries) -> None:
    normal = data.labels == "normal"
    assert np.all(data.change_points[normal] == -1)
    places, lengths = data.change_points[~normal], data.lengths[~normal]
    assert np.all(places >= 0.2 * lengths)
    assert np.all(places <= 0.8 * lengths)
    assert stats.kstest(places / lengths, stats.uniform(0.2, 0.6).cdf).pvalue > 1e-4
    assert np.isclose((places / lengths).min(), 0.2, atol=0.005)
    assert np.isclose((places / lengths).max(), 0.8, atol=0.005)


def test_changes_have_the_sizes_of_the_paper(data: EngineSeries) -> None:
    assert np.all(np.isnan(data.amplitudes[data.labels == "normal"]))
    for label, lowest in (("mean", 1.0), ("variance", 2.0), ("trend", 1.0)):
        sizes = data.amplitudes[data.labels == label]
        assert stats.kstest(sizes, stats.uniform(lowest, 4.0).cdf).pvalue > 1e-4


@pytest.mark.parametrize("label", ["normal", "mean", "variance", "trend"])
def test_what_is_left_without_the_change_is_white_noise(data: EngineSeries, label: str) -> None:
    noise, next_to_it = [], []
    for i in of_class(data, label):
        values, change, size = data.series(i).copy(), data.change_points[i], data.amplitudes[i]
        if label == "mean":
            values[change:] -= size
        if label == "variance":
            values[change:] /= size
        if label == "trend":
            values[change:] -= np.linspace(0.0, size, values.size - change)
        noise.append(values)
        next_to_it.append(values[1:] * values[:-1])
    assert stats.kstest(np.concatenate(noise), stats.norm.cdf).pvalue > 1e-4
    products = np.concatenate(next_to_it)
    assert abs(products.mean()) < 5 / np.sqrt(products.size)


@pytest.mark.parametrize(("count", "normal"), [(1, 0), (2, 1), (7, 3), (8, 4), (11, 5)])
def test_numbers_that_cannot_be_shared_out_evenly(count: int, normal: int) -> None:
    labels = engine_series(count).labels
    assert (labels == "normal").sum() == normal
    parts = [(labels == label).sum() for label in ("mean", "variance", "trend")]
    assert max(parts) - min(parts) <= 1


def test_one_series() -> None:
    data = engine_series(10)
    assert [series.size for series in data] == data.lengths.tolist()
    assert np.array_equal(data[-1], data.series(9))
    assert np.array_equal(data.series(3), data.values[data.offsets[3] : data.offsets[4]])
    with pytest.raises(IndexError, match="There is no series 10; series are numbered from 0 to 9"):
        data.series(10)
