"""`SelectiveNB` from end to end."""

from __future__ import annotations

from contextlib import chdir
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from bayesieve import SelectiveNB
from tests.fuzz import invariants, options
from tests.fuzz.case import Case, operation
from tests.fuzz.libraries import LIBRARIES, hold, image
from tests.fuzz.tables import Drawn, draw_again, draw_table, draw_task


@operation(5)
def fit_and_use(case: Case) -> None:
    """Any model on any table: every check that there is, some of them at a time."""
    table, y, weights = draw_task(case)
    library, X = hold(case, table)
    model = options.model(case, table.names)
    case.note(repr(model))
    before = image(X)
    with case.step("fit"):
        model.fit(X, y, weights)
    case.check(image(X) == before, "fitting leaves its input as it is", before)
    p = invariants.probabilities(case, model, X)
    again = (X, y, weights)
    rows_matter = library not in ("nonsense",) and len(p) == table.n_rows
    checks = [
        lambda: invariants.one_by_one(case, model, X, p) if rows_matter else None,
        lambda: invariants.explained(case, model, X),
        lambda: invariants.told(case, model, X),
        lambda: invariants.described(case, model),
        lambda: invariants.neutral(case, model),
        lambda: invariants.traced(case, model.trace_),
        lambda: invariants.stored(case, model, X, p, again),
        lambda: invariants.pickled(case, model, X, p) if _can_be_pickled(table) else None,
        lambda: invariants.cloned(case, model, X, p, again),
        lambda: _others(case, model, table, library),
        lambda: invariants.watched(case, model, X, y, weights) if rows_matter else None,
    ]
    for i in case.rng.permutation(len(checks))[:7]:
        checks[i]()
    case.check(image(X) == before, "using a model leaves its input as it is", before)


def _can_be_pickled(table: Drawn) -> bool:
    return not any(column.kind in ("object", "one odd type") for column in table.columns)


def _others(case: Case, model: Any, table: Drawn, library: str) -> None:
    """Rows never seen, perhaps of other kinds or in another library."""
    new = draw_again(case, table)
    other = library if case.chance(0.7) or library == "nonsense" else hold(case, new, nonsense=False)[0]
    X = LIBRARIES[other](case, new.columns)
    with case.attempt("predict other rows"):
        p = model.predict_proba(X)
        case.check(np.isfinite(p).all() and np.allclose(p.sum(axis=1), 1), "probabilities of other rows", p)
        joint = model.scorecard_.explain(X).joint_log_proba()
        case.same(joint, model.scorecard_.joint(X), "contributions of other rows add up")
        model.explain(X)


@operation(1)
def edited_by_hand(case: Case) -> None:
    """Any model edited by hand is a model like others, and the old one stays as it was."""
    table, y, weights = draw_task(case)
    _, X = hold(case, table, nonsense=False)
    model = options.model(case, table.names)
    with case.step("fit"):
        model.fit(X, y, weights)
    before, editor = model.predict_proba(X), model.edit()
    for _ in range(case.integer(1, 4)):
        feature, label = case.pick(model.scorecard_.features), case.pick(model.classes_.tolist())
        first, number = case.integer(0, feature.levels.n_levels - 1), float(case.rng.normal())
        name = feature.name
        act, *given = case.pick(
            (
                (editor.set, name, {first: {label: number}}),
                (editor.merge, name, [first, first + 1]),
                (editor.drop, name),
                (editor.rename, name, {first: f"text {number}"}),
                (editor.cut, name, None, number),
                (editor.monotone, name, 1),
                (editor.refit, X, y, weights),
            )
        )
        with case.attempt(act.__name__):
            act(*given)
    with case.step("done", must=True):
        edited = editor.done()
    case.same(model.predict_proba(X), before, "the old model predicts as before")
    p = invariants.probabilities(case, edited, X)
    invariants.explained(case, edited, X)
    invariants.described(case, edited)
    if case.chance(0.5):
        invariants.stored(case, edited, X, p, None)


@operation(0.5)
def numbered_rows(case: Case) -> None:
    """Columns that number rows or give moments are in no pair that nobody named, and are named where they are used."""
    n, rng = case.integer(100, 600), case.rng
    at = np.arange(n)
    marks = {
        "counter": (at + case.integer(-5, 10**6)) * case.pick((1, -1, 7, 0.0 + 100)),
        "identifier": rng.permutation(n) + case.integer(0, 10**6),
        "code": [f"C{k}" for k in rng.permutation(n)],
        "day": pl.Series(18_000 + rng.permutation(n)).cast(pl.Date),
        "second": 1_600_000_000 + rng.integers(0, 10**7, n),
    }
    late, score = rng.integers(0, 9, n), np.sort(np.exp(rng.normal(9, 1, n)))
    hidden = case.pick([values for values in marks.values() if not isinstance(values, list)])
    middle = np.argsort(np.argsort(np.asarray(hidden, dtype=float))) < n / 2
    y = (middle ^ (late > 4)) ^ (rng.random(n) < 0.1)
    X = pl.DataFrame({**marks, "late": late, "score": score + y})
    pairs = case.pick(("auto", 3, [(case.pick(list(marks)), "late")]))
    with case.step("fit", must=True):
        model = SelectiveNB(pairs=pairs).fit(X, y)
    case.check(set(model.encoder_.marks_) == set(marks), "columns that mark rows", model.encoder_.marks_)
    used = [model.encoder_.levels_[k] for k in model.scorecard_.used.tolist()]
    parts = {part.name for level in used for part in getattr(level, "parts", ())}
    case.check(not isinstance(pairs, (str, int)) or parts.isdisjoint(marks), "no mark in an unnamed pair", parts)
    behind = (parts | {level.name for level in used}) & set(marks)
    said = {name for caution in model.cautions_ if caution.kind in ("identifier", "dates") for name in caution.columns}
    case.check(behind <= said, "a caution names each mark that is used", (behind, said))


@operation(1.5)
def odd_options(case: Case) -> None:
    """A model with one option out of any sense is refused, or works."""
    table = draw_table(case, plain=1.0, most_rows=60)
    _, X = hold(case, table, nonsense=False)
    model = options.model(case, table.names)
    with case.step("set_params"):
        model = options.spoil(case, model)
    with case.step("fit"), chdir(case.folder):  # an odd cache is a folder there
        model.fit(X, table.codes)
    p = invariants.probabilities(case, model, X)
    if case.chance(0.5):
        invariants.stored(case, model, X, p, (X, table.codes))
    invariants.traced(case, model.trace_)


@operation(1)
def libraries_agree(case: Case) -> None:
    """The same plain values in another library give the same bits."""
    table = draw_table(case, plain=1.0, n_classes=case.integer(2, 4), most_rows=300)
    data = {str(i): list(column.values) for i, column in enumerate(table.columns)}
    model = SelectiveNB(case.pick(options.SELECTORS), encoder=case.pick(("modl", options.table_encoder(case, []))))
    held: dict[str, Any] = {
        "polars": pl.DataFrame(data, strict=False),
        "pyarrow": pa.table(data),
        "pandas": pd.DataFrame(data),
        "objects": LIBRARIES["objects"](case, table.columns),
        "arrow-backed": pa.table(data).to_pandas(types_mapper=pd.ArrowDtype),
    }
    case.note(f"{model!r} {[(c.name, c.kind) for c in table.columns]}")
    results = {}
    for library, X in held.items():
        with case.attempt(f"fit {library}"):
            results[library] = model.fit(X, table.codes).predict_proba(X)
    case.check(len(results) in (0, len(held)), "all libraries or none", (sorted(results), case.refusals))
    for library in results:
        case.same(results[library], next(iter(results.values())), f"{library} is like the others")


@operation(1)
def copies_count_once(case: Case) -> None:
    """A table repeated several times, with a number that tells its rows apart, warns and predicts as the table does."""
    table = draw_table(case, plain=1.0, n_classes=case.integer(2, 4), most_rows=200)
    X = LIBRARIES["pandas_objects"](case, table.columns)
    X["measurement"] = case.rng.normal(size=table.n_rows)
    rows = case.rng.permutation(np.tile(np.arange(table.n_rows), case.integer(2, 6)))
    shares = np.bincount(table.codes) / table.n_rows
    if shares.max() * table.n_rows < 40 or shares.max() > 0.7:
        return  # too few rows to be sure
    model = SelectiveNB()
    case.note(f"{[(c.name, c.kind) for c in table.columns]} {rows.size // table.n_rows}")
    with case.attempt("fit"):
        once = model.fit(X, table.codes).predict_proba(X)
        repeated = model.fit(X.iloc[rows], table.codes[rows])
        kinds = [caution.kind for caution in repeated.cautions_]
        case.check("repeated rows" in kinds, "copies of rows get a caution", kinds)
        case.check(np.allclose(repeated.predict_proba(X), once, atol=1e-4), "copies of rows count once", kinds)


@operation(1)
def weights_count(case: Case) -> None:
    """A weight of 2 is the row twice, a weight of 0 is no row, to rounding."""
    table = draw_table(case, plain=1.0, n_classes=case.integer(2, 4), most_rows=200)
    weights = case.rng.integers(0, 4, table.n_rows)
    repeated = table.rows(np.repeat(np.arange(table.n_rows), weights))
    if len(set(repeated.codes.tolist())) < 2 or len(set(repeated.codes.tolist())) < len(set(table.codes.tolist())):
        return
    name = case.pick(("all", "map", "compression", "bayesian", "information-gain", "cfs", "accuracy"))
    numeric = case.pick(("modl", "mdlp", "equal-frequency", "equal-width"))
    encoder = options.bs.TableEncoder(
        numeric=numeric,
        categorical=case.pick(("modl", "values")),
        missing=case.pick(("level", "ignore")),
        pairs=options.pairs(case, []),
    )
    model = SelectiveNB(name, encoder=encoder)
    case.note(f"{model!r} {[(c.name, c.kind) for c in table.columns]} {weights.tolist()[:60]}")
    X, other = (LIBRARIES["pandas_objects"](case, t.columns) for t in (table, repeated))
    results, traces = [], []
    for what, rows, codes, w in (("weights", X, table.codes, weights), ("repeated rows", other, repeated.codes, None)):
        with case.attempt(f"fit {what}"):
            results.append(model.fit(rows, codes, w).predict_proba(other))
            if any(caution.kind == "repeated rows" for caution in model.cautions_):
                return  # numbers show that rows were copied: unlike weights, copies are counted once
            traces.append((model.feature_weights_.tolist(), model.trace_))
    case.check(len(results) != 1, "weights and repeated rows are both refused or none", case.refusals)
    if len(results) == 2:
        (selected, trace), (of_repeated, again) = traces
        tied = (  # rounding decides between subsets of the same cost
            selected != of_repeated
            and trace is not None
            and np.isclose(trace.best_criterion, again.best_criterion, rtol=1e-12)
        )
        case.check(tied or np.allclose(*results, rtol=1e-6, atol=1e-9), "weights are repeated rows", results)
