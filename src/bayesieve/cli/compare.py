"""`bayesieve compare`: selectors compared on one or more tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayesieve.cli import commands, compiling, files
from bayesieve.cli.commands import (
    NO_STUDIES,
    CommandError,
    Option,
    Screen,
    command,
    interruptible,
    names_in,
    plugins,
    require_choice,
)
from bayesieve.cli.files import shown
from bayesieve.cli.fit import Columns, TrainingTable
from bayesieve.words import named, plural, quoted, visible

_KEPT, _FOLDS, _PAGE = "results.jsonl", "folds.csv", "comparison.html"
_PEERS = (
    "hist-gradient-boosting, categorical-nb, gaussian-nb, l1-logistic (scikit-learn's), khiops, khiops-trees-pairs, "
    "ebm, scorecard (if installed)"
)
_MEASURES = "accuracy, auc, compression_rate, log_loss, brier or balanced_accuracy"

OPTIONS = {
    "": [commands.TABLES],
    "Columns": [
        Option("--target -t NAME", "Column to predict; may be repeated, once for each TABLE.", ..., list[str]),
        *commands.COLUMNS,
    ],
    "Methods and folds": [
        Option("--selectors -s A,B,...", "Selectors to compare.", default_in_words="all"),
        Option("--peers A,B,...", f"Other classifiers, on the raw columns: {_PEERS}.", default_in_words="none"),
        Option("--folds N", "Folds of each repeat.", 10),
        Option("--repeats N", "Repeats, each with a different shuffle.", 1),
        Option("--seed N", "Seed of the folds and of the searches.", 0),
        Option("--measure NAME", f"Measure to order, rank and test methods by: {_MEASURES}.", "accuracy"),
        commands.JOBS,
    ],
    "Output": [commands.folder("bayesieve-comparison"), commands.QUIET],
}


@command(OPTIONS)
def compare(given: Any) -> None:
    """Compare selectors on one TABLE or several by repeated stratified cross-validation.

    Writes comparison.html, folds.csv and results.jsonl, and prints a ranking of the methods; for several tables also
    average ranks. One table is in memory at a time.

    Run an interrupted command again to continue where it stopped.
    """
    from bayesieve.discretize.criterion import PRIORS
    from bayesieve.evaluation import RepeatedFolds, compare_many
    from bayesieve.statistics.metrics import MEASURES

    folds = RepeatedFolds(given.folds, given.repeats, given.seed)
    require_choice(given.measure, MEASURES, "measure")
    require_choice(given.prior, PRIORS, "prior")
    methods = _methods(given)
    screen, output, results = Screen(given.quiet), given.output, given.output / _KEPT
    files.check_folder(output)
    tables = _compared_tables(given)
    # Errors in a single table show before a folder is made; several tables are read one by one later.
    data = {table.name: table.read(screen) if len(tables) == 1 else table for table in tables}
    with interruptible(lambda: files.finished_in(results)), compiling.announced(screen):
        compiling.warm_up(methods.values(), given.weight is not None)
        with files.opened_folder(output):
            comparison = compare_many(
                methods, data, folds, results=results, n_jobs=given.jobs, verbose=int(not given.quiet)
            )
        for table in tables:
            if not table.was_read:  # all its results were saved: still the same table?
                compare_many(methods, {table.name: table()}, folds, results=results)
    written = _write(comparison, tables, given.measure, output)

    from bayesieve.cli.comparison_summary import show_comparison

    show_comparison(screen, comparison, given.measure, written)


def _methods(given: Any) -> dict[str, Any]:
    """Classifiers by name; a peer whose package is missing raises here, before any work is done."""
    from bayesieve import SelectiveNB, TableEncoder
    from bayesieve.selection import SELECTORS

    selectors = list(SELECTORS) if given.selectors is None else _names(given.selectors, SELECTORS, "selector")
    known = _peers() if given.peers is not None else {}
    peers = _names(given.peers, known, "peer") if known else []
    kinds = Columns.given(given, given.target[0]).kinds
    encoder = TableEncoder(kinds=kinds, n_jobs=given.jobs) if kinds else "modl"
    common: dict[str, Any] = {"encoder": encoder, "prior": given.prior, "random_state": given.seed}
    ours = {name: SelectiveNB(name, **common, n_jobs=given.jobs) for name in selectors}
    return ours | {name: known[name](kinds=kinds or None, random_state=given.seed) for name in peers}


def _peers() -> dict[str, Any]:
    """Other classifiers by name, from installed packages."""
    packages = [point.load() for point in plugins("peers")]
    if not packages:
        raise CommandError(NO_STUDIES.format("--peers"))
    return {name: make for package in packages for name, make in package.items()}


def _names(text: str, known: Collection[str], what: str) -> list[str]:
    names = names_in(text)
    if not names:
        raise CommandError(f"--{what}s is empty; choose from {named(known, most=len(known))}")
    for name in names:
        require_choice(name, known, what)
    return names


def _write(comparison: Any, tables: Sequence[ComparedTable], measure: str, output: Path) -> list[tuple[str, Path]]:
    """Write the folds and the page; CommandError if all methods failed."""
    files.write_frame(comparison.frame, output / _FOLDS)
    if all(row["error"] is not None for row in comparison.rows):
        _, name, _, error = comparison.errors()[0]
        raise CommandError(f"All methods failed; {quoted(name)} with: {error}")
    first = tables[0]
    title = f"Methods compared on {visible(shown(Path(first.path.name)))}, target {quoted(first.columns.target)}"
    if len(tables) > 1:
        title = f"Methods compared on {len(tables)} tables"
    comparison.report(output / _PAGE, title=title, measure=measure)
    return [("report", output / _PAGE), ("folds", output / _FOLDS), ("results", output / _KEPT)]


@dataclass
class ComparedTable:
    """A table to compare on, read when called for; `name` identifies it in results."""

    name: str
    path: Path
    columns: Columns
    frame: Any = None  # content of a stream, which cannot be read again
    was_read: bool = False

    def read(self, screen: Screen) -> tuple[Any, Any, Any]:
        """Features, labels and row weights; CommandError if they cannot be split into folds."""
        self.was_read = True
        frame = files.read_table(self.path, screen) if self.frame is None else self.frame
        data = TrainingTable.of(frame, self.columns, self.path, screen)
        with files.locating(self.path, self.columns.target):
            data.check_kinds()
        if lacking := data.too_few_classes():
            raise CommandError(f"Cross-validation needs {lacking}")
        return data.X, data.y, data.weights

    def __call__(self) -> tuple[Any, Any, Any]:
        """As `read`, with messages that name the file, because other tables may be processed at the time."""
        path = shown(self.path)
        try:
            return self.read(Screen(quiet=True, about=f"{path}: "))
        except CommandError as error:
            text = str(error)
            raise ValueError(text if text.startswith(path) else f"{path}: {text}") from error


def _compared_tables(given: Any) -> list[ComparedTable]:
    """The tables with their options, checked against the headers of all files.

    Ignored columns may be absent from some tables; the weight column and columns with a given kind must be in all.
    """
    from bayesieve.table.reading import is_stream, read_table

    paths, targets = given.table, list(given.target)
    if len(targets) not in (1, len(paths)):
        raise CommandError(
            f"--target is given {plural(len(targets), 'time')} for {plural(len(paths), 'table')}; give it once for "
            "all tables, or once per table, in the same order"
        )
    targets *= len(paths) // len(targets)
    columns = [Columns.given(given, target) for target in targets]
    frames = {path: read_table(path) for path in paths if is_stream(path)}
    headers = [frames[path].columns if path in frames else files.header_of(path) for path in paths]
    for path, header, own in zip(paths, headers, columns, strict=True):
        own.require_in(path, header, everywhere=len(paths) == 1)
    for name in given.ignore:
        if not any(name in header for header in headers):
            raise CommandError(f"None of the {len(paths)} tables has a column {quoted(name)} (--ignore)")
    return [
        ComparedTable(name, path, own.within(header), frames.get(path))
        for name, path, own, header in zip(table_names(paths, targets), paths, columns, headers, strict=True)
    ]


def table_names(paths: Sequence[Path], targets: Sequence[str]) -> list[str]:
    """Names of the tables: the file name without its extension, extended until it is unique.

    Examples
    --------
    >>> table_names([Path("old/heart.csv"), Path("new/heart.csv"), Path("iris.csv.gz")], ["y"] * 3)
    ['old/heart.csv', 'new/heart.csv', 'iris']
    """
    files = [Path(shown(path)).resolve() for path in paths]
    asked = list(zip(files, targets, strict=True))
    for path, pair in zip(paths, asked, strict=True):
        if asked.count(pair) > 1:
            raise CommandError(f"{shown(path)} is given twice with the target {quoted(pair[1])}; give it once")
    forms = {file: _forms(file) for file in files}
    names = []
    for file, target in asked:
        others = {form for other in forms if other != file for form in forms[other]}
        name = next(form for form in forms[file] if form not in others)
        names.append(name if files.count(file) == 1 else f"{name}, target {target}")
    return names


def _forms(file: Path) -> list[str]:
    """Names of a file, from the shortest to its whole path."""
    short = Path(file.stem).stem if file.suffix.lower() == ".gz" else file.stem
    return [short, *("/".join(file.parts[-n:]) for n in range(1, len(file.parts))), str(file)]
