"""`Explanation`: contributions of the features to the predictions of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from bayesieve.scorecard.probabilities import logit_variances, probabilities
from bayesieve.table.frames import frame_of_columns
from bayesieve.table.target import class_position
from bayesieve.words import ShortRepr

UNSEEN = "(not seen in training)"
"""Label of values without a cell."""

EXPLAINED_LEVEL = 0.9
"""Confidence level of the intervals in explanations."""


@dataclass(frozen=True, repr=False)
class Explanation(ShortRepr):
    """Contributions of the features to the log joint probability of rows, in nats.

    Attributes
    ----------
    rows : (n_rows,) row numbers
    features : names of the features
    classes : labels of the classes
    prior : (n_classes,) intercept of each class, in nats
    contributions : (n_rows, n_features, n_classes) in nats; 0 for a value without a level
    values : (n_rows, n_features) object array of values as texts, as the model reads them (dates and times in ISO
        8601); None if missing
    levels : (n_rows, n_features) object array of the labels of their levels
    weights : (n_features,) weights of the features, from 0 to 1
    standard_errors : (n_rows, n_features, n_classes) standard errors of the contributions, in nats; None for a
        `DiscreteNB`, which has none
    intervals : (n_rows, n_classes, 2) lower and upper ends of 90 % intervals of the class probabilities; None for a
        `DiscreteNB`
    names : readable names of the features; None if the model has no labels
    cells : (n_rows, n_features) labels of the cells; None if they are the levels
    probabilities : (n_rows, n_classes) class probabilities; None unless contributions refer to log odds against a class
    """

    rows: np.ndarray
    features: Sequence[str]
    classes: np.ndarray
    prior: np.ndarray
    contributions: np.ndarray
    values: np.ndarray
    levels: np.ndarray
    weights: np.ndarray
    standard_errors: np.ndarray | None = None
    intervals: np.ndarray | None = None
    names: Sequence[str] | None = None
    cells: np.ndarray | None = None
    probabilities: np.ndarray | None = None

    def _facts(self) -> dict[str, Any]:
        """Return the facts that ``repr`` shows, by name."""
        facts = {"n_rows": len(self.rows), "features": [*(self.names or self.features)], "classes": self.classes}
        return facts | {f"first_{name}": values[0] for name, values in self._head().items() if len(values)}

    def _head(self) -> dict[str, Any]:
        """Return the first ten rows, with the predicted class and the largest contributions to it, as a dict of
        columns. Notebooks show it as a table.
        """
        first = slice(10)
        probabilities = None if self.probabilities is None else self.probabilities[first]
        few = replace(self, rows=self.rows[first], contributions=self.contributions[first], probabilities=probabilities)
        chances, names = few.all_probabilities(), self.names or self.features
        classes = chances.argmax(axis=1)
        n, scores = len(self.classes), few.contributions
        if self.probabilities is None:
            # Contributions to each class minus the mean of those to the other classes, in nats.
            scores = (n * scores - scores.sum(axis=2, keepdims=True)) / (n - 1)
        scores = np.take_along_axis(scores, classes[:, None, None], axis=2)[..., 0]
        largest = np.argsort(-np.abs(scores), axis=1, kind="stable")[:, :3]
        both = zip(scores, largest, strict=True)
        texts = [", ".join(f"{names[k]} {contributions[k]:+.2f}" for k in order) for contributions, order in both]
        facts = {"row": few.rows, "class": self.classes[classes], "probability": chances.max(axis=1)}
        return facts | {"contributions": texts}

    def plot(self, row: int = 0, target_class: Any = None, *, title: str | None = None) -> Any:
        """Draw the contributions of the features to the log odds of a class in one row, starting from the average row.

        Parameters
        ----------
        row : int, default=0
            Position among the explained rows.
        target_class : label of the class; by default the second of two classes, or the predicted one of more.
        title : str, optional
            Title of the figure.

        Returns
        -------
        Figure
            Figure of the contributions. With more than two classes they add up to the log joint probability of the
            class; for a result of `against`, to the log odds.

        Raises
        ------
        ValueError
            If there is no such row or class.

        Examples
        --------
        >>> from bayesieve import SelectiveNB
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> explanation = SelectiveNB().fit(X, y).scorecard_.explain(X[:5])
        >>> explanation.plot(0).data["feature"].to_list()[:2]
        ['Every row', 'petal width (cm)']
        """
        from bayesieve import explanation_figure

        return explanation_figure(self, row, target_class, title=title)

    def against(self, label: Any) -> Explanation:
        """Return an explanation of the log odds of each other class against the class ``label``.

        Its contributions are those to the other class minus those to ``label``, in nats.

        Raises
        ------
        ValueError
            If there is no such class.
        """
        labels, at = self.classes.tolist(), class_position(self.classes, label, "against")
        others = np.arange(len(labels)) != at
        errors = self.standard_errors
        if errors is not None:
            shape, n = errors.shape, len(labels)
            of_numbers = logit_variances(errors.reshape(-1, n) ** 2)
            of_numbers = of_numbers[:, [0, 0]] / 2 if n == 2 else of_numbers
            errors = np.sqrt(of_numbers[:, others] + of_numbers[:, [at]]).reshape(*shape[:2], n - 1)
        numbers: dict[str, Any] = {"prior": (self.prior - self.prior[at])[others], "standard_errors": errors}
        numbers["contributions"] = (self.contributions - self.contributions[..., [at]])[..., others]
        numbers["intervals"] = None if self.intervals is None else self.intervals[:, others]
        numbers["probabilities"] = self.all_probabilities()[:, others]
        return replace(self, classes=self.classes[others], **numbers)

    def all_probabilities(self) -> np.ndarray:
        """Return the probabilities of the classes, shape (n_rows, n_classes)."""
        return probabilities(self.joint_log_proba()) if self.probabilities is None else self.probabilities

    def joint_log_proba(self) -> np.ndarray:
        """Return the log joint probabilities, (n_rows, n_classes): prior plus contributions, summed in the order of the
        classifier so that results are equal to the last digit.
        """
        joint = np.tile(self.prior, (len(self.rows), 1))
        for k in range(len(self.features)):
            joint += self.contributions[:, k]
        return joint

    def grouped(self, groups: Sequence[str], values: np.ndarray, levels: np.ndarray) -> Explanation:
        """Return an explanation with one entry per group of features, whose contributions are added up.

        Parameters
        ----------
        groups : name of the group of each feature; features of a group must be adjacent.
        values, levels : (n_rows, n_groups) object arrays of the texts of values and levels.

        Returns
        -------
        Explanation
            Weights are added up, too. Prior and contributions still add up to the log joint, to the last digit: each
            group corrects the rounding errors of the groups before it.
        """
        runs = [(name, [at for at, _ in run]) for name, run in groupby(enumerate(groups), key=lambda pair: pair[1])]
        contributions = np.empty((len(self.rows), len(runs), len(self.classes)))
        joint = np.tile(self.prior, (len(self.rows), 1))
        cumulated = joint.copy()  # sum of the prior and the groups so far
        possible = np.isfinite(self.prior)
        for at, (_, members) in enumerate(runs):
            for k in members:
                joint += self.contributions[:, k]
            contributions[:, at] = self.contributions[:, members].sum(axis=1)
            contributions[:, at, possible] = joint[:, possible] - cumulated[:, possible]
            cumulated += contributions[:, at]
        errors = None
        if self.standard_errors is not None:
            sums = [(self.standard_errors[:, members] ** 2).sum(axis=1) for _, members in runs]
            errors = np.sqrt(np.stack(sums, axis=1)) if sums else self.standard_errors
        weights = np.array([self.weights[members].sum() for _, members in runs])
        texts: dict[str, Any] = {"features": [name for name, _ in runs], "values": values, "levels": levels}
        numbers: dict[str, Any] = {"contributions": contributions, "standard_errors": errors, "weights": weights}
        return replace(self, cells=levels, names=None, probabilities=None, **texts, **numbers)

    def to_frame(self) -> Any:
        """Return a polars dataframe with a line for each combination of row, class and feature.

        Columns are ``row``, ``class``, ``feature``, ``value``, ``level``, ``weight``, ``contribution`` (nats) and
        ``prior``, the intercept of the class. An explanation by a scorecard adds the ``cell`` (part of the level that
        has the contribution), the ``standard_error`` of the contribution (nats), and the ``probability`` of the class
        with the ends ``low`` and ``high`` of its 90 % interval. A model with labels (`SelectiveNB.with_labels`) adds
        the readable ``name``.
        """
        n_rows, n_features, n_classes = self.contributions.shape
        # Each text occurs on many lines: convert it once, then repeat it by position.
        lines = np.arange(n_rows * n_classes * n_features)
        row, of_class, feature = lines // (n_classes * n_features), lines // n_features % n_classes, lines % n_features
        texts = {"value": self.values, "level": self.levels} | ({} if self.cells is None else {"cell": self.cells})
        names = {"feature": list(self.features)} | ({} if self.names is None else {"name": list(self.names)})
        of_features = frame_of_columns(names | {"weight": self.weights}, texts=names)[feature]
        of_cells = frame_of_columns({name: table.ravel().tolist() for name, table in texts.items()}, texts=texts)
        of_classes = frame_of_columns({"class": self.classes.tolist(), "prior": self.prior}, texts=())[of_class]
        numbers = {"row": np.asarray(self.rows, dtype=np.int64)[row]}
        numbers["contribution"] = self.contributions.transpose(0, 2, 1).ravel()
        if self.standard_errors is not None and self.intervals is not None:
            numbers["standard_error"] = self.standard_errors.transpose(0, 2, 1).ravel()
            for name, values in (
                ("probability", self.all_probabilities()),
                ("low", self.intervals[..., 0]),
                ("high", self.intervals[..., 1]),
            ):
                numbers[name] = np.repeat(values.ravel(), n_features)
        parts = (frame_of_columns(numbers, texts=()), of_classes, of_features, of_cells[row * n_features + feature])
        columns = {column.name: column for part in parts for column in part}
        order = ("row", "class", "feature", *texts, "weight", "contribution", "prior")
        return of_features.select(columns.pop(name) for name in order).with_columns(columns.values())


def columns_of_texts(columns: Sequence[Any], n_rows: int) -> np.ndarray:
    """Return an object array of texts, shape (n_rows, n_columns). ``columns`` holds a list of n_rows texts for each
    column.
    """
    table = np.empty((n_rows, len(columns)), dtype=object)
    for at, column in enumerate(columns):
        table[:, at] = column
    return table
