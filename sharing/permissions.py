"""Answers `user.has_perm("playground.view_prompt", prompt)` for the apps below, which never import this one."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import BaseBackend
from django.db.models import Model

from playground.models import Prompt

#: What an owner may do. Grants and links add rows to the answer; nothing else in the product decides.
OWNER_PERMISSIONS = frozenset({"playground.view_prompt", "playground.change_prompt", "playground.run_prompt"})


class PromptAccessBackend(BaseBackend):
    """Object permissions on prompts. Denies by default: an inactive person, another object, an unknown permission."""

    def has_perm(self, user_obj: Any, perm: str, obj: Model | None = None) -> bool:
        if not isinstance(obj, Prompt) or not user_obj.is_active or obj.trashed_at is not None:
            return False
        return perm in OWNER_PERMISSIONS and obj.owner_id == user_obj.pk
