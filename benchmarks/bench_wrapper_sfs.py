"""10 of 60 categorical features by 5-fold log loss, against scikit-learn's and mlxtend's sequential selectors."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import CategoricalNB

from bayesieve import WrapperSelector
from benchmarks.common.measuring import Report, alternate, markdown_table, options, spread, verdict
from benchmarks.common.wrapper_tables import categories

TIMES_FASTER = 200.0
N_LEVELS = 6


def main() -> None:
    """Select with all packages in turns, and compare the selections."""
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, help="rows (default 50,000; 2,000 with --quick)")
    parser.add_argument("--rounds", type=int, default=1, help="runs of the peers, which take minutes (default 1)")
    arguments = parser.parse_args()
    n_rows = arguments.rows or (2_000 if arguments.quick else 50_000)
    n_features, n_selected = (12, 3) if arguments.quick else (60, 10)
    report = Report("wrapper_sfs", "Sequential selection by cross-validated log loss", arguments)
    coded = categories(n_rows, n_features, N_LEVELS)
    codes, labels = coded.codes.T.astype(np.int64), np.asarray(coded.class_codes)
    report.add(
        f"{n_selected} of {n_features} features of {N_LEVELS} levels, {n_rows:,} rows, two classes; forward by log "
        "loss in 5 stratified folds, Laplace's alpha = 1. All sides get the same arrays; bayesieve's time includes "
        "reading them.\n"
    )
    chosen: dict[str, list[int]] = {}
    fitted: dict[str, Any] = {}

    def selecting(name: str, selector: Any) -> Callable[[], None]:
        def fit() -> None:
            fitted[name] = selector.fit(codes, labels)
            found = (
                selector.k_feature_idx_ if hasattr(selector, "k_feature_idx_") else selector.get_support(indices=True)
            )
            chosen[name] = sorted(int(k) for k in found)

        return fit

    ours = {name: selecting(name, selector) for name, selector in wrappers(n_selected).items()}
    peers = {name: selecting(name, peer) for name, peer in sequential_selectors(n_selected).items()}
    alternate(ours, 1)
    runs = alternate(ours, 3 if arguments.quick else 9)
    runs.update(alternate(peers, arguments.rounds))
    again = alternate(ours, 2)  # after the peers' minutes: is the machine still the same?
    fastest = {side: min(median(runs[name]) for name in names) for side, names in (("ours", ours), ("peers", peers))}
    rows = [
        [name, spread(times), f"{median(times) / fastest['ours']:.0f}", ", ".join(map(str, chosen[name]))]
        for name, times in runs.items()
    ]
    report.add(markdown_table(["selector", "median (range)", "times ours", "features"], rows))
    if importlib.util.find_spec("mlxtend") is None:
        report.add("\nmlxtend is not installed and was left out.")
    ratio = fastest["peers"] / fastest["ours"]
    report.add(f"\nTimes faster than the faster peer: {verdict(ratio, TIMES_FASTER, at_least=True)}.")
    same = all(found == chosen["bayesieve, all cores"] for found in chosen.values())
    report.add(f"\nThe features are {'the same on all sides' if same else 'NOT the same'}.")
    report.add(f"\nbayesieve once more after the peers: {spread(again['bayesieve, all cores'])}.")
    report.add(f"\n{same_figure(codes, labels, fitted['bayesieve, all cores'])}")
    report.close(["mlxtend"])


def wrappers(n_selected: int) -> dict[str, WrapperSelector]:
    """Ours, on one core and on all cores."""
    return {
        name: WrapperSelector(
            criterion="log_loss",
            direction="forward",
            evaluation=StratifiedKFold(5),
            n_features_to_select=n_selected,
            encoder=None,
            smoothing=1.0,
            n_jobs=n_jobs,
        )
        for name, n_jobs in (("bayesieve, one core", 1), ("bayesieve, all cores", -1))
    }


def sequential_selectors(n_selected: int) -> dict[str, Any]:
    """The peers, one core and all cores."""
    classifier = CategoricalNB(min_categories=N_LEVELS)
    peers: dict[str, Any] = {}
    for suffix, n_jobs in ((", one core", 1), (", all cores", -1)):
        peers[f"scikit-learn{suffix}"] = SequentialFeatureSelector(
            classifier, n_features_to_select=n_selected, scoring="neg_log_loss", cv=5, n_jobs=n_jobs
        )
    if importlib.util.find_spec("mlxtend") is not None:
        from mlxtend.feature_selection import SequentialFeatureSelector as MlxtendSelector

        peers["mlxtend, one core"] = MlxtendSelector(
            classifier, k_features=n_selected, scoring="neg_log_loss", cv=5, n_jobs=1
        )
    return peers


def same_figure(codes: np.ndarray, labels: np.ndarray, selector: WrapperSelector) -> str:
    """Our criterion, and scikit-learn's cross-validated log loss of the same features."""
    ours = selector.trace_.to_frame()["criterion"][-1]
    features = selector.get_support(indices=True)
    classifier = CategoricalNB(min_categories=N_LEVELS)
    probabilities = cross_val_predict(
        classifier, codes[:, features], labels, cv=StratifiedKFold(5), method="predict_proba"
    )
    theirs = log_loss(labels, probabilities)
    return f"Log loss of the selected features: {ours:.12f} in the trace, {theirs:.12f} by refitting in scikit-learn."


if __name__ == "__main__":
    main()
