"""The study of Rabenoro et al. (2015): its protocol against refitted models, its results, its documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import DiscreteNB
from bayesieve.evaluation.rankings import rank_by_mrmr
from bayesieve.evaluation.reproduce import Options, make_study
from bayesieve.evaluation.reproduce.rabenoro2015 import METHODS, WRAPPERS, Rabenoro2015
from bayesieve.evaluation.reproduce.subset_choice import Halves, best_of_path, best_on_walks, halve, measure
from bayesieve.search import GreedySearch, SearchTrace
from bayesieve.simulate import engine_scores, engine_series, engine_thresholds, score_columns
from bayesieve.table import CodedTable

DOCUMENTS = Path(__file__).parents[2] / "docs" / "reproduction"


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
    halves = halve(train, test, smoothing, np.random.default_rng(0))
    return halves, complement(train, halves.fit), test


def complement(table: CodedTable, part: CodedTable) -> CodedTable:
    """The rows of a table that are not in a part of it, which lists them in the same order."""
    rows = np.vstack([table.codes, table.class_codes]).T.tolist()
    inside = np.vstack([part.codes, part.class_codes]).T.tolist()
    left = np.ones(len(rows), dtype=bool)
    for row in inside:
        found = next(i for i, other in enumerate(rows) if left[i] and other == row)
        left[found] = False
    return table.take(left)


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
        for rows, table in ((halves.validation, rest), (halves.test, test), (halves.guide, halves.fit)):
            expected = refitted_error(selected, halves.fit, table, smoothing)
            assert halves.error(selected, rows) == pytest.approx(expected, abs=1e-12)


def test_halves_keep_the_class_shares() -> None:
    train, test = small_tables()
    halves = halve(train, test, 1.0, np.random.default_rng(0))
    whole, half = np.bincount(train.class_codes), np.bincount(halves.fit.class_codes)
    np.testing.assert_array_equal(half, (whole + 1) // 2)
    np.testing.assert_array_equal(halves.validation.class_totals, whole // 2)
    np.testing.assert_array_equal(halves.test.class_totals, np.bincount(test.class_codes))
    other = halve(train, test, 1.0, np.random.default_rng(1))
    assert not np.array_equal(other.fit.codes, halves.fit.codes)


def test_a_ranking_keeps_the_fewest_features_of_lowest_validation_error() -> None:
    halves, rest, test = halved()
    order = rank_by_mrmr(halves.fit)
    errors = [
        refitted_error(order[:size], halves.fit, rest, 1.0) if size else 1 - np.bincount(rest.class_codes).max() / 150
        for size in range(order.size + 1)
    ]
    best = int(np.argmin(np.round(errors, 12)))
    selected = best_of_path(halves, order)
    assert sorted(np.flatnonzero(selected)) == sorted(order[:best])
    found = measure(METHODS[1], halves)
    assert found["features"] == best
    assert found["validation"] == pytest.approx(errors[best], abs=1e-9)
    tested = [refitted_error(order[:size], halves.fit, test, 1.0) for size in range(1, order.size + 1)]
    assert found["test"] == pytest.approx(tested[best - 1], abs=1e-9)
    assert found["lowest_test"] == pytest.approx(min(tested), abs=1e-9)


@pytest.mark.parametrize("wrapper", WRAPPERS, ids=lambda wrapper: wrapper.key)
def test_a_wrapper_is_measured_along_its_own_path(wrapper: Any) -> None:
    halves, rest, test = halved()
    found = measure(wrapper, halves)
    problem = halves.problem(halves.validation, wrapper.criterion)
    trace, selected = GreedySearch(direction=wrapper.direction).run(problem, halves.fit.names)
    subsets = list(walked(trace))
    errors = [refitted_error(subset, halves.fit, rest, 1.0) for subset in subsets if subset.any()]
    tested = [refitted_error(subset, halves.fit, test, 1.0) for subset in subsets if subset.any()]
    assert found["features"] == selected.sum()
    assert found["validation"] == pytest.approx(min(errors), abs=1e-9)
    assert found["lowest_test"] == pytest.approx(min(tested), abs=1e-9)
    assert found["test"] == pytest.approx(refitted_error(selected, halves.fit, test, 1.0), abs=1e-9)
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
    from bayesieve.evaluation.reproduce.subset_choice import _tied_steps

    halves, _, _ = halved()
    problem = halves.problem(halves.validation, "error_probability")
    trace, _ = GreedySearch(direction="forward").run(problem, halves.fit.names)
    added = trace.to_frame()["feature"].drop_nulls().to_list()
    at = min(added.index("x0"), added.index("x1"))  # copies: a tie until one of them is in
    assert _tied_steps(trace, problem, at) == (0.0 if at else None)
    assert _tied_steps(trace, problem, at + 1) == pytest.approx(1 / (at + 1), abs=1e-6)


class FewIndicators(Rabenoro2015):
    """The study on every tenth indicator of few series."""

    def halves(self, number: int, columns: np.ndarray | None = None) -> Halves:
        return super().halves(number, np.arange(0, 814, 10) if columns is None else columns)


@pytest.fixture(scope="module")
def study() -> Rabenoro2015:
    return FewIndicators(Options(repetitions=2, n_jobs=1), n_series=240)


@pytest.fixture(scope="module")
def records(study: Rabenoro2015) -> list[dict[str, Any]]:
    told: list[tuple[int, str]] = []
    found = [study.repetition(number, lambda *done: told.append(done)) for number in range(2)]
    assert sorted(told) == sorted((number, part) for number in range(2) for part in study.parts)
    return json.loads(json.dumps(found))


def timeless(record: dict[str, Any]) -> dict[str, Any]:
    methods = {
        name: {key: value for key, value in found.items() if key != "seconds"}
        for name, found in record["methods"].items()
    }
    return {"repetition": record["repetition"], "methods": methods}


def test_results_do_not_depend_on_threads_and_differ_between_repetitions(records: list[dict[str, Any]]) -> None:
    again = FewIndicators(Options(n_jobs=3), n_series=240).repetition(1, lambda *_: None)
    assert timeless(again) == timeless(records[1])
    assert timeless(records[0])["methods"] != timeless(records[1])["methods"]


def test_every_method_of_the_table_is_measured(records: list[dict[str, Any]]) -> None:
    for record in records:
        assert record["n_indicators"] == 82
        assert list(record["methods"]) == [method.key for method in METHODS]
        for found in record["methods"].values():
            assert 0 <= found["lowest_test"] <= found["test"] < 1
            assert 0 <= found["features"] <= 82
        assert record["methods"]["All indicators"]["features"] == 82
    assert len(WRAPPERS) == 8


def test_thresholds_come_from_the_training_series_only() -> None:
    study = Rabenoro2015(Options(grid="quantiles", seed=3), n_series=600)
    coded = study.halves(0).fit
    draw = np.random.SeedSequence(3, spawn_key=(0,)).spawn(3)[0]
    scores, names = engine_scores(engine_series(600, random_state=np.random.default_rng(draw)), grid="quantiles")
    expected = engine_thresholds("quantiles", scores)
    assert len(score_columns(scores, names)) == len(expected)
    found = pl.DataFrame({"score": [level.score for level in coded.levels], "at": [x.threshold for x in coded.levels]})
    for name, thresholds in expected.items():
        assert found.filter(pl.col("score") == name)["at"].to_list() == thresholds


def test_columns_can_be_put_into_another_order(study: Rabenoro2015) -> None:
    order = np.random.default_rng(0).permutation(814)
    plain, shuffled = Rabenoro2015.halves(study, 0), study.halves(0, columns=order)
    assert plain.fit.n_features == 814
    assert shuffled.fit.names == tuple(plain.fit.names[k] for k in order)
    selected = np.zeros(814, dtype=bool)
    selected[order[:20]] = True
    assert plain.error(selected, plain.test) == shuffled.error(np.arange(814) < 20, shuffled.test)


def test_the_report_tells_table_and_findings(study: Rabenoro2015, records: list[dict[str, Any]]) -> None:
    report = study.report(records)
    assert [row[:2] for row in report.table.rows] == [(method.name, method.guide) for method in METHODS]
    assert report.table.rows[0][2:4] == ("422", "0.1387")
    errors = [record["methods"]["MI filter, error"]["test"] for record in records]
    assert report.table.rows[0][5] == f"{np.mean(errors):.4f} ± {np.std(errors, ddof=1):.4f}"
    assert report.findings[0] == "Wrappers err less than the filters: cannot be told in 16 of 16 comparisons."
    assert all(finding in report.markdown for finding in report.findings)
    assert "bayesieve reproduce rabenoro2015 --grid levels --repetitions 2 --quick\n" in report.markdown
    assert "nan" not in study.report(records[:1]).markdown.lower()


def test_an_interrupted_run_goes_on_to_the_same_report(
    tmp_path: Path, study: Rabenoro2015, records: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[int] = []

    def repetition(number: int, tell: Any) -> dict[str, Any]:
        if len(measured) == 1:
            measured.append(-1)
            raise KeyboardInterrupt
        measured.append(number)
        return records[number]

    monkeypatch.setattr(study, "repetition", repetition)
    path = tmp_path / "kept.jsonl"
    with pytest.raises(KeyboardInterrupt):
        study.run(study.results(path))
    report = study.run(study.results(path))
    assert measured == [0, -1, 1]
    assert report.markdown == study.report(records).markdown
    assert study.run(study.results(path)).markdown == report.markdown
    assert measured == [0, -1, 1]


def test_options_without_meaning_are_refused() -> None:
    with pytest.raises(ValueError, match="grid must be one of 'levels', 'quantiles'"):
        make_study("rabenoro2015", Options(grid="deciles"))
    with pytest.raises(ValueError, match="smoothing"):
        make_study("rabenoro2015", Options(smoothing=-1.0))


@pytest.mark.parametrize("kept", sorted(DOCUMENTS.glob("rabenoro2015-*.jsonl")), ids=lambda path: path.stem)
def test_documents_show_the_repetitions_that_are_kept_beside_them(kept: Path) -> None:
    first, *records = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    settings = first["settings"]
    options = Options(seed=settings["seed"], grid=settings["grid"], smoothing=settings["smoothing"])
    study = make_study("rabenoro2015", options)
    assert study.settings == settings
    report = study.report(records)
    assert kept.with_suffix(".md").read_text(encoding="utf-8") == report.markdown
    if settings["smoothing"] == 1.0:
        assert report.table.to_markdown() in (DOCUMENTS / "rabenoro2015.md").read_text(encoding="utf-8")
