"""An S3 stand-in that breaks one promise at a time: for proving that the canary notices. It checks no signature."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

EXPIRY, HASHES, CORS, PARTS, MULTIPART = "expiry", "hashes", "cors", "parts", "multipart"
BEGUN = b"<InitiateMultipartUploadResult><UploadId>begun</UploadId></InitiateMultipartUploadResult>"


class LaxStore(ThreadingHTTPServer):
    """Keeps every promise but those named in `broken`."""

    daemon_threads = True

    def __init__(self, *broken: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.broken = broken
        self.objects: dict[str, bytes] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LaxStore

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        signed = self.headers.get("x-amz-checksum-sha256")
        digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
        unchecked = PARTS if "partNumber=" in self.path else HASHES
        if signed and signed != digest and unchecked not in self.server.broken:
            self.answer(400)
            return
        self.server.objects[urlsplit(self.path).path] = body
        self.answer(200)

    def do_GET(self) -> None:
        if self.is_expired() and EXPIRY not in self.server.broken:
            self.answer(403)
            return
        body = self.server.objects.get(urlsplit(self.path).path)
        self.answer(404 if body is None else 200, body or b"")

    def do_POST(self) -> None:
        self.answer(501) if MULTIPART in self.server.broken else self.answer(200, BEGUN)

    def do_DELETE(self) -> None:
        self.server.objects.pop(urlsplit(self.path).path, None)
        self.answer(204)

    def do_OPTIONS(self) -> None:
        if CORS in self.server.broken:
            self.answer(403)
        else:
            self.answer(200, b"", {"access-control-allow-origin": self.headers["origin"]})

    def is_expired(self) -> bool:
        query = parse_qs(urlsplit(self.path).query)
        if "X-Amz-Date" not in query:
            return False
        signed_at = datetime.strptime(query["X-Amz-Date"][0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        return datetime.now(UTC) >= signed_at + timedelta(seconds=int(query["X-Amz-Expires"][0]))

    def answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class's name
        """Says nothing."""


@contextmanager
def lax_store(*broken: str) -> Iterator[LaxStore]:
    store = LaxStore(*broken)
    thread = threading.Thread(target=store.serve_forever, daemon=True)
    thread.start()
    try:
        yield store
    finally:
        store.shutdown()
        store.server_close()
        thread.join(5)
