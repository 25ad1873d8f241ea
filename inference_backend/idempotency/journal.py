"""Where keys and their answers are kept for a day: in the shared store, or in this process where there is none.

What is kept of an answer is the text that the caller got, so the store holds private text for as long.
"""

import asyncio
import json
import time
import zlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import Protocol, cast

from inference_backend.idempotency.key import KeyedRequest
from inference_backend.idempotency.transitions import End, Entry, Kept, Verdict, claim, finish, release, renew
from inference_backend.store import SharedStore

KEPT_S = 24 * 3600
#: A process that was killed blocks its keys for this long.
LEASE_S = 10.0
#: For so long a process that listens to an answer counts as there after its last question.
LISTENER_S = 2.0
#: For so long what was shared can be heard after its last piece.
SHARED_S = 15
LOCAL_BYTES = 64 * 1024 * 1024
LOCAL_KEYS = 100_000
#: Compressing more than this takes milliseconds.
LARGE_BYTES = 64 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptAnswer:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    verdict: Verdict
    answer: KeptAnswer | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Heard:
    """Of an answer that another process writes. `ended`: it is written down, or given up; `claim` tells.

    `fence` is the attempt that writes it, `head` that of its answer once there is one, `body` what followed.
    """

    ended: bool
    fence: str = ""
    head: KeptAnswer | None = None
    body: bytes = b""


class Journal(Protocol):
    """Every step raises StoreDownError."""

    async def claim(self, request: KeyedRequest, fence: str) -> Claim: ...

    async def renew(self, request: KeyedRequest, fence: str) -> bool: ...

    async def finish(self, request: KeyedRequest, fence: str, end: End, answer: KeptAnswer | None) -> Kept: ...

    async def release(self, request: KeyedRequest, fence: str) -> None: ...

    async def share(
        self, request: KeyedRequest, fence: str, head: KeptAnswer | None, body: bytes, at: int
    ) -> int | None:
        """Lets other processes hear `body`, which begins `at` that byte of the answer. Returns how many bytes they can
        hear now; None where nobody listens."""

    async def hear(self, request: KeyedRequest, at: int) -> Heard:
        """What the process that writes the answer shares from that byte on. Asks it to share."""


class LocalJournal:
    """Of this process alone, and gone with it. The oldest answers are forgotten beyond LOCAL_BYTES or LOCAL_KEYS."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._ended: OrderedDict[str, tuple[float, KeptAnswer | None]] = OrderedDict()
        self._size = 0

    async def claim(self, request: KeyedRequest, fence: str) -> Claim:
        self._forget_old()
        now, name = time.monotonic(), request.name
        verdict, entry = claim(
            self._entries.get(name), fingerprint=request.fingerprint, fence=fence, now=now, lease_s=LEASE_S
        )
        if verdict == "claimed":
            self._forget(name)
        self._put(name, entry)
        return Claim(verdict=verdict, answer=self._ended[name][1] if verdict == "done" else None)

    async def renew(self, request: KeyedRequest, fence: str) -> bool:
        now, name = time.monotonic(), request.name
        kept, entry = renew(
            self._entries.get(name), fingerprint=request.fingerprint, fence=fence, now=now, lease_s=LEASE_S
        )
        self._put(name, entry)
        return kept

    async def finish(self, request: KeyedRequest, fence: str, end: End, answer: KeptAnswer | None) -> Kept:
        name = request.name
        kept, entry = finish(self._entries.get(name), fingerprint=request.fingerprint, fence=fence, end=end)
        self._put(name, entry)
        if kept == "kept":
            self._ended[name] = (time.monotonic(), answer)
            self._size += len(answer.body) if answer else 0
        return kept

    async def release(self, request: KeyedRequest, fence: str) -> None:
        self._put(request.name, release(self._entries.get(request.name), fence=fence))

    async def share(
        self, request: KeyedRequest, fence: str, head: KeptAnswer | None, body: bytes, at: int
    ) -> int | None:
        return None

    async def hear(self, request: KeyedRequest, at: int) -> Heard:
        entry = self._entries.get(request.name)
        is_written = entry is not None and entry.state == "in_flight" and entry.lease_until > time.monotonic()
        return Heard(ended=not is_written, fence=entry.fence if entry else "")

    def _put(self, name: str, entry: Entry | None) -> None:
        if entry is None:
            self._entries.pop(name, None)
        else:
            self._entries[name] = entry

    def _forget_old(self) -> None:
        oldest = time.monotonic() - KEPT_S
        while self._ended:
            name, (ended_at, _) = next(iter(self._ended.items()))
            if ended_at >= oldest and self._size <= LOCAL_BYTES and len(self._ended) <= LOCAL_KEYS:
                return
            self._forget(name)

    def _forget(self, name: str) -> None:
        if name in self._ended:
            _, answer = self._ended.pop(name)
            self._size -= len(answer.body) if answer else 0
            self._entries.pop(name, None)


# The time in seconds is the last argument, or "" for the store's own clock.
_NOW = """
local function clock(given)
  local now = tonumber(given)
  if now then return now end
  local time = redis.call('TIME')
  return tonumber(time[1]) + tonumber(time[2]) / 1e6
end
local function is_mine(stored, fence)
  return stored[2] == 'in_flight' and stored[3] == fence
end
local stored = redis.call('HMGET', KEYS[1], 'fingerprint', 'state', 'fence', 'lease_until')
local function open(fingerprint, fence, lease_until, kept_ms)
  redis.call('HSET', KEYS[1], 'fingerprint', fingerprint, 'state', 'in_flight', 'fence', fence,
    'lease_until', string.format('%.6f', lease_until))
  redis.call('PEXPIRE', KEYS[1], kept_ms)
end
"""

# transitions.claim. ARGV: fingerprint, fence, lease in seconds, how long to keep in milliseconds, time.
CLAIM = (
    _NOW
    + """
local now = clock(ARGV[5])
if stored[1] then
  if stored[1] ~= ARGV[1] then return {'conflict'} end
  if stored[2] == 'done' then
    return {'done', redis.call('HGET', KEYS[1], 'head'), redis.call('HGET', KEYS[1], 'body')}
  end
  if stored[2] == 'too_large' then return {'too_large'} end
  if stored[2] == 'in_flight' and tonumber(stored[4]) > now and stored[3] ~= ARGV[2] then return {'busy'} end
end
open(ARGV[1], ARGV[2], now + tonumber(ARGV[3]), ARGV[4])
redis.call('HINCRBY', KEYS[1], 'attempts', 1)
return {'claimed'}
"""
)

# transitions.renew. ARGV as for CLAIM.
RENEW = (
    _NOW
    + """
if stored[1] and not is_mine(stored, ARGV[2]) then return {0} end
open(ARGV[1], ARGV[2], clock(ARGV[5]) + tonumber(ARGV[3]), ARGV[4])
return {1}
"""
)

# transitions.finish. ARGV: fingerprint, fence, end, how long to keep in milliseconds, head, body.
FINISH = (
    _NOW
    + """
if stored[1] and not is_mine(stored, ARGV[2]) then
  if stored[2] == 'in_flight' and stored[1] == ARGV[1] then return {'busy'} end
  if stored[1] ~= ARGV[1] or stored[2] ~= 'failed' or ARGV[3] == 'failed' then return {'ended'} end
end
redis.call('HSET', KEYS[1], 'fingerprint', ARGV[1], 'state', ARGV[3], 'fence', ARGV[2], 'lease_until', '0',
  'head', ARGV[5], 'body', ARGV[6])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return {'kept'}
"""
)

# transitions.release. ARGV: fence.
RELEASE = (
    _NOW
    + """
if is_mine(stored, ARGV[1]) then redis.call('DEL', KEYS[1]) end
return {1}
"""
)


# What is shared belongs to one attempt, so its keys have the fence in their names: one store, no cluster.
# ARGV: fence, first byte, body, head, how long to keep in seconds.
SHARE = (
    _NOW
    + """
if not is_mine(stored, ARGV[1]) or redis.call('EXISTS', 'shared:' .. KEYS[1] .. ':wanted') == 0 then return {-1} end
local said = 'shared:' .. KEYS[1] .. ':said:' .. ARGV[1]
if ARGV[4] ~= '' then redis.call('SET', 'shared:' .. KEYS[1] .. ':head:' .. ARGV[1], ARGV[4], 'EX', ARGV[5]) end
if ARGV[3] ~= '' and redis.call('STRLEN', said) == tonumber(ARGV[2]) then
  redis.call('APPEND', said, ARGV[3])
end
redis.call('EXPIRE', said, ARGV[5])
return {redis.call('STRLEN', said)}
"""
)

# ARGV: fingerprint, first byte, how long the listener is remembered in milliseconds, time.
HEAR = (
    _NOW
    + """
if not stored[1] or stored[1] ~= ARGV[1] or stored[2] ~= 'in_flight' or tonumber(stored[4]) <= clock(ARGV[4]) then
  return {1, '', '', ''}
end
redis.call('SET', 'shared:' .. KEYS[1] .. ':wanted', '1', 'PX', ARGV[3])
local head = redis.call('GET', 'shared:' .. KEYS[1] .. ':head:' .. stored[3])
return {0, stored[3], head or '', redis.call('GETRANGE', 'shared:' .. KEYS[1] .. ':said:' .. stored[3], ARGV[2], -1)}
"""
)


class SharedJournal:
    """A hash `idempotency:<name>` for each key. Survives this process, and is seen by all."""

    def __init__(self, store: SharedStore, *, lease_s: float = LEASE_S, kept_s: float = KEPT_S) -> None:
        self._claim = store.script(CLAIM)
        self._renew = store.script(RENEW)
        self._finish = store.script(FINISH)
        self._release = store.script(RELEASE)
        self._share = store.script(SHARE)
        self._hear = store.script(HEAR)
        self._lease_s = lease_s
        self._kept_ms = int(kept_s * 1000)

    async def claim(self, request: KeyedRequest, fence: str) -> Claim:
        verdict, *answer = await self._claim.run(keys=[_key(request)], args=self._claim_args(request, fence))
        name = cast("Verdict", bytes(verdict).decode())
        return Claim(verdict=name, answer=await _unpack(*answer) if answer else None)

    async def renew(self, request: KeyedRequest, fence: str) -> bool:
        [kept] = await self._renew.run(keys=[_key(request)], args=self._claim_args(request, fence))
        return bool(kept)

    async def finish(self, request: KeyedRequest, fence: str, end: End, answer: KeptAnswer | None) -> Kept:
        head, body = await _pack(answer) if answer else (b"", b"")
        [kept] = await self._finish.run(
            keys=[_key(request)], args=[request.fingerprint, fence, end, self._kept_ms, head, body]
        )
        return cast("Kept", bytes(kept).decode())

    async def release(self, request: KeyedRequest, fence: str) -> None:
        await self._release.run(keys=[_key(request)], args=[fence])

    async def share(
        self, request: KeyedRequest, fence: str, head: KeptAnswer | None, body: bytes, at: int
    ) -> int | None:
        [length] = await self._share.run(
            keys=[_key(request)], args=[fence, at, body, _pack_head(head) if head else b"", SHARED_S]
        )
        return None if length < 0 else int(length)

    async def hear(self, request: KeyedRequest, at: int) -> Heard:
        ended, fence, head, body = await self._hear.run(
            keys=[_key(request)], args=[request.fingerprint, at, int(LISTENER_S * 1000), ""]
        )
        return Heard(
            ended=bool(ended), fence=bytes(fence).decode(), head=_unpack_head(head, b"") if head else None, body=body
        )

    def _claim_args(self, request: KeyedRequest, fence: str) -> list[str | float]:
        return [request.fingerprint, fence, self._lease_s, self._kept_ms, ""]


def _key(request: KeyedRequest) -> str:
    return f"idempotency:{request.name}"


async def _pack(answer: KeptAnswer) -> tuple[bytes, bytes]:
    """Events repeat their words, so they take a tenth of the room compressed."""
    head = _pack_head(answer)
    if len(answer.body) > LARGE_BYTES:
        return head, await asyncio.to_thread(zlib.compress, answer.body, 1)
    return head, zlib.compress(answer.body, 1)


async def _unpack(head: bytes, body: bytes) -> KeptAnswer:
    text = await asyncio.to_thread(zlib.decompress, body) if len(body) > LARGE_BYTES else zlib.decompress(body)
    return _unpack_head(head, text)


def _pack_head(answer: KeptAnswer) -> bytes:
    return json.dumps({"status": answer.status, "headers": answer.headers}).encode()


def _unpack_head(head: bytes, body: bytes) -> KeptAnswer:
    fields = json.loads(head)
    return KeptAnswer(
        status=fields["status"], headers=tuple((name, value) for name, value in fields["headers"]), body=body
    )
