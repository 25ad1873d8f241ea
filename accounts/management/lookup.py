"""How commands find the account that a person named."""

from __future__ import annotations

from django.core.management.base import CommandError

from accounts.models import User


def account_of(email: str) -> User:
    """The account that signs in with `email`. Raises CommandError: one line on stderr, exit status 1."""
    account = User.objects.filter(email=email.strip().lower()).first()
    if account is None:
        raise CommandError(f"There is no account with the address {email.strip()}.")
    return account
