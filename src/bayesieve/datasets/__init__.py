"""Small example tables that come with the package; nothing is downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


def load_german_credit(*, return_X_y: bool = False) -> Any:
    """Load applicants for a loan, classified as good or bad credit risks.

    There are 1,000 rows, with 20 features (7 numeric, 13 categorical) and no missing values. The target is ``class``:
    ``good`` (700) or ``bad`` (300). According to the source, accepting a bad applicant costs 5, and rejecting a good
    one 1.

    Source: Hofmann (1994), Statlog (German Credit Data), UCI Machine Learning Repository,
    https://doi.org/10.24432/C5NC77, with the names and categories that Weka spells out.
    Licence: Creative Commons Attribution 4.0 International (CC BY 4.0).

    Parameters
    ----------
    return_X_y : bool
        Return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    sklearn.utils.Bunch or (polars.DataFrame, polars.Series)
        ``data``, ``target``, ``frame`` (both), ``feature_names``, ``target_names`` (the classes, in order) and
        ``DESCR``.

    Examples
    --------
    >>> from bayesieve.datasets import load_german_credit
    >>> X, y = load_german_credit(return_X_y=True)
    >>> X.shape, y.name
    ((1000, 20), 'class')
    """
    return _load("german_credit", load_german_credit.__doc__, return_X_y)


def load_adult_sample(*, return_X_y: bool = False) -> Any:
    """Load persons of the 1994 census, classified by whether they earn more than 50,000 dollars a year.

    There are 10,000 rows, the first ones of the training set, with 14 features (6 numeric, 8 categorical); 1,352 values
    are missing. The target is ``income``: ``<=50K`` (7,621) or ``>50K`` (2,379). ``fnlwgt`` is the number of people
    that a row represents.

    Source: Becker and Kohavi (1996), Adult, UCI Machine Learning Repository, https://doi.org/10.24432/C5XW20.
    Licence: Creative Commons Attribution 4.0 International (CC BY 4.0).

    Parameters
    ----------
    return_X_y : bool
        Return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    sklearn.utils.Bunch or (polars.DataFrame, polars.Series)
        See `load_german_credit`.

    Examples
    --------
    >>> from bayesieve.datasets import load_adult_sample
    >>> load_adult_sample().target_names
    ['<=50K', '>50K']
    """
    return _load("adult_sample", load_adult_sample.__doc__, return_X_y)


def load_heart_disease(*, return_X_y: bool = False) -> Any:
    """Load patients of a hospital in Cleveland, classified by whether a heart vessel is narrowed by more than half.

    There are 303 rows, with 13 features (6 numeric, 7 categorical); 7 values are missing. The target is ``disease``:
    ``no`` (165) or ``yes`` (138).

    Source: Janosi, Steinbrunn, Pfisterer and Detrano (1989), Heart Disease, UCI Machine Learning Repository,
    https://doi.org/10.24432/C52P4X, with the names and categories that Weka spells out.
    Licence: Creative Commons Attribution 4.0 International (CC BY 4.0).

    Parameters
    ----------
    return_X_y : bool
        Return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    sklearn.utils.Bunch or (polars.DataFrame, polars.Series)
        See `load_german_credit`.

    Examples
    --------
    >>> from bayesieve.datasets import load_heart_disease
    >>> load_heart_disease().frame["disease"].value_counts(sort=True).rows()
    [('no', 165), ('yes', 138)]
    """
    return _load("heart_disease", load_heart_disease.__doc__, return_X_y)


def load_dermatology(*, return_X_y: bool = False) -> Any:
    """Load patients with one of six skin diseases.

    There are 366 rows, with 34 numeric features; 8 values of ``age`` are missing. Clinical and microscopic findings are
    graded from 0 (none) to 3, and ``family_history`` is 0 or 1. The target is ``disease``: ``psoriasis`` (112),
    ``lichen planus`` (72), ``seborrheic dermatitis`` (61), ``chronic dermatitis`` (52), ``pityriasis rosea`` (49),
    ``pityriasis rubra pilaris`` (20).

    Source: Ilter and Guvenir (1998), Dermatology, UCI Machine Learning Repository, https://doi.org/10.24432/C5FK5P.
    Licence: Creative Commons Attribution 4.0 International (CC BY 4.0).

    Parameters
    ----------
    return_X_y : bool
        Return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    sklearn.utils.Bunch or (polars.DataFrame, polars.Series)
        See `load_german_credit`.

    Examples
    --------
    >>> from bayesieve.datasets import load_dermatology
    >>> len(load_dermatology().target_names)
    6
    """
    return _load("dermatology", load_dermatology.__doc__, return_X_y)


def _load(name: str, description: str | None, return_X_y: bool) -> Any:
    """Load the table ``name``, whose last column is the target, as a Bunch or as ``(X, y)``."""
    import polars as pl
    from sklearn.utils import Bunch

    frame = pl.read_parquet(_FOLDER / f"{name}.parquet", glob=False)
    X, y = frame[:, :-1], frame[:, -1]
    if return_X_y:
        return X, y
    names, classes = X.columns, sorted(y.unique().to_list())
    return Bunch(data=X, target=y, frame=frame, feature_names=names, target_names=classes, DESCR=description)
