"""
Drift
=====

Rows of four batches against those of the training. In the last one loans are half as long again.
"""

import polars as pl

from bayesieve import SelectiveNB, drift
from bayesieve.report import Figure
from bayesieve.report.charts import chart, colour, layer, names

table = pl.read_csv("../data/german_credit.csv")
model = SelectiveNB().fit(table[:600].drop("class"), table[:600]["class"])
now = table[600:].with_columns(batch=pl.int_range(400) // 100 + 1)
longer = pl.when(pl.col("batch") == 4).then(pl.col("duration") * 3 // 2).otherwise("duration")
found = drift(model, now.with_columns(duration=longer), y="class", by="batch")
print(found.periods.select("by", "rows", "shift", "auc"))

# %%
# Stability (PSI) beyond what chance gives:

frame = found.to_frame().select("feature", batch=pl.col("by").cast(str), psi=pl.col("psi"))
frame = frame.with_columns(beyond=pl.max_horizontal(0, pl.col("psi") - found.to_frame()["psi_chance"]))
tiles = layer(
    "rect",
    "tile",
    x=names("batch", "batch"),
    y=names("feature", None),
    color=colour("beyond", "PSI beyond chance", [0, 0.25]),
)
drawn = chart(tiles, width=260, height={"step": 22})
figure = Figure("Stability by batch", "Full colour from 0.25 on.", drawn, {"psi": frame.to_dict(as_series=False)})
