"""The command line as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bayesieve.cli import compiling, main
from bayesieve.cli.screen import Screen
from tests.cli.conftest import GERMAN

SOURCES = os.pathsep.join(str(Path(__file__).parents[2] / folder) for folder in ("src", "studies/src"))


def surroundings(**changes: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": SOURCES, "PYTHONIOENCODING": "utf-8", **changes}


def process(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `python -m bayesieve` with nothing to read on standard input."""
    environment = surroundings(**options.pop("changes", {}))
    return subprocess.run(
        [sys.executable, "-m", "bayesieve", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        env=environment,
        check=False,
        timeout=300,
        **options,
    )


def test_from_table_to_predictions(toy: Path) -> None:
    result = process("fit", toy, "--target", "ziel", "--output", "ausgabe", "--folds", 2)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == f"report    {Path('ausgabe', 'report.html')}"
    # Predictions are data: UTF-8 whatever the terminal speaks.
    result = process("predict", "ausgabe/model.json", toy, changes={"PYTHONIOENCODING": "ascii"})
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[0] == "prediction,P(nein),P(да)"
    assert result.stderr == ""


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['bayesieve', 'fit', '--help']\n"
        "from bayesieve.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "print(sorted({'numpy', 'polars', 'numba', 'sklearn', 'scipy'} & set(sys.modules)), file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", env=surroundings(), check=True
    )
    assert result.stderr.strip() == "[]"


def test_an_error_is_one_line() -> None:
    result = process("fit", GERMAN, "--target", "klass")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="pipes end otherwise there")
def test_a_reader_that_leaves(model: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "bayesieve", "explain", str(model), str(GERMAN), "--rows", "0-400"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=surroundings(),
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(60) == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_standard_output(model: Path) -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "bayesieve", "predict", str(model), str(GERMAN)],
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=surroundings(),
            check=False,
        )
    assert result.returncode == 2
    assert result.stderr == "error: Standard output: No space left on device.\n"


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals there")
def test_on_a_terminal(model: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "bayesieve", "info", str(model)],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=surroundings(TERM="xterm-256color", COLUMNS="100"),
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other side has closed
            break
        if not part:
            break
        seen += part
    os.close(ours)
    assert child.wait(60) == 0
    text = seen.decode("utf-8")
    assert "─" * 40 in text
    assert "\x1b[32m█" in text
    assert "checking_status" in text


@pytest.mark.skipif(os.name == "nt", reason="signals are otherwise there")
def test_ctrl_c() -> None:
    """Before anything is read, interrupted on the named pipe that stands for a slow disk."""
    os.mkfifo("slow.json")
    child = subprocess.Popen(
        [sys.executable, "-m", "bayesieve", "info", "slow.json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=surroundings(),
        start_new_session=True,
    )
    pipe = os.open("slow.json", os.O_WRONLY)  # returns once the child has opened the pipe to read it
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    output, errors = child.communicate(timeout=60)
    os.close(pipe)
    assert child.returncode == 130
    assert (output, errors) == (b"", b"error: Interrupted.\n")


def test_ctrl_c_before_the_command_begins(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(**_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bayesieve.cli.app.app", interrupted)
    with pytest.raises(SystemExit) as end:
        main()
    assert (end.value.code, capsys.readouterr().err) == (130, "error: Interrupted.\n")


def test_the_first_run_says_what_it_waits_for(
    toy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compiling, "_PATIENCE", 0.01)
    monkeypatch.setattr(compiling, "kernels_are_compiled", lambda: False)
    with compiling.announced(Screen()):
        time.sleep(0.3)
    assert capsys.readouterr().err == f"{compiling.COMPILING}\n"
    with compiling.announced(Screen(quiet=True)):
        time.sleep(0.1)
    monkeypatch.setattr(compiling, "kernels_are_compiled", lambda: True)
    with compiling.announced(Screen()):
        time.sleep(0.1)
    monkeypatch.setattr(compiling, "_PATIENCE", 5)
    monkeypatch.setattr(compiling, "kernels_are_compiled", lambda: False)
    with compiling.announced(Screen()):
        pass
    assert capsys.readouterr().err == ""


def test_an_empty_cache_is_noticed(tmp_path: Path, fitted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bayesieve.naive_bayes import _kernels

    assert fitted.exists()  # a model was fitted in this process
    assert compiling.kernels_are_compiled()
    kernel = SimpleNamespace(py_func=None, stats=SimpleNamespace(cache_path=str(tmp_path)))
    for name in [name for name, value in vars(_kernels).items() if hasattr(value, "py_func")]:
        monkeypatch.setattr(_kernels, name, kernel)
    assert not compiling.kernels_are_compiled()
    (tmp_path / "_kernels.add_log_probabilities-10.py311.nbi").touch()
    assert compiling.kernels_are_compiled()


def test_a_working_folder_that_is_gone(tmp_path: Path) -> None:
    command = f"cd {tmp_path}/gone && rmdir ../gone && exec {sys.executable} -m bayesieve predict model.json rows.csv"
    (tmp_path / "gone").mkdir()
    result = subprocess.run(
        ["sh", "-c", command], capture_output=True, encoding="utf-8", env=surroundings(), check=False
    )
    assert (result.returncode, "Traceback" in result.stderr) == (2, False)
    assert "There is no model file model.json" in result.stderr or "working folder does not exist" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("reproduce", "boulle2007", "--quick"), "reproduce"),
        (("compare", GERMAN, "-t", "class", "--peers", "ebm"), "--peers"),
    ],
)
def test_without_the_studies_a_line_says_how_to_install_them(
    arguments: tuple[object, ...], what: str, tmp_path: Path
) -> None:
    code = (
        "from importlib import metadata; metadata.entry_points = lambda **_: (); from bayesieve.cli import main; main()"
    )
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", env=surroundings(), cwd=tmp_path, check=False, timeout=300
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {what} needs the studies; run pip install bayesieve-studies")
    assert not list(tmp_path.iterdir())
