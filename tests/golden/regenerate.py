"""Recompute the golden MODL optima, selective naive Bayes and wrapper paths with the oracles of tests/reference (see
README.md).
"""

from __future__ import annotations

import itertools
import json
import sys
from typing import Any

import numpy as np

from tests import golden
from tests.reference import modl, selective, wrapper


def count_table(ranks: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Counts of the rows: ranks x classes."""
    counts = np.zeros((ranks.max() + 1, labels.max() + 1), dtype=np.int64)
    np.add.at(counts, (ranks, labels), 1)
    return counts


def number_or_none(value: float) -> float | None:
    """JSON has no -inf: the missing value of a numeric column is null."""
    return None if np.isneginf(value) else float(value)


def optimal_numeric(name: str, column: str) -> dict[str, Any]:
    """The entry of a numeric column."""
    numbers = np.nan_to_num(golden.numeric_column(name, column), nan=-np.inf)
    distinct, ranks = np.unique(numbers, return_inverse=True)
    counts = count_table(ranks, golden.class_codes(name))
    _, ends = modl.optimal_intervals(counts)
    around = [(float(distinct[end - 1]), float(distinct[end])) for end in ends[:-1]]
    table = np.add.reduceat(counts, [0, *ends[:-1]], axis=0).tolist()
    return {
        "kind": "numeric",
        "distinct_values": len(distinct),
        "cost": modl.interval_cost(table),
        "null_cost": modl.interval_cost([counts.sum(axis=0).tolist()]),
        "intervals": len(table),
        "cut_points": [number_or_none((low + high) / 2) for low, high in around],
        "cut_between": [[number_or_none(low), high] for low, high in around],
        "table": table,
    }


def optimal_categorical(name: str, column: str) -> dict[str, Any]:
    """The entry of a categorical column."""
    distinct, ranks = np.unique(golden.raw_column(name, column), return_inverse=True)
    counts = count_table(ranks, golden.class_codes(name)).tolist()
    cost, groups = modl.optimal_groups(counts)
    return {
        "kind": "categorical",
        "distinct_values": len(distinct),
        "values": distinct.tolist(),
        "value_table": counts,
        "cost": cost,
        "null_cost": modl.group_cost([[sum(column) for column in zip(*counts, strict=True)]], len(distinct)),
        "groups_number": len(groups),
        "groups": [[str(distinct[v]) for v in group] for group in groups],
        "table": [list(part) for part in modl.group_table(counts, groups)],
    }


def is_numeric(name: str, column: str) -> bool:
    """Whether every value that is not missing is a number."""
    try:
        golden.numeric_column(name, column)
    except ValueError:
        return False
    return True


def modl_values(name: str, kinds: dict[str, str] | None = None) -> dict[str, Any]:
    """What modl_exact/NAME.json holds; the kinds of the columns are those given, or told from their values."""
    columns = golden.raw_table(name)[0][:-1]
    kinds = kinds or {column: "numeric" if is_numeric(name, column) else "categorical" for column in columns}
    entries = {
        column: (optimal_numeric if kind == "numeric" else optimal_categorical)(name, column)
        for column, kind in kinds.items()
    }
    for entry in entries.values():
        entry["level"] = 1 - entry["cost"] / entry["null_cost"]
    classes, counts = np.unique(golden.target(name), return_counts=True)
    return {
        "dataset": name,
        "N": int(counts.sum()),
        "J": len(classes),
        "classes": classes.tolist(),
        "class_counts": counts.tolist(),
        "variables": entries,
    }


def modl_differences(name: str) -> list[str]:
    """Columns whose recomputed costs or counts are not the golden ones."""
    expected = golden.values("modl_exact", name)["variables"]
    found = modl_values(name, {column: entry["kind"] for column, entry in expected.items()})["variables"]
    lines = [
        f"modl_exact/{name}.json: {key} of {column} is {expected[column][key]}, recomputed {entry[key]}"
        for column, entry in found.items()
        for key in ("cost", "null_cost", "level")
        if abs(entry[key] - expected[column][key]) > 1e-9
    ]
    parts = {column: sorted(entry["table"]) for column, entry in found.items()}
    return lines + [
        f"modl_exact/{name}.json: parts of {column} are {expected[column]['table']}, recomputed {table}"
        for column, table in parts.items()
        if table != sorted(expected[column]["table"])
    ]


def snb_differences(name: str) -> list[str]:
    """Values of the primary variant (A_all) that are not the golden ones."""
    values, columns = golden.values("snb_exact", name), golden.values("snb_exact", name)["variables"]
    entry = values["variants"]["A_all"]
    data = selective.Data.estimate(golden.snb_codes(name).tolist(), golden.class_codes(name).tolist())
    costs = selective.all_costs(data)
    best = [columns[k] for k in selective.best_subset(costs)]
    pairs = [
        ("n_models", len(costs), entry["n_models"]),
        ("map_cost", min(costs.values()), entry["map_cost"]),
        ("null_cost", costs[()], entry["null_cost"]),
    ]
    for model in entry["top5"]:
        subset = tuple(columns.index(column) for column in model["subset"])
        pairs.append((f"the cost of {model['subset']}", costs[subset], model["cost"]))
    for key, weights in [
        ("bma_weights", selective.bayesian_weights(costs, len(columns))),
        ("cma_weights", selective.compression_weights(costs, len(columns))),
    ]:
        pairs += [(f"{key} of {c}", w, entry[key].get(c, 0.0)) for c, w in zip(columns, weights, strict=True)]
    lines = [
        f"snb_exact/{name}.json: {what} is {expected}, recomputed {found}"
        for what, found, expected in pairs
        if abs(found - expected) > 1e-9
    ]
    return lines + [f"snb_exact/{name}.json: map_subset is {entry['map_subset']}, recomputed {best}"] * (
        best != entry["map_subset"]
    )


def wrapper_differences(name: str) -> list[str]:
    """Greedy paths whose recomputed order or criterion is not the golden one."""
    columns, codes, y = golden.coded_table(name)
    lines = []
    for prior in golden.WRAPPER_PRIORS:
        rows = wrapper.refit(codes, y, wrapper.training_rows(len(y)), class_smoothing=float(prior == "laplace_prior"))
        for criterion, direction in itertools.product(golden.WRAPPER_CRITERIA.values(), ("forward", "backward")):
            entry = golden.wrapper_path(name, prior, criterion, direction)
            steps = wrapper.search(wrapper.as_cost(criterion, rows), len(columns), direction)
            where = f"wrapper/{name}.json: {prior}, {criterion}, {direction}"
            if [step.feature for step in steps[1:]] != entry["order"]:
                lines.append(f"{where}: order is {entry['order']}, recomputed {[step.feature for step in steps[1:]]}")
            found = [wrapper.value_of(criterion, step.cost) for step in steps]
            if np.abs(np.subtract(found, entry["values"])).max() > 1e-12:
                lines.append(f"{where}: criterion is {entry['values']}, recomputed {found}")
    return lines


def main(names: list[str]) -> int:
    """Write the files of the named tables, or check all files; the exit status is 1 when something differs."""
    for name in names:
        path = golden.FOLDER / "modl_exact" / f"{name}.json"
        path.write_text(json.dumps(modl_values(name), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        sys.stdout.write(f"wrote {path}\n")
    if names:
        return 0
    differences = [line for name in golden.MODL_TABLES for line in modl_differences(name)]
    differences += [line for name in golden.SNB_TABLES for line in snb_differences(name)]
    differences += [line for name in golden.WRAPPER_TABLES for line in wrapper_differences(name)]
    sys.stdout.write("\n".join(differences) + "\n" if differences else "every value was recomputed and agrees\n")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
