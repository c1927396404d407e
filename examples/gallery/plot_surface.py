"""
A surface of two numbers
========================

A pair of numbers is cut into rectangles. The truth here is a disc; no sum over the two columns describes it.
"""

import numpy as np
import polars as pl

from bayesieve import SelectiveNB
from bayesieve.report import Figure
from bayesieve.report.charts import chart, colour, layer, number

rng = np.random.default_rng(0)
table = pl.DataFrame(rng.normal(size=(4000, 2)), schema=["east", "north"])
inside = (table["east"] ** 2 + table["north"] ** 2 < 1.2).to_numpy() ^ (rng.random(4000) < 0.05)
model = SelectiveNB().fit(table, inside)
print(model.selected_features_)

# %%
# The probability on a grid of points:

axis = np.linspace(-2.5, 2.5, 51)
grid = pl.DataFrame({"east": np.tile(axis, 51), "north": np.repeat(axis, 51)})
grid = grid.with_columns(probability=model.predict_proba(grid)[:, 1])
tiles = layer(
    "square",
    "plain",
    x=number("east", "east"),
    y=number("north", "north"),
    color=colour("probability", "P(inside)", [0, 1]),
    more={"size": 70, "opacity": 1},
)
drawn = chart(tiles, width=380, height=380)
figure = Figure("A surface", "P(inside) on a grid of points.", drawn, {"grid": grid.to_dict(as_series=False)})
