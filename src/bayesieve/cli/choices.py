"""What several commands check of their options."""

from __future__ import annotations

from collections.abc import Iterable

from bayesieve.cli.errors import CommandError
from bayesieve.cli.text import listed, quoted, similar


def require_choice(name: str, known: Iterable[str], what: str, purpose: str = "") -> None:
    """Refuse a name that does not exist, with the one that may be meant, or all there are."""
    known = list(known)
    if name in known:
        return
    meant = similar(name, known)
    hint = f"did you mean {quoted(meant[0])}?" if meant else f"choose from {listed(known, most=len(known))}"
    raise CommandError(f"There is no {what} {quoted(name)}{purpose}; {hint}")


def require_jobs(jobs: int) -> None:
    """Refuse a number of threads that has no meaning."""
    if jobs == 0:
        raise CommandError("--jobs 0 has no meaning; use a number of threads, or -1 for one for each core")
