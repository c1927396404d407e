"""
A pair of columns
=================

A pair becomes a feature if its two columns tell more together than apart. Here the class is the exclusive or of two
coins, so neither coin tells anything by itself.
"""

import numpy as np
import polars as pl

from bayesieve import SelectiveNB

rng = np.random.default_rng(0)
coins = rng.integers(0, 2, size=(2000, 2))
flipped = rng.random(2000) < 0.1
table = pl.DataFrame({"first": coins[:, 0], "second": coins[:, 1]}).select(
    pl.all().replace_strict({0: "head", 1: "tail"})
)
model = SelectiveNB().fit(table, (coins[:, 0] != coins[:, 1]) ^ flipped)
print(model.selected_features_)

figure = model.plot(model.selected_features_[0])
