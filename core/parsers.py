"""The body of an API call: strict JSON, bounded, with lone surrogates and NaN refused by position."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.parsers import BaseParser

from core.errors import InvalidInput, TooLarge

_MAX_DEPTH = 64


class StrictJSONParser(BaseParser):
    """Like REST framework's, but a lone surrogate is named with its place instead of failing deep inside a save."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        del media_type, parser_context
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0
        raw = stream.read(limit + 1)
        if len(raw) > limit:
            raise TooLarge(
                f"A request body may have {limit:,} bytes.",
                field="body",
                next_step="Send large texts as uploads and refer to them.",
            )
        return parse_json(raw)


def parse_json(raw: bytes) -> Any:
    """Strict UTF-8 JSON. Raises InvalidInput naming what is wrong and where."""
    try:
        value = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"The body is not valid UTF-8 at byte {error.start}.", code="invalid_utf8", field="body"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"The body is not valid JSON: {error}.", code="invalid_json", field="body") from error
    refuse_surrogates(value)
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def refuse_surrogates(value: object, path: str = "", depth: int = 0) -> None:
    """Raise InvalidInput for a lone surrogate anywhere in `value`, with its dotted path and code point position.

    JSON can spell half a character ("\\ud83d"); it has no UTF-8 form, so it could be neither hashed nor stored.
    """
    if depth > _MAX_DEPTH:
        raise InvalidInput("The JSON is nested too deeply.", code="too_deep", field=path or "body")
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InvalidInput(
                f"Half a surrogate pair at character {error.start}: this is not a character and cannot be stored.",
                code="lone_surrogate",
                field=path or "body",
                data={"position": error.start},
            ) from None
    elif isinstance(value, dict):
        for key, item in value.items():
            refuse_surrogates(key, f"{path}.<key>".lstrip("."), depth + 1)
            refuse_surrogates(item, f"{path}.{key}".lstrip("."), depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            refuse_surrogates(item, f"{path}.{index}".lstrip("."), depth + 1)
