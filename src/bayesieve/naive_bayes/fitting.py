"""What a model fits to its rows after the search: weights, and evidence of levels, cells and surfaces."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from scipy.special import entr

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.discretize.cells import coarser_codes
from bayesieve.engine.progress import Clock
from bayesieve.naive_bayes.calibration import Calibration, CalibrationRows, LeaveOneOutLoss, calibrate
from bayesieve.naive_bayes.discrete import DiscreteNB
from bayesieve.naive_bayes.evidence import EvidenceProblem, FittedEvidence, fit_evidence
from bayesieve.naive_bayes.monotone import merged_evidence, monotone, rising_cells
from bayesieve.naive_bayes.shapes import N_WAVES, Shape, apart_within, most_directions, shapes_within
from bayesieve.naive_bayes.sparsity import spread, worth_keeping
from bayesieve.naive_bayes.surfaces import Surface, SurfacePart, find_surfaces, pairs_of
from bayesieve.table import FeatureLevels
from bayesieve.table.derived_levels import PairLevels
from bayesieve.table.levels import TableLevels, smallest_unsigned

_NATS_PER_DEVIATION = 2.0  # that a feature must save for each effective deviation, or
_LEAST_SHARE = 3e-4  # of what all features could save, if that is less
_NATS_PER_CHOICE = 1.5  # that a surface must save, times the logarithm of the features that it is the best of
_LEAST_DEVIATION = 0.03  # of evidence that did not deviate in fewer rows
_LEAST_EVIDENCE = 0.05  # mean deviation in nats below which a feature without weight stays out
_MOST_CONTRIBUTIONS = 1 << 24  # features x rows x classes
_FEWEST_ROWS = 500  # that show which features are worth keeping


@dataclass(frozen=True)
class FitOptions:
    """What to fit to the rows.

    Parameters
    ----------
    fit : "weights", "levels", "cells", or None for nothing.
    signs : by position, 1 for features whose evidence must not fall, -1 for those whose evidence must not rise.
    drop : whether features that do not save their price drop out, and surfaces come in.
    most_surfaces : at most so many.
    without_surface : names of columns that surfaces leave out.
    seed : of samples of rows.
    n_jobs : threads.
    """

    fit: str | None
    signs: Mapping[int, int]
    drop: bool
    most_surfaces: int
    without_surface: Collection[str]
    seed: int
    n_jobs: int | None


@dataclass(frozen=True)
class FittedPredictor:
    """A predictor; the common factor on its weights; the cells that it tells apart, or None if these are levels;
    surfaces, as pairs after all other features; and standard errors of fitted evidence, (n_cells, n_classes) nats, by
    position of the feature.
    """

    predictor: DiscreteNB
    factor: float = 1.0
    cells: TableLevels | None = None
    surfaces: Sequence[PairLevels] = ()
    errors: Mapping[int, np.ndarray] = field(default_factory=dict)


def fit_predictor(
    coded: CodedTable,
    levels: Sequence[FeatureLevels],
    averaged: np.ndarray,
    smoothing: Smoothing,
    options: FitOptions,
    clock: Clock,
) -> FittedPredictor:
    """Fit what ``options`` ask for; with a warning if that was ended early.

    Parameters
    ----------
    coded : the rows, coded by ``levels``.
    averaged : (n_features,) weights of the search.
    smoothing : of the probabilities.
    """
    signs = options.signs
    if signs:
        of_table = TableLevels.of(levels)
        single = {of_table.names[k] for k in signs}
        pairs = [not single.intersection(part.name for part in pair.parts) for pair in of_table.pairs]
        averaged = averaged * np.append(np.ones(of_table.n_columns), pairs)
    predictor = DiscreteNB(smoothing=smoothing, feature_weights=averaged).fit(coded)
    if options.fit is None or not averaged.any():
        return FittedPredictor(predictor)
    calibration = _calibrated(coded, predictor, clock, options.seed)
    fitted = FittedPredictor(predictor, calibration.factor)
    predictor.set_params(smoothing=calibration.smoothing, feature_weights=calibration.weights).update()
    if calibration.loss is not None and options.fit != "weights" and calibration.weights.any():
        fitted = _with_evidence(predictor, levels, coded, calibration, averaged, options, clock)
    if signs:
        _straighten(predictor, levels if fitted.cells is None else fitted.cells, signs)
    return fitted


def _straighten(predictor: DiscreteNB, levels: Sequence[FeatureLevels], signs: Mapping[int, int]) -> None:
    """Make the evidence of features with a sign monotone over the ``levels`` that are predicted by."""
    rising = {k: rising_cells(levels[k], sign) for k, sign in signs.items() if k in predictor.used_}
    evidence, counts = predictor.evidence_, predictor.evidence_count_
    for k in rising.keys() - predictor.fitted_.keys():  # calibration ended early
        evidence[k] = predictor.feature_weights_[k] * merged_evidence(predictor.feature_log_prob_[k], rising[k])
    lines = {k: monotone(evidence[k], line, counts[k].sum(axis=1)) for k, line in rising.items()}
    predictor.replace_evidence(lines)


def _calibrated(coded: CodedTable, predictor: DiscreteNB, clock: Clock, seed: int) -> Calibration:
    counts, log_prior = predictor.feature_count_, predictor.class_log_prior_
    calibration = calibrate(coded, counts, log_prior, predictor.feature_weights_, predictor.smoothing, clock, seed)
    if not calibration.complete:
        factor = "" if calibration.factor == 1.0 else f" times {calibration.factor:.2g}"
        _warn_of_end(
            "Calibration", clock, f"the model keeps the weights of the search{factor}, and may be overconfident"
        )
    return calibration


def _warn_of_end(fit: str, clock: Clock, consequence: str) -> None:
    reason = "ran out of time (max_seconds)" if clock.is_up and not clock.interrupted else "was interrupted"
    warnings.warn(f"{fit} {reason}: {consequence}.", UserWarning, stacklevel=6)


def _with_evidence(
    predictor: DiscreteNB,
    levels: Sequence[FeatureLevels],
    coded: CodedTable,
    calibration: Calibration,
    averaged: np.ndarray,
    options: FitOptions,
    clock: Clock,
) -> FittedPredictor:
    """Let a calibrated predictor predict with evidence fitted to the rows, with a warning if that was ended early."""
    fit, parts = _start(predictor, levels, coded, calibration, averaged, options)
    weights = predictor.feature_weights_
    fit, fitted = fit.run(clock, parts, options.most_surfaces, drop=options.drop)
    if not np.array_equal(fit.weights[: weights.size], weights):
        weights = fit.weights[: weights.size]
        predictor.set_params(feature_weights=weights).update_weights()
    rows, n = fit.loss.rows, len(fit.counted)
    counts = [
        _counts(own, len(table), coded.n_classes, rows) for own, table in zip(fit.codes, fitted.tables, strict=True)
    ]
    used = np.array([_makes_a_difference(*one) for one in zip(fitted.tables, counts, strict=True)])
    used[:n] |= weights[fit.features[:n]] > 0
    factor = fitted.factor(_null(rows), used)
    kept = [(i, k) for i, k in enumerate(fit.features[:n].tolist()) if used[i]]
    evidence = {k: factor * (weights[k] * fit.counted[i] + fitted.tables[i]) for i, k in kept}
    spreads = [factor * own for own in _errors(fit, fitted, predictor, levels)]
    errors = {k: spreads[i] for i, k in kept} if spreads else {}
    finer = {k: counts[i] for i, k in kept if k in fit.cells}
    found = {
        s: (np.hstack([factor * fitted.tables[i], *spreads[i : i + 1]]), counts[i])
        for i, s in enumerate(fit.surfaces, n)
        if used[i]
    }
    of_table = TableLevels.of(levels)
    surfaces, of_surfaces = pairs_of(found, of_table.names)
    if surfaces:
        predictor.add_features([np.asarray(pair.counts) for pair in surfaces])
        levels = of_table.with_pairs([*of_table.pairs, *surfaces])
    for k, own in enumerate(of_surfaces, len(of_table)):
        evidence[k] = own[:, : coded.n_classes]
        if spreads:
            errors[k] = own[:, coded.n_classes :]
    predictor.set_evidence(evidence, predictor.class_log_prior_ + factor * fitted.intercept, finer)
    if not fitted.complete:
        _warn_of_end("The fit of the evidence", clock, "the model keeps the best evidence so far")
    of_cells = None
    if finer:
        told = [replace(fit.cells[k], counts=finer[k]) if k in finer else level for k, level in enumerate(levels)]
        of_cells = TableLevels.of(told)
    return FittedPredictor(predictor, fit.factor, of_cells, surfaces, errors)


def _errors(
    fit: _EvidenceFit, fitted: FittedEvidence, predictor: DiscreteNB, levels: Sequence[FeatureLevels]
) -> list[np.ndarray]:
    """Standard errors of the evidence of each feature and surface, (n_cells, n_classes) nats, without what all classes
    have alike: those of the deviations and, as far as these leave it, those of counting. Empty after an early end.
    """
    errors = []
    for i, (variances, left) in enumerate(zip(fitted.variances, fitted.left, strict=True)):
        own = _of_classes(variances, fitted.intercept.size)
        if i < len(fit.counted):
            k = int(fit.features[i])
            by_level = counting_variances(predictor.feature_count_[k])
            counting = by_level[coarser_codes(fit.cells[k], levels[k])] if k in fit.cells else by_level
            own += (left * fit.weights[k]) ** 2 * counting
        errors.append(np.sqrt(own))
    return errors


def _of_classes(variances: np.ndarray, n_classes: int) -> np.ndarray:
    """(n_cells, n_classes) variances of evidence less its mean over the classes, from those of its numbers."""
    if variances.shape[1] == 1:  # what the second class has more than the first
        return np.repeat(variances / 4.0, n_classes, axis=1)
    share = 1.0 / n_classes
    return (1.0 - share) ** 2 * variances + share**2 * (variances.sum(axis=1, keepdims=True) - variances)


def counting_variances(counts: np.ndarray) -> np.ndarray:
    """(n_levels, n_classes) variances of log P(level | class) less its mean over the classes, by counts."""
    own = 1.0 / np.maximum(counts, 0.5) - 1.0 / np.maximum(counts.sum(axis=0), 1.0)
    return _of_classes(np.maximum(own, 0.0), counts.shape[1])


def _start(
    predictor: DiscreteNB,
    levels: Sequence[FeatureLevels],
    coded: CodedTable,
    calibration: Calibration,
    averaged: np.ndarray,
    options: FitOptions,
) -> tuple[_EvidenceFit, dict[int, SurfacePart]]:
    """The fit of single features, and their parts in surfaces by position in the fit."""
    assert calibration.loss is not None
    assert calibration.every is not None
    rows, weights, n_classes = calibration.loss.rows, predictor.feature_weights_, coded.n_classes
    cells: dict[int, FeatureLevels] = {}
    if options.fit == "cells" and coded.recoder is not None and coded.levels is not None:
        features, cells, codes = _cells(coded, weights, rows)
    else:
        features = np.flatnonzero(weights)
        codes = coded.codes_at(features, rows.positions)
    of_level = [
        coarser_codes(cells[k], coded.levels[k]) if k in cells else np.arange(coded.n_levels[k])  # type: ignore[index]
        for k in features.tolist()
    ]
    counts = [_counts(own, line.size, n_classes, rows) for own, line in zip(codes, of_level, strict=True)]
    recoded = set(rows.features[list(rows.counts_of_folds)].tolist())  # their groups know the rows
    shapes = _shapes(features.tolist(), cells, of_level, counts, recoded, weights, n_classes)
    counted = [predictor.feature_log_prob_[k][line] for k, line in zip(features, of_level, strict=True)]
    corrections: dict[int, np.ndarray] = {}
    parts: dict[int, SurfacePart] = {}
    for i, k in enumerate(features.tolist()):
        sign = options.signs.get(k)
        if sign is not None:
            merged = merged_evidence(predictor.feature_log_prob_[k], rising_cells(levels[k], sign))
            before, counted[i] = counted[i], merged[of_level[i]]
            corrections[k] = counted[i] - before
            shapes[i] = replace(shapes[i], rising=rising_cells(cells.get(k, levels[k]), sign))
        elif cells and k not in recoded:
            part = SurfacePart.of(k, levels[k], cells.get(k), of_level[i], counts[i].sum(axis=1))
            if part is not None and not set(part.columns).intersection(options.without_surface):
                parts[i] = part
    fit = _EvidenceFit(
        coded=coded,
        cells=cells,
        every=calibration.every,
        averaged=averaged,
        n_jobs=options.n_jobs,
        features=features,
        codes=codes,
        shapes=shapes,
        counted=counted,
        corrections=corrections,
        loss=calibration.loss,
        factor=calibration.factor,
    )
    return fit.weighted(weights), parts


def _makes_a_difference(deviations: np.ndarray, counts: np.ndarray) -> bool:
    """Whether deviations of a feature without weight, (n_cells, n_classes) like its counts, make a difference."""
    return bool(counts.sum(axis=1) @ np.abs(deviations).max(axis=1) > _LEAST_EVIDENCE * counts.sum())


@dataclass(frozen=True)
class _EvidenceFit:
    """Evidence to be fitted to rows.

    Parameters
    ----------
    coded : the rows.
    cells : of the features that have finer ones than their levels.
    every : the rows that evidence is fitted to in the end.
    averaged : (n_features,) weights of the search.
    n_jobs : threads.
    features : positions in the table, ascending; those of surfaces come after all features of the table.
    codes : (features, rows) codes of their cells.
    shapes : how each may deviate.
    counted : of each but the surfaces (n_cells, n_classes) counted evidence, without weights.
    corrections : by position in the table, what of it is beyond ``loss``.
    loss : what counting predicts of each row from all others.
    factor : common factor on the weights.
    weights : of all features of the table, and of surfaces.
    surfaces : the last of the shapes are theirs.
    """

    coded: CodedTable
    cells: Mapping[int, FeatureLevels]
    every: CalibrationRows
    averaged: np.ndarray
    n_jobs: int | None
    features: np.ndarray
    codes: np.ndarray
    shapes: list[Shape]
    counted: list[np.ndarray]
    corrections: Mapping[int, np.ndarray]
    loss: LeaveOneOutLoss
    factor: float
    weights: np.ndarray = field(default_factory=lambda: np.zeros(0))
    surfaces: Sequence[Surface] = ()

    def weighted(self, weights: np.ndarray) -> _EvidenceFit:
        """With other weights of the features."""
        shapes = list(self.shapes)
        for i, (k, counted) in enumerate(zip(self.features.tolist(), self.counted, strict=False)):
            if shapes[i].rising.size:
                shapes[i] = replace(shapes[i], counted=weights[k] * counted)
        return replace(self, weights=weights, shapes=shapes)

    def run(
        self, clock: Clock, parts: Mapping[int, SurfacePart], most_surfaces: int, *, drop: bool
    ) -> tuple[_EvidenceFit, FittedEvidence]:
        """With surfaces that the rows pay for, the features that stay and their evidence, fitted to all rows in the
        end; all features stay, and there are no surfaces, unless ``drop`` is True.
        """
        problem = self.problem()
        if not drop or len(self.shapes) == 1:
            return self._on_every_row(fit_evidence(problem, clock), clock)
        rough = fit_evidence(problem, clock, roughly=True)
        surfaces = find_surfaces(parts, most_surfaces, problem, rough.point, self.codes) if rough.complete else {}
        if surfaces:
            more = self._with(surfaces)
            problem, start = problem.followed_by(rough, more.codes, more.shapes)
            return more._without_the_worthless(problem, fit_evidence(problem, clock, start, roughly=True), clock)
        return self._without_the_worthless(problem, rough, clock)

    def offset(self) -> np.ndarray:
        """(rows, n_classes) log joint of the counted evidence."""
        offset = self.loss.joint(self.weights)
        for i, k in enumerate(self.features.tolist()):
            if k in self.corrections:
                offset += self.weights[k] * _lines(self.corrections[k], self.codes[i])
        return offset

    def problem(self) -> EvidenceProblem:
        """To be solved by the evidence."""
        rows = self.loss.rows
        return EvidenceProblem(self.codes, self.shapes, self.offset(), rows.classes, rows.weights, self.n_jobs)

    def _with(self, surfaces: Mapping[Surface, np.ndarray]) -> _EvidenceFit:
        """With ``surfaces``, and their codes of the rows, after the other features."""
        highest = smallest_unsigned(max(surface.size[0] * surface.size[1] for surface in surfaces))
        codes = np.array(list(surfaces.values())).astype(max(self.codes.dtype, highest))
        n_features = self.weights.size
        return replace(
            self,
            features=np.append(self.features, n_features + np.arange(len(codes))),
            codes=np.concatenate([self.codes, codes]),
            shapes=[*self.shapes, *(surface.shape for surface in surfaces)],
            weights=np.append(self.weights, np.zeros(len(codes))),
            surfaces=tuple(surfaces),
        )

    def _without_the_worthless(
        self, problem: EvidenceProblem, rough: FittedEvidence, clock: Clock
    ) -> tuple[_EvidenceFit, FittedEvidence]:
        """Fitted to the end without the features that do not save their price."""
        if not rough.complete:
            return self, rough
        n = len(self.shapes)
        rows = self.loss.rows
        some = spread(rows.classes.size, max(_FEWEST_ROWS, _MOST_CONTRIBUTIONS // (n * problem.n_classes)))
        weights = rows.weights[some] * (rows.weights.sum() / rows.weights[some].sum())
        prices = np.minimum(_NATS_PER_DEVIATION * (1.0 + rough.effective), _LEAST_SHARE * _null(rows))
        of_surfaces = slice(n - len(self.surfaces), None)
        prices[of_surfaces] = 1.0 + rough.effective[of_surfaces] + _NATS_PER_CHOICE * np.log(n)
        contributions = self._contributions(rough.tables, some)
        joint = contributions.sum(axis=0) + self.loss.log_prior + rough.intercept
        kept = worth_keeping(contributions, joint, rows.classes[some], weights, prices)
        del contributions, joint
        fit = self._only(kept)
        fewer, start = problem.without(rough, kept, fit.offset())
        return fit._on_every_row(fit_evidence(fewer.shaped(fit.shapes), clock, start), clock)

    def _only(self, kept: np.ndarray) -> _EvidenceFit:
        """Without some features, whose weight goes to those that are left."""
        fit = replace(
            self,
            features=self.features[kept],
            codes=self.codes[kept],
            shapes=[shape for shape, stays in zip(self.shapes, kept, strict=True) if stays],
            counted=[own for own, stays in zip(self.counted, kept, strict=False) if stays],
            surfaces=[own for own, stays in zip(self.surfaces, kept[len(self.counted) :], strict=True) if stays],
        )
        if not self.weights[self.features[~kept]].any():
            return fit
        averaged = np.zeros_like(self.weights)
        left = fit.features[: len(fit.counted)]
        averaged[left] = self.averaged[left]
        weights, factor = self.loss.refitted(averaged)
        return replace(fit, factor=factor).weighted(weights)

    def _on_every_row(self, fitted: FittedEvidence, clock: Clock) -> tuple[_EvidenceFit, FittedEvidence]:
        """Fitted once more, to the rows that were not looked at so far, too."""
        every = self.every
        if not fitted.complete or every.positions.size == self.loss.rows.positions.size:
            return self, fitted
        of_table = self.features[: len(self.counted)].tolist()
        parts = {part.feature for surface in self.surfaces for part in (surface.first, surface.second)}
        codes = self._codes_in_every(sorted(parts.union(of_table)))
        grids = [s.codes(*(part.bins(codes[part.feature]) for part in (s.first, s.second))) for s in self.surfaces]
        kind = max((own.dtype for own in self.codes), key=lambda dtype: dtype.itemsize)
        of_every = np.array([*(codes[k] for k in of_table), *grids], dtype=kind)
        weighing = np.flatnonzero(self.weights[every.features])
        fit = replace(self, codes=of_every, loss=self.loss.over(every, weighing))
        start = fitted.point, np.maximum(fitted.deviations, _LEAST_DEVIATION)
        following = fit_evidence(fit.problem(), clock, start, nearby=True)
        return (fit, following) if following.complete else (self, fitted)

    def _codes_in_every(self, features: Sequence[int]) -> dict[int, np.ndarray]:
        """Codes of the cells of features in `every` row."""
        positions, fine = self.every.positions, [k for k in features if k in self.cells]
        whole = [k for k in features if k not in self.cells]
        codes = dict(zip(whole, self.coded.codes_at(whole, positions), strict=True))
        if fine:
            assert self.coded.recoder is not None
            recoder = self.coded.recoder.select(np.array(fine)).take(positions)
            codes |= dict(zip(fine, recoder.code([self.cells[k] for k in fine]).stored, strict=True))
        return codes

    def _contributions(self, deviations: Sequence[np.ndarray], some: np.ndarray) -> np.ndarray:
        """(features, some rows, n_classes): counted evidence and deviations."""
        position = {k: at for at, k in enumerate(self.loss.rows.features.tolist())}
        result = np.empty((len(deviations), some.size, deviations[0].shape[1]), dtype=np.float32)
        for i, k in enumerate(self.features.tolist()):
            added = deviations[i] + self.weights[k] * self.corrections.get(k, 0.0)
            result[i] = _lines(added, self.codes[i][some])
            if self.weights[k] > 0:
                result[i] += self.weights[k] * self.loss.evidence_of(position[k], some)
        return result


def _null(rows: CalibrationRows) -> float:
    """Log loss of the rows by the shares of the classes, in nats."""
    total = rows.weights.sum()
    return float(entr(np.bincount(rows.classes, rows.weights) / total).sum() * total)


def _lines(table: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The line of each code, zeros for codes of no cell."""
    return np.append(table, np.zeros((1, table.shape[1])), axis=0)[np.minimum(codes, len(table))]


def _cells(
    coded: CodedTable, weights: np.ndarray, rows: CalibrationRows
) -> tuple[np.ndarray, dict[int, FeatureLevels], np.ndarray]:
    """Features of positive weight, and those that may come back through their cells; the cells of those that have
    finer ones than their levels; and codes of both (n_features, n_rows).
    """
    assert coded.levels is not None
    assert coded.recoder is not None
    heaviest = np.argsort(-weights, kind="stable")
    most = np.count_nonzero(weights) + most_directions(coded.n_classes) // N_WAVES
    features = np.sort(heaviest[:most])
    levels = [coded.levels[k] for k in features.tolist()]
    refined, codes = coded.recoder.select(features).take(rows.positions).refine(levels, rows.weights)
    split = [cell is not level for cell, level in zip(refined, levels, strict=True)]
    usable = np.array(split) | (weights[features] > 0)
    cells = {k: refined[i] for i, k in enumerate(features.tolist()) if split[i]}
    return features[usable], cells, codes[usable]


def _counts(codes: np.ndarray, n_cells: int, n_classes: int, rows: CalibrationRows) -> np.ndarray:
    """Weight of all rows of each cell and class, estimated from a sample, which may lack rows of a class."""
    at = np.minimum(codes, n_cells).astype(np.int64) * n_classes + rows.classes
    counts = np.bincount(at, rows.weights * rows.n_stood_for, (n_cells + 1) * n_classes)
    return counts.reshape(n_cells + 1, n_classes)[:-1]


def _shapes(
    features: list[int],
    cells: Mapping[int, FeatureLevels],
    of_level: list[np.ndarray],
    counts: list[np.ndarray],
    recoded: Container[int],
    weights: np.ndarray,
    n_classes: int,
) -> list[Shape]:
    """How each feature may deviate, the heaviest first where not all can be looked at together."""

    def shape(i: int) -> Shape:
        k, line = features[i], of_level[i]
        if k not in cells:
            return Shape.fixed(line.size) if k in recoded else Shape.free(line.size)
        if cells[k].kind == "numeric":
            return Shape.of_curve(line, counts[i].sum(axis=1), cells[k].missing_code)
        return Shape.of_values(line, int(line.max()) + 1, with_groups=k not in recoded)

    within = shapes_within([partial(shape, i) for i in range(len(features))], weights[features], n_classes)
    shapes = [
        (Shape.apart_only if weights[k] > 0 and k not in recoded and k not in cells else Shape.fixed)(line.size)
        if known is None
        else known
        for k, line, known in zip(features, of_level, within, strict=True)
    ]
    return apart_within(shapes, weights[features], n_classes)
