"""Packages that peers need: whether they are there, and quiet while they work."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

_CHATTY: tuple[dict[str, str], ...] = (
    {"module": r"(khiops|interpret)\b"},
    # Khiops warns in the name of its caller's caller.
    {"message": "There are no informative variables"},
    {"message": "Sample datasets location does not exist"},
    {"message": "Khiops dictionary model not found"},
)
_lock = threading.Lock()
_inside = 0
_filters: warnings.catch_warnings | None = None


def require(package: str, peer: str) -> None:
    """Refuse if a package, by the name it is imported by, is missing; ``peer`` is who needs it.

    Raises
    ------
    ValueError
    """
    if find_spec(package) is None:
        raise ValueError(f"{peer} is not installed; run pip install 'bayesieve[peers]'.")


@contextmanager
def quiet() -> Iterator[None]:
    """Pass over what those packages warn of, from the first thread that comes in until the last one that leaves.

    The filters of warnings belong to all threads: each thread putting back those that it found would leave behind those
    of another.
    """
    global _inside, _filters
    with _lock:
        _inside += 1
        if _inside == 1:
            _filters = warnings.catch_warnings()
            _filters.__enter__()
            for one in _CHATTY:
                warnings.filterwarnings("ignore", **one)  # type: ignore[arg-type]
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _filters is not None:
                _filters.__exit__(None, None, None)
