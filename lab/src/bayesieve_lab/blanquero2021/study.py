"""Blanquero et al. (2021): sparse naive Bayes from clusters of dependent features, and other ways to select."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bayesieve.counts import Smoothing
from bayesieve_lab.blanquero2021 import boruta
from bayesieve_lab.blanquero2021.data import (
    AUSTRALIAN,
    BORUTA,
    CFS,
    CLASSIC,
    CONSTRAINED,
    GUIDES,
    LASSO,
    MAP,
    MEASURED,
    MEASURES,
    N_SIMULATED,
    REAL,
    SETS,
    SIMULATED,
    sparse_name,
)
from bayesieve_lab.blanquero2021.examples import Examples
from bayesieve_lab.blanquero2021.grouped_lasso import GroupedLassoPeer
from bayesieve_lab.blanquero2021.two_thirds import (
    UNSMOOTHED,
    BorutaNB,
    ClassicNB,
    FilteredNB,
    MostProbableNB,
    SparseNB,
)
from bayesieve_lab.claims import Closeness, Judged
from bayesieve_lab.comparison.folds import RepeatedFolds
from bayesieve_lab.comparison.results import Comparison, Key, read_results
from bayesieve_lab.cross_validated import CrossValidatedStudy
from bayesieve_lab.simulate import correlated_blocks
from bayesieve_lab.study import Part, Report

N_DRAWS, N_DRAWS_QUICK = 20, 2
_SLOW = {"mfeat": 2, "isolet": 10}
"""Data sets on which the lasso is cross-validated once, with the number of cross-validations of all data sets before
it.
"""


class Blanquero2021(CrossValidatedStudy):
    """Reproduction of sections 2.2, 3 and 4 of the paper, with their tables and figures."""

    paper: ClassVar[str] = "blanquero2021"
    citation: ClassVar[str] = (
        "R. Blanquero, E. Carrizosa, P. Ramírez-Cobo and M. R. Sillero-Denamiel (2021), Variable selection for naïve "
        "Bayes classification, Computers & Operations Research 135"
    )
    paper_smoothing: ClassVar[Smoothing] = UNSMOOTHED
    paper_repeats: ClassVar[int] = 10
    quick_names: ClassVar[Sequence[str]] = ("wine", "australian", "german_credit", "p100-rho0.1", "p100-rho0.9")

    examples: Examples | None = None
    """Results of sections 2.2 and 3.1, if they were computed."""

    def paper_names(self) -> tuple[str, ...]:
        """Return the names of the data sets in the order of the run.

        Real ones come first, then simulated ones, and last the real ones that take longest.
        """
        loadable = self.sets.names("in_blanquero")
        real = [one.ours for one in REAL if one.ours in loadable]
        slow = [name for name in real if name in _SLOW]
        return (*(name for name in real if name not in _SLOW), *(one.ours for one in SIMULATED), *slow)

    def load(self, name: str) -> tuple[Any, np.ndarray]:
        """Return the table and the class labels (n_rows,) of a data set.

        In unbalanced data sets, the label of class 1 is "1", and that of all others "2".
        """
        one = SETS[name]
        if one.kind == "simulated":
            seed = np.random.SeedSequence(self.options.seed, spawn_key=(one.n_features, round(100 * one.correlation)))
            rng = np.random.default_rng(seed)
            X, y = correlated_blocks(N_SIMULATED, one.n_features, correlation=one.correlation, random_state=rng)
            return X, y.astype(np.int64)
        X, y = self.sets.load(name)
        return X, y if one.first_class is None else np.where(y.astype(str) == one.first_class, "1", "2")

    def methods(self) -> dict[str, Any]:
        """Return the classifiers of all data sets, by name."""
        return {method: model for name in SETS for method, model in self.methods_of(name).items()}

    def methods_of(self, name: str) -> dict[str, Any]:
        """Return the classifiers that the paper compares on a data set, by name."""
        one = SETS[name]
        smooth: dict[str, Any] = {"smoothing": self.smoothing}
        chosen: dict[str, Any] = {CLASSIC: ClassicNB(**smooth)}
        if one.kind == "constrained":
            for guide, bounds in CONSTRAINED:
                chosen[sparse_name(guide, one.q, bounds)] = SparseNB(
                    q=one.q, scoring=guide, constraints=bounds or None, **smooth
                )
        for guide in GUIDES.get(one.kind, ()):
            chosen[sparse_name(guide, one.q)] = SparseNB(q=one.q, scoring=guide, **smooth)
            chosen[sparse_name(guide, one.q, smoothed=True)] = SparseNB(q=one.q, scoring=guide, smoothing="m-estimate")
        if name in MEASURED:
            guide = GUIDES.get(one.kind, ("accuracy",))[0]
            for dependence in MEASURES[1:]:
                chosen[sparse_name(guide, one.q, dependence=dependence)] = SparseNB(
                    q=one.q, scoring=guide, dependence=dependence, **smooth
                )
        if one.kind in ("balanced", "unbalanced"):
            chosen |= {CFS: FilteredNB(**smooth), BORUTA: BorutaNB(**smooth), MAP: MostProbableNB(**smooth)}
            chosen[LASSO] = GroupedLassoPeer()
        return chosen

    def repeats_of(self, name: str) -> int:
        """Return the number of cross-validations of a data set: the requested one, otherwise the paper's.

        If none is requested, it is at most ``most_repeats`` of the `PaperSet`, which is less for wide data sets.
        """
        repeats = self.protocol.n_repeats
        return repeats if self.options.repetitions else min(repeats, SETS[name].most_repeats)

    def measure(self, results: Path | None, verbose: int) -> Comparison:
        """Run the comparison and the examples; results are added to the file ``results``."""
        comparison = super().measure(results, verbose)
        self.examples = self._examples(results)
        return comparison

    def parts(self) -> Iterator[Part]:
        """Yield the parts of the run: methods, data sets by name, and folds.

        The first cross-validation of every data set comes first, then the second one of all, and so on.
        """
        for repeats in range(1, self.protocol.n_repeats + 1):
            split = RepeatedFolds(self.protocol.n_folds, repeats, self.options.seed)
            late: list[Part] = []
            for name in self.names:
                methods, data = self.methods_of(name), {name: partial(self.load, name)}
                if not boruta.installed():
                    methods.pop(BORUTA, None)
                if name in _SLOW:
                    lasso = {LASSO: methods.pop(LASSO)}
                    if repeats == min(_SLOW[name], self.protocol.n_repeats):
                        late.append((lasso, data, RepeatedFolds(self.protocol.n_folds, 1, self.options.seed)))
                if repeats <= self.repeats_of(name):
                    yield methods, data, split
            yield from late

    def saved(self, results: Path) -> Comparison:
        """Return the comparison in a file of results, and load the examples next to it."""
        self.examples = Examples.read(results)
        rows = read_results(results)
        measured = {data for data, *_ in rows}
        self.names = tuple(name for name in SETS if name in measured)
        return self._comparison(rows)

    def _comparison(self, rows: dict[Key, dict[str, Any]]) -> Comparison:
        """Return the comparison of all data sets and methods; ``rows`` are results by data set, method, repeat and
        fold.
        """
        return Comparison.of(self.names, self.methods(), self.protocol, rows)

    def _examples(self, results: Path | None) -> Examples:
        """Return the examples saved next to ``results`` if their settings equal those of the study; otherwise compute
        and save them.
        """
        made_by = {"seed": self.options.seed, "folds": self.protocol.n_folds, "data": AUSTRALIAN.ours in self.names}
        examples = None if results is None else Examples.read(results, made_by)
        if examples is not None:
            return examples
        load: Callable[[], tuple[Any, np.ndarray]] | None = None
        if AUSTRALIAN.ours in self.names:
            load = partial(self.load, AUSTRALIAN.ours)
        quick = self.options.quick
        examples = Examples.of(load, self.options.seed, N_DRAWS_QUICK if quick else N_DRAWS, self.protocol.n_folds)
        if results is not None:
            examples.write(results, made_by)
        return examples

    def report(self, comparison: Comparison) -> Report:
        """Return the report of a comparison's results: tables beside those of the paper, and verdicts on its claims."""
        from bayesieve_lab.blanquero2021.report import report

        return report(self, comparison)

    def judged(self, comparison: Comparison) -> tuple[Judged | Closeness, ...]:
        """Return the paper's claims with our verdicts."""
        from bayesieve_lab.blanquero2021.claims import findings
        from bayesieve_lab.blanquero2021.results import Results

        return tuple(findings(Results(comparison), self.examples))
