"""Provenance of a fit as plain values: options, selector, rules, training table and versions."""

from __future__ import annotations

import hashlib
import os
import platform
import re
from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from bayesieve.classifier.fit_steps import TrainingRows
from bayesieve.classifier.plan import FitPlan, are_equal
from bayesieve.counts import CodedTable
from bayesieve.discretize import IndicatorEncoder, TableEncoder
from bayesieve.discretize.rules import TableRules
from bayesieve.evaluation.splits import fingerprint
from bayesieve.evidence.fitting import Evidence
from bayesieve.parts import OptionText
from bayesieve.scorecard.provenance import Provenance, RulesFile, SelectorFacts, TableFacts
from bayesieve.selection import CodedSelector
from bayesieve.selection.boosted import BoostedSelector
from bayesieve.selection.filters import RankedSelector
from bayesieve.table import Table, as_sample_weight
from bayesieve.table.cautions import silenced
from bayesieve.version import __version__

_UNSAVED = ("engine", "memory_limit", "verbose")
_MAX_TEXT = 1000  # characters stored of an option that is an object
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def provenance_of(
    plan: FitPlan,
    selector: CodedSelector,
    encoder: Any,
    evidence: Evidence,
    coded: CodedTable,
    positive: int | None,
    rows: TrainingRows | None,
    held_out: bool,
) -> Provenance:
    """Return the provenance of a fit, to be stored in the scorecard.

    Parameters
    ----------
    plan : options of the fit.
    selector, encoder : the fitted selector and encoder.
    evidence : the fitted contributions.
    coded : the coded training rows.
    positive : position of the positive class, if the user named it, otherwise None.
    rows : the training rows; None if they were coded already.
    held_out : whether the search held rows out, so that contributions are only counted on the other rows.
    """
    rules: TableRules | None = encoder.rules_
    smoothing: Any = evidence.smoothing
    levels = encoder.levels if isinstance(encoder, TableEncoder) else None
    table: TableFacts | None = None
    if (
        rows is not None and isinstance(rows.table, Table) and not rows.table.reads_rows
    ):  # not for scans, whose files would have to be read again
        with silenced():  # the same cautions were issued when coding
            weights = as_sample_weight(rows.weights, rows.table.n_rows)
            sha256 = fingerprint(rows.table, np.asarray(coded.class_codes), np.asarray(coded.classes), weights)
        table = {"rows": rows.table.n_rows, "columns": rows.table.n_columns, "sha256": sha256}
    facts: dict[str, Any] = {
        "n_rows": int(coded.n_rows),
        "evidence": evidence.kind,
        "weight_factor": float(evidence.factor),
        "smoothing": float(smoothing) if isinstance(smoothing, (int, float, np.number)) else smoothing,
        "positive": positive,
        "selector": _selector_facts(selector, coded, held_out),
        "coding": _coding_in_words(encoder),
        "options": _plain_options(plan, selector, encoder if rows is None else None),
        "rules": None if rules is None else dict(rules.given),
        "by_hand": None if rules is None or not rules.by_hand else tuple(rules.by_hand),
        "rules_file": _rules_file(levels) if isinstance(levels, (str, os.PathLike)) else None,
        "marks": dict(encoder.marks_) or None,
        "table": table,
        "versions": {"bayesieve": __version__, "python": platform.python_version(), "numpy": np.__version__},
    }
    return {name: value for name, value in facts.items() if value is not None}  # type: ignore[return-value]


def _selector_facts(selector: CodedSelector, coded: CodedTable, held_out: bool) -> SelectorFacts:
    """Return the name of a fitted selector and sentences about it for reports; with ``held_out``, also the numbers of
    all rows by class.
    """
    remark = "Informative alone, but adds too little beside the other features."
    # A derived class inherits the name and sentence of its base class, which do not describe it.
    described = type(selector).__dict__
    sentence = described.get("sentence", "A selector of your own found the weights.")
    if isinstance(selector, RankedSelector):
        remark = "Informative alone, but ranked behind the features kept."
        if selector.trace_.validation_name is not None:
            sentence += " How many of them to keep was measured on held-out rows."
    elif isinstance(selector, BoostedSelector):
        remark = "Informative alone, but won no round."
    facts: SelectorFacts = {
        "name": described.get("name", type(selector).__name__),
        "sentence": sentence,
        "remark": remark,
        "chooses_on_path": selector.chooses_on_path,
    }
    if held_out:
        row_counts = np.bincount(np.asarray(coded.class_codes), minlength=coded.n_classes)
        facts["rows_by_class"] = tuple(row_counts.tolist())
    return facts


def _coding_in_words(encoder: Any) -> tuple[tuple[str, str], ...]:
    """Return names and values of the options of an encoder as pairs of texts, for reports."""
    missing = "a level of their own" if encoder.missing == "level" else "ignored"
    if isinstance(encoder, IndicatorEncoder):
        learnt = isinstance(encoder.thresholds, Integral)
        return (
            ("Indicators", f"{len(encoder.levels_):,}, of {len(encoder.thresholds_):,} scores"),
            ("Thresholds", f"{encoder.thresholds} quantiles of each score" if learnt else "as given"),
            ("Missing scores", missing),
        )
    kinds = ", ".join(f"{name}: {kind}" for name, kind in (getattr(encoder, "kinds", None) or {}).items())
    return (
        ("Numeric columns", str(encoder.numeric)),
        ("Categorical columns", str(encoder.categorical)),
        ("Missing values", missing),
        ("Unseen values", "add nothing"),
        *([("Kinds set by hand", kinds)] if kinds else []),
    )


def _plain_options(plan: FitPlan, selector: CodedSelector, given_encoder: Any) -> dict[str, Any]:
    """Return the options of the model as plain values: objects as text, a random generator as the seed drawn
    from it.

    ``given_encoder`` coded the rows before the fit, and replaces the option ``encoder`` if it has other options; None
    if the encoder of the plan was fitted.
    """
    options = dict(plan.options)
    state = options["random_state"]
    if state is not None and not isinstance(state, Integral):
        options["random_state"] = getattr(selector, "random_state", None)
    if given_encoder is not None and not are_equal(given_encoder, plan.encoder):
        options["encoder"] = given_encoder
    options["levels"] = options["levels"] is not None  # True if the stored rules were passed as this option
    plain: dict[str, Any] = {}
    for name, value in options.items():
        if name in _UNSAVED:
            continue
        if isinstance(value, OptionText):
            plain[name] = {"object": str(value)}
            continue
        try:
            plain[name] = _plain_values(value)
        except TypeError:
            text = _ADDRESS.sub("", " ".join(repr(value).split()))
            plain[name] = {"object": text[:_MAX_TEXT]}
    return plain


def _plain_values(value: Any) -> Any:
    """Return a value converted to JSON types. Raise TypeError if that is not possible."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool):
        return value
    for plain in (str, int, float):
        if isinstance(value, plain) and (plain is not float or np.isfinite(value)):
            return plain(value)
    if isinstance(value, (list, tuple, range, np.ndarray)):
        return [_plain_values(one) for one in value]
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {str(name): _plain_values(one) for name, one in value.items()}
    raise TypeError


def _rules_file(levels: str | os.PathLike[str]) -> RulesFile | None:
    """Return name, hash and content of the file with the rules for levels; None if the file no longer exists."""
    try:
        content = Path(levels).read_bytes()
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError):  # the file may have been removed since it was read
        return None
    return {"name": Path(levels).name, "sha256": hashlib.sha256(content).hexdigest(), "content": text}


def options_of_file(options: Mapping[str, Any], rules: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return constructor options from the ``options`` in a model file. Objects become `OptionText`, which ``fit`` does
    not accept.

    ``rules`` are the rules for levels in the file, the value of the option ``levels`` if it was set; or None.
    """
    plain = {name: _from_plain(value) for name, value in options.items()}
    return plain | {"levels": dict(rules) if plain.get("levels") and rules is not None else None}


def _from_plain(value: Any) -> Any:
    """Return the value of an option from its JSON value. A dict with the only key "object" becomes an `OptionText`."""
    if isinstance(value, dict):
        text = value.get("object")
        if len(value) == 1 and isinstance(text, str):
            return OptionText(text)
        return {name: _from_plain(one) for name, one in value.items()}
    return [_from_plain(one) for one in value] if isinstance(value, list) else value
