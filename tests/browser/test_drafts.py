"""What is written and not saved: on the server, in this browser, in two tabs at once."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import Complaints
from tests.browser.workbench import Workbench
from tests.waiting import wait_until

FULL_STORE = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };"
KEPT_HERE = "Not saved (kept in this browser)"


def drafts(api: httpx2.Client, prompt: str) -> list[str]:
    rows = api.get(f"prompts/{prompt}/drafts").raise_for_status().json()["results"]
    return [row["branch"] for row in rows]


def wait_until_kept(bench: Workbench) -> None:
    expect(bench.draft).to_have_text("Saved draft")


def test_a_draft_is_kept_on_the_server_and_opens_in_another_browser(
    open_context: Callable[..., BrowserContext], make_prompt: Callable[..., str], api: httpx2.Client
) -> None:
    bench = Workbench(open_context().new_page()).open(make_prompt("kept"))
    bench.write(bench.text(), " and more")
    wait_until_kept(bench)
    bench.page.reload()
    bench.wait()
    expect(bench.text()).to_have_text("kept and more")
    wait_until_kept(bench)
    other_page = open_context().new_page()
    written: list[str] = []
    other_page.on("request", lambda request: written.append(request.url) if request.method == "PUT" else None)
    other = Workbench(other_page).open(bench.prompt_id)
    expect(other.text()).to_have_text("kept and more")
    expect(other.page.locator("[data-notices]")).to_contain_text("is back")
    assert drafts(api, bench.prompt_id) == ["main"]
    assert len(api.get(f"prompts/{bench.prompt_id}/versions").json()["results"]) == 1
    other.page.wait_for_timeout(1200)
    assert written == [], "what was only opened is not written again"
    bench.save()
    expect(bench.version).to_have_text("v2")
    expect(bench.draft).to_have_text("")
    expect(bench.state).to_have_text("Saved")
    wait_until(lambda: drafts(api, bench.prompt_id) == [])


def test_two_browsers_keep_both_until_somebody_chooses(
    open_context: Callable[..., BrowserContext],
    make_prompt: Callable[..., str],
    complaints: Complaints,
) -> None:
    complaints.expect("status of 409")
    first = Workbench(open_context().new_page()).open(make_prompt("start"))
    second = Workbench(open_context().new_page()).open(first.prompt_id)
    first.write(first.text(), " first")
    wait_until_kept(first)
    second.write(second.text(), " second")
    expect(second.page.locator("[data-notices]")).to_contain_text("also edited in another tab or browser")
    expect(second.draft).to_have_text(KEPT_HERE)
    expect(second.text()).to_have_text("start second")
    second.page.get_by_role("button", name="Use the other").click()
    expect(second.text()).to_have_text("start first")
    second.page.get_by_role("button", name="Go back to mine").click()
    expect(second.text()).to_have_text("start second")
    wait_until_kept(second)


def test_without_the_server_this_browser_keeps_it(
    page: Page, make_prompt: Callable[..., str], complaints: Complaints
) -> None:
    complaints.expect("ERR_FAILED")
    bench = Workbench(page).open(make_prompt("kept"))
    page.route("**/drafts/**", lambda route: route.abort())
    bench.write(bench.text(), " here")
    expect(bench.draft).to_have_text(KEPT_HERE)
    page.unroute("**/drafts/**")
    page.reload()
    bench.wait()
    expect(bench.text()).to_have_text("kept here")
    wait_until_kept(bench)


def test_a_full_store_costs_nothing(page: Page, make_prompt: Callable[..., str], complaints: Complaints) -> None:
    complaints.expect("ERR_FAILED")
    page.add_init_script(FULL_STORE)
    bench = Workbench(page).open(make_prompt("kept"))
    bench.write(bench.text(), " and more")
    wait_until_kept(bench)
    page.route("**/drafts/**", lambda route: route.abort())
    bench.write(bench.text(), " still")
    expect(page.locator("[data-notices]")).to_contain_text("storage is full")
    bench.save()
    expect(bench.version).to_have_text("v2")


def test_the_draft_of_another_version_stays_where_it_is(
    page: Page, make_prompt: Callable[..., str], api: httpx2.Client
) -> None:
    bench = Workbench(page).open(make_prompt("one"))
    bench.save("again")
    expect(bench.version).to_have_text("v2")
    bench.write(bench.text(), " two")
    wait_until_kept(bench)
    bench.open(bench.prompt_id, 1)
    expect(page.locator("[data-notices]")).to_contain_text("unsaved text on branch main from version 2")
    bench.write(bench.text(), " old")
    wait_until_kept(bench)
    assert sorted(drafts(api, bench.prompt_id)) == ["earlier-1", "main"]
    page.get_by_role("button", name="Open it").click()
    bench.wait()
    expect(bench.text()).to_have_text("one two")
