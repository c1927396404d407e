"""Predictions written to files, as the command line writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bayesieve.classifier.scored_files import PredictedRows, refuse_own_file
from bayesieve.classifier.scoring import scan_for
from bayesieve.engine.progress import RowProgress
from bayesieve.table.writing import FrameFile, is_folder


def predict_to(model: Any, path: Any, source: Any, keep: Any = (), memory_limit: Any = None) -> int:
    """Write predictions of a source to a file or folder; return the number of rows."""
    rows = scan_for(model, source)
    refuse_own_file(path, source, rows)
    scored = PredictedRows.of(model, rows, keep, memory_limit)
    with RowProgress("Predicting", rows.n_rows, rows.n_bytes, 0) as progress:
        if is_folder(path):
            scored.write_folder(Path(path), progress)
        else:
            with FrameFile(path) as file:
                scored.write(file.write, progress)
    return rows.n_rows
