"""The recipe of docs/deployment.md for MLflow: log a model, load it, serve it. Run by `make test-mlflow`."""

import json
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayesieve import SelectiveNB
from bayesieve.datasets import load_german_credit

mlflow = pytest.importorskip("mlflow", reason="MLflow is installed by `make test-mlflow`.")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # MLflow warns about itself

ROOT = Path(__file__).parents[2]
RECIPE = re.search(r"(?s)## MLflow.*?```py\n(.*?)```", (ROOT / "docs/deployment.md").read_text()).group(1)


@pytest.fixture
def logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, SelectiveNB, pd.DataFrame]:
    """What the recipe logs: the address of the model in MLflow, the model, and rows to score."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    frame, y = load_german_credit(return_X_y=True)
    X = frame.to_pandas()
    names: dict[str, Any] = {"X": X, "model": SelectiveNB().fit(X, y)}
    exec(RECIPE, names)
    return names["logged"].model_uri, names["model"], X[:50]


def test_a_logged_model_predicts_as_the_model(logged: tuple[str, SelectiveNB, pd.DataFrame]) -> None:
    uri, model, rows = logged
    scored = mlflow.pyfunc.load_model(uri).predict(rows)
    np.testing.assert_array_equal(scored["P(good)"], model.predict_proba(rows)[:, 1])


def test_a_served_model_answers_with_the_probabilities(logged: tuple[str, SelectiveNB, pd.DataFrame]) -> None:
    uri, model, rows = logged
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "models", "serve", "-m", uri, "--env-manager", "local", "-p", str(port)]
    body = json.dumps({"dataframe_split": json.loads(rows.to_json(orient="split", index=False))}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/invocations", body, {"Content-Type": "application/json"})
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        answer = _answer(request, seconds=90)
    finally:
        server.terminate()
        server.wait(20)
    served = pd.DataFrame(answer["predictions"])["P(good)"]
    np.testing.assert_allclose(served, model.predict_proba(rows)[:, 1], rtol=1e-12)


def _answer(request: urllib.request.Request, seconds: float) -> Any:
    """The answer of a server that may still be starting."""
    end = time.monotonic() + seconds
    while True:
        try:
            return json.load(urllib.request.urlopen(request))
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)
