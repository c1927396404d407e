"""What an estimator around a classifier takes over from it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import get_tags


def adopt_fitted(owner: Any, classifier: Any) -> None:
    """Take over the classes, and the names and number of features where there are such."""
    owner.classes_ = np.asarray(classifier.classes_)
    for name in ("n_features_in_", "feature_names_in_"):
        vars(owner).pop(name, None)
        if hasattr(classifier, name):
            setattr(owner, name, getattr(classifier, name))


def tags_of_wrapped(classifier: Any, tags: Any) -> Any:
    """The tags of the owner, with the classifier's of what it takes as ``X``."""
    tags.input_tags = get_tags(classifier).input_tags
    return tags
