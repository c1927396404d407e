"""Provenance of a model as plain values, which reports show and files keep."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Required, TypedDict

import msgspec

from bayesieve.counts.contingency import Shrinkage
from bayesieve.plain_values import Count, Finite
from bayesieve.scorecard.combining import Note
from bayesieve.scorecard.edits import Edit
from bayesieve.scorecard.wording import Label

Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


class SelectorFacts(TypedDict, total=False):
    """The selector that found the weights.

    name, sentence : of the selector.
    remark : the reason for which an informative feature has weight 0.
    chooses_on_path : whether it selects one of the subsets that its search passes through.
    rows_by_class : all training rows of each class, if the probabilities are learnt from part of them only.
    """

    name: Required[str]
    sentence: Required[str]
    remark: str
    chooses_on_path: bool
    rows_by_class: tuple[int, ...]


class TableFacts(TypedDict):
    """The training table: its size, and the SHA-256 of its values, classes and weights (32 hexadecimal digits)."""

    rows: int
    columns: int
    sha256: str


class RulesFile(TypedDict):
    """File from which the rules for levels were read."""

    name: str
    sha256: str
    content: str


class Provenance(TypedDict, total=False):
    """Origin of a model: the data, options and later changes.

    n_rows : number of training rows.
    evidence : what contributions were fitted to; "counted" if they follow from counts and weights.
    weight_factor : common factor on the selector's weights around which calibration fitted them.
    smoothing : of the probabilities, after calibration.
    positive : position of the class that reasons and points are about, if it was given.
    prior : shares of the classes that probabilities are for, if not those of training.
    selector : the selector that found the weights.
    coding : how columns became levels, in words: pairs of a title and a text.
    options : of the fit; those that were objects are the text of these, {"object": text}, and ``levels`` is whether
        ``rules`` were given as this option.
    rules : rules for levels by column, as they were given; by_hand : columns whose levels are by hand.
    rules_file : the file that they were read from.
    marks : columns that are identifiers, counters or dates.
    table : the training table, if it was in memory.
    versions : of this package, Python and NumPy.
    labels : words for people by column, see `SelectiveNB.with_labels`.
    edits : what was changed by hand.
    merged, updated : the models that it was merged from, and the rows that it learnt from later.
    min_count : of which all counts are multiples.
    """

    n_rows: Required[Count]
    evidence: Required[Literal["counted", "levels", "cells"]]
    weight_factor: Required[Share]
    smoothing: Required[Literal["m-estimate"] | Finite | Shrinkage]
    positive: Annotated[int, msgspec.Meta(ge=0)]
    prior: tuple[Share, ...]
    selector: Required[SelectorFacts]
    coding: tuple[tuple[str, str], ...]
    options: dict[str, Any]
    rules: dict[str, Any]
    by_hand: tuple[str, ...]
    rules_file: RulesFile
    marks: dict[str, str]
    table: TableFacts
    versions: dict[str, str]
    labels: dict[str, Label]
    edits: tuple[Edit, ...]
    merged: tuple[Note, ...]
    updated: tuple[Note, ...]
    min_count: Annotated[int, msgspec.Meta(ge=2)]
