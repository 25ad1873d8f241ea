"""Windows onto long lists by number: `offset` and `limit` of a call."""

from __future__ import annotations

from dataclasses import dataclass

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from batches.rows import MOST_ROWS
from core.errors import InvalidInput

OFFSET = OpenApiParameter("offset", OpenApiTypes.INT, description="Number of the first row, from 0.")
LIMIT = OpenApiParameter("limit", OpenApiTypes.INT, description="Rows a page.")


@dataclass(frozen=True, kw_only=True)
class Window:
    offset: int
    limit: int


def window_asked(request: Request, *, default: int, most: int) -> Window:
    """`cursor` is taken for `offset`: the `next` of a page names one. Raises InvalidInput."""
    offset = request.query_params.get("offset", request.query_params.get("cursor"))
    return Window(
        offset=_number(offset, "offset", default=0, least=0, most=MOST_ROWS),
        limit=_number(request.query_params.get("limit"), "limit", default=default, least=1, most=most),
    )


def _number(given: str | None, field: str, *, default: int, least: int, most: int) -> int:
    if given is None:
        return default
    if not given.isascii() or not given.isdigit() or not least <= int(given[:9]) <= most:
        raise InvalidInput(f"A number from {least} to {most:,}.", field=field)
    return int(given)
