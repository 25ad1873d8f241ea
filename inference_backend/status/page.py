"""GET /status (the page), /status.json (its data), /status/page.css and its scripts."""

import time
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from inference_backend.service import Service
from inference_backend.status.history import History
from inference_backend.status.report import build_report

FOLDER = Path(__file__).parent / "assets"
SAFE = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}


class StatusPage:
    def __init__(self, service: Service, history: History) -> None:
        self._service = service
        self._history = history
        self._started_at = time.time()
        self._assets = {path.name: path.read_bytes() for path in FOLDER.iterdir() if path.suffix in TYPES}

    def routes(self) -> list[Route]:
        return [
            Route("/status", self.page),
            Route("/status.json", self.data),
            Route("/status/page.css", self.style),
            Route("/status/page.js", self.script),
            Route("/status/charts.js", self.charts),
        ]

    async def page(self, _: Request) -> Response:
        return self._asset("page.html")

    async def style(self, _: Request) -> Response:
        return self._asset("page.css")

    async def script(self, _: Request) -> Response:
        return self._asset("page.js")

    async def charts(self, _: Request) -> Response:
        return self._asset("charts.js")

    async def data(self, _: Request) -> Response:
        report = build_report(self._service, self._history, started_at=self._started_at)
        return JSONResponse(report, headers=SAFE)

    def _asset(self, name: str) -> Response:
        return Response(self._assets[name], media_type=TYPES[Path(name).suffix], headers=SAFE)
