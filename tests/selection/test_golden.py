"""Selectors against golden values: enumerations of all subsets, greedy paths, rankings, and those of Weka."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayesieve import (
    BayesianAveraging,
    CFSSelector,
    CompressionAveraging,
    ImpreciseInformationGainSelector,
    InformationGainSelector,
    MAPSelector,
    MRMRSelector,
    WrapperSelector,
    pair_statistics,
)
from tests import golden
from tests.limits import Limits


@pytest.mark.parametrize("name", golden.SNB_TABLES)
@pytest.mark.parametrize("options", [{"exhaustive": True}, *({"random_state": state} for state in (None, 0, 1, 2))])
@pytest.mark.parametrize("kind", [MAPSelector, BayesianAveraging, CompressionAveraging])
def test_best_subsets_and_weights(name: str, kind: Any, options: dict[str, Any]) -> None:
    values = golden.values("snb_exact", name)  # m-estimate on P(level | class), K = all columns
    entry, columns = values["variants"]["A_all"], values["variables"]
    codes = golden.snb_codes(name)
    selector = kind(encoder=None, **{"exhaustive": False, **options}).fit(codes, golden.target(name))
    assert selector.trace_.best_criterion == pytest.approx(entry["map_cost"], rel=0, abs=1e-8)
    assert not selector.weights_[codes.max(axis=0) == 0].any()  # one level
    if kind is MAPSelector:
        np.testing.assert_array_equal(selector.weights_, np.isin(columns, entry["map_subset"]).astype(float))
    elif "exhaustive" in options:
        key = "bma_weights" if kind is BayesianAveraging else "cma_weights"
        np.testing.assert_allclose(selector.weights_, [entry[key].get(name, 0.0) for name in columns], atol=1e-9)


@pytest.mark.parametrize("name", golden.WRAPPER_TABLES)
@pytest.mark.parametrize("criterion", golden.WRAPPER_CRITERIA.values())
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_golden_paths(name: str, criterion: str, direction: str) -> None:
    entry = golden.wrapper_path(name, "frequency_prior", criterion, direction)
    columns, codes, y = golden.coded_table(name)
    every, order = set(range(len(columns))), entry["order"]
    forward = direction == "forward"

    def fit(**more: Any) -> WrapperSelector:
        selector = WrapperSelector(criterion, direction=direction, evaluation="train", smoothing=1.0, encoder=None)
        return selector.set_params(**more).fit(pd.DataFrame(codes, columns=list(columns)), y)

    def kept(selector: WrapperSelector) -> list[int]:
        return np.flatnonzero(selector.support_).tolist()

    def after(moves: int) -> list[int]:
        return sorted(order[:moves] if forward else every - set(order[:moves]))

    selector = fit()
    frame = selector.trace_.to_frame()
    assert frame["feature"].to_list() == [None, *(columns[k] for k in order)]
    assert frame["move"].to_list() == ["start", *["add" if forward else "drop"] * len(columns)]
    sizes = list(range(len(columns) + 1))[:: 1 if forward else -1]
    assert frame["n_features"].to_list() == sizes
    np.testing.assert_allclose(frame["criterion"], entry["values"], rtol=0, atol=1e-12)
    costs = np.array(entry["values"]) * (-1 if criterion == "auc" else 1)
    best = min(np.flatnonzero(costs <= costs.min() + 1e-12).tolist(), key=lambda step: sizes[step])
    assert kept(selector) == after(best)
    assert kept(fit(tol=0.0)) == sorted(entry["selected_at_stop"])
    assert kept(fit(n_features_to_select=3)) == after(3 if forward else len(columns) - 3)


@pytest.mark.parametrize("name", golden.WEKA_INFORMATION)
def test_information_gains_are_those_of_weka(name: str) -> None:
    _, codes, y = golden.coded_table(name)
    bits = golden.values("weka", f"infogain_{name}")["variants"]["q_missing_as_last_level"]["infogain_bits"]
    selector = InformationGainSelector(encoder=None).fit(codes, y)
    np.testing.assert_allclose(selector.scores_ / np.log(2), list(bits.values()), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", golden.IIG_TABLES)
@pytest.mark.parametrize("s", [1, 2])
def test_golden_imprecise_gains(name: str, s: int) -> None:
    names, codes, y = golden.coded_table(name)
    expected = golden.values("iig", name)["variants"][f"class_levels_present|s={s}"]
    variants: Any = {
        "frequency": ("IIG", "selected_IIG_gt_0"),
        "maximum-entropy": ("IIG_with_maxent_P_x", "selected_IIG_maxent_P_x_gt_0"),
    }
    for level_probabilities, (score, selected) in variants.items():
        selector = ImpreciseInformationGainSelector(s=s, level_probabilities=level_probabilities, encoder=None)
        selector.fit(codes, y)
        gains = [attribute[score] for attribute in expected["attributes"].values()]
        np.testing.assert_allclose(selector.scores_, gains, rtol=0, atol=1e-12)
        assert [names[k] for k in np.flatnonzero(selector.support_)] == expected[selected]


@pytest.mark.parametrize(("form", "key"), [("difference", "MID"), ("quotient", "MIQ")])
@pytest.mark.parametrize("table", golden.MRMR_TABLES)
@pytest.mark.parametrize("whole_matrix", [True, False])
def test_golden_rankings(limits: Limits, table: str, form: Any, key: str, whole_matrix: bool) -> None:
    if not whole_matrix:
        limits(whole_matrix=0)
    names, codes, classes = golden.coded_table(table)
    values = golden.values("mrmr", table)
    assert list(names) == values["columns"]
    selector = MRMRSelector(len(names), form=form, encoder=None).fit(codes, classes)
    assert selector.ranking_.tolist() == [step["index"] for step in values[key]]
    np.testing.assert_allclose(selector.scores_[selector.ranking_], [s["score"] for s in values[key]], atol=1e-12)


@pytest.mark.parametrize("table", golden.MRMR_TABLES)
def test_golden_informations(table: str) -> None:
    names, codes, classes = golden.coded_table(table)
    values = golden.values("mrmr", table)
    pairs = pair_statistics(codes, encoder=None)
    np.testing.assert_allclose(pairs, values["I_xx_matrix"], atol=1e-13)
    with_class = pair_statistics(np.column_stack([codes, classes]), encoder=None, features=[len(names)])
    np.testing.assert_allclose(with_class[0, :-1], values["I_xy"], atol=1e-13)


WEKA_SEARCHES = {
    "best-first": "BestFirst_D1_N5",
    "forward": "GreedyStepwise_forward",
    "backward": "GreedyStepwise_backward",
}
ENDS = {True: "locally_predictive_default", False: "L_not_locally_predictive"}


@pytest.mark.parametrize("locally_predictive", [True, False])
@pytest.mark.parametrize("search", WEKA_SEARCHES)
@pytest.mark.parametrize("table", golden.CFS_TABLES)
def test_subsets_and_merits_of_weka(table: str, search: Any, locally_predictive: bool) -> None:
    names, codes, classes = golden.coded_table(table)
    values = golden.values("weka", f"cfs_{table}")
    assert list(names) == values["attributes"]
    expected = values["variants"]["q_missing_as_last_level"][f"{WEKA_SEARCHES[search]}|{ENDS[locally_predictive]}"]
    selector = CFSSelector(search, locally_predictive=locally_predictive, independent_as_redundant=True, encoder=None)
    selector.fit(codes, classes)
    assert np.flatnonzero(selector.support_).tolist() == expected["final_subset_after_locally_predictive"]
    assert selector.merit_ == pytest.approx(expected["final_merit"], abs=1e-7)  # Weka keeps correlations in 32 bits


@pytest.mark.parametrize("table", golden.CFS_TABLES)
def test_correlations_of_weka(table: str) -> None:
    _, codes, classes = golden.coded_table(table)
    triangle = golden.values("weka", f"cfs_{table}")["variants"]["q_missing_as_last_level"][
        "correlations_lower_triangle_last_row_is_class"
    ]
    found = pair_statistics(np.column_stack([codes, classes]), encoder=None, statistic="symmetrical_uncertainty")
    last = len(triangle) - 1
    for i, row in enumerate(triangle):
        for j, value in enumerate(row):
            theirs = 0.0 if value == 1.0 and i < last else value  # what Weka takes for redundant is independent
            assert found[i, j] == pytest.approx(theirs, abs=1e-6)
    np.testing.assert_allclose(
        CFSSelector(encoder=None).fit(codes, classes).class_correlations_, triangle[last], atol=1e-6
    )
