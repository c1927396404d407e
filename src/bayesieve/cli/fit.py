"""`bayesieve fit`: the rows of a table, in memory or in files, become a model, a list of features and a report."""

from __future__ import annotations

import inspect
import itertools
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
from sklearn.base import clone

from bayesieve import SelectiveNB, TableEncoder, as_published
from bayesieve.classifier.predicting import labelled
from bayesieve.cli import compiling, files
from bayesieve.cli.commands import CommandError, Screen, interruptible, require_choice
from bayesieve.cli.files import amounts_of, shown
from bayesieve.cli.models import decision_names, show_summary
from bayesieve.decision.benefit_classifier import BenefitRule
from bayesieve.discretize.recoding import drawn_from_scan
from bayesieve.discretize.row_blocks import QUANTILES
from bayesieve.engine.files import bytes_of
from bayesieve.evaluation.splits import read_moments
from bayesieve.scorecard.wording import read_labels, unknown_levels
from bayesieve.selection import SELECTORS
from bayesieve.table import as_table, as_target
from bayesieve.table.cautions import Caution, silenced
from bayesieve.table.columns import ValueInRow
from bayesieve.table.scanned import ScannedTable, scanned_rows
from bayesieve.table.scans import Scan, scan
from bayesieve.table.target import Target, normalized_weights
from bayesieve.words import did_you_mean, format_count, format_seconds, named, plural, quoted

_SIGNS = "a column and +1 or -1, such as income=+1"

_SET_BY_PAPERS = {
    "selector": "compression", "pairs": "auto", "prior": "sizes", "calibrate": "auto", "constraint": [],
    "refit": False, "monotone": [],
}  # fmt: skip
"""Options that `--as-published` sets, with their defaults."""
_MOST_NUMERIC_CLASSES = 100
_FEWEST_ROWS_PER_CLASS = 2  # on average; a text column with fewer is an identifier
_SMALL = 20  # classes up to which any number of rows is accepted
_MEASURED_ROWS = 50_000
_TRIED_ROWS = (20_000, 50_000, 200_000)  # to compile, and to see how time grows


def fit(given: Any) -> None:
    """Learn a model, and write it with its features and a report."""
    require_choice(given.selector, SELECTORS, "selector")
    published = None if given.as_published is None else _published(given)
    if given.folds < 0 or given.folds == 1:
        raise CommandError(f"--folds must be a whole number from 2 up, or 0, got {given.folds}")
    screen, table, output = Screen(given.quiet), given.table, given.output
    columns = Columns.given(given, given.target)
    files.check_folder(output)
    if given.min_count < 1:
        raise CommandError(f"--min-count must be a number of rows, at least 1, got {given.min_count}")
    fitted = ("auto", "levels", "cells") if given.selector == "compression" else ("levels", "cells")
    if given.min_count > 1 and (published or given.calibrate not in fitted):
        raise CommandError("--min-count needs evidence that is fitted to the rows: --calibrate levels or cells")
    data = _training(given, columns, screen)
    with files.locating(table, given.target):
        rule = rule_in(given.benefit, data)
    _check_ids(data, decision_names(rule) if rule else [], screen)
    data, test = _apart(given, data)
    model = _model(given, data) if published is None else _with_options(published, given, data)
    labels = {} if given.labels is None else read_labels(given.labels, data.names)
    if given.dry_run:
        with compiling.announced(screen), screen.working("Trying a few rows ..."):
            plan = data.plan(model)
        screen.pairs(plan)
        return
    with files.locating(table, given.target):
        _learn(model, data, screen)
    if labels:
        if unknown := unknown_levels(model.scorecard_, labels):
            screen.warn(unknown)  # of this fit; it is too late to stop
        model.scorecard_ = labelled(model, labels).scorecard_
    model.target_name_, model.benefit_rule_, model.id_columns_ = given.target, rule, columns.ids
    model.set_params(verbose=0, engine="memory", memory_limit=None)
    with files.opened_folder(output):
        written = [("model", output / "model.json"), ("features", output / "features.csv")]
        model.save(output / "model.json", min_count=given.min_count)
        files.write_frame(model.summary(), output / "features.csv")
        performance = None
        if not given.no_report:
            if given.test is not None:
                frame = files.read_table(given.test, screen, model)
                own = replace(columns, time=None).within(frame.columns)
                test = replace(TrainingTable.of(frame, own, given.test, screen, new=True), names=data.names)
            if test is not None and not isinstance(data, TrainingTable):  # rows in files, of which none are at hand
                data, test = test, None
            measured = data if given.test is not None else data.measured(model)
            performance = _write_report(model, measured, test, output / "report.html", given, screen)
            written.append(("report", output / "report.html"))
    show_summary(screen, model, performance, written)


def _apart(given: Any, data: Any) -> tuple[Any, TrainingTable | None]:
    """The rows to learn from and, with --test-from, those to measure; CommandError if --test is not such a table."""
    if (given.test or given.test_from) and (given.no_report or (given.test and given.test_from)):
        raise CommandError("--test and --test-from are measured in the report; give one of them, without --no-report")
    if given.test is not None:
        header, columns = files.header_of(given.test), replace(data.columns, time=None)
        columns.within(header).require_in(given.test, header)
        if lacking := [name for name in data.names if name not in header]:
            raise CommandError(f"{shown(given.test)} lacks columns that are learnt from: {named(lacking)}")
    if given.test_from is None:
        return data, None
    if given.time is None:
        raise CommandError("--test-from needs --time, the column of numbers or dates that orders the rows")
    if not isinstance(data, TrainingTable):
        raise CommandError("--test-from needs all rows in memory; give one file, without --memory-limit and --engine")
    return data.parted(given.test_from)


def _training(given: Any, columns: Columns, screen: Screen) -> Any:
    """The rows, in memory or, for folders, patterns, memory limits, plans and other engines, in pieces."""
    in_pieces = given.memory_limit is not None or given.dry_run or given.engine != "memory"
    if not files.is_several(given.table) and not in_pieces:
        return TrainingTable.of(files.read_table(given.table, screen), columns, given.table, screen)
    return ScannedTraining.of(given.table, columns, screen)


def _check_ids(data: Any, decisions: Sequence[str], screen: Screen) -> None:
    """CommandError for identifiers that results could not hold; a warning if rows in memory share theirs."""
    ids = data.columns.ids
    written = ["prediction", *(f"P({label})" for label in data.target.classes.tolist()), *decisions]
    if taken := [name for name in ids if name in written]:
        raise CommandError(f"Column {quoted(taken[0])} (--id) has the name of a prediction or decision; rename it")
    if not ids or not isinstance(data, TrainingTable):
        return
    known = data.frame[list(ids)].drop_nulls()
    if n := data.n_rows - known.height:
        have = f"{plural(n, 'row')} of {format_count(data.n_rows)} {'has' if n == 1 else 'have'}"
        screen.warn(f"{have} no identifier in {named(ids)}")
    if n := int(known.is_duplicated().sum()):
        share = f"{plural(n, 'row')} of {format_count(data.n_rows)} share their identifier ({named(ids)})"
        screen.warn(f"{share}; cross-validation may put them in different folds")


def _model(given: Any, data: Any) -> Any:
    """The classifier, not fitted yet."""
    selector, encoder = SELECTORS[given.selector], {"kinds": data.columns.kinds or None, "n_quantiles": given.quantiles}
    changed = _changed_options(selector, given)
    monotone = _assigned(given.monotone, int, f"--monotone must be {_SIGNS}")
    pairs = _pairs_in(given.pairs)
    for name in [*monotone, *(itertools.chain(*pairs) if isinstance(pairs, list) else [])]:
        require_choice(name, data.names, "column")
    is_usual = not data.columns.kinds and given.quantiles == QUANTILES
    return SelectiveNB(
        selector(**changed) if changed else given.selector,
        encoder="modl" if is_usual else TableEncoder(**encoder, n_jobs=given.jobs),
        calibrate=False if given.calibrate == "none" else given.calibrate,
        monotone=monotone or None,
        positive=_positive(given.positive, data),
        levels=given.levels,
        pairs=pairs,
        prior=given.prior,
        **_computing(given),
    )


def _published(given: Any) -> Any:
    """Return the method of a paper; CommandError if there is none, or if other options contradict it."""
    for option, default in _SET_BY_PAPERS.items():
        if getattr(given, option) != default:
            raise CommandError(f"--as-published sets --{option}; give one of them only")
    return as_published(given.as_published)


def _with_options(model: Any, given: Any, data: Any) -> Any:
    """Return the method of a paper with the options of columns and computing."""
    if data.columns.kinds or given.quantiles != QUANTILES:
        encoder = TableEncoder(n_jobs=given.jobs) if model.encoder == "modl" else model.encoder
        model.set_params(encoder=encoder.set_params(kinds=data.columns.kinds or None, n_quantiles=given.quantiles))
    return model.set_params(positive=_positive(given.positive, data), levels=given.levels, **_computing(given))


def _computing(given: Any) -> dict[str, Any]:
    """Return the options of `SelectiveNB` about seeds, time, threads and memory."""
    return {
        "max_seconds": given.max_seconds,
        "random_state": given.seed,
        "n_jobs": given.jobs,
        "verbose": 0 if given.quiet else 1,
        "engine": given.engine,
        "memory_limit": given.memory_limit,
    }


def _positive(text: str | None, data: Any) -> Any:
    """The class of this text; CommandError unless there is one."""
    if text is None:
        return None
    classes = {str(label): label for label in data.target.classes.tolist()}
    require_choice(text, classes, "class")
    return classes[text]


def _changed_options(selector: type, given: Any) -> dict[str, Any]:
    """Options of a selector that --constraint and --refit change; CommandError unless it has them."""
    known = inspect.signature(selector).parameters
    if given.constraint and "constraints" not in known:
        raise CommandError(f"--constraint needs --selector clusters or wrapper, got {quoted(given.selector)}")
    if given.refit and "refit" not in known:
        raise CommandError(f"--refit needs --selector clusters, got {quoted(given.selector)}")
    bounds = _assigned(given.constraint, float, "--constraint must be a measure and its bound, such as recall:bad=0.85")
    return ({"refit": True} if given.refit else {}) | ({"constraints": bounds} if bounds else {})


def _assigned(texts: list[str], read: type, rule: str) -> dict[str, Any]:
    """Values by name from texts such as NAME=VALUE; CommandError, beginning with the rule, for anything else."""
    values = {}
    for text in texts:
        name, _, value = (part.strip() for part in text.rpartition("="))
        try:
            values[name] = read(value)
        except ValueError:
            name = ""
        if not name:
            raise CommandError(f"{rule}, got {quoted(text)}")
    return values


def _pairs_in(text: str) -> Any:
    """The value of --pairs: "auto", a number, or lists of two names of columns; CommandError for anything else."""
    if text == "auto":
        return text
    if text.isdecimal() and len(text) < 10:
        return int(text)
    pairs = [[name.strip() for name in part.split(":")] for part in text.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise CommandError(f"--pairs must be auto, a number, or pairs such as A:B,C:D, got {quoted(text)}")
    return pairs


def _learn(model: Any, data: Any, screen: Screen) -> None:
    """Fit the model, with a warning if the search was interrupted."""
    if screen.shows_progress:
        screen.note(f"Fitting {plural(data.n_rows, 'row')} of {plural(len(data.names), 'feature')} ...")
    # The library's own warning of an interrupted search is about Python objects.
    warnings.filterwarnings("ignore", message="The search was interrupted", category=UserWarning)
    with compiling.announced(screen):
        data.fit(model)
    if model.trace_.was_interrupted(model.max_seconds):
        screen.warn(
            f"The search was interrupted after {plural(model.trace_.n_models, 'model')}: the best subset so far is "
            "written; run the same command again for a whole search"
        )


def _write_report(
    model: Any, data: TrainingTable, test: TrainingTable | None, path: Path, given: Any, screen: Screen
) -> Any:
    """Write the report, with measures where possible; Ctrl-C ends it, searches included."""
    held_out, folds = bool(given.test or given.test_from), given.folds
    if folds and not held_out and (lacking := data.too_few_classes()):
        screen.warn(f"Nothing is measured by cross-validation: it needs {lacking}")
        folds = 0
    folds = min(folds, int(data.y.value_counts()["count"].max()))  # type: ignore[arg-type]
    by = "" if held_out else f" by {folds}-fold cross-validation"
    what = f"Measuring{by}" if folds or held_out else "Writing the report"
    left = f"model.json and features.csv are in {path.parent}; the report was not written"
    shown = data if test is None else test
    benefit = None if model.benefit_rule_ is None else deciding(model, shown.X, shown.frame, shown.path)
    if test is not None:
        options: dict[str, Any] = {"cv": 0, "test": (test.X, test.y, test.weights)}
    else:
        options = {"held_out": True} if held_out else {"cv": folds, "time": data.moments}
    files_read = {"Data file": given.table, "Test file": given.test}
    facts = {name: files.with_hash(file) for name, file in files_read.items() if file is not None}
    facts |= {} if given.purpose is None else {"Purpose": given.purpose}
    with interruptible(left), screen.working(f"{what} ..."):
        options |= {"benefit": benefit, "min_count": given.min_count, "facts": facts}
        return model.report(path, data.X, data.y, sample_weight=data.weights, **options)


@dataclass(frozen=True)
class Columns:
    """Roles of the columns: target, row weights, ignored columns, and explicit kinds."""

    target: str
    weight: str | None
    ignored: tuple[str, ...]
    kinds: dict[str, str]
    normalize: bool
    time: str | None = None
    ids: tuple[str, ...] = ()

    @classmethod
    def given(cls, given: Any, target: str) -> Columns:
        """The options that name columns, checked against each other."""
        kinds = {"--numeric": given.numeric, "--categorical": given.categorical}
        roles = {"--target": [target], "--weight": [given.weight], "--time": [given.time]} | kinds
        roles |= {"--id": (ids := list(dict.fromkeys(getattr(given, "id", [])))), "--ignore": given.ignore}
        for (option, names), (other, others) in combinations(roles.items(), 2):
            both = [name for name in names if name is not None and name in others]
            if both and not (other == "--ignore" and option in (*kinds, "--time", "--id")):
                raise CommandError(f"Column {quoted(both[0])} cannot be both {option} and {other}; choose one")
        if given.normalize and given.weight is None:
            raise CommandError("--normalize scales row weights; name their column by --weight")
        of_kind = {name: option[2:] for option, names in kinds.items() for name in names if name not in given.ignore}
        return cls(target, given.weight, tuple(given.ignore), of_kind, given.normalize, given.time, tuple(ids))

    def within(self, names: Sequence[str]) -> Columns:
        """Without ignored columns and identifiers that a table lacks."""
        ignored, ids = (tuple(name for name in role if name in names) for role in (self.ignored, self.ids))
        return replace(self, ignored=ignored, ids=ids)

    def require_in(self, path: Path, names: Sequence[str], everywhere: bool = True) -> None:
        """Raise CommandError if a table lacks a column, and suggest columns with similar names.

        Ignored columns are required only if ``everywhere``.
        """
        roles = [(self.target, "target"), (self.weight, "weight"), (self.time, "time"), *self.kinds.items()]
        roles += [(name, "ignore") for name in self.ignored if everywhere]
        roles += [(name, "id") for name in self.ids]
        for name, option in roles:
            if name is not None and name not in names:
                hint = did_you_mean(name, names) or f"it has {named(names)}"
                raise CommandError(f"{shown(path)} has no column {quoted(name)} (--{option}); {hint}")

    def features(self, path: Path, names: Sequence[str]) -> list[str]:
        """The columns to learn from; CommandError unless there are some, and all that the options name."""
        self.require_in(path, names)
        others = {self.target, self.weight, self.time, *self.ids, *self.ignored}
        left = [name for name in names if name not in others]
        if not left:
            besides = named(sorted(filter(None, others)))
            raise CommandError(f"{shown(path)} has no column left to learn from besides {besides}")
        return left


@dataclass(frozen=True)
class TrainingTable:
    """Rows in memory whose target is known.

    ``frame`` has all their columns, ``names`` are those to learn from, ``positions`` are those of the rows in the
    table.
    """

    path: Path
    columns: Columns
    names: list[str]
    frame: pl.DataFrame
    positions: pl.Series | None = None

    @classmethod
    def of(cls, frame: pl.DataFrame, columns: Columns, path: Path, screen: Screen, new: bool = False) -> TrainingTable:
        """The rows of a table; CommandError if the target does not hold classes, of which ``new`` rows may have one."""
        names, target = columns.features(path, frame.columns), quoted(columns.target)
        labels = frame[columns.target].alias("")  # polars takes the names * and ^...$ for patterns
        known = (labels.fill_nan(None) if labels.dtype.is_float() else labels).is_not_null()
        if not known.any():
            raise CommandError(f"The target {target} is missing in all rows")
        if not known.all():
            rows = f"{plural(frame.height - int(known.sum()), 'row')} of {format_count(frame.height)}"
            screen.warn(f"The target {target} is missing in {rows}, which are left out")
        table = cls(path, columns, names, frame.filter(known), known.arg_true())
        _ = table.moments  # refused before the fit
        if not new:
            refuse_other_than_classes(table.target, target)
        return table

    @property
    def X(self) -> pl.DataFrame:
        return self.frame[self.names]

    @property
    def y(self) -> pl.Series:
        return self.frame[self.columns.target].alias("")

    @cached_property
    def target(self) -> Target:

        try:
            return as_target(self.y)
        except ValueError as error:
            raise CommandError(f"The target {quoted(self.columns.target)} does not hold classes: {error}") from error

    @property
    def weights(self) -> Any:

        weights = None if self.columns.weight is None else self.frame[self.columns.weight].alias("")
        return normalized_weights(weights) if self.columns.normalize else weights

    @property
    def moments(self) -> Any:
        """Numbers that order the rows, or None; ValueError, which names the column, if it is no time."""
        time = self.columns.time
        return None if time is None else read_moments(as_table(self.frame[[time]]).column(0))[0]

    def parted(self, start: str) -> tuple[TrainingTable, TrainingTable]:
        """The rows before a moment, and those from it on; CommandError if there are none."""
        name = str(self.columns.time)
        assert self.positions is not None
        column, given = (as_table(table).column(0) for table in (self.frame[[name]], pl.DataFrame({name: [start]})))
        moments, type_ = read_moments(column)
        try:
            later = pl.Series(moments >= (float(start) if type_ == "number" else given.numbers_as(type_)[0]))
        except ValueError as error:
            kind = "a number" if type_ == "number" else f"a {type_} such as 2024-01-31"
            raise CommandError(f"--test-from must be {kind}, as {quoted(name)} holds, got {quoted(start)}") from error
        if not later.any() or later.all():
            which = "All" if later.any() else "No"
            raise CommandError(f"{which} rows have {quoted(name)} from {start} on; choose another --test-from")
        rows = (~later, later)
        before, after = (replace(self, frame=self.frame.filter(i), positions=self.positions.filter(i)) for i in rows)
        refuse_other_than_classes(before.target, f"{quoted(self.columns.target)} before {start}")
        return before, after

    @property
    def n_rows(self) -> int:
        return self.frame.height

    def fit(self, model: Any) -> None:
        """Fit the model to all rows."""
        with _numbered(self.positions):
            model.fit(self.X, self.y, self.weights)

    def check_kinds(self) -> None:
        """ValueInRow if a column that is to be read as numbers holds something else."""

        with _numbered(self.positions):
            for name in [name for name, kind in self.columns.kinds.items() if kind == "numeric"]:
                as_table(self.frame[[name]], kinds={name: "numeric"}).column(0).numbers()

    def measured(self, model: Any) -> TrainingTable:
        """The rows that a report measures."""
        return self

    def frames_with(self, rule: BenefitRule) -> Iterator[pl.DataFrame]:
        """The rows, with the amounts of a rule."""
        yield self.frame

    def too_few_classes(self) -> str:
        """Why a fold may have only one class, empty if two classes have several rows."""
        rows = self.y.value_counts(sort=True)
        lone = rows.filter(rows["count"] == 1).to_series(0).to_list()
        if not lone or rows.height - len(lone) >= 2:
            return ""
        have = "has" if len(lone) == 1 else "have"
        return f"at least two classes with two rows each; {named(lone)} {have} only one"


def refuse_other_than_classes(target: Target, name: str) -> None:
    """CommandError if there is one class only, or if labels are rather numbers or an identifier."""
    classes, n_classes, n_rows = target.classes, target.n_classes, target.codes.size
    wrong = ""
    if n_classes == 1:
        wrong = f"has only one class ({quoted(classes[0])}); at least two are needed"
    elif classes.dtype.kind in "iuf" and n_classes > _MOST_NUMERIC_CLASSES:
        wrong = (
            f"holds {format_count(n_classes)} different numbers, more than the {_MOST_NUMERIC_CLASSES} that may be "
            "classes; cut it into classes first"
        )
    elif n_classes > _SMALL and n_classes * _FEWEST_ROWS_PER_CLASS > n_rows:
        wrong = (
            f"has {format_count(n_classes)} different values in {plural(n_rows, 'row')}: it is an identifier, not a "
            "class; choose another column"
        )
    if wrong:
        raise CommandError(f"The target {name} {wrong}")


@contextmanager
def _numbered(positions: Any) -> Iterator[None]:
    """Rows in errors are those at these positions of the table; None: as they are."""
    try:
        yield
    except ValueInRow as error:
        if positions is None:
            raise
        raise error.in_row(int(positions[error.row])) from error


def rule_in(file: Path | None, data: TrainingTable | ScannedTraining) -> BenefitRule | None:
    """The benefits in a file; CommandError unless every row has an amount."""
    rule = None if file is None else BenefitRule.read(file, data.target.classes)
    if rule is not None:
        first = 0
        with _numbered(data.positions):
            for frame in data.frames_with(rule):
                amounts_of(rule, frame, data.path, first)
                first += frame.height
    return rule


@dataclass(frozen=True)
class ScannedTraining:
    """Rows in files; ``whole`` has all columns, ``source`` those that are not ignored."""

    path: Path
    columns: Columns
    names: list[str]
    whole: Scan
    source: Scan

    @classmethod
    def of(cls, path: Path, columns: Columns, screen: Screen) -> ScannedTraining:
        """The rows of a file, folder or pattern; CommandError if the target does not hold classes."""
        source = files.open_source(path, screen)
        names = columns.features(path, source.names)
        own = source.select([own for own in source.names if own not in (*columns.ignored, *columns.ids, columns.time)])
        data = cls(path, columns, names, source, own)
        with screen.working(f"Reading {quoted(columns.target)} ..."):
            refuse_other_than_classes(data.target, quoted(columns.target))
        return data

    @property
    def n_rows(self) -> int:
        return int(self.source.n_rows)

    def fit(self, model: Any) -> None:
        """Fit the model to all rows."""
        columns = self.columns
        model.set_params(normalize=columns.normalize).fit(self.source, columns.target, columns.weight)

    def measured(self, model: Any) -> TrainingTable:
        """Draw the rows that a report measures, and add a caution to the model if these are not all rows."""

        rows = self._rows
        amount = getattr(model.benefit_rule_, "amount", None)
        roles = amount, self.columns.weight, self.columns.time, self.columns.target
        names = dict.fromkeys(filter(None, [*self.names, *roles]))
        drawn = drawn_from_scan(self._columns(self.names), rows.target, rows.weights, _MEASURED_ROWS)
        if drawn.size < rows.table.n_rows:
            sentence = (
                f"Performance is that of models of {format_count(drawn.size)} rows drawn at random from "
                f"{format_count(rows.table.n_rows)}; the model itself is learnt from all of them."
            )
            model.cautions_ = (*model.cautions_, Caution("sample", (), sentence, warns=False))
        as_given = replace(self.columns, normalize=False)  # the model does so
        return TrainingTable(self.path, as_given, self.names, self._columns(list(names)).frame(drawn))

    def frames_with(self, rule: BenefitRule) -> Iterator[pl.DataFrame]:
        """The amounts of a rule, block by block; none if it has no amounts."""

        if rule.amount is not None:
            yield pl.DataFrame(schema=self.whole.schema)
            yield from self._columns([rule.amount]).frames()

    def _columns(self, names: Sequence[str]) -> Any:
        """Columns of the rows whose target is known."""

        return ScannedTable(self.whole.select(names), self._rows.table.known)

    @cached_property
    def _rows(self) -> Any:

        with silenced():
            return scanned_rows(self.source, self.columns.target, self.columns.weight)

    @property
    def target(self) -> Target:
        return self._rows.target

    @property
    def positions(self) -> Any:
        """Positions of the rows in the table, or None if they are all of it."""
        known = self._rows.table.known
        return None if known is None else known.nonzero()[0]

    def plan(self, model: Any) -> list[tuple[str, str]]:
        """What a fit reads, writes and takes."""

        n_columns, size = len(self.names), _size(self.source.n_bytes)
        target, seconds = quoted(self.columns.target), format_seconds(self._seconds(model))
        quantiles = getattr(model.encoder, "n_quantiles", QUANTILES)
        n_classes = self.target.n_classes
        n_bytes = 2 * n_columns * self.n_rows + 2 * 16 * (n_classes - 1) * self.n_rows
        return [
            ("table", f"{plural(self.n_rows, 'row')} of {plural(n_columns, 'feature')}, {size}"),
            ("target", f"{target}, {plural(n_classes, 'class', 'classes')}"),
            ("pass 1", f"{target} alone"),
            ("pass 2", "all columns: values are counted"),
            ("more", f"columns of over 100,000 distinct numbers, if any, once to thrice: {quantiles:,} quantiles"),
            ("last pass", "all columns: codes are written to disk, class after class"),
            ("then", "the search reads the codes"),
            ("on disk", f"up to {_size(n_bytes)} while it runs, in the folder for temporary files"),
            ("memory", f"up to {_size(bytes_of(model.memory_limit))}"),
            ("time", f"about {seconds}, judged by {format_count(_TRIED_ROWS[-1])} rows at most"),
        ]

    def _seconds(self, model: Any) -> float:
        """How long a fit may take, from fits of some of the first rows."""

        began = time.perf_counter()
        frame = next(self.source.blocks())
        reading = (time.perf_counter() - began) / frame.height
        taken = []
        with silenced():
            for n_rows in _TRIED_ROWS:
                part = replace(self, source=scan(frame.head(n_rows)))
                began = time.perf_counter()
                part.fit(clone(model).set_params(verbose=0))
                taken.append((part.n_rows, time.perf_counter() - began))
        (some, short), (more, long) = taken[-2:]
        per_row = max(long - short, 0.1 * long) / (more - some) if more > some else long / more
        return long + max(0, self.n_rows - more) * (per_row + reading)


def _size(n_bytes: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.3g} GB"


def deciding(model: Any, X: pl.DataFrame, frame: pl.DataFrame, path: Path) -> Any:
    """A classifier that decides in these rows by the rule of a fitted model; ``frame`` has all their columns."""
    rule = model.benefit_rule_
    classifier = rule.around(model, model.scorecard_.class_counts)
    values = classifier.benefits_of(X, amounts_of(rule, frame, path), len(X)).values
    return classifier.set_params(benefit=values, amount=None, amount_benefit=None)
