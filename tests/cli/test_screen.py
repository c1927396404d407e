"""Tables for terminals and plain lines, and texts that people can read whatever the data holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bayesieve import load
from bayesieve.cli.commands import Heading, Screen, table_of
from bayesieve.cli.files import open_source
from tests.cli.conftest import GERMAN, Run

COLUMNS = (Heading("name"), Heading("n", number=True), Heading("", bar=True))
ROWS = [["short", "1.25", 1.25], ["色 of a rather long name that goes on", "-10.5", -10.5], ["", "", None]]


def drawn(room: int) -> list[str]:
    from rich.console import Console

    console = Console(width=room, force_terminal=True, color_system=None)
    with console.capture() as capture:
        console.print(table_of(COLUMNS, ROWS, (), room))
    return capture.get().splitlines()


def test_plain_lines_cut_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().table(COLUMNS, ROWS)
    assert capsys.readouterr().out.splitlines() == [
        "name                                       n",
        "short                                   1.25",
        "色 of a rather long name that goes on  -10.5",
        "",
    ]


@pytest.mark.parametrize("room", [20, 24, 30, 45, 60])
def test_tables_fit_their_room_and_keep_numbers_whole(room: int) -> None:
    from rich.cells import cell_len

    lines = drawn(room)
    assert all(cell_len(line.rstrip()) <= room for line in lines)
    assert "-10.5" in lines[3]
    assert "1.25" in lines[2]
    bars = [line.rstrip().partition("█")[1:] for line in lines[2:4]]
    assert bars == ([("█", "▍"), ("█", "█" * 11)] if room > 30 else [("", "")] * 2)


def test_colours_on_a_terminal_unless_unwanted(succeeds: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    coloured = succeeds("explain", model, GERMAN, "--rows", "0").stdout
    assert "\x1b[32m" in coloured
    assert "█" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search("\x1b\\[[0-9;]*3[0-9]m", succeeds("explain", model, GERMAN, "--rows", "0").stdout)


def test_markup_in_names_is_text(succeeds: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import polars as pl

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    pl.DataFrame({"[red]a[/red]": [1.0, 2.0] * 30, "[/]": ["[b]", "[/b]"] * 30}).write_csv("markup.csv")
    text = succeeds("fit", "markup.csv", "-t", "[/]", "--no-report").stdout
    assert "[red]a[/red]" in text
    assert "[/b] 50.0 %" in text


@pytest.mark.parametrize("has_model", [False, True])
def test_copies_to_parquet_show_their_rows(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, has_model: bool
) -> None:
    shown: list[str] = []

    @contextmanager
    def working(self: Screen, text: str) -> Iterator[Callable[[str], None]]:
        shown.append(text)
        yield shown.append

    monkeypatch.setattr(Screen, "working", working)
    path = tmp_path / "rows.csv"
    path.write_text("age,paid\n" + "31,no\n54,yes\n" * 50)
    screen = Screen()
    open_source(path, screen, *([load(model)] if has_model else []))
    assert shown[0] == f"Looking at {path} ..."
    assert shown[1].startswith(f"Copying {path} to Parquet: 100 rows, 0 MB")
