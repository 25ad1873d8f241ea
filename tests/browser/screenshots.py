"""`make screenshots`: the pictures of docs/tour.md, taken from the running application with its own model.

Starts everything in a temporary folder, fills it through the API as a team would have, and looks at each page.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

from benchmarks.thin_path import ROOT, Application, running_application
from tests.browser.conftest import ARGUMENTS, WITHIN_MS, find_chromium, sign_in

IMAGES = ROOT / "docs" / "images"
DESK: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
ENDED_WITHIN_S = 180
SYSTEM = """You answer letters of customers of a ferry line.

- Be {{tone}} and short.
- Never promise a refund; say who decides about it.
- Answer in the language of the letter."""
LETTER = "Write a reply to this letter:\n\n<letter>\n{{letter}}\n</letter>"
LETTERS = [
    "My ferry to Oban was cancelled. What happens to my ticket?",
    "Puis-je emmener mon chien à bord ?",
    "The crossing was wonderful, thank you!",
    "אפשר לשנות את שעת ההפלגה?",
]


class Team:
    """What a team has in its playground after a while."""

    def __init__(self, application: Application) -> None:
        self._http = application.http
        self._key = application.api
        self._model = application.model
        self.prompt = self._prompt("Replies to customers", folder="Support", tags=["letters", "live"])
        for name, folder in (
            ("Summary of a crossing", "Reports"),
            ("Tone of voice", "Support"),
            ("Weather → warning", ""),
        ):
            self._version(self._prompt(name, folder=folder), self._spec("You help."), "First")
        self._history()
        self.run = self._run()
        self.comparison = self._comparison()
        self.batch, self.dataset = self._batch()
        self.call("POST", f"prompts/{self.prompt}/links", {"audience": "public", "target": {"label": "production"}})

    def talk(self, colleague: str) -> str:
        """A conversation about a version with the person of this API key: its address."""
        theirs = {"Authorization": f"Bearer {colleague}"}
        person = self.call("GET", "me", key=theirs)
        self.call("POST", f"prompts/{self.prompt}/grants", {"account": person["email"], "role": "editor"})
        conversation = self.call("POST", "chat/conversations", {"person": person["id"]})["id"]
        version = self.call("GET", f"prompts/{self.prompt}/versions/staging")["id"]
        for key, body, reference in (
            (self._key, "Morning! Could you look at the longer replies before they go live?", None),
            (theirs, "Sure. Which version is it?", None),
            (self._key, "This one:", {"kind": "version", "id": version}),
            (theirs, "Nice. It still says refund in one of the twelve test letters, see `row 4`.", None),
            (self._key, "Right, the branch `without-refunds` has the stricter rule. I will merge it 👍", None),
        ):
            sent = {"client_msg_id": str(uuid.uuid4()), "body": body, **({"reference": reference} if reference else {})}
            self.call("POST", f"chat/conversations/{conversation}/messages", sent, key=key)
        return f"/chat/{conversation}/"

    def call(
        self, method: str, path: str, body: dict[str, Any] | None = None, key: dict[str, str] | None = None
    ) -> Any:
        answer = self._http.request(method, f"/api/v1/{path}", json=body, headers=key or self._key)
        if answer.is_error:
            raise SystemExit(f"{method} {path}: {answer.status_code} {answer.text[:500]}")
        return answer.json() if answer.content else None

    def _prompt(self, name: str, **fields: Any) -> str:
        return str(self.call("POST", "prompts", {"name": name, **fields})["id"])

    def _spec(self, system: str, letter: str = LETTER, **fields: Any) -> dict[str, Any]:
        return {
            "model": self._model,
            "max_tokens": 80,
            "temperature": 0.2,
            "system": system,
            "messages": [{"role": "user", "content": letter}],
            **fields,
        }

    def _version(self, prompt: str, spec: dict[str, Any], message: str, **fields: Any) -> int:
        saved = self.call("POST", f"prompts/{prompt}/versions", {"spec": spec, "message": message, **fields})
        return int(saved["number"])

    def _history(self) -> None:
        cards = [
            {"name": "tone", "type": "text", "default": "friendly", "description": "How the reply sounds"},
            {"name": "letter", "type": "text", "description": "The customer's letter"},
        ]
        short = SYSTEM.replace(" and short", "")
        first = self._version(self.prompt, self._spec(short), "First draft")
        second = self._version(self.prompt, self._spec(SYSTEM, variables=cards), "Short replies", parent=first)
        third = self._version(
            self.prompt,
            self._spec(SYSTEM.replace("friendly", "formal"), variables=cards, max_tokens=120),
            "Room for longer letters",
            parent=second,
        )
        self.call("POST", f"prompts/{self.prompt}/branches", {"name": "without-refunds", "at": second})
        strict = SYSTEM.replace("say who decides about it", "refunds are not mentioned at all")
        self._version(
            self.prompt,
            self._spec(strict, variables=cards),
            "Refunds are not mentioned",
            parent=second,
            branch="without-refunds",
        )
        self._version(
            self.prompt,
            self._spec(SYSTEM, LETTER + "\n\nSign as the ferry line.", variables=cards),
            "Signed by the line",
            parent=third,
        )
        for label, number in (("production", second), ("staging", third)):
            self.call("PUT", f"prompts/{self.prompt}/labels/{label}", {"version": number})

    def _run(self) -> str:
        values = {"tone": "warm", "letter": LETTERS[0]}
        run = self.call("POST", f"prompts/{self.prompt}/versions/production/runs", {"variables": values, "wait_s": 120})
        return str(run["id"])

    def _comparison(self) -> str:
        body = {
            "columns": [{"version": 2}, {"version": 4}, {"version": 5, "parameters": {"temperature": 0.9}}],
            "variables": {"tone": "calm", "letter": LETTERS[1]},
            "repetitions": 3,
        }
        made = self.call("POST", f"prompts/{self.prompt}/comparisons", body)
        runs = {"succeeded", "failed", "cancelled"}
        self._until(
            f"comparisons/{made['id']}",
            lambda shown: all(run["status"] in runs for column in shown["columns"] for run in column["runs"]),
        )
        return str(made["id"])

    def _batch(self) -> tuple[str, str]:
        rows = [{"values": {"tone": "friendly", "letter": letter}, "expected": "Dear"} for letter in LETTERS * 3]
        dataset = self.call("POST", f"prompts/{self.prompt}/datasets", {"name": "Letters of last week", "rows": rows})
        checks = [
            {"kind": "not_contains", "text": "refund", "ignore_case": True},
            {"kind": "contains", "text": "{{expected}}"},
            {"kind": "similarity", "threshold": 0.2},
        ]
        body = {
            "dataset": dataset["id"],
            "versions": ["production", 4],
            "checks": checks,
            "parameters": {"max_tokens": 40},
        }
        batch = self.call("POST", f"prompts/{self.prompt}/batches", body)
        self._until(f"batches/{batch['id']}", lambda shown: shown["state"] == "finished")
        return str(batch["id"]), str(dataset["id"])

    def _until(self, path: str, is_over: Callable[[Any], bool]) -> None:
        give_up = time.monotonic() + ENDED_WITHIN_S
        while not is_over(self.call("GET", path)):
            if time.monotonic() > give_up:
                raise SystemExit(f"{path} is not over after {ENDED_WITHIN_S} s")
            time.sleep(1)


def take(page: Page, name: str) -> None:
    page.wait_for_timeout(600)
    page.screenshot(path=IMAGES / f"{name}.png")


def show_desk(page: Page, team: Team) -> None:
    prompt = f"/prompts/{team.prompt}"
    page.goto("/")
    take(page, "library")
    page.goto(f"{prompt}/versions/2/?run={team.run}")
    expect(page.locator("[data-output]")).to_have_attribute("data-status", "succeeded")
    take(page, "workbench")
    page.get_by_role("button", name="Get code").click()
    expect(page.locator("[data-code-proof]")).to_be_visible()
    take(page, "code")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("pro")
    expect(page.locator("[data-palette-note]")).to_contain_text("result")
    take(page, "palette")
    page.keyboard.press("Escape")
    page.locator("[data-share-button]").click()
    expect(page.locator("dialog[open]")).to_be_visible()
    take(page, "share")
    page.goto(f"{prompt}/compare/?from=2&to=4")
    take(page, "compare")
    page.goto(f"{prompt}/columns/{team.comparison}/")
    page.wait_for_timeout(1500)
    take(page, "columns")
    page.goto(f"{prompt}/tests/{team.dataset}/")
    take(page, "test-cases")
    page.goto(f"{prompt}/batches/{team.batch}/")
    page.wait_for_timeout(1500)
    take(page, "batch")
    page.goto("/runs/?kind=single")
    take(page, "runs")


def show_chat(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("html[data-chat='live']")).to_have_count(1)
    expect(page.locator("[data-message] [data-card]")).to_contain_text("Room for longer letters")
    take(page, "chat")


def show_more(dark: Page, phone: Page, team: Team) -> None:
    address = f"/prompts/{team.prompt}/versions/2/?run={team.run}"
    for page, name in ((dark, "workbench-dark"), (phone, "workbench-phone")):
        page.goto(address)
        expect(page.locator("[data-output]")).to_have_attribute("data-status", "succeeded")
        take(page, name)


@contextmanager
def browser() -> Iterator[Browser]:
    path = find_chromium()
    if path is None:
        raise SystemExit("no Chromium on the path: install one (Debian: apt-get install chromium) or set CHROMIUM")
    expect.set_options(timeout=WITHIN_MS)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield opened
        opened.close()


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    with running_application() as data, browser() as chromium:
        application = Application(data)
        team = Team(application)
        url = application.environment["PUBLIC_URL"]
        accounts = read_accounts(data)
        desk = chromium.new_context(base_url=url, color_scheme="light", **DESK)
        desk.set_default_timeout(WITHIN_MS)
        page = desk.new_page()
        first, second = list(accounts)[:2]
        sign_in(page, first, accounts[first])
        show_desk(page, team)
        show_chat(page, team.talk(application.new_key(second)))
        state = desk.storage_state()
        dark = chromium.new_context(base_url=url, color_scheme="dark", storage_state=state, **DESK).new_page()
        phone = chromium.new_context(base_url=url, storage_state=state, **PHONE).new_page()
        show_more(dark, phone, team)


def read_accounts(data: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((data / "secrets" / "demo.json").read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    main()
