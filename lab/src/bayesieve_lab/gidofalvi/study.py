"""Gidofalvi & Zadrozny: forward and boosted selection, measured by squared error and by profit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from bayesieve import SelectiveNB, TableEncoder, as_published
from bayesieve.counts import Smoothing, check_smoothing
from bayesieve_lab.claims import Judged
from bayesieve_lab.comparison.comparing import compare_many
from bayesieve_lab.comparison.folds import FixedSplit
from bayesieve_lab.comparison.results import Comparison, read_results
from bayesieve_lab.gidofalvi.calibrated import CalibratedBoosting
from bayesieve_lab.gidofalvi.campaigns import SIMULATED, Campaign, balanced, campaigns
from bayesieve_lab.gidofalvi.model import N_STEPS, CampaignNB
from bayesieve_lab.study import Options, Report, Study

REPETITIONS, REPETITIONS_QUICK = 10, 2
N_ROUNDS = 40
"""Largest number of rounds of boosting with replacement, where a feature may win several rounds."""
HAND, FORWARD, BOOSTED, INFORMATIVE = "7 hand-selected", "forward", "boosted", "informative features"
REPEATED, CALIBRATED = "boosted, with replacement", "boosted, calibrated"
SEARCHES = (FORWARD, BOOSTED, REPEATED, CALIBRATED)
OTHER_CODING, OTHER_SMOOTHING = "equal frequency", "Laplace"
"""Variants of some methods: ten bins of equal frequency and a level for every category; Laplace smoothing with alpha =
1.
"""
VARIED = {OTHER_CODING: (FORWARD, BOOSTED, INFORMATIVE), OTHER_SMOOTHING: (FORWARD, INFORMATIVE)}
ALL = f"{INFORMATIVE}, {OTHER_CODING}"
"""Method with all columns: bins of equal frequency drop none, whereas MODL drops those that are uninformative."""


class Gidofalvi(Study):
    """Reproduction of section 4 of the paper, on simulated donors, on pva97nk, and on those of the cup if they are
    available.

    Parameters
    ----------
    options : ``data`` is a folder with pva97nk, the files of the KDD Cup 1998, or both; ``only`` selects campaigns;
        ``smoothing`` is the m-estimate by default; ``quick`` draws few donors with 100 features.

    Raises
    ------
    ValueError
        If an option is invalid.
    """

    paper: ClassVar[str] = "gidofalvi"
    citation: ClassVar[str] = (
        "G. Gidofalvi and B. Zadrozny, Feature selection for class probability estimation, University of California, "
        "San Diego"
    )
    uses_data: ClassVar[bool] = True

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.smoothing: Smoothing = "m-estimate" if options.smoothing is None else options.smoothing
        check_smoothing(self.smoothing)
        by_name = campaigns(options.data, options.seed, quick=options.quick)
        self.campaigns = tuple(by_name[name] for name in self.chosen(tuple(by_name)))
        self.repetitions = options.repetitions or (REPETITIONS_QUICK if options.quick else REPETITIONS)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that results depend on, by name."""
        return {
            "paper": self.paper,
            "seed": self.options.seed,
            "smoothing": self.smoothing,
            "campaigns": {campaign.name: campaign.n_train for campaign in self.campaigns},
        }

    @property
    def protocol(self) -> FixedSplit:
        """Split of the first campaign; the number of training rows differs between campaigns."""
        return self.split(self.campaigns[0])

    def split(self, campaign: Campaign) -> FixedSplit:
        """Return the split of a campaign: its training rows come first, all others are test rows."""
        return FixedSplit(campaign.n_train, self.options.seed)

    def methods(self) -> dict[str, CampaignNB]:
        """Return the classifiers for the first campaign, by name."""
        return self.methods_of(self.campaigns[0])

    def methods_of(self, campaign: Campaign) -> dict[str, CampaignNB]:
        """Return the classifiers for a campaign by name.

        The name of a variant is that of its method, followed by the coding or smoothing that differs.
        """

        def model_of(name: str, smoothing: Smoothing) -> SelectiveNB:
            """Return the unfitted naive Bayes of the method ``name``; ``smoothing`` is that of the probabilities in its
            search.
            """
            steps = {"selector__n_features_to_select": N_STEPS, "selector__smoothing": smoothing}
            if name == FORWARD:
                return as_published("forward-MSE").set_params(**steps)
            if name == BOOSTED:  # with replacement the search would not reach the paper's 20 features
                return as_published("boosted").set_params(**steps, selector__replacement=False)
            if name == REPEATED:
                return as_published("boosted").set_params(**steps, selector__n_rounds=N_ROUNDS)
            if name == CALIBRATED:
                return as_published("NB").set_params(selector=CalibratedBoosting(N_STEPS, smoothing=smoothing))
            selector = {"MAP": "map", "compression averaging": "compression"}.get(name, "all")
            return as_published("NB").set_params(selector=selector)

        def method(name: str, encoder: Any = "modl", smoothing: Smoothing = self.smoothing) -> CampaignNB:
            """Return the unfitted classifier of the method ``name``, with an encoder of the rows and a smoothing."""
            model = model_of(name, smoothing).set_params(encoder=encoder, smoothing=smoothing)
            columns, steps = campaign.chosen if name == HAND else None, name in SEARCHES
            return CampaignNB(model, campaign.gifts, columns=columns, steps=steps, response=campaign.response)

        bins = TableEncoder(numeric="equal-frequency", categorical="values")
        plain = (HAND, *SEARCHES, INFORMATIVE, "MAP", "compression averaging")
        methods = {name: method(name) for name in plain}
        methods |= {f"{name}, {OTHER_CODING}": method(name, bins) for name in VARIED[OTHER_CODING]}
        return methods | {f"{name}, {OTHER_SMOOTHING}": method(name, smoothing=1.0) for name in VARIED[OTHER_SMOOTHING]}

    def data(self) -> dict[str, Callable[[], tuple[Any, ...]]]:
        """Return functions that load the rows of a repetition, by its name, for all campaigns."""
        return {name: load for campaign in self.campaigns for name, load in self.draws(campaign).items()}

    def draws(self, campaign: Campaign) -> dict[str, Callable[[], tuple[Any, ...]]]:
        """Return functions that load the rows of a repetition of a campaign, by the name of the repetition."""
        return {name: partial(campaign.draw, k) for k, name in enumerate(campaign.names(self.repetitions))}

    def measure(self, results: Path | None, verbose: int) -> Comparison:
        """Run all campaigns, and save the results of each in a file of its own next to ``results``."""
        rows: dict[Any, dict[str, Any]] = {}
        for campaign in self.campaigns:
            measured = compare_many(
                self.methods_of(campaign),
                self.draws(campaign),
                self.split(campaign),
                results=self._file(results, campaign),
                n_jobs=self.options.n_jobs,
                verbose=verbose,
            )
            if not measured.complete:
                raise KeyboardInterrupt
            rows |= {(row["data"], row["method"], 0, 0): row for row in measured.rows}
        return Comparison.of(self.data(), self.methods(), self.protocol, rows)

    def saved(self, results: Path) -> Comparison:
        """Return the results in a file, and those of other campaigns in the files next to it."""
        halves = balanced(self.options.data, self.options.seed)
        beside = self._file(results, halves)
        loaded = {campaign.name for campaign in self.campaigns}
        if halves.name not in loaded and not self.options.only and beside is not None and beside.is_file():
            self.campaigns += (halves,)
        rows: dict[Any, dict[str, Any]] = {}
        for campaign in self.campaigns:
            path = self._file(results, campaign)
            assert path is not None
            rows |= read_results(path)
        names = dict.fromkeys((*self.data(), *(data for data, *_ in rows)))  # also those of another campaign's file
        return Comparison.of(names, self.methods(), self.protocol, rows)

    def files(self, results: Path) -> tuple[Path, ...]:
        """Return the files that hold the results, one for each campaign."""
        return tuple(path for campaign in self.campaigns if (path := self._file(results, campaign)) is not None)

    def _file(self, results: Path | None, campaign: Campaign) -> Path | None:
        """Return the path of the results of a campaign; None if ``results`` is None.

        It is ``results`` for simulated donors, otherwise a file next to it.
        """
        if results is None or campaign.name == SIMULATED:
            return results
        return results.with_name(f"{results.stem}-{campaign.name}{results.suffix}")

    def report(self, comparison: Comparison) -> Report:
        """Return the report of a comparison's results: tables beside those of the paper, and verdicts on its claims."""
        from bayesieve_lab.gidofalvi.report import report

        return report(self, comparison)

    def judged(self, comparison: Comparison) -> tuple[Judged, ...]:
        """Return the paper's claims with our verdicts, for each campaign with results."""
        from bayesieve_lab.gidofalvi.claims import findings
        from bayesieve_lab.gidofalvi.report import finished_draws

        comparison = finished_draws(comparison)
        names = dict.fromkeys(row["data"].partition(",")[0] for row in comparison.rows)
        return tuple(claim for name in names for claim in findings(comparison, name))
