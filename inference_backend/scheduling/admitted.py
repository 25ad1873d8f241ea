"""How much of a pool's capacity each tier takes at present."""

import math

from inference_backend.tiers import TIERS, Tier

MEMORY_S = 1.0


class AdmittedRates:
    """Admissions a second by tier, forgotten exponentially over MEMORY_S. O(1)."""

    __slots__ = ("_at", "_rates")

    def __init__(self) -> None:
        self._rates: dict[Tier, float] = dict.fromkeys(TIERS, 0.0)
        self._at = 0.0

    def advance(self, now: float) -> None:
        if now > self._at:
            kept = math.exp((self._at - now) / MEMORY_S)
            for tier in TIERS:
                self._rates[tier] *= kept
            self._at = now

    def add(self, tier: Tier) -> None:
        """One was admitted at the time last advanced to."""
        self._rates[tier] += 1 / MEMORY_S

    @property
    def total(self) -> float:
        return sum(self._rates.values())

    def above(self, tier: Tier) -> float:
        """Of the tiers served before this one."""
        if tier == "internal":
            return 0.0
        internal = self._rates["internal"]
        return internal if tier == "pro" else internal + self._rates["pro"]
