"""What a model warns of: each caution on a table that deserves it, and on those that come close."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse

import bayesieve
from bayesieve import IndicatorEncoder, MAPSelector, SelectiveNB, TableEncoder, compare, selection_stability
from bayesieve.evaluation import RepeatedFolds

N = 600
RNG = np.random.default_rng(7)
Y = RNG.integers(0, 2, N)
SIGNAL = Y + RNG.normal(size=N)
JOB = np.where(RNG.random(N) < 0.7, Y, 1 - Y)
STATE = RNG.bit_generator.state
GERMAN = Path(__file__).parents[2] / "examples" / "data" / "german_credit.csv"


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """Every test draws the same numbers, whichever ran before it."""
    RNG.bit_generator.state = STATE


PUBLISHED = SelectiveNB(prior="published", calibrate=False)


def warned(X: Any, y: Any = Y, sample_weight: Any = None, model: SelectiveNB | None = None) -> tuple[list[str], Any]:
    """The warnings of a fit, and the model."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        fitted = (model or SelectiveNB(calibrate=False)).fit(X, y, sample_weight)
    assert all(warning.category is UserWarning for warning in seen)
    assert all(warning.filename == __file__ for warning in seen)
    return [str(warning.message) for warning in seen], fitted


@contextmanager
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def table(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"signal": SIGNAL, **columns})


def test_a_sound_table_has_no_cautions() -> None:
    german = pl.read_csv(GERMAN)
    seen, model = warned(german.drop("class"), german["class"])
    assert seen == []
    assert model.cautions_ == ()


# ------------------------------------------------------------------------------------------------- nothing is kept


def test_no_feature_kept() -> None:
    (seen,), model = warned(RNG.normal(size=(N, 3)))
    assert seen.startswith("No feature is kept: every row is predicted by the shares of the classes. Check ")
    assert [caution.kind for caution in model.cautions_] == ["nothing kept"]


# ------------------------------------------------------------------------------------------------------ row weights


def test_weights_that_add_up_to_one() -> None:
    seen, _ = warned(table(), sample_weight=np.full(N, 1 / N))
    assert seen[0].startswith("The row weights have a mean of 0.00167, so that 600 rows count as 1: informative ")
    assert seen[1].startswith("No feature is kept")


def test_normalize_makes_rows_of_them_again() -> None:
    weights = RNG.random(N) * (np.arange(N) % 5 > 0)
    seen, model = warned(table(), sample_weight=weights / weights.sum(), model=SelectiveNB(normalize=True))
    assert seen == []
    by_hand = SelectiveNB().fit(table(), Y, weights / weights[weights > 0].mean())
    np.testing.assert_allclose(model.predict_proba(table()), by_hand.predict_proba(table()), atol=1e-8)
    assert model.naive_bayes_.class_count_.sum() == pytest.approx(np.count_nonzero(weights))


def test_normalize_is_checked_and_kept(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="normalize must be True or False, got 'yes'"):
        SelectiveNB(normalize="yes").fit(table(), Y)  # type: ignore[arg-type]
    model = SelectiveNB(normalize=True).fit(table(), Y)
    model.save(tmp_path / "model.json")
    assert bayesieve.load(tmp_path / "model.json").normalize is True
    encoder = TableEncoder()
    coded = encoder.fit_transform_coded(table(), Y, np.full(N, 2.0))
    with pytest.raises(ValueError, match="normalize=True works with fit only"):
        SelectiveNB(normalize=True).fit_coded(coded, encoder)


def test_selectors_warn_of_weights_themselves() -> None:
    for X, encoder in ((table(), "modl"), (JOB[:, None], None)):
        with pytest.warns(UserWarning, match="divide the weights by their mean") as seen:
            MAPSelector(encoder=encoder).fit(X, Y, np.full(N, 1e-3))
        assert [warning.filename for warning in seen] == [__file__]


def test_folds_warn_once_of_weights_and_of_nothing_else() -> None:
    X, weights = table(name=[f"row {i}" for i in range(N)]), np.full(N, 50.0)
    with pytest.warns(UserWarning, match="row weights") as seen:
        compare(
            {"map": SelectiveNB("map"), "scaled": SelectiveNB("map", normalize=True)},
            X,
            Y,
            RepeatedFolds(2),
            sample_weight=weights,
        )
    assert [str(warning.message)[:31] for warning in seen] == ["The row weights have a mean of "]
    with pytest.warns(UserWarning, match="row weights") as seen:
        selection_stability(MAPSelector(), X, Y, sample_weight=weights, cv=2)
    assert [str(warning.message)[:31] for warning in seen] == ["The row weights have a mean of "]


def test_compared_models_scale_their_own_weights() -> None:
    weights = RNG.random(N) / N
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [
            compare(
                {"one": SelectiveNB("map", normalize=normalize)},
                table(job=JOB.astype(str)),
                Y,
                RepeatedFolds(2),
                sample_weight=w,
            ).rows
            for normalize, w in ((True, weights), (False, weights))
        ]
    scaled, raw = ([row["n_features"] for row in result] for result in rows)
    assert scaled == [2, 2]
    assert raw == [0, 0]


# ------------------------------------------------------------------------------------------------- target and leaks


def test_copies_of_the_target() -> None:
    words = pl.Series(np.where(Y == 1, "yes", "no"))
    gappy = pl.Series(Y * 5 - 1).set(pl.Series(np.arange(N) % 4 == 0), None)
    (seen,), model = warned(table(words=words, codes=Y * 2.5, gappy=gappy, flag=Y == 1))
    assert seen.startswith("Columns 'words', 'codes', 'gappy' and 'flag' have one value for each class of the target")
    assert model.cautions_[0].columns == ("words", "codes", "gappy", "flag")


def test_copies_of_a_target_of_several_classes() -> None:
    y = RNG.integers(0, 5, N)
    (seen,), _ = warned(pl.DataFrame({"code": (y * 3) % 5, "noise": RNG.normal(size=N)}), y)
    assert seen.startswith("Column 'code' has one value for each class of the target, as a copy of it has: leave it ")


def test_a_good_feature_is_no_copy() -> None:
    few = 60  # the classes are far apart, but there are few rows
    seen, _ = warned(pl.DataFrame({"apart": Y[:few] * 10 + SIGNAL[:few]}), Y[:few])
    assert seen == []
    nearly = np.where(np.arange(N) < 12, 1 - Y, Y)
    assert warned(pl.DataFrame({"nearly": nearly}))[0] == []


def test_what_separates_the_classes_without_exception() -> None:
    y = np.arange(3000) % 2
    amount = pl.Series(RNG.normal(size=3000)).set(pl.Series(y == 0), None)  # known after the target
    (seen,), _ = warned(pl.DataFrame({"amount": amount}), y)
    assert seen.startswith("Feature amount tells the classes apart almost alone (level score 0.98")
    amount[0] = 1.0
    seen, model = warned(pl.DataFrame({"amount": amount}), y)
    assert seen == []
    assert [(caution.kind, caution.warns) for caution in model.cautions_] == [("separates the classes", False)]


# ------------------------------------------------------------------------------------------------------- identifiers


def test_identifiers() -> None:
    names = [f"customer {i if i % 20 else 0}" for i in range(N)]
    in_order = np.argsort(np.argsort(SIGNAL)) + 1000  # say much of the classes, as row numbers of a sorted file
    codes = pl.Series([f"c{i}" for i in range(N)]).set(pl.Series(np.arange(N) % 3 == 0), None)
    X = pl.DataFrame({"names": names, "in_order": in_order, "codes": codes, "job": JOB.astype(str)})
    (seen,), model = warned(X, sample_weight=None)
    assert seen == (
        "Columns 'names' and 'in_order' look like identifiers: nearly every row has a value of its own, and new rows "
        "will have others. Leave them out."
    )
    assert model.cautions_[0].kind == "identifier"


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix, lambda X: np.hstack([X] + [X[:, 1:] * 0] * 300)])
def test_row_numbers_in_matrices(kind: Any) -> None:
    (seen,), _ = warned(kind(np.column_stack([np.argsort(np.argsort(SIGNAL)), JOB])))
    assert seen.startswith("Column 'x0' looks like an identifier")


def test_columns_are_looked_at_as_the_kinds_they_are_given() -> None:
    numbers = pl.DataFrame({"number": np.arange(N) * 7, "job": JOB})
    assert warned(numbers)[0] == []  # says nothing of the classes
    (seen,), _ = warned(numbers, model=SelectiveNB(encoder=TableEncoder(kinds={"number": "categorical"})))
    assert seen.startswith("Column 'number' looks like an identifier")


def test_what_is_no_identifier() -> None:
    cents = np.round(SIGNAL * 100)  # whole, but some come twice
    wide = np.argsort(np.argsort(SIGNAL)).astype(float) ** 3  # whole and different, as sparse numbers are
    cities = [f"city {i % 300}" for i in range(N)]
    assert warned(pl.DataFrame({"cents": cents, "wide": wide + RNG.integers(0, 9, N), "cities": cities}))[0] == []
    assert warned(pl.DataFrame({"few": [f"r{i}" for i in range(15)], "y": [0, 1, 0] * 5}), [0, 1, 0] * 5)[0][1:] == []


# ------------------------------------------------------------------------------------------------------------ copies


def test_copies_of_columns() -> None:
    job = pl.Series(JOB).cast(pl.String) + pl.Series(RNG.integers(0, 2, N)).cast(pl.String)
    X = table(
        fahrenheit=SIGNAL * -1.8 + 32,
        job=job,
        other_words=job.replace({"00": "k", "01": "a", "10": "z", "11": "b"}),
        code=job.replace_strict({"00": 3, "01": 1, "10": 7, "11": 5}),
        noise=RNG.normal(size=N),
    ).with_columns(noise_again=pl.col("noise"))
    (seen,), model = warned(X, model=PUBLISHED)
    assert seen == (
        "Columns say the same in every row: 'signal' and 'fahrenheit'; 'job', 'other_words' and 'code'. Leave out all "
        "but one, or they share their weight."
    )
    assert model.cautions_[0].columns == ("signal", "fahrenheit", "job", "other_words", "code")


def test_columns_of_the_same_levels_are_no_copies() -> None:
    y = np.arange(N) % 2
    apart = pl.DataFrame({"a": y * 10 + RNG.normal(size=N), "b": y * 10 + RNG.normal(size=N)})  # cut alike
    seen, model = warned(apart, y)
    assert np.array_equal(*model.encoder_.transform(apart).T)
    assert not any("say the same" in sentence for sentence in seen)


def test_repeated_rows_make_no_copies() -> None:
    rows = np.arange(N) % 30
    y = (rows % 3 == 0).astype(int)
    X = RNG.random((30, 12)) * 0.1 + np.where(np.arange(30) % 3 == 0, 0.0, 1.0)[:, None]
    assert warned(X[rows], y[rows], model=PUBLISHED)[0] == []


def test_rare_differences_in_many_rows_are_seen() -> None:
    n = 60_000
    y = RNG.integers(0, 2, n)
    a = np.where(RNG.random(n) < 0.6, y, 1 - y)
    b = a.copy()
    row = int(np.flatnonzero((y == 1) & (a == 1))[0]), int(np.flatnonzero((y == 1) & (a == 0))[0])
    b[list(row)] = b[list(row)][::-1]  # the same counts by class
    assert warned(pl.DataFrame({"a": a, "b": b}), y)[0] == []
    (seen,), _ = warned(pl.DataFrame({"a": a, "b": 1 - a}), y)
    assert seen.startswith("Columns say the same in every row: 'a' and 'b'.")


def test_copies_in_a_wide_sparse_table() -> None:
    X = scipy.sparse.random(N, 5000, 0.02, format="csc", random_state=0)
    informative = scipy.sparse.csc_matrix(JOB[:, None] * 1.0)
    X = scipy.sparse.hstack([informative, X, informative * 3, informative, *[informative] * 6], format="csr")
    (seen,), _ = warned(X)
    assert seen.startswith("Columns say the same in every row: 'x0', 'x5001', 'x5002', 'x5003', 'x5004' and 4 more. ")


# ------------------------------------------------------------------------------------------------------------- dates


def test_dates() -> None:
    when = [date(2020, 1, 1) + timedelta(days=int(30 * s)) for s in SIGNAL]
    noise = [date(2020, 1, 1) + timedelta(days=int(i)) for i in RNG.integers(0, 99, N)]
    (seen,), _ = warned(pl.DataFrame({"when": when, "noise": noise}))
    assert seen.startswith("Column 'when' holds dates, whose last interval stands for all of the future: ")


# -------------------------------------------------------------------------------------------------- for the report


def test_rare_classes_and_early_ends_are_for_the_report() -> None:
    y = np.array([0] * 450 + [1] * 145 + [2] * 5)
    _, model = warned(table(), y, model=SelectiveNB(max_seconds=0))
    sentences = [caution.sentence for caution in model.cautions_ if not caution.warns]
    assert sentences[0].startswith("The search was stopped early, after ")
    assert sentences[1] == "Fewer than 10 training rows of class 2: its probabilities are uncertain."
    y = np.array([0] * 19_900 + [1] * 100)
    _, model = warned(RNG.normal(size=(20_000, 1)), y, model=SelectiveNB("all"))
    assert model.cautions_[-1].sentence.startswith("Class 1 has 0.50 % of the rows only")


def test_a_report_shows_the_cautions_also_of_a_loaded_model(tmp_path: Path) -> None:
    _, model = warned(table(names=[f"row {i}" for i in range(N)]))
    model.save(tmp_path / "model.json")
    loaded = bayesieve.load(tmp_path / "model.json")
    assert loaded.cautions_ == model.cautions_
    with no_warnings():
        loaded.report(tmp_path / "report.html", table(names=[f"row {i}" for i in range(N)]), Y, cv=2)
    assert "looks like an identifier" in (tmp_path / "report.html").read_text()


# --------------------------------------------------------------------------------------------------- rows to predict


def scored(model: SelectiveNB, X: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.predict_proba(X)
    return [str(warning.message) for warning in seen]


@pytest.fixture(scope="module")
def model() -> SelectiveNB:
    return SelectiveNB("all").fit(table(job=JOB.astype(str), city=RNG.choice(["a", "b"], N)), Y)


def test_unseen_values(model: SelectiveNB) -> None:
    rows = pl.int_range(N, eager=True)
    X = table(job=JOB.astype(str), city=["new"] * N)  # city has no weight
    assert scored(model, X) == []
    few = X.with_columns(job=pl.when(rows < 29).then(pl.lit("new")).otherwise("job"))
    assert scored(model, few) == []
    many = X.with_columns(
        job=pl.when(rows < 45).then(pl.lit("new")).otherwise("job"), signal=pl.when(rows > 299).then("signal")
    )
    (seen,) = scored(model, many)
    assert seen == (
        "Some values were never seen in training, or are missing where none was missing then, and add nothing to any "
        "class (share of the 600 rows): 'signal' (50.0 %) and 'job' (7.5 %)."
    )


def test_a_column_that_is_unseen_everywhere(model: SelectiveNB) -> None:
    X = table(job=["new"] * N, city=["a"] * N)
    (seen,) = scored(model, X)
    assert seen.startswith("Column 'job' holds nothing in any of the 600 rows that the model has seen in training: ")
    assert len(scored(model, X[:5])) == 1
    assert scored(model, X[:4]) == []  # too few to say


def test_missing_scores_of_indicators() -> None:
    X = np.column_stack([SIGNAL, RNG.normal(size=N)])
    model = SelectiveNB("all", encoder=IndicatorEncoder([0.0, 0.5, 1.0])).fit(X, Y)
    X[: N // 4, 0] = np.nan
    (seen,) = scored(model, X)
    assert seen.endswith("(share of the 600 rows): 'x0' (25.0 %).")
