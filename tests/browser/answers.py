"""What the scripted model server answers where a prompt names it: what no good model does when it is asked to."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.inference_client.upstream import Call, Wire

MODEL = "scripted"
#: Each would fetch, run or make an element with the mark if it were read as anything but text.
UNSAFE = (
    'say <channel> <img src=x data-broken onerror="window.broken=1"> <script data-broken>window.broken=1</script>\n\n'
    "[x](javascript:window.broken=1) <javascript:window.broken=1> ![pixel](http://elsewhere.invalid/pixel.png)\n\n"
    '<iframe data-broken srcdoc="<script>parent.broken=1</script>"></iframe>\n\n'
    "```html\n<b data-broken onmouseover=window.broken=1>\n```\n\n"
    "| a | b |\n|---|--:|\n| 1 | 2 |\n\n[late]: javascript:window.broken=1\n[late] **bold**"
)
#: Words with an emoji, so that offsets in code points and in UTF-16 differ.
WORDS = [f"w{index}🙂 " for index in range(400)]


async def blocks(wire: Wire, given: list[dict[str, Any]], *, reason: str = "end_turn") -> None:
    """A good answer of these content blocks, each in one piece."""
    await wire.begin()
    usage = {"input_tokens": 1234, "output_tokens": 1, "cache_read_input_tokens": 1000}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": [], "usage": usage}
    await wire.event("message_start", message=head | {"stop_reason": None, "stop_sequence": None})
    for index, block in enumerate(given):
        await _block(wire, index, block)
    await wire.event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 9})
    await wire.event("message_stop")
    await wire.end()


async def _block(wire: Wire, index: int, block: dict[str, Any]) -> None:
    field, delta = {
        "text": ("text", "text_delta"),
        "thinking": ("thinking", "thinking_delta"),
        "tool_use": ("input", "input_json_delta"),
    }[block["type"]]
    empty: Any = {} if field == "input" else ""
    begun = block | {field: empty} | ({"signature": ""} if field == "thinking" else {})
    await wire.event("content_block_start", index=index, content_block=begun)
    name = "partial_json" if field == "input" else field
    await wire.event("content_block_delta", index=index, delta={"type": delta, name: block[field]})
    await wire.event("content_block_stop", index=index)


async def play_unsafe(call: Call, wire: Wire) -> None:
    await wire.whole(*[UNSAFE[start : start + 5] for start in range(0, len(UNSAFE), 5)])


async def play_empty(call: Call, wire: Wire) -> None:
    await wire.whole()


async def play_refusal(call: Call, wire: Wire) -> None:
    await wire.whole("I would", reason="refusal")


async def play_limit(call: Call, wire: Wire) -> None:
    await wire.whole("Half a sentence that", reason="max_tokens")


async def play_thinking(call: Call, wire: Wire) -> None:
    tool = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": '{"city": "Köln"}'}
    first = [{"type": "thinking", "thinking": "Where is it raining?"}, {"type": "text", "text": "I look at **it**."}]
    await blocks(wire, [*first, tool], reason="tool_use")


async def play_refused(call: Call, wire: Wire) -> None:
    await wire.error(400, "invalid_request_error", "tools.0: <b>wrong</b>")


async def play_cut(call: Call, wire: Wire) -> None:
    await wire.begin()
    await wire.start_message()
    await wire.text("Half an answer 🙂")
    await asyncio.sleep(0.3)
    wire.cut()


async def play_misfit(call: Call, wire: Wire) -> None:
    await wire.whole('{"name": 7, "tags": ["a", ', "null]}")


async def play_no_json(call: Call, wire: Wire) -> None:
    await wire.whole('{"name": "😀",\n "tags": [oops]}')


async def play_words(call: Call, wire: Wire) -> None:
    """Goes on for as long as somebody listens, at most a minute."""
    await wire.begin()
    await wire.start_message()
    for word in WORDS:
        await wire.text(word)
        await asyncio.sleep(0.15)
    await wire.stop_message()
