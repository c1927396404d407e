"""The report on the waveform study, with sections 5 and 6 of Boulle (2007)."""

from __future__ import annotations

import numpy as np

from bayesieve.report.models_figure import models_figure, posterior_figure
from bayesieve.report.tradeoff_figure import tradeoff_figure
from bayesieve.report.weights_figure import weights_figure
from bayesieve.statistics.fold_tests import PairedTest, corrected_resampled_t
from bayesieve.studies.boulle2007.data import OURS, REFERENCE, SHORT
from bayesieve.studies.boulle2007.waveform import BY_SEARCH, EXHAUSTIVE, PAPER_MAP, SplitResult, WaveformStudy
from bayesieve.studies.boulle2007.waveform_claims import (
    NUMBERS,
    PAPER_TOP,
    STATEMENTS,
    features_text,
    in_all_top,
    mean_size,
    peaks_of,
)
from bayesieve.studies.tables import Part, TextTable, document, mean_and_spread, p_text, signed

FILE = "boulle2007-waveform-{}.svg"


def waveform_section(study: WaveformStudy) -> tuple[str, dict[str, str]]:
    """The section in Markdown, and its figures by file name."""
    figures = _figures(study)
    first = study.splits[0]
    several = len(study.splits) > 1
    parts: list[Part] = [
        "## Waveform: every subset of the features (sections 5 and 6)",
        _conditions(study),
        findings(study),
        "### Numbers and statements of the paper",
        claims_table(study),
        f"*First split* is that of seed {first.seed}, shown below. *All splits* gives the lowest and the highest value "
        "or the number of splits in which a statement holds; *paper inside* shows whether the paper's number lies "
        "between them. The paper has one split of its own sample of the data."
        if several
        else "The paper has one split of its own sample of the data.",
        "### Weights",
        _shown("weights", "Weight of every feature by every method"),
        weights_table(first),
        _methods_note(first),
        "### The posterior distribution",
        _shown("models", f"Features of the {len(first.posterior.top)} most probable subsets"),
        top_table(first),
        _shown("posterior", "Distribution function of the posterior probabilities"),
        distribution_table(first),
        "### On the test rows",
        _shown("criteria", "Methods by accuracy, AUC and compression rate"),
        measures_table(study),
        "CR is 1 - ILF / H(Y)."
        + (" ± is the standard deviation over the splits, which share rows." if several else ""),
    ]
    if several:
        parts += [
            f"{REFERENCE} against each other method over the splits: mean difference, and the p-value of the corrected "
            "resampled t-test (Nadeau & Bengio 2003), which allows for overlapping training rows.",
            differences_table(study),
        ]
    return document(parts), figures


def findings(study: WaveformStudy) -> tuple[str, ...]:
    """The findings, one sentence each."""
    first, splits = study.splits[0], study.splits
    n = len(splits)
    outside = [number.what for number in NUMBERS if number.row(splits)[4] == "no"]
    held = {statement.what: sum(map(statement.holds, splits)) for statement in STATEMENTS}
    always = [what for what, count in held.items() if count == n]
    seldom = [f"{what} ({count} of {n})" for what, count in held.items() if 2 * count < n]
    missed = sum(split.found_by_search.below_best > 1e-9 for split in splits)
    gain = np.mean(
        [s.measures[BY_SEARCH]["compression_rate"] - s.measures[REFERENCE]["compression_rate"] for s in splits]
    )
    lines = [
        f"Uninformative: {features_text({*range(1, study.n_features + 1)} - {*first.informative})}. SNB(MAP) selects "
        f"{features_text(first.selected('SNB(MAP)'))}; the paper's selects {features_text(PAPER_MAP)}. All of the "
        f"{len(first.posterior.top)} most probable subsets contain {features_text(in_all_top(first))}; in the paper "
        f"{features_text(PAPER_TOP)}.",
        f"{len(always)} of the {len(held)} statements hold in {'all splits' if n > 1 else 'this split'}"
        + (f"; these hold in less than half of them: {'; '.join(seldom)}." if seldom and n > 1 else ".")
        + (
            f" These do not hold here: {'; '.join(w for w, c in held.items() if not c)}."
            if n == 1 and len(always) < len(held)
            else ""
        ),
    ]
    if n > 1:
        lines.append(f"Numbers of the paper outside the range of our {n} splits: {'; '.join(outside) or 'none'}.")
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


def claims_table(study: WaveformStudy) -> TextTable:
    """Every number and statement of the paper, with ours."""
    columns = ("Finding", ">Paper", ">First split", ">All splits", "Paper inside")
    shown = 5 if len(study.splits) > 1 else 3
    rows = [claim.row(study.splits)[:shown] for claim in (*NUMBERS, *STATEMENTS)]
    return TextTable.of(columns[:shown], rows)


def weights_table(split: SplitResult) -> TextTable:
    """Weights by method and feature."""
    names = (*EXHAUSTIVE, BY_SEARCH, OURS)
    weights = zip(*(split.weights[name] for name in names), strict=True)
    rows = [(f"V{number}", *(f"{weight:.2f}" for weight in row)) for number, row in enumerate(weights, start=1)]
    return TextTable.of(("Feature", *(f">{name}" for name in names)), rows)


def top_table(split: SplitResult, n: int = 10) -> TextTable:
    """The most probable subsets."""
    rows = [
        (str(rank), str(len(model.features)), features_text(model.features), times_text(model.below_best))
        for rank, model in enumerate(split.posterior.top[:n], start=1)
    ]
    return TextTable.of((">Rank", ">Features", "Subset", ">MAP more probable by"), rows)


def times_text(power: float) -> str:
    """A power of ten as a number of times."""
    return f"{10**power:,.1f}" if power < 1 else f"{10**power:,.0f}" if power < 6 else f"10^{power:.0f}"


def distribution_table(split: SplitResult) -> TextTable:
    """The distribution function at tenths."""
    quantiles = split.posterior.quantiles
    at = [round(tenth * (len(quantiles) - 1) / 10) for tenth in range(11)]
    columns = ("Share of the subsets", *(f">{10 * tenth} %" for tenth in range(11)))
    row = ("Power of ten below the MAP", *(f"{quantiles[k]:.0f}" for k in at))
    return TextTable.of(columns, [row])


def measures_table(study: WaveformStudy) -> TextTable:
    """Performance measures on the first split, and on all."""
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
    """SNB(CMA) minus each other method, over the splits."""
    columns = ("Method", *(title for label in SHORT.values() for title in (f">{label} difference", ">p")))
    rows = []
    for method in (*EXHAUSTIVE, BY_SEARCH, OURS):
        if method != REFERENCE:
            tests = [difference(study, method, measure) for measure in SHORT]
            cells = [text for test in tests for text in (signed(test.difference, 4), p_text(test.p_value))]
            rows.append((method, *cells))
    return TextTable.of(columns, rows)


def difference(study: WaveformStudy, method: str, measure: str) -> PairedTest:
    """SNB(CMA) against a method."""
    ours, theirs = ([s.measures[name][measure] for s in study.splits] for name in (REFERENCE, method))
    return corrected_resampled_t(ours, theirs, study.splits[0].n_test / study.splits[0].n_train)


def _beaten(study: WaveformStudy) -> str:
    """The methods of the paper that SNB(CMA) beats, by criterion."""
    others = [method for method in EXHAUSTIVE if method != REFERENCE]
    parts = []
    for measure, label in SHORT.items():
        won = [method for method in others if difference(study, method, measure).sign() > 0]
        parts.append(f"{', '.join(won) or 'no other method of the paper'} by {label}")
    return "; ".join(parts) + " (p < 0.05)"


def _figures(study: WaveformStudy) -> dict[str, str]:
    split = study.splits[0]
    names = [f"V{k + 1}" for k in range(study.n_features)]
    top = split.posterior.top
    words = {**SHORT, "accuracy": "Accuracy", "compression_rate": "Compression rate"}
    values = {method: {words[m]: split.measures[method][m] for m in SHORT} for method in (*EXHAUSTIVE, BY_SEARCH, OURS)}
    apart = (BY_SEARCH, OURS)
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
            apart=apart,
            title="Methods on the test rows, waveform",
            caption=f"{split.n_test:,} test rows, as in figures 4 and 8 of Boulle (2007). Hollow: another of the "
            "paper's methods is better by one of the three criteria and not worse by any. Squares: not in the "
            "paper's figures.",
        ),
    }
    return {FILE.format(name): figure.to_svg() for name, figure in figures.items()}


def _subsets(split: SplitResult) -> str:
    return f"{split.posterior.n_models:,} subsets"


def _shown(name: str, text: str) -> str:
    return f"![{text}]({FILE.format(name)})"


def _conditions(study: WaveformStudy) -> str:
    first = study.splits[0]
    n = len(study.splits)
    return (
        f"{study.n_rows:,} rows, {study.n_features} features (V1 to V{study.n_features}), {study.n_classes} classes; "
        f"{100 * study.share:.0f} % of the rows are for training ({first.n_train:,}), the others for testing "
        f"({first.n_test:,}); {'one random split' if n == 1 else f'{n} random splits'}, stratified by class. "
        "Features are coded by MODL. As in the paper, all subsets of the informative features "
        f"({_subsets(first)}) are evaluated on the training rows: by cost (equation 4), accuracy and AUC. The AUC is "
        "bounded for all of them, then computed for those whose bound reaches the best. Among subsets of equal "
        "accuracy or AUC the smallest is taken, then the most probable."
    )


def _methods_note(split: SplitResult) -> str:
    peaks, clear = peaks_of(split.weights[REFERENCE]), peaks_of(split.weights[BY_SEARCH])
    ties = split.n_most_accurate
    return (
        f"{REFERENCE} gives {features_text(peaks)} more weight than both neighbours ({BY_SEARCH}: "
        f"{features_text(clear)}); the paper names V11, V5 and V17. SNB(ACC) is wrong on "
        f"{100 * split.training_error:.2f} % of the training "
        f"rows{', as are ' + str(ties - 1) + ' other subsets' if ties > 1 else ' (no other subset is as good)'}; "
        f"SNB(AUC) has a training AUC of {split.training_auc:.4f}."
    )
