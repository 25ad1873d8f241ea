"""llama.cpp's server."""

from typing import Any, ClassVar

from inference_backend.engines.chat_completions import (
    ChatCompletionsEngine,
    as_object,
    parse_json,
    read_count,
)
from inference_backend.engines.protocol import Capabilities, GenerationRequest, JsonObject, Usage
from inference_backend.errors import EngineProtocolError


class LlamaCppEngine(ChatCompletionsEngine):
    """A last assistant message is continued without being asked for, and not repeated in a stream (measured)."""

    capabilities = Capabilities(prefill=True, top_k=True, count_tokens=True)
    # It closes after 5 s without a request, but on a busy machine also closed under a request that came at once
    # after an answer (measured). A connection of its own costs a loopback request a third of a millisecond.
    keepalive_s: ClassVar[float] = 0.0
    health_path: ClassVar[str] = "/health"

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
