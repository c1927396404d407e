"""Packages that peers need: checks that they are installed, and silence while they run."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

_CHATTY: tuple[dict[str, str], ...] = (
    {"module": r"(khiops|interpret|optbinning|imodels|fasterrisk)\b"},
    # Khiops issues these warnings from its caller's caller.
    {"message": "There are no informative variables"},
    {"message": "Sample datasets location does not exist"},
    {"message": "Khiops dictionary model not found"},
    # scikit-learn stopped at its limit of steps, or a class has fewer rows than there are folds.
    {"message": "The max_iter was reached"},
    {"message": "Liblinear failed to converge"},
    {"message": "The least populated class in y"},
)
_solvers = logging.getLogger("__cvxpy__")  # names every solver it cannot load when optbinning imports it
_lock = threading.Lock()
_inside = 0
_filters: warnings.catch_warnings | None = None


def require(package: str, peer: str, *, then: str = "") -> None:
    """Raise ValueError unless the package ``package``, which a classifier imports, is installed.

    The message names it as ``peer`` and says how to install it; ``then`` is a further step of the installation.
    """
    if find_spec(package) is None:
        raise ValueError(f"{peer} is not installed; run pip install './lab[peers]' in the repository{then}.")


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress the output and warnings of packages that peers need, as long as a thread is in the ``with`` block.

    All threads share the warning filters. They are restored by the last thread, because a thread that restored its copy
    could restore the filters of another one.
    """
    global _inside, _filters
    with _lock:
        _inside += 1
        if _inside == 1:
            _filters = warnings.catch_warnings()
            _filters.__enter__()
            for one in _CHATTY:
                warnings.filterwarnings("ignore", **one)  # type: ignore[arg-type]
            _solvers.addFilter(_nothing)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _filters is not None:
                _filters.__exit__(None, None, None)
                _solvers.removeFilter(_nothing)


def _nothing(record: logging.LogRecord) -> bool:
    """Return False for every message of a logger, which suppresses it."""
    return False
