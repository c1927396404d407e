"""How well a fitted model predicts rows, itself or models like it on folds of the rows; and what decisions bring."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.base import clone

from bayesieve.classifier.predicting import predicted
from bayesieve.counts import CodedTable, ContingencyCounts
from bayesieve.decision import BenefitClassifier, profit_curve
from bayesieve.decision.benefits import Benefits, decision_names
from bayesieve.discretize import TableEncoder
from bayesieve.discretize.repeats import REPEATED, repeats_of
from bayesieve.evaluation.evaluating import Segment
from bayesieve.evaluation.splits import log_proba_of_splits, time_splits
from bayesieve.report import data as plain
from bayesieve.scorecard.reasons import columns_in_use
from bayesieve.scorecard.record import UNSEEN
from bayesieve.scorecard.wording import Wording
from bayesieve.selection.row_splits import RowSplits, is_number_of_folds, is_splitter, row_splits
from bayesieve.statistics import metrics
from bayesieve.table import Table, Target, as_sample_weight, as_target
from bayesieve.table.frames import take_rows
from bayesieve.table.levels import TableLevels, columns_of
from bayesieve.table.target import normalized_weights
from bayesieve.table.values import canonical_text
from bayesieve.words import plural

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB

TIME = "time"
"""As ``cv``: blocks of rows in the order of time."""
_N_STEPS = 101
_N_FOLDS = 5  # unless ``cv`` gives another number
_MOST_SEGMENTED, _MOST_SEGMENTS = 60, 50  # features, and levels of one, by which rows are told apart
_SAME = 1e-9  # sums of weights in another order differ by rounding


class Unmeasured(Exception):
    """Why rows give no figures, though the call is valid."""


@dataclass(frozen=True)
class JudgedRows:
    """Rows to judge a model by, checked, coded by levels, and with their log joint probabilities; ``codes`` are their
    classes as positions in its classes.
    """

    X: Any
    labels: np.ndarray
    codes: np.ndarray
    weights: np.ndarray | None
    coded: CodedTable
    joint: np.ndarray
    benefits: np.ndarray | None = None  # of decisions, for each row
    positive: int = 1  # the class that curves are about, of two
    moments: np.ndarray | None = None  # that order the rows; None: they are in order
    groups: tuple[tuple[str, np.ndarray, tuple[str, ...]], ...] = ()  # further segments: group of each row, and labels
    copies: np.ndarray | None = None  # distinct row of each row, if rows are copies

    @property
    def n_rows(self) -> int:
        return self.codes.size

    def take(self, rows: np.ndarray) -> JudgedRows:
        """Return these rows only, by position."""
        names = ("labels", "codes", "weights", "benefits", "joint", "moments", "copies")
        of_rows = {name: getattr(self, name) for name in names}
        taken: dict[str, Any] = {name: None if values is None else values[rows] for name, values in of_rows.items()}
        taken["groups"] = tuple((name, own[rows], labels) for name, own, labels in self.groups)
        return replace(self, X=take_rows(self.X, rows), coded=self.coded.take(rows), **taken)

    def counts(self, classes: np.ndarray, *, weighted: bool) -> ContingencyCounts:
        """Levels by classes, as a model counts its training rows."""
        codes = self.codes.astype(np.min_scalar_type(classes.size))
        weights = self.weights if weighted else None
        return self.coded.with_rows(class_codes=codes, classes=classes, weights=weights).counts


@dataclass(frozen=True)
class MeasuredRows:
    """Rows, their predicted probabilities, and the figures that follow; ``columns`` are those in use by the models of
    each fold, ``gains`` the mean nats by which each feature lowers the log loss of rows that its model did not learn
    from, by name.
    """

    rows: JudgedRows
    probability: np.ndarray
    performance: plain.Performance
    samples: tuple[plain.Sample, ...]
    columns: tuple[frozenset[str], ...] = ()
    gains: Mapping[str, float] | None = None
    trained_on: bool = False


def known_labels(
    model: SelectiveNB, table: Table, y: Any, sample_weight: Any
) -> tuple[Target, np.ndarray, np.ndarray | None]:
    """The classes of the rows of a table, their positions among the model's, and the weights of the rows; ValueError
    as `judged_rows`.
    """
    target = as_target(y)
    if table.n_rows != target.codes.size:
        raise ValueError(f"X has {table.n_rows:,} rows but y has {target.codes.size:,} labels.")
    weights = as_sample_weight(sample_weight, table.n_rows)
    if model.normalize and weights is not None:
        weights = normalized_weights(weights)
    target = target.counted(weights)
    positions = {canonical_text(label): j for j, label in enumerate(model.classes_.tolist())}  # files may hold texts
    labels = target.classes.tolist()
    texts = [canonical_text(label) for label in labels]
    unknown = [label for label, text in zip(labels, texts, strict=True) if text not in positions]
    if unknown:
        raise ValueError(f"y holds the class {unknown[0]!r} that the model does not know; leave its rows out.")
    at = np.array([positions[text] for text in texts], dtype=np.int64)
    return replace(target, classes=model.classes_[at]), at[target.codes], weights


def judged_rows(model: SelectiveNB, X: Any, y: Any, sample_weight: Any = None) -> JudgedRows:
    """Read rows with their classes and weights.

    ValueError if there are not as many labels or weights as rows, or labels that the model does not know.
    """
    table = model.encoder_.read(X, owner=model)
    target, codes, weights = known_labels(model, table, y, sample_weight)
    return JudgedRows(
        X,
        target.classes[target.codes],
        codes,
        weights,
        model.encoder_.transform_coded(table),
        predicted(model, X),
    )


def are_training_rows(model: SelectiveNB, rows: JudgedRows) -> bool:
    """Whether the model was trained on these rows, in whatever order.

    The counts of the model, every level of every feature by class, are a fingerprint of its training rows; of a model
    that learnt from part of them, no count exceeds theirs. Surfaces, whose counts may be of a sample, are left out. The
    counts say nothing if no feature has two levels, and then nothing but the shares of the classes was learnt.
    """
    levels = TableLevels.of(model.encoder_.levels_)
    estimated = {k for k, pair in enumerate(levels.pairs, levels.n_columns) if pair.level_score == 0}
    cut = {edit.feature for edit in model.edits_ if edit.what == "cut"}
    estimated |= {k for k, name in enumerate(levels.names) if name in cut}
    trained = {k: count for k, count in enumerate(np.asarray(level.counts) for level in levels) if k not in estimated}
    part = model.selector_.learns_from_part
    if all(len(count) < 2 for count in trained.values()) or (part and rows.n_rows != model.n_rows_):
        return False
    if part and rows.weights is None:
        sizes = np.bincount(rows.codes, minlength=model.classes_.size).tolist()
        n_learnt = [*map(model.selector_.n_to_learn, sizes)]
        if not np.array_equal(n_learnt, model.scorecard_.class_counts):
            return False
    for weighted in (True, False) if rows.weights is not None else (False,):
        counts = rows.counts(model.classes_, weighted=weighted)
        pairs = [(counts.class_counts, model.scorecard_.class_counts)]
        pairs += [(counts.feature(k), count) for k, count in trained.items()]
        if all(np.allclose(np.minimum(new, old) if part else new, old, rtol=_SAME, atol=_SAME) for new, old in pairs):
            return True
    return False


def measure(model: SelectiveNB, rows: JudgedRows, cv: Any, held_out: bool) -> MeasuredRows | None:
    """Figures of this model on the rows, or of models like it on folds of them; None if ``cv`` is 0.

    ValueError if ``cv`` cannot split the rows; Unmeasured if there are too few rows, or the models of some folds
    cannot be fitted.
    """
    if cv is not None and held_out:
        raise ValueError("held_out=True measures this very model, cv= models of folds; give one of them.")
    if is_number_of_folds(cv) and cv == 0:
        return None
    trained_on = are_training_rows(model, rows)
    if not trained_on and (distinct := _counted_once(model, rows)) is not None:
        rows, trained_on = distinct, True
    if held_out or (cv is None and not trained_on):
        return replace(_by_this_model(model, rows, trained_on, held_out), trained_on=trained_on)
    measured = replace(_of_folds(model, rows, cv, trained_on), trained_on=trained_on)
    if trained_on:
        _, few_words = _of_this_model(model, rows, trained_on, held_out)
        own = _sample(model, rows, log_softmax(rows.joint, axis=1), "Training rows", few_words)
        measured = replace(measured, samples=(own, *measured.samples))
    is_informative = rows.moments is not None or any(caution.kind == "order" for caution in model.cautions_)
    if is_informative and (cv is None or is_number_of_folds(cv)):
        try:
            later = _of_folds(model, rows, TIME, trained_on, last=True)
        except (Unmeasured, ValueError):  # all rows are of one time
            return measured
        performance = replace(measured.performance, later=later.performance)
        return replace(measured, performance=performance, samples=(*measured.samples, *later.samples))
    return measured


def _counted_once(model: SelectiveNB, rows: JudgedRows) -> JudgedRows | None:
    """The rows with the weights by which the fit counted copies once, if these are its training rows."""
    if not any(caution.kind == REPEATED for caution in model.cautions_):
        return None
    target = Target(rows.codes, model.classes_)
    repeats = repeats_of(model.encoder_.read(rows.X, owner=model), target, rows.weights, model.n_jobs)
    if repeats is None:
        return None
    distinct = replace(rows, weights=repeats.weights, copies=None if repeats.is_whole else repeats.groups)
    return distinct if are_training_rows(model, distinct) else None


def _splits_of_copies(groups: np.ndarray, n_folds: int) -> RowSplits:
    """Folds of rows, shuffled, with all copies of a row in one of them."""
    fold = np.random.default_rng(0).permutation(int(groups.max()) + 1)[groups] % n_folds
    return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(n_folds)]


def _by_this_model(model: SelectiveNB, rows: JudgedRows, trained_on: bool, held_out: bool) -> MeasuredRows:
    name = "Training rows" if trained_on else "Test rows" if held_out else "These rows"
    words = _of_this_model(model, rows, trained_on, held_out)
    log_proba, probability = log_softmax(rows.joint, axis=1), softmax(rows.joint, axis=1)
    figures = _performance(model, rows, log_proba, probability, *words, name)
    if trained_on:
        return figures
    total = rows.n_rows if rows.weights is None else rows.weights.sum()
    gains = loss_without_features(model, rows.X, rows.labels, rows.weights)
    return replace(figures, gains={name: gain / total for name, gain in gains.items()})


def _of_this_model(model: SelectiveNB, rows: JudgedRows, trained_on: bool, held_out: bool) -> tuple[str, str]:
    """How this very model was measured, as a sentence, and in a few words."""
    n_rows = f"{rows.n_rows:,} rows"
    if trained_on:
        return (
            "This very model, measured on the rows that it was trained on: it predicts other rows less well.",
            f"this model on its own {rows.n_rows:,} training rows",
        )
    if held_out:
        return "Measured on held-out rows that the model was not trained on.", f"this model on {n_rows} held out"
    caution = "; the figures hold for new rows if it was trained on none of these."
    counts = model.scorecard_.class_counts
    repeated = counts.sum() != model.n_rows_ and not model.selector_.learns_from_part
    weighted = repeated or bool(np.any(counts != np.rint(counts)))
    if weighted and rows.weights is None and rows.n_rows == model.n_rows_:
        caution = (
            ". It was trained on as many rows with weights: if these are the same rows, pass their weights "
            "(sample_weight), too, and the figures come from cross-validation."
        )
    return f"This very model, measured on {n_rows}{caution}", f"this model on {n_rows}"


def _of_folds(model: SelectiveNB, rows: JudgedRows, cv: Any, trained_on: bool, last: bool = False) -> MeasuredRows:
    """Figures on folds; with ``last`` only the last one."""
    in_time = isinstance(cv, str) and cv == TIME
    if rows.weights is not None and not rows.weights.all() and (cv is None or in_time or is_number_of_folds(cv)):
        rows = rows.take(np.flatnonzero(rows.weights))  # rows of weight 0 do not count, also not in folds
    largest = int(np.bincount(rows.codes).max())
    if cv is None and largest < 2:
        raise Unmeasured("cross-validation needs at least two rows of some class")
    cv = min(_N_FOLDS, largest) if cv is None else cv
    if in_time:
        splits = time_splits(np.arange(rows.n_rows) if rows.moments is None else rows.moments)[-1 if last else 0 :]
    else:
        joined = rows.copies if is_number_of_folds(cv) else None
        splits = row_splits(cv, rows.labels) if joined is None else _splits_of_copies(joined, int(cv))
    if np.unique(rows.codes).size != model.classes_.size:
        if not trained_on:
            needed = "cross-validation needs the training table and its target"
            raise ValueError(f"The classes of y are not those of the model; {needed}.")
        raise Unmeasured("a class has no row of any weight")
    what = f"the {rows.n_rows:,} training rows" if trained_on else f"{rows.n_rows:,} rows"
    words, measured = _in_words(cv, splits, what, rows.n_rows)
    try:
        parts, columns, gains = _predicted_by_others(model, rows, splits)
    except (ValueError, ArithmeticError, IndexError) as error:
        raise Unmeasured(f"a model of the other folds fails ({str(error).rstrip('.')})") from error
    tested = np.concatenate([test for _, test in splits])
    order = np.argsort(tested, kind="stable")
    log_proba, n_tested = np.concatenate(parts)[order], np.unique(tested).size
    if not tested.size == n_tested == rows.n_rows:
        rows = rows.take(tested[order])
    words += "" if trained_on else ", none by this very model"
    words += " and without the edits made by hand." if model.edits_ else "."
    name = "Later rows" if in_time else "Folds"
    figures = _performance(model, rows, log_proba, np.exp(log_proba), words, measured, name)
    performance = replace(figures.performance, n_rows=n_tested)
    return replace(figures, performance=performance, columns=columns, gains=gains)


def _in_words(cv: Any, splits: RowSplits, what: str, n_rows: int) -> tuple[str, str]:
    """How models of folds were measured, as a sentence without full stop, and in a few words."""
    n, tests = len(splits), np.concatenate([test for _, test in splits])
    if isinstance(cv, str) and n == 1:
        share = f"the last {100 * tests.size / n_rows:.0f} % of"
        few = f"rained on earlier rows, measured on {share}"
        return f"T{few} {what}", f"t{few} the rows"
    if isinstance(cv, str):
        blocks = f"{n + 1} blocks of {what} in the order of time, each but the first by a model of all earlier rows"
        return blocks.replace("first by", "first predicted by"), blocks
    repeated = tests.size > np.unique(tests).size
    apart = all(np.intersect1d(train, test).size == 0 for train, test in splits)
    whole = apart and all(train.size + test.size == n_rows for train, test in splits)
    if whole and tests.size == n_rows and not repeated:
        few = f"{n}-fold cross-validation of {what}"
        folds = few.replace("cross", "stratified cross") if is_number_of_folds(cv) else few
        return f"{folds}: every row was predicted by a model trained on the other folds", few
    earlier = all(train.max() < test.min() for train, test in splits)
    trained = "earlier rows" if earlier else "other rows" if apart else "the training rows of their split"
    name = f" by {type(cv).__name__}" if is_splitter(cv) else ""
    few = f"{plural(n, 'split')}{name} of {what}"
    times = ", some of them several times," if repeated else ""
    sentence = f"{few}: the test rows{times} were predicted by models trained on {trained}"
    return sentence, f"{few}, trained on {trained}"


def _predicted_by_others(
    model: SelectiveNB, rows: JudgedRows, splits: RowSplits
) -> tuple[list[np.ndarray], tuple[frozenset[str], ...], dict[str, float]]:
    """Log probabilities of the test rows of each split, by a model that is trained as this one on its training rows,
    the columns that each of these models uses, and the mean gain of each feature in the test rows, by name: 0 in those
    of models without the feature.
    """
    encoder = clone(model.encoder_)
    if isinstance(encoder, TableEncoder):
        # Columns are read in every fold as in the whole table: a fold may hold only the numbers of a mixed column.
        encoder.set_params(kinds={level.name: level.kind for level in columns_of(model.encoder_.levels_)})
    quiet = model.__class__(**{**model.get_params(deep=False), "encoder": encoder, "verbose": 0})
    with warnings.catch_warnings():
        # The model itself has given the same warnings.
        warnings.simplefilter("ignore", UserWarning)
        used: list[frozenset[str]] = []
        sums: dict[str, float] = {}

        def look_at(fold_model: SelectiveNB, X: Any, test: np.ndarray) -> None:
            used.append(frozenset(columns_in_use(fold_model.scorecard_)))
            weights = None if rows.weights is None else rows.weights[test]
            for name, gain in loss_without_features(fold_model, X, rows.labels[test], weights).items():
                sums[name] = sums.get(name, 0.0) + gain

        parts = list(log_proba_of_splits(quiet, rows.X, as_target(rows.labels), splits, rows.weights, fitted=look_at))
    tested = np.concatenate([test for _, test in splits])
    total = tested.size if rows.weights is None else rows.weights[tested].sum()
    return parts, tuple(used), {name: gain / total for name, gain in sums.items()}


def loss_without_features(
    model: SelectiveNB, X: Any, labels: np.ndarray, weights: np.ndarray | None
) -> dict[str, float]:
    """Nats by which the log loss of rows rises without each feature of the model, by name.

    The other features stay as they are, and the contribution of the feature is replaced by its mean over the training
    rows, 0. Rows of classes that the model does not know are left out.
    """
    card = model.scorecard_
    cells = card.cells(model.encoder_.read(X, owner=model))
    classes = np.full(labels.size, -1)
    for j, label in enumerate(card.classes):
        classes[labels == label] = j
    known = np.flatnonzero(classes >= 0)
    counted = np.ones(known.size) if weights is None else weights[known]
    joint = card.tables.joint(cells)[known]

    def loss(joint: np.ndarray) -> float:
        return float(-counted @ log_softmax(joint, axis=1)[np.arange(known.size), classes[known]])

    whole = loss(joint)
    return {
        feature.name: loss(joint - feature.table[np.minimum(codes[known], feature.cells.n_levels)]) - whole
        for feature, codes in zip(card.used_features, cells, strict=True)
    }


def _performance(
    model: SelectiveNB,
    rows: JudgedRows,
    log_proba: np.ndarray,
    probability: np.ndarray,
    protocol: str,
    measured: str,
    name: str,
) -> MeasuredRows:
    sample = _sample(model, rows, log_proba, name, measured)
    n_rows, predicted = rows.n_rows, probability
    codes, weights = rows.codes, rows.weights
    if weights is not None and not weights.all():
        counted = weights > 0
        codes, weights, log_proba, probability = (part[counted] for part in (codes, weights, log_proba, probability))
    n_classes = len(model.classes_)
    entropy = metrics.class_entropy(codes, n_classes, weights)
    loss = metrics.log_loss(log_proba, codes, weights)
    shares = np.bincount(codes, weights=weights, minlength=n_classes)
    # With two classes the curves of both say the same: those of the positive one are shown. A class without rows, or
    # with all of them, has none.
    two = n_classes == 2
    shown = (rows.positive,) if two else range(n_classes)
    curves = [j for j in shown if 0 < np.count_nonzero(codes == j) < codes.size]
    labels = [str(label) for label in model.classes_]
    performance = plain.Performance(
        protocol=protocol,
        n_rows=n_rows,
        accuracy=metrics.accuracy(log_proba, codes, weights),
        auc=metrics.area(probability, codes, weights),
        log_loss=loss,
        compression_rate=metrics.compression_rate(loss, entropy),
        brier=metrics.brier_score(log_proba, codes, weights),
        majority_accuracy=float(shares.max() / shares.sum()),
        class_entropy=entropy,
        reliability=tuple(
            (labels[j], tuple(metrics.reliability(probability[:, j], codes == j, weights)))
            for j in (shown if two else curves)
        ),
        confusion=tuple(tuple(row) for row in metrics.confusion(log_proba, codes).tolist()),
        roc=tuple((labels[j], tuple(metrics.roc_points(probability[:, j], codes == j, weights))) for j in curves),
        measured=measured,
        thresholds=_thresholds(probability[:, rows.positive], codes == rows.positive, weights) if two else (),
        segments=_segments(model, rows, codes, weights, log_proba),
    )
    return MeasuredRows(rows, predicted, performance, (sample,))


def _sample(model: SelectiveNB, rows: JudgedRows, log_proba: np.ndarray, name: str, measured: str) -> plain.Sample:
    """The measures of the rows that count, with intervals."""
    counted = slice(None) if rows.weights is None else rows.weights > 0
    weights = None if rows.weights is None else rows.weights[counted]
    codes, log_proba, two = rows.codes[counted], log_proba[counted], model.classes_.size == 2
    shares = np.bincount(codes, weights, minlength=model.classes_.size)
    facts = weights, 0.95, model.classes_, rows.positive
    measures = Segment.of_rows(log_proba, log_proba.argmax(axis=1), codes, *facts).measures()
    return plain.Sample(
        name=name,
        measured=measured,
        n_rows=float(shares.sum()),
        events=float(shares[rows.positive]) if two else None,
        measures=tuple((measure, estimate) for label, measure, estimate in measures if label is None or two),
    )


def _segments(
    model: SelectiveNB, rows: JudgedRows, codes: np.ndarray, weights: np.ndarray | None, log_proba: np.ndarray
) -> tuple[tuple[str, tuple[plain.Segmented, ...]], ...]:
    """How rows of each level are predicted: of the groups given, then feature by feature, the most important first;
    ``codes``, ``weights`` and ``log_proba`` are of the rows that count.
    """
    card, two, probability = model.scorecard_, log_proba.shape[1] == 2, np.exp(log_proba)
    score = probability[:, rows.positive] if two else probability.max(axis=1)
    hit = codes == (rows.positive if two else probability.argmax(axis=1))
    counted = slice(None) if codes.size == rows.n_rows or rows.weights is None else rows.weights > 0
    words = Wording.of(card)
    groups = [(name, own[counted], labels, None) for name, own, labels in rows.groups]
    for k in card.by_importance[:_MOST_SEGMENTED].tolist():
        level = card.features[k].levels
        if level.kind == "pair" or not 1 < level.n_levels <= _MOST_SEGMENTS:
            continue
        training = np.append(np.asarray(level.counts).sum(axis=1), 0.0) / card.class_counts.sum()
        own = np.asarray(rows.coded.codes_at([k], slice(None))[0])[counted]
        groups.append((words.named(level), own, (*words.levels(level), UNSEEN), training))

    def measured(of_group: np.ndarray) -> tuple[plain.Estimate, plain.Estimate]:
        own = None if weights is None else weights[of_group]
        facts = own, 0.95, card.classes, rows.positive
        part = Segment.of_rows(log_proba[of_group], log_proba[of_group].argmax(axis=1), codes[of_group], *facts)
        auc, loss = (estimate for *_, estimate in part.measures(("auc", "log_loss")))
        return auc, loss

    found = []
    for name, group, labels, shares in groups:
        bins = metrics.by_group(score, hit, group, weights)
        total = sum(one.weight for _, one in bins)
        lines = tuple(
            (labels[k], one.weight / total, None if shares is None else float(shares[k]), one, *measured(group == k))
            for k, one in bins
        )
        found.append((name, lines))
    return tuple(found)


def _thresholds(
    score: np.ndarray, positive: np.ndarray, weights: np.ndarray | None
) -> tuple[tuple[float, float, float], ...]:
    """Rows of the positive class, and others, with at least the score of each of about `_N_STEPS` groups of rows."""
    order = np.argsort(-score, kind="stable")
    score, weights = score[order], np.ones(score.size) if weights is None else weights[order]
    hits, others = np.cumsum(weights * positive[order]), np.cumsum(weights * ~positive[order])
    last = np.flatnonzero(np.append(np.diff(score) != 0, True))  # of equal scores
    shown = last[np.unique(np.linspace(0, last.size - 1, min(last.size, _N_STEPS)).astype(int))]
    return tuple(zip(score[shown].tolist(), hits[shown].tolist(), others[shown].tolist(), strict=True))


class Deciding:
    """The decisions in rows by a model and benefits, which are a `BenefitClassifier` or what that takes.

    ValueError if benefits do not fit the rows and classes.
    """

    def __init__(self, model: SelectiveNB, rows: JudgedRows, benefit: Any) -> None:
        given = clone(benefit) if isinstance(benefit, BenefitClassifier) else BenefitClassifier(model, benefit=benefit)
        if given.amount_estimator is not None:
            raise ValueError("A report needs the true amounts, not estimates: pass benefits with them as cells.")
        self._classifier = given.keep(model, model.scorecard_.class_counts)
        values = self._classifier.benefits_of(rows.X, None, rows.n_rows).values
        self._names = decision_names(given.decisions, model.classes_, values.shape[-2])
        self._constant = values if values.ndim == 2 else None
        self.rows = replace(rows, benefits=np.broadcast_to(values, (rows.n_rows, *values.shape[-2:])))

    def summary(self, measured: MeasuredRows) -> plain.DecisionSummary:
        """Return the benefit of the decisions in the measured rows, and of decisions by other thresholds."""
        codes, weights = measured.rows.codes, self._weights(measured)
        benefits = Benefits(np.asarray(measured.rows.benefits))
        probability = self._classifier.corrected(measured.probability)
        expected = benefits.expected(probability)
        decided = expected.argmax(axis=1)
        gained = weights * benefits.realised(decided, codes)

        def by_class(rows: np.ndarray) -> tuple[float, ...]:
            return tuple(np.bincount(codes[rows], weights[rows], minlength=probability.shape[1]).tolist())

        lines = tuple(
            plain.DecisionLine(
                name=str(name),
                class_counts=by_class(decided == i),
                benefit=float(gained[decided == i].sum()),
                always=float(weights @ benefits.realised(np.full(decided.size, i), codes)),
            )
            for i, name in enumerate(self._names)
        )
        words = measured.performance.measured
        if self._classifier.class_prior is not None:
            words += ", weighted to the shares of the classes where decisions are taken"
        if len(lines) != 2:
            return plain.DecisionSummary(lines, "", (), 0, words)
        score, of_score = self._score(probability, expected)
        classes = np.arange(probability.shape[1])
        curve = profit_curve(codes, score, benefit=benefits.values, classes=classes, sample_weight=weights)
        shown = {int(np.abs(curve.share - share).argmin()) for share in np.linspace(0, 1, _N_STEPS)}
        own = int(np.abs(curve.share - weights[decided == 1].sum() / weights.sum()).argmin())
        at = sorted({*shown, own, curve.best})
        steps = tuple(
            plain.ThresholdStep(
                share=float(curve.share[i]),
                threshold=float(curve.threshold[i]) if i else float("nan"),
                class_counts=by_class(score >= curve.threshold[i]),
                benefit=float(curve.profit[i]),
                low=float(curve.low[i]),
                high=float(curve.high[i]),
            )
            for i in at
        )
        gains = None
        if self._constant is not None and classes.size == 2:
            of_class, of_others = self._constant[:, [measured.rows.positive, 1 - measured.rows.positive]].T.tolist()
            chosen = int(of_class[1] - of_others[1] > of_class[0] - of_others[0])  # the decision for the class
            gains = (of_class[chosen], of_others[chosen], of_class[1 - chosen], of_others[1 - chosen])
        return plain.DecisionSummary(lines, of_score, steps, at.index(own), words, gains)

    def _weights(self, measured: MeasuredRows) -> np.ndarray:
        """Weights of the rows, which have the shares of the classes where decisions are taken."""
        codes, weights = measured.rows.codes, measured.rows.weights
        weights = np.ones(codes.size) if weights is None else weights
        shares = self._classifier.class_shares()
        if shares is None:
            return weights
        there = np.bincount(codes, weights, minlength=shares.size) / weights.sum()
        return weights * np.divide(shares, there, out=np.zeros_like(there), where=there > 0)[codes]

    def _score(self, probability: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, str]:
        """Orders rows as the expected gain from the second decision does: a probability, if benefits allow."""
        classes = self._classifier.classes_
        if self._constant is not None and len(classes) == 2:
            slope = float(np.diff(np.diff(self._constant, axis=0))[0, 0])
            if slope != 0:
                likelier = int(slope > 0)
                return probability[:, likelier], f"probability of {classes[likelier]}"
        return expected[:, 1] - expected[:, 0], "expected gain"
