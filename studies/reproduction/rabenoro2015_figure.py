# ruff: noqa: T201
"""Draw `rabenoro2015.svg` from the repetitions in this folder: test errors of all methods, the paper's and ours.

python studies/reproduction/rabenoro2015_figure.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bayesieve_studies import Options, make_study
from bayesieve_studies.ledger import REPETITIONS
from bayesieve_studies.rabenoro2015.report import values_of
from bayesieve_studies.rabenoro2015.study import METHODS

FOLDER = Path(__file__).parent
SERIES = (("levels", "#1f6f8b", -7), ("quantiles", "#c8553d", 0), ("coarse", "#4c9a52", 7))
LEFT, TOP, ROW, WIDTH = 220, 44, 32, 520
LOW, HIGH = 0.085, 0.155


def main() -> None:
    """Write the figure."""
    height = TOP + ROW * len(METHODS) + 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 30}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#222">',
        '<rect width="100%" height="100%" fill="white"/>',
        *axis(height),
        *legend(),
    ]
    parts += [text(LEFT - 12, row(k) + 4, label(method), "end") for k, method in enumerate(METHODS)]
    for grid, colour, shift in SERIES:
        repetitions = REPETITIONS[grid]
        study = make_study("rabenoro2015", Options(repetitions=repetitions, grid=grid))
        errors = values_of(study.saved(FOLDER / f"rabenoro2015-{grid}.jsonl"), "test")
        for k, method in enumerate(METHODS):
            parts += bar(errors[method.key], row(k) + shift, colour)
    for k, method in enumerate(METHODS):
        if method.paper_error is not None:
            parts.append(diamond(at(method.paper_error), row(k)))
    path = FOLDER / "rabenoro2015.svg"
    path.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")
    print(path)


def at(error: float) -> float:
    """The position of an error on the axis."""
    return LEFT + WIDTH * (error - LOW) / (HIGH - LOW)


def row(k: int) -> float:
    """The middle of a row."""
    return TOP + ROW * (k + 0.5)


def label(method: object) -> str:
    """A method as text."""
    name, guide = method.name, method.guide  # type: ignore[attr-defined]
    return f"{name} by {guide}" if guide and "filter" not in name else name


def text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    """A text element."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


def bar(errors: np.ndarray, y: float, colour: str) -> list[str]:
    """Mean and standard deviation over the repetitions."""
    mean, spread = errors.mean(), errors.std(ddof=1)
    return [
        f'<path d="M{at(mean - spread):.1f} {y} H{at(mean + spread):.1f}" stroke="{colour}" stroke-width="2"/>',
        f'<circle cx="{at(mean):.1f}" cy="{y}" r="3.6" fill="{colour}"/>',
    ]


def diamond(x: float, y: float) -> str:
    """The mark of the paper's error."""
    return f'<path d="M{x - 5:.1f} {y} l5 -5 l5 5 l-5 5 z" fill="white" stroke="#222" stroke-width="1.4"/>'


def axis(height: int) -> list[str]:
    """Ticks and their labels."""
    parts = []
    for error in np.arange(0.09, HIGH + 1e-9, 0.01):
        x = at(error)
        parts.append(f'<path d="M{x:.1f} {TOP} V{height - 40}" stroke="#ddd"/>')
        parts.append(text(x, height - 24, f"{error:.2f}"))
    return [*parts, text(LEFT + WIDTH / 2, height - 7, "test error")]


def legend() -> list[str]:
    """The legend."""
    parts = [diamond(25, 20), text(36, 24, "paper, one run", "start"), text(150, 24, "ours, mean ± sd:", "start")]
    for x, (grid, colour, _) in zip((270, 400, 545), SERIES, strict=True):
        parts.append(f'<circle cx="{x}" cy="20" r="3.6" fill="{colour}"/>')
        parts.append(text(x + 10, 24, f"grid {grid}", "start"))
    return parts


if __name__ == "__main__":
    main()
