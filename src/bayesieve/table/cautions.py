"""Cautions: suspicious properties of the data or of a fit, as records and as warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

_FAR_FROM_ONE = 10.0  # a mean weight this many times larger or smaller than 1 is a scale, not a number of repeats
_OURS = ("bayesieve", "sklearn")

_silent: ContextVar[bool] = ContextVar("silent", default=False)


@dataclass(frozen=True)
class Caution:
    """A suspicious property of the data or of a fit.

    Attributes
    ----------
    kind : str
        Its topic, such as ``"identifier"`` or ``"row weights"``.
    columns : tuple of str
        The columns concerned; may be empty.
    sentence : str
        The observation and the remedy.
    warns : bool
        Whether it is shown as a warning at once, or only in the report.
    """

    kind: str
    columns: tuple[str, ...]
    sentence: str
    warns: bool = True


def issue(cautions: Iterable[Caution | None]) -> None:
    """Issue a `UserWarning` for each caution with ``warns``, at the line that called the library."""
    if not _silent.get():
        warn_caller([caution.sentence for caution in cautions if caution is not None and caution.warns])


def warn_caller(sentences: Iterable[str]) -> None:
    """Issue a `UserWarning` for each sentence, at the line that called the library."""
    for sentence in sentences:
        warnings.warn(sentence, UserWarning, stacklevel=_callers_level())


@contextmanager
def silenced() -> Iterator[None]:
    """Suppress warnings of cautions, for fits on parts of rows: the fit on all rows has issued them already."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def _callers_level() -> int:
    """The stack level of the first frame outside the library and scikit-learn, for `warn_caller`."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OURS:
        level, frame = level + 1, frame.f_back
    return level


def weights_caution(weights: np.ndarray | None) -> Caution | None:
    """Row weights whose mean, over the rows of positive weight, is far from 1."""
    if weights is None:
        return None
    n_rows = int(np.count_nonzero(weights))
    mean = float(weights.sum()) / n_rows
    if 1 / _FAR_FROM_ONE <= mean <= _FAR_FROM_ONE:
        return None
    effect = "informative features look uninformative" if mean < 1 else "chance looks like information"
    return Caution(
        "row weights",
        (),
        f"The row weights have a mean of {mean:.3g}, so that {n_rows:,} rows count as {mean * n_rows:,.4g}: {effect}. "
        "Unless a weight is a number of repeated rows, divide the weights by their mean; SelectiveNB(normalize=True), "
        "or --normalize on the command line, does so.",
    )
