"""Exports of a fitted model to other systems. There is one module per target; all targets write the same `Plan`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from bayesieve.parts import Registry, arguments
from bayesieve.scorecard.direction import directions, warn_of_direction
from bayesieve.scorecard.export.plan import Plan
from bayesieve.scorecard.export.target import Export
from bayesieve.scorecard.record import Scorecard
from bayesieve.words import listed, named


@cache
def targets() -> Registry[Any]:
    """Return all export targets by name, with those that other packages add by entry points of the group
    ``bayesieve.exports``.
    """
    from bayesieve.scorecard.export.excel import Excel
    from bayesieve.scorecard.export.onnx_graph import Onnx
    from bayesieve.scorecard.export.pmml import Pmml
    from bayesieve.scorecard.export.point_card import PointTable
    from bayesieve.scorecard.export.programs import JavaScript, Python, R
    from bayesieve.scorecard.export.sql import Sql

    return Registry("bayesieve.exports", Export, Excel, JavaScript, Onnx, Pmml, PointTable, Python, R, Sql)


def export(
    card: Scorecard, to: str | None, path: Any, head: Mapping[str, str], options: Mapping[str, Any]
) -> str | bytes:
    """Return the content of an export file as text or bytes.

    ``head`` holds facts about the model to write into the file, and ``options`` the options of the target; all other
    parameters are those of `SelectiveNB.export`.
    """
    kind, suffix = _target(to, path)
    allowed, options = arguments(kind), {**kind.suffixes.get(suffix, {}), **options}
    with_counts = options.pop("counts", False)
    unknown = [name for name in options if name not in allowed]
    if unknown:
        options_text = listed([*map(repr, [*allowed, "name", "counts"])], 20)
        raise ValueError(f"The export to {kind.name} has no option {named(unknown)}; it has {options_text}.")
    try:
        writer = kind(**options)
        results, target_class = writer.results(card), getattr(writer, "target_class", None)
        warn_of_direction(card, results, target_class)
        head = {**head, **directions(card, results, target_class, head.get("target"))}
        content: str | bytes = writer.write(Plan.of(card, head, with_counts))
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"The export to {kind.name} needs {error.name}; install the extra: pip install 'bayesieve[export]'."
        ) from None
    return content


def _target(to: Any, path: Any) -> tuple[Any, str]:
    """Return the class of the export target that ``to`` or, if it is None, the suffix of the path selects, and the
    suffix.
    """
    kinds, suffix = targets(), "" if path is None else Path(os.fspath(path)).suffix.lower()
    if to is None:
        to = next((name for name, kind in kinds.items() if suffix in kind.suffixes), None)
        if to is None:
            by_suffix = [f"{ending} ({name})" for name, kind in kinds.items() for ending in kind.suffixes]
            raise ValueError(
                f"The export target is unknown; set to=, or use a file name ending in {listed(by_suffix, 20)}."
            )
    elif to not in kinds:
        raise ValueError(f"to must be one of {listed([*map(repr, kinds)], 20)}, got {to!r:.80}.")
    return kinds[to], suffix
