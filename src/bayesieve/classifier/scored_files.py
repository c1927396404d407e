"""Predictions of sources of any size, written to one file or to a folder. If a run is killed, it can be continued in
the folder.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.classifier.frame_predictions import of_rows
from bayesieve.classifier.scoring import columns_to_read, prediction_names
from bayesieve.engine.files import bytes_of
from bayesieve.engine.progress import RowProgress
from bayesieve.scorecard.model_file import card_to_plain
from bayesieve.scorecard.unseen import one_unseen_warning
from bayesieve.table.cautions import silenced
from bayesieve.table.columns import rows_from
from bayesieve.table.parquet_files import files_of
from bayesieve.table.paths import database_in
from bayesieve.table.scans import FileRows, FileState, Scan, read_rows
from bayesieve.table.writing import FrameFile, is_folder, mark_of

if TYPE_CHECKING:
    import polars as pl

    from bayesieve.classifier.selective import SelectiveNB

_BLOCK_ROWS = 1 << 16  # rows predicted at a time; larger blocks are not faster and take more memory
_LEAST_ROWS = 1 << 10
_READ_BLOCKS = 4  # blocks read at a time, because each reading starts at the beginning of a row group
_OUTPUT_ROWS = 1 << 22  # largest number of rows of a file in a folder of predictions
_LIBRARIES = 512 << 20  # bytes of memory for libraries
_BYTES = {"value": 16, "text": 64, "column": 16, "class": 64}  # bytes of memory per row, including derived arrays
_COPIES = 3  # copies of a block's rows in memory: read, predicted, and waiting to be written


@dataclass(frozen=True)
class PredictedRows:
    """Rows of a source, read and predicted block by block.

    Attributes
    ----------
    model : fitted model
    source : scan of the needed columns
    keep : columns of the source to write before the predictions
    block_rows, read_rows : number of rows that are predicted at a time, and read at a time
    add : function that returns further columns of a block, from its rows, their probabilities and the number of its
        first row; or None
    add_key : text that identifies everything on which these columns depend
    max_named : largest number of columns that the warning about unseen values names
    column_names : names of the columns to write, each mapped to its name in the source or predictions; None for all
    """

    model: SelectiveNB
    source: Scan
    keep: tuple[str, ...]
    block_rows: int
    read_rows: int
    add: Callable[[pl.DataFrame, np.ndarray, int], list[pl.Series]] | None = None
    add_key: str = ""
    max_named: int = 5
    column_names: Mapping[str, str] | None = None

    @classmethod
    def of(
        cls,
        model: SelectiveNB,
        source: Scan,
        keep: Sequence[str] | str,
        memory_limit: Any,
        also: Sequence[str] = (),
        **options: Any,
    ) -> PredictedRows:
        """Return the rows of a source, with block sizes that respect ``memory_limit``, in bytes or as text such as
        "4GiB".

        ``keep`` names columns to write before the predictions, or is "all"; ``also`` names further columns to read.
        ``options`` are the remaining attributes.
        """
        import polars as pl

        copied = source.names if isinstance(keep, str) and keep == "all" else source.select(keep).names if keep else ()
        taken = [name for name in prediction_names(model) if name in copied]
        if taken:
            raise ValueError(
                f"Column {taken[0]!r} of the table has the name of a column of predictions; rename it in the table, "
                "or remove it from keep=."
            )
        read = source.select(list(dict.fromkeys([*copied, *also, *columns_to_read(model, source)])))
        per_row = _BYTES["column"] * len(model.scorecard_.features) + _BYTES["class"] * len(model.classes_)
        for dtype in read.schema.values():
            per_row += _BYTES["text" if dtype == pl.String or dtype.is_nested() else "value"]
        n_rows = max(_LEAST_ROWS, (bytes_of(memory_limit) - _LIBRARIES) // (_COPIES * per_row))
        block_rows = min(_BLOCK_ROWS, n_rows)
        return cls(model, read, copied, block_rows, block_rows * min(_READ_BLOCKS, n_rows // block_rows), **options)

    def blocks(self, first: int = 0, n_rows: int | None = None) -> Iterator[pl.DataFrame]:
        """Yield ``n_rows`` rows from row ``first`` on (None: all remaining rows) with their predictions, block by
        block.
        """
        import polars as pl

        names = prediction_names(self.model)
        for block in self._read(first, self.source.n_rows if n_rows is None else first + n_rows):
            with silenced(), rows_from(first):
                scored: pl.DataFrame = of_rows(self.model, block)
            columns = scored[[*self.keep, *names]]
            if self.add is not None:
                columns = columns.with_columns(self.add(block, scored[names[1:]].to_numpy(), first))
            if self.column_names is not None:
                pairs = self.column_names.items()
                columns = pl.DataFrame([columns[source_name].alias(name) for name, source_name in pairs])
            yield columns
            first += block.height

    def _read(self, first: int, stop: int) -> Iterator[pl.DataFrame]:
        """Yield the rows from ``first`` to ``stop`` - 1 of the source as dataframes of at most ``block_rows`` rows."""
        for at in range(first, stop, self.read_rows):
            rows = read_rows(self.source.slices(at, min(self.read_rows, stop - at)), self.source.schema)
            yield from rows.iter_slices(self.block_rows)

    def write(self, write: Callable[[pl.DataFrame], None], progress: RowProgress) -> None:
        """Pass all blocks to the function ``write``, one after another."""
        with one_unseen_warning(self.model.scorecard_, self.source.n_rows, self.max_named):
            for block in self.blocks():
                write(block)
                progress(block.height)

    def write_folder(self, folder: Path, progress: RowProgress) -> None:
        """Write one Parquet file for each file of the source, or several for a large one.

        A complete file with predictions for the same rows, model and columns is kept, so that a killed run can be
        continued. Raise ValueError if the folder contains other tables.
        """
        outputs = [
            FileRows(file, first, min(_OUTPUT_ROWS, file.n_rows - first))
            for file in self.source.files
            for first in range(0, file.n_rows, _OUTPUT_ROWS)
        ]
        targets, state = _targets(folder, [self._origin(rows) for rows in outputs]), _state_of(self.model)
        _refuse_others(folder, targets)
        left, at = [], 0
        for target, rows in zip(targets, outputs, strict=True):
            mark = self._mark(rows, state)
            if mark and target.exists() and mark_of(target) == mark:
                progress(rows.n_rows)
            else:
                left.append((target, at, rows.n_rows, mark or "?"))
            at += rows.n_rows
        with one_unseen_warning(self.model.scorecard_, sum(n_rows for _, _, n_rows, _ in left), self.max_named):
            for target, first, n_rows, mark in left:
                _make(target.parent)
                with FrameFile(target, mark=mark) as file:
                    for block in self.blocks(first, n_rows):
                        file.write(block)
                        progress(block.height)

    def _origin(self, rows: FileRows) -> FileState | None:
        """Return the user's file from which the rows were read; None for rows of a query."""
        return rows.file.origin or (None if self.source.is_copy else rows.file)

    def _mark(self, rows: FileRows, state: str | None) -> str | None:
        """Return a hash of everything on which the predictions of the rows depend; None if that is unknown. ``state``
        is the result of `_state_of` for the model.
        """
        origin = self._origin(rows)
        if origin is None or state is None:
            return None
        file = (str(origin.path), origin.size, origin.changed, rows.file.constants, rows.first, rows.n_rows)
        facts = (file, [*self.source.schema.items()], self.keep, state, self.add_key, self.column_names)
        return hashlib.sha256(repr(facts).encode("utf-8", "surrogateescape")).hexdigest()


def _targets(folder: Path, origins: Sequence[FileState | None]) -> list[Path]:
    """Return the output files in ``folder``, one for each of ``origins``, the user's files that hold the rows (None for
    rows of a query).

    A file has the name of its origin, in folders ``column=value`` like those of the origin, or a number.
    """
    numbered = [Path(f"part-{i:05}.parquet") for i in range(len(origins))]
    paths = [origin.path for origin in origins if origin is not None]
    if len(paths) < len(origins):
        return [folder / name for name in numbered]
    common = Path(os.path.commonpath([path.parent for path in paths])).parts
    depth = next((i for i, part in enumerate(common) if "=" in part), len(common))
    homes = [Path(*path.parts[depth:-1]) for path in paths]
    outputs, homes_met, names = Counter(paths), Counter[Path](), []
    for path in paths:
        stem = path.name.removesuffix(".gz").rpartition(".")[0]
        names.append(f"{stem}-{homes_met[path]:05}.parquet" if outputs[path] > 1 else f"{stem}.parquet")
        homes_met[path] += 1
    targets = [home / name for home, name in zip(homes, names, strict=True)]
    if len(set(targets)) < len(targets):
        targets = [home / name for home, name in zip(homes, numbered, strict=True)]
    return [folder / path for path in targets]


def _make(folder: Path) -> None:
    """Create a folder with its parents. Raise ValueError if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"{folder} cannot be created ({error.strerror}); write to another folder.") from error


def _state_of(model: SelectiveNB) -> str | None:
    """Return a hash of the parts of a model on which predictions depend; None for a model that cannot be saved."""
    try:
        parts = card_to_plain(model.scorecard_)
    except ValueError:
        return None
    del parts["provenance"]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def _refuse_others(folder: Path, targets: Sequence[Path]) -> None:
    """Raise ValueError if the folder contains a table that is none of ``targets``, the files that the predictions will
    replace.
    """
    expected = set(targets)
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        hidden = any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
        if hidden or not path.is_file() or (path in expected and mark_of(path) is not None):
            continue
        raise ValueError(
            f"{path} is in the output folder, but does not contain predictions of these rows; pass an empty folder."
        )


def refuse_own_file(path: str | os.PathLike[str], source: Any, rows: Scan) -> None:
    """Raise ValueError if writing to ``path`` could overwrite the rows.

    That is the case if it is a file of ``source`` or of its rows, a folder that contains such a file, or a folder
    within a source folder.
    """
    named = source if isinstance(source, (list, tuple)) else [(database_in(source) or [source])[0]]
    files = [(file.origin or file).path for file in rows.files]
    if all(isinstance(name, (str, os.PathLike)) for name in named):
        files += [Path(name) for name in named if os.path.isfile(name)] or files_of(named)
        folders = [Path(name).resolve() for name in named if os.path.isdir(name)]
    else:
        folders = []
    if is_folder(path):
        target = Path(path).resolve()
        inside = any(target in file.resolve().parents for file in files)
        if inside or any(folder == target or folder in target.parents for folder in folders):
            raise ValueError(f"{path} overlaps with the folder that is read; write to another one.")
    elif os.path.exists(path) and any(file.exists() and file.samefile(path) for file in files):
        raise ValueError(f"{path} is one of the files that are read; write to another one.")
