"""The study of Rabenoro et al. (2015): its protocol against refitted models, its results, its documents."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import DiscreteNB, IndicatorEncoder
from bayesieve.counts import CodedTable
from bayesieve.search import GreedySearch, ScoredRows, SearchTrace
from bayesieve_lab import Comparison, Options, compare_many, make_study
from bayesieve_lab.rabenoro2015.report import values_of
from bayesieve_lab.rabenoro2015.study import (
    GRIDS,
    METHODS,
    REPETITIONS_KEPT,
    VARIANTS,
    WRAPPERS,
    EngineIndicators,
    Rabenoro2015,
)
from bayesieve_lab.rabenoro2015.subset_choice import (
    Halves,
    SubsetChoice,
    best_of_path,
    best_on_walks,
    by_information,
    by_mrmr,
    halve,
)
from bayesieve_lab.simulate import engine_scores, engine_series, engine_thresholds, score_columns

DOCUMENTS = Path(__file__).parents[1] / "reproduction"


def small_tables(n_features: int = 12, seed: int = 0) -> tuple[CodedTable, CodedTable]:
    """Training and test rows of random indicators, the first two of them the same."""
    rng = np.random.default_rng(seed)
    tables = []
    for n_rows in (301, 200):
        classes = rng.integers(0, 3, n_rows)
        codes = (rng.normal(size=(n_features, n_rows)) + classes * rng.normal(size=(n_features, 1)) * 0.3 > 0).astype(
            np.uint8
        )
        codes[1] = codes[0]
        tables.append(
            CodedTable(
                codes,
                np.full(n_features, 2),
                tuple(f"x{k}" for k in range(n_features)),
                class_codes=classes.astype(np.uint8),
                classes=np.array(["a", "b", "c"]),
            )
        )
    return tables[0], tables[1]


def halved(smoothing: Any = 1.0) -> tuple[Halves, CodedTable, CodedTable]:
    """Halves of small tables, with the rows for validation and for the test."""
    train, test = small_tables()
    halves = halve(train, smoothing)
    return halves, second_half(train), test


def second_half(table: CodedTable) -> CodedTable:
    """The later rows of every class."""
    classes = table.class_codes
    at = np.array([np.count_nonzero(classes[:i] == code) for i, code in enumerate(classes)])
    return table.take(2 * at >= np.bincount(classes)[classes])


class AsCoded:
    """In place of an encoder: for rows that are coded."""


def measured(method: Any, train: CodedTable, test: CodedTable) -> dict[str, Any]:
    """What a method of the table makes of coded rows: its features, its test error, and its own figures."""
    ranking = method.name if "filter" in method.name else None
    model = SubsetChoice(
        AsCoded(), direction=method.direction, criterion=method.criterion or "error", ranking=ranking
    ).fit_coded(train, AsCoded())
    predicted = model.predict_log_proba(test).argmax(axis=1)
    figures = model.fold_figures(test, np.asarray(test.class_codes))
    return {
        "features": model.n_features_selected_,
        "test_error": np.mean(predicted != test.class_codes),
        **figures,
    }


def refitted_error(features: np.ndarray, fit: CodedTable, rows: CodedTable, smoothing: Any) -> float:
    """Error of naive Bayes fitted anew on these features."""
    model = DiscreteNB(smoothing=smoothing).fit(fit.select(features))
    return float(np.mean(model.predict(rows.select(features).codes.T) != rows.classes[rows.class_codes]))


@pytest.mark.parametrize("smoothing", [1.0, 0.5, "m-estimate"])
def test_errors_are_those_of_refitted_models(smoothing: Any) -> None:
    halves, rest, test = halved(smoothing)
    rng = np.random.default_rng(1)
    for _ in range(20):
        selected = rng.random(halves.fit.n_features) < 0.5
        for rows, table in ((halves.validation, rest), (halves.scored(test), test), (halves.guide, halves.fit)):
            expected = refitted_error(selected, halves.fit, table, smoothing)
            assert halves.error(selected, rows) == pytest.approx(expected, abs=1e-12)


def test_a_ranking_keeps_the_fewest_features_of_lowest_validation_error() -> None:
    halves, rest, test = halved()
    order = by_mrmr(halves.fit)
    errors = [
        refitted_error(order[:size], halves.fit, rest, 1.0) if size else 1 - np.bincount(rest.class_codes).max() / 150
        for size in range(order.size + 1)
    ]
    best = int(np.argmin(np.round(errors, 12)))
    selected = best_of_path(halves, order)
    assert sorted(np.flatnonzero(selected)) == sorted(order[:best])
    found = measured(METHODS[1], small_tables()[0], test)
    assert found["features"] == best
    assert found["validation_error"] == pytest.approx(errors[best], abs=1e-9)
    tested = [refitted_error(order[:size], halves.fit, test, 1.0) for size in range(1, order.size + 1)]
    assert found["test_error"] == pytest.approx(tested[best - 1], abs=1e-9)
    assert found["lowest_test_error"] == pytest.approx(min(tested), abs=1e-9)


@pytest.mark.parametrize("wrapper", WRAPPERS, ids=lambda wrapper: wrapper.key)
def test_a_wrapper_is_measured_along_its_own_path(wrapper: Any) -> None:
    halves, rest, test = halved()
    found = measured(wrapper, small_tables()[0], test)
    problem = halves.problem(halves.validation, wrapper.criterion)
    trace = GreedySearch(direction=wrapper.direction).run(problem)
    selected = trace.chosen
    subsets = list(walked(trace))
    errors = [refitted_error(subset, halves.fit, rest, 1.0) for subset in subsets if subset.any()]
    tested = [refitted_error(subset, halves.fit, test, 1.0) for subset in subsets if subset.any()]
    assert found["features"] == selected.sum()
    assert found["validation_error"] == pytest.approx(min(errors), abs=1e-9)
    assert found["lowest_test_error"] == pytest.approx(min(tested), abs=1e-9)
    assert found["test_error"] == pytest.approx(refitted_error(selected, halves.fit, test, 1.0), abs=1e-9)
    best = best_on_walks(trace, halves)
    assert best.sum() == selected.sum()
    assert halves.error(best, halves.validation) == halves.error(selected, halves.validation)


def walked(trace: SearchTrace) -> Any:
    """Every subset of a trace, by its frame of moves."""
    for start, rows in trace.to_frame().group_by("start", maintain_order=True):
        selected = np.zeros(trace.n_features, dtype=bool)
        selected[trace.starts[start[0]].features] = True
        for move, feature in rows.select("move", "feature").iter_rows():
            if move != "start":
                selected[trace.names.index(feature)] = move == "add"
            yield selected.copy()


def test_tied_steps_are_counted_up_to_the_subset_chosen() -> None:
    from bayesieve_lab.rabenoro2015.subset_choice import _tied_steps

    halves, _, _ = halved()
    problem = halves.problem(halves.validation, "error_probability")
    trace = GreedySearch(direction="forward").run(problem)
    added = trace.to_frame()["feature"].drop_nulls().to_list()
    at = min(added.index("x0"), added.index("x1"))  # copies: a tie until one of them is in
    assert _tied_steps(trace, problem, at) == (0.0 if at else None)
    assert _tied_steps(trace, problem, at + 1) == pytest.approx(1 / (at + 1), abs=1e-6)


FEW = 12  # scores of the grid's 135


class FewIndicators(Rabenoro2015):
    """The study on the indicators of a dozen scores of few series."""

    def draw(self, number: int) -> tuple[Any, np.ndarray]:
        scores, labels = super().draw(number)
        return scores[:, :FEW], labels


@pytest.fixture(scope="module")
def study() -> Rabenoro2015:
    return FewIndicators(Options(repetitions=2, n_jobs=1), n_series=240)


@pytest.fixture(scope="module")
def found(study: Rabenoro2015) -> Comparison:
    return compare_many(study.methods(), study.data(), study.protocol)


WHATS = ("features", "test", "validation_error", "lowest_test_error", "tied_steps")


def test_results_do_not_depend_on_threads_and_differ_between_repetitions(
    study: Rabenoro2015, found: Comparison
) -> None:
    again = compare_many(study.methods(), study.data(), study.protocol, n_jobs=3)
    for what in WHATS:
        for method, values in values_of(again, what).items():
            np.testing.assert_array_equal(values, values_of(found, what)[method])
    errors = np.array(list(values_of(found, "test").values()))
    assert not np.array_equal(errors[:, 0], errors[:, 1])


def directly(seed: int, number: int, n_series: int) -> dict[str, dict[str, float]]:
    """A repetition without encoders, folds and results files: simulate, code, halve, choose, count errors."""
    draws = np.random.SeedSequence(seed, spawn_key=(number,)).spawn(3)
    train, test = (engine_series(n_series, random_state=np.random.default_rng(draw)) for draw in draws[:2])
    encoder = IndicatorEncoder(dict(list(engine_thresholds("levels").items())[:FEW]))
    scores, names = engine_scores(train, grid="levels")
    coded = encoder.fit_transform_coded(pl.DataFrame(score_columns(scores[:, :FEW], names[:FEW])), train.labels)
    scores, _ = engine_scores(test, grid="levels")
    coded_test = encoder.transform_coded(pl.DataFrame(score_columns(scores[:, :FEW], names[:FEW])))
    class_codes = np.searchsorted(coded.classes, test.labels).astype(np.uint8)
    coded_test = coded_test.with_rows(classes=coded.classes, class_codes=class_codes)
    random = np.random.default_rng(draws[2])
    first = np.zeros(n_series, dtype=bool)
    for code in range(4):
        rows = random.permutation(np.flatnonzero(coded.class_codes == code))
        first[rows[: (rows.size + 1) // 2]] = True
    fit = coded.take(first)
    counts = fit.counts
    guide, validation, tested = (
        ScoredRows.training(part, counts, 1.0) for part in (fit, coded.take(~first), coded_test)
    )
    halves = Halves(fit, counts, 1.0, guide, validation)
    return {
        method.key: {
            "features": int(selected.sum()),
            "test": halves.error(selected, tested),
            "validation_error": halves.error(selected, validation),
        }
        for method in (*METHODS, *VARIANTS)
        for selected in [choose(method, halves)]
    }


def choose(method: Any, halves: Halves) -> np.ndarray:
    """The subset that a method of the table chooses."""
    if method.direction:
        if method.second_half:
            halves = replace(halves, guide=halves.validation)
        problem = halves.problem(halves.validation, method.criterion)
        return GreedySearch(direction=method.direction, n_jobs=1).run(problem).chosen
    rankings = {"MI filter": by_information, "mRMR filter": by_mrmr}
    if method.name in rankings:
        return best_of_path(halves, rankings[method.name](halves.fit)[: method.leading])
    return np.ones(halves.fit.n_features, dtype=bool)


@pytest.mark.parametrize("number", range(2))
def test_a_repetition_is_what_it_is_when_computed_directly(found: Comparison, number: int) -> None:
    for method, expected in directly(0, number, 240).items():
        for what, value in expected.items():
            assert values_of(found, what)[method][number] == pytest.approx(value, abs=1e-10), (method, what)


def test_every_method_of_the_table_is_measured(study: Rabenoro2015, found: Comparison) -> None:
    assert found.methods == tuple(method.key for method in (*METHODS, *VARIANTS))
    assert found.data == ("draw 1", "draw 2")
    n_indicators = sum(map(len, list(engine_thresholds("levels").values())[:FEW]))
    features, tests = values_of(found, "features"), values_of(found, "test")
    assert (features["All indicators"] == n_indicators).all()
    for method, lowest in values_of(found, "lowest_test_error").items():
        assert ((lowest >= 0) & (lowest <= tests[method]) & (tests[method] < 1)).all()
        assert ((features[method] >= 0) & (features[method] <= n_indicators)).all()
    ties = values_of(found, "tied_steps")
    assert np.isnan(ties["MI filter, error"]).all()
    assert np.isnan(ties["Forward-backward, error"]).all()
    assert (ties["Forward search, error"] >= 0).all()
    assert len(WRAPPERS) == 8


def test_thresholds_come_from_the_training_series_only() -> None:
    study = Rabenoro2015(Options(grid="quantiles", seed=3), n_series=600)
    X, y = study.draw(0)
    draw = np.random.SeedSequence(3, spawn_key=(0,)).spawn(3)[0]
    scores, names = engine_scores(engine_series(600, random_state=np.random.default_rng(draw)), grid="quantiles")
    expected = engine_thresholds("quantiles", scores)
    assert len(score_columns(scores, names)) == len(expected)
    (fold,) = study.protocol.split(np.unique(y, return_inverse=True)[1])
    encoder = EngineIndicators("quantiles")
    coded = encoder.fit_transform_coded(X[fold.train], y[fold.train])
    found = pl.DataFrame(
        {"score": [level.column for level in coded.levels], "at": [float(x.number_cuts[0]) for x in coded.levels]}
    )
    for name, thresholds in expected.items():
        assert found.filter(pl.col("score") == name)["at"].to_list() == thresholds
    assert encoder.transform_coded(X[fold.test]).n_features == coded.n_features == 814


def test_the_report_tells_table_and_findings(study: Rabenoro2015, found: Comparison) -> None:
    report = study.report(found)
    ((title, table),) = report.tables
    assert title == "Table 1 of the paper, and ours"
    assert [row[:2] for row in table.rows] == [(method.name, method.guide) for method in METHODS]
    assert table.rows[0][2:4] == ("422", "0.1387")
    errors = [1 - row["accuracy"] for row in found.rows if row["method"] == "MI filter, error"]
    assert table.rows[0][5] == f"{np.mean(errors):.4f} ± {np.std(errors, ddof=1):.4f}"
    assert report.findings[0] == "Wrappers err less than the filters: cannot be told (0 of 16)."
    assert all(finding.rpartition(":")[0] in report.markdown for finding in report.findings)
    assert table.to_markdown() in report.markdown
    assert "bayesieve reproduce rabenoro2015 --grid levels --repetitions 2 --quick\n" in report.markdown
    one = Comparison(("draw 1",), found.methods, found.protocol, found.rows[: len(found.methods)])
    assert "nan" not in study.report(one).markdown.lower()


def test_a_method_that_failed_is_told_in_place_of_a_table(study: Rabenoro2015, found: Comparison) -> None:
    rows = ({**found.rows[0], "error": "No more memory", "accuracy": None}, *found.rows[1:])
    with pytest.raises(ValueError, match=r"MI filter, error failed on draw 1 \(No more memory\)"):
        study.report(Comparison(found.data, found.methods, found.protocol, rows))


def test_results_of_other_options_are_not_taken_for_these(
    tmp_path: Path, found: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kept.jsonl"
    FewIndicators(Options(repetitions=1, n_jobs=1), n_series=120).run(path)
    for options, n_series, message in (
        (Options(repetitions=1, seed=1), 120, r"another protocol \(seed 0 instead of 1\)"),
        (Options(repetitions=1), 240, r"another protocol \(train_rows 120 instead of 240\)"),
        (Options(repetitions=1, smoothing=0.5), 120, "a method with other options named 'MI filter, error'"),
        (Options(repetitions=1, grid="quantiles"), 120, "a method with other options named 'MI filter, error'"),
    ):
        with pytest.raises(ValueError, match=message):
            FewIndicators(options, n_series=n_series).run(path)


@pytest.mark.parametrize(
    ("kept", "options"),
    [
        *((f"rabenoro2015-{grid}", Options(repetitions=REPETITIONS_KEPT, grid=grid)) for grid in GRIDS),
        ("rabenoro2015-levels-m-estimate", Options(repetitions=10, smoothing="m-estimate")),
    ],
)
def test_results_hold_the_repetitions_that_the_page_names(kept: str, options: Options) -> None:
    study = make_study("rabenoro2015", options)
    path = DOCUMENTS / f"{kept}.jsonl"
    protocol = json.loads(path.read_text(encoding="utf-8").splitlines()[0])["comparison"]
    assert {name: protocol[name] for name in ("train_rows", "seed")} == study.protocol.settings
    found = study.saved(path)
    assert len(found.rows) == options.repetitions * len(found.methods)
    assert {*found.methods} >= {method.key for method in METHODS}
