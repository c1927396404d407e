"""Support for scikit-learn's callbacks (from version 1.9): stages of a fit and moves of a search are reported to
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bayesieve.engine.progress import Progress

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Empty replacement for scikit-learn's mixin, which older versions lack."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged: replacement for scikit-learn's decorator, which older versions lack."""
        return method


__all__ = ["CallbackSupportMixin", "FitTask", "fit_task", "with_callbacks"]


class FitTask:
    """Task of a fit that is reported to callbacks. It does nothing if there are no callbacks.

    Parameters
    ----------
    estimator : estimator that is fitted; from scikit-learn 1.9 on, a `CallbackSupportMixin`.
    context : callback context of scikit-learn, or None.
    """

    def __init__(self, estimator: Any, context: Any) -> None:
        self._estimator, self._context = estimator, context

    @contextmanager
    def subtask(self, name: str, n_subtasks: int | None = 0) -> Iterator[FitTask]:
        """Report the beginning and the end of a subtask to callbacks, and yield it; ``n_subtasks`` is None if
        unknown.
        """
        if self._context is None:
            yield self
            return
        context = self._context.subcontext(task_name=name, max_subtasks=n_subtasks)
        context.call_on_fit_task_begin(estimator=self._estimator)
        yield FitTask(self._estimator, context)
        context.call_on_fit_task_end(estimator=self._estimator)

    def with_moves(self, progress: Progress | None) -> Progress | None:
        """Wrap a progress function so that each move of a search is also reported to callbacks.

        The returned function returns True, which ends the search, if ``progress`` or a callback requests it.
        """
        if self._context is None:
            return progress

        def show_and_tell(done: int, total: int, best: float) -> bool:
            """Show the progress and report a move to callbacks; return whether the search must end."""
            ends = progress is not None and bool(progress(done, total, best))
            move = self._context.subcontext(task_name="move")
            move.call_on_fit_task_begin(estimator=self._estimator)
            return bool(move.call_on_fit_task_end(estimator=self._estimator)) or ends

        return show_and_tell


_WITHOUT_CALLBACKS = FitTask(None, None)


@contextmanager
def fit_task(estimator: Any, n_subtasks: int | None = None) -> Iterator[FitTask]:
    """Report the beginning and end of a fit to the callbacks of an estimator, and yield the fit as a task.

    The method that calls it must have the decorator `with_callbacks`. ``n_subtasks`` is the number of steps of the fit,
    None if unknown.
    """
    if not getattr(estimator, "_skl_callbacks", None):  # none were set, or scikit-learn knows no callbacks yet
        yield _WITHOUT_CALLBACKS
        return
    context = estimator._init_callback_context(max_subtasks=n_subtasks)
    context.call_on_fit_task_begin(estimator=estimator)
    yield FitTask(estimator, context)
    context.call_on_fit_task_end(estimator=estimator)
