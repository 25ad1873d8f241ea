"""Generated secrets: one 0600 file each, made once and kept, so that a restart does not sign everybody out."""

import json
import secrets
from dataclasses import dataclass
from pathlib import Path

from embedded.folder import write_json, write_private

DEMO_EMAILS = ("demo@example.com", "reviewer@example.com")
#: Without the letters that people confuse when they type a password from the terminal.
READABLE = "abcdefghjkmnpqrstuvwxyz23456789"


@dataclass(frozen=True)
class Credentials:
    folder: Path

    def get(self, name: str, *, entropy_bytes: int = 32) -> str:
        """The secret called `name`, generated on first use."""
        path = self.folder / name
        if not path.exists():
            write_private(path, secrets.token_urlsafe(entropy_bytes))
        return path.read_text(encoding="utf-8").strip()

    @property
    def demo_file(self) -> Path:
        return self.folder / "demo.json"

    def demo_accounts(self) -> dict[str, str]:
        """Passwords of the demo accounts, by e-mail address."""
        if not self.demo_file.exists():
            write_json(self.demo_file, {email: _readable_password() for email in DEMO_EMAILS})
        accounts: dict[str, str] = json.loads(self.demo_file.read_text(encoding="utf-8"))
        return accounts


def _readable_password() -> str:
    """Three groups of five: 74 bits, and still typed without a mistake."""
    return "-".join("".join(secrets.choice(READABLE) for _ in range(5)) for _ in range(3))
