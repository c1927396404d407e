"""Scorecards of points: their table, their strategy, and reasons with values."""

from __future__ import annotations

import numpy as np

from bayesieve import SelectiveNB
from bayesieve.discretize.repeats import REPEATED
from bayesieve.table import as_target
from tests.fuzz.case import Case, operation
from tests.fuzz.invariants import polars_of
from tests.fuzz.libraries import hold
from tests.fuzz.operations.level_files import rules_for
from tests.fuzz.tables import draw_task


@operation(1)
def scorecards(case: Case) -> None:
    """Tables of points hold every row and every cell once, and columns with a rule stay, whatever the table."""
    table, y, weights = draw_task(case, most_rows=400)
    _, X = hold(case, table, nonsense=False)
    rules = rules_for(case, table) if case.chance(0.5) else {}
    max_levels = case.pick((7, 7, 2, 30))
    case.note(repr(rules))
    with case.step("read the target"):
        y = as_target(y).codes == 0  # cards are for two classes
    with case.step("fit"):
        model = SelectiveNB.scorecard(rules or None, max_levels=max_levels).fit(X, y, weights)
    card = model.scorecard_
    case.check(card.class_counts[card.positive] == card.class_counts.max(), "the majority is positive", card.positive)
    free = [feature for feature in card.used_features if not rules.get(feature.name, {}).get("cells")]
    for feature in free:
        most = max(rules.get(feature.name, {}).get("max_levels", max_levels), feature.levels.n_levels)
        case.check(feature.cells.n_levels <= feature.cells.n_special_levels + most, "few cells", feature)
    with case.step("points", must=True):
        points = model.points()
        lines, strategy = polars_of(points.table()), polars_of(points.strategy(X, y, weights, bands=5))
        score, reasons = points.score(X), polars_of(model.reasons(X, n=3, values=True))
    case.check(lines["points"][0] == points.base, "the first line is the base", lines)
    for feature in card.used_features:
        *own, unseen, total = lines.filter(feature=feature.name).iter_rows(named=True)
        case.check((unseen["kind"], total["kind"]) == ("unseen", "total"), "the last lines of a feature", own)
        case.check(len(own) == feature.cells.n_levels, "a line for each cell", own)
        rows = sum(line["rows"] for line in own)
        case.check(np.isclose(rows, feature.counts.sum()), "the rows of a feature", (rows, total))
    if REPEATED not in {caution.kind for caution in model.cautions_}:  # copies count once in the card only
        case.check(np.isclose(strategy["rows"].sum(), card.class_counts.sum()), "bands hold all rows", strategy)
    case.check(strategy["low"].is_sorted(descending=True), "bands from high to low", strategy)
    case.check(np.isclose(strategy["approval_rate"][-1], 1), "the last band approves all rows", strategy)
    case.check(strategy["high"][0] <= score.max(), "bands of scores", (strategy, score))
    case.check(reasons["text"].null_count() == 0, "texts of reasons", reasons)
