"""Threads as data for the API and the pages, for one person and one version. A fixed number of queries."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import F, Q, Window
from django.db.models.functions import RowNumber

from accounts.models import User
from playground.models import Version
from review.models import Comment, Placement, Thread

#: Besides the first comment, how many of the latest a list shows.
LATEST = 3

Json = dict[str, Any]


def present(threads: Sequence[Thread], *, version: Version | None, person: User, whole: bool = False) -> list[Json]:
    """Each with its place in `version` (None: in the one it was written on), and its comments: `whole`, all of them."""
    placements = _placements(threads, version)
    comments, counts = _comments(threads, whole=whole)
    return [
        {
            "id": thread.pk,
            "prompt": thread.prompt_id,
            "version": thread.version.number,
            "state": "resolved" if thread.resolved_at else "open",
            "resolved_by": _person(thread.resolved_by),
            "resolved_at": thread.resolved_at,
            "created_at": thread.created_at,
            "quote": _text(thread.quote) if thread.is_on_passage else None,
            "placement": _placement(thread, version or thread.version, placements.get(thread.pk)),
            "comments": [comment_json(each, person) for each in comments[thread.pk]],
            "comment_count": counts[thread.pk],
        }
        for thread in threads
    ]


def comment_json(comment: Comment, person: User) -> Json:
    return {
        "id": comment.pk,
        "thread": comment.thread_id,
        "author": _person(comment.author),
        "body": comment.body,
        "mentions": [_person(each.person) for each in comment.mentions.all()],
        "created_at": comment.created_at,
        "edited_at": comment.edited_at,
        "deleted": comment.deleted_at is not None,
        "mine": comment.author_id == person.pk,
    }


def _person(person: User | None) -> Json | None:
    return {"id": person.pk, "name": person.label} if person else None


def _text(words: bytes | memoryview) -> str:
    return bytes(words).decode("utf-8")


def _placements(threads: Sequence[Thread], version: Version | None) -> dict[uuid.UUID, Placement]:
    rows = Placement.objects.filter(thread__in=threads).select_related("decided_by")
    rows = rows.filter(version=version) if version else rows.filter(version=F("thread__version"))
    return {each.thread_id: each for each in rows}


def _placement(thread: Thread, version: Version, found: Placement | None) -> Json:
    nowhere = {"text": None, "code_points": None, "utf16": None, "bytes": None, "quote": None, "decided_by": None}
    if found is None:
        state = "pending" if thread.is_on_passage else "whole"
        return {"version": version.number, "state": state, "method": "", "confidence": 1.0, **nowhere}
    said = {
        "version": version.number,
        "state": found.state,
        "method": found.method,
        "confidence": found.confidence,
    }
    if found.text_index is None:
        return {**said, **nowhere, "decided_by": _person(found.decided_by)}
    return {
        **said,
        "text": found.text_index,
        "code_points": {"start": found.point_start, "end": found.point_end},
        "utf16": {"start": found.unit_start, "end": found.unit_end},
        "bytes": {"start": found.start, "end": found.end},
        "quote": _text(found.words),
        "decided_by": _person(found.decided_by),
    }


def _comments(threads: Iterable[Thread], *, whole: bool) -> tuple[dict[uuid.UUID, list[Comment]], dict[uuid.UUID, int]]:
    """By thread, oldest first; and how many there are that were not deleted."""
    rows = Comment.objects.filter(thread__in=threads)
    counts: dict[uuid.UUID, int] = defaultdict(int)
    for pk in rows.filter(deleted_at=None).values_list("thread_id", flat=True):
        counts[pk] += 1
    if not whole:
        here = Window(RowNumber(), partition_by="thread", order_by="pk")
        from_end = Window(RowNumber(), partition_by="thread", order_by="-pk")
        rows = rows.annotate(place=here, place_from_end=from_end).filter(Q(place=1) | Q(place_from_end__lte=LATEST))
    found: dict[uuid.UUID, list[Comment]] = defaultdict(list)
    for each in rows.select_related("author").prefetch_related("mentions__person").order_by("pk"):
        found[each.thread_id].append(each)
    return found, counts
