"""Benefits of decisions as plain values, which a JSON file or a saved model holds."""

from __future__ import annotations

import json
import os
from typing import Annotated, Any

import msgspec

from bayesieve.decision.benefit_classifier import BenefitClassifier
from bayesieve.plain_values import Damaged, converted
from bayesieve.table.reading import checked_path

_Number = Annotated[float, msgspec.Meta(ge=-1e300, le=1e300)]
_Names = Annotated[tuple[str | int | bool, ...], msgspec.Meta(min_length=1)]
Matrix = tuple[tuple[_Number, ...], ...]


class BenefitRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which decisions there are, and what they bring, for the classes of a model named by their text.

    Attributes
    ----------
    benefit : a row for each decision, a column for each of ``classes``
    classes : in the order of the columns; of a file without them, those of the model
    decisions : in the order of the rows; of a file without them, the classes
    amount : column of the rows that holds the amount at stake, or None
    amount_benefit : benefit per unit of the amount, or None
    class_prior : shares of ``classes`` where decisions are taken, or None: as in training
    """

    benefit: Matrix
    classes: _Names = ()
    decisions: _Names = ()
    amount: str | None = None
    amount_benefit: Matrix | None = None
    class_prior: dict[str, Annotated[float, msgspec.Meta(gt=0.0)]] | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str], classes: Any) -> BenefitRule:
        """The rule in a JSON file, for a model with these classes; ValueError naming the file otherwise."""
        file = checked_path(path)
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise ValueError(f"{file} cannot be read ({error.strerror}); give a JSON file of benefits.") from None
        except (ValueError, RecursionError):
            raise ValueError(f"{file} does not hold valid JSON; give a file such as {{{_EXAMPLE}}}.") from None
        try:
            return cls.from_json(data, classes)
        except Damaged as error:
            raise ValueError(f"{file} holds no benefits of decisions: {error}; mend the file.") from None

    @classmethod
    def from_json(cls, data: Any, classes: Any) -> BenefitRule:
        """The rule that plain values describe; `Damaged` with half a sentence otherwise."""
        known = tuple(str(label) for label in classes)
        rule = converted(data, cls, "rule")
        order = _names(rule.classes, known, "classes")
        decisions = _names(rule.decisions, order, "decisions")
        slope, prior = rule.amount_benefit, rule.class_prior
        if set(order) != set(known):
            raise Damaged(f"its classes are not those of the model, {list(known)!r:.80}")
        for name, matrix in (("benefit", rule.benefit), ("amount_benefit", slope)):
            if matrix is not None and (len(matrix) != len(decisions) or {len(row) for row in matrix} != {len(order)}):
                raise Damaged(
                    f"{name} needs a row for each of {len(decisions)} decisions, with {len(order)} numbers, one for "
                    "each class"
                )
        if (rule.amount is None) != (slope is None):
            raise Damaged("amount and amount_benefit need each other")
        if prior is not None and (set(prior) != set(order) or abs(sum(prior.values()) - 1) > 1e-6):
            raise Damaged("class_prior does not give every class a positive share, with a sum of 1")
        shares = None if prior is None else {name: prior[name] for name in order}
        return msgspec.structs.replace(rule, classes=order, decisions=decisions, class_prior=shares)

    def to_json(self) -> dict[str, Any]:
        """Plain values that `from_json` takes."""
        return json.loads(json.dumps(msgspec.to_builtins(self)))

    def around(self, model: Any, class_count: Any) -> BenefitClassifier:
        """A classifier that decides by this rule, around a model trained on so many rows of each class."""
        texts = [str(label) for label in model.classes_]
        columns = [self.classes.index(text) for text in texts]
        slope, prior = self.amount_benefit, self.class_prior
        return BenefitClassifier(
            model,
            benefit=[[row[j] for j in columns] for row in self.benefit],
            amount=self.amount,
            amount_benefit=None if slope is None else [[row[j] for j in columns] for row in slope],
            class_prior=None if prior is None else [prior[text] for text in texts],
            decisions=list(self.decisions),
        ).keep(model, class_count)


_EXAMPLE = '"benefit": [[0, 0], [-1, 5]], "classes": ["no", "yes"], "decisions": ["leave", "call"]'


def _names(given: tuple[Any, ...], default: tuple[str, ...], what: str) -> tuple[str, ...]:
    names = tuple(map(str, given)) or default
    if len(set(names)) != len(names):
        raise Damaged(f"{what} has a name twice")
    return names
