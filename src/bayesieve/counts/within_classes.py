"""The dependence of pairs of features within the classes, at its strongest."""

from __future__ import annotations

import numpy as np

from bayesieve.counts.coded import CodedTable
from bayesieve.counts.column_values import ColumnValues
from bayesieve.counts.dependence import Dependence, ValueDependence
from bayesieve.counts.pairs import PairInformation


def strongest_within_classes(coded: CodedTable, dependence: Dependence, n_jobs: int | None = None) -> np.ndarray:
    """M(i, j) = the largest of the dependences of two features within each of the classes.

    Parameters
    ----------
    coded : CodedTable with classes
    dependence : a measure that grows with the dependence
    n_jobs : threads; results do not depend on it

    Returns
    -------
    float array, shape (n_features, n_features), symmetric

    References
    ----------
    Blanquero, Carrizosa, Ramirez-Cobo & Sillero-Denamiel (2021), Variable selection for naive Bayes classification,
    Computers & Operations Research 135, section 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve.counts import CodedTable
    >>> from bayesieve.counts.within_classes import strongest_within_classes
    >>> from bayesieve.counts.dependence import MutualInformation
    >>> codes = np.array([[0, 1, 0, 1, 0, 1, 0, 1], [0, 1, 0, 1, 0, 0, 1, 1]], dtype=np.uint8)
    >>> classes = np.array([0, 0, 0, 0, 1, 1, 1, 1], dtype=np.uint8)
    >>> coded = CodedTable(codes, [2, 2], ("a", "b"), class_codes=classes, classes=np.array(["no", "yes"]))
    >>> strongest_within_classes(coded, MutualInformation()).round(3).tolist()  # the same within "no"
    [[0.693, 0.693], [0.693, 0.693]]
    """
    strongest = np.zeros((coded.n_features, coded.n_features))
    values = ColumnValues(coded) if isinstance(dependence, ValueDependence) else None
    for rows in coded.rows.by_class():
        if values is not None and isinstance(dependence, ValueDependence):
            within = values.of(dependence, rows=rows, n_jobs=n_jobs)
        else:
            within = PairInformation(coded.take(rows), n_jobs=n_jobs).of(dependence)
        np.maximum(strongest, within, out=strongest)
    return strongest
