"""The states of one key, and what each step makes of them. Pure; `now` and `lease_s` are seconds.

(none) --claim--> in_flight --finish--> done | too_large   an answer that is replayed, or was too large to keep
                      |    --finish--> failed              broke off after its start: the next claim tries again
                      |    --release-> (none)              ended before its start, or everybody left
                      +--lease over--> as failed           its process died

Each attempt has a `fence` that no other attempt ever has. Every later step names it, so the cleanup of an attempt
that was overtaken changes nothing.
"""

from dataclasses import dataclass, replace
from typing import Literal

State = Literal["in_flight", "done", "failed", "too_large"]
End = Literal["done", "failed", "too_large"]
#: kept: written down. busy: another attempt has the key at the moment. ended: and has ended already.
Kept = Literal["kept", "busy", "ended"]
#: claimed: generate it. busy: somebody does. done, too_large: nothing to generate. conflict: another request's key.
Verdict = Literal["claimed", "busy", "done", "too_large", "conflict"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """`lease_until` is only of interest in flight; `attempts` counts the claims."""

    fingerprint: str
    state: State
    fence: str
    lease_until: float
    attempts: int = 1


def claim(
    entry: Entry | None, *, fingerprint: str, fence: str, now: float, lease_s: float
) -> tuple[Verdict, Entry | None]:
    if entry is None:
        return "claimed", Entry(fingerprint=fingerprint, state="in_flight", fence=fence, lease_until=now + lease_s)
    if entry.fingerprint != fingerprint:
        return "conflict", entry
    match entry.state:
        case "done" | "too_large":
            return entry.state, entry
        case "in_flight" if entry.lease_until > now and entry.fence != fence:
            return "busy", entry
        case _:
            return "claimed", replace(
                entry, state="in_flight", fence=fence, lease_until=now + lease_s, attempts=entry.attempts + 1
            )


def renew(
    entry: Entry | None, *, fingerprint: str, fence: str, now: float, lease_s: float
) -> tuple[bool, Entry | None]:
    """False: the attempt was overtaken and must stop. An entry that the store has lost is made again."""
    if entry is None:
        return True, Entry(fingerprint=fingerprint, state="in_flight", fence=fence, lease_until=now + lease_s)
    if not _is_mine(entry, fence):
        return False, entry
    return True, replace(entry, lease_until=now + lease_s)


def finish(entry: Entry | None, *, fingerprint: str, fence: str, end: End) -> tuple[Kept, Entry | None]:
    """An attempt that was overtaken keeps nothing, unless its answer is whole and the other's broke off."""
    if entry is None:
        return "kept", Entry(fingerprint=fingerprint, state=end, fence=fence, lease_until=0.0)
    if not _is_mine(entry, fence):
        if entry.state == "in_flight" and entry.fingerprint == fingerprint:
            return "busy", entry
        if entry.fingerprint != fingerprint or entry.state != "failed" or end == "failed":
            return "ended", entry
    return "kept", replace(entry, state=end, fence=fence, lease_until=0.0)


def release(entry: Entry | None, *, fence: str) -> Entry | None:
    return None if entry and _is_mine(entry, fence) else entry


def _is_mine(entry: Entry, fence: str) -> bool:
    return entry.state == "in_flight" and entry.fence == fence
