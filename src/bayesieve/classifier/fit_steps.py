"""Steps of `SelectiveNB.fit`: checks of its options, its encoder and selector, and its rows from reading to codes."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayesieve.counts import CodedTable, Smoothing, check_smoothing
from bayesieve.discretize import IndicatorEncoder, TableEncoder
from bayesieve.discretize.criterion import check_prior
from bayesieve.discretize.pairs import check_pairs
from bayesieve.discretize.rules import TableRules
from bayesieve.engine import IN_MEMORY, Engine, Mapped
from bayesieve.engine.executors import executor_of
from bayesieve.engine.files import bytes_of, mapped_options
from bayesieve.engine.progress import Clock
from bayesieve.evidence.calibration import OFFSET, intercept_for, rows_to_keep
from bayesieve.evidence.fitting import FitOptions
from bayesieve.evidence.shapes import leaves_room
from bayesieve.parts import Allowed, arguments, check_allowed, is_choice, is_sign
from bayesieve.selection import CodedSelector, CompressionAveraging, make_selector
from bayesieve.selection.base import check_search_options, make_encoder, seed_of
from bayesieve.table import FeatureLevels
from bayesieve.table.cautions import Caution, warn_caller
from bayesieve.table.frames import apart_by_name, as_table, is_scan
from bayesieve.table.levels import TableLevels
from bayesieve.table.scanned import ScannedTable, scanned_rows
from bayesieve.table.target import as_target, class_position, normalized_weights
from bayesieve.words import did_you_mean

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB


MEMORY, DISK = "memory", "disk"
_MOST_SURFACES = 60
_ALLOWED = {
    "calibrate": Allowed.choice(True, False, "auto", "weights", "levels", "cells"),
    "normalize": Allowed.choice(True, False),
}


def check_options(model: SelectiveNB) -> None:
    """Raise ValueError, in one sentence, for the first option of the model itself that cannot be used."""
    check_smoothing(model.smoothing)
    check_search_options(model)
    check_pairs(model.pairs)
    check_prior(model.prior)
    check_allowed(vars(model), _ALLOWED)
    check_monotone(model)
    check_engine(model.engine)
    if model.memory_limit is not None:
        bytes_of(model.memory_limit)


def check_engine(engine: Any) -> None:
    """Raise ValueError unless ``engine`` names a storage or is an executor."""
    if not is_choice(engine, (MEMORY, DISK)) and executor_of(engine) is None:
        raise ValueError(
            f"engine must be 'memory', 'disk', a Dask client or an executor of concurrent.futures, got {engine!r:.80}."
        )


def check_monotone(model: SelectiveNB) -> None:
    """Raise ValueError unless ``monotone`` gives signs by names of columns, for evidence that is fitted."""
    if model.monotone is None:
        return
    if not isinstance(model.monotone, Mapping):
        raise ValueError(f"monotone must be None or a dict from names of columns to +1 or -1, got {model.monotone!r}.")
    for name, sign in model.monotone.items():
        if not is_sign(sign):
            raise ValueError(f"monotone must be +1 or -1 for the column {name!r}, got {sign!r:.80}.")
    if model.monotone:
        demand_fitted(model, "monotone needs fitted evidence")


def demand_fitted(model: SelectiveNB, what: str) -> None:
    """Raise ValueError unless evidence is fitted, which ``what`` tells the need of."""
    if wanted_fit(model.calibrate, model.selector) not in ("levels", "cells"):
        given = f"calibrate={model.calibrate!r}"
        raise ValueError(f"{what}, which {given} does not fit here; set calibrate='levels' or 'cells'.")


def signs_of(model: SelectiveNB, encoder: Any, n_classes: int, side: int) -> dict[int, int]:
    """The signs of ``monotone`` and ``levels`` by position of the feature, for the second class; ValueError, which
    names the column, if one cannot be. ``side`` : as `side_of` tells it.
    """
    levels, given = encoder.levels_, {name: side * sign for name, sign in (model.monotone or {}).items()}
    by_rule = columns_with(encoder, "monotone")
    monotone = encoder.rules_.signs(levels) if by_rule and n_classes == 2 else {}
    for name, sign in given.items():
        if monotone.get(name, sign) != sign:
            raise ValueError(f"monotone is {side * sign:+d} for {name!r}, but levels has the other sign; choose one.")
    if monotone:
        demand_fitted(model, f"levels asks for monotone evidence of the column {next(iter(monotone))!r}")
    monotone |= given
    if not (monotone or by_rule):
        return {}
    if n_classes != 2:
        raise ValueError(f"monotone is for two classes, but the target has {n_classes}; leave it out.")
    of_table = TableLevels.of(levels)
    position = {name: k for k, name in enumerate(of_table.names[: of_table.n_columns])}
    for name in monotone:
        if name not in position:
            hint = did_you_mean(name, position) or "name its columns only."
            raise ValueError(f"monotone names the column {name!r}, which is not in the table; {hint}")
        if of_table[position[name]].kind != "numeric":
            raise ValueError(f"monotone names the column {name!r}, whose categories have no order; leave it out.")
    return {position[name]: int(sign) for name, sign in monotone.items()}


def new_selector_of(model: SelectiveNB) -> CodedSelector:
    """The selector with the options of the model: all of them if it was given by name, else those that it leaves at
    their defaults, except the smoothing.
    """
    options = {name: getattr(model, name) for name in ("max_seconds", "random_state", "n_jobs", "verbose")}
    if isinstance(model.selector, str):
        options["smoothing"] = model.smoothing
    selector = _with_options(make_selector(model.selector), options)
    state = getattr(selector, "random_state", None)
    if isinstance(selector, CompressionAveraging):
        selector._thorough = wanted_fit(model.calibrate, selector) in ("levels", "cells")
    # The seed itself, so that a saved model can be fitted again with the same result.
    return selector if state is None else selector.set_params(random_state=seed_of(state))


def new_encoder_of(model: SelectiveNB) -> Any:
    """The encoder, not fitted yet, that ``fit`` would code rows with."""
    pairs = 0 if is_choice(model.pairs, ("auto",)) and not is_averaged(model.selector) else model.pairs
    own = {"n_jobs": model.n_jobs, "prior": model.prior, "pairs": pairs, "levels": model.levels}
    fitted = wanted_fit(model.calibrate, model.selector)
    encoder = make_encoder(encoder_asked_for(model.encoder, model.selector))
    own_levels = getattr(encoder, "levels", model)
    if model.levels and own_levels is not None and own_levels != model.levels:
        raise ValueError(
            f"levels={model.levels!r:.80} is of no use with the encoder {encoder!r:.80}, which "
            + ("has levels itself; leave one out." if hasattr(encoder, "levels") else "takes none; leave it out.")
        )
    encoder = _with_options(encoder, own)
    if isinstance(encoder, TableEncoder):
        encoder._positive = model.positive
        encoder._numbers_apart = leaves_room if is_averaged(model.selector) and fitted == "cells" else None
    if isinstance(encoder, TableEncoder) and encoder.prior == "sizes" and fitted is not None:
        return _with_options(encoder, {"categorical": "auto"})  # what is fitted holds the levels of values together
    return encoder


def is_averaged(selector: Any) -> bool:
    """Whether the weights are averaged by compression, which options that are "auto" are for."""
    return isinstance(selector, CompressionAveraging) or is_choice(selector, (CompressionAveraging.name,))


def wanted_fit(calibrate: Any, selector: Any) -> str | None:
    """What to fit after the search: "weights", "levels", "cells", or nothing."""
    if not isinstance(calibrate, str):
        return "weights" if calibrate else None
    if calibrate == "auto":
        return "cells" if is_averaged(selector) else None
    return str(calibrate)


def encoder_asked_for(own: Any, selector: Any) -> Any:
    """The model's ``own`` encoder, or its selector's if only that one has options.

    ValueError if both have options that differ.
    """
    other = getattr(selector, "encoder", "modl")
    if own is None:
        raise ValueError(
            "SelectiveNB codes the columns of the table: encoder must be 'modl', a TableEncoder or an "
            "IndicatorEncoder, not None; DiscreteNB takes codes."
        )
    if is_choice(other, ("modl",)) or repr(other) == repr(own):
        return own
    name = type(selector).__name__
    if not is_choice(own, ("modl",)):
        raise ValueError(f"SelectiveNB has the encoder {own!r}, its {name} the encoder {other!r}; give only one.")
    if other is None:
        raise ValueError(
            f"SelectiveNB codes the columns of the table, but its {name} has encoder=None, which is for codes; leave "
            "the selector's encoder at 'modl'."
        )
    return other


class TrainingRows(NamedTuple):
    """Rows to learn from; ``is_normalized``: whether their weights are divided by their mean."""

    table: Any
    target: Any
    weights: Any
    groups: Any
    is_normalized: bool

    @property
    def is_scanned(self) -> bool:
        return isinstance(self.table, ScannedTable)


def read_rows(
    X: Any, y: Any, weights: Any, groups: Any, *, as_columns: bool, normalize: bool, positive: Any = None
) -> TrainingRows:
    """The rows apart from their classes, weights and groups, which may be columns of them; ValueError if no row is of
    the class ``positive``.
    """
    if is_scan(X, y):
        X, y, weights, groups = scanned_rows(X, y, weights, groups)
    else:
        X, y, weights, groups = apart_by_name(X, y, weights, groups)
    if positive is not None:
        y = as_target(y)
        class_position(y.classes, positive, "positive")
    weights = normalized_weights(weights) if normalize else weights
    return TrainingRows(as_table(X) if as_columns else X, y, weights, groups, normalize)


def open_engine(rows: TrainingRows, engine: Any, memory_limit: Any) -> Engine:
    """Return the storage for the rows of a fit: files for those of a scan, or if the options ask for it."""
    if rows.is_scanned or memory_limit is not None or is_choice(engine, (DISK,)):
        return Mapped(tempfile.gettempdir(), **mapped_options(memory_limit))
    return IN_MEMORY


def executor_cautions(engine: Any, rows: TrainingRows, encoder: Any) -> list[Caution]:
    """Return a caution if ``engine`` is an executor that the fit has no use for."""
    if isinstance(engine, str) or (rows.is_scanned and isinstance(encoder, TableEncoder)):
        return []
    sentence = (
        "The executor given as engine is not used: it reads the rows of files that are coded by a TableEncoder. Pass "
        "bayesieve.scan(files) in place of a table in memory, or leave engine out."
    )
    return [Caution("engine", (), sentence)]


def coding_options_of(model: SelectiveNB, encoder: Any, selector: CodedSelector, engine: Engine) -> dict[str, Any]:
    """How ``fit`` codes the rows: where it keeps them, and which columns have no pairs."""
    options: dict[str, Any] = {"engine": engine}
    if isinstance(encoder, TableEncoder):
        options |= {"by_class": not selector._rows_in_order, "verbose": model.verbose}
        if model.monotone:
            options["single"] = tuple(model.monotone)
        options |= {
            "clock": Clock(model.max_seconds),
            "executor": None if isinstance(model.engine, str) else executor_of(model.engine),
        }
        options["rows_kept"] = rows_to_keep
        options["copies_once"] = True  # levels, folds and leave-one-out would take copies for further rows
    return options


def with_offset(model: SelectiveNB, coded: CodedTable, offset: Any) -> tuple[CodedTable, np.ndarray]:
    """The rows with the ``offset`` of `SelectiveNB.fit` as a column that gives the classes their shares, and what was
    added to it for that, (n_classes,); ValueError if it cannot be used.
    """
    if offset is None:
        return coded, np.zeros(coded.n_classes)
    demand_fitted(model, "offset= needs fitted evidence")
    column, runs = offset_of(offset, coded.n_rows, coded.n_classes), coded.rows.runs
    column = column if runs is None else column[np.argsort(runs.codes, kind="stable")]
    weights = np.ones(coded.n_rows) if coded.weights is None else coded.weights
    moved = intercept_for(column, np.asarray(coded.class_codes).astype(np.int64), weights)
    return coded.with_columns(**{OFFSET: column + moved}), moved


def offset_of(offset: Any, n_rows: int, n_classes: int) -> np.ndarray:
    """Log odds known beforehand as (n_rows, n_classes); ValueError unless they are finite and of this shape."""
    try:
        given = np.asarray(offset, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.zeros(())
    if n_classes == 2 and given.shape == (n_rows,):
        given = np.stack([np.zeros(n_rows), given], axis=1)
    if given.shape != (n_rows, n_classes) or not np.isfinite(given).all():
        one = f"a finite number for each of {n_rows:,} rows" if n_classes == 2 else ""
        raise ValueError(
            f"offset must hold {one or f'{n_classes} finite numbers, one a class, for each of {n_rows:,} rows'}, got "
            f"{f'an array of shape {given.shape}' if given.ndim else type(offset).__name__}."
        )
    return given


def name_of(y: Any) -> str | None:
    """The name of a series of labels, if it has one, or of the column that they are in."""
    name = y if isinstance(y, str) else getattr(y, "name", None)
    return name if isinstance(name, str) and name else None


def groups_for(selector: CodedSelector, groups: Any) -> dict[str, Any]:
    """The groups, if any, as an option of the search, with a warning if it makes no use of them."""
    if groups is None:
        return {}
    if selector.takes_groups:
        return {"groups": groups}
    sentence = (
        f"groups are ignored: {type(selector).__name__} splits no rows by them; leave them out, or use "
        "WrapperSelector(evaluation=GroupKFold())."
    )
    warn_caller(sentence)
    return {}


def rows_to_learn(
    selector: CodedSelector, coded: CodedTable, levels: Sequence[FeatureLevels]
) -> tuple[CodedTable, Sequence[FeatureLevels]]:
    """The rows that probabilities are learnt from, and their levels: all rows and their ``levels``, or what the fitted
    selector keeps to.
    """
    learnt = selector.rows_to_learn(coded)
    again = learnt.levels is not None and learnt.levels is not coded.levels
    return learnt, TableLevels.of(learnt.levels) if again else levels  # type: ignore[arg-type]


def weights_of_search(
    selector: CodedSelector, levels: Sequence[FeatureLevels], signs: Mapping[int, int], included: Collection[int]
) -> np.ndarray:
    """The weights that a fitted selector found: 0 for pairs with columns that have a sign, and the highest for features
    at the positions ``included``.
    """
    weights = check_weights(selector.weights_, len(levels)).copy()
    for k in included:
        weights[k] = weights.max() or 1.0
    if not signs:
        return weights
    of_table = TableLevels.of(levels)
    single = {of_table.names[k] for k in signs}
    pairs = [not single.intersection(part.name for part in pair.parts) for pair in of_table.pairs]
    return weights * np.append(np.ones(of_table.n_columns), pairs)


def check_weights(weights: Any, n_features: int) -> np.ndarray:
    """Feature weights as an array; ValueError unless there is one per feature, finite and non-negative."""
    if weights is None:
        return np.ones(n_features)
    try:
        weights = np.asarray(weights, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"feature_weights must hold one number for each of the {n_features} features, got {weights!r:.80}."
        ) from None
    if weights.shape != (n_features,):
        raise ValueError(
            f"feature_weights must hold one weight for each of the {n_features} features, got shape {weights.shape}."
        )
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        k = int(np.flatnonzero(~np.isfinite(weights) | (weights < 0))[0])
        raise ValueError(
            f"feature_weights must be finite and not negative, but the weight of feature {k} is {weights[k]}."
        )
    return weights


def fit_options(
    model: SelectiveNB, encoder: Any, levels: Sequence[FeatureLevels], signs: Mapping[int, int]
) -> FitOptions:
    """What to fit after the search; as many surfaces as ``pairs`` leaves room for, without counters, identifiers and
    dates.
    """
    pairs, most = getattr(encoder, "pairs", 0), 0
    rules: TableRules | None = getattr(encoder, "rules_", None)
    excluded, most_cells = columns_with(encoder, "exclude"), {} if rules is None else rules.most_cells
    if isinstance(pairs, (str, Integral)):
        n_pairs = len(TableLevels.of(levels).pairs)
        most = _MOST_SURFACES if isinstance(pairs, str) else min(_MOST_SURFACES, int(pairs) - n_pairs)
    return FitOptions(
        fit=wanted_fit(model.calibrate, model.selector),
        signs=signs,
        drop=is_averaged(model.selector),
        most_surfaces=most,
        without_surface={*getattr(encoder, "marks_", {}), *excluded, *(() if rules is None else rules.by_hand)},
        n_jobs=model.n_jobs,
        excluded=positions_in(levels, excluded),
        included=positions_in(levels, columns_with(encoder, "include")),
        most_cells={k: most_cells[levels[k].name] for k in positions_in(levels, most_cells)},
    )


def columns_with(encoder: Any, option: str) -> Collection[str]:
    """Columns whose levels a fitted encoder was asked this of."""
    rules: TableRules | None = getattr(encoder, "rules_", None)
    return () if rules is None else rules.named(option)


def positions_in(levels: Sequence[FeatureLevels], columns: Collection[str]) -> list[int]:
    """The positions of these columns among the features."""
    names = TableLevels.of(levels).names if columns else ()
    return [k for k, name in enumerate(names) if name in columns]


def with_levels(encoder: Any, levels: Sequence[FeatureLevels]) -> Any:
    """The encoder, which codes by these levels: a copy unless they are its own."""
    if levels is encoder.levels_:
        return encoder
    other = copy(encoder)
    other._remember(levels, encoder.classes_)
    return other


def facts_of(
    encoder: Any, evidence: str, factor: float, smoothing: Smoothing, n_rows: int, positive: int | None
) -> dict[str, Any]:
    """What a scorecard keeps of a fit besides its features."""
    names = encoder.thresholds_ if isinstance(encoder, IndicatorEncoder) else TableLevels.of(encoder.levels_).names
    provenance = {"evidence": evidence, "weight_factor": factor, "smoothing": smoothing, "n_rows": n_rows}
    provenance |= {} if positive is None else {"positive": positive}
    rules: TableRules | None = getattr(encoder, "rules_", None)
    provenance |= {"by_hand": rules.by_hand} if rules is not None and rules.by_hand else {}
    columns = tuple(names)[: encoder.n_features_in_]
    return {"columns": columns, "provenance": provenance, "library": encoder._library}


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
    """A part of the model with these options, if it has such and leaves them at their defaults."""
    known = arguments(type(part))  # type: ignore[arg-type]
    for name, value in options.items():
        if name in known and _same(getattr(part, name), known[name]):
            setattr(part, name, value)
    return part


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and value == default
