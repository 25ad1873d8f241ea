"""Questions to the processes of a tree, of which each may end between being listed and being asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

import psutil

Answer = TypeVar("Answer")


def of_each(processes: Iterable[psutil.Process], question: Callable[[psutil.Process], Answer]) -> list[Answer]:
    """What the question finds of each process, without those that are gone by then."""
    answers = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            answers.append(question(process))
    return answers


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running()) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
