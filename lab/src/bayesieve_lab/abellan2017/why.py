# ruff: noqa: T201
"""Test of why naive Bayes after selection by IIG is no better than plain naive Bayes here, by comparison with other
codings.

Run as ``python -m bayesieve_lab.abellan2017.why --data DIR``; prints the table of ``why.md``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import softmax
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from bayesieve import (
    EqualFrequencyDiscretizer,
    ImpreciseInformationGainSelector,
    InformationGainSelector,
    SelectiveNB,
    TableEncoder,
)
from bayesieve_lab import Options, RepeatedFolds
from bayesieve_lab.abellan2017.study import ALPHAS, IMPRECISE, PLAIN, Abellan2017
from bayesieve_lab.abellan2017.weka_nb import WekaNB
from bayesieve_lab.comparison.comparing import compare_many
from bayesieve_lab.comparison.differences import signed_rank_test, wilcoxon_holm
from bayesieve_lab.tables import TextTable, p_text, signed

DOCUMENT = "MDLP, missing left out, observed states"
WEKA = {
    "Weka's estimates, missing values spread (the document's)": ("weka", True),
    "Weka's estimates, missing values left out": ("weka", False),
    "Weka's estimates, means and modes for missing values": ("imputed", True),
}
NORMAL = "normal densities of numbers (the filter sees MDLP)"
CODINGS: dict[str, dict[str, Any]] = {
    DOCUMENT: {"numeric": "mdlp", "missing": "ignore"},
    "MDLP, missing a level": {"numeric": "mdlp", "missing": "level"},
    "10 bins of equal frequency, missing left out": {"numeric": EqualFrequencyDiscretizer(10), "missing": "ignore"},
    "30 bins of equal frequency, missing left out": {"numeric": EqualFrequencyDiscretizer(30), "missing": "ignore"},
}
SELECTORS: dict[str, Any] = {
    "NB": InformationGainSelector(threshold=-1.0),
    "IIG, s = 1": ImpreciseInformationGainSelector(),
    "IIG, s = 2": ImpreciseInformationGainSelector(s=2.0),
    f"IG({ALPHAS[0]:g})": InformationGainSelector(alpha=ALPHAS[0] * float(np.log(2))),
}


class MixedNB(ClassifierMixin, BaseEstimator):
    """Naive Bayes as in Weka without options: numbers are normal in each class, categories as in the study.

    Standard deviations are at least a sixth of the mean gap between neighbouring values, as in Weka; missing values are
    ignored. A ``selector`` chooses the columns, on their codes by MDLP.
    """

    def __init__(self, selector: Any = None) -> None:
        self.selector = selector

    def fit(self, X: pl.DataFrame, y: np.ndarray) -> MixedNB:
        """Select columns, and estimate normal densities of numbers and probabilities of categories; ``y`` (n_rows,) are
        classes.
        """
        self.classes_, codes = np.unique(y, return_inverse=True)
        names = X.columns
        if self.selector is not None:
            encoder = TableEncoder(categorical="values", n_jobs=1, **CODINGS[DOCUMENT])
            names = list(clone(self.selector).set_params(encoder=encoder).fit(X, y).get_feature_names_out())
        self.n_features_selected_ = len(names)
        self.numbers_ = [name for name in names if X.schema[name].is_numeric()]
        self.categories_ = [name for name in names if name not in self.numbers_]
        self.log_prior_ = np.log(np.bincount(codes) / codes.size)
        values = self._numbers(X)
        gaps = [np.diff(np.unique(column[~np.isnan(column)])) for column in values.T]
        least = np.array([(gap.mean() if gap.size else 0.01) / 6 for gap in gaps])
        parts = [np.ma.masked_invalid(values[codes == j]) for j in range(self.classes_.size)]
        self.means_ = np.array([part.mean(axis=0).filled(0.0) for part in parts])
        self.spreads_ = np.maximum([part.std(axis=0).filled(0.0) for part in parts], least)
        if self.categories_:
            keep_all = InformationGainSelector(threshold=-1.0)
            encoder = TableEncoder(categorical="values", missing="ignore", n_jobs=1)
            model = SelectiveNB(keep_all, encoder=encoder, smoothing=1.0, calibrate=False)
            self.model_ = model.fit(X.select(self.categories_), y)
        return self

    def _numbers(self, X: pl.DataFrame) -> np.ndarray:
        """Return the selected numeric columns as floats, (n_rows, n_numbers); NaN if missing."""
        columns = [X[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in self.numbers_]
        return np.column_stack([np.zeros((X.height, 0)), *columns])

    def predict_proba(self, X: pl.DataFrame) -> np.ndarray:
        """Return probabilities of the classes, (n_rows, n_classes)."""
        joint = np.tile(self.log_prior_, (X.height, 1))
        if self.categories_:
            joint = self.model_.scorecard_.joint(X.select(self.categories_))
        values = self._numbers(X)
        for mean, spread, column in zip(self.means_.T, self.spreads_.T, values.T, strict=True):
            terms = -np.log(spread) - 0.5 * ((column[:, None] - mean) / spread) ** 2
            joint += np.where(np.isnan(column)[:, None], 0.0, terms)
        return softmax(joint, axis=1)


def main() -> None:
    """Print a table of accuracies with one row for each coding and filter, then the results on random draws of 30 data
    sets.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--repetitions", type=int, default=1)
    arguments = parser.parse_args()
    rows: list[tuple[str, ...]] = []
    for coding in (*WEKA, *CODINGS, NORMAL):
        grid, spread = WEKA.get(coding, ("observed", False))
        study = Abellan2017(Options(data=arguments.data, grid=grid))
        if coding in WEKA:
            of_filters: dict[str, Any] = {"NB": "all", "IIG, s = 1": "imprecise", f"IG({ALPHAS[0]:g})": ALPHAS[0]}
            methods: dict[str, Any] = {name: WekaNB(select, spread=spread) for name, select in of_filters.items()}
        elif coding in CODINGS:
            encoder = TableEncoder(categorical="values", n_jobs=1, **CODINGS[coding])
            options: dict[str, Any] = {"encoder": encoder, "smoothing": 1.0, "calibrate": False}
            methods = {name: SelectiveNB(selector, **options) for name, selector in SELECTORS.items()}
        else:
            methods = {name: MixedNB(None if name == "NB" else selector) for name, selector in SELECTORS.items()}
        comparison = compare_many(methods, study.data(), RepeatedFolds(10, arguments.repetitions, 0), n_jobs=-1)
        for data, method, n, error in comparison.errors():
            print(f"{data}, {method}: {n} folds failed: {error}")
        accuracy, n_features = 100 * comparison.matrix("accuracy"), comparison.matrix("n_features")
        tests = wilcoxon_holm(accuracy, list(methods))
        for place, name in enumerate(methods):
            test = tests[place - 1] if place else None
            rows.append(
                (
                    coding if not place else "",
                    name,
                    f"{np.nanmean(accuracy[:, place]):.2f}",
                    signed(float(np.nanmean(accuracy[:, place] - accuracy[:, 0])), 2) if test else "",
                    f"{test.losses}/{test.ties}/{test.wins}" if test else "",
                    p_text(test.p_value) if test else "",
                    f"{np.nanmean(n_features[:, place]):.1f}",
                )
            )
    columns = ("Coding", "Filter", ">Accuracy", ">Less NB", ">Better/same/worse than NB", ">p", ">Features")
    print(TextTable.of(columns, rows).to_markdown())
    print(f"\n{draws_of_30()}")


def draws_of_30(n_draws: int = 10_000) -> str:
    """Return a sentence: in which shares of random draws of 30 data sets IIG is significantly better, and worse, than
    NB.

    Accuracies are those saved in ``abellan2017-means.csv``; ``n_draws`` is the number of draws.
    """
    means = pl.read_csv(Path(__file__).with_name("abellan2017-means.csv")).pivot(
        "method", index="data", values="accuracy"
    )
    change = np.round((means[IMPRECISE] - means[PLAIN]).to_numpy(), 6)
    rng = np.random.default_rng(0)
    better = worse = 0
    for _ in range(n_draws):
        drawn = rng.choice(change, 30, replace=False)
        if signed_rank_test(drawn) < 0.05:
            ranks = rankdata(np.abs(drawn[drawn != 0]))
            up = ranks[drawn[drawn != 0] > 0].sum() > ranks.sum() / 2
            better, worse = better + up, worse + (not up)
    return (
        f"Of {n_draws:,} draws of 30 of the {change.size} data sets, NB after IIG is significantly better than NB in "
        f"{better / n_draws:.1%}, significantly worse in {worse / n_draws:.1%}."
    )


if __name__ == "__main__":
    main()
