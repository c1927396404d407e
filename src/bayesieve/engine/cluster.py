"""Rows with the workers of a Dask cluster: blocks stay there, questions go out and sums come back."""

from __future__ import annotations

import contextlib
import io
import itertools
import pickle
import tempfile
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import numpy as np

from bayesieve.engine.base import Parts, Total
from bayesieve.engine.files import Mapped
from bayesieve.version import __version__

_POLL = 0.5  # seconds between two looks whether a worker is there
_PATIENCE = 30.0  # seconds to wait for a worker if all are gone
_BEGIN_SECONDS = 60.0  # until a worker must have begun
_SCHEDULER_SECONDS = 10.0  # until which a scheduler must answer
_BLOCK_BYTES = 64 << 20  # codes of a block that is sent
_MESSAGE_BYTES = 64 << 20  # from which on the blocks that follow go with another message
_ROWS_AT_ONCE = 2_000_000  # rows times candidates that a thread passes over in the time of a round trip
_FEWEST_AHEAD, _MOST_AHEAD = 2, 256
_MOST_LOSSES = 8  # of workers in one round trip; more have another reason


class Cluster(Mapped):
    """Rows with the workers of a Dask cluster, which sum over their blocks.

    Workers read, count and code the pieces of a scanned table, and keep the codes: pairs and the search are sums over
    them. What needs rows together gets the codes of a sample or, if it needs all rows, all codes in files of this
    machine. A table in memory is coded here. If a worker is lost, another one takes its place: it reads the pieces
    again, or is sent the blocks, and takes the steps of the search again.

    Parameters
    ----------
    client : distributed.Client or str
        The cluster, or the address of its scheduler: ``"dask://host:8786"`` or ``"tcp://host:8786"``.
    block_rows : int, default=262144
        Rows of a block; fewer if they are wide. Sums are added up in the order of the blocks, whoever has them.

    Attributes
    ----------
    round_trips, bytes_sent, bytes_received : int
        Messages to all workers together, and their bytes.

    Raises
    ------
    ImportError
        If the extra ``scale`` is not installed.
    OSError
        If the scheduler does not answer, or has no workers.
    ValueError
        If a worker lacks bayesieve or has another version.

    Examples
    --------
    >>> from bayesieve import TableEncoder, WrapperSelector
    >>> from bayesieve.engine import Cluster
    >>> from distributed import Client
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> with Client(processes=False, dashboard_address=None) as client, Cluster(client) as engine:
    ...     coded = TableEncoder().fit_transform_coded(X, y, engine=engine)
    ...     selected = WrapperSelector("log_loss").fit_coded(coded).support_.sum()
    >>> int(selected)
    7
    """

    is_remote = True

    def __init__(self, client: Any, block_rows: int = 1 << 18) -> None:
        super().__init__(tempfile.gettempdir(), block_rows)
        self.most_rows = block_rows
        self._is_owner = isinstance(client, str)
        self.client = _connected(client) if isinstance(client, str) else client
        if self.client.asynchronous:
            raise ValueError("The Dask client is asynchronous; pass Client(asynchronous=False), or an address.")
        self.round_trips = self.bytes_sent = self.bytes_received = 0
        self.forgotten: deque[int] = deque()
        self._numbers = itertools.count()
        self._shared: dict[int, tuple[int, weakref.ref[Any]]] = {}
        self._turn = threading.Condition()
        self._waiting: list[Question] = []
        self._together = 1

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the workers forget all rows."""
        for seat in vars(self).pop("seats", ()):
            seat.release()
        if self._is_owner:
            self.client.close()

    @cached_property
    def seats(self) -> list[Seat]:
        """A place for each worker; ValueError for workers that cannot take part."""
        threads = sorted(_checked_workers(self.client).items())
        return [Seat(self, number, *worker) for number, worker in enumerate(threads)]

    def ahead(self, n_rows: int) -> int:
        n_threads = sum(seat.n_threads for seat in self.seats)
        return int(np.clip(_ROWS_AT_ONCE * n_threads // max(1, n_rows), _FEWEST_AHEAD, _MOST_AHEAD))

    def parts(self, start: Callable[..., Any], blocks: Sequence[Any], *arguments: Any) -> Parts[Any]:
        for part in arguments:
            self._share(part)
        (block,) = blocks
        held: Held | None = vars(block).get("held")
        if held is None:
            rows = max(1, min(self.most_rows, _BLOCK_BYTES // max(1, block.codes[:, :1].nbytes)))
            begins = range(0, max(1, block.n_rows), rows)
            held = self.hold([partial(block.take, slice(at, at + rows)) for at in begins])
            vars(block)["held"] = held
        return RemoteParts(held.make(start, *arguments))

    def hold(self, items: Sequence[Callable[[], Any]]) -> Held:
        """Let workers keep what each item returns, which is called when it is sent."""
        return Held(self, items)

    def _share(self, part: Any) -> None:
        """Send this object to each worker once only, however often it is an argument."""
        if id(part) not in self._shared:
            number = next(self._numbers)
            self._shared[id(part)] = (number, weakref.ref(part))
            weakref.finalize(part, self._forget, id(part), number)

    def _forget(self, key: int, number: int) -> None:
        self._shared.pop(key, None)
        self.forgotten.append(number)

    def _number_of(self, part: Any) -> int | None:
        number, known = self._shared.get(id(part), (None, None))
        return number if known is not None and known() is part else None

    def pack(self, parts: Any) -> Packed:
        """Parts as bytes, but for shared objects."""
        return pack(parts, self._number_of)

    @contextlib.contextmanager
    def together(self, n_walks: int) -> Iterator[Callable[[], None]]:
        self._together = n_walks

        def leave() -> None:
            with self._turn:
                self._together -= 1
                self._turn.notify_all()

        try:
            yield leave
        finally:
            self._together = 1

    def ask(
        self, held: Held, function: Callable[..., Any], arguments: tuple[Any, ...], is_total: bool = False
    ) -> list[Any]:
        """What a function returns for each block, in the order of the blocks; as a total, None but for the first block
        of each place, which has the sum of those there.

        Walks that go `together` share a round trip: the last one to ask sends the questions of all.
        """
        question = Question(held, self.pack((function, arguments)), is_total)
        with self._turn:
            self._waiting.append(question)
            while question in self._waiting:
                if len(self._waiting) < self._together:
                    self._turn.wait(_POLL)
                    continue
                questions, self._waiting = self._waiting, []
                try:
                    self._trip(questions)
                except BaseException as error:
                    for other in questions:
                        other.error = error
                finally:
                    self._turn.notify_all()
        if question.error is not None:
            raise question.error
        return question.answers

    def _trip(self, questions: Sequence[Question]) -> None:
        """Send questions to all workers and wait for the answers; of lost workers, from others."""
        while self.forgotten:
            number = self.forgotten.popleft()
            for seat in self.seats:
                seat.forgotten.append(number)
        for question in questions:
            question.answers = [None] * question.held.n_blocks
        waiting, n_losses = list(self.seats), 0
        while waiting:
            self.round_trips += 1
            sent = [(seat, seat.send(questions)) for seat in waiting]
            waiting = []
            for seat, message in sent:
                try:
                    if message is not None and not seat.answer(message):
                        waiting.append(seat)
                except LostWorkerError as error:
                    n_losses += 1
                    if n_losses > _MOST_LOSSES:
                        raise OSError(
                            f"Workers of the Dask cluster were lost {n_losses} times ({error}); see their logs, and "
                            "give them more memory or fewer rows."
                        ) from error
                    self._replace(seat)
                    waiting.append(seat)

    def _replace(self, seat: Seat) -> None:
        """Give the place of a lost worker to the one that has most threads for its places."""
        deadline = time.monotonic() + _PATIENCE
        while not (threads := {a: n for a, n in _workers(self.client).items() if a != seat.address}):
            if time.monotonic() > deadline:
                raise OSError("All workers of the Dask cluster are gone; start some, and fit again.")
            time.sleep(_POLL)
        places = [other.address for other in self.seats if other is not seat]
        address = max(sorted(threads), key=lambda one: threads[one] / (1 + places.count(one)))
        seat.release()
        seat.open(address, threads[address])


class Held:
    """Values that workers keep, one for each block of rows, and the steps that led to them.

    A worker takes the steps that it has not taken yet before it answers: all of them if it takes the place of
    another.

    Attributes
    ----------
    shares : the blocks of each place; n_blocks : their number; line : the values that these were made of, and these.
    """

    def __init__(
        self,
        engine: Cluster,
        items: Sequence[Callable[[], Any]] = (),
        parent: Held | None = None,
        made: Packed | None = None,
    ) -> None:
        self.engine, self.parent = engine, parent
        self.number = next(engine._numbers)
        self._items, self._log = items, [] if made is None else [made]
        self.shares: list[range] = _shares(len(items), engine.seats) if parent is None else parent.shares
        self.n_blocks: int = self.shares[-1].stop
        self.line: list[Held] = [*([] if parent is None else parent.line), self]
        weakref.finalize(self, engine.forgotten.append, self.number)

    def make(self, function: Callable[..., Any], *arguments: Any) -> Held:
        """What a function returns for each value, kept by the worker that has the value."""
        return Held(self.engine, parent=self, made=self.engine.pack((MAKE, function, arguments)))

    def update(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function for its effect on each value, before the next question is answered."""
        self._log.append(self.engine.pack((UPDATE, function, arguments)))

    def ask(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What a function returns for each value, in the order of the blocks."""
        return self.engine.ask(self, function, arguments)

    def total(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The sum of what a function returns for the values. Workers add up first: the order depends on who has which
        blocks.
        """
        answers = self.engine.ask(self, function, arguments, is_total=True)
        return reduce(add, (answer for answer in answers if answer is not None))

    def steps(self, seat: int, first: int) -> Iterator[Packed]:
        """The steps of a place from the given one on."""
        if self.parent is None:
            share = self.shares[seat]
            for item in self._items[share.start + first : share.stop]:
                yield self.engine.pack((HOLD, _as_it_is, (item(),)))  # when it is sent, for blocks are large
            first = max(0, first - len(share))
        yield from self._log[first:]


class RemoteParts(Parts[Any]):
    """`Parts` of rows that workers keep."""

    def __init__(self, states: Held) -> None:
        self._held = states

    def _each(self, function: Callable[..., Total], *arguments: Any) -> list[Total]:
        return self._held.ask(function, *arguments)

    def update(self, function: Callable[..., None], *arguments: Any) -> None:
        self._held.update(function, *arguments)


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
    """The place of one worker, which another one takes if it is lost."""

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
                    new.append((number, pack(part, lambda _: None).data))
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
                self._actor = self._result(self._future, time.monotonic() + _BEGIN_SECONDS)
            return self._actor.run(data)
        except Exception as error:  # whatever a lost worker or scheduler leads to
            return LostWorkerError(str(error))

    def answer(self, message: _Message) -> bool:
        """Wait for the answer; whether that of the questions came with it.

        Raises
        ------
        LostWorkerError
            If the worker is gone.
        Exception
            Whatever the worker raised.
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
        """What a future comes to; TimeoutError at the deadline, or if its worker or the scheduler is gone."""
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


def _as_it_is(block: Any) -> Any:
    return block


def _shares(n_blocks: int, seats: Sequence[Seat]) -> list[range]:
    """Neighbouring blocks for each place, by its threads."""
    ends = np.rint(np.cumsum([0, *(seat.n_threads for seat in seats)]) * n_blocks / sum(s.n_threads for s in seats))
    return [range(int(a), int(b)) for a, b in itertools.pairwise(ends.tolist())]


def _connected(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise ImportError(
            f"The engine {address!r} needs Dask; install the extra: pip install 'bayesieve[scale]'."
        ) from None
    try:
        return Client(address.replace("dask://", "tcp://"), timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise OSError(
            f"No Dask scheduler answers at {address} ({str(error) or type(error).__name__}); check the address."
        ) from None


def _workers(client: Any) -> dict[str, int]:
    """Threads by address of the worker; OSError if the scheduler is gone."""
    try:
        if client.status != "running":  # a new scheduler knows none of the rows
            raise ConnectionError(client.status)
        threads: dict[str, int] = client.sync(client.scheduler.ncores, callback_timeout=_SCHEDULER_SECONDS)
        return threads
    except Exception as error:  # whatever a lost connection leads to
        raise OSError("The Dask scheduler does not answer any more; start it, and fit again.") from error


def _checked_workers(client: Any) -> dict[str, int]:
    threads = _workers(client)
    if not threads:
        raise OSError("The Dask cluster has no workers; start some, and fit again.")
    versions = client.run(eval, "__import__('bayesieve').__version__", workers=list(threads), on_error="return")
    for address, version in sorted(versions.items()):
        if version != __version__:
            has = "cannot import bayesieve" if isinstance(version, Exception) else f"has bayesieve {version}"
            raise ValueError(f"The Dask worker {address} {has}; install bayesieve {__version__} there.")
    return threads
