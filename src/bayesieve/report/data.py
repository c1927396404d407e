"""The contents of a report, as plain frozen data.

The classifier fills these in; `render_report` and `render_card` only draw them. Every field is a number, a text, a
boolean, None or a tuple of such, so that `json.dumps(dataclasses.asdict(data))` works. Numbers of rows are floats
because rows may carry weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bayesieve.statistics.metrics import Bin
from bayesieve.words import ShortRepr

if TYPE_CHECKING:
    from bayesieve.report.clusters_figure import ClusterDrawing
    from bayesieve.scorecard.edits import Edit


@dataclass(frozen=True, repr=False)
class LevelRow(ShortRepr):
    """One level (interval or group of values) of a feature.

    Attributes
    ----------
    label : the whole label; the report shortens long ones
    is_missing : true for a level that holds missing values
    count : training rows in the level (sum of their weights)
    share : `count` over all training rows, in [0, 1]
    class_counts : training rows of each class in the level
    class_probabilities : P(class | level) with the model's smoothing; sums to 1
    evidence : what the level adds to the log joint, centred over the classes, in nats
    counted : weight * log P(level | class), centred likewise, if the evidence was fitted to the rows instead
    """

    label: str
    is_missing: bool
    count: float
    share: float
    class_counts: tuple[float, ...]
    class_probabilities: tuple[float, ...]
    evidence: tuple[float, ...]
    counted: tuple[float, ...] | None = None


@dataclass(frozen=True)
class CurvePart:
    """A part of an interval: its `share` of the rows, and its `evidence` and that `counted` for its level, as in
    `LevelRow`.
    """

    share: float
    evidence: tuple[float, ...]
    counted: tuple[float, ...]


@dataclass(frozen=True)
class ValueRow:
    """A value whose evidence differs from that of its `group`: its training rows of the fit of the evidence (sum of
    their weights), and both evidences as in `LevelRow`.
    """

    label: str
    group: str
    count: float
    evidence: tuple[float, ...]
    of_group: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class CellGrid(ShortRepr):
    """The cells of a pair of columns, a line for each level of the first.

    Attributes
    ----------
    names : of both columns
    labels : of the levels of each
    levels : the level of the pair that each cell belongs to; None without training rows
    counts : training rows of each cell (sum of their weights)
    """

    names: tuple[str, str]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    levels: tuple[tuple[int | None, ...], ...]
    counts: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, repr=False)
class FeatureSummary(ShortRepr):
    """One feature of the table, selected or not.

    Attributes
    ----------
    name : str
    kind : ``"numeric"``, ``"categorical"`` or ``"pair"``
    type : ``"number"``, ``"boolean"``, ``"text"``, ``"category"``, ``"date"``, ``"datetime"``, ``"duration"``,
        ``"time"``, ``"mixed"`` or ``"pair"``
    weight : in [0, 1]; a feature of weight 0 is used only if its evidence within levels was fitted
    level_score : 1 - cost / null cost of its levels, in [0, 1)
    n_levels : int
    importance : share of the model's evidence that comes from the feature, in [0, 1]: mean absolute contribution,
        summing to 1 over the features
    note : one sentence that a reader should not miss, for example why the feature has a single level
    levels : tuple of LevelRow
    curve : tuple of CurvePart, in the order of the values; empty if levels are not divided
    grid : the cells of a pair of columns
    values : tuple of ValueRow, those first that differ most on the whole from their group
    monotone : 1 if the evidence of the second class never falls, -1 if it never rises, 0 otherwise
    monotone_class : the second class, if ``monotone`` is not 0
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
    curve: tuple[CurvePart, ...] = ()
    grid: CellGrid | None = None
    values: tuple[ValueRow, ...] = ()
    monotone: int = 0
    monotone_class: str = ""

    @property
    def selected(self) -> bool:
        """Whether predictions depend on the feature."""
        return self.importance > 0


@dataclass(frozen=True)
class PathStep:
    """One recorded move of the search: the subset after `move`, its size, its criterion on the rows that guide the
    search and its value on the validation rows (None without).
    """

    start: int
    step: int
    move: Literal["start", "add", "drop", "again"]
    feature: str | None
    n_features: int
    criterion: float
    validation: float | None = None


@dataclass(frozen=True, repr=False)
class SearchSummary(ShortRepr):
    """The search for the weights.

    Attributes
    ----------
    name : the selector, for example ``"compression"``
    description : one sentence on the method, with capital letter and full stop
    n_models : distinct models evaluated
    n_starts : int
    seconds : float
    null_criterion : criterion of the model without features
    best_criterion : float
    complete : false when the search was interrupted or ran out of time
    path : tuple of PathStep
    criterion_name : the criterion that guides the search, for example ``"error_probability"``
    lower_is_better : bool
    validation_name : the measure on the validation rows; None without such rows
    validation_lower_is_better : bool
    validation_total : number (or weight) of the validation rows
    chosen : start and step at which the path met the selected subset; None if weights are read from all models
    measured : where the criterion was measured, and which rows the levels were learnt from, for example ``"on 10
        folds, levels learnt from the rows of the other folds"``
    clusters : the tree of dependent features and the candidates drawn from it, if the search began with one
    ended : the reason for which the search ended, for example ``"after 20 rounds"``, or None
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
    clusters: ClusterDrawing | None = None
    ended: str | None = None


@dataclass(frozen=True, repr=False)
class Performance(ShortRepr):
    """The performance of the model, and the rows on which it was measured.

    Attributes
    ----------
    protocol : one sentence on the measurement and its rows
    n_rows : rows predicted
    accuracy, auc, log_loss, compression_rate, brier : `log_loss` in nats per row; `compression_rate` = 1 - log_loss
        / class_entropy; ``brier`` as scikit-learn's `brier_score_loss`
    majority_accuracy : accuracy of always answering the most frequent class
    class_entropy : log loss of always answering the class frequencies, in nats per row
    reliability : label of a class and its bins, class after class
    confusion : ``confusion[true class][predicted class]``
    roc : label of a class and its points (false positive rate, true positive rate), from (0, 0) to (1, 1), class after
        class
    measured : `protocol` in a few words, which stand with every figure
    later : the same figures on the last rows, by a model of earlier ones, if the order of the rows matters
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
    reliability: tuple[tuple[str, tuple[Bin, ...]], ...]
    confusion: tuple[tuple[int, ...], ...] | None
    roc: tuple[tuple[str, tuple[tuple[float, float], ...]], ...]
    measured: str = ""
    later: Performance | None = None


@dataclass(frozen=True)
class DecisionLine:
    """A decision, the rows for which it is taken (of each true class), what it brings there, and what it would bring
    if it were taken for all rows.
    """

    name: str
    class_counts: tuple[float, ...]
    benefit: float
    always: float


@dataclass(frozen=True)
class ThresholdStep:
    """The second of two decisions, taken for the `share` of the rows whose score is at least `threshold`, in the unit
    of the score: the rows of each true class among them, and the benefit over all rows with its bootstrap band.
    """

    share: float
    threshold: float
    class_counts: tuple[float, ...]
    benefit: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class DecisionSummary(ShortRepr):
    """The benefit of decisions in rows whose class is known.

    Attributes
    ----------
    lines : one for each decision
    score : the thresholds in words, such as ``"probability of yes"``
    steps : from nobody to everybody; empty unless there are two decisions
    chosen : position of the step closest to the decisions of largest expected benefit
    measured : the measurement in a few words
    """

    lines: tuple[DecisionLine, ...]
    score: str
    steps: tuple[ThresholdStep, ...]
    chosen: int
    measured: str


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
    title : why this row is shown, for example ``"The most confident mistake"``
    row : number of the row in the table it comes from
    truth : its class, or None
    predicted : str
    probabilities : tuple of float, one per class
    intervals : (low, high) of each, which hold the true probability in 90 % of cases
    prior : log prior, nats
    contributions : tuple of Contribution
    """

    title: str
    row: int
    truth: str | None
    predicted: str
    probabilities: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]
    prior: tuple[float, ...]
    contributions: tuple[Contribution, ...]


@dataclass(frozen=True, repr=False)
class ReportData(ShortRepr):
    """Everything in a report.

    Attributes
    ----------
    title : str
    target : name of the target column
    n_rows, n_columns : size of the training table, the target left out
    classes : tuple of str
    class_counts : training rows of each class
    headline : A summary in one paragraph
    features : most important first
    search : SearchSummary or None
    performance : Performance or None
    explained : tuple of ExplainedRow
    warnings : one sentence each
    settings : tuple of (name, value)
    version : version of bayesieve
    created : date and time, ready to print
    decisions : DecisionSummary or None
    edits : tuple of Edit, those made by hand
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
    decisions: DecisionSummary | None = None
    edits: tuple[Edit, ...] = ()
