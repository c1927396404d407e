"""Benefits of decisions: the amounts in a table, and the columns that decisions add to predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesieve.cli.errors import CommandError
from bayesieve.cli.files import shown
from bayesieve.words import named, quoted, similar

if TYPE_CHECKING:
    import polars as pl

    from bayesieve.decision.benefit_classifier import BenefitRule


def amounts_of(rule: BenefitRule, frame: pl.DataFrame, path: Path, first: int = 0) -> Any:
    """The amounts of the rows, or None if the rule has none; CommandError unless every row has one. ``first`` is the
    number of the first of these rows in the table.
    """
    if rule.amount is None:
        return None
    name = f"{quoted(rule.amount)}, the amount of the benefits"
    if rule.amount not in frame.columns:
        meant = similar(rule.amount, frame.columns) or frame.columns
        raise CommandError(f"{shown(path)} has no column {name}; it has {named(meant)}")
    import polars as pl

    column = frame[rule.amount].alias("")
    if not column.dtype.is_numeric():
        raise CommandError(f"The column {name}, does not hold numbers")
    values = column.cast(pl.Float64)
    unknown = ~values.is_finite().fill_null(False)
    if unknown.any():
        from bayesieve.table.columns import ValueInRow

        row = int(unknown.arg_true()[0])
        value = values[row] if values[row] is not None and abs(values[row]) == float("inf") else None
        before, after = f"The column {name}, has no number in ", "; fill it in, or leave the row out"
        raise ValueInRow(before, after, rule.amount, first + row, value)
    return values.to_numpy()


def deciding(model: Any, X: pl.DataFrame, frame: pl.DataFrame, path: Path) -> Any:
    """A classifier that decides in these rows by the rule of a fitted model; ``frame`` has all their columns."""
    rule = model.benefit_rule_
    classifier = rule.around(model, model.scorecard_.class_counts)
    values = classifier.benefits_of(X, amounts_of(rule, frame, path), len(X)).values
    return classifier.set_params(benefit=values, amount=None, amount_benefit=None)


def decision_columns(
    rule: BenefitRule, model: Any, path: Path, block: pl.DataFrame, probability: Any, first: int
) -> list[pl.Series]:
    """The decision of each row of a block, the first of which has this number, and the expected benefit of each
    decision.
    """
    import polars as pl

    classifier = rule.around(model, model.scorecard_.class_counts)
    benefits = classifier.benefits_of(None, amounts_of(rule, block, path, first), len(probability))
    expected = benefits.expected(classifier.corrected(probability))
    names = pl.Series("decision", list(rule.decisions))
    columns = [pl.Series(f"benefit({name})", expected[:, i]) for i, name in enumerate(rule.decisions)]
    return [names.gather(expected.argmax(axis=1)), *columns]
