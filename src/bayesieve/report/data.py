"""The contents of a report, as plain frozen data.

The classifier fills these in; `render_report` and `render_card` only draw them. Every field is a number, a text, a
boolean, None or a tuple of such, so that `json.dumps(dataclasses.asdict(data))` works. Numbers of rows are floats
because rows may carry weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bayesieve.short_repr import ShortRepr


@dataclass(frozen=True, repr=False)
class LevelRow(ShortRepr):
    """One level (interval or group of values) of a feature.

    Attributes
    ----------
    label : str
        The whole human label; the report shortens it where it is long.
    is_missing : bool
        True for a level that holds missing values.
    count : float
        Training rows in the level (sum of their weights).
    share : float
        `count` over all training rows, in [0, 1].
    class_counts : tuple of float, one per class
        Training rows of each class in the level.
    class_probabilities : tuple of float, one per class
        P(class | level) with the model's smoothing; sums to 1.
    evidence : tuple of float, one per class
        weight * log P(level | class), centred over the classes, in nats.
    """

    label: str
    is_missing: bool
    count: float
    share: float
    class_counts: tuple[float, ...]
    class_probabilities: tuple[float, ...]
    evidence: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class FeatureSummary(ShortRepr):
    """One feature of the table, selected or not.

    Attributes
    ----------
    name : str
    kind : str
        ``"numeric"`` or ``"categorical"``.
    type : str
        ``"number"``, ``"boolean"``, ``"text"``, ``"category"``, ``"date"``, ``"datetime"``, ``"duration"``,
        ``"time"`` or ``"mixed"``.
    weight : float
        In [0, 1]; 0 means that the feature is not used.
    level_score : float
        1 - cost / null cost of its levels, in [0, 1).
    n_levels : int
    importance : float
        Share of the model's evidence that comes from the feature, in [0, 1]: mean absolute contribution, summing to 1
        over the features.
    note : str or None
        One sentence that a reader should not miss, for example why the feature has a single level.
    levels : tuple of LevelRow
    """

    name: str
    kind: str
    type: str
    weight: float
    level_score: float
    n_levels: int
    importance: float
    note: str | None
    levels: tuple[LevelRow, ...]


@dataclass(frozen=True)
class PathStep:
    """One recorded move of the search: the subset after `move`, its size, its criterion on the rows that guide the
    search and its value on the validation rows (None without).
    """

    start: int
    step: int
    move: Literal["start", "add", "drop"]
    feature: str | None
    n_features: int
    criterion: float
    validation: float | None = None


@dataclass(frozen=True, repr=False)
class SearchSummary(ShortRepr):
    """The search for the weights.

    Attributes
    ----------
    name : str
        The selector, for example ``"compression"``.
    description : str
        One sentence on the method, with capital letter and full stop.
    n_models : int
        Distinct models evaluated.
    n_starts : int
    seconds : float
    null_criterion : float
        Criterion of the model without features.
    best_criterion : float
    complete : bool
        False when the search was interrupted or ran out of time.
    path : tuple of PathStep
    criterion_name : str
        The criterion that guides the search, for example ``"error_probability"``.
    lower_is_better : bool
    validation_name : str or None
        The measure on the validation rows; None without such rows.
    validation_lower_is_better : bool
    validation_total : float or None
        Number (or weight) of the validation rows.
    chosen : (start, step) or None
        Where on the path the selected subset was met; None where weights are read from all models together.
    measured : str or None
        Where the criterion was measured, and which rows the levels were learnt from, for example ``"on 10 folds, levels
        learnt from the rows of the other folds"``.
    """

    name: str
    description: str
    n_models: int
    n_starts: int
    seconds: float
    null_criterion: float
    best_criterion: float
    complete: bool
    path: tuple[PathStep, ...]
    criterion_name: str = "map"
    lower_is_better: bool = True
    validation_name: str | None = None
    validation_lower_is_better: bool = True
    validation_total: float | None = None
    chosen: tuple[int, int] | None = None
    measured: str | None = None


@dataclass(frozen=True)
class ReliabilityBin:
    """Rows whose predicted probability of a class fell in one bin.

    Attributes
    ----------
    predicted : float
        Mean predicted probability.
    observed : float
        Share of the rows that are of the class.
    count : int
    """

    predicted: float
    observed: float
    count: int


@dataclass(frozen=True, repr=False)
class Performance(ShortRepr):
    """The performance of the model, and the rows on which it was measured.

    Attributes
    ----------
    protocol : str
        One sentence on the measurement and its rows.
    n_rows : int
        Rows predicted.
    accuracy, auc, log_loss, compression_rate, brier : float
        `log_loss` in nats per row; `compression_rate` = 1 - log_loss / class_entropy.
    majority_accuracy : float
        Accuracy of always answering the most frequent class.
    class_entropy : float
        Log loss of always answering the class frequencies, in nats per row.
    reliability : tuple of (class label, bins)
    confusion : tuple of rows of int, or None
        ``confusion[true class][predicted class]``.
    roc : tuple of (class label, points)
        Points are (false positive rate, true positive rate), from (0, 0) to (1, 1).
    measured : str
        `protocol` in a few words, which stand with every figure.
    """

    protocol: str
    n_rows: int
    accuracy: float
    auc: float
    log_loss: float
    compression_rate: float
    brier: float
    majority_accuracy: float
    class_entropy: float
    reliability: tuple[tuple[str, tuple[ReliabilityBin, ...]], ...]
    confusion: tuple[tuple[int, ...], ...] | None
    roc: tuple[tuple[str, tuple[tuple[float, float], ...]], ...]
    measured: str = ""


@dataclass(frozen=True, repr=False)
class Contribution(ShortRepr):
    """The contribution of a feature to the log joint of each class for one row, in nats."""

    feature: str
    value: str
    level: str
    weight: float
    contributions: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class ExplainedRow(ShortRepr):
    """Explanation of one row: log prior plus contributions give the log joint of each class.

    Attributes
    ----------
    title : str
        Why this row is shown, for example ``"The most confident mistake"``.
    row : int
        Number of the row in the table it comes from.
    truth : str or None
        Its class, where known.
    predicted : str
    probabilities : tuple of float, one per class
    prior : tuple of float, one per class
        Log prior, nats.
    contributions : tuple of Contribution
    """

    title: str
    row: int
    truth: str | None
    predicted: str
    probabilities: tuple[float, ...]
    prior: tuple[float, ...]
    contributions: tuple[Contribution, ...]


@dataclass(frozen=True, repr=False)
class ReportData(ShortRepr):
    """Everything in a report.

    Attributes
    ----------
    title : str
    target : str
        Name of the target column.
    n_rows, n_columns : int
        Size of the training table, the target left out.
    classes : tuple of str
    class_counts : tuple of float
        Training rows of each class.
    headline : str
        A summary in one paragraph.
    features : tuple of FeatureSummary
        Heaviest first.
    search : SearchSummary or None
    performance : Performance or None
    explained : tuple of ExplainedRow
    warnings : tuple of str
        One sentence each.
    settings : tuple of (name, value)
    version : str
        Version of bayesieve.
    created : str
        Date and time, ready to print.
    """

    title: str
    target: str
    n_rows: int
    n_columns: int
    classes: tuple[str, ...]
    class_counts: tuple[float, ...]
    headline: str
    features: tuple[FeatureSummary, ...]
    search: SearchSummary | None
    performance: Performance | None
    explained: tuple[ExplainedRow, ...]
    warnings: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    version: str
    created: str
