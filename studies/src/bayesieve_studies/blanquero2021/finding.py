"""A claim of Blanquero et al. (2021) with its verdict, and numbers in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesieve.statistics import PairedTest
from bayesieve_studies.tables import TextTable, p_text, signed


@dataclass(frozen=True)
class Finding:
    """A claim of the paper, what it reports, what we measure, whether the claim holds here, and why not, if known."""

    where: str
    sentence: str
    paper: str
    ours: str
    holds: bool
    why: str = ""


def table(checked: Sequence[Finding]) -> TextTable:
    """Every claim and its verdict."""
    rows = [
        (one.where, one.sentence, one.paper, one.ours, "holds" if one.holds else "**does not hold**") for one in checked
    ]
    return TextTable.of(("Where", "Claim", "Paper", "Ours", "Verdict"), rows)


def sentences(checked: Sequence[Finding]) -> tuple[str, ...]:
    """Each claim with its verdict."""
    return tuple(f"{one.sentence}: {'holds' if one.holds else 'does not hold'} ({one.ours})." for one in checked)


def reasons(checked: Sequence[Finding]) -> str:
    """Why claims do not hold, in Markdown."""
    return "\n\n".join(f"**{one.where}: {one.sentence}.** {one.why}" for one in checked if one.why and not one.holds)


def points(test: PairedTest) -> str:
    text = f"{signed(100 * test.difference, 2)} points"
    return text if np.isnan(test.p_value) else f"{text}, p {in_words(test.p_value)}"


def in_words(p_value: float) -> str:
    text = p_text(p_value)
    return text if text.startswith("<") else f"= {text}"


def value_range(values: Sequence[float], *, plus: bool = False) -> str:
    """The least and the largest value."""
    if not values:
        return "none"
    low, high = (signed(v, 1) if plus else f"{v:.1f}" for v in (min(values), max(values)))
    return f"{low} to {high}"
