"""The trace of a search as plain data, for reports and figures alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from bayesieve.report.data import PathStep, SearchSummary

_OWN = (
    "name",
    "description",
    "path",
    "chosen",
    "clusters",
)  # fields that are not attributes of a trace, or differ from them


def summarise_trace(
    trace: Any, support: Iterable[bool] | None = None, *, name: str = "", description: str = ""
) -> SearchSummary:
    """Data of a `SearchTrace` for figures.

    Parameters
    ----------
    trace : SearchTrace
    support : bools, (n_features,), optional
        The subset that was selected; it is marked where the path first met it.
    name, description : str
        Of the selector.
    """
    path = trace.path()
    steps = tuple(PathStep(*values) for values in zip(*(path[f.name] for f in fields(PathStep)), strict=True))
    chosen = None if support is None else _first_met(trace, support)
    shared = {f.name: getattr(trace, f.name) for f in fields(SearchSummary) if f.name not in _OWN}
    return SearchSummary(name=name, description=description, path=steps, chosen=chosen, **shared)


def chosen_subset(trace: Any, selector: Any = None) -> Iterable[bool] | None:
    """The subset that a fitted selector chose, or without a selector the best of the path.

    None if weights were read from all models together, or the path never met the best subset.
    """
    if selector is not None:
        weights = getattr(selector, "weights_", getattr(selector, "feature_weights_", None))
        fractions = weights is not None and any(0 < w < 1 for w in weights)
        return None if fractions or not hasattr(selector, "support_") else selector.support_
    if trace.criterion_name == "map" and trace.validation_name is None:
        return trace.best_on_path() if trace.best_criterion in trace.path()["criterion"] else None
    return trace.best_on_path()


def _first_met(trace: Any, support: Iterable[bool]) -> tuple[int, int] | None:
    """(start, step) of the subset on the path, or None if the path never meets it."""
    chosen = {feature for feature, is_in in enumerate(support) if is_in}
    for start in range(trace.n_starts):
        # Features in only one of the two subsets; every move adds or removes one such difference.
        differing = chosen ^ set(trace.starts[start].features.tolist())
        if not differing:
            return start, 0
        moves = trace.walk_moves(start)
        for step, (feature, sign) in enumerate(zip(moves.feature.tolist(), moves.sign.tolist(), strict=True), start=1):
            differing ^= {feature} if sign else set()
            if not differing:
                return start, step
    return None
