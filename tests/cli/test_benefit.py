"""Benefits on the command line: a JSON file, kept with the model, or given again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import BenefitClassifier, load
from tests.classifier.model_files import signed
from tests.cli.conftest import GERMAN, Run
from tests.limits import Limits

RULE: dict[str, Any] = {
    "benefit": [[0, 0], [-500, 100]],
    "classes": ["bad", "good"],
    "decisions": ["refuse", "grant"],
    "amount": "credit_amount",
    "amount_benefit": [[0, 0], [-0.5, 0.1]],
    "class_prior": {"good": 0.9, "bad": 0.1},
}


def written(rule: Any, name: str = "loans.json") -> Path:
    Path(name).write_text(rule if isinstance(rule, str) else json.dumps(rule), encoding="utf-8")
    return Path(name)


def expected_benefits(model: Path, rule: dict[str, Any]) -> np.ndarray:
    frame = pl.read_csv(GERMAN)
    fitted = load(model)
    counts = fitted.scorecard_.class_counts
    odds = fitted.predict_proba(frame.drop("class")) * [0.1, 0.9] / (counts / counts.sum())
    shares = odds / odds.sum(axis=1, keepdims=True)
    amounts = frame["credit_amount"].to_numpy()[:, None]
    grant = np.array(rule["benefit"][1]) + amounts * np.array(rule["amount_benefit"][1])
    return np.stack([np.zeros(len(frame)), (shares * grant).sum(axis=1)], axis=1)


def test_decisions_are_columns_of_the_predictions(succeeds: Run, model: Path) -> None:
    succeeds("predict", model, GERMAN, "-o", "plain.parquet")
    succeeds("predict", model, GERMAN, "--benefit", written(RULE), "-o", "decided.parquet")
    plain, decided = pl.read_parquet("plain.parquet"), pl.read_parquet("decided.parquet")
    assert decided[plain.columns].equals(plain)
    assert decided.columns[len(plain.columns) :] == ["decision", "benefit(refuse)", "benefit(grant)"]
    expected = expected_benefits(model, RULE)
    np.testing.assert_allclose(decided["benefit(grant)"], expected[:, 1])
    assert decided["decision"].to_list() == np.array(["refuse", "grant"])[expected.argmax(axis=1)].tolist()
    assert 0 < (decided["decision"] == "grant").sum() < len(decided)


def test_decisions_take_no_column_of_the_table(fails: Run, model: Path, german: pl.DataFrame) -> None:
    german.with_columns(decision=1).write_csv("rows.csv")
    kept = ("predict", model, "rows.csv", "--benefit", written(RULE), "--keep", "decision")
    assert "'decision' has the name of a decision; rename it" in fails(*kept)
    fitted = ("fit", "rows.csv", "-t", "class", "--benefit", "loans.json", "--id", "decision")
    assert "'decision' (--id) has the name of a column that predict writes" in fails(*fitted)


def test_classes_may_come_in_any_order(succeeds: Run, model: Path) -> None:
    turned = RULE | {
        "classes": ["good", "bad"],
        "benefit": [[0, 0], [100, -500]],
        "amount_benefit": [[0, 0], [0.1, -0.5]],
    }
    for rule, name in ((RULE, "a.csv"), (turned, "b.csv")):
        succeeds("predict", model, GERMAN, "--benefit", written(rule), "-o", name)
    assert Path("a.csv").read_text() == Path("b.csv").read_text()


def test_a_folder_is_written_again_for_other_benefits(succeeds: Run, model: Path, german: pl.DataFrame) -> None:
    Path("parts").mkdir()
    german.write_parquet("parts/0.parquet")
    for rule in (RULE, RULE | {"benefit": [[0, 0], [-900, 100]]}):
        succeeds("predict", model, "parts", "--benefit", written(rule), "-o", "scored")
        found = pl.read_parquet("scored")["benefit(grant)"]
        np.testing.assert_allclose(found, expected_benefits(model, rule)[:, 1])


def test_benefits_stay_with_the_model_and_can_be_replaced(succeeds: Run) -> None:
    written(RULE)
    options = ("--target", "class", "--selector", "map", "--no-report", "--benefit", "loans.json")
    succeeds("fit", GERMAN, *options, "--output", "with")
    Path("loans.json").unlink()
    succeeds("predict", "with/model.json", GERMAN, "-o", "kept.parquet")
    kept = pl.read_parquet("kept.parquet")
    np.testing.assert_allclose(kept["benefit(grant)"], expected_benefits(Path("with/model.json"), RULE)[:, 1])
    other = {"benefit": [[1, 0], [0, 1], [0.6, 0.6]], "decisions": ["a", "b", "c"]}
    succeeds("predict", "with/model.json", GERMAN, "--benefit", written(other), "-o", "other.parquet")
    fitted = load("with/model.json")
    assert fitted.benefit_rule_ is not None
    assert fitted.benefit_rule_.to_json() == RULE | {"class_prior": {"bad": 0.1, "good": 0.9}}
    decided = BenefitClassifier(fitted, benefit=other["benefit"], decisions=other["decisions"])
    X = pl.read_csv(GERMAN).drop("class")
    assert pl.read_parquet("other.parquet")["decision"].to_list() == decided.predict(X).tolist()


RULES_THAT_CANNOT_BE: list[tuple[Any, str]] = [
    ("{", "loans.json does not hold valid JSON"),
    ([], "its rule: Expected object, got array"),
    (RULE | {"costs": 1}, "its rule: Object contains unknown field costs"),
    (RULE | {"classes": ["bad", "fine"]}, "its classes are not those of the model, ['bad', 'good']"),
    (RULE | {"benefit": [[1, 2]]}, "benefit needs a row for each of 2 decisions, with 2 numbers"),
    (RULE | {"benefit": [[1, 2], [3]]}, "benefit needs a row for each of 2 decisions"),
    (RULE | {"benefit": [[1, "x"], [0, 0]]}, "Expected float, got str - at $.benefit[0][1]"),
    (RULE | {"amount_benefit": [[1, 2]]}, "amount_benefit needs a row for each of 2 decisions"),
    (RULE | {"amount_benefit": None}, "amount and amount_benefit must be given together"),
    (RULE | {"decisions": ["a", "a"]}, "decisions contains a name twice"),
    (RULE | {"class_prior": {"bad": 0.1, "good": 0.8}}, "class_prior needs a positive share for each of"),
    (RULE | {"amount": 3}, "got int - at $.amount"),
    (RULE | {"amount": "credit_amout"}, "the amount of the benefits; did you mean 'credit_amount'"),
    (RULE | {"amount": "purpose"}, "does not contain numbers"),
]


@pytest.mark.parametrize(("rule", "message"), RULES_THAT_CANNOT_BE)
def test_one_clear_sentence(fails: Run, model: Path, rule: Any, message: str) -> None:
    written(rule)
    assert message in fails("predict", model, GERMAN, "--benefit", "loans.json")


@pytest.mark.parametrize(("rule", "message"), [RULES_THAT_CANNOT_BE[i] for i in (0, 3, 4, 10, 12, 13)])
def test_the_same_sentence_before_a_fit(fails: Run, rule: Any, message: str) -> None:
    written(rule)
    assert message in fails("fit", GERMAN, "--target", "class", "--output", "out", "--benefit", "loans.json")
    assert not Path("out").exists()


def test_one_clear_sentence_about_missing_files_and_amounts(
    run: Run, fails: Run, model: Path, german: pl.DataFrame, limits: Limits
) -> None:
    assert "nowhere.json cannot be read" in fails("predict", model, GERMAN, "--benefit", "nowhere.json")
    limits(scored_rows=70)
    row = pl.int_range(pl.len())
    hollow = german.with_columns(
        pl.when(row != 605).then("credit_amount").alias("credit_amount"),
        pl.when(row % 9 > 0).then("class").alias("class"),
    )
    hollow.write_parquet("hollow.parquet")
    for command in (
        ("predict", model, "hollow.parquet", "-o", "p.csv"),
        ("fit", "hollow.parquet", "--target", "class"),
    ):
        assert "has no number in row 606 (counting from 1)" in run(*command, "--benefit", written(RULE)).stderr


def test_the_report_shows_what_decisions_bring(succeeds: Run, german: pl.DataFrame) -> None:
    with_gaps = german.with_columns(pl.when(pl.int_range(pl.len()) % 10 > 0).then("class").alias("class"))
    with_gaps.write_parquet("gaps.parquet")
    options = ("--selector", "map", "--folds", 2, "--ignore", "credit_amount", "--benefit", written(RULE))
    succeeds("fit", "gaps.parquet", "--target", "class", *options, "--output", "out")
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "2-fold cross-validation of the 900 training rows, weighted to the shares of the classes" in page
    assert page.count(">refuse</td>") == 1
    granted = german["credit_amount"].filter(with_gaps["class"].is_not_null())
    good = with_gaps["class"].drop_nulls() == "good"
    weights = np.where(good, 0.9 / good.mean(), 0.1 / (1 - good.mean()))
    everywhere = float(weights @ np.where(good, 100 + 0.1 * granted, -500 - 0.5 * granted))
    assert f'<td class="right">{"−" if everywhere < 0 else ""}{abs(everywhere):,.0f}</td></tr>' in page


def test_damaged_benefits_of_a_model_are_refused(fails: Run, succeeds: Run) -> None:
    options = ("--target", "class", "--selector", "map", "--no-report", "--benefit", written(RULE))
    succeeds("fit", GERMAN, *options, "--output", "with")
    path = Path("with/model.json")
    data = json.loads(path.read_text(encoding="utf-8"))
    data["benefit_rule"]["benefit"] = [[1]]
    path.write_text(signed(data), encoding="utf-8")
    assert "is damaged: benefit needs a row for each of 2 decisions" in fails("predict", path, GERMAN)
