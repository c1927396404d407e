"""
Decisions and profit
====================

Which loans to grant, if a loan that is repaid earns a tenth of the amount, and one that is not costs half of it.
"""

import polars as pl
from sklearn.model_selection import train_test_split

from bayesieve import BenefitClassifier, SelectiveNB, profit_figure

table = pl.read_csv("../data/german_credit.csv")
train, test = train_test_split(table, test_size=400, stratify=table["class"], random_state=0)
loans = BenefitClassifier(
    SelectiveNB(),
    benefit=[[0, 0], [0, 0]],  # rows: refuse, grant; columns: bad, good
    amount="credit_amount",
    amount_benefit=[[0, 0], [-0.5, 0.1]],
    decisions=["refuse", "grant"],
).fit(train.drop("class"), train["class"])
curve = loans.profit_curve(test.drop("class"), test["class"])

figure = profit_figure(curve)
