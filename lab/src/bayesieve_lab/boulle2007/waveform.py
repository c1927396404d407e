"""Sections 5 and 6 of Boulle (2007): all subsets of the waveform features, and the weights of features by each method.

The *number* of a subset has bit k set if the subset contains candidate feature k; see `EverySubset`. Features are
numbered from 1, as in the paper. Probabilities of subsets are compared in powers of ten.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.model_selection import train_test_split

from bayesieve import BayesianAveraging, CompressionAveraging, DiscreteNB, MAPSelector, SelectiveNB, TableEncoder
from bayesieve.criteria import AUC
from bayesieve.engine.progress import search_progress
from bayesieve.search import SearchState, SubsetProblem
from bayesieve.search.exhaustive import EverySubset
from bayesieve.table import as_target, write_atomically
from bayesieve.table.frames import take_rows
from bayesieve_lab.boulle2007.all_subsets import RatedSubsets, rate_every_subset
from bayesieve_lab.boulle2007.data import MEASURES, METHODS, OURS
from bayesieve_lab.comparison.comparing import time_left
from bayesieve_lab.comparison.folds import fold_measures

EXHAUSTIVE = METHODS[-2::-1]
"""Methods of figures 7 and 8, from NB to SNB(CMA), all by exhaustive search."""
BY_SEARCH = "SNB(CMA), search"
"""Method that averages the models of the multi-start search of algorithm 1, as in section 7."""
TOP = 200
"""Number of models in figure 5."""
PAPER_MAP = (5, 6, 9, 10, 11, 12, 13, 17)
"""Features of the paper's most probable subset, numbered from 1."""

N_SPLITS = 40
"""Default number of splits. Numbers are judged by the prediction interval of the splits."""

_SHARES = 1001  # points of the distribution function
_TIE = 1e-12
_SLACK = 1e-9  # more than rounding can move an AUC across the border between two buckets


@dataclass(frozen=True)
class Model:
    """A subset of features (numbers from 1).

    ``below_best`` is the power of ten by which it is less probable than the best subset.
    """

    features: tuple[int, ...]
    below_best: float


@dataclass(frozen=True)
class Posterior:
    """The posterior distribution of the subsets, in powers of ten below the most probable one.

    Attributes
    ----------
    n_models : number of subsets.
    top : the most probable subsets, best first.
    quantiles : at shares 0, 0.001, ..., 1 of the subsets, from the least probable one up.
    empty_below_best, empty_is_last : power of ten of the empty subset, and whether it is the least probable.
    sizes_of_better_half : number of subsets of 0, 1, ... features in the half of higher probability.
    sizes_of_all : number of subsets of 0, 1, ... features among all.
    paper_rank, paper_below_best : rank (1 is best) and power of ten of the paper's most probable subset; None if one of
        its features is missing or uninformative.
    """

    n_models: int
    top: tuple[Model, ...]
    quantiles: tuple[float, ...]
    empty_below_best: float
    empty_is_last: bool
    sizes_of_better_half: tuple[int, ...]
    sizes_of_all: tuple[int, ...]
    paper_rank: int | None
    paper_below_best: float | None


@dataclass(frozen=True)
class SplitResult:
    """Results of one split into training and test rows.

    Attributes
    ----------
    seed : seed of the split and of the searches.
    n_train, n_test : number of training and test rows.
    informative : features with more than one interval; numbers from 1.
    weights : by method, the weight of every feature.
    measures : by method, performance measures on the test rows by name.
    posterior : distribution of the subsets.
    n_most_accurate : number of subsets with the highest training accuracy; of the smallest, the most probable one is
        used.
    training_error, training_auc : training error of SNB(ACC), training AUC of SNB(AUC).
    found_by_search : most probable subset of the multi-start search.
    seconds : duration.
    """

    seed: int
    n_train: int
    n_test: int
    informative: tuple[int, ...]
    weights: dict[str, tuple[float, ...]]
    measures: dict[str, dict[str, float]]
    posterior: Posterior
    n_most_accurate: int
    training_error: float
    training_auc: float
    found_by_search: Model
    seconds: float

    def selected(self, method: str) -> tuple[int, ...]:
        """Return the features of positive weight by a method; numbers from 1."""
        return tuple(k + 1 for k, weight in enumerate(self.weights[method]) if weight > 0)


@dataclass(frozen=True)
class WaveformStudy:
    """Results of the waveform study, as plain values that JSON can hold.

    Attributes
    ----------
    n_rows, n_features, n_classes : size of the data.
    share : share of training rows.
    splits : results of each split. The first one is reported in detail; the others show how much numbers depend on it.
    """

    n_rows: int
    n_features: int
    n_classes: int
    share: float
    splits: tuple[SplitResult, ...]


def waveform_study(
    X: Any,
    y: Any,
    *,
    seed: int = 0,
    share: float = 0.7,
    n_splits: int = N_SPLITS,
    n_jobs: int | None = -1,
    known: Sequence[SplitResult] = (),
    finished: Callable[[WaveformStudy], None] | None = None,
) -> WaveformStudy:
    """Evaluate all subsets of the informative features, and the methods of Boulle (2007) on test rows.

    Subsets are evaluated exhaustively by the MAP cost, the training accuracy and the training AUC; MAP, BMA and CMA
    take their weights from the same costs.

    Parameters
    ----------
    X : dataframe or 2-D array, shape (n_rows, n_features)
        Waveform data in the paper; any table with 1 to 25 informative features.
    y : array-like, shape (n_rows,)
    seed : seed of the first split; the others use the next integers.
    share : share of training rows, stratified by class.
    n_splits : number of splits.
    n_jobs : threads; results do not depend on it.
    known : results of the first splits, if they were computed already.
    finished : called with all splits so far after each split.

    Raises
    ------
    ValueError
        If no feature is informative, or more than 25 are; if the rows cannot be split.
    """
    if n_splits < 1:
        raise ValueError(f"n_splits must be at least 1, got {n_splits}.")
    target = as_target(y)
    codes = np.asarray(target.codes, dtype=np.int64)
    study = WaveformStudy(codes.size, np.shape(X)[1], len(target.classes), share, tuple(known[:n_splits]))
    for number in range(len(study.splits), n_splits):
        train, test = train_test_split(
            np.arange(codes.size), train_size=share, stratify=codes, random_state=seed + number
        )
        split = _Split(X, codes, train, test, seed + number, n_jobs).result()
        study = replace(study, splits=(*study.splits, split))
        if finished is not None:
            finished(study)
    return study


class _Split:
    """One split into training and test rows: its coded rows, and all evaluated subsets.

    ``codes`` (n_rows,) are the classes of the table ``X``; ``train`` and ``test`` are row positions.
    """

    def __init__(
        self, X: Any, codes: np.ndarray, train: np.ndarray, test: np.ndarray, seed: int, n_jobs: int | None
    ) -> None:
        self._began = time.perf_counter()
        self._seed, self._n_jobs = seed, n_jobs
        self._encoder = TableEncoder(prior="published", n_jobs=n_jobs)
        coded, self._refitter = self._encoder.fit_with_refitter(take_rows(X, train), codes[train])
        self._coded = coded.by_class
        self._test = self._encoder.transform_coded(take_rows(X, test))
        self._test_codes, self._train_counts = codes[test], np.bincount(codes[train])
        problem = SubsetProblem.of(self._coded)
        if not problem.candidates.size:
            raise ValueError(
                "No feature is informative about the class: there are no subsets to evaluate. Simulate more training "
                "rows."
            )
        self._subsets = rate_every_subset(problem, n_jobs=n_jobs)

    def result(self) -> SplitResult:
        """Return the weights of every method, its performance on the test rows, and the distribution of the subsets."""
        subsets, coded = self._subsets, self._coded
        largest, area = largest_area(subsets)
        trace = subsets.trace()
        ours = SelectiveNB(
            pairs=0, prior="published", calibrate="weights", random_state=self._seed, n_jobs=self._n_jobs
        )
        ours.fit_coded(coded, self._encoder, self._refitter)
        weights = {
            "NB": self._indicator(subsets.problem.candidates),
            "SNB(ACC)": self._indicator(subsets.features(fewest_wrong(subsets))),
            "SNB(AUC)": self._indicator(subsets.features(largest)),
            # Selectors compute weights from any trace; this one contains all subsets.
            "SNB(MAP)": MAPSelector().weigh(trace),
            "SNB(BMA)": BayesianAveraging().weigh(trace),
            "SNB(CMA)": CompressionAveraging().weigh(trace),
            BY_SEARCH: ours.selector_.weights_,
            OURS: ours.feature_weights_,
        }
        searched = ours.trace_
        return SplitResult(
            seed=self._seed,
            n_train=coded.n_rows,
            n_test=self._test.n_rows,
            informative=_numbers(subsets.problem.candidates),
            weights={method: tuple(w.tolist()) for method, w in weights.items()},
            measures={method: self._measures(w) for method, w in weights.items()},
            posterior=posterior_of(subsets),
            n_most_accurate=int((subsets.wrong == subsets.wrong.min()).sum()),
            training_error=float(subsets.wrong.min()) / coded.n_rows,
            training_auc=area,
            found_by_search=Model(
                _numbers(np.flatnonzero(searched.best_subset())),
                # Rounding may make the difference negative.
                max(0.0, float(_powers_of_ten(searched.best_criterion - subsets.cost.min()))),
            ),
            seconds=round(time.perf_counter() - self._began, 3),
        )

    def _indicator(self, features: np.ndarray) -> np.ndarray:
        """Return an array (n_features,) that is 1 at the positions ``features`` and 0 elsewhere."""
        weights = np.zeros(self._coded.n_features)
        weights[features] = 1.0
        return weights

    def _measures(self, weights: np.ndarray) -> dict[str, float]:
        """Return performance measures on the test rows, by name, of naive Bayes whose features have ``weights``,
        (n_features,).
        """
        model = DiscreteNB(feature_weights=weights).fit(self._coded)
        measures = fold_measures(model.predict_log_proba(self._test), self._test_codes, self._train_counts)
        return {name: float(measures[name]) for name in (*MEASURES, "log_loss")}


def posterior_of(subsets: EverySubset) -> Posterior:
    """Return the posterior distribution of all subsets, computed from their costs."""
    cost, sizes = subsets.cost, subsets.sizes
    order = np.argsort(cost, kind="stable")
    below = _powers_of_ten(cost - cost[order[0]])
    ranks = np.rint(np.linspace(cost.size - 1, 0, _SHARES)).astype(int)
    largest = int(sizes.max())
    paper = number_of(subsets, np.array(PAPER_MAP) - 1)
    return Posterior(
        n_models=cost.size,
        top=tuple(Model(_numbers(subsets.features(n)), float(below[n])) for n in order[:TOP].tolist()),
        quantiles=tuple(below[order[ranks]].tolist()),
        empty_below_best=float(below[0]),
        empty_is_last=bool(cost[0] >= cost.max()),
        sizes_of_better_half=_counts(sizes[order[: cost.size // 2]], largest),
        sizes_of_all=_counts(sizes, largest),
        paper_rank=None if paper is None else int((cost < cost[paper]).sum()) + 1,
        paper_below_best=None if paper is None else float(below[paper]),
    )


def number_of(subsets: EverySubset, features: np.ndarray) -> int | None:
    """Return the number of the subset of the features at positions ``features``; None if one of them is not a
    candidate.
    """
    candidates = subsets.problem.candidates
    if not np.isin(features, candidates).all():
        return None
    return int((np.int64(1) << np.searchsorted(candidates, features)).sum())


def fewest_wrong(subsets: RatedSubsets) -> int:
    """Return the number of the subset with the highest training accuracy.

    Among equally accurate subsets, the smallest is chosen, and then the one of lowest cost.
    """
    return _smallest(subsets, np.flatnonzero(subsets.wrong == subsets.wrong.min()))


def largest_area(subsets: RatedSubsets) -> tuple[int, float]:
    """Return the number of the subset with the largest training AUC (ties as in `fewest_wrong`), and this AUC.

    The AUC is computed exactly from the highest upper bound down, until no bound reaches the best AUC so far.
    """
    problem = subsets.problem
    state = SearchState(replace(problem, objective=replace(problem.objective, criterion=AUC())))
    selected = np.zeros(len(problem.names), dtype=bool)
    best, exact = -np.inf, dict[int, float]()
    for number in np.argsort(-subsets.area_bounds[1], kind="stable").tolist():
        if subsets.area_bounds[1, number] < best - _SLACK:
            break
        selected[:] = False
        selected[subsets.features(number)] = True
        state.reset(selected)
        exact[number] = -state.cost
        best = max(best, exact[number])
    return _smallest(subsets, np.array([n for n, area in exact.items() if area >= best - _TIE])), best


def _smallest(subsets: EverySubset, numbers: np.ndarray) -> int:
    """Return, of the subsets with the given numbers (n,), the number of the one with fewest features.

    Among equally small ones, that of lowest cost is returned.
    """
    order = np.lexsort((numbers, subsets.cost[numbers], subsets.sizes[numbers]))
    return int(numbers[order[0]])


def _powers_of_ten(nats: Any) -> Any:
    """Return differences of log probabilities in nats as powers of ten, in the shape of ``nats``."""
    return nats / np.log(10.0)


def _numbers(features: np.ndarray) -> tuple[int, ...]:
    """Return positions of features (from 0) as numbers of features (from 1)."""
    return tuple((np.asarray(features) + 1).tolist())


def _counts(sizes: np.ndarray, largest: int) -> tuple[int, ...]:
    """Return how often each size from 0 to ``largest`` occurs in ``sizes`` (n_subsets,)."""
    return tuple(np.bincount(sizes, minlength=largest + 1).tolist())


def make_waveform(
    load: Callable[[], tuple[Any, Any]], results: Path | None, seed: int, n_jobs: int | None, verbose: int = 0
) -> WaveformStudy:
    """Read the study saved next to the file ``results``, and compute and save the splits that it lacks.

    Splits of another seed or version are computed again. ``load`` returns the table and the classes; it is called only
    if splits are missing.
    """
    from bayesieve.version import __version__

    made_by = {"seed": seed, "bayesieve": __version__}
    study = None if results is None else read_waveform(results, made_by)
    splits = study.splits if study is not None else ()
    if study is not None and len(splits) >= N_SPLITS:
        return study
    X, y = load()
    began = time.perf_counter()
    with search_progress("Waveform: splits of the rows", verbose, time_left) as progress:

        def finished(study: WaveformStudy) -> None:
            """Save the splits so far, and show the progress."""
            if results is not None:
                saved = json.dumps({"made_by": made_by, "study": asdict(study)}) + "\n"
                write_atomically(waveform_path(results), saved)
            if progress is not None:
                done = len(study.splits)
                pace = (time.perf_counter() - began) / (done - len(splits))
                progress(done, N_SPLITS, pace * (N_SPLITS - done))

        return waveform_study(X, y, seed=seed, n_jobs=n_jobs, known=splits, finished=finished)


def read_waveform(results: Path, made_by: dict[str, Any] | None = None) -> WaveformStudy | None:
    """Return the study saved next to the file ``results``; None if there is none, or it is damaged.

    If ``made_by``, the seed and version, is given, the result is also None if those of the study differ.
    """
    try:
        saved = json.loads(waveform_path(results).read_text(encoding="utf-8"))
        return _restored(WaveformStudy, saved["study"]) if made_by in (None, saved["made_by"]) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def waveform_path(results: Path) -> Path:
    """Return the path of the file of the study, next to the file of results ``results``."""
    return results.with_name(f"{results.stem}-waveform.json")


def _restored(kind: Any, saved: Any) -> Any:
    """Return an object of the type ``kind`` from ``saved``, its content as read from JSON.

    ``kind`` is a dataclass, tuple, dict or plain type. A TypeError is raised if the content has another type.
    """
    if is_dataclass(kind):
        types = get_type_hints(kind)
        return kind(**{name: _restored(types[name], value) for name, value in saved.items()})  # type: ignore[operator]
    if get_origin(kind) is tuple:
        return tuple(_restored(get_args(kind)[0], value) for value in saved)
    if get_origin(kind) is dict:
        return {name: _restored(get_args(kind)[1], value) for name, value in saved.items()}
    if not isinstance(saved, (kind, int) if kind is float else kind):
        raise TypeError
    return saved
