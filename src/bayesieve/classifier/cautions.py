"""Cautions of a fit: suspicious properties of its rows, of its columns and of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
_MAX_DRIFTING = 10  # columns, the most important ones, that are looked at
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
    weights = as_sample_weight(rows.weights, coded.n_rows)
    cautions = [] if weights is None else [weights_caution(weights)]
    if plan.executor is not None and not (isinstance(rows.table, ScannedTable) and isinstance(encoder, TableEncoder)):
        sentence = (
            "The executor given as engine is not used: it reads the rows of files that are coded by a TableEncoder. "
            "Pass bayesieve.scan(files) in place of a table in memory, or leave engine out."
        )
        cautions.append(Caution("engine", (), sentence))
    if isinstance(encoder, TableEncoder):
        cautions += [*encoder.cautions_, *column_cautions(coded, encoder)]
    of_model = model_cautions(card, trace, encoder.marks_, cautions)
    return (*of_model, *order_cautions(coded, card, encoder.marks_))


def model_cautions(
    card: Scorecard, trace: SearchTrace, marks: Mapping[str, str], table_cautions: Sequence[Caution | None] = ()
) -> tuple[Caution, ...]:
    """Return cautions about the training table, and those that follow from the model alone.

    ``marks``: what columns mark, by name, as `TableEncoder.marks_`.
    """
    about_table = [caution for caution in table_cautions if caution is not None]
    cautions = [*about_table, *_about_features(card, trace), *_about_columns(card, marks, about_table)]
    cautions += _about_levels(card)

    if not trace.complete:
        sentence = (
            f"The search was stopped early, after {trace.n_models:,} models; a longer one may find better weights."
        )
        cautions.append(Caution("search", (), sentence, warns=False))

    counts = card.class_counts
    shares = counts / counts.sum()
    rare = [str(label) for label, n in zip(card.classes, counts, strict=True) if n < _FEWEST_ROWS_PER_CLASS]
    if rare:
        some = f"class {', '.join(rare[:5])}" + (" and others" if len(rare) > 5 else "")
        sentence = f"Fewer than {_FEWEST_ROWS_PER_CLASS} training rows of {some}: its probabilities are uncertain."
        cautions.append(Caution("classes", (), sentence, warns=False))
    elif shares.min() < _SMALL_SHARE:
        sentence = (
            f"Class {card.classes[int(shares.argmin())]} has {100 * shares.min():.2f} % of the rows only: "
            "judge the model by AUC rather than accuracy."
        )
        cautions.append(Caution("classes", (), sentence, warns=False))
    return tuple(cautions)


def _about_features(card: Scorecard, trace: SearchTrace) -> list[Caution]:
    """Return cautions about features that are not in the model, and about signs that the rows contradict."""
    cautions = []
    if not card.used.size:
        remedy = "Check that the rows of the target are those of the columns, or add rows."
        if not trace.complete:
            remedy = "The search was stopped early; give it more time."
        sentence = f"No feature is kept: every row is predicted by the shares of the classes. {remedy}"
        cautions.append(Caution("nothing kept", (), sentence))

    # Columns with several levels by hand that no feature of the model uses.
    used = {name for feature in card.features if feature.is_used for name in feature.columns}
    by_hand = (name for name in card.provenance.get("by_hand", ()) if name not in used)
    cautions += about_columns(
        "dropped",
        [name for name in by_hand if card[name].levels.n_levels > 1],
        "[Column|Columns] {} with levels by hand [is|are] not in the model, because the search dropped [it|them]: "
        "add include: true to what levels asks of [it|them] to have [it|them] in the model.",
    )

    # Columns whose rows support the opposite sign much better: under the given sign their contributions become flat.
    for level, sign in ((feature.levels, feature.sign) for feature in card.features if feature.sign):
        if level.n_levels == 1:
            continue
        with_sign, opposite = (monotone_gain(np.asarray(level.counts), level, one) for one in (sign, -sign))
        if opposite <= with_sign + _FEWEST_NATS or opposite <= 2 * with_sign:
            continue
        asked, (other, positive) = card.side * sign, card.classes.tolist()[:: card.side]
        forbidden, observed = ("fall", "falls") if asked > 0 else ("rise", "rises")
        sentence = (
            f"The rows contradict monotone={{{level.name!r}: {asked:+d}}}: contributions to class {positive!s}, the "
            f"positive one, must not {forbidden} with {level.name!r}, but the share of this class {observed} with it, "
            f"so that the column contributes little or nothing. Reverse the sign if class {other!s} was meant; "
            "otherwise omit it."
        )
        cautions.append(Caution("monotone", (level.name,), sentence))
    return cautions


def _about_columns(card: Scorecard, marks: Mapping[str, str], about_table: Sequence[Caution]) -> list[Caution]:
    """Return cautions about columns of the model that new rows will not have in the same way.

    ``about_table``: cautions about the training table, whose columns are not named again.
    """
    explained = ("target", "identifier", "numbers as text")
    named = {name for caution in about_table if caution.kind in explained for name in caution.columns}
    used = _used_columns(card)
    cautions = about_columns(
        "identifier",
        [one.name for one in used if marks.get(one.name) in ("counter", "identifier") and one.name not in named],
        "[Column|Columns] {} [looks like an identifier|look like identifiers] that the model uses: new rows will have "
        "other values. Leave [it|them] out.",
    )

    # Dates are cut into intervals, and new rows are later than all training rows.
    types = ("date", "datetime")
    cautions += about_columns(
        "dates",
        [one.name for one in used if marks.get(one.name) == "date" or (one.kind == "numeric" and one.type in types)],
        "[Column|Columns] {} [holds|hold] dates, whose last interval stands for all of the future: every later row is "
        "taken for one of the last training rows. Use the time since some event instead, or leave dates out.",
    )

    # A column that separates the classes perfectly is rarely available before the target is known.
    targets = {name for caution in about_table if caution.kind == "target" for name in caution.columns}
    for level in (feature.levels for feature in card.features if feature.levels.level_score > _SUSPICIOUS_SCORE):
        if level.name in targets:
            continue
        sentence = (
            f"Feature {level.name} tells the classes apart almost alone (level score {level.level_score:.3f}): make "
            "sure that it is known before the target is."
        )
        pure = bool(np.all(np.count_nonzero(np.asarray(level.counts), axis=1) <= 1))
        cautions.append(Caution("separates the classes", (level.name,), sentence, warns=pure))
    return cautions


def _about_levels(card: Scorecard) -> list[Caution]:
    """Return cautions about levels of no rows, or of few rows that are all of one class."""
    levels, cautions = [feature.levels for feature in card.used_features], []
    smoothing = card.provenance["smoothing"]
    if not isinstance(smoothing, Shrinkage):  # which lets levels without rows add nothing
        empty = [(one, k) for one in levels for k in np.flatnonzero(np.asarray(one.counts).sum(axis=1) == 0).tolist()]
        if empty:
            sentence = (
                f"{_level_texts(empty)} no training rows: with smoothing={smoothing!r}, such levels speak for the "
                "rare classes. Join them to other levels, or fit with calibrate='auto' and smoothing='m-estimate', "
                "where they add nothing."
            )
            cautions.append(
                Caution("levels without rows", tuple(dict.fromkeys(one.name for one, _ in empty)), sentence)
            )

    rare = []
    for level in levels:
        if isinstance(level, PairLevels) and level.level_score == 0:  # cells of surfaces are no levels
            continue
        counts = np.asarray(level.counts)
        rows, pure = counts.sum(axis=1), np.count_nonzero(counts, axis=1) == 1
        rare += [(level, k) for k in np.flatnonzero(pure & (rows < _FEWEST_ROWS_OF_LEVEL)).tolist()]
    if rare:
        sentence = (
            f"{_level_texts(rare)} fewer than {_FEWEST_ROWS_OF_LEVEL} training rows, all of a single class: what such "
            "levels add is uncertain. Join them to others (levels=, or edit().merge) unless they have a reason."
        )
        cautions.append(
            Caution("rare levels", tuple(dict.fromkeys(one.name for one, _ in rare)), sentence, warns=False)
        )
    return cautions


def _level_texts(levels: Sequence[tuple[FeatureLevels, int]]) -> str:
    """Return the beginning of a sentence about some levels, given by their positions."""
    names = [f"{level.labels[k]!r} of {level.name!r}" for level, k in levels]
    return f"Level {names[0]} has" if len(names) == 1 else f"Levels {listed(names)} have"


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


def order_cautions(coded: CodedTable, card: Scorecard, marks: Mapping[str, str]) -> list[Caution]:
    """Return at most one caution about the order of the rows.

    It is of kind "order" if the order, or a column of dates, is informative about the classes, or levels of important
    features drift along the rows; of kind "class order" if rows are listed by class.

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

    # Classes of the rows with positive weight, in their original order.
    classes, runs, weights = coded.class_codes, coded.rows.runs, coded.weights
    codes = np.asarray(classes if runs is None else runs.codes)
    if weights is not None and not np.all(weights):
        counted = np.flatnonzero(weights)
        codes = codes[counted if runs is None else np.sort(runs.in_source(counted))]
    alike, blocks = likeness_of_neighbours(codes), in_blocks(codes)
    if alike >= _NEIGHBOURS_ALIKE and n_runs(codes) <= _RUNS_PER_CLASS * card.classes.size:
        return [Caution("class order", (), _BY_CLASS, warns=False)]

    drift, (drifting, sorted_by) = association(blocks), _drifting(coded, card, marks)
    signs = []
    if drift >= _SLIGHT:
        shares = blocks / blocks.sum(axis=1, keepdims=True)
        low, high = shares.min(axis=0), shares.max(axis=0)
        j = int((high - low).argmax()) if card.positive is None else card.positive
        signs.append(
            f"the share of class {card.classes[j]!s} is between {100 * low[j]:.0f} and {100 * high[j]:.0f} % in "
            f"{len(blocks)} stretches of the rows (Cramér's V {drift:.2f})"
        )
    if alike >= _SLIGHT:
        of_same = 100 * float(np.mean(codes[1:] == codes[:-1]))
        signs.append(f"{of_same:.0f} % of the rows are of the class of the row before (kappa {alike:.2f})")
    if drifting and (signs or not sorted_by):
        signs.append(agreeing(drifting, "values of [column|columns] {} drift along them"))
    if not signs:
        return []
    first = agreeing(sorted_by, "The rows are sorted by [column|columns] {}: ") if sorted_by else _INFORMATIVE
    then = "If this is the order of time, " if sorted_by else _LATER
    sentence = f"{first}{'; '.join(signs)}. {then}{_REMEDY.format('', ' COLUMN')}"
    return [Caution("order", tuple(sorted_by or drifting), sentence, drift >= _LARGE or alike >= _MUCH_ALIKE)]


_BY_CLASS = "The rows are listed class after class, which says nothing about time: measure on folds of shuffled rows."
_INFORMATIVE, _LATER = "The order of the rows is informative: ", "If the model is to predict later rows, "
_REMEDY = 'folds of shuffled rows look too good: measure it with cv="time"{0}, or --time{1} on the command line.'


def _drifting(coded: CodedTable, card: Scorecard, marks: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the most important columns whose levels drift along the rows, without dates, and the columns by which the
    rows are sorted.
    """
    columns = {level.name for level in _used_columns(card)}
    first = [(-feature.importance, k) for k, feature in enumerate(card.features) if feature.name in columns]
    rows, drifting, sorted_by = coded.drawn(_ORDERED_ROWS), list[str](), list[str]()
    order = slice(None) if coded.rows.runs is None else np.argsort(coded.rows.runs.in_source(rows))
    for _, k in sorted(first)[:_MAX_DRIFTING]:
        name, codes = card.features[k].name, coded.codes_at([k], rows)[0][order].astype(np.int64)
        if association(in_blocks(codes)) >= _LARGE and marks.get(name) != "date":
            (sorted_by if n_runs(codes) == np.unique(codes).size else drifting).append(name)
    return drifting, sorted_by
