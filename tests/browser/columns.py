"""The page of columns as a person uses it, for the tests."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

RUN_WITHIN_MS = 90_000
OVER = re.compile("succeeded|failed|cancelled")


class Columns:
    def __init__(self, page: Page) -> None:
        self.page = page

    def open(self, prompt: str, *, versions: str = "", comparison: str = "") -> Columns:
        query = f"?versions={versions}" if versions else ""
        self.page.goto(f"/prompts/{prompt}/columns/{f'{comparison}/' if comparison else ''}{query}")
        return self.wait()

    def wait(self) -> Columns:
        """Until every column has read its version."""
        for index in range(self.page.locator(".column").count() or 2):
            expect(self.page.locator(".column").nth(index).locator("[data-column-sentence]")).not_to_be_empty()
        return self

    def column(self, letter: str) -> Locator:
        return self.page.get_by_role("region", name=f"Column {letter}")

    def state(self, letter: str) -> Locator:
        return self.column(letter).locator("[data-column-state]")

    def answer(self, letter: str) -> Locator:
        return self.column(letter).locator("[data-column-answer]")

    def field(self, letter: str, name: str) -> Locator:
        settings = self.column(letter).locator("[data-column-settings]")
        if settings.get_attribute("open") is None:
            settings.locator("summary").click()
        return settings.get_by_label(name, exact=True)

    @property
    def board(self) -> Locator:
        return self.page.locator("[data-board-state]")

    def wait_for_end(self) -> None:
        expect(self.board).to_have_attribute("data-state", OVER, timeout=RUN_WITHIN_MS)

    @property
    def comparison_id(self) -> str:
        found = re.search(r"/columns/([0-9a-f-]{36})/", self.page.url)
        assert found is not None, self.page.url
        return found[1]
