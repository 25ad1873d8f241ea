"""Snippets as text: what they must and must not contain. That they make the same call is tested by running them."""

from __future__ import annotations

import ast
import json
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground import snippets

BASE = "http://127.0.0.1:9"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
def test_a_python_literal_means_the_value(value: Any) -> None:
    assert ast.literal_eval(snippets.literal(value, 1)) == value


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
    ast.parse(snippets.python(body(text), base_url=BASE, api_version="2023-06-01"))


@pytest.mark.parametrize(
    "text",
    ["it's", '"', "$HOME `id` $(id)", "!!", "back\\slash\\n", "REQUEST\nREQUEST", "EOF", "日本 👍", "\x00\x07", "%s"],
)
def test_bash_hands_curl_exactly_the_body(text: str) -> None:
    """`curl` is replaced by `cat`, which shows what would have been sent."""
    script = snippets.curl(body(text), base_url=BASE, api_version="2023-06-01")
    shown = subprocess.run(
        ["bash", "-c", "curl() { cat; }\n" + script], capture_output=True, check=True, timeout=10
    ).stdout
    assert json.loads(shown) == body(text)


@pytest.mark.parametrize("language", list(snippets.LANGUAGES))
def test_no_key_is_ever_in_a_snippet(language: str) -> None:
    text = snippets.LANGUAGES[language](body("x"), base_url=BASE, api_version="2023-06-01")
    assert "ppk_" not in text
    assert "api_key=" not in text


def test_a_base_url_cannot_break_out_of_the_command() -> None:
    script = snippets.curl(body("x"), base_url="http://h/'; touch /tmp/owned; '", api_version="2023-06-01")
    listed = subprocess.run(
        ["bash", "-c", 'curl() { printf "%s\\n" "$@"; }\n' + script],
        capture_output=True,
        check=True,
        timeout=10,
        text=True,
    ).stdout
    assert "http://h/'; touch /tmp/owned; '/v1/messages" in listed.splitlines()
