"""The validation document of a model: sections of paragraphs, lists and tables, as Markdown or as an HTML page.

Sections follow Annex IV of the EU AI Act and the themes of model risk management (SR 26-2). Facts that only people
know, such as who takes the decisions, are left as fields to complete; missing measurements are listed.
"""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import yaml

from bayesieve import words
from bayesieve.report.charts import text
from bayesieve.report.page import fill, policy_hash
from bayesieve.report.report import ReportData, column_lines, periods_figure, search_parts
from bayesieve.report.tables import PrintedTable, interval_text, name_text, shared_tables
from bayesieve.table.paths import checked_path
from bayesieve.table.writing import HTML

_TEXTS = yaml.safe_load(text("document.yaml"))
_MOST_FEATURES = 5  # features whose levels are shown as segments, in addition to the requested ones
_MARKDOWN = (".md", ".markdown")
_SPECIAL = re.compile(r"([\\`*_\[\]|~$#])")


class Code(str):
    """Text of a command, printed as code that a reader can copy."""

    is_command = True


def check_ending(path: object) -> None:
    """Raise ValueError unless a file name ends in .html, .htm, .md or .markdown.

    It is called before the document is computed, so that a wrong name fails early.
    """
    if checked_path(path).suffix.lower() not in (*HTML, *_MARKDOWN):
        raise ValueError(f"A document must be HTML or Markdown, got {path}; use a file name ending in .html or .md.")


def render_document(path: str | os.PathLike[str], data: ReportData, drift: Any = None) -> str:
    """Return the validation document as HTML or Markdown text, according to the ending of ``path``.

    Parameters
    ----------
    path : str or path
        Name of the file that the caller will write.
    data : ReportData
        Contents of the document.
    drift : table of `Drift.to_frame` that compares the measured rows with the training rows, or None
    """
    contents = _contents(data, None if drift is None or not len(drift) else drift)
    sections = [(*section, blocks) for section, blocks in zip(_TEXTS["sections"].items(), contents, strict=True)]
    meta = f"Target {data.target}, {words.plural(data.n_rows, 'training row')}, written {data.created}."
    title, no_claim = f"Validation of the model: {words.not_blank(data.title)}", _TEXTS["no_claim"]
    if checked_path(path).suffix.lower() in HTML:
        context = {"title": title, "meta": meta, "no_claim": no_claim, "sections": sections, "written": data.created}
        style = text("page.css")
        return fill("document.html", style=style, style_hash=policy_hash(style), scripts="", **context)
    paragraphs = [f"# {_escaped(title)}", _escaped(meta), no_claim]
    for number, (heading, about, blocks) in enumerate(sections, 1):
        paragraphs += [f"## {number}. {heading}", f"*{about}*", *map(_as_markdown, blocks)]
    return "\n\n".join(paragraphs) + "\n"


def _as_markdown(block: Any) -> str:
    """Return a block of the document as Markdown (GitHub Flavored Markdown): a paragraph (text), a command (`Code`), a
    list of texts, or a `PrintedTable`.
    """
    if isinstance(block, str):
        return f"    {_one_line(block)}" if isinstance(block, Code) else _escaped(block)
    if not isinstance(block, PrintedTable):
        return "\n".join(f"- {_escaped(line)}" for line in block)
    rule = ["---" if k in block.texts else "---:" for k in range(len(block.heads))]
    rows = [[*map(_escaped, block.heads)], rule, *([*map(_escaped, row)] for row in block.rows)]
    notes = [_escaped(note) for note in (block.note, block.cut) if note]
    above = [f"### {_escaped(block.title)}"] * bool(block.title) + notes
    return "\n\n".join([*above, "\n".join(f"| {' | '.join(row)} |" for row in rows)])


def _one_line(content: str) -> str:
    """Return a text on one line, without characters that cannot be printed."""
    return " ".join(words.printable(content).split())


def _escaped(content: str) -> str:
    """Return a text on one line, with characters escaped that are special in Markdown or HTML."""
    line = _one_line(content).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"^(\d*)([-+=.)])(?=\s|$|[-=])", r"\1\\\2", _SPECIAL.sub(r"\\\1", line))


def _items(lines: Iterable[tuple[str, str]]) -> PrintedTable:
    """Return pairs of a name and its content as a table with a row for each."""
    rows = [(name_text(name, 80), value) for name, value in lines]
    return PrintedTable(("Item", "Content"), rows, texts=(0, 1), kind="items")


def _contents(data: ReportData, drift: Any) -> list[list[Any]]:
    """Return the sections of the document. Each section is a list of paragraphs, lists, commands (`Code`) and tables.
    ``drift`` is the table of `Drift.to_frame`, or None.
    """
    facts, tables = dict(data.facts), shared_tables(data)
    to_complete = {
        section: _items((name, facts.get(name, _TEXTS["to_complete"])) for name in names)
        for section, names in _TEXTS["fields"].items()
    }
    elsewhere = {"Limits", *(name for names in _TEXTS["fields"].values() for name in names)}
    names = ("Trained on", "Events per variable", "Data file", "Test file")
    of_data = [fact for fact in data.facts if fact[0] in names or "of the values" in fact[1]]
    purpose = [fact for fact in data.facts if fact not in of_data and fact[0] not in elsewhere]
    search = [] if data.search is None else [f"{data.selector['sentence']} {search_parts(data)[0]}"]
    weak = [f"{name_text(one['name'], 80)}: {one['caution']}" for one in data.features if one["caution"]]
    limits = [value for name, value in data.facts if name == "Limits"]
    by_hand = [table for table in (tables["rules"], tables["edits"]) if table is not None]
    tasks = [(task, *[""] * 4) for task in _TEXTS["tasks"]]
    signed = PrintedTable(_TEXTS["signed"], tasks, texts=range(5), kind="items")
    return [
        [_items(purpose), to_complete["Purpose"]],
        [_items(of_data), tables["classes"], to_complete["Data"]],
        [data.headline, *_TEXTS["method"], *search, _items(data.settings)],
        _selection(data, tables["left_out"]),
        _performance(data, tables),
        _stability(data, drift),
        _calibration(data),
        [*limits, [*data.warnings, *weak] or [_TEXTS["no_cautions"]], to_complete["Limits"], _TEXTS["other_parts"]],
        [*_monitoring(data, drift), to_complete["Monitoring plan"]],
        [*by_hand, *([] if data.edits else [_TEXTS["no_edits"]])],
        [signed, _items((name, "") for name in _TEXTS["opinion"])],
    ]


def _selection(data: ReportData, left_out: PrintedTable | None) -> list[Any]:
    """Return the section on the columns in the model: a list of paragraphs and tables. ``left_out`` is the table of the
    features that are not in the model, or None.
    """
    lines = column_lines(data)
    used = [(line, line["own"] or {}) for line in lines if line["importance"]]
    heads = {"importance": "Importance", "n_levels": "Levels", "information_value": "Information value"}
    heads |= {"by_chance": "By chance, 1 in"} | ({"stability": "Used in folds"} if data.stability else {})
    lines_used = [{name: value for name, value in (about | line).items() if value != ""} for line, about in used]
    frame = {name: [line.get(name) for line in lines_used] for name in ("name", *heads)}
    blocks: list[Any] = [f"Columns in the model: {words.format_count(len(used))} of {words.format_count(len(lines))}."]
    shares = ("importance", "stability")
    table = PrintedTable.of_frame(frame, {"name": "Column"} | heads, "In the model", shares)
    blocks.append(replace(table, texts=(0,)) if used else None)
    pairs = [name_text(one["name"], 80) for one in data.features if one["selected"] and len(one["columns"]) > 1]
    blocks.append(f"Pairs of columns in the model: {words.listed(pairs, 50)}." if pairs else None)
    return [block for block in (*blocks, left_out) if block is not None]


def _performance(data: ReportData, tables: Mapping[str, PrintedTable | None]) -> list[Any]:
    """Return the section on performance: a list of paragraphs, lists and tables. ``tables`` are those of
    `shared_tables`.
    """
    measures = tables["measures"]
    if measures is None:
        return [_TEXTS["needs_rows"]]
    protocols = [f"{one.name}: {one.protocol}" for one in data.samples]
    no_later = [] if any("out of time" in row for row in measures.rows) else [_TEXTS["no_later_rows"]]
    return [protocols, measures, *no_later, *filter(None, (tables["confusion"], tables["strategy"]))]


def _stability(data: ReportData, drift: Any) -> list[Any]:
    """Return the section on stability over time: a list of paragraphs and tables. ``drift`` is the table of
    `Drift.to_frame`, or None.
    """
    blocks: list[Any] = [periods_figure(data.periods).table()] if data.periods else [_TEXTS["no_periods"]]
    if drift is None:
        return [*blocks, _TEXTS["no_drift"]]
    heads = {"feature": "Feature", "psi": "PSI", "psi_low": "95% interval from", "psi_high": "to"}
    heads |= {"psi_chance": "PSI by chance up to", "unseen": "Unseen", "missing": "Missing", "shift": "Shift, nats"}
    frame, title = drift.to_dict(as_series=False), "Features against the training rows"
    return [*blocks, PrintedTable.of_frame(frame, heads, title, ("unseen", "missing"))]


def _calibration(data: ReportData) -> list[Any]:
    """Return the section on calibration, of the whole sample and of segments: a list of paragraphs and tables."""
    p, two = data.performance, len(data.classes) == 2
    if p is None:
        return [_TEXTS["needs_rows"]]
    label, heads = name_text(data.classes[data.positive]), ("Predicted", "Rows", "Observed", "Outside")
    blocks: list[Any] = [
        f"Predicted and observed shares of {f'class {label}' if two else 'correct predictions'} on {p.name.lower()}."
    ]
    for _, bins in p.reliability if two else ():
        rows = [[words.format_percent(one.predicted), *_calibrated(one)] for one in bins]
        blocks.append(PrintedTable(heads, rows, f"By probability of {label}", texts=(3,)))
    tables = []
    for name, lines in data.segments[: len(p.rows.segments) + _MOST_FEATURES]:
        rows = [
            [name_text(segment, 80), words.format_percent(one.predicted), *_calibrated(one), interval_text(auc, 3)]
            for segment, _, _, one, auc, _ in lines
        ]
        tables.append(PrintedTable(("Segment", *heads, "AUC"), rows, f"By {name_text(name, 80)}", texts=(0, 4)))
    flags = [row[4] == "yes" for table in tables for row in table.rows]
    n = f"{sum(flags)} of {words.plural(len(flags), 'segment')}"
    blocks.append(_TEXTS["outside"].format(n=n, chance=0.05 * len(flags)) if flags else _TEXTS["no_segments"])
    return [*blocks, *([] if p.rows.segments else [_TEXTS["no_groups"]]), *tables]


def _calibrated(bin_: Any) -> list[str]:
    """Return three cells of the calibration table as texts: the number of rows, the observed share of the class with
    its interval, and "yes" if the predicted share lies outside this interval, otherwise "no". ``bin_`` is a `Bin`.
    """
    low, high = words.format_percent(bin_.low), words.format_percent(bin_.high)
    observed = f"{words.format_percent(bin_.observed)}\n({low} to {high})"
    return [words.format_count(bin_.weight), observed, "no" if bin_.low <= bin_.predicted <= bin_.high else "yes"]


def _monitoring(data: ReportData, drift: Any) -> list[Any]:
    """Return the section that proposes bounds for monitoring, and the command that checks them: a list of paragraphs,
    tables and a `Code`. ``drift`` is the table of `Drift.to_frame`, or None.
    """
    bound, rules, values = "To be set after it is measured", ["psi_low>0.1", "unseen>0.05"], {}
    if drift is not None:
        values["psi"] = f"at most {words.format_number(drift['psi'].max())}"
        values["unseen"] = f"at most {words.format_percent(drift['unseen'].max())}"
    if data.performance is not None:
        estimates = data.performance.estimates
        values |= {name: interval_text(estimates.get(name), 3) for name in ("auc", "calibration")}
        if math.isfinite(low := estimates["auc"][1]):
            bound = f"Below {words.format_number(low)}, the lower end of its interval"
            rules.append(f"auc<{low:.3f}")
    bounds = _TEXTS["bounds"].items()
    rows = [(title, values.get(name, "Not measured"), limit or bound) for name, (title, limit) in bounds]
    command = f"bayesieve monitor MODEL TABLE --by PERIOD --target {shlex.quote(data.target)}"
    return [
        _TEXTS["proposal"],
        PrintedTable(("Measure", "At validation", "Act if"), rows, texts=(0, 1, 2)),
        _TEXTS["command"],
        Code(command + "".join(f" --fail-if {shlex.quote(rule)}" for rule in rules)),
    ]
