"""Base class of all selectors, which code the table and compute a weight for each feature.

A coded table (`CodedTable`) holds, for each feature and row, the number of a *level*: an interval of numbers or a group
of categories. A selector gives each feature a weight from 0 (not used) to 1, usually by a search over subsets, whose
record is a `SearchTrace`.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, dataclass_transform

import narwhals as nw
import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from bayesieve.compiling import compiling_elsewhere
from bayesieve.counts import CodedTable, Smoothing
from bayesieve.counts.contingency import SMOOTHING_OPTION
from bayesieve.criteria import Criterion
from bayesieve.discretize import IndicatorEncoder, TableEncoder
from bayesieve.discretize.codes import read_codes, refuse_empty_tables
from bayesieve.discretize.refitting import LevelRefitter
from bayesieve.parts import Allowed, Score, check_allowed, with_shared_docs
from bayesieve.search import SearchTrace
from bayesieve.table import as_sample_weight, as_target
from bayesieve.table.cautions import issue, warn_caller, weights_caution
from bayesieve.table.frames import new_table, require_table, select_columns, whole_frame
from bayesieve.table.levels import TableLevels, columns_behind
from bayesieve.table.target import refuse_identifiers, require_classes, require_target

SHARED_OPTIONS = {
    "smoothing": SMOOTHING_OPTION,
    "max_seconds": Allowed("be None or a number of seconds of at least 0", (None,), Real, 0, np.inf),
    "random_state": Allowed(
        f"be None, a whole number from 0 to {2**32 - 1}, a RandomState or a Generator",
        values=(None,),
        number=Integral,
        low=0,
        high=2**32 - 1,
        types=(np.random.RandomState, np.random.Generator),
    ),
    "verbose": Allowed("be a whole number of at least 0", (True, False), Integral, 0),
    "validation_size": Allowed("lie between 0 and 1", (), Real, np.nextafter(0.0, 1.0), np.nextafter(1.0, 0.0)),
    "recode": Allowed.choice(True, False, "auto"),
    **dict.fromkeys(("replacement", "diagonal", "refit"), Allowed.choice(True, False)),
    **dict.fromkeys(("locally_predictive", "independent_as_redundant"), Allowed.choice(True, False)),
}
"""Allowed values of options that several selectors have."""


@dataclass(frozen=True)
class SearchedRows:
    """Coded rows to which a model fits its contributions after a search.

    Attributes
    ----------
    coded : the rows: all training rows, or only those that the search did not hold out.
    held_out : whether ``coded`` lacks the rows that the search held out to compare subsets.
    refitted_levels : levels of ``coded`` if they were refitted without the held-out rows; otherwise None.
    """

    coded: CodedTable
    held_out: bool = False
    refitted_levels: TableLevels | None = None


@dataclass_transform(eq_default=False)
class CodedSelector(SelectorMixin, BaseEstimator):
    """Base class of all selectors. A subclass implements ``_search``, which weighs the features of a coded table.

    Attributes
    ----------
    weights_ : float array, shape (n_features,)
        Weight of each feature, in [0, 1].
    support_ : bool array, shape (n_features,)
        Features of positive weight: columns and, after them, the pairs of columns that the encoder makes.
    trace_ : SearchTrace
        Every subset that was evaluated.
    encoder_ : TableEncoder or None
        Fitted encoder; None if the table was coded already.

    Notes
    -----
    A subclass describes itself by class attributes: ``name`` for `SelectiveNB` and the command line; ``title``, a few
    words for lists; ``sentence`` for reports; ``scores``, a `Score` for every criterion in its traces that
    `bayesieve.criteria` does not define; ``chooses_on_path``, whether it selects one of the subsets that its search
    passes through. Descriptions of shared parameters are added to its docstring from `bayesieve.parts`.

    Options are declared as fields of a dataclass, keyword-only ones after ``_: KW_ONLY``. ``_allowed`` declares their
    allowed values; `check_options` also checks options that depend on each other. A subclass may define ``__init__``
    instead.
    """

    _allowed: ClassVar[dict[str, Allowed]] = SHARED_OPTIONS

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    sentence: ClassVar[str] = ""
    scores: ClassVar[tuple[Score, ...]] = ()
    chooses_on_path: ClassVar[bool] = True
    needs_row_order: bool = False
    """Whether the search needs the rows in the order of the training table rather than grouped by class."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if any(kind is KW_ONLY or str(kind).endswith("KW_ONLY") for kind in inspect.get_annotations(cls).values()):
            dataclass(eq=False, repr=False)(cls)
        with_shared_docs(cls)

    def __init__(self, *, smoothing: Smoothing = "m-estimate", encoder: Any = "modl") -> None:
        self.smoothing = smoothing
        self.encoder = encoder

    @with_shared_docs
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> CodedSelector:
        """Search for good feature subsets, and set the weights of the features.

        Parameters
        ----------
        X : dataframe, 2-D array or sparse matrix, shape (n_rows, n_features)
            Raw table; with ``encoder=None``, a table of codes (integers from 0).
        y : array-like, shape (n_rows,)
            Class labels.
        sample_weight : array-like, shape (n_rows,), optional
            Row weights.

        Returns
        -------
        self
        """
        coded, refitter = self._code(X, y, sample_weight)
        return self._fit(coded, refitter)

    def _fit(self, coded: CodedTable, refitter: LevelRefitter | None, **options: Any) -> CodedSelector:
        """Fit the selector to a coded table, and set the attributes that scikit-learn expects, such as
        ``feature_names_in_``.

        ``refitter`` refits levels or is None, and ``options`` are further arguments of the search; see `fit_coded`.
        """
        self.fit_coded(coded, refitter, **options)
        encoder = self.encoder_
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # type: ignore[has-type]
        if encoder is not None:  # n_features_in_ counts columns of the table, not features of the encoder
            self.n_features_in_ = encoder.n_features_in_
            if hasattr(encoder, "feature_names_in_"):
                self.feature_names_in_ = encoder.feature_names_in_
            self.set_library(encoder.library_)
        return self

    def set_library(self, library: str) -> None:
        """Set the dataframe library ("pandas", "polars", ...) in which ``trace_.to_frame`` returns its result."""
        self.trace_ = replace(self.trace_, library=library)  # type: ignore[has-type]

    @property
    def kernel_families(self) -> Sequence[str]:
        """Names of the groups of compiled functions that the search runs, as in ``bayesieve compile``.

        `fit` compiles these functions while it reads the rows.
        """
        return ()

    def _code(self, X: Any, y: Any, sample_weight: Any, benefit: Any = None) -> tuple[CodedTable, LevelRefitter | None]:
        """Fit the encoder, and return the coded table and the refitter of its levels (None if the input is coded
        already).

        ``X``, ``y`` and ``sample_weight`` are those of `fit`. ``benefit`` (n_rows, ...) is added to the coded table as
        a column for the criterion `bayesieve.criteria.Benefit`; None adds none. Rows are grouped by class unless the
        search needs their order.
        """
        require_target(self, y)
        require_table(self, X)
        if self.encoder is None:
            self.encoder_ = None
            codes = read_codes(self, X, reset=True)
            self.n_features_in_ = codes.n_features
            coded = with_benefit(with_classes(codes, y, sample_weight), benefit, self)
            issue([weights_caution(coded.weights)])
            return coded, None
        self.encoder_ = make_encoder(self.encoder)
        with compiling_elsewhere(self.kernel_families):
            coded, refitter = self.encoder_.fit_with_refitter(X, y, sample_weight)
            coded = with_benefit(coded, benefit, self)
        issue([weights_caution(coded.weights)])
        return coded if self.needs_row_order else coded.by_class, refitter

    def fit_coded(self, coded: CodedTable, refitter: LevelRefitter | None = None, **options: Any) -> CodedSelector:
        """Fit the selector to a coded table with classes, and return the selector.

        Parameters
        ----------
        coded : coded table: level numbers, classes and weights of the rows
        refitter : refitter of the levels, from `TableEncoder.fit_with_refitter`; used by searches that refit the levels
            without the rows that are scored, or that compare raw values. None: levels are never refitted.
        options : further arguments of the search, such as ``groups``. Raises ValueError if the search does not use one.
        """
        self.fit_rows(coded, refitter, **options)
        return self

    def fit_rows(self, coded: CodedTable, refitter: LevelRefitter | None = None, **options: Any) -> SearchedRows:
        """Fit the selector to a coded table, and return the rows to which a model should fit its contributions.

        ``refitter`` refits levels or is None, and ``options`` are further arguments of the search; see `fit_coded`.
        """
        for option in options:
            if not self.takes(option):
                raise ValueError(f"{type(self).__name__} does not use {option}; omit it.")
        self.check_options()
        require_classes(self, coded.classes)
        if refitter is not None and refitter.names != coded.names:
            raise ValueError("refitter and coded table have different features; select the same features in both.")
        if refitter is not None and coded.samples is not None and coded.samples.hashes != refitter.hashes:
            raise ValueError(
                "refitter and coded table have different rows; pass both as encoder.fit_with_refitter(X, y) "
                "returns them."
            )
        if self.takes("refitter"):
            options["refitter"] = refitter
        self.n_features_in_ = coded.n_features
        self.weights_, rows = self._weights_and_rows(coded, **options)
        self.support_ = self.weights_ > 0
        n_wanted, n_selected = getattr(self, "n_features_to_select", None), int(np.count_nonzero(self.support_))
        if isinstance(n_wanted, Integral) and n_selected < int(n_wanted):
            reason = "the search ended early; allow more time"
            if self.trace_.complete:
                reason = "the others have a single level, or add nothing; select fewer"
            warn_caller(
                f"{type(self).__name__} selects {n_selected} of n_features_to_select={n_wanted} features: {reason}."
            )
        return rows

    def _weights_and_rows(self, coded: CodedTable, **options: Any) -> tuple[np.ndarray, SearchedRows]:
        """Search, set ``trace_``, and return the weights of the features, shape (n_features,), and the rows to which a
        model should fit its contributions. ``options`` are further arguments of the search, such as ``groups``.
        """
        return self._search(coded, **options), SearchedRows(coded)

    def takes(self, option: str) -> bool:
        """Return whether the search has an argument of the name ``option``, such as ``groups``."""
        parameters = inspect.signature(self._search).parameters
        return option in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())

    @abstractmethod
    def _search(self, coded: CodedTable) -> np.ndarray:
        """Search for feature subsets, set ``trace_``, and return the weights of the features, shape (n_features,)."""

    @property
    def takes_groups(self) -> bool:
        """Whether the groups of the rows (``groups``) affect the search."""
        return self.takes("groups")

    def check_options(self) -> None:
        """Raise ValueError if a constructor parameter has an invalid value."""
        check_allowed(self.get_params(deep=False), self._allowed)

    @property
    def n_features_selected_(self) -> int:
        """Number of features of positive weight."""
        return int(np.count_nonzero(self.support_))

    def _warn_if_interrupted(self, trace: SearchTrace, max_seconds: float | None, advice: str = "") -> None:
        """Warn if the search that recorded ``trace`` was ended early by the user; ``advice`` is added to the message.

        There is no warning if the search ended at its time limit, ``max_seconds`` (None: no limit).
        """
        if trace.was_interrupted(max_seconds):
            warn_caller(
                f"The search was interrupted after {trace.n_models} models: {type(self).__name__} keeps the best so far"
                f"{advice}."
            )

    def _get_support_mask(self) -> np.ndarray:
        """Return a mask of the columns of ``X`` that selected features use; with an `IndicatorEncoder`, of the selected
        indicators.
        """
        check_is_fitted(self, "support_")
        if isinstance(self.encoder_, TableEncoder):
            return columns_behind(self.encoder_.levels_, self.support_)
        return self.support_

    def transform(self, X: Any) -> Any:
        """Return the columns of ``X`` that selected features use, as a table of the type of ``X``.

        With an `IndicatorEncoder`, return the selected indicators: 1 if the value of the column is at most the
        threshold, otherwise 0.
        """
        check_is_fitted(self, "support_")
        if isinstance(self.encoder_, IndicatorEncoder):
            return self.encoder_.transform(X)[:, self.support_]
        X = whole_frame(X)
        table = new_table(self, X)
        if self.encoder is None and not nw.dependencies.is_into_dataframe(X):
            read_codes(self, X, reset=False)
        selected = select_columns(X, np.flatnonzero(self._get_support_mask()))
        output = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        if table.named and nw.dependencies.is_into_dataframe(selected):
            # Convert here: scikit-learn's own conversion turns every frame but a pyarrow table into a pandas frame.
            frame = nw.from_native(selected, eager_only=True)
            return _converted(frame, output) if output in ("pandas", "polars") else selected
        return selected

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the selected columns; with an `IndicatorEncoder`, of the selected indicators.

        ``input_features`` is as in scikit-learn, and ignored with indicators.
        """
        check_is_fitted(self, "support_")
        if isinstance(self.encoder_, IndicatorEncoder):
            return self.encoder_.get_feature_names_out()[self.support_]
        return super().get_feature_names_out(input_features)

    def __sklearn_tags__(self) -> Any:
        tags, coded = super().__sklearn_tags__(), self.encoder is None
        kinds = dict.fromkeys(("allow_nan", "string", "sparse"), not coded)
        return replace(
            tags,
            input_tags=replace(tags.input_tags, categorical=True, positive_only=coded, **kinds),
            target_tags=replace(tags.target_tags, required=True),
        )


def _converted(frame: Any, library: str) -> Any:
    """Return a narwhals frame as a frame of ``library``, "pandas" or "polars".

    Raise ValueError if a column cannot be converted, such as one of mixed types.
    """
    import polars as pl

    method, other = f"to_{library}", "pandas" if library == "polars" else "polars"
    same = getattr(frame.implementation, f"is_{library}")()
    name = "" if same else next((name for name in frame.columns if "\0" in name), "")
    try:
        if name:  # Arrow cuts the name off at a null character, and polars panics with a traceback
            raise ValueError("its name contains a null character")
        for name in frame.columns if library == "polars" else ():
            frame.get_column(name).to_polars()
        return getattr(frame, method)()
    except (Exception, pl.exceptions.PanicException) as error:  # the libraries raise errors of many types
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        column = f"Column {name!r}" if name else "A selected column"
        raise ValueError(
            f"{column} cannot become a {library} column ({reason}); convert it to one type first, or use "
            f"set_output(transform={other!r})."
        ) from error


def seed_of(random_state: Any) -> int:
    """Return an integer seed drawn from ``random_state``; 0 if it is None."""
    if random_state is None:
        return 0
    if isinstance(random_state, Integral):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    return int(check_random_state(random_state).randint(2**31 - 1))


def make_encoder(encoder: Any) -> TableEncoder | IndicatorEncoder:
    """Return an unfitted encoder: a new `TableEncoder` for ``"modl"``, otherwise a clone of the given encoder."""
    if isinstance(encoder, (TableEncoder, IndicatorEncoder)):
        return clone(encoder)
    if isinstance(encoder, str) and encoder == "modl":
        return TableEncoder()
    raise ValueError(
        f"encoder must be 'modl', a TableEncoder, an IndicatorEncoder, or None for codes, got {encoder!r}."
    )


def with_classes(codes: CodedTable, y: Any, sample_weight: Any) -> CodedTable:
    """Return a copy of the coded table ``codes`` with the class and the weight of each row.

    ``y`` holds class labels, ``sample_weight`` row weights or None, both of shape (n_rows,).
    """
    target = as_target(y)
    refuse_identifiers(target)
    refuse_empty_tables(codes.n_levels, target.n_classes, codes.n_rows * codes.n_features)
    check_consistent_length(codes.codes.T, target.codes)
    weights = as_sample_weight(sample_weight, codes.n_rows)
    target = target.counted(weights)
    return codes.with_rows(class_codes=target.codes, classes=target.classes, weights=weights)


def with_benefit(coded: CodedTable, benefit: Any, selector: CodedSelector) -> CodedTable:
    """Return a copy of a coded table with the column ``benefit``, which the criterion `bayesieve.criteria.Benefit`
    reads.

    ``benefit`` holds an amount, a pair or a matrix for each row; None returns the table unchanged. Raise ValueError for
    other shapes. Warn if no criterion of the selector reads the column.
    """
    if benefit is None:
        return coded
    options = selector.get_params(deep=False)
    criteria = [*options.values(), *(options.get("constraints") or {})]
    if not any("benefit" in criterion.row_columns for criterion in criteria if isinstance(criterion, Criterion)):
        name = type(selector).__name__
        warn_caller(f"benefit is ignored: no criterion of {name} reads it; use WrapperSelector(Benefit(...)).")
    try:
        column = np.asarray(benefit, dtype=np.float64)
    except (TypeError, ValueError):
        column = np.zeros(())
    if column.ndim not in (1, 2, 3) or len(column) != coded.n_rows or (column.ndim == 2 and column.shape[1] != 2):
        raise ValueError(
            f"benefit must hold an amount, two (expected and true), or a matrix for each of {coded.n_rows:,} rows, got "
            f"{f'an array of shape {column.shape}' if column.ndim else type(benefit).__name__}."
        )
    runs = coded.rows.runs  # None unless the rows are sorted by class
    return coded.with_columns(benefit=column if runs is None else runs.sort(column))
