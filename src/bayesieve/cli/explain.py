"""`bayesieve explain`: contributions of the features to single predictions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from bayesieve.cli import compiling, files, options
from bayesieve.cli.columns import model_columns
from bayesieve.cli.errors import CommandError
from bayesieve.cli.explained_row import show_row
from bayesieve.cli.screen import Screen
from bayesieve.cli.text import counted, quoted, thousands

_FIRST = 3  # rows shown by default
_PART = re.compile(r"\s*([0-9]{1,18})\s*(?:-\s*([0-9]{1,18})\s*)?")


def explain(
    model: options.ModelFile,
    table: options.TableFile,
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="ROWS",
            help=f"Rows, counted from 0, such as 0,5,10-12; otherwise the first {_FIRST}, or all with --output.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        options.file_option(
            "Write to a CSV, TSV, Parquet or Arrow file instead, one line per row, class and feature; - is CSV "
            "on standard output."
        ),
    ] = None,
    debug: options.Debug = False,
) -> None:
    """Explain the prediction of rows of TABLE.

    Every feature adds to the log probability of each class, in nats; prior and contributions add up to the total.
    """
    files.check_output(output)
    screen = Screen()
    fitted = files.read_model(model, screen)
    frame = files.read_table(table, screen, fitted)
    if rows is not None:
        numbers = chosen_rows(rows, frame.height)
    else:
        numbers = list(range(frame.height if output is not None else min(_FIRST, frame.height)))
    X = model_columns(fitted, frame[numbers], table)
    with compiling.announced(screen), screen.working(f"Explaining {counted(len(numbers), 'row')} ..."):
        explanation = _explanation(fitted, X, numbers)
        probability = fitted.predict_proba(X)
    if output is not None:
        files.write_frame(explanation.to_frame(), output)
        if files.to_stdout(output):
            return
        screen.line(f"{counted(len(numbers), 'row')} explained in {output}")
        return
    for at in range(len(numbers)):
        show_row(screen, explanation, probability[at], at)
    if rows is None and frame.height > len(numbers):
        more = thousands(frame.height - len(numbers))
        screen.note(f"{more} rows more: choose with --rows, or write all with --output")


def _explanation(model: Any, X: Any, numbers: list[int]) -> Any:
    from dataclasses import replace

    import numpy as np

    return replace(model.explanation(X, by="score"), rows=np.asarray(numbers))


def chosen_rows(text: str, n_rows: int) -> list[int]:
    """Row numbers in the order given, each once, counted from 0."""
    rows: list[int] = []
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise CommandError(f"--rows cannot be read at {quoted(part)}; write row numbers such as 0,5,10-12")
        first = int(match[1])
        last = first if match[2] is None else int(match[2])
        if last < first:
            raise CommandError(f"--rows counts backwards at {quoted(part)}; write the smaller number first")
        if last >= n_rows:
            size = f"{counted(n_rows, 'row')}, counted from 0"
            raise CommandError(f"--rows contains row {thousands(last)}, but the table has {size}")
        rows.extend(range(first, last + 1))
    return list(dict.fromkeys(rows))
