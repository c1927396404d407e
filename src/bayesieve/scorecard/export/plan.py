"""`Plan`: the form of a scorecard that all exports write.

    code  = position of the level (interval or group of values) that contains a value, computed by the column's reader
    line  = code of the one reader of a term, or ``cell[code, code]`` for the two readers of a pair
    joint = intercept + sum of ``table[line]`` over terms, the log joint probability of each class
    P     = softmax of joint

A term is a feature in the model. A cell is the unit that has contributions: one line of a term's table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from bayesieve.scorecard import reasons
from bayesieve.scorecard.record import Feature, Scorecard
from bayesieve.scorecard.wording import Wording
from bayesieve.table import FeatureLevels
from bayesieve.table.pair_levels import PairLevels
from bayesieve.table.text_types import number_of
from bayesieve.table.values import TEMPORAL, canonical_text, parse_number
from bayesieve.words import visible

Key = str | int | float | bool
Against = Literal["mean", "best"]


@dataclass(frozen=True, eq=False)
class Reader:
    """Rule that turns a value of a column into a code, the position of its level.

    A missing value (null, NaN, or a text of blanks unless "" is a key) has the code ``missing``. A value that is a key
    has the code of the key; texts are compared exactly, then without surrounding blanks. Any other number has the code
    ``first`` plus the number of ``cuts`` below it (a cut belongs to the interval on its left). Any other category has
    the code ``unseen``.

    Parameters
    ----------
    level : levels of the column from which the rule was derived.
    column : name of the raw column.
    type : type of the column in training: "number", "boolean", "text", "category", "mixed", "date", "datetime",
        "duration" or "time".
    cuts : ascending cut points; None for categories. Dates and times are numbers: days since 1970-01-01 for dates,
        otherwise microseconds (datetimes since 1970-01-01 in UTC, times since midnight).
    keys : codes of categories and special values. Keys are texts in a column of texts or of mixed values, otherwise
        True and False, numbers, or dates and times as numbers. A special value that is a text in a column of numbers is
        a text.
    first, missing, unseen : codes of the first interval, of missing and of unseen values. ``unseen`` is the last code;
        missing values may share it.
    refuses_infinite : whether infinite numbers are an error, as in `predict_proba`.
    """

    level: FeatureLevels
    column: str
    type: str
    cuts: tuple[float, ...] | None
    keys: dict[Key, int]
    first: int
    missing: int
    unseen: int
    refuses_infinite: bool

    @classmethod
    def of(cls, level: FeatureLevels) -> Reader:
        """Return the reader that turns values of a column into the codes of its levels."""
        keys: dict[Key, int] = {}
        cuts = None
        if level.groups is not None:
            of_groups = [(v, code) for code, group in enumerate(level.groups) for v in group if v is not None]
            if level.type in TEMPORAL:
                keys = {parse_number(canonical_text(value), level.type): code for value, code in of_groups}
            elif level.type == "boolean":
                keys = {canonical_text(value) == "True": code for value, code in of_groups}
            elif level.type == "number" and all(isinstance(value, (int, float)) for value, _ in of_groups):
                keys = dict(of_groups)  # type: ignore[arg-type]
            else:
                keys = {canonical_text(value): code for value, code in of_groups}
        elif level.cut_points is not None:
            cuts = tuple(level.number_cuts.tolist())
            for code, (_, values) in enumerate(level.special, level.n_special_levels - len(level.special)):
                keys |= {_special(value, level.type): code for value in values}
        of_missing = level.unseen_code if level.missing_code is None else level.missing_code
        return cls(
            level=level,
            column=level.column,
            type=level.type,
            cuts=cuts,
            keys=keys,
            first=level.n_special_levels,
            missing=of_missing,
            unseen=level.unseen_code,
            refuses_infinite=level.cut_points is not None,
        )

    @property
    def n_codes(self) -> int:
        """Number of codes, including that of unseen values."""
        return self.unseen + 1

    @property
    def is_moment(self) -> bool:
        """Whether values are dates or times."""
        return self.type in TEMPORAL

    @property
    def is_text(self) -> bool:
        """Whether values are texts."""
        return self.type in ("text", "category")

    @property
    def is_large(self) -> bool:
        """Whether keys include whole numbers that floats cannot distinguish."""
        return self.type == "number" and self.cuts is None and any(abs(float(key)) >= 2**53 for key in self.keys)


def _special(value: Any, type_: str) -> Key:
    """Return a special value as a key of `Reader`: a number in the unit of the column's type ``type_``, or a text if
    the value is not a number.
    """
    number = number_of(value, type_)
    return canonical_text(value).strip() if math.isnan(number) else number


@dataclass(frozen=True, eq=False)
class ExportedTerm:
    """Contributions of one feature in the form that exports write.

    Parameters
    ----------
    feature : the feature.
    readers : position in `Plan.readers` of the reader, or of both readers of a pair.
    table : (n_lines, n_classes) contributions in nats; the last line is for unseen values.
    cell : (n_codes of the first reader, n_codes of the second) line of each pair of codes; None for a single reader.
    """

    feature: Feature
    readers: tuple[int, ...]
    table: np.ndarray
    cell: np.ndarray | None

    @property
    def by_code(self) -> np.ndarray:
        """Contributions in nats by the code of each reader, shape (n_codes, n_classes), or (n_codes, n_codes,
        n_classes) for a pair.
        """
        return self.table if self.cell is None else self.table[self.cell]


@dataclass(frozen=True, eq=False)
class Plan:
    """Scorecard in the form that exports write: readers of columns, and terms whose contributions are added.

    Parameters
    ----------
    card : the scorecard.
    readers, terms : readers of the columns, and terms in the order in which contributions are added.
    head : facts about the model by name, all texts: ``model``, ``exported`` (date), ``bayesieve`` (version), ``rows``,
        ``checksum`` (SHA-256 of the model's content).
    with_counts : whether exports contain the training rows of each cell.
    """

    card: Scorecard
    readers: tuple[Reader, ...]
    terms: tuple[ExportedTerm, ...]
    head: Mapping[str, str]
    with_counts: bool = False

    @classmethod
    def of(cls, card: Scorecard, head: Mapping[str, str], with_counts: bool = False) -> Plan:
        """Return the plan of a scorecard. ``head`` and ``with_counts`` are attributes of the plan."""
        positions: dict[int, int] = {}
        readers: list[Reader] = []

        terms = []
        for feature in card.used_features:
            cells = feature.cells
            for level in cells.by_column:  # features with the same levels share a reader
                if id(level) not in positions:
                    positions[id(level)] = len(readers)
                    readers.append(Reader.of(level))
            grid = cells._level_of_codes.astype(np.int64) if isinstance(cells, PairLevels) else None
            terms.append(
                ExportedTerm(feature, tuple(positions[id(level)] for level in cells.by_column), feature.table, grid)
            )
        return cls(card, tuple(readers), tuple(terms), head, with_counts)

    @property
    def classes(self) -> list[Any]:
        """Class labels, in the order of the probabilities."""
        return self.card.classes.tolist()

    @property
    def columns(self) -> dict[str, str]:
        """Types of the raw columns that the model needs, by name, in the order of the training table."""
        types = {reader.column: reader.type for reader in self.readers}
        return {name: types[name] for name in self.card.columns if name in types}

    @cached_property
    def log_odds(self) -> tuple[float, list[np.ndarray]]:
        """Intercept, and for each term its contributions by code, shape (n_codes,) or (n_codes, n_codes) for a pair, to
        the log odds of the positive class; in nats, for two classes only.
        """
        assert len(self.classes) == 2
        return float(self.card.log_odds(self.card.intercept)), [self.card.log_odds(t.by_code) for t in self.terms]

    def reason_parts(
        self, target_class: Any = None, against: Against = "mean"
    ) -> dict[str, list[tuple[int, np.ndarray]]]:
        """Return, for each column in use, the features that contribute to its reason.

        Each feature is given by its position in `terms` and an array of contributions by code, shape (n_codes,) or
        (n_codes, n_codes) for a pair, in nats: to the score of a class, minus the contribution in the reference row.
        Columns are in the order of the training table. A column whose sum, rounded to `DECIMALS`, is below 0 is a
        reason: the lowest first, ties in the order of the columns (see `bayesieve.scorecard.reasons`).

        Parameters
        ----------
        target_class : label, default=None
            Class that reasons speak against; None for the positive class of the model.
        against : {"mean", "best"}, default="mean"
            Reference row: the average training row, or the best cell of each feature.

        Raises
        ------
        ValueError
            If there is no positive class and ``target_class`` is None.
        """
        at = self.card.position(target_class)
        if at is None:
            raise ValueError(
                f"Reasons of {len(self.classes)} classes need the class that they speak against; name it: "
                f"target_class={self.classes[0]!r}, for example."
            )
        references = reasons.reference_scores(self.card, against)
        parts: dict[str, list[tuple[int, np.ndarray]]] = {name: [] for name in reasons.columns_in_use(self.card)}
        for k, term in enumerate(self.terms):
            columns = term.feature.columns
            value = (reasons.class_scores(term.table)[:, at] - references[k, at]) / len(columns)
            for name in columns:
                parts[name].append((k, value if term.cell is None else value[term.cell]))
        return parts

    def reason_texts(self) -> dict[str, tuple[Reader, list[str]]]:
        """Return, for each column in use, the reader that distinguishes its values in reasons, and the text for each of
        its codes, unseen values last.
        """
        names = reasons.columns_in_use(self.card)
        levels_and_texts = [
            reasons.reason_texts(self.card, level) for level in reasons.distinguishing_levels(self.card, names)
        ]
        return {name: (Reader.of(level), texts) for name, (level, texts) in zip(names, levels_and_texts, strict=True)}

    @cached_property
    def words(self) -> Wording:
        """Readable names of features and texts of levels."""
        return Wording.of(self.card)

    def refuse(self, target: str, what: str, remedy: str) -> ValueError:
        """Return the ValueError for a model that a target cannot represent. ``what`` is the part of the model,
        ``remedy`` what the user can do, both as texts for the message.
        """
        return ValueError(f"{target} cannot represent {what}; {remedy}.")

    def counts_by_cell(self) -> Sequence[tuple[str, str, list[float]]]:
        """Return (feature, label, training rows by class) of each cell; empty unless the plan has counts."""
        if not self.with_counts:
            return []
        return [
            (term.feature.name, label, counts)
            for term in self.terms
            for label, counts in zip(term.feature.cells.all_labels, term.feature.counts.tolist(), strict=True)
        ]

    def facts(self) -> list[str]:
        """Return facts about the model and, if requested, its counts, as lines of comments.

        Line breaks are escaped, so that a name cannot end a comment.
        """
        cells = [f"rows of {name}, {label}: {', '.join(map(str, n))}" for name, label, n in self.counts_by_cell()]
        return [visible(fact) for fact in [*(f"{name}: {text}" for name, text in self.head.items()), *cells]]
