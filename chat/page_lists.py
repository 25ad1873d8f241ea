"""What the pages list: conversations with their last line, a page of one's history, messages with a word in them."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import F, Q

from accounts.models import User
from chat import statements
from chat.messages import Told
from chat.models import Block, Conversation, Member, Message, ReferenceKind
from core.errors import InvalidInput, NotFound

ROWS = 100
MESSAGES = 50
FOUND = 50
EXCERPT = 240
#: For lines that have no room for a card.
REFERENCE_WORDS = {
    ReferenceKind.VERSION.value: "A version of a prompt",
    ReferenceKind.RUN.value: "A run of a prompt",
    ReferenceKind.ACCESS_REQUEST.value: "A request for access",
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the list of conversations. `last` is None before the first message."""

    conversation: Conversation
    peer: User
    last: Message | None
    unread: int
    muted: bool
    chosen: bool

    @property
    def own(self) -> bool:
        return self.last is not None and self.last.sender_id != self.peer.pk

    @property
    def last_words(self) -> str:
        """The last message in one line."""
        if self.last is None:
            return "No message yet"
        if self.last.deleted_at is not None:
            return "Message deleted"
        return self.last.body or REFERENCE_WORDS.get(self.last.reference_kind or "", "")


@dataclass(frozen=True, kw_only=True)
class Conversations:
    """`following` is the cursor of the next page, "" on the last."""

    rows: list[Row]
    following: str


@dataclass(frozen=True, kw_only=True)
class History:
    """Messages in their order; `older` is the seq that the page before this one ends below, 0 if there is none."""

    messages: list[Told]
    older: int


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where both people are in a conversation, for the one who looks at it."""

    peer: User
    muted: bool
    blocked: bool
    read_seq: int
    peer_delivered_seq: int
    peer_read_seq: int


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A message found, with the part of its text that holds the word."""

    message: Message
    peer: User
    excerpt: str


def conversation_of(person: User, conversation_id: uuid.UUID) -> Conversation:
    """Raises NotFound for one that is absent or of others."""
    found = Conversation.objects.of(person).filter(pk=conversation_id).first()
    if found is None:
        raise NotFound
    return found


def conversations_page(person: User, *, cursor: str = "", chosen: uuid.UUID | None = None) -> Conversations:
    """The conversations of a person, the liveliest first. Raises InvalidInput for what is no cursor."""
    asked = Conversation.objects.of(person)
    if cursor:
        at, pk = _read_cursor(cursor)
        asked = asked.filter(Q(last_message_at__lt=at) | Q(last_message_at=at, pk__lt=pk))
    found = list(asked.recent_first()[: ROWS + 1])
    following = ""
    if len(found) > ROWS:
        found = found[:ROWS]
        following = f"{found[-1].last_message_at.isoformat()}_{found[-1].pk}"
    return Conversations(rows=_rows(person, found, chosen), following=following)


def _rows(person: User, found: list[Conversation], chosen: uuid.UUID | None) -> list[Row]:
    peers = User.objects.in_bulk([each.peer_of(person) for each in found])
    last = {each.conversation_id: each for each in _last_messages(person, found)}
    muted = set(
        Member.objects.filter(user=person, conversation__in=found)
        .exclude(muted_at=None)
        .values_list("conversation_id", flat=True)
    )
    unread = {conversation: count for conversation, _, count in unread_counts(person)}
    return [
        Row(
            conversation=each,
            peer=peers[each.peer_of(person)],
            last=last.get(each.pk),
            unread=unread.get(each.pk, 0),
            muted=each.pk in muted,
            chosen=each.pk == chosen,
        )
        for each in found
    ]


def _last_messages(person: User, found: Iterable[Conversation]) -> Iterable[Message]:
    return Message.objects.visible_to(person).filter(conversation__in=found, seq=F("conversation__last_seq"))


def unread_counts(person: User) -> list[tuple[uuid.UUID, bool, int]]:
    """(conversation, muted, unread up to 100) where there is any."""
    with connection.cursor() as cursor:
        cursor.execute(statements.UNREAD, {"person": person.pk})
        rows: list[tuple[uuid.UUID, bool, int]] = cursor.fetchall()
    return rows


def unread_total(person: User) -> int:
    """What the badge says: without the muted ones."""
    return sum(count for _, muted, count in unread_counts(person) if not muted)


def history_page(person: User, conversation: Conversation, *, before: int | None = None) -> History:
    """The newest MESSAGES messages below `before`."""
    asked = Message.objects.visible_to(person).filter(conversation=conversation)
    if before is not None:
        asked = asked.filter(seq__lt=before)
    found = list(asked.newest_first()[: MESSAGES + 1])
    older = found[MESSAGES - 1].seq if len(found) > MESSAGES else 0
    return History(messages=[Told.of(each) for each in reversed(found[:MESSAGES])], older=older)


def place_of(person: User, conversation: Conversation) -> Place:
    peer = User.objects.get(pk=conversation.peer_of(person))
    members = {each.user_id: each for each in Member.objects.filter(conversation=conversation)}
    return Place(
        peer=peer,
        muted=members[person.pk].muted_at is not None,
        blocked=Block.objects.filter(blocker=person, blocked=peer).exists(),
        read_seq=members[person.pk].read_seq,
        peer_delivered_seq=members[peer.pk].delivered_seq,
        peer_read_seq=members[peer.pk].read_seq,
    )


def search_messages(person: User, asked: str) -> list[Hit]:
    """The newest FOUND messages of this person's conversations with these words in them."""
    mine = Message.objects.visible_to(person).select_related("conversation")
    found, _ = mine.search_page(asked, after=None, limit=FOUND)
    peers = User.objects.in_bulk({each.conversation.peer_of(person) for each in found})
    return [
        Hit(message=each, peer=peers[each.conversation.peer_of(person)], excerpt=_excerpt(each.body or "", asked))
        for each in found
    ]


def _excerpt(body: str, asked: str) -> str:
    """The part around the first word that is found literally; else the beginning."""
    lowered = body.lower()
    places = [lowered.find(word.strip('"-').lower()) for word in asked.split()]
    first = max(0, min((place for place in places if place >= 0), default=0) - EXCERPT // 4)
    return ("…" if first else "") + body[first : first + EXCERPT] + ("…" if len(body) > first + EXCERPT else "")


def _read_cursor(cursor: str) -> tuple[dt.datetime, uuid.UUID]:
    moment, _, pk = cursor.rpartition("_")
    try:
        return dt.datetime.fromisoformat(moment.replace(" ", "+")), uuid.UUID(pk)
    except ValueError as error:
        raise InvalidInput("This address does not lead to a page of the list.", field="cursor") from error


def as_page(person: User, conversation: Conversation, place: Place, history: History) -> dict[str, Any]:
    """What the scripts of the page start from, as JSON values."""
    return {
        "me": str(person.pk),
        "conversation": str(conversation.pk),
        "peer": {"id": str(place.peer.pk), "name": place.peer.label},
        "muted": place.muted,
        "blocked": place.blocked,
        "readSeq": place.read_seq,
        "peerDeliveredSeq": place.peer_delivered_seq,
        "peerReadSeq": place.peer_read_seq,
        "messages": [each.as_json() for each in history.messages],
        "older": history.older,
    }
