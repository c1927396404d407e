"""The paths on which most time is spent, each beside a plain loop of NumPy or scikit-learn that does comparable work.

`tests/performance` compares the ratio of both processor times, measured in turns, with `results/hot_paths.json`.
"""

from __future__ import annotations

import json
import runpy
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from sklearn.metrics import mutual_info_score, roc_auc_score
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from bayesieve import CodedTable, DependenceClusterSelector, MODLDiscretizer, MODLGrouper, SelectiveNB, WrapperSelector
from bayesieve.counts.pairs import PairInformation
from bayesieve.criteria import AUC, ErrorProbability
from bayesieve.search import SearchState, SubsetProblem
from benchmarks.common.numpy_greedy import NumpyGreedy
from benchmarks.common.tables import distinct_column, mixed_table
from benchmarks.common.wrapper_tables import categories, redundant_indicators

STORED = Path(__file__).parent / "results" / "hot_paths.json"

Task = Callable[[], Any]


class HotPath(NamedTuple):
    """Our task and the plain one, and how many times as much work ours does."""

    ours: Task
    plain: Task
    work: float = 1.0


def ratio(path: HotPath, rounds: int = 3) -> float:
    """How many times faster our task is than the plain one for as much work: processor seconds, medians of turns."""
    path.ours(), path.plain()  # compiled code is loaded
    ours, plain = [], []
    for _ in range(rounds):
        ours.append(_processor_seconds(path.ours))
        plain.append(_processor_seconds(path.plain))
    return path.work * median(plain) / median(ours)


def stored_ratios() -> dict[str, float]:
    """The lowest ratios measured on idle machines, by name."""
    ratios: dict[str, float] = json.loads(STORED.read_text(encoding="utf-8"))
    return ratios


def _processor_seconds(task: Task) -> float:
    """Processor seconds a call, of as many calls as take a twentieth of a second."""
    n, begin = 0, time.process_time()
    while (spent := time.process_time() - begin) < 0.05:
        task()
        n += 1
    return spent / n


def wrapper_step() -> HotPath:
    """A forward step by error probability over 814 indicators, against matrix products."""
    coded = redundant_indicators(3000, 814)
    state, plain = SearchState(SubsetProblem.of(coded, 1.0, criterion=ErrorProbability())), NumpyGreedy(coded)
    features = np.arange(1, coded.n_features)
    state.flip(0)
    plain.add(0)
    return HotPath(lambda: state.candidates(features), lambda: plain.by_products(features))


def forward_path() -> HotPath:
    """The whole forward path over 814 indicators, against three of its steps by matrix products."""
    coded = redundant_indicators(1000, 814)
    selector = WrapperSelector(
        ErrorProbability(), direction="forward", evaluation="train", smoothing=1.0, encoder=None, n_jobs=1
    )
    n = coded.n_features
    return HotPath(lambda: selector.fit_coded(coded), lambda: NumpyGreedy(coded).path(3), n * (n + 1) / 2 / (3 * n - 3))


def auc_step() -> HotPath:
    """A step by AUC over 300 features, against `roc_auc_score` of five."""
    coded = categories(3000, 300, 5)
    state = SearchState(SubsetProblem.of(coded, 1.0, criterion=AUC()))
    scores, labels = np.random.default_rng(0).random((5, coded.n_rows)), np.asarray(coded.class_codes)
    features = np.arange(coded.n_features)
    return HotPath(
        lambda: state.candidates(features), lambda: [roc_auc_score(labels, row) for row in scores], coded.n_features / 5
    )


def clusters_of_many_classes() -> HotPath:
    """A search in clusters of 120 features for 26 classes, against ten models of scikit-learn."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 26, 2000).astype(np.uint8)
    hidden = rng.normal(size=(2000, 20)) + 0.8 * rng.normal(size=(26, 20))[classes]
    numbers = hidden[:, rng.integers(0, 20, 120)] + rng.normal(size=(2000, 120))
    codes = (numbers.T[:, :, None] > np.array([-0.7, 0.7])).sum(axis=2).astype(np.uint8)
    names = tuple(f"x{k}" for k in range(120))
    coded = CodedTable(codes, np.full(120, 3), names, class_codes=classes, classes=np.arange(26))
    selector = DependenceClusterSelector(n_jobs=1)

    def refit() -> None:
        for size in range(10, 110, 10):
            CategoricalNB(min_categories=3).fit(codes[:size].T, classes).score(codes[:size].T, classes)

    return HotPath(lambda: selector.fit_coded(coded), refit)


def pairs() -> HotPath:
    """The mutual information of all pairs of 814 indicators, against scikit-learn's of 50 pairs."""
    coded = redundant_indicators(3000, 814)
    sample = np.random.default_rng(0).integers(0, 814, (50, 2)).tolist()
    return HotPath(
        lambda: PairInformation(coded, n_jobs=1).mutual_information(),
        lambda: [mutual_info_score(coded.codes[i], coded.codes[j]) for i, j in sample],
        814 * 813 / 2 / 50,
    )


def coding_numbers() -> HotPath:
    """MODL intervals of 200,000 distinct numbers, against a stable sort of them."""
    values, classes = distinct_column(200_000, "smooth", 2)
    return HotPath(lambda: MODLDiscretizer().fit(values[:, None], classes), lambda: np.argsort(values, kind="stable"))


def coding_categories() -> HotPath:
    """MODL groups of 1,000 categories in 200,000 rows, against `numpy.unique` of their codes."""
    rng = np.random.default_rng(0)
    codes = np.minimum(rng.exponential(150, 200_000).astype(int), 999)
    classes = (rng.random(codes.size) < 0.2 + 0.6 * rng.random(1000)[codes]).astype(int)
    frame = pl.DataFrame({"x": pl.Series([f"value {i}" for i in range(1000)]).gather(codes)})
    return HotPath(lambda: MODLGrouper().fit(frame, classes), lambda: np.unique(codes, return_inverse=True))


def default_fit() -> HotPath:
    """A default fit of 50,000 x 30, against `numpy.unique` of each of 30 columns."""
    X, y, _ = mixed_table(50_000)
    numbers = np.random.default_rng(0).random((30, 50_000))
    return HotPath(
        lambda: SelectiveNB(n_jobs=1).fit(X, y), lambda: [np.unique(column, return_inverse=True) for column in numbers]
    )


def many_classes() -> HotPath:
    """A default fit of 40 classes of 20 rows, against five of `GaussianNB` with predictions."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40), 20)
    X = rng.normal(size=(y.size, 14))
    X[:, :8] += 1.5 * rng.normal(size=(40, 8))[y]
    frame = pl.DataFrame(X, schema=[f"x{k}" for k in range(14)])
    return HotPath(
        lambda: SelectiveNB(n_jobs=1).fit(frame, y),
        lambda: [GaussianNB().fit(X, y).predict_proba(X) for _ in range(5)],
    )


@cache
def _fitted() -> tuple[SelectiveNB, pl.DataFrame]:
    """A model, and rows to be predicted."""
    X, y, _ = mixed_table(70_000)
    return SelectiveNB(n_jobs=1).fit(X[:20_000], y[:20_000]), X[20_000:]


def predict_frame() -> HotPath:
    """Probabilities of 50,000 rows, against looking numbers up by `searchsorted`, once a feature."""
    model, new = _fitted()
    n = model.n_features_selected_
    numbers, cuts = np.random.default_rng(0).random((n, new.height)), np.linspace(0.1, 0.9, 9)
    values = np.linspace(-1.0, 1.0, 10)
    return HotPath(
        lambda: model.predict_proba(new),
        lambda: np.exp(sum(values[np.searchsorted(cuts, column)] for column in numbers)),
    )


def predict_row() -> HotPath:
    """Probabilities of a single row given as a dict, against a row by `GaussianNB`."""
    model, new = _fitted()
    row, numbers = new.row(0, named=True), np.random.default_rng(0).random((1000, 30))
    plain = GaussianNB().fit(numbers, np.arange(1000) % 2)
    return HotPath(lambda: model.predict_proba(row), lambda: plain.predict_proba(numbers[:1]))


def exported_python() -> HotPath:
    """500 rows scored by the exported Python file, against as many by `GaussianNB`."""
    model, new = _fitted()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scoring.py"
        model.export(path)
        score = runpy.run_path(str(path))["score"]
    rows, numbers = new[:500].to_dicts(), np.random.default_rng(0).random((500, 30))
    plain = GaussianNB().fit(numbers, np.arange(500) % 2)
    return HotPath(
        lambda: [score(row) for row in rows],
        lambda: [plain.predict_proba(numbers[i : i + 1]) for i in range(50)],
        10.0,
    )


HOT_PATHS: tuple[Callable[[], HotPath], ...] = (
    *(wrapper_step, forward_path, auc_step, clusters_of_many_classes, pairs, coding_numbers, coding_categories),
    *(default_fit, many_classes, predict_frame, predict_row, exported_python),
)


def measured() -> dict[str, float]:
    """The ratios of all paths, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {path.__name__: ratio(path()) for path in HOT_PATHS}
