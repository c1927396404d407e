"""`BenefitClassifier`, which takes the decision with the largest expected benefit, and `BenefitRule`, which stores such
a rule as plain values in JSON files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import msgspec
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from bayesieve.decision.base import ClassifierWrapper
from bayesieve.decision.benefits import (
    Benefits,
    amount_slope,
    column_of_numbers,
    decision_names,
    is_column,
    positions_in,
    read_benefits,
)
from bayesieve.decision.curves import ProfitCurve, profit_curve
from bayesieve.parts import with_shared_docs
from bayesieve.plain_values import Damaged, converted
from bayesieve.table import as_table
from bayesieve.table.frames import LabelledRows, is_scan, refuse_scan, require_table, split_columns, take_rows
from bayesieve.table.paths import checked_path
from bayesieve.table.scanned import ScannedTable
from bayesieve.table.scanning import scan
from bayesieve.table.target import require_target

_EXAMPLE = '"benefit": [[0, 0], [-1, 5]], "classes": ["no", "yes"], "decisions": ["leave", "call"]'


@with_shared_docs
@dataclass(eq=False, repr=False)
class BenefitClassifier(ClassifierWrapper):
    """Classifier that takes the decision with the largest expected benefit: argmax_i sum_j P(j | x) B(i, j, x).

    B(i, j, x) is the benefit of decision i in a row x whose true class is j, in any unit, such as money.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        Classifier that predicts the probabilities P(j | x). If it is fitted already, decisions need no ``fit``. ``fit``
        trains a clone, unless the classifier is wrapped in scikit-learn's ``FrozenEstimator``.
    benefit : matrix, cells, function or None, default=None
        Benefits B, with a row for each decision and a column for each true class (in the order of ``classes_``): an
        array of shape (n_decisions, n_classes) or (n_rows, n_decisions, n_classes); a list of rows whose cells are
        numbers or columns of n_rows numbers; or a function that returns one of these from ``X``. None: 1 for the
        decision that names the true class, otherwise 0, so that the most probable class is predicted.
    amount : str or None, default=None
        Name of the column of ``X`` that holds the amount at stake in each row, such as the size of a loan; the column
        remains a feature. None: there is no such column. If amounts are known for the training rows only, give them to
        ``fit``: ``fit(X, y, benefit=amounts)``, one number for each row, NaN where it is unknown.
    amount_benefit : matrix, shape (n_decisions, n_classes), or None, default=None
        Benefit per unit of the amount; multiplied by the amount of the row and added to ``benefit``. None: 1 for the
        second decision in rows of the second class, otherwise 0 (two decisions and two classes only).
    amount_estimator : regressor or None, default=None
        Regressor that estimates unknown amounts. ``fit`` trains a clone on the rows whose amount is known, without
        classes in which no decision depends on it: if only people who donate bring their gift, on donors. None: unknown
        amounts raise an error.
    class_prior : array-like, shape (n_classes,), dict from classes, or None, default=None
        Shares of the classes where decisions are taken, if they differ from the training rows, such as a sample
        balanced by class. P(j | x) is multiplied by the ratio of the new share to the share in training, then
        normalised. None: the shares are as in training.
    decisions : array-like, shape (n_decisions,), or None, default=None
        Names of the decisions; None: the classes.

    Attributes
    ----------
    estimator_ : the fitted classifier.
    amount_estimator_ : the fitted regressor, or None.
    classes_ : array, shape (n_classes,)
        Class labels, in the order of the columns of ``benefit``.
    decisions_ : array, shape (n_decisions,)
        Names of the decisions, in the order of the rows of ``benefit``.
    training_prior_ : float array, shape (n_classes,)
        Weighted shares of the classes in the training rows.

    References
    ----------
    Elkan (2001), The foundations of cost-sensitive learning, IJCAI. Zadrozny and Elkan (2001), Learning and making
    decisions when costs and probabilities are both unknown, KDD.

    Examples
    --------
    A mistake on class 1 costs ten times one on class 0:

    >>> from bayesieve import BenefitClassifier, SelectiveNB
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BenefitClassifier(SelectiveNB(), benefit=[[0, -10], [-1, 0]]).fit(X, y)
    >>> bool((model.predict(X) == 1).sum() > (model.estimator_.predict(X) == 1).sum())
    True
    >>> model.expected_benefit(X[:1]).shape
    (1, 2)
    """

    estimator: Any
    _: KW_ONLY
    benefit: Any = None
    amount: str | None = None
    amount_benefit: Any = None
    amount_estimator: Any = None
    class_prior: Any = None
    decisions: Any = None

    @with_shared_docs
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, benefit: Any = None, **fit_params: Any
    ) -> BenefitClassifier:
        """Fit the classifier and, if there is one, the regressor of unknown amounts.

        Parameters
        ----------
        X : table that the classifier accepts, shape (n_rows, n_features)
        benefit : array-like, shape (n_rows,), optional
            Amount at stake in each row, missing where unknown; required by ``amount_estimator``.
        **fit_params : parameters for ``fit`` of the classifier, selected by scikit-learn's metadata routing if enabled.

        Returns
        -------
        self
        """
        require_target(self, y)
        require_table(self, X)
        self._refuse_scan(X, y)
        X, y, sample_weight = split_columns(X, y, sample_weight)
        if self.amount_estimator is not None:
            refuse_scan(X, y, "amount_estimator", "fit it to rows of your own and name its estimates as the amount")
        self.estimator_ = clone(self.estimator)
        if sample_weight is not None:
            fit_params["sample_weight"] = sample_weight
        self.estimator_.fit(X, y, **self._routed(fit_params))
        self._adopt(self.estimator_)
        rows = LabelledRows.of(X, y, sample_weight)
        codes, weights = positions_in(rows.target, self.classes_, "y"), rows.weights
        shares = np.bincount(codes, weights=weights, minlength=self.classes_.size)
        self.training_prior_ = shares / shares.sum()
        self._prior_ratio()
        shape = read_benefits(self.benefit, self.classes_.size, codes.size, X=X).values.shape[-2:]
        self.decisions_ = self.names_of_decisions(shape[0])
        self.amount_estimator_: Any = None
        if self.amount_estimator is not None or self.amount_benefit is not None:
            matters = np.asarray(amount_slope(self.amount_benefit, shape).any(axis=0))[codes]
            if self.amount_estimator is not None:
                self._fit_amounts(X, matters, weights, benefit)
        return self

    def keep(self, classifier: Any, class_count: Any) -> BenefitClassifier:
        """Use the fitted classifier ``classifier`` without refitting it, and return self.

        ``class_count`` (n_classes,) holds the number (or weight) of its training rows of each class.
        """
        self.estimator_, self.amount_estimator_ = classifier, None
        self._adopt(classifier)
        self.training_prior_ = np.asarray(class_count) / np.sum(class_count)
        return self

    def names_of_decisions(self, n_decisions: int) -> np.ndarray:
        """Return the names of the decisions, shape (n_decisions,): those given to the constructor, otherwise the
        classes.

        Raise ValueError if their number is not ``n_decisions``.
        """
        return decision_names(self.decisions, self._classes(), n_decisions)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class probabilities, corrected for ``class_prior``, shape (n_rows, n_classes)."""
        return self.corrected(np.asarray(self._fitted().predict_proba(X), dtype=np.float64))

    def corrected(self, probability: np.ndarray) -> np.ndarray:
        """Correct probabilities (n_rows, n_classes) for ``class_prior``; return them unchanged if it is None.

        Each is multiplied by the ratio of the class's share in ``class_prior`` to its share in training, then rows are
        normalised.
        """
        ratio = self._prior_ratio()
        if ratio is None:
            return probability
        product = probability * ratio
        return product / product.sum(axis=1, keepdims=True)

    def expected_benefit(self, X: Any, benefit: Any = None) -> np.ndarray:
        """Return the expected benefit sum_j P(j | x) B(i, j, x) of each decision i, shape (n_rows, n_decisions).

        Parameters
        ----------
        X : table that the classifier accepts, shape (n_rows, n_features)
        benefit : array-like, optional
            If of shape (n_rows,): amount at stake in each row; missing amounts are estimated. Any other shape replaces
            the constructor's ``benefit`` and must include the effect of the amounts. None: the constructor's
            ``benefit``.

        Raises
        ------
        ValueError
            If shapes do not match, or an amount is unknown and there is no ``amount_estimator``.
        """
        self._refuse_scan(X, "")
        probability = self.predict_proba(X)
        return self.benefits_of(X, benefit, len(probability)).expected(probability)

    def predict(self, X: Any, benefit: Any = None) -> np.ndarray:
        """Return the decision with the largest expected benefit for each row, shape (n_rows,); the first one on ties.

        ``X`` holds the rows, and ``benefit`` the amount at stake in each row, other benefits or None; see
        `expected_benefit`.
        """
        expected = self.expected_benefit(X, benefit)
        names = self.names_of_decisions(expected.shape[1])
        return names[expected.argmax(axis=1)]

    def total_benefit(self, X: Any, y: Any, benefit: Any = None, sample_weight: Any = None) -> float:
        """Return the total benefit of this classifier's decisions, in the unit of ``benefit``, in rows whose classes
        are known.

        If there is an ``amount_estimator``, the decisions use its estimates, and the true amounts only measure their
        benefit.

        Parameters
        ----------
        X : table that the classifier accepts, shape (n_rows, n_features)
        y : array-like, shape (n_rows,)
            True classes.
        benefit : array-like, optional
            True amounts or benefits, in the shapes that `expected_benefit` accepts.
        sample_weight : array-like, shape (n_rows,), optional
            Weight of each row: a weight of 2 equals the row repeated.
        """
        realised, weights = self._realised(X, y, benefit, sample_weight)
        return float(realised.sum() if weights is None else realised @ weights)

    def score(self, X: Any, y: Any, sample_weight: Any = None, benefit: Any = None) -> float:
        """Return the mean benefit of the decisions per row: `total_benefit` of the same arguments divided by the sum of
        the row weights.

        It is the accuracy if neither benefits nor amounts are given.
        """
        realised, weights = self._realised(X, y, benefit, sample_weight)
        return float(np.average(realised, weights=weights))

    def profit_curve(
        self, X: Any, y: Any, benefit: Any = None, sample_weight: Any = None, **options: Any
    ) -> ProfitCurve:
        """Return the profit of taking the second of two decisions in the rows that gain most by it, for every share of
        rows.

        ``X``, ``y``, ``benefit`` and ``sample_weight`` are those of `total_benefit`; ``options`` are further arguments
        of `bayesieve.profit_curve`. Rows are ranked by the expected gain of the second decision over the first. The
        thresholds of the curve are such gains, in the unit of the benefits.
        """
        rows, expected, benefits = self._outcomes(X, y, benefit, sample_weight)
        if expected.shape[1] != 2:
            raise ValueError(
                f"A profit curve needs two decisions, but benefit has {expected.shape[1]} rows; set a benefit matrix "
                "with two rows."
            )
        gain, target = expected[:, 1] - expected[:, 0], rows.target
        options |= {"classes": self._classes(), "sample_weight": rows.weights}
        return profit_curve(target.classes[target.codes], gain, benefit=benefits.values, **options)

    def _realised(self, X: Any, y: Any, benefit: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the benefit of the decision taken in each labelled row, (n_labelled,), and the weights of these rows
        or None.

        ``X`` holds the rows, ``y`` their true classes, ``benefit`` their true amounts or benefits, and
        ``sample_weight`` their weights; see `total_benefit`.
        """
        rows, expected, benefits = self._outcomes(X, y, benefit, sample_weight)
        codes = positions_in(rows.target, self._classes(), "y")
        return benefits.realised(expected.argmax(axis=1), codes), rows.weights

    def _outcomes(self, X: Any, y: Any, benefit: Any, sample_weight: Any) -> tuple[LabelledRows, np.ndarray, Benefits]:
        """Return the labelled rows, the expected benefits by which decisions are taken, and the true benefits.

        The expected benefits have shape (n_labelled, n_decisions). ``X`` holds the rows, ``y`` their true classes,
        ``benefit`` their true amounts or benefits, and ``sample_weight`` their weights; see `total_benefit`.
        """
        self._refuse_scan(X, y)
        probability, rows = self.predict_proba(X), LabelledRows.of(X, y, sample_weight)
        benefits = self.benefits_of(X, benefit, len(probability), estimate=False)
        estimated = getattr(self, "amount_estimator_", None) is not None
        expected = (self.benefits_of(X, None, len(probability)) if estimated else benefits).expected(probability)
        if benefits.by_row:
            benefits = Benefits(rows.among(benefits.values))
        return rows, rows.among(expected), benefits

    def _fitted(self) -> Any:
        """Return the fitted classifier: that of ``fit``, or the constructor's if it was fitted already."""
        check_is_fitted(self)
        return getattr(self, "estimator_", self.estimator)

    def _classes(self) -> np.ndarray:
        """Return the class labels of the fitted classifier, shape (n_classes,)."""
        return np.asarray(self._fitted().classes_)

    def class_shares(self) -> np.ndarray | None:
        """Return ``class_prior`` as a checked array, shape (n_classes,); None if it is not set."""
        if self.class_prior is None:
            return None
        classes, class_prior = self._classes().tolist(), self.class_prior
        if isinstance(class_prior, Mapping):
            class_prior = [class_prior.get(label, np.nan) for label in classes]
        try:
            shares = np.asarray(class_prior, dtype=np.float64)
        except (TypeError, ValueError):
            shares = np.zeros(0)
        if shares.shape != (len(classes),) or not (shares > 0).all() or not np.isclose(shares.sum(), 1.0, atol=1e-6):
            raise ValueError(
                f"class_prior must hold a positive share for each of the classes {classes!r:.80}, with a sum of 1, got "
                f"{self.class_prior!r:.80}."
            )
        return shares

    def _prior_ratio(self) -> np.ndarray | None:
        """Return ``class_prior`` divided by the class shares in training, shape (n_classes,); None if ``class_prior``
        is None.
        """
        shares = self.class_shares()
        if shares is None:
            return None
        if not hasattr(self, "training_prior_"):
            raise NotFittedError(
                "class_prior needs the class shares of the training rows, which this classifier has not seen: call "
                "fit with these rows. Wrap the classifier in FrozenEstimator to keep it as it is."
            )
        trained = self.training_prior_
        return np.divide(shares, trained, out=np.zeros_like(shares), where=trained > 0)

    def benefits_of(self, X: Any, benefit: Any, n_rows: int, *, estimate: bool = True) -> Benefits:
        """Return the benefits of all decisions in the ``n_rows`` rows of ``X``.

        ``benefit`` holds known amounts (n_rows,) or, in any other shape, replaces the constructor's ``benefit``; None
        uses it. Unknown amounts are estimated if ``estimate`` is True and there is an ``amount_estimator``, otherwise
        benefits that depend on them are NaN.
        """
        n_classes = self._classes().size
        if benefit is not None and not is_column(benefit):
            return read_benefits(benefit, n_classes, n_rows, X=X)
        amounts = self._known_amounts(X, benefit, n_rows)
        if estimate and getattr(self, "amount_estimator_", None) is not None:
            amounts = np.full(n_rows, np.nan) if amounts is None else amounts.copy()
            unknown = np.flatnonzero(np.isnan(amounts))
            if unknown.size:
                amounts[unknown] = np.ravel(self.amount_estimator_.predict(take_rows(X, unknown)))
        return read_benefits(self.benefit, n_classes, n_rows, X=X, amount=amounts, amount_benefit=self.amount_benefit)

    def _known_amounts(self, X: Any, benefit: Any, n_rows: int) -> np.ndarray | None:
        """Return the known amount at stake in each row, (n_rows,), NaN where unknown; None if there are no amounts.

        They are given by ``benefit`` or, if it is None, by the column of ``X`` named in the constructor.
        """
        if benefit is not None:
            return column_of_numbers(benefit, "benefit", n_rows)
        if self.amount is None:
            return None
        table = ScannedTable(scan(X)) if is_scan(X, "") else as_table(X)
        if self.amount not in table.names:
            raise ValueError(f"X has no column {self.amount!r}; check the name given as amount=.")
        return table.column(table.names.index(self.amount)).numbers()

    def _refuse_scan(self, X: Any, y: Any) -> None:
        """Raise ValueError if ``benefit`` is a function of rows and ``X`` or ``y`` a scan, whose rows are not in
        memory.
        """
        if callable(self.benefit):
            remedy = "write its values into a column and name it as amount"
            refuse_scan(X, y, "A function of the rows as benefit", remedy)

    def _fit_amounts(self, X: Any, matters: np.ndarray, weights: np.ndarray | None, benefit: Any) -> None:
        """Fit a clone of ``amount_estimator`` to the rows whose amount is known.

        ``matters`` (n_rows,) is a mask of the rows whose benefit depends on the amount; other rows are ignored.
        ``weights`` (n_rows,) are row weights or None, and ``benefit`` holds the amounts unless they are a column of
        ``X``.
        """
        amounts = self._known_amounts(X, benefit, matters.size)
        if amounts is None:
            raise ValueError(
                "amount_estimator needs amounts to train on; pass them to fit as benefit=, or name their column as "
                "amount=."
            )
        rows = np.flatnonzero(matters & ~np.isnan(amounts) & (True if weights is None else weights > 0))
        if not rows.size:
            raise ValueError(
                "amount_estimator has no row to train on: no amount is known in rows whose benefit depends on it; give "
                "amounts for some of these rows."
            )
        estimator, options = clone(self.amount_estimator), {}
        if weights is not None and has_fit_parameter(estimator, "sample_weight"):
            options["sample_weight"] = weights[rows]
        self.amount_estimator_ = estimator.fit(take_rows(X, rows), amounts[rows], **options)

    def _routed(self, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters ``fit_params`` of ``fit`` that the classifier receives, selected by scikit-learn's
        metadata routing if it is enabled.
        """
        from sklearn import get_config

        if get_config()["enable_metadata_routing"]:
            return dict(process_routing(self, "fit", **fit_params).estimator.fit) if fit_params else {}
        if "sample_weight" in fit_params and not has_fit_parameter(self.estimator_, "sample_weight"):
            raise ValueError(f"{type(self.estimator_).__name__} does not accept sample_weight; omit it.")
        return fit_params

    def get_metadata_routing(self) -> MetadataRouter:
        """Return scikit-learn's routing: ``benefit`` goes to this object, all other fit parameters go to the
        classifier.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether ``fit`` was called, or the classifier was fitted already."""
        if hasattr(self, "estimator_"):
            return True
        try:
            check_is_fitted(self.estimator)
        except (NotFittedError, TypeError):
            return False
        return True


_Number = Annotated[float, msgspec.Meta(ge=-1e300, le=1e300)]
_Names = Annotated[tuple[str | int | bool, ...], msgspec.Meta(min_length=1)]
Matrix = tuple[tuple[_Number, ...], ...]


class BenefitRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Decisions and their benefits as plain values for JSON files; classes are named by their text.

    Attributes
    ----------
    benefit : matrix with a row for each decision and a column for each of ``classes``
    classes : names of the classes in the order of the columns; if a file omits them, the classes of the model
    decisions : names of the decisions in the order of the rows; if a file omits them, the classes
    amount : name of the column that holds the amount at stake, or None
    amount_benefit : benefit per unit of the amount, or None
    class_prior : shares of the classes where decisions are taken; None if they are as in training
    """

    benefit: Matrix
    classes: _Names = ()
    decisions: _Names = ()
    amount: str | None = None
    amount_benefit: Matrix | None = None
    class_prior: dict[str, Annotated[float, msgspec.Meta(gt=0.0)]] | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str], classes: Any) -> BenefitRule:
        """Return the rule in a JSON file, for a model with the given classes. Raise ValueError, naming the file, if the
        file is invalid.
        """
        file = checked_path(path)
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise ValueError(f"{file} cannot be read ({error.strerror}); give a JSON file of benefits.") from None
        except (ValueError, RecursionError):
            raise ValueError(f"{file} does not hold valid JSON; give a file such as {{{_EXAMPLE}}}.") from None
        try:
            return cls.from_json(data, classes)
        except Damaged as error:
            raise ValueError(f"{file} is not a valid file of benefits: {error}; correct the file.") from None

    @classmethod
    def from_json(cls, data: Any, classes: Any) -> BenefitRule:
        """Return the rule from parsed JSON, for a model with the given classes.

        Raise `Damaged` if values are invalid. Its message is part of a sentence that the caller completes with the
        file.
        """
        labels = tuple(str(label) for label in classes)
        rule = converted(data, cls, "rule")
        order = _names(rule.classes, labels, "classes")
        decisions = _names(rule.decisions, order, "decisions")
        slope, prior = rule.amount_benefit, rule.class_prior
        if set(order) != set(labels):
            raise Damaged(f"its classes are not those of the model, {list(labels)!r:.80}")
        for name, matrix in (("benefit", rule.benefit), ("amount_benefit", slope)):
            if matrix is not None and (len(matrix) != len(decisions) or {len(row) for row in matrix} != {len(order)}):
                raise Damaged(
                    f"{name} needs a row for each of {len(decisions)} decisions, with {len(order)} numbers, one for "
                    "each class"
                )
        if (rule.amount is None) != (slope is None):
            raise Damaged("amount and amount_benefit must be given together")
        if prior is not None and (set(prior) != set(order) or abs(sum(prior.values()) - 1) > 1e-6):
            raise Damaged(
                f"class_prior needs a positive share for each of {list(order)!r:.80} and no others, with a sum of 1"
            )
        shares = None if prior is None else {name: prior[name] for name in order}
        return msgspec.structs.replace(rule, classes=order, decisions=decisions, class_prior=shares)

    def to_json(self) -> dict[str, Any]:
        """Return the rule as plain values that `from_json` reads."""
        return json.loads(json.dumps(msgspec.to_builtins(self)))

    def around(self, model: Any, class_count: Any) -> BenefitClassifier:
        """Return a `BenefitClassifier` that applies this rule to a fitted model.

        ``class_count`` holds the number of the model's training rows of each class, shape (n_classes,).
        """
        texts = [str(label) for label in model.classes_]
        columns = [self.classes.index(text) for text in texts]
        slope, prior = self.amount_benefit, self.class_prior
        return BenefitClassifier(
            model,
            benefit=[[row[j] for j in columns] for row in self.benefit],
            amount=self.amount,
            amount_benefit=None if slope is None else [[row[j] for j in columns] for row in slope],
            class_prior=None if prior is None else [prior[text] for text in texts],
            decisions=list(self.decisions),
        ).keep(model, class_count)


def _names(labels: tuple[Any, ...], default: tuple[str, ...], what: str) -> tuple[str, ...]:
    """Return labels as texts, or ``default`` if there are none; raise `Damaged`, naming ``what``, if a name occurs
    twice.
    """
    names = tuple(map(str, labels)) or default
    if len(set(names)) != len(names):
        raise Damaged(f"{what} contains a name twice")
    return names
