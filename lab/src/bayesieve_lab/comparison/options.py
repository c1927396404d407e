"""Options and help of `bayesieve compare`; the code that it runs is imported when it is called."""

from __future__ import annotations

from typing import Any

from bayesieve.cli.commands import COLUMNS, JOBS, QUIET, TABLES, Option, command, folder

_PEERS = (
    "hist-gradient-boosting, categorical-nb, gaussian-nb, l1-logistic (scikit-learn's), khiops, khiops-trees-pairs, "
    "catboost, ebm, scorecard, figs, fasterrisk, weka-aode, weka-waode, weka-hnb (if installed)"
)

COMPARE = {
    "": [TABLES],
    "Columns": [
        Option("--target -t NAME", "Column to predict; may be repeated, once for each TABLE.", ..., list[str]),
        *COLUMNS,
    ],
    "Methods and folds": [
        Option("--selectors -s A,B,...", "Selectors to compare.", default_in_words="all"),
        Option("--peers A,B,...", f"Other classifiers, on the raw columns: {_PEERS}.", default_in_words="none"),
        Option("--cv NAME", "Folds: shuffled; or time: blocks of rows, each after all rows to learn from.", "shuffled"),
        Option("--time COLUMN", "Column of numbers or dates that orders the blocks of --cv time; not learnt from."),
        Option("--folds N", "Folds of each repeat, or blocks of --cv time.", 10),
        Option("--repeats N", "Repeats, each with a different shuffle.", 1),
        Option("--seed N", "Seed of the folds and of the searches.", 0),
        Option(
            "--measure NAME",
            "Measure to order, rank and test methods by: accuracy, auc, compression_rate, log_loss, brier or "
            "balanced_accuracy.",
            "accuracy",
        ),
        JOBS,
    ],
    "Output": [folder("bayesieve-comparison"), QUIET],
}


@command(COMPARE, "bayesieve_lab.comparison.command")
def compare(given: Any) -> None:
    """Compare selectors on one TABLE or several by repeated stratified cross-validation.

    Writes comparison.html, folds.csv and results.jsonl, and prints a ranking of the methods; for several tables also
    average ranks. One table is in memory at a time.

    Run an interrupted command again to continue where it stopped.
    """
