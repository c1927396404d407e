"""`CodingOptions`: storage and reading of the rows of a fit, apart from the options of the encoder."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import Executor
from dataclasses import dataclass

from bayesieve.engine import IN_MEMORY, Engine
from bayesieve.engine.progress import Clock
from bayesieve.table.levels import TableLevels


@dataclass(frozen=True)
class CodingOptions:
    """Options for storing, reading and coding training rows; the defaults suit an encoder that is used without a model.

    Parameters
    ----------
    engine : storage of the codes, such as `bayesieve.engine.Mapped` for files. If it divides rows into several blocks,
        the values of one block are converted at a time, unless there are fractional weights.
    executor : executor of the tasks that read a scanned table; None reads it in this process.
    clock : time limit; TimeoutError is raised if it is over before all rows of a scanned table are read.
    verbose : 1 shows the progress of reading a scanned table.
    lists_classes : whether the rows of a scanned table are grouped by class, which is fastest for counts and searches.
    unpaired : names of columns that form only pairs that the user names.
    skips_number_pairs : function of the levels of the columns and the number of classes; if it returns True, two
        numeric columns form a pair only if it is named.
    sample_size : function of the numbers of columns and classes; it returns how many random rows of a scanned table are
        kept in memory for later steps of a fit.
    merges_copies : whether repeated rows (see `find_repeats`) of a table in memory get weights by which they count
        once. A caution reports them. For scans there is only the caution.
    """

    engine: Engine = IN_MEMORY
    executor: Executor | None = None
    clock: Clock | None = None
    verbose: int = 0
    lists_classes: bool = False
    unpaired: Collection[str] = ()
    skips_number_pairs: Callable[[TableLevels, int], bool] | None = None
    sample_size: Callable[[int, int], int] | None = None
    merges_copies: bool = False


DEFAULT_CODING = CodingOptions()
"""Options of an encoder that is used by itself."""
