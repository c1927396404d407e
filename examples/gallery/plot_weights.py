"""
Weights of features
===================

Compression-based averaging gives each feature a weight between 0 and 1, the most probable subset (MAP) gives 0 or 1.
"""

import polars as pl

from bayesieve import SelectiveNB
from bayesieve.report import Figure
from bayesieve.report.charts import chart, layer, names, number

table = pl.read_csv("../data/german_credit.csv")
X, y = table.drop("class"), table["class"]

lines = []
for method in ("compression", "map"):
    model = SelectiveNB(method, pairs=0, calibrate=False).fit(X, y)
    weights = zip(X.columns, model.feature_weights_.tolist(), strict=True)
    lines += [{"feature": name, "method": method, "weight": weight} for name, weight in weights]
frame = pl.DataFrame(lines).sort("weight", descending=True)
points = layer(
    "point",
    "plain",
    x=number("weight", "weight", domain=[-0.03, 1.03]),
    y=names("feature", None),
    color={"field": "method", "type": "nominal"},
    shape={"field": "method", "type": "nominal"},
    more={"filled": True, "size": 70},
)
figure = Figure(
    "Weights",
    "Of the columns, by method.",
    chart(points, height={"step": 22}),
    {"rows": frame.to_dict(as_series=False)},
)
