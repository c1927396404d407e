"""The command line as a process: streams that close, signals, terminals, and what an installation lacks."""

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

from bayesieve.cli import app, compiling, main
from bayesieve.cli.commands import Screen
from tests.cli.conftest import GERMAN, app_of_now, invoke
from tests.limits import interrupted
from tests.processes import CONTEXT, run_command
from tests.waiting import printed_errors

SOURCES = os.pathsep.join(str(Path(__file__).parents[2] / folder) for folder in ("src", "lab/src"))
COMMAND = (sys.executable, "-m", "bayesieve")
posix = pytest.mark.skipif(os.name == "nt", reason="pipes, signals and terminals differ there")


def surroundings(**changes: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": SOURCES, "PYTHONIOENCODING": "utf-8", **changes}


def process(*command: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a process with nothing to read on standard input."""
    given: dict[str, Any] = {"stdout": subprocess.PIPE, "stdin": subprocess.DEVNULL, "env": surroundings()}
    return subprocess.run(
        [*map(str, command)],
        **{**given, **options},
        stderr=subprocess.PIPE,
        encoding="utf-8",
        check=False,
        timeout=300,
    )


def child(*arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    """A command that runs while the test goes on."""
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": surroundings()}
    return subprocess.Popen([*COMMAND, *map(str, arguments)], **{**given, **options})


def test_from_table_to_predictions(toy: Path) -> None:
    result = process(*COMMAND, "fit", toy, "--target", "ziel", "--output", "ausgabe", "--folds", 2)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == f"report    {Path('ausgabe', 'report.html')}"
    # Predictions are data: UTF-8 whatever the terminal speaks.
    result = invoke("predict", "ausgabe/model.json", toy, charset="cp1252")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout_bytes.decode("utf-8").splitlines()[0] == "prediction,P(nein),P(да)"


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['bayesieve', 'fit', '--help']\n"
        "from bayesieve.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "print(sorted({'numpy', 'polars', 'numba', 'sklearn', 'scipy'} & set(sys.modules)), file=sys.stderr)"
    )
    result = process(sys.executable, "-c", code)
    assert (result.returncode, result.stderr.strip()) == (0, "[]")


@pytest.mark.slow
@posix
def test_a_reader_that_leaves(model: Path) -> None:
    with child("explain", model, GERMAN, "--rows", "0-400") as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(60) == 141


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_standard_output(model: Path) -> None:
    with open("/dev/full", "w") as full:
        result = process(*COMMAND, "predict", model, GERMAN, stdout=full)
    assert (result.returncode, result.stderr) == (2, "error: Standard output: No space left on device.\n")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there are no devices as files")
def test_endless_input_that_is_no_table_ends_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["bayesieve", "fit", "-", "-t", "y"])
    with Path("/dev/zero").open(encoding="utf-8") as endless:
        monkeypatch.setattr("sys.stdin", endless)
        with pytest.raises(SystemExit) as end:
            main()
    assert end.value.code == 2
    assert "binary data" in capsys.readouterr().err
    assert not Path("bayesieve-output").exists()


@pytest.mark.slow
@posix
def test_on_a_terminal(model: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    terminal = surroundings(TERM="xterm-256color", COLUMNS="100")
    running = child("info", model, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=terminal)
    os.close(theirs)
    seen = b""
    try:
        while part := os.read(ours, 65536):
            seen += part
    except OSError:  # the other side has closed
        pass
    os.close(ours)
    assert running.wait(60) == 0
    assert all(text in seen.decode("utf-8") for text in ("─" * 40, "\x1b[32m█", "checking_status"))


@pytest.mark.slow
@posix
@pytest.mark.usefixtures("interrupts")
def test_ctrl_c() -> None:
    """Before anything is read, interrupted on the named pipe that stands for a slow disk."""
    os.mkfifo("slow.json")
    running = child("info", "slow.json", start_new_session=True)
    pipe = os.open("slow.json", os.O_WRONLY)  # returns once the child has opened the pipe to read it
    time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    outputs = running.communicate(timeout=60)
    os.close(pipe)
    assert (running.returncode, *outputs) == (130, b"", b"error: Interrupted.\n")


def test_ctrl_c_before_the_command_begins(capsys: pytest.CaptureFixture[str]) -> None:
    with interrupted(app, "app"), pytest.raises(SystemExit) as end:
        main()
    assert (end.value.code, capsys.readouterr().err) == (130, "error: Interrupted.\n")


def test_the_first_run_says_what_it_waits_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for patience, is_compiled, quiet in (
        (0.01, False, False),
        (0.01, False, True),
        (0.01, True, False),
        (9, False, False),
    ):
        monkeypatch.setattr(compiling, "_PATIENCE", patience)
        monkeypatch.setattr(compiling, "kernels_are_compiled", lambda answer=is_compiled: answer)
        is_announced = patience < 1 and not is_compiled and not quiet
        with compiling.announced(Screen(quiet)):
            if is_announced:
                assert printed_errors(capsys) == f"{compiling.COMPILING}\n"
            else:
                time.sleep(0.05)
        assert capsys.readouterr().err == ""


def test_an_empty_cache_is_noticed(tmp_path: Path, fitted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bayesieve.evidence import _kernels

    assert fitted.exists()  # a model was fitted in this process
    assert compiling.kernels_are_compiled()
    monkeypatch.setattr(compiling.compiling, "stamp", lambda family: None)  # of code that `make wheel` left behind
    kernel = SimpleNamespace(py_func=None, stats=SimpleNamespace(cache_path=str(tmp_path)))
    for name in [name for name, value in vars(_kernels).items() if hasattr(value, "py_func")]:
        monkeypatch.setattr(_kernels, name, kernel)
    assert not compiling.kernels_are_compiled()
    (tmp_path / "_kernels.add_log_probabilities-10.py311.nbi").touch()
    assert compiling.kernels_are_compiled()


def predict_in_a_folder_that_is_gone(folder: Path, kept: Path) -> None:
    os.chdir(folder)
    folder.rmdir()
    run_command(kept, ("predict", "model.json", "rows.csv"))


@posix
def test_a_working_folder_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    running = CONTEXT.Process(target=predict_in_a_folder_that_is_gone, args=(tmp_path / "gone", tmp_path))
    running.start()
    running.join(60)
    stderr = (tmp_path / "stderr").read_text(encoding="utf-8")
    assert (running.exitcode, "Traceback" in stderr) == (2, False)
    assert "There is no model file model.json" in stderr or "current folder no longer exists" in stderr


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("reproduce", "boulle2007", "--quick"), "reproduce"),
        (("compare", GERMAN, "-t", "class", "--peers", "ebm"), "compare"),
    ],
)
def test_without_the_lab_a_line_says_how_to_install_them(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[object, ...], what: str
) -> None:
    monkeypatch.setattr("bayesieve.cli.commands.entry_points", lambda **_: ())
    result = invoke(*arguments, app=app_of_now())
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {what} needs bayesieve-lab: pip install bayesieve-lab")
    assert not list(Path().iterdir())
