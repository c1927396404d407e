"""
The explanation of a row
========================

From the log odds of every row to those of this one: each bar is what one feature adds, and they add up exactly.
"""

import polars as pl

from bayesieve import SelectiveNB

table = pl.read_csv("../data/german_credit.csv")
X, y = table.drop("class"), table["class"]

model = SelectiveNB(positive="bad").fit(X, y)
explanation = model.scorecard_.explain(X[:5])
figure = explanation.plot(1, "bad")

# %%
# The same as reasons, those that speak against being paid back first:

for reason in model.reasons(X[1:2], n=3).iter_rows(named=True):
    print(reason)
