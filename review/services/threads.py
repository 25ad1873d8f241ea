"""Starting a thread on a passage, or on a whole version; calling it settled, and opening it again."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from core import idempotency
from core.errors import InvalidInput, NotFound, Unprocessable
from playground.bodies.recent import recent_texts
from playground.models import Prompt, Version
from review.anchors import quote_at
from review.bodies import clean_body
from review.carrying import placement_at
from review.models import Comment, Mention, PlacementState, Thread
from review.passages import Passage, Unit, cuts_a_letter, passage_at
from review.people import mentionable
from review.services.notices import tell
from review.slots import slots_of

MAX_THREADS = 2000


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """A passage as a caller names it: [start, end) of text `text` in `unit`, and the words that are to be there."""

    text: int
    start: int
    end: int
    unit: Unit
    quote: str


def start_thread(
    *,
    person: User,
    version: Version,
    anchor: Anchor | None,
    body: str,
    mentions: Sequence[uuid.UUID] = (),
    idempotency_key: str | None = None,
) -> Thread:
    """A thread with its first comment; without an anchor it is about the whole version.

    Raises InvalidInput (also if the words of `anchor` are not there), Unprocessable, IdempotencyKeyReused,
    StorageUnavailable.
    """
    prompt = version.prompt
    clean, mentioned = clean_body(body), mentionable(prompt, mentions)
    found = read_passage(version, anchor) if anchor else None
    thread = Thread(prompt=prompt, version=version, author=person)
    if anchor and found:
        text, passage = found
        quote = quote_at(text, passage)
        thread.text_index, thread.start, thread.end = anchor.text, passage.start, passage.end
        thread.quote, thread.prefix, thread.suffix = quote.exact, quote.prefix, quote.suffix

    def make() -> tuple[Thread, uuid.UUID]:
        _refuse_too_many(prompt)
        thread.save(force_insert=True)
        if anchor and found:
            placed = placement_at(thread, version, anchor.text, *found)
            placed.state, placed.method = PlacementState.WRITTEN, "written"
            placed.save(force_insert=True)
        say(thread=thread, person=person, body=clean, mentioned=mentioned)
        return thread, thread.pk

    request = idempotency.fingerprint(str(version.pk), vars(anchor) if anchor else None, body)
    return idempotency.once(
        account_id=person.pk,
        scope="thread",
        key=idempotency_key,
        request=request,
        make=make,
        find=_thread,
    )


def _thread(thread_id: uuid.UUID) -> Thread:
    found = Thread.objects.filter(pk=thread_id).first()
    if found is None:  # made by an earlier call with this key, and deleted since
        raise NotFound
    return found


def say(*, thread: Thread, person: User, body: str, mentioned: Sequence[User]) -> Comment:
    """Insert a comment and tell whom it concerns, in the caller's transaction. `body` is clean."""
    comment = Comment.objects.create(thread=thread, author=person, body=body)
    Mention.objects.bulk_create([Mention(comment=comment, person=each) for each in mentioned])
    tell(comment, thread, mentioned)
    return comment


def read_passage(version: Version, anchor: Anchor) -> tuple[bytes, Passage]:
    """The text that `anchor` names, and the passage in it. Raises InvalidInput, StorageUnavailable."""
    slots = slots_of(version.frozen)
    if anchor.text >= len(slots):
        raise InvalidInput("This version has no such text.", field="passage.text")
    text = recent_texts.get(prompt_id=version.prompt_id, sha256=slots[anchor.text].sha256).data
    passage = passage_at(text, anchor.start, anchor.end, anchor.unit)
    words = text[passage.start : passage.end]
    if words != anchor.quote.encode("utf-8", "surrogatepass"):
        raise InvalidInput(
            "These words are not at that place of the text.",
            code="quote_differs",
            field="passage.quote",
            next_step="Load the version again and choose the passage anew.",
        )
    if not words.strip() or cuts_a_letter(text, passage):
        raise InvalidInput("A passage has whole letters, and not only blanks.", field="passage")
    return text, passage


def _refuse_too_many(prompt: Prompt) -> None:
    if Thread.objects.filter(prompt=prompt).count() >= MAX_THREADS:
        raise Unprocessable(
            f"A prompt has at most {MAX_THREADS:,} threads.", next_step="Delete some that nobody needs any more."
        )


def resolve_thread(*, person: User, thread: Thread) -> Thread:
    """Call it settled. Of two who do so at once the first is named; the second finds it done."""
    with transaction.atomic():
        Thread.objects.filter(pk=thread.pk, resolved_at=None).update(resolved_at=timezone.now(), resolved_by=person)
    return Thread.objects.get(pk=thread.pk)


def reopen_thread(*, thread: Thread) -> Thread:
    """Open it again; one that is open stays so."""
    with transaction.atomic():
        Thread.objects.filter(pk=thread.pk).update(resolved_at=None, resolved_by=None)
    return Thread.objects.get(pk=thread.pk)
