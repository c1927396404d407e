"""Figures 9 and 10 of Boulle (2007): the mean of each criterion by method, in the paper and here."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from bayesieve.studies.boulle2007.data import METHODS, OURS, SHORT, Cell
from bayesieve.studies.boulle2007.results import FLOORED, Group

LEFT, TOP, ROW, PANEL, GAP = 96, 64, 24, 200, 56
COLOUR, FLOORED_COLOUR, GREY = "#1f6f8b", "#c8553d", "#222"


def means_figure(group: Group, paper: Mapping[str, Mapping[str, Cell]], title: str) -> str:
    """SVG with a panel for each criterion and a line for each method, with the paper's mean and ours."""
    methods = (OURS, *METHODS)
    width = LEFT + len(SHORT) * (PANEL + GAP) - GAP + 28
    height = TOP + ROW * len(methods) + 36
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="{GREY}">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        *_legend(),
    ]
    parts += [_text(LEFT - 10, _row(k) + 4, escape(method), "end") for k, method in enumerate(methods)]
    for place, criterion in enumerate(SHORT):
        ours = group.means(criterion)
        floored = group.means(FLOORED) if criterion == "compression_rate" else {}
        theirs = {method: cell.mean for method, cell in paper[criterion].items()}
        panel = _Panel(LEFT + place * (PANEL + GAP), [*ours.values(), *theirs.values(), *floored.values()])
        parts += panel.axis(SHORT[criterion], height)
        for k, method in enumerate(methods):
            if method in floored:
                parts.append(_dot(panel.at(floored[method]), _row(k), FLOORED_COLOUR))
            parts.append(_dot(panel.at(ours[method]), _row(k), COLOUR))
            if method in theirs:
                parts.append(_diamond(panel.at(theirs[method]), _row(k)))
    return "\n".join([*parts, "</svg>"]) + "\n"


class _Panel:
    """One axis."""

    def __init__(self, left: float, values: list[float]) -> None:
        self._left = left
        low, high = min(values), max(values)
        self._step = next(step for step in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1e9) if (high - low) / step <= 5)
        self._low = self._step * (low / self._step // 1)
        self._high = max(self._low + self._step, -self._step * (-high / self._step // 1))

    def at(self, value: float) -> float:
        """The horizontal position of a value."""
        return self._left + PANEL * (value - self._low) / (self._high - self._low)

    def axis(self, name: str, height: int) -> list[str]:
        """Name, lines and numbers."""
        parts = [_text(self._left + PANEL / 2, TOP - 14, name)]
        digits = 3 if self._step < 0.01 else 2
        for tick in range(round((self._high - self._low) / self._step) + 1):
            value = self._low + tick * self._step
            x = self.at(value)
            parts.append(f'<path d="M{x:.1f} {TOP - 4} V{height - 30}" stroke="#ddd"/>')
            parts.append(_text(x, height - 14, f"{value:.{digits}f}"))
        return parts


def _row(k: int) -> float:
    return TOP + ROW * (k + 0.5)


def _text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


def _dot(x: float, y: float, colour: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'


def _diamond(x: float, y: float) -> str:
    return f'<path d="M{x - 5:.1f} {y:.1f} l5 -5 l5 5 l-5 5 z" fill="none" stroke="{GREY}" stroke-width="1.4"/>'


def _legend() -> list[str]:
    parts = [_diamond(LEFT, 18), _text(LEFT + 12, 22, "paper", "start")]
    for x, colour, words in (
        (LEFT + 70, COLOUR, "ours"),
        (LEFT + 125, FLOORED_COLOUR, "ours, probabilities of at least 1 / test rows"),
    ):
        parts += [_dot(x, 18, colour), _text(x + 10, 22, words, "start")]
    return parts
