"""What scikit-learn asks of a `SelectiveNB`: copies, tags, and whether it is fitted."""

from __future__ import annotations

from copy import copy
from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin

from bayesieve.classifier.engines import MEMORY


class TableClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of raw tables with the option ``engine``: clones share a cluster, pickles go without."""

    engine: Any

    def __sklearn_clone__(self) -> TableClassifier:
        other = copy(self)
        other.engine = MEMORY
        clone: TableClassifier = super(TableClassifier, other).__sklearn_clone__()
        clone.engine = self.engine
        return clone

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return state if isinstance(state.get("engine", MEMORY), str) else {**state, "engine": MEMORY}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "naive_bayes_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        for kind in ("allow_nan", "string", "categorical", "sparse"):
            setattr(tags.input_tags, kind, True)
        return tags
