"""Performance of a model on labelled rows, measured on the model itself or on models refitted in cross-validation.

A level is an interval or group of values of a feature; a surface is a pair of numeric columns with contributions on a
fine grid.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.metrics import confusion_matrix

from bayesieve.counts import CodedTable
from bayesieve.discretize import TableEncoder
from bayesieve.discretize.repeats import REPEATED, find_repeats
from bayesieve.evaluation.evaluating import Estimate, Segment
from bayesieve.evaluation.judged import EvaluatedRows
from bayesieve.evaluation.splits import log_proba_of_splits, time_splits
from bayesieve.parts import require_objects
from bayesieve.scorecard.look_up import RowReader
from bayesieve.scorecard.probabilities import log_probabilities
from bayesieve.scorecard.reasons import columns_in_use
from bayesieve.scorecard.record import Scorecard
from bayesieve.scorecard.strategy import strategy_table
from bayesieve.selection.row_splits import RowSplits, is_number_of_folds, is_splitter, row_splits
from bayesieve.statistics import metrics
from bayesieve.table import Target, as_target
from bayesieve.table.cautions import silenced
from bayesieve.table.frames import new_table
from bayesieve.table.levels import WithheldLevels, columns_of
from bayesieve.table.pair_levels import PairLevels
from bayesieve.words import ShortRepr, plural

TIME = "time"
"""Value of ``cv`` for splits into earlier training rows and later test rows."""
_N_FOLDS = 5  # default number of folds
_N_STEPS = 101
_SAME = 1e-9  # largest relative difference of two sums of weights that is attributed to rounding


class Unmeasured(Exception):
    """Exception for a valid call that cannot measure a model, such as too few rows for folds; its message is the
    reason.
    """


@dataclass(frozen=True, eq=False, repr=False)
class Performance(ShortRepr):
    """Performance of a model, and the rows on which it was measured.

    Attributes
    ----------
    name : str
        Name of the rows, such as ``"Folds"``.
    protocol, measured : str
        Rows and models on which the performance was measured, as a sentence and in a few words.
    rows : EvaluatedRows
        Rows of positive weight, with their predictions.
    n_rows : int
        Number of rows predicted, including those of weight 0.
    columns : tuple of frozenset of str
        Names of the columns that the model of each fold uses; empty without folds.
    gains : mapping, optional
        Nats per row by which each feature lowers the log loss of rows on which the model was not trained, by name. None
        for training rows.
    is_training : bool
        Whether the model was trained on these rows.
    training : Performance, optional
        Performance of the model on its own training rows, for comparison with that of cross-validation. None otherwise.
    later : Performance, optional
        Performance on the last rows of a model trained on earlier rows; None unless rows have times or their order
        matters.
    accuracy, auc, log_loss, compression_rate, brier : float
        Measures on ``rows``. ``log_loss`` is in nats per row; ``compression_rate`` is 1 - log_loss / class_entropy;
        ``brier`` is scikit-learn's `brier_score_loss`.
    """

    name: str
    protocol: str
    measured: str
    rows: EvaluatedRows
    n_rows: int
    columns: tuple[frozenset[str], ...] = ()
    gains: Mapping[str, float] | None = None
    is_training: bool = False
    training: Performance | None = None
    later: Performance | None = None

    def _facts(self) -> dict[str, Any]:
        """Return the facts that ``repr`` shows, by name."""
        names = ("auc", "log_loss", "accuracy")
        return {"rows": self.n_rows, "measured": self.measured} | {name: getattr(self, name) for name in names}

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """Measures by name as (value, low, high) with 95 % intervals: those of all classes and, for two classes, of the
        positive one.
        """
        two, segment = self.rows.classes.size == 2, Segment.of(self.rows, slice(None), 0.95)
        return {measure: estimate for label, measure, estimate in segment.measures() if label is None or two}

    @property
    def accuracy(self) -> float:
        """Share of the rows whose class is predicted right."""
        return self.estimates["accuracy"][0]

    @property
    def auc(self) -> float:
        """Area under the ROC curve."""
        return self.estimates["auc"][0]

    @property
    def log_loss(self) -> float:
        """Log loss in nats per row."""
        return self.estimates["log_loss"][0]

    @property
    def compression_rate(self) -> float:
        """1 minus the log loss divided by the class entropy."""
        return self.estimates["compression_rate"][0]

    @property
    def brier(self) -> float:
        """Brier score, as in scikit-learn."""
        return self.estimates["brier"][0]

    @property
    def labels(self) -> np.ndarray:
        """Positions of the true classes, shape (n_rows,)."""
        assert self.rows.labels is not None
        return self.rows.labels

    @cached_property
    def class_rows(self) -> np.ndarray:
        """Number (or weight) of the rows of each class, shape (n_classes,)."""
        return np.bincount(self.labels, self.rows.weights, self.rows.classes.size)

    @property
    def majority_accuracy(self) -> float:
        """Accuracy of always predicting the most frequent class."""
        return float(self.class_rows.max() / self.class_rows.sum())

    @property
    def class_entropy(self) -> float:
        """Log loss of always predicting the class shares, in nats per row."""
        return metrics.class_entropy(self.labels, self.rows.classes.size, self.rows.weights)

    @property
    def confusion(self) -> list[list[int]]:
        """Confusion matrix as nested lists: number (or weight) of rows of each true class (outer list) by predicted
        class.
        """
        n_classes, predicted = self.rows.classes.size, self.rows.log_proba.argmax(axis=1)
        counts: list[list[int]] = confusion_matrix(self.labels, predicted, labels=np.arange(n_classes)).tolist()
        return counts

    @property
    def never_predicted(self) -> list[str]:
        """Labels of the classes that have rows but are never predicted."""
        n_classes = self.rows.classes.size
        decided = np.bincount(self.rows.decided, minlength=n_classes)
        return [str(self.rows.classes[j]) for j in np.flatnonzero((decided == 0) & (self.class_rows > 0))]

    @property
    def reliability(self) -> list[tuple[str, list[metrics.Bin]]]:
        """Pairs of a class label and its reliability bins; for two classes, only the positive one."""
        return [(label, metrics.reliability(p, hit, self.rows.weights)) for label, p, hit in self._curves(every=False)]

    @property
    def roc(self) -> list[tuple[str, list[tuple[float, float]]]]:
        """Pairs of a class label and its ROC points (false positive rate, true positive rate); for two classes, only
        the positive one.
        """
        return [(label, metrics.roc_points(p, hit, self.rows.weights)) for label, p, hit in self._curves()]

    def _curves(self, *, every: bool = True) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """Return a tuple for each class that has a curve: its label, its probabilities (n_rows,), and a mask (n_rows,)
        of its rows.

        Of two classes, only the positive one has a curve, because the other curve is its mirror image. If ``every`` is
        True, classes without rows or with all rows are skipped; otherwise the positive one of two classes is kept even
        then.
        """
        rows, n_classes = self.rows, self.rows.classes.size
        positions = [1 if rows.positive is None else rows.positive] if n_classes == 2 else range(n_classes)
        hits = [(j, self.labels == j) for j in positions]
        hits = [(j, hit) for j, hit in hits if (n_classes == 2 and not every) or 0 < np.count_nonzero(hit) < hit.size]
        return [(str(rows.classes[j]), rows.probability[:, j], hit) for j, hit in hits]

    @cached_property
    def thresholds(self) -> list[tuple[float, float, float]]:
        """Up to `_N_STEPS` thresholds on the probability of the positive class, from the highest to the lowest.

        Each is a tuple: the threshold, and the number (or weight) of the positive rows and of the other rows that reach
        it. The list is empty unless there are two classes.
        """
        rows = self.rows
        if rows.classes.size != 2 or rows.positive is None:
            return []
        score, positive = rows.probability[:, rows.positive], self.labels == rows.positive
        order = np.argsort(-score, kind="stable")
        score, weights = score[order], np.ones(score.size) if rows.weights is None else rows.weights[order]
        hits, others = np.cumsum(weights * positive[order]), np.cumsum(weights * ~positive[order])
        last = np.flatnonzero(np.append(np.diff(score) != 0, True))  # last row of each run of equal scores
        steps = last[np.unique(np.linspace(0, last.size - 1, min(last.size, _N_STEPS)).astype(int))]
        return list(zip(score[steps].tolist(), hits[steps].tolist(), others[steps].tolist(), strict=True))

    def bands(self) -> list[dict[str, Any]]:
        """Return up to ten bands of the predicted probability of the positive class, of about equal size, as dicts.

        Each dict is a row of `strategy_table`, where events are rows of the other class, plus ``ks``: the share of the
        positive rows minus the share of the other rows at or above the lower end of the band. Empty unless there are
        two classes.
        """
        rows = self.rows
        if rows.classes.size != 2 or rows.positive is None:
            return []
        score, is_event = rows.probability[:, rows.positive], self.labels != rows.positive
        frame = strategy_table(score, is_event, rows.weights, min(10, max(1, score.size // 10)))
        total, events = frame["rows"].sum(), frame["events"].sum()
        bands: list[dict[str, Any]] = frame.to_dicts()
        for band in bands:
            approved = band["approval_rate"] * total
            others = approved - band["approved_event_rate"] * approved
            gained = others / (total - events) if total > events else float("nan")
            band["ks"] = gained - (1.0 - band["avoided_events"]) if events > 0 else float("nan")
        return bands


def performance_on(rows: EvaluatedRows, name: str, protocol: str, measured: str, **more: Any) -> Performance:
    """Return the performance on predicted rows, ignoring rows of weight 0. ``name``, ``protocol``, ``measured`` and
    ``more`` are fields of `Performance`.
    """
    n_rows = rows.n_rows
    if rows.weights is not None and not rows.weights.all():
        rows = rows.take(np.flatnonzero(rows.weights > 0))
    return Performance(name, protocol, measured, rows, **{"n_rows": n_rows, **more})


def are_training_rows(model: Any, rows: EvaluatedRows) -> bool:
    """Return whether the model was trained on exactly these rows, in any order.

    The class counts of each level that a model stores serve as a fingerprint of its training rows. If a model was
    trained on a sample of the rows, none of its counts may exceed theirs. Surfaces are skipped, because their counts
    may come from a sample. If no feature has two levels, only the class counts are compared.
    """
    card, labels = model.scorecard_, np.asarray(rows.labels)
    levels = [feature.levels for feature in card.features]
    cut = {edit.feature for edit in model.edits_ if edit.what == "cut"}
    # Counts cannot be compared if they are of a sample (surfaces), of levels read from a file without their values, or
    # of levels whose cut points were edited.
    trained = {}
    for k, level in enumerate(levels):
        is_surface = isinstance(level, PairLevels) and level.level_score == 0
        is_withheld = any(isinstance(column_levels, WithheldLevels) for column_levels in level.by_column)
        if not (is_surface or is_withheld or level.name in cut):
            trained[k] = np.asarray(level.counts)
    drawn = card.provenance["selector"].get("rows_by_class")
    if all(len(count) < 2 for count in trained.values()) or (drawn and rows.n_rows != model.n_rows_):
        return False
    if drawn and not np.array_equal(np.bincount(labels, minlength=card.classes.size), drawn):
        return False
    table = new_table(model, rows.X)
    reader = RowReader(levels, np.array([*trained], dtype=np.int64), card.columns)
    with silenced():
        coded = CodedTable(
            reader.code(table, model.n_jobs)[0], [levels[k].n_levels for k in trained], [*map(str, trained)]
        )
    codes = labels.astype(np.min_scalar_type(model.classes_.size))
    for weights in (rows.weights, None) if rows.weights is not None else (None,):
        counts = coded.with_rows(class_codes=codes, classes=model.classes_, weights=weights).counts
        pairs = [(counts.class_counts, card.class_counts)]
        pairs += [(counts.feature(i), count) for i, count in enumerate(trained.values())]
        if all(np.allclose(np.minimum(new, old) if drawn else new, old, rtol=_SAME, atol=_SAME) for new, old in pairs):
            return True
    return False


def measure(model: Any, rows: EvaluatedRows, cv: Any, held_out: bool) -> Performance | None:
    """Measure a fitted model on rows, or models refitted in cross-validation. Return None if ``cv`` is 0.

    Parameters
    ----------
    model : fitted `SelectiveNB`.
    rows : labelled rows with its predictions.
    cv : number of folds, "time", or a splitter of scikit-learn. If None, training rows are measured by
        cross-validation, and other rows with the model itself.
    held_out : whether the caller states that the model was not trained on the rows.

    Raises
    ------
    ValueError
        If ``cv`` cannot split the rows.
    Unmeasured
        If there are too few rows, or the model of a fold cannot be fitted.
    """
    if cv is not None and held_out:
        raise ValueError("held_out=True evaluates the fitted model, cv= refits models on folds; give only one of them.")
    if is_number_of_folds(cv) and cv == 0:
        return None
    trained_on = are_training_rows(model, rows)
    if not trained_on and (distinct := _counted_once(model, rows)) is not None:
        rows, trained_on = distinct, True
    if held_out or (cv is None and not trained_on):
        return _by_this_model(model, rows, trained_on, held_out)
    measured = replace(_of_folds(model, rows, cv, trained_on), is_training=trained_on)
    if trained_on:
        protocol, described = _of_this_model(model, rows, trained_on, held_out)
        training = performance_on(rows, "Training rows", protocol, described, is_training=True)
        measured = replace(measured, training=training)
    is_informative = rows.moments is not None or any(caution.kind == "order" for caution in model.cautions_)
    if is_informative and (cv is None or is_number_of_folds(cv)):
        try:
            return replace(measured, later=_of_folds(model, rows, TIME, trained_on, last=True))
        except (Unmeasured, ValueError):  # for example, if all rows have the same time
            return measured
    return measured


def _counted_once(model: Any, rows: EvaluatedRows) -> EvaluatedRows | None:
    """Return the rows with the weights used in the fit, in which a row that occurs several times counts once.

    Return None if the rows are not the training rows of the model, or none of them occurs several times.
    """
    if not any(caution.kind == REPEATED for caution in model.cautions_):
        return None
    target = Target(np.asarray(rows.labels), model.classes_)
    repeats = find_repeats(new_table(model, rows.X), target, rows.weights, model.n_jobs)
    if repeats is None:
        return None
    distinct = replace(rows, weights=repeats.weights, copies=None if repeats.is_whole else repeats.groups)
    return distinct if are_training_rows(model, distinct) else None


def _splits_of_copies(groups: np.ndarray, n_folds: int) -> RowSplits:
    """Return ``n_folds`` shuffled (train, test) pairs of row positions, in which all copies of a row are in the same
    fold.

    ``groups`` (n_rows,) numbers the distinct rows; copies have equal numbers.
    """
    fold = np.random.default_rng(0).permutation(int(groups.max()) + 1)[groups] % n_folds
    return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(n_folds)]


def _by_this_model(model: Any, rows: EvaluatedRows, trained_on: bool, held_out: bool) -> Performance:
    """Return the performance of the model itself on the rows. ``trained_on`` is whether they are its training rows,
    ``held_out`` whether the caller states that they are not.
    """
    name = "Training rows" if trained_on else "Test rows" if held_out else "These rows"
    protocol, measured = _of_this_model(model, rows, trained_on, held_out)
    if trained_on:
        return performance_on(rows, name, protocol, measured, is_training=True)
    total = rows.n_rows if rows.weights is None else rows.weights.sum()
    losses = loss_without_features(model.scorecard_, rows.cells, np.asarray(rows.labels), rows.weights)
    gains = {feature: loss / total for feature, loss in losses.items()}
    return performance_on(rows, name, protocol, measured, gains=gains)


def _of_this_model(model: Any, rows: EvaluatedRows, trained_on: bool, held_out: bool) -> tuple[str, str]:
    """Describe the rows on which the model itself was measured, by two texts: a sentence, and a few words.

    ``trained_on`` is whether they are its training rows, ``held_out`` whether the caller states that they are not.
    """
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
    repeated = counts.sum() != model.n_rows_ and "rows_by_class" not in model.scorecard_.provenance["selector"]
    weighted = repeated or bool(np.any(counts != np.rint(counts)))
    if weighted and rows.weights is None and rows.n_rows == model.n_rows_:
        caution = (
            ". It was trained on as many rows with weights: if these are the same rows, pass their weights "
            "(sample_weight), too, and the figures come from cross-validation."
        )
    return f"This very model, measured on {n_rows}{caution}", f"this model on {n_rows}"


def _of_folds(model: Any, rows: EvaluatedRows, cv: Any, trained_on: bool, last: bool = False) -> Performance:
    """Return the performance on ``rows`` of models refitted on folds of them.

    ``cv`` is documented in `measure`; ``trained_on`` is whether the rows are the model's training rows. If ``last`` is
    True, only the model of the last fold is measured. Raise `Unmeasured` if a fold cannot be fitted.
    """
    try:
        require_objects(model.get_params(deep=False))
    except ValueError as error:
        if cv is None:
            raise Unmeasured(str(error).rstrip(".")) from None
        raise
    in_time = isinstance(cv, str) and cv == TIME
    if rows.weights is not None and not rows.weights.all() and (cv is None or in_time or is_number_of_folds(cv)):
        rows = rows.take(np.flatnonzero(rows.weights))  # rows of weight 0 must not fill folds
    codes = np.asarray(rows.labels)
    largest = int(np.bincount(codes).max())
    if cv is None and largest < 2:
        raise Unmeasured("cross-validation needs at least two rows of some class")
    cv = min(_N_FOLDS, largest) if cv is None else cv
    if in_time:
        splits = time_splits(np.arange(rows.n_rows) if rows.moments is None else rows.moments)[-1 if last else 0 :]
    else:
        joined = rows.copies if is_number_of_folds(cv) else None
        splits = row_splits(cv, rows.classes[codes]) if joined is None else _splits_of_copies(joined, int(cv))
    if np.unique(codes).size != model.classes_.size:
        if not trained_on:
            needed = "cross-validation needs the training table and its target"
            lacking = model.classes_[np.setdiff1d(np.arange(model.classes_.size), codes)[0]]
            raise ValueError(
                f"No row with a weight above 0 has the class {str(lacking)!r} of the model; {needed}. Pass these as X "
                "and y."
            )
        raise Unmeasured("a class has no rows with a weight above 0")
    what = f"the {rows.n_rows:,} training rows" if trained_on else f"{rows.n_rows:,} rows"
    words, measured = _in_words(cv, splits, what, rows.n_rows)
    try:
        by_split, columns, gains = _predicted_by_others(model, rows, splits)
    except (ValueError, ArithmeticError, IndexError) as error:
        raise Unmeasured(f"fitting the model of a fold fails ({str(error).rstrip('.')})") from error
    tested = np.concatenate([test for _, test in splits])
    order = np.argsort(tested, kind="stable")
    log_proba, n_tested = np.concatenate(by_split)[order], np.unique(tested).size
    if not tested.size == n_tested == rows.n_rows:
        rows = rows.take(tested[order])
    words += "" if trained_on else ", none by this very model"
    words += " and without the edits made by hand." if model.edits_ else "."
    name = "Later rows" if in_time else "Folds"
    predicted = replace(rows, log_proba=log_proba, decided=log_proba.argmax(axis=1), exact=None)
    return performance_on(predicted, name, words, measured, n_rows=n_tested, columns=columns, gains=gains)


def _in_words(cv: Any, splits: RowSplits, what: str, n_rows: int) -> tuple[str, str]:
    """Describe the folds in which models were measured by two texts: a sentence without full stop, and a few words.

    ``splits`` are the (train, test) row positions that the option ``cv`` gave. ``what`` is the noun phrase for the
    ``n_rows`` rows in these texts.
    """
    n, tests = len(splits), np.concatenate([test for _, test in splits])
    if isinstance(cv, str) and n == 1:
        share = f"the last {100 * tests.size / n_rows:.0f} % of"
        few = f"rained on earlier rows, measured on {share}"
        return f"T{few} {what}", f"t{few} the rows"
    if isinstance(cv, str):
        blocks = f"{n + 1} blocks of {what} in the order of time, each but the first by a model of all earlier rows"
        return blocks.replace("first by", "first predicted by"), blocks
    repeated = tests.size > np.unique(tests).size
    are_disjoint = all(np.intersect1d(train, test).size == 0 for train, test in splits)
    whole = are_disjoint and all(train.size + test.size == n_rows for train, test in splits)
    if whole and tests.size == n_rows and not repeated:
        few = f"{n}-fold cross-validation of {what}"
        folds = few.replace("cross", "stratified cross") if is_number_of_folds(cv) else few
        return f"{folds}: every row was predicted by a model trained on the other folds", few
    earlier = all(train.max() < test.min() for train, test in splits)
    trained = "earlier rows" if earlier else "other rows" if are_disjoint else "the training rows of their split"
    name = f" by {type(cv).__name__}" if is_splitter(cv) else ""
    few = f"{plural(n, 'split')}{name} of {what}"
    times = ", some of them several times," if repeated else ""
    sentence = f"{few}: the test rows{times} were predicted by models trained on {trained}"
    return sentence, f"{few}, trained on {trained}"


def _predicted_by_others(
    model: Any, rows: EvaluatedRows, splits: RowSplits
) -> tuple[list[np.ndarray], tuple[frozenset[str], ...], dict[str, float]]:
    """Predict the test rows of each split by a model refitted on its training rows. ``splits`` are (train, test) row
    positions.

    Return three results: the log probabilities of the test rows of each split, a list of arrays (n_test, n_classes);
    the names of the columns that each refitted model uses; and by feature name the nats per row by which the feature
    lowers the log loss of test rows (0 in models without it).
    """
    encoder = (
        clone(model.encoder_) if hasattr(model, "encoder_") else TableEncoder()
    )  # models from files have no encoder
    if isinstance(encoder, TableEncoder):
        # Keep the column kinds of the whole table: the categories of a column might all look like numbers in a fold.
        columns = columns_of([feature.levels for feature in model.scorecard_.features])
        encoder.set_params(kinds={level.name: level.kind for level in columns})
    quiet = model.__class__(**{**model.get_params(deep=False), "encoder": encoder, "verbose": 0})
    with warnings.catch_warnings():
        # Refitted models would repeat the warnings of the fit.
        warnings.simplefilter("ignore", UserWarning)
        columns_by_fold: list[frozenset[str]] = []
        labels = rows.classes[np.asarray(rows.labels)]
        sums: dict[str, float] = {}

        def predicted(fold_model: Any, X: Any, test: np.ndarray) -> np.ndarray:
            """Return the log probabilities (n_test, n_classes) of the test rows ``X`` by the model of a fold, and
            record what the model uses. ``test`` are the positions of these rows.
            """
            card = fold_model.scorecard_
            columns_by_fold.append(frozenset(columns_in_use(card)))
            cells, _ = card.reader.code(new_table(fold_model, X), model.n_jobs)
            # A class may have no training rows in this fold; its test rows cannot measure the features.
            usable = np.flatnonzero(np.isin(labels[test], card.classes))
            weights = None if rows.weights is None else rows.weights[test][usable]
            codes = np.searchsorted(card.classes, labels[test][usable])
            for name, gain in loss_without_features(card, cells[:, usable], codes, weights).items():
                sums[name] = sums.get(name, 0.0) + gain
            return log_probabilities(card.tables.joint(cells))

        by_split = list(log_proba_of_splits(quiet, rows.X, as_target(labels), splits, rows.weights, predicted))
    tested = np.concatenate([test for _, test in splits])
    total = tested.size if rows.weights is None else rows.weights[tested].sum()
    return by_split, tuple(columns_by_fold), {name: gain / total for name, gain in sums.items()}


def loss_without_features(
    card: Scorecard, cells: np.ndarray, codes: np.ndarray, weights: np.ndarray | None
) -> dict[str, float]:
    """Return the increase of the log loss without each feature of a model, by name, summed over rows, in nats.

    The contribution of the feature is replaced by 0, its mean over the training rows; nothing is refitted.

    Parameters
    ----------
    cells : (n_used, n_rows) position of the cell of each row, for each feature in the model.
    codes : (n_rows,) positions of the true classes.
    weights : (n_rows,) row weights, or None.
    """
    counted, joint = np.ones(codes.size) if weights is None else weights, card.tables.joint(cells)

    # The loss with all features comes first, then that without each of them.
    without = (
        joint - feature.table[np.minimum(of_rows, feature.cells.n_levels)]
        for feature, of_rows in zip(card.used_features, cells, strict=True)
    )
    losses = [
        float(-counted @ log_softmax(one, axis=1)[np.arange(codes.size), codes]) for one in chain([joint], without)
    ]
    return {feature.name: loss - losses[0] for feature, loss in zip(card.used_features, losses[1:], strict=True)}
