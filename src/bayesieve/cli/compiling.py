"""The command `bayesieve compile`, which compiles kernels before the first fit, and the notice that other commands
print while kernels compile.

Kernels are functions that Numba compiles for the types of their first call. Each family of kernels is therefore
compiled by running it on small artificial data. ``args`` holds the values of the options as attributes.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from bayesieve import compiling
from bayesieve.cli.commands import CommandError, OptionValues, Screen, require_choice

COMPILING = "Compiling the kernels of coding, search and prediction, once after installation: about 10 seconds ..."
_TRIAL_ROWS = 60
_PATIENCE = 1.0  # seconds until the notice, so that a command that fails at once only prints its error


def compile_kernels(args: OptionValues) -> None:
    """Compile the families of kernels that ``args.family`` names, by default all, each in a process of its own."""
    for family in args.family or []:
        require_choice(family, FAMILIES, "family")
    screen = Screen(args.quiet)
    if compiling.stamp("columns") is None:
        raise CommandError(
            "Compiled code cannot be saved, because no cache folder is writable; set NUMBA_CACHE_DIR to a writable "
            "folder"
        )
    chosen = args.family or list(FAMILIES)
    if len(chosen) == 1:
        FAMILIES[chosen[0]]()
        _compiled(chosen[0])
        return
    begin = time.perf_counter()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(partial(_compile_elsewhere, screen), chosen))
    screen.line(f"compiled in {time.perf_counter() - begin:.0f} s")


def _compile_elsewhere(screen: Screen, family: str) -> None:
    """Compile a family in a new process. Raise CommandError if that fails."""
    screen.note(f"Compiling kernels of {family} ...")
    if compiling.start(family).wait():
        raise CommandError(f"The kernels of {family} cannot be compiled; see `bayesieve compile {family} --debug`")


def _compiled(family: str) -> None:
    """Record on disk that a family is compiled."""
    file = compiling.stamp(family)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def _columns() -> None:
    """Compile the kernels that code columns of numbers, words and pairs, by coding tables with few and with many
    rows.
    """
    import numpy as np
    import polars as pl

    from bayesieve import TableEncoder
    from bayesieve.counts.row_hashes import hash_rows
    from bayesieve.table import as_table

    rng = np.random.default_rng(0)
    for n_rows in (60, 6000):
        numbers = rng.normal(size=n_rows)
        words = rng.choice(np.array(["red", "green", "blue"]), n_rows)
        places = rng.integers(0, 20, n_rows).astype(str)
        frame = pl.DataFrame({"number": numbers, "few": np.round(4 * numbers) / 4, "word": words, "place": places})
        hash_rows(as_table(frame))
        noisy = numbers + rng.normal(
            size=n_rows
        )  # noise, because classes that a single cut separates leave nothing to search
        for target in (noisy > 0, np.digitize(noisy, [-0.5, 0.5])):
            encoder = TableEncoder(pairs="auto").fit(frame, target)
            encoder.transform(frame)
            TableEncoder(numeric="equal-frequency").fit(
                frame, target
            )  # these intervals use the kernels of cells within levels


def _fit() -> None:
    """Compile the kernels of a default fit, by fitting `SelectiveNB` to small tables, with and without surfaces."""
    import numpy as np
    import polars as pl

    from bayesieve import DiscreteNB, SelectiveNB
    from bayesieve.evidence.calibration import calibrate
    from bayesieve.selection import make_selector

    coded = _coded(3)
    weights = make_selector("compression").set_params(encoder=None).fit_coded(coded).weights_
    for rows in (coded, _coded(300)):  # codes of one byte, and of two bytes, which cells often need
        predictor = DiscreteNB(feature_weights=weights).fit(rows)
        calibrate(rows, weights, "m-estimate")
        predictor.predict_proba(rows)
    DiscreteNB().fit(coded.take(np.arange(coded.n_rows)[::-1]))  # rows that are not sorted by class
    rng = np.random.default_rng(0)
    numbers, classes = rng.normal(size=2000), rng.integers(0, 2, 2000)
    frame = pl.DataFrame({"number": numbers + classes, "few": np.round(2 * numbers) + classes})
    SelectiveNB().fit(frame, classes)


def _search(name: str, *n_levels: int) -> None:
    """Compile the kernels of the selector ``name``, by running its search on one two-class table for each entry of
    ``n_levels``: the number of levels (intervals or groups of values) of its features.
    """
    from bayesieve.selection import make_selector

    for n in n_levels:
        make_selector(name).set_params(encoder=None).fit_coded(_coded(n))


def _auc(n_levels: int, n_selected: int) -> None:
    """Compile the kernels that compute the AUC, by evaluating subsets of features with ``n_levels`` levels each.

    Candidate features are evaluated for subsets of more than ``n_selected`` features. Kernels that count rows belong to
    other families.
    """
    import numpy as np

    from bayesieve.criteria import AUC, ClassBlock, RatioTables

    block = ClassBlock.of(_coded(n_levels))
    logs = np.random.default_rng(0).normal(size=(1, int(block.n_codes.sum()), 2))
    tables = RatioTables(logs, block.n_codes, np.zeros(block.n_segments, dtype=int), block.classes)
    criterion = AUC()
    scores = criterion.start(block, tables, np.ones((block.n_segments, 1)))
    for feature in range(8):
        scores.multiply([feature], [True])
        if feature >= n_selected:
            criterion.sums(scores, scores.moves(np.arange(8, 12), np.ones(4, dtype=bool)))


def _coded(n_levels: int) -> Any:
    """Return a random coded table of two classes, in which each of 12 features has ``n_levels`` levels."""
    import numpy as np

    from bayesieve.counts import CodedTable

    n_features, n_rows = 12, 300
    rng = np.random.default_rng(0)
    classes = np.sort(rng.integers(0, 2, n_rows)).astype(np.uint8)
    codes = np.where(rng.random((n_features, n_rows)) < 0.4, classes, rng.integers(0, n_levels, (n_features, n_rows)))
    return CodedTable(
        codes=codes.astype(np.min_scalar_type(n_levels)),
        n_levels=np.full(n_features, n_levels),
        names=tuple(f"x{k}" for k in range(n_features)),
        class_codes=classes,
        classes=np.arange(2),
    )


# Functions that run the kernels of each family. The AUC has two families, because the number of levels decides how it
# counts pairs.
FAMILIES: dict[str, Callable[[], None]] = {
    "columns": _columns,
    "search": _fit,
    "wrapper": partial(_search, "wrapper", 3),
    "auc": partial(_auc, 2, 0),
    "auc-levels": partial(_auc, 6, 3),
    "pairs": partial(_search, "mrmr", 3),
    "clusters": partial(_search, "clusters", 2, 3),
}


def kernels_are_compiled() -> bool:
    """Return whether the kernels that every command runs are compiled on disk, in Numba's cache or from the wheel."""
    from bayesieve.evidence import _kernels

    stamp = compiling.stamp("search")
    if stamp is not None and stamp.exists():
        return True
    kernels = [kernel for kernel in vars(_kernels).values() if hasattr(kernel, "py_func")]
    folders = {kernel.stats.cache_path for kernel in kernels} - {None}
    return not folders or any(any(Path(folder).glob("_kernels.*.nbi")) for folder in folders)


@contextmanager
def announced(screen: Screen) -> Iterator[None]:
    """Print a notice if kernels have to be compiled during the block of this context, and this takes more than a
    moment.
    """
    if screen.quiet or kernels_are_compiled():
        yield
        return
    announcement = threading.Timer(_PATIENCE, screen.note, [COMPILING])
    announcement.daemon = True
    announcement.start()
    try:
        yield
    finally:
        announcement.cancel()


def warm_up(models: Iterable[Any], weighted: bool = False) -> None:
    """Fit a copy of each model to small artificial tables, so that later timings exclude compilation and imports.

    If ``weighted`` is True, rows have weights. Errors are ignored here, because they occur again on the real table.
    """
    import polars as pl
    from sklearn.base import clone

    from bayesieve.table.cautions import silenced

    rows = range(_TRIAL_ROWS)
    X = pl.DataFrame({"a": [(7 * i) % 11 + i / 60 for i in rows], "b": [("x", "y", None)[i % 3] for i in rows]})
    option = {"sample_weight": [1.0 + i % 2 for i in rows]} if weighted else {}
    for n_classes in (2, 3):
        y = pl.Series([f"class {(i // 2) % n_classes}" for i in rows])
        for model in models:
            with suppress(Exception), silenced():
                clone(model).fit(X, y, **option).predict_proba(X)
