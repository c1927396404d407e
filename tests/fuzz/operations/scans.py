"""Tables in files: predicted, explained and decided as the same rows in memory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import bayesieve
from bayesieve import BenefitClassifier, SelectiveNB, ThresholdTuner
from bayesieve.classifier.scoring import explain_rows, rows_in_memory
from tests.classifier.scoring import predict_to
from tests.fuzz import options
from tests.fuzz.case import Case, operation
from tests.fuzz.libraries import LIBRARIES
from tests.fuzz.tables import draw_again, draw_table

_TARGET = "the target"


_TYPES = (pl.String, pl.Float64, pl.Int64, pl.Boolean, pl.Date, pl.Float32, pl.Int8)
_CASTS: tuple[Callable[[pl.Series], pl.Series], ...] = (
    *(partial(pl.Series.cast, dtype=dtype) for dtype in _TYPES),
    *(lambda s: s.cast(pl.String).str.to_uppercase(), lambda s: s.cast(pl.String).cast(pl.Categorical)),
)


@operation(1)
def other_types(case: Case) -> None:
    """A query whose columns are of other types than in training is predicted as the same rows in memory."""
    table = draw_table(case, n_classes=case.integer(2, 3), most_rows=200)
    rows = LIBRARIES["polars"](case, table.columns)
    if not isinstance(rows, pl.DataFrame) or not rows.width:
        return
    model = SelectiveNB(case.pick(("all", "compression")))
    with case.step("fit"):
        model.fit(rows, table.codes)
    columns = []
    for column in rows.get_columns():
        held = column
        if case.chance(0.6):
            with contextlib.suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException, NotImplementedError):
                held = case.pick(_CASTS)(column.alias("")).alias(column.name)
        columns.append(held)
    new = pl.DataFrame(columns)
    case.note(f"{model!r} {rows.schema} -> {new.schema}")
    with case.attempt("predict rows in memory"):
        p = model.predict_proba(new)
        with case.attempt("predict in a query"):
            found = model.with_predictions(new.lazy()).collect()[:, -p.shape[1] :].to_numpy()
            case.check(np.allclose(found, p, rtol=0, atol=1e-12), "other types", (found, p))


@operation(1)
def files(case: Case) -> None:
    """A model of rows in memory predicts files of them, into a file or a folder, and in a query."""
    table = draw_table(case, n_classes=case.integer(2, 4), most_rows=300)
    rows = LIBRARIES["polars"](case, table.columns)
    new = LIBRARIES["polars"](case, draw_again(case, table, other_kinds=0.0).columns)
    if not isinstance(rows, pl.DataFrame) or not isinstance(new, pl.DataFrame) or not new.height:
        return
    names = [name for name in rows.columns if isinstance(name, str)]
    model = options.model(case, names) if case.chance(0.5) else SelectiveNB(case.pick(options.SELECTORS))
    case.note(f"{model!r} {[(column.name, column.kind) for column in table.columns]}")
    with case.step("fit"):
        model.fit(rows, table.codes)
    source = case.folder / "rows"
    if not _written(case, new, source):
        return
    with case.step("predict rows in memory"):
        p = model.predict_proba(pl.concat([pl.read_parquet(path) for path in sorted(source.rglob("*.parquet"))]))
    keep: Any = case.pick(("all", (), new.columns[:1], ["nowhere"]))
    with case.attempt("predict files"):
        case.same(model.predict_proba(source), p, "files are predicted as rows in memory")
    for name in ("scored.parquet", "scored", "scored"):
        with case.attempt(f"predict into {name}"):
            limit = case.pick((None, "512MiB", 1 << 30))
            case.check(
                predict_to(model, case.folder / name, source, keep=keep, memory_limit=limit) == len(p), "all rows"
            )
            scored = pl.read_parquet(case.folder / name, hive_partitioning=False)
            case.same(scored[:, -p.shape[1] :].to_numpy(), p, f"predictions in {name}")
            case.check(scored.width - p.shape[1] - 1 == {"all": new.width}.get(str(keep), len(keep)), "columns kept")
    with case.attempt("explain"):
        explanation = explain_rows(model, rows_in_memory(model, source), "feature")
        case.check(len(explanation.rows) == len(p), "an explanation for each row")
    first = next(bayesieve.scan(source).blocks())
    with case.attempt("predict in a query"):
        query = model.with_predictions(first.lazy()).collect(engine="streaming")
        shares = query[:, -p.shape[1] :].to_numpy()
        case.check(np.allclose(shares, p[: len(shares)], rtol=0, atol=1e-12), "query", (shares, p))


@operation(0.7)
def decided(case: Case) -> None:
    """Decisions and measures in files are those in memory."""
    table = draw_table(case, plain=1.0, n_classes=2, most_rows=200)
    rows = LIBRARIES["polars"](case, table.columns)
    if not isinstance(rows, pl.DataFrame) or _TARGET in rows.columns:
        return
    source = case.folder / "rows"
    if not _written(case, rows.with_columns(pl.Series(_TARGET, table.codes)), source, most=1):
        return
    selector = case.pick(options.SELECTORS)
    with case.step("fit in memory"):
        one = BenefitClassifier(SelectiveNB(selector), benefit=[[0, 0], [-1, 2]]).fit(rows, table.codes)
    with case.step("fit files", must=True):
        two = BenefitClassifier(SelectiveNB(selector), benefit=[[0, 0], [-1, 2]]).fit(source, _TARGET)
    same = np.allclose(one.predict_proba(rows), two.predict_proba(rows), atol=1e-9)
    case.check(same, "a model of files is that of rows in memory")
    with case.step("measure", must=True):
        total = one.total_benefit(rows, table.codes)
        case.check(abs(two.total_benefit(source, _TARGET) - total) < 1e-6 or not same, "benefits", total)
        score = one.estimator_.score(rows, table.codes)
        case.check(abs(two.estimator_.score(source, _TARGET) - score) < 1e-9 or not same, "accuracy", score)
        ThresholdTuner(SelectiveNB(selector), cv="train").fit(source, _TARGET)


def _written(case: Case, rows: pl.DataFrame, folder: Path, most: int = 3) -> bool:
    """Whether polars could write the rows into one to three files, in the order of their names."""
    folder.mkdir()
    ends = sorted({rows.height, *(case.integer(1, rows.height) for _ in range(most - 1))})
    for number, (first, end) in enumerate(zip([0, *ends], ends, strict=False)):
        try:
            rows[first:end].write_parquet(folder / f"{number}.parquet", row_group_size=case.pick((7, 50, 1000)))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):  # some types are in memory only
            return False
    return True
