"""Rules of benefits as plain values: read as written, and refused in one sentence otherwise."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bayesieve.decision import BenefitRule
from tests.fuzz.outcome import unclear

CLASSES = ["bad", "good"]
RULE: dict[str, Any] = {
    "benefit": [[0.0, 0.0], [-500.0, 100.0]],
    "classes": ["good", "bad"],
    "decisions": ["refuse", "grant"],
    "amount": "credit",
    "amount_benefit": [[0.0, 0.0], [-0.5, 0.1]],
    "class_prior": {"good": 0.9, "bad": 0.1},
}
ODD = (
    None,
    True,
    [],
    {},
    "",
    "x",
    -1,
    0.5,
    1e308,
    2**70,
    [[]],
    [["x"]],
    {"a": 1},
    "\ud800",
    "y\n" * 9999,
    float("nan"),
)


def test_a_rule_is_read_as_it_was_written() -> None:
    rule = BenefitRule.from_json(RULE, CLASSES)
    assert rule.class_prior == {"good": 0.9, "bad": 0.1}
    assert json.loads(json.dumps(rule.to_json())) == RULE
    assert BenefitRule.from_json(rule.to_json(), CLASSES) == rule


def test_names_are_those_of_the_model_unless_given() -> None:
    rule = BenefitRule.from_json({"benefit": [[1, 0], [0, 2]]}, [False, True])
    assert rule.classes == rule.decisions == ("False", "True")
    assert rule.benefit == ((1.0, 0.0), (0.0, 2.0))


@pytest.mark.parametrize("key", [*RULE, "y\n" * 9999, "\ud800"])
@pytest.mark.parametrize("value", ODD, ids=range(len(ODD)))
def test_odd_values_are_a_rule_or_one_sentence(key: str, value: Any) -> None:
    try:
        rule = BenefitRule.from_json(RULE | {key: value}, CLASSES)
    except ValueError as error:
        message = str(error)
        assert "\n" not in message
        assert len(message) < 300
        assert unclear(message) is None
    else:
        assert key in ("classes", "decisions", "class_prior", "amount")
        assert len(rule.benefit) == len(rule.decisions)
        assert all(len(row) == len(rule.classes) for row in rule.benefit)
