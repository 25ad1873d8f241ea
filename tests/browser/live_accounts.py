"""Accounts of the running application, made by its own code in its own database.

A command of the application takes seconds to start, and a form to be filled in, so one process is started and then
asked: a person with a session and a key costs some hundredths of a second, and a test can have people of its own.

As that process: `python -m tests.browser.live_accounts`, with the environment of the instance.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import uuid
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import StorageState

from tests.services_plugin import ROOT, Instance

#: Of every account that is made here.
PASSWORD = "correct horse battery 7"


@dataclass(frozen=True, kw_only=True)
class LiveAccount:
    """A person of the instance at `base_url`, who is signed in and has a key with every scope."""

    id: str
    email: str
    key: str
    cookie: str
    session_id: str
    base_url: str

    @property
    def session(self) -> StorageState:
        """What a browser holds after signing in."""
        host = urlsplit(self.base_url).hostname or ""
        return {
            "cookies": [
                {
                    "name": self.cookie,
                    "value": self.session_id,
                    "domain": host,
                    "path": "/",
                    "expires": -1,
                    "httpOnly": True,
                    "secure": False,
                    "sameSite": "Lax",
                }
            ],
            "origins": [],
        }


class LiveAccounts:
    """Asks the process that makes them."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.browser.live_accounts"],
            cwd=ROOT,
            env=os.environ | instance.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def create(self, name: str, *, shown_name: str = "", tier: str = "free") -> LiveAccount:
        """A new person, with an address that begins with `name`."""
        made = self._ask({"create": name, "shown_name": shown_name, "tier": tier})
        return LiveAccount(**made, base_url=self._instance.base_url)

    def execute(self, code: str) -> str:
        """What this code prints in the application's shell."""
        return str(self._ask({"execute": code}))

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _ask(self, question: dict[str, str]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the process that makes accounts has ended: see above"
        return json.loads(line)


# In that process


def main() -> None:
    import django
    from django.conf import settings

    # What else is printed, such as logs, is no answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.contrib.auth.hashers import make_password, reset_hashers

    hashed = make_password(PASSWORD)
    # create_account hashes too, and would take a third of a second each time: what it writes is replaced.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", *settings.PASSWORD_HASHERS]
    reset_hashers(setting="PASSWORD_HASHERS")
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line), hashed)) + "\n")
        answers.flush()


def answer(question: dict[str, str], hashed: str) -> dict[str, str] | str:
    from django.db import close_old_connections

    close_old_connections()
    if "execute" in question:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(question["execute"], {})
        return printed.getvalue()
    return signed_in(create(question["create"], question["shown_name"], question["tier"], hashed))


def create(name: str, shown_name: str, tier: str, hashed: str) -> str:
    """The address of a new account."""
    from accounts.models import User
    from accounts.services import create_account

    email = f"{name}-{uuid.uuid4().hex[:8]}@example.com"
    person = create_account(email=email, password=PASSWORD, name=shown_name, tier=tier)
    User.objects.filter(pk=person.pk).update(password=hashed)
    return email


def signed_in(email: str) -> dict[str, str]:
    from django.conf import settings
    from django.test import Client

    from accounts.models import User
    from accounts.services import ALL_SCOPES, create_api_key
    from tests.people import SIGN_IN_BACKEND

    person = User.objects.get(email=email)
    _, key = create_api_key(account=person, name="Test", scopes=ALL_SCOPES)
    client = Client()
    client.force_login(person, backend=SIGN_IN_BACKEND)
    cookie = settings.SESSION_COOKIE_NAME
    return {
        "id": str(person.pk),
        "email": email,
        "key": key,
        "cookie": cookie,
        "session_id": client.cookies[cookie].value,
    }


if __name__ == "__main__":
    main()
