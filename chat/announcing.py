"""What is published when something happened, as messages of the bus whose frames need no further work."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from chat import protocol
from chat.messages import Event, Receipt, Told
from core.bus import Value, person_group

Announcement = tuple[str, Mapping[str, Value]]


def event(happened: Event) -> Announcement:
    """To the recipient's device. The frame is made once, here, whoever forwards it."""
    frame = protocol.dump({"type": "event", **happened.as_json()})
    return person_group(happened.recipient), {"type": "chat.event", "seq": happened.inbox_seq, "frame": frame}


def receipt(moved: Receipt) -> Announcement:
    """To the one who wrote: lost without harm, the cursors are read again with the conversation."""
    frame = protocol.dump(
        {
            "type": "receipt",
            "conversation": str(moved.conversation),
            "reader": str(moved.reader),
            "delivered_upto": moved.delivered_upto,
            "read_upto": moved.read_upto,
        }
    )
    return person_group(moved.recipient), {"type": "chat.frame", "frame": frame}


def own(person: uuid.UUID, kind: str, message: Told) -> Announcement:
    """To the sender's own open page, about what was done by HTTP beside it."""
    frame = protocol.dump({"type": "own", "kind": kind, "message": message.as_json()})
    return person_group(person), {"type": "chat.frame", "frame": frame}


def typing(*, person: uuid.UUID, conversation: uuid.UUID, peer: uuid.UUID) -> Announcement:
    frame = protocol.dump({"type": "typing", "conversation": str(conversation), "person": str(person)})
    return person_group(peer), {"type": "chat.frame", "frame": frame}


def replaced(person: uuid.UUID, gen: int) -> Announcement:
    """To the devices before generation `gen`. Every write of theirs is fenced, so a lost one hurts nobody."""
    return person_group(person), {"type": "chat.replaced", "gen": gen}
