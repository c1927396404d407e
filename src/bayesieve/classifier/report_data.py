"""A fitted model, and rows to judge it by, as the plain data of a report."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import softmax

from bayesieve.classifier import describing
from bayesieve.classifier.measuring import Deciding, JudgedRows, Unmeasured, judged_rows, measure
from bayesieve.classifier.predicting import on_scores
from bayesieve.counts import log_probabilities
from bayesieve.discretize import IndicatorEncoder, TableEncoder
from bayesieve.evaluation.folds import moments_of
from bayesieve.report import data as plain
from bayesieve.report.search import summarise_trace
from bayesieve.scorecard.reasons import class_position
from bayesieve.scorecard.record import bounds_of
from bayesieve.scorecard.wording import Wording
from bayesieve.table.cautions import silenced
from bayesieve.table.derived_levels import PairLevels
from bayesieve.table.frames import take_rows
from bayesieve.table.levels import columns_of

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB

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
    rows: Any = None,
    positive: Any = None,
    title: str | None = None,
    min_count: int = 1,
) -> plain.ReportData:
    """Collect the data of `SelectiveNB.report`."""
    from bayesieve.version import __version__

    if title is not None and not isinstance(title, str):
        raise ValueError(f"title must be text, got {title!r:.80}.")
    if (X is None) != (y is None):
        raise ValueError("A report on rows needs the rows and their classes: pass y together with X.")
    if X is None and benefit is not None:
        raise ValueError("benefit= shows what decisions bring in rows whose class is known: pass X and y, too.")
    if X is None and rows is not None:
        raise ValueError("rows= names rows of X to explain: pass X and y, too.")
    place = 1 if positive is None else class_position(model.scorecard_, positive)
    on_rows: dict[str, Any] = {"performance": None, "explained": ()}
    left_out: list[str] = []
    if X is not None:
        X, moments = _moments(model, X, time)
        model, X = on_scores(model, X)
        judged = replace(judged_rows(model, X, y, sample_weight), moments=moments, positive=place)
        if moments is not None and moments.size != judged.n_rows:
            raise ValueError(f"X has {judged.n_rows:,} rows but time has {moments.size:,} values.")
        on_rows, left_out = _on_rows(model, judged, benefit, cv, held_out, checked_rows(rows, judged.n_rows))
        if min_count > 1 and on_rows["performance"] is not None:  # segments tell numbers of rows
            on_rows["performance"] = replace(on_rows["performance"], segments=())
        for text in left_out:
            warnings.warn(text, UserWarning, stacklevel=3)
    target = model.target_name_ or "target"
    return plain.ReportData(
        title=title or f"Predicting {target}",
        target=target,
        n_rows=model.n_rows_,
        n_columns=len(columns_of(model.encoder_.levels_)),
        classes=tuple(str(label) for label in model.classes_),
        class_counts=tuple(model.scorecard_.class_counts.tolist()),
        headline=describing.describe(model),
        features=_features(model, min_count),
        search=_search(model),
        warnings=(*left_out, *(caution.sentence for caution in model.cautions_)),
        settings=_settings(model),
        edits=model.edits_,
        intercept=tuple(model.scorecard_.intercept.tolist()),
        program=_program(model, place) if min_count <= 1 else "",
        positive=place,
        version=__version__,
        created=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
        **on_rows,
    )


def _program(model: SelectiveNB, positive: int) -> str:
    """The model as JavaScript; empty for one that reads what a page cannot, or without anything to choose."""
    if not model.scorecard_.used.size:
        return ""
    with suppress(ValueError):
        target = model.classes_[positive] if len(model.classes_) == 2 else None
        return str(model.export(to="javascript", target_class=target))
    return ""


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
    model: SelectiveNB, rows: JudgedRows, benefit: Any, cv: Any, held_out: bool, explained: int | np.ndarray
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
            parts["explained"] = _explained_rows(model, rows, explained)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # values that cannot be shown
        left_out.append(f"The report explains no rows: {str(error).rstrip('.')}.")
    return parts, left_out


def _features(model: SelectiveNB, min_count: int) -> tuple[plain.FeatureSummary, ...]:
    order = np.lexsort((-model.encoder_.level_scores_, -model.feature_weights_, -model.feature_importances_))
    levels, signs = model.encoder_.levels_, [feature.sign for feature in model.scorecard_.features]
    weights, importances, words = model.feature_weights_, model.feature_importances_, Wording.of(model.scorecard_)
    return tuple(
        plain.FeatureSummary(
            name=words.named(levels[k]),
            kind=levels[k].kind,
            type=levels[k].type,
            weight=float(weights[k]),
            level_score=levels[k].level_score,
            n_levels=levels[k].n_levels,
            importance=float(importances[k]),
            note=describing.feature_note(model, k),
            **(_cells(model, k, min_count) if model.scorecard_.features[k].is_used else {"cells": ()}),
            monotone=signs[k],
        )
        for k in order.tolist()
    )


def of_features(model: SelectiveNB, positive: Any = None) -> plain.ReportData:
    """The data of the features alone: without rows, search and program."""
    texts: dict[str, Any] = dict.fromkeys(("title", "target", "headline", "version", "created"), "")
    return plain.ReportData(
        **texts,
        n_rows=model.n_rows_,
        n_columns=len(model.scorecard_.columns),
        classes=tuple(str(label) for label in model.classes_),
        class_counts=tuple(model.scorecard_.class_counts.tolist()),
        features=_features(model, 1),
        search=None,
        performance=None,
        explained=(),
        warnings=(),
        settings=(),
        positive=1 if positive is None else class_position(model.scorecard_, positive),
    )


def joined(cells: tuple[plain.CellRow, ...], min_count: int) -> tuple[plain.CellRow, ...]:
    """The cells, those of fewer rows in one line with their mean, if there are several."""
    few = [cell for cell in cells if cell.rows < min_count]
    if len(few) < 2:
        return cells

    def mean(name: str) -> tuple[float, ...]:
        return tuple(np.mean([getattr(cell, name) for cell in few], axis=0).tolist())

    label = f"{len(few)} cells of fewer than {min_count} rows"
    sums = tuple(len(few) * n for n in mean("counts"))
    means = {name: mean(name) for name in ("evidence", "contributions", "errors")}
    line = plain.CellRow(label, label, None, None, False, sum(sums), sums, **means)
    return (*(cell for cell in cells if cell.rows >= min_count), line)


def _cells(model: SelectiveNB, k: int, min_count: int) -> dict[str, Any]:
    """The cells of a feature, by the names of a `FeatureSummary`; those of fewer rows in one line."""
    card, feature = model.scorecard_, model.scorecard_.features[k]
    words, cells = Wording.of(card), feature.cells
    counts = np.asarray(feature.levels.counts)
    smoothed = log_probabilities(counts, float(card.class_counts.sum()), card.provenance["smoothing"])
    evidence = (smoothed - smoothed.mean(axis=1, keepdims=True))[feature.level_of_cell]
    labels, of_level = words.levels(cells, full=True), words.levels(feature.levels, full=True)
    rows = tuple(
        plain.CellRow(
            label=labels[code],
            level=of_level[feature.level_of_cell[code]],
            low=_finite(bounds.get("low")),
            high=_finite(bounds.get("high")),
            is_missing=code == cells.missing_code,
            rows=float(feature.counts[code].sum()),
            counts=tuple(feature.counts[code].tolist()),
            evidence=tuple(evidence[code].tolist()),
            contributions=tuple(feature.contributions[code].tolist()),
            errors=tuple(feature.standard_errors[code].tolist()),
        )
        for code in range(cells.n_levels)
        for bounds in (bounds_of(cells, code),)
    )
    pair = isinstance(feature.levels, PairLevels) and feature.cells is feature.levels
    grid = _grid(feature.levels, words) if pair else None  # type: ignore[arg-type]
    rows = rows if grid is not None else joined(rows, min_count)  # cells of a pair are numbered
    return {"cells": rows, "unseen": tuple(feature.unseen.tolist()), "grid": grid}


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and np.isfinite(value) else None


def _grid(level: PairLevels, words: Wording) -> plain.CellGrid:
    first, second = level.parts
    counts = level.cells.sum(axis=2)
    levels = np.where(level.grid < level.n_levels, level.grid, -1).tolist()  # of a surface, cells without rows, too
    return plain.CellGrid(
        names=(words.named(first), words.named(second)),
        labels=(words.levels(first), words.levels(second)),
        levels=tuple(tuple(None if code < 0 else code for code in line) for line in levels),
        counts=tuple(map(tuple, counts.tolist())),
    )


def _search(model: SelectiveNB) -> plain.SearchSummary:
    trace, name, description = model.trace_, describing.selector_name(model), describing.selector_sentence(model)
    if model.selector_.chooses_on_path:
        search = summarise_trace(trace, model.selector_.support_, name=name, description=description)
        candidates = getattr(model.selector_, "_candidates", None)  # of clusters that were searched in this process
        return search if candidates is None else replace(search, clusters=model.selector_)
    search = summarise_trace(trace, name=name, description=description)
    if len(search.path) > _MOST_STEPS:
        last_whole = search.path[_MOST_STEPS].start
        steps = [step for step in search.path if step.start < max(1, last_whole)][:_MOST_STEPS]
        return replace(search, path=tuple(steps))
    return search


def checked_rows(rows: Any, n_rows: int) -> int | np.ndarray:
    """How many rows to explain, or which, by position."""
    if rows is None:
        return 0
    if isinstance(rows, Integral) and not isinstance(rows, bool) and int(rows) >= 0:
        return int(rows)
    with suppress(ValueError, TypeError, OverflowError):
        positions = np.asarray(rows)
        whole = positions.ndim == 1 and (positions.dtype.kind in "iu" or not positions.size)
        if whole and bool(((positions >= -n_rows) & (positions < n_rows)).all()):
            return positions.astype(np.int64) % n_rows
    raise ValueError(f"rows must be a number of rows, or positions below {n_rows:,}, got {rows!r:.80}.")


def _explained_rows(model: SelectiveNB, rows: JudgedRows, wanted: int | np.ndarray) -> tuple[plain.ExplainedRow, ...]:
    """These rows; of a number the surest row of the rarest class, the closest call and the worst mistake, as far as
    there are such rows.
    """
    probability = softmax(rows.joint, axis=1)
    if isinstance(wanted, int):
        chosen = _rows_worth_explaining(probability, rows.codes, wanted)
    else:
        chosen = [(f"Row {row:,}", row) for row in wanted.tolist()]
    if not chosen:
        return ()
    explanation = model.explanation(take_rows(rows.X, np.array([row for _, row in chosen])), by="score")
    assert explanation.intervals is not None
    explained = []
    for at, (why, row) in enumerate(chosen):
        parts = [
            plain.Contribution(
                feature=name,
                value=explanation.values[at, k] if explanation.values[at, k] is not None else "missing",
                level=explanation.levels[at, k],
                weight=float(explanation.weights[k]),
                contributions=tuple(explanation.contributions[at, k].tolist()),
            )
            for k, name in enumerate(explanation.names or explanation.features)
        ]
        explained.append(
            plain.ExplainedRow(
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
        ("Selector", describing.selector_name(model)),
        ("Smoothing", describing.smoothing_in_words(model)),
        ("Calibration", describing.weights_in_words(model)),
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
