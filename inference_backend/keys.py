"""Who is asking: API keys, and how long an answer about one may be reused."""

import asyncio
import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from inference_backend.errors import ForbiddenError, InvalidRequestError, KeyStoreError, UnauthenticatedError
from inference_backend.settings import SettingsError
from inference_backend.tiers import TIERS, Tier, read_tier

REQUIRED_SCOPE = "inference"
REUSE_S = 5.0
CACHED_KEYS = 10_000
STORE_TIMEOUT_S = 1.0
CONNECTIONS = 32
LONGEST_ACCOUNT = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    account: str
    tier: Tier
    scopes: frozenset[str]
    is_service: bool = False


class KeyRegistry:
    """Finds the Caller behind a key: the service key, then the key file, then Redis.

    Redis holds a hash `apikey:<sha256 hex of the key>` with account, tier and scopes (separated by blanks). A hit is
    reused for at most REUSE_S, counted from before it was read, so a revoked key stops working within that time.
    A miss is never reused, so a new key works at once.
    """

    def __init__(
        self,
        *,
        redis_url: str | None,
        service_key_digest: str | None,
        static_keys: Mapping[str, Caller],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._service_key_digest = service_key_digest
        self._static_keys = static_keys
        self._clock = clock
        self._cache: OrderedDict[str, tuple[float, Caller]] = OrderedDict()
        self._redis = _connect(redis_url) if redis_url else None
        # redis-py opens a connection for each call at a time, and from the hundred and first on raises.
        self._turns = asyncio.Semaphore(CONNECTIONS)
        self._failed_at = float("-inf")

    async def aclose(self) -> None:
        if self._redis:
            await self._redis.aclose()

    async def identify(self, headers: Mapping[str, str]) -> Caller:
        """Raises UnauthenticatedError, ForbiddenError or KeyStoreError."""
        caller = await self._find(hashlib.sha256(_read_key(headers).encode()).hexdigest())
        if caller is None:
            raise UnauthenticatedError("invalid API key")
        if REQUIRED_SCOPE not in caller.scopes:
            raise ForbiddenError(f"This API key does not have the scope `{REQUIRED_SCOPE}`.")
        return _delegated(caller, headers) if caller.is_service else caller

    async def _find(self, digest: str) -> Caller | None:
        if self._service_key_digest and hmac.compare_digest(digest, self._service_key_digest):
            return Caller(account="service", tier="internal", scopes=frozenset({REQUIRED_SCOPE}), is_service=True)
        if digest in self._static_keys:
            return self._static_keys[digest]
        return await self._find_in_redis(digest) if self._redis else None

    async def _find_in_redis(self, digest: str) -> Caller | None:
        if caller := self._reuse(digest):
            return caller
        arrived_at = time.monotonic()
        async with self._turns:
            # Of a crowd with one key the first asks for all. Of one that waits while the store is found to be gone
            # nobody else has to find out, each for the length of a timeout.
            if self._failed_at >= arrived_at:
                raise _store_is_down()
            return self._reuse(digest) or await self._read_anew(digest)

    def _reuse(self, digest: str) -> Caller | None:
        cached = self._cache.get(digest)
        if cached is None or self._clock() - cached[0] >= REUSE_S:
            return None
        self._cache.move_to_end(digest)
        return cached[1]

    async def _read_anew(self, digest: str) -> Caller | None:
        now = self._clock()
        caller = await self._read(digest)
        if caller is None:
            self._cache.pop(digest, None)
            return None
        self._cache[digest] = (now, caller)
        self._cache.move_to_end(digest)
        while len(self._cache) > CACHED_KEYS:
            self._cache.popitem(last=False)
        return caller

    async def _read(self, digest: str) -> Caller | None:
        if self._redis is None:
            return None
        try:
            # redis-py types the call for its sync and its async client at once.
            fields = await cast("Awaitable[dict[str, str]]", self._redis.hgetall(f"apikey:{digest}"))
        except (RedisError, OSError, TimeoutError) as error:
            self._failed_at = time.monotonic()
            raise _store_is_down() from error
        return _read_record(fields) if fields else None


def _store_is_down() -> KeyStoreError:
    return KeyStoreError("API keys cannot be checked at the moment: the key store is down.")


def _connect(url: str) -> "redis.asyncio.Redis":
    # The library's own defaults wait and retry for many seconds, in which every caller hangs.
    client: redis.asyncio.Redis = redis.asyncio.Redis.from_url(
        url,
        decode_responses=True,
        socket_timeout=STORE_TIMEOUT_S,
        socket_connect_timeout=STORE_TIMEOUT_S,
        retry=Retry(NoBackoff(), 1),
    )
    return client


def _read_record(fields: Mapping[str, str]) -> Caller:
    tier = read_tier(fields.get("tier", ""))
    account = fields.get("account")
    if tier is None or not account:
        raise KeyStoreError("The record of this API key is incomplete.")
    return Caller(account=account, tier=tier, scopes=frozenset(fields.get("scopes", "").split()))


def _read_key(headers: Mapping[str, str]) -> str:
    if key := headers.get("x-api-key"):
        return key
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and key.strip():
        return key.strip()
    raise UnauthenticatedError("an API key is required: send it as `Authorization: Bearer` or `x-api-key`")


def _delegated(service: Caller, headers: Mapping[str, str]) -> Caller:
    """Only the service key may call for somebody: limits, metrics and logs are then that person's."""
    account, tier_name = headers.get("x-playground-account"), headers.get("x-playground-tier")
    tier = service.tier if tier_name is None else read_tier(tier_name)
    if tier is None:
        raise InvalidRequestError(f"must be one of {', '.join(TIERS)}", field="x-playground-tier")
    if account and len(account) > LONGEST_ACCOUNT:
        raise InvalidRequestError(f"must have at most {LONGEST_ACCOUNT} characters", field="x-playground-account")
    return Caller(account=account or service.account, tier=tier, scopes=service.scopes, is_service=True)


def read_key_file(path: Path) -> dict[str, Caller]:
    """Lines of `<sha256 hex> <account> <tier> <scopes...>`; empty lines and # comments pass. Raises SettingsError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise SettingsError(f"INFERENCE_KEY_FILE {path} cannot be read: {error.strerror}") from error
    callers = {}
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        tier = read_tier(words[2]) if len(words) >= 4 else None
        if tier is None or len(words[0]) != 64:
            raise SettingsError(f"INFERENCE_KEY_FILE line {number}: write `sha256hex account tier scopes...`")
        callers[words[0].lower()] = Caller(account=words[1], tier=tier, scopes=frozenset(words[3:]))
    return callers
