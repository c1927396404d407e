"""Standard input, standard output and pipes in place of files, and what is written into text tables."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from bayesieve.cli.app import app
from bayesieve.table import read_table
from tests.cli.conftest import GERMAN, Run
from tests.limits import Limits


def piped(content: bytes, *arguments: object) -> Any:
    """Run a command that reads this from standard input."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=content, prog_name="bayesieve")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.mark.slow
def test_learning_from_standard_input() -> None:
    result = piped(GERMAN.read_bytes(), "fit", "-", "-t", "class", "--no-report")
    assert result.exit_code == 0, result.stderr
    assert sorted(os.listdir("bayesieve-output")) == ["features.csv", "model.json"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_named_pipes(succeeds: Run, model: Path) -> None:
    expected = succeeds("predict", model, GERMAN).stdout
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_bytes(GERMAN.read_bytes()))
    writer.start()
    assert succeeds("predict", model, "pipe").stdout == expected
    writer.join()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "standard input is empty"),
        (b"\0" * 100_000, "standard input is not a text table, because it contains binary data"),
        (b"PAR1 and no more", "standard input cannot be read as a table"),
        (b"ARROW1 and no more", "standard input cannot be read as a table"),
        (b"a,b\n1,2\n", "standard input has no column 'class' (--target)"),
    ],
)
def test_streams_that_are_no_tables(content: bytes, message: str) -> None:
    result = piped(content, "fit", "-", "-t", "class")
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not Path("bayesieve-output").exists()


@pytest.mark.parametrize("line", [b"a,y\n1,x\n2,z\n", b"no line ends"])
def test_endless_text_is_refused(monkeypatch: pytest.MonkeyPatch, limits: Limits, line: bytes) -> None:
    limits(stream_bytes=1 << 20, stream_piece=1 << 16)
    read = 0

    class Endless(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            nonlocal read
            read += len(buffer)
            buffer[:] = (line * (len(buffer) // len(line) + 1))[: len(buffer)]
            return len(buffer)

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Endless())))
    with pytest.raises(ValueError, match=r"^standard input holds more than 0 GiB; save it as a file and name that\.$"):
        read_table("-")
    assert read < 1 << 21


def test_the_output_folder_is_made_when_there_is_something_to_write(fails: Run) -> None:
    Path("t.csv").write_text("a,y\n1,u\n2,v\n")
    assert "no column 'z'" in fails("fit", "t.csv", "-t", "z", "-o", "deep/folder")
    Path("one.csv").write_text("a,y\n1,u\n2,u\n")
    assert "only one class" in fails("fit", "one.csv", "-t", "y", "-o", "deep/folder")
    assert not Path("deep").exists()
    Path("file").write_text("x")
    assert "file is a file, not a folder" in fails("fit", "nothing.csv", "-t", "y", "-o", "file")
    assert "part of it is a file" in fails("fit", "nothing.csv", "-t", "y", "-o", "file/deep")


def test_text_is_no_formula_in_a_spreadsheet(succeeds: Run) -> None:
    names = ["=cmd|' /C calc'!A0", "+sum", "-name", "@at", "plain", "a=b", "-1"]
    columns: dict[str, Any] = {name: [i % (k + 2) + 3 * (i % 2) for i in range(60)] for k, name in enumerate(names)}
    columns["text"] = [("=1+1", "-5", "-", "+49 30")[i % 4] for i in range(60)]
    pl.DataFrame(columns | {"y": [("=evil()", "-")[i % 2] for i in range(60)]}).write_csv("t.csv")
    succeeds("fit", "t.csv", "-t", "y", "--no-report", "-s", "all", "-q")
    features = pl.read_csv("bayesieve-output/features.csv", infer_schema=False)["feature"].to_list()
    assert sorted(features) == sorted(["'=cmd|' /C calc'!A0", "'+sum", "'-name", "'@at", "plain", "a=b", "-1", "text"])
    written = pl.read_csv(io.StringIO(succeeds("predict", "bayesieve-output/model.json", "t.csv").stdout))
    assert set(written["prediction"]) == {"'=evil()", "-"}
    succeeds("explain", "bayesieve-output/model.json", "t.csv", "-o", "e.csv")
    explained = pl.read_csv("e.csv", infer_schema=False)
    assert set(explained.filter(feature="text")["value"]) == {"'=1+1", "-5", "-", "'+49 30"}
    assert explained["contribution"].cast(pl.Float64).min() < 0
    succeeds("explain", "bayesieve-output/model.json", "t.csv", "-o", "e.parquet")
    assert "=evil()" in pl.read_parquet("e.parquet")["class"].to_list()  # no spreadsheet opens these


@pytest.mark.slow
def test_predictions_and_explanations_of_standard_input(succeeds: Run, model: Path, german: pl.DataFrame) -> None:
    expected = succeeds("predict", model, GERMAN).stdout
    text, parquet, arrow, stream = GERMAN.read_bytes(), io.BytesIO(), io.BytesIO(), io.BytesIO()
    german.write_parquet(parquet)
    german.write_ipc(arrow)
    german.write_ipc_stream(stream)
    contents = [text, gzip.compress(text), text.replace(b",", b";")]
    for content in (*contents, *(buffer.getvalue() for buffer in (parquet, arrow, stream))):
        result = piped(content, "predict", model, "-")
        assert (result.exit_code, result.stdout, result.stderr) == (0, expected, "")
    assert piped(text, "predict", model, "/dev/stdin", "-o", "-").stdout == expected
    succeeds("explain", model, GERMAN, "--rows", "0-5", "-o", "e.csv")
    result = piped(text, "explain", model, "-", "--rows", "0-5", "-o", "-")
    assert (result.stdout, result.stderr) == (Path("e.csv").read_text("utf-8"), "")
