"""`manage.py up`: start everything that the environment does not already provide, and keep it running.

Runs without Django's settings: they need the addresses that only this command knows.
"""

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import psutil

from embedded.environment import DEFAULT_DATA
from embedded.errors import CannotRun, PortTaken
from embedded.folder import DataFolder, write_json
from embedded.orphans import stop_leftovers
from embedded.ports import is_free
from embedded.service import NotReady, Service
from embedded.stack import SERVICES, Options, Stack, build
from embedded.startup import Startup, StoppedEarly, line
from embedded.supervisor import State, Supervisor

WATCH_S = 1.0


def parse(argv: Sequence[str]) -> Options:
    parser = argparse.ArgumentParser(prog="manage.py up", description="Start the playground on this machine.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=8000, help="port of the web pages (default 8000)")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="folder for data, logs and secrets")
    parser.add_argument("--no-demo", dest="demo", action="store_false", help="create no demo accounts")
    parser.add_argument("--only", default=",".join(SERVICES), help=argparse.SUPPRESS)
    parser.add_argument("--throw-away", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--stop-with", type=int, help=argparse.SUPPRESS)
    values = vars(parser.parse_args(argv))
    values["only"] = tuple(values["only"].split(","))
    if unknown := set(values["only"]) - set(SERVICES):
        parser.error(f"--only: unknown {', '.join(sorted(unknown))}; known: {', '.join(SERVICES)}")
    return Options(**values)


def say(text: str) -> None:
    print(text, flush=True)


def main(argv: Sequence[str]) -> int:
    """The exit status: 0 after an asked-for stop, 1 when something that is needed did not start or died."""
    os.umask(0o077)
    began = time.monotonic()
    options = parse(argv)
    try:
        folder = DataFolder.open(options.data)
        folder.lock()  # held until this process ends
        return Instance(options, folder).run(began)
    except CannotRun as error:
        print(f"\n{error}", file=sys.stderr, flush=True)
        return 1


class Instance:
    """One run of `up` on a data folder whose lock we hold."""

    def __init__(self, options: Options, folder: DataFolder) -> None:
        self._options = options
        self._folder = folder
        self._stop = threading.Event()
        self._asked = False

    def run(self, began: float) -> int:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, self._on_signal)
        say(f"Data: {self._folder.path}")
        ready_file(self._folder).unlink(missing_ok=True)
        if leftovers := stop_leftovers(self._folder.records):
            say(line("Last run", f"was killed; stopped {', '.join(leftovers)}"))
        if "web" in self._options.only:
            require_free(self._options)
        stack = build(self._options, self._folder)
        write_json(self._folder.environment_file, stack.environment)
        supervisor = Supervisor(self._folder, stack.services, sockets=stack.sockets)
        supervisor.launch(stack.plain)
        try:
            late = Startup(supervisor, self._folder, say, self._stop).run(stack.services, stack.jobs)
            announce(stack, time.monotonic() - began)
            self._watch(supervisor, stack.services, late)
        except StoppedEarly:
            pass
        finally:
            self._shut_down(supervisor)
        return 0

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._asked = True
        self._stop.set()

    def _watch(self, supervisor: Supervisor, services: Sequence[Service], late: Sequence[str]) -> None:
        """Until a stop is asked for: say what died, and what is back. Raises SupervisorDied."""
        down = {service.name: service for service in services if service.name in late}
        pids = {name: state.pid for name, state in supervisor.states().items()}
        while not self._stop.wait(WATCH_S):
            if self._options.stop_with is not None and not psutil.pid_exists(self._options.stop_with):
                return
            for name, state in supervisor.states().items():
                if state.pid != pids[name] and name not in down:
                    service = next(each for each in services if each.name == name)
                    say(line(service.title, f"stopped ({reason(state)}); restarting"))
                    down[name] = service
                pids[name] = state.pid
            for name in [name for name, service in down.items() if pids[name] and answers(service)]:
                say(line(down.pop(name).title, "ready again"))

    def _shut_down(self, supervisor: Supervisor) -> None:
        began = time.monotonic()
        ready_file(self._folder).unlink(missing_ok=True)
        say("Stopping")
        try:
            supervisor.shut_down()
        finally:
            # Whatever is still there did not obey, or supervisord is gone.
            stop_leftovers(self._folder.records)
        say(line("Everything", "stopped", time.monotonic() - began))


def answers(service: Service) -> bool:
    try:
        service.probe()
    except NotReady:
        return False
    return True


def reason(state: State) -> str:
    return state.detail if not state.pid else "new process"


def require_free(options: Options) -> None:
    if not is_free(options.port, options.host):
        raise PortTaken(
            f"Port {options.port} on {options.host} is taken by another program. "
            f"Choose another: --port {options.port + 1}"
        )


def ready_file(folder: DataFolder) -> Path:
    """Exists while everything answers; for programs that wait for us."""
    return folder.run / "ready"


def announce(stack: Stack, seconds: float) -> None:
    if "web" in stack.options.only:
        say(f"\nReady after {seconds:.1f} s: {stack.environment['PUBLIC_URL']}\n")
        if stack.credentials.demo_file.exists():
            say("Sign in with a demo account:")
            for email, password in stack.credentials.demo_accounts().items():
                say(f"  {email}  {password}")
        say("\nStop with Ctrl-C.")
    ready_file(stack.folder).write_text(str(os.getpid()), encoding="utf-8")
