"""Which tool calls of a conversation are answered, by the rules of the Messages API. Pure.

The API reads neighbouring messages of one role as one turn. Each `tool_use` of an assistant turn is answered by exactly
one `tool_result` in the user turn that follows, before anything else there; no id is used twice in a conversation.
Source: "Handling tool use and tool result content blocks" of the Messages API's documentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

Message = Mapping[str, Any]
_NAME = re.compile(r"[\w.:-]{1,64}")


@dataclass(frozen=True, kw_only=True)
class Problem:
    """`field` is the dotted place of the block: "messages.3.content.0"; `next_step` what can be done."""

    code: str
    field: str
    message: str
    next_step: str = ""


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A content block and where it stands."""

    field: str
    block: Mapping[str, Any]

    @property
    def type(self) -> str:
        return str(self.block.get("type"))

    @property
    def call_id(self) -> str:
        """The id of a call, or of the call that a result answers."""
        return str(self.block.get("id") if self.type == "tool_use" else self.block.get("tool_use_id"))

    @property
    def name(self) -> str:
        """The tool's name for a sentence; a model's odd ones are not repeated."""
        name = str(self.block.get("name", ""))
        return f"`{name}`" if _NAME.fullmatch(name) else "a tool"


def problems(messages: Sequence[Message]) -> list[Problem]:
    """What the Messages API would refuse of the calls and results in `messages`, in their order.

    `messages` as on the wire: `content` is a text or a list of content blocks. A call in the last turn has no answer
    yet, which is a problem, too: who only keeps the messages may let `CALL_UNANSWERED` pass there.
    """
    ledger = _Ledger()
    placed = ((message["role"], list(_blocks(index, message))) for index, message in enumerate(messages))
    for role, neighbours in groupby(placed, key=lambda pair: pair[0]):
        turn = [block for _, blocks in neighbours for block in blocks]
        if role == "assistant":
            ledger.take_calls(turn)
        else:
            ledger.take_results(turn)
    ledger.close()
    return ledger.found


def calls_of(content: object) -> list[Mapping[str, Any]]:
    """The `tool_use` blocks of a message's content."""
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use"]


CALL_UNANSWERED = "tool_call_unanswered"
CALL_MISPLACED = "tool_call_misplaced"
CALL_ID_TWICE = "tool_call_id_twice"
RESULT_ORPHAN = "tool_result_orphan"
RESULT_MISPLACED = "tool_result_misplaced"
RESULT_TWICE = "tool_result_twice"
RESULT_LATE = "tool_result_late"


@dataclass(kw_only=True)
class _Ledger:
    """`open`: the calls of the assistant turn before, by id; `known`: every id used so far."""

    open: dict[str, Placed] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    found: list[Problem] = field(default_factory=list)

    def take_calls(self, turn: list[Placed]) -> None:
        for placed in turn:
            if placed.type == "tool_result":
                self._tell(RESULT_MISPLACED, placed, "A tool result belongs into a user message.")
            elif placed.type == "tool_use" and placed.call_id in self.known:
                self._tell(CALL_ID_TWICE, placed, f"The call of {placed.name} has the id of an earlier call.")
            elif placed.type == "tool_use":
                self.known.add(placed.call_id)
                self.open[placed.call_id] = placed

    def take_results(self, turn: list[Placed]) -> None:
        answered: set[str] = set()
        is_late = False
        for placed in turn:
            if placed.type == "tool_use":
                self._tell(CALL_MISPLACED, placed, "A tool call belongs into an assistant message.")
            elif placed.type != "tool_result":
                is_late = True
            else:
                self._take_result(placed, answered, is_late=is_late)
        self.close(answered)

    def _take_result(self, placed: Placed, answered: set[str], *, is_late: bool) -> None:
        if placed.call_id not in self.open:
            step = "Remove it, or put the call that it answers into the assistant message before."
            self._tell(RESULT_ORPHAN, placed, "This tool result answers no call of the message before it.", step)
        elif placed.call_id in answered:
            self._tell(RESULT_TWICE, placed, "This call is answered twice.", "Remove one of the two results.")
        elif is_late:
            self._tell(RESULT_LATE, placed, "Tool results come before anything else in their message.")
        answered.add(placed.call_id)

    def close(self, answered: set[str] | frozenset[str] = frozenset()) -> None:
        """The turn after the calls is over: what it did not answer stays without an answer."""
        for call_id, placed in self.open.items():
            if call_id not in answered:
                step = "Answer each call by a tool_result in the user message that follows."
                self._tell(CALL_UNANSWERED, placed, f"The call of {placed.name} has no result.", step)
        self.open = {}

    def _tell(self, code: str, placed: Placed, message: str, next_step: str = "") -> None:
        self.found.append(Problem(code=code, field=placed.field, message=message, next_step=next_step))


def _blocks(index: int, message: Message) -> Iterator[Placed]:
    content = message["content"]
    if not isinstance(content, list):
        yield Placed(field=f"messages.{index}.content", block={"type": "text", "text": content})
        return
    for position, block in enumerate(content):
        yield Placed(field=f"messages.{index}.content.{position}", block=block)
