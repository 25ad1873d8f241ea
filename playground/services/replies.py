"""Continuing a run turn by turn. A conversation is a tree: two replies to one run are siblings."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone

from accounts.models import User
from core import idempotency
from core.errors import DomainError, InvalidInput, TooLarge, Unprocessable
from inference_client.models import Run, RunStatus
from playground import conversation, tool_turns, wire
from playground import spec as specs
from playground.models import MAX_TOOL_NAME, Prompt, ToolResult, VersionRun
from playground.services.runs import PreparedRun, queue_run

MAX_TURNS = 1000
MAX_TURNS_BYTES = 8 * 1024 * 1024
#: A longer result is sent and not offered again.
REMEMBERED_BYTES = 64 * 1024
REMEMBERED_RESULTS = 50


def reply_to_run(
    *, account: User, parent: VersionRun, content: object, model: str | None = None, idempotency_key: str | None = None
) -> Run:
    """Queue the run that continues `parent` with its answer and a user turn of `content`.

    `content` is a text, or content blocks: a `tool_result` for each call of the answer, then whatever else. Version,
    values, model and parameters are those of the parent; only `model` may be another.

    Raises Unprocessable (nothing to reply to, a call without its result, a result without its call), InvalidInput for
    a content that is none, TooLarge, IdempotencyKeyReused.
    """

    def make() -> tuple[Run, uuid.UUID]:
        run = queue_run(account=account, prepared=prepared, parent=parent, root_id=parent.root_id or parent.pk)
        _remember_results(account, parent.version.prompt, answer, said)
        return run, run.pk

    answer = _answer_of(parent.run)
    said = _user_turn(content)
    prepared = _continued(parent, [answer, said], model)
    _refuse_too_much(prepared.turns)
    _refuse_unsendable(prepared.body)
    return idempotency.once(
        account_id=account.pk,
        scope="replies",
        key=idempotency_key,
        request=idempotency.fingerprint(parent.pk, content, model),
        make=make,
        find=lambda pk: Run.objects.get(pk=pk),
    )


def _answer_of(run: Run) -> dict[str, Any]:
    """The answer as a turn. Raises Unprocessable, saying what can be done instead, where there is none."""
    if not run.is_terminal:
        raise _nothing_to_reply_to("run_unfinished", "This run is not over yet.", "Wait for its end, or stop it first.")
    if run.status == RunStatus.FAILED:
        raise _nothing_to_reply_to(
            "run_failed", "This run failed, so its answer is not whole.", "Run it again and reply to the new answer."
        )
    answer = conversation.answer_turn(run.response)
    if answer is None:
        raise _nothing_to_reply_to(
            "run_empty",
            "The model answered with nothing, and the Messages API takes no empty turn.",
            "Run it again, or add a message to the prompt.",
        )
    if run.status == RunStatus.CANCELLED and any(block.get("type") != "text" for block in answer["content"]):
        # A call or a thought that was cut has half its arguments or no signature.
        raise _nothing_to_reply_to(
            "run_cut", "This run was stopped inside a tool call or a thought.", "Run it again and let it finish."
        )
    return answer


def _nothing_to_reply_to(code: str, message: str, next_step: str) -> Unprocessable:
    return Unprocessable(message, code=code, field="run", kept="Your reply is still in this page.", next_step=next_step)


def _user_turn(content: object) -> dict[str, Any]:
    """Raises InvalidInput or TooLarge naming the dotted field under `content`."""
    try:
        [turn] = specs.parse_turns([{"role": "user", "content": content}])
    except DomainError as error:
        # A content that is no text and no list is told at the list of messages.
        error.field = _under_content(error.field or "", 0) if "." in (error.field or "") else "content"
        raise
    blocks = turn["content"] if isinstance(turn["content"], list) else [{"type": "text", "text": turn["content"]}]
    for index, block in enumerate(blocks):
        if block["type"] == "text" and not block["text"].strip():
            place = f"content.{index}.text" if isinstance(turn["content"], list) else "content"
            raise InvalidInput("A text of blanks only is refused by the Messages API.", field=place)
    return turn


def _continued(parent: VersionRun, added: Sequence[Mapping[str, Any]], model: str | None) -> PreparedRun:
    """What the parent sent, to the byte, and the new turns: the version is not read back and filled again."""
    sent, turns = json.loads(parent.run.request), json.loads(parent.turns)
    body = {**sent, "messages": [*sent["messages"], *added]}
    if model:
        body["model"] = model
    return PreparedRun(
        version=parent.version,
        body=body,
        api_version=parent.run.api_version,
        provider="" if model else parent.run.provider,
        values=json.loads(parent.variables),
        parameters=json.loads(parent.parameters),
        turns=[*turns, *added],
        sent_before=len(turns),
    )


def _refuse_too_much(turns: Sequence[Mapping[str, Any]]) -> None:
    step = "Put the conversation so far into the prompt (Add reply to messages), and go on from there."
    if len(turns) > MAX_TURNS:
        raise TooLarge(f"A conversation has at most {MAX_TURNS:,} turns.", field="content", next_step=step)
    if len(json.dumps(turns, ensure_ascii=False).encode("utf-8", "surrogatepass")) > MAX_TURNS_BYTES:
        raise TooLarge(
            f"The turns of a conversation have at most {MAX_TURNS_BYTES:,} bytes.", field="content", next_step=step
        )


def _refuse_unsendable(body: Mapping[str, Any]) -> None:
    """As for every run; what is wrong with the new turn, or missing from it, is told of `content`."""
    last = len(body["messages"]) - 1
    try:
        wire.refuse_unsendable(body)
    except Unprocessable as error:
        if error.code == tool_turns.CALL_UNANSWERED:
            error.field = "content"
        else:
            error.field = _under_content(error.field or "", last)
        raise


def _under_content(field: str, index: int) -> str:
    return field.removeprefix(f"messages.{index}.") if field.startswith(f"messages.{index}.") else field


def _remember_results(account: User, prompt: Prompt, answer: Mapping[str, Any], said: Mapping[str, Any]) -> None:
    """Keep what was typed, to be offered for the next call of the same tool."""
    names = {call["id"]: str(call.get("name", "")) for call in tool_turns.calls_of(answer["content"])}
    blocks = said["content"] if isinstance(said["content"], list) else []
    results = [block for block in blocks if block["type"] == "tool_result"]
    rows = [row for block in results if (row := _as_row(account, prompt, names[block["tool_use_id"]], block))]
    ToolResult.objects.bulk_create(
        {(row.tool, bytes(row.digest)): row for row in rows}.values(),
        update_conflicts=True,
        unique_fields=["account", "prompt", "tool", "digest"],
        update_fields=["used_at"],
    )
    for tool in {row.tool for row in rows}:
        known = ToolResult.objects.typed_by(account, prompt, tool)
        ToolResult.objects.filter(pk__in=list(known.values_list("pk", flat=True)[REMEMBERED_RESULTS:])).delete()


def _as_row(account: User, prompt: Prompt, tool: str, block: Mapping[str, Any]) -> ToolResult | None:
    content, is_error = block.get("content") or "", bool(block.get("is_error"))
    content_json = json.dumps(content)
    # Blocks are sent and not offered again: what is typed in the page is text.
    if not content or not isinstance(content, str) or len(content_json) > REMEMBERED_BYTES:
        return None
    if not 0 < len(tool) <= MAX_TOOL_NAME or "\0" in tool:
        return None
    return ToolResult(
        prompt=prompt,
        account=account,
        tool=tool,
        content_json=content_json,
        is_error=is_error,
        digest=hashlib.sha256(f"{is_error}:{content_json}".encode()).digest(),
        used_at=timezone.now(),
    )
