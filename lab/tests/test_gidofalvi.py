"""The study of Gidofalvi & Zadrozny: errors and profits against refitted models and loops, verdicts, files."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from bayesieve import BoostedSelector, DiscreteNB, SelectiveNB, WrapperSelector
from bayesieve_lab import Comparison, Options, make_study
from bayesieve_lab.comparison.folds import FixedSplit
from bayesieve_lab.data_sets.cup98 import AMOUNT
from bayesieve_lab.gidofalvi import campaigns
from bayesieve_lab.gidofalvi.claims import CLAIMS, LINES, findings, of_method, values_of
from bayesieve_lab.gidofalvi.model import N_STEPS, CampaignNB
from bayesieve_lab.gidofalvi.report import finished_draws, lowest
from bayesieve_lab.gidofalvi.study import ALL, BOOSTED
from bayesieve_lab.simulate import donations

DOCUMENTS = Path(__file__).parents[1] / "reproduction"
GIFTS = ("last_gift", "average_gift")
RAW: dict[str, Any] = {"pairs": 0, "calibrate": False}


def donors(n_rows: int = 4000, seed: int = 0, response: float = 0.3) -> tuple[pl.DataFrame, np.ndarray]:
    """Few columns and many answers, so that several features are selected."""
    table, amounts = donations(n_rows, 40, response=response, random_state=seed)
    return table.with_columns(pl.Series(AMOUNT, amounts)), (amounts > 0).astype(int)


def selectors() -> list[Any]:
    forward = WrapperSelector("brier", direction="forward", evaluation="train", n_features_to_select=4)
    return [forward, BoostedSelector(n_rounds=None, n_features_to_select=4)]


@pytest.mark.parametrize("selector", selectors(), ids=["forward", "boosted"])
def test_every_step_is_naive_bayes_on_the_features_so_far(selector: Any) -> None:
    (X, y), (other, _) = donors(), donors(500, seed=1)
    model = CampaignNB(SelectiveNB(selector, **RAW), GIFTS, steps=True).fit(X, y)
    encoder = model.model_.encoder_
    coded = encoder.transform_coded(X.drop(AMOUNT))
    steps = list(model.log_odds(other))
    assert len(steps) == model.order.size == model.n_features_selected_ >= 3
    for k, log_odds in enumerate(steps, start=1):
        features = model.order[:k]
        refitted = DiscreteNB().fit(coded.select(features), y)
        expected = refitted.predict_log_proba(encoder.transform_coded(other.drop(AMOUNT)).select(features))
        np.testing.assert_allclose(log_odds, expected[:, 1] - expected[:, 0], atol=1e-9)
    whole = model.predict_log_proba(other)
    np.testing.assert_allclose(steps[-1], whole[:, 1] - whole[:, 0], atol=1e-9)


def test_the_default_learns_from_coded_donors_what_it_learns_from_their_table() -> None:
    X, y = donors(2500)
    model = CampaignNB(SelectiveNB(), GIFTS).fit(X, y)
    expected = SelectiveNB().fit(X.drop(AMOUNT), y)
    assert expected.scorecard_.provenance["evidence"] == "cells"
    np.testing.assert_array_equal(model.predict_log_proba(X), expected.predict_log_proba(X.drop(AMOUNT)))


@pytest.mark.parametrize("response", [None, 0.05])
def test_errors_and_profits_are_those_of_a_loop(response: float | None) -> None:
    (X, y), (other, codes) = donors(), donors(700, seed=1)
    model = CampaignNB(SelectiveNB("all", **RAW), GIFTS, response=response).fit(X, y)
    figures = model.fold_figures(other, codes)
    gave = X.filter(y == 1)
    regression = LinearRegression().fit(gave.select(GIFTS).to_numpy(), gave[AMOUNT].to_numpy())
    gifts = regression.predict(other.select(GIFTS).to_numpy())
    share = codes.mean()
    errors = profit = mailed = everybody = total = 0.0
    for log_odds, gift, amount, gives in zip(*model.log_odds(other), gifts, other[AMOUNT], codes, strict=True):
        weight = 1.0
        if response is not None:
            weight = response / share if gives else (1 - response) / (1 - share)
        p = 1 / (1 + np.exp(-log_odds))
        errors += weight * ((gives - p) ** 2 + ((1 - gives) - (1 - p)) ** 2)
        total += weight
        everybody += weight * (amount - 0.68)
        if p * gift > 0.68:
            mailed += weight
            profit += weight * (amount - 0.68)
    assert figures["mse test"] == pytest.approx(errors / total, rel=1e-12)
    assert figures["profit test"] == pytest.approx(profit, rel=1e-9)
    assert figures["mailed test"] == pytest.approx(mailed / total, rel=1e-12)
    assert figures["profit of all test"] == pytest.approx(everybody, rel=1e-9)
    assert 0 < mailed < total or response is None


def test_weights_give_the_population_that_was_drawn_from() -> None:
    """Learnt from a balanced part, probabilities agree with those learnt from all donors."""
    X, y = donors(40_000, response=0.05)
    few = np.concatenate([np.flatnonzero(y == 1), np.flatnonzero(y == 0)[: y.sum()]])
    columns = ("frequency", "average_gift")
    whole = CampaignNB(SelectiveNB("all", **RAW), GIFTS, columns=columns).fit(X, y)
    part = CampaignNB(SelectiveNB("all", **RAW), GIFTS, columns=columns, response=float(y.mean())).fit(X[few], y[few])
    raw = CampaignNB(SelectiveNB("all", pairs=0, calibrate="weights"), GIFTS, columns=columns, response=0.05)
    assert raw.fit(X[few], y[few]).shift_ == pytest.approx(np.log(0.05 / 0.95))
    for model in (part, raw):
        p, expected = (1 / (1 + np.exp(-next(m.log_odds(X)))) for m in (model, whole))
        assert p.mean() == pytest.approx(expected.mean(), abs=0.006)
        assert np.corrcoef(p, expected)[0, 1] > 0.9


def comparison(draws: int, figures: dict[str, dict[str, float]]) -> Comparison:
    """Results of the methods of the table, the same in each draw but for a little more in later ones."""
    methods = tuple(figures)
    rows = [
        {
            "data": f"donations, draw {k + 1}",
            "method": method,
            "auc": 0.7 if method == ALL else 0.6,
            "figures": {name: value * (1 + k / 1000) for name, value in figures[method].items()},
        }
        for k in range(draws)
        for method in methods
    ]
    return Comparison(tuple(f"donations, draw {k + 1}" for k in range(draws)), methods, FixedSplit(2), tuple(rows))


def as_in_the_paper() -> dict[str, dict[str, float]]:
    """Figures of methods that do what the paper says."""
    figures: dict[str, dict[str, float]] = {}
    for at, line in enumerate(LINES):
        error = 0.8 if line.method == ALL else 0.1 + 0.01 * at
        slope = 0.1 if line.method == BOOSTED else 0.2
        values = {"mse": error, "profit": 100 / error, "mailed": 0.5, "slope": slope}
        figures[line.method] = {f"{name} {part}": value for name, value in values.items() for part in ("train", "test")}
    for k in range(1, N_STEPS + 1):
        for method, train in (("forward", 0.12 - 0.001 * k), ("boosted", 0.12 + 0.001 * k)):
            test = 0.1 + 0.001 * abs(k - 4)
            figures[method] |= {f"mse train {k}": train, f"mse test {k}": test}
            figures[method] |= {f"profit {part} {k}": 100 / test for part in ("train", "test")}
    return figures | {f"{name}, equal frequency": dict(figures[name]) for name in ("forward", "boosted")}


def test_claims_that_hold_and_claims_that_do_not() -> None:
    several = comparison(10, as_in_the_paper())
    claims = findings(several, "donations")
    assert {claim.verdict for claim in claims} == {"not like for like"}  # the donors are not the paper's
    verdicts = {claim.sentence: replace(claim, unlike="").verdict for claim in claims}
    overfit = next(sentence for sentence in verdicts if "overfit" in sentence)
    assert verdicts.pop(overfit) == "does not hold"  # training errors fall and test errors rise
    assert [*verdicts.values()] == ["holds"] * (len(CLAIMS) - 1)
    assert claims[4].checks[0].paper == pytest.approx(0.09536 - 0.65750)
    assert values_of(several, "donations", "order")["correlation"].max() <= -0.8
    assert lowest(several, "donations", "forward") == "4"

    turned = as_in_the_paper()
    turned[ALL] |= {"mse test": 0.01, "profit test": 1e6, "slope test": 1.5}
    claims = findings(comparison(10, turned), "donations")
    assert [replace(claims[k], unlike="").verdict for k in (4, 5, 7)] == ["does not hold"] * 3
    few = findings(comparison(2, turned), "donations")[7]
    assert replace(few, unlike="").verdict == "cannot be told"  # two draws prove nothing


def test_only_steps_that_exist_are_compared() -> None:
    figures = as_in_the_paper()
    for k in range(8, N_STEPS + 1):
        del figures["forward"][f"mse test {k}"]
    ended = comparison(10, figures)
    assert np.isnan(of_method(ended, "donations", "forward", "mse test", 20)).all()
    assert of_method(ended, "donations", ALL, "mse test")[0] == figures[ALL]["mse test"]
    first, last = findings(ended, "donations")[1].checks
    assert (first.verdict, last.verdict, last.over) == ("holds", "open", "0 repetitions")


def test_boosting_reaches_all_steps_by_other_features_each_time() -> None:
    X, y = donors(3000)
    study = make_study("gidofalvi", Options(quick=True))
    model = clone(study.methods()["boosted, equal frequency"]).fit(X, y)
    assert model.order.size == N_STEPS == len({*model.order.tolist()})
    assert clone(study.methods()[ALL]).fit(X, y).n_features_selected_ == X.width - 1


def test_only_finished_draws_are_shown() -> None:
    whole = comparison(3, as_in_the_paper())
    begun = Comparison(whole.data, whole.methods, whole.protocol, whole.rows[:-1])
    assert finished_draws(whole).rows == whole.rows
    assert {row["data"] for row in finished_draws(begun).rows} == {"donations, draw 1", "donations, draw 2"}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    def few(seed: int, n_rows: int, n_features: int, number: int) -> Any:
        return donors(2 * n_rows, seed=number)

    monkeypatch.setattr(campaigns, "QUICK", (1500, 40))
    monkeypatch.setattr(campaigns, "_simulated", few)


@pytest.mark.usefixtures("small")
def test_it_goes_on_where_it_stopped_and_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fake(folder: Path) -> Any:
        table, amounts = donations(900, 20, response=0.4)
        table = table.rename({"last_gift": "LASTGIFT", "average_gift": "AVGGIFT", "income": "INCOME"}, strict=False)
        names = ("INCOME", "FISTDATE", "LASTDATE", "NGIFTALL", "RFA_2F", "RFA_2A", "PEPSTRFL")
        return table.with_columns(pl.Series(n, np.arange(900) % (3 + k)) for k, n in enumerate(names)), amounts

    monkeypatch.setattr(campaigns, "read_cup98", fake)
    monkeypatch.setattr(campaigns, "PUBLISHED", campaigns.PUBLISHED.__class__(500, 400, 0))
    (tmp_path / "valtargt.txt").touch()
    study = make_study("gidofalvi", Options(quick=True, repetitions=1, data=tmp_path, n_jobs=None))
    report = study.run(tmp_path / "found.jsonl")
    assert {path.name for path in tmp_path.glob("*.jsonl")} == {"found.jsonl", "found-cup98.jsonl"}
    assert [title.partition(" (")[0] for title, _ in report.tables] == [
        "Table 3: Simulated donors",
        "Table 3: KDD Cup 1998",
    ]
    (_, simulated), (_, cup) = report.tables
    assert "MSE, test, paper" not in simulated.titles
    forward = dict(zip(cup.titles, cup.rows[1], strict=True))
    assert (forward["MSE, test, paper"], forward["Profit, test, paper"]) == ("0.09536", "14048")
    assert "the winner of the cup made $14712" in report.markdown
    assert sorted(report.files) == [
        f"gidofalvi-{name}-{method}.svg" for name in ("cup98", "donations") for method in ("boosted", "forward")
    ]
    assert all(f"({name})" in report.markdown for name in report.files)

    def nothing(*_: Any) -> Any:
        raise AssertionError("All draws were finished.")

    monkeypatch.setattr(campaigns, "_simulated", nothing)
    monkeypatch.setattr(campaigns, "read_cup98", nothing)
    again = make_study("gidofalvi", Options(quick=True, repetitions=1, data=tmp_path, n_jobs=None))
    assert again.run(tmp_path / "found.jsonl").markdown == report.markdown
    assert again.report(again.saved(tmp_path / "found.jsonl")).markdown == report.markdown


def test_halves_of_pva97nk_are_balanced(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    gives = np.arange(200) % 2 == 0
    table = pl.DataFrame(
        {
            "row": np.arange(200),
            "TargetD": pl.Series(np.where(gives, rng.integers(1, 50, 200), 0)).replace(0, None).cast(float),
            "TargetB": pl.Series(gives.astype(int)).cast(str),
        }
    )
    table.write_parquet(tmp_path / "pva97nk.parquet")
    header = "name,file,rows,n_numeric,n_categorical,n_classes,majority_share,target,in_boulle"
    (tmp_path / "catalogue.csv").write_text(f"{header}\npva97nk,pva97nk.parquet,200,2,0,2,0.5,TargetB,0\n")
    known = campaigns.campaigns(tmp_path, seed=3)
    assert list(known) == ["donations", "pva97nk"]
    draw = partial(known["pva97nk"].draw)
    X, y = draw(0)
    assert X.columns == ["row", AMOUNT]
    assert y[:100].sum() == y[100:].sum() == 50
    assert sorted(X["row"].to_list()) == list(range(200))
    np.testing.assert_array_equal((X["row"].to_numpy() % 2 == 0).astype(int), y)
    amounts = table["TargetD"].fill_null(0).to_numpy()[X["row"].to_numpy()]
    np.testing.assert_array_equal(X[AMOUNT].to_numpy(), amounts)
    assert draw(0)[0].equals(X)
    assert not draw(1)[0].equals(X)
