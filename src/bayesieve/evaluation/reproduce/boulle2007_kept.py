"""The study of the waveform data, kept in a file beside the results, so that it is not computed again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from bayesieve.evaluation.reproduce.boulle2007_waveform import (
    Model,
    Posterior,
    SplitResult,
    WaveformStudy,
    waveform_study,
)
from bayesieve.table import write_atomically


def make_waveform(
    load: Callable[[], tuple[Any, Any]], results: Path | None, seed: int, n_jobs: int | None
) -> WaveformStudy:
    """The study kept beside ``results``; where there is none of this seed and version, it is made, and kept.

    Parameters
    ----------
    load : gives the table and the classes; called only where they are needed.
    results : file of the results; None keeps nothing.
    seed, n_jobs : as `waveform_study` takes them.

    Raises
    ------
    ValueError
        If the file cannot be written.
    """
    made_by = {"seed": seed, "bayesieve": import_module("bayesieve").__version__}
    known = None if results is None else kept_waveform(results, made_by)
    if known is not None:
        return known
    X, y = load()
    study = waveform_study(X, y, seed=seed, n_jobs=n_jobs)
    if results is not None:
        write_atomically(beside(results), json.dumps({"made_by": made_by, "study": asdict(study)}) + "\n")
    return study


def kept_waveform(results: Path, made_by: dict[str, Any] | None = None) -> WaveformStudy | None:
    """The study kept beside ``results``; None where there is no whole one, or it was made otherwise than asked for."""
    try:
        kept = json.loads(beside(results).read_text(encoding="utf-8"))
        return _study(kept["study"]) if made_by in (None, kept["made_by"]) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def beside(results: Path) -> Path:
    """Where the study is kept."""
    return results.with_name(f"{results.stem}-waveform.json")


def _study(kept: dict[str, Any]) -> WaveformStudy:
    return WaveformStudy(**{**kept, "splits": tuple(_split(split) for split in kept["splits"])})


def _split(kept: dict[str, Any]) -> SplitResult:
    posterior = kept["posterior"]
    lists = ("quantiles", "sizes_of_better_half", "sizes_of_all")
    posterior = {**posterior, **{name: tuple(posterior[name]) for name in lists}}
    return SplitResult(
        **{
            **kept,
            "informative": tuple(kept["informative"]),
            "weights": {method: tuple(weights) for method, weights in kept["weights"].items()},
            "posterior": Posterior(**{**posterior, "top": tuple(_model(one) for one in posterior["top"])}),
            "found_by_search": _model(kept["found_by_search"]),
        }
    )


def _model(kept: dict[str, Any]) -> Model:
    return Model(tuple(kept["features"]), kept["below_best"])
