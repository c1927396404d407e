"""The study of the waveform data, kept in a file beside the results, so that it is not computed again."""

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
    """The study kept beside ``results``; where there is none of this seed and version, it is made, and kept.

    Parameters
    ----------
    load : gives the table and the classes; called only where they are needed.
    results : file of the results; None keeps nothing.
    seed, n_jobs : as `waveform_study` takes them.
    verbose : 1 shows the progress on the error stream.

    Raises
    ------
    ValueError
        If the file cannot be written.
    """
    from bayesieve.version import __version__

    made_by = {"seed": seed, "bayesieve": __version__}
    known = None if results is None else kept_waveform(results, made_by)
    if known is not None:
        return known
    X, y = load()
    with SearchProgress("Waveform: splits of the rows", verbose, time_left) as progress:
        study = waveform_study(X, y, seed=seed, n_jobs=n_jobs, progress=_at_pace(progress))
    if results is not None:
        write_atomically(beside(results), json.dumps({"made_by": made_by, "study": asdict(study)}) + "\n")
    return study


def _at_pace(progress: Callable[[int, int, float], None] | None) -> Callable[[int, int], None] | None:
    """What is called with the splits done and their number, and tells the seconds left at the pace so far."""
    if progress is None:
        return None
    began = time.perf_counter()

    def tell(done: int, number: int) -> None:
        progress(done, number, (time.perf_counter() - began) / done * (number - done))

    return tell


def kept_waveform(results: Path, made_by: dict[str, Any] | None = None) -> WaveformStudy | None:
    """The study kept beside ``results``; None where there is no whole one, or it was made otherwise than asked for."""
    try:
        kept = json.loads(beside(results).read_text(encoding="utf-8"))
        return _restored(WaveformStudy, kept["study"]) if made_by in (None, kept["made_by"]) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def beside(results: Path) -> Path:
    """Where the study is kept."""
    return results.with_name(f"{results.stem}-waveform.json")


def _restored(kind: Any, kept: Any) -> Any:
    """What JSON made of a value of this type: dataclasses and tuples again."""
    if is_dataclass(kind):
        types = get_type_hints(kind)
        return kind(**{name: _restored(types[name], value) for name, value in kept.items()})  # type: ignore[operator]
    if get_origin(kind) is tuple:
        return tuple(_restored(get_args(kind)[0], value) for value in kept)
    if get_origin(kind) is dict:
        return {name: _restored(get_args(kind)[1], value) for name, value in kept.items()}
    return kept
