"""The page of a link as whoever came by it sees it, and the Share dialog as whoever made it uses it."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.waiting import wait_until

OPENED = re.compile(r"/s/open/[0-9a-f-]{36}/")
#: The bound that is promised, and some for a busy machine.
ENDS_WITHIN_MS = 60_000


class SharedPage:
    def __init__(self, page: Page) -> None:
        self.page = page

    def open(self, url: str, *, password: str = "") -> SharedPage:
        self.page.goto(url)
        if password:
            self.page.get_by_label("Password of this link").fill(password)
        self.page.get_by_role("button", name="Open the prompt").click()
        self.page.wait_for_url(OPENED)
        return self

    @property
    def text(self) -> Locator:
        return self.page.locator(".doc-text")

    @property
    def ended(self) -> Locator:
        return self.page.locator("[data-shared-ended]")

    def wait_for_end(self) -> None:
        expect(self.ended).to_be_visible(timeout=ENDS_WITHIN_MS)
        expect(self.page.get_by_role("heading", name="Access has ended")).to_be_visible()


class ShareDialog:
    def __init__(self, page: Page) -> None:
        self.page = page
        self.dialog = page.locator("[data-share-dialog]")

    def open(self) -> ShareDialog:
        self.page.locator("[data-share-button]").click()
        return self.wait()

    def wait(self) -> ShareDialog:
        expect(self.dialog.locator("[data-share-content]")).to_be_visible()
        return self

    def wait_for_code(self) -> None:
        """Until the QR code is drawn. Not by a script in the page: its policy lets none be made from text."""
        picture = self.dialog.locator("[data-new-link-code] img")
        wait_until(lambda: picture.evaluate("image => image.naturalWidth") > 100, every_s=0.1)

    @property
    def sentence(self) -> Locator:
        return self.dialog.locator("[data-share-sentence]")

    @property
    def links(self) -> Locator:
        return self.dialog.locator("[data-link]")

    @property
    def people(self) -> Locator:
        return self.dialog.locator("[data-grant]")

    @property
    def url(self) -> str:
        field = self.dialog.locator("[data-new-link-url]")
        expect(field).to_be_visible()
        return field.input_value()

    def make_link(self, **options: str) -> str:
        """`audience`, `target`, `password`, `views`, `note` by their words; answers the address, shown once."""
        self.dialog.get_by_role("tab", name="A link").click()
        if "audience" in options:
            self.dialog.get_by_label("For", exact=True).select_option(label=options["audience"])
        if "target" in options:
            self.dialog.get_by_label("Shows", exact=True).select_option(options["target"])
        fields = {"password": "#share-password", "views": "#share-views", "note": "#share-note"}
        if fields.keys() & options.keys() or options.get("history"):
            self.dialog.get_by_text("Password, limits, note").click()
        for name, field in fields.items():
            if name in options:
                self.dialog.locator(field).fill(options[name])
        if options.get("history"):
            self.dialog.get_by_label("Also show the history").check()
        self.dialog.get_by_role("button", name="Make link").click()
        return self.url

    def add_person(self, email: str, role: str = "view") -> None:
        self.dialog.get_by_role("tab", name="A person").click()
        self.dialog.get_by_label("E-mail address").fill(email)
        self.dialog.get_by_label("May", exact=True).select_option(label=role)
        self.dialog.get_by_role("button", name="Add", exact=True).click()
        expect(self.people.filter(has_text=email)).to_have_count(1)

    def confirm_revocation(self) -> str:
        """Confirms the dialog that asks, and answers what it says afterwards."""
        asked = self.page.locator("[data-revoke-access]")
        expect(asked).to_contain_text("Open tabs stop within 30 seconds; what was already copied stays copied.")
        asked.locator("[data-revoke-confirm]").click()
        moment = asked.locator("[data-revoke-moment]")
        expect(moment).to_be_visible()
        said = moment.inner_text()
        asked.get_by_role("button", name="Done").click()
        return said
