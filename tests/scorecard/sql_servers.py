"""PostgreSQL and MariaDB as processes in a folder, for the time of a test; installed by apt-get if missing."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from tests.scorecard.sql_engines import Engine, Rows, script

_NULL = "<null>"


@contextmanager
def postgres() -> Iterator[Engine]:
    """PostgreSQL, reached by a socket only."""
    initdb = _program("initdb", "postgresql", "/usr/lib/postgresql")
    control = initdb.with_name("pg_ctl")
    with _folder("postgres") as (folder, as_user):
        data = folder / "data"
        _call(
            [*as_user, str(initdb), "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"]
        )
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        start = [*as_user, str(control), "-D", str(data), "-o", options, "-l", str(folder / "log"), "-w"]
        _call([*start, "start"])
        client = ["psql", "-h", str(folder), "-U", "postgres", "-qX", "--csv", "-P", f"null={_NULL}"]
        try:
            yield lambda frame, query: _rows([*client, "-v", "ON_ERROR_STOP=1"], "postgres", frame, query)
        finally:
            _call([*as_user, str(control), "-D", str(data), "-m", "fast", "stop"])


@contextmanager
def mariadb() -> Iterator[Engine]:
    """MariaDB, reached by a socket only."""
    server = _program("mariadbd", "mariadb-server", "/usr/sbin")
    with _folder("mysql") as (folder, as_user):
        data, socket = folder / "data", folder / "socket"
        own = ["--no-defaults", f"--datadir={data}"]
        _call([*as_user, "mariadb-install-db", *own, "--auth-root-authentication-method=normal"])
        process = subprocess.Popen(
            [*as_user, str(server), *own, f"--socket={socket}", "--skip-networking", f"--pid-file={folder / 'pid'}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        client = ["mariadb", "--no-defaults", f"--socket={socket}", "-u", "root", "--default-character-set=utf8mb4"]
        try:
            _wait_for(socket)
            _call([*client, "-e", "CREATE DATABASE trial"])
            yield lambda frame, query: _rows([*client, "--batch", "trial"], "mysql", frame, query)
        finally:
            subprocess.run(
                ["mariadb-admin", "--no-defaults", f"--socket={socket}", "-u", "root", "shutdown"], check=False
            )
            process.wait(timeout=60)


def _program(name: str, package: str, *places: str) -> Path:
    for _ in range(2):
        found = [path for place in places for path in sorted(Path(place).glob(f"**/{name}"))]
        if found or shutil.which(name):
            return found[-1] if found else Path(str(shutil.which(name)))
        _call(["apt-get", "install", "--yes", "--no-install-recommends", package])
    raise FileNotFoundError(f"{name} is not in the package {package}")


@contextmanager
def _folder(user: str) -> Iterator[tuple[Path, Sequence[str]]]:
    """A folder of a user, and the words that run a command as this user: servers refuse to run as root."""
    with tempfile.TemporaryDirectory(prefix="sql-") as name:
        is_root = os.geteuid() == 0
        if is_root:
            shutil.chown(name, user, user)
        yield Path(name), ["runuser", "-u", user, "--"] if is_root else []


def _call(command: Sequence[str], text: str | None = None) -> str:
    done = subprocess.run(command, input=text, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def _wait_for(socket: Path) -> None:
    for _ in range(300):
        if socket.exists():
            return
        time.sleep(0.1)
    raise TimeoutError(f"no server at {socket}")


def _rows(client: Sequence[str], dialect: str, frame: pl.DataFrame, query: str) -> Rows:
    printed = _call(client, script(dialect, frame, query))
    delimiter, quoting = (",", csv.QUOTE_MINIMAL) if dialect == "postgres" else ("\t", csv.QUOTE_NONE)
    null = _NULL if dialect == "postgres" else "NULL"
    rows = csv.DictReader(io.StringIO(printed), delimiter=delimiter, quoting=quoting)
    found = [{name: None if value == null else _read(name, value) for name, value in row.items()} for row in rows]
    return sorted(found, key=lambda row: int(row["row_id"]))


def _read(name: str, value: str) -> float | str:
    return float(value) if name.startswith(("p_", "score")) else value
