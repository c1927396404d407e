"""Work in a process that was forked after polars started threads is refused with one sentence."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from bayesieve import SelectiveNB, TableEncoder, challenge, drift, evaluate, forking, scan
from bayesieve.table.reading import read_table

X, Y = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0] * 10}), ["no", "no", "yes", "yes"] * 10

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="only POSIX systems fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def message_in_child(call: Callable[[], object]) -> str:
    """Return the message of the RuntimeError that a call raises in a forked process; empty if it raises none."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        message = ""
        try:
            call()
        except RuntimeError as error:
            message = str(error)
        except BaseException as error:
            message = repr(error)
        os.write(writing, message.encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as said:
        message = said.read()
    os.waitpid(child, 0)
    return message


def test_fits_and_files_are_refused_after_a_fork(tmp_path: Path) -> None:
    X.write_csv(path := tmp_path / "rows.csv")
    model = SelectiveNB("map", pairs=0).fit(X, Y)
    X.lazy().group_by("a").len().collect()  # starts the threads of polars
    calls: list[Callable[[], object]] = [
        lambda: SelectiveNB("map").fit(X, Y),
        lambda: TableEncoder().fit(X.to_numpy(), Y),
        lambda: model.predict_proba(path),
        lambda: model.with_predictions(X.lazy()),
        lambda: read_table(path),
        lambda: scan(path),
        lambda: model.with_predictions(X),
        lambda: drift(model, X),
        lambda: evaluate(model, X, Y),
        lambda: challenge(model, model, X, Y),
        lambda: model.summary(),
        lambda: model.report(tmp_path / "report.html", X, Y),
    ]
    for call in calls:
        assert message_in_child(call).startswith("This process was forked after polars had started threads")
    assert message_in_child(lambda: (model.predict_proba(X), model.predict_proba({"a": 2.5}))) == ""


def test_a_fork_before_the_first_use_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forking, "_polars_threads_run", lambda: False)
    assert message_in_child(forking.refuse_fork) == ""
