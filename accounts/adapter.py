"""What we ask of allauth beyond its settings."""

from __future__ import annotations

from allauth.account.adapter import DefaultAccountAdapter
from django.core.exceptions import ValidationError

from accounts.models import User

MAX_EMAIL_LENGTH = User._meta.get_field("email").max_length or 0


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Refuses an address that does not fit. allauth cuts it off instead, and what is left may be somebody else's."""

    def clean_email(self, email: str) -> str:
        if len(email) > MAX_EMAIL_LENGTH:
            raise ValidationError(f"An e-mail address has at most {MAX_EMAIL_LENGTH} characters.")
        return email
