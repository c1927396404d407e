"""Other classifiers on raw tables, for comparisons with ours."""

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
    """A factory that checks that the package of a peer is installed."""

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
"""Peers by name on the command line; each takes ``kinds`` and ``random_state``.

The last two need ``pip install 'bayesieve[peers]'``; otherwise they raise a ValueError at once.
"""
