"""Other people's classifiers on the same raw tables, to stand beside ours in comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayesieve.studies.peers.boosted_trees import BoostedTrees
from bayesieve.studies.peers.categorical_nb import QuantileNB
from bayesieve.studies.peers.ebm import BoostingMachine
from bayesieve.studies.peers.gaussian_nb import OneHotGaussianNB
from bayesieve.studies.peers.khiops_nb import KhiopsNB
from bayesieve.studies.peers.peer import Peer

__all__ = ["PEERS", "BoostedTrees", "BoostingMachine", "KhiopsNB", "OneHotGaussianNB", "QuantileNB"]


def _installed(peer: type[Peer]) -> Callable[..., Any]:
    """Makes a peer once its package is known to be there; clones are made without asking again."""

    def make(**options: Any) -> Peer:
        peer.check_installed()
        return peer(**options)

    return make


PEERS: dict[str, Callable[..., Any]] = {
    "hist-gradient-boosting": BoostedTrees,
    "categorical-nb": QuantileNB,
    "gaussian-nb": OneHotGaussianNB,
    "khiops": _installed(KhiopsNB),
    "ebm": _installed(BoostingMachine),
}
"""Peers by the names that the command line uses; each takes ``kinds`` and ``random_state``.

The last two want ``pip install 'bayesieve[peers]'``, and say so with a ValueError before any work is done.
"""
