"""`Figure`: one specification for pages, notebooks, pictures and other programs."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayesieve import DependenceClusterSelector, calibration_summary, gains_curve, profit_curve
from bayesieve.report import Figure, clusters_figure, gains_figure, profit_figure, reliability_figure
from bayesieve.report.charts import chart, layer, number, theme
from bayesieve.report.report import dependence_figure
from tests.limits import absent

RNG = np.random.default_rng(5)
SCORE = RNG.random(2000)
Y = (RNG.random(2000) < SCORE**2).astype(int)
PROFIT = profit_curve(Y, SCORE, benefit=[[0, 0], [-1, 1]], n_bootstrap=30)


def small() -> Figure:
    drawn = chart(layer("point", x=number("x", "seconds"), y=number("y", "rows")))
    return Figure("Rows by time", "A caption.", drawn, {"rows": {"x": [1.0, float("nan")], "y": [3, 4]}})


def test_the_specification_is_whole_and_plain() -> None:
    spec = small().spec
    assert spec["$schema"].endswith("/vega-lite/v6.json")
    assert spec["title"]["text"] == "Rows by time"
    assert spec["datasets"] == {"rows": [{"x": 1.0, "y": 3}, {"x": None, "y": 4}]}
    assert spec["config"] == theme()
    assert json.loads(json.dumps(spec)) == spec
    assert small().data["y"].to_list() == [3, 4]


def test_scales_have_what_is_asked_for() -> None:
    assert number("x", "rows")["scale"] == {"zero": False}
    assert number("x", "rows", padding=3)["scale"] == {"zero": False, "padding": 3}
    assert number("x", "rows", domain=(1, 2), zero=True)["scale"] == {"zero": True, "domain": [1, 2], "nice": False}


def test_a_figure_is_saved_as_its_name_says(tmp_path: Path) -> None:
    figure = small()
    for suffix in (".html", ".json", ".svg", ".png"):
        figure.save(tmp_path / f"figure{suffix}")
    assert json.loads((tmp_path / "figure.json").read_text()) == figure.spec
    svg = ElementTree.fromstring((tmp_path / "figure.svg").read_text())
    assert "Rows by time" in "".join(svg.itertext())
    labels = [e.get("aria-label", "") for e in svg.iter()]
    assert any("seconds: 1; rows: 3" in label for label in labels)
    assert (tmp_path / "figure.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(ValueError, match="change the extension"):
        figure.save(tmp_path / "figure.pdf")
    with pytest.raises(FileNotFoundError, match="create it first"):
        figure.save(tmp_path / "absent" / "figure.json")
    assert figure.to_altair().to_dict()["datasets"] == figure.spec["datasets"]
    assert figure._repr_html_().startswith("<iframe srcdoc=")
    assert repr(figure) == "<Figure: Rows by time. A caption.>"


def test_half_characters_are_drawn_saved_and_shown(tmp_path: Path) -> None:
    figure = Figure("a\ud800", "", small().chart, {"rows": {"x": [1.0], "y": [3], "n": ["\udc00"]}})
    for suffix in (".html", ".json", ".svg", ".png"):
        figure.save(tmp_path / f"figure{suffix}")
    assert json.loads((tmp_path / "figure.json").read_text("utf-8"))["title"]["text"] == "a\ufffd"
    assert {"text/html", "image/svg+xml"} <= set(figure._repr_mimebundle_())


def test_pictures_ask_for_their_library(tmp_path: Path) -> None:
    with absent("vl_convert"), pytest.raises(ImportError, match="pip install vl-convert-python"):
        small().save(tmp_path / "figure.svg")
    small().save(tmp_path / "figure.html")


def test_light_and_dark_name_the_same_styles() -> None:
    light, dark = theme(), theme(dark=True)
    assert light.keys() == dark.keys()
    assert light["style"].keys() == dark["style"].keys()
    assert light["background"] != dark["background"]


def test_the_largest_profit_is_marked_and_the_band_is_in_the_data() -> None:
    figure = profit_figure(PROFIT, unit="$")
    assert figure.frames["best"] == {"share": [PROFIT.share[PROFIT.best]], "profit": [PROFIT.profit[PROFIT.best]]}
    assert f"${PROFIT.profit.max():.2f}" in figure.caption
    assert max(figure.frames["curve"]["profit"]) == PROFIT.profit.max()
    assert all(a <= b for a, b in zip(figure.frames["curve"]["low"], figure.frames["curve"]["high"], strict=True))
    bare = profit_figure(profit_curve(Y, SCORE, benefit=[[0, 0], [-1, 1]], n_bootstrap=0))
    assert "band" not in bare.caption


def test_gains_run_from_nobody_to_everybody() -> None:
    figure = gains_figure(gains_curve(Y, SCORE))
    best = 100 * Y[np.argsort(-SCORE)[:200]].sum() / Y.sum()
    assert float(figure.caption.split("%")[0].split()[-1]) == pytest.approx(best, abs=0.1)
    data = figure.data
    assert (data["share"][0], data["gain"][0], data["lift"][0]) == (0, 0, None)
    assert (data["share"][-1], data["gain"][-1], data["lift"][-1]) == (1, 1, 1)


def test_gains_of_two_models_are_in_one_figure() -> None:
    curves = {"one": gains_curve(Y, SCORE), "other": gains_curve(Y, -SCORE)}
    figure, single = gains_figure(curves), gains_figure(curves["one"])
    assert figure.data.filter(figure.data["model"] == "one").drop("model").equals(single.data)
    assert "one: " in figure.caption
    assert "other: " in figure.caption
    assert "model" in str(figure.spec)
    assert "model" not in single.data.columns
    with pytest.raises(ValueError, match="needs at least one curve"):
        gains_figure({})


def test_bins_of_reliability() -> None:
    summary = calibration_summary(Y, SCORE)
    figure = reliability_figure({"all features": summary, "selected": calibration_summary(Y, SCORE**2)})
    first = figure.data.filter(figure.data["model"] == "all features")
    np.testing.assert_array_equal(first["predicted"], summary.predicted)
    np.testing.assert_array_equal(first["observed"], summary.observed)
    assert f"{summary.expected_calibration_error:.4f}" in figure.caption
    assert figure.chart["layer"][-1]["encoding"]["color"]["field"] == "model"
    with pytest.raises(ValueError, match="needs at least one calibration"):
        reliability_figure({})


def test_clusters_hold_tree_matrix_and_candidates() -> None:
    X = np.stack([SCORE, SCORE + 0.01 * RNG.random(2000), Y + RNG.normal(size=2000)], axis=1)
    selector = DependenceClusterSelector().fit(X, Y)
    figure = clusters_figure(selector)
    assert sorted({*figure.data["kind"]}) == ["chosen", "dot"]  # no constraint makes others hollow
    assert figure.data["kind"].to_list().count("chosen") == 1
    chosen = figure.data.filter(figure.data["kind"] == "chosen")
    assert chosen["number"][0] == selector.support_.sum()
    candidates = selector.cluster_candidates_.values
    assert figure.data["value"].to_list() == candidates.values[candidates.evaluated].tolist()
    tree: Any = figure.frames["tree"]
    n = selector.clustered_.size
    assert n == 3
    assert tree["x"] == [1.5, 1.5, 2.5, 2.5, 0.5, 0.5, 2.0, 2.0]  # from the middle of the first bracket, the second one
    assert tree["corner"] == [0, 1, 2, 3] * (n - 1)
    np.testing.assert_allclose(sorted({y for y in tree["y"] if y}), np.unique(selector.linkage_[:, 2]))
    cells: Any = figure.frames["cells"]
    assert len(cells["x"]) == n * (n - 1)
    order = selector.cluster_candidates_.clusters.order
    matrix = selector.dependence_[np.ix_(order, order)]
    for x, y, value in zip(cells["x"], cells["y"], cells["dependence"], strict=True):
        assert value == matrix[y, x]
    with pytest.raises(ValueError, match="needs a DependenceClusterSelector"):
        clusters_figure(3)


def test_heat_maps_name_every_column() -> None:
    names = [f"column {k} of a table" for k in range(30)]
    svg = ElementTree.fromstring(dependence_figure(names, np.full((30, 30), 0.5).tolist()).to_svg())
    texts = ["".join(e.itertext()) for e in svg.iter() if e.tag.endswith("text") and e.get("opacity") != "0"]
    assert {name: texts.count(name) for name in names} == dict.fromkeys(names, 2)


@pytest.mark.parametrize(("dependence", "most"), [(0.5, 0.5), (0.02, 0.1)])
def test_shades_of_dependence_run_from_zero_to_the_largest(dependence: float, most: float) -> None:
    figure = dependence_figure(["a", "b"], [[1.0, dependence], [dependence, 1.0]])
    (tiles,) = figure.chart["layer"]
    assert tiles["encoding"]["color"]["scale"]["domain"] == [0, most]
    assert figure.data.rows() == [("a", "b", dependence), ("b", "a", dependence)]


def test_pictures_do_not_depend_on_the_last_digits_of_places() -> None:
    def drawn(step: float) -> str:
        spec = {"mark": "point", "encoding": {"x": {"field": "x", "type": "quantitative"}}}
        return Figure("Steps", "", spec, {"steps": {"x": [0.0, 0.3 + step, 1.0]}}).to_svg()

    assert drawn(0.0) == drawn(1e-15) == drawn(-1e-15)
