"""What a model warns of: each caution on a table that deserves it, and on those that come close."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse

from bayesieve import CautionWarning, IndicatorEncoder, MAPSelector, SelectiveNB, TableEncoder

N = 600
RNG = np.random.default_rng(7)
Y = RNG.integers(0, 2, N)
SIGNAL = Y + RNG.normal(size=N)
JOB = np.where(RNG.random(N) < 0.7, Y, 1 - Y)
NOISE = RNG.normal(size=(N, 3))
ROWS = np.arange(N)
RANKS = np.argsort(np.argsort(SIGNAL))  # say much of the classes, as row numbers of a sorted file
GERMAN = pl.read_csv(Path(__file__).parents[2] / "examples" / "data" / "german_credit.csv")
PUBLISHED = SelectiveNB(prior="published", calibrate=False)


def said(function: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        function()
    assert all(warning.category is CautionWarning and warning.filename == __file__ for warning in seen)
    return [str(warning.message) for warning in seen]


def warned(X: Any, y: Any = Y, weights: Any = None, model: SelectiveNB | None = None) -> tuple[list[str], SelectiveNB]:
    """The warnings of a fit, and the model."""
    model = model or SelectiveNB(calibrate=False)
    return said(lambda: model.fit(X, y, weights)), model


def table(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"signal": SIGNAL, **columns})


def holes(values: Any, every: int) -> pl.Series:
    return pl.Series(values).set(pl.Series(np.arange(len(values)) % every == 0), None)


def copies_of_columns() -> pl.DataFrame:
    job = pl.Series(JOB).cast(pl.String) + pl.Series((NOISE[:, 0] > 0).astype(int)).cast(pl.String)
    return table(
        fahrenheit=SIGNAL * -1.8 + 32,
        job=job,
        other_words=job.replace({"00": "k", "01": "a", "10": "z", "11": "b"}),
        code=job.replace_strict({"00": 3, "01": 1, "10": 7, "11": 5}),
        noise=NOISE[:, 1],
        noise_again=NOISE[:, 1],
    )


def nearly_copies(differ: bool) -> tuple[pl.DataFrame, np.ndarray]:
    """Many rows, of which two differ, with the same counts by class."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 60_000)
    a = np.where(rng.random(y.size) < 0.6, y, 1 - y)
    b = a.copy()
    rows = [int(np.flatnonzero((y == 1) & (a == one))[0]) for one in (1, 0)]
    b[rows] = b[rows][::-1] if differ else b[rows]
    return pl.DataFrame({"a": a, "b": b if differ else 1 - a}), y


def repeated_rows() -> tuple[np.ndarray, np.ndarray]:
    rows = ROWS % 30
    X = NOISE[:360].reshape(30, -1)[:, :12] * 0.03 + np.where(np.arange(30) % 3 == 0, 0.0, 1.0)[:, None]
    return X[rows], (rows % 3 == 0).astype(int)


def sparse_copies() -> Any:
    X = scipy.sparse.random(N, 800, 0.02, format="csc", random_state=0)
    one = scipy.sparse.csc_matrix(JOB[:, None] * 1.0)
    return scipy.sparse.hstack([one, X, one * 3, one, *[one] * 6], format="csr")


def known_after(one_before: bool) -> pl.DataFrame:
    amount = pl.Series(np.random.default_rng(0).normal(size=3000)).set(pl.Series(np.arange(3000) % 2 == 0), None)
    if one_before:
        amount[0] = 1.0
    return pl.DataFrame({"amount": amount})


def numbers(*X: Any) -> pl.DataFrame:
    return pl.DataFrame({"number": ROWS * 7, "job": JOB})


CATEGORICAL = SelectiveNB(encoder=TableEncoder(kinds={"number": "categorical"}))
DAYS = [date(2020, 1, 1) + timedelta(days=int(30 * s)) for s in SIGNAL]
FIVE = RNG.integers(0, 5, N)
IDENTIFIERS = (
    "Columns 'names' and 'in_order' look like identifiers: nearly every row has a different value, and new rows will "
    "have others. Exclude them from the fit."
)
COPIES = (
    "Columns contain the same information in every row: 'signal' and 'fahrenheit'; 'job', 'other_words' and 'code'. "
    "Keep one column of each group, because otherwise their weight is divided among them."
)
REPEATED = f"{100 * (N - 30) / N:.3g} % of the rows repeat others ({N - 30:,} of {N:,}), as after "
LOOKS = "Column 'x0' looks like an identifier"
TARGETS = "Columns 'words', 'codes', 'gappy' and 'flag' have one value for each class, like a copy"
CASES: dict[str, tuple[Callable[[], tuple[Any, ...]], list[str]]] = {
    "a sound table": (lambda: (GERMAN.drop("class"), GERMAN["class"]), []),
    "noise": (lambda: (NOISE,), ["No feature is in the model: it predicts the class shares for every row. Check "]),
    "weights that add up to one": (
        lambda: (table(), Y, np.full(N, 1 / N)),
        [
            "The row weights have a mean of 0.00167, so that 600 rows count as 1: informative ",
            "No feature is in the model",
        ],
    ),
    "copies of the target": (
        lambda: (table(words=np.where(Y == 1, "yes", "no"), codes=Y * 2.5, gappy=holes(Y * 5 - 1, 4), flag=Y == 1),),
        [TARGETS],
    ),
    "a copy of five classes": (
        lambda: (pl.DataFrame({"code": (FIVE * 3) % 5, "noise": NOISE[:, 0]}), FIVE),
        ["Column 'code' has one value for each class, like a copy of the target. Exclude it "],
    ),
    "few rows that are apart": (lambda: (pl.DataFrame({"apart": Y[:60] * 10 + SIGNAL[:60]}), Y[:60]), []),
    "nearly a copy": (lambda: (pl.DataFrame({"nearly": np.where(ROWS < 12, 1 - Y, Y)}),), []),
    "known after the target": (
        lambda: (known_after(False), np.arange(3000) % 2),
        ["Feature amount almost separates the classes by itself (level score 0.98"],
    ),
    "known before it once": (lambda: (known_after(True), np.arange(3000) % 2), []),
    "identifiers": (
        lambda: (
            pl.DataFrame(
                {
                    "names": [f"customer {i if i % 20 else 0}" for i in range(N)],
                    "in_order": RANKS + 1000,
                    "codes": holes([f"c{i}" for i in range(N)], 3),
                    "job": JOB.astype(str),
                }
            ),
        ),
        [IDENTIFIERS],
    ),
    "row numbers": (lambda: (np.column_stack([RANKS, JOB]),), [LOOKS]),
    "sparse row numbers": (lambda: (scipy.sparse.csr_matrix(np.column_stack([RANKS, JOB])),), [LOOKS]),
    "wide row numbers": (lambda: (np.hstack([RANKS[:, None], JOB[:, None], np.zeros((N, 300))]),), [LOOKS]),
    "numbers that say nothing": (lambda: (numbers(),), []),
    "the same as categories": (
        lambda: (numbers(), Y, None, CATEGORICAL),
        ["Column 'number' looks like an identifier"],
    ),
    "no identifiers": (  # whole, but some twice; whole and different, as sparse numbers are; values that come twice
        lambda: (
            pl.DataFrame(
                {
                    "cents": np.round(SIGNAL * 100),
                    "wide": RANKS.astype(float) ** 3 + FIVE,
                    "cities": [f"city {i % 300}" for i in range(N)],
                }
            ),
        ),
        [],
    ),
    "copies of columns": (lambda: (copies_of_columns(), Y, None, PUBLISHED), [COPIES]),
    "repeated rows": (lambda: (*repeated_rows(), None, PUBLISHED), [REPEATED]),
    "rare differences": (lambda: nearly_copies(True), []),
    "copies in many rows": (
        lambda: nearly_copies(False),
        ["Columns contain the same information in every row: 'a' and 'b'."],
    ),
    "copies among sparse columns": (
        lambda: (sparse_copies(),),
        ["Columns contain the same information in every row: 'x0', 'x801', 'x802', 'x803', 'x804' and 4 more. "],
    ),
    "dates": (
        lambda: (pl.DataFrame({"when": DAYS, "noise": pl.Series(ROWS[::-1] % 99).cast(pl.Date)}),),
        [
            "Column 'when' contains dates. Their last interval includes the future, ",
            "The shares of the classes change with the dates of column 'when' (Cramér's V ",
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_fit_warns_of(name: str) -> None:
    make, expected = CASES[name]
    seen, model = warned(*make())
    assert [text[: len(start)] for text, start in zip(seen, expected, strict=True)] == expected
    assert [caution.sentence for caution in model.cautions_ if caution.warns] == seen


def test_cautions_name_their_columns() -> None:
    for name, kind, columns in (
        ("copies of the target", "target", ("words", "codes", "gappy", "flag")),
        ("identifiers", "identifier", ("names", "in_order")),
        ("copies of columns", "copies", ("signal", "fahrenheit", "job", "other_words", "code")),
        ("known before it once", "separates the classes", ("amount",)),
        ("noise", "nothing kept", ()),
    ):
        _, model = warned(*CASES[name][0]())
        assert (model.cautions_[0].kind, model.cautions_[0].columns) == (kind, columns)


def test_columns_of_the_same_levels_are_no_copies() -> None:
    y = ROWS % 2
    apart = pl.DataFrame({"a": y * 10 + NOISE[:, 0], "b": y * 10 + NOISE[:, 1]})  # cut alike
    seen, model = warned(apart, y)
    assert np.array_equal(*model.encoder_.transform(apart).T)
    assert not any("contain the same information" in sentence for sentence in seen)


def test_rare_classes_and_early_ends_are_for_the_report(tmp_path: Path) -> None:
    _, model = warned(table(), np.array([0] * 450 + [1] * 145 + [2] * 5), model=SelectiveNB(max_seconds=0))
    sentences = [caution.sentence for caution in model.cautions_ if not caution.warns]
    assert sentences[0].startswith("The search was stopped early, after ")
    assert (
        sentences[1]
        == "There are fewer than 10 training rows of class 2, so that its probabilities are uncertain; add rows of it."
    )
    X, y = np.random.default_rng(0).normal(size=(20_000, 1)), (np.arange(20_000) % 200 == 0).astype(int)
    _, model = warned(X, y, model=SelectiveNB("all"))
    assert model.cautions_[-1].sentence.startswith("Class 1 has only 0.50 % of the rows")
    names = table(names=[f"row {i}" for i in range(N)])
    _, model = warned(names)
    assert said(lambda: model.report(tmp_path / "report.html", names, Y, cv=2)) == []
    assert "looks like an identifier" in (tmp_path / "report.html").read_text()


# ------------------------------------------------------------------------------------------------------ row weights


def test_normalize_makes_rows_of_weights_again() -> None:
    weights = np.abs(NOISE[:, 0]) * (ROWS % 5 > 0)
    seen, model = warned(table(), Y, weights / weights.sum(), SelectiveNB(normalize=True))
    assert seen == []
    by_hand = SelectiveNB().fit(table(), Y, weights / weights[weights > 0].mean())
    np.testing.assert_allclose(model.predict_proba(table()), by_hand.predict_proba(table()), atol=1e-8)
    assert model.scorecard_.class_counts.sum() == pytest.approx(np.count_nonzero(weights))
    encoder = TableEncoder()
    coded = encoder.fit_transform_coded(table(), Y, np.full(N, 2.0))
    with pytest.raises(ValueError, match="fit_coded does not support normalize=True"):
        SelectiveNB(normalize=True).fit_coded(coded, encoder)


def test_others_warn_of_weights_once_and_of_nothing_else() -> None:
    for function in (
        lambda: MAPSelector().fit(table(), Y, np.full(N, 1e-3)),
        lambda: MAPSelector(encoder=None).fit(JOB[:, None], Y, np.full(N, 1e-3)),
    ):
        (seen,) = said(function)
        assert seen.startswith("The row weights have a mean of ")


# --------------------------------------------------------------------------------------------------- rows to predict


@pytest.fixture(scope="module")
def model() -> SelectiveNB:
    return SelectiveNB("all").fit(table(job=JOB.astype(str), city=np.where(NOISE[:, 2] > 0, "a", "b")), Y)


def test_unseen_values(model: SelectiveNB) -> None:
    rows = pl.int_range(N, eager=True)
    X = table(job=JOB.astype(str), city=["new"] * N)  # city has no weight
    new = pl.lit("new")
    few = X.with_columns(job=pl.when(rows < 29).then(new).otherwise("job"))
    many = X.with_columns(job=pl.when(rows < 45).then(new).otherwise("job"), signal=pl.when(rows > 299).then("signal"))
    whole = table(job=["new"] * N, city=["a"] * N)
    nothing = (
        "Column 'job' contains no value seen in training ({} rows). Check that it is the right column, spelt as in "
        "training. 'job' holds 'new' (text), but held '1' and '0' (text) in training"
    )
    for table_, expected in (
        (X, []),
        (few, []),
        (
            many,
            [
                "Some values were never seen in training, or are missing in columns that were complete in training; "
                "they contribute nothing to predictions (share of the 600 rows): 'signal' (50.0 %) and 'job' (7.5 %)."
            ],
        ),
        (whole, [nothing.format(600)]),
        (whole[:5], [nothing.format(5)]),
        (whole[:4], []),  # too few to say
    ):
        seen = said(lambda table_=table_: model.predict_proba(table_))  # type: ignore[misc]
        assert [text[: len(start)] for text, start in zip(seen, expected, strict=True)] == expected


def test_missing_scores_of_indicators() -> None:
    X = np.column_stack([SIGNAL, NOISE[:, 0]])
    model = SelectiveNB("all", encoder=IndicatorEncoder([0.0, 0.5, 1.0])).fit(X, Y)
    X[: N // 4, 0] = np.nan
    (seen,) = said(lambda: model.predict_proba(X))
    assert seen.endswith("(share of the 600 rows): 'x0' (25.0 %).")
