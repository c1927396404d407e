"""Tables 1 to 4 of Boulle (2007), and our versions of its data sets."""

from __future__ import annotations

from dataclasses import dataclass

MEASURES = ("accuracy", "auc", "compression_rate")
"""The criteria of section 5.2; `SHORT` has the paper's names."""
SHORT = {"accuracy": "ACC", "auc": "AUC", "compression_rate": "CR"}

METHODS = ("SNB(CMA)", "SNB(BMA)", "SNB(MAP)", "SNB(AUC)", "SNB(ACC)", "NB", "NB(EF)")
"""The rows of tables 3 and 4 in their order."""
REFERENCE = "SNB(CMA)"
OURS = "bayesieve"
"""The default classifier of this package, which is not in the paper."""


@dataclass(frozen=True)
class Cell:
    """A table's numbers for a method and a criterion; wins and losses are those of SNB(CMA) against it."""

    mean: float
    rank: float
    wins: int | None = None
    losses: int | None = None


def _cells(*rows: tuple[float, str, float]) -> dict[str, Cell]:
    cells = {}
    for method, (mean, record, rank) in zip(METHODS, rows, strict=True):
        wins, losses = map(int, record.split("/")) if record else (None, None)
        cells[method] = Cell(mean, rank, wins, losses)
    return cells


TABLE_3 = {
    "accuracy": _cells(
        *((0.824, "", 2.2), (0.817, "9/2", 3.7), (0.813, "11/1", 4.5), (0.820, "8/0", 3.3)),
        *((0.817, "5/1", 3.5), (0.814, "11/0", 4.0), (0.796, "15/1", 4.6)),
    ),
    "auc": _cells(
        *((0.920, "", 1.9), (0.916, "11/0", 3.3), (0.913, "17/1", 4.4), (0.918, "10/2", 3.1)),
        *((0.910, "14/0", 4.5), (0.913, "16/1", 4.6), (0.911, "13/3", 4.8)),
    ),
    "compression_rate": _cells(
        *((0.577, "", 2.2), (0.559, "12/6", 2.6), (0.549, "15/6", 3.6), (0.532, "17/4", 4.4)),
        *((0.536, "13/2", 4.5), (0.476, "19/2", 5.3), (0.401, "15/2", 5.3)),
    ),
}
"""Table 3: the 30 data sets of table 1."""

TABLE_4 = {
    "accuracy": _cells(
        *((0.883, "", 1.9), (0.872, "3/0", 3.5), (0.865, "4/0", 4.5), (0.872, "6/0", 3.6)),
        *((0.875, "3/2", 2.9), (0.841, "7/0", 4.9), (0.823, "9/0", 6.6)),
    ),
    "auc": _cells(
        *((0.904, "", 1.0), (0.882, "6/0", 2.9), (0.863, "6/0", 5.1), (0.888, "7/0", 2.7)),
        *((0.869, "8/0", 4.8), (0.846, "9/0", 5.3), (0.833, "9/0", 6.2)),
    ),
    "compression_rate": _cells(
        *((0.510, "", 1.0), (0.446, "9/0", 2.3), (0.425, "9/0", 3.7), (0.331, "10/0", 4.1)),
        *((0.365, "9/0", 4.3), (-0.321, "9/0", 5.9), (-0.423, "10/0", 6.7)),
    ),
}
"""Table 4: the 10 data sets of table 2."""


@dataclass(frozen=True)
class PaperSet:
    """A data set of table 1 or 2: rows, numerical and categorical variables, classes, share of the most frequent one.

    ``ours`` is the data set of ours that stands for it, None where there is none; ``first_rows`` is how many of its
    rows belong to the paper's set, None for all; ``note`` says where the two differ, or why.
    """

    name: str
    rows: int
    n_numeric: int
    n_categorical: int
    n_classes: int
    majority_share: float
    ours: str | None = None
    first_rows: int | None = None
    note: str = ""


UCI = (
    PaperSet("Abalone", 4177, 7, 1, 28, 0.165, "abalone"),
    PaperSet("Adult", 48842, 7, 8, 2, 0.761, "adult"),
    PaperSet("Australian", 690, 6, 8, 2, 0.555, "australian"),
    PaperSet(
        *("Breast", 699, 10, 0, 2, 0.655, "breast_wisconsin_original"),
        note="the paper counts the sample number among its variables",
    ),
    PaperSet("Crx", 690, 6, 9, 2, 0.555, "credit_approval_crx"),
    PaperSet("German", 1000, 24, 0, 2, 0.700, "german_numeric"),
    PaperSet("Glass", 214, 9, 0, 6, 0.355, "glass"),
    PaperSet("Heart", 270, 10, 3, 2, 0.556, "heart_statlog"),
    PaperSet("Hepatitis", 155, 6, 13, 2, 0.794, "hepatitis"),
    PaperSet("HorseColic", 368, 7, 20, 2, 0.630, "horse_colic_orig"),
    PaperSet("Hypothyroid", 3163, 7, 18, 2, 0.952, "hypothyroid_uci"),
    PaperSet("Ionosphere", 351, 34, 0, 2, 0.641, "ionosphere"),
    PaperSet("Iris", 150, 4, 0, 3, 0.333, "iris"),
    PaperSet("LED", 1000, 7, 0, 10, 0.114, "led", note="generated, so that the rows are others"),
    PaperSet("LED17", 10000, 24, 0, 10, 0.107, "led17", note="generated, so that the rows are others"),
    PaperSet("Letter", 20000, 16, 0, 26, 0.041, "letter"),
    PaperSet("Mushroom", 8416, 0, 22, 2, 0.533, "mushroom_8416"),
    PaperSet("PenDigits", 7494, 16, 0, 10, 0.104, "pendigits", 7494, "the training rows only, as in the paper"),
    PaperSet("Pima", 768, 8, 0, 2, 0.651, "pima_diabetes"),
    PaperSet("Satimage", 6435, 36, 0, 6, 0.238, "satimage"),
    PaperSet("Segmentation", 2310, 19, 0, 7, 0.143, "segment"),
    PaperSet("SickEuthyroid", 3163, 7, 18, 2, 0.907, "sick_euthyroid"),
    PaperSet("Sonar", 208, 60, 0, 2, 0.534, "sonar"),
    PaperSet("Spam", 4307, 57, 0, 2, 0.647, "spambase", note="the paper has fewer rows, with another share of spam"),
    PaperSet("Thyroid", 7200, 21, 0, 3, 0.926, "thyroid_ann"),
    PaperSet("TicTacToe", 958, 0, 9, 2, 0.653, "tic_tac_toe"),
    PaperSet("Vehicle", 846, 18, 0, 4, 0.258, "vehicle"),
    PaperSet("Waveform", 5000, 21, 0, 3, 0.339, "waveform21"),
    PaperSet("Wine", 178, 13, 0, 3, 0.399, "wine"),
    PaperSet("Yeast", 1484, 8, 1, 10, 0.312, "yeast", note="the paper counts the name of the sequence"),
)
"""Table 1."""

CHALLENGE = (
    PaperSet("Arcene", 200, 10000, 0, 2, 0.560, "arcene"),
    PaperSet("Dexter", 600, 20000, 0, 2, 0.500, "dexter_train", note="the training rows only: half of the paper's"),
    PaperSet("Dorothea", 1150, 100000, 0, 2, 0.903, "dorothea"),
    PaperSet("Gisette", 7000, 5000, 0, 2, 0.500),
    PaperSet("Madelon", 2600, 500, 0, 2, 0.500, "madelon"),
    PaperSet("Ada", 4147, 48, 0, 2, 0.752, "ada"),
    PaperSet("Gina", 3153, 970, 0, 2, 0.508),
    PaperSet("Hiva", 3845, 1617, 0, 2, 0.965),
    PaperSet("Nova", 1754, 16969, 0, 2, 0.716),
    PaperSet("Sylva", 13086, 216, 0, 2, 0.938),
)
"""Table 2."""

BY_OURS = {one.ours: one for one in (*UCI, *CHALLENGE) if one.ours is not None}
"""The paper's data sets by the names of ours."""

QUICK = ("iris", "wine", "glass", "heart_statlog", "tic_tac_toe")
"""Small data sets for a trial."""
