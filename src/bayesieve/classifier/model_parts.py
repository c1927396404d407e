"""The parts of a `SelectiveNB`: which options each of them takes from the model, and which contradict each other."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.counts import CodedTable, check_smoothing
from bayesieve.discretize import IndicatorEncoder, TableEncoder
from bayesieve.discretize.criterion import check_prior
from bayesieve.discretize.pairs import check_pairs
from bayesieve.discretize.scanned_columns import ReadingTooSlow
from bayesieve.engine import IN_MEMORY, Cache, Cluster, Engine, Mapped
from bayesieve.engine.memory_limit import bytes_of, mapped_options
from bayesieve.engine.progress import Clock
from bayesieve.naive_bayes.calibration import rows_to_keep
from bayesieve.naive_bayes.fitting import FitOptions, FittedPredictor
from bayesieve.naive_bayes.shapes import leaves_room
from bayesieve.parts import arguments
from bayesieve.scorecard.record import Scorecard, features_of, scorecard_of
from bayesieve.selection import CodedSelector, CompressionAveraging, make_selector
from bayesieve.selection.base import check_search_options, make_encoder, seed_of
from bayesieve.table import FeatureLevels
from bayesieve.table.cautions import Caution
from bayesieve.table.choices import is_choice
from bayesieve.table.frames import apart_by_name
from bayesieve.table.pair_levels import PairLevels
from bayesieve.table.scanned import ScannedTable, is_scan, scanned_rows
from bayesieve.table.table_levels import TableLevels
from bayesieve.table.target import Target, normalized_weights

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB


MEMORY, DISK = "memory", "disk"
_SCHEMES = ("dask://", "tcp://", "tls://", "ucx://", "inproc://")
_MOST_SURFACES = 30
CALIBRATIONS = ("auto", "weights", "levels", "cells")


def check_options(model: SelectiveNB) -> None:
    """Raise ValueError, in one sentence, for the first option of the model itself that cannot be used."""
    check_smoothing(model.smoothing)
    check_search_options(model)
    check_pairs(model.pairs)
    check_prior(model.prior)
    if not isinstance(model.calibrate, (bool, np.bool_)) and not is_choice(model.calibrate, CALIBRATIONS):
        names = ", ".join(map(repr, CALIBRATIONS))
        raise ValueError(f"calibrate must be True, False or one of {names}, got {model.calibrate!r}.")
    check_monotone(model)
    check_engine(model)
    bytes_of(model.memory_limit)
    if not isinstance(model.normalize, (bool, np.bool_)):
        raise ValueError(f"normalize must be True or False, got {model.normalize!r}.")


def check_monotone(model: SelectiveNB) -> None:
    """Raise ValueError unless ``monotone`` gives signs by names of columns, for evidence that is fitted."""
    if model.monotone is None:
        return
    if not isinstance(model.monotone, Mapping):
        raise ValueError(f"monotone must be None or a dict from names of columns to +1 or -1, got {model.monotone!r}.")
    for name, sign in model.monotone.items():
        if isinstance(sign, (bool, np.bool_)) or not isinstance(sign, Integral) or abs(int(sign)) != 1:
            raise ValueError(f"monotone must be +1 or -1 for the column {name!r}, got {sign!r:.80}.")
    if model.monotone and wanted_fit(model) not in ("levels", "cells"):
        raise ValueError(
            f"monotone needs fitted evidence, which calibrate={model.calibrate!r} does not fit here; set "
            "calibrate='levels' or 'cells'."
        )


def signs_of(model: SelectiveNB, levels: Sequence[FeatureLevels], n_classes: int) -> dict[int, int]:
    """The signs of ``monotone`` by position of the feature; ValueError, which names the column, where one cannot be."""
    if not model.monotone:
        return {}
    if n_classes != 2:
        raise ValueError(f"monotone is for two classes, but the target has {n_classes}; leave it out.")
    of_table = TableLevels.of(levels)
    position = {name: k for k, name in enumerate(of_table.names[: of_table.n_columns])}
    for name in model.monotone:
        if name not in position:
            raise ValueError(f"monotone names the column {name!r}, which is not in the table; name its columns only.")
        if of_table[position[name]].kind != "numeric":
            raise ValueError(f"monotone names the column {name!r}, whose categories have no order; leave it out.")
    return {position[name]: int(sign) for name, sign in model.monotone.items()}


def new_selector_of(model: SelectiveNB) -> CodedSelector:
    """The selector with the options of the model: all of them where it was given by name, else those that it leaves at
    their defaults, except the smoothing.
    """
    options = {name: getattr(model, name) for name in ("max_seconds", "random_state", "n_jobs", "verbose")}
    if isinstance(model.selector, str):
        options["smoothing"] = model.smoothing
    selector = _with_options(make_selector(model.selector), options)
    state = getattr(selector, "random_state", None)
    # The seed itself, so that a saved model can be fitted again with the same result.
    return selector if state is None else selector.set_params(random_state=seed_of(state))


def new_encoder_of(model: SelectiveNB) -> Any:
    """The encoder, not fitted yet, that ``fit`` would code rows with."""
    pairs = 0 if is_choice(model.pairs, ("auto",)) and not is_averaged(model) else model.pairs
    own = {"n_jobs": model.n_jobs, "prior": model.prior, "pairs": pairs}
    encoder = _with_options(make_encoder(encoder_asked_for(model)), own)
    if isinstance(encoder, TableEncoder) and is_averaged(model) and wanted_fit(model) == "cells":
        encoder._numbers_apart = leaves_room
    if isinstance(encoder, TableEncoder) and encoder.prior == "sizes" and wanted_fit(model) is not None:
        return _with_options(encoder, {"categorical": "auto"})  # what is fitted holds the levels of values together
    return encoder


def is_averaged(model: SelectiveNB) -> bool:
    """Whether the weights are averaged by compression, which options that are "auto" are for."""
    return isinstance(model.selector, CompressionAveraging) or is_choice(model.selector, (CompressionAveraging.name,))


def wanted_fit(model: SelectiveNB) -> str | None:
    """What to fit after the search: "weights", "levels", "cells", or nothing."""
    if not isinstance(model.calibrate, str):
        return "weights" if model.calibrate else None
    if model.calibrate == "auto":
        return "cells" if is_averaged(model) else None
    return str(model.calibrate)


def encoder_asked_for(model: SelectiveNB) -> Any:
    """The model's encoder, or its selector's where only that one has options.

    ValueError if both have options that differ.
    """
    own, other = model.encoder, getattr(model.selector, "encoder", "modl")
    if own is None:
        raise ValueError(
            "SelectiveNB codes the columns of the table: encoder must be 'modl', a TableEncoder or an "
            "IndicatorEncoder, not None; DiscreteNB takes codes."
        )
    if is_choice(other, ("modl",)) or repr(other) == repr(own):
        return own
    name = type(model.selector).__name__
    if not is_choice(own, ("modl",)):
        raise ValueError(
            f"SelectiveNB has the encoder {own!r}, its {name} the encoder {other!r}; give one of them only."
        )
    if other is None:
        raise ValueError(
            f"SelectiveNB codes the columns of the table, but its {name} has encoder=None, which is for codes; leave "
            "the selector's encoder at 'modl'."
        )
    return other


def coding_options_of(model: SelectiveNB, encoder: Any, engine: Engine) -> dict[str, Any]:
    """How ``fit`` codes the rows: where it keeps them, and which columns have no pairs."""
    options: dict[str, Any] = {"engine": engine}
    if isinstance(encoder, TableEncoder):
        options |= {"by_class": not model.selector_._rows_in_order, "verbose": model.verbose}
        if model.monotone:
            options["single"] = tuple(model.monotone)
        if model.max_seconds is not None:
            clock, limit = Clock(None), model.max_seconds
            options["seconds_left"] = lambda: limit - clock.seconds
    return options


def rows_to_fit(model: SelectiveNB, X: Any, y: Any, weights: Any, groups: Any) -> tuple[Any, Any, Any, Any]:
    """The same, with weights as the model wants them; read from columns where ``X`` is to be scanned."""
    if is_scan(X, y):
        X, y, weights, groups = scanned_rows(X, y, weights, groups)
    else:
        X, y, weights, groups = apart_by_name(X, y, weights, groups)
    return X, y, normalized_weights(weights) if model.normalize else weights, groups


def coded_rows(
    model: SelectiveNB, encoder: Any, table: Any, y: Any, weights: Any, groups: Any, options: dict[str, Any]
) -> tuple[Any, CodedTable, Any]:
    """The rows that the model is learnt from, their codes, and their groups: all rows or, where reading them would take
    longer than ``max_seconds``, evenly spread pieces of the scan.
    """
    n_all = table.n_rows if isinstance(table, ScannedTable) else 0
    if isinstance(encoder, TableEncoder) and isinstance(table, ScannedTable):
        options = {**options, "samples": {seed_of(model.random_state): rows_to_keep(table.n_columns, y.n_classes)}}
    while True:
        try:
            coded = encoder.fit_transform_coded(table, y, weights, **options)
        except ReadingTooSlow as slow:
            table, rows = table.part(slow.n_rows, y.codes)
            if rows.all():
                options = {**options, "seconds_left": None}
            y, groups = Target(y.codes[rows], y.classes), None if groups is None else groups[rows]
            weights = None if weights is None else weights[rows]
            weights = normalized_weights(weights) if model.normalize else weights
        else:
            break
    if isinstance(table, ScannedTable) and table.n_rows < n_all:
        sentence = (
            f"The model is learnt from {table.n_rows:,} of {n_all:,} rows, in pieces spread over the scan: max_seconds "
            "is too short to read them all."
        )
        encoder.scan_cautions_ = [Caution("time", (), sentence), *encoder.scan_cautions_]
    return table, coded, groups


def name_of(y: Any) -> str | None:
    """The name of a series of labels, if it has one, or of the column that they are in."""
    name = y if isinstance(y, str) else getattr(y, "name", None)
    return name if isinstance(name, str) and name else None


def groups_of(selector: CodedSelector, groups: Any) -> dict[str, Any]:
    """The groups as an option of the search, with a warning where it makes no use of them."""
    if selector.takes_groups:
        return {"groups": groups}
    warnings.warn(
        f"groups are ignored: {type(selector).__name__} splits no rows by them; leave them out, or use "
        "WrapperSelector(evaluation=GroupKFold()).",
        UserWarning,
        stacklevel=4,
    )
    return {}


def rows_to_learn(model: SelectiveNB, coded: CodedTable) -> CodedTable:
    """The rows that the probabilities are learnt from: all, or those that the fitted selector keeps to, by whose levels
    the model then codes.
    """
    learnt = model.selector_.rows_to_learn(coded)
    if learnt.levels is not None and learnt.levels is not coded.levels:
        model.encoder_ = copy(model.encoder_)
        model.encoder_._remember(TableLevels.of(learnt.levels), learnt.classes)
    model.n_rows_ = coded.n_rows
    return learnt


def fit_options(model: SelectiveNB, signs: Mapping[int, int]) -> FitOptions:
    """What to fit after the search; as many surfaces as ``pairs`` leaves room for, without counters, identifiers and
    dates.
    """
    pairs, most = getattr(model.encoder_, "pairs", 0), 0
    if isinstance(pairs, (str, Integral)):
        n_pairs = len(TableLevels.of(model.encoder_.levels_).pairs)
        most = _MOST_SURFACES if isinstance(pairs, str) else min(_MOST_SURFACES, int(pairs) - n_pairs)
    return FitOptions(
        fit=wanted_fit(model),
        signs=signs,
        drop=is_averaged(model),
        most_surfaces=most,
        without_surface=getattr(model.encoder_, "marks_", {}),
        seed=seed_of(model.random_state),
        n_jobs=model.n_jobs,
    )


def add_surfaces(model: SelectiveNB, surfaces: Sequence[PairLevels]) -> None:
    """Let the model code rows by surfaces, too, pairs after all other features which the search gave no weight."""
    if not surfaces:
        return
    levels = TableLevels.of(model.encoder_.levels_)
    model.encoder_ = copy(model.encoder_)
    model.encoder_._remember(levels.with_pairs([*levels.pairs, *surfaces]), model.encoder_.classes_)
    selector = model.selector_
    selector.weights_ = np.append(selector.weights_, np.zeros(len(surfaces)))
    selector.support_ = selector.weights_ > 0
    selector.n_features_in_ = len(selector.weights_)


def scorecard_of_fit(model: SelectiveNB, fitted: FittedPredictor, signs: Mapping[int, int]) -> Scorecard:
    """The record of what was fitted."""
    predictor = fitted.predictor
    features = features_of(
        predictor, model.encoder_.levels_, fitted.cells, model.selector_.weights_, signs, fitted.errors
    )
    evidence = "counted" if not predictor.fitted_ else "levels" if fitted.cells is None else "cells"
    facts = facts_of(model, {"evidence": evidence})
    return scorecard_of(features, predictor.intercept_, predictor.class_count_, **facts)


def facts_of(model: SelectiveNB, provenance: dict[str, Any]) -> dict[str, Any]:
    """What a scorecard keeps of a model besides its features."""
    encoder = model.encoder_
    names = encoder.thresholds_ if isinstance(encoder, IndicatorEncoder) else TableLevels.of(encoder.levels_).names
    provenance |= {"weight_factor": model.weight_factor_, "smoothing": model.smoothing_, "n_rows": model.n_rows_}
    return {
        "classes": model.classes_,
        "columns": tuple(names)[: encoder.n_features_in_],
        "provenance": provenance,
    }


def check_texts(coded: CodedTable, target_name: str | None) -> None:
    """Raise ValueError for a name, a category or a class with half a character in it, as bytes that are no text leave
    behind: no file, table or page could show it.
    """
    levels = coded.levels.in_objects if isinstance(coded.levels, TableLevels) else coded.levels or ()
    for level in levels:
        for group in level.groups or ():
            _check_text(f"Column {level.name!r}", (value for value in group if isinstance(value, str)))
    _check_text("The header", [*coded.names, target_name or ""])
    _check_text("The target", (label for label in np.asarray(coded.classes).tolist() if isinstance(label, str)))


def _check_text(where: str, texts: Any) -> None:
    texts = list(texts)
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        broken = next(text for text in texts if any("\ud800" <= character <= "\udfff" for character in text))
        raise ValueError(
            f"{where} holds {broken!r}, which is not valid Unicode; decode it again, for example with errors='replace'."
        ) from None


def _with_options(part: Any, options: dict[str, Any]) -> Any:
    """A part of the model with these options, where it has such and leaves them at their defaults."""
    known = arguments(type(part))  # type: ignore[arg-type]
    for name, value in options.items():
        if name in known and _same(getattr(part, name), known[name]):
            setattr(part, name, value)
    return part


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and value == default


@contextmanager
def opened_engine(model: SelectiveNB, scanned: bool) -> Iterator[Engine]:
    """Where ``fit`` keeps the rows, those of a scan in files; a cluster forgets them at the end, whatever ends it."""
    in_files = scanned or model.memory_limit is not None or is_choice(model.engine, (DISK,))
    limits = mapped_options(model.memory_limit) if in_files else {}
    if model.cache is not None:
        yield model.cache if isinstance(model.cache, Engine) else Cache(model.cache, **limits)
    elif is_cluster(model.engine):
        with Cluster(model.engine) as engine:
            yield engine
    elif isinstance(model.engine, Engine):
        yield model.engine
    else:
        yield Mapped(tempfile.gettempdir(), **limits) if limits else IN_MEMORY


def is_cluster(engine: Any) -> bool:
    """Whether this names a Dask cluster: the address of a scheduler, or a client."""
    if isinstance(engine, str):
        return engine.startswith(_SCHEMES)
    kinds = type(engine).__mro__
    return any(kind.__module__.startswith("distributed.") and kind.__name__ == "Client" for kind in kinds)


def check_engine(model: SelectiveNB) -> None:
    """Raise ValueError unless ``engine`` is one, and the only place to keep rows."""
    engine = model.engine
    if not (isinstance(engine, Engine) or is_choice(engine, (MEMORY, DISK)) or is_cluster(engine)):
        raise ValueError(
            "engine must be 'memory', 'disk', a Dask client, the address of its scheduler such as 'dask://host:8786', "
            f"or an Engine, got {engine!r:.80}."
        )
    if model.cache is not None and not is_choice(engine, (MEMORY, DISK)):
        raise ValueError("engine and cache are two places to keep the rows; give one of them only.")
