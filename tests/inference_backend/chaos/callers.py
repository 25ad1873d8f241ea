"""Callers of every kind, and what each of them saw."""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx2

from inference_backend.tiers import TIERS, Tier
from tests.inference_backend.running import SERVICE_KEY
from tests.inference_backend.scripted_engine import MODEL

ANSWERS = {"short": "one two three", "long": " ".join(f"word{number}" for number in range(60))}
#: Worth another try: overload, the store is down, the key is in use in another process, the caller's own limit.
PASSING = frozenset({409, 429, 503, 529})
#: How long a caller goes on. A key can be held for the lease of a process that lost its store, and the store may then
#: be restarted again: a number of tries would run out within seconds that say nothing of the service.
PERSISTS_S = 60.0
LONGEST_PAUSE_S = 2.0
WITHIN_S = 90.0
Way = Literal["reads", "reads slowly", "leaves"]


@dataclass(frozen=True, kw_only=True)
class Call:
    """One logical request. `twins`: so many callers ask for it at once, under one key."""

    number: int
    script: str
    tier: Tier
    stream: bool
    greedy: bool
    way: Way = "reads"
    key: str | None = None
    twins: int = 1

    @property
    def prompt(self) -> str:
        return f"script:{self.script} {self.number}"

    def body(self) -> dict[str, Any]:
        body = {
            "model": MODEL,
            "max_tokens": 500,
            "stream": self.stream,
            "messages": [{"role": "user", "content": self.prompt}],
        }
        return body | ({"temperature": 0} if self.greedy else {})

    def headers(self) -> dict[str, str]:
        return {
            "x-api-key": SERVICE_KEY,
            "anthropic-version": "2023-06-01",
            "x-playground-tier": self.tier,
            "x-playground-account": f"{self.tier}-{self.number % 5}",
        } | ({"idempotency-key": self.key} if self.key else {})


@dataclass
class Seen:
    """Over all calls. `messages` are the ids under which an answer to a call came whole, `wrong` what must not be."""

    statuses: Counter[int] = field(default_factory=Counter)
    left: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    messages: dict[int, set[str]] = field(default_factory=dict)
    given_up: int = 0
    wrong: list[str] = field(default_factory=list)


def draw_calls(count: int, rng: random.Random) -> list[Call]:
    return [_draw(number, rng) for number in range(count)]


def _draw(number: int, rng: random.Random) -> Call:
    stream = rng.random() < 0.6
    way: Way = rng.choices(["reads", "reads slowly", "leaves"], weights=[88, 4, 8])[0] if stream else "reads"  # type: ignore[assignment]
    is_keyed = rng.random() < 0.3
    return Call(
        number=number,
        script=rng.choices(["short", "long"], weights=[85, 15])[0],
        tier=rng.choices(TIERS, weights=[6, 3, 1])[0],
        stream=stream,
        greedy=rng.random() < 0.5,
        way=way,
        key=f"run-{number}" if is_keyed else None,
        twins=2 if is_keyed and rng.random() < 0.3 else 1,
    )


class Crowd:
    """Makes the calls, so many at a time, and sees them to their end."""

    def __init__(self, addresses: Sequence[str], *, at_once: int, rng: random.Random) -> None:
        self._addresses = addresses
        self._places = asyncio.Semaphore(at_once)
        self._rng = rng
        self.seen = Seen()

    async def make(self, calls: Sequence[Call]) -> None:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=2.0)
        async with (
            httpx2.AsyncClient(trust_env=False, timeout=WITHIN_S, limits=limits) as client,
            asyncio.TaskGroup() as tasks,
        ):
            for call in calls:
                for _ in range(call.twins):
                    await self._places.acquire()
                    tasks.create_task(self._see_through(client, call))

    async def _see_through(self, client: httpx2.AsyncClient, call: Call) -> None:
        try:
            give_up_at = time.monotonic() + PERSISTS_S
            while time.monotonic() < give_up_at:
                pause_s = await self._try(client, call)
                if pause_s is None:
                    return
                await asyncio.sleep(pause_s * self._rng.uniform(0.5, 1.0))
            self.seen.given_up += 1
        finally:
            self._places.release()

    async def _try(self, client: httpx2.AsyncClient, call: Call) -> float | None:
        """How long to wait for the next try; None where there is none."""
        address = self._rng.choice(self._addresses)
        try:
            async with asyncio.timeout(WITHIN_S):
                return await self._send(client, call, address)
        except TimeoutError:
            self.seen.wrong.append(f"{call}: no end")
        except httpx2.HTTPError as error:
            self.seen.wrong.append(f"{call}: {error!r}")
        return None

    async def _send(self, client: httpx2.AsyncClient, call: Call, address: str) -> float | None:
        request = client.stream("POST", f"{address}/v1/messages", json=call.body(), headers=call.headers())
        async with request as response:
            self.seen.statuses[response.status_code] += 1
            if response.status_code != 200:
                await response.aread()
                return self._note_refusal(call, response)
            if not call.stream:
                self._note_whole(call, json.loads(await response.aread()))
                return None
            return await self._read(call, response)

    def _note_refusal(self, call: Call, response: httpx2.Response) -> float | None:
        body = response.json()
        if body.get("type") != "error" or "request-id" not in response.headers:
            self.seen.wrong.append(f"{call}: {response.status_code} without the shape of an error")
        self.seen.ended[f"error {response.status_code}"] += 1
        if response.status_code not in PASSING:
            return None
        return min(LONGEST_PAUSE_S, float(response.headers.get("retry-after", 1)))

    def _note_whole(self, call: Call, message: dict[str, Any]) -> None:
        self._note_answer(call, message["id"], "".join(block["text"] for block in message["content"]))

    def _note_answer(self, call: Call, message_id: str, text: str) -> None:
        self.seen.ended["answer"] += 1
        self.seen.messages.setdefault(call.number, set()).add(message_id)
        if text != ANSWERS[call.script]:
            self.seen.wrong.append(f"{call}: answered {text!r}")

    async def _read(self, call: Call, response: httpx2.Response) -> float | None:
        message_id, text, ends = "", "", []
        async with aclosing(_events(response, slowly=call.way == "reads slowly")) as events:
            async for event in events:
                if event["type"] == "message_start":
                    message_id = event["message"]["id"]
                elif event["type"] == "content_block_delta":
                    text += event["delta"]["text"]
                    if call.way == "leaves":
                        self.seen.left += 1
                        return None
                elif event["type"] in {"message_stop", "error"}:
                    ends.append(event["type"])
        if len(ends) != 1:
            self.seen.wrong.append(f"{call}: ends {ends}")
        elif ends == ["error"]:
            self.seen.ended["error in the stream"] += 1
            return None if call.key is None else 0.5
        else:
            self._note_answer(call, message_id, text)
        return None


async def _events(response: httpx2.Response, *, slowly: bool) -> AsyncGenerator[dict[str, Any]]:
    async for line in response.aiter_lines():
        if line.startswith("data: "):
            if slowly:
                await asyncio.sleep(0.05)
            yield json.loads(line[6:])
