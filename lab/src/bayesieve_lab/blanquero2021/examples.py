"""Examples of sections 2.2 and 3.1 of Blanquero et al. (2021): four normal features, and clusters of the Australian
data.

The paper's figure 2 is a tree (dendrogram) of the features: each merge joins two clusters at a height from 0 to 1.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.stats import norm
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

from bayesieve import DependenceClusterSelector, TableEncoder
from bayesieve.report import clusters_figure
from bayesieve.table import write_atomically
from bayesieve.table.frames import take_rows
from bayesieve_lab.blanquero2021.data import AUSTRALIAN, TABLE_1
from bayesieve_lab.blanquero2021.two_thirds import TwoThirdsEncoder
from bayesieve_lab.comparison.folds import RepeatedFolds

N_ROWS, CORRELATION = 2000, 0.95
HEIGHT = 0.74
"""Height of the cut in figure 2."""
_CLUSTERED = ((5, 6), (9, 10))


@dataclass(frozen=True)
class Tree:
    """Dendrogram of the features of the Australian data, computed from a subset of the rows.

    Attributes
    ----------
    merges, heights : features (from 1) of the first two merges, and the heights of these.
    next_height : height of the third merge.
    n_clusters : number of clusters if the tree is cut at `HEIGHT`.
    n_combinations : number of ways to take one feature from each of these clusters.
    """

    merges: tuple[tuple[int, ...], ...]
    heights: tuple[float, ...]
    next_height: float
    n_clusters: int
    n_combinations: int

    @property
    def merges_as_in_the_paper(self) -> bool:
        """Whether the first two merges are those of figure 2, in any order."""
        return {tuple(sorted(merge)) for merge in self.merges} == set(_CLUSTERED)


@dataclass(frozen=True)
class Examples:
    """Results of the examples.

    Attributes
    ----------
    accuracies : by subset of features, accuracy in percent in every draw of the data of table 1.
    trees : trees of the training rows of each fold of a cross-validation.
    whole_tree : tree of all rows.
    figure : SVG of the matrix, tree and candidates of all rows.
    """

    accuracies: dict[str, tuple[float, ...]]
    trees: tuple[Tree, ...]
    whole_tree: Tree | None
    figure: str

    @classmethod
    def of(cls, load: Callable[[], tuple[Any, np.ndarray]] | None, seed: int, n_draws: int, n_folds: int) -> Examples:
        """Compute the examples; ``load`` loads the Australian data, None to skip them.

        ``n_draws`` is the number of draws of normal features, ``n_folds`` that of folds whose training rows give a
        tree.
        """
        accuracies = normal_features(seed, n_draws)
        if load is None:
            return cls(accuracies, (), None, "")
        X, y = load()
        trees = []
        for fold in RepeatedFolds(n_folds, 1, seed).split(y):
            encoder = TwoThirdsEncoder()
            trees.append(tree_of(encoder.fit_transform_coded(take_rows(X, fold.train), y[fold.train])))
        coding = TableEncoder(numeric="mdlp", categorical="values", n_jobs=1)
        names = [f"V{k + 1}" for k in range(X.shape[1])]
        X = X.rename(dict(zip(X.columns, names, strict=True)))
        selector = DependenceClusterSelector(encoder=coding, q=AUSTRALIAN.q, n_jobs=1).fit(X, y)
        figure = clusters_figure(selector, title="Australian credit: dependences, clusters and candidates").to_svg()
        return cls(accuracies, tuple(trees), tree_of(coding.fit_transform_coded(X, y)), figure)

    @classmethod
    def read(cls, results: Path, made_by: dict[str, Any] | None = None) -> Self | None:
        """Return the examples saved next to the file ``results``, or None.

        None is returned if there are none, they are damaged, or ``made_by`` differs from the saved settings.
        """
        try:
            saved = json.loads(path_of(results).read_text(encoding="utf-8"))
            if made_by not in (None, saved["made_by"]):
                return None
            accuracies = {subset: tuple(map(float, saved["accuracies"][subset])) for subset in TABLE_1}
            trees = tuple(map(_tree, saved["trees"]))
            whole = None if saved["whole_tree"] is None else _tree(saved["whole_tree"])
            return cls(accuracies, trees, whole, str(saved["figure"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def write(self, results: Path, made_by: dict[str, Any]) -> None:
        """Save the examples next to the file ``results``, with the settings ``made_by``."""
        write_atomically(path_of(results), json.dumps({"made_by": made_by, **asdict(self)}, indent=1) + "\n")


def path_of(results: Path) -> Path:
    """Return the path of the file with the examples, next to the file ``results``."""
    return results.with_name(f"{results.stem}-examples.json")


def _tree(saved: dict[str, Any]) -> Tree:
    """Return a tree from its fields as read from JSON, in which tuples are lists."""
    merges = tuple(tuple(map(int, merge)) for merge in saved["merges"])
    heights, next_height = tuple(map(float, saved["heights"])), float(saved["next_height"])
    return Tree(merges, heights, next_height, int(saved["n_clusters"]), int(saved["n_combinations"]))


def tree_of(coded: Any) -> Tree:
    """Return the tree of the features of a `CodedTable`, clustered by their mutual information within the classes."""
    from bayesieve.counts.dependence import make_dependence
    from bayesieve.counts.pairs import strongest_within_classes
    from bayesieve.search.clusters import FeatureClusters

    dependence = strongest_within_classes(coded, make_dependence("mutual_information", grows=True))
    clusters = FeatureClusters.of(dependence, np.flatnonzero(coded.n_levels > 1))
    merges, heights = [], clusters.linkage[:, 2].tolist()
    before: list[tuple[int, ...]] = [(int(k),) for k in clusters.features]
    alone = coded.n_features - clusters.features.size  # without a second level
    sizes = [1] * clusters.features.size
    for height, after in clusters.cuts():
        now = [tuple(cluster.tolist()) for cluster in after]
        merges += [tuple(k + 1 for k in cluster) for cluster in now if cluster not in before]
        before = now
        if height <= HEIGHT:
            sizes = [len(cluster) for cluster in now]
    third = heights[2] if len(heights) > 2 else 1.0
    return Tree(tuple(merges[:2]), tuple(heights[:2]), third, alone + len(sizes), int(np.prod(sizes)))


def normal_features(seed: int, n_draws: int) -> dict[str, tuple[float, ...]]:
    """Return accuracies in percent of Gaussian naive Bayes by subset of features, one for each of ``n_draws`` data
    sets.

    A data set has four features, drawn as for table 1 of the paper. A subset is named by its digits, such as "134". The
    paper gives the interval [1, 7] of the means but no variances. Here variances are 1, and the means of the classes
    differ in each feature by 2 Phi^-1(accuracy), where accuracy is that of the feature in table 1. Accuracies are those
    of ten-fold cross-validation.
    """
    distances = 2 * norm.ppf([TABLE_1[single] / 100 for single in "1234"])
    accuracies: dict[str, list[float]] = {subset: [] for subset in TABLE_1}
    for draw in range(n_draws):
        rng = np.random.default_rng([seed, draw])
        labels = np.repeat([0, 1], N_ROWS // 2)
        X = rng.normal(size=(N_ROWS, 4))
        X[:, 1] = CORRELATION * X[:, 0] + np.sqrt(1 - CORRELATION**2) * X[:, 1]
        X += rng.uniform(1, 7 - distances) + distances * labels[:, None]
        order = rng.permutation(N_ROWS)
        for size in range(1, 5):
            for subset in combinations(range(4), size):
                scores = cross_val_score(GaussianNB(), X[order][:, subset], labels[order], cv=10)
                accuracies["".join(str(k + 1) for k in subset)].append(round(100 * float(scores.mean()), 4))
    return {subset: tuple(values) for subset, values in accuracies.items()}
