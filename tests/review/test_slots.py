"""Which text of one version may hold what a text of another held."""

from __future__ import annotations

from typing import Any

from playground.freezing import references
from review.slots import Slot, heirs_of, slots_of


def body(name: str) -> dict[str, str]:
    return {"body": name}


def frozen(*messages: Any, **fields: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    listed = [{"role": roles[index % 2], "content": content} for index, content in enumerate(messages)]
    return {"model": "m", **fields, "messages": listed}


def slots(*messages: str, **fields: Any) -> list[Slot]:
    return slots_of(frozen(*map(body, messages), **fields))


def test_texts_are_numbered_as_everywhere_else_and_say_where_they_are() -> None:
    blocks = [
        {"type": "text", "text": body("b1")},
        {"type": "image", "source": {}},
        {"type": "text", "text": body("b2")},
    ]
    spec = frozen(body("one"), blocks, system=body("sys"), tools=body("tools"), output_schema=body("schema"))
    found = slots_of(spec)
    assert [each.sha256 for each in found] == references(spec)
    assert [each.index for each in found] == list(range(6))
    assert [(each.place, each.role) for each in found] == [
        ("system", "system"),
        ("messages.0", "user"),
        ("messages.1.0", "assistant"),
        ("messages.1.1", "assistant"),
        ("tools", "tools"),
        ("output_schema", "output_schema"),
    ]


def test_an_unchanged_text_is_itself_wherever_it_went() -> None:
    old, new = slots("a", "b", "c"), slots("x", "y", "a", "b")
    assert heirs_of(old[0], old, new).same == new[2]


def test_of_two_equal_texts_the_one_in_line_is_meant() -> None:
    old, new = slots("a", "b", "a"), slots("a", "x", "a")
    assert heirs_of(old[2], old, new).same == new[2]
    assert heirs_of(old[0], old, new).same == new[0]


def test_a_changed_text_is_looked_for_in_what_took_its_place() -> None:
    old, new = slots("a", "b", "c"), slots("a", "b2", "c")
    heirs = heirs_of(old[1], old, new)
    assert (heirs.same, heirs.likely, heirs.others) == (None, (new[1],), ())


def test_only_in_one_of_its_own_kind_and_elsewhere_as_a_guess() -> None:
    old = slots("a", system=body("s"))
    new = slots("a2", system=body("s2"))
    heirs = heirs_of(old[1], old, new)
    assert (heirs.likely, heirs.others) == ((new[1],), (new[0],))


def test_a_text_that_is_gone_has_no_heir() -> None:
    old, new = slots("a", "b", "c", "d"), slots("a")
    heirs = heirs_of(old[1], old, new)
    assert (heirs.same, heirs.likely, heirs.others) == (None, (), ())
