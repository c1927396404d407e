"""What a `SelectiveNB` fits to its rows after the search: weights, and evidence."""

from __future__ import annotations

import warnings
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import entr

from bayesieve.classifier.model_parts import is_averaged, wanted_fit
from bayesieve.classifier.surfaces import Surface, SurfaceFinder, SurfacePart, add_surfaces, makes_a_difference
from bayesieve.counts import CodedTable
from bayesieve.discretize.cells import coarser_codes
from bayesieve.engine.progress import Clock
from bayesieve.naive_bayes import DiscreteNB
from bayesieve.naive_bayes.calibration import Calibration, CalibrationRows, LeaveOneOutLoss, calibrate
from bayesieve.naive_bayes.evidence import EvidenceProblem, FittedEvidence, fit_evidence
from bayesieve.naive_bayes.monotone import merged_evidence, monotone, rising_cells
from bayesieve.naive_bayes.shapes import N_WAVES, Shape, most_directions, shapes_within
from bayesieve.naive_bayes.sparsity import worth_keeping
from bayesieve.table import FeatureLevels
from bayesieve.table.levels import smallest_unsigned
from bayesieve.table.table_levels import TableLevels

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB

_NATS_PER_DEVIATION = 2.0  # that a feature must save for each effective deviation, or
_LEAST_SHARE = 3e-4  # of what all features could save, if that is less
_NATS_PER_CHOICE = 1.5  # that a surface must save, times the logarithm of the features that it is the best of
_MOST_CONTRIBUTIONS = 1 << 24  # features x rows x classes


def calibrated_predictor(
    model: SelectiveNB, coded: CodedTable, clock: Clock, signs: Mapping[int, int]
) -> tuple[DiscreteNB, float, TableLevels | None]:
    """The predictor with the weights of the search or of calibration, the common factor on them, and the cells that
    the predictor reads, None where it reads levels. ``signs``: by position, 1 for features whose evidence must not
    fall, -1 for those whose evidence must not rise.
    """
    weights, levels = model.selector_.weights_, TableLevels.of(model.encoder_.levels_)
    if signs:
        single = {levels.names[k] for k in signs}
        pairs = [not single.intersection(part.name for part in pair.parts) for pair in levels.pairs]
        weights = weights * np.append(np.ones(levels.n_columns), pairs)
    predictor = DiscreteNB(smoothing=model.smoothing, feature_weights=weights).fit(coded)
    wanted, cells = wanted_fit(model), None
    if wanted is None or not weights.any():
        return predictor, 1.0, None
    calibration = _calibrated(coded, predictor, clock)
    predictor.set_params(smoothing=calibration.smoothing, feature_weights=calibration.weights).update()
    if calibration.loss is not None and wanted != "weights" and calibration.weights.any():
        cells = _set_fitted_evidence(model, predictor, coded, calibration.loss, clock, signs)
    if signs:
        of_cells = levels if cells is None else cells
        rising = {k: rising_cells(of_cells[k], sign) for k, sign in signs.items() if k in predictor.used_}
        evidence, counts = predictor.evidence_, predictor.evidence_count_
        for k in rising.keys() - predictor.fitted_.keys():  # calibration ended early
            evidence[k] = predictor.feature_weights_[k] * merged_evidence(predictor.feature_log_prob_[k], rising[k])
        lines = {k: monotone(evidence[k], line, counts[k].sum(axis=1)) for k, line in rising.items()}
        predictor.replace_evidence(lines)
    return predictor, calibration.factor, cells


def _calibrated(coded: CodedTable, predictor: DiscreteNB, clock: Clock) -> Calibration:
    """The weights of a predictor calibrated, with a warning where that was ended early."""
    counts, log_prior = predictor.feature_count_, predictor.class_log_prior_
    calibration = calibrate(coded, counts, log_prior, predictor.feature_weights_, predictor.smoothing, clock)
    if not calibration.complete:
        factor = "" if calibration.factor == 1.0 else f" times {calibration.factor:.2g}"
        _warn_of_end(
            "Calibration", clock, f"the model keeps the weights of the search{factor}, and may be overconfident"
        )
    return calibration


def _warn_of_end(fit: str, clock: Clock, consequence: str) -> None:
    reason = "ran out of time (max_seconds)" if clock.is_up and not clock.interrupted else "was interrupted"
    warnings.warn(f"{fit} {reason}: {consequence}.", UserWarning, stacklevel=6)


def _set_fitted_evidence(
    model: SelectiveNB,
    predictor: DiscreteNB,
    coded: CodedTable,
    loss: LeaveOneOutLoss,
    clock: Clock,
    signs: Mapping[int, int],
) -> TableLevels | None:
    """Let a calibrated predictor predict with evidence fitted to the rows of calibration, with a warning where that was
    ended early. Returns the cells that it reads in place of levels, None where it reads levels.
    """
    rows, weights = loss.rows, predictor.feature_weights_
    cells: dict[int, FeatureLevels] = {}
    if wanted_fit(model) == "cells" and coded.recoder is not None and coded.levels is not None:
        features, cells, codes = _cells(coded, weights, rows)
    else:
        features = np.flatnonzero(weights)
        codes = coded.codes_at(features, rows.positions)
    n_levels = coded.n_levels[features].tolist()
    of_level = [
        coarser_codes(cells[k], coded.levels[k]) if k in cells else np.arange(n)  # type: ignore[index]
        for k, n in zip(features.tolist(), n_levels, strict=True)
    ]
    counts = [_counts(own, line.size, coded.n_classes, rows) for own, line in zip(codes, of_level, strict=True)]
    recoded = set(rows.features[list(rows.counts_of_folds)].tolist())  # their groups know the rows
    shapes = _shapes(features.tolist(), cells, of_level, counts, recoded, weights, coded.n_classes)
    counted = [weights[k] * predictor.feature_log_prob_[k][line] for k, line in zip(features, of_level, strict=True)]
    corrections: dict[int, np.ndarray] = {}
    for i, k in enumerate(features.tolist()):
        if k in signs:
            level = model.encoder_.levels_[k]
            merged = merged_evidence(predictor.feature_log_prob_[k], rising_cells(level, signs[k]))
            before, counted[i] = counted[i], weights[k] * merged[of_level[i]]
            corrections[i] = counted[i] - before
            rising = rising_cells(cells.get(k, level), signs[k])
            shapes[i] = replace(shapes[i], rising=rising, counted=counted[i])
    parts = {
        i: SurfacePart.of(k, coded.levels[k], cells.get(k), of_level[i], counts[i].sum(axis=1))  # type: ignore[index]
        for i, k in enumerate(features.tolist())
        if cells and not (k in signs or k in recoded)
    }
    fit = _EvidenceFit(features, codes, shapes, corrections, weights, loss)
    fit, fitted, kept = fit.run(clock, SurfaceFinder.of(model, parts), drop=is_averaged(model))
    dropped = features[~kept[: features.size]]
    if dropped.size:
        weights = weights.copy()
        weights[dropped] = 0.0
        predictor.set_params(feature_weights=weights).update_weights()
    tables = dict(zip(np.flatnonzero(kept).tolist(), fitted.tables, strict=True))
    factor = fitted.factor(_null(rows))
    evidence, finer = {}, {}
    for i, (k, count) in enumerate(zip(features.tolist(), counts, strict=True)):
        if kept[i] and (weights[k] > 0 or makes_a_difference(tables[i], count)):
            evidence[k] = factor * (counted[i] + tables[i])
            if k in cells:
                finer[k] = count
    surfaces = {
        surface: (factor * tables[i], _counts(fit.codes[i], len(tables[i]), coded.n_classes, rows))
        for i, surface in enumerate(fit.surfaces, features.size)
        if kept[i]
    }
    evidence |= add_surfaces(model, predictor, surfaces)
    predictor.set_evidence(evidence, predictor.class_log_prior_ + factor * fitted.intercept, finer)
    if not fitted.complete:
        _warn_of_end("The fit of the evidence", clock, "the model keeps the best evidence so far")
    if not finer:
        return None
    levels = enumerate(model.encoder_.levels_)
    return TableLevels.of([replace(cells[k], counts=finer[k]) if k in finer else level for k, level in levels])


@dataclass(frozen=True)
class _EvidenceFit:
    """Evidence to be fitted to the rows of calibration.

    Parameters
    ----------
    features : their positions in the table, ascending.
    codes : (features, rows) codes of their cells.
    shapes : how each may deviate.
    corrections : by position among ``features``, (n_cells, n_classes) counted beyond ``loss``.
    weights : of all features of the table.
    loss : what counting predicts of each row from all others.
    surfaces : the last of the shapes are theirs.
    """

    features: np.ndarray
    codes: np.ndarray
    shapes: list[Shape]
    corrections: Mapping[int, np.ndarray]
    weights: np.ndarray
    loss: LeaveOneOutLoss
    surfaces: Sequence[Surface] = ()

    def run(
        self, clock: Clock, finder: SurfaceFinder, *, drop: bool
    ) -> tuple[_EvidenceFit, FittedEvidence, np.ndarray]:
        """With surfaces that the rows pay for, the fitted evidence of the features that stay, which are marked; all do,
        and there are no surfaces, unless ``drop`` is True.
        """
        rows, every = self.loss.rows, np.ones(len(self.shapes), dtype=bool)
        problem = EvidenceProblem(self.codes, self.shapes, self._offset(every), rows.classes, rows.weights)
        if not drop or every.size == 1:
            return self, fit_evidence(problem, clock), every
        rough = fit_evidence(problem, clock, roughly=True)
        surfaces = finder.find(problem, rough.point, self.codes) if rough.complete else {}
        if surfaces:
            more = self._with(surfaces)
            problem, start = problem.followed_by(rough, more.codes, more.shapes)
            return more._without_the_worthless(problem, fit_evidence(problem, clock, start, roughly=True), clock)
        return self._without_the_worthless(problem, rough, clock)

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
    ) -> tuple[_EvidenceFit, FittedEvidence, np.ndarray]:
        """Fitted to the end without the features that do not save their price."""
        rows, every = self.loss.rows, np.ones(len(self.shapes), dtype=bool)
        if not rough.complete:
            return self, rough, every
        some = _spread(problem.some, _MOST_CONTRIBUTIONS // (every.size * problem.n_classes))
        weights = rows.weights[some] * (rows.weights.sum() / rows.weights[some].sum())
        prices = np.minimum(_NATS_PER_DEVIATION * (1.0 + rough.effective), _LEAST_SHARE * _null(rows))
        of_surfaces = slice(every.size - len(self.surfaces), None)
        prices[of_surfaces] = 1.0 + rough.effective[of_surfaces] + _NATS_PER_CHOICE * np.log(every.size)
        contributions = self._contributions(rough.tables, some)
        joint = contributions.sum(axis=0) + self.loss.log_prior + rough.intercept
        kept = worth_keeping(contributions, joint, rows.classes[some], weights, prices)
        problem, start = problem.without(rough, kept, self._offset(kept))
        return self, fit_evidence(problem, clock, start), kept

    def _offset(self, kept: np.ndarray) -> np.ndarray:
        """(rows, n_classes) log joint of the counted evidence of the features that stay."""
        weights = self.weights.copy()
        weights[self.features[~kept]] = 0.0
        offset = self.loss.joint(weights)
        for i, correction in self.corrections.items():
            if kept[i]:
                offset += _lines(correction, self.codes[i])
        return offset

    def _contributions(self, deviations: Sequence[np.ndarray], some: np.ndarray) -> np.ndarray:
        """(features, some rows, n_classes): counted evidence and deviations."""
        position = {k: at for at, k in enumerate(self.loss.rows.features.tolist())}
        result = np.empty((len(deviations), some.size, deviations[0].shape[1]), dtype=np.float32)
        for i, k in enumerate(self.features.tolist()):
            added = deviations[i] + self.corrections.get(i, 0.0)
            result[i] = _lines(added, self.codes[i, some])
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


def _spread(rows: np.ndarray, most: int) -> np.ndarray:
    """At most so many of the rows, but not fewer than 500, evenly spread."""
    most = max(most, 500)
    return rows if rows.size <= most else rows[np.arange(most) * rows.size // most]


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
    return [
        (Shape.apart_only if weights[k] > 0 and k not in recoded and k not in cells else Shape.fixed)(line.size)
        if known is None
        else known
        for k, line, known in zip(features, of_level, within, strict=True)
    ]
