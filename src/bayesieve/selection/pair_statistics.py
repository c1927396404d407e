"""Pair statistics of the features of a table, raw or coded, a block at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from bayesieve.counts import CodedTable, Dependence
from bayesieve.counts.dependence import make_dependence
from bayesieve.counts.pairs import PairInformation
from bayesieve.discretize.codes import read_codes
from bayesieve.selection.base import make_encoder, with_classes


def pair_statistics(
    X: Any,
    y: Any = None,
    *,
    statistic: str | Dependence | Callable[[np.ndarray, np.ndarray], float] = "mutual_information",
    given_class: bool = False,
    features: Any = None,
    others: Any = None,
    encoder: Any = "modl",
    sample_weight: Any = None,
    n_jobs: int | None = -1,
) -> np.ndarray:
    """Mutual information, symmetrical uncertainty or another dependence of pairs of features; within classes if wanted.

    Parameters
    ----------
    X : CodedTable, dataframe, 2-D array or sparse matrix, shape (n_rows, n_features)
        A coded table is taken as it is, with its classes and row weights; codes (integers from 0) with
        ``encoder=None``.
    y : array-like, shape (n_rows,), optional
        Class labels, which the encoder and ``given_class`` need; not for a coded table, which has its own.
    statistic : str, Dependence or function, default="mutual_information"
        ``"mutual_information"`` in nats; ``"symmetrical_uncertainty"``, 2 I(X; Y) / (H(X) + H(Y)), from 0 to 1;
        ``"pearson"`` or ``"spearman"`` of the raw values, from 0 to 1; any other measure of dependence, registered or
        given, or a function of two arrays of numbers.
        `ValueDependence` says how categories become numbers.
    given_class : bool, default=False
        All informations and entropies conditional on the class: I(X; Y | C) = sum P(c) I(X; Y | c).
    features, others : positions of features (list, array, slice or mask), or None for all
        The rows and the columns of the block. Memory is that of the block: of 20,000 features, say, 500 rows at a time.
    encoder : "modl", TableEncoder, IndicatorEncoder or None, default="modl"
        None: the table is coded already.
    sample_weight : array-like, shape (n_rows,), optional
        Weights multiply counts; not for a coded table, which has its own.
    n_jobs : int or None, default=-1
        Threads; -1 means all cores. Results do not depend on it.

    Returns
    -------
    float array, shape (features, others)
        0 <= I <= min(H) always, exactly 0 for independent counts. A feature with itself has its entropy, or the
        uncertainty 1 (0 for a constant).

    Raises
    ------
    ValueError
        If there is no such statistic, or no class to be given, or a coded table comes with ``y`` or ``sample_weight``.

    References
    ----------
    Cover & Thomas (2006), Elements of information theory, 2nd edition, sections 2.3 and 2.5; Hall (1999),
    Correlation-based feature selection for machine learning, section 4.2.1 (symmetrical uncertainty).

    Examples
    --------
    >>> from bayesieve import pair_statistics
    >>> codes = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]]
    >>> pair_statistics(codes, encoder=None).round(4).tolist()
    [[0.6931, 0.6931, 0.0], [0.6931, 0.6931, 0.0], [0.0, 0.0, 0.6931]]
    >>> pair_statistics(codes, encoder=None, statistic="symmetrical_uncertainty", features=[0], others=[1, 2]).tolist()
    [[1.0, 0.0]]
    """
    dependence = make_dependence(statistic, "statistic")
    coded = _coded(X, y, encoder, sample_weight)
    if given_class and coded.class_codes is None:
        raise ValueError("given_class=True needs the classes; pass them as y.")
    return PairInformation(coded, given_class=given_class, n_jobs=n_jobs).of(dependence, features, others)


def _coded(X: Any, y: Any, encoder: Any, sample_weight: Any) -> CodedTable:
    if isinstance(X, CodedTable):
        if y is not None or sample_weight is not None:
            raise ValueError("A coded table has its own classes and row weights; leave y and sample_weight out.")
        return X
    if encoder is not None:
        if y is None:
            raise ValueError(
                "The encoder needs the classes to find levels; pass them as y, or codes with encoder=None."
            )
        return make_encoder(encoder).fit_transform_coded(X, y, sample_weight)
    codes = read_codes(PairStatistics(), X, reset=True)
    if y is None and sample_weight is None:
        return codes
    return with_classes(codes, np.zeros(codes.n_rows, dtype=int) if y is None else y, sample_weight)


class PairStatistics(BaseEstimator):
    """Stand-in estimator: gives `read_codes` a name for its error messages."""
