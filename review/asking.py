"""Reaching threads and comments through the person asking. Absent and forbidden are the same 404."""

from __future__ import annotations

import uuid

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from core.errors import NotFound
from playground import access
from review.models import Comment, Thread


def thread_for(user: User | AnonymousUser, thread_id: uuid.UUID, permission: str = access.VIEW) -> Thread:
    """Raises NotAuthenticated, NotFound; NotAllowed only for who sees it but may not do this."""
    access.signed_in(user)
    thread = Thread.objects.select_related("version", "prompt", "resolved_by").filter(pk=thread_id).first()
    if thread is None:
        raise NotFound
    thread.prompt = access.prompt_for(user, thread.prompt_id, permission)
    return thread


def comment_for(user: User | AnonymousUser, comment_id: uuid.UUID) -> Comment:
    """A comment that was not deleted, for who may comment. Raises as `thread_for`."""
    access.signed_in(user)
    comment = Comment.objects.select_related("thread").filter(pk=comment_id, deleted_at=None).first()
    if comment is None:
        raise NotFound
    comment.thread = thread_for(user, comment.thread_id, access.COMMENT)
    return comment
