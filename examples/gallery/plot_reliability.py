"""
Can the probabilities be trusted?
=================================

Predicted probabilities against shares, on rows held out: naive Bayes with all features, and the default.
"""

import polars as pl
from sklearn.model_selection import train_test_split

from bayesieve import SelectiveNB, calibration_summary, reliability_figure

table = pl.read_csv("../data/german_credit.csv")
train, test = train_test_split(table, test_size=400, stratify=table["class"], random_state=0)
measured = {}
for name, model in {"default": SelectiveNB(), "all features": SelectiveNB("all", calibrate=False)}.items():
    model.fit(train.drop("class"), train["class"])
    measured[name] = calibration_summary(test["class"], model.predict_proba(test.drop("class"))[:, 1])

figure = reliability_figure(measured)
