"""What every selector of the registry promises, and says of itself; formulas and searches are tested one by one."""

from __future__ import annotations

import pickle
import re
from functools import cache
from itertools import cycle, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import StratifiedKFold

from bayesieve import SelectiveNB, TableEncoder, load
from bayesieve.cli.app import SELECTOR_TITLES
from bayesieve.criteria import CRITERIA, ExpectedCost
from bayesieve.engine.progress import SearchProgress
from bayesieve.selection import SELECTORS, CodedSelector, make_selector
from tests.cases import mostly_slow
from tests.limits import Limits, interrupted

DOCS = Path(__file__).parents[2] / "docs"

RNG = np.random.default_rng(7)
N = 200
Y = np.where(RNG.integers(0, 2, N), "yes", "no")
FRAME = pl.DataFrame(
    {
        "number": (Y == "yes") + RNG.normal(scale=0.5, size=N),
        "noise": RNG.normal(size=N),
        "text": [None if RNG.random() < 0.1 else f"t{(c + (RNG.random() < 0.25)) % 3}" for c in Y == "yes"],
        "whole": (Y == "yes") + RNG.integers(0, 3, N),
        "same": ["constant"] * N,
        "twin": np.zeros(N),
    }
).with_columns(twin=pl.col("number"))

ALL_ROWS = {
    "wrapper": {"evaluation": "train"},
    "clusters": {"evaluation": "train"},
    "mrmr": {"n_features_to_select": 2},
}
"""Options by which no rows are held out, for those selectors that do so unless asked otherwise."""
NAN, INF = float("nan"), float("inf")
REFUSED: dict[str, tuple[Any, ...]] = {
    "smoothing": (0, -1.0, "laplace"),
    "encoder": ("mdl", 3),
    "max_seconds": (-1, "1", NAN, True),
    "random_state": ("x", -1, 2**32),
    "verbose": (-1, None),
    "validation_size": (0, 1.0, NAN),
    "recode": ("yes", 1),
    "n_features_to_select": (0, 1.5, True, "half"),
    "n_starts": (0, 2.5, True),
    "max_iter": (0, None),
    "exhaustive": ("yes", 1),
    "constant_columns": ("yes", 1),
    "until_decay": ("yes", 1),
    "replacement": ("yes", 1),
    "count": ("all",),
    "direction": ("sideways",),
    "tol": (-1, NAN),
    "resume": (3,),
    "search": ("beam", 7),
    "n_rounds": (0, 1.5, True),
    "n_cuts": (0,),
    "n_combinations": (0, None),
    "q": (0, "half", 1.5, NAN),
    "linkage": ("ward",),
    "diagonal": (1,),
    "refit": ("no",),
    "threshold": ("much", NAN, INF),
    "alpha": (1.5, -0.1),
    "s": (0, INF),
    "level_probabilities": ("even",),
    "form": ("ratio",),
    "locally_predictive": (1, [1, 2]),
    "independent_as_redundant": (0,),
}
"""Values that no selector takes for its option of this name."""
ELSEWHERE = {"n_jobs", "criterion", "scoring", "evaluation", "validation", "dependence", "constraints"}
"""Options of which the values are tested where they are read."""

each = pytest.mark.parametrize("name", SELECTORS.own)


def made(name: str, **options: Any) -> CodedSelector:
    return SELECTORS[name](**options)


@cache
def fitted(name: str) -> CodedSelector:
    return made(name).fit(FRAME, Y)


@each
def test_what_a_fit_sets(name: str) -> None:
    selector = fitted(name)
    assert isinstance(selector, SelectorMixin)
    assert selector.weights_.shape == (6,)
    assert np.all((selector.weights_ >= 0) & (selector.weights_ <= 1))
    np.testing.assert_array_equal(selector.support_, selector.weights_ > 0)
    np.testing.assert_array_equal(selector.get_support(indices=True), np.flatnonzero(selector.weights_))
    assert selector.n_features_selected_ == np.count_nonzero(selector.weights_)
    assert selector.support_.any()
    assert selector.weights_[[1, 4]].tolist() == [0.0, 0.0]  # one level each
    assert selector.trace_.names == tuple(FRAME.columns)
    assert selector.n_features_in_ == 6
    assert selector.feature_names_in_.tolist() == FRAME.columns
    kept = selector.get_feature_names_out().tolist()
    assert kept == [column for column, on in zip(FRAME.columns, selector.support_, strict=True) if on]
    assert selector.transform(FRAME).equals(FRAME.select(kept))
    assert selector.transform(FRAME.to_pandas()).columns.tolist() == kept


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, ALL_ROWS.get(name, {})) for name in SELECTORS.own),
        ("mrmr", {"n_features_to_select": 3, "form": "quotient"}),
        ("cfs", {"search": "backward", "locally_predictive": True}),
        ("wrapper", {"criterion": "auc", "direction": "forward", "evaluation": "train"}),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_integer_weights_equal_repeated_rows(name: str, options: dict[str, Any], n_classes: int) -> None:
    y = np.where(np.arange(N) % 7 == 0, "perhaps", Y) if n_classes == 3 else Y
    times = np.random.default_rng(1).integers(0, 4, N)
    rows = np.repeat(np.arange(N), times)
    selector = made(name, **options)
    weighted = clone(selector).fit(FRAME, y, sample_weight=times)
    repeated = clone(selector).fit(FRAME[rows], y[rows])
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, atol=1e-10)
    assert weighted.trace_.best_criterion == pytest.approx(repeated.trace_.best_criterion, rel=1e-10)
    if "exhaustive" in selector.get_params():  # weighted rows are walked in another order
        return
    found, expected = (s.trace_.to_frame() for s in (weighted, repeated))
    assert found["feature"].to_list() == expected["feature"].to_list()
    assert weighted.trace_.ended == repeated.trace_.ended
    np.testing.assert_allclose(found["criterion"], expected["criterion"], rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("name", [name for name in SELECTORS.own if name not in ("map", "clusters")])  # drawn by chance
def test_of_copies_the_first_wins(name: str) -> None:
    weights = made(name, **ALL_ROWS.get(name, {})).fit(FRAME.select("twin", "number", "whole"), Y).weights_
    assert weights[0] > 0
    assert weights[0] >= weights[1] - 1e-9


@each
def test_fits_are_repeated_and_copied(name: str) -> None:
    selector = fitted(name)
    copies = (
        pickle.loads(pickle.dumps(selector)),
        clone(selector).fit(FRAME, Y),
        make_selector(selector).fit(FRAME, Y),
    )
    for again in copies:
        np.testing.assert_array_equal(again.weights_, selector.weights_)
        assert again.trace_.to_frame().drop("seconds").equals(selector.trace_.to_frame().drop("seconds"))
        assert again.get_params() == selector.get_params()
    with pytest.raises(NotFittedError):
        clone(selector).transform(FRAME)


@each
def test_a_target_with_classes_is_needed(name: str) -> None:
    for encoder in ("modl", None):
        X = FRAME if encoder else np.zeros((N, 1), dtype=int)
        with pytest.raises(ValueError, match="requires y to be passed"):
            made(name, encoder=encoder).fit(X)
        with pytest.raises(ValueError, match=r"needs at least 2 classes .* got 1 class only \('same'\)"):
            made(name, encoder=encoder).fit(X, ["same"] * N)


@each
def test_codes_without_an_encoder(name: str) -> None:
    frame = FRAME.drop("same", "noise")
    selector = made(name)
    if "recode" in selector.get_params():
        selector.set_params(recode=False)  # there is nothing to learn levels from again
    codes = TableEncoder().fit_transform(frame, Y)
    coded = clone(selector).set_params(encoder=None).fit(codes, Y)
    assert coded.encoder_ is None
    np.testing.assert_array_equal(coded.weights_, selector.fit(frame, Y).weights_)
    np.testing.assert_array_equal(coded.transform(codes), codes[:, coded.support_])
    with pytest.raises(ValueError, match="features"):
        coded.transform(codes[:, :1])


@each
def test_options_take_no_other_values(name: str) -> None:
    options = set(made(name).get_params(deep=False)) - ELSEWHERE
    assert options <= set(REFUSED)
    for option in options:
        for value in (*REFUSED[option], object()):
            with pytest.raises(ValueError, match=rf"^{option} must [^\n]*, got "):
                made(name, **{option: value}).fit(FRAME, Y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", [n for n, kind in SELECTORS.own.items() if "max_seconds" in kind().get_params()])
def test_the_end_of_the_time_asked_for_is_no_warning(name: str) -> None:
    selector = made(name, max_seconds=0)
    if "exhaustive" in selector.get_params():
        selector.set_params(exhaustive=False)
    selector.fit(FRAME, Y)
    assert not selector.trace_.complete
    assert selector.weights_.shape == (6,)


@pytest.mark.parametrize("name", [n for n, kind in SELECTORS.own.items() if "max_seconds" in kind().get_params()])
def test_ctrl_c_warns_and_keeps_the_best_so_far(name: str) -> None:
    selector = made(name, verbose=1)
    if "exhaustive" in selector.get_params():
        selector.set_params(exhaustive=False)
    whole = clone(selector).set_params(verbose=0).fit(FRAME, Y).trace_
    message = r"interrupted after \d+ models: \w+ keeps the best"
    with interrupted(SearchProgress, "__call__"), pytest.warns(UserWarning, match=message):
        selector.fit(FRAME, Y)
    assert not selector.trace_.complete
    assert selector.trace_.n_models <= whole.n_models
    assert np.all((selector.weights_ >= 0) & (selector.weights_ <= 1))
    best, best_of_all = selector.trace_.best_criterion, whole.best_criterion
    assert best >= best_of_all if whole.lower_is_better else best <= best_of_all


def test_progress_is_shown_if_asked_for(capfd: pytest.CaptureFixture[str], limits: Limits) -> None:
    limits(seconds_between_lines=0.0)
    made("wrapper", criterion="auc").fit(FRAME, Y)
    assert capfd.readouterr() == ("", "")
    made("wrapper", criterion="auc", verbose=1).fit(FRAME, Y)
    out, err = capfd.readouterr()
    assert out == ""
    assert "WrapperSelector: searching: " in err
    assert ", auc 0." in err


@pytest.mark.parametrize(
    "selector",
    [
        *SELECTORS.own,
        made("boosted", n_rounds=12, n_features_to_select=2),
        made("information-gain", alpha=0.1),
        made("imprecise-information-gain", s=2.0, level_probabilities="maximum-entropy"),
        made("wrapper", criterion="brier", direction="forward", evaluation=5, n_features_to_select=2, tol=0.001),
        made("wrapper", criterion=ExpectedCost([[0, 1], [2, 0]]), evaluation=StratifiedKFold(3)),
        made("clusters", constraints={"recall:yes": 0.5}, scoring="auc"),
    ],
    ids=str,
)
def test_the_classifier_its_file_and_its_explanations(selector: Any, tmp_path: Path) -> None:
    model = SelectiveNB(selector).fit(FRAME, Y)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(FRAME), model.predict_proba(FRAME))
    assert again.trace_.to_frame().equals(model.trace_.to_frame())
    assert str(again.selector).split() == str(model.selector).split()  # lines may be broken elsewhere
    assert (again.trace_.ended, again.trace_.measured) == (model.trace_.ended, model.trace_.measured)
    np.testing.assert_array_equal(again.feature_weights_, model.feature_weights_)
    assert model.score(FRAME, Y) > 0.75
    assert model.explain(FRAME[:3]).equals(again.explain(FRAME[:3]))
    model.report(tmp_path / "report.html")
    assert model.selector_.sentence.split("(")[0][:40] in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "engine"),
    mostly_slow(product(SELECTORS.own, ["disk", "file"]), zip(SELECTORS.own, cycle(["disk", "file"]), strict=False)),
)
def test_rows_elsewhere_give_the_same_weights(name: str, engine: str, tmp_path: Path) -> None:
    selector = made(name)
    if "recode" in selector.get_params():
        selector.set_params(recode=False)  # raw values are at hand in memory only
    here = SelectiveNB(selector).fit(FRAME, Y)
    if engine == "file":
        FRAME.with_columns(y=pl.Series(Y)).write_parquet(tmp_path / "rows.parquet")
        there = SelectiveNB(selector).fit(tmp_path / "rows.parquet", "y")
    else:
        there = SelectiveNB(selector, engine=engine).fit(FRAME, Y)
    np.testing.assert_allclose(there.selector_.weights_, here.selector_.weights_, rtol=1e-12)
    np.testing.assert_allclose(there.predict_proba(FRAME), here.predict_proba(FRAME), rtol=1e-9)


@pytest.mark.parametrize("selector", SELECTORS.own.values(), ids=SELECTORS.own)
def test_selectors_describe_themselves(selector: type[CodedSelector]) -> None:
    own = vars(selector)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", own["name"])
    assert own["title"]
    assert not own["title"].endswith(".")
    assert own["sentence"][0].isupper()
    assert own["sentence"].endswith(".")


def test_scores_and_criteria_have_different_names() -> None:
    names = [score.name for selector in SELECTORS.own.values() for score in selector.scores]
    assert len({*names, *CRITERIA.own}) == len(names) + len(CRITERIA.own)


def test_the_documentation_lists_every_selector() -> None:
    page = (DOCS / "formulas.md").read_text(encoding="utf-8")
    rows = re.findall(r'^\| `"(.+)"` \| `(.+)` \| (.+) \|$', page, re.M)
    assert rows == [(name, part.__name__, part.title) for name, part in SELECTORS.own.items()]


def test_the_documentation_lists_every_criterion() -> None:
    page = (DOCS / "wrapper-search.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r'^\| `"(.+)"` \|.* \| (lower|higher) \|$', page, re.M))
    named = {name: part for name, part in CRITERIA.own.items() if not part.needs_options}
    assert rows == {name: "lower" if part.lower_is_better else "higher" for name, part in named.items()}
    assert all(f"`{part.__name__}(" in page for part in CRITERIA.own.values() if part.needs_options)


def test_the_help_of_fit_shows_the_title_of_every_selector() -> None:
    assert {name: part.title for name, part in SELECTORS.own.items()} == SELECTOR_TITLES
