"""What a killed supervisor left running: recognised by pid and creation time, and stopped before a new start."""

import json
from dataclasses import dataclass
from pathlib import Path

import psutil

#: Creation times are rounded to clock ticks (10 ms) and depend on the boot time, which is itself an estimate.
SAME_TIME_S = 1.0


@dataclass(frozen=True, kw_only=True)
class Record:
    """What leash.py wrote down just before it became the service."""

    name: str
    pid: int
    created: float
    program: str
    signal: int
    stop_within_s: int


def read_records(folder: Path) -> list[Record]:
    """The supervisor first: while it lives, it would start its services again."""
    records = []
    for path in folder.glob("*.json"):
        try:
            records.append(Record(name=path.stem, **json.loads(path.read_text(encoding="utf-8"))))
        except (ValueError, TypeError):
            path.unlink()  # cut short by a crash; the process then never became the service
    return sorted(records, key=lambda record: record.name != "supervisord")


def find(record: Record) -> psutil.Process | None:
    """The recorded process if it still runs and is really ours: pids are given out again."""
    try:
        process = psutil.Process(record.pid)
        same_time = abs(process.create_time() - record.created) < SAME_TIME_S
        same_program = record.program in process.cmdline()[:1]
        alive = process.status() != psutil.STATUS_ZOMBIE
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None
    return process if same_time and same_program and alive else None


def stop_leftovers(folder: Path) -> list[str]:
    """Stop every recorded process that still runs, with what it started; returns their names."""
    stopped = []
    for record in read_records(folder):
        process = find(record)
        if process is not None:
            stop(process, record)
            stopped.append(record.name)
        (folder / f"{record.name}.json").unlink(missing_ok=True)
    return stopped


def stop(process: psutil.Process, record: Record) -> None:
    """The service's own stop signal, its time, then SIGKILL for it and for every process below it."""
    family = [process, *_children(process)]
    try:
        process.send_signal(record.signal)
    except psutil.NoSuchProcess:
        return
    _, alive = psutil.wait_procs([process], timeout=record.stop_within_s)
    for member in family if alive else family[1:]:
        try:
            member.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(family, timeout=5)


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []
