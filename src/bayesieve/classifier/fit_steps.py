"""Steps of `SelectiveNB.fit`: the training rows, their offsets, and the options of the fit after the search."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from copy import copy
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from bayesieve.classifier.plan import FitPlan
from bayesieve.counts import CodedTable
from bayesieve.discretize import TableEncoder
from bayesieve.discretize.rules import TableRules
from bayesieve.evidence.offset import OFFSET, intercept_for
from bayesieve.evidence.terms import FitOptions
from bayesieve.selection import CodedSelector
from bayesieve.table.frames import as_table, is_scan, split_columns
from bayesieve.table.levels import TableLevels
from bayesieve.table.scanned import ScannedTable, scanned_rows
from bayesieve.table.target import as_target, normalized_weights, positive_position, sign_of_positive
from bayesieve.words import did_you_mean

_MAX_SURFACES = 60  # the same limit as for pairs (MOST_PAIRS in discretize/pairs.py)


class TrainingRows(NamedTuple):
    """Training rows of a fit, separated from their classes, weights and groups.

    Attributes
    ----------
    table : rows as a `Table`, or as passed by the caller if the encoder reads another form.
    target, weights, groups : class, weight and group of each row; weights have mean 1 if ``normalize`` is True.
    target_name : name of the target column or series, or None.
    date_orders : for columns of dates whose texts in a scan prove the order, whether the day comes before the month.
    """

    table: Any
    target: Any
    weights: Any
    groups: Any
    target_name: str | None
    date_orders: Mapping[str, bool]


def read_rows(X: Any, y: Any, weights: Any, groups: Any, plan: FitPlan) -> TrainingRows:
    """Read the training rows; ``y``, ``weights`` and ``groups`` are arrays, or names of columns of ``X``.

    Raise ValueError if a column does not exist, or no row has the positive class.
    """
    name = y if isinstance(y, str) else getattr(y, "name", None)
    if is_scan(X, y):
        X, y, weights, groups = scanned_rows(X, y, weights, groups)
    else:
        X, y, weights, groups = split_columns(X, y, weights, groups)
    if plan.positive is not None:
        y = as_target(y)
        positive_position(y.classes, np.bincount(y.codes, minlength=y.n_classes), plan.positive)
    table = as_table(X) if isinstance(plan.encoder, TableEncoder) else X
    weights = normalized_weights(weights) if plan.normalize else weights
    name = name if isinstance(name, str) and name else None
    date_orders = table.source.date_orders if isinstance(table, ScannedTable) else {}
    return TrainingRows(table, y, weights, groups, name, date_orders)


def with_offset(coded: CodedTable, offset: Any, plan: FitPlan) -> tuple[CodedTable, np.ndarray]:
    """Add an offset as a column of the coded rows, shifted so that mean probabilities equal the class shares.

    Returns
    -------
    coded : the rows with the column of offsets.
    shift : (n_classes,) numbers that were added to the offset, in nats.

    Raises
    ------
    ValueError
        If the offset does not match the rows, or the options do not fit contributions.
    """
    plan.require_fitted("offset= needs fitted contributions")
    column = offset_of(offset, coded.n_rows, coded.n_classes)
    column = column if coded.rows.runs is None else coded.rows.runs.sort(column)
    weights = np.ones(coded.n_rows) if coded.weights is None else coded.weights
    shift = intercept_for(column, np.asarray(coded.class_codes).astype(np.int64), weights)
    return coded.with_columns(**{OFFSET: column + shift}), shift


def offset_of(offset: Any, n_rows: int, n_classes: int) -> np.ndarray:
    """Return the option ``offset`` of `SelectiveNB.fit` as an array (n_rows, n_classes), in nats. Raise ValueError
    unless it is finite and has one entry per row.
    """
    try:
        logits = np.asarray(offset, dtype=np.float64)
    except (TypeError, ValueError):
        logits = np.zeros(())
    if n_classes == 2 and logits.shape == (n_rows,):
        logits = np.stack([np.zeros(n_rows), logits], axis=1)
    if logits.shape != (n_rows, n_classes) or not np.isfinite(logits).all():
        one = f"a finite number for each of {n_rows:,} rows" if n_classes == 2 else ""
        raise ValueError(
            f"offset must hold {one or f'{n_classes} finite numbers, one a class, for each of {n_rows:,} rows'}, got "
            f"{f'an array of shape {logits.shape}' if logits.ndim else type(offset).__name__}."
        )
    return logits


def signs_of(plan: FitPlan, encoder: Any, classes: np.ndarray, positive: int | None) -> dict[int, int]:
    """Return the signs set by ``monotone`` and ``levels``, by position of the feature, with respect to the second
    class.

    Parameters
    ----------
    plan : options of the fit.
    encoder : fitted encoder.
    classes : array of shape (n_classes,)
    positive : position of the class that the signs are about, if it was named.

    Raises
    ------
    ValueError
        If a column cannot be monotone; the message names it.
    """
    n_classes, rules = len(classes), encoder.rules_
    by_rule = () if rules is None else rules.named("monotone")
    if not (plan.monotone or by_rule):
        return {}
    side = sign_of_positive(classes, positive)
    by_name = {name: side * sign for name, sign in plan.monotone.items()}
    monotone = rules.signs(encoder.levels_) if rules is not None and by_rule and n_classes == 2 else {}
    for name, sign in by_name.items():
        if monotone.get(name, sign) != sign:
            raise ValueError(
                f"monotone is {side * sign:+d} for {name!r}, but levels= gives it the opposite sign; omit one."
            )
    if monotone:
        plan.require_fitted(f"levels needs monotone contributions of the column {next(iter(monotone))!r}")
    monotone |= by_name
    if n_classes != 2:
        raise ValueError(f"monotone needs two classes, but the target has {n_classes}; omit it.")
    levels: TableLevels = encoder.levels_
    position = {name: k for k, name in enumerate(levels.names[: levels.n_columns])}
    for name in monotone:
        if name not in position:
            hint = did_you_mean(name, position) or "name its columns only."
            raise ValueError(f"monotone names the column {name!r}, which is not in the table; {hint}")
        if levels[position[name]].kind != "numeric":
            raise ValueError(f"monotone names the column {name!r}, whose categories have no order; omit it.")
    return {position[name]: int(sign) for name, sign in monotone.items()}


def search_weights(
    selector: CodedSelector, levels: TableLevels, signs: Mapping[int, int], included: Collection[int]
) -> np.ndarray:
    """Return the weights of the features by a fitted selector, shape (n_features,).

    ``signs`` holds the positions of monotone features; pairs with such a column get weight 0. Features at the positions
    ``included`` get the highest weight.
    """
    weights = check_weights(selector.weights_, len(levels)).copy()
    for k in included:
        weights[k] = weights.max() or 1.0
    if not signs:
        return weights
    with_sign = {levels.names[k] for k in signs}
    pairs = [with_sign.isdisjoint(column.name for column in pair.parts) for pair in levels.pairs]
    return weights * np.append(np.ones(levels.n_columns), pairs)


def check_weights(weights: Any, n_features: int) -> np.ndarray:
    """Return feature weights as an array of shape (n_features,). Raise ValueError unless they are finite and not
    negative.
    """
    if weights is None:
        return np.ones(n_features)
    try:
        weights = np.asarray(weights, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"feature_weights must hold one number for each of the {n_features} features, got {weights!r:.80}."
        ) from None
    if weights.shape != (n_features,):
        raise ValueError(
            f"feature_weights must hold one weight for each of the {n_features} features, got shape {weights.shape}."
        )
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        k = int(np.flatnonzero(~np.isfinite(weights) | (weights < 0))[0])
        raise ValueError(
            f"feature_weights must be finite and not negative, but the weight of feature {k} is {weights[k]}."
        )
    return weights


def fit_options(plan: FitPlan, encoder: Any, levels: TableLevels, signs: Mapping[int, int]) -> FitOptions:
    """Return the options for the fit of contributions to rows that are coded by ``levels``.

    ``encoder`` is the fitted encoder, and ``signs`` is the result of `signs_of`. Surfaces count towards the limit of
    ``pairs``. They do not use counters, identifiers, dates and columns with levels by hand.
    """
    max_surfaces = 0
    if isinstance(encoder, TableEncoder) and isinstance(encoder.pairs, (str, Integral)):
        max_surfaces = _MAX_SURFACES
        if not isinstance(encoder.pairs, str):
            max_surfaces = min(_MAX_SURFACES, int(encoder.pairs) - len(levels.pairs))
    without_surface = set(encoder.marks_)
    excluded, included, most_cells = list[int](), list[int](), dict[int, int]()
    rules: TableRules | None = encoder.rules_
    if rules is not None:
        names = levels.names
        excluded, included = (
            [k for k, name in enumerate(names) if name in rules.named(option)] for option in ("exclude", "include")
        )
        most_cells = {k: rules.most_cells[name] for k, name in enumerate(names) if name in rules.most_cells}
        without_surface |= {*rules.named("exclude"), *rules.by_hand}
    return FitOptions(
        fit=plan.granularity,
        signs=signs,
        smoothing=plan.smoothing,
        drop=plan.is_averaged,
        most_surfaces=max_surfaces,
        without_surface=without_surface,
        n_jobs=plan.n_jobs,
        excluded=excluded,
        included=included,
        most_cells=most_cells,
    )


def with_levels(encoder: Any, levels: TableLevels) -> Any:
    """Return a copy of a fitted encoder that codes by other levels."""
    other = copy(encoder)
    other.set_levels(levels, encoder.classes_)
    return other


def check_texts(coded: CodedTable, target_name: str | None) -> None:
    """Raise ValueError if a name (of a column, or ``target_name``), category or class is not valid Unicode; the message
    names the column.

    Bytes that were decoded with the wrong encoding contain lone surrogates, which cannot be stored in files or pages.
    """
    levels = () if coded.levels is None else coded.levels.created.values()  # others are numeric and hold no texts
    texts: dict[str, list[Any]] = {
        f"Column {level.name!r}": [value for group in level.groups for value in group]
        for level in levels
        if level.groups
    }
    texts |= {"The header": [*coded.names, target_name], "The target": np.asarray(coded.classes).tolist()}
    for where, values in texts.items():
        try:
            "".join(value for value in values if isinstance(value, str)).encode()
        except UnicodeEncodeError:
            broken = next(text for text in values if isinstance(text, str) and _SURROGATE.search(text))
            raise ValueError(
                f"{where} holds {broken!r}, which is not valid Unicode; decode it again, for example with "
                "errors='replace'."
            ) from None


_SURROGATE = re.compile("[\ud800-\udfff]")
