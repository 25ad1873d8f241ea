"""vLLM's OpenAI server."""

from typing import Any, ClassVar

from inference_backend.engines.chat_completions import ChatCompletionsEngine
from inference_backend.engines.protocol import Capabilities, GenerationRequest, JsonObject, ServedModel
from inference_backend.engines.wire import as_object, parse_json, read_count, read_text
from inference_backend.errors import EngineProtocolError


class VllmEngine(ChatCompletionsEngine):
    capabilities = Capabilities(prefill=True, top_k=True, count_tokens=True)
    health_path: ClassVar[str] = "/health"

    async def describe(self) -> ServedModel:
        row = await self._list_models()
        return ServedModel(
            context=self._read_context(row),
            digest=read_text(row.get("digest")),
            # The path or name that the weights were loaded from: no checksum, but all that it states.
            fingerprint=read_text(row.get("root")),
        )

    async def count_tokens(self, request: GenerationRequest) -> int:
        chat = self._chat_body(request)
        body = {"model": chat["model"], "messages": chat["messages"], "add_generation_prompt": True}
        if "tools" in chat:
            body["tools"] = chat["tools"]
        if request.continues_assistant:
            body |= self._prefill_fields()
        answer = as_object(parse_json(await self._ask("POST", "/tokenize", body)))
        tokens = read_count(answer.get("count"))
        if tokens is None:
            raise EngineProtocolError("The engine did not count the tokens.")
        return tokens

    def _read_context(self, entry: JsonObject) -> int | None:
        return read_count(entry.get("max_model_len"))

    def _stream_fields(self) -> dict[str, Any]:
        return {
            "stream": True,
            "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        }

    def _prefill_fields(self) -> dict[str, Any]:
        return {"continue_final_message": True, "add_generation_prompt": False}
