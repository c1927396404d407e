"""A fitted model in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.counts.contingency import Shrinkage
from bayesieve.scorecard.wording import Wording
from bayesieve.selection.boosted import BoostedSelector
from bayesieve.selection.filters import RankedSelector
from bayesieve.table import FeatureLevels
from bayesieve.table.derived_levels import PairLevels
from bayesieve.table.frames import in_library, results_frame
from bayesieve.table.levels import TableLevels
from bayesieve.words import listed, plural

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB

_MOST_CLASSES = 6
_MOST_FEATURES = 3


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
