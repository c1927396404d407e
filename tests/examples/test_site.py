"""What the site is made of: scripts of the gallery, the list of public names, and links between pages."""

from __future__ import annotations

import importlib.util
import re
import runpy
from pathlib import Path
from types import ModuleType

import pytest

import bayesieve
from bayesieve.report import Figure
from tests.examples.pages import ROOT

GALLERY = ROOT / "examples" / "gallery"


@pytest.fixture(scope="module")
def repository() -> ModuleType:
    """The module of the site that rewrites links."""
    spec = importlib.util.spec_from_file_location("repository", ROOT / "docs" / "site" / "repository.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow  # `make docs` runs the scripts, too
@pytest.mark.parametrize("script", sorted(GALLERY.glob("plot_*.py")), ids=lambda script: script.stem)
def test_scripts_of_the_gallery(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GALLERY)
    figure = runpy.run_path(str(script))["figure"]
    assert isinstance(figure, Figure)
    assert figure.chart
    assert "<svg" in figure.to_svg()


def test_reference_lists_the_public_names() -> None:
    text = (ROOT / "docs" / "reference.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^   (\w+)$", text[: text.index("currentmodule:: bayesieve_lab")], re.M)
    assert sorted(listed) == sorted(set(bayesieve.__all__) - {"__version__", "datasets"})


@pytest.mark.parametrize(
    ("text", "folder", "shown"),
    [
        ("[a](filters.md#mdlp)", "docs", "[a](/filters.md#mdlp)"),
        ("[a](docs/filters.md)", ".", "[a](/filters.md)"),
        ("[`a`](../src/bayesieve/parts.py)", "docs", "`a`"),
        ("[a](#here) [b](https://example.org/b.md)", "docs", "[a](#here) [b](https://example.org/b.md)"),
        ("```\n[a](../pyproject.toml)\n```\n`[a](b.md)`", "docs", "```\n[a](../pyproject.toml)\n```\n`[a](b.md)`"),
        ("[a](../reference.rst)", "docs/tutorials", "[a](/reference.rst)"),
        ("![a](report.png)", "docs", "![a](report.png)"),
        ("![a](b.svg) [c](../filters.md)", "docs/tutorials", "![a](b.svg) [c](/filters.md)"),
    ],
)
def test_links(repository: ModuleType, text: str, folder: str, shown: str) -> None:
    assert repository.site_links(text, folder, None) == shown


def test_links_to_a_repository_with_an_address(repository: ModuleType) -> None:
    shown = repository.site_links("[a](../pyproject.toml)", "docs", "https://example.org/blob/main")
    assert shown == "[a](https://example.org/blob/main/pyproject.toml)"
