import itertools

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from bayesieve.criteria.auc import AUC
from bayesieve.criteria.class_block import FOUR_CODES, LOOK_UP, THREE_WAY, TWO_WAY, ClassBlock
from bayesieve.criteria.ratio_tables import RatioTables
from tests import golden


class Rows:
    """Rows listed by fold and class, their tables estimated on the other folds (or without the row itself), and the
    AUC of a model from its definition.
    """

    def __init__(self, codes, y, n_levels, n_classes, folds=None, weights=None, leave_one_out=False, smoothing=0.5):
        folds = np.zeros(y.size, dtype=int) if folds is None else folds
        order = np.lexsort((y, folds))
        self.codes, self.y, folds = codes[:, order], y[order], folds[order]
        self.weights = None if weights is None else weights[order]
        self.n_classes, self.n_folds = n_classes, int(folds.max(initial=0)) + 1
        self.segment = folds * n_classes + self.y
        n_segments = self.n_folds * n_classes
        n_levels = np.asarray(n_levels)
        counted = np.ones(y.size) if weights is None else self.weights
        outside = [folds != f if self.n_folds > 1 else np.ones(y.size, dtype=bool) for f in range(self.n_folds)]
        self.factors = [np.zeros((n_segments, n_classes - 1, n + 1)) for n in n_levels]
        self.priors = np.zeros((n_segments, n_classes - 1))
        for segment in range(n_segments):
            fold, true = divmod(segment, n_classes)
            rows = outside[fold]
            totals = np.bincount(self.y[rows], weights=counted[rows], minlength=n_classes)
            totals[true] -= leave_one_out
            if totals[true] > 0:
                self.priors[segment] = np.delete(totals, true) / totals[true]
            for k, n in enumerate(n_levels):
                seen = rows & (self.codes[k] < n)
                counts = np.zeros((n, n_classes))
                np.add.at(counts, (self.codes[k][seen], self.y[seen]), counted[seen])
                totals = counts.sum(axis=0)
                if leave_one_out:
                    counts[:, true] = np.maximum(counts[:, true] - 1, 0)  # of the row's own level
                    totals[true] -= 1
                log_prob = np.log((counts + smoothing) / (totals + smoothing * n))
                self.factors[k][segment, :, :n] = (np.delete(log_prob, true, axis=1) - log_prob[:, [true]]).T
        kinds = [
            TWO_WAY if n == 2 and c.max(initial=0) < 2 else THREE_WAY if n == 2 else FOUR_CODES if n < 4 else LOOK_UP
            for n, c in zip(n_levels, self.codes, strict=True)
        ]
        self.block = ClassBlock(
            codes=np.ascontiguousarray(self.codes.astype(np.uint8)),
            offsets=np.concatenate([[0], np.cumsum(np.bincount(self.segment, minlength=n_segments))]),
            classes=np.tile(np.arange(n_classes), self.n_folds),
            weights=np.zeros(0) if weights is None else self.weights,
            columns=np.arange(n_levels.size),
            lows=np.zeros(n_levels.size, dtype=np.uint8),
            highs=np.full(n_levels.size, 2, dtype=np.uint8),
            kinds=np.array(kinds, dtype=np.uint8),
            n_codes=n_levels + 1,
        )
        self.tables = RatioTables(self.factors.__getitem__, n_levels + 1, n_segments, n_classes)
        self.criterion = AUC()
        self.state = self.criterion.start(self.block, self.tables, self.priors)

    def candidates(self, selected):
        features = np.arange(len(self.factors))
        adding = ~np.isin(features, list(selected))
        sums = self.criterion.sums(self.state, self.tables, features, adding)
        return self.criterion.values(sums, np.zeros(features.size), self.block.class_totals(self.n_classes))

    def own(self):
        sums = self.criterion.own_sums(self.state, self.tables)
        return self.criterion.values(sums[None], np.zeros(1), self.block.class_totals(self.n_classes))[0]

    def expected(self, selected):
        logs = np.zeros((self.n_classes, self.y.size))
        for o in range(self.n_classes - 1):
            other = o + (o >= self.y)
            ratio = np.log(self.priors[self.segment, o])
            for k in selected:
                ratio = ratio + self.factors[k][self.segment, o, self.codes[k]]
            logs[other, np.arange(self.y.size)] = ratio
        areas, shares = [], []
        for j in range(self.n_classes):
            hit = self.y == j
            share = np.sum(hit if self.weights is None else self.weights[hit])
            rest = np.sum(~hit if self.weights is None else self.weights[~hit])
            if share <= 0 or rest <= 0:
                continue
            score = logs[j] - np.logaddexp.reduce(np.delete(logs, j, axis=0), axis=0)
            areas.append(roc_auc_score(hit, np.round(score, 9), sample_weight=self.weights))
            shares.append(share)
        if not areas:
            return np.nan
        return areas[1] if self.n_classes == 2 else np.average(areas, weights=shares)

    def check_all_moves(self, selected):
        found = self.candidates(selected)
        np.testing.assert_allclose(self.own(), self.expected(selected), rtol=0, atol=1e-12)
        for k in range(len(self.factors)):
            np.testing.assert_allclose(found[k], self.expected(set(selected) ^ {k}), rtol=0, atol=1e-12)

    def move(self, selected, feature):
        self.state.multiply(self.tables, feature, feature not in selected)
        selected ^= {feature}


def draw(rng, n_rows, n_levels, n_classes, unseen=0.0, shares=None):
    y = rng.choice(n_classes, n_rows, p=shares)
    codes = []
    for n in n_levels:
        p = rng.dirichlet(np.full(n, 2.0), size=n_classes)
        cumulative = np.cumsum(p, axis=1)
        level = (rng.random(n_rows)[:, None] > cumulative[y]).sum(axis=1).clip(max=n - 1)
        level[rng.random(n_rows) < unseen] = n
        codes.append(level)
    return np.array(codes), y


@pytest.mark.parametrize("tables", ["train", "folds", "leave one out"])
@pytest.mark.parametrize("n_classes", [2, 3, 4, 5])
def test_every_move_is_the_area_of_the_refitted_model(tables, n_classes):
    for seed in range(3):
        rng = np.random.default_rng([seed, n_classes])
        n_rows = int(rng.choice([25, 80, 600]))
        n_levels = rng.integers(1, 7, 4)
        n_levels[:2] = 2
        codes, y = draw(rng, n_rows, n_levels, n_classes, unseen=0.0 if tables == "leave one out" or seed % 2 else 0.05)
        y[: 4 * n_classes] = np.tile(np.arange(n_classes), 4)
        folds = None
        if tables == "folds":
            folds = rng.integers(0, 3, n_rows)
            folds[: 4 * n_classes] = np.repeat(np.arange(4), n_classes)
        weights = rng.integers(0, 4, n_rows) + 0.25 if seed == 2 and tables != "leave one out" else None
        rows = Rows(codes, y, n_levels, n_classes, folds, weights, tables == "leave one out")
        selected = set()
        for feature in (0, 3, 0):  # the first one is dropped again
            rows.check_all_moves(selected)
            rows.move(selected, feature)
        rows.check_all_moves(selected)


@pytest.mark.parametrize("n_levels", [2, 3, 5, 20])
@pytest.mark.parametrize("folds", [1, 3])
def test_scores_of_many_different_values(n_levels, folds):
    rng = np.random.default_rng(n_levels)
    n_features = 26 if n_levels == 2 else 12
    n_rows = 50_000 if folds == 1 else 6000
    codes, y = draw(rng, n_rows, [n_levels] * n_features, 2, shares=[0.7, 0.3])
    rows = Rows(codes, y, [n_levels] * n_features, 2, rng.integers(0, folds, n_rows) if folds > 1 else None)
    selected = set()
    for size in (n_features // 2, n_features - 2):
        while len(selected) < size:
            rows.move(selected, len(selected))
        found = rows.candidates(selected)
        for k in (0, 1, n_features - 1):
            assert abs(found[k] - rows.expected(selected ^ {k})) < 1e-12


def test_several_classes_with_many_scores_and_probabilities_beyond_doubles():
    rng = np.random.default_rng(3)
    codes, y = draw(rng, 3000, [4] * 12, 3)
    rows = Rows(codes, y, [4] * 12, 3)
    selected = set()
    for feature in range(11):
        rows.move(selected, feature)
    rows.check_all_moves(selected)
    for factors in rows.factors:
        factors *= 30.0  # as if every feature were there thirty times
    rows.tables = RatioTables(rows.factors.__getitem__, rows.block.n_codes, rows.block.n_segments, 3)
    rows.state = rows.criterion.start(rows.block, rows.tables, rows.priors)
    for feature in selected:
        rows.state.multiply(rows.tables, feature, True)
    assert 0 < rows.state.scan().is_wide.sum() < 3000
    rows.check_all_moves(selected)


def test_equal_products_of_different_factors_tie():
    # Every feature has the same two factors, so that rows with as many ones have the same odds in whatever order
    # the doubles are multiplied.
    patterns = np.array(list(itertools.product([0, 1], repeat=6)))
    codes = np.concatenate([patterns, patterns]).T
    y = np.repeat([0, 1], 64)
    rows = Rows(codes, y, [2] * 6, 2)
    factor = np.log([0.7 / 0.2, 0.3 / 0.8, 1.0])
    for k in range(6):
        rows.factors[k][0, 0], rows.factors[k][1, 0] = factor, -factor
    rows.tables = RatioTables(rows.factors.__getitem__, rows.block.n_codes, 2, 2)
    rows.state = rows.criterion.start(rows.block, rows.tables, rows.priors)
    selected = set()
    for feature in range(6):
        assert np.all(rows.candidates(selected) == 0.5)
        rows.move(selected, feature)
    assert rows.own() == 0.5
    assert np.unique(rows.state.scan().logs).size == 7


def test_thresholds_on_one_column():
    rng = np.random.default_rng(5)
    n_rows = 2000
    y = rng.integers(0, 2, n_rows)
    score = np.clip(np.round(rng.normal(2.0 * y, 2.0, n_rows) + 4), 0, 9).astype(int)
    others, _ = draw(rng, n_rows, [3] * 8, 2)
    codes = np.concatenate([[score > t for t in range(9)], others]).astype(int)
    n_levels = [2] * 9 + [3] * 8
    plain = Rows(codes, y, n_levels, 2)
    order = np.argsort(y, kind="stable")
    block = plain.block
    compact = ClassBlock(
        codes=np.ascontiguousarray(np.concatenate([score[order][None], plain.codes[9:]]).astype(np.uint8)),
        offsets=block.offsets,
        classes=block.classes,
        weights=block.weights,
        columns=np.concatenate([np.zeros(9, dtype=int), np.arange(1, 9)]),
        lows=np.arange(17).astype(np.uint8),
        highs=np.full(17, 11, dtype=np.uint8),
        kinds=block.kinds,
        n_codes=block.n_codes,
    )
    state = AUC().start(compact, plain.tables, plain.priors)
    features, adding = np.arange(17), np.arange(17) < 10
    for feature in range(10, 17):
        state.multiply(plain.tables, feature, True)
        plain.state.multiply(plain.tables, feature, True)
    expected = plain.criterion.sums(plain.state, plain.tables, features, adding)
    np.testing.assert_array_equal(AUC().sums(state, plain.tables, features, adding), expected)


@pytest.mark.parametrize("name", golden.WRAPPER_TABLES)
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_golden_paths(name, direction):
    _, codes, y = golden.coded_table(name)
    codes = codes.T.astype(int)
    path = golden.wrapper_path(name, "frequency_prior", "auc", direction)
    rows = Rows(codes, y, codes.max(axis=1) + 1, 2, smoothing=1.0)
    forward = direction == "forward"
    selected = set()
    for feature in [] if forward else range(len(codes)):
        rows.move(selected, feature)
    assert abs(rows.own() - path["values"][0]) < 1e-12
    for best, value in zip(path["order"], path["values"][1:], strict=True):
        found = rows.candidates(selected)
        open_moves = [k for k in range(len(codes)) if (k in selected) != forward]
        assert abs(found[best] - value) < 1e-12
        # Ties go to the lowest column.
        assert best == min(k for k in open_moves if found[k] >= found[open_moves].max() - 1e-12)
        rows.move(selected, best)


def test_one_class_has_no_area():
    rng = np.random.default_rng(0)
    rows = Rows(rng.integers(0, 3, (2, 20)), np.ones(20, dtype=int), [3, 3], 2)
    assert np.isnan(rows.own())
    assert np.isnan(rows.candidates(set())).all()


def test_classes_without_rows_are_left_out():
    rng = np.random.default_rng(1)
    codes, y = draw(rng, 60, [3, 2], 4, shares=[0.5, 0.0, 0.3, 0.2])
    rows = Rows(codes, y, [3, 2], 4)
    with np.errstate(divide="ignore"):
        rows.check_all_moves(set())


def test_candidates_do_not_depend_on_each_other():
    rng = np.random.default_rng(2)
    n_levels = [2] * 8 + [5] * 8
    codes, y = draw(rng, 3000, n_levels, 2)
    rows = Rows(codes, y, n_levels, 2)
    for feature in range(0, 16, 2):
        rows.state.multiply(rows.tables, feature, True)
    features, adding = np.arange(16), np.arange(16) % 2 == 1
    together = rows.criterion.sums(rows.state, rows.tables, features, adding)
    alone = [rows.criterion.sums(rows.state, rows.tables, features[[k]], adding[[k]]) for k in reversed(range(16))]
    np.testing.assert_array_equal(np.concatenate(alone[::-1]), together)


def brute_force(keys, positive, tolerance):
    difference = keys[positive][:, None] - keys[~positive][None, :]
    return 2 * np.sum(difference > tolerance) + np.sum(np.abs(difference) <= tolerance)


def called(kernel):
    """A way from Python into a kernel that otherwise only kernels call."""
    from numba import njit

    return njit(lambda *arguments: kernel(*arguments))


@pytest.mark.parametrize("spread", [3, 40, 1000, 10**6])
@pytest.mark.parametrize("unit", [10**3, 10**9])
def test_all_ways_of_counting_pairs(spread, unit):
    from bayesieve.criteria import _auc_kernels, _slot_kernels
    from bayesieve.criteria._auc_kernels import Work

    sorted_pairs, slot_pairs = called(_auc_kernels.sorted_pairs), called(_slot_kernels.slot_pairs)

    tolerance = 5
    n_slotted = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, n_negative = 300, int(rng.integers(1, 299))
        # Ties are off by a few steps, also across edges of buckets.
        keys = rng.integers(-spread, spread, n) * unit + rng.integers(-2, 3, n)
        if seed % 4 == 3:
            keys[rng.random(n) < 0.5] += 1000 * unit * spread  # so wide a range that keys share buckets
        positive = np.arange(n) >= n_negative
        expected = brute_force(keys, positive, tolerance)
        offsets, is_positive = np.array([0, n_negative, n]), np.array([False, True])
        work = Work.of(n)
        done, twice = slot_pairs(keys, offsets, is_positive, tolerance, work.longs[1], work.longs[2], work.ints)
        n_slotted += done
        assert not done or twice == expected
        memory = work.longs[2], work.doubles[3], work.ints[0]
        assert sorted_pairs(keys, np.ones(n), offsets, is_positive, tolerance, *memory) == expected
    assert n_slotted >= 10 or unit < 10**9


@pytest.mark.parametrize("spread", [2, 30, 5000])
def test_pairs_of_a_feature_of_two_levels(spread):
    from bayesieve.criteria import _ladder_kernels
    from bayesieve.criteria._ladder_kernels import climb

    binary_pairs = called(_ladder_kernels.binary_pairs)
    tolerance, unit = 5, 10**6
    n_grouped = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, n_negative = 300, int(rng.integers(1, 299))
        scores = rng.integers(-spread, spread, n) * unit + rng.integers(-1, 2, n)
        codes = rng.integers(0, 5, n).astype(np.uint8)
        steps = rng.integers(-4, 5, (2, 2)) * unit
        if seed % 2:
            steps[1] = steps[0]  # tables of training rows: both classes are shifted alike
        ladder = climb(scores, (0, n_negative), (n_negative, n), tolerance)
        assert ladder.positives.size == n - n_negative
        n_grouped += ladder.positive_number.size > 0
        pairs = np.empty(n + 2, dtype=np.int64)
        twice = binary_pairs(ladder, codes, np.uint8(1), steps[0], steps[1], -1, tolerance, pairs)
        positive = np.arange(n) >= n_negative
        moved = scores - steps[positive.astype(int), (codes > 1).astype(int)]
        assert twice == brute_force(moved, positive, tolerance)
    assert (n_grouped > 0) == (spread == 2)


def test_no_ladder_for_scores_too_close_to_keep_ties_in_one_bucket():
    from bayesieve.criteria._ladder_kernels import climb

    scores = np.arange(3000, dtype=np.int64) * 11
    assert climb(scores, (0, 2000), (2000, 3000), 5) is None
    assert climb(scores * 10**6, (0, 2000), (2000, 3000), 5).scores.size > 0
