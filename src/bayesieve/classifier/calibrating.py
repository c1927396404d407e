"""What a `SelectiveNB` fits to its rows after the search: weights, and evidence."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from bayesieve.counts import CodedTable
from bayesieve.naive_bayes import DiscreteNB
from bayesieve.naive_bayes.calibration import Calibration, calibrate
from bayesieve.naive_bayes.evidence import EvidenceProblem, fit_evidence, shapes_of_levels
from bayesieve.search.recorder import Clock
from bayesieve.selection import CompressionAveraging

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB


def calibrated_predictor(model: SelectiveNB, coded: CodedTable, clock: Clock) -> tuple[DiscreteNB, float]:
    """The predictor with the weights of the search or of calibration, and the common factor on them."""
    weights = model.selector_.weights_
    predictor = DiscreteNB(smoothing=model.smoothing, feature_weights=weights).fit(coded)
    wanted = _wanted(model)
    if wanted is None or not weights.any():
        return predictor, 1.0
    calibration = _calibrated(coded, predictor, clock)
    predictor.set_params(smoothing=calibration.smoothing, feature_weights=calibration.weights).update()
    if calibration.complete and wanted != "weights":
        _set_fitted_evidence(predictor, coded, calibration, clock)
    return predictor, calibration.factor


def _wanted(model: SelectiveNB) -> str | None:
    """What to fit once more: "weights", "levels", or nothing."""
    if isinstance(model.calibrate, str) and model.calibrate != "auto":
        return str(model.calibrate)
    wanted = (
        model.calibrate if not isinstance(model.calibrate, str) else isinstance(model.selector_, CompressionAveraging)
    )
    return "weights" if wanted else None


def _calibrated(coded: CodedTable, predictor: DiscreteNB, clock: Clock) -> Calibration:
    """The weights of a predictor calibrated, with a warning where that was ended early."""
    counts, log_prior = predictor.feature_count_, predictor.class_log_prior_
    calibration = calibrate(coded, counts, log_prior, predictor.feature_weights_, predictor.smoothing, clock)
    if not calibration.complete:
        reason = "ran out of time (max_seconds)" if clock.is_up else "was interrupted"
        warnings.warn(
            f"Calibration {reason}: the model keeps the weights of the search"
            f"{'' if calibration.factor == 1.0 else f' times {calibration.factor:.2g}'}, and may be overconfident.",
            UserWarning,
            stacklevel=5,
        )
    return calibration


def _set_fitted_evidence(predictor: DiscreteNB, coded: CodedTable, calibration: Calibration, clock: Clock) -> None:
    """Let a calibrated predictor predict with the evidence of its levels fitted to the rows of calibration, with a
    warning where that was ended early.
    """
    rows = calibration.rows
    assert rows is not None
    assert calibration.joint is not None
    features = np.flatnonzero(predictor.feature_weights_)
    n_levels = coded.n_levels[features].tolist()
    codes = np.stack([np.take(coded.codes_of([k])[0], rows.positions) for k in features])
    shapes = shapes_of_levels(n_levels, predictor.feature_weights_[features], rows.counts_of_folds, coded.n_classes)
    fitted = fit_evidence(EvidenceProblem(codes, shapes, calibration.joint, rows.classes, rows.weights), clock)
    evidence = {
        k: predictor.feature_weights_[k] * predictor.feature_log_prob_[k] + deviation
        for k, deviation in zip(features.tolist(), fitted.tables, strict=True)
    }
    predictor.set_evidence(evidence, predictor.class_log_prior_ + fitted.intercept)
    if not fitted.complete:
        reason = "ran out of time (max_seconds)" if clock.is_up else "was interrupted"
        warnings.warn(
            f"The fit of the evidence {reason}: the model keeps the best evidence so far.", UserWarning, stacklevel=5
        )
