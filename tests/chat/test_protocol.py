"""docs/protocol.md says what the code does: every frame, every close code, every limit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from chat import protocol
from chat.limits import Buckets
from chat.protocol import Close
from chat.services.conversations import MAX_STARTED
from chat.text import MAX_BYTES, MAX_CODE_POINTS
from core.errors import DomainError
from core.sockets import CLOSE_UNKNOWN_PATH

TEXT = Path(settings.BASE_DIR, "docs", "protocol.md").read_text(encoding="utf-8")


def table(title: str) -> list[list[str]]:
    section = TEXT.split(f"## {title}\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_every_frame_of_the_client_is_described_and_no_other() -> None:
    assert [row[0].strip("`") for row in table("Frames of the client")] == list(protocol.CLIENT_TYPES)


def test_every_frame_of_the_server_is_described_and_no_other() -> None:
    assert {row[0].strip("`") for row in table("Frames of the server")} == set(protocol.SERVER_TYPES)


def test_every_type_that_the_code_writes_is_a_frame_of_the_server() -> None:
    written: set[str] = set()
    for module in ("announcing", "conversing", "device", "hub", "protocol"):
        source = Path(settings.BASE_DIR, "chat", f"{module}.py").read_text(encoding="utf-8")
        written |= set(re.findall(r'"type": ?"([a-z]+)"', source))
    assert written == set(protocol.SERVER_TYPES)


def test_every_close_code_is_described_with_whether_to_come_back() -> None:
    described = {(int(row[0]), row[1]): row[3].startswith("yes") for row in table("Close codes")}

    assert set(described) == {(code.value, code.name) for code in Close}
    for (code, name), come_back in described.items():
        assert come_back is (not 4400 <= code < 4500 or name == "SLOW")
    assert Close.UNKNOWN_PATH == CLOSE_UNKNOWN_PATH


def test_the_fields_of_each_client_frame_are_described() -> None:
    for name, fields in {row[0].strip("`"): row[1] for row in table("Frames of the client")}.items():
        frame = getattr(protocol, name.capitalize())
        described = set(re.findall(r"`(\w+)`", fields))
        assert set(frame.__dataclass_fields__) == described, name


def test_the_limits_are_those_of_the_code() -> None:
    assert f"version {protocol.VERSION}" in TEXT
    for said in (
        f"{protocol.MAX_FRAME_BYTES // 1024} KiB",
        f"{MAX_CODE_POINTS:,} characters and {MAX_BYTES // 1024} KiB",
        f"{MAX_STARTED} new conversations",
        f"at most {protocol.MAX_PEERS} ids",
        f"at most {protocol.PAGE_EVENTS} events",
        f"within {protocol.HELLO_WITHIN_S:.0f} s",
        f"After {protocol.SILENT_AFTER_S:.0f} s",
        f"every {protocol.PING_EVERY_S:.0f} s",
        f"at most every {protocol.TYPING_EVERY_S:.0f} s, shown for {protocol.TYPING_SHOWN_S:.0f} s",
    ):
        assert said in TEXT, said


@given(st.text(max_size=200))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    try:
        protocol.parse(text)
    except DomainError:
        return


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=5))
def test_no_field_does_more_than_be_refused(value: object) -> None:
    for kind in protocol.CLIENT_TYPES:
        frame = dict.fromkeys(("protocol", "page", "have", "conversation", "id", "body", "reference", "upto"), value)
        try:
            protocol.parse(protocol.dump({**frame, "type": kind, "peers": value, "gen": value, "message": value}))
        except DomainError as error:
            assert protocol.failed(error, about=None)["permanent"]  # noqa: PT017  # most are refused, some are frames


def test_a_bucket_gives_what_it_holds_and_then_what_flows_in() -> None:
    now = [0.0]
    buckets = Buckets(capacity=3, refill_per_s=1, clock=lambda: now[0])

    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 1]
    assert buckets.take("b") == 0
    now[0] = 1.5
    assert buckets.take("a") == 0
    assert buckets.take("a") == pytest.approx(0.5)


def test_forgotten_buckets_are_those_that_were_not_used() -> None:
    buckets = Buckets(capacity=1, refill_per_s=0.001, clock=lambda: 0.0, most=2)

    assert [buckets.take(key) for key in ("a", "b", "a")] == [0, 0, 1000]
    buckets.take("c")
    assert buckets.take("a") > 0
