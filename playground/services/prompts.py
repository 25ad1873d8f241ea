from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.utils import timezone

from accounts.models import User
from core import idempotency
from core.errors import NotFound
from playground.models import Prompt
from playground.services.lines import folder_path, line, tag_list


def create_prompt(
    *,
    owner: User,
    name: str,
    description: str = "",
    tags: Sequence[str] = (),
    folder: str = "",
    idempotency_key: str | None = None,
) -> Prompt:
    """A new, empty prompt. Raises InvalidInput, IdempotencyKeyReused."""
    fields = {
        "name": line("name", name),
        "description": line("description", description, empty=True),
        "tags": tag_list("tags", tags),
        "folder": folder_path("folder", folder),
    }

    def make() -> tuple[Prompt, uuid.UUID]:
        prompt = Prompt.objects.create(owner=owner, **fields)
        return prompt, prompt.pk

    return idempotency.once(
        account_id=owner.pk,
        scope="prompts",
        key=idempotency_key,
        request=idempotency.fingerprint(fields),
        make=make,
        find=lambda pk: Prompt.objects.get(pk=pk),
    )


def touch(prompt_id: uuid.UUID) -> int:
    """Say in the caller's transaction that the prompt is changed now, and answer its `acl_epoch`.

    Its row stays locked to the commit: a revocation that comes meanwhile waits, and what is made here is older than it.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE playground_prompt SET updated_at = %s WHERE id = %s RETURNING acl_epoch",
            [timezone.now(), prompt_id],
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound
    return int(row[0])


def update_prompt(*, prompt: Prompt, **changes: Any) -> Prompt:
    """Change name, description, tags or folder; versions are not touched. Raises InvalidInput."""
    for name, value in changes.items():
        if name == "tags":
            prompt.tags = tag_list("tags", value)
        elif name == "folder":
            prompt.folder = folder_path("folder", value)
        elif name in ("name", "description"):
            setattr(prompt, name, line(name, value, empty=name != "name"))
    prompt.updated_at = timezone.now()
    prompt.save(update_fields=[*changes, "updated_at"])
    return prompt
