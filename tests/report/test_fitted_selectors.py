"""Figures and reports of fitted selectors show the numbers of their traces."""

from __future__ import annotations

import pytest
from sklearn.datasets import load_iris

from bayesieve import (
    CompressionAveraging,
    ImpreciseInformationGainSelector,
    InformationGainSelector,
    MAPSelector,
    MRMRSelector,
    SelectiveNB,
    WrapperSelector,
    path_figure,
)
from tests.report.markup import read

X, Y = load_iris(return_X_y=True, as_frame=True)


@pytest.mark.parametrize("direction", ["forward", "backward", "forward-backward", "backward-forward", "fast"])
@pytest.mark.parametrize("evaluation", ["holdout", "train", 3])
def test_the_subset_selected_is_the_one_marked(direction, evaluation):
    selector = WrapperSelector("log_loss", direction=direction, evaluation=evaluation).fit(X, Y)
    figure = path_figure(selector)
    size = selector.n_features_selected_
    assert f"The chosen subset has {size} feature" in figure.caption
    assert figure.data.filter(figure.data["chosen"])["features"].to_list() == [size]
    assert path_figure(selector.trace_).frames == figure.frames  # it is the best of the path
    read(figure.to_html())


@pytest.mark.parametrize(
    ("selector", "title"),
    [
        (MRMRSelector(), "mRMR score, nats"),
        (MRMRSelector(2, form="quotient"), "mRMR score"),
        (InformationGainSelector(), "Information gain, nats"),
        (ImpreciseInformationGainSelector(), "Imprecise information gain, nats"),
    ],
)
def test_scores_of_features_begin_with_the_first_feature(selector, title):
    figure = path_figure(selector.fit(X, Y))
    assert figure.heads["criterion"] == title
    assert figure.data["features"][0] == 0
    assert figure.data["criterion"].is_null().to_list()[:2] == [True, False]


@pytest.mark.parametrize("positive", [[0, 1], [1, 2], [0, 1, 2]])
def test_reports_describe_boosting(positive, tmp_path):
    rows = Y.isin(positive)
    model = SelectiveNB("boosted").fit(X[rows], Y[rows])
    path = tmp_path / "report.html"
    model.report(path)
    html = path.read_text(encoding="utf-8")
    read(html)
    rounds = model.selector_.alphas_.size
    assert f"{model.selector_.n_features_selected_} feature" in html
    assert f"chosen in {rounds} rounds and " in html
    assert f"The search ended {model.trace_.ended}." in html
    assert '<th scope="col" class="right">Edge</th>' in html
    assert "models evaluated" not in html
    assert "adds nothing to the other features" not in html


def test_the_subset_that_others_beat_and_weights_of_all_models():
    chosen = WrapperSelector(direction="forward", evaluation="train", n_features_to_select=3).fit(X, Y)
    assert "The chosen subset has 3 features" in path_figure(chosen).caption
    assert path_figure(chosen).data["chosen"][-1]
    averaged = path_figure(CompressionAveraging(n_starts=4, exhaustive=False, encoder="modl").fit(X, Y))
    assert not averaged.data["chosen"].any()
    assert "vconcat" not in averaged.chart
    trace = MAPSelector(exhaustive=True).fit(X, Y).trace_  # marks its best only if its path met it
    gone_through = trace.best_criterion in trace.path()["criterion"]
    assert path_figure(trace).data["chosen"].any() == gone_through


@pytest.mark.parametrize(
    ("selector", "title"), [("wrapper", "error probability"), ("accuracy", "error rate"), ("auc", "AUC")]
)
def test_reports_name_selector_and_criterion(selector, title, tmp_path):
    SelectiveNB(selector).fit(X, Y).report(tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"the {title} is" in html
    assert "The chosen subset has" in html
    assert "A selector of your own" not in html
