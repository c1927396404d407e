"""`FitPlan`: the options of `SelectiveNB`, checked and resolved once for each fit."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import BaseEstimator

from bayesieve.counts import Smoothing
from bayesieve.discretize import TableEncoder
from bayesieve.discretize.coding_options import CodingOptions
from bayesieve.discretize.modl import PRIORS
from bayesieve.discretize.pairs import check_pairs
from bayesieve.engine import IN_MEMORY, Mapped
from bayesieve.engine.callbacks import FitTask
from bayesieve.engine.executors import executor_of
from bayesieve.engine.files import bytes_of, mapped_options
from bayesieve.engine.progress import Clock
from bayesieve.evidence.calibration import rows_to_keep
from bayesieve.evidence.shapes import leaves_room
from bayesieve.parts import Allowed, arguments, check_allowed, is_choice, is_sign, require_objects
from bayesieve.selection import CodedSelector, CompressionAveraging, make_selector
from bayesieve.selection.base import SHARED_OPTIONS, make_encoder, seed_of
from bayesieve.table.cautions import warn_caller
from bayesieve.table.scanned import ScannedTable

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB

MEMORY, DISK = "memory", "disk"
_ALLOWED = SHARED_OPTIONS | {
    "calibrate": Allowed.choice(True, False, "auto", "weights", "levels", "cells"),
    "normalize": Allowed.choice(True, False),
    "prior": Allowed.choice(*PRIORS),
}

Granularity = Literal["weights", "levels", "cells"]
"""Units of the fit after the search: weights of features, or contributions of levels or of cells within levels."""


@dataclass(frozen=True)
class FitPlan:
    """Checked and resolved options of one fit of `SelectiveNB`.

    Attributes
    ----------
    options : constructor options of the model, as passed by the user.
    selector, encoder : unfitted copies with the options of the model. A fit clones them, so that the plan never
        changes.
    granularity : what is fitted after the search: "weights", "levels", "cells", or None to keep counts and the weights
        of the search.
    is_averaged : whether the selector is compression-based averaging, on which "auto" of other options depends.
    executor : executor that reads the rows of a scan; None reads them in this process.
    on_disk : whether codes and the arrays of the search are stored in files even if the rows are in memory.
    smoothing, calibrate, monotone, positive, normalize, memory_limit, max_seconds, n_jobs, verbose
        Options of `SelectiveNB`; ``monotone`` is an empty dict if it is None there.
    """

    options: Mapping[str, Any]
    selector: CodedSelector
    encoder: Any
    granularity: Granularity | None
    is_averaged: bool
    smoothing: Smoothing
    calibrate: Any
    monotone: Mapping[str, int]
    positive: Any
    normalize: bool
    executor: Executor | None
    on_disk: bool
    memory_limit: int | str | None
    max_seconds: float | None
    n_jobs: int | None
    verbose: int

    @classmethod
    def of(cls, model: SelectiveNB) -> FitPlan:
        """Check the options of an unfitted model and resolve them.

        Raise ValueError if an option is invalid; the message names it.
        """
        options = {name: getattr(model, name) for name in arguments(type(model))}  # type: ignore[arg-type]
        check_options(options)
        is_averaged = isinstance(model.selector, CompressionAveraging)
        is_averaged = is_averaged or is_choice(model.selector, (CompressionAveraging.name,))
        granularity: Any = model.calibrate
        if granularity == "auto":
            # Averaging leaves weight on many features, and a fit of cells drops those without an effect. Other
            # selectors choose features themselves, and their weights stay as they are.
            granularity = "cells" if is_averaged else None
        elif not isinstance(granularity, str):
            granularity = "weights" if granularity else None
        # A selector chosen by name gets the options of the model. A selector object gets those options that it has left
        # at their defaults, except the smoothing.
        selector = make_selector(model.selector)
        shared = ["max_seconds", "random_state", "n_jobs", "verbose"]
        shared += ["smoothing"] if isinstance(model.selector, str) else []
        selector.set_params(**_left_at_defaults(selector, {name: options[name] for name in shared}))
        if getattr(selector, "random_state", None) is not None:
            # Store the seed instead of the generator, so that refitting a saved model gives the same result.
            selector.set_params(random_state=seed_of(selector.random_state))
        selector.check_options()
        plan = cls(
            options=options,
            selector=selector,
            encoder=new_encoder(options, is_averaged, granularity),
            granularity=granularity,
            is_averaged=is_averaged,
            monotone=dict(model.monotone or {}),
            executor=None if isinstance(model.engine, str) else executor_of(model.engine),
            on_disk=model.memory_limit is not None or is_choice(model.engine, (DISK,)),
            **{name: options[name] for name in ("smoothing", "calibrate", "positive", "normalize", "memory_limit")},
            **{name: options[name] for name in ("max_seconds", "n_jobs", "verbose")},
        )
        if plan.monotone:
            plan.require_fitted("monotone needs fitted contributions")
        return plan

    def require_fitted(self, reason: str) -> None:
        """Raise ValueError unless the options fit contributions. ``reason`` is the start of the message."""
        if self.granularity not in ("levels", "cells"):
            raise ValueError(
                f"{reason}, but with calibrate={self.calibrate!r} they are not fitted here; set calibrate='levels' or "
                "'cells'."
            )

    def coding_options(self, table: Any = None) -> CodingOptions:
        """Return the options with which an encoder reads and codes the training rows, given as a table.

        Codes are stored in files if the table is a scan or the options require it, otherwise in memory.
        """
        in_files = self.on_disk or isinstance(table, ScannedTable)
        return CodingOptions(
            engine=Mapped(tempfile.gettempdir(), **mapped_options(self.memory_limit)) if in_files else IN_MEMORY,
            executor=self.executor,
            clock=Clock(self.max_seconds),
            verbose=self.verbose,
            lists_classes=not self.selector.needs_row_order,
            unpaired=tuple(self.monotone),
            # Two numeric columns get a smooth surface in the fit instead of a pair of their levels, if there is room
            # for surfaces.
            skips_number_pairs=leaves_room if self.is_averaged and self.granularity == "cells" else None,
            sample_size=rows_to_keep,
            merges_copies=True,  # copies of a row would bias levels, folds and leave-one-out
        )

    def search_options(self, groups: Any, task: FitTask) -> dict[str, Any]:
        """Return the arguments of the selector's search other than the rows, by name. Warn if the search ignores
        ``groups``.

        ``groups`` are the groups of the rows or None, and ``task`` is the receiver of progress reports.
        """
        options: dict[str, Any] = {"task": task} if self.selector.takes("task") else {}
        if isinstance(self.selector, CompressionAveraging) and self.granularity in ("levels", "cells"):
            options["thorough"] = True
        if groups is not None and self.selector.takes_groups:
            options["groups"] = groups
        elif groups is not None:
            sentence = (
                f"groups are ignored, because {type(self.selector).__name__} does not split rows; omit them, or use "
                "WrapperSelector(evaluation=GroupKFold())."
            )
            warn_caller(sentence)
        return options


def check_options(options: Mapping[str, Any]) -> None:
    """Raise ValueError for the first invalid option of `SelectiveNB`.

    Selector and encoder check their own options.
    """
    require_objects(options)
    check_allowed(options, _ALLOWED)
    engine = options["engine"]
    if not is_choice(engine, (MEMORY, DISK)) and executor_of(engine) is None:
        raise ValueError(
            f"engine must be 'memory', 'disk', a Dask client or an executor of concurrent.futures, got {engine!r:.80}."
        )
    if options["memory_limit"] is not None:
        bytes_of(options["memory_limit"])
    monotone = options["monotone"]
    if not isinstance(monotone, Mapping | None):
        raise ValueError(f"monotone must be None or a dict from names of columns to +1 or -1, got {monotone!r}.")
    for name, sign in (monotone or {}).items():
        if not is_sign(sign):
            raise ValueError(f"monotone must be +1 or -1 for the column {name!r}, got {sign!r:.80}.")
    check_pairs(options["pairs"])


def new_encoder(options: Mapping[str, Any], is_averaged: bool, granularity: Granularity | None) -> Any:
    """Return the unfitted encoder of a model: its option ``encoder`` or, if that is 'modl', the encoder of its
    selector.

    ``options`` are the options of the model, ``is_averaged`` is whether the selector is `CompressionAveraging`, and
    ``granularity`` is the resolved ``calibrate``. Raise ValueError if the encoders or ``levels`` contradict each other.
    """
    choice, selector, levels = options["encoder"], options["selector"], options["levels"]
    if choice is None:
        raise ValueError(
            "The encoder of SelectiveNB must be 'modl', a TableEncoder or an IndicatorEncoder, got None; for a table "
            "that is already coded as integers, use DiscreteNB."
        )
    other = getattr(selector, "encoder", "modl")
    if not is_choice(other, ("modl",)) and not are_equal(other, choice):
        name = type(selector).__name__
        if not is_choice(choice, ("modl",)):
            raise ValueError(
                f"SelectiveNB has encoder={choice!r}, but its selector {name} has encoder={other!r}; set only one."
            )
        if other is None:
            raise ValueError(
                f"The selector {name} of SelectiveNB has encoder=None, which is for tables that are already coded as "
                "integers; set its encoder to 'modl'."
            )
        choice = other
    encoder = make_encoder(choice)

    encoder_levels = getattr(encoder, "levels", options)
    has_rules = bool(levels) if isinstance(levels, Mapping | None) else True
    if has_rules and encoder_levels is not None and not are_equal(encoder_levels, levels):
        raise ValueError(
            f"levels={levels!r:.80} cannot be combined with the encoder {encoder!r:.80}, which "
            + ("has levels itself; omit one of them." if hasattr(encoder, "levels") else "ignores them; omit them.")
        )
    no_pairs = is_choice(options["pairs"], ("auto",)) and not is_averaged
    shared = {name: options[name] for name in ("n_jobs", "prior", "levels", "positive")}
    shared["pairs"] = 0 if no_pairs else options["pairs"]
    encoder.set_params(**_left_at_defaults(encoder, shared))
    if isinstance(encoder, TableEncoder) and is_choice(encoder.prior, ("sizes",)) and granularity is not None:
        # One level per value is safe if contributions are fitted, because the fit shrinks those of rare values.
        encoder.set_params(**_left_at_defaults(encoder, {"categorical": "auto"}))
    return encoder


def are_equal(one: Any, other: Any) -> bool:
    """Return whether two values of an option are equal.

    Estimators are equal if they have the same class and equal parameters, and objects that define no equality if they
    have the same repr.
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, BaseEstimator):
        return all(are_equal(value, getattr(other, name)) for name, value in one.get_params(deep=False).items())
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(are_equal(value, other[name]) for name, value in one.items())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(are_equal, one, other))
    # Cloning copies a scorecard, which defines no equality.
    if type(one).__eq__ is object.__eq__:  # type: ignore[comparison-overlap]
        return repr(one) == repr(other)
    return np.array_equal(one, other)


def _left_at_defaults(estimator: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of ``options`` that are parameters of the estimator with the default value of its class."""
    defaults = arguments(type(estimator))  # type: ignore[arg-type]
    return {
        name: value
        for name, value in options.items()
        if name in defaults
        and type(getattr(estimator, name)) is type(defaults[name])
        and getattr(estimator, name) == defaults[name]
    }
