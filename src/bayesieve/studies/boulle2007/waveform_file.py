"""The file of the waveform study, next to the results."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from bayesieve.engine.progress import SearchProgress
from bayesieve.evaluation.comparison import time_left
from bayesieve.studies.boulle2007.waveform import WaveformStudy, waveform_study
from bayesieve.table import write_atomically


def make_waveform(
    load: Callable[[], tuple[Any, Any]], results: Path | None, seed: int, n_jobs: int | None, verbose: int = 0
) -> WaveformStudy:
    """Read the study saved next to ``results``, or compute and save it if there is none of this seed and version.

    ``load`` returns the table and the classes; it is called only if the study is computed.
    """
    from bayesieve.version import __version__

    made_by = {"seed": seed, "bayesieve": __version__}
    known = None if results is None else read_waveform(results, made_by)
    if known is not None:
        return known
    X, y = load()
    with SearchProgress("Waveform: splits of the rows", verbose, time_left) as progress:
        study = waveform_study(X, y, seed=seed, n_jobs=n_jobs, progress=_at_pace(progress))
    if results is not None:
        write_atomically(waveform_path(results), json.dumps({"made_by": made_by, "study": asdict(study)}) + "\n")
    return study


def _at_pace(progress: Callable[[int, int, float], None] | None) -> Callable[[int, int], None] | None:
    """A callback for finished splits and their number, which adds the seconds left at the pace so far."""
    if progress is None:
        return None
    began = time.perf_counter()

    def show(done: int, number: int) -> None:
        progress(done, number, (time.perf_counter() - began) / done * (number - done))

    return show


def read_waveform(results: Path, made_by: dict[str, Any] | None = None) -> WaveformStudy | None:
    """The study saved next to ``results``; None if there is none, it is damaged, or it has another ``made_by``."""
    try:
        saved = json.loads(waveform_path(results).read_text(encoding="utf-8"))
        return _restored(WaveformStudy, saved["study"]) if made_by in (None, saved["made_by"]) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def waveform_path(results: Path) -> Path:
    """The file of the study next to ``results``."""
    return results.with_name(f"{results.stem}-waveform.json")


def _restored(kind: Any, saved: Any) -> Any:
    """A value of this type from JSON, with its dataclasses and tuples; TypeError if it has another type."""
    if is_dataclass(kind):
        types = get_type_hints(kind)
        return kind(**{name: _restored(types[name], value) for name, value in saved.items()})  # type: ignore[operator]
    if get_origin(kind) is tuple:
        return tuple(_restored(get_args(kind)[0], value) for value in saved)
    if get_origin(kind) is dict:
        return {name: _restored(get_args(kind)[1], value) for name, value in saved.items()}
    if not isinstance(saved, (kind, int) if kind is float else kind):
        raise TypeError
    return saved
