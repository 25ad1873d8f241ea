"""Variables: the table that browser and server share, and what must hold for any text."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground import template

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "data" / "template_cases.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", CASES, ids=[case["text"][:30] for case in CASES])
def test_the_shared_table(case: dict[str, Any]) -> None:
    values = {unicodedata.normalize("NFC", name): value for name, value in case["values"].items()}
    assert template.substitute(case["text"], values) == case["rendered"]
    assert template.names(case["text"]) == case["names"]


@given(st.text())
def test_a_text_without_braces_is_never_changed(text: str) -> None:
    plain = text.replace("{", "").replace("}", "")
    assert template.substitute(plain, {"a": "x"}) == plain


@given(st.text())
def test_any_value_arrives_literally(value: str) -> None:
    assert template.substitute("<{{v}}>", {"v": value}) == f"<{value}>"


@given(st.text(alphabet="{}ab- \té"), st.text(), st.text())
def test_the_order_of_values_cannot_matter(text: str, a: str, b: str) -> None:
    assert template.substitute(text, {"a": a, "b": b}) == template.substitute(text, {"b": b, "a": a})


@given(st.text(alphabet="{}ab- \té\n"))
def test_what_is_found_is_what_is_replaced(text: str) -> None:
    found = template.placeholders(text)
    marked = template.substitute(text, {place.name: "" for place in found})
    expected, position = "", 0
    for place in found:
        expected += text[position : place.start].replace("{{{{", "{{")
        position = place.end
    assert marked == expected + text[position:].replace("{{{{", "{{")


def test_a_name_of_more_than_100_characters_is_text() -> None:
    assert template.names("{{" + "a" * 100 + "}}") == ["a" * 100]
    assert template.names("{{" + "a" * 101 + "}}") == []
