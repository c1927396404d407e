"""`bayesieve predict`: a model and a table become predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from bayesieve.cli import compiling, files, options
from bayesieve.cli.benefit import amounts_of, benefit_rule, decision_columns
from bayesieve.cli.columns import model_columns
from bayesieve.cli.screen import Screen
from bayesieve.cli.text import counted

if TYPE_CHECKING:
    import polars as pl

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

    Columns may be in any order; columns that MODEL does not use are ignored.

    With benefits, those of MODEL or of --benefit, also the decision of largest expected benefit, and what each brings.
    """
    files.check_output(output)
    screen = Screen(quiet)
    fitted = files.read_model(model, screen)
    rule = benefit_rule(benefit, fitted.classes_) or fitted.benefit_rule_
    frame = files.read_table(table, screen, fitted)
    X = model_columns(fitted, frame, table)
    amounts = None if rule is None else amounts_of(rule, frame, table)
    with compiling.announced(screen), screen.working(f"Predicting {counted(frame.height, 'row')} ..."):
        predictions = _predictions(fitted, X, screen)
        if rule is not None:
            predictions = predictions.with_columns(decision_columns(rule, fitted, X, amounts))
    files.write_frame(predictions, output)
    if not files.to_stdout(output):
        screen.line(f"{counted(frame.height, 'prediction')} in {output}")


def _predictions(model: Any, X: Any, screen: Screen) -> pl.DataFrame:
    import polars as pl

    from bayesieve.classifier.cautions import unseen_caution
    from bayesieve.table.cautions import silenced

    with silenced():
        probability = model.predict_proba(X)
    unseen, used = model.encoder_.unseen_counts_, model.naive_bayes_.used_
    caution = unseen_caution(model.encoder_.levels_, unseen, len(probability), used, most=_MOST_UNSEEN)
    if caution is not None:
        screen.warn(caution.sentence)
    labels = pl.Series("prediction", model.classes_.tolist())
    shares = {f"P({label})": probability[:, j] for j, label in enumerate(model.classes_.tolist())}
    return pl.DataFrame({"prediction": labels.gather(probability.argmax(axis=1)), **shares})
