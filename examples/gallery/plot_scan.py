"""
Large tables
============

``scan`` reads files in pieces, so a fit needs room for counts, not for rows. The model is the same.
"""

import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import expit

import bayesieve

rng = np.random.default_rng(0)
table = pl.DataFrame(rng.normal(size=(100_000, 4)), schema=["a", "b", "c", "noise"])
table = table.with_columns(yes=pl.Series(rng.random(100_000) < expit((table["a"] + np.sin(2 * table["b"])).to_numpy())))

with tempfile.TemporaryDirectory() as folder:
    for part in range(4):
        table[part * 25_000 : (part + 1) * 25_000].write_parquet(Path(folder) / f"part{part}.parquet")
    source = bayesieve.scan(f"{folder}/*.parquet")
    print(source.n_rows, source.names)
    model = bayesieve.SelectiveNB(memory_limit="1GiB").fit(source, "yes")
print(model.selected_features_)

figure = model.scorecard_.plot("b", True)
