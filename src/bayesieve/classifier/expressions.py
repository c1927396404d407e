"""Predictions of a fitted model as expressions of polars or narwhals, so that no Python touches the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import add, and_
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from bayesieve.classifier.cautions import look_at_first_rows
from bayesieve.classifier.level_expressions import ColumnExpressions
from bayesieve.discretize import IndicatorEncoder
from bayesieve.table.choices import is_choice

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB

OUTPUTS = ("all", "prediction", "probabilities")
_OWN = "__bayesieve_"  # begins the names of columns that come and go
_MOST_NODES = 5_000  # levels in expressions of narwhals that cannot share what they have in common

Named = Mapping[str, Any]
Reference = Callable[[str], Any]


def prediction_names(model: SelectiveNB, outputs: str = "all") -> list[str]:
    """The names of the prediction columns."""
    probabilities = [f"P({label})" for label in model.classes_.tolist()]
    return {"all": ["prediction", *probabilities], "prediction": ["prediction"]}.get(outputs, probabilities)


def expressions_of(model: SelectiveNB, frame: Any, outputs: str) -> list[Any]:
    """What `SelectiveNB.expressions` gives."""
    if not is_choice(outputs, OUTPUTS):
        raise ValueError(f"outputs must be one of {', '.join(map(repr, OUTPUTS))}, got {outputs!r}.")
    stages = Stages.of(model, frame)
    names = prediction_names(model, outputs)
    if stages.engine == "polars":
        import polars as pl

        whole = pl.struct(**stages.codes)
        for stage in stages.following:
            whole = whole.struct.with_fields(**stage(pl.field))
        return [whole.struct.field(name) for name in names]
    stages.refuse_if_large()
    known = {**stages.codes, **stages.joints(stages.codes.__getitem__)}
    known |= stages.compared(known.__getitem__)
    return [known[name].alias(name) for name in names]


def query_with_predictions(model: SelectiveNB, frame: Any) -> Any:
    """What `SelectiveNB.with_predictions` gives for a frame that is not in memory, as the same kind of frame."""
    of_frame = nw.from_native(frame)
    stages = Stages.of(model, frame)
    names = prediction_names(model)
    if stages.engine == "polars":
        import polars as pl

        whole, made = of_frame.to_native().with_columns(**stages.codes), [*stages.codes]
        ref: Any = pl.col
    else:
        whole, ref, made = of_frame.with_columns(**stages.codes), nw.col, [*stages.codes]
    for stage in stages.following:
        named = stage(ref)
        made += [name for name in named if name not in names]
        whole = whole.with_columns(**named)
    whole = whole.drop(made)
    return whole if frame is of_frame or stages.engine == "polars" else whole.to_native()


class Stages:
    """Columns that predictions are made of: the codes of the levels, and what follows from columns before.

    Attributes
    ----------
    engine : "polars", or what narwhals calls the engine.
    codes : expressions of raw columns by name.
    following : functions that take what gives a column of an earlier stage by its name, and return expressions by name.
    """

    def __init__(self, model: SelectiveNB, columns: ColumnExpressions, engine: str) -> None:
        self.engine, self._columns, self._ns = engine, columns, columns.ns
        self._labels, self._intercept = model.classes_.tolist(), model.naive_bayes_.intercept_
        levels = model.encoder_.levels_ if model.cells_ is None else model.cells_
        self.codes: dict[str, Any] = {}
        self._evidence: dict[str, np.ndarray] = {}
        for k in model.naive_bayes_.used_.tolist():
            code, level_of = columns.code(levels[k])
            evidence = model.naive_bayes_._evidence(k)
            ends = [np.zeros((1, len(self._labels))), np.full((1, len(self._labels)), np.nan)]
            self.codes[f"{_OWN}code_{k}"] = code
            self._evidence[f"{_OWN}code_{k}"] = np.concatenate([evidence, *ends])[level_of]
        if not self.codes:  # a column all the same, so that there are as many predictions as rows
            self.codes[f"{_OWN}code"] = columns.ns.nth(0).is_null().cast(columns.ns.Int32)
            self._evidence[f"{_OWN}code"] = np.zeros((3, len(self._labels)))
        self.following = (self.joints, self._top, self._shares, self._total, self._predictions)

    def refuse_if_large(self) -> None:
        """ValueError where expressions that share nothing would take minutes to build."""
        joints = len(self._labels) * (2 * len(self._labels) + 1)
        size = joints * sum(len(table) for table in self._evidence.values())
        if size > _MOST_NODES:
            raise ValueError(
                f"Expressions of {self.engine} that stand alone would repeat {size:,} values of the model; use "
                "with_predictions, which shares what they have in common."
            )

    @classmethod
    def of(cls, model: SelectiveNB, frame: Any) -> Stages:
        """Of a model for the engine and the columns of a frame; None stands for polars and the training columns."""
        if getattr(model.encoder_, "scores", None) is not None and isinstance(model.encoder_, IndicatorEncoder):
            raise ValueError("The model computes scores by Python functions, which no expression calls.")
        if frame is None:
            return cls(model, ColumnExpressions(), "polars")
        of_frame = nw.from_native(frame)
        engine = of_frame.implementation.name.lower()
        stages = cls(model, ColumnExpressions(of_frame.collect_schema(), engine), engine)
        look_at_first_rows(model, of_frame)
        return stages

    def joints(self, of: Reference) -> Named:
        """The log joint of each class, summed in the order of `DiscreteNB`."""
        return {
            f"{_OWN}joint_{j}": reduce(
                add,
                (self._columns.look_up(of(name), table[:, j].copy()) for name, table in self._evidence.items()),
                self._ns.lit(float(self._intercept[j])),
            )
            for j in range(len(self._labels))
        }

    def _top(self, of: Reference) -> Named:
        joints = (of(f"{_OWN}joint_{j}") for j in range(len(self._labels)))
        return {f"{_OWN}top": self._ns.max_horizontal(*joints)}

    def _shares(self, of: Reference) -> Named:
        top = of(f"{_OWN}top")
        return {f"{_OWN}share_{j}": (of(f"{_OWN}joint_{j}") - top).exp() for j in range(len(self._labels))}

    def _total(self, of: Reference) -> Named:
        return {f"{_OWN}total": reduce(add, (of(f"{_OWN}share_{j}") for j in range(len(self._labels))))}

    def _predictions(self, of: Reference) -> Named:
        top, total = of(f"{_OWN}top"), of(f"{_OWN}total")
        first = self._first(of, lambda j: of(f"{_OWN}joint_{j}") >= top)
        return {"prediction": first} | {
            f"P({label})": of(f"{_OWN}share_{j}") / total for j, label in enumerate(self._labels)
        }

    def _first(self, of: Reference, is_best: Callable[[int], Any]) -> Any:
        """The first class that is best, null where numbers are refused."""
        ns, prediction = self._ns, self._ns.lit(self._labels[-1])
        for j in reversed(range(len(self._labels) - 1)):
            prediction = ns.when(is_best(j)).then(ns.lit(self._labels[j])).otherwise(prediction)
        return ns.when(~of(f"{_OWN}joint_0").is_nan()).then(prediction)

    def compared(self, of: Reference) -> Named:
        """Predictions where nothing can be shared: classes compared with each other."""
        joints = [of(f"{_OWN}joint_{j}") for j in range(len(self._labels))]
        possible = np.flatnonzero(self._intercept > -np.inf).tolist()  # the others have log joints of -inf

        def is_best(j: int) -> Any:
            return reduce(and_, (joints[j] >= joints[i] for i in possible if i != j))

        def probability(j: int) -> Any:
            if j not in possible:
                return joints[0] * 0.0
            odds = [(joints[i] - joints[j]).exp() for i in possible if i != j]
            return 1.0 / reduce(add, odds, self._ns.lit(1.0))

        return {"prediction": self._first(of, is_best)} | {
            f"P({label})": probability(j) for j, label in enumerate(self._labels)
        }
