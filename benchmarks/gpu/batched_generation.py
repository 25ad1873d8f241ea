"""The batch scheduler in front of real batched generation on a GPU. Needs torch and transformers only; under 4 minutes.

    python -m benchmarks.gpu.batched_generation [--seconds 60] [--small] [--out FILE]

Says "no GPU" and exits 0 where there is none. The model has the shape of an 8 B model (`--small`: of a 135 M one) with
random weights, because speed does not depend on what they hold and nothing has to be fetched; it never ends early, so
each call of 64 tokens takes as long as the batch's size says. One call at a time, as with the fixed batch call.

Measured, in one run: how long a call takes at 1, 8 and 50 inputs; then open-loop Poisson arrivals at 80 % of what full
batches could serve, through three ways of forming batches: `paced` (BatchScheduler, as the service runs it), `timer`
(a batch is closed 10 ms after its first input, then waits for the GPU) and `single` (one input a call). Reported:
tokens/s, mean fill, p50 and p99 of arrival to answer. Exits 1 where `paced` is not ahead of both.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from inference_backend.scheduling.batch import BatchScheduler

MAX_SIZE = 50
PROMPT_TOKENS = 128
NEW_TOKENS = 64
LOAD = 0.8
TIMER_S = 0.010
Call = Callable[[int], None]


def load_call(*, small: bool) -> tuple[Call, str]:
    """A function that generates NEW_TOKENS for a batch of the given size, and the name of the device."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    shape = (
        {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30, "num_attention_heads": 9}
        if small
        else {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32}
    )
    config = LlamaConfig(**shape, num_key_value_heads=3 if small else 8, vocab_size=32_000, eos_token_id=None)
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        model = LlamaForCausalLM(config).eval()

    def call(size: int) -> None:
        prompts = torch.randint(3, 32_000, (size, PROMPT_TOKENS), device="cuda")
        with torch.inference_mode():
            model.generate(
                prompts,
                attention_mask=torch.ones_like(prompts),
                max_new_tokens=NEW_TOKENS,
                min_new_tokens=NEW_TOKENS,
                do_sample=False,
                pad_token_id=0,
            )
        torch.cuda.synchronize()

    return call, torch.cuda.get_device_name(0)


class Policy(Protocol):
    """When to call with how many. `take` returns the inputs to call with now; empty: nothing yet."""

    def arrive(self, item: int, now: float) -> None: ...

    def take(self, now: float) -> list[int]: ...

    def done(self, now: float) -> None: ...


class Paced:
    def __init__(self, call_s: float) -> None:
        # The real call jitters and is shorter for small batches; only a hung GPU should trip the watchdog.
        self._scheduler: BatchScheduler[int] = BatchScheduler(max_size=MAX_SIZE, call_s=call_s, watchdog_factor=5)
        self._scheduler.add_worker("gpu", time.perf_counter())
        self._running: int | None = None

    def arrive(self, item: int, now: float) -> None:
        self._scheduler.submit(item, tier="pro", now=now)

    def take(self, now: float) -> list[int]:
        sends = self._scheduler.poll(now).sends
        if not sends:
            return []
        self._running = sends[0].id
        return list(sends[0].items)

    def done(self, now: float) -> None:
        if self._running is not None:
            self._scheduler.complete(self._running, now)


@dataclass
class Timer:
    """What many servers do: batches are closed by a timer while a call runs, and then queue."""

    size: int = MAX_SIZE
    window_s: float = TIMER_S
    open: list[int] = field(default_factory=list)
    opened_at: float = 0.0
    closed: deque[list[int]] = field(default_factory=deque)

    def arrive(self, item: int, now: float) -> None:
        self._close(now)
        if not self.open:
            self.opened_at = now
        self.open.append(item)
        if len(self.open) >= self.size:
            self.closed.append(self.open)
            self.open = []

    def _close(self, now: float) -> None:
        if self.open and now - self.opened_at >= self.window_s:
            self.closed.append(self.open)
            self.open = []

    def take(self, now: float) -> list[int]:
        self._close(now)
        return self.closed.popleft() if self.closed else []

    def done(self, now: float) -> None:
        pass


def drive(policy: Policy, call: Call, *, rate: float, seconds: float) -> dict[str, Any]:
    """Open loop on the real clock. What is left unanswered at the end counts as waiting since it came."""
    generator = random.Random(1)
    start = time.perf_counter()
    due = start + generator.expovariate(rate)
    arrived: list[float] = []
    waits: list[float] = []
    sizes: list[int] = []
    while (now := time.perf_counter()) < start + seconds:
        while due <= now:
            policy.arrive(len(arrived), due)
            arrived.append(due)
            due += generator.expovariate(rate)
        batch = policy.take(now)
        if not batch:
            time.sleep(min(0.0005, max(0.0, due - now)))
            continue
        call(len(batch))
        ended = time.perf_counter()
        policy.done(ended)
        sizes.append(len(batch))
        waits += [ended - arrived[item] for item in batch]
    answered = len(waits)
    end = time.perf_counter()
    # Those answered came first or nearly so; the rest is still waiting.
    waits += [end - at for at in arrived[answered:]]
    waits.sort()
    return {
        "arrived": len(arrived),
        "answered": answered,
        "tokens_per_s": round(sum(sizes) * NEW_TOKENS / (end - start), 1),
        "fill": round(sum(sizes) / max(1, len(sizes)), 1),
        "p50_s": round(waits[len(waits) // 2], 3),
        "p99_s": round(waits[int(len(waits) * 0.99)], 3),
    }


def time_calls(call: Call) -> dict[int, float]:
    seconds = {}
    for size in (1, 8, MAX_SIZE):
        call(size)
        times = []
        for _ in range(3):
            began = time.perf_counter()
            call(size)
            times.append(time.perf_counter() - began)
        seconds[size] = sorted(times)[1]
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.batched_generation")
    parser.add_argument("--seconds", type=float, default=45.0, help="of each of the three ways")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    try:
        import torch

        has_gpu = torch.cuda.is_available()
    except ImportError:
        has_gpu = False
    if not has_gpu:
        print("no GPU")
        return 0
    call, device = load_call(small=given.small)
    calls = time_calls(call)
    rate = LOAD * MAX_SIZE / calls[MAX_SIZE]
    print(f"{device}: calls take {', '.join(f'{size}: {s * 1000:.0f} ms' for size, s in calls.items())}")
    print(f"{rate:.0f} inputs/s, {LOAD:.0%} of what full batches serve")
    ways: dict[str, Callable[[], Policy]] = {
        "paced": lambda: Paced(calls[MAX_SIZE]),
        "timer": Timer,
        "single": lambda: Timer(size=1),
    }
    found = {}
    for name, make in ways.items():
        found[name] = drive(make(), call, rate=rate, seconds=given.seconds)
        print(name, found[name], flush=True)
    report = {"device": device, "call_s": calls, "rate": rate, "ways": found}
    if given.out:
        given.out.write_text(json.dumps(report, indent=1) + "\n")
    best = found["paced"]
    behind = [
        name
        for name, each in found.items()
        if name != "paced" and (each["p99_s"] < best["p99_s"] or each["tokens_per_s"] > best["tokens_per_s"] * 1.02)
    ]
    print(f"behind: {behind}" if behind else "ahead of both")
    return 1 if behind else 0


if __name__ == "__main__":
    sys.exit(main())
