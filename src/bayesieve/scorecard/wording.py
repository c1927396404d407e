"""Readable names, units and descriptions of columns, and texts of their levels, from a YAML file or a dict."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from bayesieve.scorecard.explanation import Explanation
from bayesieve.table import FeatureLevels
from bayesieve.table.labels import AS_SIGNS, AS_WORDS, cell_labels, group_labels, interval_labels
from bayesieve.table.pair_levels import PairLevels, pair_name
from bayesieve.table.values import canonical_text
from bayesieve.table.yaml_files import read_yaml
from bayesieve.words import did_you_mean, named

if TYPE_CHECKING:
    from bayesieve.scorecard.record import Scorecard


class Label(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Texts for one column: readable name, unit, description, reason code, and texts of its levels by label or value.

    If ``fixed`` is True, counterfactuals never propose to change the value of the column.
    """

    name: str = ""
    unit: str = ""
    description: str = ""
    code: str = ""
    levels: dict[str, str] = {}
    fixed: bool = False


def read_labels(source: Any, columns: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Check the labels that a user gives to columns, and return them as a dict of plain values by column.

    Parameters
    ----------
    source : mapping from columns to readable names, or to mappings with any of ``name``, ``unit``, ``description``,
        ``code`` (reason code), ``levels`` (texts by label of a level or by value) and ``fixed`` (whether
        counterfactuals must not change the column); or the path of a YAML file with such a mapping.
    columns : names of the columns that labels may describe.

    Raises
    ------
    ValueError
        If the source has another form, or names another column; the message names the place.
    """
    where = "The labels" if isinstance(source, Mapping) else str(source)
    if isinstance(source, (str, os.PathLike)):
        source = read_yaml(source)
    try:
        read = msgspec.json.decode(msgspec.json.encode(source), type=dict[str, Any])  # makes all keys texts
    except (msgspec.MsgspecError, TypeError):
        raise ValueError(f"{where} must map columns to labels, such as 'age: {{name: Age, unit: years}}'.") from None
    labels = {}
    for column, content in read.items():
        if column not in columns:
            hint = did_you_mean(column, columns) or f"its columns are {named(columns)}."
            raise ValueError(f"{where} describe the column {column!r:.80}, which the model does not have; {hint}")
        try:
            label = Label(content) if isinstance(content, str) else msgspec.convert(content, Label)
        except msgspec.MsgspecError as error:
            rule = f"{where} must give column {column!r:.80} texts as name, unit, description, code and levels"
            raise ValueError(f"{rule}: {str(error).rstrip('.')}.") from None
        labels[column] = msgspec.to_builtins(label)
    return labels


def unknown_levels(card: Scorecard, labels: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return a sentence about the first column whose labels name a level or value that the column does not have; None
    if there is no such column.
    """
    for column, label in labels.items():
        levels = _levels_of(card, column)
        texts = {"missing", *(text for level in levels for text in (*level.labels, *level.all_labels))}
        texts |= {canonical_text(value) for level in levels for group in level.groups or () for value in group}
        unknown = [text for text in label.get("levels", {}) if text not in texts]
        if unknown:
            hint = f"its levels are {named(text for level in levels[:1] for text in level.labels)}"
            return f"Column {column!r:.80} has no level or value {named(unknown)}, which the labels name; {hint}."
    return None


def _levels_of(card: Scorecard, column: str) -> list[FeatureLevels]:
    """Return all divisions of a column into levels or cells by which features use it; the levels of the column itself
    come first.
    """
    levels: list[FeatureLevels] = []
    for feature in card.features:
        parts = (*feature.levels.by_column, feature.cells)
        levels += [part for part in parts if part.column == column]
    return levels


@dataclass(frozen=True, eq=False)
class Wording:
    """Readable names of features and texts of levels, for all texts that people read.

    Parameters
    ----------
    labels : labels by column, as returned by `read_labels`.
    """

    labels: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, card: Scorecard) -> Wording:
        """Return the wording of a scorecard, from its stored labels."""
        return cls(card.provenance.get("labels", {}))

    def name(self, column: str) -> str:
        """Return the readable name of a column."""
        return str(self.labels.get(column, {}).get("name", column))

    @property
    def codes(self) -> dict[str, str]:
        """Reason codes by column."""
        return {column: label["code"] for column, label in self.labels.items() if label.get("code")}

    def named(self, level: FeatureLevels) -> str:
        """Return the readable name of a feature, given by its levels: of a column, a pair, or an indicator with its
        threshold.
        """
        if isinstance(level, PairLevels):
            plain_name = pair_name(*(part.name for part in level.parts))
            return pair_name(*map(self.named, level.parts)) + level.name.removeprefix(plain_name)
        if level.column != level.name:
            cut = level.labels[level.n_special_levels]
            return f"{self.name(level.column)} {cut}" if level.column in self.labels else level.name
        return self.name(level.name)

    def levels(self, level: FeatureLevels, full: bool = False) -> tuple[str, ...]:
        """Return the text of each level: the one that a user gave, otherwise its label with readable values and unit.

        If ``full`` is True, long labels are not shortened.
        """
        labels = level.all_labels if full else level.labels
        if isinstance(level, PairLevels):
            if not any(part.column in self.labels for part in level.parts):
                return labels
            return cell_labels([*map(self._part, level.parts)], level.grid, level.n_levels, full=full)
        if level.column not in self.labels:
            return labels
        texts = (
            self._intervals(level, AS_SIGNS) if level.groups is None else group_labels(self._groups(level), full=full)
        )
        return tuple(given or text for given, text in zip(self.given(level), texts, strict=True))

    def spoken(self, level: FeatureLevels) -> list[str]:
        """Return the text of each level in words for a letter, such as "over 40"; a group is named by one of its
        values.
        """
        if level.groups is not None:
            texts = ["missing" if group[0] is None else group[0] for group in self._groups(level)]
        else:
            texts = self._intervals(level, AS_WORDS)
        return [given or text for given, text in zip(self.given(level), texts, strict=True)]

    def _intervals(self, level: FeatureLevels, patterns: Sequence[str]) -> list[str]:
        """Return the texts of the intervals of a numeric column. ``patterns`` are the templates of these texts, with
        comparison signs or in words.
        """
        unit = self.labels.get(level.column, {}).get("unit", "")
        cuts, names, unit = np.asarray(level.cut_points), [*dict(level.special)], f" {unit}" if unit else ""
        return [*interval_labels(cuts, level.type, level.missing_code, names, patterns, unit)]

    def given(self, level: FeatureLevels) -> list[str | None]:
        """Return the text that a user gave to each level, by an edit or by labels; None for levels without one."""
        texts = self.labels.get(level.column, {}).get("levels", {})
        by_hand = level.renamed or (None,) * level.n_levels
        every = zip(by_hand, level.labels, level.all_labels, strict=True)
        return [texts.get(label, texts.get(whole, text)) for text, label, whole in every]

    def _groups(self, level: FeatureLevels) -> list[list[str | None]]:
        """Return the values of each group of categories as readable texts; None for missing values."""
        texts = self.labels.get(level.name, {}).get("levels", {})
        of = [[None if value is None else canonical_text(value) for value in group] for group in level.groups or ()]
        return [[text if text is None else texts.get(text, text) for text in group] for group in of]

    def _part(self, part: FeatureLevels) -> SimpleNamespace:
        """Return the levels of one column of a pair for `cell_labels`, with the readable name of the column and the
        readable texts of categories in place of those in ``part``.
        """
        groups = None if part.groups is None else self._groups(part)
        names = ("cut_points", "type", "missing_code", "n_special_levels", "special", "labels")
        return SimpleNamespace(name=self.named(part), groups=groups, **{name: getattr(part, name) for name in names})


def described(card: Scorecard, explanation: Explanation) -> Explanation:
    """Return an explanation with readable names and texts of levels, if the scorecard has labels."""
    words = Wording.of(card)
    if not words.labels:
        return explanation
    names, texts = [], explanation.levels.copy()
    scores = {family.name: family for family in card.reader.column_levels}
    for k, name in enumerate(explanation.features):
        level = card[name].levels if name in card else scores[name]
        names.append(words.named(level))
        labels = Counter(level.labels)
        text_by_label = {a: b for a, b in zip(level.labels, words.levels(level), strict=True) if labels[a] == 1}
        texts[:, k] = [text_by_label.get(label, label) for label in texts[:, k]]
    return replace(explanation, names=names, levels=texts)
