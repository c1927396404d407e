"""`Predicting`: what a fitted `SelectiveNB` says about rows, in memory or anywhere else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bayesieve.classifier.model_parts import MEMORY
from bayesieve.classifier.rows import predicted, with_predictions
from bayesieve.decision.wrapped import Labelled
from bayesieve.scorecard.record import probabilities
from bayesieve.table.frames import is_scan


class Predicting(ClassifierMixin, BaseEstimator):
    """Predictions of a fitted model; ``X`` may be whatever `bayesieve.scan` takes, which is read block by block.

    Clones share a cluster that is the option ``engine``, pickles go without.
    """

    engine: Any

    def __sklearn_clone__(self) -> Predicting:
        other = copy(self)
        other.engine = MEMORY
        clone: Predicting = super(Predicting, other).__sklearn_clone__()
        clone.engine = self.engine
        return clone

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return state if isinstance(state.get("engine", MEMORY), str) else {**state, "engine": MEMORY}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "scorecard_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        for kind in ("allow_nan", "string", "categorical", "sparse"):
            setattr(tags.input_tags, kind, True)
        return tags

    def predict_joint_log_proba(self: Any, X: Any) -> np.ndarray:
        """Intercept plus the contributions of all features, shape (n_rows, n_classes): the log joint probabilities, in
        nats, up to a number for each row.
        """
        check_is_fitted(self, "scorecard_")
        return predicted(self, X)

    def predict_log_proba(self: Any, X: Any) -> np.ndarray:
        """Log probabilities of the classes, shape (n_rows, n_classes)."""
        joint = self.predict_joint_log_proba(X)
        joint -= joint.max(axis=1, keepdims=True)
        joint -= np.log(np.exp(joint).sum(axis=1, keepdims=True))
        return joint

    def predict_proba(self: Any, X: Any) -> np.ndarray:
        """Probabilities of the classes, shape (n_rows, n_classes)."""
        return probabilities(self.predict_joint_log_proba(X))

    def predict(self: Any, X: Any) -> np.ndarray:
        """Most probable class of each row; the first one on ties."""
        best = self.predict_joint_log_proba(X).argmax(axis=1)
        return self.classes_[best]

    def score(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows predicted rightly, by weight; ``y`` and the weights may be columns of a scanned table."""
        if not is_scan(X, y):
            accuracy: float = super().score(X, y, sample_weight)
            return accuracy
        labelled = Labelled.of(X, y, sample_weight)
        rightly = labelled.among(self.predict(X)) == labelled.target.classes[labelled.target.codes]
        return float(np.average(rightly, weights=labelled.weights))

    def expressions(
        self: Any, frame: Any = None, *, outputs: Literal["all", "prediction", "probabilities"] = "all"
    ) -> list[Any]:
        """The predictions as expressions for a query of your own: the engine computes them, no Python touches rows.

        They equal those of ``predict_proba`` to rounding. Where that refuses an infinite number, probabilities are NaN
        and the prediction is missing. Each expression stands alone and repeats what it shares with the others;
        `with_predictions` computes that once.

        Parameters
        ----------
        frame : dataframe or query, optional
            What the expressions are for; its columns are checked, and its first 1,000 rows for values never seen in
            training, which a warning names. Without, they are expressions of polars, for columns
            of the types of the training table; moments of other engines are in UTC.
        outputs : {"all", "prediction", "probabilities"}, default="all"
            The most probable class, the probability of each class, or both.

        Returns
        -------
        list of polars.Expr, or of narwhals.Expr for a frame of another library
            Named ``prediction`` and ``P(class)``, in the order of ``classes_``.

        Raises
        ------
        ValueError
            If a column is missing or of another type, scores are computed by Python functions, a column holds values of
            several types, or the model is too large for expressions of this engine.

        Examples
        --------
        >>> import polars as pl
        >>> from bayesieve import SelectiveNB
        >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10, "job": ["a", None, "b", "b"] * 10})
        >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 10)
        >>> frame.lazy().with_columns(*model.expressions()).collect()["prediction"].head(3).to_list()
        ['no', 'no', 'yes']
        """
        from bayesieve.classifier.expressions import expressions_of

        check_is_fitted(self, "scorecard_")
        return expressions_of(self, frame, outputs)

    def with_predictions(self: Any, frame: Any) -> Any:
        """The frame with columns ``prediction`` and ``P(class)`` added, computed where its rows are.

        Parameters
        ----------
        frame : dataframe or query
            In memory (pandas, polars, pyarrow ...): predicted at once. A polars LazyFrame or DuckDB relation: the query
            goes on with expressions, and no Python touches the rows but the first 1,000, which are read at once: a
            warning names values among them that were never seen in training. A Dask or PySpark dataframe: workers,
            which need this package, predict their partitions, without warnings. Columns may be in any order, and more
            than the model needs.

        Returns
        -------
        The same kind of frame

        Raises
        ------
        ValueError
            If a column that the model needs is missing, or as `expressions`.

        Examples
        --------
        >>> import polars as pl
        >>> from bayesieve import SelectiveNB
        >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10, "job": ["a", None, "b", "b"] * 10})
        >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 10)
        >>> model.with_predictions(frame.lazy()).collect().columns
        ['age', 'job', 'prediction', 'P(no)', 'P(yes)']
        """
        check_is_fitted(self, "scorecard_")
        return with_predictions(self, frame)

    def predict_to(
        self: Any,
        path: str | os.PathLike[str],
        source: Any,
        *,
        keep: Sequence[str] | Literal["all"] = (),
        memory_limit: int | str | None = None,
        verbose: int = 0,
    ) -> int:
        """Predict a table of any size into files, block by block, in memory that does not grow with the rows.

        Parameters
        ----------
        path : str or path
            File to write: CSV, TSV, Parquet or Arrow by its ending. It appears when it is complete; after an error, or
            Ctrl-C, nothing is left. Or a folder, without ending: it gets a Parquet file for each file that is read,
            with the same name and in folders ``column=value`` of the same names, or several for a large one. Called
            again, also after a kill, it writes only those that are missing, or whose rows, model or columns differ.
        source : whatever `bayesieve.scan` takes
        keep : sequence of str or "all", default=()
            Columns of the source to write before the predictions.
        memory_limit : int, str or None, default=None
            Bytes, or text such as ``"2GiB"``, to stay within: of rows with many columns, fewer are read at a time.
            None: 4 GiB, or half the memory of the machine where that is less. Python and its packages take 0.6 GiB.
        verbose : int, default=0
            Show progress: rows, bytes and time left.

        Returns
        -------
        int
            Number of rows.

        Raises
        ------
        ValueError
            If a column that the model needs is missing, ``path`` is one of the files to be read or their folder, it
            holds other tables, or it cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> import polars as pl
        >>> from bayesieve import SelectiveNB
        >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10, "job": ["a", None, "b", "b"] * 10})
        >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 10)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     frame.write_parquet(f"{folder}/people.parquet")
        ...     n_rows = model.predict_to(f"{folder}/scored.parquet", f"{folder}/people.parquet", keep=["job"])
        ...     pl.read_parquet(f"{folder}/scored.parquet").columns
        ['job', 'prediction', 'P(no)', 'P(yes)']
        """
        from bayesieve.classifier.scored_files import predict_to

        check_is_fitted(self, "scorecard_")
        return predict_to(self, path, source, keep, memory_limit, verbose)
