"""Performance measures, and tests of whether one method is better than another (Demsar 2006)."""

from bayesieve.statistics.data_set_tests import (
    Friedman,
    SignedRanks,
    average_ranks,
    cliques,
    critical_difference,
    friedman,
    ranks,
    wilcoxon_holm,
)
from bayesieve.statistics.fold_tests import PairedTest, WinsLosses, corrected_resampled_t, paired_t, wins_and_losses

__all__ = [
    "Friedman",
    "PairedTest",
    "SignedRanks",
    "WinsLosses",
    "average_ranks",
    "cliques",
    "corrected_resampled_t",
    "critical_difference",
    "friedman",
    "paired_t",
    "ranks",
    "wilcoxon_holm",
    "wins_and_losses",
]
