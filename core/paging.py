"""Lists of the API: newest first, `{"results", "next"}`, continued by a cursor that is the last id shown.

Ids are UUIDv7 (or a counter), so their order is the order of creation, and rows added meanwhile shift nothing.
"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from core.errors import InvalidInput


class NewestFirst(BasePagination):
    """Cuts a queryset into pages of `?limit=` rows (50 by default, 200 at most)."""

    default_limit = 50
    max_limit = 200

    def paginate_queryset(  # type: ignore[override]  # of a plain list there is no page
        self, queryset: QuerySet[Any], request: Request, view: object = None
    ) -> list[Any]:
        """Rows, or dicts with an `id` where the queryset has `values`.

        Raises InvalidInput for a `cursor` or `limit` that is not one.
        """
        del view
        limit = self._limit(request.query_params.get("limit"))
        cursor = request.query_params.get("cursor")
        if cursor is not None:
            queryset = queryset.filter(pk__lt=_as_id(cursor, queryset.model))
        rows: list[Any] = list(queryset.order_by("-pk")[: limit + 1])
        self._next: str | None = None
        if len(rows) > limit:
            rows = rows[:limit]
            self._next = replace_query_param(request.build_absolute_uri(), "cursor", str(_id_of(rows[-1])))
        return rows

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"results": data, "next": self._next})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        following = {
            "type": ["string", "null"],
            "format": "uri",
            "description": "The next page; null on the last.",
        }
        return {
            "type": "object",
            "required": ["results", "next"],
            "properties": {"results": schema, "next": following},
        }

    def get_schema_operation_parameters(self, view: object) -> list[dict[str, Any]]:
        del view
        return [
            {
                "name": "cursor",
                "in": "query",
                "schema": {"type": "string", "format": "uuid"},
                "description": "The id after which to continue; `next` carries it.",
            },
            {
                "name": "limit",
                "in": "query",
                "schema": {"type": "integer", "minimum": 1, "maximum": self.max_limit},
                "description": f"Rows a page, {self.default_limit} by default.",
            },
        ]

    def _limit(self, given: str | None) -> int:
        if given is None:
            return self.default_limit
        if not given.isascii() or not given.isdigit() or not 1 <= int(given[:9]) <= self.max_limit:
            raise InvalidInput(f"A page has 1 to {self.max_limit} rows.", field="limit")
        return int(given)


def _id_of(row: Model | dict[str, Any]) -> Any:
    return row["id"] if isinstance(row, dict) else row.pk


def _as_id(cursor: str, model: type[Model]) -> Any:
    try:
        return model._meta.pk.to_python(cursor)
    except ValidationError as error:
        raise InvalidInput("This cursor does not come from a list's `next`.", field="cursor") from error
