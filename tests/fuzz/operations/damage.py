"""Damaged model files: refused in one sentence, or harmless."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

import bayesieve
from tests.fuzz import options
from tests.fuzz.case import Case, operation
from tests.fuzz.files import spoilt_bytes, spoilt_json
from tests.fuzz.libraries import hold
from tests.fuzz.tables import draw_table


@operation(1.2)
def damaged_model(case: Case) -> None:
    """A file with flipped bits, cut short, or with other JSON loads as the same model or not at all."""
    table = draw_table(case, plain=1.0, n_classes=case.integer(2, 3), most_rows=100)
    _, X = hold(case, table, nonsense=False)
    model = options.model(case, table.names)
    with case.step("fit"):
        model.fit(X, table.codes)
    path = case.folder / "model.json"
    with case.step("save", must=True):
        model.save(path)
    content, p = path.read_bytes(), model.predict_proba(X)
    for _ in range(8):
        if case.chance(0.5):
            path.write_bytes(spoilt_bytes(case, content))
        else:
            data: Any = spoilt_json(case, json.loads(content))
            path.write_text(json.dumps(data), encoding="utf-8")
        if path.read_bytes() == content:
            continue
        with case.attempt("load"):
            loaded = bayesieve.load(path)
            q = loaded.predict_proba(X)
            case.check(q.shape == p.shape and np.array_equal(q, p), "a damaged file loads as another model", (p, q))


@operation(0.2)
def odd_paths(case: Case) -> None:
    """Paths that are none."""
    path = case.pick(
        (case.folder, case.folder / "none" / "model.json", "", "\x00", 5, None, b"model", case.folder / ("x" * 300))
    )
    with case.attempt("load"):
        bayesieve.load(path)
    table = draw_table(case, plain=1.0, n_classes=2, most_rows=30)
    _, X = hold(case, table, nonsense=False)
    with case.step("fit"):
        model = bayesieve.SelectiveNB("all").fit(X, table.codes)
    with case.attempt("save"):
        model.save(path)
    with case.attempt("report"):
        model.report(path)
