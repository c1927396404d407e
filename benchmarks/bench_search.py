"""Cost per row and candidate of the searches' inner kernels, and the instructions of their loops on this processor."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from bayesieve import CodedTable
from bayesieve.criteria import Criterion, ErrorProbability, LogLoss, RatioTables, RowRatios
from bayesieve.search import SubsetProblem
from benchmarks.common.measuring import Report, alternate, in_fresh_process, markdown_table, options

N_CANDIDATES = 16

# A process of its own with an empty cache: code that was read from the cache has no assembly to show.
_ASSEMBLY = """
import numpy as np
from bayesieve.criteria import {criterion}
from bayesieve.search import SearchState, SubsetProblem
from bayesieve import CodedTable
rows = np.arange(4096)
codes = np.tile(rows % 2, (4, 1)).astype(np.uint8)
classes = (rows // (rows.size // {n_classes})).astype(np.uint8)
coded = CodedTable(codes=codes, n_levels=np.full(4, 2), names=tuple("abcd"), class_codes=classes, classes=np.arange(4))
SearchState(SubsetProblem.of(coded, 1.0, {criterion}())).candidates(np.arange(4))
from bayesieve.criteria.{module} import {kernel}
print(next(iter({kernel}.inspect_asm().values())))
"""
_KERNELS = (
    {"criterion": "LogLoss", "n_classes": 4, "module": "_kernels", "kernel": "log_loss_sums"},
    {"criterion": "ErrorProbability", "n_classes": 4, "module": "_kernels", "kernel": "two_way_sums"},
)


def main() -> None:
    """Time the kernels for several numbers of classes and levels, then read their assembly."""
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, help="rows (default 200,000; 20,000 with --quick)")
    arguments = parser.parse_args()
    n_rows = arguments.rows or (20_000 if arguments.quick else 200_000)
    rounds = 3 if arguments.quick else 9
    report = Report("search", "The inner kernels of the searches", arguments)
    report.add(
        f"Each scores {N_CANDIDATES} candidate features in one pass over {n_rows:,} rows, on one core. NumPy evaluates "
        "the same formula - `log1p((ratios * table[code]).sum(axis=0)).sum()`, or `1 / (1 + ...)` - candidate by "
        f"candidate; {rounds} rounds in turns.\n"
    )
    header = ["classes", "levels", "ns per row and candidate", "and per other class", "NumPy, ns", "times faster"]
    for criterion, formula in ((LogLoss(), np.log1p), (ErrorProbability(), lambda odds: odds / (1.0 + odds))):
        report.add(f"\n## {criterion.name}\n")
        shapes = [(n_classes, n_levels) for n_classes in (2, 4, 10) for n_levels in (2, 5, 10, 200)]
        rows = [compare(criterion, formula, n_rows, *shape, rounds) for shape in shapes]
        report.add(markdown_table(header, rows))
    for kernel in _KERNELS:
        with tempfile.TemporaryDirectory() as cache:
            assembly = in_fresh_process(_ASSEMBLY.format(**kernel), environment={"NUMBA_CACHE_DIR": cache})
        report.add(f"\nWhat `{kernel['kernel']}` compiles to here, by function; loops are the innermost ones:\n")
        report.add(markdown_table(["code", "arithmetic", "table lookups", "calls"], compiled(assembly)))
    report.close(["llvmlite"])


def compare(
    criterion: Criterion,
    formula: Callable[[np.ndarray], np.ndarray],
    n_rows: int,
    n_classes: int,
    n_levels: int,
    rounds: int,
) -> list[Any]:
    """One row of the table: our nanoseconds, NumPy's, the ratio. Both must give the same sums."""
    rng = np.random.default_rng(n_classes * 1000 + n_levels)
    coded = CodedTable(
        codes=rng.integers(0, n_levels, size=(N_CANDIDATES, n_rows)).astype(np.uint8),
        n_levels=np.full(N_CANDIDATES, n_levels),
        names=tuple(f"x{k}" for k in range(N_CANDIDATES)),
        class_codes=rng.integers(0, n_classes, n_rows).astype(np.uint8),
        classes=np.arange(n_classes),
    )
    rows = SubsetProblem.of(coded, 1.0, criterion).objective.rows
    state = criterion.start(rows.block, rows.tables, rows.prior_ratios)
    features, adding = np.arange(N_CANDIDATES), np.ones(N_CANDIDATES, dtype=bool)
    results: dict[str, np.ndarray] = {}
    tasks: dict[str, Callable[[], Any]] = {
        "kernel": lambda: results.update(kernel=criterion.sums(state, state.moves(features, adding))[:, 0]),
        "numpy": lambda: results.update(numpy=in_numpy(state, rows.tables, formula)),
    }
    alternate(tasks, 1)
    np.testing.assert_allclose(results["kernel"], results["numpy"], rtol=1e-10)
    runs = {name: median(times) * 1e9 / n_rows / N_CANDIDATES for name, times in alternate(tasks, rounds).items()}
    per_class = runs["kernel"] / (n_classes - 1)
    figures = [
        f"{runs['kernel']:.2f}",
        f"{per_class:.2f}",
        f"{runs['numpy']:.1f}",
        f"{runs['numpy'] / runs['kernel']:.1f}",
    ]
    return [n_classes, n_levels, *figures]


def in_numpy(state: RowRatios, tables: RatioTables, formula: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The same sums by the formula, with whole arrays."""
    block, ratios = state.block, state.scan().ratios
    sums = np.zeros(block.codes.shape[0])
    for k in range(sums.size):
        factors = np.exp(tables.log_factors(k))
        for true_class in range(block.offsets.size - 1):
            rows = slice(block.offsets[true_class], block.offsets[true_class + 1])
            sums[k] += formula((ratios[:, rows] * factors[true_class][:, block.codes[k, rows]]).sum(axis=0)).sum()
    return sums


def compiled(assembly: str) -> list[list[str]]:
    """Per compiled function: its innermost loops that compute, and the code outside of them."""
    rows = []
    for name, lines in functions(assembly):
        inside: set[int] = set()
        for begin, end in innermost_loops(lines):
            inside.update(range(begin, end + 1))
            if computes(lines[begin:end]):
                rows.append([f"`{name}`, loop {lines[begin].strip(':')}", *describe(lines[begin:end])])
        outside = [line for i, line in enumerate(lines) if i not in inside]
        if computes(outside):
            rows.append([f"`{name}`, outside of loops", *describe(outside)])
    return rows


def functions(assembly: str) -> list[tuple[str, list[str]]]:
    """Name and lines of every function compiled from the kernels' module, without the wrapper that Python calls."""
    found = []
    for part in re.split(r"(?m)^(?=_ZN)", assembly)[1:]:
        name = re.match(r"_ZN9bayesieve8criteria\d+_\w*?kernels\d+?(_?[a-z_]+[1-3]?)B\d", part)
        if name:
            body = part.split(".Lfunc_end")[0]
            found.append((name[1], [line.strip() for line in body.splitlines()]))
    return found


def innermost_loops(lines: list[str]) -> list[tuple[int, int]]:
    """First and last line of every loop that holds no other loop."""
    at = {line[:-1]: i for i, line in enumerate(lines) if re.fullmatch(r"\.L\w+:", line)}
    jumps = ((i, re.match(r"j\w+\s+(\.L\w+)$", line)) for i, line in enumerate(lines))
    spans = {(at[jump[1]], i) for i, jump in jumps if jump and at.get(jump[1], i) < i}
    return sorted((a, b) for a, b in spans if not any((c, d) != (a, b) and a <= c and d <= b for c, d in spans))


def computes(lines: list[str]) -> bool:
    """Whether a loop multiplies, adds or takes logarithms of doubles, or works on their bits."""
    return any(re.match(r"v?(mul|add|fmadd|fmsub|fma)\w*[sp]d|vp(add|srl|and|tern)", line) for line in lines)


def describe(lines: list[str]) -> list[str]:
    """Instructions of a loop: arithmetic by width, lookups in a table by code, calls."""
    kinds: Counter[str] = Counter()
    for line in lines:
        if re.match(r"v?(mul|add|fmadd|fmsub)\w*sd", line):
            kinds["scalar"] += 1
        elif re.match(r"v?(mul|add|fmadd|fmsub)\w*pd|vp(add|srl|and|tern)", line):
            width = next((bits for name, bits in (("zmm", 512), ("ymm", 256)) if name in line), 128)
            kinds[f"vectors of {width} bits"] += 1
    lookups = Counter(
        "vector gather" if "gather" in line else "scalar" for line in lines if re.match(r"v?p?gather|movzb", line)
    )
    calls = sum(line.startswith("call") for line in lines)
    return [", ".join(f"{n} {kind}" for kind, n in kinds.most_common()), _counted(lookups), str(calls)]


def _counted(kinds: Counter[str]) -> str:
    return ", ".join(f"{n} {kind}" for kind, n in kinds.most_common()) or "none"


if __name__ == "__main__":
    main()
