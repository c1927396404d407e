# ruff: noqa: T201
"""Draw `rabenoro2015.svg` from the repetitions in this folder: test errors of all methods, the paper's and ours.

python lab/reproduction/rabenoro2015_figure.py
"""

from __future__ import annotations

from pathlib import Path

from bayesieve.report import Figure
from bayesieve.report.charts import chart, columns, layer, names, number
from bayesieve_lab import Options, make_study
from bayesieve_lab.pages import GRIDS
from bayesieve_lab.rabenoro2015.report import values_of
from bayesieve_lab.rabenoro2015.study import METHODS, Method

FOLDER = Path(__file__).parent
CAPTION = "Test error: one run of the paper, and our mean ± standard deviation over the repetitions with each grid."


def main() -> None:
    """Write the figure."""
    path = FOLDER / "rabenoro2015.svg"
    figure().save(path)
    print(path)


def figure() -> Figure:
    """A row for each method, in it a line for the paper and for each grid."""
    lines = [(label(one), "paper", one.paper_error, None, None) for one in METHODS if one.paper_error is not None]
    for grid, repetitions in GRIDS.items():
        study = make_study("rabenoro2015", Options(repetitions=repetitions, grid=grid))
        errors = values_of(study.saved(FOLDER / f"rabenoro2015-{grid}.jsonl"), "test")
        for method in METHODS:
            mean, spread = errors[method.key].mean(), errors[method.key].std(ddof=1)
            lines.append((label(method), f"grid {grid}", mean, mean - spread, mean + spread))
    whose = names("whose", None, scale={"domain": ["paper", *(f"grid {grid}" for grid in GRIDS)]})
    x = number("error", "test error", padding=8)
    on = {"y": names("method", None, scale={"domain": [label(method) for method in METHODS]}), "color": whose}
    on["yOffset"] = whose
    drawing = chart(
        layer("rule", "plain", x={**x, "field": "low"}, x2={"field": "high"}, **on),
        layer("point", "plain", x=x, shape=whose, **on),
        height={"step": 34, "for": "position"},
    )
    frame = columns(("method", "whose", "error", "low", "high"), lines)
    return Figure("Indicators of engines: ten methods", CAPTION, drawing, {"errors": frame})


def label(method: Method) -> str:
    """A method as text."""
    return f"{method.name} by {method.guide}" if method.guide and "filter" not in method.name else method.name


if __name__ == "__main__":
    main()
