"""`python -m inference_backend plan`: how many GPUs a rate of fixed batch calls needs, and what is felt of each."""

import argparse
import math
import sys
from dataclasses import dataclass

from inference_backend.scheduling.batch import BatchScheduler
from inference_backend.simulation.arrivals import Phase, poisson_arrivals
from inference_backend.simulation.fixed_call import FixedCallSimulation
from inference_backend.simulation.report import percentile
from inference_backend.tiers import TIERS

MOST_GPUS = 100_000
MOST_SIMULATED = 150_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """`rate` requests/s in batches of up to `batch`, each call `call_s` seconds."""

    rate: float
    batch: int
    call_s: float

    @property
    def floor(self) -> int:
        """The least count that could keep up, were every batch full at every moment."""
        # An exact ratio must not become one more by rounding: 2000 x 0.2 / 50 is 8.
        return max(1, math.ceil(self.rate * self.call_s / self.batch - 1e-9))

    @property
    def smallest_stable(self) -> int:
        """At a utilisation of exactly 1 a random queue grows without end, so less than 1 is needed."""
        return self.floor if self.utilisation(self.floor) < 1 - 1e-9 else self.floor + 1

    def utilisation(self, gpus: int) -> float:
        return self.rate * self.call_s / (self.batch * gpus)

    def is_stable(self, gpus: int) -> bool:
        return gpus >= self.smallest_stable


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizing:
    """Expected fill of a call, and latencies in seconds: infinite where the queue never settles, NaN where unknown."""

    fill: float
    p50_s: float
    p99_s: float


def bound(load: Load, gpus: int) -> Sizing:
    """The best that any policy can do without knowing the future, for traffic that keeps the GPUs busy.

    At most gpus / call_s calls begin a second. Evenly spaced, the wait of a Poisson arrival is uniform on
    [0, call_s / gpus]; with D = call_s the latency is D + wait, and a call takes along what came in one interval.
    """
    interval_s = load.call_s / gpus
    if not load.is_stable(gpus):
        return Sizing(fill=float(load.batch), p50_s=math.inf, p99_s=math.inf)
    return Sizing(
        fill=max(1.0, load.rate * interval_s),
        p50_s=load.call_s + 0.50 * interval_s,
        p99_s=load.call_s + 0.99 * interval_s,
    )


def simulated(load: Load, gpus: int, *, duration_s: float, seed: int) -> Sizing:
    """What the scheduler itself makes of it, without admission control, in `duration_s` seconds of Poisson arrivals."""
    scheduler: BatchScheduler[int] = BatchScheduler(max_size=load.batch, call_s=load.call_s)
    simulation = FixedCallSimulation(scheduler, call_s=load.call_s)
    simulation.join(gpus)
    simulation.run(poisson_arrivals((Phase(duration_s=duration_s, rate=load.rate),), seed=seed))
    latencies = sorted(latency for tier in TIERS for latency in simulation.requests.latencies[tier])
    return Sizing(fill=scheduler.snapshot().fill, p50_s=percentile(latencies, 0.50), p99_s=percentile(latencies, 0.99))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rate", type=_positive, required=True, metavar="N", help="requests a second")
    parser.add_argument("--batch", type=int, default=50, metavar="N", help="inputs in a call at most (50)")
    parser.add_argument("--call-ms", type=_positive, default=200.0, metavar="MS", help="time of a call (200)")
    parser.add_argument("--gpu-hour", type=_positive, metavar="PRICE", help="price of one GPU for one hour")
    parser.add_argument("--seconds", type=_positive, default=20.0, help="simulated seconds for each count (20)")
    parser.add_argument("--seed", type=int, default=1)


def main(arguments: argparse.Namespace) -> int:
    load = Load(rate=arguments.rate, batch=arguments.batch, call_s=arguments.call_ms / 1000)
    if arguments.batch < 1 or load.floor > MOST_GPUS:
        sys.stderr.write(f"plan: batches of one or more, and a rate that {MOST_GPUS} GPUs can serve, please\n")
        return 2
    # Long enough runs for slow traffic, bounded ones for fast.
    duration_s = min(arguments.seconds, MOST_SIMULATED / load.rate)
    sys.stdout.write(report(load, duration_s=duration_s, seed=arguments.seed, gpu_hour=arguments.gpu_hour))
    return 0


def report(load: Load, *, duration_s: float, seed: int, gpu_hour: float | None = None) -> str:
    stable = load.smallest_stable
    ceiling = load.floor * load.batch / load.call_s
    columns = f"{'fill':>5} {'p50 ms':>7} {'p99 ms':>7}"
    lines = [
        f"{load.rate:g} requests/s, up to {load.batch} a call, {1000 * load.call_s:g} ms a call; GPUs:",
        f"floor            {load.floor} ({100 * load.utilisation(load.floor):.0f} % used; {ceiling:,.0f}/s at most)",
        f"smallest stable  {stable} ({100 * load.utilisation(stable):.0f} % used)",
        f"survives a loss  {stable + 1} (with one gone the others still keep up)",
        "",
        f"{'':12}  {'by formula':^21}  {f'simulated, {duration_s:g} s':^21}".rstrip(),
        f"{'GPUs':>5} {'used':>6}  {columns}  {columns}" + ("   per hour per million" if gpu_hour else ""),
    ]
    counts = counts_of_interest(load)
    lines += [_row(load, gpus, duration_s=duration_s, seed=seed, gpu_hour=gpu_hour) for gpus in counts]
    if not load.is_stable(load.floor):
        lines += ["", "Where it never settles the latencies grow with the length of the run."]
    return "\n".join(lines) + "\n"


def counts_of_interest(load: Load) -> list[int]:
    """From the floor over what survives a loss to twice the floor, where more GPUs buy only a few milliseconds."""
    stable = load.smallest_stable
    return sorted({load.floor, stable, stable + 1, stable + 2, math.ceil(1.5 * load.floor), 2 * load.floor})


def _row(load: Load, gpus: int, *, duration_s: float, seed: int, gpu_hour: float | None) -> str:
    row = f"{gpus:>5} {100 * load.utilisation(gpus):>4.0f} %"
    for sizing in (bound(load, gpus), simulated(load, gpus, duration_s=duration_s, seed=seed)):
        row += f"  {sizing.fill:>5.1f} {_ms(sizing.p50_s):>7} {_ms(sizing.p99_s):>7}"
    if gpu_hour:
        row += f"  {gpus * gpu_hour:>9.2f} {gpus * gpu_hour / (load.rate * 3600) * 1e6:>11.2f}"
    notes = {load.smallest_stable: "smallest stable", load.smallest_stable + 1: "survives one loss"}
    return f"{row}  {notes.get(gpus, '' if load.is_stable(gpus) else 'never settles')}".rstrip()


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.0f}" if math.isfinite(seconds) else "-"


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return value
