"""How much of its limits a tier keeps while others wait. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Tightening:
    """Expected waits in seconds: limits are whole up to `low_s`, and down to `floor` of themselves from `high_s` on."""

    low_s: float
    high_s: float
    floor: float = 0.1

    def factor(self, expected_wait_s: float) -> float:
        """`clamp((high - wait) / (high - low), floor, 1)`."""
        return min(1.0, max(self.floor, (self.high_s - expected_wait_s) / (self.high_s - self.low_s)))
