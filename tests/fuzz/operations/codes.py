"""`DiscreteNB` and `pair_statistics`, which take codes, and numbers of any size."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import bayesieve as bs
from tests.fuzz import invariants, options
from tests.fuzz.case import Case, operation
from tests.fuzz.libraries import hold
from tests.fuzz.tables import draw_classes, draw_labels, draw_size, draw_table, draw_weights

_SPOILT: tuple[Callable[[np.ndarray], Any], ...] = (
    *(lambda c: c + 0.5, lambda c: -c - 1, lambda c: c * 10**7, lambda c: c.astype(object) * 10**20, lambda c: c > 0),
    *(lambda c: c.astype(str), lambda c: c.astype(object), lambda c: c.astype("datetime64[D]"), lambda c: c[0]),
    *(lambda c: np.where(c > 0, c, np.nan), lambda c: c.astype(complex), lambda c: c.astype("timedelta64[s]")),
    *(lambda c: np.where(c > 0, None, c), lambda c: c.astype(np.float16), lambda c: np.ma.array(c, mask=c > 0)),
    *(lambda c: c.tolist(), pd.DataFrame, pl.DataFrame, lambda c: c.astype("uint64") + 2**63, lambda c: c * 1.0),
    *(lambda c: pd.DataFrame(c).astype("category"), lambda c: pd.DataFrame(c.astype(str)), lambda c: c * np.inf),
    *(lambda c: pd.DataFrame(c).astype("Int64"), lambda c: c[:, :, None], lambda c: None, lambda c: "codes"),
    *(lambda c: c.astype(str).astype("S"), lambda c: pd.DataFrame(c, columns=["a"] * c.shape[1]), lambda c: c[:0]),
    lambda c: pa.table(list(c.T), names=["a"] * c.shape[1]),
    lambda c: pa.record_batch([pa.array(column) for column in c.T], names=["a"] * c.shape[1]),
)


def draw_codes(case: Case) -> tuple[Any, np.ndarray]:
    """Codes, mostly good ones, and classes."""
    n, width = draw_size(case, 1, 60, 300, 2000), draw_size(case, 1, 8, 30, 100)
    codes = case.rng.integers(0, case.pick((1, 2, 3, 10, 300)), (n, width))
    classes = draw_classes(case, n)
    if case.chance(0.4):
        codes[:, 0] = classes % 5
    return (case.pick(_SPOILT)(codes) if case.chance(0.35) else codes), classes


def _naive_bayes(case: Case, width: int) -> Any:
    weights = case.pick((None, None, case.rng.random(width), np.ones(width), np.zeros(width), [1.5] * width, "a", [1]))
    smoothing = options.smoothing(case)
    return bs.DiscreteNB(
        smoothing=smoothing,
        feature_weights=weights,
        fit_prior=case.chance(0.8),
        min_categories=case.pick((None, None, 5, [3] * width)),
    )


@operation(1.5)
def naive_bayes_on_codes(case: Case) -> None:
    """Fit at once and in parts; predict, explain."""
    X, classes = draw_codes(case)
    y, weights = draw_labels(case, classes), draw_weights(case, classes)
    model = _naive_bayes(case, X.shape[1] if getattr(X, "ndim", 0) == 2 else 3)
    if case.chance(0.15):
        with case.step("set_params"):
            options.spoil(case, model)
    case.note(f"{model!r} {type(X)} {getattr(X, 'shape', '')} {getattr(X, 'dtype', '')}")
    with case.step("fit"):
        model.fit(X, y, sample_weight=weights)
    p = invariants.probabilities(case, model, X)
    with case.step("explain", must=True):
        model.explain(X)
    if isinstance(X, np.ndarray) and X.dtype.kind in "iu" and weights is None and model.min_categories is None:
        middle = case.integer(1, len(X))
        part = bs.DiscreteNB(**model.get_params())
        with case.attempt("partial_fit"):
            part.partial_fit(X[:middle], np.asarray(y)[:middle], classes=model.classes_)
            if middle < len(X):
                part.partial_fit(X[middle:], np.asarray(y)[middle:])
            case.check(
                np.allclose(part.predict_proba(X), p, atol=1e-9), "partial_fit is fit", (part.predict_proba(X), p)
            )
    other, _ = draw_codes(case)
    with case.attempt("predict other codes"):
        q = model.predict_proba(other)
        case.check(np.isfinite(q).all(), "probabilities of other codes", q)


@operation(0.8)
def selectors_on_codes(case: Case) -> None:
    """Selectors with ``encoder=None``."""
    X, classes = draw_codes(case)
    y, weights = draw_labels(case, classes), draw_weights(case, classes)
    selector = options.selector(case).set_params(encoder=None)
    case.note(f"{selector!r} {type(X)} {getattr(X, 'shape', '')} {getattr(X, 'dtype', '')}")
    with case.step("fit"):
        selector.fit(X, y, sample_weight=weights)
    w = selector.weights_
    case.check(np.isfinite(w).all() and (w >= 0).all() and (w <= 1).all(), "weights of a selector in [0, 1]", w)
    with case.step("transform", must=True):
        selector.transform(X)
    invariants.traced(case, selector.trace_)


@operation(1)
def pairs(case: Case) -> None:
    """Symmetric, from 0 to the smaller entropy."""
    raw = case.chance(0.5)
    if raw:
        table = draw_table(case)
        _, X = hold(case, table)
        classes, encoder = table.codes, options.encoder(case, table.names)
    else:
        (X, classes), encoder = draw_codes(case), None
    statistic = "x" if case.chance(0.03) else case.pick(options.MEASURES)
    y = draw_labels(case, classes) if raw or case.chance(0.6) else None
    given = {"given_class": case.chance(0.4), "sample_weight": draw_weights(case, classes), "statistic": statistic}
    features, others = case.pick((None, None, [0], slice(0, 2), [], [99], "a", [True, False], [-1], 0, 1.5)), None
    case.note(f"{given} features={features} {type(X)} {getattr(X, 'dtype', '')}")
    with case.step("pair_statistics"):
        found = bs.pair_statistics(X, y, features=features, others=others, encoder=encoder, **given)
    case.check(np.isfinite(found).all() and (found >= -1e-12).all(), "pair statistics are at least 0", found)
    if features is None:
        case.check(np.allclose(found, found.T, atol=1e-12), "pair statistics are symmetric", found)
        # Missing values left out: each pair has rows of its own, and their entropy may be above that of all rows.
        if statistic != "mutual_information":
            case.check((found <= 1 + 1e-9).all(), "no other measure above 1", found)
        elif found.size and getattr(encoder, "missing", "level") == "level":
            most = np.minimum.outer(found.diagonal(), found.diagonal())
            case.check((found <= most + 1e-9).all(), "no information above the entropy", found)


@operation(0.5)
def far_numbers(case: Case) -> None:
    """Special values beside numbers of any size: no arithmetic overflows, and programs read them as the model does."""
    n, rng = case.integer(60, 400), case.rng
    y = rng.integers(0, 2, n)
    scale = 10.0 ** rng.uniform(-318, 306)
    numbers = rng.integers(0, 60, n) * scale + case.pick((0, 25, 30 * scale)) * (y ^ (rng.random(n) < 0.2))
    numbers = case.pick((numbers, -numbers, np.sort(numbers), numbers - numbers.mean()))
    numbers[rng.random(n) < 0.1] = case.pick((-999.0, numbers.max(), 5e-324))
    special = case.pick(({}, {"special": {"refused": float(numbers[0])}}, {"special": [-999.0]}))
    X = pl.DataFrame({"x": numbers, "z": rng.normal(y)})
    case.note(f"{scale} {special}")
    with case.step("fit", must=True):
        model = bs.SelectiveNB("all", levels={"x": special} if special else None, pairs=0).fit(X, y)
    p = invariants.probabilities(case, model, X)
    invariants.explained(case, model, X)
    invariants.told(case, model, X)
    with case.step("export", must=True):
        names: dict[str, Any] = {"__name__": "scoring"}
        exec(model.export(to="python"), names)
        found = [[*names["score"](row)["probabilities"].values()] for row in X.iter_rows(named=True)]
        query = model.export(to="sql", keep=[])
        script = model.export(to="javascript")
        with duckdb.connect() as connection:
            connection.register("data", X)
            of_query = connection.sql(query).pl().select("p_0", "p_1").to_numpy()
    case.check(np.allclose(found, p, rtol=0, atol=1e-9), "Python scores as the model does", found)
    case.check(np.allclose(of_query, p, rtol=0, atol=1e-9), "SQL scores as the model does", of_query)
    torn = re.search(r"(?<![\w.])\d+\n\s*\d", script)
    case.check(torn is None, "no number is torn apart", torn)
