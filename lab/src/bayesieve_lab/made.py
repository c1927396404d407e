"""Record of the commits and settings that produced the results of the studies, in ``made.json`` next to them."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bayesieve.table import write_atomically

MADE = "made.json"
_HERE = Path(__file__).parent


def commit() -> str | None:
    """Return the commit of this code, with a "+" if the code has changed since; None outside of a repository."""
    named = _git("rev-parse", "--short=10", "HEAD")
    return None if named is None else f"{named}{'+' if _git('status', '--porcelain', '--', *_code()) else ''}"


def _code() -> list[str]:
    """Return the folders of the code: this package and the library."""
    import bayesieve

    return [str(_HERE), str(Path(bayesieve.__file__).parent)]


def _git(*words: str) -> str | None:
    """Return the output of a git command, given as ``words``, on this repository; None if it fails."""
    try:
        done = subprocess.run(["git", "-C", str(_HERE), *words], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def n_results(path: Path) -> int:
    """Return the number of lines of a file of results."""
    return len(path.read_text(encoding="utf-8").splitlines())


def digest(path: Path) -> str:
    """Return the hash of the content of a file of results, as 16 hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def read_made(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the saved records by name of the file of results; empty if there are none.

    A record has ``commits`` (by commit, the number of lines when it was run), ``settings`` and ``digest`` of the file.
    ``folder`` is that of the results.
    """
    path = folder / MADE
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def record(results: Path | None, settings: Mapping[str, Any]) -> None:
    """Record the commit and settings that produced the file ``results``.

    Nothing is recorded outside of a repository, or if the file has not changed since the last record.
    """
    this_commit = commit()
    if results is None or this_commit is None or not results.is_file():
        return
    records = read_made(results.parent)
    entry, held = records.get(results.name, {}), digest(results)
    if held != entry.get("digest"):
        commits = entry.get("commits", {}) | {this_commit: n_results(results)}
        records[results.name] = {"commits": commits, "settings": dict(settings), "digest": held}
        text = json.dumps(dict(sorted(records.items())), indent=1, default=str)
        write_atomically(results.with_name(MADE), text + "\n")
