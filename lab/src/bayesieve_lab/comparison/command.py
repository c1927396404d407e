"""Command `bayesieve compare`: comparison of selectors on one table or several, and the printed summary.

``given`` are the parsed options of the command, and ``screen`` is the terminal to which it prints.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bayesieve import SelectiveNB, TableEncoder
from bayesieve.cli import compiling, files
from bayesieve.cli.commands import (
    CommandError,
    Heading,
    Screen,
    interruptible,
    names_in,
    numbers,
    plugins,
    require_choice,
)
from bayesieve.cli.files import shown
from bayesieve.cli.training import Columns, CommandRows
from bayesieve.report.search import Measure
from bayesieve.selection import SELECTORS
from bayesieve.statistics.metrics import MEASURES
from bayesieve.table import normalized_weights
from bayesieve.table.paths import is_stream
from bayesieve.table.reading import read_table
from bayesieve.words import format_count, named, p_text, plural, quoted, visible
from bayesieve_lab.comparison.comparing import compare_many
from bayesieve_lab.comparison.differences import average_ranks, critical_difference, friedman, wilcoxon_holm
from bayesieve_lab.comparison.folds import RepeatedFolds, TimeFolds
from bayesieve_lab.comparison.page import fewest_data_sets
from bayesieve_lab.comparison.results import Comparison, Standing, standings
from bayesieve_lab.peers import PEERS

_KEPT, _FOLDS, _PAGE = "results.jsonl", "folds.csv", "comparison.html"


def compare(given: Any) -> None:
    """Compare selectors, and write the results into the folder of --output."""
    folds: Any = RepeatedFolds(given.folds, given.repeats, given.seed)
    require_choice(given.cv, ("shuffled", "time"), "--cv")
    if given.cv == "time" or given.time is not None:
        if given.repeats > 1:
            raise CommandError("--repeats shuffles the rows, and --cv time keeps their order; give one of them only")
        folds = TimeFolds(given.folds, given.time)
    require_choice(given.measure, MEASURES, "measure")
    require_choice(given.prior, ("sizes", "published"), "prior")
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
    show_comparison(screen, comparison, given.measure, _write(comparison, tables, given.measure, output))


def _methods(given: Any) -> dict[str, Any]:
    """Return the classifiers to compare by name: our selectors, then other classifiers (*peers*) if requested.

    A CommandError is raised for an unknown name, or if the package of a peer is not installed.
    """
    selectors = list(SELECTORS) if given.selectors is None else _names(given.selectors, SELECTORS, "selector")
    choices = {} if given.peers is None else _peers()
    peers = [] if given.peers is None else _names(given.peers, choices, "peer")
    kinds = Columns.of_options(given, given.target[0]).kinds
    encoder = TableEncoder(kinds=kinds, n_jobs=given.jobs) if kinds else "modl"
    common: dict[str, Any] = {"encoder": encoder, "prior": given.prior, "random_state": given.seed}
    ours = {name: SelectiveNB(name, **common, n_jobs=given.jobs) for name in selectors}
    return ours | {name: choices[name](kinds=kinds or None, random_state=given.seed) for name in peers}


def _peers() -> dict[str, Any]:
    """Return functions that create other classifiers, by name: those of the lab and of installed plugins."""
    return PEERS | {name: make for point in plugins("peers") for name, make in point.load().items()}


def _names(text: str, choices: Collection[str], what: str) -> list[str]:
    """Return the names in the comma-separated ``text``; CommandError unless all are among ``choices``.

    ``what`` is the kind of the names, such as "selector", for messages.
    """
    names = names_in(text)
    if not names:
        raise CommandError(f"--{what}s is empty; choose from {named(choices, most=len(choices))}")
    for name in names:
        require_choice(name, choices, what)
    return names


def _write(
    comparison: Comparison, tables: Sequence[ComparedTable], measure: str, output: Path
) -> list[tuple[str, Path]]:
    """Write the folds and the page into the folder ``output``; return the kind and path of each file, and of the
    results.

    ``measure`` is the one by which the page orders methods; ``tables`` are for its title. CommandError if all methods
    failed.
    """
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
    """Table of the comparison, which is read when the object is called.

    Attributes
    ----------
    name : name that identifies the table in results.
    path : its file.
    columns : roles of its columns.
    frame : content of a stream, which cannot be read again; None for files.
    was_read : whether it has been read.
    """

    name: str
    path: Path
    columns: Columns
    frame: Any = None  # content of a stream, which cannot be read again
    was_read: bool = False

    def read(self, screen: Screen) -> tuple[Any, Any, Any]:
        """Return features, labels and row weights; CommandError if they cannot be split into folds."""
        self.was_read = True
        frame = files.read_table(self.path, screen) if self.frame is None else self.frame
        data = CommandRows.of(frame, self.columns, self.path, screen)
        with files.locating(self.path, self.columns.target):
            data.check_kinds()
        if lacking := data.too_few_classes():
            raise CommandError(f"Cross-validation needs {lacking}")
        time = [] if self.columns.time is None else [self.columns.time]  # which the folds take out
        weights = normalized_weights(data.weights) if self.columns.normalize else data.weights
        return data.frame[[*data.names, *time]], data.y, weights

    def __call__(self) -> tuple[Any, Any, Any]:
        """Return features, labels and row weights; CommandError, which names the file, if they cannot be split into
        folds.

        The file is named because tables may be read in parallel.
        """
        path = shown(self.path)
        try:
            return self.read(Screen(quiet=True, about=f"{path}: "))
        except CommandError as error:
            text = str(error)
            raise ValueError(text if text.startswith(path) else f"{path}: {text}") from error


def _compared_tables(given: Any) -> list[ComparedTable]:
    """Return the tables that the command line names, each with the roles of its columns.

    The headers of all files are checked: ignored columns may be absent from some tables; the weight column and columns
    with a given kind must be in all.
    """
    paths, targets = given.table, list(given.target)
    if len(targets) not in (1, len(paths)):
        raise CommandError(
            f"--target is given {plural(len(targets), 'time')} for {plural(len(paths), 'table')}; give it once for "
            "all tables, or once per table, in the same order"
        )
    targets *= len(paths) // len(targets)
    columns = [Columns.of_options(given, target) for target in targets]
    frames = {path: read_table(path) for path in paths if is_stream(path)}
    headers = [frames[path].columns if path in frames else files.header_of(path) for path in paths]
    for path, header, roles in zip(paths, headers, columns, strict=True):
        roles.require_in(path, header, everywhere=len(paths) == 1)
    for name in given.ignore:
        if not any(name in header for header in headers):
            raise CommandError(f"None of the {len(paths)} tables has a column {quoted(name)} (--ignore)")
    return [
        ComparedTable(name, path, roles.within(header), frames.get(path))
        for name, path, roles, header in zip(table_names(paths, targets), paths, columns, headers, strict=True)
    ]


def table_names(paths: Sequence[Path], targets: Sequence[str]) -> list[str]:
    """Return names of the tables: the file name without its extension, extended until it is unique.

    ``targets`` are the target columns; a file with several targets appears several times.

    Examples
    --------
    >>> table_names([Path("old/heart.csv"), Path("new/heart.csv"), Path("iris.csv.gz")], ["y"] * 3)
    ['old/heart.csv', 'new/heart.csv', 'iris']
    """
    files = [Path(shown(path)).resolve() for path in paths]
    requests = list(zip(files, targets, strict=True))
    for path, pair in zip(paths, requests, strict=True):
        if requests.count(pair) > 1:
            raise CommandError(f"{shown(path)} is given twice with the target {quoted(pair[1])}; give it once")
    forms = {file: _forms(file) for file in files}
    names = []
    for file, target in requests:
        others = {form for other in forms if other != file for form in forms[other]}
        name = next(form for form in forms[file] if form not in others)
        names.append(name if files.count(file) == 1 else f"{name}, target {target}")
    return names


def _forms(file: Path) -> list[str]:
    """Return possible names of a table's file: the bare name without extension, then longer and longer ends of the
    path.
    """
    short = Path(file.stem).stem if file.suffix.lower() == ".gz" else file.stem
    return [short, *("/".join(file.parts[-n:]) for n in range(1, len(file.parts))), str(file)]


_SPREAD = ("accuracy", "auc", "compression_rate", "balanced_accuracy")
_EFFORTS = (("brier", 4), ("n_features", 1), ("fit_seconds", 2), ("predict_seconds", 2))
_EFFORT_TITLES = ("Brier", "features", "fit s", "predict s")
_UNKNOWN = "-"
_LEVEL = 0.05
_SAME = 1e-12


def show_comparison(screen: Screen, comparison: Comparison, measure: str, written: Sequence[tuple[str, Path]]) -> None:
    """Print the methods of a comparison, the best by ``measure`` first, with tests and errors, and the written files.

    ``written`` has the kind and path of each file.
    """
    several, protocol = len(comparison.data) > 1, comparison.protocol
    on_tables = f" on {plural(len(comparison.data), 'table')}" if several else ""
    screen.line(
        f"{plural(len(comparison.methods), 'method')}{on_tables} by {protocol.in_words}{'.' if several else ':'}"
    )
    screen.line()
    (_show_tables if several else _show_table)(screen, comparison, measure)
    for data, method, number, error in comparison.errors():
        where = f" of {quoted(data)}" if several else ""
        screen.warn(f"{quoted(method)} failed on {plural(number, 'fold')}{where}: {error}")
    screen.line()
    screen.pairs([(name, str(path)) for name, path in written])


def _show_table(screen: Screen, comparison: Comparison, measure: str) -> None:
    """Print the measures of every method on one table, with average ranks and tests over the folds.

    Methods are ordered and tested by ``measure``.
    """
    order: Sequence[Any] = standings(comparison, measure)
    stands = {standing.method: standing for standing in order}
    summary = {line["method"]: line for line in comparison.means().to_dicts()}
    names = list(dict.fromkeys([*stands, *summary]))  # those that failed come last
    _show(screen, "method", [[name, *(_spread_text(summary[name], shown) for shown in _SPREAD)] for name in names])
    screen.line()
    rows: list[list[Any]] = []
    for name in names:
        mine, efforts = stands.get(name), [_number_text(summary[name][effort], digits) for effort, digits in _EFFORTS]
        tests = [_UNKNOWN] * 4 if mine is None else [f"{mine.rank:.2f}", mine.beats, mine.loses_to, _p_text(mine)]
        rows.append([name, *efforts, *tests])
    _show(screen, "method", rows, (*_EFFORT_TITLES, "rank", "beats", "loses", "p"))
    if len(order) > 1:
        worse = [standing for standing in order[1:] if standing.against_best.p_value <= _LEVEL]
        screen.line()
        screen.line(
            f"By {Measure(measure).title}, {quoted(order[0].method)} is best on average; "
            f"{len(worse)} of {len(order) - 1} others are significantly worse (p: corrected resampled t-test "
            "against it; beats, loses: the same, of all pairs, at 5 %)."
        )


def _show_tables(screen: Screen, comparison: Comparison, measure: str) -> None:
    """Print the best method on every table by ``measure``, then means and average ranks over tables, and tests over
    tables.
    """
    stands = {name: standings(comparison, measure, name) for name in comparison.data}
    _show_winners(screen, comparison, measure, stands)
    matrix = _with_results(comparison, measure)
    if not matrix.size:
        return
    sign = 1 if comparison.higher_is_better(measure) else -1
    ranks = average_ranks(sign * matrix)
    order = sorted(range(ranks.size), key=lambda j: (round(float(ranks[j]), 9), j))
    methods = [comparison.methods[j] for j in order]
    screen.line()
    _show_means(screen, comparison, order)
    screen.line()
    efforts = [_means(comparison, name, digits) for name, digits in _EFFORTS]
    best = (sign * matrix >= np.nanmax(sign * matrix, axis=1, keepdims=True) - _SAME).sum(axis=0)
    rows = []
    for j, name in zip(order, methods, strict=True):
        mine = [one for standing in stands.values() for one in standing if one.method == name]
        wins, losses = sum(one.beats for one in mine), sum(one.loses_to for one in mine)
        rows.append([name, *(effort[j] for effort in efforts), f"{ranks[j]:.2f}", int(best[j]), wins, losses])
    _show(screen, "method", rows, (*_EFFORT_TITLES, "rank", "best on", "wins", "losses"))
    screen.line()
    for sentence in _findings(measure, methods, sign * matrix[:, order], ranks[order]):
        screen.line(sentence)


def _show_winners(screen: Screen, comparison: Comparison, measure: str, stands: dict[str, list[Standing]]) -> None:
    """Print one line per table: its rows, and the best and the second-best method by ``measure``.

    ``stands`` are the `standings` of the methods by name of the table.
    """
    by = _column_title(measure)
    lines = {(line["data"], line["method"]): line for line in comparison.means().to_dicts()}
    n_rows = {row["data"]: row["n_train"] + row["n_test"] for row in comparison.rows}
    columns = [
        Heading("table"),
        *numbers("rows"),
        Heading("best"),
        *numbers(by, "beats"),
        Heading("next"),
        *numbers(by),
    ]
    rows = []
    for name in comparison.data:
        cells: list[str] = []
        for standing in stands[name][:2]:
            cells += [standing.method, _spread_text(lines[name, standing.method], measure)]
            if not cells[2:]:
                cells.append(f"{standing.beats} of {len(comparison.methods) - 1}")
        rows.append([name, format_count(n_rows[name]), *cells, *[_UNKNOWN] * (5 - len(cells))])
    screen.table(columns, rows)


def _show_means(screen: Screen, comparison: Comparison, order: Sequence[int]) -> None:
    """Print means of the main measures over tables, one line per method; ``order`` has positions of the methods to
    print.
    """
    means = [_means(comparison, name, 4) for name in _SPREAD]
    _show(screen, "mean over tables", [[comparison.methods[j], *(mean[j] for mean in means)] for j in order])


def _show(screen: Screen, first: str, rows: Sequence[Sequence[Any]], titles: Sequence[str] = ()) -> None:
    """Print a table with one line per method; ``first`` is the title of the column of names.

    Each of ``rows`` has a name and numbers; ``titles`` are those of the numbers, by default the main measures.
    """
    screen.table([Heading(first), *numbers(*(titles or map(_column_title, _SPREAD)))], rows, strong=(0,))


def _with_results(comparison: Comparison, measure: str) -> np.ndarray:
    """Return means over folds by table and method, (n_tables, n_methods); NaN if a method failed.

    Tables without results of the measure are omitted.
    """
    matrix: np.ndarray = comparison.matrix(measure)
    return matrix[~np.isnan(matrix).all(axis=1)]


def _means(comparison: Comparison, measure: str, digits: int) -> list[str]:
    """Return the mean of a measure over tables as text with ``digits`` decimals, one for each method.

    It is a dash for a method without results on a table, because means over different tables are not comparable.
    """
    columns = _with_results(comparison, measure).T
    is_complete = [column.size > 0 and not np.isnan(column).any() for column in columns]
    return [
        _number_text(float(column.mean()) if has_mean else None, digits)
        for column, has_mean in zip(columns, is_complete, strict=True)
    ]


def _findings(measure: str, methods: Sequence[str], matrix: np.ndarray, ranks: np.ndarray) -> list[str]:
    """Return sentences on the best average rank, and on Friedman's, Nemenyi's and Wilcoxon's tests over tables.

    ``methods`` are in the order of their average ``ranks`` (n_methods,). ``matrix`` (n_tables, n_methods) are their
    means of ``measure``, with the sign at which larger is better.
    """
    n, k = matrix.shape
    tied = [name for name, rank in zip(methods, ranks, strict=True) if rank - ranks[0] < _SAME]
    subject = f"{named(tied)} {'have' if len(tied) > 1 else 'has'}"
    legend = "wins, losses: corrected resampled t-tests over folds at 5 %, against each other method on each table"
    if k < 2:
        return ["There is only one method, so there is nothing to rank."]
    if n < 2:
        return [f"Only one table has results, so there are no average ranks ({legend})."]
    test, critical = friedman(matrix), critical_difference(k, n, _LEVEL)
    f_value = f"F {test.f:.2f}" if np.isfinite(test.f) else "all tables agree"
    differ = "differ significantly" if test.f_p_value <= _LEVEL else "do not differ significantly"
    worse = [name for name, rank in zip(methods, ranks, strict=True) if rank - ranks[0] >= critical - 1e-9]
    return [
        f"By {Measure(measure).title}, {subject} the best average rank over "
        f"{plural(n, 'table')}, {ranks[0]:.2f} ({legend}).",
        f"Friedman test: average ranks {differ} (Iman and Davenport: {f_value}, {p_text(test.f_p_value)}).",
        f"Nemenyi test: ranks differ significantly if at least {critical:.2f} apart (5 %); {_better(methods, worse)}.",
        _wilcoxon(methods, matrix),
    ]


def _wilcoxon(methods: Sequence[str], matrix: np.ndarray) -> str:
    """Return a sentence on signed-rank tests of all pairs of methods over tables, adjusted by Holm.

    ``methods`` are ordered, the best first; larger numbers in ``matrix`` (n_tables, n_methods) are better.
    """
    n, k = matrix.shape
    fewest = fewest_data_sets(k, _LEVEL)
    if n < fewest:
        return (
            f"Wilcoxon signed-rank tests, adjusted by Holm: {plural(n, 'table')} are too few for a significant "
            f"difference between {k} methods; at least {fewest} are needed."
        )
    pairs = wilcoxon_holm(matrix, methods)
    different = [{pair.first, pair.second} for pair in pairs if pair.adjusted <= _LEVEL]
    worse = [name for name in methods[1:] if {methods[0], name} in different]
    return (
        f"Wilcoxon signed-rank tests, adjusted by Holm: {len(different)} of {plural(len(pairs), 'pair')} differ "
        f"significantly; {_better(methods, worse)}."
    )


def _better(methods: Sequence[str], worse: Sequence[str]) -> str:
    """Return a clause: the first of ``methods`` is better than those in ``worse``, or than none of the others."""
    others = plural(len(methods) - 1, "other")
    if not worse:
        return f"{quoted(methods[0])} is not significantly better than any of {others}"
    names = f" ({named(worse, most=4)})" if len(worse) < len(methods) - 1 else ""
    return f"{quoted(methods[0])} is better than {len(worse)} of {others}{names}"


def _column_title(measure: str) -> str:
    """Return the title of a measure for a column, shortened if it is long."""
    short = {"compression_rate": "compression", "balanced_accuracy": "balanced acc."}
    return short.get(measure, Measure(measure).title)


def _spread_text(line: dict[str, Any], measure: str) -> str:
    """Return mean and standard deviation of a measure over the folds as text, such as "0.9500 ±0.012".

    ``line`` is a row of `Comparison.means`.
    """
    mean, spread = line[measure], line[f"{measure}_std"]
    return _number_text(mean, 4) + ("" if mean is None or spread is None else f" ±{spread:.3f}")


def _number_text(value: float | None, digits: int) -> str:
    """Return a number as text with ``digits`` decimals; a dash for None."""
    return _UNKNOWN if value is None else f"{value:.{digits}f}"


def _p_text(standing: Standing) -> str:
    """Return the p-value of a method (a `Standing`) against the best one as text; "best" for the best one itself."""
    test = standing.against_best
    if test is None:
        return "best"
    return {"no test": _UNKNOWN, "p < 0.001": "<0.001"}.get(text := p_text(test.p_value), text.removeprefix("p "))
