"""What several commands check of their options."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from typer.core import TyperCommand, TyperOption

from bayesieve.cli.errors import CommandError
from bayesieve.cli.text import listed, quoted, similar


def require_choice(name: str, known: Collection[str], what: str, purpose: str = "") -> None:
    """Refuse a name that does not exist, with the one that may be meant, or all there are."""
    if name in known:
        return
    known = list(known)
    meant = similar(name, known)
    hint = f"did you mean {quoted(meant[0])}?" if meant else f"choose from {listed(known, most=len(known))}"
    raise CommandError(f"There is no {what} {quoted(name)}{purpose}; {hint}")


def require_jobs(jobs: int) -> None:
    """Refuse a number of threads that has no meaning."""
    if jobs == 0:
        raise CommandError("--jobs 0 has no meaning; use a number of threads, or -1 for one for each core")


class ListsSelectors(TyperCommand):
    """A command whose help lists the selectors, which take a second to import: only when the help is shown."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from rich.markup import escape

        from bayesieve.selection import SELECTORS

        names = [f"{name} ({part.title})" if part.title else name for name, part in SELECTORS.items()]
        for option in self.params:
            if isinstance(option, TyperOption) and option.help:
                option.help = option.help.replace("{selectors}", escape("; ".join(names)))
        super().format_help(ctx, formatter)
