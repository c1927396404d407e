"""`Onnx`: export to an ONNX graph in double precision, and a converter for pipelines.

The graph turns each value into a code, the number of its level (interval or group of values), and looks up
contributions by code. One node reads all numeric columns, so that the graph stays small; texts are looked up column by
column.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, ClassVar

import numpy as np

from bayesieve.scorecard.export.plan import Plan, Reader
from bayesieve.scorecard.export.target import Export
from bayesieve.table.values import canonical_text

_OPSETS = {"": 20, "ai.onnx.ml": 3}  # onnxruntime 1.17 reads these
_INT64 = 7  # onnx.TensorProto.INT64
_OUTPUTS = "label", "probabilities", "contributions"
_UNITS = {"date": " in days", **dict.fromkeys(("datetime", "duration", "time"), " in microseconds")}
_BLANK = r"[\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]"
_PATTERN_LENGTH = 10_000  # characters of a regular expression; longer ones may exceed the runtime's memory limit


class Onnx(Export):
    """ONNX model for `onnxruntime` 1.17 or later, or any other runtime for opset 20 with ``ai.onnx.ml`` 3.

    It has one input for each raw column in use, with the column's name and shape (rows, 1):

    - ``tensor(double)`` for numbers, NaN if missing; for booleans, 0 or 1; and for dates and times: days since
      1970-01-01 for dates, microseconds for others (datetimes since 1970-01-01 in UTC, times since midnight).
    - ``tensor(string)`` for texts, and for columns of categories that doubles cannot distinguish: whole numbers from
      2**53 on, or numbers among texts, written as Python writes them. ONNX has no missing texts: pass ``""``, or
      ``"\\u2400"`` if ``""`` is a category of the column. Surrounding blanks do not matter, as in ``predict_proba``.

    There are three outputs: ``label`` (int64, double, bool or string, according to the class labels), ``probabilities``
    (rows, classes) and ``contributions`` (rows, features, classes) in nats, which add up with the intercept to the log
    joint probabilities. If a row contains an infinite number, for which ``predict_proba`` raises an error, its
    probabilities are NaN and its other outputs are meaningless.

    The ``doc_string`` of each input states its unit and missing value. The metadata hold facts about the model,
    ``classes``, ``features`` and ``intercept``, and with ``counts=True`` the training rows of the cells, as JSON.

    The export has no options.

    Raises
    ------
    ValueError
        If the model uses no column; if a column has no name or the name of an output; or if a special value of a column
        of numbers is a text.

    Examples
    --------
    >>> import numpy as np
    >>> import onnxruntime
    >>> import polars as pl
    >>> from bayesieve import SelectiveNB
    >>> frame = pl.DataFrame({"age": [20.0, 25, 40, 60] * 10})
    >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 10)
    >>> session = onnxruntime.InferenceSession(model.export(to="onnx"))
    >>> session.run(["label"], {"age": np.array([[22.0], [50.0]])})[0].tolist()
    ['no', 'yes']
    """

    name = "onnx"
    suffixes: ClassVar[Mapping[str, Any]] = {".onnx": {}}
    title = "a graph for onnxruntime"

    def write(self, plan: Plan) -> bytes:
        """Return the serialized ONNX model."""
        import onnx

        texts = _missing_texts(plan)
        _check(plan)
        graph, labels = _Graph(onnx, [*plan.columns, *_OUTPUTS]), _labels(plan)
        for name, result in zip(_OUTPUTS, _results(graph, plan, texts, labels), strict=True):
            graph.nodes.append(onnx.helper.make_node("Identity", [result], [name]))
        info, types = onnx.helper.make_tensor_value_info, onnx.TensorProto
        inputs = []
        for name, kind in plan.columns.items():
            missing = json.dumps(texts.get(name, np.nan), ensure_ascii=False)
            unit = f"{kind}{_UNITS.get(kind, '')}; {missing} if missing"
            inputs.append(info(name, types.STRING if name in texts else types.DOUBLE, ["rows", 1], unit))
        label_type = onnx.helper.np_dtype_to_tensor_dtype(labels.dtype)
        outputs = [
            info("label", label_type, ["rows"]),
            info("probabilities", types.DOUBLE, ["rows", len(labels)]),
            info("contributions", types.DOUBLE, ["rows", len(plan.terms), len(labels)]),
        ]
        body = onnx.helper.make_graph(graph.nodes, "scorecard", inputs, outputs, graph.constants)
        opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
        model = onnx.helper.make_model(body, opset_imports=opsets, ir_version=9, producer_name="bayesieve")
        onnx.helper.set_model_props(model, _metadata(plan, labels))
        onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString())


def _check(plan: Plan) -> None:
    """Raise ValueError if ONNX cannot represent the model."""
    if not plan.terms:
        raise plan.refuse("ONNX", "a model that uses no columns", "its probabilities are `scorecard_.class_shares`")
    for name in plan.columns.keys() & {"", *_OUTPUTS}:
        raise plan.refuse("ONNX", f"a column named {name!r}", "rename it, and fit the model again")
    for reader in plan.readers:
        if reader.cuts is not None and any(isinstance(key, str) for key in reader.keys):
            what = f"texts among the numbers of column {reader.column!r}"
            raise plan.refuse("ONNX", what, "replace them by numbers, and fit the model again")


class _Graph:
    """Builder of an ONNX graph from nodes and constants. Results get names that no column has; ``taken`` are the names
    of columns and outputs.
    """

    def __init__(self, onnx: Any, taken: Sequence[str]) -> None:
        self._onnx = onnx
        self._stem = max(taken, key=len) + "/"  # longer than any column name
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """Add a node. ``inputs`` are names of results, or values that become constants. Return the name of its
        result.
        """
        names = [item if isinstance(item, str) else self._constant(np.asarray(item)) for item in inputs]
        result = f"{self._stem}{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(operator, names, [result], **attributes))
        return result

    def tensor(self, value: Any, name: str = "") -> Any:
        """Return a value as an ONNX tensor."""
        return self._onnx.numpy_helper.from_array(np.asarray(value), name)

    def _constant(self, value: Any) -> str:
        """Add a constant and return its name."""
        name = f"{self._stem}c{len(self.constants)}"
        self.constants.append(self.tensor(value, name))
        return name


def _results(graph: _Graph, plan: Plan, texts: dict[str, str], labels: np.ndarray) -> tuple[str, str, str]:
    """Add the nodes from codes to predictions, and return the names of the outputs: label, probabilities and
    contributions.

    ``texts`` gives the text that stands for missing values in each text column; ``labels`` (n_classes,) are the class
    labels.
    """
    numbers = [reader for reader in plan.readers if reader.column not in texts]
    others = [reader for reader in plan.readers if reader.column in texts]
    codes = [_codes_of_numbers(graph, numbers, [reader.column for reader in numbers])] if numbers else []
    codes += [_codes_of_text(graph, reader, texts[reader.column]) for reader in others]
    every, order = graph.add("Concat", *codes, axis=1), [*numbers, *others]
    readers = [[order.index(plan.readers[term.readers[at]]) for term in plan.terms] for at in (0, -1)]
    first, last = (graph.add("Gather", every, positions, axis=1) for positions in readers)
    tables = [term.by_code for term in plan.terms]
    strides = [table.shape[1] if table.ndim == 3 else 0 for table in tables]
    starts = np.cumsum([0, *(table[..., 0].size for table in tables[:-1])])
    lines = graph.add("Add", graph.add("Add", graph.add("Mul", first, strides), last), starts)
    contributions = graph.add("Gather", np.concatenate([table.reshape(-1, len(labels)) for table in tables]), lines)
    joint = graph.add("Add", graph.add("ReduceSum", contributions, [1], keepdims=0), plan.card.intercept)
    watched = dict.fromkeys(reader.column for reader in numbers if reader.refuses_infinite)
    if watched:
        infinite = graph.add("IsInf", graph.add("Concat", *watched, axis=1))
        joint = graph.add("Add", joint, graph.add("ReduceSum", graph.add("Where", infinite, np.nan, 0.0), [1]))
    best = graph.add("ArgMax", joint, axis=1, keepdims=0)
    return graph.add("Gather", labels, best), graph.add("Softmax", joint), contributions


def _codes_of_numbers(graph: _Graph, readers: Sequence[Reader], values: Sequence[str]) -> str:
    """Add nodes that compute the codes of numeric columns, and return the name of the result, shape (rows, readers).

    ``values`` are the names of the inputs of the ``readers``. Each reader is a tree of comparisons in one TreeEnsemble
    node.
    """
    nodes = [(tree, k, *node) for tree, reader in enumerate(readers) for k, node in enumerate(_tree(reader))]
    trees, ids, modes, numbers, yes, no = zip(*nodes, strict=True)
    of_leaves, leaves, codes, *_ = zip(*((t, k, code) for t, k, mode, code, *_ in nodes if mode == "LEAF"), strict=True)
    parts: dict[str, Any] = {"nodes_treeids": trees, "nodes_featureids": trees, "nodes_nodeids": ids}
    parts |= {"nodes_truenodeids": yes, "nodes_falsenodeids": no, "nodes_values_as_tensor": graph.tensor(numbers)}
    parts |= {"nodes_modes": modes, "target_treeids": of_leaves, "target_ids": of_leaves, "target_nodeids": leaves}
    parts |= {"target_weights_as_tensor": graph.tensor(codes), "n_targets": len(readers)}
    value = graph.add("Concat", *values, axis=1)
    # Bounds are passed as tensors; attributes would round them to single precision.
    leaves_of_rows = graph.add("TreeEnsembleRegressor", value, domain="ai.onnx.ml", **parts)
    return graph.add("Cast", leaves_of_rows, to=_INT64)


def _tree(reader: Reader) -> list[tuple[str, float, int, int]]:
    """Return the tree of comparisons that turns a number into a code by the rule ``reader``.

    Each node is a tuple: its kind, its bound (of a leaf, the code), the next node if the number is at most the bound,
    and the next node otherwise. A category or special value is an interval that contains only itself. NaN fails every
    comparison and therefore ends beyond the last bound, which is infinite.
    """
    keys, cuts = [float(key) for key in reader.keys], reader.cuts or ()
    bounds = sorted({*cuts, *keys, *np.nextafter(keys, -np.inf).tolist(), np.inf})
    between = np.full(len(bounds), reader.unseen)
    others = between if reader.cuts is None else np.searchsorted(cuts, bounds) + reader.first
    codes: list[Any] = [*map(reader.keys.get, bounds, others), reader.missing]
    nodes, ranges = [], [(0, len(bounds))]
    for first, last in ranges:  # the loop appends to the list while it runs
        middle, n = (first + last) // 2, len(ranges)
        if first < last:
            nodes.append(("BRANCH_LEQ", bounds[middle], n, n + 1))
            ranges += [(first, middle), (middle + 1, last)]
        else:
            nodes.append(("LEAF", float(codes[first]), 0, 0))
    return nodes


def _codes_of_text(graph: _Graph, reader: Reader, missing: str) -> str:
    """Add nodes that compute the codes of a text column, (rows, 1), and return the name of the result. ``missing`` is
    the text of missing values.

    The exact text is looked up first; if it is unknown, the text without surrounding blanks.
    """
    keys = {"": reader.missing, **{canonical_text(key): code for key, code in reader.keys.items()}}
    exact = {**keys, missing: reader.missing}
    text = graph.add("Reshape", reader.column, [-1])
    table = {"keys_strings": [*exact], "values_int64s": [*exact.values()], "default_int64": reader.unseen}
    codes = graph.add("LabelEncoder", text, domain="ai.onnx.ml", **table)
    rows = graph.add("Reshape", graph.add("NonZero", graph.add("Equal", codes, reader.unseen)), [-1])
    text = graph.add("Gather", text, rows)
    padded = graph.add("RegexFullMatch", text, pattern=f"(?s){_BLANK}.*|.*{_BLANK}")
    rows, text = graph.add("Compress", rows, padded), graph.add("Compress", text, padded)
    updates = graph.add("Gather", codes, rows)
    for pattern, weight in _patterns(keys, reader.unseen):
        matched = graph.add("RegexFullMatch", text, pattern=pattern)
        updates = graph.add("Sub", updates, graph.add("Where", matched, weight, 0))
    return graph.add("Reshape", graph.add("ScatterElements", codes, rows, updates), [-1, 1])


def _patterns(keys: dict[str, int], unseen: int) -> Iterator[tuple[str, int]]:
    """Yield regular expressions that match categories with surrounding blanks, because ONNX has no operator that strips
    texts.

    ``keys`` gives the code of each category, ``unseen`` that of all other texts. Each expression comes with a power of
    two. The code of a text is ``unseen`` minus the powers of all expressions that match it, so that a few expressions
    suffice for thousands of codes.
    """
    for weight in (1 << bit for bit in range(unseen.bit_length())):
        escaped = [re.escape(key) for key, code in keys.items() if key == key.strip() and (unseen - code) & weight]
        step = max(1, _PATTERN_LENGTH // max(map(len, [*escaped, "-"])))
        for first in range(0, len(escaped), step):
            yield f"{_BLANK}*(?:{'|'.join(escaped[first : first + step])}){_BLANK}*", weight


def _missing_texts(plan: Plan) -> dict[str, str]:
    """Return the text that represents missing values in each text column."""
    keys_by_column: dict[str, set[Any]] = {}
    for reader in plan.readers:
        beyond = any(isinstance(key, str) or (type(key) is int and abs(key) >= 2**53) for key in reader.keys)
        if reader.cuts is None and (reader.is_text or reader.type == "mixed" or beyond):
            keys_by_column.setdefault(reader.column, set()).update(reader.keys)
    return {
        name: next(text for n in count() if (text := "\u2400" * n) not in keys) for name, keys in keys_by_column.items()
    }


def _labels(plan: Plan) -> np.ndarray:
    """Return the class labels in a type that ONNX supports (int64, double, bool or texts), shape (n_classes,)."""
    labels = np.array(plan.classes)
    kind = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}.get(labels.dtype.kind)
    return labels.astype(kind) if kind else np.array([str(label) for label in plan.classes], dtype=object)


def _metadata(plan: Plan, labels: np.ndarray) -> dict[str, str]:
    """Return the metadata of the ONNX model, texts by name. ``labels`` (n_classes,) are the class labels in the type
    that the graph returns.
    """
    facts: dict[str, Any] = {"classes": labels.tolist(), "intercept": plan.card.intercept.tolist()}
    facts |= {"features": [term.feature.name for term in plan.terms], "counts": plan.counts_by_cell()}
    return {**plan.head, **{name: json.dumps(fact, ensure_ascii=False) for name, fact in facts.items() if fact}}


def register_converter(kind: type) -> None:
    """Register models of the class ``kind`` with `skl2onnx`, which then converts them alone or as the last step of a
    pipeline.

    Inputs are the columns of the model by name, or the columns of the training table in their order, in one or several
    matrices. Numbers must have the type `DoubleTensorType` and texts `StringTensorType`. Other types raise a
    ValueError, such as `FloatTensorType`, which would round values across the bounds of intervals. Units and missing
    values are those of `Onnx`; outputs are label and probabilities. ``target_opset`` must be 20 or later.

    Examples
    --------
    >>> from bayesieve import SelectiveNB
    >>> from bayesieve.scorecard.export.onnx_graph import register_converter
    >>> from sklearn.datasets import load_iris
    >>> from skl2onnx import to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> register_converter(SelectiveNB)
    >>> [output.name for output in to_onnx(SelectiveNB().fit(X, y), X[:1]).graph.output]
    ['label', 'probabilities']
    """
    from skl2onnx import update_registered_converter

    update_registered_converter(kind, f"Bayesieve{kind.__name__}", _set_types, _convert)


def _set_types(operator: Any) -> None:
    """Set the types of the outputs of a model in a pipeline; `skl2onnx` calls it."""
    from skl2onnx.common import data_types

    labels = _labels(Plan.of(operator.raw_operator.scorecard_, {}))
    kind = {"b": "Boolean", "i": "Int64", "f": "Double", "O": "String"}[labels.dtype.kind]
    label, probabilities = operator.outputs
    label.type = getattr(data_types, f"{kind}TensorType")([None])
    probabilities.type = data_types.DoubleTensorType([None, len(labels)])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Insert the nodes of the export into the graph of a pipeline, under new names if their names are taken; `skl2onnx`
    calls it.
    """
    from onnx import TensorProto, load_from_string

    model, inputs = operator.raw_operator, operator.inputs
    graph, columns = load_from_string(model.export(to="onnx")).graph, model.scorecard_.columns
    places = {variable.raw_name: (variable, 0) for variable in inputs if variable.type.shape[1] == 1}
    if not {node.name for node in graph.input} <= set(places):
        by_order = [(variable, k) for variable in inputs for k in range(variable.type.shape[1])]
        if len(by_order) != len(columns):
            raise ValueError(
                f"The model needs its {len(columns)} columns as inputs, got {len(by_order)}; pass them in order."
            )
        places = dict(zip(columns, by_order, strict=True))
    names = {name: output.full_name for name, output in zip(_OUTPUTS, operator.outputs, strict=False)}

    def renamed(name: str) -> str:
        """Return the name in the pipeline for a name in the export, an unused one when it is first requested."""
        return names[name] if name in names else names.setdefault(name, scope.get_unique_variable_name("sieve"))

    for node in graph.input:
        (variable, k), kind = places[node.name], node.type.tensor_type.elem_type
        if variable.type.to_onnx_type().tensor_type.elem_type != kind:
            demanded = TensorProto.DataType.Name(kind).capitalize()
            raise ValueError(f"Column {node.name!r} must be a {demanded}TensorType, got {variable.type}.")
        position = scope.get_unique_variable_name("position")
        container.add_initializer(position, TensorProto.INT64, [1], [k])
        container.add_node("Gather", [variable.full_name, position], renamed(node.name), axis=1)
    for constant in graph.initializer:
        constant.name = renamed(constant.name)
    for node in graph.node:
        node.input[:], node.output[:] = map(renamed, node.input), map(renamed, node.output)
    container.initializers.extend(graph.initializer)
    container.nodes.extend(graph.node)
    container.node_domain_version_pair_sets.update(_OPSETS.items())
