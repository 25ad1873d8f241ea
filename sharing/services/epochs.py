"""The prompt's epoch: whatever takes access away or narrows it raises it, in the same transaction."""

from __future__ import annotations

import uuid

from celery import signature
from django.db import connection
from django.db.models import Q

from core.effects import after_commit, enqueue
from core.errors import NotFound
from playground.models import Prompt
from sharing import news
from sharing.models import ShareLink

#: By name, because the task's module imports this package.
DELETE_READ_COPIES = signature("sharing.tasks.delete_read_copies", options={"priority": 0})


def lock_prompt(prompt_id: uuid.UUID) -> Prompt:
    """The prompt as it is now, locked to the commit: before all other rows, in whatever changes who may read.

    In that order no two of them wait for each other; and a right to share that is asked about after it is not taken
    away before what rests on it is there. Raises NotFound.
    """
    prompt = Prompt.objects.select_for_update(no_key=True).filter(pk=prompt_id).first()
    if prompt is None:
        raise NotFound
    return prompt


def raise_epoch(prompt_id: uuid.UUID) -> int:
    """Inside the caller's transaction. Its row is locked to the commit, so a save that goes on comes before or after.

    Raises NotFound.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE playground_prompt SET acl_epoch = acl_epoch + 1 WHERE id = %s RETURNING acl_epoch", [prompt_id]
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound
    epoch = int(row[0])
    tell(prompt_id, epoch)
    return epoch


def tell(prompt_id: uuid.UUID, acl_epoch: int) -> None:
    """After the commit other processes hear of the epoch, and the read copies that signed addresses lead to are
    deleted: both only make a revocation quicker.
    """
    after_commit(news.publish, prompt_id, acl_epoch)
    enqueue(DELETE_READ_COPIES, str(prompt_id), acl_epoch)


def tell_of_account(account_id: uuid.UUID) -> None:
    """Of the prompts that are open by links of this account: a trigger raised their epochs when it was switched off."""
    links = ShareLink.objects.filter(Q(prompt__owner=account_id) | Q(created_by=account_id), revoked_at=None)
    for prompt_id, acl_epoch in links.values_list("prompt_id", "prompt__acl_epoch").order_by("prompt_id").distinct():
        tell(prompt_id, acl_epoch)
