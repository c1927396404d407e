"""scikit-learn's callbacks (from its version 1.9 on) for searches: every move is a task of the fit."""

from __future__ import annotations

from typing import Any

from bayesieve.engine.progress import Progress

__all__ = ["CallbackSupportMixin", "SearchTasks", "with_callbacks"]


try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for the mixin of later versions."""

    def with_callbacks(method: Any) -> Any:
        return method


class SearchTasks:
    """Reports the moves of a search to the callbacks of an estimator.

    Use between ``begin`` and ``end``; ``move`` is called after every move and returns whether a callback asks to stop.
    """

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        begin = getattr(estimator, "_init_callback_context", None)
        self._context: Any = begin(max_subtasks=None) if begin is not None else None

    def begin(self) -> None:
        if self._context is not None:
            self._context.call_on_fit_task_begin(estimator=self._estimator)

    def move(self) -> bool:
        if self._context is None:
            return False
        task = self._context.subcontext(task_name="move")
        task.call_on_fit_task_begin(estimator=self._estimator)
        return bool(task.call_on_fit_task_end(estimator=self._estimator))

    def end(self) -> None:
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)

    def after(self, progress: Progress | None) -> Progress:
        """A progress function that shows ``progress`` and then asks the callbacks."""

        def show_and_ask(done: int, total: int, best: float) -> bool:
            if progress is not None:
                progress(done, total, best)
            return self.move()

        return show_and_ask
