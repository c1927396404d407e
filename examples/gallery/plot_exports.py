"""
Exports
=======

A model as a query: look up, add, and turn the sum into a probability.
"""

import tempfile
from pathlib import Path

import polars as pl

from bayesieve import SelectiveNB

table = pl.read_csv("../data/german_credit.csv")
X, y = table.select("duration", "checking_status", "savings_status"), table["class"]
model = SelectiveNB(positive="bad", pairs=0, calibrate="levels").fit(X, y)
with tempfile.TemporaryDirectory() as folder:
    model.export(Path(folder) / "scoring.sql", dialect="duckdb", table="applications")
    print((Path(folder) / "scoring.sql").read_text()[:1500])

# %%
# What the query looks up:

figure = model.scorecard_.plot("checking_status")
