"""Tables on the best method of each paper, and the page that shows them.

In functions, ``folder`` is that of the results, ``shown`` specifies a table, and ``rows`` are results by data set,
method, repeat and fold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bayesieve_lab.blanquero2021.data import SPARSE
from bayesieve_lab.boulle2007.data import CHALLENGE, UCI
from bayesieve_lab.claims import NEGLIGIBLE, WORDS, Check, Differences, Judged, differ
from bayesieve_lab.comparison.differences import DIGITS, signed_rank_test
from bayesieve_lab.comparison.results import read_results
from bayesieve_lab.surpassed.contests import (
    BEST_OF_DONORS,
    DEFAULT,
    EBM,
    KHIOPS,
    N_DRAWS,
    N_FOLDS,
    N_SERIES,
    TREES,
    results_of,
)
from bayesieve_lab.surpassed.timed import FLOORED, SECONDS
from bayesieve_lab.tables import TextTable, document, number_text, p_range

RATES = (("accuracy", "Accuracy", 3), ("auc", "AUC", 3), (FLOORED, "CR, floored", 3))
_OF_DONORS = (("mse test", "MSE", 5), ("profit test", "Profit, $", 0))
_OF_SERIES = (("accuracy", "Accuracy", 4), ("auc", "AUC", 4))
AVERAGED = "compression averaging"
Rows = Mapping[tuple[str, str, int, int], dict[str, Any]]


@dataclass(frozen=True)
class Shown:
    """Specification of a table of means.

    Attributes
    ----------
    name : name of the results.
    best : the paper's best method.
    of : total number of data sets or draws.
    measures : measures to show.
    sets : word for the data, such as "sets" or "draws".
    only : names of the data sets; empty for all of the results.
    """

    name: str
    best: str
    of: int
    measures: tuple[tuple[str, str, int], ...] = RATES
    sets: str = "sets"
    only: frozenset[str] = frozenset()


_OF_UCI, _OF_CHALLENGE = (frozenset(one.ours for one in sets if one.ours is not None) for sets in (UCI, CHALLENGE))
TABLES = {
    "boulle2007": (
        Shown("boulle2007", "SNB(CMA)", len(_OF_UCI), sets="UCI sets", only=_OF_UCI),
        Shown("boulle2007", "SNB(CMA)", len(_OF_CHALLENGE), sets="challenge sets", only=_OF_CHALLENGE),
    ),
    "abellan2017": (Shown("abellan2017", "NB after IIG", 57),),
    "rabenoro2015": (Shown("rabenoro2015", "Backward-forward, probability", N_SERIES, _OF_SERIES, "draws"),),
    "blanquero2021": (Shown("blanquero2021", SPARSE, 10),),
    "gidofalvi": (
        Shown("gidofalvi", BEST_OF_DONORS, N_DRAWS, _OF_DONORS, "draws of simulated donors"),
        Shown("gidofalvi-pva97nk", BEST_OF_DONORS, N_FOLDS, _OF_DONORS, "draws of pva97nk"),
    ),
}
"""Tables of the page by paper."""


def _rows(folder: Path, name: str, only: Set[str] = frozenset()) -> dict[tuple[str, str, int, int], dict[str, Any]]:
    """Return the results in a file, by data set, method, repeat and fold; empty if there is none.

    ``name`` is that of the contest; ``only`` are the data sets to return, empty for all.
    """
    path = folder / results_of(name)
    rows = read_results(path) if path.is_file() else {}
    # Remove options from the names of the sparse methods, because they differ between data sets.
    return {
        (data, SPARSE if method.startswith(SPARSE) else method, repeat, fold): row
        for (data, method, repeat, fold), row in rows.items()
        if not only or data in only
    }


def _value(row: Mapping[str, Any], measure: str) -> float:
    """Return a measure, or a further figure, of a result; NaN if it is missing."""
    value = row[measure] if measure in row else (row["figures"] or {}).get(measure)
    return float("nan") if value is None else float(value)


def means(rows: Rows, methods: Sequence[str], measures: Sequence[str]) -> tuple[int, int, np.ndarray]:
    """Return means over the folds on which all methods have results, by data set.

    ``rows`` are the results of folds.

    Returns
    -------
    n_sets, n_folds : number of data sets, and of folds, on which all methods have results.
    means : (n_sets, n_methods, n_measures).
    """
    places = {(data, repeat, fold) for data, _, repeat, fold in rows}
    shared = sorted(
        place for place in places if all(_ended(rows.get((place[0], method, *place[1:]))) for method in methods)
    )
    if not shared:
        return 0, 0, np.full((0, len(methods), len(measures)), np.nan)
    by_set: dict[str, list[np.ndarray]] = {}
    for data, repeat, fold in shared:
        values = [[_value(rows[data, method, repeat, fold], one) for one in measures] for method in methods]
        by_set.setdefault(data, []).append(np.array(values))
    return len(by_set), len(shared), np.array([np.mean(values, axis=0) for values in by_set.values()])


def _ended(row: Mapping[str, Any] | None) -> bool:
    """Return whether there is a result, and it is not an error."""
    return row is not None and row["error"] is None


def lines(shown: Shown, rows: Rows, methods: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the rows of a table of means, over the folds that all methods have.

    ``shown`` is the specification of the table, and ``rows`` are the results of folds.
    """
    methods = [method for method in methods if any(key[1] == method for key in rows)]
    measures = [measure for measure, *_ in shown.measures]
    n_sets, n_folds, by_set = means(rows, methods, [*measures, "n_features", SECONDS])
    if not n_sets:
        return []
    values, first = by_set.mean(axis=0), by_set[:, :, 0] * (-1.0 if measures[0].startswith("mse") else 1.0)
    each = f"{n_folds // n_sets} fold{'s' * (n_folds > n_sets)} each"
    per_set = f", {each if n_folds % n_sets == 0 else f'{n_folds} folds'}" if shown.measures is RATES else ""
    on = f"{n_sets} of {shown.of} {shown.sets}{per_set}"
    entries = []
    for k, (method, row) in enumerate(zip(methods, values.tolist(), strict=True)):
        cells = (number_text(v, f".{digits}f") for v, (*_, digits) in zip(row, shown.measures, strict=False))
        features = "all" if method == TREES else number_text(row[-2], ".1f")
        lead = _lead(first[:, methods.index(DEFAULT)] - first[:, k]) if DEFAULT in methods and method != DEFAULT else ""
        entries.append((on if k == 0 else "", method, *cells, lead, features, number_text(row[-1], ".2f")))
    return entries


def _lead(differences: np.ndarray) -> str:
    """Return on how many sets the default is better and worse than another method, and the p-value, as text.

    ``differences`` (n_sets,) are positive if the default is better.
    """
    if differences.size < 2:
        return ""
    away = differences.round(DIGITS)
    return f"{int((away > 0).sum())} / {int((away < 0).sum())}, {p_range([signed_rank_test(away)])}"


def _titled(shown: Shown, entries: Sequence[tuple[str, ...]]) -> TextTable | None:
    """Return a table with the given rows, ``entries``; None if there are none.

    ``shown`` is the specification of the table.
    """
    titles = [f">{title}" for _, title, _ in shown.measures]
    columns = ("On", "Method", *titles, ">bayesieve better / worse", ">Features", ">CPU seconds")
    return TextTable.of(columns, entries) if entries else None


def _compared(shown: Shown) -> tuple[str, ...]:
    """Return the names of the methods in a table.

    ``shown`` is the specification of the table.
    """
    return shown.best, DEFAULT, KHIOPS, TREES


def table(folder: Path, shown: Shown) -> TextTable | None:
    """Return a table of means: the paper's best method, our default, Khiops, gradient boosting, and EBM if it was run.

    EBM is shown only if it was run on all sets. None unless the paper's method and our default have results.
    """
    rows = _rows(folder, shown.name, shown.only)
    main = _compared(shown)
    if not {shown.best, DEFAULT} <= {method for _, method, *_ in rows}:
        return None
    entries = lines(shown, rows, main)
    with_ebm = lines(shown, rows, (*main, EBM)) if any(key[1] == EBM for key in rows) else []
    if with_ebm and with_ebm[0][0] == entries[0][0]:
        entries = with_ebm
    return _titled(shown, entries)


def judge_default(folder: Path, shown: Shown) -> tuple[Check, ...]:
    """Return checks, by the rule for claims of papers, that the default is better than each other method.

    They are by the first measure of the table; there are none without results. ``shown`` is the specification of the
    table.
    """
    rows = _rows(folder, shown.name, shown.only)
    methods = [method for method in _compared(shown) if any(key[1] == method for key in rows)]
    measure, _, digits = shown.measures[0]
    by_set = means(rows, methods, [measure])[2][:, :, 0]
    if DEFAULT not in methods or not by_set.size:
        return ()
    default = by_set[:, methods.index(DEFAULT)]
    samples = {
        method: Differences.of(default, by_set[:, k], over=shown.sets)
        for k, method in enumerate(methods)
        if method != DEFAULT
    }
    error = measure.startswith("mse")
    # Half a point is a margin for shares, not for squared errors of rare gifts.
    return differ(samples, sign=-1 if error else 1, form=f"+.{digits}f", margin=None if error else NEGLIGIBLE)


def answers(folder: Path) -> TextTable | None:
    """Return the table of all verdicts on the default; None without results."""
    texts = []
    for shown in (one for blocks in TABLES.values() for one in blocks):
        for k, check in enumerate(judge_default(folder, shown)):
            claim = Judged("", "", (check,))
            on = f"{shown.name.partition('-')[0]}, {check.over}" if k == 0 else ""
            title = shown.measures[0][1] if k == 0 else ""
            texts.append((on, title, check.what, check.text("ours"), claim.tested, claim.verdict))
    return TextTable.of(("On", "By", "Better than", ">Difference", ">Margin, p", "Verdict"), texts) if texts else None


def better_on(folder: Path, rival: str | None = None) -> dict[str, list[str]]:
    """Return, by verdict in words, the papers on whose data the default method is better than ``rival``.

    If ``rival`` is None, it is compared with the paper's best method. If verdicts differ between the tables of a paper,
    the data of each are added to its name.
    """
    found: dict[str, list[str]] = {}
    for paper, blocks in TABLES.items():
        verdicts: dict[str, list[str]] = {}
        for shown in blocks:
            for check in judge_default(folder, shown):
                if check.what == (rival or shown.best):
                    verdicts.setdefault(WORDS[check.verdict], []).append(check.over)
        for verdict, over in verdicts.items():
            name = paper if len(verdicts) == 1 else f"{paper} ({', '.join(over)})"
            found.setdefault(verdict, []).append(name)
    return found


def successors(folder: Path) -> TextTable | None:
    """Return the table of later selective naive Bayes classifiers on the UCI sets of Boullé (2007)."""
    from bayesieve_lab.surpassed.successors import SUCCESSORS

    shown = TABLES["boulle2007"][0]
    entries = lines(shown, _rows(folder, shown.name, shown.only), (shown.best, *SUCCESSORS, KHIOPS, DEFAULT))
    return _titled(shown, entries)


def tables(folder: Path) -> dict[str, list[TextTable]]:
    """Return the tables by paper."""
    return {
        paper: [result for one in shown if (result := table(folder, one)) is not None]
        for paper, shown in TABLES.items()
    }


def every_set(folder: Path, shown: Shown, measure: str, digits: int) -> TextTable:
    """Return a table of the means of a measure on every data set, by method; a dash where a method has no results.

    Means of a data set are over the folds that are finished for all methods run on it. ``shown`` is the specification
    of the table of means.
    """
    by_set: dict[str, dict[str, dict[tuple[int, int], float]]] = {}
    rows = _rows(folder, shown.name)
    for (data, method, *place), row in rows.items():
        if _ended(row):
            by_set.setdefault(data, {}).setdefault(method, {})[place[0], place[1]] = _value(row, measure)
    methods = dict.fromkeys(method for _, method, *_ in rows)
    shared = {data: sorted(set.intersection(*map(set, values.values()))) for data, values in by_set.items()}
    most, entries = max(map(len, shared.values()), default=0), []
    for data, values in by_set.items():
        folds = shared[data]
        cells = [[values[method][place] for place in folds] if method in values else [] for method in methods]
        texts = (number_text(float(np.mean(cell)) if cell else float("nan"), f".{digits}f") for cell in cells)
        few = f" ({len(folds)} fold{'s' * (len(folds) > 1)})" if len(folds) < most else ""
        entries.append((f"{data}{few}", *texts))
    return TextTable.of(("Data set", *(f">{method}" for method in methods)), entries)


def averaged_donors(folder: Path) -> dict[str, tuple[float, float]]:
    """Return the mean squared error and profit of compression averaging in the study of donors, by campaign."""
    values: dict[str, list[tuple[float, float]]] = {}
    for name in ("gidofalvi", "gidofalvi-pva97nk"):
        path = folder / f"{name}.jsonl"
        for (data, method, *_), row in (read_results(path) if path.is_file() else {}).items():
            if method == AVERAGED:
                measured = _value(row, "mse test"), _value(row, "profit test")
                values.setdefault(data.partition(",")[0], []).append(measured)
    return {campaign: tuple(np.mean(draws, axis=0).tolist()) for campaign, draws in values.items()}


def surpassed_page(folder: Path) -> str:
    """Return the page with all tables, and the accuracy on every set."""
    full = {
        one.name: every_set(folder, one, measure=one.measures[0][0], digits=one.measures[0][2])
        for shown in TABLES.values()
        for one in shown
        if (folder / results_of(one.name)).is_file()
    }
    return document(
        Path(__file__).with_name("page.md"),
        answers=answers(folder),
        tables=tables(folder),
        averaged=averaged_donors(folder),
        successors=successors(folder),
        full=full,
    )
