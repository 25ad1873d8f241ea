"""What we ask of allauth beyond its settings."""

from __future__ import annotations

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.core.ratelimit import respond_429
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from accounts.models import User

MAX_EMAIL_LENGTH = User._meta.get_field("email").max_length or 0


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    def clean_email(self, email: str) -> str:
        """Refuse an address that does not fit. allauth cuts it off instead, and what is left may be somebody else's."""
        if len(email) > MAX_EMAIL_LENGTH:
            raise ValidationError(f"An e-mail address has at most {MAX_EMAIL_LENGTH} characters.")
        return email

    def pre_authenticate(self, request: HttpRequest, **credentials: object) -> None:
        """Too many wrong passwords are a 429 like any other limit; allauth would show the form again with a 200."""
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError as error:
            raise ImmediateHttpResponse(respond_429(request)) from error
