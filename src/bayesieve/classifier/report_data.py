"""Collection of the data of a report from a fitted model, and from rows on which it is evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations, pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform
from sklearn.utils.validation import check_is_fitted

from bayesieve.classifier import summary
from bayesieve.classifier.file_content import export_header
from bayesieve.classifier.scoring import explain_rows, sample_of_scan, with_card
from bayesieve.counts import SymmetricalUncertainty
from bayesieve.evaluation.deciding import Deciding
from bayesieve.evaluation.drift import drift
from bayesieve.evaluation.evaluating import Segment
from bayesieve.evaluation.judged import EvaluatedRows, evaluated_rows, groups_of, scorecard_in
from bayesieve.evaluation.performance import Performance, Unmeasured, measure
from bayesieve.evaluation.periods import challenged, score_by_period
from bayesieve.evaluation.rule_effects import RuleEffect, effects_of_rules
from bayesieve.evaluation.splits import fingerprint, moments_of
from bayesieve.forking import refuse_fork
from bayesieve.report import ReportData
from bayesieve.report.changes import change_data
from bayesieve.report.feature_data import feature_data
from bayesieve.report.page import in_five_digits
from bayesieve.scorecard.describing import describe
from bayesieve.scorecard.explanation import UNSEEN
from bayesieve.scorecard.export.plan import Plan
from bayesieve.scorecard.export.programs import JavaScript
from bayesieve.scorecard.hidden_counts import with_hidden_counts
from bayesieve.scorecard.reasons import columns_in_use
from bayesieve.scorecard.wording import Wording
from bayesieve.selection.row_splits import is_number_of_folds
from bayesieve.statistics import metrics
from bayesieve.table import Column
from bayesieve.table.cautions import Caution, silenced, warn_caller
from bayesieve.table.columns import column_of
from bayesieve.table.frames import as_table, is_scan, split_columns, take_rows
from bayesieve.table.levels import columns_of
from bayesieve.table.target import sign_of_positive
from bayesieve.words import did_you_mean, local_now, named, shorten

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB
    from bayesieve.discretize.rules import TableRules

_MAX_SEGMENTED, _MAX_SEGMENTS = 60, 50  # features whose levels form segments; groups of a column or of times
_MAX_COMPARED, _COMPARED_ROWS = 30, 20_000  # columns and rows of the dependence matrix


def report_data(
    model: SelectiveNB,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    *,
    test: Sequence[Any] | None = None,
    benefit: Any = None,
    cv: Any = None,
    held_out: bool = False,
    time: Any = None,
    by: str | Sequence[str] = (),
    rows: Any = None,
    positive: Any = None,
    title: str | None = None,
    facts: Mapping[str, str] | None = None,
    challenger: Any = None,
    min_count: int | None = None,
) -> ReportData:
    """Return the data of a report on rows in memory, or on a sample of the rows of a scan.

    Parameters are those of `SelectiveNB.report`.
    """
    check_is_fitted(model, "scorecard_")
    if title is not None and not isinstance(title, str):
        raise ValueError(f"title must be text, got {title!r:.80}.")
    _check_rows(X, y, {"benefit": benefit, "rows": rows, "test": test, "challenger": challenger})
    test_rows = None if test is None else _with_weights(test)
    hidden, least = (1, 5) if min_count is None else (min_count, min_count)
    cautions: tuple[Caution, ...] = ()
    if is_scan(X, y):
        X, y, sample_weight, time, caution = sample_of_scan(model, X, y, sample_weight, time)
        cautions = () if caution is None else (caution,)
        cv = 5 if cv is None and not held_out else cv
    model = with_card(model, with_hidden_counts(model.scorecard_, hidden), cautions)
    place = _place(model, positive)
    parts: dict[str, Any] = {}
    if X is not None:
        refuse_fork()
        of_rows = {"benefit": benefit, "explained": rows, "by": [by] if isinstance(by, str) else list(by), "time": time}
        of_rows["challenger"] = challenger
        parts = _on_both(model, place, (X, y, sample_weight), test_rows, {"cv": cv, "held_out": held_out}, of_rows)
        if hidden > 1:  # segments and cells reveal numbers of rows
            parts |= {"segments": (), "others": None, "effects": None}
        warn_caller(*parts["warnings"])
    by_rows = {name: parts.pop(name, None) for name in ("others", "gains", "effects")}
    data, header = of_features(model, positive, least, **by_rows), export_header(model)
    model_facts = _facts(model, place, header) | {str(name): str(value) for name, value in (facts or {}).items()}
    parts["facts"] = (*model_facts.items(), *parts.get("facts", ()))
    parts["warnings"] = (*parts.get("warnings", ()), *data.warnings)
    of_model = _of_model(model, None if hidden > 1 else place)
    changes = change_data(model.scorecard_, None if X is None else as_table(X)) if of_model["program"] else ()
    return replace(data, title=title or data.title, changes=changes, created=local_now(), **of_model, **parts)


def _of_model(model: SelectiveNB, place: int | None) -> dict[str, Any]:
    """Return the fields of `ReportData` about the model itself, by name: description, settings, edits, intercept,
    program and search.

    ``place`` is the position of the class that reasons on the page speak against if there are two classes; None for a
    page without a program, which cannot score rows.
    """
    card, program = model.scorecard_, ""
    if place is not None and card.used.size:
        with suppress(ValueError):  # JavaScript cannot read some types of columns
            target = model.classes_[place] if len(model.classes_) == 2 else None
            program = JavaScript(target_class=target).write(Plan.of(card, {}))
    selector = card.provenance["selector"]
    chosen = {feature.name for feature in card.features if feature.search_weight > 0}
    return {
        "headline": describe(card),
        "settings": _settings(model),
        "edits": model.edits_,
        "intercept": tuple(card.intercept.tolist()),
        "factors": in_five_digits(card.errors.intercept.tolist()),
        "program": program,
        "search": model.trace_,
        "selector": selector,
        "support": [name in chosen for name in model.trace_.names] if selector.get("chooses_on_path") else None,
        "left_out": summary.left_out(model),
        # Clusters are only available if they were searched in this process; files do not contain the candidates.
        "clusters": model.selector_ if hasattr(getattr(model, "selector_", None), "cluster_candidates_") else None,
    }


def drift_of(model: SelectiveNB, data: ReportData) -> Any:
    """Return the drift of each feature from the training rows to the measured rows, as the table of `Drift.to_frame`;
    None if no other rows were measured.
    """
    if data.performance is None or data.performance.is_training:
        return None
    rows = data.performance.rows
    with silenced():  # warnings about these rows were issued when they were predicted
        return drift(model, rows.X, sample_weight=rows.weights).features


def _check_rows(X: Any, y: Any, about: Mapping[str, Any]) -> None:
    """Raise ValueError if rows are passed without labels, or one of the options ``about`` rows is set without rows."""
    if (X is None) != (y is None):
        raise ValueError("A report on rows needs the rows and their labels; pass y together with X.")
    for name, value in about.items():
        if X is None and value is not None:
            raise ValueError(f"{name}= needs rows with labels; pass X and y, too.")


def _with_weights(test: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Return test rows as (X, y, sample_weight), with None for omitted weights. Raise ValueError if they are neither
    (X, y) nor (X, y, sample_weight).
    """
    if not (isinstance(test, Sequence) and 2 <= len(test) <= 3):
        raise ValueError("test must be the rows and their classes, (X, y), or with weights, (X, y, sample_weight).")
    X, y, *weights = test
    return X, y, weights[0] if weights else None


def _place(model: SelectiveNB, positive: Any) -> int:
    """Return the position of the class that curves and texts describe: the class with the label ``positive``, otherwise
    the positive class of the model, otherwise 1.
    """
    at = model.scorecard_.position(positive, "positive")
    return 1 if at is None else at


def _on_both(
    model: SelectiveNB,
    place: int,
    rows: Sequence[Any],
    test: Sequence[Any] | None,
    measured: dict[str, Any],
    more: dict[str, Any],
) -> dict[str, Any]:
    """Return the fields of `ReportData` that need rows, from the rows and the test rows of a report.

    Performance is measured on both. All other fields describe the test rows, if there are any.

    Parameters
    ----------
    model : fitted model.
    place : position of the class that curves and texts describe.
    rows, test : (X, y, sample_weight) of the rows and of the test rows; None without test rows.
    measured : options ``cv`` and ``held_out`` of the measurement on the rows.
    more : all other options of `_on_rows`.
    """
    if test is None:
        return _on_rows(model, place, rows, **measured, **more)
    if is_number_of_folds(measured["cv"]) and measured["cv"] == 0:
        measured = {"cv": None, "held_out": True}  # only this model, without cross-validation
    further = {*more["by"]} - {*model.scorecard_.columns}  # columns for segments, which may be missing here
    rows = (_without(rows[0], further | _columns_of_challenger(model, more["challenger"])), *rows[1:])
    parts = _on_rows(model, place, rows, **measured, time=more["time"])
    time = more["time"] if isinstance(more["time"], str) else None
    training = next((sample.rows for sample in parts["samples"] if sample.is_training), None)
    later = _on_rows(model, place, test, held_out=True, baseline=training, **{**more, "time": time})
    both = {name: (*parts[name], *later[name]) for name in ("samples", "facts", "warnings")}
    return {**parts, **later, **both, "stability": parts["stability"]}


def _columns_of_challenger(model: SelectiveNB, challenger: Any) -> set[str]:
    """Return the names of the columns that only the challenger reads."""
    card = scorecard_in(challenger)
    names = getattr(challenger, "feature_names_in_", ()) if card is None else card.columns
    return {*names} - {*model.scorecard_.columns}


def _without(X: Any, names: set[str]) -> Any:
    """Return the rows without the named columns; names of other columns are ignored."""
    for name in names.intersection(as_table(X).names) if names else ():
        X = split_columns(X, name)[0]
    return X


def _effects_of_rules(model: SelectiveNB, rows: EvaluatedRows, rules: TableRules) -> dict[str, RuleEffect] | None:
    """Return the effect of the user's rules, by column of the model that has a rule, compared with levels that are
    learnt without the rule; None if no column of the model has a rule.
    """
    ruled = [
        feature.levels
        for feature in model.scorecard_.used_features
        if feature.name in rules.rules and feature.kind != "pair"
    ]
    return effects_of_rules(rows, ruled[:_MAX_SEGMENTED]) if ruled else None


def _moments(model: SelectiveNB, X: Any, time: Any) -> tuple[Any, np.ndarray | None, Any]:
    """Find the times of rows: those that the caller gives, otherwise the date column that a caution about the order of
    rows names.

    ``time`` is an array, the name of a column, or None. Return the rows, without a time column that the model does not
    use; their times as numbers, (n_rows,), or None if the rows are in order; and the times as an array, or the name of
    their column, or None.
    """
    needed = model.scorecard_.columns
    if time is not None:
        return *moments_of(X, time, needed), time
    marks = model.scorecard_.provenance.get("marks", {})
    names = [name for caution in model.cautions_ if caution.kind == "order" for name in caution.columns]
    name = next((name for name in names if marks.get(name) == "date"), None)
    with suppress(ValueError):  # a missing date raises ValueError
        if name is not None:
            return *moments_of(X, name, needed), name
    return X, None, name


def _on_rows(
    model: SelectiveNB,
    place: int,
    rows: Sequence[Any],
    *,
    time: Any = None,
    by: Sequence[str] = (),
    benefit: Any = None,
    cv: Any = None,
    held_out: bool = False,
    explained: Any = None,
    challenger: Any = None,
    baseline: EvaluatedRows | None = None,
) -> dict[str, Any]:
    """Return the fields of `ReportData` that need rows and their labels, by name. The field ``warnings`` states which
    fields these rows do not allow.

    Parameters
    ----------
    model : fitted model.
    place : position of the class that curves and texts describe.
    rows : (X, y, sample_weight).
    time, by, benefit, cv, held_out, challenger : options of `SelectiveNB.report`.
    explained : option ``rows`` of `SelectiveNB.report`, the rows to explain.
    baseline : training rows, whose scores are the reference of the stability by period; None for the first period.
    """
    (frame, y, sample_weight), needed = rows, model.scorecard_.columns
    X, moments, time = _moments(model, frame, time)
    if challenger is not None:
        X = _without(X, _columns_of_challenger(model, challenger) - {*by})
    for name in by:
        X = X if name in needed else split_columns(X, name)[0]
    evaluated = evaluated_rows(model, X, y, sample_weight)
    if moments is not None and moments.size != evaluated.n_rows:
        n_rows, n_values = evaluated.n_rows, moments.size
        raise ValueError(f"X has {n_rows:,} rows but time has {n_values:,} values; give one for each row.")
    groups = _groups(frame, time, by)
    evaluated = replace(evaluated, moments=moments, positive=place, segments=groups)
    is_timed = bool(groups) and (not by or groups[0][0] != by[0])
    rows_to_explain = None if explained is None else checked_rows(explained, evaluated.n_rows)
    parts: dict[str, Any] = {"performance": None, "explained": (), "samples": (), "segments": (), "stability": {}}
    warned = []
    deciding = None if benefit is None else Deciding(model, evaluated, benefit)
    try:
        measured = measure(model, evaluated if deciding is None else deciding.rows, cv, held_out)
        if measured is not None:
            samples = tuple(filter(None, (measured.training, measured, measured.later)))
            parts |= {"performance": measured, "samples": samples, "segments": _segments(model, measured)}
            parts["decisions"] = None if deciding is None else deciding.decisions(measured)
            parts["gains"] = measured.gains
            if folds := measured.columns:
                parts["stability"] = {name: sum(name in used for used in folds) / len(folds) for name in needed}
            parts["others"] = None if measured.is_training else _rows_of_cells(model, evaluated)
            if (rules := summary.rules_of(model)) is not None:
                parts["effects"] = _effects_of_rules(model, evaluated, rules)
            if is_timed:
                parts["periods"] = score_by_period(measured, baseline)
    except Unmeasured as reason:
        warned.append(f"The report is without figures of performance: {reason}.")
    try:
        with silenced():  # the rows were predicted above, with warnings
            parts["explained"] = () if rows_to_explain is None else _explained_rows(model, evaluated, rows_to_explain)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # values that cannot be shown
        warned.append(f"The report explains no rows: {str(error).rstrip('.')}.")
    if challenger is not None:
        parts["challenged"] = challenged(model, challenger, frame, evaluated, is_timed)
    content = f"{evaluated.n_rows:,} rows × {len(needed):,} columns, SHA-256 of the values "
    content += fingerprint(X, np.asarray(evaluated.labels), model.classes_, evaluated.weights)
    period = "" if not is_timed else f", {groups[0][0]} {groups[0][2][0]} to {groups[0][2][-1]}"
    name = parts["samples"][0].name if parts["samples"] else "Rows"
    parts["facts"] = ((f"Data, {name.lower()}", content + period),)
    return parts | {"warnings": tuple(warned), "dependence": _dependence(model, evaluated)}


def _groups(X: Any, time: Any, by: Sequence[str]) -> tuple[tuple[str, np.ndarray, tuple[str, ...]], ...]:
    """Group the rows by periods of ``time``, and by the values of each column in ``by``. ``time`` is an array, the name
    of a column, or None.

    Return a tuple for each grouping: its name, the group of each row, shape (n_rows,), and the labels of the groups.
    """
    named_time = time if isinstance(time, str) else "time"
    groups = []
    for name, values in [*([] if time is None else [(named_time, time)]), *((name, name) for name in by)]:
        if isinstance(values, str):
            table = as_table(X)
            if values not in table.names:
                hint = did_you_mean(values, table.names) or f"there are {named(table.names)}."
                raise ValueError(f"There is no column {values!r} to form segments by; {hint}")
            column = table.column(table.names.index(values))
        else:
            column = column_of(values, name, as_table(X).n_rows)
        codes, labels = _grouped(column)
        groups.append((str(name), codes, tuple("missing" if label is None else str(label) for label in labels)))
    return tuple(groups)


def _grouped(column: Column) -> tuple[np.ndarray, list[Any]]:
    """Return the group of each row by the values of a column, shape (n_rows,), and the values of the groups. Dates are
    grouped by month, quarter or year; many distinct numbers are divided into ten groups.
    """
    is_number = column.kind == "numeric" and column.type not in ("date", "datetime")
    if is_number and np.unique(column.numbers()).size > _MAX_SEGMENTS:
        return _tenths(column.numbers())
    for every in ("month", "quarter", "year"):
        codes, labels = groups_of(column, every)
        if len(labels) <= _MAX_SEGMENTS:
            return codes, labels
    raise ValueError(f"Column {column.name!r} has {len(labels):,} values; segments have at most {_MAX_SEGMENTS}.")


def _tenths(numbers: np.ndarray) -> tuple[np.ndarray, list[str | None]]:
    """Divide rows by ``numbers`` (n_rows,) into ten groups of about equal size, and one group of rows whose number is
    NaN. Return the group of each row, shape (n_rows,), and the labels of the groups; None for the last group.
    """
    cuts = np.unique(np.nanquantile(numbers, np.arange(1, 10) / 10, method="lower"))
    codes = np.where(np.isnan(numbers), cuts.size + 1, np.searchsorted(cuts, numbers))
    ends = ["", *(f"{cut:.6g}" for cut in cuts), ""]
    labels = [
        f"above {low}" if not high else f"up to {high}" if not low else f"{low} to {high}"
        for low, high in pairwise(ends)
    ]
    return codes, [*labels, *([None] if np.isnan(numbers).any() else [])]


def _rows_of_cells(model: SelectiveNB, rows: EvaluatedRows) -> dict[int, np.ndarray]:
    """Return the number (or weight) of the rows by cell and class, for each feature in the model by its position:
    arrays (n_cells + 1, n_classes), unseen values last.
    """
    card, n_classes, counts = model.scorecard_, model.classes_.size, {}
    for k, codes in zip(card.used.tolist(), rows.cells, strict=True):
        n_cells = card.features[k].cells.n_levels
        at = np.minimum(codes.astype(np.int64), n_cells) * n_classes + rows.labels
        counts[k] = np.bincount(at, rows.weights, (n_cells + 1) * n_classes).reshape(-1, n_classes)
    return counts


def _levels_of_rows(model: SelectiveNB, rows: EvaluatedRows, k: int) -> np.ndarray:
    """Return the level of each row for feature k, shape (n_rows,); the number of levels for values never seen in
    training.
    """
    card = model.scorecard_
    feature, codes = card.features[k], rows.cells[int(np.searchsorted(card.used, k))]
    return np.append(feature.level_of_cell, feature.levels.n_levels)[np.minimum(codes, feature.cells.n_levels)]


def _segments(model: SelectiveNB, performance: Performance) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Return performance measures by segment: for the groupings in ``performance.rows``, then by level of the features,
    the most important first. The result is the field ``segments`` of `ReportData`.
    """
    card, rows, labels = model.scorecard_, performance.rows, performance.labels
    two, probability, words = card.classes.size == 2, rows.probability, Wording.of(card)
    place = 1 if rows.positive is None else rows.positive
    score = probability[:, place] if two else probability.max(axis=1)
    hit = labels == (place if two else rows.decided)
    groups: list[tuple[str, np.ndarray, Sequence[str], Any]] = [(*group, None) for group in rows.segments]
    for k in card.by_importance[:_MAX_SEGMENTED].tolist():
        level = card.features[k].levels
        if level.kind != "pair" and 1 < level.n_levels <= _MAX_SEGMENTS:
            training = np.append(np.asarray(level.counts).sum(axis=1), 0.0) / card.class_counts.sum()
            labels_of_codes = (*words.levels(level), UNSEEN)
            groups.append((words.named(level), _levels_of_rows(model, rows, k), labels_of_codes, training))

    segments = []
    for name, group, texts, shares in groups:
        bins = metrics.by_group(score, hit, group, rows.weights)
        total = sum(one.weight for _, one in bins)
        before = [None if shares is None else float(shares[k]) for k, _ in bins]
        lines = []
        for (k, one), share in zip(bins, before, strict=True):
            measures = Segment.of(rows, np.flatnonzero(group == k), 0.95).measures(("auc", "log_loss"))
            lines.append((texts[k], one.weight / total, share, one, *(estimate for *_, estimate in measures)))
        segments.append((name, lines))
    return segments


def _dependence(
    model: SelectiveNB, rows: EvaluatedRows
) -> tuple[tuple[str, ...], tuple[tuple[float, ...], ...]] | None:
    """Return the names of the most important columns, and the matrix of the symmetrical uncertainty between their
    levels, from 0 to 1; None if there are fewer than two columns.

    Columns are ordered so that similar ones are neighbours.
    """
    card, words = model.scorecard_, Wording.of(model.scorecard_)
    positions = [k for k in card.by_importance.tolist() if card.features[k].levels.kind != "pair"]
    chosen = [k for k in positions if card.features[k].levels.n_levels > 1][:_MAX_COMPARED]
    if len(chosen) < 2:
        return None
    every = slice(None, None, 1 + rows.n_rows // _COMPARED_ROWS)
    coded = [_levels_of_rows(model, rows, k)[every].astype(np.int64) for k in chosen]
    measure, matrix = SymmetricalUncertainty(), np.eye(len(chosen))
    for i, j in combinations(range(len(chosen)), 2):
        one, two = coded[i], coded[j]
        table = np.bincount(one * (two.max() + 1) + two, minlength=(one.max() + 1) * (two.max() + 1))
        matrix[i, j] = matrix[j, i] = measure.of_tables(table.reshape(1, one.max() + 1, -1).astype(float))[0]
    order = leaves_list(linkage(squareform(1.0 - matrix, checks=False), "average")) if len(chosen) > 2 else [0, 1]
    names = tuple(words.named(card.features[chosen[i]].levels) for i in order)
    return names, tuple(map(tuple, matrix[np.ix_(order, order)].round(4).tolist()))


def _facts(model: SelectiveNB, place: int, header: Mapping[str, str]) -> dict[str, str]:
    """Return the facts that a validator needs first, as texts by name. ``place`` is the position of the class that
    texts describe, and ``header`` the result of `export_header`.
    """
    import platform

    card = model.scorecard_
    shares = card.class_counts / card.class_counts.sum()
    target = model.target_name_ or "the target"
    if len(card.classes) == 2:
        purpose = f"The probability that {target} is {card.classes[place]}."
        events = f"{card.class_counts[place]:,.6g} of class {card.classes[place]} ({100 * shares[place]:.1f} %)"
    else:
        purpose, events = f"The probability of each class of {target}.", f"{len(card.classes)} classes"
    versions = f"bayesieve {header['bayesieve']}, Python {platform.python_version()}, numpy {np.__version__}"
    n_tried, n_used, rarest = len(card.columns), len(columns_in_use(card)), card.class_counts.min()
    per_column = f"{rarest / n_tried:,.1f} for each of the {n_tried:,} columns tried"
    per_column += f", {rarest / n_used:,.1f} for each of the {n_used:,} in the model" if n_used else ""
    table = card.provenance.get("table")
    values = f"; SHA-256 of the values {table['sha256']}" if table and table["sha256"] else ""
    return {
        "Purpose": purpose,
        "Trained on": f"{model.n_rows_:,} rows, {events}{values}",
        "Events per variable": f"{per_column} ({rarest:,.6g} rows of the rarest class)",
        "Model": f"{len(card.used):,} features; SHA-256 of its content {header['checksum']}",
        "Versions": versions,
        "Limits": "Probabilities are for rows like those of training, with its shares of the classes; a value that was "
        "never seen adds nothing, and numbers beyond the outermost cut are taken for those next to it.",
    }


def of_features(
    model: SelectiveNB,
    positive: Any = None,
    min_count: int = 1,
    others: Mapping[int, np.ndarray] | None = None,
    gains: Mapping[str, float] | None = None,
    effects: Mapping[str, RuleEffect] | None = None,
) -> ReportData:
    """Return the data of a report about the model alone: training table and features, the most important first.

    Parameters
    ----------
    model : fitted model.
    positive : label of the class that texts describe; None for the positive class of the model.
    min_count : cells with fewer training rows are joined in tables.
    others : for each position of a feature, the rows of another sample by cell and class, shape (n_cells + 1,
        n_classes).
    gains : nats per held-out row by which each feature lowers the log loss, by name.
    effects : effects of the user's rules, by column.
    """
    place, card = _place(model, positive), model.scorecard_
    side = sign_of_positive(card.classes, place)
    levels, others = [feature.levels for feature in card.features], others or {}
    scores = [(feature.importance, feature.weight, feature.levels.level_score) for feature in card.features]
    features, rules = [], summary.rules_of(model)
    for k in sorted(range(len(levels)), key=lambda k: scores[k], reverse=True):
        gain = None if gains is None else gains.get(levels[k].name, 0.0)
        rule = None if rules is None else rules.rules.get(levels[k].name)
        words: dict[str, Any] = {
            "note": summary.feature_note(model, k, rules),
            "by_hand": None if rule is None else "; ".join(f"{name}: {text}" for name, text in rule.options.items()),
        }
        of_rows: dict[str, Any] = {"gain": gain, "others": others.get(k)}
        of_rows["effect"] = (effects or {}).get(levels[k].name)
        features.append(feature_data(card, k, side, min_count, **of_rows, **words))
    return ReportData(
        title=f"Predicting {model.target_name_ or 'target'}",
        target=model.target_name_ or "target",
        n_rows=model.n_rows_,
        n_columns=len(columns_of(levels)),
        classes=tuple(str(label) for label in model.classes_),
        class_counts=card.class_counts.tolist(),
        features=features,
        warnings=tuple(caution.sentence for caution in model.cautions_),
        positive=place,
    )


def checked_rows(rows: Any, n_rows: int) -> int | np.ndarray:
    """Return the rows to explain, the option ``rows`` of a report on ``n_rows`` rows: their number, or an array of
    positions from 0. Raise ValueError for any other value.
    """
    if isinstance(rows, Integral) and not isinstance(rows, bool) and int(rows) >= 0:
        return int(rows)
    with suppress(ValueError, TypeError, OverflowError):
        positions = np.asarray(rows)
        whole = positions.ndim == 1 and (positions.dtype.kind in "iu" or not positions.size)
        if whole and bool(((positions >= -n_rows) & (positions < n_rows)).all()):
            return positions.astype(np.int64) % n_rows
    raise ValueError(f"rows must be a number of rows, or positions below {n_rows:,}, got {rows!r:.80}.")


def _explained_rows(model: SelectiveNB, rows: EvaluatedRows, rows_to_explain: int | np.ndarray) -> list[dict[str, Any]]:
    """Return explanations of rows as dicts, the field ``explained`` of `ReportData`.

    ``rows_to_explain`` holds positions in ``rows``, or is a number of rows: a clear case, a close call, the most
    confident mistake, then others.
    """
    probability, labels = rows.probability, np.asarray(rows.labels)
    if isinstance(rows_to_explain, int):
        chosen = _rows_worth_explaining(probability, labels, rows_to_explain)
    else:
        chosen = [(f"Row {row:,}", row) for row in rows_to_explain.tolist()]
    if not chosen:
        return []
    explanation = explain_rows(model, take_rows(rows.X, np.array([row for _, row in chosen])), "score")
    assert explanation.intervals is not None
    names = explanation.names or explanation.features
    return [
        {
            "title": why,
            "row": row,
            "truth": str(model.classes_[labels[row]]),
            "predicted": str(model.classes_[probability[row].argmax()]),
            "probabilities": probability[row].tolist(),
            "intervals": explanation.intervals[at].tolist(),
            "prior": explanation.prior.tolist(),
            "contributions": [
                {
                    "feature": name,
                    "value": "missing" if value is None else value,
                    "level": level,
                    "contributions": contributions,
                }
                for name, value, level, contributions in zip(
                    names,
                    explanation.values[at],
                    explanation.levels[at],
                    explanation.contributions[at].tolist(),
                    strict=True,
                )
            ],
        }
        for at, (why, row) in enumerate(chosen)
    ]


def _rows_worth_explaining(probability: np.ndarray, codes: np.ndarray, n_explained: int) -> list[tuple[str, int]]:
    """Choose ``n_explained`` rows to explain. Return pairs of the reason in words and the position of the row.

    ``probability`` (n_rows, n_classes) are the predictions, and ``codes`` (n_rows,) the true classes.
    """
    predicted = probability.argmax(axis=1)
    sure = probability.max(axis=1)
    right, wrong = predicted == codes, predicted != codes
    chosen: list[tuple[str, int]] = []

    def choose(why: str, is_candidate: np.ndarray, score: np.ndarray) -> None:
        """Choose the row of highest ``score`` in the mask ``is_candidate``, for the reason ``why``, unless there are
        enough.
        """
        taken = {row for _, row in chosen}
        usable = [row for row in np.flatnonzero(is_candidate) if row not in taken]
        if usable and len(chosen) < n_explained:
            chosen.append((why, int(max(usable, key=lambda row: (score[row], -row)))))

    frequency = np.bincount(predicted[right], minlength=probability.shape[1])
    rarest = int(np.where(frequency > 0, frequency, frequency.max() + 1).argmin()) if right.any() else 0
    choose("A clear case, predicted correctly", right & (predicted == rarest), sure)
    ordered = np.sort(probability, axis=1)
    choose("A close call", np.ones(len(codes), dtype=bool), ordered[:, -2] - ordered[:, -1])
    choose("The most confident mistake", wrong, sure)
    while len(chosen) < min(n_explained, len(codes)):
        choose("Another row", np.ones(len(codes), dtype=bool), sure)
    return chosen


def _settings(model: SelectiveNB) -> tuple[tuple[str, str], ...]:
    """Return names and values of the options of a model as pairs of texts, for reports."""
    options = model.get_params(deep=False)
    usual = type(model)().get_params(deep=False)
    changed = {name: repr(value) for name, value in options.items() if repr(value) != repr(usual[name])}
    texts = [f"{name}={shorten(value, 200)}" for name, value in changed.items()]
    rest = [f"{name}={usual[name]!r}" for name in options if name not in changed]
    return (
        ("Selector", model.scorecard_.provenance["selector"]["name"]),
        ("Smoothing", summary.smoothing_in_words(model)),
        ("Calibration", summary.weights_in_words(model)),
        *model.scorecard_.provenance.get("coding", ()),
        ("Options set", ", ".join(texts) or "none"),
        ("Options at their defaults", ", ".join(rest)),
    )
