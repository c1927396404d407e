"""Pages about models, on their own and on rows; models compared; and callbacks."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

import bayesieve
from bayesieve import SelectiveNB
from tests.fuzz import invariants, options
from tests.fuzz.case import Case, operation
from tests.fuzz.invariants import polars_of
from tests.fuzz.libraries import LIBRARIES, hold
from tests.fuzz.tables import Drawn, draw_again, draw_table, draw_task, draw_weights


@operation(0.8)
def report(case: Case) -> None:
    """Written whole or not at all, with finite figures that are those of the model."""
    table, y, weights = draw_task(case, most_rows=150)
    library, X = hold(case, table, nonsense=False)
    model = options.model(case, table.names)
    case.note(repr(model))
    with case.step("fit"):
        model.fit(X, y, weights)
    path = case.folder / "report.html"
    path.write_text("before", encoding="utf-8")
    how = case.pick(("training rows", "training rows", "other rows", "nothing", "odd"))
    given: dict[str, object] = {"title": case.pick((None, None, "<script>alert(1)</script>", ""))}
    rows, labels = X, y
    if how == "other rows":
        new = draw_again(case, table, other_kinds=0.05)
        rows, labels = (
            LIBRARIES[library](case, new.columns),
            np.asarray(model.classes_)[new.codes % len(model.classes_)],
        )
    elif how == "odd":
        given |= {case.pick(("benefit", "cv", "rows", "sample_weight", "title")): case.pick(options.odd_values())}
        labels = case.pick((y, y, table.codes[:-1], ["foreign"] * table.n_rows, None, [None] * table.n_rows))
    elif case.chance(0.5):
        given |= {"cv": case.pick((2, 3, 5)), "sample_weight": weights}
    if how != "nothing":
        given |= _about_rows(case, table, library, model)
    if how in ("training rows", "other rows") and case.chance(0.4):
        n_classes = len(model.classes_)
        given["benefit"] = case.pick((np.eye(n_classes), 9 * np.eye(n_classes)[::-1] - 3, lambda X: np.eye(n_classes)))
    case.note(f"{how} {list(given)}")  # not the rows: polars cannot print dates of any year
    try:
        must = how == "nothing" or (how == "training rows" and not {"cv", "time", "by", "test", "min_count"} & {*given})
        must = must and set(np.unique(labels)) <= set(model.classes_)  # not of rows of weight 0 only
        with case.step("report", must=must):
            performance = model.report(path, *(() if how == "nothing" else (rows, labels)), **given)
    finally:
        text = path.read_text(encoding="utf-8")
        invariants.nothing_left(case, case.folder, {"report.html"})
        case.check(text == "before" or text.rstrip().endswith("</html>"), "a report whole or not at all", text[-200:])
    case.check(not invariants.unbalanced(text), "the report is whole", invariants.unbalanced(text))
    if performance is None:
        return
    case.check(0 <= performance.accuracy <= 1, "accuracy of a report", performance.accuracy)
    case.check(performance.log_loss >= 0, "log loss of a report", performance.log_loss)
    two = how == "other rows" and "test" not in given and len(model.classes_) == 2 and len(set(labels.tolist())) == 2
    if two:
        expected = roc_auc_score(labels, model.predict_proba(rows)[:, 1])
        case.check(np.isclose(performance.auc, expected), "the report measures this model", (performance.auc, expected))


def _about_rows(case: Case, table: Drawn, library: str, model: SelectiveNB) -> dict[str, Any]:
    """Some of the options of pages about rows: test rows, an order, segments, a challenger and hidden counts."""
    given: dict[str, Any] = {}
    if case.chance(0.3):
        new = draw_again(case, table, other_kinds=0.05)
        classes = np.asarray(model.classes_)
        given["test"] = (LIBRARIES[library](case, new.columns), classes[new.codes % len(classes)])
    if case.chance(0.3):
        given["time"] = case.pick((*table.names, case.rng.permutation(table.n_rows)))
    if case.chance(0.3):
        given["by"] = case.pick(table.names)
    if case.chance(0.3):
        given["min_count"] = case.pick((1, 2, 5))
    return given


@operation(0.4)
def document(case: Case) -> None:
    """A page or Markdown with every section, whole or not at all, in which no text of the table is markup."""
    table, weights = draw_table(case, most_rows=150), None
    library, X = hold(case, table, nonsense=False)
    how = case.pick(("default", "scorecard", "options"))
    y = np.where(table.codes == 0, "|", "<b>") if how == "scorecard" else table.codes
    if how == "options":
        weights, model = draw_weights(case, table.codes), options.model(case, table.names)
    else:
        model = SelectiveNB.scorecard() if how == "scorecard" else SelectiveNB()
    case.note(repr(model))
    with case.step("fit"):
        model.fit(X, y, weights)
    if case.chance(0.3):
        with case.step("save and load", must=True):
            model.save(case.folder / "model.json")
            model = bayesieve.load(case.folder / "model.json")
    path = case.folder / case.pick(("validation.html", "validation.md"))
    path.write_text("before", encoding="utf-8")
    facts = {"Owner": "| # <b>", "Purpose": "a\nb", "*x*": "`"}
    on_rows = case.chance(0.8)
    given = {"sample_weight": weights, **_about_rows(case, table, library, model)} if on_rows else {}
    must = not on_rows or not {"time", "by", "test", "min_count"} & {*given}
    try:
        with case.step("document", must=must):
            model.document(path, *((X, y) if on_rows else ()), facts=facts, **given)
    finally:
        text = path.read_text(encoding="utf-8")
        if text != "before":
            _check_document(case, path, text)


def _check_document(case: Case, path: Path, text: str) -> None:
    if path.suffix == ".html":
        case.check(text.rstrip().endswith("</html>"), "a document whole or not at all", text[-200:])
        case.check(not invariants.unbalanced(text), "the document is whole", invariants.unbalanced(text))
        return
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    case.check(
        [line.split(".")[0] for line in heads] == [f"## {k}" for k in range(1, len(heads) + 1)], "sections", heads
    )
    case.check("<b>" not in text, "no markup of the table", text)
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    bars = [{line.replace("\\|", "").count("|") for line in lines} for lines in tables]
    case.check(all(len(numbers) == 1 for numbers in bars), "lines of a table have as many cells", tables)


@operation(0.4)
def challenges(case: Case) -> None:
    """Two models of the same rows: swaps hold all rows, a model against itself differs nowhere, and roles mirror."""
    table, weights = draw_table(case, most_rows=150), case.pick((None, "drawn"))
    y, weights = table.codes, weights and draw_weights(case, table.codes)
    _, X = hold(case, table, nonsense=False)
    models = [SelectiveNB("all") if case.chance(0.5) else options.model(case, table.names), SelectiveNB(n_jobs=1)]
    case.note(repr(models))
    with case.step("fit"):
        for model in models:
            model.fit(X, y, weights)
    if not all(invariants.repeatable(model) for model in models):
        return
    given: dict[str, Any] = case.pick(({}, {"share": 0.3}, {"threshold": 0.5}, {"share": 1.0}, {"threshold": 0.0}))
    if len(models[0].classes_) != 2:
        given = {}
    case.note(repr(given))
    with case.step("challenge", must=True):
        found = bayesieve.challenge(models[0], models[1], X, y, sample_weight=weights, **given)
        back = bayesieve.challenge(models[1], models[0], X, y, sample_weight=weights, **given)
        same = bayesieve.challenge(models[0], models[0], X, y, sample_weight=weights, **given)
    tests, mirrored = polars_of(found.tests), polars_of(back.tests)
    case.check(
        np.allclose(tests["difference"], -mirrored["difference"], atol=1e-9), "differences mirror", (tests, mirrored)
    )
    case.check(np.allclose(tests["p_value"], mirrored["p_value"], atol=1e-6), "p values mirror", (tests, mirrored))
    case.check((polars_of(same.tests)["difference"] == 0).all(), "a model against itself", same.tests)
    if found.swaps is None:
        return
    if weights is not None:  # of very unequal weights, sums do not show single rows
        return
    for one in (found, same):
        rows = dict(polars_of(one.swaps).select("set", "rows").iter_rows())
        case.check(sum(rows.values()) == table.n_rows, "every row is in one set", one.swaps)
        case.check(one is found or rows["swap in"] == rows["swap out"] == 0, "no row is swapped for itself", one.swaps)


class _Log:
    """A callback that counts the moves of the search, and ends the search after some of them."""

    def __init__(self, most: float) -> None:
        self.most, self.n_moves, self.tasks, self.is_torn_down = most, 0, list[str](), False

    def setup(self, estimator: Any, context: Any) -> None:
        self.n_moves, self.tasks, self.is_torn_down = 0, [], False

    def teardown(self, estimator: Any, context: Any) -> None:
        self.is_torn_down = True

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        self.tasks.append(context.task_name)
        self.n_moves += context.task_name == "move"
        return self.n_moves >= self.most


@operation(0.3 if find_spec("sklearn.callback") else 0)
def callbacks(case: Case) -> None:
    """Callbacks hear of every stage, change no model, and may end the search, which leaves a model all the same."""
    table = draw_table(case, most_rows=300)
    y, weights = table.codes, draw_weights(case, table.codes)
    _, X = hold(case, table, nonsense=False)
    model = SelectiveNB(case.pick(options.SELECTORS)) if case.chance(0.5) else options.model(case, table.names)
    case.note(repr(model))
    log = _Log(case.pick((np.inf, np.inf, 1, 2)))
    with case.step("fit"):
        heard = clone(model).set_callbacks(log).fit(X, y, weights)
    case.check(log.is_torn_down and log.tasks[-1] == "fit", "callbacks hear of the end", log.tasks)
    case.check(log.n_moves <= log.most, "callbacks end the search", log.n_moves)
    p = invariants.probabilities(case, heard, X)
    if log.n_moves >= log.most or not invariants.repeatable(model) or invariants.stopped_early(heard):
        return
    with case.step("fit without callbacks", must=True):
        alone = clone(model).fit(X, y, weights)
    case.same(p, invariants.probabilities(case, alone, X), "callbacks change no model")
