"""What selectors and criteria say about themselves, and the tables of the documentation that repeat it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bayesieve.cli.fit import SELECTOR_TITLES
from bayesieve.criteria import CRITERIA
from bayesieve.selection import SELECTORS, CodedSelector

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("selector", SELECTORS.own.values(), ids=SELECTORS.own)
def test_selectors_describe_themselves(selector: type[CodedSelector]) -> None:
    own = vars(selector)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", own["name"])
    assert own["title"]
    assert not own["title"].endswith(".")
    assert own["sentence"][0].isupper()
    assert own["sentence"].endswith(".")
    assert set(selector.unsaved_options) <= set(selector().get_params())


def test_scores_and_criteria_have_different_names() -> None:
    names = [score.name for selector in SELECTORS.own.values() for score in selector.scores]
    assert len({*names, *CRITERIA.own}) == len(names) + len(CRITERIA.own)


def test_the_documentation_lists_every_selector() -> None:
    page = (DOCS / "selective-naive-bayes.md").read_text(encoding="utf-8")
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
