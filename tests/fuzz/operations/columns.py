"""Encoders and discretizers: raw columns to codes."""

from __future__ import annotations

import json
import operator
from typing import Any

import numpy as np
from sklearn.base import clone

import bayesieve as bs
from tests.fuzz import invariants, options
from tests.fuzz.case import Case, operation
from tests.fuzz.files import spoilt_json
from tests.fuzz.libraries import LIBRARIES, hold, image, take
from tests.fuzz.tables import draw_again, draw_table, draw_task


def _encoder(case: Case, names: list[Any]) -> Any:
    how = case.pick(("table", "table", "numeric", "groups", "indicators"))
    if how == "table":
        return options.table_encoder(case, names)
    if how == "numeric":
        return options.discretizer(case)
    return options.grouper(case) if how == "groups" else options.indicator_encoder(case)


@operation(0.3)
def damaged_levels(case: Case) -> None:
    """Levels from JSON that is not quite theirs."""
    table = draw_table(case, plain=1.0, n_classes=2, most_rows=60)
    _, X = hold(case, table, nonsense=False)
    with case.step("fit"):
        encoder = bs.TableEncoder().fit(X, table.codes)
    for levels in encoder.levels_[:8]:
        data = spoilt_json(case, levels.to_json())
        case.note(repr(data)[:300])
        with case.attempt("from_json"):
            again = bs.FeatureLevels.from_json(data)
            repr(again)
            case.check(len(again.labels) == again.n_levels, "labels of damaged levels", again)


@operation(0.5)
def code_once(case: Case) -> None:
    """Rows coded once, for several estimators."""
    table, y, weights = draw_task(case)
    _, X = hold(case, table)
    encoder = options.table_encoder(case, table.names)
    with case.step("fit_with_refitter"):
        coded, refitter = encoder.fit_with_refitter(X, y, weights)
    model = options.model(case, []).set_params(encoder="modl")
    case.note(repr(model))
    with case.step("fit a model"):
        model.fit_coded(coded, encoder, refitter)
    p = invariants.probabilities(case, model, X)
    cells = [feature.cells for feature in model.scorecard_.features]
    if len(cells) == len(encoder.levels_) and all(map(operator.is_, cells, encoder.levels_)):
        with case.step("predict coded rows", must=True):
            q = model.predict_proba(encoder.transform_coded(X))
        case.same(q, p, "coded rows are predicted like raw ones")
    with case.step("discrete"):
        bs.DiscreteNB().fit(coded).predict_proba(encoder.transform_coded(X))
    selector = options.selector(case)
    with case.step("select"):
        selector.fit_coded(coded)
    invariants.traced(case, selector.trace_)
    with case.step("pairs"):
        bs.pair_statistics(coded, given_class=case.chance(0.5))


@operation(1.5)
def encode(case: Case) -> None:
    """Codes of the training rows, of single rows, of rows never seen."""
    table, y, weights = draw_task(case)
    library, X = hold(case, table)
    encoder = _encoder(case, table.names)
    if case.chance(0.1):
        with case.step("set_params"):
            options.spoil(case, encoder)
    case.note(repr(encoder))
    before = image(X)
    with case.step("fit"):
        encoder.fit(X, y, weights)
    with case.step("transform", must=True):
        codes = encoder.transform(X)
        names = encoder.get_feature_names_out()
    case.check(codes.shape == (len(codes), len(names)), "a name for each column of codes", (codes.shape, len(names)))
    case.check(np.asarray(codes).dtype.kind in "iu", "codes are whole numbers", np.asarray(codes).dtype)
    with case.step("fit_transform", must=True):
        case.same(clone(encoder).fit_transform(X, y, sample_weight=weights), codes, "fit_transform is fit, transform")
    if len(codes) == table.n_rows and library != "nonsense":
        row = case.integer(0, len(codes) - 1)
        with case.step("transform one row", must=True):
            alone = encoder.transform(take(X, row, row + 1))
        case.same(alone[0], codes[row], "codes of a row alone")
    other = LIBRARIES[library](case, draw_again(case, table).columns)
    with case.attempt("transform other rows"):
        encoder.transform(other)
    with case.step("to_frame", must=True):
        if hasattr(encoder, "to_frame"):
            encoder.to_frame()
        for levels in getattr(encoder, "levels_", [])[:20]:
            case.check(len(levels.labels) == levels.n_levels, "a label for each level", levels)
            if type(levels) is bs.FeatureLevels:
                again = bs.FeatureLevels.from_json(json.loads(json.dumps(levels.to_json())))
                case.same(again.counts, levels.counts, "levels through JSON")
    with case.attempt("set_output"):
        form = case.pick(("pandas", "polars", "default"))
        out = clone(encoder).set_output(transform=form).fit(X, y, weights).transform(X)
        case.check(out.shape == codes.shape, f"set_output('{form}')", out.shape)
    case.check(image(X) == before, "coding leaves its input as it is", before)
