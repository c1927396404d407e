"""Checks of options that several commands share."""

from __future__ import annotations

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


def require_jobs(jobs: int) -> None:
    """Raise CommandError for 0 threads."""
    if jobs == 0:
        raise CommandError("--jobs must not be 0; use a number of threads, or -1 for one per core")


def require_at_least(option: str, number: int, least: int) -> None:
    """Raise CommandError if a number is too small."""
    if number < least:
        raise CommandError(f"{option} must be at least {least}, got {number}")


def require_seed(seed: int) -> None:
    """Raise CommandError unless NumPy accepts the seed."""
    if not 0 <= seed < 2**32:
        raise CommandError(f"--seed must be a whole number from 0 to {2**32 - 1}, got {seed}")


class ListsSelectors(TyperCommand):
    """A command whose help lists the selectors; they take a second to import, so only when the help is shown."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from rich.markup import escape

        from bayesieve.selection import SELECTORS

        names = [f"{name} ({part.title})" if part.title else name for name, part in SELECTORS.items()]
        for option in self.params:
            if isinstance(option, TyperOption) and option.help:
                option.help = option.help.replace("{selectors}", escape("; ".join(names)))
        super().format_help(ctx, formatter)
