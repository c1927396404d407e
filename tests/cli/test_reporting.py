"""`bayesieve report` and `document` write the pages of the library from a saved model."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from bayesieve import SelectiveNB
from tests.cli.conftest import GERMAN, Run

COLUMNS = ["duration", "checking_status", "class"]


@pytest.fixture(autouse=True)
def files(plain_surroundings: None) -> None:
    """A model of two columns, its training rows and test rows with batches, in the working folder."""
    rows = pl.read_csv(GERMAN, columns=[*COLUMNS, "job"]).with_row_index("batch").with_columns(pl.col("batch") // 100)
    for name, columns in (("model.json", COLUMNS[1::-1]), ("other.json", ["job", "duration"])):
        fitted = SelectiveNB(calibrate=False, pairs=0).fit(rows[:700].select(columns), rows[:700]["class"])
        fitted.target_name_ = "class"
        fitted.save(name)
    rows[:700].write_csv("train.csv")
    rows[700:].with_columns(pl.when(pl.col("batch") < 9).then("class")).write_csv("test.csv")


def test_document_writes_both_formats(succeeds: Run) -> None:
    rows = ["train.csv", "--test", "test.csv", "--time", "batch", "--by", "job"]
    rows += ["--purpose", "Loans", "--fact", "Owner=Risk"]
    result = succeeds("document", "model.json", *rows, "-o", "validation.md")
    assert result.stdout == "document in validation.md\n"
    assert "100 rows of test.csv without a class in 'class' were skipped" in result.stderr
    text = Path("validation.md").read_text(encoding="utf-8")
    for line in (
        "| Owner | Risk |",
        "| Purpose | Loans |",
        "### By job",
        "| Test file | test.csv, SHA-256 ",
        "| 8 | 100 |",
    ):
        assert line in text
    assert "out of time" in text
    assert succeeds("document", "model.json", "-q", "-o", "validation.html").stdout == ""
    assert "Not measured" in Path("validation.html").read_text(encoding="utf-8")


def test_report_compares_a_challenger_by_period(succeeds: Run, run: Run) -> None:
    rows = ["train.csv", "--test", "test.csv", "--time", "batch"]
    result = succeeds("report", "model.json", *rows, "--challenger", "other.json")
    for words in ("Tests of both models", "AUC", "Swap set", "swap in", "By period", "AUC challenger"):
        assert words in result.stdout
    lines = result.stdout.splitlines()
    periods = lines[lines.index("By period") + 2 :]
    assert [line.split()[:2] for line in periods[:2]] == [["7", "100"], ["8", "100"]]
    assert lines[-1] == "report in report.html"
    page = Path("report.html").read_text(encoding="utf-8")
    assert "Champion and challenger" in page
    assert page.rstrip().endswith("</html>")
    assert run("report", "model.json", "--challenger", "other.json").stderr == (
        "error: --challenger needs rows; add TABLE, the file of labelled rows, after MODEL.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-o", "v.pdf"), "end"),
        (("--by", "job"), "--by needs rows; add TABLE"),
        (("--test", "test.csv"), "--test needs rows"),
        (("--fact", "Owner"), "--fact must be NAME=TEXT"),
        (("train.csv", "--time", "bach"), "did you mean 'batch'"),
        (("train.csv", "--by", "jop"), "did you mean 'job'"),
        (("train.csv", "--target", "clas"), "did you mean 'class'"),
    ],
)
@pytest.mark.parametrize("command", ["report", "document"])
def test_errors_end_with_status_2(run: Run, command: str, arguments: tuple[str, ...], words: str) -> None:
    result = run(command, "model.json", "-o", "v.html", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not Path("v.html").exists()
