"""The path of a request to /v1/embeddings."""

import asyncio
import math
from collections.abc import Sequence
from functools import partial

from starlette.types import Receive, Scope, Send

from inference_backend.connection import (
    ClientGoneError,
    apart_if_large,
    read_body,
    read_headers,
    wait_for_disconnect,
)
from inference_backend.dialect.embeddings import embeddings_body, parse_embeddings_request
from inference_backend.embeddings.models import EmbeddingModel
from inference_backend.engines.embedding import Embedding
from inference_backend.keys import Caller
from inference_backend.pools.submission import Submission
from inference_backend.record import record_of
from inference_backend.service import Service


class CreateEmbeddings:
    """POST /v1/embeddings"""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service, record, headers = self._service, record_of(scope), read_headers(scope)
        caller = await service.keys.identify(headers)
        record.account, record.tier = caller.account, caller.tier
        record.quota = partial(service.limits.headers, caller.account, caller.tier)
        # The queue of the model is bounded by itself.
        with service.in_flight.enter(caller.tier, is_bounded=False):
            request = await apart_if_large(parse_embeddings_request, await read_body(headers, receive))
            model = service.embeddings.find(request.model)
            record.model, record.stream = model.id, False
            model.check(request.input, dimensions=request.dimensions, tier=caller.tier)
            results = await self._embed(model, request.input, caller, receive)
            record.input_tokens, record.output_tokens = sum(result.tokens for result in results), 0
            answer = embeddings_body(results, model=model.id, encoding=request.encoding_format)
            head = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
            await send({"type": "http.response.start", "status": 200, "headers": head})
            await send({"type": "http.response.body", "body": answer})

    async def _embed(
        self, model: EmbeddingModel, texts: Sequence[str], caller: Caller, receive: Receive
    ) -> Sequence[Embedding]:
        """Within the limits of the account. Raises RateLimitedError or StoreDownError beyond them."""
        expected_wait_s = model.pool.expected_wait(caller.tier)
        async with self._service.limits.admit(
            account=caller.account,
            tier=caller.tier,
            input_tokens=_estimate_tokens(texts),
            output_tokens=0,
            expected_wait_s=expected_wait_s if math.isfinite(expected_wait_s) else 0.0,
        ) as charge:
            results = await _wait(model.enter(texts, tier=caller.tier), receive)
            charge.settle(input_tokens=sum(result.tokens for result in results), output_tokens=0)
            return results


def _estimate_tokens(texts: Sequence[str]) -> int:
    """What is reserved until the engine has counted: four characters a token are usual in English."""
    return len(texts) + sum(map(len, texts)) // 4


async def _wait(submission: Submission[str, Embedding], receive: Receive) -> Sequence[Embedding]:
    """Raises ClientGoneError when the caller leaves; its inputs are then out of the queue.

    One task that watches, and none for the work itself: at thousands of requests a second each one shows.
    """
    watcher = asyncio.create_task(wait_for_disconnect(receive))
    watcher.add_done_callback(lambda _: submission.withdraw())
    try:
        return await submission.results()
    except asyncio.CancelledError:
        if not submission.is_withdrawn:
            raise
        raise ClientGoneError from None
    finally:
        watcher.cancel()
