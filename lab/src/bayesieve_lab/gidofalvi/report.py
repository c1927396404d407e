"""Report on Gidofalvi & Zadrozny: table 3 and figures 1 and 2 for every campaign, and the claims."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bayesieve_lab.claims import Judged, in_words, variants_table
from bayesieve_lab.comparison.results import Comparison
from bayesieve_lab.gidofalvi.campaigns import CUP, Campaign
from bayesieve_lab.gidofalvi.claims import LINES, PARTS, findings, of_method, values_of
from bayesieve_lab.gidofalvi.figure import steps_figure
from bayesieve_lab.gidofalvi.model import N_STEPS
from bayesieve_lab.gidofalvi.study import (
    BOOSTED,
    FORWARD,
    INFORMATIVE,
    OTHER_CODING,
    OTHER_SMOOTHING,
    Gidofalvi,
)
from bayesieve_lab.study import Report, command_line
from bayesieve_lab.tables import TextTable, document, mean_and_spread, number_text, smoothing_text

_FIGURES = ((FORWARD, "Figure 1: forward selection"), (BOOSTED, "Figure 2: boosted selection"))


def report(study: Gidofalvi, comparison: Comparison) -> Report:
    """Return the report on all campaigns.

    Raises
    ------
    ValueError
        If a method failed.
    """
    for data, method, _, error in comparison.errors():
        raise ValueError(
            f"{method} failed on {data} ({error}); the table needs all methods. Correct the cause, and run it again."
        )
    comparison = finished_draws(comparison)
    tables: list[tuple[str, TextTable]] = []
    sentences: list[str] = []
    files: dict[str, str] = {}
    sections = []
    judged: dict[str, list[Judged]] = {}
    for campaign in study.campaigns:
        if not of_method(comparison, campaign.name, INFORMATIVE, "mse test").size:
            continue
        section = _section(study, comparison, campaign, files)
        tables.append((f"Table 3: {campaign.title}", section["main"]))
        judged[campaign.name] = findings(comparison, campaign.name)
        sentences += [f"{campaign.name}: {in_words(claim)}" for claim in judged[campaign.name]]
        sections.append(section)
    text = document(
        Path(__file__).with_name("report.md"),
        citation=study.citation,
        settings=study.settings,
        smoothing=smoothing_text(study.smoothing, "the m-estimate of Boulle (2007)"),
        command=command_line(
            study.paper,
            data="DIR" if len(study.campaigns) > 1 else None,
            output=f"{study.paper}.md",
            repetitions=study.options.repetitions,
            seed=study.options.seed,
            quick=study.options.quick,
            only=",".join(study.options.only),
        ),
        sections=sections,
        claims_table=variants_table(judged),
        published=published_table(),
        has_cup=any(campaign.name == CUP for campaign in study.campaigns),
    )
    return Report(tuple(tables), tuple(sentences), text, files)


def _section(study: Gidofalvi, comparison: Comparison, campaign: Campaign, files: dict[str, str]) -> dict[str, Any]:
    """Return the variables of the template of the section on a campaign, by name.

    Figures of the section (SVG) are added to ``files`` by file name.
    """
    pictures = {}
    for method, title in _FIGURES:
        name = f"gidofalvi-{campaign.name}-{method}.svg"
        files[name] = steps_figure(comparison, campaign.name, method, f"{title}, {campaign.name}").to_svg()
        pictures[title] = name
    return {
        "campaign": campaign,
        "n": of_method(comparison, campaign.name, INFORMATIVE, "mse test").size,
        "wanted": len(campaign.names(study.repetitions)),
        "main": main_table(comparison, campaign),
        "everybody": [
            of_method(comparison, campaign.name, INFORMATIVE, f"profit of all {part}").mean() for part in PARTS
        ],
        "lowest": {method: lowest(comparison, campaign.name, method) for method in (FORWARD, BOOSTED)},
        "tau": values_of(comparison, campaign.name, "order")["correlation"].mean(),
        "varied": varied_table(comparison, campaign.name),
        "pictures": pictures,
    }


def finished_draws(comparison: Comparison) -> Comparison:
    """Return the comparison without the draws that some methods have not finished."""
    counts = Counter(row["data"] for row in comparison.rows)
    rows = tuple(row for row in comparison.rows if counts[row["data"]] == len(comparison.methods))
    return replace(comparison, rows=rows)


def main_table(comparison: Comparison, campaign: Campaign) -> TextTable:
    """Return our table 3: squared error and profit of each line on training and test rows.

    For the KDD Cup, whose donors are the paper's, the paper's numbers are beside ours.
    """
    paper = campaign.name == CUP
    values = {
        f"{what} {part}": values_of(comparison, campaign.name, f"{what} {part}")
        for what in ("mse", "profit", "mailed", "slope")
        for part in PARTS
    }
    rows = []
    for line in LINES:
        cells = [line.name]
        for what, digits, published in (("mse", 5, line.mse), ("profit", 0, line.profit)):
            for k, part in enumerate(PARTS):
                if paper:
                    cells.append("" if published is None else f"{published[k]:.{digits}f}")
                cells.append(mean_and_spread(values[f"{what} {part}"][line.name], digits))
        mailed = values["mailed test"][line.name].mean()
        slope = "" if line.step else f"{np.nanmean(values['slope test'][line.name]):.2f}"
        rows.append((*cells, number_text(mailed, ".0%"), slope))
    titles = ("MSE, training", "MSE, test", "Profit, training", "Profit, test")
    columns = [name for title in titles for name in ((f">{title}, paper", f">{title}") if paper else (f">{title}",))]
    return TextTable.of(("Method", *columns, ">Letters", ">Slope"), rows)


def published_table() -> TextTable:
    """Return table 3 of the paper."""
    rows = [
        (line.name, *(f"{error:.5f}" for error in line.mse), *(f"{dollars}" for dollars in line.profit))
        for line in LINES
        if line.mse and line.profit
    ]
    return TextTable.of(("Method", ">MSE, training", ">MSE, test", ">Profit, training", ">Profit, test"), rows)


def lowest(comparison: Comparison, campaign: str, method: str) -> str:
    """Return, as text, the number of features at which the test MSE of a method on a campaign is lowest.

    If repetitions differ, it is the range and the median.
    """
    paths = [of_method(comparison, campaign, method, "mse test", k) for k in range(1, N_STEPS + 1)]
    sizes = sorted((np.nanargmin(paths, axis=0) + 1).tolist())
    return str(sizes[0]) if sizes[0] == sizes[-1] else f"{sizes[0]} to {sizes[-1]} (median {np.median(sizes):g})"


def varied_table(comparison: Comparison, campaign: str) -> TextTable:
    """Return a table of test MSE and profit of methods on a campaign, one row per coding and smoothing.

    The first row has MODL levels and the m-estimate; the others vary the coding, and then the smoothing.
    """
    rows = []
    for name, suffix in (
        ("MODL levels, m-estimate", ""),
        *((f"{v}", f", {v}") for v in (OTHER_CODING, OTHER_SMOOTHING)),
    ):
        cells = []
        for method in (FORWARD, BOOSTED, INFORMATIVE):
            for step in (None,) if method == INFORMATIVE else (5, 20):
                for what, digits in (("mse", 5), ("profit", 0)):
                    values = of_method(comparison, campaign, method + suffix, f"{what} test", step)
                    cells.append(number_text(float(values.mean()) if values.size else np.nan, f".{digits}f"))
        rows.append((name, *cells))
    names = ("5 forward", "20 forward", "5 boosted", "20 boosted", "informative or all")
    return TextTable.of(
        ("Coding and smoothing", *(f">{name}, {of}" for name in names for of in ("MSE", "profit"))), rows
    )
