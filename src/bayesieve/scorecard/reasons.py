"""Reasons for scores, column by column, by a rule simple enough to repeat in SQL, PMML and spreadsheets.

1. The score of a class is log P(class) minus the mean log probability of the other classes; for two classes, the log
   odds. With J classes, a cell with contributions c adds (J c[class] - sum(c)) / (J - 1) to the score. (A cell is an
   interval or group of values of a feature, the unit that has contributions.)
2. Against "mean", the score is compared with the average training row, to which features add 0. Against "best", it is
   compared with the cell of the feature that adds most; this may be the cell of missing values, but not values without
   a cell. All indicators ("x <= threshold") of a column count as one feature here.
3. The difference of a feature is divided equally between its columns: a pair adds half of it to each column. The sums
   of the columns therefore add up to the score minus that of the reference row.
4. Columns below the reference are reasons, the largest shortfall first. Sums are compared after rounding to 9
   decimals; of equal ones, the first column of the training table comes first.

Equal shares need one number per cell. A fairer division, such as Shapley's, depends on a population of rows and cannot
be printed on a scorecard. With more than two classes and none named, the score is minus that of the predicted class, so
that reasons speak for the prediction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.discretize.column_coders import code_columns
from bayesieve.parts import Allowed, check_allowed
from bayesieve.scorecard.explanation import UNSEEN
from bayesieve.scorecard.wording import Wording
from bayesieve.table import FeatureLevels, Table
from bayesieve.table.cautions import silenced
from bayesieve.table.levels import TableLevels
from bayesieve.words import did_you_mean, named

if TYPE_CHECKING:
    from bayesieve.scorecard.record import Feature, Scorecard

DECIMALS = 9
_ALLOWED = {
    "n": Allowed.count(None),
    "against": Allowed.choice("mean", "best"),
    "values": Allowed.choice(True, False),
}
_BLOCK = 1 << 22  # rows x columns that are processed at a time


def columns_in_use(card: Scorecard) -> list[str]:
    """Return the columns used by the features in the model, in the order of the training table."""
    behind = {name for feature in card.used_features for name in feature.columns}
    return [name for name in card.columns if name in behind]


def reasons_of(
    card: Scorecard,
    table: Table,
    n: int | None,
    against: str,
    target: Any,
    values: bool = False,
    codes_by_column: Mapping[str, str] | None = None,
) -> Any:
    """Return the dataframe documented in `SelectiveNB.reasons`: the reasons of each row of ``table``, the strongest
    first.

    ``target`` is the class that reasons speak against (None for the positive class), ``values`` adds the row's values
    to the texts, and ``codes_by_column`` are reason codes; otherwise those of the model's labels are used.
    """
    import polars as pl

    check_allowed({"n": n, "against": against, "values": values}, _ALLOWED)
    names, of_class = columns_in_use(card), card.position(target)
    reason_codes = _checked_codes(card, codes_by_column)
    codes = card.cells(table)
    levels, shown, words = _texts(card, table, names)
    starts = np.cumsum([0, *map(len, words)])
    texts = pl.Series([text for column in words for text in column], dtype=pl.String)
    step, frames = max(1, _BLOCK // max(1, len(names))), []
    for first in range(0, table.n_rows, step):
        chunk = codes[:, first : first + step]
        towards, sign = np.full(chunk.shape[1], of_class), 1.0
        if of_class is None:
            towards, sign = card.tables.joint(chunk).argmax(axis=1), -1.0
        parts = shortfalls(card, chunk, names, against, towards, sign)
        order = np.argsort(parts.round(DECIMALS), axis=1, kind="stable")[:, :n]
        sorted_parts = np.take_along_axis(parts, order, axis=1)
        row, rank = np.nonzero(sorted_parts.round(DECIMALS) < 0)
        column = order[row, rank]
        at = starts[levels[column]] + shown[levels[column], first + row]
        texts_by_name = {"column": pl.Series(names, dtype=pl.String).gather(column), "text": texts.gather(at)}
        if reason_codes:
            of_columns = pl.Series([reason_codes.get(name) for name in names], dtype=pl.String)
            texts_by_name = {
                "column": texts_by_name["column"],
                "code": of_columns.gather(column),
                "text": texts_by_name["text"],
            }
        frame = {"row": first + row, "rank": rank + 1, **texts_by_name, "contribution": sign * sorted_parts[row, rank]}
        frames.append(pl.DataFrame(frame, schema_overrides={"row": pl.Int64, "rank": pl.Int64}))
    reasons = pl.concat(frames)
    return _with_values(card, table, names, reasons) if values else reasons


def _checked_codes(card: Scorecard, codes: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return reason codes by column; if ``codes`` is None, those of the model's labels. Raise ValueError for a name
    that is not a column.
    """
    if codes is None:
        return Wording.of(card).codes
    if not isinstance(codes, Mapping):
        raise ValueError(f"codes must map names of columns to codes or texts of reasons, got {codes!r:.80}.")
    for name, code in codes.items():
        if name not in card.columns:
            hint = did_you_mean(str(name), card.columns) or f"its columns are {named(card.columns)}."
            raise ValueError(f"codes names the column {name!r:.80}, which the model does not have; {hint}")
        if not isinstance(code, str):
            raise ValueError(f"codes must map the column {name!r:.80} to a text, got {code!r:.80}.")
    return codes


def _with_values(card: Scorecard, table: Table, names: Sequence[str], reasons: Any) -> Any:
    """Insert the value of the row into the texts of reasons for numeric columns: "amount 7,500 (more than 6,420)".

    ``names`` are the columns in use; ``reasons`` is the polars dataframe of `reasons_of`, which is returned with new
    texts.
    """
    import polars as pl

    numbers, words, read = dict[str, Any](), Wording.of(card), card.reader.read(table)
    for name, level in zip(names, distinguishing_levels(card, names), strict=True):
        if level.cut_points is not None:
            column = read.column(card.reader.needed.index(name))
            cells = code_by(card, table, [level])[0]
            is_interval = (cells >= level.n_special_levels) & (cells < level.n_levels) & ~level.is_missing(column)
            numbers[name] = words.named(level), level.texts(column), is_interval
    texts = []
    for row, name, text in reasons.select("row", "column", "text").iter_rows():
        title, values, is_interval = numbers.get(name, ("", (), ()))
        if title and is_interval[row]:
            interval = text.removeprefix(f"{title}: ")
            text = f"{title} {_in_thousands(values[row])} ({_in_thousands(interval)})"
        texts.append(text)
    return reasons.with_columns(text=pl.Series(texts, dtype=pl.String))


def _in_thousands(text: str) -> str:
    """Insert thousands separators into the whole numbers of a text; dates stay unchanged."""
    return re.sub(r"(?<![\d.:])(?<!\w-)\d{4,}(?![\d:-])", lambda digits: f"{int(digits[0]):,}", text)


def shortfalls(
    card: Scorecard, codes: np.ndarray, names: Sequence[str], against: str, towards: np.ndarray, sign: float = 1.0
) -> np.ndarray:
    """Return the contributions of columns minus those of the reference row, shape (n_rows, n_columns), in nats.

    Parameters
    ----------
    card : the fitted model.
    codes : (n_used, n_rows) cell of each feature in the model.
    names : names of the columns in use.
    against : reference row, "mean" or "best".
    towards : (n_rows,) position of the class whose score is compared, for each row.
    sign : -1 if the score is minus the score of the class, otherwise 1.
    """
    parts, position = np.zeros((codes.shape[1], len(names))), {name: i for i, name in enumerate(names)}
    references = reference_scores(card, against, sign)
    for feature, cells, reference in zip(card.used_features, codes, references, strict=True):
        scores = sign * class_scores(feature.table) - reference
        value = scores[np.minimum(cells, len(scores) - 1), towards] / len(feature.columns)
        for name in feature.columns:
            parts[:, position[name]] += value
    return parts


def reference_scores(card: Scorecard, against: str, sign: float = 1.0) -> np.ndarray:
    """Return the contribution of each feature to the score of each class in the reference row, shape (n_used,
    n_classes) in nats.

    ``against`` is the reference row, "mean" or "best"; ``sign`` is -1 if the score is minus the score of the class.
    """
    if against == "best" and card.used.size:
        return _best(card.used_features, sign)
    return np.zeros((card.used.size, card.classes.size))


def class_scores(table: np.ndarray) -> np.ndarray:
    """Convert contributions to each class, shape (n_lines, n_classes) in nats, to contributions to the score of each
    class (rule 1 of the module), of the same shape.
    """
    n_classes = table.shape[1]
    return np.asarray((n_classes * table - table.sum(axis=1, keepdims=True)) / (n_classes - 1))


def _best(features: Sequence[Feature], sign: float) -> np.ndarray:
    """Return the largest contribution of each feature to the score of each class, shape (n_features, n_classes) in
    nats; ``sign`` -1 inverts the score.

    Indicators of one column are maximised together: their largest sum is assigned to the first of them, and 0 to the
    others.
    """
    best = np.zeros((len(features), features[0].contributions.shape[1]))
    alone: dict[tuple[str, ...], list[int]] = {}
    for k, feature in enumerate(features):
        best[k] = (sign * class_scores(feature.contributions)).max(axis=0)
        if isinstance(feature.cells.cut_points, np.ndarray):
            alone.setdefault(feature.columns, []).append(k)
    for several in (run for run in alone.values() if len(run) > 1):
        cells = [features[k].cells for k in several]
        values = np.unique(np.concatenate([np.asarray(cell.cut_points) for cell in cells] + [np.array([np.inf])]))
        values = np.append(values, [np.nan] * (cells[0].missing_code is not None))
        joint = sum(sign * class_scores(features[k].table)[features[k].cells.code_numbers(values)] for k in several)
        best[several] = 0.0
        best[several[0]] = np.asarray(joint).max(axis=0)
    return best


def _texts(card: Scorecard, table: Table, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray, list[list[str]]]:
    """Return the codes of the rows of a table, and the texts from which reasons are written, for the columns in
    ``names``.

    Columns may share a division into levels. The three results are the position of each column's division, shape
    (n_columns,); the code of each row by each division, shape (n_divisions, n_rows); and, for each division, the list
    of the texts of its levels.
    """
    levels_of_columns = distinguishing_levels(card, names)
    levels = list({id(level): level for level in levels_of_columns}.values())
    parts, texts = zip(*(reason_texts(card, level) for level in levels), strict=True) if levels else ((), ())
    position = {id(level): i for i, level in enumerate(levels)}
    positions = np.array([position[id(level)] for level in levels_of_columns], dtype=np.int64)
    return positions, code_by(card, table, parts), [*texts]


def reason_texts(card: Scorecard, level: FeatureLevels) -> tuple[FeatureLevels, list[str]]:
    """Return the levels that distinguish a column's values in reasons, and the text of each, such as "age: over 40";
    the last text is for unseen values.

    ``level`` is a division of the column. A numeric column keeps its intervals; of categories, each value becomes a
    level of its own.
    """
    single, texts = part_texts(card, level)
    name = Wording.of(card).named(level)
    return single, [f"{name}: {text}" for text in texts]


def part_texts(card: Scorecard, level: FeatureLevels) -> tuple[FeatureLevels, list[str]]:
    """Return the levels that distinguish a column's values in reasons, and the text of each without the name of the
    column, such as "over 40"; the last text is for unseen values.

    ``level`` is a division of the column, as in `reason_texts`.
    """
    words, single = Wording.of(card), level if level.groups is None else level.by_value()
    around = np.arange(level.n_levels) if single is level else level.code_categories(single.first_values())
    # The text that a user gave to the level or the cell around a value, otherwise the label of the value in words.
    given = words.given(level)
    feature = next((one for one in card.used_features if one.cells is level), None)
    if feature is not None:
        of_levels = words.given(feature.levels)
        given = [text or of_levels[k] for text, k in zip(given, feature.level_of_cell.tolist(), strict=True)]
    texts = [given[k] or text for k, text in zip(around.tolist(), words.spoken(single), strict=True)]
    return single, [*texts, UNSEEN[1:-1]]


def code_by(card: Scorecard, table: Table, levels: Sequence[FeatureLevels]) -> np.ndarray:
    """Return the code of each row of ``table`` by each of ``levels``, shape (n_levels, n_rows) with n_levels =
    len(levels). Each entry of ``levels`` is a division of a column that the scorecard reads.
    """
    if not levels:
        return np.zeros((0, table.n_rows), dtype=np.int64)
    columns = card.reader.read(table).select([card.reader.needed.index(level.column) for level in levels])
    with silenced():  # the reader has already warned about these values
        return code_columns(columns, TableLevels.of(levels), -1)[0].astype(np.int64)


def distinguishing_levels(card: Scorecard, names: Sequence[str]) -> list[FeatureLevels]:
    """Return, for each column in ``names``, the levels that distinguish its values in texts.

    They are the levels of the column as the scorecard reads it. If that is a single level, they are the levels of the
    column in a pair that divides it.
    """
    levels = dict(zip(card.reader.needed, card.reader.column_levels, strict=True))
    for part in (part for feature in card.used_features for part in feature.cells.by_column):
        if part.column in levels and levels[part.column].n_levels == 1 < part.n_levels:
            levels[part.column] = part
    return [levels[name] for name in names]
