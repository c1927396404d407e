"""`bayesieve predict`: a model and a table become predictions."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from bayesieve.cli import compiling, files, options
from bayesieve.cli.benefit import amounts_of, benefit_rule, decision_columns
from bayesieve.cli.columns import require_needed
from bayesieve.cli.errors import interruptible
from bayesieve.cli.screen import Screen
from bayesieve.cli.text import counted

_MOST_UNSEEN = 50  # columns whose share of rows without a known value is printed


def predict(
    model: options.ModelFile,
    table: options.TableFile,
    output: Annotated[
        Path | None,
        options.file_option(
            "File to write; its extension chooses CSV, TSV, Parquet or Arrow. Without extension: a folder, for one "
            "Parquet file for each file of TABLE. By default, and for -, CSV goes to standard output."
        ),
    ] = None,
    keep: Annotated[
        list[str],
        typer.Option(metavar="COLUMN", help="Column of TABLE to write as well, or all; may be repeated."),
    ] = [],  # noqa: B006
    benefit: options.Benefit = None,
    memory_limit: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory to stay within, such as 2GiB; 4GiB by default.", show_default=False),
    ] = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Predict the class of every row of TABLE, with the probability of each class.

    Columns may be in any order; columns that MODEL does not use are ignored. TABLE may be a folder, or a pattern in
    quotes such as 'claims/*.parquet': Parquet and Arrow files of any size are predicted block by block. Run a command
    that was killed while it wrote a folder again to continue where it stopped.

    With benefits, those of MODEL or of --benefit, also the decision of largest expected benefit, and what each brings.
    """
    from bayesieve.classifier.scored_files import ScoredRows
    from bayesieve.engine.progress import RowProgress

    to_folder = files.check_output(output, folders=True)
    screen = Screen(quiet)
    fitted = files.read_model(model, screen)
    rule = benefit_rule(benefit, fitted.classes_) or fitted.benefit_rule_
    source = files.open_source(table, screen, fitted)
    files.refuse_input(output, table, source)
    require_needed(fitted, source.names, table)
    add: dict[str, Any] = {}
    if rule is not None:
        add = {"add": partial(_decisions, rule, fitted, table), "add_key": repr(rule)}
        add["also"] = [rule.amount] if rule.amount in source.names else []
    kept = "all" if keep == ["all"] and "all" not in source.names else keep
    scored = ScoredRows.of(fitted, source, kept, memory_limit, most_named=_MOST_UNSEEN, **add)
    unfinished = "no predictions were written"
    if to_folder:
        unfinished = f"finished files are in {output}; run the same command to continue from there"
    with ExitStack() as stack:
        stack.enter_context(compiling.announced(screen))
        stack.enter_context(interruptible(unfinished))
        stack.enter_context(files.locating(table))
        progress = stack.enter_context(RowProgress("Predicting", source.n_rows, source.n_bytes, verbose=int(not quiet)))
        if to_folder:
            assert output is not None
            scored.write_folder(output, progress)
        else:
            scored.write(stack.enter_context(files.written(output)), progress)
    if not files.to_stdout(output):
        screen.line(f"{counted(source.n_rows, 'prediction')} in {output}")


def _decisions(rule: Any, model: Any, table: Path, block: Any, probability: Any, first: int) -> Any:
    """The columns that decisions add to a block of rows, the first of which has this number."""
    return decision_columns(rule, model, probability, amounts_of(rule, block, table, first))
