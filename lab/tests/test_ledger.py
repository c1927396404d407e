"""The ledger of the papers: complete, computed from the committed results, and true to the repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from bayesieve.counts import CodedTable
from bayesieve.counts.information import mutual_information
from bayesieve.search import MultiStart, SubsetProblem
from bayesieve_lab import PAPERS, Options, made as made_by, make_study
from bayesieve_lab.abellan2017.study import Results as AbellanResults
from bayesieve_lab.blanquero2021.compromise import COMBINATIONS, CUTS, ON, judge_compromise
from bayesieve_lab.boulle2007.search import (
    FORWARD,
    final_costs,
    judge_search,
    optimal,
    rounds,
    simulated,
    time_figure,
)
from bayesieve_lab.boulle2007.waves import waves_figure
from bayesieve_lab.claims import Check, Judged, variants_table
from bayesieve_lab.comparison.folds import describe
from bayesieve_lab.growth import add_missing, power, read_lines
from bayesieve_lab.ledger import FOLDER, SOURCES, Line, Source, judged, read_ledger
from bayesieve_lab.made import MADE, digest, n_results, read_made, record
from bayesieve_lab.pages import PAGES, page_of
from bayesieve_lab.papers import counts, lines_table, papers_page
from bayesieve_lab.rabenoro2015.complexity import (
    FEW,
    REFITTED,
    SEARCHES,
    SIZES,
    complexity_figure,
    judge_complexity,
    refit,
)
from bayesieve_lab.rabenoro2015.filters import QUOTIENT, judge_filters, redundancy
from bayesieve_lab.rabenoro2015.study import GRIDS, WRAPPERS
from bayesieve_lab.rabenoro2015.subset_choice import FILTERS, halve
from bayesieve_lab.simulate import waveform
from bayesieve_lab.surpassed.page import surpassed_page
from bayesieve_lab.tables import TextTable

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers.md"
RESULTS = ROOT / FOLDER


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_the_committed_page_is_computed_from_the_committed_results(page: str) -> None:
    assert papers_page(RESULTS) == page, "run make ledger after new results"
    assert len(page.encode()) < 25_000  # a screen for each paper


@pytest.mark.parametrize("paper", PAGES)
def test_committed_pages_show_the_results_next_to_them(paper: str) -> None:
    for name, text in page_of(paper, RESULTS).items():
        assert text == (RESULTS / name).read_text(encoding="utf-8"), "run make ledger after new results"


def test_the_page_of_abellan_2017_shows_the_means_next_to_it() -> None:
    """Its folds are too many to be kept: what can be computed from their means is as in the page."""
    text = (RESULTS / "abellan2017.md").read_text(encoding="utf-8")
    means = AbellanResults.of(make_study("abellan2017").saved(RESULTS / "abellan2017-means.csv"))
    features = TextTable.of_data_sets(means.names, means.methods, means.matrix("n_features"), 1)
    assert features.to_markdown() in text


CONTINUED = {
    "boulle2007": ("boulle2007", Options(n_jobs=1)),
    "boulle2007-challenge": ("boulle2007", Options(n_jobs=1, challenge=True)),
    **{f"rabenoro2015-{grid}": ("rabenoro2015", Options(n_jobs=1, grid=grid)) for grid in GRIDS},
    "rabenoro2015-levels-m-estimate": ("rabenoro2015", Options(n_jobs=1, smoothing="m-estimate")),
    "blanquero2021": ("blanquero2021", Options(n_jobs=1)),
    "gidofalvi": ("gidofalvi", Options(n_jobs=1)),
}


@pytest.mark.parametrize("name", CONTINUED)
def test_committed_results_can_be_continued(name: str) -> None:
    """Methods of the files are those of the studies: a run goes on where the committed one ended."""
    methods = make_study(*CONTINUED[name]).methods()
    lines = [json.loads(line) for line in (RESULTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    described = {line["method"]: line["is"] for line in lines if "method" in line}
    assert len(described) > 2
    for method in {*described} & {*methods}:
        assert describe(methods[method]) == described[method]


def test_the_page_of_the_best_methods_shows_the_results_next_to_it() -> None:
    assert surpassed_page(RESULTS) == (RESULTS / "surpassed.md").read_text(encoding="utf-8")


def test_results_name_the_commit_and_the_settings_that_made_them() -> None:
    made = read_made(RESULTS)
    for path in (*RESULTS.glob("*.jsonl"), *RESULTS.glob("*.json"), *RESULTS.glob("*.csv")):
        if path.name != MADE:
            assert made[path.name]["settings"], path.name
            # Results that have grown or were replaced need a new entry.
            assert n_results(path) == max(made[path.name]["commits"].values()), path.name
            assert digest(path) == made[path.name]["digest"], path.name
    assert {*made} == {path.name for path in RESULTS.iterdir()} & {*made}


def test_new_results_are_recorded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results, commits = tmp_path / "found.jsonl", iter(["one", "one", "two", "three", None])
    monkeypatch.setattr(made_by, "commit", lambda: next(commits))
    results.write_text("a\n")
    record(results, {"seed": 3})
    record(results, {"seed": 3})
    for text in ("a\nb\n", "a\nc\n"):
        results.write_text(text)
        record(results, {"seed": 3})
    expected = {"commits": {"one": 1, "two": 2, "three": 2}, "settings": {"seed": 3}, "digest": digest(results)}
    assert read_made(tmp_path) == {"found.jsonl": expected}
    record(tmp_path / "other.jsonl", {})
    assert [*read_made(tmp_path)] == ["found.jsonl"]


def test_every_claim_of_every_study_is_on_its_page_once() -> None:
    assert set(SOURCES) == set(PAPERS) == set(PAGES)
    for paper, sources in SOURCES.items():
        text = (RESULTS / f"{paper}.md").read_text(encoding="utf-8")
        cells = [[cell.strip() for cell in line.split("|")[1:3]] for line in text.splitlines() if line.startswith("|")]
        for where, sentence in judged(RESULTS, sources)[0]:
            assert cells.count([where, sentence]) == 1, (paper, where, sentence)


@pytest.mark.parametrize("paper", SOURCES)
def test_every_file_named_exists(paper: str) -> None:
    known = read_ledger(paper)
    assert known.answer
    assert 1 < len(known.lines) <= 8
    assert {part.kind for part in known.entries} <= {"method", "formula", "table", "figure", "claim"}
    for part in known.entries:
        for path in (*part.lives, *part.tests):
            assert (ROOT / path).is_file(), (part.place, path)
        if part.kind in ("method", "formula"):
            assert part.lives, part.place
            assert part.tests, part.place
        elif not part.lives:
            assert part.why, part.place
        assert len({*part.lives}) == len(part.lives)
    for source in SOURCES[paper]:
        assert (RESULTS / source.results).is_file()


def test_the_page_links_to_files_and_readme_links_to_the_page(page: str) -> None:
    targets = {part.partition(")")[0].partition("#")[0] for part in page.split("](")[1:]} - {""}
    assert all((PAGE.parent / target).is_file() for target in targets)
    assert "(docs/papers.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def claim_of(*verdicts: Any) -> Judged:
    return Judged("Table 1", "A errs less", tuple(Check(f"{k}", one, float(k)) for k, one in enumerate(verdicts)))


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [
        (("holds", "holds"), "holds (2 of 2)"),
        (("holds", "open"), "cannot be told (1 of 2)"),
        (("open", "refuted"), "does not hold (0 of 2)"),
        (("holds",), "holds"),
    ],
)
def test_verdict_on_a_claim(verdicts: tuple[str, ...], verdict: str) -> None:
    assert claim_of(*verdicts).verdict_in_words == verdict


def test_variants_that_disagree_have_a_verdict_each() -> None:
    sources = [Source(label, f"{label}.jsonl", lambda _: ()) for label in ("one", "two", "three")]
    found = [claim_of(verdict) for verdict in ("holds", "open", "holds")]
    verdicts = {("Table 1", "A errs less"): dict(zip(sources, found, strict=True))}
    (row,) = lines_table(verdicts, [Line("Table 1", "A errs less", "A is better", "It is")]).rows
    ours = "one +0.000; two +0.000; three +0.000"
    assert row == ("A is better", ours, "**holds (one, three); cannot be told (two)**", "", "It is")
    assert counts(verdicts, 2) == "differs between variants 1, not measured 2"
    (row,) = variants_table({source.label: [one] for source, one in zip(sources, found, strict=True)}).rows
    assert row[3:6] == ("+0.000, holds", "+0.000, cannot be told", "+0.000, holds")


def test_every_claim_shows_its_numbers_and_every_table_how_close_it_comes() -> None:
    for paper, sources in SOURCES.items():
        claims, close = judged(RESULTS, sources)
        for (where, sentence), by_source in claims.items():
            for one in by_source.values():
                assert all(check.ours != "" for check in one.checks), sentence
                assert one.tested or one.summary("paper"), (paper, where, sentence)
        for part in read_ledger(paper).entries:
            if part.kind in ("table", "figure"):
                assert part.close or part.place in close, (paper, part.place)


def test_no_classifier_of_waveforms_is_better_than_their_densities() -> None:
    found = optimal(4000)["optimal"]
    X, y = waveform(4000, random_state=0)
    other, labels = waveform(4000, random_state=1)
    assert GaussianNB().fit(other, labels).score(X, y) < found
    assert found == pytest.approx(0.868, abs=0.015)


def test_power_of_growth() -> None:
    sizes = np.array([10.0, 50, 200])
    assert power(sizes, 3 * sizes**1.5) == pytest.approx(1.5)


def test_measurements_in_the_file_are_not_repeated(tmp_path: Path) -> None:
    path, calls = tmp_path / "times.jsonl", []

    def wanted(*names: str) -> Any:
        return [({"name": name}, lambda name=name: calls.append(name) or {"seconds": len(calls)}) for name in names]

    add_missing(path, wanted("a"))
    lines = add_missing(path, wanted("a", "b"))
    assert calls == ["a", "b"]
    assert lines == read_lines(path) == [{"name": "a", "seconds": 1}, {"name": "b", "seconds": 2}]
    assert read_lines(tmp_path / "none.jsonl") == []


def test_rounds_of_a_search() -> None:
    trace = MultiStart(n_starts=8, n_jobs=1).run(SubsetProblem.of(simulated(500, 12), "m-estimate"))
    counted = []
    for start in range(trace.n_starts):
        passes = [bool(adding) for adding in trace.walk_moves(start).adding]
        counted.append(sum(now and not before for before, now in zip([False, *passes], passes, strict=False)))
    assert rounds(trace) == counted
    assert max(counted) >= 1
    first, last = final_costs(trace)
    assert last == [trace.points(start)[-1].value for start in range(trace.n_starts)]
    assert all(before >= after for before, after in zip(first, last, strict=True))


def timed(seconds: Any) -> list[dict[str, Any]]:
    return [
        {"rows": round(cells / 10), "features": 10, "seconds": seconds(cells), "starts": 1, "moves": 1}
        for cells in (1e6, 1e7, 1e8)
    ]


def test_claims_about_the_search() -> None:
    costs = {"bounded": 10.0, "free": 10.0, "forward": 3.0, "whole": 1.0}
    sets = [{"data": str(k), "rounds": [0, 3, 4, 2], **costs} for k in range(8)]
    lines = [{"waveforms": 10_000, "optimal": 0.866}, *sets, *timed(lambda cells: cells * np.log2(cells))]
    assert [claim.verdict for claim in judge_search(lines)] == ["holds"] * 6
    worse = {"rounds": [0, 1, 1, 9], "bounded": 11.0, "forward": 0.5}
    slow = [*({**one, **worse} for one in sets), *timed(lambda cells: cells**1.5)]
    lines = [{"waveforms": 10_000, "optimal": 0.85}, *slow]
    assert [claim.verdict for claim in judge_search(lines)][1:] == ["does not hold"] * 5
    for most, verdict in ((2.0, "holds"), (2.5, "does not hold")):
        areas = [
            {"forward rows": n, "forward features": k, "area seconds": n * np.log2(n) * k**most} for n, k in FORWARD
        ]
        assert judge_search(areas)[1].verdict == verdict
    assert judge_search([{**sets[0], "forward": 1.0}])[-1].verdict == "cannot be told"
    assert "proportional" in time_figure(lines)


def test_claims_about_complexities() -> None:
    def lines(powers: dict[str, float]) -> list[dict[str, Any]]:
        names = (*FILTERS, *SEARCHES)
        return [
            {"method": name, "indicators": size, "seconds": size ** powers.get(name, 2.0)}
            for size in SIZES
            for name in names
        ]

    def outcomes(powers: dict[str, float]) -> list[set[str]]:
        return [{check.verdict for check in claim.checks} for claim in judge_complexity(lines(powers))]

    ranking, mrmr = FILTERS
    assert outcomes({ranking: 1.0}) == [{"holds"}] * 5
    slow = {ranking: 2.0, mrmr: 1.5, "forward": 3.0}
    assert outcomes(slow) == [{"holds", "refuted"}, {"holds"}, {"refuted"}, {"holds"}, {"holds", "refuted"}]
    judged = judge_complexity(lines({}))
    assert [bool(claim.unlike) for claim in judged] == [False, False, True, False, True]
    assert "P^2" in complexity_figure(lines({}))
    anew = [{"method": REFITTED, "indicators": size, "seconds": size**power} for power in (2.5,) for size in FEW]
    assert judge_complexity([*lines({}), *anew])[4].unlike.endswith("nearer to 2.")
    assert "refitted" not in complexity_figure([*lines({}), *anew])


def test_refitted_searches_add_every_indicator() -> None:
    coded = coded_series()
    halves = halve(coded, 1.0)
    order = refit(halves)
    assert sorted(order) == list(range(coded.n_features))
    codes, classes = np.asarray(halves.fit.codes).T, np.asarray(halves.fit.class_codes)
    alone = [BernoulliNB().fit(codes[:, [k]], classes).score(codes[:, [k]], classes) for k in order]
    assert alone[0] == max(alone)


def coded_series() -> CodedTable:
    """Few binary indicators of two classes, the third a copy of the first."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 2, 200).astype(np.uint8)
    codes = (rng.random((4, 200)) < np.where(classes, [[0.8], [0.6], [0.8], [0.5]], 0.3)).astype(np.uint8)
    codes[2] = codes[0]
    names = tuple("abcd")
    return CodedTable(codes, np.full(4, 2), names).with_rows(class_codes=classes, classes=np.arange(2))


def test_claims_about_filters(tmp_path: Path) -> None:
    """Of draws in which wrappers err less than the quotient, or more."""
    study = make_study("rabenoro2015", Options(repetitions=10))
    names = (*FILTERS, QUOTIENT)
    made = [
        {
            "grid": "levels",
            "draw": draw,
            **{name: {"features": 5, "error": 0.2, "leading": 0.5 - 0.1 * k} for k, name in enumerate(names)},
        }
        for draw in range(1, 11)
    ]
    assert study.paper == "rabenoro2015"
    for accuracy, verdict in ((0.9, "holds"), (0.7, "does not hold"), (0.8, "does not hold")):  # 0.8: no difference
        rows = {
            (f"draw {draw}", wrapper.key, 0, 0): {"accuracy": accuracy} for draw in range(1, 11) for wrapper in WRAPPERS
        }
        wrappers, redundant = judge_filters(made, rows, "levels")
        assert (wrappers.verdict, redundant.verdict) == (verdict, "holds")
    assert judge_filters(made[:2], rows, "levels")[1].verdict == "cannot be told"


def test_redundancy_is_the_mean_information_of_pairs() -> None:
    coded = coded_series()
    pairs = [(0, 1), (0, 2), (1, 2)]
    expected = [mutual_information(np.histogram2d(*np.asarray(coded.codes)[list(pair)], bins=2)[0]) for pair in pairs]
    assert redundancy(coded, np.array([0, 1, 2])) == pytest.approx(np.mean(expected))
    assert redundancy(coded, np.array([0, 2])) > 0.5


def test_claims_about_cuts_and_combinations() -> None:
    def lines(gain: float, cost: float) -> list[dict[str, Any]]:
        noise = np.random.default_rng(0).normal(0, 0.001, 10)
        return [
            {
                "option": option,
                "data": data,
                "value": value,
                "accuracies": (0.8 + gain * k + noise * k).tolist(),
                "seconds": [1 + cost * k + 0.01 * fold for fold in range(10)],
            }
            for option, values in (("combinations", COMBINATIONS), ("cuts", CUTS))
            for data in ON[option]
            for k, value in enumerate(values)
        ]

    def verdicts(gain: float, cost: float) -> list[str]:
        return [claim.verdict for claim in judge_compromise(lines(gain, cost))]

    assert verdicts(0.0, 1.0) == ["holds"] * 4
    assert verdicts(0.05, 1.0) == ["does not hold", "holds"] * 2
    assert verdicts(0.0, 0.0) == ["holds", "cannot be told"] * 2
    assert judge_compromise([]) == ()


def test_measured_files_hold_every_measurement() -> None:
    searched = read_lines(RESULTS / "boulle2007-search.jsonl")
    assert sum("data" in line for line in searched) == 30
    measured = read_lines(RESULTS / "rabenoro2015-complexity.jsonl")
    assert len([line for line in measured if line["method"] != REFITTED]) == len(SIZES) * (len(FILTERS) + len(SEARCHES))
    for name, draw in (("boulle2007-search", time_figure), ("rabenoro2015-complexity", complexity_figure)):
        drawing = draw(read_lines(RESULTS / f"{name}.jsonl"))
        assert drawing == (RESULTS / f"{name}.svg").read_text(encoding="utf-8")
    assert waves_figure() == (RESULTS / "boulle2007-waves.svg").read_text(encoding="utf-8")
