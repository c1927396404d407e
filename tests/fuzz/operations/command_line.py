"""The command line, in this process: files of any kind in, one line per error out."""

from __future__ import annotations

import csv
import io
import os
import re
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

import bayesieve
from bayesieve.classifier.scoring import training_columns
from bayesieve.table.reading import read_table
from tests.fuzz import invariants, options, outcome
from tests.fuzz.case import Case, Ended, operation, without_details
from tests.fuzz.files import csv_text, spoilt_bytes, spoilt_text
from tests.fuzz.tables import Column, Drawn, draw_again, draw_column, draw_labels, draw_table

_PLACE = re.compile(r'File "(?:.*/bayesieve/)?(.*)", line \d+, in (\w+)')
_TEXTS = [*("float", "rounded", "int", "few", "bool", "letter", "word", "id", "date", "datetime", "text numbers")]
_TEXTS += ["odd text", "long int", "huge int", "mixed", "constant", "nothing", "extreme float", "decimal", "time"]


def run(case: Case, name: str, *arguments: object, must: bool = False) -> str | None:
    """A command: what it prints, or None when it refuses in one line of its own words."""
    from bayesieve.cli.app import app

    given = [str(argument) for argument in arguments]
    with case.step(name, must=must):
        result = CliRunner().invoke(app, given, prog_name="bayesieve")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        case.found(f"command: {type(result.exception).__name__}", name, outcome.text_of(result.exception))
        raise Ended
    if result.exit_code == 0:
        case.check("Traceback" not in result.stderr, "no traceback where it works", result.stderr)
        return str(result.stdout)
    line = result.stderr.strip().splitlines()[-1] if result.stderr.strip() else ""
    if "Internal error" in line:
        debug = CliRunner().invoke(app, [*given, "--debug"], prog_name="bayesieve").stderr
        places = [f"{file}:{function}" for file, function in _PLACE.findall(debug)]
        ours = [place for place in places if "/" in place and not place.startswith(("/", "cli/errors"))]
        kind = without_details(line[7:])
        case.found(f"command: {kind} at {ours[-1] if ours else places[-1:]}", name, debug[-4000:])
    elif result.exit_code != 2 or not line.startswith("error: ") or "Traceback" in result.stderr:
        case.found(f"command: status {result.exit_code}: {without_details(line)}", name, result.stderr[-4000:])
    elif outcome.unclear(line.removeprefix("error: ")) is not None:
        case.found(f"command: message of another library: {without_details(line)}", name, result.stderr[-4000:])
    elif must:
        case.found(f"command: refused: {name}: {without_details(line)}", name, result.stderr[-4000:])
    case.refusals.append(f"{name}: {line}")
    return None


def draw_file(case: Case, *, most_rows: int = 60) -> tuple[Drawn, list[Column]]:
    """A table of text that a file can hold, and its columns with the target last."""
    table = draw_table(case, plain=1.0, n_classes=case.pick((2, 2, 3, None)), most_rows=most_rows)
    columns = []
    for column in table.columns[:20]:
        kind = case.pick(_TEXTS)
        columns.append(draw_column(case, column.name, kind, table.codes))
    labels = [f"class {c}" for c in table.codes.tolist()]
    if case.chance(0.2):
        labels = [str(v) for v in list(draw_labels(case, table.codes))][: table.n_rows]
        labels += ["x"] * (table.n_rows - len(labels))
    return Drawn(tuple(columns), table.codes), [*columns, Column("the target", "target", labels)]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return path


@operation(1)
def score_rows(case: Case) -> None:
    """Fit by command; rows predicted alone, shuffled and together are the same text."""
    table, columns = draw_file(case, most_rows=40)
    train = write(case.folder / "train.csv", csv_text(case, columns))
    out = case.folder / "out"
    selector = case.pick(options.SELECTORS)
    extra: list[str] = []
    if case.chance(0.3):
        extra = [case.pick(("--categorical", "--numeric")), str(case.pick(columns[:-1]).name)]
    case.note(f"{selector} {extra} {[(c.name, c.kind) for c in columns]}")
    fitted = run(case, "fit", "fit", train, "-t", "the target", "-o", out, "-s", selector, "--no-report", *extra)
    if fitted is None:
        invariants.nothing_left(case, case.folder, {"train.csv"})
        return
    model = out / "model.json"
    new = table if case.chance(0.5) else draw_again(case, table, other_kinds=0.0)
    whole = _predicted(case, model, new)
    order = case.rng.permutation(new.n_rows)
    if whole is None:
        return
    shuffled = _predicted(case, model, new.rows(order))
    case.check(shuffled == [whole[i] for i in order], "rows of a file in another order", (whole, shuffled))
    for row in {case.integer(0, new.n_rows - 1) for _ in range(3)}:
        alone = _predicted(case, model, new.rows([row]))
        case.check(alone == [whole[row]], "a row of a file alone", (alone, [c.values[row] for c in new.columns]))


def _predicted(case: Case, model: Path, table: Drawn) -> list[list[str]] | None:
    path = write(case.folder / "new.csv", csv_text(case, list(table.columns)))
    printed = run(case, "predict", "predict", model, path, "--quiet")
    if printed is None:
        return None
    rows = list(csv.reader(io.StringIO(printed, newline="")))[1:]
    case.check(len(rows) == table.n_rows, "a prediction for each row", (len(rows), table.n_rows))
    return rows if len(rows) == table.n_rows else None


@operation(1.5)
def odd_files(case: Case) -> None:
    """Files as they come: any separator and coding, cut, ragged, damaged."""
    _, columns = draw_file(case)
    suffix = case.pick((".csv", ".csv", ".csv", ".tsv", ".txt", ".parquet", ".arrow", ".csv.gz", ""))
    separator = "\t" if suffix == ".tsv" else case.pick((",", ",", ";", "|", "\t"))
    text = csv_text(case, columns, separator)
    train = write(case.folder / f"train{suffix}", spoilt_text(case, text) if case.chance(0.7) else text)
    out = case.folder / "out"
    report = ["--folds", case.pick((0, 2, 3))] if case.chance(0.3) else ["--no-report"]
    fitted = run(case, "fit", "fit", train, "-t", "the target", "-o", out, "-s", case.pick(options.SELECTORS), *report)
    if fitted is None:
        invariants.nothing_left(case, case.folder, {train.name})
        return
    model = out / "model.json"
    new = write(case.folder / f"new{suffix}", spoilt_text(case, text))
    run(case, "info", "info", model, must=True)
    run(case, "predict", "predict", model, new)
    into = ["--output", case.folder / "explained.csv"] if case.chance(0.3) else []
    run(case, "explain", "explain", model, new, *into)
    cells = list(csv.reader(io.StringIO((out / "features.csv").read_text(encoding="utf-8"))))
    formulas = [cell for row in cells for cell in row if cell[:1] in ("=", "@")]
    case.check(not formulas, "no cell of features.csv starts a formula", formulas)
    if case.chance(0.3):
        write(model, spoilt_bytes(case, model.read_bytes()))
        run(case, "info of a damaged model", "info", model)


@operation(0.7)
def odd_arguments(case: Case) -> None:
    """Arguments that are none."""
    _, columns = draw_file(case, most_rows=30)
    table = write(case.folder / "train.csv", csv_text(case, columns))
    odd = ["", "-1", "0", "1", "1.5", "a", "nan", "inf", str(10**30), "\x00", ",", "the target", "x0", str(2**32), "--"]
    odd += ["=", "é"]
    names = [("--target", "-t"), ("--weight",), ("--ignore",), ("--numeric",), ("--categorical",), ("--selector",)]
    names += [("--max-seconds",), ("--seed",), ("--jobs",), ("--folds",), ("--benefit",)]
    command = case.pick(("fit", "fit", "fit", "compare", "predict", "explain", "info", "nothing"))
    given: list[Any] = [command, table]
    if command in ("fit", "compare"):
        given += ["-t", "the target", "-o", case.folder / "out"]
        given += ["--no-report"] if command == "fit" and case.chance(0.7) else ["--folds", "2"]
    if command == "compare":
        given += ["--selectors", case.pick(("all", "map,all", "x", ""))]
    if command in ("predict", "explain", "info"):
        model = write(case.folder / "model.json", case.pick((b"", b"{}", b"[]", b"1", b'{"format": 1}')))
        given = [command, model, table][: 2 if command == "info" else 3]
    for _ in range(case.integer(1, 2)):
        value = case.pick(odd)
        given += [case.pick(case.pick(names)), value] if case.chance(0.8) else [value]
    case.note(repr(given))
    before = os.getcwd()
    os.chdir(case.folder)
    try:
        run(case, command, *given)
    finally:
        os.chdir(before)


@operation(0.4)
def weighted_command(case: Case) -> None:
    """Weights from a column, rows explained, and the same figures in Python."""
    table, columns = draw_file(case, most_rows=60)
    weights = case.rng.integers(0, 3, table.n_rows) / 2
    train = write(case.folder / "train.csv", csv_text(case, [*columns, Column("count", "weight", weights.tolist())]))
    out = case.folder / "out"
    report = ["--folds", case.pick((0, 2, 3))] if case.chance(0.5) else ["--no-report"]
    given = ["-t", "the target", "--weight", "count", "-o", out, "-s", case.pick(options.SELECTORS), *report]
    if run(case, "fit", "fit", train, *given) is None:
        return
    names = {"model.json", "features.csv", "report.html"}
    invariants.nothing_left(case, out, names)
    printed = run(case, "predict", "predict", out / "model.json", train, "--quiet", must=True)
    with case.step("load", must=True):
        model = bayesieve.load(out / "model.json")
        p = model.predict_proba(training_columns(model, read_table(train)))
    rows = list(csv.reader(io.StringIO(printed, newline="")))[1:]
    case.same([[float(cell) for cell in row[1:]] for row in rows], p, "the command predicts what Python does")
    run(case, "explain", "explain", out / "model.json", train, "--rows", case.pick(("0", "0-1", "99", "-1", "a", "")))
    run(case, "info", "info", out / "model.json", "--all", must=True)


@operation(0.3)
def compare_command(case: Case) -> None:
    """Two selectors on one or two tables."""
    tables, targets = [], []
    for i in range(case.pick((1, 1, 2))):
        _, columns = draw_file(case, most_rows=60)
        tables.append(write(case.folder / f"table{i}.csv", csv_text(case, columns)))
        targets = ["-t", "the target"]
    given = ["-s", case.pick(("map,all", "all", "compression,information-gain")), "--folds", case.pick((2, 3)), "-o"]
    out = case.folder / "out"
    printed = run(case, "compare", "compare", *tables, *targets, *given, out)
    if printed is None:
        return
    again = run(case, "compare again", "compare", *tables, *targets, *given, out, must=True)
    case.check(again == printed, "a comparison gone on with prints the same", (printed, again))
    html = (out / "comparison.html").read_text(encoding="utf-8")
    case.check(not invariants.unbalanced(html), "the page of a comparison is whole", invariants.unbalanced(html))
