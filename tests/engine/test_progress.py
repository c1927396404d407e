"""Progress is told on the error stream, and only when asked for."""

from __future__ import annotations

import re
import sys
import time
from types import SimpleNamespace

import pytest

from bayesieve.engine import progress as module
from bayesieve.engine.progress import RowProgress, search_progress, stage
from tests.limits import Limits
from tests.waiting import printed_errors, wait_until


@pytest.mark.parametrize(
    ("seconds", "n_calls", "lines"),
    [(5.0, 1000, ""), (0.0, 1, "Searching: 3 of 10, best cost 12.38 nats, after 0:01:05\n")],
)
def test_lines_without_a_terminal_are_few_and_tell_the_time(
    capsys: pytest.CaptureFixture[str], limits: Limits, seconds: float, n_calls: int, lines: str
) -> None:
    limits(seconds_between_lines=seconds)
    with search_progress("Searching", 0) as progress:
        assert progress is None
    with search_progress("Searching", 1) as progress:
        assert progress is not None
        if lines:
            progress._began -= 65.0  # type: ignore[attr-defined]
        for _ in range(n_calls):
            progress(3, 10, 12.375001)
    assert capsys.readouterr() == ("", lines)


def test_a_bar_on_a_terminal_ends_with_the_search(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with search_progress("Searching", 1) as progress:
        assert progress is not None
        progress(1, 10, 3.0)
        assert progress._bar.live.is_started
    assert not progress._bar.live.is_started
    assert capsys.readouterr().out == ""


def test_a_long_stage_shows_a_clock(capsys: pytest.CaptureFixture[str], limits: Limits) -> None:
    limits(seconds_between_lines=0.02)
    with stage("Fitting", 1):
        lines = printed_errors(capsys)
    assert re.fullmatch(r"(Fitting: 0:00:0\d\n)+", lines)
    with stage("Fitting", 0):
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


def test_a_stage_changes_its_title(capsys: pytest.CaptureFixture[str], limits: Limits) -> None:
    limits(seconds_between_lines=0.02)
    with stage("Looking", 1) as rename:
        rename("Copying: 10 rows")
        assert printed_errors(capsys).startswith("Copying: 10 rows: 0:00:0")


def test_a_stage_is_silent_while_a_search_shows_its_progress(
    capsys: pytest.CaptureFixture[str], limits: Limits
) -> None:
    limits(seconds_between_lines=0.02)
    with stage("Fitting", 1):
        with search_progress("Searching", 1) as progress:
            assert progress is not None
            progress(1, 2, 1.0)
            capsys.readouterr()  # the clock may have shown before
            time.sleep(0.1)
            assert capsys.readouterr().err == ""
        assert printed_errors(capsys).startswith("Fitting: 0:00:0")


def test_a_stage_ends_with_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, limits: Limits
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    limits(seconds_without_a_bar=0.01)

    def interrupted() -> None:
        with stage("Fitting", 1):
            time.sleep(0.05)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not module._clocks
    assert capsys.readouterr().out == ""


def test_rows_and_the_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, limits: Limits
) -> None:
    limits(seconds_between_lines=0.0)
    now = [0.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    with RowProgress("Predicting", 1_000, 8_000_000, 1) as rows:
        now[0] = 30.0
        rows(500)
    assert capsys.readouterr().err == "Predicting: 500 of 1,000 rows, 4 of 8 MB, 30 s left, after 0:00:30\n"


class Kernel:
    """A shell of IPython, with or without the kernel of a notebook, and what its displays show."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, is_notebook: bool = True) -> None:
        self.execution_count, self.displays = 1, []  # type: ignore[var-annotated]
        if is_notebook:
            self.kernel = object()
        modules = SimpleNamespace(get_ipython=lambda: self), SimpleNamespace(display=self.display)
        monkeypatch.setitem(sys.modules, "IPython", modules[0])
        monkeypatch.setitem(sys.modules, "IPython.display", modules[1])
        monkeypatch.setattr(module, "_line_of_cell", (0, None))

    def display(self, content: dict[str, str], *, raw: bool, display_id: bool) -> Kernel:
        assert raw
        assert display_id
        self.displays.append([])
        return self

    def update(self, content: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.displays[-1].append(content["text/plain"])


def test_a_cell_of_a_notebook_shows_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, limits: Limits
) -> None:
    limits(seconds_between_updates=0.01)
    kernel = Kernel(monkeypatch)
    for kernel.execution_count in (1, 2):
        with stage("Fitting", 1):
            with search_progress("Searching", 1) as progress:
                assert progress is not None
                for done in (1, 2):
                    time.sleep(0.02)
                    progress(done, 2, 1.0)
            wait_until(lambda: kernel.displays[-1][-1].startswith("Fitting: 0:00:0"))
    assert len(kernel.displays) == 2
    for lines in kernel.displays:
        assert "Searching: 2 of 2, best cost 1.00 nats" in lines
        assert "Fitting: 0:00:0" in lines[-1]
    assert capsys.readouterr() == ("", "")


def test_ipython_without_a_notebook_writes_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, limits: Limits
) -> None:
    kernel = Kernel(monkeypatch, is_notebook=False)
    limits(seconds_between_lines=0.0)
    with search_progress("Searching", 1) as progress:
        assert progress is not None
        progress(3, 10, 1.0)
    assert capsys.readouterr().err == "Searching: 3 of 10, best cost 1.00 nats\n"
    assert not kernel.displays
