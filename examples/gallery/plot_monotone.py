"""
Monotone evidence
=================

A risk that must not fall with the duration of a loan: ``monotone`` fits the contributions under this constraint.
"""

import polars as pl

from bayesieve import SelectiveNB

table = pl.read_csv("../data/german_credit.csv")
X, y = table.drop("class"), table["class"]

free = SelectiveNB(positive="bad").fit(X, y)
model = SelectiveNB(positive="bad", monotone={"duration": 1}).fit(X, y)
figure = model.scorecard_.plot("duration")

# %%
# The constraint changes few predictions:

change = abs(model.predict_proba(X) - free.predict_proba(X))[:, 0]
print(f"median change of a probability: {pl.Series(change).median():.3f}, largest: {change.max():.3f}")
