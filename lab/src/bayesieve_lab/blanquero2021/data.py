"""Data sets, methods and published numbers of Blanquero et al. (2021)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal

from bayesieve.criteria import Criterion

Kind = Literal["balanced", "unbalanced", "constrained", "simulated"]


@dataclass(frozen=True)
class PaperSet:
    """A data set of the paper.

    Attributes
    ----------
    ours, name : name in the catalogue of the lab, and name in table 3.
    kind : purpose of the data set in the paper.
    q : the paper's value of q; "auto" if it follows the paper's rule.
    first_class : label of class 1 of an unbalanced set; all other labels are class 2.
    most_repeats : largest number of cross-validations, unless more are requested.
    n_features, correlation : parameters of a simulated set.
    """

    ours: str
    name: str
    kind: Kind
    q: float | Literal["auto"]
    first_class: str | None = None
    most_repeats: int = 10
    n_features: int = 0
    correlation: float = 0.0


SIZES, CORRELATIONS = (100, 200, 300, 400, 500), (0.1, 0.5, 0.7, 0.9)
N_SIMULATED = 2000


def simulated_name(n_features: int, correlation: float) -> str:
    """Return the name of a simulated data set, such as "p100-rho0.5" for 100 features with correlation 0.5."""
    return f"p{n_features}-rho{correlation:g}"


AUSTRALIAN = PaperSet("australian", "Australian", "constrained", 0.4)
REAL = (
    AUSTRALIAN,
    PaperSet("wine", "Wine", "balanced", 0.4),
    PaperSet("breast_wisconsin_diagnostic", "Breast Cancer", "balanced", 0.4),
    PaperSet("spectf", "SPECTF", "unbalanced", 0.4, first_class="1"),
    PaperSet("german_credit", "German", "unbalanced", 0.6, first_class="good"),
    PaperSet("mushroom_8124", "Mushroom", "balanced", 0.4),
    PaperSet("waveform40", "Waveform", "balanced", 0.6),
    PaperSet("page_blocks", "Page Blocks", "unbalanced", 0.6, first_class="1"),
    PaperSet("mfeat", "Multiple Features", "balanced", 0.4),
    PaperSet("isolet", "ISOLET", "balanced", 0.4),
)
"""Data sets of table 3, fastest first."""
SIMULATED = tuple(
    # Accuracies of table 2 are multiples of 1 / 2000, numbers of features of 1 / 10: it has one cross-validation.
    PaperSet(simulated_name(p, rho), f"p = {p}, rho = {rho:g}", "simulated", "auto", None, 1, p, rho)
    for p, rho in product(SIZES, CORRELATIONS)
)
SETS = {one.ours: one for one in (*REAL, *SIMULATED)}

CLASSIC, CFS, BORUTA, MAP, LASSO, SPARSE = "Classic NB", "CFS", "Boruta", "SNB(MAP)", "Lasso", "Sparse NB"
COMPARATORS = (CLASSIC, CFS, BORUTA, MAP, LASSO)
GUIDES = {"balanced": ("accuracy",), "simulated": ("accuracy",), "unbalanced": ("auc", "precision:1")}
MEASURES = (
    "mutual_information",
    "pearson",
    "spearman",
    "hoeffding",
    "distance_correlation",
    "maximal_information",
)
"""Measures of dependence in the paper, the one that it chooses first."""
MEASURED = ("australian", "wine", "breast_wisconsin_diagnostic", "spectf", "german_credit")
"""Data sets on which the measures of dependence are compared."""
CONSTRAINED: tuple[tuple[str, dict[str | Criterion, float]], ...] = (
    ("accuracy", {}),
    ("accuracy", {"recall:1": 0.85}),
    ("recall:1", {"recall:0": 0.60}),
    ("accuracy", {"recall:1": 0.92}),
)
"""Criterion and constraints of rows 2 to 4 of table 4, and of the example of section 3."""


def sparse_name(
    guide: str,
    q: float | str,
    constraints: Mapping[str | Criterion, float] | None = None,
    dependence: str = MEASURES[0],
    *,
    smoothed: bool = False,
) -> str:
    """Return the name of a sparse naive Bayes in the results; each combination of options has a different name.

    ``q`` and ``constraints`` are options of the search; ``smoothed`` is whether probabilities are smoothed. ``guide``
    is the criterion of the search, and ``dependence`` the measure by which features are clustered.
    """
    parts = [SPARSE, guide, f"q {q}", *(f"{measure} > {bound:g}" for measure, bound in (constraints or {}).items())]
    return ", ".join(
        [*parts, *([dependence] if dependence != MEASURES[0] else []), *(["smoothed"] if smoothed else [])]
    )


TABLE_1 = {
    "1": 68.08,
    "2": 68.51,
    "3": 68.55,
    "4": 69.01,
    "12": 68.38,
    "13": 74.99,
    "14": 75.08,
    "23": 74.86,
    "24": 75.25,
    "34": 75.68,
    "123": 73.58,
    "124": 73.85,
    "134": 79.94,
    "234": 79.84,
    "1234": 78.28,
}
"""Accuracy in percent of Gaussian naive Bayes by subset of four features."""
_SPARSE_2 = (
    ((88.20, 66), (93.30, 37), (93.20, 24), (95.05, 21.3)),
    ((90.10, 113.5), (93.40, 52.5), (95.70, 30.5), (96.55, 20.1)),
    ((89.85, 168.6), (92.40, 79.7), (94.70, 37.3), (95.95, 18.2)),
    ((91.90, 216.3), (91.45, 94), (92.35, 46.8), (93.65, 17)),
    ((91.90, 283.2), (90.70, 102.7), (93.85, 29.6), (91.90, 5.9)),
)
_CLASSIC_2 = (
    (89.50, 87.05, 87.10, 86.95),
    (90.10, 87.30, 87.65, 86.80),
    (90.15, 87.00, 87.15, 87.85),
    (89.65, 87.25, 87.25, 87.50),
    (90.15, 87.05, 87.45, 87.55),
)
TABLE_2 = {
    (p, rho): (*_SPARSE_2[row][column], _CLASSIC_2[row][column])
    for (row, p), (column, rho) in product(enumerate(SIZES), enumerate(CORRELATIONS))
}
"""Accuracy in percent and number of features of sparse NB, and accuracy of classic NB, by number of features and
correlation.
"""
TABLE_4 = (
    ("Classic NB", 91.10, 78.78, 85.61, 14.0),
    ("Sparse NB (ACC)", 84.59, 85.83, 85.15, 5.78),
    ("Sparse NB (ACC), Recall+ > 85", 84.14, 86.48, 85.19, 5.53),
    ("Sparse NB (Recall+), Recall- > 60", 79.93, 92.35, 85.46, 1.4),
)
"""Methods with Recall-, Recall+ and accuracy in percent, and number of features."""
CHOSEN, CHOSEN_ACCURACY, ALL_ACCURACY = (1, 4, 6, 8, 9, 12, 14), 86.76, 85.29
CHOSEN_CONSTRAINED = (2, 8)
"""Numbers of features of Australian chosen by accuracy, and with Recall+ > 92 (section 3.1). The accuracies are 59 and
58 of 68.
"""
