"""`manage.py seed_demo`: the demo accounts and sample prompts, once."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.models import Tier, User
from accounts.services import create_account
from playground import services
from playground.demo import SAMPLES
from playground.models import Prompt
from playground.spec import parse


class Command(BaseCommand):
    help = "Create the accounts of DEMO_ACCOUNTS_FILE ({email: password}) and, for the first, the sample prompts."

    def handle(self, *args: Any, **options: Any) -> None:
        path = os.environ.get("DEMO_ACCOUNTS_FILE")
        if not path:
            raise CommandError("DEMO_ACCOUNTS_FILE names the JSON file with the demo accounts; it is not set.")
        accounts: dict[str, str] = json.loads(Path(path).read_text(encoding="utf-8"))
        people = [self._account(email, password) for email, password in accounts.items()]
        if people and not Prompt.objects.filter(owner=people[0]).exists():
            for sample in SAMPLES:
                self._prompt(people[0], sample)

    def _account(self, email: str, password: str) -> User:
        existing = User.objects.filter(email__iexact=email).first()
        return existing or create_account(email=email, password=password, tier=Tier.PRO)

    def _prompt(self, owner: User, sample: dict[str, Any]) -> None:
        fields = {name: sample[name] for name in ("name", "description", "tags")}
        prompt = services.create_prompt(owner=owner, **fields)
        services.save_version(author=owner, prompt=prompt, spec=parse(sample["spec"]), message=sample["message"])
