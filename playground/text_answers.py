"""What is answered when a text of a version is read in windows. Whoever calls has asked whether it may be read."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict

from core.errors import InvalidInput, NotFound
from playground import freezing
from playground.api.ranges import Unsatisfiable, parse_range
from playground.bodies.held import ReadText
from playground.bodies.recent import recent_texts
from playground.long_texts import search
from playground.models import Version

MAX_WORDS = 1000
SEARCH_S = 0.5
FOR_EVER = "private, max-age=31536000, immutable"
NOT_KEPT = "private, no-store"


@dataclass(frozen=True, kw_only=True)
class AskedText:
    """A text of a version that may be read. `cache`: whether the browser may keep it."""

    version: Version
    index: int
    sha256: str
    cache: str

    @property
    def headers(self) -> dict[str, str]:
        return {"ETag": f'"{self.sha256}"', "Cache-Control": self.cache, "Vary": "Cookie, Authorization"}

    def is_known(self, request: HttpRequest) -> bool:
        tags = [tag.strip().removeprefix("W/") for tag in request.headers.get("If-None-Match", "").split(",")]
        return self.headers["ETag"] in tags or "*" in tags

    def read(self) -> ReadText:
        return recent_texts.get(prompt_id=self.version.prompt_id, sha256=self.sha256)


def asked_text(version: Version, index: int, *, cache: str) -> AskedText:
    """The `index`th text of a version, from 0, in the order of the request. Raises NotFound."""
    names = freezing.references(version.frozen)
    if index >= len(names):
        raise NotFound
    return AskedText(version=version, index=index, sha256=names[index], cache=cache)


def send(request: HttpRequest, asked: AskedText) -> HttpResponse:
    """The text in UTF-8, whole or the `Range` asked for, which may cut a character. Raises StorageUnavailable."""
    if asked.is_known(request):
        return HttpResponse(status=304, headers=asked.headers)
    data = asked.read().data
    headers = {
        **asked.headers,
        "Accept-Ranges": "bytes",
        "Content-Disposition": f'attachment; filename="version-{asked.version.number}-text-{asked.index}.txt"',
        "X-Content-Type-Options": "nosniff",
    }
    given = request.headers.get("Range")
    if request.headers.get("If-Range", headers["ETag"]) != headers["ETag"]:
        given = None
    try:
        window = parse_range(given, len(data))
    except Unsatisfiable:
        headers["Content-Range"] = f"bytes */{len(data)}"
        headers["Cache-Control"] = "no-store"
        return HttpResponse(status=416, headers=headers)
    plain = "text/plain; charset=utf-8"
    if window is None:
        return HttpResponse(data, content_type=plain, headers=headers)
    first, last = window
    headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
    return HttpResponse(data[first : last + 1], status=206, content_type=plain, headers=headers)


def lines_of(asked: AskedText) -> dict[str, Any]:
    """How long it is and where its lines are. Raises StorageUnavailable."""
    found = asked.read().lines
    return {
        "sha256": asked.sha256,
        "bytes": found.byte_length,
        "lines": found.lines,
        "longest_line_bytes": found.longest_line,
        "index": [[mark.offset, mark.line, mark.utf16] for mark in found.landmarks],
    }


@dataclass(frozen=True, kw_only=True)
class Search:
    """What to find in a text, literally. `start`: the byte to begin at; `most`: matches at once."""

    words: str
    start: int
    most: int
    match_case: bool

    @classmethod
    def read(cls, given: QueryDict) -> Search:
        """From `q`, `from`, `limit` and `case` of an address. Raises InvalidInput."""
        words = given.get("q", "")
        if not 0 < len(words) <= MAX_WORDS:
            raise InvalidInput(f"Say what to find, in 1 to {MAX_WORDS} characters.", field="q")
        case = given.get("case", "ignore")
        if case not in ("match", "ignore"):
            raise InvalidInput("Case is `match` or `ignore`.", field="case")
        start, most = (_number(given, name, default) for name, default in (("from", 0), ("limit", 100)))
        return cls(words=words, start=start, most=max(1, min(most, 500)), match_case=case == "match")


def search_in(asked: AskedText, wanted: Search) -> dict[str, Any]:
    """Where it is written. Bounded in number and time: go on from `next`. Raises StorageUnavailable."""
    text = asked.read()
    deadline = time.monotonic() + SEARCH_S
    found = search(
        text.data,
        text.lines,
        wanted.words,
        start=wanted.start,
        match_case=wanted.match_case,
        most=wanted.most,
        out_of_time=lambda: time.monotonic() > deadline,
    )
    return dataclasses.asdict(found)


def _number(given: QueryDict, name: str, default: int) -> int:
    written = given.get(name, "")
    if not written:
        return default
    if not (written.isascii() and written.isdecimal() and len(written) < 19):
        raise InvalidInput("This is a whole number from 0.", field=name)
    return int(written)
