"""The tree of versions, branches, labels, differences and merges, as a person uses them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from tests.browser.conftest import MODEL, Complaints, read_spec, save_version
from tests.browser.live_accounts import LiveAccounts
from tests.browser.many_versions import fill_tree
from tests.browser.test_every_page import VIEWS, look
from tests.browser.workbench import Workbench
from tests.waiting import quickest

Make = Callable[..., str]


def spec(content: str, **fields: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 24, "messages": [{"role": "user", "content": content}], **fields}


def row(page: Page, number: int) -> Locator:
    return page.locator(f"#version-{number}")


def active(page: Page) -> Locator:
    return page.locator(".tree-row.is-active")


@pytest.fixture
def family(make_prompt: Make, api: httpx2.Client) -> str:
    """1, 2, 3 on main; 4 on `idea`, from 1."""
    prompt = make_prompt("one\ntwo\nthree\n", name="A small family")
    save_version(api, prompt, spec("ONE\ntwo\nthree\n"), message="Louder")
    save_version(api, prompt, spec("ONE\ntwo\nthree, and more\n"), message="Longer")
    save_version(api, prompt, spec("uno\ntwo\nTHREE\n"), parent=1, branch="idea", message="In Spanish")
    return prompt


def test_the_tree_is_walked_and_opened_by_keyboard(page: Page, family: str) -> None:
    Workbench(page).open(family, 3)
    expect(
        page.get_by_role("option", name=re.compile("v4 idea In Spanish .*head of idea; lane 2 of 2"))
    ).to_be_visible()
    page.keyboard.press("j")
    expect(active(page)).to_have_attribute("data-number", "2")
    page.keyboard.press("Alt+ArrowUp")
    expect(active(page)).to_have_attribute("data-number", "1")
    page.keyboard.press("Alt+ArrowDown")
    page.keyboard.press("Alt+ArrowRight")
    expect(active(page)).to_have_attribute("data-number", "4")
    expect(page.get_by_role("listbox")).to_have_attribute("aria-activedescendant", "version-4")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/versions/4/$"))
    expect(row(page, 4)).to_have_attribute("aria-current", "true")
    expect(page.get_by_role("listbox")).to_be_focused()
    expect(page.locator("[data-branch-name]")).to_have_text("idea")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("c")
    expect(page).to_have_url(re.compile(r"/compare/\?from=3&to=4$"))


def test_keys_of_the_tree_do_nothing_while_writing(page: Page, family: str) -> None:
    bench = Workbench(page).open(family, 3)
    bench.text().click()
    page.keyboard.press("Control+End")
    page.keyboard.type("jkcbl")
    page.keyboard.press("Alt+ArrowUp")
    expect(bench.text()).to_contain_text("jkcbl")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(active(page)).to_have_attribute("data-number", "3")


def test_two_versions_are_marked_and_compared(page: Page, family: str) -> None:
    Workbench(page).open(family, 3)
    row(page, 1).click(modifiers=["Shift"])
    row(page, 2).click(modifiers=["Shift"])
    expect(row(page, 1)).to_have_attribute("aria-selected", "true")
    page.get_by_role("button", name="Compare versions 1 and 2").click()
    expect(page.locator("[data-place]")).to_contain_text("ONE")


def test_a_branch_starts_at_an_older_version_and_takes_what_is_saved(
    page: Page, family: str, api: httpx2.Client, complaints: Complaints
) -> None:
    complaints.expect("status of 409")
    bench = Workbench(page).open(family, 2)
    page.keyboard.press("b")
    name = page.get_by_label("Name of the branch")
    name.fill("idea")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("There is a branch of this name")
    name.fill("بديل 🎉")
    page.keyboard.press("Enter")
    expect(page.locator("[data-branch-name]")).to_have_text("بديل 🎉")
    bench.write(bench.text(), "x")
    bench.save()
    expect(bench.version).to_have_text("v5")
    heads = {branch["name"]: branch["head"] for branch in api.get(f"prompts/{family}/branches").json()["results"]}
    assert heads == {"main": 3, "idea": 4, "بديل 🎉": 5}


def test_branches_are_switched_in_the_top_bar(page: Page, family: str) -> None:
    Workbench(page).open(family)
    page.locator("[data-branch-button]").click()
    expect(page.get_by_role("link", name="Merge idea into main")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/versions/4/\?branch=idea$"))
    expect(page.locator("[data-branch-name]")).to_have_text("idea")


def test_undo_and_redo_move_the_branch_and_lose_nothing(page: Page, family: str) -> None:
    bench = Workbench(page).open(family)
    page.keyboard.press("Alt+z")
    expect(page.locator("[data-toast]")).to_contain_text("main went back from version 3 to version 2")
    expect(bench.wait().version).to_have_text("v2")
    expect(row(page, 2)).to_contain_text("head of main")
    page.get_by_role("button", name="Redo: main forward from version 2").click()
    expect(page.locator("[data-toast]")).to_contain_text("main went forward from version 2 to version 3")
    expect(bench.wait().version).to_have_text("v3")


def test_a_head_that_somebody_moved_is_said_with_a_way_on(
    page: Page, family: str, api: httpx2.Client, complaints: Complaints
) -> None:
    complaints.expect("status of 409")
    bench = Workbench(page).open(family)
    save_version(api, family, spec("from elsewhere"))
    page.keyboard.press("Alt+z")
    notices = page.locator("[data-notices]")
    expect(notices).to_contain_text("Somebody moved main: its newest version is 5 now. Nothing was changed.")
    notices.get_by_role("button", name="Undo from version 5").click()
    expect(page.locator("[data-toast]")).to_contain_text("main went back from version 5 to version 3")
    expect(bench.wait().version).to_have_text("v3")


def test_restoring_an_old_version_makes_a_new_one_of_it(page: Page, family: str, api: httpx2.Client) -> None:
    bench = Workbench(page).open(family, 1)
    page.locator("[data-notices]").get_by_role("button", name="Restore v1").click()
    expect(page.locator("[data-toast]")).to_contain_text("Version 1 is back as version 5")
    expect(bench.wait().version).to_have_text("v5")
    first, fifth = (api.get(f"prompts/{family}/versions/{number}").json() for number in (1, 5))
    assert (fifth["digest"], fifth["parent"]) == (first["digest"], 3)


def test_a_save_from_elsewhere_shows_everywhere_at_once(page: Page, family: str, api: httpx2.Client) -> None:
    bench = Workbench(page).open(family)
    save_version(api, family, spec("newer"), message="By a program")
    page.wait_for_timeout(3100)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(row(page, 5)).to_contain_text("head of main")
    expect(page.locator("[data-notices]")).to_contain_text("This is not the newest on main: version 5 is")
    expect(page.locator("[data-branch-button]")).to_have_attribute("title", re.compile("its newest version is 5"))
    expect(bench.version).to_have_text("v3")


def test_a_label_is_added_moved_with_what_it_replaces_in_sight_and_removed(
    page: Page, family: str, api: httpx2.Client, complaints: Complaints
) -> None:
    complaints.expect("status of 409")
    Workbench(page).open(family)
    name = page.get_by_label("Label to put on this version")
    page.get_by_role("button", name="Labels of version 3").click()
    expect(name).to_be_focused()
    page.keyboard.type("production")
    page.keyboard.press("Enter")
    expect(row(page, 3)).to_contain_text("label production")

    row(page, 4).click(modifiers=["Shift"])
    page.keyboard.press("l")
    name.fill("production")
    dialog = page.get_by_role("dialog", name="Labels of version 4")
    expect(dialog).to_contain_text("production moves from version 3 to version 4")
    dialog.get_by_text("What whoever follows it will see change").click()
    expect(dialog.locator("[data-label-diff]")).to_contain_text("uno")
    api.put(f"prompts/{family}/labels/production", json={"version": 1}).raise_for_status()
    dialog.get_by_role("button", name="Move label").click()
    expect(dialog.get_by_role("alert")).to_contain_text("it points at version 1 now")
    expect(dialog).to_contain_text("production moves from version 1 to version 4")
    dialog.get_by_role("button", name="Move label").click()
    expect(row(page, 4)).to_contain_text("label production")

    row(page, 4).locator("[data-label]").click()
    dialog.get_by_role("button", name="History").click()
    history = dialog.get_by_role("row")
    expect(history).to_have_count(4)
    expect(history.nth(1)).to_contain_text(re.compile("demo.*v1.*v4"))
    dialog.get_by_role("button", name="Remove production from version 4").click()
    expect(dialog.get_by_text("No label points at this version")).to_be_visible()
    assert api.get(f"prompts/{family}/labels").json()["results"] == []


def test_the_save_form_shows_the_difference_and_proposes_its_words(
    page: Page, make_prompt: Make, api: httpx2.Client
) -> None:
    bench = Workbench(page).open(make_prompt("a b", temperature=0.2, system="Be kind."))
    bench.write(bench.system, " Be short.")
    page.locator("[data-parameters] summary").first.click()
    page.get_by_label("Temperature").fill("0.5")
    page.keyboard.press("Control+s")
    expect(page.get_by_label("What changed")).to_have_value("Change temperature 0.2 → 0.5, system")
    difference = page.get_by_role("group", name="What this save changes")
    expect(difference.locator("ins").filter(has_text="Be short.")).to_be_visible()
    page.keyboard.press("Enter")
    expect(bench.version).to_have_text("v2")
    assert api.get(f"prompts/{bench.prompt_id}/versions/2").json()["message"] == "Change temperature 0.2 → 0.5, system"


def test_blanks_that_changed_are_seen(page: Page, make_prompt: Make, api: httpx2.Client) -> None:
    prompt = make_prompt("a b\nkept\nend\n")
    save_version(api, prompt, spec("a  b\nkept \nend\u00a0\n"))
    page.goto(f"/prompts/{prompt}/compare/?from=1&to=2")
    expect(page.locator(".diff-note")).to_contain_text("Only blanks changed")
    added = page.locator(".diff-side.is-added")
    expect(added.nth(0).locator("ins .blank.is-space")).to_have_count(1)
    expect(added.nth(1).locator(".blank.is-space")).to_have_count(1)
    expect(added.nth(2).locator(".blank.is-nbsp")).to_have_count(1)
    assert added.nth(0).locator(".diff-text").text_content() == "a  b"


def test_differences_are_minimal_walked_folded_and_isolated(page: Page, make_prompt: Make, api: httpx2.Client) -> None:
    kept = "\n".join(f"kept {number}" for number in range(40))
    prompt = make_prompt(f"it cross the road\n{kept}\nend 😀", temperature=0.2)
    after = spec(f"it cros the road\n{kept}\nend 😀👍\u202e", system="lf\r\n", temperature=0.5)
    save_version(api, prompt, after)
    page.goto(f"/prompts/{prompt}/compare/?from=1&to=2")
    expect(page.locator("[data-place='messages.0'] ins").first).to_have_text("cros")
    expect(page.locator(".blank.is-control")).to_have_attribute("data-mark", "RLO")
    expect(page.locator("[data-change-count]")).to_have_text("4 changes")
    page.keyboard.press("n")
    expect(page.locator(".is-here")).to_contain_text("Temperature")
    page.keyboard.press("p")
    expect(page.locator("[data-change-count]")).to_have_text("4 of 4")
    page.get_by_role("button", name="34 unchanged lines").click()
    expect(page.locator(".diff-row", has_text="kept 20")).to_be_visible()
    page.get_by_role("button", name="Side by side").click()
    expect(page.locator(".diff-lines.is-split").first).to_be_visible()
    page.reload()
    expect(page.locator(".diff-lines.is-split").first).to_be_visible()
    page.keyboard.press("x")
    expect(page).to_have_url(re.compile(r"from=2&to=1$"))
    expect(page.locator("[data-place='system'] .chip")).to_have_text("removed")


def test_line_ends_are_said_once_and_too_much_is_said_too(page: Page, make_prompt: Make, api: httpx2.Client) -> None:
    prompt = make_prompt("a\nb\nc\n")
    save_version(api, prompt, spec("a\r\nb\r\nc\r\n"))
    page.goto(f"/prompts/{prompt}/compare/?from=1&to=2")
    expect(page.locator(".diff-note")).to_have_text("Line ends changed from LF to CRLF; nothing else did.")
    expect(page.locator(".diff-row")).to_have_count(0)
    save_version(api, prompt, spec("\n".join(f"line {number}" for number in range(3000))))
    page.goto(f"/prompts/{prompt}/compare/?from=2&to=3")
    more = page.get_by_role("button", name="Show the next lines")
    expect(more).to_contain_text("are left")
    assert page.locator(".diff-row").count() <= 400
    more.click()
    assert 400 < page.locator(".diff-row").count() <= 800


def test_versions_are_picked_by_number_label_or_branch(page: Page, family: str, complaints: Complaints) -> None:
    page.goto(f"/prompts/{family}/compare/")
    expect(page.get_by_label("Before")).to_have_value("2")
    expect(page.locator(".diff-row").first).to_be_visible()
    page.get_by_label("After").fill("idea")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("from=2&to=idea"))
    expect(page.locator("[data-place='messages.0']")).to_contain_text("uno")
    page.get_by_label("Before").fill("no such thing")
    page.keyboard.press("Enter")
    expect(page.locator(".field-error")).to_contain_text("no version, label or branch “no such thing”")


def test_two_tabs_save_at_once_and_are_merged(
    open_context: Callable[..., BrowserContext], make_prompt: Make, api: httpx2.Client
) -> None:
    prompt = make_prompt("first\nsame\nlast\n", temperature=0.2)
    context = open_context(viewport={"width": 1440, "height": 900})
    one, two = (Workbench(context.new_page()).open(prompt) for _ in range(2))
    for bench, text in ((one, "of one"), (two, "of two")):
        bench.text().click()
        bench.page.keyboard.press("Control+Home")
        bench.page.keyboard.press("End")
        bench.page.keyboard.insert_text(f" {text}")
    one.save("One")
    expect(one.version).to_have_text("v2")
    two.save("Two")
    page = two.page
    notices = page.locator("[data-notices]")
    expect(notices).to_contain_text("Somebody saved version 2 first; yours is kept as version 3 on branch main-3.")
    notices.get_by_role("button", name="Merge into main").click()

    conflict = page.locator(".conflict")
    expect(conflict).to_have_count(1)
    for side, text in (("base", "first"), ("ours", "first of one"), ("theirs", "first of two")):
        expect(conflict.locator(f"[data-side={side}] pre")).to_have_text(text)
    save = page.get_by_role("button", name="Save merge")
    expect(save).to_be_disabled()
    conflict.get_by_label("Edit").check()
    conflict.get_by_role("textbox").click()
    page.keyboard.press("Control+End")
    page.keyboard.press("Control+Shift+Home")
    page.keyboard.insert_text("first of both\n")
    page.get_by_text("What changes on main").click()
    expect(page.locator("[data-merge-details] ins").first).to_be_visible()
    expect(page.get_by_label("Message", exact=True)).to_have_value("Merge main-3 into main")
    save.click()
    expect(page.locator("[data-toast]")).to_contain_text("Merged as version 4 on main")
    expect(row(page, 4)).to_contain_text("merges version 3 into version 2")
    assert read_spec(api, prompt, 4)["messages"][0]["content"] == "first of both\nsame\nlast\n"
    nodes = api.get(f"prompts/{prompt}/tree").json()["nodes"]
    assert nodes[0]["parents"] == [2, 3]


def test_what_does_not_clash_merges_by_itself_and_what_is_contained_moves_forward(
    page: Page, make_prompt: Make, api: httpx2.Client, complaints: Complaints
) -> None:
    complaints.expect("status of 422")
    prompt = make_prompt("a\nb\nc\nd\n", temperature=0.2)
    save_version(api, prompt, spec("A\nb\nc\nd\n", temperature=0.2))
    save_version(api, prompt, spec("a\nb\nc\nD\n", temperature=0.9), parent=1, branch="idea")
    page.goto(f"/prompts/{prompt}/merge/?ours=main&theirs=idea")
    expect(page.locator("[data-merge-state]")).to_contain_text("Nothing clashes")
    page.get_by_role("button", name="Save merge").click()
    expect(Workbench(page).wait().version).to_have_text("v4")
    merged = read_spec(api, prompt, 4)
    assert (merged["messages"][0]["content"], merged["temperature"]) == ("A\nb\nc\nD\n", 0.9)
    page.goto(f"/prompts/{prompt}/merge/?ours=idea&theirs=main")
    page.get_by_role("button", name="Move idea to version 4").click()
    expect(page.locator("[data-branch-name]")).to_have_text("idea")
    assert {branch["head"] for branch in api.get(f"prompts/{prompt}/branches").json()["results"]} == {4}


def test_a_merged_text_too_large_for_a_request_is_sent_past_it(
    page: Page, make_prompt: Make, api: httpx2.Client
) -> None:
    long, kept = "x" * 800_000, "kept\n" * 200_000
    prompt = make_prompt(f"first\n{kept}last\n")
    save_version(api, prompt, spec(f"{long}\n{kept}last\n"))
    save_version(api, prompt, spec(f"first\n{kept}{long}\n"), parent=1, branch="idea")
    page.goto(f"/prompts/{prompt}/merge/?ours=main&theirs=idea")
    page.get_by_role("button", name="Save merge").click()
    expect(page).to_have_url(re.compile("/versions/4/$"))
    assert read_spec(api, prompt, 4)["messages"][0]["content"] == f"{long}\n{kept}{long}\n"


def test_two_thousand_versions_stay_light(
    page: Page, make_prompt: Make, api: httpx2.Client, live_accounts: LiveAccounts
) -> None:
    prompt = make_prompt("x", name="Two thousand versions")
    fill_tree(live_accounts, prompt, 2000)
    api.get(f"prompts/{prompt}/tree").raise_for_status()

    def read() -> float:
        asked_at = time.monotonic()
        assert len(api.get(f"prompts/{prompt}/tree").raise_for_status().json()["nodes"]) == 2000
        return time.monotonic() - asked_at

    assert quickest(read, under_s=1) < 1
    Workbench(page).open(prompt)
    tree = page.get_by_role("listbox")
    tree.focus()
    page.keyboard.press("End")
    expect(active(page)).to_have_attribute("data-number", "1")
    page.keyboard.press("Home")
    expect(active(page)).to_have_attribute("data-number", "2000")
    expect(active(page)).to_be_in_viewport()
    scroll = """list => new Promise(done => {
        let most = 0;
        const step = () => {
            list.scrollTop += 700;
            most = Math.max(most, list.querySelectorAll("*").length);
            if (list.scrollTop + list.clientHeight < list.scrollHeight) requestAnimationFrame(step);
            else done(most);
        };
        step();
    })"""
    assert tree.evaluate(scroll) < 400
    expect(row(page, 1)).to_be_visible()
    look(page, "tree-2000")


def test_the_first_rows_of_a_long_history_wait_for_nothing(
    page: Page, make_prompt: Make, live_accounts: LiveAccounts
) -> None:
    prompt = make_prompt("x", name="A long history")
    fill_tree(live_accounts, prompt, 1000)
    held: list[Route] = []
    page.route("**/tree/columns", lambda route: held.append(route))
    page.goto(f"/prompts/{prompt}/versions/500/")
    tree = page.get_by_role("listbox")
    expect(row(page, 500)).to_be_in_viewport()
    expect(row(page, 500)).to_have_attribute("aria-current", "true")
    expect(row(page, 495)).to_contain_text("Version 495 of many")
    expect(tree).to_have_attribute("aria-busy", "true")
    expect(page.locator("[data-tree-count]")).to_have_text("1,000")
    expect(page.locator(".tree-line").first).to_be_attached()
    before = row(page, 495).bounding_box()
    for route in held:
        route.continue_()
    expect(tree).to_have_attribute("aria-busy", "false")
    assert row(page, 495).bounding_box() == before
    page.keyboard.press("j")
    expect(active(page)).to_have_attribute("data-number", "499")
    page.keyboard.press("End")
    expect(row(page, 1)).to_be_in_viewport()
    row(page, 2).click(modifiers=["Shift"])
    expect(page.get_by_role("button", name="Compare versions 2 and 500")).to_be_enabled()


def test_a_history_that_cannot_be_read_whole_keeps_its_first_rows(
    page: Page, make_prompt: Make, live_accounts: LiveAccounts, complaints: Complaints
) -> None:
    complaints.expect("Failed to load resource|preload")
    prompt = make_prompt("x", name="A long history")
    fill_tree(live_accounts, prompt, 400)
    page.route("**/tree/columns", lambda route: route.abort())
    page.goto(f"/prompts/{prompt}/")
    expect(page.locator("[data-history-note]")).to_contain_text("The history could not be read. The server cannot be")
    expect(row(page, 400)).to_be_visible()
    row(page, 398).click()
    expect(page).to_have_url(re.compile("/versions/398/$"))


def test_a_history_behind_a_tab_opens_at_the_open_version(
    open_context: Callable[..., BrowserContext], make_prompt: Make, live_accounts: LiveAccounts
) -> None:
    prompt = make_prompt("x", name="A long history")
    fill_tree(live_accounts, prompt, 400)
    page = open_context(**VIEWS["phone"]).new_page()
    Workbench(page).open(prompt, 100)
    page.get_by_role("button", name="History", exact=True).click()
    expect(row(page, 100)).to_be_in_viewport()


@pytest.mark.parametrize("view", VIEWS)
def test_pages_about_two_versions_look_right(
    open_context: Callable[..., BrowserContext], make_prompt: Make, api: httpx2.Client, view: str
) -> None:
    long = "a-branch-with-a-name-that-is-far-too-long-for-any-chip"
    prompt = make_prompt("one\nשלום עולם\ttab\n" + "kept\n" * 20, name="Two versions 🎉 " + "of a long title " * 8)
    save_version(api, prompt, spec("ONE \nשלום לכם    tab\u200b\n" + "kept\n" * 20), message="long message " * 40)
    save_version(api, prompt, spec("uno 🎉\n" + "kept\n" * 20 + "x" * 500, top_k=0), parent=1, branch=long)
    page = open_context(**VIEWS[view]).new_page()
    page.goto(f"/prompts/{prompt}/compare/?from=2&to=3")
    expect(page.locator(".diff-row").first).to_be_visible()
    look(page, f"compare-{view}")
    page.goto(f"/prompts/{prompt}/merge/?ours=main&theirs=3")
    expect(page.locator(".conflict").first).to_be_visible()
    look(page, f"merge-{view}")
    page.goto(f"/prompts/{prompt}/versions/1/")
    expect(page.locator("[data-notices]")).to_contain_text("version 2 is")
    if view == "phone":
        page.get_by_role("button", name="History", exact=True).click()
    look(page, f"tree-{view}")
