"""Selectors alone, as scikit-learn uses them, and how stable their choices are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from bayesieve import SelectiveNB, WrapperSelector, path_figure
from bayesieve_lab import selection_stability, stability_figure
from tests.fuzz import invariants, options
from tests.fuzz.case import Case, operation
from tests.fuzz.libraries import hold, image
from tests.fuzz.tables import draw_table, draw_task


@operation(1.5)
def select(case: Case) -> None:
    """Fit, transform, names, trace."""
    table, y, weights = draw_task(case)
    _, X = hold(case, table)
    selector = options.selector(case)
    if case.chance(0.5):
        selector.set_params(encoder=options.encoder(case, table.names))
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
    mask = selector.get_support()  # those of selected pairs, too
    case.check(out.shape[1] == mask.sum() == len(names), "columns selected", (out.shape, len(names)))
    alone = selector.support_[: mask.size]
    case.check((mask >= alone).all() and mask.any() == selector.support_.any(), "columns of what is selected", mask)
    invariants.traced(case, selector.trace_)
    if case.chance(0.1):
        with case.attempt("path_figure"):
            figure = path_figure(selector.trace_)
            case.check(len(repr(figure)) < 3000, "a short repr of a figure", repr(figure)[:200])
    case.check(image(X) == before, "selecting leaves its input as it is", before)


@operation(0.4)
def resume(case: Case) -> None:
    """A search stopped at once and gone on with ends where one in one go ends."""
    table = draw_table(case, plain=1.0, n_classes=case.integer(2, 3), most_rows=100)
    _, X = hold(case, table, nonsense=False)
    given = {
        "criterion": case.pick(options.CRITERIA),
        "direction": case.pick(("forward", "backward", "forward-backward", "backward-forward")),
        "evaluation": case.pick(("train", "holdout", "loo", 2)),
        "random_state": case.integer(0, 3),
    }
    case.note(repr(given))
    with case.step("fit at once"):
        whole = WrapperSelector(**given).fit(X, table.codes)
    with case.step("fit in parts", must=True):
        part = WrapperSelector(**given, max_seconds=0.0).fit(X, table.codes)
        other = WrapperSelector(**given, resume=part.trace_).fit(X, table.codes)
    case.same(other.weights_, whole.weights_, "a search gone on with")


@operation(0.3)
def within_scikit_learn(case: Case) -> None:
    """In a pipeline, in a cross-validation, with tables as output."""
    table = draw_table(case, n_classes=case.integer(2, 3), most_rows=100)
    _, X = hold(case, table, nonsense=False)
    selector = options.selector(case)
    case.note(repr(selector))
    with case.step("pipeline"):
        pipeline = make_pipeline(selector, SelectiveNB(case.pick(options.SELECTORS))).fit(X, table.codes)
    invariants.probabilities(case, pipeline, X)
    with case.attempt("set_output"):
        fitted = clone(selector).set_output(transform=case.pick(("pandas", "default")))
        out = fitted.fit_transform(X, table.codes)
        case.check(out.shape[1] == selector_width(fitted), "columns of the output", out.shape)


def selector_width(selector: Any) -> int:
    return int(selector.support_.sum())


@operation(0.3)
def stability(case: Case) -> None:
    """The selections of folds."""
    table, y, weights = draw_task(case, most_rows=60)
    _, X = hold(case, table, nonsense=False)
    selector = options.selector(case)
    case.note(repr(selector))
    with case.step("selection_stability"):
        found = selection_stability(selector, X, y, cv=case.pick((2, 3, 10, 1, "a")), sample_weight=weights)
    case.check(-1 <= found.stability <= 1 or np.isnan(found.stability), "stability within [-1, 1]", found.stability)
    case.check(len(repr(found)) < 3000, "a short repr of stability", repr(found)[:200])
    with case.step("stability_figure", must=True):
        found.to_frame()
        stability_figure(found)
