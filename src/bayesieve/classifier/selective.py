"""`SelectiveNB`, the end-to-end classifier for raw tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
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
    from bayesieve.scorecard.edits import Edit


@with_shared_docs
class SelectiveNB(CallbackSupportMixin, Predicting):
    """Selective naive Bayes classifier on raw, mixed tables.

    Codes every column (intervals of numbers, groups of categories), decides how much weight each feature deserves, and
    predicts with P(j | x) proportional to P(j) prod_k P(x_k | j)^w_k. Takes any dataframe that narwhals reads, or a 2-D
    array; missing values and categories never seen in training are no error.

    Parameters
    ----------
    selector : str or selector, default="compression"
        The selector that finds the weights: ``"all"``, ``"map"``, ``"bayesian"``, ``"compression"``, ``"wrapper"``,
        ``"boosted"``, ``"clusters"``, ``"accuracy"``, ``"auc"``, ``"information-gain"``,
        ``"imprecise-information-gain"``, ``"mrmr"``, ``"cfs"``, or an object with its options.
    encoder : "modl", TableEncoder or IndicatorEncoder, default="modl"
        How columns are coded; an `IndicatorEncoder` makes features of scores at thresholds. With fitted weights or
        contributions, a `TableEncoder` that leaves ``categorical`` at its default has "auto" there.
        The encoder of a selector object is used if this one is left at ``"modl"``.
    pairs : "auto", int or list of pairs of names, default="auto"
        Pairs of columns that become further features: a number is an upper limit, a list names them. "auto": as many as
        pay for themselves, with compression-based averaging only. An encoder with ``pairs`` of its own keeps these.
    prior : {"sizes", "published"}, default="sizes"
        How the MODL criterion announces intervals and groups, see `MODLDiscretizer` and `MODLGrouper`. Also holds for a
        `TableEncoder` that leaves it at its default.
    smoothing : "m-estimate" or float, default="m-estimate"
        See `DiscreteNB`; also used by a selector given by name.
    calibrate : {"auto", "weights", "levels", "cells"} or bool, default="auto"
        "weights" or True: the weights are fitted once more to the training rows, each predicted from all others, within
        [0, 1] and close to the selector's times a common factor, which corrects the overconfidence left after
        averaging; and another smoothing replaces the m-estimate if it predicts the rows better. "levels": the
        contributions of all levels are then fitted jointly. They depart from the counted values only where the rows
        support it; with compression-based averaging, features of no use then drop out. "cells": also within levels,
        as smooth curves of numbers and single values of groups, so that columns without levels may matter. "auto":
        "cells", with compression-based averaging only. False: the weights of the selector are used as they are.
    monotone : dict from names of numeric columns to +1 or -1, or None, default=None
        For two classes and fitted contributions: the contribution to the ``positive`` class (by default 1 of the labels
        0 and 1, and "yes" of "no" and "yes") never falls (+1) or never rises (-1) with the number. Missing values are
        free; pairs with these columns are left out. A sign that the rows contradict is among
        ``cautions_``.
    positive : class label or None, default=None
        The class that reasons, signs, points, the score of exports, curves and texts are about; None: the second of
        two, ``classes_[1]``; "majority": the one of two with more rows. ``classes_`` and the columns of
        ``predict_proba`` stay in order. Of more than two classes, reasons, figures and exports are about it; None:
        about the predicted class, or each of them.
    levels : dict, path of a YAML file, Scorecard or None, default=None
        Rules for the levels of single columns, as in `TableEncoder`: cuts and groups by hand, special values, missing
        values joined to a level, monotone levels and contributions, numbers of rows and of levels, columns that are
        never or always in the model. `levels_to_yaml` writes the levels of a fitted model; its ``scorecard_`` keeps
        them for other rows.
    max_seconds : float or None, default=None
        The search, and the calibration after it, keep the best so far after this many seconds; filters have no limit.
        If they are over before the rows of a scan are read, ``fit`` raises TimeoutError. Like the options below it
        also holds for a selector object that leaves it at its default.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the searches of other selectors, and of the default one if ``calibrate`` is "weights", True or False.
        Otherwise the model follows from the rows alone.
    normalize : bool, default=False
        True: ``sample_weight`` is divided by its mean over the rows of positive weight. For weights that are no numbers
        of repeated rows, such as shares or survey weights.
    engine : "memory", "disk", distributed.Client or concurrent.futures.Executor, default="memory"
        Storage of codes and of the numbers of the search. "disk": files in the folder for temporary files, as for
        scans. A Dask client or an executor reads, counts and codes the rows of a scan in its workers, which must see
        the files; the search runs here.
    memory_limit : int, str or None, default=None
        Memory for a fit from files, such as "4GiB", at least 512 MiB; None: 4 GiB, or half the machine's if that is
        less. A frame that is in memory already does not count; given a limit, its codes and the numbers of the search
        are kept in files.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
    feature_weights_ : float array, shape (n_features,)
        Factors from 0 to 1 on the counted contributions of each column (or indicator), then of each pair of columns.
        Fitted contributions start from these products. A feature that is fitted from nothing has weight 0 and may be
        important: ``feature_importances_`` and ``selected_features_`` show which features are in the model.
    weight_factor_ : float
        Common factor on the selector's weights around which calibration fitted them; 1 without calibration.
    smoothing_ : "m-estimate", float or Shrinkage
        Smoothing of the probabilities: ``smoothing``, or what calibration chose in place of the m-estimate.
    selected_features_ : list of str
        Names of the features in the model, those whose contributions are not all zero, most important first.
    n_features_selected_, n_rows_ : int
        Number of features in the model, and of training rows.
    feature_importances_ : float array, shape (n_columns,)
        Share of the contributions that comes from each input column: mean absolute contributions over the training
        rows. A pair counts half to each of its columns; ``summary`` lists the importance of every feature.
    scorecard_ : Scorecard
        The fitted model as plain arrays: an intercept, and a table of contributions for each feature.
    edits_ : tuple of Edit
        What was changed by hand, see `edit` and `with_prior`: ``what``, ``feature``, ``who``, ``when``, ``why``,
        ``before``, ``after``, and AUC and log loss before and after on the rows given, if any.
    trace_ : SearchTrace
        The record of the search.
    selector_, encoder_
        The fitted selector and the fitted encoder of the last ``fit``; a model that was loaded has none.
    benefit_rule_ : BenefitRule or None
        Benefits of decisions that `bayesieve fit --benefit` keeps with the model.
    id_columns_ : tuple of str
        Columns that identify rows, which `bayesieve fit --id` keeps with the model for the command line to write.
    cautions_ : tuple of Caution
        Suspicious properties of the data or the model, each with its ``kind``, ``columns`` and ``sentence``. ``fit``
        warns (`CautionWarning`) about the graver ones. ``fit_coded`` lists those that follow from the model, unwarned.

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
    cautions_: tuple[Caution, ...]
    benefit_rule_: Any = None
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
        """Return an estimator for a points scorecard with few levels, of which any number may be given by hand.

        Cuts and groups given by hand stay as they are, and columns with a rule stay on the card unless it excludes
        them. All other columns get at most ``max_levels`` levels, and those that say nothing are left out. There are no
        pairs unless ``pairs=`` names them. Each level is one line of the card; those with few rows are held close to
        the others. More points make the good class more likely: that of more rows, unless ``positive=`` names it. The
        fitted model is used as any other; see `points`, with its ``table`` and ``strategy``.

        Parameters
        ----------
        levels : dict, path of a YAML file, Scorecard or None, default=None
            Rules for the levels of single columns; "*" holds for all columns without one.
        max_levels : int, default=7
            Upper limit of the levels of a column without levels by hand, those of missing and special values not
            counted.
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
        X : dataframe, 2-D array, sparse matrix, or a scan (`bayesieve.scan`); then y, weights and groups name columns
        sample_weight : array-like, shape (n_rows,), optional
            Weights multiply counts: a weight of 2 equals the row repeated, unless ``normalize`` is True.
        groups : array-like, shape (n_rows,), optional
            Used by selectors that split rows by group; ignored, with a warning, by all others.
        offset : array-like, shape (n_rows,) or (n_rows, n_classes), optional
            Log odds known beforehand, of ``classes_[1]`` of two or of each class, for rows in memory. Contributions are
            fitted to what the offset does not explain (``calibrate`` "levels" or "cells"); levels and the search ignore
            it. Pass those of new rows to ``predict_proba``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the table or the target cannot be used; the sentence names the column and the remedy.

        Warns
        -----
        CautionWarning
            If the model may be of no use: no feature is kept, row weights are far from 1, or columns
            are copies of the target or of each other, identifiers or dates, or the order of the rows is informative;
            see ``cautions_``.
        """
        plan = FitPlan.of(self)  # every option is checked and resolved here, once
        require_target(self, y)
        require_table(self, X)
        if offset is not None and is_scan(X, y):
            raise ValueError("offset= is for rows in memory; read the scan into a frame first.")

        with fit_task(self, n_subtasks=3) as task:
            # Rows: typed columns with their classes and weights, in memory or in files.
            rows = steps.read_rows(X, y, sample_weight, groups, plan)
            engine = steps.open_engine(rows, plan)

            # Levels: each column is cut where a cut shortens the description of the labels (Boulle 2006). Pairs of
            # columns that are more informative together become further features.
            kernels = plan.selector.kernel_families  # those of the search, which other processes compile meanwhile
            with compiling_elsewhere(kernels), stage("Coding columns", plan.verbose), task.subtask("code columns"):
                coding = plan.coding_options(engine)
                coded, refitter = plan.encoder.fit_with_refitter(rows.table, rows.target, rows.weights, coding)
            shift: Any = 0.0
            if benefit is not None:
                coded = with_benefit(coded, benefit, plan.selector)
            if offset is not None:
                coded, shift = steps.with_offset(coded, offset, plan)

            self._fit_codes(coded, refitter, plan, task, rows, shift)

        # Cautions: last, because some judge the model; stored before they are issued, because warnings may be errors.
        self.cautions_ = fit_cautions(rows, coded, refitter, plan, self.scorecard_, self.trace_)
        issue(self.cautions_)
        return self

    @with_callbacks
    def fit_coded(self, coded: CodedTable, encoder: Any, refitter: LevelRefitter | None = None) -> SelectiveNB:
        """Fit the model to rows that a fitted encoder has coded, so that several models share one coding.

        Parameters
        ----------
        coded, refitter
            As ``encoder.fit_with_refitter(X, y)`` returns them; they are not modified. Without a refitter, levels are
            not refitted during the search, and not split into cells: contributions are those of levels.
        encoder : TableEncoder or IndicatorEncoder, which the model keeps (not a copy) to code rows to be predicted.

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
        plan = FitPlan.of(self, encoder)
        if plan.normalize and coded.weights is not None:
            raise ValueError(
                "fit_coded does not support normalize=True; divide sample_weight by its mean before coding."
            )
        with fit_task(self, n_subtasks=2) as task:
            self._fit_codes(coded, refitter, plan, task)
        self.cautions_ = model_cautions(self.scorecard_, self.trace_, encoder.marks_, [weights_caution(coded.weights)])
        return self

    def _fit_codes(
        self,
        coded: CodedTable,
        refitter: LevelRefitter | None,
        plan: FitPlan,
        task: FitTask,
        rows: steps.TrainingRows | None = None,
        shift: Any = 0.0,
    ) -> None:
        """Search, fit the contributions and build the scorecard, from coded rows.

        Parameters
        ----------
        coded : coded rows in their original order.
        refitter : refits the levels of the rows; None without raw values.
        plan : options of the fit.
        task : reports progress to callbacks.
        rows : the raw rows; None if they were coded elsewhere.
        shift : (n_classes,) numbers that were added to an offset of the rows. The offset of a new row lacks them, so
            they become part of the intercept.
        """
        require_classes(self, coded.classes)
        target_name = None if rows is None else rows.target_name
        steps.check_texts(coded, target_name)
        positive = None  # position of the class that signs are about, if it was named
        if plan.positive is not None:
            positive = positive_position(coded.classes, coded.counts.class_counts, plan.positive)
        signs = steps.signs_of(plan, np.asarray(coded.classes), positive)
        selector, encoder = plan.selector, plan.encoder
        # Counts and searches are fastest on rows grouped by class.
        searched = coded if selector.needs_row_order else coded.by_class

        # Search: every subset visited is in the trace; weights follow from it (Boulle 2007, section 6). The time limit
        # begins here, and holds for the fit of contributions, too.
        clock = Clock(getattr(selector, "max_seconds", None))
        with stage("Searching", plan.verbose), task.subtask("search", n_subtasks=None) as search:
            options = plan.search_options(None if rows is None else rows.groups, search)
            fit_rows = selector.fit_rows(searched, refitter, **options)

        # Contributions: counted first, then fitted jointly, on the rows that the search returns. A search with held-out
        # rows returns the others, with levels that were refitted without the held-out ones.
        evidence_stage = stage("Fitting the contributions", plan.verbose)
        with clock.ended_by_interrupt(), evidence_stage, task.subtask("fit evidence"):
            levels = encoder.levels_
            if fit_rows is not searched and fit_rows.levels is not None and fit_rows.levels is not coded.levels:
                levels = TableLevels.of(fit_rows.levels)
            fit_options = steps.fit_options(plan, levels, signs)
            weights = steps.search_weights(selector, levels, signs, fit_options.included)
            evidence = fit_evidence(fit_rows, refitter, levels, weights, fit_options, clock)
            evidence = replace(evidence, intercept=evidence.intercept + shift)

        # Scorecard: the record that everything after the fit reads. Surfaces of the fit are levels of the encoder, too.
        encoder = steps.with_levels(encoder, evidence.levels)
        card = scorecard_of_fit(
            evidence,
            selector.weights_,
            signs,
            classes=np.asarray(coded.classes),
            columns=tuple(dict.fromkeys(encoder.levels_.column_names)),
            provenance=provenance_of(plan, encoder, evidence, coded, positive, rows, fit_rows is not searched),
            library=encoder.library_,
        )
        if rows is not None and rows.date_orders:
            card = in_date_orders(card, rows.date_orders)
            encoder = steps.with_levels(encoder, TableLevels.of([feature.levels for feature in card.features]))
        selector.set_library(card.library)
        self._set(card, selector.trace_, target_name, hasattr(encoder, "feature_names_in_"))
        self.selector_, self.encoder_ = selector, encoder

    def _set(self, card: Scorecard, trace: SearchTrace, target_name: str | None, named: bool) -> None:
        """Set the fitted attributes. No other code writes them.

        ``named`` says whether the columns of the training table had names.
        """
        for name in ("selector_", "encoder_", "feature_names_in_"):
            if hasattr(self, name):
                delattr(self, name)
        self.benefit_rule_, self.id_columns_ = None, ()
        self.scorecard_, self.trace_ = card, trace
        self.classes_, self.target_name_ = card.classes, target_name
        self.n_features_in_ = len(card.columns)
        if named:
            self.feature_names_in_ = np.asarray(card.columns, dtype=object)

    @classmethod
    def _of_record(cls, options: Mapping[str, Any], card: Scorecard, trace: SearchTrace, **facts: Any) -> SelectiveNB:
        """Return a fitted model from a scorecard and a trace, such as those in a file, and constructor options."""
        model = cls(**options)
        model._set(card, trace, facts["target_name"], facts["named"])
        model.cautions_, model.benefit_rule_, model.id_columns_ = (
            facts["cautions"],
            facts["benefit_rule"],
            facts["id_columns"],
        )
        return model

    def edit(self) -> ModelEditor:
        """Return an editor with which levels, contributions and texts of the model can be changed by hand.

        Its ``done`` returns a new model, and leaves this one unchanged; see `ModelEditor`.

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

        The intercept moves by the logarithm of the new share of each class over its share so far. This is exact if the
        rows of a class are alike in both places. The change is recorded in ``edits_``.

        Parameters
        ----------
        shares : dict from classes to their shares, of all classes or all but one.
        note, who : why, and by whom, as for `edit`.

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
        """Return a new model refitted with further rows; this one stays unchanged.

        Columns keep their levels and cells, and the search is not repeated. Row counts by class, level and cell are
        exact, and so are counted contributions (``calibrate`` False or True). Fitted contributions are refitted to the
        new rows, with the previous ones and their standard errors as a normal prior. The class shares of the new rows
        may differ; the new model has those of all rows. Categories never seen before stay unseen. See
        docs/update-and-merge.md.

        Parameters
        ----------
        X, y, sample_weight : rows in memory, as `fit` takes them.

        Raises
        ------
        ValueError
            If the rows cannot be read, or ``y`` holds a class that the model does not know.

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
        """Changes made by hand, oldest first."""
        edits: tuple[Edit, ...] = self.scorecard_.provenance.get("edits", ())
        return edits

    @property
    def weight_factor_(self) -> float:
        """Common factor on the selector's weights around which calibration fitted them."""
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
        """Factor on the counted contributions of each feature, shape (n_features,); 0 also if fitted from nothing."""
        return np.array([feature.weight for feature in self.scorecard_.features])

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of the contributions that comes from each input column, shape (n_columns,)."""
        return self.scorecard_.column_importances

    @property
    def selected_features_(self) -> list[str]:
        """Names of the features in the model, most important first."""
        card = self.scorecard_
        return [card.features[k].name for k in card.by_importance.tolist()]

    @property
    def n_features_selected_(self) -> int:
        """Number of features in the model."""
        return int(self.scorecard_.used.size)

    def summary(self) -> Any:
        """Return a frame with one row per feature, the most important first.

        Columns are feature, kind, weight, level_score, importance and n_levels; with signs also monotone, and
        monotone_class (the class whose contributions have the sign).
        """
        from bayesieve.classifier.summary import summarise

        refuse_fork()
        check_is_fitted(self, "scorecard_")
        return summarise(self)

    def levels_to_yaml(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the levels of the columns as YAML, which can be edited and passed as ``levels``.

        Unedited, they give the same model of the same rows. Columns with a single level, and pairs, are not included.
        Models of indicators are refused (ValueError).

        Parameters
        ----------
        path : file to write; None: only return the text.
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
        """Write a self-contained HTML report.

        Parameters
        ----------
        path : file to write, named ``.html`` or ``.htm``; without it the report is returned and notebooks show it.
        X, y : rows to measure on; without them the report shows the model only. The figures are
            those of this very model, unless the rows are its training rows, in any order: these are predicted by
            5-fold cross-validation. The report tells which with every figure. Of what `bayesieve.scan` takes,
            with the name of a column as ``y``, 50,000 rows are drawn at random.
        sample_weight : row weights of ``X``.
        test : (X, y) or (X, y, sample_weight), optional
            Rows that the model was not trained on. The overview has them beside ``X``, and everything else is about
            them: curves, thresholds, segments, shares of the classes by cell, benefits and explained rows.
        benefit : `BenefitClassifier`, or benefits as it takes them, of the rows; shows what decisions bring.
        cv : int, "time", splitter or pairs of row positions, optional
            Measure models of the same settings on folds of ``X`` in any case: a number of folds (stratified and, unlike
            scikit-learn's, shuffled); "time", five blocks in the order of ``time``, each but the first predicted by a
            model of all earlier rows; a scikit-learn splitter; or (train, test) pairs. 0: measure nothing.
        held_out : True: ``X`` was not used for training; this very model is measured on it, as the report tells.
        time : str or array-like, shape (n_rows,), optional
            Numbers or dates by which to order the rows, or the name of their column, which the model need not know;
            by default rows are in order. If it is given, or ``cautions_`` has one of kind "order", figures on
            shuffled folds stand beside those of a model of earlier rows on the last fifth (``later``).
        by : column or columns of ``X`` whose values are segments, besides those of the features; the model need not
            know them. Dates and ``time`` are grouped by months, quarters or years.
        rows : int or array-like of int, optional
            Rows of ``X`` to explain in the report, by position, or how many: a clear case, a close call and the most
            confident mistake come first. By default no value of any row stands in the report.
        positive : the class that curves, contributions, thresholds and texts are about; by default that of the model.
        title : headline; by default it names the target.
        facts : lines of the overview by name, such as ``{"Purpose": "Decisions on consumer credit", "Owner": "Risk"}``.
        challenger : a fitted model or scorecard that may take the place of this one, or any classifier of the same
            classes; compared with it on the rows that the page is about, by period if they have a ``time``. `challenge`
            explains the tests and the swap set.
        min_count : by default cells of fewer than 5 training rows are joined with others of their level, intervals with
            their neighbours. 1 shows every cell. More than 1 also rounds all counts of rows by level to multiples of
            it, and leaves out segments and the fields of *What if*.

        Returns
        -------
        Performance, Report or None
            The figures shown, or None without rows; None with a warning if they cannot be measured. Without ``path``
            a `Report`, whose ``performance`` holds them and whose ``save(path)`` writes it.

        Raises
        ------
        ValueError
            If ``y`` or ``sample_weight`` does not fit ``X``, ``y`` holds a class that the model does not know, ``cv``
            cannot split the rows, or ``path`` ends otherwise or cannot be written.
        """
        from bayesieve.classifier.report_data import report_data
        from bayesieve.report import Report, render_report
        from bayesieve.table.writing import check_html

        if path is not None:
            check_html(path)
        options = {"benefit": benefit, "cv": cv, "held_out": held_out, "rows": rows, "positive": positive}
        options |= {"title": title, "test": test, "by": by, "facts": facts, "challenger": challenger}
        data = report_data(self, X, y, sample_weight, time=time, min_count=min_count, **options)
        made = Report(render_report(data), data.performance)
        if path is None:
            return made
        made.save(path)
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
        """Write a validation document, as a page or as Markdown.

        Its sections name points of Annex IV of the EU AI Act and themes of model risk management (SR 26-2): purpose,
        data and their hashes, method, selection, performance in and out of time, stability, calibration by segment,
        limits, a monitoring plan, changes by hand, and fields for signatures. It does not claim compliance. What only
        people know is a field to complete unless ``facts`` has it; what these rows do not allow is said to be not
        measured.

        Parameters
        ----------
        path : file to write, named ``.html``, ``.htm``, ``.md`` or ``.markdown``.
        X, y, sample_weight, cv, held_out, by, positive, title, min_count : as in `report`.
        test : (X, y) or (X, y, sample_weight), optional
            Rows that the model was not trained on, for performance, stability and calibration.
        time : str or array-like, shape (n_rows,), optional
            As in `report`. Test rows are out of time if they are all later than the training rows.
        facts : texts by name, such as ``{"Purpose": "Decisions on consumer credit", "Owner": "Risk"}``. The names of
            fields to complete, such as "Human oversight", fill these.

        Returns
        -------
        Performance or None
            As `report` returns it.

        Raises
        ------
        ValueError
            As in `report`.
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

        It is read back before it replaces an older file. Options that are objects are kept as text. Categories of
        columns that are not in the model are not in its file. The name of another format, such as ``model.pkl``, is
        refused.

        Parameters
        ----------
        path : file to write.
        min_count : int, default=1
            More than 1: counts of rows by cell and class are rounded to multiples of it, so that none below it is told.
            Predictions stay the same to the last bit, intervals and importances change a little. See
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
