"""What holds of every fitted estimator, whatever it was fitted on."""

from __future__ import annotations

import pickle
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from sklearn.base import clone

import bayesieve
from bayesieve.classifier.scoring import with_card
from bayesieve.counts.contingency import Shrinkage
from bayesieve.parts import OptionText
from bayesieve.scorecard.hidden_counts import with_hidden_counts
from bayesieve.selection import CompressionAveraging
from tests.fuzz.case import Case
from tests.fuzz.libraries import number_of_rows, take


def probabilities(case: Case, model: Any, X: Any, *, must: bool = True) -> np.ndarray:
    """Finite shares that add up to 1; labels and logarithms agree with them."""
    with case.step("predict_proba", must=must):
        p = model.predict_proba(X)
    n = number_of_rows(X) if not hasattr(X, "lazy") or hasattr(X, "shape") else len(p)
    case.check(p.shape == (n, len(model.classes_)), "shape of probabilities", p.shape)
    case.check(np.isfinite(p).all() and (p >= 0).all() and (p <= 1).all(), "probabilities within [0, 1]", p)
    case.check(np.allclose(p.sum(axis=1), 1, rtol=1e-9), "probabilities add up to 1", p)
    with case.step("predict", must=True):
        labels = model.predict(X)
        logs = model.predict_log_proba(X)
    chosen = p[labels[:, None] == model.classes_]  # probabilities of classes may round to the same number
    case.same(chosen, p.max(axis=1), "the label is the most probable class")
    case.check(not np.isnan(logs).any() and (logs <= 1e-12).all(), "log probabilities are numbers up to 0", logs)
    with np.errstate(all="ignore"):
        case.check(np.allclose(np.exp(logs), p, atol=1e-12), "log probabilities are those of the probabilities", logs)
    return p


def one_by_one(case: Case, model: Any, X: Any, p: np.ndarray) -> None:
    """A row is predicted the same, bit for bit, alone and among others."""
    for row in {case.integer(0, len(p) - 1) for _ in range(3)}:
        with case.step("predict one row", must=True):
            alone = model.predict_proba(take(X, row, row + 1))
        case.same(alone[0], p[row], "a row alone")
    middle = case.integer(0, len(p))
    parts = [take(X, a, b) for a, b in ((0, middle), (middle, len(p))) if b > a]
    with case.step("predict in batches", must=True):
        joined = np.concatenate([model.predict_proba(part) for part in parts])
    case.same(joined, p, "rows in batches")


def polars_of(frame: Any) -> pl.DataFrame:
    """Results come in the library of the rows."""
    return nw.from_native(frame, eager_only=True).to_polars()


def explained(case: Case, model: Any, X: Any) -> None:
    """Prior and contributions add up to the log joint, exactly."""
    with case.step("explain", must=True):
        explanation = model.scorecard_.explain(X)
        joint = model.scorecard_.joint(X)
        frame = polars_of(model.explain(X))
        by_score = model.scorecard_.explain(X, by="score").joint_log_proba()
    case.same(explanation.joint_log_proba(), joint, "contributions add up to the log joint")
    height = len(joint) * len(model.classes_) * len(explanation.features)
    case.check(frame.height == height, "rows of explain", (frame.height, height))
    longest = max((len(text) for text in frame["value"].drop_nulls()), default=0)
    labels = max((len(text) for text in frame["level"].drop_nulls()), default=0)
    case.check(labels <= 500 + 5 * longest, "short labels in explanations", labels)
    finite = np.isfinite(joint)
    case.check(np.allclose(by_score[finite], joint[finite]), "contributions by score add up", (by_score, joint))


def told(case: Case, model: Any, X: Any) -> None:
    """Reasons for and against a class add up to its log odds; changes flip decisions; words and hidden counts change
    no prediction.
    """
    card, n_classes = model.scorecard_, len(model.classes_)
    position = case.integer(0, n_classes - 1)
    with case.step("reasons", must=True):
        joint = model.scorecard_.joint(X)
        shown = [polars_of(model.reasons(X, None, "mean", label)) for label in model.classes_.tolist()]
        best = polars_of(model.reasons(X, case.integer(1, 5), "best"))
        model.reasons(X)
    if n_classes == 2:
        sums = np.zeros(len(joint))
        for sign, frame in zip((-1.0, 1.0), shown, strict=True):
            np.add.at(sums, frame["row"].to_numpy(), sign * frame["contribution"].to_numpy())
        odds = (joint - card.intercept)[:, 1] - (joint - card.intercept)[:, 0]
        case.check(np.allclose(sums, odds, atol=1e-6), "columns add up to the log odds", (sums, odds))
        case.check((best["contribution"] < 0).all(), "nothing is better than the best", best)
    label = model.classes_.tolist()[position]
    with case.step("counterfactuals", must=True):
        changes = polars_of(model.counterfactuals(X, case.integer(1, 3), max_changes=case.integer(1, 2), target=label))
    others = np.delete(joint, position, axis=1)
    already = np.flatnonzero((joint[:, [position]] > others + 1e-6).all(axis=1))
    case.check(not set(changes["row"]) & set(already.tolist()), "rows that are as wanted stay", changes)
    case.check((changes["probability"] > 1 / n_classes - 1e-6).all(), "changes flip decisions", changes)
    labels = {name: {"name": f"{name} in words", "unit": "€"} for name in card.columns[:3]}
    with case.step("with_labels", must=True):
        named = model.with_labels(labels)
        named.reasons(X)
        named.explain(X)
    with case.attempt("hide counts"):
        card = with_hidden_counts(model.scorecard_, case.pick((2, 5, 1000)))
        hidden = with_card(model, card)
        case.same(hidden.predict_proba(X), model.predict_proba(X), "hidden counts change no prediction")
        hidden.predict_interval(X)


def watched(case: Case, model: Any, X: Any, y: Any, weights: Any) -> None:
    """Training rows in groups: shifts add up, shares are shares, and no measure is out of its range."""
    groups = case.rng.integers(0, 4, number_of_rows(X)).tolist()
    labels = y if case.chance(0.5) else None
    with case.step("drift", must=True):
        found = bayesieve.drift(model, X, labels, groups, sample_weight=weights, n_resamples=20)
        page = found._page()
        own = found.to_frame()
    frame, periods = found.features, found.periods
    case.check(
        len(own) == len(frame) == len(periods) * len(model.scorecard_.used), "a row per group and feature", frame.shape
    )
    case.check(not unbalanced(page), "the page is whole", unbalanced(page))
    for name in ("unseen", "missing"):
        case.check(frame[name].drop_nulls().is_between(-1e-9, 1 + 1e-9).all(), "shares", frame[name])
    if len(model.classes_) == 2 and len(frame):
        sums = frame.group_by("by", maintain_order=True).agg(pl.col("shift").sum()).sort("by", nulls_last=True)
        shifts = periods.sort("by", nulls_last=True)["shift"].fill_null(0.0).to_numpy()
        case.check(np.allclose(sums["shift"].to_numpy(), shifts, atol=1e-8), "shifts add up", (sums, periods))
    if weights is None and model.scorecard_.class_counts.sum() == number_of_rows(X):  # clusters learn from some rows
        with case.step("drift of the training rows", must=True):
            same = bayesieve.drift(model, X, n_resamples=0).features
        case.check((same["psi"].fill_null(1.0).abs() < 1e-9).all(), "training rows have a PSI of 0", same)
    with case.step("evaluate", must=True):
        evaluated = bayesieve.evaluate(model, X, y, groups, sample_weight=weights)
        own, measured = evaluated.to_frame(), evaluated.measures
    case.check(len(own) == len(measured), "the same rows in any library", own)
    known = measured.filter(pl.col("low").is_not_null())
    inside = (known["low"] <= known["value"] + 1e-9) & (known["value"] <= known["high"] + 1e-9)
    case.check(inside.all(), "values lie within their intervals", known.filter(~inside))
    case.check(not measured["value"].is_nan().any(), "unknown values are null", measured)


def described(case: Case, model: Any) -> None:
    """All that a model says about itself; short where it is shown in a session."""
    with case.step("describe", must=True):
        summary, words, html = model.summary(), model.scorecard_.describe(), model._repr_html_()
        text = repr(model)
    case.check(len(summary) == len(model.feature_weights_), "rows of the summary", len(summary))
    case.check(words and not unbalanced(html), "the card is whole", unbalanced(html))
    case.check(len(text) < 3000, "a short repr", text[:200])
    weights = model.feature_weights_
    case.check(
        np.isfinite(weights).all() and (weights >= 0).all() and (weights <= 1).all(), "weights in [0, 1]", weights
    )


def traced(case: Case, trace: Any) -> None:
    """The trace can be read, holds numbers, and its best is not worse than the empty subset."""
    if trace is None:
        return
    with case.step("trace", must=True):
        for evaluated in (False, True):
            frame = trace.to_frame(evaluated=evaluated)
        best, null = trace.best_criterion, trace.null_criterion
        text = repr(trace)
    case.check(len(frame) >= 0 and len(text) < 3000, "a short repr of the trace", text[:200])
    case.check(not np.isnan(best), "the best criterion is a number", best)
    if not (np.isnan(null) or np.isnan(best)):
        worse = best > null + 1e-9 * abs(null) if trace.lower_is_better else best < null - 1e-9 * abs(null)
        case.check(not worse or len(trace.starts[0].features), "the best is not worse than nothing", (best, null))


def stored(case: Case, model: Any, X: Any, p: np.ndarray, again: tuple[Any, ...] | None) -> None:
    """A saved model predicts the same bits, is saved as the same bytes, and is fitted again to the same model."""
    path, second = case.folder / "model.json", case.folder / "again.json"
    with case.step("save"):
        model.save(path)
    with case.step("load", must=True):
        loaded = bayesieve.load(path)
        loaded.save(second)
    case.check(path.read_bytes() == second.read_bytes(), "a loaded model is saved as the same bytes", model)
    case.same(loaded.classes_, model.classes_, "classes of a loaded model")
    with case.step("predict with the loaded model", must=True):
        q = loaded.predict_proba(X)
    case.same(q, p, "a loaded model predicts the same")
    if again is not None and case.chance(0.5) and not stopped_early(model) and repeatable(model):
        given = model.get_params(deep=False)
        kept_as_text = {k: given[k] for k, own in loaded.get_params(deep=False).items() if isinstance(own, OptionText)}
        loaded.set_params(**kept_as_text)
        with case.step("fit the loaded model again", must=True):
            r = loaded.fit(*again).predict_proba(X)
        case.same(r, p, "a loaded model is fitted again to the same")


def pickled(case: Case, model: Any, X: Any, p: np.ndarray) -> None:
    """What comes out of a pickle is the same model."""
    with case.step("pickle", must=True):
        again = pickle.loads(pickle.dumps(model))
        q = again.predict_proba(X)
    case.same(q, p, "a pickled model predicts the same")


def cloned(case: Case, model: Any, X: Any, p: np.ndarray, again: tuple[Any, ...]) -> None:
    """A clone has the same options, and becomes the same model with any number of threads."""
    with case.step("clone", must=True):
        copy = clone(model)
        before, after = repr(sorted(model.get_params(deep=False))), repr(sorted(copy.get_params(deep=False)))
    case.check(before == after, "options of a clone", (before, after))
    if stopped_early(model) or not repeatable(model):
        return
    with case.step("fit a clone", must=True):
        q = copy.set_params(n_jobs=case.pick((1, 2, 3))).fit(*again).predict_proba(X)
    case.same(q, p, "a clone with another number of threads")


def neutral(case: Case, model: Any) -> None:
    """Levels without training rows and values in no level add exactly 0, unless a curve or a sign leads through them.

    Every fit says so of values in no level; with smoothed counts as published, levels without rows do say something.
    """
    card = model.scorecard_
    for feature in card.features:
        if fitted_evidence(model):
            case.check(not feature.unseen.any(), "values in no level add nothing", (feature.name, feature.unseen))
        if not isinstance(card.provenance["smoothing"], Shrinkage) or feature.sign:
            continue
        rows = np.bincount(feature.level_of_cell, feature.counts.sum(axis=1), feature.levels.n_levels)
        empty = rows[feature.level_of_cell] == 0
        if feature.cells is not feature.levels and feature.kind == "numeric":
            empty[feature.cells.n_special_levels :] = False
        added = feature.contributions[empty]
        case.check(not added.any(), "levels without rows add nothing", (feature.name, added))


def fitted_evidence(model: Any) -> bool:
    """Whether calibration fitted weights or evidence, as opposed to counts as published."""
    is_averaged = isinstance(model.selector, CompressionAveraging) or model.selector == CompressionAveraging.name
    return is_averaged if model.calibrate == "auto" else bool(model.calibrate)


def stopped_early(model: Any) -> bool:
    """Whether the clock had a say, so that a second fit may differ."""
    return any(
        name.rpartition("__")[2] == "max_seconds" and value is not None and value != float("inf")
        for name, value in model.get_params(deep=True).items()
    )


def repeatable(model: Any) -> bool:
    """Whether chance is fixed: a random state that is an object moves on."""
    return not any(
        name.rpartition("__")[2] in ("random_state", "evaluation")
        and hasattr(value, "__dict__") | hasattr(value, "randint")
        for name, value in model.get_params(deep=True).items()
    )


def nothing_left(case: Case, folder: Path, names: set[str]) -> None:
    """Only the files expected are in a folder: nothing half-written."""
    there = {path.name for path in folder.iterdir()}
    case.check(there <= names, "nothing half-written is left", sorted(there - names))


class _Tags(HTMLParser):
    VOID = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.errors: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        """Nothing is opened."""

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.errors.append(f"</{tag}> at {self.getpos()}")


def unbalanced(html: str) -> list[str]:
    """Tags that do not match, or scripts that came in with the data."""
    tags = _Tags()
    tags.feed(html)
    tags.close()
    alerts = ["a script of the data"] if "<script>alert(1)" in html else []
    return [*tags.errors[:3], *(f"<{tag}> stays open" for tag in tags.open[:3]), *alerts]
