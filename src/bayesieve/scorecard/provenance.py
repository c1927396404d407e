"""Provenance of a model as plain values, shown in reports and stored in model files."""

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
    """Description of the selector that determined the weights of the features.

    name, sentence : name of the selector, and its description in a sentence.
    remark : reason why an informative feature may be missing from the model.
    chooses_on_path : whether the selector selects one of the subsets that its search passes through.
    rows_by_class : number of all training rows of each class, if probabilities are counted on a part of the rows only.
    """

    name: Required[str]
    sentence: Required[str]
    remark: str
    chooses_on_path: bool
    rows_by_class: tuple[int, ...]


class TableFacts(TypedDict):
    """Size of the training table, and SHA-256 of its values, classes and weights (first 32 hexadecimal digits)."""

    rows: int
    columns: int
    sha256: str


class RulesFile(TypedDict):
    """Name, hash and content of the file from which rules for levels were read."""

    name: str
    sha256: str
    content: str


class Provenance(TypedDict, total=False):
    """Origin of a model: data, options and later changes.

    n_rows : number of training rows.
    evidence : units whose contributions were fitted, "levels" or "cells"; "counted" if contributions follow from counts
        and weights without a fit.
    weight_factor : common factor on the selector's weights; calibration keeps the weights close to the product.
    smoothing : smoothing of the probabilities, after calibration.
    positive : position of the class that reasons and points refer to, if it was given.
    prior : class shares that probabilities refer to, if they differ from those of training.
    selector : the selector that determined the weights.
    coding : how columns were divided into levels, in words: pairs of a title and a text.
    options : options of the fit. Objects are stored as their text, {"object": text}; ``levels`` states whether
        ``rules`` were passed by this option.
    rules : rules for levels by column, as given.
    by_hand : columns whose levels were set by hand.
    rules_file : file from which the rules were read.
    marks : columns that were recognised as identifiers, counters or dates.
    table : the training table, if it was in memory.
    versions : versions of this package, Python and NumPy.
    labels : readable texts by column, see `SelectiveNB.with_labels`.
    edits : changes by hand.
    merged, updated : records of the models that were merged, and of the batches of rows by which the model was updated.
    min_count : number to whose multiples all counts are rounded.
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
