"""Situations of the fixed batch call: 50 inputs, 200 ms, three tiers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from inference_backend.scheduling.batch import BatchScheduler
from inference_backend.scheduling.delay_gate import DelayGate
from inference_backend.simulation.arrivals import MIX, Phase, poisson_arrivals
from inference_backend.simulation.fixed_call import Fault, FixedCallSimulation, Join
from inference_backend.simulation.report import Figures
from inference_backend.tiers import Tier

BOUND_S = 0.5
MINUTE = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class FixedCallScenario:
    """`gpus` at the start; answers count as in time within `bound_s` of the arrival."""

    name: str
    title: str
    gpus: int
    phases: tuple[Phase, ...]
    joins: tuple[Join, ...] = ()
    faults: tuple[Fault, ...] = ()
    mix: Mapping[Tier, float] = field(default_factory=lambda: MIX)
    max_size: int = 50
    call_s: float = 0.2
    bound_s: float = BOUND_S
    #: How long a request may take at all; None: as long as it does.
    deadline_s: float | None = None

    def run(self, *, seed: int, controlled: bool) -> Figures:
        gate = DelayGate() if controlled else None
        scheduler: BatchScheduler[int] = BatchScheduler(max_size=self.max_size, call_s=self.call_s, gate=gate)
        simulation = FixedCallSimulation(
            scheduler,
            call_s=self.call_s,
            gate=gate,
            faults=self.faults,
            one_line=not controlled,
            deadline_s=self.deadline_s,
        )
        simulation.join(self.gpus)
        for join in self.joins:
            simulation.plan(join)
        simulation.run(poisson_arrivals(self.phases, mix=self.mix, seed=seed))
        return simulation.figures(self.bound_s)


def _minute(name: str, title: str, *, gpus: int, rate: float, faults: tuple[Fault, ...] = ()) -> FixedCallScenario:
    phases = (Phase(duration_s=MINUTE, rate=rate),)
    return FixedCallScenario(name=name, title=title, gpus=gpus, phases=phases, faults=faults)


SCENARIOS = (
    _minute("ten-gpus", "10 GPUs, 2,000 requests/s for 60 s", gpus=10, rate=2000),
    _minute("nine-gpus", "9 GPUs, 2,000 requests/s for 60 s", gpus=9, rate=2000),
    _minute("low-traffic", "10 GPUs, 20 requests/s for 60 s", gpus=10, rate=20),
    _minute(
        "killed-mid-batch",
        "10 GPUs, 2,000 requests/s; one is killed in the middle of a batch",
        gpus=10,
        rate=2000,
        faults=(Fault(kind="kill", at_s=30.0),),
    ),
    _minute(
        "hung-mid-batch",
        "10 GPUs, 2,000 requests/s; one never answers again",
        gpus=10,
        rate=2000,
        faults=(Fault(kind="hang", at_s=30.0),),
    ),
    _minute("overload", "8 GPUs (2,000 requests/s at most), 2,400 requests/s for 60 s", gpus=8, rate=2400),
    FixedCallScenario(
        name="cold-start",
        title="3 GPUs, 500 requests/s, then 2,000; 7 more GPUs after 180 s",
        gpus=3,
        phases=(Phase(duration_s=10, rate=500), Phase(duration_s=190, rate=2000)),
        joins=(Join(at_s=180, count=7),),
    ),
    FixedCallScenario(
        name="warm-up",
        title="2 GPUs, 250 requests/s, tripled within 10 s; 2 more GPUs, ordered then, take 4 minutes",
        gpus=2,
        phases=(
            Phase(duration_s=20, rate=250),
            Phase(duration_s=10, rate=250, end_rate=750),
            Phase(duration_s=260, rate=750),
        ),
        joins=(Join(at_s=30 + 240, count=2, ordered_at_s=30),),
    ),
)
