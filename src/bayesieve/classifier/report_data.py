"""A fitted model, and rows to judge it by, as the plain data of a report."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import softmax

from bayesieve.classifier.describing import (
    describe,
    feature_note,
    selector_name,
    selector_sentence,
    smoothing_in_words,
    weights_in_words,
)
from bayesieve.classifier.measuring import Deciding, JudgedRows, Unmeasured, judged_rows, measure
from bayesieve.classifier.predicting import on_scores
from bayesieve.counts import log_probabilities
from bayesieve.discretize import IndicatorEncoder, TableEncoder
from bayesieve.evaluation.folds import moments_of
from bayesieve.report.clusters_figure import cluster_drawing
from bayesieve.report.data import (
    CellGrid,
    Contribution,
    CurvePart,
    ExplainedRow,
    FeatureSummary,
    LevelRow,
    ReportData,
    SearchSummary,
    ValueRow,
)
from bayesieve.report.search import summarise_trace
from bayesieve.scorecard.wording import Wording
from bayesieve.table import FeatureLevels
from bayesieve.table.cautions import silenced
from bayesieve.table.derived_levels import PairLevels
from bayesieve.table.frames import take_rows
from bayesieve.table.levels import columns_of

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB

_MOST_DETAILED = 1000  # features whose levels are listed; a report shows fewer
_MOST_VALUES, _LEAST_DIFFERENCE = 8, 0.05  # single values of a group that are shown, and nats
_MOST_STEPS = 5000  # moves of the search path; longer ones are cut at a whole start


def report_data(
    model: SelectiveNB,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    *,
    benefit: Any = None,
    cv: Any = None,
    held_out: bool = False,
    time: Any = None,
    n_explained: int = 3,
    title: str | None = None,
    min_count: int = 1,
) -> ReportData:
    """Collect the data of `SelectiveNB.report`."""
    from bayesieve.version import __version__

    if not isinstance(n_explained, Integral) or n_explained < 0:
        raise ValueError(f"n_explained must be a number of rows, at least 0, got {n_explained!r:.80}.")
    if title is not None and not isinstance(title, str):
        raise ValueError(f"title must be text, got {title!r:.80}.")
    if (X is None) != (y is None):
        raise ValueError("A report on rows needs the rows and their classes: pass y together with X.")
    if X is None and benefit is not None:
        raise ValueError("benefit= shows what decisions bring in rows whose class is known: pass X and y, too.")
    on_rows: dict[str, Any] = {"performance": None, "explained": ()}
    left_out: list[str] = []
    if X is not None:
        X, moments = _moments(model, X, time)
        model, X = on_scores(model, X)
        rows = replace(judged_rows(model, X, y, sample_weight), moments=moments)
        if moments is not None and moments.size != rows.n_rows:
            raise ValueError(f"X has {rows.n_rows:,} rows but time has {moments.size:,} values.")
        on_rows, left_out = _on_rows(model, rows, benefit, cv, held_out, n_explained)
        for text in left_out:
            warnings.warn(text, UserWarning, stacklevel=3)
    target = model.target_name_ or "target"
    return ReportData(
        title=title or f"Predicting {target}",
        target=target,
        n_rows=model.n_rows_,
        n_columns=len(columns_of(model.encoder_.levels_)),
        classes=tuple(str(label) for label in model.classes_),
        class_counts=tuple(model.scorecard_.class_counts.tolist()),
        headline=describe(model),
        features=tuple(joined(feature, min_count) for feature in _features(model)),
        search=_search(model),
        warnings=(*left_out, *(caution.sentence for caution in model.cautions_)),
        settings=_settings(model),
        edits=model.edits_,
        version=__version__,
        created=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
        **on_rows,
    )


def _moments(model: SelectiveNB, X: Any, time: Any) -> tuple[Any, np.ndarray | None]:
    """The rows without a column of time that the model does not know, and the moments of the rows: those given, else
    of the column of dates that a caution is about; None: the rows are in order.
    """
    needed = model.scorecard_.columns
    if time is not None:
        return moments_of(X, time, needed)
    marks = getattr(model.encoder_, "marks_", {})
    for name in [name for caution in model.cautions_ if caution.kind == "order" for name in caution.columns]:
        if marks.get(name) == "date":
            with suppress(ValueError):  # a date is missing
                return moments_of(X, name, needed)
    return X, None


def _on_rows(
    model: SelectiveNB, rows: JudgedRows, benefit: Any, cv: Any, held_out: bool, n_explained: int
) -> tuple[dict[str, Any], list[str]]:
    """Parts of the report that need rows, by name; and sentences on those that these rows do not allow."""
    parts: dict[str, Any] = {"performance": None, "explained": ()}
    left_out = []
    deciding = None if benefit is None else Deciding(model, rows, benefit)
    try:
        measured = measure(model, rows if deciding is None else deciding.rows, cv, held_out)
        if measured is not None:
            parts["performance"] = measured.performance
            parts["decisions"] = None if deciding is None else deciding.summary(measured)
    except Unmeasured as reason:
        left_out.append(f"The report is without figures of performance: {reason}.")
    try:
        with silenced():  # these rows were predicted above
            parts["explained"] = _explained_rows(model, rows, n_explained)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # values that cannot be shown
        left_out.append(f"The report explains no rows: {str(error).rstrip('.')}.")
    return parts, left_out


def _features(model: SelectiveNB) -> tuple[FeatureSummary, ...]:
    order = np.lexsort((-model.encoder_.level_scores_, -model.feature_weights_, -model.feature_importances_))
    levels, signs = model.encoder_.levels_, [feature.sign for feature in model.scorecard_.features]
    weights, importances, words = model.feature_weights_, model.feature_importances_, Wording.of(model.scorecard_)
    return tuple(
        FeatureSummary(
            name=words.named(levels[k]),
            kind=levels[k].kind,
            type=levels[k].type,
            weight=float(weights[k]),
            level_score=levels[k].level_score,
            n_levels=levels[k].n_levels,
            importance=float(importances[k]),
            note=feature_note(model, k),
            **(_details(model, k) if rank < _MOST_DETAILED else {"levels": ()}),
            monotone=signs[k],
            monotone_class=str(model.classes_[1]) if signs[k] else "",
        )
        for rank, k in enumerate(order.tolist())
    )


def joined(feature: FeatureSummary, min_count: int) -> FeatureSummary:
    """The feature with its levels of fewer rows in one line, if there are several, and without its values of fewer."""
    few = [level for level in feature.levels if level.count < min_count]
    feature = replace(feature, values=tuple(value for value in feature.values if value.count >= min_count))
    if len(few) < 2 or feature.grid is not None:  # levels of a pair are numbered
        return feature

    def mean(name: str) -> tuple[float, ...]:
        return tuple(np.mean([getattr(level, name) for level in few], axis=0).tolist())

    line = LevelRow(
        f"{len(few)} levels of fewer than {min_count} rows",
        is_missing=False,
        count=sum(level.count for level in few),
        share=sum(level.share for level in few),
        class_counts=tuple(len(few) * n for n in mean("class_counts")),
        class_probabilities=mean("class_probabilities"),
        evidence=mean("evidence"),
        counted=mean("counted") if few[0].counted else None,
    )
    return replace(feature, levels=(*(level for level in feature.levels if level.count >= min_count), line))


def _details(model: SelectiveNB, k: int) -> dict[str, Any]:
    """The levels of a feature and what is within them, by the names of a `FeatureSummary`."""
    card, feature = model.scorecard_, model.scorecard_.features[k]
    words = Wording.of(card)
    level, cells, line = feature.levels, feature.cells, feature.level_of_cell
    smoothed = log_probabilities(np.asarray(level.counts), float(card.class_counts.sum()), card.provenance["smoothing"])
    counted = feature.weight * (smoothed - smoothed.mean(axis=1, keepdims=True))
    counted -= (np.asarray(level.counts).sum(axis=1) / card.class_counts.sum()) @ counted
    edited = feature.name in {edit.feature for edit in model.edits_}
    is_fitted = (card.provenance["evidence"] != "counted" and feature.is_used) or edited
    of_level = feature.by_level() if is_fitted else counted
    labels, by_counts = words.levels(level, full=True), counted if is_fitted else None
    details: dict[str, Any] = {
        "levels": _levels(level, labels, smoothed + card.log_prior, of_level, by_counts),
        "grid": _grid(level, words) if isinstance(level, PairLevels) else None,
    }
    if cells is level:
        return details
    rows, evidence = feature.counts.sum(axis=1), feature.contributions
    if level.kind == "numeric":
        return details | {"curve": _curve(cells, rows, evidence, counted[line])}
    groups = [labels[code] for code in line.tolist()]
    return details | {"values": _values(words.levels(cells, full=True), groups, rows, evidence, of_level[line])}


def _levels(
    level: FeatureLevels, labels: Sequence[str], smoothed: np.ndarray, evidence: np.ndarray, counted: np.ndarray | None
) -> tuple[LevelRow, ...]:
    counts = np.asarray(level.counts)
    total = counts.sum()
    probabilities = softmax(smoothed, axis=1)
    return tuple(
        LevelRow(
            label=label,
            is_missing=level.missing_code == code,
            count=float(counts[code].sum()),
            share=float(counts[code].sum() / total) if total > 0 else 0.0,
            class_counts=tuple(counts[code].tolist()),
            class_probabilities=tuple(probabilities[code].tolist()),
            evidence=tuple(evidence[code].tolist()),
            counted=None if counted is None else tuple(counted[code].tolist()),
        )
        for code, label in enumerate(labels)
    )


def _curve(cells: FeatureLevels, rows: np.ndarray, evidence: np.ndarray, counted: np.ndarray) -> tuple[CurvePart, ...]:
    """The fitted evidence of a number within its levels, without missing and special values."""
    rows[: cells.n_apart] = 0.0
    parts = zip((rows / max(rows.sum(), 1.0)).tolist(), evidence.tolist(), counted.tolist(), strict=True)
    return tuple(CurvePart(share, tuple(own), tuple(by_counts)) for share, own, by_counts in parts if share > 0)


def _values(
    labels: Sequence[str], groups: Sequence[str], rows: np.ndarray, evidence: np.ndarray, of_group: np.ndarray
) -> tuple[ValueRow, ...]:
    """Single values whose fitted evidence is not that of their group, those first that make most of a difference."""
    apart = np.abs(evidence - of_group).max(axis=1)
    first = np.argsort(-apart * rows, kind="stable")[:_MOST_VALUES].tolist()
    return tuple(
        ValueRow(labels[c], groups[c], float(rows[c]), tuple(evidence[c].tolist()), tuple(of_group[c].tolist()))
        for c in first
        if apart[c] >= _LEAST_DIFFERENCE
    )


def _grid(level: PairLevels, words: Wording) -> CellGrid:
    first, second = level.parts
    counts = level.cells.sum(axis=2)
    levels = np.where(level.grid < level.n_levels, level.grid, -1).tolist()  # of a surface, cells without rows, too
    return CellGrid(
        names=(words.named(first), words.named(second)),
        labels=(words.levels(first), words.levels(second)),
        levels=tuple(tuple(None if code < 0 else code for code in line) for line in levels),
        counts=tuple(map(tuple, counts.tolist())),
    )


def _search(model: SelectiveNB) -> SearchSummary:
    trace, name, description = model.trace_, selector_name(model), selector_sentence(model)
    if model.selector_.chooses_on_path:
        search = summarise_trace(trace, model.selector_.support_, name=name, description=description)
        candidates = getattr(model.selector_, "_candidates", None)  # of clusters that were searched in this process
        return search if candidates is None else replace(search, clusters=cluster_drawing(model.selector_))
    search = summarise_trace(trace, name=name, description=description)
    if len(search.path) > _MOST_STEPS:
        last_whole = search.path[_MOST_STEPS].start
        steps = [step for step in search.path if step.start < max(1, last_whole)][:_MOST_STEPS]
        return replace(search, path=tuple(steps))
    return search


def _explained_rows(model: SelectiveNB, rows: JudgedRows, n_explained: int) -> tuple[ExplainedRow, ...]:
    """The surest row of the rarest and of the most frequent class, and the worst mistake, as far as there are such
    rows.
    """
    if n_explained < 1:
        return ()
    probability = softmax(rows.joint, axis=1)
    chosen = _rows_worth_explaining(probability, rows.codes, n_explained)
    explanation = model.explanation(take_rows(rows.X, np.array([row for _, row in chosen])), by="score")
    assert explanation.intervals is not None
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
            for k, name in enumerate(explanation.names or explanation.features)
        ]
        explained.append(
            ExplainedRow(
                title=why,
                row=row,
                truth=str(model.classes_[rows.codes[row]]),
                predicted=str(model.classes_[probability[row].argmax()]),
                probabilities=tuple(probability[row].tolist()),
                intervals=tuple((low, high) for low, high in explanation.intervals[at].tolist()),
                prior=tuple(explanation.prior.tolist()),
                contributions=tuple(parts),
            )
        )
    return tuple(explained)


def _rows_worth_explaining(probability: np.ndarray, codes: np.ndarray, n_explained: int) -> list[tuple[str, int]]:
    predicted = probability.argmax(axis=1)
    sure = probability.max(axis=1)
    right, wrong = predicted == codes, predicted != codes
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
        ("Selector", selector_name(model)),
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
