"""The smallest tables of two classes beside other classifiers, and the price of fewer terms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import mean
from typing import Any

from scipy.stats import wilcoxon

from bayesieve_lab.comparison.differences import corrected_resampled_t
from bayesieve_lab.comparison.folds import describe
from bayesieve_lab.comparison.results import ComparisonFile, Key
from bayesieve_lab.data_sets import DataSets
from bayesieve_lab.figures.tradeoff import tradeoff_figure
from benchmarks.bench_quality import (
    FOLDS,
    TWO_CLASS_TABLES,
    finished,
    listed,
    load_folds,
    packages_of,
    peer_described,
    results_of,
    run_arguments,
    shown,
    values_of,
)
from benchmarks.common.measuring import RESULTS, Report, markdown_table, options

DEFAULT = "bayesieve"
PEERS = ("scorecard", "l1-logistic", "ebm")
FEWER: dict[str, dict[str, Any]] = {
    "selector='map'": {"selector": "map"},
    "calibrate='weights'": {"calibrate": "weights"},
    "calibrate=False": {"calibrate": False},
}
AT_MOST: dict[str, dict[str, Any]] = {f"pairs={k}": {"pairs": k} for k in (0, 2, 5, 10, 20, 50)}
OURS = {DEFAULT: {}, **FEWER, **AT_MOST}
METHODS = (*OURS, *PEERS)
_SMALLEST = (
    "hepatitis sonar spect spectf heart_statlog breast_cancer_ljubljana heart_hungarian heart_cleveland haberman "
    "ionosphere"
)
SMALL = tuple(_SMALLEST.split())
WIDE = ("arcene", "dexter_train")
"""As small as the ten of `SMALL`, but of 10,000 and 20,000 columns."""
_AT_LEAST_300 = (
    "dexter_train heart_cleveland haberman ionosphere horse_colic horse_colic_orig vote breast_wisconsin_diagnostic "
    "australian credit_approval_crx breast_wisconsin_original pima_diabetes tic_tac_toe german_credit german_numeric "
    "dorothea madelon hypothyroid_uci sick_euthyroid kr_vs_kp sick hiva ada spambase mushroom_8124 mushroom_8416 "
    "pva97nk sylva adult"
)
LONGER = tuple(_AT_LEAST_300.split())
_SLOW = (*WIDE, "dorothea", "hiva", "sylva")  # run on one fold
_TITLES = {"auc": "AUC", "log_loss": "log loss", "n_features": "features", "seconds": "seconds"}
Rows = dict[Key, dict[str, Any]]


def main() -> None:
    """Run the folds that the results lack, then write both pages."""
    parser = options(__doc__)
    parser.add_argument("--folds", type=int, default=FOLDS.n_folds, help="number of the five folds to run")
    arguments = run_arguments(parser, "terms", METHODS)
    every = dict.fromkeys((*SMALL, *WIDE, *LONGER, *TWO_CLASS_TABLES))
    names = listed(arguments.tables) or (("hepatitis",) if arguments.quick else tuple(every))

    def n_folds(method: str, name: str) -> int:
        return min(_wanted(method, name), arguments.folds)

    load = partial(load_folds, DataSets(arguments.data))
    rows = finished("terms", arguments, METHODS, names, _described, load, n_folds, OURS)
    if arguments.write:
        stored = ComparisonFile(RESULTS / "quality.jsonl").rows
        rows = {key: row for key, row in stored.items() if key[1] in ("ebm", "khiops")} | rows
        pages = (("small_tables", "Small tables of two classes, and fewer features", write_small),)
        for name, title, write in (*pages, ("terms", "The price of fewer terms", write_terms)):
            report = Report(name, title, arguments)
            write(report, rows)
            report.add(packages_of(results_of("terms", arguments)))
            report.close(["polars"])


def _wanted(method: str, name: str) -> int:
    """How many folds of a table a method is run on."""
    runs = {**dict.fromkeys(FEWER, LONGER), **dict.fromkeys(AT_MOST, TWO_CLASS_TABLES), **dict.fromkeys(PEERS, SMALL)}
    if name not in runs.get(method, (name,)) and (method != "l1-logistic" or name not in WIDE):
        return 0
    return 1 if name in _SLOW else FOLDS.n_folds


def _described(name: str, model: Any) -> str:
    return describe(model) if name in OURS else peer_described(name, model)


_SMALL_TABLES = """\
The ten smallest tables of two classes with at least 80 rows (155 to 351), five stratified folds (shuffled, seed 0), the
same for all. `bayesieve` is `SelectiveNB()`, the others are those of `bayesieve compare --peers`, as
[described](../../docs/other-classifiers.md).

* `arcene` (200 rows, 10,000 columns) and `dexter_train` (300 rows, 20,000 columns) are as small, but stand apart, with
  the first fold only: the explainable boosting machine looks at all pairs of columns, 50 and 200 million, and the
  scorecard did not finish a fold in a minute.
* `ebm` was run on all folds of some tables only, as a fit takes up to a minute or more of a core; it is compared on the
  same folds.
* In brackets: p of the corrected resampled t-test over the folds, which has little power with five or fewer. *p over
  tables* is that of the Wilcoxon signed-rank test of the differences of the means.
* Log loss in nats. Features: columns and pairs in use. Seconds: processor time of one fit; the less of two fits if they
  are short.
"""
_FEWER = """\
## Fewer features

Tables of two classes with 300 rows or more; five folds, but the first only of those of more than 200 columns,
except madelon. `selector='map'` has no pairs, no fitted weights and no fitted evidence; `calibrate='weights'` and
`calibrate=False` have pairs, but no surfaces and no fitted evidence. `khiops` is the selective naive Bayes of Khiops,
from [quality.md](quality.md), which has its first folds on some of these tables. Fractional naive Bayes (Hue, Boullé
and Lemaire, 2024) claims fewer variables than it at the same AUC.
"""
_TERMS = """\
`SelectiveNB(pairs=k)` keeps at most k pairs, coarse ones first, then smooth ones (surfaces); `bayesieve` is the
default, `pairs="auto"`. The ten tables of two classes of [quality.md](quality.md), five stratified folds (shuffled,
seed 0). Features: terms of the model, columns and pairs with weight. The three lines below the default keep other
features, as described in [small_tables.md](small_tables.md#fewer-features). `ebm` is the explainable boosting machine
as stored for quality.md, on the first fold: compare it in the second table. Seconds were taken beside much other work
on the machine: of one fit for `pairs=5` and `pairs=20`, else the less of two if they are short.

![AUC and log loss by number of terms](terms.svg)
"""


def write_small(report: Report, rows: Rows) -> None:
    """Small tables beside three peers, with tests; then settings that keep fewer features."""
    report.add(_SMALL_TABLES)
    report.add(_means(rows, SMALL, (DEFAULT, *PEERS)) + "\n")
    for n_folds in (FOLDS.n_folds, 1):  # folds of the boosting machine take minutes: compare the same rows
        done = [name for name in SMALL if all(_n_done(rows, name, peer) >= n_folds for peer in PEERS)]
        if 0 < len(done) < len(SMALL) or n_folds == 1:
            report.add(_means(rows, done, (DEFAULT, *PEERS), n_folds) + f"\n\nThese are {', '.join(done)}.\n")
    header = ["bayesieve against", "measure", "better on", "significantly", "significantly worse", "p over tables"]
    report.add(markdown_table(header, [_test(rows, peer, m) for m in ("auc", "log_loss") for peer in PEERS]) + "\n")
    for measure in ("auc", "log_loss", "n_features"):
        report.add(_by_table(rows, (*SMALL, *WIDE), (DEFAULT, *PEERS), measure, tested=PEERS) + "\n")
    report.add(_FEWER)
    n_most = {name: _n_done(rows, name, DEFAULT) for name in LONGER}
    done = [name for name, n in n_most.items() if n and all(_n_done(rows, name, method) >= n for method in FEWER)]
    report.add(_means(rows, done, (DEFAULT, *FEWER)) + "\n")
    known = [name for name in done if values_of(rows, name, "khiops", "auc", 1)]
    report.add(_means(rows, known, (DEFAULT, *FEWER, "khiops"), 1) + "\n")
    report.add(_by_table(rows, LONGER, (DEFAULT, *FEWER), "n_features") + "\n")
    report.add(_by_table(rows, LONGER, (DEFAULT, *FEWER), "auc") + "\n")


def write_terms(report: Report, rows: Rows) -> None:
    """Means by the most pairs, with a picture; then single tables."""
    report.add(_TERMS)
    report.add(_means(rows, TWO_CLASS_TABLES, (*AT_MOST, DEFAULT, *FEWER)) + "\n")
    report.add(_means(rows, TWO_CLASS_TABLES, (*AT_MOST, DEFAULT, *FEWER, "ebm"), 1) + "\n")
    for measure in ("auc", "log_loss", "n_features"):
        report.add(_by_table(rows, TWO_CLASS_TABLES, (*AT_MOST, DEFAULT), measure) + "\n")
    if report.writes:
        figure(rows).save(RESULTS / "terms.svg")


def figure(rows: Rows) -> Any:
    """AUC and log loss by terms, means over tables and folds."""
    settings = [name for name in (*AT_MOST, DEFAULT) if _mean(rows, TWO_CLASS_TABLES, name, "auc") is not None]
    measures = ("n_features", "auc", "log_loss")
    values = {name: {_TITLES[m]: _mean(rows, TWO_CLASS_TABLES, name, m) or 0.0 for m in measures} for name in settings}
    return tradeoff_figure(
        values,
        [("features", "AUC"), ("features", "log loss")],
        joined=settings,
        title="Terms of the model and its quality, ten tables of two classes",
        caption="Means over held-out rows of five folds. Higher AUC and lower log loss are better; all have 17 terms.",
    )


def _n_done(rows: Rows, name: str, method: str) -> int:
    return len(values_of(rows, name, method, "auc", FOLDS.n_folds))


def _mean(rows: Rows, names: Sequence[str], method: str, measure: str, n_folds: int = FOLDS.n_folds) -> float | None:
    """The mean over tables of the means over folds; None if a table lacks folds that the default has."""
    values = [values_of(rows, name, method, measure, n_folds) for name in names]
    enough = all(len(of) >= min(n_folds, _n_done(rows, name, DEFAULT)) for name, of in zip(names, values, strict=True))
    return mean(map(mean, values)) if values and all(values) and enough else None


def _means(rows: Rows, names: Sequence[str], methods: Sequence[str], n_folds: int = FOLDS.n_folds) -> str:
    lines = [[m, *(shown(_mean(rows, names, m, measure, n_folds), measure) for measure in _TITLES)] for m in methods]
    title = f"means of {len(names)} tables{', first fold' if n_folds == 1 else ''}"
    return markdown_table([title, *_TITLES.values()], lines)


def _by_table(
    rows: Rows, names: Sequence[str], methods: Sequence[str], measure: str, tested: Sequence[str] = ()
) -> str:
    lines = []
    for name in (name for name in names if any(_n_done(rows, name, method) for method in methods)):
        folds = [values_of(rows, name, method, measure, FOLDS.n_folds) for method in methods]
        cells = [shown(mean(values) if values else None, measure) for values in folds]
        few = [f", {len(of)} of {len(folds[0])} folds" if 0 < len(of) < len(folds[0]) else "" for of in folds]
        cells = [cell + text for cell, text in zip(cells, few, strict=True)]
        if measure != "n_features":
            p_values = [_p_value(rows, name, method, measure) if method in tested else None for method in methods]
            cells = [cell if p is None else f"{cell} ({p:.2f})" for cell, p in zip(cells, p_values, strict=True)]
        lines.append([name, *cells])
    return markdown_table([_TITLES[measure], *methods], lines)


def _p_value(rows: Rows, name: str, peer: str, measure: str) -> float | None:
    """Of the corrected resampled t-test over the folds that both finished; None if these are fewer than two."""
    first, second = (values_of(rows, name, method, measure, FOLDS.n_folds) for method in (DEFAULT, peer))
    n = min(len(first), len(second))
    return corrected_resampled_t(first[:n], second[:n], 1 / (FOLDS.n_folds - 1)).p_value if n > 1 else None


def _test(rows: Rows, peer: str, measure: str) -> list[str]:
    """Tables on which the default is better, significantly so and significantly worse, and the test over tables."""
    gains = {}
    for name in SMALL:
        first, second = (values_of(rows, name, method, measure, FOLDS.n_folds) for method in (DEFAULT, peer))
        if n := min(len(first), len(second)):
            gains[name] = (mean(first[:n]) - mean(second[:n])) * (1 if measure == "auc" else -1)
    real = [gain for name, gain in gains.items() if (_p_value(rows, name, peer, measure) or 1) <= 0.05]
    better, worse = sum(gain > 0 for gain in real), sum(gain < 0 for gain in real)
    counted = [f"{sum(gain > 0 for gain in gains.values())} of {len(gains)}", str(better), str(worse)]
    return [peer, _TITLES[measure], *counted, f"{wilcoxon(list(gains.values())).pvalue:.3f}"]


if __name__ == "__main__":
    main()
