"""Cautions of a fit: suspicious properties of its rows, of its columns and of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import xlogy

from bayesieve.classifier.column_cautions import column_cautions
from bayesieve.classifier.fit_steps import TrainingRows
from bayesieve.classifier.plan import FitPlan
from bayesieve.counts import CodedTable
from bayesieve.counts.contingency import Shrinkage
from bayesieve.discretize import TableEncoder
from bayesieve.evidence.monotone import rising_cells
from bayesieve.scorecard import Scorecard
from bayesieve.search import SearchTrace
from bayesieve.table import FeatureLevels
from bayesieve.table.cautions import (
    Caution,
    about_columns,
    association,
    in_blocks,
    likeness_of_neighbours,
    n_runs,
    weights_caution,
)
from bayesieve.table.derived_levels import PairLevels
from bayesieve.table.levels import columns_behind
from bayesieve.table.scanned import ScannedTable
from bayesieve.table.target import as_sample_weight
from bayesieve.words import agreeing, listed

_SUSPICIOUS_SCORE = 0.95
_FEWEST_ROWS_PER_CLASS = 10
_FEWEST_ROWS_OF_LEVEL = 10
_SMALL_SHARE = 0.01
_SLIGHT, _LARGE = 0.1, 0.2  # association of the classes with the order of the rows: in the report, and as a warning
_MUCH_ALIKE = 0.3  # neighbouring rows, for a warning
_RUNS_PER_CLASS = 10  # at most, in a table sorted by class
_NEIGHBOURS_ALIKE = 0.8  # at least, in such a table
_MOST_DRIFTING = 10  # columns, the most important ones, that are looked at
_ORDERED_ROWS = 20_000  # in which they are
_FEWEST_NATS = 3.0  # by which rows say more with the opposite sign: odds of 20 to 1


def fit_cautions(
    rows: TrainingRows, coded: CodedTable, plan: FitPlan, card: Scorecard, trace: SearchTrace
) -> tuple[Caution, ...]:
    """Return the cautions of a fit: about its rows and columns, about the model, and about the order of the rows.

    Parameters
    ----------
    rows, coded : training rows as they were read, and as codes in the same order, or as ``coded.rows.runs`` says.
    plan : with the fitted encoder.
    """
    encoder = plan.encoder
    found = [weights_caution(as_sample_weight(rows.weights, coded.n_rows))]
    if plan.executor is not None and not (isinstance(rows.table, ScannedTable) and isinstance(encoder, TableEncoder)):
        sentence = (
            "The executor given as engine is not used: it reads the rows of files that are coded by a TableEncoder. "
            "Pass bayesieve.scan(files) in place of a table in memory, or leave engine out."
        )
        found.append(Caution("engine", (), sentence))
    if isinstance(encoder, TableEncoder):
        found += [*encoder.cautions_, *column_cautions(coded, encoder)]
    of_order = order_cautions(coded, card, getattr(encoder, "marks_", {}))
    return (*model_cautions(card, trace, encoder, found), *of_order)


def model_cautions(
    card: Scorecard, trace: SearchTrace, encoder: Any, table_cautions: Sequence[Caution | None] = ()
) -> tuple[Caution, ...]:
    """Return cautions about the training table, and those that follow from the model alone."""
    seen, marks = [caution for caution in table_cautions if caution is not None], getattr(encoder, "marks_", {})
    targets = {name for caution in seen if caution.kind == "target" for name in caution.columns}
    explained = ("target", "identifier", "numbers as text")
    named = {name for caution in seen if caution.kind in explained for name in caution.columns}
    used = [(level, marks.get(level.name)) for level in _used_columns(card)]
    separating = [caution for caution in _separating(card) if targets.isdisjoint(caution.columns)]
    own = [*_nothing_kept(card, trace), *_dropped_levels(card), *_contradicted_signs(card)]
    own += [*_numbered(used, named), *_dates(used), *separating]
    own += [*_levels_without_rows(card), *_rare_levels(card)]
    return (*seen, *own, *_search(trace), *_classes(card))


def _nothing_kept(card: Scorecard, trace: SearchTrace) -> list[Caution]:
    if card.used.size:
        return []
    early = "The search was stopped early; give it more time."
    remedy = "Check that the rows of the target are those of the columns, or add rows." if trace.complete else early
    sentence = f"No feature is kept: every row is predicted by the shares of the classes. {remedy}"
    return [Caution("nothing kept", (), sentence)]


def _dropped_levels(card: Scorecard) -> list[Caution]:
    """Return columns with several levels by hand that no feature of the model uses."""
    used = {name for feature in card.features if feature.is_used for name in feature.columns}
    by_hand = (name for name in card.provenance.get("by_hand", ()) if name not in used)
    return about_columns(
        "dropped",
        [name for name in by_hand if card[name].levels.n_levels > 1],
        "[Column|Columns] {} with levels by hand [is|are] not in the model, because the search dropped [it|them]: "
        "add include: true to what levels asks of [it|them] to have [it|them] in the model.",
    )


def _levels_without_rows(card: Scorecard) -> list[Caution]:
    """Return levels without training rows whose smoothed counts say something about the classes all the same."""
    if isinstance(card.provenance["smoothing"], Shrinkage):
        return []
    levels = [feature.levels for feature in card.used_features]
    empty = [(own, k) for own in levels for k in np.flatnonzero(np.asarray(own.counts).sum(axis=1) == 0).tolist()]
    if not empty:
        return []
    texts = _level_texts(empty)
    sentence = (
        f"{texts} no training rows: with smoothing={card.provenance['smoothing']!r}, such levels speak for the "
        "rare classes. Join them to other levels, or fit with calibrate='auto' and smoothing='m-estimate', where they "
        "add nothing."
    )
    return [Caution("levels without rows", tuple(dict.fromkeys(own.name for own, _ in empty)), sentence)]


def _rare_levels(card: Scorecard) -> list[Caution]:
    """Return levels of few rows that are all of one class; cells of surfaces are no levels."""
    rare = []
    for level in (feature.levels for feature in card.used_features):
        if isinstance(level, PairLevels) and level.level_score == 0:
            continue
        counts = np.asarray(level.counts)
        rows, pure = counts.sum(axis=1), np.count_nonzero(counts, axis=1) == 1
        rare += [(level, k) for k in np.flatnonzero(pure & (rows < _FEWEST_ROWS_OF_LEVEL)).tolist()]
    if not rare:
        return []
    sentence = (
        f"{_level_texts(rare)} fewer than {_FEWEST_ROWS_OF_LEVEL} training rows, all of a single class: what such "
        "levels add is uncertain. Join them to others (levels=, or edit().merge) unless they have a reason."
    )
    return [Caution("rare levels", tuple(dict.fromkeys(own.name for own, _ in rare)), sentence, warns=False)]


def _level_texts(levels: Sequence[tuple[FeatureLevels, int]]) -> str:
    """Return the beginning of a sentence about some levels, given by their positions."""
    names = [f"{own.labels[k]!r} of {own.name!r}" for own, k in levels]
    return f"Level {names[0]} has" if len(names) == 1 else f"Levels {listed(names)} have"


def _contradicted_signs(card: Scorecard) -> list[Caution]:
    """Return columns of ``monotone`` whose rows say much more with the opposite sign: their evidence becomes flat."""
    cautions = []
    for level, sign in ((feature.levels, feature.sign) for feature in card.features if feature.sign):
        if level.n_levels == 1:
            continue
        own, opposite = (monotone_gain(np.asarray(level.counts), level, s) for s in (sign, -sign))
        if opposite > own + _FEWEST_NATS and opposite > 2 * own:
            told, (other, positive) = card.side * sign, card.classes.tolist()[:: card.side]
            wanted, found = ("fall", "falls") if told > 0 else ("rise", "rises")
            sentence = (
                f"The rows contradict monotone={{{level.name!r}: {told:+d}}}: evidence for class {positive!s}, the "
                f"positive one, must not {wanted} with {level.name!r}, but the share of this class {found} with it, so "
                f"that the column says little or nothing. Turn the sign round if class {other!s} was meant; otherwise "
                "leave it out."
            )
            cautions.append(Caution("monotone", (level.name,), sentence))
    return cautions


def monotone_gain(counts: np.ndarray, levels: FeatureLevels, sign: int) -> float:
    """Return nats that shares of the second class which do not fall (1), or do not rise (-1), over the intervals of
    numbers save in the rows of these intervals, against the same share in all; ``counts`` is (n_levels, 2).
    """
    from sklearn.isotonic import isotonic_regression

    rows = np.asarray(counts, dtype=np.float64)[rising_cells(levels, sign)]
    total, second = rows.sum(axis=1), rows[:, 1]
    if not 0 < second.sum() < total.sum():
        return 0.0
    there = total > 0
    shares = isotonic_regression(second[there] / total[there], sample_weight=total[there])
    saved = xlogy(second[there], shares) + xlogy(rows[there, 0], 1.0 - shares)
    share = second.sum() / total.sum()
    return float(saved.sum() - xlogy(second.sum(), share) - xlogy(rows[:, 0].sum(), 1.0 - share))


def _used_columns(card: Scorecard) -> list[FeatureLevels]:
    """Return the columns that features of the model are made of."""
    levels = [feature.levels for feature in card.features]
    used = np.isin(np.arange(len(levels)), card.used)
    return [levels[k] for k in np.flatnonzero(columns_behind(levels, used)).tolist()]


def _numbered(used: Sequence[tuple[FeatureLevels, str | None]], apart: set[str]) -> list[Caution]:
    """Return counters and identifiers that are used, by themselves or in pairs, except those set ``apart``."""
    marks = ("counter", "identifier")
    columns = [level.name for level, mark in used if mark in marks and level.name not in apart]
    return about_columns(
        "identifier",
        columns,
        "[Column|Columns] {} [looks like an identifier|look like identifiers] that the model uses: new rows will have "
        "other values. Leave [it|them] out.",
    )


def _dates(used: Sequence[tuple[FeatureLevels, str | None]]) -> list[Caution]:
    """Return columns of dates, which are cut into intervals: new rows are later than all training rows."""
    dated = ("date", "datetime")
    columns = [own.name for own, mark in used if mark == "date" or (own.kind == "numeric" and own.type in dated)]
    return about_columns(
        "dates",
        columns,
        "[Column|Columns] {} [holds|hold] dates, whose last interval stands for all of the future: every later row is "
        "taken for one of the last training rows. Use the time since some event instead, or leave dates out.",
    )


def _separating(card: Scorecard) -> list[Caution]:
    """Return columns that separate the classes; without an exception, they are hardly known before the target."""
    cautions = []
    for level in (feature.levels for feature in card.features if feature.levels.level_score > _SUSPICIOUS_SCORE):
        sentence = (
            f"Feature {level.name} tells the classes apart almost alone (level score {level.level_score:.3f}): make "
            "sure that it is known before the target is."
        )
        pure = bool(np.all(np.count_nonzero(np.asarray(level.counts), axis=1) <= 1))
        cautions.append(Caution("separates the classes", (level.name,), sentence, warns=pure))
    return cautions


def _search(trace: SearchTrace) -> list[Caution]:
    if trace.complete:
        return []
    sentence = f"The search was stopped early, after {trace.n_models:,} models; a longer one may find better weights."
    return [Caution("search", (), sentence, warns=False)]


def _classes(card: Scorecard) -> list[Caution]:
    counts = card.class_counts
    shares = counts / counts.sum()
    rare = [str(label) for label, n in zip(card.classes, counts, strict=True) if n < _FEWEST_ROWS_PER_CLASS]
    if rare:
        some = f"class {', '.join(rare[:5])}" + (" and others" if len(rare) > 5 else "")
        sentence = f"Fewer than {_FEWEST_ROWS_PER_CLASS} training rows of {some}: its probabilities are uncertain."
    elif shares.min() < _SMALL_SHARE:
        sentence = (
            f"Class {card.classes[int(shares.argmin())]} has {100 * shares.min():.2f} % of the rows only: "
            "judge the model by AUC rather than accuracy."
        )
    else:
        return []
    return [Caution("classes", (), sentence, warns=False)]


def order_cautions(coded: CodedTable, card: Scorecard, marks: Mapping[str, str]) -> list[Caution]:
    """Return at most one caution: of kind "order" if the order of the rows, or a column of dates, is informative about
    the classes, or levels of important features drift along the rows; of kind "class order" if rows are listed by
    class.

    Parameters
    ----------
    coded : the training rows, in their order or as its ``rows.runs`` say.
    marks : what columns mark, by name.
    """
    dated = [(association(np.asarray(f.levels.counts)), f.name) for f in card.features if marks.get(f.name) == "date"]
    drift, name = max(dated, default=(0.0, ""))
    if drift >= _SLIGHT:
        sentence = f"The shares of the classes change with the dates of column {name!r} (Cramér's V {drift:.2f}). "
        sentence += _LATER + _REMEDY.format(f", time={name!r}", f" {name}")
        return [Caution("order", (name,), sentence, drift >= _LARGE)]
    codes = _classes_in_order(coded)
    alike, blocks = likeness_of_neighbours(codes), in_blocks(codes)
    if alike >= _NEIGHBOURS_ALIKE and n_runs(codes) <= _RUNS_PER_CLASS * card.classes.size:
        return [Caution("class order", (), _BY_CLASS, warns=False)]
    drift, (drifting, sorted_by) = association(blocks), _drifting(coded, card, marks)
    said = []
    if drift >= _SLIGHT:
        shares = blocks / blocks.sum(axis=1, keepdims=True)
        low, high = shares.min(axis=0), shares.max(axis=0)
        j = int((high - low).argmax()) if card.positive is None else card.positive
        said.append(
            f"the share of class {card.classes[j]!s} is between {100 * low[j]:.0f} and {100 * high[j]:.0f} % in "
            f"{len(blocks)} stretches of the rows (Cramér's V {drift:.2f})"
        )
    if alike >= _SLIGHT:
        of_same = 100 * float(np.mean(codes[1:] == codes[:-1]))
        said.append(f"{of_same:.0f} % of the rows are of the class of the row before (kappa {alike:.2f})")
    if drifting and (said or not sorted_by):
        said.append(agreeing(drifting, "values of [column|columns] {} drift along them"))
    if not said:
        return []
    first = agreeing(sorted_by, "The rows are sorted by [column|columns] {}: ") if sorted_by else _INFORMATIVE
    then = "If this is the order of time, " if sorted_by else _LATER
    sentence = f"{first}{'; '.join(said)}. {then}{_REMEDY.format('', ' COLUMN')}"
    return [Caution("order", tuple(sorted_by or drifting), sentence, drift >= _LARGE or alike >= _MUCH_ALIKE)]


_BY_CLASS = "The rows are listed class after class, which says nothing about time: measure on folds of shuffled rows."
_INFORMATIVE, _LATER = "The order of the rows is informative: ", "If the model is to predict later rows, "
_REMEDY = 'folds of shuffled rows look too good: measure it with cv="time"{0}, or --time{1} on the command line.'


def _classes_in_order(coded: CodedTable) -> np.ndarray:
    """Return the classes of the rows that count, in the order in which they were given."""
    codes, runs, weights = coded.class_codes, coded.rows.runs, coded.weights
    codes = np.asarray(codes if runs is None else runs.codes)
    if weights is None or np.all(weights):
        return codes
    counted = np.flatnonzero(weights)
    return codes[counted if runs is None else np.sort(runs.in_source(counted))]


def _drifting(coded: CodedTable, card: Scorecard, marks: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the most important columns whose levels drift along the rows, without dates; and those that the rows are
    sorted by.
    """
    columns = {level.name for level in _used_columns(card)}
    first = [(-feature.importance, k) for k, feature in enumerate(card.features) if feature.name in columns]
    rows, found = coded.drawn(_ORDERED_ROWS), ([], [])  # type: tuple[np.ndarray, tuple[list[str], list[str]]]
    order = slice(None) if coded.rows.runs is None else np.argsort(coded.rows.runs.in_source(rows))
    for _, k in sorted(first)[:_MOST_DRIFTING]:
        name, codes = card.features[k].name, coded.codes_at([k], rows)[0][order].astype(np.int64)
        if association(in_blocks(codes)) >= _LARGE and marks.get(name) != "date":
            found[n_runs(codes) == np.unique(codes).size].append(name)
    return found
