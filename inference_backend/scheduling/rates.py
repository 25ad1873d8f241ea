"""How fast a pool of token engines is, measured from the answers that it gives."""

import math

from inference_backend.tiers import TIERS, Tier

#: Assumed until measured: 2,000 prompt tokens and 40 output tokens per second for each place.
PREFILL_S_PER_TOKEN = 0.0005
DECODE_S_PER_TOKEN = 0.025
OUTPUT_TOKENS = 256.0
WEIGHT_OF_NEWEST = 0.05
SAMPLES_OF_FULL_WEIGHT = 20
# One sample moves the estimate as if it were at most this many times faster or slower: a stalled connection or a cached
# prompt is no news about the engine, yet a real change is followed within a few samples.
OUTLIER_FACTOR = 4.0
OFFERED_OVER_S = 10.0


class MeasuredPace:
    """Seconds per token: an exponentially weighted ratio of sums, so that large samples count for more."""

    __slots__ = ("_samples", "_seconds", "_tokens", "s_per_token")

    def __init__(self, assumed: float) -> None:
        self.s_per_token = assumed
        self._samples = 0
        self._seconds = assumed
        self._tokens = 1.0

    @property
    def is_measured(self) -> bool:
        return self._samples > 0

    def note(self, seconds: float, tokens: float) -> None:
        if tokens <= 0 or seconds <= 0:
            return
        if self._samples:
            expected = self.s_per_token * tokens
            if seconds > expected * OUTLIER_FACTOR:
                seconds = expected * OUTLIER_FACTOR
            elif seconds < expected / OUTLIER_FACTOR:
                seconds = expected / OUTLIER_FACTOR
        self._samples += 1
        weight = 1 / self._samples if self._samples < SAMPLES_OF_FULL_WEIGHT else WEIGHT_OF_NEWEST
        self._seconds += weight * (seconds - self._seconds)
        self._tokens += weight * (tokens - self._tokens)
        self.s_per_token = self._seconds / self._tokens


class OfferedLoad:
    """Seconds of work that arrive per second, averaged over about OFFERED_OVER_S."""

    def __init__(self) -> None:
        self._load = 0.0
        self._at = -math.inf

    def note(self, seconds: float, now: float) -> None:
        self._load = self.at(now) + seconds / OFFERED_OVER_S
        self._at = now

    def at(self, now: float) -> float:
        if self._load == 0.0:
            return 0.0
        return self._load * math.exp(-max(0.0, now - self._at) / OFFERED_OVER_S)


class ServiceRates:
    """What the scheduler knows of the pool's speed.

    `place_s` is how long an answer holds its place: prompt / prefill rate + output / decode rate, both as seen by one
    answer among those running beside it.
    """

    def __init__(self) -> None:
        self.prefill = MeasuredPace(PREFILL_S_PER_TOKEN)
        self.decode = MeasuredPace(DECODE_S_PER_TOKEN)
        self._output_tokens = OUTPUT_TOKENS
        self._answers = 0
        self._offered = {tier: OfferedLoad() for tier in TIERS}
        self._above = {tier: [self._offered[above] for above in TIERS[TIERS.index(tier) + 1 :]] for tier in TIERS}

    @property
    def mean_place_s(self) -> float:
        """Of an answer of average length, without its prompt."""
        return self._output_tokens * self.decode.s_per_token

    def expected_output(self, max_tokens: int) -> int:
        """Tokens. Most answers end long before max_tokens, which callers set to whatever is allowed."""
        return min(max_tokens, int(self._output_tokens) + 1)

    def place_s(self, prompt_tokens: float, output_tokens: float) -> float:
        return prompt_tokens * self.prefill.s_per_token + output_tokens * self.decode.s_per_token

    def prefill_s(self, prompt_tokens: int) -> float:
        """From its start to its first token; 0 while nothing was measured."""
        return prompt_tokens * self.prefill.s_per_token if self.prefill.is_measured else 0.0

    def note_output(self, tokens: int) -> None:
        self._answers += 1
        weight = 1 / self._answers if self._answers < SAMPLES_OF_FULL_WEIGHT else WEIGHT_OF_NEWEST
        self._output_tokens += weight * (tokens - self._output_tokens)

    def note_offered(self, tier: Tier, seconds: float, now: float) -> None:
        if tier != TIERS[0]:
            # Nothing is below the lowest tier, so nobody asks what it offers.
            self._offered[tier].note(seconds, now)

    def offered_above(self, tier: Tier, now: float) -> float:
        """Places that tiers above this one keep busy: seconds of work offered per second."""
        return sum([offered.at(now) for offered in self._above[tier]])
