"""Benefits of decisions: their file, the amounts in a table, and the columns that decisions add to predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesieve.cli.errors import CommandError
from bayesieve.cli.text import listed, quoted, shown, similar

if TYPE_CHECKING:
    import polars as pl

    from bayesieve.decision.benefit_rule import BenefitRule


def benefit_rule(path: Path | None, classes: Any) -> BenefitRule | None:
    """The rule in the file that --benefit names, for these classes."""
    if path is None:
        return None
    from bayesieve.decision.benefit_rule import BenefitRule

    return BenefitRule.read(path, classes)


def amounts_of(rule: BenefitRule, frame: pl.DataFrame, path: Path, first: int = 0) -> Any:
    """The amounts of the rows, None for a rule without; CommandError unless every row has one. ``first`` is the number
    of the first of these rows in the table.
    """
    if rule.amount is None:
        return None
    if rule.amount not in frame.columns:
        meant = similar(rule.amount, frame.columns) or frame.columns
        raise CommandError(
            f"{shown(path)} has no column {quoted(rule.amount)}, the amount of the benefits; it has {listed(meant)}"
        )
    import polars as pl

    column = frame[rule.amount].alias("")
    if not column.dtype.is_numeric():
        raise CommandError(f"The column {quoted(rule.amount)}, the amount of the benefits, does not hold numbers")
    values = column.cast(pl.Float64)
    unknown = ~values.is_finite().fill_null(False)
    if unknown.any():
        from bayesieve.table.columns import ValueInRow

        row = int(unknown.arg_true()[0])
        value = values[row] if values[row] is not None and abs(values[row]) == float("inf") else None
        raise ValueInRow(
            f"The column {quoted(rule.amount)}, the amount of the benefits, has no number in ",
            "; fill it in, or leave the row out",
            rule.amount,
            first + row,
            value,
        )
    return values.to_numpy()


def deciding(rule: BenefitRule, model: Any, X: Any, amounts: Any) -> Any:
    """A classifier that decides in these rows by the rule and a fitted model."""
    classifier = rule.around(model, model.naive_bayes_.class_count_)
    values = classifier.benefits_of(X, amounts, len(X)).values
    return classifier.set_params(benefit=values, amount=None, amount_benefit=None)


def decision_columns(rule: BenefitRule, model: Any, probability: Any, amounts: Any) -> list[pl.Series]:
    """The decision of each row, and the expected benefit of each decision."""
    import polars as pl

    classifier = rule.around(model, model.naive_bayes_.class_count_)
    benefits = classifier.benefits_of(None, amounts, len(probability))
    expected = benefits.expected(classifier.corrected(probability))
    names = pl.Series("decision", list(rule.decisions))
    columns = [pl.Series(f"benefit({name})", expected[:, i]) for i, name in enumerate(rule.decisions)]
    return [names.gather(expected.argmax(axis=1)), *columns]
