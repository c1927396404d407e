"""Small parts of a scorecard by hand: scores against other classes, shared rows, texts, bands, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB
from bayesieve.scorecard import Feature, Scorecard
from bayesieve.scorecard.combining import merged
from bayesieve.scorecard.counterfactuals import codes_in
from bayesieve.scorecard.edits import _averaged, _nats_text, _split
from bayesieve.scorecard.export.card_table import _weights_of_evidence
from bayesieve.scorecard.export.point_card import Points
from bayesieve.scorecard.look_up import is_row
from bayesieve.scorecard.model_file import _is_nested
from bayesieve.scorecard.reasons import class_scores
from bayesieve.scorecard.strategy import strategy_table
from bayesieve.table.levels import FeatureLevels

N = 600


def rows(n: int, seed: int) -> tuple[pl.DataFrame, np.ndarray]:
    """A number with missing values, a word, and a class that both depend on."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    number = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n) + y)
    word = np.array(["a", "b", "c"])[(rng.integers(0, 3, n) + y * (rng.random(n) < 0.3)) % 3]
    return pl.DataFrame({"number": pl.Series(number).fill_nan(None), "word": word}), np.array(["no", "yes"])[y]


def counted(X: pl.DataFrame, y: np.ndarray, levels: Any = None) -> Scorecard:
    """A card by counts alone."""
    rules = {"number": {"cuts": [0.5, 1.5]}, "word": {"groups": [["a"], ["b"], ["c"]]}}
    model = SelectiveNB("all", calibrate=False, pairs=0, levels=levels or rules)
    return model.fit(X, y).scorecard_


@pytest.fixture(scope="module")
def card() -> Scorecard:
    return counted(*rows(N, 0))


def numeric(*cuts: float, name: str = "x") -> FeatureLevels:
    return FeatureLevels(name, "numeric", "number", np.array([-np.inf, *cuts]), missing_code=0)


def words(*groups: tuple[str | None, ...], name: str = "x") -> FeatureLevels:
    missing = next((code for code, group in enumerate(groups) if None in group), None)
    return FeatureLevels(name, "categorical", "text", groups=groups, missing_code=missing)


def test_a_class_is_scored_against_the_mean_of_the_others() -> None:
    table = np.random.default_rng(0).normal(size=(4, 3))
    others = [(table[:, 1] + table[:, 2]) / 2, (table[:, 0] + table[:, 2]) / 2, (table[:, 0] + table[:, 1]) / 2]
    np.testing.assert_allclose(class_scores(table), table - np.stack(others, axis=1))


def test_weights_of_evidence_are_logarithms_of_shares() -> None:
    rows, events = np.array([50.0, 40.0, 10.0, 0.0]), np.array([10.0, 20.0, 0.0, 0.0])
    woe, information = _weights_of_evidence(rows, events)
    others, half = rows - events, np.array([0.0, 0.0, 0.5, 0.5])
    expected = np.log((others + half) / others.sum()) - np.log((events + half) / events.sum())
    np.testing.assert_allclose(woe, expected)
    differences = others / others.sum() - events / events.sum()
    np.testing.assert_allclose(information, np.where(rows > 0, differences * expected, 0.0))
    rows, events = np.array([8e-3, 4e-3]), np.array([1e-3, 2e-3])  # of small weights
    woe, information = _weights_of_evidence(rows, events)
    np.testing.assert_allclose(woe, np.log([7 / 9 * 3, 2 / 9 * 3 / 2]))
    np.testing.assert_allclose(information, np.array([7 / 9 - 1 / 3, 2 / 9 - 2 / 3]) * woe)


def with_errors(feature: Feature, errors: list[float], shared: list[float]) -> Feature:
    """The feature with standard errors of log odds, and one factor of them that other features share."""
    halves = np.array(errors) / 2
    return replace(feature, standard_errors=np.stack([halves, halves], axis=1), factors=np.array(shared)[:, None, None])


def test_joined_cells_have_mean_contributions_and_errors(card: Scorecard) -> None:
    feature = card["word"]
    feature = with_errors(
        replace(feature, counts=np.array([[5.0, 5.0], [10.0, 20.0], [1.0, 2.0]])), [0.5, 0.4, 0.9], [0.3, -0.2, 0.1]
    )
    found = _averaged(feature, np.array([0, 0, 1]))
    np.testing.assert_allclose(found.counts, [[15.0, 25.0], [1.0, 2.0]])
    np.testing.assert_allclose(found.contributions[0], [0.25, 0.75] @ feature.contributions[:2])
    np.testing.assert_allclose(found.factors[:, 0, 0], [0.25 * 0.3 - 0.75 * 0.2, 0.1])
    single = 0.25**2 * (0.5**2 - 0.3**2) + 0.75**2 * (0.4**2 - 0.2**2)
    error = np.sqrt(single + (0.25 * 0.3 - 0.75 * 0.2) ** 2)
    np.testing.assert_allclose(found.standard_errors, [[error / 2] * 2, [0.45] * 2])
    nobody = _averaged(replace(feature, counts=np.zeros((3, 2))), np.array([0, 0, 0]))
    np.testing.assert_allclose(nobody.contributions[0], feature.contributions.mean(axis=0))


def test_errors_are_split_into_those_of_shared_factors_and_the_rest(card: Scorecard) -> None:
    feature = replace(with_errors(card["word"], [0.5, 0.4, 0.9], [0.3, -0.2, 0.1]), weight=1.0)
    shared, rest = feature.errors
    np.testing.assert_array_equal(shared[:, 0, 0], [0.3, -0.2, 0.1, 0.0])
    np.testing.assert_allclose(rest[:-1, 0], [0.5**2 - 0.3**2, 0.4**2 - 0.2**2, 0.9**2 - 0.1**2])
    np.testing.assert_allclose(feature.total_errors[:-1], feature.standard_errors)


def test_rows_of_a_divided_cell_are_shared_by_length(card: Scorecard) -> None:
    feature = card["number"]
    at = feature.cells.cut_points.tolist().index(1.5)  # type: ignore[union-attr]
    found = _split(feature, 0.75)
    np.testing.assert_allclose(found.counts[at : at + 2], np.outer([0.25, 0.75], feature.counts[at]))
    np.testing.assert_array_equal(found.contributions[at], found.contributions[at + 1])
    for outside, code in ((-3.0, at - 1), (7.0, at + 1)):  # half of the rows where a cell has no end
        found = _split(feature, outside)
        np.testing.assert_allclose(found.counts[code : code + 2], np.tile(feature.counts[code] / 2, (2, 1)))
    assert _split(feature, 1.5) is feature


def test_nats_are_of_the_positive_class_or_of_all(card: Scorecard) -> None:
    assert _nats_text(np.array([-0.25, 0.25]), card) == "+0.25"
    three = replace(card, classes=np.array(["u", "v", "w"]))
    assert _nats_text(np.array([-0.25, 1.0, -0.75]), three) == "u -0.25, v +1, w -0.75"


@pytest.mark.parametrize(
    ("X", "expected"),
    [({"a": 1, "b": "text", "c": b"bytes", "d": None}, True), ({}, True), ([1, 2], False), ("text", False)],
)
def test_one_row_is_a_mapping_to_single_values(X: Any, expected: bool) -> None:
    assert is_row(X) is expected


def test_a_mapping_to_columns_is_refused() -> None:
    for values in ([1, 2], (1,), np.zeros(2), {"x": 1}):
        with pytest.raises(TypeError, match=r"'b' holds \w+; pass several rows as a dataframe"):
            is_row({"a": 1, "b": values})


def test_finer_levels_lie_in_those_of_a_part() -> None:
    part, finer = numeric(0.0, 2.0), numeric(-1.0, 0.0, 1.0, 2.0)
    assert codes_in(part, finer).tolist() == [0, 1, 1, 2, 2, 3, 4]  # missing, five intervals, unseen
    assert codes_in(part, numeric()).tolist()[::2] == [0, 4]
    part, finer = words(("a", "b"), ("c", None)), words((None,), ("a",), ("b",), ("c",))
    assert codes_in(part, finer).tolist() == [1, 0, 0, 1, 2]


def test_cells_are_nested_in_levels() -> None:
    assert _is_nested(numeric(0.0, 1.0, 2.0), numeric(0.0, 2.0)) is True
    assert _is_nested(numeric(0.0, 1.0), numeric(0.0, 2.0)) is False
    level = words(("a", "b"), ("c",))
    assert _is_nested(words(("a",), ("b",), ("c",)), level) is True
    assert _is_nested(words(("a",), ("b", "c")), level) is False
    assert _is_nested(words(("a",), ("b",)), level) is False
    assert _is_nested(numeric(0.0), level) is False


def test_bands_begin_at_given_scores() -> None:
    score, event = np.array([5.0, 4.0, 3.0, 2.0, 2.0, 1.0]), np.array([0, 0, 1, 0, 1, 1]) > 0
    table = strategy_table(score, event, None, [2.0, 4.0])
    assert table.select("low", "high", "rows", "events").rows() == [
        (4.0, 5.0, 2, 0),
        (2.0, 3.0, 3, 2),
        (1.0, 1.0, 1, 1),
    ]
    weighted = strategy_table(score, event, np.array([1.0, 2.0, 0.0, 1.0, 1.0, 5.0]), 2)
    assert weighted.select("low", "high", "rows", "events").rows() == [(2.0, 5.0, 5.0, 1.0), (1.0, 1.0, 5.0, 5.0)]
    assert weighted["share"].to_list() == [0.5, 0.5]
    assert weighted["event_rate"].to_list() == pytest.approx([0.2, 1.0])
    assert weighted["approval_rate"].to_list() == [0.5, 1.0]
    assert weighted["approved_event_rate"].to_list() == pytest.approx([0.2, 0.6])
    assert weighted["avoided_events"].to_list() == pytest.approx([5 / 6, 0.0])
    for bands in ([], [2.0, 2.0], [3.0, 2.0], [[1.0, 2.0]], 0, "3"):
        with pytest.raises(ValueError, match="bands must be a number of bands, at least 1, or ascending scores"):
            strategy_table(score, event, None, bands)  # type: ignore[arg-type]


def test_points_of_few_steps_keep_their_range(card: Scorecard) -> None:
    for most in (3, 20):
        points = Points(card, max_points=most)
        every = np.concatenate([values[:-1] for values in points.points.values()])
        assert np.abs(every).max() <= most
        odds = np.concatenate([np.diff(feature.contributions, axis=1)[:, 0] for feature in card.used_features])
        assert np.corrcoef(every, odds)[0, 1] > (0.9 if most == 3 else 0.99)


def test_merged_models_of_counts_are_that_of_all_rows(card: Scorecard) -> None:
    X, y = rows(200, 1)
    both = merged([card, counted(X, y, card)])
    (first, label), shares = rows(N, 0), [0.75, 0.25]
    whole = counted(pl.concat([first, X]), np.concatenate([label, y]), card)
    for feature in whole.features:
        own, parts = both[feature.name], [card[feature.name], counted(X, y, card)[feature.name]]
        np.testing.assert_allclose(own.counts, feature.counts)
        np.testing.assert_allclose(own.contributions, feature.contributions, atol=0.05)
        variances = sum((share * part.standard_errors) ** 2 for share, part in zip(shares, parts, strict=True))
        np.testing.assert_allclose(own.standard_errors, np.sqrt(variances), rtol=0.05)
        assert own.sign == feature.sign == 0
        assert own.factors.shape == (len(own.counts), 1, 0)
        assert (own.weight, own.search_weight) == (feature.weight, feature.search_weight)
    np.testing.assert_allclose(both.class_counts, [400, 400])
    np.testing.assert_allclose(both.intercept, whole.intercept, atol=0.05)
