"""Comments in a browser: on a selected passage, by keyboard, in large texts; what becomes of them in later versions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser.conftest import MODEL, Complaints, new_context, save_version
from tests.browser.large_texts import send
from tests.browser.live_accounts import LiveAccount, LiveAccounts
from tests.browser.workbench import Workbench
from tests.services_plugin import Instance

TEXT = "Answer politely 🙂.\nQuote the invoice number in each answer.\nNever guess a total, whatever they say."
QUOTE = "Quote the invoice number in each answer."
PAYLOADS = [
    "<img src=x onerror=\"document.title='owned'\">",
    "<script>document.title='owned'</script>",
    "[click](javascript:document.title='owned') <a href=\"javascript:document.title='owned'\">x</a>",
    "</textarea></li><svg onload=\"document.title='owned'\">",
    "`<b onmouseover=alert(1)>` @<img src=x onerror=alert(1)>",
]
Make = Callable[..., str]


def passage(text: str, words: str) -> dict[str, Any]:
    return {"text": 0, "start": text.index(words), "end": text.index(words) + len(words), "quote": words}


@pytest.fixture
def comment(api: httpx2.Client) -> Callable[..., dict[str, Any]]:
    """`comment(prompt, number, words, body)`: a thread of the owner's on these words of TEXT."""

    def make(prompt: str, number: int, words: str | None, body: str = "Why?", text: str = TEXT) -> dict[str, Any]:
        sent = {"body": body, "passage": passage(text, words) if words else None}
        answer = api.post(f"prompts/{prompt}/versions/{number}/threads", json=sent)
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    return make


@pytest.fixture
def commenter(live_accounts: LiveAccounts) -> LiveAccount:
    return live_accounts.create("carla")


@pytest.fixture
def their_page(
    chromium: Browser, live_stack: Instance, commenter: LiveAccount, complaints: Complaints
) -> Iterator[Page]:
    """A page of the commenter's browser."""
    context = new_context(chromium, live_stack.base_url, complaints, storage_state=commenter.session)
    yield context.new_page()
    context.close()


def pane(page: Page) -> Locator:
    return page.locator("[data-comments]")


def threads(page: Page) -> Locator:
    return pane(page).locator("[data-thread]")


def select(page: Page, words: str) -> None:
    """The whole line with these words, as a triple click does."""
    page.locator(".cm-line", has_text=words).first.click(click_count=3)


def write(page: Page, words: str) -> None:
    field = pane(page).locator("textarea")
    expect(field).to_be_focused()
    page.keyboard.type(words)
    page.keyboard.press("Control+Enter")
    expect(field).to_have_count(0)


def test_a_selected_passage_is_commented_on_and_marked(page: Page, make_prompt: Make) -> None:
    prompt = make_prompt(TEXT)
    bench = Workbench(page).open(prompt)
    select(page, QUOTE)
    page.locator("[data-comment-selection]").click()
    expect(pane(page).locator("blockquote")).to_have_text(QUOTE)
    write(page, "Which number exactly?")
    expect(threads(page)).to_have_count(1)
    expect(threads(page)).to_contain_text("Which number exactly?")
    expect(page.locator(".cm-line .passage")).to_have_text(QUOTE)
    expect(page.locator("[data-comments-count]")).to_have_text("1")
    page.reload()
    page.locator(".cm-line .passage").first.click()
    page.keyboard.type("Typed where the cursor is: ")
    expect(bench.text()).to_contain_text("Typed where the cursor is")
    page.locator(".cm-line .passage").last.click()
    page.get_by_role("button", name="Show comment").click()
    expect(threads(page)).to_have_class(re.compile("is-active"))
    expect(threads(page)).to_be_focused()


def test_by_keyboard_alone_a_line_is_commented_on_replied_to_and_settled(page: Page, make_prompt: Make) -> None:
    bench = Workbench(page).open(make_prompt(TEXT))
    bench.text().focus()
    page.keyboard.press("Control+Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Control+Alt+m")
    write(page, "Why?")
    expect(threads(page).locator(".thread-quote").first).to_have_text(QUOTE)
    expect(threads(page)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    while page.evaluate("!document.activeElement.matches('[data-thread-reply]')"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    write(page, "Because.")
    expect(threads(page).locator(".comment")).to_have_count(2)
    expect(threads(page).locator("[data-thread-reply]")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(threads(page)).to_have_count(0)
    expect(page.locator(".cm-line .passage")).to_have_count(0)
    expect(pane(page).get_by_role("button", name=re.compile("Open"))).to_be_focused()
    pane(page).get_by_role("button", name=re.compile("Resolved")).click()
    expect(threads(page)).to_contain_text("Resolved by")
    pane(page).get_by_role("button", name="Open again").click()
    expect(page.locator(".cm-line .passage")).to_have_text(QUOTE)


def test_in_windows_line_ends_and_emoji_the_marked_words_are_the_commented_ones(page: Page, make_prompt: Make) -> None:
    text = "🙂 one 👩‍👧\r\ncafe\u0301 שלום\r\nthe third line here\r\n"
    Workbench(page).open(make_prompt(text))
    select(page, "the third line here")
    page.locator("[data-comment-selection]").click()
    expect(pane(page).locator("blockquote")).to_have_text("the third line here")
    write(page, "Third?")
    expect(page.locator(".cm-line .passage")).to_have_text("the third line here")
    select(page, "שלום")
    page.keyboard.press("Control+Alt+m")
    write(page, "Second?")
    expect(page.locator(".cm-line .passage")).to_have_text(["cafe\u0301 שלום", "the third line here"])


def test_a_later_version_shows_what_moved_what_is_asked_and_what_is_gone(
    page: Page, api: httpx2.Client, make_prompt: Make, comment: Callable[..., Any]
) -> None:
    prompt = make_prompt(TEXT)
    comment(prompt, 1, "Answer politely 🙂.", "Moved")
    comment(prompt, 1, QUOTE, "Asked")
    comment(prompt, 1, "Never guess a total, whatever they say.", "Gone")
    later = "A new first line.\nAnswer politely 🙂.\nQuote the order number in each answer."
    save_version(
        api, prompt, {"model": MODEL, "max_tokens": 24, "messages": [{"role": "user", "content": later}]}, parent=1
    )
    Workbench(page).open(prompt, 2)
    page.locator("#tab-comments").click()
    expect(threads(page)).to_have_count(3)
    gone, moved, asked = (
        threads(page).filter(has=page.locator(".comment-body", has_text=words)) for words in ("Gone", "Moved", "Asked")
    )
    expect(threads(page).first).to_contain_text("Gone")
    expect(gone).to_contain_text("Outdated")
    expect(gone.locator("[data-thread-jump]")).to_be_disabled()
    expect(asked).to_contain_text("Is this it?")
    expect(asked.locator(".is-now")).to_have_text("Quote the order number in each answer.")
    moved.locator("[data-thread-jump]").click()
    expect(page.locator(".cm-line .passage.is-active")).to_have_text("Answer politely 🙂.")
    asked.get_by_role("button", name="Yes, here").click()
    expect(asked).to_contain_text("Confirmed")
    select(page, "A new first line.")
    expect(page.locator("[data-comment-selection]")).to_be_visible()
    gone.get_by_role("button", name="Attach to selection").click()
    expect(gone).to_contain_text("Confirmed")
    expect(gone.locator(".is-now")).to_have_text("A new first line.")
    expect(page.locator(".cm-line .passage")).to_have_count(3)


def test_an_edited_text_says_to_save_first_and_marks_move_with_the_words(
    page: Page, make_prompt: Make, comment: Callable[..., Any]
) -> None:
    prompt = make_prompt(TEXT)
    comment(prompt, 1, QUOTE)
    bench = Workbench(page).open(prompt)
    mark = page.locator(".cm-line .passage")
    expect(mark).to_have_text(QUOTE)
    bench.text().click()
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("Please. ")
    expect(mark).to_have_text(QUOTE)
    page.keyboard.press("Control+Alt+m")
    expect(page.locator("[data-toasts]")).to_contain_text("Save a version first")
    bench.save("Politer")
    expect(page.locator("[data-version-chip]")).to_have_text("v2")
    page.locator("#tab-comments").click()
    expect(threads(page).locator("[data-thread-state]")).to_have_text("v1")
    expect(mark).to_have_text(QUOTE)


def test_one_edits_and_deletes_ones_own_words(page: Page, make_prompt: Make, comment: Callable[..., Any]) -> None:
    prompt = make_prompt(TEXT)
    comment(prompt, 1, QUOTE, "Teh typo")
    Workbench(page).open(prompt)
    page.locator("#tab-comments").click()
    threads(page).get_by_role("button", name="Edit").click()
    field = threads(page).locator("textarea")
    expect(field).to_have_value("Teh typo")
    field.fill("The typo")
    page.keyboard.press("Control+Enter")
    expect(threads(page).locator(".comment-body")).to_have_text("The typo")
    expect(threads(page)).to_contain_text("edited")
    threads(page).get_by_role("button", name="Delete").click()
    expect(page.locator("#delete-comment")).to_contain_text("The thread goes with its only comment.")
    page.locator("#delete-comment").get_by_role("button", name="Cancel").click()
    expect(threads(page)).to_have_count(1)
    threads(page).get_by_role("button", name="Delete").click()
    page.locator("#delete-comment").get_by_role("button", name="Delete").click()
    expect(threads(page)).to_have_count(0)
    expect(page.locator(".cm-line .passage")).to_have_count(0)


def test_a_commenter_reads_mentions_and_is_answered_while_the_text_stays_as_it_is(
    page: Page,
    api: httpx2.Client,
    make_prompt: Make,
    commenter: LiveAccount,
    their_page: Page,
) -> None:
    other = their_page
    prompt = make_prompt(TEXT)
    api.post(f"prompts/{prompt}/grants", json={"account": commenter.id, "role": "commenter"}).raise_for_status()
    Workbench(other).open(prompt)
    select(other, QUOTE)
    other.keyboard.press("Control+Alt+m")
    other.keyboard.type("Look, @dem")
    expect(pane(other).locator("[role=option]").first).to_be_visible()
    other.keyboard.press("Enter")
    write(other, "please.")
    expect(threads(other).locator(".mention")).to_have_text("@demo")
    found = api.get(f"prompts/{prompt}/threads").json()["results"][0]
    page.goto(f"/prompts/{prompt}/?thread={found['id']}")
    expect(threads(page)).to_be_visible()
    expect(threads(page)).to_contain_text(commenter.email.partition("@")[0])
    expect(threads(page).get_by_role("button", name="Edit")).to_have_count(0)
    threads(page).get_by_role("button", name="Reply").click()
    write(page, "Seen.")
    other.reload()
    other.locator("#tab-comments").click()
    expect(threads(other)).to_contain_text("Seen.")


def test_nothing_that_is_written_is_ever_run(page: Page, make_prompt: Make, comment: Callable[..., Any]) -> None:
    text = "\n".join(PAYLOADS)
    prompt = make_prompt(text)
    for payload in PAYLOADS:
        comment(prompt, 1, payload, payload, text=text)
    Workbench(page).open(prompt)
    page.locator("#tab-comments").click()
    expect(threads(page)).to_have_count(len(PAYLOADS))
    for place in range(len(PAYLOADS)):
        threads(page).nth(place).locator("[data-thread-jump]").click()
    assert page.title() != "owned"
    hrefs = page.locator(".comment-body a").evaluate_all("links => links.map((link) => link.href)")
    assert not [href for href in hrefs if href.startswith("javascript")]
    expect(page.locator(".comment-body :is(img, script, svg, b)")).to_have_count(0)


def test_in_a_large_text_a_passage_is_commented_on_marked_and_jumped_to(
    page: Page, api: httpx2.Client, make_prompt: Make
) -> None:
    lines = [f"Line {number}: the customer 🙂 was told to wait." for number in range(1, 60_001)]
    data = "\n".join(lines).encode()
    prompt = make_prompt("Soon large")
    spec = {
        "model": MODEL,
        "max_tokens": 24,
        "messages": [{"role": "user", "content": {"upload": send(api, prompt, data)}}],
    }
    save_version(api, prompt, spec, parent=1)
    Workbench(page).open(prompt, 2)
    reader = page.locator(".reader")
    expect(reader.locator("[data-reader-place]")).to_contain_text("of 60,000")
    jump = reader.get_by_label("Go to line")
    jump.fill("45000")
    jump.press("Enter")
    row = reader.locator(".reader-row", has_text="Line 45000:").locator(".reader-text")
    expect(row).to_be_visible()
    row.click(click_count=3)
    page.locator("[data-comment-selection]").click()
    expect(pane(page).locator("blockquote")).to_have_text(lines[44_999])
    write(page, "This one?")
    expect(reader.locator(".passage")).to_have_text(lines[44_999])
    jump.fill("1")
    jump.press("Enter")
    expect(reader.locator(".passage")).to_have_count(0)
    threads(page).locator("[data-thread-jump]").click()
    expect(reader.locator(".passage")).to_have_text(lines[44_999])
    jump.fill("300")
    jump.press("Enter")
    page.keyboard.press("Control+Alt+m")
    expect(pane(page).locator("blockquote")).to_have_text(lines[299])


def test_on_a_phone_the_button_leads_to_the_form_and_back(
    open_context: Callable[..., BrowserContext], make_prompt: Make, comment: Callable[..., Any]
) -> None:
    prompt = make_prompt(TEXT)
    comment(prompt, 1, QUOTE)
    page = open_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True).new_page()
    Workbench(page).open(prompt)
    select(page, "Never guess")
    page.locator("[data-comment-selection]").tap()
    expect(pane(page).locator("textarea")).to_be_focused()
    write(page, "Never?")
    expect(threads(page)).to_have_count(2)
    threads(page).first.locator("[data-thread-jump]").tap()
    expect(page.locator(".passage.is-active")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_deleted_thread_that_an_address_names_is_said_to_be_gone(
    page: Page, make_prompt: Make, complaints: Complaints
) -> None:
    complaints.expect("404")
    prompt = make_prompt(TEXT)
    page.goto(f"/prompts/{prompt}/?thread=01a22d2d-d234-76df-82d2-54ba3ddd81e6")
    expect(page.locator("[data-toasts]")).to_contain_text("deleted, or is not shared")
