"""Nothing that was written is changed, lost or sent by accident."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Complaints, read_spec, save_version
from tests.browser.workbench import Workbench

EXACT = {
    "crlf": "a\r\nb \r\n",
    "mixed line ends": "a\r\nb\nc\r",
    "byte order mark": "\ufeffx",
    "blank lines and trailing blanks": "\n\n  hi \n",
    "nul": "a\0b",
    "decomposed": "e\u0301 and \u00e9",
    "other separators": "a\u2028b\u0085c\fd\ve",
    "right to left": "\u200fשלום {{שם}} \u202bمرحبا\u202c",
    "angle brackets": "say <channel> & </textarea><script>alert(1)</script>",
    "joined emoji": "👩‍👩‍👧‍👦 and \U0001f3f4\U000e0067\U000e0062\U000e007f",
}


def test_texts_that_were_not_edited_are_saved_byte_for_byte(
    page: Page, make_prompt: Callable[..., str], api: httpx2.Client
) -> None:
    messages = [{"role": "user", "content": text} for text in EXACT.values()]
    bench = Workbench(page).open(make_prompt("", messages=messages, system=""))
    expect(bench.state).to_have_text("Saved")
    page.locator("[data-parameters] summary").first.click()
    page.get_by_label("Temperature").fill("0.13")
    bench.save()
    expect(bench.version).to_have_text("v2")
    saved = read_spec(api, bench.prompt_id, 2)
    assert dict(zip(EXACT, [message["content"] for message in saved["messages"]], strict=True)) == EXACT
    assert (saved["system"], saved["temperature"]) == ("", 0.13)
    page.reload()
    bench.wait()
    page.locator("[data-parameters] summary").first.click()
    expect(page.get_by_label("Temperature")).to_have_value("0.13")


def test_an_edit_keeps_the_line_ends_of_the_document(
    page: Page, make_prompt: Callable[..., str], api: httpx2.Client
) -> None:
    bench = Workbench(page).open(make_prompt("a\r\nb"))
    expect(page.locator("[data-block-note]").nth(1)).to_contain_text("CRLF")
    bench.write(bench.text(), "\nc")
    bench.save()
    expect(bench.version).to_have_text("v2")
    assert read_spec(api, bench.prompt_id, 2)["messages"][0]["content"] == "a\r\nb\r\nc"


def test_mixed_line_ends_are_announced(page: Page, make_prompt: Callable[..., str]) -> None:
    Workbench(page).open(make_prompt("a\r\nb\nc"))
    expect(page.locator("[data-block-note]").nth(1)).to_contain_text("Mixes kinds of line end")


def test_fields_without_a_control_survive_a_save(
    page: Page, make_prompt: Callable[..., str], api: httpx2.Client
) -> None:
    tools = '[ {"name": "look", "input_schema": {"type":"object"}} ]'
    fields = {"tools": tools, "tool_choice": {"type": "auto"}, "variables": [{"name": "x", "default": "1"}]}
    bench = Workbench(page).open(make_prompt("{{x}}", **fields))
    before = read_spec(api, bench.prompt_id, 1)
    bench.write(bench.text(), "!")
    bench.save()
    expect(bench.version).to_have_text("v2")
    after = read_spec(api, bench.prompt_id, 2)
    assert after["messages"][0]["content"] == "{{x}}!"
    assert {**after, "messages": before["messages"]} == before


def test_content_blocks_are_kept_and_edited_as_json(
    page: Page, make_prompt: Callable[..., str], api: httpx2.Client
) -> None:
    blocks = [{"type": "text", "text": "Hello {{name}}"}, {"type": "text", "text": "again"}]
    bench = Workbench(page).open(make_prompt("", messages=[{"role": "user", "content": blocks}]))
    expect(bench.value("name")).to_be_visible()
    bench.write(bench.system, "Short.")
    bench.save()
    expect(bench.version).to_have_text("v2")
    assert read_spec(api, bench.prompt_id, 2)["messages"][0]["content"] == blocks


def test_messages_are_added_moved_and_removed(page: Page, make_prompt: Callable[..., str], api: httpx2.Client) -> None:
    bench = Workbench(page).open(make_prompt("first"))
    page.get_by_role("button", name="Add message").click()
    page.keyboard.insert_text("second")
    page.get_by_role("button", name="Add message").click()
    page.keyboard.insert_text("third")
    page.get_by_role("button", name="Move up").nth(2).click()
    page.get_by_role("button", name="Remove").nth(0).click()
    page.get_by_role("button", name="Assistant", exact=True).click()
    bench.save()
    expect(bench.version).to_have_text("v2")
    assert read_spec(api, bench.prompt_id, 2)["messages"] == [
        {"role": "user", "content": "third"},
        {"role": "user", "content": "second"},
    ]


def test_an_empty_value_is_a_value_and_an_unset_one_is_not_sent(page: Page, make_prompt: Callable[..., str]) -> None:
    bench = Workbench(page).open(make_prompt("Say yes.{{ tail }}", max_tokens=3))
    bench.run()
    expect(page.locator("[data-toast]")).to_contain_text("Give a value to tail")
    page.get_by_role("button", name="Send empty text").click()
    bench.run()
    bench.wait_for_end()
    page.get_by_role("tab", name="Wire").click()
    expect(page.locator("[data-wire-request]")).to_contain_text('"Say yes."')


def test_unsaved_text_survives_another_width_of_the_window_and_leaving_the_page(
    page: Page, make_prompt: Callable[..., str]
) -> None:
    bench = Workbench(page).open(make_prompt("{{name}} kept"))
    page.locator("[data-parameters] summary").first.click()
    page.get_by_label("Temperature").fill("0.13")
    bench.write(bench.value("name"), "Ada")
    bench.write(bench.text(), " and more")
    whole = page.viewport_size
    assert whole is not None
    for width in (whole["width"] // 2, 390, whole["width"]):
        page.set_viewport_size({"width": width, "height": whole["height"]})
        expect(bench.text()).to_have_text("{{name}} kept and more")
        expect(bench.value("name")).to_have_text("Ada")
        expect(page.get_by_label("Temperature")).to_have_value("0.13")
    # Where the cursor was, too.
    page.keyboard.insert_text("!")
    expect(bench.text()).to_have_text("{{name}} kept and more!")
    page.keyboard.press("Backspace")
    page.get_by_label("Temperature").fill("")
    page.goto("/")
    page.go_back()
    bench.wait()
    expect(bench.text()).to_have_text("{{name}} kept and more")
    expect(bench.state).to_have_text("Unsaved")
    expect(page.locator("[data-notices]")).to_contain_text("is back")
    page.get_by_role("button", name="Discard it").click()
    bench.wait()
    expect(bench.text()).to_have_text("{{name}} kept")


def test_who_saves_second_is_told_and_keeps_a_branch(
    page: Page, make_prompt: Callable[..., str], api: httpx2.Client
) -> None:
    bench = Workbench(page).open(make_prompt("one"))
    save_version(api, bench.prompt_id, {**read_spec(api, bench.prompt_id, 1), "max_tokens": 5})
    bench.write(bench.text(), " two")
    bench.save()
    expect(page.locator("[data-notices]")).to_contain_text(
        "Somebody saved version 2 first; yours is kept as version 3 on branch main-3."
    )
    expect(page.locator("[data-branch-name]")).to_have_text("main-3")


def test_a_double_click_saves_one_version(page: Page, make_prompt: Callable[..., str], api: httpx2.Client) -> None:
    bench = Workbench(page).open(make_prompt("one"))
    bench.write(bench.text(), " two")
    page.keyboard.press("Control+s")
    page.get_by_role("button", name="Save version").dblclick()
    expect(bench.version).to_have_text("v2")
    assert len(api.get(f"prompts/{bench.prompt_id}/versions").json()["results"]) == 2


def test_nothing_fires_while_an_input_method_composes(page: Page, make_prompt: Callable[..., str]) -> None:
    bench = Workbench(page).open(make_prompt("Say yes.", max_tokens=3))
    composing = "new KeyboardEvent('keydown', {key: 'Enter', ctrlKey: true, isComposing: true, bubbles: true})"
    bench.text().evaluate(f"element => element.dispatchEvent({composing})")
    expect(bench.output).to_have_attribute("data-status", "idle")
    page.keyboard.press("Control+s")
    field = page.get_by_label("What changed")
    field.evaluate("element => element.form.addEventListener('submit', () => { window.sent = true; })")
    entered = "new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true, cancelable: true})"
    assert field.evaluate(f"element => element.dispatchEvent({entered})") is False
    expect(page.locator("#save")).to_be_visible()


@pytest.mark.parametrize(("label", "value"), [("Max tokens", "-5"), ("Top p", "abc")])
def test_a_wrong_field_is_named_where_it_stands(
    page: Page, make_prompt: Callable[..., str], complaints: Complaints, label: str, value: str
) -> None:
    complaints.expect("status of 400")
    bench = Workbench(page).open(make_prompt("Say yes."))
    page.locator("[data-parameters] summary").first.click()
    page.get_by_label(label).fill(value)
    page.keyboard.press("Control+s")
    page.keyboard.press("Enter")
    expect(page.locator(f'[data-field]:has-text("{label}") [data-field-error]')).not_to_be_empty()
    expect(page.locator("[data-toast]")).to_contain_text("Nothing was saved")
    expect(bench.version).to_have_text("v1")
    expect(page.get_by_label(label)).to_be_focused()
    expect(page.get_by_label(label)).to_have_value(value)


def test_a_cleared_number_is_left_out(page: Page, make_prompt: Callable[..., str], api: httpx2.Client) -> None:
    bench = Workbench(page).open(make_prompt("x", temperature=0.5, top_k=0))
    page.locator("[data-parameters] summary").first.click()
    page.get_by_label("Temperature").fill("")
    bench.save()
    expect(bench.version).to_have_text("v2")
    saved = read_spec(api, bench.prompt_id, 2)
    assert "temperature" not in saved
    assert saved["top_k"] == 0
