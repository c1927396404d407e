"""
Groups of categories
====================

Categories that tell the same about the class share a level; contributions may still differ within it, as far as the
rows support that.
"""

import polars as pl

from bayesieve import SelectiveNB

table = pl.read_csv("../data/german_credit.csv")
X, y = table.drop("class"), table["class"]

model = SelectiveNB(positive="bad").fit(X, y)
figure = model.scorecard_.plot("purpose")
