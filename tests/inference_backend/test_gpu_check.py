"""The check for machines with a GPU: says so where there is none, and its loop batches as the service does."""

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.gpu.batched_generation import MAX_SIZE, Paced, Timer, drive

ROOT = Path(__file__).resolve().parents[2]
CALL_S = 0.05


def test_a_machine_without_a_gpu_is_told_so_and_passes() -> None:
    command = [sys.executable, "-m", "benchmarks.gpu.batched_generation"]
    hidden = {"CUDA_VISIBLE_DEVICES": "", "PATH": "/usr/bin:/bin"}
    finished = subprocess.run(command, cwd=ROOT, env=hidden, capture_output=True, text=True, timeout=60)
    assert (finished.returncode, finished.stdout.strip()) == (0, "no GPU")


def test_the_scheduler_fills_its_calls_where_a_short_timer_sends_crumbs() -> None:
    def call(size: int) -> None:
        assert 1 <= size <= MAX_SIZE
        time.sleep(CALL_S)

    rate = 0.6 * MAX_SIZE / CALL_S
    paced = drive(Paced(CALL_S), call, rate=rate, seconds=1.5)
    timer = drive(Timer(), call, rate=rate, seconds=1.5)
    assert paced["fill"] > timer["fill"]
    assert paced["answered"] > timer["answered"]
