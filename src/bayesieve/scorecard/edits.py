"""Edits of a fitted model by hand: pure functions from one `Feature` to another, and the record of each edit.

Users name levels (intervals or groups of values). A level may be divided into several cells, each with a contribution;
an edit of a level then sets all its cells. Functions for edits return the new feature and two texts that describe the
edited item before and after. The new contributions are not centred here; `centred` does that after the last edit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np

from bayesieve.discretize.modl import summed
from bayesieve.evidence.monotone import monotone as risen, rising_cells
from bayesieve.evidence.problem import class_variances
from bayesieve.parts import is_number, is_sign
from bayesieve.scorecard.explanation import UNSEEN
from bayesieve.scorecard.probabilities import logit_variances
from bayesieve.scorecard.record import Feature, Scorecard, centred
from bayesieve.table import FeatureLevels
from bayesieve.table.labels import cut_texts
from bayesieve.table.pair_levels import PairLevels
from bayesieve.table.text_types import number_of
from bayesieve.table.values import HIGHEST_SPECIAL, canonical_text, number_type
from bayesieve.words import named

_NOTHING = 1e-12  # nats
_MAX_NATS = 1000.0  # probabilities are 0 or 1 long before


@dataclass(frozen=True)
class Edit:
    """Record of one edit of a model by hand.

    Parameters
    ----------
    what : kind of edit: "cut", "merge", "set", "flatten", "monotone", "rename", "drop", "refit" or "prior".
    feature : name of the feature; None for an edit of the whole model.
    who, when, why : author of the edit, its time (UTC, ISO 8601), and the reason given.
    before, after : short descriptions of the edited item before and after the edit.
    auc_before, auc_after, log_loss_before, log_loss_after : AUC and log loss (nats per row) on the rows of the editor,
        before and after this edit; None without rows.
    """

    what: str
    feature: str | None
    who: str
    when: str
    why: str
    before: str
    after: str
    auc_before: float | None = None
    auc_after: float | None = None
    log_loss_before: float | None = None
    log_loss_after: float | None = None


def find_level(feature: Feature, which: Any) -> tuple[int | None, np.ndarray]:
    """Return the position of a level, and the codes of its cells, shape (n_cells_of_level,).

    ``which`` is a label, a value or a position. If it is the label of a cell but of no level, return None and the code
    of the cell as an array (1,). Raise ValueError if nothing matches, or several levels do.
    """
    levels, name = feature.levels, feature.name
    if which is None and levels.missing_code is not None:
        which = levels.missing_code
    if isinstance(which, Integral) and not isinstance(which, (bool, np.bool_)):
        if not 0 <= int(which) < levels.n_levels:
            raise ValueError(f"Feature {name!r} has no level {which}; its levels are 0 to {levels.n_levels - 1}.")
        return int(which), np.flatnonzero(feature.level_of_cell == int(which))
    which = which if isinstance(which, str) else canonical_text(which)
    for part in (levels, feature.cells):
        for labels in (part.labels, part.all_labels):
            codes = [code for code, label in enumerate(labels) if label == which]
            if len(codes) > 1:
                raise ValueError(f"Several levels of {name!r} have the label {which!r}; give the position of one.")
            if codes and part is levels:
                return codes[0], np.flatnonzero(feature.level_of_cell == codes[0])
            if codes:
                return None, np.array(codes)
    raise ValueError(f"Feature {name!r} has no level {which!r}; its levels are {named(levels.labels)}.")


def merged(feature: Feature, which: Sequence[Any]) -> tuple[Feature, str, str]:
    """Merge several levels of a feature, or several cells of one level. Return the new feature, and texts for before
    and after.

    ``which`` lists labels or positions. The merged levels get their mean contribution over the training rows.
    """
    if isinstance(which, str) or not isinstance(which, Sequence):
        raise ValueError(f"merge needs a list of labels or positions of levels, got {which!r:.80}.")
    places = [find_level(feature, one) for one in which]
    codes = sorted({level for level, _ in places if level is not None})
    cells = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(cells_of_level for _, cells_of_level in places)]))
    by_level = bool(places) and all(level is not None for level, _ in places)
    if len(codes if by_level else cells) < 2:
        raise ValueError(f"merge needs at least two levels of {feature.name!r}, got {list(which)!r:.80}.")
    if not by_level and np.unique(feature.level_of_cell[cells]).size > 1:
        raise ValueError(f"These cells of {feature.name!r} belong to different levels; merge the levels instead.")
    levels = joined(feature.levels, np.array(codes))[0] if by_level else feature.levels
    joined_cells, new_codes = joined(feature.cells, cells)
    result = _with_levels(_averaged(feature, new_codes), levels, joined_cells, same=not feature.is_split)
    cells_of_level = result.levels if by_level else result.cells
    part = feature.levels if by_level else feature.cells
    texts = [part.labels[code] for code in (codes if by_level else cells.tolist())]
    after = new_codes[cells[0]] if not by_level else result.level_of_cell[new_codes[cells[0]]]
    return result, " | ".join(texts), cells_of_level.labels[after]


def joined(level: FeatureLevels, codes: np.ndarray) -> tuple[FeatureLevels, np.ndarray]:
    """Return levels in which those at the ascending positions ``codes`` are one level, and the new code of each old
    level, shape (n_levels,).

    Raise ValueError for special values, and for numeric levels that are not neighbours.
    """
    new_codes, missing = np.arange(level.n_levels), level.missing_code
    if np.isin(codes, np.arange(level.n_special_levels - len(level.special), level.n_special_levels)).any():
        raise ValueError(f"Special values of {level.name!r} cannot be merged; set their contributions instead.")
    if level.cut_points is None:
        new_codes[codes] = codes[0]
        new_codes = np.unique(new_codes, return_inverse=True)[1]
    else:
        alone = level.has_level_below_numbers and codes[0] == 0
        inside, is_kept = codes[int(alone) :], np.ones(level.cut_points.size, dtype=bool)
        if (np.diff(inside) != 1).any():
            raise ValueError(f"Only neighbouring levels of the numeric feature {level.name!r} can be merged.")
        is_kept[inside[:-1]] = False
        is_kept[:1] &= not alone
        new_codes = np.append(0, np.cumsum(is_kept))
        new_codes[0] = new_codes[inside[0]] if alone else 0
    if isinstance(level, PairLevels):
        grid = np.append(new_codes, new_codes.max() + 1)[level.grid]
        levels: FeatureLevels = PairLevels.of(level.parts, grid, level.cells, level.level_score, level.name)
        return _with_texts_of(levels, level), new_codes
    parts: dict[str, Any] = {"counts": None if level.counts is None else summed(np.asarray(level.counts), new_codes)}
    if level.groups is not None:
        parts["groups"] = [[] for _ in range(int(new_codes.max()) + 1)]
        for code, group in zip(new_codes.tolist(), level.groups, strict=True):
            parts["groups"][code] += group
    elif level.cut_points is not None:
        parts["cut_points"] = level.cut_points[is_kept]
    levels = replace(level, missing_code=None if missing is None else int(new_codes[missing]), renamed=(), **parts)
    return _with_texts_of(levels, level), new_codes


def _with_texts_of(changed: FeatureLevels, level: FeatureLevels) -> FeatureLevels:
    """Return ``changed`` with the texts that a user gave to levels in ``level``. Texts of levels whose content
    (interval or group of values) has changed are dropped.
    """
    if not level.renamed:
        return changed
    texts = dict(zip(_contents(level), level.renamed, strict=True))
    return replace(changed, renamed=tuple(texts.get(content) for content in _contents(changed)))


def _contents(level: FeatureLevels) -> list[Any]:
    """Return a value for each level that identifies its content: the bounds of its interval, its group of values, or a
    mask of the grid of a pair. It serves to recognise unchanged levels after an edit.
    """
    if isinstance(level, PairLevels):
        return [(level.grid == code).tobytes() for code in range(level.n_levels)]
    if level.cut_points is not None:
        return [*pairwise([-math.inf, *level.cut_points.tolist(), math.inf])]
    return [*(level.groups or ())]


def _averaged(feature: Feature, group_of_cell: np.ndarray) -> Feature:
    """Return the feature with the cells of each group replaced by one that has their mean contribution, weighted by
    rows.

    ``group_of_cell`` (n_cells,) is the group of each cell. Error components that cells share with other features are
    averaged before they are squared. The attributes ``levels`` and ``cells`` stay unchanged; the caller replaces them.
    """
    row_counts, size = feature.counts.sum(axis=1), np.bincount(group_of_cell)
    total = np.bincount(group_of_cell, row_counts)[group_of_cell]
    share = np.where(total > 0, row_counts, 1.0) / np.where(total > 0, total, size[group_of_cell])
    variances = logit_variances(feature.standard_errors**2)
    single = np.maximum(variances - (feature.factors**2).sum(axis=2), 0.0)
    factors = summed(share[:, None, None] * feature.factors, group_of_cell)
    variances = summed(share[:, None] ** 2 * single, group_of_cell) + (factors**2).sum(axis=2)
    errors = np.sqrt(class_variances(variances, feature.counts.shape[1]))
    alone = size[group_of_cell] == 1
    errors[group_of_cell[alone]] = feature.standard_errors[alone]
    contributions, counts = (
        summed(share[:, None] * feature.contributions, group_of_cell),
        summed(feature.counts, group_of_cell),
    )
    return replace(feature, contributions=contributions, counts=counts, standard_errors=errors, factors=factors)


def _with_levels(feature: Feature, levels: FeatureLevels, cells: FeatureLevels, *, same: bool) -> Feature:
    """Return the feature with other levels and cells. If ``same`` is True, or both divide the column alike, the levels
    are also used as cells.
    """
    same = same or (cells.n_levels == levels.n_levels and cells.missing_code == levels.missing_code)
    return replace(feature, levels=levels, cells=levels if same else replace(cells, counts=feature.counts))


def cut(feature: Feature, old: Any, new: Any) -> tuple[Feature, str, str]:
    """Move a cut point from ``old`` to ``new``; add one if ``old`` is None, remove one if ``new`` is None. Return the
    new feature, and the cut points before and after as texts.

    If a cut moves, the growing cell keeps its contribution. The rows of a divided cell are split in proportion to the
    widths, because the model has no rows to count.
    """
    _demand_numbers(feature, "cut")
    if feature.levels.column != feature.name:
        raise ValueError(
            f"The cut of the indicator {feature.name!r} cannot change, because it is part of the name; fit a model "
            "with other thresholds."
        )
    if old is None and new is None:
        raise ValueError(f"cut needs the old cut point of {feature.name!r}, the new one, or both.")
    at = None if old is None else _existing_cut(feature, old)
    if new is None:
        between_levels = at in feature.levels.number_cuts
        divided = feature.levels if between_levels else feature.cells
        code = int(np.searchsorted(divided.cut_points, at))  # type: ignore[arg-type]
        both = [code, code + 1] if between_levels else [*divided.labels[code : code + 2]]
        return merged(feature, both)[0], _cut_text(feature, at), ""
    to, cuts = _number_in(feature.levels, new), feature.levels.number_cuts
    if at is None and to in cuts:
        raise ValueError(f"Feature {feature.name!r} already has the cut point {new}; choose another value.")
    if at is not None and (to in (at, *cuts) or np.ptp(np.searchsorted(cuts[cuts != at], [at, to]))):
        raise ValueError(f"The cut point {old} of {feature.name!r} can only move between its neighbours, not to {new}.")
    split = _split(feature, to)
    result = _with_cut(split if at is None else _moved(split, at, to), feature, at, to)
    return result, _cut_text(feature, at), _cut_text(result, to)


def _cut_text(feature: Feature, at: float | None) -> str:
    """Return the cut point ``at`` as labels show it; an empty text for None."""
    cuts = feature.cells.number_cuts
    return "" if at is None else cut_texts(cuts, feature.levels.type)[int(np.searchsorted(cuts, at))]


def _existing_cut(feature: Feature, old: Any) -> float:
    """Return the cut point of a feature that equals the user's value ``old``, or is printed like it. Raise ValueError
    if there is none.
    """
    value, parts = _number_in(feature.levels, old), (feature.levels, feature.cells)
    if any(value in part.number_cuts for part in parts):
        return value
    for part in parts:
        read = [_number_in(feature.levels, text) for text in cut_texts(part.number_cuts, part.type)]
        if read.count(value) == 1:
            return float(part.number_cuts[read.index(value)])
    cuts = named(cut_texts(feature.levels.number_cuts, feature.levels.type))
    raise ValueError(f"Feature {feature.name!r} has no cut point {old}; its cut points are {cuts or 'none'}.")


def _number_in(level: FeatureLevels, value: Any) -> float:
    """Convert a value of a numeric feature, such as a date, to the number that is compared with its cut points."""
    number = number_of(value, level.type, level.day_first)
    if not math.isfinite(number):
        raise ValueError(f"A cut of {level.name!r} must be a finite {number_type(level.type)}, got {value!r:.80}.")
    return number


def _split(feature: Feature, at: float) -> Feature:
    """Return the feature with the cell that contains the number ``at`` divided there into two cells with its
    contribution; levels stay unchanged.
    """
    cells, old = feature.cells, feature.cells.cut_points
    assert old is not None
    if at in old:
        return feature
    code = int(np.searchsorted(old, at))
    cuts, missing = np.insert(old, code, at), cells.missing_code
    low, high = ([-math.inf, *cuts.tolist(), math.inf][k] for k in (code, code + 2))
    below = (at - low) / (high - low) if low > HIGHEST_SPECIAL and high < math.inf else 0.5
    line = np.insert(np.arange(cells.n_levels), code, code)
    counts = feature.counts[line].astype(float)
    counts[code : code + 2] *= [[below], [1.0 - below]]
    missing = None if missing is None else missing + (missing > code)
    split_cells = replace(cells, cut_points=cuts, counts=counts, missing_code=missing, renamed=())
    return _with_cells(feature, line, _with_texts_of(split_cells, cells), counts)


def _with_cells(feature: Feature, source_cell: np.ndarray, cells: FeatureLevels, counts: np.ndarray) -> Feature:
    """Return the feature with other ``cells`` and their ``counts``, shape (n_cells, n_classes). New cell i gets the
    contributions and errors of old cell ``source_cell[i]``.
    """
    arrays = {name: getattr(feature, name)[source_cell] for name in ("contributions", "standard_errors", "factors")}
    return replace(feature, cells=cells, counts=counts, **arrays)


def _moved(feature: Feature, at: float, to: float) -> Feature:
    """Return the feature with the cut point ``at`` of its cells moved to ``to``; the growing cell keeps its
    contribution.
    """
    cells, up = feature.cells, to > at
    assert cells.cut_points is not None
    first, last = np.searchsorted(cells.cut_points, sorted([at, to])).tolist()
    absorbed = np.arange(first + 1, last + 1)  # cells between both cut points, which the growing cell absorbs
    source, neighbour = (first, last + 1) if up else (last + 1, first)
    if cells.missing_code in absorbed:  # missing values stay with the cell that shrinks
        cells = replace(cells, missing_code=neighbour)
    codes = np.append(source, absorbed) if up else np.append(absorbed, source)
    joined_cells, line = joined(cells, codes)
    old_cells = np.delete(np.arange(line.size), absorbed)
    return _with_cells(feature, old_cells, joined_cells, summed(feature.counts, line))


def _with_cut(feature: Feature, before: Feature, at: float | None, to: float) -> Feature:
    """Return the feature with the cut point ``to`` among those of its levels, in place of the cut point ``at`` (None to
    add it).

    ``before`` is the feature before the edit; the cells of ``feature`` are already cut. Levels keep their cut points if
    ``at`` divides only cells.
    """
    level, cells = before.levels, feature.cells
    cuts, missing = level.cut_points, level.missing_code
    assert cuts is not None
    if at is None or at in cuts:
        cuts = np.unique(np.append(cuts[cuts != at], to))
        missing = None if missing is None else missing + int(at is None and missing > np.searchsorted(cuts, to))
    cut_levels = replace(level, cut_points=cuts, missing_code=missing, counts=None, renamed=())
    feature = replace(feature, levels=cut_levels)
    if missing is not None and not cells.has_level_below_numbers:  # the new cut may change the level of missing values
        missing = int(feature.level_of_cell[cells.missing_code])
    cut_levels = replace(cut_levels, counts=summed(feature.counts, feature.level_of_cell), missing_code=missing)
    return _with_levels(feature, _with_texts_of(cut_levels, level), cells, same=not before.is_split)


def with_values(feature: Feature, card: Scorecard, values: Mapping[Any, Any]) -> tuple[Feature, str, str]:
    """Set contributions by hand. Return the new feature, and the contributions before and after as texts.

    ``values`` maps labels or positions of levels to contributions in nats: a number for the positive class, or a dict
    by class. Their standard errors become 0.
    """
    if not isinstance(values, Mapping) or not values:
        raise ValueError(f"set needs a dict from levels of {feature.name!r} to contributions, got {values!r:.80}.")
    table, errors, factors = feature.table.copy(), feature.standard_errors.copy(), feature.factors.copy()
    row_counts, done = np.append(feature.counts.sum(axis=1), 1.0), np.zeros(len(table), dtype=bool)
    before, after = [], []

    def text(label: str, cells: np.ndarray) -> str:
        """Return ``label`` with the mean contribution of the cells at the positions ``cells`` as text."""
        weights = row_counts[cells] if row_counts[cells].any() else None
        return f"{label}: {_nats_text(np.average(table[cells], axis=0, weights=weights), card)}"

    for which, value in values.items():
        level, cells = (None, np.array([len(errors)])) if which == UNSEEN else find_level(feature, which)
        label = feature.levels.labels[level] if level is not None else [*feature.labels, UNSEEN][cells[0]]
        if done[cells].any():
            raise ValueError(f"set names the level {label!r} of {feature.name!r} twice; remove one of the two.")
        before.append(text(label, cells))
        table[cells] = _nats(value, card, table[cells], feature.name)
        after.append(text(label, cells))
        done[cells] = True
        cells = cells[cells < len(errors)]  # unseen values have no errors of their own
        errors[cells], factors[cells] = 0.0, 0.0
    edited = replace(feature, contributions=table[:-1], unseen=table[-1], standard_errors=errors, factors=factors)
    return edited, "; ".join(before), "; ".join(after)


def _nats(value: Any, card: Scorecard, old: np.ndarray, name: str) -> np.ndarray:
    """Return the contributions of some cells in nats, shape (n_cells, n_classes), from a value that a user set. They
    add up to 0 over the classes.

    ``value`` is the contribution to the positive class, or a dict of contributions by class. ``old`` holds the
    contributions before the edit, shape (n_cells, n_classes); those to classes without a value are shifted equally.
    ``name`` is the name of the feature for messages.
    """
    labels = card.classes.tolist()
    if not isinstance(value, Mapping):
        if len(labels) > 2:
            raise ValueError(
                f"The target has {len(labels)} classes; give the contributions of {name!r} as {{class: nats}}."
            )
        value = {labels[card.positive or 0]: value}
    unknown = [label for label in value if label not in labels]
    if unknown or not value:
        raise ValueError(
            f"Contributions of {name!r} must be a dict from classes ({named(labels)}) to nats, got {value!r:.80}."
        )
    for nats in value.values():
        if not (is_number(nats) and abs(float(nats)) <= _MAX_NATS):
            raise ValueError(f"A contribution of {name!r} must be between -1000 and 1000 nats, got {nats!r:.80}.")
    table = np.array(old, dtype=float)
    has_value = np.isin(np.arange(len(labels)), [labels.index(label) for label in value])
    table[:, has_value] = [float(value[label]) for label, is_named in zip(labels, has_value, strict=True) if is_named]
    if has_value.all():
        return table - table.mean(axis=1, keepdims=True)
    table[:, ~has_value] -= (table.sum(axis=1) / np.count_nonzero(~has_value))[:, None]
    return table


def _nats_text(nats: np.ndarray, card: Scorecard) -> str:
    """Return contributions (n_classes,) in nats as text: of the positive class for two classes, otherwise of each
    class.
    """
    if nats.size == 2:
        return f"{nats[card.positive or 0]:+.4g}"
    return ", ".join(
        f"{label} {amount:+.4g}" for label, amount in zip(card.classes.tolist(), nats.tolist(), strict=True)
    )


def without(feature: Feature, total: float) -> tuple[Feature, str, str]:
    """Drop a feature: set the contributions of all its cells to their mean over ``total`` training rows. Return the new
    feature, and its importance before and after as texts.
    """
    _, mean = centred(feature, total)
    mean = np.where(np.abs(mean) < _NOTHING, 0.0, mean)  # rounding errors of a centred feature
    table, nothing = np.tile(mean, (len(feature.contributions), 1)), np.zeros_like(feature.standard_errors)
    flat = replace(feature, contributions=table, unseen=mean, standard_errors=nothing, weight=0.0)
    return replace(flat, factors=feature.factors[..., :0]), f"importance {100 * feature.importance:.2f} %", "0"


def rising(feature: Feature, sign: int, side: int) -> tuple[Feature, str, str]:
    """Make a feature monotone: replace its contributions by the nearest monotone ones (least squares weighted by
    training rows). Return the new feature, and the number of violations before and after as texts.

    Contributions to the positive class never fall (``sign`` 1) or never rise (-1). ``side`` is `Scorecard.side`.
    """
    _demand_numbers(feature, "monotone")
    if not is_sign(sign):
        raise ValueError(f"monotone must be +1 or -1 for {feature.name!r}, got {sign!r:.80}.")
    if feature.contributions.shape[1] != 2:
        raise ValueError("monotone needs a model of two classes; for more classes, set the contributions by hand.")
    line = rising_cells(feature.cells, sign_of_second := side * int(sign))
    old, row_counts = np.diff(feature.contributions, axis=1)[line, 0], feature.counts.sum(axis=1)
    edited = replace(feature, contributions=risen(feature.contributions, line, row_counts), sign=sign_of_second)
    return edited, f"{np.count_nonzero(np.diff(old) < 0)} of {old.size - 1} steps against {int(sign):+d}", "none"


def keeps_sign(feature: Feature) -> bool:
    """Return whether the contributions of a feature of a two-class model are monotone as its ``sign`` demands."""
    contrast = np.diff(feature.contributions, axis=1)[rising_cells(feature.cells, feature.sign), 0]
    return bool((np.diff(contrast) >= -1e-9).all())


def renamed(feature: Feature, texts: Mapping[Any, str | None]) -> tuple[Feature, str, str]:
    """Give new texts to levels or cells. Return the new feature, and the texts before and after.

    ``texts`` maps labels or positions to texts; None restores the original label.
    """
    if not isinstance(texts, Mapping) or not texts:
        raise ValueError(f"rename needs a dict from levels of {feature.name!r} to texts, got {texts!r:.80}.")
    of_levels, of_cells = ([*(part.renamed or (None,) * part.n_levels)] for part in (feature.levels, feature.cells))
    before = []
    for which, text in texts.items():
        if text is not None and (not isinstance(text, str) or text == UNSEEN or not text.isprintable()):
            raise ValueError(f"A label of {feature.name!r} must be printable text, got {text!r:.80}.")
        level, cells = find_level(feature, which)
        before.append(feature.cells.labels[cells[0]] if level is None else feature.levels.labels[level])
        if level is not None:
            of_levels[level] = text
        if level is None or cells.size == 1:
            of_cells[cells[0]] = text
    levels = replace(feature.levels, renamed=tuple(of_levels))
    cells_ = replace(feature.cells, renamed=tuple(of_cells)) if feature.is_split else levels
    after = [text if text is not None else "(its label)" for text in texts.values()]
    return replace(feature, levels=levels, cells=cells_), " | ".join(before), " | ".join(after)


def _demand_numbers(feature: Feature, what: str) -> None:
    """Raise ValueError unless the feature is numeric; ``what`` is the edit that the message names."""
    if feature.levels.cut_points is None:
        kind = "a pair" if feature.kind == "pair" else "made of groups of values"
        raise ValueError(f"{what} needs a numeric column, but {feature.name!r} is {kind}; merge or set its levels.")
