"""The page of a comparison: what it says of numbers known beforehand, and that it stands whatever the numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bayesieve_lab.comparison.differences import corrected_resampled_t, paired_t
from bayesieve_lab.comparison.page import (
    MAX_DOTS,
    MAX_PAIRS,
    MAX_STRIP_DATA,
    Compared,
    data_tables,
    difference_table,
    fewest_data_sets,
    fold_figure,
    means_table,
    rank_parts,
    render_comparison,
    tradeoff_figure,
)
from lab.tests.compared import compared, rows_of
from tests.report.markup import read, texts

nan, inf = math.nan, math.inf
SCORES = {"NB": [0.80, 0.82, 0.81, 0.83], "MAP": [0.90, 0.91, 0.93, 0.92], "odd": [0.50, 0.99, 0.60, 0.98]}


def several(n_data, methods, n_folds=5):
    rng = np.random.default_rng(0)
    return [
        row
        for i in range(n_data)
        for row in rows_of(
            {m: (rng.random(n_folds) / 50 + 0.9 - j / 10).tolist() for j, m in enumerate(methods)}, f"set {i}"
        )
    ]


def numbers(comparison, reference=0):
    """Those of a comparison, its methods in their own order."""
    found = Compared(comparison, "accuracy", comparison.methods[reference])
    found.order = list(range(len(comparison.methods)))
    return found


def test_one_data_set_by_hand():
    folds = numbers(compared(rows_of(SCORES)), reference=1)
    table = means_table(folds)
    assert table.head == ("Method", "Accuracy", "Features", "Fit", "Predict")
    first = [cells[0] for _, cells in table.lines]
    assert [(c.text, c.under, c.is_best, c.mark) for c in first] == [
        ("0.815", "± 0.013", False, "worse"),
        ("0.915", "± 0.013", True, ""),
        ("0.767", f"± {np.std(SCORES['odd'], ddof=1):.3f}", False, ""),
    ]
    assert table.reference == "MAP"
    assert [c.text for c in table.lines[0][1][1:]] == ["–", "–", "–"]
    differences = difference_table(folds)
    assert [name for name, _ in differences.lines] == ["NB", "odd"]
    cell = differences.lines[0][1][0]
    expected = corrected_resampled_t(SCORES["NB"], SCORES["MAP"], 1 / 3)
    assert (cell.text, cell.under) == ("−0.100", f"p {expected.p_value:.3f}")


def test_features_and_seconds_are_means_per_fold():
    rows = rows_of(SCORES)
    for row in rows:
        row |= {"n_features": None if row["method"] == "odd" else 8 + (row["fold"] == 0), "fit_seconds": 0.5}
        row["predict_seconds"] = 0.25 if row["fold"] else None
    folds = numbers(compared(rows))
    table = means_table(folds)
    assert [c.text for c in table.lines[0][1][1:]] == ["8.2", "500 ms", "250 ms"]
    assert [c.text for c in table.lines[2][1][1:]] == ["–", "500 ms", "250 ms"]
    titles = [grid.title for grid in data_tables(folds)]
    assert titles == ["Accuracy", "Features selected", "Fit, time of a fold"]


def test_lower_is_better_turns_marks_and_best():
    folds = numbers(compared(rows_of(SCORES, measure="brier")), reference=1)
    cells = [own[0] for _, own in means_table(folds).lines]
    assert [c.mark for c in cells] == ["better", "", ""]
    assert [c.is_best for c in cells] == [False, False, True]


def test_page_of_one_data_set():
    html = render_comparison(compared(rows_of(SCORES), seed=7), title="A title")
    elements = read(html)
    assert texts(elements, "h1") == ["A title"]
    assert texts(elements, "p", "headline") == [
        "MAP has the highest mean accuracy, 0.915. It is significantly better than 1 of 2 other methods."
    ]
    assert "3 methods on 1 data set, stratified 4-fold cross-validation, seed 7" in html
    assert "are not valid for a single data set" in html
    assert "Friedman" not in html
    assert [text.split()[0] for text in texts(elements, "td", "name")[:3]] == ["MAP", "NB", "odd"]  # best first
    assert [e.attributes["data-chart"] for e in elements if "data-chart" in e.attributes] == ["ranks-0", "folds-0"]


def test_ranks_over_the_folds_of_one_data_set():
    data = compared(rows_of(SCORES))
    (part,) = rank_parts(Compared(data, "accuracy"))
    assert part.figure.data.rows() == [("MAP", 1.5, "odd"), ("odd", 2.0, "MAP, NB"), ("NB", 2.5, "odd")]
    assert part.figure.caption == (
        "Average ranks of 3 methods over 4 folds, 1 is best. Bars join methods that do not differ significantly "
        "(corrected resampled t-test of the folds, 5% each)."
    )
    first = corrected_resampled_t(SCORES["NB"], SCORES["MAP"], 1 / 3)
    assert part.pairs.rows[0] == ("NB", "MAP", "\N{MINUS SIGN}0.100", f"{first.p_value:.3f}")
    assert len(part.pairs.rows) == 3
    html = render_comparison(data)
    assert "Ranks over folds" in html
    assert "<dt>Critical difference</dt>" not in html


def test_a_single_fold_is_ranked_without_a_test():
    data = compared(rows_of({"A": [0.9], "B": [0.8], "C": [0.7]}))
    (part,) = rank_parts(Compared(data, "accuracy"))
    assert part.figure.caption.endswith("A single fold cannot be tested, so no methods are joined.")
    assert part.figure.frames["bars"]["method"] == []
    assert [row[3] for row in part.pairs.rows] == ["no test"] * 3
    assert "trained on the first rows, tested on the others" in render_comparison(data)


def test_wins_and_losses_over_data_sets():
    rows = several(4, ["A", "B"]) + rows_of({"A": [0.1, 0.2, 0.1, 0.2, 0.1], "B": SCORES["MAP"] + [0.9]}, "reverse")
    folds = numbers(compared(rows))
    ((_, (cell,)),) = difference_table(folds).lines
    assert (cell.text, cell.under) == ("4/1", "Student 4/1")
    means = means_table(folds)
    assert [cells[0].under for _, cells in means.lines] == ["rank 1.20", "rank 1.80"]
    table = data_tables(folds)[0]
    assert table.head == ("Data set", "A", "B")
    assert [cells[1].mark for _, cells in table.lines] == ["worse"] * 4 + ["better"]
    assert [cells[0].is_best for _, cells in table.lines] == [True] * 4 + [False]


def test_student_counts_stand_beside_the_corrected_ones():
    values = [0.9, 0.91, 0.92, 0.9, 0.915], [0.89, 0.905, 0.905, 0.9, 0.9]
    assert paired_t(*values).p_value < 0.05 < corrected_resampled_t(*values, 1 / 4).p_value
    rows = [row for name in ("x", "y") for row in rows_of(dict(zip("AB", values, strict=True)), name)]
    folds = numbers(compared(rows))
    ((_, (cell,)),) = difference_table(folds).lines
    assert (cell.text, cell.under) == ("0/0", "Student 2/0")


def test_page_of_many_data_sets():
    html = render_comparison(compared(several(12, ["first", "second", "third"])))
    elements = read(html)
    assert texts(elements, "p", "headline") == [
        "first has the best average rank by accuracy over 12 data sets. By the critical difference it is significantly "
        "better than all of 2 other methods."
    ]
    assert "All methods differ significantly (Nemenyi, 5%)." in html  # one rank apart, the critical difference is 0.96
    assert html.count('data-chart="ranks-0"') == 1
    assert "chi-square 24.00, p &lt; 0.001" in html
    assert "12/0/0" in html


def test_ranks_say_what_few_data_sets_cannot_show():
    data = compared(several(3, ["A", "B", "C"]))
    (part,) = rank_parts(Compared(data, "accuracy"))
    assert "Average ranks of 3 methods over 3 data sets" in part.figure.caption
    assert "this takes 7" in part.note
    assert fewest_data_sets(3, 0.05) == 7
    assert 3 * 2 / 2**7 <= 0.05 < 3 * 2 / 2**6
    data = compared(several(7, ["A", "B", "C"]))
    (part,) = rank_parts(Compared(data, "accuracy"))
    assert part.note == ""
    assert part.pairs.rows[0][2:] == ("7/0/0", "0.016", "0.047")


def test_a_method_that_failed_is_last_and_never_best():
    rows = several(4, ["A", "B"])
    for row in rows:
        if row["method"] == "A" and row["data"] == "set 1":
            row |= {"accuracy": None, "error": "ValueError: no <luck>"}
        if row["method"] == "A" and row["data"] == "set 2" and row["fold"] == 0:
            row |= {"accuracy": None, "error": "MemoryError: too wide"}
    folds = numbers(compared(rows))
    table = data_tables(folds)[0]
    assert [cells[0].under for _, cells in table.lines][1:3] == ["0 of 5 folds", "4 of 5 folds"]
    assert [cells[0].text == "–" for _, cells in table.lines] == [False, True, False, False]
    assert [cells[0].is_best for _, cells in table.lines] == [True, False, False, True]
    (_, (cell, *_)), _ = means_table(folds).lines
    assert cell.under == "rank 1.50\n2 of 4 sets"
    assert not cell.is_best
    html = render_comparison(compared(rows))
    elements = read(html)
    assert "Some methods failed on some folds" in html
    failures = [texts(elements, "td")[-8:][i : i + 4] for i in (0, 4)]
    assert failures == [["set 1", "A", "5", "ValueError: no <luck>"], ["set 2", "A", "1", "MemoryError: too wide"]]


@pytest.mark.parametrize(
    "scores",
    [
        {"A": [0.5]},
        {"A": [0.5, 0.6]},
        {"A": [0.5], "B": [0.5]},
        {"A": [None, None], "B": [None, None]},
        {"A": [-inf, 0.5], "B": [0.5, 0.5]},
        {"A": [-inf, -inf], "B": [-inf, 0.2]},
        {"A": [inf, -inf], "B": [0.1, 0.2]},
        {"A": [nan, 0.1], "B": [0.1, nan]},
        {"A": [0.0, 0.0], "B": [0.0, 0.0]},
    ],
)
@pytest.mark.parametrize("n_data", [1, 2])
@pytest.mark.filterwarnings("error")
def test_any_numbers_give_a_page(scores, n_data):
    rows = [row for i in range(n_data) for row in rows_of(scores, f"set {i}", "compression_rate")]
    html = render_comparison(compared(rows))
    main = next(e for e in read(html) if e.tag == "main")
    assert "nan" not in main.text.lower()


def test_large_comparisons_are_capped_with_a_sentence():
    methods = [f"method {j}" for j in range(14)]
    html = render_comparison(compared(several(MAX_STRIP_DATA + 5, methods, n_folds=3)))
    assert f"The first {MAX_STRIP_DATA} data sets are drawn." in html
    assert f"The first {MAX_PAIRS:,} of " in html
    assert len(html) < 3_000_000


def test_folds_are_dots_and_means_ticks():
    scores = {"A": [0.0, 1.0, nan], "B": [0.5, 0.5, 0.5], "C": [nan, inf, 0.2], "D": [nan, nan, nan]}
    figure = fold_figure(numbers(compared(rows_of(scores))), 0)
    folds = figure.frames["folds"]
    assert list(zip(folds["method"], folds["fold"], folds["value"], strict=True)) == [
        ("A", 1, 0.0), ("A", 2, 1.0), ("B", 1, 0.5), ("B", 2, 0.5), ("B", 3, 0.5), ("C", 3, 0.2),
    ]  # fmt: skip
    assert figure.datasets()["means"][:3] == [
        {"measure": "Accuracy", "method": "A", "value": 0.5},
        {"measure": "Accuracy", "method": "B", "value": 0.5},
        {"measure": "Accuracy", "method": "C", "value": None},  # infinite
    ]
    assert fold_figure(numbers(compared(rows_of({"A": [nan], "B": [inf]}))), 0).chart == {}
    many = fold_figure(numbers(compared(rows_of({"A": [0.1] * 300, "B": [0.2] * 300}))), 0)
    assert len(many.frames["folds"]["fold"]) == 2 * MAX_DOTS


def test_quality_against_effort():
    rows = rows_of(SCORES)
    for row in rows:
        row |= {"n_features": 7, "fit_seconds": 0.5, "predict_seconds": 0.1}
    figure = tradeoff_figure(numbers(compared(rows)))
    assert figure.data.row(0) == ("NB", pytest.approx(0.815), 7.0, 0.5, 0.1)
    assert figure.chart
    assert tradeoff_figure(numbers(compared(rows_of(SCORES)))).chart == {}  # nothing was timed


SAME = [0.8, 0.9, 0.7]


@pytest.mark.parametrize(
    ("scores", "options", "wanted", "unwanted"),
    [
        ({"A": SAME, "B": SAME, "C": [0.1, 0.2, 0.1]}, {}, "A and B have the highest mean accuracy, 0.800.", "-"),
        (dict.fromkeys("ABCDE", SAME), {}, "5 of 5 methods have the highest mean accuracy", "-"),
        (SCORES, {"reference": "NB"}, 'Each method minus <b class="label">NB</b>', "It is significantly better"),
        (SCORES, {"reference": "MAP"}, "The reference is the best method by accuracy. If it was", "-"),
        (SCORES, {}, "The reference is the best method by accuracy. If it was chosen by its results", "interrupted"),
        ({**SCORES, "odd": [0.5, None, None, None]}, {}, "1 of 4 folds", "-"),
    ],
)
def test_the_headline_and_the_reference(scores, options, wanted, unwanted):
    html = render_comparison(compared(rows_of(scores)), **options)
    assert wanted in html
    assert unwanted not in html.replace("-", "")


def test_the_first_measure_may_be_named_and_an_interrupted_run_says_so():
    rows = rows_of(SCORES)
    for row in rows:
        row["log_loss"] = row["accuracy"]
    html = render_comparison(compared(rows, complete=False), measure="log_loss")
    assert "odd has the lowest mean log loss, 0.767. It is significantly better than no other method." in html
    assert "The run was interrupted" in html
    elements = read(html)
    assert texts(elements, "th", "right")[:2] == ["Log loss", "Accuracy"]
    assert [text.split()[0] for text in texts(elements, "td", "name")[:3]] == ["odd", "NB", "MAP"]


@pytest.mark.parametrize("options", [{"measure": "error"}, {"reference": "Khiops"}])
def test_names_that_do_not_exist_are_refused(options):
    with pytest.raises(ValueError, match=f"no .*'{next(iter(options.values()))}'.*(accuracy, auc|NB, MAP, odd)"):
        render_comparison(compared(rows_of(SCORES)), **options)
