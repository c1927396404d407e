"""`bayesieve predict`: a model and a table become predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from bayesieve.cli import compiling, files, options
from bayesieve.cli.benefit import amounts_of, benefit_rule, decision_columns
from bayesieve.cli.columns import model_columns
from bayesieve.cli.errors import interruptible
from bayesieve.cli.screen import Screen
from bayesieve.cli.text import counted

if TYPE_CHECKING:
    import polars as pl

_CONSEQUENCE = "no predictions were written"
_MOST_UNSEEN = 50  # columns whose share of rows without a known value is printed


def predict(
    model: options.ModelFile,
    table: options.TableFile,
    output: Annotated[
        Path | None,
        options.file_option(
            "File to write; its extension chooses CSV, TSV, Parquet or Arrow. By default, and for -, CSV goes to "
            "standard output."
        ),
    ] = None,
    benefit: options.Benefit = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Predict the class of every row of TABLE, with the probability of each class.

    Columns may be in any order; columns that MODEL does not use are ignored. TABLE may be a folder, or a pattern in
    quotes such as 'claims/*.parquet': Parquet and Arrow files of any size are predicted block by block.

    With benefits, those of MODEL or of --benefit, also the decision of largest expected benefit, and what each brings.
    """
    import polars as pl

    from bayesieve.classifier.own_columns import columns_to_read
    from bayesieve.classifier.scored_frames import BLOCK_ROWS
    from bayesieve.engine.progress import RowProgress

    files.check_output(output)
    screen = Screen(quiet)
    fitted = files.read_model(model, screen)
    rule = benefit_rule(benefit, fitted.classes_) or fitted.benefit_rule_
    source = files.open_source(table, screen, fitted)
    files.refuse_input(output, table, source)
    model_columns(fitted, pl.DataFrame(schema=source.schema), table)  # says what lacks before the work begins
    names = columns_to_read(fitted, source)
    if rule is not None and rule.amount in source.names and rule.amount not in names:
        names.append(rule.amount)
    before = fitted.encoder_.unseen_counts_.copy()
    progress = RowProgress("Predicting", source.n_rows, source.n_bytes, verbose=int(not quiet))
    with (
        compiling.announced(screen),
        interruptible("no predictions were written"),
        files.written(output) as write,
        progress,
    ):
        at = 0
        for block in source.blocks(names, BLOCK_ROWS):
            write(_predictions(fitted, rule, block, table, at))
            at += block.height
            progress(block.height)
    _warn_of_unseen(fitted, fitted.encoder_.unseen_counts_ - before, at, screen)
    if not files.to_stdout(output):
        screen.line(f"{counted(at, 'prediction')} in {output}")


def _predictions(model: Any, rule: Any, block: pl.DataFrame, table: Path, first: int) -> pl.DataFrame:
    """What the model says about a block of rows, the first of which has this number."""
    import polars as pl

    from bayesieve.table.cautions import silenced

    X = model_columns(model, block, table)
    amounts = None if rule is None else amounts_of(rule, block, table, first)
    with silenced():
        probability = model.predict_proba(X)
    labels = pl.Series("prediction", model.classes_.tolist())
    shares = {f"P({label})": probability[:, j] for j, label in enumerate(model.classes_.tolist())}
    predictions = pl.DataFrame({"prediction": labels.gather(probability.argmax(axis=1)), **shares})
    return predictions if rule is None else predictions.with_columns(decision_columns(rule, model, X, amounts))


def _warn_of_unseen(model: Any, unseen: Any, n_rows: int, screen: Screen) -> None:
    from bayesieve.classifier.cautions import unseen_caution

    used = model.naive_bayes_.used_
    caution = unseen_caution(model.encoder_.levels_, unseen, n_rows, used, most=_MOST_UNSEEN)
    if caution is not None:
        screen.warn(caution.sentence)
