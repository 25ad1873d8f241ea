"""supervisord, driven by us: it starts, restarts with back-off, rotates logs and stops; we decide what and when.

Every service is declared with autostart off. The order of start-up depends on answers (is the database ready?), which
supervisord does not know, so `Supervisor.start` is called when a service's turn has come. Its own orderly stop by
priority is what happens when `manage.py up` itself is killed.
"""

import http.client
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import xmlrpc.client
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from supervisor.xmlrpc import SupervisorTransport  # type: ignore[import-untyped]

from embedded.errors import SupervisorDied
from embedded.folder import DataFolder, write_json, write_private
from embedded.service import PLAIN_VARIABLES, Service

LEASH = Path(__file__).with_name("leash.py")
LOG_BYTES = 5 * 1024 * 1024
POLL_S = 0.05
#: supervisord counts 1, 2, 3 ... seconds between attempts and gives up after so many; we never want it to.
RETRIES = 1_000_000
WITHOUT_WAITING = False

Unreachable = (OSError, http.client.HTTPException, xmlrpc.client.ProtocolError)


@dataclass(frozen=True)
class State:
    """What supervisord knows of a service. `name` is STARTING, RUNNING, BACKOFF, STOPPING, STOPPED, EXITED or FATAL."""

    name: str
    pid: int
    detail: str

    @property
    def alive(self) -> bool:
        return self.name in ("STARTING", "RUNNING")


class Supervisor:
    """One supervisord for one data folder."""

    def __init__(self, folder: DataFolder, services: Sequence[Service], *, sockets: Path) -> None:
        self._folder = folder
        self._services = {service.name: service for service in services}
        self._sockets = sockets
        self._rpc_lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def launch(self, environment: dict[str, str]) -> None:
        """Start supervisord with no service running. Call from the main thread.

        The kernel takes the death of the *thread* that started a child for the death of the parent.
        """
        for service in self._services.values():
            self._write_spec(service)
        configuration = self._folder.run / "supervisord.conf"
        write_private(configuration, self._configuration())
        command = [sys.executable, "-m", "supervisor.supervisord", "--nodaemon", "--configuration", str(configuration)]
        names = {"PLAYGROUND_PYTHON": sys.executable, "PLAYGROUND_LEASH": str(LEASH)}
        plain = {name: environment[name] for name in PLAIN_VARIABLES if name in environment}
        spec = self._folder.specs / "supervisord.json"
        write_json(spec, self._spec("supervisord", command, plain | names, self._folder.run, 15, 15))
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(LEASH), str(spec)],
            stdin=subprocess.DEVNULL,
            stdout=self._folder.log("supervisord").open("ab"),
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a Ctrl-C at the terminal reaches us alone; the services are stopped in order
        )
        self._wait_for_answer()

    def start(self, name: str) -> None:
        self._call("startProcess", name, WITHOUT_WAITING)

    def states(self) -> dict[str, State]:
        """Every service's state. Raises SupervisorDied."""
        found: list[dict[str, Any]] = self._call("getAllProcessInfo")
        return {
            each["name"]: State(name=each["statename"], pid=each["pid"], detail=each["spawnerr"] or each["description"])
            for each in found
        }

    def stop(self, names: Iterable[str]) -> None:
        """Stop these together; returns when all are gone. supervisord kills what overstays its time."""
        pending = set(names)
        for name in pending:
            try:
                self._call("stopProcess", name, WITHOUT_WAITING)
            except xmlrpc.client.Fault:  # it was not running
                continue
        while pending:
            pending -= {name for name, state in self.states().items() if state.name in ("STOPPED", "EXITED", "FATAL")}
            # Asking also turns supervisord's loop, which otherwise looks at its children once a second.
            time.sleep(POLL_S)

    def shut_down(self) -> None:
        """Stop everything in reverse order of rank, then supervisord itself."""
        for rank in sorted({service.rank for service in self._services.values()}, reverse=True):
            self.stop(name for name, service in self._services.items() if service.rank == rank)
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=5)
        if self._sockets != self._folder.run:
            shutil.rmtree(self._sockets, ignore_errors=True)

    def _call(self, method: str, *arguments: Any) -> Any:
        """One call over the private UNIX socket; a connection of its own, because calls come from several threads."""
        transport = SupervisorTransport(None, None, f"unix://{self._sockets / 'supervisor.sock'}")
        proxy = xmlrpc.client.ServerProxy("http://localhost", transport=transport)
        try:
            with self._rpc_lock:
                return getattr(proxy.supervisor, method)(*arguments)
        except Unreachable as error:
            raise SupervisorDied(f"supervisord does not answer; see {self._folder.log('supervisord')}") from error
        finally:
            transport.close()

    def _wait_for_answer(self) -> None:
        deadline = time.monotonic() + 10
        while True:
            try:
                self._call("getState")
            except SupervisorDied:
                gone = self._process is None or self._process.poll() is not None
                if gone or time.monotonic() > deadline:
                    raise
                time.sleep(POLL_S)
            else:
                return

    def _spec(
        self,
        name: str,
        command: Sequence[str],
        environment: dict[str, str],
        folder: Path,
        death_signal: int,
        stop_within_s: int,
        *,
        drop_root: bool = False,
    ) -> dict[str, Any]:
        return {
            "command": list(command),
            "environment": environment,
            "folder": str(folder),
            "record": str(self._folder.records / f"{name}.json"),
            "death_signal": int(death_signal),
            "stop_within_s": stop_within_s,
            "drop_root": drop_root,
        }

    def _write_spec(self, service: Service) -> None:
        spec = self._spec(
            service.name,
            service.command,
            dict(service.environment),
            service.folder,
            service.stop_signal,
            service.stop_within_s,
            drop_root=service.drop_root,
        )
        write_json(self._folder.specs / f"{service.name}.json", spec)

    def _configuration(self) -> str:
        """The INI file. It holds no secret and no path that somebody chose, except the socket's and the logs'."""
        head = {
            "unix_http_server": {"file": _escape(self._sockets / "supervisor.sock"), "chmod": "0600"},
            "rpcinterface:supervisor": {
                "supervisor.rpcinterface_factory": "supervisor.rpcinterface:make_main_rpcinterface"
            },
            "supervisord": {
                "logfile": "../logs/supervisor.log",
                "logfile_maxbytes": str(LOG_BYTES),
                "logfile_backups": "1",
                "pidfile": "supervisord.pid",
                "umask": "077",
                "silent": "true",
                "minfds": "256",
                **({"user": "root"} if os.geteuid() == 0 else {}),
            },
        }
        programs = {f"program:{service.name}": _program(service) for service in self._services.values()}
        sections = {**head, **programs}
        return "\n".join(_section(name, values) for name, values in sections.items())


def _program(service: Service) -> dict[str, str]:
    return {
        # Through the environment: a path with a blank, a quote or a `;` in it would not survive an INI file.
        "command": f'"%(ENV_PLAYGROUND_PYTHON)s" -I "%(ENV_PLAYGROUND_LEASH)s" services/{service.name}.json',
        "autostart": "false",
        "autorestart": "true",
        "startsecs": "3",
        "startretries": str(RETRIES),
        "priority": str(service.rank),
        "stopsignal": service.stop_signal.name.removeprefix("SIG"),
        "stopwaitsecs": str(service.stop_within_s),
        "killasgroup": "true",
        "redirect_stderr": "true",
        "stdout_logfile": f"../logs/{service.name}.log",
        "stdout_logfile_maxbytes": str(LOG_BYTES),
        "stdout_logfile_backups": "1",
    }


def _section(name: str, values: dict[str, str]) -> str:
    return "\n".join([f"[{name}]", *(f"{key} = {value}" for key, value in values.items()), ""])


def _escape(path: Path) -> str:
    return json.dumps(str(path))[1:-1].replace("%", "%%")
