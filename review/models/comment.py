from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from core.ids import new_id
from review.models.thread import Thread


class Comment(models.Model):
    """What somebody said in a thread. May be edited and deleted by its author; a deleted one keeps its place, empty."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="comments")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    body = models.TextField(null=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    edited_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(deleted_at=None, body__isnull=False) | Q(deleted_at__isnull=False, body=None),
                name="comment_deleted_has_no_body",
            ),
        ]


class Mention(models.Model):
    """A person whom a comment names, and who was told so once."""

    comment = models.ForeignKey(Comment, on_delete=models.CASCADE, related_name="mentions")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["comment", "person"], name="mention_once")]
