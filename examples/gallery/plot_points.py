"""
A card of points
================

For people and paper: contributions rounded to whole points. 20 points double the odds.
"""

import polars as pl

from bayesieve import SelectiveNB
from bayesieve.report import Figure
from bayesieve.report.charts import chart, layer, number

table = pl.read_csv("../data/german_credit.csv")
X, y = table.drop("class"), table["class"]

model = SelectiveNB(positive="good").fit(X, y)
card = model.points(pdo=20, base_score=600, base_odds=30, X=X, y=y)
print(card.loss(X, y))

# %%
# Scores of paid and unpaid loans:

scores = pl.DataFrame({"points": card.score(X), "class": y})
frame = scores.with_columns(pl.col("points") // 20 * 20).group_by("points", "class").len("rows").sort("points")
bars = layer(
    "bar",
    "plain",
    more={"size": 20},
    x=number("points", "points"),
    y=number("rows", "rows", zero=True),
    color={"field": "class", "type": "nominal"},
)
figure = Figure("Points", "Rows by points, in steps of 20.", chart(bars), {"rows": frame.to_dict(as_series=False)})
