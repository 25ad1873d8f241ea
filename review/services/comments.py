"""Replies, and what their authors change of them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from core import idempotency
from core.errors import NotAllowed, NotFound, Unprocessable
from review.bodies import clean_body
from review.models import Comment, Mention, Thread
from review.people import mentionable
from review.services.notices import tell_mentioned
from review.services.threads import say

MAX_COMMENTS = 500


def reply(
    *,
    person: User,
    thread: Thread,
    body: str,
    mentions: Sequence[uuid.UUID] = (),
    idempotency_key: str | None = None,
) -> Comment:
    """Say something in a thread, resolved or not.

    Raises InvalidInput, Unprocessable, IdempotencyKeyReused, NotFound.
    """
    clean, mentioned = clean_body(body), mentionable(thread.prompt, mentions)

    def make() -> tuple[Comment, uuid.UUID]:
        locked = Thread.objects.select_for_update(of=("self",), no_key=True).filter(pk=thread.pk).first()
        if locked is None:  # its only comment was deleted meanwhile
            raise NotFound
        if Comment.objects.filter(thread=thread).count() >= MAX_COMMENTS:
            raise Unprocessable(f"A thread has at most {MAX_COMMENTS} comments.", next_step="Start another thread.")
        comment = say(thread=thread, person=person, body=clean, mentioned=mentioned)
        return comment, comment.pk

    return idempotency.once(
        account_id=person.pk,
        scope="comment",
        key=idempotency_key,
        request=idempotency.fingerprint(str(thread.pk), body),
        make=make,
        find=_comment,
    )


def _comment(comment_id: uuid.UUID) -> Comment:
    found = Comment.objects.filter(pk=comment_id).first()
    if found is None:  # made by an earlier call with this key, and gone with its thread since
        raise NotFound
    return found


def edit_comment(*, person: User, comment: Comment, body: str, mentions: Sequence[uuid.UUID] = ()) -> Comment:
    """Change one's own comment; it says from then on that it was edited.

    Raises InvalidInput, NotAllowed (of others), NotFound (deleted).
    """
    if comment.author_id != person.pk:
        raise NotAllowed("Only who wrote a comment can change it.")
    thread = comment.thread
    clean, mentioned = clean_body(body), mentionable(thread.prompt, mentions)
    with transaction.atomic():
        locked = _lock(comment)
        if locked.body == clean:
            return locked
        locked.body, locked.edited_at = clean, timezone.now()
        locked.save(update_fields=["body", "edited_at"])
        before = set(Mention.objects.filter(comment=locked).values_list("person_id", flat=True))
        Mention.objects.filter(comment=locked).exclude(person__in=mentioned).delete()
        fresh = [each for each in mentioned if each.pk not in before]
        Mention.objects.bulk_create([Mention(comment=locked, person=each) for each in fresh])
        tell_mentioned(locked, thread, fresh)
    return locked


def delete_comment(*, person: User, comment: Comment) -> None:
    """Delete one's own comment, or any on one's own prompt. A thread without comments goes with its last one.

    Raises NotAllowed, NotFound (deleted before).
    """
    if person.pk not in (comment.author_id, comment.thread.prompt.owner_id):
        raise NotAllowed("Only who wrote a comment, or owns the prompt, can delete it.")
    with transaction.atomic():
        Thread.objects.select_for_update(of=("self",)).filter(pk=comment.thread_id).first()
        locked = _lock(comment)
        locked.body, locked.deleted_at = None, timezone.now()
        locked.save(update_fields=["body", "deleted_at"])
        Mention.objects.filter(comment=locked).delete()
        if not Comment.objects.filter(thread_id=locked.thread_id, deleted_at=None).exists():
            Thread.objects.filter(pk=locked.thread_id).delete()


def _lock(comment: Comment) -> Comment:
    found = Comment.objects.select_for_update(of=("self",)).filter(pk=comment.pk, deleted_at=None).first()
    if found is None:
        raise NotFound
    return found
