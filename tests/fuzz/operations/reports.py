"""Reports of models, on their own and on rows."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import roc_auc_score

from tests.fuzz import invariants, options
from tests.fuzz.case import Case, operation
from tests.fuzz.libraries import LIBRARIES, hold
from tests.fuzz.tables import draw_again, draw_task


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
    if how in ("training rows", "other rows") and case.chance(0.4):
        n_classes = len(model.classes_)
        given["benefit"] = case.pick((np.eye(n_classes), 9 * np.eye(n_classes)[::-1] - 3, lambda X: np.eye(n_classes)))
    case.note(f"{how} {given}")
    try:
        must = how == "nothing" or (how == "training rows" and "cv" not in given)
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
    two = how == "other rows" and len(model.classes_) == 2 and len(set(labels.tolist())) == 2
    if two:
        expected = roc_auc_score(labels, model.predict_proba(rows)[:, 1])
        case.check(np.isclose(performance.auc, expected), "the report measures this model", (performance.auc, expected))
