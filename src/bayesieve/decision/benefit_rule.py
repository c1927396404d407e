"""Benefits of decisions as plain values, which a JSON file or a saved model holds."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from typing import Any

from bayesieve.decision.benefit_classifier import BenefitClassifier
from bayesieve.plain_values import Damaged
from bayesieve.table.writing import checked_path

_KEYS = ("benefit", "classes", "decisions", "amount", "amount_benefit", "class_prior")
Matrix = tuple[tuple[float, ...], ...]


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
        if type(data) is not dict or "benefit" not in data:
            raise Damaged('it is not an object with the key "benefit"')
        strange = [key for key in data if key not in _KEYS]
        if strange:
            raise Damaged(f"it has the key {strange[0]!r:.60}, which is none of {', '.join(_KEYS)}")
        order = _texts(data.get("classes", list(known)), "classes")
        if set(order) != set(known) or len(order) != len(known):
            raise Damaged(f"its classes are not those of the model, {list(known)!r:.80}")
        benefit = _matrix(data["benefit"], "benefit", None, len(order))
        decisions = _texts(data.get("decisions", list(order)), "decisions")
        if len(decisions) != len(benefit):
            raise Damaged(f"benefit has {len(benefit)} rows but there are {len(decisions)} decisions")
        amount, slope, prior = data.get("amount"), data.get("amount_benefit"), data.get("class_prior")
        if amount is not None and type(amount) is not str:
            raise Damaged("amount is not the name of a column")
        if (amount is None) != (slope is None):
            raise Damaged("amount and amount_benefit need each other")
        return cls(
            benefit,
            order,
            decisions,
            amount,
            None if slope is None else _matrix(slope, "amount_benefit", len(benefit), len(order)),
            None if prior is None else _shares(prior, order),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values that `from_json` takes."""
        values = {
            "benefit": self.benefit,
            "classes": self.classes,
            "decisions": self.decisions,
            "amount": self.amount,
            "amount_benefit": self.amount_benefit,
            "class_prior": None if self.class_prior is None else dict(zip(self.classes, self.class_prior, strict=True)),
        }
        return json.loads(json.dumps({key: value for key, value in values.items() if value is not None}))

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


def _matrix(value: Any, name: str, n_rows: int | None, n_columns: int) -> Matrix:
    rows = value if type(value) is list and value else [None]
    fits = [type(row) is list and len(row) == n_columns and all(map(_is_number, row)) for row in rows]
    if not all(fits) or n_rows not in (None, len(rows)):
        of = "a row for each decision" if n_rows is None else f"{n_rows} rows"
        raise Damaged(f"{name} is not a list of {of} with {n_columns} numbers each, one for each class")
    return tuple(tuple(map(float, row)) for row in value)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e300 and math.isfinite(value)


def _texts(value: Any, name: str) -> tuple[str, ...]:
    if type(value) is not list or not value or any(type(item) not in (str, int, bool) for item in value):
        raise Damaged(f"{name} is not a list of names")
    texts = tuple(str(item) for item in value)
    if len(set(texts)) != len(texts):
        raise Damaged(f"{name} has a name twice")
    return texts


def _shares(value: Any, classes: tuple[str, ...]) -> tuple[float, ...]:
    valid = type(value) is dict and set(value) == set(classes) and all(_is_number(s) and s > 0 for s in value.values())
    if not valid or abs(sum(value.values()) - 1) > 1e-6:
        raise Damaged("class_prior does not give every class a positive share, with a sum of 1")
    return tuple(float(value[name]) for name in classes)
