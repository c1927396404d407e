"""Progress is told on the error stream, and only when asked for."""

from __future__ import annotations

import sys

import pytest

from bayesieve.engine import progress as module
from bayesieve.engine.progress import SearchProgress


def test_silent_unless_asked() -> None:
    with SearchProgress("Searching", 0) as progress:
        assert progress is None


def test_plain_lines_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SECONDS_BETWEEN_LINES", 0.0)
    with SearchProgress("Searching", 1) as progress:
        assert progress is not None
        progress(3, 10, 12.375001)
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "Searching: 3 of 10, best cost 12.38 nats\n"


def test_few_lines_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    with SearchProgress("Searching", 1) as progress:
        assert progress is not None
        for done in range(1000):
            progress(done, 1000, 1.0)
    assert capsys.readouterr() == ("", "")


def test_a_bar_on_a_terminal_ends_with_the_search(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    progress = SearchProgress("Searching", 1)
    with progress as tell:
        assert tell is not None
        tell(1, 10, 3.0)
        assert progress._bar.live.is_started
    assert not progress._bar.live.is_started
    assert capsys.readouterr().out == ""
