"""From a raw table to a profit curve: which donors should get a letter?

Run from anywhere: python lab/examples/donations.py [FOLDER]. The curve goes to FOLDER/profit.html.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from bayesieve import BenefitClassifier, SelectiveNB, profit_figure
from bayesieve_lab.simulate import donations

LETTER = 0.68  # dollars
N_TRAIN = 20_000
BENEFIT = [[0.0, 0.0], [-LETTER, -LETTER]]  # no letter, a letter; the gift of those who give is added


def main(folder: Path) -> None:
    # Donors who got a letter, and their gifts: half of them for training.
    table, amounts = donations(2 * N_TRAIN, 80)
    gives = amounts > 0
    X, y, gifts = table[:N_TRAIN], gives[:N_TRAIN], amounts[:N_TRAIN]
    print(f"{y.mean():.1%} of {X.height} donors gave, ${gifts[y].mean():.2f} on average; {X.width} columns")

    # The size of a gift is estimated from earlier gifts.
    past = FunctionTransformer(lambda X: X.select("last_gift", "average_gift").to_numpy())
    model = BenefitClassifier(
        SelectiveNB("map", calibrate=False), benefit=BENEFIT, amount_estimator=make_pipeline(past, LinearRegression())
    )
    model.fit(X, y, benefit=gifts)
    print("Probabilities of a gift by:", ", ".join(model.estimator_.selected_features_))

    # The other donors: a letter goes to those who are expected to return more than it costs.
    rest, answers, given = table[N_TRAIN:], gives[N_TRAIN:], amounts[N_TRAIN:]
    letters = model.predict(rest)
    profit = model.total_benefit(rest, answers, benefit=given)
    print(f"\nA letter to all {rest.height}: ${(given - LETTER).sum():.0f}; to {letters.sum()} of them: ${profit:.0f}")

    curve = model.profit_curve(rest, answers, benefit=given)
    print("\nBest donors first:   profit   95 % band")
    for share in range(10, 101, 10):
        at = int((curve.share <= share / 100 + 1e-9).nonzero()[0][-1])
        print(f"{share:>5} %             {curve.profit[at]:>7.0f}   {curve.low[at]:.0f} to {curve.high[at]:.0f}")
    profit_figure(curve, unit="$").save(folder / "profit.html")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
