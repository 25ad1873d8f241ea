"""API keys as the inference backend sees them: a Redis hash `apikey:<sha256>` of account, tier and scopes a key.

The database decides; Redis is a copy that may be lost, stale or ahead. Every write here therefore re-reads the
database after writing, and writes again until both agree: without that, the late mirror of a creation could overwrite
the drop of a revocation, and a revoked key would go on calling models.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from accounts.models import ApiKey, User
from core.redis import client

PREFIX = "apikey:"
#: Where the search for strays goes on next time; a shared Redis may hold far more than keys.
CURSOR = "apikey-sweep:cursor"
BATCH = 500
SCAN_STEPS = 200
#: Each round is one more change that landed between our read and our write.
MAX_ROUNDS = 5

_DIGEST = re.compile(rb"[0-9a-f]{64}\Z")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What the inference backend must know of a usable key."""

    account: str
    tier: str
    scopes: str


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """What `mirror_all` found: keys written, and entries removed that stand for no usable key."""

    mirrored: int
    removed: int


def mirror_key(key: ApiKey) -> None:
    """Bring the entry of `key` in line with the database. Raises redis.RedisError; `mirror_all` repairs."""
    _settle([bytes(key.digest)])


def drop_key(key: ApiKey) -> None:
    """Take the entry of a revoked key away: it never comes back. Raises redis.RedisError; `mirror_all` repairs."""
    client().delete(_name(bytes(key.digest)))


def mirror_account(account: User) -> None:
    """Bring all entries of an account in line: after a change of tier, or when it was switched off or on."""
    working = ApiKey.objects.of(account).filter(revoked_at=None)
    for digests in _batches([bytes(digest) for digest in working.values_list("digest", flat=True)]):
        _settle(digests)


def mirror_all() -> Sweep:
    """Write every usable key and remove what stands for none: Redis may have come back empty, or from a backup.

    Looks at no more than SCAN_STEPS x BATCH names a call, and goes on from there the next time.
    """
    usable = [bytes(digest) for digest in ApiKey.objects.usable().values_list("digest", flat=True)]
    for digests in _batches(usable):
        _settle(digests)
    known = {_name(digest) for digest in usable}
    removed = 0
    for names in _scan():
        removed += _remove_strays([name for name in names if name not in known])
    return Sweep(mirrored=len(usable), removed=removed)


def _remove_strays(names: Sequence[str]) -> int:
    """Names that no usable key had a moment ago; one made since is written back by `_settle`."""
    foreign = [name for name in names if not _DIGEST.match(name.removeprefix(PREFIX).encode())]
    if foreign:
        client().delete(*foreign)
    digests = [bytes.fromhex(name.removeprefix(PREFIX)) for name in names if name not in foreign]
    kept = _settle(digests) if digests else {}
    return len(names) - len(kept)


def _scan() -> Iterator[list[str]]:
    """Batches of mirrored names, from where the last call stopped; ends after one turn or SCAN_STEPS."""
    redis = client()
    stored = redis.get(CURSOR)
    cursor = int(stored) if isinstance(stored, bytes) and stored.isdigit() else 0
    for _ in range(SCAN_STEPS):
        cursor, names = redis.scan(cursor, match=f"{PREFIX}*", count=BATCH)
        yield [name.decode("utf-8", "replace") for name in names if isinstance(name, bytes)]
        if cursor == 0:
            break
    redis.set(CURSOR, cursor)


def _settle(digests: Sequence[bytes]) -> dict[bytes, Entry]:
    """Write or drop the entries of `digests` until the database, read after the write, says the same."""
    written: dict[bytes, Entry] | None = None
    for _ in range(MAX_ROUNDS):
        current = _usable_entries(digests)
        if current == written:
            break
        _write(digests, current)
        written = current
    return written or {}


def _usable_entries(digests: Sequence[bytes]) -> dict[bytes, Entry]:
    keys = ApiKey.objects.usable().filter(digest__in=digests).select_related("account")
    return {
        bytes(key.digest): Entry(
            account=str(key.account_id), tier=key.account.tier, scopes=" ".join(sorted(key.scopes))
        )
        for key in keys
    }


def _write(digests: Sequence[bytes], entries: dict[bytes, Entry]) -> None:
    pipeline = client().pipeline(transaction=False)
    for digest in digests:
        entry = entries.get(digest)
        if entry is None:
            pipeline.delete(_name(digest))
        else:
            pipeline.hset(
                _name(digest),
                mapping={"account": entry.account, "tier": entry.tier, "scopes": entry.scopes},
            )
    pipeline.execute()


def _name(digest: bytes) -> str:
    return PREFIX + digest.hex()


def _batches(digests: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(digests), BATCH):
        yield digests[start : start + BATCH]
