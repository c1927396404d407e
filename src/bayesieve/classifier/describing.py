"""A fitted model in words: what it is, and what to be careful about."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import xlogy

from bayesieve.counts import CodedTable
from bayesieve.counts.contingency import Shrinkage
from bayesieve.discretize import TableEncoder
from bayesieve.evidence.monotone import rising_cells
from bayesieve.scorecard import Scorecard
from bayesieve.scorecard.wording import Wording
from bayesieve.search import SearchTrace
from bayesieve.selection.boosted import BoostedSelector
from bayesieve.selection.filters import RankedSelector
from bayesieve.table import FeatureLevels, Table, as_table
from bayesieve.table.cautions import Caution, association, in_blocks, likeness_of_neighbours, n_runs
from bayesieve.table.derived_levels import PairLevels
from bayesieve.table.levels import TableLevels, columns_behind
from bayesieve.table.scanned import ScannedTable
from bayesieve.table.text_forms import TextForm, form_of
from bayesieve.table.values import canonical_text
from bayesieve.words import agreeing, listed, named, plural, quoted_text

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB
    from bayesieve.table import FeatureLevels

_MOST_CLASSES = 6
_MOST_FEATURES = 3
_SUSPICIOUS_SCORE = 0.95
_FEWEST_ROWS_PER_CLASS = 10
_FEWEST_ROWS_OF_LEVEL = 10
_SMALL_SHARE = 0.01
_NEARLY_ALL = 0.9  # of the rows have a unique value in a column that looks like an identifier
_MOST_OTHERS = 5  # values that a caution names
_SAMPLES = (1000, 5000)  # rows in which columns are compared, value by value, as long as they look alike
_OFTEN = 20  # rows a value, from which the rows that share a value show a copy: repeated rows share all values
_MOST_GROUPS = 3
_SLIGHT, _LARGE = 0.1, 0.2  # association of the classes with the order of the rows: in the report, and as a warning
_MUCH_ALIKE = 0.3  # neighbouring rows, for a warning
_RUNS_PER_CLASS = 10  # at most, in a table sorted by class
_NEIGHBOURS_ALIKE = 0.8  # at least, in such a table
_MOST_DRIFTING = 10  # columns, the most important ones, that are looked at
_ORDERED_ROWS = 20_000  # in which they are
_FEWEST_NATS = 3.0  # by which rows say more with the opposite sign: odds of 20 to 1


def selector_name(model: SelectiveNB) -> str:
    """The name of the selector, or of its class if it has no name."""
    kind = type(model.selector_)
    return vars(kind).get("name", kind.__name__)


def selector_sentence(model: SelectiveNB) -> str:
    """A sentence about the selector."""
    # The sentence of a base class does not describe a derived one.
    sentence: str = vars(type(model.selector_)).get("sentence", "A selector of your own found the weights.")
    if isinstance(model.selector_, RankedSelector) and model.trace_.validation_name is not None:
        sentence += " How many of them to keep was measured on held-out rows."
    return sentence


def describe(model: SelectiveNB) -> str:
    """One paragraph on a fitted model."""
    levels = model.encoder_.levels_
    silent = sum(level.n_levels == 1 for level in levels)
    n_selected = model.n_features_selected_
    sentences = [
        f"Trained on {model.n_rows_:,} rows with {plural(len(levels), 'feature')} and {len(model.classes_)} classes "
        f"({_class_shares(model)})."
    ]
    parts = {how: model.scorecard_.provenance.get(how, ()) for how in ("merged", "updated")}
    if parts["merged"]:
        sentences.append(f"Merged from models of {listed([f'{note.rows:,}' for note in parts['merged']])} rows.")
    if parts["updated"]:
        rows = [f"{note.rows:,} on {note.when[:10]}" for note in parts["updated"]]
        sentences.append(f"Updated with further rows: {listed(rows)}.")
    if model.selector_.learns_from_part:
        sentences.append("Some of them chose the features; the others give the probabilities.")
    if n_selected == 0:
        sentences.append(
            "No feature says anything reliable about the target: predictions are the shares of the classes."
        )
    else:
        words, card = Wording.of(model.scorecard_), model.scorecard_
        first = [words.named(card[name].levels) for name in model.selected_features_[:_MOST_FEATURES]]
        is_one, is_first = ("is" if n == 1 else "are" for n in (n_selected, len(first)))
        sentences.append(
            f"{n_selected} of {plural(len(levels), 'feature')} {is_one} in the model; the most important {is_first} "
            f"{listed(first)}."
        )
    if silent:
        some = plural(silent, "feature") + (" has" if silent == 1 else " have")
        sentences.append(f"{some} a single level: no cut point or grouping pays for itself.")
    return " ".join(sentences)


def feature_note(model: SelectiveNB, k: int) -> str | None:
    """The description of a feature, and a remark, or None."""
    name, rules = model.encoder_.levels_[k].name, getattr(model.encoder_, "rules_", None)
    label = Wording.of(model.scorecard_).labels.get(name, {})
    rule = None if rules is None else rules.rules.get(name)
    remarks = [label.get("description"), "" if rule is None else rule.in_words]
    if rule is None or not rule.exclude:
        remarks.append(_remark(model, k))
    return " ".join(filter(None, remarks)) or None


def _remark(model: SelectiveNB, k: int) -> str | None:
    level = model.encoder_.levels_[k]
    if level.name in {edit.feature for edit in model.edits_}:
        return "Edited by hand."
    if model.feature_weights_[k] == 0 and model.scorecard_.features[k].is_used:
        if isinstance(level, PairLevels) and level.level_score == 0:
            return "A surface: evidence of both columns together, fitted to what all others leave unsaid."
        return "Its levels have no weight, but its evidence within levels adds to the other features."
    if level.n_levels == 1:
        return _single_level(level, model.n_rows_)
    if model.feature_weights_[k] == 0 and isinstance(model.selector_, RankedSelector):
        return "Informative alone, but ranked behind the features kept."
    if model.feature_weights_[k] == 0 and isinstance(model.selector_, BoostedSelector):
        return "Informative alone, but won no round."
    if model.feature_weights_[k] == 0:
        return "Informative alone, but adds nothing to the other features."
    return None


def _single_level(level: FeatureLevels, n_rows: int) -> str:
    """Why a feature has one level; it may still say something about the target."""
    if isinstance(level, PairLevels):
        return "One level: no grouping of its cells pays for itself."
    if level.groups is None:
        return "One level: no cut point pays for itself."
    n_values = len(level.groups[0])
    if n_values == 1:
        return f"One level: {'missing' if None in level.groups[0] else 'the same value'} in all rows."
    return f"One level: no grouping pays for itself ({n_values:,} values, {n_rows / n_values:,.1f} rows a value)."


def weights_in_words(model: SelectiveNB) -> str:
    """The effect of calibration on the weights, for a list of settings."""
    evidence = model.scorecard_.provenance["evidence"]
    if evidence != "counted":
        finer = "" if evidence == "levels" else ", and of parts of them,"
        return f"evidence of the levels{finer} fitted to the rows, all features together"
    if all(feature.weight == feature.search_weight for feature in model.scorecard_.features):
        return "weights of the selector as they are"
    return f"weights fitted once more to the rows, around {model.weight_factor_:.3g} times those of the selector"


def smoothing_in_words(model: SelectiveNB) -> str:
    """How probabilities were smoothed, for a list of settings."""
    if not isinstance(model.smoothing_, Shrinkage):
        return str(model.smoothing_)
    fading = ", fewer in frequent levels" if model.smoothing_.fades else ""
    rows = plural(model.smoothing_.rows, "row")
    return f"observed and expected rows of each level with {rows} more{fading}, which calibration chose"


def summarise(model: SelectiveNB) -> Any:
    """One row per feature, most important first."""
    from bayesieve.table.frames import in_library, results_frame

    levels = model.encoder_.levels_
    card = model.scorecard_
    of_levels = [card.side * feature.sign for feature in card.features]
    monotone: dict[str, Any] = {}
    if any(of_levels):
        positive = str(card.classes[card.positive])
        monotone = {"monotone": of_levels, "monotone_class": [positive if sign else None for sign in of_levels]}
    frame = results_frame(
        {
            "feature": list(TableLevels.of(model.encoder_.levels_).names),
            "kind": [level.kind for level in levels],
            "weight": model.feature_weights_,
            "level_score": model.encoder_.level_scores_,
            "importance": [feature.importance for feature in card.features],
            "n_levels": [level.n_levels for level in levels],
            **monotone,
        }
    )
    order = ["importance", "weight", "level_score"]
    return in_library(frame.sort(order, descending=True, maintain_order=True), card.library)


def _class_shares(model: SelectiveNB) -> str:
    counts = model.scorecard_.class_counts
    order = np.argsort(-counts, kind="stable")
    texts = [f"{model.classes_[j]} {100 * counts[j] / counts.sum():.1f} %" for j in order[:_MOST_CLASSES]]
    return ", ".join(texts) + (", ..." if len(order) > _MOST_CLASSES else "")


def look_over(
    card: Scorecard, trace: SearchTrace, marks: Mapping[str, str], seen: Sequence[Caution] = ()
) -> tuple[Caution, ...]:
    """The cautions ``seen`` in the training table, and those that follow from the model alone.

    Parameters
    ----------
    marks : what columns mark, by name: "counter", "identifier" or "date".
    """
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
    """Columns with several levels by hand that no feature of the model uses."""
    used = {name for feature in card.features if feature.is_used for name in feature.columns}
    by_hand = (name for name in card.provenance.get("by_hand", ()) if name not in used)
    return about_columns(
        "dropped",
        [name for name in by_hand if card[name].levels.n_levels > 1],
        "[Column|Columns] {} with levels by hand [is|are] not in the model, because the search dropped [it|them]: "
        "add include: true to what levels asks of [it|them] to have [it|them] in the model.",
    )


def _levels_without_rows(card: Scorecard) -> list[Caution]:
    """Levels without training rows whose smoothed counts say something about the classes all the same."""
    if isinstance(card.provenance["smoothing"], Shrinkage):
        return []
    levels = [feature.levels for feature in card.used_features]
    empty = [(own, k) for own in levels for k in np.flatnonzero(np.asarray(own.counts).sum(axis=1) == 0).tolist()]
    if not empty:
        return []
    texts = _level_texts(empty)
    sentence = (
        f"{texts} without training rows: with smoothing={card.provenance['smoothing']!r}, such levels speak for the "
        "rare classes. Join them to other levels, or fit with calibrate='auto' and smoothing='m-estimate', where they "
        "add nothing."
    )
    return [Caution("levels without rows", tuple(dict.fromkeys(own.name for own, _ in empty)), sentence)]


def _rare_levels(card: Scorecard) -> list[Caution]:
    """Levels of few rows that are all of one class; cells of surfaces are no levels."""
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
        f"{_level_texts(rare)} with fewer than {_FEWEST_ROWS_OF_LEVEL} training rows, all of a single class: what such "
        "levels add is uncertain. Join them to others (levels=, or edit().merge) unless they have a reason."
    )
    return [Caution("rare levels", tuple(dict.fromkeys(own.name for own, _ in rare)), sentence, warns=False)]


def _level_texts(levels: Sequence[tuple[FeatureLevels, int]]) -> str:
    """The beginning of a sentence about some levels, given by their positions."""
    names = [f"{own.labels[k]!r} of {own.name!r}" for own, k in levels]
    return f"Level {names[0]} is" if len(names) == 1 else f"Levels {listed(names)} are"


def _contradicted_signs(card: Scorecard) -> list[Caution]:
    """Columns of ``monotone`` whose rows say much more with the opposite sign: their evidence becomes flat."""
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
    """Nats that shares of the second class which do not fall (1), or do not rise (-1), over the intervals of numbers
    save in the rows of these intervals, against the same share in all; ``counts`` is (n_levels, 2).
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
    """The columns that features of the model are made of."""
    levels = [feature.levels for feature in card.features]
    used = np.isin(np.arange(len(levels)), card.used)
    return [levels[k] for k in np.flatnonzero(columns_behind(levels, used)).tolist()]


def _numbered(used: Sequence[tuple[FeatureLevels, str | None]], apart: set[str]) -> list[Caution]:
    """Counters and identifiers that are used, by themselves or in pairs, except those set ``apart``."""
    marks = ("counter", "identifier")
    columns = [level.name for level, mark in used if mark in marks and level.name not in apart]
    return about_columns(
        "identifier",
        columns,
        "[Column|Columns] {} [looks like an identifier|look like identifiers] that the model uses: new rows will have "
        "other values. Leave [it|them] out.",
    )


def _dates(used: Sequence[tuple[FeatureLevels, str | None]]) -> list[Caution]:
    """Columns of dates, which are cut into intervals: new rows are later than all training rows."""
    dated = ("date", "datetime")
    columns = [own.name for own, mark in used if mark == "date" or (own.kind == "numeric" and own.type in dated)]
    return about_columns(
        "dates",
        columns,
        "[Column|Columns] {} [holds|hold] dates, whose last interval stands for all of the future: every later row is "
        "taken for one of the last training rows. Use the time since some event instead, or leave dates out.",
    )


def _separating(card: Scorecard) -> list[Caution]:
    """Columns that separate the classes; without an exception, they are hardly known before the target."""
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


def table_cautions(table: Any, coded: CodedTable, encoder: Any) -> list[Caution]:
    """Cautions about raw columns; ``coded`` holds the same rows, in the same order or as its ``rows.runs`` say."""
    if not isinstance(encoder, TableEncoder):
        return []
    kinds = encoder.kinds if encoder.rules_ is None else encoder.rules_.kinds(encoder.kinds)
    table = as_table(table, kinds=kinds)
    every = np.arange(coded.n_rows, dtype=np.min_scalar_type(coded.n_rows))
    rows = every if coded.weights is None else np.flatnonzero(coded.weights > 0)
    if coded.rows.runs is not None and isinstance(table, ScannedTable):
        table = table.by_class(coded.rows.runs)
    columns = _Columns(table, rows, coded, TableLevels.of(encoder.levels_).of_columns)
    target = _copies_of_target(columns)
    as_categories = {name for name, kind in (kinds or {}).items() if kind == "categorical"}
    texts = _numbers_as_text(columns.levels, as_categories)
    return [
        *getattr(encoder, "scan_cautions_", ()),
        *target,
        *texts,
        *_identifiers(columns, getattr(encoder, "marks_", {}), {c.columns[0] for c in texts}),
        *_copies(columns, {name for caution in target for name in caution.columns}),
    ]


class _Columns:
    """Raw columns of the rows that count, with their codes."""

    def __init__(self, table: Table, rows: np.ndarray, coded: CodedTable, levels: TableLevels) -> None:
        self.rows, self.coded, self.levels = rows, coded, levels
        self._table = table
        self.sample, self.most = map(coded.drawn, _SAMPLES)

    def counts(self, k: int) -> list[list[float]]:
        """Rows (or weight) by level and class."""
        return np.asarray(self.levels.class_counts(k)).tolist()

    def partition(self, k: int, rows: np.ndarray) -> bytes:
        """Which of the rows share a level."""
        codes = self.codes(k, rows)
        return (codes != codes[0]).tobytes() if self.levels.n_levels[k] == 2 else pattern(codes)

    def known(self, k: int, rows: np.ndarray) -> np.ndarray:
        """Where a column is not missing, as far as its levels show, (rows.size,) bool."""
        codes, missing = self.codes(k, rows), self.levels[k].missing_code
        known = codes < self.levels.n_levels[k]
        return known if missing is None else known & (codes != missing)

    def codes(self, k: int, rows: np.ndarray) -> np.ndarray:
        """Codes of the levels, shape (rows.size,)."""
        return np.asarray(self.coded.codes_at([k], slice(None) if rows.size == self.coded.n_rows else rows)[0])

    def values(self, k: int, rows: np.ndarray) -> np.ndarray:
        """Numbers, NaN = missing, or codes of categories, -1 = missing, shape (rows.size,)."""
        table = self._table.select([k])
        column = (table.take(rows) if rows.size < table.n_rows else table).column(0)
        return column.numbers() if column.kind == "numeric" else column.categories().codes


def _copies_of_target(columns: _Columns) -> list[Caution]:
    """Columns with one value for each class where they are known, which is in most rows."""
    coded, levels = columns.coded, columns.levels
    assert coded.class_codes is not None
    names = []
    for k in np.flatnonzero((levels.n_levels - 1 <= coded.n_classes) & (levels.n_levels >= coded.n_classes)).tolist():
        if sum(sum(n > 0 for n in level) > 1 for level in columns.counts(k)) > 1:
            continue  # more levels of several classes than that of missing values
        has_level = columns.known(k, columns.most)
        known = columns.most[has_level]
        if 2 * known.size < columns.most.size:
            continue
        classes = pattern(coded.class_codes[known])
        if pattern(columns.codes(k, columns.most)[has_level]) == classes == pattern(columns.values(k, known)):
            names.append(coded.names[k])
    return about_columns(
        "target",
        names,
        "[Column|Columns] {} [has|have] one value for each class of the target, as a copy of it has: leave [it|them] "
        "out unless [it is|they are] known before the target is.",
    )


def _numbers_as_text(levels: TableLevels, as_categories: Collection[str]) -> list[Caution]:
    """Columns that are read as text, although nearly all of their values are numbers or dates.

    Parameters
    ----------
    as_categories : names of columns that the user asks to read as categories.
    """
    cautions = []
    for level in levels.in_objects:
        if level.groups is None or level.type not in ("text", "mixed") or level.name in as_categories:
            continue
        form = form_of([canonical_text(value) for group in level.groups for value in group if value is not None])
        if form is not None:
            cautions.append(Caution("numbers as text", (level.name,), _form_sentence(level.name, form)))
    return cautions


def _form_sentence(name: str, form: TextForm) -> str:
    others, numeric = (
        listed([*map(quoted_text, form.others)], _MOST_OTHERS),
        f"TableEncoder(kinds={{{name!r}: 'numeric'}})",
    )
    if form.kind == "number" and not form.others:
        return (
            f"Column {name!r} is read as text, but its values are numbers, except marks of missing ones. Read it as "
            f"numbers: --numeric {name} ({numeric})."
        )
    if form.kind == "number":
        none = "is no number" if len(form.others) == 1 else "are no numbers"
        them = "it" if len(form.others) == 1 else "them"
        return (
            f"Column {name!r} is read as text: {len(form.others):,} of its {form.n_texts:,} different values {none}, "
            f"{others}. Give {them} a level, special: {form.others[:_MOST_OTHERS]} in levels= or --levels, which reads "
            f"the rest as numbers; or correct {them}: --numeric {name} ({numeric}) names the line of what is left."
        )
    reasons = [f"{others} {'is' if len(form.others) == 1 else 'are'} no {form.kind.split()[-1]}"] if form.others else []
    if form.kind == "formatted number":
        return (
            f"Column {name!r} is read as text: its numbers have thousands separators, decimal commas, or signs of "
            f"percent or currency, such as {form.example!r}{', and ' + reasons[0] if reasons else ''}. Write them as "
            "1234.5, or read the column as categorical."
        )
    if form.kind == "date" and form.is_ordered and not reasons:
        return (
            f"Column {name!r} is read as text, but it holds dates such as {form.example!r}. Convert it to dates before "
            "the fit, or fit the file, where dates of this form are recognised."
        )
    if form.kind == "short date":
        reasons.insert(0, "their years have two digits")
    if not form.is_ordered:
        reasons.insert(0, "the values do not prove one order of day and month")
    return (
        f"Column {name!r} is read as text: it holds dates such as {form.example!r}, but {' and '.join(reasons)}. Write "
        "dates as 2024-12-31."
    )


def _identifiers(columns: _Columns, marks: Mapping[str, str], others: Collection[str]) -> list[Caution]:
    """Columns that name rows, nearly every one of which has a unique value. Numbers that tell nothing about the classes
    do no harm and are not looked at.
    """
    names = [
        name
        for k, name in enumerate(columns.coded.names[: len(columns.levels)])
        if marks.get(name) in ("counter", "identifier") and name not in others and _are_different(columns, k)
    ]
    return about_columns(
        "identifier",
        names,
        "[Column|Columns] {} [looks like an identifier|look like identifiers]: nearly every row has a value of its "
        "own, and new rows will have others. Leave [it|them] out.",
    )


def _are_different(columns: _Columns, k: int) -> bool:
    """Whether nearly all categories of a column are different, or informative numbers."""
    level = columns.levels[k]
    if level.groups is None:
        values = columns.values(k, columns.most) if level.n_levels > 1 else np.zeros(0)
        return bool(np.unique(values).size > _NEARLY_ALL * np.count_nonzero(~np.isnan(values)))
    n_values = sum(map(len, level.groups)) - (level.missing_code is not None)
    n_known = columns.rows.size if len(level.groups) == 1 else np.count_nonzero(columns.known(k, columns.rows))
    return bool(n_values >= _NEARLY_ALL * n_known)


def _copies(columns: _Columns, apart: set[str]) -> list[Caution]:
    """Columns that are copies of each other, also in other units or words, except those set ``apart``."""
    names = columns.coded.names
    groups = [[k for k in np.flatnonzero(columns.levels.n_levels > 1).tolist() if names[k] not in apart]]
    if columns.coded.weights is None:  # sums of weights may differ in the last digit
        groups = _split(groups, lambda k: repr(sorted(columns.counts(k))).encode())
    for rows in (columns.sample, columns.most):
        groups = _split(groups, lambda k, rows=rows: columns.partition(k, rows))  # type: ignore[misc]
        groups = _split(groups, lambda k, rows=rows: pattern(columns.values(k, rows)))  # type: ignore[misc]
    if columns.most.size < columns.rows.size:
        groups = _split(groups, lambda k: columns.partition(k, columns.rows))
    if not groups:
        return []
    copies = [tuple(names[k] for k in group) for group in groups]
    examples = "; ".join(named(group) for group in copies[:_MOST_GROUPS])
    more = f"; and {len(copies) - _MOST_GROUPS:,} more groups of columns" if len(copies) > _MOST_GROUPS else ""
    sentence = (
        f"Columns say the same in every row: {examples}{more}. Leave out all but one, or they share their weight."
    )
    return [Caution("copies", tuple(name for group in copies for name in group), sentence)]


def _split(groups: list[list[int]], key: Callable[[int], bytes]) -> list[list[int]]:
    """The groups split by a key, without groups of one."""
    parts = []
    for group in groups:
        of_key: dict[bytes, list[int]] = {}
        for k in group:
            of_key.setdefault(key(k), []).append(k)
        parts += [part for part in of_key.values() if len(part) > 1]
    return parts


def pattern(values: np.ndarray) -> bytes:
    """Bytes that are the same for columns that are copies of each other, also in another unit or under other names:
    which rows have the same value, where these are whole numbers that come often, else their order, up or down.
    """
    distinct, first, codes = np.unique(values, return_index=True, return_inverse=True)
    codes = codes.astype(np.int32)
    if _OFTEN * first.size <= values.size and np.all(distinct == np.floor(distinct)):
        rank = np.empty(first.size, dtype=np.int32)
        rank[np.argsort(first)] = np.arange(first.size, dtype=np.int32)
        return rank[codes].tobytes()
    return min(codes.tobytes(), (first.size - 1 - codes).astype(np.int32).tobytes())


def order_cautions(coded: CodedTable, card: Scorecard, marks: Mapping[str, str]) -> list[Caution]:
    """At most one caution: of kind "order" if the order of the rows, or a column of dates, is informative about the
    classes, or levels of important features drift along the rows; of kind "class order" if rows are listed by class.

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
    """The classes of the rows that count, in the order in which they were given."""
    codes, runs, weights = coded.class_codes, coded.rows.runs, coded.weights
    codes = np.asarray(codes if runs is None else runs.codes)
    if weights is None or np.all(weights):
        return codes
    counted = np.flatnonzero(weights)
    return codes[counted if runs is None else np.sort(runs.in_source(counted))]


def _drifting(coded: CodedTable, card: Scorecard, marks: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The most important columns whose levels drift along the rows, without dates; and those that the rows are sorted
    by.
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


def about_columns(kind: str, columns: Sequence[str], sentence: str) -> list[Caution]:
    """A caution about columns, if there are any; the sentence as `agreeing` takes it."""
    return [Caution(kind, tuple(columns), agreeing(columns, sentence))] if columns else []
