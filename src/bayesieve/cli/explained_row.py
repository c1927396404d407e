"""One explained row as a printed table."""

from __future__ import annotations

from typing import Any

from bayesieve.cli.screen import Screen
from bayesieve.cli.tables import Column, numbers
from bayesieve.cli.text import visible

_MOST_CLASSES = 6
_MOST_VALUE = 24
_MOST_LEVEL = 32
_MOST_TITLE = 16


def show_row(screen: Screen, explanation: Any, probability: Any, at: int) -> None:
    """Print the evidence for the predicted class of a row against the runner-up, the strongest first."""
    order = sorted(range(len(probability)), key=lambda j: (-probability[j], j))
    winner, other = order[0], order[1]
    labels = [visible(label) for label in explanation.classes]
    if at:
        screen.line()
    screen.line(f"row {explanation.rows[at]}: predicted {labels[winner]}", "bold")
    screen.line(_probabilities(labels, probability, order))
    screen.line("contributions to the log probability of each class, in nats:")
    screen.line()
    prior = explanation.prior
    total = explanation.joint_log_proba()[at]
    parts = explanation.contributions[at]
    size = parts.max(axis=1) - parts.min(axis=1)
    features = sorted(range(len(size)), key=lambda k: (-size[k], k))
    rows = [["prior", "", "", "", *_compared(prior, winner, other)]]
    for k in features:
        value = explanation.values[at, k]
        rows.append(
            [
                explanation.features[k],
                _short(_value(value), _MOST_VALUE),
                _short(explanation.levels[at, k], _MOST_LEVEL),
                f"{explanation.weights[k]:.3f}",
                *_compared(parts[k], winner, other),
            ]
        )
    rows.append(["total", "", "", "", *_compared(total, winner, other)[:-1], None])
    columns = (
        *(Column(title) for title in ("feature", "value", "level")),
        *numbers("weight", *(_short(labels[j], _MOST_TITLE) for j in (winner, other)), "difference"),
        Column("", bar=True),
    )
    screen.table(columns, rows, strong=(len(rows) - 1,))


def _probabilities(labels: list[str], probability: Any, order: list[int]) -> str:
    shown = [f"P({labels[j]}) = {probability[j]:.4f}" for j in order[:_MOST_CLASSES]]
    return ", ".join(shown) + (f", {len(order) - _MOST_CLASSES} more" if len(order) > _MOST_CLASSES else "")


def _compared(nats: Any, winner: int, other: int) -> list[Any]:
    difference = float(nats[winner] - nats[other])
    return [f"{nats[winner]:.4f}", f"{nats[other]:.4f}", f"{difference:+.4f}", difference]


def _value(value: str | None) -> str:
    """A raw value, numbers to six digits."""
    if value is None:
        return "missing"
    try:
        return f"{float(value):.6g}" if "." in value else value
    except ValueError:
        return value


def _short(text: object, most: int) -> str:
    shown = visible(text)
    return shown if len(shown) <= most else shown[: most - 1] + "…"
