"""Bodies that are larger than other calls take, or no JSON."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from typing import IO, Any, ClassVar

from rest_framework.parsers import BaseParser

from core.errors import TooLarge
from core.parsers import parse_json
from playground.services.drafts import MAX_CONTENT_BYTES

PIECE = 1024 * 1024


class BoundedJSONParser(BaseParser):
    """JSON as everywhere else, up to a size of its own."""

    media_type = "application/json"
    max_bytes: ClassVar[int]

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        del media_type, parser_context
        raw = stream.read(self.max_bytes + 1)
        if len(raw) > self.max_bytes:
            raise too_large(self.max_bytes)
        return parse_json(raw)


class DraftParser(BoundedJSONParser):
    """A draft's content is JSON inside JSON: its quotes are escaped once more."""

    max_bytes = 2 * MAX_CONTENT_BYTES + 64 * 1024


class ImportJSONParser(BoundedJSONParser):
    max_bytes = 64 * 1024 * 1024


class ZipParser(BaseParser):
    """A zip file as an open temporary file: in memory if it is small, on disk if not."""

    media_type = "application/zip"
    max_bytes = 256 * 1024 * 1024

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        del media_type, parser_context
        kept = tempfile.SpooledTemporaryFile(max_size=16 * PIECE)  # noqa: SIM115  # the view closes it
        while piece := stream.read(PIECE):
            kept.write(piece)
            if kept.tell() > self.max_bytes:
                kept.close()
                raise too_large(self.max_bytes)
        kept.seek(0)
        return kept


def too_large(limit: int) -> TooLarge:
    return TooLarge(f"A request body may have {limit:,} bytes here.", field="body")
