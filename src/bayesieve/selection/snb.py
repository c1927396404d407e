"""SNB(ACC) and SNB(AUC): selection by the accuracy, or the AUC, of the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.search import GreedySearch, MultiStart, Search
from bayesieve.selection.base import CodedSelector, seed_of
from bayesieve.selection.wrapper import WrapperSelector
from bayesieve.table.choices import is_choice


class _OnTraining(CodedSelector):
    _criterion: ClassVar[str]

    def __init__(
        self,
        *,
        max_seconds: float | None = None,
        smoothing: Smoothing = "m-estimate",
        encoder: Any = "modl",
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> None:
        super().__init__(smoothing=smoothing, encoder=encoder)
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _search(self, coded: CodedTable) -> np.ndarray:
        wrapper = self._wrapper().fit_coded(coded)
        self.trace_ = wrapper.trace_
        self.trace_.chosen = self.trace_.best_on_path()
        return self.trace_.chosen.astype(float)

    def _way(self) -> Search:
        return GreedySearch("forward", max_seconds=self.max_seconds, n_jobs=self.n_jobs, until_best=True)

    def _wrapper(self) -> WrapperSelector:
        return WrapperSelector(
            self._criterion,
            search=self._way(),
            evaluation="train",
            smoothing=self.smoothing,
            encoder=self.encoder,
            verbose=self.verbose,
        )

    @property
    def kernel_families(self) -> Sequence[str]:
        """Those of the wrapper."""
        return self._wrapper().kernel_families

    def _check_options(self) -> None:
        self._wrapper()._check_options()


class AccuracySelector(_OnTraining):
    """SNB(ACC): the smallest subset of highest training accuracy on the path of a forward search.

    The same as ``WrapperSelector("error", direction="forward", evaluation="train")``, but the path ends where no
    training row is wrong, which no larger subset can better.

    Attributes
    ----------
    weights_, support_, trace_
        As for every selector; the criterion of the trace is the error.

    References
    ----------
    Langley & Sage (1994), Induction of selective Bayesian classifiers; SNB(ACC) of Boulle (2007), section 6.

    Examples
    --------
    >>> from bayesieve import AccuracySelector
    >>> from sklearn.datasets import load_iris
    >>> AccuracySelector().fit(*load_iris(return_X_y=True)).support_.tolist()
    [False, False, False, True]
    """

    name = "accuracy"
    title = "forward search by training accuracy"
    sentence = "A forward search selected the features of highest training accuracy (Langley & Sage 1994, SNB(ACC))."
    _criterion = "error"


class AUCSelector(_OnTraining):
    """SNB(AUC): the smallest subset of largest training AUC on the path of a search.

    The same as ``WrapperSelector("auc", direction="forward", evaluation="train")``, but the path ends at an area of 1,
    which no larger subset can better.

    Parameters
    ----------
    search : {"forward", "multi-start"}, default="forward"
        "multi-start" walks as `MAPSelector` does, which is the paper's search.

    Attributes
    ----------
    weights_, support_, trace_
        As for every selector; the criterion of the trace is the AUC.

    References
    ----------
    SNB(AUC) of Boulle (2007), section 6; Provost & Domingos (2001) for several classes.

    Examples
    --------
    >>> from bayesieve import AUCSelector
    >>> from sklearn.datasets import load_iris
    >>> AUCSelector().fit(*load_iris(return_X_y=True)).support_.tolist()
    [False, False, True, True]
    """

    name = "auc"
    title = "forward search by training AUC"
    sentence = "A forward search selected the features of largest training AUC (SNB(AUC) of Boullé 2007)."
    _criterion = "auc"

    def __init__(
        self,
        *,
        search: Literal["forward", "multi-start"] = "forward",
        max_seconds: float | None = None,
        smoothing: Smoothing = "m-estimate",
        encoder: Any = "modl",
        random_state: Any = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> None:
        super().__init__(max_seconds=max_seconds, smoothing=smoothing, encoder=encoder, n_jobs=n_jobs, verbose=verbose)
        self.search = search
        self.random_state = random_state

    def _way(self) -> Search:
        if self.search == "forward":
            return super()._way()
        return MultiStart(seed=seed_of(self.random_state), max_seconds=self.max_seconds, n_jobs=self.n_jobs)

    def _check_options(self) -> None:
        if not is_choice(self.search, ("forward", "multi-start")):
            raise ValueError(f"search must be 'forward' or 'multi-start', got {self.search!r}.")
        super()._check_options()
