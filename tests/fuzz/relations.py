"""Changes of a table that mean nothing: the model of the changed table predicts what that of the table does."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import bayesieve
from bayesieve import SelectiveNB
from bayesieve.classifier.plan import FitPlan
from bayesieve.engine import Engine, Mapped

Rng = np.random.Generator


@dataclass(frozen=True)
class Example:
    """Rows to learn from and rows to predict, made of values of the former.

    ``classes`` : (n_classes,) for each class of the table as drawn, its position among the sorted labels.
    """

    X: Any
    y: Any
    asked: Any
    classes: np.ndarray
    weights: np.ndarray | None = None


@dataclass(frozen=True)
class Relation:
    """``change`` is what means nothing, of a table that is drawn and, first, changed by ``base``. ``within`` is how far
    probabilities may differ; 1 if anything may happen, since ties are broken otherwise.
    """

    change: Callable[[Example, Rng], Example] | None = None
    base: Callable[[Example], Example] | None = None
    options: Callable[[str], dict[str, Any]] = lambda folder: {}
    engine: Callable[[str], Engine] | None = None
    of_model: Callable[[SelectiveNB, str], SelectiveNB] | None = None
    within: float = 1e-9


ROUNDING = 1e-6  # of fitted evidence: sums come in another order


def random_example(rng: Rng, n_rows: int | None = None) -> Example:
    """Numbers and categories, some of them with many values, that say something of two to five classes; some values
    are missing.
    """
    n = int(np.exp(rng.uniform(np.log(30), np.log(2000)))) if n_rows is None else n_rows
    n_classes, columns = int(rng.integers(2, 6)), {}
    joint = rng.normal(size=n_classes) * 0.5 + np.zeros((n, 1))
    for k in range(int(rng.integers(2, 9))):
        strength = rng.choice([0.0, 0.5, 1.5])
        if rng.random() < 0.5:
            values = rng.choice([rng.normal(size=n), rng.integers(0, 20, n), rng.exponential(size=n)])
            values = np.round(values * 64) / 64  # so that other units are exact
            joint += strength * np.outer(values - values.mean(), rng.normal(size=n_classes))
            column = pd.Series(values)
        else:
            n_values = int(rng.choice([2, 4, 12, 40, max(2, n // 4)]))
            codes = np.minimum(rng.geometric(1.5 / n_values, n) - 1, n_values - 1)
            joint += strength * rng.normal(size=(n_values, n_classes))[codes]
            column = pd.Series([f"v{code:04d}" for code in codes], dtype=object)
        if rng.random() < 0.3:
            column[rng.random(n) < 0.1] = None if column.dtype == object else np.nan
        columns[f"x{k}"] = column
    shares = np.exp(joint - joint.max(axis=1, keepdims=True)).cumsum(axis=1)
    y = (shares < rng.random((n, 1)) * shares[:, -1:]).sum(axis=1)
    y[:2] = 0, 1
    present, y = np.unique(y, return_inverse=True)
    X = pd.DataFrame(columns)
    return Example(X, np.array([f"c{i}" for i in y]), X.iloc[rng.permutation(n)[:50]], np.arange(present.size))


def difference(example: Example, name: str, rng: Rng, model: SelectiveNB) -> float:
    """Largest difference of a probability between the model of an example and that of the changed example."""
    relation, options = RELATIONS[name], model.get_params(deep=False)
    if relation.base is not None:
        example = relation.base(example)
        model = SelectiveNB(**options).fit(example.X, example.y, example.weights)
    changed = example if relation.change is None else relation.change(example, rng)
    with tempfile.TemporaryDirectory() as folder:
        if relation.of_model is not None:
            other = relation.of_model(model, folder)
        elif changed.X is example.X and changed.y is example.y and relation.change is not None:
            other = model  # only what is asked has changed
        else:
            other = SelectiveNB(**{**options, **relation.options(folder)})
            with _engine(relation, folder):
                other.fit(changed.X, changed.y, changed.weights)
    expected = model.predict_proba(example.asked)
    found: np.ndarray = other.predict_proba(changed.asked)[:, changed.classes]
    return float(np.abs(found - expected).max())


def _engine(relation: Relation, folder: str) -> Any:
    """Let fits keep their rows in the engine of a relation, if it has one."""
    if relation.engine is None:
        return nullcontext()
    engine = relation.engine(folder)
    options = FitPlan.coding_options
    return patch.object(FitPlan, "coding_options", lambda *args: replace(options(*args), engine=engine))


def _both(example: Example, change: Callable[[pd.DataFrame], Any]) -> Example:
    return replace(example, X=change(example.X), asked=change(example.asked))


def _numbers(example: Example, change: Callable[[pd.Series], Any]) -> Example:
    return _both(example, lambda frame: frame.apply(lambda s: s if s.dtype == object else change(s)))


def _values(example: Example, change: Callable[[pd.Series], Any]) -> Example:
    return _both(example, lambda frame: frame.apply(lambda s: change(s) if s.dtype == object else s))


def _rows(example: Example, rows: np.ndarray, weights: np.ndarray | None = None) -> Example:
    return replace(example, X=example.X.iloc[rows], y=example.y[rows], weights=weights)


def _constant_column_first(example: Example, rng: Rng) -> Example:
    def change(frame: pd.DataFrame) -> pd.DataFrame:
        return pd.concat([pd.Series("same", frame.index, name="a"), frame], axis=1)

    return _both(example, change)


def _categories_as_type(example: Example, rng: Rng) -> Example:
    types = {k: pd.CategoricalDtype(sorted(s.dropna().unique())) for k, s in example.X.items() if s.dtype == object}
    return _both(example, lambda frame: frame.astype(types))


def _unused_categories(example: Example, rng: Rng) -> Example:
    types = {
        k: pd.CategoricalDtype(["unused", *sorted(s.dropna().unique(), reverse=True), "z"])
        for k, s in example.X.items()
        if s.dtype == object
    }
    return _both(example, lambda frame: frame.astype(types))


def _strings_of_arrow(example: Example, rng: Rng) -> Example:
    return _values(example, lambda s: s.astype("string[pyarrow]"))


def _columns_renamed(example: Example, rng: Rng) -> Example:
    names = {name: f"column {1000 - i}" for i, name in enumerate(example.X.columns)}
    return _both(example, lambda frame: frame.rename(columns=names))


def _columns_shuffled(example: Example, rng: Rng) -> Example:
    order = rng.permutation(example.X.columns)
    return _both(example, lambda frame: frame[order])


def _classes_as_numbers(example: Example, rng: Rng) -> Example:
    return replace(example, y=np.array([int(label[1:]) for label in example.y]))


def _with_classes(example: Example, order: np.ndarray) -> Example:
    y = np.array([f"c{order[int(label[1:])]}" for label in example.y])
    return replace(example, y=y, classes=order)


def _values_shuffled(example: Example, rng: Rng) -> Example:
    order = rng.permutation(10_000)
    return _values(example, lambda s: s.map(lambda value: value if pd.isna(value) else f"v{order[int(value[1:])]:04d}"))


def _other_index(example: Example, rng: Rng) -> Example:
    def change(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.set_axis([f"row {i % 7}" for i in range(len(frame))])

    return _both(example, change)


def _rows_without_weight(example: Example, rng: Rng) -> Example:
    n = len(example.X)
    more = rng.integers(0, n, n // 3)
    noise = example.X.iloc[more].apply(lambda s: s.sample(frac=1.0, random_state=0).to_numpy())
    X = pd.concat([noise, example.X], ignore_index=True)
    y = np.concatenate([rng.permutation(example.y)[more], example.y])
    return replace(example, X=X, y=y, weights=np.repeat([0.0, 1.0], [more.size, n]))


def _lazy_frame(example: Example, rng: Rng) -> Example:
    X = pl.from_pandas(example.X.reset_index(drop=True)).with_columns(target=pl.Series(example.y)).lazy()
    return replace(example, X=X, y="target")


def _in_few_values(example: Example) -> Example:
    """Rows that are often equal by chance."""
    return _numbers(example, lambda s: (s / 4.0).round())


def _with_measurement(example: Example) -> Example:
    """Rows that are never equal by chance."""
    position = pd.Series(np.arange(len(example.X)), example.X.index)
    X = example.X.assign(measurement=np.sin(position * 7.0) * (position + 1.0))
    return replace(example, X=X, asked=X.loc[example.asked.index])


def _every_row_three_times(example: Example, rng: Rng) -> Example:
    return _rows(example, rng.permutation(np.tile(np.arange(len(example.X)), 3)))


def _some_twice(example: Example) -> Example:
    example, n = _in_few_values(example), len(example.X)
    return _rows(example, np.concatenate([np.arange(n), np.arange(0, n, 3)]))


def _saved(model: SelectiveNB, folder: str) -> SelectiveNB:
    model.save(Path(folder) / "model.json")
    return bayesieve.load(Path(folder) / "model.json")


def _pickled(model: SelectiveNB, folder: str) -> SelectiveNB:
    again: SelectiveNB = pickle.loads(pickle.dumps(model))
    return again


def _every_row_twice(example: Example) -> Example:
    example = _in_few_values(example)
    return _rows(example, np.tile(np.arange(len(example.X)), 2))


def _first_half(example: Example, rng: Rng) -> Example:
    n = len(example.X) // 2
    return _rows(example, np.arange(n), np.full(n, 2.0))


def _distinct_rows(example: Example, rng: Rng) -> Example:
    n = example.X.index.max() + 1
    return _rows(example, np.arange(n), np.bincount(example.X.index).astype(float))


RELATIONS = {
    "constant_number": Relation(lambda example, rng: _both(example, lambda frame: frame.assign(more=7.0))),
    "constant_category": Relation(lambda example, rng: _both(example, lambda frame: frame.assign(more="same"))),
    "missing_column": Relation(lambda example, rng: _both(example, lambda frame: frame.assign(more=np.nan))),
    "constant_column_first": Relation(_constant_column_first),
    "scaled": Relation(lambda example, rng: _numbers(example, lambda s: s * 4.0)),
    "shifted": Relation(lambda example, rng: _numbers(example, lambda s: s * 0.5 - 1024.0)),
    "increasing": Relation(lambda example, rng: _numbers(example, lambda s: s**3 + s)),
    "decreasing": Relation(lambda example, rng: _numbers(example, lambda s: -s), within=1.0),
    "single_precision": Relation(lambda example, rng: _numbers(example, lambda s: s.astype(np.float32))),
    "whole_numbers": Relation(lambda example, rng: _numbers(example, lambda s: (s * 64).round().astype("Int64"))),
    "categories_as_type": Relation(_categories_as_type),
    "unused_categories": Relation(_unused_categories),
    "strings_of_arrow": Relation(_strings_of_arrow),
    "columns_renamed": Relation(_columns_renamed),
    "columns_shuffled": Relation(_columns_shuffled, within=ROUNDING),
    "columns_reversed": Relation(
        lambda example, rng: _both(example, lambda frame: frame[frame.columns[::-1]]), within=ROUNDING
    ),
    "classes_renamed": Relation(
        lambda example, rng: replace(example, y=np.array([f"label of {label}" for label in example.y]))
    ),
    "classes_as_numbers": Relation(_classes_as_numbers),
    "classes_reversed": Relation(
        lambda example, rng: _with_classes(example, example.classes[::-1].copy()), within=ROUNDING
    ),
    "classes_shuffled": Relation(
        lambda example, rng: _with_classes(example, rng.permutation(example.classes)), within=ROUNDING
    ),
    "values_renamed": Relation(
        lambda example, rng: _values(
            example, lambda s: s.map(lambda value: value if pd.isna(value) else f"the {value}")
        )
    ),
    "values_shuffled": Relation(_values_shuffled, within=1.0),
    "rows_shuffled": Relation(lambda example, rng: _rows(example, rng.permutation(len(example.X))), within=ROUNDING),
    "rows_reversed": Relation(lambda example, rng: _rows(example, np.arange(len(example.X))[::-1]), within=ROUNDING),
    "rows_by_class": Relation(
        lambda example, rng: _rows(example, np.argsort(example.y, kind="stable")), within=ROUNDING
    ),
    "other_index": Relation(_other_index),
    "weights_of_one": Relation(
        lambda example, rng: replace(example, X=example.X.copy(), weights=np.ones(len(example.X)))
    ),
    "rows_without_weight": Relation(_rows_without_weight, within=ROUNDING),
    "frame_of_polars": Relation(
        lambda example, rng: _both(example, lambda frame: pl.from_pandas(frame.reset_index(drop=True)))
    ),
    "table_of_arrow": Relation(
        lambda example, rng: _both(example, lambda frame: pa.Table.from_pandas(frame, preserve_index=False))
    ),
    "target_by_name": Relation(lambda example, rng: replace(example, X=example.X.assign(target=example.y), y="target")),
    "lazy_frame": Relation(_lazy_frame),
    "read_by_an_executor": Relation(_lazy_frame, options=lambda folder: {"engine": ThreadPoolExecutor(2)}),
    "again": Relation(),
    "two_threads": Relation(options=lambda folder: {"n_jobs": 2}),
    "blocks_on_disk": Relation(engine=lambda folder: Mapped(folder, block_rows=100)),
    "saved": Relation(of_model=_saved),
    "pickled": Relation(of_model=_pickled),
    "weight_2_is_a_row_repeated": Relation(_distinct_rows, base=_some_twice, within=ROUNDING),
    "weight_2_is_a_table_repeated": Relation(_first_half, base=_every_row_twice, within=ROUNDING),
    "copies_of_rows": Relation(_every_row_three_times, base=_with_measurement, within=ROUNDING),
}
