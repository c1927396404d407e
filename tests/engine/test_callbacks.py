"""The search ends if the progress display or a callback asks for it."""

from typing import Any

import pytest

from bayesieve.engine.callbacks import FitTask


class Context:
    """Context of a fit whose callbacks answer each move with ``stops``."""

    def __init__(self, stops: bool) -> None:
        self.stops, self.n_moves = stops, 0

    def subcontext(self, **_: Any) -> "Context":
        self.n_moves += 1
        return self

    def call_on_fit_task_begin(self, **_: Any) -> None:
        pass

    def call_on_fit_task_end(self, **_: Any) -> bool:
        return self.stops


@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("ends", [None, False, True])
def test_a_search_ends_if_its_display_or_a_callback_asks_for_it(ends: bool | None, stops: bool) -> None:
    context = Context(stops)
    wrapped = FitTask(None, context).with_moves(None if ends is None else lambda *_: ends)
    assert wrapped is not None
    assert wrapped(1, 2, 0.5) == (bool(ends) or stops)
    assert context.n_moves == 1
