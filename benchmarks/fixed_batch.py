"""The fixed batch call over HTTP: at most 50 inputs, always 200 ms, on simulated devices; ours beside its peers.

    python -m benchmarks.fixed_batch            ours, mosec, LitServe and Ray Serve; about four minutes
    python -m benchmarks.fixed_batch --quick    ours alone, shorter; under 50 s

Exits with 1 where a figure falls short, and says which. All systems get the same call, load (open loop, Poisson, the
same seed), generator and machine, one after the other in one run; peers run in an environment of their own that
`make .venv/installed-peers` builds. A device is simulated by waiting, so what is measured is the batching.

Rows: `busy` 2 devices at 400/s (80 % of what they can do), `calm` 2 devices at 20/s, `killed` 2 devices at 200/s of
which one process gets SIGKILL early in a call (the one that ended a call last) and is started again at once, `large`
10 devices at 2,000/s.

The line `(simulated)` of each row is the scheduler of the service with the same arrivals and a clock of its own, where
nothing but a call takes time: what ours has beyond it is the cost of HTTP, limits, timers and the machine. For `killed`
the device is killed as far into a call, and out for as long, as ours was; what the other one does at that moment is
left to chance in both. The last columns count a request without an answer as one that came infinitely late.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.batch_servers import PEERS_PYTHON, ROOT, SYSTEMS, System
from benchmarks.load import departures, quantile
from benchmarks.peers.device import CALL_S
from inference_backend.scheduling.batch import BatchScheduler
from inference_backend.scheduling.delay_gate import DelayGate
from inference_backend.simulation.fixed_call import Fault, FixedCallSimulation, Join
from inference_backend.tiers import TIERS

RESULTS = Path(__file__).resolve().parent / "results" / "fixed_batch.json"
SEED = 1
Figures = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Row:
    name: str
    devices: int
    rate: float
    seconds: float
    kill_after_s: float | None = None

    def shorter(self) -> Row:
        return Row(
            name=self.name,
            devices=self.devices,
            rate=self.rate,
            seconds=self.seconds / 2,
            kill_after_s=self.kill_after_s and self.kill_after_s / 2,
        )


ROWS = (
    Row(name="busy", devices=2, rate=400, seconds=12),
    Row(name="calm", devices=2, rate=20, seconds=12),
    Row(name="killed", devices=2, rate=200, seconds=12, kill_after_s=4),
    Row(name="large", devices=10, rate=2000, seconds=15),
)


def measure(system: System, row: Row) -> Figures:
    with system.running(row.devices, as_processes=row.kill_after_s is not None) as server:
        command = [sys.executable, "-m", "benchmarks.load", "--url", server.url, "--body", server.body]
        command += ["--rate", str(row.rate), "--seconds", str(row.seconds), "--seed", str(SEED)]
        for header in server.headers:
            command += ["--header", header]
        load = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        kill = None
        if row.kill_after_s is not None:
            time.sleep(row.kill_after_s)
            kill = server.kill_one()
        output, _ = load.communicate(timeout=row.seconds + 120)
        calls, inputs = server.calls()
        figures: Figures = json.loads(output)
        if kill is not None:
            figures |= {"into_call_s": round(kill.into_call_s, 3), "out_s": kill.out_s()}
    figures["shed"] = sum(count for status, count in figures["statuses"].items() if status != "200")
    figures["fill"] = round(inputs / calls, 1) if calls else None
    return figures


def simulate(row: Row, ours: Figures) -> Figures:
    """The figures that the scheduler has where nothing but a call takes time."""
    gate, faults, join = DelayGate(), [], None
    if row.kill_after_s is not None:
        into_call_s, out_s = ours["into_call_s"], ours["out_s"] or row.seconds
        began_at = row.kill_after_s - into_call_s
        faults = [Fault(kind="kill", at_s=began_at, into_call=into_call_s / CALL_S, notice_s=0.0)]
        join = Join(at_s=row.kill_after_s + out_s, count=1)
    scheduler: BatchScheduler[int] = BatchScheduler(call_s=CALL_S, gate=gate)
    simulation = FixedCallSimulation(scheduler, call_s=CALL_S, gate=gate, faults=faults)
    simulation.join(row.devices)
    if join:
        simulation.plan(join)
    simulation.run((at, "internal") for at in departures(row.rate, row.seconds, SEED))
    times = [latency for tier in TIERS for latency in simulation.requests.latencies[tier]]
    return {
        "fill": round(scheduler.snapshot().fill, 1),
        "p50_ms": round(quantile(times, 0.5) * 1000, 1),
        "p99_ms": round(quantile(times, 0.99) * 1000, 1),
        "worst_ms": round(max(times) * 1000, 1),
    }


def shortfalls(row: Row, all_figures: dict[str, Figures]) -> Iterator[str]:
    """What is promised: never worse than a peer, and the figures that stand by themselves."""
    ours = all_figures["ours"]
    if _lost(ours):
        yield f"{row.name}: {_lost(ours)} requests of ours were not answered with 200: {ours['statuses']}"
    for name, theirs in all_figures.items():
        if name != "ours":
            yield from _behind(row, ours, name, theirs)
    if row.name == "large" and ours["served_per_s"] < 1900:
        yield f"large: {ours['served_per_s']} requests/s, wanted 1,900"
    if row.name == "large" and ours["p99_ms"] > 320:
        yield f"large: p99 {ours['p99_ms']} ms, wanted at most 320"


def _behind(row: Row, ours: Figures, name: str, theirs: Figures) -> Iterator[str]:
    """A peer that serves less than half of what was asked is quick with the rest; that counts for nothing."""
    if _lost(theirs) < _lost(ours):
        yield f"{row.name}: {name} lost fewer requests"
    if theirs["served_per_s"] < 0.5 * row.rate:
        return
    for figure in ("p50_ms", "p99_ms", "p999_ms_of_all", "worst_ms_of_all"):
        if _late(theirs[figure]) < _late(ours[figure]):
            yield f"{row.name}: {figure} of {name} is {theirs[figure]}, ours {ours[figure]}"


def _late(figure: float | None) -> float:
    return math.inf if figure is None else figure


def _lost(figures: Figures) -> int:
    return int(figures["shed"] + figures["unanswered"])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fixed_batch")
    parser.add_argument("--quick", action="store_true", help="ours alone, half as long")
    parser.add_argument("--row", action="append", choices=[row.name for row in ROWS])
    given = parser.parse_args()
    rows = [row.shorter() if given.quick else row for row in ROWS if not given.row or row.name in given.row]
    systems = SYSTEMS[:1] if given.quick else SYSTEMS
    if not given.quick and not PEERS_PYTHON.exists():
        raise SystemExit("the peers are missing: make .venv/installed-peers")
    results: dict[str, dict[str, Figures]] = {}
    simulations: dict[str, Figures] = {}
    problems: list[str] = []
    print(
        _line("row", "system", "fill", "p50", "p99", "worst", "lost", "served/s", "cpu", "p99.9 all", "worst all", "")
    )
    for row in rows:
        results[row.name] = {}
        for system in systems:
            found = results[row.name][system.name] = measure(system, row)
            print(_shown(row, system.name, found), flush=True)
        found = simulations[row.name] = simulate(row, results[row.name]["ours"])
        print(
            _line(row.name, "(simulated)", found["fill"], found["p50_ms"], found["p99_ms"], found["worst_ms"]),
            flush=True,
        )
        problems += shortfalls(row, results[row.name])
    for problem in problems:
        print(f"short: {problem}")
    if not given.quick and not given.row:
        machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
        command = "python -m benchmarks.fixed_batch"
        report = {"command": command, "machine": machine, "rows": results, "simulated": simulations, "short": problems}
        RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if problems else 0


def _shown(row: Row, name: str, found: Figures) -> str:
    never = [
        figure if figure is not None else "never" for figure in (found["p999_ms_of_all"], found["worst_ms_of_all"])
    ]
    note = ""
    if "out_s" in found:
        out = f"{found['out_s']:.2f} s" if found["out_s"] is not None else "for good"
        note = f"  killed {1000 * found['into_call_s']:.0f} ms into a call, out {out}"
    times = (found["p50_ms"], found["p99_ms"], found["worst_ms"])
    counts = (_lost(found), found["served_per_s"], found["cpu_share"])
    return _line(row.name, name, found["fill"] or "-", *times, *counts, *never, note)


def _line(row: str, system: str, *cells: object) -> str:
    widths = (6, 9, 9, 9, 6, 10, 7, 11, 11, 0)
    return f"{row:8}{system:12}" + "".join(f"{cell!s:>{width}}" for cell, width in zip(cells, widths, strict=False))


if __name__ == "__main__":
    sys.exit(main())
