"""From a raw table to a small, explained classifier: who will repay a loan?

Run from anywhere: python examples/german_credit.py [FOLDER]. Report and model go to FOLDER (default: the current one).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from bayesieve import SelectiveNB, load

DATA = Path(__file__).parent / "data" / "german_credit.csv"


def main(folder: Path) -> None:
    table = pl.read_csv(DATA)
    X, y = table.drop("class"), table["class"].to_numpy()

    model = SelectiveNB("compression").fit(X, y)
    print(f"{model.n_features_selected_} of {X.width} features are in the model, most important first:")
    print("  " + ", ".join(model.selected_features_))

    # Rows that the model has not seen tell how good it is; the plain naive Bayes is the yardstick.
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    bad = (y == "bad").astype(int)
    for name in ("compression", "all"):
        probability = cross_val_predict(SelectiveNB(name), X, y, cv=folds, method="predict_proba")
        p_bad = probability[:, np.flatnonzero(model.classes_ == "bad")[0]]
        print(f"{name:12} AUC {roc_auc_score(bad, p_bad):.4f}, log loss {log_loss(bad, p_bad):.4f} (5 folds)")

    print("\nWhy the first applicant gets the answer he gets, in nats:")
    print(model.explain(X[:1]))

    model.report(folder / "german_credit.html", X, y)
    model.save(folder / "german_credit.json")
    same = np.array_equal(load(folder / "german_credit.json").predict_proba(X), model.predict_proba(X))
    print(f"\nThe saved model predicts the same to the last bit: {same}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
