"""Khiops, if it is installed, on a file or a dataframe: no trees, pairs or constructed features."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from bayesieve_lab.peers.khiops_nb import khiops_classifier, n_features_used, start_khiops

__all__ = [
    "NOT_INSTALLED",
    "as_khiops_frame",
    "features_used",
    "khiops_classifier",
    "khiops_core",
    "n_features_used",
    "probabilities_from_file",
    "train_from_file",
    "write_dictionary",
]

NOT_INSTALLED = (
    "Khiops is not installed: the figures are of bayesieve alone (pip install 'bayesieve[bench]' brings it)."
)
_DICTIONARY = "mixed"


def khiops_core() -> Any | None:
    """The module ``khiops.core``, or None if Khiops is not installed or does not start."""
    try:
        return start_khiops()
    except ValueError as error:  # must not keep our own figures from being measured
        if find_spec("khiops") is not None:
            print(error, file=sys.stderr)
        return None


def as_khiops_frame(frame: Any, kinds: Mapping[str, str]) -> Any:
    """A polars frame as pandas columns of floats and strings, which Khiops treats as numerical and categorical ones."""
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
    """The dictionary file with the kinds of the columns of a table file, for Khiops."""
    lines = [f"Dictionary {_DICTIONARY}", "{"]
    lines += [f"  {'Numerical' if kind == 'numeric' else 'Categorical'} `{name}`;" for name, kind in kinds.items()]
    lines += [f"  Categorical `{target}`;", "};"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def train_from_file(core: Any, table: Path, target: str, max_cores: int | None = None) -> Path:
    """Train on all rows of a CSV file whose dictionary is in the same folder; returns the dictionary of the model."""
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
    """Number of features that the model next to this dictionary uses."""
    with open(model.parent / "report.khj", encoding="utf-8") as file:
        modeling = json.load(file)["modelingReport"]
    return len(modeling["trainedPredictorsDetails"]["R1"]["selectedVariables"])
