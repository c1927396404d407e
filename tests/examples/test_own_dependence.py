"""The page on dependence measures of one's own: its code runs as printed, and the measure is what it says it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.datasets import load_iris

import bayesieve
from bayesieve import CFSSelector, MRMRSelector, SelectiveNB, pair_statistics
from bayesieve.counts import CodedTable, Dependence, EntropyDependence
from bayesieve.counts.dependence import DEPENDENCES, make_dependence
from bayesieve.counts.information import mutual_information, symmetrical_uncertainty
from bayesieve.counts.pairs import PairInformation
from tests.examples.pages import blocks, install


@pytest.fixture(scope="module")
def spearman() -> Any:
    names: dict[str, Any] = {}
    exec(blocks("own-dependence.md")[0], names)
    return names["SpearmanRho"]


def draw(seed: int, n_rows: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes of 2 to 7 levels, two of them alike, classes, and whole weights."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, n, n_rows) for n in (2, 3, 3, 7, 5)])
    codes[:, 2] = np.where(rng.random(n_rows) < 0.6, codes[:, 1], codes[:, 2])
    return codes, rng.integers(0, 3, n_rows), rng.integers(1, 4, n_rows)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_values_of_the_page(spearman: Any, n_jobs: int) -> None:
    codes, y, weights = draw(0)
    values = pair_statistics(codes, encoder=None, statistic=spearman(), n_jobs=n_jobs)
    np.testing.assert_allclose(values, np.abs(spearmanr(codes).statistic), atol=1e-12)
    np.testing.assert_array_equal(values, values.T)
    block = pair_statistics(codes, encoder=None, statistic=spearman(), features=[3, 1], others=slice(1, None))
    np.testing.assert_allclose(block, values[[3, 1], 1:], atol=1e-12)
    weighted = pair_statistics(codes, encoder=None, statistic=spearman(), sample_weight=weights)
    repeated = np.abs(spearmanr(np.repeat(codes, weights, axis=0)).statistic)
    np.testing.assert_allclose(weighted, repeated, atol=1e-12)
    within = pair_statistics(codes, y, encoder=None, statistic=spearman(), given_class=True)
    parts = [np.mean(y == c) * np.abs(spearmanr(codes[y == c]).statistic) for c in range(3)]
    np.testing.assert_allclose(within, np.sum(parts, axis=0), atol=1e-12)


def test_rows_of_unseen_levels_do_not_count(spearman: Any) -> None:
    codes, _, _ = draw(1)
    coded = CodedTable(codes.T.astype(np.uint8), np.array([2, 2, 3, 6, 5]), tuple("abcde"))
    values = PairInformation(coded).of(spearman())
    seen = (codes < coded.n_levels).T
    for a in range(5):
        for b in range(5):
            rows = seen[a] & seen[b]
            expected = abs(spearmanr(codes[rows, a], codes[rows, b]).statistic)
            assert values[a, b] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", [n for n, part in DEPENDENCES.own.items() if issubclass(part, EntropyDependence)])
@pytest.mark.parametrize("given_class", [False, True])
def test_compiled_measures_equal_those_of_tables(name: str, given_class: bool) -> None:
    """The built-in measures, taken for measures of plain tables."""
    compiled = make_dependence(name)
    assert isinstance(compiled, EntropyDependence)

    class Plain(Dependence):
        name = "plain"

        def of_tables(self, tables: np.ndarray) -> np.ndarray:
            return compiled.of_tables(tables)

    codes, y, _ = draw(2)
    options: dict[str, Any] = {"encoder": None, "given_class": given_class}
    values = pair_statistics(codes, y, statistic=compiled, **options)
    if not (given_class and name == "symmetrical_uncertainty"):  # which is a quotient of means
        np.testing.assert_allclose(pair_statistics(codes, y, statistic=Plain(), **options), values, atol=1e-12)
    table = np.random.default_rng(0).integers(0, 9, (4, 3, 5))
    function = mutual_information if name == "mutual_information" else symmetrical_uncertainty
    np.testing.assert_allclose(compiled.of_tables(table), [function(part) for part in table], atol=1e-12)
    counts = bayesieve.DiscreteNB().fit(codes, y)
    coded = CodedTable(
        codes.T.astype(np.uint8), np.array([2, 3, 3, 7, 5]), tuple("abcde"), class_codes=y.astype(np.uint8),
        classes=counts.classes_,
    )  # fmt: skip
    np.testing.assert_allclose(Plain().with_class(coded.counts), compiled.with_class(coded.counts), atol=1e-12)


def test_selectors_take_any_measure(spearman: Any) -> None:
    codes, y, _ = draw(3)
    codes[:, 3] = np.minimum(3 * y + codes[:, 0], 6)
    mrmr = MRMRSelector(2, dependence=spearman(), encoder=None).fit(codes, y)
    relevance = np.abs(spearmanr(np.column_stack([codes, y])).statistic)[-1, :-1]
    assert mrmr.ranking_[0] == relevance.argmax() == 3
    assert mrmr.scores_[3] == pytest.approx(relevance.max(), abs=1e-12)
    assert mrmr.trace_.criterion_name == "mrmr_score"
    same = MRMRSelector(2, dependence="mutual_information", encoder=None).fit(codes, y)
    np.testing.assert_array_equal(same.scores_, MRMRSelector(2, encoder=None).fit(codes, y).scores_)
    cfs = CFSSelector(dependence=spearman(), encoder=None).fit(codes, y)
    np.testing.assert_allclose(cfs.class_correlations_, relevance, atol=1e-12)
    assert cfs.support_[3]


def test_a_registered_measure_is_found_by_name_and_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(vars(DEPENDENCES), "_installed", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    entry_points = "[bayesieve.dependences]\nlevel_spearman = other_measures:SpearmanRho\n"
    install(tmp_path / "site", {"other_measures": blocks("own-dependence.md")[0]}, entry_points)
    try:
        X, y = load_iris(return_X_y=True, as_frame=True)
        named = CFSSelector(dependence="level_spearman").fit(X, y)
        model = SelectiveNB(CFSSelector(dependence=DEPENDENCES["level_spearman"]())).fit(X, y)
        np.testing.assert_array_equal(named.class_correlations_, model.selector_.class_correlations_)
        model.save(tmp_path / "model.json")
        again = bayesieve.load(tmp_path / "model.json")
        assert again.selector.startswith("CFSSelector(dependence=")
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        with pytest.raises(ValueError, match=r"'level_spearman'.*, a Dependence object or a function, got 'rho'"):
            MRMRSelector(dependence="rho").fit(X, y)
    finally:
        vars(DEPENDENCES).pop("_installed", None)


def test_measures_that_cannot_be_used_are_refused() -> None:
    class OfTwo(Dependence):
        name = "of_two"

        def of_tables(self, tables: np.ndarray) -> np.ndarray:
            return np.zeros(2)

    class NotANumber(OfTwo):
        def of_tables(self, tables: np.ndarray) -> np.ndarray:
            return np.full(len(tables), np.nan)

    class Distance(OfTwo):
        lower_is_better = True

    codes, y, _ = draw(4, 50)
    with pytest.raises(
        ValueError, match=r"'of_two' must return one finite number for each of 1 tables, got shape \(2,\)"
    ):
        pair_statistics(codes, encoder=None, statistic=OfTwo(), features=[0], others=[1])
    with pytest.raises(ValueError, match=r"got shape \(1,\) with NaN or infinity"):
        pair_statistics(codes, encoder=None, statistic=NotANumber(), features=[0], others=[1])
    for selector in (MRMRSelector(2, dependence=Distance()), CFSSelector(dependence=Distance())):
        with pytest.raises(ValueError, match="larger values mean more dependence, got 'of_two'"):
            selector.set_params(encoder=None).fit(codes, y)
    wide = CodedTable(np.zeros((2, 3), dtype=np.uint16), np.array([3000, 3000]), ("a", "b"))
    with pytest.raises(ValueError, match="3000 x 3000 levels is too large for OfTwo"):
        PairInformation(wide).of(OfTwo())
