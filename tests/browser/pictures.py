"""Pictures of pages, for people to look at: kept beside the results of the tests."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Error, Page

PICTURES = Path(__file__).resolve().parent.parent.parent / "test-results" / "pictures"
TRIES = 3


def take_picture(page: Page, name: str, *, full_page: bool = False) -> None:
    """Store what `page` shows as `name`.png.

    Chromium without a GPU sometimes answers "Unable to capture screenshot" while its compositor has no frame to give.
    That says nothing about the page, so it is asked again; any other error, and the third refusal, is raised.
    """
    PICTURES.mkdir(parents=True, exist_ok=True)
    for tries_left in reversed(range(TRIES)):
        try:
            page.screenshot(path=PICTURES / f"{name}.png", full_page=full_page)
        except Error as error:
            if not tries_left or "Unable to capture screenshot" not in str(error):
                raise
            page.wait_for_timeout(500)
        else:
            return
