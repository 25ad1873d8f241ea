"""The data folder of one instance: where each thing lies, who may read it, and who is using it."""

import fcntl
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embedded.errors import FolderInUse

#: A UNIX socket's path may be 107 bytes long, and services append a name of their own.
SOCKET_FOLDER_BYTES = 80


@dataclass(frozen=True)
class DataFolder:
    """Everything below `path` is 0700 for folders and 0600 for what holds a secret."""

    path: Path

    @classmethod
    def open(cls, path: Path) -> "DataFolder":
        """Create what is missing and close the folder to others. Takes no lock."""
        folder = cls(path.expanduser().resolve())
        for each in (folder.path, folder.run, folder.logs, folder.secrets, folder.records, folder.specs):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
            each.chmod(0o700)
        return folder

    @property
    def run(self) -> Path:
        return self.path / "run"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def secrets(self) -> Path:
        return self.path / "secrets"

    @property
    def records(self) -> Path:
        """One file a running process: pid and creation time, written by the process itself (leash.py)."""
        return self.run / "processes"

    @property
    def specs(self) -> Path:
        return self.run / "services"

    @property
    def environment_file(self) -> Path:
        return self.run / "environment.json"

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def lock(self) -> int:
        """Hold the folder until the returned descriptor closes: the kernel lets go even after a kill -9.

        Raises FolderInUse.
        """
        handle = os.open(self.run / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, 20).decode() or "another process"
            os.close(handle)
            raise FolderInUse(
                f"{self.path} is in use by `manage.py up` (pid {holder}). Stop that one, or pass --data another folder."
            ) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        return handle

    def sockets(self) -> Path:
        """A private folder for UNIX sockets: `run`, or a short-named one where the path would be too long."""
        if len(os.fsencode(self.run)) <= SOCKET_FOLDER_BYTES:
            return self.run
        return Path(tempfile.mkdtemp(prefix="playground-"))


def write_private(path: Path, text: str) -> None:
    """Write a 0600 file that is either the old or the new one at any moment."""
    fresh = path.with_name(path.name + ".new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    fresh.replace(path)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    write_private(path, json.dumps(value, indent=2) + "\n")
