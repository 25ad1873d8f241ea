from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from accounts import services
from accounts.management.lookup import account_of
from accounts.models import Tier


class Command(BaseCommand):
    help = "Move an account to another tier."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email", help="The address the account signs in with.")
        parser.add_argument("tier", choices=Tier.values)

    def handle(self, *args: Any, **options: Any) -> None:
        account = services.change_tier(account=account_of(options["email"]), tier=options["tier"])
        self.stdout.write(f"{account.email} is {account.tier}.")
