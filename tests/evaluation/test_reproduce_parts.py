"""What all reproductions share: kept results, paired comparisons, claims and tables."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata, wilcoxon

from bayesieve.evaluation.reproduce import PAPERS, make_study
from bayesieve.evaluation.reproduce.claims import Claim, compare, in_words
from bayesieve.evaluation.reproduce.paired import Paired, holm, signed_rank_test
from bayesieve.evaluation.reproduce.results_file import ResultsFile
from bayesieve.evaluation.reproduce.tables import TextTable, mean_and_spread, p_text

SETTINGS = {"paper": "x", "seed": 0}


def test_results_come_back_whatever_order_they_were_finished_in(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    results = ResultsFile(path, SETTINGS)
    for number in (1, 0, 2):
        results.append({"repetition": number, "error": 0.1 * number})
    again = ResultsFile(path, SETTINGS)
    assert again.records(2) == [{"repetition": 0, "error": 0.0}, {"repetition": 1, "error": 0.1}]
    assert 2 in again
    assert 3 not in again


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_line_that_was_cut_off_is_dropped(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "kept.jsonl"
    results = ResultsFile(path, SETTINGS)
    results.append({"repetition": 0, "error": 0.25})
    whole = path.read_bytes()
    results.append({"repetition": 1, "error": 0.5, "padding": "x" * 40})
    path.write_bytes(path.read_bytes()[:-cut])
    again = ResultsFile(path, SETTINGS)
    assert 0 in again
    assert 1 not in again
    assert path.read_bytes() == whole
    again.append({"repetition": 1, "error": 0.5})
    assert [json.loads(line).get("repetition") for line in path.read_text().splitlines()] == [None, 0, 1]


def test_a_first_line_that_was_cut_off_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    path.write_text('{"settings": {"pa')
    results = ResultsFile(path, SETTINGS)
    results.append({"repetition": 0})
    assert 0 in ResultsFile(path, SETTINGS)


def test_results_of_other_settings_and_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    ResultsFile(path, SETTINGS).append({"repetition": 0})
    with pytest.raises(ValueError, match=r"other settings \(seed\)"):
        ResultsFile(path, SETTINGS | {"seed": 1})
    for text in ("hello\n", "[1]\n", '{"settings": {}}\n{"x": 1}\n', "3\n"):
        path.write_text(text)
        with pytest.raises(ValueError, match="does not hold results"):
            ResultsFile(path, {})


def test_results_without_a_file_stay_in_memory() -> None:
    results = ResultsFile(None, SETTINGS)
    results.append({"repetition": 0})
    assert results.records(1) == [{"repetition": 0}]


def test_paired_differences() -> None:
    first, second = np.array([0.1, 0.2, 0.3, 0.1]), np.array([0.2, 0.2, 0.5, 0.05])
    pair = Paired.of(first, second)
    assert pair.mean == pytest.approx((first - second).mean())
    assert pair.standard_error == pytest.approx((first - second).std(ddof=1) / 2)
    assert (pair.lower, pair.equal, pair.higher) == (2, 1, 1)
    assert Paired.of(second, first).mean == pytest.approx(-pair.mean)
    assert Paired.of(first, first).p_value == 1.0
    assert np.isnan(Paired.of([1.0], [2.0]).standard_error)
    # All ten differences of one sign: the exact two-sided p-value is 2 / 2^10.
    assert Paired.of(np.arange(10.0), np.arange(10.0) * 2 + 1).p_value == pytest.approx(2 / 1024)


@pytest.mark.parametrize("seed", range(6))
def test_the_signed_rank_test_tries_all_signs(seed: int) -> None:
    differences = np.random.default_rng(seed).integers(-3, 5, 9).astype(float)
    left = differences[differences != 0]
    ranks = rankdata(np.abs(left))
    sums = np.array([ranks[list(signs)].sum() for signs in itertools.product([False, True], repeat=left.size)])
    found = ranks[left > 0].sum()
    expected = min(1.0, 2 * min(np.mean(sums <= found), np.mean(sums >= found)))
    assert signed_rank_test(differences) == pytest.approx(expected, abs=1e-12)


def test_the_signed_rank_test_without_equal_sizes_is_that_of_scipy() -> None:
    for seed in range(5):
        differences = np.random.default_rng(seed).normal(0.3, 1, 20)
        assert signed_rank_test(differences) == pytest.approx(wilcoxon(differences, method="exact").pvalue, rel=1e-9)
    assert signed_rank_test(np.zeros(4)) == 1.0


def test_equal_shares_computed_in_two_ways_are_equal() -> None:
    assert Paired.of([0.1 + 0.2], [0.3]).equal == 1


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([0.02]) == [0.02]


def test_claims_hold_or_not() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.001, 20)
    values = {"good": 0.1 + noise, "bad": 0.2 - noise, "same": 0.1 + noise[::-1]}
    claim = Claim("Good errs least", (("good", "bad"), ("bad", "good"), ("good", "same")))
    pairs = compare(claim, values)
    assert [pair.verdict for pair in pairs] == ["holds", "opposite", "open"]
    assert in_words(pairs) == (
        "Good errs least: holds in 1, cannot be told in 1, is the other way round in 1 of 3 comparisons."
    )
    assert in_words(compare(Claim("It holds", (("good", "bad"),)), values)) == "It holds: holds."


def test_markdown_tables() -> None:
    table = TextTable.of([("name", False), ("n", True)], [["a|b", "1"], ["c", "1000"]])
    assert table.to_markdown().splitlines() == [
        "| name |    n |",
        "|:-----|-----:|",
        "| a\\|b |    1 |",
        "| c    | 1000 |",
    ]
    with pytest.raises(ValueError, match="3 texts"):
        TextTable.of([("name", False), ("n", True)], [["a", "b", "c"]])


def test_numbers_as_texts() -> None:
    assert mean_and_spread([1.0, 2.0, 3.0], 1) == "2.0 ± 1.0"
    assert mean_and_spread([0.25], 2) == "0.25"
    assert [p_text(p) for p in (1e-9, 0.00123, 0.05, 0.5, 1.0)] == ["< 0.0001", "0.0012", "0.05", "0.50", "1.00"]


def test_unknown_papers_are_refused_with_the_list() -> None:
    with pytest.raises(ValueError, match="'rabenoro2015'"):
        make_study("nothing")
    assert all(make_study(name).settings["paper"] == name for name in PAPERS)
