"""Statements about the class that reasons and points refer to, and a warning if by default it is a rare class.

Reasons are the columns that speak against a class in a row; points are the rounded scores of a scorecard, of which more
make the positive class more likely.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from bayesieve.scorecard.record import Scorecard
from bayesieve.table.cautions import Caution, issue
from bayesieve.words import format_percent, listed, visible

POINTS, REASONS = "points", "reasons"


def class_in_words(label: Any, target: str | None) -> str:
    """Return a class label with the name of the target column, if known: ``1 of target 'bad'``."""
    return visible(label) + (f" of target '{visible(target)}'" if target else "")


def directions(
    card: Scorecard, results: Collection[str], target_class: Any = None, target: str | None = None
) -> dict[str, str]:
    """Return sentences that state which class points favour and which class reasons oppose, by result.

    Parameters
    ----------
    card : the fitted model.
    results : the results in a report or file: `POINTS`, `REASONS` or both.
    target_class : class against which reasons speak; None for the positive class.
    target : name of the target column, or None if unknown.
    """
    positive, at = card.positive, card.position(target_class)
    labels = [class_in_words(label, target) for label in card.classes.tolist()]
    statements = {}
    if positive is not None:
        statements["positive class"] = labels[positive]
        if POINTS in results:
            statements[POINTS] = f"more points make {labels[positive]} more likely"
    if REASONS in results:
        statements[REASONS] = "for the predicted class" if at is None else f"against {labels[at]}"
    return statements


def warn_of_direction(card: Scorecard, results: Collection[str], target_class: Any = None) -> None:
    """Warn if points or reasons refer by default to the rarer of two classes.

    ``results`` are the results in a report or file, `POINTS`, `REASONS` or both; ``target_class`` is the class that the
    caller chose for reasons, or None. Often class 1 means a bad outcome: reasons against class 1 would then list the
    strengths of an applicant.
    """
    concerned = [name for name in (POINTS, REASONS) if name in results and (name == POINTS or target_class is None)]
    if not concerned or card.classes.size != 2 or "positive" in card.provenance:
        return
    other, positive = card.class_counts.tolist()
    if positive >= other:
        return
    common, rare = card.classes.tolist()
    effects = {
        POINTS: f"more points make {visible(rare)} more likely",
        REASONS: f"reasons speak against {visible(rare)}",
    }
    effect, share = listed([effects[name] for name in concerned]), format_percent(positive / (other + positive))
    sentence = (
        f"{effect[0].upper() + effect[1:]}, the second class, which only {share} of the training rows have. If "
        f"{visible(rare)} is the bad outcome, fit with positive={common!r} (--positive on the command line); otherwise "
        f"confirm it with positive={rare!r}."
    )
    issue([Caution("positive class", (), sentence)])
