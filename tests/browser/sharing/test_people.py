"""Sharing with people by name: what each role may do, how it changes and ends, in two browsers."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
from playwright.sync_api import Page, expect

from tests.browser.conftest import Complaints
from tests.browser.sharing.shared_page import ENDS_WITHIN_MS, ShareDialog
from tests.browser.workbench import Workbench

Named = Callable[..., tuple[str, str]]


def grant(api: httpx2.Client, prompt: str, email: str, role: str, **fields: object) -> str:
    answer = api.post(f"prompts/{prompt}/grants", json={"account": email, "role": role, **fields})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def test_a_viewer_is_told_and_reads_without_changing_anything(
    page: Page, friend_page: Page, friend: tuple[str, str], named: Named
) -> None:
    prompt, name = named("Shown")
    Workbench(page).open(prompt)
    dialog = ShareDialog(page).open()
    dialog.add_person(friend[0])
    expect(dialog.sentence).to_have_text("1 person can read version 1.")

    friend_page.goto("/")
    expect(friend_page.locator("[data-news-unread]")).to_be_visible()
    friend_page.get_by_role("link", name="Inbox").click()
    told = friend_page.get_by_role("link", name=f"shared with you “{name}”")
    expect(told).to_be_visible()
    told.click()
    bench = Workbench(friend_page).wait()
    expect(friend_page.get_by_text("Read only", exact=True)).to_be_visible()
    expect(friend_page.locator("[data-share-badge]")).to_contain_text("Viewer")
    for button in ("Save", "Run", "Share", "Add message", "Undo"):
        expect(friend_page.get_by_role("button", name=button, exact=True)).to_be_hidden()
    bench.text().click()
    friend_page.keyboard.type("not mine to change")
    expect(bench.text()).to_have_text("Say hello to {{name}}.")
    friend_page.keyboard.press("Control+s")
    expect(friend_page.locator("#save")).to_be_hidden()
    friend_page.goto("/")
    expect(friend_page.locator("[data-shared-row]", has_text=name)).to_contain_text("Viewer")


def test_an_open_prompt_is_covered_when_access_is_taken_away(
    page: Page,
    friend_page: Page,
    friend: tuple[str, str],
    named: Named,
    api: httpx2.Client,
    complaints: Complaints,
) -> None:
    complaints.expect(r"/access: .*status of 404")
    complaints.expect(r"status of 404")
    prompt, _ = named("Taken back")
    grant(api, prompt, friend[0], "editor")
    bench = Workbench(friend_page).open(prompt)
    bench.write(bench.text(), " And something that is not saved.")
    expect(bench.state).to_have_text("Unsaved")
    Workbench(page).open(prompt)
    dialog = ShareDialog(page).open()
    dialog.people.get_by_role("button", name="Remove").click()
    assert dialog.confirm_revocation().startswith("Took effect at ")
    ended = friend_page.locator("[data-access-ended]")
    expect(ended).to_be_visible(timeout=ENDS_WITHIN_MS)
    expect(ended).to_contain_text("Access has ended")
    expect(bench.text()).to_be_hidden()
    with friend_page.expect_download() as download:
        ended.get_by_role("button", name="Download what I wrote").click()
    assert "something that is not saved" in download.value.path().read_text(encoding="utf-8")


def test_a_role_is_changed_in_place_and_the_open_page_says_so(
    page: Page, friend_page: Page, friend: tuple[str, str], named: Named, api: httpx2.Client
) -> None:
    prompt, _ = named("Promoted")
    grant(api, prompt, friend[0], "viewer")
    Workbench(friend_page).open(prompt)
    Workbench(page).open(prompt)
    dialog = ShareDialog(page).open()
    dialog.people.get_by_label("Role of").select_option("editor")
    expect(page.locator("[data-toast]").first).to_contain_text("The role is changed")
    told = friend_page.locator("[data-notices]")
    expect(told).to_contain_text("Your role on this prompt was changed", timeout=ENDS_WITHIN_MS)
    told.get_by_role("button", name="Reload").click()
    bench = Workbench(friend_page).wait()
    bench.write(bench.text(), " Loudly.")
    bench.save("By an editor")
    expect(bench.version).to_have_text("v2")
    page.goto(f"/prompts/{prompt}/")
    Workbench(page).wait()
    expect(page.locator("[data-version-chip]")).to_have_text("v2")


def test_when_the_access_of_a_person_ends_is_changed_in_place(
    page: Page, friend: tuple[str, str], named: Named, api: httpx2.Client
) -> None:
    prompt, _ = named("Ends later")
    grant(api, prompt, friend[0], "viewer")
    Workbench(page).open(prompt)
    row = ShareDialog(page).open().people
    row.get_by_role("button", name="When the access").click()
    row.get_by_label("Ends", exact=True).select_option(label="In 7 days")
    row.get_by_role("button", name="Save").click()
    expect(page.locator("[data-toast]").first).to_contain_text("When it ends is changed")
    expect(row).to_contain_text("until")
    assert api.get(f"prompts/{prompt}/grants").json()["results"][0]["expires_at"]


def test_an_editor_makes_a_branch_of_somebody_elses_prompt(
    friend_page: Page, friend: tuple[str, str], named: Named, api: httpx2.Client
) -> None:
    prompt, _ = named("Branched")
    grant(api, prompt, friend[0], "editor")
    bench = Workbench(friend_page).open(prompt)
    friend_page.locator("[data-branch-button]").click()
    friend_page.get_by_text("New branch").first.click()
    friend_page.get_by_label("Name of the branch").fill("idea")
    friend_page.get_by_role("button", name="Create branch").click()
    expect(friend_page.locator("[data-branch-name]")).to_have_text("idea")
    Workbench(friend_page).wait()
    bench.write(bench.text(), " On a branch.")
    bench.save("An idea")
    expect(bench.version).to_have_text("v2")
    heads = {branch["name"]: branch["head"] for branch in api.get(f"prompts/{prompt}/tree").json()["branches"]}
    assert (heads["main"], heads["idea"]) == (1, 2)


def test_a_person_leaves(friend_page: Page, friend: tuple[str, str], named: Named, api: httpx2.Client) -> None:
    prompt, name = named("Left")
    grant(api, prompt, friend[0], "commenter")
    friend_page.goto("/shared/")
    friend_page.get_by_role("button", name=f"Leave {name}").click()
    friend_page.get_by_role("button", name="Leave it").click()
    expect(friend_page.locator("[data-toast]")).to_contain_text(f"You left {name}")
    expect(friend_page.locator("[data-shared-row]", has_text=name)).to_have_count(0)
    assert api.get(f"prompts/{prompt}/grants").json()["results"] == []


def test_a_person_leaves_from_the_open_prompt(
    friend_page: Page, friend: tuple[str, str], named: Named, api: httpx2.Client, complaints: Complaints
) -> None:
    complaints.expect(r"/access: .*status of 404")
    prompt, name = named("Left open")
    grant(api, prompt, friend[0], "viewer")
    Workbench(friend_page).open(prompt)
    friend_page.get_by_role("button", name="More actions").click()
    expect(friend_page.get_by_role("menuitem", name="Move to the trash")).to_have_count(0)
    friend_page.get_by_role("menuitem", name="Leave").click()
    friend_page.get_by_role("button", name="Leave it").click()
    expect(friend_page.locator("[data-toast]")).to_contain_text(f"You left {name}")


def test_a_prompt_is_handed_over(
    page: Page, friend_page: Page, friend: tuple[str, str], named: Named, api: httpx2.Client
) -> None:
    prompt, name = named("Handed over")
    grant(api, prompt, friend[0], "viewer")
    Workbench(page).open(prompt)
    dialog = ShareDialog(page).open()
    dialog.dialog.get_by_role("button", name="Give it to somebody").click()
    dialog.dialog.get_by_role("button", name="Offer it").click()
    expect(dialog.dialog.locator("[data-transfer]")).to_contain_text("who becomes the owner on accepting")
    friend_page.goto("/")
    offer = friend_page.locator("form.notice", has_text=name)
    offer.get_by_role("button", name="Accept").click()
    expect(friend_page.locator("[data-toast]")).to_contain_text(f"{name} is yours now")
    page.goto(f"/prompts/{prompt}/")
    Workbench(page).wait()
    expect(page.locator("[data-share-badge]")).to_contain_text("Editor")


def test_an_editor_shares_on_only_where_the_owner_allows_it(
    friend_page: Page, friend: tuple[str, str], named: Named, api: httpx2.Client
) -> None:
    prompt, _ = named("Shared on")
    held = grant(api, prompt, friend[0], "editor")
    Workbench(friend_page).open(prompt)
    expect(friend_page.locator("[data-share-button]")).to_have_count(0)
    assert api.patch(f"grants/{held}", json={"may_share": True}).status_code == 200
    Workbench(friend_page).open(prompt)
    dialog = ShareDialog(friend_page).open()
    assert "/s/psl_" in dialog.make_link()
    expect(dialog.dialog.get_by_role("button", name="Revoke everything")).to_have_count(0)


def test_the_owner_sees_who_looked_and_takes_the_log_along(
    page: Page, friend_page: Page, friend: tuple[str, str], named: Named, api: httpx2.Client
) -> None:
    prompt, _ = named("Logged")
    grant(api, prompt, friend[0], "viewer")
    Workbench(friend_page).open(prompt)
    page.goto(f"/prompts/{prompt}/access/")
    expect(page.get_by_role("row").filter(has_text="Opened the prompt")).to_contain_text("Allowed")
    page.get_by_label("Outcome").select_option(label="Refused")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", name="Nothing of this kind")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Export as CSV").click()
    assert download.value.path().read_text(encoding="utf-8").startswith("at,account,link")


def test_a_card_of_a_chat_leads_to_a_copy_of_ones_own(
    friend_page: Page, friend: tuple[str, str], named: Named, api: httpx2.Client
) -> None:
    prompt, _ = named("Copied")
    grant(api, prompt, friend[0], "viewer")
    bench = Workbench(friend_page).open(prompt, 1, "?fork=yes")
    copy = friend_page.locator("#prompt-fork")
    expect(copy).to_be_visible()
    copy.get_by_role("button", name="Copy", exact=True).click()
    friend_page.wait_for_url(lambda url: prompt not in url)
    bench.wait()
    assert bench.prompt_id != prompt


def test_a_person_who_is_not_here_cannot_be_added(page: Page, named: Named, complaints: Complaints) -> None:
    complaints.expect(r"/grants: .*status of 400")
    prompt, _ = named("Nobody")
    Workbench(page).open(prompt)
    dialog = ShareDialog(page).open().dialog
    dialog.get_by_label("E-mail address").fill("nobody@example.com")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert").filter(has_text="nobody here with this address")).to_be_visible()
    expect(dialog.get_by_label("E-mail address")).to_have_value("nobody@example.com")
