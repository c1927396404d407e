"""`compare`: folds, results kept in a file, the page."""

from __future__ import annotations

from typing import Any

import bayesieve as bs
from bayesieve_lab import FixedSplit, RepeatedFolds, compare as compare_methods
from tests.fuzz import invariants, options, outcome
from tests.fuzz.case import Case, operation
from tests.fuzz.files import spoilt_bytes
from tests.fuzz.libraries import hold
from tests.fuzz.tables import draw_task


@operation(0.5)
def compare(case: Case) -> None:
    """Measured, and gone on with from the file of results to the same figures."""
    table, y, weights = draw_task(case, most_rows=150)
    _, X = hold(case, table)
    names = table.names
    methods: dict[Any, Any] = {f"method {i}": options.model(case, names) for i in range(case.integer(1, 2))}
    if case.chance(0.05):
        methods[case.pick(("", 1, "<script>alert(1)</script>"))] = case.pick(
            (bs.SelectiveNB("map"), 5, bs.MAPSelector())
        )
    protocol: Any = RepeatedFolds(case.pick((2, 2, 3, 10)), case.pick((1, 1, 2)), case.pick((0, 1, 2**32 - 1)))
    if case.chance(0.15):
        made = case.pick((RepeatedFolds, FixedSplit))
        with case.step("protocol"):
            protocol = made(case.pick((case.integer(0, 60), case.pick(options.odd_values()))))
    results = case.folder / "results.jsonl" if case.chance(0.5) else None
    case.note(repr(methods))
    given = {"sample_weight": weights, "results": results, "n_jobs": case.pick((None, None, 1, 2))}
    with case.step("compare"):
        found = compare_methods(methods, X, y, protocol, **given)
    for *_, message in found.errors():
        case.check(outcome.unclear(message) is None, f"a clear error of a fold: {message[:60]}", message)
    with case.step("show", must=True):
        frame, text = found.frame, repr(found)
        found.summary()
    case.check(len(text) < 3000, "a short repr of a comparison", text[:200])
    if results is not None:
        if case.chance(0.3):
            results.write_bytes(spoilt_bytes(case, results.read_bytes()))
            with case.step("compare with a damaged file of results"):
                compare_methods(methods, X, y, protocol, **given)
        else:
            with case.step("compare again", must=True):
                again = compare_methods(methods, X, y, protocol, **given)
            case.check(again.frame.equals(frame), "a comparison gone on with is the same", (frame, again.frame))
    if case.chance(0.5):
        page = case.folder / "page.html"
        with case.step("report"):
            found.report(page)
        html = page.read_text(encoding="utf-8")
        case.check(not invariants.unbalanced(html), "the page of a comparison is whole", invariants.unbalanced(html))
