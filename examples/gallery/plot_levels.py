"""
Levels of a column
==================

A number is cut into intervals where a cut pays for itself. The figure shows what each interval adds to the log odds,
with one standard error.
"""

import polars as pl

from bayesieve import SelectiveNB

table = pl.read_csv("../data/german_credit.csv")
X, y = table.drop("class"), table["class"]

model = SelectiveNB(positive="bad").fit(X, y)
figure = model.scorecard_.plot("duration")

# %%
# Everything drawn is a table, too:

print(figure.data.select("label", "rows", "share", "contribution").head(8))
