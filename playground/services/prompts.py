from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from accounts.models import User
from core import idempotency
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
