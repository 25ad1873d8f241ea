"""Links, from making one to its end: for somebody without an account, and for whoever gave it to them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx2
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.accessibility import serious_violations
from tests.browser.conftest import MODEL, Complaints, save_version
from tests.browser.large_texts import MB, many_lines, send
from tests.browser.sharing.shared_page import ENDS_WITHIN_MS, ShareDialog, SharedPage
from tests.browser.workbench import Workbench

Visit = Callable[..., SharedPage]
Named = Callable[..., tuple[str, str]]


def share(page: Page, prompt: str) -> ShareDialog:
    Workbench(page).open(prompt)
    return ShareDialog(page).open()


def test_a_link_is_made_opened_and_revoked_and_the_open_page_ends(page: Page, visit: Visit, named: Named) -> None:
    prompt, name = named("Shared", "Say hello to {{name}}, please.")
    dialog = share(page, prompt)
    url = dialog.make_link(note="For the <b>team</b>")
    assert re.search(r"/s/psl_[A-Za-z0-9_-]{43}$", url)
    expect(dialog.links).to_contain_text("version 1, frozen for ever")
    expect(dialog.links).to_contain_text("For the <b>team</b>")
    expect(dialog.sentence).to_have_text("1 public link can read version 1.")
    dialog.dialog.get_by_role("button", name="QR code").click()
    picture = dialog.dialog.get_by_alt_text("QR code of the address")
    expect(picture).to_have_attribute("src", re.compile(r"^data:image/svg\+xml,"))
    dialog.wait_for_code()

    guest = visit(url)
    assert url.rpartition("/")[2] not in guest.page.url
    expect(guest.page.get_by_role("heading", name=name)).to_be_visible()
    expect(guest.text).to_have_text("Say hello to {{name}}, please.")
    expect(guest.page.get_by_text("Frozen for ever")).to_be_visible()
    guest.page.get_by_text("Show the call").click()
    expect(guest.page.locator("[data-snippet-text]")).to_contain_text("ANTHROPIC_API_KEY")

    dialog.links.get_by_role("button", name="Revoke").click()
    assert dialog.confirm_revocation().startswith("Took effect at ")
    guest.wait_for_end()
    assert "please" not in guest.page.content()
    assert serious_violations(guest.page) == []
    expect(dialog.links).to_have_count(0)
    expect(dialog.sentence).to_have_text("Only its owner can read version 1.")
    guest.page.reload()
    expect(guest.page.get_by_role("heading", name="Nothing at this address")).to_be_visible()


def test_the_badge_appears_and_the_address_is_never_shown_again(page: Page, named: Named) -> None:
    prompt, name = named("Badge")
    dialog = share(page, prompt)
    url = dialog.make_link()
    dialog.dialog.get_by_role("button", name="Done").click()
    expect(page.locator("[data-share-badge]")).to_contain_text("Public")
    ShareDialog(page).open()
    assert url.rpartition("/")[2] not in page.content()
    page.goto(f"/?q={name}")
    expect(page.locator("[data-prompt] [data-share-badge]")).to_have_attribute("title", "Shared: 1 public link")


def test_a_link_with_a_password_and_a_limit_lets_in_who_has_both(
    page: Page, visit: Visit, named: Named, open_context: Callable[..., BrowserContext]
) -> None:
    prompt, _ = named("Guarded")
    dialog = share(page, prompt)
    url = dialog.make_link(password="open sesame", views="1")
    expect(dialog.links).to_contain_text("password")
    expect(dialog.links).to_contain_text("0 of 1 views")
    visit(url, password="open sesame")
    late = open_context(signed_in=False).new_page()
    late.goto(url)
    expect(late.get_by_role("heading", name="Nothing at this address")).to_be_visible()
    dialog.dialog.get_by_role("button", name="Done").click()
    ShareDialog(page).open()
    expect(dialog.links).to_contain_text("1 of 1 views")
    expect(dialog.links).to_contain_text("Views used up")


def test_a_wrong_password_is_said_and_the_right_one_opens(page: Page, visit: Visit, named: Named) -> None:
    prompt, _ = named("Guarded twice")
    url = share(page, prompt).make_link(password="open sesame")
    guest = visit(url, password="open sesame").page
    guest.goto(url)
    guest.get_by_label("Password of this link").fill("guess")
    guest.keyboard.press("Enter")
    expect(guest.get_by_role("alert")).to_contain_text("This is not the password of the link.")
    expect(guest.get_by_label("Password of this link")).to_be_focused()


def test_a_link_gets_a_new_address_and_the_old_one_ends(page: Page, visit: Visit, named: Named) -> None:
    prompt, _ = named("Rotated")
    dialog = share(page, prompt)
    old = dialog.make_link()
    guest = visit(old)
    dialog.links.get_by_role("button", name="New address").click()
    dialog.confirm_revocation()
    new = dialog.url
    assert new != old
    guest.wait_for_end()
    guest.page.goto(old)
    expect(guest.page.get_by_role("heading", name="Nothing at this address")).to_be_visible()
    expect(visit(new).text).to_have_text("Say hello to {{name}}.")


def test_a_link_is_narrowed_to_people_who_are_signed_in(
    page: Page, visit: Visit, friend_page: Page, named: Named
) -> None:
    prompt, _ = named("Narrowed")
    dialog = share(page, prompt)
    url = dialog.make_link()
    guest = visit(url)
    dialog.links.get_by_role("button", name="Change").click()
    dialog.links.get_by_label("Only for people who are signed in").check()
    dialog.links.get_by_label("Ends", exact=True).select_option(label="In 7 days")
    expect(dialog.links.get_by_role("status")).to_contain_text("Until ")
    dialog.links.get_by_role("button", name="Save").click()
    expect(dialog.links).to_contain_text("Signed-in people with the link")
    expect(dialog.links).to_contain_text("until ")
    guest.wait_for_end()
    expect(SharedPage(friend_page).open(url).text).to_have_text("Say hello to {{name}}.")


def test_a_following_link_says_so_and_tells_of_a_newer_version(
    page: Page, visit: Visit, named: Named, api: httpx2.Client
) -> None:
    prompt, _ = named("Followed")
    dialog = share(page, prompt)
    guest = visit(dialog.make_link(target="branch:main", history="yes"))
    expect(guest.page.locator(".doc-facts")).to_contain_text("Follows main")
    spec = {"model": MODEL, "max_tokens": 24, "messages": [{"role": "user", "content": "Say goodbye."}]}
    save_version(api, prompt, spec, parent=1, message="A farewell")
    told = guest.page.locator("[data-shared-notices]")
    expect(told).to_contain_text("This link shows version 2 now", timeout=60_000)
    told.get_by_role("button", name="Show version 2").click()
    expect(guest.text).to_have_text("Say goodbye.")
    guest.page.locator(".doc-history").get_by_role("link", name="v1").click()
    expect(guest.text).to_have_text("Say hello to {{name}}.")
    expect(guest.page.get_by_text("Earlier version")).to_be_visible()


def test_a_large_text_is_read_and_searched_in_a_window(
    page: Page, visit: Visit, named: Named, api: httpx2.Client
) -> None:
    prompt, _ = named("Large")
    upload = send(api, prompt, many_lines(2 * MB))
    spec = {"model": MODEL, "max_tokens": 24, "messages": [{"role": "user", "content": {"upload": upload}}]}
    save_version(api, prompt, spec, parent=1)
    guest = visit(share(page, prompt).make_link(target="version:2")).page
    expect(guest.locator("[data-reader-place]")).to_contain_text("of 2")
    guest.get_by_label("Search in this text").fill("20000: a line")
    expect(guest.locator("[data-reader-found]")).to_contain_text("1 of ")


def test_a_fork_asks_to_sign_in_and_comes_back(page: Page, visit: Visit, named: Named, friend: tuple[str, str]) -> None:
    prompt, name = named("Forked")
    guest = visit(share(page, prompt).make_link()).page
    guest.get_by_role("link", name="Fork").click()
    guest.get_by_label("Email").fill(friend[0])
    guest.get_by_label("Password").fill(friend[1])
    guest.get_by_role("button", name="Sign in").click()
    expect(guest.get_by_label("Name", exact=True)).to_have_value(name)
    guest.get_by_role("button", name="Fork it").click()
    bench = Workbench(guest).wait()
    expect(bench.text()).to_contain_text("Say hello to {{name}}.")
    assert bench.prompt_id != prompt


def test_a_link_for_people_with_an_account_opens_after_signing_in(
    page: Page,
    named: Named,
    friend: tuple[str, str],
    open_context: Callable[..., BrowserContext],
    complaints: Complaints,
) -> None:
    complaints.expect(r"/s/.*status of 404")
    prompt, _ = named("Signed in")
    url = share(page, prompt).make_link(audience="Who has it and is signed in")
    guest = open_context(signed_in=False).new_page()
    guest.goto(url)
    expect(guest.get_by_role("heading", name="Nothing at this address")).to_be_visible()
    guest.get_by_role("link", name="Sign in and try again").click()
    guest.get_by_label("Email").fill(friend[0])
    guest.get_by_label("Password").fill(friend[1])
    guest.get_by_role("button", name="Sign in").click()
    guest.get_by_role("button", name="Open the prompt").click()
    expect(SharedPage(guest).text).to_have_text("Say hello to {{name}}.")


def test_the_page_is_covered_while_the_server_cannot_be_asked(
    page: Page, visit: Visit, named: Named, complaints: Complaints
) -> None:
    prompt, _ = named("Covered")
    guest = visit(share(page, prompt).make_link())
    complaints.expect(r"ERR_INTERNET_DISCONNECTED|ERR_FAILED|WebSocket")
    guest.page.clock.install()
    guest.page.reload()
    expect(guest.text).to_be_visible()
    guest.page.context.set_offline(offline=True)
    guest.page.clock.run_for(45_000)
    expect(guest.page.get_by_role("heading", name="The server does not answer")).to_be_visible()
    expect(guest.text).to_be_hidden()
    guest.page.clock.resume()
    assert serious_violations(guest.page) == []
    guest.page.context.set_offline(offline=False)
    # By itself, with the next question.
    expect(guest.text).to_be_visible(timeout=ENDS_WITHIN_MS)


def test_the_dialog_is_used_by_keyboard_alone(page: Page, named: Named) -> None:
    prompt, _ = named("Keyboard")
    Workbench(page).open(prompt)
    page.keyboard.press("Alt+s")
    dialog = ShareDialog(page).wait()
    expect(dialog.dialog.get_by_label("E-mail address")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(dialog.dialog.get_by_role("tab", name="A person")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    expect(dialog.dialog.get_by_label("For", exact=True)).to_be_focused()
    for _ in range(2):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert "/s/psl_" in dialog.url
    expect(dialog.dialog.locator("[data-new-link-url]")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog.dialog).to_be_hidden()


def test_a_row_of_the_library_opens_the_dialog(page: Page, named: Named) -> None:
    _, name = named("From the list")
    page.goto(f"/?q={name}")
    page.get_by_role("button", name=f"Actions for {name}").click()
    page.get_by_role("menuitem", name="Share").click()
    ShareDialog(page).wait().make_link()
    page.locator("[data-share-dialog]").get_by_role("button", name="Done").click()
    expect(page.locator("[data-prompt] [data-share-badge]")).to_contain_text("Public")


def test_all_shares_are_on_one_page_and_each_can_be_revoked(page: Page, visit: Visit, named: Named) -> None:
    prompt, name = named("Listed")
    guest = visit(share(page, prompt).make_link())
    page.goto("/shares/")
    group: Any = page.locator(f"[data-shares-of='{prompt}']")
    expect(group).to_contain_text(name)
    expect(group).to_contain_text("last used")
    group.get_by_role("button", name="Revoke", exact=True).click()
    ShareDialog(page).confirm_revocation()
    expect(group).to_have_count(0)
    guest.wait_for_end()
