"""Rankings by mutual information against scikit-learn, and mRMR against its definition written out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from bayesieve.discretize import IndicatorEncoder
from bayesieve.evaluation.rankings import mutual_information, rank_by_mrmr, rank_by_mutual_information
from bayesieve.table import CodedTable


def random_table(seed: int, n_features: int = 7, n_rows: int = 150) -> CodedTable:
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, n_rows)
    n_levels = rng.integers(1, 4, n_features)
    codes = np.array([np.where(rng.random(n_rows) < 0.3, classes % n, rng.integers(0, n, n_rows)) for n in n_levels])
    return CodedTable(
        codes.astype(np.uint8),
        n_levels,
        tuple(f"x{k}" for k in range(n_features)),
        class_codes=classes.astype(np.uint8),
        classes=np.array(["a", "b", "c"]),
    )


@pytest.mark.parametrize("seed", range(5))
def test_mutual_information_is_that_of_scikit_learn(seed: int) -> None:
    coded = random_table(seed)
    relevance, redundancy = mutual_information(coded)
    for k, codes in enumerate(coded.codes):
        assert relevance[k] == pytest.approx(mutual_info_score(codes, coded.class_codes), abs=1e-12)
        for m, others in enumerate(coded.codes):
            assert redundancy[k, m] == pytest.approx(mutual_info_score(codes, others), abs=1e-12)


def test_indicators_with_missing_scores_count_them_as_a_level() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(80, 3))
    scores[rng.random(scores.shape) < 0.2] = np.nan
    y = rng.integers(0, 2, 80)
    coded = IndicatorEncoder([-0.5, 0.5]).fit_coded(scores, y)
    relevance, _ = mutual_information(coded)
    expected = [mutual_info_score(codes, y) for codes in coded.codes]
    np.testing.assert_allclose(relevance, expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("form", ["difference", "quotient"])
def test_mrmr_is_its_definition(seed: int, form: str) -> None:
    coded = random_table(seed)
    relevance = [mutual_info_score(codes, coded.class_codes) for codes in coded.codes]
    left, order = list(range(coded.n_features)), []
    while left:
        merits = []
        for k in left:
            mean = np.mean([mutual_info_score(coded.codes[k], coded.codes[s]) for s in order]) if order else 0.0
            merits.append(relevance[k] - mean if form == "difference" or not order else relevance[k] / (mean + 1e-9))
        order.append(left.pop(int(np.argmax(np.round(merits, 12)))))
    assert rank_by_mrmr(coded, form).tolist() == order  # type: ignore[arg-type]


def test_mutual_information_orders_and_ties_go_to_the_lowest_column() -> None:
    coded = random_table(3)
    relevance, _ = mutual_information(coded)
    order = rank_by_mutual_information(coded)
    assert np.all(np.diff(relevance[order]) <= 1e-12)
    twice = replace(
        coded,
        codes=np.vstack([coded.codes, coded.codes]),
        n_levels=np.tile(coded.n_levels, 2),
        names=tuple(f"x{k}" for k in range(2 * coded.n_features)),
    )
    ranks = np.argsort(rank_by_mutual_information(twice))
    assert np.all(ranks[: coded.n_features] < ranks[coded.n_features :])


def test_a_copy_is_passed_over_by_mrmr() -> None:
    y = np.arange(64) % 2
    good = np.where(np.arange(64) < 8, 1 - y, y)
    weak = np.where(np.arange(64) // 2 % 4 == 0, 1 - y, y)
    coded = CodedTable(
        np.array([good, good, weak], dtype=np.uint8),
        np.array([2, 2, 2]),
        ("good", "copy", "weak"),
        class_codes=y.astype(np.uint8),
        classes=np.array([0, 1]),
    )
    assert rank_by_mutual_information(coded).tolist() == [0, 1, 2]
    assert rank_by_mrmr(coded).tolist() == [0, 2, 1]


def test_what_cannot_be_ranked_is_refused() -> None:
    coded = random_table(0)
    with pytest.raises(ValueError, match="no classes"):
        mutual_information(replace(coded, class_codes=None))
    with pytest.raises(ValueError, match="row weights"):
        rank_by_mrmr(replace(coded, weights=np.ones(coded.n_rows)))
