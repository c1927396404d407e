"""Variation of the numbers of cuts and of combinations per cut, which section 4 of Blanquero et al. (2021) fixes.

    python -m bayesieve_lab.blanquero2021.compromise DIR lab/reproduction/blanquero2021-compromise.jsonl

DIR is the folder of the data sets. Folds are those of the study; measurements in the file are not repeated.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bayesieve.table.frames import take_rows
from bayesieve_lab.blanquero2021.data import SETS
from bayesieve_lab.blanquero2021.study import Blanquero2021
from bayesieve_lab.blanquero2021.two_thirds import SparseNB
from bayesieve_lab.claims import Differences, Judged, alike, differ
from bayesieve_lab.comparison.folds import RepeatedFolds
from bayesieve_lab.growth import add_missing
from bayesieve_lab.made import record
from bayesieve_lab.study import Options

COMBINATIONS, CUTS = (5, 25, 100), (10, 100, 499)
"""Numbers of combinations and of cuts to try; the middle ones are the paper's."""
ON = {"combinations": ("australian", "wine", "breast_wisconsin_diagnostic"), "cuts": ("p500-rho0.1", "p500-rho0.9")}
"""Data sets of the trials; more than 100 cuts require more than 100 features."""
REPEATS = {"combinations": 10, "cuts": 1}
"""Number of cross-validations: ten as in the paper, but one for the wide data sets."""
_POINTS = "+.2pt"


def measured(study: Blanquero2021, name: str, option: str, value: int) -> dict[str, Any]:
    """Return two lists over the folds of the data set ``name``: "accuracies", and "seconds", the CPU time of the
    selection.

    ``option`` is "combinations" or "cuts", and ``value`` is the number of these.
    """
    X, y = study.load(name)
    options: dict[str, Any] = {f"n_{option}": value, "q": SETS[name].q}
    accuracies, seconds = [], []
    for fold in RepeatedFolds(10, REPEATS[option], 0).split(y):
        model = SparseNB(**options).fit(take_rows(X, fold.train), y[fold.train])
        predicted = model.classes_[model.predict_log_proba(take_rows(X, fold.test)).argmax(axis=1)]
        accuracies.append(round(float(np.mean(predicted == y[fold.test])), 10))
        seconds.append(round(float(model.cpu_seconds_), 4))
    return {"accuracies": accuracies, "seconds": seconds}


def wanted(folder: Path) -> Iterator[tuple[dict[str, Any], Callable[[], dict[str, Any]]]]:
    """Yield the measurements to make, for every value of an option and every data set.

    Each is a pair of the fields that identify it, and a function that returns its results.
    """
    study = Blanquero2021(Options(data=folder))
    for option, values in (("combinations", COMBINATIONS), ("cuts", CUTS)):
        for name in ON[option]:
            for value in values:
                key = {"option": option, "data": name, "value": value, "repeats": REPEATS[option]}
                yield key, partial(measured, study, name, option, value)


def judge_compromise(measurements: Sequence[dict[str, Any]]) -> tuple[Judged, ...]:
    """Judge whether more cuts, or combinations, increase accuracy by less than a percentage point, and take more time.

    ``measurements`` are lines of the file: the fields that identify a measurement, and its results.
    """
    claims = []
    line_of = {(line["option"], line["data"], line["value"]): line for line in measurements}
    for option, sentence, (_, of_paper, most), where in (
        ("combinations", "25 combinations at each cut are a good compromise", COMBINATIONS, "Section 4.1"),
        ("cuts", "At most 100 cuts balance accuracy and time", CUTS, "Section 4.2"),
    ):
        pairs = {
            f"{most} - {of_paper}, {name}": [line_of.get((option, name, value)) for value in (most, of_paper)]
            for name in ON[option]
        }
        both = {what: pair for what, pair in pairs.items() if all(pair)}

        def sample(pair: Sequence[Any], field: str) -> Differences:
            """Return the differences of the list ``field`` over the folds, first minus second measurement of a pair.

            For "seconds", they are differences of log10.
            """
            one, two = (np.array(line[field]) for line in pair)
            return Differences(np.log10(one / two) if field == "seconds" else one - two, "folds", 1 / 9)

        gains = alike({what: sample(pair, "accuracies") for what, pair in both.items()}, sides=(1,), form=_POINTS)
        costs = differ({what: sample(pair, "seconds") for what, pair in both.items()}, 1, form="+.2f", margin=None)
        if both:
            claims += [
                Judged(where, f"{sentence}: more gain less than a point", gains),
                Judged(where, f"{sentence}: more take longer (log10 of the seconds)", costs),
            ]
    return tuple(claims)


def main(folder: str, path: str) -> None:
    """Run the missing measurements and save them in the file ``path``; ``folder`` is that of the data sets."""
    add_missing(Path(path), wanted(Path(folder)))
    record(Path(path), {"paper": "blanquero2021", "seed": 0, "folds": 10, "repeats": REPEATS})


if __name__ == "__main__":
    main(*sys.argv[1:])
