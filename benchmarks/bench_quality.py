"""Quality of our default and of other classifiers on real tables: accuracy, AUC, log loss, features, seconds."""

from __future__ import annotations

import csv
import json
import resource
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from threadpoolctl import threadpool_limits

from bayesieve import SelectiveNB
from bayesieve.evaluation.splits import fingerprint
from bayesieve.table import as_target
from bayesieve_lab import RepeatedFolds, boulle2007
from bayesieve_lab.comparison.folds import DataSet, FixedSplit, Fold, FoldRun, describe
from bayesieve_lab.comparison.results import ComparisonFile, Key
from bayesieve_lab.data_sets import DataSets
from bayesieve_lab.figures.tradeoff import tradeoff_figure
from bayesieve_lab.peers import PEERS
from benchmarks.common.measuring import RESULTS, ROOT, Report, markdown_table, options, version

OURS: dict[str, dict[str, Any]] = {
    "bayesieve": {},
    "bayesieve before": {"prior": "published", "pairs": 0, "calibrate": "weights"},
}
"""Options of `SelectiveNB`: the default now, and before pairs and fitted evidence."""
TWO_CLASS_PEERS = ("scorecard", "ebm")
MULTI_CLASS_PEERS = ("hist-gradient-boosting", "catboost", "l1-logistic", "khiops", "khiops-trees-pairs")
METHODS = (*OURS, *MULTI_CLASS_PEERS, *TWO_CLASS_PEERS)
FOLDS = RepeatedFolds(n_folds=5)
OFFICIAL = "adult by official rows"
_OFFICIAL_SPLIT = FixedSplit(32561)
_LEAKS = {"pva97nk": ("TargetD",)}  # known only once the target is
_PACKAGES = {"catboost": "catboost", "khiops": "khiops", "khiops-trees-pairs": "khiops"}
_PACKAGES |= {"scorecard": "optbinning", "ebm": "interpret-core"}
_FIRST_FOLD_ONLY = (("l1-logistic", "letter"),)
_MEASURES = {"accuracy": "accuracy", "auc": "AUC", "compression_rate": "compression rate", "log_loss": "log loss"}


@dataclass(frozen=True)
class Group:
    """Tables whose means stand in one table, over the first folds of each."""

    title: str
    tables: tuple[str, ...]
    peers: tuple[str, ...] = MULTI_CLASS_PEERS
    n_folds: int = FOLDS.n_folds


with open(Path(boulle2007.__file__).parent / "data_sets.csv", encoding="utf-8", newline="") as _file:
    _BOULLE = tuple(row["ours"] for row in csv.DictReader(_file) if row["table"] == "1")
_PEERS_SETS = (
    "adult anneal_orig australian breast_wisconsin_original car cmc credit_approval_crx german_credit glass "
    "heart_cleveland hepatitis horse_colic hypothyroid_uci ionosphere kr_vs_kp letter mushroom_8124 nursery "
    "page_blocks pendigits pima_diabetes satimage segment sick_euthyroid spambase thyroid_ann vehicle waveform40 "
    "wine yeast"
)
_PAIRS = ("kr_vs_kp", "vehicle", "nursery", "car", "satimage", "vowel")
_SMALL = ("sonar", "hepatitis", "autos", "german_credit")
_TEN = "german_credit kr_vs_kp hypothyroid_uci sick_euthyroid sick ada spambase mushroom_8416 pva97nk adult"
TWO_CLASS_TABLES = tuple(_TEN.split())
_ALL_PEERS = (*MULTI_CLASS_PEERS, *TWO_CLASS_PEERS)
GROUPS = (
    Group("30 UCI sets of Boullé (2007)", _BOULLE),
    Group("30 UCI sets of Boullé (2007), first fold", _BOULLE, n_folds=1),
    Group("30 sets of peers.md", tuple(_PEERS_SETS.split())),
    Group("30 sets of peers.md, first fold", tuple(_PEERS_SETS.split()), n_folds=1),
    Group(", ".join(_PAIRS), _PAIRS),
    Group(", ".join(_SMALL), _SMALL),
    Group("ten tables of two classes, first fold", TWO_CLASS_TABLES, _ALL_PEERS, 1),
    Group("Adult, official test rows", (OFFICIAL,), _ALL_PEERS, 1),
)


class Clocked(ClassifierMixin, BaseEstimator):
    """A classifier whose fits are timed in seconds of processor, those of its child processes included."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> Clocked:
        self.seconds_ = self._timed(X, y)
        if self.seconds_ < 2.0:  # without what is loaded or compiled for the first table of its kind
            self.seconds_ = min(self.seconds_, self._timed(X, y))
        self.classes_ = self.model_.classes_
        self.n_features_selected_ = getattr(self.model_, "n_features_selected_", None)
        return self

    def _timed(self, X: Any, y: Any) -> float:
        began = _processor_seconds()
        self.model_ = clone(self.model).fit(X, y)
        return _processor_seconds() - began

    def predict_log_proba(self, X: Any) -> np.ndarray:
        return self.model_.predict_log_proba(X)

    def fold_figures(self, rows: Any, codes: np.ndarray) -> dict[str, float]:
        return {"processor_seconds": round(self.seconds_, 6)}


def _processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def main() -> None:
    """Run the folds that the results lack, then write the tables."""
    parser = options(__doc__)
    parser.add_argument("--folds", type=int, default=FOLDS.n_folds, help="number of the five folds to run")
    parser.add_argument("--show", action="store_true", help="print the tables; --write also writes them")
    arguments = run_arguments(parser, "quality", METHODS)
    names = listed(arguments.tables) or (("hepatitis", "german_credit") if arguments.quick else _all_tables())

    def n_folds(method: str, name: str) -> int:
        return min(_wanted(method, name), arguments.folds)

    data_sets = DataSets(arguments.data)
    rows = finished("quality", arguments, METHODS, names, _described, partial(load_folds, data_sets), n_folds)
    if arguments.write or arguments.show or arguments.quick:
        report = Report("quality", "Quality on real tables", arguments)
        write(report, rows, data_sets)
        report.add(packages_of(results_of("quality", arguments)))
        report.close(["polars"])


def run_arguments(parser: ArgumentParser, name: str, methods: Sequence[str]) -> Any:
    """The arguments of a benchmark that keeps finished folds; the end of the program if the tables are not there."""
    add = parser.add_argument
    add("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder with catalogue.csv and its files")
    add("--methods", help=f"of {', '.join(methods)}; separated by commas")
    add("--tables", help="names of tables, separated by commas")
    add("--again", help="run these methods again, separated by commas: bayesieve after every change of the default")
    add("--results", type=Path, default=RESULTS / f"{name}.jsonl", help="finished folds, which are not run again")
    arguments = parser.parse_args()
    if not (arguments.data / "catalogue.csv").exists():
        print("The tables are not there: pass --data DIR, a folder with catalogue.csv and the files it names.")
        raise SystemExit
    return arguments


def results_of(name: str, arguments: Any) -> Path:
    """The file of finished folds."""
    path: Path = ROOT / "build" / f"bench-{name}-quick.jsonl" if arguments.quick else arguments.results
    return path


def finished(
    name: str,
    arguments: Any,
    methods: Sequence[str],
    tables: Sequence[str],
    described: Callable[[str, Any], str],
    load: Callable[[str], tuple[DataSet, list[Fold]]],
    n_folds: Callable[[str, str], int],
    ours: Mapping[str, dict[str, Any]] = OURS,
) -> dict[Key, dict[str, Any]]:
    """All finished folds, after running those that the file lacks.

    Parameters
    ----------
    name, arguments : of the benchmark.
    methods, tables : by name; the methods unless the arguments name some.
    described : a method as the file describes it, from its name and its model.
    load : a table and its folds, by name.
    n_folds : how many of them to run, by method and table.
    ours : options of `SelectiveNB` by method.
    """
    again, results = listed(arguments.again), results_of(name, arguments)
    models = dict(models_of(listed(arguments.methods) or again or methods, ours))
    results.parent.mkdir(parents=True, exist_ok=True)
    forget(results, again)
    try:
        file = ComparisonFile(results)
        described_models = {method: described(method, model.model) for method, model in models.items()}
        file.go_on({"folds": FOLDS.n_folds, "seed": FOLDS.seed}, {}, described_models)
        with threadpool_limits(1):
            for method, model in models.items():
                _run(method, model, tables, file, load, n_folds)
    except ValueError as error:
        raise SystemExit(f"bench_{name}.py: {error} Or forget these results with --again NAME.") from None
    except KeyboardInterrupt:
        raise SystemExit(f"Interrupted; the same command goes on from what {results} has.") from None
    return file.rows


def _run(
    method: str,
    model: Clocked,
    tables: Sequence[str],
    file: ComparisonFile,
    load: Callable[[str], tuple[DataSet, list[Fold]]],
    n_folds: Callable[[str, str], int],
) -> None:
    warm = False
    for name in tables:
        keys = [(name, method, 0, fold) for fold in range(n_folds(method, name))]
        missing = [key for key in keys if key not in file.rows]
        if not missing:
            continue
        if not warm:
            warm_up(model)
            warm = True
        data, folds = load(name)
        file.add_data(name, fingerprint(data.X, data.codes, data.classes, None))
        for key in missing:
            row = FoldRun(data, folds[key[3]])(method, model)
            file.append(row)
            print(f"{method}, {name}, fold {key[3] + 1}: {row['error'] or row['figures']}", flush=True)


def listed(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _all_tables() -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for group in GROUPS for name in group.tables))


def models_of(methods: Sequence[str], ours: Mapping[str, dict[str, Any]] = OURS) -> Iterator[tuple[str, Clocked]]:
    """Classifiers by name, on one core each; those that are not installed are left out, with a note."""
    for name in methods:
        try:
            model = SelectiveNB(**ours[name]) if name in ours else PEERS[name](random_state=0)
        except ValueError as error:
            print(f"{name} is left out: {error}")
            continue
        yield name, Clocked(model.set_params(n_jobs=1) if "n_jobs" in model.get_params() else model)


def _described(name: str, model: Any) -> str:
    """A method as the results file describes it; ours change from version to version, see --again."""
    return "bayesieve" if name in OURS else peer_described(name, model)


def peer_described(name: str, model: Any) -> str:
    """A peer as the results file describes it."""
    package = _PACKAGES.get(name, "scikit-learn")
    return f"{describe(model)} of {package} {version(package)}"


def packages_of(path: Path) -> str:
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    packages = {line["is"].rpartition(" of ")[2] for line in lines if "method" in line and " of " in line["is"]}
    return f"Results of the others are those of {', '.join(sorted(packages))}."


def forget(path: Path, methods: Sequence[str]) -> None:
    """Drop results of these methods from a file of lines."""
    if methods and path.exists():
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if (one := json.loads(line)).get("result", one).get("method") not in methods]
        path.write_text("".join(kept), encoding="utf-8")


def _wanted(method: str, name: str) -> int:
    """How many folds of a table a method is run on."""
    two_classes = method in TWO_CLASS_PEERS
    groups = [group for group in GROUPS if name in group.tables and (method in OURS or method in group.peers)]
    most = max((group.n_folds for group in groups), default=0)
    if two_classes or (method, name) in _FIRST_FOLD_ONLY:
        most = min(most, 1)
    return most


def load_folds(data_sets: DataSets, name: str) -> tuple[DataSet, list[Fold]]:
    features, labels = data_sets.load("adult" if name == OFFICIAL else name)
    target = as_target(labels)
    if name in _LEAKS:  # sparse tables have no `drop`
        features = features.drop(_LEAKS[name])
    data = DataSet(name, features, target.codes.astype(np.int64), target.classes, None)
    return data, (_OFFICIAL_SPLIT if name == OFFICIAL else FOLDS).split(data.codes)


def warm_up(model: Clocked) -> None:
    """Small fits, so that compiling and imports are not counted with the first table."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"number": rng.normal(size=200), "word": rng.choice(["a", "b", "c"], 200)})
    for n_classes in (2, 3):
        codes = rng.integers(0, n_classes, 200)
        data = DataSet("warm", frame, codes, np.arange(n_classes), None)
        FoldRun(data, Fold(0, 0, np.arange(100), np.arange(100, 200)))("warm", model)


_INTRODUCTION = """\
Means over held-out rows of five stratified folds (shuffled, seed 0), the same for all. `bayesieve` is `SelectiveNB()`,
`bayesieve before` the same with published priors, without pairs and fitted evidence; the others are those of `bayesieve
compare --peers`, as [described](../../docs/other-classifiers.md).

* AUC: one class against the rest, weighted by class share. Compression rate: 1 - log loss / log loss of the class
  shares. Log loss in nats.
* Features: columns, pairs and trees that a method uses, if it reports them.
* Seconds: processor time of one fit on one core, child processes included, which other work on the machine changes
  little; the less of two fits if they are short. Khiops has a fixed cost for its processes and files.
* Folds: those finished of each table, out of the same five. All but bayesieve and `hist-gradient-boosting` were run on
  the first only, as a fit of some takes minutes; the means over the first fold compare all methods on the same rows.
* A second table over fewer sets follows where a method lacks some of them, with the methods that have all of these.
* `ebm` and `scorecard` are run on tables of two classes only: pairs of the one and the other itself need them.
* Adult's official split trains on its first 32,561 rows.

![Methods by accuracy, AUC and compression rate](quality.svg)
"""


def write(report: Report, rows: dict[Key, dict[str, Any]], data_sets: DataSets) -> None:
    """Means of the groups, then single tables."""
    report.add(_INTRODUCTION)
    for group in GROUPS:
        report.add(_means(group, rows) + "\n")
        common = _common(group, rows)
        if 0 < len(common) < len(group.tables):
            part = replace(group, title=f"{len(common)} of these {len(group.tables)}", tables=common)
            report.add(_means(part, rows) + "\n")
    report.add(_lost(rows))
    if report.writes:
        figure(rows).save(RESULTS / "quality.svg")
    for name, method in sorted({(row["data"], row["method"]) for row in rows.values() if row["error"]}):
        errors = [
            row["error"] for row in rows.values() if row["error"] and (row["data"], row["method"]) == (name, method)
        ]
        report.add(f"{method} failed on {len(errors)} folds of {name}: {errors[0]}\n")
    ten = next(group for group in GROUPS if group.tables == TWO_CLASS_TABLES)
    report.add(f"## {ten.title}\n")
    for measure in ("auc", "log_loss", "times"):
        report.add(_matrix(ten, rows, measure, data_sets) + "\n")
    report.add("## Single tables, finished folds\n")
    every = Group("all", tuple(name for name in _all_tables() if name != OFFICIAL))
    for measure in (*_MEASURES, "n_features", "seconds"):
        report.add(_matrix(every, rows, measure, data_sets) + "\n")


def values_of(rows: dict[Key, dict[str, Any]], name: str, method: str, measure: str, n_folds: int) -> list[float]:
    """Values of the finished folds of a method on a table; empty if there are none."""
    folds = [rows[key] for fold in range(n_folds) if (key := (name, method, 0, fold)) in rows]
    finished = [row for row in folds if row["error"] is None]
    if measure == "seconds":
        return [row["figures"]["processor_seconds"] for row in finished]
    return [row[measure] for row in finished if row[measure] is not None]


def _common(group: Group, rows: dict[Key, dict[str, Any]]) -> tuple[str, ...]:
    """The tables of a group on which all methods finished that lack few of them."""
    done = [
        {name for name in group.tables if values_of(rows, name, method, "accuracy", group.n_folds)}
        for method in (*OURS, *group.peers)
    ]
    many = [tables for tables in done if len(tables) >= 0.8 * len(group.tables)]
    return tuple(name for name in group.tables if all(name in tables for tables in many))


def _means(group: Group, rows: dict[Key, dict[str, Any]]) -> str:
    lines, absent = [], []
    for method in (*OURS, *group.peers):
        figures = []
        for measure in (*_MEASURES, "n_features", "seconds"):
            values = [values_of(rows, name, method, measure, group.n_folds) for name in group.tables]
            figures.append(mean(map(mean, values)) if all(values) else None)
        if figures[0] is None:
            n_known = sum(bool(values_of(rows, name, method, "accuracy", group.n_folds)) for name in group.tables)
            absent.append(f"{method} (on {n_known} of {len(group.tables)})")
        else:
            folds = {len(values_of(rows, name, method, "accuracy", group.n_folds)) for name in group.tables}
            counted = " to ".join(map(str, sorted({min(folds), max(folds)})))
            lines.append([method, *map(shown, figures, (*_MEASURES, "n_features", "seconds")), counted])
    header = [group.title, *_MEASURES.values(), "features", "seconds", "folds"]
    return markdown_table(header, lines) + (f"\n\nLeft out: {', '.join(absent)}." if absent else "")


def figure(rows: dict[Key, dict[str, Any]]) -> Any:
    """The means of the first group by pairs of measures, on the rows that all methods were run on."""
    group, criteria = GROUPS[1], ("accuracy", "auc", "compression_rate")
    values = {}
    for method in (*OURS, *group.peers):
        means = {c: [values_of(rows, name, method, c, group.n_folds) for name in group.tables] for c in criteria}
        if all(map(all, means.values())):
            values[method] = {_MEASURES[c]: mean(map(mean, of_tables)) for c, of_tables in means.items()}
    planes = [("accuracy", "AUC"), ("compression rate", "accuracy")]
    return tradeoff_figure(
        values, planes, title=group.title, caption="Means over held-out rows; higher is better for all."
    )


def shown(value: float | None, measure: str) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if measure in _MEASURES else f"{value:.1f}" if measure == "n_features" else f"{value:.3g}"


def _matrix(group: Group, rows: dict[Key, dict[str, Any]], measure: str, data_sets: DataSets) -> str:
    """A table by tables and methods; `times` are seconds over those of our default."""
    titles = _MEASURES | {"n_features": "features", "seconds": "seconds", "times": "times the seconds of bayesieve"}
    lines = []
    for name in group.tables:
        facts, cells = data_sets.facts(name), []
        for method in (*OURS, *group.peers):
            values = values_of(rows, name, method, "seconds" if measure == "times" else measure, group.n_folds)
            ours = values_of(rows, name, "bayesieve", "seconds", group.n_folds)
            if measure == "times":
                values = [mean(values) / mean(ours)] if values and ours else []
            cells.append(shown(mean(values) if values else None, measure))
        lines.append([f"{name}: {facts.rows:,} x {facts.n_numeric + facts.n_categorical}, {facts.n_classes}", *cells])
    return markdown_table([f"{titles[measure]}; rows x features, classes", *OURS, *group.peers], lines)


def _lost(rows: dict[Key, dict[str, Any]]) -> str:
    """Tables on which the default has a clearly smaller AUC than before."""
    changes = {}
    for name in _all_tables():
        new, old = (values_of(rows, name, method, "auc", FOLDS.n_folds) for method in OURS)
        if new and old:
            changes[name] = mean(new) - mean(old)
    worse = [f"{name} ({change:+.4f})" for name, change in changes.items() if change < -0.005]
    better = sum(change > 0.005 for change in changes.values())
    words = (
        f"AUC of bayesieve against before, by more than 0.005: larger on {better} of {len(changes)} tables, smaller on "
    )
    return words + (", ".join(worse) or "none") + ".\n"


if __name__ == "__main__":
    main()
