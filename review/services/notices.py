"""Telling people of comments, in the transaction that makes them. What was said is not in it: who lost access meanwhile
sees nothing of it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from accounts.models import User
from review.models import Comment, Mention, Thread
from review.people import people_of
from sharing.services.notices import notify

#: Kinds of notifications; their `subject` is the thread.
MENTION, REPLY, COMMENT = "mention", "reply", "comment"


def tell(comment: Comment, thread: Thread, mentioned: Iterable[User]) -> None:
    """Those it names, those who spoke in the thread before, and the owner: each once, and only who may still see it."""
    names = {each.pk for each in mentioned}
    first = not thread.comments.exclude(pk=comment.pk).exists()
    others = _concerned(thread) - names
    for person in people_of(thread.prompt).filter(pk__in=names | others):
        kind = MENTION if person.pk in names else COMMENT if first else REPLY
        notify(account=person, prompt=thread.prompt, kind=kind, actor=comment.author, subject=thread.pk)


def tell_mentioned(comment: Comment, thread: Thread, mentioned: Iterable[User]) -> None:
    """Only those whom an edit names for the first time."""
    for person in mentioned:
        notify(account=person, prompt=thread.prompt, kind=MENTION, actor=comment.author, subject=thread.pk)


def _concerned(thread: Thread) -> set[uuid.UUID]:
    spoke = thread.comments.filter(deleted_at=None, author__is_active=True).values_list("author", flat=True)
    named = Mention.objects.filter(comment__thread=thread).values_list("person_id", flat=True)
    return {thread.prompt.owner_id, *spoke, *named}
