"""Whatever a person writes is text everywhere: a corpus of payloads on every page that shows what people wrote.

Each payload would make an element that bears MARK, or set `window.broken`, if it were ever read as markup or run.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import MODEL, Complaints, new_context, save_version, sign_in
from tests.browser.live_accounts import PASSWORD, LiveAccounts
from tests.browser.sharing.shared_page import SharedPage
from tests.browser.workbench import Workbench
from tests.services_plugin import Instance

MARK = "data-broken"
PAYLOADS = (
    f"<script {MARK}>window.broken=1</script>",
    f'<img src=x {MARK} onerror="window.broken=1">',
    f'"><svg {MARK} onload=window.broken=1>',
    f"'><b {MARK} onmouseover=window.broken=1>",
    f"</script><script {MARK}>window.broken=1</script>",
    f"</textarea></template></title></style><i {MARK}>",
    f'<iframe {MARK} srcdoc="<script>parent.broken=1</script>"></iframe>',
    f"<a {MARK} href=javascript:window.broken=1>x</a>",
    "[x](javascript:window.broken=1) ![x](javascript:window.broken=1)",
    "javascript:window.broken=1",
    f"<style {MARK}>*{{background:url(javascript:window.broken=1)}}</style>",
    f"<math><mtext><table><mglyph><style><img {MARK} src onerror=window.broken=1>",
    "{{constructor.constructor('window.broken=1')()}}",
    "{% load static %}{{ request.user.password }}${window.broken=1}",
    f"\u202e<b {MARK}>\u0000\ufeff&lt;b {MARK}&gt;&#60;b {MARK}&#62;",
)
ALL = " ".join(PAYLOADS)
FOUND = f"""() => [
    ...document.querySelectorAll("[{MARK}]"),
    ...[...document.querySelectorAll("template")].flatMap((each) => [...each.content.querySelectorAll("[{MARK}]")]),
    ...[...document.querySelectorAll("*")].filter((each) => [...each.attributes].some(({{ name, value }}) =>
        name.startsWith("on") || (["href", "src", "action"].includes(name) && /^\\s*javascript:/i.test(value)))),
].map((each) => each.outerHTML.slice(0, 200))"""


def without_nul(text: str) -> str:
    return text.replace("\u0000", "")


@dataclass(frozen=True, kw_only=True)
class Person:
    """An account whose own name is a payload."""

    email: str
    api: httpx2.Client
    context: BrowserContext


@pytest.fixture
def meet(
    chromium: Browser, live_stack: Instance, live_accounts: LiveAccounts, complaints: Complaints
) -> Iterator[Callable[[str], Person]]:
    opened: list[Person] = []

    def make(name: str) -> Person:
        account = live_accounts.create("odd", shown_name=name)
        given = {"viewport": {"width": 1440, "height": 900}, "storage_state": account.session}
        context = new_context(chromium, live_stack.base_url, complaints, **given)
        opened.append(Person(email=account.email, api=live_stack.api(account.key), context=context))
        return opened[-1]

    yield make
    for person in opened:
        person.api.close()
        person.context.close()


def look(page: Page, where: str = "") -> None:
    """Nothing of the corpus became an element, a handler or an address, and nothing ran."""
    page.wait_for_load_state("networkidle")
    assert page.evaluate(FOUND) == [], f"{where or page.url} holds markup that somebody wrote"
    assert page.evaluate("window.broken") is None, where or page.url


def odd_prompt(api: httpx2.Client, payload: str) -> str:
    """A prompt with the payload in everything that takes text; two versions, a branch and a label."""
    text = without_nul(payload)
    fields = {
        "name": text[:200],
        "description": text[:2000],
        "tags": [text[:50]],
        "folder": text.replace("/", "|")[:80],
    }
    prompt = str(api.post("prompts", json=fields).raise_for_status().json()["id"])
    spec = {
        "model": MODEL,
        "max_tokens": 8,
        "stop_sequences": [text[:200]],
        "system": payload,
        "messages": [
            {"role": "user", "content": f"{payload} {{{{name}}}}"},
            {"role": "assistant", "content": [{"type": "text", "text": payload}]},
            {"role": "user", "content": "Go on"},
        ],
        "tools": json.dumps([{"name": "t", "description": payload, "input_schema": {"type": "object"}}]),
        "variables": [{"name": "name", "type": "text", "default": payload, "description": text}],
    }
    save_version(api, prompt, spec, message=text)
    spec["messages"] = [{"role": "user", "content": f"changed {payload}"}]
    save_version(api, prompt, spec, message=f"two {text}", parent=1, branch=text[:60].replace("/", "|"))
    api.put(f"prompts/{prompt}/labels/production", json={"version": 1})
    api.post(f"prompts/{prompt}/versions/2/threads", json={"body": text, "mentions": []}).raise_for_status()
    return prompt


@pytest.fixture
def odd(meet: Callable[[str], Person]) -> tuple[Person, Person, str, str]:
    """Two people with odd names, the prompt of the first, and a link to it."""
    ada, ben = meet(without_nul(PAYLOADS[1])), meet(without_nul(PAYLOADS[2]))
    prompt = odd_prompt(ada.api, ALL)
    for role in ("viewer", "commenter"):
        answer = ada.api.post(f"prompts/{prompt}/grants", json={"account": ben.email, "role": role})
        assert answer.status_code == 201, answer.text
    made = ada.api.post(
        f"prompts/{prompt}/links",
        json={"audience": "public", "target": {"version": 2}, "shows_history": True, "note": without_nul(ALL)[:190]},
    )
    return ada, ben, prompt, str(made.raise_for_status().json()["url"])


def test_pages_of_the_owner(odd: tuple[Person, Person, str, str], complaints: Complaints) -> None:
    # The two versions differ in what cannot be merged by itself.
    complaints.expect(r"/merge\?.*status of 422")
    ada, _, prompt, _ = odd
    page = ada.context.new_page()
    for path in (
        "/",
        "/?q=broken",
        f"/?q={PAYLOADS[0]}",
        "/shares/",
        "/runs/",
        "/notifications/",
        "/account/",
        "/import/",
    ):
        page.goto(path)
        look(page)
    for path in (
        f"/prompts/{prompt}/compare/?from=1&to=2",
        f"/prompts/{prompt}/merge/?theirs=2",
        f"/prompts/{prompt}/access/",
    ):
        page.goto(path)
        look(page)
    page.goto(f"/prompts/{prompt}/columns/?versions=1,2,{PAYLOADS[1]}")
    expect(page.locator(".column").nth(1).locator("[data-column-about]")).to_contain_text("window.broken=1")
    expect(page.locator(".column .stop").first).to_contain_text("window.broken=1")
    expect(page.locator("[data-variables] .variable").first).to_contain_text("window.broken=1")
    look(page, "columns")
    bench = Workbench(page).open(prompt)
    look(page, "workbench")
    page.locator("[data-parameters] summary").first.click()
    page.get_by_role("button", name="Get code").click()
    expect(page.locator("[data-code-text]")).not_to_be_empty()
    look(page, "code")
    page.keyboard.press("Escape")
    page.locator("[data-share-button]").click()
    expect(page.locator("[data-share-content]")).to_be_visible()
    look(page, "share dialog")
    page.locator("[data-share-dialog] [data-grant] [value=remove]").click()
    look(page, "revoke dialog")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    bench.write(bench.text(), PAYLOADS[1])
    page.keyboard.press("Control+s")
    expect(page.get_by_label("What changed")).to_be_visible()
    look(page, "save")


def test_a_file_with_an_odd_name_and_odd_content(odd: tuple[Person, Person, str, str]) -> None:
    ada, _, prompt, _ = odd
    page = ada.context.new_page()
    Workbench(page).open(prompt)
    for size in (10, 400_000):
        name = f"<img src=x {MARK} onerror=window.broken=1>.txt"
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Attach file").last.click()
        content = (PAYLOADS[0] * (size // len(PAYLOADS[0]) + 1)).encode()
        chooser.value.set_files({"name": name, "mimeType": "text/plain", "buffer": content})
        expect(page.locator("[data-notices], .file-card").filter(has_text=".txt").first).to_be_visible()
        look(page, f"a file of {size} bytes")


def test_pages_of_somebody_it_is_shared_with(odd: tuple[Person, Person, str, str]) -> None:
    ada, ben, prompt, _ = odd
    ada.api.post(f"prompts/{prompt}/transfers", json={"account": ben.email}).raise_for_status()
    page = ben.context.new_page()
    for path in ("/", "/shared/", "/notifications/", f"/prompts/{prompt}/compare/?from=1&to=2"):
        page.goto(path)
        look(page)
    Workbench(page).open(prompt)
    look(page, "workbench of a commenter")
    page.get_by_role("tab", name="Comments").click()
    look(page, "comments")


def test_the_page_of_a_link(
    odd: tuple[Person, Person, str, str], chromium: Browser, live_stack: Instance, complaints: Complaints
) -> None:
    ada, _, _, url = odd
    context = new_context(chromium, live_stack.base_url, complaints)
    page = context.new_page()
    page.goto(url)
    look(page, "landing")
    SharedPage(page).open(url)
    look(page, "shared page")
    page.get_by_text("Show the call").click()
    expect(page.locator("[data-snippet-text]")).not_to_be_empty()
    look(page, "snippet")
    page.locator(".doc-history").get_by_role("link", name="v1").click()
    look(page, "an earlier version")
    expect(page.locator(".doc-text").first).to_contain_text("window.broken=1")
    sign_in(page, ada.email, PASSWORD)
    page.goto(url)
    page.get_by_role("button", name="Open the prompt").click()
    page.get_by_role("link", name="Fork").click()
    look(page, "fork")
    context.close()


def test_a_conversation(odd: tuple[Person, Person, str, str]) -> None:
    ada, ben, prompt, _ = odd
    version = ada.api.get(f"prompts/{prompt}/versions/2").json()["id"]
    peer = ben.api.get("me").json()["id"]
    conversation = ada.api.post("chat/conversations", json={"person": peer}).raise_for_status().json()["id"]
    for body in (*PAYLOADS, f"```\n{PAYLOADS[0]}\n``` **{PAYLOADS[1]}** `{PAYLOADS[2]}`"):
        sent = ada.api.post(
            f"chat/conversations/{conversation}/messages",
            json={
                "client_msg_id": str(uuid.uuid4()),
                "body": without_nul(body),
                "reference": {"kind": "version", "id": version},
            },
        )
        assert sent.status_code in (200, 201), sent.text
    page = ben.context.new_page()
    page.goto(f"/chat/{conversation}/")
    expect(page.locator("[data-message]")).to_have_count(len(PAYLOADS) + 1)
    expect(page.locator(".shared-card").first).to_be_visible()
    look(page, "conversation")
