"""Description of a fitted model in one paragraph of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesieve.scorecard.wording import Wording
from bayesieve.words import listed, plural

if TYPE_CHECKING:
    from bayesieve.scorecard.record import Scorecard

_MAX_CLASSES = 6
_MAX_FEATURES = 3


def describe(card: Scorecard) -> str:
    """Return a paragraph about a model: its training rows, merges and updates, the features in use, and the columns
    without cuts. See `Scorecard.describe`.
    """
    n_features, n_used, provenance = len(card.features), int(card.used.size), card.provenance
    counts, order = card.class_counts, np.argsort(-card.class_counts, kind="stable")
    shares = [f"{card.classes[j]} {100 * counts[j] / counts.sum():.1f} %" for j in order[:_MAX_CLASSES]]
    some_shares = ", ".join(shares) + (", ..." if len(order) > _MAX_CLASSES else "")
    sentences = [
        f"Trained on {provenance['n_rows']:,} rows with {plural(n_features, 'feature')} and {card.classes.size} "
        f"classes ({some_shares})."
    ]
    if merged := provenance.get("merged", ()):
        sentences.append(f"Merged from models of {listed([f'{note.rows:,}' for note in merged])} rows.")
    if updated := provenance.get("updated", ()):
        rows = [f"{note.rows:,} on {note.when[:10]}" for note in updated]
        sentences.append(f"Updated with further rows: {listed(rows)}.")
    if "rows_by_class" in provenance["selector"]:
        sentences.append("Some of them chose the features; the others give the probabilities.")
    if n_used == 0:
        sentences.append(
            "No feature says anything reliable about the target: predictions are the shares of the classes."
        )
    else:
        words = Wording.of(card)
        first = [words.named(card.features[k].levels) for k in card.by_importance[:_MAX_FEATURES].tolist()]
        is_one, is_first = ("is" if n == 1 else "are" for n in (n_used, len(first)))
        sentences.append(
            f"{n_used} of {plural(n_features, 'feature')} {is_one} in the model; the most important {is_first} "
            f"{listed(first)}."
        )
    columns_in_use = {
        name for feature in card.used_features for name in feature.columns
    }  # includes columns of pairs and curves
    rules = provenance.get("rules", {})
    columns_in_use |= {name for name, rule in rules.items() if rule.get("exclude")}
    silent = sum(one.levels.n_levels == 1 and not columns_in_use.intersection(one.columns) for one in card.features)
    if silent:
        some = plural(silent, "other feature" if n_used else "feature") + (" has" if silent == 1 else " have")
        sentences.append(f"{some} a single level: no cut point or grouping pays for itself.")
    return " ".join(sentences)
