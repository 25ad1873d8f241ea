"""A forwarder in front of the real inference backend that remembers the bodies it passes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2


class Recorder:
    """`bodies` and `headers` of the requests, in order of arrival."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""


@contextmanager
def recording(upstream: str) -> Iterator[Recorder]:
    recorder = Recorder(upstream)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            recorder.bodies.append(body)
            recorder.headers.append({name.lower(): value for name, value in self.headers.items()})
            kept = {
                name: value
                for name, value in self.headers.items()
                if name.lower() in ("x-api-key", "authorization", "anthropic-version", "content-type")
            }
            answer = httpx2.post(recorder.upstream + self.path, content=body, headers=kept, timeout=60)
            self.send_response(answer.status_code)
            self.send_header("content-type", answer.headers["content-type"])
            self.send_header("content-length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *args: object) -> None:
            del args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    recorder.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield recorder
    finally:
        server.shutdown()
        server.server_close()
