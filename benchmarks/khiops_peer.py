"""Khiops as a peer, if it is installed: trained from a file or a dataframe, no trees, pairs or constructed features."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

NOT_INSTALLED = (
    "Khiops is not installed: the figures are of bayesieve alone (pip install 'bayesieve[bench]' brings it)."
)
_DICTIONARY = "mixed"


def khiops_core() -> Any | None:
    """The module ``khiops.core``, or None where Khiops is not installed or does not start."""
    # Khiops looks for its launcher on the search path, where an environment that was not activated does not have it.
    scripts = sysconfig.get_path("scripts")
    if scripts not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = scripts + os.pathsep + os.environ.get("PATH", "")
    warnings.filterwarnings("ignore", message=r"Sample datasets location does not exist")
    try:
        from khiops import core

        core.get_runner()
    except ImportError:
        return None
    except (
        Exception
    ) as error:  # whatever keeps the peer from starting must not keep our own figures from being measured
        print(f"Khiops is installed but does not start: {error}", file=sys.stderr)
        return None
    return core


def khiops_classifier(n_cores: int | None = None) -> Any:
    """A selective naive Bayes of Khiops on the columns as they are."""
    from khiops.sklearn import KhiopsClassifier

    return KhiopsClassifier(n_trees=0, n_features=0, n_pairs=0, n_text_features=0, n_cores=n_cores)


def n_features_used(classifier: Any) -> int:
    """Number of features that a fitted Khiops classifier uses."""
    return len(classifier.model_report_.modeling_report.get_snb_predictor().selected_variables or ())


def as_khiops_frame(frame: Any, kinds: Mapping[str, str]) -> Any:
    """A polars frame as pandas columns of floats and strings, which Khiops takes for numerical and categorical ones."""
    import pandas as pd

    columns = {}
    for name in frame.columns:
        if kinds[name] == "numeric":
            columns[name] = np.asarray(frame[name].to_numpy(), dtype=float)
        else:
            values = ["" if value is None else str(value) for value in frame[name].to_list()]
            columns[name] = np.array(values, dtype=object)
    return pd.DataFrame(columns)


def write_dictionary(path: Path, kinds: Mapping[str, str], target: str) -> None:
    """The dictionary file that tells Khiops the kinds of the columns of a table file."""
    lines = [f"Dictionary {_DICTIONARY}", "{"]
    lines += [f"  {'Numerical' if kind == 'numeric' else 'Categorical'} `{name}`;" for name, kind in kinds.items()]
    lines += [f"  Categorical `{target}`;", "};"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def train_from_file(core: Any, table: Path, target: str, max_cores: int | None = None) -> Path:
    """Train on all rows of a CSV file whose dictionary lies beside it; returns the dictionary of the model."""
    _, model = core.train_predictor(
        str(table.parent / f"{_DICTIONARY}.kdic"),
        _DICTIONARY,
        str(table),
        target,
        str(table.parent / "report.khj"),
        detect_format=False,
        header_line=True,
        field_separator=",",
        sample_percentage=100,
        max_constructed_variables=0,
        max_text_features=0,
        max_trees=0,
        max_pairs=0,
        max_cores=max_cores,
    )
    return Path(model)


def probabilities_from_file(core: Any, model: Path, table: Path, target: str, classes: Sequence[str]) -> np.ndarray:
    """Probabilities of ``classes`` for the rows of a CSV file, shape (n_rows, n_classes)."""
    import polars as pl

    output = table.parent / "predicted.csv"
    core.deploy_model(
        str(model),
        f"SNB_{_DICTIONARY}",
        str(table),
        str(output),
        detect_format=False,
        header_line=True,
        field_separator=",",
        output_header_line=True,
        output_field_separator=",",
    )
    return pl.read_csv(output).select([f"Prob{target}{label}" for label in classes]).to_numpy()


def features_used(model: Path) -> int:
    """Number of features that the model written beside this dictionary uses."""
    with open(model.parent / "report.khj", encoding="utf-8") as file:
        modeling = json.load(file)["modelingReport"]
    return len(modeling["trainedPredictorsDetails"]["R1"]["selectedVariables"])
