"""Other classifiers on raw tables (*peers*), for comparisons with bayesieve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayesieve_lab.peers.boosted_trees import BoostedTrees
from bayesieve_lab.peers.cat_boost import OrderedBoosting
from bayesieve_lab.peers.categorical_nb import QuantileNB
from bayesieve_lab.peers.ebm import BoostingMachine
from bayesieve_lab.peers.faster_risk import RiskScore
from bayesieve_lab.peers.figs import TreeSums
from bayesieve_lab.peers.gaussian_nb import OneHotGaussianNB
from bayesieve_lab.peers.khiops_nb import KhiopsNB
from bayesieve_lab.peers.l1_logistic import L1Logistic
from bayesieve_lab.peers.peer import Peer
from bayesieve_lab.peers.scorecard import Scorecard
from bayesieve_lab.peers.weka import WekaBayes

__all__ = [
    "PEERS",
    "BoostedTrees",
    "BoostingMachine",
    "KhiopsNB",
    "L1Logistic",
    "OneHotGaussianNB",
    "OrderedBoosting",
    "QuantileNB",
    "RiskScore",
    "Scorecard",
    "TreeSums",
    "WekaBayes",
]


def _installed(peer: type[Peer], **settings: Any) -> Callable[..., Any]:
    """Return a function that creates a ``peer`` with the options ``settings``, and others that it is called with.

    It raises ValueError if the package of the peer is not installed.
    """

    def make(**options: Any) -> Peer:
        """Return the peer with further options; ValueError if its package is not installed."""
        peer.check_installed()
        return peer(**settings, **options)

    return make


PEERS: dict[str, Callable[..., Any]] = {
    "hist-gradient-boosting": BoostedTrees,
    "categorical-nb": QuantileNB,
    "gaussian-nb": OneHotGaussianNB,
    "l1-logistic": L1Logistic,
    "khiops": _installed(KhiopsNB),
    "khiops-trees-pairs": _installed(KhiopsNB, n_trees=10, n_pairs=100),
    "catboost": _installed(OrderedBoosting),
    "ebm": _installed(BoostingMachine),
    "scorecard": _installed(Scorecard),
    "figs": _installed(TreeSums),
    "fasterrisk": _installed(RiskScore),
    "weka-aode": _installed(WekaBayes, learner="AODE"),
    "weka-waode": _installed(WekaBayes, learner="WAODE"),
    "weka-hnb": _installed(WekaBayes, learner="HNB"),
}
"""Peers by name on the command line; each accepts ``kinds`` and ``random_state``. The first four need only
scikit-learn. The others raise ValueError when created if a package is not installed; the message says what to install.
"""
