"""The study of Blanquero et al. (2021): its models, the other methods, its plan and its document."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import CategoricalNB

from bayesieve import DiscreteNB, TableEncoder
from bayesieve_lab import Options
from bayesieve_lab.blanquero2021 import boruta, examples
from bayesieve_lab.blanquero2021.data import (
    BORUTA,
    CLASSIC,
    LASSO,
    SETS,
    TABLE_1,
    TABLE_2,
    sparse_name,
)
from bayesieve_lab.blanquero2021.grouped_lasso import Coefficients, GroupedLasso, GroupedLassoPeer
from bayesieve_lab.blanquero2021.study import Blanquero2021
from bayesieve_lab.blanquero2021.two_thirds import (
    UNSMOOTHED,
    ClassicNB,
    SparseNB,
    TwoThirdsEncoder,
    learnt_rows,
    of_two_classes,
)
from bayesieve_lab.claims import Judged, reasons
from bayesieve_lab.comparison.folds import describe
from bayesieve_lab.comparison.results import read_results
from bayesieve_lab.simulate import correlated_blocks

DOCUMENTS = Path(__file__).parents[1] / "reproduction"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Small tables in place of wine, Australian (14 features) and German."""
    rng = np.random.default_rng(0)
    lines = ["name,file,rows,n_numeric,n_categorical,n_classes,majority_share,target,in_blanquero,note"]
    X, y = load_wine(return_X_y=True)
    blocks, sign = correlated_blocks(150, 14, correlation=0.6, random_state=rng)
    tables = {
        "wine": (X, np.array(["a", "b", "c"])[y]),
        "australian": (blocks, sign.astype(int).astype(str)),
        "german_credit": (blocks[:, :6], np.where(blocks[:, 0] + rng.normal(size=150) > -0.8, "good", "bad")),
    }
    for name, (matrix, labels) in tables.items():
        columns = {f"x{k}": matrix[:, k] for k in range(matrix.shape[1])}
        pl.DataFrame({**columns, "kind": labels}).write_parquet(tmp_path / f"{name}.parquet")
        share = np.unique(labels, return_counts=True)[1].max() / labels.size
        shape = f"{labels.size},{matrix.shape[1]},0,{np.unique(labels).size}"
        lines.append(f"{name},{name}.parquet,{shape},{share:.5f},kind,1,")
    (tmp_path / "catalogue.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_two_thirds_of_every_class_are_learnt() -> None:
    codes = np.repeat([0, 1, 2], [9, 30, 1])
    assert np.bincount(codes[learnt_rows(codes)]).tolist() == [6, 20, 1]


def test_levels_and_probabilities_are_those_of_two_thirds() -> None:
    X, y = load_iris(return_X_y=True)
    learnt = learnt_rows(y)
    model = ClassicNB(smoothing=1.0).fit(X, y)
    coding = TableEncoder(numeric="mdlp", categorical="values")
    codes = coding.fit_transform(X[learnt], y[learnt])
    peer = CategoricalNB(alpha=1.0).fit(codes, y[learnt])
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(coding.transform(X)), rtol=0, atol=1e-12)
    assert model.encoder_.held_.n_rows == np.sum(~learnt)


def test_every_candidate_is_worth_what_its_model_is_on_the_held_out_third() -> None:
    X, y = correlated_blocks(300, 8, correlation=0.7, random_state=1)
    encoder = TwoThirdsEncoder()
    coded = encoder.fit_transform_coded(X, y.astype(int))
    model = SparseNB(q=0.5, constraints={"recall:1": 0.7}).fit_coded(coded, encoder)
    found, held = model.candidates_, encoder.held_
    truth = np.asarray(held.class_codes)
    best: tuple[float, int] = (-1.0, 0)
    for subset, value, feasible in zip(found.subsets, found.values.values, found.values.feasible, strict=True):
        refitted = DiscreteNB(smoothing=UNSMOOTHED, feature_weights=subset.astype(float)).fit(coded)
        predicted = refitted.predict_log_proba(held).argmax(axis=1)
        assert value == pytest.approx(np.mean(predicted == truth), abs=1e-12)
        assert feasible == (np.mean(predicted[truth == 1] == 1) > 0.7)
        if feasible:
            best = max(best, (float(np.mean(predicted == truth)), -int(subset.sum())))
    chosen = found.values.values[found.values.best], -model.n_features_selected_
    assert chosen == pytest.approx(best)


def test_a_level_that_a_class_lacks_decides_against_it() -> None:
    X = np.array([["a", "u"]] * 20 + [["b", "u"]] * 19 + [["b", "v"]], dtype=object)
    y = np.repeat(["no", "yes"], 20)
    model = ClassicNB().fit(pl.DataFrame({"one": X[:, 0], "two": X[:, 1]}), y)
    rows = pl.DataFrame({"one": ["a", "b"], "two": ["u", "v"]})
    assert model.predict(rows).tolist() == ["no", "yes"]
    assert np.isfinite(model.predict_log_proba(rows)).all()


def test_recalls_and_precisions_of_two_classes() -> None:
    log_proba = np.log([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.6, 0.4]])
    measured = of_two_classes(log_proba, np.array([0, 0, 1, 0]))
    assert measured["recall of the first class"] == pytest.approx(2 / 3)
    assert measured["precision of the first class"] == 1.0
    assert measured["recall of the second class"] == 1.0
    assert measured["precision of the second class"] == 0.5
    assert of_two_classes(log_proba[:1], np.array([0]))["recall of the second class"] is None


def test_importance_is_the_mean_of_the_largest_pairwise_areas() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 5, (90, 4)), rng.integers(0, 3, 90)
    expected = np.zeros(4)
    for feature in range(4):
        areas = np.zeros((3, 3))
        for one, other in combinations(range(3), 2):
            rows = np.isin(y, (one, other))
            area = roc_auc_score(y[rows] == one, X[rows, feature])
            areas[one, other] = areas[other, one] = max(area, 1 - area)
        expected[feature] = areas.max(axis=1).mean()
    found = boruta.AUCImportance().fit(X, y).feature_importances_
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_boruta_confirms_what_matters_and_says_so_if_it_is_missing() -> None:
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 150)
    X = np.column_stack([y + 0.5 * rng.normal(size=300), rng.choice(["a", "b"], 300)])
    coded = TwoThirdsEncoder().fit_transform_coded(pl.DataFrame({"x": X[:, 0].astype(float), "noise": X[:, 1]}), y)
    if boruta.installed():
        assert boruta.confirmed_features(coded, 0).tolist() == [True, False]
    else:
        with pytest.raises(
            ValueError, match=r"Boruta is not installed; run pip install './lab\[peers\]' in the repository"
        ):
            boruta.confirmed_features(coded, 0)


def lasso_problem(n_classes: int) -> GroupedLasso:
    rng = np.random.default_rng(n_classes)
    matrix = rng.normal(size=(60, 6))
    scores = matrix @ rng.normal(size=(6, n_classes)) * [1.0] * n_classes + rng.gumbel(size=(60, n_classes))
    return GroupedLasso(matrix, np.eye(n_classes)[scores.argmax(axis=1)], np.array([0, 0, 1, 2, 2, 2]))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("share", [0.6, 0.2, 0.05])
def test_grouped_lasso_solves_its_convex_problem(n_classes: int, share: float) -> None:
    """Against a general solver, of the same problem with bounds on the norms of the groups in place of the norms."""
    problem = lasso_problem(n_classes)
    penalty = share * problem.largest_penalty()
    *_, at = problem.path(np.array([problem.largest_penalty(), penalty]), tolerance=1e-7)
    shape, weights = (6, n_classes), penalty * problem.weights

    def parts(x: np.ndarray) -> tuple[Coefficients, np.ndarray]:
        slopes = x[: 6 * n_classes].reshape(shape)
        return Coefficients(slopes, x[6 * n_classes : 7 * n_classes]), x[7 * n_classes :]

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        now, bounds = parts(x)
        loss = problem.objective(now, 0.0)
        gradient, intercepts = problem.gradient(now)
        return loss + float(weights @ bounds), np.concatenate([gradient.ravel(), intercepts, weights])

    def room(x: np.ndarray) -> np.ndarray:
        now, bounds = parts(x)
        return bounds - np.sqrt(problem.norms(now.slopes) ** 2 + 1e-14)

    start = np.concatenate([np.full(7 * n_classes, 0.01), np.ones(3)])
    options = {"maxiter": 2000, "ftol": 1e-13}
    reference = minimize(
        objective, start, jac=True, method="SLSQP", constraints={"type": "ineq", "fun": room}, options=options
    )
    assert problem.objective(at, penalty) <= reference.fun + 1e-7
    assert problem.objective(at, penalty) == pytest.approx(reference.fun, abs=1e-5)


def test_grouped_lasso_is_that_of_the_package_group_lasso() -> None:
    package = pytest.importorskip("group_lasso")
    problem = lasso_problem(4)
    penalty = 0.3 * problem.largest_penalty()
    peer = package.LogisticGroupLasso(
        problem.group,
        group_reg=penalty / 2,  # its loss counts half
        l1_reg=0.0,
        scale_reg="group_size",
        n_iter=20_000,
        tol=1e-10,
        supress_warning=True,
    )
    peer.fit(problem.matrix, problem.one_hot.argmax(axis=1))
    *_, at = problem.path(np.array([problem.largest_penalty(), penalty]), tolerance=1e-7)
    np.testing.assert_allclose(at.slopes, peer.coef_, rtol=0, atol=1e-4)


def test_the_largest_penalty_leaves_nothing_and_a_little_less_leaves_a_whole_group() -> None:
    problem = lasso_problem(3)
    largest = problem.largest_penalty()
    first, second = problem.path(np.array([largest, 0.98 * largest]))
    assert not first.slopes.any()
    groups = problem.norms(second.slopes) > 0
    assert groups.sum() == 1
    assert second.slopes[groups[problem.group]].all()


def test_lasso_on_raw_tables_counts_columns_not_values() -> None:
    rng = np.random.default_rng(5)
    kind = rng.choice(["a", "b", "c"], 300)
    y = np.where((kind == "a") ^ (rng.random(300) < 0.1), "yes", "no")
    table = pl.DataFrame({"kind": kind, "noise": rng.normal(size=300), "constant": np.ones(300)})
    model = GroupedLassoPeer().fit(table, y)
    assert 1 <= model.n_features_selected_ <= 2
    assert np.mean(model.predict(table) == y) > 0.85
    assert set(model.fold_figures(table, (y == "yes").astype(int))) >= {"recall of the first class"}
    nothing = GroupedLassoPeer().fit(table.select("constant"), y)
    assert nothing.n_features_selected_ == 0
    np.testing.assert_allclose(nothing.predict_proba(table.select("constant")).sum(axis=1), 1.0)


def test_four_normal_features_are_as_good_as_the_paper_says() -> None:
    accuracies = examples.normal_features(seed=7, n_draws=1)
    assert list(accuracies) == list(TABLE_1)
    assert all(abs(accuracies[subset][0] - TABLE_1[subset]) < 3 for subset in TABLE_1)


def test_names_of_methods_tell_their_options_apart() -> None:
    study = Blanquero2021(Options())
    described: dict[str, str] = {}
    for name in SETS:
        for method, model in study.methods_of(name).items():
            assert described.setdefault(method, describe(model)) == describe(model)
    assert set(described) == set(study.methods())


def test_a_trial_runs_resumes_and_writes_every_section(folder: Path, tmp_path: Path) -> None:
    results = tmp_path / "found.jsonl"
    study = Blanquero2021(Options(data=folder, quick=True, n_jobs=1))
    report = study.run(results)
    assert {title for title, _ in report.tables} == {
        "Table 1",
        "Table 2",
        "Table 4",
        "Balanced sets",
        "Unbalanced sets",
    }
    assert set(report.files) == {
        f"blanquero2021-{name}.svg" for name in ("australian", "times", "balanced", "unbalanced")
    }
    for where in ("Table 1", "Figure 2", "Section 3.1", "Table 4", "Table 2", "Figure 4", "Figure 5", "Supplement"):
        assert f"| {where}" in report.markdown
    before = results.read_bytes()
    again = Blanquero2021(Options(data=folder, quick=True, n_jobs=1)).run(results)
    assert results.read_bytes() == before
    assert again.markdown == report.markdown
    saved = Blanquero2021(Options(data=folder, quick=True, n_jobs=1))
    assert saved.report(saved.saved(results)).markdown == report.markdown
    rows = read_results(results)
    assert {method for name, method, *_ in rows if name == "wine"} >= {CLASSIC, LASSO, sparse_name("accuracy", 0.4)}
    assert any(method == BORUTA for _, method, *_ in rows) == boruta.installed()


def test_a_run_without_boruta_skips_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boruta, "installed", lambda: False)
    study = Blanquero2021(Options(data=folder, quick=True, only=("wine",), n_jobs=1))
    comparison = study.measure(None, 0)
    assert all(row["method"] != BORUTA for row in comparison.rows)
    assert "Boruta" in (text := study.report(comparison).markdown)
    assert "It was not installed when these results were computed." in text


def test_claims_are_judged_by_margins_and_folds() -> None:
    study = Blanquero2021(Options())
    claims = {
        one.sentence: one
        for one in study.judged(study.saved(DOCUMENTS / "blanquero2021.jsonl"))
        if isinstance(one, Judged)
    }
    area = claims["Guided by AUC, it is not below that of classic NB"]
    spectf = area.checks[0]
    assert (spectf.what, spectf.verdict, spectf.over) == (
        "SPECTF",
        "open",
        "100 folds, lower in 10 of 10 cross-validations",
    )
    assert spectf.ours == pytest.approx(-0.0448, abs=1e-4)
    assert claims["The features chosen by accuracy do not lower the accuracy on Australian"].verdict == "cannot be told"
    assert claims["CFS is faster than sparse NB (log10 of the seconds)"].verdict == "not like for like"
    assert claims["With Recall+ > 92 the pair (V2, V8) is chosen"].verdict == "does not hold"
    text = (DOCUMENTS / "blanquero2021.md").read_text(encoding="utf-8")
    for one in claims.values():
        explained = reasons([one])
        assert explained in text
        assert bool(explained) == bool((one.why or one.unlike) and one.verdict != "holds")


def test_table_2_is_the_papers() -> None:
    assert TABLE_2[100, 0.1] == (88.20, 66, 89.50)
    assert TABLE_2[300, 0.9] == (95.95, 18.2, 87.85)
    assert TABLE_2[500, 0.5] == (90.70, 102.7, 87.05)
    assert [SETS[f"p{p}-rho{rho:g}"].correlation == rho for p, rho in TABLE_2] == [True] * 20
