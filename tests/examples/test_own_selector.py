"""The page on filters of one's own: its code runs as printed, and other packages can register such a filter."""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats.contingency import association
from sklearn.datasets import load_iris

import bayesieve
from bayesieve import SelectiveNB, WrapperSelector
from bayesieve.criteria import CRITERIA
from bayesieve.report.search import Measure
from bayesieve.selection import SELECTORS, FilterSelector
from tests.cli.conftest import app_of_now, invoke
from tests.examples.pages import ROOT, blocks, install, names_of

GERMAN = ROOT / "examples" / "data" / "german_credit.csv"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages, looked through again by both registries."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    modules = set(sys.modules)
    for registry in (SELECTORS, CRITERIA):
        monkeypatch.delitem(vars(registry), "_installed", raising=False)
    yield tmp_path / "site"
    for registry in (SELECTORS, CRITERIA):
        vars(registry).pop("_installed", None)
    for module in set(sys.modules) - modules:
        if module.startswith("other_"):
            del sys.modules[module]


@pytest.fixture
def registered(site: Path) -> Path:
    sources = {"other_filters": blocks("own-selector.md")[0], "other_criteria": blocks("own-criterion.md")[0]}
    install(
        site,
        sources,
        "[bayesieve.selectors]\ncramers-v = other_filters:CramersVSelector\n"
        "[bayesieve.criteria]\nranked_probability = other_criteria:RankedProbability\n",
    )
    return site


def test_the_statistic_of_the_page() -> None:
    names = names_of("own-selector.md")
    table = np.array([[5.0, 1.0, 2.0], [0.0, 0.0, 0.0], [1.0, 7.0, 2.0]])
    assert names["cramers_v"](table) == pytest.approx(association(table[[0, 2]].astype(int), method="cramer"))


def test_reports_describe_what_is_not_registered(tmp_path: Path) -> None:
    names: dict[str, Any] = {"__name__": "notebook"}
    exec("\n".join([blocks("own-selector.md")[0], blocks("own-criterion.md")[0]]), names)
    names["RankedProbability"].title = "ranked probability score"
    model = SelectiveNB(names["CramersVSelector"](threshold=0.7)).fit(*load_iris(return_X_y=True))
    model.report(tmp_path / "report.html")
    page = html.unescape((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "4 features ranked by Cramér's V" in page
    assert "each on its own (Cramér 1946)" in page
    assert Measure("ranked_probability").heading == "Ranked probability score"

    class Unnamed(names["CramersVSelector"]):  # type: ignore[misc]
        scores = FilterSelector.scores

    model = SelectiveNB(Unnamed()).fit(*load_iris(return_X_y=True))
    model.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "4 features ranked by score" in page
    assert "A selector of your own" in page


def test_a_registered_filter_is_found_by_name(registered: Path, tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = SelectiveNB("cramers-v").fit(X, y)
    assert type(model.selector_).__name__ == "CramersVSelector"
    assert Measure("cramers_v").heading == "Cramér's V"
    model.report(tmp_path / "report.html")
    page = html.unescape((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "Features were selected by Cramér's V, each on its own" in page
    assert "ranked by Cramér's V" in page
    with pytest.raises(ValueError, match=r"'cfs', 'cramers-v' or a selector object"):
        SelectiveNB("cramers").fit(X, y)


@pytest.mark.parametrize("threshold", [None, 0.7])
def test_models_of_a_registered_filter_are_saved(registered: Path, tmp_path: Path, threshold: float | None) -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    selector = "cramers-v" if threshold is None else SELECTORS["cramers-v"](threshold=threshold)
    model = SelectiveNB(selector).fit(X, y)
    model.save(tmp_path / "model.json")
    again = bayesieve.load(tmp_path / "model.json")
    assert again.selector == (selector if threshold is None else "CramersVSelector(threshold=0.7)")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    vars(SELECTORS)["_installed"] = {}  # undone by the fixture, in contrast to a patch, which would bring it back
    alone = bayesieve.load(tmp_path / "model.json")  # predictions need no other package
    np.testing.assert_array_equal(alone.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match=r"selector must be|keeps its selector as text"):
        alone.fit(X, y)


def test_a_registered_criterion_is_found_by_name_and_saved(registered: Path, tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    named = WrapperSelector("ranked_probability", direction="forward", evaluation="train").fit(X, y)
    assert named.trace_.criterion_name == "ranked_probability"
    given = WrapperSelector(CRITERIA["ranked_probability"](), direction="forward", evaluation="train")
    model = SelectiveNB(given).fit(X, y)
    model.save(tmp_path / "model.json")
    selector = bayesieve.load(tmp_path / "model.json").selector
    assert selector.startswith("WrapperSelector(criterion=")
    with pytest.raises(ValueError, match="'map', 'ranked_probability', 'recall:CLASS'"):
        WrapperSelector("ranked").fit(X, y)


@pytest.mark.parametrize(
    ("source", "entry_point", "reason"),
    [
        ("import missing_module", "broken = other_broken:Selector", "No module named 'missing_module'"),
        ("import sys\nsys.exit('no licence')", "broken = other_broken:Selector", "no licence"),
        ("class Selector: pass", "broken = other_broken:Selector", "not a subclass of CodedSelector"),
        ("from bayesieve import MAPSelector", "broken = other_broken:MAPSelector", "has the name 'map'"),
        ("from bayesieve import MAPSelector", "map = other_broken:MAPSelector", "this name is taken"),
        ("", "broken = other_broken:", ""),
    ],
)
def test_a_broken_package_is_left_out(site: Path, source: str, entry_point: str, reason: str) -> None:
    install(site, {"other_broken": source}, f"[bayesieve.selectors]\n{entry_point}\n")
    assert SELECTORS["map"] is bayesieve.MAPSelector  # its own names are found without a look at others
    assert "_installed" not in vars(SELECTORS)
    with pytest.warns(UserWarning, match=rf"^The entry point .* of other-package .* was skipped: .*{reason}.*\.$"):
        assert list(SELECTORS) == list(SELECTORS.own)
    assert "genetic" not in SELECTORS  # without a second warning


def test_the_command_line_finds_it(registered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    run = partial(invoke, app=app_of_now())
    help_text = run("fit", "--help")
    assert "cfs (filter by correlations); cramers-v" in " ".join(help_text.stdout.replace("│", " ").split())
    done = run("fit", GERMAN, "--target", "class", "--selector", "cramers-v", "--folds", 0, "--output", "out")
    assert done.exit_code == 0, done.stderr
    assert re.search(r"selector 'cramers-v', 20 features ranked", done.stdout)
    assert "Cramér 1946" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "selector 'cramers-v'" in run("info", tmp_path / "out" / "model.json").stdout
