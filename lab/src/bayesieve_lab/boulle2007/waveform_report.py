"""Section of the report on sections 5 and 6 of Boulle (2007)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bayesieve_lab.boulle2007.data import OURS, REFERENCE, SHORT
from bayesieve_lab.boulle2007.waveform import BY_SEARCH, EXHAUSTIVE, PAPER_MAP, SplitResult, WaveformStudy
from bayesieve_lab.boulle2007.waveform_claims import (
    PAPER_TOP,
    features_text,
    in_all_top,
    judge_waveform,
    mean_size,
    peaks_of,
)
from bayesieve_lab.boulle2007.waves import waves_figure
from bayesieve_lab.claims import claims_table, reasons
from bayesieve_lab.comparison.differences import PairedTest, corrected_resampled_t
from bayesieve_lab.figures.models import models_figure, posterior_figure
from bayesieve_lab.figures.tradeoff import tradeoff_figure
from bayesieve_lab.figures.weights import weights_figure
from bayesieve_lab.tables import TextTable, document, mean_and_spread, p_text, signed

FILE = "boulle2007-waveform-{}.svg"


def waveform_section(study: WaveformStudy, files: dict[str, str]) -> str:
    """Return the section in Markdown; its figures are added to ``files`` by name."""
    first, several, judged = study.splits[0], len(study.splits) > 1, judge_waveform(study.splits)
    files |= _figures(study)
    return document(
        Path(__file__).with_name("waveform.md"),
        study=study,
        first=first,
        n=len(study.splits),
        several=several,
        subsets=_subsets(first),
        findings=findings(study),
        claims=claims_table(judged),
        reasons=reasons(judged),
        file=FILE,
        weights=weights_table(first),
        reference=REFERENCE,
        by_search=BY_SEARCH,
        features_text=features_text,
        peaks=peaks_of(first.weights[REFERENCE]),
        clear=peaks_of(first.weights[BY_SEARCH]),
        top=top_table(first),
        distribution=distribution_table(first),
        measures=measures_table(study),
        differences=differences_table(study) if several else None,
    )


def findings(study: WaveformStudy) -> tuple[str, ...]:
    """Return the findings, one sentence each."""
    first, splits = study.splits[0], study.splits
    n = len(splits)
    missed = sum(split.found_by_search.below_best > 1e-9 for split in splits)
    gain = np.mean(
        [s.measures[BY_SEARCH]["compression_rate"] - s.measures[REFERENCE]["compression_rate"] for s in splits]
    )
    lines = [
        f"Uninformative: {features_text({*range(1, study.n_features + 1)} - {*first.informative})}. SNB(MAP) selects "
        f"{features_text(first.selected('SNB(MAP)'))}; the paper's selects {features_text(PAPER_MAP)}. All of the "
        f"{len(first.posterior.top)} most probable subsets contain {features_text(in_all_top(first))}; in the paper "
        f"{features_text(PAPER_TOP)}.",
    ]
    if n > 1:
        lines.append(f"Over the splits {REFERENCE} is significantly better than {_beaten(study)}.")
    lines += [
        f"The more probable half of the subsets has {mean_size(first):.1f} features on average (in the paper around "
        f"10), all subsets have {len(first.informative) / 2:.1f}.",
        f"Averaging over the subsets of the multi-start search ({BY_SEARCH}) gives sharper weights than over "
        f"all subsets, and a compression rate higher by {gain:.3f} on the test rows"
        + (" on average" if n > 1 else "")
        + f". The search finds the most probable subset in {n - missed} of {n} {'splits' if n > 1 else 'split'}.",
    ]
    return tuple(lines)


def weights_table(split: SplitResult) -> TextTable:
    """Return a table of the weights on one split, with one row per feature and one column per method."""
    names = (*EXHAUSTIVE, BY_SEARCH, OURS)
    weights = zip(*(split.weights[name] for name in names), strict=True)
    rows = [(f"V{number}", *(f"{weight:.2f}" for weight in row)) for number, row in enumerate(weights, start=1)]
    return TextTable.of(("Feature", *(f">{name}" for name in names)), rows)


def top_table(split: SplitResult, n: int = 10) -> TextTable:
    """Return a table of the ``n`` most probable subsets of one split: rank, features, and how much more probable the
    best is.
    """
    rows = [
        (str(rank), str(len(model.features)), features_text(model.features), times_text(model.below_best))
        for rank, model in enumerate(split.posterior.top[:n], start=1)
    ]
    return TextTable.of((">Rank", ">Features", "Subset", ">MAP more probable by"), rows)


def times_text(power: float) -> str:
    """Return 10^``power`` as text: in digits below a million, otherwise as a power such as "10^8"."""
    return f"{10**power:,.1f}" if power < 1 else f"{10**power:,.0f}" if power < 6 else f"10^{power:.0f}"


def distribution_table(split: SplitResult) -> TextTable:
    """Return a table of how improbable subsets are: powers of ten below the best, at shares of 0 %, 10 %, ..., 100 % of
    them.

    Shares count from the least probable subset of the split.
    """
    quantiles = split.posterior.quantiles
    at = [round(tenth * (len(quantiles) - 1) / 10) for tenth in range(11)]
    columns = ("Share of the subsets", *(f">{10 * tenth} %" for tenth in range(11)))
    row = ("Power of ten below the MAP", *(f"{quantiles[k]:.0f}" for k in at))
    return TextTable.of(columns, [row])


def measures_table(study: WaveformStudy) -> TextTable:
    """Return a table of performance measures with one row per method.

    It has the values on the test rows of the first split and, if there are several, means and deviations over all
    splits.
    """
    first, splits = study.splits[0], study.splits
    labels = {**SHORT, "log_loss": "ILF"}
    columns = ["Method", ">Features", *(f">{label}" for label in labels.values())]
    rows = []
    for method in (*EXHAUSTIVE, BY_SEARCH, OURS):
        row = [method, str(len(first.selected(method))), *(f"{first.measures[method][m]:.4f}" for m in labels)]
        if len(splits) > 1:
            row += [mean_and_spread([s.measures[method][m] for s in splits], 3) for m in labels]
        rows.append(row)
    if len(splits) > 1:
        columns += [f">{label}, all splits" for label in labels.values()]
    return TextTable.of(columns, rows)


def differences_table(study: WaveformStudy) -> TextTable:
    """Return a table with one row for each method other than SNB(CMA), and two columns per performance measure.

    The columns are the mean over the splits of SNB(CMA) minus the method, and its p-value by the corrected resampled
    t-test.
    """
    columns = ("Method", *(title for label in SHORT.values() for title in (f">{label} difference", ">p")))
    rows = []
    for method in (*EXHAUSTIVE, BY_SEARCH, OURS):
        if method != REFERENCE:
            tests = [difference(study, method, measure) for measure in SHORT]
            cells = [text for test in tests for text in (signed(test.difference, 4), p_text(test.p_value))]
            rows.append((method, *cells))
    return TextTable.of(columns, rows)


def difference(study: WaveformStudy, method: str, measure: str) -> PairedTest:
    """Return the corrected resampled t-test, over the splits, of SNB(CMA) (first) against ``method``.

    ``measure`` is the name of the performance measure.
    """
    ours, theirs = ([s.measures[name][measure] for s in study.splits] for name in (REFERENCE, method))
    return corrected_resampled_t(ours, theirs, study.splits[0].n_test / study.splits[0].n_train)


def _beaten(study: WaveformStudy) -> str:
    """Return a list in words: by each criterion, the paper's methods than which SNB(CMA) is significantly better."""
    others = [method for method in EXHAUSTIVE if method != REFERENCE]
    parts = []
    for measure, label in SHORT.items():
        won = [method for method in others if difference(study, method, measure).sign() > 0]
        parts.append(f"{', '.join(won) or 'no other method of the paper'} by {label}")
    return "; ".join(parts) + " (p < 0.05)"


def _figures(study: WaveformStudy) -> dict[str, str]:
    """Return the figures of the section as SVG, by file name."""
    split = study.splits[0]
    names = [f"V{k + 1}" for k in range(study.n_features)]
    top = split.posterior.top
    words = {**SHORT, "accuracy": "Accuracy", "compression_rate": "Compression rate"}
    values = {method: {words[m]: split.measures[method][m] for m in SHORT} for method in (*EXHAUSTIVE, BY_SEARCH, OURS)}
    unjoined = (BY_SEARCH, OURS)
    figures = {
        "weights": weights_figure(
            names,
            {method: split.weights[method] for method in values},
            title="Weights of the features, waveform",
            caption=f"Learnt from {split.n_train:,} rows. Upper six: figures 3 and 7 of Boulle (2007), from all "
            f"{_subsets(split)}. Lower two: averages over the subsets of a search; {OURS} calibrates them.",
        ),
        "models": models_figure(
            names,
            [[number - 1 for number in model.features] for model in top],
            [model.below_best for model in top],
            title=f"The {len(top)} most probable of {_subsets(split)}",
            caption="A line per subset, filled for its features, as in figure 5 of Boulle (2007). Probabilities "
            "are relative to the best subset, whose features are coloured.",
        ),
        "posterior": posterior_figure(
            split.posterior.quantiles,
            title=f"Probability of all {_subsets(split)}",
            caption="Distribution function of the posterior probability, as in figure 6 of Boulle (2007). The best "
            f"subset is 10^{split.posterior.empty_below_best:.0f} times more probable than the empty one.",
        ),
        "criteria": tradeoff_figure(
            values,
            [("Accuracy", "AUC"), ("Accuracy", "Compression rate")],
            apart=unjoined,
            title="Methods on the test rows, waveform",
            caption=f"{split.n_test:,} test rows, as in figures 4 and 8 of Boulle (2007). Hollow: another of the "
            "paper's methods is better by one of the three criteria and not worse by any. Squares: not in the "
            "paper's figures.",
        ),
    }
    drawings = {FILE.format(name): figure.to_svg() for name, figure in figures.items()}
    return {"boulle2007-waves.svg": waves_figure(), **drawings}


def _subsets(split: SplitResult) -> str:
    """Return the number of all subsets as text, such as "524,288 subsets"."""
    return f"{split.posterior.n_models:,} subsets"
