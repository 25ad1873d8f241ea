"""Lists on pages: newest first by a moment, continued by a cursor that is the moment and id of the last row shown."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from django.db.models import Model, Q, QuerySet

from accounts.models import User
from core.errors import InvalidInput
from playground.models import Prompt, VersionRun

ROWS = 50

Row = TypeVar("Row")


@dataclass(frozen=True, kw_only=True)
class Page(Generic[Row]):
    """`cursor` is where this page started ("" for the first), `next` where the following one does ("" on the last)."""

    rows: list[Row]
    cursor: str
    next: str

    def address(self, *, after: str | None = None) -> str:
        """The query that leads to the first page, or to the page after a cursor; "" if there is none."""
        if after == "":
            return ""
        return "?" + urlencode({"cursor": after} if after else {})


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """What the list shows of a run, without its texts."""

    id: uuid.UUID
    status: str
    model: str
    prompt: Prompt
    version_number: int
    input_tokens: int | None
    output_tokens: int | None
    duration_s: float | None
    created_at: dt.datetime


def page_of(rows: QuerySet[Any], *, moment: str, cursor: str | None) -> Page[Any]:
    """The next `ROWS` rows after `cursor`, by `moment`, then id. Raises InvalidInput for what is no cursor."""
    if cursor:
        at, pk = _read_cursor(cursor)
        rows = rows.filter(Q(**{f"{moment}__lt": at}) | Q(**{moment: at, "pk__lt": pk}))
    found: list[Model] = list(rows.order_by(f"-{moment}", "-pk")[: ROWS + 1])
    following = ""
    if len(found) > ROWS:
        found = found[:ROWS]
        following = f"{getattr(found[-1], moment).isoformat()}_{found[-1].pk}"
    return Page(rows=found, cursor=cursor or "", next=following)


def runs_page(person: User, *, cursor: str | None) -> Page[RunRow]:
    """This person's runs. Run ids are UUIDv7, so their order is the order of creation."""
    rows = VersionRun.objects.visible_to(person).select_related("run", "version__prompt")
    rows = rows.defer("variables", "version__spec", *(f"run__{name}" for name in _RUN_TEXTS))
    if cursor:
        rows = rows.filter(pk__lt=_read_id(cursor))
    found = list(rows.order_by("-pk")[: ROWS + 1])
    following = str(found[ROWS - 1].pk) if len(found) > ROWS else ""
    return Page(rows=[_run_row(row) for row in found[:ROWS]], cursor=cursor or "", next=following)


_RUN_TEXTS = ("request", "wire_request", "output_json", "response_json")


def _run_row(row: VersionRun) -> RunRow:
    run = row.run
    ended, began = run.finished_at, run.queued_at
    return RunRow(
        id=run.pk,
        status=run.status,
        model=run.model,
        prompt=row.version.prompt,
        version_number=row.version.number,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        duration_s=(ended - began).total_seconds() if ended else None,
        created_at=began,
    )


def _read_cursor(cursor: str) -> tuple[dt.datetime, uuid.UUID]:
    moment, _, pk = cursor.rpartition("_")
    try:
        return dt.datetime.fromisoformat(moment.replace(" ", "+")), uuid.UUID(pk)
    except ValueError as error:
        raise InvalidInput("This address does not lead to a page of the list.", field="cursor") from error


def _read_id(cursor: str) -> uuid.UUID:
    try:
        return uuid.UUID(cursor)
    except ValueError as error:
        raise InvalidInput("This address does not lead to a page of the list.", field="cursor") from error
