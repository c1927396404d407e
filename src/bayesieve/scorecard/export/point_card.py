"""Scorecards of whole points: `Points` rounds contributions to points, `PointTable` writes them as a table."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from jinja2 import Environment, PackageLoader, select_autoescape
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from bayesieve.parts import Allowed
from bayesieve.scorecard.direction import POINTS
from bayesieve.scorecard.edits import joined
from bayesieve.scorecard.explanation import UNSEEN
from bayesieve.scorecard.export.card_table import card_table
from bayesieve.scorecard.export.plan import Against, Plan
from bayesieve.scorecard.export.target import Export
from bayesieve.scorecard.reasons import reasons_of
from bayesieve.scorecard.record import Feature, Scorecard, bounds_of
from bayesieve.scorecard.strategy import strategy_table
from bayesieve.scorecard.wording import Wording
from bayesieve.table import FeatureLevels
from bayesieve.table.frames import as_table, results_frame, split_columns
from bayesieve.table.pair_levels import PairLevels
from bayesieve.table.target import as_sample_weight, as_target
from bayesieve.table.writing import csv_text
from bayesieve.words import ShortRepr, format_count, format_number, visible

_POSITIVE = Allowed("be a number from 0.000001 to 1,000,000", number=Real, low=1e-6, high=1e6)
_ALLOWED = dict.fromkeys(("pdo", "base_odds"), _POSITIVE) | {
    "base_score": Allowed("be a number from -1,000,000 to 1,000,000", number=Real, low=-1e6, high=1e6),
    "max_points": Allowed("be a whole number from 1 to 1,000,000, or None", (None,), Integral, 1, 1e6),
    "format": Allowed.choice("csv", "html", "markdown"),
}
_SHIFTS = np.array(sorted(range(-32, 32), key=abs)) / 64  # tried shifts of a feature's points before rounding
_SCALES = np.geomspace(
    0.25, 1.5, 60
)  # tried widths of the widest feature, as shares of the range; above 1 it is clipped
_ENDS = "", "_2"  # suffixes of names, for both columns of a pair
_LEAST_GAIN = 1e-9  # smallest improvement of the log loss, in nats summed over rows


class Points(ShortRepr):
    """Scorecard of whole points for a model of two classes, see `SelectiveNB.points`.

    The score of a row is the base plus the points of its cell of each feature. It stands for odds of the positive class
    of exp(``offset`` + ``slope`` * score). Since a shift of all points of a feature can be moved into the base, shifts
    are chosen together with the roundings. By default they minimise the mean squared error of the log odds over the
    training rows, with features taken as independent. If rows are given, they minimise the log loss: every cell in turn
    is rounded up or down until nothing improves.

    Parameters
    ----------
    card : Scorecard
    pdo, base_score, base_odds : float, default=20, 600 and 30
        A score of ``base_score`` stands for odds of ``base_odds``; ``pdo`` more points double the odds.
    max_points : int or None, default=None
        Bound on the points of every cell, from -``max_points`` to ``max_points``. The base is 0 then, the scale is
        chosen with the roundings, and ``pdo``, ``base_score`` and ``base_odds`` are not used. None: no bound.
    X, y : rows and labels, optional
        Rows and labels by which roundings are chosen.

    Attributes
    ----------
    base : int
        Points of every row before those of its cells are added.
    slope, offset : float
        Conversion of scores to log odds of the positive class, in nats per point and in nats.
    loss_of_rows : polars.DataFrame or None
        Result of `loss` on the given rows; None without rows.

    Raises
    ------
    ValueError
        If there are not two classes, or an option is invalid.
    """

    def __init__(self, card: Scorecard, **options: Any) -> None:
        given = PointTable(**options)
        if card.classes.size != 2:
            raise ValueError(f"Points need two classes, not {card.classes.size}; fit one model for each class.")
        if given.X is None and given.y is not None:
            raise ValueError("y holds the labels of rows; pass the rows as X, too.")
        most = given.max_points
        self.card, lines, self._first = card, card.tables.lines[:-1], card.tables.first
        self._of = np.repeat(np.arange(self._first.size), card.tables.n_lines)
        self._odds, self._intercept = card.log_odds(lines), float(card.log_odds(card.intercept))
        used = card.used_features
        row_counts = [np.append(feature.counts.sum(axis=1) + np.finfo(float).tiny, 0) for feature in used]
        self._share = np.concatenate([*(counts / counts.sum() for counts in row_counts), np.zeros(0)])
        if most is None:
            self.slope = float(np.log(2)) / float(given.pdo)
            self.offset = float(np.log(given.base_odds)) - self.slope * float(given.base_score)
            self._round(1 / self.slope, np.inf)
            self.base = round((self._intercept - self.offset) / self.slope - float(self._share @ self._points))
        else:
            width = float((self._sums(self._odds, np.maximum) - self._sums(self._odds, np.minimum)).max(initial=0.0))
            scales = (_SCALES * 2 * most / (width or 1.0)).tolist()
            self._round(min(scales, key=lambda scale: round(self._round(scale, most), 9)), most)
        if given.X is not None:
            self._descend(self._lines(given.X))
        self.loss_of_rows = None if given.y is None else self.loss(given.X, given.y)

    def _sums(self, values: np.ndarray, ufunc: np.ufunc = np.add) -> np.ndarray:
        """Reduce values of cells over the cells of each feature. ``values`` has the shape (..., n_cells of all
        features), the result (..., n_features). ``ufunc`` is the reduction, by default the sum.
        """
        return ufunc.reduceat(values, self._first, axis=-1) if self._first.size else values

    def _round(self, scale: float, most: float) -> float:
        """Round the log odds of all cells, in nats, times ``scale`` to points. Set `base` to 0, and return the root
        mean squared error of the log odds in nats.

        ``most`` is the largest absolute number of points of a cell. If it is finite, ``slope`` and ``offset`` are set,
        too.
        """
        exact, self._most, self.base = scale * self._odds, most, 0
        bounds = -most - self._sums(exact, np.minimum), most - self._sums(exact, np.maximum)
        shifts = _SHIFTS[:, None] + np.median([np.zeros(self._first.size), *bounds], axis=0)
        errors = np.clip(np.rint(exact + shifts[:, self._of]), -most, most) - exact
        variances = self._sums(errors**2 * self._share) - self._sums(errors * self._share) ** 2
        best = np.argmin(variances.round(12), axis=0)  # the smallest shift on ties
        self._targets = exact + np.take_along_axis(shifts, best[None], axis=0)[0, self._of]
        self._points: np.ndarray = np.clip(np.rint(self._targets), -most, most).astype(np.int64)
        if most < np.inf:
            weighted = self._share * self._points
            means = self._sums(weighted)
            variance = float(weighted @ self._points - means @ means)
            self.slope = float(weighted @ self._odds) / variance if variance > 0 else 1.0
            self.offset = self._intercept - self.slope * float(means.sum())
        return self.rounding_error

    def _descend(self, lines: np.ndarray) -> None:
        """Round each cell up or down as long as that lowers the log loss expected in some rows.

        ``lines`` (n_features, n_rows) are the cells of the rows, as returned by `_lines`. The expectation is over
        classes drawn with the probabilities of the exact model: true labels are not used, so that the rounding cannot
        follow noise.
        """
        chance = expit(self._intercept + self._odds[lines].sum(axis=0))
        score = self.base + self._points[lines].sum(axis=0)
        for _ in range(50):
            before = self._points.copy()
            for k, cells in enumerate(lines):
                other = np.clip(self._points + np.where(self._points < self._targets, 1, -1), -self._most, self._most)
                step = np.where(np.abs(other - self._targets) < 1, other - self._points, 0).astype(np.int64)
                odds, more = self.offset + self.slope * score, self.slope * step[cells]
                gains = np.logaddexp(0.0, odds) - np.logaddexp(0.0, odds + more) + chance * more
                step[(np.bincount(cells, gains, step.size) < _LEAST_GAIN) | (self._of != k)] = 0
                self._points += step
                score += step[cells]
            if (self._points == before).all():
                break

    def _lines(self, X: Any) -> np.ndarray:
        """Return the cell of each feature in the rows of the table ``X``, shape (n_features, n_rows), as positions in
        the arrays over the cells of all features.
        """
        tables, codes = self.card.tables, self.card.cells(as_table(X)).astype(np.int64)
        return tables.first[:, None] + np.minimum(codes, tables.n_lines[:, None] - 1)

    @property
    def points(self) -> dict[str, np.ndarray]:
        """Points of the cells of each feature in the model, by name of the feature: integer arrays (n_cells + 1,),
        whose last entry is for unseen values.
        """
        names = [feature.name for feature in self.card.used_features]
        return dict(zip(names, np.split(self._points, self._first[1:]), strict=False))

    @property
    def rounding_error(self) -> float:
        """Root mean squared error of the log odds due to rounding, in nats, over the training rows with features taken
        as independent.
        """
        errors = self.slope * self._points - self._odds
        means = self._sums(self._share * errors)
        mean = self.offset + self.slope * self.base - self._intercept + means.sum()
        return float(np.sqrt(mean**2 + max(self._share @ errors**2 - means @ means, 0.0)))

    def score(self, X: Any) -> np.ndarray:
        """Return the score of each row in whole points, shape (n_rows,); ``X`` is a table with the training columns."""
        return self.base + self._points[self._lines(X)].sum(axis=0)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of both classes that the scores of the rows stand for, shape (n_rows, 2)."""
        odds = self.card.side * (self.offset + self.slope * self.score(X))
        return np.column_stack([expit(-odds), expit(odds)])

    def loss(self, X: Any, y: Any) -> Any:
        """Return a polars dataframe with the ``auc`` and ``log_loss`` of labelled rows: one line for the exact model,
        one for the points.
        """
        hits, joint, records = self._is_positive(y), self.card.joint(as_table(X)), []
        odds_of_points = self.offset + self.slope * self.score(X)
        for model, odds in (("exact", self.card.log_odds(joint)), ("points", odds_of_points)):
            auc = float(roc_auc_score(hits, odds.round(12))) if 0 < hits.sum() < hits.size else np.nan
            log_loss = float((np.logaddexp(0.0, odds) - hits * odds).mean())
            records.append({"model": model, "auc": auc, "log_loss": log_loss})
        return results_frame(records)

    def reasons(self, X: Any, n: int | None = 4, against: Against = "mean") -> Any:
        """Return the columns that lower the score of each row most, ranked by points (`SelectiveNB.reasons` ranks by
        nats).

        Parameters
        ----------
        X : dataframe with the training columns
        n : int or None, default=4
            Largest number of reasons of a row; None for all.
        against : {"mean", "best"}, default="mean"
            Reference row: the average training row, or the best cell of each feature.

        Returns
        -------
        polars.DataFrame
            ``row``, ``rank``, ``column``, ``text`` and ``contribution``: points of the column minus those of the
            reference row. The points of a pair are divided equally between its columns.
        """
        features = [*self.card.features]
        for k, share in zip(self.card.used.tolist(), np.split(self._share, self._first[1:]), strict=False):
            points = self.points[features[k].name]
            table = (points - share @ points)[:, None] * [-0.5, 0.5] * self.card.side
            features[k] = replace(features[k], contributions=table[:-1], unseen=table[-1])
        return reasons_of(replace(self.card, features=tuple(features)), as_table(X), n, against, None)

    def table(self) -> Any:
        """Return the scorecard as a dataframe with one line per level: counts, weight of evidence and points.

        Events are rows of the class other than the positive one, such as bad loans if the positive class is "good".

        Returns
        -------
        dataframe
            ``feature``; ``level``, its text; ``kind``, one of "base", "level", "special", "missing", "unseen" (values
            never seen in training) and "total"; ``low`` (exclusive) and ``high`` (inclusive) of intervals, ``values``
            of groups; training ``rows``, their ``share``, ``events`` and ``event_rate``; ``woe``, the weight of
            evidence in nats, positive where events are rare; ``iv``, the information value; and ``points``. The first
            line holds the base and all rows, and the last line of each feature its totals.
        """
        return card_table(self)

    def strategy(self, X: Any, y: Any, sample_weight: Any = None, bands: int | Sequence[float] = 10) -> Any:
        """Return the strategy table of rows: the effect of approving all rows above a score, band by band.

        Parameters
        ----------
        X : dataframe with the training columns
        y : labels, or the name of their column in ``X``
        sample_weight : weights of the rows, or the name of their column in ``X``; None: each row counts once.
        bands : int or sequence of numbers, default=10
            Number of bands with about equally many rows, or the lowest score of each band except the lowest band.

        Returns
        -------
        dataframe
            Table described in `bayesieve.scorecard.strategy.strategy_table`. Events are rows of the class other than
            the positive one.

        Raises
        ------
        ValueError
            If a label is not a class of the model, there are no rows, or ``bands`` is invalid.
        """
        X, y, sample_weight = split_columns(X, y, sample_weight)
        score = self.score(X)
        weights = as_sample_weight(sample_weight, score.size)
        return strategy_table(score, ~self._is_positive(y), weights, bands, self.card.library)

    def _is_positive(self, y: Any) -> np.ndarray:
        """Return a mask (n_rows,) of the labels that are the positive class. Raise ValueError if a label is not a class
        of the model.
        """
        target = as_target(y)
        positions = [self.card.position(label) for label in target.classes.tolist()]
        return (np.array(positions) == self.card.positive)[target.codes]

    def to_frame(self, counts: bool = False) -> Any:
        """Return the points as one row per feature and cell, the most important feature first.

        Neighbouring cells with equal points are joined, except levels set by hand. Columns are ``feature`` (None for
        the base), ``cell`` (text), ``low`` (exclusive) and ``high`` (inclusive) of intervals, ``values`` of groups,
        ``is_missing``, these four with the suffix ``_2`` for the second column of a pair, ``is_unseen`` and ``points``.
        Dates and times are numbers: days since 1970 for dates, otherwise microseconds.

        Parameters
        ----------
        counts : bool, default=False
            Whether to add columns ``rows_<class>`` with the number of training rows of each class.
        """
        names = [f"rows_{label}" for label in self.card.classes.tolist()] if counts else []
        part: dict[str, Any] = {"low": None, "high": None, "values": None, "is_missing": False}
        parts = {name + end: value for end in _ENDS for name, value in part.items()}
        empty = {"feature": None, "cell": "base", **parts, "is_unseen": False, "points": self.base}
        lines: list[dict[str, Any]] = [{}]
        for k in self.card.by_importance.tolist():
            lines += self._of_feature(self.card.features[k], names)
        lines = [empty | dict.fromkeys(names) | line for line in lines]
        return results_frame(lines, self.card.library, infer_schema_length=None)

    def _of_feature(self, feature: Feature, counts: list[str]) -> Iterator[dict[str, Any]]:
        """Yield the lines of `to_frame` for one feature, as dicts by column. ``counts`` are the names of the columns
        with training rows by class; empty if the table has no such columns.
        """
        words, cells, points = Wording.of(self.card), feature.cells, self.points[feature.name]
        by_hand = self.card.provenance.get("by_hand", ())
        grid, row_counts = points[:-1], feature.counts
        if isinstance(cells, PairLevels):
            grid, row_counts = points[cells._level_of_codes[:-1, :-1]], cells.cells
        names = [words.named(part) for part in cells.by_column]
        for texts, bounds, value, sums in _combined(cells.by_column, _ENDS, grid, row_counts, words, by_hand):
            text = texts[0] if len(names) == 1 else " & ".join(map(": ".join, zip(names, texts, strict=True)))
            line = {"feature": feature.name, "cell": text, "points": value}
            yield line | bounds | dict(zip(counts, sums, strict=False))
        never = zip(_ENDS, cells.by_column, strict=False)
        missing = {f"is_missing{end}": part.missing_code is None for end, part in never}
        yield {"feature": feature.name, "cell": UNSEEN, "is_unseen": True, "points": int(points[-1]), **missing}

    def _facts(self) -> dict[str, Any]:
        """Return the facts that ``repr`` shows, by name."""
        facts: dict[str, Any] = {"positive": self.card.classes.tolist()[self.card.positive or 0]}
        facts |= {name: getattr(self, name) for name in ("base", "slope", "offset", "rounding_error")}
        for line in [] if self.loss_of_rows is None else self.loss_of_rows.to_dicts():
            facts |= {f"{name}_{line['model']}": line[name] for name in ("auc", "log_loss")}
        return facts


def _combined(
    parts: Sequence[FeatureLevels],
    ends: Sequence[str],
    grid: np.ndarray,
    row_counts: np.ndarray,
    words: Wording,
    by_hand: Collection[str],
) -> Iterator[tuple[list[str], dict[str, Any], int, list[float]]]:
    """Yield, for each combination of levels of one or two columns, a tuple: its texts (one per column), its bounds by
    name, its points, and its training rows by class.

    Neighbouring levels with equal points are joined, unless the user set the levels of the column or gave texts to
    them.

    Parameters
    ----------
    parts : levels of each column.
    ends : for each column, the suffix of the names of its bounds, such as "_2".
    grid : points, an integer array with one axis of length n_levels for each column.
    row_counts : training rows, an array with the axes of ``grid`` and a last axis of length n_classes.
    words : source of the texts of levels.
    by_hand : columns whose levels the user set.
    """
    if not parts:
        yield [], {}, int(grid), row_counts.tolist()
        return
    level, new = parts[0], np.arange(parts[0].n_levels)
    if not (level.name in by_hand or any(words.given(level))):
        for k in range(level.n_levels - 1, level.n_special_levels, -1):
            if (grid[k] == grid[k - 1]).all():
                level, line = joined(level, np.array([k - 1, k]))
                new = line[new]
    for code, text in enumerate(words.levels(level, full=True)):
        is_level, bounds = new == code, {**bounds_of(level, code), "is_missing": code == level.missing_code}
        suffixed = {name + ends[0]: value for name, value in bounds.items()}
        inner = _combined(
            parts[1:], ends[1:], grid[is_level.argmax()], row_counts[is_level].sum(axis=0), words, by_hand
        )
        for texts, more, points, sums in inner:
            yield [text, *texts], suffixed | more, points, sums


@dataclass(kw_only=True, eq=False, repr=False)
class PointTable(Export):
    """Table of the points of each cell, for paper, wikis and spreadsheets; see `Points`.

    Facts about the model and the meaning of a score precede the table. The loss by rounding is stated as AUC and log
    loss of the exact model and of the points if rows are given, otherwise as the root mean squared error of the log
    odds. Infinite numbers have no score.

    Parameters
    ----------
    pdo, base_score, base_odds, max_points, X, y : see `Points`.
    format : {"csv", "html", "markdown"}, default="csv"
        Format of the table; a known suffix of the file selects it. CSV has the columns of `Points.to_frame`, with lists
        as JSON, after lines of comments that begin with ``#``. Texts that a spreadsheet would read as formulas are
        preceded by an apostrophe.

    Examples
    --------
    >>> import polars as pl
    >>> from bayesieve import SelectiveNB
    >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10})
    >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 10)
    >>> model.export(to="points", max_points=5).splitlines()[-2]
    '"age","> 50",50.0,inf,,"false",,,,"false","false",2'
    """

    name = "points"
    suffixes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        ".csv": {"format": "csv"},
        ".html": {"format": "html"},
        ".md": {"format": "markdown"},
    }
    title = "table of whole points: CSV, HTML or Markdown"
    _allowed: ClassVar[Mapping[str, Allowed]] = _ALLOWED
    format: str = "csv"
    pdo: float = 20
    base_score: float = 600
    base_odds: float = 30
    max_points: int | None = None
    X: Any = None
    y: Any = None

    def results(self, card: Scorecard) -> Collection[str]:
        """Return which of ``"points"`` and ``"reasons"`` the file contains."""
        return [POINTS]

    def write(self, plan: Plan) -> str:
        """Return the table as CSV, HTML or Markdown text."""
        points = Points(replace(plan.card, library="polars"), **vars(self))
        facts = dict(plan.head)
        facts["score"] = "points of the base and of one cell of each feature"
        facts[f"log odds of {plan.classes[plan.card.positive or 0]}"] = f"{points.offset!r} + {points.slope!r} * score"
        facts["error of log odds by rounding (root mean square)"] = format_number(points.rounding_error, 4)
        for line in [] if points.loss_of_rows is None else points.loss_of_rows.to_dicts():
            facts[f"{line['model']} on rows"] = f"AUC {line['auc']:.4f}, log loss {line['log_loss']:.4f}"
        frame = points.to_frame(plan.with_counts)
        if self.format == "csv":
            return _csv(frame, facts)
        loader, escaped = PackageLoader("bayesieve.scorecard.export"), select_autoescape(["html"])
        texts = Environment(loader=loader, autoescape=escaped, trim_blocks=True, finalize=visible)
        texts.filters.update(plain=_plain, count=format_count)
        counts = [name for name in frame.columns if name.startswith("rows_")]
        style = texts.get_template("points.css").render().encode()
        texts.globals["style_hash"] = base64.b64encode(hashlib.sha256(style).digest()).decode()
        content = {"facts": facts, "lines": frame.to_dicts(), "card": plan.card, "words": plan.words, "counts": counts}
        return texts.get_template(f"points.{self.format}").render(content)


def _plain(text: str) -> str:
    """Return a text with the special characters of Markdown escaped."""
    return re.sub(r"([\\`*_\[\]<>#|~&])", r"\\\1", text)


def _csv(frame: Any, facts: Mapping[str, str]) -> str:
    """Return a dataframe as CSV, preceded by ``facts`` as lines of comments; lists are written as JSON."""
    import polars as pl

    comments = [f"# {visible(name)}: {visible(text)}" for name, text in facts.items()]
    head = "".join(re.sub(r"[,;|\"]", " ", comment) + "\n" for comment in comments)  # one cell of a spreadsheet each
    lists = pl.col(pl.List(pl.String))
    texts = lists.map_elements(lambda values: json.dumps(values.to_list(), ensure_ascii=False), return_dtype=pl.String)
    return head + csv_text(frame.with_columns(texts), quote_style="non_numeric")
