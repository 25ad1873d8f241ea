from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts import services
from accounts.management.lookup import account_of
from core.errors import DomainError


class Command(BaseCommand):
    help = "Make an API key for an account and print it, and nothing else, on standard output."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email", help="The address the account signs in with.")
        parser.add_argument("--name", default="Command line", help="What the key is called in the list of keys.")
        parser.add_argument(
            "--scopes",
            default=",".join(services.ALL_SCOPES),
            help="What the key may do, separated by commas (default: %(default)s).",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        account = account_of(options["email"])
        scopes = [scope.strip() for scope in options["scopes"].split(",")]
        try:
            _, plaintext = services.create_api_key(account=account, name=options["name"], scopes=scopes)
        except DomainError as error:
            raise CommandError(" ".join(filter(None, [error.message, error.next_step]))) from error
        self.stdout.write(plaintext)
