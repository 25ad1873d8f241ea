"""Snippets as text: what they must and must not contain. That they make the same call is tested by running them."""

from __future__ import annotations

import ast
import json
import subprocess
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playground import snippets, targets
from playground.snippets import powershell, python, shell, typescript

BASE = "http://127.0.0.1:9"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
def test_a_python_literal_means_the_value(value: Any) -> None:
    assert ast.literal_eval(python.literal(value, 1)) == value


def body(text: str) -> dict[str, Any]:
    return {
        "model": "m",
        "max_tokens": 5,
        "temperature": 0,
        "messages": [{"role": "user", "content": text}],
        "stream": True,
    }


@given(st.text())
def test_the_python_script_parses_whatever_the_text_is(text: str) -> None:
    ast.parse(python.render(body(text), base_url=BASE, api_version="2023-06-01"))


@pytest.mark.parametrize(
    "text",
    ["it's", '"', "$HOME `id` $(id)", "!!", "back\\slash\\n", "REQUEST\nREQUEST", "EOF", "日本 👍", "\x00\x07", "%s"],
)
def test_bash_hands_curl_exactly_the_body(text: str) -> None:
    """`curl` is replaced by `cat`, which shows what would have been sent."""
    script = shell.render(body(text), base_url=BASE, api_version="2023-06-01")
    shown = subprocess.run(
        ["bash", "-c", "curl() { cat; }\n" + script], capture_output=True, check=True, timeout=60
    ).stdout
    assert json.loads(shown) == body(text)


@pytest.mark.parametrize("language", list(snippets.LANGUAGES))
def test_no_key_is_ever_in_a_snippet(language: str) -> None:
    text = snippets.LANGUAGES[language](body("x"), base_url=BASE, api_version="2023-06-01")
    assert "ppk_" not in text
    assert "api_key=" not in text
    assert "apiKey" not in text


def test_a_base_url_cannot_break_out_of_the_command() -> None:
    script = shell.render(body("x"), base_url="http://h/'; touch /tmp/owned; '", api_version="2023-06-01")
    listed = subprocess.run(
        ["bash", "-c", 'curl() { printf "%s\\n" "$@"; }\n' + script],
        capture_output=True,
        check=True,
        timeout=60,
        text=True,
    ).stdout
    assert "http://h/'; touch /tmp/owned; '/v1/messages" in listed.splitlines()


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("language", ["curl", "powershell"])
def test_the_key_travels_as_the_version_of_the_api_takes_it(language: str, streams: bool) -> None:
    wanted = {**body("x"), "stream": streams}
    with_header, with_bearer = (
        snippets.LANGUAGES[language](wanted, base_url=BASE, api_version=version)
        for version in ("2023-06-01", "2026-10-21")
    )
    assert "x-api-key" in with_header
    assert "Bearer" not in with_header
    assert "x-api-key" not in with_bearer
    assert "Authorization" in with_bearer
    assert "Bearer $" in with_bearer


def here_string(script: str) -> str:
    """What PowerShell reads between `@'` at the end of a line and the first line that begins with `'@`."""
    _, _, rest = script.partition("@'\n")
    inside, mark, _ = rest.partition("\n'@")
    assert mark
    return inside


@pytest.mark.parametrize("streams", [True, False])
@given(text=st.text())
def test_powershell_holds_exactly_the_body_in_ascii(text: str, streams: bool) -> None:
    wanted = {**body(text), "stream": True} if streams else {k: v for k, v in body(text).items() if k != "stream"}
    script = powershell.render(wanted, base_url=BASE, api_version="2023-06-01")
    assert script.isascii()
    assert json.loads(here_string(script)) == wanted


def test_quotes_cannot_break_out_of_the_powershell_command() -> None:
    script = powershell.render(body("x"), base_url="http://h/'; rm x; \u2019; y", api_version="2023-06-01")
    assert "'http://h/''; rm x; \u2019\u2019; y/v1/messages'" in script


@given(st.lists(st.dictionaries(st.text() | st.just("__proto__"), json_values, max_size=4), max_size=3))
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_a_typescript_literal_means_the_value(values: list[Any]) -> None:
    """All examples of one go in one process of Node.js."""
    script = typescript.render(
        {"model": "m", "max_tokens": 1, "messages": values}, base_url=BASE, api_version="2023-06-01"
    )
    literal = script.partition("  messages: ")[2].rpartition("\n});")[0].removesuffix(",")
    shown = subprocess.run(
        ["node", "--input-type=module"],
        input=f"const value = {literal};\nconsole.log(JSON.stringify(value));",
        capture_output=True,
        check=True,
        timeout=20,
        text=True,
    ).stdout
    assert json.loads(shown) == values


def test_what_the_target_refuses_is_told_by_field() -> None:
    asked = {
        **body("x"),
        "top_k": 5,
        "tools": [{"name": "look", "input_schema": {}}],
        "messages": [{"role": "assistant", "content": "{"}],
    }
    capabilities = {"top_k": False, "prefill": False, "own_tools": False}
    told = targets.misfits(asked, api_version="2026-10-21", capabilities=capabilities)
    assert [each.field for each in told] == ["temperature", "top_k", "top_k", "messages", "tool_choice"]
    assert not targets.misfits(body("x"), api_version="2023-06-01", capabilities=capabilities)
    assert not targets.misfits({**asked, "temperature": 1}, api_version="2023-06-01")


def test_what_travels_otherwise_is_said_beside_the_snippet() -> None:
    [note] = targets.sdk_notes({**body("x"), "top_p": 0.5}, "python")
    assert "temperature, top_p" in note.message
    assert not note.refused
    assert targets.sdk_notes(body("x"), "curl") == []
    assert targets.sdk_notes(body("x"), "batch")[0].field == "stream"
