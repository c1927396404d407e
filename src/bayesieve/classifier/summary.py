"""Summary of a fitted model as a dataframe and in words: features, remarks, and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bayesieve.counts.contingency import Shrinkage
from bayesieve.discretize.ruled_coders import AS_LEARNT
from bayesieve.discretize.rules import LevelRule, TableRules
from bayesieve.scorecard.wording import Wording
from bayesieve.table.frames import in_library, results_frame
from bayesieve.table.pair_levels import PairLevels
from bayesieve.words import plural

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB


def rules_of(model: SelectiveNB) -> TableRules | None:
    """Return the rules for levels with which a model was fitted; None if there were none."""
    card = model.scorecard_
    if "rules" not in card.provenance:
        return None
    learnt = {name for caution in model.cautions_ if caution.kind == AS_LEARNT for name in caution.columns}
    return TableRules.of(card.provenance["rules"], card.side).as_learnt(learnt)


def feature_note(model: SelectiveNB, k: int, rules: TableRules | None) -> str | None:
    """Return a note on the feature at position k: its description by labels, the rule for its levels in words, and a
    remark, such as why it is not in the model; None if there is nothing to say.

    ``rules`` are the rules for levels with which the model was fitted.
    """
    feature = model.scorecard_.features[k]
    label = Wording.of(model.scorecard_).labels.get(feature.name, {})
    rule = None if rules is None else rules.rules.get(feature.name)
    remark: str | None = None
    if rule is not None and rule.exclude:
        pass  # the rule says it already
    elif feature.name in {edit.feature for edit in model.edits_}:
        remark = "Edited by hand."
    elif not feature.is_used:
        remark = _reason_against(model, k)
    elif feature.weight <= 0:
        if isinstance(feature.levels, PairLevels) and feature.levels.level_score == 0:
            remark = "A surface: joint contributions of both columns, fitted to what the other features do not explain."
        elif feature.levels.n_levels == 1:
            kind = "A curve" if feature.kind == "numeric" else "No groups"
            remark = f"{kind}: what its values add was fitted together with all other features."
    notes = (label.get("description"), "" if rule is None else rule.in_words, remark)
    return " ".join(filter(None, notes)) or None


def _reason_against(model: SelectiveNB, k: int) -> str | None:
    """Return a sentence that explains why the feature at position k is not in the model; None if the reason is
    unknown.
    """
    level, card = model.scorecard_.features[k].levels, model.scorecard_
    pairs = [one for one in card.used_features if one.kind == "pair" and level.name in one.columns]
    if level.kind != "pair" and pairs:
        return f"In the model through {plural(len(pairs), 'pair')} only."
    if level.n_levels > 1:
        return card.provenance["selector"].get("remark")
    # A single level has no grouping; the cells within it may still be informative.
    if isinstance(level, PairLevels):
        return "One level: no grouping of its cells pays for itself."
    if level.kind == "numeric":
        return "One level: no cut point pays for itself."
    n_values = level.n_values
    if n_values == 1:
        return f"One level: {'missing' if level.has_missing_level else 'the same value'} in all rows."
    rows_per_value = model.n_rows_ / n_values
    return f"One level: no grouping pays for itself ({n_values:,} values, {rows_per_value:,.1f} rows a value)."


def left_out(model: SelectiveNB) -> dict[str, list[str]]:
    """Return the names of the features that are not in the model, grouped by the reason."""
    card, fit_rules, edited = model.scorecard_, rules_of(model), {edit.feature for edit in model.edits_}
    rules: Mapping[str, LevelRule] = {} if fit_rules is None else fit_rules.rules
    words, names = Wording.of(card), dict[str, list[str]]()
    for k, feature in enumerate(card.features):
        if not feature.is_used:
            excluded = feature.name in rules and rules[feature.name].exclude
            by_hand = "Excluded by hand." if excluded else "Edited by hand." if feature.name in edited else ""
            reason = by_hand or _reason_against(model, k) or ""
            names.setdefault(reason.partition(" (")[0].rstrip("."), []).append(words.named(feature.levels))
    return names


def weights_in_words(model: SelectiveNB) -> str:
    """Return in words how weights and contributions were fitted, for a list of settings."""
    evidence = model.scorecard_.provenance["evidence"]
    if evidence != "counted":
        finer = "levels" if evidence == "levels" else "levels and of cells within them"
        return f"contributions of {finer}, fitted to the rows, all features jointly"
    if all(feature.weight == feature.search_weight for feature in model.scorecard_.features):
        return "weights of the selector as they are"
    return f"weights fitted once more to the rows, around {model.weight_factor_:.3g} times those of the selector"


def smoothing_in_words(model: SelectiveNB) -> str:
    """Return in words how probabilities were smoothed, for a list of settings."""
    if not isinstance(model.smoothing_, Shrinkage):
        return str(model.smoothing_)
    fading = ", fewer in frequent levels" if model.smoothing_.fades else ""
    rows = plural(model.smoothing_.rows, "row")
    return f"observed and expected rows of each level with {rows} more{fading}, which calibration chose"


def summarise(model: SelectiveNB) -> Any:
    """Return the frame documented in `SelectiveNB.summary`."""
    card = model.scorecard_
    levels = [feature.levels for feature in card.features]
    of_levels = [card.side * feature.sign for feature in card.features]
    monotone: dict[str, Any] = {}
    if any(of_levels):
        positive = str(card.classes[card.positive])
        monotone = {"monotone": of_levels, "monotone_class": [positive if sign else None for sign in of_levels]}
    frame = results_frame(
        {
            "feature": [level.name for level in levels],
            "kind": [level.kind for level in levels],
            "weight": model.feature_weights_,
            "level_score": [level.level_score for level in levels],
            "importance": [feature.importance for feature in card.features],
            "n_levels": [level.n_levels for level in levels],
            **monotone,
        }
    )
    order = ["importance", "weight", "level_score"]
    return in_library(frame.sort(order, descending=True, maintain_order=True), card.library)
