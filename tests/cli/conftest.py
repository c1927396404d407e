"""The command line run in this process, small tables, and a model of German credit."""

from __future__ import annotations

import importlib.util
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from bayesieve.cli.app import app

GERMAN = Path(__file__).parents[2] / "examples" / "data" / "german_credit.csv"
Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def plain_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No terminal, no colours, and a working folder of its own, whatever runs the tests."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR", "COLUMNS", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def invoke(*arguments: object, app: Any = app, charset: str = "utf-8") -> Any:
    """Run a command; no exception but SystemExit may leave it."""
    words = [str(argument) for argument in arguments]
    result = CliRunner(charset=charset).invoke(app, words, prog_name="bayesieve")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def app_of_now() -> Any:
    """The command line as a new process makes it, of the packages that are installed now."""
    found = importlib.util.find_spec("bayesieve.cli.app")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module.app


@pytest.fixture
def run() -> Run:
    return invoke


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Let SIGINT interrupt this process and its children, which processes in the background ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def succeeds() -> Run:
    """Run a command that must end well."""

    def run_well(*arguments: object) -> Any:
        result = invoke(*arguments)
        assert result.exit_code == 0, result.stderr
        return result

    return run_well


@pytest.fixture
def fails() -> Run:
    """Run a command that must fail with one line, on the error stream only; returns the line."""

    def run_badly(*arguments: object, status: int = 2) -> str:
        result = invoke(*arguments)
        assert result.exit_code == status, (result.exit_code, result.stdout, result.stderr)
        assert result.stdout == ""
        assert result.stderr.startswith("error: "), result.stderr
        assert result.stderr.count("\n") == 1, result.stderr
        assert "Traceback" not in result.stderr
        return result.stderr.strip()

    return run_badly


@pytest.fixture(scope="session")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `fit` writes for German credit, and what it prints in `printed.txt`."""
    folder = tmp_path_factory.mktemp("german")
    result = invoke("fit", GERMAN, "--target", "class", "--output", folder, "--folds", 3)
    assert result.exit_code == 0, result.stderr
    (folder / "printed.txt").write_text(result.stdout, encoding="utf-8")
    return folder


@pytest.fixture
def model(fitted: Path, tmp_path: Path) -> Path:
    """A copy of the model, to do anything to."""
    return Path(shutil.copy(fitted / "model.json", tmp_path / "model.json"))


@pytest.fixture
def german() -> pl.DataFrame:
    return pl.read_csv(GERMAN)


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A table of 200 rows: features of all sorts, missing values, weights, two classes."""
    n = 200
    frame = pl.DataFrame(
        {
            "größe": [None if i % 17 == 0 else (i * 37 % 101) / 10 + 4 * (i % 2) for i in range(n)],
            "farbe 色": [None if i % 19 == 0 else ("rot", "blau")[(i + i // 7 % 2) % 2] for i in range(n)],
            "noise": [i * 7919 % 13 for i in range(n)],
            "id": list(range(n)),
            "weight": [1 + i % 3 for i in range(n)],
            "ziel": [("nein", "да")[i % 2] for i in range(n)],
        }
    )
    path = tmp_path / "toy.csv"
    frame.write_csv(path)
    return path
