"""A run's events in Redis: what they look like, and how the worker and the services write and read them.

    run:{id}:events   a stream; each entry has `kind` and `data` (JSON in ASCII)
    run:{id}:text     the text so far, UTF-8
    run:{id}:cancel   exists once somebody asked to stop the run

kind     data
status   {status}
block    {type}                   a content block that is not text begins, such as thinking
text     {offset, text}           offset: code points before this piece
reset    {text}                   all the text so far, for a reader whose place is lost
done     {status, stop_reason, error: {code, message} | null, usage: {input_tokens, output_tokens},
          queue_ms, ttft_ms, tokens_per_s}

All of it is a relay. The truth about a run is its row; a reader that misses an event finds it there.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from inference_client.models import Run

Kind = Literal["status", "block", "text", "reset", "done"]

STREAM_LENGTH = 20_000
WHILE_RUNNING_S = 24 * 3600
AFTER_END_S = 3600


@dataclasses.dataclass(frozen=True, kw_only=True)
class Event:
    kind: Kind
    data: Mapping[str, Any]

    def fields(self) -> dict[Any, Any]:
        """As the fields of a stream entry."""
        return {"kind": self.kind, "data": json.dumps(self.data, separators=(",", ":"))}


def from_fields(fields: Mapping[bytes, bytes]) -> Event:
    return Event(kind=cast(Kind, fields[b"kind"].decode()), data=json.loads(fields[b"data"]))


def events_key(run_id: uuid.UUID) -> str:
    return f"run:{run_id}:events"


def text_key(run_id: uuid.UUID) -> str:
    return f"run:{run_id}:text"


def cancel_key(run_id: uuid.UUID) -> str:
    return f"run:{run_id}:cancel"


def status_event(status: str) -> Event:
    return Event(kind="status", data={"status": status})


def done_event(run: Run) -> Event:
    """The last event of a terminal run."""
    error = {"code": run.error_code, "message": run.error_message} if run.error_code else None
    return Event(
        kind="done",
        data={
            "status": run.status,
            "stop_reason": run.stop_reason or None,
            "error": error,
            "usage": {"input_tokens": run.input_tokens, "output_tokens": run.output_tokens},
            "queue_ms": run.queue_ms,
            "ttft_ms": run.ttft_ms,
            "tokens_per_s": run.tokens_per_s,
        },
    )


@functools.cache
def hasty_client() -> redis.Redis:
    """A client that gives up within a second and does not retry: the worker's watch over its lease cannot wait."""
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1, retry=Retry(NoBackoff(), 0)
    )


def publish_status(run_id: uuid.UUID, status: str) -> None:
    """Raises RedisError; readers then learn it from the database."""
    _publish(run_id, status_event(status), keep_s=WHILE_RUNNING_S)


def publish_done(run: Run) -> None:
    """Raises RedisError; readers then learn it from the database."""
    _publish(run.id, done_event(run), keep_s=AFTER_END_S)


def _publish(run_id: uuid.UUID, event: Event, *, keep_s: int) -> None:
    pipe = hasty_client().pipeline(transaction=True)
    pipe.xadd(events_key(run_id), event.fields(), maxlen=STREAM_LENGTH, approximate=True)
    pipe.expire(events_key(run_id), keep_s)
    pipe.expire(text_key(run_id), keep_s)
    pipe.execute()


def flag_cancel(run_id: uuid.UUID) -> None:
    hasty_client().set(cancel_key(run_id), b"1", ex=AFTER_END_S)


def cancels_flagged(run_ids: Sequence[uuid.UUID]) -> frozenset[uuid.UUID]:
    """Those of the runs that somebody asked to stop. Raises RedisError."""
    if not run_ids:
        return frozenset()
    flags = hasty_client().mget([cancel_key(run_id) for run_id in run_ids])
    return frozenset(run_id for run_id, flag in zip(run_ids, cast("list[bytes | None]", flags), strict=True) if flag)


def read_text(run_id: uuid.UUID) -> str:
    """The text so far; "" if there is none, or if Redis does not answer."""
    try:
        raw = cast("bytes | None", hasty_client().get(text_key(run_id)))
    except redis.RedisError:
        return ""
    # A character is cut only if the writer died in the middle of an APPEND.
    return (raw or b"").decode("utf-8", errors="replace")
