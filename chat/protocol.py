"""The frames of `/ws/chat/`: version, close codes, limits, and what a client may say. Pure; docs/protocol.md in code.

Every frame is one JSON object with a `type`. A client's frame becomes one of the dataclasses here, or is refused.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from chat.messages import Reference
from core.errors import DomainError, InvalidInput, TooLarge

VERSION = 1
MAX_FRAME_BYTES = 32 * 1024
MAX_PEERS = 50
#: A page may exceed it by one event, never by more.
MAX_PAGE_BYTES = 256 * 1024
PAGE_EVENTS = 100
#: Pages that may be under way unacknowledged.
PAGE_WINDOW = 2

HELLO_WITHIN_S = 10.0
PING_EVERY_S = 25.0
PROBE_AFTER_S = 20.0
SILENT_AFTER_S = 35.0
TYPING_EVERY_S = 3.0
TYPING_SHOWN_S = 6.0


class Close(IntEnum):
    """4400 to 4499 is final, but for SLOW; everything else may be tried again with back-off."""

    GOING_AWAY = 1001
    #: Of the server below us: more than it takes in at once.
    TOO_BIG = 1009
    RESTART = 1012
    TRY_LATER = 1013
    BAD_PROTOCOL = 4400
    SIGNED_OUT = 4401
    NOT_ALLOWED = 4403
    UNKNOWN_PATH = 4404
    SLOW = 4408
    REPLACED = 4409


@dataclass(frozen=True, kw_only=True, slots=True)
class Hello:
    """`have`: the highest inbox_seq up to which this page has everything; None after a reload."""

    protocol: int
    page: uuid.UUID
    have: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Send:
    conversation: uuid.UUID
    id: uuid.UUID
    body: str
    reference: Reference | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    id: uuid.UUID
    message: uuid.UUID
    body: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Delete:
    id: uuid.UUID
    message: uuid.UUID


@dataclass(frozen=True, kw_only=True, slots=True)
class Read:
    conversation: uuid.UUID
    upto: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Ack:
    upto: int
    gen: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Typing:
    conversation: uuid.UUID


@dataclass(frozen=True, kw_only=True, slots=True)
class Ping:
    have: int | None
    peers: tuple[uuid.UUID, ...]


ClientFrame = Hello | Send | Edit | Delete | Read | Ack | Typing | Ping


class BadFrame(InvalidInput):
    """A frame that cannot be read. `about` is its id where it has one that can."""

    code = "bad_frame"

    def __init__(self, message: str, *, about: str | None = None, field: str | None = None) -> None:
        super().__init__(message, field=field)
        self.about = about


def dump(frame: Mapping[str, Any]) -> str:
    return json.dumps(frame, ensure_ascii=False, separators=(",", ":"))


def parse(text: str) -> ClientFrame:
    """Raises BadFrame, or TooLarge for more than MAX_FRAME_BYTES of UTF-8."""
    if len(text) > MAX_FRAME_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_FRAME_BYTES:
        raise TooLarge(f"A frame has at most {MAX_FRAME_BYTES // 1024} KiB.", code="frame_too_large")
    try:
        given = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BadFrame("A frame is one JSON object.") from error
    if not isinstance(given, dict):
        raise BadFrame("A frame is one JSON object.")
    read = _READERS.get(str(given.get("type")))
    about = given["id"] if isinstance(given.get("id"), str) and len(given["id"]) <= 64 else None
    if read is None:
        raise BadFrame("There is no such type of frame.", about=about, field="type")
    try:
        return read(given)
    except InvalidInput as error:
        raise BadFrame(error.message, about=about, field=error.field) from error


def failed(error: DomainError, *, about: str | None) -> dict[str, Any]:
    """The frame that refuses. `permanent`: the same frame will be refused again, whoever sends it.

    Not so what a replaced device sends: its outbox goes out from the one that took over, or after taking back.
    """
    permanent = error.status < 429 and error.code != "replaced"
    body: dict[str, Any] = {"type": "failed", "id": about, "permanent": permanent, **error.as_json()}
    if error.retry_after_s is not None:
        body["retry_after_s"] = error.retry_after_s
    return body


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _hello(given: dict[str, Any]) -> Hello:
    return Hello(protocol=_count(given, "protocol"), page=_uuid(given, "page"), have=_position(given, "have"))


def _send(given: dict[str, Any]) -> Send:
    return Send(
        conversation=_uuid(given, "conversation"),
        id=_uuid(given, "id"),
        body=_text(given, "body"),
        reference=read_reference(given.get("reference")),
    )


def _edit(given: dict[str, Any]) -> Edit:
    return Edit(id=_uuid(given, "id"), message=_uuid(given, "message"), body=_text(given, "body"))


def _delete(given: dict[str, Any]) -> Delete:
    return Delete(id=_uuid(given, "id"), message=_uuid(given, "message"))


def _read(given: dict[str, Any]) -> Read:
    return Read(conversation=_uuid(given, "conversation"), upto=_count(given, "upto"))


def _ack(given: dict[str, Any]) -> Ack:
    return Ack(upto=_count(given, "upto"), gen=_count(given, "gen"))


def _typing(given: dict[str, Any]) -> Typing:
    return Typing(conversation=_uuid(given, "conversation"))


def _ping(given: dict[str, Any]) -> Ping:
    peers = given.get("peers", [])
    if not isinstance(peers, list) or len(peers) > MAX_PEERS:
        raise InvalidInput(f"`peers` is a list of at most {MAX_PEERS} ids.", field="peers")
    return Ping(have=_position(given, "have"), peers=tuple(_as_uuid(peer, "peers") for peer in peers))


_READERS: dict[str, Callable[[dict[str, Any]], ClientFrame]] = {
    "hello": _hello,
    "send": _send,
    "edit": _edit,
    "delete": _delete,
    "read": _read,
    "ack": _ack,
    "typing": _typing,
    "ping": _ping,
}
CLIENT_TYPES = tuple(_READERS)
SERVER_TYPES = (
    "welcome",
    "page",
    "drained",
    "event",
    "sent",
    "changed",
    "failed",
    "receipt",
    "own",
    "typing",
    "presence",
    "pong",
    "probe",
    "reset",
    "replaced",
)


def read_reference(given: object) -> Reference | None:
    """`{"kind", "id"}` or None. Raises InvalidInput."""
    if given is None:
        return None
    if not isinstance(given, dict) or not isinstance(given.get("kind"), str):
        raise InvalidInput("`reference` is an object with `kind` and `id`.", field="reference")
    return Reference(kind=given["kind"], id=_as_uuid(given.get("id"), "reference"))


def _uuid(given: dict[str, Any], name: str) -> uuid.UUID:
    return _as_uuid(given.get(name), name)


def _as_uuid(value: object, name: str) -> uuid.UUID:
    if isinstance(value, str) and len(value) == 36:
        try:
            return uuid.UUID(value)
        except ValueError:
            pass
    raise InvalidInput(f"`{name}` is an id.", field=name)


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise InvalidInput(f"`{name}` is a text.", field=name)
    return value


def _count(given: dict[str, Any], name: str) -> int:
    value = given.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise InvalidInput(f"`{name}` is a number from 0 on.", field=name)
    return value


def _position(given: dict[str, Any], name: str) -> int | None:
    return None if given.get(name) is None else _count(given, name)
