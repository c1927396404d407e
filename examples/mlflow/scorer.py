"""A saved model as a model of MLflow: the code that MLflow loads and serves (docs/deployment.md shows how to log it).

MLflow stores this file and model.json as they are; nothing is pickled.
"""

from typing import Any

import mlflow
import pandas as pd

import bayesieve


class Scorer(mlflow.pyfunc.PythonModel):
    """Adds the prediction and the probability of each class to the rows."""

    def load_context(self, context: Any) -> None:
        self.model = bayesieve.load(context.artifacts["model"])

    def predict(self, context: Any, model_input: pd.DataFrame, params: Any = None) -> pd.DataFrame:
        scored: pd.DataFrame = self.model.with_predictions(model_input)
        return scored


mlflow.models.set_model(Scorer())
