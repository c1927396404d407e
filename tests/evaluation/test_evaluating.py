"""Measures, intervals, gaps, swap sets and paired tests against scikit-learn, plain loops and generated data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit
from scipy.stats import ks_2samp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    brier_score_loss,
    log_loss,
    recall_score,
    roc_auc_score,
)

from bayesieve import SelectiveNB, challenge, evaluate


class Given:
    """A classifier whose probabilities are columns of the rows."""

    def __init__(self, names: list[str], classes: Any = (0, 1)) -> None:
        self.names, self.classes_ = names, np.array(classes)

    def predict_proba(self, X: Any) -> np.ndarray:
        p = X.select(self.names).to_numpy()
        return p if p.shape[1] > 1 else np.column_stack([1 - p[:, 0], p[:, 0]])


def rows(n: int, seed: int = 0, strength: float = 1.0, rate: float = 0.0) -> pl.DataFrame:
    """Calibrated probabilities ``p``, a noisy copy ``q``, and labels drawn by ``p``."""
    rng = np.random.default_rng(seed)
    odds = rate + strength * rng.normal(size=n)
    noisy = odds + 0.8 * rng.normal(size=n)
    p = expit(odds).round(2).clip(0.01, 0.99)
    return pl.DataFrame(
        {
            "p": p,
            "q": expit(noisy).round(2).clip(0.01, 0.99),
            "y": (rng.random(n) < p).astype(int),
            "s": ["a", "b"] * (n // 2),
        }
    )


def value(frame: pl.DataFrame, measure: str, segment: str = "all", end: str = "value", **where: Any) -> float:
    own = frame.filter(pl.col("measure") == measure, pl.col("segment") == segment, **where)
    return own[end].item()


def test_measures_are_scikit_learns() -> None:
    data = rows(600)
    frame = evaluate(Given(["p"]), data, "y", "s").to_frame()
    for segment in ("all", "a", "b"):
        own = data if segment == "all" else data.filter(pl.col("s") == segment)
        y, p = own["y"].to_numpy(), own["p"].to_numpy()
        decided = (p > 0.5).astype(int)
        expected = {
            "accuracy": accuracy_score(y, decided),
            "balanced_accuracy": balanced_accuracy_score(y, decided),
            "auc": roc_auc_score(y, p),
            "gini": 2 * roc_auc_score(y, p) - 1,
            "log_loss": log_loss(y, p),
            "brier": brier_score_loss(y, p),
            "compression_rate": 1 - log_loss(y, p) / log_loss(y, np.full(y.size, y.mean())),
            "ks": ks_2samp(p[y == 1], p[y == 0], alternative="less").statistic,
            "calibration": p.mean() - y.mean(),
            "selection_rate": decided.mean(),
            "true_positive_rate": recall_score(y, decided),
            "false_positive_rate": decided[y == 0].mean(),
        }
        line = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(logit(p)[:, None], y)
        expected["calibration_slope"] = line.coef_[0, 0]
        for name, number in expected.items():
            assert value(frame, name, segment) == pytest.approx(number, abs=1e-5), name
            assert value(frame, name, segment, "low") < number < value(frame, name, segment, "high"), name
        level = value(frame, "calibration_intercept", segment)
        assert expit(logit(p) + level).mean() == pytest.approx(y.mean(), abs=1e-9)
    assert frame.filter(pl.col("segment") == "all")["rows"].unique().to_list() == [600]


def test_weights_are_repeats() -> None:
    data = rows(200)
    weights = np.random.default_rng(1).integers(0, 4, 200)
    repeated = data[np.repeat(np.arange(200), weights)]
    first = evaluate(Given(["p"]), data, "y", sample_weight=weights.astype(float)).to_frame()
    second = evaluate(Given(["p"]), repeated, "y").to_frame()
    assert first["value"].to_list() == pytest.approx(second["value"].to_list(), abs=1e-9)
    wide, narrow = (frame["high"] - frame["low"] for frame in (first, second))
    assert (wide > narrow).all()  # rows of different weight tell less than as many rows of the sum


def test_several_classes() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 2, 3], 500)
    y = np.array([rng.choice(3, p=own) for own in p])
    data = pl.DataFrame(p, schema=["a", "b", "c"]).with_columns(y=pl.Series(y).replace_strict({0: "u", 1: "v", 2: "w"}))
    frame = evaluate(Given(["a", "b", "c"], ["u", "v", "w"]), data, "y").to_frame()
    assert value(frame, "auc") == pytest.approx(roc_auc_score(y, p, multi_class="ovr", average="weighted"))
    assert value(frame, "log_loss") == pytest.approx(log_loss(y, p))
    assert value(frame, "brier") == pytest.approx(((p - np.eye(3)[y]) ** 2).sum(axis=1).mean())
    for j, label in enumerate("uvw"):
        name = {"class": label}
        assert value(frame, "calibration", **name) == pytest.approx(p[:, j].mean() - (y == j).mean())
        assert value(frame, "selection_rate", **name) == pytest.approx((p.argmax(axis=1) == j).mean())


def test_small_segments_have_wide_intervals_and_no_crash() -> None:
    data = rows(400).with_columns(s=pl.Series(["big"] * 390 + ["ones"] * 6 + ["few"] * 3 + ["one"]))
    data = data.with_columns(y=pl.when(pl.col("s") == "ones").then(1).otherwise("y"))
    few = pl.DataFrame({"p": [0.1, 0.9, 0.8], "q": [0.5] * 3, "y": [0, 1, 1], "s": ["few"] * 3})
    data = pl.concat([data.filter(pl.col("s") != "few"), few])
    result = evaluate(Given(["p"]), data, "y", "s")
    frame = result.to_frame()
    for segment in ("ones", "one"):
        for name in ("auc", "gini", "ks", "compression_rate", "calibration_slope"):
            assert value(frame, name, segment) is None
            assert value(frame, name, segment, "low") is None
    assert value(frame, "auc", "few") == 1.0
    assert value(frame, "auc", "few", "low") < 0.5
    assert value(frame, "accuracy", "few", "low") < 0.5
    assert value(frame, "log_loss", "one", "low") is None
    assert value(frame, "calibration_slope", "few") is None  # the classes are apart: no finite slope
    assert not frame.select(pl.col(pl.Float64).is_nan().any()).to_numpy().any()
    assert len(result.gaps) == 4 * 3


def test_rows_without_label_or_segment() -> None:
    data = rows(100).with_columns(s=pl.when(pl.int_range(pl.len()) < 30).then(None).otherwise("s"))
    data = data.with_columns(y=pl.when(pl.int_range(pl.len()) % 10 == 0).then(None).otherwise("y"))
    frame = evaluate(Given(["p"]), data, "y", "s").to_frame()
    sizes = dict(frame.select("segment", "rows").unique().iter_rows())
    assert sizes == {"all": 90, "missing": 27, "a": 28, "b": 35}
    with pytest.raises(ValueError, match="labels"):
        evaluate(Given(["p"]), data, None)


def test_gaps_of_two_groups_mirror_each_other() -> None:
    data = rows(500)
    gaps = evaluate(Given(["p"]), data, "y", "s").gaps
    first, second = (gaps.filter(pl.col("segment") == name) for name in "ab")
    assert first["gap"].to_list() == pytest.approx((-second["gap"]).to_list())
    assert first["low"].to_list() == pytest.approx((-second["high"]).to_list())
    assert first["others"].to_list() == second["value"].to_list()
    own = data.filter(pl.col("s") == "a", pl.col("y") == 1)
    rate = first.row(by_predicate=pl.col("measure") == "true_positive_rate", named=True)
    assert rate["value"] == pytest.approx((own["p"] > 0.5).mean())
    assert first["measure"].to_list() == ["selection_rate", "true_positive_rate", "false_positive_rate"]


def test_newcombes_interval() -> None:
    """Newcombe (1998), table II, method 10: 56 of 70 against 48 of 80 is .2, from .0524 to .3339."""
    data = pl.DataFrame({"p": [0.9] * 56 + [0.1] * 14 + [0.9] * 48 + [0.1] * 32, "s": ["a"] * 70 + ["b"] * 80})
    gaps = evaluate(Given(["p"]), data.with_columns(y=pl.Series([0, 1] * 75)), "y", "s").gaps
    rate = gaps.row(0, named=True)
    assert (rate["gap"], rate["low"], rate["high"]) == pytest.approx((0.2, 0.0524, 0.3339), abs=1e-4)


def test_intervals_hold_the_truth() -> None:
    truth = evaluate(Given(["p"]), rows(100_000, seed=99, rate=-1.0), "y").to_frame()
    samples = pl.concat([rows(200, seed=seed, rate=-1.0).with_columns(sample=seed) for seed in range(200)])
    frame = evaluate(Given(["p"]), samples, "y", "sample").to_frame().filter(pl.col("segment") != "all")
    both = frame.join(truth.select("measure", truth="value"), on="measure")
    held = both.group_by("measure").agg(share=pl.col("truth").is_between("low", "high").mean(), n=pl.len())
    assert held["n"].to_list() == [200] * len(truth)
    assert held["share"].min() > 0.89, held
    assert held["share"].mean() > 0.93


def slow_delong(scores: list[np.ndarray], hit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Areas and their covariances by pairs of rows, as DeLong, DeLong & Clarke-Pearson (1988) define them."""
    areas, of_hits, of_misses = [], [], []
    for score in scores:
        a, b = score[hit][:, None], score[~hit][None]
        better = (a > b) + 0.5 * (a == b)
        areas.append(better.mean())
        of_hits.append(better.mean(axis=1))
        of_misses.append(better.mean(axis=0))
    return np.array(areas), np.cov(of_hits) / hit.sum() + np.cov(of_misses) / (~hit).sum()


def test_delong_by_pairs_of_rows() -> None:
    data = rows(150, seed=3)
    hit, scores = data["y"].to_numpy() == 1, [data["p"].to_numpy(), data["q"].to_numpy()]
    areas, covariance = slow_delong(scores, hit)
    tests = challenge(Given(["p"]), Given(["q"]), data, "y").tests
    auc = tests.row(by_predicate=pl.col("measure") == "auc", named=True)
    error = math.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    assert auc["difference"] == pytest.approx(areas[1] - areas[0])
    assert auc["high"] - auc["difference"] == pytest.approx(1.959964 * error, rel=1e-6)
    assert auc["p_value"] == pytest.approx(math.erfc(abs(areas[1] - areas[0]) / error / math.sqrt(2)))


@pytest.mark.parametrize("options", [{}, {"share": 0.3}, {"threshold": 0.6}, {"positive": 0, "share": 0.5}])
def test_swap_sets_row_by_row(options: dict[str, Any]) -> None:
    data = rows(300, seed=5)
    swaps = challenge(Given(["p"]), Given(["q"]), data, "y", **options).swaps
    positive = options.get("positive", 1)
    p, q = (np.where(positive == 1, data[name], 1 - data[name]) for name in ("p", "q"))
    y = data["y"].to_numpy() == positive
    chosen = []
    for own, other in ((p, q), (q, p)):
        if "threshold" in options:
            chosen.append({i for i in range(300) if own[i] >= options["threshold"]})
        elif not options and own is p:
            chosen.append({i for i in range(300) if p[i] > 0.5})
        else:
            n = round(300 * options["share"]) if options else len(chosen[0])
            order = sorted(range(300), key=lambda i: (-round(own[i], 9), -round(other[i], 9), i))
            chosen.append(set(order[:n]))
    sets = {
        "both": chosen[0] & chosen[1],
        "swap in": chosen[1] - chosen[0],
        "swap out": chosen[0] - chosen[1],
        "neither": set(range(300)) - chosen[0] - chosen[1],
    }
    for row in swaps.iter_rows(named=True):
        own = sorted(sets[row["set"]])
        assert (row["rows"], row["events"]) == (len(own), y[own].sum())
        assert row["event_rate"] == pytest.approx(y[own].mean())
        assert row["low"] <= row["event_rate"] <= row["high"]
    if not options or "share" in options:
        assert len(sets["swap in"]) == len(sets["swap out"]) > 0


def test_paired_tests_hold_their_level() -> None:
    """Two equally good models differ at 5 % in about 5 % of samples; a worse one is found out."""
    p_values: dict[str, list[float]] = {}
    for seed in range(200):
        rng, data = np.random.default_rng(1000 + seed), rows(300, seed=seed)
        noise = [expit(logit(data["p"].to_numpy()) + 0.5 * rng.normal(size=300)) for _ in range(2)]
        both = data.with_columns(q=pl.Series(noise[0]), r=pl.Series(noise[1]))
        for row in challenge(Given(["q"]), Given(["r"]), both, "y").tests.iter_rows(named=True):
            p_values.setdefault(row["measure"], []).append(row["p_value"])
    for values in p_values.values():
        assert 0.01 < np.mean(np.array(values) < 0.05) < 0.1
    worse = challenge(Given(["p"]), Given(["q"]), rows(4000), "y").tests
    assert (worse["p_value"] < 1e-4).all()
    assert worse["difference"].sign().to_list() == [1.0, 1.0, -1.0]


def test_a_model_against_itself() -> None:
    data = rows(50)
    found = challenge(Given(["p"]), Given(["p"]), data, "y")
    assert found.tests["p_value"].to_list() == [1.0, 1.0, 1.0]
    assert found.swaps["rows"].to_list()[1:3] == [0, 0]
    assert found.swaps["event_rate"][1] is None


def test_classes_in_another_order_and_errors() -> None:
    data = rows(100).with_columns(r=1 - pl.col("q"))
    turned = challenge(Given(["p"]), Given(["q", "r"], [1, 0]), data, "y")
    same = challenge(Given(["p"]), Given(["q"]), data, "y")
    assert turned.swaps.equals(same.swaps)
    with pytest.raises(ValueError, match="The classes of the champion are"):
        challenge(Given(["p"]), Given(["q", "r", "p"], [0, 1, 2]), data, "y")
    with pytest.raises(ValueError, match="share and threshold"):
        challenge(Given(["p"]), Given(["q"]), data, "y", share=0.1, threshold=0.5)
    with pytest.raises(ValueError, match="share must"):
        challenge(Given(["p"]), Given(["q"]), data, "y", share=2)
    with pytest.raises(ValueError, match="positive"):
        challenge(Given(["p"]), Given(["q"]), data, "y", positive=3)
    three = Given(["p", "q", "r"], [0, 1, 2])
    with pytest.raises(ValueError, match="positive="):
        challenge(three, three, data, "y", share=0.2)


def test_losses_are_compared_without_a_positive_class() -> None:
    data = rows(300, seed=5).with_columns(p=pl.col("p") / 2, q=pl.col("p") / 2, r=1 - pl.col("p"))
    three, other = Given(["p", "q", "r"], [0, 1, 2]), Given(["r", "p", "q"], [0, 1, 2])
    found, named = challenge(three, other, data, "y"), challenge(three, other, data, "y", positive=1)
    assert found.swaps is None
    assert found.tests.equals(named.tests.filter(pl.col("measure") != "auc"))
    assert "swap" not in repr(found)


def test_models_of_the_library_and_of_others() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    frame = pl.DataFrame({"a": rng.normal(y), "b": rng.normal(size=400), "y": y, "g": rng.integers(0, 3, 400)})
    X = frame.select("a", "b")
    model, other = SelectiveNB().fit(X, y), LogisticRegression().fit(X, y)
    by_name, card = (evaluate(one, frame, "y", "g").to_frame() for one in (model, model.scorecard_))
    given = evaluate(model, X, y, frame["g"]).to_frame()
    assert by_name.equals(given)
    assert by_name.equals(card)
    assert by_name["by"].unique().drop_nulls().sort().to_list() == [0, 1, 2]
    assert value(evaluate(other, frame, "y").to_frame(), "accuracy") == pytest.approx(other.score(X, y))
    found = challenge(other, model, frame.to_pandas(), "y")
    assert found.swaps["rows"].sum() == 400
    with pytest.raises(ValueError, match="level"):
        evaluate(model, X, y, level=95)
