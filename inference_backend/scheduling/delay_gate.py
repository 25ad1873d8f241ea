"""Who may join the queue, judged by how long it would take and by the caller's tier."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from inference_backend.tiers import TIERS, Tier

RefusalCode = Literal["overloaded", "no_capacity", "capacity_starting", "deadline"]

GOLDEN_RATIO = (math.sqrt(5) - 1) / 2
LONGEST_RETRY_S = 60
WINDOW_PARTS = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """`retry_after_s` is 1 to 60: the clients' own SDK takes no notice of a longer one."""

    tier: Tier
    code: RefusalCode
    retry_after_s: int
    delay_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Band:
    """Estimated delay in seconds: up to `low_s` everybody of the tier is admitted, from `high_s` on nobody."""

    low_s: float
    high_s: float

    def __post_init__(self) -> None:
        if not 0 <= self.low_s < self.high_s:
            raise ValueError(f"the band needs 0 <= low < high, not {self.low_s} and {self.high_s}")


BATCH_CALL_BANDS: Mapping[Tier, Band] = {
    "free": Band(low_s=0.020, high_s=0.040),
    "pro": Band(low_s=0.075, high_s=0.150),
    "internal": Band(low_s=0.250, high_s=0.500),
}


class SpreadSequence:
    """Numbers in [0, 1) that fill it evenly (additive recurrence with the golden ratio), the same in every run.

    Also each second, third... of them is spread evenly, so that callers who take turns are treated alike; plain error
    diffusion at one half would refuse each call of the one and admit each call of the other.
    """

    def __init__(self, seed: float = 0.0) -> None:
        self._value = seed % 1.0

    def __call__(self) -> float:
        self._value = (self._value + GOLDEN_RATIO) % 1.0
        return self._value


class WindowedMinimum:
    """The least of the samples of the last `window_s`, to a quarter of it, in constant time and space."""

    __slots__ = ("_least", "_part")

    def __init__(self) -> None:
        self._least = [math.inf] * WINDOW_PARTS
        self._part = -WINDOW_PARTS

    def add(self, value: float, now: float, window_s: float) -> float:
        """Returns the minimum with `value` included."""
        part = int(now * WINDOW_PARTS / window_s)
        if part != self._part:
            # A window of another length counts its parts differently: then the samples so far are forgotten as well.
            steps = part - self._part
            if not 0 <= steps < WINDOW_PARTS:
                steps = WINDOW_PARTS
            self._least = [math.inf] * steps + self._least[: WINDOW_PARTS - steps]
            self._part = part
        if value < self._least[0]:
            self._least[0] = value
        return min(self._least)


class TierState:
    """What the gate remembers of one tier."""

    __slots__ = ("draw", "fraction", "is_closed", "minimum", "overloaded_since", "refilled_at", "reserve")

    def __init__(self, seed: float) -> None:
        self.draw = SpreadSequence(seed)
        self.minimum = WindowedMinimum()
        self.fraction = 1.0
        self.is_closed = False
        self.overloaded_since: float | None = None
        self.reserve = 0.0
        self.refilled_at: float | None = None


class DelayGate:
    """Admission to one pool. The caller estimates the delay; the gate decides, and remembers.

    Each tier is judged by the least delay of the last `window_s` (a standing queue, not a burst: CoDel, Nichols and
    Jacobson 2012). Between the two ends of its band the admitted fraction falls from 1 to 0. At the upper end the tier
    closes, and opens again only at the lower end. While closed it keeps `floor`: that share of the pool's capacity, or
    of the arrivals where the capacity is not known. A burst that the window has not seen yet is cut off where the
    momentary delay passes twice the upper end (plus one service interval).
    """

    def __init__(
        self,
        bands: Mapping[Tier, Band] = BATCH_CALL_BANDS,
        *,
        window_s: float = 0.1,
        floor: float = 0.05,
        seed: float = 0.0,
        jitter: Callable[[], float] | None = None,
    ) -> None:
        """`jitter` gives numbers in [0, 1). Raises ValueError for a tier without band."""
        if missing := set(TIERS) - set(bands):
            raise ValueError(f"no band for {', '.join(sorted(missing))}")
        if window_s <= 0 or not 0 <= floor < 1:
            raise ValueError("the window is longer than 0 s, the floor from 0 to below 1")
        self._bands = dict(bands)
        self._window_s = window_s
        self._floor = floor
        self._jitter = jitter or SpreadSequence(seed)
        self._states = {tier: TierState(seed + number / len(TIERS)) for number, tier in enumerate(TIERS)}
        self._ready_at: float | None = None

    def capacity_starting(self, ready_at: float | None) -> None:
        """More capacity is on its way and expected then; None: none is."""
        self._ready_at = ready_at

    @property
    def least_low_s(self) -> float:
        """The delay up to which nobody of any tier is refused."""
        return min(band.low_s for band in self._bands.values())

    def band(self, tier: Tier) -> Band:
        return self._bands[tier]

    def fraction(self, tier: Tier) -> float:
        """Share of the tier's callers that was admitted by delay at its last arrival, 0 to 1."""
        return self._states[tier].fraction

    def admit(
        self, tier: Tier, *, delay_s: float, now: float, capacity: float | None = None, interval_s: float = 0.0
    ) -> Refusal | None:
        """None: admitted. `delay_s` is the wait that this caller must expect (infinite: nobody serves).

        `capacity` is in requests/s. `interval_s` is how far apart the queue is served: it empties only so often, and
        a shorter window would take the time between two services for a standing queue.
        """
        if math.isinf(delay_s):
            return self._refuse(tier, "no_capacity", delay_s, now)
        state, band = self._states[tier], self._bands[tier]
        least_s = state.minimum.add(delay_s, now, max(self._window_s, 2 * interval_s))
        fraction = self._tighten(state, band, least_s, now)
        if delay_s > 2 * band.high_s + interval_s:
            fraction = 0.0
        if fraction >= 1.0 or (fraction > 0.0 and state.draw() < fraction):
            return None
        if self._draw_from_reserve(state, now, capacity):
            return None
        return self._refuse(tier, "overloaded", delay_s, now)

    @staticmethod
    def _tighten(state: TierState, band: Band, standing_s: float, now: float) -> float:
        if standing_s <= band.low_s:
            state.is_closed = False
            state.overloaded_since = None
            state.fraction = 1.0
            return 1.0
        if state.overloaded_since is None:
            state.overloaded_since = now
        state.is_closed = state.is_closed or standing_s >= band.high_s
        state.fraction = 0.0 if state.is_closed else (band.high_s - standing_s) / (band.high_s - band.low_s)
        return state.fraction

    def _draw_from_reserve(self, state: TierState, now: float, capacity: float | None) -> bool:
        since = now if state.refilled_at is None else state.refilled_at
        earned = self._floor if capacity is None else (now - since) * self._floor * capacity
        state.refilled_at = now
        state.reserve = min(1.0, state.reserve + earned)
        # Ten tenths are less than one in floating point.
        if state.reserve < 1.0 - 1e-9:
            return False
        state.reserve = 0.0
        return True

    def _refuse(self, tier: Tier, code: RefusalCode, delay_s: float, now: float) -> Refusal:
        """The longer the overload has lasted, the longer it is expected to last, and the later a retry is asked for."""
        since = self._states[tier].overloaded_since
        expected_s = max(1.0, 0.5 * (now - since) if since is not None else 1.0)
        if self._ready_at is not None and self._ready_at > now:
            code = "capacity_starting"
            expected_s = max(expected_s, self._ready_at - now)
        expected_s = min(expected_s, LONGEST_RETRY_S / 1.5)
        retry_after_s = math.ceil(expected_s * (1 + 0.5 * self._jitter()))
        return Refusal(tier=tier, code=code, retry_after_s=min(LONGEST_RETRY_S, max(1, retry_after_s)), delay_s=delay_s)
