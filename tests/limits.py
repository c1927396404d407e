"""Changes of the package for one test: lower limits of size and time, interruptions, packages that are absent."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

Limits = Callable[..., None]
Watch = Callable[[Any, str, Callable[..., object]], None]

# Sizes and times at which the package works in parts, samples rows or changes its algorithm. Tests lower them, so that
# small tables reach both sides; this table is the only place that names these constants.
LIMITS = {
    "seconds_between_lines": "engine.progress._SECONDS_BETWEEN_LINES",
    "seconds_between_updates": "engine.progress._SECONDS_BETWEEN_UPDATES",
    "seconds_without_a_bar": "engine.progress._PATIENCE",
    "bytes_in_memory": "engine.files._IN_MEMORY_BYTES",
    "rows_at_once": "evidence.calibration._MOST_ROWS_AT_ONCE",
    "rows_of_evidence": "evidence.calibration._MOST_ROWS",
    "last_rows_of_evidence": "evidence.calibration._MOST_LAST_ROWS",
    "least_rows_per_value": "evidence.calibration.LEAST_ROWS_PER_VALUE",
    "rows_per_weight": "evidence.calibration.ROWS_PER_WEIGHT",
    "prior_deviation": "evidence.calibration.PRIOR_DEVIATION",
    "most_curvatures": "evidence.shapes._MOST_CURVATURES",
    "most_in_columns": "evidence.shapes._MOST_IN_COLUMNS",
    "cells_of_a_surface": "evidence.surfaces._MOST_CELLS",
    "curvature_rows": "evidence.problem._CURVATURE_ROWS",
    "counts_at_once": "counts.pairs._COUNTS_AT_ONCE",
    "right_at_once": "counts.pairs._RIGHT_AT_ONCE",
    "cells_of_a_pair": "counts.pairs._MOST_CELLS",
    "joined_bytes": "counts.row_hashes._JOINED_BYTES",
    "many_classes": "criteria.scored_rows.MANY_CLASSES",
    "precomputed_bytes": "criteria.scored_rows._PRECOMPUTED_BYTES",
    "most_steps": "criteria.base._MAX_STEPS",
    "scanned_codes": "criteria.base._SCANNED_CODES",
    "parallel_values": "search.subset_values._PARALLEL_WORK",
    "values_at_once": "search.subset_values._PIECE",
    "moves_at_once": "search.exhaustive._MOVES_AT_ONCE",
    "piece_work": "search.exhaustive._PIECE_WORK",
    "fewest_pieces": "search.exhaustive._FEWEST_PIECES",
    "pieces_at_once": "search.exhaustive._AT_ONCE",
    "quick_work": "search.problem._QUICK_WORK",
    "ahead_work": "search.problem._AHEAD_WORK",
    "parallel_work": "criteria.base._PARALLEL_WORK",
    "candidates_at_once": "criteria.base._CANDIDATES_AT_ONCE",
    "block_rows": "discretize.row_tasks.BLOCK_ROWS",
    "target_run": "table.target._RUN",
    "output_rows": "classifier.scored_files._OUTPUT_ROWS",
    "least_rows": "classifier.scored_files._LEAST_ROWS",
    "scored_rows": "classifier.scored_files._BLOCK_ROWS",
    "block_cells": "discretize.scan_passes._BLOCK_CELLS",
    "task_cells": "discretize.scan_passes._TASK_CELLS",
    "most_sent": "discretize.scan_passes._MOST_SENT",
    "rows_of_a_part": "discretize.scan_passes._FEWEST_ROWS",
    "exact_rows": "discretize.row_blocks.EXACT_ROWS",
    "most_numbers": "discretize.row_blocks.MOST_NUMBERS",
    "most_categories": "discretize.row_blocks.MOST_CATEGORIES",
    "most_texts": "discretize.row_blocks.MOST_TEXTS",
    "columns_of_pairs": "discretize.pairs.MOST_COLUMNS",
    "most_grouped": "discretize.pairs._MOST_GROUPED",
    "exact_work": "discretize.modl._EXACT_WORK",
    "coarse_work": "discretize.modl._COARSE_WORK",
    "most_paired": "discretize.modl._MAX_PAIRED",
    "most_ordered": "discretize.modl._MAX_ORDERED",
    "most_optimal_blocks": "discretize.modl.MAX_OPTIMAL_BLOCKS",
    "cells_coded_at_once": "discretize.column_coders._BLOCK_CELLS",
    "columns_together": "discretize.column_coders._MOST_BLOCK_ROWS",
    "parallel_columns": "discretize.column_coders.PARALLEL_ROWS",
    "chunk_bytes": "table.columns._CHUNK_BYTES",
    "stream_bytes": "table.files._MOST_BYTES",
    "stream_piece": "table.files._PIECE",
    "evaluated_rows": "table.cautions.MOST_JUDGED_ROWS",
    "parquet_rows": "table.to_parquet.BLOCK_ROWS",
    "bytes_left": "table.to_parquet._BYTES_LEFT",
    "workbook_bytes": "table.workbooks._MOST_BYTES",
    "averaged_work": "selection.averaging._AUTO_WORK",
    "averaged_features": "selection.averaging._AUTO_FEATURES",
    "recoded_cells": "selection.row_splits.MOST_RECODED_CELLS",
    "whole_matrix": "selection.filters._WHOLE_MATRIX",
    "text_bytes": "table.scans.Scan.text_bytes",
    "explained_rows": "cli.models._BLOCK_ROWS",
}


@contextmanager
def interrupted(owner: Any, name: str, at: int = 0, error: Any = KeyboardInterrupt) -> Iterator[list[int]]:
    """Press Ctrl-C, or raise another error, in the n-th call of a function of a module or class; yields the calls."""
    original = getattr(owner, name)
    calls: list[int] = []

    def function(*arguments: Any, **options: Any) -> Any:
        calls.append(len(calls))
        if calls[-1] == at:
            raise error
        return original(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, function)
        yield calls


@contextmanager
def absent(package: str, *importers: str) -> Iterator[None]:
    """Hide an installed package from imports. Modules that import it when they load are named, and load again."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in sys.modules if importers and name.startswith((package, *importers))]:
            patch.delitem(sys.modules, name)
        patch.setitem(sys.modules, package, None)
        yield
