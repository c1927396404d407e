"""`bayesieve explain`: contributions of the features to single predictions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesieve.cli import compiling, files, options
from bayesieve.cli.errors import CommandError, interruptible
from bayesieve.cli.info import first_of
from bayesieve.cli.options import Option, command
from bayesieve.cli.screen import Column, Screen, numbers
from bayesieve.words import format_count, plural, quoted, visible

if TYPE_CHECKING:
    import polars as pl

    from bayesieve.table.sources import Source

_BLOCK_ROWS = 1 << 13  # each becomes a line for every feature and class
_FIRST = 3  # rows shown by default
_MOST_VALUE, _MOST_LEVEL, _MOST_TITLE = 24, 32, 16  # characters
_PART = re.compile(r"\s*([0-9]{1,18})\s*(?:-\s*([0-9]{1,18})\s*)?")

OPTIONS = [
    options.MODEL,
    options.TABLE,
    Option(
        "--rows ROWS",
        f"Rows, counted from 0, such as 0,5,10-12; otherwise the first {_FIRST}, or all with --output.",
    ),
    Option(
        "--output -o FILE",
        "Write to a CSV, TSV, Parquet or Arrow file instead, one line per row, class and feature; - is CSV "
        "on standard output.",
        type=Path,
    ),
]


@command({"": OPTIONS})
def explain(given: Any) -> None:
    """Explain the prediction of rows of TABLE.

    Every feature adds to the log probability of each class, in nats; prior and contributions add up to the total.
    """
    from bayesieve.classifier.rows import own_columns

    files.check_output(given.output)
    screen, table, output = Screen(), given.table, given.output
    model = files.read_model(given.model, screen)
    source = files.source_to_score(model, table, output, screen)
    if given.rows is None and output is not None:
        with files.locating(table), compiling.announced(screen):
            _write_all(model, source, output)
        _end(source.n_rows, output, screen)
        return
    chosen = list(range(min(_FIRST, source.n_rows))) if given.rows is None else chosen_rows(given.rows, source.n_rows)
    X = own_columns(model, _rows_of(source, chosen))
    what = f"Explaining {plural(len(chosen), 'row')} ..."
    with files.locating(table, rows=chosen), compiling.announced(screen), screen.working(what):
        explanation = replace(model.explanation(X, by="score"), rows=chosen)
        probability = model.predict_proba(X)
    if output is not None:
        files.write_frame(explanation.to_frame(), output)
        _end(len(chosen), output, screen)
        return
    for at in range(len(chosen)):
        _show_row(screen, explanation, probability[at], at)
    if given.rows is None and source.n_rows > len(chosen):
        more = format_count(source.n_rows - len(chosen))
        screen.note(f"{more} rows more: choose with --rows, or write all with --output")


def _write_all(model: Any, source: Source, output: Path) -> None:
    """Explain all rows, block by block."""
    from bayesieve.classifier.rows import own_columns
    from bayesieve.engine.progress import RowProgress
    from bayesieve.table.columns import rows_from

    progress, at = RowProgress("Explaining", source.n_rows, source.n_bytes, verbose=1), 0
    with interruptible("no explanations were written"), files.written(output) as write, progress:
        for block in source.blocks(block_rows=_BLOCK_ROWS):
            with rows_from(at):
                explanation = model.explanation(own_columns(model, block), by="score")
            write(replace(explanation, rows=list(range(at, at + block.height))).to_frame())
            at += block.height
            progress(block.height)


def _end(n_rows: int, output: Path, screen: Screen) -> None:
    if not files.to_stdout(output):
        screen.line(f"{plural(n_rows, 'row')} explained in {output}")


def _rows_of(source: Source, chosen: list[int]) -> pl.DataFrame:
    """These rows in this order; no block is read after the last of them."""
    import polars as pl

    ordered, begin, parts = sorted(chosen), 0, []
    for block in source.blocks():
        end = begin + block.height
        parts.append(block[[row - begin for row in ordered if begin <= row < end]])
        begin = end
        if begin > ordered[-1]:
            break
    position = {row: i for i, row in enumerate(ordered)}
    return pl.concat(parts)[[position[row] for row in chosen]]


def chosen_rows(text: str, n_rows: int) -> list[int]:
    """Row numbers in the order given, each once, counted from 0."""
    rows: list[int] = []
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise CommandError(f"--rows cannot be read at {quoted(part)}; write row numbers such as 0,5,10-12")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise CommandError(f"--rows counts backwards at {quoted(part)}; write the smaller number first")
        if last >= n_rows:
            size = f"{plural(n_rows, 'row')}, counted from 0"
            raise CommandError(f"--rows contains row {format_count(last)}, but the table has {size}")
        rows.extend(range(first, last + 1))
    return list(dict.fromkeys(rows))


def _show_row(screen: Screen, explanation: Any, probability: Any, at: int) -> None:
    """Print the evidence for the predicted class of a row against the runner-up, the strongest first."""
    order = sorted(range(len(probability)), key=lambda j: (-probability[j], j))
    two, labels = order[:2], [visible(label) for label in explanation.classes]
    if at:
        screen.line()
    screen.line(f"row {explanation.rows[at]}: predicted {labels[two[0]]}", "bold")
    screen.line(first_of([f"P({labels[j]}) = {probability[j]:.4f}" for j in order]))
    screen.line("contributions to the log probability of each class, in nats:")
    screen.line()
    parts = explanation.contributions[at]
    size = parts.max(axis=1) - parts.min(axis=1)
    rows = [["prior", "", "", "", *_compared(explanation.prior, two)]]
    for k in sorted(range(len(size)), key=lambda k: (-size[k], k)):
        value = _short(_value(explanation.values[at, k]), _MOST_VALUE)
        level, weight = _short(explanation.levels[at, k], _MOST_LEVEL), f"{explanation.weights[k]:.3f}"
        rows.append([explanation.features[k], value, level, weight, *_compared(parts[k], two)])
    rows.append(["total", "", "", "", *_compared(explanation.joint_log_proba()[at], two)[:-1], None])
    titles = [_short(labels[j], _MOST_TITLE) for j in two]
    columns = [*map(Column, ("feature", "value", "level")), *numbers("weight", *titles, "difference")]
    screen.table([*columns, Column("", bar=True)], rows, strong=(len(rows) - 1,))


def _compared(nats: Any, two: Sequence[int]) -> list[Any]:
    first, second = (float(nats[j]) for j in two)
    return [f"{first:.4f}", f"{second:.4f}", f"{first - second:+.4f}", first - second]


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
