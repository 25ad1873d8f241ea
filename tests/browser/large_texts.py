"""Large texts for the tests: made, sent, and read back."""

from __future__ import annotations

import hashlib
from typing import Any

import httpx2

from tests.waiting import wait_until

MB = 1_000_000


def many_lines(size: int) -> bytes:
    """Numbered lines with characters of one to four bytes, `size` bytes or a few more."""
    lines: list[bytes] = []
    length = 0
    while length < size:
        lines.append(f"{len(lines) + 1}: a line that mentions é, 質 and 😀 and goes on for a while\n".encode())
        length += len(lines[-1])
    return b"".join(lines)


def one_line(size: int) -> bytes:
    return (b"a sentence without any end of line, " * (size // 36 + 1))[:size] + b"and the last words"


def send(api: httpx2.Client, prompt: str, data: bytes) -> str:
    """The id of a complete upload."""
    announced = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    upload = api.post(f"prompts/{prompt}/uploads", json=announced).raise_for_status().json()
    httpx2.put(upload["url"], headers=upload["headers"], content=data, timeout=60).raise_for_status()
    state = api.post(f"uploads/{upload['id']}/complete").raise_for_status().json()

    def is_settled() -> bool:
        state.update(api.get(f"uploads/{upload['id']}").json())
        return state["status"] not in ("pending", "processing")

    wait_until(is_settled, every_s=0.2)
    assert state["status"] == "complete", state
    return str(upload["id"])


def read_text(api: httpx2.Client, prompt: str, number: int, index: int = 0) -> bytes:
    answer: Any = api.get(f"prompts/{prompt}/versions/{number}/texts/{index}", timeout=60)
    return bytes(answer.raise_for_status().content)
