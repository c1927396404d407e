"""The waveform study of Boulle (2007): methods against selectors that search alone, and what is said of them."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from bayesieve import CompressionAveraging, DiscreteNB, MAPSelector, SelectiveNB, TableEncoder
from bayesieve.counts import CodedTable
from bayesieve.criteria import AUC, Criterion, Error
from bayesieve.search import SearchState, SubsetProblem
from bayesieve.search.exhaustive import evaluate_every_subset
from bayesieve_lab.boulle2007 import waveform_report as report
from bayesieve_lab.boulle2007.all_subsets import RatedSubsets, rate_every_subset
from bayesieve_lab.boulle2007.data import MEASURES, OURS
from bayesieve_lab.boulle2007.waveform import (
    BY_SEARCH,
    EXHAUSTIVE,
    PAPER_MAP,
    SplitResult,
    WaveformStudy,
    fewest_wrong,
    largest_area,
    number_of,
    posterior_of,
    waveform_study,
)
from bayesieve_lab.boulle2007.waveform_claims import (
    NUMBERS,
    STATEMENTS,
    Number,
    Statement,
    features_text,
    peaks_of,
)
from bayesieve_lab.boulle2007.waveform_report import waveform_section
from tests.criteria.coded_tables import coded_table


def waveform(n_rows: int, features: Any = slice(None), seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Sums of two of three triangular waves with random shares, and noise (Breiman et al. 1984, section 2.6.2)."""
    rng = np.random.default_rng(seed)
    position = np.arange(1, 22)
    waves = np.maximum(6 - np.abs(position - np.array([[11], [15], [7]])), 0)
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    classes = rng.integers(0, 3, n_rows)
    share = rng.random((n_rows, 1))
    first, second = waves[pairs[classes, 0]], waves[pairs[classes, 1]]
    X = share * first + (1 - share) * second + rng.normal(size=(n_rows, 21))
    return X[:, features], np.array(["a", "b", "c"])[classes]


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    return waveform(500, np.array([0, 4, 5, 8, 9, 10, 12, 16]))  # the first one is noise


@pytest.fixture(scope="module")
def study(data: tuple[np.ndarray, np.ndarray]) -> WaveformStudy:
    return waveform_study(*data, seed=3, n_splits=3)


def rows_of(study: WaveformStudy, y: np.ndarray, at: int) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(np.arange(y.size), train_size=study.share, stratify=y, random_state=3 + at)
    return train, test


def test_weights_are_those_of_the_selectors_alone(data: Any, study: WaveformStudy) -> None:
    X, y = data
    split = study.splits[1]
    train, _ = rows_of(study, y, 1)
    coded = TableEncoder().fit_transform_coded(X[train], y[train])
    assert (split.n_train, split.n_test) == (350, 150)
    assert split.informative == tuple((np.flatnonzero(coded.n_levels > 1) + 1).tolist())
    assert 1 not in split.informative
    assert split.weights["NB"] == tuple((coded.n_levels > 1).astype(float))
    map_ = MAPSelector(encoder=None, exhaustive=True).fit_coded(coded)
    assert split.weights["SNB(MAP)"] == tuple(map_.weights_)
    cma = CompressionAveraging(encoder=None, exhaustive=True).fit_coded(coded)
    assert split.weights["SNB(CMA)"] == pytest.approx(cma.weights_, abs=1e-9)
    search = CompressionAveraging(encoder=None, random_state=4).fit_coded(coded)
    assert split.weights[BY_SEARCH] == pytest.approx(search.weights_, abs=1e-12)
    ours = SelectiveNB(pairs=0, prior="published", calibrate="weights", random_state=4).fit(X[train], y[train])
    assert split.weights[OURS] == pytest.approx(ours.feature_weights_, abs=1e-9)


def test_no_subset_is_better_by_accuracy_or_auc(data: Any, study: WaveformStudy) -> None:
    X, y = data
    split = study.splits[0]
    train, _ = rows_of(study, y, 0)
    encoder = TableEncoder()
    coded = encoder.fit_transform_coded(X[train], y[train])
    n_wrong, areas = {}, {}
    state = SearchState(SubsetProblem.of(coded, criterion=AUC()))
    features = np.array(split.informative) - 1
    for number in range(1 << features.size):
        weights = np.zeros(8)
        weights[features[number >> np.arange(features.size) & 1 == 1]] = 1.0
        predicted = DiscreteNB(feature_weights=weights).fit(coded).predict_log_proba(coded).argmax(axis=1)
        n_wrong[tuple(weights)] = int((predicted != coded.class_codes).sum())
        state.reset(weights > 0)
        areas[tuple(weights)] = -state.cost
    assert n_wrong[split.weights["SNB(ACC)"]] == min(n_wrong.values())
    assert split.training_error == pytest.approx(min(n_wrong.values()) / 350)
    assert split.n_most_accurate == list(n_wrong.values()).count(min(n_wrong.values()))
    assert areas[split.weights["SNB(AUC)"]] == pytest.approx(max(areas.values()), abs=1e-12)
    assert split.training_auc == pytest.approx(max(areas.values()), abs=1e-12)


def test_figures_of_merit_are_those_of_the_test_rows(data: Any, study: WaveformStudy) -> None:
    X, y = data
    train, test = rows_of(study, y, 2)
    encoder = TableEncoder()
    coded = encoder.fit_transform_coded(X[train], y[train])
    for method in (*EXHAUSTIVE, BY_SEARCH, OURS):
        model = DiscreteNB(feature_weights=study.splits[2].weights[method]).fit(coded)
        proba = model.predict_proba(encoder.transform_coded(X[test]))
        found = study.splits[2].measures[method]
        codes = np.unique(y, return_inverse=True)[1][test]
        assert found["accuracy"] == pytest.approx((proba.argmax(axis=1) == codes).mean())
        assert found["log_loss"] == pytest.approx(log_loss(codes, proba))
        expected = sum((codes == j).mean() * roc_auc_score(codes == j, proba[:, j]) for j in range(3))
        assert found["auc"] == pytest.approx(expected, abs=1e-3)  # probabilities saturate, log odds do not
        null = -np.log(np.bincount(np.unique(y, return_inverse=True)[1][train])[codes] / train.size).mean()
        assert found["compression_rate"] == pytest.approx(1 - found["log_loss"] / null)


def test_posterior(study: WaveformStudy) -> None:
    for split in study.splits:
        posterior = split.posterior
        n = 2 ** len(split.informative)
        assert posterior.n_models == sum(posterior.sizes_of_all) == 2 * sum(posterior.sizes_of_better_half) == n
        assert posterior.top[0].features == split.selected("SNB(MAP)")
        assert posterior.top[0].below_best == 0.0
        powers = [model.below_best for model in posterior.top]
        assert powers == sorted(powers)
        assert len({model.features for model in posterior.top}) == min(200, n)
        assert list(posterior.quantiles) == sorted(posterior.quantiles, reverse=True)
        assert posterior.quantiles[-1] == 0.0
        assert posterior.empty_below_best <= posterior.quantiles[0]
        assert (posterior.paper_rank, posterior.paper_below_best) == (None, None)  # it has features of higher numbers
        assert 0.0 <= split.found_by_search.below_best < posterior.empty_below_best


def test_where_the_subset_of_the_paper_stands() -> None:
    coded = coded_table(0, 200, 21, 3, strength=0.6)
    problem = replace(SubsetProblem.of(coded), candidates=np.array([1, *(k - 1 for k in PAPER_MAP)]))
    subsets = evaluate_every_subset(problem)
    posterior = posterior_of(subsets)
    paper = subsets.cost[-2]  # all candidates but the lowest, V2
    assert posterior.paper_rank == 1 + (subsets.cost < paper).sum()
    assert posterior.paper_below_best == pytest.approx((paper - subsets.cost.min()) / np.log(10))


def test_the_same_again_in_any_number_of_threads(data: Any, study: WaveformStudy) -> None:
    finished: list[int] = []
    again = waveform_study(
        *data,
        seed=3,
        n_splits=2,
        n_jobs=1,
        known=study.splits[:1],
        finished=lambda done: finished.append(len(done.splits)),
    )
    assert finished == [2]
    for ours, theirs in zip(again.splits, study.splits, strict=False):
        assert replace(ours, seconds=0.0) == replace(theirs, seconds=0.0)
    json.dumps(asdict(again))  # plain values


def test_section(study: WaveformStudy) -> None:
    files: dict[str, str] = {}
    text = waveform_section(study, files)
    assert set(re.findall(r"\]\(([^)]*)\)", text)) == set(files)
    assert len(files) == 5
    waves = files.pop("boulle2007-waves.svg")
    assert waves.count('aria-roledescription="line mark" d=') == 3 + 3 * 10
    for drawing in files.values():
        assert ElementTree.fromstring(drawing).tag.endswith("svg")
    lines = text.splitlines()
    assert lines[0].startswith("## Waveform")
    for claim in (*NUMBERS, *STATEMENTS):
        assert sum(f"| {claim.what} " in line for line in lines) == 1
    unlike = [line for line in lines if line.startswith("| Sections 5 and 6") and "not like for like" in line]
    assert ["paper's MAP" in line for line in unlike] == [True, True]
    assert sum(line.endswith("selects all of it at rank 1.") for line in lines) == 2
    assert len([line for line in lines if line.startswith("| SNB(CMA), search ")]) == 2
    assert "p-value" in text
    assert "nan" not in text
    for sentence in report.findings(study):
        assert f"- {sentence}" in lines


def test_section_of_one_split(study: WaveformStudy) -> None:
    text = waveform_section(replace(study, splits=study.splits[:1]), {})
    for absent in ("All splits", "p-value", "all splits"):
        assert absent not in text
    assert "one random split" in text


def test_differences_are_paired(study: WaveformStudy) -> None:
    values = [split.measures["SNB(CMA)"]["accuracy"] - split.measures["NB"]["accuracy"] for split in study.splits]
    found = report.difference(study, "NB", "accuracy")
    assert found.difference == pytest.approx(np.mean(values))
    variance = (1 / 3 + 150 / 350) * np.var(values, ddof=1)
    assert found.statistic == pytest.approx(np.mean(values) / np.sqrt(variance))


def with_accuracy(split: SplitResult, **accuracies: float) -> SplitResult:
    measures = {name: dict(found) for name, found in split.measures.items()}
    for name, value in accuracies.items():
        measures[name]["accuracy"] = value
    return replace(split, measures=measures)


def test_rows_of_claims(study: WaveformStudy) -> None:
    split = study.splits[0]
    splits = [with_accuracy(split, NB=value) for value in (0.5, 0.7, 0.61)]
    number = Number("NB's accuracy", 0.65, lambda s: s.measures["NB"]["accuracy"], 2)

    def told(one: Number | Statement) -> tuple[str, str, str]:
        (check,) = (claim := one.judged(splits)).checks
        return check.text("paper"), check.text("ours"), claim.verdict

    assert told(number) == ("0.65", "0.60; 0.10 to 1.11", "holds")
    assert told(replace(number, paper=1.2))[2] == "does not hold"
    assert told(Number("none", 1, lambda s: np.nan)) == ("1", "–", "cannot be told")
    assert told(Statement("high", lambda s: s.measures["NB"]["accuracy"] > 0.6)) == ("yes", "2 of 3", "cannot be told")


def test_statements_of_the_paper_by_hand(study: WaveformStudy) -> None:
    split = study.splits[0]
    holds = {statement.what: statement.holds for statement in STATEMENTS}
    accurate = holds["SNB(ACC) is more accurate than NB"]
    assert accurate(with_accuracy(split, **{"NB": 0.5, "SNB(ACC)": 0.6}))
    assert not accurate(with_accuracy(split, **{"NB": 0.6, "SNB(ACC)": 0.6}))
    best = holds["SNB(CMA) is the best of the paper's methods by ACC, AUC and ILF"]
    measures = {name: dict.fromkeys(found, 0.5) for name, found in split.measures.items()}
    measures["SNB(CMA)"] = dict.fromkeys(measures["NB"], 0.6)
    measures[OURS] = dict.fromkeys(measures["NB"], 0.9)  # not of the paper
    assert best(replace(split, measures=measures))
    measures["SNB(BMA)"]["auc"] = 0.6
    assert not best(replace(split, measures=measures))
    optimal = holds["Almost all methods of figure 4 are Pareto optimal: one is dominated at most"]
    ranks = {
        "NB": (5, 1, 1),
        "SNB(ACC)": (4, 2, 2),
        "SNB(AUC)": (3, 3, 3),
        "SNB(MAP)": (1, 4, 4),
        "SNB(BMA)": (2, 5, 5),
    }
    of_figure = split.measures | {name: dict(zip(MEASURES, of, strict=True)) for name, of in ranks.items()}
    assert optimal(replace(split, measures=of_figure))  # only SNB(MAP) is dominated, by SNB(BMA)
    of_figure["NB"] = dict.fromkeys(MEASURES, 0)
    assert not optimal(replace(split, measures=of_figure))
    among = holds["SNB(MAP)'s features are among those of SNB(ACC) and SNB(AUC)"]
    weights = split.weights | {"SNB(MAP)": (1.0, 0.0), "SNB(ACC)": (1.0, 1.0), "SNB(AUC)": (1.0, 0.0)}
    assert among(replace(split, weights=weights))
    assert not among(replace(split, weights=weights | {"SNB(AUC)": (0.0, 1.0)}))


def test_features_in_words() -> None:
    assert features_text(PAPER_MAP) == "V5, V6, V9–V13, V17"
    assert features_text([3, 1, 2]) == "V1–V3"
    assert features_text([]) == "none"
    assert peaks_of([0.2, 0.5, 0.5, 0.1, 0.3]) == [5]
    assert peaks_of([0.6, 0.5, 0.7, 0.1]) == [1, 3]


def test_what_cannot_be_studied(data: Any) -> None:
    X, y = data
    noise = np.random.default_rng(0).normal(size=(y.size, 2))
    with pytest.raises(ValueError, match="No feature is informative about the class"):
        waveform_study(noise, y, n_splits=1)
    with pytest.raises(ValueError, match="n_splits must be at least 1, got 0"):
        waveform_study(X, y, n_splits=0)


@pytest.mark.parametrize(("n_features", "n_classes"), [(4, 3), (8, 2), (8, 3)])
def test_choices_among_all_subsets(n_features: int, n_classes: int) -> None:
    rng = np.random.default_rng(n_features)
    y = rng.integers(0, n_classes, 90).astype(np.uint8)
    codes = np.where(rng.random((n_features, 90)) < 0.4, y, rng.integers(0, 3, (n_features, 90))).astype(np.uint8)
    levels = np.maximum(codes.max(axis=1) + 1, 2)
    coded = CodedTable(codes, levels, tuple(f"x{k}" for k in range(n_features)), y, np.arange(n_classes))
    problem = SubsetProblem.of(coded)
    subsets = rate_every_subset(problem)
    state = SearchState(SubsetProblem.of(coded, criterion=AUC()))
    areas = []
    for number in range(subsets.cost.size):
        selected = np.isin(np.arange(n_features), subsets.features(number))
        state.reset(selected)
        areas.append(-state.cost)
        assert number_of(subsets, subsets.features(number)) == number
    assert number_of(replace(subsets, problem=replace(problem, candidates=np.array([1]))), np.array([0])) is None
    number, best = largest_area(subsets)
    assert best == pytest.approx(max(areas), abs=1e-12)
    tied = np.flatnonzero(np.array(areas) >= max(areas) - 1e-12)
    assert number in tied
    assert subsets.sizes[number] == subsets.sizes[tied].min()
    fewest = fewest_wrong(subsets)
    assert subsets.wrong[fewest] == subsets.wrong.min()
    assert subsets.sizes[fewest] == subsets.sizes[subsets.wrong == subsets.wrong.min()].min()


def slow_values(problem: SubsetProblem, criterion: Criterion, subsets: RatedSubsets) -> np.ndarray:
    """The criterion of every subset, each evaluated from the empty one."""
    state = SearchState(replace(problem, objective=replace(problem.objective, criterion=criterion)))
    found = []
    for number in range(subsets.cost.size):
        state.reset(np.isin(np.arange(len(problem.names)), subsets.features(number)))
        found.append(state.cost)
    return np.array(found)


@pytest.mark.parametrize(("n_features", "n_classes"), [(2, 2), (4, 3), (8, 2), (8, 3), (8, 5)])
def test_every_subset_has_its_own_errors_and_area(n_features: int, n_classes: int) -> None:
    coded = coded_table(n_features, 90, n_features, n_classes, strength=0.8, unseen=0.05)
    problem = SubsetProblem.of(coded)
    subsets = rate_every_subset(problem)
    wrong = slow_values(problem, Error(), subsets)
    np.testing.assert_allclose(subsets.wrong, wrong * coded.n_rows, atol=1e-9)
    area = -slow_values(problem, AUC(), subsets)
    assert np.all(subsets.area_bounds[0] <= area + 1e-9)
    assert np.all(area <= subsets.area_bounds[1] + 1e-9)


def test_bounds_of_areas_are_close_where_scores_differ() -> None:
    coded = coded_table(3, 400, 10, 3, strength=0.6, n_levels=5)
    subsets = rate_every_subset(SubsetProblem.of(coded))
    gap = subsets.area_bounds[1] - subsets.area_bounds[0]
    assert np.all(gap >= 0)
    assert gap[-1] < 0.01


def test_ratings_depend_neither_on_pieces_nor_on_threads() -> None:
    problem = SubsetProblem.of(coded_table(5, 150, 9, 3, strength=0.7))
    threads, whole = rate_every_subset(problem, n_jobs=2), rate_every_subset(problem, n_cut=0)
    for name in ("cost", "wrong", "area_bounds"):
        np.testing.assert_array_equal(getattr(threads, name), getattr(whole, name))
