"""Lists on pages: newest first by a moment, continued by a cursor that is the moment and id of the last row shown."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, Q, QuerySet

from core.errors import InvalidInput

ROWS = 50

Row = TypeVar("Row")


@dataclass(frozen=True, kw_only=True)
class Page(Generic[Row]):
    """`cursor` is where this page started ("" for the first), `next` where the following one does ("" on the last)."""

    rows: list[Row]
    cursor: str
    next: str


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


def _read_cursor(cursor: str) -> tuple[dt.datetime, uuid.UUID]:
    moment, _, pk = cursor.rpartition("_")
    try:
        return dt.datetime.fromisoformat(moment.replace(" ", "+")), uuid.UUID(pk)
    except ValueError as error:
        raise InvalidInput("This address does not lead to a page of the list.", field="cursor") from error
