"""
A pair of columns
=================

A pair becomes a feature if its two columns tell more together than apart. Here the class is the exclusive or of two
coins, so neither coin tells anything by itself.
"""

import numpy as np
import polars as pl

from bayesieve import SelectiveNB
from bayesieve.report import Figure
from bayesieve.report.charts import chart, colour, layer, names

rng = np.random.default_rng(0)
coins = rng.integers(0, 2, size=(2000, 2))
flipped = rng.random(2000) < 0.1
table = pl.DataFrame({"first": coins[:, 0], "second": coins[:, 1]}).select(
    pl.all().replace_strict({0: "head", 1: "tail"})
)
model = SelectiveNB().fit(table, (coins[:, 0] != coins[:, 1]) ^ flipped)
print(model.selected_features_)

# %%
# The probability of the four cells:

cells = pl.DataFrame({"first": ["head", "head", "tail", "tail"], "second": ["head", "tail"] * 2})
cells = cells.with_columns(probability=model.predict_proba(cells)[:, 1])
tiles = layer(
    "rect",
    "tile",
    x=names("first", "first coin", axis={"labelAngle": 0}),
    y=names("second", "second coin"),
    color=colour("probability", "P(differ)", [0, 1]),
)
drawn = chart(tiles, width=260, height=180)
figure = Figure("Two coins", "Neither tells anything by itself.", drawn, {"cells": cells.to_dict(as_series=False)})
