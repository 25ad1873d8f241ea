"""Start one service so that it cannot outlive its supervisor: `python -I leash.py SPEC.json`.

Runs between the supervisor and the service and then becomes the service (exec), so it costs no process. It takes the
environment from a file (secrets stay out of command lines and of the supervisor's configuration), drops root for a
program that refuses it, asks the kernel for a signal at the supervisor's death, and writes down pid and creation
time, by which the next start recognises what a killed supervisor left behind.

A file, not a module: the package would have to be importable from wherever the supervisor runs.
"""

import contextlib
import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import psutil

PR_SET_PDEATHSIG = 1
PR_SET_SECUREBITS = 28
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
SECBIT_NO_SETUID_FIXUP = 4
CAPABILITY_VERSION_3 = 0x20080522
CAP_DAC_OVERRIDE = 1
CAP_DAC_READ_SEARCH = 2
#: `nobody` on Linux: exists everywhere, so that no account has to be added to somebody's machine.
UNPRIVILEGED_ID = 65534


class _Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _Capabilities(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("effective", "permitted", "inheritable")]


def drop_root() -> None:
    """Become nobody, but keep the right to walk through folders that only root may enter.

    PostgreSQL refuses uid 0, and its binaries and data may lie under a 0700 folder such as /root. The other way
    would be to open every folder up to / to everybody. Where the kernel refuses the capability, the service starts
    without it and says itself which path it cannot enter.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    header = _Header(CAPABILITY_VERSION_3, 0)
    held = (_Capabilities * 2)()
    kept = 0
    if sys.platform == "linux" and libc.capget(ctypes.byref(header), held) == 0:
        wanted = (CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE)
        kept = next((1 << bit for bit in wanted if held[0].permitted & 1 << bit), 0)
        # Without this, access(2) ignores the capability for a real uid other than 0, and PostgreSQL relies on it.
        libc.prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0)
    os.setgroups([])
    os.setgid(UNPRIVILEGED_ID)
    os.setuid(UNPRIVILEGED_ID)
    if kept:
        only = (_Capabilities * 2)()
        only[0].effective = only[0].permitted = only[0].inheritable = kept
        libc.capset(ctypes.byref(header), only)
        libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, kept.bit_length() - 1, 0, 0)


def die_with_parent(number: int) -> None:
    """Ask for signal `number` when the parent dies. Last before exec: changing the uid clears it."""
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def record(path: Path, spec: dict[str, Any]) -> None:
    """Who this process is, as psutil will see it after exec."""
    entry = {
        "pid": os.getpid(),
        "created": psutil.Process().create_time(),
        "program": spec["command"][0],
        "signal": spec["death_signal"],
        "stop_within_s": spec["stop_within_s"],
    }
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(entry), encoding="utf-8")
    fresh.replace(path)


def main() -> None:
    spec = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    record(Path(spec["record"]), spec)
    # The record is opened by its owner only; the service itself may be somebody else from here on.
    os.chdir(spec["folder"])
    if spec["drop_root"] and os.geteuid() == 0:
        drop_root()
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    die_with_parent(spec["death_signal"])
    os.execve(spec["command"][0], spec["command"], spec["environment"])  # noqa: S606 - no shell is what we want


if __name__ == "__main__":
    main()
