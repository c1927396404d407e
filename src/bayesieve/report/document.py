"""The validation document of a model: sections of paragraphs, lists and tables, as Markdown or as an HTML page.

Sections name points of Annex IV of the EU AI Act and themes of model risk management (SR 26-2). What only people can
know, such as who decides with the model, is a field to complete; what was not measured is stated.
"""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import yaml

from bayesieve import words
from bayesieve.report.charts import text
from bayesieve.report.page import fill, policy_hash
from bayesieve.report.report import ReportData, column_lines, search_parts
from bayesieve.table.paths import checked_path
from bayesieve.table.writing import HTML

_TEXTS = yaml.safe_load(text("document.yaml"))
_SHARES = {"share", "importance", "stability", "predicted", "observed", "unseen", "missing"}
_SHARES |= {"event_rate", "approval_rate", "approved_event_rate"}
_MOST_LINES = 300  # of a table; the report and the model file hold all
_MOST_FEATURES, _MOST_CLASSES = 5, 12  # segments by feature, besides those asked for; classes of a matrix
_MARKDOWN = (".md", ".markdown")
_SPECIAL = re.compile(r"([\\`*_\[\]|~$#])")


class Code(str):
    """A command to copy."""

    is_command = True


@dataclass(frozen=True)
class DocumentTable:
    """A table of texts, with a title or none. Columns of numbers are aligned to the right if it is `aligned`."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    aligned: bool = True

    @property
    def numbers(self) -> list[bool]:
        """Whether each column holds numbers."""
        is_number = [all(re.match(r"[+−–\d]|over|under", cell) for cell in c) for c in zip(*self.rows, strict=True)]
        return [self.aligned and i > 0 and flag for i, flag in enumerate(is_number or [False] * len(self.heads))]


class Section(NamedTuple):
    """A section: its title, the points of Annex IV and the themes of model risk that it is about, and its blocks.

    A block is a paragraph, a list of paragraphs, `Code` or a `DocumentTable`.
    """

    title: str
    about: str
    blocks: Sequence[Any]


def check_ending(path: object) -> None:
    """Raise ValueError, before any work is done, unless the name of a file is that of a page or of Markdown."""
    if checked_path(path).suffix.lower() not in (*HTML, *_MARKDOWN):
        raise ValueError(f"A document is an HTML page or Markdown, got {path}; end the name in .html or .md.")


def render_document(path: str | os.PathLike[str], data: ReportData, drift: Any = None) -> str:
    """Write the document in the format that the name of a file asks for.

    Parameters
    ----------
    path : str or path
    data : ReportData
    drift : frame of `bayesieve.drift` for the measured rows against the training rows; None: there is none.
    """
    contents = zip(_TEXTS["sections"].items(), _CONTENTS, strict=True)
    sections = [Section(title, about, blocks(data, drift)) for (title, about), blocks in contents]
    meta = f"Target {data.target}, {words.plural(data.n_rows, 'training row')}, written {data.created}."
    if checked_path(path).suffix.lower() in _MARKDOWN:
        return _as_markdown(data.title, meta, sections)
    style = text("page.css")
    context = {"title": data.title, "meta": meta, "no_claim": _TEXTS["no_claim"], "sections": sections}
    return fill("document.html", style=style, style_hash=policy_hash(style), **context)


def _as_markdown(title: str, meta: str, sections: Sequence[Section]) -> str:
    """Write sections as Markdown with tables (GitHub Flavored Markdown)."""
    paragraphs = [f"# Validation of the model: {_escaped(title)}", _escaped(meta), _TEXTS["no_claim"]]
    for number, section in enumerate(sections, 1):
        paragraphs += [f"## {number}. {section.title}", f"*{section.about}*"]
        for block in section.blocks:
            if isinstance(block, DocumentTable):
                rule = ["---:" if is_number else "---" for is_number in block.numbers]
                rows = [[*map(_escaped, block.heads)], rule, *([*map(_escaped, row)] for row in block.rows)]
                paragraphs += [f"### {_escaped(block.title)}"] * bool(block.title)
                paragraphs.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
            elif isinstance(block, str):
                paragraphs.append(f"    {_one_line(block)}" if isinstance(block, Code) else _escaped(block))
            else:
                paragraphs.append("\n".join(f"- {_escaped(line)}" for line in block))
    return "\n\n".join(paragraphs) + "\n"


def _one_line(content: str) -> str:
    return " ".join(words.printable(content).split())


def _escaped(content: str) -> str:
    """Return a text in one line, with characters that have a meaning in Markdown or HTML escaped."""
    line = _one_line(content).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"^(\d*)([-+=.)])(?=\s|$|[-=])", r"\1\\\2", _SPECIAL.sub(r"\\\1", line))


def _name(content: object) -> str:
    return words.shorten(words.not_blank(_one_line(str(content))), 80)


def _table(title: str, records: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> DocumentTable:
    """Return a table of records; ``columns`` are their keys by head."""
    rows = [[_cell(one[key], key) for key in columns.values()] for one in records]
    return DocumentTable(list(columns), rows[:_MOST_LINES], title)


def _cell(value: Any, key: str) -> str:
    if isinstance(value, str):
        return _name(value) if value else words.ABSENT
    if key in _SHARES:
        return words.format_percent(value)
    return words.format_count(value) if key in ("rows", "n_levels") else words.format_number(value)


def _pairs(lines: Iterable[tuple[str, str]]) -> DocumentTable:
    return DocumentTable(("Item", "Content"), [(_name(name), value) for name, value in lines], aligned=False)


def _fields(data: ReportData, section: str) -> DocumentTable:
    """Return the facts that people gave, and fields to complete for missing ones."""
    facts = dict(data.facts)
    return _pairs((name, facts.get(name, _TEXTS["to_complete"])) for name in _TEXTS["fields"][section])


def _is_of_data(name: str, value: str) -> bool:
    return name in ("Trained on", "Events per variable", "Data file", "Test file") or "of the values" in value


def _purpose(data: ReportData, _: Any) -> list[Any]:
    elsewhere = {"Limits", *(name for names in _TEXTS["fields"].values() for name in names)}
    facts = (fact for fact in data.facts if fact[0] not in elsewhere and not _is_of_data(*fact))
    return [_pairs(facts), _fields(data, "Purpose")]


def _data(data: ReportData, _: Any) -> list[Any]:
    total = sum(data.class_counts) or 1.0
    classes = [
        {"class": label or "(empty)", "rows": count, "share": count / total}
        for label, count in zip(data.classes, data.class_counts, strict=True)
    ]
    columns = {"Class": "class", "Training rows": "rows", "Share": "share"}
    facts = _pairs(fact for fact in data.facts if _is_of_data(*fact))
    return [facts, _table("Classes", classes, columns), _fields(data, "Data")]


def _method(data: ReportData, _: Any) -> list[Any]:
    search = [] if data.search is None else [f"{data.search.description} {search_parts(data.search)[0]}"]
    return [data.headline, *_TEXTS["method"], *search, _pairs(data.settings)]


def _selection(data: ReportData, _: Any) -> list[Any]:
    lines = column_lines(data)
    nothing = dict.fromkeys(("n_levels", "information_value", "by_chance"))
    used = [nothing | line | (line["own"] or {}) | {"importance": line["importance"]} for line in lines]
    used = [line for line in used if line["importance"]]
    columns = {"Column": "name", "Share of the evidence": "importance", "Levels": "n_levels"}
    columns |= {"Information value": "information_value", "By chance, 1 in": "by_chance"}
    columns |= {"Used in folds": "stability"} if data.stability else {}
    pairs = [one["name"] for one in data.features if one["selected"] and len(one["columns"]) > 1]
    blocks: list[Any] = [f"Columns in the model: {words.format_count(len(used))} of {words.format_count(len(lines))}."]
    blocks += [_table("In the model", used, columns)] if used else []
    blocks += [f"Pairs of columns in the model: {words.listed([*map(_name, pairs)], 50)}."] if pairs else []
    rejected = [
        (reason or "No part in the model", words.format_count(len(names)), words.listed([*map(_name, names)], 100))
        for reason, names in data.left_out.items()
    ]
    return (
        [*blocks, DocumentTable(("Reason", "Number", "Names"), rejected, "Tried and rejected as features of their own")]
        if rejected
        else blocks
    )


def _performance(data: ReportData, _: Any) -> list[Any]:
    if data.performance is None:
        return [_TEXTS["needs_rows"]]
    samples, measured = data.samples, data.performance
    of_rows, times = measured.name.lower(), [_time_of(one, samples) for one in samples]
    rows = [["Rows", *(words.format_count(one.class_rows.sum()) for one in samples)], ["Time", *times]]
    for name, title in _TEXTS["measures"].items():
        if name in measured.estimates:
            rows.append([title, *(_interval(one.estimates.get(name)) for one in samples)])
    heads = ("Measure", *(one.name for one in samples))
    blocks: list[Any] = [[f"{one.name}: {one.protocol}" for one in samples]]
    blocks.append(DocumentTable(heads, rows, "Measures with 95 % intervals"))
    if "out of time" not in times:
        blocks.append(_TEXTS["no_later_rows"])
    if len(data.classes) <= _MOST_CLASSES:
        names = list(map(_name, data.classes))
        matrix = [(names[i], *map(words.format_count, row)) for i, row in enumerate(measured.confusion)]
        blocks.append(DocumentTable(("True class", *names), matrix, f"Confusion matrix, {of_rows}"))
    if bands := measured.bands():
        label, other = _name(data.classes[data.positive]), _name(data.classes[1 - data.positive])
        bands = [{**one, "band": _range(one["low"], one["high"])} for one in bands]
        columns = {f"Probability of {label}": "band", "Rows": "rows", f"Rate of {other}": "event_rate"}
        columns |= {"Approval rate": "approval_rate", f"{other} among approved": "approved_event_rate", "KS": "ks"}
        blocks.append(_table(f"Strategy table if {label} is approved, {of_rows}", bands, columns))
    return blocks


def _time_of(sample: Any, samples: Sequence[Any]) -> str:
    """Return whether a sample is later than all training rows, as far as times are known."""
    if any(sample is one.later for one in samples):
        return "out of time"
    if sample.is_training:
        return "in time"
    trained = next((one.rows.moments for one in samples if one.is_training), None)
    if trained is None or sample.rows.moments is None:
        return "unknown"
    return "out of time" if sample.rows.moments.min() > trained.max() else "in time"


def _range(low: float | None, high: float | None) -> str:
    return f"{words.format_number(low)} to {words.format_number(high)}"


def _interval(estimate: Sequence[float] | None) -> str:
    """Return an estimate with the ends of its interval, if it has some."""
    value, low, high = (None, None, None) if estimate is None else estimate
    is_bounded = low is not None and high is not None and high - low < 9e99
    return f"{words.format_number(value)} ({_range(low, high)})" if is_bounded else words.format_number(value)


def _stability(data: ReportData, drift: Any) -> list[Any]:
    blocks: list[Any] = [_TEXTS["no_periods"]]
    if data.periods:
        periods = [{**one, "interval": _interval((one["auc"], one["low"], one["high"]))} for one in data.periods]
        columns = {"Period": "period", "Rows": "rows", "Predicted": "predicted", "Observed": "observed"}
        columns |= {"PSI of the score": "psi", "PSI by chance up to": "psi_chance", "AUC": "interval"}
        blocks = [_table("The score by period", periods, columns)]
    if drift is None or not len(drift):
        return [*blocks, _TEXTS["no_drift"]]
    features = [{**one, "interval": _range(one["psi_low"], one["psi_high"])} for one in drift.iter_rows(named=True)]
    columns = {"Feature": "feature", "PSI": "psi", "95 % interval": "interval", "PSI by chance up to": "psi_chance"}
    columns |= {"Unseen": "unseen", "Missing": "missing", "Shift, nats": "shift"}
    return [*blocks, _table("Features against the training rows", features, columns)]


def _calibration(data: ReportData, _: Any) -> list[Any]:
    p, two = data.performance, len(data.classes) == 2
    if p is None:
        return [_TEXTS["needs_rows"]]
    what = f"class {_name(data.classes[data.positive])}" if two else "correct predictions"
    blocks: list[Any] = [f"Predicted and observed shares of {what} on {p.name.lower()}."]
    columns = {
        "Predicted": "predicted",
        "Rows": "rows",
        "Observed with 95 % interval": "observed",
        "Outside": "outside",
    }
    for label, bins in p.reliability if two else ():
        blocks.append(_table(f"By probability of {_name(label)}", map(_calibrated, bins), columns))
    columns = {"Segment": "segment", **columns, "AUC": "auc"}
    shown = data.segments[: len(p.rows.segments) + _MOST_FEATURES]
    tables = []
    for name, lines in shown:
        rows = [
            _calibrated(one) | {"segment": _name(label), "auc": _interval(auc)} for label, _, _, one, auc, _ in lines
        ]
        tables.append(_table(f"By {_name(name)}", rows, columns))
    flags = ["yes" in row for table in tables for row in table.rows]
    if flags:
        n_outside, chance = f"{sum(flags)} of {words.plural(len(flags), 'segment')}", 0.05 * len(flags)
        about = "Outside: the predicted share is not in the 95 % interval of the observed one, as in "
        blocks.append(f"{about}{n_outside}; chance alone gives about {words.format_number(chance, 1)}.")
    else:
        blocks.append(_TEXTS["no_segments"])
    if not p.rows.segments:
        blocks.append(_TEXTS["no_groups"])
    return [*blocks, *tables]


def _calibrated(one: Any) -> dict[str, Any]:
    """Return the cells of rows with a similar probability, or of a segment."""
    percent = words.format_percent
    observed = f"{percent(one.observed)} ({percent(one.low)} to {percent(one.high)})"
    outside = "no" if one.low <= one.predicted <= one.high else "yes"
    return {"rows": one.weight, "predicted": one.predicted, "observed": observed, "outside": outside}


def _limits(data: ReportData, _: Any) -> list[Any]:
    weak = [f"{_name(one['name'])}: {one['caution']}" for one in data.features if one["caution"]]
    cautions = [*data.warnings, *weak] or [_TEXTS["no_cautions"]]
    limits = [value for name, value in data.facts if name == "Limits"]
    return [*limits, cautions, _fields(data, "Limits"), _TEXTS["other_parts"]]


def _monitoring(data: ReportData, drift: Any) -> list[Any]:
    large = unseen = auc = bias = "Not measured"
    bound, rules = "To be set after it is measured", ["psi_low>0.1", "unseen>0.05"]
    if drift is not None and len(drift):
        large = f"at most {words.format_number(drift['psi'].max())}"
        unseen = f"at most {words.format_percent(drift['unseen'].max())}"
    if data.performance is not None:
        estimates = data.performance.estimates
        bias = _interval(estimates.get("calibration"))
        auc, low = _interval(estimates["auc"]), estimates["auc"][1]
        if low is not None and math.isfinite(low):
            bound = f"Below {words.format_number(low)}, the lower end of its interval"
            rules.append(f"auc<{low:.3f}")
    rows = [
        ("PSI of each feature", large, "Lower end of its interval above 0.1"),
        ("Values never seen in training", unseen, "Above 5 % of the rows of a column"),
        ("AUC", auc, bound),
        ("Mean probability less share", bias, "Its interval excludes 0 in two periods in a row"),
    ]
    command = f"bayesieve monitor MODEL TABLE --by PERIOD --target {shlex.quote(data.target)}"
    return [
        _TEXTS["proposal"],
        DocumentTable(("Measure", "At validation", "Act if"), rows),
        _TEXTS["command"],
        Code(command + "".join(f" --fail-if {shlex.quote(rule)}" for rule in rules)),
        _fields(data, "Monitoring plan"),
    ]


def _changes(data: ReportData, _: Any) -> list[Any]:
    ruled = [(_name(one["name"]), words.shorten(one["by_hand"], 400)) for one in data.features if one["by_hand"]]
    blocks: list[Any] = [DocumentTable(("Column", "Rule"), ruled, "Given before the fit")] if ruled else []
    if not data.edits:
        return [*blocks, _TEXTS["no_edits"]]
    rows = []
    for one in data.edits:
        row = [
            one.what,
            _name(one.feature or "the model"),
            words.shorten(one.before, 300),
            words.shorten(one.after, 300),
        ]
        row += [_name(one.who), one.when[:10], one.why or "No reason was given."]
        for before, after in ((one.auc_before, one.auc_after), (one.log_loss_before, one.log_loss_after)):
            row.append(
                f"{words.format_number(before, 4)} → {words.format_number(after, 4)}"
                if after is not None
                else words.ABSENT
            )
        rows.append(row)
    heads = ("Edit", "Feature", "Before", "After", "Who", "When", "Why", "AUC", "Log loss")
    return [*blocks, DocumentTable(heads, rows, "Edited after the fit", aligned=False)]


def _sign_off(*_: Any) -> list[Any]:
    tasks = [(task, "", "", "", "") for task in _TEXTS["tasks"]]
    opinion = _pairs((name, "") for name in _TEXTS["opinion"])
    return [DocumentTable(("Task", "Name", "Role", "Date", "Signature"), tasks), opinion]


_CONTENTS: tuple[Callable[[ReportData, Any], list[Any]], ...]
_CONTENTS = (_purpose, _data, _method, _selection, _performance, _stability, _calibration)
_CONTENTS += (_limits, _monitoring, _changes, _sign_off)
