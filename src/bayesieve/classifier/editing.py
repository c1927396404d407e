"""`ModelEditor`, which edits a fitted model by hand step by step, and the change of a model to other class shares."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.classifier.scoring import table_of_rows, with_card
from bayesieve.counts.contingency import Shrinkage
from bayesieve.evidence.fitting import FeatureEvidence, fit_around
from bayesieve.parts import is_number
from bayesieve.scorecard import edits
from bayesieve.scorecard.combining import with_mean_for_unseen
from bayesieve.scorecard.edits import Edit
from bayesieve.scorecard.probabilities import log_probabilities
from bayesieve.scorecard.record import Feature, Scorecard, centred, with_importances
from bayesieve.table.cautions import silenced, warn_caller
from bayesieve.table.levels import WithheldLevels
from bayesieve.words import did_you_mean, named, plural, utc_now

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB

FIXED = ("cut", "merge", "set", "flatten", "monotone", "drop")
"""Edits after which `ModelEditor.refit` leaves a feature as it is."""
_ROUNDING = 1e-6  # accepted difference of the sum of shares from 1


class ModelEditor:
    """Editor of a fitted model. Each method makes one edit; `done` returns the edited model and leaves the original
    unchanged.

    Name a level by its label, as shown in reports and by ``explain``, or by its position from 0. An edit of a level
    sets all its cells; name a single cell by its label in ``scorecard_.to_frame()``. Contributions are in nats, as
    shown there. They are centred over the training rows only by `done`, which moves their mean into the intercept and
    leaves probabilities unchanged.

    Examples
    --------
    >>> import polars as pl
    >>> from bayesieve import SelectiveNB
    >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10, "job": ["a", "c", "b", "b"] * 10})
    >>> model = SelectiveNB(pairs=0).fit(frame, ["no", "no", "yes", "yes"] * 10)
    >>> edited = model.edit().set("age", {0: -1.0}).drop("job").done("as agreed", who="Ann")
    >>> [(edit.what, edit.feature, edit.why) for edit in edited.edits_]
    [('set', 'age', 'as agreed'), ('drop', 'job', 'as agreed')]
    >>> edited.selected_features_
    ['age']
    """

    def __init__(self, model: SelectiveNB) -> None:
        self._model, self._card = model, model.scorecard_
        self._steps: list[tuple[Edit, Scorecard]] = []

    def __repr__(self) -> str:
        return f"ModelEditor({plural(len(self._steps), 'edit')})"

    def cut(self, feature: str, old: Any, new: Any) -> ModelEditor:
        """Move a cut point of a numeric or date feature; add one if ``old`` is None, or remove one if ``new`` is None.

        If a cut moves, the growing interval keeps its contribution. Both sides of a new cut start with the contribution
        of the divided interval; if a cut is removed, its neighbouring intervals are merged. The rows of a divided cell
        are split in proportion to the widths.
        """
        return self._of_feature("cut", feature, lambda one: edits.cut(one, old, new))

    def merge(self, feature: str, levels: Sequence[Any]) -> ModelEditor:
        """Merge levels of a feature; intervals must be neighbours. Counts are added up, and contributions are averaged
        over training rows.
        """
        return self._of_feature("merge", feature, lambda one: edits.merged(one, levels))

    def set(self, feature: str, values: Mapping[Any, Any]) -> ModelEditor:
        """Set contributions of levels, in nats.

        For two classes, ``{level: nats}`` sets the contributions to the positive class, and the other class gets the
        opposite. With ``{level: {class: nats}}``, classes that are not named share the remainder equally, so that the
        sum over classes is 0. Standard errors become 0. The level "(not seen in training)" stands for unseen values.
        """
        return self._of_feature("set", feature, lambda one: edits.with_values(one, self._card, values))

    def flatten(self, feature: str) -> ModelEditor:
        """Set all contributions of a feature to 0."""
        return self._without("flatten", feature)

    def _without(self, what: str, feature: str) -> ModelEditor:
        """Remove a feature from the model, and record the edit under the kind ``what``."""
        return self._of_feature(what, feature, lambda one: edits.without(one, self._card.class_counts.sum()))

    def drop(self, feature: str) -> ModelEditor:
        """Remove a feature from the model. Its mean contribution stays in the intercept. A warning names pairs that
        still use the column.
        """
        self._without("drop", feature)
        used = [one for one in self._card.features if one.is_used and feature in one.columns]
        if others := [one.name for one in used if one.name != feature]:
            warn_caller(f"The model still reads {feature!r}, through {named(others)}; drop these, too.")
        return self

    def monotone(self, feature: str, sign: int) -> ModelEditor:
        """Make the contributions of a numeric feature to the positive one of two classes monotone, by isotonic
        regression weighted by training rows.

        They never fall with increasing values if ``sign`` is +1, and never rise if it is -1. Missing values stay
        unchanged.
        """
        return self._of_feature("monotone", feature, lambda one: edits.rising(one, sign, self._card.side))

    def rename(self, feature: str, texts: Mapping[Any, str | None]) -> ModelEditor:
        """Replace labels of levels by other texts, ``{level: text}``; None restores the label."""
        return self._of_feature("rename", feature, lambda one: edits.renamed(one, texts))

    def refit(self, X: Any, y: Any, sample_weight: Any = None) -> ModelEditor:
        """Refit the intercept and the contributions of all features that were not edited to rows; edited features stay
        fixed.

        Contributions start from those of the model and deviate from them as far as the rows support it, under the
        priors of ``fit``. Levels, cells, counts, selected features and smoothing stay unchanged. Unlike in ``fit``,
        rows are not excluded from their own prediction, because the model does not store what each row contributed.
        """
        from bayesieve.evaluation.judged import evaluated_rows

        model = with_card(self._model, self._card)
        with silenced():
            rows = evaluated_rows(model, X, y, sample_weight)
        cells, labels = rows.cells, np.asarray(rows.labels)
        fixed = {edit.feature for edit in (*model.edits_, *(edit for edit, _ in self._steps)) if edit.what in FIXED}
        at = [i for i, k in enumerate(self._card.used.tolist()) if self._card.features[k].name not in fixed]
        if not at:
            raise ValueError("Every feature of the model was edited, which leaves none to refit; edit fewer features.")
        positions = self._card.used[at].tolist()
        refitted = [self._card.features[k] for k in positions]
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
        evidence = [
            FeatureEvidence(f.cells, f.contributions, f.counts, f.standard_errors, f.factors, 0.0) for f in refitted
        ]
        parts = [(f.levels, counted, f.sign) for f, counted in zip(refitted, evidence, strict=True)]
        fitted, shift, shared = fit_around(
            parts, cells[at], self._card.tables.joint(cells), labels, weights, model.n_jobs
        )
        features = [
            replace(f, factors=f.factors[..., :0]) for f in self._card.features
        ]  # shared factors of the old fit do not apply to the new one
        shrinks = isinstance(self._card.provenance["smoothing"], Shrinkage)
        for k, new in zip(positions, fitted, strict=True):
            by = {"contributions": new.table, "standard_errors": new.errors, "factors": new.factors}
            old, features[k] = features[k], replace(features[k], **by)
            if not old.unseen.any():
                features[k] = with_mean_for_unseen(features[k], old.contributions, shrinks=shrinks)
        provenance = {**self._card.provenance}
        provenance["evidence"] = "cells" if any(feature.is_split for feature in features) else "levels"
        shares = np.bincount(labels, weights, self._card.classes.size) / weights.sum()
        if np.array_equal(shares > 0, self._card.class_counts > 0):
            provenance["prior"] = tuple(shares.tolist())  # class shares of the rows to which the intercept is fitted
        facts = {"intercept": self._card.intercept + shift, "intercept_factors": shared, "provenance": provenance}
        card = replace(self._card, features=tuple(features), **facts)
        return self._add("refit", None, card, "", f"{plural(len(refitted), 'feature')}, {plural(rows.n_rows, 'row')}")

    def done(self, note: str = "", who: str | None = None, X: Any = None, y: Any = None) -> SelectiveNB:
        """Return a new model with all edits.

        Parameters
        ----------
        note : reason for the edits, stored with each of them.
        who : author of the edits; None for the user's login name.
        X, y : rows (not those of training) and labels on which AUC and log loss are measured before and after each
            edit.
        """
        if (X is None) != (y is None):
            raise ValueError("Measuring an edit needs rows and their labels; pass both X and y.")
        who = _login() if who is None else who
        for name, text in (("note", note), ("who", who)):
            if not isinstance(text, str):
                raise ValueError(f"{name} must be text, got {text!r:.80}.")
        old, new_edits = self._model, [replace(edit, who=who, why=note) for edit, _ in self._steps]
        if X is not None:
            figures = self._measured(X, y)
            for k, edit in enumerate(new_edits):
                both = (("before", figures[k]), ("after", figures[k + 1]))
                measures = {f"{name}_{when}": value for when, values in both for name, value in values.items()}
                new_edits[k] = replace(edit, **measures)
        intercept, total, features = self._card.intercept.copy(), self._card.class_counts.sum(), []
        for edited, before in zip(self._card.features, old.scorecard_.features, strict=True):
            feature = edited
            if edited.contributions is not before.contributions:
                feature, mean = centred(edited, total)
                intercept += mean
                feature = feature if not feature.sign or edits.keeps_sign(feature) else replace(feature, sign=0)
            features.append(feature)
        provenance = {**self._card.provenance, "edits": (*old.edits_, *new_edits)}
        whole = with_importances(features, self._card.class_counts)
        return with_card(old, replace(self._card, features=whole, intercept=intercept, provenance=provenance))

    def _measured(self, X: Any, y: Any) -> list[dict[str, Any]]:
        """Return the AUC and log loss on the rows ``X`` with labels ``y`` as dicts: before the edits, then after each
        of them. Values that are not finite become None.
        """
        from bayesieve.evaluation.judged import evaluated_rows
        from bayesieve.statistics import metrics

        model = self._model
        with silenced():
            rows, table = evaluated_rows(model, X, y), table_of_rows(model, X)
        figures, labels = [], np.asarray(rows.labels)
        for card in (model.scorecard_, *(card for _, card in self._steps)):
            logs = log_probabilities(card.joint(table))
            measures = {"auc": metrics.auc(logs, labels), "log_loss": metrics.log_loss(logs, labels)}
            figures.append({name: measure if np.isfinite(measure) else None for name, measure in measures.items()})
        return figures

    def _of_feature(self, what: str, name: str, change: Callable[[Feature], tuple[Feature, str, str]]) -> ModelEditor:
        """Change the feature ``name``, and record the edit under the kind ``what``.

        ``change`` is a function of the feature that returns the new feature, and descriptions of the edited item before
        and after.
        """
        names = [feature.name for feature in self._card.features]
        if name not in names:
            hint = (did_you_mean(name, names) if isinstance(name, str) else "") or f"it has {named(names)}."
            raise ValueError(f"The model has no feature {name!r:.80}; {hint}")
        k = names.index(name)
        if isinstance(self._card.features[k].levels, WithheldLevels):
            raise ValueError(
                f"Feature {name!r} is not in the model, and the file does not contain its categories; edit the fitted "
                "model before you save it."
            )
        feature, before, after = change(self._card.features[k])
        features = (*self._card.features[:k], feature, *self._card.features[k + 1 :])
        return self._add(what, name, replace(self._card, features=features), before, after)

    def _add(self, what: str, feature: str | None, card: Scorecard, before: str, after: str) -> ModelEditor:
        """Make ``card`` the current scorecard, and record an edit of the kind ``what``. ``before`` and ``after``
        describe the edited item.
        """
        self._card = card
        self._steps.append((Edit(what, feature, "", utc_now(), "", before, after), card))
        return self


def with_prior(model: SelectiveNB, shares: Mapping[Any, float], note: str, who: str | None) -> SelectiveNB:
    """Return a model with other class shares, as documented in `SelectiveNB.with_prior`."""
    card = model.scorecard_
    labels, has_rows = card.classes.tolist(), card.class_counts > 0
    old = card.class_shares
    new = _checked_shares(shares, [label for label, is_class in zip(labels, has_rows, strict=True) if is_class])
    prior = np.zeros(len(labels))
    prior[has_rows] = new
    intercept = card.intercept.copy()
    intercept[has_rows] += np.log(prior[has_rows]) - np.log(old[has_rows])
    texts = [[f"{label}: {share:.6g}" for label, share in zip(labels, priors, strict=True)] for priors in (old, prior)]
    before, after = map("; ".join, texts)
    edit = Edit("prior", None, _login() if who is None else who, utc_now(), note, before, after)
    provenance = {**card.provenance, "prior": tuple(prior.tolist()), "edits": (*model.edits_, edit)}
    return with_card(model, replace(card, intercept=intercept, provenance=provenance))


def _checked_shares(shares: Mapping[Any, float], labels: Sequence[Any]) -> np.ndarray:
    """Return ``shares`` in the order of the class ``labels``, shape (n_classes,). Raise ValueError unless they are
    positive and add up to 1.
    """
    if not isinstance(shares, Mapping):
        raise ValueError(f"with_prior needs a dict from classes to shares, got {shares!r:.80}.")
    unknown = [label for label in shares if label not in labels]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not a class with training rows; the classes are {named(labels)}.")
    by_class = {label: shares[label] for label in labels if label in shares}
    for label, share in by_class.items():
        if not (is_number(share) and 0.0 < share < 1.0):
            raise ValueError(f"The share of class {label!r} must be above 0 and below 1, got {share!r:.80}.")
    total, lacking = float(sum(by_class.values())), [label for label in labels if label not in by_class]
    if len(lacking) > 1:
        raise ValueError(f"with_prior needs the share of every class, or of all but one; add {named(lacking)}.")
    if total >= 1.0 if lacking else abs(total - 1.0) > _ROUNDING:
        raise ValueError(f"The shares of all classes must add up to 1, but these add up to {total:.6g}.")
    new_shares = np.array([float(by_class.get(label, 1.0 - total)) for label in labels])
    return new_shares / new_shares.sum()


def _login() -> str:
    """Return the name of the current user of the system."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # the system has no users
        return "unknown"
