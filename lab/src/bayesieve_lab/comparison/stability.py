"""Stability of a feature selection over subsets of the rows."""

from __future__ import annotations

import inspect
import os
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length

from bayesieve.engine import effective_jobs, map_in_threads
from bayesieve.engine.progress import Progress, search_progress
from bayesieve.selection import make_selector
from bayesieve.selection.base import seed_of
from bayesieve.selection.row_splits import row_splits
from bayesieve.table import as_sample_weight, as_target
from bayesieve.table.cautions import issue, silenced, weights_caution
from bayesieve.table.frames import library_of, results_frame, take_rows
from bayesieve.words import ShortRepr
from bayesieve_lab.comparison.folds import quiet_clone, raise_if_interrupted


@dataclass(frozen=True, repr=False)
class SelectionStability(ShortRepr):
    """Features that a selector selects on each fold, and the stability of this selection.

    Attributes
    ----------
    names : tuple of str, (n_features,)
    weights : float array, shape (n_folds, n_features)
        Weight of each feature in each fold; 0 if not selected.
    traces : tuple of SearchTrace or None, one per fold
    seconds : float array, shape (n_folds,)
        Time to code and search each fold.
    n_rows : int array, shape (n_folds,)
        Training rows of each fold.
    selector : str
        The selector, as text.
    complete : bool
        False if Ctrl-C ended the run; it has the folds finished before.
    library : str
        Dataframe library of `to_frame`: that of the rows.

    References
    ----------
    Nogueira, Sechidis & Brown (2018), On the stability of feature selection algorithms, JMLR 18.
    """

    names: tuple[str, ...]
    weights: np.ndarray
    traces: tuple[Any, ...]
    seconds: np.ndarray
    n_rows: np.ndarray
    selector: str
    complete: bool = True
    library: str = field(default="polars", repr=False)

    def _facts(self) -> dict[str, Any]:
        """Return the fields that the ``repr`` shows, by name."""
        facts = {name: getattr(self, name) for name in ("selector", "n_folds", "n_selected", "stability", "complete")}
        always = np.flatnonzero(self.support.all(axis=0))
        return facts | {"n_features": len(self.names), "in_every_fold": [self.names[k] for k in always[:100]]}

    def _head(self) -> dict[str, Any]:
        """Return the first ten features for the ``repr``, as columns by name."""
        return self._lines(self._order[:10])

    def _lines(self, order: np.ndarray) -> dict[str, Any]:
        """Return names, frequencies and mean weights of the features at the positions ``order``, as columns by name."""
        names = [self.names[k] for k in order]
        return {"feature": names, "frequency": self.frequency[order], "mean_weight": self.mean_weight[order]}

    @property
    def _order(self) -> np.ndarray:
        """Positions of the features, sorted by how often they are selected, descending."""
        return np.lexsort((-self.mean_weight, -self.frequency))

    @property
    def n_folds(self) -> int:
        """Number of finished folds."""
        return len(self.weights)

    @property
    def support(self) -> np.ndarray:
        """Mask of the features selected in each fold, (n_folds, n_features)."""
        return self.weights > 0

    @property
    def n_selected(self) -> np.ndarray:
        """Number of features selected in each fold, (n_folds,)."""
        return self.support.sum(axis=1)

    @property
    def frequency(self) -> np.ndarray:
        """Share of folds in which each feature is selected, (n_features,)."""
        return self.support.mean(axis=0)

    @property
    def mean_weight(self) -> np.ndarray:
        """Mean weight of each feature over all folds, (n_features,); the weight is 0 if it is not selected."""
        return self.weights.mean(axis=0)

    @property
    def stability(self) -> float:
        """Estimate Phi-hat of Nogueira et al. (2018), which is 1 if the same features are selected in every fold.

        It is about 0 for random selections, and NaN for a single fold, or if all or none of the features are selected
        in every fold.
        """
        return stability_estimate(self.support)[0]

    def stability_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the asymptotic confidence interval of `stability` (Nogueira et al. 2018).

        The interval does not take into account that the training rows of folds overlap: it is about differences between
        folds, not between new tables.

        Parameters
        ----------
        level : float, default=0.95
            Confidence, between 0 and 1.
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must lie between 0 and 1, got {level!r}.")
        estimate, variance = stability_estimate(self.support)
        half = NormalDist().inv_cdf(0.5 + level / 2) * variance**0.5
        return estimate - half, estimate + half

    def to_frame(self) -> Any:
        """Return a dataframe with one line per feature, most often selected first.

        Columns ``feature``, ``frequency`` (share of folds), ``mean_weight`` and ``weights`` (a list over folds).
        """
        import polars as pl

        order = self._order
        lines = self._lines(order) | {"weights": [self.weights[:, k].tolist() for k in order]}
        schema = {"feature": pl.String, "weights": pl.List(pl.Float64)}
        return results_frame(lines, self.library, schema_overrides=schema)

    def plot(self, *, title: str | None = None) -> Any:
        """Draw the folds as a `Figure`: which features were selected in which, and how often (`stability_figure`)."""
        from bayesieve_lab.comparison.stability_figure import stability_figure

        return stability_figure(self, title=title)

    def figure(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw the folds (`stability_figure`), and write the figure to ``path`` if given (see `Figure.save`)."""
        figure = self.plot()
        if path is not None:
            figure.save(path)
        return figure


def selection_stability(
    selector: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 10,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> SelectionStability:
    """Run a selector on the training part of every fold and compare the selected features.

    Levels are fitted in each fold, so that the stability of coding and selection is measured together.

    Parameters
    ----------
    selector : str or estimator
        A name that `SelectiveNB` accepts, a selector, a `SelectiveNB`, or any scikit-learn feature selector. Cloned for
        every fold. Its ``verbose=1`` shows progress over the folds.
    X : dataframe or 2-D array, shape (n_rows, n_features)
    y : array-like, shape (n_rows,)
        Class labels.
    cv : int, splitter or pairs of row positions, default=10
        A number of folds (stratified and, unlike scikit-learn's, shuffled), a scikit-learn splitter such as
        `RepeatedStratifiedKFold` or `ShuffleSplit`, or (train, test) pairs; only the training rows are used.
    sample_weight : array-like, shape (n_rows,), optional
    groups : array-like, shape (n_rows,), optional
        Rows of a group are kept together if ``cv`` is a number, or a splitter by groups.
    random_state : int, RandomState or None, default=None
        Seed of the shuffle if ``cv`` is a number; None for a fixed seed.
    n_jobs : int or None, default=None
        Number of folds run in parallel, each with one thread; None runs one fold after the other, with the selector's
        own threads. Does not affect results.

    Returns
    -------
    SelectionStability

    Raises
    ------
    ValueError
        If a fold cannot be fitted, or the candidate features differ from fold to fold.

    Examples
    --------
    >>> from bayesieve import MAPSelector
    >>> from bayesieve_lab import selection_stability
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> stability = selection_stability(MAPSelector(), X, y, cv=5)
    >>> stability.frequency.tolist()
    [0.2, 0.0, 0.8, 1.0]
    >>> round(stability.stability, 3)
    0.6
    """
    selector = make_selector(selector) if isinstance(selector, str) else selector
    if not (hasattr(selector, "fit") and hasattr(selector, "get_params")):
        raise ValueError(f"selector must be a name or an estimator with fit, got {selector!r}.")
    effective_jobs(n_jobs)
    target = as_target(y)
    labels = np.asarray(target.classes)[target.codes]
    weights = as_sample_weight(sample_weight, labels.size)
    issue([weights_caution(weights)])
    check_consistent_length(*(part for part in (X, labels, weights, groups) if part is not None))
    splits = row_splits(cv, labels, groups, seed=seed_of(random_state), weights=weights, with_tests=False)
    folds = [train for train, _ in splits]
    quiet = quiet_clone(selector, n_jobs)

    def select(rows: np.ndarray) -> _Fold:
        """Fit a clone of the selector to the rows at positions ``rows``, and return its selection."""
        began = time.perf_counter()
        model = clone(quiet)
        options = {} if weights is None else {"sample_weight": weights[rows]}
        takes_groups = "groups" in inspect.signature(model.fit).parameters and getattr(model, "takes_groups", True)
        if groups is not None and takes_groups:
            options["groups"] = np.asarray(groups)[rows]
        with silenced():
            model.fit(take_rows(X, rows), labels[rows], **options)
        raise_if_interrupted(model)
        seconds = time.perf_counter() - began
        names, weights_of_features, trace = _selection(model)
        return _Fold(names, weights_of_features, trace, seconds, rows.size)

    what, verbose = f"{type(selector).__name__}: folds", int(getattr(selector, "verbose", 0) or 0)
    with search_progress(what, verbose, "features selected") as progress:
        fitted, complete = _run_folds(select, folds, n_jobs, progress)
    names = fitted[0].names
    different = next((fold for fold in fitted if fold.names != names), None)
    if different is not None:
        raise ValueError(
            f"The features differ from fold to fold ({len(names)} here, {len(different.names)} there, or other names) "
            "and cannot be compared; give the encoder fixed thresholds, or pairs by name, instead of a number to learn."
        )
    return SelectionStability(
        names=names,
        weights=np.array([fold.weights for fold in fitted]),
        traces=tuple(fold.trace for fold in fitted),
        seconds=np.array([fold.seconds for fold in fitted]),
        n_rows=np.array([fold.n_rows for fold in fitted]),
        selector=type(selector).__name__,
        complete=complete,
        library=library_of(X),
    )


class _Fold(NamedTuple):
    """Selection from the training rows of one fold.

    Attributes
    ----------
    names : names of the candidate features.
    weights : (n_features,) their weights; 0 if not selected.
    trace : record of the search, or None.
    seconds : duration of the fit.
    n_rows : number of training rows.
    """

    names: tuple[str, ...]
    weights: np.ndarray
    trace: Any
    seconds: float
    n_rows: int


def _run_folds(
    select: Callable[[np.ndarray], _Fold], folds: list[np.ndarray], n_jobs: int | None, progress: Progress | None
) -> tuple[list[_Fold], bool]:
    """Return the results of the finished folds, in order, and whether all folds are finished (False after Ctrl-C).

    ``select`` is called with the row positions of each of ``folds``, in ``n_jobs`` threads. ``progress`` displays the
    finished folds, unless it is None.
    """
    finished: dict[int, _Fold] = {}

    def run(position: int) -> None:
        """Run the fold at a position and store its result; an error names the fold."""
        try:
            finished[position] = fold = select(folds[position])
        except ValueError as error:
            raise ValueError(f"Fold {position + 1} of {len(folds)}: {error}") from error
        if progress is not None:
            progress(len(finished), len(folds), int((fold.weights > 0).sum()))

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The search was interrupted", category=UserWarning)
            map_in_threads(run, range(len(folds)), n_jobs)
    except KeyboardInterrupt:
        if not finished:
            raise
        message = f"Interrupted: {len(finished)} of {len(folds)} folds were finished and are kept."
        warnings.warn(message, UserWarning, stacklevel=3)
    return [finished[position] for position in sorted(finished)], len(finished) == len(folds)


def _selection(model: Any) -> tuple[tuple[str, ...], np.ndarray, Any]:
    """Return the names of all features, their weights (n_features,) in a fitted selector, and the trace of its search.

    The trace is None if the selector has none.
    """
    weights = getattr(model, "weights_", getattr(model, "feature_weights_", None))
    if weights is None:
        if not hasattr(model, "get_support"):
            raise ValueError(
                f"{type(model).__name__} has no weights_ and no get_support: it selects no features. Pass a selector "
                "or a classifier that selects features."
            )
        weights = model.get_support()
    weights = np.asarray(weights, dtype=float)
    trace, encoder = getattr(model, "trace_", None), getattr(model, "encoder_", None)
    if trace is not None:
        names: Iterable[Any] = trace.names
    elif encoder is not None:
        names = (level.name for level in encoder.levels_)
    else:
        names = getattr(model, "feature_names_in_", [f"x{k}" for k in range(weights.size)])
    return tuple(map(str, names)), weights, trace


def stability_estimate(support: np.ndarray) -> tuple[float, float]:
    """Return Phi-hat of Nogueira et al. (2018) and its asymptotic variance, from selections (n_sets, n_features).

    Phi-hat = 1 - mean_f(s_f^2) / (q (1 - q)), with s_f^2 the unbiased variance of the selection of feature f and q the
    mean share of selected features. The variance is computed by the delta method, from the influence of each set on
    Phi-hat. ``support`` is True where a feature (column) is selected in a set (row).

    Examples
    --------
    >>> import numpy as np
    >>> stability_estimate(np.array([[1, 1, 0, 0], [1, 1, 0, 0]]))[0]
    1.0
    """
    chosen = np.asarray(support, dtype=float)
    n_sets, n_features = chosen.shape
    frequency = chosen.mean(axis=0)
    share = frequency.mean() if n_features else 0.0
    by_chance = share * (1.0 - share)
    if n_sets < 2 or by_chance <= 0.0:
        return float("nan"), float("nan")
    estimate = 1.0 - n_sets / (n_sets - 1) * (frequency * (1.0 - frequency)).mean() / by_chance
    of_set = chosen.mean(axis=1)
    size_term = 2.0 * share * of_set - of_set - share + 1.0
    influence = (chosen @ frequency / n_features - of_set * share + estimate / 2.0 * size_term) / by_chance
    variance = 4.0 / n_sets**2 * ((influence - influence.mean()) ** 2).sum()
    return float(estimate), float(variance)
