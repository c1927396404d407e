"""Pairs of columns: levels, gains and choice against slow loops over the rows; coding, recoding, blocks."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, strategies as st
from scipy.special import expit, gammaln

from bayesieve import MODLGrouper, SelectiveNB, TableEncoder
from bayesieve.discretize import pairs
from bayesieve.discretize.coding_options import CodingOptions
from bayesieve.discretize.modl import group_values, part_cost
from bayesieve.table.levels import columns_of
from bayesieve.table.pair_levels import PairLevels
from tests.limits import Limits

N = 400


def table(seed: int = 0, n: int = N, n_classes: int = 2) -> tuple[pl.DataFrame, np.ndarray]:
    """The class follows the sign of a product, which no column alone shows; other columns show it a little."""
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=n), rng.normal(size=n)
    town = rng.choice(["Jena", "Köln", "Ulm"], n)
    y = ((left * right > 0).astype(int) + (town == "Ulm") * (rng.random(n) < 0.3)) % n_classes
    noisy = [None if rng.random() < 0.1 else float(v) for v in y + rng.normal(0, 1.5, n)]
    frame = {"left": left, "right": right, "town": town, "noisy": noisy, "same": np.ones(n), "rest": rng.random(n)}
    return pl.DataFrame(frame), y


def part_of(counts: np.ndarray) -> float:
    """Nats of the labels of a part."""
    n, j = counts.sum(), counts.size
    return math.lgamma(n + j) - math.lgamma(n + 1) - math.lgamma(j) + math.lgamma(n + 1) - gammaln(counts + 1).sum()


def cells_of(encoder: TableEncoder, pair: PairLevels, frame: pl.DataFrame, y: np.ndarray, weights: Any) -> Any:
    """Counts per cell and class, row by row."""
    first, second = (part.code(_column(frame, part.name)) for part in pair.parts)
    cells: dict[tuple[int, int], np.ndarray] = {}
    for a, b, label, w in zip(first.tolist(), second.tolist(), y.tolist(), weights.tolist(), strict=True):
        if a < pair.parts[0].n_levels and b < pair.parts[1].n_levels and w > 0:
            cells.setdefault((a, b), np.zeros(len(encoder.classes_)))[label] += w
    return cells


def _column(frame: pl.DataFrame, name: str) -> Any:
    from bayesieve.table import as_table

    return as_table(frame).column(frame.columns.index(name))


def check_pair(encoder: TableEncoder, pair: PairLevels, frame: pl.DataFrame, y: np.ndarray, weights: Any) -> None:
    cells = cells_of(encoder, pair, frame, y, weights)
    values = sorted(cells)
    groups = group_values(np.array([cells[cell] for cell in values]), prior=encoder.prior) if values else None
    expected = {values[v]: g for g, group in enumerate(groups.groups) for v in group.tolist()} if groups else {}
    for cell in itertools.product(*(range(part.n_levels) for part in pair.parts)):
        np.testing.assert_allclose(pair.cells[cell], cells.get(cell, np.zeros(len(encoder.classes_))))
        assert pair.grid[cell] == expected.get(cell, pair.n_levels if values else 0)
    if groups:
        np.testing.assert_allclose(pair.counts, groups.counts)
        score = 1.0 - groups.cost / groups.null_cost if groups.null_cost else 0.0
        assert pair.level_score == pytest.approx(score, abs=1e-12)


def gain(pair: PairLevels, n_looked_at: int, prior: Any) -> float:
    """By the formulas, from the counts of cells."""
    values = [cell for cell in itertools.product(*map(range, pair.grid.shape)) if pair.cells[cell].any()]
    groups = group_values(np.array([pair.cells[cell] for cell in values]), prior=prior)
    total = pair.cells.sum(axis=(0, 1))
    columns = [sum(part_of(level) for level in pair.cells.sum(axis=axis)) for axis in (0, 1)]
    fit = sum(max(0.0, part_of(total) - column) for column in columns)
    return groups.null_cost - groups.cost - fit - math.log(n_looked_at) - math.log(100)


def named_pairs(encoder: TableEncoder) -> list[tuple[str, str]]:
    return [tuple(part.name for part in pair.parts) for pair in pairs_of(encoder)]  # type: ignore[misc]


def pairs_of(encoder: TableEncoder) -> list[PairLevels]:
    return [level for level in encoder.levels_ if isinstance(level, PairLevels)]


@pytest.mark.parametrize("missing", ["level", "ignore"])
@pytest.mark.parametrize(("n_classes", "weighted"), [(2, False), (3, False), (2, True)])
def test_levels_of_named_pairs_are_those_of_loops(missing: Any, n_classes: int, weighted: bool) -> None:
    frame, y = table(n_classes=n_classes)
    names = list(itertools.combinations(frame.columns, 2))
    weights = np.random.default_rng(2).random(N) if weighted else np.ones(N)
    encoder = TableEncoder(pairs=names, missing=missing).fit(frame, y, weights)
    assert named_pairs(encoder) == names
    for pair in pairs_of(encoder):
        check_pair(encoder, pair, frame, y, weights)
        for part, axis in zip(pair.parts, (1, 0), strict=True):
            single = encoder.levels_[frame.columns.index(part.name)]
            if single.n_levels > 1:
                assert part is single
                if single.counts is not None and missing == "level":
                    np.testing.assert_allclose(pair.cells.sum(axis=axis), single.counts)
            else:
                assert part.n_levels <= 7


@pytest.mark.parametrize("prior", ["sizes", "published"])
@pytest.mark.parametrize("seed", range(3))
def test_the_pairs_of_best_gain_are_chosen(prior: Any, seed: int) -> None:
    frame, y = table(seed)
    names = list(itertools.combinations([name for name in frame.columns if name != "same"], 2))
    every = TableEncoder(pairs=names, prior=prior).fit(frame, y)
    gains = {name: gain(pair, len(names), prior) for name, pair in zip(names, pairs_of(every), strict=True)}
    best = [name for name in sorted(names, key=lambda name: -gains[name]) if gains[name] > 0]
    assert best[0] == ("left", "right")
    assert named_pairs(TableEncoder(pairs="auto", prior=prior).fit(frame, y)) == best
    assert named_pairs(TableEncoder(pairs=1, prior=prior).fit(frame, y)) == best[:1]


def test_a_pair_has_to_save_more_than_chance_does() -> None:
    rng = np.random.default_rng(0)
    one, other, u = rng.choice(["a", "b"], N), rng.choice(["a", "b"], N), rng.random(N)
    frame, gains = pl.DataFrame({"one": one, "other": other}), []
    for strength in np.arange(0.18, 0.3, 0.02):
        y = np.where(u < strength, one == other, rng.permutation(N) % 2).astype(int)
        (pair,) = pairs_of(TableEncoder(pairs=[("one", "other")]).fit(frame, y))
        gains.append(gain(pair, 1, "sizes"))
        assert len(pairs_of(TableEncoder(pairs="auto").fit(frame, y))) == (gains[-1] > 0)
    assert min(gains) < -math.log(100) / 2 < 0 < max(gains)  # some for, some against it


@pytest.mark.parametrize("strength", [0.0, 1.5])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_pairs_need_an_interaction_and_sums_of_log_odds_have_none(n_classes: int, strength: float) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        one, other = rng.integers(0, 6, 5000), rng.integers(0, 9, 5000)
        odds = rng.normal(size=(6, n_classes))[one] + rng.normal(size=(9, n_classes))[other]
        odds = 1.5 * odds + strength * rng.normal(size=(6, 9, n_classes))[one, other]
        y = (odds + rng.gumbel(size=odds.shape)).argmax(axis=1)
        frame = pl.DataFrame({"one": one.astype(str), "other": other.astype(str)})
        assert len(pairs_of(TableEncoder(pairs="auto").fit(frame, y))) == (strength > 0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_fit_of_a_sum_is_known_if_one_column_repeats_the_other_or_says_nothing(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(50 * rng.random((4, n_classes))) + 1
    repeated = counts[:, None] * np.eye(4, dtype=int)[:, :, None]
    assert pairs.fit_of_sum(repeated) == 0.0  # less than the sum of both
    assert pairs.fit_of_sum(np.repeat(counts[:, None], 3, axis=1)) == pytest.approx(0.0, abs=1e-6)
    odds = rng.normal(size=(4, 1, n_classes)) + rng.normal(size=(1, 3, n_classes))
    cells = 1000 * np.exp(odds) / np.exp(odds).sum(axis=2, keepdims=True)
    null, *fits = (
        float((n * np.log(n / n.sum(axis=-1, keepdims=True))).sum())
        for n in (cells.sum(axis=(0, 1)), *map(cells.sum, (0, 1)))
    )
    fit = float((cells * np.log(cells / 1000)).sum())
    assert 0.0 < pairs.fit_of_sum(cells) == pytest.approx(fit - sum(fits) + null, rel=1e-3)


@given(st.integers(0, 2**32 - 1), st.integers(2, 3), st.sampled_from(["sizes", "published"]))
def test_no_groups_save_more_than_is_thought_possible(seed: int, n_classes: int, prior: Any) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.poisson(rng.choice([0.3, 2.0, 30.0]) * rng.random((2, 4, n_classes)) ** 4)
    cells = cells if rng.random() < 0.7 else cells * 0.75
    cells[0, 0, 0] += 1
    cells = cells if cells.dtype == float else cells.astype(np.int32)  # as counted rows are
    null = float(part_cost(cells.sum(axis=(0, 1))))
    found = group_values(cells.reshape(8, -1), method="optimal" if n_classes > 2 else "greedy", prior=prior)
    assert found.null_cost - found.cost <= max(0.0, pairs.most_saved(cells, null, prior)) + 1e-9


def test_of_many_columns_the_promising_pairs_are_looked_at() -> None:
    frame, y = table()
    rng = np.random.default_rng(1)
    wide = frame.with_columns(pl.Series(f"n{k}", rng.random(N)) for k in range(80))
    encoder = TableEncoder(pairs="auto").fit(wide, y)
    assert named_pairs(encoder) == [("left", "right")]


def test_of_very_many_columns_those_of_highest_level_score_are_looked_at(limits: Limits) -> None:
    frame, y = table()
    plain = TableEncoder().fit(frame, y)
    scores = dict(zip(frame.columns, plain.level_scores_.tolist(), strict=True))
    low = min(scores["left"], scores["right"])
    higher = [name for name in frame.columns if scores[name] > low and name not in ("left", "right")]
    limits(columns_of_pairs=len(higher) + 2)
    first = frame.select(["left", "right", *(name for name in frame.columns if name not in ("left", "right"))])
    assert ("left", "right") in named_pairs(TableEncoder(pairs="auto").fit(first, y))
    limits(columns_of_pairs=1)
    assert named_pairs(TableEncoder(pairs="auto").fit(first, y)) == []


@pytest.mark.parametrize("is_ranked", [False, True])
def test_numbers_may_be_in_pairs_with_categories_only(is_ranked: bool, limits: Limits) -> None:
    rng = np.random.default_rng(3)
    signs = rng.choice([-1.0, 1.0], (1000, 8))
    y = (signs[:, 0] * signs[:, 1] + signs[:, 2] * signs[:, 3] + rng.normal(0, 0.5, 1000) > 0).astype(int)
    columns = {f"number {i}": signs[:, i] * rng.random(1000) for i in range(8)}
    columns["sign"] = np.where(signs[:, 3] > 0, "plus", "minus")
    if is_ranked:
        limits(most_grouped=5)
    names = []
    for apart in (False, True):
        coding = CodingOptions(skips_number_pairs=lambda levels, n_classes, apart=apart: apart)
        coded = TableEncoder(pairs="auto").fit_transform_coded(pl.DataFrame(columns), y, coding=coding)
        names.append(set(coded.names[9:]))
    assert names == [{"number 0 × number 1", "number 2 × number 3", "number 2 × sign"}, {"number 2 × sign"}]


def test_noise_gives_no_pairs() -> None:
    rng = np.random.default_rng(5)
    for n in (57, 200, 1000):
        frame = pl.DataFrame({f"x{k}": rng.normal(size=n) for k in range(30)})
        assert not pairs_of(TableEncoder(pairs="auto").fit(frame, rng.integers(0, 2, n)))


@pytest.mark.parametrize("seed", range(3))
def test_a_weight_of_two_is_the_row_repeated(seed: int) -> None:
    frame, y = table(seed, 120)
    weights = np.random.default_rng(seed).integers(0, 3, y.size)
    repeated = np.repeat(np.arange(y.size), weights)
    one = TableEncoder(pairs="auto").fit(frame, y, weights)
    other = TableEncoder(pairs="auto").fit(frame[repeated], y[repeated])
    assert named_pairs(one) == named_pairs(other)
    for a, b in zip(pairs_of(one), pairs_of(other), strict=True):
        assert a.labels == b.labels
        np.testing.assert_array_equal(a.cells, b.cells)
        np.testing.assert_array_equal(a.grid, b.grid)
    np.testing.assert_array_equal(one.transform(frame), other.transform(frame))


def test_coding_row_by_row() -> None:
    frame, y = table()
    encoder = TableEncoder(pairs=[("left", "right"), ("noisy", "town")]).fit(frame, y)
    coded = encoder.transform(frame)
    np.testing.assert_array_equal(coded, encoder.fit_transform(frame, y))
    assert encoder.get_feature_names_out().tolist()[-2:] == ["left × right", "noisy × town"]
    new = pl.DataFrame(
        {"left": [0.0, 9.0], "right": [1.0, None], "town": ["Rom", None], "noisy": [0.0, 0.0]}
        | {"same": [1.0, 1.0], "rest": [0.5, 0.5]},
    )
    for frame_ in (new, frame[:20]):
        codes = encoder.transform(frame_)
        for k, pair in enumerate(pairs_of(encoder), frame.width):
            parts = [part.code(_column(frame_, part.name)) for part in pair.parts]
            for a, b, code in zip(*parts, codes[:, k], strict=True):
                known = a < pair.parts[0].n_levels and b < pair.parts[1].n_levels
                assert code == (pair.grid[a, b] if known else pair.n_levels)
            np.testing.assert_array_equal(pair.code([_column(frame_, part.name) for part in pair.parts]), codes[:, k])
    before = encoder.unseen_counts_.copy()
    encoder.transform(new)
    assert (encoder.unseen_counts_ - before).tolist()[-2:] == [1, 2]  # no towns, no missing values of "right"


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 2), st.integers(0, 3)), min_size=8),
    st.booleans(),
)
@example(rows=[(0, 0, 0, 0)] * 6 + [(0, 3, 0, 1), (4, 0, 0, 1)], ignore=True)  # no row has both values
@example(rows=[(0, 0, 0, 0)] * 7 + [(0, 0, 0, 1)], ignore=False)
def test_any_table(rows: list[tuple[int, int, int, int]], ignore: bool) -> None:
    a, b, y, w = (np.array(column) for column in zip(*rows, strict=True))
    if np.unique(y[w > 0]).size < 1:
        return
    frame = pl.DataFrame({"a": [None if v == 4 else v for v in a], "b": [None if v == 3 else "xyz"[v] for v in b]})
    classes, labels = np.unique(y, return_inverse=True)
    encoder = TableEncoder(pairs=[("b", "a")], missing="ignore" if ignore else "level").fit(frame, labels, w)
    (pair,) = pairs_of(encoder)
    if len(encoder.classes_) == classes.size:
        check_pair(encoder, pair, frame, labels, w.astype(float))
    again = PairLevels.from_json(pair.to_json())
    assert again.all_labels == pair.all_labels
    np.testing.assert_array_equal(again.counts, pair.counts)


def test_labels_read_as_conditions() -> None:
    rows = [(x, town, (x > 2) != (town in "bc")) for x in (1, 2, 3, 4) for town in "abcd"] * 10
    frame = pl.DataFrame({"size": [float(x) for x, _, _ in rows], "town": [town for _, town, _ in rows]})
    y = [label for _, _, label in rows]
    (pair,) = pairs_of(TableEncoder(pairs="auto").fit(frame, y))
    assert pair.labels == (
        "size <= 2.5 & town in {b, c} | size > 2.5 & town in {a, d}",
        "size <= 2.5 & town in {a, d} | size > 2.5 & town in {b, c}",
    )


def test_a_column_may_have_the_name_of_a_pair() -> None:
    frame, y = table()
    frame = frame.rename({"town": "left × right"})
    encoder = TableEncoder(pairs=[("left", "right")]).fit(frame, y)
    assert encoder.get_feature_names_out().tolist()[-1] == "left × right (pair)"


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ("all", "pairs must be 'auto'"),
        (-1, "pairs must be 'auto'"),
        (True, "pairs must be 'auto'"),
        (1.5, "pairs must be 'auto'"),
        ([("left", "right", "town")], "pairs must be 'auto'"),
        (["left"], "pairs must be 'auto'"),
        ([("left", "up")], "pairs names the column 'up'"),
        ([("left", "left")], "'left' twice"),
    ],
)
def test_options_are_checked(pairs: Any, message: str) -> None:
    frame, y = table()
    with pytest.raises(ValueError, match=message):
        TableEncoder(pairs=pairs).fit(frame, y)
    with pytest.raises(ValueError, match=message):
        SelectiveNB(pairs=pairs).fit(frame, y)


def test_pairs_are_learnt_again_from_some_rows() -> None:
    frame, y = table()
    encoder = TableEncoder(pairs=[("left", "right"), ("noisy", "town")])
    coded, refitter = encoder.fit_with_refitter(frame, y)
    fit, rest = np.arange(0, N, 2), np.arange(1, N, 2)
    learnt, others = refitter.refit(coded.rows, fit, rest)
    alone = TableEncoder(pairs=[("left", "right"), ("noisy", "town")]).fit(frame[fit], y[fit])
    assert learnt.names == others.names == coded.names
    np.testing.assert_array_equal(learnt.codes.T, alone.transform(frame[fit]))
    np.testing.assert_array_equal(others.codes.T, alone.transform(frame[rest]))
    some = np.array([1, frame.width, frame.width + 1])
    for own, whole in zip(refitter.select(some).refit(coded.rows, fit, rest), (learnt, others), strict=True):
        np.testing.assert_array_equal(own.codes, whole.codes[some])
        assert own.names == tuple(coded.names[k] for k in some)
    only = refitter.select(np.array([frame.width + 1])).refit(coded.rows, fit, rest)[1]
    np.testing.assert_array_equal(only.codes[0], others.codes[frame.width + 1])


def test_groups_are_those_of_the_encoders_own_grouper() -> None:
    frame, y = table()
    by_hand = TableEncoder(categorical=MODLGrouper(method="optimal"), pairs=[("left", "right")]).fit(frame, y)
    np.testing.assert_array_equal(by_hand.levels_[-1].counts, TableEncoder(pairs=1).fit(frame, y).levels_[-1].counts)


def test_columns_come_first() -> None:
    frame, y = table()
    encoder = TableEncoder(pairs="auto").fit(frame, y)
    assert [level.name for level in columns_of(encoder.levels_)] == frame.columns
    alone = TableEncoder().fit(frame, y)
    np.testing.assert_array_equal(encoder.transform(frame)[:, : frame.width], alone.transform(frame))


def test_counters_and_identifiers_are_in_no_pair_unless_named() -> None:
    rng = np.random.default_rng(2)
    at, town = np.arange(N), rng.choice(["Jena", "Ulm"], N)
    y = (at < N // 2) ^ (town == "Ulm")
    text = np.array([f"C{k:04d}" for k in rng.permutation(N)])
    frame = pl.DataFrame({"row": at, "town": town, "text": text, "income": np.sort(np.exp(rng.normal(10, 0.5, N)))})
    for pairs_option in ("auto", 3):
        assert named_pairs(TableEncoder(pairs=pairs_option).fit(frame.drop("income"), y)) == []
        assert named_pairs(TableEncoder(pairs=pairs_option).fit(frame, y)) == [("town", "income")]
    assert named_pairs(TableEncoder(pairs=[("row", "town")]).fit(frame, y)) == [("row", "town")]


@pytest.mark.parametrize("categorical", ["modl", "auto"])
def test_a_pair_beats_the_single_values_of_its_columns(categorical: str) -> None:
    rng = np.random.default_rng(0)
    n, n_regions = 20_000, 400
    effect, kind = rng.normal(0, 0.6, n_regions), rng.integers(0, 4, n_regions)
    region, day = rng.integers(0, n_regions, n), rng.integers(0, 2, n)
    frame = pl.DataFrame({"region": region, "kind": kind[region], "day": day}).cast(pl.String)
    encoder = TableEncoder(categorical=categorical, pairs="auto")
    chance = rng.random(n)
    assert named_pairs(encoder.fit(frame, chance < expit(effect[region]))) == []  # the kind is that of the region
    together = np.where((kind[region] < 2) == (day > 0), 0.8, -0.8)
    assert named_pairs(encoder.fit(frame, chance < expit(effect[region] + together)))[:1] == [("kind", "day")]
