"""Benefits of decisions as plain values, which a JSON file or a saved model holds."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from bayesieve.decision.benefit_classifier import BenefitClassifier
from bayesieve.plain_values import Damaged, converted
from bayesieve.table.writing import checked_path

_Number = Annotated[float, msgspec.Meta(ge=-1e300, le=1e300)]
_Name = str | int | bool
Matrix = tuple[tuple[_Number, ...], ...]


class _Written(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A rule as JSON; without names, classes are those of the model, and decisions the classes."""

    benefit: Matrix
    classes: Annotated[tuple[_Name, ...], msgspec.Meta(min_length=1)] | None = None
    decisions: Annotated[tuple[_Name, ...], msgspec.Meta(min_length=1)] | None = None
    amount: str | None = None
    amount_benefit: Matrix | None = None
    class_prior: dict[str, Annotated[float, msgspec.Meta(gt=0.0)]] | None = None


@dataclass(frozen=True)
class BenefitRule:
    """Which decisions there are, and what they bring, for the classes of a model named by their text.

    Attributes
    ----------
    benefit : a row for each decision, a column for each of ``classes``
    classes : in the order of the columns
    decisions : in the order of the rows
    amount : column of the rows that holds the amount at stake, or None
    amount_benefit : benefit per unit of the amount, or None
    class_prior : shares of ``classes`` where decisions are taken, or None: as in training
    """

    benefit: Matrix
    classes: tuple[str, ...]
    decisions: tuple[str, ...]
    amount: str | None = None
    amount_benefit: Matrix | None = None
    class_prior: tuple[float, ...] | None = None

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
        written = converted(data, _Written, "rule")
        order = _names(written.classes, known, "classes")
        decisions = _names(written.decisions, order, "decisions")
        slope, prior = written.amount_benefit, written.class_prior
        if set(order) != set(known):
            raise Damaged(f"its classes are not those of the model, {list(known)!r:.80}")
        for name, matrix in (("benefit", written.benefit), ("amount_benefit", slope)):
            if matrix is not None and (len(matrix) != len(decisions) or {len(row) for row in matrix} != {len(order)}):
                raise Damaged(
                    f"{name} needs a row for each of {len(decisions)} decisions, with {len(order)} numbers, one for "
                    "each class"
                )
        if (written.amount is None) != (slope is None):
            raise Damaged("amount and amount_benefit need each other")
        if prior is not None and (set(prior) != set(order) or abs(sum(prior.values()) - 1) > 1e-6):
            raise Damaged("class_prior does not give every class a positive share, with a sum of 1")
        shares = None if prior is None else tuple(prior[name] for name in order)
        return cls(written.benefit, order, decisions, written.amount, slope, shares)

    def to_json(self) -> dict[str, Any]:
        """Plain values that `from_json` takes."""
        prior = None if self.class_prior is None else dict(zip(self.classes, self.class_prior, strict=True))
        written = _Written(
            self.benefit, self.classes, self.decisions, self.amount, self.amount_benefit, class_prior=prior
        )
        return json.loads(json.dumps(msgspec.to_builtins(written)))

    def around(self, model: Any, class_count: Any) -> BenefitClassifier:
        """A classifier that decides by this rule, around a model trained on so many rows of each class."""
        texts = [str(label) for label in model.classes_]
        columns = [self.classes.index(text) for text in texts]
        slope, shares = self.amount_benefit, self.class_prior
        return BenefitClassifier(
            model,
            benefit=[[row[j] for j in columns] for row in self.benefit],
            amount=self.amount,
            amount_benefit=None if slope is None else [[row[j] for j in columns] for row in slope],
            class_prior=None if shares is None else [shares[j] for j in columns],
            decisions=list(self.decisions),
        ).keep(model, class_count)


_EXAMPLE = '"benefit": [[0, 0], [-1, 5]], "classes": ["no", "yes"], "decisions": ["leave", "call"]'


def _names(given: tuple[str | int | bool, ...] | None, default: tuple[str, ...], what: str) -> tuple[str, ...]:
    names = default if given is None else tuple(map(str, given))
    if len(set(names)) != len(names):
        raise Damaged(f"{what} has a name twice")
    return names
