"""One answer that waits for a place on a token engine, and what a scheduler decides about it."""

from collections.abc import Sequence
from dataclasses import dataclass

from inference_backend.tiers import Tier


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """Times in seconds of the scheduler's clock, `deadline` finite: the first token must come by then. Sizes in tokens.

    `key` is whose fair share it comes out of. `prefix` is the hash chain of the prompt's leading blocks, see
    affinity.prefix_chain. `avoid` names replicas that it must not start on. `resumed` work was already let in and
    lost its replica: it is not refused again, and goes first.
    """

    id: str
    tier: Tier
    key: str
    prompt_tokens: int
    max_tokens: int
    deadline: float
    arrived_at: float
    prefix: tuple[int, ...] = ()
    avoid: frozenset[str] = frozenset()
    resumed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Decisions:
    """`starts`: each work with the replica that it holds a place on from now. `expired`: will never start."""

    starts: Sequence[tuple[Work, str]] = ()
    expired: Sequence[Work] = ()
