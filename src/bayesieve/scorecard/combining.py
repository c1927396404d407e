"""Arithmetic of merging scorecards that have the same levels, and of updating a scorecard with further rows.

Levels are intervals or groups of values. Cells are levels or pieces of levels, and have one contribution for each
class. Counted contributions follow from counts and weights; fitted ones were estimated jointly and are averaged over
models. Unseen values have no cell. A contribution has error factors, standard normal variables that the errors of
several features share, and an error of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np
from scipy.sparse import block_diag, csr_array, diags_array, hstack
from scipy.special import expit, softmax

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.counts.contingency import Shrinkage, log_probabilities_of_tables
from bayesieve.engine.base import one_blas_thread
from bayesieve.evidence.monotone import monotone, rising_cells
from bayesieve.evidence.neutral import filled, mean_line, neutral_cells, start_of_curve
from bayesieve.evidence.problem import N_FACTORS, n_logits_of
from bayesieve.evidence.shapes import cosines_over
from bayesieve.evidence.terms import coarser_codes
from bayesieve.scorecard.probabilities import intercept_variances, logit_variances
from bayesieve.scorecard.record import Feature, Scorecard, scorecard_of
from bayesieve.scorecard.withheld import with_known_values
from bayesieve.table import FeatureLevels
from bayesieve.table.pair_levels import PairLevels, unused_pair_name
from bayesieve.table.values import canonical_text
from bayesieve.words import named, utc_now

_SHARPER = 0.15
"""Compensation for shrinkage. The prior of fitted contributions shrinks them more the fewer rows a model has. The
average of several models is therefore multiplied by 1 + _SHARPER * p, where p is the probability that two random rows
come from different models (benchmarks/results/merge.md)."""

_VARIANCES_TIMES = 4.0
"""Factor on prior variances. Standard errors ignore that levels, cells and features were chosen on the same rows."""
_N_WAVES, _ALONE = 12, 0.1  # cosines in the error of a curve; share of its variance that is independent between cells


@dataclass(frozen=True)
class Note:
    """Record of one batch of training rows: number of rows, and time of the fit or update."""

    rows: int
    when: str

    @classmethod
    def now(cls, n_rows: int) -> Note:
        """Return a record of ``n_rows`` training rows with the current time."""
        return cls(int(n_rows), utc_now())


@dataclass(frozen=True, eq=False)
class _FeaturePart:
    """One feature in one of the models that are merged.

    Attributes
    ----------
    model : position of the model
    share : share of the model among all rows, multiplied by a number of at least 1 that compensates for shrinkage (see
        `_SHARPER`)
    smoothing : smoothing of the probabilities that the model counted
    feature : the feature in this model
    source_cell : (n_cells of the merged feature,) cell of this model that contains each merged cell, or the number of
        cells of this model if there is no such cell
    counts : (n_levels, n_classes) training rows of all models by level and class; levels are equal in all models
    """

    model: int
    share: float
    smoothing: Smoothing
    feature: Feature
    source_cell: np.ndarray
    counts: np.ndarray

    def to_merged_cells(self, of_cells: np.ndarray) -> np.ndarray:
        """Rearrange ``of_cells``, an array over the cells of this model, shape (n_cells, ...), to the cells of the
        merged feature, shape (n_merged_cells, ...).

        Merged cells that this model lacks get 0.
        """
        return np.concatenate([of_cells, np.zeros((1, *of_cells.shape[1:]))])[self.source_cell]

    @property
    def table(self) -> np.ndarray:
        """Contributions of the cells minus the contribution of unseen values, shape (n_cells, n_classes) in nats.
        Counted contributions are recomputed from the counts of all models.
        """
        feature = self.feature
        return feature.contributions - feature.unseen + _recounted(feature, self.counts, self.smoothing)


def merged(cards: Sequence[Scorecard]) -> Scorecard:
    """Return one scorecard from several with equal classes and levels, as documented in `bayesieve.merge`."""
    cards = with_known_values(cards)
    n = sum(feature.kind != "pair" for feature in cards[0].features)
    _check_alike(cards)
    sizes = np.array([card.class_counts.sum() for card in cards])
    shares = sizes / sizes.sum()
    counted = all(card.provenance["evidence"] == "counted" for card in cards)
    times = 1.0 if counted else 1.0 + _SHARPER * (1.0 - float(shares @ shares))
    groups = [[(m, card.features[k]) for m, card in enumerate(cards)] for k in range(n)]
    columns: dict[str, FeatureLevels] = {}
    features: list[tuple[Feature, list[_FeaturePart]]] = []
    for group in groups:
        levels = _summed([feature.levels for _, feature in group])
        columns[levels.name] = levels
        cells = _refined([feature.cells for _, feature in group], levels)
        parts = [_feature_part(cards, times * shares, m, f, levels, cells) for m, f in group]
        features.append(_merged_feature(parts, levels, cells))
    names = set(columns)
    for group in _same_pairs(cards, n):
        levels = _merged_pair([feature.levels for _, feature in group], columns, names)
        names.add(levels.name)
        parts = [_feature_part(cards, times * shares, m, f, levels, levels) for m, f in group]
        features.append(_merged_feature(parts, levels, levels))
    tables, intercept_factors = _shared_errors(features, cards, times * shares)
    prior = shares @ [card.class_shares for card in cards]
    with np.errstate(divide="ignore", invalid="ignore"):
        offsets = [_unseen_row(card) - np.log(card.class_shares) for card in cards]
        intercept = np.log(prior) + times * shares @ np.nan_to_num(offsets, posinf=0.0, neginf=0.0)
    facts = {
        "classes": cards[0].classes,
        "columns": cards[0].columns,
        "class_counts": np.sum([card.class_counts for card in cards], axis=0),
        "intercept_factors": intercept_factors,
        "omitted_variances": shares @ [card.omitted_variances for card in cards],
        "provenance": _provenance(cards, prior, shares, features),
    }
    whole = [replace(feature, factors=group) for (feature, _), group in zip(features, tables, strict=True)]
    return scorecard_of(whole, intercept, **facts)


def _check_alike(cards: Sequence[Scorecard]) -> None:
    """Raise ValueError unless all scorecards have equal classes, columns and levels. The message names the first
    difference.
    """
    first = cards[0]
    for m, card in enumerate(cards[1:], 2):
        classes, other = card.classes.tolist(), first.classes.tolist()
        if classes != other:
            raise ValueError(
                f"Model {m} has the classes {named(classes)}, the first model {named(other)}; fit all models on the "
                "same classes."
            )
        lacking = sorted({*card.columns} ^ {*first.columns})
        if lacking:
            raise ValueError(
                f"Model {m} and the first model differ in the columns {named(lacking)}; fit all on the same columns."
            )
        levels = [[f.levels for f in both.features if f.kind != "pair"] for both in (first, card)]
        for one, same in zip_longest(*levels):
            if one is None or same is None or _facts(one) != _facts(same):
                name = (one or same).name
                raise ValueError(
                    f"Model {m} divides {name!r} into other levels than the first model; fit the others with "
                    "SelectiveNB(levels=first.scorecard_)."
                )


def _facts(levels: Any) -> dict[str, Any]:
    """Return the attributes of the levels of a column that must be equal in two models to be merged, as a dict by name.
    Counts and texts may differ.
    """
    content = levels.to_json()
    return {
        name: content[name]
        for name in content
        if name not in ("counts", "cells", "level_score", "renamed", "day_first")
    }


def _summed(levels: Sequence[FeatureLevels]) -> FeatureLevels:
    """Return the levels of one column with the counts of several models added up. ``levels`` holds the levels of each
    model, which differ only in their counts.
    """
    counts = np.sum([np.asarray(level.counts) for level in levels], axis=0)
    level_score = float(np.mean([level.level_score for level in levels]))
    orders = {level.day_first for level in levels} - {None}
    day_first = orders.pop() if len(orders) == 1 else None  # unknown if the models differ
    return replace(levels[0], counts=counts, level_score=level_score, day_first=day_first)


def _refined(cells: Sequence[FeatureLevels], levels: FeatureLevels) -> FeatureLevels:
    """Return the coarsest cells of a feature that contain all cut points and groups of the cells of several models.

    ``cells`` are the cells of the feature in each model. All divide the same ``levels``, which are returned if no model
    divides a level into several cells.
    """
    if all(one.n_levels == levels.n_levels for one in cells):
        return levels
    if levels.cut_points is not None:
        missing = None if levels.missing_code is None else 0
        lowest = np.full(
            int(missing is not None), -np.inf
        )  # a cell for missing values, which models may have merged with different intervals
        cuts = np.unique(np.concatenate([lowest, *(one.cut_points for one in cells)]))
        return replace(levels, cut_points=cuts, missing_code=missing, counts=None, level_score=0.0, renamed=())
    groups: dict[tuple[int | None, ...], list[Any]] = {}
    for value in (value for group in levels.groups or () for value in group):
        text = None if value is None else canonical_text(value)
        at = tuple(one.missing_code if text is None else one.code_of_text[text] for one in cells)
        groups.setdefault(at, []).append(value)
    parts = tuple(map(tuple, groups.values()))
    missing = next((code for code, group in enumerate(parts) if None in group), None)
    return replace(levels, groups=parts, missing_code=missing, counts=None, level_score=0.0, renamed=())


def _feature_part(
    cards: Sequence[Scorecard],
    shares: np.ndarray,
    m: int,
    feature: Feature,
    levels: FeatureLevels,
    cells: FeatureLevels,
) -> _FeaturePart:
    """Return a feature of model ``m`` prepared for merging.

    Parameters
    ----------
    cards : all scorecards.
    shares : (n_models,) weights of the models.
    m : position of the model.
    feature : the feature in this model.
    levels, cells : levels, with the counts of all models, and cells of the merged feature.
    """
    n = feature.cells.n_levels
    source_cell = np.arange(n) if cells.n_levels == n else coarser_codes(cells, feature.cells)
    return _FeaturePart(
        m, float(shares[m]), cards[m].provenance["smoothing"], feature, source_cell, np.asarray(levels.counts)
    )


def _same_pairs(cards: Sequence[Scorecard], n: int) -> Iterable[list[tuple[int, Feature]]]:
    """Group the pairs of columns in ``cards``. Pairs of different models match if they differ only in their counts.

    Return a list for each pair, with the position of the model and the feature for each model that has it. In each
    model, pairs follow the ``n`` features of single columns.
    """
    groups: dict[str, list[tuple[int, Feature]]] = {}
    for m, card in enumerate(cards):
        for feature in card.features[n:]:
            pair: Any = feature.levels
            facts = repr((pair.name, pair.grid.tolist(), [*map(_facts, pair.parts)]))
            groups.setdefault(facts, []).append((m, feature))
    return groups.values()


def _merged_pair(pairs: Sequence[Any], columns: Mapping[str, FeatureLevels], names: Collection[str]) -> PairLevels:
    """Return the levels of a pair of columns with the counts of all models added up.

    ``pairs`` are the levels of the pair in each model. ``columns`` holds the merged levels by column; the result refers
    to these objects if the pair divides its columns alike. ``names`` are the feature names already in use; the name of
    the pair is changed if it is among them.
    """
    parts = [columns.get(part.name, part) for part in pairs[0].parts]
    parts = [
        level if _facts(level) == _facts(part) else replace(part, day_first=level.day_first)
        for level, part in zip(parts, pairs[0].parts, strict=True)
    ]
    name = pairs[0].name if pairs[0].name not in names else unused_pair_name(parts[0].name, parts[1].name, names)
    cells = np.sum([pair.cells for pair in pairs], axis=0)
    return replace(pairs[0], name=name, parts=tuple(parts), cells=cells)


def _merged_feature(
    parts: list[_FeaturePart], levels: FeatureLevels, cells: FeatureLevels
) -> tuple[Feature, list[_FeaturePart]]:
    """Return a tuple of the merged feature, whose contributions are the mean over models weighted by rows, and
    ``parts``.

    ``parts`` holds the feature in each model; ``levels`` and ``cells`` are those of the merged feature. The rows of a
    cell that is divided are split equally among its pieces.
    """
    table, variances, counts = np.zeros((3, cells.n_levels, parts[0].counts.shape[1]))
    for part in parts:
        feature = part.feature
        table += part.share * part.to_merged_cells(part.table)
        variances += part.to_merged_cells(part.share * feature.standard_errors) ** 2
        times = np.bincount(part.source_cell, minlength=len(feature.counts) + 1)[: len(feature.counts)]
        counts += part.to_merged_cells(feature.counts / np.maximum(times, 1)[:, None])
    if levels.kind == "pair":
        counts = np.asarray(levels.counts)
    if cells is not levels:
        cells = replace(cells, counts=counts)
    signs = {part.feature.sign for part in parts}
    sign = signs.pop() if len(signs) == 1 else 0
    if sign:
        table = monotone(table, rising_cells(cells, sign), counts.sum(axis=1))
    weight, searched = (sum(p.share * getattr(p.feature, name) for p in parts) for name in ("weight", "search_weight"))
    n_cells, n_classes = table.shape
    mean = Feature(
        levels=levels,
        cells=cells,
        contributions=table,
        unseen=np.zeros(n_classes),
        counts=counts,
        standard_errors=np.sqrt(variances),
        factors=np.zeros((n_cells, n_logits_of(n_classes), 0)),
        weight=min(1.0, weight),
        search_weight=min(1.0, searched),
        sign=sign,
    )
    if not any(part.feature.unseen.any() for part in parts):
        contributions = np.sum(
            [part.share * part.to_merged_cells(part.feature.contributions) for part in parts], axis=0
        )
        mean = with_mean_for_unseen(
            mean, contributions, shrinks=all(isinstance(part.smoothing, Shrinkage) for part in parts)
        )
    return mean, parts


def with_mean_for_unseen(feature: Feature, additions: np.ndarray, *, shrinks: bool) -> Feature:
    """Return a feature in which the contribution of unseen values is the mean contribution over the training rows.

    The contributions of ``feature`` need not be centred. If ``shrinks`` is True (the fit shrinks counts to the mean),
    levels without training rows contribute this mean plus ``additions``, shape (n_cells, n_classes) in nats; otherwise
    ``additions`` are not used.
    """
    table, row_counts = feature.contributions, feature.counts.sum(axis=1)
    mean = mean_line(table, row_counts)
    if shrinks:
        empty = np.asarray(feature.levels.counts).sum(axis=1)[feature.level_of_cell] == 0
        neutral = neutral_cells(empty, start_of_curve(feature.levels, feature.cells))
        table = np.where(neutral[:, None], mean + additions, table)
        if feature.sign and neutral.any():
            table = monotone(table, rising_cells(feature.cells, feature.sign), row_counts)
            mean = mean_line(table, row_counts)
    return replace(feature, contributions=table, unseen=mean)


def _shared_errors(
    features: Sequence[tuple[Feature, list[_FeaturePart]]], cards: Sequence[Scorecard], shares: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the error factors of the merged features, a list of arrays (n_cells, n_logits, n_factors) in nats, and
    those of the intercept, shape (n_logits, n_factors).

    ``features`` holds each merged feature with its parts, ``cards`` the models, and ``shares`` (n_models,) their
    weights. Errors of different models are independent, so that factors are concatenated; if there are too many, they
    are projected on the directions of largest variance.
    """
    widths = [card.intercept_factors.shape[1] for card in cards]
    starts = np.concatenate([[0], np.cumsum(widths)])
    n_logits = cards[0].intercept_factors.shape[0]
    tables = []
    for feature, parts in features:
        factors_of_all = np.zeros((len(feature.counts), n_logits, starts[-1]))
        for part in parts:
            factors, at = part.feature.factors, starts[part.model]
            factors_of_all[:, :, at : at + factors.shape[2]] = part.share * part.to_merged_cells(factors)
        tables.append(factors_of_all)
    both = [share * card.intercept_factors for share, card in zip(shares, cards, strict=True)]
    tables.append(np.concatenate(both, axis=1)[None])
    if starts[-1] > N_FACTORS:
        lines = np.concatenate([factors_of_all.reshape(-1, factors_of_all.shape[2]) for factors_of_all in tables])
        largest = np.linalg.eigh(lines.T @ lines)[1][:, : -N_FACTORS - 1 : -1]
        tables = [factors_of_all @ largest for factors_of_all in tables]
    return tables[:-1], tables[-1][0]


def _unseen_row(card: Scorecard) -> np.ndarray:
    """Return the log joint probabilities, shape (n_classes,), of a row in which all values are unseen."""
    return card.intercept + np.sum([feature.unseen for feature in card.features], axis=0)


def _recounted(feature: Feature, counts: np.ndarray, smoothing: Smoothing) -> np.ndarray:
    """Return the change of a feature's counted contributions, (n_cells, n_classes) in nats, if ``counts`` (n_levels,
    n_classes) replace its counts. ``smoothing`` is that of the probabilities before and after.
    """
    old = np.asarray(feature.levels.counts, dtype=float)
    if feature.weight == 0 or np.array_equal(old, counts):
        return np.zeros_like(feature.contributions)
    after, before = (_logs(feature.levels, of_levels, smoothing) for of_levels in (counts, old))
    change = feature.weight * (after - before)[feature.level_of_cell]
    return change - change.mean(axis=1, keepdims=True)


def _logs(levels: FeatureLevels, counts: np.ndarray, smoothing: Smoothing) -> np.ndarray:
    """Return log P(level | class), shape (n_levels, n_classes), from ``counts`` of the same shape and the ``smoothing``
    of the model. Levels without rows are treated as in the fit.
    """
    logs, row_counts = log_probabilities_of_tables([counts], float(counts.sum()), smoothing)[0], counts.sum(axis=1)
    return filled(logs, row_counts, row_counts == 0, levels.n_levels) if isinstance(smoothing, Shrinkage) else logs


def _provenance(
    cards: Sequence[Scorecard], prior: np.ndarray, shares: np.ndarray, features: Sequence[tuple[Feature, Any]]
) -> dict[str, Any]:
    """Return the provenance of a merged model: that of the first model, with the rows, weights, class shares and edits
    of all models.

    ``prior`` (n_classes,) are the class shares of all rows, and ``shares`` (n_models,) the shares of the models.
    ``features`` holds pairs, whose first entry is a merged feature; the second is not used.
    """
    all_of = [card.provenance for card in cards]
    split = any(feature.is_split for feature, _ in features)
    kinds = {one["evidence"] for one in all_of}
    result = {
        **all_of[0],
        "evidence": "counted" if kinds == {"counted"} else "cells" if split else "levels",
        "weight_factor": float(shares @ [one["weight_factor"] for one in all_of]),
        "n_rows": sum(one["n_rows"] for one in all_of),
    }
    if any("prior" in one for one in all_of):
        result["prior"] = tuple(prior.tolist())
    edits = dict.fromkeys(edit for one in all_of for edit in one.get("edits", ()))
    return (result | {"edits": tuple(edits)}) if edits else result


def updated(
    card: Scorecard, cells: np.ndarray, grids: Mapping[int, np.ndarray], classes: np.ndarray, weights: np.ndarray | None
) -> Scorecard:
    """Return the scorecard updated with further rows, as documented in `SelectiveNB.update`.

    Parameters
    ----------
    card : scorecard before the update.
    cells : (n_features, n_rows) cell of each feature in the new rows.
    grids : for each feature that is a pair, by its position: number (or weight) of new rows by level of the first
        column, level of the second column and class.
    classes : (n_rows,) positions of the classes of the new rows.
    weights : (n_rows,) row weights, or None.
    """
    n_cells = np.array([feature.cells.n_levels for feature in card.features], dtype=np.int64)
    names, labels = [feature.name for feature in card.features], card.classes
    coded = CodedTable(cells, n_cells, names, classes.astype(np.min_scalar_type(labels.size)), labels, weights)
    class_counts = card.class_counts + coded.counts.class_counts
    levels_by_id: dict[int, FeatureLevels] = {}
    counted = [
        _with_rows(feature, coded.counts.feature(k), grids.get(k), levels_by_id)
        for k, feature in enumerate(card.features)
    ]
    n_old, before, new_class_counts = card.class_counts.sum(), card.class_shares, coded.counts.class_counts
    shares = (before * n_old + new_class_counts) / (n_old + new_class_counts.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.where(before > 0, _unseen_row(card) - np.log(before), 0.0)
    features = [replace(f, contributions=f.contributions - f.unseen, unseen=0.0 * f.unseen) for f in counted]
    shared = card.intercept_factors
    if card.provenance["evidence"] == "counted":
        smoothing = card.provenance["smoothing"]
        features = [
            replace(new, contributions=new.contributions + _recounted(old, np.asarray(new.levels.counts), smoothing))
            for old, new in zip(card.features, features, strict=True)
        ]
    else:
        now = (new_class_counts + shares) / (new_class_counts.sum() + 1.0)  # class shares of the new rows, smoothed
        with np.errstate(divide="ignore"):
            start, drift = beyond + np.log(now), np.where(before > 0, np.log(now) - np.log(before), 0.0)
        offset = replace(card, intercept=start, features=tuple(features))
        features, change, remaining_errors = _refit(offset, features, cells, classes, coded.weights, drift)
        beyond = beyond + change * new_class_counts.sum() / (n_old + new_class_counts.sum())
        shared = shared * remaining_errors[:, None]
    with np.errstate(divide="ignore"):
        base = beyond + np.log(shares)
    provenance = {**card.provenance, "n_rows": card.provenance["n_rows"] + classes.size}
    if "prior" in provenance:
        provenance["prior"] = tuple(shares.tolist())
    facts = {"classes": labels, "columns": card.columns, "class_counts": class_counts, "provenance": provenance}
    facts |= {"intercept_factors": shared, "omitted_variances": card.omitted_variances}
    shrinks = isinstance(provenance["smoothing"], Shrinkage)
    for k, old in enumerate(card.features):
        if not old.unseen.any():
            features[k] = with_mean_for_unseen(features[k], old.contributions, shrinks=shrinks)
    return scorecard_of(features, base, **facts)


def _with_rows(
    feature: Feature, new_counts: np.ndarray, grid: np.ndarray | None, levels_by_id: dict[int, FeatureLevels]
) -> Feature:
    """Return the feature with the counts of new rows added.

    ``new_counts`` (n_cells, n_classes) are the new rows by cell and class. For a pair, ``grid`` (n_levels of the first
    column, n_levels of the second, n_classes) holds them by levels of its columns; otherwise it is None.
    ``levels_by_id`` maps the identity of old levels to updated levels: single columns add theirs, and pairs use them.
    """
    old: Any = feature.levels
    if isinstance(old, PairLevels):
        assert grid is not None
        cell_counts = old.cells + np.where((old.grid < old.n_levels)[..., None], grid, 0.0)
        parts = [levels_by_id.get(id(part), part) for part in old.parts]
        levels: FeatureLevels = replace(old, parts=tuple(parts), cells=cell_counts)
    else:
        by_level = np.zeros((old.n_levels, new_counts.shape[1]))
        np.add.at(by_level, feature.level_of_cell, new_counts)
        levels = levels_by_id[id(old)] = replace(old, counts=np.asarray(old.counts) + by_level)
    cells = levels
    if feature.is_split:
        cells = replace(feature.cells, counts=feature.counts + new_counts)
    return replace(feature, levels=levels, cells=cells, counts=feature.counts + new_counts)


@dataclass(frozen=True, eq=False)
class _Prior:
    """Normal prior of the changes of contributions and intercept when a scorecard is refitted to new rows, and the loss
    to minimise.

    Arrays over cells hold the cells of all features in the model, one feature after the other, then the intercept.

    Attributes
    ----------
    codes : (n_used, n_rows) cell of each feature in the new rows
    sizes : (n_used,) number of cells of each feature
    offset : (n_rows, n_logits) logits of the new rows by the scorecard
    classes, weights : (n_rows,) class positions and weights of the new rows
    spread : (n_cells + 1, n_logits) standard deviations of the changes that are independent between features
    shared : (n_cells + 1, n_logits, n_factors) coefficients of the error factors by which several features change
        together
    basis : (n_cells + 1, n_basis) basis functions of the changes of a single feature
    shares : (n_cells,) share of each cell among the training rows of its feature, by which changes are centred; 0 for
        features with a cell for every new row. Centring keeps rows without a cell at the mean contribution.
    """

    codes: np.ndarray
    sizes: np.ndarray
    offset: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    spread: np.ndarray
    shared: np.ndarray
    basis: csr_array
    shares: np.ndarray

    def joint(self, table: np.ndarray) -> np.ndarray:
        """Return the logits of the new rows, (n_rows, n_logits), after the changes in ``table``, shape (n_cells + 1,
        n_logits) in nats.
        """
        from bayesieve.evidence._kernels import add_log_probabilities

        joint, lines = self.offset + table[-1], np.append(table[:-1].ravel(), np.zeros(table.shape[1]))
        if self.sizes.size:
            add_log_probabilities(self.codes, 0, self.sizes, self._starts, lines, joint)
        return joint

    def summed(self, values: np.ndarray) -> np.ndarray:
        """Return sums of ``values`` (n_rows, n_logits) of the new rows over the rows of each cell and, in the last
        line, over all rows; shape (n_cells + 1, n_logits).
        """
        from bayesieve.evidence._kernels import sum_by_level

        sums = np.zeros(self.spread.size)
        if self.sizes.size:
            sum_by_level(self.codes, 0, self.sizes, self._starts, np.ascontiguousarray(values), sums)
        of_cells = sums.reshape(self.spread.shape)
        of_cells[-1] = values.sum(axis=0)
        return of_cells

    @property
    def _starts(self) -> np.ndarray:
        """Position of each feature's first entry in the flattened array (n_cells, n_logits), shape (n_used,)."""
        return (np.cumsum(self.sizes) - self.sizes) * self.spread.shape[1]

    def deviations(self, point: np.ndarray) -> np.ndarray:
        """Convert the parameters of the optimiser to changes of contributions and intercept, (n_cells + 1, n_logits) in
        nats.

        ``point`` is a flat array of parameters with standard normal prior: the coefficients of the basis functions,
        n_basis x n_logits, then one number for each error factor.
        """
        single, shared = np.split(point, [point.size - self.shared.shape[2]])
        table = self.spread * (self.basis @ single.reshape(self.basis.shape[1], -1)) + self.shared @ shared
        if self.shares.any():
            table[:-1] -= self._of_feature(self.shares[:, None] * table[:-1])
        return table

    def _of_feature(self, of_cells: np.ndarray) -> np.ndarray:
        """Return, for each cell, the sum of ``of_cells`` over all cells of its feature; both have shape (n_cells,
        n_logits).
        """
        return np.repeat(np.add.reduceat(of_cells, np.cumsum(self.sizes) - self.sizes), self.sizes, axis=0)

    def loss(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the penalised log loss of the new rows in nats (plus half the sum of squared parameters), and its
        gradient, an array of the shape of ``point``.

        ``point`` is the flat array of parameters described in `deviations`.
        """
        from bayesieve.evidence._kernels import residuals

        errors = self.joint(self.deviations(point))
        value = residuals(errors, self.classes, self.weights)
        slope = self.summed(errors)
        if self.shares.any():
            slope[:-1] -= self.shares[:, None] * self._of_feature(slope[:-1])
        single, shared = self.basis.T @ (self.spread * slope), np.einsum("cnf,cn->f", self.shared, slope)
        return value + point @ point / 2.0, np.append(single, shared) + point

    def remaining_errors(self, table: np.ndarray) -> np.ndarray:
        """Return the standard errors after the update as shares of those before, shape (n_cells + 1, n_logits).
        ``table`` holds the fitted changes, of the same shape.
        """
        joint = self.joint(table)
        shares = expit(joint) if joint.shape[1] == 1 else softmax(joint, axis=1)
        variances = (self.spread**2 + (self.shared**2).sum(axis=2)) / _VARIANCES_TIMES
        return 1.0 / np.sqrt(1.0 + variances * self.summed(self.weights[:, None] * shares * (1.0 - shares)))


def _refit(
    card: Scorecard,
    features: Sequence[Feature],
    codes: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray | None,
    drift: np.ndarray,
) -> tuple[list[Feature], np.ndarray, np.ndarray]:
    """Refit the contributions of a scorecard to new rows, with its contributions and their errors as prior.

    Parameters
    ----------
    card : scorecard that predicts the new rows before the refit.
    features : its features, with the counts of the new rows added.
    codes : (n_features, n_rows) cell of each feature in the new rows.
    classes, weights : (n_rows,) class positions and weights of the new rows; None for equal weights.
    drift : (n_classes,) change of the log class shares in the new rows; features may explain part of it.

    Returns
    -------
    features : list of Feature
        Features with new contributions and errors.
    change : float array, shape (n_classes,)
        Change of the intercept, in nats.
    remaining : float array, shape (n_logits,)
        Standard error of the intercept after the refit, as a share of that before.
    """
    from scipy.optimize import minimize

    used = card.used.tolist()
    sizes = np.array([len(features[k].counts) for k in used], dtype=np.int64)
    joint = card.tables.joint(codes[used])
    n_logits, n_factors = n_logits_of(card.classes.size), card.intercept_factors.shape[1]
    variances_of_features = [logit_variances(features[k].standard_errors ** 2) for k in used]
    free = intercept_variances(card.class_counts) + (np.diff(drift) if n_logits == 1 else drift) ** 2
    variances = np.concatenate([*variances_of_features, free[None]])
    shared, ends = np.zeros((len(variances), n_logits, n_factors)), np.cumsum(sizes)
    for end, k in zip(ends.tolist(), used, strict=True):
        factors = features[k].factors
        shared[end - len(factors) : end, :, : factors.shape[2]] = factors
    shared[-1] = card.intercept_factors
    prior = _Prior(
        codes=np.ascontiguousarray(codes[used]),
        sizes=sizes,
        offset=joint[:, 1:] - joint[:, :1] if n_logits == 1 else joint,
        classes=classes,
        weights=np.ones(classes.size) if weights is None else np.asarray(weights, dtype=float),
        spread=np.sqrt(_VARIANCES_TIMES * np.maximum(variances - (shared**2).sum(axis=2), 0.0)),
        shared=np.sqrt(_VARIANCES_TIMES) * shared,
        basis=csr_array(block_diag([*(_directions(features[k]) for k in used), np.ones((1, 1))])),
        shares=np.concatenate([np.zeros(0), *(_shares(features[k], codes[k]) for k in used)]),
    )
    start = np.zeros(prior.basis.shape[1] * n_logits + n_factors)
    options = {"maxiter": 500, "ftol": 1e-7}
    with one_blas_thread():  # a fixed order of sums makes the result reproducible
        table = prior.deviations(minimize(prior.loss, start, jac=True, method="L-BFGS-B", options=options).x)
    remaining_errors, sides = (
        prior.remaining_errors(table),
        np.array([[-0.5, 0.5]]) if n_logits == 1 else np.eye(n_logits),
    )
    fitted = list(features)
    for end, k in zip(ends.tolist(), used, strict=True):
        old, cells = features[k], slice(end - len(features[k].counts), end)
        contributions = old.contributions + table[cells] @ sides
        if old.sign:
            contributions = monotone(contributions, rising_cells(old.cells, old.sign), old.counts.sum(axis=1))
        errors, factors = (
            old.standard_errors * remaining_errors[cells],
            old.factors * remaining_errors[cells][:, :, None],
        )
        fitted[k] = replace(old, contributions=contributions, standard_errors=errors, factors=factors)
    return fitted, table[-1] @ sides, remaining_errors[-1]


def _shares(feature: Feature, codes: np.ndarray) -> np.ndarray:
    """Return the share of a feature's training rows in each cell, shape (n_cells,). Return zeros if all new rows have a
    cell; ``codes`` (n_rows,) are their cells, and unseen values have the code n_cells.
    """
    row_counts = feature.counts.sum(axis=1)
    inside = not codes.size or int(codes.max()) < row_counts.size
    return np.zeros(row_counts.size) if inside else row_counts / max(float(row_counts.sum()), np.finfo(float).tiny)


def _directions(feature: Feature) -> Any:
    """Return basis functions for the changes of a feature's contributions, as a sparse array of shape (n_cells,
    n_basis).

    Each cell has a basis function that is 0 elsewhere. A curve (numeric feature with cells finer than levels) also has
    cosines over its cells, which change neighbouring cells together. The rows of the array have Euclidean norm 1.
    """
    alone = np.ones(len(feature.counts))
    if not feature.is_split or feature.kind != "numeric":
        return diags_array(alone)
    first, row_counts = feature.cells.n_special_levels, feature.counts.sum(axis=1) + np.finfo(float).tiny
    waves = np.column_stack([np.ones(row_counts.size), cosines_over(row_counts, first, _N_WAVES)])[first:]
    waves *= np.sqrt(1.0 - _ALONE) / np.linalg.norm(waves, axis=1, keepdims=True)
    alone[first:] *= np.sqrt(_ALONE)
    return hstack([csr_array(np.pad(waves, ((first, 0), (0, 0)))), diags_array(alone)])
