"""Results of the finished folds of the study, by data set and method."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from bayesieve_lab.blanquero2021.data import COMPARATORS, GUIDES, SETS, PaperSet, sparse_name
from bayesieve_lab.claims import Differences
from bayesieve_lab.comparison.results import Comparison


class Results:
    """Results of a comparison; in an unfinished run, methods may lack folds.

    In the methods, ``name`` is that of a data set, and ``measure`` a column of the results or a further figure.

    Parameters
    ----------
    comparison : Comparison
    """

    def __init__(self, comparison: Comparison) -> None:
        self.n_folds = comparison.protocol.n_folds
        self.names = comparison.data
        self._rows: dict[tuple[str, str], dict[tuple[int, int], dict[str, float | None]]] = defaultdict(dict)
        for row in comparison.rows:
            if row["error"] is None:
                place = row["repeat"], row["fold"]
                self._rows[row["data"], row["method"]][place] = {**row, **(row["figures"] or {})}

    def of(self, kind: str) -> list[PaperSet]:
        """Return the data sets of a kind, such as "balanced", on which both classic and sparse naive Bayes have
        finished folds.
        """
        every = [SETS[name] for name in self.names if SETS[name].kind == kind]
        return [one for one in every if all(self.count(one.ours, method) for method in self.shown(one)[:2])]

    def shown(self, data_set: PaperSet) -> list[str]:
        """Return the names of the methods to show for a data set.

        Classic and sparse naive Bayes come first, then others with finished folds.
        """
        guided = [sparse_name(guide, data_set.q) for guide in GUIDES.get(data_set.kind, ())]
        others = [method for method in COMPARATORS[1:] if self.count(data_set.ours, method)]
        return [COMPARATORS[0], *guided, *others]

    def count(self, name: str, method: str) -> int:
        """Return the number of finished folds of a method on a data set."""
        return len(self._rows[name, method])

    def values(self, name: str, method: str, measure: str) -> np.ndarray:
        """Return the values of a measure on the folds, (n_folds,), without missing ones."""
        values = [row.get(measure) for row in self._rows[name, method].values()]
        return np.array([value for value in values if value is not None], dtype=float)

    def mean(self, name: str, method: str, measure: str) -> float:
        """Return the mean of a measure over the folds; NaN without folds."""
        values = self.values(name, method, measure)
        return float(values.mean()) if values.size else float("nan")

    def seconds(self, name: str, method: str) -> float:
        """Return the median over the folds of the CPU seconds for selecting features and fitting; NaN without folds."""
        values = self.values(name, method, "cpu seconds")
        return float(np.median(values)) if values.size else float("nan")

    def differences(self, name: str, first: str, second: str, measure: str, *, log: bool = False) -> Differences:
        """Return the differences in a measure, first minus second method, on the folds that both have on a data set.

        With ``log``, they are differences of log10 of the measure.
        """
        one, two = self._rows[name, first], self._rows[name, second]
        pairs = {place: (one[place].get(measure), two[place].get(measure)) for place in one if place in two}
        complete = {place: pair for place, pair in pairs.items() if None not in pair}
        values = np.array(list(complete.values()), dtype=float).reshape(-1, 2)
        return self._folds(list(complete), -np.diff(np.log10(values) if log else values)[:, 0])

    def above(self, name: str, method: str, measure: str, bound: float) -> Differences:
        """Return the value of a measure minus ``bound`` on each fold of a method, as a sample to be tested."""
        return self._folds(list(self._rows[name, method]), self.values(name, method, measure) - bound)

    def _folds(self, places: Sequence[tuple[int, int]], values: np.ndarray) -> Differences:
        """Return one number per fold as a sample for tests over the folds of repeated cross-validation.

        ``places`` are the repeat and number of each fold, ``values`` (n_folds,) the numbers.
        """
        repeats = np.array([repeat for repeat, _ in places], dtype=int)
        means = [values[repeats == repeat].mean() for repeat in np.unique(repeats)]
        lower = (
            f", lower in {sum(mean < 0 for mean in means)} of {len(means)} cross-validations" if len(means) > 1 else ""
        )
        return Differences(values, f"folds{lower}", 1.0 / (self.n_folds - 1))

    def n_features(self, name: str) -> float:
        """Return the number of features of a data set."""
        return self.mean(name, COMPARATORS[0], "n_features")

    def folds_in_words(self, names: Sequence[str]) -> str:
        """Return text with the number of finished folds of each data set, such as "100 of Wine; 10 to 100 of ISOLET".

        The fewest and the most are given if methods differ in their number.
        """
        parts: dict[str, list[str]] = defaultdict(list)
        for name in names:
            counts = {len(rows) for (data, _), rows in self._rows.items() if data == name and rows}
            words = f"{min(counts)}" if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
            parts[words].append("the simulated sets" if SETS[name].kind == "simulated" else SETS[name].name)
        return "; ".join(f"{folds} of {', '.join(dict.fromkeys(of))}" for folds, of in parts.items())
