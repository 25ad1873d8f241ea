"""Workers of the fixed batch call that embed texts: a static table of our own, and any server with /v1/embeddings."""

import base64
import binascii
import struct
from collections.abc import Sequence
from typing import Any, ClassVar

from inference_backend.engines.embedding import Embedding
from inference_backend.engines.wire import WireEngine, as_object, parse_json, read_count
from inference_backend.errors import EngineProtocolError, EngineRefusedError
from inference_backend.pools.process_worker import ProcessWorker

GOLDEN = "What is the capital of France?"


def static_table() -> ProcessWorker[str, Embedding]:
    return ProcessWorker("inference_backend.engines.static_table:StaticTable", golden=GOLDEN, read=_read_static)


def _read_static(answer: Any) -> Embedding | Exception:
    if isinstance(answer, dict):
        return EngineRefusedError(str(answer["error"]))
    text, tokens = answer
    return Embedding(vector=base64.b64decode(text), tokens=tokens)


class EmbeddingsServer(WireEngine):
    """One connection's worth of calls to a server with OpenAI's /v1/embeddings, such as vLLM or llama.cpp."""

    keepalive_s: ClassVar[float] = 3.0

    async def call(self, items: Sequence[str]) -> Sequence[Embedding | Exception]:
        """Raises EngineError."""
        body = {"model": self._model, "input": list(items), "encoding_format": "float"}
        answer = as_object(parse_json(await self._ask("POST", "/v1/embeddings", body)))
        rows = answer.get("data")
        if not isinstance(rows, list) or len(rows) != len(items):
            raise EngineProtocolError("The engine did not send one vector for each input.")
        vectors = [_read_vector(as_object(row)) for row in sorted(rows, key=_index)]
        usage = answer.get("usage")
        tokens = read_count(usage.get("prompt_tokens")) if isinstance(usage, dict) else None
        shares = share_out(tokens or 0, [len(item.encode()) for item in items])
        return [Embedding(vector=vector, tokens=share) for vector, share in zip(vectors, shares, strict=True)]

    async def probe(self) -> None:
        await self.call([GOLDEN])


def share_out(total: int, sizes: Sequence[int]) -> list[int]:
    """`total` tokens over inputs by their sizes in bytes, in whole tokens that add up to it.

    Servers count the tokens of a call, and a call holds the inputs of many callers.
    """
    whole, shares, given = sum(sizes), [], 0
    seen = 0
    for size in sizes:
        seen += size
        upto = round(total * seen / whole) if whole else 0
        shares.append(upto - given)
        given = upto
    return shares


def _index(row: Any) -> int:
    index = read_count(row.get("index")) if isinstance(row, dict) else None
    if index is None:
        raise EngineProtocolError("The engine sent a vector without its index.")
    return index


def _read_vector(row: Any) -> bytes:
    """Some servers send base64 although they were asked for numbers."""
    value = row.get("embedding")
    try:
        if isinstance(value, str):
            return base64.b64decode(value, validate=True)
        return struct.pack(f"<{len(value)}f", *value)
    except (TypeError, struct.error, binascii.Error) as error:
        raise EngineProtocolError("The engine sent a vector that is none.") from error
