"""The record of a search while it runs: its moves and its time."""

from __future__ import annotations

import io
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayesieve.compiling import compile_seconds


class Clock:
    """Seconds since a search began, without those in which kernels were compiled, and whether its time is up."""

    def __init__(self, max_seconds: float | None) -> None:
        self._begin = time.perf_counter() - compile_seconds()
        self._max_seconds = max_seconds
        self.interrupted = False

    @property
    def seconds(self) -> float:
        return max(0.0, time.perf_counter() - compile_seconds() - self._begin)

    @property
    def is_up(self) -> bool:
        return self.interrupted or (self._max_seconds is not None and self.seconds >= self._max_seconds)

    @contextmanager
    def ended_by_interrupt(self) -> Iterator[None]:
        """Let the first Ctrl-C end the time, rather than what runs at that moment, in the block."""
        default = signal.default_int_handler
        if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not default:
            yield
            return

        def end(*_: Any) -> None:
            self.interrupted = True
            signal.signal(signal.SIGINT, default)

        signal.signal(signal.SIGINT, end)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, default)


@dataclass(frozen=True)
class Moves:
    """Moves in the order they were tried: one entry of every array per move."""

    feature: np.ndarray
    adding: np.ndarray
    cost: np.ndarray
    accepted: np.ndarray
    key: np.ndarray
    """A number for the subset that the move leads to; 0 for the empty one."""
    seconds: np.ndarray
    validation: np.ndarray
    violation: np.ndarray
    again: np.ndarray
    """Whether a feature is chosen that the subset holds already, as boosting may do."""

    @property
    def sign(self) -> np.ndarray:
        """What each move adds to the size of the subset."""
        return np.where(self.again, 0, np.where(self.adding, 1, -1))

    def at(self, moves: Any) -> Moves:
        """These moves only: positions, a slice or a mask."""
        return Moves(*(array[moves] for array in vars(self).values()))


@dataclass
class TraceRecorder:
    """Collects the moves of one walk, which starts from the empty subset by default.

    ``null_cost`` is the criterion of the subset that the walk starts from, ``start_validation`` its value on the
    validation rows and ``initial`` the features it holds.
    """

    null_cost: float
    initial: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    start_validation: float = float("nan")
    start_violation: float = 0.0
    parts: list[tuple[Any, ...]] = field(default_factory=list)

    def record(
        self,
        features: np.ndarray,
        adding: np.ndarray,
        costs: np.ndarray,
        accepted: np.ndarray,
        keys: np.ndarray,
        seconds: float,
        validation: float = float("nan"),
        violation: float = 0.0,
        again: bool = False,
    ) -> None:
        """Moves evaluated from one subset; an accepted one is the last that starts from it, and has the value
        ``validation`` on the validation rows; ``violation`` says how far it is from the constraints, ``again`` that the
        subset holds the feature already.
        """
        self.parts.append((features, adding, costs, accepted, keys, seconds, validation, violation, again))


def walks_to_bytes(walks: list[TraceRecorder], known: Mapping[int, float]) -> bytes:
    """Walks, and costs of subsets by key, exact to the last bit."""
    arrays: dict[str, np.ndarray] = {
        "known": np.array(list(known), dtype=np.uint64),
        "costs": np.array(list(known.values()), dtype=float),
    }
    for number, walk in enumerate(walks):
        *runs, seconds, validation, violation, again = zip(*walk.parts, strict=True)
        start = np.array([walk.null_cost, walk.start_validation, walk.start_violation])
        arrays |= {f"{number}.start": start, f"{number}.initial": walk.initial}
        arrays |= {f"{number}.{at}": np.concatenate(run) for at, run in enumerate(runs)}
        facts = np.array([list(map(len, runs[0])), seconds, validation, violation, again], dtype=float)
        arrays[f"{number}.facts"] = facts
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def walks_from_bytes(state: bytes) -> tuple[list[TraceRecorder], dict[int, float]]:
    """What `walks_to_bytes` was given."""
    with np.load(io.BytesIO(state), allow_pickle=False) as arrays:
        known = dict(zip(arrays["known"].tolist(), arrays["costs"].tolist(), strict=True))
        walks: list[TraceRecorder] = []
        while f"{len(walks)}.start" in arrays:
            number = len(walks)
            null_cost, validation, violation = arrays[f"{number}.start"].tolist()
            walk = TraceRecorder(null_cost, arrays[f"{number}.initial"], validation, violation)
            lengths, *facts = arrays[f"{number}.facts"].tolist()
            ends = np.cumsum(lengths).astype(int)[:-1]
            runs = [np.split(arrays[f"{number}.{at}"], ends) for at in range(5)]
            parts = zip(*runs, *facts[:-1], np.array(facts[-1], dtype=bool).tolist(), strict=True)
            walk.parts += list(parts)
            walks.append(walk)
    return walks, known


def joined(walks: list[TraceRecorder]) -> tuple[Moves, np.ndarray]:
    """The moves of all walks, and the walk of each."""
    nothing = 0, *(np.zeros(0, kind) for kind in (np.int64, bool, float, bool, np.uint64)), 0.0, 0.0, 0.0, False
    parts = [(number, *part) for number, walk in enumerate(walks) for part in walk.parts] or [nothing]
    number, *arrays, seconds, validation, violation, again = zip(*parts, strict=True)
    features, adding, costs, accepted, keys = map(np.concatenate, arrays)
    lengths = list(map(len, arrays[0]))
    walk_of, *facts = (np.repeat(each, lengths) for each in (number, seconds, validation, violation, again))
    moves = Moves(features, adding, costs, accepted, keys, *facts)
    moves.validation[~accepted] = np.nan
    return moves, walk_of
