"""The services that the tests run on: real ones, thrown away afterwards. Loaded by `-p tests.services_plugin`.

The environment has to be complete before pytest-django reads the settings, so the process that collects starts
PostgreSQL, Valkey and SeaweedFS first; workers of xdist inherit the addresses and take a database number and a bucket
of their own. The model server and the running application start when the first test asks for them, once for all
workers. Everything runs through `manage.py up`, so each test run tests that, too.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import boto3
import httpx2
import pytest

from embedded.ports import free_port
from embedded.stack import REPLACED
from tests.waiting import wait_until

RUN_PREFIX = "playground-tests-"
#: A run that has begun just now holds no lock yet.
YOUNG_S = 600
ROOT = Path(__file__).resolve().parent.parent
#: Set by the process that collects, for its workers: the folder that holds the data folders of this test run.
RUN_VARIABLE = "PLAYGROUND_TEST_RUN"
OWNER_VARIABLE = "PLAYGROUND_TEST_OWNER"
#: For an instance that shares nothing with the tests: an empty value counts as not given.
ALONE = dict.fromkeys(
    [*REPLACED, "PUBLIC_URL", "ALLOWED_HOSTS", "SECRET_KEY", "METRICS_TOKEN", "INFERENCE_API_KEY"], ""
)
#: A fresh machine reads 300 MB of programs from its disk first.
START_WITHIN_S = 240
STOP_WITHIN_S = 60
#: Spinning threads of the model server would starve the tests beside it.
ENGINE_THREADS = "1"


@dataclass(frozen=True, kw_only=True)
class Instance:
    """A `manage.py up` that is ready."""

    data: Path

    @property
    def environment(self) -> dict[str, str]:
        values: dict[str, str] = json.loads((self.data / "run" / "environment.json").read_text(encoding="utf-8"))
        return values

    @property
    def base_url(self) -> str:
        return self.environment["PUBLIC_URL"]

    @property
    def accounts(self) -> dict[str, str]:
        """Passwords of the demo accounts, by e-mail address."""
        values: dict[str, str] = json.loads((self.data / "secrets" / "demo.json").read_text(encoding="utf-8"))
        return values

    def api(self, key: str) -> httpx2.Client:
        """The REST API as a program with this key sees it.

        No connection is kept: the server closes idle ones, and may do so at the moment when the next request goes out.
        """
        return httpx2.Client(
            base_url=f"{self.base_url}/api/v1/",
            headers={"Authorization": f"Bearer {key}"},
            timeout=60,
            limits=httpx2.Limits(max_keepalive_connections=0),
        )

    def pid(self, service: str) -> int:
        """The process of `service` at this moment: `web`, `worker`, `engine`, `inference_backend`, `postgres` ..."""
        record = json.loads((self.data / "run" / "processes" / f"{service}.json").read_text(encoding="utf-8"))
        return int(record["pid"])

    @property
    def supervisor_pid(self) -> int:
        return int((self.data / "run" / "ready").read_text(encoding="utf-8"))

    def log(self, service: str) -> str:
        return (self.data / "logs" / f"{service}.log").read_text(encoding="utf-8", errors="replace")

    def manage(self, *words: str, within_s: float = 60) -> subprocess.CompletedProcess[str]:
        """Run one of the project's commands against this instance."""
        command = [sys.executable, str(ROOT / "manage.py"), *words, "--data", str(self.data)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=within_s, check=False)


def is_worker() -> bool:
    return "PYTEST_XDIST_WORKER" in os.environ


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(args: list[str]) -> Generator[None]:
    """A wrapper, because pytest-django does its work in the same hook and asks to be first."""
    if is_worker():
        take_own_share(os.environ["PYTEST_XDIST_WORKER"])
    elif not {"--help", "-h", "--version", "-V"} & set(args):
        start_shared_services()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Fault tests of the running application wait for each other: they would kill it under each other's hands.

    A lock, because xdist's groups (3.8) do not reach the node ids of pytest 9.2 and so change nothing.
    """
    if item.get_closest_marker("faults") and "live_stack" in getattr(item, "fixturenames", ()):
        with one_at_a_time(Path(os.environ[RUN_VARIABLE]) / "live.faults"):
            return (yield)
    return (yield)


def start_shared_services() -> None:
    remove_dead_runs()
    run = Path(tempfile.mkdtemp(prefix=RUN_PREFIX))
    os.environ[RUN_VARIABLE] = str(run)
    os.environ[OWNER_VARIABLE] = str(os.getpid())
    try:
        instance = start(run / "services", "--only", "postgres,valkey,seaweedfs", "--throw-away")
    except StartFailed as error:
        stop_all(run)
        pytest.exit(str(error), returncode=3)
    os.environ.update(instance.environment)
    os.environ.setdefault("INFERENCE_API_KEY", "service-key-of-the-tests")
    # Whatever key this machine has for Anthropic: no test may use it up.
    os.environ |= {"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1/anthropic"}


def remove_dead_runs() -> None:
    """What runs left behind that were killed: their instances have ended by themselves, their data lies about."""
    for run in Path(tempfile.gettempdir()).glob(f"{RUN_PREFIX}*"):
        with suppress(OSError):
            is_young = time.time() - run.stat().st_mtime < YOUNG_S
            if not is_young and not any(is_locked(lock) for lock in run.glob("*/run/lock")):
                shutil.rmtree(run, ignore_errors=True)


def take_own_share(worker: str) -> None:
    """A database number and a bucket that no other worker touches; pytest-django gives each its own database."""
    parts = urlsplit(os.environ["REDIS_URL"])
    os.environ["REDIS_URL"] = urlunsplit(parts._replace(path=f"/{int(worker.removeprefix('gw')) + 1}"))
    bucket = f"{os.environ['S3_BUCKET']}-{worker}"
    os.environ["S3_BUCKET"] = bucket
    boto3.client(
        "s3",
        endpoint_url=os.environ.get("S3_ENDPOINT_URL"),
        aws_access_key_id=os.environ["S3_ACCESS_KEY_ID"],
        aws_secret_access_key=os.environ["S3_SECRET_ACCESS_KEY"],
        region_name=os.environ.get("S3_REGION", "us-east-1"),
    ).create_bucket(Bucket=bucket)


def pytest_unconfigure() -> None:
    """Also reached on Ctrl-C. After a kill -9 each instance ends by itself: see `--stop-with`."""
    if not is_worker() and RUN_VARIABLE in os.environ:
        stop_all(Path(os.environ.pop(RUN_VARIABLE)))


class StartFailed(Exception):
    """`manage.py up` did not become ready; the message holds what it printed."""


def start(data: Path, *words: str, environment: dict[str, str] | None = None) -> Instance:
    """Run `manage.py up` on `data` and wait until it is ready. It outlives this process, but not the test run.

    Raises StartFailed.
    """
    output = data.with_suffix(".out")
    command = [sys.executable, str(ROOT / "manage.py"), "up", "--data", str(data), *words]
    if owner := os.environ.get(OWNER_VARIABLE):
        command += ["--stop-with", owner]
    with output.open("wb") as file:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | (environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + START_WITHIN_S
    ready = data / "run" / "ready"
    while not ready.exists() or ready.read_text(encoding="utf-8") != str(process.pid):
        if process.poll() is not None or time.monotonic() > deadline:
            process.terminate()
            raise StartFailed(f"`{' '.join(command[1:])}` is not ready:\n{output.read_text(encoding='utf-8')}")
        time.sleep(0.05)
    return Instance(data=data)


def stop_all(run: Path) -> None:
    """Stop every instance of this test run and remove its data."""
    pids = [int(lock.read_text(encoding="utf-8") or 0) for lock in run.glob("*/run/lock")]
    for pid in filter(None, pids):
        try:
            os.kill(pid, signal.SIGTERM)
        except ProcessLookupError:
            continue
    deadline = time.monotonic() + STOP_WITHIN_S
    while any(is_locked(lock) for lock in run.glob("*/run/lock")) and time.monotonic() < deadline:
        reap()
        time.sleep(0.05)
    shutil.rmtree(run, ignore_errors=True)


def reap() -> None:
    """Collect ended children: one that nobody waits for keeps its pid."""
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            continue
    except ChildProcessError:
        return


def is_locked(lock: Path) -> bool:
    with lock.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def shared(name: str, *words: str, environment: dict[str, str] | None = None) -> Instance:
    """The instance called `name`, started by whichever worker needs it first."""
    run = Path(os.environ[RUN_VARIABLE])
    with one_at_a_time(run / f"{name}.lock"):
        if (run / name / "run" / "ready").exists():
            return Instance(data=run / name)
        return start(run / name, *words, environment=environment)


@pytest.fixture(scope="session")
def engine_url() -> str:
    """The address of the embedded model server (llama.cpp's own API), one for the whole test run."""
    environment = {**ALONE, "EMBEDDED_ENGINE_THREADS": ENGINE_THREADS}
    instance = shared("engine", "--only", "engine", environment=environment)
    url = instance.environment["INFERENCE_ENGINE_URL"]
    wait_until(lambda: is_well(f"{url}/health"), within_s=START_WITHIN_S)
    return url


@pytest.fixture(scope="session")
def inference_service(engine_url: str) -> Instance:
    """A running inference backend in front of `engine_url`, on this worker's Redis database.

    Its address is `environment["INFERENCE_BASE_URL"]`; it knows the API keys that this worker's tests create.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    environment = {"INFERENCE_BASE_URL": "", "INFERENCE_ENGINE_URL": engine_url}
    instance = shared(f"inference-{worker}", "--only", "inference_backend", environment=environment)
    wait_until(lambda: is_well(f"{instance.environment['INFERENCE_BASE_URL']}/readyz"), within_s=START_WITHIN_S)
    return instance


@pytest.fixture(scope="session")
def live_stack() -> Instance:
    """The whole application as `manage.py up` runs it, with its own data, one for the whole test run.

    Tests share it: sign in as one of `accounts`, and do not rely on its being empty. A test that kills one of its
    processes must wait until the instance is ready again.
    """
    environment = {**ALONE, "EMBEDDED_ENGINE_THREADS": ENGINE_THREADS}
    try:
        instance = shared("live", "--port", str(free_port()), environment=environment)
    except StartFailed:
        # A port that was free when it was chosen may be taken when the server binds it: once is bad luck.
        instance = shared("live", "--port", str(free_port()), environment=environment)
    wait_until(lambda: is_well(f"{instance.base_url}/readyz"), within_s=START_WITHIN_S)
    return instance


def is_well(url: str) -> bool:
    """`manage.py up` goes on without the model server and what stands before it, where these take too long."""
    try:
        return httpx2.get(url, timeout=10).status_code == 200
    except httpx2.HTTPError:
        return False


__all__ = ["Instance", "engine_url", "inference_service", "live_stack", "start"]
