"""Checks of options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from typing import Any

from typer.core import TyperCommand, TyperOption

from bayesieve.cli.errors import CommandError
from bayesieve.cli.text import listed, quoted, similar


def require_choice(name: str, known: Collection[str], what: str, purpose: str = "") -> None:
    """Raise CommandError for an unknown name, and suggest the closest known name or list all of them."""
    if name in known:
        return
    known = list(known)
    meant = similar(name, known)
    hint = f"did you mean {quoted(meant[0])}?" if meant else f"choose from {listed(known, most=len(known))}"
    raise CommandError(f"There is no {what} {quoted(name)}{purpose}; {hint}")


def pairs_in(text: str, names: Collection[str]) -> Any:
    """The value of --pairs: "auto", a number, or lists of two names of columns; CommandError for anything else."""
    if text == "auto":
        return text
    if text.isdecimal() and len(text) < 10:
        return int(text)
    pairs = [[name.strip() for name in part.split(":")] for part in text.split(",")]
    for pair in pairs:
        if len(pair) != 2:
            raise CommandError(f"--pairs must be auto, a number, or pairs such as A:B,C:D, got {quoted(text)}")
        for name in pair:
            require_choice(name, names, "column", " of --pairs")
        if pair[0] == pair[1]:
            raise CommandError(f"--pairs names the column {quoted(pair[0])} twice in one pair; name two columns")
    return pairs


def signs_in(given: list[str], names: Collection[str]) -> dict[str, int]:
    """Signs by column from texts such as income=+1; CommandError for anything else."""
    signs = {}
    for text in given:
        name, _, sign = text.rpartition("=")
        if sign.strip() not in ("+1", "1", "-1"):
            raise CommandError(f"--monotone must be a column and +1 or -1, such as income=+1, got {quoted(text)}")
        require_choice(name.strip(), names, "column", " of --monotone")
        signs[name.strip()] = int(sign)
    return signs


def names_in(text: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def require_jobs(jobs: int) -> None:
    if jobs == 0:
        raise CommandError("--jobs must not be 0; use a number of threads, or -1 for one per core")


def require_at_least(option: str, number: int, least: int) -> None:
    if number < least:
        raise CommandError(f"{option} must be at least {least}, got {number}")


def require_seed(seed: int) -> None:
    """Raise CommandError unless NumPy accepts the seed."""
    if not 0 <= seed < 2**32:
        raise CommandError(f"--seed must be a whole number from 0 to {2**32 - 1}, got {seed}")


def changed_options(name: str, selector: type, constraints: list[str], refit: bool) -> dict[str, Any]:
    """Options of a selector that --constraint and --refit change; CommandError unless it has them."""
    known = inspect.signature(selector).parameters
    if constraints and "constraints" not in known:
        raise CommandError(f"--constraint needs --selector clusters or wrapper, got {quoted(name)}")
    if refit and "refit" not in known:
        raise CommandError(f"--refit needs --selector clusters, got {quoted(name)}")
    return ({"constraints": constraints_in(constraints)} if constraints else {}) | ({"refit": True} if refit else {})


def constraints_in(given: list[str]) -> dict[str, float]:
    """Bounds by measures from texts such as recall:bad=0.85; CommandError for anything else."""
    bounds: dict[str, float] = {}
    for text in given:
        measure, _, bound = text.rpartition("=")
        try:
            bounds[measure.strip()] = float(bound)
        except ValueError:
            measure = ""
        if not measure.strip():
            raise CommandError(
                f"--constraint must be a measure and its bound, such as recall:bad=0.85, got {quoted(text)}"
            )
    return bounds


SELECTOR_TITLES = {
    "all": "every feature",
    "map": "the most probable subset",
    "bayesian": "average of models by posterior probability",
    "compression": "average of models by compression",
    "wrapper": "search by the classifier's own performance",
    "boosted": "boosted search by confident features",
    "clusters": "search in clusters of dependent features",
    "accuracy": "forward search by training accuracy",
    "auc": "forward search by training AUC",
    "information-gain": "filter by information gain",
    "imprecise-information-gain": "filter by imprecise information gain",
    "mrmr": "filter by minimal redundancy, maximal relevance",
    "cfs": "filter by correlations",
}
"""Title of each selector of bayesieve. The help shows them without importing the selectors, which takes a second."""


CALIBRATIONS = ("auto", "weights", "levels", "cells", "none")
"""What ``fit --calibrate`` takes."""


class ListsSelectors(TyperCommand):
    """A command whose help lists the selectors, those of installed packages by name."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from importlib.metadata import entry_points

        from rich.markup import escape

        names = [f"{name} ({title})" if title else name for name, title in SELECTOR_TITLES.items()]
        names += sorted(point.name for point in entry_points(group="bayesieve.selectors"))
        for option in self.params:
            if isinstance(option, TyperOption) and option.help:
                option.help = option.help.replace("{selectors}", escape("; ".join(names)))
        super().format_help(ctx, formatter)
