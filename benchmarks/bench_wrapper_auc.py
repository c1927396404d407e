"""A step by exact AUC against a step by error probability, early and late in the path."""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from bayesieve import CodedTable, DiscreteNB, WrapperSelector
from benchmarks.common.measuring import Report, markdown_table, options, verdict
from benchmarks.common.wrapper_tables import categories, step_seconds

MOST_TIMES = 8.0
_CRITERIA = ("error_probability", "auc")


def main() -> None:
    """Walk the same tables by both criteria in turns."""
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, help="rows (default 50,000; 2,000 with --quick)")
    arguments = parser.parse_args()
    n_rows = arguments.rows or (2_000 if arguments.quick else 50_000)
    n_features = 20 if arguments.quick else 60
    report = Report("wrapper_auc", "A step by AUC against a step by error probability", arguments)
    report.add(
        f"{n_features} features, {n_rows:,} rows, one core, forward on the training rows up to half of the features. A "
        "step scores all candidates and adds the best; its time, from the trace, is divided by the number of "
        f"candidates. Early: steps 2 to 4; late: the last three. Target: at most {MOST_TIMES:g} times.\n"
    )
    rows = []
    for n_levels in (2, 5):
        for n_classes in (2, 4):
            coded = categories(n_rows, n_features, n_levels, n_classes)
            rows += compare(coded, n_levels, 2 if arguments.quick else 5)
    names = [name.replace("_", " ") for name in _CRITERIA]
    header = ["levels", "classes", "when", *(f"{name}, ns per row and candidate" for name in names), "times"]
    report.add(markdown_table(header, rows))
    report.add("\n" + check(categories(n_rows, n_features, 5)))
    report.close()


def compare(coded: CodedTable, n_levels: int, rounds: int) -> list[list[Any]]:
    """Two rows of the table: early and late."""
    for criterion in _CRITERIA:
        walk(coded, criterion)
    seconds: dict[str, list[np.ndarray]] = {criterion: [] for criterion in _CRITERIA}
    for _ in range(rounds):
        for criterion in _CRITERIA:
            steps = step_seconds(walk(coded, criterion))
            n_candidates = coded.n_features - np.arange(steps.size)
            seconds[criterion].append(steps / n_candidates / coded.n_rows * 1e9)
    rows = []
    for when, part in (("early", slice(1, 4)), ("late", slice(-3, None))):
        cost = {criterion: median(float(np.median(run[part])) for run in runs) for criterion, runs in seconds.items()}
        ratio = cost["auc"] / cost["error_probability"]
        figures = [f"{cost[criterion]:.2f}" for criterion in _CRITERIA]
        # The target is that of two classes: with more, each class has a curve of its own.
        text = verdict(ratio, MOST_TIMES) if coded.n_classes == 2 else f"{ratio:.3g} ({coded.n_classes} curves)"
        rows.append([n_levels, coded.n_classes, when, *figures, text])
    return rows


def walk(coded: CodedTable, criterion: str) -> WrapperSelector:
    """Half of the path."""
    return WrapperSelector(
        criterion=criterion,
        direction="forward",
        evaluation="train",
        n_features_to_select=coded.n_features // 2,
        encoder=None,
        smoothing=1.0,
        n_jobs=1,
    ).fit_coded(coded)


def check(coded: CodedTable) -> str:
    """The last AUC of the path, and that of the refitted model, its log odds rounded so that equal rows are tied."""
    selector = walk(coded, "auc")
    ours = selector.trace_.to_frame()["criterion"][-1]
    codes = coded.codes[selector.support_].T
    model = DiscreteNB(smoothing=1.0).fit(codes, coded.class_codes)
    odds = np.diff(model.predict_log_proba(codes), axis=1)[:, 0]
    theirs = roc_auc_score(coded.class_codes, np.round(odds, 9))
    return f"The AUC of the last step is {ours:.13f} in the trace and {theirs:.13f} by refitting and sorting."


if __name__ == "__main__":
    main()
