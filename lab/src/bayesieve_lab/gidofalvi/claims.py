"""Claims of Gidofalvi & Zadrozny, tested on the repetitions of a campaign.

In functions, ``campaign`` is its name, and ``what`` the name of a quantity, such as "mse test".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.stats import kendalltau

from bayesieve_lab.claims import MARGIN, ONE_RUN, Claim, Judged, compare
from bayesieve_lab.comparison.results import Comparison
from bayesieve_lab.gidofalvi.campaigns import CUP
from bayesieve_lab.gidofalvi.model import N_STEPS
from bayesieve_lab.gidofalvi.study import (
    ALL,
    BOOSTED,
    CALIBRATED,
    FORWARD,
    HAND,
    INFORMATIVE,
    OTHER_CODING,
    REPEATED,
)


@dataclass(frozen=True)
class Line:
    """Line of table 3: a method after a number of selected features.

    Attributes
    ----------
    name, method : name of the line, and of the method in the results.
    step : number of selected features; None for all that the method selects.
    mse, profit : the paper's squared error and profit in dollars on training and test rows, or None.
    """

    name: str
    method: str
    step: int | None = None
    mse: tuple[float, float] | None = None
    profit: tuple[int, int] | None = None


LINES = (
    Line("7 hand-selected", HAND, None, (0.10089, 0.10111), (10083, 9531)),
    Line("5 forward", FORWARD, 5, (0.09535, 0.09536), (15484, 14048)),
    Line("10 forward", FORWARD, 10, (0.09520, 0.09537), (16221, 14443)),
    Line("20 forward", FORWARD, 20, (0.09499, 0.09556), (16877, 13366)),
    Line("5 boosted", BOOSTED, 5, (0.10349, 0.09540), (7365, 11700)),
    Line("10 boosted", BOOSTED, 10),
    Line("20 boosted", BOOSTED, 20),
    Line("5 boosted, calibrated", CALIBRATED, 5),
    Line("10 boosted, calibrated", CALIBRATED, 10),
    Line("20 boosted, calibrated", CALIBRATED, 20),
    Line("all features", ALL, None, (0.64965, 0.65750), (14355, 10319)),
    Line(INFORMATIVE, INFORMATIVE),
    Line("MAP", "MAP"),
    Line("compression averaging", "compression averaging"),
)
"""Lines of table 3 (training and test set) with our methods."""
STEPS = tuple(Line(f"{method} {k}", method, k) for method in (FORWARD, BOOSTED) for k in range(1, N_STEPS + 1))
_BINNED = tuple(
    Line(f"{line.name}, {OTHER_CODING}", f"{line.method}, {OTHER_CODING}", line.step, line.mse, line.profit)
    for line in LINES
    if line.step and line.mse
)
"""Lines of the paper with bins of equal frequency, as used for the lines with all features."""
_UNLIKE = "The paper's donors, those of the KDD Cup 1998, cannot be distributed: others take their place."
_ONE, _ZERO, _TAU = "calibrated", "none", "correlation"
PARTS = ("train", "test")
FORMS = {
    "mse train": "+.5f",
    "mse test": "+.5f",
    "mse gap": "+.5f",
    "loss test": "+.0f",
    "slope test": "+.2f",
    "area": "+.3f",
    "order": "+.2f",
}
_WHOLE = (FORWARD, BOOSTED, REPEATED, f"{FORWARD}, {OTHER_CODING}")
"""Searches that run to their end."""
_GAP = 0.001
"""Margin of the difference between squared errors on training and test rows: one percent of the error of the class
shares.
"""

CLAIMS = (
    Claim(
        "The training MSE of forward selection falls with more features",
        tuple((f"forward {b}", f"forward {a}") for a, b in pairwise((1, 2, 3, 4, 5, 10, 15, 20))),
        "mse train",
        where="Section 4, figure 1",
    ),
    Claim(
        "The test MSE of forward selection is lowest after few features: 4 are better than 1 and than 20",
        (("forward 4", "forward 1"), ("forward 4", "forward 20")),
        "mse test",
        where="Section 4, figure 1",
    ),
    Claim(
        "The training MSE of boosted selection rises",
        (("boosted 1", "boosted 5"), ("boosted 5", "boosted 10"), ("boosted 10", "boosted 20")),
        "mse train",
        where="Section 4, figure 2",
    ),
    Claim(
        "The test MSE of boosted selection falls until 5 features, then rises: 5 are better than 1 and than 20",
        (("boosted 5", "boosted 1"), ("boosted 5", "boosted 20")),
        "mse test",
        where="Section 4, figure 2",
    ),
    Claim(
        "All features are far worse in MSE (bins of equal frequency, which keep all)",
        tuple((line.name, "all features") for line in _BINNED),
        "mse test",
        where="Section 4, table 3",
    ),
    Claim(
        "All features are worse in profit (bins of equal frequency)",
        tuple((line.name, "all features") for line in _BINNED),
        "loss test",
        where="Section 4, table 3",
    ),
    Claim("Methods with a lower MSE make more profit", ((_TAU, _ZERO),), "order", "Section 4"),
    Claim("The scores of all features are too extreme", (("all features", _ONE),), "slope test", "Section 1"),
    Claim(
        "Naive Bayes ranks well all the same: by the area under the curve, all features are not below 20 by forward "
        "selection (bins of equal frequency)",
        (("all features", f"{FORWARD}, {OTHER_CODING}"),),
        "area",
        "Section 1",
        margin=MARGIN,
        sides=(1,),
    ),
    Claim(
        "Naive Bayes does not overfit: its training MSE is that of new donors",
        tuple((line.name, _ZERO) for line in LINES if line.mse),
        "mse gap",
        "Section 3.1",
        margin=_GAP,
    ),
    Claim(
        "Boosted selection takes no account of calibration: its scores are more extreme than those of forward "
        "selection",
        ((BOOSTED, FORWARD),),
        "slope test",
        "Section 4",
    ),
)
"""Claims of the paper, each as pairs of which the first is lower; a loss is minus the profit."""


def values_of(comparison: Comparison, campaign: str, what: str) -> dict[str, np.ndarray]:
    """Return the values of a quantity in every repetition, (n_repetitions,), by line of table 3 and by number of
    features.

    ``what`` is a figure of `CampaignNB`, "area" (1 - AUC), "loss test" (minus the profit), "mse gap" (test minus
    training), or "order": Kendall's correlation of test MSE and test profit over the paper's six lines.
    """
    if what == "order":
        errors, profits = (values_of(comparison, campaign, f"{of} test") for of in ("mse", "profit"))
        columns = [[values[line.name] for line in LINES if line.mse] for values in (errors, profits)]
        taus = [
            kendalltau(*pair, nan_policy="omit").statistic
            for pair in zip(*(np.transpose(column) for column in columns), strict=True)
        ]
        return {_TAU: np.nan_to_num(taus), _ZERO: np.zeros(len(taus))}
    if what.startswith("loss"):
        return {
            name: -profit for name, profit in values_of(comparison, campaign, what.replace("loss", "profit")).items()
        }
    if what == "mse gap":
        train, test = (values_of(comparison, campaign, f"mse {part}") for part in PARTS)
        return {name: test[name] - train[name] for name in test} | {_ZERO: np.zeros(len(test[INFORMATIVE]))}
    lines = (*LINES, *STEPS, *_BINNED, *(Line(name, name) for name in _WHOLE))
    values = {line.name: of_method(comparison, campaign, line.method, what, line.step) for line in lines}
    return values | {_ONE: np.ones(len(values[INFORMATIVE]))}


def of_method(comparison: Comparison, campaign: str, method: str, what: str, step: int | None = None) -> np.ndarray:
    """Return a quantity of a method in every repetition of a campaign, (n_repetitions,).

    With ``step``, it is the value after this number of features, NaN if the method selects fewer. ``what`` is the name
    of the quantity, such as "mse test".
    """
    rows = [row for row in comparison.rows if row["data"].startswith(f"{campaign},") and row["method"] == method]
    if what == "area":  # above the curve, which is lower for the better method
        return np.array([1.0 - row["auc"] for row in rows])
    return np.array([_figure(row["figures"], what, step) for row in rows], dtype=float)


def _figure(figures: dict[str, float | None], what: str, step: int | None) -> float | None:
    """Return the quantity ``what``, such as "mse test", from the figures of a fold by name.

    With ``step``, it is the value after this number of features; NaN if the search did not reach it.
    """
    if step is None or not what.startswith(("mse", "profit", "mailed")):
        return figures[what]
    return figures.get(f"{what} {step}", np.nan)


def findings(comparison: Comparison, campaign: str) -> list[Judged]:
    """Judge every claim on a campaign.

    The donors of the KDD Cup are the paper's, so that results on them are compared as fixed numbers, without a test.
    """
    quantities = dict.fromkeys(claim.what for claim in CLAIMS)
    values = {what: values_of(comparison, campaign, what) for what in quantities}
    return [
        replace(
            compare(
                replace(claim, negligible=None),
                values[claim.what],
                published(claim.what),
                FORMS[claim.what],
                printed=ONE_RUN,
                fixed=campaign == CUP,
            ),
            unlike="" if campaign == CUP else _UNLIKE,
        )
        for claim in CLAIMS
        if {name for pair in claim.pairs for name in pair} <= {*values[claim.what]}
    ]


def published(what: str) -> dict[str, float]:
    """Return the paper's numbers in table 3 for a quantity, by line; a loss is minus the profit.

    ``what`` is the name of the quantity, such as "mse test".
    """
    kind, _, part = what.partition(" ")
    if what == "mse gap":
        return {line.name: line.mse[1] - line.mse[0] for line in LINES if line.mse} | {_ZERO: 0.0}
    if kind not in ("mse", "loss"):
        return {}
    k, sign = PARTS.index(part), -1 if kind == "loss" else 1
    numbers = {line.name: line.profit if kind == "loss" else line.mse for line in (*LINES, *_BINNED)}
    return {name: sign * pair[k] for name, pair in numbers.items() if pair is not None}
