"""Numbers and statements of sections 5 and 6 of Boulle (2007) about waveform, checked on splits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bayesieve_lab.boulle2007.data import MEASURES, REFERENCE
from bayesieve_lab.boulle2007.waveform import EXHAUSTIVE, PAPER_MAP, TOP, SplitResult
from bayesieve_lab.claims import Judged, often, predicted

PAPER_TOP = (5, 9, 10, 11, 12)
WHERE = "Sections 5 and 6"


@dataclass(frozen=True)
class Number:
    """A number that the paper reports, and the function that computes ours.

    Attributes
    ----------
    what : description of the number.
    paper : its value in the paper.
    ours : function of the results of a split that returns our value.
    digits : number of decimals.
    unlike : reason why the paper's number cannot be compared with ours; empty if it can.
    """

    what: str
    paper: float
    ours: Callable[[SplitResult], float]
    digits: int = 0
    unlike: str = ""

    def judged(self, splits: Sequence[SplitResult]) -> Judged:
        """Judge whether the paper's number, which is of a single split, lies in the prediction interval of our
        ``splits``.
        """
        values = [round(float(self.ours(split)), self.digits) for split in splits]
        check = predicted("splits", self.paper, values, "splits", f",.{self.digits}f")
        return Judged(WHERE, self.what, (check,), unlike=self.unlike)


@dataclass(frozen=True)
class Statement:
    """A statement of the paper.

    Attributes
    ----------
    what : the statement.
    holds : function of the results of a split that returns whether the statement is true.
    """

    what: str
    holds: Callable[[SplitResult], bool]

    def judged(self, splits: Sequence[SplitResult]) -> Judged:
        """Judge a statement by the number of splits in which it holds."""
        return Judged(WHERE, self.what, (often("splits", [self.holds(split) for split in splits], "yes", "splits"),))


def features_text(numbers: Iterable[int]) -> str:
    """Return features, given by their numbers, as text in which runs are joined.

    Examples
    --------
    >>> from bayesieve_lab.boulle2007.waveform_claims import features_text
    >>> features_text([5, 6, 9, 10, 11, 17])
    'V5, V6, V9–V11, V17'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    texts = [f"V{r[0]}–V{r[-1]}" if len(r) > 2 else ", ".join(f"V{k}" for k in r) for r in runs]
    return ", ".join(texts) or "none"


def _size(method: str) -> Callable[[SplitResult], float]:
    """Return a function from the results of a split to the number of features to which a method gives a positive
    weight.
    """
    return lambda split: len(split.selected(method))


def _times(rank: int) -> Callable[[SplitResult], float]:
    """Return a function from the results of a split to a power of ten.

    It is that by which the best subset is more probable than the one of the given rank (1 is best).
    """

    def power(split: SplitResult) -> float:
        """Return the power of ten for the results of one split."""
        top = split.posterior.top
        return top[min(rank, len(top)) - 1].below_best

    return power


def mean_size(split: SplitResult) -> float:
    """Return the mean number of features over the more probable half of all subsets, from the results of one split."""
    counts = split.posterior.sizes_of_better_half
    return float(np.average(np.arange(len(counts)), weights=counts))


def in_all_top(split: SplitResult) -> set[int]:
    """Return the features (numbers from 1) that are in every one of the most probable subsets of one split."""
    return set.intersection(*(set(model.features) for model in split.posterior.top))


def _moved(split: SplitResult) -> np.ndarray:
    """Return how far the feature weights of SNB(BMA) and SNB(MAP) differ on one split: absolute differences,
    (n_features,).
    """
    return np.abs(np.subtract(split.weights["SNB(BMA)"], split.weights["SNB(MAP)"]))


def _cma(split: SplitResult) -> np.ndarray:
    """Return the weights that SNB(CMA) gives to the informative features on one split, (n_informative,)."""
    return np.array(split.weights[REFERENCE])[np.array(split.informative) - 1]


def peaks_of(weights: Sequence[float]) -> list[int]:
    """Return the features (numbers from 1) whose weights are larger than those of both neighbours; ``weights`` has all
    features.
    """
    around = np.concatenate([[0.0], weights, [0.0]])
    higher = (around[1:-1] > around[:-2]) & (around[1:-1] > around[2:])
    return (np.flatnonzero(higher) + 1).tolist()


def _is_best(split: SplitResult, method: str, measures: Iterable[str], others: Iterable[str]) -> bool:
    """Return whether, on one split, a method has a higher value than each of the ``others`` by each of the
    ``measures``.
    """
    mine = split.measures[method]
    return all(mine[m] > split.measures[other][m] for m in measures for other in others if other != method)


def _dominated(split: SplitResult) -> int:
    """Return how many methods of figure 4 have lower values than another method by all of ACC, AUC and CR, on one
    split.
    """
    methods = [method for method in EXHAUSTIVE if method != REFERENCE]
    return sum(
        any(other != method and _is_best(split, other, MEASURES, [method]) for other in methods) for method in methods
    )


_OWN_SPLIT = "The subset is the most probable one of the paper's split, which therefore selects all of it at rank 1."

NUMBERS = (
    Number("Informative features", 19, lambda split: len(split.informative)),
    Number("Features selected by SNB(ACC)", 12, _size("SNB(ACC)")),
    Number("Features selected by SNB(AUC)", 18, _size("SNB(AUC)")),
    Number("Features selected by SNB(MAP)", 8, _size("SNB(MAP)")),
    Number(
        f"Of the paper's MAP features ({features_text(PAPER_MAP)}), selected by SNB(MAP)",
        8,
        lambda split: len({*PAPER_MAP} & {*split.selected("SNB(MAP)")}),
        unlike=_OWN_SPLIT,
    ),
    Number(
        "Largest difference between the weights of SNB(BMA) and SNB(MAP)", 0.15, lambda split: _moved(split).max(), 2
    ),
    Number("Mean weight of SNB(CMA), informative features", 0.5, lambda split: _cma(split).mean(), 1),
    Number("MAP against the empty subset, power of ten", 1033, lambda s: s.posterior.empty_below_best),
    Number("MAP against the 3rd subset, power of ten", round(float(np.log10(40)), 1), _times(3), 1),
    Number("MAP against the 10th subset, power of ten", round(float(np.log10(4000)), 1), _times(10), 1),
    Number("Rank of the paper's MAP subset", 1, lambda split: split.posterior.paper_rank or np.nan, unlike=_OWN_SPLIT),
    Number("Mean size of the more probable half of the subsets", 10, mean_size),
    Number(f"Features in all of the {TOP} most probable subsets", 5, lambda split: len(in_all_top(split))),
)

STATEMENTS = (
    Statement(
        "SNB(MAP)'s features are among those of SNB(ACC) and SNB(AUC)",
        lambda s: {*s.selected("SNB(MAP)")} <= {*s.selected("SNB(ACC)")} & {*s.selected("SNB(AUC)")},
    ),
    Statement("SNB(ACC) is more accurate than NB", lambda s: _is_best(s, "SNB(ACC)", ["accuracy"], ["NB"])),
    Statement(
        "SNB(ACC) has a better compression rate than NB",
        lambda s: _is_best(s, "SNB(ACC)", ["compression_rate"], ["NB"]),
    ),
    Statement(
        "SNB(AUC) has the same AUC as NB (within 0.001)",
        lambda s: abs(s.measures["SNB(AUC)"]["auc"] - s.measures["NB"]["auc"]) <= 0.001,
    ),
    Statement(
        "SNB(MAP) and SNB(BMA) have better compression rates than NB, SNB(ACC) and SNB(AUC)",
        lambda s: all(_is_best(s, m, ["compression_rate"], EXHAUSTIVE[:3]) for m in ("SNB(MAP)", "SNB(BMA)")),
    ),
    Statement(
        "NB and SNB(ACC) have better ACC and AUC than SNB(MAP) and SNB(BMA)",
        lambda s: all(_is_best(s, m, ["accuracy", "auc"], ["SNB(MAP)", "SNB(BMA)"]) for m in ("NB", "SNB(ACC)")),
    ),
    Statement(
        "Almost all methods of figure 4 are Pareto optimal: one is dominated at most", lambda s: _dominated(s) <= 1
    ),
    Statement(
        "The weights of SNB(CMA) peak around V5, V11 and V17 (within a feature)",
        lambda s: all(any(abs(peak - at) <= 1 for peak in peaks_of(s.weights[REFERENCE])) for at in (5, 11, 17)),
    ),
    Statement("The empty subset is the least probable", lambda s: s.posterior.empty_is_last),
    Statement("SNB(CMA) gives V11 the largest weight", lambda s: int(np.argmax(s.weights[REFERENCE])) == 10),
    Statement(
        "SNB(CMA) gives every informative feature a positive weight",
        lambda s: s.selected(REFERENCE) == s.informative,
    ),
    Statement(
        "SNB(CMA) is the best of the paper's methods by ACC, AUC and ILF",
        lambda s: _is_best(s, REFERENCE, MEASURES, EXHAUSTIVE),
    ),
)


def judge_waveform(splits: Sequence[SplitResult]) -> tuple[Judged, ...]:
    """Judge every number and every statement of the paper.

    ``splits`` are the results of each split of the rows into training and test rows.
    """
    return tuple(one.judged(splits) for one in (*NUMBERS, *STATEMENTS))
