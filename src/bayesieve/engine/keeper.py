"""What a worker of a cluster keeps: a value for each of its blocks of rows, and whatever is made of those."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add
from typing import Any

HOLD, MAKE, UPDATE = range(3)
"""Kinds of steps: hold the value of one more block, make values of those of a parent, change values."""


class Keeper:
    """Keeps values for blocks of rows in the memory of a worker, and changes them step by step.

    Values have a number and a log of steps. A step that was taken is not taken again, so that messages may be repeated.
    """

    def __init__(self, n_threads: int) -> None:
        self._pool = ThreadPoolExecutor(n_threads)
        self._values: dict[int, list[Any]] = {}
        self._n_steps: dict[int, int] = {}
        self._shared: dict[int, Any] = {}

    def run(self, message: bytes) -> bytes:
        """Take the steps of a message and answer its questions; an error is an answer, too."""
        try:
            forgotten, shared, logs, questions = pickle.loads(message)
            for number in forgotten:
                for by_number in (self._values, self._n_steps, self._shared):
                    by_number.pop(number, None)
            for number, packed in shared:
                self._shared[number] = self._load(packed)
            for number, parent, first, steps in logs:
                for at, step in enumerate(steps, first):
                    if at >= self._n_steps.get(number, 0):
                        self._take(number, parent, *self._load(step))
                        self._n_steps[number] = at + 1
            answers = [self._answer(number, is_total, *self._load(asked)) for number, is_total, asked in questions]
            return pickle.dumps((True, answers), protocol=5)
        except Exception as error:
            return _packed(error)

    def _answer(self, number: int, is_total: bool, function: Callable[..., Any], arguments: Any) -> list[Any]:
        values = self._each(number, function, arguments)
        return [reduce(add, values)] if is_total else values

    def _take(self, number: int, parent: int, kind: int, function: Callable[..., Any], arguments: Any) -> None:
        if kind == HOLD:
            self._values.setdefault(number, []).append(function(*arguments))
        elif kind == MAKE:
            self._values[number] = self._each(parent, function, arguments)
        else:
            self._each(number, function, arguments)

    def _each(self, number: int, function: Callable[..., Any], arguments: Any) -> list[Any]:
        values = self._values[number]
        if len(values) == 1:
            return [function(values[0], *arguments)]
        return list(self._pool.map(lambda value: function(value, *arguments), values))

    def _load(self, packed: bytes) -> Any:
        return _Unpickler(packed, self._shared).load()


class _Unpickler(pickle.Unpickler):
    def __init__(self, packed: bytes, shared: dict[int, Any]) -> None:
        super().__init__(io.BytesIO(packed))
        self._shared = shared

    def persistent_load(self, number: int) -> Any:
        return self._shared[number]


def _packed(error: Exception) -> bytes:
    try:
        packed = pickle.dumps((False, error), protocol=5)
        pickle.loads(packed)  # some errors cannot be made again from what they remember
    except Exception:
        packed = pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")), protocol=5)
    return packed
