"""What all reproductions share: studies that resume, paired comparisons, claims and tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.naive_bayes import GaussianNB

from bayesieve_lab import PAPERS, Comparison, Options, RepeatedFolds, Report, Study, make_study
from bayesieve_lab.claims import (
    Claim,
    Differences,
    Judged,
    alike,
    claims_table,
    closeness,
    compare,
    differ,
    in_words,
    near,
    often,
    predicted,
    reasons,
    variants_table,
    wins,
)
from bayesieve_lab.comparison.differences import corrected_resampled_t
from bayesieve_lab.tables import TextTable, mean_and_spread, p_text


class Flowers(Study):
    """A study of its own, with data sets to choose from; Ctrl-C comes with the second fit where that is asked for."""

    paper = "flowers1936"
    citation = "R. Fisher (1936)"
    uses_data = True
    fits = 0
    interrupted_at: int | None = None
    asked: ClassVar[list[Options]] = []

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.asked.append(options)

    @property
    def settings(self) -> dict[str, Any]:
        return {"paper": self.paper, "seed": self.options.seed}

    @property
    def protocol(self) -> RepeatedFolds:
        return RepeatedFolds(3, seed=self.options.seed)

    def methods(self) -> dict[str, Any]:
        return {"gauss": Counting()}

    def data(self) -> dict[str, Callable[[], tuple[Any, ...]]]:
        loaders = {"iris": lambda: load_iris(return_X_y=True), "wine": lambda: load_wine(return_X_y=True)}
        return {name: loaders[name] for name in self.chosen(tuple(loaders))}

    def report(self, found: Comparison) -> Report:
        means = found.matrix("accuracy")[:, 0]
        table = TextTable.of(("Data set", ">Folds"), [(name, "3") for name in found.data])
        findings = tuple(f"{name}: {mean:.4f}" for name, mean in zip(found.data, means, strict=True))
        files = {"flowers.svg": "<svg/>"}
        return Report((("How many", table), ("How many", table)), findings, "![flowers](flowers.svg)\n", files)


class Counting(GaussianNB):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        Flowers.fits += 1
        if Flowers.fits == Flowers.interrupted_at:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight)


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(Flowers, "fits", 0)
    return monkeypatch


@pytest.mark.filterwarnings("ignore:Interrupted")
def test_an_interrupted_study_goes_on_to_the_same_report(fits: pytest.MonkeyPatch, tmp_path: Path) -> None:
    straight = Flowers(Options(n_jobs=None)).run()
    assert Flowers.fits == 6
    fits.setattr(Flowers, "fits", 0)
    fits.setattr(Flowers, "interrupted_at", 5)
    path = tmp_path / "found.jsonl"
    study = Flowers(Options(n_jobs=None))
    with pytest.raises(KeyboardInterrupt):
        study.run(path)
    assert len(study.saved(path).rows) == 4
    assert study.run(path) == straight
    assert Flowers.fits == 5 + 2
    assert study.report(study.saved(path)) == straight


def test_a_study_takes_the_data_sets_asked_for(fits: pytest.MonkeyPatch) -> None:
    everything = Flowers(Options(n_jobs=2)).run().findings
    assert Flowers(Options(only=("wine",), n_jobs=1)).run().findings == everything[1:]
    assert Flowers.fits == 9
    with pytest.raises(ValueError, match="flowers1936 has no data set 'rose'; choose from 'iris', 'wine'"):
        Flowers(Options(only=("iris", "rose"))).run()
    with pytest.raises(ValueError, match="rabenoro2015 has no data sets to choose from"):
        make_study("rabenoro2015", Options(only=("wine",)))


def sample(values: Any, **options: Any) -> dict[str, Differences]:
    return {"A - B": Differences(np.array(values, dtype=float), **options)}


def test_a_difference_needs_a_test() -> None:
    first, second = np.arange(10.0), np.arange(10.0) * 2 + 1
    (check,) = differ({"A - B": Differences.of(first, second)})
    assert (check.verdict, check.ours, check.over) == ("holds", pytest.approx(-5.5), "10 repetitions")
    assert check.p_value == pytest.approx(2 / 1024)  # all ten of one sign
    assert differ({"A - B": Differences.of(second, first)})[0].verdict == "refuted"
    assert differ({"A - B": Differences.of(second, first)}, 1)[0].verdict == "holds"
    (few,) = differ(sample([-1, -2, -3, -4]))
    assert (few.verdict, few.margin) == ("open", "no p below 0.12 is possible")
    (single,) = differ(sample([-1], fixed=True))
    assert (single.verdict, single.p_value) == ("holds", 0.0)
    equal = sample([0.1 + 0.2 - 0.3] * 10)  # shares computed in two ways
    assert differ(equal, margin=None)[0].verdict == "open"


SPREAD = np.array([-3.0, -2, -1, 1, 2, 3, -2.5, 2.5, -1.5, 1.5])


@pytest.mark.parametrize(
    ("values", "paper", "margin", "verdict", "reason"),
    [
        (0.02 + 0.001 * SPREAD, {}, 0.005, "holds", ""),
        (0.002 + 0.0001 * SPREAD, {}, 0.005, "holds", ""),  # found, however small
        (-0.02 + 0.001 * SPREAD, {}, 0.005, "refuted", "reversed"),
        (0.0005 + 0.001 * SPREAD, {}, 0.005, "refuted", "within 0.005 of zero"),
        (0.0005 + 0.001 * SPREAD, {}, None, "open", ""),
        (0.0005 + 0.001 * SPREAD, {"A - B": 0.001}, 0.005, "open", ""),  # the paper's own is as small
        (0.003 + 0.006 * SPREAD, {"A - B": 0.05}, 0.005, "refuted", "less than the paper's"),
        (0.003 + 0.006 * SPREAD, {"A - B": "+0.050 on other sets"}, 0.005, "open", ""),
        (0.003 + 0.006 * SPREAD, {"A - B": -0.05}, 0.005, "open", ""),  # the paper's own number contradicts it
    ],
)
def test_claimed_differences_are_found_or_refuted(
    values: np.ndarray, paper: Any, margin: float | None, verdict: str, reason: str
) -> None:
    for sign in (1, -1):
        theirs = {what: sign * of if isinstance(of, float) else of for what, of in paper.items()}
        (check,) = differ(sample(sign * values), sign, theirs, margin=margin)
        assert (check.verdict, check.margin) == (verdict, reason)


def test_only_refutations_are_adjusted() -> None:
    """Comparisons of a claim hold one by one, since it holds only if all do; any of them may refute it."""
    once = np.array([-1.0, -2, -3, -4, -5, -6])
    samples = {name: Differences(once) for name in "abcd"}
    assert [(check.p_value, check.verdict) for check in differ(samples)] == [(pytest.approx(2 / 64), "holds")] * 4
    assert {check.verdict for check in differ(samples, 1)} == {"open"}
    assert {check.verdict for check in alike(samples, strict=True)} == {"open"}
    assert differ({"a": Differences(once)}, 1)[0].verdict == "refuted"
    assert alike({"a": Differences(once)}, strict=True)[0].verdict == "refuted"


def test_numbers_lie_in_the_prediction_interval() -> None:
    values = [10.0, 11, 12, 13, 14]  # 12 +- 2.776 * 1.581 * sqrt(1.2), and half a unit
    (verdicts,) = ([predicted("n", paper, values, form=".0f").verdict for paper in (6, 7, 17, 18)],)
    assert verdicts == ["refuted", "holds", "holds", "refuted"]
    assert predicted("n", 10, values, form=".0f").ours == "12; 7 to 17"
    assert predicted("n", 0.5, [0.5, 0.5], form=".1f").verdict == "holds"
    assert predicted("n", 0.6, [0.5, 0.5], form=".1f").verdict == "refuted"
    assert [predicted("n", 1, of).verdict for of in ([1.0], [], [np.nan])] == ["open"] * 3


def test_the_rule_for_printed_numbers() -> None:
    assert [wins(*counts) for counts in ((9, 2), (10, 0), (0, 10), (0, 0))] == ["open", "holds", "refuted", "open"]
    checks = differ(sample(SPREAD) | {"C - D": Differences(SPREAD)}, printed={"A - B": "holds", "C - D": "open"})
    assert Judged("", "", checks).printed == "cannot be told"
    assert Judged("", "", checks[:1]).printed == "holds"
    assert [differ(sample(SPREAD), paper=of)[0].printed for of in ("", {"A - B": 1.0})] == [
        "no number",
        "no spread printed",
    ]


def test_what_is_not_like_for_like_has_no_other_verdict() -> None:
    checks = differ(sample(SPREAD - 10))
    assert Judged("", "", checks).verdict == "holds"
    unlike = Judged("", "A errs less", checks, unlike="Other data.")
    assert in_words(unlike) == "A errs less: not like for like."
    assert reasons([unlike, Judged("", "", checks)]) == "**: A errs less.** Other data."
    two = Judged("", "A errs less", checks * 2, unlike="Other data.")
    assert [cells[-2] for cells in claims_table([two]).rows] == ["not like for like"] * 3
    assert all(cells[3].endswith("not like for like") for cells in variants_table({"one": [two]}).rows)


def test_folds_are_tested_with_their_overlap() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(-0.02, 0.02, 10)
    (check,) = differ(sample(values, share=1 / 9))
    expected = corrected_resampled_t(values, np.zeros(10), 1 / 9)
    assert check.p_value == pytest.approx(expected.p_value)
    (check,) = alike(sample(values, share=1 / 9), 0.05)
    assert check.p_value == pytest.approx(corrected_resampled_t(values, np.full(10, -0.05), 1 / 9).p_value / 2)


@pytest.mark.parametrize(
    ("mean", "margin", "sides", "strict", "verdict"),
    [
        (-0.02, 0.10, (-1, 1), False, "holds"),
        (-0.02, 0.01, (-1, 1), False, "refuted"),
        (-0.02, 0.03, (-1, 1), True, "refuted"),  # any significant difference
        (-0.02, 0.01, (1,), True, "holds"),  # only a higher mean is excluded
        (0.02, 0.01, (1,), False, "refuted"),
        (-0.02, 0.021, (-1, 1), False, "open"),
        (0.0, 0.0001, (-1, 1), False, "open"),
    ],
)
def test_equality_needs_a_margin(mean: float, margin: float, sides: Any, strict: bool, verdict: str) -> None:
    noise = np.tile([0.003, -0.003, 0.005, -0.005, 0.001, -0.001], 2)
    (check,) = alike(sample(mean + noise), margin, sides, strict=strict)
    assert check.verdict == verdict
    assert check.margin.startswith("margin")


def test_counts_and_numbers() -> None:
    counted = {k: often("splits", [True] * k + [False] * (10 - k)).verdict for k in (0, 1, 3, 8, 9, 10)}
    assert counted == {0: "refuted", 1: "refuted", 3: "open", 8: "open", 9: "holds", 10: "holds"}
    assert [near("n", 0.5, ours, 0.01).verdict for ours in (0.505, 0.52)] == ["holds", "refuted"]
    close = closeness("Table 1", [("a", 0.5, 0.505), ("b", 0.5, 0.6), ("c", 0.5, np.nan)])
    assert close.text == "1 of 2 numbers within 0.010; 0.052 on average, at most 0.100 (b)"


def test_claims_in_words() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.001, 20)
    values = {"good": 0.1 + noise, "bad": 0.2 - noise, "same": 0.1 + noise[::-1]}
    claim = Claim("Good errs least", (("good", "bad"), ("bad", "good"), ("good", "same")))
    found = compare(claim, values, {"good": 0.1, "bad": 0.3})
    assert [check.verdict for check in found.checks] == ["holds", "refuted", "refuted"]  # "same" is within half a point
    assert in_words(found) == "Good errs least: does not hold (1 of 3)."
    assert found.summary("paper") == "good - bad -0.2000; bad - good +0.2000"
    assert found.summary("over") == "20 repetitions"
    one = compare(Claim("It holds", (("good", "bad"),)), values)
    assert (in_words(one), one.tested) == ("It holds: holds.", "p < 0.0001")
    many = Judged("", "", one.checks * 5)
    assert many.summary("ours") == one.summary("ours")
    rows = claims_table([found, one]).rows
    lines = ["Good errs least", "– good - bad", "– bad - good", "– good - same", "It holds"]
    assert [row[1] for row in rows] == lines
    verdicts = ["**does not hold** (1 of 3)", "holds", *["**does not hold**"] * 2, "holds"]
    assert [row[-2] for row in rows] == verdicts
    assert [row[-1] for row in rows] == ["no spread printed", "", "", "", "no number"]


def test_markdown_tables() -> None:
    table = TextTable.of(("name", ">n"), [["a|b", "1"], ["c", "1000"]])
    assert table.to_markdown().splitlines() == [
        "| name |    n |",
        "|:-----|-----:|",
        "| a\\|b |    1 |",
        "| c    | 1000 |",
    ]
    with pytest.raises(ValueError, match="3 texts"):
        TextTable.of(("name", ">n"), [["a", "b", "c"]])


def test_numbers_as_texts() -> None:
    assert mean_and_spread([1.0, 2.0, 3.0], 1) == "2.0 ± 1.0"
    assert mean_and_spread([0.25], 2) == "0.25"
    assert [p_text(p) for p in (1e-9, 0.00123, 0.05, 0.5, 1.0)] == ["< 0.0001", "0.0012", "0.05", "0.50", "1.00"]


HEADER = "name,file,rows,n_numeric,n_categorical,n_classes,majority_share,target,in_boulle,in_abellan,in_blanquero"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Lines of data sets without their files."""
    (tmp_path / "catalogue.csv").write_text(f"{HEADER}\nada,ada.parquet,10,1,0,2,0.5,class,1,1,1\n")
    (tmp_path / "pva97nk.parquet").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("paper", "options", "message"),
    [
        ("nothing", {}, "'rabenoro2015'"),
        ("rabenoro2015", {"grid": "deciles"}, "grid must be one of 'levels', 'quantiles', 'coarse'"),
        ("rabenoro2015", {"challenge": True}, "rabenoro2015 took part in no challenge"),
        ("abellan2017", {"grid": "fine"}, "grid must be one of 'weka', 'imputed', 'observed', got 'fine'"),
        ("boulle2007", {"grid": "levels"}, "no variants"),
        ("boulle2007", {"challenge": True, "grid": "levels"}, "no variants"),
        ("gidofalvi", {"grid": "levels"}, "has no variants"),
        *(
            (paper, {"only": ("gina",)}, "has no data set 'gina'")
            for paper in ("abellan2017", "boulle2007", "gidofalvi")
        ),
        ("boulle2007", {"challenge": True, "only": ("gina",)}, "has no data set 'gina'; choose from 'ada'"),
        *((paper, {"smoothing": -1.0}, "smoothing") for paper in PAPERS),
        ("boulle2007", {"data": Path("nowhere")}, "nowhere"),
    ],
)
def test_options_without_meaning_are_refused(folder: Path, paper: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        make_study(paper, Options(**{"data": folder, **options}))


def test_half_a_cup_is_refused(folder: Path) -> None:
    (folder / "cup98LRN.txt").touch()
    study = make_study("gidofalvi", Options(data=folder, only=("cup98",), n_jobs=None))
    with pytest.raises((ValueError, FileNotFoundError), match=r"There is no file .*cup98VAL\.txt|cannot be read"):
        study.run()


@pytest.mark.parametrize("name", PAPERS)
def test_papers_are_known_by_the_names_of_their_studies(name: str) -> None:
    assert PAPERS[name].paper == name
