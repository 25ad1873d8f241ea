"""The path of a request to /v1/embeddings."""

import asyncio
from collections.abc import Sequence

from starlette.types import Receive, Scope, Send

from inference_backend.connection import ClientGoneError, read_body, read_headers
from inference_backend.dialect.embeddings import embeddings_body, parse_embeddings_request
from inference_backend.embeddings.models import EmbeddingModels
from inference_backend.engines.embedding import Embedding
from inference_backend.keys import KeyRegistry
from inference_backend.pools.batch_pool import Submission
from inference_backend.record import record_of


class CreateEmbeddings:
    """POST /v1/embeddings"""

    def __init__(self, *, keys: KeyRegistry, models: EmbeddingModels) -> None:
        self._keys = keys
        self._models = models

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        record, headers = record_of(scope), read_headers(scope)
        caller = await self._keys.identify(headers)
        record.account, record.tier = caller.account, caller.tier
        request = parse_embeddings_request(await read_body(headers, receive))
        model = self._models.find(request.model)
        record.model, record.stream = model.id, False
        model.check(request.input, dimensions=request.dimensions, tier=caller.tier)
        results = await _wait(model.enter(request.input, tier=caller.tier), receive)
        record.input_tokens, record.output_tokens = sum(result.tokens for result in results), 0
        answer = embeddings_body(results, model=model.id, encoding=request.encoding_format)
        head = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": answer})


async def _wait(submission: Submission[str, Embedding], receive: Receive) -> Sequence[Embedding]:
    """Raises ClientGoneError when the caller leaves; its inputs are then out of the queue.

    One task that watches, and none for the work itself: at thousands of requests a second each one shows.
    """
    watcher = asyncio.create_task(_wait_for_disconnect(receive))
    watcher.add_done_callback(lambda _: submission.withdraw())
    try:
        return await submission.results()
    except asyncio.CancelledError:
        if not submission.is_withdrawn:
            raise
        raise ClientGoneError from None
    finally:
        watcher.cancel()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
