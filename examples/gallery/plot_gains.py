"""
Gains and lift
==============

How many of the bad loans are among the applicants with the highest scores?
"""

import polars as pl
from sklearn.model_selection import train_test_split

from bayesieve import SelectiveNB, gains_curve, gains_figure

table = pl.read_csv("../data/german_credit.csv")
train, test = train_test_split(table, test_size=400, stratify=table["class"], random_state=0)
model = SelectiveNB(positive="bad").fit(train.drop("class"), train["class"])
chances = model.predict_proba(test.drop("class"))[:, list(model.classes_).index("bad")]

figure = gains_figure(gains_curve((test["class"] == "bad").to_numpy(), chances))
