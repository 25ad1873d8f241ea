from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from accounts import services
from accounts.management.lookup import account_of


class Command(BaseCommand):
    help = "Switch an account off: its sessions and keys stop working, its data stays."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email", help="The address the account signs in with.")
        parser.add_argument("--undo", action="store_true", help="Switch it on again.")

    def handle(self, *args: Any, **options: Any) -> None:
        change = services.reactivate_account if options["undo"] else services.deactivate_account
        account = change(account=account_of(options["email"]))
        self.stdout.write(f"{account.email} is {'on' if account.is_active else 'off'}.")
