"""
Redundancy of many indicators
=============================

The mutual information of all pairs of the 64 pixels of handwritten digits, in one call: neighbours tell the same.
"""

import numpy as np
import polars as pl
from sklearn.datasets import load_digits

from bayesieve import pair_statistics
from bayesieve.report import Figure
from bayesieve.report.charts import chart, colour, layer

digits = load_digits(as_frame=True)
X, y = digits.data, digits.target
shared = pair_statistics(X, y, statistic="symmetrical_uncertainty")
print(shared.shape)

one, other = (places.ravel() for places in np.indices(shared.shape))
frame = pl.DataFrame({"pixel": one, "other": other, "shared": np.where(one == other, 0, shared.ravel())})
bare = {"axis": {"values": list(range(0, 64, 8))}, "type": "ordinal"}
tiles = layer(
    "rect",
    "plain",
    x={"field": "other", "title": "pixel", **bare},
    y={"field": "pixel", "title": "pixel", **bare},
    color=colour("shared", "symmetrical uncertainty", [0, 0.5]),
)
drawn = chart(tiles, width=420, height=420)
figure = Figure(
    "Redundancy of pixels", "0: independent, 1: each tells the other.", drawn, {"pairs": frame.to_dict(as_series=False)}
)
