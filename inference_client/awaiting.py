"""A run's end as the answer of one call: for programs that want the whole answer and not its events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from django.db import InterfaceError, OperationalError
from rest_framework.utils.encoders import JSONEncoder

from inference_client.following import in_readers_thread
from inference_client.guarding import guard
from inference_client.models import Run
from inference_client.serializers import RunAnswerSerializer
from inference_client.streaming import ENDED, KEEP_ALIVE, stream_events

#: The longest that one call waits. Whoever wants to wait longer asks for the run again.
LONGEST_WAIT_S = 120

_GONE = {"error": {"code": "not_found", "message": "You may no longer read this run."}}
_AWAY = {"error": {"code": "unavailable", "message": "The database does not answer. The run itself goes on."}}


async def answer_of(run: Run, *, within_s: float, slot: str) -> AsyncIterator[bytes]:
    """One JSON object: the run as it is when it ends, or after `within_s` seconds (0 to 120).

    Blanks, which JSON allows in front, keep the connection alive meanwhile. The reader's leaving does not stop the run.
    """
    clock = asyncio.get_running_loop().time
    until = clock() + min(within_s, LONGEST_WAIT_S)
    frames = stream_events(run, last_event_id=None, slot=slot)
    refused = False
    try:
        while (left_s := until - clock()) > 0:
            try:
                frame = await asyncio.wait_for(anext(frames), left_s)
            except (StopAsyncIteration, TimeoutError):
                break
            refused = frame == ENDED
            if frame == KEEP_ALIVE:
                yield b" "
    finally:
        await frames.aclose()
    yield json.dumps(_GONE if refused else await _read(run), cls=JSONEncoder, separators=(",", ":")).encode() + b"\n"


async def _read(run: Run) -> Any:
    try:
        return await in_readers_thread(_answer, run)
    except (OperationalError, InterfaceError):
        return _AWAY


def _answer(run: Run) -> Any:
    found = Run.objects.filter(pk=run.pk, account__is_active=True).defer("request", "wire_request").first()
    if found is None or not guard().ask(run.pk, run.account_id):
        return _GONE
    return RunAnswerSerializer(found).data
