"""`TableEncoder`: mixed tables in, codes out."""

from __future__ import annotations

import datetime as dt
from typing import Any

import joblib
import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from bayesieve import EqualFrequencyDiscretizer, MODLDiscretizer, MODLGrouper, TableEncoder

RNG = np.random.default_rng(4)
N = 240
Y = np.array(["no", "perhaps", "yes"])[RNG.integers(0, 3, N)]
CODE = np.unique(Y, return_inverse=True)[1]


def holes(values: list[Any], share: float = 0.15) -> list[Any]:
    return [None if RNG.random() < share else value for value in values]


DATA: dict[str, list[Any]] = {
    "age": holes((20 + 10 * CODE + RNG.normal(scale=5, size=N)).round(1).tolist()),
    "job": holes([f"job{(c + (RNG.random() < 0.2)) % 5}" for c in CODE]),
    "member": holes([bool(c == 1) ^ bool(RNG.random() < 0.2) for c in CODE]),
    "noise": RNG.normal(size=N).tolist(),
    "since": holes([dt.date(2020, 1, 1) + dt.timedelta(days=int(100 * c + RNG.integers(80))) for c in CODE]),
    "same": [1] * N,
    "empty": [None] * N,
    "visits": [int(v) for v in RNG.poisson(1 + 2 * CODE)],
}
FRAME = pl.DataFrame(DATA, strict=False)


def fitted(**options: Any) -> TableEncoder:
    return TableEncoder(**options).fit(FRAME, Y)


def test_one_feature_per_column() -> None:
    encoder = fitted()
    assert encoder.get_feature_names_out().tolist() == list(DATA)
    assert [level.kind for level in encoder.levels_][:4] == ["numeric", "categorical", "categorical", "numeric"]
    assert encoder.level_scores_.tolist() == [level.level_score for level in encoder.levels_]
    for name in ("noise", "same", "empty"):
        level = encoder.levels_[list(DATA).index(name)]
        assert (level.n_levels, level.level_score) == (1, 0.0)
    assert encoder.levels_[list(DATA).index("since")].type == "date"


@pytest.mark.parametrize("options", [{}, {"missing": "ignore"}, {"numeric": "equal-width", "categorical": "values"}])
def test_transform_of_the_training_rows_is_what_fit_transform_coded(options: dict[str, Any]) -> None:
    encoder = TableEncoder(**options)
    coded = encoder.fit_transform_coded(FRAME, Y)
    np.testing.assert_array_equal(encoder.transform(FRAME), coded.codes.T)
    np.testing.assert_array_equal(TableEncoder(**options).fit_transform(FRAME, Y), coded.codes.T)
    assert coded.codes.dtype == encoder.transform(FRAME).dtype == np.uint8
    assert coded.codes.flags.c_contiguous
    assert coded.names == tuple(DATA)
    np.testing.assert_array_equal(coded.classes[coded.class_codes], Y)
    for k, level in enumerate(encoder.levels_):
        counts = np.zeros((level.n_levels, 3))
        known = coded.codes[k] < level.n_levels
        np.add.at(counts, (coded.codes[k][known], CODE[known]), 1)
        np.testing.assert_array_equal(level.counts, counts)


def test_missing_is_a_level_of_its_own_even_where_it_resembles_another() -> None:
    y = [0] * 40 + [1] * 40
    table = pl.DataFrame(
        {"number": [None] * 20 + [1.0] * 20 + [2.0] * 40, "text": [None] * 20 + ["low"] * 20 + ["high"] * 40}
    )
    encoder = TableEncoder().fit(table, y)
    for level in encoder.levels_:
        assert level.counts[level.missing_code].tolist() == [20.0, 0.0]
        assert level.n_levels == 3
    # The coders themselves take missing for a value like any other.
    assert MODLDiscretizer().fit(table, y).cut_points_[0].tolist() == [1.5]
    assert len(MODLGrouper().fit(table, y).groups_[0]) == 2


def test_missing_ignored_is_never_a_level() -> None:
    encoder = fitted(missing="ignore")
    codes = encoder.transform(FRAME)
    for k, level in enumerate(encoder.levels_):
        if level.name == "empty":
            continue
        missing = np.array([value is None for value in DATA[level.name]])
        assert level.missing_code is None
        np.testing.assert_array_equal(codes[:, k] == level.n_levels, missing)
        assert level.counts.sum() == N - missing.sum()
        if level.name in ("age", "job"):  # as a table of the known rows
            alone = TableEncoder().fit(FRAME.filter(~missing).select(level.name), Y[~missing])
            assert alone.levels_[0].labels == level.labels
            assert alone.levels_[0].level_score == level.level_score


def test_unseen_values_are_counted_and_never_an_error() -> None:
    encoder = fitted()
    new = FRAME.head(3).with_columns(
        pl.Series("job", ["astronaut", "job1", None]), pl.Series("visits", [None, 1, None], dtype=pl.Int64)
    )
    assert encoder.unseen_counts_.tolist() == [0] * len(DATA)
    codes = encoder.transform(new)
    job, visits = list(DATA).index("job"), list(DATA).index("visits")
    assert codes[0, job] == encoder.levels_[job].n_levels
    assert codes[2, job] == encoder.levels_[job].missing_code
    expected = np.zeros(len(DATA))
    expected[[job, visits]] = [1, 2]
    np.testing.assert_array_equal(encoder.unseen_counts_, expected)
    encoder.transform(new)
    np.testing.assert_array_equal(encoder.unseen_counts_, 2 * expected)


def test_kinds_set_by_hand() -> None:
    encoder = fitted(kinds={"visits": "categorical", "age": "numeric"})
    assert encoder.levels_[list(DATA).index("visits")].kind == "categorical"
    assert sorted(v for group in encoder.levels_[-1].groups for v in group) == sorted(set(DATA["visits"]))
    texts = FRAME.with_columns(pl.col("visits").cast(pl.String))
    as_numbers = TableEncoder(kinds={"visits": "numeric"}).fit(texts, Y)
    assert as_numbers.levels_[-1].labels == fitted().levels_[-1].labels
    np.testing.assert_array_equal(as_numbers.transform(texts), fitted().transform(FRAME))
    with pytest.raises(ValueError, match=r"kinds names column 'agee', which X does not have; did you mean 'age'\?"):
        fitted(kinds={"agee": "numeric"})
    with pytest.raises(ValueError, match="must be 'numeric' or 'categorical'"):
        fitted(kinds={"age": "ordinal"})
    with pytest.raises(ValueError, match="job"):
        fitted(kinds={"job": "numeric"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"numeric": "kmeans"},
            "numeric must be one of 'modl', 'mdlp', 'equal-frequency', 'equal-width' or a coder, got 'kmeans'",
        ),
        ({"categorical": "onehot"}, "categorical must be one of 'modl', 'values', 'auto' or a coder, got 'onehot'"),
        ({"numeric": MODLGrouper()}, "MODLGrouper does not code numeric columns"),
        ({"categorical": MODLDiscretizer()}, "MODLDiscretizer does not code categorical columns"),
        ({"numeric": EqualFrequencyDiscretizer(n_bins=0)}, "n_bins must be a positive whole number"),
        ({"missing": "drop"}, "missing must be 'level' or 'ignore', got 'drop'"),
        ({"unseen": "error"}, "unseen must be 'ignore', got 'error'"),
        ({"numeric": None}, "numeric must be one of"),
        *(({"n_jobs": n}, "n_jobs must be a positive number of threads") for n in ("a", 1.5, True, 0, np.nan, [1])),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fitted(**options)


def test_other_ways_to_cut() -> None:
    encoder = fitted(numeric="equal-frequency", categorical="values")
    age, job = encoder.levels_[0], encoder.levels_[1]
    assert (age.n_levels, age.missing_code) == (11, 0)  # ten bins and the missing values
    assert age.cut_points[0] == -np.inf
    assert job.groups == (("job0",), ("job1",), ("job2",), ("job3",), (None,))
    assert 0 < age.level_score < 1
    assert 0 < job.level_score < 1
    few = fitted(numeric=EqualFrequencyDiscretizer(n_bins=3))
    assert few.levels_[0].n_levels == 4
    one, other = fitted(), fitted(numeric=MODLDiscretizer(), categorical=MODLGrouper())
    np.testing.assert_array_equal(one.transform(FRAME), other.transform(FRAME))


@pytest.mark.parametrize("weights", [None, 2.0])
@pytest.mark.parametrize(("n", "dtype"), [(255, np.uint8), (300, np.uint16)])
def test_255_levels_and_the_unseen_code_fit_a_byte_more_take_two(n: int, dtype: type, weights: float | None) -> None:
    table = pl.DataFrame({"many": [f"v{i:03d}" for i in range(n)] * 2, "few": [i % 2 for i in range(2 * n)]})
    encoder = TableEncoder(categorical="values")
    given = None if weights is None else np.full(2 * n, weights)
    coded = encoder.fit_transform_coded(table, table["few"], given)
    assert coded.codes.dtype == dtype
    np.testing.assert_array_equal(coded.codes, [np.tile(np.arange(n), 2), table["few"]])
    codes = encoder.transform(pl.DataFrame({"many": [f"v{n - 1}", "new"], "few": [0, 1]}))
    assert (codes.dtype, codes[:, 0].tolist()) == (dtype, [n - 1, n])


def test_to_frame_lists_every_level_with_its_counts() -> None:
    encoder = fitted()
    frame = encoder.to_frame()
    assert frame.height == sum(level.n_levels for level in encoder.levels_)
    assert set(frame.columns) >= {"feature", "level", "missing", "count", "count_no", "count_perhaps", "count_yes"}
    assert frame.group_by("feature").agg(pl.col("count").sum())["count"].to_list() == [N] * len(DATA)
    age = frame.filter(pl.col("feature") == "age")
    assert age["level"].to_list() == list(encoder.levels_[0].all_labels)
    assert age.filter("missing")["count"].to_list() == [DATA["age"].count(None)]


def test_an_encoder_mapped_from_a_file_counts_unseen_values(tmp_path: Any) -> None:
    encoder = fitted(missing="ignore")
    joblib.dump(encoder, tmp_path / "encoder.joblib")
    mapped = joblib.load(tmp_path / "encoder.joblib", mmap_mode="r")
    np.testing.assert_array_equal(mapped.transform(FRAME), encoder.transform(FRAME))
    np.testing.assert_array_equal(mapped.unseen_counts_, encoder.unseen_counts_)


def test_refitting_forgets_the_first_fit() -> None:
    encoder = fitted()
    encoder.transform(FRAME.with_columns(pl.lit("new").alias("job")))
    encoder.fit(np.arange(10.0)[:, None], [0, 1] * 5)
    assert not hasattr(encoder, "feature_names_in_")
    assert encoder.n_features_in_ == 1
    assert encoder.unseen_counts_.tolist() == [0]


@pytest.mark.parametrize("numeric", ["modl", "mdlp", "equal-frequency", "equal-width"])
@pytest.mark.parametrize("categorical", ["modl", "values"])
@pytest.mark.parametrize("missing", ["level", "ignore"])
def test_a_weight_is_the_row_repeated_and_0_no_row(numeric: str, categorical: str, missing: Any) -> None:
    """Values of rows of weight 0 make no level, not even that of missing values."""
    weights = RNG.integers(1, 4, N)
    rows = FRAME.select("age", "noise", "visits", pl.col("job").fill_null("none"))
    extra = pl.DataFrame([(-1e9, -1e9, -1000, "new"), *[(None,) * 4] * 2], rows.schema, orient="row")
    more, labels = pl.concat([rows, extra]), np.append(Y, ["no", "yes", "no"])
    encoder = TableEncoder(numeric=numeric, categorical=categorical, missing=missing)
    plain = clone(encoder).fit(rows, Y, weights)
    with_extra = clone(encoder).fit(more, labels, np.append(weights, [0, 0, 0]))
    repeated = clone(encoder).fit(rows[np.repeat(np.arange(N), weights)], np.repeat(Y, weights))
    for levels in zip(plain.levels_, with_extra.levels_, repeated.levels_, strict=True):
        assert levels[0].to_json() == levels[1].to_json() == levels[2].to_json()
    np.testing.assert_array_equal(plain.transform(rows), with_extra.transform(rows))


@pytest.mark.parametrize("numeric", ["modl", "equal-frequency"])
@pytest.mark.parametrize("categorical", ["modl", "values"])
def test_a_column_with_values_in_rows_of_weight_0_only(numeric: str, categorical: str) -> None:
    columns = {"word": [None] * 6 + ["a", "b"], "number": [None] * 6 + [1.0, 2.0]}
    rows, y, weights = pl.DataFrame(columns), [0, 1] * 4, np.repeat([2.0, 0.0], [6, 2])
    encoder = TableEncoder(numeric=numeric, categorical=categorical, missing="ignore").fit(rows, y, weights)
    assert [level.n_levels for level in encoder.levels_] == [1, 1]
    assert encoder.levels_[0].groups == ((None,),)
