"""One POST to a provider, and its answer as it comes, over the transport that suits the provider."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Protocol

import httpx2

from http_stream.client import BrokenOff, StreamClient, Unanswered, Unreachable
from inference_client.providers import Target

CONNECT_S = 3.0
#: llama.cpp and others close an idle connection after 5 s; a request that crosses the closing is lost.
KEEP_IDLE_S = 2.0


class Answer(Protocol):
    """`headers`: by name in lower case."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    async def read(self) -> bytes:
        """What has come since the last call; b"" at the end. Raises BrokenOff."""
        ...


class NoAnswerInTime(Exception):
    """The head of an answer did not come."""


@asynccontextmanager
async def post(
    target: Target, path: str, content: bytes, headers: Mapping[str, str], *, within_s: float
) -> AsyncIterator[Answer]:
    """The answer, once its head is there; leaving early closes the connection.

    Sent again only where one key is answered by one generation, and then only if a kept connection was gone. No
    redirect is followed: it would carry the key and the prompt to whoever is named there. Raises NoAnswerInTime,
    Unreachable, Unanswered.
    """
    begin = _stream_client(target.base_url).post if target.is_ours else _GeneralClient(target.base_url).post
    async with AsyncExitStack() as opened:
        try:
            async with asyncio.timeout(within_s):
                answer = await opened.enter_async_context(begin(path, content, headers))
        except TimeoutError as error:
            raise NoAnswerInTime from error
        yield answer


@functools.lru_cache(maxsize=4)
def _stream_client(base_url: str) -> StreamClient:
    return StreamClient(base_url, headers={}, connect_s=CONNECT_S, keepalive_s=KEEP_IDLE_S)


class _GeneralClient:
    """For servers on the Internet, which may lie behind a proxy of the operator's."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url

    @asynccontextmanager
    async def post(self, path: str, content: bytes, headers: Mapping[str, str]) -> AsyncIterator[Answer]:
        client = _general_connections()
        request = client.build_request("POST", f"{self._base_url}{path}", content=content, headers=dict(headers))
        try:
            response = await client.send(request, stream=True)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol) as error:
            raise Unreachable("There is no connection.") from error
        except httpx2.HTTPError as error:
            raise Unanswered("The connection was closed before an answer.") from error
        try:
            yield _GeneralAnswer(response)
        finally:
            await response.aclose()


@functools.cache
def _general_connections() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        headers={"accept-encoding": "identity", "content-type": "application/json"},
        timeout=httpx2.Timeout(None, connect=CONNECT_S),
        limits=httpx2.Limits(max_connections=None, keepalive_expiry=KEEP_IDLE_S),
        follow_redirects=False,
    )


class _GeneralAnswer:
    def __init__(self, response: httpx2.Response) -> None:
        self.status = response.status_code
        self.headers = response.headers
        self._pieces = aiter(response.aiter_raw())

    async def read(self) -> bytes:
        try:
            async for piece in self._pieces:
                if piece:
                    return piece
        except httpx2.HTTPError as error:
            raise BrokenOff("The connection broke during the answer.") from error
        return b""


async def read_within(answer: Answer, seconds: float) -> bytes:
    """Raises TimeoutError if no byte comes for so long. Pings count as life."""
    async with asyncio.timeout(seconds):
        return await answer.read()
