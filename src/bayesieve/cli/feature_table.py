"""The features of a model as a printed table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bayesieve.cli.screen import Screen
from bayesieve.cli.tables import Column
from bayesieve.cli.text import counted

_COLUMNS = (
    Column("feature"),
    Column("kind"),
    Column("levels", number=True),
    Column("level score", number=True),
    Column("importance", number=True),
    Column("weight", number=True),
    Column("", bar=True),
)


def show_features(screen: Screen, model: Any, names: Sequence[str]) -> None:
    """Print these features by descending weight, and the number of other selected features."""
    if not model.selected_features_:
        screen.line("No feature is reliably informative about the target: predictions are the class shares.")
        return
    chosen = set(names)
    rows = [row for row in model.summary().iter_rows(named=True) if row["feature"] in chosen]
    screen.table(_COLUMNS, [_cells(row) for row in rows])
    more = model.n_features_selected_ - len(rows)
    if more > 0:
        screen.line(f"and {counted(more, 'more feature')}", "dim")


def _cells(row: dict[str, Any]) -> list[Any]:
    return [
        row["feature"],
        row["kind"],
        str(row["n_levels"]),
        f"{row['level_score']:.4f}",
        f"{100 * row['importance']:.1f} %",
        f"{row['weight']:.4f}",
        row["weight"],
    ]
