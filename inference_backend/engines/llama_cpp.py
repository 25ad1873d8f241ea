"""llama.cpp's server."""

import hashlib
import json
from typing import Any, ClassVar

from inference_backend.engines.chat_completions import ChatCompletionsEngine
from inference_backend.engines.protocol import Capabilities, GenerationRequest, JsonObject, ServedModel, Usage
from inference_backend.engines.wire import as_object, parse_json, read_count, read_text
from inference_backend.errors import EngineFailedError, EngineProtocolError

# What /v1/models says of the file that is loaded, wherever it lies and however the server was started.
_MODEL_PROPERTIES = ("vocab_type", "n_vocab", "n_ctx_train", "n_embd", "n_params", "size", "ftype")


class LlamaCppEngine(ChatCompletionsEngine):
    """A last assistant message is continued without being asked for, and not repeated in a stream (measured)."""

    capabilities = Capabilities(prefill=True, top_k=True, count_tokens=True)
    # It closes after 5 s without a request, but on a busy machine also closed under a request that came at once
    # after an answer (measured). A connection of its own costs a loopback request a third of a millisecond.
    keepalive_s: ClassVar[float] = 0.0
    health_path: ClassVar[str] = "/health"

    async def describe(self) -> ServedModel:
        row = await self._list_models()
        meta = row.get("meta")
        try:
            properties = as_object(parse_json(await self._ask("GET", "/props")))
        except EngineFailedError:
            properties = {}  # servers before it had this page
        return ServedModel(
            context=self._read_context(row),
            slots=read_count(properties.get("total_slots")),
            # llama.cpp itself states none; servers built on it may.
            digest=read_text(row.get("digest")),
            fingerprint=_fingerprint(meta, properties) if isinstance(meta, dict) else None,
        )

    async def count_tokens(self, request: GenerationRequest) -> int:
        answer = as_object(
            parse_json(await self._ask("POST", "/v1/chat/completions/input_tokens", self._chat_body(request)))
        )
        tokens = read_count(answer.get("input_tokens"))
        if tokens is None:
            raise EngineProtocolError("The engine did not count the tokens.")
        return tokens

    def _read_context(self, entry: JsonObject) -> int | None:
        meta = entry.get("meta")
        return read_count(meta.get("n_ctx")) if isinstance(meta, dict) else None

    def _stream_fields(self) -> dict[str, Any]:
        # Progress brings the size of the prompt before the first token, timings the number of tokens so far.
        return super()._stream_fields() | {"return_progress": True, "timings_per_token": True}

    def _read_usage(self, chunk: JsonObject) -> Usage | None:
        final = super()._read_usage(chunk)
        if final:
            return final
        progress, timings = chunk.get("prompt_progress"), chunk.get("timings")
        if isinstance(progress, dict):
            return Usage(input_tokens=read_count(progress.get("total")))
        if isinstance(timings, dict):
            return Usage(output_tokens=read_count(timings.get("predicted_n")))
        return None


def _fingerprint(meta: JsonObject, properties: JsonObject) -> str:
    """llama.cpp states no checksum of the file; this tells quantisations, fine-tunes with other templates and most
    other files apart, and two sets of weights of one shape not: those are told apart by what they answer."""
    stated = {name: meta.get(name) for name in _MODEL_PROPERTIES} | {"template": properties.get("chat_template")}
    return hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()[:16]
