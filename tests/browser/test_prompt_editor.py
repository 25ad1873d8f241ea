"""The editor holds everything that a version freezes, and changes none of it by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
from playwright.sync_api import Page, expect

from tests.browser.conftest import read_spec
from tests.browser.workbench import Workbench

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
CALL = {"type": "tool_use", "id": "toolu_01", "name": "look_up", "input": {"z": 1, "a": {"ключ": [True, None]}}}
MESSAGES: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "Look {{place}} up \u202bمرحبا\u202c", "cache_control": {"type": "ephemeral"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "a b"},
                "title": "Notes",
            },
        ],
    },
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.\n", "signature": "c2ln"}, CALL]},
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_01", "content": "Found  it \n", "is_error": False},
            {"type": "tool_result", "tool_use_id": "toolu_02", "content": [{"type": "text", "text": "as blocks"}]},
        ],
    },
    {"role": "assistant", "content": "{"},
]
TOOLS = json.dumps(
    [
        {
            "name": f"tool_{number}",
            "description": f"Does thing {number}.",
            "input_schema": {"type": "object", "z": number},
        }
        for number in range(12)
    ],
    indent=1,
)
SCHEMA = '{ "type":"object",\n "$defs":{"b":{"type":"string"},"a":{}},  "properties":{"z":{"$ref":"#/$defs/b"}} }'
PARAMETERS = {
    "tools": TOOLS,
    "output_schema": SCHEMA,
    "tool_choice": {"type": "tool", "name": "tool_3", "disable_parallel_tool_use": True},
    "thinking": {"type": "enabled", "budget_tokens": 2048, "display": "omitted"},
    "max_tokens": 4096,
    "temperature": 0,
    "top_k": 0,
    "stop_sequences": ["\n\n", "END"],
    "api_version": "2023-06-01",
}


def test_everything_that_a_version_freezes_comes_back_as_it_was(
    page: Page, make_prompt: Callable[..., str], api: httpx2.Client
) -> None:
    bench = Workbench(page).open(make_prompt("", messages=MESSAGES, **PARAMETERS))
    expect(bench.state).to_have_text("Saved")
    before = read_spec(api, bench.prompt_id, 1)
    bench.write(bench.system, "Be brief.")
    bench.save()
    expect(bench.version).to_have_text("v2")
    assert read_spec(api, bench.prompt_id, 2) == {**before, "system": "Be brief."}

    page.locator("[data-parameters] summary").first.click()
    expect(page.get_by_label("Budget for thinking")).to_have_value("2048")
    page.get_by_label("Budget for thinking").fill("1024")
    page.get_by_label("Temperature").fill("")
    page.get_by_label("One call at a time").uncheck()
    page.get_by_role("button", name="Add tool").click()
    page.get_by_label("Result", exact=True).click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("!")
    bench.save()
    expect(bench.version).to_have_text("v3")
    after = read_spec(api, bench.prompt_id, 3)
    assert after["thinking"] == {"type": "enabled", "budget_tokens": 1024, "display": "omitted"}
    assert "temperature" not in after
    assert after["top_k"] == 0
    assert after["tool_choice"] == {"type": "tool", "name": "tool_3"}
    assert after["tools"].startswith(TOOLS.rstrip("]\n "))
    assert json.loads(after["tools"])[12]["name"] == "my_tool"
    assert after["messages"][2]["content"][0]["content"] == "Found  it \n!"
    assert after["messages"][:2] == MESSAGES[:2]

    last = page.get_by_role("article", name="Assistant, message 4 of 4")
    last.get_by_role("button", name="Add a content block").press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(last.get_by_label("Name of the tool")).to_be_focused()
    page.keyboard.insert_text("look_up")
    bench.save()
    expect(bench.version).to_have_text("v4")
    text, call = read_spec(api, bench.prompt_id, 4)["messages"][3]["content"]
    assert text == {"type": "text", "text": "{"}
    assert (call["type"], call["name"], call["input"]) == ("tool_use", "look_up", {})
    assert page.evaluate("document.documentElement.scrollWidth") <= 1440


def test_messages_are_reordered_deleted_and_put_back_by_keyboard(
    page: Page, make_prompt: Callable[..., str], api: httpx2.Client
) -> None:
    texts = [{"role": "user" if number % 2 == 0 else "assistant", "content": f"text {number}"} for number in range(5)]
    bench = Workbench(page).open(make_prompt("", messages=texts))
    grip = page.get_by_role("article", name="User, message 3 of 5").get_by_role("button", name="Move: drag")
    grip.focus()
    page.keyboard.press("Alt+ArrowUp")
    page.keyboard.press("Alt+ArrowUp")
    expect(page.get_by_role("article", name="User, message 1 of 5")).to_contain_text("text 2")
    expect(page.locator("[data-blocks-said]")).to_have_text("Message 1 of 5 now")
    page.keyboard.press("Alt+ArrowDown")
    expect(page.get_by_role("article", name="User, message 2 of 5")).to_contain_text("text 2")
    page.get_by_role("article", name="Assistant, message 4 of 5").get_by_role("button", name="Remove").press("Enter")
    expect(page.locator("[data-notices]")).to_contain_text("Message 4 was deleted.")
    expect(bench.text(3)).to_have_text("text 4")
    page.get_by_role("button", name="Put it back").press("Enter")
    expect(bench.text(3)).to_have_text("text 3")
    page.get_by_role("button", name="Add message").press("Enter")
    page.keyboard.insert_text("{ ")
    last = page.get_by_role("article", name="Assistant, message 6 of 6")
    expect(last).to_contain_text("Prefill")
    expect(last).to_contain_text("Ends in a blank")
    bench.run()
    expect(page.locator("[data-toast]")).to_contain_text("ends in a blank")
    expect(bench.version).to_have_text("v1")
    page.keyboard.press("Backspace")
    expect(last).not_to_contain_text("Ends in a blank")
    bench.save()
    expect(bench.version).to_have_text("v2")
    contents = [message["content"] for message in read_spec(api, bench.prompt_id, 2)["messages"]]
    assert contents == ["text 0", "text 2", "text 1", "text 3", "text 4", "{"]


def test_two_thousand_messages_are_made_as_they_come_into_view(
    page: Page, make_prompt: Callable[..., str], api: httpx2.Client
) -> None:
    messages = [
        {"role": "user" if number % 2 == 0 else "assistant", "content": f"Message {number} greets {{{{name}}}}. " * 3}
        for number in range(1_999)
    ]
    bench = Workbench(page).open(make_prompt("", messages=messages))
    expect(page.get_by_role("article")).to_have_count(2_000)
    assert page.locator(".cm-editor").count() < 100
    bench.write(bench.text(0), "First!")
    page.get_by_role("button", name="Add message").press("Enter")
    page.keyboard.insert_text("Last!")
    expect(page.get_by_role("article", name="message 2000 of 2000")).to_contain_text("Last!")
    assert page.locator(".cm-editor").count() < 200
    bench.save()
    expect(bench.version).to_have_text("v2")
    saved = [message["content"] for message in read_spec(api, bench.prompt_id, 2)["messages"]]
    assert saved == [f"{messages[0]['content']}First!", *(message["content"] for message in messages[1:]), "Last!"]
