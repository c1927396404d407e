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
    """Options for storing, reading and coding training rows; the defaults are those of an encoder used by itself.

    Parameters
    ----------
    engine : storage of the codes, such as `bayesieve.engine.Mapped` for files. If it has several blocks, the values of
        one block of rows are converted at a time, unless there are fractional weights.
    executor : reads the rows of a scanned table; None reads them in this process.
    clock : time limit; TimeoutError is raised if it is over before all rows of a scanned table are read.
    verbose : 1 shows the progress of reading a scanned table.
    lists_classes : whether the rows of a scanned table are grouped by class, which is fastest for counts and searches.
    unpaired : columns that form pairs only if these are named.
    skips_number_pairs : function of the levels of the columns and the number of classes; if it returns True, two
        numeric columns form a pair only if it is named.
    sample_size : function of the numbers of columns and classes that returns how many rows of a scanned table to draw
        and keep in memory for later steps of a fit.
    merges_copies : whether copies of rows in memory count once, by the weights of the coded table, with a caution; see
        `find_repeats`. Copies in a scan only get the caution.
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
