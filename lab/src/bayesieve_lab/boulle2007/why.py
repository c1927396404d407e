# ruff: noqa: T201
"""Tests of possible reasons for the differences between our tables and those of Boulle (2007).

    python -m bayesieve_lab.boulle2007.why DIR
    python -m bayesieve_lab.boulle2007.why DIR yeast,horse_colic_orig

DIR is the folder of the data sets; names select some of the UCI data sets. On the folds of ``bayesieve reproduce
boulle2007``: compression rates with other treatments of small probabilities, areas under the ROC curve from rounded
probabilities, NB(EF) with Khiops' treatment of categories never seen in training, and SNB(CMA) with other smoothing,
starts and ways to count the models.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from bayesieve import CodedTable, CompressionAveraging, SelectiveNB, TableEncoder
from bayesieve.selection.base import CodedSelector
from bayesieve.statistics import metrics
from bayesieve.table.frames import take_rows
from bayesieve_lab import Options
from bayesieve_lab.boulle2007.data import METHODS, TABLE_3, UCI
from bayesieve_lab.boulle2007.study import Boulle2007
from bayesieve_lab.coding import encoder_of
from bayesieve_lab.comparison.folds import log_probabilities

Probabilities = Callable[[np.ndarray, int, int], np.ndarray]
"""Function that changes probabilities (n_rows, n_classes) before the logarithm, given the numbers of training and test
rows.
"""

RATES: dict[str, Probabilities] = {
    "as they are (at least 2.2e-16)": lambda p, n, t: np.maximum(p, np.finfo(float).eps),
    "at least 1e-6": lambda p, n, t: np.maximum(p, 1e-6),
    "today's Khiops: (p (N + 1) + 0.5 / J) / (N + 1.5)": lambda p, n, t: (p * (n + 1) + 0.5 / p.shape[1]) / (n + 1.5),
    "(p N + 0.5) / (N + 0.5 J)": lambda p, n, t: (p * n + 0.5) / (n + 0.5 * p.shape[1]),
    "(p N + 1) / (N + J)": lambda p, n, t: (p * n + 1) / (n + p.shape[1]),
    "at least 1 / N, training rows": lambda p, n, t: np.maximum(p, 1 / n),
    "at least 0.5 / T, test rows": lambda p, n, t: np.maximum(p, 0.5 / t),
    "at least 1 / T, test rows": lambda p, n, t: np.maximum(p, 1 / t),
    "at least 2 / T, test rows": lambda p, n, t: np.maximum(p, 2 / t),
    "(p T + 1 / J) / (T + 1)": lambda p, n, t: (p * t + 1 / p.shape[1]) / (t + 1),
    "(p T + 1) / (T + J)": lambda p, n, t: (p * t + 1) / (t + p.shape[1]),
    "at least 0.01": lambda p, n, t: np.maximum(p, 0.01),
    "at least 0.02": lambda p, n, t: np.maximum(p, 0.02),
}
AREAS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "log odds, which never tie by rounding": metrics.class_scores,
    "probabilities of 16 digits": np.exp,
    "probabilities of 7 decimals": lambda logs: np.exp(logs).round(7),
    "probabilities of 6 decimals": lambda logs: np.exp(logs).round(6),
    "probabilities of 4 decimals": lambda logs: np.exp(logs).round(4),
}


@dataclass(frozen=True)
class Tested:
    """Predictions on the test rows of a fold.

    Attributes
    ----------
    log_proba : (n_rows, n_classes) predicted log probabilities.
    codes : (n_rows,) true classes.
    counts : (n_classes,) number of training rows of each class.
    """

    log_proba: np.ndarray
    codes: np.ndarray
    counts: np.ndarray

    def rate(self, change: Probabilities) -> float:
        """Return the compression rate of changed probabilities.

        The function ``change`` maps probabilities (n_rows, n_classes) and the numbers of training and test rows to new
        ones.
        """
        shares = np.where(self.counts > 0, self.counts, 0.5) / self.counts.sum()
        changed = change(np.exp(self.log_proba), int(self.counts.sum()), self.codes.size)
        of_true_class = changed[np.arange(self.codes.size), self.codes]
        return 1.0 - float(np.log(of_true_class).mean() / np.log(shares[self.codes]).mean())

    def accuracy(self) -> float:
        """Return the share of rows whose most probable class is the true one."""
        return metrics.accuracy(self.log_proba, self.codes)

    def area(self, score: Callable[[np.ndarray], np.ndarray]) -> float:
        """Return the AUC of the scores that ``score`` computes from log probabilities, both (n_rows, n_classes).

        Ties count one half; for several classes, it is the mean of one class against the others, weighted by class
        shares.
        """
        from sklearn.metrics import roc_auc_score

        scores = score(self.log_proba)
        classes = [j for j in range(scores.shape[1]) if 0 < (self.codes == j).sum() < self.codes.size]
        classes = classes[-1:] if scores.shape[1] == 2 else classes
        areas = [roc_auc_score(self.codes == j, scores[:, j]) for j in classes]
        return float(np.average(areas, weights=[(self.codes == j).sum() for j in classes])) if areas else np.nan


def main(folder: str, names: str = "") -> None:
    """Print one table for each question; the arguments are those of the command line."""
    only = tuple(names.split(",")) if names else tuple(one.ours for one in UCI if one.ours)
    study = Boulle2007(Options(data=Path(folder), only=only, n_jobs=1))
    models = {name: model for name, model in study.methods().items() if name in METHODS}
    with ThreadPoolExecutor() as pool:
        tested = dict(zip(study.names, pool.map(partial(on_set, study, models), study.names), strict=True))
    small_probabilities(tested)
    areas(tested)
    with ThreadPoolExecutor() as pool:
        list(pool.map(partial(print_unseen, study), study.names))
        variants = dict(zip(study.names, pool.map(partial(on_set, study, averagings()), study.names), strict=True))
    print("\nSNB(CMA): mean ACC, AUC, CR with probabilities of at least 1 / T")
    for name in averagings():
        folds = [fold for one in variants.values() for fold in one[name]]
        print_line(name, [np.mean([measure(fold) for fold in folds]) for measure in (accuracy, log_odds_area, floored)])


def on_set(study: Boulle2007, models: Mapping[str, Any], name: str) -> dict[str, list[Tested]]:
    """Return the predictions of each method on the test rows of the folds of a data set: one entry per fold, by method.

    ``models`` are unfitted classifiers by name.
    """
    X, codes = study.load(name)
    classes = np.unique(codes)
    tested: dict[str, list[Tested]] = {method: [] for method in models}
    for fold in study.protocol.split(codes):
        train, test = take_rows(X, fold.train), take_rows(X, fold.test)
        counts = np.bincount(codes[fold.train], minlength=classes.size)
        codings: dict[str, tuple[Any, ...]] = {}
        for method, template in models.items():
            model = clone(template).set_params(n_jobs=1)
            if isinstance(model.selector, CodedSelector):
                model.selector.set_params(n_jobs=1)
            encoder = encoder_of(model).set_params(n_jobs=1)
            key = str(encoder.get_params())
            if key not in codings:
                codings[key] = (encoder, *encoder.fit_with_refitter(train, codes[fold.train]))
            encoder, coded, refitter = codings[key]
            model.fit_coded(coded, encoder, refitter)
            log_proba = log_probabilities(model, test, classes, fold.train.size)
            tested[method].append(Tested(log_proba, codes[fold.test], counts))
    print(f"{name} is done", file=sys.stderr, flush=True)
    return tested


def small_probabilities(tested: Mapping[str, Mapping[str, list[Tested]]]) -> None:
    """Print mean compression rates over the data sets, with a line for each treatment of small probabilities.

    ``tested`` has the predictions of each fold by data set and method.
    """
    print(f"Mean compression rate over {len(tested)} data sets, and mean distance from the paper without NB(EF)")
    print_line("", METHODS)
    paper = [TABLE_3["compression_rate"][method].mean for method in METHODS]
    print_line("paper", paper)
    for name, change in RATES.items():
        rate = partial(Tested.rate, change=change)
        rates = [np.mean([_mean(folds[m], rate) for folds in tested.values()]) for m in METHODS]
        distance = np.abs(np.subtract(rates, paper))[:-1].mean()
        print_line(name, [*rates, distance])


def areas(tested: Mapping[str, Mapping[str, list[Tested]]]) -> None:
    """Print the mean AUC over the data sets, by exact and by rounded probabilities, for every method of the paper.

    ``tested`` has the predictions of each fold by data set and method.
    """
    print("\nMean area under the ROC curve")
    print_line("paper", [TABLE_3["auc"][method].mean for method in METHODS])
    for name, score in AREAS.items():
        means = [
            np.mean([_mean(folds[m], partial(Tested.area, score=score)) for folds in tested.values()]) for m in METHODS
        ]
        print_line(name, means, digits=4)


def print_unseen(study: Boulle2007, name: str) -> None:
    """Print how results of NB(EF) on a data set change if categories never seen in training are treated as by Khiops.

    See `as_rarest`; nothing is printed if they do not change.
    """
    # The paper counts the column of sequence names of Yeast as a feature.
    X, y = study.sets.load("yeast_names") if name == "yeast" else study.load(name)
    codes = np.unique(y, return_inverse=True)[1]

    def figures(unseen: Callable[[CodedTable, CodedTable], CodedTable] | None) -> np.ndarray:
        """Return mean ACC, AUC and CR over the folds, (3,); ``unseen`` is the argument of `_by_value`."""
        folds = list(_by_value(study, X, codes, unseen))
        return np.array(
            [np.nanmean([measure(fold) for fold in folds]) for measure in (accuracy, log_odds_area, floored)]
        )

    ignored = figures(None)
    if name == "yeast":
        print_line("yeast with names that are ignored", ignored, digits=4)
    print_change(f"{name}: categories never seen as the rarest one", figures(as_rarest) - ignored)


def print_change(title: str, change: np.ndarray) -> None:
    """Print the changes ``change`` (3,) of ACC, AUC and CR on a data set, and the resulting changes of the means over
    30 sets.
    """
    if np.abs(change).max() > 0:
        print_line(title, [*change, *(change / 30)], digits=4)


def _by_value(
    study: Boulle2007, X: Any, codes: np.ndarray, unseen: Callable[[CodedTable, CodedTable], CodedTable] | None
) -> Iterator[Tested]:
    """Yield the predictions of NB(EF), naive Bayes on equal-frequency intervals, for the test rows of each fold.

    Categories are coded one by one. ``codes`` (n_rows,) are the classes of the table ``X``. ``unseen`` is a function
    that recodes the test rows, given these and the training rows; None leaves them unchanged.
    """
    classes = np.unique(codes)
    for fold in study.protocol.split(codes):
        encoder = TableEncoder(numeric="equal-frequency", categorical="values", n_jobs=1)
        coded = encoder.fit_transform_coded(take_rows(X, fold.train), codes[fold.train])
        test = encoder.transform_coded(take_rows(X, fold.test))
        if unseen is not None:
            test = unseen(test, coded)
        model = SelectiveNB("all", n_jobs=1).fit_coded(coded, encoder)
        log_proba = log_probabilities(model, test, classes, fold.train.size)
        yield Tested(log_proba, codes[fold.test], np.bincount(codes[fold.train], minlength=classes.size))


def as_rarest(test: CodedTable, train: CodedTable) -> CodedTable:
    """Return the test rows with codes that do not occur in training replaced by the rarest code of the feature.

    Of equally rare codes, the last one is used, as in Khiops. ``train`` are the coded training rows.
    """
    changed = test.codes.copy()
    for k, n_levels in enumerate(train.n_levels.tolist()):
        frequency = np.bincount(train.codes[k], minlength=n_levels)
        changed[k][changed[k] >= n_levels] = n_levels - 1 - int(frequency[::-1].argmin())
    return _with_codes(test, changed)


def _with_codes(test: CodedTable, codes: np.ndarray) -> CodedTable:
    """Return a copy of the coded rows ``test`` with the codes ``codes``, (n_features, n_rows)."""
    return CodedTable(codes=codes, n_levels=test.n_levels, names=test.names, levels=test.levels)


def averagings() -> dict[str, Any]:
    """Return unfitted variants of SNB(CMA) by name: other counts of models, numbers of starts and smoothing."""
    options: dict[str, Any] = {"exhaustive": False, "count": "evaluations"}
    selectors = {
        "as in table 3": CompressionAveraging(**options),
        "a model counts once": CompressionAveraging(exhaustive=False),
        "one start": CompressionAveraging(n_starts=1, **options),
        "100 starts": CompressionAveraging(n_starts=100, **options),
        "all subsets where there are at most 15 features": CompressionAveraging(exhaustive="auto", count="evaluations"),
    }
    models = {name: SelectiveNB(selector, calibrate=False) for name, selector in selectors.items()}
    half = CompressionAveraging(smoothing=0.5, **options)
    return {**models, "Laplace's alpha = 0.5": SelectiveNB(half, smoothing=0.5, calibrate=False)}


def accuracy(fold: Tested) -> float:
    """Return the accuracy on the test rows."""
    return fold.accuracy()


def log_odds_area(fold: Tested) -> float:
    """Return the AUC of log odds as scores, which unlike probabilities have no ties by rounding."""
    return fold.area(metrics.class_scores)


def floored(fold: Tested) -> float:
    """Return the compression rate with probabilities of the true class of at least 1 / number of test rows."""
    return fold.rate(RATES["at least 1 / T, test rows"])


def _mean(folds: list[Tested], measure: Callable[[Tested], float]) -> float:
    """Return the mean of a measure over the folds, except those on which it is NaN."""
    return float(np.nanmean([measure(fold) for fold in folds]))


def print_line(title: str, values: Any, digits: int = 3) -> None:
    """Print a line with a title, and numbers (with ``digits`` decimals) or words."""
    texts = (value if isinstance(value, str) else f"{value:.{digits}f}" for value in values)
    print(f"{title:52s}", *(f"{text:>9s}" for text in texts), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
