from __future__ import annotations

import pgtrigger

from accounts.models import User


class Owner(User):
    """Accounts, seen as owners: switching one off voids the links to all its prompts, whoever does it and how."""

    class Meta:
        proxy = True
        triggers = [
            pgtrigger.Trigger(
                name="owner_switched_off",
                when=pgtrigger.After,
                operation=pgtrigger.UpdateOf("is_active"),  # type: ignore[no-untyped-call]
                condition=pgtrigger.Q(old__is_active=True, new__is_active=False),
                func="""
                    UPDATE playground_prompt SET acl_epoch = acl_epoch + 1
                    WHERE owner_id = NEW.id
                    OR id IN (
                        SELECT prompt_id FROM sharing_sharelink WHERE created_by_id = NEW.id AND revoked_at IS NULL
                    );
                    RETURN NULL;
                """,
            )
        ]
