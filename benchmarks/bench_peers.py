"""Other classifiers on the same ten folds of real data sets: means, tests of the folds, ranks."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bayesieve import SelectiveNB
from bayesieve_lab import Comparison, RepeatedFolds, compare_many
from bayesieve_lab.comparison.differences import average_ranks, wilcoxon_holm, wins_and_losses
from bayesieve_lab.data_sets import DataSets
from bayesieve_lab.peers import PEERS
from benchmarks.common.measuring import ROOT, Report, markdown_table, options

# Numbers, categories and both; 148 to 48,842 rows, 4 to 500 features, 2 to 28 classes; with and without missing cells.
SETS = (
    "abalone",
    "adult",
    "anneal_orig",
    "arrhythmia",
    "audiology",
    "australian",
    "breast_wisconsin_original",
    "car",
    "cmc",
    "credit_approval_crx",
    "german_credit",
    "glass",
    "heart_cleveland",
    "hepatitis",
    "horse_colic",
    "hypothyroid_uci",
    "ionosphere",
    "kr_vs_kp",
    "letter",
    "lymphography",
    "madelon",
    "mfeat_pixel",
    "mushroom_8124",
    "nursery",
    "page_blocks",
    "pendigits",
    "pima_diabetes",
    "satimage",
    "segment",
    "sick_euthyroid",
    "soybean",
    "spambase",
    "splice",
    "thyroid_ann",
    "vehicle",
    "waveform40",
    "wine",
    "yeast",
)
QUICK_SETS = ("hepatitis", "glass", "soybean")
OURS = ("compression", "map")
DEFAULT_PEERS = ("khiops", "hist-gradient-boosting")
MEASURES = {"accuracy": "accuracy", "auc": "AUC", "compression_rate": "compression rate", "log_loss": "log loss"}


def main() -> None:
    """Run folds that are missing in the results file, then write the report."""
    arguments = _arguments()
    if arguments.folder is None or not (arguments.folder / "catalogue.csv").exists():
        print(
            "The data sets are not there: pass a folder with catalogue.csv and the tables it names, as "
            "lab/data-sets.md says. All of it takes about an hour on 2 cores, and goes on where it was interrupted."
        )
        return
    folds = arguments.folds or (2 if arguments.quick else 10)
    names = _listed(arguments.sets) or (QUICK_SETS if arguments.quick else SETS)
    data_sets = DataSets(arguments.folder)
    try:
        methods = _methods(_listed(arguments.peers))
        for name in names:
            data_sets.facts(name)  # refuses a name that the catalogue does not have
    except ValueError as error:
        raise SystemExit(f"bench_peers.py: {error}") from None
    report = Report("peers", "Beside other classifiers", arguments)
    warm_up(methods)
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    comparison = compare_many(
        methods,
        {name: partial(data_sets.load, name) for name in names},
        RepeatedFolds(n_folds=folds),
        results=arguments.results,
        verbose=1,
    )
    if not comparison.complete:
        raise SystemExit(f"Interrupted; the same command goes on from what {arguments.results} has.")
    write(report, comparison, data_sets)
    report.close(["polars", "khiops", "khiops-core", *(["interpret-core"] if "ebm" in methods else [])])


def _arguments() -> argparse.Namespace:
    parser = options(__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="folder with catalogue.csv and the tables it names")
    parser.add_argument("--sets", help=f"names of data sets, separated by commas (default: {len(SETS)} of them)")
    parser.add_argument(
        "--peers",
        default=",".join(DEFAULT_PEERS),
        help=f"of {', '.join(PEERS)}, separated by commas (default {','.join(DEFAULT_PEERS)})",
    )
    parser.add_argument("--folds", type=int, help="folds (default 10; 2 with --quick)")
    parser.add_argument(
        "--results",
        type=Path,
        default=ROOT / "build" / "bench-peers.jsonl",
        help="every finished fold is added to this file, and not run again (default build/bench-peers.jsonl); remove "
        "it after a change of the methods that leaves their options as they are",
    )
    return parser.parse_args()


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _methods(peers: Sequence[str]) -> dict[str, Any]:
    unknown = [name for name in peers if name not in PEERS]
    if unknown:
        raise ValueError(f"there is no peer {unknown[0]!r}; choose of {', '.join(PEERS)}.")
    ours: dict[str, Any] = {name: SelectiveNB(name) for name in OURS}
    return ours | {name: PEERS[name](random_state=0) for name in peers}


def warm_up(methods: dict[str, Any]) -> None:
    """One small fit each, so that compiling or reading compiled code is not counted with the first data set."""
    rng = np.random.default_rng(0)
    X = pl.DataFrame({"number": rng.normal(size=200), "word": rng.choice(["a", "b", "c"], 200)})
    for n_classes in (2, 3):
        compare_many(methods, {"warm": (X, rng.integers(0, n_classes, 200))}, RepeatedFolds(n_folds=2))


def write(report: Report, comparison: Comparison, data_sets: DataSets) -> None:
    """All tables, from means to single data sets."""
    report.add(
        f"{comparison.protocol.n_folds} stratified folds (shuffled, seed {comparison.protocol.seed}) of "
        f"{len(comparison.data)} data "
        "sets, the same rows for all methods; means over the folds on held-out rows. `compression` is "
        '`SelectiveNB()` and `map` is `SelectiveNB("map")`, all else by default; khiops is the selective naive Bayes '
        "of Khiops without trees, pairs and constructed features; the others are scikit-learn's or interpret's with "
        "their defaults. AUC: one class against the rest, weighted by class share. Compression rate: 1 - log loss / "
        "log loss of the class shares. Log loss in nats, with probabilities of at least 2.2e-16. Features: those "
        "used, if a method reports it. Seconds: one fit with the method's own threads; Khiops has a fixed cost for its "
        "processes and files.\n"
    )
    for _, method, number, error in comparison.errors():
        report.add(f"{method} failed on {number} folds: {error}\n")
    report.add(_means(comparison) + "\n")
    report.add(_average_ranks(comparison) + "\n")
    report.add(
        "Corrected resampled t-test of the folds (Nadeau & Bengio 2003) at 5 %, not adjusted for being one of many:\n"
    )
    for reference in (name for name in OURS if name in comparison.methods):
        report.add(_tested(comparison, reference) + "\n")
    report.add(_signed_ranks(comparison) + "\n")
    report.add("Below: rows x numeric + categorical features, classes.\n")
    for name in comparison.data:
        report.add(_one_set(comparison, data_sets, name) + "\n")


def _means(comparison: Comparison) -> str:
    """Means over the data sets on which no method failed."""
    columns = {measure: comparison.matrix(measure) for measure in (*MEASURES, "n_features", "fit_seconds")}
    complete = ~np.isnan(np.stack([columns[measure] for measure in MEASURES])).any(axis=(0, 2))
    header = [f"Means over {complete.sum()} data sets", *MEASURES.values(), "features", "seconds"]
    rows = []
    for place, method in enumerate(comparison.methods):
        figures = {name: float(np.mean(values[complete, place])) for name, values in columns.items()}
        rows.append([method, *_figures(figures)])
    return markdown_table(header, rows)


def _average_ranks(comparison: Comparison) -> str:
    columns = [average_ranks(comparison.matrix(measure), comparison.higher_is_better(measure)) for measure in MEASURES]
    rows = [[name, *(f"{ranks[place]:.2f}" for ranks in columns)] for place, name in enumerate(comparison.methods)]
    return markdown_table(["Average rank, 1 is best", *MEASURES.values()], rows)


def _tested(comparison: Comparison, reference: str) -> str:
    """Data sets won and lost by the test of the folds."""
    frame = comparison.frame
    fold = list(zip(frame["repeat"], frame["fold"], strict=True))
    outcomes = {
        measure: wins_and_losses(
            frame["data"].to_list(),
            frame["method"].to_list(),
            fold,
            frame[measure].to_list(),
            reference=reference,
            higher_is_better=comparison.higher_is_better(measure),
            test_share=comparison.test_share,
        )
        for measure in MEASURES
    }
    others = [name for name in comparison.methods if name != reference]
    rows = []
    for other in others:
        counted = [outcomes[measure][other] for measure in MEASURES]
        rows.append([other, *(f"{one.wins} / {one.ties} / {one.losses}" for one in counted)])
    header = [f"Data sets that {reference} wins / neither is shown / loses against", *MEASURES.values()]
    lines = [markdown_table(header, rows)]
    for other in others:
        for measure, words in MEASURES.items():
            by_data = outcomes[measure][other].outcomes
            for sign, verb in ((1, "wins"), (-1, "loses")):
                names = [name for name, outcome in by_data.items() if outcome == sign]
                if names and other == "khiops":
                    lines.append(f"\n{reference} {verb} against {other} by {words}: {', '.join(names)}.")
    return "\n".join(lines)


def _signed_ranks(comparison: Comparison) -> str:
    """Tests of all pairs over the data sets."""
    tests = [
        wilcoxon_holm(comparison.matrix(measure), comparison.methods, comparison.higher_is_better(measure))
        for measure in MEASURES
    ]
    rows = []
    for ones in zip(*tests, strict=True):
        cells = [f"{one.wins} / {one.losses}, p = {one.adjusted:.2g}" for one in ones]
        rows.append([f"{ones[0].first} against {ones[0].second}", *cells])
    return (
        "Means of the data sets: on how many the first has the better and the worse one, whatever the size, and "
        "Wilcoxon's signed-rank test, its p adjusted by Holm for the pairs:\n\n"
        + markdown_table(["better / worse", *MEASURES.values()], rows)
    )


def _one_set(comparison: Comparison, data_sets: DataSets, name: str) -> str:
    facts = data_sets.facts(name)
    title = f"{name}: {facts.rows:,} x {facts.n_numeric} + {facts.n_categorical}, {facts.n_classes} classes"
    columns = {measure: comparison.folds(measure, name) for measure in (*MEASURES, "n_features", "fit_seconds")}
    rows = []
    for place, method in enumerate(comparison.methods):
        known = {measure: values[~np.isnan(values[:, place]), place] for measure, values in columns.items()}
        figures = {measure: float(np.mean(values)) if values.size else np.nan for measure, values in known.items()}
        rows.append([method, *_figures(figures)])
    return markdown_table([title, *MEASURES.values(), "features", "seconds"], rows)


def _figures(figures: dict[str, float]) -> list[str]:
    shown = [f"{figures[measure]:.4f}" for measure in MEASURES]
    shown += [f"{figures['n_features']:.1f}", f"{figures['fit_seconds']:.3g}"]
    return ["" if cell == "nan" else cell for cell in shown]


if __name__ == "__main__":
    main()
