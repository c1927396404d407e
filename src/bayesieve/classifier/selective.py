"""`SelectiveNB`, the end-to-end classifier for raw tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bayesieve.classifier import fit_steps as steps
from bayesieve.classifier.cautions import fit_cautions, model_cautions
from bayesieve.classifier.fit_provenance import provenance_of
from bayesieve.classifier.plan import FitPlan
from bayesieve.classifier.predicting import Predicting
from bayesieve.classifier.scoring import with_card
from bayesieve.compiling import compiling_elsewhere
from bayesieve.counts import CodedTable, Smoothing
from bayesieve.discretize.modl import Prior
from bayesieve.discretize.refitting import LevelRefitter
from bayesieve.engine.callbacks import CallbackSupportMixin, FitTask, fit_task, with_callbacks
from bayesieve.engine.progress import Clock, stage
from bayesieve.evidence.fitting import fit_evidence
from bayesieve.forking import refuse_fork
from bayesieve.parts import with_shared_docs
from bayesieve.scorecard.date_orders import in_date_orders
from bayesieve.scorecard.hidden_counts import with_hidden_counts
from bayesieve.scorecard.record import Scorecard, scorecard_of_fit
from bayesieve.search import SearchTrace
from bayesieve.selection import CodedSelector
from bayesieve.selection.base import with_benefit
from bayesieve.table.cautions import Caution, issue, weights_caution
from bayesieve.table.frames import is_scan, require_table
from bayesieve.table.levels import TableLevels
from bayesieve.table.target import positive_position, require_classes, require_target

if TYPE_CHECKING:
    from bayesieve.classifier.editing import ModelEditor
    from bayesieve.decision import BenefitRule
    from bayesieve.scorecard.edits import Edit


@with_shared_docs
class SelectiveNB(CallbackSupportMixin, Predicting):
    """Selective naive Bayes classifier on raw, mixed tables.

    It codes every column as levels (intervals of numbers, groups of categories), determines a weight w_k in [0, 1] for
    each feature, and predicts with P(j | x) proportional to P(j) prod_k P(x_k | j)^w_k. By default, the contributions
    of the levels are then fitted jointly. It accepts any dataframe that narwhals supports, or a 2-D array. Missing
    values and categories never seen in training are allowed.

    Parameters
    ----------
    selector : str or selector, default="compression"
        Selector that determines the weights: ``"all"``, ``"map"``, ``"bayesian"``, ``"compression"``, ``"wrapper"``,
        ``"boosted"``, ``"clusters"``, ``"accuracy"``, ``"auc"``, ``"information-gain"``,
        ``"imprecise-information-gain"``, ``"mrmr"``, ``"cfs"``, or a selector object with options of its own.
    encoder : "modl", TableEncoder or IndicatorEncoder, default="modl"
        Encoder that divides columns into levels. An `IndicatorEncoder` compares columns with thresholds, and each
        comparison is a feature. With fitted weights or contributions, a `TableEncoder` whose ``categorical`` is left at
        its default uses "auto" for it. If ``"modl"``, the encoder of a selector object is used.
    pairs : "auto", int or list of pairs of names, default="auto"
        Pairs of columns that become further features: the largest number of pairs, or a list of them. "auto": all pairs
        that improve the MODL criterion, only with compression-based averaging. A `TableEncoder` whose
        ``pairs`` are not 0, its default, keeps them.
    prior : {"sizes", "published"}, default="sizes"
        Prior of intervals and groups in the MODL criterion, see `MODLDiscretizer` and `MODLGrouper`. It also applies to
        a `TableEncoder` whose ``prior`` is left at its default.
    smoothing : "m-estimate" or float, default="m-estimate"
        Smoothing of the counted probabilities, see `DiscreteNB`; also used by a selector given by name.
    calibrate : {"auto", "weights", "levels", "cells"} or bool, default="auto"
        Fit after the search. "weights" or True: the weights are refitted so that each training row is predicted well
        from all other rows. They stay in [0, 1], close to the weights of the selector times a common factor, which
        corrects the overconfidence that remains after averaging; another smoothing replaces the m-estimate if it
        predicts the rows better. "levels": in addition, the contributions of all levels are fitted jointly. They depart
        from the counted values only where the rows support it; with compression-based averaging, features without an
        effect are dropped. "cells": contributions may also differ within levels, as smooth curves over numbers and for
        single values of groups, so that a column with a single level may have an effect. "auto": "cells" with
        compression-based averaging, otherwise False. False: the weights of the selector are used as they are.
    monotone : dict from names of numeric columns to +1 or -1, or None, default=None
        Columns whose contribution to the ``positive`` class (by default 1 of the labels 0 and 1, and "yes" of "no" and
        "yes") never falls (+1) or never rises (-1) with increasing values; only for two classes and fitted
        contributions. Missing values are not restricted; pairs with these columns are excluded. A caution reports a
        sign that the rows contradict. None: no column.
    positive : class label or None, default=None
        Class that reasons, signs, points, scores of exports, curves and texts refer to. None: ``classes_[1]`` of two
        classes; "majority": the more frequent of two classes. With more than two classes, reasons, figures and exports
        refer to this class; None: to the predicted class, or to each class. The order of ``classes_`` and of the
        columns of ``predict_proba`` does not change.
    levels : dict, path of a YAML file, Scorecard or None, default=None
        Rules for the levels of single columns, as in `TableEncoder`: cuts and groups by hand, special values, missing
        values merged with a level, monotone levels and contributions, limits on the numbers of rows and levels, columns
        that are never or always in the model. `levels_to_yaml` writes the levels of a fitted model. Pass its
        ``scorecard_`` to fit other rows with the same levels. None: all levels are learnt.
    max_seconds : float or None, default=None
        Time limit, in seconds, after which the search and the fit of contributions keep the best result so far; filters
        have no limit. If it is over before the rows of a scan are read, ``fit`` raises TimeoutError. This option and
        the following ones also apply to a selector object that has its defaults for them. None: no limit.
    random_state : int, RandomState, Generator or None, default=None
        Seed of random searches. The default selector only uses it if ``calibrate`` is "weights", True or False;
        otherwise its model depends on the rows alone.
    normalize : bool, default=False
        Whether to divide ``sample_weight`` by its mean over the rows of positive weight, for weights that are not
        numbers of repeated rows, such as survey weights.
    engine : "memory", "disk", distributed.Client or concurrent.futures.Executor, default="memory"
        Storage of the codes and of the arrays of the search: "memory", or "disk" for temporary files, which scans
        always use. A Dask client or an executor reads, counts and codes the rows of a scan in its workers, which need
        access to the files; the search runs in this process.
    memory_limit : int, str or None, default=None
        Memory limit for a fit from files, such as "4GiB", at least 512 MiB. None: 4 GiB or half of the machine's
        memory, whichever is less. For a frame in memory, a limit means that its codes and the arrays of the search are
        stored in files; the frame itself does not count.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
        Class labels.
    feature_weights_ : float array, shape (n_features,)
        Factors from 0 to 1 on the counted contributions of each column (or indicator), then of each pair of columns,
        from which the fit of contributions starts. A feature whose fit starts from 0 has weight 0 but may be important:
        ``feature_importances_`` and ``selected_features_`` show which features are in the model.
    weight_factor_ : float
        Common factor g on the selector's weights: calibration keeps the weights close to g times those of the selector.
        1 without calibration.
    smoothing_ : "m-estimate", float or Shrinkage
        Smoothing of the probabilities: ``smoothing``, or the smoothing that calibration chose in place of the
        m-estimate.
    selected_features_ : list of str
        Names of the features in the model, which are those whose contributions are not all zero, the most important
        first.
    n_features_selected_, n_rows_ : int
        Number of features in the model, and of training rows.
    feature_importances_ : float array, shape (n_columns,)
        Mean absolute contribution of each input column over the training rows, scaled to add up to 1. Half of a pair's
        contribution counts for each of its columns; ``summary`` lists the importance of every feature.
    scorecard_ : Scorecard
        The fitted model as plain arrays: an intercept, and a table of contributions for each feature.
    edits_ : tuple of Edit
        Changes by hand, made by `edit` or `with_prior`, each with ``what``, ``feature``, ``who``, ``when``, ``why``,
        ``before``, ``after``, and AUC and log loss before and after if rows were given.
    trace_ : SearchTrace
        Record of the subsets that the search evaluated.
    selector_, encoder_
        Fitted selector and fitted encoder; missing in models loaded from a file.
    benefit_rule_ : BenefitRule or None
        Benefits of decisions, stored by `bayesieve fit --benefit`.
    id_columns_ : tuple of str
        Columns that identify rows, stored by `bayesieve fit --id`; the command line writes them beside predictions.
    cautions_ : tuple of Caution
        Suspicious properties of the data or the model, each with its ``kind``, ``columns`` and ``sentence``. ``fit``
        warns (`CautionWarning`) about the serious ones. ``fit_coded`` only stores cautions about the model, without
        warnings.

    References
    ----------
    Boulle (2007), Compression-based averaging of selective naive Bayes classifiers, JMLR 8.

    Examples
    --------
    >>> from bayesieve import SelectiveNB
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = SelectiveNB().fit(X, y)
    >>> model.selected_features_[:2]
    ['petal width (cm)', 'petal length (cm)']
    >>> model.predict(X[:1]).tolist()
    [0]
    """

    classes_: np.ndarray
    scorecard_: Scorecard
    cautions_: tuple[Caution, ...]
    benefit_rule_: BenefitRule | None = None
    id_columns_: tuple[str, ...] = ()

    def __init__(
        self,
        selector: str | CodedSelector = "compression",
        *,
        encoder: Any = "modl",
        pairs: Literal["auto"] | int | Sequence[Sequence[str]] = "auto",
        prior: Prior = "sizes",
        smoothing: Smoothing = "m-estimate",
        calibrate: bool | Literal["auto", "weights", "levels", "cells"] = "auto",
        monotone: Mapping[str, int] | None = None,
        positive: Any = None,
        levels: Any = None,
        max_seconds: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
        normalize: bool = False,
        engine: Any = "memory",
        memory_limit: int | str | None = None,
    ) -> None:
        self.selector = selector
        self.encoder = encoder
        self.pairs = pairs
        self.prior = prior
        self.smoothing = smoothing
        self.calibrate = calibrate
        self.monotone = monotone
        self.positive = positive
        self.levels = levels
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.normalize = normalize
        self.engine = engine
        self.memory_limit = memory_limit

    @classmethod
    def scorecard(cls, levels: Any = None, *, max_levels: int = 7, **options: Any) -> SelectiveNB:
        """Return an unfitted model for a point scorecard with few levels, any of which may be set by hand.

        Cuts and groups set by hand stay as they are, and columns with a rule stay on the card unless the rule excludes
        them. All other columns get at most ``max_levels`` levels, and columns without information on the classes are
        dropped. There are no pairs unless ``pairs=`` names them. Each level is one line of the card; contributions of
        levels with few rows are kept close to those of their neighbours. More points make the good class more likely,
        which is the more frequent class unless ``positive=`` names it. The fitted model is used like any other; see
        `points`, with its ``table`` and ``strategy``.

        Parameters
        ----------
        levels : dict, path of a YAML file, Scorecard or None, default=None
            Rules for the levels of single columns; the rule "*" applies to all columns without a rule. None: no rules.
        max_levels : int, default=7
            Largest number of levels of a column without levels by hand, not counting those of missing and special
            values.
        **options
            Other options of `SelectiveNB`, such as ``monotone={"income": 1}`` or ``pairs=[("age", "job")]``.

        Examples
        --------
        >>> import polars as pl
        >>> from bayesieve import SelectiveNB
        >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10, "job": ["a", "c", "b", "b"] * 10})
        >>> model = SelectiveNB.scorecard({"age": {"cuts": [30]}}).fit(frame, ["bad", "good", "good", "good"] * 10)
        >>> model.points().table().filter(feature="age", kind="level")["level"].to_list()
        ['<= 30', '> 30']
        """
        from bayesieve.classifier.card_options import card_options

        return cls(**card_options(levels, max_levels, options))

    @with_callbacks
    @with_shared_docs
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        benefit: Any = None,
        offset: Any = None,
    ) -> SelectiveNB:
        """Learn levels, search for weights, and fit the contributions of all features.

        Parameters
        ----------
        X : dataframe, 2-D array, sparse matrix or scan (`bayesieve.scan`)
            Training rows.
        y : array-like, shape (n_rows,), or str
            Class labels. ``y``, ``sample_weight`` and ``groups`` may also be names of columns of ``X``; for a scan,
            they must be.
        sample_weight : array-like, shape (n_rows,), optional
            Weights multiply counts: a weight of 2 equals the row repeated, unless ``normalize`` is True.
        groups : array-like, shape (n_rows,), optional
            Used by selectors that split rows by group; ignored, with a warning, by all others.
        benefit : array-like, shape (n_rows, ...), optional
            Benefits of the rows, for a selector with the criterion `bayesieve.criteria.Benefit`, which documents them.
        offset : array-like, shape (n_rows,) or (n_rows, n_classes), optional
            Log odds of ``classes_[1]`` (two classes), or log joint of each class, that are known beforehand, in nats,
            for rows in memory. Contributions are fitted in addition to the offset (``calibrate`` "levels" or "cells");
            levels and the search ignore it. Pass the offset of new rows to ``predict_proba``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the table or the target cannot be used; the message names the column and the remedy.

        Warns
        -----
        CautionWarning
            If the model may be useless or misleading: no feature is kept, row weights are far from 1, columns are
            copies of the target or of each other, identifiers or dates, or the order of the rows is informative; see
            ``cautions_``.
        """
        plan = FitPlan.of(self)  # checks and resolves all options once
        require_target(self, y)
        require_table(self, X)
        if offset is not None and is_scan(X, y):
            raise ValueError("offset= needs rows in memory; read the scan into a dataframe first.")

        with fit_task(self, n_subtasks=3) as task:
            # Rows: typed columns with their classes and weights, in memory or in files.
            rows = steps.read_rows(X, y, sample_weight, groups, plan)
            encoder, selector = clone(plan.encoder), clone(plan.selector)

            # Levels: cut each column where a cut shortens the description of the labels (Boulle 2006). Pairs of columns
            # that are more informative together than separately become further features.
            kernels = selector.kernel_families  # other processes compile these while the rows are coded
            with compiling_elsewhere(kernels), stage("Coding columns", plan.verbose), task.subtask("code columns"):
                coding = plan.coding_options(rows.table)
                coded, refitter = encoder.fit_with_refitter(rows.table, rows.target, rows.weights, coding)
            shift: Any = 0.0
            if benefit is not None:
                coded = with_benefit(coded, benefit, selector)
            if offset is not None:
                coded, shift = steps.with_offset(coded, offset, plan)

            self._fit_codes(coded, refitter, encoder, selector, plan, task, rows, shift)

        # Cautions come last, because some are about the model. They are stored first, because a warning may be raised
        # as an error.
        self.cautions_ = fit_cautions(rows, coded, refitter, plan, encoder, self.scorecard_, self.trace_)
        issue(self.cautions_)
        return self

    @with_callbacks
    def fit_coded(self, coded: CodedTable, encoder: Any, refitter: LevelRefitter | None = None) -> SelectiveNB:
        """Fit the model to rows that a fitted encoder has coded, so that several models share one coding.

        Parameters
        ----------
        coded, refitter
            Result of ``encoder.fit_with_refitter(X, y)``; it is not modified. If ``refitter`` is None, levels are not
            refitted during the search and not split into cells: contributions belong to levels.
        encoder : fitted TableEncoder or IndicatorEncoder, which the model keeps (not a copy) to code new rows.

        Examples
        --------
        >>> from bayesieve import SelectiveNB, TableEncoder
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> encoder = TableEncoder(pairs=0)
        >>> coded, refitter = encoder.fit_with_refitter(X, y)
        >>> [SelectiveNB(name).fit_coded(coded, encoder, refitter).n_features_selected_ for name in ("all", "map")]
        [4, 2]
        """
        plan = FitPlan.of(self)
        if plan.normalize and coded.weights is not None:
            raise ValueError(
                "fit_coded does not support normalize=True; divide sample_weight by its mean before coding."
            )
        with fit_task(self, n_subtasks=2) as task:
            self._fit_codes(coded, refitter, encoder, clone(plan.selector), plan, task)
        self.cautions_ = model_cautions(self.scorecard_, self.trace_, encoder.marks_, [weights_caution(coded.weights)])
        return self

    def _fit_codes(
        self,
        coded: CodedTable,
        refitter: LevelRefitter | None,
        encoder: Any,
        selector: CodedSelector,
        plan: FitPlan,
        task: FitTask,
        rows: steps.TrainingRows | None = None,
        shift: Any = 0.0,
    ) -> None:
        """Search, fit the contributions and build the scorecard, from coded rows.

        Parameters
        ----------
        coded : coded rows in their original order.
        refitter : refitter of the levels; None without raw values.
        encoder, selector : the fitted encoder, and the selector to fit.
        plan : options of the fit.
        task : receiver of progress reports, for callbacks.
        rows : the raw rows; None if the caller coded them.
        shift : (n_classes,) numbers that were added to the offset of the rows. They become part of the intercept,
            because the offset of a new row does not contain them.
        """
        require_classes(self, coded.classes)
        target_name = None if rows is None else rows.target_name
        steps.check_texts(coded, target_name)
        positive = None  # position of the positive class, if the user named it
        if plan.positive is not None:
            positive = positive_position(coded.classes, coded.counts.class_counts, plan.positive)
        signs = steps.signs_of(plan, encoder, np.asarray(coded.classes), positive)

        # Search: the trace records every visited subset, and weights follow from it (Boulle 2007, section 6). The time
        # limit starts here and includes the fit of contributions.
        clock = Clock(getattr(selector, "max_seconds", plan.max_seconds))
        with stage("Searching", plan.verbose), task.subtask("search", n_subtasks=None) as search:
            options = plan.search_options(None if rows is None else rows.groups, search)
            # Rows grouped by class make counts and searches faster, unless the search needs their order.
            ordered = coded if selector.needs_row_order else coded.by_class
            searched_rows = selector.fit_rows(ordered, refitter, **options)

        # Contributions: count, then fit jointly, on the rows that the search returns. A search with held-out rows
        # returns the other rows, with levels that were refitted without the held-out rows.
        evidence_stage = stage("Fitting the contributions", plan.verbose)
        with clock.ended_by_interrupt(), evidence_stage, task.subtask("fit evidence"):
            levels = encoder.levels_ if searched_rows.refitted_levels is None else searched_rows.refitted_levels
            fit_options = steps.fit_options(plan, encoder, levels, signs)
            weights = steps.search_weights(selector, levels, signs, fit_options.included)
            evidence = fit_evidence(searched_rows.coded, refitter, levels, weights, fit_options, clock)
            evidence = replace(evidence, intercept=evidence.intercept + shift)

        # Scorecard: everything after the fit reads this record. The encoder gets the levels that were refitted, and
        # those of fitted surfaces.
        if searched_rows.refitted_levels is not None or len(evidence.levels) > len(levels):
            encoder = steps.with_levels(encoder, evidence.levels)
        card = scorecard_of_fit(
            evidence,
            selector.weights_,
            signs,
            classes=np.asarray(coded.classes),
            columns=tuple(dict.fromkeys(encoder.levels_.column_names)),
            provenance=provenance_of(plan, selector, encoder, evidence, coded, positive, rows, searched_rows.held_out),
            library=encoder.library_,
        )
        if rows is not None and rows.date_orders:
            card = in_date_orders(card, rows.date_orders)
            encoder = steps.with_levels(encoder, TableLevels.of([feature.levels for feature in card.features]))
        selector.set_library(card.library)
        self._set_record(card, selector.trace_, has_column_names=hasattr(encoder, "feature_names_in_"))
        self.target_name_ = target_name
        self.selector_, self.encoder_ = selector, encoder

    def _set_record(
        self, card: Scorecard, trace: SearchTrace, *, has_column_names: bool, cautions: tuple[Caution, ...] = ()
    ) -> None:
        """Set the attributes that follow from a scorecard and a trace, and reset all others that an earlier fit or
        `_with_facts_for_commands` has set.

        ``has_column_names`` is whether the columns of the training table had names.
        """
        for name in ("selector_", "encoder_", "feature_names_in_"):
            if hasattr(self, name):
                delattr(self, name)
        self.target_name_, self.benefit_rule_, self.id_columns_ = None, None, ()
        self.scorecard_, self.trace_, self.cautions_ = card, trace, cautions
        self.classes_ = card.classes
        self.n_features_in_ = len(card.columns)
        if has_column_names:
            self.feature_names_in_ = np.asarray(card.columns, dtype=object)

    @classmethod
    def _of_record(
        cls,
        options: Mapping[str, Any],
        card: Scorecard,
        trace: SearchTrace,
        *,
        has_column_names: bool,
        cautions: tuple[Caution, ...],
    ) -> SelectiveNB:
        """Return a fitted model from constructor options, a scorecard, a trace and cautions, such as those in a file.

        ``has_column_names`` is whether the columns of the training table had names.
        """
        model = cls(**options)
        model._set_record(card, trace, has_column_names=has_column_names, cautions=cautions)
        return model

    def _with_facts_for_commands(
        self, target_name: str | None, benefit_rule: BenefitRule | None, id_columns: tuple[str, ...]
    ) -> SelectiveNB:
        """Return a copy that stores what later commands need: the name of the target column, the benefits of decisions,
        and the names of the columns that identify rows.
        """
        other = copy(self)
        other.target_name_, other.benefit_rule_, other.id_columns_ = target_name, benefit_rule, id_columns
        return other

    def edit(self) -> ModelEditor:
        """Return an editor for changing levels, contributions and texts of the model by hand.

        Its method ``done`` returns a new model and leaves this one unchanged; see `ModelEditor`.

        Examples
        --------
        >>> import polars as pl
        >>> from bayesieve import SelectiveNB
        >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10, "job": ["a", "c", "b", "b"] * 10})
        >>> model = SelectiveNB(pairs=0).fit(frame, ["no", "no", "yes", "yes"] * 10)
        >>> edited = model.edit().cut("age", model.encoder_.levels_[0].cut_points[0], 30).done("round numbers")
        >>> edited.scorecard_["age"].levels.labels
        ('<= 30', '> 30')
        """
        from bayesieve.classifier.editing import ModelEditor

        check_is_fitted(self, "scorecard_")
        return ModelEditor(self)

    def with_prior(self, shares: Mapping[Any, float], note: str = "", who: str | None = None) -> SelectiveNB:
        """Return a model for rows with other class shares, such as after undersampling one class for training.

        The log of the ratio of new to old share is added to the intercept of each class. This is exact if the rows of
        each class have the same distribution as in training. The change is recorded in ``edits_``.

        Parameters
        ----------
        shares : dict from classes to their new shares, for all classes or all but one.
        note, who : reason and author of the change, as in `ModelEditor.done`.

        Raises
        ------
        ValueError
            If a class is unknown, or shares are not positive or do not add up to 1.

        Examples
        --------
        >>> from bayesieve import SelectiveNB
        >>> X = [[x] for x in [1.0, 2.0, 3.0, 4.0] * 10]
        >>> model = SelectiveNB().fit(X, ["no", "no", "yes", "yes"] * 10)
        >>> rare = model.with_prior({"yes": 0.01}, note="1 % of the rows in production")
        >>> (rare.scorecard_.intercept - model.scorecard_.intercept).round(2).tolist()
        [0.68, -3.91]
        >>> rare.edits_[0].after
        'no: 0.99; yes: 0.01'
        """
        from bayesieve.classifier.editing import with_prior

        check_is_fitted(self, "scorecard_")
        return with_prior(self, shares, note, who)

    def update(self, X: Any, y: Any, sample_weight: Any = None) -> SelectiveNB:
        """Return a new model, updated with further rows; this one stays unchanged.

        Columns keep their levels and cells, and the search is not repeated. Row counts by class, level and cell are
        exact, and so are counted contributions (``calibrate`` False or True). Fitted contributions are refitted to the
        new rows, with a normal prior given by the previous contributions and their standard errors. The class shares of
        the new rows may differ; the new model has the class shares of all rows. Categories that the model has not seen
        remain unseen. See docs/update-and-merge.md.

        Parameters
        ----------
        X, y, sample_weight : rows in memory, their labels and weights, as for `fit`.

        Raises
        ------
        ValueError
            If the rows cannot be read, or ``y`` contains a label that is not a class of the model.

        Examples
        --------
        >>> from bayesieve import SelectiveNB
        >>> X = [[x] for x in [1.0, 2.0, 3.0, 4.0] * 10]
        >>> model = SelectiveNB().fit(X, ["no", "no", "yes", "yes"] * 10)
        >>> later = model.update([[1.5], [3.5]], ["no", "yes"])
        >>> later.n_rows_, later.scorecard_.class_counts.tolist()
        (42, [21.0, 21.0])
        """
        from bayesieve.classifier.combining import update

        check_is_fitted(self, "scorecard_")
        return update(self, X, y, sample_weight)

    @property
    def edits_(self) -> tuple[Edit, ...]:
        """Changes by hand, the oldest first."""
        edits: tuple[Edit, ...] = self.scorecard_.provenance.get("edits", ())
        return edits

    @property
    def weight_factor_(self) -> float:
        """Common factor g on the selector's weights: calibration keeps the weights close to g times those of the
        selector. 1 without calibration.
        """
        return float(self.scorecard_.provenance["weight_factor"])

    @property
    def smoothing_(self) -> Smoothing:
        """Smoothing of the probabilities, after calibration."""
        smoothing: Smoothing = self.scorecard_.provenance["smoothing"]
        return smoothing

    @property
    def n_rows_(self) -> int:
        """Number of training rows."""
        return int(self.scorecard_.provenance["n_rows"])

    @property
    def feature_weights_(self) -> np.ndarray:
        """Factor on the counted contributions of each feature, shape (n_features,); 0 for features whose fit starts
        from 0.
        """
        return np.array([feature.weight for feature in self.scorecard_.features])

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean absolute contribution of each input column, scaled to add up to 1, shape (n_columns,)."""
        return self.scorecard_.column_importances

    @property
    def selected_features_(self) -> list[str]:
        """Names of the features in the model, the most important first."""
        card = self.scorecard_
        return [card.features[k].name for k in card.by_importance.tolist()]

    @property
    def n_features_selected_(self) -> int:
        """Number of features in the model."""
        return int(self.scorecard_.used.size)

    def summary(self) -> Any:
        """Return a frame with one row per feature, the most important first.

        Columns are feature, kind, weight, level_score, importance and n_levels. If features have signs, there are also
        monotone, the sign, and monotone_class, the class that it refers to.
        """
        from bayesieve.classifier.summary import summarise

        refuse_fork()
        check_is_fitted(self, "scorecard_")
        return summarise(self)

    def levels_to_yaml(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the levels of the columns as YAML, which can be edited and passed as ``levels``.

        Without changes, they give the same model of the same rows. Columns with a single level, and pairs, are not
        included. Raise ValueError for a model of indicators.

        Parameters
        ----------
        path : file to write; None only returns the text.
        """
        from bayesieve.classifier.summary import rules_of
        from bayesieve.discretize.rules import levels_to_yaml
        from bayesieve.table.writing import write_atomically

        check_is_fitted(self, "scorecard_")
        side, features = self.scorecard_.side, self.scorecard_.features
        signs = {feature.name: side * feature.sign for feature in features if feature.sign}
        edited = {str(edit.feature) for edit in self.edits_}
        text = levels_to_yaml([feature.levels for feature in features], signs, rules_of(self), edited)
        if path is not None:
            write_atomically(path, text)
        return text

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: Any = None,
        test: Sequence[Any] | None = None,
        benefit: Any = None,
        cv: Any = None,
        held_out: bool = False,
        time: Any = None,
        by: str | Sequence[str] = (),
        rows: Any = None,
        positive: Any = None,
        title: str | None = None,
        facts: Mapping[str, str] | None = None,
        challenger: Any = None,
        min_count: int | None = None,
    ) -> Any:
        """Write a self-contained HTML report about the model.

        Parameters
        ----------
        path : file to write, ending in ``.html`` or ``.htm``; if None, the report is returned, and notebooks show it.
        X, y : rows and labels on which performance is measured; without them, the report shows only the model.
            Performance is that of this model unless the rows are its training rows, in any order; these are predicted
            by 5-fold cross-validation. The report states the protocol with every figure. If ``X`` is a scan, ``y``
            names its target column and 50,000 random rows are used.
        sample_weight : row weights of ``X``.
        test : (X, y) or (X, y, sample_weight), optional
            Test rows, on which the model was not trained. The overview compares them with ``X``; curves, thresholds,
            segments, class shares by cell, benefits and explained rows all describe the test rows.
        benefit : `BenefitClassifier`, or benefits of the rows as it accepts them; adds the benefits of decisions.
        cv : int, "time", splitter or pairs of row positions, optional
            Cross-validation of models with the options of this one on ``X``: a number of folds (stratified and, unlike
            scikit-learn's, shuffled); "time", five blocks in the order of ``time``, each but the first predicted by a
            model of all earlier rows; a scikit-learn splitter; or (train, test) pairs. 0: performance is not measured.
        held_out : True states that ``X`` was not used for training; this model is then measured on it.
        time : str or array-like, shape (n_rows,), optional
            Numbers or dates that order the rows, or the name of their column, which the model need not use; by default
            rows are in order. If it is given, or ``cautions_`` has one of kind "order", the report also shows the
            performance on the last fifth of the rows of a model of earlier rows (``later``).
        by : column or columns of ``X`` whose values form segments, in addition to the levels of features; the model
            need not use them. Dates and ``time`` are grouped by months, quarters or years.
        rows : int or array-like of int, optional
            Positions of rows of ``X`` to explain in the report, or their number: a clear case, a close call and the
            most confident mistake come first. None: the report contains no values of single rows.
        positive : class that curves, contributions, thresholds and texts refer to; by default the positive class of
            the model.
        title : headline; by default it names the target.
        facts : dict from names to texts
            Lines of the overview, such as ``{"Purpose": "Decisions on consumer credit", "Owner": "Risk"}``.
        challenger : fitted model, scorecard, or any classifier of the same classes, to compare with this model on
            the rows of the report, by period if there is a ``time``. `challenge` explains the tests and the swap
            set.
        min_count : by default, cells with fewer than 5 training rows are joined with others of their level, and
            intervals with their neighbours. 1 shows every cell. More than 1 also rounds all counts of rows by level
            to multiples of it, and omits segments and the fields of *What if*.

        Returns
        -------
        Performance, Report or None
            Measured performance; None without rows, or with a warning if it cannot be measured. Without ``path``, a
            `Report` with the performance as attribute ``performance`` and a method ``save(path)``.

        Raises
        ------
        ValueError
            If ``y`` or ``sample_weight`` does not match ``X``, ``y`` contains a label that is not a class of the model,
            ``cv`` cannot split the rows, or ``path`` has another ending or cannot be written.
        """
        from bayesieve.classifier.report_data import report_data
        from bayesieve.report import Report, render_report
        from bayesieve.table.writing import check_html

        if path is not None:
            check_html(path)
        options = {"benefit": benefit, "cv": cv, "held_out": held_out, "rows": rows, "positive": positive}
        options |= {"title": title, "test": test, "by": by, "facts": facts, "challenger": challenger}
        data = report_data(self, X, y, sample_weight, time=time, min_count=min_count, **options)
        report = Report(render_report(data), data.performance)
        if path is None:
            return report
        report.save(path)
        return data.performance

    def document(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: Any = None,
        test: Sequence[Any] | None = None,
        cv: Any = None,
        held_out: bool = False,
        time: Any = None,
        by: str | Sequence[str] = (),
        positive: Any = None,
        title: str | None = None,
        facts: Mapping[str, str] | None = None,
        min_count: int | None = None,
    ) -> Any:
        """Write a validation document of the model, as an HTML page or as Markdown.

        Its sections name points of Annex IV of the EU AI Act and themes of model risk management (SR 26-2): purpose,
        data and their hashes, method, selection, performance in and out of time, stability, calibration by segment,
        limits, a monitoring plan, changes by hand, and fields for signatures. It does not claim compliance. Facts that
        only people know are fields to complete unless ``facts`` contains them; measurements that the rows do not allow
        are listed as not measured.

        Parameters
        ----------
        path : file to write, ending in ``.html``, ``.htm``, ``.md`` or ``.markdown``.
        X, y, sample_weight, cv, held_out, by, positive, title, min_count : as in `report`.
        test : (X, y) or (X, y, sample_weight), optional
            Test rows, on which the model was not trained, for performance, stability and calibration.
        time : str or array-like, shape (n_rows,), optional
            Order of the rows, as in `report`. Test rows count as out of time if all of them are later than the training
            rows.
        facts : texts by name, such as ``{"Purpose": "Decisions on consumer credit", "Owner": "Risk"}``. The name of
            a field to complete, such as "Human oversight", fills that field.

        Returns
        -------
        Performance or None
            Measured performance, as returned by `report`.

        Raises
        ------
        ValueError
            For invalid arguments, as in `report`.
        """
        from bayesieve.classifier.report_data import drift_of, report_data
        from bayesieve.report.document import check_ending, render_document
        from bayesieve.table.writing import write_atomically

        check_ending(path)
        options = {"cv": cv, "held_out": held_out, "positive": positive, "title": title, "test": test, "by": by}
        data = report_data(self, X, y, sample_weight, time=time, min_count=min_count, facts=facts, **options)
        write_atomically(path, render_document(path, data, drift_of(self, data)))
        return data.performance

    def save(self, path: str | os.PathLike[str], *, min_count: int = 1) -> None:
        """Write the model as JSON, exact to the last bit; read it with `bayesieve.load`.

        The file is read back and checked before it replaces an older file. Options that are objects are stored as text.
        Categories of columns that the model does not use are omitted. Raise ValueError if the name has the ending of
        another format, such as ``model.pkl``.

        Parameters
        ----------
        path : file to write.
        min_count : int, default=1
            If above 1, counts of rows by cell and class are rounded to multiples of it, so that small counts are not
            revealed. Predictions stay the same to the last bit; intervals and importances change a little. See
            docs/model-file.md.
        """
        from bayesieve.classifier.persistence import save

        check_is_fitted(self, "scorecard_")
        save(with_card(self, with_hidden_counts(self.scorecard_, min_count)), path)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        if not hasattr(self, "scorecard_"):
            shown: dict[str, str] = super()._repr_mimebundle_(**options)
            return shown
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _repr_html_(self) -> str:
        if not hasattr(self, "scorecard_"):
            return super()._repr_html_()
        from bayesieve.classifier.report_data import of_features
        from bayesieve.report import render_card

        return render_card(of_features(self))
