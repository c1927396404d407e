"""The notebooks run from top to bottom, and what they show is seen without a network and without scripts."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest

from tests.examples.pages import ROOT

nbformat = pytest.importorskip("nbformat", reason="Notebooks need nbclient and ipykernel.")
nbclient = pytest.importorskip("nbclient", reason="Notebooks need nbclient and ipykernel.")
pytest.importorskip("ipykernel", reason="Notebooks need nbclient and ipykernel.")

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
kernel = pytest.mark.slow  # a server of its own runs each notebook
RICH = {"text/html", "image/svg+xml"}


def sources(notebook: Any) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def executed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A notebook after all its cells have run, in a kernel of this Python."""
    notebook = nbformat.read(request.param, as_version=4)
    folder = str(tmp_path_factory.mktemp("notebook"))
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    return client.execute()


def shown(notebook: Any) -> list[dict[str, str]]:
    """What the cells show, by kind of content."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return [output.data for output in outputs if output.output_type == "execute_result"]


def test_there_are_three() -> None:
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_are_kept_without_outputs(path: Path) -> None:
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert not [cell for cell in cells if cell.outputs or cell.execution_count]


@kernel
def test_they_print_nothing(executed: Any) -> None:
    outputs = [output for cell in executed.cells if cell.cell_type == "code" for output in cell.outputs]
    assert {output.output_type for output in outputs} == {"execute_result"}


@kernel
def test_every_object_is_shown_in_a_notebook(executed: Any) -> None:
    assert len(shown(executed)) >= 4
    for data in shown(executed):
        assert RICH & set(data), data["text/plain"]


@kernel
def test_nothing_is_fetched(executed: Any) -> None:
    """Pages within the notebook forbid every request."""
    for data in shown(executed):
        page = html.unescape(data["text/html"])
        assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)
        if "<iframe" in page:
            assert "default-src 'none'" in page


@kernel
def test_figures_are_seen_in_notebooks_that_are_not_trusted(executed: Any) -> None:
    """These take out frames, scripts and styles: a picture and the numbers are left."""
    figures = [data for data in shown(executed) if data["text/plain"].startswith("<Figure: ")]
    assert figures
    for data in figures:
        assert data["image/svg+xml"].startswith("<svg")
        left = re.sub(r"<(iframe|style).*?</\1>", "", data["text/html"], flags=re.DOTALL)
        assert re.findall('<img[^>]+src="data:image/svg', left)
        assert len(re.findall("<tr", left)) > 2
        assert not re.search("<script|style=", left)


@kernel
def test_a_fitted_model_shows_its_card(executed: Any) -> None:
    models = [data for data in shown(executed) if data["text/plain"].startswith("SelectiveNB(")]
    assert len(models) == sum(source.splitlines()[-1] == "model" for source in sources(executed))
    assert all("bayesieve-card" in data["text/html"] for data in models)
