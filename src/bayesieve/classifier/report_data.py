"""A fitted model, and rows to judge it by, as the plain data of a report."""

from __future__ import annotations

import warnings
from dataclasses import replace
from datetime import datetime
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from bayesieve.classifier.description import (
    describe,
    feature_note,
    selector_sentence,
    smoothing_in_words,
    warnings_of,
    weights_in_words,
)
from bayesieve.classifier.explaining import on_scores
from bayesieve.counts import log_probabilities
from bayesieve.discretize import IndicatorEncoder, TableEncoder
from bayesieve.evaluation import out_of_fold_log_proba, take_rows
from bayesieve.report.data import (
    Contribution,
    ExplainedRow,
    FeatureSummary,
    LevelRow,
    Performance,
    ReliabilityBin,
    ReportData,
    SearchSummary,
)
from bayesieve.report.traces import summarise_trace
from bayesieve.selection import SELECTORS, AllFeatures
from bayesieve.selection.subset_search import SubsetSearchSelector
from bayesieve.statistics import metrics
from bayesieve.table import as_sample_weight, as_target

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB

_MOST_DETAILED = 1000  # features whose levels are listed; a report shows fewer
_MOST_STEPS = 5000  # moves of the search path; longer ones are cut at a whole start


def report_data(
    model: SelectiveNB,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    *,
    cv: int = 5,
    held_out: bool = False,
    n_explained: int = 3,
    title: str | None = None,
) -> ReportData:
    """What `SelectiveNB.report` shows."""
    from bayesieve.version import __version__

    target = model.target_name_ or "target"
    counts = model.naive_bayes_.class_count_
    performance: Performance | None = None
    explained: tuple[ExplainedRow, ...] = ()
    if X is not None and y is None:
        raise ValueError("A report on rows needs their classes: pass y together with X.")
    if X is not None:
        model, X = on_scores(model, X)
        weights = as_sample_weight(sample_weight, len(as_target(y).codes))
        log_proba, codes, protocol = _measured(model, X, y, weights, cv, held_out)
        if log_proba is not None:
            performance = _performance(model, log_proba, codes, weights, protocol)
        explained = _explained_rows(model, X, y, n_explained)
    return ReportData(
        title=title or f"What tells {target} apart",
        target=target,
        n_rows=model.n_rows_,
        n_columns=len(model.encoder_.levels_),
        classes=tuple(str(label) for label in model.classes_),
        class_counts=tuple(counts.tolist()),
        headline=describe(model),
        features=_features(model),
        search=_search(model),
        performance=performance,
        explained=explained,
        warnings=tuple(warnings_of(model)),
        settings=_settings(model),
        version=__version__,
        created=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
    )


def _measured(
    model: SelectiveNB, X: Any, y: Any, weights: np.ndarray | None, cv: int, held_out: bool
) -> tuple[np.ndarray | None, np.ndarray, str]:
    """Log probabilities of honest predictions, class codes of the rows, and how they were made."""
    target = as_target(y)
    if held_out:
        unknown = np.setdiff1d(target.classes, model.classes_).tolist()
        if unknown:
            raise ValueError(f"y holds the class {unknown[0]!r} that the model does not know; leave its rows out.")
        codes = np.searchsorted(model.classes_, target.classes)[target.codes]
        return model.predict_log_proba(X), codes, "Measured on held-out rows that the model was not trained on."
    codes = target.codes.astype(np.int64)
    if cv < 2 or np.bincount(codes).max() < 2:
        return None, codes, ""
    if not np.array_equal(target.classes, model.classes_):
        raise ValueError(
            "The classes of y are not those of the model; cross-validation needs the training table and its target."
        )
    encoder = clone(model.encoder_)
    if isinstance(encoder, TableEncoder):
        # Columns are read in every fold as in the whole table: a fold may hold only the numbers of a mixed column.
        encoder.set_params(kinds={level.name: level.kind for level in model.encoder_.levels_})
    quiet = model.__class__(**{**model.get_params(deep=False), "encoder": encoder, "verbose": 0})
    with warnings.catch_warnings():
        # A fold that runs out of time says nothing new: the model itself has told.
        warnings.filterwarnings("ignore", message="The search was interrupted")
        log_proba, codes, _ = out_of_fold_log_proba(quiet, X, y, n_folds=cv, sample_weight=weights)
    n_folds = min(cv, int(np.bincount(codes).max()))
    return (
        log_proba,
        codes,
        f"{n_folds}-fold stratified cross-validation: every row was predicted by a model trained on the other folds.",
    )


def _performance(
    model: SelectiveNB, log_proba: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, protocol: str
) -> Performance:
    n_classes = len(model.classes_)
    entropy = metrics.class_entropy(codes, n_classes, weights)
    loss = metrics.log_loss(log_proba, codes, weights)
    shares = np.bincount(codes, weights=weights, minlength=n_classes)
    scores = metrics.class_scores(log_proba)
    # With two classes the curves of both say the same: the second is shown.
    shown = [1] if n_classes == 2 else [j for j in range(n_classes) if 0 < np.count_nonzero(codes == j) < codes.size]
    labels = [str(label) for label in model.classes_]
    return Performance(
        protocol=protocol,
        n_rows=codes.size,
        accuracy=metrics.accuracy(log_proba, codes, weights),
        auc=metrics.auc(log_proba, codes, weights),
        log_loss=loss,
        compression_rate=metrics.compression_rate(loss, entropy),
        brier=metrics.brier_score(log_proba, codes, weights),
        majority_accuracy=float(shares.max() / shares.sum()),
        class_entropy=entropy,
        reliability=tuple(
            (
                labels[j],
                tuple(ReliabilityBin(*found) for found in metrics.reliability(np.exp(log_proba[:, j]), codes == j)),
            )
            for j in shown
        ),
        confusion=tuple(tuple(row) for row in metrics.confusion(log_proba, codes).tolist()),
        roc=tuple((labels[j], tuple(metrics.roc_points(scores[:, j], codes == j))) for j in shown),
    )


def _features(model: SelectiveNB) -> tuple[FeatureSummary, ...]:
    order = np.lexsort((-model.encoder_.level_scores_, -model.feature_weights_))
    levels = model.encoder_.levels_
    return tuple(
        FeatureSummary(
            name=levels[k].name,
            kind=levels[k].kind,
            type=levels[k].type,
            weight=float(model.feature_weights_[k]),
            level_score=levels[k].level_score,
            n_levels=levels[k].n_levels,
            importance=float(model.feature_importances_[k]),
            note=feature_note(model, k),
            levels=_levels(model, k) if rank < _MOST_DETAILED else (),
        )
        for rank, k in enumerate(order.tolist())
    )


def _levels(model: SelectiveNB, k: int) -> tuple[LevelRow, ...]:
    predictor, level = model.naive_bayes_, model.encoder_.levels_[k]
    counts = predictor.feature_count_[k]
    total = counts.sum()
    smoothed = (
        log_probabilities(counts, float(predictor.class_count_.sum()), predictor.smoothing) + predictor.class_log_prior_
    )
    probabilities = np.exp(smoothed - smoothed.max(axis=1, keepdims=True))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    evidence = model.feature_weights_[k] * predictor.feature_log_prob_[k]
    evidence = evidence - evidence.mean(axis=1, keepdims=True)
    return tuple(
        LevelRow(
            label=label,
            is_missing=level.missing_code == code,
            count=float(counts[code].sum()),
            share=float(counts[code].sum() / total) if total > 0 else 0.0,
            class_counts=tuple(counts[code].tolist()),
            class_probabilities=tuple(probabilities[code].tolist()),
            evidence=tuple(evidence[code].tolist()),
        )
        for code, label in enumerate(level.all_labels)
    )


def _search(model: SelectiveNB) -> SearchSummary:
    trace, name = model.trace_, _selector_name(model)
    description = selector_sentence(model, name)
    if not isinstance(model.selector_, (AllFeatures, SubsetSearchSelector)):
        return summarise_trace(trace, model.selector_.support_, name=name, description=description)
    search = summarise_trace(trace, name=name, description=description)
    if len(search.path) > _MOST_STEPS:
        last_whole = search.path[_MOST_STEPS].start
        steps = [step for step in search.path if step.start < max(1, last_whole)][:_MOST_STEPS]
        return replace(search, path=tuple(steps))
    return search


def _explained_rows(model: SelectiveNB, X: Any, y: Any, n_explained: int) -> tuple[ExplainedRow, ...]:
    """The surest row of the rarest and of the most frequent class, and the worst mistake, as far as there are such
    rows.
    """
    if n_explained < 1:
        return ()
    truth = as_target(y)
    # The rows' classes in the model's numbering; -1 for labels it does not know.
    known = np.minimum(np.searchsorted(model.classes_, truth.classes), len(model.classes_) - 1)
    codes = np.where(model.classes_[known] == truth.classes, known, -1)[truth.codes]
    probability = model.predict_proba(X)
    chosen = _rows_worth_explaining(probability, codes, n_explained)
    explanation = model.explanation(take_rows(X, np.array([row for _, row in chosen])), by="score")
    explained = []
    for at, (why, row) in enumerate(chosen):
        parts = [
            Contribution(
                feature=name,
                value=explanation.values[at, k] if explanation.values[at, k] is not None else "missing",
                level=explanation.levels[at, k],
                weight=float(explanation.weights[k]),
                contributions=tuple(explanation.contributions[at, k].tolist()),
            )
            for k, name in enumerate(explanation.features)
        ]
        explained.append(
            ExplainedRow(
                title=why,
                row=row,
                truth=str(truth.classes[truth.codes[row]]),
                predicted=str(model.classes_[probability[row].argmax()]),
                probabilities=tuple(probability[row].tolist()),
                prior=tuple(explanation.prior.tolist()),
                contributions=tuple(parts),
            )
        )
    return tuple(explained)


def _rows_worth_explaining(probability: np.ndarray, codes: np.ndarray, n_explained: int) -> list[tuple[str, int]]:
    predicted = probability.argmax(axis=1)
    sure = probability.max(axis=1)
    right, wrong = predicted == codes, (predicted != codes) & (codes >= 0)
    chosen: list[tuple[str, int]] = []

    def choose(why: str, rows: np.ndarray, score: np.ndarray) -> None:
        taken = {row for _, row in chosen}
        usable = [row for row in np.flatnonzero(rows) if row not in taken]
        if usable and len(chosen) < n_explained:
            chosen.append((why, int(max(usable, key=lambda row: (score[row], -row)))))

    frequency = np.bincount(predicted[right], minlength=probability.shape[1])
    rarest = int(np.where(frequency > 0, frequency, frequency.max() + 1).argmin()) if right.any() else 0
    choose("A clear case, predicted rightly", right & (predicted == rarest), sure)
    ordered = np.sort(probability, axis=1)
    choose("A close call", np.ones(len(codes), dtype=bool), ordered[:, -2] - ordered[:, -1])
    choose("The most confident mistake", wrong, sure)
    while len(chosen) < min(n_explained, len(codes)):
        choose("Another row", np.ones(len(codes), dtype=bool), sure)
    return chosen


def _settings(model: SelectiveNB) -> tuple[tuple[str, str], ...]:
    return (
        ("Selector", _selector_name(model)),
        ("Smoothing", smoothing_in_words(model)),
        ("Calibration", weights_in_words(model)),
        *_encoder_settings(model.encoder_),
        ("Seed", "default" if model.random_state is None else str(model.random_state)),
    )


def _encoder_settings(encoder: TableEncoder | IndicatorEncoder) -> list[tuple[str, str]]:
    missing = "a level of their own" if encoder.missing == "level" else "ignored"
    if isinstance(encoder, IndicatorEncoder):
        learnt = isinstance(encoder.thresholds, Integral)
        return [
            ("Indicators", f"{len(encoder.levels_):,}, of {len(encoder.thresholds_):,} scores"),
            ("Thresholds", f"{encoder.thresholds} quantiles of each score" if learnt else "as given"),
            ("Missing scores", missing),
        ]
    settings = [
        ("Numeric columns", str(encoder.numeric)),
        ("Categorical columns", str(encoder.categorical)),
        ("Missing values", missing),
        ("Unseen values", "add nothing to any class"),
    ]
    if encoder.kinds:
        settings.append(("Kinds set by hand", ", ".join(f"{name}: {kind}" for name, kind in encoder.kinds.items())))
    return settings


def _selector_name(model: SelectiveNB) -> str:
    return next(
        (name for name, kind in SELECTORS.items() if type(model.selector_) is kind), type(model.selector_).__name__
    )
