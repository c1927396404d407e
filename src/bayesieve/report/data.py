"""The contents of a report, as plain frozen data.

The classifier fills these in; `render_report` and `render_card` only draw them. Fields are numbers, texts, booleans,
None or tuples of such. Numbers of rows are floats because rows may carry weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from bayesieve.statistics.metrics import Bin
from bayesieve.words import ShortRepr

if TYPE_CHECKING:
    from bayesieve.scorecard.edits import Edit


_MOST_TABLES = 1e6  # beyond which more digits say nothing

Estimate = tuple[float, float, float]
Segmented = tuple[str, float, float | None, Bin, Estimate, Estimate]


@dataclass(frozen=True, repr=False)
class CellRow(ShortRepr):
    """One cell of a feature: an interval, a group of values, or a part of one that contributions are told apart by.

    Attributes
    ----------
    label : the whole label
    level : label of the level that the cell is part of; the same if levels are not divided
    low, high : ends of an interval, exclusive and inclusive; None for anything else and beyond the outermost cuts
    is_missing : true for the cell of missing values
    rows, counts : training rows of the cell, in all and of each class (sums of their weights)
    evidence : what counting the rows of the level says of each class: log P(level | class), centred over the classes
    contributions : what the cell adds to the log joint of each class, in nats
    errors : standard errors of the contributions
    """

    label: str
    level: str
    low: float | None
    high: float | None
    is_missing: bool
    rows: float
    counts: tuple[float, ...]
    evidence: tuple[float, ...]
    contributions: tuple[float, ...]
    errors: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class CellGrid(ShortRepr):
    """The cells of a pair of columns, a line for each level of the first.

    Attributes
    ----------
    names : of both columns
    labels : of the levels of each
    levels : the cell of the pair at each place; None without training rows
    counts : training rows of each place (sum of their weights)
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
    cells : tuple of CellRow
    unseen : what a value that is in no cell adds to each class, in nats
    grid : the cells of a pair of columns
    monotone : 1 if the evidence of the positive class never falls, -1 if it never rises, 0 otherwise
    columns : of the table that it is made of
    position : of the feature in the scorecard
    variances : of its cells, then of unseen values, for intervals: what each number shares with other features,
        (n_cells + 1, n_numbers, n_factors), and the variance of the rest, (n_cells + 1, n_numbers)
    others : by cell, unseen values last, the rows of each class among other rows than those of training; None without
        such rows
    gain : mean nats by which the feature lowers the log loss of rows that its model did not learn from; None without
        such rows
    log_bayes : log Bayes factor of the feature against no effect, in nats; None if it was not tested
    caution : one sentence about cells whose large contributions few rows support, or None
    """

    name: str
    kind: str
    type: str
    weight: float
    level_score: float
    n_levels: int
    importance: float
    note: str | None
    cells: tuple[CellRow, ...]
    unseen: tuple[float, ...] = ()
    grid: CellGrid | None = None
    monotone: int = 0
    columns: tuple[str, ...] = ()
    position: int = 0
    variances: tuple[Any, Any] | None = None
    others: tuple[tuple[float, ...], ...] | None = None
    gain: float | None = None
    log_bayes: float | None = None
    caution: str | None = None

    @property
    def selected(self) -> bool:
        """Whether predictions depend on the feature."""
        return self.importance > 0

    @property
    def chance_tables(self) -> float | None:
        """Tables at most one of which gives a column without effect as high a Bayes factor, at most a million."""
        return None if self.log_bayes is None else min(math.exp(min(max(self.log_bayes, 0.0), 99.0)), _MOST_TABLES)

    @property
    def by_chance(self) -> str:
        """`chance_tables` in two digits, such as "40" or "over 1,000,000"; empty if the feature was not tested."""
        tables = self.chance_tables
        if tables is None:
            return ""
        digits = f"{float(f'{tables:.2g}'):,.0f}"
        return "under 2" if tables < 2.0 else f"over {digits}" if tables == _MOST_TABLES else digits


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
    clusters : the selector, if the search began with the tree of dependent features
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
    clusters: Any = None
    ended: str | None = None


@dataclass(frozen=True, repr=False)
class Sample(ShortRepr):
    """Rows that a model was measured on, for one column of the overview.

    Attributes
    ----------
    name : such as ``"Folds"``
    measured : how, in a few words
    n_rows, events : rows, and those of the positive class (sums of weights); no events of more than two classes
    measures : name of a measure, and its value with the ends of its 95 % interval
    """

    name: str
    measured: str
    n_rows: float
    events: float | None
    measures: tuple[tuple[str, Estimate], ...]


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
    thresholds : of two classes, (threshold, rows of the positive class, other rows) with at least this probability,
        from the highest threshold to 0
    segments : by feature, column or period, for each of its levels with rows: its label, its share of the rows and of
        the training rows (None if unknown), how well the positive class is predicted there, or of more classes the
        predicted one, and AUC and log loss with their intervals
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
    thresholds: tuple[tuple[float, float, float], ...] = ()
    segments: tuple[tuple[str, tuple[Segmented, ...]], ...] = ()


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
    gains : benefits of a row of the positive class and of another if selected, then if not, or None if they depend on
        rows or there are not two classes and two decisions
    """

    lines: tuple[DecisionLine, ...]
    score: str
    steps: tuple[ThresholdStep, ...]
    chosen: int
    measured: str
    gains: tuple[float, float, float, float] | None = None


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
    intercept : what every row starts from, for each class, in nats
    program : the model as JavaScript, which works out the scores of rows typed in; empty if it cannot be written so
    positive : position of the class that curves and texts are about, of two
    facts : what a validator asks first: (name, value)
    samples : the rows that the model was measured on
    stability : share of the models of folds that use each column, by name
    dependence : columns and the dependence of each on each, from 0 to 1
    factors : what the error of the intercept shares with those of features, (n_numbers, n_factors)
    """

    title: str
    target: str
    n_rows: int
    n_columns: int
    classes: tuple[str, ...]
    class_counts: tuple[float, ...]
    headline: str = ""
    features: tuple[FeatureSummary, ...] = ()
    search: SearchSummary | None = None
    performance: Performance | None = None
    explained: tuple[ExplainedRow, ...] = ()
    warnings: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    version: str = ""
    created: str = ""
    decisions: DecisionSummary | None = None
    edits: tuple[Edit, ...] = ()
    intercept: tuple[float, ...] = ()
    positive: int = 1
    program: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    samples: tuple[Sample, ...] = ()
    stability: Mapping[str, float] = field(default_factory=dict)
    dependence: tuple[tuple[str, ...], tuple[tuple[float, ...], ...]] | None = None
    factors: Any = ()
