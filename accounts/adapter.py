"""What we ask of allauth beyond its settings."""

from __future__ import annotations

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.core.ratelimit import respond_429
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from accounts.models import User
from accounts.services import tell_sockets

MAX_EMAIL_LENGTH = User._meta.get_field("email").max_length or 0


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    def clean_email(self, email: str) -> str:
        """Refuse an address that does not fit. allauth cuts it off instead, and what is left may be somebody else's."""
        if len(email) > MAX_EMAIL_LENGTH:
            raise ValidationError(f"An e-mail address has at most {MAX_EMAIL_LENGTH} characters.")
        return email

    def logout(self, request: HttpRequest) -> None:
        """The person's open sockets look at once whether they are still signed in."""
        person = request.user
        super().logout(request)
        if isinstance(person, User):
            tell_sockets(person)

    def set_password(self, user: User, password: str) -> None:
        """As for a sign-out: other browsers' sessions end with the old password."""
        super().set_password(user, password)
        tell_sockets(user)

    def pre_authenticate(self, request: HttpRequest, **credentials: object) -> None:
        """Too many wrong passwords are a 429 like any other limit; allauth would show the form again with a 200."""
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError as error:
            raise ImmediateHttpResponse(respond_429(request)) from error
