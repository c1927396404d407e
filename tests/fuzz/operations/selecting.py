"""Selectors alone, as scikit-learn uses them, and how stable their choices are."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from bayesieve import path_figure, selection_stability, stability_figure
from tests.fuzz import invariants, options
from tests.fuzz.case import Case, operation
from tests.fuzz.libraries import hold, image
from tests.fuzz.tables import draw_labels, draw_table, draw_weights


@operation(1.5)
def select(case: Case) -> None:
    """Fit, transform, names, trace."""
    table = draw_table(case)
    _, X = hold(case, table)
    y, weights = draw_labels(case, table.codes), draw_weights(case, table.codes)
    selector = options.selector(case)
    if case.chance(0.5):
        selector.set_params(encoder=options.encoder(case, [column.name for column in table.columns]))
    if case.chance(0.15):
        with case.step("set_params"):
            options.spoil(case, selector)
    case.note(repr(selector))
    before = image(X)
    with case.step("fit"):
        selector.fit(X, y, sample_weight=weights)
    w = selector.weights_
    case.check(np.isfinite(w).all() and (w >= 0).all() and (w <= 1).all(), "weights of a selector in [0, 1]", w)
    case.same(selector.support_, w > 0, "the support has the positive weights")
    with case.step("names", must=True):
        names = selector.get_feature_names_out()
        clone(selector)
    with case.step("transform", must=bool(selector.support_.any())):
        out = selector.transform(X)
    case.check(out.shape[1] == selector.support_.sum() == len(names), "columns selected", (out.shape, len(names)))
    invariants.traced(case, selector.trace_)
    if case.chance(0.1):
        with case.attempt("path_figure"):
            figure = path_figure(selector.trace_)
            case.check(len(repr(figure)) < 3000, "a short repr of a figure", repr(figure)[:200])
    case.check(image(X) == before, "selecting leaves its input as it is", before)


@operation(0.3)
def stability(case: Case) -> None:
    """The selections of folds."""
    table = draw_table(case, most_rows=60)
    _, X = hold(case, table, nonsense=False)
    y, weights = draw_labels(case, table.codes), draw_weights(case, table.codes)
    selector = options.selector(case)
    case.note(repr(selector))
    with case.step("selection_stability"):
        found = selection_stability(selector, X, y, cv=case.pick((2, 3, 10, 1, "a")), sample_weight=weights)
    case.check(-1 <= found.stability <= 1 or np.isnan(found.stability), "stability within [-1, 1]", found.stability)
    case.check(len(repr(found)) < 3000, "a short repr of stability", repr(found)[:200])
    with case.step("stability_figure", must=True):
        found.to_frame()
        stability_figure(found)
