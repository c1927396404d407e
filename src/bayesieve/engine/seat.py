"""The place of a worker in a cluster: what was sent there, to be sent again if it is lost, and what it keeps."""

from __future__ import annotations

import contextlib
import io
import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from bayesieve.engine.cluster import Cluster, Held

_POLL = 0.5  # seconds between two looks whether a worker that does not answer is still there
_PATIENCE = 60.0  # seconds until a worker must have begun
_MESSAGE_BYTES = 64 << 20  # from which on the blocks that follow go with another message


class LostWorkerError(Exception):
    """A worker does not answer any more."""


@dataclass(frozen=True)
class Packed:
    """Bytes, and by number the shared objects that they refer to."""

    data: bytes
    used: Mapping[int, Any]


def pack(parts: Any, number_of: Callable[[Any], int | None]) -> Packed:
    """Parts as bytes, but for shared objects, which go by their numbers."""
    from cloudpickle import Pickler

    used: dict[int, Any] = {}

    class Shortened(Pickler):
        def persistent_id(self, part: Any) -> int | None:
            number = number_of(part)
            if number is not None:
                used[number] = part
            return number

    file = io.BytesIO()
    Shortened(file, protocol=5).dump(parts)
    return Packed(file.getvalue(), used)


@dataclass
class Step:
    """A step in the log of values that workers keep."""

    engine: Cluster
    kind: int
    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    @cached_property
    def packed(self) -> Packed:
        return self.engine.pack((self.kind, self.function, self.arguments))


@dataclass(eq=False)
class Question:
    """Something asked of all blocks of some values: ``answers``, by block, or by place of a total, or the ``error``."""

    held: Held
    packed: Packed
    is_total: bool = False
    answers: list[Any] = field(default_factory=list)
    error: BaseException | None = None


@dataclass
class _Message:
    """A message under way, and what its worker knows once it has answered."""

    future: Any
    n_steps: dict[int, int]
    shared: set[int]
    questions: Sequence[Question]
    n_forgotten: int


class Seat:
    """The place of one worker, which another one takes where it is lost."""

    def __init__(self, engine: Cluster, number: int, address: str, n_threads: int) -> None:
        self._engine, self.number = engine, number
        self.open(address, n_threads)

    def open(self, address: str, n_threads: int) -> None:
        """Begin with a worker that knows nothing."""
        self.address, self.n_threads = address, n_threads
        self.forgotten: list[int] = []
        self._n_steps: dict[int, int] = {}
        self._shared: set[int] = set()
        options = {"workers": [address], "allow_other_workers": True, "actor": True, "pure": False}
        self._future = self._engine.client.submit(Keeper, n_threads, **options)
        self._actor: Any = None

    def release(self) -> None:
        """Let the worker forget everything."""
        with contextlib.suppress(Exception):  # the cluster may be gone
            if self._engine.client.status == "running":  # else it waits for a scheduler that does not know of them
                self._engine.client.cancel([self._future], force=True)

    def send(self, questions: Sequence[Question]) -> _Message | None:
        """Send the next message: questions, after the steps that they need and the worker has not taken yet."""
        questions = [question for question in questions if question.held.shares[self.number]]
        if not questions:
            return None
        n_steps, shared, logs, size = dict(self._n_steps), set(self._shared), [], 0
        new: list[tuple[int, bytes]] = []

        def add(packed: Packed) -> bytes:
            for number, part in packed.used.items():
                if number not in shared:
                    shared.add(number)
                    new.append((number, self._engine.pack_shared(number, part).data))
            return packed.data

        for held in dict.fromkeys(held for question in questions for held in question.held.line):
            first = n_steps.get(held.number, 0)
            steps = []
            for packed in held.steps(self.number, first):
                steps.append(add(packed))
                size += len(packed.data)
                if size >= _MESSAGE_BYTES:
                    break
            n_steps[held.number] = first + len(steps)
            if steps:
                logs.append((held.number, -1 if held.parent is None else held.parent.number, first, steps))
            if size >= _MESSAGE_BYTES:
                questions = []
                break
        asked = [(question.held.number, question.is_total, add(question.packed)) for question in questions]
        data = pickle.dumps((self.forgotten, new, logs, asked), protocol=5)
        self._engine.bytes_sent += len(data)
        return _Message(self._run(data), n_steps, shared, questions, len(self.forgotten))

    def _run(self, data: bytes) -> Any:
        try:
            if self._actor is None:
                self._actor = self._result(self._future, time.monotonic() + _PATIENCE)
            return self._actor.run(data)
        except Exception as error:  # whatever a lost worker or scheduler leads to
            return LostWorkerError(str(error))

    def answer(self, message: _Message) -> bool:
        """Wait for the answer; whether that of the questions came with it.

        Raises
        ------
        LostWorkerError
            Where the worker is gone.
        Exception
            That the worker met.
        """
        data = self._wait(message.future)
        self._engine.bytes_received += len(data)
        is_answer, answers = pickle.loads(data)
        if not is_answer:
            raise answers
        self._n_steps, self._shared = message.n_steps, message.shared
        del self.forgotten[: message.n_forgotten]
        for question, values in zip(message.questions, answers, strict=True):
            share = question.held.shares[self.number]
            question.answers[share.start : share.start + len(values)] = values
        return bool(message.questions)

    def _wait(self, future: Any) -> bytes:
        if isinstance(future, LostWorkerError):
            raise future
        try:
            data: bytes = self._result(future, np.inf)
            return data
        except Exception as error:  # whatever a lost worker or scheduler leads to
            raise LostWorkerError(str(error)) from error

    def _result(self, future: Any, deadline: float) -> Any:
        """What a future comes to; TimeoutError at the deadline, or where its worker or the scheduler is gone."""
        while True:
            try:
                return future.result(timeout=_POLL)
            except TimeoutError:
                is_there = self._engine.client.status == "running" and self._future.status in ("finished", "pending")
                if not is_there or time.monotonic() > deadline:
                    raise TimeoutError(self.address) from None


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
