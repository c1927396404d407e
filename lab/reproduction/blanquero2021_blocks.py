"""Whether probabilities learnt again from all rows help on the simulated blocks of Blanquero et al. (2021), table 2.

    python lab/reproduction/blanquero2021_blocks.py

Writes ``blanquero2021-blocks.md`` next to it, from the data and the ten folds of ``bayesieve reproduce blanquero2021``:
levels by MDLP, the m-estimate, features by `DependenceClusterSelector`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bayesieve import DependenceClusterSelector, SelectiveNB, TableEncoder
from bayesieve.table import write_atomically
from bayesieve_lab import Options, RepeatedFolds, compare_many
from bayesieve_lab.blanquero2021.data import SIMULATED, TABLE_2
from bayesieve_lab.blanquero2021.study import Blanquero2021
from bayesieve_lab.comparison.differences import corrected_resampled_t, signed_rank_test
from bayesieve_lab.comparison.results import Comparison
from bayesieve_lab.tables import TextTable, p_text, signed

HERE = Path(__file__)
TEXT = """# Simulated blocks of correlated features, with probabilities of all rows

Computed by [{script}]({script}): section 4.2 and table 2 of Blanquero et al. (2021), 2,000 rows, levels by MDLP, the \
m-estimate, means of ten folds; accuracy in percent. *Kept* are the probabilities of the two thirds of the rows that \
the search learns from, as in the paper; *refitted* are those of all rows (`refit=True`), of the same features.

{table}

Refitted minus kept: {difference} points on average, above 0 in {higher} of {of} settings (signed-rank test over the \
settings: p = {p}); by the folds of a setting (corrected resampled t-test, 5 %) significant in {n}{which}.
"""


def main() -> None:
    study = Blanquero2021(Options(data=None, n_jobs=1))
    options: dict[str, Any] = {"encoder": TableEncoder(numeric="mdlp"), "pairs": 0, "calibrate": False}
    methods = {
        "kept": SelectiveNB(DependenceClusterSelector(), **options),
        "refitted": SelectiveNB(DependenceClusterSelector(refit=True), **options),
        "all features": SelectiveNB("all", **options),
    }
    data = {one.ours: partial(study.load, one.ours) for one in SIMULATED}
    comparison = compare_many(methods, data, RepeatedFolds(), n_jobs=1, verbose=1)
    write_atomically(HERE.with_name("blanquero2021-blocks.md"), text_of(comparison))


def text_of(comparison: Comparison) -> str:
    rows, differences, apart = [], [], []
    for one in SIMULATED:
        accuracy, features, every = TABLE_2[one.n_features, one.correlation]
        folds = comparison.folds("accuracy", one.ours)
        kept, refitted, all_features = (100 * folds.mean(axis=0)).tolist()
        selected = comparison.folds("n_features", one.ours)[:, 0].mean()
        test = corrected_resampled_t(folds[:, 1], folds[:, 0], comparison.test_share)
        differences.append(refitted - kept)
        if test.sign():
            apart.append(f"p = {one.n_features}, rho = {one.correlation:g} ({signed(refitted - kept, 1)})")
        rows.append(
            (
                str(one.n_features),
                f"{one.correlation:g}",
                f"{kept:.1f}",
                f"{refitted:.1f}",
                p_text(test.p_value),
                f"{selected:.1f}",
                f"{all_features:.1f}",
                f"{accuracy:.2f} ({features:g}), {every:.2f}",
            )
        )
    columns = (">Features", ">Correlation", ">Kept", ">Refitted", ">p", ">Selected", ">All features")
    return TEXT.format(
        script=HERE.name,
        table=TextTable.of((*columns, ">Paper: sparse (features), all"), rows).to_markdown(),
        difference=signed(sum(differences) / len(differences), 2),
        higher=sum(difference > 0 for difference in differences),
        p=p_text(signed_rank_test(np.array(differences))),
        n=len(apart),
        of=len(SIMULATED),
        which=f": {', '.join(apart)}" if apart else "",
    )


if __name__ == "__main__":
    main()
