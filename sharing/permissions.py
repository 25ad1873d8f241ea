"""Answers `user.has_perm("playground.view_prompt", prompt)` for the apps below, which never import this one."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib.auth.backends import BaseBackend
from django.db.models import Model
from django.utils import timezone

from playground import access
from playground.models import Prompt
from sharing import kept, noting, policy, reading
from sharing.policy import Standing

#: What an owner may do; what others may is in `policy`, by their role.
OWNER_PERMISSIONS = policy.OWNER


class PromptAccessBackend(BaseBackend):
    """Object permissions on prompts. Denies by default: an inactive person, another object, an unknown permission."""

    def has_perm(self, user_obj: Any, perm: str, obj: Model | None = None) -> bool:
        if not isinstance(obj, Prompt) or not user_obj.is_active or obj.trashed_at is not None or obj.importing:
            return False
        if obj.owner_id == user_obj.pk:
            return perm in OWNER_PERMISSIONS
        standing = standing_on(user_obj.pk, obj, fresh=perm != access.VIEW)
        allowed = standing is not None and standing.allows(perm, timezone.now())
        if not obj._state.adding:  # a stand-in for an absent one has no log
            noting.decided(prompt_id=obj.pk, person_id=user_obj.pk, permission=perm, allowed=allowed)
        return allowed


def standing_on(person_id: uuid.UUID, prompt: Prompt, *, fresh: bool) -> Standing | None:
    """What somebody else's prompt is to this person. Only a read may use a decision of some seconds ago.

    And only one of the epoch that `prompt`, read in this request, has: after a revocation there is none.
    """
    key = (prompt.pk, person_id)
    decision = None if fresh else kept.grants.kept(key, at_least=prompt.acl_epoch)
    if decision is None:
        decision = kept.grants.ask(key, lambda _: prompt.pk, lambda: reading.standing_of(person_id, prompt.pk))
    return decision.what if decision else None
