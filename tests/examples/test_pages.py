"""The examples, the README and the pages run as they are printed, and print what they show."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cases import mostly_slow
from tests.cli.conftest import invoke, plain_surroundings  # noqa: F401
from tests.examples.pages import ROOT, blocks, names_of, shown

SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


@pytest.fixture(autouse=True)
def data(tmp_path: Path, plain_surroundings: None) -> None:  # noqa: F811
    shutil.copytree(ROOT / "examples", tmp_path / "examples")


@pytest.mark.parametrize(
    "script", mostly_slow(SCRIPTS, [ROOT / "examples" / "levels.py"]), ids=lambda script: script.name
)
def test_example(script: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [str(script)])
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out.strip()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "n_shown"),
    [
        ("as-published.md", 1),
        ("options.md", 1),
        ("filters.md", 6),
        ("working-on-a-model.md", 8),
        ("clusters.md", 3),
        ("levels-by-hand.md", 4),
        ("own-selector.md", 2),
        ("own-dependence.md", 4),
        ("reasons.md", 14),
        ("model-file.md", 8),
        ("update-and-merge.md", 6),
        ("watching-a-model.md", 15),
        ("deployment.md", 8),
        ("report.md", 6),
        ("the-model.md", 6),
        ("tutorials/credit.md", 29),
        ("tutorials/card.md", 21),
        ("tutorials/campaign.md", 14),
        ("tutorials/engines.md", 16),
        ("tutorials/medicine.md", 24),
    ],
)
def test_pages_print_what_they_show(page: str, n_shown: int, capsys: pytest.CaptureFixture[str]) -> None:
    names_of(page)
    assert capsys.readouterr().out.splitlines() == shown(page)
    assert len(shown(page)) == n_shown


@pytest.mark.slow
@pytest.mark.parametrize(("page", "written"), [("README.md", "report.html"), ("wrapper-search.md", "path.html")])
def test_pages_write_files(page: str, written: str) -> None:
    names_of(page)
    assert Path(written).stat().st_size > 0


def test_decisions(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec("\n".join(blocks("decisions.md")[:2]), names)
    assert capsys.readouterr().out.splitlines() == shown("decisions.md")
    assert names["earned"] > 0 > names["curve"].profit[-1]
    assert names["recalibrated"].predict_proba(names["test"].drop("class")).shape == (400, 2)
