"""Methods of the papers as published, by name: `as_published`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bayesieve.classifier.selective import SelectiveNB
from bayesieve.discretize import TableEncoder
from bayesieve.selection import (
    AccuracySelector,
    AUCSelector,
    BayesianAveraging,
    BoostedSelector,
    CompressionAveraging,
    DependenceClusterSelector,
    ImpreciseInformationGainSelector,
    InformationGainSelector,
    MAPSelector,
    MRMRSelector,
    WrapperSelector,
)
from bayesieve.words import did_you_mean, named

# All published methods use the papers' prior of levels, no pairs, and counted contributions.
_AS_PRINTED: Mapping[str, Any] = {"prior": "published", "pairs": 0, "calibrate": False}
# Boulle (2007) always searches by his algorithm 1, not over all subsets, and counts constant columns in K.
_SEARCH: Mapping[str, Any] = {"exhaustive": False, "constant_columns": True}
_ALPHA_IN_BITS = 0.01  # smallest threshold that example 2 of Abellan & Castellano allows; they do not state theirs
_NEXT_TO_NONE = 1e-6  # smoothing close to none, because Blanquero et al. have zero probabilities


def _of_boulle(selector: Any, **options: Any) -> SelectiveNB:
    """Return a model with a selector and all other options as in Boulle (2007)."""
    return SelectiveNB(selector, **_AS_PRINTED, **options)


def _on_mdlp(selector: Any, smoothing: float, missing: Any) -> SelectiveNB:
    """Return a model with a selector and numbers cut by MDLP. ``smoothing`` is that of `SelectiveNB`, and ``missing``
    that of `TableEncoder`.
    """
    encoder = TableEncoder(numeric="mdlp", categorical="values", missing=missing)
    return SelectiveNB(selector, encoder=encoder, smoothing=smoothing, pairs=0, calibrate=False)


def _of_rabenoro(selector: type, **options: Any) -> SelectiveNB:
    """Return a model with a wrapper selector of the class ``selector``, as in Rabenoro (2015)."""
    # Do not refit levels without the held-out rows, because the paper has fixed levels. The error chooses the subset.
    chosen = selector(validation="error", recode=False, smoothing=1.0, **options)
    return SelectiveNB(chosen, **_AS_PRINTED, smoothing=1.0)


PUBLISHED: Mapping[str, Callable[[], SelectiveNB]] = {
    # Boulle (2007), section 7.1
    "SNB(CMA)": lambda: _of_boulle(CompressionAveraging(count="evaluations", **_SEARCH)),
    "SNB(BMA)": lambda: _of_boulle(BayesianAveraging(count="evaluations", **_SEARCH)),
    "SNB(MAP)": lambda: _of_boulle(MAPSelector(**_SEARCH)),
    "SNB(ACC)": lambda: _of_boulle(AccuracySelector(until_decay=True)),
    "SNB(AUC)": lambda: _of_boulle(AUCSelector(search="multi-start")),
    "NB": lambda: _of_boulle("all"),
    "NB(EF)": lambda: _of_boulle("all", encoder=TableEncoder(numeric="equal-frequency", categorical="values")),
    # Abellan & Castellano (2017), section 5
    "IIG-NB": lambda: _on_mdlp(ImpreciseInformationGainSelector(s=1.0), 1.0, "ignore"),
    "IG-NB": lambda: _on_mdlp(InformationGainSelector(alpha=_ALPHA_IN_BITS * float(np.log(2))), 1.0, "ignore"),
    # Rabenoro et al. (2015), sections 4 and 5.3
    "forward": lambda: _of_rabenoro(WrapperSelector, direction="forward"),
    "backward": lambda: _of_rabenoro(WrapperSelector, direction="backward"),
    "forward-backward": lambda: _of_rabenoro(WrapperSelector, direction="forward-backward"),
    "backward-forward": lambda: _of_rabenoro(WrapperSelector, direction="backward-forward"),
    "mRMR": lambda: _of_rabenoro(MRMRSelector),
    # Blanquero et al. (2021), algorithm 1
    "sparse-NB": lambda: _on_mdlp(DependenceClusterSelector(smoothing=_NEXT_TO_NONE), _NEXT_TO_NONE, "level"),
    # Gidofalvi & Zadrozny, tables 1 and 2, with 10 features; their table 3 has 5, 10 and 20
    "forward-MSE": lambda: _of_boulle(
        WrapperSelector("brier", direction="forward", evaluation="train", n_features_to_select=10)
    ),
    "boosted": lambda: _of_boulle(BoostedSelector(None, n_features_to_select=10)),
}


def as_published(name: str) -> SelectiveNB:
    """Return an unfitted estimator that follows a method of the papers as published.

    The defaults of `SelectiveNB` differ from the papers: another prior of levels, pairs of columns, fitted
    contributions, and more starts of the search. The published methods follow the text of the papers; change their
    options by ``set_params``.

    Parameters
    ----------
    name : str
        Name of the method, in upper or lower case. Boulle (2007): ``"SNB(CMA)"``, ``"SNB(BMA)"``, ``"SNB(MAP)"``,
        ``"SNB(ACC)"``, ``"SNB(AUC)"``, ``"NB"``, ``"NB(EF)"``. Abellan & Castellano (2017): ``"IIG-NB"``, ``"IG-NB"``.
        Rabenoro et al. (2015): ``"forward"``, ``"backward"``, ``"forward-backward"``, ``"backward-forward"``,
        ``"mRMR"``. Blanquero et al. (2021): ``"sparse-NB"``. Gidofalvi & Zadrozny: ``"forward-MSE"``, ``"boosted"``.

    Returns
    -------
    SelectiveNB
        Unfitted model.

    Raises
    ------
    ValueError
        If there is no such method.

    Examples
    --------
    >>> from bayesieve import as_published
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> as_published("SNB(MAP)").fit(X, y).selected_features_
    ['petal length (cm)', 'petal width (cm)']
    """
    names = {one.casefold(): one for one in PUBLISHED}
    spelling = names.get(name.casefold()) if isinstance(name, str) else None
    if spelling is None:
        question = did_you_mean(name, PUBLISHED) if isinstance(name, str) else ""
        hint = f" {question[0].upper()}{question[1:]}" if question else ""
        raise ValueError(
            f"There is no published method {name!r:.80}.{hint} Choose from {named(PUBLISHED, most=len(PUBLISHED))}."
        )
    return PUBLISHED[spelling]()
