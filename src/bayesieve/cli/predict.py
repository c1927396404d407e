"""`bayesieve predict`: a model and a table become predictions."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from bayesieve.cli import compiling, files, options
from bayesieve.cli.benefit import decision_columns
from bayesieve.cli.errors import interruptible
from bayesieve.cli.options import Option, command
from bayesieve.cli.screen import Screen
from bayesieve.words import plural

_MOST_UNSEEN = 50  # columns whose share of rows without a known value is printed

OPTIONS = [
    options.MODEL,
    options.TABLE,
    Option(
        "--output -o FILE",
        "File to write; its extension chooses CSV, TSV, Parquet or Arrow. Without extension: a folder, for one "
        "Parquet file for each file of TABLE. By default, and for -, CSV goes to standard output.",
        type=Path,
    ),
    Option("--keep COLUMN", "Column of TABLE to write as well, or all; may be repeated.", []),
    options.BENEFIT,
    Option("--memory-limit SIZE", "Memory to stay within, such as 2GiB; 4GiB by default."),
    options.QUIET,
]


@command({"": OPTIONS})
def predict(given: Any) -> None:
    """Predict the class of every row of TABLE, with the probability of each class.

    Columns may be in any order; columns that MODEL does not use are ignored. TABLE may be a folder, or a pattern in
    quotes such as 'claims/*.parquet': Parquet and Arrow files of any size are predicted block by block. Run a command
    that was killed while it wrote a folder again to continue where it stopped.

    With benefits, those of MODEL or of --benefit, also the decision of largest expected benefit, and what each brings.
    """
    from bayesieve.classifier.scored_files import ScoredRows
    from bayesieve.decision.benefit_rule import BenefitRule
    from bayesieve.engine.progress import RowProgress
    from bayesieve.table.frame_files import is_folder

    screen, table, output = Screen(given.quiet), given.table, given.output
    to_folder = not files.to_stdout(output) and is_folder(output)
    (files.check_folder if to_folder else files.check_output)(output)
    model = files.read_model(given.model, screen)
    rule = model.benefit_rule_ if given.benefit is None else BenefitRule.read(given.benefit, model.classes_)
    source = files.source_to_score(model, table, output, screen)
    add: dict[str, Any] = {}
    if rule is not None:
        add = {"add": partial(decision_columns, rule, model, table), "add_key": repr(rule)}
        add["also"] = [rule.amount] if rule.amount in source.names else []
    kept = "all" if given.keep == ["all"] and "all" not in source.names else given.keep
    scored = ScoredRows.of(model, source, kept, given.memory_limit, most_named=_MOST_UNSEEN, **add)
    unfinished = "no predictions were written"
    if to_folder:
        unfinished = f"finished files are in {output}; run the same command to continue from there"
    progress = RowProgress("Predicting", source.n_rows, source.n_bytes, verbose=int(not given.quiet))
    with compiling.announced(screen), interruptible(unfinished), files.locating(table), progress, ExitStack() as stack:
        if to_folder:
            scored.write_folder(output, progress)
        else:
            scored.write(stack.enter_context(files.written(output)), progress)
    if not files.to_stdout(output):
        screen.line(f"{plural(source.n_rows, 'prediction')} in {output}")
