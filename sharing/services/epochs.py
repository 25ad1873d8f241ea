"""The prompt's epoch: whatever takes access away or narrows it raises it, in the same transaction."""

from __future__ import annotations

import uuid

from celery import signature
from django.db import connection

from core.effects import after_commit, enqueue
from core.errors import NotFound
from sharing import news

#: By name, because the task's module imports this package.
DELETE_READ_COPIES = signature("sharing.tasks.delete_read_copies", options={"priority": 0})


def raise_epoch(prompt_id: uuid.UUID) -> int:
    """Inside the caller's transaction. Its row is locked to the commit, so a save that goes on comes before or after.

    After the commit other processes are told, and the read copies that signed addresses lead to are deleted: both only
    make a revocation quicker.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE playground_prompt SET acl_epoch = acl_epoch + 1 WHERE id = %s RETURNING acl_epoch", [prompt_id]
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound
    epoch = int(row[0])
    after_commit(news.publish, prompt_id, epoch)
    enqueue(DELETE_READ_COPIES, str(prompt_id), epoch)
    return epoch
