"""Training data that `fit` reads from files in pieces: a folder, a pattern, or a file too large for memory."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesieve.cli.benefit import amounts_of, benefit_rule
from bayesieve.cli.errors import CommandError
from bayesieve.cli.screen import Screen
from bayesieve.cli.text import counted, listed, quoted, shown, thousands
from bayesieve.cli.training import Columns, TrainingTable, refuse_other_than_classes, require_columns

if TYPE_CHECKING:
    import polars as pl

    from bayesieve.decision.benefit_rule import BenefitRule
    from bayesieve.table.scanned import ScannedTable
    from bayesieve.table.sources import Source

_MEASURED_ROWS = 50_000
_TRIED_ROWS = (20_000, 50_000, 200_000)  # to compile, and to see how time grows


@dataclass(frozen=True)
class ScannedTraining:
    """The columns to learn from, with target and weights, in files.

    ``whole`` has all columns, ``source`` those that are not ignored.
    """

    whole: Source
    source: Source
    target: str
    weight: str | None
    normalize: bool

    @property
    def names(self) -> list[str]:
        """The features."""
        return [name for name in self.source.names if name not in (self.target, self.weight)]

    @property
    def n_rows(self) -> int:
        return int(self.source.n_rows)

    def fit(self, model: Any) -> None:
        """Fit the model to all rows."""
        model.set_params(normalize=self.normalize).fit(self.source, self.target, self.weight)

    def measured(self, model: Any) -> TrainingTable:
        """Rows drawn at random that a report measures, in memory; a caution of the model says so."""
        from bayesieve.naive_bayes.calibration import drawn_rows
        from bayesieve.table.cautions import Caution

        rows, target, weights, _ = self._rows
        drawn = drawn_rows(rows.n_rows, _MEASURED_ROWS)
        amount = getattr(model.benefit_rule_, "amount", None)
        frame = self._columns([*self.names, *([] if amount is None or amount in self.names else [amount])]).frame(drawn)
        if drawn.size < rows.n_rows:
            sentence = (
                f"Performance is that of models of {thousands(drawn.size)} rows drawn at random from "
                f"{thousands(rows.n_rows)}; the model itself is learnt from all of them."
            )
            model.cautions_ = (*model.cautions_, Caution("sample", (), sentence, warns=False))
        y = _series(target.classes[target.codes[drawn]])
        return TrainingTable(frame[self.names], y, None if weights is None else weights[drawn], frame)

    def rule_in(self, path: Path | None, table: Path) -> BenefitRule | None:
        """The benefits in a file; CommandError unless every row has an amount."""
        import polars as pl

        rule = benefit_rule(path, self._rows.target.classes)
        if rule is not None and rule.amount is not None:
            amounts_of(rule, pl.DataFrame(schema=self.whole.schema), table)
            first = 0
            for frame in self._columns([rule.amount]).frames():
                amounts_of(rule, frame, table, first)
                first += frame.height
        return rule

    def _columns(self, names: Sequence[str]) -> ScannedTable:
        """Columns of the rows whose target is known."""
        from bayesieve.table.scanned import ScannedTable

        return ScannedTable(self.whole.select(names), self._rows.table.known)

    @cached_property
    def _rows(self) -> Any:
        from bayesieve.table.cautions import silenced
        from bayesieve.table.scanned import scanned_rows

        with silenced():
            return scanned_rows(self.source, self.target, self.weight)

    def plan(self, model: Any) -> list[tuple[str, str]]:
        """What a fit reads, writes and takes."""
        from bayesieve.discretize.scanned_columns import QUANTILES
        from bayesieve.engine.memory_limit import bytes_of

        n_columns, n_bytes = len(self.names), self.source.n_bytes
        quantiles = getattr(model.encoder, "n_quantiles", QUANTILES)
        n_classes = self._rows.target.n_classes
        files = 4 * n_columns * self.n_rows + 2 * 16 * (n_classes - 1) * self.n_rows
        return [
            ("table", f"{counted(self.n_rows, 'row')} of {counted(n_columns, 'feature')}, {_size(n_bytes)}"),
            ("target", f"{quoted(self.target)}, {counted(n_classes, 'class', 'classes')}"),
            ("pass 1", f"{quoted(self.target)} alone"),
            ("pass 2", "all columns: values are counted, and noted by number on disk"),
            ("pass 3", f"columns of over 100,000 distinct numbers, where there are any: {quantiles:,} quantiles"),
            ("then", "codes and search on disk, class after class; no further pass"),
            ("on disk", f"up to {_size(files)} while it runs, in {model.cache or 'the folder for temporary files'}"),
            ("memory", f"up to {_size(bytes_of(model.memory_limit))}"),
            ("time", f"about {_duration(self._seconds(model))}, judged by {thousands(_TRIED_ROWS[-1])} rows at most"),
        ]

    def _seconds(self, model: Any) -> float:
        """How long a fit may take, from fits of some of the first rows."""
        import warnings

        from sklearn.base import clone

        from bayesieve.table.sources import scan

        began = time.perf_counter()
        frame = next(self.source.blocks())
        reading = (time.perf_counter() - began) / frame.height
        taken = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for n_rows in _TRIED_ROWS:
                part = replace(self, source=scan(frame.head(n_rows)))
                began = time.perf_counter()
                part.fit(clone(model).set_params(cache=None, verbose=0))
                taken.append((part.n_rows, time.perf_counter() - began))
        (some, short), (more, long) = taken[-2:]
        per_row = max(long - short, 0.1 * long) / (more - some) if more > some else long / more
        return long + max(0, self.n_rows - more) * (per_row + reading)


def is_scanned(table: Path, memory_limit: str | None, asked: bool) -> bool:
    """Whether TABLE is read in pieces: a folder or a pattern, or where a limit, a plan or a cluster asks for it."""
    pattern = any(character in str(table) for character in "*?[") and not table.exists()
    return pattern or table.is_dir() or memory_limit is not None or asked


def scanned_training(table: Path, columns: Columns, screen: Screen) -> ScannedTraining:
    """The training data in files; CommandError if a column is missing, or the target does not hold classes."""
    from bayesieve.table.sources import scan

    with screen.working(f"Looking at {shown(table)} ..."):
        source = scan(table)
    require_columns(table, source.names, columns)
    names = [name for name in source.names if name not in columns.ignored]
    data = ScannedTraining(source, source.select(names), columns.target, columns.weight, columns.normalize)
    if not data.names:
        others = listed(sorted(filter(None, (columns.target, columns.weight, *columns.ignored))))
        raise CommandError(f"{shown(table)} has no column left to learn from besides {others}")
    return data


def check_target(data: ScannedTraining, screen: Screen) -> None:
    """Read the target; CommandError unless it holds classes."""
    with screen.working(f"Reading {quoted(data.target)} ..."):
        target = data._rows.target
    refuse_other_than_classes(_series(target.classes), quoted(data.target), target.codes.size)


def _series(labels: Any) -> pl.Series:
    import polars as pl

    return pl.Series("", labels.tolist() if labels.dtype == object else labels)


def _size(n_bytes: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.3g} GB"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
