"""The workbench as a person uses it, for the tests."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

ENDED = re.compile("succeeded|failed|cancelled")
RUN_WITHIN_MS = 60_000


class Workbench:
    def __init__(self, page: Page) -> None:
        self.page = page

    def open(self, prompt: str, number: int | None = None, query: str = "") -> Workbench:
        self.page.goto(f"/prompts/{prompt}/" + (f"versions/{number}/" if number else "") + query)
        return self.wait()

    def wait(self) -> Workbench:
        """Until the scripts have filled the page."""
        expect(self.page.locator("[data-parameters-sentence]")).not_to_be_empty()
        expect(self.page.locator("[data-history-note]", has_text="Loading")).to_have_count(0)
        return self

    @property
    def prompt_id(self) -> str:
        found = re.search(r"/prompts/([0-9a-f-]{36})/", self.page.url)
        assert found is not None, self.page.url
        return found[1]

    def text(self, index: int = 0) -> Locator:
        """The editor of message `index`."""
        return self.page.locator('.block:not([data-role="system"]) .cm-content').nth(index)

    @property
    def system(self) -> Locator:
        return self.page.locator('.block[data-role="system"] .cm-content')

    def value(self, name: str) -> Locator:
        return self.page.get_by_label(f"Value of {name}")

    @property
    def state(self) -> Locator:
        return self.page.locator("[data-save-state]")

    @property
    def draft(self) -> Locator:
        return self.page.locator("[data-draft-state]")

    @property
    def version(self) -> Locator:
        return self.page.locator("[data-version-chip]")

    @property
    def output(self) -> Locator:
        return self.page.locator("[data-output]")

    @property
    def answer(self) -> Locator:
        return self.page.locator("[data-output-text]")

    def write(self, editor: Locator, text: str) -> None:
        editor.click()
        self.page.keyboard.press("Control+End")
        self.page.keyboard.insert_text(text)

    def save(self, message: str | None = None) -> None:
        self.page.keyboard.press("Control+s")
        field = self.page.get_by_label("What changed")
        expect(field).to_be_focused()
        if message is not None:
            field.fill(message)
        self.page.keyboard.press("Enter")
        expect(self.page.locator("#save")).to_be_hidden()

    def run_all_the_same(self) -> None:
        """From now on, agree where the page asks because a run would be refused: it asks if it has counted by then."""
        question = self.page.get_by_role("dialog", name="Run this all the same?")
        self.page.add_locator_handler(question, lambda: question.get_by_role("button", name="Run all the same").click())

    def run(self) -> None:
        self.page.keyboard.press("Control+Enter")

    def wait_for_end(self) -> str:
        """How the run ended, and its text."""
        expect(self.output).to_have_attribute("data-status", ENDED, timeout=RUN_WITHIN_MS)
        return self.answer.text_content() or ""

    @property
    def run_id(self) -> str:
        found = re.search(r"[?&]run=([0-9a-f-]{36})", self.page.url)
        assert found is not None, self.page.url
        return found[1]
